// block_ic.cl - z := (L D U)^-1 r of diagonal blocks, L and U unit triangular: a forward sweep, a
// scaling, a back sweep.
//
// Host: src/precond/block_solve.c. Blocks have `rows` consecutive rows, the last one what is left of
// n. STRIDE blocks make a bundle: their numbers at one place of the factors are neighbours, so that a
// vector (CPUs, STRIDE 8) or neighbouring work-items (GPUs) solve with STRIDE blocks at the same time.
// CPUs walk bundles one after the other, with STRIDE 1 if blocks are few.
//
// block_pieces     GPUs: L and U have few diagonals; a group to a block, STRIDE is 1. CPUs: block_diagonals.cl
// block_rows       any structure: rows with column indices, padded to the longest of the bundle
// block_levels     the same for all rows of a matrix in the order of their levels, a sweep at a time
//
// Vectors have `columns` of them, r_pitch and z_pitch apart. GPUs launch groups for each; on CPUs a group solves for one
// after the other with a bundle, whose numbers stay in its cache.
//
// Diagonals: pairs (offset, begin), offsets ascending. A bundle's numbers are in its `slot`, of
// `record` numbers for each of the STRIDE blocks: those of L, from upper_at on those of U, from
// inverse_at on D^-1. Number begin + c of a diagonal is L[c + offset][c], or U[c][c + offset]: if
// U = L', it is the same place, and upper_at is 0.
//
// Numbers and rows of bundles: block.clh

#include "common/kry.clh"
#include "precond/block.clh"

#pragma kry part diagonals

#ifndef KRY_CPU

// A piece of `step` rows at a time, EACH_ITEM neighbours to a work-item. No diagonal but the first
// has an offset below `step`, so that what they take away is known before the piece; along the
// first, of offset 1, y_j = a_j y_j-1 + b_j: maps that are put together in a scan over the group.
#define EACH_ITEM 4

typedef struct piece {
    REAL a[EACH_ITEM], b[EACH_ITEM];
} piece;

// The number that goes into this work-item's first row; *carry: into the piece, then out of it.
REAL scan_piece(const piece *p, REAL *carry, local REAL *all)
{
    int item = get_local_id(0), from = 0;
    REAL a = 1, b = 0;

    for (int u = 0; u < EACH_ITEM; u++) a *= p->a[u], b = p->a[u] * b + p->b[u];
    // all: two copies of (a, b) over the group, written in turn
    int step = 1;
    all[item] = a, all[WG + item] = b;
    barrier(CLK_LOCAL_MEM_FENCE);
    do {
        int other = item - step;
        if (step < WG && other >= 0) {
            b += a * all[from + WG + other];
            a *= all[from + other];
        }
        from = 2 * WG - from;
        all[from + item] = a, all[from + WG + item] = b;
        barrier(CLK_LOCAL_MEM_FENCE);
        step *= 2;
    } while (step < WG);
    REAL in = *carry;
    if (item) in = all[from + item - 1] * in + all[from + WG + item - 1];
    *carry = all[from + WG - 1] * *carry + all[from + 2 * WG - 1];
    barrier(CLK_LOCAL_MEM_FENCE); // `all` is free again
    return in;
}

// A sweep over the rows of a block in pieces of `step`: forward with f = L, from x to y; or back with
// f = U, on by D^-1 y.
void solve_pieces(const int back, int length, int step, int m, global const int *restrict diagonal,
                  global const STORED *restrict f, global const STORED *restrict d, REAL by,
                  global const REAL *restrict x, global REAL *y, local REAL *all)
{
    const int chain = m && diagonal[0] == 1, each = (step + WG - 1) / WG;
    REAL carry = 0;
    piece p;
    int t = 0;
    do { // rows are counted in the order of the sweep
        int first = t + (int)get_local_id(0) * each, end = min(t + step, length);
        for (int i = 0; i < EACH_ITEM; i++) {
            int row = first + i, j = back ? length - 1 - row : row;
            p.a[i] = 1, p.b[i] = 0;
            if (i >= each || row >= end) continue;
            REAL sum = back ? by * stored_at(d, j) * y[j] : x[j];
            for (int k = chain; k < m && diagonal[2 * k] <= row; k++) {
                int c = back ? j + diagonal[2 * k] : j - diagonal[2 * k];
                sum -= stored_at(f, diagonal[2 * k + 1] + (back ? j : c)) * y[c];
            }
            p.a[i] = chain && row ? -stored_at(f, back ? j : j - 1) : 0, p.b[i] = sum;
        }
        REAL last = scan_piece(&p, &carry, all);
        for (int i = 0; i < EACH_ITEM; i++) {
            int row = first + i;
            last = p.a[i] * last + p.b[i];
            if (i < each && row < end) y[back ? length - 1 - row : row] = last;
        }
        barrier(CLK_GLOBAL_MEM_FENCE);
        t += step;
    } while (t < length);
}

kernel void block_pieces(long n, int rows, int blocks, int m, global const int *restrict diagonal,
                         global const int *restrict slot, long record, long upper_at,
                         long inverse_at, global const STORED *restrict factor, ACC scale,
                         int step, int columns, global const REAL *restrict r, long r_first, long r_pitch,
                         global REAL *z, long z_first, long z_pitch)
{
    local REAL all[4 * WG];
    const REAL by = (REAL)scale;
    int b = get_group_id(0);
    r += COLUMN_HERE * r_pitch, z += COLUMN_HERE * z_pitch;

    do {
        long at = (long)b * rows;
        int length = (int)min((long)rows, n - at);
        global const STORED *l = factor + slot[b] * record, *u = l + upper_at, *d = l + inverse_at;
        global const REAL *x = r + r_first + at;
        global REAL *y = z + z_first + at;
        solve_pieces(0, length, step, m, diagonal, l, d, by, x, y, all);
        solve_pieces(1, length, step, m, diagonal, u, d, by, x, y, all);
        b += (int)get_num_groups(0);
    } while (b < blocks);
}

#endif

#pragma kry part levels

#ifdef KRY_CPU
#define GROUP 1
#endif

// Levels first ... last - 1 of the sweep forward with L, from r to z, or back with U, on by D^-1 in z. Rows of a
// level, row[level_begin[l]] and so on, do not depend on each other. One group takes many levels with few rows, many
// groups take one with many.
//
// Moved in both sweeps: L, U and D^-1 once; r read, z written twice and read once, and once for each entry as far as
// the caches do not hold it; a word of `row` and one column for each entry.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
block_levels(int first, int last, int back, global const int *restrict level_begin,
                         global const int *restrict row, global const int *restrict begin,
                         global const int *restrict col, global const STORED *restrict val,
                         global const STORED *restrict inverse, ACC scale,
                         global const REAL *restrict r, long r_first, long r_pitch,
                         global REAL *z, long z_first, long z_pitch)
{
    const REAL by = (REAL)scale;
    int l = first;
    r += r_first + COLUMN_HERE * r_pitch, z += z_first + COLUMN_HERE * z_pitch;
    do {
        const int at = level_begin[l], count = level_begin[l + 1] - at;
        FOR_EACH(k, count) {
            const int p = at + (int)k, i = row[p], end = begin[p / STRIDE + 1];
            REAL sum = back ? by * stored_at(inverse, p) * z[i] : r[i];
            for (int e = begin[p / STRIDE]; e < end; e++) {
                const long q = (long)e * STRIDE + p % STRIDE;
                const int c = col[q];
                if (c < 0) break;
                sum -= stored_at(val, q) * z[c];
            }
            z[i] = sum;
        }
        barrier(CLK_GLOBAL_MEM_FENCE);
    } while (++l < last);
}

#pragma kry part rows

// Bundles of this walker: a group of a CPU, STRIDE work-items of a GPU.
#ifdef KRY_CPU
#define FOR_BUNDLES(b, bundles) FOR_EACH(b, bundles)
#define WALKER                  get_group_id(0)
#define WALKERS                 get_num_groups(0)
#else
#define FOR_BUNDLES(b, bundles)                                \
    for (long b = get_global_id(0) / STRIDE; b < bundles;      \
         b += get_global_size(0) / STRIDE)
#define WALKER  (get_global_id(0) / STRIDE)
#define WALKERS (get_global_size(0) / STRIDE)
#endif

// sum - row i of L or U, counted over all bundles, times y
INLINED lanes subtract_row(lanes sum, long i, global const int *begin, global const int *col,
                           global const STORED *val, global const REAL *y)
{
    for (long e = begin[i]; e < begin[i + 1]; e++) sum -= factors_at(val, e) * get_columns(y, col + e * STRIDE);
    return sum;
}

kernel void block_rows(long n, int rows, int bundles, global const int *restrict lower_begin,
                       global const int *restrict lower_col, global const STORED *restrict lower,
                       global const int *restrict upper_begin,
                       global const int *restrict upper_col, global const STORED *restrict upper,
                       global const STORED *restrict inverse, ACC scale, global REAL *restrict scratch,
                       int columns, global const REAL *restrict r, long r_first, long r_pitch,
                       global REAL *restrict z, long z_first, long z_pitch)
{
    global REAL *y = scratch + (COLUMN_HERE * (long)WALKERS + WALKER) * rows * STRIDE;
    const REAL by = (REAL)scale;
    FOR_BUNDLES(b, bundles) FOR_COLUMNS(c, columns) {
        long at = b * STRIDE * rows;
        load_tile(0, rows, rows, n, at, r + r_first + c * r_pitch, y);
        for (int j = 0; j < rows; j++) {
            put(subtract_row(get(y, j), b * rows + j, lower_begin, lower_col, lower, y), j, y);
        }
        for (int j = rows - 1; j >= 0; j--) {
            const long i = b * rows + j;
            put(subtract_row(by * factors_at(inverse, i) * get(y, j), i, upper_begin, upper_col, upper, y), j, y);
        }
        store_tile(0, rows, rows, n, at, y, z + z_first + c * z_pitch);
    }
}
