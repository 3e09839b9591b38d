/*
 * step_suite.h - the fused passes that stored matrices offer to solvers: a product with its inner
 * product, and the beginning of a conjugate-gradient step.
 *
 * The functions hold them, for a square `op`, against the same matrix on the host.
 */
#ifndef KRY_STEP_SUITE_H
#define KRY_STEP_SUITE_H

#include "testing.h"

/* The product with its sum, a direction and its first one. */
void step_suite(const kry_op *op, const matrix *A, const char *why);
/* Once there is a reason to stop, p stays as it is and the state says why. */
void step_suite_stops(const kry_op *op, const matrix *A);

#endif
