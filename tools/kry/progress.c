/*
 * progress.c - one line on the terminal that tells how a solve is getting on.
 */
#include "progress.h"
#include "text.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

static const double first_seconds = 0.5, between_seconds = 0.1;
static const double too_far = 50; /* times the iterations so far: no guess is shown */

bool progress_wanted(void) { return isatty(STDERR_FILENO); }

/* Keep a sample; when there is no room, drop every second one. */
static void take_sample(progress *p, const kry_iteration *it)
{
    if (!p->every) p->every = 1;
    if (p->looks++ % p->every || !(it->residual > 0)) return;
    if (p->count == PROGRESS_SAMPLES) {
        for (int i = 0; i < PROGRESS_SAMPLES / 2; i++) {
            p->iteration[i] = p->iteration[2 * i];
            p->log_residual[i] = p->log_residual[2 * i];
        }
        p->count /= 2;
        p->every *= 2;
    }
    p->iteration[p->count] = it->iteration;
    p->log_residual[p->count++] = log(it->residual);
}

double progress_remaining(const progress *p, const kry_iteration *it)
{
    int from = 0;
    while (from + 1 < p->count && p->iteration[from] < it->iteration / 2) from++;
    if (p->count == 0 || it->iteration <= p->iteration[from] || !(it->target > 0)) return -1;
    double fall =
        (p->log_residual[from] - log(it->residual)) / (double)(it->iteration - p->iteration[from]);
    double remaining = log(it->residual / it->target) / fall;
    bool known = fall > 0 && remaining < too_far * (double)it->iteration;
    return known ? fmax(remaining, 0) : -1;
}

int progress_monitor(void *user, const kry_iteration *it)
{
    progress *p = user;
    take_sample(p, it);
    if (it->seconds < first_seconds || it->seconds - p->last_shown < between_seconds) return 0;
    double rate = (double)it->iteration / it->seconds, remaining = progress_remaining(p, it);
    char left[64] = "hardly falling", time[32];
    if (remaining >= 0)
        snprintf(left, sizeof left, "about %.0f more, %s", remaining,
                 text_seconds(remaining / rate, time, sizeof time));
    fprintf(stderr, "\r\033[K%" PRId64 " iterations, residual %.1e, wanted %.1e, %.0f it/s, %s",
            it->iteration, it->residual, it->target, rate, left);
    fflush(stderr);
    p->last_shown = it->seconds;
    p->on_screen = true;
    return 0;
}

void progress_erase(progress *p)
{
    if (p->on_screen) fputs("\r\033[K", stderr);
    p->on_screen = false;
}
