/* matrix_read.c - the entries of a stored matrix on the host, on a team those of all parts in the order of rows. */
#include "matrix/matrix.h"
#include "matrix/matrix_parts.h"
#include "operator/op_parts.h"
#include <stdlib.h>
#include <string.h>

kry_status kryi_matrix_read_part(const kry_op *op, int r, kryi_csr *R)
{
    kry_status st = KRY_OK;
    const kryi_split *s = kryi_op_split(op);
    const kry_op *local = kryi_op_on_part(op, r);
    const kryi_extended *w = kryi_extended_of(local);
    int64_t rows = kryi_split_rows(s, r), below = w ? w->below : 0;
    const int64_t *halo = w ? w->place : NULL;

    TRY(kryi_coupled_download(w ? w->wide : local, R));
    if (!w) (void)kryi_coupled_places(local, &halo);
    for (int64_t e = 0; e < kryi_csr_nnz(R); e++) {
        int64_t col = R->col[e] - (w ? w->own_at : 0); /* counted from the first own column */
        int64_t place =
            col >= 0 && col < rows ? s->first[r] + col : halo[below + (col < 0 ? col : col - rows)];
        R->col[e] = (int32_t)kryi_split_row(s, place);
    }
    R->cols = s->n;
    TRY(kryi_csr_sort(R));
done:
    return st;
}

static void put_rows(const kryi_split *s, int r, const kryi_csr *R, const kryi_csr *to)
{
    for (int64_t i = 0; i < R->rows; i++) {
        int64_t at = to->row_ptr[kryi_split_row(s, s->first[r] + i)];
        for (int64_t e = R->row_ptr[i]; e < R->row_ptr[i + 1]; e++, at++) {
            to->col[at] = R->col[e];
            kryi_number_put(R->type, to->val, at, kryi_number_at(R->type, R->val, e));
        }
    }
}

static kry_status read_parts(const kry_op *op, kryi_csr *part, kryi_csr *to)
{
    kry_status st = KRY_OK;
    const kryi_split *s = kryi_op_split(op);

    for (int r = 0; r < s->members; r++) TRY(kryi_matrix_read_part(op, r, &part[r]));
    to->row_ptr[0] = 0;
    for (int r = 0; r < s->members; r++)
        for (int64_t i = 0; i < part[r].rows; i++)
            to->row_ptr[kryi_split_row(s, s->first[r] + i) + 1] =
                part[r].row_ptr[i + 1] - part[r].row_ptr[i];
    for (int64_t i = 0; i < s->n; i++) to->row_ptr[i + 1] += to->row_ptr[i];
    CHECK(to->row_ptr[s->n] == 0 || (to->col && to->val), KRY_ERR_ARGUMENT,
          "kry_matrix_read: NULL");
    for (int r = 0; r < s->members; r++) put_rows(s, r, &part[r], to);
done:
    return st;
}

static kry_status read_into(const kry_op *op, kryi_csr *to)
{
    kry_status st = KRY_OK;
    int members = kryi_op_split(op)->members;
    kryi_csr *part = NULL;

    TRY(kryi_alloc((size_t)members, sizeof *part, &part));
    TRY(read_parts(op, part, to));
done:
    for (int r = 0; part && r < members; r++) kryi_csr_release(&part[r]);
    free(part);
    return st;
}

/* The rows of this rank. */
static kry_status read_own(const kry_op *op, const kryi_csr *to)
{
    kry_status st = KRY_OK;
    kryi_csr own = { 0 };

    CHECK(op->shape.cols <= INT32_MAX, KRY_ERR_UNSUPPORTED,
          "kry_matrix_read: %lld columns do not fit in 32 bits", (long long)op->shape.cols);
    TRY(kryi_matrix_read_part(op, kryi_op_here(op).begin, &own));
    const uint64_t nnz = (uint64_t)kryi_csr_nnz(&own);
    CHECK(nnz == 0 || (to->col && to->val), KRY_ERR_ARGUMENT, "kry_matrix_read: NULL");
    memcpy(to->row_ptr, own.row_ptr, ((size_t)own.rows + 1) * sizeof *own.row_ptr);
    if (nnz) memcpy(to->col, own.col, nnz * sizeof *own.col);
    if (nnz) memcpy(to->val, own.val, nnz * kry_type_size(own.type));
done:
    kryi_csr_release(&own);
    return st;
}

static kry_status matrix_read_parts(const kry_op *op, int64_t *row_ptr, int32_t *col, void *val)
{
    kry_status st = KRY_OK;
    kryi_csr to = { .row_ptr = row_ptr, .col = col, .val = val };

    kryi_team_enter(op->dev, "kry_matrix_read", kryi_op_split(op));
    CHECK(row_ptr, KRY_ERR_ARGUMENT, "kry_matrix_read: NULL");
    if (kryi_op_on_ranks(op))
        TRY(read_own(op, &to));
    else
        TRY(read_into(op, &to));
done:
    return kryi_team_leave(op->dev, st);
}

kry_status kryi_matrix_parts_download(const kry_op *op, kryi_csr *A)
{
    kry_status st = KRY_OK;
    kry_op_info info;

    CHECK(!kryi_op_on_ranks(op), KRY_ERR_UNSUPPORTED,
          "the rows of '%s' lie on %d ranks, and are not gathered on one",
          kryi_op_first(op)->table->kind, kry_team_size(op->dev));
    kry_op_describe(op, &info);
    TRY(kryi_csr_create(op->shape.rows, op->shape.cols, op->shape.type, info.nnz > 0 ? info.nnz : 0,
                        A));
    TRY(read_into(op, A));
done:
    if (st < 0) kryi_csr_release(A);
    return st;
}

kry_status kry_matrix_read(const kry_op *op, int64_t *row_ptr, int32_t *col, void *val)
{
    kry_status st = KRY_OK;
    kryi_matrix *A = op ? kryi_matrix_of(op) : NULL;

    if (op && kryi_op_in_parts(op)) return matrix_read_parts(op, row_ptr, col, val);
    CHECK(op && row_ptr, KRY_ERR_ARGUMENT, "kry_matrix_read: NULL");
    CHECK(A, KRY_ERR_UNSUPPORTED, "kry_matrix_read: '%s' is not a stored matrix", op->table->kind);
    CHECK(A->nnz == 0 || (col && val), KRY_ERR_ARGUMENT, "kry_matrix_read: NULL");
    TRY(kryi_matrix_read_entries(A, row_ptr, col, val));
done:
    return st;
}
