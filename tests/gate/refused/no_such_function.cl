kernel void f(global float *y) { y[0] = popcnt(y[0]); }
