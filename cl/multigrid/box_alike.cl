// box_alike.cl - products and relaxation in space with a stored stencil whose numbers are alike all over the grid but
// near its ends, for GPUs. Host: src/multigrid/box.c. box.clh says how the numbers lie.
//
// `edge`: points at each end of each axis, at most EDGE, that make a shell. Behind it all rows are the same, and, up to
// rounding, the same in both directions of each axis: those of constant coefficients. So eight numbers stand for 27.
// Groups take the points of the shell, one for each work-item, and tiles of what is behind it, in which a work-item has
// ROWS by LAYERS points, one above the other. There it asks for nothing on its way, so that all its loads are under way
// at once. At the end of an axis tiles overlap, and only one of them stores a point: it is `owned`.

#include "common/kry.clh"
#include "multigrid/box.clh"
#include "multigrid/box_relax.clh"

#if !defined(KRY_CPU) && AXES == 3

enum { ROWS = 2, LAYERS = 4, WIDE = WG < 32 ? WG : 32, TALL = WG / WIDE * ROWS }; // as in src/multigrid/box.c

// ---- tasks ----

typedef struct tasks {
    int shell;           // points of it
    int first_tile, all; // tasks before the first tile, and in all
    int across, up;      // tiles in a row of them, and rows in a layer of them
} tasks;

INLINED int parts_of(int n, int part) { return (n + part - 1) / part; }

INLINED void tasks_of(const box *A, int edge, tasks *t)
{
    const int inner_x = A->nx - 2 * edge, inner_y = A->ny - 2 * edge, inner_z = A->nz - 2 * edge;
    t->shell = A->work - inner_x * inner_y * inner_z;
    t->first_tile = parts_of(t->shell, WG);
    t->across = parts_of(A->nx, WIDE), t->up = parts_of(inner_y, TALL);
    t->all = t->first_tile + t->across * t->up * parts_of(inner_z, LAYERS);
}

// ---- numbers ----

// For a point itself, for those beside it along one axis, those along another one, and the four at the corners.
typedef struct numbers {
    SUM own, along, across, corner;
} numbers;

// From slot `first` on; along, across: how far the slots of two axes are.
INLINED void take_numbers(global const REAL *at, int first, int along, int across, int work, numbers *N)
{
    at += (size_t)first * work;
    N->own = (SUM)at[0], N->along = (SUM)at[(size_t)along * work];
    N->across = (SUM)at[(size_t)across * work], N->corner = (SUM)at[(size_t)(along + across) * work];
}

INLINED SUM times(const numbers *N, SUM own, SUM along, SUM across, SUM corners)
{
    return N->own * own + N->along * along + (N->across * across + N->corner * corners);
}

// ---- the shell ----

// A point of it. outer: bit a: it is near an end of axis a
typedef struct shell_point {
    int outer, x, y, z;
    place p;
} shell_point;

// The place on an axis that is number `at` of those near its ends, or of the others.
INLINED int place_at(int outer, int at, int size, int edge)
{
    if (!outer) return edge + at;
    return at < edge ? at : size - 2 * edge + at;
}

// The point of number k, of seven parts of the shell.
INLINED void take_shell_point(const box *A, int edge, int k, shell_point *s)
{
    int nx = 0, ny = 0, points = 0;
    for (s->outer = 1; s->outer <= 7; s->outer++) {
        k -= points;
        nx = s->outer & 1 ? 2 * edge : A->nx - 2 * edge, ny = s->outer & 2 ? 2 * edge : A->ny - 2 * edge;
        points = nx * ny * (s->outer & 4 ? 2 * edge : A->nz - 2 * edge);
        if (k < points) break;
    }
    const int row = k / nx;
    s->x = place_at(s->outer & 1, k % nx, A->nx, edge), s->y = place_at(s->outer >> 1 & 1, row % ny, A->ny, edge);
    s->z = place_at(s->outer >> 2 & 1, row / ny, A->nz, edge);
    take_rows_beside(A, s->y, s->z, &s->p);
    take_point(A, s->x + A->nx * (s->y + A->ny * s->z), s->x, &s->p);
}

INLINED int of_axis(int axis, int x, int y, int z) { return axis == 0 ? x : axis == 1 ? y : z; }

// Nine numbers of x around x[0], `along` and `across` apart, times those of A.
INLINED SUM times_plane(const numbers *N, global const REAL *x, int along, int across)
{
    return times(N, (SUM)x[0], (SUM)x[-along] + (SUM)x[along], (SUM)x[-across] + (SUM)x[across],
                 ((SUM)x[-along - across] + (SUM)x[along - across]) + ((SUM)x[across - along] + (SUM)x[along + across]));
}

// The row of a point that is near an end of one axis only: along the others its numbers are alike.
INLINED SUM face_row(const box *A, global const REAL *a, const shell_point *s, global const REAL *x, SUM *own, SUM *diagonal)
{
    const int axis = s->outer >> 1, stride_z = A->nx * A->ny; // 1, 2, 4: 0, 1, 2
    const int along = axis == 0 ? A->nx : 1, across = axis == 2 ? A->nx : stride_z;
    const int slot = of_axis(axis, 1, 3, 9), slot_along = axis == 0 ? 3 : 1, slot_across = axis == 2 ? 3 : 9;
    const int back = of_axis(axis, s->p.west, s->p.south, s->p.behind), on = of_axis(axis, s->p.east, s->p.north, s->p.ahead);
    global const REAL *at = a + EDGE * (along + across) + of_axis(axis, s->x, s->y * A->nx, s->z * stride_z);
    numbers here, upward, downward;
    take_numbers(at, 0, slot_along, slot_across, A->work, &here);
    take_numbers(at, slot, slot_along, slot_across, A->work, &upward);
    take_numbers(at + back, slot, slot_along, slot_across, A->work, &downward);
    x += s->p.i;
    *own = (SUM)x[0], *diagonal = here.own;
    const SUM sum = times_plane(&here, x, along, across) + times_plane(&upward, x + on, along, across);
    const SUM below = times_plane(&downward, x + back, along, across);
    return back ? sum + below : sum;
}

INLINED SUM shell_row(const box *A, global const REAL *a, const shell_point *s, global const REAL *x, SUM *own, SUM *diagonal)
{
    const int of_face = (s->outer & (s->outer - 1)) == 0;
    return of_face ? face_row(A, a, s, x, own, diagonal) : box_row(a, &s->p, x, own, diagonal);
}

// ---- tiles ----

// The numbers of a row behind the shell, in its own layer and in those before and behind.
typedef struct row_numbers {
    numbers own, sides;
} row_numbers;

INLINED void take_row_numbers(const box *A, global const REAL *a, row_numbers *N)
{
    global const REAL *at = a + EDGE + A->nx * (EDGE + A->ny * EDGE);
    take_numbers(at, 0, 1, 3, A->work, &N->own);
    take_numbers(at, 9, 1, 3, A->work, &N->sides);
}

// The points of a work-item: ROWS rows in each of LAYERS layers.
typedef struct piece {
    int first;              // the lowest
    int own_row, own_layer; // of its rows and layers, the first that are its own; LAYERS: none
} piece;

INLINED void take_piece(const box *A, int edge, const tasks *t, int tile, piece *p)
{
    const int lane = get_local_id(0), last_y = A->ny - edge - ROWS, last_z = A->nz - edge - LAYERS;
    const int ix = tile % t->across * WIDE + lane % WIDE, row_of_tiles = tile / t->across;
    const int iy = edge + row_of_tiles % t->up * TALL + lane / WIDE * ROWS, iz = edge + row_of_tiles / t->up * LAYERS;
    const int x = clamp(ix, edge, A->nx - edge - 1), y = min(iy, last_y), z = min(iz, last_z);
    p->first = x + A->nx * (y + A->ny * z);
    p->own_row = iy - y, p->own_layer = x == ix ? iz - z : LAYERS;
}

INLINED int owned(const piece *p, int row, int layer) { return row >= p->own_row && layer >= p->own_layer; }

// x of a layer, and the sums that it adds to the rows in it, and to the rows before and behind it.
typedef struct layer {
    SUM x[ROWS], own[ROWS], sides[ROWS];
} layer;

// x: where the lowest of a work-item's points in that layer is.
INLINED void take_layer(const row_numbers *N, global const REAL *x, int nx, layer *L)
{
    SUM own[ROWS + 2], beside[ROWS + 2];
    UNROLLED for (int r = 0; r < ROWS + 2; r++)
    {
        global const REAL *at = x + nx * (r - 1);
        own[r] = (SUM)at[0], beside[r] = (SUM)at[-1] + (SUM)at[1];
    }
    UNROLLED for (int r = 0; r < ROWS; r++)
    {
        const SUM rows = own[r] + own[r + 2], corners = beside[r] + beside[r + 2];
        L->x[r] = own[r + 1];
        L->own[r] = times(&N->own, own[r + 1], beside[r + 1], rows, corners);
        L->sides[r] = times(&N->sides, own[r + 1], beside[r + 1], rows, corners);
    }
}

// The rows of A of a piece times x: point r + ROWS k; c: x there.
INLINED void piece_rows(const box *A, const row_numbers *N, global const REAL *x, const piece *p, SUM *c, SUM *sum)
{
    const int plane = A->nx * A->ny;
    layer before, here, behind;
    take_layer(N, x + p->first - plane, A->nx, &before);
    take_layer(N, x + p->first, A->nx, &here);
    UNROLLED for (int k = 0; k < LAYERS; k++)
    {
        take_layer(N, x + p->first + plane * (k + 1), A->nx, &behind);
        UNROLLED for (int r = 0; r < ROWS; r++)
            c[r + ROWS * k] = here.x[r], sum[r + ROWS * k] = here.own[r] + (before.sides[r] + behind.sides[r]);
        before = here, here = behind;
    }
}

// value := numbers of a vector at the points of a piece
INLINED void take_values(const box *A, global const REAL *v, const piece *p, SUM *value)
{
    UNROLLED for (int k = 0; k < LAYERS; k++)
        UNROLLED for (int r = 0; r < ROWS; r++) value[r + ROWS * k] = (SUM)v[p->first + A->nx * (r + A->ny * k)];
}

// y := alpha A x + beta b; with beta == 0, b is not read. b may be y. Words: 2, and 1 of b.
kernel void box_alike_apply(BOX_PARAMS, int edge, ACC alpha, global const REAL *restrict x, long x0, ACC beta,
                            global const REAL *b, long b0, global REAL *y, long y0)
{
    const box A = BOX_PASS;
    const SUM by = (SUM)alpha, by_b = (SUM)beta;
    tasks t;
    row_numbers N;
    tasks_of(&A, edge, &t);
    take_row_numbers(&A, a, &N);
    x += x0, b += b0, y += y0;
    for (int task = get_group_id(0); task < t.all; task += (int)get_num_groups(0)) {
        const int k = task * WG + (int)get_local_id(0);
        if (task >= t.first_tile) {
            piece P;
            SUM b_at[ROWS * LAYERS], c[ROWS * LAYERS], sum[ROWS * LAYERS];
            take_piece(&A, edge, &t, task - t.first_tile, &P);
            UNROLLED for (int j = 0; j < ROWS * LAYERS; j++) b_at[j] = 0;
            if (by_b != 0) take_values(&A, b, &P, b_at);
            piece_rows(&A, &N, x, &P, c, sum);
            UNROLLED for (int j = 0; j < ROWS * LAYERS; j++)
                if (owned(&P, j % ROWS, j / ROWS))
                    y[P.first + nx * (j % ROWS + ny * (j / ROWS))] = (REAL)(by * sum[j] + by_b * b_at[j]);
        } else if (k < t.shell) {
            shell_point s;
            SUM c, diagonal;
            take_shell_point(&A, edge, k, &s);
            const SUM sum = shell_row(&A, a, &s, x, &c, &diagonal);
            y[s.p.i] = (REAL)(by * sum + (by_b == 0 ? (SUM)0 : by_b * (SUM)b[s.p.i]));
        }
    }
}

// box_relax.clh says what it computes.
kernel void box_alike_relax(BOX_PARAMS, int edge, RELAX_PARAMS)
{
    local TOTAL2 lane[WG];
    const box A = BOX_PASS;
    const relaxation S = RELAX_PASS;
    TOTAL products = NO_TOTAL, squares = NO_TOTAL;
    tasks t;
    row_numbers N;
    tasks_of(&A, edge, &t);
    take_row_numbers(&A, a, &N);
    const SUM over = S.by_residual / N.own.own;
    b += b0, x += x0, y += y0;
    for (int task = get_group_id(0); task < t.all; task += (int)get_num_groups(0)) {
        const int k = task * WG + (int)get_local_id(0);
        if (task >= t.first_tile) {
            piece P;
            SUM b_at[ROWS * LAYERS], old_at[ROWS * LAYERS], c[ROWS * LAYERS], sum[ROWS * LAYERS];
            take_piece(&A, edge, &t, task - t.first_tile, &P);
            take_values(&A, b, &P, b_at);
            UNROLLED for (int j = 0; j < ROWS * LAYERS; j++) old_at[j] = 0, c[j] = 0, sum[j] = 0;
            if (has_old) take_values(&A, S.old, &P, old_at);
            if (has_x) piece_rows(&A, &N, x, &P, c, sum);
            UNROLLED for (int j = 0; j < ROWS * LAYERS; j++)
            {
                SUM s_i;
                const SUM y_i = relaxed_from(&S, old_at[j], b_at[j], c[j], sum[j], over, &s_i);
                if (!owned(&P, j % ROWS, j / ROWS)) continue;
                y[P.first + nx * (j % ROWS + ny * (j / ROWS))] = (REAL)y_i;
                if (sums == 0) continue;
                ADD_PRODUCT(products, b_at[j], y_i);
                ADD_PRODUCT(squares, s_i, s_i);
            }
        } else if (k < t.shell) {
            shell_point s;
            SUM c = 0, sum = 0, diagonal, s_i;
            take_shell_point(&A, edge, k, &s);
            if (has_x) sum = shell_row(&A, a, &s, x, &c, &diagonal);
            else diagonal = number_at(a, &s.p, 0, s.p.i);
            const SUM b_i = (SUM)b[s.p.i], y_i = relaxed(&S, s.p.i, b_i, c, sum, S.by_residual / diagonal, &s_i);
            y[s.p.i] = (REAL)y_i;
            ADD_PRODUCT(products, b_i, y_i);
            ADD_PRODUCT(squares, s_i, s_i);
        }
    }
    leave_sums(sums, products, squares, lane, part);
}

#endif
