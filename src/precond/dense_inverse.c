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
#include "device/launch.h"
#include "precond/coarse.h"
#include <float.h>
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

int64_t kryi_dense_inverse_stride(const kryi_dense_inverse *D) { return stride_of(D->k); }

/* Where number i of column c of some columns of G stands: they are rows as well. */
static int64_t place_of(const kryi_dense_inverse *D, int64_t c, int64_t i)
{
    if (D->product == KRY_COARSE_PACKED) return (i / TILE * TILE + c) * TILE + i % TILE;
    return c * stride_of(D->k) + i;
}

/* Where the columns from a multiple j of TILE on begin: packed, a row of tiles up to the diagonal. */
static size_t column_at(const kryi_dense_inverse *D, int64_t j)
{
    size_t word = kry_type_size(D->type);
    if (D->product == KRY_COARSE_PACKED) return (size_t)tiles_above(j / TILE) * TILE * TILE * word;
    return (size_t)(j * stride_of(D->k)) * word;
}

/* The kernel for so many vectors, which start where whole ones may or anywhere. CPUs have one for all. */
static kry_status get_kernel(const kryi_dense_inverse *D, int vectors, bool anywhere,
                             kryi_kernel **kernel)
{
    char defines[48] = "";

    if (!D->dev->info.cpu_kernels)
        snprintf(defines, sizeof defines, "%s%s", anywhere ? "-DKRY_UNALIGNED_SUMS" : "",
                 vectors == 1     ? ""
                 : vectors <= FEW ? " -DVECTORS=4"
                                  : " -DVECTORS=8");
    return kryi_kernel_get(D->dev, "coarse", D->type, defines, "coarse_product", kernel);
}

static kry_status multiply(const kryi_dense_inverse *D, const kry_vec *w, kry_vec *c)
{
    kry_status st = KRY_OK;
    kryi_kernel *kernel;
    int64_t stride = stride_of(D->k), groups = D->k;
    const cl_int vectors = (cl_int)w->k;

    if (D->dev->info.cpu_kernels) groups = kryi_groups_for(D->dev, D->type, D->k * stride);
    TRY(get_kernel(D, vectors, !kryi_vec_aligned(w), &kernel));
    kry_arg args[] = { ARG(D->k),  ARG(stride), ARG(D->G),  ARG(vectors),
                       ARG_VEC(w), ARG(w->ld),  ARG_VEC(c), ARG(c->ld) };
    TRY(kryi_launch(D->dev, kernel, groups < D->k ? groups : D->k, args, COUNT(args)));
done:
    return st;
}

/* Numbers that the tiles leave for one vector. */
static int64_t part_of(const kryi_dense_inverse *D)
{
    return blocks_of(D->k) * blocks_of(D->k) * TILE;
}

static kry_status make_part(kryi_dense_inverse *D, int64_t vectors)
{
    kry_status st = KRY_OK;

    if (D->part_vectors >= vectors) return KRY_OK;
    kryi_buffer_release(D->dev, &D->part);
    D->part_vectors = 0;
    TRY(kryi_buffer_create(D->dev, (uint64_t)(part_of(D) * vectors) * kry_type_size(D->type),
                           &D->part));
    D->part_vectors = vectors;
done:
    return st;
}

/* Each tile's two products, then the sums of what they leave in `part`. */
static kry_status multiply_packed(kryi_dense_inverse *D, const kry_vec *w, kry_vec *c)
{
    enum { ADD_ACROSS = 8 }; /* vectors of c to a group */
    kry_status st = KRY_OK;
    const int64_t count = blocks_of(D->k), pitch = part_of(D);
    int64_t slices = TILE / (ADD_ACROSS * kryi_vector_width(D->dev, D->type));
    const cl_int blocks = (cl_int)count, vectors = (cl_int)w->k;

    TRY(make_part(D, w->k));
    kry_arg multiply[] = { ARG(blocks), ARG(D->k),  ARG(D->G),    ARG(vectors),
                           ARG_VEC(w),  ARG(w->ld), ARG(D->part), ARG(pitch) };
    TRY(kryi_launch_range(D->dev, D->tiles,
                          (kryi_range){ tiles_above(count), .size = PACKED_GROUP }, multiply,
                          COUNT(multiply)));
    kry_arg add[] = { ARG(blocks), ARG(D->k), ARG(D->part), ARG(pitch), ARG_VEC(c), ARG(c->ld) };
    TRY(kryi_launch_range(D->dev, D->add, (kryi_range){ count * slices, w->k, PACKED_GROUP }, add,
                          COUNT(add)));
done:
    return st;
}

kry_status kryi_dense_inverse_apply(kryi_dense_inverse *D, const kry_vec *w, kry_vec *c)
{
    kry_status st = KRY_OK;

    for (int64_t j = 0, count; j < w->k; j += count) {
        count = w->k - j < MANY ? w->k - j : MANY;
        const kry_vec w_j = kryi_vec_columns(w, j, count);
        kry_vec c_j = kryi_vec_columns(c, j, count);
        TRY(D->product == KRY_COARSE_PACKED ? multiply_packed(D, &w_j, &c_j)
                                            : multiply(D, &w_j, &c_j));
    }
done:
    return st;
}

double kryi_dense_inverse_bytes(const kryi_dense_inverse *D)
{
    double word = (double)kry_type_size(D->type);
    if (D->product == KRY_COARSE_PACKED)
        return (double)tiles_above(blocks_of(D->k)) * TILE * TILE * word;
    return (double)D->k * (double)stride_of(D->k) * word;
}

double kryi_dense_inverse_moved(const kryi_dense_inverse *D)
{
    double k = (double)D->k, blocks = (double)blocks_of(D->k),
           word = (double)kry_type_size(D->type);
    if (D->product != KRY_COARSE_PACKED) return (k * k + 2 * k) * word;
    return (blocks * (blocks + 1) / 2 * TILE * TILE + 2 * blocks * blocks * TILE + 2 * k) * word;
}

/* Packing halves the bytes and takes a second launch: 3 us on an H200, in which it reads 12 MB. */
static bool worth_packing(const kryi_dense_inverse *D)
{
    enum { LEAST_BYTES = 24 << 20 }; /* of the full inverse: k = 2500 in single, 1770 in double */
    return (double)D->k * (double)D->k * (double)kry_type_size(D->type) > LEAST_BYTES;
}

static kry_status check_packing(kryi_dense_inverse *D)
{
    enum { LOCAL_NUMBERS = 1696 }; /* of coarse_tiles */
    kry_status st = KRY_OK;
    const kry_device_info *info = &D->dev->info;

    CHECK(
        !info->cpu_kernels && info->max_group >= PACKED_GROUP &&
            info->local_bytes >= LOCAL_NUMBERS * (int64_t)kry_type_size(D->type),
        KRY_ERR_UNSUPPORTED,
        "kryi_coarse_create: a packed inverse takes kernels for GPUs, groups of %d and %lld bytes "
        "of local memory, which '%s' does not have",
        PACKED_GROUP, (long long)LOCAL_NUMBERS * (long long)kry_type_size(D->type), info->name);
    TRY(kryi_kernel_get_fitting(D->dev, "coarse", D->type, "", "coarse_tiles", &D->tiles));
    TRY(kryi_kernel_get(D->dev, "coarse", D->type, "", "coarse_add", &D->add));
    TRY(kryi_kernel_check_size(D->dev, D->tiles, PACKED_GROUP));
    TRY(kryi_kernel_check_size(D->dev, D->add, PACKED_GROUP));
done:
    return st;
}

kry_status kryi_dense_inverse_choose(kryi_dense_inverse *D, kryi_coarse_product product)
{
    kry_status st = KRY_OK;
    bool pack = product == KRY_COARSE_PACKED || (product == KRY_COARSE_OWN && worth_packing(D));

    if (pack) st = check_packing(D);
    if (st == KRY_ERR_UNSUPPORTED && product == KRY_COARSE_OWN) pack = false, st = KRY_OK;
    D->product = pack ? KRY_COARSE_PACKED : KRY_COARSE_FULL;
    return st;
}

kry_status kryi_dense_inverse_prepare(kryi_dense_inverse *D)
{
    kry_status st = KRY_OK;
    kryi_kernel *kernel;

    TRY(kryi_buffer_create(D->dev, (size_t)kryi_dense_inverse_bytes(D), &D->G));
    if (D->product == KRY_COARSE_PACKED)
        TRY(make_part(D, 1));
    else
        TRY(get_kernel(D, 1, false, &kernel)); /* compile it now */
done:
    return st;
}

kry_status kryi_dense_inverse_form(kryi_dense_inverse *D, kryi_column_solver *solve, void *user)
{
    kry_status st = KRY_OK;
    int64_t k = D->k, blocks = blocks_of(k);
    size_t word = kry_type_size(D->type), room = (size_t)blocks * TILE * TILE;
    double *x = NULL;
    void *out = NULL;

    TRY(kryi_alloc((uint64_t)k * TILE, sizeof *x, &x));
    TRY(kryi_alloc(room, word, &out));
    for (int64_t j = 0; j < k; j += TILE) {
        int64_t m = k - j < TILE ? k - j : TILE,
                end = m < TILE && D->product == KRY_COARSE_FULL ? k : j + TILE;
        if (m < TILE) memset(out, 0, room * word); /* tiles have rows past the last */
        TRY(solve(user, j, m, x));
        for (int64_t c = 0; c < m; c++)
            for (int64_t i = 0; i < k; i++)
                kryi_number_put(D->type, out, place_of(D, c, i), x[c * k + i]);
        TRY(kryi_buffer_write(D->dev, D->G, column_at(D, j), column_at(D, end) - column_at(D, j),
                              out));
    }
done:
    free(out);
    free(x);
    return st;
}

void kryi_dense_inverse_release(kryi_dense_inverse *D)
{
    kryi_buffer_release(D->dev, &D->part);
    kryi_buffer_release(D->dev, &D->G);
}

/* ---- the inverse made on a GPU --------------------------------------------------------------- */

/*
 * The dense inverse of a coarse matrix made on a GPU, in double, and rounded at the end.
 * Kernels: cl/precond/coarse_invert.cl.
 *
 * Blocks of unknowns are swept one after the other, with two launches for each. The pivots are those of Cholesky's method,
 * and the matrix stays symmetric, so only the places on and below the diagonal are computed: n^3 / 2 multiplications in all.
 *
 * Where E maps constants to zero, its last unknown is pinned, and with Y the inverse of the others and a the diagonal
 * of E by its sum
 *
 *   G = (I - 1 a') [Y 0; 0 0] (I - a 1')   or   G_ij = Y_ij - y_i - y_j + a'y  with  y = Y a
 *
 * Storage  n^2 + 2 * BLOCK n numbers in double beside G, while it is made
 * Waits    twice
 * Source   J. H. Goodnight, A tutorial on the sweep operator, The American Statistician 33 (1979)
 */

enum { BLOCK = 32, SIDE = 64, GROUP = 256 }; /* as in cl/precond/coarse_invert.cl */

typedef struct inversion {
    const kryi_dense_inverse *D;
    kry_device *dev;
    const kryi_csr *E;
    cl_int n, count;             /* n: rows of A; count: unknowns that are inverted */
    double *diagonal;            /* host, n: of E; then weights */
    cl_mem A, U, W, given;       /* given: the diagonal of E; then the weights */
    cl_mem y, found;             /* n numbers; and an int */
    kryi_kernel *panel, *update; /* the device's */
} inversion;

bool kryi_coarse_inverts(const kryi_dense_inverse *D)
{
    enum { LEAST = 128 }; /* unknowns: below, the host is as fast */
    const kry_device_info *info = &D->dev->info;
    const double bytes = 8.0 * (double)(D->k + SIDE) * (double)(D->k + SIDE);

    return !info->cpu_kernels && info->fp64 && D->k > LEAST && info->max_group >= GROUP &&
           bytes <= (double)info->max_alloc_bytes;
}

static kry_status invert_kernel(const inversion *v, const char *name, kryi_kernel **kernel)
{
    return kryi_kernel_get(v->dev, "coarse_invert", v->D->type, "", name, kernel);
}

static kry_status run(const inversion *v, const char *name, int64_t groups, const kry_arg *args,
                      size_t count)
{
    return kryi_run(v->dev, "coarse_invert", v->D->type, "", name, groups, args, count);
}

static int64_t tiles_of(const inversion *v)
{
    const int64_t across = v->n / SIDE;
    return across * (across + 1) / 2;
}

static void inversion_release(inversion *v)
{
    cl_mem *const buffers[] = { &v->found, &v->y, &v->given, &v->W, &v->U, &v->A };

    for (size_t i = 0; i < COUNT(buffers); i++) kryi_buffer_release(v->dev, buffers[i]);
    free(v->diagonal);
}

static kry_status inversion_create(const kryi_dense_inverse *D, const kryi_csr *E, bool singular,
                                   inversion *v)
{
    kry_status st = KRY_OK;
    static const cl_int none = -1;

    *v = (inversion){ .D = D, .dev = D->dev, .E = E };
    v->n = (cl_int)((D->k + SIDE - 1) / SIDE * SIDE);
    v->count = (cl_int)(D->k - singular);
    const uint64_t word = sizeof(double), n = (uint64_t)v->n;
    TRY(kryi_alloc(n, word, &v->diagonal));
    for (int64_t i = 0; i < v->n; i++) v->diagonal[i] = i < v->count ? kryi_csr_entry(E, i, i) : 1;
    TRY(kryi_buffer_upload(v->dev, n * word, v->diagonal, &v->given));
    TRY(kryi_buffer_upload(v->dev, sizeof none, &none, &v->found));
    TRY(kryi_buffer_create(v->dev, n * n * word, &v->A));
    TRY(kryi_buffer_create(v->dev, n * BLOCK * word, &v->U));
    TRY(kryi_buffer_create(v->dev, n * BLOCK * word, &v->W));
    TRY(kryi_buffer_create(v->dev, n * word, &v->y));
    TRY(invert_kernel(v, "invert_panel", &v->panel));
    TRY(invert_kernel(v, "invert_update", &v->update));
    TRY(kryi_kernel_check_size(v->dev, v->panel, GROUP));
    TRY(kryi_kernel_check_size(v->dev, v->update, GROUP));
done:
    return st;
}

/* A := E */
static kry_status enter(const inversion *v)
{
    kry_status st = KRY_OK;
    const kryi_csr *E = v->E;
    cl_mem row_ptr = NULL, col = NULL, val = NULL;
    cl_int *starts = NULL;
    const size_t nnz = (size_t)kryi_csr_nnz(E);

    TRY(kryi_alloc((size_t)E->rows + 1, sizeof *starts, &starts));
    for (int64_t i = 0; i <= E->rows; i++) starts[i] = (cl_int)E->row_ptr[i];
    TRY(kryi_buffer_upload(v->dev, ((size_t)E->rows + 1) * sizeof *starts, starts, &row_ptr));
    TRY(kryi_buffer_upload(v->dev, nnz * sizeof *E->col, E->col, &col));
    TRY(kryi_buffer_upload(v->dev, nnz * sizeof(double), E->val, &val));
    const kry_arg args[] = {
        ARG(v->n), ARG(v->count), ARG(row_ptr), ARG(col), ARG(val), ARG(v->A)
    };
    TRY(run(v, "invert_enter", v->n, args, COUNT(args)));
done:
    kryi_buffer_release(v->dev, &val);
    kryi_buffer_release(v->dev, &col);
    kryi_buffer_release(v->dev, &row_ptr);
    free(starts);
    return st;
}

static kry_status sweep(const inversion *v, cl_int first)
{
    kry_status st = KRY_OK;
    const kryi_scalar least =
        kryi_scalar_of(v->dev, 4 * DBL_EPSILON * (double)v->count); /* kryi_cholesky_pivot_fits */
    const kry_arg panel[] = { ARG(v->n),     ARG(first),   ARG_ACC(v->dev, least),
                              ARG(v->given), ARG(v->A),    ARG(v->U),
                              ARG(v->W),     ARG(v->found) };
    const kry_arg update[] = { ARG(v->n), ARG(first), ARG(v->U), ARG(v->W), ARG(v->A) };

    TRY(kryi_launch_range(v->dev, v->panel,
                          (kryi_range){ (v->n + GROUP - 1) / GROUP, .size = GROUP }, panel,
                          COUNT(panel)));
    TRY(kryi_launch_range(v->dev, v->update, (kryi_range){ tiles_of(v), .size = GROUP }, update,
                          COUNT(update)));
done:
    return st;
}

static kry_status check_pivots(const inversion *v)
{
    kry_status st = KRY_OK;
    cl_int found;

    TRY(kryi_buffer_read(v->dev, v->found, 0, sizeof found, &found));
    if (found >= 0) TRY(kryi_cholesky_dependent(v->E, found));
done:
    return st;
}

/* a := the diagonal of E by its sum; where it has none, 1 takes its place. */
static void find_weights(const inversion *v, double *a)
{
    double sum = 0;

    for (int64_t i = 0; i < v->n; i++) {
        a[i] = i < v->D->k ? kryi_csr_entry(v->E, i, i) : 0;
        if (i < v->D->k && !(a[i] > 0)) a[i] = 1;
        sum += a[i];
    }
    for (int64_t i = 0; i < v->n; i++) a[i] /= sum;
}

/* y := Y a, *shift := a'y; zeros unless E is singular. Waits. */
static kry_status weigh(const inversion *v, double *shift)
{
    kry_status st = KRY_OK;
    const size_t bytes = (size_t)v->n * sizeof(double);
    const kry_arg args[] = { ARG(v->n), ARG(v->count), ARG(v->A), ARG(v->given), ARG(v->y) };
    double *a = v->diagonal, *y = NULL;

    *shift = 0;
    TRY(kryi_alloc((size_t)v->n, sizeof *y, &y));
    TRY(kryi_buffer_write(v->dev, v->y, 0, bytes, y));
    if (v->count == v->D->k) goto done;
    find_weights(v, a);
    TRY(kryi_buffer_write(v->dev, v->given, 0, bytes, a));
    TRY(run(v, "invert_multiply", v->count, args, COUNT(args)));
    TRY(kryi_buffer_read(v->dev, v->y, 0, bytes, y));
    for (int64_t i = 0; i < v->count; i++) *shift += a[i] * y[i];
done:
    free(y);
    return st;
}

static kry_status store(const inversion *v, double shift)
{
    const kryi_scalar constant = kryi_scalar_of(v->dev, shift);
    const cl_int k = (cl_int)v->D->k, full = v->D->product == KRY_COARSE_FULL,
                 stride = full ? (cl_int)kryi_dense_inverse_stride(v->D) : 0;
    const kry_arg args[] = {
        ARG(v->n), ARG(v->count), ARG(k),      ARG(stride), ARG_ACC(v->dev, constant),
        ARG(v->A), ARG(v->y),     ARG(v->D->G)
    };

    return run(v, "invert_store", tiles_of(v), args, COUNT(args));
}

kry_status kryi_coarse_invert(const kryi_dense_inverse *D, const kryi_csr *E, bool singular)
{
    kry_status st = KRY_OK;
    inversion v;
    double shift;

    TRY(inversion_create(D, E, singular, &v));
    TRY(enter(&v));
    for (cl_int first = 0; first < v.count; first += BLOCK) TRY(sweep(&v, first));
    TRY(check_pivots(&v));
    TRY(weigh(&v, &shift));
    TRY(store(&v, shift));
done:
    inversion_release(&v);
    return st;
}
