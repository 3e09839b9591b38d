inline float twice(float v) { return 2 * v; }
kernel void f(global float *y) { y[0] = twice(y[0]); }
