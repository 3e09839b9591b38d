/*
 * coarse.c - c := E^-1 w by a dense inverse on the device or a sparse factor on the host.
 *
 * Where E is singular: with Y the inverse without the unknowns that are pinned to zero (for E 1 = 0 the last
 * one), D the diagonal, and N the vectors that E maps to zero, N'D N = I,
 *
 *   E^-1 stands for  G := (I - N N'D) [Y 0; 0 0] (I - D N N')
 *
 * which is symmetric, solves E c = w for every w with N'w = 0, and gives c with N'D c = 0.
 *
 * G is formed column by column from a factor on the host, or on the device (dense_inverse.c).
 *
 * Per solve   a product with G (dense_inverse.c); or L twice on the host, and a wait
 */
#include "precond/coarse.h"
#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct kryi_coarse {
    kry_device *dev; /* retained */
    kry_type type;
    int64_t k, n;                       /* n: unknowns that are factored */
    int64_t m;                          /* vectors that E maps to zero */
    double *d, *N;                      /* D: k; N: k-by-m, column after column */
    const kryi_cholesky_engine *engine; /* NULL: the device has made the inverse */
    void *factor;                       /* the engine's; NULL if n == 0 */
    double *x; /* k for each column that there ever was at once: a solve on the host */
    int64_t columns;
    void *numbers; /* k of `type`, on their way to the device */
    bool dense;
    kryi_dense_inverse inverse; /* if dense */
};

/* ---- an E that need not be symmetric ----------------------------------------------------------- */

/*
 * P E = L U by Gauss's elimination with exchanges of rows, n^2 numbers. A pivot that is rounding, measured by the largest number of
 * E, counts as infinite: its unknown is zero, and what the others then cannot solve for is left out.
 */
typedef struct lu {
    int64_t n;
    int64_t *from; /* n: the row of E that is eliminated i-th */
    double *LU;    /* n-by-n, row by row; the diagonal has the inverses of the pivots */
    double *x;     /* n: room */
} lu;

static void lu_destroy(void *self)
{
    lu *f = self;
    if (!f) return;
    free(f->x);
    free(f->LU);
    free(f->from);
    free(f);
}

/* f->LU := E. Returns its largest number. */
static double lu_enter(lu *f, const kryi_csr *E)
{
    const double *val = E->val;
    double most = 0;

    for (int64_t i = 0; i < f->n; i++) {
        f->from[i] = i;
        for (int64_t e = E->row_ptr[i]; e < E->row_ptr[i + 1]; e++) {
            if (E->col[e] >= f->n) continue;
            f->LU[i * f->n + E->col[e]] = val[e];
            most = fmax(most, fabs(val[e]));
        }
    }
    return most;
}

/* The row with the largest number in column p comes p-th. */
static void lu_exchange(lu *f, int64_t p)
{
    const int64_t n = f->n;
    int64_t best = p;

    for (int64_t i = p + 1; i < n; i++)
        if (fabs(f->LU[i * n + p]) > fabs(f->LU[best * n + p])) best = i;
    if (best == p) return;
    const int64_t from = f->from[p];
    f->from[p] = f->from[best], f->from[best] = from;
    for (int64_t j = 0; j < n; j++) {
        const double v = f->LU[p * n + j];
        f->LU[p * n + j] = f->LU[best * n + j], f->LU[best * n + j] = v;
    }
}

static void lu_eliminate(lu *f, double least)
{
    const int64_t n = f->n;

    for (int64_t p = 0; p < n; p++) {
        double *from = f->LU + p * n;
        lu_exchange(f, p);
        from[p] = fabs(from[p]) > least ? 1 / from[p] : 0;
        for (int64_t i = p + 1; i < n; i++) {
            double *to = f->LU + i * n;
            const double l = to[p] *= from[p];
            if (l == 0) continue;
            for (int64_t j = p + 1; j < n; j++) to[j] -= l * from[j];
        }
    }
}

static kry_status lu_create(const kryi_csr *E, int64_t n, double rounding, void **self)
{
    kry_status st = KRY_OK;
    lu *f = NULL;

    (void)rounding;
    *self = NULL;
    CHECK(n <= KRY_LU_MOST, KRY_ERR_UNSUPPORTED,
          "the coarsest level has %lld unknowns, too many for a dense factor; at most %d are "
          "possible",
          (long long)n, (int)KRY_LU_MOST);
    TRY(kryi_alloc(1, sizeof *f, &f));
    f->n = n;
    TRY(kryi_alloc((uint64_t)n, sizeof *f->from, &f->from));
    TRY(kryi_alloc((uint64_t)n, sizeof *f->x, &f->x));
    TRY(kryi_alloc((uint64_t)(n * n), sizeof *f->LU, &f->LU));
    lu_eliminate(f, lu_enter(f, E) * (double)n * DBL_EPSILON);
    *self = f, f = NULL;
done:
    lu_destroy(f);
    return st;
}

static kry_status lu_solve(void *self, double *x, int64_t columns)
{
    lu *f = self;
    const int64_t n = f->n;

    for (double *column = x; columns > 0; columns--, column += n) {
        for (int64_t i = 0; i < n; i++) {
            double sum = column[f->from[i]];
            for (int64_t j = 0; j < i; j++) sum -= f->LU[i * n + j] * f->x[j];
            f->x[i] = sum;
        }
        for (int64_t i = n - 1; i >= 0; i--) {
            double sum = f->x[i];
            for (int64_t j = i + 1; j < n; j++) sum -= f->LU[i * n + j] * column[j];
            column[i] = sum * f->LU[i * n + i];
        }
    }
    return KRY_OK;
}

static double lu_bytes(const void *self)
{
    const lu *f = self;
    return (double)(f->n * f->n) * sizeof(double);
}

static const kryi_cholesky_engine dense_lu = {
    .name = "lu dense",
    .create = lu_create,
    .solve = lu_solve,
    .bytes = lu_bytes,
    .destroy = lu_destroy,
};

/* ---- the solver ---------------------------------------------------------------------------------- */

static kry_status check_numbers(const kryi_csr *E)
{
    kry_status st = KRY_OK;
    const double *val = E->val;

    for (int64_t i = 0; i < E->rows; i++)
        for (int64_t e = E->row_ptr[i]; e < E->row_ptr[i + 1]; e++)
            CHECK(isfinite(val[e]), KRY_ERR_ARGUMENT,
                  "coarse matrix: the entry of deflation vectors %lld and %d is %g", (long long)i,
                  E->col[e], val[e]);
done:
    return st;
}

/* Make column v of N orthonormal, in D, to those before it. */
static void orthonormalise(kryi_coarse *s, int64_t v)
{
    double *x = s->N + v * s->k, size = 0;

    for (int64_t u = 0; u < 2 * v; u++) { /* twice is enough */
        const double *y = s->N + u % v * s->k;
        double sum = 0;
        for (int64_t i = 0; i < s->k; i++) sum += s->d[i] * y[i] * x[i];
        for (int64_t i = 0; i < s->k; i++) x[i] -= sum * y[i];
    }
    for (int64_t i = 0; i < s->k; i++) size += s->d[i] * x[i] * x[i];
    for (int64_t i = 0; i < s->k; i++) x[i] /= sqrt(size);
}

/* D and N: ones, if E maps them to zero, then what the engine finds. */
static kry_status find_null_space(kryi_coarse *s, const kryi_csr *E)
{
    kry_status st = KRY_OK;
    const int64_t ones = s->k - s->n,
                  pinned = s->factor && s->engine->pinned ? s->engine->pinned(s->factor) : 0;

    s->m = ones + pinned;
    TRY(kryi_alloc((uint64_t)(s->k * s->m), sizeof *s->N, &s->N));
    for (int64_t i = 0; i < s->k; i++) {
        s->d[i] = kryi_csr_entry(E, i, i);
        if (!(s->d[i] > 0)) s->d[i] = 1;
    }
    for (int64_t i = 0; i < s->k && ones; i++) s->N[i] = 1;
    for (int64_t v = 0; v < pinned; v++)
        s->engine->null_vector(s->factor, v, s->N + (ones + v) * s->k);
    for (int64_t v = 0; v < s->m; v++) orthonormalise(s, v);
done:
    return st;
}

/* x := (I - D N N') x */
static void project(const kryi_coarse *s, double *x)
{
    for (int64_t v = 0; v < s->m; v++) {
        const double *y = s->N + v * s->k;
        double sum = 0;
        for (int64_t i = 0; i < s->k; i++) sum += y[i] * x[i];
        for (int64_t i = 0; i < s->k; i++) x[i] -= s->d[i] * sum * y[i];
    }
}

/* x := (I - N N'D) x */
static void project_solution(const kryi_coarse *s, double *x)
{
    for (int64_t v = 0; v < s->m; v++) {
        const double *y = s->N + v * s->k;
        double sum = 0;
        for (int64_t i = 0; i < s->k; i++) sum += s->d[i] * y[i] * x[i];
        for (int64_t i = 0; i < s->k; i++) x[i] -= sum * y[i];
    }
}

/* Each of m columns of k numbers becomes E^-1 times it. The engine's have n numbers. */
static kry_status solve_columns(kryi_coarse *s, double *x, int64_t m)
{
    kry_status st = KRY_OK;
    const size_t bytes = (size_t)s->n * sizeof *x;

    for (int64_t j = 0; j < m; j++) {
        project(s, x + j * s->k);
        memmove(x + j * s->n, x + j * s->k, bytes);
    }
    if (s->n > 0) TRY(s->engine->solve(s->factor, x, m));
    for (int64_t j = m - 1; j >= 0; j--) {
        double *column = x + j * s->k;
        memmove(column, x + j * s->n, bytes);
        for (int64_t i = s->n; i < s->k; i++) column[i] = 0;
        project_solution(s, column);
    }
done:
    return st;
}

/* Columns of the inverse: those of the identity solved for. */
static kry_status invert_columns(void *user, int64_t j, int64_t m, double *columns)
{
    kryi_coarse *s = user;

    for (int64_t c = 0; c < m; c++)
        for (int64_t i = 0; i < s->k; i++) columns[c * s->k + i] = i == j + c;
    return solve_columns(s, columns, m);
}

/* c := E^-1 s->x */
static kry_status solve_on_host(kryi_coarse *s, kry_vec *c)
{
    kry_status st = KRY_OK;

    TRY(solve_columns(s, s->x, c->k));
    TRY(kryi_vec_write_doubles(c, s->x));
done:
    return st;
}

static kry_status make_room(kryi_coarse *s, int64_t columns)
{
    kry_status st = KRY_OK;

    if (s->columns >= columns) return KRY_OK;
    TRY(kryi_realloc((uint64_t)(columns * s->k), sizeof *s->x, &s->x));
    s->columns = columns;
done:
    return st;
}

kry_status kryi_coarse_solve(kryi_coarse *s, const kry_vec *w, kry_vec *c)
{
    kry_status st = KRY_OK;

    assert(w->n == s->k && c->n == s->k && c->k == w->k && w->type == s->type);
    assert(!kryi_vec_overlap(w, c));
    if (s->dense) return kryi_dense_inverse_apply(&s->inverse, w, c);
    TRY(make_room(s, w->k));
    TRY(kryi_vec_read_doubles(w, s->x));
    TRY(solve_on_host(s, c));
done:
    return st;
}

kry_status kryi_coarse_solve_from(kryi_coarse *s, const double *numbers, kry_vec *w, kry_vec *c)
{
    kry_status st = KRY_OK;
    size_t word = kry_type_size(s->type);

    if (!s->dense) {
        memcpy(s->x, numbers, (size_t)s->k * sizeof *numbers);
        return solve_on_host(s, c);
    }
    for (int64_t i = 0; i < s->k; i++) kryi_number_put(s->type, s->numbers, i, numbers[i]);
    /* s->numbers is not touched before the next w has been read back. */
    TRY(kryi_buffer_write_later(s->dev, w->buffer, (size_t)w->first * word, (size_t)s->k * word,
                                s->numbers));
    TRY(kryi_coarse_solve(s, w, c));
done:
    return st;
}

/* Above 16384 the inverse of doubles is 2 GB to be read per iteration. CPUs: reading k^2 numbers
 * against two sweeps over L and a wait; for vectors on a square grid they cost the same at k = 1000
 * (PoCL on two cores). */
static bool wants_dense(const kryi_coarse *s)
{
    enum { MOST_ON_GPU = 16384, MOST_ON_CPU = 1000 };
    return s->k <= (s->dev->info.gpu ? MOST_ON_GPU : MOST_ON_CPU) &&
           kryi_dense_inverse_bytes(&s->inverse) <= (double)s->dev->info.max_alloc_bytes;
}

static kry_status choose(kryi_coarse *s, const kryi_coarse_how *how)
{
    kry_status st = KRY_OK;
    kry_coarse_method m = how->method;
    double most = (double)s->dev->info.max_alloc_bytes;

    CHECK((unsigned)m <= KRY_COARSE_CHOLESKY, KRY_ERR_ARGUMENT,
          "coarse solver: method %d is unknown", (int)m);
    const kryi_coarse_product product = how->unsymmetric ? KRY_COARSE_FULL : how->product;
    if (m != KRY_COARSE_CHOLESKY) TRY(kryi_dense_inverse_choose(&s->inverse, product));
    s->dense = m == KRY_COARSE_DENSE || (m == KRY_COARSE_AUTO && wants_dense(s));
    if (!s->dense) goto done;
    double bytes = kryi_dense_inverse_bytes(&s->inverse);
    CHECK(bytes <= most, KRY_ERR_MEMORY,
          "the dense inverse for %lld deflation vectors takes %.3f GB, but '%s' holds buffers of "
          "%.3f GB at most; take Cholesky or fewer vectors",
          (long long)s->k, 1e-9 * bytes, s->dev->info.name, 1e-9 * most);
done:
    return st;
}

/* Unknowns up to which n^3 / 3 additions are no matter: half a second. */
enum { MOST_PIVOTED = 1024 };

static const kryi_cholesky_engine *choose_engine(const kryi_coarse_how *how, const kryi_coarse *s)
{
    if (how->unsymmetric) return &dense_lu;
    if (how->engine) return how->engine;
    if (how->rounding > 0 && s->k <= MOST_PIVOTED) return &kryi_cholesky_pivoted;
    if (s->dense && kryi_coarse_inverts(&s->inverse)) return NULL;
#ifdef KRY_HAVE_CHOLMOD
    return &kryi_cholesky_cholmod;
#else
    return &kryi_cholesky_band;
#endif
}

/* Factor E on the host; dense: and make the inverse of its columns. */
static kry_status factorise(kryi_coarse *s, const kryi_coarse_how *how, const kryi_csr *E)
{
    kry_status st = KRY_OK;

    kryi_csr E_t = { 0 };

    /* The inverse is multiplied by row by row, and these are the columns of the inverse of E'. */
    if (s->dense && how->unsymmetric) TRY(kryi_csr_transpose(E, &E_t));
    if (s->n > 0) TRY(s->engine->create(E_t.row_ptr ? &E_t : E, s->n, how->rounding, &s->factor));
    TRY(find_null_space(s, E));
    if (s->dense) TRY(kryi_dense_inverse_form(&s->inverse, invert_columns, s));
done:
    kryi_csr_release(&E_t);
    return st;
}

kry_status kryi_coarse_create(kry_device *dev, kry_type type, const kryi_coarse_how *how,
                              const kryi_csr *E, kryi_coarse **coarse)
{
    kry_status st = KRY_OK;
    const size_t k = (size_t)E->rows;
    kryi_coarse *s = NULL;

    *coarse = NULL;
    assert(E->rows >= 1 && E->rows == E->cols && E->type == KRY_F64);
    TRY(check_numbers(E));
    TRY(kryi_alloc(1, sizeof *s, &s));
    s->dev = kry_device_retain(dev);
    s->type = type, s->k = E->rows;
    s->n = s->k - (how->singular ? 1 : 0);
    s->inverse = (kryi_dense_inverse){ .dev = dev, .type = type, .k = s->k };
    TRY(make_room(s, 1));
    TRY(kryi_alloc(k, kry_type_size(type), &s->numbers));
    TRY(kryi_alloc(k, sizeof *s->d, &s->d));
    TRY(choose(s, how));
    s->engine = choose_engine(how, s);
    if (s->dense) TRY(kryi_dense_inverse_prepare(&s->inverse));
    if (s->engine)
        TRY(factorise(s, how, E));
    else
        TRY(kryi_coarse_invert(&s->inverse, E, how->singular));
    *coarse = s;
    s = NULL;
done:
    kryi_coarse_release(&s);
    return st;
}

const kryi_dense_inverse *kryi_coarse_inverse(const kryi_coarse *s)
{
    return s->dense && s->inverse.product == KRY_COARSE_FULL ? &s->inverse : NULL;
}

void kryi_coarse_describe(const kryi_coarse *s, kry_op_info *info)
{
    double values = 2 * (double)s->k * (double)kry_type_size(s->type);

    if (s->dense) {
        info->variant = s->inverse.product == KRY_COARSE_PACKED ? "dense packed" : "dense plain";
        info->bytes_stored = kryi_dense_inverse_bytes(&s->inverse);
        info->bytes_per_apply = kryi_dense_inverse_moved(&s->inverse);
    } else {
        info->variant = s->engine->name;
        info->bytes_stored = s->factor ? s->engine->bytes(s->factor) : 0;
        info->bytes_per_apply = 2 * info->bytes_stored + values;
    }
}

void kryi_coarse_release(kryi_coarse **coarse)
{
    kryi_coarse *s = *coarse;
    *coarse = NULL;
    if (!s) return;
    kryi_dense_inverse_release(&s->inverse);
    if (s->factor) s->engine->destroy(s->factor);
    free(s->numbers);
    free(s->x);
    free(s->N);
    free(s->d);
    kry_device_release(&s->dev);
    free(s);
}
