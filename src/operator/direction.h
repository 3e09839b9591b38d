/* direction.h - the steps of conjugate gradients that operators may fuse with their product. */
#ifndef KRY_DIRECTION_H
#define KRY_DIRECTION_H

#include "device/state.h"
#include "operator/op.h"

/* ---- resident.c: iterations of conjugate gradients in one kernel ------------------------------- */

typedef enum kryi_cg_action {
    KRY_CG_BEGIN, /* a solve, from x and its residual r */
    KRY_CG_GO_ON  /* from where the last call ended without a reason to stop */
} kryi_cg_action;

enum {
    KRY_CG_CHUNK = 2048
}; /* iterations in one call: some 10 ms, and no more than that is lost */

struct kryi_cg_run {
    kryi_cg_action action;
    const kry_vec *r;   /* [in] b - A x */
    kry_vec *x;         /* [in,out] */
    double target2;     /* stop when r.r <= target2 */
    int64_t iterations; /* [in] at most; no more than KRY_CG_CHUNK are done */
    double *history; /* [out] r.r of iterations 0 ... done of this call, KRY_CG_CHUNK + 1 numbers;
                           the last stands at 0 of the next call again */
    int done;        /* [out] iterations of this call */
    int stop;        /* [out] the reason to stop, as in direction.clh; 0: none */
    double value;    /* [out] that decided */
};

/* ---- direction.c: p := z + beta p with the scalars on the device ---- */

struct kryi_direction {
    const kry_vec *z, *old; /* p := z + beta old; old may be p itself in the default */
    const kry_sum *rho;     /* pairs (r.z, r.r) behind beta and the stopping test */
    cl_mem step_state;      /* [in]  STATE_SIZE: what the last step left */
    cl_mem state;           /* [out] STATE_SIZE */
    cl_mem history;         /* [out] r.r of this iteration goes to history[slot] */
    cl_int iteration, slot;
    kryi_scalar target2; /* stop when r.r <= target2; of several columns it is in step_state */
};
enum { KRY_DIRECTION_ARGS = 8 };
/* The arguments that begin_direction() in direction.clh takes, in its order. */
void kryi_direction_args(const kryi_direction *d, kry_arg args[KRY_DIRECTION_ARGS]);
/* p := z + beta p alone, of one column or of several. */
kry_status kryi_direction_run(const kryi_direction *d, kry_vec *p);
/* The stopping test and the history entry alone. */
kry_status kryi_direction_check(const kryi_direction *d);

/* What becomes of x in a step: see begin_step in direction.clh. */
enum { KRY_X_WAITS, KRY_X_ADDS, KRY_X_ADDS_BOTH, KRY_X_ADDS_OLD };

/* alpha := rho / p.Ap and what follows, for the p of the direction before */
struct kryi_step {
    const kry_vec *p, *old;
    const kry_vec *q;   /* A p; NULL: the operator forms it again */
    const kry_sum *pq;  /* p.Ap */
    cl_mem state, step; /* as in kryi_direction, the other way round */
    cl_int update;      /* KRY_X_... */
    const kry_vec *d;   /* z := d .* r, or NULL */
    kry_vec *z;
    /* Sums of r after the step before, and room for those after this one: with them the mean is taken
     * out of r. NULL: not wanted. */
    const kry_sum *drift;
    kry_sum *next_drift;
    int64_t unknowns; /* of all parts, which the mean is taken over */
};
enum { KRY_STEP_ARGS = 5, KRY_DRIFT_ARGS = 4 };
/* The arguments that begin_step() takes, in its order; `drift`: and DRIFT_ARGUMENTS of direction.clh behind them. Returns
 * how many. */
size_t kryi_step_args(const kryi_step *s, bool drift, kry_arg args[KRY_STEP_ARGS + KRY_DRIFT_ARGS]);
/* x += alpha p, r -= alpha q, z := d .* r and sum := the pair (r.z, r.r), of one column or of several.
 *   kernel  pcg_step of pcg.cl for an x that is aligned */
kry_status kryi_step_run(const kryi_step *s, kryi_kernel *kernel, kry_vec *x, kry_vec *r,
                         kry_sum *sum);
/* After `done` steps from iteration `start` on, which left x waiting in every second one: what it still waits for. Of several
 * columns some may have done fewer. Waits.
 *   first  the direction of the first step */
kry_status kryi_step_catch_up(const kryi_step *s, const kry_vec *first, int64_t start, int64_t done,
                              kry_vec *x);

#endif
