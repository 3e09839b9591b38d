/*
 * page_json.c - what a page has for programs: the caller's object, or what kry knows of the solve, by the names of
 * kry solve --json.
 */
#include "page/text.h"
#include "report/page.h"
#include <inttypes.h>

typedef struct object {
    FILE *f;
    bool more; /* a member has been written */
} object;

static void key(object *o, const char *name)
{
    if (o->more) fputs(", ", o->f);
    o->more = true;
    kry_text_quoted(o->f, name, true);
    fputs(": ", o->f);
}

static void put_text(object *o, const char *name, const char *value)
{
    key(o, name);
    kry_text_quoted(o->f, value, true);
}

static void put_whole(object *o, const char *name, int64_t value)
{
    key(o, name);
    fprintf(o->f, "%" PRId64, value);
}

static void put_real(object *o, const char *name, double value)
{
    char text[40];

    key(o, name);
    fputs(kry_text_real(value, text), o->f);
}

static void put_list(object *o, const char *name, const double *values, int count)
{
    char text[40];

    key(o, name);
    for (int i = 0; i < count; i++)
        fprintf(o->f, "%s%s", i ? ", " : "[", kry_text_real(values[i], text));
    fputs(count ? "]" : "[]", o->f);
}

static void put_system(object *o, const solve_page *s)
{
    const kry_op_shape *shape = kry_op_get_shape(s->given->A);
    const kry_device_info *device = kry_device_get_info(s->report->device);

    put_whole(o, "n", shape->rows);
    if (shape->cols != shape->rows) put_whole(o, "cols", shape->cols);
    put_whole(o, "nnz", s->matrix.nnz);
    put_text(o, "solver", s->solver.kind);
    put_text(o, "solver_variant", s->solver.variant);
    put_text(o, "format", s->matrix.kind);
    put_text(o, "format_variant", s->matrix.variant);
    put_text(o, "format_chosen", s->matrix.chosen);
    put_real(o, "matrix_bytes", s->matrix.bytes_stored);
    put_text(o, "device", device->name);
    put_text(o, "platform", device->platform);
    put_text(o, "driver", device->driver);
    if (s->devices->ranks) put_whole(o, "ranks", s->devices->count);
}

static void put_result(object *o, const solve_page *s)
{
    const kry_result *r = s->result;

    key(o, "converged");
    fputs(s->status == KRY_OK && r->reason != KRY_ITERATIONS_DONE ? "true" : "false", o->f);
    put_text(o, "reason", kry_reason_word(r->reason));
    put_text(o, "why", r->why);
    put_whole(o, "iterations", r->iterations);
    put_whole(o, "restarts", r->restarts);
    if (r->chosen[0]) put_text(o, "chosen", r->chosen);
    if (r->columns) put_whole(o, "columns", r->columns);
    put_real(o, "norm_b", r->norm_b);
    put_real(o, "relative_residual", kry_relative_residual(r, r->residual));
    put_real(o, "true_relative_residual", kry_relative_residual(r, r->true_residual));
    put_real(o, "target_relative", kry_relative_residual(r, r->target));
    put_real(o, "read_s", kry_report_seconds(s->report, KRY_REPORT_READ));
    put_real(o, "matrix_s", kry_report_seconds(s->report, KRY_REPORT_MATRIX));
    put_real(o, "setup_s", kry_report_seconds(s->report, KRY_REPORT_SETUP));
    put_real(o, "solve_s", r->solve_seconds);
}

static void put_history(object *o, const kry_result *r)
{
    enum { MOST = 64 };
    double at[MOST], residual[MOST];
    int count = 0;
    history h;

    if (r->columns) return;
    kry_history_of(r, &h);
    put_list(o, "history_iterations", h.iteration, h.count);
    put_list(o, "history", h.residual, h.count);
    for (; count < r->check_count && count < MOST; count++) {
        at[count] = (double)(h.before + r->checks[count].iteration);
        residual[count] = kry_relative_residual(r, r->checks[count].residual);
    }
    put_list(o, "true_residual_iterations", at, count);
    put_list(o, "true_residuals", residual, count);
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
    object o = { .f = f };

    fputs("<script type=\"application/json\" id=\"kry\">", f);
    if (s->given->json) {
        put_given(f, s->given->json);
    } else {
        fputc('{', f);
        put_system(&o, s);
        put_result(&o, s);
        put_history(&o, s->result);
        fputc('}', f);
    }
    fputs("</script>\n", f);
}
