// resident.cl - conjugate gradients on a grid, many iterations to a launch: x, r, p = the direction
// and s = A p stay in registers, two waits of all groups to an iteration.
// Host: src/grid/stencil_persistent.c. Launch: as many groups of GROUP as hold n unknowns.
//
// GROUP, PER   work-items per group, unknowns per work-item: work-item l of group g has
//              PER * GROUP * g + l, and PER - 1 more at distances of GROUP
// AXES         2 or 3
// WRAP0, ...   1: the axis is periodic; else LOW0 and HIGH0, ... say what lies outside its sides,
//              in units of the number beside them (0, 1 or -1)
// COEFFICIENT  the fluxes through faces come from arrays (src/grid/stencil.h); `coefficient`, of
//              the cells, is read at low sides with given values only
// SHARED       r is in local memory: neighbours of the same group read it there, and only what
//              another group needs is published
//
// Each group adds in a fixed tree, and all groups add the partial sums in the same order, which depends on n,
// GROUP and PER. So all groups take the same decision.
//
// Source: A. T. Chronopoulos, C. W. Gear, s-step iterative methods for symmetric linear systems,
// J. Comput. Appl. Math. 25 (1989): both dot products of an iteration at once.

// ---- a sum over the group, two numbers at a time ----

#define TREE (GROUP < 32 ? GROUP : 32) // lanes of the second step

// The sum of `row` becomes that of the v of all work-items. Few lanes sum many numbers each: two barriers
// instead of one for each halving.
void tree(TOTAL2 v, local TOTAL2 *lane, local TOTAL2 *row)
{
    int l = get_local_id(0);
    lane[l] = v;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l < TREE) {
        TOTAL2 sum = NO_TOTAL2;
        for (int j = l; j < GROUP; j += TREE) ADD_TOTAL2(sum, lane[j]);
        row[l] = sum;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

TOTAL2 row_sum(local const TOTAL2 *row)
{
    TOTAL2 a = NO_TOTAL2, b = NO_TOTAL2, c = NO_TOTAL2, d = NO_TOTAL2;
#pragma unroll
    for (int j = 0; j < TREE; j += 4) {
        ADD_TOTAL2(a, row[j]);
        ADD_TOTAL2(b, row[j + 1]);
        ADD_TOTAL2(c, row[j + 2]);
        ADD_TOTAL2(d, row[j + 3]);
    }
    ADD_TOTAL2(a, c);
    ADD_TOTAL2(b, d);
    ADD_TOTAL2(a, b);
    return a;
}

// (r.r, r.w), and how it goes through volatile pointers: as vectors of the language.
#ifdef KRY_FP64
#define ADD_DOTS(t, r, w)       t += (ACC2)((ACC)(r) * (ACC)(r), (ACC)(r) * (ACC)(w))
#define PUBLISHED_TOTAL2        ACC2
#define PUBLISHED(v)            (v)
#define FROM_PUBLISHED(name, v) TOTAL2 name = v;
#else
#define ADD_DOTS(t, r, w)       ADD_PRODUCT((t).x, r, r), ADD_PRODUCT((t).y, r, w)
#define PUBLISHED_TOTAL2        float4
#define PUBLISHED(v)            ((float4)((v).x.hi, (v).x.lo, (v).y.hi, (v).y.lo))
#define FROM_PUBLISHED(name, v) \
    float4 name##_ = v;         \
    TOTAL2 name = BOTH(total_of(name##_.x, name##_.y), total_of(name##_.z, name##_.w));
#endif

// ---- the grid ----

enum { VALID = 64, PUBLISH = 128 }; // beside the bits of the six sides
#define AT_LOW(a)  (1 << 2 * a)
#define AT_HIGH(a) (2 << 2 * a)

// The neighbours' numbers; a ghost counts as the unknown itself.
#define BELOW(a, size, stride) (at & AT_LOW(a) ? (WRAP##a ? i + (size - 1) * stride : i) : i - stride)
#define ABOVE(a, size, stride) (at & AT_HIGH(a) ? (WRAP##a ? i - (size - 1) * stride : i) : i + stride)

#if AXES == 3
#define EACH_AXIS(DO) DO(0, n0, 1) DO(1, n1, n0) DO(2, n2, n0 * n1)
#else
#define EACH_AXIS(DO) DO(0, n0, 1) DO(1, n1, n0)
#endif
#define EACH for (int k = 0; k < PER; k++)

#define INSIDE(j) ((uint)((j) - base) < GROUP * PER)
#ifdef SHARED
#define R       mine[l + k * GROUP]
#define R_AT(j) (INSIDE(j) ? mine[(j) - base] : published[j])
#else
#define R       r[k]
#define R_AT(j) published[j]
#endif

// Which sides unknown i lies at, and whether a neighbour belongs to another group.
int place(int i, int base, int n0, int n1, int n2)
{
    int c0 = i % n0, c1 = i / n0 % n1, at = VALID, others = 0;
#if AXES == 3
    int c2 = i / n0 / n1;
#endif
#define SIDES(a, size, stride) at |= (c##a == 0) * AT_LOW(a) | (c##a == size - 1) * AT_HIGH(a);
#define OTHERS(a, size, stride) \
    others |= !INSIDE(BELOW(a, size, stride)) | !INSIDE(ABOVE(a, size, stride));
    EACH_AXIS(SIDES)
    EACH_AXIS(OTHERS)
#ifndef SHARED
    others = 1;
#endif
    return at | (others ? PUBLISH : 0);
}

#ifdef COEFFICIENT
#define GRID_PARAMS \
    , global const REAL *restrict coefficient, global const REAL *restrict face0, \
        global const REAL *restrict face1, global const REAL *restrict face2
#define FLUX(a) \
    (low && !WRAP##a ? LOW##a == 1 ? 0 : weight##a * coefficient[i] : face##a[below]) * \
            (own - lower) + \
        face##a[i] * (own - upper)
#else
#define GRID_PARAMS
#define FLUX(a) weight##a * ((own - lower) + (own - upper))
#endif

// sum += the axis' share of row i of A r
#define AXIS(a, size, stride)                                             \
    {                                                                     \
        int low = at & AT_LOW(a), high = at & AT_HIGH(a);                 \
        int below = BELOW(a, size, stride), above = ABOVE(a, size, stride); \
        REAL lower = R_AT(below), upper = R_AT(above);                    \
        if (low && !WRAP##a) lower = LOW##a * own;                        \
        if (high && !WRAP##a) upper = HIGH##a * own;                      \
        sum += FLUX(a);                                                   \
    }

// ---- the solve ----

enum { OUT_STOP, OUT_DONE, OUT_VALUE, OUT_GAMMA, OUT_PQ, OUT_HISTORY = 8 };

// Converged, broken down, or neither; `go`: another update is wanted.
int judge(ACC gamma, ACC pq, ACC target2, int go)
{
    if (gamma <= target2) return STOP_CONVERGED;
    if (!isfinite(gamma)) return STOP_NOT_FINITE;
    if (!go || pq > 0) return GO_ON;
    return isfinite(pq) ? STOP_MATRIX : STOP_NOT_FINITE;
}

// At most `steps` iterations from the set `from` (x, r, p, s at distances of `pitch`; p and s are
// zero if fresh), left in the set `to`. gamma = r'r and pq = p'A p of the last update, 0 if fresh.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void resident_cg(RESIDENT_PARAMS, int n, int pitch, global const REAL *restrict from,
                 global REAL *restrict to, volatile global REAL *published,
                 volatile global PUBLISHED_TOTAL2 *part, global ACC *restrict out, int steps, int fresh,
                 ACC target2, ACC gamma, ACC pq, int n0, int n1, int n2, REAL weight0,
                 REAL weight1, REAL weight2 GRID_PARAMS)
{
    RESIDENT_LOCALS
    local TOTAL2 lane[GROUP], row[TREE];
    local int first[1];
#ifdef SHARED
    local REAL mine[GROUP * PER];
#else
    REAL r[PER];
#endif
    resident me;
    REAL x[PER], p[PER], s[PER], w[PER];
    int sides[PER];

    resident_begin(&me, RESIDENT_PASS);
    int l = get_local_id(0), base = GROUP * PER * me.group, step = 0, go;
#define UNKNOWN (base + l + k * GROUP)
#pragma unroll
    EACH {
        int i = min(UNKNOWN, n - 1), valid = UNKNOWN < n && me.groups, old = valid && !fresh;
        sides[k] = place(i, base, n0, n1, n2) & (valid ? ~0 : ~(VALID | PUBLISH));
        x[k] = valid ? from[i] : 0;
        R = valid ? from[i + pitch] : 0;
        p[k] = old ? from[i + 2 * pitch] : 0;
        s[k] = old ? from[i + 3 * pitch] : 0;
    }
    do {
#pragma unroll
        EACH if (sides[k] & PUBLISH) published[UNKNOWN] = R;
        // `base` goes through local memory: else the compiler keeps the addresses of all neighbours in
        // registers, and spills x, p and s.
        if (l == 0) first[0] = base;
        resident_wait(&me);
        base = first[0];

        // w := A r, and the partial sums of r'r and r'w
        TOTAL2 sums = NO_TOTAL2;
#pragma unroll
        EACH {
            int at = sides[k], i = min(UNKNOWN, n - 1);
            REAL own = R, sum = 0;
            EACH_AXIS(AXIS)
            w[k] = at & VALID ? sum : 0;
            ADD_DOTS(sums, own, w[k]);
        }
        tree(sums, lane, row);
        if (l == 0 && me.groups) {
            TOTAL2 ours = row_sum(row);
            part[me.group] = PUBLISHED(ours);
        }
        resident_meet(&me);

        if (l < TREE) {
            TOTAL2 share = NO_TOTAL2;
            for (int j = l; j < me.groups; j += TREE) {
                FROM_PUBLISHED(theirs, part[j])
                ADD_TOTAL2(share, theirs);
            }
            row[l] = share;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        // All work-items compute the same scalars: that takes less time than to share them. p'A p needs no
        // product with p, because s = A p is conjugate to the p before.
        sums = row_sum(row);
        ACC2 dots = VALUES_OF(sums);
        ACC beta_ = gamma > 0 ? dots.x / gamma : 0, next = dots.y - beta_ * beta_ * pq;
        REAL alpha = (REAL)(dots.x / next), beta = (REAL)beta_;
        int stop = judge(dots.x, next, target2, step < steps), last = stop != GO_ON || step >= steps;
        if (!last) gamma = dots.x, pq = next;
        if (l == 0 && me.groups && me.group == 0) {
            out[OUT_HISTORY + step] = dots.x;
            if (last) {
                out[OUT_STOP] = stop;
                out[OUT_DONE] = step;
                out[OUT_VALUE] = stop == STOP_CONVERGED || !isfinite(dots.x) ? dots.x : next;
                out[OUT_GAMMA] = gamma;
                out[OUT_PQ] = pq;
            }
        }
        go = !last && me.groups && !me.aborted;
        if (go) {
#pragma unroll
            EACH {
                p[k] = R + beta * p[k];
                s[k] = w[k] + beta * s[k];
                x[k] += alpha * p[k];
                R -= alpha * s[k];
            }
        }
        step++;
    } while (go);
#pragma unroll
    EACH {
        if (sides[k] & VALID) {
            to[UNKNOWN] = x[k];
            to[UNKNOWN + pitch] = R;
            to[UNKNOWN + 2 * pitch] = p[k];
            to[UNKNOWN + 3 * pitch] = s[k];
        }
    }
    resident_end(&me);
}
