/* graph_parts.c - parts of graphs, by METIS or by growth. */
#define _XOPEN_SOURCE 700 /* initstate */
#include "sparse/partition.h"
#include <stdlib.h>
#include <string.h>

/* ---- METIS ----------------------------------------------------------------------------------- */

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
    TRY(kryi_alloc((size_t)n, sizeof **out, out));
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
    TRY(kryi_alloc((size_t)parts, sizeof **target, target));
    for (int p = 0; p < parts; p++) (*target)[p] = (real_t)(shares[p] / sum);
done:
    return st;
}

static kry_status call_metis(const char *who, const kryi_csr *g, const int64_t *cost, int parts,
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
    TRY(kryi_alloc((size_t)edges, sizeof *neighbour, &neighbour));
    TRY(kryi_alloc((size_t)g->rows, sizeof *label, &label));
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
static void breadth_first(const kryi_csr *g, bool *seen, int32_t *order)
{
    int64_t end = 0, at = 0;
    for (int64_t root = 0; root < g->rows; root++) {
        if (!seen[root]) seen[root] = true, order[end++] = (int32_t)root;
        for (; at < end; at++)
            for (int64_t e = g->row_ptr[order[at]]; e < g->row_ptr[order[at] + 1]; e++)
                if (!seen[g->col[e]]) seen[g->col[e]] = true, order[end++] = g->col[e];
    }
}

static kry_status walk(const kryi_csr *g, const int64_t *cost, int parts, const double *shares,
                       int32_t *part)
{
    kry_status st = KRY_OK;
    bool *seen = NULL;
    int32_t *order = NULL;
    int64_t *sum = NULL, *first = NULL; /* of the costs in this order */

    TRY(kryi_alloc((size_t)g->rows, sizeof *seen, &seen));
    TRY(kryi_alloc((size_t)g->rows, sizeof *order, &order));
    TRY(kryi_alloc((size_t)g->rows + 1, sizeof *sum, &sum));
    TRY(kryi_alloc((size_t)parts + 1, sizeof *first, &first));
    breadth_first(g, seen, order);
    for (int64_t i = 0; i < g->rows; i++)
        sum[i + 1] = sum[i] + (cost ? cost[order[i]] - KRY_ROW_COST : 0);
    TRY(kryi_partition_by_rows(g->rows, sum, parts, shares, 1, first));
    for (int p = 0; p < parts; p++)
        for (int64_t i = first[p]; i < first[p + 1]; i++) part[order[i]] = p;
done:
    free(first);
    free(sum);
    free(order);
    free(seen);
    return st;
}

kry_status kryi_graph_parts(const char *who, const kryi_csr *g, const int64_t *cost, int parts,
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
kry_status kryi_graph_parts(const char *who, const kryi_csr *g, const int64_t *cost, int parts,
                            const double *shares, int32_t *part)
{
    (void)g, (void)cost, (void)parts, (void)shares, (void)part;
    return kry_fail(
        KRY_ERR_UNSUPPORTED,
        "%s: this kry was built without METIS; take rows, stripes, blocks, or labels from a file",
        who);
}
#endif

/* ---- parts that grow ------------------------------------------------------------------------- */

/* One part grows after the other, each from a node beside those that are full: nodes with two neighbours in the part
 * come first, then those that have waited longest. */

/* Nodes in the order in which they came; some may have a part by now. */
typedef struct line {
    int32_t *node; /* n */
    int64_t first, count;
} line;

typedef struct growth {
    const kryi_csr *graph;
    int32_t *part; /* of each node; -1: none yet */
    int32_t *
        seen; /* of each node: 2 p + 1, it has a neighbour in part p, which grows; 2 p + 2: two or more */
    line one, two;  /* nodes with such neighbours */
    line front;     /* nodes that were beside a part when it was full */
    bool *in_front; /* n */
    int64_t any;    /* all nodes before it have a part */
} growth;

static kry_status begin(const kryi_csr *graph, int32_t *part, growth *g)
{
    kry_status st = KRY_OK;
    const size_t n = (size_t)graph->rows;
    line *lines[] = { &g->one, &g->two, &g->front };

    *g = (growth){ .graph = graph, .part = part };
    for (size_t k = 0; k < COUNT(lines); k++)
        TRY(kryi_alloc(n, sizeof *lines[k]->node, &lines[k]->node));
    TRY(kryi_alloc(n, sizeof *g->seen, &g->seen));
    TRY(kryi_alloc(n, sizeof *g->in_front, &g->in_front));
    for (size_t i = 0; i < n; i++) part[i] = -1;
done:
    return st;
}

/* The first one without a part; -1: there is none. */
static int32_t first_of(const growth *g, line *l)
{
    while (l->first < l->count)
        if (g->part[l->node[l->first++]] < 0) return l->node[l->first - 1];
    return -1;
}

static int32_t next_node(growth *g)
{
    int32_t i = first_of(g, &g->two);

    if (i < 0) i = first_of(g, &g->one);
    if (i < 0) i = first_of(g, &g->front);
    if (i >= 0) return i;
    while (g->part[g->any] >= 0) g->any++;
    return (int32_t)g->any;
}

static void take(growth *g, int32_t i, int32_t p)
{
    const kryi_csr *G = g->graph;
    const int64_t once = 2 * (int64_t)p + 1;

    g->part[i] = p;
    for (int64_t e = G->row_ptr[i]; e < G->row_ptr[i + 1]; e++) {
        const int32_t j = G->col[e];
        if (g->part[j] >= 0 || g->seen[j] > once) continue;
        line *l = g->seen[j] == once ? &g->two : &g->one;
        g->seen[j] = once + (g->seen[j] == once);
        l->node[l->count++] = j;
    }
}

static void grow(growth *g, int32_t p, int64_t nodes)
{
    g->one.first = g->one.count = g->two.first = g->two.count = 0;
    for (int64_t k = 0; k < nodes; k++) take(g, next_node(g), p);
    for (int64_t k = 0; k < g->one.count; k++) {
        const int32_t j = g->one.node[k];
        if (g->part[j] >= 0 || g->in_front[j]) continue;
        g->in_front[j] = true;
        g->front.node[g->front.count++] = j;
    }
}

kry_status kryi_graph_grow(const kryi_csr *graph, int64_t parts, int32_t *part)
{
    kry_status st = KRY_OK;
    const int64_t n = graph->rows;
    growth g;

    TRY(begin(graph, part, &g));
    for (int64_t p = 0; p < parts; p++) grow(&g, (int32_t)p, n * (p + 1) / parts - n * p / parts);
done:
    free(g.one.node), free(g.two.node), free(g.front.node);
    free(g.seen), free(g.in_front);
    return st;
}
