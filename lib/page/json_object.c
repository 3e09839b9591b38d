/*
 * json_object.c - one JSON object on one line.
 */
#include "page/json_object.h"
#include "page/history.h"
#include "page/text.h"
#include <inttypes.h>

static void write_key(kryi_json *j, const char *key)
{
    if (j->more) fputs(", ", j->file);
    j->more = true;
    kryi_text_quoted(j->file, key, j->in_page);
    fputs(": ", j->file);
}

/* A value that needs no quotes. */
static void write_plain(kryi_json *j, const char *key, const char *value)
{
    if (!j->file) return;
    write_key(j, key);
    fputs(value, j->file);
}

kryi_json kryi_json_begin(FILE *file, bool in_page)
{
    if (file) fputc('{', file);
    return (kryi_json){ .file = file, .in_page = in_page };
}

void kryi_json_text(kryi_json *j, const char *key, const char *value)
{
    if (!value) {
        write_plain(j, key, "null");
    } else if (j->file) {
        write_key(j, key);
        kryi_text_quoted(j->file, value, j->in_page);
    }
}

void kryi_json_real(kryi_json *j, const char *key, double value)
{
    char text[40];
    write_plain(j, key, kryi_text_real(value, text));
}

void kryi_json_whole(kryi_json *j, const char *key, int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, value);
    write_plain(j, key, text);
}

void kryi_json_bool(kryi_json *j, const char *key, bool value)
{
    write_plain(j, key, value ? "true" : "false");
}

void kryi_json_wholes(kryi_json *j, const char *key, const int64_t *values, int64_t count)
{
    if (!j->file) return;
    write_key(j, key);
    fputc('[', j->file);
    for (int64_t i = 0; i < count; i++) fprintf(j->file, "%s%" PRId64, i ? ", " : "", values[i]);
    fputc(']', j->file);
}

static void json_reals(kryi_json *j, const char *key, const double *values, int64_t count)
{
    char text[40];
    if (!j->file) return;
    write_key(j, key);
    fputc('[', j->file);
    for (int64_t i = 0; i < count; i++)
        fprintf(j->file, "%s%s", i ? ", " : "", kryi_text_real(values[i], text));
    fputc(']', j->file);
}

void kryi_json_end(kryi_json *j)
{
    if (j->file) fputc('}', j->file);
}

void kryi_json_history(kryi_json *j, const kry_result *r)
{
    double at[HISTORY_ROOM], residual[HISTORY_ROOM];
    int64_t count = 0;
    history h;

    if (r->columns) return;
    kryi_history_of(r, &h);
    json_reals(j, "history_iterations", h.iteration, h.count);
    json_reals(j, "history", h.residual, h.count);
    for (; count < r->check_count && count < HISTORY_ROOM; count++) {
        at[count] = (double)(h.before + r->checks[count].iteration);
        residual[count] = kryi_relative_residual(r, r->checks[count].residual);
    }
    json_reals(j, "true_residual_iterations", at, count);
    json_reals(j, "true_residuals", residual, count);
}
