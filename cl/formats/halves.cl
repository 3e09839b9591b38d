// halves.cl - numbers of a matrix in single become halves. Host: src/matrix/halved.c.

#include "common/kry.clh"

// found[0] := the largest of the sizes |v| that is here or there already, found[1] := the smallest one that is not 0; both as the
// bits of a float, which have the order of the numbers. Words: each number.
kernel void halves_range(long n, global const float *restrict val, global int *found)
{
    int most = 0, least = INT_MAX;
    FOR_EACH(k, n)
    {
        const int size = as_int(val[k]) & INT_MAX;
        most = max(most, size);
        least = size ? min(least, size) : least;
    }
    if (most > found[0]) atomic_max(&found[0], most);
    if (least < found[1]) atomic_min(&found[1], least);
}

// to[k] := scale val[k], rounded to the nearest. Words: both.
kernel void halves_round(long n, float scale, global const float *restrict val, global half *restrict to)
{
    FOR_EACH(k, n) vstore_half(scale * val[k], k, to);
}
