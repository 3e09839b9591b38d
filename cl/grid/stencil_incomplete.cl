// stencil_incomplete.cl - the incomplete Poisson inverse on grids.
// Host: src/grid/stencil_relax.c. Defines, points and lines are those of sweep.clh.
//
// SCALAR    D^-1 is the number `inverse`, else the vector d
// WRAPS     some axis is periodic
// LANES     1 where vectors may start anywhere: the same arithmetic, to the bit
//
// y := alpha M x + beta y with M = K' D^-1 K, K = I - L D^-1, L the strict lower triangle of A: the
// neighbours with smaller numbers. The vector in the middle, D^-1 K x, is not stored: each point
// forms it for itself (`here`) and for its neighbours with larger numbers, and of it
// y = here - D^-1 L' D^-1 K x.

#define ROW_MARGIN 2 // the point after a vector is inside, too: its lower neighbours are asked for
#include "common/kry.clh"
#include "grid/sweep.clh"

#ifdef SCALAR
enum { IS_SCALAR = 1 };
#else
enum { IS_SCALAR = 0 };
#endif
#ifdef WRAPS
enum { SOME_AXIS_WRAPS = 1 };
#else
enum { SOME_AXIS_WRAPS = 0 };
#endif

typedef struct inverse_poisson {
    grid G;
    SUM inverse;
    global const REAL *d, *x;
} inverse_poisson;

INLINED points inverse_at(const int whole, const inverse_poisson *M, int j)
{
    return IS_SCALAR ? (points)M->inverse : load(whole, M->d, j);
}

// D^-1 x
INLINED points scaled_at(const int whole, const inverse_poisson *M, int j)
{
    return inverse_at(whole, M, j) * load(whole, M->x, j);
}

// The faces towards EAST, NORTH, ABOVE or AHEAD.
INLINED points face_at(const int whole, const inverse_poisson *M, const int k, int j)
{
    return k == EAST    ? high_face(whole, M->G.fx, M->G.wx, j)
           : k == NORTH ? high_face(whole, M->G.fy, M->G.wy, j)
                        : high_face(whole, M->G.fz, M->G.wz, j);
}

// ---- a point by itself ----
//
// Where a point is: number j, the jx-th on the first axis and so on.

// -L D^-1 x of point j, which is number `at` of the axis whose high side is k: of the point before it.
INLINED points from_before(const int whole, const inverse_poisson *M, const int k, int j, int at)
{
    const int there = j - axis_stride(&M->G, k);
    return at > 0 ? face_at(whole, M, k, there) * scaled_at(whole, M, there) : (points)0;
}

// At the last point of a periodic axis, what the first one adds to it; elsewhere 0.
INLINED points from_first(const int whole, const inverse_poisson *M, const int k, int j, int at)
{
    const int size = axis_size(&M->G, k);
    return side_of(&M->G, k) == PERIODIC && at == size - 1 && size > 1
               ? face_at(whole, M, k, j) * scaled_at(whole, M, j - axis_stride(&M->G, k) * (size - 1))
               : (points)0;
}

// -L D^-1 x of point j along an axis.
INLINED points from_lower(const int whole, const inverse_poisson *M, const int k, int j, int at)
{
    const points before = from_before(whole, M, k, j, at);
    return SOME_AXIS_WRAPS ? before + from_first(whole, M, k, j, at) : before;
}

#ifdef KRY_CPU
INLINED points from_west(const int whole, const inverse_poisson *M, int j, int jx)
{
    return whole ? from_before(whole, M, EAST, j, jx) : from_lower(whole, M, EAST, j, jx);
}
#else
INLINED SUM one_there(int is, points v) { return is ? first_of(v) : (SUM)0; }

// The faces west of points from number j on, where f are those east of them; and D^-1 x one point further west than s. `west` is 0
// where there is no point.
INLINED points faces_west(const inverse_poisson *M, int j, int west, points f)
{
    return IS_VARIABLE ? shift_up((SUM)M->G.fx[j - west], f) : (points)M->G.wx;
}
INLINED points scaled_west(const inverse_poisson *M, int j, int west, points s)
{
    return shift_up(one_there(west, scaled_at(0, M, j - west)), s);
}
INLINED points from_west(const int whole, const inverse_poisson *M, int j, int jx)
{
    if (LANES == 1 || !whole) return from_lower(whole, M, EAST, j, jx);
    const points west = faces_west(M, j, jx > 0, face_at(1, M, EAST, j)) * scaled_west(M, j, jx > 0, scaled_at(1, M, j));
    if (!SOME_AXIS_WRAPS) return west;
    return shift_down((points)0, first_of(from_first(0, M, EAST, j + LANES - 1, jx + LANES - 1))) + west;
}
#endif

// K x at point j, and D^-1 K x
INLINED points lowered(const int whole, const inverse_poisson *M, int j, int jx, int jy, int jz)
{
    points sum = load(whole, M->x, j) + from_west(whole, M, j, jx) + from_lower(whole, M, NORTH, j, jy);
    if (AXES == 3) sum += from_lower(whole, M, ABOVE, j, jz);
    return sum;
}
INLINED points half_way(const int whole, const inverse_poisson *M, int j, int jx, int jy, int jz)
{
    return inverse_at(whole, M, j) * lowered(whole, M, j, jx, jy, jz);
}

// -L' of that at point j, which is the first one of a periodic axis: of the last one.
INLINED points from_last(const int whole, const inverse_poisson *M, const int k, int j, int jx, int jy, int jz)
{
    const int size = axis_size(&M->G, k), last = j + axis_stride(&M->G, k) * (size - 1);
    const int at = k == EAST ? jx : k == NORTH ? jy : jz;
    if (side_of(&M->G, k) != PERIODIC || at != 0 || size == 1) return 0;
    return face_at(whole, M, k, last) * half_way(whole, M, last, k == EAST ? size - 1 : jx, k == NORTH ? size - 1 : jy,
                                                 k == ABOVE ? size - 1 : jz);
}

// y_i := by y_i + old y
INLINED void put_mixed(const line *at, SUM by, SUM old, points y_i, global REAL *y)
{
    write_at(at, y, old == 0 ? by * y_i : by * y_i + old * read_at(at, y));
}

#ifdef KRY_CPU

// -L' D^-1 K x along an axis: of the point after, or of the last one for the first.
INLINED points from_upper(const int whole, const inverse_poisson *M, const int k, int i, int ix, int iy, int iz)
{
    const int at = k == EAST ? ix : k == NORTH ? iy : iz;
    points after = 0;
    if (at < axis_size(&M->G, k) - 1)
        after = face_at(whole, M, k, i) * half_way(whole, M, i + axis_stride(&M->G, k), k == EAST ? ix + 1 : ix,
                                                   k == NORTH ? iy + 1 : iy, k == ABOVE ? iz + 1 : iz);
    return SOME_AXIS_WRAPS && !(whole && k == EAST) ? after + from_last(whole, M, k, i, ix, iy, iz) : after;
}

// y := by M x + old y; with `sums`, xy and xx are the sums of x.y and x.x, of by 1 and old 0.
INLINED void multiply(const inverse_poisson *M, SUM by, SUM old, global REAL *y, int sums, totals *xy, totals *xx)
{
    const factor nothing = { OF_NOTHING, 0, 0, 0 };
    line at;
    FOR_POINTS(at, &M->G, &nothing)
    {
        const int whole = at.whole, i = at.i, iz = AXES == 2 ? 0 : at.layer;
        const points x_i = read_at(&at, M->x);
        points upper = from_upper(whole, M, EAST, i, at.ix, at.iy, iz) + from_upper(whole, M, NORTH, i, at.ix, at.iy, iz);
        if (AXES == 3) upper += from_upper(whole, M, ABOVE, i, at.ix, at.iy, iz);
        const points y_i =
            inverse_at(whole, M, i) * lowered(whole, M, i, at.ix, at.iy, iz) + inverse_at(whole, M, i) * upper;
        if (sums) {
            add_product(whole, xy, x_i, y_i);
            add_product(whole, xx, x_i, x_i);
        }
        put_mixed(&at, by, old, y_i, y);
    }
}

#else

// ---- the march ----
//
// A step has from the one before it, in registers: x, D^-1 K x, d and the faces east of its points,
// and D^-1 x behind the neighbours east and north. It loads, for LANES points (v: vectors, s: single
// numbers next to one):
//
//             one weight for all       faces and d of their own
//   plane     1 v,  2 s                4 v,  6 s
//   space     3 v,  4 s               12 v, 12 s
//
// Of these v, those of other rows in space are in the caches, and so are all s.
//
// A load of what is not there goes to something that is, and 0 replaces what is made of it: no
// branch keeps loads apart. For the same reason the sums are formed, wanted or not.

typedef struct march {
    int west, east, south, north, behind; // steps to the points there, 0 where there are none
    points c, d_c, f_e, here, s_nb;       // x, D^-1, the faces east, D^-1 K x, D^-1 x behind the points north
    SUM s_eb;                             // D^-1 x behind the point east
} march;

INLINED points there(int is, points v) { return is ? v : (points)0; }
INLINED SUM one_face(const inverse_poisson *M, const int k, int j) { return first_of(face_at(0, M, k, j)); }

// Add the product of what is there.
INLINED void add_product_there(int is, totals *t, points u, points v)
{
#if !defined(KRY_FP64)
    add_product(1, t, there(is, u), v);
#elif LANES > 1
    const lanes_of_total product = TO_LANES_OF_TOTAL(u) * TO_LANES_OF_TOTAL(v);
    t->one += is ? TOTAL_OF_LANES(product) : 0;
#else
    const ACC product = (ACC)u * (ACC)v;
    t->one += is ? product : 0;
#endif
}

INLINED void march_begin(const inverse_poisson *M, const line *at, march *m)
{
    const int nx = M->G.nx, i = at->i, jy = AXES == 2 ? at->layer : at->iy, jz = AXES == 2 ? 0 : at->layer;
    m->west = at->ix > 0, m->east = at->ix < nx - LANES ? LANES : 0;
    m->behind = at->layer > 0 ? layer_size(&M->G) : 0;
    m->south = at->iy > 0 ? nx : 0, m->north = at->iy < M->G.ny - 1 ? nx : 0;
    m->c = load(1, M->x, i), m->d_c = inverse_at(1, M, i), m->f_e = face_at(1, M, EAST, i);
    m->here = half_way(1, M, i, at->ix, jy, jz);
    m->s_eb = one_there(m->behind > 0, scaled_at(0, M, i + m->east - m->behind));
    if (AXES == 3) m->s_nb = there(m->behind > 0, scaled_at(1, M, i + m->north - m->behind));
}

// x_j and what neighbours across periodic sides add to it in D^-1 K x at point j, the jx-th on the first axis and so on: by themselves,
// so that branches do not part the rest.
INLINED points with_wrapped(const int whole, const inverse_poisson *M, points x_j, int j, int jx, int jy, int layer)
{
    if (!SOME_AXIS_WRAPS) return x_j;
    if (whole)
        x_j += shift_down((points)0, first_of(from_first(0, M, EAST, j + LANES - 1, jx + LANES - 1)));
    else
        x_j += from_first(0, M, EAST, j, jx);
    if (AXES == 3) x_j += from_first(whole, M, NORTH, j, jy);
    return x_j + from_first(whole, M, AHEAD, j, layer);
}

// y_i of the points at which `at` stands; x_a: x of the points ahead. Nothing is changed unless the points are there.
INLINED void march_step(const inverse_poisson *M, const line *at, march *m, points x_a, int is, SUM by, SUM old,
                        global REAL *y, totals *xy, totals *xx)
{
    const int ix = at->ix, iy = at->iy, layer = at->layer, i = at->i, west = m->west, south = m->south;
    const int more = layer < layers_of(&M->G) - 1, a = i + (more ? layer_size(&M->G) : 0), e = i + m->east;

    const points d_a = inverse_at(1, M, a), f_ea = face_at(1, M, EAST, a), s_a = d_a * x_a;
    const points f_a = face_at(1, M, AHEAD, i), s = m->d_c * m->c;
    points sum = with_wrapped(1, M, x_a, a, ix, iy, layer + 1) + faces_west(M, a, west, f_ea) * scaled_west(M, a, west, s_a);
    if (AXES == 3) sum += face_at(1, M, NORTH, a - south) * there(south > 0, scaled_at(1, M, a - south));
    sum += f_a * s;
    const points h_a = d_a * sum;

    const SUM d_e = first_of(inverse_at(0, M, e)), x_e = (SUM)M->x[e], s_e = d_e * x_e;
    SUM sum_e = first_of(with_wrapped(0, M, (points)x_e, e, ix + LANES, iy, layer)) + last_of(m->f_e) * last_of(s);
    if (AXES == 3) sum_e += one_face(M, NORTH, e - south) * one_there(south > 0, scaled_at(0, M, e - south));
    sum_e += one_face(M, AHEAD, e - m->behind) * m->s_eb;
    const SUM h_e = d_e * sum_e;

    points f_n = 0, h_n = 0;
    if (AXES == 3) {
        const int n = i + m->north;
        f_n = face_at(1, M, NORTH, i);
        const points d_n = inverse_at(1, M, n), x_n = load(1, M->x, n), s_n = d_n * x_n;
        points sum_n = with_wrapped(1, M, x_n, n, ix, iy + 1, layer) +
                       faces_west(M, n, west, face_at(1, M, EAST, n)) * scaled_west(M, n, west, s_n);
        sum_n += f_n * s;
        sum_n += face_at(1, M, ABOVE, n - m->behind) * m->s_nb;
        h_n = d_n * sum_n;
        m->s_nb = s_n;
    }

    const points h_east = shift_down(m->here, m->east > 0 ? h_e : (SUM)0), h_north = there(m->north > 0, h_n), h_ahead = there(more, h_a);
    points upper;
    if (SOME_AXIS_WRAPS) {
        const int jy = AXES == 2 ? layer : iy, jz = AXES == 2 ? 0 : layer;
        upper = shift_up(first_of(from_last(0, M, EAST, i, ix, jy, jz)), (points)0);
        if (AXES == 3) upper += from_last(1, M, NORTH, i, ix, jy, jz);
        upper += from_last(1, M, AHEAD, i, ix, jy, jz);
        upper += m->f_e * h_east;
        if (AXES == 3) upper += f_n * h_north;
        upper += f_a * h_ahead;
    } else if (AXES == 3) {
        upper = m->f_e * h_east + f_n * h_north + f_a * h_ahead;
    } else {
        upper = m->f_e * h_east + f_a * h_ahead;
    }
    const points y_i = m->here + m->d_c * upper;
    add_product_there(is, xy, m->c, y_i);
    add_product_there(is, xx, m->c, m->c);
    if (is) put_mixed(at, by, old, y_i, y);
    m->c = x_a, m->d_c = d_a, m->f_e = f_ea, m->here = h_a, m->s_eb = s_e, m->behind = layer_size(&M->G);
}

// x of the points `by` layers ahead, or of the last ones of the column.
INLINED points x_ahead(const inverse_poisson *M, const line *at, int end, int by)
{
    return load(1, M->x, at->i + layer_size(&M->G) * (min(at->layer + by, end) - at->layer));
}

// y := by M x + old y, and xy and xx the sums of x.y and x.x, of by 1 and old 0. Without faces to load there is little on the way:
// two steps at once then. Where the second is beyond the end it goes over the same points again, and changes nothing.
INLINED void multiply(const inverse_poisson *M, SUM by, SUM old, global REAL *y, int sums, totals *xy, totals *xx)
{
    const factor nothing = { OF_NOTHING, 0, 0, 0 };
    const grid *G = &M->G;
    const int last = layers_of(G) - 1;
    for (int nth = sweep_begin(); nth < G->work; nth += sweep_step()) {
        line at;
        march m;
        line_begin(G, &nothing, nth, &at);
        if (!line_has(&at)) continue;
        march_begin(M, &at, &m);
        ROLLED for (; line_has(&at); line_next(G, &at))
        {
            if (IS_VARIABLE) {
                const points x_1 = load(1, M->x, at.layer < last ? at.i + layer_size(G) : at.i);
                march_step(M, &at, &m, x_1, 1, by, old, y, xy, xx);
            } else {
                const points x_1 = x_ahead(M, &at, min(at.end, last), 1), x_2 = x_ahead(M, &at, min(at.end, last), 2);
                march_step(M, &at, &m, x_1, 1, by, old, y, xy, xx);
                const int two = at.layer + 1 < at.end;
                at.layer += two, at.i += two ? layer_size(G) : 0;
                march_step(M, &at, &m, x_2, two, by, old, y, xy, xx);
            }
        }
    }
}

#endif

// y := alpha M x + beta y; with beta == 0, y is not read. With `sums`, part[group] := the pair
// (x.y, x.x), of alpha 1 and beta 0. 2 words, and 1 more with d.
kernel void stencil_incomplete(GRID, ACC alpha, global const REAL *restrict x, long x0, ACC beta,
                               global REAL *restrict y, long y0, ACC inverse,
                               global const REAL *restrict d, long d0, int sums,
                               global TOTAL *restrict part)
{
    local TOTAL2 lane[WG];
    const inverse_poisson M = { GRID_PASS, (SUM)inverse, d + d0, x + x0 };
    totals xy = NO_TOTALS_YET, xx = NO_TOTALS_YET;
    multiply(&M, (SUM)alpha, (SUM)beta, y + y0, sums, &xy, &xx);
    const TOTAL2 total = group_sum2(BOTH(total_of_points(xy), total_of_points(xx)), lane);
    if (get_local_id(0) == 0 && sums) ((global TOTAL2 *)part)[get_group_id(0)] = total;
}
