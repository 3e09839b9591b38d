// box_columns.cl - products and relaxation with a stored stencil in space, column by column, for GPUs. Host:
// src/multigrid/box.c. box.clh says how the numbers lie.
//
// Groups take tiles of columns, cut into pieces of `length` layers, which the host has chosen. A work-item owns a
// column of points and marches along z. What it finds in a layer, at its own point and the eight around it, adds to
// three sums: those of the rows in this layer, in the one before, which is complete with it, and in the one behind.
// So there are nine numbers to read for a row of 27 entries, and no sides to look for. Columns that are not there
// have number 0 where their numbers would multiply something. A work-item reads x of its own column, and b, a turn
// before they are used, when there is nothing yet to wait for: then what it reads beside is in the cache.

#include "common/kry.clh"
#include "multigrid/box.clh"
#include "multigrid/box_relax.clh"

#if !defined(KRY_CPU) && AXES == 3

// ---- which columns ----

typedef struct tiling {
    int width, tall, across, tiles, tasks; // of a tile in columns; tiles in a row of them and in all; tiles in pieces
} tiling;

INLINED void tiling_of(const box *A, int length, tiling *t)
{
    t->width = min(WG, A->nx <= 8 ? 8 : A->nx <= 16 ? 16 : 32), t->tall = WG / t->width;
    t->across = (A->nx + t->width - 1) / t->width;
    t->tiles = t->across * ((A->ny + t->tall - 1) / t->tall);
    t->tasks = t->tiles * ((A->nz + length - 1) / length);
}

// A column, with the march along it.
typedef struct column {
    int number, own; // of its point in layer 0; of the point whose numbers are read for that
    int west, east, south, north;   // steps to the columns beside; 0: there is none
    int number_west, number_east;   // steps to their numbers
    int first, end;                 // its rows
    int layer;                      // where the march is: the place on the axis, -1 outside of the grid
    SUM now, c;                     // x there, and one layer before
    SUM before, here, behind;       // sums of the rows one layer before, there, and one behind
    SUM diagonal, inverse;          // a diagonal entry and 1 / that
} column;

INLINED SUM number_in(const box *A, global const REAL *a, int slot, int i) { return (SUM)(a + (size_t)slot * A->work)[i]; }

INLINED int step_x(int dx, int west, int east) { return dx < 0 ? west : dx > 0 ? east : 0; }
INLINED int step_y(const column *C, int dy) { return dy < 0 ? C->south : dy > 0 ? C->north : 0; }
INLINED int has(const column *C, int dx, int dy)
{
    return (dx == 0 || step_x(dx, C->west, C->east)) && (dy == 0 || step_y(C, dy));
}

// The place of layer z on its axis, which may be one before the first or one behind the last; -1: there is none.
INLINED int layer_at(const box *A, int z)
{
    if (z >= 0 && z < A->nz) return z;
    return A->wraps & 4 && A->nz > 1 ? z < 0 ? A->nz - 1 : 0 : -1;
}

// ---- numbers: of the row in layer z those of its own layer, of the layer behind it and of that before it ----

// A number that is stored in the column at (dx, dy).
INLINED SUM number_beside(const box *A, global const REAL *a, const column *C, int slot, int dx, int dy, int z)
{
    const int at = C->own + step_x(dx, C->number_west, C->number_east) + step_y(C, dy);
    return has(C, dx, dy) ? number_in(A, a, slot, at + A->nx * A->ny * z) : 0;
}
INLINED SUM middle_number(const box *A, global const REAL *a, const column *C, int dx, int dy, int z)
{
    const int slot = dx + 3 * dy;
    return slot >= 0 ? number_in(A, a, slot, C->own + A->nx * A->ny * z) : number_beside(A, a, C, -slot, dx, dy, z);
}
INLINED SUM upward_number(const box *A, global const REAL *a, const column *C, int dx, int dy, int z)
{
    return number_in(A, a, 9 + dx + 3 * dy, C->own + A->nx * A->ny * z);
}
// To layer z, where it is stored.
INLINED SUM downward_number(const box *A, global const REAL *a, const column *C, int dx, int dy, int z)
{
    return number_beside(A, a, C, 9 - dx - 3 * dy, dx, dy, z);
}

// ---- the march ----

// x in the layer where the march is, at (dx, dy).
INLINED SUM value_beside(const box *A, const column *C, global const REAL *x, int dx, int dy)
{
    const int to = C->number + step_x(dx, C->west, C->east) + step_y(C, dy) + A->nx * A->ny * C->layer;
    return dx == 0 && dy == 0 ? C->now : (SUM)x[to];
}

// The column of this work-item in a task, before its first row.
INLINED void begin_column(const box *A, const tiling *t, int task, int length, global const REAL *x, column *C)
{
    const int tile = task % t->tiles, lane = get_local_id(0);
    const int x_ = tile % t->across * t->width + lane % t->width, y_ = tile / t->across * t->tall + lane / t->width;
    const int in_grid = x_ < A->nx && y_ < A->ny, ix = in_grid ? x_ : 0, iy = in_grid ? y_ : 0;
    const int like_inner = A->alike && ix >= EDGE && ix < A->nx - EDGE;

    C->first = task / t->tiles * length, C->end = in_grid ? min(C->first + length, A->nz) : C->first - 2;
    C->west = step_beside(ix, -1, A->nx, 1, A->wraps & 1), C->east = step_beside(ix, 1, A->nx, 1, A->wraps & 1);
    C->south = step_beside(iy, -1, A->ny, A->nx, A->wraps & 2), C->north = step_beside(iy, 1, A->ny, A->nx, A->wraps & 2);
    C->number = ix + A->nx * iy, C->own = like_inner ? EDGE + A->nx * iy : C->number;
    C->number_west = like_inner ? -1 : C->west, C->number_east = like_inner ? 1 : C->east;
    C->diagonal = 0, C->inverse = 0, C->c = 0, C->now = 0, C->before = 0, C->here = 0, C->behind = 0;
    C->layer = layer_at(A, C->first - 1);
    if (C->layer >= 0) C->now = (SUM)x[C->number + A->nx * A->ny * C->layer];
}

// Add layer z, where the march is, to the sums of the rows of layers z - 1, z and z + 1, the last of which is new.
INLINED void add_layer(const box *A, global const REAL *a, global const REAL *x, int z, column *C)
{
    C->behind = 0;
    if (C->layer < 0) return;
    UNROLLED for (int dy = -1; dy <= 1; dy++)
        UNROLLED for (int dx = -1; dx <= 1; dx++)
        {
            const SUM value = value_beside(A, C, x, dx, dy);
            C->here += middle_number(A, a, C, dx, dy, C->layer) * value;
            C->before += upward_number(A, a, C, dx, dy, max(z - 1, 0)) * value;
            C->behind += downward_number(A, a, C, dx, dy, C->layer) * value;
        }
}

// inverse := 1 / the diagonal entry of the row in layer z. There are few different ones, and divisions are slow.
INLINED void take_diagonal(const box *A, global const REAL *a, int z, column *C)
{
    const SUM entry = number_in(A, a, 0, C->own + A->nx * A->ny * z);
    if (entry != C->diagonal) C->diagonal = entry, C->inverse = 1 / entry;
}

// On to the next layer, where x is `coming`.
INLINED void march_on(int next, SUM coming, column *C)
{
    C->c = C->now, C->before = C->here, C->here = C->behind;
    C->now = coming, C->layer = next;
}

// y := alpha A x + beta b; with beta == 0, b is not read. b may be y. Words: 14 of A, 2, and 1 of b.
kernel void box_columns_apply(BOX_PARAMS, int length, ACC alpha, global const REAL *restrict x, long x0, ACC beta,
                              global const REAL *b, long b0, global REAL *y, long y0)
{
    const box A = BOX_PASS;
    const SUM by = (SUM)alpha, by_b = (SUM)beta;
    const int plane = nx * ny;
    tiling t;
    tiling_of(&A, length, &t);
    x += x0, b += b0, y += y0;
    for (int task = get_group_id(0); task < t.tasks; task += (int)get_num_groups(0)) {
        column C;
        SUM of_b = 0;
        begin_column(&A, &t, task, length, x, &C);
        for (int iz = C.first - 1; iz <= C.end; iz++) {
            const int next = layer_at(&A, iz + 1);
            SUM coming = 0, coming_of_b = 0;
            if (iz < C.end && next >= 0) coming = (SUM)x[C.number + plane * next];
            if (iz >= C.first && iz < C.end && by_b != 0) coming_of_b = by_b * (SUM)b[C.number + plane * iz];
            add_layer(&A, a, x, iz, &C);
            if (iz > C.first) y[C.number + plane * (iz - 1)] = (REAL)(by * C.before + of_b);
            march_on(next, coming, &C);
            of_b = coming_of_b;
        }
    }
}

// box_relax.clh says what it computes.
kernel void box_columns_relax(BOX_PARAMS, int length, RELAX_PARAMS)
{
    local TOTAL2 lane[WG];
    const box A = BOX_PASS;
    const relaxation S = RELAX_PASS;
    const int plane = nx * ny;
    TOTAL products = NO_TOTAL, squares = NO_TOTAL;
    tiling t;
    tiling_of(&A, length, &t);
    b += b0, x += x0, y += y0;
    FOR_EACH(at, has_x ? 0 : work)
    {
        const int i = (int)at;
        place p;
        SUM s_i, b_i = (SUM)b[i];
        take_point(&A, i, i % nx, &p);
        const SUM y_i = relaxed(&S, i, b_i, 0, 0, S.by_residual * (1 / number_at(a, &p, 0, i)), &s_i);
        y[i] = (REAL)y_i;
        ADD_PRODUCT(products, b_i, y_i);
        ADD_PRODUCT(squares, s_i, s_i);
    }
    for (int task = get_group_id(0); has_x && task < t.tasks; task += (int)get_num_groups(0)) {
        column C;
        SUM b_i = 0;
        begin_column(&A, &t, task, length, x, &C);
        for (int iz = C.first - 1; iz <= C.end; iz++) {
            const int next = layer_at(&A, iz + 1);
            SUM coming = 0, coming_b = 0;
            if (iz < C.end && next >= 0) coming = (SUM)x[C.number + plane * next];
            if (iz >= C.first && iz < C.end) coming_b = (SUM)b[C.number + plane * iz];
            add_layer(&A, a, x, iz, &C);
            if (iz > C.first) {
                const int i = C.number + plane * (iz - 1);
                SUM s_i;
                take_diagonal(&A, a, iz - 1, &C);
                const SUM y_i = relaxed(&S, i, b_i, C.c, C.before, S.by_residual * C.inverse, &s_i);
                y[i] = (REAL)y_i;
                ADD_PRODUCT(products, b_i, y_i);
                ADD_PRODUCT(squares, s_i, s_i);
            }
            march_on(next, coming, &C);
            b_i = coming_b;
        }
    }
    leave_sums(sums, products, squares, lane, part);
}

#endif
