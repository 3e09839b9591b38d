// spgemm.cl - products of matrices in compressed rows, C = A B: the lengths of C's rows, then their
// columns, then the numbers.
// Host: src/matrix/spgemm.c.
//
// Columns ascend in each row of A, B and C; offsets are int. An entry of C is the sum of its products
// in the order of A's row, from 0, each product and sum rounded: the same bits on all devices, and as
// on the host. No atomics on numbers.
//   CPU  a group has a `scratch` of its own with a number for each column of B: the row of C that was
//        the last to meet it, or its place there. F. G. Gustavson, ACM Trans. Math. Softw. 4 (1978)
//   GPU  rows that are too long for spgemm_rows.cl. `lanes` work-items have a row. Columns: a table in local
//        memory, entered by hashing; what is in it does not depend on the order, and is sorted. Numbers: the
//        entries of A's row one after the other, the lanes beside each other along the row of B, which meets no
//        column twice; the place in the row of C is found by halving. Rows that are too long for that have
//        the whole group: columns in windows of TABLE of them, numbers in pieces of PIECE of them.

#include "common/kry.clh"

#pragma OPENCL FP_CONTRACT OFF

#define OPERANDS                                                                       \
    int rows, global const int *restrict a_ptr, global const int *restrict a_col, \
        global const int *restrict b_ptr, global const int *restrict b_col

#ifdef KRY_CPU

#define MORE_OPERANDS int cols, global int *scratch

// The columns of a row are found in any order. Where they lie close they are found again in theirs; else few are sorted by
// insertion, many as a heap.
void sift(global int *a, int top, int n)
{
    int v = a[top];
    for (int under = 2 * top + 1; under < n; under = 2 * top + 1) {
        if (under + 1 < n && a[under + 1] > a[under]) under++;
        if (a[under] <= v) break;
        a[top] = a[under];
        top = under;
    }
    a[top] = v;
}

void sort_row(global int *a, int n)
{
    if (n > 64) {
        for (int top = n / 2 - 1; top >= 0; top--) sift(a, top, n);
        for (int last = n - 1; last > 0; last--) {
            int v = a[last];
            a[last] = a[0], a[0] = v;
            sift(a, 0, last);
        }
        return;
    }
    for (int s = 1; s < n; s++) {
        int v = a[s], t = s;
        for (; t > 0 && a[t - 1] > v; t--) a[t] = a[t - 1];
        a[t] = v;
    }
}

// Put the columns of a row, at places begin ... end - 1, in ascending order. met: of each column its place, less than begin if it
// is not in the row. To look through all from the least to the most may be less work than to sort them.
void order_row(global int *c_col, int begin, int end, int least, int most, global const int *met)
{
    int n = end - begin;
    if ((most - least) / (n > 64 ? 32 : 8) < n)
        for (int j = least, k = begin; k < end; k += met[j++] >= begin) c_col[k] = j;
    else
        sort_row(c_col + begin, n);
}

#define NONE_MET                                                 \
    global int *met = scratch + (long)get_group_id(0) * cols;    \
    for (int j = 0; j < cols; j++) met[j] = -1;

kernel void spgemm_lengths(OPERANDS, MORE_OPERANDS, global int *restrict length)
{
    NONE_MET
    FOR_EACH(i, rows)
    {
        int count = 0;
        for (int e = a_ptr[i]; e < a_ptr[i + 1]; e++)
            for (int f = b_ptr[a_col[e]], end = b_ptr[a_col[e] + 1]; f < end; f++) {
                int j = b_col[f];
                count += met[j] != i;
                met[j] = (int)i;
            }
        length[i] = count;
    }
}

kernel void spgemm_columns(OPERANDS, MORE_OPERANDS, global const int *restrict c_ptr, global int *restrict c_col)
{
    NONE_MET
    FOR_EACH(i, rows)
    {
        int begin = c_ptr[i], at = begin, least = INT_MAX, most = 0;
        for (int e = a_ptr[i]; e < a_ptr[i + 1]; e++)
            for (int f = b_ptr[a_col[e]], end = b_ptr[a_col[e] + 1]; f < end; f++)
                if (met[b_col[f]] < begin) {
                    met[b_col[f]] = at, c_col[at++] = b_col[f];
                    least = min(least, b_col[f]), most = max(most, b_col[f]);
                }
        order_row(c_col, begin, at, least, most, met);
    }
}

#define NUMBERS                                                                                 \
    int lower, global const REAL *restrict a_val, global const REAL *restrict b_val, \
        global const int *restrict c_ptr

// The numbers of row i, whose columns are known; lower: only of those that are not above the diagonal.
void row_values(long i, OPERANDS, NUMBERS, global const int *c_col, global int *place, global REAL *restrict c_val)
{
    for (int e = c_ptr[i]; e < c_ptr[i + 1]; e++) place[c_col[e]] = e, c_val[e] = 0;
    for (int e = a_ptr[i]; e < a_ptr[i + 1]; e++) {
        REAL a = a_val[e];
        for (int f = b_ptr[a_col[e]], end = b_ptr[a_col[e] + 1]; f < end; f++) {
            if (lower && b_col[f] > i) break;
            c_val[place[b_col[f]]] += a * b_val[f];
        }
    }
}

// Columns and numbers at once. Rows of up to SHORT entries are summed up in the order in which their columns are met,
// and sorted at the end.
#define SHORT 64
kernel void spgemm_entries(OPERANDS, MORE_OPERANDS, NUMBERS, global int *restrict c_col,
                           global REAL *restrict c_val)
{
    REAL sum[SHORT];
    NONE_MET
    FOR_EACH(i, rows)
    {
        int begin = c_ptr[i], at = begin, least = INT_MAX, most = 0;
        bool is_short = c_ptr[i + 1] - begin <= SHORT;
        for (int e = a_ptr[i]; e < a_ptr[i + 1]; e++) {
            REAL a = a_val[e];
            for (int f = b_ptr[a_col[e]], end = b_ptr[a_col[e] + 1]; f < end; f++) {
                int j = b_col[f];
                if (met[j] < begin) {
                    if (is_short) sum[at - begin] = 0;
                    met[j] = at, c_col[at++] = j;
                    least = min(least, j), most = max(most, j);
                }
                if (is_short && !(lower && j > i)) sum[met[j] - begin] += a * b_val[f];
            }
        }
        order_row(c_col, begin, at, least, most, met);
        if (is_short)
            for (int e = begin; e < at; e++) c_val[e] = sum[met[c_col[e]] - begin];
        else
            row_values(i, rows, a_ptr, a_col, b_ptr, b_col, lower, a_val, b_val, c_ptr, c_col, met, c_val);
    }
}

kernel void spgemm_values(OPERANDS, MORE_OPERANDS, NUMBERS, global const int *restrict c_col,
                          global REAL *restrict c_val)
{
    global int *place = scratch + (long)get_group_id(0) * cols;
    FOR_EACH(i, rows)
        row_values(i, rows, a_ptr, a_col, b_ptr, b_col, lower, a_val, b_val, c_ptr, c_col, place, c_val);
}

#else

#define MORE_OPERANDS int lanes, int few // rows with no more than these columns are done

#define TABLE 2048 // columns
#define PIECE 1024 // numbers
#define NONE  -1

// Enter a column, unless there are more than `most` already. `used` counts those that are in.
void enter(volatile local int *table, int slots, int most, volatile local int *used, int column)
{
    int s = (int)(((uint)column * 2654435769u >> 16) & (uint)(slots - 1));
    while (*used <= most) {
        int there = atomic_cmpxchg(&table[s], NONE, column);
        if (there == NONE) atomic_inc(used);
        if (there == NONE || there == column) return;
        s = (s + 1) & (slots - 1);
    }
}

// The first of a[from ... to - 1] that is not below v; `to` if there is none.
int find_local(local const int *a, int to, int v)
{
    int from = 0;
    while (from < to) {
        int middle = (from + to) / 2;
        if (a[middle] < v)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

int find_global(global const int *a, int from, int to, int v)
{
    while (from < to) {
        int middle = from + (to - from) / 2;
        if (a[middle] < v)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

int group_min(int v, local int *lane)
{
    int l = get_local_id(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    lane[l] = v;
    for (int step = WG / 2; step > 0; step /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < step) lane[l] = min(lane[l], lane[l + step]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    return lane[0];
}

// How many a work-item of the group before this one have; `all`: all of them.
int group_before(int mine, local int *lane, int *all)
{
    int l = get_local_id(0), sum = mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    lane[l] = mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int step = 1; step < WG; step *= 2) {
        int more = l >= step ? lane[l - step] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        lane[l] = sum += more;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    *all = lane[WG - 1];
    return sum - mine;
}

// The columns of a long row, by the whole group; to c_col, if there is one. Returns how many.
int long_row(int from, int to, global const int *restrict a_col, global const int *restrict b_ptr,
             global const int *restrict b_col, global int *c_col, local int *met, local int *lane)
{
    int l = get_local_id(0), first = INT_MAX, count = 0;
    for (int e = from + l; e < to; e += WG)
        if (b_ptr[a_col[e]] < b_ptr[a_col[e] + 1]) first = min(first, b_col[b_ptr[a_col[e]]]);
    first = group_min(first, lane);
    while (first < INT_MAX) { // a window of columns first ... first + TABLE - 1
        int later = INT_MAX, mine = 0, all;
        for (int s = l; s < TABLE; s += WG) met[s] = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int e = from + l; e < to; e += WG) {
            int end = b_ptr[a_col[e] + 1], f = find_global(b_col, b_ptr[a_col[e]], end, first);
            for (; f < end && b_col[f] - first < TABLE; f++) met[b_col[f] - first] = 1;
            if (f < end) later = min(later, b_col[f]);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int s = l * (TABLE / WG); s < (l + 1) * (TABLE / WG); s++) mine += met[s];
        int at = count + group_before(mine, lane, &all);
        if (c_col)
            for (int s = l * (TABLE / WG); s < (l + 1) * (TABLE / WG); s++)
                if (met[s]) c_col[at++] = first + s;
        count += all;
        first = group_min(later, lane);
    }
    return count;
}

#define TEAMS                                                                          \
    int l = get_local_id(0), teams = WG / lanes, team = l / lanes, lane = l % lanes;   \
    int slots = TABLE / teams, most = slots / 4 * 3;

// Rows in blocks, of which those with no row left to do are passed over.
#define EACH_BLOCK                                                                      \
    for (long block = (long)get_group_id(0) * 8 * teams; block < rows;                  \
         block += (long)get_num_groups(0) * 8 * teams)
#define PASS_OVER_UNLESS(IS_LEFT)                                                       \
    barrier(CLK_LOCAL_MEM_FENCE);                                                       \
    if (l == 0) any = 0;                                                                \
    barrier(CLK_LOCAL_MEM_FENCE);                                                       \
    if (l < 8 * teams && block + l < rows && IS_LEFT(block + l)) any = 1;               \
    barrier(CLK_LOCAL_MEM_FENCE);                                                       \
    if (!any) continue;
#define EACH_FIRST \
    for (long first = block; first < min(block + 8 * teams, (long)rows); first += teams)
// The row of this team; `rows` if it is not left to do.
#define TAKE_ROW(IS_LEFT) \
    long row = first + team < rows && IS_LEFT(first + team) ? first + team : rows;
#define HAS_NO_LENGTH(i) (length[i] < 0)
#define HAS_MANY(i)      (c_ptr[(i) + 1] - c_ptr[i] > few)

// The columns of rows first ... first + teams - 1, each into the table of its team.
#define FILL_TABLES                                                             \
    local int *mine = table + team * slots;                                     \
    for (int s = lane; s < slots; s += lanes) mine[s] = NONE;                   \
    if (lane == 0) used[team] = 0;                                              \
    barrier(CLK_LOCAL_MEM_FENCE);                                               \
    for (int e = row < rows ? a_ptr[row] : 0, end = row < rows ? a_ptr[row + 1] : 0; e < end; e++) \
        for (int f = b_ptr[a_col[e]] + lane; f < b_ptr[a_col[e] + 1]; f += lanes) \
            enter(mine, slots, most, &used[team], b_col[f]);                    \
    barrier(CLK_LOCAL_MEM_FENCE);

kernel void spgemm_lengths(OPERANDS, MORE_OPERANDS, global int *restrict length)
{
    local int table[TABLE], used[WG], lane_of[WG], any;
    TEAMS
    EACH_BLOCK
    {
        PASS_OVER_UNLESS(HAS_NO_LENGTH)
        EACH_FIRST
        {
            TAKE_ROW(HAS_NO_LENGTH)
            FILL_TABLES
            if (lane == 0 && row < rows) length[row] = used[team];
            for (int t = 0; t < teams; t++) {
                if (used[t] <= most) continue;
                int count = long_row(a_ptr[first + t], a_ptr[first + t + 1], a_col, b_ptr, b_col, 0,
                                     table, lane_of);
                if (l == 0) length[first + t] = count;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    }
}

kernel void spgemm_columns(OPERANDS, MORE_OPERANDS, global const int *restrict c_ptr, global int *restrict c_col)
{
    local int table[TABLE], used[WG], lane_of[WG], any;
    TEAMS
    EACH_BLOCK
    {
        PASS_OVER_UNLESS(HAS_MANY)
        EACH_FIRST
        {
            TAKE_ROW(HAS_MANY)
            int kept[TABLE / WG];
            FILL_TABLES
            bool fits = used[team] <= most;
            for (int u = 0; u < TABLE / WG; u++) kept[u] = fits ? mine[lane + u * lanes] : NONE;
            barrier(CLK_LOCAL_MEM_FENCE);
            if (lane == 0 && fits) used[team] = 0;
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int u = 0; u < TABLE / WG; u++)
                if (kept[u] != NONE) mine[atomic_inc(&used[team])] = kept[u];
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int u = 0; u < TABLE / WG; u++) {
                int rank = 0;
                for (int s = 0; kept[u] != NONE && s < used[team]; s++) rank += mine[s] < kept[u];
                if (kept[u] != NONE) c_col[c_ptr[row] + rank] = kept[u];
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int t = 0; t < teams; t++)
                if (used[t] > most)
                    long_row(a_ptr[first + t], a_ptr[first + t + 1], a_col, b_ptr, b_col,
                             c_col + c_ptr[first + t], table, lane_of);
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    }
}

// The numbers of a long row, by the whole group, `count` of them at a time.
#define LONG_VALUES(row)                                                                    \
    for (int base = c_ptr[row]; base < c_ptr[(row) + 1]; base += PIECE) {                   \
        int count = min(c_ptr[(row) + 1] - base, PIECE);                                    \
        for (int s = l; s < count; s += WG) column[s] = c_col[base + s], sum[s] = 0;        \
        barrier(CLK_LOCAL_MEM_FENCE);                                                       \
        for (int e = a_ptr[row]; e < a_ptr[(row) + 1]; e++) {                               \
            int end = b_ptr[a_col[e] + 1];                                                  \
            int f = find_global(b_col, b_ptr[a_col[e]], end, column[0]) + l;                \
            for (; f < end && b_col[f] <= column[count - 1]; f += WG)                       \
                sum[find_local(column, count, b_col[f])] += a_val[e] * b_val[f];            \
            barrier(CLK_LOCAL_MEM_FENCE);                                                   \
        }                                                                                   \
        for (int s = l; s < count; s += WG) c_val[base + s] = sum[s];                       \
        barrier(CLK_LOCAL_MEM_FENCE);                                                       \
    }

kernel void spgemm_values(OPERANDS, MORE_OPERANDS, global const REAL *restrict a_val,
                          global const REAL *restrict b_val, global const int *restrict c_ptr,
                          global const int *restrict c_col, global REAL *restrict c_val)
{
    local int column[PIECE], longest, any;
    local REAL sum[PIECE];
    int l = get_local_id(0), teams = WG / lanes, team = l / lanes, lane = l % lanes;
    int most = PIECE / teams;
    EACH_BLOCK
    {
        PASS_OVER_UNLESS(HAS_MANY)
        EACH_FIRST
        {
            TAKE_ROW(HAS_MANY)
            int begin = row < rows ? c_ptr[row] : 0, count = row < rows ? c_ptr[row + 1] - begin : 0;
            int e = row < rows ? a_ptr[row] : 0, steps = row < rows ? a_ptr[row + 1] - e : 0;
            local int *mine = column + team * most;
            local REAL *mine_sum = sum + team * most;
            if (count > most) count = steps = 0; // below
            if (l == 0) longest = 0;
            barrier(CLK_LOCAL_MEM_FENCE);
            if (lane == 0) atomic_max(&longest, steps);
            for (int s = lane; s < count; s += lanes) mine[s] = c_col[begin + s], mine_sum[s] = 0;
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int step = 0; step < longest; step++, e++) {
                int f = step < steps ? b_ptr[a_col[e]] + lane : 0;
                int end = step < steps ? b_ptr[a_col[e] + 1] : 0;
                for (; f < end; f += lanes)
                    mine_sum[find_local(mine, count, b_col[f])] += a_val[e] * b_val[f];
                barrier(CLK_LOCAL_MEM_FENCE);
            }
            for (int s = lane; s < count; s += lanes) c_val[begin + s] = mine_sum[s];
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int t = 0; t < teams && first + t < rows; t++)
                if (c_ptr[first + t + 1] - c_ptr[first + t] > max(most, few)) { LONG_VALUES(first + t) }
        }
    }
}

#endif
