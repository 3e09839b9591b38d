/*
 * write.c - kry_report_write: gather what a page is drawn from, on ranks from all of them, and write it.
 */
#include "page/chart.h"
#include "page/history.h"
#include "page/json_object.h"
#include "page/text.h"
#include "report/page.h"
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- how the residual fell ------------------------------------------------------------------- */

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
        c->earlier[c->earlier_count++] = kryi_relative_residual(s->result, t->residual[i]);
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
        c->check[c->checks++] = kryi_relative_residual(s->result, r->checks[i].residual);
        if (i > 0 && i + 1 < r->check_count) c->restart[c->restarts++] = at;
    }
    if (c->checks) c->check[c->checks - 1] = kryi_relative_residual(s->result, r->true_residual);
}

static void table_of_checks(FILE *f, const curves *c)
{
    kryi_html_table(f, "True residuals that were computed", ">iteration|>residual / norm of b",
                    c->checks > 4);
    for (int i = 0; i < c->checks; i++) {
        kryi_html_row(f);
        kryi_html_number(f, "%.0f", c->check_at[i]);
        kryi_html_number(f, "%.6e", c->check[i]);
        kryi_html_row_end(f);
    }
    kryi_html_table_end(f, c->checks > 4);
}

/* Some of the history, for those who cannot see the curve. */
static void table_of_history(FILE *f, const history *h)
{
    enum { ROWS = 20 };
    const int every = h->count / ROWS + 1;

    if (!h->count) return;
    kryi_html_table(f, "The residual at some iterations", ">iteration|>residual / norm of b", true);
    for (int i = 0; i < h->count; i++) {
        if (i % every && i + 1 < h->count) continue;
        kryi_html_row(f);
        kryi_html_number(f, "%.0f", h->iteration[i]);
        kryi_html_number(f, "%.3e", h->residual[i]);
        kryi_html_row_end(f);
    }
    kryi_html_table_end(f, true);
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
             kryi_relative_residual(s->result, r->true_residual), c->target[0]);
    snprintf(caption, sizeof caption, "%s",
             h->count < r->history_count ? "Of a long history the lowest and the highest residual "
                                           "of each short stretch are drawn."
                                         : "");
    kryi_chart_fit(&picture);
    kryi_chart_write(f, &picture);
}

static void page_convergence(FILE *f, const solve_page *s)
{
    const kry_result *r = s->result;
    curves c = { .target = { kryi_relative_residual(r, r->target) } };

    kryi_history_of(r, &c.history);
    c.promotion[0] = (double)c.history.before;
    find_earlier(s, &c);
    find_checks(s, &c);
    kryi_html_section(f, "convergence", "Convergence");
    if (!c.history.count && !c.earlier_count) {
        kryi_html_element(f, "p",
                          r->columns ? "A solve of several right-hand sides keeps no history."
                                     : "There was nothing to iterate, and so there is no history.");
        return;
    }
    if (r->promotions) kryi_html_element(f, "p", r->promoted_why);
    if (c.history.count > 2 || c.earlier_count)
        draw(f, s, &c);
    else
        kryi_html_element(f, "p", "A single step: two residuals are no curve.");
    table_of_checks(f, &c);
    table_of_history(f, &c.history);
}

/* ---- the object for programs ----------------------------------------------------------------- */

/* It is the caller's, or what kry knows of the solve by the names of kry solve --json. */

static void put_system(kryi_json *j, const solve_page *s)
{
    const kry_op_shape *shape = kry_op_get_shape(s->given->A);
    const kry_device_info *device = kry_device_get_info(s->report->device);

    kryi_json_whole(j, "n", shape->rows);
    if (shape->cols != shape->rows) kryi_json_whole(j, "cols", shape->cols);
    kryi_json_whole(j, "nnz", s->matrix.nnz);
    kryi_json_text(j, "solver", s->solver.kind);
    kryi_json_text(j, "solver_variant", s->solver.variant);
    kryi_json_text(j, "format", s->matrix.kind);
    kryi_json_text(j, "format_variant", s->matrix.variant);
    kryi_json_text(j, "format_chosen", s->matrix.chosen);
    kryi_json_real(j, "matrix_bytes", s->matrix.bytes_stored);
    kryi_json_text(j, "device", device->name);
    kryi_json_text(j, "platform", device->platform);
    kryi_json_text(j, "driver", device->driver);
    if (s->devices->ranks) kryi_json_whole(j, "ranks", s->devices->count);
}

static void put_result(kryi_json *j, const solve_page *s)
{
    const kry_result *r = s->result;

    kryi_json_bool(j, "converged", s->status == KRY_OK && r->reason != KRY_ITERATIONS_DONE);
    kryi_json_text(j, "reason", kry_reason_word(r->reason));
    kryi_json_text(j, "why", r->why);
    kryi_json_whole(j, "iterations", r->iterations);
    kryi_json_whole(j, "restarts", r->restarts);
    if (r->chosen[0]) kryi_json_text(j, "chosen", r->chosen);
    if (r->row_span > 0) {
        kryi_json_real(j, "row_span", r->row_span);
        kryi_json_real(j, "column_span", r->column_span);
    }
    if (r->columns) kryi_json_whole(j, "columns", r->columns);
    kryi_json_real(j, "norm_b", r->norm_b);
    kryi_json_real(j, "relative_residual", kryi_relative_residual(r, r->residual));
    kryi_json_real(j, "true_relative_residual", kryi_relative_residual(r, r->true_residual));
    kryi_json_real(j, "target_relative", kryi_relative_residual(r, r->target));
    if (r->condition > 0) {
        kryi_json_real(j, "norm_a", r->norm_A);
        kryi_json_real(j, "condition", r->condition);
    }
    kryi_json_real(j, "read_s", kryi_report_seconds(s->report, KRY_REPORT_READ));
    kryi_json_real(j, "matrix_s", kryi_report_seconds(s->report, KRY_REPORT_MATRIX));
    kryi_json_real(j, "setup_s", kryi_report_seconds(s->report, KRY_REPORT_SETUP));
    kryi_json_real(j, "solve_s", r->solve_seconds);
    double compiling = 0;
    for (kry_report_part part = 0; part < KRY_REPORT_PARTS; part++)
        compiling += kryi_report_compiling(s->report, part);
    kryi_json_real(j, "compile_s", compiling);
}

/* Only texts have a < in JSON; in a page it could end the script. */
static void put_given(FILE *f, const char *json)
{
    for (; *json; json++)
        if (*json == '<')
            fputs("\\u003c", f);
        else
            fputc(*json, f);
}

/* the object for programs */
static void page_json(FILE *f, const solve_page *s)
{
    fputs("<script type=\"application/json\" id=\"kry\">", f);
    if (s->given->json) {
        put_given(f, s->given->json);
    } else {
        kryi_json j = kryi_json_begin(f, true);
        put_system(&j, s);
        put_result(&j, s);
        kryi_json_history(&j, s->result);
        kryi_json_end(&j);
    }
    fputs("</script>\n", f);
}

/* ---- the top: what came out, and what it was --------------------------------------------------------------------------------- */

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
    kryi_html_escaped(f, text);
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
    kryi_html_element(f, "p class=\"soft\"", text);
}

static void facts_of_system(FILE *f, const solve_page *s)
{
    char n[32], cols[32], nnz[32];
    const kry_op_shape *shape = kry_op_get_shape(s->given->A);
    const bool square = shape->rows == shape->cols;

    kryi_html_facts(f, "What was solved, and how");
    kryi_html_fact(f, "unknowns", "%s%s%s%s", kryi_text_whole(shape->rows, n, sizeof n),
                   square ? "" : " rows, ",
                   square ? "" : kryi_text_whole(shape->cols, cols, sizeof cols),
                   square ? "" : " columns");
    if (s->matrix.nnz >= 0)
        kryi_html_fact(f, "nonzeros", "%s", kryi_text_whole(s->matrix.nnz, nnz, sizeof nnz));
    for (const char *const *fact = s->given->facts; fact && fact[0] && fact[1]; fact += 2)
        kryi_html_fact(f, fact[0], "%s", fact[1]);
    kryi_html_fact(f, "precision", "%s",
                   s->result->scheme != KRY_SCHEME_AUTO ? "mixed" : kry_type_name(shape->type));
    if (s->result->chosen[0]) kryi_html_fact(f, "auto", "%s", s->result->chosen);
    if (s->result->row_span > 0)
        kryi_html_fact(
            f, "scaling",
            "rows and columns by powers of two: norms of rows differ by a factor of %.1e, of "
            "columns by %.1e",
            s->result->row_span, s->result->column_span);
    kryi_html_fact(f, "solver", "%s, %s", s->solver.kind, s->solver.variant);
    kryi_html_facts_end(f);
}

static void residual_facts(FILE *f, const kry_result *m)
{
    kryi_html_fact(f, "norm of b", "%.6e", m->norm_b);
    kryi_html_fact(f, "target", "%.3e", kryi_relative_residual(m, m->target));
    kryi_html_fact(f, "true residual", "%.3e", kryi_relative_residual(m, m->true_residual));
    kryi_html_fact(f, "carried residual", "%.3e", kryi_relative_residual(m, m->residual));
    if (m->inconsistent > 0)
        kryi_html_fact(f, "out of reach", "%.3e of b lies in the null space",
                       kryi_relative_residual(m, m->inconsistent));
}

static void facts_of_result(FILE *f, const kry_result *m)
{
    char t[32];

    kryi_html_facts(f, "What came out (residuals divided by the norm of b)");
    kryi_html_fact(f, "iterations", "%" PRId64, m->iterations);
    kryi_html_fact(f, "restarts", "%d", m->restarts);
    residual_facts(f, m);
    if (m->scheme != KRY_SCHEME_AUTO)
        kryi_html_fact(f, "mixed",
                       "%s: %" PRId64 " iterations in single, %" PRId64 " in double, %" PRId64
                       " products in double besides",
                       kry_scheme_word(m->scheme), m->single_iterations, m->double_iterations,
                       m->outer_iterations);
    if (m->promotions) kryi_html_fact(f, "before that", "%s", m->promoted_why);
    if (m->columns) kryi_html_fact(f, "right-hand sides", "%" PRId64, m->columns);
    kryi_html_fact(f, "solve", "%s", kryi_text_seconds(m->solve_seconds, t, sizeof t));
    if (m->iterations > 0)
        kryi_html_fact(f, "an iteration", "%s",
                       kryi_text_seconds(m->solve_seconds / (double)m->iterations, t, sizeof t));
    if (m->bytes > 0)
        kryi_html_fact(f, "bandwidth", "%.2f GB/s by the model of the method",
                       m->bytes / m->solve_seconds / 1e9);
    kryi_html_facts_end(f);
}

static void table_of_columns(FILE *f, const kry_result *m)
{
    enum { MOST = 64 };

    if (!m->columns) return;
    kryi_html_table(f, "Each right-hand side", ">column|reason|>iterations|>true residual", false);
    for (int64_t c = 0; c < m->columns && c < MOST; c++) {
        const kry_column *one = &m->column[c];
        kryi_html_row(f);
        kryi_html_number(f, "%" PRId64, c);
        kryi_html_cell(f, kry_reason_word(one->reason));
        kryi_html_number(f, "%" PRId64, one->iterations);
        kryi_html_number(f, "%.3e",
                         one->norm_b > 0 ? one->true_residual / one->norm_b : one->true_residual);
        kryi_html_row_end(f);
    }
    kryi_html_table_end(f, false);
    if (m->columns > MOST) kryi_html_element(f, "p class=\"soft\"", "The others are left out.");
}

static kry_status page_draw(const char *path, const solve_page *s)
{
    kry_status st = KRY_OK;
    FILE *f = NULL;
    const char *name = s->given->title ? s->given->title : "A solve";
    char title[600];

    snprintf(title, sizeof title, "%s: %s", name, verdict_of(s));
    TRY(kryi_html_open(path, title, &f));
    kryi_html_element(f, "h1", name);
    put_verdict(f, s);
    if (s->given->command) kryi_html_command(f, s->given->command);
    put_date(f, s);
    fputs("<div class=\"two\">\n", f);
    facts_of_result(f, s->result);
    facts_of_system(f, s);
    fputs("</div>\n", f);
    table_of_columns(f, s->result);
    page_json(f, s);
    page_convergence(f, s);
    kryi_page_time(f, s);
    TRY(kryi_page_kernels(f, s));
    kryi_page_system(f, s);
    TRY(kryi_page_levels(f, s));
    kryi_page_devices(f, s);
done:
    return kryi_html_close(path, &f, st);
}

/* ---- the copy bandwidth ---------------------------------------------------------------------- */

/* Bytes per second of y := x by the same events as those of the kernels that stand beside it. */
static kry_status time_copy(kry_device *device, double *speed)
{
    enum { BYTES = 64 << 20, TIMES = 16 };
    kry_status st = KRY_OK;
    const kry_type type = kry_device_get_info(device)->fp64 ? KRY_F64 : KRY_F32;
    const int64_t n = BYTES / (int64_t)kry_type_size(type);
    kry_vec *x = NULL, *y = NULL;
    recorder *r = NULL;

    TRY(kry_vec_create(device, type, n, 1, &x));
    TRY(kry_vec_create(device, type, n, 1, &y));
    TRY(kry_vec_fill(x, 1));
    TRY(kry_vec_copy(x, y)); /* compiles */
    TRY(kryi_recorder_begin(device, kryi_clock(), &r));
    for (int i = 0; i < TIMES; i++) TRY(kry_vec_copy(x, y));
    TRY(kryi_recorder_end(r));
    const recording *kept = kryi_recorder_kept(r);
    const double seconds = kryi_recording_busy(kept, KRY_REPORT_READ, false) +
                           kryi_recording_busy(kept, KRY_REPORT_READ, true);
    *speed = 2.0 * BYTES * TIMES / seconds;
done:
    kryi_recorder_release(&r);
    kry_vec_release(&y);
    kry_vec_release(&x);
    return st;
}

/* That it could not be measured is told, and no failure. */
static void measure_copy(const kry_report *r, solve_page *s)
{
    if (kry_team_size(r->device) > 1 || !r->owned) return; /* its kernels stand beside nothing */
    if (time_copy(kry_team_part(r->device, 0), &s->copy) < 0) {
        s->copy = 0;
        snprintf(s->copy_why, sizeof s->copy_why, "%s", kry_last_error());
    }
}

/* ---- gathering -------------------------------------------------------------------------------- */

static kry_status check(const kry_report *r, const kry_report_params *p)
{
    kry_status st = KRY_OK;

    CHECK(p->solver && p->A && p->result, KRY_ERR_ARGUMENT, "kry_report_write: %s is NULL",
          !p->solver ? "solver"
          : !p->A    ? "A"
                     : "result");
    CHECK(!kry_team_is_ranks(r->device) ||
              (kry_op_device(p->A) == r->device && kry_op_device(p->solver) == r->device),
          KRY_ERR_ARGUMENT,
          "kry_report_write: A and the solver do not lie on the ranks of the report");
done:
    return st;
}

/* kry_op_describe of the whole A, of which a rank knows its rows. */
static void describe_all(const solve_page *s, kry_op_info *info)
{
    const devices *d = s->devices;

    kry_op_describe(s->given->A, info);
    if (!d->ranks) return;
    info->slots = 0, info->bytes_stored = 0;
    info->nnz = info->nnz < 0 ? -1 : 0;
    for (int i = 0; i < d->count; i++) {
        if (info->nnz >= 0) info->nnz += d->facts[i].volume.entries;
        info->slots += d->facts[i].slots;
        info->bytes_stored += d->facts[i].bytes_stored;
    }
}

/* Numbers have a point in them, whatever the language of the program. */
static kry_status draw_in_c(const char *path, const solve_page *s)
{
    const locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0),
                   before = plain ? uselocale(plain) : (locale_t)0;
    const kry_status st = page_draw(path, s);

    if (plain) {
        uselocale(before);
        freelocale(plain);
    }
    return st;
}

/* This process collects its share of the page before it meets other ranks. */
static kry_status begin_page(kry_report *r, const kry_report_params *p, devices *d)
{
    kry_status st = KRY_OK;

    TRY(check(r, p));
    TRY(kry_report_end(r));
    TRY(kryi_devices_find(r, p->A, d));
done:
    return st;
}

static kry_status write_page(kry_report *r, const char *path, const kry_report_params *p)
{
    static const char who[] = "kry_report_write";
    kry_status st = KRY_OK;
    kry_result result = { .reason = KRY_NOT_SOLVED };
    devices d = { 0 };
    system_facts system = { 0 };
    solve_page s = { .report = r, .given = p, .result = &result, .devices = &d, .system = &system };

    TRY(kry_team_agree(r->device, who, begin_page(r, p, &d)));
    TRY(kryi_devices_gather(r, &d));
    TRY(kryi_system_facts_find(p->A, &d, &system));
    const size_t size = p->result_size ? p->result_size : sizeof result;
    memcpy(&result, p->result, size < sizeof result ? size : sizeof result);
    s.status = kry_reason_status(result.reason);
    measure_copy(r, &s);
    describe_all(&s, &s.matrix);
    kry_op_describe(p->solver, &s.solver);
    TRY(kry_team_agree(r->device, who,
                       kry_team_rank(r->device) == 0 ? draw_in_c(path, &s) : KRY_OK));
done:
    kryi_system_facts_release(&system);
    kryi_devices_release(&d);
    return st;
}

kry_status kry_report_write(kry_report *report, const char *path, const kry_report_params *params)
{
    kry_status st = KRY_OK;
    kry_report_params mine;

    NOT_NULL(report);
    NOT_NULL(path);
    NOT_NULL(params);
    TRY(kryi_take_params("kry_report_write", "KRY_REPORT", params, &mine, sizeof mine));
    st = write_page(report, path, &mine);
done:
    return st;
}
