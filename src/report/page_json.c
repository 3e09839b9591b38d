/*
 * page_json.c - what a page has for programs: the caller's object, or what kry knows of the solve, by the names of
 * kry solve --json.
 */
#include "page/history.h"
#include "page/json_object.h"
#include "report/page.h"

static void put_system(kry_json *j, const solve_page *s)
{
    const kry_op_shape *shape = kry_op_get_shape(s->given->A);
    const kry_device_info *device = kry_device_get_info(s->report->device);

    kry_json_whole(j, "n", shape->rows);
    if (shape->cols != shape->rows) kry_json_whole(j, "cols", shape->cols);
    kry_json_whole(j, "nnz", s->matrix.nnz);
    kry_json_text(j, "solver", s->solver.kind);
    kry_json_text(j, "solver_variant", s->solver.variant);
    kry_json_text(j, "format", s->matrix.kind);
    kry_json_text(j, "format_variant", s->matrix.variant);
    kry_json_text(j, "format_chosen", s->matrix.chosen);
    kry_json_real(j, "matrix_bytes", s->matrix.bytes_stored);
    kry_json_text(j, "device", device->name);
    kry_json_text(j, "platform", device->platform);
    kry_json_text(j, "driver", device->driver);
    if (s->devices->ranks) kry_json_whole(j, "ranks", s->devices->count);
}

static void put_result(kry_json *j, const solve_page *s)
{
    const kry_result *r = s->result;

    kry_json_bool(j, "converged", s->status == KRY_OK && r->reason != KRY_ITERATIONS_DONE);
    kry_json_text(j, "reason", kry_reason_word(r->reason));
    kry_json_text(j, "why", r->why);
    kry_json_whole(j, "iterations", r->iterations);
    kry_json_whole(j, "restarts", r->restarts);
    if (r->chosen[0]) kry_json_text(j, "chosen", r->chosen);
    if (r->row_span > 0) {
        kry_json_real(j, "row_span", r->row_span);
        kry_json_real(j, "column_span", r->column_span);
    }
    if (r->columns) kry_json_whole(j, "columns", r->columns);
    kry_json_real(j, "norm_b", r->norm_b);
    kry_json_real(j, "relative_residual", kry_relative_residual(r, r->residual));
    kry_json_real(j, "true_relative_residual", kry_relative_residual(r, r->true_residual));
    kry_json_real(j, "target_relative", kry_relative_residual(r, r->target));
    if (r->condition > 0) {
        kry_json_real(j, "norm_a", r->norm_A);
        kry_json_real(j, "condition", r->condition);
    }
    kry_json_real(j, "read_s", kry_report_seconds(s->report, KRY_REPORT_READ));
    kry_json_real(j, "matrix_s", kry_report_seconds(s->report, KRY_REPORT_MATRIX));
    kry_json_real(j, "setup_s", kry_report_seconds(s->report, KRY_REPORT_SETUP));
    kry_json_real(j, "solve_s", r->solve_seconds);
    double compiling = 0;
    for (kry_report_part part = 0; part < KRY_REPORT_PARTS; part++)
        compiling += kry_report_compiling(s->report, part);
    kry_json_real(j, "compile_s", compiling);
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

void kry_page_json(FILE *f, const solve_page *s)
{
    fputs("<script type=\"application/json\" id=\"kry\">", f);
    if (s->given->json) {
        put_given(f, s->given->json);
    } else {
        kry_json j = kry_json_begin(f, true);
        put_system(&j, s);
        put_result(&j, s);
        kry_json_history(&j, s->result);
        kry_json_end(&j);
    }
    fputs("</script>\n", f);
}
