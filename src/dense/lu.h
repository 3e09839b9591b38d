/*
 * lu.h - the factors P A = L U, for the files that make them and use them.
 */
#ifndef KRY_LU_INTERNAL_H
#define KRY_LU_INTERNAL_H

#include "dense/dense.h"
#include "device/barrier.h"
#include <stdatomic.h>

enum {
    KRY_LU_PANEL = 32,    /* PANEL of cl/dense/panel.cl: columns that are eliminated one by one */
    KRY_LU_TRIANGLE = 256 /* TRIANGLE: rows of a triangle that is solved with in one launch */
};

/* How factors are made: as kryi_lu_usual says, or as a test chooses. */
typedef struct kryi_lu_how {
    int block_group; /* work-items of a group, for blocks that are factored in one launch each; 0: panels */
    int panel_group; /* work-items of a group, for panels that are factored in one launch each; 0: a
                        launch for each column */
    bool two_queues; /* the next block is factored while this one updates the other columns */
} kryi_lu_how;

typedef struct kryi_lu {
    kry_vec *F;           /* owned: m-by-n, L below the diagonal and U on and above it */
    int64_t m, n, r;      /* r: the smaller one */
    kry_lu_params params; /* with their defaults filled in */
    kryi_lu_how how;
    cl_mem order;             /* m cl_int: row i of L U is row order[i] of A */
    cl_int *row_order;        /* the same on the host */
    kry_vec *work;            /* owned: n-by-1; NULL if m != n */
    double norm;              /* the 1-norm of A */
    double smallest, largest; /* pivots, in magnitude */
    int64_t column;           /* of the smallest */
    double mantissa;          /* of the determinant */
    int64_t exponent;
    atomic_bool checked
        [2]
        [2]; /* solves, transposed, with more than one column, that kryi_lu_check_solve has found right */
    char variant[64];
} kryi_lu;

/* COLUMNS of cl/dense/lu.cl: of X in the local memory of a group. */
int kryi_lu_columns(kry_type type);
/* The defines that the kernels of cl/dense/lu.cl and cl/dense/panel.cl are compiled with, and `more`. */
void kryi_lu_defines(kry_type type, const char *more, char *text, size_t size);
kry_status kryi_lu_launch(kry_device *dev, kry_type type, const char *name, int64_t groups,
                          const kry_arg *args, size_t count);

/* ---- lu.c ---- */

/* kry_lu_create with a choice of how the factors are made. how: NULL: kryi_lu_usual. */
kry_status kryi_lu_make(const kry_vec *A, const kry_lu_params *params, const kryi_lu_how *how,
                        kry_op **op);
/* The factors of an operator; NULL if kry_lu_create did not make it. */
const kryi_lu *kryi_lu_of(const kry_op *op);
/* *lu := the factors of op; that it has none is an error. square: factors of a matrix that is not square are an error, too. */
kry_status kryi_lu_get(const char *who, const kry_op *op, bool square, const kryi_lu **lu);
/* Whether the factors, or `inverse` of P A that was made of them, are A's: A x has to be a right-hand side of random
 * numbers, for the x that they give. No matrix is so hard that half of the digits were lost in that.
 * inverse: NULL: the factors are checked.
 * Returns  KRY_ERR_DEVICE if it is not */
kry_status kryi_lu_check(const char *who, const kryi_lu *lu, const kry_vec *A,
                         const kry_vec *inverse);
/* Check solves with the transpose, or with k columns, at the first one of each kind: L U, or U' L', times the solution
 * has to be the right-hand side. Takes room for two matrices meanwhile; without it there is no verdict. */
kry_status kryi_lu_check_solve(const char *who, kryi_lu *lu, bool transposed, int64_t k);
/* C := L, or U, with its ones and zeros. */
kry_status kryi_lu_copy_factor(const kryi_lu *lu, bool lower, kry_vec *C);
/* Refuse a matrix that is singular or not square. */
kry_status kryi_lu_check_regular(const char *who, const kryi_lu *lu);

/* ---- lu_factor.c ---- */

/* How to make factors of n columns on this device. */
kryi_lu_how kryi_lu_usual(const kry_device *dev, const kry_lu_params *params, int64_t n);
/* F := the factors of A. pivots: lu->r numbers on the host; row pivots[j] was exchanged with row j. */
kry_status kryi_lu_factorise(kryi_lu *lu, const kry_vec *A, cl_int *pivots);

/* ---- panel.c: panels eliminated column by column, for factors and for echelon forms ---- */

typedef struct kryi_panels {
    kry_device *dev;
    kryi_block F;
    bool echelon;
    double tolerance;   /* echelon: columns whose entries are not larger have no pivot */
    cl_int block;       /* factors: columns of a block */
    cl_int m, columns;  /* of F */
    cl_int share, most; /* rows of a panel to a group, and groups at most */
    kryi_kernel *column, *rows;
    cl_mem value, row, line, index; /* as in cl/dense/panel.cl; owned */
} kryi_panels;

/* Make the rest; the caller has filled in echelon, tolerance and block. */
kry_status kryi_panels_begin(kryi_panels *p, const kryi_block *F);
void kryi_panels_end(kryi_panels *p);
kry_status kryi_panels_kernel(const kryi_panels *p, const char *name, kryi_kernel **kernel);
/* Eliminate columns at ... at + width - 1; other columns do not change. */
kry_status kryi_panels_eliminate(const kryi_panels *p, int64_t at, int64_t width);
/* Exchange rows in columns `from` to `to` - 1, except these ones, as the elimination of these did. Factors:
 * with `solve` these columns are a panel, and U12 := L11^-1 A12 in the columns behind it; else they are a
 * block. Echelon forms: T takes the rows of the pivots, KRY_LU_PANEL to a column. */
kry_status kryi_panels_exchange(const kryi_panels *p, int64_t at, int64_t width, int64_t from,
                                int64_t to, bool solve, cl_mem T);

/* ---- lu_solve.c ---- */

/* X := T^-1 X with a triangle T of F, of at most KRY_LU_TRIANGLE rows. lower: the one below the diagonal,
 * with ones on it; transposed: its transpose. */
kry_status kryi_lu_triangle(bool lower, bool transposed, const kryi_block *F, const kryi_block *X);
/* Y := alpha A^-1 B + beta Y or, transposed, with A'^-1. T: n-by-k, overwritten. Y may be B. Nothing is
 * checked. */
kry_status kryi_lu_run(const kryi_lu *lu, bool transposed, double alpha, const kry_vec *B,
                       kry_vec *T, double beta, kry_vec *Y);

#endif
