// strip_cycle.cl - what a cycle of multigrid does on a level of a grid in the plane, in one pass down and one
// up, for GPUs. Host: src/multigrid/box_passes.c. Neighbours are those of sweep.clh or, with BOX, of a stored
// stencil; box.clh says how its numbers and the weights lie.
//
// A group has a strip of WG columns, a work-item each, and walks along y through some of its rows. In each turn
// it takes a new row; stage s, which takes a smoothing step or the residual, is 2 s rows behind, where it has
// the three rows that it needs of the stage before: a work-item knows its own column's, and reads what its
// neighbours left in local memory in the turn before. So all stages wait for each other once in a turn.
//
// At the ends of a strip and of its rows neighbours are missing, and results are wrong there; what is wrong comes
// one point further inwards with each stage, and never as far as the points that the group is to write. Points
// outside of the grid are 0 and stay so; along a periodic axis a strip goes on with the points at the other end.
//
// STEPS  smoothing steps

#if !defined(KRY_CPU) && AXES == 2

#define EARLY         2 // rows that b and x are read before they are used
#define SWEEPS_PARAMS int rows, ACC s0, ACC s1, ACC s2, ACC s3, global const REAL *restrict w
#define STEP_OF(s)    ((SUM)((s) == 0 ? s0 : (s) == 1 ? s1 : (s) == 2 ? s2 : s3))
#define EACH(s, count) UNROLLED for (int s = 0; s < (count); s++)

// The place on an axis, or -1: outside of the grid.
int on_axis(int at, int size, int wrapped)
{
    if (wrapped) at = (at % size + size) % size;
    return at < size ? at : -1;
}

// ---- columns and rows ----

// What a work-item knows of its column: its place ix, 0 if it is outside of the grid; whose numbers and weights
// it reads there and on either side.
#define STRIP_BEGIN                                                                       \
    local REAL left_behind[2][STEPS + 1][WG + 2];                                         \
    const int cx = (nx + CX) >> CX, cy = (ny + CY) >> CY, coarse = cx * cy;               \
    const int lane = get_local_id(0);                                                     \
    for (int k = lane; k < 2 * (STEPS + 1) * (WG + 2); k += WG) ((local REAL *)left_behind)[k] = 0; \
    barrier(CLK_LOCAL_MEM_FENCE);
#define TAKE_COLUMN                                                                       \
    const int column = on_axis(left + lane, nx, wraps & 1), ix = max(column, 0);          \
    const int mine = left + lane >= own_left && left + lane < own_right;                  \
    NUMBERS_OF_COLUMN
// Whether a row is in the grid, and its first point; if not, that of row 0.
#define TAKE_ROW(at)                                                                      \
    const int row = on_axis(at, ny, wraps & 2), iy = max(row, 0), start = nx * iy;        \
    const int i = start + ix, inside = row >= 0 && column >= 0;
#define LOAD(to, p, at, end)                                                              \
    {                                                                                     \
        TAKE_ROW(at)                                                                      \
        to = inside && (at) < (end) ? (SUM)(p)[i] : 0;                                    \
    }
// line[k] is what line[0] was k turns ago.
#define SHIFT(line, count) UNROLLED for (int k = (count) - 1; k > 0; k--) line[k] = line[k - 1];
// inverse[0] := 1 / diagonal entry. Constant coefficients have few different ones, and divisions are slow.
#define INVERT(at)                                                                        \
    {                                                                                     \
        TAKE_ROW(at)                                                                      \
        DIAGONAL_HERE                                                                     \
        if (diagonal != known) known = diagonal, known_inverse = 1 / diagonal;            \
        inverse[0] = inside ? known_inverse : 0;                                          \
    }

// ---- a point and its neighbours ----

// near[s]: what stage s has left around the point that stage s + 1 is at, rows from south to north.
#define NEAR(s, dx, dy) near[s][4 + (dx) + 3 * (dy)]
#define TAKE_NEAR(m)                                                                      \
    EACH(s, STEPS)                                                                        \
    {                                                                                     \
        EACH(k, 6) near[s][k] = near[s][k + 3];                                           \
        near[s][6] = left_behind[(m) & 1][s][lane];                                       \
        near[s][7] = value[s];                                                            \
        near[s][8] = left_behind[(m) & 1][s][lane + 2];                                   \
    }
#define LEAVE(m, count) EACH(s, count) left_behind[((m) + 1) & 1][s][lane + 1] = (REAL)value[s];

#ifdef BOX
#define LEVEL BOX_GRID, BOX_NUMBERS
#define LEVEL_BEGIN
// With UNIFORM all inner columns read the same numbers. What is stored for a neighbour outside does not matter:
// it is 0 there.
#ifdef UNIFORM
#define INNER (ix >= EDGE && ix < nx - EDGE)
#else
#define INNER 0
#endif
#define NUMBERS_OF_COLUMN                                                                 \
    const int at_c = INNER ? EDGE : ix;                                                   \
    const int at_w = INNER ? EDGE - 1 : max(beside(ix, -1, nx, wraps & 1), 0);            \
    const int at_e = INNER ? EDGE + 1 : max(beside(ix, 1, nx, wraps & 1), 0);
#define NUMBER(slot, at) ((SUM)SLOT(slot)[at])
#define DIAGONAL_HERE    const SUM diagonal = NUMBER(0, start + at_c);
#define SUM_HERE(s)                                                                       \
    const int below = nx * max(beside(iy, -1, ny, wraps & 2), 0);                         \
    SUM sum = NUMBER(0, start + at_c) * NEAR(s, 0, 0) + NUMBER(1, start + at_c) * NEAR(s, 1, 0) + \
              NUMBER(1, start + at_w) * NEAR(s, -1, 0);                                   \
    sum += NUMBER(4, below + at_w) * NEAR(s, -1, -1) + NUMBER(3, below + at_c) * NEAR(s, 0, -1) + \
           NUMBER(2, below + at_e) * NEAR(s, 1, -1);                                      \
    sum += NUMBER(2, start + at_c) * NEAR(s, -1, 1) + NUMBER(3, start + at_c) * NEAR(s, 0, 1) + \
           NUMBER(4, start + at_c) * NEAR(s, 1, 1);
#else
#define wraps       ((XL == PERIODIC) + 2 * (YL == PERIODIC))
#define LEVEL       GRID
#define LEVEL_BEGIN WEIGHTS
#define NUMBERS_OF_COLUMN
#define DIAGONAL_HERE                                                                     \
    const SUM c = 0, c_w = 0, c_e = 0, c_behind = 0, c_ahead = 0;                         \
    FACE_SUMS(ONE)
#ifdef VARIABLE
#define OR_GHOST(s, inside, side, dx, dy)                                                 \
    (((side) == 1 || (side) == -1) && !(inside) ? (SUM)(side) * c : NEAR(s, dx, dy))
#define SUM_HERE(s)                                                                       \
    const SUM c = NEAR(s, 0, 0);                                                          \
    const SUM c_w = OR_GHOST(s, ix > 0, XL, -1, 0), c_e = OR_GHOST(s, ix < nx - 1, XH, 1, 0); \
    const SUM c_behind = OR_GHOST(s, iy > 0, YL, 0, -1);                                  \
    const SUM c_ahead = OR_GHOST(s, iy < ny - 1, YH, 0, 1);                               \
    FACE_SUMS(ONE)
#else
// What is outside of the grid is 0: ghosts are in the diagonal. A point that wraps to itself has no coupling.
#define COUPLING(weight, side, size) ((side) == PERIODIC && (size) == 1 ? (SUM)0 : (weight))
#define SUM_HERE(s)                                                                       \
    const SUM diagonal = wx * (OWN_W_ONE + OWN_E_ONE) +                                   \
                         wy * (OWN_SIDE(iy > 0, YL, ny) + OWN_SIDE(iy < ny - 1, YH, ny)); \
    const SUM across = NEAR(s, -1, 0) + NEAR(s, 1, 0), along = NEAR(s, 0, -1) + NEAR(s, 0, 1); \
    const SUM sum = diagonal * NEAR(s, 0, 0) - COUPLING(wx, XL, nx) * across -            \
                    COUPLING(wy, YL, ny) * along;
#endif
#endif

// ---- down ----

// Shares of a row of residuals in the coarse row for which it is at dy; r_w, r_e: those beside.
#define SHARES(dy, jy) (WEIGHT_AT(0, dy, jy) * r_c + SHARES_BESIDE(dy, jy))
#if CX
#define SHARES_BESIDE(dy, jy) (WEIGHT_AT(-1, dy, jy) * r_w + WEIGHT_AT(1, dy, jy) * r_e)
#else
#define SHARES_BESIDE(dy, jy) 0
#endif
#define WEIGHT_AT(dx, dy, jy)                                                             \
    (PLACE(dx, dy, 0) == CENTRE ? (SUM)1 : (SUM)WEIGHT(dx, dy, 0)[cx * (jy) + at_j])
#ifdef UNIFORM
#define COARSE_INNER (jx >= EDGE && jx < cx - EDGE)
#else
#define COARSE_INNER 0
#endif

// x := the steps x + step D^-1 (b - A x), from x = 0;  c := P' (b - A x). Words for each fine number: 2, and
// the numbers of a stencil; for each coarse one: its weights and 1. A group makes `rows` rows of c.
kernel void strip_down(LEVEL, SWEEPS_PARAMS, global const REAL *restrict b, long b0,
                       global REAL *restrict x, long x0, global REAL *restrict c_out, long c0)
{
    LEVEL_BEGIN
    STRIP_BEGIN
    const int wide = (WG - CX - 2 * STEPS) >> CX, strips = (cx + wide - 1) / wide;
    const int tasks = strips * ((cy + rows - 1) / rows);
    b += b0, x += x0, c_out += c0;
    for (int task = get_group_id(0); task < tasks; task += get_num_groups(0)) {
        const int first_jx = task % strips * wide, first_jy = task / strips * rows;
        const int last_jy = min(first_jy + rows, cy) - 1;
        const int own_left = first_jx << CX, own_right = min((first_jx + wide) << CX, nx);
        const int own_low = first_jy << CY, own_high = min((last_jy + 1) << CY, ny);
        const int left = own_left - CX - STEPS;
        const int first = own_low - CY, last = (last_jy << CY) + CY; // rows of residuals
        const int end = last + STEPS + 1; // of the rows of b
        TAKE_COLUMN
        // the coarse column of a fine one that has one
        const int jx = ix >> CX, at_j = COARSE_INNER ? EDGE : jx, has_coarse = mine && !(CX & ix);
        SUM line[EARLY + 2 * STEPS + 1], inverse[2 * STEPS - 1], near[STEPS][9], value[STEPS + 1];
        SUM known = 0, known_inverse = 0, coarse_sum = 0;
        EACH(k, 2 * STEPS - 1) inverse[k] = 0;
        EACH(s, STEPS) EACH(k, 9) near[s][k] = 0;
        EACH(s, STEPS + 1) value[s] = 0;
        EACH(k, EARLY + 2 * STEPS + 1) line[k] = 0;
        EACH(k, EARLY) LOAD(line[EARLY - 1 - k], b, first - STEPS + k, end)
        INVERT(first - STEPS)
        for (int m = first - STEPS; m <= last + 2 * STEPS + 1; m++) {
            SHIFT(line, EARLY + 2 * STEPS + 1)
            LOAD(line[0], b, m + EARLY, end)
            const SUM r_c = value[STEPS];
            const SUM r_w = left_behind[m & 1][STEPS][lane], r_e = left_behind[m & 1][STEPS][lane + 2];
            TAKE_NEAR(m)
            value[0] = STEP_OF(0) * inverse[0] * line[EARLY];
            EACH(s, STEPS - 1)
            {
                TAKE_ROW(m - 2 * s - 2)
                SUM_HERE(s)
                value[s + 1] = NEAR(s, 0, 0) + STEP_OF(s + 1) * inverse[2 * s + 2] *
                                                   (line[EARLY + 2 * s + 2] - sum);
            }
            {
                const int at = m - 2 * (STEPS - 1);
                TAKE_ROW(at)
                if (inside && mine && at >= own_low && at < own_high) x[i] = (REAL)value[STEPS - 1];
            }
            {
                TAKE_ROW(m - 2 * STEPS)
                SUM_HERE(STEPS - 1)
                value[STEPS] = inside ? line[EARLY + 2 * STEPS] - sum : 0;
            }
            LEAVE(m, STEPS + 1)
            const int at = m - 2 * STEPS - 1, jy = at >> CY; // of r_c
            if (has_coarse && at >= first) {
                if (!(CY & at)) coarse_sum += SHARES(0, jy);
                if (CY & at) {
                    if (jy >= first_jy) c_out[jx + cx * jy] = (REAL)(coarse_sum + SHARES(CY, jy));
                    if (jy < last_jy) coarse_sum = SHARES(-CY, jy + 1);
                } else if (!CY) {
                    c_out[jx + cx * jy] = (REAL)coarse_sum, coarse_sum = 0;
                }
            }
            SHIFT(inverse, 2 * STEPS - 1)
            INVERT(m + 1)
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    }
}

// ---- up ----

// sum += the share in the point ix, iy of the coarse row jy, for which it is at dy
#define ADD_SHARE(dy, jy)                                                                 \
    {                                                                                     \
        const int from = cx * (jy);                                                       \
        if (CX & ix) {                                                                    \
            sum += WEIGHT_BESIDE(1, dy, from + at_j) * (SUM)e[from + jx];                 \
            if (east >= 0) sum += WEIGHT_BESIDE(-1, dy, from + at_east) * (SUM)e[from + east]; \
        } else {                                                                          \
            sum += WEIGHT_BESIDE(0, dy, from + at_j) * (SUM)e[from + jx];                 \
        }                                                                                 \
    }
#define WEIGHT_BESIDE(dx, dy, at)                                                         \
    (PLACE(dx, dy, 0) == CENTRE ? (SUM)1 : (SUM)WEIGHT(dx, dy, 0)[at])

// y := the steps y + step D^-1 (b - A y), from y = x + P e. Words for each fine number: 3, and the numbers
// of a stencil; for each coarse one: its weights and 1. A group makes `rows` rows of y.
kernel void strip_up(LEVEL, SWEEPS_PARAMS, global const REAL *restrict b, long b0,
                     global const REAL *restrict x, long x0, global const REAL *restrict e, long e0,
                     global REAL *restrict y, long y0)
{
    LEVEL_BEGIN
    STRIP_BEGIN
    const int wide = WG - 2 * STEPS, strips = (nx + wide - 1) / wide;
    const int tasks = strips * ((ny + rows - 1) / rows);
    b += b0, x += x0, e += e0, y += y0;
    for (int task = get_group_id(0); task < tasks; task += get_num_groups(0)) {
        const int own_left = task % strips * wide, own_right = min(own_left + wide, nx);
        const int own_low = task / strips * rows, own_high = min(own_low + rows, ny);
        const int left = own_left - STEPS, first = own_low - STEPS, end = own_high + STEPS;
        TAKE_COLUMN
        const int jx = ix >> CX, at_j = COARSE_INNER ? EDGE : jx;
        const int east = beside(jx, 1, cx, wraps & 1), at_east = COARSE_INNER ? EDGE + 1 : east;
        SUM line[2 * STEPS + 1], inverse[2 * STEPS - 1], near[STEPS][9], value[STEPS + 1];
        SUM before[EARLY + 1], known = 0, known_inverse = 0;
        EACH(k, 2 * STEPS - 1) inverse[k] = 0;
        EACH(k, 2 * STEPS + 1) line[k] = 0;
        EACH(s, STEPS) EACH(k, 9) near[s][k] = 0;
        EACH(s, STEPS + 1) value[s] = 0;
        before[EARLY] = 0;
        EACH(k, EARLY) LOAD(before[EARLY - 1 - k], x, first + k, end)
        for (int m = first; m < own_high + 2 * STEPS; m++) {
            SHIFT(line, 2 * STEPS + 1)
            LOAD(line[0], b, m, end)
            SHIFT(before, EARLY + 1)
            LOAD(before[0], x, m + EARLY, end)
            TAKE_NEAR(m)
            EACH(s, STEPS)
            {
                TAKE_ROW(m - 2 * s - 2)
                SUM_HERE(s)
                value[s + 1] =
                    NEAR(s, 0, 0) + STEP_OF(s) * inverse[2 * s] * (line[2 * s + 2] - sum);
            }
            {
                TAKE_ROW(m)
                SUM sum = before[EARLY];
                if (inside && m < end) {
                    const int jy = iy >> CY;
                    if (CY & iy) {
                        const int to = beside(jy, 1, cy, wraps & 2);
                        ADD_SHARE(CY, jy)
                        if (to >= 0) ADD_SHARE(-CY, to)
                    } else {
                        ADD_SHARE(0, jy)
                    }
                }
                value[0] = sum;
            }
            LEAVE(m, STEPS)
            {
                const int at = m - 2 * STEPS;
                TAKE_ROW(at)
                if (inside && mine && at >= own_low) y[i] = (REAL)value[STEPS];
            }
            SHIFT(inverse, 2 * STEPS - 1)
            INVERT(m - 1)
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    }
}

#endif
