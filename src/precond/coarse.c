/*
 * coarse.c - c := E^-1 w by a dense inverse on the device or a sparse factor on the host.
 * Kernel: cl/coarse.cl.
 *
 * E 1 = 0: with d = diag(E) / sum of diag(E), the last unknown pinned to zero and Y the inverse of
 * the rest,
 *
 *   E^-1 stands for  G := (I - 1 d') [Y 0; 0 0] (I - d 1')
 *
 * which is symmetric, solves E c = w for every w that sums to zero, and gives c with d'c = 0.
 *
 * The dense inverse is kept in full, a product being one launch; or, for large k on GPUs, packed:
 * the tiles of 64 x 64 numbers on and below the diagonal, one after the other by rows of tiles,
 * filled up with zeros. Each is read once and multiplies twice, and a second launch adds up.
 *
 * Per solve   full: k^2 + 2 k numbers on the device; packed: k^2/2 + 34 k and 2 k^2/64 partial
 *             sums; Cholesky: L twice on the host, a wait
 */
#include "precond/cholesky.h"
#include <stdlib.h>
#include <string.h>

struct kry_coarse {
    kry_device *dev; /* retained */
    kry_type type;
    int64_t k, n;     /* n: unknowns that are not pinned */
    uint64_t pattern; /* hash */
    bool singular;
    double *d; /* k; used if singular */
    const kry_cholesky_engine *engine;
    void *factor;               /* the engine's; NULL if n == 0 */
    double *x;                  /* k: a solve on the host */
    void *numbers;              /* k of `type` */
    kry_coarse_product product; /* of what is dense: FULL, PACKED or CLBLAST */
    kry_vec *G;                 /* stride-by-k, or its tiles: the dense inverse; NULL: Cholesky */
    kry_vec *part;              /* packed, TILE-by-blocks-by-blocks: each tile's share of c */
    kry_kernel *tiles, *add;    /* packed; the device's */
};

enum { ALIGNMENT = 32 };     /* numbers: rows of G start at lines of the cache */
enum { TILE = 64 };          /* rows and columns of a tile; columns of G at a time */
enum { PACKED_GROUP = 128 }; /* work-items to a tile */

static int64_t stride_of(int64_t k) { return (k + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }
static int64_t blocks_of(int64_t k) { return (k + TILE - 1) / TILE; }
static int64_t tiles_above(int64_t block) { return block * (block + 1) / 2; }

/* ---- solving on the host --------------------------------------------------------------------- */

/* d := diag(E) / sum of diag(E) */
static void weigh(const kry_coarse_matrix *E, double *d)
{
    double sum = 0;

    for (int64_t i = 0; i < E->k; i++) sum += d[i] = kry_cholesky_diagonal(E, i);
    for (int64_t i = 0; i < E->k; i++) d[i] = sum > 0 ? d[i] / sum : 1 / (double)E->k;
}

/* Solve for the unknowns that are not pinned, and say by how much all k of a column, 0 for the
 * pinned one, lie too high. */
static kry_status solve_columns(kry_coarse *s, double *x, int64_t columns, double *too_high)
{
    kry_status st = KRY_OK;

    if (s->n > 0) TRY(s->engine->solve(s->factor, x, columns));
    for (int64_t c = 0; c < columns; c++) {
        too_high[c] = 0;
        for (int64_t i = 0; i < s->n && s->singular; i++) too_high[c] += s->d[i] * x[c * s->n + i];
    }
done:
    return st;
}

/* c := E^-1 x */
static kry_status solve_on_host(kry_coarse *s, kry_vec *c)
{
    kry_status st = KRY_OK;
    double sum = 0, too_high;

    for (int64_t i = 0; i < s->k; i++) sum += s->x[i];
    for (int64_t i = 0; i < s->k && s->singular; i++) s->x[i] -= s->d[i] * sum;
    TRY(solve_columns(s, s->x, 1, &too_high));
    if (s->singular) s->x[s->n] = 0;
    for (int64_t i = 0; i < s->k; i++) kry_number_put(s->type, s->numbers, i, s->x[i] - too_high);
    TRY(kry_vec_write(c, s->numbers));
done:
    return st;
}

/* ---- the dense inverse ----------------------------------------------------------------------- */

/* Where number i of column c of some columns of G stands: they are rows as well. */
static int64_t place_of(const kry_coarse *s, int64_t c, int64_t i)
{
    if (s->product == KRY_COARSE_PACKED) return (i / TILE * TILE + c) * TILE + i % TILE;
    return c * stride_of(s->k) + i;
}

/* Columns j ... j + m - 1 of G, those of the identity (less d) solved for, to `out`. */
static kry_status invert_columns(kry_coarse *s, int64_t j, int64_t m, double *x, void *out)
{
    kry_status st = KRY_OK;
    double too_high[TILE];

    for (int64_t c = 0; c < m; c++)
        for (int64_t i = 0; i < s->n; i++)
            x[c * s->n + i] = (i == j + c) - (s->singular ? s->d[i] : 0);
    TRY(solve_columns(s, x, m, too_high));
    for (int64_t c = 0; c < m; c++)
        for (int64_t i = 0; i < s->k; i++)
            kry_number_put(s->type, out, place_of(s, c, i),
                           (i < s->n ? x[c * s->n + i] : 0) - too_high[c]);
done:
    return st;
}

/* To G, from column j on: m columns, or a row of tiles up to the diagonal. */
static kry_status write_columns(const kry_coarse *s, const kry_vec *G, int64_t j, int64_t m,
                                const void *out)
{
    kry_vec columns = kry_vec_borrow(G);

    if (s->product == KRY_COARSE_PACKED) {
        int64_t block = j / TILE;
        columns.first = tiles_above(block) * TILE * TILE, columns.n = (block + 1) * TILE * TILE;
    } else {
        columns.first = j * G->n, columns.k = m;
    }
    return kry_vec_write(&columns, out);
}

static kry_status invert(kry_coarse *s, kry_vec **inverse)
{
    kry_status st = KRY_OK;
    bool packed = s->product == KRY_COARSE_PACKED;
    int64_t blocks = blocks_of(s->k);
    size_t word = kry_type_size(s->type), room = (size_t)blocks * TILE * TILE;
    double *x = NULL;
    void *out = NULL;
    kry_vec *G = NULL;

    *inverse = NULL;
    TRY(kry_alloc((size_t)s->k * TILE, sizeof *x, &x));
    TRY(kry_alloc(room, word, &out));
    TRY(kry_vec_create(s->dev, s->type,
                       packed ? tiles_above(blocks) * TILE * TILE : stride_of(s->k),
                       packed ? 1 : s->k, &G));
    for (int64_t j = 0; j < s->k; j += TILE) {
        int64_t m = s->k - j < TILE ? s->k - j : TILE;
        if (m < TILE) memset(out, 0, room * word); /* tiles have rows past the last */
        TRY(invert_columns(s, j, m, x, out));
        TRY(write_columns(s, G, j, m, out));
    }
    *inverse = G;
    G = NULL;
done:
    kry_vec_release(&G);
    free(out);
    free(x);
    return st;
}

/* ---- its product ----------------------------------------------------------------------------- */

/* The kernel for a w that starts at `first`. */
static kry_status get_kernel(const kry_coarse *s, int64_t first, kry_kernel **kernel)
{
    bool anywhere = first % kry_vector_width(s->dev, s->type);

    return kry_kernel_get(s->dev, "coarse", s->type,
                          !s->dev->info.cpu_kernels && anywhere ? "-DKRY_UNALIGNED_SUMS" : "",
                          "coarse_product", kernel);
}

static kry_status multiply(const kry_coarse *s, const kry_vec *w, kry_vec *c)
{
    kry_status st = KRY_OK;
    kry_kernel *kernel;
    int64_t stride = stride_of(s->k), groups = s->k;

    if (s->dev->info.cpu_kernels) groups = kry_groups_for(s->dev, s->type, s->k * stride);
    TRY(get_kernel(s, w->first, &kernel));
    kry_arg args[] = { ARG(s->k),     ARG(stride),    ARG(s->G->buffer), ARG(w->buffer),
                       ARG(w->first), ARG(c->buffer), ARG(c->first) };
    TRY(kry_launch(s->dev, kernel, groups < s->k ? groups : s->k, args, COUNT(args)));
done:
    return st;
}

static kry_status get_packed_kernels(kry_coarse *s)
{
    kry_status st = KRY_OK;

    TRY(kry_kernel_get(s->dev, "coarse", s->type, "", "coarse_tiles", &s->tiles));
    TRY(kry_kernel_get(s->dev, "coarse", s->type, "", "coarse_add", &s->add));
    TRY(kry_kernel_check_size(s->dev, s->tiles, PACKED_GROUP));
    TRY(kry_kernel_check_size(s->dev, s->add, PACKED_GROUP));
done:
    return st;
}

/* Each tile's two products, then the sums of what they leave in `part`. */
static kry_status multiply_packed(const kry_coarse *s, const kry_vec *w, kry_vec *c)
{
    enum { ADD_ACROSS = 8 }; /* vectors of c to a group */
    kry_status st = KRY_OK;
    int64_t count = blocks_of(s->k);
    int64_t slices = TILE / (ADD_ACROSS * kry_vector_width(s->dev, s->type));
    cl_int blocks = (cl_int)count;

    kry_arg multiply[] = { ARG(blocks),    ARG(s->k),     ARG(s->G->buffer),
                           ARG(w->buffer), ARG(w->first), ARG(s->part->buffer) };
    TRY(kry_launch_size(s->dev, s->tiles, tiles_above(count), PACKED_GROUP, multiply,
                        COUNT(multiply)));
    kry_arg add[] = { ARG(blocks), ARG(s->k), ARG(s->part->buffer), ARG(c->buffer), ARG(c->first) };
    TRY(kry_launch_size(s->dev, s->add, count * slices, PACKED_GROUP, add, COUNT(add)));
done:
    return st;
}

kry_status kry_coarse_solve(kry_coarse *s, const kry_vec *w, kry_vec *c)
{
    kry_status st = KRY_OK;

    TRY(kry_vec_check_alike("kry_coarse_solve", w, c));
    CHECK(w->n == s->k && w->k == 1 && w->type == s->type && w->dev == s->dev, KRY_ERR_SHAPE,
          "kry_coarse_solve: w is %lld-by-%lld in %s for %lld deflation vectors in %s",
          (long long)w->n, (long long)w->k, kry_type_name(w->type), (long long)s->k,
          kry_type_name(s->type));
    CHECK(!kry_vec_overlap(w, c), KRY_ERR_ARGUMENT, "kry_coarse_solve: w and c overlap");
    if (!s->G) {
        TRY(kry_vec_read(w, s->numbers));
        for (int64_t i = 0; i < s->k; i++) s->x[i] = kry_number_at(s->type, s->numbers, i);
        return solve_on_host(s, c);
    }
    if (s->product == KRY_COARSE_PACKED)
        TRY(multiply_packed(s, w, c));
    else if (s->product == KRY_COARSE_FULL)
        TRY(multiply(s, w, c));
    else
        TRY(kry_gemv_square(s->G, w, c));
done:
    return st;
}

kry_status kry_coarse_solve_from(kry_coarse *s, const double *numbers, kry_vec *w, kry_vec *c)
{
    kry_status st = KRY_OK;
    size_t word = kry_type_size(s->type);

    if (!s->G) {
        memcpy(s->x, numbers, (size_t)s->k * sizeof *numbers);
        return solve_on_host(s, c);
    }
    for (int64_t i = 0; i < s->k; i++) kry_number_put(s->type, s->numbers, i, numbers[i]);
    /* s->numbers is not touched before the next w has been read back. */
    TRY_CL(clEnqueueWriteBuffer(s->dev->queue, w->buffer, CL_FALSE, (size_t)w->first * word,
                                (size_t)s->k * word, s->numbers, 0, NULL, NULL));
    TRY(kry_coarse_solve(s, w, c));
done:
    return st;
}

/* ---- making it ------------------------------------------------------------------------------- */

static double inverse_bytes(const kry_coarse *s)
{
    double word = (double)kry_type_size(s->type);
    if (s->product == KRY_COARSE_PACKED)
        return (double)tiles_above(blocks_of(s->k)) * TILE * TILE * word;
    return (double)s->k * (double)stride_of(s->k) * word;
}

/* Half of the inverse is saved for a second launch, which takes 3 us on an H200; meanwhile that
 * reads 12 MB. */
static bool worth_packing(const kry_coarse *s)
{
    enum { LEAST_BYTES = 24 << 20 }; /* of the full inverse: k = 2500 in single, 1770 in double */
    return (double)s->k * (double)s->k * (double)kry_type_size(s->type) > LEAST_BYTES;
}

static kry_status check_packing(kry_coarse *s)
{
    enum { LOCAL_NUMBERS = 1696 }; /* of coarse_tiles */
    kry_status st = KRY_OK;
    const kry_device_info *info = &s->dev->info;

    CHECK(!info->cpu_kernels && info->max_group >= PACKED_GROUP &&
              info->local_bytes >= LOCAL_NUMBERS * (int64_t)kry_type_size(s->type),
          KRY_ERR_UNSUPPORTED,
          "kry_coarse_create: a packed inverse takes kernels for GPUs, groups of %d and %lld bytes "
          "of local memory, which '%s' does not have",
          PACKED_GROUP, (long long)LOCAL_NUMBERS * (long long)kry_type_size(s->type), info->name);
    TRY(get_packed_kernels(s));
done:
    return st;
}

/* Kry's own product is much faster than CLBlast's: 2 to 29 times on PoCL, 6 times on an H200 for
 * k = 4096. */
static kry_status choose_product(kry_coarse *s, kry_coarse_product product)
{
    kry_status st = KRY_OK;

    if ((unsigned)product > KRY_COARSE_CLBLAST)
        return kry_fail(KRY_ERR_ARGUMENT, "kry_coarse_create: %d is no product", (int)product);
    s->product = product;
    if (product == KRY_COARSE_OWN)
        s->product = worth_packing(s) ? KRY_COARSE_PACKED : KRY_COARSE_FULL;
    if (s->product == KRY_COARSE_PACKED) st = check_packing(s);
    if (st == KRY_ERR_UNSUPPORTED && product == KRY_COARSE_OWN)
        s->product = KRY_COARSE_FULL, st = KRY_OK;
    return st;
}

/* Above 16384 the inverse of doubles is 2 GB to be read per iteration. CPUs: reading k^2 numbers
 * against two sweeps over L and a wait; for vectors on a square grid they cost the same at k = 1000
 * (PoCL on two cores). */
static bool wants_dense(const kry_coarse *s)
{
    enum { MOST_ON_GPU = 16384, MOST_ON_CPU = 1000 };
    return s->k <= (s->dev->info.gpu ? MOST_ON_GPU : MOST_ON_CPU) &&
           inverse_bytes(s) <= (double)s->dev->info.max_alloc_bytes;
}

static kry_status choose(kry_coarse *s, kry_coarse_method method, kry_coarse_product product,
                         bool *dense)
{
    kry_status st = KRY_OK;

    CHECK(method == KRY_COARSE_AUTO || method == KRY_COARSE_DENSE || method == KRY_COARSE_CHOLESKY,
          KRY_ERR_ARGUMENT, "coarse solver: %d is no method", (int)method);
    if (method != KRY_COARSE_CHOLESKY) TRY(choose_product(s, product));
    *dense = method == KRY_COARSE_DENSE || (method == KRY_COARSE_AUTO && wants_dense(s));
    CHECK(!*dense || inverse_bytes(s) <= (double)s->dev->info.max_alloc_bytes, KRY_ERR_MEMORY,
          "the dense inverse for %lld deflation vectors takes %.3f GB, but '%s' holds buffers of "
          "%.3f GB at most; take Cholesky or fewer vectors",
          (long long)s->k, 1e-9 * inverse_bytes(s), s->dev->info.name,
          1e-9 * (double)s->dev->info.max_alloc_bytes);
done:
    return st;
}

/* Compile and allocate now what a solve needs: kernels of CLBlast take seconds. */
static kry_status get_ready(kry_coarse *s)
{
    kry_status st = KRY_OK;
    kry_kernel *kernel;
    kry_vec *w = NULL, *c = NULL;

    if (!s->G) return KRY_OK;
    if (s->product == KRY_COARSE_FULL) return get_kernel(s, 0, &kernel);
    if (s->product == KRY_COARSE_PACKED) {
        int64_t blocks = blocks_of(s->k);
        return kry_vec_create(s->dev, s->type, TILE * blocks, blocks, &s->part);
    }
    TRY(kry_vec_create(s->dev, s->type, s->k, 1, &w));
    TRY(kry_vec_create(s->dev, s->type, s->k, 1, &c));
    TRY(kry_coarse_solve(s, w, c));
done:
    kry_vec_release(&c);
    kry_vec_release(&w);
    return st;
}

static kry_status coarse_new(kry_device *dev, kry_type type, const kry_coarse_matrix *E,
                             kry_coarse **coarse)
{
    kry_status st = KRY_OK;

    TRY(kry_alloc(1, sizeof **coarse, coarse));
    kry_coarse *s = *coarse;
    s->dev = kry_device_retain(dev);
    s->type = type, s->k = E->k, s->singular = E->singular;
    s->n = E->k - (E->singular ? 1 : 0);
    s->pattern = kry_coarse_matrix_pattern(E);
    TRY(kry_alloc((size_t)s->k, sizeof *s->x, &s->x));
    TRY(kry_alloc((size_t)s->k, kry_type_size(type), &s->numbers));
    TRY(kry_alloc((size_t)s->k, sizeof *s->d, &s->d));
done:
    return st;
}

kry_status kry_coarse_create_with(kry_device *dev, kry_type type, kry_coarse_method method,
                                  kry_coarse_product product, const kry_cholesky_engine *engine,
                                  const kry_coarse_matrix *E, kry_coarse **coarse)
{
    kry_status st = KRY_OK;
    kry_coarse *s = NULL;
    bool dense;

    *coarse = NULL;
    CHECK(dev, KRY_ERR_ARGUMENT, "kry_coarse_create: NULL device");
    TRY(kry_type_check("kry_coarse_create", dev, type));
    TRY(kry_coarse_matrix_check(E));
    TRY(coarse_new(dev, type, E, &s));
    TRY(choose(s, method, product, &dense));
    s->engine = engine;
    if (s->n > 0) TRY(engine->create(E, s->n, &s->factor));
    if (s->n > 0) TRY(engine->factorise(s->factor, E));
    weigh(E, s->d);
    if (dense) TRY(invert(s, &s->G));
    TRY(get_ready(s));
    *coarse = s;
    s = NULL;
done:
    kry_coarse_release(&s);
    return st;
}

kry_status kry_coarse_create(kry_device *dev, kry_type type, kry_coarse_method method,
                             kry_coarse_product product, const kry_coarse_matrix *E,
                             kry_coarse **coarse)
{
#ifdef KRY_HAVE_CHOLMOD
    const kry_cholesky_engine *engine = &kry_cholesky_cholmod;
#else
    const kry_cholesky_engine *engine = &kry_cholesky_band;
#endif
    return kry_coarse_create_with(dev, type, method, product, engine, E, coarse);
}

kry_status kry_coarse_refactor(kry_coarse *s, const kry_coarse_matrix *E)
{
    kry_status st = KRY_OK;
    double *d = NULL;
    kry_vec *G = NULL;

    TRY(kry_coarse_matrix_check(E));
    CHECK(E->k == s->k && E->singular == s->singular && kry_coarse_matrix_pattern(E) == s->pattern,
          KRY_ERR_ARGUMENT, "kry_coarse_refactor: the pattern of the coarse matrix has changed");
    TRY(kry_alloc((size_t)s->k, sizeof *d, &d));
    if (s->n > 0) TRY(s->engine->factorise(s->factor, E));
    weigh(E, d);
    double *old = s->d;
    s->d = d, d = old;
    if (s->G) {
        TRY(invert(s, &G)); /* if it fails, the old inverse does not need d nor the factor */
        kry_vec_release(&s->G);
        s->G = G;
    }
done:
    free(d);
    return st;
}

/* Least numbers moved by a product. */
static double dense_numbers(const kry_coarse *s)
{
    double k = (double)s->k, blocks = (double)blocks_of(s->k);
    if (s->product != KRY_COARSE_PACKED) return k * k + 2 * k;
    return blocks * (blocks + 1) / 2 * TILE * TILE + 2 * blocks * blocks * TILE + 2 * k;
}

void kry_coarse_describe(const kry_coarse *s, kry_coarse_info *info)
{
    static const char *const methods[] = { [KRY_COARSE_FULL] = "dense plain",
                                           [KRY_COARSE_PACKED] = "dense packed",
                                           [KRY_COARSE_CLBLAST] = "dense clblast" };
    double word = (double)kry_type_size(s->type), k = (double)s->k;
    double factor = s->factor ? s->engine->bytes(s->factor) : 0;

    if (s->G)
        *info = (kry_coarse_info){ .method = methods[s->product],
                                   .bytes_per_solve = dense_numbers(s) * word,
                                   .bytes_stored = inverse_bytes(s) };
    else
        *info = (kry_coarse_info){ .method = s->engine->name,
                                   .bytes_per_solve = 2 * factor + 2 * k * word,
                                   .bytes_stored = factor };
}

void kry_coarse_release(kry_coarse **coarse)
{
    kry_coarse *s = *coarse;
    *coarse = NULL;
    if (!s) return;
    kry_vec_release(&s->part);
    kry_vec_release(&s->G);
    if (s->factor) s->engine->destroy(s->factor);
    free(s->numbers);
    free(s->x);
    free(s->d);
    kry_device_release(&s->dev);
    free(s);
}
