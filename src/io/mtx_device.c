/*
 * mtx_device.c - Matrix Market data on its way to a device and back.
 */
#include "io/share.h"
#include "operator/op.h"
#include "team/team.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Convert the numbers of a file to `type`. *out is val itself for double, else a new array in *owned. */
static kry_status convert(const char *func, kry_type type, const kry_mtx *mtx, const double *val,
                          int64_t count, const void **out, float **owned)
{
    kry_status st = KRY_OK;
    *out = val;
    if (type == KRY_F64) goto done;
    TRY(kry_alloc((size_t)count, sizeof(float), owned));
    for (int64_t e = 0; e < count; e++) {
        (*owned)[e] = (float)val[e];
        if (isfinite((*owned)[e]) || !isfinite(val[e])) continue;
        CHECK(mtx->row && val == mtx->val, KRY_ERR_ARGUMENT,
              "%s: entry %lld, %g, is too large for single precision", func, (long long)e, val[e]);
        CHECK(false, KRY_ERR_ARGUMENT,
              "%s: row %lld, column %lld: %g is too large for single precision" COUNTED, func,
              ROW(mtx->row[e]), ROW(mtx->col[e]), val[e], kry_first_row);
    }
    *out = *owned;
done:
    return st;
}

/* Make the rows and columns of an array file's numbers: column after column; of a symmetric file the lower
 * triangle, of a skew-symmetric one the entries below the diagonal. */
static kry_status array_places(const kry_mtx *mtx, int32_t **row, int32_t **col)
{
    kry_status st = KRY_OK;
    int64_t e = 0;
    TRY(kry_alloc((size_t)mtx->nnz, sizeof(int32_t), row));
    TRY(kry_alloc((size_t)mtx->nnz, sizeof(int32_t), col));
    for (int64_t j = 0; j < mtx->cols; j++) {
        int64_t first = mtx->symmetry == KRY_MTX_GENERAL ? 0 : j + (mtx->symmetry == KRY_MTX_SKEW);
        for (int64_t i = first; i < mtx->rows; i++, e++) {
            (*row)[e] = (int32_t)i;
            (*col)[e] = (int32_t)j;
        }
    }
done:
    return st;
}

kry_status kry_mtx_matrix(kry_device *device, kry_type type, const kry_mtx *mtx,
                          const kry_matrix_params *params, kry_op **op)
{
    static const kry_storage storage[] = { [KRY_MTX_GENERAL] = KRY_GENERAL,
                                           [KRY_MTX_SYMMETRIC] = KRY_SYMMETRIC_HALF,
                                           [KRY_MTX_SKEW] = KRY_SKEW_HALF };
    kry_status st = KRY_OK;
    int32_t *row = NULL, *col = NULL;
    float *owned = NULL;
    const void *val = NULL;
    CHECK(op, KRY_ERR_ARGUMENT, "kry_mtx_matrix: op is NULL");
    *op = NULL;
    CHECK(device && mtx, KRY_ERR_ARGUMENT, "kry_mtx_matrix: %s is NULL", device ? "mtx" : "device");
    CHECK(type == KRY_F32 || type == KRY_F64, KRY_ERR_ARGUMENT,
          "kry_mtx_matrix: %d is not a number type", (int)type);
    TRY(kry_mtx_check("kry_mtx_matrix", mtx));
    kry_matrix_params p;
    TAKE_PARAMS(params, p, "kry_mtx_matrix", "KRY_MATRIX");
    p.storage = storage[mtx->symmetry];
    if (mtx->symmetry == KRY_MTX_SYMMETRIC) p.traits |= KRY_SYMMETRIC;
    TRY(convert("kry_mtx_matrix", type, mtx, mtx->val, mtx->nnz, &val, &owned));
    if (mtx->array) TRY(array_places(mtx, &row, &col));
    TRY(kry_coo_create(device, type, mtx->rows, mtx->cols, mtx->nnz, mtx->array ? row : mtx->row,
                       mtx->array ? col : mtx->col, val, &p, op));
done:
    free(row);
    free(col);
    free(owned);
    return st;
}

/* Make a dense block from a coordinate file; the other entries are zero. */
static kry_status scatter(const kry_mtx *mtx, double **block)
{
    kry_status st = KRY_OK;
    unsigned char *seen = NULL;
    size_t size = (size_t)(mtx->rows * mtx->cols);
    TRY(kry_alloc(size, sizeof(double), block));
    TRY(kry_alloc(size, 1, &seen));
    for (int64_t e = 0; e < mtx->nnz; e++) {
        size_t at = (size_t)(mtx->col[e] * mtx->rows + mtx->row[e]);
        CHECK(!seen[at], KRY_ERR_ARGUMENT,
              "kry_mtx_vec: two entries at row %lld, column %lld" COUNTED, ROW(mtx->row[e]),
              ROW(mtx->col[e]), kry_first_row);
        seen[at] = 1;
        (*block)[at] = mtx->val[e];
    }
done:
    free(seen);
    return st;
}

kry_status kry_mtx_vec(kry_device *device, kry_type type, const kry_mtx *mtx, kry_vec **vec)
{
    kry_status st = KRY_OK;
    double *block = NULL;
    float *owned = NULL;
    const void *val = NULL;
    kry_vec *v = NULL;
    CHECK(vec, KRY_ERR_ARGUMENT, "kry_mtx_vec: vec is NULL");
    *vec = NULL;
    CHECK(device && mtx, KRY_ERR_ARGUMENT, "kry_mtx_vec: %s is NULL", device ? "mtx" : "device");
    CHECK(type == KRY_F32 || type == KRY_F64, KRY_ERR_ARGUMENT,
          "kry_mtx_vec: %d is not a number type", (int)type);
    TRY(kry_mtx_check("kry_mtx_vec", mtx));
    CHECK(mtx->symmetry == KRY_MTX_GENERAL, KRY_ERR_ARGUMENT,
          "kry_mtx_vec: the file holds half of a symmetric matrix, not a vector");
    CHECK(mtx->cols == 0 || mtx->rows <= INT64_MAX / 8 / mtx->cols, KRY_ERR_MEMORY,
          "kry_mtx_vec: a dense block of %lld by %lld", (long long)mtx->rows, (long long)mtx->cols);
    TRY(kry_vec_create(device, type, mtx->rows, mtx->cols, &v));
    if (!mtx->array) TRY(scatter(mtx, &block));
    TRY(convert("kry_mtx_vec", type, mtx, mtx->array ? mtx->val : block, mtx->rows * mtx->cols,
                &val, &owned));
    TRY(kry_vec_write(v, val));
    *vec = v;
    v = NULL;
done:
    free(block);
    free(owned);
    kry_vec_release(&v);
    return st;
}

kry_status kry_mtx_read_matrix(kry_device *device, kry_type type, const char *path, kry_op **op)
{
    kry_status st = KRY_OK;
    kry_mtx *mtx = NULL;
    kry_share *share = NULL;

    kry_team_enter(device, "kry_mtx_read_matrix", NULL);
    if (op) *op = NULL;
    TRY(GIVEN(op, device, path));
    if (kry_device_is_ranks(device)) {
        TRY(kry_share_read(device, path, &share));
        TRY(kry_share_matrix(device, type, share, NULL, op));
    } else {
        TRY(kry_mtx_read(path, &mtx));
        const kry_status made = kry_mtx_matrix(device, type, mtx, NULL, op);
        if (made == KRY_ERR_ARGUMENT) TRY(kry_mtx_check_duplicates(path, mtx)); /* names lines */
        st = made;
    }
done:
    st = kry_team_leave(device, st);
    if (st < 0) kry_op_release(op);
    kry_share_release(&share);
    kry_mtx_release(&mtx);
    return st;
}

kry_status kry_mtx_read_vec(kry_device *device, kry_type type, const char *path, kry_vec **vec)
{
    kry_status st = KRY_OK;
    kry_mtx *mtx = NULL;

    kry_team_enter(device, "kry_mtx_read_vec", NULL);
    if (vec) *vec = NULL;
    TRY(GIVEN(vec, device, path));
    if (kry_device_is_ranks(device)) {
        TRY(kry_share_read_vec(device, type, path, vec));
    } else {
        TRY(kry_mtx_read(path, &mtx));
        TRY(kry_mtx_vec(device, type, mtx, vec));
    }
done:
    st = kry_team_leave(device, st);
    if (st < 0) kry_vec_release(vec);
    kry_mtx_release(&mtx);
    return st;
}

kry_status kry_mtx_write_vec(const char *path, const kry_vec *vec)
{
    const kry_status st = GIVEN(path, vec);
    return st < 0 ? st : kry_mtx_write_vec_comment(path, vec, NULL);
}

kry_status kry_mtx_write_vec_comment(const char *path, const kry_vec *vec, const char *comment)
{
    kry_status st = KRY_OK;
    double *val = NULL;

    TRY(GIVEN(path, vec));
    if (kry_device_is_ranks(kry_vec_device(vec))) return kry_share_write_vec(path, vec, comment);
    int64_t count = kry_vec_rows(vec) * kry_vec_cols(vec);
    TRY(kry_alloc((size_t)count, sizeof(double), &val));
    TRY(kry_vec_read(vec, val));
    /* single numbers lie packed at the front: widen them from the back */
    for (int64_t i = count - 1; i >= 0 && kry_vec_type(vec) == KRY_F32; i--) {
        float number;
        memcpy(&number, (const char *)val + sizeof number * (size_t)i, sizeof number);
        val[i] = number;
    }
    kry_mtx mtx = { .array = true,
                    .rows = kry_vec_rows(vec),
                    .cols = kry_vec_cols(vec),
                    .nnz = count,
                    .val = val };
    TRY(kry_mtx_write(path, &mtx, comment));
done:
    free(val);
    return st;
}
