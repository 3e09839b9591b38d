/*
 * words.c - preconditioners and deflation from words: a name, what stands behind its colon, and for
 * preconditioners behind an @ how their numbers are stored.
 */
#include "krylov/auto_precond.h"
#include "krylov/cycle_words.h"
#include "operator/op.h"
#include <kry/deflation.h>
#include <kry/precond.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In the order of the table below. */
enum kind {
    NONE,
    JACOBI,
    COLUMNS,
    BLOCK_JACOBI,
    CHEBYSHEV,
    IP,
    NEUMANN,
    SSOR_AI,
    MG,
    AMG,
    RAS,
    AUTO,
    BLOCK_IC, /* from here on those that may keep their numbers in single or as halves */
    IC,
    IC0,
    ICC,
    BLOCK_ILU,
    ILU0,
    ILU
};

static const kry_word preconds[] = {
    { "none", KRY_WORD_PLAIN, "none", "none" },
    { "jacobi", KRY_WORD_PLAIN, "jacobi", "inverse of the diagonal" },
    { "columns", KRY_WORD_PLAIN, "columns", "inverse lengths of columns, for least squares" },
    { "block-jacobi", KRY_WORD_WHOLE, "block-jacobi[:ROWS]", "inverses of diagonal blocks" },
    { "chebyshev", KRY_WORD_WHOLE, "chebyshev[:DEGREE]", "Chebyshev polynomial of A" },
    { "ip", KRY_WORD_CHOICE, "ip[:drop|unscaled|unscaled,drop]", "incomplete Poisson inverse" },
    { "neumann", KRY_WORD_WHOLE, "neumann[:DEGREE]", "truncated Neumann series" },
    { "ssor-ai", KRY_WORD_WHOLE, "ssor-ai[:DEGREE]", "approximate inverse of SSOR" },
    { "mg", KRY_WORD_TEXT, "mg[:SETTING,...]", "geometric multigrid, grids" },
    { "amg", KRY_WORD_TEXT, "amg[:SETTING,...]", "algebraic multigrid, stored matrices" },
    { "ras", KRY_WORD_WHOLE, "ras[:OVERLAP]", "incomplete factors of sub-domains that overlap" },
    { "auto", KRY_WORD_PLAIN, "auto", "mg, amg, block-ic or jacobi, by a look at the matrix" },
    { "block-ic", KRY_WORD_WHOLE, "block-ic[:ROWS]", "incomplete Cholesky factors of blocks" },
    { "ic", KRY_WORD_WHOLE, "ic[:ROWS]", "the same as block-ic" },
    { "ic0", KRY_WORD_PLAIN, "ic0", "incomplete Cholesky factors of the whole matrix" },
    { "icc", KRY_WORD_TEXT, "icc[:LEVEL,HOW]",
      "the same with LEVEL of fill; rows, levels, sweeps or isai solve" },
    { "block-ilu", KRY_WORD_WHOLE, "block-ilu[:ROWS]", "incomplete LU factors of blocks" },
    { "ilu0", KRY_WORD_PLAIN, "ilu0", "incomplete LU factors of the whole matrix" },
    { "ilu", KRY_WORD_TEXT, "ilu[:LEVEL,HOW]",
      "the same with LEVEL of fill; rows, levels, sweeps or isai solve" },
};

/* What a word says. */
typedef struct saying {
    const char *settings; /* behind the colon; NULL: there is no colon */
    int64_t number;       /* the same for a number, or for a choice its place from 1; 0: no colon */
    kry_store storage;
} saying;

/* "LEVEL", "HOW" or both; NULL: no fill, and auto. */
static kry_status read_fill(const char *name, const char *text, kry_block_ic_params *p)
{
    static const kry_word ways = { .form =
                                       "how:auto|rows|levels|sweeps|isai" }; /* as kry_trisolve */
    kry_status st = KRY_OK;
    int64_t level = 0;
    int how = 0;

    if (!text) return KRY_OK;
    const char *end = text + strlen(text), *at = kryi_read_int64(text, end, &level);
    bool good = level >= 0 && level <= INT_MAX && (!at || at == end || *at == ',');
    const char *word = !at ? text : at < end ? at + 1 : NULL;
    if (word) good = good && (how = kryi_word_choose(&ways, word)) >= 0;
    CHECK(good, KRY_ERR_PARSE,
          "kry_precond_create: '%s:%s': behind the colon of %s stand a level of fill, 0, 1, 2 ..., "
          "and behind a comma "
          "rows, levels, sweeps or isai",
          name, text, name);
    p->fill = (int)level, p->trisolve = (kry_trisolve)how;
done:
    return st;
}

/* Factors of the whole matrix, with what stands behind the colon. */
static kry_status make_whole(const kry_op *A, bool symmetric, const saying *said, kry_op **M)
{
    kry_status st = KRY_OK;
    kry_block_ic_params p = *KRY_BLOCK_IC(.rows = A->shape.rows, .storage = said->storage);

    TRY(read_fill(symmetric ? "icc" : "ilu", said->settings, &p));
    TRY(symmetric ? kry_block_ic_create(A, &p, M) : kry_block_ilu_create(A, &p, M));
done:
    return st;
}

static kry_status make(const kry_op *A, enum kind kind, const saying *said, kry_op **M)
{
    const int64_t number = said->number;
    const kry_store storage = said->storage;
    const int whole = (int)number;
    const bool drop = number & 1, unscaled = number & 2;

    switch (kind) {
    case NONE: return KRY_OK;
    case JACOBI: return kry_jacobi_create(A, M);
    case COLUMNS: return kry_column_scaling_create(A, M);
    case BLOCK_JACOBI: return kry_block_jacobi_create(A, KRY_BLOCK_JACOBI(.rows = whole), M);
    case CHEBYSHEV: return kry_chebyshev_create(A, KRY_CHEBYSHEV(.degree = whole), M);
    case IP:
        return kry_incomplete_poisson_create(
            A, KRY_INCOMPLETE_POISSON(.unscaled = unscaled, .drop = drop), M);
    case NEUMANN: return kry_neumann_create(A, KRY_NEUMANN(.degree = whole), M);
    case SSOR_AI: return kry_ssor_ai_create(A, KRY_SSOR_AI(.degree = whole), M);
    case MG: return kryi_mg_from_words(A, said->settings, M);
    case AMG: return kryi_amg_from_words(A, said->settings, M);
    case RAS: return kry_ras_create(A, KRY_RAS(.overlap = whole ? whole : 1), M);
    case AUTO: return kryi_precond_auto(A, true, M);
    case IC0:
    case ICC: return make_whole(A, true, said, M);
    case ILU0:
    case ILU: return make_whole(A, false, said, M);
    case IC:
    case BLOCK_IC:
        return kry_block_ic_create(A, KRY_BLOCK_IC(.rows = number, .storage = storage), M);
    case BLOCK_ILU:
        return kry_block_ilu_create(A, KRY_BLOCK_IC(.rows = number, .storage = storage), M);
    }
    return KRY_OK;
}

const kry_word *kry_precond_word(int i)
{
    return i >= 0 && (size_t)i < COUNT(preconds) ? &preconds[i] : NULL;
}

/* What stands behind the colon; `rest` NULL: there is no colon. */
static kry_status read_number(const char *name, const char *rest, const kry_word *word,
                              int64_t *number)
{
    kry_status st = KRY_OK;
    bool good = !rest || word->kind == KRY_WORD_TEXT;

    *number = 0;
    if (rest && word->kind == KRY_WORD_CHOICE)
        good = (*number = kryi_word_choose(word, rest) + 1) > 0;
    else if (rest && word->kind == KRY_WORD_WHOLE)
        good = kryi_parse_int64(rest, number) && *number > 0 && *number <= INT_MAX;
    CHECK(good, KRY_ERR_PARSE, "kry_precond_create: '%s' is not %s%s", name, word->form,
          word->kind == KRY_WORD_WHOLE ? ", with a whole number above 0" : "");
done:
    return st;
}

/* What stands behind the @. */
static kry_status read_storage(const char *name, enum kind kind, kry_store *storage)
{
    static const kry_word ways = { .form = "@:given|single|half" }; /* in the order of kry_store */
    kry_status st = KRY_OK;
    const char *at = strchr(name, '@');
    int found = at ? kryi_word_choose(&ways, at + 1) : KRY_STORE_GIVEN;

    CHECK(found >= 0, KRY_ERR_PARSE,
          "kry_precond_create: '%s': behind @ stand single, half or given", name);
    CHECK(!found || kind >= BLOCK_IC, KRY_ERR_UNSUPPORTED,
          "kry_precond_create: '%s': block-ic, ic0, icc, block-ilu, ilu0 and ilu keep their "
          "numbers in "
          "single or as halves, '%s' does not",
          name, preconds[kind].name);
    *storage = (kry_store)found;
done:
    return st;
}

kry_status kry_precond_create(const kry_op *A, const char *name, kry_op **M)
{
    kry_status st = KRY_OK;
    saying said = { .settings = NULL };
    char *list = NULL, rest[128], hint[64];

    if (M) *M = NULL;
    TRY(GIVEN(M));
    CHECK(A && name, KRY_ERR_ARGUMENT, "kry_precond_create: NULL");
    size_t length = strcspn(name, ":@"), all = strcspn(name, "@");
    int i = kryi_word_find(kry_precond_word, name, length);
    TRY(kryi_word_list(kry_precond_word, 0, COUNT(preconds), &list));
    CHECK(i >= 0, KRY_ERR_PARSE, "kry_precond_create: '%s' is none of %s%s", name, list,
          kry_word_hint(name, list, hint, sizeof hint));
    CHECK(all - length < sizeof rest, KRY_ERR_PARSE,
          "kry_precond_create: a word of %zu bytes is too long", strlen(name));
    bool colon = name[length] == ':';
    snprintf(rest, sizeof rest, "%.*s", (int)(all - length - colon), name + length + colon);
    said.settings = colon ? rest : NULL;
    TRY(read_storage(name, (enum kind)i, &said.storage));
    TRY(read_number(name, said.settings, &preconds[i], &said.number));
    TRY(make(A, (enum kind)i, &said, M));
done:
    free(list);
    return st;
}

#define AT(field) offsetof(kry_deflation_params, field)
static const struct {
    kry_word word;
    size_t offset;
} deflations[] = {
    { { "auto", KRY_WORD_PLAIN, "auto", "about 4096 blocks on grids, parts of the graph else" },
      0 },
    { { "stripes", KRY_WORD_WHOLE, "stripes:K", "K stripes of consecutive unknowns" },
      AT(stripes) },
    { { "blocks", KRY_WORD_WHOLE, "blocks:B[+phase]",
        "blocks of B cells a side, grids; split by their phases" },
      AT(block) },
    { { "phase", KRY_WORD_PLAIN, "phase", "the phases of the coefficient, grids" }, AT(phase) },
    { { "graph", KRY_WORD_WHOLE, "graph:K", "K parts of the matrix's graph, by METIS" },
      AT(graph) },
    { { "labels", KRY_WORD_TEXT, "labels:FILE", "numbers of sub-domains, one to an unknown" },
      AT(labels_file) },
    { { "recycle", KRY_WORD_WHOLE, "recycle:K",
        "K vectors that the first solve leaves the next ones" },
      AT(recycle) },
    { { "variant", KRY_WORD_CHOICE, "variant=auto|a-def2|def1|bnn",
        "how the second level is used" },
      AT(variant) },
    { { "az", KRY_WORD_CHOICE, "az=auto|stored|product", "products with A Z" }, AT(az) },
    { { "coarse", KRY_WORD_CHOICE, "coarse=auto|dense|cholesky", "the coarse solve" }, AT(coarse) },
    { { "modes", KRY_WORD_TEXT, "modes=FILE", "vectors for each sub-domain, an array" },
      AT(modes_file) },
};
#undef AT
enum { SETTINGS = 7 /* from here on words that stand behind a comma */ };

const kry_word *kry_deflation_word(int i)
{
    return i >= 0 && (size_t)i < COUNT(deflations) ? &deflations[i].word : NULL;
}

/* A whole number > 0, or for blocks one with "+phase" behind. */
static bool parse_count(const char *value, bool blocks, kry_deflation_params *p, int64_t *count)
{
    const char *plus = strchr(value, '+'), *end = value + strlen(value);
    if (blocks && plus && !strcmp(plus, "+phase")) end = plus, p->phase = true;
    return kryi_read_int64(value, end, count) == end && *count > 0 && *count <= INT32_MAX;
}

/* One word between commas; the first says which vectors, those behind are settings. */
static kry_status parse_deflation(const char *text, bool first, kry_deflation_params *p)
{
    kry_status st = KRY_OK;
    size_t length = strcspn(text, first ? ":" : "=");
    int i = kryi_word_find(kry_deflation_word, text, length), choice;
    const char *value = text[length] ? text + length + 1 : "";
    char *list = NULL, hint[64];
    bool good = i >= 0 && first == (i < SETTINGS);

    if (good) {
        const kry_word *w = &deflations[i].word;
        void *field = (char *)p + deflations[i].offset;
        if (w->kind == KRY_WORD_WHOLE)
            good = parse_count(value, !strcmp(w->name, "blocks"), p, field);
        if (w->kind == KRY_WORD_TEXT) good = *(*(const char **)field = value) != 0;
        if (w->kind == KRY_WORD_PLAIN) good = !text[length];
        if (w->kind == KRY_WORD_PLAIN && deflations[i].offset) *(bool *)field = true;
        if (w->kind == KRY_WORD_CHOICE && (good = (choice = kryi_word_choose(w, value)) >= 0))
            memcpy(field, &choice, sizeof choice); /* an enum that counts as the form does */
    }
    TRY(kryi_word_list(kry_deflation_word, first ? 0 : SETTINGS,
                       first ? SETTINGS : COUNT(deflations), &list));
    CHECK(good, KRY_ERR_PARSE, "kry_deflation_parse: '%s' is none of %s%s%s", text, list,
          first ? ", with whole numbers K, B > 0" : "",
          i < 0 ? kry_word_hint(text, list, hint, sizeof hint) : "");
done:
    free(list);
    return st;
}

kry_status kry_deflation_parse(const char *text, char *room, size_t size,
                               kry_deflation_params *params)
{
    kry_status st = KRY_OK;
    kry_deflation_params p;

    CHECK(text && room && params, KRY_ERR_ARGUMENT, "kry_deflation_parse: NULL");
    CHECK(strlen(text) < size, KRY_ERR_PARSE,
          "kry_deflation_parse: a word of %zu bytes is too long", strlen(text));
    TRY(kryi_params_take("kry_deflation_parse", "KRY_DEFLATION", params, &p, sizeof p));
    strcpy(room, text);
    char *rest = room, *word = strtok_r(rest, ",", &rest);
    TRY(parse_deflation(word ? word : "", true, &p));
    while ((word = strtok_r(rest, ",", &rest))) TRY(parse_deflation(word, false, &p));
    p.struct_size = params->struct_size; /* the fields that the caller knows */
    memcpy(params, &p, p.struct_size);
done:
    return st;
}
