/*
 * recycle.h - vectors for deflation that a solve by conjugate gradients leaves: approximate eigenvectors of M A to
 * the smallest eigenvalues, from its z = M r.
 */
#ifndef KRY_RECYCLE_H
#define KRY_RECYCLE_H

#include "operator/op.h"
#include "vector/vec.h"

enum {
    KRY_RECYCLE_MOST = 16,   /* vectors that are kept, */
    KRY_RECYCLE_WINDOW = 4,  /* times as many that are looked at, */
    KRY_RECYCLE_RESTART = 2, /* times as many where the window was full */
};

typedef struct kryi_recycle {
    const kry_op *A; /* borrowed */
    int most, window;
    int wide; /* columns that kryi_recycle_combine writes: RESTART most, rounded up so that few kernels differ */
    kry_vec
        *V; /* n-by-window: Ritz vectors of the windows before, then z of consecutive iterations */
    int count, kept; /* columns in use, and how many of them are Ritz vectors */
    bool open;       /* a cycle of a solve is looked at, */
    bool ended;      /* or was: the columns are vectors that it leaves */
    int64_t updates; /* A's, when vectors were found last; -1: never */
    cl_mem log;      /* `window` blocks of STATE_SIZE scalars: the step behind each z */
    void *read;      /* the same on the host */
    cl_mem C;        /* window-by-wide, of V's type */
    void *C_read;    /* the same on the host */
    kry_sum *sum;
    double *T;        /* window^2: V'A V */
    double *by;       /* window: what each column is multiplied by to have length 1 */
    double *coupling; /* `kept`: of the Ritz vectors with the next z */
    double alpha;     /* of the step before the window; 0: there was none */
    double *room[5];  /* window^2 each */
    double values[KRY_RECYCLE_MOST]; /* eigenvalues of M A that belong to the vectors found last, */
    int found;                       /* so many */
} kryi_recycle;

/* most: vectors, 1 ... KRY_RECYCLE_MOST. Allocates all that solves need. */
kry_status kryi_recycle_create(const kry_op *A, int most, kryi_recycle **recycle);
void kryi_recycle_release(kryi_recycle **recycle);
/* Bytes that it keeps on the device. */
double kryi_recycle_bytes(const kryi_recycle *R);

/* A solve begins. It is looked at if A has changed since vectors were found, or none were yet. */
void kryi_recycle_begin(kryi_recycle *R);
/* An iteration begins, with z = M r; `step`: STATE_SIZE scalars that the one before left. Waits where a window is
 * full. */
kry_status kryi_recycle_take(kryi_recycle *R, const kry_vec *z, cl_mem step);
/* The cycle is over. Waits. */
kry_status kryi_recycle_end(kryi_recycle *R, cl_mem step);
/*
 * The best of what the solve and `old` span: *Z are the first columns of R, so many that M A has so far the smallest
 * Rayleigh quotients for; none if the solve leaves none.
 *   M    NULL: the identity
 *   old  n-by-k, k <= most; NULL: none
 *   t    room, n
 * Products with A and M for each. Waits.
 */
kry_status kryi_recycle_choose(kryi_recycle *R, const kry_op *M, const kry_vec *old, kry_vec *t,
                               kry_vec *Z);

#endif
