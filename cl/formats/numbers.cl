// numbers.cl - numbers of a matrix to their slots. Host: src/matrix/placed.c. CPUs do not run these.
// REAL is the type of those that are given, STORED of those that are kept; `place` has the slot of each entry.

#include "common/kry.clh"

#ifndef STORED
#define STORED REAL
#endif
#define SLOT(k)    (place[k] < 0 ? ~place[k] : place[k])
#define SAME(v, w) ((v) == (w) && signbit(v) == signbit(w)) // to the bit

kernel void numbers_zero(long slots, global STORED *restrict to)
{
    FOR_EACH(s, slots) to[s] = 0;
}

// shared: of a pair that shares a slot, which is ~slot below the diagonal, the number there is written; diagonal entries lie
// before slot `alone`.
kernel void numbers_place(long nnz, global const int *restrict place, int shared, int alone,
                          global const REAL *restrict val, global STORED *restrict to)
{
    FOR_EACH(k, nnz)
    {
        if (shared && place[k] >= alone) continue;
        to[SLOT(k)] = (STORED)val[k];
    }
}

// first[0] := the first entry that differs from what its slot holds.
kernel void numbers_compare(long nnz, global const int *restrict place, global const REAL *restrict val,
                            global const STORED *restrict to, global int *first)
{
    FOR_EACH(k, nnz)
    {
        const STORED mine = (STORED)val[k], there = to[SLOT(k)];
        if (!SAME(mine, there)) atomic_min(&first[0], (int)k);
    }
}
