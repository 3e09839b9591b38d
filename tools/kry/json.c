/*
 * json.c - one JSON object on one line.
 */
#include "json.h"
#include "page/text.h"
#include <inttypes.h>

static records *kept;
static bool quiet;

void json_keep(records *to, bool instead)
{
    kept = to;
    quiet = to && instead;
}

static void write_key(json *j, const char *key)
{
    if (j->more) fputs(", ", j->file);
    j->more = true;
    kry_text_quoted(j->file, key, false);
    fputs(": ", j->file);
}

/* A value that needs no quotes. */
static void write_plain(json *j, const char *key, const char *value)
{
    if (kept) records_add(kept, key, value, true);
    if (!j->file) return;
    write_key(j, key);
    fputs(value, j->file);
}

json json_begin(FILE *file)
{
    if (kept) records_begin(kept);
    if (quiet) return (json){ .file = NULL };
    fputc('{', file);
    return (json){ .file = file };
}

void json_text(json *j, const char *key, const char *value)
{
    if (!value) {
        write_plain(j, key, "null");
        return;
    }
    if (kept) records_add(kept, key, value, false);
    if (!j->file) return;
    write_key(j, key);
    kry_text_quoted(j->file, value, false);
}

void json_real(json *j, const char *key, double value)
{
    char text[40];
    write_plain(j, key, kry_text_real(value, text));
}

void json_whole(json *j, const char *key, int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, value);
    write_plain(j, key, text);
}

void json_bool(json *j, const char *key, bool value)
{
    write_plain(j, key, value ? "true" : "false");
}

void json_wholes(json *j, const char *key, const int64_t *values, int count)
{
    if (!j->file) return;
    write_key(j, key);
    fputc('[', j->file);
    for (int i = 0; i < count; i++) fprintf(j->file, "%s%" PRId64, i ? ", " : "", values[i]);
    fputc(']', j->file);
}

void json_reals(json *j, const char *key, const double *values, int count)
{
    char text[40];
    if (!j->file) return;
    write_key(j, key);
    fputc('[', j->file);
    for (int i = 0; i < count; i++)
        fprintf(j->file, "%s%s", i ? ", " : "", kry_text_real(values[i], text));
    fputc(']', j->file);
}

void json_end(json *j)
{
    if (!j->file) return;
    fputs("}\n", j->file);
    fflush(j->file);
}
