/* block_solve.c - how the factors of block_factor.c are laid out, by diagonals (block_diagonals.c)
 * or as rows padded to the longest of a bundle, and solves with them. */
#include "precond/block_ic.h"
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    CPU_STRIDE = 8,
    GPU_STRIDE = 32,
    CPU_WALKERS = 4, /* to a core: few, so that what they write between the sweeps stays in cache */
    GPU_WALKERS = 16384
};

kry_status kry_block_upload(kry_block_solve *s, const void *host, size_t count, size_t size,
                            cl_mem *buffer)
{
    s->bytes_stored += (double)(count * size);
    return kry_buffer_upload(s->dev, count * size, host, buffer);
}

/* How many blocks to a bundle, how many bundles, and by how many groups at once. */
static void plan_bundles(kry_block_solve *s)
{
    const bool cpu = s->dev->info.cpu_kernels;
    int64_t most = cpu ? CPU_WALKERS * (int64_t)s->dev->info.compute_units : GPU_WALKERS;

    int64_t blocks = (s->n + s->rows - 1) / s->rows;

    if (cpu)
        s->stride = s->diagonals.count && blocks >= CPU_STRIDE ? CPU_STRIDE : 1;
    else
        s->stride = s->diagonals.count >= 0 ? 1 : GPU_STRIDE;
    s->bundles = (blocks + s->stride - 1) / s->stride;
    if (!cpu && s->diagonals.count >= 0) most = 65535;
    s->walkers = s->bundles < most ? s->bundles : most;
}

static kry_status get_kernel(kry_block_solve *s)
{
    const bool diagonals = s->diagonals.count >= 0;
    const char *name = !diagonals                 ? "block_rows"
                       : s->dev->info.cpu_kernels ? "block_diagonals"
                                                  : "block_pieces";
    char defines[64];

    snprintf(defines, sizeof defines, "-DSTRIDE=%d%s%s", s->stride, diagonals ? " -DDIAGONALS" : "",
             kry_storage_defines(s->storage, s->type));
    return kry_kernel_get(s->dev, "block_ic", s->type, defines, name, &s->kernel);
}

/* The numbers of triangles are about one; those of D^-1 are scaled by the largest. */
static kry_status check_range(kry_block_solve *s, const kry_block_factor *f)
{
    kry_status st = KRY_OK;
    const kry_sparse *both[] = { &f->lower, &f->upper };
    double least = INFINITY, most = 0;

    s->scale = 1;
    if (s->storage == KRY_STORE_GIVEN) return KRY_OK;
    for (int64_t i = 0; i < s->n; i++) {
        least = fmin(least, fabs(1 / f->d[i]));
        most = fmax(most, fabs(1 / f->d[i]));
    }
    s->scale = kry_storage_scale(s->storage, s->type, most);
    CHECK(s->n == 0 || (kry_storage_holds(s->storage, most / s->scale) &&
                        kry_storage_holds(s->storage, least / s->scale)),
          KRY_ERR_UNSUPPORTED,
          "%s: inverse pivots from %.3g to %.3g are too far apart for storage '%s'", f->who, least,
          most, kry_storage_name(s->storage));
    for (int t = 0; t < (f->symmetric ? 1 : 2); t++) {
        const double *val = both[t]->val;
        for (int64_t e = 0; e < kry_sparse_nnz(both[t]); e++)
            CHECK(isfinite(kry_storage_round(s->storage, s->type, val[e])), KRY_ERR_UNSUPPORTED,
                  "%s: an entry %.3g of the factors is too large for storage '%s'", f->who, val[e],
                  kry_storage_name(s->storage));
    }
done:
    return st;
}

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
    s->slots += total * s->stride;
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
    TRY(kry_block_upload(s, inverse, (size_t)numbers, size, &s->inverse));
    s->slots += numbers;
done:
    free(inverse);
    return st;
}

/* L, U and D^-1 */
static kry_status pack_all_rows(kry_block_solve *s, kry_block_factor *f)
{
    kry_status st = KRY_OK;

    if (f->symmetric) TRY(kry_sparse_transpose(&f->lower, &f->upper));
    TRY(pack_rows(s, &f->lower, &s->lower));
    TRY(pack_rows(s, &f->upper, &s->upper));
    TRY(pack_inverse(s, f));
done:
    return st;
}

static kry_status run_rows(kry_block_solve *s, const kry_vec *r, kry_vec *z)
{
    kry_device *dev = s->dev;
    const kry_padded_rows *l = &s->lower, *u = &s->upper;
    int size = kry_group_size(dev);
    cl_int rows = (cl_int)s->rows, bundles = (cl_int)s->bundles;
    cl_long n = s->n;
    kry_scalar by = kry_scalar_of(dev, s->scale);
    kry_arg args[] = { ARG(n),      ARG(rows),       ARG(bundles),     ARG(l->begin),
                       ARG(l->col), ARG(l->val),     ARG(u->begin),    ARG(u->col),
                       ARG(u->val), ARG(s->inverse), ARG_ACC(dev, by), ARG(s->scratch),
                       ARG_VEC(r),  ARG_VEC(z) };

    if (size > s->stride) size = s->stride;
    return kry_launch_size(dev, s->kernel,
                           dev->info.cpu_kernels ? s->walkers : s->walkers * s->stride / size, size,
                           args, COUNT(args));
}

kry_status kry_block_solve_create(kry_block_factor *f, kry_block_solve *s)
{
    kry_status st = KRY_OK;
    const kry_op_shape *shape = &f->A->shape;
    const double word = (double)kry_type_size(shape->type);

    *s = (kry_block_solve){ .dev = f->A->dev,
                            .type = shape->type,
                            .storage = f->storage,
                            .n = shape->rows,
                            .rows = f->rows };
    TRY(check_range(s, f));
    if (s->n == 0) goto done;
    if (!kry_block_diagonals_plan(s, f)) s->diagonals.count = -1, s->rows = f->rows;
    plan_bundles(s);
    s->nnz = s->n + kry_sparse_nnz(&f->lower) + (f->symmetric ? 0 : kry_sparse_nnz(&f->upper));
    TRY(s->diagonals.count >= 0 ? kry_block_diagonals_pack(s, f) : pack_all_rows(s, f));
    s->bytes_moved = s->bytes_stored + 2 * (double)s->n * word;
    if (s->diagonals.count < 0 || s->dev->info.cpu_kernels) {
        size_t numbers = (size_t)(s->walkers * s->rows * s->stride);
        TRY(kry_buffer_create(s->dev, numbers * kry_type_size(s->type), &s->scratch));
        s->bytes_stored += (double)numbers * word;
    }
    TRY(get_kernel(s));
done:
    if (st < 0) kry_block_solve_release(s);
    return st;
}

void kry_block_solve_release(kry_block_solve *s)
{
    kry_block_diagonals *d = &s->diagonals;
    cl_mem *all[] = { &d->pairs,     &d->slot,      &d->factor,      &s->lower.begin,
                      &s->lower.col, &s->lower.val, &s->upper.begin, &s->upper.col,
                      &s->upper.val, &s->inverse,   &s->scratch };
    for (size_t i = 0; i < COUNT(all); i++) kry_buffer_release(s->dev, all[i]);
}

kry_status kry_block_solve_run(kry_block_solve *s, const kry_vec *r, kry_vec *z)
{
    if (s->n == 0) return KRY_OK;
    return s->diagonals.count >= 0 ? kry_block_diagonals_run(s, r, z) : run_rows(s, r, z);
}
