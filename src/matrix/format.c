/* format.c - the words that say how a matrix is to be stored: "sell:slice=32,values=given". */
#include "matrix/matrix.h"
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const char *const names[KRY_FORMAT_COUNT] = {
#define X(name, text) [KRY_FORMAT_##name] = text,
    KRY_FORMAT_LIST(X)
#undef X
};
static const char *const all_names =
#define X(name, text) text ", "
    KRY_FORMAT_LIST(X) "measure";
#undef X

const char *kry_format_name(kry_format format)
{
    return (unsigned)format < KRY_FORMAT_COUNT ? names[format] : "?";
}

/* A setting, as in "values=given", where its value goes among the parameters, and if the value is a word the
 * words, by the enumeration's values. */
static const struct setting {
    const char *name;
    enum { OF_ALL, OF_SELL, OF_MEASURE } of;
    size_t at;
    const char *choices; /* NULL: a whole number, or of `measure` a time */
} settings[] = {
#define AT(field) offsetof(kry_matrix_params, field)
    { "values", OF_ALL, AT(values), "compact, given, single" },
    { "form", OF_ALL, AT(form), "assembled, flux" },
    { "slice", OF_SELL, AT(slice), NULL },
    { "sigma", OF_SELL, AT(sigma), NULL },
    { "index", OF_SELL, AT(index_bits), NULL },
    { "seconds", OF_MEASURE, AT(measure_seconds), NULL },
#undef AT
};

/* A piece of the text that is parsed, without a terminating zero. */
typedef struct piece {
    const char *at, *end;
} piece;

#define PIECE(p) (int)((p).end - (p).at), (p).at /* for "%.*s" */

/* The index of `word` in a list with commas, or -1. */
static int find(piece word, const char *list)
{
    size_t length = (size_t)(word.end - word.at);

    for (int i = 0;; i++) {
        size_t end = strcspn(list, ",");
        if (end == length && !memcmp(word.at, list, length)) return i;
        if (!list[end]) return -1;
        list += end + strlen(", ");
    }
}

static kry_status read_value(const struct setting *s, piece value, kry_matrix_params *p)
{
    kry_status st = KRY_OK;
    void *to = (char *)p + s->at;
    int64_t whole;
    double seconds;

    if (s->choices) {
        int choice = find(value, s->choices);
        CHECK(choice >= 0, KRY_ERR_PARSE, "kry_format_parse: %s '%.*s' is none of %s", s->name,
              PIECE(value), s->choices);
        *(int *)to = choice;
    } else if (s->of == OF_SELL) {
        bool read = kryi_read_int64(value.at, value.end, &whole) == value.end;
        CHECK(read && whole >= 1 && whole <= INT32_MAX, KRY_ERR_PARSE,
              "kry_format_parse: '%.*s' is no whole number for %s", PIECE(value), s->name);
        *(int *)to = (int)whole;
    } else {
        bool read = kryi_read_double(value.at, value.end, &seconds) == value.end;
        CHECK(read && seconds > 0, KRY_ERR_PARSE,
              "kry_format_parse: '%.*s' is no time above 0 for %s", PIECE(value), s->name);
        *(double *)to = seconds;
    }
done:
    return st;
}

/* Read what is between two commas: "name=value". */
static kry_status read_setting(piece text, bool measure, kry_matrix_params *p)
{
    const char *equals = memchr(text.at, '=', (size_t)(text.end - text.at));
    bool sell = p->format == KRY_FORMAT_SELL;

    for (const struct setting *s = settings; equals && s < settings + COUNT(settings); s++) {
        bool known = s->of == OF_ALL || (s->of == OF_SELL ? sell : measure);
        if (known && find((piece){ text.at, equals }, s->name) == 0)
            return read_value(s, (piece){ equals + 1, text.end }, p);
    }
    return kry_fail(KRY_ERR_PARSE,
                    "kry_format_parse: %s does not know '%.*s'; it takes %svalues=V, form=F",
                    measure ? "measure" : kry_format_name(p->format), PIECE(text),
                    sell      ? "slice=N, sigma=N, index=N, "
                    : measure ? "seconds=T, "
                              : "");
}

kry_status kry_format_parse(const char *text, kry_matrix_params *params)
{
    kry_status st = KRY_OK;
    kry_matrix_params p;
    char hint[64];

    CHECK(text && params, KRY_ERR_ARGUMENT, "kry_format_parse: NULL");
    TRY(kryi_params_take("kry_format_parse", "KRY_MATRIX", params, &p, sizeof p));
    piece word = { text, text + strcspn(text, ":") };
    int format = find(word, all_names);
    bool measure = format == KRY_FORMAT_COUNT;
    CHECK(format >= 0, KRY_ERR_PARSE, "kry_format_parse: '%.*s' is no format; there are %s%s",
          PIECE(word), all_names, kry_word_hint(text, all_names, hint, sizeof hint));
    p.format = measure ? KRY_FORMAT_AUTO : (kry_format)format;
    if (measure) p.measure_seconds = 1;
    for (const char *at = word.end; *at;) { /* at a colon or a comma */
        piece setting = { at + 1, at + 1 + strcspn(at + 1, ",") };
        TRY(read_setting(setting, measure, &p));
        at = setting.end;
    }
    p.struct_size = params->struct_size; /* the fields that the caller knows */
    memcpy(params, &p, p.struct_size);
done:
    return st;
}
