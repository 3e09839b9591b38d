/*
 * bench_tridiagonal.c - kry bench tridiagonal: batches of tridiagonal systems in each layout and
 * each way, and beside them LAPACK's gtsv in a loop over the systems on all cores.
 *
 * Bytes are those that any method has to move: the matrix and b are read once, x is written once.
 */
#include "bench.h"
#include "lapack.h"
#include "page/text.h"
#include <kry/tridiagonal.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_SETS = 4, ARRAYS = 5, MAX_THREADS = 256, PAIRS = 9 };

/* Two sets of vectors at least, which take turns. */
typedef struct batches {
    const bench *b;
    int64_t systems, n;
    kry_vec *vec[MAX_SETS][ARRAYS];     /* lower, diagonal, upper, b, x */
    kry_vec *view[2][MAX_SETS][ARRAYS]; /* of these: n-by-systems, and systems-by-n */
    kry_vec *line[3];                   /* a matrix for all */
    int sets;
    kry_tridiagonal_params params; /* of what is being timed */
    bool one;
} batches;

static void batches_release(batches *d)
{
    for (int s = 0; s < MAX_SETS; s++)
        for (int a = 0; a < ARRAYS; a++) {
            for (int across = 0; across < 2; across++) kry_vec_release(&d->view[across][s][a]);
            kry_vec_release(&d->vec[s][a]);
        }
    for (int a = 0; a < 3; a++) kry_vec_release(&d->line[a]);
}

static kry_status make_views(batches *d, int set, int a)
{
    kry_status st = KRY_OK;
    int64_t first;
    cl_mem buffer = kry_vec_buffer(d->vec[set][a], &first);

    TRY(kry_vec_wrap(d->b->device, d->b->type, d->n, d->systems, buffer, first,
                     &d->view[0][set][a]));
    TRY(kry_vec_wrap(d->b->device, d->b->type, d->systems, d->n, buffer, first,
                     &d->view[1][set][a]));
done:
    return st;
}

static kry_status batches_create(const bench *b, batches *d)
{
    kry_status st = KRY_OK;
    int64_t numbers = d->n * d->systems;
    double size = (double)numbers * (double)kry_type_size(b->type) * ARRAYS;

    CHECK(size * 2 < 0.8 * (double)b->info->global_bytes, KRY_ERR_MEMORY,
          "%lldx%lld does not fit on the device twice", (long long)d->systems, (long long)d->n);
    int wanted = size * MAX_SETS < 0.5 * (double)b->info->global_bytes ? MAX_SETS : 2;
    for (; d->sets < wanted; d->sets++)
        for (int a = 0; a < ARRAYS; a++) {
            kry_vec **v = &d->vec[d->sets][a];
            if (a == 1 || a == 4 || d->sets) {
                TRY(kry_vec_create(b->device, b->type, numbers, 1, v));
                if (a == 1)
                    TRY(kry_vec_fill(*v, 4));
                else if (a != 4)
                    TRY(kry_vec_copy(d->vec[0][a], *v));
            } else {
                TRY(bench_vec(b, numbers, (uint64_t)a, v));
            }
            TRY(make_views(d, d->sets, a));
        }
    for (int a = 0; a < 3; a++) TRY(bench_vec(b, d->n, (uint64_t)a, &d->line[a]));
    TRY(kry_vec_fill(d->line[1], 4));
done:
    return st;
}

static kry_status solve_pass(void *user, int64_t turn)
{
    const batches *d = user;
    const bool across = d->params.layout == KRY_SYSTEMS_INTERLEAVED;
    kry_vec *const *v = d->view[across][turn % d->sets], *const *m = d->one ? d->line : v;

    return kry_tridiagonal_solve(&d->params, m[0], m[1], m[2], v[3], v[4]);
}

/* ---- LAPACK ------------------------------------------------------------------------------ */

typedef struct host_part {
    pthread_t thread;
    const lapack *l;
    kry_type type;
    char *v[4];
    int64_t n, from, to;
} host_part;

static void *host_solve(void *user)
{
    const host_part *p = user;
    for (int64_t s = p->from; s < p->to; s++) {
        size_t at = (size_t)(s * p->n) * kry_type_size(p->type);
        char *l = p->v[0] + at, *d = p->v[1] + at, *u = p->v[2] + at, *b = p->v[3] + at;
        lapack_gtsv(p->l, p->type, (int)p->n, l, d, u, b);
    }
    return NULL;
}

typedef struct host_batches {
    lapack *l;
    char *given[4], *work[4];
    size_t bytes;
    int threads;
} host_batches;

static void host_release(host_batches *h)
{
    for (int a = 0; a < 4; a++) free(h->given[a]), free(h->work[a]);
    lapack_close(&h->l);
}

static kry_status host_create(const batches *d, host_batches *h)
{
    kry_status st = KRY_OK;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);

    h->threads = cores < 1 ? 1 : cores > MAX_THREADS ? MAX_THREADS : (int)cores;
    if (h->threads > d->systems) h->threads = (int)d->systems;
    h->bytes = (size_t)(d->n * d->systems) * kry_type_size(d->b->type);
    for (int a = 0; a < 4; a++) {
        TRY(allocate(h->bytes, 1, &h->given[a]));
        TRY(allocate(h->bytes, 1, &h->work[a]));
        TRY(kry_vec_read(d->vec[0][a], h->given[a]));
    }
done:
    return st;
}

/* gtsv overwrites what it is given: copies are made before the clock starts. */
static kry_status host_time(const batches *d, const host_batches *h, double *seconds)
{
    kry_status st = KRY_OK;
    static host_part part[MAX_THREADS];
    int started = 0;

    for (int a = 0; a < 4; a++) memcpy(h->work[a], h->given[a], h->bytes);
    double start = now();
    for (int t = 0; t < h->threads; t++) {
        part[t] = (host_part){ .l = h->l,
                               .type = d->b->type,
                               .n = d->n,
                               .from = d->systems * t / h->threads,
                               .to = d->systems * (t + 1) / h->threads };
        for (int a = 0; a < 4; a++) part[t].v[a] = h->work[a];
        if (pthread_create(&part[t].thread, NULL, host_solve, &part[t])) break;
        started++;
    }
    for (int t = 0; t < started; t++) pthread_join(part[t].thread, NULL);
    *seconds = now() - start;
    CHECK(started == h->threads, KRY_ERR_MEMORY, "no thread could be started");
done:
    return st;
}

/* One solve of systems in columns, as gtsv solves them. */
static kry_status once(batches *d, double *seconds)
{
    kry_status st = KRY_OK;
    TRY(kry_device_finish(d->b->device));
    double start = now();
    TRY(solve_pass(d, 0));
    TRY(kry_device_finish(d->b->device));
    *seconds = now() - start;
done:
    return st;
}

/* LAPACK and kry take turns, so that both see the same machine; the ratio is the median of the
 * pairs' ratios. */
static kry_status bench_lapack(batches *d)
{
    kry_status st = KRY_OK;
    host_batches h = { 0 };
    double theirs[PAIRS], ratio[PAIRS], ours;
    char name[64], seconds[32], numbers[32];

    if (d->n > 100000000 || lapack_open(&h.l) < 0) goto done;
    TRY(host_create(d, &h));
    TRY(host_time(d, &h, &theirs[0]));
    TRY(once(d, &ours));
    for (int i = 0; i < PAIRS; i++) {
        TRY(host_time(d, &h, &theirs[i]));
        TRY(once(d, &ours));
        ratio[i] = theirs[i] / ours;
    }
    double time = bench_median(theirs, PAIRS), times = bench_median(ratio, PAIRS);
    snprintf(name, sizeof name, "%lldx%lld", (long long)d->systems, (long long)d->n);
    if (d->b->o->json)
        bench_print(d->b, &(bench_result){ .name = "tridiagonal",
                                           .problem = name,
                                           .n = d->n * d->systems,
                                           .bytes = 5.0 * (double)h.bytes,
                                           .seconds = time,
                                           .requested = "columns",
                                           .format = "columns",
                                           .variant = "LAPACK gtsv on the host" });
    else
        printf(
            "gtsv       %-22s n %13s  %10s  LAPACK on %d threads; kry, checked, is %.2f times as "
            "fast\n",
            name, kryi_text_whole(d->n * d->systems, numbers, sizeof numbers),
            kryi_text_seconds(time, seconds, sizeof seconds), h.threads, times);
done:
    host_release(&h);
    return st;
}

/* ---- the benchmark ------------------------------------------------------------------------- */

static const struct way {
    const char *variant;
    bool interleaved, one, gpu_only;
    kry_tridiagonal_params params;
} ways[] = {
    { "", .params = { 0 } },
    { "report later", .params = { .later = true } },
    { "unchecked", .params = { .unchecked = true } },
    { "unchecked, chunk 8", .gpu_only = true, .params = { .unchecked = true, .chunk = 8 } },
    { "unchecked, chunk 16", .gpu_only = true, .params = { .unchecked = true, .chunk = 16 } },
    { "unchecked, one matrix", .one = true, .params = { .unchecked = true } },
    { "unchecked, periodic", .params = { .unchecked = true, .periodic = true } },
    { "partial pivoting", .params = { .pivoting = KRY_SYSTEMS_PIVOT_ALWAYS } },
    { "", .interleaved = true, .params = { 0 } },
    { "report later", .interleaved = true, .params = { .later = true } },
    { "unchecked", .interleaved = true, .params = { .unchecked = true } },
    { "unchecked, chunk 8", .interleaved = true, .gpu_only = true,
      .params = { .unchecked = true, .chunk = 8 } },
    { "unchecked, chunk 16", .interleaved = true, .gpu_only = true,
      .params = { .unchecked = true, .chunk = 16 } },
    { "partial pivoting", .interleaved = true, .params = { .pivoting = KRY_SYSTEMS_PIVOT_ALWAYS } },
};

static void take_way(batches *d, const struct way *w)
{
    d->one = w->one;
    d->params = w->params;
    d->params.struct_size = sizeof d->params;
    d->params.layout = w->interleaved ? KRY_SYSTEMS_INTERLEAVED : KRY_SYSTEMS_COLUMNS;
}

static kry_status time_way(batches *d, const struct way *w)
{
    kry_status st = KRY_OK;
    char name[64];

    take_way(d, w);
    snprintf(name, sizeof name, "%lldx%lld", (long long)d->systems, (long long)d->n);
    bench_result r = { .name = "tridiagonal", .problem = name, .n = d->n * d->systems };
    r.requested = r.format = w->interleaved ? "interleaved" : "columns";
    r.variant = w->variant;
    const double matrix = 3 * (double)d->n * (w->one ? 1 : (double)d->systems);
    r.bytes = (matrix + 2 * (double)r.n) * (double)kry_type_size(d->b->type);
    TRY(bench_time(d->b, solve_pass, d, &r.seconds));
    TRY(kry_systems_check(d->b->device, NULL));
    bench_print(d->b, &r);
done:
    return st;
}

static kry_status bench_batches(const bench *b, int64_t systems, int64_t n)
{
    kry_status st = KRY_OK;
    batches d = { .b = b, .systems = systems, .n = n };

    TRY(batches_create(b, &d));
    for (size_t i = 0; i < COUNT(ways); i++) {
        bool slow =
            ways[i].params.pivoting == KRY_SYSTEMS_PIVOT_ALWAYS && b->info->gpu && systems < 64;
        if (slow || (ways[i].gpu_only && b->info->cpu_kernels)) continue;
        TRY(time_way(&d, &ways[i]));
    }
    take_way(&d, &ways[0]);
    TRY(bench_lapack(&d));
done:
    batches_release(&d);
    return st;
}

kry_status bench_batch_of(const char *word, int64_t *systems, int64_t *n)
{
    kry_status st = KRY_OK;
    long long count = 0, rows = 0;
    int end = 0;
    const bool read = sscanf(word, "%lldx%lld%n", &count, &rows, &end) == 2 && !word[end];

    CHECK(read && count > 0 && rows > 0 && count <= 1000000000 && rows <= 1000000000, KRY_ERR_PARSE,
          "'%s' is no batch; 4096x2048 would be 4096 systems of 2048 equations", word);
    *systems = count, *n = rows;
done:
    return st;
}

kry_status bench_tridiagonal(bench *b)
{
    kry_status st = KRY_OK;
    static const char *const large[] = { "4096x2048", "65536x128", "1000000x8", "16x500000",
                                         "1x10000000" };
    static const char *const small[] = { "4096x2048", "65536x32", "1x1000000" };
    const char *const *words = b->info->gpu ? large : small;
    size_t count = b->info->gpu ? COUNT(large) : COUNT(small);

    if (b->o->word_count > 1) words = b->o->words + 1, count = (size_t)b->o->word_count - 1;
    for (size_t i = 0; i < count; i++) {
        int64_t systems = 0, n = 0;
        TRY(bench_batch_of(words[i], &systems, &n));
        TRY(bench_batches(b, systems, n));
    }
done:
    return st;
}
