/*
 * passes.h - products of dense matrices in one pass and in several, after Brodtkorb.
 */
#ifndef KRY_PASSES_H
#define KRY_PASSES_H

#include <kry/kry.h>

/*
 * C := A B by gemm_tile of cl/dense/gemm.cl, on GPUs too, where kry_vec_gemm takes CLBlast
 *
 *   slice  0: in a single pass, one work-item sums an inner product from end to end. Else so much of the
 *          inner dimension in a pass, each of which reads and writes C: a way around the limits on
 *          the length of a shader and on its texture reads
 *   A      [in]   m-by-k
 *   B      [in]   k-by-n
 *   C      [out]  m-by-n, no overlap; all of one type and device
 *
 * The sizes are not checked. k > 0.
 */
KRY_MUST_CHECK kry_status passes_product(int64_t slice, const kry_vec *A, const kry_vec *B,
                                         kry_vec *C);

#endif
