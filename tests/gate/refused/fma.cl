kernel void f(global float *y) { y[0] = fma(y[0], y[1], y[2]); }
