/* methods.c - the table of Krylov methods. */
#include "krylov/methods.h"
#include "krylov/method.h"

#define DECLARE(word, name, number) extern const kryi_method kryi_##name##_method;
KRY_METHOD_LIST(DECLARE)
#undef DECLARE

const kryi_method *kryi_method_number(int i)
{
#define ENTRY(word, name, number) &kryi_##name##_method,
    static const kryi_method *const methods[] = { KRY_METHOD_LIST(ENTRY) };
#undef ENTRY
    return i >= 0 && i < (int)COUNT(methods) ? methods[i] : NULL;
}
