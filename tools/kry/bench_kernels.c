/*
 * bench_kernels.c - kry bench kernels: where the time of a set-up and of a solve goes, kernel by kernel.
 *
 * Times are those of OpenCL's profiling events. Bytes and flops are what the table of
 * lib/page/kernel_model.c says of a kernel, not what was counted.
 */
#include "bench.h"
#include "json.h"
#include "page/kernel_model.h"
#include "page/recording.h"
#include "page/text.h"
#include <kry/report.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ITERATIONS = 50 };

/* A kernel in one part of a run. */
typedef struct tally {
    const char *kernel;
    int64_t calls;
    double seconds;
} tally;

/* ---- results -------------------------------------------------------------------------- */

static int by_seconds(const void *a, const void *b)
{
    const tally *x = a, *y = b;
    return (x->seconds < y->seconds) - (x->seconds > y->seconds);
}

static void print_json(const bench *b, const system_model *m, const char *part, const tally *k,
                       double total)
{
    double bytes, flops;
    kryi_kernel_cost(m, k->kernel, &bytes, &flops);
    double rate = bytes > 0 ? bytes * (double)k->calls / k->seconds : NAN;
    json j = json_begin(stdout);
    json_text(&j, "name", k->kernel);
    json_text(&j, "problem", m->problem);
    json_text(&j, "part", part);
    json_text(&j, "device", b->info->name);
    json_text(&j, "precision", kry_type_name(b->type));
    json_whole(&j, "n", m->n);
    json_whole(&j, "nnz", m->nnz);
    json_whole(&j, "calls", k->calls);
    json_real(&j, "seconds", k->seconds);
    json_real(&j, "bytes", bytes);
    json_real(&j, "flops", flops);
    json_real(&j, "gbytes_per_s", rate / 1e9);
    json_real(&j, "fraction_of_copy", rate / b->copy);
    json_real(&j, "share", k->seconds / total);
    json_end(&j);
}

static void print_line(const bench *b, const system_model *m, const tally *k, double total)
{
    double bytes, flops;
    char rate[16] = "-", copy[16] = "-", moved[32] = "-", count[32] = "-";
    kryi_kernel_cost(m, k->kernel, &bytes, &flops);
    if (bytes > 0) {
        double speed = bytes * (double)k->calls / k->seconds;
        kryi_text_bytes(bytes, moved, sizeof moved);
        snprintf(rate, sizeof rate, "%.2f", speed / 1e9);
        snprintf(copy, sizeof copy, "%.1f %%", 100 * speed / b->copy);
    }
    if (flops >= 0) snprintf(count, sizeof count, "%.3g", flops);
    printf("%-24s %6lld %11.1f %6.1f %% %10s %9s %8s %9s\n", k->kernel, (long long)k->calls,
           k->seconds * 1e6, 100 * k->seconds / total, moved, rate, copy, count);
}

/* The kernels of a part, the longest first. */
static void print_part(const bench *b, const system_model *m, const recording *r,
                       kry_report_part phase)
{
    const char *part = phase == KRY_REPORT_SETUP ? "set-up" : "solve";
    char seconds[32], all[32];
    tally kernel[RECORDED_KERNELS] = { 0 };
    int kernels = 0;
    double total = kryi_recording_busy(r, phase, false);

    for (int i = 0; i < r->kernels; i++) {
        const recorded_kernel *k = &r->kernel[i];
        if (!k->transfer && k->calls[phase])
            kernel[kernels++] = (tally){ k->name, k->calls[phase], k->seconds[phase] };
    }
    qsort(kernel, (size_t)kernels, sizeof *kernel, by_seconds);
    for (int i = 0; i < kernels; i++)
        if (b->o->json)
            print_json(b, m, part, &kernel[i], total);
        else
            print_line(b, m, &kernel[i], total);
    if (!b->o->json)
        printf("%s: kernels %s of %s\n", part, kryi_text_seconds(total, all, sizeof all),
               kryi_text_seconds(kryi_recording_seconds(r, phase), seconds, sizeof seconds));
    fflush(stdout);
}

static void print_head(const bench *b, const system_model *m, const char *words)
{
    char n[32];

    if (b->o->json) return;
    printf("\n%s: n %s, %s, %s\n", m->problem, kryi_text_whole(m->n, n, sizeof n),
           kry_type_name(b->type), words);
    printf("%-24s %6s %11s %8s %10s %9s %8s %9s\n", "kernel", "calls", "us", "share", "bytes",
           "GB/s", "of copy", "flops");
}

/* ---- the benchmark -------------------------------------------------------------------- */

/* A set-up that compiles, and one that is traced. */
static kry_status traced_setup(const bench *b, const system_model *m, const kry_op *A,
                               const char *words, kry_op **solver)
{
    kry_status st = KRY_OK;
    recorder *r = NULL;

    TRY(kry_solver_create(A, words, NULL, NULL, solver));
    kry_op_release(solver);
    TRY(kry_device_finish(b->device));
    TRY(kryi_recorder_begin(b->device, now(), &r));
    kryi_recorder_enter(r, KRY_REPORT_SETUP);
    TRY(kry_solver_create(A, words, NULL, NULL, solver));
    TRY(kryi_recorder_end(r));
    print_part(b, m, kryi_recorder_kept(r), KRY_REPORT_SETUP);
done:
    kryi_recorder_release(&r);
    return st;
}

/* One solve that compiles and warms up, and one that is traced. */
static kry_status traced_solve(const bench *b, const system_model *m, kry_op *solver,
                               const kry_vec *rhs, kry_vec *x)
{
    kry_status st = KRY_OK;
    kry_result result;
    recorder *r = NULL;

    TRY(kry_vec_fill(x, 0));
    TRY(kry_solve(solver, rhs, x, &result));
    TRY(kry_vec_fill(x, 0));
    TRY(kry_device_finish(b->device));
    TRY(kryi_recorder_begin(b->device, now(), &r));
    kryi_recorder_enter(r, KRY_REPORT_SOLVE);
    TRY(kry_solve(solver, rhs, x, &result));
    TRY(kryi_recorder_end(r));
    print_part(b, m, kryi_recorder_kept(r), KRY_REPORT_SOLVE);
    if (!b->o->json) printf("%lld iterations\n", (long long)result.iterations);
done:
    kryi_recorder_release(&r);
    return st < 0 ? st : KRY_OK;
}

static kry_status kernels_run(const bench *b, const source *s)
{
    kry_status st = KRY_OK;
    kry_op *A = NULL, *solver = NULL;
    kry_vec *rhs = NULL, *x = NULL;
    char text[SOLVER_TEXT];
    system_model m;
    options o = *b->o;

    TRY(source_operator(s, b->device, b->type, &b->form, &A));
    options_choose_method(&o, "none");
    const char *deflation = options_solver(b->o, "deflation");
    TRY(kryi_kernel_model_of(A, options_precond(&o, A), deflation && strcmp(deflation, "none") != 0,
                             &m));
    m.flux = b->form.matrix.form == KRY_FLUX;
    m.problem = s->name;
    m.several_columns = b->columns > 1;
    TRY(bench_solver_text(b->o, options_whole(b->o->maxit, ITERATIONS), text));
    TRY(bench_block(b, m.n, b->columns, 0, &rhs));
    TRY(kry_vec_create(b->device, b->type, m.n, b->columns, &x));
    print_head(b, &m, text);
    TRY(traced_setup(b, &m, A, text, &solver));
    TRY(traced_solve(b, &m, solver, rhs, x));
done:
    kry_vec_release(&x);
    kry_vec_release(&rhs);
    kry_op_release(&solver);
    kry_op_release(&A);
    return st;
}

kry_status bench_kernels(bench *b)
{
    kry_status st = KRY_OK;
    size_t count;
    bench t = *b;
    t.device = NULL;
    t.matrix_free = true;
    CHECK(kry_device_context(b->device), KRY_ERR_UNSUPPORTED,
          "kernels has times of one OpenCL device, and %s is none", b->info->name);
    TRY(kry_device_open_timed(options_opencl(b->o), &t.device));
    t.info = kry_device_get_info(t.device);
    const char *const *specs = bench_grids(b, &count);
    TRY(bench_sources(&t, specs, count, kernels_run));
done:
    kry_device_release(&t.device);
    return st;
}
