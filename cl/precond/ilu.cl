// ilu.cl - incomplete factors L D U of a matrix in compressed rows, on a device, and their triangles as
// matrices of their own.
// Host: src/precond/block_device.c.
//
// REAL is double. Columns ascend in each row; entries are found by halving a row, as in rows.clh. Rows have one
// work-item each.
//
// STORED  type of the triangles' numbers

#include "common/kry.clh"
#include "common/rows.clh"

#pragma OPENCL FP_CONTRACT OFF

// place[i]: where the diagonal entry of row i is. lower[i], upper[i]: how many entries are beside it. found[0] := 1 if
// there is none, or it is zero or no number; for symmetric matrices also if it is negative, or an entry differs
// from its mirror image by a bit. Words: some entries of each row, 3 written; symmetric: each entry twice.
kernel void ilu_places(int rows, int symmetric, global const int *restrict ptr,
                       global const int *restrict col, global const REAL *restrict val,
                       global int *restrict place, global int *restrict lower,
                       global int *restrict upper, global int *found)
{
    FOR_EACH(i, rows)
    {
        const int begin = ptr[i], end = ptr[i + 1], at = entry_of(ptr, col, (int)i, (int)i);
        int bad = at < 0 || !(symmetric ? val[at] > 0 : val[at] != 0) || !isfinite(val[at]);
        for (int e = begin; symmetric && e < end; e++) {
            const int mirror = entry_of(ptr, col, col[e], (int)i);
            bad |= mirror < 0 || !(val[mirror] == val[e]);
        }
        place[i] = at < 0 ? begin : at;
        lower[i] = at < 0 ? 0 : at - begin;
        upper[i] = at < 0 ? 0 : end - at - 1;
        if (bad) found[0] = 1;
    }
}

// to := A at the places of factors with fill, zeros at those that A has not. Words: each entry read, each place written.
kernel void ilu_spread(int rows, global const int *restrict A_ptr, global const int *restrict A_col,
                       global const REAL *restrict A, global const int *restrict ptr,
                       global const int *restrict col, global REAL *restrict to)
{
    FOR_EACH(i, rows)
    {
        int e = A_ptr[i];
        const int end = A_ptr[i + 1];
        for (int at = ptr[i], stop = ptr[i + 1]; at < stop; at++) {
            const int there = e < end && A_col[e] == col[at];
            to[at] = there ? A[e] : 0;
            e += there;
        }
    }
}

// to := A with (1 + shift) times its diagonal. Words: each entry, read and written.
kernel void ilu_start(int rows, ACC shift, global const int *restrict ptr,
                      global const int *restrict place, global const REAL *restrict val,
                      global REAL *restrict to)
{
    FOR_EACH(i, rows)
    {
        for (int e = ptr[i], end = ptr[i + 1]; e < end; e++)
            to[e] = e == place[i] ? val[e] * (1 + shift) : val[e];
    }
}

// One sweep: eliminate in each row of A with the rows of D U in `from`; to := that row of L and D U. With the rows of
// the factors themselves in `from` it is their definition, so that a row is right once the rows that it needs are.
// Words: each entry read and written, and for each entry of L a row of U.
kernel void ilu_sweep(int rows, ACC shift, global const int *restrict ptr,
                      global const int *restrict col, global const int *restrict place,
                      global const REAL *restrict val, global const REAL *restrict from,
                      global REAL *restrict to)
{
    FOR_EACH(i, rows)
    {
        const int end = ptr[i + 1], at = place[i];
        for (int e = ptr[i]; e < end; e++) to[e] = e == at ? val[e] * (1 + shift) : val[e];
        for (int e = ptr[i]; e < at; e++) {
            const int k = col[e], stop = ptr[k + 1];
            const REAL l = to[e] / from[place[k]];
            to[e] = l;
            int g = e + 1;
            for (int f = place[k] + 1; f < stop; f++) {
                while (g < end && col[g] < col[f]) g++;
                if (g < end && col[g] == col[f]) to[g] -= l * from[f];
            }
        }
    }
}

// found[0] := 1 if a pivot is not above `least` times the diagonal entry, in modulus or, symmetric, itself; found[1]: the
// largest change of the last sweep, in L, and in D U by the pivot; a float, which is in the same order as its
// bits. Words: each entry of both.
kernel void ilu_check(int rows, int symmetric, ACC least, global const int *restrict ptr,
                      global const int *restrict place, global const REAL *restrict val,
                      global const REAL *restrict from, global const REAL *restrict to,
                      global int *found)
{
    int bad = 0, most = 0;
    FOR_EACH(i, rows)
    {
        const int at = place[i], end = ptr[i + 1];
        const REAL pivot = to[at], size = fabs(pivot);
        REAL change = 0;
        bad |= !((symmetric ? pivot : size) > least * fabs(val[at]) && isfinite(pivot));
        for (int e = ptr[i]; e < at; e++) change = fmax(change, fabs(to[e] - from[e]));
        for (int e = at; e < end; e++) change = fmax(change, fabs(to[e] - from[e]) / size);
        bad |= !isfinite(change);
        most = max(most, as_int((float)change));
    }
    if (bad) found[0] = 1;
    if (most > found[1]) atomic_max(&found[1], most);
}

// A triangle as a matrix: upper 0: L; 1: U, with D^-1 of each row. Words: each entry of it read and written.
kernel void ilu_triangle(int rows, int above, global const int *restrict ptr,
                         global const int *restrict col, global const int *restrict place,
                         global const REAL *restrict factor, global const int *restrict to_ptr,
                         global int *restrict to_col, global STORED *restrict to)
{
    FOR_EACH(i, rows)
    {
        const int at = place[i], first = above ? at + 1 : ptr[i];
        const int count = to_ptr[i + 1] - to_ptr[i];
        for (int k = 0; k < count; k++) {
            const REAL v = factor[first + k];
            to_col[to_ptr[i] + k] = col[first + k];
            to[to_ptr[i] + k] = (STORED)(above ? v / factor[at] : v);
        }
    }
}

// d := the inverse pivots. Words: 2 read, 1 written.
kernel void ilu_inverse(int rows, global const int *restrict place,
                        global const REAL *restrict factor, global STORED *restrict d, long first)
{
    FOR_EACH(i, rows) d[first + i] = (STORED)(1 / factor[place[i]]);
}
