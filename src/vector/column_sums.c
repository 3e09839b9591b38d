/* column_sums.c - several columns side by side: a sum for each, by cl/vector/column_sums.cl, and a diagonal for all. */
#include "vector/vec.h"
#include <assert.h>

kry_status kryi_vec_column_sums(const kry_vec *x, const kry_vec *y, kry_sum *sum)
{
    kry_status st = KRY_OK;
    const kryi_chunks rows = kryi_chunks_of_columns(x);
    const cl_int pair = sum->width == 2;
    const kry_arg rest[] = { ARG(pair),  ARG_VEC(x),       ARG(x->ld),       ARG_VEC(y),
                             ARG(y->ld), ARG(sum->buffer), ARG(sum->stopped) };
    const bool aligned = kryi_vec_aligned(x) && kryi_vec_aligned(y);
    kryi_kernel *kernel;

    assert(x->k == sum->columns && y->k == x->k && sum->width <= 2 && !rows.chunk);
    TRY(kryi_kernel_get(x->dev, "column_sums", x->type, aligned ? "" : "-DKRY_UNALIGNED",
                        "column_sums", &kernel));
    TRY(kryi_launch_chunks(x->dev, kernel, &rows, rest, COUNT(rest)));
    sum->count = (cl_int)rows.groups;
done:
    return st;
}

kry_status kryi_vec_mul_columns(double a, const kry_vec *d, const kry_vec *x, kry_vec *y)
{
    kry_status st = KRY_OK;

    for (int64_t j = 0; j < x->k; j++) {
        const kry_vec x_j = kryi_vec_column(x, j);
        kry_vec y_j = kryi_vec_column(y, j);
        TRY(kry_vec_mul(a, d, &x_j, 0, &y_j));
    }
done:
    return st;
}
