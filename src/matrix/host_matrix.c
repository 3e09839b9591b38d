/* host_matrix.c - an operator whose matrix stays on the host, in double. */
#include "matrix/matrix.h"
#include "operator/host_op.h"
#include <stdlib.h>
#include <string.h>

typedef struct host_matrix {
    kry_host_op op; /* first */
    kry_sparse csr;
    kry_entry_map map;
    kry_matrix_params params; /* of its converted copies */
} host_matrix;

static const host_matrix *matrix_of(const kry_host_op *A) { return (const host_matrix *)A; }

static void matrix_product(const kry_host_op *A, const double *x, double *y)
{
    const kry_sparse *csr = &matrix_of(A)->csr;
    const double *val = csr->val;

    for (int64_t i = 0; i < csr->rows; i++) {
        double sum = 0;
        for (int64_t k = csr->row_ptr[i]; k < csr->row_ptr[i + 1]; k++)
            sum += val[k] * x[csr->col[k]];
        y[i] = sum;
    }
}

static void matrix_diagonal(const kry_host_op *A, double *d)
{
    const kry_sparse *csr = &matrix_of(A)->csr;
    const double *val = csr->val;

    for (int64_t i = 0; i < csr->rows; i++) {
        int64_t k = kry_sparse_find(csr, i, i);
        d[i] = k < 0 ? 0 : val[k];
    }
}

static kry_status matrix_twin(kry_host_op *A, kry_type type, double factor, const double *scale,
                              kry_op **twin)
{
    const host_matrix *H = matrix_of(A);
    return kry_matrix_twin_of(A->dev, &H->csr, &H->params, &(kry_twin_how){ type, factor, scale },
                              twin);
}

/* Refused, the old values stay. */
static kry_status matrix_update(kry_host_op *A, const void *values)
{
    host_matrix *H = (host_matrix *)A;
    kry_status st = KRY_OK;
    int64_t nnz = kry_sparse_nnz(&H->csr);
    size_t bytes = (size_t)nnz * sizeof(double);
    void *old = NULL;

    TRY(kry_alloc((size_t)nnz, sizeof(double), &old));
    if (bytes) memcpy(old, H->csr.val, bytes);
    st = kry_entries_renew("kry_op_update", &H->map, values, nnz, &H->csr);
    if (st < 0 && bytes) memcpy(H->csr.val, old, bytes);
done:
    free(old);
    return st;
}

static bool matrix_scales(const kry_host_op *A) { return matrix_of(A)->params.form != KRY_FLUX; }

static void matrix_destroy(kry_host_op *A)
{
    host_matrix *H = (host_matrix *)A;
    kry_sparse_release(&H->csr);
    kry_entry_map_release(&H->map);
    free(H);
}

static const kry_host_op_table table = {
    .kind = "matrix",
    .product = matrix_product,
    .diagonal = matrix_diagonal,
    .twin = matrix_twin,
    .update = matrix_update,
    .destroy = matrix_destroy,
    .scales = matrix_scales,
};

kry_status kry_matrix_on_host(kry_device *dev, kry_sparse *host, kry_entry_map *map,
                              const kry_matrix_params *params, kry_op **op)
{
    kry_status st = KRY_OK;
    host_matrix *H = NULL;
    kry_host_op *A = NULL;

    TRY(kry_alloc(1, sizeof *H, &H));
    A = &H->op;
    A->table = &table;
    A->n = host->rows;
    H->params = *params;
    H->params.on_host = false;
    H->csr = *host, *host = (kry_sparse){ 0 };
    H->map = *map, *map = (kry_entry_map){ 0 };
    TRY(kry_host_op_create(dev, &A, params->traits, op));
done:
    if (A) matrix_destroy(A);
    return st;
}
