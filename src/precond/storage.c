/* storage.c - storing the numbers of block factors as given, in single or in half precision. */
#include "precond/block_ic.h"
#include <float.h>
#include <math.h>

static const double half_least = 0x1p-14, half_most = 65504, half_tiny = 0x1p-24;

uint16_t kryi_half_of(double v)
{
    unsigned sign = signbit(v) ? 0x8000 : 0, bits;
    double size = fabs(v);
    int exponent;

    if (isnan(v)) return 0x7e00;
    if (size >= half_most + 16) return (uint16_t)(sign | 0x7c00);
    if (size < half_least) return (uint16_t)(sign | (unsigned)nearbyint(size / half_tiny));
    double fraction = frexp(size, &exponent); /* 1/2 ... 1; its 11 bits, the first of which counts
                                                 into the exponent */
    bits = ((unsigned)(exponent + 13) << 10) + (unsigned)nearbyint(ldexp(fraction, 11));
    return (uint16_t)(sign | bits);
}

double kryi_half_value(uint16_t bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double size = exponent == 31 ? (fraction ? (double)NAN : (double)INFINITY)
                  : exponent     ? ldexp(1024 + fraction, exponent - 25)
                                 : fraction * half_tiny;
    return bits & 0x8000 ? -size : size;
}

const char *kryi_storage_name(kry_store storage)
{
    static const char *const names[] = { "given", "single", "half" };
    return names[storage];
}

static bool is_single(kry_store storage, kry_type type)
{
    return storage == KRY_STORE_SINGLE || (storage == KRY_STORE_GIVEN && type == KRY_F32);
}

size_t kryi_storage_size(kry_store storage, kry_type type)
{
    return storage == KRY_STORE_HALF ? 2 : is_single(storage, type) ? 4 : 8;
}

const char *kryi_storage_defines(kry_store storage, kry_type type)
{
    if (storage == KRY_STORE_HALF) return " -DSTORED=half -DHALVES";
    return is_single(storage, type) && type == KRY_F64 ? " -DSTORED=float" : "";
}

double kryi_storage_round(kry_store storage, kry_type type, double v)
{
    if (storage == KRY_STORE_HALF) return kryi_half_value(kryi_half_of(v));
    return is_single(storage, type) ? (double)(float)v : v;
}

void kryi_storage_put(kry_store storage, kry_type type, void *numbers, int64_t i, double v)
{
    if (storage == KRY_STORE_HALF)
        ((uint16_t *)numbers)[i] = kryi_half_of(v);
    else
        kryi_number_put(is_single(storage, type) ? KRY_F32 : KRY_F64, numbers, i, v);
}

double kryi_storage_scale(kry_store storage, kry_type type, double most)
{
    const int limit = type == KRY_F32 ? 100 : 1000; /* largest exponent that kernels take */
    int exponent = 0;

    if (storage == KRY_STORE_GIVEN || (storage == KRY_STORE_SINGLE && type == KRY_F32)) return 1;
    if (!(most > 0) || !isfinite(most)) return 1;
    frexp(most, &exponent);
    if (storage == KRY_STORE_HALF) exponent -= 15;
    return ldexp(1, exponent < -limit ? -limit : exponent > limit ? limit : exponent);
}

bool kryi_storage_holds(kry_store storage, double v)
{
    if (storage == KRY_STORE_HALF) return v >= half_least && v <= half_most;
    return storage == KRY_STORE_GIVEN || (v >= FLT_MIN && v <= FLT_MAX);
}
