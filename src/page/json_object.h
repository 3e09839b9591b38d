/*
 * json_object.h - one JSON object on one line, of a file or of a page.
 */
#ifndef KRY_JSON_OBJECT_H
#define KRY_JSON_OBJECT_H

#include "page/page.h"
#include <stdio.h>

typedef struct kry_json {
    FILE *file;   /* borrowed; NULL: nothing is written */
    bool in_page; /* texts have no < */
    bool more;    /* a member has been written */
} kry_json;

kry_json kry_json_begin(FILE *file, bool in_page);
void kry_json_text(kry_json *j, const char *key, const char *value); /* NULL: null */
void kry_json_real(kry_json *j, const char *key, double value);      /* NaN and infinity: null */
void kry_json_whole(kry_json *j, const char *key, int64_t value);
void kry_json_bool(kry_json *j, const char *key, bool value);
void kry_json_wholes(kry_json *j, const char *key, const int64_t *values, int64_t count);
void kry_json_end(kry_json *j);

/* The residuals of the recurrence, thinned out, and those that were computed from x; relative to b. Of several
 * right-hand sides nothing. */
void kry_json_history(kry_json *j, const kry_result *r);

#endif
