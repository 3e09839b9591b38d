/*
 * number.c - types of numbers, random numbers, and numbers in text.
 *
 * The text of a double is w 10^q, w of at most 19 digits: the product of w and the first 128 bits
 * of 5^q, from one or two multiplications of 64 bits, is long enough to know how it rounds. Longer
 * numbers, and those with q outside the table, are read by strtod.
 *
 * Source   D. Lemire, Number parsing at a gigabyte per second, Softw. Pract. Exper. 51 (2021),
 *          algorithm 1; N. Mushtak, D. Lemire, Fast number parsing without fallback, Softw. Pract.
 *          Exper. 53 (2023): why the product always suffices.
 */
#include "base/base.h"
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

size_t kry_type_size(kry_type type) { return type == KRY_F32 ? 4 : 8; }
const char *kry_type_name(kry_type type) { return type == KRY_F32 ? "single" : "double"; }

/* ---- random numbers: the finaliser of SplitMix64, three times ------------------------------- */

static uint64_t mix(uint64_t z)
{
    z += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

uint64_t kryi_random_key(uint64_t seed, uint64_t stream) { return mix(mix(seed) + stream); }

double kry_random_unit(uint64_t seed, uint64_t stream, uint64_t place)
{
    return (double)(mix(kryi_random_key(seed, stream) + place) >> 11) * 0x1p-53;
}

/* ---- numbers in text -------------------------------------------------------------------------- */

enum {
    POWER_LEAST = -48, /* the q in the table: no product is subnormal or overflows */
    POWER_MOST = 23,
    WORD_DIGITS = 19 /* always fit 64 bits */
};

/* The first 128 bits of 5^q, cut short; rounded up where -27 <= q < 0, so that halves are met
 * exactly. */
static const struct {
    uint64_t high, low;
} power_of_five[POWER_MOST - POWER_LEAST + 1] = {
    { 0xbb127c53b17ec159, 0x5560c018580d5d52 }, { 0xe9d71b689dde71af, 0xaab8f01e6e10b4a6 },
    { 0x9226712162ab070d, 0xcab3961304ca70e8 }, { 0xb6b00d69bb55c8d1, 0x3d607b97c5fd0d22 },
    { 0xe45c10c42a2b3b05, 0x8cb89a7db77c506a }, { 0x8eb98a7a9a5b04e3, 0x77f3608e92adb242 },
    { 0xb267ed1940f1c61c, 0x55f038b237591ed3 }, { 0xdf01e85f912e37a3, 0x6b6c46dec52f6688 },
    { 0x8b61313bbabce2c6, 0x2323ac4b3b3da015 }, { 0xae397d8aa96c1b77, 0xabec975e0a0d081a },
    { 0xd9c7dced53c72255, 0x96e7bd358c904a21 }, { 0x881cea14545c7575, 0x7e50d64177da2e54 },
    { 0xaa242499697392d2, 0xdde50bd1d5d0b9e9 }, { 0xd4ad2dbfc3d07787, 0x955e4ec64b44e864 },
    { 0x84ec3c97da624ab4, 0xbd5af13bef0b113e }, { 0xa6274bbdd0fadd61, 0xecb1ad8aeacdd58e },
    { 0xcfb11ead453994ba, 0x67de18eda5814af2 }, { 0x81ceb32c4b43fcf4, 0x80eacf948770ced7 },
    { 0xa2425ff75e14fc31, 0xa1258379a94d028d }, { 0xcad2f7f5359a3b3e, 0x096ee45813a04330 },
    { 0xfd87b5f28300ca0d, 0x8bca9d6e188853fc }, { 0x9e74d1b791e07e48, 0x775ea264cf55347e },
    { 0xc612062576589dda, 0x95364afe032a819e }, { 0xf79687aed3eec551, 0x3a83ddbd83f52205 },
    { 0x9abe14cd44753b52, 0xc4926a9672793543 }, { 0xc16d9a0095928a27, 0x75b7053c0f178294 },
    { 0xf1c90080baf72cb1, 0x5324c68b12dd6339 }, { 0x971da05074da7bee, 0xd3f6fc16ebca5e04 },
    { 0xbce5086492111aea, 0x88f4bb1ca6bcf585 }, { 0xec1e4a7db69561a5, 0x2b31e9e3d06c32e6 },
    { 0x9392ee8e921d5d07, 0x3aff322e62439fd0 }, { 0xb877aa3236a4b449, 0x09befeb9fad487c3 },
    { 0xe69594bec44de15b, 0x4c2ebe687989a9b4 }, { 0x901d7cf73ab0acd9, 0x0f9d37014bf60a11 },
    { 0xb424dc35095cd80f, 0x538484c19ef38c95 }, { 0xe12e13424bb40e13, 0x2865a5f206b06fba },
    { 0x8cbccc096f5088cb, 0xf93f87b7442e45d4 }, { 0xafebff0bcb24aafe, 0xf78f69a51539d749 },
    { 0xdbe6fecebdedd5be, 0xb573440e5a884d1c }, { 0x89705f4136b4a597, 0x31680a88f8953031 },
    { 0xabcc77118461cefc, 0xfdc20d2b36ba7c3e }, { 0xd6bf94d5e57a42bc, 0x3d32907604691b4d },
    { 0x8637bd05af6c69b5, 0xa63f9a49c2c1b110 }, { 0xa7c5ac471b478423, 0x0fcf80dc33721d54 },
    { 0xd1b71758e219652b, 0xd3c36113404ea4a9 }, { 0x83126e978d4fdf3b, 0x645a1cac083126ea },
    { 0xa3d70a3d70a3d70a, 0x3d70a3d70a3d70a4 }, { 0xcccccccccccccccc, 0xcccccccccccccccd },
    { 0x8000000000000000, 0x0000000000000000 }, { 0xa000000000000000, 0x0000000000000000 },
    { 0xc800000000000000, 0x0000000000000000 }, { 0xfa00000000000000, 0x0000000000000000 },
    { 0x9c40000000000000, 0x0000000000000000 }, { 0xc350000000000000, 0x0000000000000000 },
    { 0xf424000000000000, 0x0000000000000000 }, { 0x9896800000000000, 0x0000000000000000 },
    { 0xbebc200000000000, 0x0000000000000000 }, { 0xee6b280000000000, 0x0000000000000000 },
    { 0x9502f90000000000, 0x0000000000000000 }, { 0xba43b74000000000, 0x0000000000000000 },
    { 0xe8d4a51000000000, 0x0000000000000000 }, { 0x9184e72a00000000, 0x0000000000000000 },
    { 0xb5e620f480000000, 0x0000000000000000 }, { 0xe35fa931a0000000, 0x0000000000000000 },
    { 0x8e1bc9bf04000000, 0x0000000000000000 }, { 0xb1a2bc2ec5000000, 0x0000000000000000 },
    { 0xde0b6b3a76400000, 0x0000000000000000 }, { 0x8ac7230489e80000, 0x0000000000000000 },
    { 0xad78ebc5ac620000, 0x0000000000000000 }, { 0xd8d726b7177a8000, 0x0000000000000000 },
    { 0x878678326eac9000, 0x0000000000000000 }, { 0xa968163f0a57b400, 0x0000000000000000 },
};

const char *kryi_read_int64(const char *at, const char *end, int64_t *value)
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
    int64_t count; /* significant digits; beyond WORD_DIGITS `digits` does not hold them */
    int64_t exponent;
    bool negative;
} decimal;

static bool is_digit(const char *at, const char *end)
{
    return at < end && (unsigned char)(*at - '0') < 10;
}

/* Read the digits before or behind the point. With more than WORD_DIGITS of them (count) d->digits wraps. */
static const char *read_digits(const char *at, const char *end, decimal *d, bool fraction)
{
    const char *first = at, *significant;
    uint64_t value = d->digits;

    while (d->count == 0 && at < end && *at == '0') at++;
    for (significant = at; is_digit(at, end); at++) value = 10 * value + (uint64_t)(*at - '0');
    d->digits = value;
    d->count += at - significant;
    if (fraction) d->exponent -= at - first;
    return at;
}

static const char *read_decimal(const char *at, const char *end, decimal *d)
{
    const char *first, *point;
    int64_t e = 0;

    *d = (decimal){ .negative = at < end && *at == '-' };
    if (at < end && (*at == '-' || *at == '+')) at++;
    first = at;
    at = point = read_digits(at, end, d, false);
    if (at < end && *at == '.') at = read_digits(at + 1, end, d, true);
    if (point == first && at <= point + 1) return NULL; /* no digit, or a point alone */
    if (at < end && (*at == 'e' || *at == 'E' || *at == 'd' || *at == 'D')) {
        at = kryi_read_int64(at + 1, end, &e); /* D: Fortran's double */
        if (!at) return NULL;
        e = e > INT64_MAX / 2 ? INT64_MAX / 2 : e < INT64_MIN / 2 ? INT64_MIN / 2 : e;
    }
    d->exponent += e;
    return at;
}

static locale_t c_locale; /* of numbers, whatever setlocale says; 0: none can be had */
static pthread_once_t c_locale_once = PTHREAD_ONCE_INIT;
static void make_c_locale(void) { c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0); }

/* The locale to go back to. */
static locale_t enter_c_locale(void)
{
    pthread_once(&c_locale_once, make_c_locale);
    return uselocale(c_locale);
}

int kryi_vprint(char *text, size_t size, const char *format, va_list args)
{
    locale_t old = enter_c_locale();
    const int length = vsnprintf(text, size, format, args);
    uselocale(old);
    return length;
}

int kryi_print(char *text, size_t size, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int length = kryi_vprint(text, size, format, args);
    va_end(args);
    return length;
}

int kryi_print_double(char *text, size_t size, int digits, double value)
{
    locale_t old = enter_c_locale();
    int most = digits ? digits : 17, length = 0;

    for (int d = digits ? digits : 15; d <= most; d++) {
        length = snprintf(text, size, "%.*g", d, value);
        if (!digits && strtod(text, NULL) == value) break;
    }
    uselocale(old);
    return length;
}

/* Call strtod in the C locale on a copy that ends with the number. */
static bool by_strtod(const char *at, const char *stop, double *value)
{
    char small[64], *text = small, *end = NULL;
    size_t length = (size_t)(stop - at);

    if (length >= sizeof small) text = malloc(length + 1);
    if (text) {
        memcpy(text, at, length);
        text[length] = 0;
        for (char *c = text; *c; c++)
            if (*c == 'd' || *c == 'D') *c = 'e';
        locale_t old = enter_c_locale();
        *value = strtod(text, &end);
        uselocale(old);
    }
    bool good = end && *end == 0 && isfinite(*value);
    if (text != small) free(text);
    return good;
}

/* a b = high 2^64 + low */
static uint64_t multiply(uint64_t a, uint64_t b, uint64_t *low)
{
    uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    uint64_t middle = a1 * b0 + (a0 * b0 >> 32), other = a0 * b1 + (uint32_t)middle;
    *low = a * b;
    return a1 * b1 + (middle >> 32) + (other >> 32);
}

/* Round w 10^q to the nearest double, for w > 0 and q of the table. */
static double round_product(uint64_t w, int q)
{
    int zeros = __builtin_clzll(w);
    uint64_t low, high = multiply(w << zeros, power_of_five[q - POWER_LEAST].high, &low);
    if ((high & 0x1ff) == 0x1ff) { /* 55 bits are wanted, and a carry could reach them */
        uint64_t below, carry = multiply(w << zeros, power_of_five[q - POWER_LEAST].low, &below);
        low += carry;
        high += low < carry;
    }
    int top = (int)(high >> 63), shift = top + 64 - 55;
    uint64_t mantissa = high >> shift; /* 53 bits, one to round by, perhaps a zero above */
    /* floor(q log2(10)) + 63, then the bias of the exponent; what is shifted is not negative */
    int exponent = (((152170 + 65536) * q + (4096 << 16)) >> 16) - 4096 + 63 + top - zeros + 1023;
    /* half way between two doubles: possible only where 5^q, or its inverse, divides 64 bits */
    if (low <= 1 && q >= -4 && q <= 23 && (mantissa & 3) == 1 && mantissa << shift == high)
        mantissa &= ~(uint64_t)1;
    mantissa = (mantissa + (mantissa & 1)) >> 1;
    if (mantissa >> 53) mantissa >>= 1, exponent++;
    uint64_t bits = (mantissa & ((UINT64_C(1) << 52) - 1)) | (uint64_t)exponent << 52;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

const char *kryi_read_double(const char *at, const char *end, double *value)
{
    decimal d;
    const char *stop = read_decimal(at, end, &d);

    if (!stop) return NULL;
    if (d.count == 0) {
        *value = d.negative ? -0.0 : 0.0;
        return stop;
    }
    if (d.count > WORD_DIGITS || d.exponent < POWER_LEAST || d.exponent > POWER_MOST)
        return by_strtod(at, stop, value) ? stop : NULL;
    *value = round_product(d.digits, (int)d.exponent);
    if (d.negative) *value = -*value;
    return stop;
}

bool kryi_parse_int64(const char *text, int64_t *value)
{
    const char *end = text + strlen(text);
    return kryi_read_int64(text, end, value) == end;
}
