/* block_solve.c - how the factors of block_factor.c are laid out, and solves with them. */
#include "precond/block_solve.h"
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
    s->facts.stored += (double)(count * size);
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

static kry_status get_kernels(kry_block_solve *s)
{
    kry_status st = KRY_OK;
    char defines[64];

    snprintf(defines, sizeof defines, "-DSTRIDE=%d%s%s", s->stride,
             s->diagonals.count >= 0 ? " -DDIAGONALS" : "",
             kry_storage_defines(s->storage, s->type));
    if (s->diagonals.count >= 0) {
        const char *name = s->dev->info.cpu_kernels ? "block_diagonals" : "block_pieces";
        TRY(kry_kernel_get(s->dev, "block_ic", s->type, defines, name, &s->kernel));
    } else {
        TRY(kry_kernel_get(s->dev, "block_ic", s->type, defines, "block_rows", &s->kernel));
        TRY(kry_kernel_get(s->dev, "block_ic", s->type, defines, "block_rows_transposed",
                           &s->padded.transposed));
    }
done:
    return st;
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

static kry_status lay_out(kry_block_solve *s, kry_block_factor *f)
{
    kry_status st = KRY_OK;
    const double word = (double)kry_type_size(s->type);

    s->rows = f->rows;
    TRY(check_range(s, f));
    if (s->n == 0) goto done;
    if (!kry_block_diagonals_plan(s, f)) s->diagonals.count = -1, s->rows = f->rows;
    plan_bundles(s);
    s->facts.nnz = s->n + f->lower.row_ptr[f->n] + (f->symmetric ? 0 : f->upper.row_ptr[f->n]);
    s->facts.diagonals = s->diagonals.count;
    if (s->diagonals.count >= 0) {
        TRY(kry_block_diagonals_pack(s, f));
    } else {
        TRY(kry_block_factor_mirror(f));
        TRY(kry_block_rows_pack(s, f));
    }
    s->facts.moved = s->facts.stored + 2 * (double)s->n * word;
    if (s->diagonals.count < 0 || s->dev->info.cpu_kernels) {
        size_t numbers = (size_t)(s->walkers * s->rows * s->stride);
        TRY(kry_buffer_create(s->dev, numbers * kry_type_size(s->type), &s->scratch));
        s->facts.stored += (double)numbers * word;
    }
    TRY(get_kernels(s));
done:
    return st;
}

kry_status kry_block_solve_create(kry_device *dev, kry_block_factor *f, kry_block_solve **out)
{
    kry_status st = KRY_OK;
    kry_block_solve *s = NULL;

    *out = NULL;
    TRY(kry_alloc(1, sizeof *s, &s));
    s->dev = dev, s->type = f->type, s->storage = f->storage, s->n = f->n;
    TRY(lay_out(s, f));
    *out = s, s = NULL;
done:
    kry_block_solve_release(&s);
    return st;
}

void kry_block_solve_release(kry_block_solve **address)
{
    kry_block_solve *s = *address;
    if (!s) return;
    kry_block_diagonals *d = &s->diagonals;
    kry_padded_rows *l = &s->padded.lower, *u = &s->padded.upper;
    cl_mem *all[] = { &d->pairs, &d->slot, &d->factor, &l->begin,          &l->col,    &l->val,
                      &u->begin, &u->col,  &u->val,    &s->padded.inverse, &s->scratch };
    for (size_t i = 0; i < COUNT(all); i++) kry_buffer_release(s->dev, all[i]);
    free(s);
    *address = NULL;
}

kry_block_facts kry_block_solve_facts(const kry_block_solve *s) { return s->facts; }

kry_status kry_block_solve_run(kry_block_solve *s, bool transposed, const kry_vec *r, kry_vec *z)
{
    if (s->n == 0) return KRY_OK;
    return (s->diagonals.count >= 0 ? kry_block_diagonals_run : kry_block_rows_run)(s, transposed,
                                                                                    r, z);
}
