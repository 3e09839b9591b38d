// spgemm_rows.cl - rows of a product of matrices in compressed rows, C = A B, that are not long, on GPUs; spgemm.cl has
// the others. Host: src/matrix/spgemm.c.
//
// A team of `lanes` work-items has a row, and a table in local memory for its columns, entered by hashing. The tables of a
// group have `all_slots` slots: keys, sums and lists are as long, and the host says how much local memory that is. Groups of
// 32 are a warp of NVIDIA's, for which barriers cost next to nothing.
//   columns  each work-item takes entries of A's row, and all of the row of B that belongs to one; what is found is
//            listed, and sorted by counting what is less
//   numbers  the entries of A's row one after the other, the lanes beside each other along the row of B, so that
//            the sums are those of spgemm.cl, to the bit. Where the rows of B begin is read for a chunk of entries at
//            a time, and the numbers of BATCH rows before those of the first one are added
//   both     at once, where the pattern is not known: as the numbers, which enter their columns as they come; a row goes
//            to any free place of a room that all rows share, and is sorted from there to its own place
//
// Words moved: the columns of A and B that meet, with numbers twice as many, and the result.

#include "common/kry.clh"

#pragma OPENCL FP_CONTRACT OFF

#define GROUP (WG < 32 ? WG : 32)
#define AHEAD (2 * GROUP)
#define NONE  -1

#define OPERANDS                                                                     \
    int rows, global const int *restrict a_ptr, global const int *restrict a_col,    \
        global const int *restrict b_ptr, global const int *restrict b_col, int lanes, \
        int all_slots, local int *restrict keys

#define TEAMS                                                                             \
    int l = get_local_id(0), teams = GROUP / lanes, team = l / lanes, lane = l % lanes;   \
    int slots = all_slots / teams, most = slots / 4 * 3;                                  \
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

// For each entry of A's row, one after the other, ADD(column, product) with the numbers of the row of B that belongs to
// it. longest: entries of the rows of the group at most. Steps base ... of each team: where the rows of B begin and end, and
// by what they are multiplied.
#define BATCH 4
#define STEP_LOCALS                                                                     \
    local int starts[AHEAD], ends[AHEAD], longest;                                      \
    local REAL factors[AHEAD];
#define MY_STEPS                                                                        \
    int chunk = AHEAD / teams;                                                          \
    local int *start = starts + team * chunk, *end = ends + team * chunk;               \
    local REAL *factor = factors + team * chunk;
#define LOOK_AHEAD                                                                      \
    barrier(CLK_LOCAL_MEM_FENCE);                                                       \
    for (int q = lane; q < chunk && base + q < steps; q += lanes) {                     \
        int k = a_col[e + base + q];                                                    \
        start[q] = b_ptr[k], end[q] = b_ptr[k + 1], factor[q] = a_val[e + base + q];    \
    }                                                                                   \
    barrier(CLK_LOCAL_MEM_FENCE);
#define FETCH_STEP(u)                                                                   \
    int f_##u = q + u < here ? start[q + u] + lane : 0, column_##u = NONE;              \
    REAL number_##u = 0;                                                                \
    if (q + u < here && f_##u < end[q + u]) column_##u = b_col[f_##u], number_##u = b_val[f_##u];
#define ADD_STEP(u, ADD)                                                                \
    if (column_##u != NONE) {                                                           \
        ADD(column_##u, factor[q + u] * number_##u)                                     \
        for (f_##u += lanes; f_##u < end[q + u]; f_##u += lanes) {                      \
            ADD(b_col[f_##u], factor[q + u] * b_val[f_##u])                             \
        }                                                                               \
    }                                                                                   \
    barrier(CLK_LOCAL_MEM_FENCE);
#define EACH_STEP(ADD)                                                                  \
    if (l == 0) longest = 0;                                                            \
    barrier(CLK_LOCAL_MEM_FENCE);                                                       \
    if (lane == 0) atomic_max(&longest, steps);                                         \
    barrier(CLK_LOCAL_MEM_FENCE);                                                       \
    for (int base = 0; base < longest; base += chunk) {                                 \
        LOOK_AHEAD                                                                      \
        int here = min(chunk, steps - base), some = min(chunk, longest - base);         \
        for (int q = 0; q < some; q += BATCH) {                                         \
            FETCH_STEP(0) FETCH_STEP(1) FETCH_STEP(2) FETCH_STEP(3)                     \
            ADD_STEP(0, ADD) ADD_STEP(1, ADD) ADD_STEP(2, ADD) ADD_STEP(3, ADD)         \
        }                                                                               \
    }

#pragma kry part pattern and numbers one after the other

// length[i]: of row i of C; -1 if it is long.
kernel void spgemm_row_lengths(OPERANDS, global int *restrict length)
{
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
kernel void spgemm_row_columns(OPERANDS, local int *restrict lists, int few, global const int *restrict c_ptr,
                               global int *restrict c_col)
{
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

// With `lower` not above the diagonal.
kernel void spgemm_row_values(OPERANDS, local REAL *restrict sums, int few, global const int *restrict c_ptr,
                              global const int *restrict c_col, int lower,
                              global const REAL *restrict a_val, global const REAL *restrict b_val,
                              global REAL *restrict c_val)
{
    STEP_LOCALS
    TEAMS
    MY_STEPS
    local REAL *sum = sums + team * slots;
    EACH_FIRST
    {
        TAKE_ROW(c_ptr[row + 1] - c_ptr[row] <= few)
        int at = mine ? c_ptr[row] : 0, count = mine ? c_ptr[row + 1] - at : 0;
        int last = lower ? (int)row : INT_MAX;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int t = lane; t < count && c_col[at + t] <= last; t += lanes)
            enter(c_col[at + t], slots, key);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int t = lane; t < count && c_col[at + t] <= last; t += lanes)
            sum[slot_of(c_col[at + t], slots, key)] = 0;
#define ADD_KNOWN(column, product) \
    if (column <= last) sum[slot_of(column, slots, key)] += product;
        EACH_STEP(ADD_KNOWN)
        for (int t = lane; t < count && c_col[at + t] <= last; t += lanes)
            c_val[at + t] = sum[slot_of(c_col[at + t], slots, key)];
    }
}

#pragma kry part both at once

// Add to the sum of a column, which is entered and listed if it is new; but for numbers above `last`, which stay 0.
void add_or_enter(int column, REAL product, int last, int slots, volatile local int *key,
                  local REAL *sum, local ushort *list, volatile local int *used)
{
    for (uint s = first_slot(column, slots);; s = (s + 1) & (uint)(slots - 1)) {
        int there = key[s];
        if (there == NONE) there = atomic_cmpxchg(&key[s], NONE, column);
        if (there == NONE) list[atomic_inc(used)] = (ushort)s;
        if (there != NONE && there != column) continue;
        REAL before = there == column ? sum[s] : (REAL)0;
        sum[s] = column <= last ? before + product : (REAL)0;
        return;
    }
}

// state[0] += how many columns `rows` rows of C have together, of all_rows, evenly spread without a pattern; of those that
// do not fit no more than fit.
kernel void spgemm_row_sample(OPERANDS, int all_rows, global int *restrict state)
{
    volatile local int used[GROUP];
    TEAMS
    EACH_FIRST
    {
        long s = first + team, row = (long)((ulong)((uint)s * 2654435769u) * (ulong)all_rows >> 32);
        bool mine = s < rows;
        int e = mine ? a_ptr[row] : 0, steps = mine ? a_ptr[row + 1] - e : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int t = 4 * lane; t < slots; t += 4 * lanes) vstore4((int4)(NONE), 0, key + t);
        ENTER_ALL(COUNTED)
        if (lane == 0 && mine) atomic_add(&state[0], used[team]);
    }
}

// The columns and the numbers of rows that fit, to any place of the room that `col` and `val` are: row i has length[i] of
// them from start[i] on; -1 if it does not fit. again: only those that did not fit before. A group takes `share` places of
// the room at a time. state[0]: places that are taken, more than `room` if there are too few; state[1]: rows that do not
// fit. With `lower` numbers above the diagonal are not added up.
kernel void spgemm_row_once(OPERANDS, local REAL *restrict sums, local ushort *restrict lists, int again,
                            int lower, global const REAL *restrict a_val,
                            global const REAL *restrict b_val, int share, int room,
                            global int *restrict state, global int *restrict begin,
                            global int *restrict length, global int *restrict col,
                            global REAL *restrict val)
{
    local int place, left;
    volatile local int used[GROUP];
    STEP_LOCALS
    TEAMS
    MY_STEPS
    local REAL *sum = sums + team * slots;
    local ushort *list = lists + team * slots;
    if (l == 0) place = left = 0;
    EACH_FIRST
    {
        TAKE_ROW(!again || length[row] < 0)
        int last = lower ? (int)row : INT_MAX;
        if (lane == 0) used[team] = 0;
#define ADD_OR_ENTER(column, product) \
    if (used[team] <= most) add_or_enter(column, product, last, slots, key, sum, list, &used[team]);
        EACH_STEP(ADD_OR_ENTER)
        bool fits = used[team] <= most;
        int count = mine && fits ? used[team] : 0, at = 0, all = 0;
        if (mine && !fits && lane == 0) atomic_inc(&state[1]);
        for (int t = 0; t < teams; t++) {
            int other = used[t] <= most ? used[t] : 0;
            at += t < team ? other : 0, all += other;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l == 0 && all > left) left = max(share, all), place = atomic_add(&state[0], left);
        barrier(CLK_LOCAL_MEM_FENCE);
        bool there_is_room = place >= 0 && place <= room - all;
        at += place;
        if (lane == 0 && mine) begin[row] = at, length[row] = fits ? count : -1;
        for (int t = lane; t < count && there_is_room; t += lanes)
            col[at + t] = key[list[t]], val[at + t] = sum[list[t]];
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l == 0) place += all, left -= all;
    }
}

// Rows of more than `above` entries and of no more than fit, from where spgemm_row_once has left them to where
// they belong, columns ascending.
kernel void spgemm_row_settle(int rows, int lanes, int all_slots, local int *restrict lists, int above,
                              global const int *restrict start,
                              global const int *restrict col, global const REAL *restrict val,
                              global const int *restrict c_ptr, global int *restrict c_col,
                              global REAL *restrict c_val)
{
    int l = get_local_id(0), teams = GROUP / lanes, team = l / lanes, lane = l % lanes;
    int slots = all_slots / teams;
    local int *list = lists + team * slots;
    EACH_FIRST
    {
        long row = first + team;
        int to = row < rows ? c_ptr[row] : 0, count = row < rows ? c_ptr[row + 1] - to : 0;
        int from = row < rows ? start[row] : 0;
        if (count <= above || count > slots / 4 * 3) count = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int t = lane; t < (count + 3) / 4 * 4; t += lanes)
            list[t] = t < count ? col[from + t] : INT_MAX;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int t = lane; t < count; t += lanes) {
            int at = to, column = list[t];
            for (int u = 0; u < count; u += 4) {
                int4 less = vload4(0, list + u) < (int4)(column);
                at -= less.s0 + less.s1 + less.s2 + less.s3; // true is -1
            }
            c_col[at] = column, c_val[at] = val[from + t];
        }
    }
}
