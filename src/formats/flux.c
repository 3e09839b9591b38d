/*
 * flux.c - what the rows of a matrix add up to. In flux form a product is
 *
 *     y_i = s_i x_i + sum over j of a_ij (x_j - x_i),   s_i = sum over j of a_ij
 *
 * The diagonal multiplies 0, so its number stays as it was given, and that it was rounded does not
 * matter. Where nothing is lost at a wall s_i is 0, and then it must be exactly so.
 */
#include "matrix.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>

/* Neumaier's sum of a row in double, and beside it that of the absolute values. */
static double add_up(kry_type type, const void *val, int64_t from, int64_t to, double *size)
{
    double sum = 0, lost = 0;

    *size = 0;
    for (int64_t k = from; k < to; k++) {
        double v = kry_number_at(type, val, k), next = sum + v;
        lost += fabs(sum) >= fabs(v) ? (sum - next) + v : (v - next) + sum;
        sum = next;
        *size += fabs(v);
    }
    return sum + lost;
}

/* A diagonal that was added up and rounded, of entries that were rounded, misses 0 by no more than
 * an entry's half unit in the last place for each of them: that is 0. */
static double surplus_of(kry_type type, const void *val, int64_t from, int64_t to)
{
    double unit = (type == KRY_F32 ? (double)FLT_EPSILON : DBL_EPSILON) / 2, size;
    double sum = add_up(type, val, from, to, &size);
    return fabs(sum) <= (double)(to - from) * unit * size ? 0 : sum;
}

kry_status kry_flux_surplus(const kry_matrix *A, const char *who, const int64_t *row_ptr,
                            const void *sorted, cl_mem *surplus)
{
    kry_status st = KRY_OK;
    size_t bytes = (size_t)A->rows * kry_type_size(A->type);
    bool any = false;
    void *sums = NULL;

    *surplus = NULL;
    if (A->balanced) return KRY_OK;
    TRY(kry_alloc((size_t)A->rows, kry_type_size(A->type), &sums));
    for (int64_t i = 0; i < A->rows; i++) {
        kry_number_put(A->type, sums, i, surplus_of(A->type, sorted, row_ptr[i], row_ptr[i + 1]));
        double sum = kry_number_at(A->type, sums, i);
        CHECK(isfinite(sum), KRY_ERR_ARGUMENT, "%s: row %lld adds up to %g, too much for flux form",
              who, (long long)i, sum);
        any = any || sum != 0;
    }
    if (!any) goto done;
    TRY(kry_buffer_create(A->dev, bytes, surplus));
    TRY_CL(clEnqueueWriteBuffer(A->dev->queue, *surplus, CL_TRUE, 0, bytes, sums, 0, NULL, NULL));
done:
    if (st < 0) kry_buffer_release(A->dev, surplus);
    free(sums);
    return st;
}
