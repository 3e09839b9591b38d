/*
 * method.h - a call of kry_eigen, which its methods lobpcg.c and lanczos.c work on.
 */
#ifndef KRY_METHOD_H
#define KRY_METHOD_H

#include "basis.h"
#include <kry/eigenvalues.h>

enum {
    KRYI_EIGEN_BLOCK = 80,  /* most columns that LOBPCG iterates */
    KRYI_EIGEN_BASIS = 200, /* most vectors of a Krylov space */
};

typedef struct kryi_eigen {
    const kry_op *A; /* borrowed, as are the next three */
    kry_vec *X;
    const kry_eigen_params *params; /* with defaults filled in */
    kry_eigen_result *result;
    int wanted;   /* columns of X */
    int64_t most; /* rows of A less the constraints */
    double rtol;
    /* A method sets `block` and calls kryi_eigen_prepare(); in the end the first `wanted` columns of V are its answer. */
    int block; /* columns of V, from the first, that are approximate eigenvectors */
    kryi_basis S;
    int64_t
        all; /* dimension of the space in which x is sought: `most`, or more if constraints depend on others */
    int draws;    /* whoever counts up gets other random vectors from kryi_eigen_complete() */
    bool *active; /* columns of the block that have not converged */
    double *value, *residual; /* of the columns of the block */
} kryi_eigen;

kry_status kryi_lobpcg(kryi_eigen *E);
kry_status kryi_lanczos(kryi_eigen *E);

/* Make a basis of `columns` columns, with room for so many images and columns to turn. With a guess X is in its first ones. */
kry_status kryi_eigen_prepare(kryi_eigen *E, int columns, int images, int room);
/* Columns of V := random numbers, others for each stream */
kry_status kryi_eigen_random(kryi_eigen *E, int first, int count, uint64_t stream);
/* Columns of AV := A times those of V */
kry_status kryi_eigen_multiply(kryi_eigen *E, int first, int count);
/* Add random columns to the *count columns of V behind the first `first` ones, until there are `wanted`, all orthonormal. */
kry_status kryi_eigen_complete(kryi_eigen *E, int first, int *count, int wanted);
/* Compute residuals of the block from V, AV and BV. They tell `active` and the result's `converged`. */
kry_status kryi_eigen_residuals(kryi_eigen *E);
int kryi_eigen_worst(const kryi_eigen *E); /* the wanted column with the largest residual */
kry_status kryi_eigen_watch(const kryi_eigen *E);

/* ---- shift.c ---- */

/* *inverse := factors of A - sigma B, or of B. Of an A or B that has no entries: KRY_ERR_UNSUPPORTED;
 * of a sigma that is an eigenvalue: as a rule KRY_ERR_SINGULAR */
kry_status kryi_invert_shifted(const kry_op *A, const kry_op *B, double sigma, kry_op **inverse);
kry_status kryi_invert_mass(const kry_op *B, kry_op **inverse);

#endif
