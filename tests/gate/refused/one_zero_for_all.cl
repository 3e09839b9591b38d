typedef struct pair {
    float4 hi, lo;
} pair;
kernel void f(global float *y)
{
    pair p = { 0 };
    y[0] = p.hi.s0;
}
