// -DREAL=float
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
kernel void f(global float *y) { y[0] = (float)((double)y[0] / 3); }
