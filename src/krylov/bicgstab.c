/*
 * bicgstab.c - BiCGStab(l) for any square A, with a preconditioner M from the right: A M y = b, x = M y.
 * Kernels: cl/krylov/bicgstab.cl.
 *
 *   for j = 0 ... l-1:  rho' := r_j's,  beta := alpha rho' / rho             s: the shadow residual
 *                       u_c := r_c - beta u_c for c <= j,  u_(j+1) := A M u_j
 *                       alpha := rho' / u_(j+1)'s,  y += alpha u_0
 *                       r_c -= alpha u_(c+1) for c <= j,  r_(j+1) := A M r_j
 *   gamma: makes r_0 - sum gamma_k r_k least,  y += sum gamma_k r_(k-1)
 *   r_0 -= sum gamma_k r_k,  u_0 -= sum gamma_k u_k,  rho := -gamma_l rho
 *
 * Of several columns each has its own: recurrences side by side, scalars and sums column after column.
 *
 * An iteration is a step j: two products. x += M y where a cycle ends, or a monitor wants to see it.
 *
 * Storage     2 l + 3 vectors of n numbers beside r; with M 2 more
 * Per step    two products + (3 l + 13 + 6 / l) words per unknown: 22 for l = 1 and 2
 * Waits       none: all scalars live on the device
 * Breakdown   rho = 0, u_(j+1)'s = 0 or gamma_l = 0: it restarts from the true residual, and if that was of
 *             no use with a random shadow
 * Source      G. L. G. Sleijpen, D. R. Fokkema, BiCGstab(l) for linear equations involving unsymmetric
 *             matrices with complex spectrum, ETNA 1 (1993), 11-32
 */
#include "krylov/workspace.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4, USUAL = 2, SCALARS = 5 + MOST };

typedef struct bicgstab {
    kryi_workspace W;
    int l;
    kry_vec *R, *U;                   /* n by (l + 1) columns: all of r_0, all of r_1 ... */
    kry_vec r[MOST + 1], u[MOST + 1]; /* n by columns, borrowed from them */
    kry_vec *shadow;
    kry_vec *y, *t; /* NULL without M: y is x */
    kry_sum *rho, *rr, *gamma,
        *gram; /* (r_j's, r_j'r_j); r_0'r_0; (u_(j+1)'s, u_(j+1)'u_(j+1)); all r_i'r_k */
    kryi_kernel *begin, *direction, *step, *all_products, *minimise, *reduce;
    cl_mem scalars; /* SCALARS for each column */
} bicgstab;

static kry_vec *solution_of(const bicgstab *S) { return S->y ? S->y : kryi_cycle_x(S->W.poll.c); }

/* From r_j to r_(j+1): what all columns of one take. */
static int64_t stride_of(const bicgstab *S) { return S->W.columns * S->R->ld; }

/* ---- a sweep of l steps ---------------------------------------------------------------------- */

/* The stopping test and, unless it is the `only` thing to do, alpha and beta. */
static kry_status test_residual(bicgstab *S, bool only_test)
{
    const kryi_poll *poll = &S->W.poll;
    const cl_int only = only_test, is_first = poll->iteration == poll->start;
    return kryi_launch_range(poll->dev, S->begin, (kryi_range){ 1, .columns = S->W.columns },
                             ARGS(ARG(poll->iteration), ARG(poll->slot), ARG(only), ARG(is_first),
                                  ARG_SUM(S->rr), ARG_SUM(S->rho), ARG(poll->state),
                                  ARG(poll->history), ARG(S->scalars)));
}

/* u_c := r_c - beta u_c,  u_(j+1) := A M u_j,  y += alpha u_0,  r_c -= alpha u_(c+1),  r_(j+1) := A M r_j */
static kry_status step(bicgstab *S, cl_int j)
{
    kry_status st = KRY_OK;
    const kryi_poll *poll = &S->W.poll;
    kry_vec *y = solution_of(S);
    const int64_t n = S->R->n, pitch = S->R->ld, ld = stride_of(S);
    const kryi_range range = { kryi_groups_for(poll->dev, y->type, n), .columns = S->W.columns };

    TRY(kryi_launch_range(poll->dev, S->direction, range,
                          ARGS(ARG(n), ARG(j), ARG(pitch), ARG(ld), ARG(poll->state),
                               ARG(S->scalars), ARG(S->R->buffer), ARG(S->U->buffer))));
    TRY(kryi_krylov_multiply(S->W.K, &S->u[j], S->t, &S->u[j + 1]));
    TRY(kryi_vec_dot_pair(&S->u[j + 1], S->shadow, S->gamma));
    TRY(kryi_layout_reduce(y->layout, &S->gamma, 1));
    TRY(kryi_launch_rows(&S->r[0], S->step,
                         ARGS(ARG(j), ARG(pitch), ARG(ld), ARG(poll->state), ARG(S->scalars),
                              ARG_SUM(S->gamma), ARG(S->R->buffer), ARG(S->U->buffer), ARG_VEC(y),
                              ARG(y->ld), ARG(S->rr->buffer)),
                         S->rr));
    TRY(kryi_krylov_multiply(S->W.K, &S->r[j], S->t, &S->r[j + 1]));
    if (j + 1 < S->l) TRY(kryi_vec_dot_pair(&S->r[j + 1], S->shadow, S->rho));
done:
    return st;
}

/* The minimal residual, which ends a sweep. */
static kry_status reduce(bicgstab *S)
{
    kry_status st = KRY_OK;
    const kryi_poll *poll = &S->W.poll;
    kry_vec *y = solution_of(S);
    const int64_t pitch = S->R->ld, ld = stride_of(S);

    TRY(kryi_launch_rows(
        &S->r[0], S->all_products,
        ARGS(ARG(pitch), ARG(ld), ARG(poll->state), ARG(S->R->buffer), ARG(S->gram->buffer)),
        S->gram));
    TRY(kryi_layout_reduce(y->layout, &S->gram, 1));
    TRY(kryi_launch_range(
        poll->dev, S->minimise, (kryi_range){ 1, .columns = S->W.columns },
        ARGS(ARG(S->gram->count), ARG(S->gram->buffer), ARG(poll->state), ARG(S->scalars))));
    TRY(kryi_launch_rows(&S->r[0], S->reduce,
                         ARGS(ARG(pitch), ARG(ld), ARG(poll->state), ARG(S->scalars),
                              ARG(S->R->buffer), ARG(S->U->buffer), ARG_VEC(y), ARG(y->ld),
                              ARG(S->shadow->buffer), ARG(S->rr->buffer), ARG(S->rho->buffer)),
                         S->rr));
    S->rho->count = S->rr->count;
done:
    return st;
}

/* ---- a cycle --------------------------------------------------------------------------------- */

static kry_status check_residual(void *self)
{
    kry_status st = KRY_OK;
    bicgstab *S = self;

    TRY(test_residual(S, true));
    if (S->W.poll.c->progress->shows_x)
        TRY(kryi_krylov_add(S->W.K, S->y, S->t, kryi_cycle_x(S->W.poll.c))); /* for the monitor */
done:
    return st;
}

static kry_status begin(bicgstab *S, kryi_cycle *c)
{
    enum { STREAM_SHADOW = 7 };
    static const double zeros[SCALARS];
    kry_status st = KRY_OK;
    kry_device *dev = S->W.poll.dev;
    const size_t size = SCALARS * kryi_acc_size(dev);

    TRY(kryi_poll_begin(&S->W.poll, c, check_residual, S));
    TRY(kry_vec_copy(kryi_cycle_r(c), &S->r[0]));
    TRY(kry_vec_copy(&S->r[0], S->shadow));
    for (int j = 0; j < S->W.columns; j++) { /* random where r was of no use */
        kry_vec shadow = kryi_vec_column(S->shadow, j);
        if (c[j].progress->alternative) TRY(kryi_vec_fill_random(STREAM_SHADOW, &shadow));
    }
    for (int i = 0; i <= S->l; i++) TRY(kry_vec_fill(&S->u[i], 0)); /* beta = 0 must not meet NaN */
    if (S->y) TRY(kry_vec_fill(S->y, 0));
    TRY(kry_vec_dot_sum(&S->r[0], &S->r[0], S->rr));
    TRY(kryi_vec_dot_pair(&S->r[0], S->shadow, S->rho));
    for (int j = 0; j < S->W.columns; j++)
        TRY(kryi_buffer_write_later(dev, S->scalars, (size_t)j * size, size, zeros));
done:
    return st;
}

static kry_status bicgstab_cycle(void *self, kryi_cycle *c)
{
    kry_status st = KRY_OK;
    bicgstab *S = self;
    bool go;

    TRY(begin(S, c));
    for (cl_int j = 0;; j = (j + 1) % S->l) {
        TRY(kryi_layout_reduce(c->r->layout, (kry_sum *[]){ S->rr, S->rho }, 2));
        TRY(kryi_poll_next(&S->W.poll, &go));
        if (!go) break;
        TRY(test_residual(S, false));
        TRY(step(S, j));
        if (j + 1 == S->l) TRY(reduce(S));
    }
    TRY(kryi_krylov_add(S->W.K, S->y, S->t, kryi_cycle_x(S->W.poll.c)));
    for (int j = 0; j < S->W.columns; j++) {
        kryi_progress *p = c[j].progress;
        if (!c[j].over) kryi_progress_retry(p, p->iteration - S->W.poll.start < S->l, true);
    }
done:
    return st;
}

/* ---- the method ------------------------------------------------------------------------------ */

static kry_status allocate(bicgstab *S)
{
    kry_status st = KRY_OK;
    kryi_workspace *W = &S->W;
    const int k = S->W.columns;
    const size_t scalars = (size_t)k * SCALARS * kryi_acc_size(W->poll.dev);

    TRY(kryi_workspace_vectors(W, (int64_t)k * (S->l + 1), VECTORS_AT(&S->R, &S->U)));
    for (int i = 0; i <= S->l; i++) {
        S->r[i] = kryi_vec_columns(S->R, (int64_t)k * i, k);
        S->u[i] = kryi_vec_columns(S->U, (int64_t)k * i, k);
    }
    TRY(kryi_workspace_vectors(W, k, VECTORS_AT(&S->shadow)));
    if (W->K->M) TRY(kryi_workspace_vectors(W, k, VECTORS_AT(&S->y, &S->t)));
    TRY(kryi_workspace_sums(W, 1, SUMS_AT(&S->rr)));
    TRY(kryi_workspace_sums(W, 2, SUMS_AT(&S->rho, &S->gamma)));
    TRY(kryi_workspace_sums(W, (S->l + 1) * (S->l + 2) / 2, SUMS_AT(&S->gram)));
    TRY(kryi_workspace_buffer(W, scalars, &S->scalars));
done:
    return st;
}

static kry_status bicgstab_create(void *self)
{
    kry_status st = KRY_OK;
    bicgstab *S = self;
    const kryi_krylov *K = S->W.K;
    char defines[48];

    S->l = (int)K->width;
    TRY(allocate(S));
    snprintf(defines, sizeof defines, "-DKRY_UNALIGNED -DDEGREE=%d", S->l);
    TRY(kryi_workspace_kernels(
        &S->W, "bicgstab", defines,
        KERNELS_AT({ "bicgstab_begin", &S->begin }, { "bicgstab_direction", &S->direction },
                   { "bicgstab_step", &S->step }, { "bicgstab_gram", &S->all_products },
                   { "bicgstab_minimise", &S->minimise }, { "bicgstab_reduce", &S->reduce })));
done:
    return st;
}

static double bicgstab_bytes(const void *self)
{
    const bicgstab *S = self;
    const double l = S->l;

    return kryi_krylov_bytes(S->W.K, 2, 3 * l + 13 + 6 / l);
}

const kryi_method kryi_bicgstab_method = {
    .kind = "bicgstab",
    .who = "kry_krylov_create",
    .takes = KRY_TAKES_ANY,
    .width = { "l", USUAL, MOST },
    .precond = { "omega",
                 "leaves the residual as it is, for A r is orthogonal to r, or nearly: take a "
                 "larger l or "
                 "method=gmres",
                 KRY_BROKE_DOWN },
    .matrix = { "rho or u's", "allows no other step, nor does it with a random shadow",
                KRY_BROKE_DOWN },
    .size = sizeof(bicgstab),
    .create = bicgstab_create,
    .cycle = bicgstab_cycle,
    .bytes = bicgstab_bytes,
    .most_columns = INT_MAX,
};
