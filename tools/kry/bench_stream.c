/*
 * bench_stream.c - kry bench stream: vectors from memory and back, and what the host can do alone.
 *
 * bytes per number: copy 2, triad 3, dot 2, axpby 3 times its size.
 */
#include "bench.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ARRAYS = 3, MAX_SETS = 64 };

typedef struct stream {
    kry_vec *vec[MAX_SETS][ARRAYS];
    int sets;
    kry_sum *sum; /* of the dot product; one device only */
    int64_t n;
} stream;

static kry_status copy_pass(void *user, int64_t turn)
{
    const stream *s = user;
    kry_vec *const *v = s->vec[turn % s->sets];
    return kry_vec_copy(v[0], v[2]);
}

static kry_status triad_pass(void *user, int64_t turn)
{
    const stream *s = user;
    kry_vec *const *v = s->vec[turn % s->sets];
    return kry_vec_triad(0.5, v[0], v[1], v[2]);
}

static kry_status dot_pass(void *user, int64_t turn)
{
    const stream *s = user;
    kry_vec *const *v = s->vec[turn % s->sets];
    return kry_vec_dot_sum(v[0], v[1], s->sum);
}

static kry_status axpby_pass(void *user, int64_t turn)
{
    const stream *s = user;
    kry_vec *const *v = s->vec[turn % s->sets];
    return kry_vec_axpby(0.5, v[0], 0.5, v[2]);
}

/* ---- sets of vectors that no cache holds ------------------------------------------ */

static void stream_release(stream *s)
{
    for (int i = 0; i < s->sets; i++)
        for (int a = 0; a < ARRAYS; a++) kry_vec_release(&s->vec[i][a]);
    kry_sum_release(&s->sum);
}

/* All sets together: 3 GiB on a GPU, a quarter of a GiB on a CPU, more if its cache is large. */
static double total_bytes(const bench *b)
{
    cl_ulong cache = 0;
    double total = b->info->gpu ? 3.0 * (1 << 30) : 0.25 * (1 << 30);
    double most = (double)b->info->global_bytes / 4;
    if (clGetDeviceInfo(kry_device_id(b->device), CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, sizeof cache,
                        &cache, NULL) == CL_SUCCESS &&
        8 * (double)cache > total)
        total = 8 * (double)cache;
    return total < most ? total : most;
}

static kry_status stream_create(const bench *b, stream *s)
{
    kry_status st = KRY_OK;
    double size = (double)kry_type_size(b->type), total = total_bytes(b);
    s->n = options_whole(b->o->n, (int64_t)(total / size / (2 * ARRAYS)));
    if (!b->o->n && (double)s->n * size > (double)b->info->max_alloc_bytes)
        s->n = (int64_t)((double)b->info->max_alloc_bytes / size);
    CHECK(s->n > 0, KRY_ERR_ARGUMENT, "--n must be at least 1");
    double sets = total / size / ARRAYS / (double)s->n;
    int wanted = sets < 2 ? 2 : sets > MAX_SETS ? MAX_SETS : (int)sets;
    /* The host makes the numbers of the first set: 0.4 billion on a GPU in single. */
    for (; s->sets < wanted; s->sets++)
        for (int a = 0; a < ARRAYS; a++) {
            kry_vec **v = &s->vec[s->sets][a];
            if (s->sets == 0) {
                TRY(bench_vec(b, s->n, (uint64_t)a, v));
            } else {
                TRY(kry_vec_create(b->device, b->type, s->n, 1, v));
                TRY(kry_vec_copy(s->vec[0][a], *v));
            }
        }
done:
    return st;
}

kry_status bench_copy(bench *b)
{
    kry_status st = KRY_OK;
    stream s = { 0 };
    double seconds;
    TRY(stream_create(b, &s));
    TRY(bench_time(b, copy_pass, &s, &seconds));
    b->copy = 2 * (double)s.n * (double)kry_type_size(b->type) / seconds;
done:
    stream_release(&s);
    return st;
}

/* ---- the host alone --------------------------------------------------------------- */

enum { HOST_NUMBERS = 5 << 20, MAX_THREADS = 256, HOST_PASSES = 4, HOST_REPEATS = 11 };

typedef struct host_part {
    pthread_t thread;
    double *x, *y, *z; /* this thread's part */
    int64_t n;
} host_part;

static void *host_triad(void *user)
{
    const host_part *p = user;
    const double *restrict x = p->x, *restrict y = p->y;
    double *restrict z = p->z;
    for (int pass = 0; pass < HOST_PASSES; pass++) {
        double a = 0.5 + pass;
        for (int64_t i = 0; i < p->n; i++) z[i] = y[i] + a * x[i];
    }
    return NULL;
}

/* Seconds of HOST_PASSES triads on `threads` threads; < 0 if one could not start. */
static double run_threads(host_part *parts, int threads)
{
    int started = 0;
    double start = now();
    while (started < threads &&
           !pthread_create(&parts[started].thread, NULL, host_triad, &parts[started]))
        started++;
    for (int t = 0; t < started; t++) pthread_join(parts[t].thread, NULL);
    return started == threads ? now() - start : -1;
}

double bench_host_triad(void)
{
    static host_part parts[MAX_THREADS];
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int threads = cores < 1 ? 1 : cores > MAX_THREADS ? MAX_THREADS : (int)cores;
    int64_t n = HOST_NUMBERS / threads;
    double t[HOST_REPEATS], rate = 0, *data = malloc(3 * HOST_NUMBERS * sizeof *data);
    if (!data) return 0;
    for (int64_t i = 0; i < 3 * HOST_NUMBERS; i++) data[i] = (double)(i % 1021);
    for (int p = 0; p < threads; p++)
        parts[p] = (host_part){ .x = data + p * n,
                                .y = data + HOST_NUMBERS + p * n,
                                .z = data + 2 * HOST_NUMBERS + p * n,
                                .n = n };
    bool ran = run_threads(parts, threads) > 0;
    for (int i = 0; ran && i < HOST_REPEATS; i++) ran = (t[i] = run_threads(parts, threads)) > 0;
    if (ran)
        rate = 3.0 * HOST_PASSES * (double)(n * threads) * sizeof *data /
               bench_median(t, HOST_REPEATS);
    free(data);
    return rate;
}

/* ---- the benchmark ---------------------------------------------------------------- */

static const struct {
    const char *name;
    bench_pass pass;
    int words; /* read and written per number */
} streams[] = {
    { "copy", copy_pass, 2 },
    { "triad", triad_pass, 3 },
    { "dot", dot_pass, 2 },
    { "axpby", axpby_pass, 3 },
};

kry_status bench_stream(bench *b)
{
    kry_status st = KRY_OK;
    stream s = { 0 };
    if (!b->info->gpu) b->host_triad = bench_host_triad();
    if (b->host_triad > 0 && !b->o->json)
        printf("host triad in plain C: %.2f GB/s\n", b->host_triad / 1e9);
    TRY(stream_create(b, &s));
    TRY(kry_sum_create(b->device, 1, &s.sum));
    for (size_t i = 0; i < COUNT(streams); i++) {
        bench_result r = { .name = streams[i].name, .n = s.n };
        r.bytes = streams[i].words * (double)s.n * (double)kry_type_size(b->type);
        TRY(bench_time(b, streams[i].pass, &s, &r.seconds));
        if (i == 0) b->copy = r.bytes / r.seconds;
        bench_print(b, &r);
    }
done:
    stream_release(&s);
    return st;
}
