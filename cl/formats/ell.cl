// ell.cl - ELLPACK: every row has `width` entries, those that it lacks are padding.
// Host: src/matrix/ell.c.
//
// The k-th entries of `height` rows that follow each other stand side by side, then their next ones: entry k of row i is at
//   (i / height * width + k) * height + i % height
// On GPUs all rows stand side by side, height is a multiple of 32, and neighbouring work-items read neighbouring
// numbers. On CPUs they are a vector, height = VW, so that a core reads one stream of memory. Padding has the column -1 and
// touches neither x nor the sum. A row takes (v + 4) width bytes, v to a number.
//
// After N. Bell, M. Garland, Implementing sparse matrix-vector multiplication on throughput-oriented processors, SC09 (2009).

#include "formats/stored.clh"
#include "common/direction.clh"

typedef struct ell {
    int rows, height, width, flux; // flux: whether rows are sums of a(i,j) (x_j - x_i)
    global const int *col;
    global const VAL *val;
    global const REAL *surplus; // multiplies x_i beside the entries of row i; NULL: nothing
} ell;

#define ELL                                                                                         \
    int rows, int height, int width, int flux, global const int *restrict col, global const VAL *restrict val, \
        global const REAL *restrict surplus
#define ELL_PASS { rows, height, width, flux, col, val, surplus }

#if PACK == 1

// sum[0] := row times x.
INLINED void ell_sums(const ell *A, const factor *x, int row, SUM *sum)
{
    const int height = A->height;
    const SUM own = A->flux ? factor_at(x, row) : (SUM)0;
#ifdef KRY_CPU
    int at = row / height * height * A->width + row % height;
#else
    int at = row;
#endif
    int k = 0;

    sum[0] = 0;
    for (; k + 3 < A->width; k += 4, at += 4 * height) {
        int j[4], empty[4];
        VAL v[4];
        UNROLLED for (int u = 0; u < 4; u++)
        {
            const int stored = A->col[at + u * height];
            v[u] = A->val[at + u * height];
            j[u] = max(stored, 0), empty[u] = stored < 0;
        }
        sum[0] = add_four(x, j, empty, v, own, sum[0]);
    }
    for (; k < A->width; k++, at += height) {
        const int j = A->col[at];
        if (j >= 0) sum[0] += (SUM)A->val[at] * (factor_at(x, j) - own);
    }
    if (A->surplus) sum[0] += (SUM)A->surplus[row] * factor_at(x, row);
}

#else

// sum[l] := row first + l times x, of those that there are.
INLINED void ell_sums(const ell *A, const factor *x, int first, SUM *sum)
{
    SUM own[PACK];

    for (int l = 0; l < PACK; l++) {
        own[l] = A->flux && first + l < A->rows ? factor_at(x, first + l) : (SUM)0;
        sum[l] = 0;
    }
    for (int k = 0, at = first * A->width; k < A->width; k++, at += PACK)
        for (int l = 0; l < PACK; l++) {
            const int j = A->col[at + l];
            const SUM term = (SUM)A->val[at + l] * (factor_at(x, max(j, 0)) - own[l]);
            sum[l] += j < 0 ? (SUM)0 : term;
        }
    for (int l = 0; l < PACK && A->surplus && first + l < A->rows; l++)
        sum[l] += (SUM)A->surplus[first + l] * factor_at(x, first + l);
}

#endif

#ifndef AT_ONCE

#pragma kry part products

// y := alpha A x + beta y; with beta == 0, y is not read.
kernel void ell_apply(ELL, ACC alpha, global const REAL *restrict x, long x0, ACC beta, global REAL *restrict y, long y0)
{
    const ell A = ELL_PASS;
    const factor v = { x + x0 };
    y += y0;
    for (int first = pack_begin(rows, 0), end = pack_end(rows, 0); first < end; first += pack_step()) {
        SUM sum[PACK];
        ell_sums(&A, &v, first, sum);
        for (int l = 0; l < PACK && first + l < rows; l++) {
            const int row = first + l;
            y[row] = row_scaled(alpha, sum[l], beta, y + row);
        }
    }
}

#pragma kry part residuals, products with sums

// r := b - A x; r may be b.
kernel void ell_residual(ELL, global const REAL *b, long b0, global const REAL *restrict x, long x0, global REAL *r,
                         long r0)
{
    const ell A = ELL_PASS;
    const factor v = { x + x0 };
    b += b0, r += r0;
    for (int first = pack_begin(rows, 0), end = pack_end(rows, 0); first < end; first += pack_step()) {
        SUM sum[PACK];
        ell_sums(&A, &v, first, sum);
        for (int l = 0; l < PACK && first + l < rows; l++) {
            const int row = first + l;
            r[row] = (REAL)((SUM)b[row] - sum[l]);
        }
    }
}

// y := A x, part[part0 + group] := x.y
kernel void ell_apply_dot(ELL, global const REAL *restrict x, long x0, global REAL *restrict y, long y0,
                          global TOTAL *restrict part, int part0)
{
    local TOTAL lane[WG];
    const ell A = ELL_PASS;
    const factor v = { x + x0 };
    TOTAL dot = NO_TOTAL;
    y += y0;
    for (int first = pack_begin(rows, 0), end = pack_end(rows, 0); first < end; first += pack_step()) {
        SUM sum[PACK];
        ell_sums(&A, &v, first, sum);
        for (int l = 0; l < PACK && first + l < rows; l++) {
            const int row = first + l;
            y[row] = (REAL)sum[l];
            ADD_PRODUCT(dot, v.x[row], sum[l]);
        }
    }
    dot = group_sum(dot, lane);
    if (get_local_id(0) == 0) part[part0 + get_group_id(0)] = dot;
}

#pragma kry part relaxation

// y := x + c d .* (b - A x), a step of relaxation.
kernel void ell_relax(ELL, ACC c, global const REAL *restrict d, long d0, global const REAL *restrict b, long b0,
                      global const REAL *restrict x, long x0, global REAL *restrict y, long y0)
{
    const ell A = ELL_PASS;
    const factor v = { x + x0 };
    d += d0, b += b0, y += y0;
    for (int first = pack_begin(rows, 0), end = pack_end(rows, 0); first < end; first += pack_step()) {
        SUM sum[PACK];
        ell_sums(&A, &v, first, sum);
        for (int l = 0; l < PACK && first + l < rows; l++) {
            const int row = first + l;
            y[row] = v.x[row] + (REAL)c * d[row] * (REAL)((SUM)b[row] - sum[l]);
        }
    }
}

#pragma kry part directions

// p := z + beta old, q := A p, part[part0 + group] := p.q in one pass: the neighbours' p is formed again from z and
// old, so that p needs no pass of its own. Once the solve has stopped nothing is written to p and q.
kernel void ell_apply_direction(ELL, DIRECTION_PARAMS, global const REAL *restrict z, global const REAL *restrict old,
                                global REAL *restrict p, global REAL *restrict q, global TOTAL *restrict part,
                                int part0)
{
    local TOTAL2 lane[WG];
    const ell A = ELL_PASS;
    TOTAL dot = NO_TOTAL;
    ACC beta;
    const int go_on = begin_direction(DIRECTION_PASS, lane, &beta) == GO_ON;
    const factor v = { z, old, (REAL)beta, 1 };
    for (int first = pack_begin(rows, 0), end = pack_end(rows, 0); first < end && go_on; first += pack_step()) {
        SUM sum[PACK];
        ell_sums(&A, &v, first, sum);
        for (int l = 0; l < PACK && first + l < rows; l++) {
            const int row = first + l;
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
kernel void ell_apply_block(ELL, int vectors, ACC alpha, global const REAL *restrict x, long x0, long x_pitch, ACC beta,
                            global REAL *restrict y, long y0, long y_pitch)
{
    const ell A = ELL_PASS;
    factor v;
    factor_begin(x + x0, x_pitch, vectors, &v);
    y += y0;
    for (int first = pack_begin(rows, 0), end = pack_end(rows, 0); first < end; first += pack_step()) {
        SUM sum;
        ell_sums(&A, &v, first, &sum);
        row_scaled_block(alpha, sum, beta, y + first, y_pitch, vectors);
    }
}

#pragma kry part relaxation

// y := b - A x, where y may be b, or with `relaxes` y := x + c d .* (b - A x), of the same vectors. A that is not square
// has rows without a number of x.
kernel void ell_relax_block(ELL, int vectors, int relaxes, ACC c, global const REAL *d, long d0, global const REAL *b,
                            long b0, long b_pitch, global const REAL *restrict x, long x0, long x_pitch,
                            global REAL *y, long y0, long y_pitch)
{
    const ell A = ELL_PASS;
    factor v;
    factor_begin(x + x0, x_pitch, vectors, &v);
    d += d0, b += b0, y += y0;
    for (int first = pack_begin(rows, 0), end = pack_end(rows, 0); first < end; first += pack_step()) {
        const int row = first;
        const REAL scale = relaxes ? (REAL)c * d[row] : 1;
        SUM sum;
        ell_sums(&A, &v, first, &sum);
        row_relaxed_block(sum, relaxes, scale, relaxes ? factor_at(&v, row) : sum, b + row, b_pitch, y + row, y_pitch,
                          vectors);
    }
}

#pragma kry end

#endif
