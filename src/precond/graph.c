/*
 * graph.c - parts of a matrix's graph by METIS: fixed seed, no weights, and everything else as
 * METIS likes it (k-way, 3 % imbalance, edges cut as objective).
 */
#include "../core/pin.h"
#include "../stencil/stencil.h"
#include "labels.h"
#include "rows.h"
#include <kry/formats.h>
#include <stdlib.h>
#include <string.h>

/* Compressed rows without numbers. */
typedef struct pattern {
    int64_t n, *row_ptr; /* n+1 */
    int32_t *col;        /* ascending in a row */
} pattern;

static void pattern_release(pattern *p)
{
    free(p->row_ptr);
    free(p->col);
}

static kry_status read_pattern(const kry_op *A, pattern *p)
{
    kry_status st = KRY_OK;
    kry_raw_rows rows;

    st = kry_raw_rows_read(A, &rows);
    CHECK(st != KRY_ERR_UNSUPPORTED, KRY_ERR_UNSUPPORTED,
          "kry_labels_graph: '%s' has no entries that can be read; take labels of another kind",
          A->table->kind);
    TRY(st);
    *p = (pattern){ rows.n, rows.row_ptr, rows.col };
    rows.row_ptr = NULL, rows.col = NULL;
    kry_raw_rows_release(&rows);
done:
    return st;
}

static kry_status transpose(const pattern *p, pattern *t)
{
    kry_status st = KRY_OK;
    int64_t nnz = p->row_ptr[p->n];

    t->n = p->n;
    TRY(kry_alloc((size_t)t->n + 2, sizeof *t->row_ptr, &t->row_ptr));
    TRY(kry_alloc((size_t)nnz, sizeof *t->col, &t->col));
    for (int64_t e = 0; e < nnz; e++) t->row_ptr[p->col[e] + 2]++;
    for (int64_t i = 1; i <= t->n + 1; i++) t->row_ptr[i] += t->row_ptr[i - 1];
    for (int64_t i = 0; i < p->n; i++) /* row_ptr[j + 1]: where row j goes on */
        for (int64_t e = p->row_ptr[i]; e < p->row_ptr[i + 1]; e++)
            t->col[t->row_ptr[p->col[e] + 1]++] = (int32_t)i;
done:
    return st;
}

/* Row i of p or of t, without the diagonal, to `out`; how many. */
static int64_t merge_row(const pattern *p, const pattern *t, int64_t i, int32_t *out)
{
    int64_t a = p->row_ptr[i], b = t->row_ptr[i], count = 0;
    while (a < p->row_ptr[i + 1] || b < t->row_ptr[i + 1]) {
        int32_t ca = a < p->row_ptr[i + 1] ? p->col[a] : INT32_MAX;
        int32_t cb = b < t->row_ptr[i + 1] ? t->col[b] : INT32_MAX;
        int32_t col = ca < cb ? ca : cb;
        a += ca == col, b += cb == col;
        if (col != i) out[count++] = col;
    }
    return count;
}

static kry_status symmetrise(const pattern *p, pattern *graph)
{
    kry_status st = KRY_OK;
    pattern t = { .n = 0 };

    TRY(transpose(p, &t));
    graph->n = p->n;
    TRY(kry_alloc((size_t)p->n + 1, sizeof *graph->row_ptr, &graph->row_ptr));
    TRY(kry_alloc(2 * (size_t)p->row_ptr[p->n], sizeof *graph->col, &graph->col));
    for (int64_t i = 0; i < p->n; i++)
        graph->row_ptr[i + 1] =
            graph->row_ptr[i] + merge_row(p, &t, i, graph->col + graph->row_ptr[i]);
done:
    pattern_release(&t);
    return st;
}

#ifdef KRY_HAVE_METIS
#include <metis.h>

static idx_t *in_index(int64_t n, const int64_t *from)
{
    idx_t *out = NULL;
    if (kry_alloc((size_t)n, sizeof *out, &out) < 0) return NULL;
    for (int64_t i = 0; i < n; i++) out[i] = (idx_t)from[i];
    return out;
}

static kry_status call_metis(const pattern *g, int64_t k, int32_t *labels)
{
    kry_status st = KRY_OK;
    int64_t edges = g->row_ptr[g->n];
    idx_t n = (idx_t)g->n, one = 1, parts = (idx_t)k, cut, options[METIS_NOPTIONS];
    idx_t *start = NULL, *neighbour = NULL, *part = NULL;

    CHECK(sizeof(idx_t) > 4 || edges <= INT32_MAX, KRY_ERR_UNSUPPORTED,
          "kry_labels_graph: %lld entries are too many for this METIS", (long long)edges);
    start = in_index(g->n + 1, g->row_ptr);
    CHECK(start, KRY_ERR_MEMORY, "kry_labels_graph: no host memory for the graph");
    TRY(kry_alloc((size_t)edges, sizeof *neighbour, &neighbour));
    TRY(kry_alloc((size_t)g->n, sizeof *part, &part));
    for (int64_t e = 0; e < edges; e++) neighbour[e] = g->col[e];
    METIS_SetDefaultOptions(options);
    options[METIS_OPTION_SEED] = 1;
    int code = METIS_PartGraphKway(&n, &one, start, neighbour, NULL, NULL, NULL, &parts, NULL, NULL,
                                   options, &cut, part);
    CHECK(code != METIS_ERROR_MEMORY, KRY_ERR_MEMORY,
          "kry_labels_graph: METIS had no memory for %lld parts", (long long)k);
    CHECK(code == METIS_OK, KRY_ERR_UNSUPPORTED, "kry_labels_graph: METIS returned %d", code);
    for (int64_t i = 0; i < g->n; i++) labels[i] = (int32_t)part[i];
done:
    free(part);
    free(neighbour);
    free(start);
    return st;
}

/* Parts of less than 8 unknowns, of which METIS leaves some empty, and says so on stdout: stripes
 * in the order of a walk, breadth first. */
static kry_status walk(const pattern *g, int64_t k, int32_t *labels)
{
    kry_status st = KRY_OK;
    int32_t *queue = NULL, *stripe = NULL;
    int64_t end = 0, at = 0;

    TRY(kry_alloc((size_t)g->n, sizeof *queue, &queue));
    TRY(kry_alloc((size_t)g->n, sizeof *stripe, &stripe));
    TRY(kry_labels_stripes(g->n, k, stripe));
    for (int64_t i = 0; i < g->n; i++) labels[i] = -1;
    for (int64_t root = 0; root < g->n; root++) {
        if (labels[root] < 0) labels[root] = stripe[end], queue[end++] = (int32_t)root;
        for (; at < end; at++)
            for (int64_t e = g->row_ptr[queue[at]]; e < g->row_ptr[queue[at] + 1]; e++)
                if (labels[g->col[e]] < 0)
                    labels[g->col[e]] = stripe[end], queue[end++] = g->col[e];
    }
done:
    free(stripe);
    free(queue);
    return st;
}

static kry_status partition(const pattern *g, int64_t k, int32_t *labels)
{
    enum { LEAST = 8 }; /* unknowns in a part */
    if (k == 1) return memset(labels, 0, (size_t)g->n * sizeof *labels), KRY_OK;
    return g->n / k < LEAST ? walk(g, k, labels) : call_metis(g, k, labels);
}
#else
static kry_status partition(const pattern *g, int64_t k, int32_t *labels)
{
    (void)g, (void)k, (void)labels;
    return kry_fail(KRY_ERR_UNSUPPORTED, "kry_labels_graph: this kry was built without METIS; take "
                                         "stripes, blocks, or labels from a file");
}
#endif

kry_status kry_labels_graph(const kry_op *A, int64_t k, int32_t *labels, int64_t *count)
{
    kry_status st = KRY_OK;
    pattern p = { .n = 0 }, graph = { .n = 0 };
    int32_t *part = NULL, *number = NULL;

    CHECK(A && labels && count, KRY_ERR_ARGUMENT, "kry_labels_graph: NULL");
    int64_t n = A->shape.rows;
    TRY(kry_op_check_square("kry_labels_graph", A));
    CHECK(k >= 1 && k <= n, KRY_ERR_ARGUMENT, "kry_labels_graph: %lld parts of %lld unknowns",
          (long long)k, (long long)n);
    TRY(read_pattern(kry_pin_of(A), &p));
    TRY(symmetrise(&p, &graph));
    TRY(kry_alloc((size_t)n, sizeof *part, &part));
    TRY(kry_alloc((size_t)k, sizeof *number, &number));
    TRY(partition(&graph, k, part));
    kry_labels_renumber(n, part, k, number, count);
    memcpy(labels, part, (size_t)n * sizeof *part);
done:
    free(number);
    free(part);
    pattern_release(&graph);
    pattern_release(&p);
    return st;
}
