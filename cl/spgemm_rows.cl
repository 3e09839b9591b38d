// spgemm_rows.cl - rows of a product of matrices in compressed rows, C = A B, that are not long, on GPUs; spgemm.cl has
// the others. Host: src/matrix/spgemm.c.
//
// A team of `lanes` work-items has a row. It takes the entries of A's row one after the other, the lanes beside each other
// along the row of B; where these rows begin is read for CHUNK entries of A at a time, since one read waits for
// another. Columns: a table of the team in local memory, entered by hashing, and a list of what is in it. Numbers: the
// place in the row of C is found by halving; the sums are those of spgemm.cl, to the bit. Groups of 32 are a
// warp of NVIDIA's, for which barriers cost next to nothing.
//
// Words moved: the columns of A and B that meet, with numbers twice as many, and the result.

#pragma OPENCL FP_CONTRACT OFF

#define GROUP (WG < 32 ? WG : 32)
#define SLOTS 512 // of the tables of a group
#define AHEAD (4 * GROUP)
#define NONE  -1

#define OPERANDS                                                                     \
    int rows, global const int *restrict a_ptr, global const int *restrict a_col,    \
        global const int *restrict b_ptr, global const int *restrict b_col, int lanes

#define TEAMS                                                                             \
    local int starts[AHEAD], ends[AHEAD], longest;                                        \
    int l = get_local_id(0), teams = GROUP / lanes, team = l / lanes, lane = l % lanes;   \
    int slots = SLOTS / teams, chunk = 4 * lanes;                                         \
    local int *start = starts + team * chunk, *end = ends + team * chunk;

#define EACH_FIRST                                                                      \
    for (long first = (long)get_group_id(0) * teams; first < rows;                      \
         first += (long)get_num_groups(0) * teams)

// e and `steps`: the entries of A in the row, 0 without `wanted`; longest: the most steps of a team.
#define TAKE_ROW(wanted)                                                                \
    int e = (wanted) ? a_ptr[row] : 0, steps = (wanted) ? a_ptr[row + 1] - e : 0;       \
    barrier(CLK_LOCAL_MEM_FENCE);                                                       \
    if (l == 0) longest = 0;                                                            \
    barrier(CLK_LOCAL_MEM_FENCE);                                                       \
    if (lane == 0) atomic_max(&longest, steps);                                         \
    barrier(CLK_LOCAL_MEM_FENCE);

// Steps base ... of the row, where rows of B begin and end. ALSO(q, s) for each of them.
#define LOOK_AHEAD(ALSO)                                                                \
    barrier(CLK_LOCAL_MEM_FENCE);                                                       \
    for (int q = lane; q < chunk && base + q < steps; q += lanes) {                     \
        int k = a_col[e + base + q];                                                    \
        start[q] = b_ptr[k], end[q] = b_ptr[k + 1];                                     \
        ALSO                                                                            \
    }                                                                                   \
    barrier(CLK_LOCAL_MEM_FENCE);

// Enter a column; more than `most` are not listed. used: how many are in.
void enter(int column, int slots, int most, volatile local int *key, volatile local int *used,
           local int *list)
{
    uint s = (uint)column * 2654435769u >> clz(slots - 1);
    while (*used <= most) {
        int there = key[s];
        if (there == NONE) there = atomic_cmpxchg(&key[s], NONE, column);
        if (there == NONE) {
            int at = atomic_inc(used);
            if (at < most) list[at] = column;
        }
        if (there == NONE || there == column) return;
        s = (s + 1) & (uint)(slots - 1);
    }
}

#define ENTER_ALL                                                                       \
    for (int s = 4 * lane; s < slots; s += 4 * lanes) vstore4((int4)(NONE), 0, key + s); \
    if (lane == 0) used[team] = 0;                                                      \
    for (int base = 0; base < longest; base += chunk) {                                 \
        LOOK_AHEAD()                                                                    \
        for (int q = 0; q < chunk && base + q < steps; q++)                             \
            for (int f = start[q] + lane; f < end[q]; f += lanes)                       \
                enter(b_col[f], slots, most, key, &used[team], list);                   \
    }                                                                                   \
    barrier(CLK_LOCAL_MEM_FENCE);

// length[i]: of row i of C; -1 if it is long.
kernel void spgemm_row_lengths(OPERANDS, global int *restrict length)
{
    local int keys[SLOTS], lists[SLOTS], used[GROUP];
    TEAMS
    local int *key = keys + team * slots, *list = lists + team * slots;
    int most = slots / 4 * 3;
    EACH_FIRST
    {
        long row = first + team;
        TAKE_ROW(row < rows)
        ENTER_ALL
        if (lane == 0 && row < rows) length[row] = used[team] <= most ? used[team] : -1;
    }
}

// The columns of rows with `few` of them, or less: no more than lengths has room for with as many lanes.
kernel void spgemm_row_columns(OPERANDS, int few, global const int *restrict c_ptr,
                               global int *restrict c_col)
{
    local int keys[SLOTS], lists[SLOTS], used[GROUP];
    TEAMS
    local int *key = keys + team * slots, *list = lists + team * slots;
    int most = slots / 4 * 3;
    EACH_FIRST
    {
        long row = first + team;
        TAKE_ROW(row < rows && c_ptr[row + 1] - c_ptr[row] <= few)
        ENTER_ALL
        for (int t = lane; t < used[team]; t += lanes) {
            int at = c_ptr[row], column = list[t];
            for (int u = 0; u < used[team]; u++) at += list[u] < column;
            c_col[at] = column;
        }
    }
}

// The first of a[0 ... count - 1] that is not below v.
int find(local const int *a, int count, int v)
{
    int from = 0;
    while (from < count) {
        int middle = (from + count) / 2;
        if (a[middle] < v)
            from = middle + 1;
        else
            count = middle;
    }
    return from;
}

#define READ_FACTOR factor[q] = a_val[e + base + q];

kernel void spgemm_row_values(OPERANDS, int few, global const int *restrict c_ptr,
                              global const int *restrict c_col, global const REAL *restrict a_val,
                              global const REAL *restrict b_val, global REAL *restrict c_val)
{
    local int columns[SLOTS];
    local REAL sums[SLOTS], factors[AHEAD];
    TEAMS
    local int *column = columns + team * slots;
    local REAL *sum = sums + team * slots, *factor = factors + team * chunk;
    EACH_FIRST
    {
        long row = first + team;
        int at = row < rows ? c_ptr[row] : 0, count = row < rows ? c_ptr[row + 1] - at : 0;
        if (count > few) count = 0;
        TAKE_ROW(count > 0)
        for (int t = lane; t < count; t += lanes) column[t] = c_col[at + t], sum[t] = 0;
        for (int base = 0; base < longest; base += chunk) {
            LOOK_AHEAD(READ_FACTOR)
            for (int q = 0; q < chunk && base + q < longest; q++) {
                if (base + q < steps)
                    for (int f = start[q] + lane; f < end[q]; f += lanes)
                        sum[find(column, count, b_col[f])] += factor[q] * b_val[f];
                barrier(CLK_LOCAL_MEM_FENCE);
            }
        }
        for (int t = lane; t < count; t += lanes) c_val[at + t] = sum[t];
    }
}
