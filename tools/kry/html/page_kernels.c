/*
 * page_kernels.c - the kernels of a solve beside the bandwidth of a copy, which was measured after it.
 */
#include "bars_picture.h"
#include "kernel_model.h"
#include "solve_page.h"
#include "text.h"
#include <kry/multigrid.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DRAWN = 12 };

typedef struct line {
    const profile_kernel *kernel;
    profile_phase phase;
    double bytes; /* of all calls, by the model; NaN: not known */
} line;

static int by_seconds(const void *a, const void *b)
{
    const line *x = a, *y = b;
    const double s = x->kernel->seconds[x->phase], t = y->kernel->seconds[y->phase];
    return (s < t) - (s > t);
}

static int collect(const profile *p, profile_phase phase, const system_model *m, line *lines)
{
    int count = 0;

    for (int k = 0; k < p->kernels; k++) {
        const profile_kernel *one = &p->kernel[k];
        double bytes = NAN, flops;
        if (!one->calls[phase]) continue;
        if (m && phase == PHASE_SOLVE) kernel_cost(m, one->name, &bytes, &flops);
        lines[count++] = (line){ one, phase, bytes * (double)one->calls[phase] };
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
        const double rate = l->bytes / l->kernel->seconds[l->phase];
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
        html_element(f, "p",
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
    bars_picture(
        f, &(bar_chart){ .label = "Bytes per second of the kernels of the solve, beside a copy",
                         .caption = caption,
                         .limit = s->copy,
                         .limit_name = limit,
                         .line = bar,
                         .count = drawn });
}

static void table(FILE *f, const solve_page *s, const char *caption, const line *lines, int count,
                  double seconds)
{
    char t[32];
    const bool folded = lines[0].phase != PHASE_SOLVE;

    html_table(f, caption, "kernel or transfer|>calls|>time|>share|>a call|>GB/s|>of copy", folded);
    for (int i = 0; i < count; i++) {
        const profile_kernel *k = lines[i].kernel;
        const profile_phase phase = lines[i].phase;
        const double rate = lines[i].bytes / k->seconds[phase];
        html_row(f);
        html_cell(f, k->name);
        html_number(f, "%lld", (long long)k->calls[phase]);
        html_number(f, "%s", text_seconds(k->seconds[phase], t, sizeof t));
        html_number(f, "%.1f %%", 100 * k->seconds[phase] / seconds);
        html_number(f, "%s",
                    text_seconds(k->seconds[phase] / (double)k->calls[phase], t, sizeof t));
        if (isfinite(rate) && rate > 0)
            html_number(f, "%.2f", rate / 1e9);
        else
            html_number(f, "not known");
        if (isfinite(rate) && rate > 0 && s->copy > 0)
            html_number(f, "%.0f %%", 100 * rate / s->copy);
        else
            html_number(f, "-");
        html_row_end(f);
    }
    html_table_end(f, folded);
}

/* The model of this solve; *known false: it is for a square matrix, one precision, one right-hand side and one device. */
static kry_status model_of(const solve_page *s, system_model *m, bool *known)
{
    kry_status st = KRY_OK;
    const report *r = s->report;
    kry_op_info info;
    const bench b = { .o = s->o, .device = kry_op_device(s->A), .type = r->type, .form = r->form };

    *known = strcmp(r->precision, "mixed") && s->look->parts == 1 && !r->result.columns &&
             r->src->rows == r->src->cols;
    if (!*known) return KRY_OK;
    TRY(kernel_model_of(&b, r->precond, s->A, m));
    kry_op_describe(s->A, &info);
    m->several_sizes =
        kry_multigrid_levels(kry_solver_precond(s->solver)) > 0 || info.bytes_transposed > 0;
done:
    return st;
}

kry_status page_kernels(FILE *f, const solve_page *s)
{
    kry_status st = KRY_OK;
    const look *l = s->look;
    line lines[PROFILE_KERNELS];
    system_model model;
    bool known;

    if (!l->parts) goto done;
    TRY(model_of(s, &model, &known));
    html_section(f, "kernels", "Kernels");
    int count = collect(l->part[0], PHASE_SOLVE, known ? &model : NULL, lines);
    if (known)
        draw(f, s, lines, count);
    else
        html_element(f, "p",
                     "The model of bytes is for a square matrix, one precision, one right-hand "
                     "side and one device: "
                     "here are times only.");
    if (known && model.several_sizes)
        html_element(f, "p class=\"soft\"",
                     "The same kernels multiply with matrices of several sizes, those of "
                     "multigrid's levels or "
                     "a transpose: their bytes are not known.");
    if (count)
        table(f, s, "Kernels and transfers of the solve", lines, count,
              look_seconds(l, PHASE_SOLVE));
    count = collect(l->part[0], PHASE_SETUP, NULL, lines);
    if (count)
        table(f, s, "Kernels and transfers of the set-up", lines, count,
              look_seconds(l, PHASE_SETUP));
    count = collect(l->part[0], PHASE_MATRIX, NULL, lines);
    if (count)
        table(f, s, "Kernels and transfers that made the matrix", lines, count,
              look_seconds(l, PHASE_MATRIX));
done:
    return st;
}
