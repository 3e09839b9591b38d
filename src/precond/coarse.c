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
 * Per solve   dense: k^2 + 2 k numbers on the device; Cholesky: L twice on the host, a wait
 */
#include "cholesky.h"
#include <stdio.h>
#include <stdlib.h>

struct kry_coarse {
    kry_device *dev; /* retained */
    kry_type type;
    int64_t k, n;     /* n: unknowns that are not pinned */
    uint64_t pattern; /* hash */
    bool singular;
    double *d; /* k; used if singular */
    const kry_cholesky_engine *engine;
    void *factor;  /* the engine's; NULL if n == 0 */
    double *x;     /* k: a solve on the host */
    void *numbers; /* k of `type` */
    kry_vec *G;    /* stride-by-k: the dense inverse; NULL: Cholesky */
    bool plain;    /* G is applied by our own kernel: on PoCL 2 to 29 times as fast as CLBlast */
};

enum { ROWS = 4 };       /* of G for a work-group */
enum { ALIGNMENT = 32 }; /* numbers: rows of G start at lines of the cache */
enum { BLOCK = 64 };     /* columns of G at a time */

static int64_t stride_of(int64_t k) { return (k + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

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

static kry_status solve_on_host(kry_coarse *s, const kry_vec *w, kry_vec *c)
{
    kry_status st = KRY_OK;
    double sum = 0, too_high;

    TRY(kry_vec_read(w, s->numbers));
    for (int64_t i = 0; i < s->k; i++) sum += s->x[i] = kry_number_at(s->type, s->numbers, i);
    for (int64_t i = 0; i < s->k && s->singular; i++) s->x[i] -= s->d[i] * sum;
    TRY(solve_columns(s, s->x, 1, &too_high));
    if (s->singular) s->x[s->n] = 0;
    for (int64_t i = 0; i < s->k; i++) kry_number_put(s->type, s->numbers, i, s->x[i] - too_high);
    TRY(kry_vec_write(c, s->numbers));
done:
    return st;
}

/* ---- the dense inverse ----------------------------------------------------------------------- */

/* Columns j ... j + m - 1 of G, those of the identity (less d) solved for, to `out`. */
static kry_status invert_columns(kry_coarse *s, int64_t j, int64_t m, double *x, void *out)
{
    kry_status st = KRY_OK;
    int64_t stride = stride_of(s->k);
    double too_high[BLOCK];

    for (int64_t c = 0; c < m; c++)
        for (int64_t i = 0; i < s->n; i++)
            x[c * s->n + i] = (i == j + c) - (s->singular ? s->d[i] : 0);
    TRY(solve_columns(s, x, m, too_high));
    for (int64_t c = 0; c < m; c++)
        for (int64_t i = 0; i < s->k; i++)
            kry_number_put(s->type, out, c * stride + i,
                           (i < s->n ? x[c * s->n + i] : 0) - too_high[c]);
done:
    return st;
}

static kry_status invert(kry_coarse *s, kry_vec **inverse)
{
    kry_status st = KRY_OK;
    int64_t stride = stride_of(s->k);
    double *x = NULL;
    void *out = NULL;
    kry_vec *G = NULL;

    *inverse = NULL;
    TRY(kry_alloc((size_t)s->k * BLOCK, sizeof *x, &x));
    TRY(kry_alloc((size_t)stride * BLOCK, kry_type_size(s->type), &out));
    TRY(kry_vec_create(s->dev, s->type, stride, s->k, &G));
    for (int64_t j = 0; j < s->k; j += BLOCK) {
        int64_t m = s->k - j < BLOCK ? s->k - j : BLOCK;
        TRY(invert_columns(s, j, m, x, out));
        kry_vec columns = *G; /* borrowed */
        columns.first = j * stride, columns.k = m;
        TRY(kry_vec_write(&columns, out));
    }
    *inverse = G;
    G = NULL;
done:
    kry_vec_release(&G);
    free(out);
    free(x);
    return st;
}

/* As many rows for a group as its sums fit twice into local memory. */
static int rows_of(const kry_device *dev, kry_type type)
{
    int64_t row = kry_group_size(dev) * (int64_t)kry_type_size(type);
    int rows = ROWS;
    while (rows > 1 && 2 * rows * row > dev->info.local_bytes) rows /= 2;
    return rows;
}

/* The kernel for a w that starts at `first`. */
static kry_status get_kernel(const kry_coarse *s, int64_t first, kry_kernel **kernel)
{
    bool cpu = s->dev->info.cpu_kernels, anywhere = first % kry_vector_width(s->dev, s->type);
    char defines[64] = "";

    if (!cpu)
        snprintf(defines, sizeof defines, "-DROWS=%d%s", rows_of(s->dev, s->type),
                 anywhere ? " -DKRY_UNALIGNED_SUMS" : "");
    return kry_kernel_get(s->dev, "coarse", s->type, defines, "coarse_product", kernel);
}

static kry_status multiply(const kry_coarse *s, const kry_vec *w, kry_vec *c)
{
    kry_status st = KRY_OK;
    kry_kernel *kernel;
    int64_t rows = rows_of(s->dev, s->type), stride = stride_of(s->k), groups;

    groups = s->dev->info.cpu_kernels ? kry_groups_for(s->dev, s->type, s->k * stride)
                                      : (s->k + rows - 1) / rows;
    TRY(get_kernel(s, w->first, &kernel));
    kry_arg args[] = { ARG(s->k),     ARG(stride),    ARG(s->G->buffer), ARG(w->buffer),
                       ARG(w->first), ARG(c->buffer), ARG(c->first) };
    TRY(kry_launch(s->dev, kernel, groups < s->k ? groups : s->k, args, COUNT(args)));
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
    if (!s->G)
        TRY(solve_on_host(s, w, c));
    else if (s->plain)
        TRY(multiply(s, w, c));
    else
        TRY(kry_gemv_square(s->G, w, c));
done:
    return st;
}

/* ---- making it ------------------------------------------------------------------------------- */

static double inverse_bytes(const kry_coarse *s)
{
    return (double)s->k * (double)stride_of(s->k) * (double)kry_type_size(s->type);
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

static kry_status choose(kry_coarse *s, kry_coarse_method method, bool *dense)
{
    kry_status st = KRY_OK;

    CHECK(method == KRY_COARSE_AUTO || method == KRY_COARSE_DENSE || method == KRY_COARSE_CHOLESKY,
          KRY_ERR_ARGUMENT, "coarse solver: %d is no method", (int)method);
    *dense = method == KRY_COARSE_DENSE || (method == KRY_COARSE_AUTO && wants_dense(s));
    CHECK(!*dense || inverse_bytes(s) <= (double)s->dev->info.max_alloc_bytes, KRY_ERR_MEMORY,
          "the dense inverse for %lld deflation vectors takes %.3f GB, but '%s' holds buffers of "
          "%.3f GB at most; take Cholesky or fewer vectors",
          (long long)s->k, 1e-9 * inverse_bytes(s), s->dev->info.name,
          1e-9 * (double)s->dev->info.max_alloc_bytes);
done:
    return st;
}

/* Compile now what a solve needs, for kernels of CLBlast take seconds. */
static kry_status get_ready(kry_coarse *s)
{
    kry_status st = KRY_OK;
    kry_kernel *kernel;
    kry_vec *w = NULL, *c = NULL;

    if (!s->G) return KRY_OK;
    if (s->plain) return get_kernel(s, 0, &kernel);
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
    s->type = type, s->k = E->k, s->singular = E->singular, s->plain = true;
    s->n = E->k - (E->singular ? 1 : 0);
    s->pattern = kry_coarse_matrix_pattern(E);
    TRY(kry_alloc((size_t)s->k, sizeof *s->x, &s->x));
    TRY(kry_alloc((size_t)s->k, kry_type_size(type), &s->numbers));
    TRY(kry_alloc((size_t)s->k, sizeof *s->d, &s->d));
done:
    return st;
}

kry_status kry_coarse_create_with(kry_device *dev, kry_type type, kry_coarse_method method,
                                  const kry_cholesky_engine *engine, const kry_coarse_matrix *E,
                                  kry_coarse **coarse)
{
    kry_status st = KRY_OK;
    kry_coarse *s = NULL;
    bool dense;

    *coarse = NULL;
    CHECK(dev, KRY_ERR_ARGUMENT, "kry_coarse_create: NULL device");
    TRY(kry_type_check("kry_coarse_create", dev, type));
    TRY(kry_coarse_matrix_check(E));
    TRY(coarse_new(dev, type, E, &s));
    TRY(choose(s, method, &dense));
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
                             const kry_coarse_matrix *E, kry_coarse **coarse)
{
#ifdef KRY_HAVE_CHOLMOD
    const kry_cholesky_engine *engine = &kry_cholesky_cholmod;
#else
    const kry_cholesky_engine *engine = &kry_cholesky_band;
#endif
    return kry_coarse_create_with(dev, type, method, engine, E, coarse);
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

kry_status kry_coarse_use_plain(kry_coarse *s, bool plain)
{
    kry_status st = KRY_OK;
    bool old = s->plain;

    s->plain = plain;
    st = get_ready(s);
    if (st < 0) s->plain = old;
    return st;
}

void kry_coarse_describe(const kry_coarse *s, kry_coarse_info *info)
{
    double word = (double)kry_type_size(s->type), k = (double)s->k;
    double factor = s->factor ? s->engine->bytes(s->factor) : 0;

    if (s->G)
        *info = (kry_coarse_info){ .method = s->plain ? "dense plain" : "dense clblast",
                                   .bytes_per_solve = (k * k + 2 * k) * word,
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
    kry_vec_release(&s->G);
    if (s->factor) s->engine->destroy(s->factor);
    free(s->numbers);
    free(s->x);
    free(s->d);
    kry_device_release(&s->dev);
    free(s);
}
