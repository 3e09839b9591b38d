// stencil_relax.cl - relaxation on grids: sweeps from one vector to another, sweeps in place, red and black, and a sweep
// from a vector in single to one in double. Host: src/grid/stencil_relax.c. sweep.clh says how kernels go over the points;
// sweeps in place have loops of their own.

#include "common/kry.clh"
#include "grid/sweep.clh"

#define RELAX_PARAMS                                                                         \
    GRID, ACC c1, global const REAL *restrict b, long b0, global REAL *y, long y0, int sums, \
        global TOTAL *restrict part

// part[group] := the squares alone, or both sums. Every work-item must call it.
INLINED void leave_sums(int sums, totals products, totals squares, int place, global TOTAL *part, local TOTAL2 *lane)
{
    const TOTAL2 total = group_sum2(BOTH(total_of_points(products), total_of_points(squares)), lane);
    if (get_local_id(0) == 0 && sums == 1) part[place] = total.y;
    if (get_local_id(0) == 0 && sums == 2) ((global TOTAL2 *)part)[place] = total;
}

#pragma kry part scaling

// y := c1 D^-1 b. With `sums` 1, part[group] := the sum of b.b; with 2, the pair (b.y, b.b).
kernel void stencil_scale(RELAX_PARAMS)
{
    local TOTAL2 lane[WG];
    const grid G = GRID_PASS;
    const factor v = { OF_NOTHING, 0, 0, 0 };
    const SUM by_residual = (SUM)c1;
    totals by = NO_TOTALS_YET, bb = NO_TOTALS_YET;
    line at;
    b += b0, y += y0;
    FOR_POINTS(at, &G, &v)
    {
        read_around(&G, &v, &at);
        const points diagonal = diagonal_of(&G, &at), b_i = read_at(&at, b), y_i = by_residual / diagonal * b_i;
        write_at(&at, y, y_i);
        add_product(at.whole, &by, b_i, y_i);
        add_product(at.whole, &bb, b_i, b_i);
    }
    leave_sums(sums, by, bb, SUM_PLACE, part, lane);
}

#pragma kry part sweeps

// y := x + c0 (x - old) + c1 D^-1 (b - A x), where x stands for x_scale x and old for old_scale old;
// old counts as zero without has_old, and may be y. With `sums` 1, part[group] := the squares of
// b - A x; with 2, the pair (b.y, b.b). 3 words, 4 with old; 1 less for each of x and old that is b.
kernel void stencil_relax(RELAX_PARAMS, ACC c0, ACC x_scale, global const REAL *restrict x, long x0,
                          int has_old, ACC old_scale, global const REAL *old, long old0)
{
    local TOTAL2 lane[WG];
    const grid G = GRID_PASS;
    const factor v = { OF_SCALED_X, x + x0, 0, (SUM)x_scale };
    const SUM by_step = (SUM)c0, by_residual = (SUM)c1, by_old = (SUM)old_scale;
    totals by = NO_TOTALS_YET, squares = NO_TOTALS_YET;
    line at;
    b += b0, old += old0, y += y0;
    FOR_POINTS(at, &G, &v)
    {
        read_around(&G, &v, &at);
        const points c = at.c, sum = sum_of_faces(&at), diagonal = diagonal_of(&G, &at);
        const points b_i = read_at(&at, b), r_i = b_i - sum;
        points y_i = c + by_residual / diagonal * r_i;
        if (by_step != 0) y_i += by_step * (has_old ? c - by_old * read_at(&at, old) : c);
        write_at(&at, y, y_i);
        if (sums == 2) {
            add_product(at.whole, &by, b_i, y_i);
            add_product(at.whole, &squares, b_i, b_i);
        } else if (sums == 1) {
            add_product(at.whole, &squares, r_i, r_i);
        }
    }
    leave_sums(sums, by, squares, SUM_PLACE, part, lane);
}

#pragma kry part colours

// x_i += w D^-1 (b - A x) at a point
INLINED void relax_in_place(const grid *G, const factor *v, line *at, SUM w, global const REAL *b, global REAL *x)
{
    read_around(G, v, at);
    const points sum = sum_of_faces(at), diagonal = diagonal_of(G, at);
    write_at(at, x, at->c + w / diagonal * (read_at(at, b) - sum));
}

// The first point of a colour in a row, 0 or 1.
INLINED int first_of_colour(const line *at, int colour) { return (at->iy + (AXES == 2 ? 0 : at->layer) + colour) & 1; }

// The number of those of the axes `rings` on which the point is the last one.
INLINED int ends_at(const grid *G, const line *at, int rings)
{
    return (rings & 1 && at->ix == G->nx - 1) + (rings & 2 && at->iy == G->ny - 1) +
           (AXES == 3 && rings & 4 && at->layer == G->nz - 1);
}

// Relax the points of a colour that are the last ones of `ends` axes `rings`. CPUs: `work` rows. GPUs: `work` pieces of columns that
// are two points wide, so that work-items side by side read side by side.
#ifdef KRY_CPU
INLINED void relax_colour(const grid *G, const factor *v, int colour, int rings, int ends, SUM w, global const REAL *b,
                          global REAL *x)
{
    line at;
    at.whole = 0;
    FOR_EACH(row, G->work)
    {
        at.iy = (int)row % G->ny, at.layer = AXES == 2 ? at.iy : (int)row / G->ny;
        for (at.ix = first_of_colour(&at, colour); at.ix < G->nx; at.ix += 2) {
            at.i = at.ix + G->nx * (int)row;
            if (ends_at(G, &at, rings) == ends) relax_in_place(G, v, &at, w, b, x);
        }
    }
}
#else
INLINED void relax_colour(const grid *G, const factor *v, int colour, int rings, int ends, SUM w, global const REAL *b,
                          global REAL *x)
{
    const int pairs = (G->nx + 1) / 2, columns = AXES == 2 ? pairs : pairs * G->ny;
    line at;
    at.whole = 0;
    FOR_EACH(column, G->work)
    {
        const int base = (int)column % columns, first = (int)column / columns * G->length;
        const int end = min(first + G->length, layers_of(G));
        for (at.layer = first; at.layer < end; at.layer++) {
            at.iy = AXES == 2 ? at.layer : base / pairs;
            at.ix = base % pairs * 2 + first_of_colour(&at, colour);
            at.i = at.ix + G->nx * at.iy + (AXES == 2 ? 0 : layer_size(G) * at.layer);
            if (at.ix < G->nx && ends_at(G, &at, rings) == ends) {
                line_enter(G, v, &at);
                relax_in_place(G, v, &at, w, b, x);
            }
        }
    }
}
#endif

// x += omega D^-1 (b - A x) where ix + iy + iz + colour is even, in place: the neighbours of such a
// point have another colour. rings: a bit for each axis along which the last point meets the first one, and both would
// have the same colour; only points that are the last of `ends` such axes are taken.
kernel void stencil_colour(GRID, int colour, int rings, int ends, ACC omega, global const REAL *restrict b, long b0,
                           global REAL *x, long x0)
{
    const grid G = GRID_PASS;
    const factor v = { OF_X, x + x0, 0, 0 };
    relax_colour(&G, &v, colour, rings, ends, (SUM)omega, b + b0, x + x0);
}

#pragma kry part from single to double

#ifdef KRY_FP64

#if LANES > 1
typedef KRY_JOIN(double, LANES) wide_points;
#define TO_WIDE    KRY_JOIN(convert_, KRY_JOIN(double, LANES))
#ifdef KRY_CPU
INLINED wide_points load_wide(const int whole, global const double *p, int i)
{
    wide_points v;
    if (whole == 1) return KRY_JOIN(vload, LANES)(0, p + i);
    if (whole == 2)
        v.lo = KRY_JOIN(vload, HALF_LANES)(0, p + i);
    else
        v.s0 = p[i];
    return v;
}
INLINED void store_wide(const int whole, global double *p, int i, wide_points v)
{
    if (whole == 1)
        KRY_JOIN(vstore, LANES)(v, 0, p + i);
    else if (whole == 2)
        KRY_JOIN(vstore, HALF_LANES)(v.lo, 0, p + i);
    else
        p[i] = v.s0;
}
INLINED void add_wide_product(const int whole, totals *t, wide_points u, wide_points v)
{
    if (whole == 1) {
        t->lanes += u * v;
    } else if (whole == 2) {
        ADD_PRODUCT(t->one, u.s0, v.s0);
        ADD_PRODUCT(t->one, u.s1, v.s1);
        ADD_PRODUCT(t->one, u.s2, v.s2);
        ADD_PRODUCT(t->one, u.s3, v.s3);
    } else {
        ADD_PRODUCT(t->one, u.s0, v.s0);
    }
}
#else
INLINED wide_points load_wide(const int whole, global const double *p, int i)
{
    wide_points v;
    if (whole) return *(global const wide_points *)(p + i);
    v.s0 = p[i];
    return v;
}
INLINED void store_wide(const int whole, global double *p, int i, wide_points v)
{
    if (!whole)
        p[i] = v.s0;
    else
        *(global wide_points *)(p + i) = v;
}
INLINED void add_wide_product(const int whole, totals *t, wide_points u, wide_points v)
{
    if (whole)
        t->lanes += u * v;
    else
        ADD_PRODUCT(t->one, u.s0, v.s0);
}
#endif
#else
typedef double wide_points;
#define TO_POINTS (SUM)
#define TO_WIDE   (double)
INLINED double load_wide(const int whole, global const double *p, int i) { return p[i]; }
INLINED void store_wide(const int whole, global double *p, int i, double v) { p[i] = v; }
INLINED void add_wide_product(const int whole, totals *t, double u, double v) { ADD_PRODUCT(t->one, u, v); }
#endif

// y := unit[1] (x + c1 D^-1 (unit[0] b - A x)), b and y in double;  part[group] := the sums of (b y, b b). 5 words of
// 4 bytes. REAL is float.
kernel void stencil_finish(GRID, ACC c1, global const double *restrict unit, global const double *restrict b,
                           long b0, global const REAL *restrict x, global double *restrict y, long y0,
                           global TOTAL2 *restrict part)
{
    local TOTAL2 lane[WG];
    const grid G = GRID_PASS;
    const factor v = { OF_X, x, 0, 0 };
    const SUM by_residual = (SUM)c1;
    const double into = unit[0], back = unit[1];
    totals by = NO_TOTALS_YET, bb = NO_TOTALS_YET;
    line at;
    b += b0, y += y0;
    FOR_POINTS(at, &G, &v)
    {
        read_around(&G, &v, &at);
        const points sum = sum_of_faces(&at), diagonal = diagonal_of(&G, &at);
        const wide_points b_i = load_wide(at.whole, b, at.i);
        const points x_i = at.c + by_residual / diagonal * (TO_POINTS(into * b_i) - sum);
        const wide_points y_i = back * TO_WIDE(x_i);
        store_wide(at.whole, y, at.i, y_i);
        add_wide_product(at.whole, &by, b_i, y_i);
        add_wide_product(at.whole, &bb, b_i, b_i);
    }
    const TOTAL2 total = group_sum2(BOTH(total_of_points(by), total_of_points(bb)), lane);
    if (get_local_id(0) == 0) part[SUM_PLACE] = total;
}

#endif
