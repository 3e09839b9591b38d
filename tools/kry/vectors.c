/* vectors.c - numbers of vectors: in the type of a device, from files and into them (source.h). */
#include "page/output.h"
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

kry_status read_vectors(const char *path, int64_t n, int64_t *columns, double **values)
{
    kry_status st = KRY_OK;
    kry_mtx *mtx = NULL;
    TRY(kry_mtx_read(path, &mtx));
    CHECK(mtx->cols >= 1 && mtx->rows == n, KRY_ERR_SHAPE,
          "%s is %lld by %lld, but right-hand sides must be columns of %lld rows to go with the "
          "matrix",
          path, (long long)mtx->rows, (long long)mtx->cols, (long long)n);
    TRY(allocate((size_t)(n * mtx->cols), sizeof(double), values));
    for (int64_t e = 0; e < mtx->nnz; e++)
        (*values)[mtx->array ? e : mtx->col[e] * n + mtx->row[e]] += mtx->val[e];
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
    const int64_t count = s->here * *columns;
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

kry_status write_matrix(const char *path, const kry_mtx *mtx, const char *comment)
{
    kry_status st = KRY_OK;
    output o;

    TRY(kry_output_begin(path, &o));
    st = kry_output_end(&o, kry_mtx_write(o.temporary, mtx, comment));
done:
    return st;
}

kry_status write_vectors(const char *path, int64_t n, int64_t columns, double *values,
                         const char *comment)
{
    kry_mtx mtx = { .array = true, .rows = n, .cols = columns, .nnz = n * columns, .val = values };
    return write_matrix(path, &mtx, comment);
}

/* Each rank writes its rows into the file that rank 0 has begun. */
kry_status write_shared_vectors(const char *path, kry_vec *x, const double *values,
                                const char *comment)
{
    kry_status st = KRY_OK;
    const int64_t count = kry_vec_rows_here(x, NULL) * kry_vec_cols(x);
    output o = { .target = "" };
    float *single = NULL;
    const void *numbers;
    bool begun = false;

    TRY(ranks_agree(ranks_report() ? kry_output_begin(path, &o) : KRY_OK));
    begun = ranks_report();
    ranks_tell(o.temporary, sizeof o.temporary);
    TRY(ranks_agree(convert_values(kry_vec_type(x), count, values, &numbers, &single)));
    TRY(kry_vec_write(x, numbers));
    TRY(kry_mtx_write_vec_comment(o.temporary, x, comment));
done:
    if (begun) st = kry_output_end(&o, st);
    free(single);
    return ranks_agree(st);
}
