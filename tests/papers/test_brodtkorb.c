/*
 * test_brodtkorb.c - what papers/brodtkorb compares with kry: products in one pass and in several,
 * factors with blocks of 2 x 2 numbers as pivots, against plain loops in long double.
 */
#include "block_pivots.h"
#include "dense.h"
#include "passes.h"

/* ---- products ---- */

static void check_product(kry_type type, int64_t slice, int64_t m, int64_t n, int64_t k)
{
    double *a = random_array(type, m * k), *b = random_array(type, k * n);
    guarded A = guarded_create(type, m, k, 1, a), B = guarded_create(type, k, n, 2, b),
            C = guarded_create(type, m, n, 3, NULL);
    OK(passes_product(slice, A.v, B.v, C.v));
    double *c = guarded_read(&C);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++) {
            long double sum = 0, size = 0;
            for (int64_t d = 0; d < k; d++) {
                long double v = (long double)a[d * m + i] * b[j * k + d];
                sum += v, size += fabsl(v);
            }
            NEAR(c[j * m + i], sum, (k + 6) * eps_of(type) * size, "(%lld, %lld) of %lld-by-%lld",
                 (long long)i, (long long)j, (long long)m, (long long)n);
        }
    free(c), free(b), free(a);
    guarded_release(&C), guarded_release(&B), guarded_release(&A);
}

static void passes__any_size(void **state)
{
    static const int64_t sizes[][3] = {
        { 1, 1, 1 }, { 65, 31, 63 }, { 31, 65, 193 }, { 130, 7, 64 }
    };
    kry_type type = type_of(state);
    for (size_t s = 0; s < COUNT(sizes); s++)
        for (int64_t slice = 0; slice <= 64; slice += 64)
            check_product(type, slice, sizes[s][0], sizes[s][1], sizes[s][2]);
}

/* ---- factors ---- */

static double rotated(kry_type type, int64_t i, int64_t j)
{
    return to_type(type, cos((double)(i * 7 + j * 3)) + (i == j));
}

/* The largest of |P A - L U|, in units of n max |A| eps. */
static long double backward_error(kry_type type, const double *a, const double *f,
                                  const int32_t *order, int64_t m, int64_t n)
{
    const int64_t r = m < n ? m : n;
    long double worst = 0;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            long double sum = 0;
            for (int64_t k = 0; k < r && k <= i && k <= j; k++)
                sum += (k == i ? 1 : (long double)f[k * m + i]) * f[j * m + k];
            worst = fmaxl(worst, fabsl(sum - a[j * m + order[i]]));
        }
    long double size = largest(a, m * n);
    return size > 0 ? worst / ((long double)n * size * eps_of(type)) : worst;
}

/* Every row once, and pairs together. */
static void check_order(const int32_t *order, int64_t m, int64_t together)
{
    char *seen = calloc((size_t)m + 1, 1);
    assert_non_null(seen);
    for (int64_t i = 0; i < m; i++) {
        assert_in_range(order[i], 0, m - 1);
        assert_false(seen[order[i]]++);
    }
    for (int64_t i = 0; i + 1 < together; i += 2) assert_int_equal(order[i] / 2, order[i + 1] / 2);
    free(seen);
}

static long double factor_error(kry_type type, const double *a, int64_t m, int64_t n, bool pairs)
{
    int32_t *order = calloc((size_t)m + 1, sizeof *order);
    kry_vec *A, *F;
    void *host = in_type(type, a, m * n), *out = calloc((size_t)(m * n) + 1, kry_type_size(type));
    double *f = calloc((size_t)(m * n) + 1, sizeof *f);
    OK(kry_vec_create(device(), type, m, n, &A));
    OK(kry_vec_create(device(), type, m, n, &F));
    OK(kry_vec_write(A, host));
    OK(block_pivots_factor(A, F, order));
    OK(kry_vec_read(F, out));
    for (int64_t i = 0; i < m * n; i++) f[i] = at(type, out, i);
    check_order(order, m, pairs ? m < n ? m : n : 0);
    long double error = backward_error(type, a, f, order, m, n);
    kry_vec_release(&F), kry_vec_release(&A);
    free(f), free(out), free(host), free(order);
    return error;
}

static long double error_of(entry_of *entry, kry_type type, int64_t m, int64_t n)
{
    double *a = make(entry, type, m, n);
    long double error = factor_error(type, a, m, n, entry == uniform);
    free(a);
    return error;
}

/* The rule works, for odd sizes too; errors are bounded, though not as tightly as with partial
 * pivoting. */
static void block_pivots__any_shape(void **state)
{
    static const int64_t shape[][2] = { { 1, 1 },   { 2, 2 },   { 33, 33 },  { 65, 65 },
                                        { 90, 40 }, { 41, 90 }, { 150, 150 } };
    kry_type type = type_of(state);
    long double sum = 0;
    for (size_t s = 0; s < COUNT(shape); s++) {
        long double error = error_of(uniform, type, shape[s][0], shape[s][1]);
        assert_true(error < 1000);
        sum += error;
    }
    print_message("# backward error in n eps: %.2Lg on average\n", sum / COUNT(shape));
    assert_true(error_of(rotated, type, 99, 99) < 1000);
    for (int64_t n = 1; n < 6; n++) assert_true(error_of(hilbert, type, n, n) < 100);
}

/* Where all blocks of two columns are singular, though the matrix is not. */
static void block_pivots__singular_blocks(void **state)
{
    enum { N = 6 };
    kry_type type = type_of(state);
    double a[N * N];
    for (int i = 0; i < N; i++) /* columns 0 and 1: [1 0; 1 0] and [0 1; 0 1] */
        for (int j = 0; j < N; j++)
            a[j * N + i] = j < 2 ? i / 2 == j : to_type(type, 1.0 / (1 + i * i + 3 * j));
    assert_true(factor_error(type, a, N, N, false) <= 10);
}

static void brodtkorb__gpu_kernels(void **state)
{
    (void)state;
    void *type = &type_single;
    use_profile("gpu-kernels");
    passes__any_size(&type);
    block_pivots__singular_blocks(&type);
    assert_true(error_of(uniform, KRY_F32, 65, 65) < 1000);
    use_profile("");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(passes__any_size),
        BOTH(block_pivots__any_shape),
        BOTH(block_pivots__singular_blocks),
        cmocka_unit_test(brodtkorb__gpu_kernels),
    };
    return cmocka_run_group_tests(tests, keep_profile, restore_profile);
}
