// transpose.cl - transposes of matrices in compressed rows, and how lengths of rows become offsets.
// Host: src/matrix/transpose.c.
//
// Columns ascend in each row of A, and so they do in T = A'; `from` is the place in A of each entry of
// T, so that new numbers are one pass. The result does not depend on who comes first.
//   CPU  a group has a row of `scratch`, in which it counts the entries of its rows of A by their
//        columns, and then keeps where in T its next entry of each column goes
//   GPU  lengths of columns are counted by atomics on integers; the row of each entry goes to the next
//        free place of its column, and then rows are sorted. The rank of a row among those of its
//        column is how many are less. `lanes` work-items have a column; one that is too long for that
//        has the whole group, and if it is longer than counting is worth, A is walked for it, row by row
// Entries are found as in rows.clh.

#include "common/kry.clh"
#include "common/rows.clh"

#ifdef KRY_CPU

kernel void transpose_lengths(int rows, int cols, global const int *restrict ptr,
                              global const int *restrict col, global int *scratch)
{
    global int *count = scratch + (long)get_group_id(0) * cols;
    for (int j = 0; j < cols; j++) count[j] = 0;
    FOR_EACH(i, rows) for (int e = ptr[i]; e < ptr[i + 1]; e++) count[col[e]]++;
}

// What the groups have counted becomes where each of them begins in a column, from 0.
kernel void transpose_starts(int cols, int groups, global int *scratch, global int *restrict length)
{
    FOR_EACH(j, cols)
    {
        int sum = 0;
        for (long g = 0; g < groups; g++) {
            int count = scratch[g * cols + j];
            scratch[g * cols + j] = sum;
            sum += count;
        }
        length[j] = sum;
    }
}

kernel void transpose_place(int rows, int cols, global const int *restrict ptr,
                            global const int *restrict col, global int *scratch,
                            global const int *restrict t_ptr, global int *restrict t_col,
                            global int *restrict from)
{
    global int *next = scratch + (long)get_group_id(0) * cols;
    FOR_EACH(i, rows)
    {
        for (int e = ptr[i]; e < ptr[i + 1]; e++) {
            int at = t_ptr[col[e]] + next[col[e]]++;
            t_col[at] = (int)i, from[at] = e;
        }
    }
}

#else

kernel void transpose_zero(int cols, global int *restrict count)
{
    FOR_EACH(j, cols) count[j] = 0;
}

kernel void transpose_lengths(int rows, int cols, global const int *restrict ptr,
                              global const int *restrict col, global int *length)
{
    FOR_EACH(i, rows) for (int e = ptr[i]; e < ptr[i + 1]; e++) atomic_inc(&length[col[e]]);
}

// `next` counts from 0 for each column.
kernel void transpose_place(int rows, int cols, global const int *restrict ptr,
                            global const int *restrict col, global int *next,
                            global const int *restrict t_ptr, global int *restrict unsorted)
{
    FOR_EACH(i, rows)
    {
        for (int e = ptr[i]; e < ptr[i + 1]; e++)
            unsorted[t_ptr[col[e]] + atomic_inc(&next[col[e]])] = (int)i;
    }
}

#define SORT_COLUMN(j, first, step)                                               \
    for (int s = t_ptr[j] + (first), end = t_ptr[(j) + 1]; s < end; s += (step)) { \
        int row = unsorted[s], at = t_ptr[j];                                     \
        for (int u = t_ptr[j]; u < end; u++) at += unsorted[u] < row;             \
        t_col[at] = row, from[at] = entry_of(ptr, col, row, (int)(j));            \
    }

// The rows that meet column j, in their order, by the whole group.
void walk(int rows, int j, int at, global const int *ptr, global const int *col, global int *t_col,
          global int *from, local int *lane)
{
    int l = get_local_id(0);
    for (int base = 0; base < rows; base += WG) {
        int row = base + l, e = row < rows ? entry_of(ptr, col, row, j) : -1, sum = e >= 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        lane[l] = sum;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int step = 1; step < WG; step *= 2) {
            int more = l >= step ? lane[l - step] : 0;
            barrier(CLK_LOCAL_MEM_FENCE);
            lane[l] = sum += more;
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (e >= 0) t_col[at + sum - 1] = row, from[at + sum - 1] = e;
        at += lane[WG - 1];
    }
}

kernel void transpose_sort(int rows, int cols, global const int *restrict ptr,
                           global const int *restrict col, int lanes,
                           global const int *restrict t_ptr, global const int *restrict unsorted,
                           global int *restrict t_col, global int *restrict from)
{
    local int lane_of[WG];
    int l = get_local_id(0), teams = WG / lanes, few = 16 * lanes;
    for (long first = (long)get_group_id(0) * teams; first < cols;
         first += (long)get_num_groups(0) * teams) {
        long j = first + l / lanes;
        if (j < cols && t_ptr[j + 1] - t_ptr[j] <= few) { SORT_COLUMN(j, l % lanes, lanes) }
        for (long t = first; t < min(first + teams, (long)cols); t++) {
            long count = t_ptr[t + 1] - t_ptr[t];
            if (count > few && count * count / 64 > rows)
                walk(rows, (int)t, t_ptr[t], ptr, col, t_col, from, lane_of);
            else if (count > few) {
                SORT_COLUMN(t, l, WG)
            }
        }
    }
}

#endif

// ---- lengths of rows to offsets: each group has a run of consecutive rows ----

#define MY_RUN                                                                   \
    long run = (n + get_num_groups(0) - 1) / get_num_groups(0);                  \
    long begin = min(run * (long)get_group_id(0), n), end = min(begin + run, n); \
    int l = get_local_id(0);

// The sum of v over the group, in lane[0] after the last barrier.
#define ADD_LANES(v)                              \
    barrier(CLK_LOCAL_MEM_FENCE);                 \
    lane[l] = v;                                  \
    for (int step = WG / 2; step > 0; step /= 2) { \
        barrier(CLK_LOCAL_MEM_FENCE);             \
        if (l < step) lane[l] += lane[l + step];  \
    }                                             \
    barrier(CLK_LOCAL_MEM_FENCE);

// part[g]: what the rows of group g have in all.
kernel void offsets_sums(long n, global const int *restrict length, global long *restrict part)
{
    local long lane[WG];
    MY_RUN
    long sum = 0;
    for (long i = begin + l; i < end; i += WG) sum += length[i];
    ADD_LANES(sum)
    if (l == 0) part[get_group_id(0)] = lane[0];
}

// ptr[i] := length[0] + ... + length[i - 1], i = 0 ... n; total: the last one, which may pass int.
kernel void offsets_write(long n, global const int *restrict length,
                          global const long *restrict part, global int *restrict ptr,
                          global long *restrict total)
{
    local long lane[WG];
    MY_RUN
    long before = 0;
    for (long g = l; g < (long)get_group_id(0); g += WG) before += part[g];
    ADD_LANES(before)
    before = lane[0];
    for (long base = begin; base < end; base += WG) {
        long sum = base + l < end ? length[base + l] : 0, mine = sum;
        barrier(CLK_LOCAL_MEM_FENCE);
        lane[l] = sum;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int step = 1; step < WG; step *= 2) {
            long more = l >= step ? lane[l - step] : 0;
            barrier(CLK_LOCAL_MEM_FENCE);
            lane[l] = sum += more;
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (base + l < end) ptr[base + l] = (int)(before + sum - mine);
        before += lane[WG - 1];
    }
    if (l == 0 && get_group_id(0) + 1 == get_num_groups(0)) ptr[n] = (int)before, total[0] = before;
}

// ---- numbers to other places: in and out have numbers of 4 bytes or, in_wide and out_wide, of 8 ----

// out[k] := in[i]
void copy_number(global const void *in, int in_wide, long i, global void *out, int out_wide, long k)
{
#ifdef KRY_FP64
    if (in_wide || out_wide) {
        const double v = in_wide ? ((global const double *)in)[i] : (double)((global const float *)in)[i];
        if (out_wide)
            ((global double *)out)[k] = v;
        else
            ((global float *)out)[k] = (float)v;
        return;
    }
#endif
    ((global float *)out)[k] = ((global const float *)in)[i];
}

// out[k] := in[place[k]]; ~place if it is negative
kernel void numbers_gather(long n, global const int *restrict place, global const void *restrict in, int in_wide,
                           global void *restrict out, int out_wide)
{
    FOR_EACH(k, n) copy_number(in, in_wide, place[k] < 0 ? ~place[k] : place[k], out, out_wide, k);
}

kernel void numbers_convert(long n, global const void *restrict in, int in_wide, global void *restrict out, int out_wide)
{
    FOR_EACH(k, n) copy_number(in, in_wide, k, out, out_wide, k);
}
