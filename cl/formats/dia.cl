// dia.cl - a matrix by its diagonals, all of them or, of a symmetric matrix, the upper ones.
// Host: src/matrix/dia.c.
//
// Diagonal d holds a(row, row + offset[d]) at val[d * stride + row], offsets ascending; places outside the matrix hold 0.
// symmetric: diagonal 0 is the main one, and a(row, row - offset[d]) is read from the row above, which has just brought
// it into the cache. No column is stored: with p diagonals a row takes p v bytes, v to a number, or half of that.
//
// Rows at least `reach` from both ends have all their columns inside and need no tests. GPUs take a row to a work-item:
// every load of a group is one contiguous piece. CPUs take VW rows at a time, as vectors. In flux form the main diagonal
// adds nothing, and of symmetric matrices it is not even read.
//
// After R. Gupta, M. van Gijzen, C. Vuik, and N. Bell, M. Garland, Implementing sparse matrix-vector multiplication on
// throughput-oriented processors, SC09 (2009).

#include "formats/stored.clh"
#include "common/direction.clh"

typedef struct dia {
    int rows, cols, reach, diagonals, stride, flux, symmetric; // flux: whether rows are sums of a(i,j) (x_j - x_i)
    constant int *offset;
    global const VAL *val;
    global const REAL *surplus; // multiplies x_i beside the entries of row i; NULL: nothing
} dia;

#define DIA                                                                                   \
    int rows, int cols, int reach, int diagonals, int stride, int flux, int symmetric, constant int *offset, \
        global const VAL *restrict val, global const REAL *restrict surplus
#define DIA_PASS { rows, cols, reach, diagonals, stride, flux, symmetric, offset, val, surplus }

// How many diagonals there are, and whether only the upper ones of a symmetric matrix. DIAGONALS, SYMMETRIC: compilers know it of
// stencils, so that they load all numbers of a row before they wait for one.
#ifdef DIAGONALS
INLINED int dia_count(const dia *A) { return DIAGONALS; }
#ifdef SYMMETRIC
INLINED int dia_is_symmetric(const dia *A) { return 1; }
#else
INLINED int dia_is_symmetric(const dia *A) { return 0; }
#endif
#else
INLINED int dia_count(const dia *A) { return A->diagonals; }
INLINED int dia_is_symmetric(const dia *A) { return A->symmetric; }
#endif

// The sum of a row all of whose columns are inside.
INLINED SUM dia_inner(const dia *A, const factor *x, int row, SUM own)
{
    SUM sum = 0;
    for (int d = 0; d < dia_count(A); d++) {
        const int o = A->offset[d], at = d * A->stride + row;
        sum += (SUM)A->val[at] * (factor_at(x, row + o) - own);
    }
    return sum;
}

// The sum of a row near the ends, some of whose columns may lie outside: entries there are 0, and x is read inside.
INLINED SUM dia_border(const dia *A, const factor *x, int row, SUM own)
{
    SUM sum = 0;
    for (int d = 0; d < A->diagonals; d++) {
        const int at = d * A->stride, column = clamp(row + A->offset[d], 0, A->cols - 1);
        sum += (SUM)A->val[at + row] * (factor_at(x, column) - own);
    }
    return sum;
}

// Both for a symmetric matrix. flux: its own, as a constant, so that the main diagonal comes with the others.
INLINED SUM dia_symmetric_inner(const dia *A, const factor *x, int row, int flux)
{
    const SUM own = flux ? factor_at(x, row) : (SUM)0;
    SUM sum = flux ? (SUM)0 : (SUM)A->val[row] * factor_at(x, row);

    for (int d = 1; d < dia_count(A); d++) {
        const int o = A->offset[d], at = d * A->stride + row;
        sum += (SUM)A->val[at] * (factor_at(x, row + o) - own) + (SUM)A->val[at - o] * (factor_at(x, row - o) - own);
    }
    return sum;
}

INLINED SUM dia_symmetric_border(const dia *A, const factor *x, int row)
{
    const SUM own = A->flux ? factor_at(x, row) : (SUM)0;
    SUM sum = A->flux ? (SUM)0 : (SUM)A->val[row] * factor_at(x, row);

    NOT_UNROLLED for (int d = 1; d < A->diagonals; d++) // few rows, which are not to take registers from the others
    {
        const int o = A->offset[d], at = d * A->stride;
        const int above = clamp(row + o, 0, A->cols - 1), below = clamp(row - o, 0, A->cols - 1);
        sum += (SUM)A->val[at + row] * (factor_at(x, above) - own);
        if (row >= o) sum += (SUM)A->val[at + below] * (factor_at(x, below) - own);
    }
    return sum;
}

INLINED SUM dia_row(const dia *A, const factor *x, int row)
{
    const int inside = row >= A->reach && row < A->rows - A->reach;
    SUM sum;

    if (!dia_is_symmetric(A)) {
        const SUM own = A->flux ? factor_at(x, row) : (SUM)0;
        sum = inside ? dia_inner(A, x, row, own) : dia_border(A, x, row, own);
    } else if (!inside) {
        sum = dia_symmetric_border(A, x, row);
    } else {
        sum = A->flux ? dia_symmetric_inner(A, x, row, 1) : dia_symmetric_inner(A, x, row, 0);
    }
    return A->surplus ? sum + (SUM)A->surplus[row] * factor_at(x, row) : sum;
}

#if PACK == 1

// sum[0] := row times x.
INLINED void dia_sums(const dia *A, const factor *x, int row, SUM *sum) { sum[0] = dia_row(A, x, row); }

#else

INLINED SUMV dia_factors(const factor *x, int first)
{
    return x->directed ? KRY_JOIN(convert_, SUMV)(vload8(0, x->x + first) + x->beta * vload8(0, x->old + first))
                       : LOAD_SUMV(x->x + first);
}

// The sums of rows first ... first + VW - 1, all inside. symmetric: the matrix's, as a constant.
INLINED SUMV dia_rows(const dia *A, const factor *x, int first, int symmetric)
{
    const SUMV own = A->flux ? dia_factors(x, first) : (SUMV)0;
    SUMV sums = 0;

    if (symmetric && !A->flux) sums = LOAD_SUMV(A->val + first) * dia_factors(x, first);
    for (int d = symmetric; d < dia_count(A); d++) {
        const int o = A->offset[d];
        global const VAL *v = A->val + d * A->stride + first;
        if (symmetric)
            sums += LOAD_SUMV(v) * (dia_factors(x, first + o) - own) +
                    LOAD_SUMV(v - o) * (dia_factors(x, first - o) - own);
        else
            sums += LOAD_SUMV(v) * (dia_factors(x, first + o) - own);
    }
    return A->surplus ? sums + LOAD_SUMV(A->surplus + first) * dia_factors(x, first) : sums;
}

// sum[l] := row first + l times x, 0 if there is no such row.
INLINED void dia_sums(const dia *A, const factor *x, int first, SUM *sum)
{
    if (first >= A->reach && first + PACK <= A->rows - A->reach)
        vstore8(dia_is_symmetric(A) ? dia_rows(A, x, first, 1) : dia_rows(A, x, first, 0), 0, sum);
    else
        for (int l = 0; l < PACK; l++) sum[l] = first + l < A->rows ? dia_row(A, x, first + l) : (SUM)0;
}

#endif

#ifndef AT_ONCE

#pragma kry part products

// y := alpha A x + beta y; with beta == 0, y is not read.
kernel void dia_apply(DIA, ACC alpha, global const REAL *restrict x, long x0, ACC beta, global REAL *restrict y, long y0)
{
    const dia A = DIA_PASS;
    const factor v = { x + x0 };
    y += y0;
    for (int first = pack_begin(rows, 0), end = pack_end(rows, 0); first < end; first += pack_step()) {
        const int count = pack_rows(rows, first);
        SUM sum[PACK];
        REAL y_rows[PACK];
        dia_sums(&A, &v, first, sum);
        if (beta == 0) {
            for (int l = 0; l < PACK; l++) y_rows[l] = (REAL)((SUM)alpha * sum[l]);
        } else {
            pack_load(y + first, count, y_rows);
            for (int l = 0; l < PACK; l++) y_rows[l] = (REAL)((SUM)alpha * sum[l] + (SUM)beta * y_rows[l]);
        }
        pack_store(y_rows, count, y + first);
    }
}

#pragma kry part residuals, products with sums

// r := b - A x; r may be b.
kernel void dia_residual(DIA, global const REAL *b, long b0, global const REAL *restrict x, long x0, global REAL *r,
                         long r0)
{
    const dia A = DIA_PASS;
    const factor v = { x + x0 };
    b += b0, r += r0;
    for (int first = pack_begin(rows, 0), end = pack_end(rows, 0); first < end; first += pack_step()) {
        const int count = pack_rows(rows, first);
        SUM sum[PACK];
        REAL rest[PACK];
        dia_sums(&A, &v, first, sum);
        pack_load(b + first, count, rest);
        for (int l = 0; l < PACK; l++) rest[l] = (REAL)((SUM)rest[l] - sum[l]);
        pack_store(rest, count, r + first);
    }
}

// y := A x, part[part0 + group] := x.y
kernel void dia_apply_dot(DIA, global const REAL *restrict x, long x0, global REAL *restrict y, long y0,
                          global TOTAL *restrict part, int part0)
{
    local TOTAL lane[WG];
    const dia A = DIA_PASS;
    const factor v = { x + x0 };
    TOTAL dot[PACK];
    totals_begin(dot);
    y += y0;
    for (int first = pack_begin(rows, 0), end = pack_end(rows, 0); first < end; first += pack_step()) {
        const int count = pack_rows(rows, first);
        SUM sum[PACK];
        REAL x_rows[PACK], y_rows[PACK];
        dia_sums(&A, &v, first, sum);
        pack_load(v.x + first, count, x_rows);
        for (int l = 0; l < PACK; l++) {
            y_rows[l] = (REAL)sum[l];
            ADD_PRODUCT(dot[l], x_rows[l], sum[l]);
        }
        pack_store(y_rows, count, y + first);
    }
    const TOTAL all = group_sum(totals_sum(dot), lane);
    if (get_local_id(0) == 0) part[part0 + get_group_id(0)] = all;
}

#pragma kry part relaxation

// y := x + c d .* (b - A x), a step of relaxation.
kernel void dia_relax(DIA, ACC c, global const REAL *restrict d, long d0, global const REAL *restrict b, long b0,
                      global const REAL *restrict x, long x0, global REAL *restrict y, long y0)
{
    const dia A = DIA_PASS;
    const factor v = { x + x0 };
    d += d0, b += b0, y += y0;
    for (int first = pack_begin(rows, 0), end = pack_end(rows, 0); first < end; first += pack_step()) {
        const int count = pack_rows(rows, first);
        SUM sum[PACK];
        REAL x_rows[PACK], b_rows[PACK], d_rows[PACK];
        dia_sums(&A, &v, first, sum);
        pack_load(v.x + first, count, x_rows);
        pack_load(b + first, count, b_rows);
        pack_load(d + first, count, d_rows);
        for (int l = 0; l < PACK; l++) x_rows[l] += (REAL)c * d_rows[l] * (REAL)((SUM)b_rows[l] - sum[l]);
        pack_store(x_rows, count, y + first);
    }
}

#pragma kry part directions

// p := z + beta old, q := A p, part[part0 + group] := p.q in one pass: the neighbours' p is formed again from z and
// old, so that p needs no pass of its own. Once the solve has stopped nothing is written to p and q.
kernel void dia_apply_direction(DIA, DIRECTION_PARAMS, global const REAL *restrict z, global const REAL *restrict old,
                                global REAL *restrict p, global REAL *restrict q, global TOTAL *restrict part,
                                int part0)
{
    local TOTAL2 lane[WG];
    const dia A = DIA_PASS;
    TOTAL dot[PACK];
    ACC beta;
    const int go_on = begin_direction(DIRECTION_PASS, lane, &beta) == GO_ON;
    const factor v = { z, old, (REAL)beta, 1 };
    totals_begin(dot);
    for (int first = pack_begin(rows, 0), end = pack_end(rows, 0); first < end && go_on; first += pack_step()) {
        const int count = pack_rows(rows, first);
        SUM sum[PACK];
        REAL z_rows[PACK], p_rows[PACK], q_rows[PACK];
        dia_sums(&A, &v, first, sum);
        pack_load(z + first, count, z_rows);
        pack_load(old + first, count, p_rows);
        for (int l = 0; l < PACK; l++) {
            p_rows[l] = z_rows[l] + v.beta * p_rows[l];
            q_rows[l] = (REAL)sum[l];
            ADD_PRODUCT(dot[l], p_rows[l], sum[l]);
        }
        pack_store(p_rows, count, p + first);
        pack_store(q_rows, count, q + first);
    }
    const TOTAL all = group_sum(totals_sum(dot), (local TOTAL *)lane);
    if (get_local_id(0) == 0 && go_on) part[part0 + get_group_id(0)] = all;
}

#pragma kry end

#else

#pragma kry part products

// y := alpha A x + beta y for `vectors` <= AT_ONCE of them; with beta == 0, y is not read. The matrix is read once.
kernel void dia_apply_block(DIA, int vectors, ACC alpha, global const REAL *restrict x, long x0, long x_pitch, ACC beta,
                            global REAL *restrict y, long y0, long y_pitch)
{
    const dia A = DIA_PASS;
    factor v;
    factor_begin(x + x0, x_pitch, vectors, &v);
    y += y0;
    for (int first = pack_begin(rows, 0), end = pack_end(rows, 0); first < end; first += pack_step()) {
        SUM sum;
        dia_sums(&A, &v, first, &sum);
        row_scaled_block(alpha, sum, beta, y + first, y_pitch, vectors);
    }
}

#pragma kry part relaxation

// y := b - A x, where y may be b, or with `relaxes` y := x + c d .* (b - A x), of the same vectors. A that is not square
// has rows without a number of x.
kernel void dia_relax_block(DIA, int vectors, int relaxes, ACC c, global const REAL *d, long d0, global const REAL *b,
                            long b0, long b_pitch, global const REAL *restrict x, long x0, long x_pitch,
                            global REAL *y, long y0, long y_pitch)
{
    const dia A = DIA_PASS;
    factor v;
    factor_begin(x + x0, x_pitch, vectors, &v);
    d += d0, b += b0, y += y0;
    for (int first = pack_begin(rows, 0), end = pack_end(rows, 0); first < end; first += pack_step()) {
        const int row = first;
        const REAL scale = relaxes ? (REAL)c * d[row] : 1;
        SUM sum;
        dia_sums(&A, &v, first, &sum);
        row_relaxed_block(sum, relaxes, scale, relaxes ? factor_at(&v, row) : sum, b + row, b_pitch, y + row, y_pitch,
                          vectors);
    }
}

#pragma kry end

#endif

#ifndef AT_ONCE

#pragma kry part entries

// ---- entries, one after the other: those of a row whose numbers are not zero, by ascending column ----

// Places of a row: those on diagonals d = dia_first_place() ... diagonals - 1, where -d counts the mirror image of diagonal d.
INLINED int dia_first_place(const dia *A) { return A->symmetric ? 1 - A->diagonals : 0; }

// The column of a row's place; it may lie outside.
INLINED long dia_column(const dia *A, long row, int d) { return d < 0 ? row - A->offset[-d] : row + A->offset[d]; }

// Its slot, ~slot of those that are a mirror image's.
INLINED int dia_slot(const dia *A, long row, int d)
{
    return d < 0 ? ~(int)(dia_column(A, row, d) - d * A->stride) : (int)(row + d * A->stride);
}

INLINED int dia_has_entry(const dia *A, long row, int d)
{
    const long column = dia_column(A, row, d);
    if (column < 0 || column >= A->cols) return 0;
    const int slot = dia_slot(A, row, d);
    return A->val[slot < 0 ? ~slot : slot] != 0;
}

kernel void dia_lengths(DIA, global int *restrict length)
{
    const dia A = DIA_PASS;
    FOR_EACH(row, rows)
    {
        int count = 0;
        for (int d = dia_first_place(&A); d < diagonals; d++) count += dia_has_entry(&A, row, d);
        length[row] = count;
    }
}

// place: slots, ~slot of those that are a mirror image's.
kernel void dia_entries(DIA, global const int *restrict ptr, global int *restrict col, global int *restrict place)
{
    const dia A = DIA_PASS;
    FOR_EACH(row, rows)
    {
        int at = ptr[row];
        for (int d = dia_first_place(&A); d < diagonals; d++)
            if (dia_has_entry(&A, row, d)) col[at] = (int)dia_column(&A, row, d), place[at++] = dia_slot(&A, row, d);
    }
}

// d := the main diagonal, 0 where there is none.
kernel void dia_diagonal(DIA, global REAL *restrict d, long d0)
{
    int main_diagonal = 0;
    while (main_diagonal < diagonals && offset[main_diagonal] != 0) main_diagonal++;
    FOR_EACH(row, rows)
    {
        const int there = main_diagonal < diagonals && row < cols;
        d[d0 + row] = there ? (REAL)val[main_diagonal * stride + row] : 0;
    }
}

#pragma kry end

#endif
