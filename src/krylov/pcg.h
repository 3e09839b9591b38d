/*
 * pcg.h - the state of conjugate gradients: pcg.c iterates, pcg_create.c makes it.
 */
#ifndef KRY_PCG_H
#define KRY_PCG_H

#include "krylov/persistent.h"
#include "krylov/workspace.h"
#include "precond/deflation.h"

typedef struct kryi_pcg_kernels {
    kryi_kernel *step; /* of one column or of several, for an x that is aligned */
    kryi_kernel *add_lasts, *correct_beta; /* NULL: not wanted */
} kryi_pcg_kernels;

typedef struct kryi_pcg {
    kryi_workspace W;
    kry_vec *z;       /* NULL without a preconditioner: it is r */
    kry_vec *q;       /* NULL if A repeats */
    kry_vec *p, *old; /* change places where A fuses the direction */
    kry_flexible flexible;
    bool fuses;
    bool repeats;             /* A forms A p again in its own step instead of storing q */
    bool x_every_second_step; /* x gets two directions at once */
    /* Applying M is expensive: convergence is checked before it is applied. */
    bool checks_first;
    kry_sum *pq, *rho;           /* p'q; the pair (r'z, r'r) */
    kry_sum *zq;                 /* z'q, of Polak and Ribiere */
    kry_sum *drift, *next_drift; /* sums of r, where constants are the null space */
    kryi_pcg_kernels kernel;
    kryi_persistent persistent; /* where A offers iterations in one kernel */
    kryi_recycle
        *recycle; /* of the cycle under way: what its vectors are left to; NULL: none; borrowed */
} kryi_pcg;

/* The diagonal that z := M r multiplies by; NULL if M is none. */
static inline const kry_vec *kryi_pcg_diagonal(const kry_op *M)
{
    return M && M->table->as_diagonal ? M->table->as_diagonal(M->self) : NULL;
}

/* The null space was that of constants when S was made: a step takes it out of r by itself, one step late. */
static inline bool kryi_pcg_takes_drift(const kryi_pcg *S) { return S->drift; }

/* The kernel of a step. That for an x that is not aligned is compiled when one comes, for few do. */
kry_status kryi_pcg_step_kernel(const kryi_pcg *S, bool aligned, kryi_kernel **kernel);
kry_status kryi_pcg_cycle(void *self, kryi_cycle *c);

#endif
