// tile_cycle.cl - what a cycle of multigrid does on a level of a grid in the plane, in one pass down and one
// up, for GPUs. Host: src/multigrid/box_passes.c. Neighbours are those of sweep.clh or, with BOX, of a stored
// stencil; box.clh says how its numbers and the weights lie.
//
// A group takes a tile of WIDTH columns and ROWS rows, into local memory: the points that it is to write and a
// margin around them. Each stage, a smoothing step or the residual, reads one copy of the tile and writes the
// other; a work-item walks along PER rows of a column with what is around its point in registers. What a stage makes
// of the outermost points that the one before has made right is wrong, for their neighbours are; the margin is as
// wide as there are stages.
//
// Points outside of the grid are 0 and stay so; along a periodic axis a tile goes on with the points at the
// other end. A tile whose points are all `inner`, 2 EDGE points or more from all ends, asks for no ends.
//
// GROUP  work-items;  WIDTH  a power of two
// STEPS  smoothing steps
// ALIKE  all inner points have the same numbers and weights (box.h)

#if !defined(KRY_CPU) && AXES == 2

#define ROWS           (GROUP / WIDTH * PER)
#define PITCH          (WIDTH + 2)
#define CELLS          ((ROWS + 2) * PITCH) // of a copy: the tile and a row or column around it
#define STEPS_PARAMS   ACC s0, ACC s1, ACC s2, ACC s3, global const REAL *restrict w
#define STEPS_BEGIN    const SUM step[] = { (SUM)s0, (SUM)s1, (SUM)s2, (SUM)s3 };
#define PARTLY_UNROLLED _Pragma("unroll 2")
// Functions that are compiled anew for each `inner`. Barriers are outside of the branches that call them: PoCL 3.1
// makes wrong code of them inside.
#define INLINED        __attribute__((always_inline))
#ifdef ALIKE
#define ALL_ALIKE 1
#else
#define ALL_ALIKE 0
#endif

// The place on an axis, or -1: outside of the grid.
int on_axis(int at, int size, int wrapped)
{
    if (wrapped) at = (at % size + size) % size;
    return at < size ? at : -1;
}

// ---- a level ----
//
// diagonal_at(inner, L, column, y): the diagonal entry of a point; row_times(inner, L, column, y, near): the row of A
// times what is around it. `inner` is a constant at each call.

#define NEAR(dx, dy) near[4 + (dx) + 3 * (dy)]

// A column, where the numbers of points in it and on either side of it are in their rows, and which sides there are.
typedef struct column {
    int x, west, own, east, have_west, have_east;
} column;

#ifdef BOX

typedef struct level {
    int nx, ny, wrapped, work;
    global const REAL *a;
    SUM alike[HALF]; // the numbers of all inner points
} level;

#define LEVEL       BOX_GRID, BOX_NUMBERS
#define LEVEL_BEGIN                                                                       \
    level L = { nx, ny, wraps, work, a };                                                 \
    UNROLLED for (int s = 0; s < HALF; s++)                                               \
        L.alike[s] = ALL_ALIKE ? SLOT(s)[min((nx + 1) * EDGE, work - 1)] : 0;

// In grids whose rows are alike the inner columns read the numbers of column EDGE, and no others may be there.
INLINED column column_at(const int inner, const level *L, int x)
{
#ifdef UNIFORM
    if (x >= EDGE && x < L->nx - EDGE) return (column){ x, EDGE - 1, EDGE, EDGE + 1, 1, 1 };
#endif
    if (inner) return (column){ x, x - 1, x, x + 1, 1, 1 };
    const int west = beside(x, -1, L->nx, L->wrapped & 1), east = beside(x, 1, L->nx, L->wrapped & 1);
    return (column){ x, max(west, 0), x, max(east, 0), west >= 0, east >= 0 };
}
#define NUMBER(slot, at)                                                                  \
    (inner && ALL_ALIKE ? L->alike[slot] : (SUM)(L->a + (size_t)(slot) * L->work)[at])
INLINED SUM diagonal_at(const int inner, const level *L, const column *c, int y)
{
    return NUMBER(0, L->nx * y + c->own);
}
// What stands beside the coupling to a neighbour: 0 if there is none, whatever number is read for it
#ifdef FLUX
#define OF_NEIGHBOUR(have, x) (inner || (have) ? (x) - NEAR(0, 0) : 0)
#define OWN_SLOT          HALF
#else
#define OF_NEIGHBOUR(have, x) (x) // 0 outside of the grid
#define OWN_SLOT          0
#endif
INLINED SUM row_times(const int inner, const level *L, const column *c, int y, const SUM *near)
{
    const int here = L->nx * y, south = inner ? y - 1 : beside(y, -1, L->ny, L->wrapped & 2);
    const int below = L->nx * max(south, 0), have_south = south >= 0;
    SUM sum = NUMBER(OWN_SLOT, here + c->own) * NEAR(0, 0) +
              NUMBER(1, here + c->own) * OF_NEIGHBOUR(1, NEAR(1, 0)) +
              NUMBER(1, here + c->west) * OF_NEIGHBOUR(c->have_west, NEAR(-1, 0));
    sum += NUMBER(4, below + c->west) * OF_NEIGHBOUR(have_south && c->have_west, NEAR(-1, -1)) +
           NUMBER(3, below + c->own) * OF_NEIGHBOUR(have_south, NEAR(0, -1)) +
           NUMBER(2, below + c->east) * OF_NEIGHBOUR(have_south && c->have_east, NEAR(1, -1));
    return sum + (NUMBER(2, here + c->own) * OF_NEIGHBOUR(1, NEAR(-1, 1)) +
                  NUMBER(3, here + c->own) * OF_NEIGHBOUR(1, NEAR(0, 1)) +
                  NUMBER(4, here + c->own) * OF_NEIGHBOUR(1, NEAR(1, 1)));
}

#else

typedef struct level {
    int nx, ny, wrapped;
    SUM wx, wy;
#ifdef VARIABLE
    global const REAL *kappa, *fx, *fy;
#endif
} level;

#define wraps ((XL == PERIODIC) + 2 * (YL == PERIODIC))
#define LEVEL GRID
#ifdef VARIABLE
#define LEVEL_BEGIN  WEIGHTS const level L = { nx, ny, wraps, wx, wy, kappa, fx, fy };
#define LEVEL_FACES  const global REAL *kappa = L->kappa, *fx = L->fx, *fy = L->fy;
#define FACE_W_INNER ((SUM)fx[i - 1])
#define FACE_S_INNER ((SUM)fy[i - nx])
#else
#define LEVEL_BEGIN  WEIGHTS const level L = { nx, ny, wraps, wx, wy };
#define LEVEL_FACES
#define FACE_W_INNER wx
#define FACE_S_INNER wy
#endif
#define FACES_OF_POINT                                                                    \
    const int nx = L->nx, ny = L->ny, plane = nx * ny, ix = c->x, i = ix + nx * iy;       \
    const SUM wx = L->wx, wy = L->wy;                                                     \
    LEVEL_FACES                                                                           \
    const SUM f_w = inner ? FACE_W_INNER : FACE_W_ONE, f_e = FACE_E(ONE);                 \
    const SUM f_s = inner ? FACE_S_INNER : FACE_BEHIND(ONE), f_n = FACE_AHEAD(ONE);

INLINED column column_at(const int inner, const level *L, int x)
{
    return (column){ x, x - 1, x, x + 1, 1, 1 };
}

// Ghosts are in the diagonal.
INLINED SUM diagonal_at(const int inner, const level *L, const column *c, int iy)
{
    FACES_OF_POINT
    if (inner) return f_w + f_e + (f_s + f_n);
    return f_w * OWN_W_ONE + f_e * OWN_E_ONE +
           (f_s * OWN_SIDE(iy > 0, YL, ny) + f_n * OWN_SIDE(iy < ny - 1, YH, ny));
}
#define OR_GHOST(inside, side, there) \
    (inner || (inside) || (side) == PERIODIC ? (there) : (SUM)(side) * own)
INLINED SUM row_times(const int inner, const level *L, const column *c, int iy, const SUM *near)
{
    FACES_OF_POINT
    const SUM own = NEAR(0, 0);
    return f_w * (own - OR_GHOST(ix > 0, XL, NEAR(-1, 0))) +
           f_e * (own - OR_GHOST(ix < nx - 1, XH, NEAR(1, 0))) +
           (f_s * (own - OR_GHOST(iy > 0, YL, NEAR(0, -1))) +
            f_n * (own - OR_GHOST(iy < ny - 1, YH, NEAR(0, 1))));
}

#endif

// ---- a tile ----

// What a work-item has of it: PER rows of a column. A column outside of the grid has the numbers of another one.
typedef struct tile {
    int x, y;     // the first of its points, in the grid or outside of it
    int inside;   // whether the column is in the grid
    int at;       // of that point in a copy
    column column;
    SUM inverse;  // 1 / diagonal entry of all inner points, where they are alike
    global const REAL *b;
} tile;

// What a step or the residual does with the rows of a tile: from one copy to the other, and to `out` for those of the
// points from (left, low) on and before (right, high).
typedef struct target {
    global REAL *out; // 0: none
    int left, right, low, high;
    TOTAL2 *sums; // of b v and b b over the points that go to `out`; 0: none
} target;

#define ROW_OF_GRID(y) (inner ? (y) : on_axis(y, L->ny, L->wrapped & 2))
#define INSIDE(row)    (inner || ((row) >= 0 && T->inside))
// Of a point that is inside, and of another one otherwise
#define PLACE_OF(row)  (T->column.x + L->nx * max(row, 0))

INLINED void take_column(const int inner, const level *L, tile *T, global const REAL *b)
{
    const int x = inner ? T->x : on_axis(T->x, L->nx, L->wrapped & 1);

    T->inside = x >= 0, T->b = b;
    T->column = column_at(inner, L, max(x, 0));
    if (inner && ALL_ALIKE) T->inverse = 1 / diagonal_at(inner, L, &T->column, T->y);
}

INLINED SUM inverse_at(const int inner, const level *L, const tile *T, int row)
{
    return inner && ALL_ALIKE ? T->inverse : 1 / diagonal_at(inner, L, &T->column, max(row, 0));
}

INLINED void put(const level *L, const tile *T, const target *to, int y, SUM b, SUM v)
{
    if (!to->out || T->x < to->left || T->x >= to->right || y < to->low || y >= to->high) return;
    to->out[T->x + L->nx * y] = (REAL)v;
    if (!to->sums) return;
    ADD_PRODUCT(to->sums->x, b, (REAL)v);
    ADD_PRODUCT(to->sums->y, b, b);
}

// to := from + step D^-1 (b - A from), or without a step  b - A from
INLINED void rows(const int inner, const level *L, const tile *T, const int smooths, SUM step,
                   const local REAL *from, local REAL *to, const target *out)
{
    SUM near[9];

    from += T->at, to += T->at;
    UNROLLED for (int d = 0; d < 3; d++) near[d] = from[d - 1 - PITCH], near[d + 3] = from[d - 1];
    PARTLY_UNROLLED for (int k = 0; k < PER; k++)
    {
        UNROLLED for (int d = 0; d < 3; d++) near[d + 6] = from[(k + 1) * PITCH + d - 1];
        const int y = T->y + k, row = ROW_OF_GRID(y);
        SUM v = 0;
        if (INSIDE(row)) {
            const SUM b = (SUM)T->b[PLACE_OF(row)];
            v = b - row_times(inner, L, &T->column, max(row, 0), near);
            if (smooths) v = near[4] + step * inverse_at(inner, L, T, row) * v;
            put(L, T, out, y, b, v);
        }
        to[k * PITCH] = (REAL)v;
        UNROLLED for (int d = 0; d < 6; d++) near[d] = near[d + 3];
    }
}

#define TILE_BEGIN                                                                        \
    local REAL copies[2 * CELLS] __attribute__((aligned(16)));                            \
    const int lane = get_local_id(0) % WIDTH, segment = (int)get_local_id(0) / WIDTH;     \
    tile T;                                                                               \
    for (int k = get_local_id(0); k < 2 * CELLS; k += GROUP) copies[k] = 0;               \
    T.at = (1 + segment * PER) * PITCH + 1 + lane;
#define COPY(s) (copies + (s) % 2 * CELLS)
// The tile whose first point is (left, low); whether its points are inner ones
#define TAKE_TILE(left, low)                                                              \
    barrier(CLK_LOCAL_MEM_FENCE);                                                         \
    T.x = (left) + lane, T.y = (low) + segment * PER;                                     \
    const int inner = IS_INNER(left, low);
#define IS_INNER(left, low)                                                               \
    ((left) >= 2 * EDGE && (left) + WIDTH <= nx - 2 * EDGE && (low) >= 2 * EDGE &&        \
     (low) + ROWS <= ny - 2 * EDGE)

// Where the weights of a coarse point are in their row
#ifdef UNIFORM
#define WEIGHT_COLUMN(jx) ((jx) >= EDGE && (jx) < cx - EDGE ? EDGE : (jx))
#else
#define WEIGHT_COLUMN(jx) (jx)
#endif
#define WEIGHT_PLACE(jx, jy) \
    (inner && ALL_ALIKE ? EDGE * (cx + 1) : WEIGHT_COLUMN(jx) + cx * (jy))

// ---- down ----

// The residuals around a fine point, those of neighbours in local memory, shared out to the coarse point there
INLINED SUM restricted(const int inner, global const REAL *restrict w, int cx, int coarse, int jx, int jy,
                       const local REAL *r)
{
    const int at = WEIGHT_PLACE(jx, jy);
    SUM sum = 0;

    UNROLLED for (int dy = -CY; dy <= CY; dy++)
        UNROLLED for (int dx = -CX; dx <= CX; dx++)
            sum += (PLACE(dx, dy, 0) == CENTRE ? (SUM)1 : (SUM)WEIGHT(dx, dy, 0)[at]) *
                   r[dx + PITCH * dy];
    return sum;
}

#define MARGIN_X (STEPS + CX)
#define MARGIN_Y (STEPS + CY)
#define WIDE     ((WIDTH - MARGIN_X - STEPS) >> CX) // of the coarse points that a tile makes
#define HIGH     ((ROWS - MARGIN_Y - STEPS) >> CY)

// x := step D^-1 b
INLINED void first_step(const int inner, const level *L, const tile *T, SUM step, local REAL *to,
                        const target *out)
{
    PARTLY_UNROLLED for (int k = 0; k < PER; k++)
    {
        const int y = T->y + k, row = ROW_OF_GRID(y);
        SUM v = 0;
        if (INSIDE(row)) {
            const SUM b = (SUM)T->b[PLACE_OF(row)];
            v = step * inverse_at(inner, L, T, row) * b;
            put(L, T, out, y, b, v);
        }
        to[T->at + k * PITCH] = (REAL)v;
    }
}

// The coarse points of a tile
INLINED void restrict_rows(const int inner, const level *L, global const REAL *restrict w,
                           global REAL *restrict c_out, const local REAL *r, int first_jx, int first_jy)
{
    const int cx = (L->nx + CX) >> CX, cy = (L->ny + CY) >> CY, coarse = cx * cy;

    for (int q = get_local_id(0); q < WIDE * HIGH; q += GROUP) {
        const int qx = q % WIDE, qy = q / WIDE, jx = first_jx + qx, jy = first_jy + qy;
        const int at = (1 + MARGIN_Y + (qy << CY)) * PITCH + 1 + MARGIN_X + (qx << CX);
        if (jx < cx && jy < cy)
            c_out[jx + cx * jy] = (REAL)restricted(inner, w, cx, coarse, jx, jy, r + at);
    }
}

// x := the steps x + step D^-1 (b - A x), from x = 0;  c := P' (b - A x). Words for each fine number: 2, and
// the numbers of a stencil; for each coarse one: its weights and 1.
kernel void tile_down(LEVEL, STEPS_PARAMS, global const REAL *restrict b, long b0,
                      global REAL *restrict x, long x0, global REAL *restrict c_out, long c0)
{
    LEVEL_BEGIN
    STEPS_BEGIN
    TILE_BEGIN
    const target none = { 0, 0, 0, 0, 0, 0 };
    const int cx = (nx + CX) >> CX, cy = (ny + CY) >> CY;
    const int across = (cx + WIDE - 1) / WIDE, tasks = across * ((cy + HIGH - 1) / HIGH);
    for (int task = get_group_id(0); task < tasks; task += (int)get_num_groups(0)) {
        const int jx = task % across * WIDE, jy = task / across * HIGH;
        const target to = { x + x0, jx << CX, min((jx + WIDE) << CX, nx), jy << CY,
                            min((jy + HIGH) << CY, ny), 0 };
        TAKE_TILE((jx << CX) - MARGIN_X, (jy << CY) - MARGIN_Y)
        if (inner) take_column(1, &L, &T, b + b0);
        else take_column(0, &L, &T, b + b0);
        if (inner) first_step(1, &L, &T, step[0], copies, STEPS == 1 ? &to : &none);
        else first_step(0, &L, &T, step[0], copies, STEPS == 1 ? &to : &none);
        UNROLLED for (int s = 1; s <= STEPS; s++)
        {
            barrier(CLK_LOCAL_MEM_FENCE);
            if (inner) rows(1, &L, &T, s < STEPS, s < STEPS ? step[s & 3] : 0, COPY(s + 1), COPY(s), s == STEPS - 1 ? &to : &none);
            else rows(0, &L, &T, s < STEPS, s < STEPS ? step[s & 3] : 0, COPY(s + 1), COPY(s), s == STEPS - 1 ? &to : &none);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (inner) restrict_rows(1, &L, w, c_out + c0, COPY(STEPS), jx, jy);
        else restrict_rows(0, &L, w, c_out + c0, COPY(STEPS), jx, jy);
    }
}

// ---- up ----

// The coarse points on either side of a fine column, or the one that is in it
typedef struct source {
    int odd, own, beside; // 1: between two; their columns, -1: there is none
    SUM low, mid, high, beside_low, beside_mid, beside_high; // weights of all inner points, for dy = -1, 0, 1
} source;

#define BY_ROW(dy, low, mid, high) ((dy) < 0 ? (low) : (dy) > 0 ? (high) : (mid))

// What a fine point has from the coarse row jy, at dy from it
INLINED SUM share_of(const int inner, const source *S, global const REAL *restrict w,
                     global const REAL *restrict e, int cx, int coarse, int dy, int jy)
{
    const int from = cx * jy;
    const SUM own = e[from + S->own], other = S->beside < 0 ? 0 : (SUM)e[from + S->beside];

    if (inner && ALL_ALIKE)
        return BY_ROW(dy, S->low, S->mid, S->high) * own +
               BY_ROW(dy, S->beside_low, S->beside_mid, S->beside_high) * other;
    SUM sum = own;
    if (S->odd || dy != 0) sum *= (SUM)WEIGHT(S->odd, dy, 0)[WEIGHT_PLACE(S->own, jy)];
    if (S->odd && S->beside >= 0)
        sum += (SUM)WEIGHT(-1, dy, 0)[WEIGHT_PLACE(S->beside, jy)] * other;
    return sum;
}

#define WEIGHT_OF(dx, dy) \
    ((dx) == 0 && (dy) == 0 ? (SUM)1 : CY || (dy) == 0 ? (SUM)WEIGHT(dx, dy, 0)[EDGE * (cx + 1)] : 0)

INLINED source source_of(const int inner, global const REAL *restrict w, int x, int cx, int coarse,
                         int wrapped)
{
    source S = { CX & x, x >> CX, 0, 0, 0, 0, 0, 0, 0 };

    S.beside = inner ? S.own + S.odd : beside(S.own, 1, cx, wrapped & 1);
    if (inner && ALL_ALIKE) {
        S.low = WEIGHT_OF(S.odd, -1), S.mid = WEIGHT_OF(S.odd, 0), S.high = WEIGHT_OF(S.odd, 1);
        if (S.odd)
            S.beside_low = WEIGHT_OF(-1, -1), S.beside_mid = WEIGHT_OF(-1, 0), S.beside_high = WEIGHT_OF(-1, 1);
    }
    return S;
}

#define WIDE_UP (WIDTH - 2 * STEPS)
#define HIGH_UP (ROWS - 2 * STEPS)

// to := x + P e
INLINED void correct(const int inner, const level *L, const tile *T, global const REAL *restrict w,
                     global const REAL *restrict x, global const REAL *restrict e, local REAL *to)
{
    const int cx = (L->nx + CX) >> CX, cy = (L->ny + CY) >> CY, coarse = cx * cy;
    const source S = source_of(inner, w, T->column.x, cx, coarse, L->wrapped);

    PARTLY_UNROLLED for (int k = 0; k < PER; k++)
    {
        const int row = ROW_OF_GRID(T->y + k), jy = max(row, 0) >> CY, odd = CY & row;
        SUM v = 0;
        if (INSIDE(row)) {
            v = (SUM)x[PLACE_OF(row)] + share_of(inner, &S, w, e, cx, coarse, odd, jy);
            const int next = odd ? inner ? jy + 1 : beside(jy, 1, cy, L->wrapped & 2) : -1;
            if (next >= 0) v += share_of(inner, &S, w, e, cx, coarse, -1, next);
        }
        to[T->at + k * PITCH] = (REAL)v;
    }
}

// The sums of all work-items, added up in those of the first one. lane: GROUP of them
INLINED void add_up(TOTAL2 mine, local TOTAL2 *lane)
{
    const int l = get_local_id(0);

    barrier(CLK_LOCAL_MEM_FENCE); // tiles may still be read
    lane[l] = mine;
    for (int step = GROUP / 2; step > 0; step /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < step) ADD_TOTAL2(lane[l], lane[l + step]);
    }
}

// y := the steps y + step D^-1 (b - A y), from y = x + P e. Words for each fine number: 3, and the numbers
// of a stencil; for each coarse one: its weights and 1. With `sums`, part[group] := the pair (b.y, b.b).
kernel void tile_up(LEVEL, STEPS_PARAMS, global const REAL *restrict b, long b0,
                    global const REAL *restrict x, long x0, global const REAL *restrict e, long e0,
                    global REAL *restrict y, long y0, int sums, global TOTAL2 *restrict part)
{
    LEVEL_BEGIN
    STEPS_BEGIN
    TILE_BEGIN
    const target none = { 0, 0, 0, 0, 0, 0 };
    TOTAL2 total = NO_TOTAL2;
    const int across = (nx + WIDE_UP - 1) / WIDE_UP, tasks = across * ((ny + HIGH_UP - 1) / HIGH_UP);
    for (int task = get_group_id(0); task < tasks; task += (int)get_num_groups(0)) {
        const int left = task % across * WIDE_UP, low = task / across * HIGH_UP;
        const target to = { y + y0, left, min(left + WIDE_UP, nx), low, min(low + HIGH_UP, ny), &total };
        TAKE_TILE(left - STEPS, low - STEPS)
        if (inner) take_column(1, &L, &T, b + b0);
        else take_column(0, &L, &T, b + b0);
        if (inner) correct(1, &L, &T, w, x + x0, e + e0, copies);
        else correct(0, &L, &T, w, x + x0, e + e0, copies);
        UNROLLED for (int s = 0; s < STEPS; s++)
        {
            barrier(CLK_LOCAL_MEM_FENCE);
            if (inner) rows(1, &L, &T, 1, step[s], COPY(s), COPY(s + 1), s == STEPS - 1 ? &to : &none);
            else rows(0, &L, &T, 1, step[s], COPY(s), COPY(s + 1), s == STEPS - 1 ? &to : &none);
        }
    }
    add_up(total, (local TOTAL2 *)copies);
    if (sums && get_local_id(0) == 0) part[get_group_id(0)] = ((local TOTAL2 *)copies)[0];
}

// sum[group] := a share of the pairs that many groups have left
kernel void tile_sums(int count, global const TOTAL2 *restrict part, global TOTAL2 *restrict sum)
{
    local TOTAL2 lane[WG];
    TOTAL2 total = NO_TOTAL2;

    for (int i = get_global_id(0); i < count; i += (int)get_global_size(0)) ADD_TOTAL2(total, part[i]);
    total = group_sum2(total, lane);
    if (get_local_id(0) == 0) sum[get_group_id(0)] = total;
}

#endif
