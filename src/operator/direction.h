/* direction.h - the two passes of an iteration of conjugate gradients, which operators may fuse with their product. */
#ifndef KRY_DIRECTION_H
#define KRY_DIRECTION_H

#include "device/state.h"
#include "operator/op.h"

/*
 * The passes read and write these, for one column or several; scalars stay on the device.
 *
 *   direction  beta := rho / old rho,  p := z + beta old,  q := A p,  pq := p.q
 *   step       alpha := rho / pq,  x += alpha p,  r -= alpha q,  z := d .* r,  rho := the pair (r.z, r.r)
 */
struct kryi_cg {
    kry_vec *x, *r;
    kry_vec *z;         /* M r; r itself without M */
    kry_vec *p, *q;     /* q NULL: the operator forms A p again in its own step */
    const kry_vec *old; /* the direction before p; may be p itself unless the operator `fuses` */
    const kry_vec *d;   /* the diagonal that M multiplies by; NULL: the step leaves z alone */
    kry_sum *rho, *pq;
    kry_sum *zq; /* z.q, of the beta of Polak and Ribiere; NULL: it is not wanted */
    /* Sums of r after the step before, and room for those after this one: with them the mean over the `unknowns` of all
     * parts is taken out of r. NULL: it is not wanted. */
    kry_sum *drift, *next_drift;
    int64_t unknowns;
    /* STATE_SIZE scalars for each column: the direction reads `step` and writes `state`, the step the other way round. */
    cl_mem step, state;
    cl_mem history; /* r.r of this iteration goes to history[slot] */
    cl_int iteration, slot;
    kryi_scalar target2; /* stop when r.r <= target2; of several columns it is in `step` */
    int64_t done;        /* steps of the cycle before this one */
    /* True if x waits in every second step, the first one among them, and then gets two directions at once. */
    bool x_waits;
    bool fuses;                /* the operator takes the direction with its product */
    kryi_kernel *step_aligned; /* pcg_step of pcg.cl for an x that is aligned */
};

/* ---- for solvers ---- */

/* Compile what a solve launches, which then does not fail for want of it; with step_aligned. */
kry_status kryi_cg_prepare(kryi_cg *cg, kry_device *dev, kry_type type);
/* The direction with its product, fused or not. */
kry_status kryi_cg_direct(const kry_op *A, const kryi_cg *cg);
/* The step, of the operator where it has one. */
kry_status kryi_cg_step(const kry_op *A, const kryi_cg *cg);
/* The stopping test and the history entry of the direction, alone. */
kry_status kryi_cg_check(const kryi_cg *cg);
/* After a step and the z that follows: the beta of the next direction is (r - old r).z / old rho, by zq. */
kry_status kryi_cg_correct_beta(const kryi_cg *cg);
/* After `done` steps from iteration `start` on: add to x what it still waits for. Of several columns some may have done
 * fewer. Waits.
 *   first  the direction of the first step */
kry_status kryi_cg_catch_up(const kryi_cg *cg, const kry_vec *first, int64_t start, int64_t done);
/* Bytes moved by direction and step, by the model, and by M unless it is a diagonal matrix; 0: not known.
 *   M  NULL: the identity */
double kryi_cg_bytes(const kry_op *A, const kry_op *M, const kryi_cg *cg);

/* ---- for operators ---- */

enum { KRY_DIRECTION_ARGS = 8 };
/* The arguments that begin_direction() in direction.clh takes, in its order. */
void kryi_direction_args(const kryi_cg *cg, kry_arg args[KRY_DIRECTION_ARGS]);
/* p := z + beta old alone. */
kry_status kryi_direction_run(const kryi_cg *cg);
enum { KRY_STEP_ARGS = 5, KRY_DRIFT_ARGS = 4 };
/* The arguments that begin_step() takes, in its order; `drift`: and DRIFT_ARGUMENTS of direction.clh behind them. Returns
 * how many. */
size_t kryi_step_args(const kryi_cg *cg, bool drift, kry_arg args[KRY_STEP_ARGS + KRY_DRIFT_ARGS]);

#endif
