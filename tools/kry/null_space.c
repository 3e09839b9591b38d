/*
 * null_space.c - what the library finds that a file's matrix maps to zero, for right-hand sides that have a solution and
 * for the report.
 */
#include "examine.h"
#include "ranks.h"
#include <assert.h>
#include <stdlib.h>

/* How many of the columns are constants on parts, and how many are unknowns of empty rows. */
static void count_columns(source *s)
{
    for (int64_t c = 0; c < s->nulls; c++) {
        double count = 0;
        for (int64_t i = 0; i < s->here; i++) count += s->null[c * s->here + i] != 0;
        ranks_sum(&count, 1);
        s->empty += count == 1;
        s->constant = count == (double)s->rows;
    }
}

kry_status source_find_null_space(source *s, const kry_op *A)
{
    kry_status st = KRY_OK;
    const bool single = kry_op_get_shape(A)->type == KRY_F32;
    kry_vec *V = NULL;
    float *narrow = NULL;

    TRY(kry_op_find_null_space(A, &V));
    if (!V) return KRY_OK;
    const int64_t count = s->here * kry_vec_cols(V);
    st = allocate((size_t)count, sizeof *s->null, &s->null);
    if (st >= 0 && single) st = allocate((size_t)count, sizeof *narrow, &narrow);
    TRY(ranks_agree(st));
    TRY(kry_vec_read(V, single ? (void *)narrow : s->null));
    assert(!single || narrow);
    for (int64_t e = 0; e < count && single; e++) s->null[e] = (double)narrow[e];
    s->nulls = kry_vec_cols(V);
    count_columns(s);
done:
    free(narrow);
    kry_vec_release(&V);
    return st;
}

void source_centre(const source *s, double *v)
{
    for (int64_t c = 0; c < s->nulls; c++) {
        const double *null = s->null + c * s->here;
        /* v'null and null'null, for vectors in single are of norm 1 but for rounding */
        double share[2] = { 0, 0 };
        for (int64_t i = 0; i < s->here; i++)
            share[0] += v[i] * null[i], share[1] += null[i] * null[i];
        ranks_sum(share, 2);
        for (int64_t i = 0; i < s->here; i++) v[i] -= share[0] / share[1] * null[i];
    }
}
