// slices.cl - a matrix in compressed rows becomes one in sorted slices (sell.cl), and its numbers may become single.
// Host: src/matrix/slices.c.
//
// Columns ascend in each row. Windows of WINDOW rows are sorted by falling length, equal ones in their order, and cut
// into slices of C rows: position p of the sorted rows is lane p % C of slice p / C. With ALONG a column is stored as
// its distance from the one before it in the row, the first one of a row as that from the least first column in its
// slice; NONE marks padding.
//   REAL    of the numbers that are given, STORED of those that are kept
// Kernels that walk rows have a work-item for each. WG is a multiple of C, but on CPUs, which do not run these.

#define C      32
#define WINDOW 256

#ifndef STORED
#define STORED REAL
#endif

// perm[p]: the row at position p; slots[s]: numbers of slice s, with padding. Words: the offsets, perm.
kernel void slices_sort(int rows, global const int *restrict ptr, global int *restrict perm,
                        global int *restrict slots)
{
    local int length[WINDOW];
    for (long first = (long)get_group_id(0) * WINDOW; first < rows;
         first += (long)get_num_groups(0) * WINDOW) {
        int here = (int)min((long)WINDOW, rows - first);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int l = get_local_id(0); l < WINDOW; l += WG)
            length[l] = l < here ? ptr[first + l + 1] - ptr[first + l] : -1;
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

// first[s]: the least first column in slice s; found[0]: the largest distance that ALONG would store. Words: each
// column.
kernel void slices_reach(int rows, global const int *restrict ptr, global const int *restrict col,
                         global const int *restrict perm, global int *restrict first, global int *found)
{
    local int head[WG < C ? C : WG];
    int l = get_local_id(0), farthest = 0;
    for (long base = (long)get_group_id(0) * WG; base < rows; base += (long)get_num_groups(0) * WG) {
        long p = base + l;
        int e = p < rows ? ptr[perm[p]] : 0, end = p < rows ? ptr[perm[p] + 1] : 0, least = INT_MAX;
        barrier(CLK_LOCAL_MEM_FENCE);
        head[l] = e < end ? col[e] : INT_MAX;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int u = l / C * C; u < l / C * C + C; u++) least = min(least, head[u]);
        if (p < rows && p % C == 0) first[p / C] = least < INT_MAX ? least : 0;
        for (int before = least; e < end; e++) {
            farthest = max(farthest, col[e] - before);
            before = col[e];
        }
    }
    if (farthest > found[0]) atomic_max(&found[0], farthest);
}

#ifdef COLUMN
#ifdef ALONG
#define STORE_COLUMN(j) (COLUMN)((j) - before)
#else
#define STORE_COLUMN(j) (COLUMN)(j)
#endif

// diagonal[i]: the slot of entry (i, i), -1 if there is none; with `square` only. Words: each column, read and written.
kernel void slices_columns(int rows, global const int *restrict ptr, global const int *restrict col,
                           global const int *restrict perm, global const int *restrict slice_ptr,
                           global const int *restrict first, global COLUMN *restrict to, int square,
                           global int *restrict diagonal)
{
    FOR_EACH(p, rows)
    {
        int row = perm[p], e = ptr[row], end = ptr[row + 1], before = first[p / C], own = -1;
        for (int k = slice_ptr[p / C] + (int)(p % C); k < slice_ptr[p / C + 1]; k += C, e++) {
            int j = e < end ? col[e] : -1;
            to[k] = j < 0 ? (COLUMN)NONE : STORE_COLUMN(j);
            if (j == row) own = k;
            before = j;
        }
        if (square) diagonal[row] = own;
    }
}
#endif

// v := the number as it is kept; `lost` if it is too large or too small for that.
#define KEEP(given)                                                                     \
    STORED v = (STORED)(given);                                                         \
    lost |= sizeof(STORED) < sizeof(REAL) &&                                            \
            !(given == 0 || (fabs(given) >= FLT_MIN && fabs(given) <= FLT_MAX));

// The numbers, which go to their slots; what rounding takes from each row goes to `rest`, if that is wanted, with which
// the row adds up to what it did. found[0] := 1 if a number is lost. Words: each number, read and written.
kernel void slices_numbers(int rows, global const int *restrict ptr, global const REAL *restrict val,
                           global const int *restrict perm, global const int *restrict slice_ptr,
                           global STORED *restrict to, int rests, global REAL *restrict rest,
                           global int *found)
{
    int lost = 0;
    FOR_EACH(p, rows)
    {
        int row = perm[p], e = ptr[row], end = ptr[row + 1];
        REAL sum = 0;
        for (int k = slice_ptr[p / C] + (int)(p % C); k < slice_ptr[p / C + 1]; k += C, e++) {
            REAL given = e < end ? val[e] : 0;
            KEEP(given)
            to[k] = v, sum += given - (REAL)v;
        }
        if (rests) rest[row] = sum;
    }
    if (lost) found[0] = 1;
}

// The same for numbers that stay in compressed rows.
kernel void slices_round(int rows, global const int *restrict ptr, global const REAL *restrict val,
                         global STORED *restrict to, int rests, global REAL *restrict rest,
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
        if (rests) rest[row] = sum;
    }
    if (lost) found[0] = 1;
}
