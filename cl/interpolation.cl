// interpolation.cl - extended+i interpolation for classical coarsening, truncated to MOST entries a row.
// Host: src/multigrid/interpolation.c. On the host: src/multigrid/interpolate.c, which has the formulas, with the
// same sums in the same order, in ACC.
//
// number[j] is that of a C point on the coarser level, F for F points, below it for points that are alone. `near` are
// the couplings of points that are not C points to C points: its columns are the numbers c of these, ~c
// where the row does not depend on them.
//
// A work-item has a row at a time, and a table of 2^(32 - shift) slots for its C points, entered by hashing: `key` is
// the number, or NONE, and `weight` becomes -d w. Rows that do not fit are left to a launch with larger
// tables.
//
// Words moved: interpolation_near 2 an entry and 3 a coupling that is found; interpolation_choose and _renew 3
// an entry, and for each F point that a row depends on its couplings to C points, 3 each.

#pragma OPENCL FP_CONTRACT OFF

#define MOST 4
#define NONE -1
#define F    -1

#define MATRIX                                                                             \
    global const int *restrict ptr, global const int *restrict col,                        \
        global const REAL *restrict val, global const uchar *restrict strong,              \
        global const int *restrict number, global const int *restrict near_ptr,            \
        global const int *restrict near_col, global const REAL *restrict near_val
#define MATRIX_HERE ptr, col, val, strong, number, near_ptr, near_col, near_val
#define TABLE       int shift, global int *key, global ACC *weight
#define TABLE_HERE  shift, key, weight

// The first `tables` work-items have a table each, and share the rows: those listed in `todo`, or all where
// there is none.
#define ROWS int n, int tables, int is_list, global const int *restrict todo
#define TAKE_TABLE                                    \
    if ((int)get_global_id(0) >= tables) return;      \
    key += (long)get_global_id(0) << (32 - shift);    \
    weight += (long)get_global_id(0) << (32 - shift);
#ifdef KRY_CPU
#define EACH_ROW(k) FOR_EACH(k, n)
#else
#define EACH_ROW(k) for (long k = get_global_id(0); k < n; k += tables)
#endif

// Couplings to C points, and unfit := 0 for what follows.
kernel void interpolation_near(int n, global const int *restrict ptr, global const int *restrict col,
                               global const REAL *restrict val, global const uchar *restrict strong,
                               global const int *restrict number,
                               global const int *restrict near_ptr, global int *restrict near_col,
                               global REAL *restrict near_val, global int *restrict unfit)
{
    if (get_global_id(0) == 0) unfit[0] = 0;
    FOR_EACH(i, n)
    {
        int at = near_ptr[i];
        if (near_ptr[i + 1] == at) continue;
        for (int e = ptr[i]; e < ptr[i + 1]; e++) {
            int c = number[col[e]];
            if (c < 0) continue;
            near_col[at] = strong[e] ? c : ~c, near_val[at++] = val[e];
        }
    }
}

// Where c is in the table, or would be.
uint slot_of(int c, TABLE)
{
    uint last = (1u << (32 - shift)) - 1, s = (uint)c * 2654435769u >> shift;
    while (key[s] != c && key[s] != NONE) s = (s + 1) & last;
    return s;
}

int enter(int c, int used, TABLE)
{
    uint s = slot_of(c, TABLE_HERE);
    if (key[s] == NONE) key[s] = c, weight[s] = 0, used++;
    return used;
}

// The C points of row i into its table: those that it depends on, and those that the other points depend on that
// it depends on. Returns whether there is room for all.
bool find_members(int i, MATRIX, TABLE)
{
    int slots = 1 << (32 - shift), most = slots / 4 * 3, used = 0;
    for (int s = 0; s < slots; s += 4) vstore4((int4)(NONE), 0, key + s);
    for (int e = ptr[i]; e < ptr[i + 1] && used <= most; e++) {
        if (!strong[e]) continue;
        int j = col[e], c = number[j];
        if (c >= 0) used = enter(c, used, TABLE_HERE);
        for (int f = near_ptr[j]; f < near_ptr[j + 1] && used <= most; f++)
            if (near_col[f] >= 0) used = enter(near_col[f], used, TABLE_HERE);
    }
    return used <= most;
}

// Share a_ik out among the C points and i, in the proportions of row k. Returns what goes to i.
ACC share_out(int k, ACC a_ik, MATRIX, TABLE)
{
    ACC sum = 0;
    for (int f = near_ptr[k]; f < near_ptr[k + 1]; f++) {
        int c = near_col[f];
        if (near_val[f] < 0 && (c >= 0 || key[slot_of(~c, TABLE_HERE)] != NONE)) sum += near_val[f];
    }
    sum += fmin(a_ik, (ACC)0);
    if (sum == 0) return a_ik;
    ACC part = a_ik / sum;
    for (int f = near_ptr[k]; f < near_ptr[k + 1]; f++) {
        if (near_val[f] >= 0) continue;
        int c = near_col[f];
        uint s = slot_of(c < 0 ? ~c : c, TABLE_HERE);
        if (key[s] != NONE) weight[s] += part * near_val[f];
    }
    return part * fmin(a_ik, (ACC)0);
}

// The weights of row i, into its table. Returns d, and the sum of the weights.
ACC2 weigh(int i, MATRIX, TABLE)
{
    ACC d = 0, sum = 0, diagonal = 0;
    for (int e = ptr[i]; e < ptr[i + 1]; e++) {
        int j = col[e], c = number[j];
        ACC a = val[e];
        uint s = c >= 0 ? slot_of(c, TABLE_HERE) : 0;
        if (j == i)
            d += diagonal = a;
        else if (c >= 0 && key[s] != NONE)
            weight[s] += a, sum += a;
        else if (c < 0 && strong[e]) {
            ACC own = share_out(j, a, MATRIX_HERE, TABLE_HERE);
            d += own, sum += a - own;
        } else if (c >= F)
            d += a;
    }
    // where weak couplings outweigh the diagonal there is no use in adding them
    if (d <= (ACC)1e-10 * diagonal) d = diagonal;
    return (ACC2)(d, sum);
}

// What makes entries of P of the kept weights, whose sum is `some` and whose sizes have the sum `size`.
ACC factor_of(ACC2 d_and_sum, ACC some, ACC size)
{
    ACC all = d_and_sum.y;
    ACC scale = all * some > 0 && fabs(some) >= (ACC)0.1 * size ? all / some : (ACC)1;
    return scale / -d_and_sum.x;
}

#define SWAP_IF(condition, T, u, s, t)              \
    if (condition) {                                \
        T kept_ = u[s];                             \
        u[s] = u[t], u[t] = kept_;                  \
    }
#define SWAP_ENTRIES_IF(condition, s, t)            \
    {                                               \
        bool swaps_ = condition;                    \
        SWAP_IF(swaps_, int, c, s, t)               \
        SWAP_IF(swaps_, ACC, w, s, t)               \
    }

#define KEEP(member, of)                                                            \
    if (member != NONE) {                                                           \
        c[MOST] = member, w[MOST] = of;                                             \
        UNROLLED for (int t = MOST; t > 0; t--)                                     \
        {                                                                           \
            ACC a_ = fabs(w[t]), b_ = fabs(w[t - 1]);                               \
            SWAP_ENTRIES_IF(a_ > b_ || (a_ == b_ && c[t] < c[t - 1]), t - 1, t)     \
        }                                                                           \
    }

// The largest weights of a table, columns ascending; INT_MAX where there are fewer than MOST.
void keep_largest(int *c, ACC *w, TABLE)
{
    const ACC least = (ACC)0.22; // of the largest weight
    UNROLLED for (int t = 0; t <= MOST; t++) c[t] = INT_MAX, w[t] = 0;
    for (int s = 0; s < 1 << (32 - shift); s += 4) {
        int4 member = vload4(0, key + s);
        KEEP(member.s0, weight[s])
        KEEP(member.s1, weight[s + 1])
        KEEP(member.s2, weight[s + 2])
        KEEP(member.s3, weight[s + 3])
    }
    ACC enough = least * fabs(w[0]);
    UNROLLED for (int t = 1; t < MOST; t++) if (fabs(w[t]) < enough) c[t] = INT_MAX, w[t] = 0;
    UNROLLED for (int end = MOST - 1; end > 0; end--)
        UNROLLED for (int t = 0; t < end; t++) SWAP_ENTRIES_IF(c[t] > c[t + 1], t, t + 1)
}

// Row i of P to entries MOST i ... of entry_col and entry_val; its length, or -1 if it does not fit. unfit: how many
// rows do not.
kernel void interpolation_choose(ROWS, MATRIX, TABLE, global int *restrict length,
                                 global int *restrict entry_col, global REAL *restrict entry_val,
                                 global int *restrict unfit)
{
    TAKE_TABLE
    EACH_ROW(k)
    {
        int i = is_list ? todo[k] : (int)k, c[MOST + 1], many = 0;
        ACC w[MOST + 1], some = 0, size = 0, factor = 1;
        if (number[i] != F) {
            c[0] = number[i] < 0 ? INT_MAX : number[i], w[0] = 1;
            c[1] = c[2] = c[3] = INT_MAX;
        } else if (find_members(i, MATRIX_HERE, TABLE_HERE)) {
            ACC2 d_and_sum = weigh(i, MATRIX_HERE, TABLE_HERE);
            keep_largest(c, w, TABLE_HERE);
            UNROLLED for (int t = 0; t < MOST; t++) some += w[t], size += fabs(w[t]);
            factor = factor_of(d_and_sum, some, size);
        } else {
            length[i] = -1;
            atomic_inc(unfit);
            continue;
        }
        UNROLLED for (int t = 0; t < MOST; t++) {
            if (c[t] == INT_MAX) continue;
            entry_col[MOST * (long)i + t] = c[t], entry_val[MOST * (long)i + t] = (REAL)(factor * w[t]);
            many++;
        }
        length[i] = many;
    }
}

// The rows that do not fit, in any order; nothing depends on it. unfit becomes 0.
kernel void interpolation_list(int n, global const int *restrict length, global int *restrict todo,
                               global int *restrict unfit)
{
    FOR_EACH(i, n)
    {
        if (length[i] < 0) todo[atomic_dec(unfit) - 1] = (int)i;
    }
}

kernel void interpolation_gather(int n, global const int *restrict p_ptr,
                                 global const int *restrict entry_col,
                                 global const REAL *restrict entry_val, global int *restrict p_col,
                                 global REAL *restrict p_val)
{
    FOR_EACH(i, n)
    {
        long from = MOST * i - p_ptr[i];
        for (int e = p_ptr[i]; e < p_ptr[i + 1]; e++)
            p_col[e] = entry_col[from + e], p_val[e] = entry_val[from + e];
    }
}

// New numbers at the places that P has. Rows that do not fit are left as they are.
kernel void interpolation_renew(ROWS, MATRIX, TABLE, global const int *restrict p_ptr,
                                global const int *restrict p_col, global REAL *restrict p_val)
{
    TAKE_TABLE
    EACH_ROW(k)
    {
        int i = is_list ? todo[k] : (int)k, from = p_ptr[i], end = p_ptr[i + 1];
        ACC some = 0, size = 0;
        if (number[i] != F) {
            if (from < end) p_val[from] = 1;
        } else if (find_members(i, MATRIX_HERE, TABLE_HERE)) {
            ACC2 d_and_sum = weigh(i, MATRIX_HERE, TABLE_HERE);
            for (int e = from; e < end; e++) {
                ACC w = weight[slot_of(p_col[e], TABLE_HERE)];
                some += w, size += fabs(w);
            }
            ACC factor = factor_of(d_and_sum, some, size);
            for (int e = from; e < end; e++)
                p_val[e] = (REAL)(factor * weight[slot_of(p_col[e], TABLE_HERE)]);
        }
    }
}
