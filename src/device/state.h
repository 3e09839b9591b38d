/*
 * state.h - the scalars of a recurrence that runs on a device, as cl/common/direction.clh has them.
 */
#ifndef KRY_STATE_H
#define KRY_STATE_H

/* STATE_SIZE numbers of type ACC, in two blocks: one is written by the direction, one by the step that
 * follows it, so that no launch writes what it reads. */
enum {
    STATE_STOP,
    STATE_ITERATION,
    STATE_VALUE,
    STATE_RHO,
    STATE_RHO_REST,
    STATE_ALPHA,
    STATE_BETA,
    STATE_TARGET = 23, /* when a cycle begins, in both blocks: stop when r.r is not above it */
    STATE_SIZE = 24    /* from STATE_RHO on they are a method's own */
};

/* STATE_STOP: why a method stops. */
enum { GO_ON, STOP_CONVERGED, STOP_PRECOND, STOP_MATRIX, STOP_NOT_FINITE };

#endif
