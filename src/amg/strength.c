/* strength.c - which nodes of a matrix are coupled strongly. */
#include "amg/amg.h"
#include <math.h>
#include <stdlib.h>

/* ---- the norms of the blocks of a row of nodes ------------------------------------------------ */

typedef struct node_row {
    const kry_sparse *A;
    int block;
    int64_t *place;     /* of each node: where it is among those of the row, or -1 */
    int32_t *met;       /* nodes in the order in which they are met */
    const int32_t *col; /* of the row: met, or where A has them */
    double *squared;    /* of their norms */
    int64_t count;
} node_row;

static kry_status node_row_create(const kry_sparse *A, int block, node_row *r)
{
    kry_status st = KRY_OK;
    const int64_t nodes = A->cols / block;

    *r = (node_row){ .A = A, .block = block };
    TRY(kry_alloc((size_t)nodes, sizeof *r->squared, &r->squared));
    if (block == 1) return KRY_OK;
    TRY(kry_alloc((size_t)nodes, sizeof *r->met, &r->met));
    r->col = r->met;
    TRY(kry_alloc((size_t)nodes, sizeof *r->place, &r->place));
    for (int64_t i = 0; i < nodes; i++) r->place[i] = -1;
done:
    return st;
}

static void node_row_release(node_row *r)
{
    free(r->place);
    free(r->met);
    free(r->squared);
}

/* Row i of a matrix whose nodes are its unknowns. */
static void plain_row_form(node_row *r, int64_t i)
{
    const double *val = (const double *)r->A->val + r->A->row_ptr[i];

    r->col = r->A->col + r->A->row_ptr[i];
    r->count = kry_row_length(r->A, i);
    for (int64_t k = 0; k < r->count; k++) r->squared[k] = val[k] * val[k];
}

/* The squared norms of the blocks of node i. */
static void node_row_form(node_row *r, int64_t i)
{
    const kry_sparse *A = r->A;
    const double *val = A->val;

    if (r->block == 1) {
        plain_row_form(r, i);
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
static void append_row(const node_row *r, int64_t i, double theta, const double *d, kry_sparse *S)
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

kry_status kry_strength(const kry_sparse *A, int block, double theta, kry_sparse *S)
{
    kry_status st = KRY_OK;
    const int64_t nodes = A->rows / block;
    int64_t couplings;
    node_row r = { 0 };
    double *d = NULL;

    *S = (kry_sparse){ 0 };
    TRY(node_row_create(A, block, &r));
    TRY(kry_alloc((size_t)nodes, sizeof *d, &d));
    diagonal_norms(&r, nodes, d, &couplings);
    TRY(kry_sparse_create(nodes, nodes, KRY_F64, couplings, S));
    for (int64_t i = 0; i < nodes; i++) {
        node_row_form(&r, i);
        append_row(&r, i, theta, d, S);
    }
    if (block > 1) TRY(kry_sparse_sort(S));
done:
    free(d);
    node_row_release(&r);
    if (st < 0) kry_sparse_release(S);
    return st;
}
