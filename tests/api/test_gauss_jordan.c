/*
 * test_gauss_jordan.c - reduced row echelon forms and inverses of dense matrices, against what they
 * must satisfy, in long double, and against elimination in plain C.
 */
#include "dense.h"

static double graded(kry_type type, int64_t i, int64_t j)
{
    return to_type(type, random_number(type) * pow(10, -(double)((i + j) % 30) / 10));
}

/* ---- reduced row echelon form ---- */

typedef struct echelon {
    int64_t m, n, most, rank, *pivot;
    double *r;
} echelon;

static echelon echelon_of(kry_type type, const double *a, int64_t m, int64_t n, double tolerance)
{
    echelon e = { .m = m, .n = n, .most = m < n ? m : n };
    guarded A = guarded_create(type, m, n, 1, a);
    e.pivot = calloc((size_t)e.most + 1, sizeof *e.pivot);
    OK(kry_vec_rref(A.v, tolerance, e.pivot, &e.rank));
    e.r = guarded_read(&A);
    guarded_release(&A);
    return e;
}

static void echelon_release(echelon *e) { free(e->pivot), free(e->r); }

/* The form itself: unit vectors where the pivots are, zeros to the left of them and below. */
static void check_form(const echelon *e)
{
    assert_in_range(e->rank, 0, e->most);
    for (int64_t k = 0; k < e->most; k++) {
        if (k >= e->rank) {
            assert_int_equal(e->pivot[k], -1);
            continue;
        }
        assert_true(e->pivot[k] < e->n && (k == 0 || e->pivot[k] > e->pivot[k - 1]));
        for (int64_t i = 0; i < e->m; i++)
            assert_true(e->r[e->pivot[k] * e->m + i] == (i == k ? 1 : 0));
    }
    for (int64_t i = 0; i < e->m; i++)
        for (int64_t j = 0; j < (i < e->rank ? e->pivot[i] : e->n); j++)
            assert_true(e->r[j * e->m + i] == 0);
}

/* A = A(:, pivots) R, what every echelon form satisfies. */
static void check_product(const echelon *e, kry_type type, const double *a)
{
    long double size = largest(a, e->m * e->n), r = largest(e->r, e->m * e->n);
    for (int64_t j = 0; j < e->n; j++)
        for (int64_t i = 0; i < e->m; i++) {
            long double sum = 0;
            for (int64_t k = 0; k < e->rank; k++)
                sum += (long double)a[e->pivot[k] * e->m + i] * e->r[j * e->m + k];
            NEAR(sum, a[j * e->m + i], 10 * (e->m + e->n) * eps_of(type) * size * fmaxl(1, r),
                 "(%lld, %lld) of %lld-by-%lld", (long long)i, (long long)j, (long long)e->m,
                 (long long)e->n);
        }
}

static void rref__full_rank(void **state)
{
    static const int64_t shape[][2] = { { 1, 1 },    { 1, 9 },    { 9, 1 },   { 31, 33 },
                                        { 32, 32 },  { 33, 70 },  { 70, 33 }, { 65, 65 },
                                        { 20, 130 }, { 600, 20 }, { 96, 40 }, { 129, 131 } };
    kry_type type = type_of(state);
    for (size_t s = 0; s < COUNT(shape); s++) {
        double *a = make(uniform, type, shape[s][0], shape[s][1]);
        echelon e = echelon_of(type, a, shape[s][0], shape[s][1], 0);
        assert_int_equal(e.rank, e.most);
        for (int64_t k = 0; k < e.most; k++) assert_int_equal(e.pivot[k], k);
        check_form(&e);
        check_product(&e, type, a);
        echelon_release(&e);
        free(a);
    }
}

/* Products of an m-by-r and an r-by-n matrix, with columns of zeros and repeated ones between. */
static double *of_rank(kry_type type, int64_t m, int64_t n, int64_t r)
{
    double *a = calloc((size_t)(m * n), sizeof *a);
    double *left = random_array(type, m * r), *right = random_array(type, r * n);
    for (int64_t i = 0; i < m * r; i++) left[i] = ceil(8 * fabs(left[i])) * (left[i] < 0 ? -1 : 1);
    for (int64_t i = 0; i < r * n; i++)
        right[i] = ceil(8 * fabs(right[i])) * (right[i] < 0 ? -1 : 1);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++)
            for (int64_t k = 0; k < r && j % 5 != 0; k++)
                a[j * m + i] += left[k * m + i] * right[(j % 5 == 2 ? j - 1 : j) * r + k];
    free(left), free(right);
    return a;
}

static void rref__columns_passed_over(void **state)
{
    static const int64_t shape[][3] = { { 12, 10, 1 },  { 40, 40, 5 },   { 33, 90, 20 },
                                        { 90, 33, 10 }, { 70, 100, 33 }, { 50, 60, 34 } };
    kry_type type = type_of(state);
    for (size_t s = 0; s < COUNT(shape); s++) {
        double *a = of_rank(type, shape[s][0], shape[s][1], shape[s][2]);
        echelon e = echelon_of(type, a, shape[s][0], shape[s][1], type == KRY_F32 ? 0.2 : 1e-9);
        int64_t rank = 0;
        for (int64_t j = 0; j < e.n && rank < shape[s][2]; j++)
            if (j % 5 != 0 && j % 5 != 2) assert_int_equal(e.pivot[rank++], j);
        assert_int_equal(e.rank, rank);
        check_form(&e);
        check_product(&e, type, a);
        echelon_release(&e);
        free(a);
    }
}

/* As MATLAB and Octave: rank 3. */
static void rref__magic_square(void **state)
{
    static const double magic[] = { 16, 5, 9, 4, 2, 11, 7, 14, 3, 10, 6, 15, 13, 8, 12, 1 };
    static const double want[] = { 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 1, 3, -3, 0 };
    kry_type type = type_of(state);
    echelon e = echelon_of(type, magic, 4, 4, 0);
    assert_int_equal(e.rank, 3);
    for (int i = 0; i < 16; i++) NEAR(e.r[i], want[i], 64 * eps_of(type), "%d", i);
    echelon_release(&e);
}

static void rref__zero_and_tolerance(void **state)
{
    kry_type type = type_of(state);
    double *a = calloc(50 * 40, sizeof *a);
    echelon e = echelon_of(type, a, 50, 40, 0);
    assert_int_equal(e.rank, 0);
    check_form(&e);
    echelon_release(&e);
    for (int i = 0; i < 40; i++) a[i * 50 + i] = i % 2 ? 1 : 0.125; /* those count as zero */
    e = echelon_of(type, a, 50, 40, 0.125);
    assert_int_equal(e.rank, 20);
    check_form(&e);
    echelon_release(&e);
    e = echelon_of(type, a, 50, 40, 0.12);
    assert_int_equal(e.rank, 40);
    check_form(&e);
    echelon_release(&e);
    free(a);
}

/* ---- inverse ---- */

/* max |A X - I| / (n max |A| max |X|) in units of the rounding. */
static long double inverse_error(kry_type type, const double *a, const double *x, int64_t n)
{
    long double worst = 0, size = largest(a, n * n) * largest(x, n * n);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++) {
            long double sum = i == j ? -1 : 0;
            for (int64_t k = 0; k < n; k++) sum += (long double)a[k * n + i] * x[j * n + k];
            worst = fmaxl(worst, fabsl(sum));
        }
    return worst / (size * (long double)n * eps_of(type));
}

static long double check_inverse(entry_of *entry, kry_type type, int64_t n,
                                 const kry_lu_params *params)
{
    double *a = make(entry, type, n, n);
    guarded A = guarded_create(type, n, n, 1, a), X = guarded_create(type, n, n, 2, NULL);
    OK(kry_vec_inverse(A.v, params, X.v));
    double *x = guarded_read(&X), *same = guarded_read(&A);
    assert_same_bits(same, a, n * n);
    free(same);
    OK(kry_vec_inverse(A.v, params, A.v));
    same = guarded_read(&A);
    assert_same_bits(same, x, n * n);
    long double error = inverse_error(type, a, x, n);
    guarded_release(&A), guarded_release(&X);
    free(a), free(x), free(same);
    return error;
}

static void inverse__any_size(void **state)
{
    static const int64_t n[] = { 1, 2, 3, 31, 32, 33, 64, 65, 100, 131 };
    kry_type type = type_of(state);
    for (size_t s = 0; s < COUNT(n); s++) {
        long double error = check_inverse(uniform, type, n[s], NULL);
        if (!(error <= 10)) fail_msg("n = %lld: %Lg n eps", (long long)n[s], error);
        error = check_inverse(graded, type, n[s], NULL);
        if (!(error <= 10)) fail_msg("graded, n = %lld: %Lg n eps", (long long)n[s], error);
    }
    assert_true(check_inverse(hilbert, type, type == KRY_F32 ? 5 : 10, NULL) <= 10);
}

static void inverse__singular(void **state)
{
    enum { N = 70 };
    kry_type type = type_of(state);
    static const int column[] = { 0, 32, 69 };
    for (size_t c = 0; c < COUNT(column); c++) {
        double *a = make(uniform, type, N, N);
        char text[40];
        for (int i = 0; i < N; i++) a[column[c] * N + i] = 0;
        guarded A = guarded_create(type, N, N, 0, a), X = guarded_create(type, N, N, 0, a);
        snprintf(text, sizeof text, "column %d is 0", column[c]);
        REFUSES(kry_vec_inverse(A.v, NULL, X.v), KRY_ERR_SINGULAR, text);
        REFUSES(kry_vec_inverse(A.v, NULL, A.v), KRY_ERR_SINGULAR, text);
        double *same = guarded_read(&A), *x = guarded_read(&X);
        assert_same_bits(same, a, N * N);
        assert_same_bits(x, a, N * N);
        guarded_release(&A), guarded_release(&X);
        free(a), free(same), free(x);
    }
    double near[] = { 1, 1, 1, 1 + 1e-5 };
    guarded A = guarded_create(type, 2, 2, 0, near);
    REFUSES(kry_vec_inverse(A.v, KRY_LU(.tolerance = 1e-3), A.v), KRY_ERR_SINGULAR, "column 1 is");
    OK(kry_vec_inverse(A.v, NULL, A.v));
    guarded_release(&A);
}

/* ---- refusals ---- */

static void gauss_jordan__refusals(void **state)
{
    kry_type type = type_of(state);
    double *a = make(uniform, type, 6, 6);
    int64_t rank = 7;
    a[2 * 6 + 4] = (double)NAN;
    guarded A = guarded_create(type, 6, 6, 0, a), W = guarded_create(type, 6, 4, 0, a);
    kry_vec *X, *part, *corner;
    OK(kry_vec_create(device(), type, 6, 6, &X));
    REFUSES(kry_vec_rref(NULL, 0, NULL, &rank), KRY_ERR_ARGUMENT, "NULL");
    assert_int_equal(rank, 0);
    REFUSES(kry_vec_rref(A.v, 0, NULL, NULL), KRY_ERR_ARGUMENT, "entry (4, 2) is nan");
    REFUSES(kry_vec_rref(X, -1, NULL, NULL), KRY_ERR_ARGUMENT, "tolerance of -1");
    REFUSES(kry_vec_rref(X, INFINITY, NULL, NULL), KRY_ERR_ARGUMENT, "tolerance of inf");
    REFUSES(kry_vec_inverse(NULL, NULL, X), KRY_ERR_ARGUMENT, "A is NULL");
    REFUSES(kry_vec_inverse(X, NULL, NULL), KRY_ERR_ARGUMENT, "inverse is NULL");
    REFUSES(kry_vec_inverse(W.v, NULL, X), KRY_ERR_SHAPE, "6-by-4");
    REFUSES(kry_vec_inverse(X, NULL, W.v), KRY_ERR_SHAPE, "inverse 6-by-4");
    REFUSES(kry_vec_inverse(A.v, NULL, X), KRY_ERR_ARGUMENT, "entry (4, 2) is nan");
    REFUSES(kry_vec_inverse(X, KRY_LU(.tolerance = 2), X), KRY_ERR_ARGUMENT, "tolerance of 2");
    OK(kry_vec_block(X, 0, 1, 0, 1, &corner));
    OK(kry_vec_wrap(device(), type, 1, 1, kry_vec_buffer(X, NULL), 0, &part));
    REFUSES(kry_vec_inverse(corner, NULL, part), KRY_ERR_SINGULAR, "column 0 is 0");
    kry_vec_release(&corner);
    kry_vec_release(&part);
    if (kry_device_get_info(device())->fp64) {
        OK(kry_vec_create(device(), type == KRY_F32 ? KRY_F64 : KRY_F32, 6, 6, &part));
        REFUSES(kry_vec_inverse(X, NULL, part), KRY_ERR_TYPE, "single");
        kry_vec_release(&part);
    }
    kry_vec_release(&X);
    guarded_release(&A), guarded_release(&W);
    free(a);
}

static void gauss_jordan__not_on_a_team(void **state)
{
    (void)state;
    kry_device *team = open_pieces(2);
    kry_vec *A;
    if (!team) SKIP("no device that can be cut in two");
    OK(kry_vec_create(team, KRY_F32, 6, 6, &A));
    REFUSES(kry_vec_rref(A, 0, NULL, NULL), KRY_ERR_UNSUPPORTED, "several devices");
    REFUSES(kry_vec_inverse(A, NULL, A), KRY_ERR_UNSUPPORTED, "several devices");
    kry_vec_release(&A);
    kry_device_release(&team);
}

static void gauss_jordan__other_profiles(void **state)
{
    static const char *const words[] = { "gpu-kernels", "gpu-kernels group=8", "no-fp64" };
    (void)state;
    for (size_t w = 0; w < COUNT(words); w++) {
        use_profile(words[w]);
        for (int d = 0; d < (w == 0 && kry_device_get_info(device())->fp64 ? 2 : 1); d++) {
            void *of = d ? &type_double : &type_single;
            rref__columns_passed_over(&of);
            assert_true(check_inverse(uniform, d ? KRY_F64 : KRY_F32, 131, NULL) <= 10);
            if (w == 0) rref__magic_square(&of);
        }
    }
    use_profile("");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(rref__full_rank),
        BOTH(rref__columns_passed_over),
        BOTH(rref__magic_square),
        BOTH(rref__zero_and_tolerance),
        BOTH(inverse__any_size),
        BOTH(inverse__singular),
        BOTH(gauss_jordan__refusals),
        cmocka_unit_test(gauss_jordan__not_on_a_team),
        cmocka_unit_test(gauss_jordan__other_profiles),
    };
    return cmocka_run_group_tests(tests, keep_profile, restore_profile);
}
