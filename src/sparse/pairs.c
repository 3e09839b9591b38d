/* pairs.c - entries of a square matrix and their mirror images: symmetry, and graphs. */
#include "sparse/csr.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

int64_t kryi_csr_from(const kryi_csr *A, int64_t i, int64_t j)
{
    int64_t low = A->row_ptr[i], left = A->row_ptr[i + 1] - low;

    if (!left) return low;
    for (; left > 1; left -= left / 2) /* no branch to mispredict: half of the answers are yes */
        low += A->col[low + left / 2 - 1] < j ? left / 2 : 0;
    return low + (A->col[low] < j);
}

int64_t kryi_csr_find(const kryi_csr *A, int64_t i, int64_t j)
{
    const int64_t at = kryi_csr_from(A, i, j);
    return at < A->row_ptr[i + 1] && A->col[at] == j ? at : -1;
}

double kryi_csr_entry(const kryi_csr *A, int64_t i, int64_t j)
{
    const int64_t e = kryi_csr_find(A, i, j);
    return e < 0 ? 0 : kryi_number_at(A->type, A->val, e);
}

void kryi_csr_pairs(const kryi_csr *A, kryi_csr_visit *visit, void *user)
{
    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++) {
            int64_t j = A->col[e], mirror = j == i ? e : kryi_csr_find(A, j, i);
            if (j < i && !visit(user, i, j, e, mirror)) return;
            if (j > i && mirror < 0 && !visit(user, j, i, -1, e)) return;
        }
}

/* balance: of each part, entries above the diagonal, less those below it; differs: whether one above differs from its
 * mirror image. */
typedef struct symmetry {
    const kryi_csr *A;
    int64_t balance[KRY_MOST_PARTS];
    bool differs[KRY_MOST_PARTS];
} symmetry;

static void compare_pairs(void *user, int part, int64_t begin, int64_t end)
{
    symmetry *s = user;
    const kryi_csr *A = s->A;
    const size_t size = kry_type_size(A->type);
    const char *val = A->val;

    for (int64_t i = begin; i < end && !s->differs[part]; i++)
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++) {
            s->balance[part] += (A->col[e] > i) - (A->col[e] < i);
            if (A->col[e] <= i) continue;
            const int64_t mirror = kryi_csr_find(A, A->col[e], i);
            if (mirror < 0 || memcmp(val + (size_t)e * size, val + (size_t)mirror * size, size))
                s->differs[part] = true;
        }
}

bool kryi_csr_is_symmetric(const kryi_csr *A)
{
    symmetry s = { .A = A };
    int64_t balance = 0;

    if (A->rows != A->cols) return false;
    const int parts = kryi_parts(kryi_csr_nnz(A));
    kryi_parallel(parts, A->rows, compare_pairs, &s);
    for (int p = 0; p < parts; p++) {
        if (s.differs[p]) return false;
        balance += s.balance[p];
    }
    return balance == 0; /* all above the diagonal have a mirror image: none below is without */
}

typedef struct symmetrising {
    kryi_csr *A;
    double tolerance, *root; /* of the diagonal */
    bool *drop;              /* entries to be left out */
    kryi_csr_mismatch *mismatch;
} symmetrising;

static bool symmetrise_pair(void *user, int64_t i, int64_t j, int64_t lower, int64_t upper)
{
    const symmetrising *s = user;
    double *val = s->A->val, low = lower < 0 ? 0 : val[lower], high = upper < 0 ? 0 : val[upper];

    if (!(fabs(low - high) <= s->tolerance * s->root[i] * s->root[j])) {
        *s->mismatch = (kryi_csr_mismatch){ i, j, low, high };
        return false;
    }
    if (lower < 0 || upper < 0)
        s->drop[lower < 0 ? upper : lower] = true;
    else
        val[upper] = low;
    return true;
}

kry_status kryi_csr_symmetrise(kryi_csr *A, double tolerance, kryi_csr_mismatch *mismatch)
{
    kry_status st = KRY_OK;
    symmetrising s = { .A = A, .tolerance = tolerance, .mismatch = mismatch };
    double *val = A->val;
    int64_t to = 0, e = 0;

    *mismatch = (kryi_csr_mismatch){ .i = -1 };
    TRY(kryi_alloc((size_t)A->rows, sizeof *s.root, &s.root));
    TRY(kryi_alloc((uint64_t)kryi_csr_nnz(A), sizeof *s.drop, &s.drop));
    for (int64_t i = 0; i < A->rows; i++) s.root[i] = sqrt(kryi_csr_entry(A, i, i));
    kryi_csr_pairs(A, symmetrise_pair, &s);
    for (int64_t i = 0; i < A->rows; i++) {
        for (; e < A->row_ptr[i + 1]; e++)
            if (!s.drop[e]) A->col[to] = A->col[e], val[to++] = val[e];
        A->row_ptr[i + 1] = to;
    }
done:
    free(s.drop);
    free(s.root);
    return st;
}

/* Merge row i of A and of its transpose T, without the diagonal, into `out`. Returns how many. */
static int64_t merge_row(const kryi_csr *A, const kryi_csr *T, int64_t i, int32_t *out)
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

static bool same_pattern(const kryi_csr *A, int64_t i, int64_t k)
{
    int64_t length = A->row_ptr[i + 1] - A->row_ptr[i];
    return A->row_ptr[k + 1] - A->row_ptr[k] == length &&
           !memcmp(A->col + A->row_ptr[i], A->col + A->row_ptr[k], (size_t)length * sizeof *A->col);
}

int kryi_csr_block(const kryi_csr *A, int64_t rows)
{
    int64_t common = rows, begin = 0;

    for (int64_t i = 1; i < A->rows && common > 1; i++) {
        if (same_pattern(A, i - 1, i)) continue;
        for (int64_t rest = i - begin; rest;) { /* Euclid */
            int64_t left = common % rest;
            common = rest, rest = left;
        }
        begin = i;
    }
    for (int block = KRY_BLOCK_MOST; block > 1; block--)
        if (common % block == 0) return block;
    return 1;
}

kry_status kryi_csr_graph(const kryi_csr *A, kryi_csr *G)
{
    kry_status st = KRY_OK;
    const kryi_csr pattern = { A->rows, A->rows, A->type, A->row_ptr, A->col, NULL };
    kryi_csr T = { 0 };

    *G = (kryi_csr){ .rows = A->rows, .cols = A->rows };
    TRY(kryi_csr_transpose(&pattern, &T));
    TRY(kryi_alloc((size_t)A->rows + 1, sizeof *G->row_ptr, &G->row_ptr));
    TRY(kryi_alloc(2 * (size_t)kryi_csr_nnz(A), sizeof *G->col, &G->col));
    for (int64_t i = 0; i < A->rows; i++)
        G->row_ptr[i + 1] = G->row_ptr[i] + merge_row(A, &T, i, G->col + G->row_ptr[i]);
done:
    kryi_csr_release(&T);
    if (st < 0) kryi_csr_release(G);
    return st;
}

kry_status kryi_csr_node_graph(const kryi_csr *A, int block, kryi_csr *G)
{
    kry_status st = KRY_OK;
    const int64_t n = A->rows, nodes = (n + block - 1) / block;
    const kryi_csr pattern = { n, n, A->type, A->row_ptr, A->col, NULL };
    kryi_csr rows = { 0 }, nodes_of = { 0 }, half = { 0 }, all = { 0 }; /* all = rows A nodes_of */

    if (block == 1) return kryi_csr_graph(A, G);
    *G = (kryi_csr){ 0 };
    TRY(kryi_csr_create(n, nodes, KRY_F64, n, &nodes_of));
    for (int64_t i = 0; i < n; i++)
        nodes_of.row_ptr[i + 1] = i + 1, nodes_of.col[i] = (int32_t)(i / block);
    free(nodes_of.val), nodes_of.val = NULL;
    TRY(kryi_csr_transpose(&nodes_of, &rows));
    TRY(kryi_csr_multiply(&rows, &pattern, &half));
    TRY(kryi_csr_multiply(&half, &nodes_of, &all));
    TRY(kryi_csr_graph(&all, G));
done:
    kryi_csr_release(&all);
    kryi_csr_release(&half);
    kryi_csr_release(&rows);
    kryi_csr_release(&nodes_of);
    return st;
}
