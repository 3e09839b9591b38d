// spectrum.cl - the vector work of Lanczos's method by conjugate gradients, whose scalars stay on the device.
// Host: src/precond/spectrum.c. Vectors start at element 0. Launch: kryi_groups_for(n) groups of WG.
//
// out: 2 numbers of each step, rho = r'M r and p'A p.

#include "common/kry.clh"

// p := z + beta p, beta = rho / that of the step before; 0 in step 0, which does not read p.
kernel void spectrum_direction(long n, int step, global const TOTAL *restrict rho_part, int count,
                               global const TOTAL *restrict last_part, int last_count,
                               global ACC *restrict out, global const REAL *restrict z,
                               global REAL *restrict p)
{
    local TOTAL lane[WG];
    TOTAL rho = finish_sum(rho_part, count, lane), last = NO_TOTAL;
    REAL beta = 0;
    if (step > 0) last = finish_sum(last_part, last_count, lane);
    if (step > 0 && VALUE_OF(last) > 0) beta = (REAL)RATIO(rho, last);
    if (step == 0) {
        FOR_EACH(i, n) p[i] = z[i];
    } else {
        FOR_EACH(i, n) p[i] = z[i] + beta * p[i];
    }
    if (get_global_id(0) == 0) out[2 * step] = VALUE_OF(rho);
}

// r := r - alpha q, alpha = rho / p'q; 0 where that is no step.
kernel void spectrum_residual(long n, int step, global const TOTAL *restrict rho_part, int count,
                              global const TOTAL *restrict pq_part, int pq_count,
                              global ACC *restrict out, global const REAL *restrict q,
                              global REAL *restrict r)
{
    local TOTAL lane[WG];
    TOTAL rho = finish_sum(rho_part, count, lane), pq = finish_sum(pq_part, pq_count, lane);
    const REAL alpha = VALUE_OF(pq) > 0 ? (REAL)RATIO(rho, pq) : (REAL)0;
    FOR_EACH(i, n) r[i] = r[i] - alpha * q[i];
    if (get_global_id(0) == 0) out[2 * step + 1] = VALUE_OF(pq);
}
