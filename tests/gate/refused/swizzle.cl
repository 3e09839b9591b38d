kernel void f(global float4 *y) { y[0] = y[0].s3210; }
