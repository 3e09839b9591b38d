/*
 * options.c - parse --name value, --name=value and flags, and say what is wrong with them.
 */
#include "options.h"
#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static kry_status unknown_option(const command *cmd, const char *word, size_t length)
{
    kry_status st = KRY_OK;
    char given[64], *list = NULL, hint[64];
    size_t size = 1, used = 0;
    option opt;

    snprintf(given, sizeof given, "--%.*s", (int)length, word);
    for (int i = 0; options_get(i, &opt); i++) size += strlen(opt.name) + 3;
    TRY(allocate(size, 1, &list));
    for (int i = 0; options_get(i, &opt); i++)
        if (opt.commands & cmd->bit)
            used += (size_t)snprintf(list + used, size - used, " --%s", opt.name);
    CHECK(!*kry_word_hint(given, list, hint, sizeof hint), KRY_ERR_PARSE, "unknown option %s%s",
          given, hint);
    CHECK(false, KRY_ERR_PARSE, "unknown option %s; there are%s", given, list);
done:
    free(list);
    return st;
}

/* ---- values ----------------------------------------------------------------------- */

static bool is_real(const char *text)
{
    char *end = NULL;
    double value = strtod(text, &end);
    return end > text && !*end && isfinite(value);
}

static bool is_whole(const char *text)
{
    const size_t digits = strspn(text, "0123456789"), zeros = strspn(text, "0");
    return digits > 0 && !text[digits] &&
           (digits - zeros < 19 || !strcmp(text + zeros, "1000000000000000000"));
}

/* Is `word` one of "a|b|c[:N]"? */
static bool is_choice(const char *word, const char *choices)
{
    for (const char *c = choices; *c; c += strcspn(c, "|"), c += *c == '|') {
        size_t length = strcspn(c, "|[");
        if (!length || strncmp(c, word, length) != 0) continue;
        if (!word[length] || (c[length] == '[' && word[length] == ':')) return true;
    }
    return false;
}

static kry_status check_value(const option *opt, const char *value)
{
    kry_status st = KRY_OK;
    char hint[64] = "";
    if (opt->closed) kry_word_hint(value, opt->value, hint, sizeof hint);
    CHECK(*value, KRY_ERR_PARSE, "--%s needs %s, not an empty word", opt->name, opt->value);
    CHECK(opt->kind != REAL || is_real(value), KRY_ERR_PARSE, "--%s needs a number, not \"%s\"",
          opt->name, value);
    CHECK(opt->kind != WHOLE || is_whole(value), KRY_ERR_PARSE,
          "--%s needs a whole number from 0 to 10^18, not \"%s\"", opt->name, value);
    CHECK(!opt->closed || is_choice(value, opt->value), KRY_ERR_UNSUPPORTED,
          "--%s %s is not there in kry %s; there is %s%s", opt->name, value, kry_version(),
          opt->value, hint);
done:
    return st;
}

/* ---- words ------------------------------------------------------------------------ */

static bool find_option(const command *cmd, const char *word, size_t length, bool letter,
                        option *opt)
{
    for (int i = 0; options_get(i, opt); i++) {
        if (!(opt->commands & cmd->bit)) continue;
        if (letter ? length == 1 && opt->letter == word[0]
                   : strlen(opt->name) == length && !strncmp(word, opt->name, length))
            return true;
    }
    return false;
}

static kry_status add_word(const char **words, int *count, const char *word)
{
    if (*count == MAX_WORDS) return kry_fail(KRY_ERR_PARSE, "more than %d words", MAX_WORDS);
    words[(*count)++] = word;
    return KRY_OK;
}

/* One option at argv[*at], with its value there or in the next word. */
static kry_status take_option(const command *cmd, int argc, char **argv, int *at, options *o)
{
    kry_status st = KRY_OK;
    bool letter = argv[*at][1] != '-';
    const char *word = argv[*at] + (letter ? 1 : 2);
    size_t length = strcspn(word, "=");
    const char *value = word[length] ? word + length + 1 : NULL;
    option opt;
    if (!find_option(cmd, word, length, letter, &opt)) return unknown_option(cmd, word, length);
    void *field = (char *)o + opt.offset;
    if (opt.kind == FLAG) {
        CHECK(!value, KRY_ERR_PARSE, "--%s takes no value", opt.name);
        *(bool *)field = true;
        goto done;
    }
    if (!value) {
        CHECK(*at + 1 < argc, KRY_ERR_PARSE, "--%s needs a value: %s", opt.name, opt.value);
        value = argv[++*at];
    }
    assert(value);
    TRY(check_value(&opt, value));
    if (opt.kind == LIST) return add_word(o->problems, &o->problem_count, value);
    CHECK(!*(const char **)field, KRY_ERR_PARSE, "--%s is given twice", opt.name);
    *(const char **)field = value;
done:
    return st;
}

kry_status options_parse(const command *cmd, int argc, char **argv, options *o)
{
    kry_status st = KRY_OK;
    bool only_words = false;
    for (int at = 0; at < argc; at++) {
        const char *word = argv[at];
        if (!only_words && !strcmp(word, "--")) {
            only_words = true;
            continue;
        }
        if (only_words || word[0] != '-' || !word[1])
            TRY(add_word(o->words, &o->word_count, word));
        else
            TRY(take_option(cmd, argc, argv, &at, o));
    }
done:
    return st;
}

/* ---- what was given --------------------------------------------------------------- */

const char *options_solver(const options *o, const char *name)
{
    for (int i = 0; kry_solver_word(i); i++)
        if (!strcmp(kry_solver_word(i)->name, name)) return o->solver[i];
    return NULL;
}

void options_solver_set(options *o, const char *name, const char *value)
{
    for (int i = 0; kry_solver_word(i); i++)
        if (!strcmp(kry_solver_word(i)->name, name)) o->solver[i] = value;
}

void options_choose_method(options *o, const char *fallback)
{
    const char *method = options_solver(o, "method"), *precond = options_solver(o, "precond");

    if (!precond && !method) precond = fallback;
    if (!strcmp(fallback, "auto") && !method && !strcmp(precond, "auto")) method = "auto";
    if (!method) method = strcmp(precond, "none") ? "pcg" : "cg";
    options_solver_set(o, "method", method);
    options_solver_set(o, "precond", precond);
}

const char *options_precond(const options *o, const kry_op *A)
{
    const char *given = options_solver(o, "precond"), *method = options_solver(o, "method"),
               *deflation = options_solver(o, "deflation");
    const bool alone = !deflation || !strcmp(deflation, "none");

    if (given) return given;
    return strcmp(method, "pcg") ? "none" : kry_precond_default(A, alone);
}

kry_status options_solver_text(const options *o, char text[SOLVER_TEXT])
{
    kry_status st = KRY_OK;
    size_t used = 0;

    text[0] = 0;
    for (int i = 0; kry_solver_word(i); i++) {
        if (!o->solver[i]) continue;
        used += (size_t)snprintf(text + used, SOLVER_TEXT - used, "%s%s=%s", used ? " " : "",
                                 kry_solver_word(i)->name, o->solver[i]);
        CHECK(used < SOLVER_TEXT, KRY_ERR_PARSE, "the options are too long");
    }
done:
    return st;
}

static void put_word(FILE *f, const char *word)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "-_=+,./:@%";
    const bool quoted = !*word || strspn(word, plain) != strlen(word);

    fputs(quoted ? " '" : " ", f);
    for (const char *end; quoted && (end = strchr(word, '\'')); word = end + 1)
        fprintf(f, "%.*s'\\''", (int)(end - word), word);
    fprintf(f, "%s%s", word, quoted ? "'" : "");
}

kry_status options_command(const options *o, char **text)
{
    kry_status st = KRY_OK;
    size_t size;
    FILE *f = open_memstream(text, &size);

    CHECK(f, KRY_ERR_MEMORY, "no memory for the command");
    fputs("kry", f);
    for (int i = 0; i < o->argc; i++) put_word(f, o->argv[i]);
    CHECK(fclose(f) == 0, KRY_ERR_MEMORY, "no memory for the command");
done:
    return st;
}

int64_t options_whole(const char *text, int64_t fallback)
{
    return text ? strtoll(text, NULL, 10) : fallback;
}

/* "2x2" or "2x2x4" */
static kry_status take_blocks(const char *text, int blocks[3])
{
    kry_status st = KRY_OK;
    char more;

    if (!text) return KRY_OK;
    blocks[2] = 1;
    CHECK(sscanf(text, "%dx%dx%d%c", &blocks[0], &blocks[1], &blocks[2], &more) == 3 ||
              sscanf(text, "%dx%d%c", &blocks[0], &blocks[1], &more) == 2,
          KRY_ERR_PARSE, "--blocks '%s' is not as 2x2 or 2x2x4", text);
    for (int a = 0; a < 3; a++)
        CHECK(blocks[a] > 0, KRY_ERR_PARSE, "--blocks '%s': there cannot be %d", text, blocks[a]);
done:
    return st;
}

kry_status options_form(const options *o, kry_values values, form *f)
{
    kry_status st = KRY_OK;
    bool named = o->format && !strcmp(o->format, "stencil");
    *f = (form){ .stored = o->format && !named,
                 .stencil = named,
                 .matrix = *KRY_MATRIX(.traits = 0) };
    if (f->stored) {
        TRY(kry_format_parse(o->format, &f->matrix));
        if (f->matrix.format != KRY_FORMAT_AUTO) f->matrix = *KRY_MATRIX(.values = values);
        TRY(kry_format_parse(o->format, &f->matrix));
    }
    int64_t block = options_whole(o->block_size, 0);
    CHECK(block <= INT_MAX, KRY_ERR_PARSE, "--block-size %s is too large", o->block_size);
    f->matrix.block = (int)block;
    f->matrix.duplicates = o->duplicates && !strcmp(o->duplicates, "add") ? KRY_SUM : KRY_REFUSE;
    TRY(take_blocks(o->blocks, f->blocks));
    const char *precond = options_solver(o, "precond");
    f->modes = precond && !strncmp(precond, "amg", 3);
    f->coordinates = o->coordinates;
    CHECK(f->modes || !o->coordinates, KRY_ERR_PARSE, "--coordinates goes with --precond amg");
done:
    return st;
}

static bool has_precision(const options *o, const char *word)
{
    const char *given = o->precision ? o->precision : options_solver(o, "precision");
    return given && !strcmp(given, word);
}

const char *options_opencl(const options *o)
{
    const char *spec = o->device ? o->device : getenv("KRY_DEVICE");
    return spec && *spec ? spec : "opencl";
}

kry_type options_type(const options *o) { return has_precision(o, "single") ? KRY_F32 : KRY_F64; }

bool options_mixed(const options *o) { return has_precision(o, "mixed"); }
