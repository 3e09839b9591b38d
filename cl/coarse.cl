// coarse.cl - c := G w, G the dense inverse of a coarse matrix.
// Host: src/precond/coarse.c.
// G: k rows, `stride` numbers apart, a multiple of VW, with zeros behind the k-th; symmetric.
// Launch: GPUs, a group of WG for ROWS rows, a row summed by strides of WG vectors, then by a tree;
// CPUs, any number of groups, a chunk of rows each.

#ifndef ROWS
#define ROWS 4
#endif

#ifdef KRY_CPU
kernel void coarse_product(long k, long stride, global const REAL *restrict G,
                           global const REAL *restrict w, long w0, global REAL *restrict c, long c0)
{
    w += w0, c += c0;
    FOR_EACH(row, k)
    {
        global const REAL *g = G + row * stride;
        VEC s = 0;
        REAL t = 0;
        for (long i = 0; i < k / VW; i++) s += LDV(g, i) * LDV(w, i);
        for (long i = k / VW * VW; i < k; i++) t += g[i] * w[i];
        c[row] = LANES_SUM(s) + t;
    }
}
#else
// Rows past the last are read from the last one, and not written.
kernel void coarse_product(long k, long stride, global const REAL *restrict G,
                           global const REAL *restrict w, long w0, global REAL *restrict c, long c0)
{
    local REAL lane[ROWS * WG];
    int l = get_local_id(0);
    long first = get_group_id(0) * (long)ROWS;
    VEC s[ROWS];
    REAL t[ROWS];
    w += w0, c += c0;
    for (int r = 0; r < ROWS; r++) s[r] = 0, t[r] = 0;
    for (long i = l; i < k / VW; i += WG) {
        VEC wi = LDV(w, i);
        for (int r = 0; r < ROWS; r++)
            s[r] += ((global const VEC *)(G + min(first + r, k - 1) * stride))[i] * wi;
    }
    for (long i = k / VW * VW + l; i < k; i += WG)
        for (int r = 0; r < ROWS; r++) t[r] += G[min(first + r, k - 1) * stride + i] * w[i];
    for (int r = 0; r < ROWS; r++) lane[r * WG + l] = LANES_SUM(s[r]) + t[r];
    for (int step = WG / 2; step > 0; step /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < step)
            for (int r = 0; r < ROWS; r++) lane[r * WG + l] += lane[r * WG + l + step];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int r = l; r < ROWS; r += WG)
        if (first + r < k) c[first + r] = lane[r * WG];
}
#endif
