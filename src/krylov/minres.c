/*
 * minres.c - MINRES, for A symmetric, definite, indefinite or singular, and M symmetric positive definite.
 * Kernels: cl/krylov/minres.cl.
 *
 *   v := r,  z := M v,  gamma := sqrt(z'v),  eta := gamma      a cycle begins
 *   delta := z'A z / gamma^2                                   v, z: gamma times Lanczos' vectors
 *   v' := A z / gamma - (delta / gamma) v - (gamma / old gamma) old v
 *   z' := M v',  gamma' := sqrt(z'' v')
 *   the rotation c, s that takes gamma' out of the column (alpha_3, alpha_2, alpha_0, gamma')
 *   w' := (z / gamma - alpha_3 old w - alpha_2 w) / alpha_1
 *   x := x + c eta w',  r := s^2 r - (c eta / alpha_1) v',  eta := -s eta
 *
 * Of several columns each has its own: recurrences side by side, scalars and sums column after column.
 *
 * Storage     v, old v, w, old w, A z: 5 n numbers beside r; with M two z more
 * Per step    one product + 13 words per unknown (cl/krylov/minres.cl)
 * Waits       none: the scalars live on the device
 * Breakdown   z'v < 0: M is not positive definite; alpha_1 = 0: b is not in the range of A
 * Source      C. C. Paige, M. A. Saunders, Solution of sparse indefinite systems of linear equations, SIAM J.
 *             Numer. Anal. 12 (1975), 617-629; with M: H. C. Elman, D. J. Silvester, A. J. Wathen, Finite
 *             elements and fast iterative solvers, 2nd ed. (2014), algorithm 4.1; r: S.-C. T. Choi, C. C.
 *             Paige, M. A. Saunders, MINRES-QLP, SIAM J. Sci. Comput. 33 (2011), 1810-1836
 */
#include "krylov/workspace.h"
#include <limits.h>
#include <math.h>
#include <stdlib.h>

typedef struct minres {
    kryi_workspace W;
    kry_vec *q, *v, *old_v, *w, *old_w;
    kry_vec *z, *next_z;          /* NULL without M: v, and the next one */
    kry_sum *rr, *delta, *square; /* r'r, z'A z, z'v */
    kryi_kernel *begin, *lanczos, *update;
    /* A power of two that A is multiplied by, so that squares of A M v neither overflow nor vanish; 1 but for an A M
     * of extreme numbers. */
    double unit;
    int64_t seen; /* A's updates when the unit was found; -1: it was not yet */
    /* A cycle ends with KRY_END_MATRIX when ||A M r|| <= ask ||A M|| ||r||, by the recurrence; 0: never. */
    double ask;
} minres;

static void swap(kry_vec **a, kry_vec **b)
{
    kry_vec *t = *a;
    *a = *b, *b = t;
}

/* The stopping test, and unless it `only_tests` the next v in the place of the last one. */
static kry_status lanczos(minres *S, bool only_tests)
{
    const kryi_poll *poll = &S->W.poll;
    const kryi_scalar unit = kryi_scalar_of(poll->dev, S->unit);
    const kry_arg rest[] = {
        ARG(S->v->ld),      ARG(poll->iteration),  ARG(poll->slot),       ARG_ACC(poll->dev, unit),
        ARG(S->rr->buffer), ARG(S->rr->count),     ARG(S->delta->buffer), ARG(S->delta->count),
        ARG(poll->step),    ARG(poll->state),      ARG(poll->history),    ARG(S->q->buffer),
        ARG(S->v->buffer),  ARG(S->old_v->buffer), ARG(S->square->buffer)
    };

    return kryi_launch_rows(S->v, S->lanczos, rest, COUNT(rest), only_tests ? NULL : S->square);
}

static kry_status check_residual(void *self) { return lanczos(self, true); }

/* z'v of the v that is there, which is z without M. */
static kry_status precondition(minres *S, const kry_vec *v, kry_vec *z)
{
    kry_status st = KRY_OK;

    if (S->W.K->M) TRY(kryi_op_run_dot(S->W.K->M, v, z, S->square));
    TRY(kryi_layout_reduce(v->layout, &S->square, 1));
done:
    return st;
}

/* Whether the end of this cycle may be followed up: not within another solve, nor where A's null space is promised, or that
 * it has none. */
static bool may_ask(const minres *S, const kryi_cycle *c)
{
    enum { MOST = 8 }; /* vectors, each of which costs a search */
    const kryi_krylov *K = S->W.K;
    const kryi_null_space *null = &K->residual.null;

    return (c->X || c->stopping == &K->stopping) && S->unit == 1 &&
           !(K->A->shape.traits & KRY_POSITIVE) && !K->residual.unpinned && null->found &&
           (!null->certified || null->vectors->k < MOST) &&
           K->stopping.criteria.test != KRY_STOP_NEVER;
}

/* x and r; then v, w and z are the next ones. q := A z */
static kry_status update(minres *S)
{
    kry_status st = KRY_OK;
    const kryi_poll *poll = &S->W.poll;
    const kry_vec *x = kryi_cycle_x(S->W.poll.c), *r = kryi_cycle_r(S->W.poll.c);
    const kry_vec *z = S->z ? S->z : S->v;
    const kryi_scalar unit = kryi_scalar_of(poll->dev, S->unit);
    const kryi_scalar ask = kryi_scalar_of(poll->dev, may_ask(S, S->W.poll.c) ? S->ask : 0);
    const kry_arg rest[] = { ARG(S->v->ld),
                             ARG_ACC(poll->dev, unit),
                             ARG_ACC(poll->dev, ask),
                             ARG(S->square->buffer),
                             ARG(S->square->count),
                             ARG(poll->state),
                             ARG(poll->step),
                             ARG(z->buffer),
                             ARG(S->w->buffer),
                             ARG(S->old_w->buffer),
                             ARG(S->old_v->buffer),
                             ARG_VEC(x),
                             ARG(x->ld),
                             ARG(r->buffer),
                             ARG(S->rr->buffer) };

    TRY(precondition(S, S->old_v, S->next_z));
    TRY(kryi_launch_rows(S->v, S->update, rest, COUNT(rest), S->rr));
    swap(&S->v, &S->old_v);
    swap(&S->w, &S->old_w);
    swap(&S->z, &S->next_z);
    TRY(kryi_op_run_dot(S->W.K->A, S->z ? S->z : S->v, S->q, S->delta));
done:
    return st;
}

/* How large A M is, by its product q = A M v with the first v. Waits. */
static kry_status find_unit(minres *S)
{
    kry_status st = KRY_OK;
    double norm, size;

    if (S->seen == S->W.K->A->updates) return KRY_OK;
    S->unit = 1;
    TRY(kry_vec_norm2(S->v, &norm));
    TRY(kry_vec_norm2(S->q, &size));
    const double ratio = size / norm;
    if (!(ratio > 0 && isfinite(ratio))) return KRY_OK;
    S->unit = kryi_krylov_unit(S->v->type, ratio);
    S->seen = S->W.K->A->updates;
done:
    return st;
}

static kry_status begin(minres *S, kryi_cycle *c)
{
    kry_status st = KRY_OK;
    kry_vec *empty[] = { S->old_v, S->w, S->old_w };

    if (c->stopping->iteration == 0) S->ask = S->v->type == KRY_F64 ? 1e-7 : 1e-3;
    TRY(kryi_poll_begin(&S->W.poll, c, check_residual, S));
    TRY(kry_vec_copy(kryi_cycle_r(c), S->v));
    for (size_t i = 0; i < COUNT(empty); i++) TRY(kry_vec_fill(empty[i], 0));
    TRY(kry_vec_dot_sum(S->v, S->v, S->rr));
    TRY(kry_vec_dot_sum(S->v, S->v, S->square));
    TRY(precondition(S, S->v, S->z));
    TRY(kryi_op_run_dot(S->W.K->A, S->z ? S->z : S->v, S->q, S->delta));
    TRY(find_unit(S));
    const kry_arg args[] = { ARG(S->square->buffer), ARG(S->square->count), ARG(S->W.poll.step) };
    TRY(kryi_launch_range(S->W.poll.dev, S->begin, (kryi_range){ 1, .columns = S->W.columns }, args,
                          COUNT(args)));
done:
    return st;
}

static kry_status iterate(minres *S, kryi_cycle *c)
{
    kry_status st = KRY_OK;
    bool go;

    TRY(begin(S, c));
    for (;;) {
        TRY(kryi_layout_reduce(c->r->layout, (kry_sum *[]){ S->rr, S->delta }, 2));
        TRY(kryi_poll_next(&S->W.poll, &go));
        if (!go) break;
        TRY(lanczos(S, false));
        TRY(update(S));
    }
done:
    return st;
}

static kry_status minres_create(void *self)
{
    kry_status st = KRY_OK;
    minres *S = self;
    const kryi_krylov *K = S->W.K;

    S->unit = 1, S->seen = -1;
    kry_vec **const vectors[] = { &S->q, &S->v, &S->old_v, &S->w, &S->old_w, &S->z, &S->next_z };
    TRY(kryi_workspace_vectors(&S->W, S->W.columns, vectors, COUNT(vectors) - (K->M ? 0 : 2)));
    TRY(kryi_workspace_sums(&S->W, 1, SUMS_AT(&S->rr, &S->delta, &S->square)));
    const kryi_named_kernel kernels[] = { { "minres_begin", &S->begin },
                                          { "minres_lanczos", &S->lanczos },
                                          { "minres_update", &S->update } };
    TRY(kryi_kernels_get(K->A->dev, "minres", K->A->shape.type, "-DKRY_UNALIGNED", kernels,
                         COUNT(kernels)));
done:
    return st;
}

/* ---- b out of the range ------------------------------------------------------------------------
 *
 * A M maps r to almost zero: either b is out of the range of a singular A, or A is ill-conditioned. w := M r is then close
 * to A's null space, if there is one, and A u = A w, solved for u from zero, decides: w - u is the part of w that A maps to
 * zero, to rounding, and if A is regular next to nothing is left of w. */

typedef struct search {
    minres *S; /* a state of its own */
    kryi_stopping stopping;
    kry_vec *g, *u; /* in the workspace of S */
    double norm_A;  /* estimated */
} search;

/* w := w / ||w||, g := A w. *mapped: ||A w|| / ||A||, infinite if nothing is left of w */
static kry_status measure_mapped(search *F, kry_vec *w, double *mapped)
{
    kry_status st = KRY_OK;
    kryi_krylov *K = F->S->W.K;
    double size;

    *mapped = INFINITY;
    TRY(kryi_null_space_project(&K->residual.null, w));
    TRY(kry_vec_norm2(w, &size));
    if (!(size > 0 && isfinite(size))) return KRY_OK;
    TRY(kry_vec_axpby(1 / size, w, 0, w));
    TRY(kry_op_apply(K->A, 1, w, 0, F->g));
    TRY(kry_vec_norm2(F->g, &size));
    *mapped = size / F->norm_A;
done:
    return st;
}

/* u := a solution of A u = g, from at most so many iterations, whose number is left in F->stopping. */
static kry_status solve_for_u(search *F, double mapped, double least, int64_t most)
{
    kry_status st = KRY_OK;
    kryi_cycle c = { .x = F->u,
                     .r = F->g,
                     .norm = mapped * F->norm_A,
                     .goal = 0.25 * least * F->norm_A,
                     .stopping = &F->stopping };

    TRY(kry_vec_fill(F->u, 0));
    kryi_stopping_begin(&F->stopping, most, true);
    TRY(iterate(F->S, &c));
done:
    return st;
}

/* w := a vector of norm 1 that A maps to zero but for rounding, close to M r, orthogonal to what is known; if there is none
 * *found is false. used: iterations, at most so many. Waits. */
static kry_status find_null_vector(minres *S, const kry_vec *r, kry_vec *w, int64_t most,
                                   int64_t *used, bool *found)
{
    kry_status st = KRY_OK;
    kryi_krylov *K = S->W.K;
    /* Where A is regular and of condition 1e12, ||A w|| / ||A|| is at least 1e-12 for every w. */
    const double least = 16 * K->stopping.roundoff;
    search F = { .stopping = { .dev = K->A->dev, .waits = K->stopping.waits } };
    void *self = NULL;
    double mapped, last = INFINITY;

    TRY(kryi_stopping_reserve(&F.stopping, most));
    TRY(kryi_workspace_create(K, 1, &self));
    F.S = self;
    TRY(kryi_workspace_vectors(&F.S->W, 1, VECTORS_AT(&F.g, &F.u)));
    TRY(kryi_residual_norm_of_A(&K->residual, F.g, &F.norm_A));
    TRY(K->M ? kry_op_apply(K->M, 1, r, 0, w) : kry_vec_copy(r, w));
    for (;;) {
        TRY(measure_mapped(&F, w, &mapped));
        *found = mapped <= least;
        if (*found || !(mapped <= 0.5 * last) || *used >= most) break;
        TRY(solve_for_u(&F, mapped, least, most - *used));
        TRY(kry_vec_axpby(-1, F.u, 1, w));
        *used += F.stopping.iteration, last = mapped;
    }
done:
    kryi_workspace_destroy(self);
    free(F.stopping.history);
    return st;
}

/* The cycle has ended because A M maps r to almost zero: take what A maps to zero out of later ones, or have them ask
 * again only for much less. The iterations of the search count. Waits. */
static kry_status follow_up(minres *S, kryi_cycle *c)
{
    kry_status st = KRY_OK;
    kryi_krylov *K = S->W.K;
    kryi_stopping *s = c->stopping;
    const int64_t share = 2 * s->iteration + 50, rest = (s->max_iter - s->iteration) / 2;
    int64_t used = 0;
    bool found = false;
    kry_vec *w = NULL;

    TRY(kry_vec_create(c->r->dev, c->r->type, c->r->n, 1, &w));
    if (rest > 0) TRY(find_null_vector(S, c->r, w, share < rest ? share : rest, &used, &found));
    while (used-- > 0) TRY(kryi_stopping_record(s, ++s->iteration, s->residual / s->unit));
    if (found) TRY(kryi_krylov_add_null(K, c, w));
    if (!found) S->ask *= sqrt(sqrt(K->stopping.roundoff));
    if (S->ask < K->stopping.roundoff) S->ask = 0;
    s->end = KRY_END_NONE;
done:
    kry_vec_release(&w);
    return st;
}

static kry_status minres_cycle(void *self, kryi_cycle *c)
{
    kry_status st = KRY_OK;
    minres *S = self;

    TRY(iterate(S, c));
    if (!c->X && S->ask > 0 && c->stopping->end == KRY_END_MATRIX && may_ask(S, c))
        TRY(follow_up(S, c));
done:
    return st;
}

static double minres_bytes(const void *self)
{
    const minres *S = self;
    return kryi_krylov_bytes(S->W.K, 1, 13);
}

const kryi_method kryi_minres_method = {
    .kind = "minres",
    .who = "kry_krylov_create",
    .projects = true,
    .finds_null = true,
    .precond = { "v'Mv", "is not positive: the preconditioner is not positive definite",
                 KRY_INDEFINITE_PRECOND },
    .no_precond = { "v'v", "is not positive", KRY_INDEFINITE_MATRIX },
    .matrix = { "alpha",
                "allows no other step: A maps the residual to zero, and b is not in its range",
                KRY_INDEFINITE_MATRIX },
    .size = sizeof(minres),
    .create = minres_create,
    .cycle = minres_cycle,
    .bytes = minres_bytes,
    .most_columns = INT_MAX,
};
