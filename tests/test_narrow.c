/* test_narrow.c - operators in single precision behind vectors of doubles. */
#include "as_matrix.h"
#include "op_suite.h"

static int64_t some(int64_t i, int64_t n, int64_t m) { return (void)n, (void)m, i % 7; }

/* y := alpha M x + beta y0 for an x of any size, from what a row in single may be off. */
static void check_product(const kry_op *op, const matrix *M, double size, double alpha, double beta,
                          int64_t offset)
{
    double *x = random_array(KRY_F32, M->cols), *y0 = random_array(KRY_F64, M->rows);
    for (int64_t i = 0; i < M->cols; i++) x[i] *= size * (1 + 0.5 * (double)random_number(KRY_F64));
    for (int64_t i = 0; i < M->rows; i++) y0[i] *= size;
    guarded X = guarded_create(KRY_F64, M->cols, 1, offset, x);
    guarded Y = guarded_create(KRY_F64, M->rows, 1, 2 * offset, beta == 0 ? NULL : y0);

    OK(kry_op_apply(op, alpha, X.v, beta, Y.v));
    double *y = guarded_read(&Y);
    for (int64_t i = 0; i < M->rows; i++) {
        long double m, sum = row_times(M, i, x, NULL, &m);
        NEAR(y[i], alpha * sum + (beta == 0 ? 0 : (long double)beta * y0[i]),
             row_bound(M, i, KRY_F32, 1) * (fabsl(alpha * m) + fabsl(beta * size)),
             "row %lld, x of size %g", (long long)i, size);
    }
    free(y), free(y0), free(x);
    guarded_release(&X), guarded_release(&Y);
}

static void narrow__multiplies_as_in_single(void **state)
{
    static const int64_t sizes[] = { 0, 1, 7, 127, 129, 1025, 20011 };
    /* One after the other, so that the power of two goes up and down, and stays. */
    static const double of[] = { 1, 1e-3, 1e200, 3e199, 1e-200, 1e-300, 1e300, 1 };
    (void)state;
    if (!kry_device_get_info(device())->fp64) SKIP("no double on this device");
    for (size_t s = 0; s < COUNT(sizes); s++) {
        if (too_large(sizes[s])) continue;
        matrix M = matrix_create(KRY_F32, sizes[s], sizes[s], some);
        kry_op *single = csr_of(&M, KRY_F32, NULL), *wide = NULL;
        kry_op_info info;
        OK(kry_precond_narrow(single, &wide));
        kry_op_release(&single); /* it keeps what it was built from */
        kry_op_describe(wide, &info);
        assert_string_equal(info.kind, "narrow");
        assert_true(strlen(info.variant) > 0);
        for (size_t i = 0; i < COUNT(of); i++) {
            check_product(wide, &M, of[i], 1, 0, 0);
            check_product(wide, &M, of[i], -0.375, i % 2 ? 2.5 : 0, i % 3);
        }
        kry_op_release(&wide);
        matrix_release(&M);
    }
}

/* Zero gives zero, and what is not finite is not hidden. */
static void narrow__zero_and_not_finite(void **state)
{
    const double bad[] = { (double)NAN, (double)INFINITY };
    double x[] = { 0, 0, 0 };
    (void)state;
    if (!kry_device_get_info(device())->fp64) SKIP("no double on this device");
    matrix A = random_spd(KRY_F32, 3);
    kry_op *csr = csr_of(&A, KRY_F32, NULL), *M = NULL, *wide = NULL;
    OK(kry_block_jacobi_create(csr, KRY_BLOCK_JACOBI(.rows = 3), &M));
    OK(kry_precond_narrow(M, &wide));
    for (int b = -1; b < (int)COUNT(bad); b++) {
        x[1] = b < 0 ? 0 : bad[b];
        guarded X = guarded_create(KRY_F64, 3, 1, 0, x), Y = guarded_create(KRY_F64, 3, 1, 0, NULL);
        OK(kry_op_apply(wide, 1, X.v, 0, Y.v));
        double *y = guarded_read(&Y);
        if (b < 0)
            for (int i = 0; i < 3; i++) assert_true(y[i] == 0);
        else
            assert_false(isfinite(y[1]));
        free(y);
        guarded_release(&X), guarded_release(&Y);
    }
    kry_op_release(&wide), kry_op_release(&M), kry_op_release(&csr);
    matrix_release(&A);
}

/* The diagonal of Jacobi in single, its products in double; op_suite has what an operator owes. */
/* M's numbers as the device has them: its division in single may be off by 2.5 units. */
static void take_numbers(const kry_op *jacobi, matrix *M)
{
    kry_vec *one, *d;

    OK(kry_vec_create(device(), KRY_F32, M->rows, 1, &one));
    OK(kry_vec_create(device(), KRY_F32, M->rows, 1, &d));
    OK(kry_vec_fill(one, 1));
    OK(kry_op_apply(jacobi, 1, one, 0, d));
    double *v = numbers_of(d);
    for (int64_t i = 0; i < M->rows; i++) M->val[i] = v[i];
    free(v);
    kry_vec_release(&d);
    kry_vec_release(&one);
}

static void narrow__diagonal(void **state)
{
    static const int64_t sizes[] = { 0, 1, 8, 129, 4099 };
    (void)state;
    if (!kry_device_get_info(device())->fp64) SKIP("no double on this device");
    for (size_t s = 0; s < COUNT(sizes); s++) {
        if (too_large(sizes[s])) continue;
        matrix A = random_spd(KRY_F32, sizes[s]), M = { .rows = A.rows, .cols = A.rows };
        kry_op *csr = csr_of(&A, KRY_F32, NULL), *jacobi = NULL, *wide = NULL;
        M.nnz = M.rows;
        M.row_ptr = calloc((size_t)M.rows + 1, sizeof *M.row_ptr);
        M.col = calloc((size_t)M.rows + 1, sizeof *M.col);
        M.val = calloc((size_t)M.rows + 1, sizeof *M.val);
        for (int64_t i = 0; i < M.rows; i++) {
            M.row_ptr[i + 1] = i + 1, M.col[i] = (int32_t)i;
        }
        OK(kry_jacobi_create(csr, &jacobi));
        take_numbers(jacobi, &M);
        OK(kry_precond_narrow(jacobi, &wide));
        op_suite(wide, &M);
        if (M.rows) check_dots(wide, "diagonal");
        kry_op_release(&wide), kry_op_release(&jacobi), kry_op_release(&csr);
        matrix_release(&A), matrix_release(&M);
    }
}

/* Conjugate gradients with preconditioners of all kinds: counts as with those in double. */
static void narrow__costs_no_iterations(void **state)
{
    static const char *const words[] = { "jacobi",  "block-jacobi:4", "block-ic:66",
                                         "ssor-ai", "chebyshev:3",    "neumann:2" };
    (void)state;
    if (!kry_device_get_info(device())->fp64) SKIP("no double on this device");
    matrix A = grid_matrix(&grids[5], NULL);
    kry_op *csr = csr_of(&A, KRY_F64, NULL), *in_single = csr_of(&A, KRY_F32, NULL);
    double *b = random_array(KRY_F64, A.rows), huge = 1e100;
    for (int64_t i = 0; i < A.rows; i++) b[i] *= huge;
    for (size_t w = 0; w < COUNT(words); w++) {
        kry_op *M = NULL, *M32 = NULL, *wide = NULL;
        kry_probe probe;
        int64_t count[2];
        OK(kry_precond_create(csr, words[w], &M));
        OK(kry_precond_create(in_single, words[w], &M32));
        OK(kry_precond_narrow(M32, &wide));
        assert_int_equal(wide->shape.traits, M32->shape.traits);
        OK(kry_op_probe(wide, 7, &probe));
        assert_int_equal(probe.not_positive, 0);
        assert_true(probe.asymmetry <= 1e-5);
        check_dots(wide, words[w]);
        for (int i = 0; i < 2; i++) {
            kry_op *solver = NULL;
            kry_result result;
            guarded B = guarded_create(KRY_F64, A.rows, 1, 0, b);
            kry_vec *x = NULL;
            OK(kry_vec_create(device(), KRY_F64, A.rows, 1, &x));
            OK(kry_pcg_create(csr, KRY_PCG(.precond = i ? wide : M, .stop = { .rtol = 1e-10 }),
                              &solver));
            OK(kry_solve(solver, B.v, x, &result));
            count[i] = result.iterations;
            kry_op_release(&solver);
            kry_vec_release(&x);
            guarded_release(&B);
        }
        print_message("# %s: %d iterations, %d in single\n", words[w], (int)count[0],
                      (int)count[1]);
        assert_in_range(count[1], count[0] - 2, count[0] + 2);
        kry_op_release(&wide), kry_op_release(&M32), kry_op_release(&M);
    }
    free(b);
    kry_op_release(&csr), kry_op_release(&in_single);
    matrix_release(&A);
}

/* A grid's diagonal is one number: then conjugate gradients leave the preconditioner out. */
static void narrow__scalar_is_passed_on(void **state)
{
    (void)state;
    if (!kry_device_get_info(device())->fp64) SKIP("no double on this device");
    kry_op *grid = NULL, *M = NULL, *wide = NULL;
    OK(kry_stencil_create(device(), KRY_F32, KRY_STENCIL(.size = { 9, 8 }), &grid));
    OK(kry_jacobi_create(grid, &M));
    OK(kry_precond_narrow(M, &wide));
    assert_true(wide->fused->as_scalar(wide->self) == 0.25);
    kry_op_release(&wide), kry_op_release(&M), kry_op_release(&grid);
}

static void narrow_update__goes_on_to_m(void **state)
{
    (void)state;
    if (!kry_device_get_info(device())->fp64) SKIP("no double on this device");
    matrix A = random_spd(KRY_F32, 150);
    kry_op *csr = csr_of(&A, KRY_F32, NULL), *jacobi = NULL, *of_csr = NULL, *wide = NULL;
    OK(kry_jacobi_create(csr, &jacobi));
    OK(kry_precond_narrow(jacobi, &wide));
    OK(kry_precond_narrow(csr, &of_csr));
    for (int64_t e = 0; e < A.nnz; e++) A.val[e] *= 2;
    void *val = in_type(KRY_F32, A.val, A.nnz);
    OK(kry_op_update(of_csr, val)); /* values, to the matrix */
    check_product(of_csr, &A, 1, 1, 0, 0);
    OK(kry_op_update(wide, NULL)); /* none, to what was made from it */
    REFUSES(kry_op_update(wide, val), KRY_ERR_ARGUMENT, "'jacobi'");
    guarded X = guarded_create(KRY_F64, 150, 1, 0, NULL),
            Y = guarded_create(KRY_F64, 150, 1, 0, NULL);
    OK(kry_vec_fill(X.v, 1));
    OK(kry_op_apply(wide, 1, X.v, 0, Y.v));
    double *y = guarded_read(&Y);
    for (int64_t i = 0; i < 150; i++)
        NEAR(y[i], 1 / plain_diagonal(&A, i), 4 * eps_of(KRY_F32) * fabs(y[i]), "row %lld",
             (long long)i); /* division in single may be off by 2.5 units */
    free(y), free(val);
    guarded_release(&X), guarded_release(&Y);
    kry_op_release(&wide), kry_op_release(&of_csr), kry_op_release(&jacobi), kry_op_release(&csr);
    matrix_release(&A);
}

/* What M refuses is refused; and its traits are those of the whole. */
static kry_status fails(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    (void)self, (void)alpha, (void)x, (void)beta, (void)y;
    return kry_fail(KRY_ERR_DEVICE, "not today");
}

static void narrow__failure_of_m(void **state)
{
    static const kry_op_table table = { .struct_size = sizeof table,
                                        .kind = "custom",
                                        .apply = fails };
    (void)state;
    if (!kry_device_get_info(device())->fp64) SKIP("no double on this device");
    kry_op *M = NULL, *wide = NULL;
    guarded X = guarded_create(KRY_F64, 5, 1, 0, NULL), Y = guarded_create(KRY_F64, 5, 1, 0, NULL);
    OK(kry_vec_fill(X.v, 1));
    OK(kry_op_create(device(), &table, NULL, &(kry_op_shape){ 5, 5, KRY_F32, KRY_VARYING }, &M));
    OK(kry_precond_narrow(M, &wide));
    assert_int_equal(wide->shape.traits, KRY_VARYING);
    REFUSES(kry_op_apply(wide, 1, X.v, 0, Y.v), KRY_ERR_DEVICE, "not today");
    guarded_release(&X), guarded_release(&Y);
    kry_op_release(&wide), kry_op_release(&M);
}

static void narrow_create__refusals(void **state)
{
    (void)state;
    kry_type type = acc_type();
    matrix W = matrix_create(KRY_F32, 3, 4, some), A = random_spd(type, 5);
    kry_op *wide = csr_of(&W, KRY_F32, NULL), *square = csr_of(&A, type, NULL), *M = square;
    REFUSES(kry_precond_narrow(NULL, &M), KRY_ERR_ARGUMENT, "NULL");
    assert_null(M);
    REFUSES(kry_precond_narrow(wide, &M), KRY_ERR_SHAPE, "3-by-4");
    if (type == KRY_F64)
        REFUSES(kry_precond_narrow(square, &M), KRY_ERR_TYPE, "make M in single");
    else
        REFUSES(kry_precond_narrow(square, &M), KRY_ERR_UNSUPPORTED, "no double precision");
    assert_null(M);
    kry_op_release(&wide), kry_op_release(&square);
    matrix_release(&W), matrix_release(&A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(narrow__multiplies_as_in_single),
        cmocka_unit_test(narrow__zero_and_not_finite),
        cmocka_unit_test(narrow__diagonal),
        cmocka_unit_test(narrow__costs_no_iterations),
        cmocka_unit_test(narrow__scalar_is_passed_on),
        cmocka_unit_test(narrow_update__goes_on_to_m),
        cmocka_unit_test(narrow__failure_of_m),
        cmocka_unit_test(narrow_create__refusals),
    };
    return cmocka_run_group_tests_name("narrow", tests, NULL, close_device);
}
