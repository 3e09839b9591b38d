/*
 * json.c - one JSON object on one line, of which a page may keep the members.
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

json json_begin(FILE *file)
{
    if (kept) records_begin(kept);
    return kryi_json_begin(quiet ? NULL : file, false);
}

void json_text(json *j, const char *key, const char *value)
{
    if (kept) records_add(kept, key, value ? value : "null", !value);
    kryi_json_text(j, key, value);
}

void json_real(json *j, const char *key, double value)
{
    char text[40];
    if (kept) records_add(kept, key, kryi_text_real(value, text), true);
    kryi_json_real(j, key, value);
}

void json_whole(json *j, const char *key, int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, value);
    if (kept) records_add(kept, key, text, true);
    kryi_json_whole(j, key, value);
}

void json_bool(json *j, const char *key, bool value)
{
    if (kept) records_add(kept, key, value ? "true" : "false", true);
    kryi_json_bool(j, key, value);
}

void json_end(json *j)
{
    if (!j->file) return;
    kryi_json_end(j);
    fputc('\n', j->file);
    fflush(j->file);
}
