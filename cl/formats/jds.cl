// jds.cl - jagged diagonals: rows sorted by falling length, the first entries of all rows side by side, then the second
// ones ...
// Host: src/matrix/jds.c.
//
// Position i holds row perm[i]. Jagged diagonal d has an entry of each of the first jagged[2 d + 1] positions, side by side
// from place jagged[2 d] on, a multiple of 16. Neighbouring work-items, or the lanes of a vector, so read neighbouring
// numbers, and no place is lost within a diagonal. A work-item adds up all entries of a position and writes the row
// once: the product that Cevahir et al. propose. A matrix of n rows and m entries: (v + 4) m + 4 n bytes, v to a number.
//
// After A. Cevahir, A. Nukada, S. Matsuoka, Fast conjugate gradients with multiple GPUs, ICCS 2009; the format as in
// Y. Saad, SPARSKIT (1990).
//
// On CPUs group b takes the positions share[b] ... share[b + 1] - 1, which are of equal work.

#include "formats/stored.clh"
#include "common/direction.clh"

typedef struct jds {
    int rows, diagonals, flux; // flux: whether rows are sums of a(i,j) (x_j - x_i)
    global const int *jagged, *perm, *col;
    global const VAL *val;
    global const REAL *surplus; // multiplies x_i beside the entries of row i; NULL: nothing
} jds;

#define JDS                                                                                         \
    int rows, int diagonals, int flux, global const int *restrict share, global const int *restrict jagged, \
        global const int *restrict perm, global const int *restrict col, global const VAL *restrict val, \
        global const REAL *restrict surplus
#define JDS_PASS { rows, diagonals, flux, jagged, perm, col, val, surplus }

#if PACK == 1

// sum[0] := row perm[first] times x. Four entries are on their way at once.
INLINED void jds_sums(const jds *A, const factor *x, int first, SUM *sum)
{
    const int row = A->perm[first];
    const SUM own = A->flux ? factor_at(x, row) : (SUM)0;
    int d = 0;

    sum[0] = 0;
    for (; d + 3 < A->diagonals && first < A->jagged[2 * d + 7]; d += 4) {
        int j[4];
        SUM v[4];
        UNROLLED for (int u = 0; u < 4; u++)
        {
            const int k = A->jagged[2 * (d + u)] + first;
            j[u] = A->col[k], v[u] = A->val[k];
        }
        UNROLLED for (int u = 0; u < 4; u++) v[u] *= factor_at(x, j[u]) - own;
        UNROLLED for (int u = 0; u < 4; u++) sum[0] += v[u];
    }
    for (; d < A->diagonals && first < A->jagged[2 * d + 1]; d++) {
        const int k = A->jagged[2 * d] + first;
        sum[0] += (SUM)A->val[k] * (factor_at(x, A->col[k]) - own);
    }
    if (A->surplus) sum[0] += (SUM)A->surplus[row] * factor_at(x, row);
}

#else

// sum[l] := row perm[first + l] times x: all of them while all have entries, then those that have.
INLINED void jds_sums(const jds *A, const factor *x, int first, SUM *sum)
{
    SUM own[PACK];
    int d = 0;

    for (int l = 0; l < PACK; l++) {
        const int row = A->perm[min(first + l, A->rows - 1)];
        own[l] = A->flux ? factor_at(x, row) : (SUM)0;
        sum[l] = 0;
    }
    for (; d < A->diagonals && first + PACK <= A->jagged[2 * d + 1]; d++) {
        const int k = A->jagged[2 * d] + first;
        for (int l = 0; l < PACK; l++) sum[l] += (SUM)A->val[k + l] * (factor_at(x, A->col[k + l]) - own[l]);
    }
    for (; d < A->diagonals && first < A->jagged[2 * d + 1]; d++) {
        const int k = A->jagged[2 * d] + first, count = A->jagged[2 * d + 1] - first;
        for (int l = 0; l < PACK; l++)
            if (l < count) sum[l] += (SUM)A->val[k + l] * (factor_at(x, A->col[k + l]) - own[l]);
    }
    for (int l = 0; l < PACK && A->surplus; l++) {
        const int row = A->perm[min(first + l, A->rows - 1)];
        sum[l] += (SUM)A->surplus[row] * factor_at(x, row);
    }
}

#endif

#ifndef AT_ONCE

#pragma kry part products

// y := alpha A x + beta y; with beta == 0, y is not read.
kernel void jds_apply(JDS, ACC alpha, global const REAL *restrict x, long x0, ACC beta, global REAL *restrict y, long y0)
{
    const jds A = JDS_PASS;
    const factor v = { x + x0 };
    y += y0;
    for (int first = pack_begin(rows, share), end = pack_end(rows, share); first < end; first += pack_step()) {
        SUM sum[PACK];
        jds_sums(&A, &v, first, sum);
        for (int l = 0; l < PACK && first + l < rows; l++) {
            const int row = perm[first + l];
            y[row] = row_scaled(alpha, sum[l], beta, y + row);
        }
    }
}

#pragma kry part residuals, products with sums

// r := b - A x; r may be b.
kernel void jds_residual(JDS, global const REAL *b, long b0, global const REAL *restrict x, long x0, global REAL *r,
                         long r0)
{
    const jds A = JDS_PASS;
    const factor v = { x + x0 };
    b += b0, r += r0;
    for (int first = pack_begin(rows, share), end = pack_end(rows, share); first < end; first += pack_step()) {
        SUM sum[PACK];
        jds_sums(&A, &v, first, sum);
        for (int l = 0; l < PACK && first + l < rows; l++) {
            const int row = perm[first + l];
            r[row] = (REAL)((SUM)b[row] - sum[l]);
        }
    }
}

// y := A x, part[part0 + group] := x.y
kernel void jds_apply_dot(JDS, global const REAL *restrict x, long x0, global REAL *restrict y, long y0,
                          global TOTAL *restrict part, int part0)
{
    local TOTAL lane[WG];
    const jds A = JDS_PASS;
    const factor v = { x + x0 };
    TOTAL dot = NO_TOTAL;
    y += y0;
    for (int first = pack_begin(rows, share), end = pack_end(rows, share); first < end; first += pack_step()) {
        SUM sum[PACK];
        jds_sums(&A, &v, first, sum);
        for (int l = 0; l < PACK && first + l < rows; l++) {
            const int row = perm[first + l];
            y[row] = (REAL)sum[l];
            ADD_PRODUCT(dot, v.x[row], sum[l]);
        }
    }
    dot = group_sum(dot, lane);
    if (get_local_id(0) == 0) part[part0 + get_group_id(0)] = dot;
}

#pragma kry part relaxation

// y := x + c d .* (b - A x), a step of relaxation.
kernel void jds_relax(JDS, ACC c, global const REAL *restrict d, long d0, global const REAL *restrict b, long b0,
                      global const REAL *restrict x, long x0, global REAL *restrict y, long y0)
{
    const jds A = JDS_PASS;
    const factor v = { x + x0 };
    d += d0, b += b0, y += y0;
    for (int first = pack_begin(rows, share), end = pack_end(rows, share); first < end; first += pack_step()) {
        SUM sum[PACK];
        jds_sums(&A, &v, first, sum);
        for (int l = 0; l < PACK && first + l < rows; l++) {
            const int row = perm[first + l];
            y[row] = v.x[row] + (REAL)c * d[row] * (REAL)((SUM)b[row] - sum[l]);
        }
    }
}

#pragma kry part directions

// p := z + beta old, q := A p, part[part0 + group] := p.q in one pass: the neighbours' p is formed again from z and
// old, so that p needs no pass of its own. Once the solve has stopped nothing is written to p and q.
kernel void jds_apply_direction(JDS, DIRECTION_PARAMS, global const REAL *restrict z, global const REAL *restrict old,
                                global REAL *restrict p, global REAL *restrict q, global TOTAL *restrict part,
                                int part0)
{
    local TOTAL2 lane[WG];
    const jds A = JDS_PASS;
    TOTAL dot = NO_TOTAL;
    ACC beta;
    const int go_on = begin_direction(DIRECTION_PASS, lane, &beta) == GO_ON;
    const factor v = { z, old, (REAL)beta, 1 };
    for (int first = pack_begin(rows, share), end = pack_end(rows, share); first < end && go_on; first += pack_step()) {
        SUM sum[PACK];
        jds_sums(&A, &v, first, sum);
        for (int l = 0; l < PACK && first + l < rows; l++) {
            const int row = perm[first + l];
            const REAL p_row = z[row] + v.beta * old[row];
            p[row] = p_row, q[row] = (REAL)sum[l];
            ADD_PRODUCT(dot, p_row, sum[l]);
        }
    }
    dot = group_sum(dot, (local TOTAL *)lane);
    if (get_local_id(0) == 0 && go_on) part[part0 + get_group_id(0)] = dot;
}

#pragma kry end

#else

#pragma kry part products

// y := alpha A x + beta y for `vectors` <= AT_ONCE of them; with beta == 0, y is not read. The matrix is read once.
kernel void jds_apply_block(JDS, int vectors, ACC alpha, global const REAL *restrict x, long x0, long x_pitch, ACC beta,
                            global REAL *restrict y, long y0, long y_pitch)
{
    const jds A = JDS_PASS;
    factor v;
    factor_begin(x + x0, x_pitch, vectors, &v);
    y += y0;
    for (int first = pack_begin(rows, share), end = pack_end(rows, share); first < end; first += pack_step()) {
        SUM sum;
        jds_sums(&A, &v, first, &sum);
        row_scaled_block(alpha, sum, beta, y + perm[first], y_pitch, vectors);
    }
}

#pragma kry part relaxation

// y := b - A x, where y may be b, or with `relaxes` y := x + c d .* (b - A x), of the same vectors. A that is not square
// has rows without a number of x.
kernel void jds_relax_block(JDS, int vectors, int relaxes, ACC c, global const REAL *d, long d0, global const REAL *b,
                            long b0, long b_pitch, global const REAL *restrict x, long x0, long x_pitch,
                            global REAL *y, long y0, long y_pitch)
{
    const jds A = JDS_PASS;
    factor v;
    factor_begin(x + x0, x_pitch, vectors, &v);
    d += d0, b += b0, y += y0;
    for (int first = pack_begin(rows, share), end = pack_end(rows, share); first < end; first += pack_step()) {
        const int row = perm[first];
        const REAL scale = relaxes ? (REAL)c * d[row] : 1;
        SUM sum;
        jds_sums(&A, &v, first, &sum);
        row_relaxed_block(sum, relaxes, scale, relaxes ? factor_at(&v, row) : sum, b + row, b_pitch, y + row, y_pitch,
                          vectors);
    }
}

#pragma kry end

#endif
