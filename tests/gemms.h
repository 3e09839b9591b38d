/*
 * gemms.h - products of matrices by one of kry's two ways, whatever suits the device.
 */
#ifndef KRY_TEST_GEMMS_H
#define KRY_TEST_GEMMS_H

#include "dense/dense.h"

typedef kry_status gemm_way(const kryi_gemm *g);

static kry_status gemm_by(gemm_way *way, bool ta, bool tb, double alpha, const kry_vec *A,
                          const kry_vec *B, double beta, kry_vec *C)
{
    return way(&(kryi_gemm){ .ta = ta,
                             .tb = tb,
                             .alpha = alpha,
                             .A = kryi_block_of(A),
                             .B = kryi_block_of(B),
                             .beta = beta,
                             .C = kryi_block_of(C) });
}

#endif
