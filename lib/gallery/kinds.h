/*
 * kinds.h - what the makers of model problems share.
 */
#ifndef KRY_KINDS_H
#define KRY_KINDS_H

#include <kry/problem.h>
#include <kry/team.h>
#include <kry/words.h>

/* The numbers of a spec. */
typedef struct kryi_problem_spec {
    int axes;      /* of a grid, or of elements; 0: the problem has neither */
    int64_t size;  /* N, NX */
    int64_t k;     /* K, W, B, NY */
    int64_t depth; /* NZ; 1: the elements are in the plane */
    double number; /* EPS, CONTRAST, JUMP, DECADES */
    int shape;     /* the number of the word behind it, as kryi_problem_shape returns it */
    uint64_t seed;
    bool entries; /* make the matrix, too */
    bool bare;    /* nothing that is as long as the problem, but for coordinates */
} kryi_problem_spec;

/* Rows first ... first + rows - 1 of a matrix. */
typedef struct kryi_problem_range {
    int64_t first, rows;
} kryi_problem_range;

/* Rows of a matrix, in double; columns ascend. */
typedef struct kryi_problem_csr {
    int64_t rows;
    int64_t *row_ptr; /* rows + 1 */
    int32_t *col;
    double *val;
} kryi_problem_csr;

void kryi_problem_csr_release(kryi_problem_csr *A);

/* Say what a problem is: p->n, traits and what else differs from a positive definite matrix without a grid. */
typedef kry_status kryi_problem_maker(const kryi_problem_spec *s, kry_problem *p);
/* A := these rows, with columns of the whole; the same numbers in whatever ranges they are made. */
typedef kry_status kryi_problem_entries(const kryi_problem_spec *s, kryi_problem_range of,
                                        kryi_problem_csr *A);
/* Numbers of the right-hand side and the solution; what is NULL is not wanted.
 *   of  whose rows; NULL: all */
typedef kry_status kryi_problem_numbers(const kryi_problem_spec *s, const kry_problem *p,
                                        const kry_vec *of, double *rhs, double *solution);
/* The grid without coefficients. And those of a box of it, to be freed: g->coefficient and g->face. */
typedef void kryi_problem_grid(const kryi_problem_spec *s, kry_stencil_params *g);
typedef kry_status kryi_problem_coefficients(const kryi_problem_spec *s, const kry_stencil_box *box,
                                             kry_stencil_params *g);

/* A kind of problem. */
typedef struct kryi_problem_kind {
    kry_word word;         /* its meaning: the limits of what follows N */
    int axes;              /* of its points or elements; 0: they are on no grid */
    int64_t most;          /* largest N: the number of unknowns is below 2^31 */
    unsigned follows;      /* what follows N: problem.c */
    double least, largest; /* number */
    double otherwise;      /* the number if none is given */
    int k_least;
    int (*choose)(const char *word); /* of the word: its number; -1: there is none of that name */
    kryi_problem_maker *make;
    kryi_problem_entries *entries;
    kryi_problem_numbers *numbers;           /* NULL: b = A x for a random x */
    kryi_problem_grid *grid;                 /* NULL: no grid operator has these entries */
    kryi_problem_coefficients *coefficients; /* NULL: they are 1 */
} kryi_problem_kind;

/* What kry_problem_create hands out, and what it was made from. */
typedef struct kryi_problem_made {
    kry_problem p; /* first: users have its address */
    kryi_problem_spec spec;
    const kryi_problem_kind *kind;
} kryi_problem_made;

/* grid.c: -sum_a w_a u_aa = f with a known solution; the matrix of HPCG; two-phase flow between walls */
kryi_problem_maker kryi_problem_poisson, kryi_problem_poisson27, kryi_problem_twophase;
kryi_problem_entries kryi_problem_poisson_entries, kryi_problem_poisson27_entries,
    kryi_problem_twophase_entries;
kryi_problem_numbers kryi_problem_poisson_numbers, kryi_problem_twophase_numbers;
kryi_problem_grid kryi_problem_poisson_grid, kryi_problem_twophase_grid;
kryi_problem_coefficients kryi_problem_twophase_coefficients;
#define KRY_PROBLEM_SHAPES "layers, layers-faces, stripes, bubble and bubbles"
int kryi_problem_shape(const char *name); /* -1: there is none of that name */
/* mesh.c: solids */
kryi_problem_maker kryi_problem_plate, kryi_problem_elasticity;
kryi_problem_entries kryi_problem_plate_entries, kryi_problem_elasticity_entries;
int kryi_problem_body(const char *name); /* free; -1: it is not that */
/* random.c: random matrices and networks, all but the last one symmetric */
kryi_problem_maker kryi_problem_of_size, kryi_problem_general_random;
kryi_problem_entries kryi_problem_random, kryi_problem_powerlaw, kryi_problem_banded,
    kryi_problem_block, kryi_problem_circuit, kryi_problem_geograph, kryi_problem_general_entries;

/* general.c: matrices that are not symmetric positive definite */
kryi_problem_maker kryi_problem_convection, kryi_problem_helmholtz, kryi_problem_stokes;
kryi_problem_entries kryi_problem_convection_entries, kryi_problem_helmholtz_entries,
    kryi_problem_stokes_entries;
int kryi_problem_difference(const char *name); /* upwind or central; -1: neither */

/* ---- rows.c ---- */

/* Write the columns of row i, ascending, and their values; returns how many there are.
 *   col, val  NULL: not wanted */
typedef int64_t kryi_problem_row(const void *self, int64_t i, int32_t *col, double *val);
/* Make rows of a matrix; values: else only the pattern, and room for them. */
kry_status kryi_problem_make_rows(kryi_problem_row *row, const void *self, bool values,
                                  kryi_problem_range of, kryi_problem_csr *A);
/* A random solution x in [0, 1) and b = A x. A: the rows of `of`; the others are not touched. */
void kryi_problem_multiply(const kryi_problem_spec *s, const kryi_problem_csr *A,
                           kryi_problem_range of, double *rhs);
double kryi_problem_solution(const kryi_problem_spec *s, int64_t i);

#endif
