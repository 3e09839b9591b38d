// csr.cl - compressed sparse rows.
// Host: src/formats/csr.c.
//
// row_ptr (OFFSET: int or long) has rows+1 entries, col and val nnz. `block` cuts the rows into
// `blocks` runs of consecutive rows, block[0] = 0 ... block[blocks] = rows:
//   CPU   one run per group, equal in work; a plain loop over each row
//   GPU   runs of at most TILE = UNROLL * WG entries, or a single longer row. A group loads a
//         run's entries side by side, whatever the row lengths, UNROLL to a work-item at once so
//         that enough bytes are in flight, and puts the products in local memory; then as many
//         lanes as there are to spare for each row add them up: one for short rows, a few for
//         longer ones, the whole group for a row that exceeds the tile.
// SUM is the type of a row's sum. The order of summation depends only on the pattern.
//
// After J. L. Greathouse, M. Daga, Efficient sparse matrix-vector multiplication on GPUs using
// the CSR storage format, SC14 (2014).

#ifndef OFFSET
#define OFFSET int
#endif
#ifndef SUM
#define SUM REAL
#endif
#ifndef UNROLL
#define UNROLL 4
#endif
#define TILE (UNROLL * WG)

#define CSR_PARAMS                                                                        \
    int blocks, global const int *restrict block, global const OFFSET *restrict row_ptr, \
        global const int *restrict col, global const REAL *restrict val

#ifdef KRY_CPU

// DO(row, sum) for every row, sum = the row's products of val with GET(column).
#define CSR_ROWS(GET, DO)                                               \
    for (int b = get_group_id(0); b < blocks; b += get_num_groups(0)) { \
        int row_end = block[b + 1];                                     \
        OFFSET k = row_ptr[block[b]];                                   \
        for (int row = block[b]; row < row_end; row++) {                \
            OFFSET k_end = row_ptr[row + 1];                            \
            SUM sum = 0;                                                \
            for (; k < k_end; k++) sum += (SUM)val[k] * (SUM)GET(col[k]); \
            DO(row, sum)                                                \
        }                                                               \
    }
#define CSR_LOCALS

#else

#define CSR_LOCALS        \
    local SUM tile[TILE]; \
    local SUM lane_sum[WG];

// Lanes that share a row: the largest power of two that gives every row of a run its share.
int lanes_per_row(int rows)
{
    int lanes = 1;
    while (2 * lanes * rows <= WG) lanes *= 2;
    return lanes;
}

// Add up the row of this work-item's lane: tile[from], tile[from + lanes] ... below `to`, then
// over the lanes. Only lane 0 of each row has the answer.
SUM row_sum(local const SUM *tile, int from, int to, int lanes, local SUM *lane_sum)
{
    int l = get_local_id(0);
    SUM sum = 0;
    for (int k = from; k < to; k += lanes) sum += tile[k];
    for (int step = lanes / 2; step > 0; step /= 2) {
        lane_sum[l] = sum;
        barrier(CLK_LOCAL_MEM_FENCE);
        if ((l & (lanes - 1)) < step) sum += lane_sum[l + step];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    return sum;
}

#define EACH4(X, G) X(0, G) X(1, G) X(2, G) X(3, G)
#if UNROLL == 4
#define EACH(X, G) EACH4(X, G)
#else
#define EACH(X, G) EACH4(X, G) X(4, G) X(5, G) X(6, G) X(7, G)
#endif
#define LOAD_ENTRY(u, GET)                          \
    OFFSET k##u = begin + min(l + u * WG, count - 1); \
    int col##u = col[k##u];                         \
    SUM val##u = val[k##u];
#define MULTIPLY_ENTRY(u, GET) val##u *= (SUM)GET(col##u);
#define STORE_ENTRY(u, GET) \
    if (l + u * WG < count) tile[l + u * WG] = val##u;

// A run that fits: all loads first, then all gathers, then all stores.
#define STAGE_TILE(GET)           \
    if (count > 0) {              \
        EACH(LOAD_ENTRY, GET)     \
        EACH(MULTIPLY_ENTRY, GET) \
        EACH(STORE_ENTRY, GET)    \
    }

// A row that does not: each work-item adds up its share, and the tile holds WG sums.
#define STAGE_LONG_ROW(GET)                                       \
    SUM share = 0;                                                \
    for (OFFSET k = begin + l; k < row_ptr[first + 1]; k += WG)   \
        share += (SUM)val[k] * (SUM)GET(col[k]);                  \
    tile[l] = share;

#define CSR_ROWS(GET, DO)                                                          \
    for (int b = get_group_id(0); b < blocks; b += get_num_groups(0)) {            \
        int l = get_local_id(0), first = block[b], rows = block[b + 1] - first;    \
        OFFSET begin = row_ptr[first];                                             \
        int fits = row_ptr[first + rows] - begin <= TILE;                          \
        int count = fits ? (int)(row_ptr[first + rows] - begin) : WG;              \
        int lanes = lanes_per_row(rows);                                           \
        if (fits) {                                                                \
            STAGE_TILE(GET)                                                        \
        } else {                                                                   \
            STAGE_LONG_ROW(GET)                                                    \
        }                                                                          \
        barrier(CLK_LOCAL_MEM_FENCE);                                              \
        for (int base = 0; base < rows; base += WG / lanes) {                      \
            int mine = base + l / lanes, lane_of_row = l & (lanes - 1);            \
            int from = 0, to = 0, row = first + mine;                              \
            if (mine < rows) {                                                     \
                from = fits ? (int)(row_ptr[row] - begin) : 0;                     \
                to = fits ? (int)(row_ptr[row + 1] - begin) : WG;                  \
            }                                                                      \
            SUM sum = row_sum(tile, from + lane_of_row, to, lanes, lane_sum);      \
            if (mine < rows && lane_of_row == 0) { DO(row, sum) }                  \
        }                                                                          \
        barrier(CLK_LOCAL_MEM_FENCE); /* the next run overwrites the tile */       \
    }

#endif

#define GET_X(j) x[j]

// y := alpha A x + beta y; with beta == 0, y is not read.
kernel void csr_apply(CSR_PARAMS, ACC alpha, global const REAL *restrict x, long x0, ACC beta,
                      global REAL *restrict y, long y0)
{
    CSR_LOCALS
    x += x0, y += y0;
#define AXPBY(row, sum) \
    y[row] = beta == 0 ? (REAL)((SUM)alpha * sum) : (REAL)((SUM)alpha * sum + (SUM)beta * y[row]);
    CSR_ROWS(GET_X, AXPBY)
}

// r := b - A x; r may be b.
kernel void csr_residual(CSR_PARAMS, global const REAL *b, long b0, global const REAL *restrict x,
                         long x0, global REAL *r, long r0)
{
    CSR_LOCALS
    global const REAL *rhs = b + b0;
    x += x0, r += r0;
#define RESIDUAL(row, sum) r[row] = (REAL)((SUM)rhs[row] - sum);
    CSR_ROWS(GET_X, RESIDUAL)
}

// y := A x, part[group] := x.y
kernel void csr_apply_dot(CSR_PARAMS, global const REAL *restrict x, long x0,
                          global REAL *restrict y, long y0, global ACC *restrict part)
{
    CSR_LOCALS
    local ACC lane[WG];
    ACC dot = 0;
    x += x0, y += y0;
#define STORE_DOT(row, sum) y[row] = sum, dot += (ACC)x[row] * (ACC)sum;
    CSR_ROWS(GET_X, STORE_DOT)
    dot = group_sum(dot, lane);
    if (get_local_id(0) == 0) part[get_group_id(0)] = dot;
}

// p := z + beta old, q := A p, part[group] := p.q in one pass: the neighbours' p is formed again
// from z and old, so that p needs no pass of its own. Nothing is written once the solve stopped.
kernel void csr_apply_direction(DIRECTION_PARAMS, CSR_PARAMS, global const REAL *restrict z,
                                global const REAL *restrict old, global REAL *restrict p,
                                global REAL *restrict q, global ACC *restrict part)
{
    CSR_LOCALS
    local ACC2 lane[WG];
    ACC b2, dot = 0;
    int stop = begin_direction(DIRECTION_PASS, lane, &b2), rows_to_do = stop == GO_ON ? blocks : 0;
    REAL beta = (REAL)b2;
    blocks = rows_to_do; // not a return: the barriers below are for all
#define GET_P(j) (z[j] + beta * old[j])
#define STORE_P(row, sum)                     \
    REAL p_row = GET_P(row);                  \
    p[row] = p_row, q[row] = sum;             \
    dot += (ACC)p_row * (ACC)sum;
    CSR_ROWS(GET_P, STORE_P)
    dot = group_sum(dot, (local ACC *)lane);
    if (get_local_id(0) == 0 && stop == GO_ON) part[get_group_id(0)] = dot;
}

// d := diagonal; entries of a row may stand in any order.
kernel void csr_diagonal(long rows, global const OFFSET *restrict row_ptr,
                         global const int *restrict col, global const REAL *restrict val,
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
