/*
 * rcm.c - reverse Cuthill-McKee: an order of a graph's nodes in which neighbours are near each other.
 *
 * Source  E. Cuthill, J. McKee, Reducing the bandwidth of sparse symmetric matrices, Proc. 24th Nat. Conf. ACM
 *         (1969), 157-172, doi:10.1145/800195.805928; where to begin: A. George, J. W. H. Liu, An
 *         implementation of a pseudoperipheral node finder, ACM Trans. Math. Softw. 5 (1979), 284-295,
 *         doi:10.1145/355841.355845
 */
#include "sparse/csr.h"
#include <stdlib.h>

typedef struct search {
    const kryi_csr *graph;
    int32_t *seen; /* of each node: the number of the last walk that came there; 0: none */
    int32_t walks;
    int64_t *near; /* room for the neighbours of a node: degree, then number */
} search;

static int64_t degree(const search *S, int32_t node) { return kryi_row_length(S->graph, node); }

/* Walk from a node in breadth. order: gets the nodes that are met. Returns how many; *last: where those that are
 * farthest away begin, *depth: how far. */
static int64_t walk(search *S, int32_t from, int32_t *order, int64_t *last, int64_t *depth)
{
    const kryi_csr *G = S->graph;
    int64_t count = 1, end = 1;

    S->walks++;
    S->seen[order[0] = from] = S->walks;
    *last = *depth = 0;
    for (int64_t k = 0; k < count; k++) {
        if (k == end) *last = k, end = count, ++*depth;
        for (int64_t e = G->row_ptr[order[k]]; e < G->row_ptr[order[k] + 1]; e++) {
            const int32_t node = G->col[e];
            if (S->seen[node] == S->walks) continue;
            S->seen[node] = S->walks;
            order[count++] = node;
        }
    }
    return count;
}

/* A node at one end of the part of the graph in which `node` lies. order: room. */
static int32_t find_end(search *S, int32_t node, int32_t *order)
{
    enum { MOST = 10 }; /* walks; two to four are enough */
    int64_t farthest = -1, last, depth;

    for (int i = 0; i < MOST; i++) {
        const int64_t count = walk(S, node, order, &last, &depth);
        if (depth <= farthest) break;
        farthest = depth;
        node = order[last];
        for (int64_t k = last + 1; k < count; k++)
            if (degree(S, order[k]) < degree(S, node)) node = order[k];
    }
    return node;
}

static int ascending(const void *a, const void *b)
{
    const int64_t i = *(const int64_t *)a, j = *(const int64_t *)b;
    return (i > j) - (i < j);
}

/* order[count ...] := the neighbours of a node that have no place yet, those of few neighbours first. */
static int64_t add_neighbours(search *S, int32_t of, bool *placed, int32_t *order, int64_t count)
{
    const kryi_csr *G = S->graph;
    size_t found = 0;

    for (int64_t e = G->row_ptr[of]; e < G->row_ptr[of + 1]; e++)
        if (!placed[G->col[e]]) {
            placed[G->col[e]] = true;
            S->near[found++] = degree(S, G->col[e]) << 32 | G->col[e];
        }
    qsort(S->near, found, sizeof *S->near, ascending);
    for (size_t i = 0; i < found; i++) order[count + (int64_t)i] = (int32_t)S->near[i];
    return count + (int64_t)found;
}

kry_status kryi_csr_rcm(const kryi_csr *graph, int32_t *order)
{
    kry_status st = KRY_OK;
    const int64_t n = graph->rows;
    search S = { .graph = graph };
    bool *placed = NULL;
    int64_t count = 0;

    TRY(kryi_alloc((size_t)n, sizeof *S.seen, &S.seen));
    TRY(kryi_alloc((size_t)kryi_longest_row(graph), sizeof *S.near, &S.near));
    TRY(kryi_alloc((size_t)n, sizeof *placed, &placed));
    for (int32_t node = 0; node < n; node++) {
        if (placed[node]) continue;
        int64_t next = count;
        const int32_t first = find_end(&S, node, order + count);
        placed[order[count++] = first] = true;
        while (next < count) count = add_neighbours(&S, order[next++], placed, order, count);
    }
    for (int64_t a = 0, b = n - 1; a < b; a++, b--) {
        const int32_t t = order[a];
        order[a] = order[b], order[b] = t;
    }
done:
    free(placed);
    free(S.near);
    free(S.seen);
    return st;
}

double kryi_csr_mean_bandwidth(const kryi_csr *A, const int32_t *place)
{
    double sum = 0;

    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++) {
            const int64_t j = A->col[e];
            sum += place ? abs(place[i] - place[j]) : (double)(i < j ? j - i : i - j);
        }
    return kryi_csr_nnz(A) ? sum / (double)kryi_csr_nnz(A) : 0;
}
