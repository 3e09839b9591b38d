/* part_finest.c - the finest level of algebraic multigrid on a team: a part's rows, and what all of them look like. */
#include "amg/amg_device.h"
#include "amg/part_levels.h"
#include "matrix/matrix.h"
#include "precond/rows.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

kry_status kry_part_rows_read(const char *who, const kry_op *A, kry_part_rows *rows)
{
    kry_status st = KRY_OK;
    const kry_coupled *C = kry_coupled_of(A);
    double *inverse = NULL;
    int64_t total;

    *rows = (kry_part_rows){ 0 };
    CHECK(C && !C->kind, KRY_ERR_UNSUPPORTED,
          "%s: '%s' on a team is no stored matrix; kry_mg_create takes grids", who, A->table->kind);
    TRY(kry_rows_read(who, A, &rows->own));
    TRY(kry_alloc((size_t)rows->own.rows, sizeof *inverse, &inverse));
    TRY(kry_rows_symmetrise(who, A, &rows->own, inverse));
    TRY(kry_sparse_copy(&C->far, &rows->far));
    TRY(kry_sparse_convert(&rows->far, KRY_F64));
    TRY(kry_layout_rows(&A->dev->layout, rows->own.rows, &rows->first, &total));
done:
    free(inverse);
    if (st < 0) kry_part_rows_release(rows);
    return st;
}

/* ---- what all parts look like -------------------------------------------------------------------- */

static bool same_columns(const kry_sparse *A, int64_t i, int64_t k)
{
    const int64_t length = kry_row_length(A, i);
    return kry_row_length(A, k) == length &&
           !memcmp(A->col + A->row_ptr[i], A->col + A->row_ptr[k], (size_t)length * sizeof *A->col);
}

/* kry_sparse_block of the rows but for the first and the last nodes, which may be cut; 0: nothing is left of them. */
static int block_inside(const kry_sparse *rows)
{
    int64_t begin = 1, end = rows->rows - 1;

    while (begin < rows->rows && same_columns(rows, begin - 1, begin)) begin++;
    while (end > begin && same_columns(rows, end - 1, end)) end--;
    if (end <= begin) return 0;
    const kry_sparse inside = { end - begin,           rows->cols, rows->type,
                                rows->row_ptr + begin, rows->col,  NULL };
    return kry_sparse_block(&inside);
}

/* The smallest that a part sees, if the matrix does not say. Collective. */
static kry_status agree_on_block(const kry_op *A, const kry_sparse *rows, const kry_amg_params *p,
                                 int *block)
{
    kry_status st = KRY_OK;
    const int told = p->block ? p->block : kry_matrix_block(A);

    if (told) {
        *block = told;
        return KRY_OK;
    }
    const int seen = block_inside(rows);
    double number = seen ? -seen : -(KRY_BLOCK_MOST + 1);
    TRY(kry_layout_combine(&A->dev->layout, KRY_MAX, &number, 1));
    *block = -number > KRY_BLOCK_MOST ? 1 : (int)-number;
done:
    return st;
}

kry_status kry_part_bound(const kry_op *A, double *bound)
{
    kry_status st = KRY_OK;
    kry_sparse all = { 0 };

    TRY(kry_coupled_download(A, &all));
    TRY(kry_sparse_convert(&all, KRY_F64));
    *bound = kry_look_at_rows(&all).bound;
    TRY(kry_layout_combine(&A->dev->layout, KRY_MAX, bound, 1));
done:
    kry_sparse_release(&all);
    return st;
}

kry_status kry_part_look(const kry_op *A, const kry_amg_params *p, kry_amg_sight *sight)
{
    kry_status st = KRY_OK;
    kry_sparse all = { 0 };

    TRY(kry_coupled_download(A, &all));
    TRY(kry_sparse_convert(&all, KRY_F64));
    const kry_couplings c = kry_amg_couplings(&all);
    double sums[] = { (double)kry_sparse_nnz(&all), c.positive, c.negative };
    *sight = (kry_amg_sight){ .given = p->near_null_space };
    if (!sight->given) sight->given = A->near_null_space;
    TRY(agree_on_block(A, &all, p, &sight->block));
    TRY(kry_layout_combine(&A->dev->layout, KRY_ADD, sums, COUNT(sums)));
    sight->nnz = (int64_t)sums[0];
    sight->couplings = (kry_couplings){ .positive = sums[1], .negative = sums[2] };
done:
    kry_sparse_release(&all);
    return st;
}
