/*
 * page_time.c - where the time of a solve went: parts of the run, and time lines.
 */
#include "bars_picture.h"
#include "solve_page.h"
#include "text.h"
#include "timeline.h"
#include <math.h>

static const struct part {
    profile_phase phase;
    const char *name, *what;
} parts[] = {
    { PHASE_READ, "read or generate",
      "the file, or the problem; a look at its entries, the right-hand side" },
    { PHASE_MATRIX, "matrix",
      "the operator on the device: checked, converted to its format, sent" },
    { PHASE_SETUP, "set-up", "the solver: preconditioner, deflation, kernels compiled" },
    { PHASE_SOLVE, "solve", "b and x sent, the iterations, x read back" },
};

/* Of all devices of a team together; the busiest one counts. */
static void busy_seconds(const look *l, profile_phase phase, double *kernels, double *transfers)
{
    *kernels = *transfers = 0;
    for (int i = 0; i < l->parts; i++) {
        *kernels = fmax(*kernels, profile_busy(l->part[i], phase, false));
        *transfers = fmax(*transfers, profile_busy(l->part[i], phase, true));
    }
}

static void draw_parts(FILE *f, const look *l)
{
    bar_line line[PROFILE_PHASES];

    for (int i = 0; i < PROFILE_PHASES; i++) {
        const double all = look_seconds(l, parts[i].phase);
        double kernels, transfers;
        busy_seconds(l, parts[i].phase, &kernels, &transfers);
        line[i] = (bar_line){ .label = parts[i].name,
                              .part = { { kernels, 0, "kernels" },
                                        { transfers, 3, "transfers" },
                                        { fmax(0, all - kernels - transfers), 7, "the host" } },
                              .parts = 3 };
        text_seconds(all, line[i].said, sizeof line[i].said);
    }
    fputs("<ul class=\"legend\">", f);
    static const struct {
        int colour;
        const char *name;
    } colours[] = { { 0, "kernels run" }, { 3, "transfers run" }, { 7, "the host alone" } };
    for (int i = 0; i < 3; i++)
        fprintf(
            f,
            "<li><svg viewBox=\"0 0 14 12\" width=\"14\" height=\"12\" aria-hidden=\"true\"><rect "
            "class=\"area k%d\" width=\"14\" height=\"12\"/></svg> %s</li>",
            colours[i].colour, colours[i].name);
    fputs("</ul>\n", f);
    bars_picture(f, &(bar_chart){ .label = "Seconds of each part of the run",
                                  .caption = "",
                                  .line = line,
                                  .count = PROFILE_PHASES });
}

static void table_of_parts(FILE *f, const look *l)
{
    char t[3][32];

    html_table(f, "Parts of the run", "part|>time|>kernels|>transfers|what it is", false);
    for (int i = 0; i < PROFILE_PHASES; i++) {
        double kernels, transfers;
        busy_seconds(l, parts[i].phase, &kernels, &transfers);
        html_row(f);
        html_cell(f, parts[i].name);
        html_number(f, "%s", text_seconds(look_seconds(l, parts[i].phase), t[0], sizeof t[0]));
        html_number(f, "%s", kernels > 0 ? text_seconds(kernels, t[1], sizeof t[1]) : "-");
        html_number(f, "%s", transfers > 0 ? text_seconds(transfers, t[2], sizeof t[2]) : "-");
        html_cell(f, parts[i].what);
        html_row_end(f);
    }
    html_table_end(f, false);
}

kry_status page_time(FILE *f, const solve_page *s)
{
    const look *l = s->look;
    timeline_kinds kinds;

    html_section(f, "time", "Where the time went");
    draw_parts(f, l);
    table_of_parts(f, l);
    if (!l->parts) {
        html_element(
            f, "p class=\"soft\"",
            "The host device runs C functions, which keep no times: there is no time line.");
        return KRY_OK;
    }
    html_element(
        f, "p class=\"soft\"",
        "These are times with OpenCL's profiling on, which adds some microseconds to each launch: "
        "without --html short iterations are faster.");
    if (l->parts > 1)
        html_element(f, "p class=\"soft\"",
                     "The time lines are those of the first of the devices.");
    timeline_sort(l->part[0], &kinds);
    html_element(f, "h3", "The run");
    timeline_whole(f, l, &kinds);
    timeline_detail(f, l->part[0], &kinds, false);
    if (l->part[0]->events > PROFILE_DETAIL) timeline_detail(f, l->part[0], &kinds, true);
    return KRY_OK;
}
