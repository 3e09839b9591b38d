/* option_words.c - the words of option strings, and what they say. */
#include "krylov/guess.h"
#include "krylov/options.h"
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define METHOD_WORD(word, name, number) word "|"
/* Who takes the word, its field in kryi_options, its name, what stands behind "=", form, meaning. */
#define WORD(of, field, name, kind, form, meaning)                           \
    {                                                                        \
        of, offsetof(kryi_options, field), sizeof((kryi_options *)0)->field, \
        {                                                                    \
            name, KRY_WORD_##kind, form, meaning                             \
        }                                                                    \
    }
static const struct entry {
    unsigned of; /* the solvers that take it; 0: all */
    size_t offset, size;
    kry_word word;
} table[] = {
    WORD(KRY_OF_KRYLOV | KRY_OF_RELAXATION | KRY_OF_INNER, method, "method", CHOICE,
         "method=" KRY_METHOD_LIST(METHOD_WORD) "jacobi|sor|auto",
         "Krylov method, or relaxation; auto: by a look at the matrix"),
    WORD(KRY_OF_KRYLOV | KRY_OF_INNER, precond, "precond", TEXT, "precond=WORD",
         "preconditioner (default: pcg mg on grids, else jacobi; cg none)"),
    WORD(KRY_OF_KRYLOV | KRY_OF_INNER, deflation, "deflation", TEXT, "deflation=WORD",
         "second level (default none)"),
    WORD(KRY_OF_KRYLOV | KRY_OF_INNER, null_space, "null-space", CHOICE,
         "null-space=project|pin|none",
         "of a singular A: kept out of residuals and x (default), or the first unknown is pinned; "
         "none: nobody looks for one"),
    WORD(KRY_OF_KRYLOV | KRY_OF_MIXED, reorder, "reorder", CHOICE, "reorder=none|rcm|auto",
         "order of the rows inside: as given (default), reverse Cuthill-McKee, or that where it "
         "pays"),
    WORD(KRY_OF_KRYLOV | KRY_OF_INNER, resident, "resident", CHOICE, "resident=auto|off|on",
         "the whole solve as one kernel that stays on the device (cg, pcg)"),
    WORD(KRY_OF_KRYLOV | KRY_OF_INNER, check, "check", CHOICE, "check=cheap|none|full",
         "refuse a matrix that is not symmetric, or not positive definite by its diagonal"),
    WORD(KRY_OF_KRYLOV, guesses, "guess", TEXT, "guess=project[:K]",
         "project: begin at the best of the last K solutions (K 8; default none)"),
    WORD(KRY_OF_KRYLOV, conlim, "conlim", REAL, "conlim=C",
         "lsqr, lsmr: end once the condition number is estimated above C (default: no limit)"),
    WORD(KRY_OF_RELAXATION, omega, "omega", REAL, "omega=W",
         "weight of a relaxation, in (0, 2) (default 1)"),
    WORD(0, stop.rtol, "rtol", REAL, "rtol=T",
         "stop at ||r|| <= T ||b|| (default 1e-8 in double, 1e-5 in single)"),
    WORD(0, stop.atol, "atol", REAL, "atol=T", "stop at ||r|| <= T (default 0)"),
    WORD(0, stop.max_iter, "maxit", WHOLE, "maxit=N", "iterations at most (default 0: chosen)"),
    WORD(0, stop.check_every, "check-every", WHOLE, "check-every=N",
         "iterations between two looks of the host (default 0: chosen)"),
    WORD(0, stop.test, "stop", CHOICE, "stop=residual|backward|never",
         "backward: at ||r|| <= rtol (||A|| ||x|| + ||b||); never: maxit iterations, no test"),
    WORD(0, precision, "precision", CHOICE, "precision=single|double|mixed",
         "numbers on the device; mixed: iterations in single, x and its residual in double"),
    WORD(KRY_OF_MIXED, scheme, "scheme", CHOICE, "scheme=auto|reliable|flexible|classical",
         "mixed: how single and double share the work"),
    WORD(KRY_OF_MIXED, inner, "inner", WHOLE, "inner=N",
         "flexible: iterations in single for each step (default 25)"),
    WORD(KRY_OF_MIXED, inner_rtol, "inner-rtol", REAL, "inner-rtol=T",
         "classical, flexible: what a solve in single leaves of its residual"),
    WORD(KRY_OF_MIXED, delta, "delta", REAL, "delta=T",
         "reliable: replace the residual when it has dropped to this share (default 0.1)"),
    WORD(KRY_OF_KRYLOV | KRY_OF_RELAXATION | KRY_OF_MIXED, equilibrate, "equilibrate", CHOICE,
         "equilibrate=auto|off|on",
         "scale rows and columns by powers of two; auto: in auto and direct where norms differ by "
         "more than 1e8, in mixed where single cannot hold the diagonal"),
};
#undef WORD
#undef METHOD_WORD
_Static_assert(sizeof(kryi_precision) == sizeof(int), "choices are written as int");

const kry_word *kry_solver_word(int i)
{
    return i >= 0 && (size_t)i < COUNT(table) ? &table[i].word : NULL;
}

static kry_status set_choice(const char *who, const kry_word *w, const char *value, void *field)
{
    kry_status st = KRY_OK;
    const char *choices = strchr(w->form, '=') + 1;
    const int choice = kryi_word_choose(w, value);
    char *list = NULL, hint[64];
    size_t used = 0;

    if (choice >= 0) {
        memcpy(field, &choice, sizeof choice); /* an enum, in the order of the form */
        return KRY_OK;
    }
    TRY(kryi_alloc(2 * strlen(choices) + 1, 1, &list));
    for (const char *c = choices; *c; c++) {
        if (*c == '|') list[used++] = ',';
        list[used++] = *c == '|' ? ' ' : *c;
    }
    CHECK(false, KRY_ERR_PARSE, "%s: %s '%s' is none of %s%s", who, w->name, value, list,
          kry_word_hint(value, list, hint, sizeof hint));
done:
    free(list);
    return st;
}

kry_status kryi_options_method(const char *who, const char *value, kryi_options *o)
{
    kry_status st = KRY_OK;
    const kry_word *w = kry_solver_word(kryi_word_find(kry_solver_word, "method", 6));
    char word[32];
    const size_t length = strcspn(value, ":");

    CHECK(snprintf(word, sizeof word, "%.*s", (int)length, value) < (int)sizeof word, KRY_ERR_PARSE,
          "%s: '%.60s...' is too long for a method", who, value);
    TRY(set_choice(who, w, word, &o->method));
    o->width = 0;
    if (!value[length]) return KRY_OK;
    CHECK(kryi_parse_int64(value + length + 1, &o->width) && o->width > 0, KRY_ERR_PARSE,
          "%s: method '%s': '%s' is no number of at least 1", who, value, value + length + 1);
done:
    return st;
}

/* "project", "project:8", or "none". */
static bool set_guesses(const char *value, int64_t *guesses)
{
    static const char word[] = "project";
    const size_t length = sizeof word - 1;

    *guesses = strcmp(value, "none") ? KRY_GUESS_USUAL : 0;
    if (!strcmp(value, "none") || !strcmp(value, word)) return true;
    return !strncmp(value, word, length) && value[length] == ':' &&
           kryi_parse_int64(value + length + 1, guesses) && *guesses > 0 &&
           *guesses <= KRY_GUESS_MOST;
}

/* Whether the number in `field`, of word w, is a zero, by which structs of parameters ask for the default though w
 * does not say that 0 is chosen. kryi_options_parse looks at tolerances, of which one may be zero. */
static bool is_default(const kryi_options *o, const kry_word *w, const void *field)
{
    if (field == &o->stop.rtol || field == &o->stop.atol) return false;
    if (field == &o->inner) return o->inner == 0;
    return w->kind == KRY_WORD_REAL && *(const double *)field == 0;
}

/* One name=value. */
static kry_status set_option(kryi_options *o, const char *name, const char *value)
{
    kry_status st = KRY_OK;
    char *list = NULL, hint[64];
    int i = kryi_word_find(kry_solver_word, name, strlen(name));
    bool good = true;

    TRY(kryi_word_list(kry_solver_word, 0, COUNT(table), &list));
    CHECK(i >= 0, KRY_ERR_PARSE, "kry_solver_create: '%s' is none of %s%s", name, list,
          kry_word_hint(name, list, hint, sizeof hint));
    const kry_word *w = &table[i].word;
    const char *end = value + strlen(value);
    void *field = (char *)o + table[i].offset;
    if (field == &o->method)
        TRY(kryi_options_method("kry_solver_create", value, o));
    else if (w->kind == KRY_WORD_CHOICE)
        TRY(set_choice("kry_solver_create", w, value, field));
    if (w->kind == KRY_WORD_REAL) good = kryi_read_double(value, end, field) == end;
    if (w->kind == KRY_WORD_WHOLE) good = kryi_parse_int64(value, field);
    if (field == &o->guesses)
        good = set_guesses(value, field);
    else if (w->kind == KRY_WORD_TEXT)
        good = snprintf(field, table[i].size, "%s", value) < (int)table[i].size;
    CHECK(good, KRY_ERR_PARSE, "kry_solver_create: '%s' is no value for %s", value, name);
    CHECK(!is_default(o, w, field), KRY_ERR_PARSE,
          "kry_solver_create: %s=%s would mean the default: give a number above 0, or leave %s out",
          name, value, name);
    if (strcmp(value, "none")) o->given |= 1u << i; /* "none" may be said to every method */
done:
    free(list);
    return st;
}

kry_status kryi_options_parse(const char *text, kryi_options *o)
{
    kry_status st = KRY_OK;
    char words[512];
    bool rtol_given = false;

    CHECK(strlen(text) < sizeof words, KRY_ERR_PARSE,
          "kry_solver_create: an option string of %zu bytes is too long", strlen(text));
    strcpy(words, text);
    char *rest = words;
    for (char *word; (word = strtok_r(rest, " \t\n", &rest));) {
        char *value = strchr(word, '=');
        CHECK(value && value != word, KRY_ERR_PARSE, "kry_solver_create: '%s' is not name=value",
              word);
        *value++ = 0;
        TRY(set_option(o, word, value));
        rtol_given = rtol_given || !strcmp(word, "rtol");
    }
    CHECK(!rtol_given || o->stop.rtol != 0 || o->stop.atol != 0 || o->stop.test == KRY_STOP_NEVER,
          KRY_ERR_PARSE,
          "kry_solver_create: rtol=0 leaves no tolerance: no residual is zero after rounding; take "
          "an rtol above 0, or atol with it");
done:
    return st;
}

void kryi_options_same(const kry_device *device, const kryi_options *o)
{
    for (size_t i = 0; i < COUNT(table); i++) {
        const char *field = (const char *)o + table[i].offset;
        const bool text = table[i].word.kind == KRY_WORD_TEXT && field != (const char *)&o->guesses;
        kryi_team_same(device, field, text ? strlen(field) + 1 : table[i].size);
    }
    kryi_team_same(device, &o->width, sizeof o->width);
}

const char *kryi_options_stray(const kryi_options *o, unsigned of)
{
    for (size_t i = 0; i < COUNT(table); i++)
        if ((o->given & 1u << i) && table[i].of && !(table[i].of & of)) return table[i].word.name;
    return NULL;
}

kry_status kryi_options_parse_inner(const char *text, kryi_options *o)
{
    kry_status st = KRY_OK;

    TRY(kryi_options_parse(text, o));
    for (size_t i = 0; i < COUNT(table); i++)
        CHECK(!(o->given & 1u << i) || (table[i].of & KRY_OF_INNER), KRY_ERR_PARSE,
              "kry_mixed_create: '%s': options are of the inner solver; %s is a field of "
              "kry_mixed_params",
              text, table[i].word.name);
done:
    return st;
}

bool kryi_options_relax(const kryi_options *o)
{
    return o->method == KRY_METHOD_JACOBI || o->method == KRY_METHOD_SOR;
}

bool kryi_options_choose(const kryi_options *o) { return o->method == KRY_METHOD_AUTO; }
