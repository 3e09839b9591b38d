/*
 * brodtkorb_dense.c - products, elimination and factors over the size of the matrix, and what the
 * times grow like: the coefficient of n^3 in a cubic through them.
 *
 * Times are those of the computation alone: numbers lie where they are needed, on the host or on
 * the device, and kernels are compiled.
 */
#include "block_pivots.h"
#include "brodtkorb.h"
#include "fit.h"
#include "page/text.h"
#include "passes.h"
#include "wrapped.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZES = 6, WAYS = 3, REPEATS = 3, DEGREE = 3 };

static const int64_t large[SIZES] = { 512, 1024, 2048, 4096, 6144, 8192 };
static const int64_t small[SIZES] = { 64, 128, 192, 256, 384, 512 };

/* ---- what is computed ----------------------------------------------------------------- */

/* Square matrices of one size. */
typedef struct sheet {
    const brodtkorb *p;
    int64_t n;
    kry_vec *A, *B, *C;
    kry_vec *wide, *echelon; /* [A I], n-by-2n, and room: for Gauss-Jordan elimination */
    void *a, *b, *c;         /* the same on the host; c: room */
    int *pivots;
} sheet;

enum { SLICE = 64 }; /* of the inner dimension, in a pass of several */

static kry_status product(const sheet *s)
{
    return kry_vec_gemm(false, false, 1, s->A, s->B, 0, s->C);
}
static kry_status product_single(const sheet *s) { return passes_product(0, s->A, s->B, s->C); }
static kry_status product_multi(const sheet *s) { return passes_product(SLICE, s->A, s->B, s->C); }

static kry_status inverse(const sheet *s) { return kry_vec_inverse(s->A, NULL, s->C); }

/* As in the paper: the reduced row echelon form of [A I] is [I inverse(A)]. */
static kry_status gauss_jordan(const sheet *s)
{
    kry_status st = kry_vec_copy(s->wide, s->echelon);
    return st < 0 ? st : kry_vec_rref(s->echelon, 0, NULL, NULL);
}

static kry_status factor_partial(const sheet *s)
{
    kry_op *lu = NULL;
    kry_status st = kry_lu_create(s->A, NULL, &lu);
    kry_op_release(&lu);
    return st;
}
static kry_status factor_blocks(const sheet *s)
{
    return block_pivots_factor(s->A, s->C, s->pivots);
}

static kry_status host_product(const sheet *s)
{
    lapack_gemm(s->p->host, s->p->b->type, (int)s->n, s->a, s->b, s->c);
    return KRY_OK;
}
static kry_status host_inverse(const sheet *s)
{
    return lapack_inverse(s->p->host, s->p->b->type, (int)s->n, s->c);
}
static kry_status host_factor(const sheet *s)
{
    lapack_getrf(s->p->host, s->p->b->type, (int)s->n, s->c, s->pivots);
    return KRY_OK;
}

typedef kry_status work(const sheet *s);

/* The first way is the library's own choice, which is compared with the host. */
static const struct race {
    const char *table, *host_name;
    double operations; /* this times n^3 */
    work *host;
    struct {
        const char *name;
        work *run;
    } ways[WAYS];
} races[] = {
    { "matrix product",
      "gemm",
      2,
      host_product,
      { { "kry_vec_gemm", product },
        { "single pass", product_single },
        { "multi-pass", product_multi } } },
    { "inverse",
      "getrf, getri",
      2,
      host_inverse,
      { { "kry_vec_inverse", inverse }, { "Gauss-Jordan", gauss_jordan } } },
    { "PLU factors",
      "getrf",
      2.0 / 3,
      host_factor,
      { { "partial", factor_partial }, { "2 x 2 pivots", factor_blocks } } },
};

/* ---- measuring ------------------------------------------------------------------------ */

static void sheet_release(sheet *s)
{
    kry_vec_release(&s->A);
    kry_vec_release(&s->B);
    kry_vec_release(&s->C);
    kry_vec_release(&s->wide);
    kry_vec_release(&s->echelon);
    free(s->a);
    free(s->b);
    free(s->c);
    free(s->pivots);
}

/* [A I], and room for its echelon form. */
static kry_status widen(sheet *s)
{
    kry_status st = KRY_OK;
    kry_device *device = s->p->b->device;
    kry_type type = s->p->b->type;
    size_t n = (size_t)s->n, word = kry_type_size(type);
    char *both = NULL;
    TRY(allocate(2 * n * n, word, &both)); /* zeros */
    memcpy(both, s->a, n * n * word);
    for (size_t i = 0; i < n; i++) {
        if (type == KRY_F32)
            ((float *)(void *)both)[n * n + i * (n + 1)] = 1;
        else
            ((double *)(void *)both)[n * n + i * (n + 1)] = 1;
    }
    TRY(kry_vec_create(device, type, s->n, 2 * s->n, &s->wide));
    TRY(kry_vec_create(device, type, s->n, 2 * s->n, &s->echelon));
    TRY(kry_vec_write(s->wide, both));
done:
    free(both);
    return st;
}

static kry_status sheet_create(const brodtkorb *p, int64_t n, sheet *s)
{
    kry_status st = KRY_OK;
    *s = (sheet){ .p = p, .n = n };
    TRY(brodtkorb_random(p->b, n, n, 0, &s->A, &s->a));
    TRY(brodtkorb_random(p->b, n, n, 1, &s->B, &s->b));
    TRY(kry_vec_create(p->b->device, p->b->type, n, n, &s->C));
    TRY(allocate((size_t)(n * n), kry_type_size(p->b->type), &s->c));
    TRY(allocate((size_t)n, sizeof *s->pivots, &s->pivots));
    TRY(widen(s));
done:
    return st;
}

/* The least of some runs; the first compiles and warms up. */
static kry_status least_time(const sheet *s, work *run, bool on_host, double *seconds)
{
    kry_status st = KRY_OK;
    const bench *b = s->p->b;
    *seconds = INFINITY;
    for (int r = -1; r < REPEATS; r++) {
        memcpy(s->c, s->a,
               (size_t)(s->n * s->n) * kry_type_size(b->type)); /* getrf works in place */
        TRY(kry_device_finish(b->device));
        double start = now();
        TRY(run(s));
        if (!on_host) TRY(kry_device_finish(b->device));
        if (r >= 0) *seconds = fmin(*seconds, now() - start);
    }
done:
    return st;
}

typedef struct times {
    int count;
    int64_t n[SIZES];
    double host[SIZES], way[WAYS][SIZES]; /* seconds; NaN: not measured */
    char refused[WAYS][300];
} times;

static kry_status time_size(const brodtkorb *p, const struct race *r, int at, times *t)
{
    kry_status st = KRY_OK;
    sheet s = { 0 };
    TRY(sheet_create(p, t->n[at], &s));
    if (p->host) TRY(least_time(&s, r->host, true, &t->host[at]));
    for (int w = 0; w < WAYS && r->ways[w].run; w++) {
        kry_status ran = least_time(&s, r->ways[w].run, false, &t->way[w][at]);
        if (ran == KRY_OK) continue;
        t->way[w][at] = NAN;
        if (ran != KRY_ERR_UNSUPPORTED && ran != KRY_ERR_MEMORY) TRY(ran);
        snprintf(t->refused[w], sizeof t->refused[w], "%s", kry_last_error());
    }
done:
    sheet_release(&s);
    return st;
}

/* ---- printing ------------------------------------------------------------------------- */

static void print_heading(const bench *b, const struct race *r)
{
    reproduce_say(b, "\n%s: milliseconds (GFLOP/s); `times` is host / device\n\n%8s%24s", r->table,
                  "n", r->host_name);
    for (int w = 0; w < WAYS && r->ways[w].run; w++) reproduce_say(b, "%24s", r->ways[w].name);
    reproduce_say(b, "%10s\n", "times");
}

static void print_time(const brodtkorb *p, const struct race *r, int64_t n, const char *column,
                       double seconds, const char *why)
{
    char row[32], text[64];
    snprintf(row, sizeof row, "%" PRId64, n);
    brodtkorb_cell(p->b, r->table, row, column, "ms", NAN, 1e3 * seconds, why);
    if (isfinite(seconds))
        snprintf(text, sizeof text, "%.3f (%.1f)", 1e3 * seconds,
                 r->operations * pow((double)n, 3) / seconds / 1e9);
    else
        snprintf(text, sizeof text, "-");
    reproduce_say(p->b, "%24s", text);
}

static void print_size(const brodtkorb *p, const struct race *r, const times *t, int at)
{
    reproduce_say(p->b, "%8" PRId64, t->n[at]);
    print_time(p, r, t->n[at], "host", t->host[at], p->host ? NULL : p->host_missing);
    for (int w = 0; w < WAYS && r->ways[w].run; w++)
        print_time(p, r, t->n[at], r->ways[w].name, t->way[w][at],
                   t->refused[w][0] ? t->refused[w] : NULL);
    reproduce_number(p->b, "%10.2f", t->host[at] / t->way[0][at]);
    reproduce_say(p->b, "\n");
}

/* Of n^3, in seconds; NaN where times are missing, or too few for a cubic. */
static double leading(const times *t, const double *seconds)
{
    double n[SIZES], a[DEGREE + 1];
    if (t->count <= DEGREE) return NAN;
    for (int i = 0; i < t->count; i++) {
        n[i] = (double)t->n[i];
        if (!isfinite(seconds[i])) return NAN;
    }
    fit_polynomial(t->count, n, seconds, DEGREE, a);
    return a[DEGREE];
}

static void print_growth(const brodtkorb *p, const struct race *r, const times *t)
{
    double host = leading(t, t->host);
    reproduce_say(p->b, "%8s", "n^3, ps");
    brodtkorb_cell(p->b, r->table, "coefficient of n^3", "host", "ps", NAN, 1e12 * host, NULL);
    reproduce_number(p->b, "%24.3f", 1e12 * host);
    for (int w = 0; w < WAYS && r->ways[w].run; w++) {
        double way = leading(t, t->way[w]);
        brodtkorb_cell(p->b, r->table, "coefficient of n^3", r->ways[w].name, "ps", NAN, 1e12 * way,
                       NULL);
        reproduce_number(p->b, "%24.3f", 1e12 * way);
        if (w == 0)
            brodtkorb_cell(p->b, r->table, "ratio of the coefficients", "host / device", "times",
                           NAN, host / way, NULL);
    }
    reproduce_number(p->b, "%10.2f", host / leading(t, t->way[0]));
    reproduce_say(p->b, "\n");
    for (int w = 0; w < WAYS; w++)
        if (t->refused[w][0] && !p->b->o->json) {
            printf("  %s: ", r->ways[w].name);
            text_wrapped(t->refused[w], 80, 4);
        }
}

kry_status brodtkorb_dense(const brodtkorb *p)
{
    kry_status st = KRY_OK;
    for (size_t i = 0; i < COUNT(races); i++) {
        times t = { .count = 0 };
        const int64_t *sizes = p->b->info->gpu ? large : small;
        int64_t most = options_whole(p->b->o->max_n, sizes[SIZES - 1]);
        print_heading(p->b, &races[i]);
        for (int at = 0; at < SIZES && sizes[at] <= most; at++) {
            t.n[at] = sizes[at];
            t.host[at] = NAN;
            t.count++;
            TRY(time_size(p, &races[i], at, &t));
            print_size(p, &races[i], &t, at);
        }
        print_growth(p, &races[i], &t);
    }
    reproduce_say(p->b, "\nTheirs: up to 31 times as fast as the host, over all algorithms.\n");
done:
    return st;
}
