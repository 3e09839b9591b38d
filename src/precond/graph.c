/*
 * graph.c - labels from parts of a matrix's graph (sparse/graph_parts.h), its nodes all alike.
 */
#include "operator/op_parts.h"
#include "operator/pin.h"
#include "precond/couplings.h"
#include "precond/labels.h"
#include "precond/rows.h"
#include "sparse/graph_parts.h"
#include <kry/formats.h>
#include <stdlib.h>
#include <string.h>

/* ---- of an operator on a team ---------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* The rows of part r, into where they belong: col NULL: their lengths, in row_ptr[row + 1]. */
static void place_rows(const kry_split *s, int r, const kry_couplings *rows, const int64_t *place,
                       int64_t *row_ptr, int32_t *col)
{
    for (int64_t i = 0; i < rows->n; i++) {
        int32_t room[7];
        const int32_t *cols;
        int64_t count = kry_couplings_at(rows, i, room, &cols),
                row = kry_split_row(s, s->first[r] + i);
        if (!col) {
            row_ptr[row + 1] = count;
            continue;
        }
        int32_t *to = col + row_ptr[row];
        for (int64_t j = 0; j < count; j++) {
            int64_t c = cols[j] < rows->n ? s->first[r] + cols[j] : place[cols[j] - rows->n];
            to[j] = (int32_t)kry_split_row(s, c);
        }
        qsort(to, (size_t)count, sizeof *to, ascending);
    }
}

/* Lengths, or columns, of the rows of part r. */
static kry_status add_rows(const kry_op *A, int r, int64_t *row_ptr, int32_t *col)
{
    kry_status st = KRY_OK;
    const kry_op *part = kry_op_on_part(A, r);
    kry_couplings rows = { 0 };
    int64_t beyond, *place = NULL;

    TRY(kry_couplings_of(part, &rows));
    CHECK(rows.known, KRY_ERR_UNSUPPORTED,
          "kry_labels_graph: '%s' has no entries that can be read; take labels of another kind",
          part->table->kind);
    TRY(kry_couplings_beyond(part, &beyond, &place));
    place_rows(kry_op_split(A), r, &rows, place, row_ptr, col);
done:
    free(place);
    kry_couplings_release(&rows);
    return st;
}

static kry_status read_parts(const kry_op *A, kry_graph *graph)
{
    kry_status st = KRY_OK;
    int64_t n = A->shape.rows, *row_ptr = NULL;
    int32_t *col = NULL;

    TRY(kry_alloc((size_t)n + 1, sizeof *row_ptr, &row_ptr));
    for (int r = 0; r < kry_op_parts(A); r++) TRY(add_rows(A, r, row_ptr, NULL));
    for (int64_t i = 0; i < n; i++) row_ptr[i + 1] += row_ptr[i];
    TRY(kry_alloc((size_t)row_ptr[n], sizeof *col, &col));
    for (int r = 0; r < kry_op_parts(A); r++) TRY(add_rows(A, r, row_ptr, col));
    TRY(kry_graph_create(n, row_ptr, col, graph));
done:
    free(col);
    free(row_ptr);
    return st;
}

/* ---- of any ---------------------------------------------------------------------------------- */

static kry_status read_graph(const kry_op *A, kry_graph *graph)
{
    kry_status st = KRY_OK;
    kry_raw_rows rows = { .n = 0 };

    if (kry_op_in_parts(A)) return read_parts(A, graph);
    st = kry_raw_rows_read(A, &rows);
    CHECK(st != KRY_ERR_UNSUPPORTED, KRY_ERR_UNSUPPORTED,
          "kry_labels_graph: '%s' has no entries that can be read; take labels of another kind",
          A->table->kind);
    TRY(st);
    TRY(kry_graph_create(rows.n, rows.row_ptr, rows.col, graph));
done:
    kry_raw_rows_release(&rows);
    return st;
}

kry_status kry_labels_graph(const kry_op *A, int64_t k, int32_t *labels, int64_t *count)
{
    kry_status st = KRY_OK;
    kry_graph graph = { .n = 0 };
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
    kry_graph_release(&graph);
    return st;
}
