/* tentative.c - a prolongation that reproduces the near null space, aggregate by aggregate. */
#include "amg/amg.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The nodes by aggregates: those of aggregate a are node[first[a]] ... node[first[a + 1] - 1]. */
typedef struct members {
    int64_t *first;
    int32_t *node;
} members;

static void members_release(members *s)
{
    free(s->node);
    free(s->first);
    *s = (members){ 0 };
}

static kry_status members_create(const kryi_aggregates *g, members *s)
{
    kry_status st = KRY_OK;

    *s = (members){ 0 };
    TRY(kryi_alloc((size_t)g->count + 2, sizeof *s->first, &s->first));
    TRY(kryi_alloc((size_t)g->nodes, sizeof *s->node, &s->node));
    for (int64_t i = 0; i < g->nodes; i++)
        if (g->of_node[i] >= 0) s->first[g->of_node[i] + 2]++;
    for (int64_t a = 0; a < g->count; a++) s->first[a + 2] += s->first[a + 1];
    for (int64_t i = 0; i < g->nodes; i++)
        if (g->of_node[i] >= 0) s->node[s->first[g->of_node[i] + 1]++] = (int32_t)i;
done:
    if (st < 0) members_release(s);
    return st;
}

/* ---- the factorisation of an aggregate -------------------------------------------------------- */

/* Q, rows-by-m, is made orthonormal, column by column; R: m-by-m. What is left of a column that depends on
 * those before it, and noise in Q, becomes zero. Gram and Schmidt, twice. */
static void factor(double *Q, int64_t rows, int m, double *R)
{
    const double noise = 1e-13; /* of a column of norm 1: what rounding makes of a zero */

    if (m == 1) {
        R[0] = 1;
        return;
    }
    for (int j = 0; j < m; j++) {
        double before = 0, norm = 0;
        for (int64_t i = 0; i < rows; i++) before += Q[i * m + j] * Q[i * m + j];
        for (int turn = 0; turn < 2 * j; turn++) {
            const int k = turn % j;
            double share = 0;
            for (int64_t i = 0; i < rows; i++) share += Q[i * m + k] * Q[i * m + j];
            for (int64_t i = 0; i < rows; i++) Q[i * m + j] -= share * Q[i * m + k];
            R[k * m + j] += share;
        }
        for (int64_t i = 0; i < rows; i++) norm += Q[i * m + j] * Q[i * m + j];
        norm = sqrt(norm);
        const bool depends = !(norm > 1e-8 * sqrt(before));
        if (!depends) R[j * m + j] = norm;
        for (int64_t i = 0; i < rows; i++) {
            double *q = &Q[i * m + j];
            *q = depends || fabs(*q) <= noise * norm ? 0 : *q / norm;
        }
    }
}

/* ---- all aggregates -------------------------------------------------------------------------- */

typedef struct tentative_args {
    members members;
    int block, m;
    const double *B;
    double *Q;
    kryi_csr *T;
} tentative_args;

/* Q := the rows of B that belong to aggregate a. Returns how many. */
static int64_t take_rows(const tentative_args *b, int64_t a)
{
    const size_t bytes = (size_t)(b->block * b->m) * sizeof *b->Q;
    int64_t rows = 0;

    for (int64_t k = b->members.first[a]; k < b->members.first[a + 1]; k++, rows += b->block)
        memcpy(b->Q + rows * b->m, b->B + (int64_t)b->members.node[k] * b->block * b->m, bytes);
    return rows;
}

/* The entries of aggregate a, each row in its place; a zero column has one in its first row. T has
 * room for m entries a row, and row_ptr[i + 1] counts those of row i. */
static void put_rows(tentative_args *b, int64_t a, int64_t rows)
{
    const int m = b->m;
    double *val = b->T->val;

    for (int64_t k = 0; k < rows; k++) {
        const int64_t node = b->members.node[b->members.first[a] + k / b->block];
        const int64_t i = node * b->block + k % b->block;
        for (int j = 0; j < m; j++) {
            bool there = b->Q[k * m + j] != 0;
            if (!there && k == 0) {
                int64_t r = 1;
                while (r < rows && b->Q[r * m + j] == 0) r++;
                there = r == rows;
            }
            if (!there) continue;
            const int64_t at = i * m + b->T->row_ptr[i + 1]++;
            b->T->col[at] = (int32_t)(a * m + j), val[at] = b->Q[k * m + j];
        }
    }
}

/* Close the gaps between the rows of T, each of which has room for m entries. */
static void close_gaps(kryi_csr *T, int m)
{
    double *val = T->val;
    int64_t end = 0;

    for (int64_t i = 0; i < T->rows; i++) {
        const int64_t length = T->row_ptr[i + 1];
        memmove(T->col + end, T->col + i * m, (size_t)length * sizeof *T->col);
        memmove(val + end, val + i * m, (size_t)length * sizeof *val);
        T->row_ptr[i + 1] = end += length;
    }
}

static int64_t largest(const members *s, int64_t count)
{
    int64_t most = 0;
    for (int64_t a = 0; a < count; a++)
        if (s->first[a + 1] - s->first[a] > most) most = s->first[a + 1] - s->first[a];
    return most;
}

kry_status kryi_tentative(const kryi_aggregates *g, int block, int m, const double *B, kryi_csr *T,
                          double **C)
{
    kry_status st = KRY_OK;
    const int64_t n = g->nodes * block;
    tentative_args b = { .block = block, .m = m, .B = B, .T = T };

    *T = (kryi_csr){ 0 };
    *C = NULL;
    TRY(members_create(g, &b.members));
    TRY(kryi_alloc((size_t)(largest(&b.members, g->count) * block * m), sizeof *b.Q, &b.Q));
    TRY(kryi_alloc((size_t)(g->count * m * m), sizeof **C, C));
    TRY(kryi_csr_create(n, g->count * m, KRY_F64, n * m, T));
    for (int64_t a = 0; a < g->count; a++) {
        const int64_t rows = take_rows(&b, a);
        factor(b.Q, rows, m, *C + a * m * m);
        put_rows(&b, a, rows);
    }
    close_gaps(T, m);
done:
    free(b.Q);
    members_release(&b.members);
    if (st < 0) {
        free(*C);
        *C = NULL;
        kryi_csr_release(T);
    }
    return st;
}
