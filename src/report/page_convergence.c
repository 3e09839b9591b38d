/*
 * page_convergence.c - how the residual fell.
 */
#include "page/chart.h"
#include "report/page.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { MOST_CHECKS = 64 };

/* What the curves are drawn from; residuals relative to b. */
typedef struct curves {
    history history;
    double earlier_at[TRACK_MOST],
        earlier[TRACK_MOST]; /* as the monitor saw other choices or schemes */
    double check_at[MOST_CHECKS], check[MOST_CHECKS]; /* true residuals */
    double restart[MOST_CHECKS], promotion[1], target[1];
    int earlier_count, checks, restarts;
} curves;

static void find_earlier(const solve_page *s, curves *c)
{
    const track *t = &s->report->track;
    const bool all = c->history.in_steps;

    if (!s->result->promotions && !all) return;
    for (int i = 0; i < t->count; i++) {
        if (!all && t->iteration[i] > (double)c->history.before) continue;
        c->earlier_at[c->earlier_count] = t->iteration[i];
        c->earlier[c->earlier_count++] = kry_relative_residual(s->result, t->residual[i]);
    }
}

/* The end is what was computed last, of the x that is handed back. */
static void find_checks(const solve_page *s, curves *c)
{
    const kry_result *r = s->result;

    if (r->columns || c->history.in_steps) return;
    for (int64_t i = 0; i < r->check_count && c->checks < MOST_CHECKS; i++) {
        const double at = (double)(c->history.before + r->checks[i].iteration);
        c->check_at[c->checks] = at;
        c->check[c->checks++] = kry_relative_residual(s->result, r->checks[i].residual);
        if (i > 0 && i + 1 < r->check_count) c->restart[c->restarts++] = at;
    }
    if (c->checks) c->check[c->checks - 1] = kry_relative_residual(s->result, r->true_residual);
}

static void table_of_checks(FILE *f, const curves *c)
{
    kry_html_table(f, "True residuals that were computed", ">iteration|>residual / norm of b",
                   c->checks > 4);
    for (int i = 0; i < c->checks; i++) {
        kry_html_row(f);
        kry_html_number(f, "%.0f", c->check_at[i]);
        kry_html_number(f, "%.6e", c->check[i]);
        kry_html_row_end(f);
    }
    kry_html_table_end(f, c->checks > 4);
}

/* Some of the history, for those who cannot see the curve. */
static void table_of_history(FILE *f, const history *h)
{
    enum { ROWS = 20 };
    const int every = h->count / ROWS + 1;

    if (!h->count) return;
    kry_html_table(f, "The residual at some iterations", ">iteration|>residual / norm of b", true);
    for (int i = 0; i < h->count; i++) {
        if (i % every && i + 1 < h->count) continue;
        kry_html_row(f);
        kry_html_number(f, "%.0f", h->iteration[i]);
        kry_html_number(f, "%.3e", h->residual[i]);
        kry_html_row_end(f);
    }
    kry_html_table_end(f, true);
}

static void draw(FILE *f, const solve_page *s, const curves *c)
{
    const history *h = &c->history;
    const kry_result *r = s->result;
    const bool promoted = r->promotions && h->before > 0;
    const series all[] = {
        { "carried by the recurrence", SERIES_LINE, 0, h->iteration, h->residual,
          h->in_steps ? 0 : h->count },
        { h->in_steps ? "as the monitor saw it" : "earlier choices, as the monitor saw them",
          SERIES_LINE, 4, c->earlier_at, c->earlier, c->earlier_count },
        { "target", SERIES_LEVEL, 1, NULL, c->target, c->target[0] > 0 },
        { "true residual, computed from x", SERIES_DOTS, 2, c->check_at, c->check, c->checks },
        { "began anew from the true residual", SERIES_MARK, 3, c->restart, NULL, c->restarts },
        { "another choice took over", SERIES_MARK, 1, c->promotion, NULL, promoted },
    };
    char label[300], caption[200];
    chart picture = { .id = "curve",
                      .label = label,
                      .caption = caption,
                      .x = { .label = "iteration", .unit = "iteration" },
                      .y = { .label = "residual / norm of b", .log = true },
                      .series = all,
                      .count = (int)(sizeof all / sizeof *all) };

    snprintf(label, sizeof label,
             "The residual over %" PRId64
             " iterations, from %.2e to %.2e of the norm of b; the target is "
             "%.2e",
             r->iterations, h->count ? h->residual[0] : 1,
             kry_relative_residual(s->result, r->true_residual), c->target[0]);
    snprintf(caption, sizeof caption, "%s",
             h->count < r->history_count ? "Of a long history the lowest and the highest residual "
                                           "of each short stretch are drawn."
                                         : "");
    kry_chart_fit(&picture);
    kry_chart_write(f, &picture);
}

void kry_page_convergence(FILE *f, const solve_page *s)
{
    const kry_result *r = s->result;
    curves c = { .target = { kry_relative_residual(r, r->target) } };

    kry_history_of(r, &c.history);
    c.promotion[0] = (double)c.history.before;
    find_earlier(s, &c);
    find_checks(s, &c);
    kry_html_section(f, "convergence", "Convergence");
    if (!c.history.count && !c.earlier_count) {
        kry_html_element(f, "p",
                         r->columns ? "A solve of several right-hand sides keeps no history."
                                    : "There was nothing to iterate, and so there is no history.");
        return;
    }
    if (r->promotions) kry_html_element(f, "p", r->promoted_why);
    if (c.history.count > 2 || c.earlier_count)
        draw(f, s, &c);
    else
        kry_html_element(f, "p", "A single step: two residuals are no curve.");
    table_of_checks(f, &c);
    table_of_history(f, &c.history);
}
