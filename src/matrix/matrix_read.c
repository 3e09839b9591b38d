/* matrix_read.c - the entries of a stored matrix on a team, of all parts in the order of rows. */
#include "matrix/coupled.h"
#include "matrix/extended.h"
#include "matrix/matrix.h"
#include "matrix/matrix_parts.h"
#include "operator/op_parts.h"
#include <stdlib.h>
#include <string.h>

/* What one part has: entries in its own columns, or in all that it meets, and those far away. */
typedef struct entries {
    kry_matrix *matrix; /* borrowed */
    kry_wide_columns wide;
    bool is_wide;
    int64_t first; /* of its rows, in places */
    int64_t *row_ptr;
    int32_t *col;
    void *val;
    kry_far_entries far;
} entries;

static void entries_release(entries *e)
{
    free(e->row_ptr);
    free(e->col);
    free(e->val);
    kry_far_entries_release(&e->far);
}

static kry_status find_matrix(const kry_op *local, entries *e)
{
    const kry_op *wide = kry_extended_wide(local, &e->wide);

    e->is_wide = wide != NULL;
    e->matrix = kry_matrix_of(wide ? wide : kry_op_own(local));
    if (e->matrix) return KRY_OK;
    return kry_fail(KRY_ERR_UNSUPPORTED, "kry_matrix_read: '%s' is not a stored matrix",
                    local->table->kind);
}

static kry_status read_part(const kry_op *local, entries *e)
{
    kry_status st = KRY_OK;
    const kry_matrix *A = e->matrix;

    TRY(kry_alloc((size_t)A->rows + 1, sizeof *e->row_ptr, &e->row_ptr));
    TRY(kry_alloc((size_t)A->nnz, sizeof *e->col, &e->col));
    TRY(kry_alloc((size_t)A->nnz, kry_type_size(A->type), &e->val));
    TRY(kry_matrix_entries(e->matrix, e->row_ptr, e->col, e->val));
    TRY(kry_coupled_read(local, &e->far));
done:
    return st;
}

/* The place in the whole that a column of the part stands for. */
static int64_t place_of(const entries *e, int64_t col)
{
    const kry_wide_columns *w = &e->wide;

    if (!e->is_wide) return e->first + col;
    col -= w->own_at;
    if (col >= 0 && col < e->matrix->rows) return e->first + col;
    return w->place[w->below + (col < 0 ? col : col - e->matrix->rows)];
}

/* ---- rows, in order ------------------------------------------------------------------- */

typedef struct entry {
    int32_t col;
    int64_t from; /* of the part's numbers; far ones behind them */
} entry;

static int by_column(const void *a, const void *b)
{
    int32_t x = ((const entry *)a)->col, y = ((const entry *)b)->col;
    return (x > y) - (x < y);
}

/* Entries of row i; *c: the next coupled row. */
static int64_t collect_row(const kry_split *s, const entries *e, int64_t i, int64_t *c, entry *row)
{
    const kry_far_entries *far = &e->far;
    int64_t count = 0;

    for (int64_t k = e->row_ptr[i]; k < e->row_ptr[i + 1]; k++)
        row[count++] = (entry){ (int32_t)kry_split_row(s, place_of(e, e->col[k])), k };
    if (*c == far->rows || far->row[*c] != i) return count;
    for (int64_t k = far->begin[*c]; k < far->begin[*c + 1]; k++)
        row[count++] =
            (entry){ (int32_t)kry_split_row(s, far->place[far->col[k]]), e->matrix->nnz + k };
    ++*c;
    return count;
}

static kry_status put_rows(const kry_split *s, const entries *e, const int64_t *row_ptr,
                           int32_t *col, char *val)
{
    kry_status st = KRY_OK;
    size_t size = kry_type_size(e->matrix->type);
    int64_t coupled = 0, nnz = e->matrix->nnz;
    entry *row = NULL;

    TRY(kry_alloc((size_t)(nnz + e->far.nnz), sizeof *row, &row));
    for (int64_t i = 0; i < e->matrix->rows; i++) {
        int64_t at = row_ptr[kry_split_row(s, e->first + i)];
        int64_t count = collect_row(s, e, i, &coupled, row);
        qsort(row, (size_t)count, sizeof *row, by_column);
        for (int64_t k = 0; k < count; k++) {
            int64_t from = row[k].from;
            const char *number = from < nnz
                                     ? (const char *)e->val + (size_t)from * size
                                     : (const char *)e->far.val + (size_t)(from - nnz) * size;
            col[at + k] = row[k].col;
            memcpy(val + (size_t)(at + k) * size, number, size);
        }
    }
done:
    free(row);
    return st;
}

static void count_rows(const kry_split *s, const entries *e, int64_t *row_ptr)
{
    for (int64_t i = 0; i < e->matrix->rows; i++)
        row_ptr[kry_split_row(s, e->first + i) + 1] = e->row_ptr[i + 1] - e->row_ptr[i];
    for (int64_t c = 0; c < e->far.rows; c++)
        row_ptr[kry_split_row(s, e->first + e->far.row[c]) + 1] +=
            e->far.begin[c + 1] - e->far.begin[c];
}

kry_status kry_matrix_read_parts(const kry_op *op, int64_t *row_ptr, int32_t *col, void *val)
{
    kry_status st = KRY_OK;
    const kry_split *s = kry_op_split(op);
    entries *part = NULL;
    int64_t nnz = 0;

    TRY(kry_alloc((size_t)s->members, sizeof *part, &part));
    for (int r = 0; r < s->members; r++) {
        part[r].first = s->first[r];
        TRY(find_matrix(kry_op_on_part(op, r), &part[r]));
        TRY(read_part(kry_op_on_part(op, r), &part[r]));
        nnz += part[r].matrix->nnz + part[r].far.nnz;
    }
    CHECK(nnz == 0 || (col && val), KRY_ERR_ARGUMENT, "kry_matrix_read: NULL");
    row_ptr[0] = 0;
    for (int r = 0; r < s->members; r++) count_rows(s, &part[r], row_ptr);
    for (int64_t i = 0; i < s->n; i++) row_ptr[i + 1] += row_ptr[i];
    for (int r = 0; r < s->members; r++) TRY(put_rows(s, &part[r], row_ptr, col, val));
done:
    for (int r = 0; part && r < s->members; r++) entries_release(&part[r]);
    free(part);
    return st;
}
