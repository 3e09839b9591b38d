// gemm.cl - products of dense matrices, C := alpha A B + beta C, where CLBlast is not asked.
// Host: src/dense/gemm.c.
// A is m-by-k, B k-by-n: entry (i, j) of X lies x_row i + x_col j numbers behind x0, one of the two
// strides being 1, so that a transpose is a change of strides. C is column major. With beta == 0, C
// is not read. Every number of C is summed by one work-item of gemm_tile, in the order of k.

#include "common/kry.clh"

#define GEMM_PARAMS                                                                                 \
    long m, long n, long k, ACC alpha, global const REAL *restrict A, long a0, long a_row,          \
        long a_col, global const REAL *restrict B, long b0, long b_row, long b_col, ACC beta,       \
        global REAL *C, long c0, long ld

#ifndef KRY_CPU

// Groups of TS x TS work-items, TS >= 4 FOURS, each with FOURS x FOURS blocks of 4-by-4 numbers of C, so that
// a group has a square of SIDE; slices of A and B, STEP wide, pass through local memory, while the
// next ones are on their way into registers.
#define GROUP (TS * TS)
#define SIDE  (TS * 4 * FOURS)
#define STEP  8
#define SHARE (SIDE * STEP / GROUP) // numbers of a slice, to a work-item
#define PITCH (SIDE + 4)            // in local memory: a slice is stored along either side

// Where the first number of a work-item's share lies, `side` across and `deep` along the inner dimension, and how far
// behind it the next ones are: neighbours are neighbours in memory.
typedef struct share {
    int side, deep, next_side, next_deep;
    long next; // in memory
} share;

share share_of(int l, long by_side, long by_deep)
{
    const int along = by_side == 1;
    share s;
    s.side = along ? l % SIDE : l / STEP, s.next_side = along ? 0 : GROUP / STEP;
    s.deep = along ? l / SIDE : l % STEP, s.next_deep = along ? GROUP / SIDE : 0;
    s.next = s.next_side * by_side + s.next_deep * by_deep;
    return s;
}

// The share of a slice of which `sides` by `deeps` numbers exist, beyond them zeros. x: its first number.
#define FETCH(held, x, s, sides, deeps)                                                         \
    UNROLLED for (int e = 0; e < SHARE; e++)                                                    \
    {                                                                                           \
        const int there = s.side + e * s.next_side < (sides) && s.deep + e * s.next_deep < (deeps); \
        held[e] = there ? x[e * s.next] : 0;                                                    \
    }
#define KEEP(held, slice, s)                                                                    \
    UNROLLED for (int e = 0; e < SHARE; e++)                                                    \
    {                                                                                           \
        const int side = s.side + e * s.next_side, deep = s.deep + e * s.next_deep;             \
        ((local REAL *)slice)[deep * PITCH + side] = held[e];                                   \
    }

// C := alpha sum + beta C for 4 columns and 4 rows, of which those before n and m exist. c: the first number. All is
// read before anything is stored: for all that the compiler knows, a number may lie where one before it is stored.
// A macro, because an array in registers cannot be passed to a function.
#define STORE(sum, c, row, column)                                                              \
    {                                                                                           \
        REAL old[4][4], v[4];                                                                   \
        UNROLLED for (int j = 0; j < 4; j++) UNROLLED for (int i = 0; i < 4; i++)               \
            old[j][i] = beta != 0 && (row) + i < m && (column) + j < n ? (c)[j * ld + i] : 0;   \
        UNROLLED for (int j = 0; j < 4; j++)                                                    \
        {                                                                                       \
            const REAL4 z = (REAL)alpha * (sum)[j];                                             \
            v[0] = z.x, v[1] = z.y, v[2] = z.z, v[3] = z.w;                                     \
            UNROLLED for (int i = 0; i < 4; i++)                                                \
            {                                                                                   \
                v[i] += (REAL)beta * old[j][i];                                                 \
                if ((row) + i < m && (column) + j < n) (c)[j * ld + i] = v[i];                  \
            }                                                                                   \
        }                                                                                       \
    }

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void gemm_tile(GEMM_PARAMS)
{
    local REAL4 slice_a[STEP * PITCH / 4], slice_b[STEP * PITCH / 4];
    const int l = get_local_id(0), x = l % TS, y = l / TS;
    const share of_a = share_of(l, a_row, a_col), of_b = share_of(l, b_col, b_row);
    const long down = (m + SIDE - 1) / SIDE, across = (n + SIDE - 1) / SIDE;
    long tile = get_group_id(0);

    A += a0 + of_a.side * a_row + of_a.deep * a_col;
    B += b0 + of_b.side * b_col + of_b.deep * b_row;
    C += c0;
    do { // the host makes no more groups than there are tiles
        const long i0 = tile % down * SIDE, j0 = tile / down * SIDE;
        global const REAL *next_a = A + i0 * a_row, *next_b = B + j0 * b_col;
        REAL4 sum[FOURS][4 * FOURS];
        REAL held_a[SHARE], held_b[SHARE];
        long left = k;
        UNROLLED for (int f = 0; f < FOURS; f++) UNROLLED for (int j = 0; j < 4 * FOURS; j++)
            sum[f][j] = (REAL4)(0);
        FETCH(held_a, next_a, of_a, m - i0, left)
        FETCH(held_b, next_b, of_b, n - j0, left)
        do {
            barrier(CLK_LOCAL_MEM_FENCE);
            KEEP(held_a, slice_a, of_a)
            KEEP(held_b, slice_b, of_b)
            barrier(CLK_LOCAL_MEM_FENCE);
            next_a += STEP * a_col, next_b += STEP * b_row, left -= STEP;
            if (left > 0) {
                FETCH(held_a, next_a, of_a, m - i0, left)
                FETCH(held_b, next_b, of_b, n - j0, left)
            }
            UNROLLED for (int d = 0; d < STEP; d++)
            {
                REAL4 a[FOURS];
                UNROLLED for (int f = 0; f < FOURS; f++)
                    a[f] = slice_a[(d * PITCH + f * 4 * TS) / 4 + x];
                UNROLLED for (int g = 0; g < FOURS; g++)
                {
                    const REAL4 b = slice_b[(d * PITCH + g * 4 * TS) / 4 + y];
                    UNROLLED for (int f = 0; f < FOURS; f++)
                    {
                        sum[f][4 * g] += a[f] * b.x;
                        sum[f][4 * g + 1] += a[f] * b.y;
                        sum[f][4 * g + 2] += a[f] * b.z;
                        sum[f][4 * g + 3] += a[f] * b.w;
                    }
                }
            }
        } while (left > 0);
        UNROLLED for (int f = 0; f < FOURS; f++) UNROLLED for (int g = 0; g < FOURS; g++)
        {
            const long row = i0 + 4 * (f * TS + x), column = j0 + 4 * (g * TS + y);
            global REAL *c = C + column * ld + row;
            STORE(sum[f] + 4 * g, c, row, column)
        }
        tile += get_num_groups(0);
    } while (tile < down * across);
}

// C := alpha A B + beta C for a C of few columns: a group has `rows` rows of one column at a time, and WG / rows
// work-items share the sum of each; neighbours are neighbours in A.
kernel void gemm_narrow(GEMM_PARAMS, int rows)
{
    local REAL lane[WG];
    const int l = get_local_id(0), sharers = WG / rows;
    const int r = a_row == 1 ? l % rows : l / sharers, q = a_row == 1 ? l / rows : l % sharers;
    const long down = (m + rows - 1) / rows;
    long tile = get_group_id(0);

    A += a0, B += b0, C += c0;
    do { // the host makes no more groups than there are tiles
        const long i = tile % down * rows + r, j = tile / down;
        REAL sum = 0;
        if (i < m)
            for (long d = q; d < k; d += sharers)
                sum += A[i * a_row + d * a_col] * B[d * b_row + j * b_col];
        barrier(CLK_LOCAL_MEM_FENCE);
        lane[q * rows + r] = sum;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (q == 0 && i < m) {
            for (int s = 1; s < sharers; s++) sum += lane[s * rows + r];
            global REAL *c = C + j * ld + i;
            *c = beta == 0 ? (REAL)alpha * sum : (REAL)alpha * sum + (REAL)beta * *c;
        }
        tile += get_num_groups(0);
    } while (tile < down * n);
}

#else

// A square of SIDE at a time; slices of A and B, STEP wide, are copied into a row of the cache
// each.
#define SIDE 32
#define STEP 64

void gemm_copy(REAL *slice, global const REAL *x, int sides, int deeps, long by_side, long by_deep)
{
    for (int i = 0; i < deeps * SIDE && sides < SIDE; i++) slice[i] = 0;
    if (by_side == 1)
        for (int d = 0; d < deeps; d++)
            for (int s = 0; s < sides; s++) slice[d * SIDE + s] = x[s + d * by_deep];
    else
        for (int s = 0; s < sides; s++)
            for (int d = 0; d < deeps; d++) slice[d * SIDE + s] = x[s * by_side + d * by_deep];
}

// sum += a b, 8 rows and 4 columns at a time
void gemm_multiply(REAL *sum, const REAL *a, const REAL *b, int deeps)
{
    for (int j = 0; j < SIDE; j += 4)
        for (int i = 0; i < SIDE; i += 8) {
            REAL *s = sum + j * SIDE + i;
            VEC s0 = vload8(0, s), s1 = vload8(0, s + SIDE), s2 = vload8(0, s + 2 * SIDE),
                s3 = vload8(0, s + 3 * SIDE);
            for (int d = 0; d < deeps; d++) {
                VEC v = vload8(0, a + d * SIDE + i);
                const REAL *w = b + d * SIDE + j;
                s0 += v * w[0], s1 += v * w[1], s2 += v * w[2], s3 += v * w[3];
            }
            vstore8(s0, 0, s), vstore8(s1, 0, s + SIDE), vstore8(s2, 0, s + 2 * SIDE);
            vstore8(s3, 0, s + 3 * SIDE);
        }
}

kernel void gemm_tile(GEMM_PARAMS)
{
    const long down = (m + SIDE - 1) / SIDE, across = (n + SIDE - 1) / SIDE;
    REAL a[STEP * SIDE], b[STEP * SIDE], sum[SIDE * SIDE];

    FOR_EACH(tile, down * across)
    {
        const long i0 = tile % down * SIDE, j0 = tile / down * SIDE;
        const int rows = (int)min(m - i0, (long)SIDE), columns = (int)min(n - j0, (long)SIDE);
        for (int e = 0; e < SIDE * SIDE; e++) sum[e] = 0;
        for (long at = 0; at < k; at += STEP) {
            const int deeps = (int)min(k - at, (long)STEP);
            gemm_copy(a, A + a0 + i0 * a_row + at * a_col, rows, deeps, a_row, a_col);
            gemm_copy(b, B + b0 + j0 * b_col + at * b_row, columns, deeps, b_col, b_row);
            gemm_multiply(sum, a, b, deeps);
        }
        for (int j = 0; j < columns; j++) {
            global REAL *c = C + c0 + (j0 + j) * ld + i0;
            const REAL *s = sum + j * SIDE;
            if (beta == 0)
                for (int i = 0; i < rows; i++) c[i] = (REAL)alpha * s[i];
            else
                for (int i = 0; i < rows; i++) c[i] = (REAL)alpha * s[i] + (REAL)beta * c[i];
        }
    }
}

// Rows of A one after the other, or its columns in strips of 32 rows: whatever is contiguous.
kernel void gemm_narrow(GEMM_PARAMS, int rows)
{
    const long strips = a_row == 1 ? (m + 31) / 32 : m;
    REAL sum[32];

    A += a0, B += b0, C += c0;
    FOR_EACH(tile, strips * n)
    {
        const long i0 = tile % strips * (a_row == 1 ? 32 : 1), j = tile / strips;
        const int count = a_row == 1 ? (int)min(m - i0, 32L) : 1;
        for (int i = 0; i < 32; i++) sum[i] = 0;
        if (count == 32) {
            VEC s0 = 0, s1 = 0, s2 = 0, s3 = 0;
            for (long d = 0; d < k; d++) {
                global const REAL *a = A + i0 + d * a_col;
                REAL b = B[d * b_row + j * b_col];
                s0 += vload8(0, a) * b, s1 += vload8(1, a) * b, s2 += vload8(2, a) * b;
                s3 += vload8(3, a) * b;
            }
            vstore8(s0, 0, sum), vstore8(s1, 1, sum), vstore8(s2, 2, sum), vstore8(s3, 3, sum);
        } else if (a_row == 1) {
            for (long d = 0; d < k; d++)
                for (int i = 0; i < count; i++)
                    sum[i] += A[i0 + i + d * a_col] * B[d * b_row + j * b_col];
        } else {
            VEC s = 0;
            long whole = b_row == 1 ? k / 8 * 8 : 0;
            for (long d = 0; d < whole; d += 8)
                s += vload8(0, A + i0 * a_row + d) * vload8(0, B + d + j * b_col);
            sum[0] = LANES_SUM(s);
            for (long d = whole; d < k; d++) sum[0] += A[i0 * a_row + d] * B[d * b_row + j * b_col];
        }
        for (int i = 0; i < count; i++) {
            global REAL *c = C + j * ld + i0 + i;
            *c = beta == 0 ? (REAL)alpha * sum[i] : (REAL)alpha * sum[i] + (REAL)beta * *c;
        }
    }
}

#endif
