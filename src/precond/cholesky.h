/*
 * cholesky.h - sparse Cholesky factors on the host, by CHOLMOD or by kry's own code: P E P' = L L'
 * for the leading n-by-n part of a coarse matrix.
 */
#ifndef KRY_CHOLESKY_H
#define KRY_CHOLESKY_H

#include "sparse/sparse.h"

typedef struct kry_cholesky_engine {
    const char *name;
    /* Order the first n unknowns of E, which is symmetric and in double, and factor them.
     * Returns  KRY_ERR_SINGULAR. */
    kry_status (*create)(const kry_sparse *E, int64_t n, void **self);
    /* Each column of x, n-by-columns, becomes E^-1 x. */
    kry_status (*solve)(void *self, double *x, int64_t columns);
    double (*bytes)(const void *self); /* of L */
    void (*destroy)(void *self);       /* takes NULL */
} kry_cholesky_engine;

extern const kry_cholesky_engine kry_cholesky_band;
#ifdef KRY_HAVE_CHOLMOD
extern const kry_cholesky_engine kry_cholesky_cholmod;
#endif

/* The entry E_ii; 0 if there is none. */
double kry_cholesky_diagonal(const kry_sparse *E, int64_t i);
/* Whether `pivot`, what is left of E_ii after n - 1 others at most, is more than roundoff. */
bool kry_cholesky_pivot_fits(double pivot, double diagonal, int64_t n);
/* KRY_ERR_SINGULAR for vector i. */
kry_status kry_cholesky_dependent(const kry_sparse *E, int64_t i);

#endif
