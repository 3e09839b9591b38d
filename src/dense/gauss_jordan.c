/* gauss_jordan.c - reduced row echelon form, and inverse. Kernels: cl/gauss_jordan.cl, and products.
 *
 * Panels of PANEL columns are eliminated above and below their pivots, a launch for each column, with
 * all that is decided by the numbers kept on the device. What the panel has become is what all other
 * columns are multiplied by:
 *
 *   T := the rows that the panel's pivots went to;  those rows := 0;  all rows += panel T
 *
 * Source: E. S. Quintana-Orti, G. Quintana-Orti, X. Sun, R. van de Geijn, A note on parallel matrix
 * inversion, SIAM J. Sci. Comput. 22 (2001), for the inverse; an echelon form needs no more than the
 * columns to the right, and steps that pass a column over. */
#include "dense/lu.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PANEL = KRY_LU_PANEL, ROWS_AT_ONCE = 4 };

typedef struct elimination {
    kry_device *dev;
    kry_vec *copy; /* owned: of A, in which all is done */
    kry_block F;
    int64_t m, n;
    bool inverse;
    double tolerance;
    kry_kernel *column, *rows;
    int share, most;
    cl_int half; /* rank[half] is what the last launch left */
    cl_mem value, row, line, rank, top, pivots, order, source, pivot_column, size, T; /* owned */
} elimination;

static void elimination_end(elimination *e)
{
    cl_mem *buffers[] = { &e->value, &e->row,    &e->line,         &e->rank, &e->top, &e->pivots,
                          &e->order, &e->source, &e->pivot_column, &e->size, &e->T };
    for (size_t i = 0; i < COUNT(buffers); i++)
        if (*buffers[i]) kry_buffer_release(e->dev, buffers[i]);
    kry_vec_release(&e->copy);
}

static kry_status get_kernel(const elimination *e, const char *name, kry_kernel **kernel)
{
    char defines[80];
    kry_lu_defines(e->F.type, defines, sizeof defines);
    return kry_kernel_get(e->dev, "gauss_jordan", e->F.type, defines, name, kernel);
}

static kry_status make_buffers(elimination *e)
{
    kry_status st = KRY_OK;
    const size_t word = kry_type_size(e->F.type), most = (size_t)e->most, m = (size_t)e->m,
                 n = (size_t)e->n, index = sizeof(cl_int);

    TRY(kry_buffer_create(e->dev, 2 * most * word, &e->value));
    TRY(kry_buffer_create(e->dev, 2 * most * index, &e->row));
    TRY(kry_buffer_create(e->dev, 2 * (most + 1) * PANEL * word, &e->line));
    TRY(kry_buffer_create(e->dev, 2 * index, &e->rank));
    TRY(kry_buffer_create(e->dev, PANEL * index, &e->top));
    TRY(kry_buffer_create(e->dev, PANEL * index, &e->pivots));
    TRY(kry_buffer_create(e->dev, m * index, &e->order));
    TRY(kry_buffer_create(e->dev, m * index, &e->source));
    TRY(kry_buffer_create(e->dev, m * index, &e->pivot_column));
    TRY(kry_buffer_create(e->dev, n * word, &e->size));
    TRY(kry_buffer_create(e->dev, n * PANEL * word, &e->T));
done:
    return st;
}

static kry_status elimination_begin(elimination *e, const kry_vec *A)
{
    kry_status st = KRY_OK;
    kry_kernel *begin;
    const cl_int m = (cl_int)A->n;

    e->dev = A->dev, e->m = A->n, e->n = A->k;
    TRY(kry_vec_create(A->dev, A->type, A->n, A->k, &e->copy));
    TRY(kry_vec_copy(A, e->copy));
    e->F = kry_block_of(e->copy);
    e->share = kry_lu_share(e->dev, e->m);
    e->most = (int)((e->m + e->share - 1) / e->share);
    TRY(make_buffers(e));
    TRY(get_kernel(e, "gauss_jordan_begin", &begin));
    TRY(get_kernel(e, "gauss_jordan_column", &e->column));
    TRY(get_kernel(e, "gauss_jordan_rows", &e->rows));
    const kry_arg args[] = { ARG(m), ARG(e->order), ARG(e->source), ARG(e->rank) };
    TRY(kry_launch(e->dev, begin, kry_groups_for(e->dev, KRY_F32, e->m), args, COUNT(args)));
done:
    return st;
}

static kry_status eliminate_panel(elimination *e, int64_t at, int64_t width)
{
    kry_status st = KRY_OK;
    const cl_int m = (cl_int)e->m, c0 = (cl_int)at, w = (cl_int)width, share = e->share,
                 most = e->most;
    cl_int j = c0 - 1;
    kry_scalar tolerance = kry_scalar_of(e->dev, e->tolerance);
    const kry_arg args[] = { ARG(m),           ARG(c0),
                             ARG(w),           ARG(j),
                             ARG(share),       ARG_ACC(e->dev, tolerance),
                             ARG(most),        ARG(e->half),
                             ARG(e->F.buffer), ARG(e->F.first),
                             ARG(e->F.ld),     ARG(e->value),
                             ARG(e->row),      ARG(e->line),
                             ARG(e->rank),     ARG(e->top),
                             ARG(e->pivots),   ARG(e->order),
                             ARG(e->source),   ARG(e->pivot_column),
                             ARG(e->size) };

    for (; j < c0 + w; j++, e->half = 1 - e->half)
        TRY(kry_launch(e->dev, e->column, e->most, args, COUNT(args)));
done:
    return st;
}

/* Exchanges in the other columns, and T. */
static kry_status take_rows(elimination *e, int64_t n, int64_t before, int64_t gap, int64_t width)
{
    kry_status st = KRY_OK;
    const cl_int w = (cl_int)width;
    int64_t groups = (n + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE;
    cl_mem rank = e->rank;
    const kry_arg args[] = { ARG(n),           ARG(before),     ARG(gap),     ARG(w),
                             ARG(e->F.buffer), ARG(e->F.first), ARG(e->F.ld), ARG(e->T),
                             ARG(rank),        ARG(e->half),    ARG(e->top),  ARG(e->pivots),
                             ARG(e->source) };

    if (groups > 65535) groups = 65535;
    if (e->dev->info.cpu_kernels && groups > e->dev->shape.chunks) groups = e->dev->shape.chunks;
    TRY(kry_launch(e->dev, e->rows, groups, args, COUNT(args)));
done:
    return st;
}

/* Columns from ... from + count - 1 += panel T, the columns of T from `t` on. */
static kry_status multiply(const elimination *e, int64_t c0, int64_t w, int64_t from, int64_t count,
                           int64_t t)
{
    const kry_block T = { .dev = e->dev,
                          .type = e->F.type,
                          .buffer = e->T,
                          .first = t * PANEL,
                          .ld = PANEL,
                          .rows = w,
                          .cols = count };
    return kry_gemm_run(&(kry_gemm){ .alpha = 1,
                                     .A = kry_block_part(&e->F, 0, c0, e->m, w),
                                     .B = T,
                                     .beta = 1,
                                     .C = kry_block_part(&e->F, 0, from, e->m, count) });
}

/* All of it. For an inverse, columns to the left of a panel are multiplied, too. */
static kry_status eliminate(elimination *e)
{
    kry_status st = KRY_OK;

    for (int64_t c0 = 0; c0 < e->n; c0 += PANEL) {
        const int64_t w = e->n - c0 < PANEL ? e->n - c0 : PANEL, left = e->inverse ? c0 : 0,
                      right = e->n - c0 - w;
        TRY(eliminate_panel(e, c0, w));
        if (left + right == 0) break;
        TRY(take_rows(e, left + right, left, c0 + w - left, w));
        TRY(multiply(e, c0, w, 0, left, 0));
        TRY(multiply(e, c0, w, c0 + w, right, left));
    }
done:
    return st;
}

static kry_status read_back(const elimination *e, cl_mem buffer, size_t bytes, size_t offset,
                            void *to)
{
    return kry_buffer_read(e->dev, buffer, offset, bytes, to);
}

static kry_status check_common(const char *who, const kry_vec *A)
{
    kry_status st = KRY_OK;
    double *sums = NULL;

    TRY(kry_dense_check(who, "A", A));
    CHECK(A->n <= INT32_MAX && A->k <= INT32_MAX, KRY_ERR_SHAPE,
          "%s: A is %lld-by-%lld, more than 2^31 - 1 rows or columns", who, (long long)A->n,
          (long long)A->k);
    TRY(kry_dense_column_sums(who, A, &sums));
done:
    free(sums);
    return st;
}

/* ---- reduced row echelon form ---- */

/* What the device knows: how many pivots, and where. */
static kry_status read_pivots(const elimination *e, cl_int *rank, cl_int *column)
{
    kry_status st = KRY_OK;
    TRY(read_back(e, e->rank, sizeof *rank, (size_t)e->half * sizeof *rank, rank));
    TRY(read_back(e, e->pivot_column, (size_t)*rank * sizeof *column, 0, column));
done:
    return st;
}

static kry_status write_units(const elimination *e, int64_t rank)
{
    kry_status st = KRY_OK;
    kry_kernel *kernel;
    const kry_arg args[] = { ARG(e->m),        ARG(rank),       ARG(e->pivot_column),
                             ARG(e->F.buffer), ARG(e->F.first), ARG(e->F.ld) };

    TRY(get_kernel(e, "gauss_jordan_units", &kernel));
    if (rank > 0)
        TRY(kry_launch(e->dev, kernel, kry_groups_for(e->dev, e->F.type, e->m * rank), args,
                       COUNT(args)));
done:
    return st;
}

static kry_status check_rref(const kry_vec *A, double tolerance)
{
    static const char who[] = "kry_vec_rref";
    kry_status st = KRY_OK;

    TRY(check_common(who, A));
    CHECK(tolerance >= 0 && isfinite(tolerance), KRY_ERR_ARGUMENT,
          "%s: a tolerance of %g is not finite and at least 0", who, tolerance);
done:
    return st;
}

kry_status kry_vec_rref(kry_vec *A, double tolerance, int64_t *pivot_columns, int64_t *rank)
{
    kry_status st = KRY_OK;
    elimination e = { .tolerance = tolerance };
    double norm;
    cl_int found = 0, *column = NULL;

    if (rank) *rank = 0;
    TRY(check_rref(A, tolerance));
    const int64_t most = A->n < A->k ? A->n : A->k;
    TRY(kry_alloc((size_t)most, sizeof *column, &column));
    if (A->n > 0) {
        TRY(kry_dense_row_norm(A, &norm));
        if (tolerance == 0)
            e.tolerance = (double)(A->n > A->k ? A->n : A->k) * kry_dense_eps(A->type) * norm;
        TRY(elimination_begin(&e, A));
        TRY(eliminate(&e));
        TRY(read_pivots(&e, &found, column));
        TRY(write_units(&e, found));
        TRY(kry_vec_copy(e.copy, A));
    }
    for (int64_t i = 0; pivot_columns && i < most; i++)
        pivot_columns[i] = i < found ? column[i] : -1;
    if (rank) *rank = found;
done:
    elimination_end(&e);
    free(column);
    return st;
}

/* ---- inverse ---- */

/* Refuses a singular matrix by the pivot that says so. */
static kry_status check_pivots(const elimination *e, double tolerance)
{
    static const char who[] = "kry_vec_inverse";
    kry_status st = KRY_OK;
    const size_t word = kry_type_size(e->F.type);
    void *host = NULL;
    double smallest = INFINITY, largest = 0;
    int64_t column = -1;

    TRY(kry_alloc((size_t)e->n, word, &host));
    TRY(read_back(e, e->size, (size_t)e->n * word, 0, host));
    for (int64_t j = 0; j < e->n; j++) {
        double d = kry_number_at(e->F.type, host, j);
        CHECK(isfinite(d), KRY_ERR_ARGUMENT,
              "%s: the pivot of column %lld is %g: numbers grow beyond %s precision", who,
              (long long)j, d, kry_type_name(e->F.type));
        if (d < smallest) smallest = d, column = j;
        largest = fmax(largest, d);
    }
    CHECK(smallest > tolerance * largest, KRY_ERR_SINGULAR,
          "%s: the matrix is singular: the pivot of column %lld is %g, the largest %g", who,
          (long long)column, smallest, largest);
done:
    free(host);
    return st;
}

static kry_status write_inverse(const elimination *e, kry_vec *inverse)
{
    kry_status st = KRY_OK;
    kry_kernel *kernel;
    const kry_arg args[] = { ARG(e->n),       ARG(e->order),        ARG(e->F.buffer),
                             ARG(e->F.first), ARG(inverse->buffer), ARG(inverse->first) };

    TRY(get_kernel(e, "gauss_jordan_columns", &kernel));
    TRY(kry_launch(e->dev, kernel, kry_groups_for(e->dev, e->F.type, e->n * e->n), args,
                   COUNT(args)));
done:
    return st;
}

static kry_status check_inverse(const kry_vec *A, const kry_vec *inverse)
{
    static const char who[] = "kry_vec_inverse";
    kry_status st = KRY_OK;

    TRY(kry_dense_check(who, "A", A));
    TRY(kry_dense_check(who, "inverse", inverse));
    CHECK(A->n == A->k && inverse->n == A->n && inverse->k == A->n, KRY_ERR_SHAPE,
          "%s: A is %lld-by-%lld, inverse %lld-by-%lld", who, (long long)A->n, (long long)A->k,
          (long long)inverse->n, (long long)inverse->k);
    CHECK(A->type == inverse->type, KRY_ERR_TYPE, "%s: A is %s, inverse %s", who,
          kry_type_name(A->type), kry_type_name(inverse->type));
    CHECK(A->dev == inverse->dev, KRY_ERR_ARGUMENT, "%s: A and inverse live on different devices",
          who);
    CHECK(!kry_vec_overlap(A, inverse) || A->first == inverse->first, KRY_ERR_ARGUMENT,
          "%s: A and inverse overlap by a part", who);
    TRY(check_common(who, A));
done:
    return st;
}

kry_status kry_vec_inverse(const kry_vec *A, const kry_lu_params *params, kry_vec *inverse)
{
    kry_status st = KRY_OK;
    elimination e = { .inverse = true };
    kry_lu_params p;

    TRY(check_inverse(A, inverse));
    TRY(kry_lu_check_params("kry_vec_inverse", A->dev, params, &p));
    TRY(elimination_begin(&e, A));
    TRY(eliminate(&e));
    TRY(check_pivots(&e, p.tolerance));
    TRY(write_inverse(&e, inverse));
done:
    elimination_end(&e);
    return st;
}
