/*
 * progress.c - one line on the terminal that tells how a solve is getting on.
 */
#include "progress.h"
#include "page/text.h"
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
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
                 kryi_text_seconds(it->seconds * (1 - done) / done, time, sizeof time));
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

/* ---- compiling ------------------------------------------------------------------------ */

/* Compiling counts as going on until its seconds have not grown for so many looks, LOOK_NS apart. */
enum { LOOK_NS = 100000000, IDLE_LOOKS = 15 };

static void *watch_compiling(void *user)
{
    const struct timespec look = { .tv_nsec = LOOK_NS };
    compiling *c = user;
    double before = 0;
    int idle = 0;
    bool on_screen = false;

    while (!atomic_load(&c->stop)) {
        int64_t programs;
        const double seconds = kry_device_compile_seconds(c->device, &programs);
        idle = seconds > before ? 0 : idle + 1;
        before = seconds;
        const bool shows = seconds >= 1 && programs > 0 && idle < IDLE_LOOKS;
        if (shows)
            fprintf(stderr, "\r\033[Kcompiling kernels for this device, once: %" PRId64, programs);
        else if (on_screen)
            fputs("\r\033[K", stderr);
        on_screen = shows;
        fflush(stderr);
        nanosleep(&look, NULL);
    }
    if (on_screen) fputs("\r\033[K", stderr), fflush(stderr);
    return NULL;
}

void compiling_begin(compiling *c, const kry_device *device)
{
    sigset_t all, old;

    if (!progress_wanted()) return;
    c->device = device;
    sigfillset(&all); /* Ctrl-C is for the thread that solves */
    pthread_sigmask(SIG_SETMASK, &all, &old);
    c->runs = !pthread_create(&c->thread, NULL, watch_compiling, c);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

void compiling_end(compiling *c)
{
    if (!c->runs) return;
    atomic_store(&c->stop, true);
    pthread_join(c->thread, NULL);
    c->runs = false;
}
