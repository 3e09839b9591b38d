/*
 * history.c - residuals of a solve, thinned out.
 */
#include "page/history.h"
#include <math.h>
#include <string.h>

/* The lowest and the highest entry of the stretch that begins at `begin`, in order. */
static void extremes(const double *h, int64_t begin, int64_t end, int64_t *first, int64_t *second)
{
    int64_t low = begin, high = begin;

    for (int64_t i = begin; i < end; i++) {
        if (h[i] < h[low]) low = i;
        if (h[i] > h[high]) high = i;
    }
    *first = low < high ? low : high;
    *second = low < high ? high : low;
}

int64_t kryi_history_next(const double *h, int64_t count, int64_t most, int64_t after)
{
    const int64_t stretch = count > most ? 2 * count / most + 1 : 1;
    int64_t first, second;

    if (after < 0 || count <= most) return after + 1 < count ? after + 1 : count;
    for (int64_t begin = after - after % stretch; begin < count; begin += stretch) {
        extremes(h, begin, begin + stretch < count ? begin + stretch : count, &first, &second);
        if (first > after) return first;
        if (second > after) return second;
    }
    return after < count - 1 ? count - 1 : count;
}

double kryi_relative_residual(const kry_result *r, double residual)
{
    return residual == 0 ? 0 : residual / r->norm_b;
}

/* How many iterations had other choices, schemes or precisions before the history that there is. */
static int64_t before_history(const kry_result *res)
{
    if (!res->promotions) return 0;
    if (res->scheme == KRY_SCHEME_DOUBLE) return res->iterations - res->double_iterations;
    const int64_t own = (res->history_count - 1) * res->history_every;
    return own < res->iterations ? res->iterations - own : 0;
}

void kryi_history_of(const kry_result *res, history *h)
{
    const int64_t count = res->history_count;

    memset(h, 0, sizeof *h);
    h->in_steps = res->scheme == KRY_SCHEME_FLEXIBLE;
    h->before = h->in_steps ? 0 : before_history(res);
    for (int64_t i = -1; (i = kryi_history_next(res->history, count, HISTORY_MOST, i)) < count;) {
        const double own = (double)(i * res->history_every), whole = (double)res->iterations,
                     at = (double)h->before + own;
        h->iteration[h->count] = !h->in_steps && at > whole ? whole : at;
        h->residual[h->count++] = kryi_relative_residual(res, res->history[i]);
    }
}

void kryi_track_add(track *t, int64_t iteration, double residual)
{
    if (!t->every) t->every = 1;
    if (t->seen++ % t->every) return;
    if (t->count == TRACK_MOST) {
        for (int i = 0; i < TRACK_MOST / 2; i++) {
            t->iteration[i] = t->iteration[2 * i];
            t->residual[i] = t->residual[2 * i];
        }
        t->count /= 2;
        t->every *= 2;
    }
    t->iteration[t->count] = (double)iteration;
    t->residual[t->count++] = residual;
}
