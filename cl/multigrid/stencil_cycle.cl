// stencil_cycle.cl - what a cycle of multigrid does on a grid operator's level, in one pass down and one up,
// for CPUs. Host: src/mg/box_passes.c. Points are met as sweep.clh says, weights lie as transfer.clh says.
//
// A group has a run of layers along the last axis. It goes through them once: as soon as a layer has had its
// first smoothing step, the one before it can have the second, and so on, to the residual and the coarse
// layer. What is between lies in a ring of four layers for each stage, which stay in the cache. At the ends of
// its run a group does again what its neighbours do: one layer for each stage.
//
// nx, ny, nz are of the fine grid; work is the number of layers of the coarse one.

#include "common/kry.clh"
#include "grid/sweep.clh"
#include "multigrid/transfer.clh"

#ifdef KRY_CPU // for others there is nothing here

enum { MOST_STEPS = 4, RING = 4 };

// ring: of this group. from, until: its coarse layers. own, own_end: the fine layers that are its to write.
typedef struct cycle {
    grid G;
    transfer P;
    global const REAL *w;
    global REAL *ring;
    int from, until, own, own_end;
} cycle;

#define STEP_PARAMS_OF int count, ACC s0, ACC s1, ACC s2, ACC s3, global const REAL *restrict w
#define CYCLE_PASS     { GRID_PASS, COARSER_GRID(wraps), w, scratch, 0, 0, 0, 0 }

// By how many bits numbers of layers are shifted on the coarse grid.
INLINED int coarsened_layers(void) { return AXES == 2 ? CY : CZ; }

INLINED void cycle_begin(cycle *C)
{
    C->ring += (size_t)get_group_id(0) * (MOST_STEPS + 1) * RING * (size_t)layer_size(&C->G);
    C->from = (int)chunk_at(C->G.work, GROUP_HERE), C->until = (int)chunk_at(C->G.work, GROUP_HERE + 1);
    C->own = C->from << coarsened_layers(), C->own_end = min(C->until << coarsened_layers(), layers_of(&C->G));
}

// ---- layers, which are counted on beyond the ends of a periodic axis ----

INLINED int have_layer(const cycle *C, int l)
{
    return side_of(&C->G, BEHIND) == PERIODIC || (l >= 0 && l < layers_of(&C->G));
}
INLINED int number_of_layer(const cycle *C, int l)
{
    const int layers = layers_of(&C->G);
    return (l % layers + layers) % layers;
}

// Where a layer of a stage is in the ring, and from where number i of the grid is at i there, if the layer stands for `layer`.
INLINED global REAL *in_ring(const cycle *C, int stage, int l)
{
    return C->ring + ((long)stage * RING + (l & (RING - 1))) * layer_size(&C->G);
}
INLINED global REAL *grid_in_ring(const cycle *C, int stage, int l, int layer)
{
    return in_ring(C, stage, l) - (long)layer * layer_size(&C->G);
}

// x of a layer, and of those below and above it, as a stage has left it.
typedef struct layer_of_stage {
    int number, have_below, have_above;
    global const REAL *here, *below, *above;
} layer_of_stage;

INLINED void layer_of_stage_at(const cycle *C, int stage, int l, layer_of_stage *L)
{
    L->number = number_of_layer(C, l);
    L->here = grid_in_ring(C, stage, l, L->number);
    L->below = grid_in_ring(C, stage, l - 1, L->number), L->above = grid_in_ring(C, stage, l + 1, L->number);
    L->have_below = have_layer(C, l - 1), L->have_above = have_layer(C, l + 1);
}

// ---- the points of a layer ----

// To the beginning of a row of a layer.
INLINED void row_begin(const grid *G, int layer, int row, line *at)
{
    at->iy = AXES == 2 ? layer : row, at->layer = layer;
    at->row = at->next = layer_size(G) * layer + G->nx * row, at->end = at->row + G->nx;
    at->inner_end = at->end - ROW_MARGIN;
}

#define FOR_POINTS_OF_LAYER(at, G, layer)                         \
    for (int row = 0; row < (AXES == 2 ? 1 : (G)->ny); row++)     \
        for (row_begin(G, layer, row, &at); at.next < at.end;)    \
            UNROLLED for (at.whole = 0; at.whole < 3; at.whole++) \
                if (line_take(&at))

INLINED void read_around_in_ring(const grid *G, const layer_of_stage *L, line *at)
{
    const factor v = { OF_X, L->here, 0, 0 };
    read_in_layer(G, &v, at);
    at->behind = L->have_below ? load(at->whole, L->below, at->i) : ghost_of(side_of(G, BEHIND)) * at->c;
    at->ahead = L->have_above ? load(at->whole, L->above, at->i) : ghost_of(side_of(G, AHEAD)) * at->c;
    read_faces(G, at);
}

// by / diagonal; of constant coefficients it is one number for a vector between the ends of a row.
INLINED points over(const line *at, SUM by, points diagonal)
{
    return IS_VARIABLE || !at->whole ? by / diagonal : (points)(by / diagonal.s0);
}

// ---- points of the coarse grid ----

// Between the edges of a coarse row there is a vector that begins here, or before, with what was done.
INLINED int is_between_edges(const transfer *P, int jx)
{
    return jx >= EDGE && jx < P->cx - EDGE && P->cx >= LANES + 2 * EDGE;
}
INLINED int first_between_edges(const transfer *P, int jx) { return min(jx, P->cx - EDGE - LANES); }

// The row of residuals of fine layer l, at dy from the row of coarse row jy; NULL: there is none.
INLINED global const REAL *row_of_residuals(const cycle *C, int l, int jy, int dy)
{
    const int fy = AXES == 2 ? 0 : beside(jy << CY, dy, C->G.ny, C->P.wraps & 2);
    return have_layer(C, l) && fy >= 0 ? in_ring(C, 0, l) + C->G.nx * fy : 0;
}

// P' r for coarse point jx, number j, or LANES of them, of a row of layer jl. In the plane layers are rows.
INLINED SUM restricted(const cycle *C, int jl, int jy, int jx, int j)
{
    const int C_last = coarsened_layers();
    SUM sum = 0;
    for (int d = -C_last; d <= C_last; d++)
        for (int dy = AXES == 2 ? d : -CY; dy <= (AXES == 2 ? d : CY); dy++) {
            global const REAL *row = row_of_residuals(C, (jl << C_last) + d, jy, dy);
            if (row) sum = add_share(&C->P, C->w, jx, j, row, dy, AXES == 2 ? 0 : d, sum);
        }
    return sum;
}
INLINED points restricted_many(const cycle *C, int jl, int jy, int jx, int j)
{
    const int C_last = coarsened_layers();
    points sum = 0;
    for (int d = -C_last; d <= C_last; d++)
        for (int dy = AXES == 2 ? d : -CY; dy <= (AXES == 2 ? d : CY); dy++) {
            global const REAL *row = row_of_residuals(C, (jl << C_last) + d, jy, dy);
            if (row) sum = add_shares(&C->P, C->w, jx, j, row, dy, AXES == 2 ? 0 : d, sum);
        }
    return sum;
}

// c_out := P' r in layer jl of the coarse grid.
INLINED void restrict_layer(const cycle *C, int jl, global REAL *c_out)
{
    const transfer *P = &C->P;
    for (int jy = AXES == 2 ? jl : 0, jy_end = AXES == 2 ? jl + 1 : P->cy; jy < jy_end; jy++) {
        const int start = P->cx * (AXES == 2 ? jy : jy + P->cy * jl);
        for (int jx = 0; jx < P->cx;) {
            if (is_between_edges(P, jx)) {
                jx = first_between_edges(P, jx);
                store(1, c_out, start + jx, restricted_many(C, jl, jy, jx, start + jx));
                jx += LANES;
            } else {
                c_out[start + jx] = (REAL)restricted(C, jl, jy, jx, start + jx);
                jx++;
            }
        }
    }
}

// y := x + P e in fine layer `layer`; y is where that layer begins in the ring.
INLINED void correct_layer(const cycle *C, int layer, global const REAL *x, global const REAL *e, global REAL *y)
{
    const transfer *P = &C->P;
    const int nx = C->G.nx, first = layer_size(&C->G) * layer;
    for (int iy = AXES == 2 ? layer : 0, iy_end = AXES == 2 ? layer + 1 : C->G.ny; iy < iy_end; iy++) {
        const int iz = AXES == 2 ? 0 : layer, jy = iy >> CY, jz = iz >> CZ, odd_y = CY & iy, odd_z = CZ & iz;
        const int row = AXES == 2 ? 0 : nx * iy;
        for (int jx = 0; jx < P->cx;) {
            if (is_between_edges(P, jx)) {
                points odd, even;
                jx = first_between_edges(P, jx);
                even = corrections(P, C->w, jx, jy, jz, odd_y, odd_z, e, &odd);
                put_pairs(P, jx, 1, even, odd, 1, x + first + row, y + row);
                jx += LANES;
            } else {
                SUM odd, even = correction(P, C->w, jx, jy, jz, odd_y, odd_z, e, &odd);
                put_pair(P, jx, 1, even, odd, 1, x + first + row, y + row);
                jx++;
            }
        }
    }
}

// ---- down ----

// x := the steps x + step D^-1 (b - A x), from x = 0;  c := P' (b - A x). Words for each fine number: 2; for
// each coarse one: its weights and 1.
kernel void stencil_down(GRID, STEP_PARAMS_OF, global const REAL *restrict b, long b0,
                         global REAL *x, long x0, global REAL *restrict c_out, long c0,
                         global REAL *scratch)
{
    const int wraps = (XL == PERIODIC) + 2 * (YL == PERIODIC) + 4 * (AXES == 3 && ZL == PERIODIC);
    const SUM step[MOST_STEPS] = { (SUM)s0, (SUM)s1, (SUM)s2, (SUM)s3 };
    cycle C = CYCLE_PASS;
    layer_of_stage L;
    line at;
    cycle_begin(&C);
    b += b0, x += x0, c_out += c0;
    const int bits = coarsened_layers(), first = C.own - bits, last = ((C.until - 1) << bits) + bits; // residuals
    for (int m = first - count; C.from < C.until && m <= last + count; m++) {
        for (int s = 1; s <= count; s++) {
            const int l = m - s + 1, keep = s == count && l >= C.own && l < C.own_end;
            if (l < first - 1 - (count - s) || !have_layer(&C, l)) continue;
            layer_of_stage_at(&C, s - 1, l, &L);
            global REAL *to = grid_in_ring(&C, s, l, L.number);
            const SUM by = step[s - 1];
            if (s == 1) {
                FOR_POINTS_OF_LAYER(at, &C.G, L.number)
                {
                    read_faces(&C.G, &at);
                    const points x_i = over(&at, by, diagonal_of(&C.G, &at)) * read_at(&at, b);
                    write_at(&at, to, x_i);
                    if (keep) write_at(&at, x, x_i);
                }
            } else {
                FOR_POINTS_OF_LAYER(at, &C.G, L.number)
                {
                    read_around_in_ring(&C.G, &L, &at);
                    const points sum = sum_of_faces(&at), diagonal = diagonal_of(&C.G, &at);
                    const points x_i = at.c + over(&at, by, diagonal) * (read_at(&at, b) - sum);
                    write_at(&at, to, x_i);
                    if (keep) write_at(&at, x, x_i);
                }
            }
        }
        const int l = m - count;
        if (l < first) continue;
        if (have_layer(&C, l)) {
            layer_of_stage_at(&C, count, l, &L);
            global REAL *to = grid_in_ring(&C, 0, l, L.number); // no step leaves anything there
            FOR_POINTS_OF_LAYER(at, &C.G, L.number)
            {
                read_around_in_ring(&C.G, &L, &at);
                write_at(&at, to, read_at(&at, b) - sum_of_faces(&at));
            }
        }
        if (bits && !(l & 1)) continue; // the coarse layer needs another one
        const int jl = bits ? (l - 1) / 2 : l;
        if (jl >= C.from && jl < C.until) restrict_layer(&C, jl, c_out);
    }
}

// ---- up ----

// y := the steps y + step D^-1 (b - A y), from y = x + P e. Words for each fine number: 3; for each coarse
// one: its weights and 1. With `sums`, part[group] := the pair (b.y, b.b).
kernel void stencil_up(GRID, STEP_PARAMS_OF, global const REAL *restrict b, long b0,
                       global const REAL *restrict x, long x0, global const REAL *restrict e,
                       long e0, global REAL *y, long y0, int sums, global TOTAL2 *restrict part,
                       global REAL *scratch)
{
    const int wraps = (XL == PERIODIC) + 2 * (YL == PERIODIC) + 4 * (AXES == 3 && ZL == PERIODIC);
    const SUM step[MOST_STEPS] = { (SUM)s0, (SUM)s1, (SUM)s2, (SUM)s3 };
    cycle C = CYCLE_PASS;
    layer_of_stage L;
    line at;
    totals products = NO_TOTALS_YET, squares = NO_TOTALS_YET;
    cycle_begin(&C);
    b += b0, x += x0, e += e0, y += y0;
    for (int m = C.own - count; C.from < C.until && m < C.own_end + count; m++) {
        if (have_layer(&C, m)) correct_layer(&C, number_of_layer(&C, m), x, e, in_ring(&C, 0, m));
        for (int s = 1; s <= count; s++) {
            const int l = m - s, wanted = count - s;
            if (l < C.own - wanted || l >= C.own_end + wanted || !have_layer(&C, l)) continue;
            layer_of_stage_at(&C, s - 1, l, &L);
            global REAL *to = grid_in_ring(&C, s, l, L.number);
            const SUM by = step[s - 1];
            if (s < count) {
                FOR_POINTS_OF_LAYER(at, &C.G, L.number)
                {
                    read_around_in_ring(&C.G, &L, &at);
                    const points sum = sum_of_faces(&at), diagonal = diagonal_of(&C.G, &at);
                    write_at(&at, to, at.c + over(&at, by, diagonal) * (read_at(&at, b) - sum));
                }
            } else {
                FOR_POINTS_OF_LAYER(at, &C.G, L.number)
                {
                    read_around_in_ring(&C.G, &L, &at);
                    const points sum = sum_of_faces(&at), diagonal = diagonal_of(&C.G, &at);
                    const points b_i = read_at(&at, b), y_i = at.c + over(&at, by, diagonal) * (b_i - sum);
                    write_at(&at, y, y_i);
                    add_product(at.whole, &products, b_i, y_i);
                    add_product(at.whole, &squares, b_i, b_i);
                }
            }
        }
    }
    if (sums) part[get_group_id(0)] = BOTH(total_of_points(products), total_of_points(squares));
}

#endif
