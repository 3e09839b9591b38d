/*
 * words.c - preconditioners from words: a name, settings behind its colon, and behind an @ how numbers are stored. The
 * settings are the fields of the constructor's parameters.
 */
#include "krylov/auto_precond.h"
#include "operator/op_parts.h"
#include <kry/precond.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const kryi_constructor kryi_jacobi_precond, kryi_column_scaling_precond,
    kryi_block_jacobi_precond, kryi_chebyshev_precond, kryi_incomplete_poisson_precond,
    kryi_neumann_precond, kryi_ssor_ai_precond, kryi_mg_precond, kryi_amg_precond, kryi_ras_precond,
    kryi_block_ic_precond, kryi_block_ilu_precond, kryi_fsai_precond, kryi_saddle_precond;

#define FILL_MEANING "the same with LEVEL of fill; rows, levels, sweeps or isai solve"
static const struct precond {
    kry_word word;
    const kryi_constructor *how; /* NULL: none, auto */
    const char *number;          /* the setting that a number alone is a value of; NULL: none */
    const char *overlap;         /* ras: the value of its setting, unless it is given */
    bool nests;                  /* its settings are words, too */
    bool whole;                  /* a block has all rows, unless the settings say something else */
} preconds[] = {
    { KRY_WORD("none", PLAIN, "", "none") },
    { KRY_WORD("jacobi", PLAIN, "", "inverse of the diagonal"), .how = &kryi_jacobi_precond },
    { KRY_WORD("columns", PLAIN, "", "inverse lengths of columns, for least squares"),
      .how = &kryi_column_scaling_precond },
    { KRY_WORD("block-jacobi", WHOLE, "[:ROWS]", "inverses of diagonal blocks"),
      .how = &kryi_block_jacobi_precond, .number = "rows" },
    { KRY_WORD("chebyshev", WHOLE, "[:DEGREE]", "Chebyshev polynomial of A"),
      .how = &kryi_chebyshev_precond, .number = "degree" },
    { KRY_WORD("ip", CHOICE, "[:drop|unscaled|unscaled,drop]", "incomplete Poisson inverse"),
      .how = &kryi_incomplete_poisson_precond },
    { KRY_WORD("neumann", WHOLE, "[:DEGREE]", "truncated Neumann series"),
      .how = &kryi_neumann_precond, .number = "degree" },
    { KRY_WORD("ssor-ai", WHOLE, "[:DEGREE]", "approximate inverse of SSOR"),
      .how = &kryi_ssor_ai_precond, .number = "degree" },
    { KRY_WORD("fsai", WHOLE, "[:POWER]", "inverses in sparse factors"), .how = &kryi_fsai_precond,
      .number = "power" },
    { KRY_WORD("mg", TEXT, "[:SETTING,...]", "geometric multigrid, grids"),
      .how = &kryi_mg_precond },
    { KRY_WORD("amg", TEXT, "[:SETTING,...]", "algebraic multigrid, stored matrices"),
      .how = &kryi_amg_precond },
    { KRY_WORD("ras", WHOLE, "[:OVERLAP]", "incomplete factors of sub-domains that overlap"),
      .how = &kryi_ras_precond, .number = "overlap", .overlap = "1" },
    { KRY_WORD("saddle", TEXT, "[:SETTING,...]", "blocks of the fields of a saddle point"),
      .how = &kryi_saddle_precond, .number = "rows", .nests = true },
    { KRY_WORD("auto", PLAIN, "", "mg, amg, block-ic, fsai or jacobi, by a look at the matrix") },
    { KRY_WORD("block-ic", WHOLE, "[:ROWS]", "incomplete Cholesky factors of blocks"),
      .how = &kryi_block_ic_precond, .number = "rows" },
    { KRY_WORD("ic", WHOLE, "[:ROWS]", "the same as block-ic"), .how = &kryi_block_ic_precond,
      .number = "rows" },
    { KRY_WORD("ic0", PLAIN, "", "incomplete Cholesky factors of the whole matrix"),
      .how = &kryi_block_ic_precond, .whole = true },
    { KRY_WORD("icc", TEXT, "[:LEVEL,HOW]", FILL_MEANING), .how = &kryi_block_ic_precond,
      .number = "fill", .whole = true },
    { KRY_WORD("block-ilu", WHOLE, "[:ROWS]", "incomplete LU factors of blocks"),
      .how = &kryi_block_ilu_precond, .number = "rows" },
    { KRY_WORD("ilu0", PLAIN, "", "incomplete LU factors of the whole matrix"),
      .how = &kryi_block_ilu_precond, .whole = true },
    { KRY_WORD("ilu", TEXT, "[:LEVEL,HOW]", FILL_MEANING), .how = &kryi_block_ilu_precond,
      .number = "fill", .whole = true },
};

const kry_word *kry_precond_word(int i)
{
    return i >= 0 && (size_t)i < COUNT(preconds) ? &preconds[i].word : NULL;
}

const kry_word *kry_precond_setting(const char *precond, int i)
{
    const int p = precond ? kryi_word_find(kry_precond_word, precond, strlen(precond)) : -1;
    const kryi_constructor *how =
        p < 0 || preconds[p].word.kind == KRY_WORD_PLAIN ? NULL : preconds[p].how;
    const kryi_field *f = how ? kryi_field_get(how->fields, i, NULL) : NULL;

    return f ? &f->word : NULL;
}

/* Whether the parameters of p have a field of that word. */
static bool has(const struct precond *p, const char *word)
{
    return p->how && p->how->fields && kryi_field_find(p->how->fields, ~0u, word) >= 0;
}

static kry_status find(const char *name, const struct precond **p)
{
    kry_status st = KRY_OK;
    const int i = kryi_word_find(kry_precond_word, name, strcspn(name, ":@"));
    char *list = NULL, hint[64];

    if (i < 0) TRY(kryi_word_list(kry_precond_word, 0, COUNT(preconds), &list));
    CHECK(i >= 0, KRY_ERR_PARSE, "kry_precond_create: '%s' is none of %s%s", name, list,
          kry_word_hint(name, list, hint, sizeof hint));
    *p = &preconds[i];
done:
    free(list);
    return st;
}

kry_status kryi_precond_create(const kry_op *A, const char *name, bool single, kry_op **M)
{
    kry_status st = KRY_OK;
    const struct precond *p = NULL;
    const kryi_constructor *how = NULL;
    void *params = NULL;
    char text[KRY_FIELD_ROOM], who[2 * KRY_FIELD_ROOM];

    *M = NULL;
    CHECK(strlen(name) < sizeof text, KRY_ERR_PARSE,
          "kry_precond_create: a word of %zu bytes is too long", strlen(name));
    TRY(find(name, &p));
    snprintf(text, sizeof text, "%s", name);
    snprintf(who, sizeof who, "kry_precond_create: '%s' is not %s", name, p->word.form);
    char *storage = p->nests ? NULL : strchr(text, '@');
    if (storage) *storage++ = 0;
    char *settings = strchr(text, ':');
    if (settings) settings++;
    how = p->how;
    CHECK(!settings || p->word.kind != KRY_WORD_PLAIN, KRY_ERR_PARSE, "%s", who);
    if (storage && !strcmp(storage, "given")) storage = NULL; /* as all do without a word */
    CHECK(!storage || has(p, "storage"), KRY_ERR_UNSUPPORTED,
          "kry_precond_create: '%s': block-ic, ic0, icc, block-ilu, ilu0 and ilu keep their "
          "numbers in single or as halves, '%s' does not",
          name, p->word.name);
    if (how && how->fields) {
        TRY(kryi_alloc(1, how->params_size, &params));
        memcpy(params, &how->params_size, sizeof how->params_size);
        if (p->whole) ((kry_block_ic_params *)params)->rows = A->shape.rows;
        if (!single && has(p, "values"))
            TRY(kryi_field_set(who, how->fields, ~0u, "values", "double", params));
        if (p->overlap) TRY(kryi_field_set(who, how->fields, ~0u, "overlap", p->overlap, params));
        if (settings) TRY(kryi_fields_read(who, how->fields, p->number, settings, params));
        if (storage) TRY(kryi_field_set(who, how->fields, ~0u, "storage", storage, params));
    }
    if (how)
        TRY(kryi_construct(how, A, params, M));
    else if (!strcmp(p->word.name, "auto"))
        TRY(kryi_precond_auto(A, single, M));
done:
    free(params);
    return st;
}

kry_status kry_precond_create(const kry_op *A, const char *name, kry_op **M)
{
    kry_status st = KRY_OK;

    if (M) *M = NULL;
    TRY(GIVEN(M, A, name));
    TRY(kryi_precond_create(A, name, true, M));
done:
    return st;
}
