// interpolation.cl - extended+i interpolation for classical coarsening, truncated to MOST entries a row.
// Host: src/amg/classical.c. Sums are in ACC. `strong` as in strong.clh.
//
// The variant of extended+i that is made of products of matrices. An F point i is interpolated from the C points that it
// depends on, and from those that the other points k depend on that it depends on:
//
//   w_ij = -(a_ij + sum_k a_ik a_kj / s_ik) / d_i,    s_ik = a_ki + sum_l a_kl, l the C points that k depends on
//   d_i  = a_ii + sum_n a_in + sum_k a_ik a_ki / s_ik,    n the points that i does not depend on
//
// where a_kj and a_kl of row k count if k depends on that C point and if they are negative, and a_ki is taken
// from row i, to which it is equal. If s_ik is zero, a_ik is added to d_i. Points that are alone have no error after
// relaxation: n is none of them. Of a long row k only a_ki counts, so that the work stays linear.
//
// number[j] is that of a C point on the coarser level, F for F points, below it for points that are alone. Row k of
// `near` has the C points that k depends on, by their numbers, and 0 instead of positive couplings to them; near_sum
// is the sum of the row.
//
// A work-item has a row at a time, and a table for its C points, entered by hashing: `key` is a number, or NONE, and
// `weight` becomes -d w. Rows that do not fit are left to a launch with larger tables.
//   LOCAL_TABLES  in local memory, of 2^5 slots for each of GROUP work-items, side by side, with a list of those in use
//   otherwise     in global memory, of 2^(32 - shift) slots, for the first `tables` work-items; `todo` lists the rows
//
// Words moved, of 4 bytes: interpolation_near 1 a strong coupling and 4 one to a C point, of matrices in double;
// interpolation_choose and interpolation_renew 4 an entry, and for each point that a row depends on its row of
// `near`, 3 an entry.

#include "common/kry.clh"
#include "amg/strong.clh"

#pragma OPENCL FP_CONTRACT OFF

#define MOST 4
#define NONE -1
#define F    -1

#define MATRIX                                                                             \
    global const int *restrict ptr, global const int *restrict col,                        \
        global const REAL *restrict val, global const uint *restrict strong,               \
        global const int *restrict number, global const int *restrict near_ptr,            \
        global const int *restrict near_col, global const REAL *restrict near_val,         \
        global const ACC *restrict near_sum
#define MATRIX_HERE ptr, col, val, strong, number, near_ptr, near_col, near_val, near_sum

// ---- tables and who has which rows: TABLES are arguments, MY_TABLE makes `shift`, `key` and `weight` ----

#ifdef LOCAL_TABLES
#ifdef KRY_CPU
#define GROUP 1
#else
#define GROUP (WG < 32 ? WG : 32)
#endif
#define SPACE   local
#define AT(s)   ((s) * GROUP)
#define TABLES  int n
#define ROW(k)  ((int)(k))
#define ROWS(k) FOR_EACH(k, n)
#define MY_TABLE                                                            \
    local int keys[32 * GROUP];                                             \
    local ACC weights[32 * GROUP];                                          \
    local uchar places[32 * GROUP];                                         \
    const int shift = 27;                                                   \
    local int *key = keys + get_local_id(0);                                \
    local ACC *weight = weights + get_local_id(0);                          \
    local uchar *place = places + get_local_id(0);
#define LIST             local uchar *place,
#define LIST_HERE        place,
#define ENLIST(s, used)  place[AT(used)] = (uchar)((s) / GROUP)
#define EACH_PLACE(s, used)                                                 \
    for (int s##_at = 0; s##_at < (used); s##_at++)                         \
        for (uint s = AT((uint)place[AT(s##_at)]), s##_go = 1; s##_go; s##_go = 0)
#else
#define SPACE  global
#define AT(s)  (s)
#define TABLES int n, global const int *restrict todo, int tables, int shift, global int *key, \
               global ACC *weight
#define ROW(k) todo[k]
#ifdef KRY_CPU
#define ROWS(k) FOR_EACH(k, n)
#else
#define ROWS(k) for (long k = get_global_id(0); k < n; k += tables)
#endif
#define LIST
#define LIST_HERE
#define ENLIST(s, used)
#define EACH_PLACE(s, used)                                       \
    for (uint s = 0; s < 1u << (32 - shift); s++) if (key[s] != NONE)
#define MY_TABLE                                  \
    if ((int)get_global_id(0) >= tables) return;  \
    key += (long)get_global_id(0) << (32 - shift); \
    weight += (long)get_global_id(0) << (32 - shift);
#endif

#define TABLE      LIST int shift, SPACE int *key, SPACE ACC *weight
#define TABLE_HERE LIST_HERE shift, key, weight

// Where c is in the table, or would be.
uint slot_of(int c, TABLE)
{
    uint last = (1u << (32 - shift)) - 1, s = (uint)c * 2654435769u >> shift;
    while (key[AT(s)] != c && key[AT(s)] != NONE) s = (s + 1) & last;
    return AT(s);
}

// Add to the weight of c; `used` counts those that are in.
int add(int c, ACC a, int used, TABLE)
{
    uint s = slot_of(c, TABLE_HERE);
    if (key[s] == NONE) {
        ENLIST(s, used);
        key[s] = c, weight[s] = a, used++;
    } else
        weight[s] += a;
    return used;
}

// ---- weights of a row ----

// The weights of row i, d, and the sum of the weights. Returns how many weights there are; -1 if there was no room for all.
int weigh(int i, MATRIX, TABLE, ACC *d_of, ACC *sum_of)
{
    int slots = 1 << (32 - shift), most = slots / 4 * 3, used = 0;
    ACC d = 0, sum = 0, diagonal = 0;
    uint bits = 0;
    for (int s = 0; s < slots; s++) key[AT(s)] = NONE;
    for (int e = ptr[i], begin = e, word = WORD(i); e < ptr[i + 1] && used <= most; e++) {
        int j = col[e], c = number[j], bit = (e - begin) & 31;
        ACC a = val[e];
        if (bit == 0) bits = strong[word++];
        if (j == i) diagonal = a;
        if (!(bits >> bit & 1)) {
            if (c >= F) d += a;
        } else if (c >= 0) {
            used = add(c, a, used, TABLE_HERE);
            sum += a;
        } else {
            ACC back = fmin(a, (ACC)0), s = near_sum[j] + back;
            ACC part = s != 0 ? a / s : (ACC)0, own = s != 0 ? part * back : a;
            for (int f = near_ptr[j]; f < near_ptr[j + 1] && used <= most; f++)
                used = add(near_col[f], part * near_val[f], used, TABLE_HERE);
            d += own, sum += a - own;
        }
    }
    // where weak couplings outweigh the diagonal there is no use in adding them
    *d_of = d <= (ACC)1e-10 * diagonal ? diagonal : d, *sum_of = sum;
    return used <= most ? used : -1;
}

// What makes entries of P of the kept weights, whose sum is `some` and whose sizes have the sum `size`.
ACC factor_of(ACC d, ACC sum, ACC some, ACC size)
{
    ACC scale = sum * some > 0 && fabs(some) >= (ACC)0.1 * size ? sum / some : (ACC)1;
    return scale / -d;
}

#define SWAP_IF(condition, s, t)                    \
    if (condition) {                                \
        int c_ = c[s];                              \
        ACC w_ = w[s];                              \
        c[s] = c[t], c[t] = c_, w[s] = w[t], w[t] = w_; \
    }

// The largest weights of a table, columns ascending; INT_MAX where there are fewer than MOST.
void keep_largest(int used, int *c, ACC *w, TABLE)
{
    const ACC least = (ACC)0.15; // of the largest weight
    UNROLLED for (int t = 0; t <= MOST; t++) c[t] = INT_MAX, w[t] = 0;
    EACH_PLACE(s, used)
    {
        c[MOST] = key[s], w[MOST] = weight[s];
        UNROLLED for (int t = MOST; t > 0; t--)
        {
            ACC a = fabs(w[t]), b = fabs(w[t - 1]);
            SWAP_IF(a > b || (a == b && c[t] < c[t - 1]), t - 1, t)
        }
    }
    ACC enough = least * fabs(w[0]);
    UNROLLED for (int t = 1; t < MOST; t++) if (fabs(w[t]) < enough) c[t] = INT_MAX, w[t] = 0;
    UNROLLED for (int end = MOST - 1; end > 0; end--)
        UNROLLED for (int t = 0; t < end; t++) SWAP_IF(c[t] > c[t + 1], t, t + 1)
}

// ---- kernels ----

#pragma kry part rows

// Row i of P to entries MOST i ... of entry_col and entry_val; its length, or -1 if it does not fit. unfit: how many
// rows do not.
kernel void interpolation_choose(MATRIX, global int *restrict length,
                                 global int *restrict entry_col, global REAL *restrict entry_val,
                                 global int *restrict unfit, TABLES)
{
    MY_TABLE
    ROWS(k)
    {
        int i = ROW(k), c[MOST + 1], many = 0, used = 0;
        ACC w[MOST + 1], d = 0, sum = 0, some = 0, size = 0, factor = 1;
        if (number[i] != F) {
            c[0] = number[i] < 0 ? INT_MAX : number[i], w[0] = 1;
            c[1] = c[2] = c[3] = INT_MAX;
        } else if ((used = weigh(i, MATRIX_HERE, TABLE_HERE, &d, &sum)) >= 0) {
            keep_largest(used, c, w, TABLE_HERE);
            UNROLLED for (int t = 0; t < MOST; t++) some += w[t], size += fabs(w[t]);
            factor = factor_of(d, sum, some, size);
        } else {
            length[i] = -1;
            atomic_inc(unfit);
            continue;
        }
        UNROLLED for (int t = 0; t < MOST; t++)
        {
            if (c[t] == INT_MAX) continue;
            entry_col[MOST * (long)i + t] = c[t], entry_val[MOST * (long)i + t] = (REAL)(factor * w[t]);
            many++;
        }
        length[i] = many;
    }
}

#ifdef LOCAL_TABLES // once in a program is enough

// The couplings of points to the C points that they depend on. unfit := 0, for what follows.
kernel void interpolation_near(int n, global const int *restrict ptr, global const int *restrict col,
                               global const REAL *restrict val, global const uint *restrict strong,
                               global const int *restrict number,
                               global const int *restrict near_ptr, global int *restrict near_col,
                               global REAL *restrict near_val, global ACC *restrict near_sum,
                               global int *restrict unfit)
{
    if (get_global_id(0) == 0) unfit[0] = 0;
    FOR_EACH(i, n)
    {
        int at = near_ptr[i], end = near_ptr[i + 1];
        ACC sum = 0;
        EACH_STRONG(e, i, at < end)
        {
            int c = number[col[e]];
            if (c < 0) continue;
            REAL a = fmin(val[e], (REAL)0);
            near_col[at] = c, near_val[at++] = a, sum += a;
        }
        near_sum[i] = sum;
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

#endif

#pragma kry part their numbers again

// New numbers at the places that P has. Rows that do not fit are left as they are.
kernel void interpolation_renew(MATRIX, global const int *restrict p_ptr,
                                global const int *restrict p_col, global REAL *restrict p_val,
                                TABLES)
{
    MY_TABLE
    ROWS(k)
    {
        int i = ROW(k), from = p_ptr[i], end = p_ptr[i + 1];
        ACC d = 0, sum = 0, some = 0, size = 0;
        if (number[i] != F) {
            if (from < end) p_val[from] = 1;
        } else if (weigh(i, MATRIX_HERE, TABLE_HERE, &d, &sum) >= 0) {
            for (int e = from; e < end; e++) {
                ACC w = weight[slot_of(p_col[e], TABLE_HERE)];
                some += w, size += fabs(w);
            }
            ACC factor = factor_of(d, sum, some, size);
            for (int e = from; e < end; e++)
                p_val[e] = (REAL)(factor * weight[slot_of(p_col[e], TABLE_HERE)]);
        }
    }
}
