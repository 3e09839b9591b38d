// -DKRY_FP64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
kernel void f(global float *y, double a0, double a1, double a2, double a3, double a4, double a5, double a6, double a7, double a8, double a9, double a10, double a11, double a12, double a13, double a14, double a15, double a16, double a17, double a18, double a19, double a20, double a21, double a22, double a23, double a24, double a25, double a26, double a27, double a28, double a29, double a30, double a31)
{
    y[0] = (float)(a0 + a31);
}
