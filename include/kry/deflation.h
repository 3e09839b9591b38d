/*
 * deflation.h - sub-domain deflation: which vectors to deflate, and how.
 */
#ifndef KRY_DEFLATION_H
#define KRY_DEFLATION_H

#include <kry/op.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How systems with the coarse matrix E = Z'AZ, one unknown for each deflation vector, are solved. */
typedef enum kry_coarse_method {
    KRY_COARSE_AUTO = 0, /* what is expected to be faster on the device */
    KRY_COARSE_DENSE,    /* explicit inverse, k^2 numbers on the device, a product per solve */
    KRY_COARSE_CHOLESKY  /* sparse factor on the host; waits in each solve */
} kry_coarse_method;

#ifdef __cplusplus
}
#endif
#endif
