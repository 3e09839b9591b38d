// labels.cl - from a label for each of n unknowns to Z as a matrix, and to the pieces that deflation.cl sums.
// Host: src/precond/labels_device.c.

#include "common/kry.clh"

// to := the labels in 16 bits
kernel void labels_narrow(long n, global const int *restrict label, global ushort *restrict to)
{
    FOR_EACH(i, n) to[i] = (ushort)label[i];
}

// ptr := 0 ... n, the rows of a matrix with one entry in each
kernel void labels_rows(long n, global int *restrict ptr)
{
    FOR_EACH(i, n + 1) ptr[i] = (int)i;
}

// The columns and numbers of Z, for labels of 16 bits, `narrow`, or ints; the other is NULL.
kernel void labels_entries(long n, global const ushort *restrict narrow, global const int *restrict label,
                           global int *restrict col, global REAL *restrict val)
{
    FOR_EACH(i, n) col[i] = narrow ? narrow[i] : label[i], val[i] = 1;
}

// ---- pieces: up to PIECE neighbours of one label, between two multiples of PIECE ----

#define PIECE 8

kernel void pieces_count(long n, global const int *restrict label, global int *restrict count)
{
    FOR_EACH(b, (n + PIECE - 1) / PIECE)
    {
        int pieces = 1;
        for (long i = b * PIECE + 1; i < min(b * PIECE + PIECE, n); i++)
            pieces += label[i] != label[i - 1];
        count[b] = pieces;
    }
}

// In the order of unknowns: the label, first unknown and length of each.
kernel void pieces_find(long n, global const int *restrict label, global const int *restrict first,
                        global int *restrict of, global int *restrict start,
                        global uchar *restrict length)
{
    FOR_EACH(b, (n + PIECE - 1) / PIECE)
    {
        const long end = min(b * PIECE + PIECE, n);
        int at = first[b];
        for (long i = b * PIECE, j; i < end; i = j) {
            for (j = i + 1; j < end && label[j] == label[i]; j++)
                ;
            of[at] = label[i], start[at] = (int)i, length[at] = (uchar)(j - i);
            at++;
        }
    }
}

// The p-th piece by labels is the place[p]-th by unknowns.
kernel void pieces_sort(long count, global const int *restrict place,
                        global const int *restrict start, global const uchar *restrict length,
                        global int *restrict to_start, global uchar *restrict to_length)
{
    FOR_EACH(p, count) to_start[p] = start[place[p]], to_length[p] = length[place[p]];
}

// ---- blocks of a grid, split by the level of the cell's coefficient ----

// Exponents of numbers in REAL, as indices
#define EXPONENTS    2200
#define EXPONENT(v)  clamp(ilogb(v) + EXPONENTS / 2, 0, EXPONENTS - 1)

kernel void levels_exponents(long n, global const REAL *restrict kappa, global int *used)
{
    FOR_EACH(i, n) used[EXPONENT(kappa[i])] = 1;
}

// Of the numbers of each group: the largest with an exponent up to this one, and the least of the others.
kernel void levels_border(long n, global const REAL *restrict kappa, int exponent,
                          global REAL *restrict part)
{
    local REAL lows[WG], highs[WG];
    const int l = get_local_id(0);
    REAL low = 0, high = (REAL)INFINITY;
    FOR_EACH(i, n)
    {
        const REAL v = kappa[i];
        if (EXPONENT(v) <= exponent)
            low = fmax(low, v);
        else
            high = fmin(high, v);
    }
    lows[l] = low, highs[l] = high;
    for (int step = WG / 2; step > 0; step /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < step) {
            lows[l] = fmax(lows[l], lows[l + step]);
            highs[l] = fmin(highs[l], highs[l + step]);
        }
    }
    if (l == 0) part[2 * get_group_id(0)] = lows[0], part[2 * get_group_id(0) + 1] = highs[0];
}

// The key of cell i: its block, of bx * by * bz cells and `across` and `down` in a layer, and its level of `levels`
#define KEY_PARAMS                                                                              \
    int nx, int ny, int nz, int bx, int by, int bz, int across, int down, int levels,           \
        global const int *restrict level, global const REAL *restrict kappa
#define KEY_PASS nx, ny, nz, bx, by, bz, across, down, levels, level, kappa
int key_of(int i, KEY_PARAMS)
{
    const int x = i % nx, y = i / nx % ny, z = i / nx / ny;
    const int block = x / bx + across * (y / by + down * (z / bz));
    return levels > 1 ? block * levels + level[EXPONENT(kappa[i])] : block;
}

// first := the first cell of each key, where it was larger
kernel void blocks_first(KEY_PARAMS, global int *first)
{
    FOR_EACH(p, (long)nx * ny * nz)
    {
        const int i = (int)p;
        global int *to = first + key_of(i, KEY_PASS);
        if (*to > i) atomic_min(to, i);
    }
}

kernel void blocks_label(KEY_PARAMS, global const int *restrict number, global int *restrict label)
{
    FOR_EACH(p, (long)nx * ny * nz)
    {
        const int i = (int)p;
        label[i] = number[key_of(i, KEY_PASS)];
    }
}
