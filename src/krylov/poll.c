/* poll.c - the host reads what the device has decided, a batch of iterations behind. */
#include "krylov/poll.h"
#include <math.h>
#include <string.h>

enum { SCALARS = STATE_VALUE + 1 }; /* that are read of a method's state */

/* Numbers that are read of the states of all columns; the residuals stand behind them. */
static size_t scalars(const kryi_poll *poll)
{
    return (size_t)(poll->columns - 1) * STATE_SIZE + SCALARS;
}

static size_t batch_bytes(const kryi_poll *poll)
{
    return (scalars(poll) + (size_t)poll->columns * KRY_POLL_RESIDUALS) * kryi_acc_size(poll->dev);
}

/* The host's copy of what the device has decided in a batch, and number i of it. */
static char *copy_of(const kryi_poll *poll, int batch)
{
    return poll->pinned.host + (size_t)batch * batch_bytes(poll);
}

static double number_of(const kryi_poll *poll, int batch, int64_t i)
{
    return kryi_number_at(kryi_acc_type(poll->dev), copy_of(poll, batch), i);
}

kry_status kryi_poll_create(const kryi_krylov *K, int columns, kryi_poll *poll)
{
    kry_status st = KRY_OK;
    kry_device *dev = K->A->dev;
    const size_t size = (size_t)columns * kryi_acc_size(dev);
    const unsigned traits = K->A->shape.traits | (K->first ? K->first->shape.traits : 0);

    *poll = (kryi_poll){ .dev = dev,
                         .columns = columns,
                         .check_every = K->stopping.criteria.check_every,
                         .each_iteration = traits & KRY_WAITS };
    TRY(kryi_buffer_create(dev, STATE_SIZE * size, &poll->state));
    TRY(kryi_buffer_create(dev, STATE_SIZE * size, &poll->step));
    TRY(kryi_buffer_create(dev, KRY_POLL_RESIDUALS * size, &poll->history));
    /* Reads into memory that is not pinned wait for the device on some drivers. */
    TRY(kryi_pinned_create(dev, 2 * batch_bytes(poll) + STATE_SIZE * size, &poll->pinned));
done:
    if (st < 0) kryi_poll_release(poll);
    return st;
}

/* Wait for reads whose numbers nobody wants, and forget them. */
static void drain(kryi_poll *poll)
{
    for (int i = 0; i < 2; i++) {
        if (poll->batch[i].ready) poll->dev->driver->wait(poll->dev, poll->batch[i].ready);
        poll->batch[i].ready = NULL;
    }
}

void kryi_poll_release(kryi_poll *poll)
{
    if (!poll->dev) return;
    drain(poll);
    kryi_pinned_release(poll->dev, &poll->pinned);
    kryi_buffer_release(poll->dev, &poll->history);
    kryi_buffer_release(poll->dev, &poll->step);
    kryi_buffer_release(poll->dev, &poll->state);
    *poll = (kryi_poll){ 0 };
}

/* ---- columns ----------------------------------------------------------------------------------- */

static bool goes_on(const kryi_cycle *c) { return !c->over && kryi_progress_iterates(c->progress); }

/* The first column that goes on; all that do are at the same iteration. */
static const kryi_cycle *first_running(const kryi_poll *poll)
{
    const kryi_cycle *c = poll->c;

    for (int j = 0; j < poll->columns; j++)
        if (goes_on(&c[j])) return &c[j];
    return c;
}

/* The first column that goes on, or that only the limit or the monitor has ended. */
static const kryi_cycle *first_not_ended(const kryi_poll *poll)
{
    const kryi_cycle *c = poll->c;

    for (int j = 0; j < poll->columns; j++)
        if (!c[j].over && !c[j].progress->end) return &c[j];
    return c;
}

kry_status kryi_poll_read(const kryi_poll *poll, cl_mem scalars, double v[STATE_SIZE])
{
    kry_status st = KRY_OK;
    const kry_type acc = kryi_acc_type(poll->dev);
    double room[STATE_SIZE];

    TRY(kryi_buffer_read(poll->dev, scalars, 0, STATE_SIZE * kryi_acc_size(poll->dev), room));
    for (int i = 0; i < STATE_SIZE; i++) v[i] = kryi_number_at(acc, room, i);
done:
    return st;
}

/* Go on along the last direction: its r'z is in the units of the last cycle. Waits. */
static kry_status rescale_step(kryi_poll *poll, double ratio)
{
    kry_status st = KRY_OK;
    kryi_scalar scalars[STATE_SIZE];
    double v[STATE_SIZE];

    TRY(kryi_poll_read(poll, poll->step, v));
    v[STATE_STOP] = KRY_END_NONE;
    for (int i = STATE_RHO; i <= STATE_RHO_REST; i++) v[i] *= ratio;
    for (int i = 0; i < STATE_SIZE; i++)
        kryi_number_put(kryi_acc_type(poll->dev), scalars, i, v[i]);
    TRY(kryi_buffer_write(poll->dev, poll->step, 0, STATE_SIZE * kryi_acc_size(poll->dev),
                          scalars));
done:
    return st;
}

/* Nothing that was enqueued still reads what an earlier cycle began with: the host has waited since. */
static kry_status write_scalars(kryi_poll *poll)
{
    kry_status st = KRY_OK;
    const kryi_cycle *c = poll->c;
    const kry_type acc = kryi_acc_type(poll->dev);
    const size_t bytes = STATE_SIZE * (size_t)poll->columns * kryi_acc_size(poll->dev);
    char *first =
        poll->pinned.host + 2 * batch_bytes(poll); /* behind what is read of two batches */

    memset(first, 0, bytes);
    for (int64_t j = 0; j < poll->columns; j++) {
        kryi_number_put(acc, first, j * STATE_SIZE + STATE_STOP,
                        c[j].over ? KRY_END_CONVERGED : KRY_END_NONE);
        kryi_number_put(acc, first, j * STATE_SIZE + STATE_TARGET, c[j].goal * c[j].goal);
    }
    TRY(kryi_buffer_write_later(poll->dev, poll->state, 0, bytes, first));
    TRY(c->goes_on ? rescale_step(poll, c->unit_ratio)
                   : kryi_buffer_write_later(poll->dev, poll->step, 0, bytes, first));
done:
    return st;
}

kry_status kryi_poll_begin(kryi_poll *poll, const kryi_cycle *c, kry_status (*check)(void *self),
                           void *self)
{
    kry_status st = KRY_OK;

    poll->c = c, poll->check = check, poll->self = self;
    poll->iteration = poll->slot = 0, poll->due = false, poll->seen_at = -1;
    poll->target2 = kryi_scalar_of(poll->dev, c->goal * c->goal);
    poll->start = first_not_ended(poll)->progress->iteration;
    if (poll->start == 0) poll->batch_size = 1, poll->last_polled = 0, poll->polled_at = kryi_now();
    if (poll->check_every)
        poll->batch_size =
            poll->check_every < KRY_POLL_BATCH ? (int)poll->check_every : KRY_POLL_BATCH;
    poll->current = 0;
    poll->batch[0] = poll->batch[1] = (kryi_poll_batch){ .first = poll->start };
    TRY(write_scalars(poll));
done:
    return st;
}

/* Start reading what the device has decided after the iterations enqueued so far. */
static kry_status start_read(kryi_poll *poll)
{
    kry_status st = KRY_OK;
    kryi_poll_batch *batch = &poll->batch[poll->current];
    size_t acc = kryi_acc_size(poll->dev);
    char *to = copy_of(poll, poll->current);

    TRY(kryi_buffer_read_later(poll->dev, poll->history,
                               (size_t)(batch->count * poll->columns) * acc,
                               to + scalars(poll) * acc, NULL));
    TRY(kryi_buffer_read_later(poll->dev, poll->state, scalars(poll) * acc, to, &batch->ready));
done:
    return st;
}

/* Write what was read of column j into its history. *last: the last iteration whose residual is there. */
static kry_status read_column(const kryi_poll *poll, int which, int j, kryi_progress *progress,
                              int64_t *last)
{
    kry_status st = KRY_OK;
    const kryi_poll_batch *batch = &poll->batch[which];
    const int64_t state = (int64_t)j * STATE_SIZE, residuals = (int64_t)scalars(poll) + j;

    *last = batch->first + batch->count - 1;
    progress->end = (kryi_cycle_end)number_of(poll, which, state + STATE_STOP);
    if (progress->end) {
        *last = (int64_t)number_of(poll, which, state + STATE_ITERATION);
        progress->end_value = number_of(poll, which, state + STATE_VALUE);
        progress->iteration = *last;
    }
    for (int64_t k = batch->first; k <= *last; k++) {
        const int64_t at = residuals + (k - batch->first) * poll->columns;
        TRY(kryi_progress_record(progress, k, sqrt(number_of(poll, which, at))));
    }
done:
    return st;
}

/* Wait for what is read of a batch, and write it into the histories; `shows`: call the monitor, which sees the
 * first column that was not over before. */
static kry_status read_batch(kryi_poll *poll, int which, bool shows)
{
    kry_status st = KRY_OK;
    const kryi_cycle *c = poll->c;
    bool stopped = false;
    int64_t last;

    if (!poll->batch[which].ready) return KRY_OK;
    TRY(kryi_event_wait(poll->dev, &poll->batch[which].ready));
    for (int j = 0; j < poll->columns; j++) {
        kryi_progress *progress = c[j].progress;
        if (c[j].over || progress->end) continue; /* an earlier batch had the end already */
        TRY(read_column(poll, which, j, progress, &last));
        if (shows && !progress->monitor_stopped) TRY(kryi_progress_call_monitor(progress, last));
        shows = false;
        stopped = stopped || progress->monitor_stopped;
        if (!progress->end && progress->residual > KRY_DIVERGED_AT * progress->history[0])
            progress->end = KRY_END_DIVERGED, progress->end_value = progress->residual;
    }
    for (int j = 0; j < poll->columns && stopped; j++) c[j].progress->monitor_stopped = stopped;
done:
    return st;
}

/* Test the residual of this very iterate: a launch of the stopping test alone, and a wait. */
static kry_status poll_now(kryi_poll *poll, bool shows)
{
    kry_status st = KRY_OK;
    kryi_poll_batch *batch = &poll->batch[poll->current];
    const kryi_progress *progress = first_not_ended(poll)->progress;

    poll->iteration = (cl_int)progress->iteration, poll->slot = batch->count;
    TRY(poll->check(poll->self));
    batch->count++;
    TRY(start_read(poll));
    TRY(read_batch(poll, !poll->current, shows));
    TRY(read_batch(poll, poll->current, shows));
    *batch = (kryi_poll_batch){ .first = poll->iteration };
done:
    return st;
}

/* Iterations that are left once those under way are done, if the residual goes on falling as it did
 * over the last batch or, if that is faster, from the start. */
static double expected_left(const kryi_poll *poll, const kryi_cycle *c)
{
    const kryi_progress *p = c->progress;
    int64_t last = p->history_count - 1, before = poll->last_polled;
    double goal = c->goal * p->unit;

    if (p->history_count < 2 || before >= last || !(goal > 0)) return KRY_POLL_BATCH;
    double here = log(p->history[last]);
    double recent = (log(p->history[before]) - here) / (double)(last - before);
    double all = (log(p->history[0]) - here) / (double)last;
    double rate = fmax(recent, all);
    return rate > 0 ? (here - log(goal)) / rate - (double)(p->iteration - last) : KRY_POLL_BATCH;
}

/* Whether the residual that the last step has left may be the last one, if residuals go on falling as they did: by the
 * mean rate up to the last one that the host knows, or by the rate there, if that is faster. */
static bool end_may_be_near(const kryi_poll *poll)
{
    const kryi_progress *p = poll->c->progress;
    const double margin = 2.5; /* iterations */
    int64_t at = p->history_count - 1;
    double norm = at > poll->start ? p->history[at] / p->unit : 0;
    double before = at > poll->start ? p->history[at - 1] / p->unit : 0;

    if (poll->seen_at >= at) at = poll->seen_at, norm = before = poll->seen;
    if (at <= poll->start) return true;
    const double mean = log(poll->c->norm / norm) / (double)(at - poll->start);
    const double rate = fmax(mean, log(before / norm));
    const double left = log(norm / poll->c->goal) / rate - (double)(p->iteration - at);
    return !(rate > 0 && left >= margin);
}

kry_status kryi_poll_look_ahead(kryi_poll *poll, kry_sum *sums)
{
    kry_status st = KRY_OK;
    const double rounding = 1e-6; /* the device adds up in another order */
    double sum[2];

    if (!poll->one_by_one || !end_may_be_near(poll)) return KRY_OK;
    TRY(kryi_sum_read(poll->c->r->layout, sums, sum));
    poll->seen_at = poll->c->progress->iteration, poll->seen = sqrt(sum[1]);
    poll->due = poll->seen <= (1 - rounding) * poll->c->goal;
done:
    return st;
}

/* Short batches while iterations take long, so that little is enqueued past the end; long ones
 * while they are short, so that polling costs nothing. */
static kry_status adapt_batch_size(kryi_poll *poll, const kryi_cycle *c)
{
    enum { SHORT_US = 1000, LONG_US = 4000 };
    kry_status st = KRY_OK;
    double now = kryi_now(), us = 1e6 * (now - poll->polled_at);

    poll->polled_at = now;
    if (poll->check_every) return KRY_OK;
    if (us < SHORT_US)
        poll->batch_size =
            2 * poll->batch_size < KRY_POLL_BATCH ? 2 * poll->batch_size : KRY_POLL_BATCH;
    else if (us > LONG_US && poll->batch_size > 1)
        poll->batch_size /= 2;
    /* Short ones near the end, too: preconditioners go on working past it. */
    double left = expected_left(poll, c);
    if (left < poll->batch_size) poll->batch_size = left > 1 ? (int)left : 1;
    /* Parts differ in time, and machines in the last bit of a logarithm. */
    double batch = poll->batch_size;
    TRY(kryi_layout_agree(&poll->dev->layout, &batch));
    poll->batch_size = (int)batch;
    poll->last_polled = c->progress->history_count > 0 ? c->progress->history_count - 1 : 0;
done:
    return st;
}

static kry_status end_batch(kryi_poll *poll)
{
    kry_status st = KRY_OK;

    TRY(start_read(poll));
    poll->current = !poll->current;
    const int64_t here = first_not_ended(poll)->progress->iteration;
    TRY(read_batch(poll, poll->current, true)); /* the one before */
    poll->batch[poll->current] = (kryi_poll_batch){ .first = here };
    TRY(adapt_batch_size(poll, first_running(poll)));
done:
    return st;
}

kry_status kryi_poll_next(kryi_poll *poll, bool *go)
{
    kry_status st = KRY_OK;
    const kryi_cycle *c = poll->c;
    const kryi_progress *p = first_not_ended(poll)->progress;
    bool exact = p->shows_x && p->iteration % poll->check_every == 0;

    *go = false;
    if (p->iteration >= p->max_iter || poll->each_iteration || poll->due || exact)
        TRY(poll_now(poll, true));
    else if (poll->batch[poll->current].count >= (poll->one_by_one ? 1 : poll->batch_size))
        TRY(end_batch(poll));
    if (!goes_on(first_running(poll))) {
        p = first_not_ended(poll)->progress;
        /* A monitor that stopped it has seen an earlier iteration than the last that was enqueued. */
        const bool behind = poll->batch[poll->current].count || poll->batch[!poll->current].ready;
        if (!p->end && behind) TRY(poll_now(poll, true));
        drain(poll);
        goto done;
    }
    poll->iteration = (cl_int)first_running(poll)->progress->iteration;
    poll->slot = poll->batch[poll->current].count++;
    for (int j = 0; j < poll->columns; j++) c[j].progress->iteration += goes_on(&c[j]);
    *go = true;
done:
    if (st < 0) drain(poll);
    return st;
}

/* The next cycle begins with this very iterate, and shows it to a monitor that wants to see fixed ones. */
kry_status kryi_poll_close(kryi_poll *poll)
{
    const kry_status st = poll_now(poll, !poll->c->progress->shows_x);

    drain(poll);
    return st;
}
