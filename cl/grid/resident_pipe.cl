// resident_pipe.cl - pipelined conjugate gradients on a grid, many iterations to a launch: all vectors stay in
// registers and local memory, one wait of all groups to an iteration. It shares resident.clh.
// Host: src/grid/stencil_persistent.c, src/operator/resident.c. Launch: as many groups of GROUP as hold n unknowns. With SHARED.
//
//     q := A w,  p := r + beta p,  s := w + beta s,  z := q + beta z     s = A p,  z = A s,  w = A r
//     x := x + alpha p,  r := r - alpha s,  w := w - alpha z
//
// The sums r'r and r'w and the w that neighbours need go out before the same wait, into one of two places in
// turn: a group that is ahead writes for the next wait while others still read.
//
// Rounding makes w, s and z differ from what they stand for, more with each iteration. So every REPLACE of them,
// and at the beginning of a launch, they are computed anew from r and p, a wait for each.
//
// Source: P. Ghysels, W. Vanroose, Hiding global synchronization latency in the preconditioned conjugate gradient
// algorithm, Parallel Comput. 40 (2014).

#include "common/kry.clh"
#include "common/barrier.clh"
#include "common/resident.clh"
#include "grid/resident_grid.clh"

enum { REPLACE = 25 };
enum { OF_R, OF_P, OF_S, OF_W }; // what is multiplied: for w, s and z; or in an iteration

// At most `steps` iterations from the set `from` (x, r, p at distances of `pitch`; p is zero if fresh), left in the
// set `to`. gamma = r'r and pq = p'A p of the last update, 0 if fresh.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void resident_pipe(RESIDENT_PARAMS, int n, int pitch, global const REAL *restrict from,
                   global REAL *restrict to, volatile global REAL *both_shown,
                   volatile global PUBLISHED_TOTAL2 *part, global ACC *restrict out, int steps, int fresh,
                   ACC target2, ACC gamma, ACC pq, GRID)
{
    RESIDENT_LOCALS
    local TOTAL2 lane[GROUP], row[TREE];
    local REAL mine[GROUP * PER];
    local int first[1];
    const grid G = GRID_PASS;
    resident me;
    REAL x[PER], r[PER], p[PER], s[PER], z[PER], w[PER], q[PER];
    int sides[PER];

    resident_begin(&me, RESIDENT_PASS);
    int l = get_local_id(0), base = GROUP * PER * me.group, step = 0, since = 0, of = OF_R, place_ = 0, go;
#define UNKNOWN (base + l + k * GROUP)
    UNROLLED for (int k = 0; k < PER; k++)
    {
        int i = min(UNKNOWN, n - 1), valid = UNKNOWN < n && me.groups, old = valid && !fresh;
        sides[k] = place(&G, i, base) & (valid ? ~0 : ~(VALID | PUBLISH));
        x[k] = valid ? from[i] : 0;
        r[k] = valid ? from[i + pitch] : 0;
        p[k] = old ? from[i + 2 * pitch] : 0;
        s[k] = z[k] = w[k] = 0;
    }
    do {
        volatile global REAL *shown = both_shown + place_ * pitch;
        TOTAL2 sums = NO_TOTAL2;
        UNROLLED for (int k = 0; k < PER; k++)
        {
            REAL own = of == OF_W ? w[k] : of == OF_R ? r[k] : of == OF_P ? p[k] : s[k];
            mine[l + k * GROUP] = own;
            if (sides[k] & PUBLISH) shown[UNKNOWN] = own;
            ADD_DOTS(sums, r[k], w[k]);
        }
        if (l == 0) first[0] = base; // as in resident.cl
        tree(sums, lane, row);
        base = first[0];
        if (l == 0 && me.groups) part[place_ * PLACE + me.group] = published(row_sum(row));
        resident_wait(&me);

        sum_all(part + place_ * PLACE, me.groups, l, row);
        UNROLLED for (int k = 0; k < PER; k++)
        {
            int at = sides[k], i = min(UNKNOWN, n - 1);
            REAL own = mine[l + k * GROUP], sum = grid_row(&G, at, i, own, base, mine, shown);
            q[k] = at & VALID ? sum : 0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        int iterates = of == OF_W;
        resident_step next = { 0, 0, 0 };
        const ACC2 dots = VALUES_OF(row_sum(row));
        if (iterates)
            next = next_step(dots, dots.x, target2, step, steps, &gamma, &pq,
                              l == 0 && me.groups && me.group == 0, out);
        REAL alpha = next.alpha, beta = next.beta;
        go = !next.last && me.groups && !me.aborted;
        if (go && iterates) {
            UNROLLED for (int k = 0; k < PER; k++)
            {
                z[k] = q[k] + beta * z[k];
                s[k] = w[k] + beta * s[k];
                p[k] = r[k] + beta * p[k];
                x[k] += alpha * p[k];
                r[k] -= alpha * s[k];
                w[k] -= alpha * z[k];
            }
            step++;
            if (++since == REPLACE) since = 0, of = OF_R;
        } else if (go) {
            UNROLLED for (int k = 0; k < PER; k++)
            {
                w[k] = of == OF_R ? q[k] : w[k];
                s[k] = of == OF_P ? q[k] : s[k];
                z[k] = of == OF_S ? q[k] : z[k];
            }
            of++;
        }
        place_ = !place_;
    } while (go);
    UNROLLED for (int k = 0; k < PER; k++)
    {
        if (sides[k] & VALID) {
            to[UNKNOWN] = x[k];
            to[UNKNOWN + pitch] = r[k];
            to[UNKNOWN + 2 * pitch] = p[k];
        }
    }
    resident_end(&me);
}
