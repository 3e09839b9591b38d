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
} minres;

/* The stopping test, and unless it `only_tests` the next v in the place of the last one. */
static kry_status lanczos(minres *S, bool only_tests)
{
    const kryi_poll *poll = &S->W.poll;
    const kryi_scalar unit = kryi_scalar_of(poll->dev, S->unit);

    return kryi_launch_rows(S->v, S->lanczos,
                            ARGS(ARG(S->v->ld), ARG(poll->iteration), ARG(poll->slot),
                                 ARG_ACC(poll->dev, unit), ARG_SUM(S->rr), ARG_SUM(S->delta),
                                 ARG(poll->step), ARG(poll->state), ARG(poll->history),
                                 ARG(S->q->buffer), ARG(S->v->buffer), ARG(S->old_v->buffer),
                                 ARG(S->square->buffer)),
                            only_tests ? NULL : S->square);
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

/* x and r; then v, w and z are the next ones. q := A z */
static kry_status update(minres *S)
{
    kry_status st = KRY_OK;
    const kryi_poll *poll = &S->W.poll;
    const kry_vec *x = kryi_cycle_x(S->W.poll.c), *r = kryi_cycle_r(S->W.poll.c);
    const kry_vec *z = S->z ? S->z : S->v;
    const kryi_scalar unit = kryi_scalar_of(poll->dev, S->unit);
    const kryi_scalar ask = kryi_scalar_of(poll->dev, poll->c->ask);

    TRY(precondition(S, S->old_v, S->next_z));
    TRY(kryi_launch_rows(S->v, S->update,
                         ARGS(ARG(S->v->ld), ARG_ACC(poll->dev, unit), ARG_ACC(poll->dev, ask),
                              ARG_SUM(S->square), ARG(poll->state), ARG(poll->step), ARG(z->buffer),
                              ARG(S->w->buffer), ARG(S->old_w->buffer), ARG(S->old_v->buffer),
                              ARG_VEC(x), ARG(x->ld), ARG(r->buffer), ARG(S->rr->buffer)),
                         S->rr));
    kryi_workspace_swap(&S->v, &S->old_v);
    kryi_workspace_swap(&S->w, &S->old_w);
    kryi_workspace_swap(&S->z, &S->next_z);
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

    TRY(kryi_poll_begin(&S->W.poll, c, check_residual, S));
    TRY(kry_vec_copy(kryi_cycle_r(c), S->v));
    for (size_t i = 0; i < COUNT(empty); i++) TRY(kry_vec_fill(empty[i], 0));
    TRY(kry_vec_dot_sum(S->v, S->v, S->rr));
    TRY(kry_vec_dot_sum(S->v, S->v, S->square));
    TRY(precondition(S, S->v, S->z));
    TRY(kryi_op_run_dot(S->W.K->A, S->z ? S->z : S->v, S->q, S->delta));
    TRY(find_unit(S));
    if (S->unit != 1) c->ask = 0;
    TRY(kryi_launch_range(S->W.poll.dev, S->begin, (kryi_range){ 1, .columns = S->W.columns },
                          ARGS(ARG_SUM(S->square), ARG(S->W.poll.step))));
done:
    return st;
}

static kry_status minres_cycle(void *self, kryi_cycle *c)
{
    kry_status st = KRY_OK;
    minres *S = self;
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

    S->unit = 1, S->seen = -1;
    TRY(kryi_workspace_vectors(&S->W, S->W.columns,
                               VECTORS_AT(&S->q, &S->v, &S->old_v, &S->w, &S->old_w)));
    if (S->W.K->M) TRY(kryi_workspace_vectors(&S->W, S->W.columns, VECTORS_AT(&S->z, &S->next_z)));
    TRY(kryi_workspace_sums(&S->W, 1, SUMS_AT(&S->rr, &S->delta, &S->square)));
    TRY(kryi_workspace_kernels(&S->W, "minres", "-DKRY_UNALIGNED",
                               KERNELS_AT({ "minres_begin", &S->begin },
                                          { "minres_lanczos", &S->lanczos },
                                          { "minres_update", &S->update })));
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
    .finds_null = true,
    .precond = KRY_M_IS_INDEFINITE("v'Mv"),
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
