/* format.c - formats by name, and the one word that says how a matrix is to be stored. */
#include "../core/number.h"
#include "matrix.h"
#include <string.h>

static const char *const names[KRY_FORMAT_COUNT] = {
#define X(name, text) [KRY_FORMAT_##name] = text,
    KRY_FORMAT_LIST(X)
#undef X
};

const char *kry_format_name(kry_format format)
{
    return (unsigned)format < KRY_FORMAT_COUNT ? names[format] : "?";
}
