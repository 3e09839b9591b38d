/*
 * records.c - what --json would print, kept.
 */
#include "records.h"
#include "common.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

void records_begin(records *r)
{
    if (r->count == r->room) {
        const int room = 2 * r->room + 16;
        if (reallocate((size_t)room, sizeof *r->one, &r->one) < 0) {
            r->failed = true;
            return;
        }
        r->room = room;
    }
    r->one[r->count++] = (record){ 0 };
}

static char *copy_of(const char *text)
{
    char *copy = NULL;
    if (allocate(strlen(text) + 1, 1, &copy) < 0) return NULL;
    return strcpy(copy, text);
}

void records_add(records *r, const char *key, const char *text, bool plain)
{
    if (r->failed || !r->count) return;
    record *last = &r->one[r->count - 1];
    if (last->count == last->room) {
        const int room = 2 * last->room + 24;
        if (reallocate((size_t)room, sizeof *last->value, &last->value) < 0) {
            r->failed = true;
            return;
        }
        last->room = room;
    }
    const record_value new = { copy_of(key), copy_of(text), plain };
    last->value[last->count++] = new;
    if (!new.key || !new.text) r->failed = true;
}

void records_release(records *r)
{
    for (int i = 0; i < r->count; i++) {
        for (int j = 0; j < r->one[i].count; j++) {
            free(r->one[i].value[j].key);
            free(r->one[i].value[j].text);
        }
        free(r->one[i].value);
    }
    free(r->one);
    *r = (records){ 0 };
}

const char *record_text(const record *r, const char *key)
{
    for (int j = 0; j < r->count; j++) {
        const record_value *v = &r->value[j];
        if (!strcmp(v->key, key)) return v->plain && !strcmp(v->text, "null") ? NULL : v->text;
    }
    return NULL;
}

double record_number(const record *r, const char *key)
{
    const char *text = record_text(r, key);
    char *end = NULL;
    double value = text ? strtod(text, &end) : NAN;

    return text && end > text && !*end ? value : (double)NAN;
}
