/*
 * null_parts.c - the parts of a file's matrix that nothing connects, and which of them are singular: those
 * whose rows all add up to zero map the constants on them to zero.
 */
#include "examine.h"
#include "ranks.h"
#include <stdlib.h>

enum { MOST = 64 }; /* vectors of a null space: each is kept in full */

/* The row that stands for i's part; on the way, rows are hung to those above the ones they hang from. */
static int32_t stands_for(int32_t *above, int32_t i)
{
    while (above[i] != i) i = above[i] = above[above[i]];
    return i;
}

/* Rows with an entry in common are in one part. The least row stands for it. */
static void connect(const kry_mtx *mtx, int32_t *above)
{
    int64_t i = 0, j = 0;

    for (int64_t k = 0; k < mtx->rows; k++) above[k] = (int32_t)k;
    for (int64_t e = 0; e < mtx->nnz; e++) {
        mtx_entry_place(mtx, e, &i, &j);
        if (mtx->val[e] == 0) continue;
        const int32_t a = stands_for(above, (int32_t)i), b = stands_for(above, (int32_t)j);
        above[a > b ? a : b] = a < b ? a : b;
    }
}

kry_status source_null_parts(source *s, const row_kind *kind)
{
    kry_status st = KRY_OK;
    const int64_t n = s->rows;
    int32_t *above = NULL;

    TRY(allocate((size_t)n, sizeof *above, &above));
    TRY(allocate((size_t)n, sizeof *s->part, &s->part));
    connect(s->mtx, above);
    for (int64_t i = 0; i < n;
         i++) /* part[r] = -1: r stands for a regular part, or for an empty row */
        if (kind[i] != ROW_SUMS_TO_ZERO) s->part[stands_for(above, (int32_t)i)] = -1;
    for (int64_t i = 0; i < n; i++) {
        const int32_t first = stands_for(above, (int32_t)i);
        s->part[i] = s->part[first] < 0 ? -1 : first == i ? s->parts++ : s->part[first];
    }
    CHECK(s->parts <= MOST, KRY_ERR_UNSUPPORTED,
          "%s has %d parts that no entry connects and whose rows add up to zero: each has "
          "constants of "
          "its own that are mapped to zero, and at most %d are kept out of a solution; solve the "
          "parts "
          "one by one, or give --check none",
          s->name, s->parts, (int)MOST);
    s->singular = s->parts == 1;
    for (int64_t i = 0; i < n && s->singular; i++) s->singular = s->part[i] == 0;
done:
    free(above);
    return st;
}

/* Ranks do not look for parts: a matrix is singular if all of its rows add up to zero. */
void source_null_share(source *s, const row_kind *kind)
{
    int64_t other = 0;

    for (int64_t i = 0; i < s->here; i++) other += kind[i] != ROW_SUMS_TO_ZERO;
    s->singular = ranks_least(-other) == 0;
    s->parts = s->singular;
}

double source_mean(const source *s, const double *v)
{
    double sum[2] = { 0, (double)s->here };

    for (int64_t i = 0; i < s->here; i++) sum[0] += v[i];
    ranks_sum(sum, 2);
    return sum[0] / sum[1];
}

void source_centre(const source *s, double *v)
{
    const double mean = s->share && s->parts ? source_mean(s, v) : 0;

    for (int64_t i = 0; s->share && i < s->here; i++) v[i] -= mean;
    if (s->share) return;
    for (int p = 0; p < s->parts; p++) {
        double sum = 0;
        int64_t count = 0;
        for (int64_t i = 0; i < s->rows; i++)
            if (s->part[i] == p) sum += v[i], count++;
        for (int64_t i = 0; i < s->rows; i++)
            if (s->part[i] == p) v[i] -= sum / (double)count;
    }
}

kry_status source_null_space(const source *s, kry_op *A)
{
    kry_status st = KRY_OK;
    const kry_type type = kry_op_get_shape(A)->type;
    kry_device *device = kry_op_device(A);
    kry_vec *V = NULL, *one = NULL;
    double *column = NULL;
    float *narrow = NULL;
    const void *numbers;

    if (s->parts == 0 || s->singular) return KRY_OK; /* KRY_SINGULAR says it */
    TRY(allocate((size_t)s->rows, sizeof *column, &column));
    TRY(kry_vec_create(device, type, s->rows, s->parts, &V));
    for (int p = 0; p < s->parts; p++) {
        for (int64_t i = 0; i < s->rows; i++) column[i] = s->part[i] == p;
        free(narrow), narrow = NULL;
        TRY(convert_values(type, s->rows, column, &numbers, &narrow));
        TRY(kry_vec_view(V, p, &one));
        TRY(write_column(one, numbers));
        kry_vec_release(&one);
    }
    TRY(kry_op_set_null_space(A, V));
done:
    kry_vec_release(&one);
    kry_vec_release(&V);
    free(narrow);
    free(column);
    return st;
}
