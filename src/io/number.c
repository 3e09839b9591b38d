/*
 * number.c - numbers in text.
 *
 * A decimal m * 10^e with m < 2^64 and |e| <= 27 is one multiplication or division of two numbers
 * that x87's 64-bit mantissa holds exactly, so its result is off by half a unit there at most.
 * Rounding once more to double is then right unless the eleven bits dropped say "exactly half
 * way": one token in two thousand, which goes to strtod, as does everything else. Without such a
 * type only m <= 2^53 and |e| <= 22 takes the short way (Clinger, PLDI 1990).
 */
#include "number.h"
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *kry_read_int64(const char *at, const char *end, int64_t *value)
{
    bool negative = at < end && *at == '-';
    const uint64_t most = (uint64_t)INT64_MAX + negative;
    uint64_t v = 0;
    const char *first;

    if (at < end && (*at == '-' || *at == '+')) at++;
    for (first = at; at < end && *at >= '0' && *at <= '9'; at++) {
        unsigned digit = (unsigned)(*at - '0');
        if (v > most / 10 || (v == most / 10 && digit > most % 10)) return NULL;
        v = 10 * v + digit;
    }
    *value = negative && v ? -(int64_t)(v - 1) - 1 : (int64_t)v;
    return at > first ? at : NULL;
}

/* A decimal as it stands in the text: digits * 10^exponent. */
typedef struct decimal {
    uint64_t digits;
    int count; /* significant digits; beyond 19 `digits` does not hold them */
    int exponent;
    bool negative;
} decimal;

static const char *read_digits(const char *at, const char *end, decimal *d, bool fraction,
                               bool *any)
{
    for (; at < end && *at >= '0' && *at <= '9'; at++) {
        *any = true;
        if (d->count || *at != '0') d->count++;
        if (d->count <= 19) d->digits = 10 * d->digits + (uint64_t)(*at - '0');
        if (fraction) d->exponent--;
    }
    return at;
}

static const char *read_decimal(const char *at, const char *end, decimal *d)
{
    bool any = false;
    int64_t e = 0;

    *d = (decimal){ .negative = at < end && *at == '-' };
    if (at < end && (*at == '-' || *at == '+')) at++;
    at = read_digits(at, end, d, false, &any);
    if (at < end && *at == '.') at = read_digits(at + 1, end, d, true, &any);
    if (!any) return NULL;
    if (at < end && (*at == 'e' || *at == 'E' || *at == 'd' || *at == 'D')) {
        at = kry_read_int64(at + 1, end, &e); /* D: Fortran's double */
        if (!at) return NULL;
        e = e > 100000 ? 100000 : e < -100000 ? -100000 : e;
    }
    d->exponent += (int)e;
    return at;
}

/* strtod in the C locale, on a copy that ends with the number. */
static bool by_strtod(const char *at, const char *stop, double *value)
{
    char small[64], *text = small, *end = NULL;
    size_t length = (size_t)(stop - at);
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0), old;

    if (length >= sizeof small) text = malloc(length + 1);
    if (c_locale && text) {
        memcpy(text, at, length);
        text[length] = 0;
        for (char *c = text; *c; c++)
            if (*c == 'd' || *c == 'D') *c = 'e';
        old = uselocale(c_locale);
        *value = strtod(text, &end);
        uselocale(old);
    }
    bool good = end && *end == 0 && isfinite(*value);
    if (text != small) free(text);
    if (c_locale) freelocale(c_locale);
    return good;
}

#if LDBL_MANT_DIG == 64
/* Whether the 64-bit result can be rounded once more without doubt. */
static bool by_long_double(const decimal *d, double *value)
{
    static const long double ten[] = { 1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,
                                       1e7L,  1e8L,  1e9L,  1e10L, 1e11L, 1e12L, 1e13L,
                                       1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L, 1e20L,
                                       1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L };
    uint64_t mantissa;
    if (d->exponent < -27 || d->exponent > 27) return false;
    long double v = (long double)d->digits;
    v = d->exponent < 0 ? v / ten[-d->exponent] : v * ten[d->exponent];
    memcpy(&mantissa, &v, sizeof mantissa); /* the first eight bytes of x87's format */
    if ((mantissa & 0x7ff) == 0x400) return false;
    *value = (double)v;
    return true;
}
#else
static bool by_long_double(const decimal *d, double *value)
{
    static const double ten[] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                  1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };
    if (d->digits > UINT64_C(1) << 53 || d->exponent < -22 || d->exponent > 22) return false;
    *value = d->exponent < 0 ? (double)d->digits / ten[-d->exponent]
                             : (double)d->digits * ten[d->exponent];
    return true;
}
#endif

const char *kry_read_double(const char *at, const char *end, double *value)
{
    decimal d;
    const char *stop = read_decimal(at, end, &d);

    if (!stop) return NULL;
    if (d.count == 0) {
        *value = d.negative ? -0.0 : 0.0;
        return stop;
    }
    if (d.count > 19 || !by_long_double(&d, value)) return by_strtod(at, stop, value) ? stop : NULL;
    if (d.negative) *value = -*value;
    return stop;
}
