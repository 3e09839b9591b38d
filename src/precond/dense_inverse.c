/*
 * dense_inverse.c - the dense inverse of a coarse matrix and its product with one vector or several, up to eight of which
 * read it once. Kernels: cl/precond/coarse.cl.
 *
 * It is kept in full, a product being one launch; or, for large k on GPUs, packed: the tiles of
 * 64 x 64 numbers on and below the diagonal, one after the other by rows of tiles, filled up with
 * zeros. Each is read once and multiplies twice, and a second launch adds up.
 *
 * Per product  full: k^2 + 2 k numbers; packed: k^2/2 + 34 k and 2 k^2/64 partial sums
 */
#include "precond/coarse.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 32 };     /* numbers: rows of G start at lines of the cache */
enum { TILE = 64 };          /* rows and columns of a tile; columns of G at a time */
enum { PACKED_GROUP = 128 }; /* work-items to a tile */
enum { FEW = 4, MANY = 8 };  /* vectors that read G together */

static int64_t stride_of(int64_t k) { return (k + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }
static int64_t blocks_of(int64_t k) { return (k + TILE - 1) / TILE; }
static int64_t tiles_above(int64_t block) { return block * (block + 1) / 2; }

int64_t kry_dense_inverse_stride(const kry_dense_inverse *D) { return stride_of(D->k); }

/* Where number i of column c of some columns of G stands: they are rows as well. */
static int64_t place_of(const kry_dense_inverse *D, int64_t c, int64_t i)
{
    if (D->product == KRY_COARSE_PACKED) return (i / TILE * TILE + c) * TILE + i % TILE;
    return c * stride_of(D->k) + i;
}

/* Where the columns from a multiple j of TILE on begin: packed, a row of tiles up to the diagonal. */
static size_t column_at(const kry_dense_inverse *D, int64_t j)
{
    size_t word = kry_type_size(D->type);
    if (D->product == KRY_COARSE_PACKED) return (size_t)tiles_above(j / TILE) * TILE * TILE * word;
    return (size_t)(j * stride_of(D->k)) * word;
}

/* The kernel for so many vectors, which start where whole ones may or anywhere. CPUs have one for all. */
static kry_status get_kernel(const kry_dense_inverse *D, int vectors, bool anywhere,
                             kry_kernel **kernel)
{
    char defines[48] = "";

    if (!D->dev->info.cpu_kernels)
        snprintf(defines, sizeof defines, "%s%s", anywhere ? "-DKRY_UNALIGNED_SUMS" : "",
                 vectors == 1     ? ""
                 : vectors <= FEW ? " -DVECTORS=4"
                                  : " -DVECTORS=8");
    return kry_kernel_get(D->dev, "coarse", D->type, defines, "coarse_product", kernel);
}

static kry_status multiply(const kry_dense_inverse *D, const kry_vec *w, kry_vec *c)
{
    kry_status st = KRY_OK;
    kry_kernel *kernel;
    int64_t stride = stride_of(D->k), groups = D->k;
    const cl_int vectors = (cl_int)w->k;

    if (D->dev->info.cpu_kernels) groups = kry_groups_for(D->dev, D->type, D->k * stride);
    TRY(get_kernel(D, vectors, !kry_vec_aligned(w), &kernel));
    kry_arg args[] = { ARG(D->k),  ARG(stride), ARG(D->G),  ARG(vectors),
                       ARG_VEC(w), ARG(w->ld),  ARG_VEC(c), ARG(c->ld) };
    TRY(kry_launch(D->dev, kernel, groups < D->k ? groups : D->k, args, COUNT(args)));
done:
    return st;
}

/* What the tiles leave for one vector. */
static int64_t part_of(const kry_dense_inverse *D)
{
    return blocks_of(D->k) * blocks_of(D->k) * TILE;
}

static kry_status make_part(kry_dense_inverse *D, int64_t vectors)
{
    kry_status st = KRY_OK;

    if (D->part_vectors >= vectors) return KRY_OK;
    kry_buffer_release(D->dev, &D->part);
    D->part_vectors = 0;
    TRY(kry_buffer_create(D->dev, (size_t)(part_of(D) * vectors) * kry_type_size(D->type),
                          &D->part));
    D->part_vectors = vectors;
done:
    return st;
}

/* Each tile's two products, then the sums of what they leave in `part`. */
static kry_status multiply_packed(kry_dense_inverse *D, const kry_vec *w, kry_vec *c)
{
    enum { ADD_ACROSS = 8 }; /* vectors of c to a group */
    kry_status st = KRY_OK;
    const int64_t count = blocks_of(D->k), pitch = part_of(D);
    int64_t slices = TILE / (ADD_ACROSS * kry_vector_width(D->dev, D->type));
    const cl_int blocks = (cl_int)count, vectors = (cl_int)w->k;

    TRY(make_part(D, w->k));
    kry_arg multiply[] = { ARG(blocks), ARG(D->k),  ARG(D->G),    ARG(vectors),
                           ARG_VEC(w),  ARG(w->ld), ARG(D->part), ARG(pitch) };
    TRY(kry_launch_size(D->dev, D->tiles, tiles_above(count), PACKED_GROUP, multiply,
                        COUNT(multiply)));
    kry_arg add[] = { ARG(blocks), ARG(D->k), ARG(D->part), ARG(pitch), ARG_VEC(c), ARG(c->ld) };
    TRY(kry_launch_range(D->dev, D->add, (kry_range){ count * slices, w->k, PACKED_GROUP }, add,
                         COUNT(add)));
done:
    return st;
}

kry_status kry_dense_inverse_apply(kry_dense_inverse *D, const kry_vec *w, kry_vec *c)
{
    kry_status st = KRY_OK;

    for (int64_t j = 0, count; j < w->k; j += count) {
        count = w->k - j < MANY ? w->k - j : MANY;
        const kry_vec w_j = kry_vec_columns(w, j, count);
        kry_vec c_j = kry_vec_columns(c, j, count);
        TRY(D->product == KRY_COARSE_PACKED ? multiply_packed(D, &w_j, &c_j)
                                            : multiply(D, &w_j, &c_j));
    }
done:
    return st;
}

double kry_dense_inverse_bytes(const kry_dense_inverse *D)
{
    double word = (double)kry_type_size(D->type);
    if (D->product == KRY_COARSE_PACKED)
        return (double)tiles_above(blocks_of(D->k)) * TILE * TILE * word;
    return (double)D->k * (double)stride_of(D->k) * word;
}

double kry_dense_inverse_moved(const kry_dense_inverse *D)
{
    double k = (double)D->k, blocks = (double)blocks_of(D->k),
           word = (double)kry_type_size(D->type);
    if (D->product != KRY_COARSE_PACKED) return (k * k + 2 * k) * word;
    return (blocks * (blocks + 1) / 2 * TILE * TILE + 2 * blocks * blocks * TILE + 2 * k) * word;
}

/* Packing halves the bytes and takes a second launch: 3 us on an H200, in which it reads 12 MB. */
static bool worth_packing(const kry_dense_inverse *D)
{
    enum { LEAST_BYTES = 24 << 20 }; /* of the full inverse: k = 2500 in single, 1770 in double */
    return (double)D->k * (double)D->k * (double)kry_type_size(D->type) > LEAST_BYTES;
}

static kry_status check_packing(kry_dense_inverse *D)
{
    enum { LOCAL_NUMBERS = 1696 }; /* of coarse_tiles */
    kry_status st = KRY_OK;
    const kry_device_info *info = &D->dev->info;

    CHECK(!info->cpu_kernels && info->max_group >= PACKED_GROUP &&
              info->local_bytes >= LOCAL_NUMBERS * (int64_t)kry_type_size(D->type),
          KRY_ERR_UNSUPPORTED,
          "kry_coarse_create: a packed inverse takes kernels for GPUs, groups of %d and %lld bytes "
          "of local memory, which '%s' does not have",
          PACKED_GROUP, (long long)LOCAL_NUMBERS * (long long)kry_type_size(D->type), info->name);
    TRY(kry_kernel_get_fitting(D->dev, "coarse", D->type, "", "coarse_tiles", &D->tiles));
    TRY(kry_kernel_get(D->dev, "coarse", D->type, "", "coarse_add", &D->add));
    TRY(kry_kernel_check_size(D->dev, D->tiles, PACKED_GROUP));
    TRY(kry_kernel_check_size(D->dev, D->add, PACKED_GROUP));
done:
    return st;
}

kry_status kry_dense_inverse_choose(kry_dense_inverse *D, kry_coarse_product product)
{
    kry_status st = KRY_OK;
    bool pack = product == KRY_COARSE_PACKED || (product == KRY_COARSE_OWN && worth_packing(D));

    if (pack) st = check_packing(D);
    if (st == KRY_ERR_UNSUPPORTED && product == KRY_COARSE_OWN) pack = false, st = KRY_OK;
    D->product = pack ? KRY_COARSE_PACKED : KRY_COARSE_FULL;
    return st;
}

kry_status kry_dense_inverse_prepare(kry_dense_inverse *D)
{
    kry_status st = KRY_OK;
    kry_kernel *kernel;

    TRY(kry_buffer_create(D->dev, (size_t)kry_dense_inverse_bytes(D), &D->G));
    if (D->product == KRY_COARSE_PACKED)
        TRY(make_part(D, 1));
    else
        TRY(get_kernel(D, 1, false, &kernel)); /* compile it now */
done:
    return st;
}

kry_status kry_dense_inverse_form(kry_dense_inverse *D, kry_column_solver *solve, void *user)
{
    kry_status st = KRY_OK;
    int64_t k = D->k, blocks = blocks_of(k);
    size_t word = kry_type_size(D->type), room = (size_t)blocks * TILE * TILE;
    double *x = NULL;
    void *out = NULL;

    TRY(kry_alloc((size_t)k * TILE, sizeof *x, &x));
    TRY(kry_alloc(room, word, &out));
    for (int64_t j = 0; j < k; j += TILE) {
        int64_t m = k - j < TILE ? k - j : TILE,
                end = m < TILE && D->product == KRY_COARSE_FULL ? k : j + TILE;
        if (m < TILE) memset(out, 0, room * word); /* tiles have rows past the last */
        TRY(solve(user, j, m, x));
        for (int64_t c = 0; c < m; c++)
            for (int64_t i = 0; i < k; i++)
                kry_number_put(D->type, out, place_of(D, c, i), x[c * k + i]);
        TRY(kry_buffer_write(D->dev, D->G, column_at(D, j), column_at(D, end) - column_at(D, j),
                             out));
    }
done:
    free(out);
    free(x);
    return st;
}

void kry_dense_inverse_release(kry_dense_inverse *D)
{
    kry_buffer_release(D->dev, &D->part);
    kry_buffer_release(D->dev, &D->G);
}
