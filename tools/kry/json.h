/*
 * json.h - one JSON object on one line.
 */
#ifndef KRY_JSON_H
#define KRY_JSON_H

#include "records.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct json {
    FILE *file; /* NULL: nothing is written */
    bool more;  /* a member has been written */
} json;

json json_begin(FILE *file);
void json_text(json *j, const char *key, const char *value); /* NULL: null */
void json_real(json *j, const char *key, double value);      /* NaN and infinity: null */
void json_whole(json *j, const char *key, int64_t value);
void json_bool(json *j, const char *key, bool value);
void json_wholes(json *j, const char *key, const int64_t *values, int count);
void json_reals(json *j, const char *key, const double *values, int count);
void json_end(json *j);

/* Keep what objects that are begun from now on hold, lists apart, in `to`, for a page; `quiet`: and do not write
 * them. NULL: no more. */
void json_keep(records *to, bool quiet);

#endif
