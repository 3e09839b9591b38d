// order.cl - host: device/order.c. Sums of products as rows of matrices have them, whose order the
// compiler must keep.

#include "common/kry.clh"

// y[i] := a_i b_i + a_(i+1) b_(i+1) + ... + a_(i+n-1) b_(i+n-1), first to last
#define SUMS(T, NAME)                                                                         \
    kernel void NAME(int rows, int n, global const T *restrict a, global const T *restrict b, \
                     global T *restrict y)                                                    \
    {                                                                                         \
        FOR_EACH(i, rows)                                                                     \
        {                                                                                     \
            T s = 0;                                                                          \
            for (int j = 0; j < n; j++) s += a[i + j] * b[i + j];                             \
            y[i] = s;                                                                         \
        }                                                                                     \
    }

SUMS(float, order_float)
#ifdef KRY_FP64
SUMS(double, order_double)
#endif
