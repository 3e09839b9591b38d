// coarser.cl - matrices of the levels of algebraic multigrid: what the set-up asks of them, and how the
// Galerkin operator of a level is made fit for what comes below it.
// Host: src/amg/coarser.c.
//
// Matrices are in compressed rows with ascending columns; REAL is double. Entries are found by halving a
// row, as in rows.clh. Rows have one work-item each.

#include "common/kry.clh"
#include "common/rows.clh"

#pragma OPENCL FP_CONTRACT OFF

// d := the diagonal, 0 where there is none. Words: a few of each row, 1 written.
kernel void coarser_diagonal(int rows, global const int *restrict ptr,
                             global const int *restrict col, global const REAL *restrict val,
                             global REAL *restrict d)
{
    FOR_EACH(i, rows)
    {
        int e = entry_of(ptr, col, (int)i, (int)i);
        d[i] = e < 0 ? 0 : val[e];
    }
}

// found[0] := 1 if an entry differs from its mirror image by a bit, or a diagonal entry d is not positive
// and finite; found[1]: the length of the longest row; found[2]: the largest sum of |a_ij| / d_i over a row, and
// found[3], [4] the least and the largest positive d_i, floats, which are in the same order as their bits. Words: each entry
// and its mirror image.
kernel void coarser_check(int rows, global const int *restrict ptr, global const int *restrict col,
                          global const REAL *restrict val, global const REAL *restrict d,
                          global int *found)
{
    int longest = 0, bad = 0, bound = 0, least = INT_MAX, most = 0;
    FOR_EACH(i, rows)
    {
        int begin = ptr[i], end = ptr[i + 1], entry = as_int((float)d[i]);
        if (d[i] > 0) least = min(least, entry), most = max(most, entry);
        longest = max(longest, end - begin);
        REAL size = 0;
        bad |= !(d[i] > 0 && isfinite(d[i]) && isfinite(1 / d[i]));
        for (int e = begin; e < end; e++) {
            int mirror = col[e] == i ? e : entry_of(ptr, col, col[e], (int)i);
            bad |= mirror < 0 || !(val[mirror] == val[e]);
            size += fabs(val[e]);
        }
        bound = max(bound, as_int((float)(size / d[i])));
    }
    if (bad) found[0] = 1;
    if (longest > found[1]) atomic_max(&found[1], longest);
    if (bound > found[2]) atomic_max(&found[2], bound);
    if (least < found[3]) atomic_min(&found[3], least);
    if (most > found[4]) atomic_max(&found[4], most);
}

// rest[i] := what rounding to single takes from row i. Words: each number.
kernel void coarser_rest(int rows, global const int *restrict ptr, global const REAL *restrict val,
                         global float *restrict rest)
{
    FOR_EACH(i, rows)
    {
        REAL sum = 0;
        for (int e = ptr[i]; e < ptr[i + 1]; e++) sum += val[e] - (REAL)(float)val[e];
        rest[i] = (float)sum;
    }
}

// The upper triangle := the lower one. Words: half of the entries and their mirror images.
#ifdef KRY_CPU

// A group takes rows in ascending order, and so the entries of row j that are mirror images in ascending order, too. next, rows
// of it for a group: where the next one is in row j; -1: it has to be found.
kernel void coarser_mirror(int rows, global const int *restrict ptr, global const int *restrict col,
                           global REAL *val, global int *next)
{
    global int *of = next + (long)get_group_id(0) * rows;
    for (int j = 0; j < rows; j++) of[j] = -1;
    FOR_EACH(i, rows)
    {
        int e = ptr[i + 1] - 1;
        while (e >= ptr[i] && col[e] > i) e--;
        for (e++; e < ptr[i + 1]; e++) {
            int j = col[e];
            if (of[j] < 0) of[j] = entry_of(ptr, col, j, (int)i);
            val[e] = val[of[j]++];
        }
    }
}

#else

// LANES work-items beside each other have a row.
#define LANES 8
kernel void coarser_mirror(int rows, global const int *restrict ptr, global const int *restrict col,
                           global REAL *val)
{
    FOR_EACH(item, (long)rows * LANES)
    {
        int i = (int)(item / LANES);
        for (int e = ptr[i + 1] - 1 - (int)(item % LANES); e >= ptr[i] && col[e] > i; e -= LANES)
            val[e] = val[entry_of(ptr, col, col[e], i)];
    }
}

#endif

// Coarse unknowns whose basis function p is zero or is mapped to zero are marked `alone`, and found[1]
// becomes 1; found[0] becomes the first one of which p'Ap is negative or no number. `fine` is the diagonal of
// the finer matrix, with which p'Dp is what p'Ap, the coarse diagonal, is measured by. Words: R's.
kernel void coarser_regularise(int rows, REAL rounding, global const int *restrict r_ptr,
                               global const int *restrict r_col, global const REAL *restrict r_val,
                               global const REAL *restrict fine, global const int *restrict ptr,
                               global const REAL *restrict coarse, global int *restrict alone,
                               global int *found)
{
    FOR_EACH(i, rows)
    {
        REAL size = 0, entry = coarse[i];
        for (int e = r_ptr[i], end = r_ptr[i + 1]; e < end; e++)
            size += r_val[e] * r_val[e] * fine[r_col[e]];
        if (!(isfinite(entry) && entry >= -100 * rounding * size)) atomic_min(&found[0], (int)i);
        alone[i] = entry <= rounding * size && ptr[i + 1] > ptr[i];
        if (alone[i]) found[1] = 1;
    }
}

// Unknowns that are alone get an equation of their own. Words: each entry.
kernel void coarser_decouple(int rows, global const int *restrict ptr,
                             global const int *restrict col, global const int *restrict alone,
                             global REAL *restrict val, global REAL *restrict d)
{
    FOR_EACH(i, rows)
    {
        for (int e = ptr[i], end = ptr[i + 1]; e < end; e++)
            if (alone[i] || alone[col[e]]) val[e] = col[e] == i;
        if (alone[i]) d[i] = 1;
    }
}

// ---- matrices with fewer entries ----

// Whether entry e of row i is kept: it is at least `least`, or it is on the diagonal of a matrix that is to keep that.
bool is_kept(int i, int e, int square, REAL least, global const int *col, global const REAL *val)
{
    return fabs(val[e]) >= least || (square && col[e] == i);
}

// `drop` of the largest entry of row i.
REAL least_of(int i, REAL drop, global const int *ptr, global const REAL *val)
{
    REAL most = 0;
    for (int e = ptr[i]; e < ptr[i + 1]; e++) most = fmax(most, fabs(val[e]));
    return drop * most;
}

// The lengths of rows without the entries below `drop` of the largest one; square: all have a diagonal entry. Words: each
// entry twice.
kernel void coarser_kept_lengths(int rows, int square, REAL drop, global const int *restrict ptr,
                                 global const int *restrict col, global const REAL *restrict val,
                                 global int *restrict length)
{
    FOR_EACH(i, rows)
    {
        const REAL least = least_of((int)i, drop, ptr, val);
        int count = 0, diagonal = !square;
        for (int e = ptr[i]; e < ptr[i + 1]; e++)
            if (is_kept((int)i, e, square, least, col, val)) count++, diagonal |= col[e] == i;
        length[i] = count + !diagonal;
    }
}

// Their columns. Words: each entry twice, and each column that is kept.
kernel void coarser_kept_columns(int rows, int square, REAL drop, global const int *restrict ptr,
                                 global const int *restrict col, global const REAL *restrict val,
                                 global const int *restrict to_ptr, global int *restrict to)
{
    FOR_EACH(i, rows)
    {
        const REAL least = least_of((int)i, drop, ptr, val);
        int f = to_ptr[i], missing = square;
        for (int e = ptr[i]; e < ptr[i + 1]; e++) {
            if (missing && col[e] >= i) {
                if (col[e] > i) to[f++] = (int)i;
                missing = 0;
            }
            if (is_kept((int)i, e, square, least, col, val)) to[f++] = col[e];
        }
        if (missing) to[f] = (int)i;
    }
}

// to_val := the numbers at these columns; square: the diagonal has the sum of the others besides, and where nothing would be
// left of it the sum of the row's absolute values, or 1. Words: each entry, and each that is kept.
kernel void coarser_kept_numbers(int rows, int square, global const int *restrict ptr,
                                 global const int *restrict col, global const REAL *restrict val,
                                 global const int *restrict to_ptr, global const int *restrict to,
                                 global REAL *restrict to_val)
{
    FOR_EACH(i, rows)
    {
        int e = ptr[i], diagonal = -1;
        const int end = ptr[i + 1];
        REAL rest = 0, size = 0;
        for (int f = to_ptr[i]; f < to_ptr[i + 1]; f++) {
            for (; e < end && col[e] < to[f]; e++) rest += val[e], size += fabs(val[e]);
            const bool there = e < end && col[e] == to[f];
            const REAL v = there ? val[e] : 0;
            e += there, size += fabs(v);
            to_val[f] = v;
            if (to[f] == i) diagonal = f;
        }
        for (; e < end; e++) rest += val[e], size += fabs(val[e]);
        if (!square) continue;
        const REAL d = to_val[diagonal] + rest;
        to_val[diagonal] = fabs(d) > (REAL)1e-13 * size ? d : size > 0 ? size : 1;
    }
}
