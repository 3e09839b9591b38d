// span.cl - a few vectors side by side, V, n-by-k with columns `ld` apart: products with V and V', and other vectors
// of the same space in their places.
// Host: src/precond/span.c, which compiles it with KRY_UNALIGNED. Launch: span_collect k groups, the others
// kryi_groups_for(n).
//
// KEPT  of span_combine: vectors that are left

#include "common/kry.clh"

#define MOST 64 // KRY_SUM_WIDTH

// w_j := alpha (the sum of part[i k + j] over i) + beta w_j: what kryi_vec_dots left, in the group of column j
kernel void span_collect(int k, int count, global const TOTAL *restrict part, ACC alpha, ACC beta,
                         global REAL *restrict w, long w0)
{
    local TOTAL lane[WG];
    const int j = get_group_id(0);
    TOTAL sum = NO_TOTAL;
    for (int i = get_local_id(0); i < count; i += WG) ADD_TOTAL(sum, part[i * k + j]);
    const ACC all = VALUE_OF(group_sum(sum, lane));
    if (get_local_id(0) != 0) return;
    w += w0;
    w[j] = (REAL)(beta == 0 ? alpha * all : alpha * all + beta * w[j]);
}

// y := alpha V c + beta y
kernel void span_expand(long n, int k, long ld, ACC alpha, ACC beta, global const REAL *restrict V, long V0,
                        global const REAL *restrict c, long c0, global REAL *restrict y, long y0)
{
    local REAL by[MOST];
    for (int j = get_local_id(0); j < k; j += WG) by[j] = (REAL)(alpha * c[c0 + j]);
    BARRIER();
    const REAL keeps = (REAL)beta;
    V += V0, y += y0;
#define EXPAND(TYPE, LOAD, STORE)                                     \
    {                                                                 \
        TYPE y_i = 0;                                                 \
        if (keeps != 0) y_i = keeps * LOAD(y);                        \
        _Pragma("unroll 8")                                           \
        for (int j = 0; j < k; j++) y_i += by[j] * LOAD((V + j * ld)); \
        STORE(y_i, y);                                                \
    }
    FOR_VEC(i, n) EXPAND(VEC, VLOAD, VSTORE)
    FOR_TAIL(i, n) EXPAND(REAL, SLOAD, SSTORE)
}

#ifdef KEPT
// Columns 0 ... KEPT - 1 of V := (columns 0 ... count - 1) C, C count-by-KEPT row after row. Row by row, so that it
// needs no other room.
kernel void span_combine(long n, int count, long ld, global const REAL *restrict C, global REAL *restrict V)
{
#define COMBINE(TYPE, LOAD, STORE)                                                 \
    {                                                                              \
        TYPE sum[KEPT];                                                            \
        UNROLLED for (int k = 0; k < KEPT; k++) sum[k] = 0;                        \
        for (int c = 0; c < count; c++) {                                          \
            TYPE v = LOAD((V + c * ld));                                           \
            UNROLLED for (int k = 0; k < KEPT; k++) sum[k] += C[c * KEPT + k] * v; \
        }                                                                          \
        UNROLLED for (int k = 0; k < KEPT; k++) STORE(sum[k], (V + k * ld));       \
    }
    FOR_VEC(i, n) COMBINE(VEC, VLOAD, VSTORE)
    FOR_TAIL(i, n) COMBINE(REAL, SLOAD, SSTORE)
}
#endif
