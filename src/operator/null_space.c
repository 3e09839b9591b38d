/* null_space.c - v -= N N'v with N orthonormal: constants, or vectors that the caller attached.
 * Kernels: cl/operator/null_space.cl. Per projection 3 words, 5 for each vector that is not constant. */
#include "operator/null_space.h"
#include "operator/op_parts.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- attaching vectors --------------------------------------------------------------------- */

static double dot_of(const double *x, const double *y, int64_t begin, int64_t end)
{
    double sum = 0;
    for (int64_t i = begin; i < end; i++) sum += x[i] * y[i];
    return sum;
}

static kry_status dot(kryi_layout *layout, const kryi_chunks *rows, const double *x,
                      const double *y, double *sum)
{
    kry_status st = KRY_OK;
    double *partial = NULL; /* too large for the stack of a small thread */

    if (!rows->chunk) {
        *sum = dot_of(x, y, 0, rows->n);
        return kryi_layout_combine(layout, KRY_ADD, sum, 1);
    }
    TRY(kryi_alloc((size_t)rows->groups, sizeof *partial, &partial));
    int64_t chunks = (rows->unit + rows->chunk - 1) / rows->chunk; /* of a unit */
    for (int64_t g = 0; g < rows->groups; g++) {
        int64_t unit = g / chunks * rows->unit, begin = unit + g % chunks * rows->chunk;
        int64_t end = begin + rows->chunk, last = unit + rows->unit;
        if (last > rows->n) last = rows->n;
        partial[g] = dot_of(x, y, begin, end < last ? end : last);
    }
    TRY(kryi_layout_add_chunks(layout, partial, (int)rows->groups, 1, sum));
done:
    free(partial);
    return st;
}

/* Gram and Schmidt, twice, in double. */
static kry_status orthonormalise(kryi_layout *layout, const kryi_chunks *rows, double *v, int64_t k)
{
    kry_status st = KRY_OK;
    int64_t n = rows->n;

    for (int64_t j = 0; j < k; j++) {
        double *vj = v + j * n, before, norm, share;
        TRY(dot(layout, rows, vj, vj, &before));
        before = sqrt(before);
        CHECK(before > 0 && isfinite(before), KRY_ERR_ARGUMENT,
              "kry_op_set_null_space: vector %lld has norm %g", (long long)j, before);
        for (int64_t i = 0; i < 2 * j; i++) {
            const double *vi = v + i % j * n;
            TRY(dot(layout, rows, vi, vj, &share));
            for (int64_t l = 0; l < n; l++) vj[l] -= share * vi[l];
        }
        TRY(dot(layout, rows, vj, vj, &norm));
        norm = sqrt(norm);
        CHECK(norm > 1e-6 * before, KRY_ERR_ARGUMENT,
              "kry_op_set_null_space: vector %lld depends on those before it", (long long)j);
        for (int64_t l = 0; l < n; l++) vj[l] /= norm;
    }
done:
    return st;
}

/* An orthonormal basis of what `given` spans, in a block of its own. Waits. */
static kry_status make_basis(const kry_vec *given, kry_vec **basis)
{
    kry_status st = KRY_OK;
    int64_t count = given->n * given->k;
    void *host = NULL;
    double *v = NULL;

    TRY(kryi_alloc((size_t)count, kry_type_size(given->type), &host));
    TRY(kryi_alloc((size_t)count, sizeof *v, &v));
    TRY(kry_vec_read(given, host));
    for (int64_t i = 0; i < count; i++) v[i] = kryi_number_at(given->type, host, i);
    const kry_vec one = kryi_vec_column(given, 0);
    const kryi_chunks rows = kryi_chunks_of(&one);
    TRY(orthonormalise(given->layout, &rows, v, given->k));
    for (int64_t i = 0; i < count; i++) kryi_number_put(given->type, host, i, v[i]);
    TRY(kry_vec_create(given->dev, given->type, given->n, given->k, basis));
    TRY(kry_vec_write(*basis, host));
done:
    if (st < 0) kry_vec_release(basis);
    free(v);
    free(host);
    return st;
}

/* v := numbers of norm 1, all alike or swinging from row to row. */
static kry_status write_unit(bool alike, kry_vec *v)
{
    kry_status st = KRY_OK;
    void *host = NULL;
    int64_t first, all;

    TRY(kryi_layout_rows(v->layout, v->n, &first, &all));
    if (alike) return kry_vec_fill(v, 1 / sqrt((double)all));
    TRY(kryi_alloc((size_t)v->n, kry_type_size(v->type), &host));
    for (int64_t i = 0; i < v->n; i++)
        kryi_number_put(v->type, host, i, cos(3.0 * (double)(first + i)) / sqrt(0.5 * (double)all));
    TRY(kry_vec_write(v, host));
done:
    free(host);
    return st;
}

/* *norm: the usual ||A x|| for ||x|| = 1, by the diagonal, or by a product if A offers none. */
static kry_status usual_norm(const kry_op *A, kry_vec *x, kry_vec *y, double *norm)
{
    kry_status st = KRY_OK;
    int64_t all;

    if (A->table->diagonal) {
        TRY(kryi_layout_rows(y->layout, y->n, NULL, &all));
        TRY(kry_op_diagonal(A, y));
        TRY(kry_vec_norm2(y, norm));
        *norm /= sqrt((double)all);
    } else {
        TRY(write_unit(false, x));
        TRY(kry_op_apply(A, 1, x, 0, y));
        TRY(kry_vec_norm2(y, norm));
    }
done:
    return st;
}

/* A times each column of `basis`, or times constants if it is NULL, is zero. Numbers that were rounded
 * to single, or written with 7 digits, pass in double, too: how well such an A is solved is seen from
 * the residual. */
static kry_status check_mapped_to_zero(const kry_op *A, const kry_vec *basis)
{
    kry_status st = KRY_OK;
    kry_vec *x = NULL, *y = NULL;
    double usual, norm, tolerance = A->shape.type == KRY_F32 ? 3e-4 : 1e-6;

    TRY(kry_vec_create(A->dev, A->shape.type, A->shape.rows, 1, &x));
    TRY(kry_vec_create(A->dev, A->shape.type, A->shape.rows, 1, &y));
    TRY(usual_norm(A, x, y, &usual));
    if (!basis) TRY(write_unit(true, x));
    for (int64_t j = 0; j < (basis ? basis->k : 1); j++) {
        kry_vec v = kryi_vec_column(basis ? basis : x, j);
        TRY(kry_op_apply(A, 1, &v, 0, y));
        TRY(kry_vec_norm2(y, &norm));
        char what[40] = "constants";
        if (basis) snprintf(what, sizeof what, "vector %lld", (long long)j);
        CHECK(norm <= tolerance * usual, KRY_ERR_ARGUMENT,
              "%s: '%s' does not map %s to zero: the product has norm %.3g, where %.3g is usual",
              basis ? "kry_op_set_null_space" : "KRY_SINGULAR", A->table->kind, what, norm, usual);
    }
done:
    kry_vec_release(&x);
    kry_vec_release(&y);
    return st;
}

/* Set the null space of the rows that are here; c->x: the vectors, or NULL for none. */
static kry_status set_here(const kryi_call *c)
{
    kry_status st = KRY_OK;
    kry_op *A = (kry_op *)c->A; /* the caller's own */
    kry_vec *basis = NULL;

    if (c->x) {
        TRY(make_basis(c->x, &basis));
        TRY(check_mapped_to_zero(A, basis));
    }
    kry_vec_release(&A->null_space);
    A->null_space = basis;
    basis = NULL;
done:
    kry_vec_release(&basis);
    return st;
}

/* vectors: NULL for none. */
static kry_status check_vectors(const char *who, const kry_op *A, const kry_vec *vectors)
{
    kry_status st = KRY_OK;

    CHECK(A, KRY_ERR_ARGUMENT, "%s: NULL", who);
    if (!vectors) return KRY_OK;
    CHECK(A->shape.rows == A->shape.cols && vectors->n == A->shape.rows, KRY_ERR_SHAPE,
          "%s: '%s' is %lld-by-%lld, the vectors have %lld rows", who, A->table->kind,
          (long long)A->shape.rows, (long long)A->shape.cols, (long long)vectors->n);
    CHECK(vectors->type == A->shape.type && vectors->dev == A->dev, KRY_ERR_TYPE,
          "%s: the vectors have another number type or device than '%s'", who, A->table->kind);
    CHECK(vectors->k > 0 && vectors->k < vectors->n, KRY_ERR_SHAPE,
          "%s: %lld vectors for %lld unknowns", who, (long long)vectors->k, (long long)vectors->n);
done:
    return st;
}

kry_status kry_op_set_null_space(kry_op *A, const kry_vec *vectors)
{
    kry_status st = KRY_OK;

    TRY(check_vectors("kry_op_set_null_space", A, vectors));
    TRY(kryi_op_call(&(kryi_call){ .A = A, .x = vectors }, set_here));
done:
    return st;
}

static kry_status set_near_here(const kryi_call *c)
{
    kry_status st = KRY_OK;
    kry_op *A = (kry_op *)c->A; /* the caller's own */
    kry_vec *copy = NULL;

    if (c->x) {
        TRY(kry_vec_create(A->dev, A->shape.type, c->x->n, c->x->k, &copy));
        TRY(kry_vec_copy(c->x, copy));
    }
    kry_vec_release(&A->near_null_space);
    A->near_null_space = copy, copy = NULL;
done:
    kry_vec_release(&copy);
    return st;
}

kry_status kry_op_set_near_null_space(kry_op *A, const kry_vec *vectors)
{
    kry_status st = KRY_OK;

    TRY(check_vectors("kry_op_set_near_null_space", A, vectors));
    TRY(kryi_op_call(&(kryi_call){ .A = A, .x = vectors }, set_near_here));
done:
    return st;
}

/* ---- projection ---------------------------------------------------------------------------- */

/* Compile and allocate what projections of N's vectors need. */
static kry_status prepare(const kry_op *A, kryi_null_space *N)
{
    kry_status st = KRY_OK;
    const kry_type type = A->shape.type;
    const char *const defines = "-DKRY_UNALIGNED";

    if (!N->sum) TRY(kry_sum_create(A->dev, 1, &N->sum));
    TRY(kryi_kernel_get(A->dev, "null_space", type, defines, "null_space_dot", &N->dot));
    TRY(kryi_kernel_get(A->dev, "null_space", type, defines, "null_space_subtract", &N->subtract));
done:
    return st;
}

kry_status kryi_null_space_create(const kry_op *A, kryi_null_space *N)
{
    kry_status st = KRY_OK;

    *N = (kryi_null_space){ .found = !A->null_space && !(A->shape.traits & KRY_SINGULAR) };
    if (!kryi_op_is_singular(A)) return KRY_OK;
    TRY(kryi_layout_rows(&A->dev->layout, A->shape.rows, NULL, &N->unknowns));
    if (N->unknowns == 0) return KRY_OK;
    N->checked = -1;
    kry_vec *vectors = kryi_op_null_vectors(A);
    N->vectors = vectors ? kry_vec_retain(vectors) : NULL;
    TRY(prepare(A, N));
    N->A = A;
    TRY(kryi_null_space_check(N));
done:
    if (st < 0) kryi_null_space_release(N);
    return st;
}

kry_status kryi_null_space_constants(const kry_op *A, kryi_null_space *N)
{
    kry_status st = KRY_OK;

    *N = (kryi_null_space){ .A = A };
    TRY(kryi_layout_rows(&A->dev->layout, A->shape.rows, NULL, &N->unknowns));
    TRY(prepare(A, N));
done:
    if (st < 0) kryi_null_space_release(N);
    return st;
}

kry_status kryi_null_found_check(const kry_op *A)
{
    kryi_null_found *F = &((kry_op *)A)->null_found; /* no part of the operator's value */
    kry_status st;

    if (!(F->constants || F->vectors) || F->seen == A->updates + 1) return KRY_OK;
    st = check_mapped_to_zero(A, F->vectors);
    if (st == KRY_OK) F->seen = A->updates + 1;
    return st == KRY_ERR_ARGUMENT ? KRY_OK : st;
}

kry_status kryi_null_space_check(kryi_null_space *N)
{
    kry_status st = KRY_OK;
    const kry_op *A = N->A;

    if (N->certified && N->checked != A->updates) { /* what was added is of the old numbers */
        kryi_null_space_release(N);
        TRY(kryi_null_found_check(A));
        return kryi_null_space_create(A, N);
    }
    if (N->found && A && !N->certified) {
        TRY(kryi_null_found_check(A));
        kry_vec *vectors = kryi_op_null_vectors(A);
        /* Methods have steps of their own for constants. */
        if (!kryi_op_found_null(A) || !vectors != !N->vectors) kryi_null_space_release(N);
        if (!vectors || !N->vectors || vectors == N->vectors) return KRY_OK;
        kry_vec_release(&N->vectors);
        N->vectors = kry_vec_retain(vectors);
        return KRY_OK;
    }
    if (!kryi_null_space_may_be_false(N) || N->checked == A->updates) return KRY_OK;
    TRY(check_mapped_to_zero(A, N->vectors));
    N->checked = A->updates;
done:
    return st;
}

void kryi_null_space_release(kryi_null_space *N)
{
    const bool found = N->found;

    kry_vec_release(&N->vectors);
    kry_sum_release(&N->sum);
    *N = (kryi_null_space){ .found = found };
}

static int64_t count_of(const kryi_null_space *N) { return N->vectors ? N->vectors->k : 1; }

kry_status kryi_null_space_add(const kry_op *A, const kry_vec *v, kryi_null_space *N)
{
    kry_status st = KRY_OK;
    const int64_t count = N->A ? count_of(N) : 0;
    kry_vec *all;

    TRY(kry_vec_create(A->dev, v->type, v->n, count + 1, &all));
    for (int64_t j = 0; j <= count; j++) {
        kry_vec to = kryi_vec_column(all, j);
        if (j < count && !N->vectors) {
            TRY(kry_vec_fill(&to, 1 / sqrt((double)N->unknowns)));
            continue;
        }
        const kry_vec from = j < count ? kryi_vec_column(N->vectors, j) : *v;
        TRY(kry_vec_copy(&from, &to));
    }
    kry_vec_release(&N->vectors);
    N->vectors = all, all = NULL;
    TRY(kryi_layout_rows(&A->dev->layout, A->shape.rows, NULL, &N->unknowns));
    TRY(prepare(A, N));
    N->A = A, N->checked = A->updates, N->certified = true;
done:
    kry_vec_release(&all);
    return st;
}

/* Vector j; constants have no buffer. */
static kry_vec vector_of(const kryi_null_space *N, int64_t j)
{
    return N->vectors ? kryi_vec_column(N->vectors, j) : (kry_vec){ .buffer = NULL };
}

/* sum := (vector j)'v */
static kry_status run_dot(kryi_null_space *N, int64_t j, const kry_vec *v)
{
    const kry_vec u = vector_of(N, j);
    const kry_arg rest[] = { ARG_VEC(v), ARG_VEC(&u), ARG(N->sum->buffer) };

    return kryi_launch_rows(v, N->dot, rest, COUNT(rest), N->sum);
}

/* v -= (vector j)'r u; u without a buffer: v -= the mean of r */
static kry_status subtract_share(kryi_null_space *N, int64_t j, const kry_vec *r, const kry_vec *u,
                                 kry_vec *v)
{
    kry_status st = KRY_OK;

    TRY(run_dot(N, j, r));
    TRY(kryi_layout_reduce(v->layout, &N->sum, 1));
    const kry_arg args[] = { ARG(v->n),          ARG(N->unknowns), ARG(N->sum->buffer),
                             ARG(N->sum->count), ARG_VEC(u),       ARG_VEC(v) };
    TRY(kryi_launch(v->dev, N->subtract, kryi_groups_for_sums(v->dev, v->type, v->n), args,
                    COUNT(args)));
done:
    return st;
}

kry_status kryi_null_space_project(kryi_null_space *N, kry_vec *V)
{
    kry_status st = KRY_OK;

    if (!N->A) return KRY_OK;
    for (int64_t c = 0; c < V->k; c++) {
        kry_vec v = kryi_vec_column(V, c);
        for (int64_t j = 0; j < count_of(N); j++) {
            const kry_vec u = vector_of(N, j);
            TRY(subtract_share(N, j, &v, &u, &v));
        }
    }
done:
    return st;
}

kry_status kryi_null_space_shift(kryi_null_space *N, const kry_vec *R, const kry_vec *u, kry_vec *V)
{
    kry_status st = KRY_OK;

    for (int64_t c = 0; c < V->k; c++) {
        const kry_vec r = kryi_vec_column(R, c);
        kry_vec v = kryi_vec_column(V, c);
        TRY(subtract_share(N, 0, &r, u, &v));
    }
done:
    return st;
}

kry_status kryi_null_space_measure(kryi_null_space *N, const kry_vec *v, double *size)
{
    kry_status st = KRY_OK;
    double square = 0, share;

    *size = 0;
    if (!N->A) return KRY_OK;
    for (int64_t j = 0; j < count_of(N); j++) {
        TRY(run_dot(N, j, v));
        TRY(kryi_sum_read(v->layout, N->sum, &share));
        square += share * share;
    }
    *size = sqrt(N->vectors ? square : square / (double)N->unknowns);
done:
    return st;
}
