/*
 * null_space.h - what A maps to zero: taken out of residuals while a solver runs, and out of x at
 * the end.
 */
#ifndef KRY_NULL_SPACE_H
#define KRY_NULL_SPACE_H

#include "operator/op.h"

typedef struct kryi_null_space {
    const kry_op *A;  /* borrowed; NULL: nothing is mapped to zero, and all below is no work */
    kry_vec *vectors; /* A's, orthonormal, retained; NULL: constants */
    int64_t unknowns; /* of all parts */
    int64_t checked;  /* A->updates when A was seen to map them to zero; < 0: never */
    bool
        found; /* nobody has promised it: what an A that was updated no longer maps to zero is forgotten */
    bool certified; /* kryi_null_space_add has added vectors: all are forgotten when A is updated */
    kry_sum *sum;
    kryi_kernel *dot, *subtract;
} kryi_null_space;

kry_status kryi_null_space_create(const kry_op *A, kryi_null_space *N);
/* N := constants, whatever A maps them to: for kryi_null_space_shift */
kry_status kryi_null_space_constants(const kry_op *A, kryi_null_space *N);
/* N gets v, which A, as it is now, maps to zero but for rounding: of norm 1, and orthogonal to what N has. */
kry_status kryi_null_space_add(const kry_op *A, const kry_vec *v, kryi_null_space *N);
/* A maps the vectors to zero as far as somebody promised it, not by construction. */
static inline bool kryi_null_space_may_be_false(const kryi_null_space *N)
{
    return N->A && (N->vectors || !N->A->fused->sums_to_zero);
}
/* See whether A, updated since, still maps to zero what was found in it (kryi_op_found_null). No work unless A was updated. Waits. */
kry_status kryi_null_found_check(const kry_op *A);
/* Refuse an A that no longer maps the vectors to zero; if they were found, forget them. No work unless A was updated. Waits. */
kry_status kryi_null_space_check(kryi_null_space *N);
void kryi_null_space_release(kryi_null_space *N);
/* v -= N N'v. Does not wait. */
kry_status kryi_null_space_project(kryi_null_space *N, kry_vec *v);
/* v -= (sum of r) u for each column of r and v; u has one column, and N constants. Does not wait. */
kry_status kryi_null_space_shift(kryi_null_space *N, const kry_vec *r, const kry_vec *u,
                                 kry_vec *v);
/* ||N'v||: the size of what projection would take away. Waits. */
kry_status kryi_null_space_measure(kryi_null_space *N, const kry_vec *v, double *size);

#endif
