// box_tail.cl - a cycle of multigrid from a small level on, down to the coarsest one and up again, in one launch
// of one group. Host: src/mg/box_family.c. Points are those of sweep.clh, and box.clh says how stencils
// and weights lie.
//
// plan     PLAN_WORDS numbers of each level: see below
// numbers  of all levels: stencils, weights, smoothing steps
// room     vectors of all levels. Work-items hand each other what is in there, and nothing of it is
//          cached as constant
// GROUP    work-items

#include "common/kry.clh"
#include "grid/sweep.clh"
#include "multigrid/box.clh"

#ifndef KRY_CPU

// As in src/mg/box_family.c. Behind PLAN_ALIKE: where something begins in `numbers`, then in `room`.
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
    PLAN_WORDS
};

#define TABLES       global const int *restrict plan, global const REAL *restrict numbers
#define LEVEL_OF(p)                                                                       \
    const int nx = p[PLAN_SIZE], ny = p[PLAN_SIZE + 1], nz = p[PLAN_SIZE + 2];            \
    const int wraps = p[PLAN_WRAPS], alike = p[PLAN_ALIKE], work = nx * ny * nz;          \
    global const REAL *restrict a = numbers + p[PLAN_STENCIL];
#define TRANSFER_OF(p)                                                                    \
    const int coarsened = p[PLAN_COARSENED];                                              \
    const int cx = (nx + CX) >> CX, cy = (ny + CY) >> CY, cz = (nz + CZ) >> CZ;           \
    const int coarse = cx * cy * cz;                                                      \
    global const REAL *restrict w = numbers + p[PLAN_WEIGHTS];
#define CX (coarsened & 1)
#define CY (coarsened >> 1 & 1)
#define CZ (coarsened >> 2 & 1)

#undef COEFFICIENT_ONE
#undef WEIGHT_ONE
#define COEFFICIENT_ONE(s, at) \
    AT_ONE(SLOT(s), (alike & 1) && ix >= EDGE && ix < nx - EDGE ? (at) - ix + EDGE : (at))
#define WEIGHT_ONE(dx, dy, dz, at) \
    AT_ONE(WEIGHT(dx, dy, dz), (alike & 2) && jx >= EDGE && jx < cx - EDGE ? (at) - jx + EDGE : (at))

#define GET_X(K, i, dx, dy, dz) AT_ONE(x, i)
#define ALL_MET()               barrier(CLK_GLOBAL_MEM_FENCE)

// x := step D^-1 b
void scale(TABLES, SUM step, global const REAL *b, global REAL *x)
{
    LEVEL_OF(plan)
#define SCALE(K, GET, BODY) x[i] = (REAL)(step / COEFFICIENT_ONE(0, i) * AT_ONE(b, i));
    BOX_SWEEP(1, SCALE, GET_X, )
}

// y := x + step D^-1 (b - A x), or unless it smooths  b - A x
void sweep(TABLES, int smooths, SUM step, global const REAL *b, global const REAL *x, global REAL *y)
{
    LEVEL_OF(plan)
#define SWEPT(K, i, c, sum, diagonal)                                                     \
    {                                                                                     \
        const SUM r = AT_ONE(b, i) - sum;                                                 \
        y[i] = (REAL)(smooths ? c + step / diagonal * r : r);                             \
    }
    BOX_SWEEP(1, BOX_POINT, GET_X, SWEPT)
}

// c := P' r
void restrict_to(TABLES, global const REAL *r, global REAL *c)
{
    LEVEL_OF(plan)
    TRANSFER_OF(plan)
#define SHARE(dx, dy, dz)                                                                 \
    AT_ONE(r, FINE(jx, CX, dx, nx, 1) + nx * (FINE(jy, CY, dy, ny, 2) + ny * FINE(jz, CZ, dz, nz, 4)))
#define FINE(j, C, d, n, bit) ((d) ? max(beside((j) << (C), d, n, wraps & (bit)), 0) : (j) << (C))
#define RESTRICT(K)                                                                       \
    SUM sum;                                                                              \
    SUM_OF_SHARES(sum, SHARE)                                                             \
    c[j] = (REAL)sum;
    COARSE_SWEEP(RESTRICT)
}

// x += P e
void prolong(TABLES, global const REAL *e, global REAL *x)
{
    LEVEL_OF(plan)
    TRANSFER_OF(plan)
#define CORRECT(K, GET, BODY)                                                             \
    SUM sum = AT_ONE(x, i);                                                               \
    ADD_PROLONGED(sum, e)                                                                 \
    x[i] = (REAL)sum;
    BOX_SWEEP(1, CORRECT, GET_X, )
}

// x := G b, G symmetric, k-by-k, rows `stride` numbers apart. With fewer rows than work-items, several of these
// have a row. k = 0: nothing.
void solve(int k, int stride, global const REAL *restrict G, global const REAL *b, global REAL *x,
           local REAL *part)
{
    const int l = get_local_id(0), slices = max(GROUP / max(k, 1), 1), slice = l / max(k, 1);

    for (int first = 0; first < k; first += GROUP) {
        const int row = first + l % k, end = row < k && slice < slices ? k : 0;
        SUM sum = 0;
#pragma unroll 8
        for (int j = slice; j < end; j += slices)
            sum += AT_ONE(G, (size_t)j * stride + row) * AT_ONE(b, j);
        part[l] = (REAL)sum;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int s = 1; s < slices && l < k; s++) sum += part[l + s * k];
        if (row < k && slice == 0) x[row] = (REAL)sum;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

// x := the cycle for b from level 0 of the plan on, `count` steps before and after the coarser levels. There is one call of
// each function, in a loop over the levels that come down and then up, since compilers put all of them here.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
box_tail(int levels, int count, TABLES, global REAL *room, int k, int stride,
                     global const REAL *restrict G, global const REAL *b, long b0, global REAL *x,
                     long x0)
{
    local REAL part[GROUP];
    const int coarsest = levels - 1;
    int turn = 0;

    b += b0, x += x0;
    do {
        const int down = turn < coarsest, l = down ? turn : 2 * coarsest - 1 - turn;
        global const int *p = plan + l * PLAN_WORDS, *next = p + PLAN_WORDS;
        solve(turn == coarsest ? k : 0, stride, G, room + next[PLAN_B], room + next[PLAN_X], part);
        ALL_MET();
        // The first level's vectors are the caller's. The iterate starts in `other`, so that it ends in x.
        global const REAL *rhs = l ? room + p[PLAN_B] : b, *step = numbers + p[PLAN_STEPS];
        global REAL *own = l ? room + p[PLAN_X] : x, *other = room + p[PLAN_OTHER];
        const int in_own = !down && !(count & 1);
        global REAL *from = in_own ? own : other, *to = in_own ? other : own;
        if (down)
            scale(p, numbers, AT_ONE(step, 0), rhs, from);
        else
            prolong(p, numbers, room + next[PLAN_X], from);
        ALL_MET();
        for (int s = 1; s <= count; s++) {
            const int smooths = !down || s < count; // going down, the residual comes last
            const int nth = down ? min(s, count - 1) : count - s;
            sweep(p, numbers, smooths, AT_ONE(step, nth), rhs, from, to);
            ALL_MET();
            global REAL *swept = to;
            to = from, from = swept;
        }
        if (down) restrict_to(p, numbers, from, room + next[PLAN_B]);
        ALL_MET();
    } while (++turn < 2 * coarsest);
}

#endif
