// mixed.cl - conversions between a solver in single and what is kept in double: x, and its residual.
// Host: src/krylov/mixed_outer.c. REAL is double. Launch: kry_groups_for(n) groups of WG. All
// vectors start at element 0.
//
// SCALED   s, powers of two, makes the diagonal of the matrix in single about 1; else s is not read

#include "common/kry.clh"

#ifdef SCALED
#define S(i) s[i] *
#else
#define S(i)
#endif

// y := beta x + a s .* d, and d := 0; with beta == 0, x is not read. y may be x.
kernel void mixed_widen(long n, REAL beta, global const REAL *x, REAL a, global const REAL *restrict s,
                        global float *restrict d, global REAL *y)
{
    FOR_EACH(i, n)
    {
        REAL t = a * (S(i) (REAL)d[i]);
        y[i] = beta == 0 ? t : beta * x[i] + t;
        d[i] = 0;
    }
}

// d := a s .* r
kernel void mixed_narrow(long n, REAL a, global const REAL *restrict s,
                         global const REAL *restrict r, global float *restrict d)
{
    FOR_EACH(i, n) d[i] = (float)(a * (S(i) r[i]));
}

// part[group] := sum of s_i r_i s_i r_i. Launch: kry_chunks_of(r).groups.
kernel void mixed_norm(long n ROWS_PARAMS, global const REAL *restrict s,
                       global const REAL *restrict r, global TOTAL *restrict part)
{
    local TOTAL lane[WG];
    TOTAL sum = NO_TOTAL;
    TAKE_ROWS(first)
    s += first, r += first;
    FOR_EACH_SUMMED(i, n)
    {
        REAL v = S(i) r[i];
        ADD_PRODUCT(sum, v, v);
    }
    sum = group_sum(sum, lane);
    if (get_local_id(0) == 0) part[get_group_id(0)] = sum;
}
