/*
 * params.h - structs of parameters as tables of their fields. By these tables option strings are read and explained,
 * numbers out of range are refused, defaults are filled in, and ranks see whether they were given the same
 * (kryi_team_same_fields).
 */
#ifndef KRY_PARAMS_H
#define KRY_PARAMS_H

#include "base/base.h"
#include <kry/words.h>
#include <math.h>
#include <stddef.h>

typedef enum kryi_field_type {
    KRY_FIELD_END, /* behind the last field of a table */
    KRY_FIELD_INT, /* an int or an enum */
    KRY_FIELD_INT64,
    KRY_FIELD_DOUBLE,
    KRY_FIELD_BOOL,
    KRY_FIELD_CHARS,   /* a text in an array of KRY_FIELD_ROOM bytes */
    KRY_FIELD_TEXT,    /* a const char *, borrowed; ranks compare whether it is NULL */
    KRY_FIELD_POINTER, /* ranks compare whether it is NULL */
    KRY_FIELD_LOCAL,   /* a pointer that may differ from rank to rank */
    KRY_FIELD_STRUCT,  /* a struct with a table of its own */
    KRY_FIELD_NOTHING  /* a word that says what is so anyway */
} kryi_field_type;

enum { KRY_FIELD_ROOM = 256 };

/* The numbers from `least` to `most`, with these two or without. */
typedef struct kryi_limits {
    enum {
        KRY_RANGE_NONE,
        KRY_RANGE_CLOSED,
        KRY_RANGE_OPEN,
        KRY_RANGE_BELOW /* least, not most */
    } ends;
    double least, most;
} kryi_limits;

typedef struct kryi_field {
    kryi_field_type type;
    size_t offset;
    /* `name` is in messages; `form` NULL: option strings do not set it. Enums count as the form of a choice does. */
    kry_word word;
    kryi_limits
        range; /* 0 is taken besides: the default. Of a choice: its words, unless it says more */
    double otherwise; /* number: the default, where it is one; else 0 */
    bool bare;        /* bool, choice: option strings may leave its "name=" out */
    int count;        /* of an array; 0: it is none */
    unsigned of;      /* sets that it belongs to, as bits; 0: to all */
    /* How option strings set it; NULL: by its type. params: the struct that it is a field of */
    kry_status (*read)(const char *who, const char *value, void *params);
    const struct kryi_field *fields; /* of KRY_FIELD_STRUCT */
    bool unnamed;                    /* struct: option strings do not set its fields */
} kryi_field;

/* Parts of a line of a table, whose struct PARAMS names, as in
 * { KRY_FIELD(INT, degree), KRY_WORD("degree", WHOLE, "=N", "products with A"), KRY_CLOSED(1, 1000) } */
#define KRY_FIELD(kind, field)               .type = KRY_FIELD_##kind, .offset = offsetof(PARAMS, field)
#define KRY_WORD(name, kind, value, meaning) .word = { name, KRY_WORD_##kind, name value, meaning }
#define KRY_CLOSED(least, most)              .range = { KRY_RANGE_CLOSED, least, most }
#define KRY_OPEN(least, most)                .range = { KRY_RANGE_OPEN, least, most }
#define KRY_BELOW(least, most)               .range = { KRY_RANGE_BELOW, least, most }

/* given, mine: they begin with their size; given NULL: all defaults. mine := given, and 0 in fields that an earlier
 * header of the caller's did not have yet. Refused is what `macro` did not make, and what a later header did. */
kry_status kryi_params_take(const char *who, const char *macro, const void *given, void *mine,
                            size_t size);
/* Let `params` point to `mine`, so taken. */
#define TAKE_PARAMS(params, mine, who, macro)                             \
    do {                                                                  \
        TRY(kryi_params_take(who, macro, params, &(mine), sizeof(mine))); \
        params = &(mine);                                                 \
    } while (0)

/* The i-th field that option strings set, also of structs in the struct, and how far it is from the beginning of all;
 * offset may be NULL. NULL behind the last one. */
const kryi_field *kryi_field_get(const kryi_field *fields, int i, size_t *offset);
/* The place of a word, for kryi_field_get, among the fields of `of`; -1: there is none. */
int kryi_field_find(const kryi_field *fields, unsigned of, const char *name);

/* Set the field of the word `name` to what `value` says. of: sets of fields to look in.
 *   who  begins the message
 * Returns  KRY_ERR_PARSE: no such word (message: those there are), or no such value */
kry_status kryi_field_set(const char *who, const kryi_field *fields, unsigned of, const char *name,
                          const char *value, void *params);
/* *field := which choice of w the value is. Returns  KRY_ERR_PARSE (message: the choices) */
kry_status kryi_choice_set(const char *who, const kry_word *w, const char *value, int *field);
/* Set what settings say that stand between commas: name=value, the bare word of a choice or of a bool, or a number,
 * which is for the field of the word `number` (NULL: for none). Changes `text`. */
kry_status kryi_fields_read(const char *who, const kryi_field *fields, const char *number,
                            char *text, void *params);
/* Returns  KRY_ERR_ARGUMENT naming the first field that is out of its range. */
kry_status kryi_fields_check(const char *who, const kryi_field *fields, const void *params);
/* Fill in the defaults that are numbers. */
void kryi_fields_default(const kryi_field *fields, void *params);

#endif
