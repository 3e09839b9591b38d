// gemv.cl - products with a block of k columns, X, `ld` numbers from one to the next, where CLBlast is not asked.
// Host: src/vector/gemv.c, which compiles it with KRY_UNALIGNED.

#include "common/kry.clh"
#include "common/piece.clh"

#define GEMV_PARAMS                                                                              \
    long n, int k, long ld, ACC alpha, global const REAL *restrict X, long X0,                   \
        global const REAL *restrict c, long c0, ACC beta, global REAL *restrict y, long y0

// Piece i of y := alpha X c + beta y
INLINED void add_columns(long i, const int whole, int k, long ld, ACC alpha, global const REAL *X, global const REAL *c, ACC beta,
                         global REAL *y)
{
    VEC y_i = 0;
    if (beta != 0) y_i = (REAL)beta * load_piece(y, i, whole);
    for (int j = 0; j < k; j++) y_i += (REAL)(alpha * (ACC)c[j]) * load_piece(X + j * ld, i, whole);
    store_piece(y_i, y, i, whole);
}

// y := alpha X c + beta y; with beta == 0, y is not read. Launch: kryi_groups_for(n). Words for each row: k + 1, and 1
// of y.
kernel void gemv_columns(GEMV_PARAMS)
{
    X += X0, c += c0, y += y0;
    FOR_VEC(i, n) add_columns(i, 1, k, ld, alpha, X, c, beta, y);
    FOR_TAIL(i, n) add_columns(i, 0, k, ld, alpha, X, c, beta, y);
}

// y := alpha X'c + beta y; with beta == 0, y is not read. Launch: a group for each column, or fewer. Words for each row: k,
// and 1 for each column.
kernel void gemv_rows(GEMV_PARAMS)
{
    local TOTAL lane[WG];
    X += X0, c += c0, y += y0;
    for (int j = get_group_id(0); j < k; j += get_num_groups(0)) {
        global const REAL *restrict x = X + j * ld;
        piece_sum xc;
        begin_sum(&xc);
        for (long i = get_local_id(0); i < n / VW; i += WG) add_product(&xc, load_piece(x, i, 1), load_piece(c, i, 1), 1);
        for (long i = n / VW * VW + get_local_id(0); i < n; i += WG) add_product(&xc, load_piece(x, i, 0), load_piece(c, i, 0), 0);
        const TOTAL sum = group_sum(whole_sum(&xc), lane);
        const ACC all = alpha * VALUE_OF(sum);
        if (get_local_id(0) == 0) y[j] = (REAL)(beta == 0 ? all : all + beta * (ACC)y[j]);
        BARRIER(); // `lane` is used again
    }
}
