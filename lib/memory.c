#include "memory.h"
#include <stdlib.h>
#include <string.h>

kry_status kryi_allocate(uint64_t count, size_t size, void *address_of_pointer)
{
    const size_t items = (size_t)count;
    void *p = items != count ? NULL : calloc(items ? items : 1, size);

    memcpy(address_of_pointer, &p, sizeof p);
    /* cppcheck-suppress memleak ; the caller has it now */
    return p ? KRY_OK
             : kry_fail(KRY_ERR_MEMORY, "no host memory for %llu x %zu bytes",
                        (unsigned long long)count, size);
}

kry_status kryi_take_params(const char *who, const char *macro, const void *given, void *mine,
                            size_t size)
{
    size_t known;

    memcpy(&known, given, sizeof known);
    if (known <= sizeof known || known > size)
        return kry_fail(KRY_ERR_ARGUMENT, "%s: params of %zu bytes, %s %s%s", who, known,
                        known > size ? "made by" : "not made by", macro,
                        known > size ? " of a later version than this library's" : "");
    memset(mine, 0, size);
    memcpy(mine, given, known);
    memcpy(mine, &size, sizeof size);
    return KRY_OK;
}

void kryi_fill_in(const void *from, size_t from_size, void *to, size_t to_size)
{
    if (!to) return;
    memset(to, 0, to_size);
    memcpy(to, from, from_size < to_size ? from_size : to_size);
}
