// box_tail.cl - a cycle of multigrid from some level on, down to the coarsest one and up again, in one launch of groups that
// wait for each other. Levels that are small enough are done by the first group alone, which need not wait for others.
// Host: src/mg/box_tail.c. box.clh says how stencils lie, transfer.clh how weights do, barrier.clh how groups wait.
//
// plan     PLAN_WORDS numbers of each level: see below
// numbers  of all levels: stencils, weights, smoothing steps
// room     vectors of all levels. Work-items hand each other what is in there
// GROUP    work-items of a group
// TOGETHER there are several groups, else one, which waits for nobody

#define X_CHANGES
#include "common/barrier.clh"
#include "common/kry.clh"
#include "multigrid/box.clh"
#include "multigrid/transfer.clh"

#ifndef KRY_CPU

// As in src/mg/box_tail.c. Behind PLAN_ALIKE: where something begins in `numbers`, then in `room`.
enum {
    PLAN_SIZE, // 3
    PLAN_WRAPS = 3,
    PLAN_COARSENED, // mask of axes
    PLAN_ALIKE,     // 1: the stencils of a row are all alike, 2: so are its weights, as UNIFORM has it
    PLAN_STENCIL,
    PLAN_WEIGHTS,
    PLAN_STEPS,
    PLAN_B,
    PLAN_X,
    PLAN_OTHER, // room for x: a step goes from one to the other
    PLAN_WORDS,
    MOST_LEVELS = 24
};

#define TABLES local const int *plan, global const REAL *restrict numbers

// The numbers of a vector that a work-item has: first, first + step and so on.
typedef struct share {
    int first, step;
} share;
#define FOR_SHARE(i, s, n) for (int i = (s)->first; i < (n); i += (s)->step)
enum { NONE = 0x3fffffff }; // a first number behind all others

// The share of this work-item where all groups work together, or with `alone` the first group; nothing with `idle`.
INLINED share share_of(int idle, int alone)
{
    const share all = { get_global_id(0), get_global_size(0) }, own = { get_local_id(0), GROUP };
    share s = alone ? own : all;
    if (idle || (alone && get_group_id(0) != 0)) s.first = NONE;
    return s;
}

// The grid of the level at p, and what leads from it to the next one.
INLINED void take_grid(local const int *p, box *A)
{
    A->nx = p[PLAN_SIZE], A->ny = p[PLAN_SIZE + 1], A->nz = p[PLAN_SIZE + 2];
    A->wraps = p[PLAN_WRAPS], A->alike = p[PLAN_ALIKE] & 1, A->work = A->nx * A->ny * A->nz;
}

INLINED void take_transfer(local const int *p, const box *A, transfer *P)
{
    const int coarsened = p[PLAN_COARSENED];
    P->nx = A->nx, P->ny = A->ny, P->nz = A->nz, P->wraps = A->wraps, P->alike = p[PLAN_ALIKE] & 2;
    P->by_x = coarsened & 1, P->by_y = coarsened >> 1 & 1, P->by_z = coarsened >> 2 & 1;
    P->cx = (A->nx + P->by_x) >> P->by_x, P->cy = (A->ny + P->by_y) >> P->by_y;
    P->cz = (A->nz + P->by_z) >> P->by_z, P->coarse = P->cx * P->cy * P->cz;
}

// x := step D^-1 b
INLINED void scale(TABLES, const share *mine, SUM step, x_numbers b, volatile global REAL *x)
{
    global const REAL *restrict a = numbers + plan[PLAN_STENCIL];
    box A;
    take_grid(plan, &A);
    FOR_SHARE(i, mine, A.work)
    {
        place p;
        take_point(&A, i, i % A.nx, &p);
        x[i] = (REAL)(step / number_at(a, &p, 0, i) * (SUM)b[i]);
    }
}

// y := x + step D^-1 (b - A x), or unless it smooths  b - A x
INLINED void sweep(TABLES, const share *mine, int smooths, SUM step, x_numbers b, x_numbers x, volatile global REAL *y)
{
    global const REAL *restrict a = numbers + plan[PLAN_STENCIL];
    box A;
    take_grid(plan, &A);
    FOR_SHARE(i, mine, A.work)
    {
        place p;
        SUM c, diagonal;
        take_rows_beside(&A, i / A.nx % A.ny, i / (A.nx * A.ny), &p);
        take_point(&A, i, i % A.nx, &p);
        const SUM r = (SUM)b[i] - box_row(a, &p, x, &c, &diagonal);
        y[i] = (REAL)(smooths ? c + step / diagonal * r : r);
    }
}

// The weight of coarse point `at`, shifted, or 1 in its own point. Either way something is read: see number_if.
INLINED SUM weight_or_one(const transfer *P, global const REAL *w, int dx, int dy, int dz, int at)
{
    const int one = is_own(P, dx, dy, dz);
    const SUM number = (SUM)w[(one ? 0 : weights_at(P, dx, dy, dz)) + at];
    return one ? 1 : number;
}

// The place on the fine grid at d from coarse place j; any other one where there is none.
INLINED int fine_place(int j, int coarsened, int d, int size, int wrapped)
{
    return d ? max(beside(j << coarsened, d, size, wrapped), 0) : j << coarsened;
}

// c := P' r. Where there is no fine point the weight is 0.
INLINED void restrict_to(TABLES, const share *mine, x_numbers r, volatile global REAL *c)
{
    global const REAL *restrict w = numbers + plan[PLAN_WEIGHTS];
    box A;
    transfer P;
    take_grid(plan, &A);
    take_transfer(plan, &A, &P);
    FOR_SHARE(j, mine, P.coarse)
    {
        const int jx = j % P.cx, jy = j / P.cx % P.cy, jz = j / (P.cx * P.cy);
        SUM sum = 0;
        for (int dz = -P.by_z; dz <= P.by_z; dz++)
            UNROLLED for (int dy = -1; dy <= 1; dy++)
                UNROLLED for (int dx = -1; dx <= 1; dx++)
                {
                    if (abs(dy) > P.by_y || abs(dx) > P.by_x) continue;
                    const int x = fine_place(jx, P.by_x, dx, P.nx, P.wraps & 1);
                    const int y = fine_place(jy, P.by_y, dy, P.ny, P.wraps & 2);
                    const int z = fine_place(jz, P.by_z, dz, P.nz, P.wraps & 4);
                    sum += weight_or_one(&P, w, dx, dy, dz, j + weight_shift(&P, jx)) *
                           (SUM)r[x + P.nx * (y + P.ny * z)];
                }
        c[j] = (REAL)sum;
    }
}

// x += P e
INLINED void prolong(TABLES, const share *mine, x_numbers e, volatile global REAL *x)
{
    global const REAL *restrict w = numbers + plan[PLAN_WEIGHTS];
    box A;
    transfer P;
    take_grid(plan, &A);
    take_transfer(plan, &A, &P);
    FOR_SHARE(i, mine, A.work)
    {
        const int ix = i % P.nx, iy = i / P.nx % P.ny, iz = i / (P.nx * P.ny);
        const int jx = ix >> P.by_x, jy = iy >> P.by_y, jz = iz >> P.by_z;
        const int odd_x = P.by_x & ix, odd_y = P.by_y & iy, odd_z = P.by_z & iz;
        const int own = jx + P.cx * (jy + P.cy * jz);
        SUM sum = (SUM)x[i];
        for (int pz = 0; pz <= odd_z; pz++)
            UNROLLED for (int py = 0; py <= 1; py++)
                UNROLLED for (int px = 0; px <= 1; px++)
                {
                    const int to_x = px ? beside(jx, 1, P.cx, P.wraps & 1) : jx;
                    const int to_y = py ? beside(jy, 1, P.cy, P.wraps & 2) : jy;
                    const int to_z = pz ? beside(jz, 1, P.cz, P.wraps & 4) : jz;
                    const int has = px <= odd_x && py <= odd_y && to_x >= 0 && to_y >= 0 && to_z >= 0;
                    const int dx = has ? odd_x - 2 * px : 0, dy = has ? odd_y - 2 * py : 0, dz = has ? odd_z - 2 * pz : 0;
                    const int to = has ? to_x + P.cx * (to_y + P.cy * to_z) : own;
                    sum += weight_or_one(&P, w, dx, dy, dz, to + weight_shift(&P, jx)) * number_if(e, has, to);
                }
        x[i] = (REAL)sum;
    }
}

// x := G b, G symmetric, k-by-k, rows `stride` numbers apart; by the first group. With fewer rows than work-items, several of
// these have a row. k = 0: nothing.
void solve(int k, int stride, global const REAL *restrict G, x_numbers b, volatile global REAL *x, local REAL *part)
{
    const int l = get_local_id(0), slices = max(GROUP / max(k, 1), 1), slice = l / max(k, 1);

    for (int first = 0; first < k; first += GROUP) {
        const int row = first + l % k, end = row < k && slice < slices ? k : 0;
        SUM sum = 0;
#pragma unroll 8
        for (int j = slice; j < end; j += slices)
            sum += (SUM)G[(size_t)j * stride + row] * (SUM)b[j];
        part[l] = (REAL)sum;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int s = 1; s < slices && l < k; s++) sum += part[l + s * k];
        if (row < k && slice == 0) x[row] = (REAL)sum;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

// begin returns how many groups wait for each other, 0 in a probe. meet waits for the work-items of the group, and if
// `together` for those of all groups.
#ifdef TOGETHER
int begin(resident *me, RESIDENT_PARAMS, local int *word)
{
    resident_begin(me, control, word);
    return me->groups;
}
void meet(resident *me, int groups, int together)
{
    me->groups = together ? groups : 0;
    resident_wait(me);
}
#else
int begin(resident *me, RESIDENT_PARAMS, local int *word)
{
    me->groups = me->aborted = 0;
    return 1;
}
void meet(resident *me, int groups, int together) { barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE); }
#endif

// x := the cycle for b from level 0 of the plan on, `count` steps before and after the coarser levels. Levels from `alone` on
// are done by the first group. There is one call of each function, in a loop over
// the levels that come down and then up, since compilers put all of them here.
//
// again  1: one group, which does what groups of the launch before have left undone that waited in vain, or nothing; else 0
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
box_tail(RESIDENT_PARAMS, int again, int alone, int levels, int count, global const int *restrict plan_of_all,
         global const REAL *restrict numbers, global REAL *room, int k, int stride, global const REAL *restrict G,
         global const REAL *b, long b0, global REAL *x, long x0)
{
    local REAL part[GROUP];
    local int plan[PLAN_WORDS * MOST_LEVELS];
    RESIDENT_LOCALS
    resident me;
    const int coarsest = levels - 1;
    int turn = 0;

    b += b0, x += x0;
    for (int i = get_local_id(0); i < PLAN_WORDS * levels; i += GROUP) plan[i] = plan_of_all[i];
    const int groups = begin(&me, RESIDENT_PASS), given_up = me.aborted, idle = !groups || again != given_up;
    barrier(CLK_LOCAL_MEM_FENCE);
    do {
        const int down = turn < coarsest, l = down ? turn : 2 * coarsest - 1 - turn;
        const int next_l = turn + 1 < coarsest ? turn + 1 : 2 * coarsest - 2 - turn;
        const int together = !again && l < alone, next_together = !again && next_l < alone;
        const share mine = share_of(idle, !together);
        local const int *p = plan + l * PLAN_WORDS, *next = p + PLAN_WORDS;
        solve(turn == coarsest && !idle && get_group_id(0) == 0 ? k : 0, stride, G, room + next[PLAN_B],
              room + next[PLAN_X], part);
        meet(&me, groups, together);
        // The first level's vectors are the caller's. The iterate starts in `other`, so that it ends in x.
        x_numbers rhs = l ? room + p[PLAN_B] : b;
        global const REAL *step = numbers + p[PLAN_STEPS];
        volatile global REAL *own = l ? room + p[PLAN_X] : x, *other = room + p[PLAN_OTHER];
        const int in_own = !down && !(count & 1);
        volatile global REAL *from = in_own ? own : other, *to = in_own ? other : own;
        if (down)
            scale(p, numbers, &mine, (SUM)step[0], rhs, from);
        else
            prolong(p, numbers, &mine, room + next[PLAN_X], from);
        meet(&me, groups, together);
        for (int s = 1; s <= count; s++) {
            const int smooths = !down || s < count; // going down, the residual comes last
            const int nth = down ? min(s, count - 1) : count - s;
            sweep(p, numbers, &mine, smooths, (SUM)step[nth], rhs, from, to);
            meet(&me, groups, together || (!down && s == count && next_together));
            volatile global REAL *swept = to;
            to = from, from = swept;
        }
        if (down) {
            restrict_to(p, numbers, &mine, from, room + next[PLAN_B]);
            meet(&me, groups, together);
        }
    } while (++turn < 2 * coarsest && !idle && !me.aborted);
#ifdef TOGETHER
    me.groups = again && given_up ? 0 : groups; // the host has to learn of it
    resident_end_in_series(&me);
#endif
}

#endif
