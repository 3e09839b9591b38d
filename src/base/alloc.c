/* alloc.c - host memory. */
#define _DEFAULT_SOURCE /* madvise */
#include "base/base.h"
#include "base/hooks.h"
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

unsigned kryi_ticket(void)
{
    static atomic_uint last;
    return atomic_fetch_add(&last, 1) + 1;
}

static kry_status no_memory(uint64_t count, size_t size)
{
    return kry_fail(KRY_ERR_MEMORY, "no host memory for %llu x %zu bytes",
                    (unsigned long long)count, size);
}

/* The array lies as it lay: only whole pages of it are meant. */
void kryi_ask_for_large_pages(void *p, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    enum { PAGE = 1 << 12 };
    const size_t skip = (PAGE - (uintptr_t)p % PAGE) % PAGE;
    (void)madvise((char *)p + skip, (bytes - skip) / PAGE * PAGE, MADV_HUGEPAGE);
#else
    (void)p, (void)bytes;
#endif
}

kry_status kryi_alloc(uint64_t count, size_t size, void *address_of_pointer)
{
    const size_t items = (size_t)count;
    void *p = kryi_test_fails() || items != count ? NULL : calloc(items ? items : 1, size);
    if (p && items * size >= KRY_LARGE_ARRAY) kryi_ask_for_large_pages(p, items * size);
    memcpy(address_of_pointer, &p, sizeof p);
    return p ? KRY_OK : no_memory(count, size);
}

kry_status kryi_realloc(uint64_t count, size_t size, void *address_of_pointer)
{
    void *p;
    memcpy(&p, address_of_pointer, sizeof p);
    if (kryi_test_fails() || (size && count > SIZE_MAX / size)) return no_memory(count, size);
    size_t bytes = (size_t)count * size;
    p = realloc(p, bytes ? bytes : 1);
    if (!p) return no_memory(count, size);
    memcpy(address_of_pointer, &p, sizeof p);
    return KRY_OK;
}

kry_status kryi_copy_text(const char *text, void *address_of_pointer)
{
    const size_t size = strlen(text) + 1;
    char *copy;
    kry_status st = kryi_alloc(size, 1, &copy);

    if (st == KRY_OK) memcpy(copy, text, size);
    memcpy(address_of_pointer, &copy, sizeof copy);
    return st;
}
