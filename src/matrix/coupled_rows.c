/*
 * coupled_rows.c - a part's rows of a matrix: their entries to the device and back, new numbers,
 * and converted copies.
 */
#include "matrix/matrix.h"
#include "matrix/matrix_parts.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- patterns -------------------------------------------------------------------------------- */

/* Copy the pattern of M's coupled rows to the device. from: as in kryi_csr_part. */
static kry_status pack(const kryi_coupled *A, const kryi_csr *M, kryi_packed_rows *packed,
                       int64_t **from)
{
    kry_status st = KRY_OK;
    const kryi_csr pattern = { M->rows, M->cols, M->type, M->row_ptr, M->col, NULL };
    const kryi_csr_cut cut = { .rows = A->rows, .row = A->number, .cols = M->cols };
    size_t begins = (size_t)A->rows + 1;
    kryi_csr part = { 0 };
    int32_t *begin = NULL;

    TRY(kryi_csr_part(&pattern, &cut, &part, from));
    packed->nnz = kryi_csr_nnz(&part);
    TRY(kryi_alloc(begins, sizeof *begin, &begin));
    for (size_t c = 0; c < begins; c++) begin[c] = (int32_t)part.row_ptr[c];
    TRY(kryi_buffer_upload(A->dev, begins * sizeof *begin, begin, &packed->begin));
    TRY(kryi_buffer_upload(A->dev, (size_t)packed->nnz * sizeof *part.col, part.col, &packed->col));
    TRY(kryi_buffer_create(A->dev, (uint64_t)packed->nnz * kry_type_size(M->type), &packed->val));
done:
    free(begin);
    kryi_csr_release(&part);
    return st;
}

kry_status kryi_coupled_pack(kryi_coupled *A, const kryi_csr *exact)
{
    kry_status st = KRY_OK;
    const kryi_csr *far = &A->part.far;

    TRY(kryi_alloc((size_t)far->rows, sizeof *A->number, &A->number));
    for (int64_t i = 0; i < far->rows; i++)
        if (far->row_ptr[i] < far->row_ptr[i + 1]) A->number[A->rows++] = (int32_t)i;
    TRY(kryi_buffer_upload(A->dev, (size_t)A->rows * sizeof *A->number, A->number, &A->row));
    TRY(pack(A, far, &A->packed, NULL));
    if (!exact) return KRY_OK;
    TRY(pack(A, exact, &A->exact.own, &A->exact.from));
    TRY(kry_vec_create(A->dev, far->type, A->rows, 1, &A->exact.b));
    /* filled in flux form only */
    TRY(kryi_buffer_create(A->dev, (uint64_t)A->rows * kry_type_size(far->type),
                           &A->exact.surplus));
done:
    return st;
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* Send the own numbers of the coupled rows, for their residuals. */
static kry_status store_exact(const kryi_coupled *A, const void *own_val)
{
    kry_status st = KRY_OK;
    const kryi_exact_rows *exact = &A->exact;
    uint64_t bytes = (uint64_t)exact->own.nnz * kry_type_size(A->part.far.type);
    void *packed = NULL;

    TRY(kryi_numbers_at(A->part.far.type, own_val, exact->from, exact->own.nnz, &packed));
    TRY(kryi_buffer_write(A->dev, exact->own.val, 0, bytes, packed));
done:
    free(packed);
    return st;
}

/* Flux form: send what the coupled rows add up to, for their residuals. sums: of all rows; NULL: 0. */
static kry_status store_surplus(const kryi_coupled *A, const void *sums)
{
    kry_status st = KRY_OK;
    kry_type type = A->part.far.type;
    void *packed = NULL;

    TRY(kryi_alloc((size_t)A->rows, kry_type_size(type), &packed));
    for (int64_t c = 0; sums && c < A->rows; c++)
        kryi_number_put(type, packed, c, kryi_number_at(type, sums, A->number[c]));
    TRY(kryi_buffer_write(A->dev, A->exact.surplus, 0, (size_t)A->rows * kry_type_size(type),
                          packed));
done:
    free(packed);
    return st;
}

/* Flux form: add up the rows, own and far entries together. */
static kry_status balance(const kryi_coupled *A, const void *own_val)
{
    kry_status st = KRY_OK;
    kryi_matrix *matrix = kryi_matrix_of(A->own);
    kryi_csr own = matrix->sorted;
    void *sums = NULL;

    own.val = (void *)own_val;
    TRY(kryi_flux_sums("kry_csr_create", matrix, &own, &A->part.far, &sums));
    if (A->exact.b) TRY(store_surplus(A, sums));
    if (sums || matrix->surplus) TRY(kryi_matrix_set_surplus(matrix, sums));
done:
    free(sums);
    return st;
}

static kry_status store_far(const kryi_coupled *A, const void *far_val)
{
    uint64_t bytes = (uint64_t)A->packed.nnz * kry_type_size(A->part.far.type);

    if (bytes && far_val != A->part.far.val) memcpy(A->part.far.val, far_val, bytes);
    return kryi_buffer_write(A->dev, A->packed.val, 0, bytes, A->part.far.val);
}

kry_status kryi_coupled_store(kry_op *op, const void *own_val, const void *far_val)
{
    kry_status st = KRY_OK;
    kryi_coupled *A = kryi_coupled_of(op);

    if (!A) return KRY_OK;
    TRY(store_far(A, far_val));
    if (A->exact.b) TRY(store_exact(A, own_val));
    if (own_val && kryi_matrix_of(A->own)->params.form == KRY_FLUX) TRY(balance(A, own_val));
done:
    return st;
}

kry_status kryi_coupled_store_flux(kry_op *op, const void *exact_val, const void *sums,
                                   const void *far_val)
{
    kry_status st = KRY_OK;
    kryi_coupled *A = kryi_coupled_of(op);

    TRY(store_far(A, far_val));
    if (!A->exact.b) return KRY_OK;
    TRY(store_exact(A, exact_val));
    TRY(store_surplus(A, sums));
done:
    return st;
}

/* ---- reading back ---------------------------------------------------------------------------- */

/* Give each diagonal entry its share of what flows to other parts. */
static void add_to_diagonal(const kryi_csr *far, kryi_csr *own)
{
    for (int64_t i = 0; i < far->rows; i++) {
        const int64_t at = kryi_csr_find(own, i, i);
        double d = kryi_number_at(own->type, own->val, at);
        for (int64_t e = far->row_ptr[i]; e < far->row_ptr[i + 1]; e++)
            d -= kryi_number_at(far->type, far->val, e);
        kryi_number_put(own->type, own->val, at, d);
    }
}

kry_status kryi_coupled_own_rows(const kry_op *op, kryi_csr *rows)
{
    kry_status st = KRY_OK;
    const kryi_coupled *A = kryi_coupled_of(op);
    const kryi_matrix *matrix = kryi_matrix_of(kryi_op_own(op));

    *rows = (kryi_csr){ 0 };
    CHECK(matrix || (A && A->kind), KRY_ERR_UNSUPPORTED,
          "kry_matrix_read: '%s' is not a stored matrix", op->table->kind);
    if (matrix) return kryi_matrix_download(matrix, rows);
    TRY(A->kind->rows(A->own, rows));
    add_to_diagonal(&A->part.far, rows);
done:
    return st;
}

kry_status kryi_coupled_download(const kry_op *op, kryi_csr *rows)
{
    kry_status st = KRY_OK;
    kryi_csr own = { 0 };
    const kryi_coupled *A = kryi_coupled_of(op);

    *rows = (kryi_csr){ 0 };
    if (!A) return kryi_coupled_own_rows(op, rows);
    TRY(kryi_coupled_own_rows(op, &own));
    TRY(kryi_csr_beside(&own, &A->part.far, rows));
done:
    kryi_csr_release(&own);
    return st;
}

/* ---- converted copies ------------------------------------------------------------------------ */

/* The far entries with numbers in another type. */
static kry_status convert_far(const kryi_coupled *A, kry_type type, double factor, kryi_csr *far)
{
    kry_status st = KRY_OK;
    const kryi_csr pattern = { A->part.far.rows,    A->part.far.cols, type,
                               A->part.far.row_ptr, A->part.far.col,  NULL };

    TRY(kryi_csr_part(&pattern, &(kryi_csr_cut){ .rows = pattern.rows, .cols = pattern.cols }, far,
                      NULL));
    TRY(kryi_alloc((uint64_t)A->packed.nnz, kry_type_size(type), &far->val));
    TRY(kryi_numbers_convert("entry", A->part.far.type, A->part.far.val, A->packed.nnz, factor,
                             type, far->val));
done:
    return st;
}

/* If one part has numbers that do not fit the precision, all parts refuse. */
static kry_status agree_on_copy(const kryi_coupled *A, kry_status mine)
{
    kry_status st = KRY_OK;
    double refused = mine == KRY_ERR_UNSUPPORTED;

    if (mine < 0 && mine != KRY_ERR_UNSUPPORTED) return mine;
    TRY(kryi_layout_combine(&A->dev->layout, KRY_MAX, &refused, 1));
    if (mine < 0) return mine;
    CHECK(refused == 0, KRY_ERR_UNSUPPORTED,
          "kry_op_convert: another device has numbers that do not fit the precision");
done:
    return st;
}

/* The coupled operator of converted own and far entries. Collective. */
static kry_status make_copy(const kryi_coupled *A, kry_op *own, kryi_csr *far, kry_op **copy)
{
    kry_status st = KRY_OK;
    kryi_coupled made = {
        .own = own, .kind = A->kind, .traits = A->traits, .part.first = A->part.first
    };
    size_t places = (size_t)kryi_halo_count(A->part.halo);

    TRY(kryi_alloc(places, sizeof *made.part.place, &made.part.place));
    if (places) memcpy(made.part.place, A->part.place, places * sizeof *made.part.place);
    TRY(kryi_halo_like(A->part.halo, own->shape.type, &made.part.halo));
    made.part.far = *far, *far = (kryi_csr){ 0 };
    return kryi_coupled_create(&made, NULL, copy);
done:
    free(made.part.place);
    return st;
}

kry_status kryi_coupled_convert(void *self, kry_type type, double factor, const double *scale,
                                kry_op **copy)
{
    kryi_coupled *A = self, *T = *copy ? (*copy)->self : NULL;
    kry_status st = KRY_OK;
    kry_op *own = T ? kry_op_retain(T->own) : NULL;
    kryi_csr far = { 0 };

    CHECK(!scale, KRY_ERR_UNSUPPORTED,
          "kry_op_convert: no scaling by a diagonal on several devices");
    st = convert_far(A, type, factor, &far);
    if (st == KRY_OK) st = kryi_op_make_copy("kry_op_convert", A->own, type, factor, NULL, &own);
    TRY(agree_on_copy(A, st));
    assert(own);
    own->shape.traits = A->own->shape.traits;
    if (!T) TRY(make_copy(A, own, &far, copy));
    TRY(kryi_coupled_store(*copy, NULL, T ? far.val : kryi_coupled_of(*copy)->part.far.val));
    if (!A->kind)
        TRY(kryi_matrix_convert_surplus(kryi_matrix_of(A->own), factor, kryi_matrix_of(own)));
done:
    kryi_csr_release(&far);
    kry_op_release(&own);
    return st;
}
