/*
 * pcg.c - preconditioned conjugate gradients.
 *
 *   z := M r,  rho := r'z                                     a cycle begins
 *   p := z + beta p,  q := A p,  alpha := rho / p'q           one pass where A fuses it
 *   x := x + alpha p,  r := r - alpha q,  z := M r,           one pass if M is diagonal
 *   rho' := r'z,  beta := rho' / rho
 *
 * Of several columns each has its own: recurrences side by side, scalars and sums column after column. They
 * share the products, and a column that has stopped is left alone until all have.
 *
 * Where M varies beta is (r' - r)'z / rho instead, 0 if that is negative.
 *
 * Storage     p, old p, q: 3 n numbers beside r; z with a preconditioner; no q where A repeats
 * Per step    grids without a matrix 7 words (cl/grid/stencil.cl), 7.5 where M is no diagonal; else
 *             matrix + 10 words per unknown without, 12 with a diagonal preconditioner where A
 *             fuses the direction (reads z, old, writes p, q; reads x, p, r, q, writes x, r);
 *             11 and 13 otherwise; on CPUs 1.5 less, for x gets two directions at once
 * Waits       none per step: alpha, beta and the stopping test live on the device; once near the
 *             end with an M that varies or is multigrid, which shall not work for an x that is good enough
 * Breakdown   p'q <= 0: A is not positive definite; r'z <= 0: M is not; NaN or infinity in either
 * Source      M. R. Hestenes, E. Stiefel, J. Res. Nat. Bur. Standards 49 (1952)
 */
#include "krylov/persistent.h"
#include "krylov/workspace.h"
#include "multigrid/hierarchy.h"
#include "precond/deflation.h"
#include <limits.h>

typedef struct pcg {
    kryi_workspace W;
    kry_vec *z;       /* without a preconditioner r of the cycle under way, borrowed */
    kry_vec *q;       /* NULL if A repeats */
    kry_vec *p, *old; /* change places where A fuses the direction */
    kry_flexible flexible;
    bool fuses;
    bool repeats;             /* A forms A p again in its own step instead of storing q */
    bool x_every_second_step; /* x gets two directions at once */
    kry_sum *pq, *rho;        /* p'q; the pair (r'z, r'r) */
    kry_sum *zq;              /* z'q, of Polak and Ribiere */
    /* Sums of r, where constants are the null space: a step takes it out of r by itself, one step late. */
    kry_sum *drift, *next_drift;
    kryi_kernel *step;          /* for an x that is aligned; NULL: A has its own */
    kryi_persistent persistent; /* where A offers iterations in one kernel */
    /* ---- of the cycle under way ---- */
    kry_vec *x, *r; /* of all columns; borrowed */
    kryi_direction d;
    kryi_step s;
    /* beta is 0 in the first iteration: 0 z serves as well as an old direction. False where that must have been cleared, for
     * the next cycle may go on along it, though no iteration may have written it, and where columns lie apart. */
    bool needs_no_old;
} pcg;

/* ---- a cycle ----------------------------------------------------------------------------- */

/* alpha := rho / p'q,  x += alpha p,  r -= alpha q,  z := M r if M is diagonal. done: steps before this one */
static kry_status step(pcg *S, int64_t done)
{
    kry_status st = KRY_OK;
    kryi_krylov *K = S->W.K;
    const kryi_op_fused *fused = K->product->fused;
    kryi_step *s = &S->s;
    kry_sum *drift = S->drift;

    s->p = S->p, s->old = S->old ? S->old : S->p;
    s->drift = S->drift, s->next_drift = S->next_drift;
    s->update = !S->x_every_second_step ? KRY_X_ADDS
                : done % 2 == 0         ? KRY_X_WAITS
                : K->M && !s->d         ? KRY_X_ADDS_OLD /* z is not at hand */
                                        : KRY_X_ADDS_BOTH;
    TRY(S->repeats ? fused->apply_step(K->product->self, s, S->x, S->r, S->rho)
                   : kryi_step_run(s, S->step, S->x, S->r, S->rho));
    if (!drift) return kryi_null_space_project(&K->residual.null, S->r);
    S->drift = S->next_drift, S->next_drift = drift;
    TRY(kryi_layout_reduce(S->x->layout, &S->drift, 1));
done:
    return st;
}

/* beta for an M that varies: (r' - r)'z / rho */
static kry_status correct_beta(pcg *S)
{
    kry_status st = KRY_OK;

    TRY(kry_vec_dot_sum(S->z, S->q, S->zq));
    TRY(kryi_layout_reduce(S->z->layout, &S->zq, 1));
    TRY(kryi_run(S->z->dev, "pcg", S->z->type, "", "pcg_flexible", 1,
                 ARGS(ARG_SUM(S->rho), ARG_SUM(S->zq), ARG(S->W.poll.step))));
done:
    return st;
}

static kry_status check_residual(void *self)
{
    pcg *S = self;

    S->d.iteration = S->W.poll.iteration, S->d.slot = S->W.poll.slot;
    return kryi_direction_check(&S->d);
}

static kry_status begin(pcg *S, const kryi_cycle *c)
{
    kry_status st = KRY_OK;
    kryi_poll *poll = &S->W.poll;
    const kry_op *M = S->W.K->M;
    const kryi_null_space *null = &S->W.K->residual.null;

    TRY(kryi_poll_begin(poll, c, check_residual, S));
    S->x = kryi_cycle_x(c), S->r = kryi_cycle_r(c);
    if (!M) S->z = S->r;
    S->d = (kryi_direction){ .z = S->z,
                             .rho = S->rho,
                             .step_state = poll->step,
                             .state = poll->state,
                             .history = poll->history,
                             .target2 = poll->target2 };
    /* Sums of r are divided by `unknowns`: where A, updated since S was made, is regular, nothing is left of them. */
    S->s = (kryi_step){ .q = S->q,
                        .pq = S->pq,
                        .state = poll->state,
                        .step = poll->step,
                        .d = kryi_op_as_diagonal(M),
                        .z = S->z,
                        .unknowns = null->A ? null->unknowns : INT64_MAX };
    if (S->drift) S->drift->count = 0;
    S->needs_no_old =
        S->W.columns == 1 && !c->goes_on && !c->keeps_direction && !(S->W.K->stopping.drop > 0);
    if (!c->goes_on && !S->needs_no_old) /* beta = 0 must not meet old NaNs */
        TRY(kry_vec_fill(S->fuses ? S->old : S->p, 0.0));
done:
    return st;
}

/* Iterations until the device, the limit or the monitor ends them: the whole recurrence. */
static kry_status pcg_cycle(void *self, kryi_cycle *c)
{
    kry_status st = KRY_OK;
    pcg *S = self;
    kryi_poll *poll = &S->W.poll;
    const kry_op *A = S->W.K->product, *M = S->W.K->M;
    const kryi_deflation *D = kryi_deflation_of(S->W.K->deflation);
    kryi_recycle *recycle = D ? D->recycle : NULL; /* vectors are left to it */
    kry_vec *first = S->p, *other = S->old;
    int64_t begun = 0;
    bool over = false, go;

    if (!c->keeps_direction)
        TRY(kryi_persistent_iterate(&S->persistent, c, poll->check_every, &over));
    if (over) return KRY_OK;
    TRY(begin(S, c));
    TRY(M ? kryi_op_run_dots(M, S->r, S->z, S->rho) : kryi_vec_dot_pair(S->r, S->z, S->rho));
    for (;; begun++) {
        TRY(kryi_layout_reduce(S->x->layout, &S->rho, 1));
        if (begun && S->zq) TRY(correct_beta(S));
        TRY(kryi_poll_next(poll, &go));
        if (!go) break;
        if (recycle) TRY(kryi_recycle_take(recycle, S->z, poll->step));
        S->d.iteration = poll->iteration, S->d.slot = poll->slot;
        S->d.old = begun == 0 && S->needs_no_old ? S->z : S->fuses ? S->old : S->p;
        if (S->flexible) { /* not by a pass that A fuses */
            TRY(kryi_direction_run(&S->d, S->p));
            TRY(kryi_op_run_dot(A, S->p, S->q, S->pq));
        } else {
            TRY(kryi_op_run_direction(A, &S->d, S->p, S->q, S->pq));
        }
        TRY(kryi_layout_reduce(S->x->layout, &S->pq, 1));
        TRY(step(S, begun));
        if (M && !S->s.d) {
            TRY(kryi_poll_look_ahead(poll, S->rho));
            if (!poll->due) TRY(kryi_op_run_dots_again(M, S->r, S->z, S->rho));
        }
        if (S->fuses) kryi_workspace_swap(&S->p, &S->old);
    }
    /* The host ran ahead: the steps of one column that were done. */
    const int64_t done = S->W.columns > 1 ? begun : c->stopping->iteration - poll->start;
    if (S->fuses) /* the last direction that was written is the old one */
        S->p = done % 2 ? other : first, S->old = done % 2 ? first : other;
    if (S->x_every_second_step) TRY(kryi_step_catch_up(&S->s, first, poll->start, done, S->x));
    if (recycle) TRY(kryi_recycle_end(recycle, poll->step));
done:
    return st;
}

/* ---- the method -------------------------------------------------------------------------- */

/* By the model: the direction with its product, then the step. */
static double pcg_bytes(const void *self)
{
    const pcg *S = self;
    const kry_op *product = S->W.K->product, *M = S->W.K->M;
    const bool diagonal = kryi_op_as_diagonal(M), waits = S->x_every_second_step;
    const double word = (double)product->shape.rows * (double)kry_type_size(product->shape.type);
    const double old =
        M && !diagonal ? 0.5 : 0; /* x reads the old p where it cannot be made of z */
    kry_op_info A, info;

    kry_op_describe(product, &A);
    if (A.bytes_per_apply <= 0) return 0;
    /* r twice and q; twice x and p, or in every second step twice x, p and the old p */
    double bytes = A.bytes_per_direction + (waits ? 4.5 + old : 6) * word;
    if (S->repeats)
        bytes = A.bytes_per_direction + A.bytes_per_step + (waits ? old : 1) * word;
    else if (A.bytes_per_direction <= 0 || product->dev->layout.reproducible)
        bytes = A.bytes_per_apply + (product->table->apply_dot ? 9 : 11) * word;
    if (!M) return bytes;
    if (diagonal) return bytes + 2 * word;
    kry_op_describe(M, &info);
    if (info.bytes_per_apply <= 0) return 0;
    return bytes + info.bytes_per_apply + (M->table->apply_dots ? 0 : 2 * word);
}

static void pcg_destroy(void *self) { kryi_persistent_release(&((pcg *)self)->persistent); }

/* Vectors, sums and kernels of the passes that were chosen. */
static kry_status allocate(pcg *S)
{
    kry_status st = KRY_OK;
    kryi_workspace *W = &S->W;
    const kryi_null_space *null = &W->K->residual.null;
    kryi_kernel *found;

    if (!S->repeats) TRY(kryi_workspace_vectors(W, W->columns, VECTORS_AT(&S->q)));
    TRY(kryi_workspace_vectors(W, W->columns, VECTORS_AT(&S->p)));
    if (S->fuses) TRY(kryi_workspace_vectors(W, W->columns, VECTORS_AT(&S->old)));
    if (W->K->M) TRY(kryi_workspace_vectors(W, W->columns, VECTORS_AT(&S->z)));
    TRY(kryi_workspace_sums(W, 1, SUMS_AT(&S->pq)));
    TRY(kryi_workspace_sums(W, 2, SUMS_AT(&S->rho)));
    if (S->flexible == KRY_POLAK_RIBIERE) TRY(kryi_workspace_sums(W, 1, SUMS_AT(&S->zq)));
    if (null->A && !null->vectors)
        TRY(kryi_workspace_sums(W, 1, SUMS_AT(&S->drift, &S->next_drift)));
    /* Where A has all passes only the stopping test is launched, and only where a limit or a monitor ends a solve: it is compiled
     * then. But an M that takes long has it before each end, and a monitor of fixed iterates at each of them. */
    if (W->columns == 1 && S->repeats && !W->poll.one_by_one &&
        !kryi_stopping_shows_x(&W->K->stopping))
        return KRY_OK;
    /* All but the first are found again by the solve, which must not fail for want of them. */
    TRY(kryi_workspace_kernels(W, "pcg", "",
                               KERNELS_AT({ "pcg_step", &S->step }, { "pcg_direction", &found },
                                          { "pcg_check", &found }, { "pcg_add_lasts", &found },
                                          { "pcg_flexible", &found })));
done:
    return st;
}

static kry_status pcg_create(void *self)
{
    kry_status st = KRY_OK;
    pcg *S = self;
    const kryi_krylov *K = S->W.K;
    const kry_pcg_params *params = K->params; /* NULL of several columns */
    const kry_op *A = K->product, *M = K->first;
    const bool one = S->W.columns == 1;

    if (one) {
        S->flexible = params->flexible;
        /* A solve of its own takes long, and a cycle of multigrid, of which a whole solve takes ten. */
        S->W.poll.one_by_one = M && (M->shape.traits & KRY_VARYING || kryi_hierarchy_of(M));
    } else if (A->fused->prepare_columns) {
        TRY(A->fused->prepare_columns(A->self));
    }
    const bool fused =
        one ? !S->flexible && !A->dev->layout.reproducible /* whose sums have their own order */
            : A->fused->prepare_columns != NULL;
    S->fuses = fused && A->fused->apply_direction;
    S->repeats = fused && A->fused->apply_step;
    /* A monitor that looks at x finds it complete. */
    S->x_every_second_step = (S->repeats || (S->fuses && A->dev->info.cpu_kernels)) &&
                             !kryi_stopping_shows_x(&K->stopping);
    TRY(allocate(S));
    if (one && fused && !K->deflation && !K->residual.null.A)
        kryi_persistent_prepare(&S->persistent, A, K->M, params);
done:
    return st;
}

/* Only where products take several columns; not where the first column leaves vectors for the next ones, or for a few
 * columns that a persistent kernel takes one after the other. */
static bool gains(const kryi_krylov *K, int columns)
{
    enum { FEW = 4 };
    const pcg *one = K->self;
    const kry_op *A = K->product;
    const kryi_deflation *D = kryi_deflation_of(K->deflation);

    if (D && D->recycle) return false;
    if (one->persistent.R && (columns < FEW || one->persistent.insisted)) return false;
    if (one->flexible || (K->M && K->M->shape.traits & KRY_VARYING)) return false;
    if (A->fused->prepare_columns) return K->M || A->fused->columns_gain(A->self, columns);
    return K->A->table->apply_block != NULL;
}

const kryi_method kryi_pcg_method = {
    .kind = "pcg",
    .who = "kry_pcg_create",
    .deflates = true,
    .flexible = true,
    .by_request = true,
    .projects = true,
    .continues = true,
    .takes = KRY_TAKES_DEFINITE,
    .precond = { "r'Mr", "is not positive: the preconditioner is not positive definite",
                 KRY_INDEFINITE_PRECOND },
    .no_precond = { "r'z",
                    "is not positive, without a preconditioner: the matrix is not positive "
                    "definite, or deflation amplifies rounding",
                    KRY_INDEFINITE_MATRIX },
    .matrix = { "p'Ap",
                "is not positive: the matrix is not positive definite, or too ill-conditioned for "
                "this precision",
                KRY_INDEFINITE_MATRIX },
    .size = sizeof(pcg),
    .create = pcg_create,
    .cycle = pcg_cycle,
    .bytes = pcg_bytes,
    .destroy = pcg_destroy,
    .most_columns = INT_MAX,
    .gains = gains,
};
