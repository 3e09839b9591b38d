// -DREAL=double -DKRY_FP64
kernel void f(global double *y) { y[0] = 1; }
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
