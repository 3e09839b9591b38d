#pragma OPENCL EXTENSION cl_khr_subgroups : enable
kernel void f(global float *y) { y[0] = sub_group_reduce_add(y[0]); }
