/*
 * brodtkorb_background.c - figure 5: 30 dense systems of equations, solved by the host alone, by
 * the device alone, and by both at once.
 *
 * A system is a matrix and a right-hand side on the host, and its solution is wanted there: the
 * device's times include both transfers. Both at once is a batch over two queues (kry/queue.h), one of
 * them the host's, which calls LAPACK. All three go through the same batch.
 */
#include "brodtkorb.h"
#include "page/text.h"
#include <assert.h>
#include <inttypes.h>
#include <kry/queue.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SYSTEMS = 30, REPEATS = 3, HOST = 0, DEVICE = 1 };

static const char table[] = "figure 5";

typedef struct systems {
    const brodtkorb *p;
    kry_type type;
    size_t n;
    char *A, *b;    /* SYSTEMS of n-by-n and n numbers; the solutions are ones */
    char *work, *x; /* the same again, to be worked in */
    int *pivots;
    kry_queue *queues[2];
} systems;

/* ---- systems -------------------------------------------------------------------------- */

static void systems_release(systems *s)
{
    kry_queue_release(&s->queues[DEVICE]);
    kry_queue_release(&s->queues[HOST]);
    free(s->pivots);
    free(s->x);
    free(s->work);
    free(s->b);
    free(s->A);
}

static void fill(systems *s, double *sums)
{
    size_t n = s->n, at = 0;
    assert(n > 0);
    for (int job = 0; job < SYSTEMS; job++) {
        memset(sums, 0, n * sizeof *sums);
        for (size_t place = 0; place < n * n; place++, at++) {
            double a = kry_random_unit((uint64_t)s->p->b->seed, (uint64_t)job, place) - 0.5;
            if (s->type == KRY_F32)
                a = (double)(((float *)(void *)s->A)[at] = (float)a);
            else
                ((double *)(void *)s->A)[at] = a;
            sums[place % n] += a;
        }
        for (size_t i = 0; i < n; i++) {
            if (s->type == KRY_F32)
                ((float *)(void *)s->b)[(size_t)job * n + i] = (float)sums[i];
            else
                ((double *)(void *)s->b)[(size_t)job * n + i] = sums[i];
        }
    }
}

static kry_status systems_create(const brodtkorb *p, size_t n, systems *s)
{
    kry_status st = KRY_OK;
    double *sums = NULL;
    size_t word = kry_type_size(p->b->type);
    *s = (systems){ .p = p, .type = p->b->type, .n = n };
    TRY(allocate(SYSTEMS * n * n, word, &s->A));
    TRY(allocate(SYSTEMS * n * n, word, &s->work));
    TRY(allocate(SYSTEMS * n, word, &s->b));
    TRY(allocate(SYSTEMS * n, word, &s->x));
    TRY(allocate(n, sizeof *s->pivots, &s->pivots));
    TRY(allocate(n, sizeof *sums, &sums));
    fill(s, sums);
    TRY(kry_queue_create(NULL, NULL, &s->queues[HOST]));
    TRY(kry_queue_create(p->b->device, NULL, &s->queues[DEVICE]));
done:
    free(sums);
    return st;
}

/* The largest error of all solutions. */
static double largest_error(const systems *s)
{
    double largest = 0;
    for (size_t i = 0; i < SYSTEMS * s->n; i++) {
        double x = s->type == KRY_F32 ? (double)((const float *)(const void *)s->x)[i]
                                      : ((const double *)(const void *)s->x)[i];
        largest = isfinite(x) ? fmax(largest, fabs(x - 1)) : INFINITY;
    }
    return largest;
}

/* ---- solving them --------------------------------------------------------------------- */

static kry_status solve_on_host(const systems *s, char *A, char *x)
{
    kry_status st = KRY_OK;
    int info = lapack_solve(s->p->host, s->type, (int)s->n, A, s->pivots, x);
    CHECK(info == 0, KRY_ERR_SINGULAR, "LAPACK: a pivot is zero, column %d", info);
done:
    return st;
}

static kry_status solve_on_device(const systems *s, kry_device *device, const char *A, char *x)
{
    kry_status st = KRY_OK;
    int64_t n = (int64_t)s->n;
    kry_vec *matrix = NULL, *b = NULL;
    kry_op *lu = NULL;
    TRY(kry_vec_create(device, s->type, n, n, &matrix));
    TRY(kry_vec_create(device, s->type, n, 1, &b));
    TRY(kry_vec_write(matrix, A));
    TRY(kry_vec_write(b, x));
    TRY(kry_lu_create(matrix, NULL, &lu));
    TRY(kry_lu_solve(lu, false, b, b));
    TRY(kry_vec_read(b, x));
done:
    kry_op_release(&lu);
    kry_vec_release(&b);
    kry_vec_release(&matrix);
    return st;
}

static kry_status solve_some(void *user, int queue, kry_device *device, int64_t first,
                             int64_t count)
{
    kry_status st = KRY_OK;
    const systems *s = user;
    size_t word = kry_type_size(s->type);
    (void)queue;
    for (size_t i = (size_t)first; i < (size_t)(first + count); i++) {
        char *A = s->work + i * s->n * s->n * word, *x = s->x + i * s->n * word;
        if (device)
            TRY(solve_on_device(s, device, A, x));
        else
            TRY(solve_on_host(s, A, x));
    }
done:
    return st;
}

/* ---- the figure ----------------------------------------------------------------------- */

typedef struct outcome {
    double seconds, error;
    kry_batch_share shares[2];
} outcome;

/* The fastest of some runs on `count` of the queues from `first` on; the first run warms up. */
static kry_status solve_by(const systems *s, int first, int count, outcome *o)
{
    kry_status st = KRY_OK;
    size_t word = kry_type_size(s->type);
    kry_batch_share shares[2] = { { 0 } };
    *o = (outcome){ .seconds = INFINITY };
    for (int r = -1; r < REPEATS; r++) {
        memcpy(s->work, s->A, SYSTEMS * s->n * s->n * word);
        memcpy(s->x, s->b, SYSTEMS * s->n * word);
        double start = now();
        TRY(kry_batch_run(KRY_JOBS(.queues = s->queues + first, .count = count, .jobs = SYSTEMS,
                                   .run = solve_some, .user = (void *)s),
                          shares));
        double seconds = now() - start;
        o->error = fmax(o->error, largest_error(s));
        if (r < 0 || seconds >= o->seconds) continue;
        o->seconds = seconds;
        memcpy(o->shares, shares, sizeof shares);
    }
done:
    return st;
}

static void print_outcome(const brodtkorb *p, const char *who, const outcome *o, double host,
                          const char *why)
{
    char done[32] = "-";
    brodtkorb_cell(p->b, table, who, "seconds", "s", NAN, o->seconds, why);
    brodtkorb_cell(p->b, table, who, "largest error", "", NAN, o->error, why);
    if (o->shares[HOST].jobs && o->shares[DEVICE].jobs)
        snprintf(done, sizeof done, "%" PRId64 " + %" PRId64, o->shares[HOST].jobs,
                 o->shares[DEVICE].jobs);
    reproduce_say(p->b, "%-18s", who);
    reproduce_number(p->b, "%13.2f", 1e3 * o->seconds);
    reproduce_number(p->b, "%13.2f", host / o->seconds);
    reproduce_number(p->b, "%13.1e", o->error);
    reproduce_say(p->b, "%16s\n", done);
}

kry_status brodtkorb_background(const brodtkorb *p)
{
    kry_status st = KRY_OK;
    const outcome none = { .seconds = NAN, .error = NAN };
    outcome host = none, device = none, both = none;
    const char *why = p->host ? NULL : p->host_missing;
    systems s = { 0 };
    size_t n = p->b->info->gpu ? 2048 : 256;
    TRY(systems_create(p, n, &s));
    if (p->host) TRY(solve_by(&s, HOST, 1, &host));
    TRY(solve_by(&s, DEVICE, 1, &device));
    if (p->host) {
        lapack_spare_cores(p->host, 1); /* for the thread that feeds the device */
        TRY(solve_by(&s, HOST, 2, &both));
        lapack_spare_cores(p->host, 0);
    }
    reproduce_say(p->b,
                  "\n%s: %d systems of %zu equations, matrices and solutions on the host\n%s\n"
                  "%-18s%13s%13s%13s%16s\n",
                  table, SYSTEMS, n,
                  p->b->info->gpu ? ""
                                  : "host and device are the same cores here: together they "
                                    "cannot be faster\n",
                  "by", "ms", "times host", "error", "host + device");
    print_outcome(p, "host", &host, host.seconds, why);
    print_outcome(p, "device", &device, host.seconds, NULL);
    print_outcome(p, "host and device", &both, host.seconds, why);
done:
    systems_release(&s);
    return st;
}
