// gemm.cl - products of dense matrices, C := alpha A B + beta C, where CLBlast is not asked.
// Host: src/dense/gemm.c.
// A is m-by-k, B k-by-n: entry (i, j) of X lies x_row i + x_col j numbers behind x0, one of the two
// strides being 1, so that a transpose is a change of strides. C is column major. With beta == 0, C
// is not read. Every number of C is summed by one work-item of gemm_tile, in the order of k.

#define GEMM_PARAMS                                                                                 \
    long m, long n, long k, ACC alpha, global const REAL *restrict A, long a0, long a_row,          \
        long a_col, global const REAL *restrict B, long b0, long b_row, long b_col, ACC beta,       \
        global REAL *C, long c0, long ld

#ifndef KRY_CPU

// Groups of TS x TS work-items, each with FOURS x FOURS blocks of 4-by-4 numbers of C, so that a
// group has a square of SIDE; slices of A and B, STEP wide, pass through local memory, while the
// next ones are on their way into registers.
#define GROUP  (TS * TS)
#define SIDE   (TS * 4 * FOURS)
#define STEP   8
#define SHARE  ((SIDE * STEP + GROUP - 1) / GROUP)

// One work-item's share of a slice: number e of it is at (e % SIDE, e / SIDE), or along the other
// side first if that is how X lies in memory.
#define PLACE(e, along) \
    int side = (along) ? (e) % SIDE : (e) / STEP, deep = (along) ? (e) / SIDE : (e) % STEP;

// shares of the slice of `x` that begins at `at`; beyond `sides` and `k` there are zeros
#define FETCH(share, x, first, sides, by_side, by_deep, at)                            \
    UNROLLED for (int s = 0; s < SHARE; s++)                                           \
    {                                                                                  \
        int e = s * GROUP + l;                                                         \
        PLACE(e, (by_side) == 1)                                                       \
        share[s] = deep < STEP && side < SIDE && first + side < sides && at + deep < k \
                       ? x[(first + side) * (by_side) + (at + deep) * (by_deep)]       \
                       : 0;                                                            \
    }
#define KEEP(share, slice, by_side)                                                           \
    UNROLLED for (int s = 0; s < SHARE; s++)                                                  \
    {                                                                                         \
        int e = s * GROUP + l;                                                                \
        PLACE(e, (by_side) == 1)                                                              \
        if (deep < STEP && side < SIDE) ((local REAL *)slice)[deep * SIDE + side] = share[s]; \
    }

// c: column `column` of C
void gemm_store(global REAL *c, long row, long m, REAL4 sum, REAL alpha, REAL beta)
{
    REAL v[4];
    v[0] = sum.x, v[1] = sum.y, v[2] = sum.z, v[3] = sum.w;
    UNROLLED for (int i = 0; i < 4; i++)
    {
        if (row + i < m) c[row + i] = beta == 0 ? alpha * v[i] : alpha * v[i] + beta * c[row + i];
    }
}

kernel void gemm_tile(GEMM_PARAMS)
{
    local REAL4 slice_a[STEP * SIDE / 4], slice_b[STEP * SIDE / 4];
    const int l = get_local_id(0), x = l % TS, y = l / TS;
    const long down = (m + SIDE - 1) / SIDE, across = (n + SIDE - 1) / SIDE;
    long tile = get_group_id(0);

    A += a0, B += b0, C += c0;
    do { // the host makes no more groups than there are tiles
        const long i0 = tile % down * SIDE, j0 = tile / down * SIDE;
        REAL4 sum[FOURS][4 * FOURS];
        REAL share_a[SHARE], share_b[SHARE];
        long at = 0;
        UNROLLED for (int f = 0; f < FOURS; f++) UNROLLED for (int j = 0; j < 4 * FOURS; j++)
            sum[f][j] = (REAL4)(0);
        FETCH(share_a, A, i0, m, a_row, a_col, at)
        FETCH(share_b, B, j0, n, b_col, b_row, at)
        do {
            barrier(CLK_LOCAL_MEM_FENCE);
            KEEP(share_a, slice_a, a_row)
            KEEP(share_b, slice_b, b_col)
            barrier(CLK_LOCAL_MEM_FENCE);
            at += STEP;
            if (at < k) {
                FETCH(share_a, A, i0, m, a_row, a_col, at)
                FETCH(share_b, B, j0, n, b_col, b_row, at)
            }
            UNROLLED for (int d = 0; d < STEP; d++)
            {
                REAL4 a[FOURS];
                UNROLLED for (int f = 0; f < FOURS; f++)
                    a[f] = slice_a[(d * SIDE + f * 4 * TS) / 4 + x];
                UNROLLED for (int g = 0; g < FOURS; g++)
                {
                    const REAL4 b = slice_b[(d * SIDE + g * 4 * TS) / 4 + y];
                    UNROLLED for (int f = 0; f < FOURS; f++)
                    {
                        sum[f][4 * g] += a[f] * b.x;
                        sum[f][4 * g + 1] += a[f] * b.y;
                        sum[f][4 * g + 2] += a[f] * b.z;
                        sum[f][4 * g + 3] += a[f] * b.w;
                    }
                }
            }
        } while (at < k);
        UNROLLED for (int j = 0; j < 4 * FOURS; j++)
        {
            const long column = j0 + j / 4 * 4 * TS + 4 * y + j % 4;
            if (column < n) {
                UNROLLED for (int f = 0; f < FOURS; f++) gemm_store(
                    C + column * ld, i0 + f * 4 * TS + 4 * x, m, sum[f][j], (REAL)alpha, (REAL)beta);
            }
        }
        tile += get_num_groups(0);
    } while (tile < down * across);
}

// The same for a C of few columns: a group has `rows` rows of one column at a time, and WG / rows
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
