/*
 * page.c - the page of a solve: what came out, and what it was.
 */
#include "report/page.h"
#include "page/text.h"
#include "report/write.h"
#include <inttypes.h>
#include <string.h>
#include <time.h>

/* ---- the top --------------------------------------------------------------------------------- */

static const char *verdict_of(const solve_page *s)
{
    return s->status != KRY_OK                        ? "not converged"
           : s->result->reason == KRY_ITERATIONS_DONE ? "done"
                                                      : "converged";
}

static void put_verdict(FILE *f, const solve_page *s)
{
    const bool failed = s->status != KRY_OK, done = s->result->reason == KRY_ITERATIONS_DONE;
    char text[sizeof s->result->why + 1];

    fprintf(f, "<p class=\"verdict %s\"><b>%s%s</b> ",
            failed ? "bad"
            : done ? "done"
                   : "good",
            failed ? "\u2717 "
            : done ? ""
                   : "\u2713 ",
            verdict_of(s));
    snprintf(text, sizeof text, "%s.", s->result->why);
    kry_html_escaped(f, text);
    fputs("</p>\n", f);
}

static void put_date(FILE *f, const solve_page *s)
{
    char date[64] = "", text[500], team[40] = "";
    const time_t seconds = time(NULL);
    const devices *d = s->devices;
    struct tm utc;

    if (gmtime_r(&seconds, &utc)) strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", &utc);
    const kry_device_info *info = kry_device_get_info(s->report->device);
    if (d->ranks) snprintf(team, sizeof team, ", on %d ranks", d->count);
    snprintf(text, sizeof text, "%s, kry %s, on %s (%s, driver %s)%s", date, kry_version(),
             info->name, info->platform, info->driver, team);
    kry_html_element(f, "p class=\"soft\"", text);
}

static void facts_of_system(FILE *f, const solve_page *s)
{
    char n[32], cols[32], nnz[32];
    const kry_op_shape *shape = kry_op_get_shape(s->given->A);
    const bool square = shape->rows == shape->cols;

    kry_html_facts(f, "What was solved, and how");
    kry_html_fact(f, "unknowns", "%s%s%s%s", kry_text_whole(shape->rows, n, sizeof n),
                  square ? "" : " rows, ",
                  square ? "" : kry_text_whole(shape->cols, cols, sizeof cols),
                  square ? "" : " columns");
    if (s->matrix.nnz >= 0)
        kry_html_fact(f, "nonzeros", "%s", kry_text_whole(s->matrix.nnz, nnz, sizeof nnz));
    for (const char *const *fact = s->given->facts; fact && fact[0] && fact[1]; fact += 2)
        kry_html_fact(f, fact[0], "%s", fact[1]);
    kry_html_fact(f, "precision", "%s",
                  s->result->scheme != KRY_SCHEME_AUTO ? "mixed" : kry_type_name(shape->type));
    if (s->result->chosen[0]) kry_html_fact(f, "auto", "%s", s->result->chosen);
    if (s->result->row_span > 0)
        kry_html_fact(
            f, "scaling",
            "rows and columns by powers of two: norms of rows differ by a factor of %.1e, of "
            "columns by %.1e",
            s->result->row_span, s->result->column_span);
    kry_html_fact(f, "solver", "%s, %s", s->solver.kind, s->solver.variant);
    kry_html_facts_end(f);
}

static void residual_facts(FILE *f, const kry_result *m)
{
    kry_html_fact(f, "norm of b", "%.6e", m->norm_b);
    kry_html_fact(f, "target", "%.3e", kry_relative_residual(m, m->target));
    kry_html_fact(f, "true residual", "%.3e", kry_relative_residual(m, m->true_residual));
    kry_html_fact(f, "carried residual", "%.3e", kry_relative_residual(m, m->residual));
    if (m->inconsistent > 0)
        kry_html_fact(f, "out of reach", "%.3e of b lies in the null space",
                      kry_relative_residual(m, m->inconsistent));
}

static void facts_of_result(FILE *f, const kry_result *m)
{
    char t[32];

    kry_html_facts(f, "What came out (residuals divided by the norm of b)");
    kry_html_fact(f, "iterations", "%" PRId64, m->iterations);
    kry_html_fact(f, "restarts", "%d", m->restarts);
    residual_facts(f, m);
    if (m->scheme != KRY_SCHEME_AUTO)
        kry_html_fact(f, "mixed",
                      "%s: %" PRId64 " iterations in single, %" PRId64 " in double, %" PRId64
                      " products in double besides",
                      kry_scheme_word(m->scheme), m->single_iterations, m->double_iterations,
                      m->outer_iterations);
    if (m->promotions) kry_html_fact(f, "before that", "%s", m->promoted_why);
    if (m->columns) kry_html_fact(f, "right-hand sides", "%" PRId64, m->columns);
    kry_html_fact(f, "solve", "%s", kry_text_seconds(m->solve_seconds, t, sizeof t));
    if (m->iterations > 0)
        kry_html_fact(f, "an iteration", "%s",
                      kry_text_seconds(m->solve_seconds / (double)m->iterations, t, sizeof t));
    if (m->bytes > 0)
        kry_html_fact(f, "bandwidth", "%.2f GB/s by the model of the method",
                      m->bytes / m->solve_seconds / 1e9);
    kry_html_facts_end(f);
}

static void table_of_columns(FILE *f, const kry_result *m)
{
    enum { MOST = 64 };

    if (!m->columns) return;
    kry_html_table(f, "Each right-hand side", ">column|reason|>iterations|>true residual", false);
    for (int64_t c = 0; c < m->columns && c < MOST; c++) {
        const kry_column *one = &m->column[c];
        kry_html_row(f);
        kry_html_number(f, "%" PRId64, c);
        kry_html_cell(f, kry_reason_word(one->reason));
        kry_html_number(f, "%" PRId64, one->iterations);
        kry_html_number(f, "%.3e",
                        one->norm_b > 0 ? one->true_residual / one->norm_b : one->true_residual);
        kry_html_row_end(f);
    }
    kry_html_table_end(f, false);
    if (m->columns > MOST) kry_html_element(f, "p class=\"soft\"", "The others are left out.");
}

kry_status kry_page_draw(const char *path, const solve_page *s)
{
    kry_status st = KRY_OK;
    FILE *f = NULL;
    const char *name = s->given->title ? s->given->title : "A solve";
    char title[600];

    snprintf(title, sizeof title, "%s: %s", name, verdict_of(s));
    TRY(kry_html_open(path, title, &f));
    kry_html_element(f, "h1", name);
    put_verdict(f, s);
    if (s->given->command) kry_html_command(f, s->given->command);
    put_date(f, s);
    fputs("<div class=\"two\">\n", f);
    facts_of_result(f, s->result);
    facts_of_system(f, s);
    fputs("</div>\n", f);
    table_of_columns(f, s->result);
    kry_page_json(f, s);
    kry_page_convergence(f, s);
    kry_page_time(f, s);
    TRY(kry_page_kernels(f, s));
    kry_page_system(f, s);
    TRY(kry_page_levels(f, s));
    kry_page_devices(f, s);
done:
    return kry_html_close(path, &f, st);
}
