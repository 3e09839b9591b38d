/* persistent.c - a cycle of conjugate gradients in one kernel: chunk by chunk, with the host looking
 * in between. */
#include "krylov/persistent.h"
#include <math.h>
#include <stdlib.h>

static int64_t updates_of(const kry_op *op) { return op ? op->updates : 0; }

/* Where that fails, iterations are the method's own. */
static void make(kryi_persistent *P)
{
    P->A_updates = updates_of(P->A), P->M_updates = updates_of(P->M);
    if (P->A->fused->make_resident(P->A->self, P->M, &P->R) < 0) P->R = NULL;
}

void kryi_persistent_prepare(kryi_persistent *P, const kry_op *A, const kry_op *M,
                             const kry_pcg_params *params)
{
    const bool exact = params->monitor && params->stop.check_every;
    const bool on = params->resident == KRY_RESIDENT_ON;

    if (params->resident == KRY_RESIDENT_OFF || !A->fused->make_resident) return;
    if (!on && (!A->dev->info.gpu || exact)) return;
    if (kryi_alloc(KRY_CG_CHUNK + 1, sizeof *P->history, &P->history) < 0) return;
    P->A = A, P->M = M;
    P->insisted = on;
    make(P);
}

void kryi_persistent_release(kryi_persistent *P)
{
    kryi_resident_release(&P->R);
    free(P->history);
    *P = (kryi_persistent){ 0 };
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
static kry_status take(kryi_progress *p, const kryi_cg_run *run)
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

kry_status kryi_persistent_iterate(kryi_persistent *P, kryi_cycle *c, int64_t check_every,
                                   bool *begun)
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
        make(P);
    }
    if (p->iteration == 0) P->doubtful = false;
    while (P->R && !P->doubtful && (!*begun || kryi_progress_iterates(p))) {
        run.iterations = until_next_look(p, check_every, *begun);
        if (kryi_resident_run(P->R, &run) < 0) break;
        P->doubtful = broke_down(&run);
        if (P->doubtful && !*begun && run.done == 0) break;
        *begun = true;
        TRY(take(p, &run));
        run.action = KRY_CG_GO_ON;
    }
done:
    return st;
}
