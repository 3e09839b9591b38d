/* find_null.c - what a matrix is seen to map to zero, where no null space is promised: by its entries, or by a solve. */
#include "krylov/find_null.h"
#include "grid/stencil.h"
#include "krylov/workspace.h"
#include "matrix/matrix.h"
#include "matrix/matrix_parts.h"
#include "operator/op_parts.h"
#include "precond/rows.h"
#include "team/team.h"
#include <assert.h>
#include <float.h>
#include <kry/io.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- on ranks, of which each has some rows ------------------------------------------------------- */

enum { MOST_SHARED = 1 << 20 }; /* numbers that all ranks have of all parts and empty rows */

typedef struct search {
    const kry_op *A;
    kryi_csr rows;                     /* of this rank, with the columns of the whole */
    kry_share share;                   /* the same in double; borrowed but for its columns */
    kry_share *turned;                 /* the columns that have the numbers of these rows */
    int64_t *part;                     /* of each row here; -1: none */
    int64_t parts, empty, first_empty; /* of the whole; the first empty one that is here */
    double unreadable;                 /* > 0: on some rank */
    kryi_null_parts *N;
} search;

static kryi_layout *layout_of(const kry_op *A, int rank)
{
    return &A->dev->team->part[rank]->layout;
}

static kry_status read_task(void *user, int rank)
{
    search *F = user;
    const kryi_split *s = kryi_op_split(F->A);
    kry_status st = KRY_OK;

    F->share = (kry_share){ .n = s->n, .first = rank < s->members ? s->first[rank] : s->n };
    if (rank < s->members) st = kryi_matrix_read_part(F->A, rank, &F->rows);
    F->unreadable = st == KRY_ERR_UNSUPPORTED || kryi_split_permutes(s);
    if (st < 0 && !F->unreadable) return st;
    return kryi_layout_combine(layout_of(F->A, rank), KRY_MAX, &F->unreadable, 1);
}

/* F->share of F->rows. */
static kry_status take_rows(search *F)
{
    kry_status st = KRY_OK;
    const int64_t nnz = F->rows.row_ptr ? kryi_csr_nnz(&F->rows) : 0;

    if (!F->rows.row_ptr) TRY(kryi_csr_create(0, F->A->shape.cols, KRY_F64, 0, &F->rows));
    TRY(kryi_csr_convert(&F->rows, KRY_F64));
    TRY(kryi_alloc((uint64_t)nnz, sizeof *F->share.col, &F->share.col));
    for (int64_t e = 0; e < nnz; e++) F->share.col[e] = F->rows.col[e];
    F->share.rows = F->rows.rows;
    F->share.row_ptr = F->rows.row_ptr, F->share.val = F->rows.val;
done:
    return st;
}

static kryi_row_total total_of(const kry_share *A, int64_t i)
{
    return kryi_row_total_of(A->row_ptr, A->val, i);
}

static kry_status number_parts(search *F, double rounding)
{
    kry_status st = KRY_OK;
    bool *left_out = NULL;

    TRY(kryi_alloc((size_t)F->share.rows, sizeof *left_out, &left_out));
    TRY(kryi_alloc((size_t)F->share.rows, sizeof *F->part, &F->part));
    for (int64_t i = 0; i < F->share.rows; i++) {
        const kryi_row_total t = total_of(&F->share, i);
        left_out[i] = t.size == 0 || !kryi_row_total_is_zero(&t, rounding);
        F->empty += t.size == 0;
    }
    TRY(kry_share_components(F->A->dev, &F->share, left_out, F->part, &F->parts));
    TRY(kry_share_transpose(F->A->dev, &F->share, &F->turned));
done:
    free(left_out);
    return st;
}

static kry_status number_empty(void *user, int rank)
{
    search *F = user;
    return kryi_layout_rows(layout_of(F->A, rank), F->empty, &F->first_empty, &F->empty);
}

typedef struct numbers {
    const kry_op *A;
    kryi_combine how;
    double *number;
    size_t count;
} numbers;

static kry_status combine_task(void *user, int rank)
{
    const numbers *c = user;
    return kryi_layout_combine(layout_of(c->A, rank), c->how, c->number, c->count);
}

static kry_status combine(const kry_op *A, kryi_combine how, double *number, size_t count)
{
    numbers c = { A, how, number, count };
    return kryi_team_run(A->dev->team, NULL, combine_task, &c);
}

static kry_status write_parts(search *F, double rounding)
{
    kry_status st = KRY_OK;
    kryi_null_parts *N = F->N;
    const size_t all = (size_t)(F->parts + F->empty);
    int64_t empty = F->parts + F->first_empty;
    double *one_sided = NULL;

    TRY(kryi_alloc((size_t)F->share.rows, sizeof *N->of, &N->of));
    TRY(kryi_alloc(all, sizeof *N->one_sided, &N->one_sided));
    TRY(kryi_alloc(all, sizeof *one_sided, &one_sided));
    N->parts = F->parts, N->empty = F->empty;
    for (int64_t i = 0; i < F->share.rows; i++) {
        const kryi_row_total row = total_of(&F->share, i), column = total_of(F->turned, i);
        const int64_t p = row.size == 0 ? empty++ : F->part[i];
        N->of[i] = (int32_t)p;
        if (p >= 0 && column.size > 0 &&
            (p >= N->parts || !kryi_row_total_is_zero(&column, rounding)))
            one_sided[p] = 1;
    }
    TRY(combine(F->A, KRY_MAX, one_sided, all));
    for (size_t p = 0; p < all; p++) N->one_sided[p] = one_sided[p] > 0;
done:
    free(one_sided);
    return st;
}

/*
 * kryi_csr_null_parts of an A on ranks: N->of is of the rows here, *here of them; the numbers are those of the whole.
 * Where there are more than 2^20 parts and empty rows, none is found.
 * Returns  KRY_ERR_UNSUPPORTED, on all ranks, if A has no entries to read. Collective. Waits.
 */
static kry_status find_on_ranks(const kry_op *A, int64_t *here, kryi_null_parts *N)
{
    kry_status st = KRY_OK;
    const double rounding = kryi_unit_roundoff(A->shape.type);
    search F = { .A = A, .N = N };

    *N = (kryi_null_parts){ 0 };
    TRY(kryi_team_run(A->dev->team, NULL, read_task, &F));
    if (F.unreadable > 0) {
        st = kry_fail(KRY_ERR_UNSUPPORTED, "'%s' has no entries to read", A->table->kind);
        goto done;
    }
    TRY(take_rows(&F));
    TRY(number_parts(&F, rounding));
    TRY(kryi_team_run(A->dev->team, NULL, number_empty, &F));
    /* Ranks without rows meet with the others in there. */
    const bool few = F.parts + F.empty <= MOST_SHARED;
    *here = few ? F.share.rows : 0;
    if (few) TRY(write_parts(&F, rounding));
done:
    kry_share_release(&F.turned);
    kryi_csr_release(&F.rows);
    free(F.share.col), free(F.part);
    if (st < 0) kryi_null_parts_release(N);
    return st;
}

/* ---- the search ---------------------------------------------------------------------------------- */

enum { MOST = 64 }; /* vectors: each is kept in full */

/* A part of a team is not looked at by itself: its rows have entries in the columns of others. */
static bool may_be_singular(const kry_op *A)
{
    const unsigned promised = KRY_SINGULAR | KRY_POSITIVE;
    const kry_op *one = kryi_op_first(A); /* NULL: a rank without rows, which the others ask */
    const bool whole = A->dev->team || kryi_layout_size(&A->dev->layout) == 1,
               stored = A->dev->team ? !one || !(one->null_space || kryi_stencil_here(one))
                                     : kryi_matrix_of(A) && !A->null_space;

    return whole && stored && A->shape.rows == A->shape.cols && A->shape.rows > 1 &&
           !(A->shape.traits & promised);
}

/* place[p]: the vector of part, or empty row, p among those that are kept, -1: it is not. Parts come first: where they are too
 * many, none is kept; where empty rows are, no empty row is. Returns how many are kept. */
static int64_t select_both(const kryi_null_parts *N, int64_t *both, int64_t *place)
{
    const int64_t all = N->parts + N->empty;
    int64_t count = 0;

    for (int64_t p = 0; p < all; p++) {
        place[p] = N->one_sided[p] ? -1 : count++;
        if (p == N->parts - 1) *both = count;
    }
    if (count <= MOST) return count;
    const int64_t kept = *both <= MOST ? *both : 0;
    for (int64_t p = 0; p < all; p++)
        if (place[p] >= kept) place[p] = -1;
    return kept;
}

/* Row i's vector, -1: none. */
static int64_t vector_of(const kryi_null_parts *N, const int64_t *place, int64_t i)
{
    return N->of[i] < 0 ? -1 : place[N->of[i]];
}

/* V: a column of norm 1 for each; size: on how many rows, of the whole, it is not zero. */
static kry_status write_vectors(const kryi_null_parts *N, const int64_t *place, const double *size,
                                kry_vec *V)
{
    kry_status st = KRY_OK;
    const int64_t here = kry_vec_rows_here(V, NULL);
    double *host = NULL;

    TRY(kryi_alloc((uint64_t)(here * V->k), sizeof *host, &host));
    for (int64_t i = 0; i < here; i++) {
        const int64_t j = vector_of(N, place, i);
        if (j >= 0) host[j * here + i] = 1 / sqrt(size[j]);
    }
    TRY(kryi_vec_write_doubles(V, host));
done:
    free(host);
    return st;
}

/* Let the operator of the rows here know what was found. c->x: the vectors, or NULL for none. */
static kry_status hand_out(const kryi_call *c)
{
    kry_status st = KRY_OK;
    kry_op *A = (kry_op *)c->A; /* what was found is no part of the operator's value */
    kryi_null_found F = *(const kryi_null_found *)c->more;

    F.seen = A->updates + 1, F.vectors = NULL;
    if (c->x) {
        TRY(kry_vec_create(A->dev, A->shape.type, c->x->n, c->x->k, &F.vectors));
        TRY(kry_vec_copy(c->x, F.vectors));
    }
    kry_vec_release(&A->null_found.vectors);
    A->null_found = F, F.vectors = NULL;
done:
    kry_vec_release(&F.vectors);
    return st;
}

/* N: of the rows here */
static kry_status take(const kry_op *A, int64_t here, const kryi_null_parts *N)
{
    kry_status st = KRY_OK;
    kryi_null_found F = { .parts = N->parts, .empty = N->empty };
    double size[MOST] = { 0 };
    int64_t *place = NULL;
    kry_vec *V = NULL;

    TRY(kryi_alloc((size_t)(N->parts + N->empty), sizeof *place, &place));
    const int64_t count = select_both(N, &F.both, place);
    for (int64_t i = 0; i < here && count; i++)
        if (vector_of(N, place, i) >= 0) size[vector_of(N, place, i)]++;
    if (kryi_op_on_ranks(A)) TRY(combine(A, KRY_ADD, size, (size_t)count));
    F.constants = count == 1 && size[0] == (double)A->shape.rows;
    if (count && count < A->shape.rows && !F.constants) {
        TRY(kry_vec_create(A->dev, A->shape.type, A->shape.rows, count, &V));
        TRY(write_vectors(N, place, size, V));
    }
    TRY(kryi_op_call(&(kryi_call){ .A = A, .x = V, .more = &F }, hand_out));
    if (!A->dev->team) goto done; /* A has them */
    kry_vec_release(&((kry_op *)A)->null_found.vectors);
    F.seen = A->updates + 1, F.vectors = V, V = NULL;
    ((kry_op *)A)->null_found = F;
done:
    kry_vec_release(&V);
    free(place);
    return st;
}

/* Look for null parts in an A whose rows are all in this process. */
static kry_status find_parts(const char *who, const kry_op *A, kryi_null_parts *N)
{
    kry_status st = KRY_OK;
    kryi_csr rows = { 0 };

    TRY(A->dev->team ? kryi_rows_download(A, &rows) : kryi_rows_read(who, A, &rows));
    TRY(kryi_csr_convert(&rows, KRY_F64));
    TRY(kryi_csr_null_parts(&rows, kryi_unit_roundoff(A->shape.type), N));
done:
    kryi_csr_release(&rows);
    return st;
}

kry_status kryi_find_null(const char *who, const kry_op *A)
{
    kry_status st = KRY_OK;
    const bool on_ranks = kryi_op_on_ranks(A);
    int64_t here = A->shape.rows;
    kryi_null_parts N = { 0 };

    if (!may_be_singular(A) || A->null_found.seen == A->updates + 1) return KRY_OK;
    st = on_ranks ? find_on_ranks(A, &here, &N) : find_parts(who, A, &N);
    if (st == KRY_ERR_UNSUPPORTED) return KRY_OK; /* nobody can read them */
    TRY(st);
    TRY(take(A, here, &N));
done:
    kryi_null_parts_release(&N);
    return st;
}

kry_status kry_op_find_null_space(const kry_op *A, kry_vec **vectors)
{
    static const char who[] = "kry_op_find_null_space";
    kry_status st = KRY_OK;
    const kry_device *device = kry_op_device(A);

    kryi_team_enter(device, who, NULL);
    if (vectors) *vectors = NULL;
    TRY(GIVEN(A, vectors));
    TRY(kryi_find_null(who, A));
    const kryi_null_found *F = &A->null_found;
    CHECK(F->both <= MOST, KRY_ERR_UNSUPPORTED,
          "%s: '%s' has %lld parts that no entry connects with the rest and whose rows add up to "
          "zero: each has constants of its own that are mapped to zero, and at most %d are kept "
          "out of a solution; solve the parts one by one, or with null-space=none",
          who, A->table->kind, (long long)F->both, (int)MOST);
    if (!kryi_op_found_null(A)) goto done;
    assert(vectors);
    if (F->vectors) {
        *vectors = kry_vec_retain(F->vectors);
    } else {
        TRY(kry_vec_create(A->dev, A->shape.type, A->shape.rows, 1, vectors));
        TRY(kry_vec_fill(*vectors, 1 / sqrt((double)A->shape.rows)));
    }
done:
    st = kryi_team_leave(device, st);
    if (st < 0 && vectors) kry_vec_release(vectors);
    return st;
}

/* ---- b out of the range ------------------------------------------------------------------------
 *
 * A M maps the residual r to almost zero: either b is out of the range of a singular A, or A is ill-conditioned. w := M r
 * is then close to A's null space, if there is one, and A u = A w, solved for u from zero, decides: w - u is the part of w
 * that A maps to zero, to rounding, and if A is regular next to nothing is left of w. */

/* Not where A's null space is promised, or that it has none. */
double kryi_krylov_ask(const kryi_krylov *K)
{
    enum { MOST_FOUND = 8 }; /* vectors, each of which costs a search */
    const kryi_null_space *null = &K->residual.null;
    const bool asks = K->method->finds_null && !(K->A->shape.traits & KRY_POSITIVE) &&
                      null->found && (!null->certified || null->vectors->k < MOST_FOUND) &&
                      K->stopping.criteria.test != KRY_STOP_NEVER;

    if (!asks) return 0;
    return K->A->shape.type == KRY_F64 ? 1e-7 : 1e-3;
}

/* w := w / ||w||, g := A w. *mapped: ||A w|| / ||A||, infinite if nothing is left of w */
static kry_status measure_mapped(kryi_krylov *K, double norm_A, kry_vec *w, kry_vec *g,
                                 double *mapped)
{
    kry_status st = KRY_OK;
    double size;

    *mapped = INFINITY;
    TRY(kryi_null_space_project(&K->residual.null, w));
    TRY(kry_vec_norm2(w, &size));
    if (!(size > 0 && isfinite(size))) return KRY_OK;
    TRY(kry_vec_axpby(1 / size, w, 0, w));
    TRY(kry_op_apply(K->A, 1, w, 0, g));
    TRY(kry_vec_norm2(g, &size));
    *mapped = size / norm_A;
done:
    return st;
}

/* w := a vector of norm 1 that A maps to zero but for rounding, close to M r, orthogonal to what is known; if there is none
 * *found is false. used: iterations, at most so many. Waits. */
static kry_status find_null_vector(kryi_krylov *K, const kry_vec *r, kry_vec *w, int64_t most,
                                   int64_t *used, bool *found)
{
    kry_status st = KRY_OK;
    /* Where A is regular and of condition 1e12, ||A w|| / ||A|| is at least 1e-12 for every w. */
    const double least = 16 * K->stopping.roundoff;
    kryi_progress progress = { .dev = K->A->dev };
    void *self = NULL; /* a state of its own */
    kry_vec *g, *u;
    double norm_A, mapped, last = INFINITY;

    TRY(kryi_progress_reserve(&progress, most));
    TRY(kryi_workspace_create(K, 1, &self));
    TRY(kryi_workspace_vectors(self, 1, VECTORS_AT(&g, &u)));
    TRY(kryi_residual_norm_of_A(&K->residual, g, &norm_A));
    TRY(K->M ? kry_op_apply(K->M, 1, r, 0, w) : kry_vec_copy(r, w));
    for (;;) {
        TRY(measure_mapped(K, norm_A, w, g, &mapped));
        *found = mapped <= least;
        if (*found || !(mapped <= 0.5 * last) || *used >= most) break;
        TRY(kry_vec_fill(u, 0));
        kryi_progress_begin(&progress, most - *used, true);
        kryi_cycle c = { .x = u,
                         .r = g,
                         .norm = mapped * norm_A,
                         .goal = 0.25 * least * norm_A,
                         .progress = &progress };
        TRY(K->method->cycle(self, &c));
        TRY(kry_vec_axpby(-1, u, 1, w));
        *used += progress.iteration, last = mapped;
    }
done:
    kryi_workspace_destroy(self);
    free(progress.history);
    return st;
}

/* x goes without v, of norm 1 and orthogonal to what was known. */
static kry_status take_out(kryi_krylov *K, kryi_cycle *c, const kry_vec *v)
{
    kry_status st = KRY_OK;

    TRY(kryi_residual_add_null(&K->residual, v));
    TRY(kryi_null_space_project(&K->residual.null, c->x));
    TRY(kryi_null_space_measure(&K->residual.null, c->b, &K->stopping.inconsistent));
    K->residual.along = K->stopping.inconsistent;
    kryi_stopping_set_target(&K->stopping);
    K->stopping.last_true = -1, K->best_residual = INFINITY; /* residuals were others */
    if (kryi_krylov_ask(K) == 0) c->ask = 0;
done:
    return st;
}

kry_status kryi_krylov_find_null(kryi_krylov *K, kryi_cycle *c)
{
    kry_status st = KRY_OK;
    kryi_progress *p = c->progress;
    const int64_t share = 2 * p->iteration + 50, rest = (p->max_iter - p->iteration) / 2;
    int64_t used = 0;
    bool found = false;
    kry_vec *w = NULL;

    if (!(c->ask > 0 && p->end == KRY_END_MATRIX)) return KRY_OK;
    TRY(kry_vec_create(c->r->dev, c->r->type, c->r->n, 1, &w));
    if (rest > 0) TRY(find_null_vector(K, c->r, w, share < rest ? share : rest, &used, &found));
    while (used-- > 0) TRY(kryi_progress_record(p, ++p->iteration, p->residual / p->unit));
    if (found)
        TRY(take_out(K, c, w));
    else if ((c->ask *= sqrt(sqrt(K->stopping.roundoff))) < K->stopping.roundoff)
        c->ask = 0;
    p->end = KRY_END_NONE;
done:
    kry_vec_release(&w);
    return st;
}
