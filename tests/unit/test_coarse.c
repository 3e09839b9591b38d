/*
 * test_coarse.c - coarse systems: the dense inverse and both factorisations against elimination in
 * long double; singular ones; dependent vectors; requests that fail.
 */
#include "precond/coarse.h"
#include "testing.h"

/* ---- coarse matrices: of the blocks of a grid, numbered at random -------------------------------
 */

typedef struct coarse_matrix {
    int64_t k, *row_ptr;
    int32_t *col;
    double *val;
    bool singular;
} coarse_matrix;

static kryi_csr sparse_of(const coarse_matrix *E)
{
    return (kryi_csr){ E->k, E->k, KRY_F64, E->row_ptr, E->col, E->val };
}

static kry_status create_with(kry_device *dev, kry_type type, kry_coarse_method method,
                              kryi_coarse_product product, const kryi_cholesky_engine *engine,
                              const coarse_matrix *E, kryi_coarse **s)
{
    const kryi_coarse_how how = { .method = method,
                                  .product = product,
                                  .singular = E->singular,
                                  .rounding = engine ? 1e-11 : 0,
                                  .engine = engine };
    const kryi_csr sparse = sparse_of(E);
    return kryi_coarse_create(dev, type, &how, &sparse, s);
}

static void coarse_release(coarse_matrix *E)
{
    free(E->row_ptr);
    free(E->col);
    free(E->val);
}

static coarse_matrix compress(int64_t k, const double *dense, bool singular)
{
    coarse_matrix E = { .k = k, .singular = singular };
    int64_t nnz = 0;
    E.row_ptr = calloc((size_t)k + 1, sizeof *E.row_ptr);
    for (int64_t e = 0; e < k * k; e++) nnz += dense[e] != 0;
    E.col = calloc((size_t)nnz + 1, sizeof *E.col);
    E.val = calloc((size_t)nnz + 1, sizeof *E.val);
    assert_true(E.row_ptr && E.col && E.val);
    nnz = 0;
    for (int64_t i = 0; i < k; i++) {
        for (int64_t j = 0; j < k; j++)
            if (dense[i * k + j] != 0) E.col[nnz] = (int32_t)j, E.val[nnz++] = dense[i * k + j];
        E.row_ptr[i + 1] = nnz;
    }
    return E;
}

/* A grid of k vectors, `width` in a row, with conductances up to `contrast` apart. */
static coarse_matrix blocks(int64_t k, int64_t width, double contrast, bool singular)
{
    double *dense = calloc((size_t)(k * k), sizeof *dense);
    int64_t *name = calloc((size_t)k, sizeof *name);
    assert_true(dense && name);
    for (int64_t i = 0; i < k; i++) { /* shuffled */
        int64_t j = random_below(i + 1);
        name[i] = name[j], name[j] = i;
    }
    for (int64_t i = 0; i < k; i++) {
        const int64_t others[] = { (i + 1) % width ? i + 1 : k, i + width };
        for (int o = 0; o < 2; o++) {
            if (others[o] >= k) continue;
            int64_t a = name[i], b = name[others[o]];
            double g = pow(contrast, -fabs(random_number(KRY_F64)));
            dense[a * k + a] += g, dense[b * k + b] += g;
            dense[a * k + b] -= g, dense[b * k + a] -= g;
        }
        if (!singular && (i % width == 0 || k < 10))
            dense[name[i] * k + name[i]] += 1 + fabs(random_number(KRY_F64));
    }
    coarse_matrix E = compress(k, dense, singular);
    free(name);
    free(dense);
    return E;
}

/* ---- G in long double ------------------------------------------------------------------------ */

/* Gauss and Jordan without pivoting, which positive definite matrices do not need; of the first n.
 */
static void eliminate(long double *a, int64_t n, int64_t k)
{
    for (int64_t p = 0; p < n; p++) {
        long double pivot = 1 / a[p * k + p];
        a[p * k + p] = 1;
        for (int64_t j = 0; j < n; j++) a[p * k + j] *= pivot;
        for (int64_t i = 0; i < n; i++) {
            if (i == p) continue;
            long double factor = a[i * k + p];
            a[i * k + p] = 0;
            for (int64_t j = 0; j < n; j++) a[i * k + j] -= factor * a[p * k + j];
        }
    }
}

/* a := (I - 1 d') a (I - d 1') */
static void project(const coarse_matrix *E, long double *a)
{
    const kryi_csr sparse = sparse_of(E);
    int64_t k = E->k;
    long double total = 0;
    for (int64_t i = 0; i < k; i++) total += kryi_csr_entry(&sparse, i, i);
    for (int side = 0; side < 2; side++)
        for (int64_t i = 0; i < k; i++) {
            int64_t step = side ? 1 : k, line = side ? k : 1;
            long double mean = 0;
            for (int64_t j = 0; j < k; j++)
                mean += (total > 0 ? kryi_csr_entry(&sparse, j, j) / total : 1.0L / k) *
                        a[i * line + j * step];
            for (int64_t j = 0; j < k; j++) a[i * line + j * step] -= mean;
        }
}

static long double *inverse_of(const coarse_matrix *E)
{
    int64_t k = E->k, n = k - (E->singular ? 1 : 0);
    long double *a = calloc((size_t)(k * k), sizeof *a);
    assert_non_null(a);
    for (int64_t i = 0; i < n; i++)
        for (int64_t e = E->row_ptr[i]; e < E->row_ptr[i + 1]; e++)
            if (E->col[e] < n) a[i * k + E->col[e]] = E->val[e];
    eliminate(a, n, k);
    if (E->singular) project(E, a);
    return a;
}

/* ---- solving ------------------------------------------------------------------------------------
 */

/* c := E^-1 w through a device, w and c of several columns that start anywhere. */
static double *solved_columns(kry_type type, kryi_coarse *s, const double *w, int64_t k,
                              int64_t columns, int64_t first)
{
    guarded gw = guarded_create(type, k, columns, first, w),
            gc = guarded_create(type, k, columns, (first + 1) % 4, NULL);
    OK(kryi_coarse_solve(s, gw.v, gc.v));
    double *c = guarded_read(&gc), *kept = guarded_read(&gw);
    assert_same_bits(w, kept, k * columns);
    free(kept);
    guarded_release(&gw);
    guarded_release(&gc);
    return c;
}

static double *solved(kry_type type, kryi_coarse *s, const double *w, int64_t k, int64_t first)
{
    return solved_columns(type, s, w, k, 1, first);
}

/* Several columns are each what it is alone, but for rounding in the order of sums. */
static void check_columns(kry_type type, kryi_coarse *s, int64_t k, long double rounding)
{
    static const int64_t columns[] = { 2, 5, 11 };

    for (size_t i = 0; i < COUNT(columns); i++) {
        double *w = random_array(type, k * columns[i]);
        double *all = solved_columns(type, s, w, k, columns[i], 1);
        for (int64_t j = 0; j < columns[i]; j++) {
            double *alone = solved(type, s, w + j * k, k, 1);
            for (int64_t r = 0; r < k; r++)
                NEAR(all[j * k + r], alone[r], rounding,
                     "k = %lld, column %lld of %lld, number %lld", (long long)k, (long long)j,
                     (long long)columns[i], (long long)r);
            free(alone);
        }
        free(w), free(all);
    }
}

static void check_solve(kry_type type, kryi_coarse *s, const coarse_matrix *E, const char *what)
{
    static const int64_t firsts[] = { 0, 1, 3 };
    int64_t k = E->k;
    long double *G = inverse_of(E), bound = 0;
    for (size_t f = 0; f < COUNT(firsts); f++) {
        double *w = random_array(type, k), *c = solved(type, s, w, k, firsts[f]);
        long double largest = 0;
        for (int64_t e = 0; e < k * k; e++) largest = fmaxl(largest, fabsl(G[e]));
        for (int64_t i = 0; i < k; i++) {
            long double want = 0;
            for (int64_t j = 0; j < k; j++) want += G[i * k + j] * w[j];
            /* k products; and the condition times the roundoff of the factor, which is in double */
            bound = (k + 10) * (eps_of(type) + 100 * DBL_EPSILON) * largest * sqrtl(k);
            NEAR(c[i], want, bound, "%s, k = %lld, from %lld, number %lld", what, (long long)k,
                 (long long)firsts[f], (long long)i);
        }
        double *again = solved(type, s, w, k, firsts[f]);
        assert_same_bits(c, again, k);
        free(again);
        free(c);
        free(w);
    }
    check_columns(type, s, k, bound);
    free(G);
}

static const kryi_cholesky_engine *const engines[] = {
    &kryi_cholesky_band,
    &kryi_cholesky_pivoted,
#ifdef KRY_HAVE_CHOLMOD
    &kryi_cholesky_cholmod,
#endif
};

static bool packs(kry_type type)
{
    const kry_device_info *info = kry_device_get_info(device());
    return !info->cpu_kernels && info->max_group >= 128 &&
           info->local_bytes >= 1696 * (int64_t)kry_type_size(type);
}

/* By both of kry's products; engine NULL: the device makes the inverse, if it does. */
static void check_dense(kry_type type, const kryi_cholesky_engine *engine, const coarse_matrix *E)
{
    for (int packed = 0; packed < (packs(type) ? 2 : 1); packed++) {
        kryi_coarse *s;
        kry_op_info info;
        int64_t blocks = (E->k + 63) / 64,
                least = packed ? blocks * (blocks + 1) / 2 * 4096 : E->k * E->k;
        OK(create_with(device(), type, KRY_COARSE_DENSE,
                       packed ? KRY_COARSE_PACKED : KRY_COARSE_FULL, engine, E, &s));
        kryi_coarse_describe(s, &info);
        assert_string_equal(info.variant, packed ? "dense packed" : "dense plain");
        assert_true(info.bytes_stored >= (double)least * (double)kry_type_size(type));
        assert_true(info.bytes_per_apply > (double)least * (double)kry_type_size(type));
        check_solve(type, s, E, packed ? "packed" : engine ? engine->name : "by the device");
        kryi_coarse_release(&s);
    }
}

/* Every engine; the inverse by every product. */
static void check_matrix(kry_type type, const coarse_matrix *E)
{
    for (size_t e = 0; e < COUNT(engines); e++) {
        kryi_coarse *s;
        kry_op_info info;
        OK(create_with(device(), type, KRY_COARSE_CHOLESKY, KRY_COARSE_OWN, engines[e], E, &s));
        kryi_coarse_describe(s, &info);
        assert_string_equal(info.variant, engines[e]->name);
        assert_true(E->k == 1 || info.bytes_stored > 0);
        check_solve(type, s, E, info.variant);
        kryi_coarse_release(&s);
        assert_null(s);
        check_dense(type, engines[e], E);
    }
}

static const struct {
    int64_t k, width;
} grids[] = { { 1, 1 },  { 2, 1 },   { 3, 3 },    { 7, 3 },    { 31, 31 },
              { 32, 8 }, { 65, 10 }, { 100, 10 }, { 129, 11 }, { 260, 20 } };

static void coarse_solve__against_elimination(void **state)
{
    kry_type type = type_of(state);
    for (size_t g = 0; g < COUNT(grids); g++) {
        coarse_matrix E = blocks(grids[g].k, grids[g].width, 10, false);
        check_matrix(type, &E);
        coarse_release(&E);
    }
}

static void coarse_solve__singular(void **state)
{
    kry_type type = type_of(state);
    for (size_t g = 0; g < COUNT(grids); g++) {
        coarse_matrix E = blocks(grids[g].k, grids[g].width, 10, true);
        check_matrix(type, &E);
        coarse_release(&E);
    }
}

static void coarse_solve__strong_contrast(void **state)
{
    kry_type type = type_of(state);
    for (int singular = 0; singular < 2; singular++) {
        coarse_matrix E = blocks(120, 11, 1e5, singular);
        check_matrix(type, &E);
        coarse_release(&E);
    }
}

/* Blocks that do not touch, one of them a single vector. */
static void coarse_solve__components(void **state)
{
    kry_type type = type_of(state);
    double dense[49] = { 0 };
    for (int i = 0; i < 7; i++) dense[8 * i] = 3 + i;
    dense[0 * 7 + 4] = dense[4 * 7 + 0] = -1;
    dense[1 * 7 + 6] = dense[6 * 7 + 1] = -1;
    dense[3 * 7 + 6] = dense[6 * 7 + 3] = -2;
    coarse_matrix E = compress(7, dense, false);
    check_matrix(type, &E);
    coarse_release(&E);
}

/* Every vector touches every other: CHOLMOD, if it may (gpl=true), takes its supernodal code for that. */
static coarse_matrix full(int64_t k, bool singular)
{
    double *dense = calloc((size_t)(k * k), sizeof *dense);
    assert_non_null(dense);
    for (int64_t i = 0; i < k; i++)
        for (int64_t j = 0; j < i; j++) {
            double g = 0.1 + fabs(random_number(KRY_F64));
            dense[i * k + j] = dense[j * k + i] = -g;
            dense[i * k + i] += g, dense[j * k + j] += g;
        }
    for (int64_t i = 0; i < k && !singular; i++) dense[i * k + i] += 1;
    coarse_matrix E = compress(k, dense, singular);
    free(dense);
    return E;
}

static void coarse_solve__full_matrix(void **state)
{
    kry_type type = type_of(state);
    for (int singular = 0; singular < 2; singular++) {
        coarse_matrix E = full(130, singular);
        check_matrix(type, &E);
        coarse_release(&E);
    }
}

static coarse_matrix diagonal(int64_t k)
{
    coarse_matrix E = { .k = k };
    E.row_ptr = calloc((size_t)k + 1, sizeof *E.row_ptr);
    E.col = calloc((size_t)k, sizeof *E.col);
    E.val = calloc((size_t)k, sizeof *E.val);
    assert_true(E.row_ptr && E.col && E.val);
    for (int64_t i = 0; i < k; i++) E.row_ptr[i + 1] = i + 1, E.col[i] = (int32_t)i, E.val[i] = 2;
    return E;
}

/* Three diagonals. */
static coarse_matrix chain(int64_t k)
{
    coarse_matrix E = { .k = k };
    int64_t nnz = 0;
    E.row_ptr = calloc((size_t)k + 1, sizeof *E.row_ptr);
    E.col = calloc((size_t)(3 * k), sizeof *E.col);
    E.val = calloc((size_t)(3 * k), sizeof *E.val);
    assert_true(E.row_ptr && E.col && E.val);
    for (int64_t i = 0; i < k; i++) {
        for (int64_t j = i > 0 ? i - 1 : 0; j <= i + 1 && j < k; j++)
            E.col[nnz] = (int32_t)j, E.val[nnz++] = j == i ? 3 : -1;
        E.row_ptr[i + 1] = nnz;
    }
    return E;
}

/* Around the boundaries of tiles; an odd and an even number of rows of tiles. */
static void coarse_solve__tiles(void **state)
{
    kry_type type = type_of(state);
    static const int64_t some[] = { 1, 63, 64, 65, 127, 128, 129, 191, 192, 193, 200, 321 };
    if (!packs(type)) SKIP("kernels for CPUs, or small groups");
    for (size_t i = 0; i < COUNT(some); i++) {
        coarse_matrix E = i % 2 ? full(some[i], i % 3) : blocks(some[i], 12, 10, i % 3);
        check_dense(type, engines[0], &E);
        coarse_release(&E);
    }
}

/* Enough rows of tiles for each loop of the sums. */
static void coarse_solve__many_tiles(void **state)
{
    kry_type type = type_of(state);
    static const int64_t some[] = { 49 * 64 - 3, 65 * 64 };
    if (!packs(type)) SKIP("kernels for CPUs, or small groups");
    for (size_t i = 0; i < COUNT(some); i++) {
        int64_t k = some[i];
        coarse_matrix E = chain(k);
        kryi_coarse *s;
        OK(create_with(device(), type, KRY_COARSE_DENSE, KRY_COARSE_PACKED, engines[0], &E, &s));
        double *want = random_array(type, k), *w = random_array(type, k);
        for (int64_t j = 0; j < k; j++) {
            w[j] = 3 * want[j] - (j > 0 ? want[j - 1] : 0) - (j + 1 < k ? want[j + 1] : 0);
            if (type == KRY_F32) w[j] = (float)w[j];
        }
        double *c = solved(type, s, w, k, 1);
        for (int64_t j = 0; j < k; j++)
            NEAR(c[j], want[j], 40 * eps_of(type), "k = %lld, number %lld", (long long)k,
                 (long long)j);
        free(want), free(w), free(c);
        kryi_coarse_release(&s);
        coarse_release(&E);
    }
}

/* c has a zero mean weighted by the diagonal, whatever w is; and u'Gv = v'Gu. */
static void coarse_solve__singular_is_symmetric(void **state)
{
    kry_type type = type_of(state);
    enum { K = 90 };
    coarse_matrix E = blocks(K, 9, 3, true);
    for (int dense = 0; dense < 2; dense++) {
        kryi_coarse *s;
        OK(create_with(device(), type, dense ? KRY_COARSE_DENSE : KRY_COARSE_CHOLESKY,
                       KRY_COARSE_OWN, NULL, &E, &s));
        double *u = random_array(type, K), *v = random_array(type, K);
        double *gu = solved(type, s, u, K, 0), *gv = solved(type, s, v, K, 0);
        long double uv = 0, vu = 0, mean = 0, weight = 0, size = 0;
        const kryi_csr sparse = sparse_of(&E);
        for (int64_t i = 0; i < K; i++) {
            double e = kryi_csr_entry(&sparse, i, i);
            uv += (long double)u[i] * gv[i], vu += (long double)v[i] * gu[i];
            mean += e * (long double)gu[i], weight += e, size += fabs(gu[i]) + fabs(gv[i]);
        }
        NEAR(uv, vu, 100 * eps_of(type) * size * K, "u'Gv");
        NEAR(mean / weight, 0, 100 * eps_of(type) * size, "the mean");
        free(u), free(v), free(gu), free(gv);
        kryi_coarse_release(&s);
    }
    coarse_release(&E);
}

/* ---- null spaces ---- */

enum { NULL_K = 76, NULL_ROWS = 90 }; /* room for E */

/* E = C'C, in two parts that nothing connects and with a zero in between; in each part the columns of C are
 * those of `rank` random ones and of their combinations. Scales differ by 1e6. */
static coarse_matrix semi_definite(int64_t part, int64_t rank)
{
    const int64_t k = 2 * part + 1;
    double *dense = calloc((size_t)(k * k), sizeof *dense),
           *C = calloc(NULL_ROWS, sizeof *C * NULL_K);
    assert_true(dense && C);
    for (int64_t first = 0; first < k; first += part + 1) {
        for (int64_t r = 0; r < NULL_ROWS; r++)
            for (int64_t j = 0; j < part; j++) {
                double sum = 0;
                for (int64_t t = 0; t < rank && j >= rank; t++)
                    sum += C[r * NULL_K + t] * ((double)((j * 7 + t * 3) % 11) - 5) / 5;
                C[r * NULL_K + j] = j < rank ? random_number(KRY_F64) : sum;
            }
        for (int64_t i = 0; i < part; i++)
            for (int64_t j = 0; j < part; j++) {
                double sum = 0;
                for (int64_t r = 0; r < NULL_ROWS; r++)
                    sum += C[r * NULL_K + i] * C[r * NULL_K + j];
                dense[(first + i) * k + first + j] = sum * (i % 3 ? 1 : 1e3) * (j % 3 ? 1 : 1e3);
            }
    }
    for (int64_t i = 0; i < k; i++) /* symmetric to the bit */
        for (int64_t j = 0; j < i; j++) dense[i * k + j] = dense[j * k + i];
    coarse_matrix E = compress(k, dense, false);
    free(C), free(dense);
    return E;
}

/* y := E x, rounded to the type. */
static void multiply(kry_type type, const coarse_matrix *E, const double *x, double *y)
{
    for (int64_t i = 0; i < E->k; i++) {
        y[i] = 0;
        for (int64_t e = E->row_ptr[i]; e < E->row_ptr[i + 1]; e++)
            y[i] += E->val[e] * x[E->col[e]];
        if (type == KRY_F32) y[i] = (float)y[i];
    }
}

static void check_null_space(kry_type type, kry_coarse_method method, const coarse_matrix *E)
{
    const int64_t k = E->k;
    double *x = random_array(type, k), *v = random_array(type, k),
           *w = calloc((size_t)k, sizeof *w);
    double *rest = calloc((size_t)k, sizeof *rest), size = 0;
    kryi_coarse *s;

    assert_true(w && rest);
    OK(create_with(device(), type, method, KRY_COARSE_OWN, &kryi_cholesky_pivoted, E, &s));
    multiply(type, E, x, w);
    for (int64_t i = 0; i < k; i++) size = fmax(size, fabs(w[i]));
    double *c = solved(type, s, w, k, 0), *cv = solved(type, s, v, k, 1);
    multiply(type, E, c, rest);
    for (int64_t i = 0; i < k; i++)
        NEAR(rest[i], w[i], 1e5 * eps_of(type) * size, "k = %lld, number %lld", (long long)k,
             (long long)i);
    /* What has no part in the range leaves nothing behind: E G E c = E c. */
    multiply(type, E, cv, rest);
    double *again = solved(type, s, rest, k, 1);
    long double wv = 0, vw = 0, far = 0, long_ = 0;
    for (int64_t i = 0; i < k; i++) {
        wv += (long double)w[i] * cv[i], vw += (long double)v[i] * c[i];
        far = fmaxl(far, fabsl((long double)again[i] - cv[i]));
        long_ = fmaxl(long_, fabsl((long double)cv[i]));
    }
    NEAR(far, 0, 1e6 * eps_of(type) * long_, "G E G");
    NEAR(wv, vw, 1e6 * eps_of(type) * fabsl(vw), "symmetry");
    free(again), free(c), free(cv), free(rest), free(w), free(v), free(x);
    kryi_coarse_release(&s);
}

/* Several vectors are mapped to zero, and nobody says which. */
static void coarse_solve__null_space(void **state)
{
    const kry_type type = type_of(state);
    static const int64_t some[][2] = { { 1, 0 }, { 1, 1 },   { 3, 1 },
                                       { 9, 6 }, { 37, 30 }, { 37, 37 } };
    for (size_t i = 0; i < COUNT(some); i++) {
        coarse_matrix E = semi_definite(some[i][0], some[i][1]);
        check_null_space(type, KRY_COARSE_CHOLESKY, &E);
        check_null_space(type, KRY_COARSE_DENSE, &E);
        coarse_release(&E);
    }
}

/* A direction in which E is negative is no null space. */
static void coarse_create__indefinite(void **state)
{
    const kry_type type = type_of(state);
    double dense[9] = { 2, -3, 0, -3, 2, 0, 0, 0, 1 }, negative[4] = { 1, 0, 0, -1e-3 };
    kryi_coarse *s = (kryi_coarse *)dense;
    coarse_matrix E = compress(3, dense, false);
    REFUSES(create_with(device(), type, KRY_COARSE_AUTO, KRY_COARSE_OWN, NULL, &E, &s),
            KRY_ERR_SINGULAR, "depends on the others");
    assert_null(s);
    coarse_release(&E);
    E = compress(2, negative, false);
    REFUSES(create_with(device(), type, KRY_COARSE_AUTO, KRY_COARSE_OWN, NULL, &E, &s),
            KRY_ERR_SINGULAR, "vector 1 ");
    coarse_release(&E);
}

/* ---- AUTO ---- */

static void coarse_create__auto(void **state)
{
    kry_type type = type_of(state);
    kry_op_info info;
    kryi_coarse *s;
    coarse_matrix E = blocks(40, 8, 2, false);
    OK(create_with(device(), type, KRY_COARSE_AUTO, KRY_COARSE_OWN, NULL, &E, &s));
    kryi_coarse_describe(s, &info);
    assert_memory_equal(info.variant, "dense", 5);
    kryi_coarse_release(&s);
    coarse_release(&E);
}

/* Large inverses are packed on GPUs; and nowhere else. */
static void coarse_create__packs_large_ones(void **state)
{
    kry_type type = type_of(state);
    static const int64_t some[] = { 1700, 2600 };
    for (size_t i = 0; i < COUNT(some); i++) {
        coarse_matrix E = diagonal(some[i]);
        kry_op_info info;
        kryi_coarse *s;
        OK(create_with(device(), type, KRY_COARSE_DENSE, KRY_COARSE_OWN, &kryi_cholesky_band, &E,
                       &s));
        kryi_coarse_describe(s, &info);
        assert_string_equal(info.variant, i && packs(type) ? "dense packed" : "dense plain");
        kryi_coarse_release(&s);
        if (!packs(type)) {
            s = (kryi_coarse *)&E;
            REFUSES(create_with(device(), type, KRY_COARSE_DENSE, KRY_COARSE_PACKED, NULL, &E, &s),
                    KRY_ERR_UNSUPPORTED, "packed");
            assert_null(s);
        }
        coarse_release(&E);
    }
}

/* So many vectors that the inverse fits nowhere. */
static void coarse_create__too_large_for_dense(void **state)
{
    kry_type type = type_of(state);
    int64_t most = kry_device_get_info(device())->max_alloc_bytes, k = 1;
    while (k * (k + 1) / 2 * (int64_t)kry_type_size(type) <= most) k *= 2; /* nor for a triangle */
    if (k > 1 << 20) SKIP("the device is too large");
    coarse_matrix E = diagonal(k);
    kry_op_info info;
    kryi_coarse *s = (kryi_coarse *)&E;
    char words[64];
    snprintf(words, sizeof words, "for %lld deflation vectors takes %.3f GB", (long long)k,
             1e-9 * (double)(k * k) * (double)kry_type_size(type));
    REFUSES(create_with(device(), type, KRY_COARSE_DENSE, KRY_COARSE_FULL, NULL, &E, &s),
            KRY_ERR_MEMORY, words);
    assert_null(s);
    OK(create_with(device(), type, KRY_COARSE_AUTO, KRY_COARSE_OWN, NULL, &E, &s));
    kryi_coarse_describe(s, &info);
    assert_memory_equal(info.variant, "cholesky", 8);
    double *w = random_array(type, k), *c = solved(type, s, w, k, 1);
    for (int64_t i = 0; i < k; i++) NEAR(c[i], w[i] / 2, eps_of(type), "number %lld", (long long)i);
    free(w), free(c);
    kryi_coarse_release(&s);
    coarse_release(&E);
}

/* ---- dependent vectors ---- */

/* The message names a vector between low and high. */
static void check_named(kry_status st, int64_t low, int64_t high)
{
    long long named = -1;
    REFUSES(st, KRY_ERR_SINGULAR, "linearly dependent deflation vectors");
    const char *at = strstr(kry_last_error(), ": vector ");
    assert_true(at && sscanf(at, ": vector %lld", &named) == 1);
    if (named < low || named > high) fail_msg("vector %lld is named", named);
}

static void coarse_create__dependent_vectors(void **state)
{
    kry_type type = type_of(state);
    double twice[25] = { 4, -1, 0, 0,  0, -1, 4, 0, -1, -1, 0, 0, 4,
                         0, 0,  0, -1, 0, 4,  4, 0, -1, 0,  4, 4 }; /* 3 and 4 are the same */
    double empty[9] = { 2, -1, 0, -1, 2, 0, 0, 0, 0 }, negative[9] = { 2, 0, 0, 0, -3, 0, 0, 0, 2 };
    for (size_t e = 0; e < COUNT(engines); e++) {
        if (engines[e]->pinned) continue;
        kryi_coarse *s = (kryi_coarse *)twice;
        coarse_matrix E = compress(5, twice, false);
        check_named(
            create_with(device(), type, KRY_COARSE_DENSE, KRY_COARSE_OWN, engines[e], &E, &s), 3,
            4);
        assert_null(s);
        coarse_release(&E);
        E = compress(3, empty, false);
        check_named(
            create_with(device(), type, KRY_COARSE_CHOLESKY, KRY_COARSE_OWN, engines[e], &E, &s), 2,
            2);
        coarse_release(&E);
        E = compress(3, negative, false);
        check_named(
            create_with(device(), type, KRY_COARSE_CHOLESKY, KRY_COARSE_OWN, engines[e], &E, &s), 1,
            1);
        coarse_release(&E);
        E = blocks(400, 20, 1, true); /* singular, and nobody said so */
        E.singular = false;
        check_named(
            create_with(device(), type, KRY_COARSE_CHOLESKY, KRY_COARSE_OWN, engines[e], &E, &s), 0,
            399);
        coarse_release(&E);
        check_named(/* more than the ones */
                    create_with(device(), type, KRY_COARSE_CHOLESKY, KRY_COARSE_OWN, engines[e],
                                &(coarse_matrix){ 3, (int64_t[]){ 0, 2, 4, 5 },
                                                  (int32_t[]){ 0, 1, 0, 1, 2 },
                                                  (double[]){ 1, -1, -1, 1, 0 }, true },
                                &s),
                    0, 1);
    }
}

/* ---- what is refused ---- */

static void coarse_create__refusals(void **state)
{
    kry_type type = type_of(state);
    int64_t row_ptr[] = { 0, 2, 4, 5 };
    int32_t col[] = { 0, 1, 0, 1, 2 };
    double val[] = { 2, -1, -1, (double)INFINITY, 2 };
    coarse_matrix E = { 3, row_ptr, col, val, false };
    kryi_coarse *s = (kryi_coarse *)&E;
    REFUSES(create_with(device(), type, KRY_COARSE_AUTO, KRY_COARSE_OWN, NULL, &E, &s),
            KRY_ERR_ARGUMENT, "vectors 1 and 1 is inf");
    assert_null(s);
    val[3] = 2;
    REFUSES(create_with(device(), type, (kry_coarse_method)9, KRY_COARSE_OWN, NULL, &E, &s),
            KRY_ERR_ARGUMENT, "9");
    kryi_coarse_release(&s);
}

/* ---- inverses that the device makes ---- */

static bool inverts(int64_t k)
{
    return kryi_coarse_inverts(&(kryi_dense_inverse){ .dev = device(), .type = KRY_F32, .k = k });
}

/* G w, of an inverse that the device is asked for whatever its size. */
static void check_inversion(kry_type type, kryi_coarse_product product, const coarse_matrix *E)
{
    kryi_dense_inverse D = { .dev = device(), .type = type, .k = E->k };
    const kryi_csr sparse = sparse_of(E);
    const int64_t k = E->k;
    long double *G = inverse_of(E), largest = 0, condition = 1; /* of E with a diagonal of ones */
    double *w = random_array(type, k);
    guarded gw = guarded_create(type, k, 1, 0, w), gc = guarded_create(type, k, 1, 0, NULL);

    OK(kryi_dense_inverse_choose(&D, product));
    OK(kryi_dense_inverse_prepare(&D));
    OK(kryi_coarse_invert(&D, &sparse, E->singular));
    OK(kryi_dense_inverse_apply(&D, gw.v, gc.v));
    double *c = guarded_read(&gc);
    for (int64_t e = 0; e < k * k; e++) largest = fmaxl(largest, fabsl(G[e]));
    for (int64_t i = 0; i < k; i++)
        condition = fmaxl(condition, G[i * k + i] * kryi_csr_entry(&sparse, i, i));
    for (int64_t i = 0; i < k; i++) {
        long double want = 0, bound = (k + 10) * (eps_of(type) + DBL_EPSILON * condition) * largest;
        for (int64_t j = 0; j < k; j++) want += G[i * k + j] * w[j];
        NEAR(c[i], want, bound * sqrtl(k), "k = %d, %s, number %d", (int)k,
             product == KRY_COARSE_PACKED ? "packed" : "in full", (int)i);
    }
    kryi_dense_inverse_release(&D);
    guarded_release(&gw);
    guarded_release(&gc);
    free(G), free(w), free(c);
}

/* k around multiples of the blocks and tiles, singular or not. */
static void coarse_invert__against_elimination(void **state)
{
    static const struct {
        int64_t k, width;
        double contrast;
    } some[] = {
        { 1, 1, 1 },    { 2, 1, 10 },   { 31, 31, 1e5 }, { 32, 8, 10 },   { 33, 5, 10 },
        { 63, 7, 1e5 }, { 64, 64, 10 }, { 65, 10, 1e5 }, { 97, 11, 1e5 }, { 129, 11, 10 }
    };
    kry_type type = type_of(state);
    if (!inverts(129)) SKIP("the host makes inverses for this device");
    assert_false(inverts(128));
    for (size_t i = 0; i < COUNT(some); i++)
        for (int singular = 0; singular < (some[i].k > 1 ? 2 : 1); singular++) {
            coarse_matrix E = blocks(some[i].k, some[i].width, some[i].contrast, singular);
            check_inversion(type, KRY_COARSE_FULL, &E);
            if (packs(type)) check_inversion(type, KRY_COARSE_PACKED, &E);
            if (some[i].k == 129) check_dense(type, NULL, &E);
            coarse_release(&E);
        }
}

static void coarse_invert__dependent_vectors(void **state)
{
    kry_type type = type_of(state);
    if (!inverts(129)) SKIP("the host makes inverses for this device");
    coarse_matrix E = blocks(130, 10, 1, true); /* singular, and nobody said so */
    kryi_coarse *s = (kryi_coarse *)&E;
    E.singular = false;
    check_named(create_with(device(), type, KRY_COARSE_DENSE, KRY_COARSE_OWN, NULL, &E, &s), 0,
                129);
    assert_null(s);
    coarse_release(&E);
    E = blocks(130, 10, 1, false);
    for (int64_t e = E.row_ptr[77]; e < E.row_ptr[78]; e++)
        if (E.col[e] == 77) E.val[e] = -1;
    check_named(create_with(device(), type, KRY_COARSE_DENSE, KRY_COARSE_OWN, NULL, &E, &s), 77,
                77);
    coarse_release(&E);
}

/* ---- requests that fail ---- */

static bool fails_cleanly(kry_coarse_method method, kryi_coarse_product product,
                          const kryi_cholesky_engine *engine, coarse_matrix *E, int k)
{
    kryi_coarse *s = (kryi_coarse *)E;
    fail_request(k);
    kry_status st = create_with(device(), KRY_F32, method, product, engine, E, &s);
    if (st < 0) assert_null(s);
    bool reached = end_requests();
    assert_true(st == KRY_OK || st == KRY_ERR_MEMORY);
    assert_int_equal(st == KRY_OK, !reached);
    kryi_coarse_release(&s);
    assert_int_equal(device_references(device()), 1);
    return reached;
}

static void coarse__every_request_fails(void **state)
{
    (void)state;
    coarse_matrix E = blocks(20, 5, 1, true), large = blocks(130, 10, 1, true);
    kryi_coarse *made;
    int requests = 0;
    OK(create_with(device(), KRY_F32, KRY_COARSE_DENSE, KRY_COARSE_FULL, NULL, &large, &made));
    kryi_coarse_release(&made);
    while (fails_cleanly(KRY_COARSE_DENSE, KRY_COARSE_FULL, NULL, &large, requests)) requests++;
    assert_in_range(requests, 5, 1000);
    coarse_release(&large);
    for (size_t e = 0; e < COUNT(engines); e++)
        for (int variant = 0; variant < (packs(KRY_F32) ? 3 : 2); variant++) {
            kry_coarse_method method = variant ? KRY_COARSE_DENSE : KRY_COARSE_CHOLESKY;
            kryi_coarse_product product = variant == 2 ? KRY_COARSE_PACKED : KRY_COARSE_FULL;
            kryi_coarse *s;
            int k = 0;
            OK(create_with(device(), KRY_F32, method, product, engines[e], &E, &s)); /* compiles */
            kryi_coarse_release(&s);
            while (fails_cleanly(method, product, engines[e], &E, k)) k++;
            assert_in_range(k, 5, 1000);
        }
    coarse_release(&E);
}

#define GPU(test, type)                                                   \
    {                                                                     \
#test "/" #type ", gpu", test, on_gpu_kernels, NULL, &type_##type \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(coarse_solve__against_elimination),
        BOTH(coarse_solve__singular),
        BOTH(coarse_solve__strong_contrast),
        BOTH(coarse_solve__components),
        BOTH(coarse_solve__full_matrix),
        BOTH(coarse_solve__tiles),
        BOTH(coarse_solve__many_tiles),
        BOTH(coarse_solve__singular_is_symmetric),
        BOTH(coarse_solve__null_space),
        BOTH(coarse_create__indefinite),
        BOTH(coarse_create__auto),
        BOTH(coarse_create__packs_large_ones),
        BOTH(coarse_create__too_large_for_dense),
        BOTH(coarse_create__dependent_vectors),
        BOTH(coarse_create__refusals),
        cmocka_unit_test(coarse__every_request_fails),
        GPU(coarse_invert__against_elimination, double),
        GPU(coarse_invert__dependent_vectors, double),
        cmocka_unit_test_setup(coarse__every_request_fails, on_gpu_kernels),
    };
    return cmocka_run_group_tests(tests, keep_profile, restore_profile);
}
