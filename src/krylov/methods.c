/* methods.c - the table of Krylov methods. A new one is a line here, and a file of its own. */
#include "krylov/method.h"
#include <stdio.h>
#include <string.h>

extern const kry_method kry_cr_method;

static const struct {
    const char *word; /* in option strings */
    const kry_method *method;
} methods[] = {
    { "cg", &kry_pcg_method },
    { "pcg", &kry_pcg_method },
    { "cr", &kry_cr_method },
};

const kry_method *kry_method_find(const char *word)
{
    for (size_t i = 0; i < COUNT(methods); i++)
        if (!strcmp(methods[i].word, word)) return methods[i].method;
    return NULL;
}

void kry_method_words(char *text, size_t size)
{
    size_t used = 0;

    for (size_t i = 0; i < COUNT(methods) && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "", methods[i].word);
}
