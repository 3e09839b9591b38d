/* grow_parts.c - parts of graphs that grow one after the other, each from a node beside those that are full: nodes with two neighbours in
 * the part come first, then those that have waited longest. */
#include "sparse/partition.h"
#include <stdlib.h>

/* Nodes in the order in which they came; some may have a part by now. */
typedef struct line {
    int32_t *node; /* n */
    int64_t first, count;
} line;

typedef struct growth {
    const kry_sparse *graph;
    int32_t *part; /* of each node; -1: none yet */
    int32_t *
        seen; /* of each node: 2 p + 1, it has a neighbour in part p, which grows; 2 p + 2: two or more */
    line one, two;  /* nodes with such neighbours */
    line front;     /* nodes that were beside a part when it was full */
    bool *in_front; /* n */
    int64_t any;    /* all nodes before it have a part */
} growth;

static kry_status begin(const kry_sparse *graph, int32_t *part, growth *g)
{
    kry_status st = KRY_OK;
    const size_t n = (size_t)graph->rows;
    line *lines[] = { &g->one, &g->two, &g->front };

    *g = (growth){ .graph = graph, .part = part };
    for (size_t k = 0; k < COUNT(lines); k++)
        TRY(kry_alloc(n, sizeof *lines[k]->node, &lines[k]->node));
    TRY(kry_alloc(n, sizeof *g->seen, &g->seen));
    TRY(kry_alloc(n, sizeof *g->in_front, &g->in_front));
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
    const kry_sparse *G = g->graph;
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

kry_status kry_graph_grow(const kry_sparse *graph, int64_t parts, int32_t *part)
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
