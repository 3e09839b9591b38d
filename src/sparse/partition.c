/*
 * partition.c - which part gets which rows: contiguous blocks of equal cost, or parts by METIS; and
 * how many words are then exchanged.
 */
#include "sparse/partition.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static kry_status check_parts(const char *who, int64_t n, int parts, const double *shares)
{
    kry_status st = KRY_OK;
    CHECK(parts >= 1, KRY_ERR_ARGUMENT, "%s: %d parts", who, parts);
    CHECK(n >= parts, KRY_ERR_ARGUMENT, "%s: %lld rows cannot be shared among %d parts", who,
          (long long)n, parts);
    for (int p = 0; shares && p < parts; p++)
        CHECK(shares[p] > 0 && isfinite(shares[p]), KRY_ERR_ARGUMENT,
              "%s: share %g of part %d is not positive", who, shares[p], p);
done:
    return st;
}

/* ---- contiguous blocks ---------------------------------------------------------------------
 *
 * Rows are cut between units of `multiple` rows. For a limit on cost / share, high[p] is the last
 * unit at which part p can begin: all parts before it are then as large as the limit allows. low[p]
 * is the first one: p and all parts behind it are then as large as that. The limit is large enough
 * if high[parts] is the end. */

typedef struct cutting {
    int64_t n, multiple, units;
    const int64_t *row_ptr;
    int parts;
    const double *shares;
    int64_t *low, *high; /* parts+1 */
} cutting;

static double share_of(const cutting *c, int p) { return c->shares ? c->shares[p] : 1; }

/* The cost of all rows before this unit. */
static int64_t cost_before(const cutting *c, int64_t unit)
{
    int64_t row = unit < c->units ? unit * c->multiple : c->n;
    return KRY_ROW_COST * row + (c->row_ptr ? c->row_ptr[row] - c->row_ptr[0] : 0);
}

int kryi_interval_of(const int64_t *begin, int count, int64_t at)
{
    int low = 0, high = count - 1;

    while (low < high) {
        const int middle = (low + high + 1) / 2;
        if (begin[middle] <= at)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* The last unit whose cost before it is at most `cost`, which is not negative. */
static int64_t last_within(const cutting *c, int64_t cost)
{
    int64_t low = 0, high = c->units;
    while (low < high) {
        int64_t middle = low + (high - low + 1) / 2;
        if (cost_before(c, middle) <= cost)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* The first unit whose cost before it is at least `cost`, which is at most that of all. */
static int64_t first_beyond(const cutting *c, int64_t cost)
{
    return cost > 0 ? last_within(c, cost - 1) + 1 : 0;
}

/* A whole number, so that a block fits or not whichever end it is measured from. */
static int64_t allowed(const cutting *c, int p, double limit)
{
    return (int64_t)fmin(limit * share_of(c, p), (double)cost_before(c, c->units));
}

static int64_t reach(const cutting *c, int64_t begin, int p, double limit)
{
    return last_within(c, cost_before(c, begin) + allowed(c, p, limit));
}

static bool fits(const cutting *c, double limit)
{
    for (int p = 0; p < c->parts; p++) c->high[p + 1] = reach(c, c->high[p], p, limit);
    return c->high[c->parts] == c->units;
}

/* The least limit that will do, or a number 1e-14 larger. */
static double least_limit(const cutting *c)
{
    double all = (double)cost_before(c, c->units), sum = 0, least = INFINITY;
    for (int p = 0; p < c->parts; p++) {
        sum += share_of(c, p);
        least = fmin(least, share_of(c, p));
    }
    double low = all / sum, high = 2 * all / least; /* the slowest part can take all */
    while (high > low * (1 + 1e-14)) {
        double middle = sqrt(low) * sqrt(high);
        if (!(middle > low && middle < high)) break;
        *(fits(c, middle) ? &high : &low) = middle;
    }
    return high;
}

static int64_t nearest_unit(const cutting *c, double cost)
{
    int64_t unit = last_within(c, (int64_t)cost);
    if (unit == c->units) return unit;
    double below = cost - (double)cost_before(c, unit);
    return (double)cost_before(c, unit + 1) - cost < below ? unit + 1 : unit;
}

/* cut[p] := the unit where part p begins: as near to its share as the limit leaves room for. */
static void choose_cuts(const cutting *c, double limit, int64_t *cut)
{
    double all = (double)cost_before(c, c->units), sum = 0, before = 0;
    for (int p = 0; p < c->parts; p++) sum += share_of(c, p);
    c->low[c->parts] = c->units;
    for (int p = c->parts - 1; p > 0; p--)
        c->low[p] = first_beyond(c, cost_before(c, c->low[p + 1]) - allowed(c, p, limit));
    cut[0] = 0;
    cut[c->parts] = c->units;
    for (int p = 1; p < c->parts; p++) {
        int64_t high = reach(c, cut[p - 1], p - 1, limit);
        before += share_of(c, p - 1);
        cut[p] = nearest_unit(c, all * (before / sum));
        if (cut[p] > high) cut[p] = high;
        if (cut[p] < c->low[p]) cut[p] = c->low[p];
        if (cut[p] < cut[p - 1]) cut[p] = cut[p - 1];
    }
    /* a part without rows takes one unit; there are enough for all */
    for (int p = 1; p < c->parts; p++)
        if (cut[p] <= cut[p - 1]) cut[p] = cut[p - 1] + 1;
    for (int p = c->parts - 1; p > 0; p--)
        if (cut[p] >= cut[p + 1]) cut[p] = cut[p + 1] - 1;
}

kry_status kryi_partition_by_rows(int64_t n, const int64_t *row_ptr, int parts,
                                  const double *shares, int64_t multiple, int64_t *first)
{
    kry_status st = KRY_OK;
    cutting c = { n, multiple, 0, row_ptr, parts, shares, NULL, NULL };
    int64_t *cut = NULL;

    TRY(check_parts("kryi_partition_by_rows", n, parts, shares));
    c.units = (n + multiple - 1) / multiple;
    CHECK(c.units >= parts, KRY_ERR_ARGUMENT,
          "kryi_partition_by_rows: %lld rows are %lld times %lld, too few for %d parts",
          (long long)n, (long long)c.units, (long long)multiple, parts);
    TRY(kryi_alloc((size_t)parts + 1, sizeof *c.low, &c.low));
    TRY(kryi_alloc((size_t)parts + 1, sizeof *c.high, &c.high));
    TRY(kryi_alloc((size_t)parts + 1, sizeof *cut, &cut));
    choose_cuts(&c, least_limit(&c), cut);
    for (int p = 0; p < parts; p++) first[p] = cut[p] * multiple;
    first[parts] = n;
done:
    free(cut);
    free(c.high);
    free(c.low);
    return st;
}

/* ---- METIS ----------------------------------------------------------------------------------- */

/* A part without rows gets the first row of the part that has most. */
static void fill_empty_parts(int64_t n, int parts, int64_t *count, int32_t *part)
{
    for (int64_t i = 0; i < n; i++) count[part[i]]++;
    for (int p = 0; p < parts; p++) {
        if (count[p]) continue;
        int most = 0;
        for (int q = 1; q < parts; q++)
            if (count[q] > count[most]) most = q;
        int64_t i = 0;
        while (part[i] != most) i++;
        part[i] = p;
        count[most]--, count[p]++;
    }
}

kry_status kryi_partition_by_graph(const kryi_csr *A, int parts, const double *shares,
                                   int32_t *part)
{
    kry_status st = KRY_OK;
    static const char who[] = "kryi_partition_by_graph";
    kryi_csr graph = { 0 };
    int64_t *cost = NULL, *count = NULL;

    TRY(check_parts(who, A->rows, parts, shares));
    TRY(kryi_alloc((size_t)A->rows, sizeof *cost, &cost));
    TRY(kryi_alloc((size_t)parts, sizeof *count, &count));
    for (int64_t i = 0; i < A->rows; i++) cost[i] = KRY_ROW_COST + kryi_row_length(A, i);
    TRY(kryi_csr_graph(A, &graph));
    TRY(kryi_graph_parts(who, &graph, cost, parts, shares, part));
    fill_empty_parts(A->rows, parts, count, part);
done:
    kryi_csr_release(&graph);
    free(count);
    free(cost);
    return st;
}

void kryi_partition_order(int64_t n, int parts, const int32_t *part, int64_t *first, int32_t *order)
{
    memset(first, 0, ((size_t)parts + 1) * sizeof *first);
    for (int64_t i = 0; i < n; i++) first[part[i] + 1]++;
    for (int p = 0; p < parts; p++) first[p + 1] += first[p];
    for (int64_t i = 0; i < n; i++) order[first[part[i]]++] = (int32_t)i;
    for (int p = parts; p > 0; p--) first[p] = first[p - 1]; /* each stands where the next began */
    first[0] = 0;
}

/* ---- volumes --------------------------------------------------------------------------------- */

typedef struct counting {
    const kryi_csr *A;
    int parts;
    const int32_t *part;
    int32_t *reader; /* rows: the last part that got this entry of x, and 1; 0: none yet */
    bool *talks;     /* parts-by-parts */
} counting;

static void count_row(const counting *c, int64_t i, kry_part_volume *volume)
{
    int32_t p = c->part[i];
    bool coupled = false;
    for (int64_t e = c->A->row_ptr[i]; e < c->A->row_ptr[i + 1]; e++) {
        int32_t j = c->A->col[e], q = c->part[j];
        coupled |= q != p;
        if (q == p || c->reader[j] == p + 1) continue;
        c->reader[j] = p + 1;
        volume[p].received++;
        volume[q].sent++;
        c->talks[(int64_t)p * c->parts + q] = c->talks[(int64_t)q * c->parts + p] = true;
    }
    volume[p].rows++;
    volume[p].entries += kryi_row_length(c->A, i);
    volume[p].coupled += coupled;
}

kry_status kryi_partition_volume(const kryi_csr *A, int parts, const int32_t *part,
                                 kry_part_volume *volume)
{
    kry_status st = KRY_OK;
    counting c = { A, parts, part, NULL, NULL };
    int32_t *order = NULL; /* rows by parts, so that `reader` needs to know the last part only */
    int64_t *first = NULL;

    TRY(kryi_alloc((size_t)A->rows, sizeof *c.reader, &c.reader));
    TRY(kryi_alloc((uint64_t)parts * (size_t)parts, sizeof *c.talks, &c.talks));
    TRY(kryi_alloc((size_t)A->rows, sizeof *order, &order));
    TRY(kryi_alloc((size_t)parts + 1, sizeof *first, &first));
    kryi_partition_order(A->rows, parts, part, first, order);
    memset(volume, 0, (size_t)parts * sizeof *volume);
    for (int64_t k = 0; k < A->rows; k++) count_row(&c, order[k], volume);
    for (int p = 0; p < parts; p++)
        for (int q = 0; q < parts; q++) volume[p].neighbours += c.talks[(int64_t)p * parts + q];
done:
    free(first);
    free(order);
    free(c.talks);
    free(c.reader);
    return st;
}
