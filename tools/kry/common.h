/*
 * common.h - what every file of the program uses: how a function fails (exit.h), memory, the clock.
 *
 * The program knows the library by its public headers alone.
 */
#ifndef KRY_PROGRAM_COMMON_H
#define KRY_PROGRAM_COMMON_H

#include "exit.h"
#include <kry/opencl.h>
#include <stdbool.h>

kry_status allocate(uint64_t count, size_t size, void *address_of_pointer); /* zeroed */
/* As many items as `count` in place of those there are; new ones are not zeroed. */
kry_status reallocate(uint64_t count, size_t size, void *address_of_pointer);
double now(void); /* seconds, from a clock that only goes forward */

/* A vector of one column := numbers of its type, of all rows; a rank takes its own. */
kry_status write_column(kry_vec *v, const void *numbers);
/* The columns of v := those of numbers, with so many rows each, from their first on. */
kry_status write_columns(kry_vec *v, int64_t rows, const void *numbers);

#endif
