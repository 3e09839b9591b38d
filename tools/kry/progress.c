/*
 * progress.c - one line on the terminal that tells how a solve is getting on.
 */
#include "progress.h"
#include "page/text.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

static const double first_seconds = 0.5, between_seconds = 0.1;

/* Krylov methods are slow at first and fast in the end: before a quarter of the way (in digits of the
 * residual) a forecast would be many times too long. */
static const double early = 0.25;

bool progress_wanted(void) { return isatty(STDERR_FILENO); }

void progress_line(const progress *p, const kry_iteration *it, char text[PROGRESS_LINE])
{
    double rate = it->seconds > 0 ? (double)it->iteration / it->seconds : 0;
    int used = snprintf(text, PROGRESS_LINE, "%" PRId64 " iterations (%.0f/s), residual %.1e",
                        it->iteration, rate, it->residual);
    char *rest = text + used, time[32];
    const size_t room = PROGRESS_LINE - (size_t)used;

    if (used >= PROGRESS_LINE || !(it->target > 0)) return;
    double done = (p->first_log - log(it->residual)) / (p->first_log - log(it->target));
    if (!(done > early) || done >= 1)
        snprintf(rest, room, ", wanted %.1e", it->target);
    else
        snprintf(rest, room, ", wanted %.1e, %s left", it->target,
                 kry_text_seconds(it->seconds * (1 - done) / done, time, sizeof time));
}

int progress_monitor(void *user, const kry_iteration *it)
{
    progress *p = user;
    char text[PROGRESS_LINE];

    if (!p->begun && it->residual > 0) p->begun = true, p->first_log = log(it->residual);
    if (it->seconds < first_seconds || it->seconds - p->last_shown < between_seconds) return 0;
    progress_line(p, it, text);
    fprintf(stderr, "\r\033[K%s", text);
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
