/* word_table.c - tables of words: finding one, and listing them in messages. */
#include "base/base.h"
#include <kry/words.h>
#include <stdio.h>
#include <string.h>

int kryi_word_find(kryi_word_at *at, const char *letters, size_t length)
{
    for (int i = 0; at(i); i++)
        if (strlen(at(i)->name) == length && !strncmp(at(i)->name, letters, length)) return i;
    return -1;
}

int kryi_word_choose(const kry_word *word, const char *choice)
{
    const char *at = word->form + strcspn(word->form, "=:") + 1;

    for (int i = 0;; i++) {
        size_t length = strcspn(at, "|[]");
        if (length == strlen(choice) && !strncmp(at, choice, length)) return i;
        at += length;
        if (*at == '[') at += strcspn(at, "]") + 1;
        if (*at++ != '|') return -1;
    }
}

kry_status kryi_word_list(kryi_word_at *at, int from, int to, char **text)
{
    kry_status st = KRY_OK;
    size_t size = 1, used = 0;

    for (int i = from; i < to && at(i); i++) size += strlen(at(i)->form) + 2;
    TRY(kryi_alloc(size, 1, text));
    for (int i = from; i < to && at(i); i++)
        used +=
            (size_t)snprintf(*text + used, size - used, "%s%s", i > from ? ", " : "", at(i)->form);
done:
    return st;
}

/* How many letters to change, insert, drop or swap to turn the n letters of b into the m of a. */
static size_t distance(const char *a, size_t m, const char *b, size_t n)
{
    enum { LONGEST = 31 };
    size_t d[LONGEST + 1][LONGEST + 1];

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

const char *kry_word_hint(const char *word, const char *list, char *text, size_t size)
{
    if (!word || !list || !text || !size) return "";
    size_t length = strcspn(word, ":=@"), limit = length > 4 ? 2 : 1, found = 0;
    const char *best = NULL;

    for (const char *at = list; *at; at += strspn(at, " ,|]")) {
        size_t n = strcspn(at, " ,|[]:="), d = distance(word, length, at, n);
        bool begins = length > 1 && n > length && !strncmp(word, at, length);
        if (n && (d <= limit || (begins && !best))) best = at, found = n;
        if (d <= limit) limit = d ? d - 1 : 0;
        at += n;
        at += *at == '[' ? strcspn(at, "]") : strcspn(at, " ,|]");
    }
    text[0] = 0;
    if (best) snprintf(text, size, "; did you mean %.*s?", (int)found, best);
    return text;
}
