/*
 * coarse.h - c := E^-1 w for the coarse matrix E = Z'AZ of deflation: k-by-k, sparse, symmetric
 * positive definite; or semi-definite, with E 1 = 0 or more vectors v for which E v = 0. Then c is the
 * solution with sum(E_ii v_i c_i) = 0 for all of them, of the system with the part of w in the range of E.
 */
#ifndef KRY_COARSE_H
#define KRY_COARSE_H

#include "operator/op.h"
#include "sparse/csr.h"
#include <kry/deflation.h>

/* ---- cholesky_*.c: P E P' = L L' of the leading n-by-n part of E, on the host ------------------ */

typedef struct kryi_cholesky_engine {
    const char *name;
    /* Order the first n unknowns of E, which is symmetric and in double, and factor them.
     *   rounding  of entries by the diagonal, for engines that pin unknowns
     * Returns  KRY_ERR_SINGULAR. */
    kry_status (*create)(const kryi_csr *E, int64_t n, double rounding, void **self);
    /* Each column of x, n-by-columns, becomes E^-1 x. */
    kry_status (*solve)(void *self, double *x, int64_t columns);
    /* How many unknowns are pinned to zero, because their pivots vanish, and x := vector v of as many that
     * E maps to zero, n numbers. NULL: the engine refuses such an E. */
    int64_t (*pinned)(const void *self);
    void (*null_vector)(void *self, int64_t v, double *x);
    double (*bytes)(const void *self); /* of L */
    void (*destroy)(void *self);       /* takes NULL */
} kryi_cholesky_engine;

extern const kryi_cholesky_engine kryi_cholesky_band, kryi_cholesky_pivoted;
/* Unknowns of an E that need not be symmetric, at most. */
enum { KRY_LU_MOST = 2000 };
#ifdef KRY_HAVE_CHOLMOD
extern const kryi_cholesky_engine kryi_cholesky_cholmod;
#endif

/* Whether `pivot`, what is left of E_ii after n - 1 others at most, is more than roundoff. */
bool kryi_cholesky_pivot_fits(double pivot, double diagonal, int64_t n);
/* KRY_ERR_SINGULAR for vector i. */
kry_status kryi_cholesky_dependent(const kryi_csr *E, int64_t i);

/* ---- dense_inverse.c: a symmetric matrix G on the device, k-by-k and dense, to multiply by ------ */

/* How it is kept and multiplied by. */
typedef enum kryi_coarse_product {
    KRY_COARSE_OWN,   /* the faster of the two */
    KRY_COARSE_FULL,  /* one launch reads k^2 numbers */
    KRY_COARSE_PACKED /* GPUs: two launches read half of them */
} kryi_coarse_product;

typedef struct kryi_dense_inverse {
    kry_device *dev; /* borrowed */
    kry_type type;
    int64_t k;
    kryi_coarse_product product; /* FULL or PACKED */
    cl_mem G;                    /* stride-by-k, or its tiles; NULL: not formed */
    cl_mem part;                 /* packed, TILE-by-blocks-by-blocks: each tile's share of c, */
    int64_t part_vectors;        /* for so many vectors */
    kryi_kernel *tiles, *add;    /* packed; the device's */
} kryi_dense_inverse;

/* Columns j ... j + m - 1 of G, k numbers each. */
typedef kry_status kryi_column_solver(void *user, int64_t j, int64_t m, double *columns);

/* Choose the product for a G that is formed later.
 * Returns  KRY_ERR_UNSUPPORTED for KRY_COARSE_PACKED where its kernels do not run */
kry_status kryi_dense_inverse_choose(kryi_dense_inverse *D, kryi_coarse_product product);
/* The bytes that G takes on the device, and the least that a product moves. */
double kryi_dense_inverse_bytes(const kryi_dense_inverse *D);
double kryi_dense_inverse_moved(const kryi_dense_inverse *D);
/* Compile and allocate what a product needs, G among it. */
kry_status kryi_dense_inverse_prepare(kryi_dense_inverse *D);
/* Form G, rounded to the type; D is prepared. Waits. */
kry_status kryi_dense_inverse_form(kryi_dense_inverse *D, kryi_column_solver *solve, void *user);
/* Numbers from one row of G, kept in full, to the next. */
int64_t kryi_dense_inverse_stride(const kryi_dense_inverse *D);
/* c := G w for one column or several, which start anywhere and do not overlap. Does not wait. */
kry_status kryi_dense_inverse_apply(kryi_dense_inverse *D, const kry_vec *w, kry_vec *c);
void kryi_dense_inverse_release(kryi_dense_inverse *D);

/* Made on a GPU, in double: */

/* Whether the device is to make the inverse: it is a GPU with double precision and room for another k^2 doubles, and k is
 * not small. */
bool kryi_coarse_inverts(const kryi_dense_inverse *D);
/* G := E^-1, E in double with both triangles; singular: E times ones is zero. D is prepared. Waits.
 * Returns  KRY_ERR_SINGULAR as kryi_coarse_create */
kry_status kryi_coarse_invert(const kryi_dense_inverse *D, const kryi_csr *E, bool singular);

/* ---- coarse.c --------------------------------------------------------------------------------- */

typedef struct kryi_coarse kryi_coarse;

typedef struct kryi_coarse_how {
    kry_coarse_method method;
    kryi_coarse_product product; /* of a dense inverse; for tests */
    bool singular;               /* E times ones is zero */
    /* Rounding of the entries, relative to the diagonal: E may map more vectors to zero, which are found up to 1024 unknowns.
     * 0: it is known not to. */
    double rounding;
    const kryi_cholesky_engine
        *engine; /* NULL: the device, or CHOLMOD if there is one; for tests */
    bool
        unsymmetric; /* E need not be symmetric; what a singular one cannot solve for is left out */
} kryi_coarse_how;

/*
 * Factor E, which is in double and has both triangles; dense: also form the inverse, rounded to
 * `type`. Waits.
 *
 * Returns  KRY_ERR_UNSUPPORTED for KRY_COARSE_PACKED where its kernels do not run;
 *          KRY_ERR_SINGULAR for linearly dependent deflation vectors (message: which one);
 *          KRY_ERR_MEMORY, for an inverse that the device cannot hold with the bytes it takes;
 *          KRY_ERR_ARGUMENT for numbers that are not finite.
 */
kry_status kryi_coarse_create(kry_device *dev, kry_type type, const kryi_coarse_how *how,
                              const kryi_csr *E, kryi_coarse **coarse);

/* c := E^-1 w, vectors of the type with k rows and one column or several, which start anywhere and do not overlap.
 * Dense: enqueues products; Cholesky: waits. */
kry_status kryi_coarse_solve(kryi_coarse *coarse, const kry_vec *w, kry_vec *c);

/* Solve for k numbers on the host; w: room for them on the device. Cholesky takes them as they
 * are. */
kry_status kryi_coarse_solve_from(kryi_coarse *coarse, const double *numbers, kry_vec *w,
                                  kry_vec *c);

/* The dense inverse, if it is in full; or NULL. */
const kryi_dense_inverse *kryi_coarse_inverse(const kryi_coarse *coarse);

/* variant: "dense plain" or "packed", "cholesky cholmod" or "banded"; the bytes of the inverse or of the
 * factor, and the least that a solve moves, on the device or on the host. */
void kryi_coarse_describe(const kryi_coarse *coarse, kry_op_info *info);

void kryi_coarse_release(kryi_coarse **coarse);

#endif
