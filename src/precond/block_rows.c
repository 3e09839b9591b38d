/* block_rows.c - block factors by rows, padded to the longest of a bundle, and solves with them. */
#include "precond/block_solve.h"
#include <limits.h>
#include <stdlib.h>

static kry_status pack_rows(kry_block_solve *s, const kry_sparse *t, kry_padded_rows *out)
{
    kry_status st = KRY_OK;
    const double *numbers = t->val;
    int32_t *begin = NULL, *col = NULL;
    void *val = NULL;
    int64_t places = s->bundles * s->rows, total = 0;

    TRY(kry_alloc((size_t)places + 1, sizeof *begin, &begin));
    for (int64_t p = 0; p < places; p++) { /* the longest row of each place */
        int64_t first = p / s->rows * s->stride * s->rows + p % s->rows, longest = 0;
        for (int64_t i = first; i < s->n && i < first + s->stride * s->rows; i += s->rows)
            if (t->row_ptr[i + 1] - t->row_ptr[i] > longest)
                longest = t->row_ptr[i + 1] - t->row_ptr[i];
        total += longest;
        CHECK(total <= INT_MAX / s->stride, KRY_ERR_UNSUPPORTED,
              "block factors: rows padded to the longest of %d blocks take more than 2^31 places; "
              "take smaller blocks",
              s->stride);
        begin[p + 1] = (int32_t)total;
    }
    TRY(kry_alloc((size_t)(total * s->stride), sizeof *col, &col));
    const size_t size = kry_storage_size(s->storage, s->type);
    TRY(kry_alloc((size_t)(total * s->stride), size, &val));
    for (int64_t i = 0; i < s->n; i++) {
        int64_t block = i / s->rows, first = block * s->rows, to;
        to =
            begin[block / s->stride * s->rows + i - first] * (int64_t)s->stride + block % s->stride;
        for (int64_t e = t->row_ptr[i]; e < t->row_ptr[i + 1]; e++, to += s->stride) {
            col[to] = (int32_t)(t->col[e] - first);
            kry_storage_put(s->storage, s->type, val, to, numbers[e]);
        }
    }
    TRY(kry_block_upload(s, begin, (size_t)places + 1, sizeof *begin, &out->begin));
    TRY(kry_block_upload(s, col, (size_t)(total * s->stride), sizeof *col, &out->col));
    TRY(kry_block_upload(s, val, (size_t)(total * s->stride), size, &out->val));
    s->facts.slots += total * s->stride;
done:
    free(begin), free(col), free(val);
    return st;
}

static kry_status pack_inverse(kry_block_solve *s, const kry_block_factor *f)
{
    kry_status st = KRY_OK;
    int64_t numbers = s->bundles * s->rows * s->stride;
    void *inverse = NULL;

    const size_t size = kry_storage_size(s->storage, s->type);
    TRY(kry_alloc((size_t)numbers, size, &inverse));
    for (int64_t i = 0; i < s->n; i++) {
        int64_t block = i / s->rows;
        int64_t to = (block / s->stride * s->rows + i % s->rows) * s->stride + block % s->stride;
        kry_storage_put(s->storage, s->type, inverse, to, 1 / f->d[i] / s->scale);
    }
    TRY(kry_block_upload(s, inverse, (size_t)numbers, size, &s->padded.inverse));
    s->facts.slots += numbers;
done:
    free(inverse);
    return st;
}

kry_status kry_block_rows_pack(kry_block_solve *s, const kry_block_factor *f)
{
    kry_status st = KRY_OK;

    TRY(pack_rows(s, &f->lower, &s->padded.lower));
    TRY(pack_rows(s, &f->upper, &s->padded.upper));
    TRY(pack_inverse(s, f));
done:
    return st;
}

kry_status kry_block_rows_run(kry_block_solve *s, bool transposed, const kry_vec *r, kry_vec *z)
{
    int size = kry_group_size(s->dev);
    cl_int rows = (cl_int)s->rows, bundles = (cl_int)s->bundles;
    cl_long n = s->n;
    kry_scalar scale = kry_scalar_of(s->dev, s->scale);
    kry_arg args[] = { ARG(n),
                       ARG(rows),
                       ARG(bundles),
                       ARG(s->padded.lower.begin),
                       ARG(s->padded.lower.col),
                       ARG(s->padded.lower.val),
                       ARG(s->padded.upper.begin),
                       ARG(s->padded.upper.col),
                       ARG(s->padded.upper.val),
                       ARG(s->padded.inverse),
                       ARG_ACC(s->dev, scale),
                       ARG(s->scratch),
                       ARG(r->buffer),
                       ARG(r->first),
                       ARG(z->buffer),
                       ARG(z->first) };

    if (size > s->stride) size = s->stride;
    return kry_launch_size(s->dev, transposed ? s->padded.transposed : s->kernel,
                           s->dev->info.cpu_kernels ? s->walkers : s->walkers * s->stride / size,
                           size, args, COUNT(args));
}
