/* option_words.c - the words of option strings, and what they say. */
#include "krylov/options.h"
#include "krylov/stop.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PARAMS kry_mixed_params
const kryi_field kryi_mixed_fields[] = {
    { KRY_FIELD(LOCAL, options) }, /* compared once they are read */
    { KRY_FIELD(INT, scheme),
      KRY_WORD("scheme", CHOICE, "=auto|reliable|flexible|classical",
               "mixed: how single and double share the work"),
      KRY_CLOSED(0, KRY_SCHEME_DOUBLE), .of = KRY_OF_MIXED },
    { KRY_FIELD(INT64, inner),
      KRY_WORD("inner", WHOLE, "=N", "flexible: iterations in single for each step (default 25)"),
      KRY_CLOSED(1, INFINITY), .of = KRY_OF_MIXED },
    { KRY_FIELD(DOUBLE, inner_rtol),
      KRY_WORD("inner-rtol", REAL, "=T",
               "classical, flexible: what a solve in single leaves of its residual"),
      KRY_OPEN(0, 1), .of = KRY_OF_MIXED },
    { KRY_FIELD(DOUBLE, omega),
      KRY_WORD("omega", REAL, "=W", "weight of a relaxation, in (0, 2) (default 1)"),
      KRY_OPEN(0, 2), .of = KRY_OF_RELAXATION },
    { KRY_FIELD(DOUBLE, delta),
      KRY_WORD("delta", REAL, "=T",
               "reliable: replace the residual when it has dropped to this share (default 0.1)"),
      KRY_OPEN(0, 1), .of = KRY_OF_MIXED },
    { KRY_FIELD(INT, equilibrate),
      KRY_WORD("equilibrate", CHOICE, "=auto|off|on",
               "scale rows and columns by powers of two; auto: in auto and direct where norms "
               "differ by "
               "more than 1e8, in mixed where single cannot hold the diagonal"),
      .of = KRY_OF_KRYLOV | KRY_OF_RELAXATION | KRY_OF_MIXED },
    { KRY_FIELD(STRUCT, stop), .fields = kryi_stop_fields, .unnamed = true },
    { KRY_FIELD(LOCAL, monitor) },
    { KRY_FIELD(LOCAL, monitor_user) },
    { KRY_FIELD(POINTER, precond) },
    { KRY_FIELD(POINTER, deflation) },
    { KRY_FIELD(LOCAL, make_user) },
    { 0 },
};
#undef PARAMS

/* "gmres:30": a method, and the number behind it. */
static kry_status read_method(const char *who, const char *value, void *options);

#define METHOD_WORD(word, name, number) word "|"
#define PARAMS                          kryi_options
const kryi_field kryi_options_fields[] = {
    { KRY_FIELD(INT, method),
      KRY_WORD("method", CHOICE, "=" KRY_METHOD_LIST(METHOD_WORD) "jacobi|sor|auto",
               "Krylov method, or relaxation; auto: by a look at the matrix"),
      .of = KRY_OF_KRYLOV | KRY_OF_RELAXATION | KRY_OF_INNER, .read = read_method },
    { KRY_FIELD(INT64, width) },
    { KRY_FIELD(CHARS, precond),
      KRY_WORD("precond", TEXT, "=WORD",
               "preconditioner (default: pcg mg on grids, else jacobi; cg none)"),
      .of = KRY_OF_KRYLOV | KRY_OF_INNER },
    { KRY_FIELD(CHARS, deflation),
      KRY_WORD("deflation", TEXT, "=WORD", "second level (default none)"),
      .of = KRY_OF_KRYLOV | KRY_OF_INNER },
    { KRY_FIELD(INT, null_space),
      KRY_WORD(
          "null-space", CHOICE, "=project|none",
          "of a singular A: kept out of residuals and x (default); none: nobody looks for one"),
      .of = KRY_OF_KRYLOV | KRY_OF_INNER },
    { KRY_FIELD(INT, reorder),
      KRY_WORD("reorder", CHOICE, "=none|rcm|auto",
               "order of the rows inside: as given (default), reverse Cuthill-McKee, or "
               "that where it pays"),
      .of = KRY_OF_KRYLOV | KRY_OF_MIXED },
    { KRY_FIELD(INT, precision),
      KRY_WORD("precision", CHOICE, "=single|double|mixed",
               "numbers on the device; mixed: iterations in single, x and its residual in "
               "double") },
    { KRY_FIELD(STRUCT, pcg), .fields = kryi_pcg_fields },
    { KRY_FIELD(STRUCT, mixed), .fields = kryi_mixed_fields },
    { 0 },
};
_Static_assert(sizeof(kryi_precision) == sizeof(int), "choices are written as int");

const kry_word *kry_solver_word(int i)
{
    const kryi_field *f = kryi_field_get(kryi_options_fields, i, NULL);
    return f ? &f->word : NULL;
}

static kry_status read_method(const char *who, const char *value, void *options)
{
    kry_status st = KRY_OK;
    kryi_options *o = options;
    char word[32];
    const size_t length = strcspn(value, ":");

    CHECK(snprintf(word, sizeof word, "%.*s", (int)length, value) < (int)sizeof word, KRY_ERR_PARSE,
          "%s: '%.60s...' is too long for a method", who, value);
    TRY(kryi_choice_set(who, &kryi_options_fields[0].word, word, &o->method));
    o->width = 0;
    if (!value[length]) return KRY_OK;
    CHECK(kryi_parse_int64(value + length + 1, &o->width) && o->width > 0, KRY_ERR_PARSE,
          "%s: method '%s': '%s' is no number of at least 1", who, value, value + length + 1);
done:
    return st;
}

/* Whether a word of that name was given. */
static bool was_given(const kryi_options *o, const char *name)
{
    return o->given >> kryi_field_find(kryi_options_fields, ~0u, name) & 1;
}

kry_status kryi_options_parse(const char *text, kryi_options *o)
{
    static const char who[] = "kry_solver_create";
    kry_status st = KRY_OK;
    const kry_stop *stop = &o->pcg.stop;
    char words[512];

    CHECK(strlen(text) < sizeof words, KRY_ERR_PARSE,
          "%s: an option string of %zu bytes is too long", who, strlen(text));
    strcpy(words, text);
    char *rest = words;
    for (char *word; (word = strtok_r(rest, " \t\n", &rest));) {
        char *value = strchr(word, '=');
        CHECK(value && value != word, KRY_ERR_PARSE, "%s: '%s' is not name=value", who, word);
        *value++ = 0;
        TRY(kryi_field_set(who, kryi_options_fields, ~0u, word, value, o));
        if (strcmp(value, "none")) /* which may be said to every method */
            o->given |= 1u << kryi_field_find(kryi_options_fields, ~0u, word);
    }
    CHECK(!was_given(o, "rtol") || stop->rtol != 0 || stop->atol != 0 ||
              stop->test == KRY_STOP_NEVER,
          KRY_ERR_PARSE,
          "%s: rtol=0 leaves no tolerance: no residual is zero after rounding; take an rtol above "
          "0, or atol with it",
          who);
done:
    return st;
}

const char *kryi_options_stray(const kryi_options *o, unsigned of)
{
    const kryi_field *f;

    for (int i = 0; (f = kryi_field_get(kryi_options_fields, i, NULL)); i++)
        if ((o->given & 1u << i) && f->of && !(f->of & of)) return f->word.name;
    return NULL;
}

kry_status kryi_options_parse_inner(const char *text, kryi_options *o)
{
    kry_status st = KRY_OK;
    const kryi_field *f;

    TRY(kryi_options_parse(text, o));
    for (int i = 0; (f = kryi_field_get(kryi_options_fields, i, NULL)); i++)
        CHECK(!(o->given & 1u << i) || (f->of & KRY_OF_INNER), KRY_ERR_PARSE,
              "kry_mixed_create: '%s': options are of the inner solver; %s is a field of "
              "kry_mixed_params",
              text, f->word.name);
done:
    return st;
}
