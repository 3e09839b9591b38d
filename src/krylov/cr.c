/*
 * cr.c - preconditioned conjugate residuals, for A symmetric, indefinite or semi-definite as it may be,
 * and M positive definite. Kernels: cl/krylov/cr.cl.
 *
 *   z := M r,  w := A z,  rho := z'w                          a cycle begins
 *   p := z + beta p,  q := w + beta q = A p,  y := M q        rho decides whether to go on
 *   alpha := rho / q'y,  x := x + alpha p,  r := r - alpha q,  z := z - alpha y = M r
 *   w := A z,  rho' := z'w,  beta := rho' / rho
 *
 * Storage     w, p, q: 3 n numbers beside r; z and y with a preconditioner
 * Per step    matrix + 15 words per unknown; with a preconditioner 3 more and its own
 * Breakdown   z'w = 0, which an indefinite A allows; q'y <= 0: M is not positive definite
 * Source      Y. Saad, Iterative methods for sparse linear systems, 2nd ed. (2003), algorithm 6.20
 */
#include "krylov/workspace.h"

typedef struct cr {
    kryi_workspace W;
    kry_vec *w, *p, *q;
    kry_vec *z, *y;         /* NULL without a preconditioner: r, q */
    kry_sum *rho, *qy, *rr; /* z'w, q'y, r'r */
    kryi_kernel *direction, *step;
} cr;

/* p := z + beta p,  q := w + beta q for n unknowns; n = 0: only whether to go on */
static kry_status direct(cr *S, int64_t n)
{
    const kryi_poll *poll = &S->W.poll;
    const kry_vec *z = S->z ? S->z : S->W.poll.c->r;
    const int64_t groups = kryi_groups_for_sums(poll->dev, z->type, n);
    return kryi_launch(
        poll->dev, S->direction, groups,
        ARGS(ARG(poll->iteration), ARG(poll->slot), ARG_ACC(poll->dev, poll->target2),
             ARG_SUM(S->rr), ARG_SUM(S->rho), ARG(poll->step), ARG(poll->state), ARG(poll->history),
             ARG(n), ARG(z->buffer), ARG(S->w->buffer), ARG(S->p->buffer), ARG(S->q->buffer)));
}

static kry_status check_residual(void *self) { return direct(self, 0); }

/* y := M q,  q'y;  x += alpha p,  r -= alpha q,  z -= alpha y;  w := A z,  rho := z'w */
static kry_status step(cr *S)
{
    kry_status st = KRY_OK;
    kry_vec *x = S->W.poll.c->x, *r = S->W.poll.c->r, *z = S->z ? S->z : r;
    const cl_mem y_numbers = S->y ? S->y->buffer : NULL, z_numbers = S->z ? S->z->buffer : NULL;

    TRY(S->y ? kryi_op_run_dot(S->W.K->M, S->q, S->y, S->qy) : kry_vec_dot_sum(S->q, S->q, S->qy));
    TRY(kryi_layout_reduce(x->layout, &S->qy, 1));
    TRY(kryi_launch_rows(x, S->step,
                         ARGS(ARG(S->W.poll.state), ARG(S->W.poll.step), ARG_SUM(S->qy),
                              ARG(S->p->buffer), ARG(S->q->buffer), ARG_VEC(x), ARG(r->buffer),
                              ARG(S->rr->buffer), ARG(y_numbers), ARG(z_numbers)),
                         S->rr));
    TRY(kryi_op_run_dot(S->W.K->A, z, S->w, S->rho));
done:
    return st;
}

static kry_status cr_cycle(void *self, kryi_cycle *c)
{
    kry_status st = KRY_OK;
    cr *S = self;
    bool go;

    TRY(kry_vec_fill(S->p, 0.0)); /* beta = 0 must not meet old NaNs */
    TRY(kry_vec_fill(S->q, 0.0));
    if (S->z) TRY(S->W.K->M->table->apply(S->W.K->M->self, 1, c->r, 0, S->z));
    TRY(kry_vec_dot_sum(c->r, c->r, S->rr));
    TRY(kryi_op_run_dot(S->W.K->A, S->z ? S->z : c->r, S->w, S->rho));
    TRY(kryi_poll_begin(&S->W.poll, c, check_residual, S));
    for (;;) {
        TRY(kryi_layout_reduce(c->r->layout, (kry_sum *[]){ S->rr, S->rho }, 2));
        TRY(kryi_poll_next(&S->W.poll, &go));
        if (!go) break;
        TRY(direct(S, c->r->n));
        TRY(step(S));
    }
done:
    return st;
}

static kry_status cr_create(void *self)
{
    kry_status st = KRY_OK;
    cr *S = self;

    TRY(kryi_workspace_vectors(&S->W, 1, VECTORS_AT(&S->w, &S->p, &S->q)));
    if (S->W.K->M) TRY(kryi_workspace_vectors(&S->W, 1, VECTORS_AT(&S->z, &S->y)));
    TRY(kryi_workspace_sums(&S->W, 1, SUMS_AT(&S->rho, &S->qy, &S->rr)));
    TRY(kryi_workspace_kernels(
        &S->W, "cr", "", KERNELS_AT({ "cr_direction", &S->direction }, { "cr_step", &S->step })));
done:
    return st;
}

const kryi_method kryi_cr_method = {
    .kind = "cr",
    .who = "kry_solver_create",
    .precond = KRY_M_IS_INDEFINITE("q'Mq"),
    .no_precond = { "q'q",
                    "is not positive: A maps the direction to zero, and b is not in its range",
                    KRY_INDEFINITE_MATRIX },
    .matrix = { "r'M A M r", "does not allow another step: A is indefinite, or b not in its range",
                KRY_INDEFINITE_MATRIX },
    .size = sizeof(cr),
    .create = cr_create,
    .cycle = cr_cycle,
};
