/* vectors.c - numbers of vectors: in the type of a device, from files and into them (source.h). */
#include "ranks.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

kry_status convert_values(kry_type type, int64_t n, const double *values, const void **out,
                          float **owned)
{
    kry_status st = KRY_OK;
    *out = values;
    if (type == KRY_F64) goto done;
    TRY(allocate((size_t)n, sizeof(float), owned));
    for (int64_t i = 0; i < n; i++) {
        (*owned)[i] = (float)values[i];
        CHECK(isfinite((*owned)[i]) || !isfinite(values[i]), KRY_ERR_ARGUMENT,
              "number %lld, %g, is too large for single precision", (long long)i, values[i]);
    }
    *out = *owned;
done:
    return st;
}

/* Numbers of a coordinate file to their places; a place that has two is refused, as kry_mtx_vec does on ranks. */
static kry_status scatter(const char *path, const kry_mtx *mtx, double *values)
{
    kry_status st = KRY_OK;
    bool *seen = NULL;

    TRY(allocate((uint64_t)(mtx->rows * mtx->cols), sizeof *seen, &seen));
    for (int64_t e = 0; e < mtx->nnz; e++) {
        const int64_t at = mtx->col[e] * mtx->rows + mtx->row[e];
        CHECK(!seen[at], KRY_ERR_ARGUMENT, "%s: two entries at row %d, column %d", path,
              mtx->row[e] + 1, mtx->col[e] + 1);
        seen[at] = true;
        values[at] = mtx->val[e];
    }
done:
    free(seen);
    return st;
}

/* To go with a matrix of complex numbers a file may hold such numbers, or their parts in turn, as kry writes them. */
static kry_status read_columns(const char *path, const source *s, kry_mtx **mtx)
{
    kry_status st = KRY_OK;

    if (s->pairs) TRY(kry_mtx_read_pairs(path, mtx));
    CHECK(!*mtx || (*mtx)->array || (*mtx)->rows != s->rows, KRY_ERR_UNSUPPORTED,
          "%s has coordinates, and columns to go with a complex matrix are read from array files",
          path);
    if (*mtx && (*mtx)->rows == s->rows) return KRY_OK;
    kry_mtx_release(mtx);
    TRY(kry_mtx_read(path, mtx));
done:
    return st;
}

kry_status read_vectors(const char *path, const source *s, int64_t *columns, double **values)
{
    kry_status st = KRY_OK;
    const int64_t n = s->rows;
    kry_mtx *mtx = NULL;
    TRY(read_columns(path, s, &mtx));
    CHECK(mtx->symmetry == KRY_MTX_GENERAL, KRY_ERR_ARGUMENT,
          "%s holds half of a symmetric matrix, not right-hand sides", path);
    CHECK(mtx->cols >= 1 && mtx->rows == n, KRY_ERR_SHAPE,
          "%s is %lld by %lld, but right-hand sides must be columns of %lld rows to go with the "
          "matrix",
          path, (long long)mtx->rows, (long long)mtx->cols, (long long)n);
    TRY(allocate((uint64_t)(n * mtx->cols), sizeof(double), values));
    if (mtx->array)
        memcpy(*values, mtx->val, (size_t)mtx->nnz * sizeof **values);
    else
        TRY(scatter(path, mtx, *values));
    *columns = mtx->cols;
done:
    kry_mtx_release(&mtx);
    return st;
}

kry_status read_shared_vectors(const char *path, const source *s, int64_t *columns, double **values)
{
    kry_status st = KRY_OK;
    const bool fp64 = kry_device_get_info(s->device)->fp64;
    kry_vec *v = NULL;

    TRY(kry_mtx_read_vec(s->device, fp64 ? KRY_F64 : KRY_F32, path, &v));
    *columns = kry_vec_cols(v);
    CHECK(*columns >= 1 && kry_vec_rows(v) == s->rows, KRY_ERR_SHAPE,
          "%s is %lld by %lld, but right-hand sides must be columns of %lld rows to go with the "
          "matrix",
          path, (long long)kry_vec_rows(v), (long long)*columns, (long long)s->rows);
    const int64_t count = kry_vec_rows_here(v, NULL) * *columns;
    TRY(allocate((size_t)count, sizeof(double), values));
    TRY(kry_vec_read(v, *values));
    for (int64_t i = count - 1; i >= 0 && !fp64; i--) { /* single numbers lie packed at the front */
        float number;
        memcpy(&number, (const char *)*values + sizeof number * (size_t)i, sizeof number);
        (*values)[i] = number;
    }
done:
    kry_vec_release(&v);
    return st;
}

/* By its name a file is for PETSc. */
static bool is_petsc(const char *path)
{
    const size_t length = strlen(path);
    return length > 6 && !strcmp(path + length - 6, ".petsc");
}

kry_status check_columns(const char *path, int64_t columns)
{
    if (!path || columns == 1 || !is_petsc(path)) return KRY_OK;
    return kry_fail(KRY_ERR_UNSUPPORTED,
                    "-o %s: x has %lld columns, and a vector of PETSc has one: write a .mtx", path,
                    (long long)columns);
}

kry_status write_matrix(const char *path, const kry_mtx *mtx, const char *comment)
{
    return is_petsc(path) ? kry_petsc_write(path, mtx) : kry_mtx_write(path, mtx, comment);
}

kry_status write_vectors(const char *path, int64_t n, int64_t columns, double *values,
                         const char *comment)
{
    kry_mtx mtx = { .array = true, .rows = n, .cols = columns, .nnz = n * columns, .val = values };
    return write_matrix(path, &mtx, comment);
}

kry_status write_shared_vectors(const char *path, kry_vec *x, const double *values,
                                const char *comment)
{
    kry_status st = KRY_OK;
    const int64_t count = kry_vec_rows_here(x, NULL) * kry_vec_cols(x);
    float *single = NULL;
    const void *numbers;

    TRY(ranks_agree(convert_values(kry_vec_type(x), count, values, &numbers, &single)));
    TRY(kry_vec_write(x, numbers));
    TRY(is_petsc(path) ? kry_petsc_write_vec(path, x)
                       : kry_mtx_write_vec_comment(path, x, comment));
done:
    free(single);
    return ranks_agree(st);
}
