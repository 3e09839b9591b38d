/* word_table.c - tables of words: finding one, and listing them in messages. */
#include "base/base.h"
#include <string.h>

int kry_word_find(kry_word_at *at, const char *letters, size_t length)
{
    for (int i = 0; at(i); i++)
        if (strlen(at(i)->name) == length && !strncmp(at(i)->name, letters, length)) return i;
    return -1;
}

int kry_word_choose(const kry_word *word, const char *choice)
{
    const char *at = word->form + strcspn(word->form, "=:") + 1;

    for (int i = 0;; i++) {
        size_t length = strcspn(at, "|]");
        if (length == strlen(choice) && !strncmp(at, choice, length)) return i;
        at += length;
        if (*at++ != '|') return -1;
    }
}

const char *kry_word_list(kry_word_at *at, int from, int to, char *text, size_t size)
{
    size_t used = 0;

    text[0] = 0;
    for (int i = from; i < to && at(i) && used < size; i++)
        used +=
            (size_t)snprintf(text + used, size - used, "%s%s", i > from ? ", " : "", at(i)->form);
    return text;
}
