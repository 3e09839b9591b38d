/* format.c - the words that say how a matrix is to be stored: "sell:slice=32,values=given". */
#include "matrix/matrix.h"
#include <stdio.h>
#include <string.h>

static const double measure_seconds = 1; /* for the word "measure" without seconds=T */

static const char *const names[KRY_FORMAT_COUNT] = {
#define X(name, text) [KRY_FORMAT_##name] = text,
    KRY_FORMAT_LIST(X)
#undef X
};
static const char *const all_names =
#define X(name, text) text ", "
    KRY_FORMAT_LIST(X) "measure";
#undef X

static const char *const values_names[] = { [KRY_VALUES_COMPACT] = "compact",
                                            [KRY_VALUES_AS_GIVEN] = "given",
                                            [KRY_VALUES_SINGLE] = "single" };
static const char *const form_names[] = { [KRY_ASSEMBLED] = "assembled", [KRY_FLUX] = "flux" };

const char *kry_format_name(kry_format format)
{
    return (unsigned)format < KRY_FORMAT_COUNT ? names[format] : "?";
}

/* ---- reading ------------------------------------------------------------------------------ */

/* A piece of the text that is parsed, without a terminating zero. */
typedef struct piece {
    const char *at, *end;
} piece;

#define PIECE(p) (int)((p).end - (p).at), (p).at /* for "%.*s" */

static bool is(piece p, const char *word)
{
    size_t length = (size_t)(p.end - p.at);
    return strlen(word) == length && !memcmp(p.at, word, length);
}

/* The index of `word` in a list, or -1. */
static int find(piece word, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (is(word, list[i])) return (int)i;
    return -1;
}

static kry_status read_whole(piece key, piece value, int *number)
{
    kry_status st = KRY_OK;
    int64_t whole;

    CHECK(kry_read_int64(value.at, value.end, &whole) == value.end && whole >= 1 &&
              whole <= INT32_MAX,
          KRY_ERR_PARSE, "kry_format_parse: '%.*s' is no whole number for %.*s", PIECE(value),
          PIECE(key));
    *number = (int)whole;
done:
    return st;
}

static kry_status read_values(piece value, kry_values *values)
{
    int found = find(value, values_names, COUNT(values_names));
    if (found < 0)
        return kry_fail(KRY_ERR_PARSE,
                        "kry_format_parse: values '%.*s' is none of compact, given, single",
                        PIECE(value));
    *values = (kry_values)found;
    return KRY_OK;
}

static kry_status read_form(piece value, kry_form *form)
{
    int found = find(value, form_names, COUNT(form_names));
    if (found < 0)
        return kry_fail(KRY_ERR_PARSE,
                        "kry_format_parse: form '%.*s' is neither assembled nor flux",
                        PIECE(value));
    *form = (kry_form)found;
    return KRY_OK;
}

static kry_status read_seconds(piece value, double *seconds)
{
    double number;
    if (kry_read_double(value.at, value.end, &number) != value.end || !(number > 0))
        return kry_fail(KRY_ERR_PARSE, "kry_format_parse: '%.*s' is no time above 0 for seconds",
                        PIECE(value));
    *seconds = number;
    return KRY_OK;
}

/* Read what is between two commas: "name=value". */
static kry_status read_setting(piece setting, bool measure, kry_matrix_params *p)
{
    kry_status st = KRY_OK;
    const char *equals = memchr(setting.at, '=', (size_t)(setting.end - setting.at));
    piece key = { setting.at, equals ? equals : setting.end }, value = { key.end, setting.end };
    bool sell = p->format == KRY_FORMAT_SELL;

    value.at += equals != NULL;
    if (equals && is(key, "values"))
        TRY(read_values(value, &p->values));
    else if (equals && is(key, "form"))
        TRY(read_form(value, &p->form));
    else if (equals && sell && is(key, "slice"))
        TRY(read_whole(key, value, &p->slice));
    else if (equals && sell && is(key, "sigma"))
        TRY(read_whole(key, value, &p->sigma));
    else if (equals && sell && is(key, "index"))
        TRY(read_whole(key, value, &p->index_bits));
    else if (equals && measure && is(key, "seconds"))
        TRY(read_seconds(value, &p->measure_seconds));
    else
        CHECK(false, KRY_ERR_PARSE,
              "kry_format_parse: %s does not know '%.*s'; it takes %svalues=V, form=F",
              measure ? "measure" : kry_format_name(p->format), PIECE(setting),
              sell      ? "slice=N, sigma=N, index=N, "
              : measure ? "seconds=T, "
                        : "");
done:
    return st;
}

kry_status kry_format_parse(const char *text, kry_matrix_params *params)
{
    kry_status st = KRY_OK;
    kry_matrix_params p;

    CHECK(text && params, KRY_ERR_ARGUMENT, "kry_format_parse: NULL");
    CHECK(params->struct_size == sizeof *params, KRY_ERR_ARGUMENT,
          "kry_format_parse: params not made by KRY_MATRIX");
    p = *params;
    piece word = { text, text + strcspn(text, ":") };
    bool measure = is(word, "measure");
    int format = measure ? KRY_FORMAT_AUTO : find(word, names, COUNT(names));
    CHECK(format >= 0, KRY_ERR_PARSE, "kry_format_parse: '%.*s' is no format; there are %s",
          PIECE(word), all_names);
    p.format = (kry_format)format;
    if (measure) p.measure_seconds = measure_seconds;
    for (const char *at = word.end; *at;) { /* at a colon or a comma */
        piece setting = { at + 1, at + 1 + strcspn(at + 1, ",") };
        TRY(read_setting(setting, measure, &p));
        at = setting.end;
    }
    *params = p;
done:
    return st;
}

/* ---- writing ------------------------------------------------------------------------------ */

/* Text of limited length. The first setting follows a colon, the others follow commas. */
typedef struct line {
    char *text;
    size_t size, used;
    bool settings;
} line;

static void put(line *l, const char *word)
{
    int n = snprintf(l->text + l->used, l->size - l->used, "%s", word);
    l->used = l->used + (size_t)n < l->size ? l->used + (size_t)n : l->size - 1;
}

static void put_setting(line *l, const char *key, const char *value)
{
    put(l, l->settings ? "," : ":");
    put(l, key);
    put(l, value);
    l->settings = true;
}

static void put_whole(line *l, const char *key, int value)
{
    char number[16];
    if (!value) return;
    snprintf(number, sizeof number, "%d", value);
    put_setting(l, key, number);
}

/* Print the fewest digits that read back the same number, with a point in every locale. */
static void put_seconds(line *l, double seconds)
{
    char number[40];
    double back = 0;
    for (int digits = 6; digits <= 17 && back != seconds; digits++) {
        snprintf(number, sizeof number, "%.*g", digits, seconds);
        char *comma = strchr(number, ',');
        if (comma) *comma = '.';
        if (!kry_read_double(number, number + strlen(number), &back)) break;
    }
    put_setting(l, "seconds=", number);
}

void kry_format_print(const kry_matrix_params *params, char *text, size_t size)
{
    line l = { text, size, 0, false };
    bool measure = params->format == KRY_FORMAT_AUTO && params->measure_seconds > 0;

    if (size == 0) return;
    put(&l, measure ? "measure" : kry_format_name(params->format));
    if (measure && params->measure_seconds != measure_seconds)
        put_seconds(&l, params->measure_seconds);
    if (params->format == KRY_FORMAT_SELL) {
        put_whole(&l, "slice=", params->slice);
        put_whole(&l, "sigma=", params->sigma);
        put_whole(&l, "index=", params->index_bits);
    }
    if (params->values != KRY_VALUES_COMPACT)
        put_setting(&l, "values=", values_names[params->values]);
    if (params->form != KRY_ASSEMBLED) put_setting(&l, "form=", form_names[params->form]);
}
