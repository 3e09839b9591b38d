/* graph_parts.c - parts of graphs by METIS. */
#define _XOPEN_SOURCE 700 /* initstate */
#include "sparse/partition.h"
#include <stdlib.h>
#include <string.h>

#ifdef KRY_HAVE_METIS
#include <metis.h>
#include <signal.h>

/* While METIS works it takes SIGABRT and SIGTERM for its own, and seeds rand(). What belongs to the
 * program is put back; one call at a time, for all of this is the process's. */
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

#ifdef _WIN32
typedef int surroundings;
static void keep_surroundings(surroundings *s) { *s = 0; }
static void restore_surroundings(const surroundings *s) { (void)s; }
#else
typedef struct surroundings {
    struct sigaction abort, term;
    char *random, room[256];
} surroundings;

static void keep_surroundings(surroundings *s)
{
    sigaction(SIGABRT, NULL, &s->abort);
    sigaction(SIGTERM, NULL, &s->term);
    s->random = initstate(1, s->room, sizeof s->room); /* where rand() is random(), as in glibc */
}

static void restore_surroundings(const surroundings *s)
{
    setstate(s->random);
    sigaction(SIGTERM, &s->term, NULL);
    sigaction(SIGABRT, &s->abort, NULL);
}
#endif

static kry_status in_index(int64_t n, const int64_t *from, int64_t divisor, idx_t **out)
{
    kry_status st = KRY_OK;
    TRY(kry_alloc((size_t)n, sizeof **out, out));
    for (int64_t i = 0; i < n; i++) (*out)[i] = (idx_t)(from[i] / divisor);
done:
    return st;
}

/* Scale the costs down until their sum fits an idx_t, but none to zero: METIS would put any number of
 * such nodes into one part. */
static kry_status weigh(int64_t n, const int64_t *cost, idx_t **weight)
{
    kry_status st = KRY_OK;
    int64_t sum = 0;
    if (!cost) return KRY_OK;
    for (int64_t i = 0; i < n; i++) sum += cost[i];
    TRY(in_index(n, cost, sizeof(idx_t) > 4 ? 1 : 1 + sum / (1 << 29), weight));
    for (int64_t i = 0; i < n; i++)
        if ((*weight)[i] < 1) (*weight)[i] = 1;
done:
    return st;
}

static kry_status share_out(int parts, const double *shares, real_t **target)
{
    kry_status st = KRY_OK;
    double sum = 0;
    if (!shares) return KRY_OK;
    for (int p = 0; p < parts; p++) sum += shares[p];
    TRY(kry_alloc((size_t)parts, sizeof **target, target));
    for (int p = 0; p < parts; p++) (*target)[p] = (real_t)(shares[p] / sum);
done:
    return st;
}

static kry_status call_metis(const char *who, const kry_sparse *g, const int64_t *cost, int parts,
                             const double *shares, int32_t *part)
{
    kry_status st = KRY_OK;
    int64_t edges = g->row_ptr[g->rows];
    idx_t n = (idx_t)g->rows, one = 1, k = (idx_t)parts, cut, options[METIS_NOPTIONS];
    idx_t *start = NULL, *neighbour = NULL, *weight = NULL, *label = NULL;
    real_t *target = NULL;

    CHECK(sizeof(idx_t) > 4 || edges <= INT32_MAX, KRY_ERR_UNSUPPORTED,
          "%s: %lld entries are too many for this METIS", who, (long long)edges);
    TRY(in_index(g->rows + 1, g->row_ptr, 1, &start));
    TRY(kry_alloc((size_t)edges, sizeof *neighbour, &neighbour));
    TRY(kry_alloc((size_t)g->rows, sizeof *label, &label));
    for (int64_t e = 0; e < edges; e++) neighbour[e] = g->col[e];
    TRY(weigh(g->rows, cost, &weight));
    TRY(share_out(parts, shares, &target));
    METIS_SetDefaultOptions(options);
    options[METIS_OPTION_SEED] = 1;
    /* for grids in 2 to 8 parts the volume is 5 to 20 % less than with few edges cut */
    options[METIS_OPTION_OBJTYPE] = cost ? METIS_OBJTYPE_VOL : METIS_OBJTYPE_CUT;
    surroundings outside;
    pthread_mutex_lock(&one_at_a_time);
    keep_surroundings(&outside);
    int code = METIS_PartGraphKway(&n, &one, start, neighbour, weight, NULL, NULL, &k, target, NULL,
                                   options, &cut, label);
    restore_surroundings(&outside);
    pthread_mutex_unlock(&one_at_a_time);
    CHECK(code != METIS_ERROR_MEMORY, KRY_ERR_MEMORY, "%s: METIS had no memory for %d parts", who,
          parts);
    CHECK(
        code == METIS_OK, KRY_ERR_UNSUPPORTED,
        "%s: METIS cannot cut this graph of %lld nodes and %lld edges into %d parts (its error %d)",
        who, (long long)g->rows, (long long)edges / 2, parts, code);
    for (int64_t i = 0; i < g->rows; i++) part[i] = (int32_t)label[i];
done:
    free(target);
    free(label);
    free(weight);
    free(neighbour);
    free(start);
    return st;
}

/* order := the nodes, breadth first. `seen`: n zeros. */
static void breadth_first(const kry_sparse *g, bool *seen, int32_t *order)
{
    int64_t end = 0, at = 0;
    for (int64_t root = 0; root < g->rows; root++) {
        if (!seen[root]) seen[root] = true, order[end++] = (int32_t)root;
        for (; at < end; at++)
            for (int64_t e = g->row_ptr[order[at]]; e < g->row_ptr[order[at] + 1]; e++)
                if (!seen[g->col[e]]) seen[g->col[e]] = true, order[end++] = g->col[e];
    }
}

static kry_status walk(const kry_sparse *g, const int64_t *cost, int parts, const double *shares,
                       int32_t *part)
{
    kry_status st = KRY_OK;
    bool *seen = NULL;
    int32_t *order = NULL;
    int64_t *sum = NULL, *first = NULL; /* of the costs in this order */

    TRY(kry_alloc((size_t)g->rows, sizeof *seen, &seen));
    TRY(kry_alloc((size_t)g->rows, sizeof *order, &order));
    TRY(kry_alloc((size_t)g->rows + 1, sizeof *sum, &sum));
    TRY(kry_alloc((size_t)parts + 1, sizeof *first, &first));
    breadth_first(g, seen, order);
    for (int64_t i = 0; i < g->rows; i++)
        sum[i + 1] = sum[i] + (cost ? cost[order[i]] - KRY_ROW_COST : 0);
    TRY(kry_partition_by_rows(g->rows, sum, parts, shares, 1, first));
    for (int p = 0; p < parts; p++)
        for (int64_t i = first[p]; i < first[p + 1]; i++) part[order[i]] = p;
done:
    free(first);
    free(sum);
    free(order);
    free(seen);
    return st;
}

kry_status kry_graph_parts(const char *who, const kry_sparse *g, const int64_t *cost, int parts,
                           const double *shares, int32_t *part)
{
    enum { LEAST = 8 }; /* nodes in a part */
    if (parts == 1) {
        memset(part, 0, (size_t)g->rows * sizeof *part);
        return KRY_OK;
    }
    return g->rows / parts < LEAST ? walk(g, cost, parts, shares, part)
                                   : call_metis(who, g, cost, parts, shares, part);
}
#else
kry_status kry_graph_parts(const char *who, const kry_sparse *g, const int64_t *cost, int parts,
                           const double *shares, int32_t *part)
{
    (void)g, (void)cost, (void)parts, (void)shares, (void)part;
    return kry_fail(
        KRY_ERR_UNSUPPORTED,
        "%s: this kry was built without METIS; take rows, stripes, blocks, or labels from a file",
        who);
}
#endif
