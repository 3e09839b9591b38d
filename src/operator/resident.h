/*
 * resident.h - conjugate gradients in one persistent kernel, whatever the product: docs/solvers.md says
 * when.
 */
#ifndef KRY_RESIDENT_H
#define KRY_RESIDENT_H

#include "device/launch.h"
#include "operator/op.h"

typedef enum kryi_cg_action {
    KRY_CG_BEGIN, /* a solve, from x and its residual r */
    KRY_CG_GO_ON  /* from where the last call ended without a reason to stop */
} kryi_cg_action;

enum {
    KRY_CG_CHUNK = 2048
}; /* iterations in one call: some 10 ms, and no more than that is lost */

typedef struct kryi_cg_run {
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
} kryi_cg_run;

/* A product brings this: a kernel, how it is to be launched, and the arguments that it takes behind those
 * of all products, whose order is that of cl/grid/resident.cl. */
enum { KRY_RESIDENT_OWN = 24 };
typedef struct kryi_plug {
    kryi_kernel *kernel; /* borrowed */
    int size;            /* work-items per group */
    int groups;          /* so many hold n unknowns */
    int64_t pieces;      /* groups that have work at once; 0: those that hold n */
    int shown;           /* vectors that groups leave for each other */
    cl_mem owned[2];     /* buffers that are made for it alone; NULL: none */
    size_t count;        /* arguments of its own: copies of numbers and handles */
    unsigned char value[KRY_RESIDENT_OWN][sizeof(double)];
    size_t bytes[KRY_RESIDENT_OWN];
} kryi_plug;
/* Add an argument of at most 8 bytes. */
void kryi_plug_add(kryi_plug *plug, const void *value, size_t bytes);
#define PLUG(plug, x) kryi_plug_add(plug, &(x), sizeof(x))
/* Release the buffers that it owns. */
void kryi_plug_release(kry_device *dev, kryi_plug *plug);

/* Make ready for n unknowns. What the plug owns is taken over if the call succeeds; its other buffers stay the
 * caller's. Waits.
 * Returns  KRY_ERR_UNSUPPORTED if the device cannot run so many groups at once. */
kry_status kryi_resident_create(kry_device *dev, kry_type type, int64_t n, kryi_plug *plug,
                                kryi_resident_cg **R);
void kryi_resident_release(kryi_resident_cg **R);
/* Iterations as `run` says. On failure x is what the last call that succeeded left. Waits. */
kry_status kryi_resident_run(kryi_resident_cg *R, kryi_cg_run *run);
/* A launch was aborted: every other call of kryi_resident_run fails at once. */
bool kryi_resident_gave_up(const kryi_resident_cg *R);

#endif
