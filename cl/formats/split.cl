// split.cl - rows too long for one group: add up what the groups that share them have left.
// Host: src/matrix/stage.c. The sums come from csr.cl and coo.cl.
//
// `split` has three numbers for each of the `work` rows: the row, and from which to below which place its sums lie in
// `partial`. A group takes a row, and its first work-item adds the sum to what an earlier stage has written.

#include "common/kry.clh"
#include "common/direction.clh"

#define SPLIT_ROWS int work, global const int *restrict split, global const SUM *restrict partial

// The sum of row number `nth` of those that were split, for every work-item of the group. All must call it.
INLINED SUM split_sum(global const int *split, global const SUM *partial, int nth, local TOTAL *lane)
{
    const int end = split[3 * nth + 2];
    int b = split[3 * nth + 1] + (int)get_local_id(0);
    TOTAL total = NO_TOTAL;

    for (; b + 3 * WG < end; b += 4 * WG)
        ADD(total, ((ACC)partial[b] + (ACC)partial[b + WG]) + ((ACC)partial[b + 2 * WG] + (ACC)partial[b + 3 * WG]));
    for (; b < end; b += WG) ADD(total, partial[b]);
    total = group_sum(total, lane);
    return (SUM)VALUE_OF(total);
}

#pragma kry part products

// y += alpha A x
kernel void split_apply(SPLIT_ROWS, ACC alpha, global const REAL *restrict x, long x0, ACC beta, global REAL *restrict y,
                        long y0)
{
    local TOTAL lane[WG];
    y += y0;
    for (int s = get_group_id(0); s < work; s += get_num_groups(0)) {
        const SUM sum = split_sum(split, partial, s, lane);
        if (get_local_id(0) == 0) y[split[3 * s]] += (REAL)((SUM)alpha * sum);
    }
}

#pragma kry part residuals, products with sums

// r -= A x
kernel void split_residual(SPLIT_ROWS, global const REAL *b, long b0, global const REAL *restrict x, long x0,
                           global REAL *r, long r0)
{
    local TOTAL lane[WG];
    r += r0;
    for (int s = get_group_id(0); s < work; s += get_num_groups(0)) {
        const SUM sum = split_sum(split, partial, s, lane);
        const int row = split[3 * s];
        if (get_local_id(0) == 0) r[row] = (REAL)((SUM)r[row] - sum);
    }
}

// y += A x, part[part0 + group] := x.(A x)
kernel void split_apply_dot(SPLIT_ROWS, global const REAL *restrict x, long x0, global REAL *restrict y, long y0,
                            global TOTAL *restrict part, int part0)
{
    local TOTAL lane[WG];
    TOTAL dot = NO_TOTAL;
    x += x0, y += y0;
    for (int s = get_group_id(0); s < work; s += get_num_groups(0)) {
        const SUM sum = split_sum(split, partial, s, lane);
        const int row = split[3 * s];
        if (get_local_id(0) == 0) {
            y[row] += (REAL)sum;
            ADD_PRODUCT(dot, x[row], sum);
        }
    }
    dot = group_sum(dot, lane);
    if (get_local_id(0) == 0) part[part0 + get_group_id(0)] = dot;
}

#pragma kry part relaxation

// y -= c d .* A x
kernel void split_relax(SPLIT_ROWS, ACC c, global const REAL *restrict d, long d0, global const REAL *restrict b, long b0,
                        global const REAL *restrict x, long x0, global REAL *restrict y, long y0)
{
    local TOTAL lane[WG];
    d += d0, y += y0;
    for (int s = get_group_id(0); s < work; s += get_num_groups(0)) {
        const SUM sum = split_sum(split, partial, s, lane);
        const int row = split[3 * s];
        if (get_local_id(0) == 0) y[row] -= (REAL)c * d[row] * (REAL)sum;
    }
}

#pragma kry part directions

// q += A p, part[part0 + group] := p.(A p), for the p that the first stage has formed, unless the solve has stopped.
kernel void split_apply_direction(SPLIT_ROWS, global const ACC *restrict state, global const REAL *restrict p,
                                  global REAL *restrict q, global TOTAL *restrict part, int part0)
{
    local TOTAL lane[WG];
    TOTAL dot = NO_TOTAL;
    const int go_on = (int)state[STATE_STOP] == GO_ON;
    for (int s = get_group_id(0); s < work && go_on; s += get_num_groups(0)) {
        const SUM sum = split_sum(split, partial, s, lane);
        const int row = split[3 * s];
        if (get_local_id(0) == 0) {
            q[row] += (REAL)sum;
            ADD_PRODUCT(dot, p[row], sum);
        }
    }
    dot = group_sum(dot, lane);
    if (get_local_id(0) == 0 && go_on) part[part0 + get_group_id(0)] = dot;
}

#pragma kry end
