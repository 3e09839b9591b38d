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
#include "krylov/pcg.h"
#include <math.h>
#include <string.h>

/* A cycle that is under way. */
typedef struct run {
    kryi_pcg *S;
    kryi_cycle *c;
    kry_vec *x, *r, *z; /* of all columns; z: S->z, or r */
    kryi_direction d;
    int64_t seen_at; /* the last one whose ||r|| the host has waited for, */
    double seen;     /* and this norm */
} run;

/* ---- a step ------------------------------------------------------------------------------ */

/* z := M r and rho := (r'z, r'r), by launches of their own. */
static kry_status precondition(const run *R)
{
    const kry_op *M = R->S->W.K->M;

    if (M) return kryi_op_run_dots(M, R->r, R->z, R->S->rho);
    return kryi_vec_dot_pair(R->r, R->z, R->S->rho);
}

/* Whether the residual that the last step has left may be the last one, if residuals go on falling as they did: by the
 * mean rate up to the last one that the host knows, or by the rate there, if that is faster. */
static bool end_may_be_near(const run *R)
{
    const kryi_stopping *s = R->c->stopping;
    const int64_t start = R->S->W.poll.start;
    const double margin = 2.5; /* iterations */
    int64_t at = s->history_count - 1;
    double norm = at > start ? s->history[at] / s->unit : 0;
    double before = at > start ? s->history[at - 1] / s->unit : 0;

    if (R->seen_at >= at) at = R->seen_at, norm = before = R->seen;
    if (at <= start) return true;
    const double mean = log(R->c->norm / norm) / (double)(at - start);
    const double rate = fmax(mean, log(before / norm));
    const double left = log(norm / R->c->goal) / rate - (double)(s->iteration - at);
    return !(rate > 0 && left >= margin);
}

/* z := M r and rho := (r'z, r'r) after a step, which has left r'r in rho. An expensive M is not applied to a residual that is small
 * enough already: where the end may be near the host waits for that sum. Then it leaves rho as it is, for the
 * device to find the same. */
static kry_status precondition_if_needed(run *R)
{
    kry_status st = KRY_OK;
    kryi_pcg *S = R->S;
    const double rounding = 1e-6; /* the device adds up in another order */
    double sums[2];

    if (S->checks_first && end_may_be_near(R)) {
        TRY(kryi_sum_read(R->z->layout, S->rho, sums));
        R->seen_at = R->c->stopping->iteration, R->seen = sqrt(sums[1]);
        S->W.poll.due = R->seen <= (1 - rounding) * R->c->goal;
    }
    if (!S->W.poll.due) TRY(kryi_op_run_dots_again(S->W.K->M, R->r, R->z, S->rho));
done:
    return st;
}

/* beta is 0 in the first iteration: 0 z then serves as well as an old direction, which need not be cleared. It is where the
 * next cycle may go on along it, though no iteration may have written it, and where columns lie apart. */
static bool begins_anew(const run *R)
{
    const kryi_pcg *S = R->S;
    return S->W.columns == 1 && !R->c->goes_on && !R->c->keeps_direction &&
           !(S->W.K->stopping.drop > 0);
}

/* p := z + beta p,  q := A p,  p'q */
static kry_status direct(run *R)
{
    kry_status st = KRY_OK;
    kryi_pcg *S = R->S;
    const kry_op *A = S->W.K->product;

    R->d.old = R->d.iteration == S->W.poll.start && begins_anew(R) ? R->z
               : S->fuses                                          ? S->old
                                                                   : S->p;
    if (!S->flexible) return kryi_op_run_direction(A, &R->d, S->p, S->q, S->pq);
    TRY(kryi_direction_run(&R->d, S->p));
    TRY(kryi_op_run_dot(A, S->p, S->q, S->pq));
done:
    return st;
}

/* x += alpha p,  r -= alpha q, by a pass over vectors */
static kry_status pass_over_vectors(run *R, const kryi_step *s)
{
    kry_status st = KRY_OK;
    kryi_pcg *S = R->S;
    const kry_vec *x = R->x, *r = R->r;
    const kryi_chunks rows = kryi_chunks_of_columns(x);
    const bool aligned = !rows.chunk && kryi_vec_aligned(x);
    kryi_kernel *kernel = S->kernel.step;
    const cl_mem d = s->d ? s->d->buffer : NULL, z = s->d ? R->z->buffer : NULL;
    const kry_arg more[] = { ARG(s->p->buffer),
                             ARG(s->old->buffer),
                             ARG(S->q->buffer),
                             ARG_VEC(x),
                             ARG(r->buffer),
                             ARG(S->rho->buffer),
                             ARG(d),
                             ARG(z),
                             ARG(s->p->ld),
                             ARG(x->ld) };
    kry_arg args[KRY_CHUNKS_ARGS + KRY_STEP_ARGS + KRY_DRIFT_ARGS + COUNT(more)];

    size_t count = kryi_chunks_args(&rows, args);
    count += kryi_step_args(s, true, args + count);
    memcpy(args + count, more, sizeof more), count += COUNT(more);
    S->rho->count = (cl_int)rows.groups;
    if (s->drift) s->next_drift->count = S->rho->count;
    if (!aligned && !x->dev->info.cpu_kernels) TRY(kryi_pcg_step_kernel(S, false, &kernel));
    TRY(kryi_launch_range(x->dev, kernel, (kryi_range){ rows.groups, .columns = S->W.columns },
                          args, count));
done:
    return st;
}

/* done: steps of the cycle before this one. Only where z is r or d .* r does a step have it at hand. */
static cl_int what_becomes_of_x(const kryi_pcg *S, int64_t done)
{
    const kry_op *M = S->W.K->M;

    if (!S->x_every_second_step) return KRY_X_ADDS;
    if (done % 2 == 0) return KRY_X_WAITS;
    return M && !kryi_pcg_diagonal(M) ? KRY_X_ADDS_OLD : KRY_X_ADDS_BOTH;
}

/* alpha := rho / p'q,  x += alpha p,  r -= alpha q,  z := M r,  rho := (r'z, r'r) */
static kry_status step(run *R, int64_t done)
{
    kry_status st = KRY_OK;
    kryi_pcg *S = R->S;
    kryi_krylov *K = S->W.K;
    const kry_vec *d = kryi_pcg_diagonal(K->M);
    kryi_step s = { .p = S->p,
                    .old = S->old ? S->old : S->p,
                    .pq = S->pq,
                    .state = S->W.poll.state,
                    .step = S->W.poll.step,
                    .update = what_becomes_of_x(S, done),
                    .d = d,
                    .z = R->z };

    if (kryi_pcg_takes_drift(S)) {
        kry_sum *t = S->drift;
        s.drift = t, s.next_drift = S->next_drift;
        /* Sums are divided by this number: where A, updated since, is regular, nothing is left of them. */
        s.unknowns = K->residual.null.A ? K->residual.null.unknowns : INT64_MAX;
        S->drift = S->next_drift, S->next_drift = t;
    }
    if (S->repeats)
        TRY(K->product->fused->apply_step(K->product->self, &s, R->x, R->r, S->rho));
    else
        TRY(pass_over_vectors(R, &s));
    if (kryi_pcg_takes_drift(S))
        TRY(kryi_layout_reduce(R->z->layout, &S->drift, 1));
    else
        TRY(kryi_null_space_project(&K->residual.null, R->r));
    if (K->M && !d) TRY(precondition_if_needed(R));
done:
    return st;
}

/* beta for an M that varies, between the step and the direction. */
static kry_status flex(run *R)
{
    kry_status st = KRY_OK;
    kryi_pcg *S = R->S;

    if (S->flexible != KRY_POLAK_RIBIERE) return KRY_OK;
    TRY(kry_vec_dot_sum(R->z, S->q, S->zq));
    TRY(kryi_layout_reduce(R->z->layout, &S->zq, 1));
    const kry_arg args[] = { ARG(S->rho->buffer), ARG(S->rho->count), ARG(S->zq->buffer),
                             ARG(S->zq->count), ARG(S->W.poll.step) };
    TRY(kryi_launch(R->z->dev, S->kernel.correct_beta, 1, args, COUNT(args)));
done:
    return st;
}

/* ---- a cycle ----------------------------------------------------------------------------- */

/* Go on along the last direction: its r'z is in the units of the last cycle. Waits. */
static kry_status keep_scalars(kryi_pcg *S, const kryi_cycle *c)
{
    kry_status st = KRY_OK;
    kry_device *dev = S->W.poll.dev;
    cl_mem step = S->W.poll.step;
    kryi_scalar last[STATE_SIZE];
    size_t bytes = STATE_SIZE * kryi_acc_size(dev);
    kry_type acc = dev->info.fp64 ? KRY_F64 : KRY_F32;

    TRY(kryi_buffer_read(dev, step, 0, bytes, last));
    kryi_number_put(acc, last, STATE_STOP, KRY_END_NONE);
    for (int i = STATE_RHO; i <= STATE_RHO_REST; i++)
        kryi_number_put(acc, last, i, c->unit_ratio * kryi_number_at(acc, last, i));
    TRY(kryi_buffer_write(dev, step, 0, bytes, last));
done:
    return st;
}

static kry_status check_residual(void *self)
{
    run *R = self;
    const kryi_poll *poll = &R->S->W.poll;

    R->d.iteration = poll->iteration, R->d.slot = poll->slot;
    return kryi_direction_check(&R->d);
}

static kry_status begin(run *R)
{
    kry_status st = KRY_OK;
    kryi_pcg *S = R->S;

    TRY(kryi_poll_begin(&S->W.poll, R->c, check_residual, R));
    if (S->drift) S->drift->count = 0;
    TRY(precondition(R));
    if (R->c->goes_on)
        TRY(keep_scalars(S, R->c));
    else if (!begins_anew(R)) /* beta = 0 must not meet old NaNs */
        TRY(kry_vec_fill(S->fuses ? S->old : S->p, 0.0));
done:
    return st;
}

/* Of several columns the device knows how many steps each has done. */
static kry_status catch_up_columns(run *R, const kry_vec *first)
{
    const kryi_pcg *S = R->S;
    const kry_vec *x = R->x;
    const cl_int start = (cl_int)R->S->W.poll.start;
    const kry_arg args[] = { ARG(x->n),      ARG(start), ARG(S->W.poll.step), ARG(first->buffer),
                             ARG(first->ld), ARG_VEC(x), ARG(x->ld) };

    return kryi_launch_range(
        x->dev, S->kernel.add_lasts,
        (kryi_range){ kryi_groups_for(x->dev, x->type, x->n), .columns = x->k }, args, COUNT(args));
}

/* x += alpha p with the alpha of the last step. Waits, so that no kernel has to be compiled for this alone. */
static kry_status add_last(run *R, const kry_vec *p)
{
    kry_status st = KRY_OK;
    kry_device *dev = R->S->W.poll.dev;
    const size_t size = kryi_acc_size(dev);
    kryi_scalar alpha;

    TRY(kryi_buffer_read(dev, R->S->W.poll.step, STATE_ALPHA * size, size, &alpha));
    TRY(kry_vec_axpby(dev->info.fp64 ? alpha.f64 : alpha.f32, p, 1, R->x));
done:
    return st;
}

/* What x still waits for after `done` steps, the first of which used the direction `first`. Of several columns some may
 * have done fewer. */
static kry_status catch_up(run *R, const kry_vec *first, int64_t done)
{
    const kryi_pcg *S = R->S;

    if (!S->x_every_second_step || done == 0) return KRY_OK;
    if (S->W.columns > 1) return catch_up_columns(R, first);
    return done % 2 ? add_last(R, first) : KRY_OK;
}

static run run_of(kryi_pcg *S, kryi_cycle *c)
{
    kry_vec *r = kryi_cycle_r(c), *z = S->z ? S->z : r;

    return (run){ .S = S,
                  .c = c,
                  .x = kryi_cycle_x(c),
                  .r = r,
                  .z = z,
                  .seen_at = -1,
                  .d = { .z = z,
                         .rho = S->rho,
                         .step_state = S->W.poll.step,
                         .state = S->W.poll.state,
                         .history = S->W.poll.history,
                         .target2 = kryi_scalar_of(z->dev, c->goal * c->goal) } };
}

/* Iterations until the device, the limit or the monitor ends them: the whole recurrence. */
kry_status kryi_pcg_cycle(void *self, kryi_cycle *c)
{
    kry_status st = KRY_OK;
    kryi_pcg *S = self;
    kryi_stopping *stopping = c->stopping; /* of the first column: of one, where it matters */
    run R = run_of(S, c);
    kry_vec *first = S->p, *other = S->old;
    const kryi_deflation *D = kryi_deflation_of(S->W.K->deflation);
    int64_t begun = 0;
    bool done = false, go;

    S->recycle = D ? D->recycle : NULL;
    if (!c->keeps_direction)
        TRY(kryi_persistent_iterate(&S->persistent, c, S->W.poll.check_every, &done));
    if (done) return KRY_OK;
    TRY(begin(&R));
    const int64_t start = S->W.poll.start;
    for (;; begun++) {
        TRY(kryi_layout_reduce(R.z->layout, &S->rho, 1));
        if (stopping->iteration > start) TRY(flex(&R));
        TRY(kryi_poll_next(&S->W.poll, &go));
        if (!go) break;
        R.d.iteration = S->W.poll.iteration, R.d.slot = S->W.poll.slot;
        if (S->recycle) TRY(kryi_recycle_take(S->recycle, R.z, S->W.poll.step));
        TRY(direct(&R));
        TRY(kryi_layout_reduce(R.z->layout, &S->pq, 1));
        TRY(step(&R, S->W.poll.iteration - start));
        if (S->fuses) {
            kry_vec *t = S->p;
            S->p = S->old, S->old = t;
        }
    }
    if (S->fuses) { /* the host ran ahead; the last direction that was written is the old one */
        bool even = (stopping->iteration - start) % 2 == 0;
        S->p = even ? first : other, S->old = even ? other : first;
    }
    TRY(catch_up(&R, first, S->W.columns > 1 ? begun : stopping->iteration - start));
    if (S->recycle) TRY(kryi_recycle_end(S->recycle, S->W.poll.step));
done:
    return st;
}
