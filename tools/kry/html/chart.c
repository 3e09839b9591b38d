/*
 * chart.c - axes, and curves between them, as SVG in a page.
 *
 * What zooms is a picture within the picture, CHART_SPAN wide and high, of which the script shows a part: lines
 * keep their width (non-scaling-stroke), and dots are lines of no length with round ends.
 */
#include "chart.h"
#include "html.h"
#include "json.h"
#include "svg.h"
#include "text.h"
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

static void round_ends(chart_axis *a, bool zero)
{
    if (a->low > a->high) a->low = a->high = 1;
    if (a->log) {
        a->low = pow(10, floor(log10(a->low) - 0.05));
        a->high = pow(10, ceil(log10(a->high) + 0.05));
        return;
    }
    if (zero && a->low > 0) a->low = 0;
    if (a->low == a->high) a->high = a->low + 1;
    if (!zero) return;
    const double step = svg_nice_real(a->high - a->low, 8);
    a->high = ceil(a->high / step) * step;
}

void chart_fit(chart *c)
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

static double along(const chart_axis *a, double value)
{
    return a->log ? log10(value / a->low) / log10(a->high / a->low)
                  : (value - a->low) / (a->high - a->low);
}

double chart_across(const chart_axis *x, double value) { return CHART_SPAN * along(x, value); }

static double drawn(const chart_axis *a, double value) { return a->log ? log10(value) : value; }

static double bottom_of(int height) { return height - CHART_BOTTOM; }

/* The script finds the ends of the axes in the picture itself. */
void chart_begin(FILE *f, const char *label, const chart_axis *x, const chart_axis *y, int height)
{
    char more[300];

    snprintf(more, sizeof more,
             "class=\"zoom\" tabindex=\"0\" data-box=\"%d %d %d %d\" data-x=\"%.9g %.9g %d\" "
             "data-y=\"%.9g %.9g %d\" data-unit=\"%s\"",
             CHART_LEFT, CHART_TOP, CHART_WIDTH - CHART_LEFT - CHART_RIGHT,
             height - CHART_TOP - CHART_BOTTOM, drawn(x, x->low), drawn(x, x->high), x->log,
             drawn(y, y->low), drawn(y, y->high), y->log, x->unit ? x->unit : "");
    html_picture(f, label, CHART_WIDTH, height, more);
}

static void horizontal_tick(FILE *f, const chart_axis *a, double value, int height)
{
    const double x = CHART_LEFT + (CHART_WIDTH - CHART_LEFT - CHART_RIGHT) * along(a, value);

    svg_line(f, x, CHART_TOP, x, bottom_of(height), "class=\"grid\"");
    if (a->log)
        svg_power(f, x, bottom_of(height) + 18, "middle", (int)lround(log10(value)));
    else
        fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%.6g</text>\n", x,
                bottom_of(height) + 18, fabs(value) < 1e-9 * (a->high - a->low) ? 0 : value);
}

void chart_axis_below(FILE *f, const chart_axis *a, int height)
{
    const double step = svg_nice_real(drawn(a, a->high) - drawn(a, a->low), 8),
                 first = ceil(drawn(a, a->low) / step - 1e-9);

    fputs("<g class=\"across\">\n", f);
    for (int i = 0; (first + i) * step <= drawn(a, a->high) + 1e-9 * step; i++) {
        const double at = (first + i) * step;
        if (!a->log)
            horizontal_tick(f, a, at, height);
        else if (fabs(at - round(at)) < 1e-9)
            horizontal_tick(f, a, pow(10, round(at)), height);
    }
    fprintf(f, "</g>\n<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\" class=\"axis\">",
            (CHART_LEFT + CHART_WIDTH - CHART_RIGHT) / 2.0, height - 10);
    html_escaped(f, a->label);
    svg_end_text(f);
}

static void vertical_tick(FILE *f, const chart_axis *a, double value, bool labelled)
{
    const double y = bottom_of(HEIGHT) - (bottom_of(HEIGHT) - CHART_TOP) * along(a, value);

    svg_line(f, CHART_LEFT, y, CHART_WIDTH - CHART_RIGHT, y,
             labelled ? "class=\"grid\"" : "class=\"grid faint\"");
    if (labelled && a->log)
        svg_power(f, CHART_LEFT - 8, y + 4, "end", (int)lround(log10(value)));
    else if (labelled)
        fprintf(f, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.6g</text>\n", CHART_LEFT - 8,
                y + 4, value);
}

static void vertical_axis(FILE *f, const chart_axis *a)
{
    const double low = drawn(a, a->low), high = drawn(a, a->high);
    const int powers = a->log ? (int)lround(high - low) : 0, every = (powers + 9) / 10;
    const double step = a->log ? 1 : svg_nice_real(high - low, 8);

    for (int i = 0; a->log && i <= powers; i++)
        vertical_tick(f, a, pow(10, low + i), (powers - i) % every == 0);
    for (double at = ceil(low / step - 1e-9) * step; !a->log && at <= high + step * 1e-9;
         at += step)
        vertical_tick(f, a, fabs(at) < step * 1e-9 ? 0 : at, true);
    fprintf(
        f,
        "<text transform=\"translate(16 %.1f) rotate(-90)\" text-anchor=\"middle\" class=\"axis\">",
        (CHART_TOP + bottom_of(HEIGHT)) / 2);
    html_escaped(f, a->label);
    svg_end_text(f);
}

void chart_view(FILE *f, int height)
{
    fprintf(
        f,
        "<svg class=\"view\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
        "preserveAspectRatio=\"none\">\n",
        CHART_LEFT, CHART_TOP, CHART_WIDTH - CHART_LEFT - CHART_RIGHT,
        height - CHART_TOP - CHART_BOTTOM, CHART_SPAN, CHART_SPAN);
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
        const double x = across ? chart_across(&c->x, s->x[i]) : 0,
                     y = down ? CHART_SPAN * (1 - along(&c->y, s->y[i])) : 0;
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
        json_put_text(f, one->name, true);
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
        html_escaped(f, one->name);
        fputs("</li>", f);
    }
    fputs("</ul>\n", f);
}

void chart_write(FILE *f, const chart *c)
{
    fprintf(f, "<div class=\"chart\" id=\"%s\">\n", c->id);
    legend(f, c);
    chart_begin(f, c->label, &c->x, &c->y, HEIGHT);
    vertical_axis(f, &c->y);
    chart_axis_below(f, &c->x, HEIGHT);
    chart_view(f, HEIGHT);
    for (int s = 0; s < c->count; s++) draw_series(f, c, &c->series[s]);
    fputs("</svg>\n", f);
    html_picture_end(f, c->caption);
    put_data(f, c);
    fputs("</div>\n", f);
}
