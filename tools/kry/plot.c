/*
 * plot.c - a picture of a convergence history, as SVG.
 */
#include "plot.h"
#include "page/history.h"
#include "page/svg.h"
#include "page/text.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 860, HEIGHT = 540, LEFT = 84, RIGHT = 34, TOP = 104, BOTTOM = 62 };

static const char *const curve_colour = "#1f5fa8", *const target_colour = "#b5651d",
                         *const true_colour = "#a61c3c";

typedef struct chart {
    FILE *file;
    int low, high; /* powers of ten at the ends of the vertical axis */
    int64_t last;  /* iteration at the right end */
} chart;

static double across(const chart *c, double iteration)
{
    return LEFT + (WIDTH - LEFT - RIGHT) * iteration / (double)c->last;
}

static double down(const chart *c, double value)
{
    return TOP + (HEIGHT - TOP - BOTTOM) * (c->high - log10(value)) / (c->high - c->low);
}

static bool drawable(double value) { return value > 0 && isfinite(value); }

/* ---- axes ------------------------------------------------------------------------- */

static void widen(chart *c, double value)
{
    if (!drawable(value)) return;
    int low = (int)floor(log10(value) - 0.1), high = (int)ceil(log10(value));
    if (low < c->low) c->low = low;
    if (high > c->high) c->high = high;
}

static chart chart_fit(const report *r)
{
    const kry_result *result = &r->result;
    chart c = { .low = INT32_MAX, .high = INT32_MIN };
    for (int64_t i = 0; i < result->history_count; i++)
        widen(&c, kryi_relative_residual(&r->result, result->history[i]));
    widen(&c, kryi_relative_residual(&r->result, result->target));
    widen(&c, kryi_relative_residual(&r->result, result->true_residual));
    if (c.low > c.high) c.low = c.high = 0;
    if (c.low == c.high) c.low--;
    c.last = result->iterations > 1 ? result->iterations : 1;
    return c;
}

static void vertical_axis(const chart *c)
{
    int step = (c->high - c->low + 9) / 10;
    for (int power = c->low; power <= c->high; power++) {
        double y = down(c, pow(10, power));
        bool labelled = (c->high - power) % step == 0;
        kryi_svg_line(c->file, LEFT, y, WIDTH - RIGHT, y,
                      labelled ? "stroke=\"#ddd\"" : "stroke=\"#f0f0f0\"");
        if (labelled) kryi_svg_power(c->file, LEFT - 10, y + 5, "end", power);
    }
    fprintf(c->file,
            "<text transform=\"translate(24 %.1f) rotate(-90)\" text-anchor=\"middle\" "
            "fill=\"%s\">relative residual \u2016r\u2016 / \u2016b\u2016</text>\n",
            (TOP + HEIGHT - BOTTOM) / 2.0, kryi_svg_ink);
}

static void horizontal_axis(const chart *c)
{
    char text[32];
    double bottom = HEIGHT - BOTTOM;
    int64_t step = kryi_svg_nice_step(c->last, 8);
    for (int64_t i = 0; i <= c->last; i += step) {
        double x = across(c, (double)i);
        kryi_svg_line(c->file, x, TOP, x, bottom, "stroke=\"#eee\"");
        kryi_svg_line(c->file, x, bottom, x, bottom + 5, "stroke=\"#222\"");
        fprintf(c->file,
                "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" fill=\"%s\">%s</text>\n", x,
                bottom + 21, kryi_svg_ink, kryi_text_whole(i, text, sizeof text));
    }
    fprintf(c->file,
            "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\" fill=\"%s\">iteration</text>\n",
            (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 16, kryi_svg_ink);
}

static void frame(const chart *c)
{
    fprintf(c->file,
            "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" "
            "stroke=\"#222\"/>\n",
            LEFT, TOP, WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM);
}

/* ---- contents --------------------------------------------------------------------- */

static void point(const chart *c, const report *r, int64_t i, bool *started)
{
    double value = kryi_relative_residual(&r->result, r->result.history[i]),
           at = fmin((double)(i * r->result.history_every), (double)r->result.iterations);
    if (!drawable(value)) return;
    fprintf(c->file, "%s%.2f %.2f", *started ? " L" : "M", across(c, at), down(c, value));
    *started = true;
}

static void curve(const chart *c, const report *r)
{
    const int64_t count = r->result.history_count;
    bool started = false;
    fprintf(c->file,
            "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.6\" "
            "stroke-linejoin=\"round\" d=\"",
            curve_colour);
    for (int64_t i = -1; (i = kryi_history_next(r->result.history, count, 2 * WIDTH, i)) < count;)
        point(c, r, i, &started);
    fputs("\"/>\n", c->file);
}

static void marks(const chart *c, const report *r)
{
    char style[120];
    double target = kryi_relative_residual(&r->result, r->result.target);
    double residual = kryi_relative_residual(&r->result, r->result.true_residual);
    snprintf(style, sizeof style, "stroke=\"%s\" stroke-width=\"1.4\" stroke-dasharray=\"7 5\"",
             target_colour);
    if (drawable(target))
        kryi_svg_line(c->file, LEFT, down(c, target), WIDTH - RIGHT, down(c, target), style);
    if (drawable(residual))
        fprintf(
            c->file, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4.5\" fill=\"%s\" stroke=\"white\"/>\n",
            across(c, (double)r->result.iterations < (double)c->last ? (double)r->result.iterations
                                                                     : (double)c->last),
            down(c, residual), true_colour);
}

/* A row between heading and chart, where no curve can run into it. */
static void legend(const chart *c, const report *r)
{
    FILE *f = c->file;
    char style[120];
    double y = TOP - 18;
    snprintf(style, sizeof style, "stroke=\"%s\" stroke-width=\"1.8\"", curve_colour);
    kryi_svg_line(f, LEFT, y, LEFT + 28, y, style);
    snprintf(style, sizeof style, "stroke=\"%s\" stroke-width=\"1.4\" stroke-dasharray=\"7 5\"",
             target_colour);
    kryi_svg_line(f, LEFT + 240, y, LEFT + 268, y, style);
    fprintf(f, "<circle cx=\"%d\" cy=\"%.1f\" r=\"4.5\" fill=\"%s\"/>\n", LEFT + 422, y,
            true_colour);
    fprintf(f, "<g font-size=\"12\" fill=\"%s\">\n", kryi_svg_ink);
    fprintf(f, "<text x=\"%d\" y=\"%.1f\">carried by the recurrence</text>\n", LEFT + 36, y + 4);
    fprintf(f, "<text x=\"%d\" y=\"%.1f\">target, %.3g</text>\n", LEFT + 276, y + 4,
            kryi_relative_residual(&r->result, r->result.target));
    fprintf(f, "<text x=\"%d\" y=\"%.1f\">b \u2212 A x at the end, %.3g</text>\n</g>\n", LEFT + 434,
            y + 4, kryi_relative_residual(&r->result, r->result.true_residual));
}

static void heading(const chart *c, const report *r)
{
    FILE *f = c->file;
    const char *slash = strrchr(r->src->name, '/');
    char n[32], nnz[32];
    kryi_svg_title(f, LEFT, slash ? slash + 1 : r->src->name);
    fprintf(f, ": %s in %" PRId64 " iteration%s</text>\n",
            r->status == KRY_OK ? "converged" : "not converged", r->result.iterations,
            r->result.iterations == 1 ? "" : "s");
    fprintf(f, "<text x=\"%d\" y=\"58\" fill=\"%s\">", LEFT, kryi_svg_faint);
    kryi_svg_escaped(f, r->method);
    if (strcmp(r->precond, "none")) fputs(", ", f);
    if (strcmp(r->precond, "none")) kryi_svg_escaped(f, r->precond);
    fprintf(f, ", %s precision, n = %s, %s nonzeros, ", r->precision,
            kryi_text_whole(r->src->rows, n, sizeof n),
            kryi_text_whole(r->matrix.nnz, nnz, sizeof nnz));
    kryi_svg_escaped(f, r->device->name);
    fputs("</text>\n", f);
}

kry_status plot_write(const char *path, const report *r)
{
    kry_status st = KRY_OK;
    chart c = chart_fit(r);
    TRY(kryi_svg_open(path, WIDTH, HEIGHT, &c.file));
    heading(&c, r);
    vertical_axis(&c);
    horizontal_axis(&c);
    curve(&c, r);
    frame(&c);
    marks(&c, r);
    legend(&c, r);
    TRY(kryi_svg_close(path, &c.file));
done:
    return st;
}
