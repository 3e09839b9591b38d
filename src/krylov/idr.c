/*
 * idr.c - IDR(s) for any square A, with a preconditioner M from the right: the variant whose vectors are
 * biorthogonal. Kernels: cl/krylov/idr.cl.
 *
 *   f := P'r                                                   s + 1 steps begin; P: s random vectors
 *   for k = 0 ... s-1:  c: (P'G) c = f,  v := r - sum c_i g_i  from column k on, where P'G is triangular
 *                       u_k := omega M v + sum c_i u_i,  g_k := A u_k
 *                       alpha: makes g_k orthogonal to p_0 ... p_(k-1);  g_k -= sum alpha_i g_i, u_k the same
 *                       beta := f_k / p_k'g_k,  r -= beta g_k,  x += beta u_k,  f := f - beta P'g_k
 *   z := M r,  t := A z,  omega := t'r / t't,  r -= omega t,  x += omega z
 *
 * Storage     3 s + 1 vectors of n numbers beside r; with M 2 more
 * Per step    one product + (3 s^2 + 12 s + 9) / (s + 1) words per unknown: 12 for s = 1, 21 for s = 4
 * Waits       none: all scalars live on the device
 * Breakdown   p_k'g_k = 0, t'r = 0: it restarts from the true residual, and if that was of no use with other
 *             vectors P
 * Source      M. B. van Gijzen, P. Sonneveld, Algorithm 913: an elegant IDR(s) variant that efficiently
 *             exploits biorthogonality properties, ACM Trans. Math. Softw. 38 (2011), 5:1-5:19; the wide
 *             angle: G. L. G. Sleijpen, H. A. van der Vorst, Numer. Algorithms 10 (1995), 203-223
 */
#include "krylov/workspace.h"

enum { MOST = 16, USUAL = 4, SCALARS = 3 + 3 * MOST + MOST * MOST };

typedef struct idr {
    kryi_workspace W;
    cl_int s;
    kry_vec *P, *G, *U;             /* n by s */
    kry_vec *t;                     /* A z */
    kry_vec *v, *z;                 /* NULL without M: z is r */
    kry_sum *rr, *products, *omega; /* r'r; P'r or P'g; (t'r, t't) */
    kryi_kernel *begin, *test, *solve, *remove, *direction, *project, *update, *reduce;
    cl_mem scalars;
    bool others; /* P are the alternative vectors */
} idr;

/* P'w */
static kry_status multiply_by_P(idr *S, const kry_vec *w)
{
    kry_status st = KRY_OK;

    TRY(kryi_vec_dots(S->P, w, S->products));
    TRY(kryi_layout_reduce(w->layout, &S->products, 1));
done:
    return st;
}

/* v := r - G c,  u_k := omega M v + U c */
static kry_status direct(idr *S, cl_int k)
{
    kry_status st = KRY_OK;
    const kry_op *M = S->W.K->M;
    const kryi_poll *poll = &S->W.poll;
    const kry_vec *r = S->W.poll.c->r, *z = M ? S->z : r;
    const cl_mem removed = M ? NULL : S->G->buffer; /* with M in a launch of its own */
    const int64_t groups = kryi_groups_for(poll->dev, r->type, r->n);
    const kry_arg scalars[] = { ARG(S->s), ARG(k), ARG_SUM(S->products), ARG(S->scalars) };
    const kry_arg direction[] = { ARG(r->n),     ARG(S->s),        ARG(k),
                                  ARG(S->G->ld), ARG(poll->state), ARG(S->scalars),
                                  ARG(removed),  ARG(z->buffer),   ARG(S->U->buffer) };

    if (k == 0) TRY(multiply_by_P(S, r));
    TRY(kryi_launch(poll->dev, S->solve, 1, scalars, COUNT(scalars)));
    if (M) {
        TRY(kryi_launch(poll->dev, S->remove, groups,
                        ARGS(ARG(r->n), ARG(S->s), ARG(k), ARG(S->G->ld), ARG(poll->state),
                             ARG(S->scalars), ARG(S->G->buffer), ARG(r->buffer),
                             M ? (kry_arg)ARG(S->v->buffer) : (kry_arg){ 0 })));
        TRY(M->table->apply(M->self, 1, S->v, 0, S->z));
    }
    TRY(kryi_launch(poll->dev, S->direction, groups, direction, COUNT(direction)));
done:
    return st;
}

/* Step k of the first s: u_k and g_k, and what they take off the residual. */
static kry_status step(idr *S, cl_int k)
{
    kry_status st = KRY_OK;
    const kry_op *A = S->W.K->A;
    const kryi_poll *poll = &S->W.poll;
    kry_vec *x = S->W.poll.c->x, u = kryi_vec_column(S->U, k), g = kryi_vec_column(S->G, k);

    TRY(direct(S, k));
    TRY(A->table->apply(A->self, 1, &u, 0, &g));
    TRY(multiply_by_P(S, &g));
    TRY(kryi_launch(
        poll->dev, S->project, 1,
        ARGS(ARG(S->s), ARG(k), ARG_SUM(S->products), ARG(poll->state), ARG(S->scalars))));
    TRY(kryi_launch_rows(S->W.poll.c->r, S->update,
                         ARGS(ARG(k), ARG(S->G->ld), ARG(poll->state), ARG(S->scalars),
                              ARG(S->G->buffer), ARG(S->U->buffer), ARG(S->W.poll.c->r->buffer),
                              ARG_VEC(x), ARG(S->rr->buffer)),
                         S->rr));
done:
    return st;
}

/* The last step: the minimal residual along A M r. */
static kry_status reduce(idr *S)
{
    kry_status st = KRY_OK;
    const kry_op *A = S->W.K->A, *M = S->W.K->M;
    kry_vec *x = S->W.poll.c->x, *r = S->W.poll.c->r, *z = M ? S->z : r;
    const cl_mem z_numbers = M ? z->buffer : NULL;

    if (M) TRY(M->table->apply(M->self, 1, r, 0, z));
    TRY(A->table->apply(A->self, 1, z, 0, S->t));
    TRY(kryi_vec_dot_pair(S->t, r, S->omega));
    TRY(kryi_layout_reduce(r->layout, &S->omega, 1));
    TRY(kryi_launch_rows(r, S->reduce,
                         ARGS(ARG_SUM(S->omega), ARG(S->W.poll.state), ARG(S->scalars),
                              ARG(S->t->buffer), ARG(z_numbers), ARG(r->buffer), ARG_VEC(x),
                              ARG(S->rr->buffer)),
                         S->rr));
done:
    return st;
}

/* ---- a cycle --------------------------------------------------------------------------------- */

static kry_status check_residual(void *self)
{
    idr *S = self;
    const kryi_poll *poll = &S->W.poll;
    return kryi_launch(poll->dev, S->test, 1,
                       ARGS(ARG(poll->iteration), ARG(poll->slot),
                            ARG_ACC(poll->dev, poll->target2), ARG_SUM(S->rr), ARG(poll->state),
                            ARG(poll->history), ARG(S->scalars)));
}

static kry_status make_P(idr *S)
{
    enum { STREAM = 100 };
    kry_status st = KRY_OK;

    for (int i = 0; i < S->s; i++) {
        kry_vec p = kryi_vec_column(S->P, i);
        TRY(kryi_vec_fill_random((uint64_t)(STREAM + i + (S->others ? MOST : 0)), &p));
    }
done:
    return st;
}

static kry_status begin(idr *S, kryi_cycle *c)
{
    kry_status st = KRY_OK;

    if (S->others != c->progress->alternative) {
        S->others = c->progress->alternative;
        TRY(make_P(S));
    }
    for (int i = 0; i < S->s; i++) { /* factors of 0 must not meet NaN */
        kry_vec g = kryi_vec_column(S->G, i), u = kryi_vec_column(S->U, i);
        TRY(kry_vec_fill(&g, 0));
        TRY(kry_vec_fill(&u, 0));
    }
    TRY(kryi_launch(S->W.poll.dev, S->begin, 1, ARGS(ARG(S->scalars))));
    TRY(kry_vec_dot_sum(c->r, c->r, S->rr));
    TRY(kryi_poll_begin(&S->W.poll, c, check_residual, S));
done:
    return st;
}

static kry_status idr_cycle(void *self, kryi_cycle *c)
{
    kry_status st = KRY_OK;
    idr *S = self;
    bool go;

    TRY(begin(S, c));
    for (cl_int k = 0;; k = (k + 1) % (S->s + 1)) {
        TRY(kryi_layout_reduce(c->r->layout, &S->rr, 1));
        TRY(kryi_poll_next(&S->W.poll, &go));
        if (!go) break;
        TRY(check_residual(S));
        TRY(k < S->s ? step(S, k) : reduce(S));
    }
    kryi_progress_retry(c->progress, c->progress->iteration - S->W.poll.start <= S->s, true);
done:
    return st;
}

/* ---- the method ------------------------------------------------------------------------------ */

static kry_status idr_create(void *self)
{
    kry_status st = KRY_OK;
    idr *S = self;
    const kryi_krylov *K = S->W.K;
    kry_device *dev = K->A->dev;

    S->s = (cl_int)K->width;
    TRY(kryi_workspace_vectors(&S->W, S->s, VECTORS_AT(&S->P, &S->G, &S->U)));
    TRY(kryi_workspace_vectors(&S->W, 1, VECTORS_AT(&S->t)));
    if (K->M) TRY(kryi_workspace_vectors(&S->W, 1, VECTORS_AT(&S->v, &S->z)));
    TRY(kryi_workspace_sums(&S->W, 1, SUMS_AT(&S->rr)));
    TRY(kryi_workspace_sums(&S->W, S->s, SUMS_AT(&S->products)));
    TRY(kryi_workspace_sums(&S->W, 2, SUMS_AT(&S->omega)));
    TRY(kryi_workspace_buffer(&S->W, SCALARS * kryi_acc_size(dev), &S->scalars));
    TRY(make_P(S));
    TRY(kryi_workspace_kernels(
        &S->W, "idr", "-DKRY_UNALIGNED",
        KERNELS_AT({ "idr_begin", &S->begin }, { "idr_check", &S->test },
                   { "idr_solve", &S->solve }, { "idr_remove", &S->remove },
                   { "idr_direction", &S->direction }, { "idr_project", &S->project },
                   { "idr_update", &S->update }, { "idr_reduce", &S->reduce })));
done:
    return st;
}

static double idr_bytes(const void *self)
{
    const idr *S = self;
    const double s = S->s, with_M = S->W.K->M ? (3 * s + 1) / (s + 1) : 0;

    return kryi_krylov_bytes(S->W.K, 1, (3 * s * s + 12 * s + 9) / (s + 1) + with_M);
}

const kryi_method kryi_idr_method = {
    .kind = "idr",
    .who = "kry_krylov_create",
    .takes = KRY_TAKES_ANY,
    .width = { "s", USUAL, MOST },
    .precond = { "t'r",
                 "leaves the residual as it is, for A r is orthogonal to r, or nearly: take "
                 "method=bicgstab or method=gmres",
                 KRY_BROKE_DOWN },
    .matrix = { "p'g", "allows no other step, nor does it with other vectors p", KRY_BROKE_DOWN },
    .size = sizeof(idr),
    .create = idr_create,
    .cycle = idr_cycle,
    .bytes = idr_bytes,
};
