// -DREAL=float
kernel void f(global float *y) { y[0] *= 0.1; }
