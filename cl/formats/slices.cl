// slices.cl - a matrix in compressed rows becomes one in sorted slices (sell.cl), and its numbers may become single.
// Host: src/matrix/slices.c.
//
// Columns ascend in each row. Windows of WINDOW rows are sorted by falling length, equal ones in their order, and cut
// into slices of C rows: position p of the sorted rows is lane p % C of slice p / C. The first
// column of each row may be stored in `head`, and for all of them the distance from the one before; JUMP stands for a distance of as
// much to the next slot, whose own number is zero. NONE marks padding.
// `narrow`: columns are these distances, of 16 bits; else they are ints, and there are no jumps.
//   REAL    of the numbers that are given. Those that are kept are singles if `rounds`, else REAL, and those of vectors
//           are singles if `singles`, else REAL
// Kernels have a work-item for each row. CPUs do not run them.

#include "common/kry.clh"

#define C      32
#define WINDOW 256

#define JUMP        65534
#define NONE        -1
#define NARROW_NONE 65535

// Jumps between two columns.
int jumps(int before, int column) { return (column - before) / JUMP; }

// length[i]: slots of row i, with jumps if `narrow`; found[0]: how many jumps there are. Words: each column.
kernel void slices_lengths(int rows, global const int *restrict ptr, global const int *restrict col,
                           int narrow, global int *restrict length, global int *found)
{
    int all = 0;
    FOR_EACH(i, rows)
    {
        int begin = ptr[i], end = ptr[i + 1], more = 0;
        for (int e = begin + 1; e < end && narrow; e++) more += jumps(col[e - 1], col[e]);
        length[i] = end - begin + more;
        all += more;
    }
    if (all) atomic_add(&found[0], all);
}

// perm[p]: the row at position p; slots[s]: numbers of slice s, with padding. Words: lengths, perm.
kernel void slices_sort(int rows, global const int *restrict lengths, global int *restrict perm,
                        global int *restrict slots)
{
    local int length[WINDOW];
    for (long first = (long)get_group_id(0) * WINDOW; first < rows;
         first += (long)get_num_groups(0) * WINDOW) {
        int here = (int)min((long)WINDOW, rows - first);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int l = get_local_id(0); l < WINDOW; l += WG)
            length[l] = l < here ? lengths[first + l] : -1;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int l = get_local_id(0); l < here; l += WG) {
            int mine = length[l], rank = 0;
            for (int u = 0; u < WINDOW; u += 4) {
                int4 other = vload4(0, length + u), at = (int4)(u, u + 1, u + 2, u + 3);
                int4 before = (other > mine) | ((other == mine) & (at < l)); // true is -1
                rank -= before.s0 + before.s1 + before.s2 + before.s3;
            }
            perm[first + rank] = (int)first + l;
            if (rank % C == 0) slots[(first + rank) / C] = C * mine;
        }
    }
}

// to[k] := a number of REAL, or as a single. Return what it is then.
REAL store(REAL given, int rounds, global void *to, long k)
{
    if (!rounds) return ((global REAL *)to)[k] = given;
    ((global float *)to)[k] = (float)given;
    return (REAL)(float)given;
}

// Whether a number is too large or too small for a single.
int is_lost(REAL given)
{
    return !(given == 0 || (fabs(given) >= FLT_MIN && fabs(given) <= FLT_MAX));
}

// diagonal[i]: the slot of entry (i, i), -1 if there is none; with `square` only. Words: each column, read and written.
kernel void slices_columns(int rows, global const int *restrict ptr, global const int *restrict col,
                           global const int *restrict perm, global const int *restrict slice_ptr, int narrow,
                           global int *restrict head, global void *restrict to, int square,
                           global int *restrict diagonal)
{
    FOR_EACH(p, rows)
    {
        int row = perm[p], e = ptr[row], end = ptr[row + 1], own = -1;
        int before = e < end ? col[e] : 0;
        head[p] = before;
        for (int k = slice_ptr[p / C] + (int)(p % C); k < slice_ptr[p / C + 1]; k += C) {
            int code = narrow ? NARROW_NONE : NONE;
            if (e < end) {
                int j = col[e];
                bool jump = narrow && jumps(before, j) > 0;
                code = jump ? JUMP : narrow ? j - before : j;
                before = jump ? before + JUMP : j;
                if (!jump && j == row) own = k;
                e += !jump;
            }
            if (narrow)
                ((global ushort *)to)[k] = (ushort)code;
            else
                ((global int *)to)[k] = code;
        }
        if (square) diagonal[row] = own;
    }
}

// The numbers, which go to their slots; what rounding takes from each row goes to `rest`, if that is wanted, with which
// the row adds up to what it did. found[0] := 1 if a number is lost. Words: each number, read and written.
kernel void slices_numbers(int rows, global const int *restrict ptr, global const REAL *restrict val,
                           global const int *restrict perm, global const int *restrict slice_ptr, int narrow,
                           global const void *restrict code, int rounds, global void *restrict to, int rests,
                           int singles, global void *restrict rest, global int *found)
{
    int lost = 0;
    FOR_EACH(p, rows)
    {
        int row = perm[p], e = ptr[row], end = ptr[row + 1];
        REAL sum = 0;
        for (int k = slice_ptr[p / C] + (int)(p % C); k < slice_ptr[p / C + 1]; k += C) {
            REAL given = 0;
            if (e < end && !(narrow && ((global const ushort *)code)[k] == JUMP)) given = val[e++];
            sum += given - store(given, rounds, to, k);
            lost |= rounds && is_lost(given);
        }
        if (rests) store(sum, singles, rest, row);
    }
    if (lost) found[0] = 1;
}

// Round numbers that stay in compressed rows.
kernel void slices_round(int rows, global const int *restrict ptr, global const REAL *restrict val, int rounds,
                         global void *restrict to, int rests, int singles, global void *restrict rest,
                         global int *found)
{
    int lost = 0;
    FOR_EACH(row, rows)
    {
        REAL sum = 0;
        for (int e = ptr[row]; e < ptr[row + 1]; e++) {
            REAL given = val[e];
            sum += given - store(given, rounds, to, e);
            lost |= rounds && is_lost(given);
        }
        if (rests) store(sum, singles, rest, row);
    }
    if (lost) found[0] = 1;
}
