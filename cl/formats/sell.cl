// sell.cl - slices of C rows, each as wide as its longest row, stored column by column.
// Host: src/matrix/sell.c, placed_sell.c, slices.c.
//
// C is a power of two, 1 << shift. Entry k of position i, which is in slice s = i / C, lies at
//   slice_ptr[s] + k * C + i % C
// so C neighbouring work-items, or the lanes of a vector, read neighbouring numbers. Position i holds row i or, if rows
// were sorted by length within windows, row perm[i]. Columns are stored as COLUMN:
//   int             as they are
//   ushort, uchar   as distances from base[place / C], the least of the C columns that stand side by side
//   ALONG           as distances from the column before them in the row, which begins at base[i] (slices.cl)
// Padding has a column with all bits set and touches neither x nor the sum.
//   GPU   a row to a work-item, four entries in flight; PAIRS: two rows, which are neighbours
//   CPU   C = VW rows to a slice, each with a sum of its own: plain loads of columns beat vectors, whose lanes would have
//         to be taken apart for the gather. Group b takes positions share[b] ... share[b + 1] - 1, which are of equal work;
//         below full[s] there is no padding to be looked for
//
// After M. Kreutzer, G. Hager, G. Wellein, H. Fehske, A. R. Bishop, A unified sparse matrix data format for efficient
// general sparse matrix-vector multiplication on modern processors with wide SIMD units, SIAM J. Sci. Comput. 36 (2014).

#include "formats/stored.clh"
#include "common/direction.clh"

#ifndef COLUMN
#define COLUMN int
#endif
enum { NONE = (int)(COLUMN)-1 }; // the column of padding

typedef struct sell {
    int rows, shift, flux; // flux: whether rows are sums of a(i,j) (x_j - x_i)
    global const int *full, *slice_ptr, *perm; // perm NULL: rows are in order
    global const COLUMN *col;
    global const int *base; // NULL where it is not read
    global const VAL *val;
    global const REAL *surplus; // multiplies x_i beside the entries of row i; NULL: nothing
} sell;

#define SELL                                                                                            \
    int rows, int shift, int flux, global const int *restrict share, global const int *restrict full,   \
        global const int *restrict slice_ptr, global const int *restrict perm,                          \
        global const COLUMN *restrict col, global const int *restrict base, global const VAL *restrict val, \
        global const REAL *restrict surplus
#define SELL_PASS { rows, shift, flux, full, slice_ptr, perm, col, base, val, surplus }

INLINED int sell_row(const sell *A, int position) { return A->perm ? A->perm[position] : position; }

// row[l] := the row at position first + l, PACK of them; the last row of all stands in for those that there are not.
INLINED void sell_rows(const sell *A, int first, int *row)
{
    UNROLLED for (int l = 0; l < PACK; l++) row[l] = sell_row(A, l > 0 ? min(first + l, A->rows - 1) : first);
}

// The row at position first + l once more: GPUs keep it, CPUs load it again rather than keep PACK of them.
INLINED int sell_row_again(const sell *A, int first, const int *row, int l)
{
#ifdef KRY_CPU
    return sell_row(A, first + l);
#else
    return row[l];
#endif
}

#if PACK == 1

// *j := the column of the entry at place k, 0 for padding. Return whether it is padding. line: k / C. ALONG: *last is the column
// before it in the row, and becomes its own.
INLINED int sell_column(const sell *A, int k, int line, int *last, int *j)
{
    const int stored = A->col[k];
#ifdef ALONG
    *last += stored == NONE ? 0 : stored;
    *j = stored == NONE ? 0 : *last;
#else
    const int least = sizeof(COLUMN) == sizeof(int) ? 0 : A->base[line];
    *j = stored == NONE ? 0 : least + stored;
#endif
    return stored == NONE;
}

// The sum of the entries of the row at a position, each a(i,j) (x_j - own).
INLINED SUM sell_sum(const sell *A, const factor *x, int position, SUM own)
{
    const int slice = position >> A->shift, height = 1 << A->shift;
    const int begin = A->slice_ptr[slice], end = A->slice_ptr[slice + 1];
    int k = begin + (position & (height - 1)), line = begin >> A->shift;
#ifdef ALONG
    int last = A->base[position];
#else
    int last = 0;
#endif
    SUM sum = 0;

    // Four entries at a time, of which the first is there: all that is loaded is on its way before any of it is waited for.
    for (; k < end; k += 4 * height, line += 4) {
        int j[4], empty[4];
        VAL v[4];
        UNROLLED for (int u = 0; u < 4; u++)
        {
            j[u] = 0, v[u] = 0, empty[u] = 1;
            if (u == 0 || k + u * height < end) {
                empty[u] = sell_column(A, k + u * height, line + u, &last, &j[u]);
                v[u] = A->val[k + u * height];
            }
        }
        sum = add_four(x, j, empty, v, own, sum);
    }
    return sum;
}

// sum[0] := the row at a position times x.
INLINED void sell_sums(const sell *A, const factor *x, int position, const int *row, SUM *sum)
{
    sum[0] = A->flux ? sell_sum(A, x, position, factor_at(x, row[0])) : sell_sum(A, x, position, 0);
    if (A->surplus) sum[0] += (SUM)A->surplus[row[0]] * factor_at(x, row[0]);
}

#elif !defined(KRY_CPU) // PAIRS

// Add to the sums of two rows side by side their `count` <= 4 next entries, from place k on; unless `whole` those before `end`
// alone. All x are on their way before one is waited for.
INLINED void sell_add_pairs(const sell *A, const factor *x, int k, int count, int whole, int end, const SUM *own, SUM *sum)
{
    const int height = 1 << A->shift;
    int j[8];
    SUM v[8];

    UNROLLED for (int u = 0; u < count; u++)
    {
        const int there = whole || k + u * height < end, at = there ? k + u * height : k;
        const KRY_JOIN(COLUMN, 2) stored = *(global const KRY_JOIN(COLUMN, 2) *)(A->col + at);
        const KRY_JOIN(VAL, 2) number = *(global const KRY_JOIN(VAL, 2) *)(A->val + at);
        const int least = sizeof(COLUMN) == sizeof(int) ? 0 : A->base[at >> A->shift];
        j[2 * u] = there && (int)stored.x != NONE ? least + (int)stored.x : -1, v[2 * u] = number.x;
        j[2 * u + 1] = there && (int)stored.y != NONE ? least + (int)stored.y : -1, v[2 * u + 1] = number.y;
    }
    UNROLLED for (int u = 0; u < 2 * count; u++) v[u] *= factor_at(x, max(j[u], 0)) - own[u % 2];
    UNROLLED for (int u = 0; u < 2 * count; u++) sum[u % 2] += j[u] < 0 ? (SUM)0 : v[u];
}

// sum[0], sum[1] := the rows at a position, which is even, and behind it times x.
INLINED void sell_sums(const sell *A, const factor *x, int position, const int *row, SUM *sum)
{
    const int slice = position >> A->shift, height = 1 << A->shift, end = A->slice_ptr[slice + 1];
    const SUM own[2] = { A->flux ? factor_at(x, row[0]) : (SUM)0, A->flux ? factor_at(x, row[1]) : (SUM)0 };
    int k = A->slice_ptr[slice] + (position & (height - 1));

    sum[0] = sum[1] = 0;
    for (; k + 3 * height < end; k += 4 * height) sell_add_pairs(A, x, k, 4, 1, end, own, sum);
    if (k < end) sell_add_pairs(A, x, k, 3, 0, end, own, sum);
    for (int l = 0; l < 2 && A->surplus; l++) sum[l] += (SUM)A->surplus[row[l]] * factor_at(x, row[l]);
}

#else

// The rows of a slice times x, less own[l] in row l.
INLINED SUMV sell_slice(const sell *A, const factor *x, int slice, const SUM *own)
{
    const int full = A->full[slice], end = A->slice_ptr[slice + 1];
    int k = A->slice_ptr[slice];
    SUMV sums = 0;
    SUM there[PACK];

    for (; k < full; k += PACK) {
        const int least = sizeof(COLUMN) == sizeof(int) ? 0 : A->base[k / PACK];
        UNROLLED for (int l = 0; l < PACK; l++) there[l] = factor_at(x, least + (int)A->col[k + l]) - own[l];
        sums += LOAD_SUMV(A->val + k) * vload8(0, there);
    }
    for (; k < end; k += PACK) {
        const int least = sizeof(COLUMN) == sizeof(int) ? 0 : A->base[k / PACK];
        UNROLLED for (int l = 0; l < PACK; l++)
            there[l] = (int)A->col[k + l] == NONE ? 0 : factor_at(x, least + (int)A->col[k + l]) - own[l];
        sums += LOAD_SUMV(A->val + k) * vload8(0, there);
    }
    return sums;
}

// sell_sums in flux form or with a surplus. It is a call, because what it keeps in registers would be in the way of other rows.
__attribute__((noinline)) void sell_special_sums(const sell *A, const factor *x, int first, SUM *sum)
{
    const int count = pack_rows(A->rows, first);
    SUM own[PACK];

    for (int l = 0; l < PACK; l++) own[l] = A->flux && l < count ? factor_at(x, sell_row(A, first + l)) : (SUM)0;
    vstore8(sell_slice(A, x, first / PACK, own), 0, sum);
    for (int l = 0; l < count && A->surplus; l++) {
        const int row = sell_row(A, first + l);
        sum[l] += (SUM)A->surplus[row] * factor_at(x, row);
    }
}

// sum[l] := the row at position first + l times x, of those that there are.
INLINED void sell_sums(const sell *A, const factor *x, int first, const int *row, SUM *sum)
{
    if (A->flux || A->surplus) {
        const sell here = *A; // not A and x themselves, which are to stay in registers
        const factor factors = *x;
        sell_special_sums(&here, &factors, first, sum);
    } else {
        SUM none[PACK];
        UNROLLED for (int l = 0; l < PACK; l++) none[l] = 0;
        vstore8(sell_slice(A, x, first / PACK, none), 0, sum);
    }
}

#endif

#ifndef AT_ONCE

// value[l] := x in row[l], at position first + l, of `count` that there are.
INLINED void sell_load(const sell *A, global const REAL *x, int first, const int *row, int count, REAL *value)
{
#ifdef KRY_CPU
    if (!A->perm) {
        pack_load(x + first, count, value);
        return;
    }
#endif
    UNROLLED for (int l = 0; l < PACK; l++) value[l] = l < count ? x[sell_row_again(A, first, row, l)] : (REAL)0;
}

INLINED void sell_store(const sell *A, const REAL *value, int first, const int *row, int count, global REAL *y)
{
#ifdef KRY_CPU
    if (!A->perm) {
        pack_store(value, count, y + first);
        return;
    }
#endif
    UNROLLED for (int l = 0; l < PACK; l++)
        if (l < count) y[sell_row_again(A, first, row, l)] = value[l];
}

#pragma kry part products

// y := alpha A x + beta y; with beta == 0, y is not read.
kernel void sell_apply(SELL, ACC alpha, global const REAL *restrict x, long x0, ACC beta, global REAL *restrict y, long y0)
{
    const sell A = SELL_PASS;
    const factor v = { x + x0 };
    y += y0;
    for (int first = pack_begin(rows, share), end = pack_end(rows, share); first < end; first += pack_step()) {
        const int count = pack_rows(rows, first);
        int row[PACK];
        SUM sum[PACK];
        REAL y_rows[PACK];
        sell_rows(&A, first, row);
        sell_sums(&A, &v, first, row, sum);
        if (beta == 0) {
            UNROLLED for (int l = 0; l < PACK; l++) y_rows[l] = (REAL)((SUM)alpha * sum[l]);
        } else {
            sell_load(&A, y, first, row, count, y_rows);
            UNROLLED for (int l = 0; l < PACK; l++) y_rows[l] = (REAL)((SUM)alpha * sum[l] + (SUM)beta * y_rows[l]);
        }
        sell_store(&A, y_rows, first, row, count, y);
    }
}

#pragma kry part residuals, products with sums

// r := b - A x; r may be b.
kernel void sell_residual(SELL, global const REAL *b, long b0, global const REAL *restrict x, long x0, global REAL *r,
                         long r0)
{
    const sell A = SELL_PASS;
    const factor v = { x + x0 };
    b += b0, r += r0;
    for (int first = pack_begin(rows, share), end = pack_end(rows, share); first < end; first += pack_step()) {
        const int count = pack_rows(rows, first);
        int row[PACK];
        SUM sum[PACK];
        REAL rest[PACK];
        sell_rows(&A, first, row);
        sell_sums(&A, &v, first, row, sum);
        sell_load(&A, b, first, row, count, rest);
        UNROLLED for (int l = 0; l < PACK; l++) rest[l] = (REAL)((SUM)rest[l] - sum[l]);
        sell_store(&A, rest, first, row, count, r);
    }
}

// y := A x, part[part0 + group] := x.y
kernel void sell_apply_dot(SELL, global const REAL *restrict x, long x0, global REAL *restrict y, long y0,
                          global TOTAL *restrict part, int part0)
{
    local TOTAL lane[WG];
    const sell A = SELL_PASS;
    const factor v = { x + x0 };
    TOTAL dot[TOTALS];
    totals_begin(dot);
    y += y0;
    for (int first = pack_begin(rows, share), end = pack_end(rows, share); first < end; first += pack_step()) {
        const int count = pack_rows(rows, first);
        int row[PACK];
        SUM sum[PACK];
        REAL x_rows[PACK], y_rows[PACK];
        sell_rows(&A, first, row);
        sell_sums(&A, &v, first, row, sum);
        sell_load(&A, v.x, first, row, count, x_rows);
        UNROLLED for (int l = 0; l < PACK; l++) {
            y_rows[l] = (REAL)sum[l];
            ADD_PRODUCT(dot[l % TOTALS], x_rows[l], sum[l]);
        }
        sell_store(&A, y_rows, first, row, count, y);
    }
    const TOTAL all = group_sum(totals_sum(dot), lane);
    if (get_local_id(0) == 0) part[part0 + get_group_id(0)] = all;
}

#pragma kry part relaxation

// y := x + c d .* (b - A x), a step of relaxation.
kernel void sell_relax(SELL, ACC c, global const REAL *restrict d, long d0, global const REAL *restrict b, long b0,
                      global const REAL *restrict x, long x0, global REAL *restrict y, long y0)
{
    const sell A = SELL_PASS;
    const factor v = { x + x0 };
    d += d0, b += b0, y += y0;
    for (int first = pack_begin(rows, share), end = pack_end(rows, share); first < end; first += pack_step()) {
        const int count = pack_rows(rows, first);
        int row[PACK];
        SUM sum[PACK];
        REAL x_rows[PACK], b_rows[PACK], d_rows[PACK];
        sell_rows(&A, first, row);
        sell_sums(&A, &v, first, row, sum);
        sell_load(&A, v.x, first, row, count, x_rows);
        sell_load(&A, b, first, row, count, b_rows);
        sell_load(&A, d, first, row, count, d_rows);
        UNROLLED for (int l = 0; l < PACK; l++) x_rows[l] += (REAL)c * d_rows[l] * (REAL)((SUM)b_rows[l] - sum[l]);
        sell_store(&A, x_rows, first, row, count, y);
    }
}

#pragma kry part directions

// p := z + beta old, q := A p, part[part0 + group] := p.q in one pass: the neighbours' p is formed again from z and
// old, so that p needs no pass of its own. Once the solve has stopped nothing is written to p and q.
kernel void sell_apply_direction(SELL, DIRECTION_PARAMS, global const REAL *restrict z, global const REAL *restrict old,
                                global REAL *restrict p, global REAL *restrict q, global TOTAL *restrict part,
                                int part0)
{
    local TOTAL2 lane[WG];
    const sell A = SELL_PASS;
    TOTAL dot[TOTALS];
    ACC beta;
    const int go_on = begin_direction(DIRECTION_PASS, lane, &beta) == GO_ON;
    const factor v = { z, old, (REAL)beta, 1 };
    totals_begin(dot);
    for (int first = pack_begin(rows, share), end = pack_end(rows, share); first < end && go_on; first += pack_step()) {
        const int count = pack_rows(rows, first);
        int row[PACK];
        SUM sum[PACK];
        REAL z_rows[PACK], p_rows[PACK], q_rows[PACK];
        sell_rows(&A, first, row);
        sell_sums(&A, &v, first, row, sum);
        sell_load(&A, z, first, row, count, z_rows);
        sell_load(&A, old, first, row, count, p_rows);
        UNROLLED for (int l = 0; l < PACK; l++) {
            p_rows[l] = z_rows[l] + v.beta * p_rows[l];
            q_rows[l] = (REAL)sum[l];
            ADD_PRODUCT(dot[l % TOTALS], p_rows[l], sum[l]);
        }
        sell_store(&A, p_rows, first, row, count, p);
        sell_store(&A, q_rows, first, row, count, q);
    }
    const TOTAL all = group_sum(totals_sum(dot), (local TOTAL *)lane);
    if (get_local_id(0) == 0 && go_on) part[part0 + get_group_id(0)] = all;
}

#pragma kry end

#else

#pragma kry part products

// y := alpha A x + beta y for `vectors` <= AT_ONCE of them; with beta == 0, y is not read. The matrix is read once.
kernel void sell_apply_block(SELL, int vectors, ACC alpha, global const REAL *restrict x, long x0, long x_pitch, ACC beta,
                            global REAL *restrict y, long y0, long y_pitch)
{
    const sell A = SELL_PASS;
    factor v;
    factor_begin(x + x0, x_pitch, vectors, &v);
    y += y0;
    for (int first = pack_begin(rows, share), end = pack_end(rows, share); first < end; first += pack_step()) {
        const int row = sell_row(&A, first);
        SUM sum;
        sell_sums(&A, &v, first, &row, &sum);
        row_scaled_block(alpha, sum, beta, y + row, y_pitch, vectors);
    }
}

#pragma kry part relaxation

// y := b - A x, where y may be b, or with `relaxes` y := x + c d .* (b - A x), of the same vectors. A that is not square
// has rows without a number of x.
kernel void sell_relax_block(SELL, int vectors, int relaxes, ACC c, global const REAL *d, long d0, global const REAL *b,
                            long b0, long b_pitch, global const REAL *restrict x, long x0, long x_pitch,
                            global REAL *y, long y0, long y_pitch)
{
    const sell A = SELL_PASS;
    factor v;
    factor_begin(x + x0, x_pitch, vectors, &v);
    d += d0, b += b0, y += y0;
    for (int first = pack_begin(rows, share), end = pack_end(rows, share); first < end; first += pack_step()) {
        const int row = sell_row(&A, first);
        const REAL scale = relaxes ? (REAL)c * d[row] : 1;
        SUM sum;
        sell_sums(&A, &v, first, &row, &sum);
        row_relaxed_block(sum, relaxes, scale, relaxes ? factor_at(&v, row) : sum, b + row, b_pitch, y + row, y_pitch,
                          vectors);
    }
}

#pragma kry end

#endif
