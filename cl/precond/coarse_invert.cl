// coarse_invert.cl - the dense inverse of a sparse symmetric positive definite matrix. GPUs with double precision only.
// Host: src/precond/dense_inverse.c.
//
// A      n-by-n in double, by rows, n a multiple of SIDE; of it the places on and below the diagonal count, and what tiles
//        on the diagonal have above it may be anything
// U, W   n-by-BLOCK in double, by columns
//
// Blocks J of BLOCK unknowns are swept one after the other: with P the inverse of A_JJ
//   W := A_J, U := W P;  A -= U W';  A_J := U, A_JJ := -P
// which leaves A symmetric, and minus its inverse in the end.

#include "common/kry.clh"

#ifndef KRY_CPU
#define BLOCK 32
#define SIDE  64               // rows and columns of a tile of A
#define STEP  8                // columns of U and W that pass through local memory at once
#define ITEMS 16               // work-items along a side of a group that has a tile
#define ACC4  KRY_JOIN(ACC, 4)

// Row and column of the tile that a group has, which is on or below the diagonal; `tiles` in a row. The q-th row and the
// q-th from the end are tiles + 1 tiles together.
#define TAKE_TILE(tiles)                                                                       \
    const int q = (int)get_group_id(0) / ((tiles) + 1), at_ = (int)get_group_id(0) % ((tiles) + 1); \
    const int I = at_ < (tiles)-q ? (tiles)-1 - q : q, J = at_ < (tiles)-q ? at_ : at_ - ((tiles)-q);

// A := the first `count` unknowns of a sparse matrix; the diagonal of the others is 1. A group for each row.
kernel void invert_enter(int n, int count, global const int *restrict row_ptr,
                         global const int *restrict col, global const ACC *restrict val,
                         global ACC *A)
{
    const int i = get_group_id(0), l = get_local_id(0);
    global ACC *row = A + (long)i * n;
    for (int j = l; j < n; j += WG) row[j] = i >= count && j == i;
    barrier(CLK_GLOBAL_MEM_FENCE);
    if (i >= count) return;
    for (int e = row_ptr[i] + l; e < row_ptr[i + 1]; e += WG)
        if (col[e] <= i) row[col[e]] = val[e];
}

// U and W for the block from `first` on, a row of them to each work-item; in the rows of the block U := -P and W := 0. A
// pivot that is no more than `least` of the diagonal is what rounding leaves: found := the first such unknown.
kernel void invert_panel(int n, int first, ACC least, global const ACC *restrict diagonal,
                         global const ACC *restrict A, global ACC *restrict U,
                         global ACC *restrict W, global int *restrict found)
{
    local ACC p[BLOCK * BLOCK], line[BLOCK]; // A_JJ, symmetric, and in the end -P
    const int l = get_local_id(0);

    for (int e = l; e < BLOCK * BLOCK; e += get_local_size(0)) {
        const int r = max(e / BLOCK, e % BLOCK), c = min(e / BLOCK, e % BLOCK);
        p[e] = A[(long)(first + r) * n + first + c];
    }
    for (int j = 0; j < BLOCK; j++) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < BLOCK) line[l] = p[j * BLOCK + l];
        barrier(CLK_LOCAL_MEM_FENCE);
        const ACC pivot = line[j], inverse = 1 / pivot;
        if (l == 0 && get_group_id(0) == 0 && found[0] < 0 &&
            !(pivot > least * diagonal[first + j] && pivot > 0 && inverse > 0))
            found[0] = first + j;
        for (int e = l; e < BLOCK * BLOCK; e += get_local_size(0)) {
            const int r = e / BLOCK, c = e % BLOCK;
            p[e] = r == j ? (c == j ? -inverse : line[c] * inverse)
                   : c == j ? line[r] * inverse
                            : p[e] - line[r] * inverse * line[c];
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    const int i = get_global_id(0);
    if (i >= n) return;
    const bool here = i >= first && i < first + BLOCK;
    ACC w[BLOCK];
    UNROLLED for (int c = 0; c < BLOCK; c++)
    {
        w[c] = here ? 0 : i > first ? A[(long)i * n + first + c] : A[(long)(first + c) * n + i];
        W[(long)c * n + i] = w[c];
    }
    NOT_UNROLLED for (int c = 0; c < BLOCK; c++)
    {
        ACC sum = here ? p[(i - first) * BLOCK + c] : 0;
        UNROLLED for (int b = 0; b < BLOCK; b++) sum -= w[b] * p[b * BLOCK + c];
        U[(long)c * n + i] = sum;
    }
}

// A -= U W', and what the rows and columns of the block become. A group of ITEMS x ITEMS for each tile.
kernel void invert_update(int n, int first, global const ACC *restrict U,
                          global const ACC *restrict W, global ACC *restrict A)
{
    local ACC4 u[STEP * SIDE / 4], w[STEP * SIDE / 4];
    const int l = get_local_id(0), x = l % ITEMS, y = l / ITEMS;
    TAKE_TILE(n / SIDE)
    const int i0 = I * SIDE, j0 = J * SIDE;
    ACC4 sum[4];

    UNROLLED for (int a = 0; a < 4; a++) sum[a] = (ACC4)(0);
    for (int at = 0; at < BLOCK; at += STEP) {
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int e = l; e < STEP * SIDE; e += ITEMS * ITEMS) {
            const long column = (long)(at + e / SIDE) * n;
            ((local ACC *)u)[e] = U[column + i0 + e % SIDE];
            ((local ACC *)w)[e] = W[column + j0 + e % SIDE];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        UNROLLED for (int d = 0; d < STEP; d++)
        {
            const ACC4 a = u[d * SIDE / 4 + y], b = w[d * SIDE / 4 + x];
            sum[0] += a.s0 * b, sum[1] += a.s1 * b, sum[2] += a.s2 * b, sum[3] += a.s3 * b;
        }
    }
    const int j = j0 + 4 * x; // BLOCK is a multiple of 4: all four columns are in the block, or none is
    const bool columns = j >= first && j < first + BLOCK;
    UNROLLED for (int a = 0; a < 4; a++)
    {
        const int i = i0 + 4 * y + a;
        global ACC *to = A + (long)i * n + j;
        ACC4 v;
        if (columns) {
            global const ACC *from = U + (long)(j - first) * n + i;
            v = (ACC4)(from[0], from[n], from[2 * (long)n], from[3 * (long)n]);
        } else if (i >= first && i < first + BLOCK) {
            v = vload4(0, U + (long)(i - first) * n + j);
        } else {
            v = vload4(0, to) - sum[a];
        }
        vstore4(v, 0, to);
    }
}

// y := minus the first `count` rows and columns of A times x; a group for each row.
kernel void invert_multiply(int n, int count, global const ACC *restrict A,
                            global const ACC *restrict x, global ACC *restrict y)
{
    local ACC lane[WG];
    const int i = get_group_id(0), l = get_local_id(0);
    ACC sum = 0;
    for (int j = l; j < count; j += WG) sum -= x[j] * (j <= i ? A[(long)i * n + j] : A[(long)j * n + i]);
    lane[l] = sum;
    for (int step = WG / 2; step > 0; step /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < step) lane[l] += lane[l + step];
    }
    if (l == 0) y[i] = lane[0];
}

// G_ij := Y_ij - y_i - y_j + shift, Y minus the first `count` rows and columns of A, and 0 in the others; of k unknowns.
// stride: of G in full, by rows; 0: G is packed as coarse.cl says. A group for each tile.
kernel void invert_store(int n, int count, int k, int stride, ACC shift,
                         global const ACC *restrict A, global const ACC *restrict y,
                         global REAL *restrict G)
{
    TAKE_TILE(n / SIDE)
    global REAL *tile = G + ((long)I * (I + 1) / 2 + J) * (SIDE * SIDE);
    for (int e = get_local_id(0); e < SIDE * SIDE; e += get_local_size(0)) {
        const int a = I * SIDE + e / SIDE, b = J * SIDE + e % SIDE, i = max(a, b), j = min(a, b);
        ACC v = 0;
        if (i < k) v = (i < count ? -A[(long)i * n + j] : 0) - y[i] - y[j] + shift;
        if (stride == 0) {
            tile[e] = (REAL)v;
        } else if (j == b) {
            if (i < k && j < stride) G[(long)i * stride + j] = (REAL)v;
            if (j < k && i < stride) G[(long)j * stride + i] = (REAL)v;
        }
    }
}
#endif
