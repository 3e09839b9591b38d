/*
 * records.h - what --json would print, kept: names and values, object by object.
 */
#ifndef KRY_RECORDS_H
#define KRY_RECORDS_H

#include <stdbool.h>

typedef struct record_value {
    char *key, *text; /* owned; "null" is a plain value */
    bool plain;       /* a number, true, false or null; else a text */
} record_value;

typedef struct record {
    record_value *value;
    int count, room;
} record;

typedef struct records {
    record *one;
    int count, room;
    bool failed; /* there was no memory for something */
} records;

void records_begin(records *r); /* the next object */
void records_add(records *r, const char *key, const char *text, bool plain);
void records_release(records *r);

/* The value of a key; NULL: it has none, or null. */
const char *record_text(const record *r, const char *key);
double record_number(const record *r, const char *key); /* NaN: none */

#endif
