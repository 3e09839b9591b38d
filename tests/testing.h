/*
 * testing.h - what the unit tests share: one device per program, seeded random numbers, vectors
 * between guard zones, and sparse matrices with a plain product in long double.
 */
#ifndef KRY_TESTING_H
#define KRY_TESTING_H

#include "unit.h"
#include <float.h>

#if defined(__GNUC__)
#define MAYBE_UNUSED __attribute__((unused))
#else
#define MAYBE_UNUSED
#endif

/* ---- checks ----------------------------------------------------------------------------- */

/* The call fails with this status, and the message has `text` in it. */
#define REFUSES(call, status, text)                                            \
    do {                                                                       \
        kry_status got_ = (call);                                              \
        if (got_ != (status))                                                  \
            fail_msg("%s: '%s' instead of '%s'", #call, kry_status_text(got_), \
                     kry_status_text(status));                                 \
        if (!strstr(kry_last_error(), text))                                   \
            fail_msg("%s: no '%s' in '%s'", #call, text, kry_last_error());    \
    } while (0)

/* |got - want| <= bound; NaN fails. */
#define NEAR(got, want, bound, ...)                                                          \
    do {                                                                                     \
        long double got_ = (got), want_ = (want), bound_ = (bound);                          \
        if (!(fabsl(got_ - want_) <= bound_)) {                                              \
            print_error(__VA_ARGS__);                                                        \
            fail_msg(": %.17Lg instead of %.17Lg, %.3Lg apart, at most %.3Lg allowed", got_, \
                     want_, fabsl(got_ - want_), bound_);                                    \
        }                                                                                    \
    } while (0)

/* ---- sizes, random numbers ---------------------------------------------------------------- */

/* Under Oclgrind everything takes ten thousand times longer. */
MAYBE_UNUSED static bool small_run(void) { return getenv("KRY_TEST_SMALL") != NULL; }
MAYBE_UNUSED static bool too_large(int64_t n) { return small_run() && n > 1500; }

static uint64_t test_random_state;

MAYBE_UNUSED static uint64_t random_bits(void)
{
    if (!test_random_state) {
        const char *given = getenv("KRY_TEST_SEED");
        test_random_state = given ? strtoull(given, NULL, 10) : 20240607;
        print_message("# KRY_TEST_SEED=%llu\n", (unsigned long long)test_random_state);
        if (!test_random_state) test_random_state = 1;
    }
    test_random_state ^= test_random_state << 13; /* Marsaglia, xorshift64 */
    test_random_state ^= test_random_state >> 7;
    test_random_state ^= test_random_state << 17;
    return test_random_state;
}

MAYBE_UNUSED static int64_t random_below(int64_t n)
{
    return (int64_t)(random_bits() % (uint64_t)n);
}

/* How far apart the cases of a sample lie: `n`; with KRY_FULL none is left out. */
MAYBE_UNUSED static int64_t every(int64_t n) { return getenv("KRY_FULL") ? 1 : n; }

/*
 * Whether to run case `i` of a table whose cases are run for each type, format or team: one of n, and `i`
 * counts the columns along with the rows, as on a chessboard. So every row and every column is run;
 * KRY_FULL runs every pair of them, and KRY_TEST_SEED moves the board.
 */
MAYBE_UNUSED static bool one_of(int64_t n, int64_t i)
{
    static int64_t moved = -1;
    if (moved < 0) moved = random_below(60);
    return (i + moved) % every(n) == 0;
}

MAYBE_UNUSED static bool in_sample(int64_t i) { return one_of(3, i); }

static double to_type(kry_type type, double v) { return type == KRY_F32 ? (float)v : v; }

/* In (-1, 1), a number of `type`. */
MAYBE_UNUSED static double random_number(kry_type type)
{
    return to_type(type, (double)(int64_t)(random_bits() >> 11) / 4503599627370496.0 - 1.0);
}

/* ---- number types --------------------------------------------------------------------------- */

static long double eps_of(kry_type type) { return type == KRY_F32 ? FLT_EPSILON : DBL_EPSILON; }
/* Below it, devices may flush to zero. */
MAYBE_UNUSED static long double least_of(kry_type type)
{
    return type == KRY_F32 ? FLT_MIN : DBL_MIN;
}

MAYBE_UNUSED static double at(kry_type type, const void *numbers, int64_t i)
{
    return type == KRY_F32 ? (double)((const float *)numbers)[i] : ((const double *)numbers)[i];
}

static void put(kry_type type, void *numbers, int64_t i, double v)
{
    if (type == KRY_F32)
        ((float *)numbers)[i] = (float)v;
    else
        ((double *)numbers)[i] = v;
}

/* The doubles as numbers of `type`, to be freed. */
MAYBE_UNUSED static void *in_type(kry_type type, const double *v, int64_t n)
{
    void *out = calloc((size_t)n + 1, kry_type_size(type));
    assert_non_null(out);
    for (int64_t i = 0; i < n; i++) put(type, out, i, v[i]);
    return out;
}

MAYBE_UNUSED static double *random_array(kry_type type, int64_t n)
{
    double *v = calloc((size_t)n + 1, sizeof *v);
    assert_non_null(v);
    for (int64_t i = 0; i < n; i++) v[i] = random_number(type);
    return v;
}

/* ---- the device ----------------------------------------------------------------------------- */

/* A device stays open until the program ends, and so does one for each profile: it keeps its
 * compiled programs, and PoCL takes 30 ms to find one of its own again. */
typedef struct kept_device {
    char *profile; /* the value of KRY_PROFILE, "" without */
    kry_device *dev;
    struct kept_device *next;
} kept_device;

static kept_device *kept_devices;
static kry_device *test_dev; /* one of them, the one in use */

static const char *present_profile(void)
{
    const char *given = getenv("KRY_PROFILE");
    return given ? given : "";
}

static kry_device *device(void)
{
    if (test_dev) return test_dev;
    kept_device *k = kept_devices;
    while (k && strcmp(k->profile, present_profile())) k = k->next;
    if (!k) {
        kry_device *dev;
        OK(kry_device_open(NULL, &dev));
        k = calloc(1, sizeof *k);
        assert_non_null(k);
        *k =
            (kept_device){ .profile = strdup(present_profile()), .dev = dev, .next = kept_devices };
        kept_devices = k;
    }
    return test_dev = k->dev;
}

/* A team of pieces that the device there is can be cut into, all with rows of everything; NULL: it cannot be cut. */
MAYBE_UNUSED static kry_device *open_pieces(int pieces)
{
    kry_device *team;
    char spec[64];

    snprintf(spec, sizeof spec, "%s/%d,use-all", kry_device_get_info(device())->kind, pieces);
    return kry_device_open(spec, &team) == KRY_OK ? team : NULL;
}

/* Leave a test of what the host device does not do. */
#define NOT_ON_HOST(what) \
    if (is_host(device())) SKIP("no " what " on the host device")

/* Sums and scalars are of this type. */
MAYBE_UNUSED static kry_type acc_type(void)
{
    return kry_device_get_info(device())->fp64 ? KRY_F64 : KRY_F32;
}

/* Group teardown: nothing may hold on to a device any more. */
MAYBE_UNUSED static int close_device(void **state)
{
    int bad = 0;

    (void)state;
    for (kept_device *k; (k = kept_devices);) {
        const int references = device_references(k->dev);
        if (references != 1)
            print_error("the device has %d references left instead of 1\n", references), bad = 1;
        else
            kry_device_release(&k->dev);
        kept_devices = k->next;
        free(k->profile);
        free(k);
    }
    test_dev = NULL;
    return bad;
}

/* From now on the device is one with these words in its profile beside those that were given; NULL:
 * with those alone. For groups of tests between keep_profile and restore_profile, which closes the
 * devices too. */
static char *given_profile;

MAYBE_UNUSED static void use_profile(const char *words)
{
    char all[300];

    snprintf(all, sizeof all, "%s%s%s", given_profile ? given_profile : "",
             given_profile && words ? " " : "", words ? words : "");
    setenv("KRY_PROFILE", all, 1);
    test_dev = NULL;
    (void)device();
}

MAYBE_UNUSED static int keep_profile(void **state)
{
    const char *given = getenv("KRY_PROFILE");
    (void)state;
    given_profile = given ? strdup(given) : NULL;
    return 0;
}

MAYBE_UNUSED static int restore_profile(void **state)
{
    if (given_profile)
        setenv("KRY_PROFILE", given_profile, 1);
    else
        unsetenv("KRY_PROFILE");
    free(given_profile);
    given_profile = NULL;
    return close_device(state);
}

static kry_type type_single MAYBE_UNUSED = KRY_F32, type_double MAYBE_UNUSED = KRY_F64;
/* A test for each number type, and how it learns which. Where there is no double, single runs
 * twice. */
#define BOTH(test)                                       \
    { #test "/single", test, NULL, NULL, &type_single }, \
    {                                                    \
#test "/double", test, NULL, NULL, &type_double  \
    }
/* Setups of a test: kernels as CPUs and as GPUs run them. */
MAYBE_UNUSED static int on_cpu_kernels(void **state)
{
    (void)state;
    if (!is_host(device())) use_profile(NULL);
    return 0;
}

MAYBE_UNUSED static int on_gpu_kernels(void **state)
{
    (void)state;
    if (!is_host(device())) use_profile("gpu-kernels");
    return 0;
}

/* A test for each number type, with the kernels of CPUs and of GPUs. */
#define FOUR(test)                                                          \
    { #test "/single", test, on_cpu_kernels, NULL, &type_single },          \
        { #test "/double", test, on_cpu_kernels, NULL, &type_double },      \
        { #test "/single, gpu", test, on_gpu_kernels, NULL, &type_single }, \
    {                                                                       \
#test "/double, gpu", test, on_gpu_kernels, NULL, &type_double      \
    }

MAYBE_UNUSED static kry_type type_of(void **state)
{
    kry_type type = *(kry_type *)*state;
    return kry_device_get_info(device())->fp64 ? type : KRY_F32;
}

/* ---- plain vectors ---------------------------------------------------------------------------- */

MAYBE_UNUSED static kry_vec *vec_of(kry_type type, const double *numbers, int64_t n, int64_t k)
{
    kry_vec *v;
    void *host = in_type(type, numbers, n * k);
    OK(kry_vec_create(device(), type, n, k, &v));
    OK(kry_vec_write(v, host));
    free(host);
    return v;
}

/* All that the vector holds, column by column; to be freed. */
MAYBE_UNUSED static double *numbers_of(const kry_vec *v)
{
    const kry_type type = kry_vec_type(v);
    const int64_t count = kry_vec_rows(v) * kry_vec_cols(v);
    double *out = calloc((size_t)count + 1, sizeof *out);
    void *host = calloc((size_t)count + 1, kry_type_size(type));
    assert_non_null(out);
    assert_non_null(host);
    OK(kry_vec_read(v, host));
    for (int64_t i = 0; i < count; i++) out[i] = at(type, host, i);
    free(host);
    return out;
}

/* Doubles from and to a vector of either type on any device, column after column. */
MAYBE_UNUSED static void write_doubles(kry_vec *v, const double *numbers)
{
    void *host = in_type(kry_vec_type(v), numbers, kry_vec_rows(v) * kry_vec_cols(v));
    OK(kry_vec_write(v, host));
    free(host);
}

MAYBE_UNUSED static void read_doubles(const kry_vec *v, double *numbers)
{
    double *found = numbers_of(v);
    memcpy(numbers, found, (size_t)(kry_vec_rows(v) * kry_vec_cols(v)) * sizeof *found);
    free(found);
}

/* ---- vectors between guard zones ----------------------------------------------------------------
 */

enum { GUARD = 64 }; /* numbers before and after, a multiple of every vector width */
static const double guard_value = 777.25;

/* An n-by-k block that starts `offset` numbers after the guard zone in a larger buffer. */
typedef struct guarded {
    kry_vec *v, *whole;
    cl_mem buffer; /* of `whole` */
    kry_type type;
    int64_t numbers, first, all;
} guarded;

static void guarded_write(guarded *g, const double *numbers)
{
    void *host = calloc((size_t)g->all, kry_type_size(g->type));
    assert_non_null(host);
    for (int64_t i = 0; i < g->all; i++) put(g->type, host, i, guard_value);
    for (int64_t i = 0; i < g->numbers; i++)
        put(g->type, host, g->first + i, numbers ? numbers[i] : (double)NAN);
    OK(kry_vec_write(g->whole, host));
    free(host);
}

MAYBE_UNUSED static void poison(guarded *g) { guarded_write(g, NULL); }

/* numbers == NULL: poisoned with NaN */
MAYBE_UNUSED static guarded guarded_create(kry_type type, int64_t n, int64_t k, int64_t offset,
                                           const double *numbers)
{
    guarded g = { .type = type, .numbers = n * k, .first = GUARD + offset };

    g.all = g.first + g.numbers + GUARD;
    OK(kry_vec_create(device(), type, g.all, 1, &g.whole));
    g.buffer = kry_vec_buffer(g.whole, NULL);
    OK(kry_vec_wrap(device(), type, n, k, g.buffer, g.first, &g.v));
    guarded_write(&g, numbers);
    return g;
}

/* What the vector holds, to be freed; the guard zones must be as they were. */
MAYBE_UNUSED static double *guarded_read(const guarded *g)
{
    void *host = calloc((size_t)g->all, kry_type_size(g->type));
    double *numbers = calloc((size_t)g->numbers + 1, sizeof *numbers);
    assert_non_null(host);
    assert_non_null(numbers);
    OK(kry_vec_read(g->whole, host));
    for (int64_t i = 0; i < g->all; i++) {
        bool inside = i >= g->first && i < g->first + g->numbers;
        double v = at(g->type, host, i);
        if (inside)
            numbers[i - g->first] = v;
        else if (v != guard_value)
            fail_msg("element %lld of a vector of %lld was overwritten with %g",
                     (long long)(i - g->first), (long long)g->numbers, v);
    }
    free(host);
    return numbers;
}

MAYBE_UNUSED static void guarded_release(guarded *g)
{
    kry_vec_release(&g->v);
    kry_vec_release(&g->whole);
}

/* The same bits, NaN included. */
MAYBE_UNUSED static void assert_same_bits(const double *a, const double *b, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (memcmp(&a[i], &b[i], sizeof *a))
            fail_msg("number %lld of %lld: %.17g and %.17g", (long long)i, (long long)n, a[i],
                     b[i]);
}

/* ---- sparse matrices on the host
 * ------------------------------------------------------------------ */

typedef struct matrix {
    int64_t rows, cols, nnz;
    int64_t *row_ptr;
    int32_t *col;
    double *val; /* numbers of the type it was made for */
} matrix;

/* Rows of the given lengths (at most cols), at random places in ascending order. */
MAYBE_UNUSED static matrix matrix_create(kry_type type, int64_t rows, int64_t cols,
                                         int64_t (*length)(int64_t row, int64_t rows, int64_t cols))
{
    matrix A = { .rows = rows, .cols = cols };

    A.row_ptr = calloc((size_t)rows + 1, sizeof *A.row_ptr);
    assert_non_null(A.row_ptr);
    for (int64_t i = 0; i < rows; i++) {
        int64_t wanted = length(i, rows, cols);
        A.row_ptr[i + 1] = A.row_ptr[i] + (wanted < cols ? wanted : cols);
    }
    A.nnz = A.row_ptr[rows];
    A.col = calloc((size_t)A.nnz + 1, sizeof *A.col);
    assert_non_null(A.col);
    for (int64_t i = 0; i < rows; i++) {
        int64_t m = A.row_ptr[i + 1] - A.row_ptr[i], step = m ? cols / m : 1;
        for (int64_t j = 0; j < m; j++)
            A.col[A.row_ptr[i] + j] = (int32_t)(j * step + random_below(step));
    }
    A.val = random_array(type, A.nnz);
    return A;
}

MAYBE_UNUSED static void matrix_release(matrix *A)
{
    free(A->row_ptr);
    free(A->col);
    free(A->val);
    memset(A, 0, sizeof *A);
}

/* The nonzeros of a, n-by-n, row by row. */
MAYBE_UNUSED static matrix matrix_from(const double *a, int64_t n)
{
    matrix A = { .rows = n, .cols = n };

    A.row_ptr = calloc((size_t)n + 1, sizeof *A.row_ptr);
    A.col = calloc((size_t)(n * n) + 1, sizeof *A.col);
    A.val = calloc((size_t)(n * n) + 1, sizeof *A.val);
    assert_true(A.row_ptr && A.col && A.val);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++)
            if (a[i * n + j] != 0) A.col[A.nnz] = (int32_t)j, A.val[A.nnz++] = a[i * n + j];
        A.row_ptr[i + 1] = A.nnz;
    }
    return A;
}

MAYBE_UNUSED static matrix transpose_of(const matrix *A)
{
    matrix T = { .rows = A->cols, .cols = A->rows, .nnz = A->nnz };
    T.row_ptr = calloc((size_t)T.rows + 2, sizeof *T.row_ptr);
    T.col = calloc((size_t)T.nnz + 1, sizeof *T.col);
    T.val = calloc((size_t)T.nnz + 1, sizeof *T.val);
    assert_true(T.row_ptr && T.col && T.val);
    for (int64_t k = 0; k < A->nnz; k++) T.row_ptr[A->col[k] + 2]++;
    for (int64_t j = 0; j < T.rows; j++) T.row_ptr[j + 2] += T.row_ptr[j + 1];
    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
            int64_t to = T.row_ptr[A->col[k] + 1]++;
            T.col[to] = (int32_t)i, T.val[to] = A->val[k];
        }
    return T;
}

/* Row i of A x, and with it sum |a_ij| size_j (size == NULL: |x_j|), to which errors relate. */
MAYBE_UNUSED static long double row_times(const matrix *A, int64_t i, const double *x,
                                          const double *size, long double *magnitude)
{
    long double sum = 0;
    *magnitude = 0;
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
        sum += (long double)A->val[k] * x[A->col[k]];
        *magnitude += fabsl((long double)A->val[k] * (size ? size : x)[A->col[k]]);
    }
    return sum;
}

/*
 * How far a product row may be off: each of its m products and m additions rounds once, relative
 * to the sum of absolute values; alpha, beta and the final additions are the few more.
 */
MAYBE_UNUSED static long double row_bound(const matrix *A, int64_t i, kry_type type,
                                          long double magnitude)
{
    int64_t m = A->row_ptr[i + 1] - A->row_ptr[i];
    return (long double)(m + 6) * eps_of(type) * magnitude + least_of(type) * (m + 6);
}

MAYBE_UNUSED static kry_op *csr_of(const matrix *A, kry_type type, const kry_matrix_params *params)
{
    kry_op *op = NULL;
    void *val = in_type(type, A->val, A->nnz);
    OK(kry_csr_create(device(), type, A->rows, A->cols, A->row_ptr, A->col, val, params, &op));
    free(val);
    assert_non_null(op);
    return op;
}

#endif
