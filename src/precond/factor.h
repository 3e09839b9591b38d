/*
 * factor.h - sparse factors of a whole matrix on the host, by the direct solvers of SuiteSparse: CHOLMOD for
 * symmetric matrices, KLU or UMFPACK for all.
 */
#ifndef KRY_FACTOR_H
#define KRY_FACTOR_H

#include "sparse/csr.h"

/* The costs that are expected of a factorisation, before it is made. */
typedef struct kryi_factor_cost {
    double seconds, bytes; /* of the numbers alone, without the ordering */
} kryi_factor_cost;

/* The kinds of factors that a matrix may have. */
typedef enum kryi_factor_kind {
    KRY_FACTOR_GENERAL,
    KRY_FACTOR_SYMMETRIC, /* with an entry in each row */
    KRY_FACTOR_POSITIVE   /* symmetric, with a positive diagonal */
} kryi_factor_kind;

/* Matrices are square, in double, with columns ascending. */
typedef struct kryi_factor_engine {
    const char *name;
    /* Order A by its pattern. */
    kry_status (*analyse)(const kryi_csr *A, kryi_factor_cost *cost, void **self);
    /* Factor A, which has the pattern that was analysed; again, too, beside the factors that there are.
     *   most     bytes that the factors may take
     *   numbers  := the factors; NULL on failure
     * Returns  KRY_ERR_SINGULAR, of engines for symmetric matrices also if a pivot is roundoff; KRY_ERR_MEMORY */
    kry_status (*factor)(void *self, const kryi_csr *A, double most, void **numbers);
    /* x := A^-1 x, or (A')^-1 x */
    kry_status (*solve)(void *self, void *numbers, double *x, bool transposed);
    double (*bytes)(const void *self, const void *numbers); /* of the factors made last */
    void (*release)(void *self, void *numbers);
    void (*destroy)(void *self); /* takes NULL */
} kryi_factor_engine;

#ifdef KRY_HAVE_CHOLMOD
extern const kryi_factor_engine kryi_factor_ldl;
#ifdef KRY_GPL
extern const kryi_factor_engine kryi_factor_cholesky;
#endif
#endif
#ifdef KRY_HAVE_KLU
extern const kryi_factor_engine kryi_factor_klu;
#endif
#ifdef KRY_HAVE_UMFPACK
extern const kryi_factor_engine kryi_factor_umfpack;
#endif

typedef struct kryi_factor {
    const kryi_factor_engine *engine;
    void *self;    /* the engine's: the order */
    void *numbers; /* the engine's: the factors; NULL: none yet */
    int64_t rows;
    kryi_factor_cost cost;
    double bytes; /* of the factors */
    double norm;  /* the 1-norm of the matrix that was factored */
    bool fresh;   /* it was analysed for the numbers that come next */
} kryi_factor;

/* Whether this build has an engine for matrices of this kind. */
bool kryi_factor_offered(kryi_factor_kind kind);
/* Choose the engine, and order A. `who` names the function in messages.
 * Returns  KRY_ERR_UNSUPPORTED if this build has no engine for A */
kry_status kryi_factor_analyse(const char *who, const kryi_csr *A, kryi_factor *F);
/*
 * Factor A; again, too, with other numbers at the same places. A symmetric matrix of which CHOLMOD's factors are refused, or
 * leave a residual, goes to KLU or UMFPACK.
 *
 *   most  bytes that the factors may take; 0: what this machine has
 *
 * Returns  KRY_ERR_MEMORY with the bytes that they would take; KRY_ERR_SINGULAR naming a row;
 *          KRY_ERR_ARGUMENT for an entry that is not finite. On failure the factors that there are stay: the new ones
 *          are made beside them
 */
kry_status kryi_factor_numbers(const char *who, const kryi_csr *A, double most, kryi_factor *F);
double kryi_factor_memory(void); /* bytes that this machine has */
/* x := A^-1 x */
kry_status kryi_factor_solve(const kryi_factor *F, double *x);
/* *condition := an estimate from below of ||A||_1 ||A^-1||_1; infinite beyond the range of double. Cost: up to 11 solves */
kry_status kryi_factor_condition(const kryi_factor *F, double *condition);
void kryi_factor_release(kryi_factor *F);

/* KRY_ERR_SINGULAR, for engines: this row depends on the others; < 0: it is not known which. */
kry_status kryi_factor_dependent(int64_t row);

#endif
