// box_setup.cl - from the stencil of a grid: the interpolation from the next coarser one, after Dendy, and
// the stencil there. Host: src/mg/box_setup.c. Entries of A are those of box_entry.clh, weights lie as transfer.clh
// says. Without SHARED a work-item does a coarse point, in an order of its own sums, so that the bits do not depend on groups.
//
// SHARED  for GPUs and grids of few points: several work-items compute the weights, or the row, of one coarse point, because
//         one alone would wait for each read in turn. The result has the same bits
//
// J. E. Dendy, Black box multigrid, J. Comput. Phys. 48 (1982) 366-386, doi:10.1016/0021-9991(82)90057-2.

#include "common/kry.clh"
#if defined(KRY_CPU) && !defined(FINE_ENDS) && !defined(COARSE_ENDS)
#define IN_VECTORS
#endif
#include "multigrid/box.clh"
#include "multigrid/transfer.clh"
#include "multigrid/box_entry.clh"

#pragma kry part weights and stencils

// ---- coarse points ----

#ifdef IN_VECTORS
// Point j of a group's share, or the vector that it is in; return the point behind. What is left of a row and would not
// fill a vector is done with some that are done already.
INLINED int take_points(const transfer *P, int j, int begin, int end, point *p)
{
    const int row = j - j % P->cx, inner_end = min(row + P->cx - EDGE, end), first = min(j, inner_end - VW);
    p->many = j >= row + EDGE && j < inner_end && first >= max(row + EDGE, begin);
    p->x = (p->many ? first : j) - row, p->y = j / P->cx % P->cy, p->z = j / (P->cx * P->cy);
    return p->many ? first + VW : j + 1;
}
#else
// The points of a row whose numbers shall be there, and the k-th of all such points.
INLINED int setup_columns(const transfer *P) { return HAS_COARSE_ENDS ? min(P->cx, ENDS) : P->cx; }
INLINED void take_point_to_set_up(const transfer *P, int k, point *p)
{
    const int columns = setup_columns(P), column = k % columns, row = k / columns;
    p->x = column < columns / 2 ? column : column + P->cx - columns;
    p->y = row % P->cy, p->z = row / P->cy, p->many = 0;
}
#endif

// ---- interpolation ----

// Inner loops read numbers that do not depend on each other: unrolled, a GPU waits once for all of them.
#ifdef SHARED // else compilers would take too long
#define ROW_AT_ONCE UNROLLED
#else
#define ROW_AT_ONCE ROLLED_ENDS
#endif

// s := the stencil of the fine point that is odd along the axes of `odd`, from the coarse point c on, collapsed onto these
// axes. Returns what its weights are multiplied by: where the row sums to zero, they sum to one.
INLINED number collapse(const fine_grid *A, const transfer *P, const point *c, int odd, SUM tiny, number *s)
{
    const int mx = odd & 1, my = odd >> 1 & 1, mz = odd >> 2 & 1;
    const point i = { (c->x << P->by_x) + mx, (c->y << P->by_y) + my, (c->z << P->by_z) + mz, c->many };
    number total = 0, own = 0;
    ROLLED_ENDS for (int k = 0; k < 27; k++) s[k] = 0;
    ROLLED_ENDS for (int dz = -DZ; dz <= DZ; dz++)
        ROLLED_ENDS for (int dy = -1; dy <= 1; dy++)
            ROW_AT_ONCE for (int dx = -1; dx <= 1; dx++) {
                const number value = entry(A, &i, dx, dy, dz);
                s[13 + mx * dx + 3 * my * dy + 9 * mz * dz] += value;
                if (dx == 0 && dy == 0 && dz == 0) own = value;
                total += value;
            }
#ifdef FLUX // the diagonal once more, from what the row adds up to
    const number row = fine_number_at(A->a + (size_t)HALF * A->work, number_of(A->nx, A->ny, &i), i.many);
    s[13] += row - total, own += row - total, total = row;
#endif
    const number by = total <= tiny * own ? s[13] - total : s[13];
    return by != 0 ? -1 / by : (number)0;
}

// The weight there of the coarse point that is on the high side of c along the axes of p: what the collapsed stencil says of
// neighbours that are odd along fewer axes, those of `odd` less t, is said of the coarse points that these have their values from.
INLINED void weigh(const transfer *P, const point *c, int odd, int p, const number *s, number by, global REAL *w)
{
    const int mx = odd & 1, my = odd >> 1 & 1, mz = odd >> 2 & 1;
    const int to_x = p & 1 ? beside(c->x, 1, P->cx, P->wraps & 1) : c->x;
    const int to_y = p & 2 ? beside(c->y, 1, P->cy, P->wraps & 2) : c->y;
    const int to_z = p & 4 ? beside(c->z, 1, P->cz, P->wraps & 4) : c->z;
    if (to_x < 0 || to_y < 0 || to_z < 0) return;
    const int to = to_x + P->cx * (to_y + P->cy * to_z);
    const int dx = p & 1 ? mx : -mx, dy = p & 2 ? my : -my, dz = p & 4 ? mz : -mz;
    number sum = s[13 + dx + 3 * dy + 9 * dz];
    ROLLED_ENDS for (int t = 1; t < odd; t++) {
        if (t & ~odd) continue;
        const int tx = t & 1, ty = t >> 1 & 1, tz = t >> 2;
        sum += s[13 + tx * dx + 3 * ty * dy + 9 * tz * dz] *
               number_at_point(w + weights_at(P, dx * (tx - 1), dy * (ty - 1), dz * (tz - 1)), to, c->many);
    }
    put_number(by * sum, w + weights_at(P, -dx, -dy, -dz), to, c->many);
}

INLINED int axes_in(int mask) { return (mask & 1) + (mask >> 1 & 1) + (mask >> 2); }

// Whether there is a fine point that is odd along the axes of `odd`, `odds` of the coarsened ones, from c on.
INLINED int has_odd(const transfer *P, const point *c, int odd, int odds)
{
    const int x = odd & 1, y = odd >> 1 & 1, z = odd >> 2;
    if (odd & ~(P->by_x + 2 * P->by_y + 4 * P->by_z) || axes_in(odd) != odds) return 0;
    return (c->x << P->by_x) + x < P->nx && (c->y << P->by_y) + y < P->ny && (c->z << P->by_z) + z < P->nz;
}

#ifndef SHARED

// Find the weights of a coarse point in all fine points that are odd along `odds` axes.
INLINED void weigh_around(const fine_grid *A, const transfer *P, const point *c, int odds, SUM tiny, global REAL *w)
{
    ROLLED_ENDS for (int odd = 1; odd < 8; odd++) {
        number s[27];
        if (!has_odd(P, c, odd, odds)) continue;
        const number by = collapse(A, P, c, odd, tiny, s);
        ROLLED_ENDS for (int p = 0; p < 8; p++)
            if (!(p & ~odd)) weigh(P, c, odd, p, s, by, w);
    }
}

// The weights in the points that are odd along `odds` axes; those in points that are odd along fewer of them
// are there. All weights are 0 at first.
kernel void box_weights(FINE_PARAMS, int odds, ACC tiny, global REAL *w)
{
    const fine_grid A = FINE_PASS;
    const transfer P = COARSER_GRID(wraps);
    point c;
#ifdef IN_VECTORS
    const int begin = (int)chunk_at(P.coarse, GROUP_HERE), end = (int)chunk_at(P.coarse, GROUP_HERE + 1);
    for (int j = begin; j < end;) {
        j = take_points(&P, j, begin, end, &c);
        weigh_around(&A, &P, &c, odds, (SUM)tiny, w);
    }
#else
    FOR_EACH(k, setup_columns(&P) * P.cy * P.cz)
    {
        take_point_to_set_up(&P, (int)k, &c);
        weigh_around(&A, &P, &c, odds, (SUM)tiny, w);
    }
#endif
}

#else

// The weights in the points that are odd along `odds` axes, as without SHARED; each work-item makes one: of the n-th kind of such
// points from the coarse point on the high side along the axes of p.
kernel void box_weights(FINE_PARAMS, int odds, ACC tiny, global REAL *w)
{
    const fine_grid A = FINE_PASS;
    const transfer P = COARSER_GRID(wraps);
    const long points = setup_columns(&P) * P.cy * P.cz, kinds = odds == 3 ? 1 : 3;
    FOR_EACH(k, points * (kinds << odds))
    {
        const int n = (int)(k / points % kinds), deep = (int)(k / points / kinds);
        const int odd = odds == 1 ? 1 << n : odds == 2 ? 7 ^ 1 << n : 7;
        point c;
        number s[27];
        int p = 0, bits = deep;
        take_point_to_set_up(&P, (int)(k % points), &c);
        if (!has_odd(&P, &c, odd, odds)) continue;
        for (int a = 1; a < 8; a <<= 1)
            if (odd & a) p |= bits & 1 ? a : 0, bits >>= 1;
        const number by = collapse(&A, &P, &c, odd, (SUM)tiny, s);
        weigh(&P, &c, odd, p, s, by, w);
    }
}

#endif

// ---- P'A P ----

enum { NOWHERE = 9 };

// How far from coarse point I the fine point is that lies `s` from coarse point I + d, in steps on the fine
// grid. touching: nothing is between I and I + d.
int steps(int coarsened, int touching, int d, int s)
{
    if (d == 0 || !coarsened) return d + s;
    if (touching) return s == 0 ? d : NOWHERE;
    return abs(2 * d + s) <= 2 ? 2 * d + s : NOWHERE;
}

// What the fine point at a distance from coarse point j has from it.
INLINED number from_own_point(const transfer *P, global const REAL *w, int sx, int sy, int sz, int j, int many)
{
    return is_own(P, sx, sy, sz) ? (number)1 : number_at_point(w + weights_at(P, sx, sy, sz), j, many);
}

#ifndef SHARED // each number of A is read once

#ifdef KRY_CPU
#define AT_ONCE ROLLED_ENDS
#else
#define AT_ONCE UNROLLED
#endif

// t: layer oz of A times the column of P that belongs to coarse point j, whose own fine point is f; two
// points to each side.
INLINED void column(const fine_grid *A, const transfer *P, int oz, const point *f, int j, global const REAL *w, number *t)
{
    ROLLED_ENDS for (int k = 0; k < 25; k++) t[k] = 0;
    ROLLED_ENDS for (int sz = -P->by_z; sz <= P->by_z; sz++)
        ROLLED_ENDS for (int sy = -P->by_y; sy <= P->by_y; sy++)
            ROLLED_ENDS for (int sx = -P->by_x; sx <= P->by_x; sx++) {
                const point i = { beside(f->x, sx, P->nx, P->wraps & 1), beside(f->y, sy, P->ny, P->wraps & 2),
                                  beside(f->z, sz, P->nz, P->wraps & 4), f->many };
                const int dz = oz - sz;
                if (abs(dz) > DZ || i.x < 0 || i.y < 0 || i.z < 0) continue;
                const number p = from_own_point(P, w, sx, sy, sz, j, f->many);
                AT_ONCE for (int dy = -1; dy <= 1; dy++)
                    AT_ONCE for (int dx = -1; dx <= 1; dx++)
                        t[12 + sx + dx + 5 * (sy + dy)] += p * entry(A, &i, dx, dy, dz);
            }
}

// The row of the coarse stencil at coarse point q: that times the columns of the coarse points that it touches. Only on
// axes that are periodic and of odd size do two of them touch.
INLINED void galerkin(const fine_grid *A, const transfer *P, const point *q, global const REAL *w, global REAL *c)
{
    const int j = number_of(P->cx, P->cy, q);
    const point f = { q->x << P->by_x, q->y << P->by_y, q->z << P->by_z, q->many };
    const int touch_w = q->x == 0 && P->nx % 2, touch_e = f.x + 1 == P->nx;
    const int touch_s = q->y == 0 && P->ny % 2, touch_n = f.y + 1 == P->ny;
    const int touch_a = f.z + 1 == P->nz;
    number sum[HALF], t[25];
    ROLLED_ENDS for (int k = 0; k < HALF; k++) sum[k] = 0;
    ROLLED_ENDS for (int oz = -P->by_z; oz <= (AXES == 3 ? 1 + P->by_z : 0); oz++) {
        column(A, P, oz, &f, j, w, t);
        ROLLED_ENDS for (int k = 0; k < HALF; k++) {
            const int dx = (k + 1) % 3 - 1, dy = (k + 4) / 3 % 3 - 1, dz = (k + 4) / 9;
            const int to_x = beside(q->x, dx, P->cx, P->wraps & 1);
            const int to_y = beside(q->y, dy, P->cy, P->wraps & 2);
            const int to_z = beside(q->z, dz, P->cz, P->wraps & 4);
            if (to_x < 0 || to_y < 0 || to_z < 0) continue;
            const int to = (HAS_COARSE_ENDS ? column_of(to_x, P->cx) : to_x) + P->cx * (to_y + P->cy * to_z);
            ROLLED_ENDS for (int sz = -P->by_z; sz <= P->by_z; sz++) {
                if (steps(P->by_z, touch_a, dz, sz) != oz) continue;
                AT_ONCE for (int sy = -P->by_y; sy <= P->by_y; sy++) {
                    const int oy = steps(P->by_y, dy < 0 ? touch_s : touch_n, dy, sy);
                    if (oy == NOWHERE) continue;
                    AT_ONCE for (int sx = -P->by_x; sx <= P->by_x; sx++) {
                        const int ox = steps(P->by_x, dx < 0 ? touch_w : touch_e, dx, sx);
                        if (ox == NOWHERE) continue;
                        sum[k] += t[12 + ox + 5 * oy] * from_own_point(P, w, sx, sy, sz, to, q->many);
                    }
                }
            }
        }
    }
    ROLLED_ENDS for (int k = 0; k < HALF; k++) put_number(sum[k], c + (size_t)k * P->coarse, j, q->many);
}

// c := the stencil of the coarse grid
kernel void box_galerkin(FINE_PARAMS, global const REAL *restrict w, global REAL *restrict c)
{
    const fine_grid A = FINE_PASS;
    const transfer P = COARSER_GRID(wraps);
    point q;
#ifdef IN_VECTORS
    const int begin = (int)chunk_at(P.coarse, GROUP_HERE), end = (int)chunk_at(P.coarse, GROUP_HERE + 1);
    for (int j = begin; j < end;) {
        j = take_points(&P, j, begin, end, &q);
        galerkin(&A, &P, &q, w, c);
    }
#else
    FOR_EACH(k, setup_columns(&P) * P.cy * P.cz)
    {
        take_point_to_set_up(&P, (int)k, &q);
        galerkin(&A, &P, &q, w, c);
    }
#endif
}

#else // work-items share a coarse point, and each sums up what it makes: the same sums in the same order

enum { AROUND = 5, LAYERS = AXES == 3 ? 4 : 1, BELOW = AXES == 3 }; // fine points that a column of A P is kept of: BELOW layers under
                                                               // that of the coarse point, two to either side of it
enum { COLUMN = AROUND * AROUND * LAYERS };

// A times the column of P that belongs to coarse point j, whose own fine point is f, at the k-th fine point of COLUMN.
INLINED SUM column_at(const fine_grid *A, const transfer *P, const point *f, int j, global const REAL *w, int k)
{
    const int ox = k % AROUND - 2, oy = k / AROUND % AROUND - 2, oz = k / (AROUND * AROUND) - BELOW;
    SUM sum = 0;
    NOT_UNROLLED for (int sz = -P->by_z; sz <= P->by_z; sz++)
        UNROLLED for (int sy = -P->by_y; sy <= P->by_y; sy++)
            UNROLLED for (int sx = -P->by_x; sx <= P->by_x; sx++) {
                const int dx = ox - sx, dy = oy - sy, dz = oz - sz;
                const point i = { beside(f->x, sx, P->nx, P->wraps & 1), beside(f->y, sy, P->ny, P->wraps & 2),
                                  beside(f->z, sz, P->nz, P->wraps & 4), 0 };
                if (abs(dx) > 1 || abs(dy) > 1 || abs(dz) > DZ || i.x < 0 || i.y < 0 || i.z < 0) continue;
                sum += from_own_point(P, w, sx, sy, sz, j, 0) * entry(A, &i, dx, dy, dz);
            }
    return sum;
}

// The coupling of coarse point q, number j, in slot k: what is in t, the column of A P of q, times the column of P of the point that it
// touches. Only on axes that are periodic and of odd size do two of them touch.
INLINED SUM coupling(const transfer *P, const point *q, global const REAL *w, local const SUM *t, int k)
{
    const int fx = q->x << P->by_x, fy = q->y << P->by_y, fz = q->z << P->by_z;
    const int dx = (k + 1) % 3 - 1, dy = (k + 4) / 3 % 3 - 1, dz = (k + 4) / 9;
    const int touch_x = dx < 0 ? q->x == 0 && P->nx % 2 : fx + 1 == P->nx;
    const int touch_y = dy < 0 ? q->y == 0 && P->ny % 2 : fy + 1 == P->ny, touch_z = fz + 1 == P->nz;
    const int to_x = beside(q->x, dx, P->cx, P->wraps & 1), to_y = beside(q->y, dy, P->cy, P->wraps & 2);
    const int to_z = beside(q->z, dz, P->cz, P->wraps & 4);
    SUM sum = 0;
    if (to_x < 0 || to_y < 0 || to_z < 0) return 0;
    const int to = (HAS_COARSE_ENDS ? column_of(to_x, P->cx) : to_x) + P->cx * (to_y + P->cy * to_z);
    NOT_UNROLLED for (int sz = -P->by_z; sz <= P->by_z; sz++)
        UNROLLED for (int sy = -P->by_y; sy <= P->by_y; sy++)
            UNROLLED for (int sx = -P->by_x; sx <= P->by_x; sx++) {
                const int ox = steps(P->by_x, touch_x, dx, sx), oy = steps(P->by_y, touch_y, dy, sy);
                const int oz = steps(P->by_z, touch_z, dz, sz);
                if (ox == NOWHERE || oy == NOWHERE || oz == NOWHERE) continue;
                sum += t[ox + 2 + AROUND * (oy + 2 + AROUND * (oz + BELOW))] * from_own_point(P, w, sx, sy, sz, to, 0);
            }
    return sum;
}

enum { TEAM = WG < 32 ? WG : 32, TEAMS = WG / TEAM }; // work-items of a coarse point, such points of a group

// c := the stencil of the coarse grid
kernel void box_galerkin(FINE_PARAMS, global const REAL *restrict w, global REAL *restrict c)
{
    local SUM columns[TEAMS][COLUMN];
    const fine_grid A = FINE_PASS;
    const transfer P = COARSER_GRID(wraps);
    const int points = setup_columns(&P) * P.cy * P.cz, team = get_local_id(0) / TEAM, mate = get_local_id(0) % TEAM;
    for (int first = (int)get_group_id(0) * TEAMS; first < points; first += (int)get_num_groups(0) * TEAMS) {
        const int here = first + team < points;
        point q;
        take_point_to_set_up(&P, here ? first + team : first, &q);
        const point f = { q.x << P.by_x, q.y << P.by_y, q.z << P.by_z, 0 };
        const int j = number_of(P.cx, P.cy, &q);
        NOT_UNROLLED for (int k = mate; k < COLUMN; k += TEAM) columns[team][k] = column_at(&A, &P, &f, j, w, k);
        barrier(CLK_LOCAL_MEM_FENCE);
        NOT_UNROLLED for (int k = mate; here && k < HALF; k += TEAM)
            put_number(coupling(&P, &q, w, columns[team], k), c + (size_t)k * P.coarse, j, 0);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

#endif
