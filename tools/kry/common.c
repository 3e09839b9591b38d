/*
 * common.c - memory and the clock.
 */
#include "common.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

static kry_status no_memory(uint64_t count, size_t size)
{
    return kry_fail(KRY_ERR_MEMORY, "no memory for %llu items of %zu bytes",
                    (unsigned long long)count, size);
}

kry_status allocate(uint64_t count, size_t size, void *address_of_pointer)
{
    const size_t items = (size_t)count;
    void *memory = items != count ? NULL : calloc(items ? items : 1, size);

    if (!memory) return no_memory(count, size);
    memcpy(address_of_pointer, &memory, sizeof memory);
    /* cppcheck-suppress memleak ; the caller has it now */
    return KRY_OK;
}

kry_status reallocate(uint64_t count, size_t size, void *address_of_pointer)
{
    void *memory;

    memcpy(&memory, address_of_pointer, sizeof memory);
    memory = count <= SIZE_MAX / size ? realloc(memory, (size_t)(count ? count : 1) * size) : NULL;
    if (!memory) return no_memory(count, size);
    memcpy(address_of_pointer, &memory, sizeof memory);
    return KRY_OK;
}

double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

kry_status write_column(kry_vec *v, const void *numbers)
{
    int64_t first;

    (void)kry_vec_rows_here(v, &first);
    return kry_vec_write(v, (const char *)numbers + first * (kry_vec_type(v) == KRY_F32 ? 4 : 8));
}

kry_status write_columns(kry_vec *v, int64_t rows, const void *numbers)
{
    kry_status st = KRY_OK;
    kry_vec *one = NULL;
    const size_t bytes = (size_t)rows * (kry_vec_type(v) == KRY_F32 ? 4 : 8);

    for (int64_t j = 0; j < kry_vec_cols(v); j++) {
        TRY(kry_vec_view(v, j, &one));
        TRY(kry_vec_write(one, (const char *)numbers + (size_t)j * bytes));
        kry_vec_release(&one);
    }
done:
    kry_vec_release(&one);
    return st;
}
