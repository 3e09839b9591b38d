/*
 * json.c - one JSON object on one line.
 */
#include "json.h"
#include "text.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void write_text(FILE *file, const char *text)
{
    static const char plain[] = "\"\\\b\f\n\r\t", escaped[] = "\"\\bfnrt";
    fputc('"', file);
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        const char *special = strchr(plain, *s);
        int length = text_character((const char *)s);
        if (special)
            fprintf(file, "\\%c", escaped[special - plain]);
        else if (*s < 0x20 || length == 0) /* bytes that are no character become U+FFFD */
            fprintf(file, "\\u%04x", length ? *s : 0xfffdu);
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
    write_text(j->file, key);
    fputs(": ", j->file);
}

json json_begin(FILE *file)
{
    fputc('{', file);
    return (json){ .file = file };
}

void json_text(json *j, const char *key, const char *value)
{
    write_key(j, key);
    if (value)
        write_text(j->file, value);
    else
        fputs("null", j->file);
}

/* The shortest of 15 to 17 digits that reads back as the same number. */
void json_real(json *j, const char *key, double value)
{
    char text[40] = "null";
    write_key(j, key);
    for (int digits = 15; isfinite(value) && digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    fputs(text, j->file);
}

void json_whole(json *j, const char *key, int64_t value)
{
    write_key(j, key);
    fprintf(j->file, "%" PRId64, value);
}

void json_bool(json *j, const char *key, bool value)
{
    write_key(j, key);
    fputs(value ? "true" : "false", j->file);
}

void json_wholes(json *j, const char *key, const int64_t *values, int count)
{
    write_key(j, key);
    fputc('[', j->file);
    for (int i = 0; i < count; i++) fprintf(j->file, "%s%" PRId64, i ? ", " : "", values[i]);
    fputc(']', j->file);
}

void json_end(json *j)
{
    fputs("}\n", j->file);
    fflush(j->file);
}
