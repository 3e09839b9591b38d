// given.cl - a matrix in compressed rows as a caller gives it, looked at on the device: whether it can be taken as it is, and
// what is said of it. Host: src/matrix/given.c. CPUs do not run these; the host looks at the entries itself.
//
// found, which holds 0, or 2^31 - 1 where a first row is looked for; numbers of src/matrix/given.c:
//   BAD          row pointers do not ascend from 0 to nnz, columns do not ascend, or a number is not finite
//   LONGEST      entries of the longest row
//   NOT_SINGLE   a number is no single, which devices may flush to 0 below FLT_MIN
//   UNFIT        a number would be infinite in single, or is not 0 and may be flushed to 0
//   UNEQUAL      an entry has no mirror image, or one of other bits
//   ZERO_ROWS, ZERO_ROW   rows whose entries are all 0, and the first one
//   NEGATIVE, NOT_POSITIVE   diagonal entries below 0; the first row whose diagonal is not above 0, and which is not zero
// `lanes` work-items, a power of two, walk a row side by side. What an entry of one row is compared with is found by
// rows.clh.

#include "common/kry.clh"
#include "common/rows.clh"

#define BAD          0
#define LONGEST      1
#define NOT_SINGLE   2
#define UNFIT        3
#define UNEQUAL      4
#define ZERO_ROWS    5
#define ZERO_ROW     6
#define NEGATIVE     7
#define NOT_POSITIVE 8
#define PARTS        16 // where those of groups begin, in int

#define NOTE(what) atomic_or(&found[what], 1)
#define SAME(v, w) ((v) == (w) && signbit(v) == signbit(w)) // to the bit

// Entries e of rows i, for one lane of each row after the other.
#define FOR_ROWS(i) \
    const int lane = (int)(get_global_id(0) % lanes); \
    for (long i = get_global_id(0) / lanes; i < rows; i += get_global_size(0) / lanes)
#define FOR_ENTRIES(e, i) for (int e = ptr[i] + lane; e < ptr[(i) + 1]; e += lanes)

// ptr := the offsets as int; 0 in place of one that is out of range, so that what follows stays in bounds.
kernel void given_offsets(int rows, int nnz, global const long *restrict wide, global int *restrict ptr,
                          global int *found)
{
    int bad = 0, longest = 0;
    FOR_EACH(i, rows + 1L)
    {
        const long begin = wide[i], end = i < rows ? wide[i + 1] : nnz;
        const bool outside = begin < 0 || begin > nnz;
        bad |= outside || begin > end || (i == 0 && begin != 0);
        ptr[i] = outside ? 0 : (int)begin;
        if (i < rows && end <= nnz) longest = max(longest, (int)(end - begin));
    }
    if (bad) NOTE(BAD);
    if (longest > found[LONGEST]) atomic_max(&found[LONGEST], longest);
}

kernel void given_columns(int rows, int cols, int lanes, global const int *restrict ptr,
                          global const int *restrict col, global int *found)
{
    int bad = 0;
    FOR_ROWS(i)
    {
        FOR_ENTRIES(e, i)
        {
            const int before = e > ptr[i] ? col[e - 1] : -1;
            bad |= col[e] <= before || col[e] >= cols;
        }
    }
    if (bad) NOTE(BAD);
}

kernel void given_values(long nnz, global const REAL *restrict val, global int *found)
{
    int bad = 0, not_single = 0, unfit = 0;
    FOR_EACH(k, nnz)
    {
        const REAL v = val[k];
        const float narrow = (float)v;
        bad |= !isfinite(v);
        const bool tiny = v != 0 && fabs(v) < FLT_MIN;
        not_single |= (REAL)narrow != v || tiny;
        unfit |= !isfinite(narrow) || tiny;
    }
    if (bad) NOTE(BAD);
    if (not_single) NOTE(NOT_SINGLE);
    if (unfit) NOTE(UNFIT);
}

// ---- what a matrix of ascending columns says against Krylov methods: src/matrix/inspect.c ----

#ifdef KRY_FP64

// A difference of `mine` at entry k comes before one of `other` at entry l.
#define COMES_FIRST(mine, k, other, l) ((mine) > (other) || ((mine) == (other) && (k) < (l)))

// parts: behind what was found, for each group six doubles: the largest entry in size; the largest difference from a mirror
// image, 0 where there is none; the two numbers that differ; and as int which entry it is, its row and its column. Of a
// pair the upper entry counts, and of equals the first. Does nothing where a column may be out of range.
kernel void given_mirrors(int rows, int lanes, global const int *restrict ptr,
                          global const int *restrict col, global const REAL *restrict val, global int *found)
{
    local double most[WG], size[WG];
    local int first[WG];
    const int l = get_local_id(0);
    double apart = 0, big = 0, number = 0, image = 0;
    int unequal = 0, mine = INT_MAX, my_row = -1, my_col = -1;
    if (found[BAD]) rows = 0;
    FOR_ROWS(i)
    {
        FOR_ENTRIES(e, i)
        {
            const int j = col[e];
            const REAL v = val[e];
            big = fmax(big, (double)fabs(v));
            if (j == i) continue;
            const int other = entry_of(ptr, col, j, (int)i);
            if (other >= 0 && j < i) continue; // of that pair the other entry counts
            const REAL w = other >= 0 ? val[other] : (REAL)0;
            const double here = fabs((double)v - (double)w);
            unequal |= other < 0 || !SAME(v, w);
            if (here > 0 && COMES_FIRST(here, e, apart, mine))
                apart = here, mine = e, my_row = (int)i, my_col = j, number = v, image = w;
        }
    }
    if (unequal) NOTE(UNEQUAL);
    most[l] = apart, size[l] = big, first[l] = mine;
    for (int step = WG / 2; step > 0; step /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l >= step) continue;
        size[l] = fmax(size[l], size[l + step]);
        if (COMES_FIRST(most[l + step], first[l + step], most[l], first[l]))
            most[l] = most[l + step], first[l] = first[l + step];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    global double *part = (global double *)(found + PARTS) + 6 * get_group_id(0);
    global int *at = (global int *)(part + 4);
    if (l == 0) part[0] = size[0], part[1] = most[0], at[0] = first[0];
    if (mine == first[0] && mine != INT_MAX) part[2] = number, part[3] = image, at[1] = my_row, at[2] = my_col;
}

#endif

kernel void given_diagonal(int rows, global const int *restrict ptr, global const int *restrict col,
                           global const REAL *restrict val, global int *found)
{
    if (found[BAD]) rows = 0;
    FOR_EACH(i, rows)
    {
        const int own = entry_of(ptr, col, (int)i, (int)i);
        const REAL v = own >= 0 ? val[own] : (REAL)0;
        if (v > 0) continue;
        int e = ptr[i];
        while (e < ptr[i + 1] && val[e] == 0) e++;
        const bool zeros = e == ptr[i + 1];
        if (zeros) {
            atomic_inc(&found[ZERO_ROWS]);
            atomic_min(&found[ZERO_ROW], (int)i);
        } else {
            atomic_min(&found[NOT_POSITIVE], (int)i);
        }
        if (v < 0) atomic_inc(&found[NEGATIVE]);
    }
}

// ---- what the choice of a format asks: src/matrix/predict.c ----

// Bit j - i + rows of `seen` := 1 for each entry (i, j).
kernel void given_diagonals(int rows, int lanes, global const int *restrict ptr,
                            global const int *restrict col, global int *seen)
{
    FOR_ROWS(i)
    {
        FOR_ENTRIES(e, i)
        {
            const long d = col[e] - i + rows;
            const int bit = 1 << (int)(d % 32);
            if (!(seen[d / 32] & bit)) atomic_or(&seen[d / 32], bit);
        }
    }
}

// list[0]: how many diagonals of `all` are seen; behind it the first so many offsets that are found, in any order.
kernel void given_list(int rows, int all, int room, global const int *restrict seen, global int *list)
{
    FOR_EACH(w, (all + 31L) / 32)
    {
        for (int bits = seen[w], b = 0; bits && b < 32; b++) {
            if (!(bits >> b & 1)) continue;
            const int at = atomic_inc(&list[0]);
            if (at < room) list[1 + at] = (int)(w * 32 + b - rows);
        }
    }
}

#define BINS 256

// with[k]: rows of k entries; those of few by way of the group's own counts.
kernel void given_lengths(int rows, global const int *restrict ptr, int longest, global int *with)
{
    local int bin[BINS];
    for (int k = get_local_id(0); k < BINS; k += WG) bin[k] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    FOR_EACH(i, rows)
    {
        const int length = ptr[i + 1] - ptr[i];
        if (length < BINS)
            atomic_inc(&bin[length]);
        else
            atomic_inc(&with[length]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = get_local_id(0); k < BINS && k <= longest; k += WG)
        if (bin[k]) atomic_add(&with[k], bin[k]);
}
