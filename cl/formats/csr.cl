// csr.cl - compressed sparse rows.
// Host: src/matrix/csr.c.
//
// row_ptr (OFFSET: int or long) has rows+1 entries, col and val nnz. `block` cuts the rows into
// `work` runs of consecutive rows, block[0] = 0 ... block[work] = rows:
//   CPU   one run per group, equal in work; a plain loop over each row, with four sums in rows of `long_rows` entries and
//         more, if that is not 0
//   GPU   runs of at most TILE = UNROLL * WG entries. A group loads a run's entries side by side,
//         whatever the row lengths, UNROLL to a work-item at once so that enough bytes are in
//         flight, and puts the products in local memory; then as many lanes as there are to spare
//         for each row add them up: one for short rows, the whole group for one that fills the run.
// Rows too long for a run are cut into several, if `cut` is not NULL. Run b begins at entry cut[b]; a negative
// block[b] says that it begins inside a row. Its sum goes to partial[b], and split.cl adds it to
// the row, of which the first run took care here. So no run has more work than another, whatever
// the lengths of rows, and the order of summation depends only on the pattern.
//
// After J. L. Greathouse, M. Daga, Efficient sparse matrix-vector multiplication on GPUs using
// the CSR storage format, SC14 (2014); the split as in D. Merrill, M. Garland, Merge-based
// parallel sparse matrix-vector multiplication, SC16 (2016), but found once, on the host.

#include "formats/stored.clh"
#include "common/direction.clh"

#ifndef OFFSET
#define OFFSET int
#endif
#ifndef UNROLL
#define UNROLL 4 // or 8, as src/matrix/csr.c says
#endif
#define TILE (UNROLL * WG)

typedef struct csr {
    global const int *block;
    global const OFFSET *row_ptr;
    global const int *col;
    int long_rows, flux; // flux: whether rows are sums of a(i,j) (x_j - x_i)
    global const OFFSET *cut; // NULL, as `partial`, where no row is split
    global SUM *partial;
    global const VAL *val;
    global const REAL *surplus; // multiplies x_i beside the entries of row i; NULL: nothing
} csr;

#define CSR                                                                               \
    int work, global const int *restrict block, global const OFFSET *restrict row_ptr,    \
        global const int *restrict col, int long_rows, int flux, global const OFFSET *restrict cut, \
        global SUM *partial, global const VAL *restrict val, global const REAL *restrict surplus
#define CSR_PASS { block, row_ptr, col, long_rows, flux, cut, partial, val, surplus }

// A run: its rows, of which the first may have begun in an earlier one and the last may go on in a later one, and its entries.
typedef struct csr_run {
    int number, first, rows, begins_inside; // of its first row
    OFFSET begin, end;
    int lanes; // that share a row
} csr_run;

// The largest power of two that gives every row of a run its share. A run may be empty.
INLINED int lanes_per_row(int rows)
{
    int lanes = 1;
    while (lanes < ROW_LANES && 2 * lanes * rows <= ROW_LANES) lanes *= 2;
    return lanes;
}

INLINED void csr_run_at(const csr *A, int b, csr_run *r)
{
    const int begins = A->block[b], ends = A->block[b + 1];

    r->number = b, r->begins_inside = begins < 0;
    r->first = begins & 0x7fffffff;
    r->rows = (ends & 0x7fffffff) - r->first + (ends < 0);
    r->begin = A->cut ? A->cut[b] : A->row_ptr[r->first];
    r->end = A->cut ? A->cut[b + 1] : A->row_ptr[r->first + r->rows];
    r->lanes = lanes_per_row(r->rows);
}

// How many rows of a run are added up at a time.
INLINED int csr_rows_at_once(const csr_run *r) { return ROW_LANES / r->lanes; }

// The entries of a row that are in this run.
INLINED OFFSET csr_row_begin(const csr *A, const csr_run *r, int row)
{
    return max(A->row_ptr[row], r->begin);
}

INLINED OFFSET csr_row_end(const csr *A, const csr_run *r, int row)
{
    return min(A->row_ptr[row + 1], r->end);
}

// Return `row`, whose sum in this run is known, or -1, if an earlier run has the row: then the sum is left for split.cl.
INLINED int csr_finish(const csr *A, const csr_run *r, const factor *x, int row, SUM *sum)
{
    if (r->begins_inside && row == r->first) {
        A->partial[r->number] = *sum;
        return -1;
    }
    if (A->surplus) *sum += (SUM)A->surplus[row] * factor_at(x, row);
    return row;
}

#ifdef KRY_CPU

typedef int csr_tile; // there is none
#define CSR_TILE const csr_tile tile = 0;
INLINED void csr_load_tile(const csr *A, const csr_run *r, const factor *x, const csr_tile *tile) {}

INLINED SUM csr_term(const csr *A, const factor *x, OFFSET k, SUM own)
{
    return (SUM)A->val[k] * (factor_at(x, A->col[k]) - own);
}

// The sum of entries k ... end - 1.
INLINED SUM csr_sum(const csr *A, const factor *x, OFFSET k, OFFSET end, SUM own)
{
    SUM sum = 0;

    if (A->long_rows && end - k >= A->long_rows) { // four sums, so that an entry does not wait for the one before it
        SUM sum1 = 0, sum2 = 0, sum3 = 0;
        for (; k + 3 < end; k += 4) {
            sum += csr_term(A, x, k, own);
            sum1 += csr_term(A, x, k + 1, own);
            sum2 += csr_term(A, x, k + 2, own);
            sum3 += csr_term(A, x, k + 3, own);
        }
        sum = (sum + sum2) + (sum1 + sum3);
    }
    for (; k < end; k++) sum += csr_term(A, x, k, own);
    return sum;
}

// *sum := row number `nth` of a run times x. Return the row, or -1.
INLINED int csr_row(const csr *A, const csr_run *r, const factor *x, int nth, const csr_tile *tile, SUM *sum)
{
    const int row = r->first + nth;
    const OFFSET begin = csr_row_begin(A, r, row), end = csr_row_end(A, r, row);

    *sum = A->flux ? csr_sum(A, x, begin, end, factor_at(x, row)) : csr_sum(A, x, begin, end, 0);
    return csr_finish(A, r, x, row, sum);
}

#else

// Add up what the lanes of a row have. Only lane 0 of each row has the answer.
INLINED SUM over_lanes(SUM sum, int lanes, local SUM *lane_sum)
{
    const int l = get_local_id(0), lane_of_row = row_lane() & (lanes - 1);
    for (int step = lanes / 2; step > 0; step /= 2) {
        lane_sum[l] = sum;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane_of_row < step) sum += lane_sum[l + step * ROW_LANE_STEP];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    return sum;
}

#ifdef AT_ONCE

// A tile of products with all vectors would be too large: it has the entries themselves.
typedef struct csr_tile {
    local VAL *val;
    local int *col;
    local SUM *lane_sum;
} csr_tile;
#define CSR_TILE                \
    local VAL tile_val[TILE];   \
    local int tile_col[TILE];   \
    local SUM lane_sum[WG];     \
    const csr_tile tile = { tile_val, tile_col, lane_sum };

INLINED void csr_load_tile(const csr *A, const csr_run *r, const factor *x, const csr_tile *tile)
{
    const int l = get_local_id(0), count = (int)(r->end - r->begin);
    int col[UNROLL];
    VAL val[UNROLL];

    barrier(CLK_LOCAL_MEM_FENCE); // the tile may still be read
    if (count > 0) {
        UNROLLED for (int u = 0; u < UNROLL; u++)
        {
            const OFFSET k = r->begin + min(l + u * WG, count - 1);
            col[u] = A->col[k], val[u] = A->val[k];
        }
        UNROLLED for (int u = 0; u < UNROLL; u++) tile->col[l + u * WG] = col[u], tile->val[l + u * WG] = val[u];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

// What entries from, from + lanes ... of the tile, before `to`, add to a row. Four numbers of x are on their way at once.
INLINED SUM csr_lane_sum(const csr *A, const csr_tile *tile, const factor *x, int row, int from, int to, int lanes)
{
    SUM sum = 0, own = 0;
    int k = from;

    if (A->flux && from < to) own = factor_at(x, row);
    for (; k + 3 * lanes < to; k += 4 * lanes) {
        SUM there[4];
        UNROLLED for (int u = 0; u < 4; u++) there[u] = factor_at(x, tile->col[k + u * lanes]) - own;
        UNROLLED for (int u = 0; u < 4; u++) sum += (SUM)tile->val[k + u * lanes] * there[u];
    }
    for (; k < to; k += lanes) sum += (SUM)tile->val[k] * (factor_at(x, tile->col[k]) - own);
    return sum;
}

#else

typedef struct csr_tile {
    local SUM *product, *lane_sum;
} csr_tile;
#define CSR_TILE              \
    local SUM product[TILE];  \
    local SUM lane_sum[WG];   \
    const csr_tile tile = { product, lane_sum };

// Which row an entry is of, and so what to subtract in flux form, is only known where rows are walked: each row puts its x_i
// where its products will be.
INLINED void csr_spread_own(const csr *A, const csr_run *r, const factor *x, const csr_tile *tile)
{
    const int l = get_local_id(0);
    for (int base = 0; base < r->rows; base += WG / r->lanes) {
        const int nth = base + l / r->lanes, row = r->first + nth;
        if (nth < r->rows) {
            const int to = (int)(csr_row_end(A, r, row) - r->begin);
            const SUM own = factor_at(x, row);
            for (int k = (int)(csr_row_begin(A, r, row) - r->begin) + (l & (r->lanes - 1)); k < to; k += r->lanes)
                tile->product[k] = own;
        }
    }
}

// The products of a run's entries go to the tile: all loads first, then all gathers, then all stores.
INLINED void csr_load_tile(const csr *A, const csr_run *r, const factor *x, const csr_tile *tile)
{
    const int l = get_local_id(0), count = (int)(r->end - r->begin);
    int col[UNROLL];
    SUM val[UNROLL];

    barrier(CLK_LOCAL_MEM_FENCE); // the tile may still be read
    for (int pass = 0; pass < A->flux; pass++) { // one, in flux form
        csr_spread_own(A, r, x, tile);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (count > 0) {
        UNROLLED for (int u = 0; u < UNROLL; u++)
        {
            const OFFSET k = r->begin + min(l + u * WG, count - 1);
            col[u] = A->col[k], val[u] = A->val[k];
        }
        if (A->flux)
            UNROLLED for (int u = 0; u < UNROLL; u++)
                val[u] *= factor_at(x, col[u]) - tile->product[min(l + u * WG, count - 1)];
        else
            UNROLLED for (int u = 0; u < UNROLL; u++) val[u] *= factor_at(x, col[u]);
        UNROLLED for (int u = 0; u < UNROLL; u++)
            if (l + u * WG < count) tile->product[l + u * WG] = val[u];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

// What entries from, from + lanes ... of the tile, before `to`, add to a row.
INLINED SUM csr_lane_sum(const csr *A, const csr_tile *tile, const factor *x, int row, int from, int to, int lanes)
{
    SUM sum = 0;
    for (int k = from; k < to; k += lanes) sum += tile->product[k];
    return sum;
}

#endif

// *sum := a row times x, of the rows of a run from number `base` on that which this work-item shares. Return the row, or
// -1: there is none, or another work-item has it.
INLINED int csr_row(const csr *A, const csr_run *r, const factor *x, int base, const csr_tile *tile, SUM *sum)
{
    const int l = row_lane(), lane_of_row = l & (r->lanes - 1);
    const int nth = base + l / r->lanes, row = r->first + nth;
    int from = 0, to = 0;

    if (nth < r->rows) {
        from = (int)(csr_row_begin(A, r, row) - r->begin);
        to = (int)(csr_row_end(A, r, row) - r->begin);
    }
    *sum = over_lanes(csr_lane_sum(A, tile, x, row, from + lane_of_row, to, r->lanes), r->lanes, tile->lane_sum);
    return nth < r->rows && lane_of_row == 0 ? csr_finish(A, r, x, row, sum) : -1;
}

#endif

#ifndef AT_ONCE

#pragma kry part products

// y := alpha A x + beta y; with beta == 0, y is not read.
kernel void csr_apply(CSR, ACC alpha, global const REAL *restrict x, long x0, ACC beta, global REAL *restrict y, long y0)
{
    CSR_TILE
    const csr A = CSR_PASS;
    const factor v = { x + x0 };
    y += y0;
    for (int nth = get_group_id(0); nth < work; nth += get_num_groups(0)) {
        csr_run run;
        csr_run_at(&A, nth, &run);
        csr_load_tile(&A, &run, &v, &tile);
        for (int base = 0; base < run.rows; base += csr_rows_at_once(&run)) {
            SUM sum;
            const int row = csr_row(&A, &run, &v, base, &tile, &sum);
            if (row >= 0) y[row] = row_scaled(alpha, sum, beta, y + row);
        }
    }
}

#pragma kry part residuals, products with sums

// r := b - A x; r may be b.
kernel void csr_residual(CSR, global const REAL *b, long b0, global const REAL *restrict x, long x0, global REAL *r,
                         long r0)
{
    CSR_TILE
    const csr A = CSR_PASS;
    const factor v = { x + x0 };
    b += b0, r += r0;
    for (int nth = get_group_id(0); nth < work; nth += get_num_groups(0)) {
        csr_run run;
        csr_run_at(&A, nth, &run);
        csr_load_tile(&A, &run, &v, &tile);
        for (int base = 0; base < run.rows; base += csr_rows_at_once(&run)) {
            SUM sum;
            const int row = csr_row(&A, &run, &v, base, &tile, &sum);
            if (row >= 0) r[row] = (REAL)((SUM)b[row] - sum);
        }
    }
}

// y := A x, part[part0 + group] := x.y
kernel void csr_apply_dot(CSR, global const REAL *restrict x, long x0, global REAL *restrict y, long y0,
                          global TOTAL *restrict part, int part0)
{
    local TOTAL lane[WG];
    CSR_TILE
    const csr A = CSR_PASS;
    const factor v = { x + x0 };
    TOTAL dot = NO_TOTAL;
    y += y0;
    for (int nth = get_group_id(0); nth < work; nth += get_num_groups(0)) {
        csr_run run;
        csr_run_at(&A, nth, &run);
        csr_load_tile(&A, &run, &v, &tile);
        for (int base = 0; base < run.rows; base += csr_rows_at_once(&run)) {
            SUM sum;
            const int row = csr_row(&A, &run, &v, base, &tile, &sum);
            if (row >= 0) {
                y[row] = (REAL)sum;
                ADD_PRODUCT(dot, v.x[row], sum);
            }
        }
    }
    dot = group_sum(dot, lane);
    if (get_local_id(0) == 0) part[part0 + get_group_id(0)] = dot;
}

#pragma kry part relaxation

// y := x + c d .* (b - A x), a step of relaxation.
kernel void csr_relax(CSR, ACC c, global const REAL *restrict d, long d0, global const REAL *restrict b, long b0,
                      global const REAL *restrict x, long x0, global REAL *restrict y, long y0)
{
    CSR_TILE
    const csr A = CSR_PASS;
    const factor v = { x + x0 };
    d += d0, b += b0, y += y0;
    for (int nth = get_group_id(0); nth < work; nth += get_num_groups(0)) {
        csr_run run;
        csr_run_at(&A, nth, &run);
        csr_load_tile(&A, &run, &v, &tile);
        for (int base = 0; base < run.rows; base += csr_rows_at_once(&run)) {
            SUM sum;
            const int row = csr_row(&A, &run, &v, base, &tile, &sum);
            if (row >= 0) y[row] = v.x[row] + (REAL)c * d[row] * (REAL)((SUM)b[row] - sum);
        }
    }
}

#pragma kry part directions

// p := z + beta old, q := A p, part[part0 + group] := p.q in one pass: the neighbours' p is formed again from z and
// old, so that p needs no pass of its own. Once the solve has stopped nothing is written to p and q.
kernel void csr_apply_direction(CSR, DIRECTION_PARAMS, global const REAL *restrict z, global const REAL *restrict old,
                                global REAL *restrict p, global REAL *restrict q, global TOTAL *restrict part,
                                int part0)
{
    local TOTAL2 lane[WG];
    CSR_TILE
    const csr A = CSR_PASS;
    TOTAL dot = NO_TOTAL;
    ACC beta;
    const int go_on = begin_direction(DIRECTION_PASS, lane, &beta) == GO_ON;
    const factor v = { z, old, (REAL)beta, 1 };
    for (int nth = get_group_id(0); nth < work && go_on; nth += get_num_groups(0)) {
        csr_run run;
        csr_run_at(&A, nth, &run);
        csr_load_tile(&A, &run, &v, &tile);
        for (int base = 0; base < run.rows; base += csr_rows_at_once(&run)) {
            SUM sum;
            const int row = csr_row(&A, &run, &v, base, &tile, &sum);
            if (row >= 0) {
                const REAL p_row = z[row] + v.beta * old[row];
                p[row] = p_row, q[row] = (REAL)sum;
                ADD_PRODUCT(dot, p_row, sum);
            }
        }
    }
    dot = group_sum(dot, (local TOTAL *)lane);
    if (get_local_id(0) == 0 && go_on) part[part0 + get_group_id(0)] = dot;
}

#pragma kry end

#else

#pragma kry part products

// y := alpha A x + beta y for `vectors` <= AT_ONCE of them; with beta == 0, y is not read. The matrix is read once.
kernel void csr_apply_block(CSR, int vectors, ACC alpha, global const REAL *restrict x, long x0, long x_pitch, ACC beta,
                            global REAL *restrict y, long y0, long y_pitch)
{
    CSR_TILE
    const csr A = CSR_PASS;
    factor v;
    factor_begin(x + x0, x_pitch, vectors, &v);
    y += y0;
    for (int nth = get_group_id(0); nth < work; nth += get_num_groups(0)) {
        csr_run run;
        csr_run_at(&A, nth, &run);
        csr_load_tile(&A, &run, &v, &tile);
        for (int base = 0; base < run.rows; base += csr_rows_at_once(&run)) {
            SUM sum;
            const int row = csr_row(&A, &run, &v, base, &tile, &sum);
            if (row >= 0) row_scaled_block(alpha, sum, beta, y + row, y_pitch, vectors);
        }
    }
}

#pragma kry part relaxation

// y := b - A x, where y may be b, or with `relaxes` y := x + c d .* (b - A x), of the same vectors. A that is not square
// has rows without a number of x.
kernel void csr_relax_block(CSR, int vectors, int relaxes, ACC c, global const REAL *d, long d0, global const REAL *b,
                            long b0, long b_pitch, global const REAL *restrict x, long x0, long x_pitch,
                            global REAL *y, long y0, long y_pitch)
{
    CSR_TILE
    const csr A = CSR_PASS;
    factor v;
    factor_begin(x + x0, x_pitch, vectors, &v);
    d += d0, b += b0, y += y0;
    for (int nth = get_group_id(0); nth < work; nth += get_num_groups(0)) {
        csr_run run;
        csr_run_at(&A, nth, &run);
        csr_load_tile(&A, &run, &v, &tile);
        for (int base = 0; base < run.rows; base += csr_rows_at_once(&run)) {
            SUM sum;
            const int row = csr_row(&A, &run, &v, base, &tile, &sum);
            if (row >= 0) {
                const REAL scale = relaxes ? (REAL)c * d[row] : 1;
                row_relaxed_block(sum, relaxes, scale, relaxes ? factor_at(&v, row) : sum, b + row, b_pitch, y + row,
                                  y_pitch, vectors);
            }
        }
    }
}

#pragma kry end

#endif

#ifndef AT_ONCE

#pragma kry part diagonal

// d := diagonal; entries of a row may stand in any order.
kernel void csr_diagonal(long rows, global const OFFSET *restrict row_ptr,
                         global const int *restrict col, global const VAL *restrict val,
                         global REAL *restrict d, long d0)
{
    d += d0;
    FOR_EACH(row, rows)
    {
        REAL v = 0;
        for (OFFSET k = row_ptr[row]; k < row_ptr[row + 1]; k++)
            if (col[k] == row) v += val[k];
        d[row] = v;
    }
}

#pragma kry part runs

// ---- the runs of a matrix whose offsets only the device has; it has no row longer than a run ----

// found[0] := the length of the longest row.
kernel void csr_longest(int rows, global const int *restrict row_ptr, global int *found)
{
    int longest = 0;
    FOR_EACH(row, rows) longest = max(longest, row_ptr[row + 1] - row_ptr[row]);
    if (longest > found[0]) atomic_max(&found[0], longest);
}

// block[b]: the first row before which there are b * share entries and eighths of rows.
kernel void csr_runs(int runs, int rows, int share, global const int *restrict row_ptr,
                     global int *restrict first)
{
    FOR_EACH(b, runs + 1)
    {
        int from = 0, to = rows;
        while (from < to && b < runs) {
            int middle = from + (to - from) / 2;
            if (row_ptr[middle] + (long)(middle / 8) < b * share)
                from = middle + 1;
            else
                to = middle;
        }
        first[b] = b < runs ? from : rows;
    }
}

#pragma kry end

#endif
