/*
 * coarse.h - c := E^-1 w for the coarse matrix E = Z'AZ of deflation: k-by-k, sparse, symmetric
 * positive definite; or semi-definite with E 1 = 0. Then c is the solution with sum(E_ii c_i) = 0
 * of the system with the part of w in the range of E.
 */
#ifndef KRY_COARSE_H
#define KRY_COARSE_H

#include "precond/cholesky.h"
#include "precond/dense_inverse.h"
#include <kry/deflation.h>

typedef struct kry_coarse kry_coarse;

typedef struct kry_coarse_how {
    kry_coarse_method method;
    kry_coarse_product product;        /* of a dense inverse; for tests */
    bool singular;                     /* E times ones is zero */
    const kry_cholesky_engine *engine; /* NULL: CHOLMOD if there is one; for tests */
} kry_coarse_how;

/*
 * Factor E, which is in double and has both triangles; dense: also form the inverse, rounded to
 * `type`. Waits.
 *
 * Returns  KRY_ERR_UNSUPPORTED for KRY_COARSE_PACKED where its kernels do not run;
 *          KRY_ERR_SINGULAR for linearly dependent deflation vectors (message: which one);
 *          KRY_ERR_MEMORY, for an inverse that the device cannot hold with the bytes it takes;
 *          KRY_ERR_ARGUMENT for numbers that are not finite.
 */
kry_status kry_coarse_create(kry_device *dev, kry_type type, const kry_coarse_how *how,
                             const kry_sparse *E, kry_coarse **coarse);

/* c := E^-1 w, k-by-1 vectors of the type, which start anywhere and do not overlap. Dense: enqueues
 * one product; Cholesky: waits. */
kry_status kry_coarse_solve(kry_coarse *coarse, const kry_vec *w, kry_vec *c);

/* The same for k numbers on the host; w: room for them on the device. Cholesky takes them as they
 * are. */
kry_status kry_coarse_solve_from(kry_coarse *coarse, const double *numbers, kry_vec *w, kry_vec *c);

typedef struct kry_coarse_info {
    const char *method;     /* "dense plain" or "packed", "cholesky cholmod" or "banded" */
    double bytes_per_solve; /* least bytes moved, on the device or on the host */
    double bytes_stored;    /* the inverse, or the factor */
} kry_coarse_info;
void kry_coarse_describe(const kry_coarse *coarse, kry_coarse_info *info);

void kry_coarse_release(kry_coarse **coarse);

#endif
