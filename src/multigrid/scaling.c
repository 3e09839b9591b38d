/*
 * scaling.c - diagonal and block diagonal matrices that stand for the inverse of A in smoothing steps.
 *
 *   l1      1 / sum_j |a_ij|: x'A x is at most the sum of these times x_i^2, so that every step up to 2 makes
 *           the error smaller in the energy norm
 *   block   the inverses of the diagonal blocks of nodes
 *
 * Source  A. H. Baker, R. D. Falgout, T. V. Kolev, U. M. Yang, SIAM J. Sci. Comput. 33 (2011), 2864-2887,
 *         doi:10.1137/100798806
 */
#include "multigrid/scaling.h"
#include "precond/rows.h"
#include <math.h>

static double l1_entry(const kry_sparse *A, int64_t i)
{
    const double *val = A->val;
    double sum = 0;
    for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++) sum += fabs(val[e]);
    return sum;
}

kry_status kry_scaling_create(const kry_op *A, kry_smoother_scaling scaling, kry_op **M)
{
    *M = NULL;
    switch (scaling) {
    case KRY_SCALING_DIAGONAL: break;
    case KRY_SCALING_L1: return kry_row_jacobi_create(A, l1_entry, M);
    case KRY_SCALING_BLOCK: return kry_block_jacobi_create(A, NULL, M);
    }
    return KRY_OK;
}
