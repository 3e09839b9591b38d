/*
 * guess.h - a starting guess from earlier solves with the same A: the x + X c of least residual, where X spans what
 * the last solves have found.
 */
#ifndef KRY_GUESS_H
#define KRY_GUESS_H

#include "operator/op.h"
#include "vector/vec.h"

enum { KRY_GUESS_MOST = 32, KRY_GUESS_USUAL = 8 }; /* solutions that are kept */

typedef struct kryi_guess {
    const kry_op *A; /* borrowed */
    kry_vec *X, *Y;  /* n by `most`; Y = A X, whose first `count` columns are orthonormal */
    kry_vec *start;  /* n: the guess of the solve under way */
    kry_sum *sum;
    int most, count;
    int64_t updates;          /* A's, for which Y is A X */
    double b[KRY_GUESS_MOST]; /* Y'b */
    double R[KRY_GUESS_MOST]
            [KRY_GUESS_MOST]; /* X R[:][j] is solution j, the oldest first; upper triangle */
} kryi_guess;

/* most: solutions; 0: *guess is NULL. */
kry_status kryi_guess_create(const kry_op *A, int64_t most, kryi_guess **guess);
void kryi_guess_release(kryi_guess **guess);
/* x := x + X c, the x of least ||b - A x||. r: room. Waits. */
kry_status kryi_guess_start(kryi_guess *G, const kry_vec *b, kry_vec *r, kry_vec *x);
/* Keep what a solve has made of that x. y: room. Waits. */
kry_status kryi_guess_keep(kryi_guess *G, const kry_vec *x, kry_vec *y);

#endif
