/*
 * smoothed.c - smoothed aggregation: P = (I - omega D_F^-1 F) T, omega = 4/3 / rho(D_F^-1 F). T is the
 * tentative prolongation, F is A without its weak couplings, which are added to the diagonal.
 *
 * Source  P. Vanek, J. Mandel, M. Brezina, Computing 56 (1996), 179-196; doi:10.1007/BF02238511
 */
#include "amg/amg_device.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What stays when A has new numbers. */
typedef struct smoothed {
    kry_sparse T;
    bool *strong;      /* which entries of A are in F; NULL: all */
    kry_sparse places; /* of P: no numbers */
} smoothed;

static void smoothed_destroy(void *kept)
{
    smoothed *s = kept;
    if (!s) return;
    free(s->strong);
    kry_sparse_release(&s->places);
    kry_sparse_release(&s->T);
    free(s);
}

/* ---- P from T and the strong entries ---------------------------------------------------------- */

/* F, which borrows A's pattern if all entries are strong. */
typedef struct filtered {
    kry_sparse F;
    bool borrows;
    double *d; /* the diagonal of F, or of A where little is left of it */
} filtered;

static void filtered_release(filtered *f)
{
    if (f->borrows) f->F.row_ptr = NULL, f->F.col = NULL;
    kry_sparse_release(&f->F);
    free(f->d);
}

/* Row i of F. Returns its diagonal entry. */
static double filter_row(const kry_sparse *A, const bool *strong, int64_t i, kry_sparse *F)
{
    const double least = 0.1; /* of the diagonal, for a step of Jacobi to be divided by it */
    const double *a = A->val;
    double *val = F->val, weak = 0, entry = 0;
    int64_t end = F->row_ptr[i], at = -1;

    for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++) {
        if (strong && !strong[e]) {
            weak += a[e];
            continue;
        }
        if (A->col[e] == i) at = end, entry = a[e];
        F->col[end] = A->col[e], val[end++] = a[e];
    }
    F->row_ptr[i + 1] = end;
    val[at] += weak;
    return val[at] >= least * entry ? val[at] : entry;
}

static kry_status filter(const kry_sparse *A, const bool *strong, filtered *f)
{
    kry_status st = KRY_OK;
    const int64_t nnz = kry_sparse_nnz(A);

    *f = (filtered){ .borrows = !strong };
    TRY(kry_alloc((size_t)A->rows, sizeof *f->d, &f->d));
    if (strong) {
        TRY(kry_sparse_create(A->rows, A->cols, KRY_F64, nnz, &f->F));
    } else {
        f->F = (kry_sparse){ A->rows, A->cols, KRY_F64, A->row_ptr, A->col, NULL };
        TRY(kry_alloc((size_t)nnz, sizeof(double), &f->F.val));
    }
    for (int64_t i = 0; i < A->rows; i++) f->d[i] = filter_row(A, strong, i, &f->F);
done:
    return st;
}

/* F := I - omega D^-1 F */
static void to_smoother(filtered *f, double omega)
{
    double *val = f->F.val;

    for (int64_t i = 0; i < f->F.rows; i++)
        for (int64_t e = f->F.row_ptr[i]; e < f->F.row_ptr[i + 1]; e++)
            val[e] = (f->F.col[e] == i) - omega / f->d[i] * val[e];
}

/* P is empty, or has its places and room for its numbers. */
static kry_status smooth(const kry_sparse *A, const smoothed *s, kry_sparse *P)
{
    kry_status st = KRY_OK;
    filtered f;
    double rho;

    TRY(filter(A, s->strong, &f));
    TRY(kry_amg_rho(&f.F, f.d, &rho));
    to_smoother(&f, 4.0 / 3 / rho);
    if (P->row_ptr)
        TRY(kry_sparse_multiply_within(&f.F, NULL, &s->T, P));
    else
        TRY(kry_sparse_multiply(&f.F, &s->T, P));
done:
    filtered_release(&f);
    return st;
}

/* ---- set-up ---------------------------------------------------------------------------------- */

/* strong[e]: the nodes of entry e are the same, or coupled in S. */
static kry_status mark(const kry_sparse *A, int block, const kry_sparse *S, bool *strong)
{
    kry_status st = KRY_OK;
    int64_t *row = NULL; /* of each node: 1 + the last node that it is coupled to */

    TRY(kry_alloc((size_t)S->rows, sizeof *row, &row));
    for (int64_t i = 0; i < S->rows; i++) {
        row[i] = i + 1;
        for (int64_t e = S->row_ptr[i]; e < S->row_ptr[i + 1]; e++) row[S->col[e]] = i + 1;
        for (int64_t e = A->row_ptr[i * block]; e < A->row_ptr[(i + 1) * block]; e++)
            strong[e] = row[A->col[e] / block] == i + 1;
    }
done:
    free(row);
    return st;
}

/* Aggregates by couplings of at least theta; false: they are too few, or hardly fewer than the nodes. */
static kry_status find_aggregates(const kry_coarsen *c, const kry_sparse *A, double theta,
                                  kry_aggregates *g, bool **strong, bool *useful)
{
    kry_status st = KRY_OK;
    kry_sparse S = { 0 };

    TRY(kry_strength(A, c->block, theta, &S));
    g->nodes = S.rows;
    if (!g->of_node) TRY(kry_alloc((size_t)g->nodes, sizeof *g->of_node, &g->of_node));
    TRY(kry_aggregate(&S, kry_aggregates_large(c), g->of_node, &g->count));
    *useful = g->count > 0 && g->count * c->vectors < 0.9 * (double)A->rows;
    if (*useful && theta > 0) {
        TRY(kry_alloc((size_t)kry_sparse_nnz(A), sizeof **strong, strong));
        TRY(mark(A, c->block, &S, *strong));
    }
done:
    kry_sparse_release(&S);
    return st;
}

kry_status kry_find_aggregates(const kry_coarsen *c, const kry_sparse *A, kry_aggregates *g,
                               bool **strong)
{
    kry_status st = KRY_OK;
    const double theta = ldexp(c->strength, -c->level);
    bool useful;

    TRY(find_aggregates(c, A, theta, g, strong, &useful));
    if (!useful && theta > 0) TRY(find_aggregates(c, A, 0, g, strong, &useful));
    if (useful) return KRY_OK;
    g->count = 0;
    for (int64_t i = 0; i < g->nodes; i++) g->of_node[i] = -1;
done:
    return st;
}

static kry_status smoothed_create(kry_coarsen *c, const kry_sparse *A, kry_sparse *P, void **kept)
{
    kry_status st = KRY_OK;
    kry_aggregates g = { 0 };
    smoothed *s = NULL;
    double *C = NULL;

    *P = (kry_sparse){ 0 };
    TRY(kry_alloc(1, sizeof *s, &s));
    TRY(kry_find_aggregates(c, A, &g, &s->strong));
    TRY(kry_tentative(&g, c->block, c->vectors, c->near_null_space, &s->T, &C));
    TRY(smooth(A, s, P));
    TRY(kry_places_copy(P, &s->places));
    free(c->near_null_space);
    c->near_null_space = C, C = NULL;
    c->block = c->vectors;
    *kept = s, s = NULL;
done:
    if (st < 0) kry_sparse_release(P);
    free(C);
    smoothed_destroy(s);
    free(g.of_node);
    return st;
}

static kry_status smoothed_update(const kry_sparse *A, void *kept, kry_sparse *P)
{
    kry_status st = KRY_OK;
    const smoothed *s = kept;

    TRY(kry_places_copy(&s->places, P));
    TRY(kry_alloc((size_t)kry_sparse_nnz(P), sizeof(double), &P->val));
    TRY(smooth(A, s, P));
done:
    if (st < 0) kry_sparse_release(P);
    return st;
}

const kry_coarsener kry_smoothed_aggregation = {
    .name = "aggregation",
    .on_device = &kry_device_aggregation,
    .create = smoothed_create,
    .update = smoothed_update,
    .destroy = smoothed_destroy,
};
