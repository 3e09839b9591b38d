/*
 * words.h - the words that option strings are made of, as tables. The functions that read the words
 * read them from these tables; programs and bindings print their help from them.
 *
 *     for (int i = 0; kry_solver_word(i); i++)
 *         printf("%-24s %s\n", kry_solver_word(i)->form, kry_solver_word(i)->meaning);
 */
#ifndef KRY_WORDS_H
#define KRY_WORDS_H

#include <kry/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The kind of value that follows a word's "=" or ":". */
typedef enum kry_word_kind {
    KRY_WORD_PLAIN,  /* nothing */
    KRY_WORD_CHOICE, /* one of the words that `form` lists */
    KRY_WORD_REAL,   /* a finite number */
    KRY_WORD_WHOLE,  /* a whole number */
    KRY_WORD_TEXT    /* any text without blanks */
} kry_word_kind;

typedef struct kry_word {
    const char *name; /* "rtol", "block-jacobi" */
    kry_word_kind kind;
    const char *form; /* how it is written: "rtol=T", "block-jacobi[:ROWS]"; brackets: optional */
    const char *meaning; /* one line */
} kry_word;

/* The i-th word, from 0; NULL behind the last one. */
KRY_API const kry_word *kry_solver_word(int i);  /* of kry_solver_create */
KRY_API const kry_word *kry_precond_word(int i); /* of kry_precond_create, and precond= */
/* Settings behind the colon of such a word, "amg"; NULL, too, where it takes none. */
KRY_API const kry_word *kry_precond_setting(const char *precond, int i);
KRY_API const kry_word *kry_deflation_word(int i); /* of kry_deflation_parse, and deflation= */

/*
 * The end of a message about a word that is none: "; did you mean jacobi?", or "" if no name in `list` is
 * near to it.
 *
 *   list  names between blanks, commas or bars; of forms such as "block-ic[:ROWS]" the name counts
 *   text  [out]  size bytes
 *
 * Returns  text
 */
KRY_API const char *kry_word_hint(const char *word, const char *list, char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
