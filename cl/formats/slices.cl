// slices.cl - a matrix in compressed rows becomes one in sorted slices (sell.cl), and its numbers may become single.
// Host: src/matrix/slices.c.
//
// Columns ascend in each row. Windows of WINDOW rows are sorted by falling length, equal ones in their order, and cut
// into slices of C rows: position p of the sorted rows is lane p % C of slice p / C. With ALONG the first
// column of each row is stored in `head`, and for all of them the distance from the one before; JUMP stands for a distance of as
// much to the next slot, whose own number is zero. NONE marks padding.
//   REAL    of the numbers that are given, STORED of those that are kept, REST of the vectors
// COLUMN  type of the stored columns
// Kernels have a work-item for each row. CPUs do not run them.

#include "common/kry.clh"

#define C      32
#define WINDOW 256

#ifndef STORED
#define STORED REAL
#endif

#ifndef REST
#define REST REAL
#endif

#define JUMP 65534

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

// v := the number as it is kept; `lost` if it is too large or too small for that.
#define KEEP(given)                                                                     \
    STORED v = (STORED)(given);                                                         \
    lost |= sizeof(STORED) < sizeof(REAL) &&                                            \
            !(given == 0 || (fabs(given) >= FLT_MIN && fabs(given) <= FLT_MAX));

#ifdef COLUMN

// diagonal[i]: the slot of entry (i, i), -1 if there is none; with `square` only. Words: each column, read and written.
kernel void slices_columns(int rows, global const int *restrict ptr, global const int *restrict col,
                           global const int *restrict perm, global const int *restrict slice_ptr,
                           global int *restrict head, global COLUMN *restrict to, int square,
                           global int *restrict diagonal)
{
    FOR_EACH(p, rows)
    {
        int row = perm[p], e = ptr[row], end = ptr[row + 1], own = -1;
        int before = e < end ? col[e] : 0;
        head[p] = before;
        for (int k = slice_ptr[p / C] + (int)(p % C); k < slice_ptr[p / C + 1]; k += C) {
            COLUMN code = (COLUMN)NONE;
            if (e < end) {
                int j = col[e];
#ifdef ALONG
                bool jump = jumps(before, j) > 0;
                code = jump ? JUMP : (COLUMN)(j - before);
                before = jump ? before + JUMP : j;
#else
                bool jump = false;
                code = (COLUMN)j;
#endif
                if (!jump && j == row) own = k;
                e += !jump;
            }
            to[k] = code;
        }
        if (square) diagonal[row] = own;
    }
}

#ifdef ALONG
#define IS_JUMP(k) (code[k] == JUMP)
#else
#define IS_JUMP(k) false
#endif

// The numbers, which go to their slots; what rounding takes from each row goes to `rest`, if that is wanted, with which
// the row adds up to what it did. found[0] := 1 if a number is lost. Words: each number, read and written.
kernel void slices_numbers(int rows, global const int *restrict ptr, global const REAL *restrict val,
                           global const int *restrict perm, global const int *restrict slice_ptr,
                           global const COLUMN *restrict code, global STORED *restrict to, int rests, global REST *restrict rest,
                           global int *found)
{
    int lost = 0;
    FOR_EACH(p, rows)
    {
        int row = perm[p], e = ptr[row], end = ptr[row + 1];
        REAL sum = 0;
        for (int k = slice_ptr[p / C] + (int)(p % C); k < slice_ptr[p / C + 1]; k += C) {
            REAL given = 0;
            if (e < end && !IS_JUMP(k)) given = val[e++];
            KEEP(given)
            to[k] = v, sum += given - (REAL)v;
        }
        if (rests) rest[row] = (REST)sum;
    }
    if (lost) found[0] = 1;
}

#else

// The same for numbers that stay in compressed rows.
kernel void slices_round(int rows, global const int *restrict ptr, global const REAL *restrict val,
                         global STORED *restrict to, int rests, global REST *restrict rest,
                         global int *found)
{
    int lost = 0;
    FOR_EACH(row, rows)
    {
        REAL sum = 0;
        for (int e = ptr[row]; e < ptr[row + 1]; e++) {
            REAL given = val[e];
            KEEP(given)
            to[e] = v, sum += given - (REAL)v;
        }
        if (rests) rest[row] = (REST)sum;
    }
    if (lost) found[0] = 1;
}

#endif
