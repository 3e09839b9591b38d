/*
 * bench_kernels.c - kry bench kernels: where the time of a set-up and of a solve goes, kernel by kernel.
 *
 * Times are those of OpenCL's profiling events. Bytes and flops are what the model below says of
 * a kernel, not what was counted: docs/developers/kernels.md has the words that it must move.
 */
#include "bench.h"
#include "json.h"
#include "text.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ITERATIONS = 50, MOST_KERNELS = 64, DRAIN = 4096 /* events that are kept at most */ };

/* ---- the model ------------------------------------------------------------------------ */

enum {
    MATRIX = 1,   /* the numbers and the structure of A, once */
    FACES = 2,    /* the coefficients of a stencil, if they vary: 2 or 3 words */
    DIAGONAL = 4, /* with a preconditioner that is a diagonal: reads it, writes z */
    OLD = 8,      /* Chebyshev: the last iterate but one */
    VARIES = 16,  /* the inverse diagonal, if it is not one number */
    LABELS = 32,  /* of sub-domains: 2 bytes */
    PIECES = 64,  /* of sub-domains: 5 bytes for eight unknowns */
    OLD_P =
        128 /* unless M is a diagonal: x, updated in every second step, takes the old p; half a word */
};

/* Per unknown: words read and written, flops, and flops for each entry of A besides. A kernel that
 * is not here has no bytes and no flops. "A_" stands for the name of a format. */
static const struct line {
    const char *kernel;
    double words, flops, entry_flops;
    unsigned more;
} model[] = {
    { "A_apply", 2, 0, 2, MATRIX },
    { "A_residual", 3, 1, 2, MATRIX },
    { "A_relax", 4, 4, 2, MATRIX },
    { "A_apply_dot", 2, 2, 2, MATRIX },
    { "A_apply_direction", 4, 4, 2, MATRIX },
    { "stencil_apply", 2, 0, 2, FACES },
    { "stencil_apply_image", 2, 0, 2, FACES },
    { "stencil_residual", 3, 1, 2, FACES },
    { "stencil_direction", 3, 4, 2, FACES },
    { "stencil_step", 4, 6, 2, FACES | DIAGONAL | OLD_P }, /* x is updated every second time */
    { "stencil_diagonal", 1, 0, 0, FACES },
    { "stencil_relax", 3, 3, 2, FACES | OLD },
    { "stencil_scale", 2, 1, 0, 0 },
    { "stencil_colour", 3, 1.5, 1, FACES }, /* half the points, all the cache lines */
    { "stencil_incomplete", 2, 2, 2, FACES | VARIES },
    { "pcg_direction", 3, 2, 0, 0 },
    { "pcg_step", 6, 6, 0, DIAGONAL },
    { "pcg_check", 0, 0, 0, 0 },
    { "pcg_add_last", 3, 2, 0, 0 },
    { "bidiagonal_left", 3, 5, 0, 0 },
    { "bidiagonal_right", 3, 5, 0, 0 },
    { "lsqr_update", 5, 6, 0, 0 },
    { "lsmr_update", 7, 8, 0, 0 },
    { "relax_sweep", 4, 3, 0, OLD },
    { "null_space_dot", 1, 1, 0, 0 },
    { "null_space_subtract", 2, 1, 0, 0 },
    { "pin_add", 0, 0, 0, 0 },
    { "deflation_restrict", 1, 1, 0, PIECES },
    { "deflation_prolong", 1, 1, 0, LABELS },
    { "deflation_correct", 3, 5, 0, LABELS },
    { "deflation_add", 2, 1, 0, LABELS },
    { "vec_fill", 1, 0, 0, 0 },
    { "vec_copy", 2, 0, 0, 0 },
    { "vec_axpby", 3, 3, 0, 0 },
    { "vec_mul", 3, 1, 0, 0 }, /* with beta = 0 */
    { "vec_triad", 3, 2, 0, 0 },
    { "vec_invert", 2, 1, 0, 0 },
    { "vec_dot", 2, 2, 0, 0 },
    { "vec_dot_pair", 2, 4, 0, 0 },
};

/* What the model needs to know of a solve. */
typedef struct system_model {
    const source *src;
    int64_t n, nnz;
    double number;       /* bytes */
    double matrix_bytes; /* of a stored A; 0: there is none, or several kernels read it */
    double faces;        /* words to an unknown */
    bool stored;
    bool flux;   /* three flops to an entry in place of two */
    bool varies; /* A's diagonal */
    bool jacobi, chebyshev;
    bool makes_old; /* the old direction is made of other vectors that are at hand */
} system_model;

/* Does A's diagonal differ from row to row? If A offers none, we assume so. */
static kry_status find_varying(const bench *b, const kry_op *A, bool *varies)
{
    kry_status st = KRY_OK;
    int64_t n = kry_op_get_shape(A)->rows;
    size_t size = kry_type_size(b->type);
    kry_vec *diagonal = NULL;
    char *values = NULL;

    *varies = true;
    TRY(kry_vec_create(b->device, b->type, n, 1, &diagonal));
    if (kry_op_diagonal(A, diagonal) < 0) goto done; /* it offers none */
    TRY(allocate((size_t)n, size, &values));
    TRY(kry_vec_read(diagonal, values));
    *varies = n > 1 && memcmp(values, values + size, (size_t)(n - 1) * size) != 0;
done:
    free(values);
    kry_vec_release(&diagonal);
    return st;
}

static kry_status describe_system(const bench *b, const source *s, const kry_op *A, system_model *m)
{
    kry_status st = KRY_OK;
    kry_op_info info;
    options o = *b->o;

    options_choose_method(&o, "none");
    const char *precond = options_precond(&o, A);
    const char *deflation = options_solver(&o, "deflation");
    kry_op_describe(A, &info);
    *m = (system_model){ .src = s,
                         .n = kry_op_get_shape(A)->rows,
                         .nnz = info.nnz,
                         .number = (double)kry_type_size(b->type),
                         .stored = strcmp(info.kind, "stencil") != 0,
                         .flux = b->form.matrix.form == KRY_FLUX,
                         .jacobi = !strcmp(precond, "jacobi"),
                         .chebyshev = !strncmp(precond, "chebyshev", 9) };
    m->makes_old =
        (m->jacobi || !strcmp(precond, "none")) && (!deflation || !strcmp(deflation, "none"));
    TRY(find_varying(b, A, &m->varies));
    double matrix = info.bytes_per_apply - 2 * (double)m->n * m->number;
    bool several = !strcmp(info.kind, "hyb") || !strcmp(info.kind, "coo");
    if (m->stored && !several)
        m->matrix_bytes = matrix < info.bytes_stored ? matrix : info.bytes_stored;
    if (!m->stored && matrix > 0) m->faces = matrix / m->number / (double)m->n;
done:
    return st;
}

/* Behind the name of a format: "apply" of "csr_apply"; NULL: it does not begin with one. */
static const char *behind_format(const char *kernel)
{
    for (kry_format f = KRY_FORMAT_CSR; f < KRY_FORMAT_COUNT; f++) {
        size_t length = strlen(kry_format_name(f));
        if (!strncmp(kernel, kry_format_name(f), length) && kernel[length] == '_')
            return kernel + length + 1;
    }
    return NULL;
}

static const struct line *find_line(const system_model *m, const char *kernel)
{
    const char *action = m->stored ? behind_format(kernel) : NULL;
    for (size_t i = 0; i < COUNT(model); i++) {
        bool same = model[i].more & MATRIX ? action && !strcmp(action, model[i].kernel + 2)
                                           : !strcmp(kernel, model[i].kernel);
        if (same) return &model[i];
    }
    return NULL;
}

/* Of one call; NaN: not known. */
static void cost_of(const system_model *m, const char *kernel, double *bytes, double *flops)
{
    const struct line *l = find_line(m, kernel);
    *bytes = *flops = NAN;
    if (!l) return;
    bool diagonal = (l->more & DIAGONAL) && m->jacobi && m->varies;
    bool old = (l->more & OLD) && m->chebyshev;
    double words = l->words + 2 * diagonal + old + ((l->more & VARIES) && m->varies);
    double entry = l->entry_flops * (m->flux ? 1.5 : 1);
    if (l->more & FACES) words += m->faces;
    if ((l->more & OLD_P) && !m->makes_old) words += 0.5;
    if (l->more & LABELS) words += 2 / m->number;
    if (l->more & PIECES) words += 0.625 / m->number;
    if ((l->more & MATRIX) && !(m->matrix_bytes > 0)) return;
    *bytes = words * m->number * (double)m->n + (l->more & MATRIX ? m->matrix_bytes : 0);
    if (m->nnz >= 0 || l->entry_flops == 0)
        *flops = (l->flops + 3 * diagonal + 2 * old) * (double)m->n +
                 (entry > 0 ? entry * (double)m->nnz : 0);
}

/* ---- events --------------------------------------------------------------------------- */

typedef struct tally {
    const char *kernel;
    int64_t calls;
    double seconds;
} tally;

typedef struct trace {
    kry_device *device; /* borrowed */
    const char *part;   /* what is traced: "set-up", "solve" */
    double seconds;     /* that it took, on the host's clock */
    tally kernel[MOST_KERNELS];
    int kernels;
    struct {
        int kernel;
        cl_event event;
    } waiting[DRAIN];
    int count;
    cl_int error; /* the first one */
} trace;

/* Wait for the kernels and add up their times. */
static void trace_drain(trace *t)
{
    cl_int err = clFinish(kry_device_queue(t->device));
    for (int i = 0; i < t->count; i++) {
        cl_ulong from = 0, to = 0;
        cl_event e = t->waiting[i].event;
        if (!err)
            err = clGetEventProfilingInfo(e, CL_PROFILING_COMMAND_START, sizeof from, &from, NULL);
        if (!err) err = clGetEventProfilingInfo(e, CL_PROFILING_COMMAND_END, sizeof to, &to, NULL);
        t->kernel[t->waiting[i].kernel].seconds += (double)(to - from) * 1e-9;
        clReleaseEvent(e);
    }
    t->count = 0;
    if (!t->error) t->error = err;
}

/* Kernels beyond the most that there is room for count as the last one, "others". */
static int tally_of(trace *t, const char *kernel)
{
    int i = 0;
    while (i < t->kernels && strcmp(t->kernel[i].kernel, kernel)) i++;
    if (i == MOST_KERNELS) return MOST_KERNELS - 1;
    if (i == t->kernels)
        t->kernel[t->kernels++] = (tally){ i == MOST_KERNELS - 1 ? "others" : kernel, 0, 0 };
    return i;
}

static void trace_kernel(void *user, const char *kernel, cl_event event)
{
    trace *t = user;
    if (t->count == DRAIN) trace_drain(t);
    int i = tally_of(t, kernel);
    t->kernel[i].calls++;
    t->waiting[t->count].kernel = i;
    t->waiting[t->count++].event = event;
}

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
    cost_of(m, k->kernel, &bytes, &flops);
    double rate = bytes > 0 ? bytes * (double)k->calls / k->seconds : NAN;
    json j = json_begin(stdout);
    json_text(&j, "name", k->kernel);
    json_text(&j, "problem", m->src->name);
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
    cost_of(m, k->kernel, &bytes, &flops);
    if (bytes > 0) {
        double speed = bytes * (double)k->calls / k->seconds;
        text_bytes(bytes, moved, sizeof moved);
        snprintf(rate, sizeof rate, "%.2f", speed / 1e9);
        snprintf(copy, sizeof copy, "%.1f %%", 100 * speed / b->copy);
    }
    if (flops >= 0) snprintf(count, sizeof count, "%.3g", flops);
    printf("%-24s %6lld %11.1f %6.1f %% %10s %9s %8s %9s\n", k->kernel, (long long)k->calls,
           k->seconds * 1e6, 100 * k->seconds / total, moved, rate, copy, count);
}

/* The kernels of a part, the longest first. */
static void print_part(const bench *b, const system_model *m, trace *t)
{
    char seconds[32], all[32];
    double total = 0;

    for (int i = 0; i < t->kernels; i++) total += t->kernel[i].seconds;
    qsort(t->kernel, (size_t)t->kernels, sizeof *t->kernel, by_seconds);
    for (int i = 0; i < t->kernels; i++)
        if (b->o->json)
            print_json(b, m, t->part, &t->kernel[i], total);
        else
            print_line(b, m, &t->kernel[i], total);
    if (!b->o->json)
        printf("%s: kernels %s of %s\n", t->part, text_seconds(total, all, sizeof all),
               text_seconds(t->seconds, seconds, sizeof seconds));
    fflush(stdout);
}

static void print_head(const bench *b, const system_model *m, const char *words)
{
    char n[32];

    if (b->o->json) return;
    printf("\n%s: n %s, %s, %s\n", m->src->name, text_whole(m->n, n, sizeof n),
           kry_type_name(b->type), words);
    printf("%-24s %6s %11s %8s %10s %9s %8s %9s\n", "kernel", "calls", "us", "share", "bytes",
           "GB/s", "of copy", "flops");
}

/* ---- the benchmark -------------------------------------------------------------------- */

static kry_status check_cl(cl_int err, const char *call)
{
    return err == CL_SUCCESS ? KRY_OK
                             : kry_fail(KRY_ERR_DEVICE, "%s failed with error %d", call, (int)err);
}

static void trace_begin(trace *t, const char *part)
{
    t->part = part;
    t->kernels = 0;
    t->seconds = now();
    kry_device_set_trace(t->device, trace_kernel, t);
}

static kry_status trace_end(trace *t)
{
    trace_drain(t);
    t->seconds = now() - t->seconds;
    kry_device_set_trace(t->device, NULL, NULL);
    return check_cl(t->error, "clGetEventProfilingInfo");
}

/* A set-up that compiles, and one that is traced. */
static kry_status traced_setup(const bench *b, const system_model *m, const kry_op *A,
                               const char *words, trace *t, kry_op **solver)
{
    kry_status st = KRY_OK;

    TRY(kry_solver_create(A, words, NULL, NULL, solver));
    kry_op_release(solver);
    TRY(kry_device_finish(t->device));
    trace_begin(t, "set-up");
    st = kry_solver_create(A, words, NULL, NULL, solver);
    const kry_status traced = trace_end(t);
    if (st >= 0) st = traced;
    if (st >= 0) print_part(b, m, t);
done:
    return st;
}

/* One solve that compiles and warms up, and one that is traced. */
static kry_status traced_solve(const bench *b, const system_model *m, kry_op *solver,
                               const kry_vec *rhs, kry_vec *x, trace *t)
{
    kry_status st = KRY_OK;
    kry_result result;

    TRY(kry_vec_fill(x, 0));
    TRY(kry_solve(solver, rhs, x, &result));
    TRY(kry_vec_fill(x, 0));
    TRY(kry_device_finish(t->device));
    trace_begin(t, "solve");
    st = kry_solve(solver, rhs, x, &result);
    const kry_status traced = trace_end(t);
    if (st >= 0 && traced < 0) st = traced;
    if (st >= 0) print_part(b, m, t);
    if (st >= 0 && !b->o->json) printf("%lld iterations\n", (long long)result.iterations);
done:
    return st < 0 ? st : KRY_OK;
}

static kry_status kernels_run(const bench *b, const source *s)
{
    kry_status st = KRY_OK;
    kry_op *A = NULL, *solver = NULL;
    kry_vec *rhs = NULL, *x = NULL;
    trace *t = NULL;
    char text[SOLVER_TEXT];
    system_model m;

    TRY(allocate(1, sizeof *t, &t));
    t->device = b->device;
    TRY(source_operator(s, b->device, b->type, &b->form, &A));
    TRY(describe_system(b, s, A, &m));
    TRY(bench_solver_text(b->o, options_whole(b->o->maxit, ITERATIONS), text));
    TRY(bench_vec(b, m.n, 0, &rhs));
    TRY(kry_vec_create(b->device, b->type, m.n, 1, &x));
    print_head(b, &m, text);
    TRY(traced_setup(b, &m, A, text, t, &solver));
    TRY(traced_solve(b, &m, solver, rhs, x, t));
done:
    free(t);
    kry_vec_release(&x);
    kry_vec_release(&rhs);
    kry_op_release(&solver);
    kry_op_release(&A);
    return st;
}

/* The same device with a queue that keeps times. */
static kry_status open_traced(kry_device *device, kry_device **traced)
{
    kry_status st = KRY_OK;
    cl_int err;
    cl_context context = kry_device_context(device);
    cl_command_queue queue =
        clCreateCommandQueue(context, kry_device_id(device), CL_QUEUE_PROFILING_ENABLE, &err);
    TRY(check_cl(err, "clCreateCommandQueue"));
    TRY(kry_device_wrap(context, kry_device_id(device), queue, traced));
done:
    if (queue) clReleaseCommandQueue(queue);
    return st;
}

kry_status bench_kernels(bench *b)
{
    kry_status st = KRY_OK;
    size_t count;
    bench t = *b;
    t.device = NULL;
    t.matrix_free = true;
    TRY(open_traced(b->device, &t.device));
    t.info = kry_device_get_info(t.device);
    const char *const *specs = bench_grids(b, &count);
    TRY(bench_sources(&t, specs, count, kernels_run));
done:
    kry_device_release(&t.device);
    return st;
}
