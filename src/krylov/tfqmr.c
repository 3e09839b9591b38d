/*
 * tfqmr.c - transpose-free QMR for any square A, with a preconditioner M from the right: A M y = b, x = M y.
 * Kernels: cl/krylov/tfqmr.cl.
 *
 *   w := r,  y1 := r,  v := u1 := A M y1,  d := 0,  rho := w's,  tau := |r|       s: the shadow; a cycle begins
 *   alpha := rho / v's,  y2 := y1 - alpha v
 *   for both halves y1, y2:  w := w - alpha A M y
 *                            theta := |w| / old tau,  c^2 := 1 / (1 + theta^2),  tau := c |w|,  eta := c^2 alpha
 *                            d := y + (old theta^2 old eta / alpha) d,  y := y + eta d,  r := r + c^2 (w - r)
 *   rho' := w's,  beta := rho' / rho,  y1 := w + beta y2,  v := A M y1 + beta (A M y2 + beta v)
 *
 * r is the residual of x: smoothing the iterates by minimal quasi-residuals, of which TFQMR consists, does the same to
 * residuals. It hardly ever grows, where that of CGS, w, goes up and down by orders of magnitude.
 *
 * Storage     8 vectors of n numbers beside r; with M 2 more
 * Per step    two products + 26 words per unknown (cl/krylov/tfqmr.cl)
 * Waits       none: all scalars live on the device
 * Breakdown   rho = 0 or v's = 0: it restarts from the true residual, and if that was of no use with a random
 *             shadow
 * Source      R. W. Freund, A transpose-free quasi-minimal residual algorithm for non-Hermitian linear systems, SIAM
 *             J. Sci. Comput. 14 (1993), 470-482, algorithm 5.1; the residual: L. Zhou, H. F. Walker, Residual
 *             smoothing techniques for iterative methods, SIAM J. Sci. Comput. 15 (1994), 297-312
 */
#include "krylov/workspace.h"

typedef struct tfqmr {
    kryi_workspace W;
    kry_vec *y1, *y2, *u1, *u2, *v, *w, *d, *shadow; /* u1 = A M y1, u2 = A M y2 */
    kry_vec *y, *t;                                  /* NULL without M: y is x */
    kry_sum *rr, *sigma, *ww, *pair;                 /* r'r; (v's, v'v); w'w; (w's, w'w) */
    kryi_kernel *begin, *first, *second, *update, *image;
} tfqmr;

/* The stopping test, and unless it `only_tests` alpha, y2 and w. */
static kry_status first_half(tfqmr *S, bool only_tests)
{
    const kryi_poll *poll = &S->W.poll;

    return kryi_launch_rows(
        S->w, S->first,
        ARGS(ARG(poll->iteration), ARG(poll->slot), ARG_ACC(poll->dev, poll->target2),
             ARG_SUM(S->rr), ARG_SUM(S->sigma), ARG(poll->step), ARG(poll->state),
             ARG(poll->history), ARG(S->y1->buffer), ARG(S->y2->buffer), ARG(S->v->buffer),
             ARG(S->u1->buffer), ARG(S->w->buffer), ARG(S->ww->buffer)),
        only_tests ? NULL : S->ww);
}

static kry_status second_half(tfqmr *S)
{
    kry_status st = KRY_OK;

    TRY(kryi_krylov_multiply(S->W.K, S->y2, S->t, S->u2));
    TRY(kryi_launch_rows(S->w, S->second,
                         ARGS(ARG(S->W.poll.state), ARG(S->u2->buffer), ARG(S->w->buffer),
                              ARG(S->shadow->buffer), ARG(S->pair->buffer)),
                         S->pair));
    TRY(kryi_layout_reduce(S->w->layout, (kry_sum *[]){ S->ww, S->pair }, 2));
done:
    return st;
}

/* d, y and r of both halves, and the next y1. */
static kry_status update(tfqmr *S)
{
    const kryi_poll *poll = &S->W.poll;
    kry_vec *y = S->y ? S->y : S->W.poll.c->x, *r = S->W.poll.c->r;

    return kryi_launch_rows(S->w, S->update,
                            ARGS(ARG_SUM(S->ww), ARG_SUM(S->pair), ARG(poll->state),
                                 ARG(poll->step), ARG(S->y1->buffer), ARG(S->y2->buffer),
                                 ARG(S->u2->buffer), ARG(S->w->buffer), ARG(S->d->buffer),
                                 ARG(r->buffer), ARG_VEC(y), ARG(S->rr->buffer)),
                            S->rr);
}

/* u1 := A M y1 and v */
static kry_status image(tfqmr *S)
{
    kry_status st = KRY_OK;

    TRY(kryi_krylov_multiply(S->W.K, S->y1, S->t, S->u1));
    TRY(kryi_launch_rows(S->w, S->image,
                         ARGS(ARG(S->W.poll.step), ARG(S->u1->buffer), ARG(S->u2->buffer),
                              ARG(S->v->buffer), ARG(S->shadow->buffer), ARG(S->sigma->buffer)),
                         S->sigma));
done:
    return st;
}

/* ---- a cycle --------------------------------------------------------------------------------- */

static kry_status check_residual(void *self)
{
    kry_status st = KRY_OK;
    tfqmr *S = self;

    TRY(first_half(S, true));
    if (S->W.poll.c->progress->shows_x)
        TRY(kryi_krylov_add(S->W.K, S->y, S->t, S->W.poll.c->x)); /* for the monitor */
done:
    return st;
}

static kry_status begin(tfqmr *S, kryi_cycle *c)
{
    enum { STREAM_SHADOW = 8 };
    kry_status st = KRY_OK;
    kry_vec *empty[] = { S->v, S->d, S->u2, S->y };

    const bool random = c->progress->alternative;

    TRY(kry_vec_copy(c->r, S->w));
    TRY(kry_vec_copy(c->r, S->y1));
    TRY(random ? kryi_vec_fill_random(STREAM_SHADOW, S->shadow) : kry_vec_copy(c->r, S->shadow));
    for (size_t i = 0; i < COUNT(empty); i++)
        if (empty[i]) TRY(kry_vec_fill(empty[i], 0)); /* beta = 0 must not meet NaN */
    TRY(kry_vec_dot_sum(S->w, S->w, S->rr));
    TRY(kryi_vec_dot_pair(S->w, S->shadow, S->pair));
    TRY(kryi_layout_reduce(S->w->layout, &S->pair, 1));
    TRY(kryi_poll_begin(&S->W.poll, c, check_residual, S));
    const cl_int iteration = (cl_int)S->W.poll.start, is_r = !random;
    TRY(kryi_launch(S->W.poll.dev, S->begin, 1,
                    ARGS(ARG(iteration), ARG_SUM(S->pair), ARG(is_r), ARG(S->W.poll.step))));
    TRY(image(S));
done:
    return st;
}

static kry_status tfqmr_cycle(void *self, kryi_cycle *c)
{
    kry_status st = KRY_OK;
    tfqmr *S = self;
    bool go;

    TRY(begin(S, c));
    for (;;) {
        TRY(kryi_layout_reduce(c->r->layout, (kry_sum *[]){ S->rr, S->sigma }, 2));
        TRY(kryi_poll_next(&S->W.poll, &go));
        if (!go) break;
        TRY(first_half(S, false));
        TRY(second_half(S));
        TRY(update(S));
        TRY(image(S));
    }
    TRY(kryi_krylov_add(S->W.K, S->y, S->t, S->W.poll.c->x));
    kryi_progress_retry(c->progress, c->progress->iteration == S->W.poll.start, true);
done:
    return st;
}

/* ---- the method ------------------------------------------------------------------------------ */

static kry_status tfqmr_create(void *self)
{
    kry_status st = KRY_OK;
    tfqmr *S = self;

    TRY(kryi_workspace_vectors(
        &S->W, 1, VECTORS_AT(&S->y1, &S->y2, &S->u1, &S->u2, &S->v, &S->w, &S->d, &S->shadow)));
    if (S->W.K->M) TRY(kryi_workspace_vectors(&S->W, 1, VECTORS_AT(&S->y, &S->t)));
    TRY(kryi_workspace_sums(&S->W, 1, SUMS_AT(&S->rr, &S->ww)));
    TRY(kryi_workspace_sums(&S->W, 2, SUMS_AT(&S->sigma, &S->pair)));
    TRY(kryi_workspace_kernels(
        &S->W, "tfqmr", "-DKRY_UNALIGNED",
        KERNELS_AT({ "tfqmr_begin", &S->begin }, { "tfqmr_first", &S->first },
                   { "tfqmr_second", &S->second }, { "tfqmr_update", &S->update },
                   { "tfqmr_image", &S->image })));
done:
    return st;
}

static double tfqmr_bytes(const void *self)
{
    const tfqmr *S = self;
    return kryi_krylov_bytes(S->W.K, 2, 26);
}

#define NO_STEP                                                                                \
    {                                                                                          \
        "rho or v's", "allows no other step, nor does it with a random shadow", KRY_BROKE_DOWN \
    }

const kryi_method kryi_tfqmr_method = {
    .kind = "tfqmr",
    .who = "kry_krylov_create",
    .takes = KRY_TAKES_ANY,
    .precond = NO_STEP,
    .matrix = NO_STEP,
    .size = sizeof(tfqmr),
    .create = tfqmr_create,
    .cycle = tfqmr_cycle,
    .bytes = tfqmr_bytes,
};
