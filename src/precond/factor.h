/*
 * factor.h - sparse factors of a whole matrix on the host, by the direct solvers of SuiteSparse: CHOLMOD for
 * symmetric positive definite matrices, UMFPACK for the rest.
 */
#ifndef KRY_FACTOR_H
#define KRY_FACTOR_H

#include "sparse/sparse.h"

/* What a factorisation is expected to take, before it is made. */
typedef struct kry_factor_cost {
    double flops, bytes;
} kry_factor_cost;

/* Matrices are square, in double, with columns ascending. */
typedef struct kry_factor_engine {
    const char *name;
    /* Order A by its pattern. */
    kry_status (*analyse)(const kry_sparse *A, kry_factor_cost *cost, void **self);
    /* Factor A, which has the pattern that was analysed; again, too.
     * Returns  KRY_ERR_SINGULAR, for Cholesky's factors if A is not positive definite */
    kry_status (*factor)(void *self, const kry_sparse *A);
    /* Each column of x, n-by-columns, becomes A^-1 x. */
    kry_status (*solve)(void *self, double *x, int64_t columns);
    double (*bytes)(const void *self); /* of the factors */
    void (*destroy)(void *self);       /* takes NULL */
} kry_factor_engine;

#ifdef KRY_HAVE_CHOLMOD
extern const kry_factor_engine kry_factor_cholmod;
#endif
#ifdef KRY_HAVE_UMFPACK
extern const kry_factor_engine kry_factor_umfpack;
#endif

typedef struct kry_factor {
    const kry_factor_engine *engine;
    void *self; /* the engine's */
    kry_factor_cost cost;
    bool fresh; /* it was analysed for the numbers that come next */
} kry_factor;

/* Whether this build has an engine for matrices that are symmetric with a positive diagonal, or for all others. */
bool kry_factor_offered(bool positive);
/* Choose the engine, and order A. `who` names the function in messages.
 * Returns  KRY_ERR_UNSUPPORTED if this build has no engine for A */
kry_status kry_factor_analyse(const char *who, const kry_sparse *A, kry_factor *F);
/*
 * Factor A; again, too, with other numbers at the same places. A matrix that CHOLMOD finds not to be positive
 * definite goes to UMFPACK.
 *
 *   most  bytes that the factors may take; 0: what this machine has
 *
 * Returns  KRY_ERR_MEMORY with the bytes that they would take; KRY_ERR_SINGULAR naming a row;
 *          KRY_ERR_ARGUMENT for an entry that is not finite
 */
kry_status kry_factor_numbers(const char *who, const kry_sparse *A, double most, kry_factor *F);
/* x := A^-1 x */
kry_status kry_factor_solve(const kry_factor *F, double *x);
void kry_factor_release(kry_factor *F);

#endif
