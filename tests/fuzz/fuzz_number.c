/* fuzz_number.c - numbers in text: what kryi_read_double takes is what strtod makes of it, to the
 * bit, and so for whole numbers and strtoll. Nothing behind the end is read. */
#include "base/base.h"
#include "fuzz.h"
#include <errno.h>
#include <math.h>

/* The bytes in a block of their own, without a zero behind them. */
static char *exactly(const uint8_t *bytes, size_t size)
{
    char *text = malloc(size ? size : 1);
    ENSURE(text);
    memcpy(text, bytes, size);
    return text;
}

static void compare_double(const char *text, size_t length, double got)
{
    char *copy = text_of_bytes((const uint8_t *)text, length), *stop;
    for (size_t i = 0; i < length; i++) /* as Fortran writes exponents */
        if (copy[i] == 'd' || copy[i] == 'D') copy[i] = 'e';
    double want = strtod(copy, &stop);
    ENSURE(stop == copy + length && isfinite(got) && !memcmp(&got, &want, sizeof got));
    free(copy);
}

static void compare_int64(const char *text, size_t length, int64_t got)
{
    char *copy = text_of_bytes((const uint8_t *)text, length), *stop;
    errno = 0;
    long long want = strtoll(copy, &stop, 10);
    ENSURE(!errno && stop == copy + length && got == want);
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char *text = exactly(bytes, size);
    const char *end = text + size, *stop;
    double number = 0;
    int64_t whole = 0;
    stop = kryi_read_double(text, end, &number);
    if (stop) {
        ENSURE(stop > text && stop <= end);
        compare_double(text, (size_t)(stop - text), number);
    }
    stop = kryi_read_int64(text, end, &whole);
    if (stop) {
        ENSURE(stop > text && stop <= end);
        compare_int64(text, (size_t)(stop - text), whole);
    }
    free(text);
    return 0;
}
