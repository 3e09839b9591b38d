/*
 * page_time.c - where the time of a solve went: parts of the run, and time lines.
 */
#include "page/bars_picture.h"
#include "page/text.h"
#include "report/page.h"
#include "report/timeline.h"
#include <math.h>

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

/* Of all devices of a team together; the busiest one counts. */
static void busy_seconds(const devices *d, kry_report_part part, double *kernels, double *transfers)
{
    *kernels = *transfers = 0;
    for (int i = 0; i < d->recordings; i++) {
        *kernels = fmax(*kernels, kry_recording_busy(d->recording[i], part, false));
        *transfers = fmax(*transfers, kry_recording_busy(d->recording[i], part, true));
    }
}

static void draw_parts(FILE *f, const solve_page *s)
{
    bar_line line[KRY_REPORT_PARTS];

    for (int i = 0; i < KRY_REPORT_PARTS; i++) {
        const double all = kry_report_seconds(s->report, parts[i].part),
                     compiling = kry_report_compiling(s->report, parts[i].part);
        double kernels, transfers;
        busy_seconds(s->devices, parts[i].part, &kernels, &transfers);
        line[i] = (bar_line){ .label = parts[i].name,
                              .part = { { kernels, 0, "kernels" },
                                        { transfers, 3, "transfers" },
                                        { fmax(0, all - kernels - transfers), 7, "the host" },
                                        { compiling, 1, "compiling" } },
                              .parts = 4 };
        kry_text_seconds(all + compiling, line[i].said, sizeof line[i].said);
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
    kry_bars_picture(f, &(bar_chart){ .label = "Seconds of each part of the run",
                                      .caption = "",
                                      .line = line,
                                      .count = KRY_REPORT_PARTS });
}

static void table_of_parts(FILE *f, const solve_page *s)
{
    char t[4][32];

    kry_html_table(f, "Parts of the run, the time without compiling",
                   "part|>time|>compiling|>kernels|>transfers|what it is", false);
    for (int i = 0; i < KRY_REPORT_PARTS; i++) {
        double kernels, transfers;
        busy_seconds(s->devices, parts[i].part, &kernels, &transfers);
        kry_html_row(f);
        kry_html_cell(f, parts[i].name);
        kry_html_number(
            f, "%s",
            kry_text_seconds(kry_report_seconds(s->report, parts[i].part), t[0], sizeof t[0]));
        const double compiling = kry_report_compiling(s->report, parts[i].part);
        kry_html_number(f, "%s",
                        compiling > 0 ? kry_text_seconds(compiling, t[3], sizeof t[3]) : "-");
        kry_html_number(f, "%s", kernels > 0 ? kry_text_seconds(kernels, t[1], sizeof t[1]) : "-");
        kry_html_number(f, "%s",
                        transfers > 0 ? kry_text_seconds(transfers, t[2], sizeof t[2]) : "-");
        kry_html_cell(f, parts[i].what);
        kry_html_row_end(f);
    }
    kry_html_table_end(f, false);
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
        if (kry_recording_busy(d->recording[i], KRY_REPORT_SOLVE, false) >
            kry_recording_busy(busiest, KRY_REPORT_SOLVE, false))
            busiest = d->recording[which = i];
    kry_timeline_sort(d->together, &kinds);
    kry_html_element(f, "h3", "The run");
    for (int i = 0; i < d->recordings && i < DRAWN; i++)
        kry_timeline_run(f, &(timeline){ s->report, d->recording[i], &kinds, i, d->count });
    if (d->recordings > DRAWN)
        kry_html_element(f, "p class=\"soft\"", "Those of the other devices are left out.");
    const timeline t = { s->report, busiest, &kinds, which, d->count };
    kry_timeline_events(f, &t, false);
    if (busiest->events > RECORDED_DETAIL) kry_timeline_events(f, &t, true);
}

void kry_page_time(FILE *f, const solve_page *s)
{
    const devices *d = s->devices;

    kry_html_section(f, "time", "Where the time went");
    draw_parts(f, s);
    table_of_parts(f, s);
    if (!d->recordings) {
        kry_html_element(f, "p class=\"soft\"",
                         "This device keeps no times of kernels: there is no time line. A device "
                         "of OpenCL has a queue with times if kry_report_open_device opens it.");
        return;
    }
    kry_html_element(
        f, "p class=\"soft\"",
        "These are times with OpenCL's profiling on, which adds some microseconds to each launch: "
        "without it short iterations are faster.");
    if (d->recordings < d->count)
        kry_html_element(f, "p class=\"soft\"",
                         "The time lines are those of the first of the devices.");
    time_lines(f, s);
}
