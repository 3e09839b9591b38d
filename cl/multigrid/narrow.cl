// narrow.cl - between vectors in double and a cycle of multigrid in single. Host: src/multigrid/narrow.c.
// REAL is double. Launch: for each of several columns; those of a vector are its pitch apart. unit, two numbers for each: what residuals are multiplied by, a power of two, and what undoes it.

#include "common/kry.clh"

// unit := that which makes the square root of a sum 1 to 2, 1 if that is 0 or not finite; `factor` times the inverse
void set_unit(REAL square, REAL factor, global REAL *restrict unit)
{
    const REAL norm = sqrt(square);
    const int power = norm > 0 && isfinite(norm) ? ilogb(norm) : 0;
    if (get_local_id(0) > 0) return;
    unit[0] = ldexp((REAL)1, -power), unit[1] = factor * ldexp((REAL)1, power);
}

// From the parts of a sum. Launch: one group for each column.
kernel void narrow_unit(int count, global const TOTAL *restrict part, REAL factor,
                        global REAL *restrict unit)
{
    local TOTAL lane[WG];
    part += COLUMN_HERE * count, unit += COLUMN_HERE * 2;
    set_unit(VALUE_OF(finish_sum(part, count, lane)), factor, unit);
}

// From the second ones of a pair, of one column.
kernel void narrow_unit_of_pair(int count, global const TOTAL2 *restrict part, REAL factor,
                                global REAL *restrict unit)
{
    local TOTAL2 lane[WG];
    set_unit(VALUES_OF(finish_sum2(part, count, lane)).y, factor, unit);
}

// d := unit[0] r. 3 words of 4 bytes.
kernel void narrow_down(long n, global const REAL *restrict unit, global const REAL *restrict r, long r0,
                        long r_pitch, global float *restrict d, long d0, long d_pitch)
{
    const REAL by = unit[COLUMN_HERE * 2];
    r += r0 + COLUMN_HERE * r_pitch, d += d0 + COLUMN_HERE * d_pitch;
    FOR_EACH(i, n) d[i] = (float)(by * r[i]);
}

// z := unit[1] d;  with `sums`, of one column, part[group] := the sums of (r z, r r). 5 words of 4 bytes.
kernel void narrow_up(long n, global const REAL *restrict unit, global const REAL *restrict r, long r0,
                      long r_pitch, global const float *restrict d, long d0, long d_pitch,
                      global REAL *restrict z, long z0, long z_pitch, int sums, global TOTAL *restrict part)
{
    local TOTAL2 lane[WG];
    TOTAL rz = NO_TOTAL, rr = NO_TOTAL;
    const REAL by = unit[COLUMN_HERE * 2 + 1];
    r += r0 + COLUMN_HERE * r_pitch, d += d0 + COLUMN_HERE * d_pitch, z += z0 + COLUMN_HERE * z_pitch;
    FOR_EACH(i, n)
    {
        const REAL z_i = by * (REAL)d[i];
        z[i] = z_i;
        if (!sums) continue;
        const REAL r_i = r[i];
        ADD_PRODUCT(rz, r_i, z_i);
        ADD_PRODUCT(rr, r_i, r_i);
    }
    TOTAL2 sum = group_sum2(BOTH(rz, rr), lane);
    if (get_local_id(0) == 0 && sums) ((global TOTAL2 *)part)[get_group_id(0)] = sum;
}
