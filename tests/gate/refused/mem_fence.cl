kernel void f(global float *y)
{
    y[0] = 1;
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    y[1] = 1;
}
