/* params.c - what can be done with a struct of parameters by the table of its fields. */
#include "base/params.h"
#include <limits.h>
#include <string.h>

kry_status kryi_params_take(const char *who, const char *macro, const void *given, void *mine,
                            size_t size)
{
    kry_status st = KRY_OK;
    size_t known = size;

    if (given) memcpy(&known, given, sizeof known);
    CHECK(known > sizeof known && known <= size, KRY_ERR_ARGUMENT,
          known > size
              ? "%s: params of %zu bytes, made by %s of a later version than this library's"
              : "%s: params of %zu bytes, not made by %s",
          who, known, macro);
    memset(mine, 0, size);
    if (given) memcpy(mine, given, known);
    memcpy(mine, &size, sizeof size);
done:
    return st;
}

/* ---- words ---------------------------------------------------------------------------------- */

static const kryi_field *get(const kryi_field *f, int *i, size_t *offset)
{
    for (; f->type != KRY_FIELD_END; f++) {
        size_t inner = *offset + f->offset;
        const kryi_field *found = f->fields && !f->unnamed      ? get(f->fields, i, &inner)
                                  : f->word.form && (*i)-- == 0 ? f
                                                                : NULL;
        if (!found) continue;
        *offset = inner;
        return found;
    }
    return NULL;
}

const kryi_field *kryi_field_get(const kryi_field *fields, int i, size_t *offset)
{
    size_t unused = 0, *at = offset ? offset : &unused;

    *at = 0;
    return i < 0 ? NULL : get(fields, &i, at);
}

static bool belongs(const kryi_field *f, unsigned of) { return !f->of || f->of & of; }

int kryi_field_find(const kryi_field *fields, unsigned of, const char *name)
{
    const kryi_field *f;

    for (int i = 0; (f = kryi_field_get(fields, i, NULL)); i++)
        if (belongs(f, of) && !strcmp(f->word.name, name)) return i;
    return -1;
}

enum { LIST = 1500 }; /* bytes of a list for a message */

/* Fail with the forms of all words that there are. */
static kry_status refuse_word(const char *who, const kryi_field *fields, unsigned of,
                              const char *name)
{
    const kryi_field *f;
    char list[LIST] = "", hint[64];
    size_t used = 0;

    for (int i = 0; (f = kryi_field_get(fields, i, NULL)) && used < sizeof list; i++)
        if (belongs(f, of))
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "",
                                     f->word.form);
    return kry_fail(KRY_ERR_PARSE, "%s: '%s' is none of %s%s", who, name, list,
                    kry_word_hint(name, list, hint, sizeof hint));
}

/* How many choices w has; list: with commas between. */
static int list_choices(const kry_word *w, char list[LIST])
{
    const char *c = w->form + strcspn(w->form, "=:") + 1;
    int count = 1;

    for (char *to = list; (*to++ = *c); c++)
        if (*c == '|') to[-1] = ',', *to++ = ' ', count++;
    return count;
}

kry_status kryi_choice_set(const char *who, const kry_word *w, const char *value, int *field)
{
    const int choice = kryi_word_choose(w, value);
    char list[LIST], hint[64];

    if (choice >= 0) {
        *field = choice;
        return KRY_OK;
    }
    (void)list_choices(w, list);
    return kry_fail(KRY_ERR_PARSE, "%s: %s '%s' is none of %s%s", who, w->name, value, list,
                    kry_word_hint(value, list, hint, sizeof hint));
}

static bool is_in(const kryi_limits *r, double value)
{
    const bool above = r->ends == KRY_RANGE_OPEN ? value > r->least : value >= r->least;
    const bool below = r->ends == KRY_RANGE_CLOSED ? value <= r->most : value < r->most;

    return r->ends == KRY_RANGE_NONE || (above && below);
}

/* Whether the value of a number can be read. In structs of parameters 0 is the default, wherever it is out of range;
 * whoever writes it means something else. */
static kry_status set_number(const char *who, const kryi_field *f, const char *value, void *field)
{
    kry_status st = KRY_OK;
    const char *name = f->word.name, *end = value + strlen(value);
    double real = 0;
    int64_t whole = 0;

    if (f->type == KRY_FIELD_DOUBLE) {
        CHECK(kryi_read_double(value, end, &real) == end, KRY_ERR_PARSE, "%s: %s '%s' is no number",
              who, name, value);
        memcpy(field, &real, sizeof real);
    } else {
        const int64_t most = f->type == KRY_FIELD_INT ? INT_MAX : INT64_MAX;
        CHECK(kryi_parse_int64(value, &whole) && whole <= most &&
                  whole >= (f->range.least > 0 ? 0 : -most),
              KRY_ERR_PARSE, "%s: %s '%s' is no whole number%s", who, name, value,
              f->range.least > 0 ? " above 0" : "");
        if (f->type == KRY_FIELD_INT)
            *(int *)field = (int)whole;
        else
            *(int64_t *)field = whole;
    }
    CHECK(real != 0 || whole != 0 || is_in(&f->range, 0), KRY_ERR_PARSE,
          "%s: %s=%s would mean the default: give a number above 0, or leave %s out", who, name,
          value, name);
done:
    return st;
}

static kry_status set_text(const char *who, const kryi_field *f, const char *value, void *field)
{
    if (!*value || strlen(value) >= KRY_FIELD_ROOM)
        return kry_fail(KRY_ERR_PARSE, "%s: %s of %zu bytes, not 1 ... %d", who, f->word.name,
                        strlen(value), KRY_FIELD_ROOM - 1);
    if (f->type == KRY_FIELD_CHARS)
        strcpy(field, value);
    else
        *(const char **)field = value;
    return KRY_OK;
}

kry_status kryi_field_set(const char *who, const kryi_field *fields, unsigned of, const char *name,
                          const char *value, void *params)
{
    size_t offset;
    const kryi_field *f = kryi_field_get(fields, kryi_field_find(fields, of, name), &offset);
    void *field = (char *)params + offset;

    if (!f) return refuse_word(who, fields, of, name);
    if (f->read) return f->read(who, value, (char *)field - f->offset);
    switch (f->word.kind) {
    case KRY_WORD_CHOICE: return kryi_choice_set(who, &f->word, value, field);
    case KRY_WORD_TEXT: return set_text(who, f, value, field);
    case KRY_WORD_REAL:
    case KRY_WORD_WHOLE: return set_number(who, f, value, field);
    case KRY_WORD_PLAIN: break;
    }
    if (*value) return kry_fail(KRY_ERR_PARSE, "%s: %s takes no value, as '%s'", who, name, value);
    if (f->type == KRY_FIELD_BOOL) *(bool *)field = true;
    return KRY_OK;
}

/* A setting without a name. */
static kry_status set_bare(const char *who, const kryi_field *fields, const char *number,
                           const char *value, void *params)
{
    const kryi_field *f;

    for (int i = 0; (f = kryi_field_get(fields, i, NULL)); i++) {
        const bool choice = f->word.kind == KRY_WORD_CHOICE;
        if (f->bare &&
            (choice ? kryi_word_choose(&f->word, value) >= 0 : !strcmp(f->word.name, value)))
            return kryi_field_set(who, fields, ~0u, f->word.name, choice ? value : "", params);
    }
    if (number && strchr("+-0123456789", *value)) /* or empty */
        return kryi_field_set(who, fields, ~0u, number, value, params);
    return refuse_word(who, fields, ~0u, value);
}

kry_status kryi_fields_read(const char *who, const kryi_field *fields, const char *number,
                            char *text, void *params)
{
    kry_status st = KRY_OK;

    for (char *word = text, *next; word; word = next) {
        char *equals;
        next = strchr(word, ',');
        if (next) *next++ = 0;
        equals = strchr(word, '=');
        if (equals) *equals = 0;
        TRY(equals ? kryi_field_set(who, fields, ~0u, word, equals + 1, params)
                   : set_bare(who, fields, number, word, params));
    }
done:
    return st;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static double number_of(const kryi_field *f, const void *field)
{
    return f->type == KRY_FIELD_INT      ? *(const int *)field
           : f->type == KRY_FIELD_INT64  ? (double)*(const int64_t *)field
           : f->type == KRY_FIELD_DOUBLE ? *(const double *)field
                                         : 0;
}

kry_status kryi_fields_check(const char *who, const kryi_field *fields, const void *params)
{
    kry_status st = KRY_OK;

    for (const kryi_field *f = fields; f->type != KRY_FIELD_END; f++) {
        const void *field = (const char *)params + f->offset;
        const double value = number_of(f, field);
        char list[LIST];
        if (f->fields) TRY(kryi_fields_check(who, f->fields, field));
        if (f->word.kind == KRY_WORD_CHOICE && f->range.ends == KRY_RANGE_NONE)
            CHECK(value >= 0 && value < list_choices(&f->word, list), KRY_ERR_ARGUMENT,
                  "%s: %s = %.0f is none of %s", who, f->word.name, value, list);
        CHECK(value == 0 || is_in(&f->range, value), KRY_ERR_ARGUMENT,
              "%s: %s = %.15g is not in %c%g, %g%c", who, f->word.name, value,
              f->range.ends == KRY_RANGE_OPEN ? '(' : '[', f->range.least, f->range.most,
              f->range.ends == KRY_RANGE_CLOSED ? ']' : ')');
    }
done:
    return st;
}

void kryi_fields_default(const kryi_field *fields, void *params)
{
    for (const kryi_field *f = fields; f->type != KRY_FIELD_END; f++) {
        void *field = (char *)params + f->offset;
        if (f->fields) kryi_fields_default(f->fields, field);
        if (f->otherwise == 0 || number_of(f, field) != 0) continue;
        if (f->type == KRY_FIELD_INT) *(int *)field = (int)f->otherwise;
        if (f->type == KRY_FIELD_INT64) *(int64_t *)field = (int64_t)f->otherwise;
        if (f->type == KRY_FIELD_DOUBLE) *(double *)field = f->otherwise;
    }
}
