/*
 * word_table.h - tables of words (kry/words.h): finding one, and listing them in messages.
 */
#ifndef KRY_WORD_TABLE_H
#define KRY_WORD_TABLE_H

#include "base/base.h"
#include <kry/words.h>

typedef const kry_word *kry_word_at(int i); /* as kry_solver_word */

/* The place of the word that these `length` letters are; -1: there is none. */
int kry_word_find(kry_word_at *at, const char *letters, size_t length);
/* Which of the words of a "name=a|b|c" or "name[:a|b|c]" it is, from 0; -1: none of them. */
int kry_word_choose(const kry_word *word, const char *choice);
/* "a, b[:N], c": the forms of words number `from` up to, but not including, `to`. Returns text. */
const char *kry_word_list(kry_word_at *at, int from, int to, char *text, size_t size);

#endif
