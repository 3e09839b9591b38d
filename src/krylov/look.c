/* look.c - the host reads what the device decided, a batch of iterations behind. */
#include "krylov/look.h"
#include <math.h>
#include <string.h>

enum { SCALARS = STATE_VALUE + 1 }; /* that are read of a method's state */

/* Numbers that are read of the states of all columns; the residuals stand behind them. */
static size_t scalars(const kry_look *look)
{
    return (size_t)(look->columns - 1) * STATE_SIZE + SCALARS;
}

static size_t window_bytes(const kry_look *look)
{
    return (scalars(look) + (size_t)look->columns * KRY_LOOK) * kry_acc_size(look->dev);
}

/* Behind the windows: the scalars that a cycle begins with. */
static char *first_scalars(const kry_look *look)
{
    return look->pinned.host + 2 * window_bytes(look);
}

static char *mirror_of(const kry_look *look, int window)
{
    return look->pinned.host + (size_t)window * window_bytes(look);
}

static double mirror_at(const kry_look *look, int window, int64_t i)
{
    return kry_number_at(look->dev->info.fp64 ? KRY_F64 : KRY_F32, mirror_of(look, window), i);
}

kry_status kry_look_create_columns(kry_device *dev, int columns, int64_t check_every, bool at_each,
                                   kry_look *look)
{
    kry_status st = KRY_OK;
    const size_t size = (size_t)columns * kry_acc_size(dev);

    *look = (kry_look){
        .dev = dev, .columns = columns, .check_every = check_every, .at_each = at_each
    };
    TRY(kry_buffer_create(dev, STATE_SIZE * size, &look->state));
    TRY(kry_buffer_create(dev, STATE_SIZE * size, &look->step));
    TRY(kry_buffer_create(dev, KRY_LOOK * size, &look->history));
    /* Reads into memory that is not pinned wait for the device on some drivers. */
    TRY(kry_pinned_create(dev, 2 * window_bytes(look) + STATE_SIZE * size, &look->pinned));
done:
    if (st < 0) kry_look_release(look);
    return st;
}

kry_status kry_look_create(kry_device *dev, int64_t check_every, bool at_each, kry_look *look)
{
    return kry_look_create_columns(dev, 1, check_every, at_each, look);
}

/* Wait for reads that nobody looked at, and forget them. */
static void drain(kry_look *look)
{
    for (int i = 0; i < 2; i++) {
        if (look->window[i].ready) look->dev->driver->wait(look->dev, look->window[i].ready);
        look->window[i].ready = NULL;
    }
}

void kry_look_release(kry_look *look)
{
    if (!look->dev) return;
    drain(look);
    kry_pinned_release(look->dev, &look->pinned);
    kry_buffer_release(look->dev, &look->history);
    kry_buffer_release(look->dev, &look->step);
    kry_buffer_release(look->dev, &look->state);
    *look = (kry_look){ 0 };
}

/* ---- columns ----------------------------------------------------------------------------------- */

static bool goes_on(const kry_cycle *c) { return !c->over && kry_story_goes_on(c->story); }

/* One that speaks for all that go on: they are at the same iteration. */
static const kry_cycle *lead(const kry_look *look, const kry_cycle *c)
{
    for (int j = 0; j < look->columns; j++)
        if (goes_on(&c[j])) return &c[j];
    return c;
}

/* The same of those that nothing but the limit or the monitor ends. */
static const kry_cycle *last_lead(const kry_look *look, const kry_cycle *c)
{
    for (int j = 0; j < look->columns; j++)
        if (!c[j].over && !c[j].story->end) return &c[j];
    return c;
}

/* Nothing that was enqueued still reads what an earlier cycle began with: the host has waited since. */
static kry_status write_scalars(kry_look *look, const kry_cycle *c)
{
    kry_status st = KRY_OK;
    const kry_type acc = look->dev->info.fp64 ? KRY_F64 : KRY_F32;
    const size_t bytes = STATE_SIZE * (size_t)look->columns * kry_acc_size(look->dev);
    char *first = first_scalars(look);

    memset(first, 0, bytes);
    for (int64_t j = 0; j < look->columns; j++) {
        kry_number_put(acc, first, j * STATE_SIZE + STATE_STOP,
                       c[j].over ? KRY_END_CONVERGED : KRY_END_NONE);
        kry_number_put(acc, first, j * STATE_SIZE + STATE_TARGET, c[j].goal * c[j].goal);
    }
    TRY(kry_buffer_write_later(look->dev, look->state, 0, bytes, first));
    if (!c->goes_on) TRY(kry_buffer_write_later(look->dev, look->step, 0, bytes, first));
done:
    return st;
}

kry_status kry_look_begin(kry_look *look, const kry_cycle *c,
                          kry_status (*check)(void *self, const kry_turn *turn), void *self)
{
    kry_status st = KRY_OK;

    look->check = check, look->self = self;
    const kry_story *story = lead(look, c)->story;
    if (story->iteration == 0) look->batch = 1, look->looked_at = 0, look->looked = kry_now();
    if (look->check_every)
        look->batch = look->check_every < KRY_BATCH ? (int)look->check_every : KRY_BATCH;
    look->current = 0;
    look->window[0] = look->window[1] = (kry_window){ .first = story->iteration };
    TRY(write_scalars(look, c));
done:
    return st;
}

/* Start reading what the device has decided after the iterations enqueued so far. */
static kry_status start_look(kry_look *look)
{
    kry_status st = KRY_OK;
    kry_window *window = &look->window[look->current];
    size_t acc = kry_acc_size(look->dev);
    char *to = mirror_of(look, look->current);

    TRY(kry_buffer_read_later(look->dev, look->history, 0,
                              (size_t)(window->count * look->columns) * acc,
                              to + scalars(look) * acc, NULL));
    TRY(kry_buffer_read_later(look->dev, look->state, 0, scalars(look) * acc, to, &window->ready));
done:
    return st;
}

/* Write down what a look saw of column j. *last: the last iteration whose residual is there. */
static kry_status take_column(const kry_look *look, int which, int j, kry_story *story,
                              int64_t *last)
{
    kry_status st = KRY_OK;
    const kry_window *window = &look->window[which];
    const int64_t state = (int64_t)j * STATE_SIZE, residuals = (int64_t)scalars(look) + j;

    *last = window->first + window->count - 1;
    story->end = (kry_cycle_end)mirror_at(look, which, state + STATE_STOP);
    if (story->end) {
        *last = (int64_t)mirror_at(look, which, state + STATE_ITERATION);
        story->end_value = mirror_at(look, which, state + STATE_VALUE);
        story->iteration = *last;
    }
    for (int64_t k = window->first; k <= *last; k++) {
        const int64_t at = residuals + (k - window->first) * look->columns;
        TRY(kry_story_add(story, k, sqrt(mirror_at(look, which, at))));
    }
done:
    return st;
}

/* Wait for a look and write down what it saw; `shows`: for the monitor, too, which sees the first column
 * that was not over before. */
static kry_status take_look(kry_look *look, int which, const kry_cycle *c, bool shows)
{
    kry_status st = KRY_OK;
    bool stopped = false;
    int64_t last;

    if (!look->window[which].ready) return KRY_OK;
    TRY(kry_event_wait(look->dev, &look->window[which].ready));
    for (int j = 0; j < look->columns; j++) {
        kry_story *story = c[j].story;
        if (c[j].over || story->end) continue; /* an earlier look saw the end already */
        TRY(take_column(look, which, j, story, &last));
        if (shows && !story->monitor_stopped) TRY(kry_story_show(story, last));
        shows = false;
        stopped = stopped || story->monitor_stopped;
        if (!story->end && story->residual > KRY_DIVERGED_AT * story->history[0])
            story->end = KRY_END_DIVERGED, story->end_value = story->residual;
    }
    for (int j = 0; j < look->columns && stopped; j++) c[j].story->monitor_stopped = stopped;
done:
    return st;
}

/* Look at the residual of this very iterate: a launch of the stopping test alone, and a wait. */
static kry_status look_now(kry_look *look, const kry_cycle *c, bool shows)
{
    kry_status st = KRY_OK;
    kry_window *window = &look->window[look->current];
    const kry_story *story = last_lead(look, c)->story;
    const kry_turn turn = { (cl_int)story->iteration, window->count };

    TRY(look->check(look->self, &turn));
    window->count++;
    TRY(start_look(look));
    TRY(take_look(look, !look->current, c, shows));
    TRY(take_look(look, look->current, c, shows));
    *window = (kry_window){ .first = turn.iteration };
done:
    return st;
}

/* Iterations that are left once those under way are done, if the residual goes on falling as it did
 * over the last look or, if that is faster, from the start. */
static double expected_left(const kry_look *look, const kry_cycle *c)
{
    const kry_story *s = c->story;
    int64_t last = s->history_count - 1, before = look->looked_at;
    double goal = c->goal * s->unit;

    if (s->history_count < 2 || before >= last || !(goal > 0)) return KRY_BATCH;
    double here = log(s->history[last]);
    double recent = (log(s->history[before]) - here) / (double)(last - before);
    double all = (log(s->history[0]) - here) / (double)last;
    double rate = fmax(recent, all);
    return rate > 0 ? (here - log(goal)) / rate - (double)(s->iteration - last) : KRY_BATCH;
}

/* Short batches while iterations take long, so that little is enqueued in vain past the end; long
 * ones while they are short, so that looking costs nothing. */
static kry_status adapt_batch(kry_look *look, const kry_cycle *c)
{
    enum { SHORT_US = 1000, LONG_US = 4000 };
    kry_status st = KRY_OK;
    double now = kry_now(), us = 1e6 * (now - look->looked);

    look->looked = now;
    if (look->check_every) return KRY_OK;
    if (us < SHORT_US)
        look->batch = 2 * look->batch < KRY_BATCH ? 2 * look->batch : KRY_BATCH;
    else if (us > LONG_US && look->batch > 1)
        look->batch /= 2;
    /* Short ones near the end, too: preconditioners go on working past it. */
    double left = expected_left(look, c);
    if (left < look->batch) look->batch = left > 1 ? (int)left : 1;
    /* Parts differ in time, and machines in the last bit of a logarithm. */
    double batch = look->batch;
    TRY(kry_layout_agree(&look->dev->layout, &batch));
    look->batch = (int)batch;
    look->looked_at = c->story->history_count > 0 ? c->story->history_count - 1 : 0;
done:
    return st;
}

static kry_status close_batch(kry_look *look, const kry_cycle *c)
{
    kry_status st = KRY_OK;

    TRY(start_look(look));
    look->current = !look->current;
    const int64_t here = last_lead(look, c)->story->iteration;
    TRY(take_look(look, look->current, c, true)); /* the one before */
    look->window[look->current] = (kry_window){ .first = here };
    TRY(adapt_batch(look, lead(look, c)));
done:
    return st;
}

kry_status kry_look_next(kry_look *look, const kry_cycle *c, kry_turn *turn, bool *go)
{
    kry_status st = KRY_OK;
    const kry_story *s = last_lead(look, c)->story;
    bool exact = s->exact && s->iteration % look->check_every == 0;

    *go = false;
    if (s->iteration >= s->max_iter || look->at_each || s->waits || look->due || exact)
        TRY(look_now(look, c, true));
    else if (look->window[look->current].count >= (look->by_one ? 1 : look->batch))
        TRY(close_batch(look, c));
    if (!goes_on(lead(look, c))) {
        s = last_lead(look, c)->story;
        /* A monitor that stopped it has seen an earlier iteration than the last that was enqueued. */
        const bool behind = look->window[look->current].count || look->window[!look->current].ready;
        if (!s->end && behind) TRY(look_now(look, c, true));
        drain(look);
        goto done;
    }
    *turn =
        (kry_turn){ (cl_int)lead(look, c)->story->iteration, look->window[look->current].count++ };
    for (int j = 0; j < look->columns; j++) c[j].story->iteration += goes_on(&c[j]);
    *go = true;
done:
    if (st < 0) drain(look);
    return st;
}

/* The next cycle begins with this very iterate, and shows it to a monitor that wants to see fixed ones. */
kry_status kry_look_close(kry_look *look, const kry_cycle *c)
{
    const kry_status st = look_now(look, c, !c->story->exact);

    drain(look);
    return st;
}
