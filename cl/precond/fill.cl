// fill.cl - places of incomplete factors with levels of fill, in compressed rows whose columns ascend.
// Host: src/precond/block_device.c.
//
// REAL is double. A place of level m has the number 2^(-BITS (m + 1)), the diagonal of a triangle 1; of sums of such
// numbers, fewer than 2^(BITS - 1), the largest tells the least level. Rows have one work-item each.

#include "common/kry.clh"

#define BITS 32

// level + 1; 0: the diagonal
int rank_of(REAL v) { return (BITS - 1 - ilogb(v)) / BITS; }

// numbers := those of level 0. Words: 1 written for each entry.
kernel void fill_start(int entries, global REAL *restrict numbers)
{
    FOR_EACH(e, entries) numbers[e] = ldexp((REAL)1, -BITS);
}

// Entries of each row of I + L and of I + U. Words: the columns; 2 written.
kernel void fill_lengths(int rows, global const int *restrict ptr, global const int *restrict col,
                         global int *restrict lower, global int *restrict upper)
{
    FOR_EACH(i, rows)
    {
        int below = 0, above = 0;
        for (int e = ptr[i], end = ptr[i + 1]; e < end; e++) below += col[e] < i, above += col[e] > i;
        lower[i] = below + 1, upper[i] = above + 1;
    }
}

// Products that make each row of (I + L) (I + U), up to 2^31 - 1. Words: the columns of I + L, and 1 gathered for each; 1 written.
kernel void fill_products(int rows, global const int *restrict lower_ptr,
                          global const int *restrict lower_col, global const int *restrict upper_ptr,
                          global int *restrict products)
{
    FOR_EACH(i, rows)
    {
        long count = 0;
        for (int e = lower_ptr[i], end = lower_ptr[i + 1]; e < end; e++) {
            const int k = lower_col[e];
            count += upper_ptr[k + 1] - upper_ptr[k];
        }
        products[i] = (int)min(count, (long)INT_MAX);
    }
}

// I + L, or `above` I + U. Words: each entry read; those of the triangle written.
kernel void fill_triangle(int rows, int above, global const int *restrict ptr,
                          global const int *restrict col, global const REAL *restrict numbers,
                          global const int *restrict to_ptr, global int *restrict to_col,
                          global REAL *restrict to)
{
    FOR_EACH(i, rows)
    {
        int at = to_ptr[i];
        const int diagonal = above ? at : to_ptr[i + 1] - 1;
        at += above;
        for (int e = ptr[i], end = ptr[i + 1]; e < end; e++) {
            if (above ? col[e] <= i : col[e] >= i) continue;
            to_col[at] = col[e], to[at++] = numbers[e];
        }
        to_col[diagonal] = (int)i, to[diagonal] = 1;
    }
}

// How many entries of each row have a level up to `most`. Words: each entry read; 1 written.
kernel void fill_count(int rows, int most, global const int *restrict ptr,
                       global const REAL *restrict numbers, global int *restrict length)
{
    FOR_EACH(i, rows)
    {
        int count = 0;
        for (int e = ptr[i], end = ptr[i + 1]; e < end; e++) count += rank_of(numbers[e]) <= most + 1;
        length[i] = count;
    }
}

// These, each with the number of its level. Words: each entry read; those kept written.
kernel void fill_keep(int rows, int most, global const int *restrict ptr,
                      global const int *restrict col, global const REAL *restrict numbers,
                      global const int *restrict to_ptr, global int *restrict to_col,
                      global REAL *restrict to)
{
    FOR_EACH(i, rows)
    {
        int at = to_ptr[i];
        for (int e = ptr[i], end = ptr[i + 1]; e < end; e++) {
            const int rank = rank_of(numbers[e]);
            if (rank > most + 1) continue;
            to_col[at] = col[e], to[at++] = ldexp((REAL)1, -BITS * rank);
        }
    }
}
