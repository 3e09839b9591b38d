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
 *   K      the same with two steps of flexible conjugate gradients, which find the best combination of
 *          both; M then depends on r, and is for flexible methods
 *
 * Storage  3 vectors on each level below the finest and 1 there, W 2 and K 4 more on levels between the
 *          finest and the coarsest, and those of sweeps.h
 * Waits    K: twice on each level it visits
 * Source   A. Brandt, Multi-level adaptive solutions to boundary-value problems, Math. Comp. 31 (1977);
 *          Y. Notay, P. S. Vassilevski, Recursive Krylov-based multigrid cycles, Numer. Linear Algebra
 *          Appl. 15 (2008): K;  U. Trottenberg, C. W. Oosterlee, A. Schueller, Multigrid (2001), section 2.4
 */
#include "multigrid/cycle.h"

static kry_status restrict_to(const kry_level *L, const kry_vec *r, kry_vec *coarse)
{
    if (L->R) return L->R->table->apply(L->R->self, 1, r, 0, coarse);
    return L->P->table->apply_transpose(L->P->self, 1, r, 0, coarse);
}

/* Whether the level takes all of the steps in the same pass as what follows them. */
static bool is_fused(const kry_rung *g)
{
    const kry_passes *p = g->level.passes;
    return p && !g->smooth.down.coloured && g->smooth.down.count <= p->most;
}

/* place[0] := smoothed; coarse := P' (b - A place[0]) */
static kry_status go_down(kry_rung *g, const kry_vec *b, kry_vec *place[2], kry_vec *coarse)
{
    kry_status st = KRY_OK;
    const kry_level *L = &g->level;

    if (is_fused(g)) {
        kry_vec *x = place[1];
        place[1] = place[0], place[0] = x;
        return L->passes->down(L->self, &g->smooth.down, b, x, coarse);
    }
    TRY(kry_smoothing_run(&g->smooth, &g->smooth.down, true, b, place));
    TRY(kry_op_residual(L->A, b, place[0], place[1]));
    TRY(restrict_to(L, place[1], coarse));
done:
    return st;
}

/* place[0] := what place[0] + P e is smoothed to */
static kry_status go_up(kry_rung *g, const kry_vec *b, const kry_vec *e, kry_vec *place[2])
{
    kry_status st = KRY_OK;
    const kry_level *L = &g->level;

    if (is_fused(g)) {
        kry_vec *y = place[1];
        place[1] = place[0], place[0] = y;
        return L->passes->up(L->self, &g->smooth.up, b, place[1], e, y);
    }
    TRY(L->P->table->apply(L->P->self, 1, e, 1, place[0]));
    TRY(kry_smoothing_run(&g->smooth, &g->smooth.up, false, b, place));
done:
    return st;
}

static kry_status correct(kry_hierarchy *H, int i, const kry_vec *b, kry_vec *x);

/* x := M b from level i on. The iterate goes to and fro between x and the level's own room, as often on
 * the way down as on the way up, and so ends in x. */
static kry_status visit(kry_hierarchy *H, int i, const kry_vec *b, kry_vec *x)
{
    kry_status st = KRY_OK;
    kry_rung *g = &H->rung[i], *next = g + 1;
    kry_vec *place[2] = { x, g->work };

    if (i == H->count - 1) return H->coarse ? kry_coarse_solve(H->coarse, b, x) : KRY_OK;
    TRY(go_down(g, b, place, next->b));
    TRY(correct(H, i + 1, next->b, next->x));
    TRY(go_up(g, b, next->x, place));
done:
    return st;
}

/* W: x := x + M (b - A x), the second visit. */
static kry_status visit_again(kry_hierarchy *H, int i, const kry_vec *b, kry_vec *x)
{
    kry_status st = KRY_OK;
    kry_rung *g = &H->rung[i];
    kry_vec *r = g->again[0], *d = g->again[1];

    TRY(kry_op_residual(g->level.A, b, x, r));
    TRY(visit(H, i, r, d));
    TRY(kry_vec_axpby(1, d, 1, x));
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

/* K: x, which is M b, becomes the best approximation in the span of it and of M r, r what it leaves. The
 * second direction is left out if the first takes three quarters of the residual away. Waits. */
static kry_status two_steps(kry_hierarchy *H, int i, const kry_vec *b, kry_vec *x)
{
    kry_status st = KRY_OK;
    kry_rung *g = &H->rung[i];
    kry_vec *r = g->again[0], *d = g->again[1], *Ax = g->again[2], *Ad = g->again[3];
    double xAx, xb, rr, bb, dAx, dAd, dr;

    TRY(kry_op_apply(g->level.A, 1, x, 0, Ax));
    TRY(kry_vec_dot(x, Ax, &xAx));
    TRY(kry_vec_dot(x, b, &xb));
    if (!(xAx > 0)) goto done; /* x is zero */
    TRY(kry_vec_copy(b, r));
    TRY(kry_vec_axpby(-xb / xAx, Ax, 1, r));
    TRY(kry_vec_dot(r, r, &rr));
    TRY(kry_vec_dot(b, b, &bb));
    if (rr <= bb / 16) return scale(xb / xAx, x, d);
    TRY(visit(H, i, r, d));
    TRY(kry_op_apply(g->level.A, 1, d, 0, Ad));
    TRY(kry_vec_dot(d, Ax, &dAx));
    TRY(kry_vec_dot(d, Ad, &dAd));
    TRY(kry_vec_dot(d, r, &dr));
    const double rest = dAd - dAx * dAx / xAx;
    if (!(rest > 0)) return scale(xb / xAx, x, d);
    TRY(kry_vec_axpby(dr / rest, d, xb / xAx - dAx * dr / (xAx * rest), x));
done:
    return st;
}

/* x := what the levels from i on make of b, for the level above. */
static kry_status correct(kry_hierarchy *H, int i, const kry_vec *b, kry_vec *x)
{
    kry_status st = KRY_OK;

    TRY(visit(H, i, b, x));
    if (!kry_cycle_room(H->cycle.shape, i, H->count)) return KRY_OK;
    TRY((H->cycle.shape == KRY_CYCLE_W ? visit_again : two_steps)(H, i, b, x));
done:
    return st;
}

int kry_cycle_room(kry_cycle_shape shape, int i, int count)
{
    if (i == 0 || i == count - 1) return 0; /* the finest is visited once, the coarsest is exact */
    return shape == KRY_CYCLE_V ? 0 : shape == KRY_CYCLE_W ? 2 : 4;
}

kry_status kry_cycle_run(kry_hierarchy *H, const kry_vec *b, kry_vec *x)
{
    return visit(H, 0, b, x);
}
