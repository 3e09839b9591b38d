/* pairs.c - entries of a square matrix and their mirror images: symmetry, and graphs. */
#include "sparse/sparse.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

int64_t kry_sparse_find(const kry_sparse *A, int64_t i, int64_t j)
{
    int64_t low = A->row_ptr[i], high = A->row_ptr[i + 1];
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (A->col[middle] < j)
            low = middle + 1;
        else
            high = middle;
    }
    return low < A->row_ptr[i + 1] && A->col[low] == j ? low : -1;
}

/* ---- pairs ----------------------------------------------------------------------------------- */

/* Visit the upper entries of row j before column `end`: they have no lower partner. */
static bool visit_unpaired(const kry_sparse *A, int64_t j, int64_t end, int64_t *cursor,
                           kry_sparse_visit *visit, void *user)
{
    for (; *cursor < A->row_ptr[j + 1] && A->col[*cursor] < end; ++*cursor)
        if (!visit(user, A->col[*cursor], j, -1, *cursor)) return false;
    return true;
}

/* Lower entries in the order of rows meet their partners in the order of each row's columns: one
 * pass, with a cursor into every row. */
static void walk(const kry_sparse *A, int64_t *cursor, kry_sparse_visit *visit, void *user)
{
    for (int64_t i = 0; i < A->rows; i++) {
        int64_t e = A->row_ptr[i];
        for (; e < A->row_ptr[i + 1] && A->col[e] < i; e++) {
            int64_t j = A->col[e];
            if (!visit_unpaired(A, j, i, &cursor[j], visit, user)) return;
            bool paired = cursor[j] < A->row_ptr[j + 1] && A->col[cursor[j]] == i;
            if (!visit(user, i, j, e, paired ? cursor[j]++ : -1)) return;
        }
        cursor[i] = e < A->row_ptr[i + 1] && A->col[e] == i ? e + 1 : e; /* behind the diagonal */
    }
    for (int64_t j = 0; j < A->rows; j++)
        if (!visit_unpaired(A, j, A->rows, &cursor[j], visit, user)) return;
}

kry_status kry_sparse_pairs(const kry_sparse *A, kry_sparse_visit *visit, void *user)
{
    kry_status st = KRY_OK;
    int64_t *cursor = NULL;

    TRY(kry_alloc((size_t)A->rows, sizeof *cursor, &cursor));
    walk(A, cursor, visit, user);
done:
    free(cursor);
    return st;
}

/* ---- symmetry -------------------------------------------------------------------------------- */

typedef struct comparison {
    const kry_sparse *A;
    bool equal;
} comparison;

static bool compare_bits(void *user, int64_t i, int64_t j, int64_t lower, int64_t upper)
{
    comparison *c = user;
    size_t size = kry_type_size(c->A->type);
    const char *val = c->A->val;

    (void)i, (void)j;
    c->equal = lower >= 0 && upper >= 0 &&
               !memcmp(val + (size_t)lower * size, val + (size_t)upper * size, size);
    return c->equal;
}

kry_status kry_sparse_is_symmetric(const kry_sparse *A, bool *symmetric)
{
    comparison c = { A, A->rows == A->cols };
    kry_status st = c.equal ? kry_sparse_pairs(A, compare_bits, &c) : KRY_OK;
    *symmetric = st == KRY_OK && c.equal;
    return st;
}

enum { GONE = -1 }; /* the column of an entry that is to be left out */

typedef struct symmetrising {
    kry_sparse *A;
    double tolerance, *root; /* of the diagonal */
    kry_sparse_mismatch *mismatch;
} symmetrising;

static bool symmetrise_pair(void *user, int64_t i, int64_t j, int64_t lower, int64_t upper)
{
    const symmetrising *s = user;
    double *val = s->A->val, low = lower < 0 ? 0 : val[lower], high = upper < 0 ? 0 : val[upper];

    if (!(fabs(low - high) <= s->tolerance * s->root[i] * s->root[j])) {
        *s->mismatch = (kry_sparse_mismatch){ i, j, low, high };
        return false;
    }
    if (lower < 0)
        s->A->col[upper] = GONE;
    else if (upper < 0)
        s->A->col[lower] = GONE;
    else
        val[upper] = low;
    return true;
}

static void leave_out(kry_sparse *A)
{
    double *val = A->val;
    int64_t to = 0, e = 0;

    for (int64_t i = 0; i < A->rows; i++) {
        for (; e < A->row_ptr[i + 1]; e++)
            if (A->col[e] != GONE) A->col[to] = A->col[e], val[to++] = val[e];
        A->row_ptr[i + 1] = to;
    }
}

kry_status kry_sparse_symmetrise(kry_sparse *A, double tolerance, kry_sparse_mismatch *mismatch)
{
    kry_status st = KRY_OK;
    symmetrising s = { A, tolerance, NULL, mismatch };
    const double *val = A->val;

    *mismatch = (kry_sparse_mismatch){ .i = -1 };
    TRY(kry_alloc((size_t)A->rows, sizeof *s.root, &s.root));
    for (int64_t i = 0; i < A->rows; i++) s.root[i] = sqrt(val[kry_sparse_find(A, i, i)]);
    TRY(kry_sparse_pairs(A, symmetrise_pair, &s));
    leave_out(A);
done:
    free(s.root);
    return st;
}

/* ---- graphs ---------------------------------------------------------------------------------- */

/* Merge row i of A and of its transpose T, without the diagonal, into `out`. Returns how many. */
static int64_t merge_row(const kry_sparse *A, const kry_sparse *T, int64_t i, int32_t *out)
{
    int64_t a = A->row_ptr[i], t = T->row_ptr[i], count = 0;

    while (a < A->row_ptr[i + 1] || t < T->row_ptr[i + 1]) {
        int32_t in_A = a < A->row_ptr[i + 1] ? A->col[a] : INT32_MAX;
        int32_t in_T = t < T->row_ptr[i + 1] ? T->col[t] : INT32_MAX;
        int32_t col = in_A < in_T ? in_A : in_T;
        a += in_A == col, t += in_T == col;
        if (col != i) out[count++] = col;
    }
    return count;
}

kry_status kry_sparse_graph(const kry_sparse *A, kry_sparse *G)
{
    kry_status st = KRY_OK;
    const kry_sparse pattern = { A->rows, A->rows, A->type, A->row_ptr, A->col, NULL };
    kry_sparse T = { 0 };

    *G = (kry_sparse){ .rows = A->rows, .cols = A->rows };
    TRY(kry_sparse_transpose(&pattern, &T));
    TRY(kry_alloc((size_t)A->rows + 1, sizeof *G->row_ptr, &G->row_ptr));
    TRY(kry_alloc(2 * (size_t)kry_sparse_nnz(A), sizeof *G->col, &G->col));
    for (int64_t i = 0; i < A->rows; i++)
        G->row_ptr[i + 1] = G->row_ptr[i] + merge_row(A, &T, i, G->col + G->row_ptr[i]);
done:
    kry_sparse_release(&T);
    if (st < 0) kry_sparse_release(G);
    return st;
}
