/*
 * problem.h - what the makers of model problems share.
 */
#ifndef KRY_PROBLEM_H
#define KRY_PROBLEM_H

#include "operator/op.h"

typedef struct kry_problem_spec {
    int64_t size;    /* N, NX */
    double eps;      /* weight of the second axis; DECADES */
    int64_t k;       /* K, W or B; NY */
    double contrast; /* JUMP */
    int shape;       /* as kry_problem_shape has it */
    uint64_t seed;
    const char *func; /* who is asked, for messages */
    bool entries;     /* of the matrix are wanted */
} kry_problem_spec;

/* The arrays of n+1 and nnz, which are known. */
kry_status kry_problem_alloc_entries(kry_problem *p);

/* ---- problem_twophase.c: flow of two phases between walls ---- */

#define KRY_PROBLEM_SHAPES "layers, layers-faces, stripes, bubble and bubbles"
int kry_problem_shape(const char *name); /* -1: there is none */
kry_status kry_problem_twophase2d(const kry_problem_spec *s, kry_problem *p);
kry_status kry_problem_twophase3d(const kry_problem_spec *s, kry_problem *p);

/* ---- problem_random.c: symmetric, diagonally dominant, b = A x for a random x ---- */

kry_status kry_problem_random(const kry_problem_spec *s, kry_problem *p);
kry_status kry_problem_powerlaw(const kry_problem_spec *s, kry_problem *p);
kry_status kry_problem_banded(const kry_problem_spec *s, kry_problem *p);
kry_status kry_problem_block(const kry_problem_spec *s, kry_problem *p);

/* x random in [0, 1), b = A x, for a matrix that is there. */
kry_status kry_problem_know_solution(const kry_problem_spec *s, kry_problem *p);

/* Row i draws draws(s, i) partners; partner t is partner(s, i, t), not i itself. */
typedef struct kry_problem_drawing {
    int64_t (*draws)(const kry_problem_spec *s, int64_t i);
    int64_t (*partner)(const kry_problem_spec *s, int64_t i, int64_t t, int64_t draws);
} kry_problem_drawing;

/* The pattern, symmetric, with the diagonal: p->n, nnz, row_ptr and col. */
kry_status kry_problem_draw(const kry_problem_spec *s, const kry_problem_drawing *d,
                            kry_problem *p);

/* A partner of row i, near more often than far, as in a matrix that was ordered well: within a
 * range around i, `least` rows at least, that is as likely between 10 and 100 as between 1000 and
 * 10000 rows. Beyond the last row comes the first. `distance` and `side` are streams of random
 * numbers, at `place`. */
int64_t kry_problem_partner(const kry_problem_spec *s, uint64_t distance, uint64_t side, int64_t i,
                            uint64_t place, int64_t least);

/* ---- problem_mesh.c, problem_graph.c: symmetric, positive definite, b = A x as well ---- */

kry_status kry_problem_plate2d(const kry_problem_spec *s, kry_problem *p);
kry_status kry_problem_elasticity2d(const kry_problem_spec *s, kry_problem *p);
kry_status kry_problem_geograph(const kry_problem_spec *s, kry_problem *p);
kry_status kry_problem_circuit(const kry_problem_spec *s, kry_problem *p);

#endif
