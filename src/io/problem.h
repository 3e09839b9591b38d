/*
 * problem.h - what the makers of model problems share.
 */
#ifndef KRY_PROBLEM_H
#define KRY_PROBLEM_H

#include "operator/op.h"
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
    bool bare;    /* no whole vectors either, but for coefficients */
} kry_problem_spec;

/* Functions that make a problem fill in p->n and all that follows. */
typedef kry_status kry_problem_maker(const kry_problem_spec *s, kry_problem *p);

/* problem_grid.c: -sum_a w_a u_aa = f with a known solution; two-phase flow between walls */
kry_problem_maker kry_problem_poisson, kry_problem_twophase;
/* Numbers of the right-hand side and the solution; what is NULL is not wanted.
 *   of  whose rows; NULL: all */
typedef kry_status kry_problem_numbers(const kry_problem_spec *s, const kry_problem *p,
                                       const kry_vec *of, double *rhs, double *solution);
kry_problem_numbers kry_problem_poisson_numbers, kry_problem_twophase_numbers;
#define KRY_PROBLEM_SHAPES "layers, layers-faces, stripes, bubble and bubbles"
int kry_problem_shape(const char *name); /* -1: there is none of that name */
/* problem_mesh.c: solids */
kry_problem_maker kry_problem_plate, kry_problem_elasticity;
/* problem_random.c: random matrices and networks */
kry_problem_maker kry_problem_random, kry_problem_powerlaw, kry_problem_banded, kry_problem_block;
kry_problem_maker kry_problem_geograph, kry_problem_circuit;

/* problem_general.c, problem_random.c: matrices that are not symmetric positive definite */
kry_problem_maker kry_problem_convection, kry_problem_helmholtz, kry_problem_stokes;
kry_problem_maker kry_problem_general_random;
int kry_problem_difference(const char *name); /* upwind or central; -1: neither */

/* Write the columns of row i, ascending, and their values; returns how many there are.
 *   col, val  NULL: not wanted */
typedef int64_t kry_problem_row(const void *self, int64_t i, int32_t *col, double *val);
/* Make a matrix of p->n rows: nnz, row_ptr, col and, if `values`, val. */
kry_status kry_problem_make_rows(kry_problem_row *row, const void *self, bool values,
                                 kry_problem *p);
/* Make a random solution x in [0, 1) and the right-hand side b = A x. */
kry_status kry_problem_make_solution(uint64_t seed, kry_problem *p);

#endif
