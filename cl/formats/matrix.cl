// matrix.cl - what stored matrices need besides products.
// Host: src/matrix/matrix.c.

#include "common/kry.clh"

// d := diagonal; slot[row] says where its number is, -1: nowhere.
kernel void matrix_diagonal(long rows, global const int *restrict slot,
                            global const VAL *restrict val, global REAL *restrict d, long d0)
{
    d += d0;
    FOR_EACH(row, rows) d[row] = slot[row] < 0 ? (REAL)0 : (REAL)val[slot[row]];
}
