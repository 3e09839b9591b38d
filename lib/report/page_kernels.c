/*
 * page_kernels.c - the kernels of a solve beside the bandwidth of a copy, which was measured after it.
 */
#include "page/bars_picture.h"
#include "page/kernel_model.h"
#include "page/text.h"
#include "report/page.h"
#include <kry/multigrid.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DRAWN = 12 };

typedef struct line {
    const recorded_kernel *kernel;
    kry_report_part part;
    double bytes; /* of all calls, by the model; NaN: not known */
} line;

static int by_seconds(const void *a, const void *b)
{
    const line *x = a, *y = b;
    const double s = x->kernel->seconds[x->part], t = y->kernel->seconds[y->part];
    return (s < t) - (s > t);
}

static int collect(const recording *p, kry_report_part part, const system_model *m, line *lines)
{
    int count = 0;

    for (int k = 0; k < p->kernels; k++) {
        const recorded_kernel *one = &p->kernel[k];
        double bytes = NAN, flops;
        if (!one->calls[part]) continue;
        if (m && part == KRY_REPORT_SOLVE) kryi_kernel_cost(m, one->name, &bytes, &flops);
        lines[count++] = (line){ one, part, bytes * (double)one->calls[part] };
    }
    qsort(lines, (size_t)count, sizeof *lines, by_seconds);
    return count;
}

/* Rates of those kernels whose bytes are known. */
static void draw(FILE *f, const solve_page *s, const line *lines, int count)
{
    bar_line bar[DRAWN];
    char limit[80], caption[420];
    int drawn = 0;

    for (int i = 0; i < count && drawn < DRAWN; i++) {
        const line *l = &lines[i];
        const double rate = l->bytes / l->kernel->seconds[l->part];
        if (!(rate > 0) || !isfinite(rate)) continue;
        bar[drawn] =
            (bar_line){ .label = l->kernel->name, .part = { { rate, 0, NULL } }, .parts = 1 };
        if (s->copy > 0)
            snprintf(bar[drawn].said, sizeof bar[drawn].said, "%.1f GB/s, %.0f %% of copy",
                     rate / 1e9, 100 * rate / s->copy);
        else
            snprintf(bar[drawn].said, sizeof bar[drawn].said, "%.1f GB/s", rate / 1e9);
        drawn++;
    }
    if (!drawn) {
        kryi_html_element(f, "p",
                          "The model of bytes knows none of these kernels: there are times, but no "
                          "bandwidths.");
        return;
    }
    snprintf(limit, sizeof limit, "copy: %.1f GB/s", s->copy / 1e9);
    snprintf(caption, sizeof caption,
             "Bytes are those that a kernel must move, by a model, not by counting%s%s. More than "
             "a copy: "
             "caches hold the data.",
             s->copy > 0 ? "" : "; a copy was not measured: ", s->copy > 0 ? "" : s->copy_why);
    kryi_bars_picture(
        f, &(bar_chart){ .label = "Bytes per second of the kernels of the solve, beside a copy",
                         .caption = caption,
                         .limit = s->copy,
                         .limit_name = limit,
                         .line = bar,
                         .count = drawn });
}

/* Seconds of a kernel on the device where it took least, and on the one where it took most. */
static void spread(const devices *d, const line *l, double *least, double *most)
{
    *least = INFINITY, *most = 0;
    for (int i = 0; i < d->recordings; i++) {
        const double s = kryi_recording_of(d->recording[i], l->part, l->kernel->name);
        *least = fmin(*least, s), *most = fmax(*most, s);
    }
}

static void rate_of_line(FILE *f, const solve_page *s, const line *l)
{
    const double rate = l->bytes / l->kernel->seconds[l->part];
    const bool known = isfinite(rate) && rate > 0;

    if (known)
        kryi_html_number(f, "%.2f", rate / 1e9);
    else
        kryi_html_number(f, "not known");
    if (known && s->copy > 0)
        kryi_html_number(f, "%.0f %%", 100 * rate / s->copy);
    else
        kryi_html_number(f, "-");
}

static void spread_of_line(FILE *f, const solve_page *s, const line *l)
{
    char t[32];
    double least, most;

    spread(s->devices, l, &least, &most);
    kryi_html_number(f, "%s", kryi_text_seconds(least, t, sizeof t));
    kryi_html_number(f, "%s", kryi_text_seconds(most, t, sizeof t));
}

/* Write a table of kernels; with several devices: calls and times of all of them, and how the times differ. */
static void table(FILE *f, const solve_page *s, const char *caption, const line *lines, int count)
{
    char t[32];
    const kry_report_part part = lines[0].part;
    const bool folded = part != KRY_REPORT_SOLVE, several = s->devices->recordings > 1;
    const double seconds = kryi_report_seconds(s->report, part) * s->devices->recordings;

    kryi_html_table(f, caption,
                    several
                        ? "kernel or transfer|>calls|>time|>share|>a call|>least of a device|>most"
                        : "kernel or transfer|>calls|>time|>share|>a call|>GB/s|>of copy",
                    folded);
    for (int i = 0; i < count; i++) {
        const recorded_kernel *k = lines[i].kernel;
        kryi_html_row(f);
        kryi_html_cell(f, k->name);
        kryi_html_number(f, "%lld", (long long)k->calls[part]);
        kryi_html_number(f, "%s", kryi_text_seconds(k->seconds[part], t, sizeof t));
        kryi_html_number(f, "%.1f %%", 100 * k->seconds[part] / seconds);
        kryi_html_number(f, "%s",
                         kryi_text_seconds(k->seconds[part] / (double)k->calls[part], t, sizeof t));
        if (several)
            spread_of_line(f, s, &lines[i]);
        else
            rate_of_line(f, s, &lines[i]);
        kryi_html_row_end(f);
    }
    kryi_html_table_end(f, folded);
}

/* The model of this solve; *known false: it is for a square matrix, one precision, one right-hand side and one
 * device. */
static kry_status model_of(const solve_page *s, system_model *m, bool *known)
{
    kry_status st = KRY_OK;
    const kry_op *A = s->given->A, *M = kry_solver_precond(s->given->solver);
    const kry_op_shape *shape = kry_op_get_shape(A);
    kry_op_info info = { .kind = "none" };

    *known = s->result->scheme == KRY_SCHEME_AUTO && s->devices->count == 1 &&
             !s->result->columns && shape->rows == shape->cols;
    if (!*known) return KRY_OK;
    if (M) kry_op_describe(M, &info);
    TRY(kryi_kernel_model_of(A, info.kind, kry_solver_deflation(s->given->solver) != NULL, m));
    kry_op_describe(A, &info);
    m->several_sizes = kry_multigrid_levels(M) > 0 || info.bytes_transposed > 0;
done:
    return st;
}

static void bandwidths(FILE *f, const solve_page *s, const system_model *m, const line *lines,
                       int count)
{
    if (!m) {
        kryi_html_element(
            f, "p",
            "The model of bytes is for a square matrix, one precision, one right-hand "
            "side and one device: here are times only.");
        return;
    }
    draw(f, s, lines, count);
    if (m->several_sizes)
        kryi_html_element(f, "p class=\"soft\"",
                          "The same kernels multiply with matrices of several sizes, those of "
                          "multigrid's levels or a transpose: their bytes are not known.");
}

kry_status kryi_page_kernels(FILE *f, const solve_page *s)
{
    kry_status st = KRY_OK;
    const recording *all = s->devices->together;
    line lines[RECORDED_KERNELS];
    system_model model;
    bool known;

    if (!all) goto done;
    TRY(model_of(s, &model, &known));
    kryi_html_section(f, "kernels", "Kernels");
    int count = collect(all, KRY_REPORT_SOLVE, known ? &model : NULL, lines);
    bandwidths(f, s, known ? &model : NULL, lines, count);
    if (s->devices->recordings > 1)
        kryi_html_element(f, "p class=\"soft\"",
                          "Calls and times are those of all devices together; the share is of the "
                          "time that they all had.");
    if (count) table(f, s, "Kernels and transfers of the solve", lines, count);
    count = collect(all, KRY_REPORT_SETUP, NULL, lines);
    if (count) table(f, s, "Kernels and transfers of the set-up", lines, count);
    count = collect(all, KRY_REPORT_MATRIX, NULL, lines);
    if (count) table(f, s, "Kernels and transfers that made the matrix", lines, count);
done:
    return st;
}
