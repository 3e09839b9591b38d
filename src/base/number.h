/* number.h - numbers in text: fast, correctly rounded, the same in every locale. */
#ifndef KRY_NUMBER_H
#define KRY_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/* Each reads one number that ends at `end`, at white space, or before anything else that cannot
 * belong to it, and returns where it stopped; NULL if there is no number or it does not fit.
 * What follows is the caller's to judge. */
const char *kry_read_int64(const char *at, const char *end, int64_t *value);
/* Nearest double, ties to even; overflow, "inf" and "nan" are no numbers. */
const char *kry_read_double(const char *at, const char *end, double *value);

/* Whether `text` is one whole number and nothing more. */
bool kry_parse_int64(const char *text, int64_t *value);

#endif
