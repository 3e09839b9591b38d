/*
 * solve_page.c - a solve as one page: what came out, and what it was.
 */
#include "solve_page.h"
#include "bench.h"
#include "text.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

/* ---- the top --------------------------------------------------------------------------------- */

static void put_verdict(FILE *f, const report *r)
{
    const bool failed = r->status != KRY_OK, done = r->result.reason == KRY_ITERATIONS_DONE;
    char text[400];

    fprintf(f, "<p class=\"verdict %s\"><b>%s</b> ",
            failed ? "bad"
            : done ? "done"
                   : "good",
            failed ? "\u2717 not converged"
            : done ? "done"
                   : "\u2713 converged");
    snprintf(text, sizeof text, "%s.", r->result.why);
    html_escaped(f, text);
    fputs("</p>\n", f);
}

static void put_date(FILE *f, const solve_page *s)
{
    char date[64] = "", text[500];
    const time_t seconds = time(NULL);
    struct tm utc;

    if (gmtime_r(&seconds, &utc)) strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", &utc);
    const kry_device_info *d = s->report->device;
    snprintf(text, sizeof text, "%s, kry %s, on %s (%s, driver %s)", date, kry_version(), d->name,
             d->platform, d->driver);
    html_element(f, "p class=\"soft\"", text);
}

static void facts_of_system(FILE *f, const report *r)
{
    char n[32], cols[32], nnz[32];
    const bool square = r->src->rows == r->src->cols;

    html_facts(f, "What was solved, and how");
    html_fact(f, "source", "%s", r->src->name);
    html_fact(f, "unknowns", "%s%s%s%s", text_whole(r->src->rows, n, sizeof n),
              square ? "" : " rows, ", square ? "" : text_whole(r->src->cols, cols, sizeof cols),
              square ? "" : " columns");
    if (r->matrix.nnz >= 0)
        html_fact(f, "nonzeros", "%s", text_whole(r->matrix.nnz, nnz, sizeof nnz));
    if (r->src->parts || source_traits(r->src) & KRY_SINGULAR)
        html_fact(f, "singular", "yes: %s", r->null_space);
    if (r->src->negated) html_fact(f, "sign", "the diagonal is negative: -A x = -b was solved");
    html_fact(f, "right-hand side", "%s", strcmp(r->rhs, "problem") ? r->rhs : "the problem's own");
    if (r->seeded) html_fact(f, "seed", "%" PRId64, r->seed);
    html_fact(f, "precision", "%s", r->precision);
    if (r->result.chosen[0])
        html_fact(f, "method", "auto: %s", r->result.chosen);
    else
        html_fact(f, "method", "%s", r->method);
    html_fact(f, "preconditioner", "%s%s%s", r->precond, r->precond_why ? ", by auto: " : "",
              r->precond_why ? r->precond_why : "");
    if (strcmp(r->deflation, "none")) html_fact(f, "deflation", "%s", r->deflation);
    html_fact(f, "solver", "%s, %s", r->solver.kind, r->solver.variant);
    html_facts_end(f);
}

static void facts_of_result(FILE *f, const report *r)
{
    const kry_result *m = &r->result;
    char t[32];

    html_facts(f, "What came out (residuals divided by the norm of b)");
    html_fact(f, "iterations", "%" PRId64, m->iterations);
    html_fact(f, "restarts", "%d", m->restarts);
    html_fact(f, "norm of b", "%.6e", m->norm_b);
    html_fact(f, "target", "%.3e", report_relative(r, m->target));
    html_fact(f, "true residual", "%.3e", report_relative(r, m->true_residual));
    html_fact(f, "carried residual", "%.3e", report_relative(r, m->residual));
    if (m->inconsistent > 0)
        html_fact(f, "out of reach", "%.3e of b lies in the null space",
                  report_relative(r, m->inconsistent));
    if (r->has_error)
        html_fact(f, "error", "%.4e at most, %.4e relative", r->error_inf, r->error_rel);
    if (!strcmp(r->precision, "mixed"))
        html_fact(f, "mixed",
                  "%s: %" PRId64 " iterations in single, %" PRId64 " in double, %" PRId64
                  " products in double besides",
                  kry_scheme_word(m->scheme), m->single_iterations, m->double_iterations,
                  m->outer_iterations);
    if (m->promotions) html_fact(f, "before that", "%s", m->promoted_why);
    if (m->columns) html_fact(f, "right-hand sides", "%" PRId64, m->columns);
    html_fact(f, "solve", "%s", text_seconds(m->solve_seconds, t, sizeof t));
    if (m->iterations > 0)
        html_fact(f, "an iteration", "%s",
                  text_seconds(m->solve_seconds / (double)m->iterations, t, sizeof t));
    if (m->bytes > 0)
        html_fact(f, "bandwidth", "%.2f GB/s by the model of the method",
                  m->bytes / m->solve_seconds / 1e9);
    html_facts_end(f);
}

static void table_of_columns(FILE *f, const report *r)
{
    enum { MOST = 64 };
    const kry_result *m = &r->result;

    if (!m->columns) return;
    html_table(f, "Each right-hand side", ">column|reason|>iterations|>true residual", false);
    for (int64_t c = 0; c < m->columns && c < MOST; c++) {
        const kry_column *one = &m->column[c];
        html_row(f);
        html_number(f, "%" PRId64, c);
        html_cell(f, kry_reason_word(one->reason));
        html_number(f, "%" PRId64, one->iterations);
        html_number(f, "%.3e",
                    one->norm_b > 0 ? one->true_residual / one->norm_b : one->true_residual);
        html_row_end(f);
    }
    html_table_end(f, false);
    if (m->columns > MOST) html_element(f, "p class=\"soft\"", "The others are left out.");
}

/* The very object that --json prints, for programs. */
static void put_json(FILE *f, const report *r)
{
    fputs("<script type=\"application/json\" id=\"kry\">", f);
    json j = json_begin_in_page(f);
    report_json(&j, r);
    json_end(&j);
    fputs("</script>\n", f);
}

/* ---- the copy bandwidth ---------------------------------------------------------------------- */

static void measure_copy(solve_page *s)
{
    const report *r = s->report;
    bench b = { .o = s->o,
                .device = kry_op_device(s->A),
                .info = r->device,
                .type = r->device->fp64 ? r->type : KRY_F32,
                .seed = 1 };

    if (bench_copy(&b) < 0)
        snprintf(s->copy_why, sizeof s->copy_why, "%s", kry_last_error());
    else
        s->copy = b.copy;
}

kry_status solve_page_write(const char *path, solve_page *s)
{
    kry_status st = KRY_OK;
    FILE *f = NULL;
    const report *r = s->report;
    const char *slash = strrchr(r->src->name, '/'), *name = slash ? slash + 1 : r->src->name;
    char title[600];

    if (s->look->parts == 1) measure_copy(s); /* the only ones whose kernels stand beside it */
    snprintf(title, sizeof title, "%s: %s", name,
             r->status != KRY_OK                       ? "not converged"
             : r->result.reason == KRY_ITERATIONS_DONE ? "done"
                                                       : "converged");
    TRY(html_open(path, title, &f));
    html_element(f, "h1", name);
    put_verdict(f, r);
    html_command(f, s->o->argc, s->o->argv);
    put_date(f, s);
    fputs("<div class=\"two\">\n", f);
    facts_of_result(f, r);
    facts_of_system(f, r);
    fputs("</div>\n", f);
    table_of_columns(f, r);
    put_json(f, r);
    page_convergence(f, s);
    TRY(page_time(f, s));
    TRY(page_kernels(f, s));
    TRY(page_system(f, s));
    TRY(page_levels(f, s));
    TRY(page_parts(f, s));
done:
    return html_close(path, &f, st);
}
