/*
 * chart_axes.c - the axes of charts and time lines, and the part between them that zooms.
 */
#include "page/chart.h"
#include "page/html.h"
#include "page/svg.h"
#include <math.h>

double kryi_chart_along(const chart_axis *a, double value)
{
    return a->log ? log10(value / a->low) / log10(a->high / a->low)
                  : (value - a->low) / (a->high - a->low);
}

double kryi_chart_across(const chart_axis *x, double value)
{
    return CHART_SPAN * kryi_chart_along(x, value);
}

static double drawn(const chart_axis *a, double value) { return a->log ? log10(value) : value; }

static double bottom_of(int height) { return height - CHART_BOTTOM; }

/* The script finds the ends of the axes in the picture itself. */
void kryi_chart_begin(FILE *f, const char *label, const chart_axis *x, const chart_axis *y,
                      int height)
{
    char more[300];

    snprintf(more, sizeof more,
             "class=\"zoom\" tabindex=\"0\" data-box=\"%d %d %d %d\" data-x=\"%.9g %.9g %d\" "
             "data-y=\"%.9g %.9g %d\" data-unit=\"%s\"",
             CHART_LEFT, CHART_TOP, CHART_WIDTH - CHART_LEFT - CHART_RIGHT,
             height - CHART_TOP - CHART_BOTTOM, drawn(x, x->low), drawn(x, x->high), x->log,
             drawn(y, y->low), drawn(y, y->high), y->log, x->unit ? x->unit : "");
    kryi_html_picture(f, label, CHART_WIDTH, height, more);
}

static void horizontal_tick(FILE *f, const chart_axis *a, double value, int height)
{
    const double x =
        CHART_LEFT + (CHART_WIDTH - CHART_LEFT - CHART_RIGHT) * kryi_chart_along(a, value);
    const bool zero = fabs(value) < 1e-9 * (a->high - a->low);

    kryi_svg_line(f, x, CHART_TOP, x, bottom_of(height), "class=\"grid\"");
    fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%.6g</text>\n", x,
            bottom_of(height) + 18, zero ? 0 : value);
}

/* Powers of ten, and over a few decades 2 and 5 times them. */
static void logarithmic_ticks(FILE *f, const chart_axis *a, int height)
{
    static const double digit[] = { 1, 2, 5 };
    const int digits = log10(a->high / a->low) < 3 ? 3 : 1;

    for (int p = (int)floor(log10(a->low)); p <= log10(a->high); p++)
        for (int d = 0; d < digits; d++) {
            const double value = digit[d] * pow(10, p);
            if (value >= a->low && value <= a->high) horizontal_tick(f, a, value, height);
        }
}

void kryi_chart_axis_below(FILE *f, const chart_axis *a, int height)
{
    const double step = kryi_svg_nice_real(a->high - a->low, 8), first = ceil(a->low / step - 1e-9);

    fputs("<g class=\"across\">\n", f);
    if (a->log) logarithmic_ticks(f, a, height);
    for (int i = 0; !a->log && (first + i) * step <= a->high + 1e-9 * step; i++)
        horizontal_tick(f, a, (first + i) * step, height);
    fprintf(f, "</g>\n<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\" class=\"axis\">",
            (CHART_LEFT + CHART_WIDTH - CHART_RIGHT) / 2.0, height - 10);
    kryi_html_escaped(f, a->label);
    kryi_svg_end_text(f);
}

static double down(const chart_axis *a, double value, int height)
{
    return bottom_of(height) - (bottom_of(height) - CHART_TOP) * kryi_chart_along(a, value);
}

static void put_label(FILE *f, const chart_axis *a, double value, double y)
{
    if (a->log)
        kryi_svg_power(f, CHART_LEFT - 8, y + 4, "end", (int)lround(log10(value)));
    else
        fprintf(f, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.6g</text>\n", CHART_LEFT - 8,
                y + 4, value);
}

static void vertical_grid(FILE *f, double y, bool labelled)
{
    kryi_svg_line(f, CHART_LEFT, y, CHART_WIDTH - CHART_RIGHT, y,
                  labelled ? "class=\"grid\"" : "class=\"grid faint\"");
}

/* Powers of ten, of which about ten have a label; or round numbers. */
void kryi_chart_axis_beside(FILE *f, const chart_axis *a, int height)
{
    const double low = drawn(a, a->low), high = drawn(a, a->high);
    const int powers = a->log ? (int)lround(high - low) : 0, every = (powers + 9) / 10;
    const double step = a->log ? 1 : kryi_svg_nice_real(high - low, 8);

    for (int i = 0; a->log && i <= powers; i++) {
        const double value = pow(10, low + i), y = down(a, value, height);
        const bool labelled = (powers - i) % every == 0;
        vertical_grid(f, y, labelled);
        if (labelled) put_label(f, a, value, y);
    }
    const double first = ceil(low / step - 1e-9);
    for (int i = 0; !a->log && (first + i) * step <= high + step * 1e-9; i++) {
        const double value = (first + i) * step, y = down(a, value, height);
        vertical_grid(f, y, true);
        put_label(f, a, fabs(value) < step * 1e-9 ? 0 : value, y);
    }
    fprintf(
        f,
        "<text transform=\"translate(16 %.1f) rotate(-90)\" text-anchor=\"middle\" class=\"axis\">",
        (CHART_TOP + bottom_of(height)) / 2);
    kryi_html_escaped(f, a->label);
    kryi_svg_end_text(f);
}

void kryi_chart_view(FILE *f, int height)
{
    fprintf(
        f,
        "<svg class=\"view\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
        "preserveAspectRatio=\"none\">\n",
        CHART_LEFT, CHART_TOP, CHART_WIDTH - CHART_LEFT - CHART_RIGHT,
        height - CHART_TOP - CHART_BOTTOM, CHART_SPAN, CHART_SPAN);
}
