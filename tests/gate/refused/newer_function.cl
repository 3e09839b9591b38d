kernel void f(global float *y) { printf("%f\n", y[0]); }
