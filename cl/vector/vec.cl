// vec.cl - elementwise work and sums on dense vectors.
// Host: src/vector/vec.c, reduce.c.  Launch: kryi_groups_for(n) groups of WG.
// Each vector is a buffer and the element it starts at; the host asks for KRY_UNALIGNED when one
// of those is no multiple of VW. Sums: one partial sum per group, kryi_chunks_of(v).groups of them.

#include "common/kry.clh"

#define AXPBY(x, y) (rb == 0 ? ra * (x) : ra * (x) + rb * (y)) // with b == 0, y is not read

#pragma kry part of most solves

kernel void vec_fill(long n, ACC value, global REAL *y, long y0)
{
    y += y0;
    FOR_VEC(i, n) store_vector((VEC)((REAL)value), i, y);
    FOR_TAIL(i, n) y[i] = (REAL)value;
}

kernel void vec_copy(long n, global const REAL *x, long x0, global REAL *y, long y0)
{
    x += x0, y += y0;
    FOR_VEC(i, n) store_vector(load_vector(x, i), i, y);
    FOR_TAIL(i, n) y[i] = x[i];
}

// y := a x + b y; with b == 0, y is not read.
kernel void vec_axpby(long n, ACC a, global const REAL *x, long x0, ACC b, global REAL *y, long y0)
{
    REAL ra = (REAL)a, rb = (REAL)b;
    x += x0, y += y0;
    FOR_VEC(i, n) store_vector(AXPBY(load_vector(x, i), load_vector(y, i)), i, y);
    FOR_TAIL(i, n) y[i] = AXPBY(x[i], y[i]);
}

// part[group] := sum of x_i y_i
kernel void vec_dot(long n ROWS_PARAMS, global const REAL *restrict x, long x0,
                    global const REAL *restrict y, long y0, global TOTAL *restrict part)
{
    local TOTAL lane[WG];
    TOTALV s = NO_TOTALV;
    TOTAL t = NO_TOTAL;
    TAKE_ROWS(first)
    x += x0 + first, y += y0 + first;
    FOR_VEC_SUMMED(i, n) ADD_PRODUCTV(s, load_vector(x, i), load_vector(y, i));
    FOR_TAIL_SUMMED(i, n) ADD_PRODUCT(t, x[i], y[i]);
    TOTAL sum = group_sum(ALL_LANES(s, t), lane);
    if (get_local_id(0) == 0) part[get_group_id(0)] = sum;
}

// part[group] := sums of (x_i y_i, x_i x_i)
kernel void vec_dot_pair(long n ROWS_PARAMS, global const REAL *restrict x, long x0,
                         global const REAL *restrict y, long y0, global TOTAL2 *restrict part)
{
    local TOTAL2 lane[WG];
    TOTALV sxy = NO_TOTALV, sxx = NO_TOTALV;
    TOTAL txy = NO_TOTAL, txx = NO_TOTAL;
    TAKE_ROWS(first)
    x += x0 + first, y += y0 + first;
    FOR_VEC_SUMMED(i, n)
    {
        VEC xi = load_vector(x, i);
        ADD_PRODUCTV(sxy, xi, load_vector(y, i));
        ADD_PRODUCTV(sxx, xi, xi);
    }
    FOR_TAIL_SUMMED(i, n)
    {
        ADD_PRODUCT(txy, x[i], y[i]);
        ADD_PRODUCT(txx, x[i], x[i]);
    }
    TOTAL2 sum = group_sum2(BOTH(ALL_LANES(sxy, txy), ALL_LANES(sxx, txx)), lane);
    if (get_local_id(0) == 0) part[get_group_id(0)] = sum;
}

// y := a d .* x + b y; with b == 0, y is not read.
kernel void vec_mul(long n, ACC a, global const REAL *d, long d0, global const REAL *x, long x0,
                    ACC b, global REAL *y, long y0)
{
    REAL ra = (REAL)a, rb = (REAL)b;
    d += d0, x += x0, y += y0;
    FOR_VEC(i, n) store_vector(AXPBY(load_vector(d, i) * load_vector(x, i), load_vector(y, i)), i, y);
    FOR_TAIL(i, n) y[i] = AXPBY(d[i] * x[i], y[i]);
}

#pragma kry part diagonals, numbers of other kinds

// z := y + a x
kernel void vec_triad(long n, ACC a, global const REAL *x, long x0, global const REAL *y, long y0,
                      global REAL *z, long z0)
{
    REAL ra = (REAL)a;
    x += x0, y += y0, z += z0;
    FOR_VEC(i, n) store_vector(load_vector(y, i) + ra * load_vector(x, i), i, z);
    FOR_TAIL(i, n) z[i] = y[i] + ra * x[i];
}

// found[0] := 1 if a number or its inverse is not finite.
kernel void vec_pivots(long n, global const REAL *x, long x0, global int *found)
{
    FOR_EACH(i, n)
    {
        REAL v = x[x0 + i];
        if (!isfinite(v) || !isfinite(1 / v)) found[0] = 1;
    }
}

// x := 1 / x
kernel void vec_invert(long n, global REAL *x, long x0)
{
    x += x0;
    FOR_VEC(i, n) store_vector((REAL)1 / load_vector(x, i), i, x);
    FOR_TAIL(i, n) x[i] = (REAL)1 / x[i];
}

// found := at least the bits, as a float, of the largest |x_i| and of the largest 1 / |x_i|, without zeros
kernel void vec_range(long n, global const REAL *restrict x, long x0, global int *found)
{
    float large = 0, inverse = 0;
    FOR_EACH(i, n)
    {
        const REAL v = fabs(x[x0 + i]);
        if (v == 0) continue;
        large = fmax(large, (float)v);
        inverse = fmax(inverse, (float)(1 / v));
    }
    if (large == 0) return;
    atomic_max(&found[0], as_int(large));
    atomic_max(&found[1], as_int(inverse));
}

// y := a x, rounded to single
kernel void vec_round(long n, ACC a, global const REAL *restrict x, long x0, global float *restrict y)
{
    FOR_EACH(i, n) y[i] = (float)(a * x[x0 + i]);
}

// y := random numbers in [-1/2, 1/2), as kry_random_unit has them: a whole number of 53 bits, rounded once.
kernel void vec_random(long n, ulong key, global REAL *y, long y0)
{
    y += y0;
    FOR_EACH(i, n)
    {
        ulong z = key + (ulong)i + 0x9e3779b97f4a7c15UL;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9UL;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebUL;
        z ^= z >> 31;
        y[i] = (REAL)((long)(z >> 11) - (1L << 52)) * (REAL)0x1p-53f;
    }
}
