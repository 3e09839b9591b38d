/* graph.c - labels from parts of a matrix's graph (sparse/graph_parts.h), its nodes all alike. */
#include "operator/op_parts.h"
#include "operator/pin.h"
#include "precond/labels.h"
#include "precond/rows.h"
#include "sparse/partition.h"
#include <stdlib.h>
#include <string.h>

static kry_status read_graph(const kry_op *A, kry_sparse *graph)
{
    kry_status st = KRY_OK;
    kry_sparse rows = { 0 };

    st = kry_rows_download(A, &rows);
    CHECK(st != KRY_ERR_UNSUPPORTED, KRY_ERR_UNSUPPORTED,
          "kry_labels_graph: '%s' has no entries that can be read; take labels of another kind",
          kry_op_piece(A, 0)->table->kind);
    TRY(st);
    TRY(kry_sparse_graph(&rows, graph));
done:
    kry_sparse_release(&rows);
    return st;
}

kry_status kry_labels_graph(const kry_op *A, int64_t k, int32_t *labels, int64_t *count)
{
    kry_status st = KRY_OK;
    kry_sparse graph = { 0 };
    int32_t *part = NULL, *number = NULL;

    CHECK(A && labels && count, KRY_ERR_ARGUMENT, "kry_labels_graph: NULL");
    int64_t n = A->shape.rows;
    TRY(kry_op_check_square("kry_labels_graph", A));
    CHECK(k >= 1 && k <= n, KRY_ERR_ARGUMENT, "kry_labels_graph: %lld parts of %lld unknowns",
          (long long)k, (long long)n);
    TRY(read_graph(kry_pin_of(A), &graph));
    TRY(kry_alloc((size_t)n, sizeof *part, &part));
    TRY(kry_alloc((size_t)k, sizeof *number, &number));
    TRY(kry_graph_parts("kry_labels_graph", &graph, NULL, (int)k, NULL, part));
    kry_labels_renumber(n, part, k, number, count);
    memcpy(labels, part, (size_t)n * sizeof *part);
done:
    free(number);
    free(part);
    kry_sparse_release(&graph);
    return st;
}
