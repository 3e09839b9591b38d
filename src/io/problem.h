/*
 * problem.h - what the makers of model problems share.
 */
#ifndef KRY_PROBLEM_INTERNAL_H
#define KRY_PROBLEM_INTERNAL_H

#include "operator/op.h"
#include "sparse/sparse.h"
#include <kry/problem.h>
#include <kry/team.h>

/* The numbers of a spec. */
typedef struct kry_problem_spec {
    int axes;      /* of a grid; 0: the problem has none */
    int64_t size;  /* N, NX */
    int64_t k;     /* K, W, B, NY */
    double number; /* EPS, CONTRAST, JUMP, DECADES */
    int shape;     /* the number of the word behind it, as kry_problem_shape returns it */
    uint64_t seed;
    bool entries; /* make the matrix, too */
    bool bare;    /* nothing that is as long as the problem, but for coordinates */
} kry_problem_spec;

/* Rows first ... first + rows - 1 of a matrix. */
typedef struct kry_problem_range {
    int64_t first, rows;
} kry_problem_range;

/* Say what a problem is: p->n, traits and what else differs from a positive definite matrix without a grid. */
typedef kry_status kry_problem_maker(const kry_problem_spec *s, kry_problem *p);
/* A := these rows, in double, with columns of the whole; the same numbers in whatever ranges they are made. */
typedef kry_status kry_problem_entries(const kry_problem_spec *s, kry_problem_range of,
                                       kry_sparse *A);
/* Numbers of the right-hand side and the solution; what is NULL is not wanted.
 *   of  whose rows; NULL: all */
typedef kry_status kry_problem_numbers(const kry_problem_spec *s, const kry_problem *p,
                                       const kry_vec *of, double *rhs, double *solution);
/* The grid without coefficients. And those of a box of it, to be freed: g->coefficient and g->face. */
typedef void kry_problem_grid(const kry_problem_spec *s, kry_stencil_params *g);
typedef kry_status kry_problem_coefficients(const kry_problem_spec *s, const kry_stencil_box *box,
                                            kry_stencil_params *g);

/* A kind of problem. */
typedef struct kry_problem_kind {
    kry_word word;         /* its meaning: the limits of what follows N */
    int axes;              /* of its points; 0: they are on no grid */
    int64_t most;          /* largest N: the number of unknowns is below 2^31 */
    unsigned follows;      /* what follows N: problem.c */
    double least, largest; /* number */
    double otherwise;      /* the number if none is given */
    int k_least;
    int (*choose)(const char *word); /* of the word: its number; -1: there is none of that name */
    kry_problem_maker *make;
    kry_problem_entries *entries;
    kry_problem_numbers *numbers;           /* NULL: b = A x for a random x */
    kry_problem_grid *grid;                 /* NULL: no grid operator has these entries */
    kry_problem_coefficients *coefficients; /* NULL: they are 1 */
} kry_problem_kind;

/* What kry_problem_create hands out, and what it was made from. */
typedef struct kry_problem_made {
    kry_problem p; /* first: users have its address */
    kry_problem_spec spec;
    const kry_problem_kind *kind;
} kry_problem_made;

/* problem_grid.c: -sum_a w_a u_aa = f with a known solution; two-phase flow between walls */
kry_problem_maker kry_problem_poisson, kry_problem_twophase;
kry_problem_entries kry_problem_poisson_entries, kry_problem_twophase_entries;
kry_problem_numbers kry_problem_poisson_numbers, kry_problem_twophase_numbers;
kry_problem_grid kry_problem_poisson_grid, kry_problem_twophase_grid;
kry_problem_coefficients kry_problem_twophase_coefficients;
#define KRY_PROBLEM_SHAPES "layers, layers-faces, stripes, bubble and bubbles"
int kry_problem_shape(const char *name); /* -1: there is none of that name */
/* problem_mesh.c: solids */
kry_problem_maker kry_problem_plate, kry_problem_elasticity;
kry_problem_entries kry_problem_plate_entries, kry_problem_elasticity_entries;
/* problem_random.c: random matrices and networks, all but the last one symmetric */
kry_problem_maker kry_problem_of_size, kry_problem_general_random;
kry_problem_entries kry_problem_random, kry_problem_powerlaw, kry_problem_banded, kry_problem_block,
    kry_problem_circuit, kry_problem_geograph, kry_problem_general_entries;

/* problem_general.c: matrices that are not symmetric positive definite */
kry_problem_maker kry_problem_convection, kry_problem_helmholtz, kry_problem_stokes;
kry_problem_entries kry_problem_convection_entries, kry_problem_helmholtz_entries,
    kry_problem_stokes_entries;
int kry_problem_difference(const char *name); /* upwind or central; -1: neither */

/* ---- problem_rows.c ---- */

/* Write the columns of row i, ascending, and their values; returns how many there are.
 *   col, val  NULL: not wanted */
typedef int64_t kry_problem_row(const void *self, int64_t i, int32_t *col, double *val);
/* Make rows of an n-by-n matrix; values: else only the pattern, and room for them. */
kry_status kry_problem_make_rows(kry_problem_row *row, const void *self, bool values, int64_t n,
                                 kry_problem_range of, kry_sparse *A);
/* A random solution x in [0, 1) and b = A x. A: the rows of `of`; the others are not touched. */
void kry_problem_multiply(const kry_problem_spec *s, const kry_sparse *A, kry_problem_range of,
                          double *rhs);
double kry_problem_solution(const kry_problem_spec *s, int64_t i);

#endif
