/* test_storage.c - preconditioners that keep their numbers in single or as halves. */
#include "as_matrix.h"

/* Column j of an operator, all of them: n by n. */
static double *columns_of(const kry_op *M)
{
    int64_t n = kry_op_get_shape(M)->rows;
    kry_type type = kry_op_get_shape(M)->type;
    double *all = calloc((size_t)(n * n), 8), *unit = calloc((size_t)n, 8);
    for (int64_t j = 0; j < n; j++) {
        unit[j] = 1;
        kry_vec *x = vec_of(type, unit, n, 1), *y = NULL;
        unit[j] = 0;
        OK(kry_vec_create(device(), type, n, 1, &y));
        OK(kry_op_apply(M, 1, x, 0, y));
        double *column = numbers_of(y);
        memcpy(all + j * n, column, (size_t)n * 8);
        free(column);
        kry_vec_release(&x), kry_vec_release(&y);
    }
    free(unit);
    return all;
}

static void check_spd(const kry_op *M, const char *why)
{
    kry_probe probe;
    OK(kry_op_probe(M, 3, &probe));
    if (!probe.symmetric || !probe.positive)
        fail_msg("%s: asymmetry %g, %d not positive", why, probe.asymmetry, probe.not_positive);
}

/* v as `storage` keeps it; of 16 bits: 11 of its fraction, or a multiple of 2^-24. */
static double rounded(kry_store storage, kry_type type, double v)
{
    int exponent;
    if (storage == KRY_STORE_SINGLE) return (float)v;
    if (storage == KRY_STORE_GIVEN) return to_type(type, v);
    frexp(v, &exponent);
    const int last = exponent - 11 < -24 ? -24 : exponent - 11;
    return ldexp(nearbyint(ldexp(v, -last)), last);
}

/* The factor that diagonals are divided by before they are rounded: a power of two near the largest, which halves take up to 2^15. */
static double scale_of(kry_store storage, kry_type type, double most)
{
    int exponent;
    if (storage == KRY_STORE_GIVEN || (storage == KRY_STORE_SINGLE && type == KRY_F32)) return 1;
    frexp(most, &exponent);
    return ldexp(1, storage == KRY_STORE_HALF ? exponent - 15 : exponent);
}

/* Tridiagonal blocks of ROWS, whose incomplete factors are the factors: L D L' with rounded numbers. */
static void check_rounded_factors(kry_type type, int rows)
{
    enum { N = 695 };
    static const kry_store storages[] = { KRY_STORE_GIVEN, KRY_STORE_SINGLE, KRY_STORE_HALF };
    int64_t ptr[N + 1] = { 0 };
    int32_t col[3 * N];
    double val[3 * N], d[N], l[N] = { 0 }, most = 0;
    matrix A = { .rows = N, .cols = N, .row_ptr = ptr, .col = col, .val = val };
    for (int i = 0; i < N; i++) {
        for (int j = i - 1; j <= i + 1; j++)
            if (j >= 0 && j < N)
                col[A.nnz] = j,
                val[A.nnz++] = j == i ? 1000 * (2.5 + i % 3) : -1000 - 125 * ((i + j) % 5);
        ptr[i + 1] = A.nnz;
        d[i] = 1000 * (2.5 + i % 3);
        if (i % rows) {
            double a = -1000 - 125 * ((2 * i - 1) % 5);
            l[i] = a / d[i - 1], d[i] -= l[i] * a;
        }
        most = fmax(most, 1 / d[i]);
    }
    kry_op *csr = csr_of(&A, type, KRY_MATRIX(.traits = KRY_POSITIVE));
    for (size_t s = 0; s < COUNT(storages); s++) {
        kry_store storage = storages[s];
        double scale = scale_of(storage, type, most), *r = random_array(type, N);
        long double z[N], size = 0;
        kry_op *M = NULL;
        OK(kry_block_ic_create(csr, KRY_BLOCK_IC(.rows = rows, .storage = storage), &M));
        guarded R = guarded_create(type, N, 1, 0, r), Z = guarded_create(type, N, 1, 1, NULL);
        OK(kry_op_apply(M, 1, R.v, 0, Z.v));
        double *got = guarded_read(&Z);
        for (int i = 0; i < N; i++)
            z[i] = r[i] - (i % rows ? rounded(storage, type, l[i]) * z[i - 1] : 0);
        for (int i = 0; i < N; i++) z[i] *= scale * rounded(storage, type, 1 / d[i] / scale);
        for (int i = N - 2; i >= 0; i--)
            if ((i + 1) % rows) z[i] -= rounded(storage, type, l[i + 1]) * z[i + 1];
        for (int i = 0; i < N; i++) size = fmaxl(size, fabsl(z[i]));
        for (int i = 0; i < N; i++)
            NEAR(got[i], z[i], 200 * eps_of(type) * size, "blocks of %d, row %d, storage %d", rows,
                 i, (int)storage);
        check_spd(M, "block-ic");
        free(got), free(r);
        guarded_release(&R), guarded_release(&Z);
        kry_op_release(&M);
    }
    kry_op_release(&csr);
}

/* Numbers of the matrix repeat after 15 rows: blocks of 75 are equal, but for the last one, those of 74 and of 37 are not. */
static void block_ic__solves_with_rounded_factors(void **state)
{
    static const int rows[] = { 37, 74, 75 };
    for (size_t k = 0; k < COUNT(rows); k++) check_rounded_factors(type_of(state), rows[k]);
}

/* Factors with column indices, and of nonsymmetric matrices: near those that are not rounded. */
static void block_factors__of_any_structure(void **state)
{
    static const char *const words[] = { "block-ic:17", "block-ilu:17", "ilu:rows" };
    kry_type type = type_of(state);
    matrix A = random_spd(type, 403);
    kry_op *csr = csr_of(&A, type, NULL);
    double *r = random_array(type, A.rows);
    guarded R = guarded_create(type, A.rows, 1, 0, r);
    for (size_t w = 0; w < COUNT(words); w++) {
        kry_op *M[2] = { NULL, NULL };
        double *z[2], apart = 0, size = 0;
        kry_op_info info[2];
        char word[32];
        snprintf(word, sizeof word, "%s@half", words[w]);
        OK(kry_precond_create(csr, words[w], &M[0]));
        OK(kry_precond_create(csr, word, &M[1]));
        for (int m = 0; m < 2; m++) {
            guarded Z = guarded_create(type, A.rows, 1, 0, NULL);
            OK(kry_op_apply(M[m], 1, R.v, 0, Z.v));
            z[m] = guarded_read(&Z);
            kry_op_describe(M[m], &info[m]);
            guarded_release(&Z);
        }
        for (int64_t i = 0; i < A.rows; i++)
            apart = fmax(apart, fabs(z[0][i] - z[1][i])), size = fmax(size, fabs(z[0][i]));
        assert_true(apart > 0 && apart <= 0.01 * size);
        free(z[0]), free(z[1]);
        assert_true(info[1].bytes_stored < info[0].bytes_stored);
        assert_non_null(strstr(info[1].variant, "half"));
        if (w == 0) check_spd(M[1], "any structure");
        kry_op_release(&M[0]), kry_op_release(&M[1]);
    }
    free(r);
    guarded_release(&R);
    kry_op_release(&csr);
    matrix_release(&A);
}

/* Counts stay, within what rounding to eleven bits may do. */
static void storage__costs_few_iterations(void **state)
{
    static const char *const words[] = { "block-ic", "block-ic:40" };
    kry_type type = type_of(state);
    for (int g = 0; g < 2; g++) { /* a Laplacian, and coefficients that vary: 5, 8 of grids.h */
        const grid *grid = &grids[g ? 8 : 5];
        double *k = grid_coefficients(grid, type);
        matrix A = grid_matrix(grid, k);
        kry_op *csr = csr_of(&A, type, KRY_MATRIX(.traits = KRY_POSITIVE));
        double *b = random_array(type, A.rows);
        for (size_t w = 0; w < COUNT(words); w++) {
            static const char *const behind[] = { "", "@single", "@half" };
            int count[3];
            for (int s = 0; s < 3; s++) {
                char options[80];
                kry_result result;
                snprintf(options, sizeof options, "precond=%s%s rtol=%s", words[w], behind[s],
                         type == KRY_F32 ? "1e-3" : "1e-8");
                count[s] = device_pcg(csr, b, options, &result);
            }
            print_message("# %s, %s: %d, %d, %d iterations\n", grid->name, words[w], count[0],
                          count[1], count[2]);
            assert_in_range(count[1], count[0] - 1, count[0] + 1);
            assert_true(count[2] <= count[0] + 1 + count[0] / 20);
        }
        free(b), free(k);
        kry_op_release(&csr);
        matrix_release(&A);
    }
}

static void storage_update__follows(void **state)
{
    static const char *const words[] = { "block-ilu:5@half", "block-ic:20@half" };
    kry_type type = type_of(state);
    matrix A = random_spd(type, 203);
    for (size_t w = 0; w < COUNT(words); w++) {
        kry_op *csr = csr_of(&A, type, NULL), *M = NULL, *anew = NULL;
        OK(kry_precond_create(csr, words[w], &M));
        for (int64_t e = 0; e < A.nnz; e++) A.val[e] *= 3;
        void *val = in_type(type, A.val, A.nnz);
        OK(kry_op_update(csr, val));
        OK(kry_op_update(M, NULL));
        OK(kry_precond_create(csr, words[w], &anew));
        double *got = columns_of(M), *want = columns_of(anew);
        assert_same_bits(got, want, A.rows * A.rows);
        free(got), free(want), free(val);
        kry_op_release(&anew), kry_op_release(&M), kry_op_release(&csr);
    }
    matrix_release(&A);
}

/* What halves cannot hold is refused, and single holds it. */
static void storage__range(void **state)
{
    static const int64_t ptr[] = { 0, 1, 2, 3, 4 };
    static const int32_t col[] = { 0, 1, 2, 3 };
    const double val[] = { 1e-6, 1, 1, 1e6 };
    kry_type type = type_of(state);
    kry_op *M = NULL;
    matrix A = { .rows = 4, .cols = 4, .nnz = 4 };
    A.row_ptr = (int64_t *)ptr, A.col = (int32_t *)col, A.val = (double *)val;
    kry_op *csr = csr_of(&A, type, KRY_MATRIX(.traits = KRY_POSITIVE));
    REFUSES(kry_precond_create(csr, "block-ic:4@half", &M), KRY_ERR_UNSUPPORTED, "too far apart");
    assert_null(M);
    OK(kry_precond_create(csr, "block-ic:4@single", &M));
    kry_op_release(&M);
    kry_op_release(&csr);
}

static void storage__refusals(void **state)
{
    kry_type type = type_of(state);
    matrix A = random_spd(type, 20);
    kry_op *csr = csr_of(&A, type, NULL), *M = csr;
    REFUSES(kry_precond_create(csr, "jacobi@half", &M), KRY_ERR_UNSUPPORTED, "block-ic");
    assert_null(M);
    REFUSES(kry_precond_create(csr, "block-ic@quarter", &M), KRY_ERR_PARSE, "single, half");
    REFUSES(kry_precond_create(csr, "block-ic@", &M), KRY_ERR_PARSE, "single, half");
    REFUSES(kry_precond_create(csr, "block-ic@half:4", &M), KRY_ERR_PARSE, "single, half");
    REFUSES(kry_precond_create(csr, "block-jacobi@half", &M), KRY_ERR_UNSUPPORTED, "block-jacobi");
    REFUSES(kry_precond_create(csr, "none@half", &M), KRY_ERR_UNSUPPORTED, "none");
    REFUSES(kry_block_ic_create(csr, KRY_BLOCK_IC(.storage = (kry_store)3), &M), KRY_ERR_ARGUMENT,
            "storage = 3 is none of given, single, half");
    OK(kry_precond_create(csr, "jacobi@given", &M));
    kry_op_release(&M);
    kry_op_release(&csr);
    matrix_release(&A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(block_ic__solves_with_rounded_factors),
        BOTH(block_factors__of_any_structure),
        BOTH(storage__costs_few_iterations),
        BOTH(storage_update__follows),
        BOTH(storage__range),
        BOTH(storage__refusals),
    };
    return cmocka_run_group_tests_name("storage", tests, NULL, close_device);
}
