/*
 * coarse_invert.c - the dense inverse of a coarse matrix made on a GPU, in double, and rounded at the end.
 * Kernels: cl/precond/coarse_invert.cl.
 *
 * Blocks of unknowns are swept one after the other, with two launches for each. The pivots are those of Cholesky's method,
 * and the matrix stays symmetric, so only the places on and below the diagonal are computed: n^3 / 2 multiplications in all.
 *
 * Where E maps constants to zero, its last unknown is pinned, and with Y the inverse of the others and a the diagonal
 * of E by its sum
 *
 *   G = (I - 1 a') [Y 0; 0 0] (I - a 1')   or   G_ij = Y_ij - y_i - y_j + a'y  with  y = Y a
 *
 * Storage  n^2 + 2 * BLOCK n numbers in double beside G, while it is made
 * Waits    twice
 * Source   J. H. Goodnight, A tutorial on the sweep operator, The American Statistician 33 (1979)
 */
#include "device/launch.h"
#include "precond/coarse.h"
#include <float.h>
#include <stdlib.h>

enum { BLOCK = 32, SIDE = 64, GROUP = 256 }; /* as in cl/precond/coarse_invert.cl */

typedef struct inversion {
    const kry_dense_inverse *D;
    kry_device *dev;
    const kry_sparse *E;
    cl_int n, count;            /* n: rows of A; count: unknowns that are inverted */
    double *diagonal;           /* host, n: of E; then weights */
    cl_mem A, U, W, given;      /* given: the diagonal of E; then the weights */
    cl_mem y, found;            /* n numbers; and an int */
    kry_kernel *panel, *update; /* the device's */
} inversion;

bool kry_coarse_inverts(const kry_dense_inverse *D)
{
    enum { LEAST = 128 }; /* unknowns: below, the host is as fast */
    const kry_device_info *info = &D->dev->info;
    const double bytes = 8.0 * (double)(D->k + SIDE) * (double)(D->k + SIDE);

    return !info->cpu_kernels && info->fp64 && D->k > LEAST && info->max_group >= GROUP &&
           bytes <= (double)info->max_alloc_bytes;
}

static kry_status get_kernel(const inversion *v, const char *name, kry_kernel **kernel)
{
    return kry_kernel_get(v->dev, "coarse_invert", v->D->type, "", name, kernel);
}

static kry_status run(const inversion *v, const char *name, int64_t groups, const kry_arg *args,
                      size_t count)
{
    return kry_run(v->dev, "coarse_invert", v->D->type, "", name, groups, args, count);
}

static int64_t tiles_of(const inversion *v)
{
    const int64_t across = v->n / SIDE;
    return across * (across + 1) / 2;
}

static void inversion_release(inversion *v)
{
    cl_mem *const buffers[] = { &v->found, &v->y, &v->given, &v->W, &v->U, &v->A };

    for (size_t i = 0; i < COUNT(buffers); i++) kry_buffer_release(v->dev, buffers[i]);
    free(v->diagonal);
}

static kry_status inversion_create(const kry_dense_inverse *D, const kry_sparse *E, bool singular,
                                   inversion *v)
{
    kry_status st = KRY_OK;
    static const cl_int none = -1;

    *v = (inversion){ .D = D, .dev = D->dev, .E = E };
    v->n = (cl_int)((D->k + SIDE - 1) / SIDE * SIDE);
    v->count = (cl_int)(D->k - singular);
    const size_t word = sizeof(double), n = (size_t)v->n;
    TRY(kry_alloc(n, word, &v->diagonal));
    for (int64_t i = 0; i < v->n; i++)
        v->diagonal[i] = i < v->count ? kry_cholesky_diagonal(E, i) : 1;
    TRY(kry_buffer_upload(v->dev, n * word, v->diagonal, &v->given));
    TRY(kry_buffer_upload(v->dev, sizeof none, &none, &v->found));
    TRY(kry_buffer_create(v->dev, n * n * word, &v->A));
    TRY(kry_buffer_create(v->dev, n * BLOCK * word, &v->U));
    TRY(kry_buffer_create(v->dev, n * BLOCK * word, &v->W));
    TRY(kry_buffer_create(v->dev, n * word, &v->y));
    TRY(get_kernel(v, "invert_panel", &v->panel));
    TRY(get_kernel(v, "invert_update", &v->update));
    TRY(kry_kernel_check_size(v->dev, v->panel, GROUP));
    TRY(kry_kernel_check_size(v->dev, v->update, GROUP));
done:
    return st;
}

/* A := E */
static kry_status enter(const inversion *v)
{
    kry_status st = KRY_OK;
    const kry_sparse *E = v->E;
    cl_mem row_ptr = NULL, col = NULL, val = NULL;
    cl_int *starts = NULL;
    const size_t nnz = (size_t)kry_sparse_nnz(E);

    TRY(kry_alloc((size_t)E->rows + 1, sizeof *starts, &starts));
    for (int64_t i = 0; i <= E->rows; i++) starts[i] = (cl_int)E->row_ptr[i];
    TRY(kry_buffer_upload(v->dev, ((size_t)E->rows + 1) * sizeof *starts, starts, &row_ptr));
    TRY(kry_buffer_upload(v->dev, nnz * sizeof *E->col, E->col, &col));
    TRY(kry_buffer_upload(v->dev, nnz * sizeof(double), E->val, &val));
    const kry_arg args[] = {
        ARG(v->n), ARG(v->count), ARG(row_ptr), ARG(col), ARG(val), ARG(v->A)
    };
    TRY(run(v, "invert_enter", v->n, args, COUNT(args)));
done:
    kry_buffer_release(v->dev, &val);
    kry_buffer_release(v->dev, &col);
    kry_buffer_release(v->dev, &row_ptr);
    free(starts);
    return st;
}

static kry_status sweep(const inversion *v, cl_int first)
{
    kry_status st = KRY_OK;
    const kry_scalar least =
        kry_scalar_of(v->dev, 4 * DBL_EPSILON * (double)v->count); /* kry_cholesky_pivot_fits */
    const kry_arg panel[] = { ARG(v->n),     ARG(first),   ARG_ACC(v->dev, least),
                              ARG(v->given), ARG(v->A),    ARG(v->U),
                              ARG(v->W),     ARG(v->found) };
    const kry_arg update[] = { ARG(v->n), ARG(first), ARG(v->U), ARG(v->W), ARG(v->A) };

    TRY(kry_launch_size(v->dev, v->panel, (v->n + GROUP - 1) / GROUP, GROUP, panel, COUNT(panel)));
    TRY(kry_launch_size(v->dev, v->update, tiles_of(v), GROUP, update, COUNT(update)));
done:
    return st;
}

static kry_status check_pivots(const inversion *v)
{
    kry_status st = KRY_OK;
    cl_int found;

    TRY(kry_buffer_read(v->dev, v->found, 0, sizeof found, &found));
    if (found >= 0) TRY(kry_cholesky_dependent(v->E, found));
done:
    return st;
}

/* a := the diagonal of E by its sum; where it has none, 1 takes its place. */
static void find_weights(const inversion *v, double *a)
{
    double sum = 0;

    for (int64_t i = 0; i < v->n; i++) {
        a[i] = i < v->D->k ? kry_cholesky_diagonal(v->E, i) : 0;
        if (i < v->D->k && !(a[i] > 0)) a[i] = 1;
        sum += a[i];
    }
    for (int64_t i = 0; i < v->n; i++) a[i] /= sum;
}

/* y := Y a, *shift := a'y; zeros unless E is singular. Waits. */
static kry_status weigh(const inversion *v, double *shift)
{
    kry_status st = KRY_OK;
    const size_t bytes = (size_t)v->n * sizeof(double);
    const kry_arg args[] = { ARG(v->n), ARG(v->count), ARG(v->A), ARG(v->given), ARG(v->y) };
    double *a = v->diagonal, *y = NULL;

    *shift = 0;
    TRY(kry_alloc((size_t)v->n, sizeof *y, &y));
    TRY(kry_buffer_write(v->dev, v->y, 0, bytes, y));
    if (v->count == v->D->k) goto done;
    find_weights(v, a);
    TRY(kry_buffer_write(v->dev, v->given, 0, bytes, a));
    TRY(run(v, "invert_multiply", v->count, args, COUNT(args)));
    TRY(kry_buffer_read(v->dev, v->y, 0, bytes, y));
    for (int64_t i = 0; i < v->count; i++) *shift += a[i] * y[i];
done:
    free(y);
    return st;
}

static kry_status store(const inversion *v, double shift)
{
    const kry_scalar constant = kry_scalar_of(v->dev, shift);
    const cl_int k = (cl_int)v->D->k, full = v->D->product == KRY_COARSE_FULL,
                 stride = full ? (cl_int)kry_dense_inverse_stride(v->D) : 0;
    const kry_arg args[] = {
        ARG(v->n), ARG(v->count), ARG(k),      ARG(stride), ARG_ACC(v->dev, constant),
        ARG(v->A), ARG(v->y),     ARG(v->D->G)
    };

    return run(v, "invert_store", tiles_of(v), args, COUNT(args));
}

kry_status kry_coarse_invert(const kry_dense_inverse *D, const kry_sparse *E, bool singular)
{
    kry_status st = KRY_OK;
    inversion v;
    double shift;

    TRY(inversion_create(D, E, singular, &v));
    TRY(enter(&v));
    for (cl_int first = 0; first < v.count; first += BLOCK) TRY(sweep(&v, first));
    TRY(check_pivots(&v));
    TRY(weigh(&v, &shift));
    TRY(store(&v, shift));
done:
    inversion_release(&v);
    return st;
}
