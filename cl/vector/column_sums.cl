// column_sums.cl - sums over several columns side by side, one for each.
// Host: src/vector/column_sums.c. Launch: kry_chunks_of_columns(x).groups for each column.
//
// PAIR   besides x.y also x.x
// STOPS  a column whose recurrence has stopped is left alone: `stopped` has STATE_SIZE numbers for each

#include "common/kry.clh"
#include "common/direction.clh"

#ifdef PAIR
#define RESULT       TOTAL2
#define AND_SQUARES(V, total, x) ADD_PRODUCT##V(total, x, x);
#else
#define RESULT       TOTAL
#define AND_SQUARES(V, total, x)
#endif
#ifdef STOPS
#define STOPPED      , global const ACC *restrict stopped
#define IS_STOPPED   ((int)stopped[get_group_id(1) * STATE_SIZE + STATE_STOP] != GO_ON)
#else
#define STOPPED
#define IS_STOPPED   false
#endif

// part of column c [group] := x_c.y_c, or the pair (x_c.y_c, x_c.x_c). 2 words for each column.
kernel void column_sums(long n, global const REAL *restrict x, long x0, long x_pitch,
                        global const REAL *restrict y, long y0, long y_pitch,
                        global RESULT *restrict part STOPPED)
{
    local RESULT lane[WG];
    const int c = get_group_id(1);
    TOTALV sxy = NO_TOTALV, sxx = NO_TOTALV;
    TOTAL txy = NO_TOTAL, txx = NO_TOTAL;

    if (IS_STOPPED) return; // all work-items of a group alike
    x += x0 + c * x_pitch, y += y0 + c * y_pitch;
    FOR_VEC(i, n)
    {
        const VEC x_i = LDV(x, i);
        ADD_PRODUCTV(sxy, x_i, LDV(y, i));
        AND_SQUARES(V, sxx, x_i)
    }
    FOR_TAIL(i, n)
    {
        ADD_PRODUCT(txy, x[i], y[i]);
        AND_SQUARES(, txx, x[i])
    }
#ifdef PAIR
    const TOTAL2 sum = group_sum2(BOTH(ALL_LANES(sxy, txy), ALL_LANES(sxx, txx)), lane);
#else
    const TOTAL sum = group_sum(ALL_LANES(sxy, txy), lane);
#endif
    if (get_local_id(0) == 0) part[c * (int)get_num_groups(0) + (int)get_group_id(0)] = sum;
}
