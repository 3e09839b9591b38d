// spgemm_rows.cl - rows of a product of matrices in compressed rows, C = A B, that are not long, on GPUs; spgemm.cl has
// the others. Host: src/matrix/spgemm.c.
//
// A team of `lanes` work-items has a row, and a table in local memory for its columns, entered by hashing. Groups of
// 32 are a warp of NVIDIA's, for which barriers cost next to nothing.
//   columns  each work-item takes entries of A's row, and all of the row of B that belongs to one; what is found is
//            listed, and sorted by counting what is less
//   numbers  the entries of A's row one after the other, the lanes beside each other along the row of B, so that
//            the sums are those of spgemm.cl, to the bit. Where the rows of B begin is read for a chunk of entries at
//            a time, and the numbers of a row while those of the one before are added
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
    int l = get_local_id(0), teams = GROUP / lanes, team = l / lanes, lane = l % lanes;   \
    int slots = SLOTS / teams, most = slots / 4 * 3;                                      \
    local int *key = keys + team * slots;

#define EACH_FIRST                                                                      \
    for (long first = (long)get_group_id(0) * teams; first < rows;                      \
         first += (long)get_num_groups(0) * teams)

// The row of this team, whose entries of A are e ... e + steps - 1; none unless it is `wanted`. The table is empty.
#define TAKE_ROW(wanted)                                                                \
    long row = first + team;                                                            \
    bool mine = row < rows && (wanted);                                                 \
    int e = mine ? a_ptr[row] : 0, steps = mine ? a_ptr[row + 1] - e : 0;               \
    barrier(CLK_LOCAL_MEM_FENCE);                                                       \
    for (int s = 4 * lane; s < slots; s += 4 * lanes) vstore4((int4)(NONE), 0, key + s);

uint first_slot(int column, int slots) { return (uint)column * 2654435769u >> clz(slots - 1); }

// Enter a column. Returns whether it was not there.
bool enter(int column, int slots, volatile local int *key)
{
    for (uint s = first_slot(column, slots);; s = (s + 1) & (uint)(slots - 1)) {
        int there = key[s];
        if (there == NONE) there = atomic_cmpxchg(&key[s], NONE, column);
        if (there == NONE || there == column) return there == NONE;
    }
}

// The columns of a row, until there are more than `most`; NEW() for each that was not there. used: how many.
#define ENTER_ALL(NEW)                                                                  \
    if (lane == 0) used[team] = 0;                                                      \
    barrier(CLK_LOCAL_MEM_FENCE);                                                       \
    for (int q = lane; q < steps; q += lanes)                                           \
        for (int f = b_ptr[a_col[e + q]], end = b_ptr[a_col[e + q] + 1];                \
             f < end && used[team] <= most; f++) {                                      \
            int column = b_col[f];                                                      \
            if (enter(column, slots, key)) NEW(atomic_inc(&used[team]), column)         \
        }                                                                               \
    barrier(CLK_LOCAL_MEM_FENCE);
#define COUNTED(at, column) (void)(at);
#define LISTED(at, column)  list[at] = column;

// length[i]: of row i of C; -1 if it is long.
kernel void spgemm_row_lengths(OPERANDS, global int *restrict length)
{
    local int keys[SLOTS];
    volatile local int used[GROUP];
    TEAMS
    EACH_FIRST
    {
        TAKE_ROW(true)
        ENTER_ALL(COUNTED)
        if (lane == 0 && mine) length[row] = used[team] <= most ? used[team] : -1;
    }
}

// The columns of rows with `few` of them, or less; few: at most what fits.
kernel void spgemm_row_columns(OPERANDS, int few, global const int *restrict c_ptr,
                               global int *restrict c_col)
{
    local int keys[SLOTS], lists[SLOTS];
    volatile local int used[GROUP];
    TEAMS
    local int *list = lists + team * slots;
    EACH_FIRST
    {
        TAKE_ROW(c_ptr[row + 1] - c_ptr[row] <= few)
        int to = mine ? c_ptr[row] : 0, count = mine ? c_ptr[row + 1] - to : 0;
        for (int t = count / 4 * 4 + lane; t < (count + 3) / 4 * 4; t += lanes) list[t] = INT_MAX;
        ENTER_ALL(LISTED)
        for (int t = lane; t < count; t += lanes) {
            int at = to, column = list[t];
            for (int u = 0; u < count; u += 4) {
                int4 less = vload4(0, list + u) < (int4)(column);
                at -= less.s0 + less.s1 + less.s2 + less.s3; // true is -1
            }
            c_col[at] = column;
        }
    }
}

// Where a column is that is in the table.
uint slot_of(int column, int slots, local const int *key)
{
    uint s = first_slot(column, slots);
    while (key[s] != column) s = (s + 1) & (uint)(slots - 1);
    return s;
}

// Steps base ... of each team: where the rows of B begin and end, and by what they are multiplied.
#define LOOK_AHEAD                                                                      \
    barrier(CLK_LOCAL_MEM_FENCE);                                                       \
    for (int q = lane; q < chunk && base + q < steps; q += lanes) {                     \
        int k = a_col[e + base + q];                                                    \
        start[q] = b_ptr[k], end[q] = b_ptr[k + 1], factor[q] = a_val[e + base + q];    \
    }                                                                                   \
    barrier(CLK_LOCAL_MEM_FENCE);

// With `lower` not above the diagonal.
kernel void spgemm_row_values(OPERANDS, int few, global const int *restrict c_ptr,
                              global const int *restrict c_col, int lower,
                              global const REAL *restrict a_val, global const REAL *restrict b_val,
                              global REAL *restrict c_val)
{
    local int keys[SLOTS], starts[AHEAD], ends[AHEAD], longest;
    local REAL sums[SLOTS], factors[AHEAD];
    TEAMS
    int chunk = AHEAD / teams;
    local int *start = starts + team * chunk, *end = ends + team * chunk;
    local REAL *sum = sums + team * slots, *factor = factors + team * chunk;
    EACH_FIRST
    {
        TAKE_ROW(c_ptr[row + 1] - c_ptr[row] <= few)
        int at = mine ? c_ptr[row] : 0, count = mine ? c_ptr[row + 1] - at : 0;
        int last = lower ? (int)row : INT_MAX;
        if (l == 0) longest = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane == 0) atomic_max(&longest, steps);
        for (int t = lane; t < count && c_col[at + t] <= last; t += lanes)
            enter(c_col[at + t], slots, key);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int t = lane; t < count && c_col[at + t] <= last; t += lanes)
            sum[slot_of(c_col[at + t], slots, key)] = 0;
        for (int base = 0; base < longest; base += chunk) {
            LOOK_AHEAD
            int here = min(chunk, steps - base), next = here > 0 ? start[0] + lane : 0;
            int next_column = 0;
            REAL next_number = 0;
            if (here > 0 && next < end[0]) next_column = b_col[next], next_number = b_val[next];
            for (int q = 0; q < chunk && base + q < longest; q++) {
                int f = next, column = next_column;
                REAL number = next_number;
                if (q + 1 < here) {
                    next = start[q + 1] + lane;
                    if (next < end[q + 1]) next_column = b_col[next], next_number = b_val[next];
                }
                for (; q < here && f < end[q]; f += lanes) {
                    if (f >= start[q] + lanes) column = b_col[f], number = b_val[f];
                    if (column > last) break;
                    sum[slot_of(column, slots, key)] += factor[q] * number;
                }
                barrier(CLK_LOCAL_MEM_FENCE);
            }
        }
        for (int t = lane; t < count && c_col[at + t] <= last; t += lanes)
            c_val[at + t] = sum[slot_of(c_col[at + t], slots, key)];
    }
}
