/*
 * pipe_cg.c - pipelined conjugate gradients, for A and M symmetric positive definite: all sums of an iteration are
 * one reduction, which the products with M and A do not wait for. Kernels: cl/krylov/pipe_cg.cl.
 *
 *   u := M r,  w := A u,  gamma := r'u,  delta := w'u         a cycle begins
 *   m := M w,  n := A m                                       while the sums are reduced
 *   beta := gamma / old gamma,  alpha := gamma / (delta - beta gamma / old alpha)
 *   p := u + beta p,  s := w + beta s = A p,  q := m + beta q = M s,  z := n + beta z = A q
 *   x := x + alpha p,  r := r - alpha s,  u := u - alpha q,  w := w - alpha z
 *
 * Four vectors that are products follow recurrences, and rounding errors carry them away from what they stand
 * for. Every REPLACE steps they are computed anew, and u with them. What is left of it in r is seen by the true residual, as
 * in all methods.
 *
 * Storage     w, n, p, s, z: 5 n numbers beside r; u, m, q with a preconditioner
 * Per step    one product + 13 words per unknown, with a preconditioner 18; every REPLACE steps three products and
 *             two with M more
 * Breakdown   r'M r <= 0: M is not positive definite; u'A u <= 0: A is not
 * Source      P. Ghysels, W. Vanroose, Hiding global synchronization latency in the preconditioned conjugate
 *             gradient algorithm, Parallel Comput. 40 (2014), 224-238, algorithm 4; what to replace: S. Cools,
 *             E. F. Yetkin, E. Agullo, L. Giraud, W. Vanroose, Analyzing the effect of local rounding error
 *             propagation on the maximal attainable accuracy of the pipelined conjugate gradient method, SIAM J.
 *             Matrix Anal. Appl. 39 (2018), 426-450
 */
#include "krylov/workspace.h"

enum { REPLACE = 20, SUMS = 3 };

typedef struct pipe_cg {
    kryi_workspace W;
    kry_vec *w, *n, *p, *s, *z;
    kry_vec *u, *m, *q; /* NULL without a preconditioner: r, w, s */
    kry_sum *sums;      /* r'u, w'u, r'r */
    kryi_kernel *test, *add_up, *step;
} pipe_cg;

/* The stopping test and, unless it is the `only` thing to do, alpha and beta. */
static kry_status test_residual(pipe_cg *S, cl_int only)
{
    const kryi_poll *poll = &S->W.poll;
    return kryi_launch(poll->dev, S->test, 1,
                       ARGS(ARG(only), ARG(poll->iteration), ARG(poll->slot),
                            ARG_ACC(poll->dev, poll->target2), ARG_SUM(S->sums), ARG(poll->state),
                            ARG(poll->history)));
}

static kry_status check_residual(void *self) { return test_residual(self, 1); }

/* y := B v; without B it is v. */
static kry_status apply(const kry_op *B, const kry_vec *v, kry_vec *y)
{
    return B ? B->table->apply(B->self, 1, v, 0, y) : KRY_OK;
}

/* The vectors after a step, and the sums of the next iteration. */
static kry_status step(pipe_cg *S)
{
    kry_vec *x = S->W.poll.c->x, *r = S->W.poll.c->r;
    const cl_mem m = S->u ? S->m->buffer : NULL, q = S->u ? S->q->buffer : NULL,
                 u = S->u ? S->u->buffer : NULL;

    return kryi_launch_rows(x, S->step,
                            ARGS(ARG(S->W.poll.state), ARG(S->n->buffer), ARG(S->z->buffer),
                                 ARG(S->w->buffer), ARG(S->s->buffer), ARG(S->p->buffer),
                                 ARG_VEC(x), ARG(r->buffer), ARG(S->sums->buffer), ARG(m), ARG(q),
                                 ARG(u)),
                            S->sums);
}

/* u := M r,  w := A u and the sums of the next iteration */
static kry_status compute_sums(pipe_cg *S)
{
    kry_status st = KRY_OK;
    const kry_vec *r = S->W.poll.c->r;
    kry_vec *u = S->u ? S->u : S->W.poll.c->r;

    TRY(apply(S->W.K->M, r, u));
    TRY(apply(S->W.K->A, u, S->w));
    TRY(kryi_launch_rows(
        r, S->add_up, ARGS(ARG(r->buffer), ARG(S->w->buffer), ARG(u->buffer), ARG(S->sums->buffer)),
        S->sums));
done:
    return st;
}

/* All vectors that are products, from r and p. */
static kry_status replace(pipe_cg *S)
{
    kry_status st = KRY_OK;

    TRY(apply(S->W.K->A, S->p, S->s));
    TRY(apply(S->W.K->M, S->s, S->q));
    TRY(apply(S->W.K->A, S->u ? S->q : S->s, S->z));
    TRY(compute_sums(S));
done:
    return st;
}

/* The sums of this iteration over all parts, while the device multiplies: n := A M w */
static kry_status multiply(pipe_cg *S)
{
    kry_status st = KRY_OK;
    kryi_layout *layout = S->w->layout;

    TRY(kryi_layout_reduce_begin(layout, &S->sums, 1));
    TRY(apply(S->W.K->M, S->w, S->m));
    TRY(apply(S->W.K->A, S->u ? S->m : S->w, S->n));
    TRY(kryi_layout_reduce_end(layout, &S->sums, 1));
done:
    return st;
}

static kry_status pipe_cg_cycle(void *self, kryi_cycle *c)
{
    kry_status st = KRY_OK;
    pipe_cg *S = self;
    kry_vec *empty[] = { S->p, S->s, S->z, S->q };
    bool go;

    TRY(kryi_poll_begin(&S->W.poll, c, check_residual, S));
    for (size_t i = 0; i < COUNT(empty); i++) /* beta = 0 must not meet old NaNs */
        if (empty[i]) TRY(kry_vec_fill(empty[i], 0));
    TRY(compute_sums(S));
    for (int64_t steps = 1;; steps++) {
        TRY(multiply(S));
        TRY(kryi_poll_next(&S->W.poll, &go));
        if (!go) break;
        TRY(test_residual(S, 0));
        TRY(step(S));
        if (steps % REPLACE == 0) TRY(replace(S));
    }
done:
    return st;
}

static kry_status pipe_cg_create(void *self)
{
    kry_status st = KRY_OK;
    pipe_cg *S = self;
    const kryi_krylov *K = S->W.K;
    TRY(kryi_workspace_vectors(&S->W, 1, VECTORS_AT(&S->w, &S->n, &S->p, &S->s, &S->z)));
    if (K->M) TRY(kryi_workspace_vectors(&S->W, 1, VECTORS_AT(&S->u, &S->m, &S->q)));
    TRY(kryi_workspace_sums(&S->W, SUMS, SUMS_AT(&S->sums)));
    TRY(kryi_workspace_kernels(&S->W, "pipe_cg", "-DKRY_UNALIGNED",
                               KERNELS_AT({ "pipe_cg_check", &S->test },
                                          { "pipe_cg_sums", &S->add_up },
                                          { "pipe_cg_step", &S->step })));
done:
    return st;
}

static double pipe_cg_bytes(const void *self)
{
    const pipe_cg *S = self;
    return kryi_krylov_bytes(S->W.K, 1, S->u ? 18 : 13);
}

const kryi_method kryi_pipe_cg_method = {
    .kind = "pipe-cg",
    .who = "kry_krylov_create",
    .takes = KRY_TAKES_DEFINITE,
    .precond = KRY_M_IS_INDEFINITE("r'Mr"),
    .no_precond = { "r'r", "is not positive", KRY_INDEFINITE_MATRIX },
    .matrix = KRY_A_IS_INDEFINITE("u'Au"),
    .size = sizeof(pipe_cg),
    .create = pipe_cg_create,
    .cycle = pipe_cg_cycle,
    .bytes = pipe_cg_bytes,
};
