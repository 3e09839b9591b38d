/*
 * coarse.h - c := E^-1 w for the coarse matrix E = Z'AZ of deflation: k-by-k, sparse, symmetric
 * positive definite; or semi-definite with E 1 = 0, and then c is the solution with sum(E_ii c_i)
 * zero of the system that w, less its part outside the range, belongs to.
 */
#ifndef KRY_COARSE_H
#define KRY_COARSE_H

#include "operator/op.h"
#include <kry/deflation.h>

/* E on the host, both triangles, columns ascending in a row. Borrowed while a call lasts. */
typedef struct kry_coarse_matrix {
    int64_t k, *row_ptr; /* k+1 */
    int32_t *col;
    double *val;
    bool singular; /* E times ones is zero */
} kry_coarse_matrix;

/* Returns  KRY_ERR_ARGUMENT for columns out of order or out of range, and numbers not finite. */
kry_status kry_coarse_matrix_check(const kry_coarse_matrix *E);
uint64_t kry_coarse_matrix_pattern(const kry_coarse_matrix *E); /* a hash */

typedef struct kry_coarse kry_coarse;

/* How a dense inverse is kept and applied. */
typedef enum kry_coarse_product {
    KRY_COARSE_OWN,    /* by the one of the next two that takes less time */
    KRY_COARSE_FULL,   /* cl/coarse.cl; one launch reads k^2 numbers */
    KRY_COARSE_PACKED, /* the same, on GPUs; two launches read half of them */
    KRY_COARSE_CLBLAST /* for those who time it; kept in full */
} kry_coarse_product;

/*
 * Factor E, in double; KRY_COARSE_DENSE: also form the inverse, rounded to `type`. Waits.
 *
 *   product  [in]  nothing to choose with Cholesky
 *
 * Returns  KRY_ERR_UNSUPPORTED for CLBlast in a kry without it, and for KRY_COARSE_PACKED where its
 *          kernels do not run;
 *          KRY_ERR_SINGULAR for linearly dependent deflation vectors (message: which one);
 *          KRY_ERR_MEMORY, for an inverse that the device cannot hold with the bytes it takes;
 *          KRY_ERR_ARGUMENT for an E that is no such matrix.
 */
kry_status kry_coarse_create(kry_device *dev, kry_type type, kry_coarse_method method,
                             kry_coarse_product product, const kry_coarse_matrix *E,
                             kry_coarse **coarse);

/* New values, same pattern. On failure the old ones stay. Waits. */
kry_status kry_coarse_refactor(kry_coarse *coarse, const kry_coarse_matrix *E);

/* c := E^-1 w, k-by-1 vectors of the type, which start anywhere and do not overlap. Dense: enqueues
 * one product; Cholesky: waits. */
kry_status kry_coarse_solve(kry_coarse *coarse, const kry_vec *w, kry_vec *c);

/* The same for k numbers on the host; w: room for them on the device. Cholesky takes them as they are. */
kry_status kry_coarse_solve_from(kry_coarse *coarse, const double *numbers, kry_vec *w, kry_vec *c);

typedef struct kry_coarse_info {
    const char *method;     /* "dense plain", "dense packed", "dense clblast", "cholesky cholmod" or
                               "... banded" */
    double bytes_per_solve; /* least bytes moved, on the device or on the host */
    double bytes_stored;    /* the inverse, or the factor */
} kry_coarse_info;
void kry_coarse_describe(const kry_coarse *coarse, kry_coarse_info *info);

void kry_coarse_release(kry_coarse **coarse);

#endif
