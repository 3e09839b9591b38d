/*
 * smoothed.c - smoothed aggregation: P = (I - omega D_F^-1 F) T, omega = 4/3 / rho(D_F^-1 F). T is the
 * tentative prolongation, F is A without its weak couplings, which are added to the diagonal.
 *
 * Source  P. Vanek, J. Mandel, M. Brezina, Computing 56 (1996), 179-196; doi:10.1007/BF02238511
 */
#include "amg/amg.h"
#include "amg/amg_device.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the norms of the blocks of a row of nodes ------------------------------------------------ */

typedef struct node_row {
    const kryi_csr *A;
    int block;
    int64_t *place;     /* of each node: where it is among those of the row, or -1 */
    int32_t *met;       /* nodes in the order in which they are met */
    const int32_t *col; /* of the row: met, or where A has them */
    double *squared;    /* of their norms */
    int64_t count;
} node_row;

static kry_status node_row_create(const kryi_csr *A, int block, node_row *r)
{
    kry_status st = KRY_OK;
    const int64_t nodes = A->cols / block;

    *r = (node_row){ .A = A, .block = block };
    TRY(kryi_alloc((size_t)nodes, sizeof *r->squared, &r->squared));
    if (block == 1) return KRY_OK;
    TRY(kryi_alloc((size_t)nodes, sizeof *r->met, &r->met));
    r->col = r->met;
    TRY(kryi_alloc((size_t)nodes, sizeof *r->place, &r->place));
    for (int64_t i = 0; i < nodes; i++) r->place[i] = -1;
done:
    return st;
}

/* The squared norms of the blocks of node i. */
static void node_row_form(node_row *r, int64_t i)
{
    const kryi_csr *A = r->A;
    const double *val = A->val;

    if (r->block == 1) {
        val += A->row_ptr[i];
        r->col = A->col + A->row_ptr[i];
        r->count = kryi_row_length(A, i);
        for (int64_t k = 0; k < r->count; k++) r->squared[k] = val[k] * val[k];
        return;
    }
    r->count = 0;
    for (int64_t e = A->row_ptr[i * r->block]; e < A->row_ptr[(i + 1) * r->block]; e++) {
        const int32_t node = A->col[e] / r->block;
        int64_t at = r->place[node];
        if (at < 0) {
            r->place[node] = at = r->count++;
            r->met[at] = node, r->squared[at] = 0;
        }
        r->squared[at] += val[e] * val[e];
    }
    for (int64_t k = 0; k < r->count; k++) r->place[r->col[k]] = -1;
}

/* ---- the graph ------------------------------------------------------------------------------- */

/* Append the strong couplings of node i to S. d: the norms of the diagonal blocks. */
static void append_row(const node_row *r, int64_t i, double theta, const double *d, kryi_csr *S)
{
    int64_t end = S->row_ptr[i];
    double *val = S->val;

    for (int64_t k = 0; k < r->count; k++) {
        const int32_t j = r->col[k];
        if (j == i || !(r->squared[k] > 0)) continue;
        if (theta > 0 && !(r->squared[k] >= theta * theta * (d[i] * d[j]))) continue;
        S->col[end] = j, val[end++] = sqrt(r->squared[k]);
    }
    S->row_ptr[i + 1] = end;
}

/* Norms of the diagonal blocks. */
static void diagonal_norms(node_row *r, int64_t nodes, double *d, int64_t *couplings)
{
    *couplings = 0;
    for (int64_t i = 0; i < nodes; i++) {
        node_row_form(r, i);
        for (int64_t k = 0; k < r->count; k++)
            if (r->col[k] == i) d[i] = sqrt(r->squared[k]);
        *couplings += r->count;
    }
}

kry_status kryi_strength(const kryi_csr *A, int block, double theta, kryi_csr *S)
{
    kry_status st = KRY_OK;
    const int64_t nodes = A->rows / block;
    int64_t couplings;
    node_row r = { 0 };
    double *d = NULL;

    *S = (kryi_csr){ 0 };
    TRY(node_row_create(A, block, &r));
    TRY(kryi_alloc((size_t)nodes, sizeof *d, &d));
    diagonal_norms(&r, nodes, d, &couplings);
    TRY(kryi_csr_create(nodes, nodes, KRY_F64, couplings, S));
    for (int64_t i = 0; i < nodes; i++) {
        node_row_form(&r, i);
        append_row(&r, i, theta, d, S);
    }
    if (block > 1) TRY(kryi_csr_sort(S));
done:
    free(d);
    free(r.place);
    free(r.met);
    free(r.squared);
    if (st < 0) kryi_csr_release(S);
    return st;
}

/* ---- aggregates ------------------------------------------------------------------------------ */

/*
 * Nodes in aggregates around the members of a maximal independent set.
 *
 * Processors that look at all nodes at once, round after round, take as roots those of the largest
 * priority within two edges. What comes out is what one of them finds that takes the nodes in the order
 * of their priorities: so the host does.
 */

/* ---- priorities ------------------------------------------------------------------------------ */

/* Of two nodes with the same 31 bits the later one comes first. */
static uint32_t priority(int64_t node) { return kryi_scramble((uint32_t)node) >> 1; }

/* order := the n nodes by falling priority. next: n. Radix sort, 16 bits at a time. */
static kry_status by_priority(int64_t n, int32_t *order)
{
    enum { BITS = 16, BINS = 1 << BITS };
    kry_status st = KRY_OK;
    int32_t *other = NULL, *from, *to;
    int64_t *end = NULL;

    TRY(kryi_alloc((size_t)n, sizeof *other, &other));
    TRY(kryi_alloc(BINS + 1, sizeof *end, &end));
    for (int64_t i = 0; i < n; i++) other[i] = (int32_t)(n - 1 - i);
    for (int shift = 0; shift < 2 * BITS; shift += BITS) {
        from = shift ? order : other, to = shift ? other : order;
        memset(end, 0, (BINS + 1) * sizeof *end);
        for (int64_t i = 0; i < n; i++) end[BINS - (priority(from[i]) >> shift & (BINS - 1))]++;
        for (int b = 0; b < BINS; b++) end[b + 1] += end[b];
        for (int64_t i = 0; i < n; i++)
            to[end[BINS - 1 - (priority(from[i]) >> shift & (BINS - 1))]++] = from[i];
    }
    memcpy(order, other, (size_t)n * sizeof *order);
done:
    free(end);
    free(other);
    return st;
}

/* ---- independent sets ------------------------------------------------------------------------ */

enum { FREE, COVERED, ROOT };

/* Of the nodes that belong to `within` (-1: in no aggregate) those that are neither coupled to a root nor to
 * a node that is, in the order given, become roots. state: n, all FREE. Nodes without a neighbour among
 * these stay FREE. */
static void find_roots(const kryi_csr *S, const int32_t *order, const int32_t *aggregate,
                       char *state)
{
    for (int64_t k = 0; k < S->rows; k++) {
        const int32_t root = order[k];
        bool alone = true;
        if (state[root] != FREE || aggregate[root] >= 0) continue;
        for (int64_t e = S->row_ptr[root]; e < S->row_ptr[root + 1]; e++) {
            const int32_t i = S->col[e];
            if (aggregate[i] >= 0) continue;
            alone = false, state[i] = COVERED;
            for (int64_t f = S->row_ptr[i]; f < S->row_ptr[i + 1]; f++)
                if (aggregate[S->col[f]] < 0) state[S->col[f]] = COVERED;
        }
        if (!alone) state[root] = ROOT;
    }
}

/* Roots with at least `least` neighbours in no aggregate, if `large` half of them all, make aggregates with
 * these, in the order of the roots' numbers. */
static void gather(const kryi_csr *S, const char *state, int64_t least, bool large,
                   int32_t *aggregate, int64_t *count)
{
    for (int64_t i = 0; i < S->rows; i++) {
        int64_t neighbours = 0;
        if (state[i] != ROOT) continue;
        for (int64_t e = S->row_ptr[i]; e < S->row_ptr[i + 1]; e++)
            neighbours += aggregate[S->col[e]] < 0;
        if (neighbours < least || (large && 2 * neighbours < kryi_row_length(S, i))) continue;
        aggregate[i] = (int32_t)*count;
        for (int64_t e = S->row_ptr[i]; e < S->row_ptr[i + 1]; e++)
            if (aggregate[S->col[e]] < 0) aggregate[S->col[e]] = (int32_t)*count;
        ++*count;
    }
}

/* The others join the aggregate of the neighbour, of those that `now` knows, to which their coupling is
 * strongest. */
static void join(const kryi_csr *S, const int32_t *now, int32_t *aggregate)
{
    const double *val = S->val;

    for (int64_t i = 0; i < S->rows; i++) {
        double strongest = 0;
        if (now[i] >= 0) continue;
        for (int64_t e = S->row_ptr[i]; e < S->row_ptr[i + 1]; e++)
            if (now[S->col[e]] >= 0 && val[e] > strongest)
                strongest = val[e], aggregate[i] = now[S->col[e]];
    }
}

kry_status kryi_aggregate(const kryi_csr *S, bool large, int32_t *aggregate, int64_t *count)
{
    kry_status st = KRY_OK;
    const int64_t n = S->rows;
    int32_t *order = NULL;
    char *state = NULL;

    *count = 0;
    TRY(kryi_alloc((size_t)n, sizeof *order, &order));
    TRY(kryi_alloc((size_t)n, sizeof *state, &state));
    for (int64_t i = 0; i < n; i++) aggregate[i] = -1;
    TRY(by_priority(n, order));
    for (int pass = 0; pass < 2; pass++) {
        memset(state, FREE, (size_t)n);
        find_roots(S, order, aggregate, state);
        gather(S, state, pass == 0 ? 0 : 2, large, aggregate, count);
    }
    memcpy(order, aggregate, (size_t)n * sizeof *order);
    join(S, order, aggregate);
done:
    free(state);
    free(order);
    return st;
}

/* ---- the prolongation ------------------------------------------------------------------------ */

/* What stays when A has new numbers. */
typedef struct smoothed {
    kryi_csr T;
    bool *strong;    /* which entries of A are in F; NULL: all */
    kryi_csr places; /* of P: no numbers */
} smoothed;

static void smoothed_destroy(void *kept)
{
    smoothed *s = kept;
    if (!s) return;
    free(s->strong);
    kryi_csr_release(&s->places);
    kryi_csr_release(&s->T);
    free(s);
}

/* ---- P from T and the strong entries ---------------------------------------------------------- */

/* F, which borrows A's pattern if all entries are strong. */
typedef struct filtered {
    kryi_csr F;
    bool borrows;
    double *d; /* the diagonal of F, or of A where little is left of it */
} filtered;

/* Row i of F. Returns its diagonal entry. */
static double filter_row(const kryi_csr *A, const bool *strong, int64_t i, kryi_csr *F)
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

static kry_status filter(const kryi_csr *A, const bool *strong, filtered *f)
{
    kry_status st = KRY_OK;
    const int64_t nnz = kryi_csr_nnz(A);

    *f = (filtered){ .borrows = !strong };
    TRY(kryi_alloc((size_t)A->rows, sizeof *f->d, &f->d));
    if (strong) {
        TRY(kryi_csr_create(A->rows, A->cols, KRY_F64, nnz, &f->F));
    } else {
        f->F = (kryi_csr){ A->rows, A->cols, KRY_F64, A->row_ptr, A->col, NULL };
        TRY(kryi_alloc((size_t)nnz, sizeof(double), &f->F.val));
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
static kry_status smooth(const kryi_csr *A, const smoothed *s, kryi_csr *P)
{
    kry_status st = KRY_OK;
    filtered f;
    double rho;

    TRY(filter(A, s->strong, &f));
    TRY(kryi_amg_rho(&f.F, f.d, &rho));
    to_smoother(&f, 4.0 / 3 / rho);
    if (P->row_ptr)
        TRY(kryi_csr_multiply_within(&f.F, NULL, &s->T, P));
    else
        TRY(kryi_csr_multiply(&f.F, &s->T, P));
done:
    if (f.borrows) f.F.row_ptr = NULL, f.F.col = NULL;
    kryi_csr_release(&f.F);
    free(f.d);
    return st;
}

/* ---- set-up ---------------------------------------------------------------------------------- */

/* strong[e]: the nodes of entry e are the same, or coupled in S. */
static kry_status mark(const kryi_csr *A, int block, const kryi_csr *S, bool *strong)
{
    kry_status st = KRY_OK;
    int64_t *row = NULL; /* of each node: 1 + the last node that it is coupled to */

    TRY(kryi_alloc((size_t)S->rows, sizeof *row, &row));
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
static kry_status find_aggregates(const kryi_coarsen *c, const kryi_csr *A, double theta,
                                  kryi_aggregates *g, bool **strong, bool *useful)
{
    kry_status st = KRY_OK;
    kryi_csr S = { 0 };

    TRY(kryi_strength(A, c->block, theta, &S));
    g->nodes = S.rows;
    if (!g->of_node) TRY(kryi_alloc((size_t)g->nodes, sizeof *g->of_node, &g->of_node));
    TRY(kryi_aggregate(&S, kryi_aggregates_large(c), g->of_node, &g->count));
    *useful = g->count > 0 && g->count * c->vectors < 0.9 * (double)A->rows;
    if (*useful && theta > 0) {
        TRY(kryi_alloc((size_t)kryi_csr_nnz(A), sizeof **strong, strong));
        TRY(mark(A, c->block, &S, *strong));
    }
done:
    kryi_csr_release(&S);
    return st;
}

kry_status kryi_find_aggregates(const kryi_coarsen *c, const kryi_csr *A, kryi_aggregates *g,
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

static kry_status smoothed_create(kryi_coarsen *c, const kryi_csr *A, kryi_csr *P, void **kept)
{
    kry_status st = KRY_OK;
    kryi_aggregates g = { 0 };
    smoothed *s = NULL;
    double *C = NULL;

    *P = (kryi_csr){ 0 };
    TRY(kryi_alloc(1, sizeof *s, &s));
    TRY(kryi_find_aggregates(c, A, &g, &s->strong));
    TRY(kryi_tentative(&g, c->block, c->vectors, c->near_null_space, &s->T, &C));
    TRY(smooth(A, s, P));
    TRY(kryi_csr_copy_pattern(P, &s->places));
    free(c->near_null_space);
    c->near_null_space = C, C = NULL;
    c->block = c->vectors;
    *kept = s, s = NULL;
done:
    if (st < 0) kryi_csr_release(P);
    free(C);
    smoothed_destroy(s);
    free(g.of_node);
    return st;
}

static kry_status smoothed_update(const kryi_csr *A, void *kept, kryi_csr *P)
{
    kry_status st = KRY_OK;
    const smoothed *s = kept;

    TRY(kryi_csr_copy_pattern(&s->places, P));
    TRY(kryi_alloc((size_t)kryi_csr_nnz(P), sizeof(double), &P->val));
    TRY(smooth(A, s, P));
done:
    if (st < 0) kryi_csr_release(P);
    return st;
}

const kryi_coarsener kryi_smoothed_aggregation = {
    .name = "aggregation",
    .on_device = &kryi_device_aggregation,
    .create = smoothed_create,
    .update = smoothed_update,
    .destroy = smoothed_destroy,
};
