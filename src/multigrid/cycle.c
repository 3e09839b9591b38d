/*
 * cycle.c - z := M r by a cycle of multigrid over the levels that a family has made.
 *
 *   V(i):  x := the smoother's steps from 0;  r := b - A x;  b' := P' r;  x' := V(i + 1) b'
 *          x := x + P x';  x := the smoother's steps from x, in the opposite order
 *
 * The coarsest level is solved exactly. What smooths afterwards is the transpose of what smooths before, so
 * M is symmetric; and positive definite if the smoother converges, also where A is singular: there
 * the coarsest level is given the part of b' that it can solve for.
 *
 *   W      the coarser levels twice: x' := x' + W (b' - A x')
 *   F      the same, but by a V-cycle the second time; not symmetric
 *   K      the same with two steps of flexible conjugate gradients, which find the best combination of
 *          both; M then depends on r, and is for flexible methods
 *
 * Full multigrid comes from the other side: b is restricted down to the coarsest level, solved for there, and
 * on each level the solution of the coarser one, prolongated, is the x that a cycle begins with.
 *
 * Storage  3 vectors on each level below the finest and 1 there, W and F 2 and K 4 more on levels between
 *          the finest and the coarsest, and those of sweeps.h; k times that from the first time on that k columns
 *          are taken at once
 * Waits    K: twice on each level it visits
 * Source   A. Brandt, Multi-level adaptive solutions to boundary-value problems, Math. Comp. 31 (1977);
 *          Y. Notay, P. S. Vassilevski, Recursive Krylov-based multigrid cycles, Numer. Linear Algebra
 *          Appl. 15 (2008): K;  U. Trottenberg, C. W. Oosterlee, A. Schueller, Multigrid (2001), section 2.4
 */
#include "multigrid/cycle.h"
#include "multigrid/part_window.h"

/* ---- vectors of the levels ------------------------------------------------------------------- */

/* As many columns of a level's room as the cycle has. */
static kry_vec columns_of(const kryi_hierarchy *H, const kry_vec *room)
{
    return kryi_vec_columns(room, 0, H->columns);
}

/* Every level gets room for that number of columns, and the cycle runs on them. */
static kry_status make_room(kryi_hierarchy *H, int64_t columns)
{
    kry_status st = KRY_OK;

    for (int i = 0; i < H->count; i++) {
        kryi_rung *g = &H->rung[i];
        kry_vec **all[] = { &g->b,        &g->x,        &g->work,    &g->again[0],
                            &g->again[1], &g->again[2], &g->again[3] };
        for (size_t v = 0; v < COUNT(all); v++)
            if (*all[v]) TRY(kryi_vec_widen(all[v], columns));
    }
    if (H->narrow) TRY(kryi_narrow_widen(H->narrow, columns));
    H->columns = columns;
done:
    return st;
}

/* to := b, in the numbers that the finest level has. */
static kry_status bring_in(const kryi_hierarchy *H, const kry_vec *b, kry_vec *to)
{
    kry_status st = KRY_OK;
    const kryi_shell *shell = H->rung[0].level.shell;
    kry_vec mine = shell ? kryi_shell_place(shell, 0, to) : kryi_vec_borrow(to);

    TRY(H->narrow ? kryi_narrow_down(H->narrow, b, &mine) : kry_vec_copy(b, &mine));
    if (shell) TRY(kryi_shell_fill(shell, &mine, to));
done:
    return st;
}

/* x := what the finest level has; sum: (b.x, b.b), of levels in single */
static kry_status bring_out(const kryi_hierarchy *H, const kry_vec *b, const kry_vec *from,
                            kry_vec *x, kry_sum *sum)
{
    kry_status st = KRY_OK;
    const kryi_shell *shell = H->rung[0].level.shell;
    kry_vec mine = kryi_vec_borrow(from);

    if (shell) TRY(kryi_shell_take(shell, 0, from, &mine));
    TRY(H->narrow ? kryi_narrow_up(H->narrow, b, &mine, x, sum) : kry_vec_copy(&mine, x));
done:
    return st;
}

/* ---- the cycle ------------------------------------------------------------------------------- */

/* The numbers of other parts in a vector of a level, as far as it has any. */
static kry_status refresh(const kryi_rung *g, kry_vec *v)
{
    return g->level.shell ? kryi_shell_refresh(g->level.shell, v) : KRY_OK;
}

static kry_status restrict_to(const kryi_level *L, const kry_vec *r, kry_vec *coarse)
{
    if (L->R) return kryi_op_run_apply(L->R, 1, r, 0, coarse);
    return L->P->table->apply_transpose(L->P->self, 1, r, 0, coarse);
}

/* How a level is visited. */
typedef struct visit_kind {
    kry_cycle_shape shape; /* of the levels below */
    bool from_x;           /* from the x that is there, not from zero */
    bool but_one;          /* without the last step, so that the iterate ends in the level's room */
} visit_kind;

bool kryi_rung_is_fused(const kryi_rung *g)
{
    const kryi_passes *p = g->level.passes;
    return p && p->most && kryi_smoothing_by_diagonal(&g->smooth) &&
           g->smooth.down.count <= p->most;
}

bool kryi_rung_corrects_at_once(const kryi_rung *g)
{
    const kryi_passes *p = g->level.passes;
    return p && p->correct && kryi_smoothing_by_diagonal(&g->smooth);
}

/* Passes begin with zero. If they are not taken on the way down, then not on the way up: the iterate would end
 * in the wrong place. */
static bool by_passes(const kryi_rung *g, visit_kind how)
{
    return kryi_rung_is_fused(g) && g->level.passes->down && !how.from_x;
}

/* place[0] := smoothed; coarse := P' (b - A place[0]) */
static kry_status go_down(kryi_rung *g, visit_kind how, const kry_vec *b, kry_vec *place[2],
                          kry_vec *coarse)
{
    kry_status st = KRY_OK;
    const kryi_level *L = &g->level;

    if (by_passes(g, how)) {
        kry_vec *x = place[1];
        place[1] = place[0], place[0] = x;
        return L->passes->down(L->self, &g->smooth.down, b, x, coarse);
    }
    if (how.from_x) TRY(refresh(g, place[0]));
    TRY(kryi_smoothing_run(&g->smooth, &g->smooth.down, !how.from_x, b, place));
    if (how.from_x) TRY(refresh(g, place[0]));
    if (L->passes && L->passes->descend) {
        TRY(L->passes->descend(L->self, b, place[0], coarse));
    } else {
        TRY(kry_op_residual(L->A, b, place[0], place[1]));
        TRY(restrict_to(L, place[1], coarse));
    }
done:
    return st;
}

/* place[0] := what place[0] + P e is smoothed to, where the pass that adds P e does the first step, too */
static kry_status correct_and_smooth(kryi_rung *g, kryi_sweeps rest, const kry_vec *b,
                                     const kry_vec *e, kry_vec *place[2], kry_sum *sum)
{
    kry_status st = KRY_OK;
    const kryi_level *L = &g->level;
    kry_vec *x = place[0];

    TRY(L->passes->correct(L->self, rest.step[0], b, x, e, place[1]));
    place[0] = place[1], place[1] = x;
    rest.step++, rest.count--, rest.sum = sum;
    TRY(kryi_smoothing_run(&g->smooth, &rest, false, b, place));
done:
    return st;
}

/* place[0] := what place[0] + P e is smoothed to; sum: NULL, or what the last step leaves its sums in */
static kry_status go_up(kryi_rung *g, visit_kind how, const kry_vec *b, const kry_vec *e,
                        kry_vec *place[2], kry_sum *sum)
{
    kry_status st = KRY_OK;
    const kryi_level *L = &g->level;
    kryi_sweeps up = g->smooth.up;

    up.sum = sum;
    if (by_passes(g, how)) {
        kry_vec *y = place[1];
        place[1] = place[0], place[0] = y;
        return L->passes->up(L->self, &up, b, place[1], e, y);
    }
    up.count -= how.but_one;
    if (kryi_rung_corrects_at_once(g)) return correct_and_smooth(g, up, b, e, place, sum);
    TRY(kryi_op_run_apply(L->P, 1, e, 1, place[0]));
    TRY(kryi_smoothing_run(&g->smooth, &up, false, b, place));
done:
    return st;
}

/* Whether the last step on the finest level is a sweep by itself. */
static bool ends_with_sweep(const kryi_hierarchy *H)
{
    const kryi_rung *g = H->rung;
    return H->count > 1 && kryi_smoothing_by_diagonal(&g->smooth) && !kryi_rung_is_fused(g) &&
           g->smooth.up.count > kryi_rung_corrects_at_once(g);
}

bool kryi_cycle_leaves_dots(const kryi_hierarchy *H)
{
    if (H->narrow) return true;
    return !H->rung[0].level.shell &&
           (ends_with_sweep(H) || (H->count > 1 && kryi_rung_is_fused(H->rung)));
}

kry_status kryi_cycle_widen(kryi_hierarchy *H)
{
    kry_status st = KRY_OK;
    const kry_op *A = H->rung[0].level.A;

    const bool alone = kryi_layout_size(&A->dev->layout) == 1; /* that step brings no halo */

    H->widens = alone && ends_with_sweep(H) && A->fused->relax_widening;
    if (H->widens) TRY(A->fused->relax_widening(A->self, 0, NULL, NULL, NULL, NULL, NULL));
done:
    return st;
}

static kry_status again(kryi_hierarchy *H, int i, kry_cycle_shape shape, const kry_vec *b,
                        kry_vec *x);

/* Level i works on b and x. */
static void begin_level(kryi_hierarchy *H, int i, const kry_vec *b, const kry_vec *x)
{
    kryi_rung *g = &H->rung[i];

    g->now.b = kryi_vec_borrow(b), g->now.x = kryi_vec_borrow(x);
    if (i < H->count - 1) g->now.work = columns_of(H, g->work);
    g->now.place[0] = &g->now.x, g->now.place[1] = &g->now.work;
}

/* On the coarsest level, or by a kernel that does it and all levels above it down to `from`. */
static kry_status solve_exactly(kryi_hierarchy *H, int i)
{
    kryi_rung *g = &H->rung[i];

    if (i < H->count - 1) return H->tail.run(H->tail.self, &g->now.b, &g->now.x);
    return H->coarse ? kryi_coarse_solve(H->coarse, &g->now.b, &g->now.x) : KRY_OK;
}

/* x := M b from level i on, or x + M (b - A x): down to the coarsest level, and up again. The iterate goes to and fro
 * between x and the level's own room, as often on the way down as on the way up, and so ends in x. */
static kry_status visit(kryi_hierarchy *H, int i, visit_kind how, const kry_vec *b, kry_vec *x)
{
    kry_status st = KRY_OK;
    const visit_kind below = { .shape = how.shape };
    int k = i;

    for (begin_level(H, i, b, x);; k++) {
        kryi_rung *g = &H->rung[k], *next = g + 1;
        const bool tail = H->tail.from && k == H->tail.from && !(k == i && how.from_x);
        if (tail || k == H->count - 1) break;
        kry_vec next_b = columns_of(H, next->b), next_x = columns_of(H, next->x);
        TRY(go_down(g, k == i ? how : below, &g->now.b, g->now.place, &next_b));
        begin_level(H, k + 1, &next_b, &next_x);
    }
    TRY(solve_exactly(H, k));
    while (k > i) {
        const kry_vec b_k =
            H->rung[k].now.b; /* of this visit: the next one of the level has others */
        kry_vec x_k = H->rung[k].now.x;
        TRY(again(H, k, how.shape, &b_k, &x_k));
        kryi_rung *g = &H->rung[--k];
        TRY(go_up(g, k == i ? how : below, &g->now.b, &x_k, g->now.place, k ? NULL : H->dots));
    }
done:
    return st;
}

/* W, F: x := x + M (b - A x), the second visit, which may take passes. */
static kry_status visit_again(kryi_hierarchy *H, int i, kry_cycle_shape shape, const kry_vec *b,
                              kry_vec *x)
{
    kry_status st = KRY_OK;
    kryi_rung *g = &H->rung[i];
    kry_vec r = columns_of(H, g->again[0]), d = columns_of(H, g->again[1]);

    TRY(kry_op_residual(g->level.A, b, x, &r));
    TRY(refresh(g, &r));
    TRY(visit(H, i, (visit_kind){ .shape = shape }, &r, &d));
    TRY(kry_vec_axpby(1, &d, 1, x));
done:
    return st;
}

static kry_status scale(double by, kry_vec *x, kry_vec *room)
{
    kry_status st = KRY_OK;

    TRY(kry_vec_copy(x, room));
    TRY(kry_vec_axpby(by, room, 0, x));
done:
    return st;
}

/* value := x'y of all parts. Waits. */
static kry_status dot(const kryi_rung *g, const kry_vec *x, const kry_vec *y, double *value)
{
    kry_status st = KRY_OK;
    const kryi_shell *shell = g->level.shell;
    kry_vec mine[2] = { kryi_vec_borrow(x), kryi_vec_borrow(y) };

    if (shell) TRY(kryi_shell_take(shell, 0, x, &mine[0]));
    if (shell) TRY(kryi_shell_take(shell, 1, y, &mine[1]));
    TRY(kry_vec_dot(&mine[0], &mine[1], value));
done:
    return st;
}

/* K: x, which is M b, becomes the best approximation in the span of it and of M r, r what it leaves. The
 * second direction is left out if the first takes three quarters of the residual away. Waits. */
static kry_status two_steps(kryi_hierarchy *H, int i, const kry_vec *b, kry_vec *x)
{
    kry_status st = KRY_OK;
    kryi_rung *g = &H->rung[i];
    kry_vec *r = g->again[0], *d = g->again[1], *Ax = g->again[2], *Ad = g->again[3];
    double xAx, xb, rr, bb, dAx, dAd, dr;

    TRY(kry_op_apply(g->level.A, 1, x, 0, Ax));
    TRY(dot(g, x, Ax, &xAx));
    TRY(dot(g, x, b, &xb));
    if (!(xAx > 0)) goto done; /* x is zero */
    TRY(kry_vec_copy(b, r));
    TRY(kry_vec_axpby(-xb / xAx, Ax, 1, r));
    TRY(dot(g, r, r, &rr));
    TRY(dot(g, b, b, &bb));
    if (rr <= bb / 16) return scale(xb / xAx, x, d);
    TRY(refresh(g, r));
    TRY(visit(H, i, (visit_kind){ .shape = KRY_CYCLE_K }, r, d));
    TRY(kry_op_apply(g->level.A, 1, d, 0, Ad));
    TRY(dot(g, d, Ax, &dAx));
    TRY(dot(g, d, Ad, &dAd));
    TRY(dot(g, d, r, &dr));
    const double rest = dAd - dAx * dAx / xAx;
    if (!(rest > 0)) return scale(xb / xAx, x, d);
    TRY(kry_vec_axpby(dr / rest, d, xb / xAx - dAx * dr / (xAx * rest), x));
done:
    return st;
}

/* W, F and K: x, which is M b from level i on, for the level above. */
static kry_status again(kryi_hierarchy *H, int i, kry_cycle_shape shape, const kry_vec *b,
                        kry_vec *x)
{
    if (!kryi_cycle_room(shape, i, H->count)) return KRY_OK;
    if (shape == KRY_CYCLE_K) return two_steps(H, i, b, x);
    return visit_again(H, i, shape == KRY_CYCLE_F ? KRY_CYCLE_V : shape, b, x);
}

int kryi_cycle_room(kry_cycle_shape shape, int i, int count)
{
    if (i == 0 || i == count - 1) return 0; /* the finest is visited once, the coarsest is exact */
    return shape == KRY_CYCLE_V ? 0 : shape == KRY_CYCLE_K ? 4 : 2;
}

/* x := M b, with levels in single, where the finest level's passes read b and write x in double. */
static kry_status by_narrow_passes(kryi_hierarchy *H, const kry_vec *b, kry_vec *x,
                                   kryi_cycle_sums s)
{
    kry_status st = KRY_OK;
    kryi_rung *g = H->rung, *next = g + 1;
    const kryi_passes *p = g->level.passes;
    kryi_sweeps up = g->smooth.up;

    up.sum = s.dots ? s.dots : H->narrow->dots;
    TRY(kryi_narrow_measure(H->narrow, b, s.known));
    TRY(p->down_narrow(g->level.self, &g->smooth.down, H->narrow, b, g->x, next->b));
    TRY(visit(H, 1, (visit_kind){ .shape = H->cycle.shape }, next->b, next->x));
    TRY(again(H, 1, H->cycle.shape, next->b, next->x));
    TRY(p->up_narrow(g->level.self, &up, H->narrow, b, g->x, next->x, x));
done:
    return st;
}

bool kryi_rung_has_narrow_passes(const kryi_rung *g)
{
    return kryi_rung_is_fused(g) && g->level.passes->down_narrow;
}

/* What is done for all columns at once where a level has operators; passes, colours, and the scalars of K are for one. */
bool kryi_cycle_takes_columns(const kryi_hierarchy *H)
{
    const kryi_layout *layout = &H->rung[0].level.A->dev->layout;
    bool takes = kryi_layout_size(layout) == 1 && !layout->reproducible && !H->tail.from &&
                 H->cycle.shape != KRY_CYCLE_K;

    for (int i = 0; i + 1 < H->count; i++) {
        const kryi_rung *g = &H->rung[i];
        takes = takes && g->level.R && !g->level.passes && !g->smooth.down.coloured;
    }
    return takes;
}

/* A visit of a level leaves the b of the levels above it as they are. */
static kry_status full(kryi_hierarchy *H, const kry_vec *b, kry_vec *x, bool but_one)
{
    kry_status st = KRY_OK;
    const int last = H->count - 1;
    visit_kind how = { .shape = H->cycle.shape, .from_x = true };

    for (int i = 0; i < last; i++) {
        const kry_vec b_i = i ? columns_of(H, H->rung[i].b) : kryi_vec_borrow(b);
        kry_vec coarse = columns_of(H, H->rung[i + 1].b);
        TRY(restrict_to(&H->rung[i].level, &b_i, &coarse));
    }
    for (int i = last; i >= 0; i--) {
        const kry_op *P = H->rung[i].level.P;
        const kry_vec b_i = i ? columns_of(H, H->rung[i].b) : kryi_vec_borrow(b);
        kry_vec x_i = i ? columns_of(H, H->rung[i].x) : kryi_vec_borrow(x);
        if (i < last) {
            const kry_vec coarse = columns_of(H, H->rung[i + 1].x);
            TRY(kryi_op_run_apply(P, 1, &coarse, 0, &x_i));
        }
        how.but_one = but_one && i == 0;
        TRY(visit(H, i, how, &b_i, &x_i));
    }
done:
    return st;
}

kry_status kryi_cycle_run(kryi_hierarchy *H, bool is_full, const kry_vec *b, kry_vec *x,
                          kryi_cycle_sums s)
{
    kry_status st = KRY_OK;
    const kryi_rung *g = H->rung;
    kryi_narrow *N = H->narrow;
    const kry_op *A = g->level.A;
    const bool widens = N && H->widens && b->k == 1;
    const visit_kind finest = { .shape = H->cycle.shape, .but_one = widens };
    kry_sum *sum = !N || b->k > 1 ? NULL : s.dots ? s.dots : N->dots;

    TRY(make_room(H, b->k));
    if (!is_full && N && kryi_rung_has_narrow_passes(g)) return by_narrow_passes(H, b, x, s);
    if (!g->b) {
        H->dots = s.dots;
        st = is_full ? full(H, b, x, false) : visit(H, 0, finest, b, x);
        H->dots = NULL;
        return st;
    }
    /* The levels' vectors are not the caller's: they are in single, while b and x are in double, or have the numbers of
     * other parts around. */
    kry_vec own_b = columns_of(H, g->b), own_x = columns_of(H, g->x);
    if (N) TRY(kryi_narrow_measure(N, b, s.known));
    TRY(bring_in(H, b, &own_b));
    TRY(is_full ? full(H, &own_b, &own_x, widens) : visit(H, 0, finest, &own_b, &own_x));
    if (widens) {
        const kry_vec iterate = columns_of(H, g->work);
        TRY(A->fused->relax_widening(A->self, g->smooth.up.step[g->smooth.up.count - 1], N->unit, b,
                                     &iterate, x, sum));
    } else {
        TRY(bring_out(H, b, &own_x, x, sum));
    }
done:
    return st;
}
