// smoothed.cl - the prolongation of smoothed aggregation: tentative, and the matrix S = I - omega D^-1 F
// that smoothes it.
// Host: src/amg/device_smoothed.c.
//
// F is A, or A without its weak couplings, which are added to the diagonal. Matrices are in compressed rows
// with ascending columns; REAL is double. Rows have one work-item each.

#include "common/kry.clh"

#pragma OPENCL FP_CONTRACT OFF

// The tentative prolongation of constants: a one for each node that is in an aggregate.
kernel void tentative_lengths(int rows, global const int *restrict aggregate,
                              global int *restrict length)
{
    FOR_EACH(i, rows) length[i] = aggregate[i] >= 0;
}

kernel void tentative_entries(int rows, global const int *restrict aggregate,
                              global const int *restrict ptr, global int *restrict col,
                              global REAL *restrict val)
{
    FOR_EACH(i, rows)
    {
        if (aggregate[i] >= 0) col[ptr[i]] = aggregate[i], val[ptr[i]] = 1;
    }
}

// Adds the entries of A that are not in F, whose places in A are `place`, to F's diagonal; d := that, or A's
// own where little is left of it. Words: A's and F's entries, 1 written.
kernel void filter_diagonal(int rows, global const int *restrict a_ptr,
                            global const REAL *restrict a_val, global const int *restrict ptr,
                            global const int *restrict col, global const int *restrict place,
                            global REAL *restrict val, global REAL *restrict d)
{
    FOR_EACH(i, rows)
    {
        const REAL least = (REAL)0.1; // of the diagonal, for a step of Jacobi to be divided by it
        REAL weak = 0;
        int f = ptr[i], end = ptr[i + 1], at = f;
        for (int e = a_ptr[i]; e < a_ptr[i + 1]; e++) {
            if (f == end || place[f] != e) {
                weak += a_val[e];
                continue;
            }
            if (col[f] == i) at = f;
            f++;
        }
        REAL entry = val[at], lumped = entry + weak;
        val[at] = lumped;
        d[i] = lumped >= least * entry ? lumped : entry;
    }
}

// S := I - omega D^-1 F; val may be F's. Words: F's entries, as many written, d.
kernel void smoother_values(int rows, REAL omega, global const int *restrict ptr,
                            global const int *restrict col, global const REAL *restrict d,
                            global const REAL *f_val, global REAL *val)
{
    FOR_EACH(i, rows)
    {
        REAL step = omega / d[i];
        for (int e = ptr[i], end = ptr[i + 1]; e < end; e++)
            val[e] = (REAL)(col[e] == i) - step * f_val[e];
    }
}

// s := d^-1/2
kernel void inverse_root(int rows, global const REAL *restrict d, global REAL *restrict s)
{
    FOR_EACH(i, rows) s[i] = 1 / sqrt(d[i]);
}
