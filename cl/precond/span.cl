// span.cl - a few vectors side by side, V, n-by-k with columns `ld` apart: products with V and V', and other vectors
// of the same space in their places.
// Host: src/precond/span.c, which compiles it with KRY_UNALIGNED. Launch: span_collect k groups, the others
// kryi_groups_for(n).
//
// KEPT  of span_combine: vectors that are left

#include "common/kry.clh"
#include "common/piece.clh"

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

// Piece i of y := V by + keeps y
INLINED void expand(long i, const int whole, int k, long ld, global const REAL *V, local const REAL *by, REAL keeps, global REAL *y)
{
    VEC y_i = 0;
    if (keeps != 0) y_i = keeps * load_piece(y, i, whole);
    _Pragma("unroll 8") for (int j = 0; j < k; j++) y_i += by[j] * load_piece(V + j * ld, i, whole);
    store_piece(y_i, y, i, whole);
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
    FOR_VEC(i, n) expand(i, 1, k, ld, V, by, keeps, y);
    FOR_TAIL(i, n) expand(i, 0, k, ld, V, by, keeps, y);
}

#ifdef KEPT
// Piece i of span_combine
INLINED void combine(long i, const int whole, int count, long ld, global const REAL *C, global REAL *V)
{
    VEC sum[KEPT];
    UNROLLED for (int k = 0; k < KEPT; k++) sum[k] = 0;
    for (int c = 0; c < count; c++) {
        const VEC v = load_piece(V + c * ld, i, whole);
        UNROLLED for (int k = 0; k < KEPT; k++) sum[k] += C[c * KEPT + k] * v;
    }
    UNROLLED for (int k = 0; k < KEPT; k++) store_piece(sum[k], V + k * ld, i, whole);
}

// Columns 0 ... KEPT - 1 of V := (columns 0 ... count - 1) C, C count-by-KEPT row after row. Row by row, so that it
// needs no other room.
kernel void span_combine(long n, int count, long ld, global const REAL *restrict C, global REAL *restrict V)
{
    FOR_VEC(i, n) combine(i, 1, count, ld, C, V);
    FOR_TAIL(i, n) combine(i, 0, count, ld, C, V);
}
#endif
