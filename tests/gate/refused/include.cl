#include <kry.clh>
kernel void f(global float *y) { y[0] = 1; }
