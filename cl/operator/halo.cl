// halo.cl - numbers that neighbouring parts of a problem need of each other.
// Host: src/operator/halo.c (halo_pack...), src/matrix/coupled.c (the others), src/multigrid/team_levels.c (halo_unpack).
// Launch: kryi_groups_for(n) groups of WG; those that leave sums, kryi_groups_for_sums(n). Vectors start
// anywhere; those of a Krylov step at element 0.

#include "common/kry.clh"
#include "common/direction.clh"

// packed := x at the given rows
kernel void halo_pack(long n, global const int *restrict row, global const REAL *restrict x, long x0,
                      global REAL *restrict packed)
{
    x += x0;
    FOR_EACH(i, n) packed[i] = x[row[i]];
}

// The reverse: y at the given rows := packed.
kernel void halo_unpack(long n, global const int *restrict row, global const REAL *restrict packed, long packed0,
                        global REAL *restrict y)
{
    packed += packed0;
    FOR_EACH(i, n) y[row[i]] = packed[i];
}

// packed := z + beta old at the given rows: the direction of a Krylov step, before it is there
kernel void halo_pack_direction(DIRECTION_PARAMS, long n, global const int *restrict row,
                                global const REAL *restrict z, global const REAL *restrict old,
                                global REAL *restrict packed)
{
    local TOTAL2 lane[WG];
    ACC b;
    if (begin_direction(DIRECTION_PASS, lane, &b) != GO_ON) return;
    REAL beta = (REAL)b;
    FOR_EACH(i, n) packed[i] = z[row[i]] + beta * old[row[i]];
}

// ---- rows with entries in columns of other parts: n of them, begin has n+1 ----

#define ROWS                                                                            \
    long n, global const int *restrict row, global const int *restrict begin,           \
        global const int *restrict col, global const REAL *restrict val, global const REAL *restrict halo

// Return what row i adds. In flux form an entry multiplies the distance from the row's own number `own`, which is 0 otherwise.
REAL far_sum(long i, REAL own, global const int *restrict begin, global const int *restrict col,
             global const REAL *restrict val, global const REAL *restrict halo)
{
    REAL sum = 0;
    for (int k = begin[i]; k < begin[i + 1]; k++) sum += val[k] * (halo[col[k]] - own);
    return sum;
}

// Return `sum` plus what row i adds, in ACC: for residuals.
ACC with_entries(ACC sum, long i, ACC own, global const int *restrict begin, global const int *restrict col,
                 global const REAL *restrict val, global const REAL *restrict x)
{
    for (int k = begin[i]; k < begin[i + 1]; k++) sum += (ACC)val[k] * ((ACC)x[col[k]] - own);
    return sum;
}

// y += alpha times what the other parts add; x is read in flux form only
kernel void halo_add(ROWS, int flux, ACC alpha, global const REAL *restrict x, long x0, global REAL *restrict y,
                     long y0)
{
    x += x0, y += y0;
    FOR_EACH(i, n)
    {
        const int j = row[i];
        y[j] += (REAL)alpha * far_sum(i, flux ? x[j] : 0, begin, col, val, halo);
    }
}

// halo_add with alpha = 1, and part[first + group] := what that adds to x.y. `stops`: of a solve, and
// nothing is written once it has stopped.
kernel void halo_add_dot(ROWS, int flux, global const REAL *restrict x, long x0, global REAL *restrict y, long y0,
                         global TOTAL *restrict part, int first, int stops,
                         global const ACC *restrict state)
{
    local TOTAL lane[WG];
    TOTAL dot = NO_TOTAL;
    const int go_on = !stops || (int)state[STATE_STOP] == GO_ON;
    if (!go_on) n = 0; // not a return: barriers are for all
    x += x0, y += y0;
    FOR_EACH(i, n)
    {
        const int j = row[i];
        const REAL sum = far_sum(i, flux ? x[j] : 0, begin, col, val, halo);
        y[j] += sum;
        ADD_PRODUCT(dot, x[j], sum);
    }
    dot = group_sum(dot, lane);
    if (get_local_id(0) == 0 && go_on) part[first + get_group_id(0)] = dot;
}

// ---- rows of an operator in flux form whose own piece lacks what flows to other parts: grids in boxes ----

// part[first + group] := what they add to x.(A x); nothing once a solve has stopped.
kernel void halo_dot(ROWS, global const REAL *restrict x, long x0, global TOTAL *restrict part, int first,
                     global const ACC *restrict state)
{
    local TOTAL lane[WG];
    TOTAL dot = NO_TOTAL;
    const int go_on = (int)state[STATE_STOP] == GO_ON;
    if (!go_on) n = 0; // not a return: barriers are for all
    x += x0;
    FOR_EACH(i, n)
    {
        const REAL own = x[row[i]];
        ADD_PRODUCT(dot, own, far_sum(i, own, begin, col, val, halo));
    }
    dot = group_sum(dot, lane);
    if (get_local_id(0) == 0 && go_on) part[first + get_group_id(0)] = dot;
}

// r -= alpha times what they add to A p, for the alpha of this step. Where the pass that follows makes the old p of z, and z
// of r, x gets what that r lacks. z = r, or `scaled` d .* r.
kernel void halo_step(ROWS, STEP_PARAMS, global const REAL *restrict p, long p0, global REAL *restrict r, long r0,
                      global REAL *restrict x, long x0, int scaled, global const REAL *restrict d)
{
    local TOTAL2 lane[WG];
    step_scalars s;
    if (begin_step(STEP_PASS, lane, &s) != GO_ON) return;
    p += p0, r += r0, x += x0;
    const REAL by_z = update ? (REAL)s.by_z : 0;
    FOR_EACH(i, n)
    {
        const int j = row[i];
        const REAL part = (REAL)s.alpha * far_sum(i, p[j], begin, col, val, halo);
        r[j] -= part;
        if (by_z != 0) x[j] += by_z * (scaled ? d[j] * part : part);
    }
}

// d += what they add to the diagonal
kernel void halo_diagonal(ROWS, global REAL *restrict d, long d0)
{
    d += d0;
    FOR_EACH(i, n)
    {
        ACC sum = 0;
        for (int k = begin[i]; k < begin[i + 1]; k++) sum -= (ACC)val[k];
        d[row[i]] += (REAL)sum;
    }
}

// r := b - A x in these rows, summed in ACC, whose own entries are in own_... and whose b is packed; surplus: what
// each of them adds up to, in flux form.
kernel void halo_residual(ROWS, int flux, global const int *restrict own_begin, global const int *restrict own_col,
                          global const REAL *restrict own_val, global const REAL *restrict surplus,
                          global const REAL *restrict packed, global const REAL *restrict x, long x0,
                          global REAL *restrict r, long r0)
{
    x += x0, r += r0;
    FOR_EACH(i, n)
    {
        const ACC own = flux ? (ACC)x[row[i]] : 0;
        ACC sum = with_entries(0, i, own, begin, col, val, halo);
        sum = with_entries(sum, i, own, own_begin, own_col, own_val, x);
        if (flux) sum += (ACC)surplus[i] * own;
        r[row[i]] = (REAL)((ACC)packed[i] - sum);
    }
}
