// zero.cl - the first stage of formats that only know entries: every row, and nothing in it.
// Host: src/matrix/coo.c.
//
// The sum of a row is 0, or what `surplus` (NULL: nothing) multiplies x_i with; coo.cl adds the entries.

#include "formats/stored.clh"
#include "common/direction.clh"

INLINED SUM zero_row(global const REAL *surplus, const factor *x, long row)
{
    return surplus ? (SUM)surplus[row] * factor_at(x, (int)row) : (SUM)0;
}

#pragma kry part products

// y := alpha A x + beta y; with beta == 0, y is not read.
kernel void zero_apply(int rows, global const REAL *restrict surplus, ACC alpha, global const REAL *restrict x, long x0,
                       ACC beta, global REAL *restrict y, long y0)
{
    const factor v = { x + x0 };
    y += y0;
    FOR_EACH(row, rows) y[row] = row_scaled(alpha, zero_row(surplus, &v, row), beta, y + row);
}

#pragma kry part residuals, products with sums

// r := b - A x; r may be b.
kernel void zero_residual(int rows, global const REAL *restrict surplus, global const REAL *b, long b0,
                          global const REAL *restrict x, long x0, global REAL *r, long r0)
{
    const factor v = { x + x0 };
    b += b0, r += r0;
    FOR_EACH(row, rows) r[row] = (REAL)((SUM)b[row] - zero_row(surplus, &v, row));
}

// y := A x, part[part0 + group] := x.y
kernel void zero_apply_dot(int rows, global const REAL *restrict surplus, global const REAL *restrict x, long x0,
                           global REAL *restrict y, long y0, global TOTAL *restrict part, int part0)
{
    local TOTAL lane[WG];
    const factor v = { x + x0 };
    TOTAL dot = NO_TOTAL;
    y += y0;
    FOR_EACH(row, rows)
    {
        const SUM sum = zero_row(surplus, &v, row);
        y[row] = (REAL)sum;
        ADD_PRODUCT(dot, v.x[row], sum);
    }
    dot = group_sum(dot, lane);
    if (get_local_id(0) == 0) part[part0 + get_group_id(0)] = dot;
}

#pragma kry part relaxation

// y := x + c d .* (b - A x), a step of relaxation.
kernel void zero_relax(int rows, global const REAL *restrict surplus, ACC c, global const REAL *restrict d, long d0,
                       global const REAL *restrict b, long b0, global const REAL *restrict x, long x0,
                       global REAL *restrict y, long y0)
{
    const factor v = { x + x0 };
    d += d0, b += b0, y += y0;
    FOR_EACH(row, rows)
    y[row] = v.x[row] + (REAL)c * d[row] * (REAL)((SUM)b[row] - zero_row(surplus, &v, row));
}

#pragma kry part directions

// p := z + beta old, q := A p, part[part0 + group] := p.q. Once the solve has stopped nothing is written to p and q.
kernel void zero_apply_direction(int rows, global const REAL *restrict surplus, DIRECTION_PARAMS,
                                 global const REAL *restrict z, global const REAL *restrict old,
                                 global REAL *restrict p, global REAL *restrict q, global TOTAL *restrict part,
                                 int part0)
{
    local TOTAL2 lane[WG];
    TOTAL dot = NO_TOTAL;
    ACC beta;
    const int go_on = begin_direction(DIRECTION_PASS, lane, &beta) == GO_ON;
    const factor v = { z, old, (REAL)beta, 1 };
    FOR_EACH(row, go_on ? rows : 0)
    {
        const REAL p_row = z[row] + v.beta * old[row];
        const SUM sum = zero_row(surplus, &v, row);
        p[row] = p_row, q[row] = (REAL)sum;
        ADD_PRODUCT(dot, p_row, sum);
    }
    dot = group_sum(dot, (local TOTAL *)lane);
    if (get_local_id(0) == 0 && go_on) part[part0 + get_group_id(0)] = dot;
}

#pragma kry end
