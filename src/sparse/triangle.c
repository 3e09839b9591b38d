/* triangle.c - strict triangles T of unit triangular matrices I + T: the order in which their rows can be
 * solved for, and incomplete inverses. */
#include "sparse/csr.h"
#include <stdlib.h>

kry_status kryi_level_sets_find(const kryi_csr *T, bool upper, kryi_level_sets *s)
{
    kry_status st = KRY_OK;
    const int64_t n = T->rows;
    int32_t *level = NULL;

    *s = (kryi_level_sets){ 0 };
    TRY(kryi_alloc((size_t)n, sizeof *level, &level));
    TRY(kryi_alloc((size_t)n, sizeof *s->row, &s->row));
    for (int64_t k = 0; k < n; k++) {
        const int64_t i = upper ? n - 1 - k : k; /* row k of a sweep */
        for (int64_t e = T->row_ptr[i]; e < T->row_ptr[i + 1]; e++)
            if (level[T->col[e]] >= level[i]) level[i] = level[T->col[e]] + 1;
        if (level[i] >= s->count) s->count = level[i] + 1;
    }
    TRY(kryi_alloc((size_t)s->count + 2, sizeof *s->begin, &s->begin));
    for (int64_t i = 0; i < n; i++) s->begin[level[i] + 2]++;
    for (int32_t l = 0; l < s->count; l++) s->begin[l + 2] += s->begin[l + 1];
    for (int64_t i = 0; i < n; i++) s->row[s->begin[level[i] + 1]++] = (int32_t)i;
done:
    free(level);
    if (st < 0) kryi_level_sets_release(s);
    return st;
}

void kryi_level_sets_release(kryi_level_sets *s)
{
    free(s->begin), free(s->row);
    *s = (kryi_level_sets){ 0 };
}

/* Row i of the inverse on the places of T: m T = -(row i of T there) for the numbers m left of, or right of, the
 * diagonal. at: n times -1, and again at the end. */
static void invert_row(const kryi_csr *T, bool upper, int64_t i, int64_t *at, double *m)
{
    const double *val = T->val;
    const int64_t begin = T->row_ptr[i], count = T->row_ptr[i + 1] - begin;

    for (int64_t e = begin; e < begin + count; e++) at[T->col[e]] = e, m[e] = -val[e];
    for (int64_t k = 0; k < count; k++) { /* those beside the diagonal come first */
        const int64_t e = begin + (upper ? k : count - 1 - k), j = T->col[e];
        for (int64_t q = T->row_ptr[j]; q < T->row_ptr[j + 1]; q++)
            if (at[T->col[q]] >= 0) m[at[T->col[q]]] -= m[e] * val[q];
    }
    for (int64_t e = begin; e < begin + count; e++) at[T->col[e]] = -1;
}

kry_status kryi_triangle_invert(const kryi_csr *T, bool upper, kryi_csr *M)
{
    kry_status st = KRY_OK;
    int64_t *at = NULL;

    *M = (kryi_csr){ 0 };
    TRY(kryi_alloc((size_t)T->rows, sizeof *at, &at));
    TRY(kryi_csr_copy(T, M));
    for (int64_t i = 0; i < T->rows; i++) at[i] = -1;
    for (int64_t i = 0; i < T->rows; i++) invert_row(T, upper, i, at, M->val);
done:
    free(at);
    return st;
}
