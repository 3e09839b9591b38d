/* persistent.c - a cycle of conjugate gradients on the chip: chunk by chunk, with the host looking
 * in between. */
#include "krylov/persistent.h"
#include "operator/direction.h"
#include <stdlib.h>

static bool asked_for(const kry_op *A, const kry_pcg_params *params)
{
    bool exact = params->monitor && params->stop.check_every;

    if (params->resident == KRY_RESIDENT_OFF || params->precond || !A->table->run_cg) return false;
    return params->resident == KRY_RESIDENT_ON || (A->dev->info.gpu && !exact);
}

void kry_chip_prepare(kry_chip *chip, const kry_op *A, const kry_pcg_params *params)
{
    kry_cg_run run = { .action = KRY_CG_PREPARE };

    if (!asked_for(A, params)) return;
    if (kry_alloc(KRY_CG_CHUNK + 1, sizeof *chip->history, &chip->history) < 0) return;
    if (A->table->run_cg(A->self, &run) == KRY_OK) chip->A = A;
}

void kry_chip_release(kry_chip *chip)
{
    free(chip->history);
    *chip = (kry_chip){ 0 };
}

/* Up to the next look of an exact monitor, which wants one at the very start, too. */
static int64_t until_next_look(const kry_watch *w, bool begun)
{
    int64_t left = w->stop.max_iter - w->iteration, every = w->stop.check_every;

    if (!w->monitor || !every) return left;
    int64_t next = !begun && w->iteration % every == 0 ? 0 : every - w->iteration % every;
    return next < left ? next : left;
}

kry_status kry_chip_iterate(kry_chip *chip, kry_watch *w, const kry_vec *r, kry_vec *x,
                            bool *complete)
{
    kry_status st = KRY_OK;
    kry_cg_run run = { .action = KRY_CG_BEGIN,
                       .r = r,
                       .x = x,
                       .target2 = kry_watch_goal2(w),
                       .history = chip->history };
    bool begun = false;

    *complete = false;
    while (chip->A && !*complete) {
        run.iterations = until_next_look(w, begun);
        if (chip->A->table->run_cg(chip->A->self, &run) < 0) break;
        if (!begun) TRY(kry_watch_cycle(w));
        begun = true;
        chip->iterations += run.done;
        TRY(kry_watch_take(w, run.history, run.done, run.stop, run.value));
        *complete = run.stop || w->monitor_stopped || w->iteration >= w->stop.max_iter;
        run.action = KRY_CG_GO_ON;
    }
done:
    return st;
}
