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
#include "krylov/workspace.h"
#include "multigrid/hierarchy.h"
#include "operator/resident.h"
#include "precond/deflation.h"
#include <limits.h>
#include <math.h>
#include <stdlib.h>

/* Iterations in one kernel that stays on the device: an offer of the operator that may end at any time, and then launches go
 * on. */
typedef struct persistent {
    const kry_op *A, *M;          /* borrowed: the product, and the preconditioner or NULL */
    kryi_resident_cg *R;          /* owned; NULL: not to be used */
    int64_t A_updates, M_updates; /* of A and M when R was made, which knows their buffers */
    bool insisted;                /* the caller wants it, whether it is faster or not */
    /* Something broke down in it: launches, whose recurrences lose less, go on with this solve. */
    bool doubtful;
    double *history; /* owned, KRY_CG_CHUNK + 1 */
} persistent;

typedef struct pcg {
    kryi_workspace W;
    /* Vectors and sums are S's, but for x and r, and z without a preconditioner: those are the cycle's. */
    kryi_cg cg;
    kry_vec *direction[2]; /* change places where A fuses the direction; else one and the same */
    int next;              /* the one that the next direction is written to */
    persistent persistent; /* where A offers iterations in one kernel */
    kry_flexible flexible;
    /* beta is 0 in the first iteration: 0 z serves as well as an old direction. False where that must have been cleared, for
     * the next cycle may go on along it, though no iteration may have written it, and where columns lie apart. */
    bool needs_no_old;
} pcg;

/* ---- iterations in one kernel, chunk by chunk, with the host looking in between ---------------- */

static int64_t updates_of(const kry_op *op) { return op ? op->updates : 0; }

/* Where A fails to make the kernel, iterations are launches. */
static void make_persistent(persistent *P)
{
    P->A_updates = updates_of(P->A), P->M_updates = updates_of(P->M);
    if (P->A->fused->make_resident(P->A->self, P->M, &P->R) < 0) P->R = NULL;
}

/* Make ready if the parameters ask for it and A can; else iterations are launches. */
static void prepare_persistent(persistent *P, const kry_op *A, const kry_op *M,
                               const kry_pcg_params *params)
{
    const bool exact = params->monitor && params->stop.check_every;
    const bool on = params->resident == KRY_RESIDENT_ON;

    if (params->resident == KRY_RESIDENT_OFF || !A->fused->make_resident) return;
    if (!on && (!A->dev->info.gpu || exact)) return;
    if (kryi_alloc(KRY_CG_CHUNK + 1, sizeof *P->history, &P->history) < 0) return;
    P->A = A, P->M = M;
    P->insisted = on;
    make_persistent(P);
}

/* Up to the next look of an exact monitor, which wants one at the very start, too. */
static int64_t until_next_look(const kryi_progress *p, int64_t every, bool begun)
{
    int64_t left = p->max_iter - p->iteration;

    if (!p->shows_x) return left;
    int64_t next = !begun && p->iteration % every == 0 ? 0 : every - p->iteration % every;
    return next < left ? next : left;
}

/* The recurrence for p'A p loses digits; whether something breaks down is for launches to find. */
static bool broke_down(const kryi_cg_run *run)
{
    return run->stop != KRY_END_NONE && run->stop != KRY_END_CONVERGED;
}

/* Write down the iterations of one launch. */
static kry_status record_launch(kryi_progress *p, const kryi_cg_run *run)
{
    kry_status st = KRY_OK;

    for (int k = 0; k <= run->done; k++)
        TRY(kryi_progress_record(p, p->iteration + k, sqrt(run->history[k])));
    p->iteration += run->done, p->persistent += run->done;
    if (!broke_down(run)) p->end = (kryi_cycle_end)run->stop, p->end_value = run->value;
    TRY(kryi_progress_call_monitor(p, p->iteration));
done:
    return st;
}

/* Iterations from c->x and c->r. With *begun false there were none, and x and r are what they were; else the cycle is
 * over. Waits. */
static kry_status iterate_in_kernel(persistent *P, kryi_cycle *c, int64_t check_every, bool *begun)
{
    kry_status st = KRY_OK;
    kryi_progress *p = c->progress;
    kryi_cg_run run = { .action = KRY_CG_BEGIN,
                        .r = c->r,
                        .x = c->x,
                        .target2 = c->goal * c->goal,
                        .history = P->history };

    *begun = false;
    const bool updated = P->A_updates != updates_of(P->A) || P->M_updates != updates_of(P->M);
    if (P->R && updated && !kryi_resident_gave_up(P->R)) { /* new numbers may be in other buffers */
        kryi_resident_release(&P->R);
        make_persistent(P);
    }
    if (p->iteration == 0) P->doubtful = false;
    while (P->R && !P->doubtful && (!*begun || kryi_progress_iterates(p))) {
        run.iterations = until_next_look(p, check_every, *begun);
        if (kryi_resident_run(P->R, &run) < 0) break;
        P->doubtful = broke_down(&run);
        if (P->doubtful && !*begun && run.done == 0) break;
        *begun = true;
        TRY(record_launch(p, &run));
        run.action = KRY_CG_GO_ON;
    }
done:
    return st;
}

/* ---- a cycle ----------------------------------------------------------------------------- */

/* The direction, its product and the step. */
static kry_status iterate(pcg *S)
{
    kry_status st = KRY_OK;
    kryi_cg *cg = &S->cg;
    const kry_op *A = S->W.K->product;
    kryi_layout *layout = cg->x->layout;
    kry_sum *drift = cg->drift;
    const int64_t at = S->next + cg->done;

    cg->iteration = S->W.poll.iteration, cg->slot = S->W.poll.slot;
    cg->p = S->direction[at % 2];
    cg->old = cg->done == 0 && S->needs_no_old ? cg->z : S->direction[(at + 1) % 2];
    TRY(kryi_cg_direct(A, cg));
    TRY(kryi_layout_reduce(layout, &cg->pq, 1));
    TRY(kryi_cg_step(A, cg));
    if (!drift) return kryi_null_space_project(&S->W.K->residual.null, cg->r);
    cg->drift = cg->next_drift, cg->next_drift = drift;
    TRY(kryi_layout_reduce(layout, &cg->drift, 1));
done:
    return st;
}

static kry_status check_residual(void *self)
{
    pcg *S = self;

    S->cg.iteration = S->W.poll.iteration, S->cg.slot = S->W.poll.slot;
    return kryi_cg_check(&S->cg);
}

/* z := M r and r'z, and an old direction for the first beta, which is 0. */
static kry_status begin(pcg *S, const kryi_cycle *c)
{
    kry_status st = KRY_OK;
    kryi_cg *cg = &S->cg;
    const kry_op *M = S->W.K->M;
    const kryi_null_space *null = &S->W.K->residual.null;

    TRY(kryi_poll_begin(&S->W.poll, c, check_residual, S));
    cg->x = kryi_cycle_x(c), cg->r = kryi_cycle_r(c);
    if (!M) cg->z = cg->r;
    cg->d = kryi_op_as_diagonal(M);
    cg->target2 = S->W.poll.target2;
    cg->done = 0;
    /* Sums of r are divided by `unknowns`: where A, updated since S was made, is regular, nothing is left of them. */
    cg->unknowns = null->A ? null->unknowns : INT64_MAX;
    if (cg->drift) cg->drift->count = 0;
    S->needs_no_old =
        S->W.columns == 1 && !c->goes_on && !c->keeps_direction && !(S->W.K->stopping.drop > 0);
    if (!c->goes_on && !S->needs_no_old) /* beta = 0 must not meet old NaNs */
        TRY(kry_vec_fill(S->direction[!S->next], 0.0));
    TRY(M ? kryi_op_run_dots(M, cg->r, cg->z, cg->rho) : kryi_vec_dot_pair(cg->r, cg->z, cg->rho));
done:
    return st;
}

/* Iterations until the device, the limit or the monitor ends them: the whole recurrence. */
static kry_status pcg_cycle(void *self, kryi_cycle *c)
{
    kry_status st = KRY_OK;
    pcg *S = self;
    kryi_cg *cg = &S->cg;
    kryi_poll *poll = &S->W.poll;
    const kry_op *M = S->W.K->M;
    const kryi_deflation *D = kryi_deflation_of(S->W.K->deflation);
    kryi_recycle *recycle = D ? D->recycle : NULL; /* vectors are left to it */
    bool over = false, go;

    if (!c->keeps_direction) TRY(iterate_in_kernel(&S->persistent, c, poll->check_every, &over));
    if (over) return KRY_OK;
    TRY(begin(S, c));
    for (;; cg->done++) {
        TRY(kryi_layout_reduce(cg->x->layout, &cg->rho, 1));
        if (cg->done && cg->zq) TRY(kryi_cg_correct_beta(cg));
        TRY(kryi_poll_next(poll, &go));
        if (!go) break;
        if (recycle) TRY(kryi_recycle_take(recycle, cg->z, poll->step));
        TRY(iterate(S));
        if (M && !cg->d) {
            TRY(kryi_poll_look_ahead(poll, cg->rho));
            if (!poll->due) TRY(kryi_op_run_dots_again(M, cg->r, cg->z, cg->rho));
        }
    }
    /* The host ran ahead: the steps of one column that were done. */
    const int64_t done = S->W.columns > 1 ? cg->done : c->progress->iteration - poll->start;
    TRY(kryi_cg_catch_up(cg, S->direction[S->next], poll->start, done));
    S->next = (int)((S->next + done) % 2);
    if (recycle) TRY(kryi_recycle_end(recycle, poll->step));
done:
    return st;
}

/* ---- the method -------------------------------------------------------------------------- */

static double pcg_bytes(const void *self)
{
    const pcg *S = self;
    return kryi_cg_bytes(S->W.K->product, S->W.K->M, &S->cg);
}

static void pcg_destroy(void *self)
{
    persistent *P = &((pcg *)self)->persistent;

    kryi_resident_release(&P->R);
    free(P->history);
}

/* Vectors, sums and kernels; `repeats`: A forms A p again in its own step instead of storing q. */
static kry_status allocate(pcg *S, bool repeats)
{
    kry_status st = KRY_OK;
    kryi_workspace *W = &S->W;
    const kry_op *A = W->K->A;
    kryi_cg *cg = &S->cg;
    const kryi_null_space *null = &W->K->residual.null;

    cg->step = W->poll.step, cg->state = W->poll.state, cg->history = W->poll.history;
    if (!repeats) TRY(kryi_workspace_vectors(W, W->columns, VECTORS_AT(&cg->q)));
    TRY(kryi_workspace_vectors(W, W->columns, VECTORS_AT(&S->direction[0])));
    S->direction[1] = S->direction[0];
    if (cg->fuses) TRY(kryi_workspace_vectors(W, W->columns, VECTORS_AT(&S->direction[1])));
    if (W->K->M) TRY(kryi_workspace_vectors(W, W->columns, VECTORS_AT(&cg->z)));
    TRY(kryi_workspace_sums(W, 1, SUMS_AT(&cg->pq)));
    TRY(kryi_workspace_sums(W, 2, SUMS_AT(&cg->rho)));
    if (S->flexible == KRY_POLAK_RIBIERE) TRY(kryi_workspace_sums(W, 1, SUMS_AT(&cg->zq)));
    if (null->A && !null->vectors)
        TRY(kryi_workspace_sums(W, 1, SUMS_AT(&cg->drift, &cg->next_drift)));
    /* Where A has all passes only the stopping test is launched, and only where a limit or a monitor ends a solve: it is compiled
     * then. But an M that takes long has it before each end, and a monitor of fixed iterates at each of them. */
    if (W->columns > 1 || !repeats || W->poll.one_by_one || W->K->stopping.progress.shows_x)
        TRY(kryi_cg_prepare(cg, A->dev, A->shape.type));
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
    const bool repeats = fused && A->fused->apply_step;
    S->cg.fuses = fused && A->fused->apply_direction;
    /* A monitor that looks at x finds it complete. */
    S->cg.x_waits =
        (repeats || (S->cg.fuses && A->dev->info.cpu_kernels)) && !K->stopping.progress.shows_x;
    TRY(allocate(S, repeats));
    if (one && fused && !K->deflation && !K->residual.null.A)
        prepare_persistent(&S->persistent, A, K->M, params);
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
    .flexible = KRY_FLEXIBLE_IF_ASKED,
    .continues = true,
    .takes = KRY_TAKES_DEFINITE,
    .precond = KRY_M_IS_INDEFINITE("r'Mr"),
    .no_precond = { "r'z",
                    "is not positive, without a preconditioner: the matrix is not positive "
                    "definite, or deflation amplifies rounding",
                    KRY_INDEFINITE_MATRIX },
    .matrix = KRY_A_IS_INDEFINITE("p'Ap"),
    .size = sizeof(pcg),
    .create = pcg_create,
    .cycle = pcg_cycle,
    .bytes = pcg_bytes,
    .destroy = pcg_destroy,
    .most_columns = INT_MAX,
    .gains = gains,
};
