/*
 * tune.c - kry tune: find the launches that suit a device, and keep them for every later run.
 *
 * A shape is a group size and a number of groups to a compute unit (GPUs), or a number of chunks
 * (CPUs). Each is judged by the geometric mean of the times of what solvers do most: sums, and
 * products with and without a sum. First the group size is varied, then the number of groups. At the end
 * the kernels of the other kind are timed: there are devices that call themselves GPUs and are CPUs.
 */
#include "bench.h"
#include "commands.h"
#include "json.h"
#include "page/text.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct work {
    kry_op *csr, *dia;
    kry_vec *x, *y;
    kry_sum *sum;
} work;

static kry_status dot_pass(void *user, int64_t turn)
{
    const work *w = user;

    (void)turn;
    return kry_vec_dot_sum(w->x, w->y, w->sum);
}

static kry_status copy_pass(void *user, int64_t turn)
{
    const work *w = user;

    (void)turn;
    return kry_vec_copy(w->x, w->y);
}

static kry_status csr_pass(void *user, int64_t turn)
{
    const work *w = user;

    (void)turn;
    return kry_op_apply(w->csr, 1, w->x, 0, w->y);
}

static kry_status csr_dot_pass(void *user, int64_t turn)
{
    const work *w = user;

    (void)turn;
    return kry_op_apply_dot(w->csr, w->x, w->y, w->sum);
}

static kry_status dia_dot_pass(void *user, int64_t turn)
{
    const work *w = user;

    (void)turn;
    return kry_op_apply_dot(w->dia, w->x, w->y, w->sum);
}

static kry_status work_create(const bench *b, const source *s, work *w)
{
    kry_status st = KRY_OK;
    form f = { .matrix = *KRY_MATRIX(.traits = KRY_POSITIVE, .values = KRY_VALUES_AS_GIVEN) };

    f.matrix.format = KRY_FORMAT_CSR;
    TRY(source_operator(s, b->device, b->type, &f, &w->csr));
    f.matrix.format = KRY_FORMAT_DIA;
    TRY(source_operator(s, b->device, b->type, &f, &w->dia));
    TRY(bench_vec(b, s->rows, 0, &w->x));
    TRY(bench_vec(b, s->rows, 1, &w->y));
    TRY(kry_sum_create(b->device, 1, &w->sum));
done:
    return st;
}

static void work_release(work *w)
{
    kry_sum_release(&w->sum);
    kry_vec_release(&w->y);
    kry_vec_release(&w->x);
    kry_op_release(&w->dia);
    kry_op_release(&w->csr);
}

/* The mean time of the passes with a device of this shape, opened for the purpose: kernels are
 * compiled for the group size. */
static kry_status time_shape(const bench *b, const source *s, kry_launch_shape shape,
                             double *seconds)
{
    static const bench_pass passes[] = { copy_pass, dot_pass, csr_pass, csr_dot_pass,
                                         dia_dot_pass };
    kry_status st = KRY_OK;
    bench trial = *b;
    work w = { 0 };
    double log_sum = 0, t;

    trial.device = NULL;
    TRY(kry_device_open(b->o->device, &trial.device));
    TRY(kry_device_set_launch_shape(trial.device, &shape));
    TRY(work_create(&trial, s, &w));
    for (size_t i = 0; i < COUNT(passes); i++) {
        TRY(bench_time(&trial, passes[i], &w, &t));
        log_sum += log(t);
    }
    const size_t count = COUNT(passes);
    *seconds = exp(log_sum / (double)count);
done:
    work_release(&w);
    kry_device_release(&trial.device);
    return st;
}

static void print_shape(const bench *b, kry_launch_shape s, double seconds, bool best)
{
    char text[32];
    if (b->o->json) {
        json j = json_begin(stdout);
        json_text(&j, "name", "tune");
        json_text(&j, "device", b->info->name);
        json_bool(&j, "cpu_kernels", b->info->cpu_kernels);
        json_whole(&j, "group", s.group);
        json_whole(&j, "per_unit", s.per_unit);
        json_whole(&j, "chunks", s.chunks);
        json_real(&j, "seconds", seconds);
        json_bool(&j, "best", best);
        json_end(&j);
    } else if (b->info->cpu_kernels) {
        printf("%4d chunks  %10s%s\n", s.chunks, kryi_text_seconds(seconds, text, sizeof text),
               best ? "  best so far" : "");
    } else {
        printf("groups of %3d, %2d to a unit  %10s%s\n", s.group, s.per_unit,
               kryi_text_seconds(seconds, text, sizeof text), best ? "  best so far" : "");
    }
    fflush(stdout);
}

#define CLEARLY 0.98 /* of another time: faster by more than noise */

typedef struct search {
    kry_launch_shape best;
    double seconds; /* of the best one; INFINITY at first */
} search;

/* A shape replaces the best one only if it is faster by more than noise. */
static kry_status try_shape(const bench *b, const source *s, kry_launch_shape shape, search *found)
{
    kry_status st = KRY_OK;
    double seconds;

    TRY(time_shape(b, s, shape, &seconds));
    bool better = seconds < CLEARLY * found->seconds;
    print_shape(b, shape, seconds, better);
    if (better) *found = (search){ shape, seconds };
done:
    return st;
}

static kry_status search_shapes(const bench *b, const source *s, search *found)
{
    static const int group[] = { 64, 256 }, per_unit[] = { 8, 12, 24, 32 },
                     chunks[] = { 16, 32, 64, 256 };
    kry_status st = KRY_OK;
    kry_launch_shape usual = kry_device_launch_shape(b->device);
    int resident = usual.group * usual.per_unit;

    *found = (search){ usual, INFINITY };
    TRY(try_shape(b, s, usual, found));
    for (size_t i = 0; i < COUNT(chunks) && b->info->cpu_kernels; i++) {
        usual.chunks = chunks[i];
        TRY(try_shape(b, s, usual, found));
    }
    if (b->info->cpu_kernels) goto done;
    for (size_t i = 0; i < COUNT(group); i++) {
        kry_launch_shape shape = { group[i], resident / group[i], usual.chunks };
        if (group[i] <= b->info->max_group) TRY(try_shape(b, s, shape, found));
    }
    usual = found->best;
    for (size_t i = 0; i < COUNT(per_unit); i++) {
        kry_launch_shape shape = { usual.group, per_unit[i], usual.chunks };
        if (per_unit[i] != usual.per_unit) TRY(try_shape(b, s, shape, found));
    }
done:
    return st;
}

static kry_status keep(bench *b, const search *found)
{
    kry_status st = KRY_OK;
    char path[600];

    TRY(kry_device_set_launch_shape(b->device, &found->best));
    TRY(bench_copy(b));
    kry_tuning_keep(b->device, b->copy);
    if (b->o->json) goto done;
    printf("copy %.4g GB/s\n", b->copy * 1e-9);
    kry_tuning_path(b->device, path, sizeof path);
    if (*path)
        printf("kept in %s\n", path);
    else
        printf("not kept: there is no cache folder that you alone can write (KRY_CACHE_DIR)\n");
done:
    return st;
}

/* Open the device with kernels for CPUs or for GPUs, whatever was kept. */
static kry_status open_kind(bench *b, bool cpu)
{
    kry_status st = KRY_OK;
    const char *given = getenv("KRY_PROFILE");
    char words[300];

    snprintf(words, sizeof words, "%s %s-kernels", given ? given : "", cpu ? "cpu" : "gpu");
    CHECK(!setenv("KRY_PROFILE", words, 1), KRY_ERR_MEMORY, "no memory for KRY_PROFILE");
    TRY(kry_device_open(b->o->device, &b->device));
    TRY(kry_device_set_launch_shape(b->device, NULL)); /* not what was found before */
    b->info = kry_device_get_info(b->device);
    if (!b->info->fp64) b->type = KRY_F32;
done:
    return st;
}

/* Whether the other kind of kernels is faster, which then is searched and kept, too. One
 * shape decides. */
static kry_status try_other_kind(const bench *b, const source *s, const search *own, bool *better)
{
    kry_status st = KRY_OK;
    bench other = { .o = b->o, .type = b->type, .seed = b->seed };
    search found = { .seconds = INFINITY };

    *better = false;
    TRY(open_kind(&other, !b->info->cpu_kernels));
    if (other.info->cpu_kernels == b->info->cpu_kernels) goto done; /* the host has no kernels */
    TRY(try_shape(&other, s, kry_device_launch_shape(other.device), &found));
    *better = found.seconds < CLEARLY * own->seconds;
    if (!b->o->json)
        printf("kernels as for %s are %s\n", b->info->cpu_kernels ? "GPUs" : "CPUs",
               *better ? "faster here" : "slower");
    if (!*better) goto done;
    TRY(search_shapes(&other, s, &found));
    TRY(keep(&other, &found));
done:
    kry_device_release(&other.device);
    return st;
}

kry_status tune_run(const options *o)
{
    kry_status st = KRY_OK;
    source s = { 0 };
    search found;
    bool other;
    bench b = { .o = o, .type = KRY_F64, .seed = options_whole(o->seed, 1) };

    CHECK(o->word_count == 0, KRY_ERR_PARSE, "takes no \"%s\"", o->words[0]);
    TRY(kry_device_open(o->device, &b.device));
    const bool cpu = !strcmp(kry_device_get_info(b.device)->kind, "cpu");
    kry_device_release(&b.device);
    TRY(open_kind(&b, cpu));
    if (!o->json) printf("%s, driver %s\n", b.info->name, b.info->driver);
    TRY(source_open(NULL, b.info->gpu ? "poisson2d:2048" : "poisson2d:512", 1, NULL, &s));
    TRY(search_shapes(&b, &s, &found));
    TRY(keep(&b, &found));
    TRY(try_other_kind(&b, &s, &found, &other));
    kry_tuning_keep_kernels(b.device, other ? !cpu : cpu);
done:
    source_release(&s);
    kry_device_release(&b.device);
    return st;
}
