// mixed.cl - conversions between a solver in single and what is kept in double: x, and its residual.
// Host: src/krylov/mixed_outer.c. REAL is double. Launch: kryi_groups_for(n) groups of WG. All
// vectors start at element 0. s, powers of two, makes the diagonal of the matrix in single about 1; NULL: all its
// numbers are 1.

#include "common/kry.clh"

// y := beta x + a s .* d, and d := 0; with beta == 0, x is not read. y may be x.
kernel void mixed_widen(long n, REAL beta, global const REAL *x, REAL a, global const REAL *restrict s,
                        global float *restrict d, global REAL *y)
{
    FOR_EACH(i, n)
    {
        const REAL s_i = s ? s[i] : 1, t = a * (s_i * (REAL)d[i]);
        y[i] = beta == 0 ? t : beta * x[i] + t;
        d[i] = 0;
    }
}

// d := a s .* r
kernel void mixed_narrow(long n, REAL a, global const REAL *restrict s,
                         global const REAL *restrict r, global float *restrict d)
{
    FOR_EACH(i, n)
    {
        const REAL s_i = s ? s[i] : 1;
        d[i] = (float)(a * (s_i * r[i]));
    }
}

// part[group] := sum of s_i r_i s_i r_i, with s. Launch: kryi_chunks_of(r).groups.
kernel void mixed_norm(long n ROWS_PARAMS, global const REAL *restrict s,
                       global const REAL *restrict r, global TOTAL *restrict part)
{
    local TOTAL lane[WG];
    TOTAL sum = NO_TOTAL;
    TAKE_ROWS(first)
    s += first, r += first;
    FOR_EACH_SUMMED(i, n)
    {
        const REAL v = s[i] * r[i];
        ADD_PRODUCT(sum, v, v);
    }
    sum = group_sum(sum, lane);
    if (get_local_id(0) == 0) part[get_group_id(0)] = sum;
}
