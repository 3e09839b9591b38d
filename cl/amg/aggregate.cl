// aggregate.cl - smoothed aggregation: the graph of strong couplings, aggregates around the members of a maximal independent
// set of distance 2, and the prolongation.
// Host: src/amg/aggregate.c, src/amg/smoothed.c, src/amg/rho.c.
//
// Graphs are in compressed rows with ascending columns, each row with its diagonal, the numbers those of
// the matrix; REAL is double. A node has one work-item. What comes out does not depend on their order: a
// kernel reads of other nodes only what it does not write.
//
// N. Bell, S. Dalton, L. N. Olson, SIAM J. Sci. Comput. 34 (2012), C123-C152, algorithms 4 to 6;
// doi:10.1137/110838844

#include "common/kry.clh"

#pragma OPENCL FP_CONTRACT OFF

// ---- strong couplings: a_ij^2 >= bound a_ii a_jj, and not zero ----

// squared: whether the numbers are squares already, of the norms of blocks.

INLINED bool is_strong(int squared, REAL bound, int i, int j, REAL a, global const REAL *d)
{
    if (i == j) return true;
    if (!squared) a *= a;
    if (!(a > 0)) return false;
    return !(bound > 0) || a >= bound * (squared ? sqrt(d[i]) * sqrt(d[j]) : d[i] * d[j]);
}

// Words: each entry, the diagonal of its column.
kernel void graph_lengths(int rows, int squared, REAL bound, global const int *restrict ptr,
                          global const int *restrict col, global const REAL *restrict val,
                          global const REAL *restrict d, global int *restrict length)
{
    FOR_EACH(i, rows)
    {
        int count = 0;
        for (int e = ptr[i], end = ptr[i + 1]; e < end; e++) count += is_strong(squared, bound, i, col[e], val[e], d);
        length[i] = count;
    }
}

kernel void graph_columns(int rows, int squared, REAL bound, global const int *restrict ptr,
                          global const int *restrict col, global const REAL *restrict val,
                          global const REAL *restrict d, global const int *restrict g_ptr,
                          global int *restrict g_col, global int *restrict place)
{
    FOR_EACH(i, rows)
    {
        int at = g_ptr[i];
        for (int e = ptr[i], end = ptr[i + 1]; e < end; e++)
            if (is_strong(squared, bound, i, col[e], val[e], d)) g_col[at] = col[e], place[at++] = e;
    }
}

// ---- roots: an independent set of distance 2 among the nodes that are in no aggregate ----

#define NONE -1 // aggregate
#define FREE 0  // state
#define OUT  1
#define ROOT 2

// best[i]: who comes first among the free nodes of i's closed neighbourhood, or what will not change any
// more: that there is none, or a root in it.
#define NOBODY         -1
#define BESIDE(root)   (-2 - (root))
#define IS_BESIDE(b)   ((b) < NOBODY)
#define ROOT_BESIDE(b) (-2 - (b))

// A bijection of 32 bits without structure: lowbias32 of C. Wellons.
uint scramble(uint x)
{
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}

uint priority(int node) { return scramble((uint)node) >> 1; }

kernel void aggregate_none(int rows, global int *restrict aggregate)
{
    FOR_EACH(i, rows) aggregate[i] = NONE;
}

kernel void roots_begin(int rows, global const int *restrict ptr, global const int *restrict col,
                        global const int *restrict aggregate, global int *restrict state,
                        global int *restrict best)
{
    FOR_EACH(i, rows)
    {
        int alone = 1;
        for (int e = ptr[i], end = ptr[i + 1]; aggregate[i] == NONE && alone && e < end; e++)
            alone = col[e] == i || aggregate[col[e]] != NONE;
        state[i] = alone ? OUT : FREE;
        best[i] = aggregate[i] == NONE ? (int)i : NOBODY;
    }
}

// Of two nodes of the same priority the later one comes first, and stays first until it is not free any more. first: no
// best is known yet. Words: best and its state; of nodes where it may change, the state of each neighbour.
kernel void roots_best(int rows, int first, global const int *restrict ptr,
                       global const int *restrict col, global const int *restrict state,
                       global int *restrict best)
{
    FOR_EACH(i, rows)
    {
        if (best[i] < 0 || (!first && state[best[i]] == FREE)) continue;
        int top = NOBODY;
        uint highest = 0;
        for (int e = ptr[i], end = ptr[i + 1]; e < end; e++) {
            int j = col[e], s = state[j];
            if (s == ROOT) {
                top = BESIDE(j);
                break;
            }
            if (s != FREE) continue;
            uint p = priority(j);
            if (p > highest || (p == highest && j > top)) top = j, highest = p;
        }
        best[i] = top;
    }
}

// A free node is a root if it is the best of all its neighbours. left[0] := round, if a
// node is still free. Words: state; of free nodes, the best of each neighbour.
kernel void roots_decide(int rows, int round, global const int *restrict ptr,
                         global const int *restrict col, global const int *restrict best,
                         global int *restrict state, global int *restrict left)
{
    FOR_EACH(i, rows)
    {
        if (state[i] != FREE) continue;
        int now = ROOT;
        for (int e = ptr[i], end = ptr[i + 1]; now != OUT && e < end; e++) {
            int b = best[col[e]];
            if (IS_BESIDE(b))
                now = OUT;
            else if (b != NOBODY && b != i)
                now = FREE;
        }
        state[i] = now;
        if (now == FREE) left[0] = round;
    }
}

// ---- aggregates ----

// chosen[i] := whether i is a root with at least `least` neighbours that are in no aggregate, if `large` with
// half of them all.
kernel void aggregate_choose(int rows, int least, int large, global const int *restrict ptr,
                             global const int *restrict col, global const int *restrict state,
                             global const int *restrict aggregate, global int *restrict chosen)
{
    FOR_EACH(i, rows)
    {
        int all = 0, count = 0;
        for (int e = ptr[i], end = ptr[i + 1]; state[i] == ROOT && e < end; e++) {
            all += col[e] != i;
            count += col[e] != i && aggregate[col[e]] == NONE;
        }
        chosen[i] = state[i] == ROOT && count >= least && (!large || 2 * count >= all);
    }
}

// number: of those that are chosen, counted from 0; the first of them makes the aggregate `first`.
kernel void aggregate_gather(int rows, int first, global const int *restrict best,
                             global const int *restrict number, global int *restrict aggregate)
{
    FOR_EACH(i, rows)
    {
        if (!IS_BESIDE(best[i])) continue;
        int root = ROOT_BESIDE(best[i]);
        if (number[root + 1] > number[root]) aggregate[i] = first + number[root];
    }
}

// The others join the aggregate of the neighbour to which their coupling is strongest. Words: now, joined;
// of the others, each entry and its neighbour's aggregate.
kernel void aggregate_join(int rows, int squared, global const int *restrict ptr,
                           global const int *restrict col, global const REAL *restrict val,
                           global const int *restrict now, global int *restrict joined)
{
    FOR_EACH(i, rows)
    {
        int to = now[i];
        REAL strongest = 0;
        if (to == NONE)
            for (int e = ptr[i], end = ptr[i + 1]; e < end; e++)
                if (col[e] != i && now[col[e]] != NONE) {
                    const REAL size = squared ? sqrt(val[e]) : fabs(val[e]);
                    if (size > strongest) strongest = size, to = now[col[e]];
                }
        joined[i] = to;
    }
}

// ---- the prolongation: tentative, and the matrix S = I - omega D^-1 F that smoothes it. F is A, or A without its weak
// couplings, which are added to the diagonal ----

// The tentative prolongation of constants: a one for each node that is in an aggregate.
kernel void tentative_lengths(int rows, global const int *restrict aggregate,
                              global int *restrict length)
{
    FOR_EACH(i, rows) length[i] = aggregate[i] >= 0;
}

kernel void tentative_entries(int rows, global const int *restrict aggregate,
                              global const int *restrict ptr, global int *restrict col,
                              global REAL *restrict val)
{
    FOR_EACH(i, rows)
    {
        if (aggregate[i] >= 0) col[ptr[i]] = aggregate[i], val[ptr[i]] = 1;
    }
}

// Adds the entries of A that are not in F, whose places in A are `place`, to F's diagonal; d := that, or A's
// own where little is left of it. Words: A's and F's entries, 1 written.
kernel void filter_diagonal(int rows, global const int *restrict a_ptr,
                            global const REAL *restrict a_val, global const int *restrict ptr,
                            global const int *restrict col, global const int *restrict place,
                            global REAL *restrict val, global REAL *restrict d)
{
    FOR_EACH(i, rows)
    {
        const REAL least = (REAL)0.1; // of the diagonal, for a step of Jacobi to be divided by it
        REAL weak = 0;
        int f = ptr[i], end = ptr[i + 1], at = f;
        for (int e = a_ptr[i]; e < a_ptr[i + 1]; e++) {
            if (f == end || place[f] != e) {
                weak += a_val[e];
                continue;
            }
            if (col[f] == i) at = f;
            f++;
        }
        REAL entry = val[at], lumped = entry + weak;
        val[at] = lumped;
        d[i] = lumped >= least * entry ? lumped : entry;
    }
}

// S := I - omega D^-1 F; val may be F's. Words: F's entries, as many written, d.
kernel void smoother_values(int rows, REAL omega, global const int *restrict ptr,
                            global const int *restrict col, global const REAL *restrict d,
                            global const REAL *f_val, global REAL *val)
{
    FOR_EACH(i, rows)
    {
        REAL step = omega / d[i];
        for (int e = ptr[i], end = ptr[i + 1]; e < end; e++)
            val[e] = (REAL)(col[e] == i) - step * f_val[e];
    }
}

// s := d^-1/2
kernel void inverse_root(int rows, global const REAL *restrict d, global REAL *restrict s)
{
    FOR_EACH(i, rows) s[i] = 1 / sqrt(d[i]);
}
