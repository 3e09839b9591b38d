// systems.cl - many small systems A x = b whose matrices have one pattern. Host: src/dense/systems.c.
//
// Launch: on GPUs `sub` work-items, a power of two, solve a system, and a group has as many systems side by side as it has
// times `sub` work-items; on CPUs a group of one work-item solves one system after the other. Work-item `lane` of a system owns
// its rows lane, lane + sub, ...: it alone writes these rows of vectors, and between writing and reading others' rows stands a
// barrier. Systems of a group go through the same loop until the last one of them has ended, so barriers are reached alike.
//
// values: those of system s begin at values0 + s / columns * values_ld, by rows as the pattern has them. row_ptr NULL: the matrix
// is dense, n numbers to a row. Column c of system s of the b, c < columns, is system s * columns + c here.
// ON_CHIP: `work`, the room of the systems, is local memory. HELD: and the numbers of A are copied there.
// ends: for each system how it ended, one of the numbers below, and its iterations. residuals: ||b - A x|| / ||b||

#include "common/kry.clh"

enum { SOLVED, LIMIT, BREAKDOWN, STAGNATED, SINGULAR, NOT_FINITE }; // kry_systems_verdict of include/kry/systems.h
enum { GUESS = 1, JACOBI = 2 };                                     // bits of `flags`

#ifdef ON_CHIP
#define SPACE local
#else
#define SPACE global
#endif
#ifdef HELD
#define NUMBERS local REAL
#else
#define NUMBERS global const REAL
#endif

#ifdef KRY_CPU
#define ROOM
#define TAKE_ROOM
#else
#define ROOM      , local ACC2 *room, local int *flags_of_group
#define TAKE_ROOM                                                    \
    me.room = room + 2 * me.slot * sub, me.flag = flags_of_group;    \
    if (get_local_id(0) == 0) me.flag[0] = 0;
#endif

typedef struct place {
    int lane, sub, slot; // slot: which system of the group
    int at_once;         // systems of a group
#ifndef KRY_CPU
    int turn, next;   // of the rooms of sums, and of the flags
    local ACC2 *room; // 2 sub
    local int *flag;  // 3
#endif
} place;

typedef struct system {
    int n;
    global const int *row_ptr, *col;
    NUMBERS *a;
    global const REAL *b;
    global REAL *x;
} system;

#define BATCH                                                                                        \
    int n, int entries, long systems, long columns, int sub, global const int *restrict row_ptr,     \
        global const int *restrict col, global const REAL *restrict values, long values0,            \
        long values_ld, global const REAL *restrict b, long b0, long b_ld, global REAL *restrict x,  \
        long x0, long x_ld, ACC rtol, int max_iter, int flags, global int *restrict ends,            \
        global ACC *restrict residuals, SPACE REAL *work, long words ROOM

// Every kernel begins with this: it says which work-item `me` is, and where the room of its system begins.
#define TAKE_PLACE                                                                      \
    place me;                                                                           \
    system A;                                                                           \
    take_place(&me, sub);                                                               \
    TAKE_ROOM                                                                           \
    SPACE REAL *mine = work + words * (me.slot + ROOM_OF_GROUP * me.at_once);           \
    A.n = n, A.row_ptr = row_ptr, A.col = col;
#ifdef ON_CHIP
#define ROOM_OF_GROUP 0
#else
#define ROOM_OF_GROUP (long)get_group_id(0)
#endif

// Systems of the group in turn: `first` and those behind it; s is mine, if it is less than `systems`.
#define EACH_TURN(first)                                                              \
    for (long first = (long)get_group_id(0) * me.at_once; first < systems;            \
         first += (long)get_num_groups(0) * me.at_once)
#define TAKE_SYSTEM(s, held)                                                            \
    take_numbers(&A, &me, values + values0 + s / columns * values_ld, entries, held);   \
    A.b = b + b0 + s * b_ld, A.x = x + x0 + s * x_ld;

#ifdef KRY_CPU
#define EACH_ROW(i) for (int i = 0; i < n; i++)
#else
#define EACH_ROW(i) for (int i = me.lane; i < n; i += me.sub)
#endif

INLINED void take_place(place *me, int sub)
{
#ifdef KRY_CPU
    me->lane = me->slot = 0, me->sub = me->at_once = 1;
#else
    me->sub = sub, me->turn = me->next = 0;
    me->lane = (int)get_local_id(0) % sub, me->slot = (int)get_local_id(0) / sub;
    me->at_once = (int)get_local_size(0) / sub;
#endif
}

// Where the numbers of a system are read: in place, or from a copy in local memory.
INLINED void take_numbers(system *A, const place *me, global const REAL *given, int entries, SPACE REAL *held)
{
#ifdef HELD
    for (int e = me->lane; e < entries; e += me->sub) held[e] = given[e];
    A->a = held;
#else
    A->a = given;
#endif
}

// ---- over the work-items of a system; every work-item of the group must call these ----

// The sums of their shares, handed to each. Two rooms take turns, so that no barrier stands before the first writing.
INLINED ACC2 total(place *me, ACC2 share)
{
#ifdef KRY_CPU
    return share;
#else
    local ACC2 *room = me->room + me->turn * me->sub;
    int width = me->sub;
    ACC2 sum = share;
    me->turn = 1 - me->turn;
    room[me->lane] = share;
    BARRIER();
    for (; width > 8; width /= 8) {
        const int next = width / 8;
        if (me->lane < next) {
            for (int k = 1; k < 8; k++) sum += room[me->lane + k * next];
            room[me->lane] = sum;
        }
        BARRIER();
    }
    sum = room[0];
    for (int k = 1; k < width; k++) sum += room[k];
    return sum;
#endif
}

// Which of two candidates (magnitude, row) is the pivot: the larger one, of equal ones that of the lower row.
INLINED ACC2 better(ACC2 p, ACC2 q) { return q.x > p.x || (q.x == p.x && q.y < p.y) ? q : p; }

INLINED ACC2 best(place *me, ACC2 candidate)
{
#ifdef KRY_CPU
    return candidate;
#else
    local ACC2 *room = me->room + me->turn * me->sub;
    int width = me->sub;
    ACC2 found = candidate;
    me->turn = 1 - me->turn;
    room[me->lane] = candidate;
    BARRIER();
    for (; width > 8; width /= 8) {
        const int next = width / 8;
        if (me->lane < next) {
            for (int k = 1; k < 8; k++) found = better(found, room[me->lane + k * next]);
            room[me->lane] = found;
        }
        BARRIER();
    }
    found = room[0];
    for (int k = 1; k < width; k++) found = better(found, room[k]);
    return found;
#endif
}

// Whether a system of the group has not ended; what was written before is there for the others. Three flags take turns: one is set
// and read, while the next one is cleared, which was read before the barrier of the last call. The first call comes
// behind a barrier.
INLINED int any(place *me, int active)
{
#ifndef KRY_CPU
    local int *flag = me->flag + me->next;
    me->next = (me->next + 1) % 3;
    if (get_local_id(0) == 0) me->flag[me->next] = 0;
    if (active) *flag = 1;
    BARRIER();
    active = *flag;
#endif
    return active;
}

// ---- a system ----

// Row i of A times y
INLINED REAL row_times(const system *A, SPACE const REAL *y, int i)
{
    REAL sum = 0;
    if (!A->row_ptr) {
        NUMBERS *a = A->a + i * A->n;
        for (int j = 0; j < A->n; j++) sum += a[j] * y[j];
        return sum;
    }
    const int end = A->row_ptr[i + 1];
    for (int e = A->row_ptr[i]; e < end; e++) sum += A->a[e] * y[A->col[e]];
    return sum;
}

// 1 / a_ii; 1 where that is 0
INLINED REAL inverse_diagonal(const system *A, int i)
{
    REAL d = 0;
    if (!A->row_ptr)
        d = A->a[i * A->n + i];
    else
        for (int e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++)
            if (A->col[e] == i) d += A->a[e];
    return d == 0 ? 1 : 1 / d;
}

// Where an iteration stands: what the next product is of, and what its verdict goes by.
typedef struct course {
    ACC square, target; // ||b||^2, and the ||r||^2 at which a system is solved
    ACC last;           // ||b - A x||^2 when that was last computed; < 0: not yet
    ACC now;
    int iterations, verdict, broken; // broken: since `last` the recurrence broke down
    int active;
} course;

// shares: those of the sums of b_i^2 and of the b_i that are not 0
INLINED void begin_course(course *c, ACC2 sums, ACC rtol, int here)
{
    c->square = sums.x, c->target = rtol * rtol * sums.x, c->now = 0, c->last = -1;
    c->iterations = 0, c->broken = 0, c->verdict = SOLVED;
    c->active = here && sums.y != 0; // b = 0: x = 0
    if (!c->active) return;
    if (!(c->target > 0) || !isfinite(c->square)) c->verdict = NOT_FINITE, c->active = 0, c->now = NAN;
}

// CG and BiCGStab begin with the guess, or 0, in u and in y, of which the first product is, and the preconditioner in d. Every work-item of the group must call
// this. Numbers of A that were copied are there when it returns.
INLINED void begin_iteration(course *c, place *me, const system *A, ACC rtol, int here, int flags, SPACE REAL *y,
                             SPACE REAL *u, SPACE REAL *d)
{
    ACC2 share = 0;
    if (here)
        for (int i = me->lane; i < A->n; i += me->sub) {
            const ACC b_i = A->b[i];
            share += (ACC2)(b_i * b_i, b_i != 0);
            y[i] = u[i] = flags & GUESS ? A->x[i] : 0;
        }
    const ACC2 sums = total(me, share);
    begin_course(c, sums, rtol, here);
    if (here && sums.y == 0)
        for (int i = me->lane; i < A->n; i += me->sub) u[i] = 0;
    if (c->active)
        for (int i = me->lane; i < A->n; i += me->sub) d[i] = flags & JACOBI ? inverse_diagonal(A, i) : 1;
}

// The verdict on a residual that was computed from x; 0: the method begins anew from there.
INLINED void judge(course *c, ACC square, int max_iter)
{
    c->now = square;
    if (!isfinite(square))
        c->verdict = NOT_FINITE;
    else if (square <= c->target)
        c->verdict = SOLVED;
    else if (c->iterations >= max_iter)
        c->verdict = LIMIT;
    else if (c->last >= 0 && square > c->last / 4)
        c->verdict = c->broken ? BREAKDOWN : STAGNATED;
    else {
        c->last = square, c->broken = 0;
        return;
    }
    c->active = 0;
}

INLINED void leave_end(const course *c, const place *me, long s, global int *ends, global ACC *residuals)
{
    if (me->lane != 0) return;
    ends[2 * s] = c->verdict, ends[2 * s + 1] = c->iterations;
    residuals[s] = c->square > 0 ? sqrt(c->now / c->square) : c->now;
}

// A direct method leaves how it ended: `square` is ||b - A x||^2, `regular` whether there were pivots.
INLINED void leave_direct(course *c, ACC square, int regular, const place *me, long s, global int *ends,
                          global ACC *residuals)
{
    if (c->active) judge(c, square, 0);
    if (c->verdict != NOT_FINITE && (!regular || c->verdict == LIMIT)) c->verdict = SINGULAR;
    leave_end(c, me, s, ends, residuals);
}

// ---- conjugate gradients with Jacobi's preconditioner M ----
//
//   alpha := r'z / y'A y,  x += alpha y,  r -= alpha A y,  z = M r,  y := z + beta y
//
// Begins, ends and begins anew with r := b - A x, for which y holds x.

kernel void systems_cg(BATCH)
{
    KERNEL_BEGINS
    TAKE_PLACE
    SPACE REAL *y = mine, *q = mine + n, *r = mine + 2 * n, *u = mine + 3 * n, *d = mine + 4 * n;
    EACH_TURN(first)
    {
        const long s = first + me.slot;
        const int here = s < systems;
        int of_x = 1;
        course c;
        ACC2 share, sums;
        ACC rz = 0;
        if (here) {
            TAKE_SYSTEM(s, mine + 5 * n)
        }
        begin_iteration(&c, &me, &A, rtol, here, flags, y, u, d);
        while (any(&me, c.active)) {
            share = 0;
            if (c.active) EACH_ROW(i)
                {
                    q[i] = row_times(&A, y, i);
                    share.x += (ACC)y[i] * q[i];
                }
            sums = total(&me, share);
            share = 0;
            const int broke = !of_x && !(sums.x > 0); // not positive definite
            if (c.active && !broke) {
                const REAL alpha = of_x ? 0 : rz / sums.x;
                EACH_ROW(i)
                {
                    const REAL r_i = of_x ? A.b[i] - q[i] : r[i] - alpha * q[i];
                    if (!of_x) u[i] += alpha * y[i];
                    r[i] = r_i;
                    share += (ACC2)((ACC)r_i * r_i, (ACC)r_i * (d[i] * r_i));
                }
            }
            sums = total(&me, share);
            if (!c.active) continue;
            if (of_x) {
                judge(&c, sums.x, max_iter);
                rz = sums.y, of_x = 0;
                if (c.active && !(rz > 0)) c.verdict = BREAKDOWN, c.active = 0; // neither is the diagonal
                if (c.active) EACH_ROW(i) y[i] = d[i] * r[i];
                continue;
            }
            c.broken = broke || !(sums.y > 0);
            if (!broke) c.iterations++;
            of_x = c.broken || !(sums.x > c.target) || c.iterations >= max_iter;
            const REAL beta = sums.y / rz;
            rz = sums.y;
            EACH_ROW(i) y[i] = of_x ? u[i] : d[i] * r[i] + beta * y[i];
        }
        if (here) {
            EACH_ROW(i) A.x[i] = u[i];
            leave_end(&c, &me, s, ends, residuals);
        }
    }
}

// ---- BiCGStab, preconditioned from the right by Jacobi's M ----
//
//   v := A M p,  alpha := rho / r0'v,  x += alpha M p,  r -= alpha v
//   t := A M r,  omega := t'r / t't,   x += omega M r,  r -= omega t
//   beta := r0'r / rho alpha / omega,  p := r + beta (p - omega v)
//
// A pass through the loop has one product, of y: of x, of M p or of M r.

enum { OF_X, OF_P, OF_R };
#define NOISE (sizeof(REAL) == 4 ? (ACC)1e-6f : (ACC)1e-14f)

kernel void systems_bicgstab(BATCH)
{
    KERNEL_BEGINS
    TAKE_PLACE
    SPACE REAL *y = mine, *q = mine + n, *r = mine + 2 * n, *u = mine + 3 * n, *d = mine + 4 * n;
    SPACE REAL *r0 = mine + 5 * n, *p = mine + 6 * n, *v = mine + 7 * n;
    EACH_TURN(first)
    {
        const long s = first + me.slot;
        const int here = s < systems;
        int of = OF_X;
        course c;
        ACC2 share, sums;
        ACC rho = 0, start = 0;
        REAL alpha = 0, omega = 0;
        if (here) {
            TAKE_SYSTEM(s, mine + 8 * n)
        }
        begin_iteration(&c, &me, &A, rtol, here, flags, y, u, d);
        while (any(&me, c.active)) {
            share = 0;
            if (c.active) EACH_ROW(i)
                {
                    const ACC q_i = q[i] = row_times(&A, y, i);
                    if (of == OF_P) share.x += r0[i] * q_i;
                    if (of == OF_R) share += (ACC2)(q_i * r[i], q_i * q_i);
                }
            sums = total(&me, share);
            share = 0;
            ACC step = 0;
            if (of == OF_P) step = rho / sums.x;
            if (of == OF_R) step = sums.x / sums.y;
            const int broke = of != OF_X && (!isfinite(step) || step == 0);
            if (of == OF_P) alpha = step;
            if (of == OF_R) omega = step;
            if (c.active && !broke) EACH_ROW(i)
                {
                    const REAL r_i = of == OF_X ? A.b[i] - q[i] : r[i] - (REAL)step * q[i];
                    if (of == OF_X) r0[i] = p[i] = r_i;
                    if (of == OF_P) v[i] = q[i];
                    if (of != OF_X) u[i] += (REAL)step * y[i];
                    r[i] = r_i;
                    share += (ACC2)((ACC)r_i * r_i, (ACC)r_i * r0[i]);
                }
            sums = total(&me, share);
            if (!c.active) continue;
            if (of == OF_X) {
                judge(&c, sums.x, max_iter);
                rho = start = sums.x, of = OF_P;
                if (c.active) EACH_ROW(i) y[i] = d[i] * r[i];
                continue;
            }
            c.broken = broke;
            const int ends_here = broke || !(sums.x > c.target);
            if (of == OF_P) {
                of = ends_here ? OF_X : OF_R;
                if (ends_here && !broke) c.iterations++;
                EACH_ROW(i) y[i] = ends_here ? u[i] : d[i] * r[i];
                continue;
            }
            c.iterations++;
            // r has lost r0 to rounding
            c.broken = c.broken || !(fabs(sums.y) > NOISE * sqrt(sums.x * start));
            of = ends_here || c.broken || c.iterations >= max_iter ? OF_X : OF_P;
            const REAL beta = sums.y / rho * alpha / omega;
            rho = sums.y;
            EACH_ROW(i)
            {
                if (of == OF_P) p[i] = r[i] + beta * (p[i] - omega * v[i]);
                y[i] = of == OF_P ? d[i] * p[i] : u[i];
            }
        }
        if (here) {
            EACH_ROW(i) A.x[i] = u[i];
            leave_end(&c, &me, s, ends, residuals);
        }
    }
}

// ---- elimination with partial pivoting ----
//
// Rows stay where they are: order[k] is the row that was the pivot's in step k, and rank[i] the step in which row i was, or -1. A
// work-item eliminates in its own rows. The verdict is that on b - A x.

#ifdef KRY_CPU
#define ENTRY(i, j) ((i) * n + (j)) // along a row
#else
#define ENTRY(i, j) ((j) * n + (i)) // work-items side by side go down a column
#endif

// F := A, each work-item its rows. Returns 0; if one of their numbers is not finite, NaN.
INLINED REAL unpack(const system *A, const place *me, SPACE REAL *F)
{
    const int n = A->n;
    REAL nothing = 0;
    for (int i = me->lane; i < n; i += me->sub) {
        if (A->row_ptr) {
            for (int j = 0; j < n; j++) F[ENTRY(i, j)] = 0;
            for (int e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++) F[ENTRY(i, A->col[e])] += A->a[e];
        } else
            for (int j = 0; j < n; j++) F[ENTRY(i, j)] = A->a[i * n + j];
        for (int j = 0; j < n; j++) nothing += 0 * F[ENTRY(i, j)];
    }
    return nothing;
}

// Row i of F -= l times row `top`, from column `from` on
INLINED void subtract_row(SPACE REAL *F, int n, int i, int top, REAL l, int from)
{
    int j = from;
#ifdef KRY_CPU
    for (; j + VW <= n; j += VW)
        vstore8(vload8(0, F + ENTRY(i, j)) - l * vload8(0, F + ENTRY(top, j)), 0, F + ENTRY(i, j));
#endif
    for (; j < n; j++) F[ENTRY(i, j)] -= l * F[ENTRY(top, j)];
}

kernel void systems_lu(BATCH)
{
    KERNEL_BEGINS
    TAKE_PLACE
    SPACE REAL *F = mine, *w = mine + n * n, *y = w + n;
    SPACE int *order = (SPACE int *)(y + n), *rank = order + n;
    EACH_TURN(first)
    {
        const long s = first + me.slot;
        const int here = s < systems;
        course c;
        ACC2 share = 0, sums;
        int regular = here;
        if (here) {
            TAKE_SYSTEM(s, 0)
            share.x = unpack(&A, &me, F);
            EACH_ROW(i)
            {
                const ACC b_i = A.b[i];
                share += (ACC2)(b_i * b_i, b_i != 0);
                w[i] = b_i, rank[i] = -1;
            }
        }
        sums = total(&me, share);
        begin_course(&c, sums, rtol, here);
        for (int k = 0; k < n; k++) {
            ACC2 pivot = (ACC2)(0, n);
            if (regular) EACH_ROW(i) if (rank[i] < 0)
                    pivot = better(pivot, (ACC2)(fabs(F[ENTRY(i, k)]), i));
            pivot = best(&me, pivot);
            regular = regular && pivot.x > 0;
            if (!regular) continue;
            const int top = (int)pivot.y;
            const REAL u_kk = F[ENTRY(top, k)], w_k = w[top];
            EACH_ROW(i)
            {
                if (i == top) rank[i] = k, order[k] = i;
                if (rank[i] >= 0) continue;
                const REAL l = F[ENTRY(i, k)] / u_kk;
                if (l == 0) continue;
                subtract_row(F, n, i, top, l, k + 1);
                w[i] -= l * w_k;
            }
        }
        for (int k = n - 1; k >= 0; k--) {
            BARRIER();
            if (!regular) continue;
            const int top = order[k];
            const REAL x_k = w[top] / F[ENTRY(top, k)];
            EACH_ROW(i)
            {
                if (rank[i] < k) w[i] -= F[ENTRY(i, k)] * x_k;
                if (i == top) y[k] = x_k;
            }
        }
        BARRIER();
        share = 0;
        if (here) EACH_ROW(i)
            {
                const ACC r_i = regular ? A.b[i] - row_times(&A, y, i) : A.b[i];
                A.x[i] = regular ? y[i] : 0;
                share.x += r_i * r_i;
            }
        sums = total(&me, share);
        if (here) leave_direct(&c, sums.x, regular, &me, s, ends, residuals);
    }
}

// systems_lu_panels eliminates by panels of PANEL columns, where local memory holds n rows of a panel, `local_room`, but no matrix. A
// panel is brought up to date by all panels before it, which `work` holds, is factored, and goes to `work`. So
// the factors are read n / PANEL / 2 times and written once. A group has one system.
#ifdef PANEL
#define QUADS  (PANEL / 4)
#define P(i, c) panel[(c) * n + (i)]

// Columns `first` on of A, `width` of them. Returns 0; if one of the numbers is not finite, NaN.
INLINED REAL take_panel(const system *A, const place *me, int first, int width, local REAL *panel)
{
    const int n = A->n;
    REAL nothing = 0;
    for (int i = me->lane; i < n; i += me->sub) {
        for (int c = 0; c < PANEL; c++) P(i, c) = c < width && !A->row_ptr ? A->a[i * n + first + c] : 0;
        if (A->row_ptr)
            for (int e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++) {
                const int c = A->col[e] - first;
                if (c >= 0 && c < width) P(i, c) += A->a[e];
            }
        for (int c = 0; c < width; c++) nothing += 0 * P(i, c);
    }
    return nothing;
}

// The panel less L times U of the panel before that begins with step `from`. lower, upper: room for PANEL^2 numbers
INLINED void update_panel(const place *me, int n, int from, global const REAL *F, local const int *order,
                          local const int *rank, local REAL *panel, local REAL *lower, local REAL4 *upper)
{
    local REAL *u = (local REAL *)upper;
    for (int at = me->lane; at < PANEL * PANEL; at += me->sub) {
        const int top = order[from + at / PANEL], c = at % PANEL;
        lower[at] = F[ENTRY(top, from + c)], u[at] = P(top, c);
    }
    BARRIER();
    for (int c = me->lane; c < PANEL; c += me->sub)
        for (int k = 0; k + 1 < PANEL; k++) {
            const REAL u_k = u[k * PANEL + c];
            for (int m = k + 1; m < PANEL; m++) u[m * PANEL + c] -= lower[m * PANEL + k] * u_k;
        }
    BARRIER();
    for (int i = me->lane; i < n; i += me->sub) {
        const int step = rank[i] - from;
        if (rank[i] >= 0 && step < 0) continue;
        if (rank[i] >= 0 && step < PANEL) {
            for (int c = 0; c < PANEL; c++) P(i, c) = u[step * PANEL + c];
            continue;
        }
        REAL4 row[QUADS];
        UNROLLED for (int q = 0; q < QUADS; q++)
            row[q] = (REAL4)(P(i, 4 * q), P(i, 4 * q + 1), P(i, 4 * q + 2), P(i, 4 * q + 3));
        for (int k = 0; k < PANEL; k++) {
            const REAL l = F[ENTRY(i, from + k)];
            UNROLLED for (int q = 0; q < QUADS; q++) row[q] -= l * upper[k * QUADS + q];
        }
        UNROLLED for (int q = 0; q < QUADS; q++)
        {
            P(i, 4 * q) = row[q].x, P(i, 4 * q + 1) = row[q].y;
            P(i, 4 * q + 2) = row[q].z, P(i, 4 * q + 3) = row[q].w;
        }
    }
    BARRIER();
}

// Eliminate in the panel of step `first` on, and in w. Returns whether there were pivots.
INLINED int factor_panel(place *me, int n, int first, int width, local REAL *panel, local REAL *w, local int *order,
                         local int *rank)
{
    int regular = 1;
    for (int k = 0; k < width; k++) {
        ACC2 pivot = (ACC2)(0, n);
        for (int i = me->lane; i < n; i += me->sub)
            if (rank[i] < 0) pivot = better(pivot, (ACC2)(fabs(P(i, k)), i));
        pivot = best(me, pivot);
        regular = regular && pivot.x > 0;
        if (!regular) continue;
        const int top = (int)pivot.y;
        const REAL u_kk = P(top, k), w_k = w[top];
        for (int i = me->lane; i < n; i += me->sub) {
            if (i == top) rank[i] = first + k, order[first + k] = i;
            if (rank[i] >= 0) continue;
            const REAL l = P(i, k) / u_kk;
            P(i, k) = l;
            for (int c = k + 1; c < width; c++) P(i, c) -= l * P(top, c);
            w[i] -= l * w_k;
        }
    }
    return regular;
}

// x := U^-1 w for the steps of the panel that begins with `first`; w of the steps before it less what these are in it.
INLINED void substitute_panel(const place *me, int n, int first, int width, global const REAL *F, local const int *order,
                              local const int *rank, local REAL *w, global REAL *x, local REAL *upper)
{
    for (int at = me->lane; at < width * width; at += me->sub)
        upper[at] = F[ENTRY(order[first + at / width], first + at % width)];
    for (int k = width - 1; k >= 0; k--) {
        BARRIER();
        const REAL x_k = w[order[first + k]] / upper[k * width + k];
        for (int m = me->lane; m < k; m += me->sub) w[order[first + m]] -= upper[m * width + k] * x_k;
        if (me->lane == 0) x[first + k] = x_k;
    }
    BARRIER();
    for (int i = me->lane; i < n; i += me->sub)
        if (rank[i] < first)
            for (int k = 0; k < width; k++) w[i] -= F[ENTRY(i, first + k)] * x[first + k];
    BARRIER();
}

kernel void systems_lu_panels(BATCH, local REAL *local_room)
{
    KERNEL_BEGINS
    TAKE_PLACE
    local REAL4 upper[PANEL * QUADS];
    local REAL lower[PANEL * PANEL];
    local REAL *panel = local_room, *w = panel + PANEL * n;
    local int *order = (local int *)(w + n), *rank = order + n;
    EACH_TURN(s)
    {
        course c;
        ACC2 share = 0;
        REAL nothing = 0;
        int regular = 1;
        TAKE_SYSTEM(s, 0)
        EACH_ROW(i)
        {
            const ACC b_i = A.b[i];
            share += (ACC2)(b_i * b_i, b_i != 0);
            w[i] = b_i, rank[i] = -1;
        }
        ACC2 sums = total(&me, share);
        begin_course(&c, sums, rtol, 1);
        for (int first = 0; first < n; first += PANEL) {
            const int width = min(PANEL, n - first);
            nothing += take_panel(&A, &me, first, width, panel);
            if (!regular) continue;
            BARRIER();
            for (int from = 0; from < first; from += PANEL)
                update_panel(&me, n, from, mine, order, rank, panel, lower, upper);
            regular = factor_panel(&me, n, first, width, panel, w, order, rank);
            EACH_ROW(i) for (int k = 0; k < width; k++) mine[ENTRY(i, first + k)] = P(i, k);
            BARRIER();
        }
        if (regular)
            for (int first = (n - 1) / PANEL * PANEL; first >= 0; first -= PANEL)
                substitute_panel(&me, n, first, min(PANEL, n - first), mine, order, rank, w, A.x, lower);
        share = (ACC2)(nothing, 0);
        EACH_ROW(i)
        {
            const ACC r_i = regular ? A.b[i] - row_times(&A, A.x, i) : A.b[i];
            share.x += r_i * r_i;
            if (!regular) A.x[i] = 0;
        }
        sums = total(&me, share);
        leave_direct(&c, sums.x, regular, &me, s, ends, residuals);
    }
}
#endif

#ifndef ON_CHIP
// How systems ended that another kernel has solved: `work` is not used.
kernel void systems_check(BATCH)
{
    KERNEL_BEGINS
    TAKE_PLACE
    EACH_TURN(first)
    {
        const long s = first + me.slot;
        const int here = s < systems;
        course c;
        ACC2 share = 0, sums;
        ACC square = 0;
        if (here) {
            TAKE_SYSTEM(s, mine)
            EACH_ROW(i)
            {
                const ACC b_i = A.b[i], r_i = b_i - row_times(&A, A.x, i);
                share += (ACC2)(b_i * b_i, b_i != 0);
                square += r_i * r_i;
            }
        }
        sums = total(&me, share);
        begin_course(&c, sums, rtol, here);
        sums = total(&me, (ACC2)(square, 0));
        if (here) leave_direct(&c, sums.x, 1, &me, s, ends, residuals);
    }
}

// The lower, main and upper diagonals of systems s and right-hand sides c, n numbers each: columns s, systems + s and 2 systems + s
// of `diagonals`.
kernel void systems_diagonals(int n, long systems, long columns, global const int *restrict row_ptr,
                            global const int *restrict col, global const REAL *restrict values,
                            long values0, long values_ld, global REAL *restrict diagonals, long d0)
{
    KERNEL_BEGINS
    FOR_EACH(place, systems * n)
    {
        const long s = place / n;
        const int i = (int)(place % n);
        global const REAL *a = values + values0 + s / columns * values_ld;
        REAL entry[3];
        entry[0] = entry[1] = entry[2] = 0;
        if (row_ptr)
            for (int e = row_ptr[i]; e < row_ptr[i + 1]; e++) entry[col[e] - i + 1] += a[e];
        else
            for (int k = 0; k < 3; k++)
                if (i + k >= 1 && i + k <= n) entry[k] = a[i * n + i + k - 1];
        for (int k = 0; k < 3; k++) diagonals[d0 + (k * systems + s) * n + i] = entry[k];
    }
}

// ---- how all systems ended ----

typedef struct summary {
    int unsolved, first, verdict, iterations; // first: the first system that was not solved, INT_MAX: none; its verdict
    ACC residual, worst;                      // that of `first`, and the largest of all, or one that is not finite
} summary;

INLINED ACC worse(ACC worst, ACC residual) { return !(residual <= worst) && !isnan(worst) ? residual : worst; }

INLINED summary joined(summary p, summary q)
{
    if (q.first < p.first) p.first = q.first, p.verdict = q.verdict, p.residual = q.residual;
    p.unsolved += q.unsolved, p.iterations = max(p.iterations, q.iterations);
    p.worst = worse(p.worst, q.worst);
    return p;
}

// One summary for each group.
kernel void systems_summary(long systems, global const int *restrict ends, global const ACC *restrict residuals,
                            global summary *restrict summaries)
{
    KERNEL_BEGINS
    summary mine = { 0, INT_MAX, SOLVED, 0, 0, 0 };
    FOR_EACH(s, systems)
    {
        const int verdict = ends[2 * s];
        const summary one = { verdict != SOLVED, verdict == SOLVED ? INT_MAX : (int)s, verdict, ends[2 * s + 1],
                              residuals[s], residuals[s] };
        mine = joined(mine, one);
    }
#ifndef KRY_CPU
    local summary of_items[WG];
    const int item = get_local_id(0);
    of_items[item] = mine;
    for (int width = WG / 2; width > 0; width /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < width) of_items[item] = joined(of_items[item], of_items[item + width]);
    }
    mine = of_items[0]; // that of work-item 0, which is asked for
    if (item == 0)
#endif
        summaries[GROUP_HERE] = mine;
}
#endif
