/* gauss_jordan.c - the reduced row echelon form. Kernels: cl/dense/panel.cl with ECHELON, and products.
 *
 * Panels of PANEL columns are eliminated above and below their pivots, with a launch for each column; the
 * pivots are chosen on the device. The eliminated panel then updates all columns to its right:
 *
 *   T := the rows that the panel's pivots went to;  those rows := 0;  all rows += panel T
 *
 * Source: E. S. Quintana-Orti, G. Quintana-Orti, X. Sun, R. van de Geijn, A note on parallel matrix
 * inversion, SIAM J. Sci. Comput. 22 (2001), for the inverse. An echelon form updates only the columns to
 * the right, and passes over columns without a pivot. */
#include "dense/lu.h"
#include <math.h>
#include <stdlib.h>

/* Eliminate all columns, a panel at a time. */
static kry_status eliminate(const kry_panels *p, const kry_block *T)
{
    kry_status st = KRY_OK;
    const int64_t m = p->m, n = p->columns;

    for (int64_t c0 = 0; c0 < n; c0 += KRY_LU_PANEL) {
        const int64_t w = n - c0 < KRY_LU_PANEL ? n - c0 : KRY_LU_PANEL, right = n - c0 - w;
        TRY(kry_panels_eliminate(p, c0, w));
        if (right == 0) break;
        TRY(kry_panels_exchange(p, c0, w, c0, n, false, T->buffer));
        TRY(kry_gemm_run(&(kry_gemm){ .alpha = 1,
                                      .A = kry_block_part(&p->F, 0, c0, m, w),
                                      .B = kry_block_part(T, 0, 0, w, right),
                                      .beta = 1,
                                      .C = kry_block_part(&p->F, 0, c0 + w, m, right) }));
    }
done:
    return st;
}

/* How many pivots, and in which columns: the end of `index` of cl/dense/panel.cl. */
static kry_status read_pivots(const kry_panels *p, cl_int *rank, cl_int *column)
{
    kry_status st = KRY_OK;
    const size_t m = (size_t)p->m, n = (size_t)p->columns, columns = n + m + n,
                 half = n % KRY_LU_PANEL & 1;

    TRY(kry_buffer_read(p->dev, p->index, (columns + m + half) * sizeof *rank, sizeof *rank, rank));
    TRY(kry_buffer_read(p->dev, p->index, columns * sizeof *column, (size_t)*rank * sizeof *column,
                        column));
done:
    return st;
}

static kry_status write_units(const kry_panels *p, int64_t rank)
{
    kry_status st = KRY_OK;
    kry_kernel *kernel;
    const kry_arg args[] = { ARG(p->m),     ARG(p->columns), ARG(rank),
                             ARG(p->index), ARG_VEC(&p->F),  ARG(p->F.ld) };

    if (rank == 0) return KRY_OK;
    TRY(kry_panels_kernel(p, "panel_units", &kernel));
    TRY(kry_launch(p->dev, kernel, kry_groups_for(p->dev, p->F.type, p->m * rank), args,
                   COUNT(args)));
done:
    return st;
}

static kry_status check_rref(const kry_vec *A, double tolerance)
{
    static const char who[] = "kry_vec_rref";
    kry_status st = KRY_OK;
    double *sums = NULL;

    TRY(kry_dense_check(who, "A", A));
    CHECK(A->n <= INT32_MAX && A->k <= INT32_MAX, KRY_ERR_SHAPE,
          "%s: A is %lld-by-%lld, more than 2^31 - 1 rows or columns", who, (long long)A->n,
          (long long)A->k);
    TRY(kry_dense_column_sums(who, A, &sums));
    CHECK(tolerance >= 0 && isfinite(tolerance), KRY_ERR_ARGUMENT,
          "%s: a tolerance of %g is not finite and at least 0", who, tolerance);
done:
    free(sums);
    return st;
}

/* In a copy, so that a failure leaves A as it was. */
static kry_status reduce(kry_vec *A, double tolerance, cl_int *rank, cl_int *column)
{
    kry_status st = KRY_OK;
    kry_panels p = { .dev = A->dev, .echelon = true, .tolerance = tolerance };
    kry_vec *copy = NULL, *T = NULL;
    double norm;

    TRY(kry_dense_row_norm(A, &norm));
    if (tolerance == 0)
        p.tolerance = (double)(A->n > A->k ? A->n : A->k) * kry_dense_eps(A->type) * norm;
    TRY(kry_vec_create(A->dev, A->type, A->n, A->k, &copy));
    TRY(kry_vec_create(A->dev, A->type, KRY_LU_PANEL, A->k, &T));
    TRY(kry_vec_copy(A, copy));
    const kry_block F = kry_block_of(copy), rows = kry_block_of(T);
    TRY(kry_panels_begin(&p, &F));
    TRY(eliminate(&p, &rows));
    TRY(read_pivots(&p, rank, column));
    TRY(write_units(&p, *rank));
    TRY(kry_vec_copy(copy, A));
done:
    kry_panels_end(&p);
    kry_vec_release(&T);
    kry_vec_release(&copy);
    return st;
}

kry_status kry_vec_rref(kry_vec *A, double tolerance, int64_t *pivot_columns, int64_t *rank)
{
    kry_status st = KRY_OK;
    cl_int found = 0, *column = NULL;

    if (rank) *rank = 0;
    TRY(check_rref(A, tolerance));
    const int64_t most = A->n < A->k ? A->n : A->k;
    TRY(kry_alloc((size_t)most, sizeof *column, &column));
    if (A->n > 0 && A->k > 0) TRY(reduce(A, tolerance, &found, column));
    for (int64_t i = 0; pivot_columns && i < most; i++)
        pivot_columns[i] = i < found ? column[i] : -1;
    if (rank) *rank = found;
done:
    free(column);
    return st;
}
