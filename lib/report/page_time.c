/*
 * page_time.c - where the time of a solve went: parts of the run, and time lines.
 */
#include "page/bars_picture.h"
#include "page/chart.h"
#include "page/html.h"
#include "page/text.h"
#include "report/page.h"
#include "report/report.h"
#include <math.h>
#include <string.h>

/* ---- time lines of a device, as SVG; where nothing runs, it waits: for the host, which reads, compiles or decides ---- */

enum { TIMELINE_NAMED = 5, TIMELINE_OTHERS = TIMELINE_NAMED, TIMELINE_TRANSFERS, TIMELINE_KINDS };

/* Names of the kernels that take longest, which have a colour each; NULL: nothing is of this kind. */
typedef struct timeline_kinds {
    const char *name[TIMELINE_KINDS];
} timeline_kinds;

typedef struct timeline {
    const kry_report *report;
    const recording *r;
    const timeline_kinds *kinds;
    int device, devices; /* its number, of so many */
} timeline;

static const int colour[TIMELINE_KINDS] = { 0, 1, 2, 4, 5, 7, 3 };

static double whole_seconds(const recorded_kernel *k)
{
    double sum = 0;
    for (int i = 0; i < KRY_REPORT_PARTS; i++) sum += k->seconds[i];
    return sum;
}

/* Those that take longest have a kind each, and the others one together. */
static int kind_of(const timeline_kinds *kinds, const recorded_kernel *k)
{
    for (int n = 0; n < TIMELINE_NAMED && !k->transfer; n++)
        if (kinds->name[n] && !strcmp(kinds->name[n], k->name)) return n;
    return k->transfer ? TIMELINE_TRANSFERS : TIMELINE_OTHERS;
}

/* r: the kernels of all devices together. */
static void timeline_sort(const recording *r, timeline_kinds *kinds)
{
    *kinds = (timeline_kinds){ .name = { NULL } };
    for (int n = 0; n < TIMELINE_NAMED; n++) {
        const recorded_kernel *best = NULL;
        for (int k = 0; k < r->kernels; k++)
            if (kind_of(kinds, &r->kernel[k]) == TIMELINE_OTHERS &&
                (!best || whole_seconds(&r->kernel[k]) > whole_seconds(best)))
                best = &r->kernel[k];
        if (!best) break;
        kinds->name[n] = best->name;
    }
    for (int k = 0; k < r->kernels; k++) {
        const int kind = kind_of(kinds, &r->kernel[k]);
        if (kind == TIMELINE_OTHERS) kinds->name[kind] = "other kernels";
        if (kind == TIMELINE_TRANSFERS) kinds->name[kind] = "transfers";
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
                colour[i]);
        kryi_html_escaped(f, kinds->name[i]);
        fputs("</li>", f);
    }
    fputs("</ul>\n", f);
}

/* ---- the whole run --------------------------------------------------------------------------- */

/* Seconds of each kind in a bin. */
static void add_bin(const timeline *t, int bin, double seconds[TIMELINE_KINDS])
{
    for (int kind = 0; kind < TIMELINE_KINDS; kind++) seconds[kind] = 0;
    for (int k = 0; k < t->r->kernels; k++)
        seconds[kind_of(t->kinds, &t->r->kernel[k])] += (double)t->r->busy[bin][k];
}

static void draw_bins(FILE *f, const timeline *t, const chart_axis *x)
{
    double seconds[RECORDED_BINS][TIMELINE_KINDS], filled[RECORDED_BINS] = { 0 };
    const double bin = t->r->bin_seconds;

    for (int i = 0; i < RECORDED_BINS; i++) add_bin(t, i, seconds[i]);
    for (int kind = 0; kind < TIMELINE_KINDS; kind++) {
        if (!t->kinds->name[kind]) continue;
        fprintf(f, "<path class=\"area k%d\" d=\"", colour[kind]);
        for (int i = 0; i < RECORDED_BINS; i++) {
            const double share = seconds[i][kind] / bin;
            if (share < 5e-4) continue;
            const double left = kryi_chart_across(x, i * bin),
                         right = fmin(CHART_SPAN, kryi_chart_across(x, (i + 1) * bin)),
                         top = CHART_SPAN * (1 - fmin(1, filled[i] + share));
            fprintf(f, "M%.1f %.0fH%.1fV%.0fH%.1fz", left, CHART_SPAN * (1 - filled[i]), right, top,
                    left);
            filled[i] = fmin(1, filled[i] + share);
        }
        fputs("\"/>\n", f);
    }
}

static const char *const phases[] = { "read", "matrix", "set-up", "solve" };

static void whole_data(FILE *f, const kry_report *l, double scale)
{
    fputs("<script type=\"application/json\">{\"names\":[", f);
    for (int i = 0; i < KRY_REPORT_PARTS; i++) fprintf(f, "%s\"%s\"", i ? "," : "", phases[i]);
    fputs("],\"spans\":[", f);
    for (int i = 0; i < KRY_REPORT_PARTS; i++)
        fprintf(f, "%s[%d,%.6g,%.6g]", i ? "," : "", i, l->begun[i] * scale,
                (i + 1 < KRY_REPORT_PARTS ? l->begun[i + 1] : l->ended) * scale);
    fputs("]}</script>\n", f);
}

/* A unit in which the number is easy to read. */
static double unit_for(double seconds, const char **unit)
{
    *unit = seconds < 2e-3 ? "us" : seconds < 2 ? "ms" : "s";
    return seconds < 2e-3 ? 1e6 : seconds < 2 ? 1e3 : 1;
}

/* The whole run: which share of each moment a kernel ran. */
static void timeline_run(FILE *f, const timeline *t)
{
    const int height = t->devices > 1 ? 130 : 190;
    const char *unit;
    const kry_report *l = t->report;
    const double scale = unit_for(l->ended, &unit);
    char label[64], id[32] = "run", caption[300];

    snprintf(label, sizeof label, "time since the beginning (%s)", unit);
    const chart_axis seconds = { label, false, NULL, 0, l->ended },
                     shown = { label, false, unit, 0, l->ended * scale },
                     y = { "", false, NULL, 0, 1 };
    if (t->device) snprintf(id, sizeof id, "run-%d", t->device);
    fprintf(f, "<div class=\"chart\" id=\"%s\">\n", id);
    if (t->devices > 1) {
        snprintf(caption, sizeof caption, "Device %d", t->device);
        kryi_html_element(f, "h4", caption);
    }
    if (!t->device) legend(f, t->kinds);
    kryi_chart_begin(f, "The share of each moment of the run in which kernels and transfers ran",
                     &shown, &y, height);
    kryi_chart_axis_below(f, &shown, height);
    fprintf(f,
            "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">100 %%</text><text x=\"%d\" y=\"%d\" "
            "text-anchor=\"end\">0</text>\n",
            CHART_LEFT - 8, CHART_TOP + 10, CHART_LEFT - 8, height - CHART_BOTTOM);
    kryi_chart_view(f, height);
    draw_bins(f, t, &seconds);
    for (int i = 0; i < KRY_REPORT_PARTS; i++)
        fprintf(f, "<path class=\"mark k6\" d=\"M%.2f 0V%d\"><title>%s begins</title></path>\n",
                kryi_chart_across(&seconds, l->begun[i]), CHART_SPAN, phases[i]);
    fputs("</svg>\n", f);
    kryi_html_picture_end(
        f, t->device ? ""
                     : "How busy the device was. Dotted lines: where reading, making the matrix, "
                       "the set-up and the solve begin. Where the picture is empty the device had "
                       "nothing to do: the host read, compiled kernels, or waited.");
    whole_data(f, l, scale);
    fputs("</div>\n", f);
}

/* ---- one by one ------------------------------------------------------------------------------ */

static void draw_events(FILE *f, const timeline *t, const recorded_event *e, int count,
                        const chart_axis *x)
{
    for (int kind = 0; kind < TIMELINE_KINDS; kind++) {
        const bool below = kind == TIMELINE_TRANSFERS;
        if (!t->kinds->name[kind]) continue;
        fprintf(f, "<path class=\"area k%d\" d=\"", colour[kind]);
        for (int i = 0; i < count; i++) {
            if (kind_of(t->kinds, &t->r->kernel[e[i].kernel]) != kind) continue;
            const double begin = kryi_chart_across(x, e[i].begin),
                         wide = kryi_chart_across(x, e[i].end) - begin;
            fprintf(f, "M%.2f %dh%.2fv260h-%.2fz", begin, below ? 400 : 80, fmax(wide, 0.4),
                    fmax(wide, 0.4));
        }
        fputs("\"/>\n", f);
    }
}

/* Between two events the device has nothing to do. */
static void draw_waits(FILE *f, const recorded_event *e, int count, const chart_axis *x)
{
    fputs("<path class=\"area k6\" fill-opacity=\"0.35\" d=\"", f);
    for (int i = 0; i + 1 < count; i++) {
        const double begin = kryi_chart_across(x, e[i].end),
                     wide = kryi_chart_across(x, e[i + 1].begin) - begin;
        if (wide > 0.2) fprintf(f, "M%.2f 720h%.2fv240h-%.2fz", begin, wide, wide);
    }
    fputs("\"/>\n", f);
}

static void detail_data(FILE *f, const recording *p, const recorded_event *e, int count,
                        double origin, double scale)
{
    fputs("<script type=\"application/json\">{\"names\":[", f);
    for (int k = 0; k < p->kernels; k++) {
        if (k) fputs(",", f);
        kryi_text_quoted(f, p->kernel[k].name, true);
    }
    fputs("],\"spans\":[", f);
    for (int i = 0; i < count; i++)
        fprintf(f, "%s[%d,%.6g,%.6g]", i ? "," : "", e[i].kernel, (e[i].begin - origin) * scale,
                (e[i].end - origin) * scale);
    fputs("]}</script>\n", f);
}

/* The first, or the last events of the solve one by one. */
static void timeline_events(FILE *f, const timeline *t, bool last)
{
    const recording *p = t->r;
    enum { HEIGHT = 172 };
    recorded_event e[RECORDED_DETAIL] = { { 0 } };
    const char *unit;
    const int count = p->events < RECORDED_DETAIL ? (int)p->events : RECORDED_DETAIL;
    char label[120], caption[200], of[48] = "";

    for (int i = 0; i < count; i++)
        e[i] = last ? p->last[(p->events - count + i) % RECORDED_DETAIL] : p->first[i];
    if (count < 1 || !(e[count - 1].end > e[0].begin)) return;
    const double origin = p->begun[KRY_REPORT_SOLVE],
                 scale = unit_for(e[count - 1].end - e[0].begin, &unit);
    snprintf(label, sizeof label, "time since the solve began (%s)", unit);
    const chart_axis seconds = { label, false, NULL, e[0].begin, e[count - 1].end },
                     shown = { label, false, unit, (e[0].begin - origin) * scale,
                               (e[count - 1].end - origin) * scale },
                     y = { "", false, NULL, 0, 1 };
    fprintf(f, "<div class=\"chart\" id=\"%s\">\n", last ? "solve-end" : "solve-begin");
    kryi_html_element(f, "h3",
                      p->events <= RECORDED_DETAIL ? "The solve, event by event"
                      : last                       ? "The end of the solve, event by event"
                                                   : "The beginning of the solve, event by event");
    kryi_chart_begin(f, "Kernels and transfers of the solve, one by one", &shown, &y, HEIGHT);
    kryi_chart_axis_below(f, &shown, HEIGHT);
    static const char *const lanes[] = { "kernels", "transfers", "waits" };
    for (int i = 0; i < 3; i++)
        fprintf(f, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", CHART_LEFT - 8,
                CHART_TOP + 27 + 35 * i, lanes[i]);
    kryi_chart_view(f, HEIGHT);
    draw_events(f, t, e, count, &seconds);
    draw_waits(f, e, count, &seconds);
    fputs("</svg>\n", f);
    if (t->devices > 1) snprintf(of, sizeof of, " of device %d, the busiest one", t->device);
    snprintf(caption, sizeof caption,
             "%d of %lld events%s, in the colours above; the device waits while nothing runs.",
             count, (long long)p->events, of);
    kryi_html_picture_end(f, caption);
    detail_data(f, p, e, count, origin, scale);
    fputs("</div>\n", f);
}

/* ---- parts of the run ------------------------------------------------------------------------ */

static const struct part {
    kry_report_part part;
    const char *name, *what;
} parts[] = {
    { KRY_REPORT_READ, "read or generate",
      "the file, or the problem; a look at its entries, the right-hand side" },
    { KRY_REPORT_MATRIX, "matrix",
      "the operator on the device: checked, converted to its format, sent" },
    { KRY_REPORT_SETUP, "set-up", "the solver: preconditioner, deflation" },
    { KRY_REPORT_SOLVE, "solve", "b and x sent, the iterations, x read back" },
};

/* Seconds in which kernels and transfers kept the busiest device of a team busy. */
static void busy_seconds(const devices *d, kry_report_part part, double *kernels, double *transfers)
{
    *kernels = *transfers = 0;
    for (int i = 0; i < d->recordings; i++) {
        *kernels = fmax(*kernels, kryi_recording_busy(d->recording[i], part, false));
        *transfers = fmax(*transfers, kryi_recording_busy(d->recording[i], part, true));
    }
}

static void draw_parts(FILE *f, const solve_page *s)
{
    bar_line line[KRY_REPORT_PARTS];

    for (int i = 0; i < KRY_REPORT_PARTS; i++) {
        const double all = kryi_report_seconds(s->report, parts[i].part),
                     compiling = kryi_report_compiling(s->report, parts[i].part);
        double kernels, transfers;
        busy_seconds(s->devices, parts[i].part, &kernels, &transfers);
        line[i] = (bar_line){ .label = parts[i].name,
                              .part = { { kernels, 0, "kernels" },
                                        { transfers, 3, "transfers" },
                                        { fmax(0, all - kernels - transfers), 7, "the host" },
                                        { compiling, 1, "compiling" } },
                              .parts = 4 };
        kryi_text_seconds(all + compiling, line[i].said, sizeof line[i].said);
    }
    fputs("<ul class=\"legend\">", f);
    static const struct {
        int colour;
        const char *name;
    } colours[] = { { 0, "kernels run" },
                    { 3, "transfers run" },
                    { 7, "the host alone" },
                    { 1, "kernels compiled, kept for later runs" } };
    for (int i = 0; i < 4; i++)
        fprintf(
            f,
            "<li><svg viewBox=\"0 0 14 12\" width=\"14\" height=\"12\" aria-hidden=\"true\"><rect "
            "class=\"area k%d\" width=\"14\" height=\"12\"/></svg> %s</li>",
            colours[i].colour, colours[i].name);
    fputs("</ul>\n", f);
    kryi_bars_picture(f, &(bar_chart){ .label = "Seconds of each part of the run",
                                       .caption = "",
                                       .line = line,
                                       .count = KRY_REPORT_PARTS });
}

static void table_of_parts(FILE *f, const solve_page *s)
{
    char t[4][32];

    kryi_html_table(f, "Parts of the run, the time without compiling",
                    "part|>time|>compiling|>kernels|>transfers|what it is", false);
    for (int i = 0; i < KRY_REPORT_PARTS; i++) {
        double kernels, transfers;
        busy_seconds(s->devices, parts[i].part, &kernels, &transfers);
        kryi_html_row(f);
        kryi_html_cell(f, parts[i].name);
        kryi_html_number(
            f, "%s",
            kryi_text_seconds(kryi_report_seconds(s->report, parts[i].part), t[0], sizeof t[0]));
        const double compiling = kryi_report_compiling(s->report, parts[i].part);
        kryi_html_number(f, "%s",
                         compiling > 0 ? kryi_text_seconds(compiling, t[3], sizeof t[3]) : "-");
        kryi_html_number(f, "%s",
                         kernels > 0 ? kryi_text_seconds(kernels, t[1], sizeof t[1]) : "-");
        kryi_html_number(f, "%s",
                         transfers > 0 ? kryi_text_seconds(transfers, t[2], sizeof t[2]) : "-");
        kryi_html_cell(f, parts[i].what);
        kryi_html_row_end(f);
    }
    kryi_html_table_end(f, false);
}

/* The run of each device that there is room for, and the solve of the busiest one event by event. */
static void time_lines(FILE *f, const solve_page *s)
{
    enum { DRAWN = 8 };
    const devices *d = s->devices;
    const recording *busiest = d->recording[0];
    timeline_kinds kinds;
    int which = 0;

    for (int i = 1; i < d->recordings; i++)
        if (kryi_recording_busy(d->recording[i], KRY_REPORT_SOLVE, false) >
            kryi_recording_busy(busiest, KRY_REPORT_SOLVE, false))
            busiest = d->recording[which = i];
    timeline_sort(d->together, &kinds);
    kryi_html_element(f, "h3", "The run");
    for (int i = 0; i < d->recordings && i < DRAWN; i++)
        timeline_run(f, &(timeline){ s->report, d->recording[i], &kinds, i, d->count });
    if (d->recordings > DRAWN)
        kryi_html_element(f, "p class=\"soft\"", "Those of the other devices are left out.");
    const timeline t = { s->report, busiest, &kinds, which, d->count };
    timeline_events(f, &t, false);
    if (busiest->events > RECORDED_DETAIL) timeline_events(f, &t, true);
}

void kryi_page_time(FILE *f, const solve_page *s)
{
    const devices *d = s->devices;

    kryi_html_section(f, "time", "Where the time went");
    draw_parts(f, s);
    table_of_parts(f, s);
    if (!d->recordings) {
        kryi_html_element(f, "p class=\"soft\"",
                          "This device keeps no times of kernels: there is no time line. A device "
                          "of OpenCL has a queue with times if kry_device_open_timed opens it.");
        return;
    }
    kryi_html_element(
        f, "p class=\"soft\"",
        "These are times with OpenCL's profiling on, which adds some microseconds to each launch: "
        "without it short iterations are faster.");
    if (d->recordings < d->count)
        kryi_html_element(f, "p class=\"soft\"",
                          "The time lines are those of the first of the devices.");
    time_lines(f, s);
}
