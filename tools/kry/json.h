/*
 * json.h - one JSON object on one line, of which a page may keep the members.
 */
#ifndef KRY_JSON_H
#define KRY_JSON_H

#include "page/json_object.h"
#include "records.h"

typedef kryi_json json;

json json_begin(FILE *file);
void json_text(json *j, const char *key, const char *value); /* NULL: null */
void json_real(json *j, const char *key, double value);      /* NaN and infinity: null */
void json_whole(json *j, const char *key, int64_t value);
void json_bool(json *j, const char *key, bool value);
void json_end(json *j);

/* Keep in `to`, for a page, what objects that are begun from now on hold, but their lists; `quiet`: and do not write
 * these objects. NULL: no more. */
void json_keep(records *to, bool quiet);

#endif
