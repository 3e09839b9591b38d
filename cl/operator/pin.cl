// pin.cl - one entry more on the diagonal of a matrix.
// Host: src/operator/pin.c.  Launch: one group, of which one work-item works.

#include "common/kry.clh"

// y[to] += c x[from]; x may be y.
kernel void pin_add(ACC c, global const REAL *x, long from, global REAL *y, long to)
{
    if (get_global_id(0) == 0) y[to] = (REAL)((ACC)y[to] + c * (ACC)x[from]);
}
