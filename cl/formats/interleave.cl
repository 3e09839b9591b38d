// interleave.cl - several vectors copied so that their numbers in a row are side by side.
// Host: src/matrix/at_once.c.

#include "common/kry.clh"

// to[AT_ONCE i + c] := number i of vector c, for `vectors` <= AT_ONCE of them: the last one stands in for
// those that there are not. 2 words for each.
kernel void interleave(long n, int vectors, global const REAL *restrict x, long x0, long pitch,
                       global REAL *restrict to)
{
    x += x0;
#ifdef KRY_CPU
#define VECTOR(c) global const REAL *restrict x_##c = x + min(c, vectors - 1) * pitch;
    VECTOR(0) VECTOR(1) VECTOR(2) VECTOR(3)
#if AT_ONCE == 4
    FOR_EACH(i, n) vstore4((REAL4)(x_0[i], x_1[i], x_2[i], x_3[i]), i, to);
#else
    VECTOR(4) VECTOR(5) VECTOR(6) VECTOR(7)
    FOR_EACH(i, n)
    {
        vstore4((REAL4)(x_0[i], x_1[i], x_2[i], x_3[i]), 2 * i, to);
        vstore4((REAL4)(x_4[i], x_5[i], x_6[i], x_7[i]), 2 * i + 1, to);
    }
#endif
#else // what work-items side by side write is side by side
    const int pieces = AT_ONCE / 2;
    FOR_EACH(e, n * pieces)
    {
        const long i = e / pieces;
        const int c = (int)(e % pieces) * 2;
        vstore2((REAL2)(x[min(c, vectors - 1) * pitch + i], x[min(c + 1, vectors - 1) * pitch + i]), e, to);
    }
#endif
}
