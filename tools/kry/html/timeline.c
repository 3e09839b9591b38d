/*
 * timeline.c - time lines of a device, as SVG in a page. Where nothing runs, the device waits: for the host, which
 * reads, compiles or decides.
 */
#include "timeline.h"
#include "chart.h"
#include "html.h"
#include "json.h"
#include "svg.h"
#include "text.h"
#include <math.h>
#include <string.h>

const int timeline_colour[TIMELINE_KINDS] = { 0, 1, 2, 4, 5, 7, 3 };

static double whole_seconds(const profile_kernel *k)
{
    double sum = 0;
    for (int i = 0; i < PROFILE_PHASES; i++) sum += k->seconds[i];
    return sum;
}

void timeline_sort(const profile *p, timeline_kinds *kinds)
{
    *kinds = (timeline_kinds){ 0 };
    for (int k = 0; k < p->kernels; k++)
        kinds->of[k] = p->kernel[k].transfer ? TIMELINE_TRANSFERS : TIMELINE_OTHERS;
    for (int n = 0; n < TIMELINE_NAMED; n++) {
        int best = -1;
        for (int k = 0; k < p->kernels; k++)
            if (kinds->of[k] == TIMELINE_OTHERS &&
                (best < 0 || whole_seconds(&p->kernel[k]) > whole_seconds(&p->kernel[best])))
                best = k;
        if (best < 0) break;
        kinds->of[best] = n;
        kinds->name[n] = p->kernel[best].name;
    }
    for (int k = 0; k < p->kernels; k++) {
        if (kinds->of[k] == TIMELINE_OTHERS) kinds->name[TIMELINE_OTHERS] = "other kernels";
        if (kinds->of[k] == TIMELINE_TRANSFERS) kinds->name[TIMELINE_TRANSFERS] = "transfers";
    }
}

static void legend(FILE *f, const timeline_kinds *kinds)
{
    fputs("<ul class=\"legend\">", f);
    for (int i = 0; i < TIMELINE_KINDS; i++) {
        if (!kinds->name[i]) continue;
        fprintf(f,
                "<li><svg viewBox=\"0 0 14 12\" width=\"14\" height=\"12\" aria-hidden=\"true\">"
                "<rect class=\"area k%d\" width=\"14\" height=\"12\"/></svg> ",
                timeline_colour[i]);
        html_escaped(f, kinds->name[i]);
        fputs("</li>", f);
    }
    fputs("</ul>\n", f);
}

/* ---- the whole run --------------------------------------------------------------------------- */

static void draw_bins(FILE *f, const profile *p, const timeline_kinds *kinds, const chart_axis *x)
{
    static double filled[PROFILE_BINS];

    memset(filled, 0, sizeof filled);
    for (int kind = 0; kind < TIMELINE_KINDS; kind++) {
        if (!kinds->name[kind]) continue;
        fprintf(f, "<path class=\"area k%d\" d=\"", timeline_colour[kind]);
        for (int i = 0; i < PROFILE_BINS; i++) {
            double share = 0;
            for (int k = 0; k < p->kernels; k++)
                if (kinds->of[k] == kind) share += p->busy[i][k] / p->bin_seconds;
            if (share < 5e-4) continue;
            const double left = chart_across(x, i * p->bin_seconds),
                         right = fmin(CHART_SPAN, chart_across(x, (i + 1) * p->bin_seconds)),
                         top = CHART_SPAN * (1 - fmin(1, filled[i] + share));
            fprintf(f, "M%.1f %.0fH%.1fV%.0fH%.1fz", left, CHART_SPAN * (1 - filled[i]), right, top,
                    left);
            filled[i] = fmin(1, filled[i] + share);
        }
        fputs("\"/>\n", f);
    }
}

static const char *const phases[] = { "read", "matrix", "set-up", "solve" };

static void draw_phases(FILE *f, const look *l, const chart_axis *x)
{
    for (int i = 0; i < PROFILE_PHASES; i++)
        fprintf(f, "<path class=\"mark k6\" d=\"M%.2f 0V%d\"><title>%s begins</title></path>\n",
                chart_across(x, l->begun[i]), CHART_SPAN, phases[i]);
}

static void whole_data(FILE *f, const look *l, double scale)
{
    fputs("<script type=\"application/json\">{\"names\":[", f);
    for (int i = 0; i < PROFILE_PHASES; i++) fprintf(f, "%s\"%s\"", i ? "," : "", phases[i]);
    fputs("],\"spans\":[", f);
    for (int i = 0; i < PROFILE_PHASES; i++)
        fprintf(f, "%s[%d,%.6g,%.6g]", i ? "," : "", i, l->begun[i] * scale,
                (i + 1 < PROFILE_PHASES ? l->begun[i + 1] : l->ended) * scale);
    fputs("]}</script>\n", f);
}

/* A unit in which the number is easy to read. */
static double unit_for(double seconds, const char **unit)
{
    *unit = seconds < 2e-3 ? "us" : seconds < 2 ? "ms" : "s";
    return seconds < 2e-3 ? 1e6 : seconds < 2 ? 1e3 : 1;
}

void timeline_whole(FILE *f, const look *l, const timeline_kinds *kinds)
{
    enum { HEIGHT = 190 };
    const char *unit;
    const double scale = unit_for(l->ended, &unit);
    char label[64];

    snprintf(label, sizeof label, "time since the beginning (%s)", unit);
    const chart_axis seconds = { label, false, NULL, 0, l->ended },
                     shown = { label, false, unit, 0, l->ended * scale },
                     y = { "", false, NULL, 0, 1 };
    fputs("<div class=\"chart\" id=\"run\">\n", f);
    legend(f, kinds);
    chart_begin(f, "The share of each moment of the run in which kernels and transfers ran", &shown,
                &y, HEIGHT);
    chart_axis_below(f, &shown, HEIGHT);
    fprintf(f,
            "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">100 %%</text><text x=\"%d\" y=\"%d\" "
            "text-anchor=\"end\">0</text>\n",
            CHART_LEFT - 8, CHART_TOP + 10, CHART_LEFT - 8, HEIGHT - CHART_BOTTOM);
    chart_view(f, HEIGHT);
    draw_bins(f, l->part[0], kinds, &seconds);
    draw_phases(f, l, &seconds);
    fputs("</svg>\n", f);
    html_picture_end(
        f, "How busy the device was. Dotted lines: where reading, making the matrix, the set-up "
           "and the solve begin. Where the picture is empty the device had nothing to do: the "
           "host read, compiled kernels, or waited.");
    whole_data(f, l, scale);
    fputs("</div>\n", f);
}

/* ---- one by one ------------------------------------------------------------------------------ */

static void draw_events(FILE *f, const timeline_kinds *kinds, const profile_event *e, int count,
                        const chart_axis *x)
{
    for (int kind = 0; kind < TIMELINE_KINDS; kind++) {
        const bool below = kind == TIMELINE_TRANSFERS;
        if (!kinds->name[kind]) continue;
        fprintf(f, "<path class=\"area k%d\" d=\"", timeline_colour[kind]);
        for (int i = 0; i < count; i++) {
            if (kinds->of[e[i].kernel] != kind) continue;
            const double begin = chart_across(x, e[i].begin),
                         wide = chart_across(x, e[i].end) - begin;
            fprintf(f, "M%.2f %dh%.2fv260h-%.2fz", begin, below ? 400 : 80, fmax(wide, 0.4),
                    fmax(wide, 0.4));
        }
        fputs("\"/>\n", f);
    }
}

/* Between two events the device has nothing to do. */
static void draw_waits(FILE *f, const profile_event *e, int count, const chart_axis *x)
{
    fputs("<path class=\"area k6\" fill-opacity=\"0.35\" d=\"", f);
    for (int i = 0; i + 1 < count; i++) {
        const double begin = chart_across(x, e[i].end),
                     wide = chart_across(x, e[i + 1].begin) - begin;
        if (wide > 0.2) fprintf(f, "M%.2f 720h%.2fv240h-%.2fz", begin, wide, wide);
    }
    fputs("\"/>\n", f);
}

static void detail_data(FILE *f, const profile *p, const profile_event *e, int count, double origin,
                        double scale)
{
    fputs("<script type=\"application/json\">{\"names\":[", f);
    for (int k = 0; k < p->kernels; k++) {
        if (k) fputs(",", f);
        json_put_text(f, p->kernel[k].name, true);
    }
    fputs("],\"spans\":[", f);
    for (int i = 0; i < count; i++)
        fprintf(f, "%s[%d,%.6g,%.6g]", i ? "," : "", e[i].kernel, (e[i].begin - origin) * scale,
                (e[i].end - origin) * scale);
    fputs("]}</script>\n", f);
}

void timeline_detail(FILE *f, const profile *p, const timeline_kinds *kinds, bool last)
{
    enum { HEIGHT = 172 };
    profile_event e[PROFILE_DETAIL] = { { 0 } };
    const char *unit;
    const int count = p->events < PROFILE_DETAIL ? (int)p->events : PROFILE_DETAIL;
    char label[120], caption[200];

    for (int i = 0; i < count; i++)
        e[i] = last ? p->last[(p->events - count + i) % PROFILE_DETAIL] : p->first[i];
    if (count < 1 || !(e[count - 1].end > e[0].begin)) return;
    const double origin = p->begun[PHASE_SOLVE],
                 scale = unit_for(e[count - 1].end - e[0].begin, &unit);
    snprintf(label, sizeof label, "time since the solve began (%s)", unit);
    const chart_axis seconds = { label, false, NULL, e[0].begin, e[count - 1].end },
                     shown = { label, false, unit, (e[0].begin - origin) * scale,
                               (e[count - 1].end - origin) * scale },
                     y = { "", false, NULL, 0, 1 };
    fprintf(f, "<div class=\"chart\" id=\"%s\">\n", last ? "solve-end" : "solve-begin");
    html_element(f, "h3",
                 p->events <= PROFILE_DETAIL ? "The solve, event by event"
                 : last                      ? "The end of the solve, event by event"
                                             : "The beginning of the solve, event by event");
    chart_begin(f, "Kernels and transfers of the solve, one by one", &shown, &y, HEIGHT);
    chart_axis_below(f, &shown, HEIGHT);
    static const char *const lanes[] = { "kernels", "transfers", "waits" };
    for (int i = 0; i < 3; i++)
        fprintf(f, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", CHART_LEFT - 8,
                CHART_TOP + 27 + 35 * i, lanes[i]);
    chart_view(f, HEIGHT);
    draw_events(f, kinds, e, count, &seconds);
    draw_waits(f, e, count, &seconds);
    fputs("</svg>\n", f);
    snprintf(caption, sizeof caption,
             "%d of %lld events, in the colours above; the device waits while nothing runs.", count,
             (long long)p->events);
    html_picture_end(f, caption);
    detail_data(f, p, e, count, origin, scale);
    fputs("</div>\n", f);
}
