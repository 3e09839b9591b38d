/* block_solve.c - how the factors of block_factor.c are laid out, by diagonals (block_diagonals.c)
 * or as rows padded to the longest of a bundle, in blocks or by levels (block_levels.c), and solves with them. */
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

    if (s->by_levels)
        s->stride = cpu ? 1 : GPU_STRIDE;
    else if (cpu)
        s->stride = s->diagonals.count && blocks >= CPU_STRIDE ? CPU_STRIDE : 1;
    else
        s->stride = s->diagonals.count >= 0 ? 1 : GPU_STRIDE;
    s->bundles = (blocks + s->stride - 1) / s->stride;
    if (!cpu && s->diagonals.count >= 0) most = 65535;
    s->walkers = s->bundles < most ? s->bundles : most;
}

static kry_status get_kernel(kry_block_solve *s)
{
    const bool diagonals = s->diagonals.count >= 0, cpu = s->dev->info.cpu_kernels;
    const char *name = s->by_levels ? "block_levels"
                       : !diagonals ? "block_rows"
                       : cpu        ? "block_diagonals"
                                    : "block_pieces";
    char defines[96], how[32] = "";

    if (!cpu)
        snprintf(how, sizeof how, " -DGROUP=%d", kry_block_levels_group(s->dev));
    else if (diagonals && !s->by_levels) /* loops over diagonals are unrolled there */
        snprintf(how, sizeof how, " -DDIAGONALS=%d", s->diagonals.count);
    snprintf(defines, sizeof defines, "-DSTRIDE=%d%s%s", cpu ? s->stride : GPU_STRIDE, how,
             kry_storage_defines(s->storage, s->type));
    return kry_kernel_get(s->dev, diagonals && cpu ? name : "block_ic", s->type, defines, name,
                          &s->kernel);
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

/* Where row i lies: its place, and which of the bundle's rows there it is. */
typedef struct lying {
    int64_t place, lane, first; /* first: from which columns count */
} lying;

static lying lies_at(const kry_block_solve *s, const int32_t *position, int64_t i)
{
    const int64_t at = position ? position[i] : i, block = at / s->rows;
    return (lying){ .place = block / s->stride * s->rows + at % s->rows,
                    .lane = block % s->stride,
                    .first = position ? 0 : block * s->rows };
}

/* begin: places + 1 zeros, of which each place gets the length of its longest row, and then where it begins. */
static kry_status find_begins(const kry_block_solve *s, const kry_sparse *t,
                              const int32_t *position, int64_t places, int32_t *begin)
{
    kry_status st = KRY_OK;
    int64_t total = 0;

    for (int64_t i = 0; i < s->n; i++) {
        const int64_t place = lies_at(s, position, i).place, length = kry_row_length(t, i);
        if (length > begin[place + 1]) begin[place + 1] = (int32_t)length;
    }
    for (int64_t p = 0; p < places; p++) {
        total += begin[p + 1];
        CHECK(total <= INT_MAX / s->stride, KRY_ERR_UNSUPPORTED,
              "incomplete factors: rows padded to the longest of %d take more than 2^31 places; "
              "take smaller blocks, or less fill",
              s->stride);
        begin[p + 1] = (int32_t)total;
    }
done:
    return st;
}

/* By levels, columns of -1 end a row that is shorter than others of its place. */
kry_status kry_block_pack_rows(kry_block_solve *s, const kry_sparse *t, const int32_t *position,
                               kry_padded_rows *out)
{
    kry_status st = KRY_OK;
    const size_t size = kry_storage_size(s->storage, s->type);
    const double *numbers = t->val;
    int32_t *begin = NULL, *col = NULL;
    void *val = NULL;
    const int64_t places = s->bundles * s->rows;

    TRY(kry_alloc((size_t)places + 1, sizeof *begin, &begin));
    TRY(find_begins(s, t, position, places, begin));
    const int64_t slots = (int64_t)begin[places] * s->stride;
    TRY(kry_alloc((size_t)slots, sizeof *col, &col));
    TRY(kry_alloc((size_t)slots, size, &val));
    for (int64_t q = 0; position && q < slots; q++) col[q] = -1;
    for (int64_t i = 0; i < s->n; i++) {
        const lying at = lies_at(s, position, i);
        int64_t to = begin[at.place] * (int64_t)s->stride + at.lane;
        for (int64_t e = t->row_ptr[i]; e < t->row_ptr[i + 1]; e++, to += s->stride) {
            col[to] = (int32_t)(t->col[e] - at.first);
            kry_storage_put(s->storage, s->type, val, to, numbers[e]);
        }
    }
    TRY(kry_block_upload(s, begin, (size_t)places + 1, sizeof *begin, &out->begin));
    TRY(kry_block_upload(s, col, (size_t)slots, sizeof *col, &out->col));
    TRY(kry_block_upload(s, val, (size_t)slots, size, &out->val));
    s->slots += slots;
done:
    free(begin), free(col), free(val);
    return st;
}

kry_status kry_block_pack_inverse(kry_block_solve *s, const kry_block_factor *f,
                                  const int32_t *position)
{
    kry_status st = KRY_OK;
    int64_t numbers = s->bundles * s->rows * s->stride;
    void *inverse = NULL;

    const size_t size = kry_storage_size(s->storage, s->type);
    TRY(kry_alloc((size_t)numbers, size, &inverse));
    for (int64_t i = 0; i < s->n; i++) {
        const lying at = lies_at(s, position, i);
        kry_storage_put(s->storage, s->type, inverse, at.place * s->stride + at.lane,
                        1 / f->d[i] / s->scale);
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

    TRY(kry_block_factor_mirror(f));
    TRY(kry_block_pack_rows(s, &f->lower, NULL, &s->lower));
    TRY(kry_block_pack_rows(s, &f->upper, NULL, &s->upper));
    TRY(kry_block_pack_inverse(s, f, NULL));
done:
    return st;
}

int64_t kry_block_columns(const kry_block_solve *s, const kry_vec *r)
{
    return s->dev->info.cpu_kernels ? 1 : r->k;
}

/* Room for what lies between the two sweeps of a block, for so many columns at once. */
static kry_status make_scratch(kry_block_solve *s, int64_t columns)
{
    kry_status st = KRY_OK;
    const size_t bytes =
        (size_t)(s->walkers * s->rows * s->stride * columns) * kry_type_size(s->type);

    if (s->by_levels || s->scratch_columns >= columns) return KRY_OK;
    if (s->diagonals.count >= 0 && !s->dev->info.cpu_kernels) return KRY_OK;
    kry_buffer_release(s->dev, &s->scratch);
    s->bytes_stored -= (double)bytes / (double)columns * (double)s->scratch_columns;
    s->scratch_columns = 0;
    TRY(kry_buffer_create(s->dev, bytes, &s->scratch));
    s->scratch_columns = columns;
    s->bytes_stored += (double)bytes;
done:
    return st;
}

static kry_status run_rows(kry_block_solve *s, const kry_vec *r, kry_vec *z)
{
    kry_status st = KRY_OK;
    kry_device *dev = s->dev;
    const kry_padded_rows *l = &s->lower, *u = &s->upper;
    const bool cpu = dev->info.cpu_kernels;
    const int64_t launched = kry_block_columns(s, r);
    int size = kry_group_size(dev);
    cl_int rows = (cl_int)s->rows, bundles = (cl_int)s->bundles, columns = (cl_int)r->k;
    cl_long n = s->n;
    kry_scalar by = kry_scalar_of(dev, s->scale);

    TRY(make_scratch(s, launched));
    kry_arg args[] = { ARG(n),       ARG(rows),       ARG(bundles),     ARG(l->begin),
                       ARG(l->col),  ARG(l->val),     ARG(u->begin),    ARG(u->col),
                       ARG(u->val),  ARG(s->inverse), ARG_ACC(dev, by), ARG(s->scratch),
                       ARG(columns), ARG_VEC(r),      ARG(r->ld),       ARG_VEC(z),
                       ARG(z->ld) };
    if (size > s->stride) size = s->stride;
    const int64_t groups = cpu ? s->walkers : s->walkers * s->stride / size;
    TRY(kry_launch_range(dev, s->kernel, (kry_range){ groups, launched, size }, args, COUNT(args)));
done:
    return st;
}

kry_status kry_block_solve_create(kry_block_factor *f, bool by_levels, kry_block_solve *s)
{
    kry_status st = KRY_OK;
    const kry_op_shape *shape = &f->A->shape;
    const double word = (double)kry_type_size(shape->type);

    *s = (kry_block_solve){ .dev = f->A->dev,
                            .type = shape->type,
                            .storage = f->storage,
                            .n = shape->rows,
                            .rows = f->rows,
                            .by_levels = by_levels };
    TRY(check_range(s, f));
    if (s->n == 0) goto done;
    if (by_levels)
        s->diagonals.count = -1, s->rows = 1;
    else if (!kry_block_diagonals_plan(s, f))
        s->diagonals.count = -1, s->rows = f->rows;
    plan_bundles(s);
    s->nnz = s->n + kry_sparse_nnz(&f->lower) + (f->symmetric ? 0 : kry_sparse_nnz(&f->upper));
    TRY(by_levels                 ? kry_block_levels_pack(s, f)
        : s->diagonals.count >= 0 ? kry_block_diagonals_pack(s, f)
                                  : pack_all_rows(s, f));
    s->bytes_moved = s->bytes_stored + (by_levels ? 4 : 2) * (double)s->n * word;
    TRY(make_scratch(s, 1));
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
    kry_block_levels_release(s);
}

kry_status kry_block_solve_run(kry_block_solve *s, const kry_vec *r, kry_vec *z)
{
    if (s->n == 0) return KRY_OK;
    if (s->by_levels) return kry_block_levels_run(s, r, z);
    return s->diagonals.count >= 0 ? kry_block_diagonals_run(s, r, z) : run_rows(s, r, z);
}
