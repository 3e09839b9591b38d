/*
 * akhtar_speeds.c - figures 13, 16, 23, 24: how fast the kernels sweep, over the size of the cube.
 *
 * A point counts 7 operations, six additions and a division in the paper's kernels, and two words
 * of memory. The paper's best is 51 GFLOP/s in single precision, on a card of 144 GB/s.
 */
#include "akhtar.h"
#include "page/text.h"
#include "wrapped.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { FLOPS = 7, MOST_SIZES = 5, MATRIX_MOST = 200, REPEATS = 5, IN_A_RUN = 12 };
static const char paper[] = "akhtar";
static const double their_best = 51; /* GFLOP/s */

static const int64_t large[MOST_SIZES] = { 100, 200, 300, 400, 500 }, small[] = { 64, 100, 160 };

/* What is drawn and printed for a kernel and a size. */
enum { MS, GFLOPS, BANDWIDTH, OF_COPY, SPEED_UP, QUANTITIES };
static const struct quantity {
    const char *table, *unit;
} quantities[QUANTITIES] = {
    [MS] = { "figure 13", "ms per sweep" },
    [GFLOPS] = { "figure 16", "GFLOP/s" },
    [BANDWIDTH] = { "bandwidth", "GB/s" },
    [OF_COPY] = { "bandwidth of a copy", "" },
    [SPEED_UP] = { "figures 23 and 24", "times a plain loop on one core" },
};

typedef struct figures {
    lines *ms, *gflops, *launches, *resident; /* 13, 16, 23, 24 */
    bool resident_ran;                        /* a kernel of figure 24 did */
} figures;

/* ---- the host alone ----------------------------------------------------------------------- */

#define DEFINE_HOST_SWEEP(name, real)                                                   \
    static void name(int64_t n, const real *restrict w, real *restrict next)            \
    {                                                                                   \
        int64_t row = n + 2, slab = row * row;                                          \
        for (int64_t k = 1; k <= n; k++)                                                \
            for (int64_t j = 1; j <= n; j++) {                                          \
                const real *at = w + k * slab + j * row;                                \
                real *to = next + k * slab + j * row;                                   \
                for (int64_t i = 1; i <= n; i++)                                        \
                    to[i] = ((((at[i - 1] + at[i + 1]) + (at[i - row] + at[i + row])) + \
                              at[i - slab]) +                                           \
                             at[i + slab]) *                                            \
                            ((real)1 / (real)6);                                        \
            }                                                                           \
    }
DEFINE_HOST_SWEEP(host_sweep_single, float)
DEFINE_HOST_SWEEP(host_sweep_double, double)

/* Seconds of a sweep in plain C on one core, the box and its sides in one array. */
static kry_status time_host(kry_type type, int64_t n, double *seconds)
{
    kry_status st = KRY_OK;
    size_t numbers = (size_t)((n + 2) * (n + 2) * (n + 2));
    void *w = NULL, *next = NULL;
    double t[3];

    TRY(allocate(numbers, kry_type_size(type), &w));
    TRY(allocate(numbers, kry_type_size(type), &next));
    for (int r = -1; r < (int)COUNT(t); r++) { /* the first brings the pages in */
        double start = now();
        if (type == KRY_F32)
            host_sweep_single(n, w, next);
        else
            host_sweep_double(n, w, next);
        if (r >= 0) t[r] = now() - start;
        void *spare = w;
        w = next, next = spare;
    }
    *seconds = bench_median(t, COUNT(t));
done:
    free(next);
    free(w);
    return st;
}

/* ---- the kernels -------------------------------------------------------------------------- */

static kry_status time_run(const bench *b, jacobi *J, int64_t sweeps, double *seconds)
{
    kry_status st = KRY_OK;
    TRY(kry_device_finish(b->device));
    double start = now();
    TRY(jacobi_run(J, sweeps, NULL));
    TRY(kry_device_finish(b->device));
    *seconds = (now() - start) / (double)sweeps;
done:
    return st;
}

/* Seconds per sweep: the median of some runs of at least 20 ms, each a multiple of what block makes
 * in a pass. One run of one sweep, where that alone takes a tenth of a second. */
static kry_status time_sweeps(const bench *b, jacobi *J, double *seconds)
{
    kry_status st = KRY_OK;
    double t[REPEATS];

    TRY(time_run(b, J, 1, seconds)); /* compiles */
    TRY(time_run(b, J, 1, seconds));
    if (*seconds > 0.1 && J->launches_per_sweep >= 1) goto done;
    TRY(time_run(b, J, IN_A_RUN, seconds));
    double runs = ceil(0.02 / *seconds / IN_A_RUN);
    int64_t sweeps = IN_A_RUN * (runs < 1 ? 1 : (int64_t)runs);
    for (int r = 0; r < REPEATS; r++) TRY(time_run(b, J, sweeps, &t[r]));
    *seconds = bench_median(t, REPEATS);
done:
    return st;
}

/* Seconds per sweep, or NaN and why not. */
static kry_status time_kernel(const bench *b, int64_t n, jacobi_kernel kernel, double *seconds,
                              char *why, size_t size)
{
    kry_status st = KRY_OK;
    jacobi *J = NULL;

    *seconds = NAN;
    if (kernel == JACOBI_K8 && n > MATRIX_MOST) {
        snprintf(why, size, "its matrix is made on the host: up to %d points on a side",
                 MATRIX_MOST);
        goto done;
    }
    st = akhtar_cube(b, b->type, n, kernel, &J);
    if (st == KRY_ERR_UNSUPPORTED || st == KRY_ERR_MEMORY) {
        snprintf(why, size, "%s", kry_last_error());
        st = KRY_OK;
        goto done;
    }
    if (st == KRY_OK) TRY(time_sweeps(b, J, seconds));
done:
    jacobi_release(&J);
    return st;
}

/* ---- printing and drawing ----------------------------------------------------------------- */

static void print_heading(const bench *b, int64_t n, double host)
{
    if (b->o->json) return;
    printf("%lld points on a side, %s; plain C on one core: %.3f ms per sweep; copy: %.1f GB/s\n"
           "%-8s%14s%14s%10s%10s%10s%10s\n",
           (long long)n, kry_type_name(b->type), 1e3 * host, b->copy / 1e9, "kernel", "ms/sweep",
           "Mpoints/s", "GFLOP/s", "GB/s", "of copy", "speed-up");
}

static void print_kernel(const bench *b, const char *name, int64_t n, const double q[QUANTITIES],
                         const char *why)
{
    char column[32];
    snprintf(column, sizeof column, "%lld", (long long)n);
    for (int i = 0; i < QUANTITIES && b->o->json; i++)
        reproduce_cell(b, paper,
                       &(cell){ .table = quantities[i].table,
                                .row = name,
                                .column = column,
                                .unit = quantities[i].unit,
                                .theirs = NAN,
                                .ours = q[i],
                                .golden = NAN,
                                .refused = *why ? why : NULL });
    if (b->o->json) return;
    printf("%-8s", name);
    if (*why)
        text_wrapped(why, 90, 8);
    else
        printf("%14.4f%14.0f%10.2f%10.1f%8.0f %%%10.2f\n", q[MS], q[GFLOPS] / FLOPS * 1e3,
               q[GFLOPS], q[BANDWIDTH], 100 * q[OF_COPY], q[SPEED_UP]);
    fflush(stdout);
}

static kry_status plot(const figures *f, jacobi_kernel kernel, int64_t n,
                       const double q[QUANTITIES])
{
    kry_status st = KRY_OK;
    const char *name = jacobi_kernel_name(kernel);
    lines *speed_up = kernel >= JACOBI_K1A ? f->resident : f->launches;

    TRY(lines_add(f->ms, name, (double)n, q[MS]));
    TRY(lines_add(f->gflops, name, (double)n, q[GFLOPS]));
    TRY(lines_add(speed_up, name, (double)n, q[SPEED_UP]));
done:
    return st;
}

static kry_status time_size(const bench *b, figures *f, int64_t n)
{
    kry_status st = KRY_OK;
    double host = NAN, points = (double)n * (double)n * (double)n;

    TRY(time_host(b->type, n, &host));
    print_heading(b, n, host);
    for (int k = 0; k < JACOBI_KERNEL_COUNT; k++) {
        double q[QUANTITIES], seconds;
        char why[300] = "";
        TRY(time_kernel(b, n, k, &seconds, why, sizeof why));
        q[MS] = 1e3 * seconds;
        q[GFLOPS] = FLOPS * points / seconds / 1e9;
        q[BANDWIDTH] = 2 * (double)kry_type_size(b->type) * points / seconds / 1e9;
        q[OF_COPY] = q[BANDWIDTH] * 1e9 / b->copy;
        q[SPEED_UP] = host / seconds;
        print_kernel(b, jacobi_kernel_name(k), n, q, why);
        if (k >= JACOBI_K1A && !*why) f->resident_ran = true;
        TRY(plot(f, k, n, q));
    }
    if (!b->o->json) printf("\n");
done:
    return st;
}

/* ---- all sizes ---------------------------------------------------------------------------- */

static kry_status figures_create(const bench *b, figures *f)
{
    kry_status st = KRY_OK;
    char on[180];

    snprintf(on, sizeof on, "%s precision on %s", kry_type_name(b->type), b->info->name);
    const struct {
        lines **figure;
        const char *title, *up;
        bool log;
    } table[] = {
        { &f->ms, "Akhtar et al., figure 13: time of a sweep", "ms", true },
        { &f->gflops, "Akhtar et al., figure 16: operations, 7 for a point", "GFLOP/s", false },
        { &f->launches, "Akhtar et al., figure 23: speed-up, a launch for each sweep",
          "times a plain loop on one core", false },
        { &f->resident, "Akhtar et al., figure 24: speed-up, a launch for all sweeps",
          "times a plain loop on one core", false },
    };
    for (size_t i = 0; i < COUNT(table); i++)
        TRY(lines_create(table[i].title, on, &(lines_axis){ "points on a side", false },
                         &(lines_axis){ table[i].up, table[i].log }, table[i].figure));
done:
    return st;
}

static kry_status figures_write(const bench *b, const figures *f)
{
    kry_status st = KRY_OK;
    char path[1024];

    if (akhtar_figure(b, "fig13", path, sizeof path)) TRY(lines_write(f->ms, path));
    if (akhtar_figure(b, "fig16", path, sizeof path)) TRY(lines_write(f->gflops, path));
    if (akhtar_figure(b, "fig23", path, sizeof path)) TRY(lines_write(f->launches, path));
    if (!akhtar_figure(b, "fig24", path, sizeof path)) goto done;
    if (f->resident_ran) TRY(lines_write(f->resident, path));
    if (!f->resident_ran && !b->o->json)
        printf("figure 24 is left out: this device runs none of its kernels\n");
done:
    return st;
}

/* --n is no length of vectors here. */
static kry_status measure_copy(bench *b)
{
    const options *given = b->o;
    options plain = *given;
    plain.n = NULL;
    b->o = &plain;
    kry_status st = bench_copy(b);
    b->o = given;
    return st;
}

static void print_theirs(const bench *b)
{
    if (b->o->json)
        reproduce_cell(b, paper,
                       &(cell){ .table = "figure 16",
                                .row = "their best",
                                .column = "",
                                .unit = "GFLOP/s",
                                .theirs = their_best,
                                .ours = NAN,
                                .golden = NAN });
    else
        printf("Their best: %.0f GFLOP/s in single precision, on a card of 144 GB/s.\n",
               their_best);
}

kry_status akhtar_speeds(bench *b)
{
    kry_status st = KRY_OK;
    figures f = { NULL };
    const int64_t *sizes = b->info->gpu ? large : small;
    int count = b->info->gpu ? (int)COUNT(large) : (int)COUNT(small);
    const int64_t n = options_whole(b->o->n, 0), up_to_n[] = { (n + 3) / 4, (n + 1) / 2, n };

    b->type = b->o->precision ? options_type(b->o) : KRY_F32;
    if (n) sizes = up_to_n, count = COUNT(up_to_n);
    if (n && !b->o->svg) sizes += 2, count = 1; /* figures are over the size */
    TRY(measure_copy(b));
    TRY(figures_create(b, &f));
    for (int i = 0; i < count; i++) TRY(time_size(b, &f, sizes[i]));
    print_theirs(b);
    TRY(figures_write(b, &f));
done:
    lines_release(&f.ms);
    lines_release(&f.gflops);
    lines_release(&f.launches);
    lines_release(&f.resident);
    return st;
}
