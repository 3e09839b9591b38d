// tile_cycle.cl - what a cycle of multigrid does on a level of a grid in the plane, in one pass down and one
// up, for GPUs. Host: src/multigrid/box_passes.c. Neighbours are those of sweep.clh or, with BOX, of a stored
// stencil; box.clh says how its numbers and the weights lie.
//
// A group has a tile of ACROSS x DOWN points in local memory: those that are its to write, and around them as
// many as they depend on. Each step is taken at all points of the tile. At its edge, where neighbours are
// missing, the result is wrong; what is wrong comes one point further inwards with each step, and never as
// far as the points that are written. Points outside of the grid are 0 and stay so; along a periodic axis a
// tile goes on with the points at the other end.
//
// A work-item has PER points of a column, one above the other: their numbers are in its registers, and from
// local memory it reads those of the columns beside.
//
// DOWN  rows of a tile, a multiple of the WG / ACROSS work-items of a column

#if !defined(KRY_CPU) && AXES == 2

#define ACROSS 64
#define PER    (DOWN / (WG / ACROSS))
#define CELLS  ((DOWN + 2) * ACROSS + 2) // a row and a number more at either end: 0

#define SWEEPS_PARAMS int count, ACC s0, ACC s1, ACC s2, ACC s3, global const REAL *restrict w
#define STEP_OF(s)    ((SUM)((s) == 0 ? s0 : (s) == 1 ? s1 : (s) == 2 ? s2 : s3))

// The place on an axis, or -1: outside of the grid.
int on_axis(int at, int size, int wrapped)
{
    if (wrapped) at = (at % size + size) % size;
    return at < size ? at : -1;
}

// ---- the points of a work-item ----

// left, bottom: of the tile; x0_own, x1_own and so on: of the points that are its to write, and behind them
#define TILE_BEGIN                                                                        \
    local REAL cells[CELLS];                                                              \
    local REAL *tile = cells + ACROSS + 1;                                                \
    SUM value[PER], rhs[PER], inverse[PER]; /* x, then the residual; b; 1 / diagonal */   \
    const int cx = (nx + CX) >> CX, cy = (ny + CY) >> CY, coarse = cx * cy;               \
    const int lane = get_local_id(0) % ACROSS, own_row = get_local_id(0) / ACROSS * PER;  \
    const int first = lane + ACROSS * own_row;                                            \
    for (int at = get_local_id(0); at <= ACROSS; at += WG)                                \
        cells[at] = cells[CELLS - 1 - at] = 0;
#define TAKE_COLUMN const int column = on_axis(left + lane, nx, wraps & 1);

// k counts the points; `at` is the place of one in the tile, and i, ix and iy in the grid; not `inside`, that
// of the first point.
#define EACH_POINT UNROLLED for (int k = 0; k < PER; k++)
#define HERE                                                                              \
    const int row = on_axis(bottom + own_row + k, ny, wraps & 2), at = first + ACROSS * k; \
    const int inside = column >= 0 && row >= 0;                                           \
    const int ix = inside ? column : 0, iy = inside ? row : 0, i = ix + nx * iy;
#define IS_OWN                                                                            \
    (left + lane >= x0_own && left + lane < x1_own && bottom + own_row + k >= y0_own &&   \
     bottom + own_row + k < y1_own)

#define LOAD(from, to)                                                                    \
    EACH_POINT                                                                            \
    {                                                                                     \
        HERE                                                                              \
        to[k] = inside ? (SUM)(from)[i] : 0;                                              \
    }
#define STORE_OWN(to)                                                                     \
    EACH_POINT                                                                            \
    {                                                                                     \
        HERE                                                                              \
        if (inside && IS_OWN) (to)[i] = (REAL)value[k];                                   \
    }
// Constant coefficients have few diagonal entries, and divisions are slow.
#define INVERT                                                                            \
    {                                                                                     \
        SUM known = 0, by = 0;                                                            \
        EACH_POINT                                                                        \
        {                                                                                 \
            HERE                                                                          \
            DIAGONAL_HERE                                                                 \
            if (diagonal != known) known = diagonal, by = 1 / diagonal;                   \
            inverse[k] = inside ? by : 0;                                                 \
        }                                                                                 \
    }

// ---- their neighbours ----

// The number at (dx, dy) from the k-th point; of the own column the new numbers are not in the tile yet.
#define IN_TILE(dx, dy)                                                                   \
    ((dx) ? (SUM)tile[at + (dx) + ACROSS * (dy)] : (dy) < 0 ? under : (dy) > 0 ? over : own)

#ifdef BOX
#define LEVEL                         BOX_GRID, BOX_NUMBERS
#define LEVEL_BEGIN
#define DIAGONAL_HERE                 const SUM diagonal = COEFFICIENT_ONE(0, i);
#define GET_IN_TILE(K, i, dx, dy, dz) IN_TILE(dx, dy)
#define TILE_POINT(BODY)              BOX_POINT(ONE, GET_IN_TILE, BODY)
#else
#define wraps       ((XL == PERIODIC) + 2 * (YL == PERIODIC))
#define LEVEL       GRID
#define LEVEL_BEGIN WEIGHTS
#define DIAGONAL_HERE                                                                     \
    const SUM c = 0, c_w = 0, c_e = 0, c_behind = 0, c_ahead = 0;                         \
    FACE_SUMS(ONE)
#define OR_GHOST(inside, side, dx, dy)                                                    \
    (((side) == 1 || (side) == -1) && !(inside) ? (SUM)(side) * c : IN_TILE(dx, dy))
#define TILE_POINT(BODY)                                                                  \
    const SUM c = own;                                                                    \
    const SUM c_w = OR_GHOST(ix > 0, XL, -1, 0), c_e = OR_GHOST(ix < nx - 1, XH, 1, 0);   \
    const SUM c_behind = OR_GHOST(iy > 0, YL, 0, -1);                                     \
    const SUM c_ahead = OR_GHOST(iy < ny - 1, YH, 0, 1);                                  \
    FACE_SUMS(ONE)                                                                        \
    BODY(ONE, i, c, sum, diagonal)
#endif

// value[k] becomes what BODY makes of the point, and then so does what is in the tile.
#define TAKE(BODY)                                                                        \
    {                                                                                     \
        SUM under = tile[first - ACROSS];                                                 \
        EACH_POINT                                                                        \
        {                                                                                 \
            HERE                                                                          \
            const SUM own = value[k], over = k + 1 < PER ? value[k + 1] : tile[at + ACROSS]; \
            TILE_POINT(BODY)                                                              \
            under = own;                                                                  \
        }                                                                                 \
        barrier(CLK_LOCAL_MEM_FENCE);                                                     \
        SHOW                                                                              \
    }
#define SHOW                                                                              \
    {                                                                                     \
        EACH_POINT tile[first + ACROSS * k] = (REAL)value[k];                             \
        barrier(CLK_LOCAL_MEM_FENCE);                                                     \
    }
#define STEP(K, i, c, sum, diagonal)     value[k] = c + by * inverse[k] * (rhs[k] - sum);
#define RESIDUAL(K, i, c, sum, diagonal) value[k] = inside ? rhs[k] - sum : 0;

// ---- down ----

// x := the steps x + step D^-1 (b - A x), from x = 0;  c := P' (b - A x). Words for each fine number: 2, and
// the numbers of a stencil; for each coarse one: its weights and 1.
kernel void tile_down(LEVEL, SWEEPS_PARAMS, global const REAL *restrict b, long b0,
                      global REAL *restrict x, long x0, global REAL *restrict c_out, long c0)
{
    LEVEL_BEGIN
    TILE_BEGIN
    const int margin_x = CX + count, margin_y = CY + count;
    const int coarse_x = (ACROSS - CX - 2 * count) >> CX, coarse_y = (DOWN - CY - 2 * count) >> CY;
    const int tiles_x = (cx + coarse_x - 1) / coarse_x, tiles_y = (cy + coarse_y - 1) / coarse_y;
    b += b0, x += x0, c_out += c0;
    for (int task = get_group_id(0); task < tiles_x * tiles_y; task += get_num_groups(0)) {
        const int first_jx = task % tiles_x * coarse_x, first_jy = task / tiles_x * coarse_y;
        const int x0_own = first_jx << CX, x1_own = min((first_jx + coarse_x) << CX, nx);
        const int y0_own = first_jy << CY, y1_own = min((first_jy + coarse_y) << CY, ny);
        const int left = x0_own - margin_x, bottom = y0_own - margin_y;
        TAKE_COLUMN
        LOAD(b, rhs)
        INVERT
        EACH_POINT value[k] = STEP_OF(0) * inverse[k] * rhs[k];
        SHOW
        for (int s = 1; s < count; s++) {
            const SUM by = STEP_OF(s);
            TAKE(STEP)
        }
        STORE_OWN(x)
        TAKE(RESIDUAL)
        for (int q = get_local_id(0); q < coarse_x * coarse_y; q += WG) {
            const int jx = first_jx + q % coarse_x, jy = first_jy + q / coarse_x, j = jx + cx * jy;
            const int at = margin_x + (q % coarse_x << CX) + ACROSS * (margin_y + (q / coarse_x << CY));
            if (jx >= cx || jy >= cy) continue;
            SUM sum = tile[at];
            for (int dy = -CY; dy <= CY; dy++)
                for (int dx = -CX; dx <= CX; dx++)
                    if (dx || dy) sum += WEIGHT_ONE(dx, dy, 0, j) * (SUM)tile[at + dx + ACROSS * dy];
            c_out[j] = (REAL)sum;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

// ---- up ----

// value[k] += (P e)_i
#define ADD_CORRECTION                                                                    \
    {                                                                                     \
        const int jx = ix >> CX, jy = iy >> CY, odd_x = CX & ix, odd_y = CY & iy;         \
        for (int py = 0; py <= odd_y; py++)                                               \
            for (int px = 0; px <= odd_x; px++) {                                         \
                const int to_x = px ? beside(jx, 1, cx, wraps & 1) : jx;                  \
                const int to_y = py ? beside(jy, 1, cy, wraps & 2) : jy;                  \
                const int dx = odd_x - 2 * px, dy = odd_y - 2 * py, to = to_x + cx * to_y; \
                if (to_x < 0 || to_y < 0) continue;                                       \
                value[k] += (dx || dy ? WEIGHT_ONE(dx, dy, 0, to) : 1) * (SUM)e[to];      \
            }                                                                             \
    }

// y := the steps y + step D^-1 (b - A y), from y = x + P e. Words for each fine number: 3, and the numbers
// of a stencil; for each coarse one: its weights and 1.
kernel void tile_up(LEVEL, SWEEPS_PARAMS, global const REAL *restrict b, long b0,
                    global const REAL *restrict x, long x0, global const REAL *restrict e, long e0,
                    global REAL *restrict y, long y0)
{
    LEVEL_BEGIN
    TILE_BEGIN
    const int wide = ACROSS - 2 * count, high = DOWN - 2 * count;
    const int tiles_x = (nx + wide - 1) / wide, tiles_y = (ny + high - 1) / high;
    b += b0, x += x0, e += e0, y += y0;
    for (int task = get_group_id(0); task < tiles_x * tiles_y; task += get_num_groups(0)) {
        const int x0_own = task % tiles_x * wide, x1_own = min(x0_own + wide, nx);
        const int y0_own = task / tiles_x * high, y1_own = min(y0_own + high, ny);
        const int left = x0_own - count, bottom = y0_own - count;
        TAKE_COLUMN
        LOAD(b, rhs)
        LOAD(x, value)
        EACH_POINT
        {
            HERE
            if (inside) ADD_CORRECTION
        }
        INVERT
        SHOW
        for (int s = 0; s < count; s++) {
            const SUM by = STEP_OF(s);
            TAKE(STEP)
        }
        STORE_OWN(y)
    }
}

#endif
