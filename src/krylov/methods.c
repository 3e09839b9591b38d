/* methods.c - the table of Krylov methods. */
#include "krylov/methods.h"
#include "krylov/method.h"

#define DECLARE(word, name, number) extern const kry_method kry_##name##_method;
KRY_METHOD_LIST(DECLARE)
#undef DECLARE

const kry_method *kry_method_number(int i)
{
#define ENTRY(word, name, number) &kry_##name##_method,
    static const kry_method *const methods[] = { KRY_METHOD_LIST(ENTRY) };
#undef ENTRY
    return i >= 0 && i < (int)COUNT(methods) ? methods[i] : NULL;
}
