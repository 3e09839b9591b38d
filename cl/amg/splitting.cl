// splitting.cl - classical coarsening of a symmetric matrix in compressed rows: strong couplings, and which of
// the unknowns are points of the coarser level, C points. The others are F points, or alone.
// Host: src/amg/splitting.c. `strong` as in strong.clh.
//
// A work-item has a row. state[i], while points are being found: how many depend on i if i is open, else F, C or
// ALONE.
//
// Words moved, of 4 bytes: splitting_least and _strong 3 an entry of a matrix in double; a round of
// splitting_beat and _decide 2 each for strong couplings of open points, splitting_count for all.

#include "common/kry.clh"
#include "amg/strong.clh"

#pragma OPENCL FP_CONTRACT OFF

#define F     0
#define C     (-1)
#define ALONE (-2)

// part[g]: the sums of the positive and of the negative couplings in the rows of group g.
kernel void splitting_signs(int n, global const int *restrict ptr, global const int *restrict col,
                            global const REAL *restrict val, global ACC2 *restrict part)
{
    local ACC plus[WG], minus[WG];
    int l = get_local_id(0);
    ACC positive = 0, negative = 0;
    FOR_EACH(i, n)
    {
        for (int e = ptr[i]; e < ptr[i + 1]; e++) {
            if (col[e] == i) continue;
            positive += fmax((ACC)val[e], (ACC)0);
            negative -= fmin((ACC)val[e], (ACC)0);
        }
    }
    plus[l] = positive, minus[l] = negative;
    for (int step = WG / 2; step > 0; step /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < step) plus[l] += plus[l + step], minus[l] += minus[l + step];
    }
    if (l == 0) part[get_group_id(0)] = (ACC2)(plus[0], minus[0]);
}

// least[i]: the least -a_ij that is strong, negative if none is.
kernel void splitting_least(int n, ACC theta, global const int *restrict ptr,
                            global const int *restrict col, global const REAL *restrict val,
                            global ACC *restrict least)
{
    const ACC dominant = (ACC)0.1; // relaxation reduces the error of such a row tenfold
    FOR_EACH(i, n)
    {
        ACC diagonal = 0, sum = 0, most = 0;
        for (int e = ptr[i]; e < ptr[i + 1]; e++) {
            ACC a = val[e];
            if (col[e] == i)
                diagonal = a;
            else
                sum += fabs(a), most = fmax(most, -a);
        }
        least[i] = most > 0 && sum >= dominant * diagonal ? fmax(theta, (ACC)0) * most : (ACC)-1;
    }
}

// On which points row i depends, and how many depend on i, which the row says as well: a_ji = a_ij.
kernel void splitting_strong(int n, global const int *restrict ptr, global const int *restrict col,
                             global const REAL *restrict val, global const ACC *restrict least,
                             global uint *restrict strong, global int *restrict state,
                             global int *restrict beaten)
{
    FOR_EACH(i, n)
    {
        int begin = ptr[i], end = ptr[i + 1], word = WORD(i), dependents = 0;
        uint bits = 0, any = 0;
        ACC enough = least[i];
        for (int e = begin; e < end; e++) {
            int j = col[e], bit = (e - begin) & 31;
            ACC a = val[e], enough_of_j = least[j];
            if (j != i && a < 0 && enough >= 0 && enough_of_j >= 0) {
                bits |= (uint)(-a >= enough) << bit;
                dependents += -a >= enough_of_j;
            }
            if (bit < 31 && e + 1 < end) continue;
            strong[word++] = bits;
            any |= bits, bits = 0;
        }
        state[i] = any ? dependents : ALONE, beaten[i] = 0;
    }
}

// A bijection without structure; C. Wellons, "lowbias32".
uint scramble(uint x)
{
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}

// beaten[i] := round for an open point that is coupled to an open one of higher rank, in either direction.
// left := 0, for the next kernel.
kernel void splitting_beat(int n, int round, global const int *restrict ptr,
                           global const int *restrict col, global const uint *restrict strong,
                           global const int *restrict state, global int *beaten,
                           global int *restrict left)
{
    if (get_global_id(0) == 0) left[0] = 0;
    FOR_EACH(i, n)
    {
        int own = state[i];
        if (own <= 0) continue;
        uint tie = scramble((uint)i);
        EACH_STRONG(e, i, true)
        {
            int j = col[e], other = state[j];
            if (other <= 0) continue;
            bool wins = own > other || (own == other && tie > scramble((uint)j));
            beaten[wins ? j : i] = round;
        }
    }
}

// Open points that are not beaten become C points, and F points those that depend on one, which may be open as far as
// `state` says. left: whether some are still open.
kernel void splitting_decide(int n, int round, global const int *restrict ptr,
                             global const int *restrict col, global const uint *restrict strong,
                             global int *state, global const int *restrict beaten,
                             global int *restrict left)
{
    FOR_EACH(i, n)
    {
        if (state[i] <= 0) continue;
        int next = C;
        if (beaten[i] == round) {
            next = 1;
            EACH_STRONG(e, i, next > 0)
            {
                int j = col[e], other = state[j];
                if (other == C || (other > 0 && beaten[j] != round)) next = F;
            }
        }
        if (next > 0)
            left[0] = 1;
        else
            state[i] = next;
    }
}

// is_c[i]: 1 for C points. near[i]: C points that another point depends on, 0 for C points and for rows that are longer
// than `most`.
kernel void splitting_count(int n, int most, global const int *restrict ptr,
                            global const int *restrict col, global const uint *restrict strong,
                            global const int *restrict state, global int *restrict is_c,
                            global int *restrict near)
{
    FOR_EACH(i, n)
    {
        int count = 0;
        bool counts = state[i] != C && ptr[i + 1] - ptr[i] <= most;
        EACH_STRONG(e, i, counts) count += state[col[e]] == C;
        is_c[i] = state[i] == C, near[i] = count;
    }
}

// number[i]: in: C points before i; out: the number of a C point, -1 for F points and -2 for those that are alone
kernel void splitting_number(int n, global const int *restrict state, global int *restrict number)
{
    FOR_EACH(i, n)
    {
        if (state[i] != C) number[i] = state[i] == F ? -1 : -2;
    }
}
