// coo.cl - entries with both their indices, sorted by row, added to what an earlier stage has written to the rows.
// Host: src/matrix/coo.c.
//
// run[b] is where the b-th of `work` runs of entries begins, run[work] = how many there are. A run has whole rows, but a
// row too long for it is cut: ~entry instead of entry says that run b begins inside a row, and has nothing else; its sum
// goes to partial[b] for split.cl to add. Numbers start at val[val0].
//   CPU   one run per group, a plain loop over each row
//   GPU   runs of at most TILE entries. A group puts the products in local memory and adds them up by doubling distances
//         (a segmented scan): 1, 2, 4 ... places back, as long as the row is the same, below longest[b], the most
//         entries of a row in the run. The last entry of each row then has the row's sum.
// No atomics: the order of summation depends only on the pattern.

#include "formats/stored.clh"
#include "common/direction.clh"

#define UNROLL 4 // KRY_UNROLL of src/matrix/matrix.h
#define TILE (UNROLL * WG)

typedef struct coo {
    int work, flux; // flux: whether rows are sums of a(i,j) (x_j - x_i)
    global const int *run, *longest, *row_of, *col;
    int val0;
    global SUM *partial;
    global const VAL *val;
} coo;

#define COO                                                                                              \
    int work, int flux, global const int *restrict run, global const int *restrict longest,              \
        global const int *restrict row_of, global const int *restrict col, int val0, global SUM *partial, \
        global const VAL *restrict val
#define COO_PASS { work, flux, run, longest, row_of, col, val0, partial, val }

INLINED int coo_run_begin(const coo *A, int b)
{
    const int begin = A->run[b];
    return begin < 0 ? ~begin : begin;
}

// Return `row`, whose sum in run b is known and begins with the run's first entry, or -1, if an earlier run has the row: then the
// sum is left for split.cl.
INLINED int coo_finish_first(const coo *A, int b, int row, SUM sum)
{
    if (A->run[b] >= 0) return row;
    A->partial[b] = sum;
    return -1;
}

#ifdef KRY_CPU

enum { SUMS = 1 }; // of rows, that coo_sums finds at a time
typedef int coo_tile; // there is none
#define COO_TILE const coo_tile tile = 0;

// sum[0] := the entries of a row, from entry k of run b on, times x; row[0] := the row, or -1. Return the entry behind them.
INLINED int coo_sums(const coo *A, const factor *x, int b, int k, const coo_tile *tile, int *row, SUM *sum)
{
    const int first = k, end = coo_run_begin(A, b + 1);
    const SUM own = A->flux ? factor_at(x, A->row_of[k]) : (SUM)0;

    row[0] = A->row_of[k], sum[0] = 0;
    for (; k < end && A->row_of[k] == row[0]; k++)
        sum[0] += (SUM)A->val[A->val0 + k] * (factor_at(x, A->col[k]) - own);
    if (first == coo_run_begin(A, b)) row[0] = coo_finish_first(A, b, row[0], sum[0]);
    return k;
}

#else

enum { SUMS = UNROLL };
typedef struct coo_tile {
    local SUM *sum;
    local int *row;
} coo_tile;
#define COO_TILE               \
    local SUM tile_sum[TILE];  \
    local int tile_row[TILE];  \
    const coo_tile tile = { tile_sum, tile_row };

// sum[u] := the entries of a row in run b, which begins at entry `begin`, times x; row[u] := the row, or -1, if another
// work-item has it, or none. Return the entry behind the run.
INLINED int coo_sums(const coo *A, const factor *x, int b, int begin, const coo_tile *tile, int *row, SUM *sum)
{
    const int l = get_local_id(0), end = coo_run_begin(A, b + 1), count = end - begin, longest = A->longest[b];
    int col[UNROLL];

    UNROLLED for (int u = 0; u < UNROLL; u++)
    {
        const int k = begin + min(l + u * WG, count - 1); // past the end the last one, whose product is not used
        row[u] = A->row_of[k], col[u] = A->col[k], sum[u] = A->val[A->val0 + k];
    }
    UNROLLED for (int u = 0; u < UNROLL; u++)
        sum[u] *= A->flux ? factor_at(x, col[u]) - factor_at(x, row[u]) : factor_at(x, col[u]);
    barrier(CLK_LOCAL_MEM_FENCE); // the tile may still be read
    UNROLLED for (int u = 0; u < UNROLL; u++)
    {
        const int place = l + u * WG;
        tile->sum[place] = sum[u];
        tile->row[place] = place < count ? row[u] : -1;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int step = 1; step < longest; step *= 2) {
        UNROLLED for (int u = 0; u < UNROLL; u++)
        {
            const int place = l + u * WG;
            if (place >= step && place < count && tile->row[place - step] == row[u]) sum[u] += tile->sum[place - step];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        UNROLLED for (int u = 0; u < UNROLL; u++) tile->sum[l + u * WG] = sum[u];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    UNROLLED for (int u = 0; u < UNROLL; u++)
    {
        const int place = l + u * WG;
        const int is_last = place < count && (place == count - 1 || tile->row[place + 1] != row[u]);
        row[u] = is_last ? coo_finish_first(A, b, row[u], sum[u]) : -1;
    }
    return end;
}

#endif

#pragma kry part products

// y += alpha A x
kernel void coo_apply(COO, ACC alpha, global const REAL *restrict x, long x0, ACC beta, global REAL *restrict y, long y0)
{
    COO_TILE
    const coo A = COO_PASS;
    const factor v = { x + x0 };
    y += y0;
    for (int b = get_group_id(0); b < work; b += get_num_groups(0))
        for (int k = coo_run_begin(&A, b), end = coo_run_begin(&A, b + 1); k < end;) {
            int row[SUMS];
            SUM sum[SUMS];
            k = coo_sums(&A, &v, b, k, &tile, row, sum);
            UNROLLED for (int u = 0; u < SUMS; u++)
                if (row[u] >= 0) y[row[u]] += (REAL)((SUM)alpha * sum[u]);
        }
}

#pragma kry part residuals, products with sums

// r -= A x
kernel void coo_residual(COO, global const REAL *b, long b0, global const REAL *restrict x, long x0, global REAL *r,
                         long r0)
{
    COO_TILE
    const coo A = COO_PASS;
    const factor v = { x + x0 };
    r += r0;
    for (int nth = get_group_id(0); nth < work; nth += get_num_groups(0))
        for (int k = coo_run_begin(&A, nth), end = coo_run_begin(&A, nth + 1); k < end;) {
            int row[SUMS];
            SUM sum[SUMS];
            k = coo_sums(&A, &v, nth, k, &tile, row, sum);
            UNROLLED for (int u = 0; u < SUMS; u++)
                if (row[u] >= 0) r[row[u]] = (REAL)((SUM)r[row[u]] - sum[u]);
        }
}

// y += A x, part[part0 + group] := x.(A x)
kernel void coo_apply_dot(COO, global const REAL *restrict x, long x0, global REAL *restrict y, long y0,
                          global TOTAL *restrict part, int part0)
{
    local TOTAL lane[WG];
    COO_TILE
    const coo A = COO_PASS;
    const factor v = { x + x0 };
    TOTAL dot = NO_TOTAL;
    y += y0;
    for (int b = get_group_id(0); b < work; b += get_num_groups(0))
        for (int k = coo_run_begin(&A, b), end = coo_run_begin(&A, b + 1); k < end;) {
            int row[SUMS];
            SUM sum[SUMS];
            k = coo_sums(&A, &v, b, k, &tile, row, sum);
            UNROLLED for (int u = 0; u < SUMS; u++)
                if (row[u] >= 0) {
                    y[row[u]] += (REAL)sum[u];
                    ADD_PRODUCT(dot, v.x[row[u]], sum[u]);
                }
        }
    dot = group_sum(dot, lane);
    if (get_local_id(0) == 0) part[part0 + get_group_id(0)] = dot;
}

#pragma kry part relaxation

// y -= c d .* A x
kernel void coo_relax(COO, ACC c, global const REAL *restrict d, long d0, global const REAL *restrict b, long b0,
                      global const REAL *restrict x, long x0, global REAL *restrict y, long y0)
{
    COO_TILE
    const coo A = COO_PASS;
    const factor v = { x + x0 };
    d += d0, y += y0;
    for (int nth = get_group_id(0); nth < work; nth += get_num_groups(0))
        for (int k = coo_run_begin(&A, nth), end = coo_run_begin(&A, nth + 1); k < end;) {
            int row[SUMS];
            SUM sum[SUMS];
            k = coo_sums(&A, &v, nth, k, &tile, row, sum);
            UNROLLED for (int u = 0; u < SUMS; u++)
                if (row[u] >= 0) y[row[u]] -= (REAL)c * d[row[u]] * (REAL)sum[u];
        }
}

#pragma kry part directions

// q += A p, part[part0 + group] := p.(A p), for the p that the first stage has formed, unless the solve has stopped.
kernel void coo_apply_direction(COO, global const ACC *restrict state, global const REAL *restrict p,
                                global REAL *restrict q, global TOTAL *restrict part, int part0)
{
    local TOTAL lane[WG];
    COO_TILE
    const coo A = COO_PASS;
    const factor v = { p };
    TOTAL dot = NO_TOTAL;
    const int go_on = (int)state[STATE_STOP] == GO_ON;
    for (int b = get_group_id(0); b < work && go_on; b += get_num_groups(0))
        for (int k = coo_run_begin(&A, b), end = coo_run_begin(&A, b + 1); k < end;) {
            int row[SUMS];
            SUM sum[SUMS];
            k = coo_sums(&A, &v, b, k, &tile, row, sum);
            UNROLLED for (int u = 0; u < SUMS; u++)
                if (row[u] >= 0) {
                    q[row[u]] += (REAL)sum[u];
                    ADD_PRODUCT(dot, v.x[row[u]], sum[u]);
                }
        }
    dot = group_sum(dot, lane);
    if (get_local_id(0) == 0 && go_on) part[part0 + get_group_id(0)] = dot;
}

#pragma kry end
