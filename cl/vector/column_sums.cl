// column_sums.cl - sums over several columns side by side, one for each.
// Host: src/vector/column_sums.c. Launch: kryi_chunks_of_columns(x).groups for each column.

#include "common/kry.clh"
#include "common/direction.clh"

// part of column c [group] := x_c.y_c or, with `pair`, the two sums x_c.y_c and x_c.x_c. 2 words for each column. stopped:
// STATE_SIZE numbers for each column; one whose recurrence has stopped is left alone. NULL: all go on.
kernel void column_sums(long n, int pair, global const REAL *restrict x, long x0, long x_pitch,
                        global const REAL *restrict y, long y0, long y_pitch,
                        global TOTAL *restrict part, global const ACC *restrict stopped)
{
    local TOTAL2 lane[WG];
    const int c = get_group_id(1), place = c * (int)get_num_groups(0) + (int)get_group_id(0);
    TOTALV sxy = NO_TOTALV, sxx = NO_TOTALV;
    TOTAL txy = NO_TOTAL, txx = NO_TOTAL;

    if (stopped && (int)stopped[c * STATE_SIZE + STATE_STOP] != GO_ON) return; // all work-items of a group alike
    x += x0 + c * x_pitch, y += y0 + c * y_pitch;
    FOR_VEC(i, n)
    {
        const VEC x_i = load_vector(x, i);
        ADD_PRODUCTV(sxy, x_i, load_vector(y, i));
        if (pair) ADD_PRODUCTV(sxx, x_i, x_i);
    }
    FOR_TAIL(i, n)
    {
        ADD_PRODUCT(txy, x[i], y[i]);
        if (pair) ADD_PRODUCT(txx, x[i], x[i]);
    }
    const TOTAL2 sums = group_sum2(BOTH(ALL_LANES(sxy, txy), ALL_LANES(sxx, txx)), lane);
    if (get_local_id(0) != 0) return;
    if (pair)
        ((global TOTAL2 *)part)[place] = sums;
    else
        part[place] = sums.x;
}
