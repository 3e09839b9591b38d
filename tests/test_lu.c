/*
 * test_lu.c - factors of dense matrices, what is solved with them, and what they tell, against plain
 * loops in long double and, where it is installed, LAPACK.
 */
#include "dense/lu.h"
#include "testing.h"

/* ---- matrices, column major ---- */

typedef double entry_of(kry_type type, int64_t i, int64_t j);

static double uniform(kry_type type, int64_t i, int64_t j)
{
    return (void)i, (void)j, random_number(type);
}
/* Rows and columns from 1 down to 1e-12 (single: 1e-4). */
static double graded(kry_type type, int64_t i, int64_t j)
{
    double rate = type == KRY_F32 ? -4 : -12;
    return to_type(type, random_number(type) * pow(10, rate * (double)((i + 2 * j) % 50) / 98));
}
static double hilbert(kry_type type, int64_t i, int64_t j)
{
    return to_type(type, 1.0 / (double)(i + j + 1));
}
/* Exchanges in every column, none of them trivial. */
static double rotated(kry_type type, int64_t i, int64_t j)
{
    return to_type(type, ((i * 7 + 3) % 101 == j % 101 ? 3 : 0) + 0.25 * random_number(type));
}
static double spd(kry_type type, int64_t i, int64_t j)
{
    return to_type(type, i == j ? 4 : 1.0 / (1.0 + (double)((i - j) * (i - j))));
}

static double *make(entry_of *entry, kry_type type, int64_t m, int64_t n)
{
    double *a = calloc((size_t)(m * n) + 1, sizeof *a);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++) a[j * m + i] = entry(type, i, j);
    return a;
}

static long double largest(const double *a, int64_t count)
{
    long double most = 0;
    for (int64_t i = 0; i < count; i++) most = fmaxl(most, fabsl((long double)a[i]));
    return most;
}

/* ---- factors ---- */

typedef struct factors {
    int64_t m, n, r;
    double *l, *u;
    int64_t *order;
} factors;

static factors factors_of(const kry_op *lu, kry_type type, int64_t m, int64_t n)
{
    factors f = { .m = m, .n = n, .r = m < n ? m : n };
    guarded L = guarded_create(type, m, f.r, 1, NULL), U = guarded_create(type, f.r, n, 2, NULL);
    f.order = calloc((size_t)m + 1, sizeof *f.order);
    OK(kry_lu_factors(lu, L.v, U.v, f.order));
    f.l = guarded_read(&L), f.u = guarded_read(&U);
    guarded_release(&L), guarded_release(&U);
    return f;
}

static void factors_release(factors *f) { free(f->l), free(f->u), free(f->order); }

/* max |P A - L U| / (n max |A|) in units of the rounding; the factors have the form they should. */
static long double backward_error(const factors *f, kry_type type, const double *a)
{
    long double worst = 0;
    bool *seen = calloc((size_t)f->m + 1, sizeof *seen);
    long double *row = calloc((size_t)f->n + 1, sizeof *row);

    for (int64_t i = 0; i < f->m; i++) {
        assert_in_range(f->order[i], 0, f->m - 1);
        assert_false(seen[f->order[i]]);
        seen[f->order[i]] = true;
        for (int64_t j = 0; j < f->n; j++) row[j] = a[j * f->m + f->order[i]];
        for (int64_t k = 0; k < f->r; k++) {
            long double l = f->l[k * f->m + i];
            if (k > i) assert_true(l == 0);
            if (k == i) assert_true(l == 1);
            if (l != 0)
                for (int64_t j = 0; j < f->n; j++) row[j] -= l * f->u[j * f->r + k];
            if (k < i) continue;
        }
        for (int64_t j = 0; j < f->n; j++) {
            if (i < f->r && j < i) assert_true(f->u[j * f->r + i] == 0);
            worst = fmaxl(worst, fabsl(row[j]));
        }
    }
    free(seen), free(row);
    long double size = largest(a, f->m * f->n);
    return size > 0 ? worst / ((long double)f->n * size * eps_of(type)) : worst;
}

static kry_op *lu_of(kry_type type, const double *a, int64_t m, int64_t n,
                     const kry_lu_params *params)
{
    guarded A = guarded_create(type, m, n, 3, a);
    kry_op *lu = NULL;
    OK(kry_lu_create(A.v, params, &lu));
    double *after = guarded_read(&A);
    assert_same_bits(after, a, m * n);
    free(after);
    guarded_release(&A);
    assert_non_null(lu);
    return lu;
}

static void check_factors(entry_of *entry, kry_type type, int64_t m, int64_t n, int block)
{
    double *a = make(entry, type, m, n);
    kry_op *lu = lu_of(type, a, m, n, KRY_LU(.block = block));
    factors f = factors_of(lu, type, m, n);
    long double error = backward_error(&f, type, a);
    if (!(error <= 10))
        fail_msg("%lld-by-%lld: backward error of %Lg n eps", (long long)m, (long long)n, error);
    assert_true(largest(f.l, m * f.r) == (m ? 1 : 0)); /* multipliers of partial pivoting */
    factors_release(&f);
    kry_op_release(&lu);
    free(a);
}

static const int64_t sizes[][2] = { { 1, 1 },    { 2, 2 },    { 31, 31 },   { 32, 32 },  { 33, 33 },
                                    { 64, 64 },  { 65, 65 },  { 127, 127 }, { 130, 130 }, { 1, 40 },
                                    { 40, 1 },   { 70, 31 },  { 31, 70 },   { 200, 65 },  { 65, 200 },
                                    { 600, 40 } };

static void lu__factors_of_any_shape(void **state)
{
    kry_type type = type_of(state);
    for (size_t s = 0; s < COUNT(sizes); s++) {
        check_factors(uniform, type, sizes[s][0], sizes[s][1], 32);
        check_factors(rotated, type, sizes[s][0], sizes[s][1], 64);
    }
    check_factors(uniform, type, 300, 300, 0);
    check_factors(uniform, type, 300, 290, 256);
}

static void lu__graded_and_hilbert(void **state)
{
    static const int64_t n[] = { 5, 33, 100, 161 };
    kry_type type = type_of(state);
    for (size_t s = 0; s < COUNT(n); s++) {
        check_factors(graded, type, n[s], n[s], 0);
        check_factors(hilbert, type, n[s], n[s], 32);
    }
}

/* The same bits again. */
static void lu__repeats(void **state)
{
    enum { N = 150 };
    kry_type type = type_of(state);
    double *a = make(uniform, type, N, N);
    kry_op *lu = lu_of(type, a, N, N, NULL), *again = lu_of(type, a, N, N, NULL);
    factors f = factors_of(lu, type, N, N), g = factors_of(again, type, N, N);
    assert_same_bits(f.l, g.l, N * N);
    assert_same_bits(f.u, g.u, N * N);
    factors_release(&f), factors_release(&g);
    kry_op_release(&lu), kry_op_release(&again);
    free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(lu__factors_of_any_shape),
        BOTH(lu__graded_and_hilbert),
        BOTH(lu__repeats),
    };
    return cmocka_run_group_tests(tests, keep_profile, restore_profile);
}
