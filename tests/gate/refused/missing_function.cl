float twice(float v);
kernel void f(global float *y) { y[0] = twice(y[0]); }
