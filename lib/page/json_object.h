/*
 * json_object.h - one JSON object on one line, of a file or of a page.
 */
#ifndef KRY_JSON_OBJECT_H
#define KRY_JSON_OBJECT_H

#include "page/page.h"
#include <stdio.h>

typedef struct kryi_json {
    FILE *file;   /* borrowed; NULL: nothing is written */
    bool in_page; /* texts have no < */
    bool more;    /* a member has been written */
} kryi_json;

kryi_json kryi_json_begin(FILE *file, bool in_page);
void kryi_json_text(kryi_json *j, const char *key, const char *value); /* NULL: null */
void kryi_json_real(kryi_json *j, const char *key, double value);      /* NaN and infinity: null */
void kryi_json_whole(kryi_json *j, const char *key, int64_t value);
void kryi_json_bool(kryi_json *j, const char *key, bool value);
void kryi_json_wholes(kryi_json *j, const char *key, const int64_t *values, int64_t count);
void kryi_json_end(kryi_json *j);

/* The residuals of the recurrence, thinned out, and those that were computed from x; relative to b. Of several
 * right-hand sides nothing. */
void kryi_json_history(kryi_json *j, const kry_result *r);

#endif
