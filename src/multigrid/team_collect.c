/* team_collect.c - the whole of an operator on a team, on each of its devices. */
#include "grid/stencil.h"
#include "matrix/matrix.h"
#include "matrix/matrix_parts.h"
#include "multigrid/team_levels.h"
#include "operator/op_parts.h"
#include <stdlib.h>

/* ---- stored matrices --------------------------------------------------------------------------- */

/* The rows of this part, with the columns of the whole, ascending. *first: the first of them. */
static kry_status own_rows(const kry_op *A, kryi_csr *rows, int64_t *first)
{
    kry_status st = KRY_OK;
    const int64_t *place, n = A->shape.rows;

    CHECK(kryi_coupled_of(A), KRY_ERR_UNSUPPORTED,
          "kry_amg_create: '%s' on a team is no stored matrix; kry_mg_create takes grids",
          A->table->kind);
    TRY(kryi_coupled_download(A, rows));
    (void)kryi_coupled_places(A, &place);
    TRY(kryi_layout_rows(&A->dev->layout, n, first, &rows->cols));
    for (int64_t e = 0; e < kryi_csr_nnz(rows); e++) {
        const int32_t j = rows->col[e];
        rows->col[e] = (int32_t)(j < n ? *first + j : place[j - n]);
    }
    TRY(kryi_csr_sort(rows));
done:
    return st;
}

/* all := the rows of all parts. */
static kry_status collect_rows(kryi_layout *layout, const kryi_csr *mine, kryi_csr *all)
{
    kry_status st = KRY_OK;
    const uint64_t n = (uint64_t)mine->rows, nnz = (uint64_t)kryi_csr_nnz(mine);
    int64_t *length = NULL, *lengths = NULL;
    size_t rows, entries;

    TRY(kryi_alloc(n, sizeof *length, &length));
    for (size_t i = 0; i < n; i++) length[i] = kryi_row_length(mine, (int64_t)i);
    TRY(kryi_layout_collect(layout, length, n, sizeof *length, &lengths, &rows));
    *all = (kryi_csr){ .rows = (int64_t)rows, .cols = mine->cols, .type = mine->type };
    TRY(kryi_alloc(rows + 1, sizeof *all->row_ptr, &all->row_ptr));
    for (size_t i = 0; i < rows; i++) all->row_ptr[i + 1] = all->row_ptr[i] + lengths[i];
    TRY(kryi_layout_collect(layout, mine->col, nnz, sizeof *mine->col, &all->col, &entries));
    TRY(kryi_layout_collect(layout, mine->val, nnz, kry_type_size(mine->type), &all->val,
                            &entries));
done:
    free(lengths);
    free(length);
    if (st < 0) kryi_csr_release(all);
    return st;
}

/* Tell `whole` the near null space that A was told, of whose vectors each part has its rows. */
static kry_status collect_vectors(const kry_op *A, kry_op *whole)
{
    kry_status st = KRY_OK;
    const kry_vec *mine = A->near_null_space;
    kry_vec *all = NULL;
    double *numbers = NULL, *column = NULL;
    size_t rows;

    if (!mine) return KRY_OK;
    TRY(kryi_alloc((uint64_t)(mine->n * mine->k), sizeof *numbers, &numbers));
    TRY(kryi_vec_read_doubles(mine, numbers));
    TRY(kry_vec_create(A->dev, mine->type, whole->shape.rows, mine->k, &all));
    for (int64_t j = 0; j < mine->k; j++) {
        kry_vec to = kryi_vec_column(all, j);
        free(column), column = NULL;
        TRY(kryi_layout_collect(&A->dev->layout, numbers + j * mine->n, (size_t)mine->n,
                                sizeof *numbers, &column, &rows));
        TRY(kryi_vec_write_doubles(&to, column));
    }
    TRY(kry_op_set_near_null_space(whole, all));
done:
    kry_vec_release(&all);
    free(column);
    free(numbers);
    return st;
}

kry_status kryi_collect_matrix(const kry_op *A, const kryi_shell *shell, kry_op **whole)
{
    (void)shell; /* a share has no window */
    kry_status st = KRY_OK;
    kryi_csr mine = { 0 }, all = { 0 };
    int64_t first;

    TRY(own_rows(A, &mine, &first));
    TRY(collect_rows(&A->dev->layout, &mine, &all));
    if (*whole) {
        TRY(kry_op_update(*whole, all.val));
    } else {
        TRY(kry_csr_create(A->dev, all.type, all.rows, all.cols, all.row_ptr, all.col, all.val,
                           KRY_MATRIX(.traits = A->shape.traits, .block = kryi_matrix_block(A)),
                           whole));
        TRY(collect_vectors(A, *whole));
    }
done:
    kryi_csr_release(&all);
    kryi_csr_release(&mine);
    return st;
}

/* ---- grids ------------------------------------------------------------------------------------- */

enum { CELLS = 3 }; /* in the place of an axis */

/* all := the numbers of all cells, or of all faces along an axis divided by their weight, in the order of rows. */
static kry_status collect_numbers(const kry_op *op, int axis, double **all)
{
    kry_status st = KRY_OK;
    const kryi_stencil *A = kryi_stencil_here(op);
    const kryi_split *split = op->dev->layout.split;
    double *mine = NULL, *placed = NULL;
    size_t count;

    TRY(kryi_alloc((size_t)A->n, sizeof *mine, &mine));
    TRY(axis == CELLS ? kryi_stencil_read(A, A->coefficient, A->n, mine)
                      : kryi_stencil_read_faces(op, axis, mine));
    TRY(kryi_layout_collect(&op->dev->layout, mine, (size_t)A->n, sizeof *mine, &placed, &count));
    TRY(kryi_alloc(count, sizeof **all, all));
    for (size_t p = 0; p < count; p++)
        (*all)[kryi_split_row(split, (int64_t)p)] =
            axis == CELLS ? placed[p] : placed[p] / A->weight[axis];
done:
    free(placed);
    free(mine);
    return st;
}

/* New coefficients, or all faces in one array. */
static kry_status renew_grid(const kryi_stencil *A, int64_t n, const kry_stencil_params *p,
                             kry_op *whole)
{
    kry_status st = KRY_OK;
    double *faces = NULL;

    if (!A->faces_given) return kry_op_update(whole, p->coefficient);
    TRY(kryi_alloc((uint64_t)(n * A->axes), sizeof *faces, &faces));
    for (int a = 0; a < A->axes; a++)
        for (int64_t i = 0; i < n; i++) faces[a * n + i] = p->face[a][i];
    TRY(kry_op_update(whole, faces));
done:
    free(faces);
    return st;
}

kry_status kryi_collect_grid(const kry_op *op, const kryi_shell *shell, kry_op **whole)
{
    (void)shell; /* a share has no window */
    kry_status st = KRY_OK;
    const kryi_stencil *A = kryi_stencil_here(op);
    kry_stencil_params p = *KRY_STENCIL();
    double *numbers[4] = { NULL };
    int64_t n = 1;

    for (int a = 0; a < A->axes; a++) {
        n *= p.size[a] = kryi_stencil_whole(A, a);
        p.spacing[a] = 1, p.diffusion[a] = A->weight[a];
        p.low[a] = kryi_stencil_side(A, a, false), p.high[a] = kryi_stencil_side(A, a, true);
        if (A->faces_given) TRY(collect_numbers(op, a, &numbers[a]));
        p.face[a] = numbers[a];
    }
    if (A->coefficient) TRY(collect_numbers(op, CELLS, &numbers[CELLS]));
    p.coefficient = numbers[CELLS];
    if (!*whole)
        TRY(kryi_stencil_make(op->dev, A->type, &p, NULL, NULL, 1, whole));
    else if (A->variable)
        TRY(renew_grid(A, n, &p, *whole));
done:
    for (size_t i = 0; i < COUNT(numbers); i++) free(numbers[i]);
    return st;
}
