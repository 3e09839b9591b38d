/*
 * coupled_rows.c - a part's rows of a matrix: their entries to the device and back, new numbers,
 * and converted copies.
 */
#include "matrix/coupled.h"
#include "matrix/matrix.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

static kry_status upload(kry_coupled *A, const void *from, size_t count, size_t size,
                         cl_mem *buffer)
{
    kry_status st = KRY_OK;

    if (!*buffer) TRY(kry_buffer_create(A->dev, count * size, buffer));
    TRY(kry_buffer_write(A->dev, *buffer, 0, count * size, from));
done:
    return st;
}

/* address_of_to: of a pointer, to be freed. */
static kry_status download(const kry_coupled *A, cl_mem buffer, int64_t count, size_t size,
                           void *address_of_to)
{
    kry_status st = KRY_OK;

    TRY(kry_alloc((size_t)count, size, address_of_to));
    TRY(kry_buffer_read(A->dev, buffer, 0, (size_t)count * size, *(void **)address_of_to));
done:
    return st;
}

/* The far entries on the host. */
static kry_status read_far(const kry_coupled *A, kry_sparse *far)
{
    kry_status st = KRY_OK;
    int64_t c = 0, n = A->own->shape.rows;
    int32_t *begin = NULL;

    *far = (kry_sparse){ .rows = n, .cols = kry_halo_count(A->halo), .type = A->type };
    TRY(kry_alloc((size_t)n + 1, sizeof *far->row_ptr, &far->row_ptr));
    TRY(download(A, A->far.begin, A->rows + 1, sizeof *begin, &begin));
    for (int64_t i = 0; i < n; i++) {
        c += c < A->rows && A->number[c] == i;
        far->row_ptr[i + 1] = begin[c];
    }
    TRY(download(A, A->far.col, A->far.nnz, sizeof *far->col, &far->col));
    TRY(download(A, A->far.val, A->far.nnz, kry_type_size(A->type), &far->val));
done:
    free(begin);
    if (st < 0) kry_sparse_release(far);
    return st;
}

/* Rows of own entries and, behind them, of far ones. */
static kry_status join(const kry_sparse *own, const kry_sparse *far, kry_sparse *rows)
{
    kry_status st = KRY_OK;
    const kry_sparse *const both[] = { own, far };
    int64_t to = 0;

    TRY(kry_sparse_create(own->rows, own->cols + far->cols, own->type,
                          kry_sparse_nnz(own) + kry_sparse_nnz(far), rows));
    for (int64_t i = 0; i < own->rows; i++) {
        for (int b = 0; b < 2; b++)
            for (int64_t e = both[b]->row_ptr[i]; e < both[b]->row_ptr[i + 1]; e++, to++) {
                rows->col[to] = both[b]->col[e] + (int32_t)(b ? own->cols : 0);
                kry_number_put(own->type, rows->val, to, kry_number_at(own->type, both[b]->val, e));
            }
        rows->row_ptr[i + 1] = to;
    }
done:
    return st;
}

kry_status kry_coupled_download(const kry_op *op, kry_sparse *rows)
{
    kry_status st = KRY_OK;
    kry_sparse own = { 0 }, far = { 0 };
    kry_matrix *matrix = kry_matrix_of(kry_op_own(op));

    *rows = (kry_sparse){ 0 };
    CHECK(matrix, KRY_ERR_UNSUPPORTED, "kry_matrix_read: '%s' is not a stored matrix",
          op->table->kind);
    if (!kry_coupled_of(op)) return kry_matrix_download(matrix, rows);
    TRY(kry_matrix_download(matrix, &own));
    TRY(read_far(op->self, &far));
    TRY(join(&own, &far, rows));
done:
    kry_sparse_release(&own);
    kry_sparse_release(&far);
    return st;
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* The own numbers of the coupled rows once more. */
static kry_status store_exact(kry_coupled *A, const void *val)
{
    kry_status st = KRY_OK;
    void *packed = NULL;

    assert(val || !A->exact.own.nnz); /* no such rows in a converted copy */
    TRY(kry_alloc((size_t)A->exact.own.nnz, kry_type_size(A->type), &packed));
    for (int64_t e = 0; e < A->exact.own.nnz; e++)
        kry_number_put(A->type, packed, e, kry_number_at(A->type, val, A->exact.from[e]));
    TRY(upload(A, packed, (size_t)A->exact.own.nnz, kry_type_size(A->type), &A->exact.own.val));
done:
    free(packed);
    return st;
}

/* Flux form: what the coupled rows add up to, for their residuals. sums: all rows'; NULL: zeros. */
static kry_status store_surplus(kry_coupled *A, const void *sums)
{
    kry_status st = KRY_OK;
    size_t size = kry_type_size(A->type);
    char *packed = NULL;

    TRY(kry_alloc((size_t)A->rows, size, &packed));
    for (int64_t c = 0; sums && c < A->rows; c++)
        memcpy(packed + (size_t)c * size, (const char *)sums + (size_t)A->number[c] * size, size);
    TRY(upload(A, packed, (size_t)A->rows, size, &A->exact.surplus));
done:
    free(packed);
    return st;
}

/* Flux form: what rows add up to, of own and far entries. Far numbers are on the device. */
static kry_status balance(kry_coupled *A, const kry_sparse *own)
{
    kry_status st = KRY_OK;
    kry_matrix *matrix = kry_matrix_of(A->own);
    kry_sparse far = { 0 };
    void *sums = NULL;

    TRY(read_far(A, &far));
    if (!matrix->balanced) TRY(kry_flux_sums("kry_csr_create", &A->dev->layout, own, &far, &sums));
    if (A->exact.own.begin) TRY(store_surplus(A, sums));
    if (sums || matrix->surplus) TRY(kry_matrix_set_surplus(matrix, sums));
done:
    free(sums);
    kry_sparse_release(&far);
    return st;
}

kry_status kry_coupled_store(kry_op *op, const kry_sparse *own, const void *far_val)
{
    kry_status st = KRY_OK;
    kry_coupled *A = kry_coupled_of(op);

    if (!A) return KRY_OK;
    TRY(upload(A, far_val, (size_t)A->far.nnz, kry_type_size(A->type), &A->far.val));
    if (A->exact.own.begin) TRY(store_exact(A, own->val));
    if (A->flux) TRY(balance(A, own));
done:
    return st;
}

/* The coupled rows of M, without numbers yet. from: as in kry_sparse_part. */
static kry_status pack(kry_coupled *A, const kry_sparse *M, kry_packed_rows *packed, int64_t **from)
{
    kry_status st = KRY_OK;
    const kry_sparse pattern = { M->rows, M->cols, M->type, M->row_ptr, M->col, NULL };
    const kry_sparse_cut cut = { .rows = A->rows, .row = A->number, .cols = M->cols };
    kry_sparse part = { 0 };
    int32_t *begin = NULL;

    TRY(kry_sparse_part(&pattern, &cut, &part, from));
    packed->nnz = kry_sparse_nnz(&part);
    TRY(kry_alloc((size_t)A->rows + 1, sizeof *begin, &begin));
    for (int64_t c = 0; c <= A->rows; c++) begin[c] = (int32_t)part.row_ptr[c];
    TRY(upload(A, begin, (size_t)A->rows + 1, sizeof *begin, &packed->begin));
    TRY(upload(A, part.col, (size_t)packed->nnz, sizeof *part.col, &packed->col));
done:
    free(begin);
    kry_sparse_release(&part);
    return st;
}

static kry_status find_coupled(kry_coupled *A, const kry_sparse *far)
{
    kry_status st = KRY_OK;

    TRY(kry_alloc((size_t)far->rows, sizeof *A->number, &A->number));
    for (int64_t i = 0; i < far->rows; i++)
        if (far->row_ptr[i] < far->row_ptr[i + 1]) A->number[A->rows++] = (int32_t)i;
    TRY(upload(A, A->number, (size_t)A->rows, sizeof *A->number, &A->row));
done:
    return st;
}

static kry_status make_exact(kry_coupled *A, const kry_sparse *own)
{
    kry_status st = KRY_OK;

    TRY(pack(A, own, &A->exact.own, &A->exact.from));
    TRY(kry_vec_create(A->dev, A->type, A->rows, 1, &A->exact.b));
    /* written in flux form */
    TRY(kry_buffer_create(A->dev, (size_t)A->rows * kry_type_size(A->type), &A->exact.surplus));
done:
    return st;
}

kry_status kry_coupled_take(kry_coupled *A, const kry_coupled_rows *rows, int64_t places)
{
    kry_status st = KRY_OK;

    TRY(find_coupled(A, &rows->far));
    TRY(pack(A, &rows->far, &A->far, NULL));
    if (rows->exact) TRY(make_exact(A, &rows->own));
    TRY(kry_alloc((size_t)places, sizeof *A->place, &A->place));
    if (places) memcpy(A->place, rows->place, (size_t)places * sizeof *A->place);
done:
    return st;
}

/* ---- converted copies ------------------------------------------------------------------------ */

/* Around `own`, with these far entries. Collective. */
static kry_status make_twin(kry_coupled *A, const kry_op *own, const kry_sparse *far, kry_op **twin)
{
    kry_status st = KRY_OK;
    kry_halo *halo = NULL;
    const kry_coupled_rows rows = {
        .op = own, .far = *far, .place = A->place, .traits = A->traits
    };

    TRY(kry_halo_like(A->halo, own->shape.type, &halo));
    TRY(kry_coupled_create(&rows, &halo, twin));
done:
    kry_halo_release(&halo);
    return st;
}

/* Its numbers, and in flux form what its rows add up to, of the own numbers on the device. */
static kry_status store_twin(kry_op *twin, const void *far_val)
{
    kry_status st = KRY_OK;
    const kry_coupled *T = twin->self;
    kry_sparse own = { 0 };

    if (T->flux) TRY(kry_matrix_download(kry_matrix_of(T->own), &own));
    TRY(kry_coupled_store(twin, &own, far_val));
done:
    kry_sparse_release(&own);
    return st;
}

/* The far entries with numbers in another type. */
static kry_status convert_far(kry_coupled *A, kry_type type, double factor, kry_sparse *far)
{
    kry_status st = KRY_OK;
    void *val = NULL;

    TRY(read_far(A, far));
    TRY(kry_alloc((size_t)A->far.nnz, kry_type_size(type), &val));
    TRY(kry_numbers_convert("kry_op_twin", "entry", A->type, far->val, A->far.nnz, factor, type,
                            val));
    free(far->val);
    far->val = val, val = NULL;
    far->type = type;
done:
    free(val);
    return st;
}

/* All parts have one, or none has: what single cannot hold may be with one alone. */
static kry_status agree_on_twin(kry_coupled *A, kry_status mine)
{
    kry_status st = KRY_OK;
    double refused = mine == KRY_ERR_UNSUPPORTED;

    if (mine < 0 && mine != KRY_ERR_UNSUPPORTED) return mine;
    TRY(kry_layout_combine(&A->dev->layout, KRY_MAX, &refused, 1));
    if (mine < 0) return mine;
    CHECK(refused == 0, KRY_ERR_UNSUPPORTED,
          "kry_op_twin: another device has numbers that do not fit the precision");
done:
    return st;
}

kry_status kry_coupled_twin(void *self, kry_type type, double factor, const double *scale,
                            kry_op **twin)
{
    kry_coupled *A = self, *T = *twin ? (*twin)->self : NULL;
    kry_status st = KRY_OK;
    kry_op *own = T ? kry_op_retain(T->own) : NULL;
    kry_sparse far = { 0 };

    CHECK(!scale, KRY_ERR_UNSUPPORTED, "kry_op_twin: no scaling by a diagonal on several devices");
    st = convert_far(A, type, factor, &far);
    if (st == KRY_OK) st = kry_op_make_twin("kry_op_twin", A->own, type, factor, NULL, &own);
    TRY(agree_on_twin(A, st));
    assert(own);
    own->shape.traits = A->own->shape.traits;
    if (!T) TRY(make_twin(A, own, &far, twin));
    TRY(store_twin(*twin, far.val));
done:
    kry_sparse_release(&far);
    kry_op_release(&own);
    return st;
}
