/*
 * json.c - one JSON object on one line.
 */
#include "json.h"
#include "text.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static records *kept;
static bool quiet;

void json_keep(records *to, bool instead)
{
    kept = to;
    quiet = to && instead;
}

void json_put_text(FILE *file, const char *text, bool in_page)
{
    static const char plain[] = "\"\\\b\f\n\r\t", escaped[] = "\"\\bfnrt";
    fputc('"', file);
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        const char *special = strchr(plain, *s);
        int length = text_character((const char *)s);
        if (special)
            fprintf(file, "\\%c", escaped[special - plain]);
        else if (*s < 0x20 || length == 0 || (*s == '<' && in_page))
            fprintf(file, "\\u%04x",
                    length ? *s : 0xfffdu); /* bytes that are no character: U+FFFD */
        else
            fwrite(s, 1, (size_t)length, file);
        s += length ? length : 1;
    }
    fputc('"', file);
}

static void write_key(json *j, const char *key)
{
    if (j->more) fputs(", ", j->file);
    j->more = true;
    json_put_text(j->file, key, j->in_page);
    fputs(": ", j->file);
}

/* A value that needs no quotes. */
static void write_plain(json *j, const char *key, const char *value)
{
    if (kept && !j->in_page) records_add(kept, key, value, true);
    if (!j->file) return;
    write_key(j, key);
    fputs(value, j->file);
}

/* The shortest of 15 to 17 digits that reads back as the same number. */
static const char *real_text(double value, char text[40])
{
    snprintf(text, 40, "null");
    for (int digits = 15; isfinite(value) && digits <= 17; digits++) {
        snprintf(text, 40, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    return text;
}

json json_begin(FILE *file)
{
    if (kept) records_begin(kept);
    if (quiet) return (json){ .file = NULL };
    fputc('{', file);
    return (json){ .file = file };
}

json json_begin_in_page(FILE *file)
{
    fputc('{', file);
    return (json){ .file = file, .in_page = true };
}

void json_text(json *j, const char *key, const char *value)
{
    if (!value) {
        write_plain(j, key, "null");
        return;
    }
    if (kept && !j->in_page) records_add(kept, key, value, false);
    if (!j->file) return;
    write_key(j, key);
    json_put_text(j->file, value, j->in_page);
}

void json_real(json *j, const char *key, double value)
{
    char text[40];
    write_plain(j, key, real_text(value, text));
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
        fprintf(j->file, "%s%s", i ? ", " : "", real_text(values[i], text));
    fputc(']', j->file);
}

void json_end(json *j)
{
    if (!j->file) return;
    fputs("}\n", j->file);
    fflush(j->file);
}
