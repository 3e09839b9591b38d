// cr.cl - the vector work of a step of conjugate residuals.
// Host: src/krylov/cr.c. Launch: cr_direction kryi_groups_for_sums(n) groups of WG, cr_step
// kryi_chunks_of(x).groups. All vectors but x start at element 0. The scalars go back and forth
// between two blocks as in direction.clh.

#include "common/kry.clh"
#include "common/direction.clh"

// beta := rho / old rho,  p := z + beta p,  q := w + beta q, unless the solve has stopped. With
// n = 0 the stopping test alone.
kernel void cr_direction(int iteration, int slot, ACC target2, global const TOTAL *restrict rr_part,
                         int rr_count, global const TOTAL *restrict rho_part, int rho_count,
                         global const ACC *restrict step, global ACC *restrict state,
                         global ACC *restrict history, long n, global const REAL *restrict z,
                         global const REAL *restrict w, global REAL *restrict p,
                         global REAL *restrict q)
{
    local TOTAL lane[WG];
    TOTAL rho = finish_sum(rho_part, rho_count, lane), old = RHO_OF(step);
    ACC rr = VALUE_OF(finish_sum(rr_part, rr_count, lane)), value = VALUE_OF(rho);
    int stop = (int)step[STATE_STOP], fresh = stop == GO_ON;

    if (fresh) {
        if (rr <= target2)
            stop = STOP_CONVERGED;
        else if (!isfinite(rr) || !isfinite(value))
            stop = STOP_NOT_FINITE;
        else if (value == 0)
            stop = STOP_MATRIX;
    }
    REAL beta = VALUE_OF(old) != 0 ? (REAL)RATIO(rho, old) : 0;
    if (get_global_id(0) == 0) {
        state[STATE_STOP] = stop;
        state[STATE_ITERATION] = fresh ? (ACC)iteration : step[STATE_ITERATION];
        state[STATE_VALUE] = fresh ? value : step[STATE_VALUE];
        KEEP_RHO(state, rho);
        if (fresh) history[slot] = rr;
    }
    if (stop != GO_ON) return;
    FOR_EACH(i, n)
    {
        p[i] = z[i] + beta * p[i];
        q[i] = w[i] + beta * q[i];
    }
}

// alpha := rho / q.y,  x += alpha p,  r -= alpha q,  part[group] := r.r,  z -= alpha y. Without a preconditioner y and z are
// NULL, and q.y is q.q.
kernel void cr_step(long n ROWS_PARAMS, global const ACC *restrict state, global ACC *restrict step,
                    global const TOTAL *restrict qy_part, int qy_count,
                    global const REAL *restrict p, global const REAL *restrict q,
                    global REAL *restrict x, long x0, global REAL *restrict r,
                    global TOTAL *restrict part, global const REAL *restrict y, global REAL *restrict z)
{
    local TOTAL lane[WG];
    const int preconditioned = y != 0;
    TOTAL qy = finish_sum(qy_part, qy_count, lane), rho = RHO_OF(state), rr = NO_TOTAL;
    int stop = (int)state[STATE_STOP], fresh = stop == GO_ON;
    TAKE_ROWS(first)

    if (fresh && !(VALUE_OF(qy) > 0))
        stop = !isfinite(VALUE_OF(qy)) ? STOP_NOT_FINITE : preconditioned ? STOP_PRECOND : STOP_MATRIX;
    REAL alpha = stop == GO_ON ? (REAL)RATIO(rho, qy) : 0;
    if (get_global_id(0) == 0) {
        step[STATE_STOP] = stop;
        step[STATE_ITERATION] = state[STATE_ITERATION];
        step[STATE_VALUE] = fresh && stop != GO_ON ? VALUE_OF(qy) : state[STATE_VALUE];
        KEEP_RHO(step, rho);
    }
    if (stop != GO_ON) n = 0; // not a return: the barriers below are for all
    x += x0 + first, r += first, p += first, q += first, y += first, z += first;
    FOR_EACH_SUMMED(i, n)
    {
        REAL r_i = r[i] - alpha * q[i];
        x[i] += alpha * p[i];
        r[i] = r_i;
        ADD_PRODUCT(rr, r_i, r_i);
        if (preconditioned) z[i] -= alpha * y[i];
    }
    rr = group_sum(rr, lane);
    if (get_local_id(0) == 0 && stop == GO_ON) part[get_group_id(0)] = rr;
}
