/*
 * options.c - parse --name value, --name=value and flags; explain what does not parse.
 */
#include "options.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { FLAG, TEXT, LIST, REAL, WHOLE };

static const struct option {
    const char *name;
    char letter; /* short form, or 0 */
    enum kind kind;
    size_t offset;
    unsigned commands;
    const char *value; /* what it takes, for help; "a|b|c" where only these are taken */
    bool closed;       /* nothing but the words in `value` */
    const char *help;
} table[] = {
#define AT(field) offsetof(options, field)
    { "problem", 0, LIST, AT(problems), FOR_SOLVE | FOR_INFO | FOR_BENCH | FOR_REPRODUCE, "SPEC",
      false, "a generated problem, see below" },
    { "rhs", 0, TEXT, AT(rhs), FOR_SOLVE, "FILE|ones|random|manufactured", false,
      "right-hand side; manufactured: A times a random x, so that the error is known" },
    { "rhs", 0, TEXT, AT(rhs), FOR_GENERATE, "FILE", false, "write the right-hand side too" },
    { "solution", 0, TEXT, AT(solution), FOR_GENERATE, "FILE", false,
      "write the known solution too" },
    { "method", 0, TEXT, AT(method), FOR_SOLVE | FOR_BENCH, "cg|pcg|cr|jacobi|sor", true,
      "Krylov method, or relaxation" },
    { "precond", 0, TEXT, AT(precond), FOR_SOLVE | FOR_BENCH | FOR_INFO, "WORD", false,
      "preconditioner: none, jacobi, block-jacobi[:ROWS], chebyshev[:DEGREE],\n"
      "                              neumann[:DEGREE], ssor-ai[:DEGREE], ip, ip:drop, "
      "ip:unscaled,\n"
      "                              ip:unscaled,drop, block-ic[:ROWS], block-ilu[:ROWS], ilu0;\n"
      "                              @single or @half behind a block's: how its numbers are kept" },
    { "check-precond", 0, FLAG, AT(check_precond), FOR_INFO, NULL, false,
      "look whether --precond (default jacobi) is symmetric and positive definite" },
    { "omega", 0, REAL, AT(omega), FOR_SOLVE, "W", false, "weight of a relaxation (default 1)" },
    { "deflation", 0, TEXT, AT(deflation), FOR_SOLVE | FOR_BENCH, "WORD", false,
      "second level: none, auto, stripes:K, blocks:B, blocks:B+phase,\n"
      "                              phase, graph:K, labels:FILE" },
    { "null-space", 0, TEXT, AT(null_space), FOR_SOLVE | FOR_BENCH, "project|pin", true,
      "of a singular A: kept out of residuals and x (default), or the first\n"
      "                              unknown is pinned" },
    { "precision", 0, TEXT, AT(precision), FOR_BENCH | FOR_REPRODUCE | FOR_INFO, "single|double",
      true, "numbers on the device (default double)" },
    { "precision", 0, TEXT, AT(precision), FOR_SOLVE, "single|double|mixed", true,
      "numbers on the device (default double); mixed: iterations in single, x and its\n"
      "                              residual in double" },
    { "scheme", 0, TEXT, AT(scheme), FOR_SOLVE, "auto|reliable|flexible|classical", true,
      "how mixed precision goes about it" },
    { "inner", 0, WHOLE, AT(inner), FOR_SOLVE, "N", false,
      "flexible: iterations in single for each step (default 25)" },
    { "inner-rtol", 0, REAL, AT(inner_rtol), FOR_SOLVE, "T", false,
      "classical, flexible: what a solve in single leaves of its residual" },
    { "delta", 0, REAL, AT(delta), FOR_SOLVE, "T", false,
      "reliable: replace the residual when it has dropped so far (default 0.1)" },
    { "equilibrate", 0, TEXT, AT(equilibrate), FOR_SOLVE, "auto|off|on", true,
      "powers of two that keep the matrix in single in range" },
    { "outer", 0, TEXT, AT(outer), FOR_SOLVE, "device|host", true,
      "mixed: where x and its residual are kept (default device, if it has double)" },
    { "format", 0, TEXT, AT(format), FOR_SOLVE | FOR_BENCH | FOR_INFO, "WORD", false,
      "stencil (none, on grids), or storage: auto, measure, csr, dia, symdia, ell, sell, jds, "
      "..." },
    { "stencil-path", 0, TEXT, AT(stencil_path), FOR_SOLVE | FOR_BENCH, "PATH", false,
      "how a stencil reaches x: march (default), global, local, texture1d, texture2d" },
    { "resident", 0, TEXT, AT(resident), FOR_SOLVE | FOR_BENCH, "auto|on|off", true,
      "the whole solve as one kernel that stays on the device (cg)" },
    { "rtol", 0, REAL, AT(rtol), FOR_SOLVE, "T", false, "stop at ||r|| <= T ||b||" },
    { "atol", 0, REAL, AT(atol), FOR_SOLVE, "T", false, "stop at ||r|| <= T" },
    { "maxit", 0, WHOLE, AT(maxit), FOR_SOLVE, "N", false, "iterations at most; 0: chosen" },
    { "maxit", 0, WHOLE, AT(maxit), FOR_BENCH, "N", false,
      "iterations of the solve (kernels; default 50)" },
    { "check-every", 0, WHOLE, AT(check_every), FOR_SOLVE, "N", false,
      "iterations between two looks of the host; 0: chosen" },
    { "seed", 0, WHOLE, AT(seed), FOR_ALL & ~FOR_DEVICES, "S", false,
      "for everything random (default 1)" },
    { "n", 0, WHOLE, AT(n), FOR_BENCH, "N", false,
      "length of the vectors that are copied, added, ...; number of entries (mtx)" },
    { "n", 0, WHOLE, AT(n), FOR_REPRODUCE, "N", false, "points on a side of the cube (akhtar)" },
    { "hot", 0, FLAG, AT(hot), FOR_BENCH, NULL, false,
      "one copy of the matrix and the vectors, which caches may hold (spmv, stencil)" },
    { "reproducible", 0, FLAG, AT(reproducible), FOR_BENCH, NULL, false,
      "once more with the same bits on any number of devices, and the ratio (cg)" },
    { "svg", 0, TEXT, AT(svg), FOR_BENCH, "FILE", false, "draw the results (spmv, stencil)" },
    { "svg", 0, TEXT, AT(svg), FOR_REPRODUCE, "PREFIX", false,
      "draw the figures: PREFIX-....svg (wang, akhtar, gupta)" },
    { "max-n", 0, WHOLE, AT(max_n), FOR_REPRODUCE, "N", false,
      "points along a side of the largest grid, rows of the largest dense matrix (wang, gupta, "
      "brodtkorb; "
      "default: what suits the device)" },
    { "device", 0, TEXT, AT(device), FOR_ALL & ~(FOR_DEVICES | FOR_GENERATE), "SEL", false,
      "gpu, cpu, gpu:1 or a part of a name, see kry devices (default $KRY_DEVICE)" },
    { "out", 'o', TEXT, AT(out), FOR_SOLVE, "FILE", false, "write the solution (Matrix Market)" },
    { "out", 'o', TEXT, AT(out), FOR_GENERATE, "FILE", false, "the matrix; gzip'd if .gz" },
    { "plot", 0, TEXT, AT(plot), FOR_SOLVE, "FILE.svg", false, "draw the convergence history" },
    { "json", 0, FLAG, AT(json), FOR_ALL, NULL, false, "one JSON object per line" },
    { "help", 'h', FLAG, AT(help), FOR_ALL, NULL, false, "this text" },
#undef AT
};

/* ---- spelling --------------------------------------------------------------------- */

/* Letters to change, insert, drop or swap to make a of b; long words count as far. */
static size_t distance(const char *a, const char *b)
{
    enum { LONGEST = 31 };
    size_t d[LONGEST + 1][LONGEST + 1], m = strlen(a), n = strlen(b);
    if (m > LONGEST || n > LONGEST) return LONGEST;
    for (size_t i = 0; i <= m; i++) {
        for (size_t j = 0; j <= n; j++) {
            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            size_t best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            if (d[i - 1][j] + 1 < best) best = d[i - 1][j] + 1;
            if (d[i][j - 1] + 1 < best) best = d[i][j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                d[i - 2][j - 2] + 1 < best)
                best = d[i - 2][j - 2] + 1;
            d[i][j] = best;
        }
    }
    return d[m][n];
}

const char *nearest_name(const char *word, const char *const *names, size_t count)
{
    const char *best = NULL;
    size_t limit = strlen(word) > 4 ? 2 : 1;
    for (size_t i = 0; i < count; i++) {
        size_t d = distance(word, names[i]);
        bool begins = strlen(word) > 1 && !strncmp(word, names[i], strlen(word));
        if (d > limit && !(begins && !best)) continue;
        best = names[i];
        if (d <= limit) limit = d ? d - 1 : 0;
        if (d == 0) break;
    }
    return best;
}

static kry_status unknown_option(const command *cmd, const char *word, size_t length)
{
    const char *names[COUNT(table)];
    char given[64], list[512] = "";
    size_t count = 0, used = 0;
    snprintf(given, sizeof given, "%.*s", (int)length, word);
    for (size_t i = 0; i < COUNT(table); i++) {
        if (!(table[i].commands & cmd->bit)) continue;
        names[count++] = table[i].name;
        used += (size_t)snprintf(list + used, sizeof list - used, " --%s", table[i].name);
    }
    const char *near = nearest_name(given, names, count);
    return near ? kry_fail(KRY_ERR_PARSE, "unknown option --%s; did you mean --%s?", given, near)
                : kry_fail(KRY_ERR_PARSE, "unknown option --%s; there are%s", given, list);
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
    size_t digits = strspn(text, "0123456789");
    return digits > 0 && digits < 19 && !text[digits];
}

/* Is `word` one of "a|b|c"? */
static bool is_choice(const char *word, const char *choices)
{
    size_t length = strlen(word);
    for (const char *c = choices; *c; c += strcspn(c, "|"), c += *c == '|')
        if (strcspn(c, "|") == length && length && !strncmp(c, word, length)) return true;
    return false;
}

static kry_status check_value(const struct option *opt, const char *value)
{
    kry_status st = KRY_OK;
    CHECK(*value, KRY_ERR_PARSE, "--%s needs %s, not an empty word", opt->name, opt->value);
    CHECK(opt->kind != REAL || is_real(value), KRY_ERR_PARSE, "--%s needs a number, not \"%s\"",
          opt->name, value);
    CHECK(opt->kind != WHOLE || is_whole(value), KRY_ERR_PARSE,
          "--%s needs a whole number from 0 to 10^18, not \"%s\"", opt->name, value);
    CHECK(!opt->closed || is_choice(value, opt->value), KRY_ERR_UNSUPPORTED,
          "--%s %s is not there in kry %s; there is %s", opt->name, value, kry_version(),
          opt->value);
done:
    return st;
}

/* ---- words ------------------------------------------------------------------------ */

static const struct option *find_option(const command *cmd, const char *word, size_t length,
                                        bool letter)
{
    for (size_t i = 0; i < COUNT(table); i++) {
        if (!(table[i].commands & cmd->bit)) continue;
        if (letter ? length == 1 && table[i].letter == word[0]
                   : strlen(table[i].name) == length && !strncmp(word, table[i].name, length))
            return &table[i];
    }
    return NULL;
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
    const struct option *opt = find_option(cmd, word, length, letter);
    if (!opt) return unknown_option(cmd, word, length);
    void *field = (char *)o + opt->offset;
    if (opt->kind == FLAG) {
        CHECK(!value, KRY_ERR_PARSE, "--%s takes no value", opt->name);
        *(bool *)field = true;
        goto done;
    }
    if (!value) {
        CHECK(*at + 1 < argc, KRY_ERR_PARSE, "--%s needs a value: %s", opt->name, opt->value);
        value = argv[++*at];
    }
    assert(value);
    TRY(check_value(opt, value));
    if (opt->kind == LIST) TRY(add_word(o->problems, &o->problem_count, value));
    if (opt->kind == LIST) goto done;
    CHECK(!*(const char **)field, KRY_ERR_PARSE, "--%s is given twice", opt->name);
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

void options_help(const command *cmd)
{
    printf("kry %s %s\n\n%s\n\n", cmd->name, cmd->usage, cmd->summary);
    for (size_t i = 0; i < COUNT(table); i++) {
        const struct option *opt = &table[i];
        char left[80], letter[8] = "";
        if (!(opt->commands & cmd->bit)) continue;
        if (opt->letter) snprintf(letter, sizeof letter, "-%c, ", opt->letter);
        snprintf(left, sizeof left, "%s--%s%s%s", letter, opt->name, opt->value ? " " : "",
                 opt->value ? opt->value : "");
        printf("  %-27s%s%s\n", left, strlen(left) > 26 ? "\n                              " : " ",
               opt->help);
    }
    if (cmd->notes) printf("\n%s", cmd->notes);
}

int64_t options_whole(const char *text, int64_t fallback)
{
    return text ? strtoll(text, NULL, 10) : fallback;
}

kry_status options_form(const options *o, kry_values values, form *f)
{
    kry_status st = KRY_OK;
    bool named = o->format && !strcmp(o->format, "stencil");
    *f = (form){ .stored = o->format && !named,
                 .stencil = named || o->stencil_path,
                 .matrix = *KRY_MATRIX(.traits = 0) };
    CHECK(!f->stored || !f->stencil, KRY_ERR_PARSE,
          "--stencil-path goes with --format stencil, which is the default on grids, not with "
          "--format %s",
          o->format);
    if (o->stencil_path) TRY(kry_stencil_path_parse(o->stencil_path, &f->path));
    if (!f->stored) goto done;
    TRY(kry_format_parse(o->format, &f->matrix));
    if (f->matrix.format == KRY_FORMAT_AUTO) goto done;
    f->matrix = *KRY_MATRIX(.values = values);
    TRY(kry_format_parse(o->format, &f->matrix));
done:
    return st;
}

kry_type options_type(const options *o)
{
    return o->precision && !strcmp(o->precision, "single") ? KRY_F32 : KRY_F64;
}

bool options_mixed(const options *o) { return o->precision && !strcmp(o->precision, "mixed"); }
