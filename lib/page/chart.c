/*
 * chart.c - curves between two axes, as SVG in a page.
 *
 * What zooms is a picture within the picture, CHART_SPAN wide and high, of which the script shows a part: lines
 * keep their width (non-scaling-stroke), and dots are lines of no length with round ends.
 */
#include "page/chart.h"
#include "page/html.h"
#include "page/svg.h"
#include "page/text.h"
#include <math.h>

enum { HEIGHT = 380 };

/* ---- axes ------------------------------------------------------------------------------------ */

static bool fits(const chart_axis *a, double value)
{
    return isfinite(value) && (!a->log || value > 0);
}

static void widen(chart_axis *a, double value)
{
    if (!fits(a, value)) return;
    if (value < a->low) a->low = value;
    if (value > a->high) a->high = value;
}

/* The vertical axis ends at powers of ten, or begins at 0 and ends at a round number; the horizontal one ends
 * where the values do. */
static void round_ends(chart_axis *a, bool vertical)
{
    if (a->low > a->high) a->low = a->high = 1;
    if (a->log && vertical) {
        a->low = pow(10, floor(log10(a->low) - 0.05));
        a->high = pow(10, ceil(log10(a->high) + 0.05));
        return;
    }
    if (a->log) {
        a->low /= 1.2;
        a->high *= 1.2;
        return;
    }
    if (vertical && a->low > 0) a->low = 0;
    if (a->low == a->high) a->high = a->low + 1;
    if (!vertical) return;
    const double step = kryi_svg_nice_real(a->high - a->low, 8);
    a->high = ceil(a->high / step) * step;
}

void kryi_chart_fit(chart *c)
{
    c->x.low = c->y.low = INFINITY;
    c->x.high = c->y.high = -INFINITY;
    for (int s = 0; s < c->count; s++)
        for (int i = 0; i < c->series[s].count; i++) {
            const series *one = &c->series[s];
            if (one->kind != SERIES_LEVEL) widen(&c->x, one->x[i]);
            if (one->kind != SERIES_MARK) widen(&c->y, one->y[i]);
        }
    round_ends(&c->x, false);
    round_ends(&c->y, true);
}

/* ---- contents -------------------------------------------------------------------------------- */

static void draw_series(FILE *f, const chart *c, const series *s)
{
    static const char *const kinds[] = { "line", "dots", "level", "mark" };
    bool started = false;

    fprintf(f, "<path class=\"%s k%d\" d=\"", kinds[s->kind], s->colour);
    for (int i = 0; i < s->count; i++) {
        const bool across = s->kind != SERIES_LEVEL, down = s->kind != SERIES_MARK;
        if ((across && !fits(&c->x, s->x[i])) || (down && !fits(&c->y, s->y[i]))) continue;
        const double x = across ? kryi_chart_across(&c->x, s->x[i]) : 0,
                     y = down ? CHART_SPAN * (1 - kryi_chart_along(&c->y, s->y[i])) : 0;
        if (s->kind == SERIES_LINE)
            fprintf(f, "%c%.2f %.1f", started ? 'L' : 'M', x, y);
        else if (s->kind == SERIES_DOTS)
            fprintf(f, "M%.2f %.1fh0", x, y);
        else if (s->kind == SERIES_LEVEL)
            fprintf(f, "M0 %.1fH%d", y, CHART_SPAN);
        else
            fprintf(f, "M%.2f 0V%d", x, CHART_SPAN);
        started = true;
    }
    fputs("\"/>\n", f);
}

static void put_numbers(FILE *f, const char *name, const double *v, int count)
{
    fprintf(f, ",\"%s\":[", name);
    for (int i = 0; i < count; i++)
        if (isfinite(v[i]))
            fprintf(f, "%s%.6g", i ? "," : "", v[i]);
        else
            fprintf(f, "%snull", i ? "," : "");
    fputs("]", f);
}

/* For the script: the points that it finds under the pointer. */
static void put_data(FILE *f, const chart *c)
{
    fputs("<script type=\"application/json\">[", f);
    for (int s = 0, more = 0; s < c->count; s++) {
        const series *one = &c->series[s];
        if (one->kind > SERIES_DOTS) continue;
        fprintf(f, "%s{\"name\":", more++ ? "," : "");
        kryi_text_quoted(f, one->name, true);
        put_numbers(f, "x", one->x, one->count);
        put_numbers(f, "y", one->y, one->count);
        fputs("}", f);
    }
    fputs("]</script>\n", f);
}

static void legend(FILE *f, const chart *c)
{
    static const char *const shapes[] = { "M0 6H26", "M13 6h0", "M0 6H26", "M13 0V12" };
    static const char *const kinds[] = { "line", "dots", "level", "mark" };

    fputs("<ul class=\"legend\">", f);
    for (int s = 0; s < c->count; s++) {
        const series *one = &c->series[s];
        if (!one->count) continue;
        fprintf(f,
                "<li><svg viewBox=\"0 0 26 12\" width=\"26\" height=\"12\" aria-hidden=\"true\">"
                "<path class=\"%s k%d\" d=\"%s\"/></svg> ",
                kinds[one->kind], one->colour, shapes[one->kind]);
        kryi_html_escaped(f, one->name);
        fputs("</li>", f);
    }
    fputs("</ul>\n", f);
}

void kryi_chart_write(FILE *f, const chart *c)
{
    fprintf(f, "<div class=\"chart\" id=\"%s\">\n", c->id);
    legend(f, c);
    kryi_chart_begin(f, c->label, &c->x, &c->y, HEIGHT);
    kryi_chart_axis_beside(f, &c->y, HEIGHT);
    kryi_chart_axis_below(f, &c->x, HEIGHT);
    kryi_chart_view(f, HEIGHT);
    for (int s = 0; s < c->count; s++) draw_series(f, c, &c->series[s]);
    fputs("</svg>\n", f);
    kryi_html_picture_end(f, c->caption);
    put_data(f, c);
    fputs("</div>\n", f);
}
