/*
 * memory.h - host memory, and structs of parameters that an earlier header may have made, for the libraries of this folder.
 */
#ifndef KRY_MEMORY_H
#define KRY_MEMORY_H

#include <kry/status.h>
#include <stddef.h>

/* Zeroed memory. */
kry_status kryi_allocate(uint64_t count, size_t size, void *address_of_pointer);
/* mine := the struct of parameters `given`, which is not NULL, and 0 in fields that an earlier header of the caller's did not
 * have yet. Refused is what `macro` did not make, and what a later header did.
 *   size  of mine */
kry_status kryi_take_params(const char *who, const char *macro, const void *given, void *mine,
                            size_t size);
/* to := the first to_size bytes of the struct `from`, which has from_size, and 0 in those behind it. to NULL: nothing */
void kryi_fill_in(const void *from, size_t from_size, void *to, size_t to_size);

#endif
