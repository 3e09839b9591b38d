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
#define wraps  ((XL == PERIODIC) + 2 * (YL == PERIODIC) + 4 * (AXES == 3 && ZL == PERIODIC))
#if AXES == 2
#define CLAST CY
#else
#define CLAST CZ
#endif
#define SIZES                                                                             \
    const int plane = nx * ny, cx = (nx + CX) >> CX, cy = (ny + CY) >> CY, cz = (nz + CZ) >> CZ;

#define SHARE_ONE       add_share
#define SHARE_MANY      add_shares
#define CORRECTION_ONE  correction
#define CORRECTION_MANY corrections
#define PUT_PAIR_ONE    put_pair
#define PUT_PAIR_MANY   put_pairs

#define STEP_PARAMS_OF                                                                    \
    int count, ACC s0, ACC s1, ACC s2, ACC s3, global const REAL *restrict w
// ring: of this group. from, until: its coarse layers. own, own_end: the fine layers that are its to write.
#define CYCLE_BEGIN                                                                       \
    WEIGHTS                                                                               \
    SIZES                                                                                 \
    const transfer P = COARSER_GRID(wraps);                                               \
    SUM step[MOST_STEPS];                                                                 \
    step[0] = (SUM)s0, step[1] = (SUM)s1, step[2] = (SUM)s2, step[3] = (SUM)s3;           \
    global REAL *ring =                                                                   \
        scratch + (size_t)get_group_id(0) * (MOST_STEPS + 1) * RING * (size_t)LAYER;      \
    const int from = (int)chunk_begin(work), until = (int)chunk_end(work);                \
    const int own = from << CLAST, own_end = min(until << CLAST, LAST_SIZE);

// Layers are counted on beyond the ends of a periodic axis; which one of the grid it is, and whether there is
// one.
#define HAVE_LAYER(l) (LAST_LOW == PERIODIC || ((l) >= 0 && (l) < LAST_SIZE))
#define LAYER_OF(l)   (((l) % LAST_SIZE + LAST_SIZE) % LAST_SIZE)
// Where a layer of a stage is in the ring, and how far point i of it is from there.
#define RING_AT(stage, l) (((long)(stage) * RING + ((l) & (RING - 1))) * LAYER)
#define RING_FROM(stage, l, layer) (RING_AT(stage, l) - (long)(layer) * LAYER)

// by / diagonal; of constant coefficients it is one number for a vector between the ends of a row.
#define OVER_ONE(by, diagonal) ((by) / (diagonal))
#ifdef VARIABLE
#define OVER_MANY(by, diagonal) ((by) / (diagonal))
#else
#define OVER_MANY(by, diagonal) ((T_MANY)((by) / (diagonal).s0))
#endif

// ---- a layer of the fine grid, with x from the ring: POINT(K) for number i of it ----

#if AXES == 2
#define ROWS_OF_LAYER  1
#define PLACE_OF(row)  const int iy = layer, iz = 0;
#else
#define ROWS_OF_LAYER  ny
#define PLACE_OF(row)  const int iy = row, iz = layer;
#endif
#define EACH_IN_LAYER(POINT)                                                              \
    for (int row = 0; row < ROWS_OF_LAYER; row++) {                                       \
        PLACE_OF(row)                                                                     \
        const int start = layer * LAYER + row * nx, end = start + nx;                     \
        for (int i = start; i < end;) {                                                   \
            const int fresh = i; /* the first one that was not met before */              \
            if (i > start && i < end - 1 && nx >= LANES + 2) {                            \
                i = min(i, end - 1 - LANES); /* once more what is left would not fill */  \
                const int ix = 1;            /* anywhere inside */                        \
                POINT(MANY)                                                               \
                i += LANES;                                                               \
            } else {                                                                      \
                const int ix = i - start;                                                 \
                POINT(ONE)                                                                \
                i++;                                                                      \
            }                                                                             \
        }                                                                                 \
    }

#define GET_HERE(K, i)    AT_##K(ring, (i) + here)
#define GET_NOTHING(K, i) ((T_##K)0)
// c, its neighbours, and then sum and diagonal; here, below and above: of the layers in the ring.
#define RING_POINT(K)                                                                     \
    T_##K c = GET_HERE(K, i), c_w = WEST_##K(GET_HERE, c), c_e = EAST_##K(GET_HERE, c);   \
    ACROSS(K, GET_HERE)                                                                   \
    T_##K c_behind = have_below ? AT_##K(ring, i + below) : (SUM)(LAST_LOW) * c;          \
    T_##K c_ahead = have_above ? AT_##K(ring, i + above) : (SUM)(LAST_HIGH) * c;          \
    FACE_SUMS(K)
#define RING_LAYERS(stage, l)                                                             \
    const int layer = LAYER_OF(l);                                                        \
    const long here = RING_FROM(stage, l, layer);                                         \
    const long below = RING_FROM(stage, (l) - 1, layer), above = RING_FROM(stage, (l) + 1, layer); \
    const int have_below = HAVE_LAYER((l) - 1), have_above = HAVE_LAYER((l) + 1);

// Between the edges of a coarse row there is a vector that begins here, or before, with what was done.
#define BETWEEN_EDGES(jx) ((jx) >= EDGE && (jx) < cx - EDGE && cx >= LANES + 2 * EDGE)
#define LAST_BETWEEN(jx)  min(jx, cx - EDGE - LANES)

// ---- down ----

// x := the steps x + step D^-1 (b - A x), from x = 0;  c := P' (b - A x). Words for each fine number: 2; for
// each coarse one: its weights and 1.
kernel void stencil_down(GRID, STEP_PARAMS_OF, global const REAL *restrict b, long b0,
                         global REAL *x, long x0, global REAL *restrict c_out, long c0,
                         global REAL *scratch)
{
    CYCLE_BEGIN
    b += b0, x += x0, c_out += c0;
    const int first = own - CLAST, final = ((until - 1) << CLAST) + CLAST; // residuals
    for (int m = first - count; from < until && m <= final + count; m++) {
        for (int s = 1; s <= count; s++) {
            const int l = m - s + 1, keep = s == count && l >= own && l < own_end;
            if (l < first - 1 - (count - s) || !HAVE_LAYER(l)) continue;
            RING_LAYERS(s - 1, l)
            const long to = RING_FROM(s, l, layer);
            const SUM by = step[s - 1];
#define KEEP(K, v)                                                                        \
    T_##K v_i = v;                                                                        \
    PUT_##K(v_i, ring, i + to);                                                           \
    if (keep) PUT_##K(v_i, x, i);
#define FIRST_STEP(K)                                                                     \
    {                                                                                     \
        T_##K c = 0, c_w = 0, c_e = 0;                                                    \
        ACROSS(K, GET_NOTHING)                                                            \
        T_##K c_behind = 0, c_ahead = 0;                                                  \
        FACE_SUMS(K)                                                                      \
        KEEP(K, OVER_##K(by, diagonal) * AT_##K(b, i))                                             \
    }
#define NEXT_STEP(K)                                                                      \
    {                                                                                     \
        RING_POINT(K)                                                                     \
        KEEP(K, c + OVER_##K(by, diagonal) * (AT_##K(b, i) - sum))                                 \
    }
            if (s == 1) {
                EACH_IN_LAYER(FIRST_STEP)
            } else {
                EACH_IN_LAYER(NEXT_STEP)
            }
        }
        const int l = m - count;
        if (l < first) continue;
        if (HAVE_LAYER(l)) {
            RING_LAYERS(count, l)
            const long to = RING_FROM(0, l, layer); // no step leaves anything there
#define RESIDUAL(K)                                                                       \
    {                                                                                     \
        RING_POINT(K)                                                                     \
        PUT_##K(AT_##K(b, i) - sum, ring, i + to);                                        \
    }
            EACH_IN_LAYER(RESIDUAL)
        }
        if (CLAST && !(l & 1)) continue; // the coarse layer needs another one
        const int jl = CLAST ? (l - 1) / 2 : l;
        if (jl < from || jl >= until) continue;
#define RESTRICT_FROM(K, dl, dy, dz, fine_row)                                            \
    if (HAVE_LAYER((jl << CLAST) + (dl))) {                                               \
        global const REAL *row = ring + RING_AT(0, (jl << CLAST) + (dl)) + nx * (fine_row); \
        sum = SHARE_##K(&P, w, jx, j, row, dy, dz, sum);                                  \
    }
#if AXES == 2
#define RESTRICT_LAYERS(K) \
    for (int d = -CY; d <= CY; d++) RESTRICT_FROM(K, d, d, 0, 0)
        const int jy = jl;
#else
#define RESTRICT_LAYERS(K)                                                                \
    for (int d = -CZ; d <= CZ; d++)                                                       \
        for (int dy = -CY; dy <= CY; dy++) {                                              \
            const int fy = beside(jy << CY, dy, ny, wraps & 2);                           \
            if (fy >= 0) RESTRICT_FROM(K, d, dy, d, fy)                                   \
        }
        const int jz = jl;
        for (int jy = 0; jy < cy; jy++)
#endif
        {
#if AXES == 2
            const int start = cx * jy;
#else
            const int start = cx * (jy + cy * jz);
#endif
#define RESTRICT(K)                                                                       \
    {                                                                                     \
        const int j = start + jx;                                                         \
        T_##K sum = 0;                                                                    \
        RESTRICT_LAYERS(K)                                                                \
        PUT_##K(sum, c_out, j);                                                           \
    }
            for (int jx = 0; jx < cx;) {
                if (BETWEEN_EDGES(jx)) {
                    jx = LAST_BETWEEN(jx);
                    RESTRICT(MANY)
                    jx += LANES;
                } else {
                    RESTRICT(ONE)
                    jx++;
                }
            }
        }
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
    CYCLE_BEGIN
    SUMMED(products)
    SUMMED(squares)
    b += b0, x += x0, e += e0, y += y0;
    for (int m = own - count; from < until && m < own_end + count; m++) {
        if (HAVE_LAYER(m)) {
            const int layer = LAYER_OF(m);
            const long here = RING_AT(0, m);
#if AXES == 2
            const int iy = layer, iz = 0, at = 0, start = layer * LAYER;
#else
            for (int iy = 0; iy < ny; iy++)
#endif
            {
#if AXES == 3
                const int iz = layer, at = nx * iy, start = layer * LAYER + at;
#endif
                const int odd_y = CY ? iy & 1 : 0, odd_z = CZ ? iz & 1 : 0;
                const int jy = iy >> CY, jz = iz >> CZ;
#define ADD_CORRECTION(K)                                                                 \
    {                                                                                     \
        T_##K odd, even = CORRECTION_##K(&P, w, jx, jy, jz, odd_y, odd_z, e, &odd);       \
        PUT_PAIR_##K(&P, jx, 1, even, odd, 1, x + start, ring + here + at);               \
    }
                for (int jx = 0; jx < cx;) {
                    if (BETWEEN_EDGES(jx)) {
                        jx = LAST_BETWEEN(jx);
                        ADD_CORRECTION(MANY)
                        jx += LANES;
                    } else {
                        ADD_CORRECTION(ONE)
                        jx++;
                    }
                }
            }
        }
        for (int s = 1; s <= count; s++) {
            const int l = m - s, wanted = count - s;
            if (l < own - wanted || l >= own_end + wanted || !HAVE_LAYER(l)) continue;
            RING_LAYERS(s - 1, l)
            const long to = RING_FROM(s, l, layer);
            const SUM by = step[s - 1];
#define STEP_IN_RING(K)                                                                   \
    {                                                                                     \
        RING_POINT(K)                                                                     \
        PUT_##K(c + OVER_##K(by, diagonal) * (AT_##K(b, i) - sum), ring, i + to);                  \
    }
#define LAST_STEP(K)                                                                      \
    {                                                                                     \
        RING_POINT(K)                                                                     \
        const T_##K b_i = AT_##K(b, i), y_i = c + OVER_##K(by, diagonal) * (b_i - sum);  \
        PUT_##K(y_i, y, i);                                                               \
        if (fresh == i) {                                                                 \
            ADD_PRODUCT_##K(products, b_i, y_i);                                          \
            ADD_PRODUCT_##K(squares, b_i, b_i);                                           \
        }                                                                                 \
        for (int k = fresh; fresh > i && k < end - 1; k++) {                              \
            ADD_PRODUCT_ONE(products, (SUM)b[k], (SUM)y[k]);                              \
            ADD_PRODUCT_ONE(squares, (SUM)b[k], (SUM)b[k]);                               \
        }                                                                                 \
    }
            if (s < count) {
                EACH_IN_LAYER(STEP_IN_RING)
            } else {
                EACH_IN_LAYER(LAST_STEP)
            }
        }
    }
    if (sums) part[get_group_id(0)] = BOTH(SUM_OF(products), SUM_OF(squares));
}

#endif
