/* cycle_words.c - the settings of multigrid, "smoother=jacobi,sweeps=2", from one table for both families. */
#include "krylov/cycle_words.h"
#include <kry/multigrid.h>
#include <kry/words.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef struct settings {
    kry_mg_params mg;
    kry_amg_params amg;
    kry_cycle_params cycle;
    int64_t gather;
} settings;

enum { MG = 1, AMG = 2 };

#define WORD(of, field, name, kind, form, meaning)                   \
    {                                                                \
        of, offsetof(settings, field), sizeof((settings *)0)->field, \
        {                                                            \
            name, KRY_WORD_##kind, form, meaning                     \
        }                                                            \
    }
static const struct {
    int of; /* the families that take it */
    size_t offset, size;
    kry_word word;
} table[] = {
    WORD(MG | AMG, cycle.smoother, "smoother", CHOICE,
         "smoother=auto|jacobi|chebyshev|chebyshev4|red-black", "what smooths on each level"),
    WORD(MG | AMG, cycle.degree, "degree", WHOLE, "degree=N",
         "of Chebyshev's polynomials (default 2)"),
    WORD(MG | AMG, cycle.sweeps, "sweeps", WHOLE, "sweeps=N",
         "of the smoother, before and after the coarser levels (default 1)"),
    WORD(MG | AMG, cycle.omega, "omega", REAL, "omega=W",
         "weight of Jacobi, and of red-black sweeps"),
    WORD(AMG, cycle.scaling, "scaling", CHOICE, "scaling=diagonal|l1|block",
         "what a smoothing step multiplies the residual with"),
    WORD(MG | AMG, cycle.shape, "cycle", CHOICE, "cycle=v|w|k|f", "how often levels are visited"),
    WORD(MG | AMG, cycle.coarsest, "coarsest", WHOLE, "coarsest=N",
         "unknowns up to which a level is solved exactly"),
    WORD(MG | AMG, cycle.levels, "levels", WHOLE, "levels=N", "at most"),
    WORD(MG | AMG, cycle.values, "values", CHOICE, "values=auto|single|double",
         "numbers of the cycle for a grid or a matrix in double"),
    WORD(MG, mg.semi, "semi", REAL, "semi=T",
         "coarsen axes whose coupling is T times the strongest one at least"),
    WORD(AMG, amg.coarsening, "coarsening", CHOICE, "coarsening=auto|aggregation|classical",
         "how the coarser levels are found"),
    WORD(AMG, amg.strength, "strength", REAL, "strength=T", "couplings below it are weak"),
    WORD(AMG, amg.adaptive, "adaptive", WHOLE, "adaptive=N",
         "relaxations that improve the near null space"),
    WORD(AMG, amg.block, "block", WHOLE, "block=N", "unknowns of a node"),
    WORD(MG | AMG, gather, "gather", WHOLE, "gather=N",
         "on several devices: unknowns from which on levels are on each as a whole"),
};
#undef WORD

const kry_word *kry_multigrid_word(int i)
{
    return i >= 0 && (size_t)i < COUNT(table) ? &table[i].word : NULL;
}

/* A whole number into an int or an int64_t. */
static bool put_whole(const char *value, size_t size, void *field)
{
    int64_t number;
    int narrow;

    if (!kryi_parse_int64(value, &number) || number <= 0 || number > INT_MAX) return false;
    narrow = (int)number;
    memcpy(field, size == sizeof narrow ? (void *)&narrow : (void *)&number, size);
    return true;
}

/* One name=value. */
static kry_status set(const char *family, int of, char *word, settings *s)
{
    kry_status st = KRY_OK;
    const size_t length = strcspn(word, "=");
    const char *value = word[length] ? word + length + 1 : "";
    const int i = kryi_word_find(kry_multigrid_word, word, length);
    char *list = NULL, hint[64];
    int choice;
    bool good = i >= 0 && table[i].of & of;

    if (good) {
        void *field = (char *)s + table[i].offset;
        const kry_word *w = &table[i].word;
        if (w->kind == KRY_WORD_CHOICE && (good = (choice = kryi_word_choose(w, value)) >= 0))
            memcpy(field, &choice, sizeof choice); /* an enum that counts as the form does */
        if (w->kind == KRY_WORD_REAL)
            good = kryi_read_double(value, value + strlen(value), field) == value + strlen(value);
        if (w->kind == KRY_WORD_WHOLE) good = put_whole(value, table[i].size, field);
    }
    TRY(kryi_word_list(kry_multigrid_word, 0, COUNT(table), &list));
    CHECK(good, KRY_ERR_PARSE,
          "kry_precond_create: '%s' is no setting of %s; the settings of mg and amg are %s%s", word,
          family, list, i < 0 ? kry_word_hint(word, list, hint, sizeof hint) : "");
done:
    free(list);
    return st;
}

static kry_status parse(const char *family, int of, const char *text, settings *s)
{
    kry_status st = KRY_OK;
    char words[128];

    if (!text) return KRY_OK;
    CHECK(strlen(text) < sizeof words, KRY_ERR_PARSE,
          "kry_precond_create: settings of %zu bytes are too long", strlen(text));
    strcpy(words, text);
    char *rest = words;
    CHECK(*text, KRY_ERR_PARSE, "kry_precond_create: '%s:' has no setting behind its colon",
          family);
    for (char *word; (word = strtok_r(rest, ",", &rest));) TRY(set(family, of, word, s));
    s->mg.cycle = s->amg.cycle = s->cycle;
    s->mg.gather = s->amg.gather = s->gather;
done:
    return st;
}

kry_status kryi_mg_from_words(const kry_op *A, const char *text, kry_op **M)
{
    kry_status st = KRY_OK;
    settings s = { .mg = *KRY_MG() };

    TRY(parse("mg", MG, text, &s));
    TRY(kry_mg_create(A, &s.mg, M));
done:
    return st;
}

kry_status kryi_amg_from_words(const kry_op *A, const char *text, kry_op **M)
{
    kry_status st = KRY_OK;
    settings s = { .amg = *KRY_AMG() };

    TRY(parse("amg", AMG, text, &s));
    TRY(kry_amg_create(A, &s.amg, M));
done:
    return st;
}
