kernel void f(global float *y)
{
    const int size = 3;
    float t[size];
    for (int i = 0; i < size; i++) t[i] = y[i];
    for (int i = 0; i < size; i++) y[i] = t[size - 1 - i];
}
