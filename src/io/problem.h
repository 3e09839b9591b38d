/*
 * problem.h - what the makers of model problems share.
 */
#ifndef KRY_PROBLEM_H
#define KRY_PROBLEM_H

#include "../core/internal.h"

typedef struct kry_problem_spec {
    int64_t size; /* N */
    double eps;   /* weight of the second axis */
    int64_t k;    /* K, W or B */
    double contrast;
    int shape; /* as kry_problem_shape has it */
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

#endif
