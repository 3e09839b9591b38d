/*
 * brodtkorb_tridiagonal.c - many tridiagonal systems at once, beside LAPACK's gtsv in a loop over
 * them, on one core; and what the times grow like: the coefficient of n in a line through them.
 */
#include "brodtkorb.h"
#include "fit.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZES = 5, ARRAYS = 4, REPEATS = 3, WORDS = 5 /* four read, one written */ };
enum { LOWER, DIAGONAL, UPPER, RIGHT };

static const char table[] = "tridiagonal systems";
/* At 4096 systems of 2048 equations, beside a loop on the host. */
static const double their_best = 125;
static const int64_t their_size = 2048;

static const int64_t large[SIZES] = { 128, 256, 512, 1024, 2048 };
static const int64_t small[SIZES] = { 32, 64, 128, 256, 512 };

typedef struct batch {
    const brodtkorb *p;
    int64_t n, systems;
    kry_vec *on_device[ARRAYS], *x;
    char *on_host[ARRAYS], *room[ARRAYS];
} batch;

static void batch_release(batch *t)
{
    for (int a = 0; a < ARRAYS; a++) {
        kry_vec_release(&t->on_device[a]);
        free(t->on_host[a]);
        free(t->room[a]);
    }
    kry_vec_release(&t->x);
    *t = (batch){ .n = 0 };
}

/* Rows that their diagonals dominate. */
static double entry(const bench *b, int array, int64_t place)
{
    double u = kry_random_unit((uint64_t)b->seed, (uint64_t)array, (uint64_t)place);
    return array == DIAGONAL ? 2 + u : u - 0.5;
}

static kry_status batch_create(const brodtkorb *p, int64_t n, int64_t systems, batch *t)
{
    kry_status st = KRY_OK;
    const bench *b = p->b;
    size_t word = kry_type_size(b->type);
    *t = (batch){ .p = p, .n = n, .systems = systems };
    for (int a = 0; a < ARRAYS; a++) {
        TRY(allocate((size_t)(n * systems), word, &t->on_host[a]));
        TRY(allocate((size_t)(n * systems), word, &t->room[a]));
        for (int64_t i = 0; i < n * systems; i++) {
            if (b->type == KRY_F32)
                ((float *)(void *)t->on_host[a])[i] = (float)entry(b, a, i);
            else
                ((double *)(void *)t->on_host[a])[i] = entry(b, a, i);
        }
        TRY(kry_vec_create(b->device, b->type, n, systems, &t->on_device[a]));
        TRY(kry_vec_write(t->on_device[a], t->on_host[a]));
    }
    TRY(kry_vec_create(b->device, b->type, n, systems, &t->x));
done:
    return st;
}

/* gtsv works in place; its `lower` begins with the second equation. */
static double host_seconds(const batch *t)
{
    size_t word = kry_type_size(t->p->b->type), step = (size_t)t->n * word;
    double least = INFINITY;
    for (int r = 0; r < REPEATS; r++) {
        for (int a = 0; a < ARRAYS; a++)
            memcpy(t->room[a], t->on_host[a], step * (size_t)t->systems);
        double start = now();
        for (size_t s = 0; s < (size_t)t->systems; s++)
            lapack_gtsv(t->p->host, t->p->b->type, (int)t->n, t->room[LOWER] + s * step + word,
                        t->room[DIAGONAL] + s * step, t->room[UPPER] + s * step,
                        t->room[RIGHT] + s * step);
        least = fmin(least, now() - start);
    }
    return least;
}

static kry_status device_pass(void *user, int64_t turn)
{
    batch *t = user;
    (void)turn;
    return kry_tridiagonal_solve(NULL, t->on_device[LOWER], t->on_device[DIAGONAL],
                                 t->on_device[UPPER], t->on_device[RIGHT], t->x);
}

/* ---- printing ------------------------------------------------------------------------- */

static void print_cells(const batch *t, double host, double device, double of_copy)
{
    char row[32];
    const brodtkorb *p = t->p;
    snprintf(row, sizeof row, "%" PRId64, t->n);
    brodtkorb_cell(p->b, table, row, "host", "ms", NAN, 1e3 * host,
                   p->host ? NULL : p->host_missing);
    brodtkorb_cell(p->b, table, row, "device", "ms", NAN, 1e3 * device, NULL);
    brodtkorb_cell(p->b, table, row, "host / device", "times",
                   t->n == their_size ? their_best : NAN, host / device,
                   p->host ? NULL : p->host_missing);
    brodtkorb_cell(p->b, table, row, "bandwidth", "of a copy", NAN, of_copy, NULL);
    reproduce_say(p->b, "%8" PRId64, t->n);
    reproduce_number(p->b, "%13.3f", 1e3 * host);
    reproduce_number(p->b, "%13.3f", 1e3 * device);
    reproduce_number(p->b, "%13.2f", host / device);
    reproduce_number(p->b, "%12.0f %%", 100 * of_copy);
    reproduce_say(p->b, "\n");
}

static void print_growth(const brodtkorb *p, const double *n, const double *host,
                         const double *device)
{
    double line[2], slope[2] = { NAN, NAN };
    if (p->host) {
        fit_polynomial(SIZES, n, host, 1, line);
        slope[0] = line[1];
    }
    fit_polynomial(SIZES, n, device, 1, line);
    slope[1] = line[1];
    brodtkorb_cell(p->b, table, "coefficient of n", "host", "us", NAN, 1e6 * slope[0], NULL);
    brodtkorb_cell(p->b, table, "coefficient of n", "device", "us", NAN, 1e6 * slope[1], NULL);
    brodtkorb_cell(p->b, table, "ratio of the coefficients", "host / device", "times", NAN,
                   slope[0] / slope[1], NULL);
    reproduce_say(p->b, "%8s", "n, us");
    reproduce_number(p->b, "%13.3f", 1e6 * slope[0]);
    reproduce_number(p->b, "%13.3f", 1e6 * slope[1]);
    reproduce_number(p->b, "%13.2f", slope[0] / slope[1]);
    reproduce_say(p->b,
                  "\nTheirs: 125 times as fast as a loop on the host, at 4096 systems of 2048.\n");
}

kry_status brodtkorb_tridiagonal(const brodtkorb *p)
{
    kry_status st = KRY_OK;
    bench copy = *p->b;
    double n[SIZES], host[SIZES], device[SIZES];
    int64_t systems = p->b->info->gpu ? 4096 : 1024;
    batch t = { 0 };
    TRY(bench_copy(&copy));
    reproduce_say(p->b, "\n%s: %" PRId64 " at once, milliseconds\n\n%8s%13s%13s%13s%14s\n", table,
                  systems, "n", "gtsv", "device", "times", "of a copy");
    for (int at = 0; at < SIZES; at++) {
        int64_t size = p->b->info->gpu ? large[at] : small[at];
        TRY(batch_create(p, size, systems, &t));
        host[at] = p->host ? host_seconds(&t) : NAN;
        TRY(bench_time(&copy, device_pass, &t, &device[at]));
        n[at] = (double)size;
        double bytes = (double)(WORDS * systems * size) * (double)kry_type_size(p->b->type);
        print_cells(&t, host[at], device[at], bytes / device[at] / copy.copy);
        batch_release(&t);
    }
    print_growth(p, n, host, device);
done:
    batch_release(&t);
    return st;
}
