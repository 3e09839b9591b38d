/*
 * aggregate.c - nodes in aggregates around the members of a maximal independent set.
 *
 * Processors that look at all nodes at once, round after round, take as roots those of the largest
 * priority within two edges. What comes out is what one of them finds that takes the nodes in the order
 * of their priorities: so the host does.
 */
#include "amg/amg.h"
#include <stdlib.h>
#include <string.h>

/* ---- priorities ------------------------------------------------------------------------------ */

/* Of two nodes with the same 31 bits the later one comes first. */
static uint32_t priority(int64_t node) { return kry_scramble((uint32_t)node) >> 1; }

/* order := the n nodes by falling priority. next: n. Radix sort, 16 bits at a time. */
static kry_status by_priority(int64_t n, int32_t *order)
{
    enum { BITS = 16, BINS = 1 << BITS };
    kry_status st = KRY_OK;
    int32_t *other = NULL, *from, *to;
    int64_t *end = NULL;

    TRY(kry_alloc((size_t)n, sizeof *other, &other));
    TRY(kry_alloc(BINS + 1, sizeof *end, &end));
    for (int64_t i = 0; i < n; i++) other[i] = (int32_t)(n - 1 - i);
    for (int shift = 0; shift < 2 * BITS; shift += BITS) {
        from = shift ? order : other, to = shift ? other : order;
        memset(end, 0, (BINS + 1) * sizeof *end);
        for (int64_t i = 0; i < n; i++) end[BINS - (priority(from[i]) >> shift & (BINS - 1))]++;
        for (int b = 0; b < BINS; b++) end[b + 1] += end[b];
        for (int64_t i = 0; i < n; i++)
            to[end[BINS - 1 - (priority(from[i]) >> shift & (BINS - 1))]++] = from[i];
    }
    memcpy(order, other, (size_t)n * sizeof *order);
done:
    free(end);
    free(other);
    return st;
}

/* ---- independent sets ------------------------------------------------------------------------ */

enum { FREE, COVERED, ROOT };

/* Of the nodes that belong to `within` (-1: in no aggregate) those that are neither coupled to a root nor to
 * a node that is, in the order given, become roots. state: n, all FREE. Nodes without a neighbour among
 * these stay FREE. */
static void find_roots(const kry_sparse *S, const int32_t *order, const int32_t *aggregate,
                       char *state)
{
    for (int64_t k = 0; k < S->rows; k++) {
        const int32_t root = order[k];
        bool alone = true;
        if (state[root] != FREE || aggregate[root] >= 0) continue;
        for (int64_t e = S->row_ptr[root]; e < S->row_ptr[root + 1]; e++) {
            const int32_t i = S->col[e];
            if (aggregate[i] >= 0) continue;
            alone = false, state[i] = COVERED;
            for (int64_t f = S->row_ptr[i]; f < S->row_ptr[i + 1]; f++)
                if (aggregate[S->col[f]] < 0) state[S->col[f]] = COVERED;
        }
        if (!alone) state[root] = ROOT;
    }
}

/* Roots with at least `least` neighbours in no aggregate, if `large` half of them all, make aggregates with
 * these, in the order of the roots' numbers. */
static void gather(const kry_sparse *S, const char *state, int64_t least, bool large,
                   int32_t *aggregate, int64_t *count)
{
    for (int64_t i = 0; i < S->rows; i++) {
        int64_t neighbours = 0;
        if (state[i] != ROOT) continue;
        for (int64_t e = S->row_ptr[i]; e < S->row_ptr[i + 1]; e++)
            neighbours += aggregate[S->col[e]] < 0;
        if (neighbours < least || (large && 2 * neighbours < kry_row_length(S, i))) continue;
        aggregate[i] = (int32_t)*count;
        for (int64_t e = S->row_ptr[i]; e < S->row_ptr[i + 1]; e++)
            if (aggregate[S->col[e]] < 0) aggregate[S->col[e]] = (int32_t)*count;
        ++*count;
    }
}

/* The others join the aggregate of the neighbour, of those that `now` knows, to which their coupling is
 * strongest. */
static void join(const kry_sparse *S, const int32_t *now, int32_t *aggregate)
{
    const double *val = S->val;

    for (int64_t i = 0; i < S->rows; i++) {
        double strongest = 0;
        if (now[i] >= 0) continue;
        for (int64_t e = S->row_ptr[i]; e < S->row_ptr[i + 1]; e++)
            if (now[S->col[e]] >= 0 && val[e] > strongest)
                strongest = val[e], aggregate[i] = now[S->col[e]];
    }
}

kry_status kry_aggregate(const kry_sparse *S, bool large, int32_t *aggregate, int64_t *count)
{
    kry_status st = KRY_OK;
    const int64_t n = S->rows;
    int32_t *order = NULL;
    char *state = NULL;

    *count = 0;
    TRY(kry_alloc((size_t)n, sizeof *order, &order));
    TRY(kry_alloc((size_t)n, sizeof *state, &state));
    for (int64_t i = 0; i < n; i++) aggregate[i] = -1;
    TRY(by_priority(n, order));
    for (int pass = 0; pass < 2; pass++) {
        memset(state, FREE, (size_t)n);
        find_roots(S, order, aggregate, state);
        gather(S, state, pass == 0 ? 0 : 2, large, aggregate, count);
    }
    memcpy(order, aggregate, (size_t)n * sizeof *order);
    join(S, order, aggregate);
done:
    free(state);
    free(order);
    return st;
}
