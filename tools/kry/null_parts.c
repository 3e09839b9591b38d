/*
 * null_parts.c - the parts of a file's matrix that nothing connects, and which of them are singular: those
 * whose rows all add up to zero map the constants on them to zero.
 */
#include "examine.h"
#include "ranks.h"
#include <stdlib.h>

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

/* s->part is known. */
static kry_status take_parts(source *s, int64_t parts)
{
    kry_status st = KRY_OK;
    bool all = parts == 1;

    CHECK(parts <= NULL_PARTS_MOST, KRY_ERR_UNSUPPORTED,
          "%s has %lld parts that no entry connects and whose rows add up to zero: each has "
          "constants of "
          "its own that are mapped to zero, and at most %d are kept out of a solution; solve the "
          "parts "
          "one by one, or give --check none",
          s->name, (long long)parts, (int)NULL_PARTS_MOST);
    for (int64_t i = 0; i < s->here && all; i++) all = s->part[i] == 0;
    s->parts = (int)parts;
    s->singular = ranks_least(all) == 1;
done:
    return st;
}

kry_status source_null_parts(source *s, const row_kind *kind)
{
    kry_status st = KRY_OK;
    const int64_t n = s->rows;
    int64_t parts = 0;
    int32_t *above = NULL;

    TRY(allocate((size_t)n, sizeof *above, &above));
    TRY(allocate((size_t)n, sizeof *s->part, &s->part));
    connect(s->mtx, above);
    for (int64_t i = 0; i < n;
         i++) /* part[r] = -1: r stands for a regular part, or for an empty row */
        if (kind[i] != ROW_SUMS_TO_ZERO) s->part[stands_for(above, (int32_t)i)] = -1;
    for (int64_t i = 0; i < n; i++) {
        const int32_t first = stands_for(above, (int32_t)i);
        s->part[i] = s->part[first] < 0 ? -1 : first == i ? parts++ : s->part[first];
    }
    TRY(take_parts(s, parts));
done:
    free(above);
    return st;
}

kry_status source_null_share(source *s, const row_kind *kind)
{
    const size_t n = (size_t)s->here;
    int64_t parts;
    bool *regular = NULL;
    kry_status st = allocate(n, sizeof *regular, &regular);

    if (st >= 0) st = allocate(n, sizeof *s->part, &s->part);
    TRY(ranks_agree(st));
    for (int64_t i = 0; i < s->here; i++) regular[i] = kind[i] != ROW_SUMS_TO_ZERO;
    TRY(kry_share_components(s->device, s->share, regular, s->part, &parts));
    TRY(take_parts(s, parts));
done:
    free(regular);
    return st;
}

void source_means(const source *s, const double *v, double *mean)
{
    double sum[2 * NULL_PARTS_MOST] = { 0 }, *count = sum + s->parts;

    for (int64_t i = 0; s->parts && i < s->here; i++) {
        const int64_t p = s->part[i];
        if (p >= 0) sum[p] += v[i], count[p]++;
    }
    ranks_sum(sum, 2 * s->parts);
    for (int p = 0; p < s->parts; p++) mean[p] = sum[p] / count[p];
}

void source_centre(const source *s, double *v)
{
    double mean[NULL_PARTS_MOST];

    source_means(s, v, mean);
    for (int64_t i = 0; s->parts && i < s->here; i++)
        if (s->part[i] >= 0) v[i] -= mean[s->part[i]];
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
    TRY(ranks_agree(allocate((size_t)s->here, sizeof *column, &column)));
    TRY(kry_vec_create(device, type, s->rows, s->parts, &V));
    for (int p = 0; p < s->parts; p++) {
        for (int64_t i = 0; i < s->here; i++) column[i] = s->part[i] == p;
        free(narrow), narrow = NULL;
        TRY(ranks_agree(convert_values(type, s->here, column, &numbers, &narrow)));
        TRY(kry_vec_view(V, p, &one));
        TRY(kry_vec_write(one, numbers));
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
