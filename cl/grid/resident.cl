// resident.cl - conjugate gradients on a grid, many iterations to a launch: x, r, p = the direction
// and s = A p stay in registers, two waits of all groups to an iteration. It shares resident.clh.
// Host: src/grid/stencil_persistent.c, src/operator/resident.c. Launch: as many groups of GROUP as hold n unknowns.
//
// Source: A. T. Chronopoulos, C. W. Gear, s-step iterative methods for symmetric linear systems,
// J. Comput. Appl. Math. 25 (1989): both dot products of an iteration at once.

#include "common/kry.clh"
#include "common/barrier.clh"
#include "common/resident.clh"
#include "grid/resident_grid.clh"

#ifdef SHARED
#define R mine[l + k * GROUP]
#else
#define R r[k]
#endif

// At most `steps` iterations from the set `from` (x, r, p, s at distances of `pitch`; p and s are
// zero if fresh), left in the set `to`. gamma = r'r and pq = p'A p of the last update, 0 if fresh.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void resident_cg(RESIDENT_PARAMS, int n, int pitch, global const REAL *restrict from,
                 global REAL *restrict to, volatile global REAL *shown,
                 volatile global PUBLISHED_TOTAL2 *part, global ACC *restrict out, int steps, int fresh,
                 ACC target2, ACC gamma, ACC pq, GRID)
{
    RESIDENT_LOCALS
    local TOTAL2 lane[GROUP], row[TREE];
    local int first[1];
    local REAL mine[IS_SHARED ? GROUP * PER : 1];
    REAL r[PER]; // unless it is in `mine`
    const grid G = GRID_PASS;
    resident me;
    REAL x[PER], p[PER], s[PER], w[PER];
    int sides[PER];

    resident_begin(&me, RESIDENT_PASS);
    int l = get_local_id(0), base = GROUP * PER * me.group, step = 0, go;
#define UNKNOWN (base + l + k * GROUP)
    UNROLLED for (int k = 0; k < PER; k++)
    {
        int i = min(UNKNOWN, n - 1), valid = UNKNOWN < n && me.groups, old = valid && !fresh;
        sides[k] = place(&G, i, base) & (valid ? ~0 : ~(VALID | PUBLISH));
        x[k] = valid ? from[i] : 0;
        R = valid ? from[i + pitch] : 0;
        p[k] = old ? from[i + 2 * pitch] : 0;
        s[k] = old ? from[i + 3 * pitch] : 0;
    }
    do {
        UNROLLED for (int k = 0; k < PER; k++)
            if (sides[k] & PUBLISH) shown[UNKNOWN] = R;
        // `base` goes through local memory: else the compiler keeps the addresses of all neighbours in
        // registers, and spills x, p and s.
        if (l == 0) first[0] = base;
        resident_wait(&me);
        base = first[0];

        // w := A r, and the partial sums of r'r and r'w
        TOTAL2 sums = NO_TOTAL2;
        UNROLLED for (int k = 0; k < PER; k++)
        {
            int at = sides[k], i = min(UNKNOWN, n - 1);
            REAL own = R, sum = grid_row(&G, at, i, own, base, mine, shown);
            w[k] = at & VALID ? sum : 0;
            ADD_DOTS(sums, own, w[k]);
        }
        tree(sums, lane, row);
        if (l == 0 && me.groups) part[me.group] = published(row_sum(row));
        resident_meet(&me);

        sum_all(part, me.groups, l, row);
        barrier(CLK_LOCAL_MEM_FENCE);
        const ACC2 dots = VALUES_OF(row_sum(row));
        resident_step next = next_step(dots, dots.x, target2, step, steps, &gamma, &pq,
                                       l == 0 && me.groups && me.group == 0, out);
        REAL alpha = next.alpha, beta = next.beta;
        go = !next.last && me.groups && !me.aborted;
        if (go) {
            UNROLLED for (int k = 0; k < PER; k++)
            {
                p[k] = R + beta * p[k];
                s[k] = w[k] + beta * s[k];
                x[k] += alpha * p[k];
                R -= alpha * s[k];
            }
        }
        step++;
    } while (go);
    UNROLLED for (int k = 0; k < PER; k++)
    {
        if (sides[k] & VALID) {
            to[UNKNOWN] = x[k];
            to[UNKNOWN + pitch] = R;
            to[UNKNOWN + 2 * pitch] = p[k];
            to[UNKNOWN + 3 * pitch] = s[k];
        }
    }
    resident_end(&me);
}
