// order.cl - host: device/order.c. Sums of products as rows of matrices have them, whose order the
// compiler must keep.

#include "common/kry.clh"

// y[i] := a_i b_i + a_(i+1) b_(i+1) + ... + a_(i+n-1) b_(i+n-1), first to last
kernel void order_float(int rows, int n, global const float *restrict a, global const float *restrict b,
                        global float *restrict y)
{
    FOR_EACH(i, rows)
    {
        float s = 0;
        for (int j = 0; j < n; j++) s += a[i + j] * b[i + j];
        y[i] = s;
    }
}

#ifdef KRY_FP64
kernel void order_double(int rows, int n, global const double *restrict a, global const double *restrict b,
                         global double *restrict y)
{
    FOR_EACH(i, rows)
    {
        double s = 0;
        for (int j = 0; j < n; j++) s += a[i + j] * b[i + j];
        y[i] = s;
    }
}
#endif
