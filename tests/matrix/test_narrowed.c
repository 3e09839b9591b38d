/*
 * test_narrowed.c - stored matrices in double with a twin for vectors in single, and cycles of algebraic multigrid whose
 * levels are in single: products against plain loops, iterations against those of a cycle in double.
 */
#include "matrix/matrix.h"
#include "patterns.h"
#include <kry/multigrid.h>

/* ---- the twin ---------------------------------------------------------------------------------- */

/* y := N x and, in double, the rounded entries of A with what rounding took from their rows. */
static void expect_products(const matrix *A, const kry_op *N)
{
    double *x = random_array(KRY_F32, A->cols), *zero = calloc((size_t)A->rows, sizeof *zero);
    kry_vec *in = vec_of(KRY_F32, x, A->cols, 1), *out = vec_of(KRY_F32, zero, A->rows, 1);

    OK(kry_op_apply(N, 1, in, 0, out));
    double *y = numbers_of(out);
    for (int64_t i = 0; i < A->rows; i++) {
        double sum = 0, size = 0;
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++) {
            sum += (double)(float)A->val[e] * x[A->col[e]] +
                   (A->val[e] - (double)(float)A->val[e]) * x[i];
            size += fabs(A->val[e]);
        }
        NEAR(y[i], sum, 1.2e-7 * size * (double)(A->row_ptr[i + 1] - A->row_ptr[i] + 2), "row %lld",
             (long long)i);
    }
    free(y), free(zero), free(x);
    kry_vec_release(&in), kry_vec_release(&out);
}

static void expect_diagonal(const matrix *A, const kry_op *N)
{
    double *zero = calloc((size_t)A->rows, sizeof *zero);
    kry_vec *d = vec_of(KRY_F32, zero, A->rows, 1);

    OK(kry_op_diagonal(N, d));
    double *y = numbers_of(d);
    for (int64_t i = 0; i < A->rows; i++) {
        double entry = 0;
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++)
            if (A->col[e] == i) entry = A->val[e];
        NEAR(y[i], entry, 1e-6 * fabs(entry), "row %lld", (long long)i);
    }
    free(y), free(zero);
    kry_vec_release(&d);
}

static cl_mem rest_of(const matrix *A)
{
    float *rest = calloc((size_t)A->rows, sizeof *rest);
    cl_mem buffer;

    for (int64_t i = 0; i < A->rows; i++) {
        double sum = 0;
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++)
            sum += A->val[e] - (double)(float)A->val[e];
        rest[i] = (float)sum;
    }
    OK(kryi_buffer_upload(device(), (size_t)A->rows * sizeof *rest, rest, &buffer));
    free(rest);
    return buffer;
}

/* From singles, whose buffer is shared, to numbers that are none, and back. */
static void narrowed__multiplies_as_the_rounded_rows(void **state)
{
    static const kry_format formats[] = { KRY_FORMAT_CSR, KRY_FORMAT_SELL,   KRY_FORMAT_ELL,
                                          KRY_FORMAT_DIA, KRY_FORMAT_SYMDIA, KRY_FORMAT_JDS,
                                          KRY_FORMAT_HYB, KRY_FORMAT_COO };
    (void)state;
    if (acc_type() == KRY_F32) SKIP("no double");
    for (size_t f = 0; f < COUNT(formats); f++) {
        matrix A = matrix_where(KRY_F64, 900, 900, poisson);
        kry_op *op = csr_of(&A, KRY_F64,
                            KRY_MATRIX(.format = formats[f], .values = KRY_VALUES_COMPACT)),
               *N;
        assert_true(kryi_matrix_narrows(op));
        OK(kryi_matrix_narrowed(op, NULL, &N));
        assert_true(kryi_matrix_narrowed_bytes(N) == 0);
        expect_products(&A, N);
        expect_diagonal(&A, N);
        for (int exact = 0; exact < 2; exact++) {
            for (int64_t k = 0; k < A.nnz; k++) A.val[k] = exact ? A.val[k] * 3 : A.val[k] / 3;
            for (int64_t k = 0; exact && k < A.nnz; k++) A.val[k] = round(A.val[k]);
            cl_mem rest = rest_of(&A);
            OK(kry_op_update(op, A.val));
            OK(kryi_matrix_narrowed_again(N, rest));
            kryi_buffer_release(device(), &rest);
            expect_products(&A, N);
            expect_diagonal(&A, N);
        }
        kry_op_release(&N);
        kry_op_release(&op);
        matrix_release(&A);
    }
}

/* ---- the cycle ----------------------------------------------------------------------------------- */

/* A problem of the program's, its numbers times `factor`. */
static kry_op *problem_times(const char *spec, double factor, kry_form form)
{
    kry_problem *p = NULL;
    kry_op *op;

    OK(kry_problem_create(spec, 1, &p));
    double *val = calloc((size_t)p->row_ptr[p->n], sizeof *val);
    for (int64_t e = 0; e < p->row_ptr[p->n]; e++) val[e] = factor * p->val[e];
    OK(kry_csr_create(device(), KRY_F64, p->n, p->n, p->row_ptr, p->col, val,
                      KRY_MATRIX(.traits = p->traits, .form = form), &op));
    free(val);
    kry_problem_release(&p);
    return op;
}

static bool is_in_single(const kry_op *M)
{
    kry_op_info info;
    kry_op_describe(M, &info);
    return strstr(info.variant, "in single") != NULL;
}

/* To 1e-8, for a random b times `size`; x := the solution by size, if it is asked for. */
static int64_t iterations(const kry_op *A, kry_cycle_values values, double size, double **x)
{
    const int64_t n = A->shape.rows;
    kry_op *M, *solver;
    kry_result result;
    double *numbers = random_array(KRY_F64, n);

    for (int64_t i = 0; i < n; i++)
        numbers[i] = size * to_type(KRY_F32, sin((double)(i * i % 1009)));
    kry_vec *b = vec_of(KRY_F64, numbers, n, 1), *solution;
    OK(kry_vec_create(device(), KRY_F64, n, 1, &solution));
    OK(kry_amg_create(A, KRY_AMG(.cycle.values = values), &M));
    assert_int_equal(is_in_single(M), values != KRY_CYCLE_VALUES_DOUBLE);
    OK(kry_pcg_create(A, KRY_PCG(.precond = M, .stop = { .rtol = 1e-8 }), &solver));
    OK(kry_solve(solver, b, solution, &result));
    assert_int_equal(result.reason, KRY_CONVERGED);
    if (x) *x = numbers_of(solution);
    for (int64_t i = 0; x && i < n; i++) (*x)[i] /= size;
    kry_op_release(&solver), kry_op_release(&M);
    kry_vec_release(&solution), kry_vec_release(&b);
    free(numbers);
    return result.iterations;
}

static void cycle__as_many_iterations_as_in_double(void **state)
{
    static const struct {
        const char *spec;
        double factor; /* 3: all numbers are singles; 1 / 3: none */
    } tries[] = { { "poisson2d:61", 3 },
                  { "poisson2d:61", 1.0 / 3 },
                  { "poisson3d:16", 1e-9 / 3 } };
    (void)state;
    if (acc_type() == KRY_F32) SKIP("no double");
    for (size_t k = 0; k < COUNT(tries); k++) {
        kry_op *A = problem_times(tries[k].spec, tries[k].factor, KRY_ASSEMBLED);
        const int64_t two = iterations(A, KRY_CYCLE_VALUES_DOUBLE, 1, NULL);
        const int64_t one = iterations(A, KRY_CYCLE_VALUES_AUTO, 1, NULL);
        print_message("# %s: %lld in double, %lld in single\n", tries[k].spec, (long long)two,
                      (long long)one);
        assert_true(llabs(one - two) <= 1);
        kry_op_release(&A);
    }
}

/* Also far beyond what single holds. */
static void cycle__takes_b_of_any_size(void **state)
{
    static const double sizes[] = { 1e-60, 1e60 };
    (void)state;
    if (acc_type() == KRY_F32) SKIP("no double");
    kry_op *A = problem_times("poisson2d:50", 1, KRY_ASSEMBLED);
    double *x, *y;
    const int64_t count = iterations(A, KRY_CYCLE_VALUES_AUTO, 1, &x);
    for (size_t k = 0; k < COUNT(sizes); k++) {
        assert_int_equal(iterations(A, KRY_CYCLE_VALUES_AUTO, sizes[k], &y), count);
        double most = 0;
        for (int64_t i = 0; i < A->shape.rows; i++) most = fmax(most, fabs(x[i]));
        for (int64_t i = 0; i < A->shape.rows; i++)
            NEAR(y[i], x[i], 1e-5 * most, "row %lld", (long long)i);
        free(y);
    }
    free(x);
    kry_op_release(&A);
}

/* auto leaves alone what single does not suit; asked for, it is done or refused. */
static void cycle__only_where_it_does_as_well(void **state)
{
    kry_op *A, *M;
    (void)state;
    if (acc_type() == KRY_F32) SKIP("no double");
    A = problem_times("twophase2d:32:1000000:bubbles", 1, KRY_ASSEMBLED);
    OK(kry_amg_create(A, NULL, &M));
    assert_false(is_in_single(M));
    kry_op_release(&M);
    OK(kry_amg_create(A, KRY_AMG(.cycle.values = KRY_CYCLE_VALUES_SINGLE), &M));
    assert_true(is_in_single(M));
    kry_op_release(&M), kry_op_release(&A);
    A = problem_times("poisson2d:40", 1e-30, KRY_ASSEMBLED);
    OK(kry_amg_create(A, NULL, &M));
    assert_false(is_in_single(M));
    kry_op_release(&M);
    REFUSES(kry_amg_create(A, KRY_AMG(.cycle.values = KRY_CYCLE_VALUES_SINGLE), &M),
            KRY_ERR_UNSUPPORTED, "values = single is for");
    kry_op_release(&A);
    A = problem_times("poisson2d:40", 1, KRY_FLUX);
    OK(kry_amg_create(A, NULL, &M));
    assert_false(is_in_single(M));
    kry_op_release(&M), kry_op_release(&A);
}

/* After new numbers of A, an update is a new M; beyond the range of single it is refused, and M stays. */
static void cycle__follows_new_numbers(void **state)
{
    (void)state;
    if (acc_type() == KRY_F32) SKIP("no double");
    kry_problem *p = NULL;
    kry_op *M, *new, *A = problem_times("poisson2d:41", 1, KRY_ASSEMBLED);
    OK(kry_problem_create("poisson2d:41", 1, &p));
    const int64_t n = p->n, nnz = p->row_ptr[n];
    double *val = calloc((size_t)nnz, sizeof *val), *r = random_array(KRY_F64, n);
    kry_vec *in = vec_of(KRY_F64, r, n, 1), *out = vec_of(KRY_F64, r, n, 1);

    OK(kry_amg_create(A, NULL, &M));
    for (int64_t e = 0; e < nnz; e++) val[e] = p->val[e] / 7;
    OK(kry_op_update(A, val));
    OK(kry_op_update(M, NULL));
    OK(kry_amg_create(A, NULL, &new));
    OK(kry_op_apply(M, 1, in, 0, out));
    double *updated = numbers_of(out);
    OK(kry_op_apply(new, 1, in, 0, out));
    double *fresh = numbers_of(out);
    for (int64_t i = 0; i < n; i++) assert_true(updated[i] == fresh[i]);
    for (int64_t e = 0; e < nnz; e++) val[e] = p->val[e] * 1e-30;
    OK(kry_op_update(A, val));
    REFUSES(kry_op_update(M, NULL), KRY_ERR_ARGUMENT, "make the preconditioner anew");
    free(fresh), free(updated), free(r), free(val);
    kry_vec_release(&out), kry_vec_release(&in);
    kry_op_release(&new), kry_op_release(&M), kry_op_release(&A);
    kry_problem_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(narrowed__multiplies_as_the_rounded_rows),
        cmocka_unit_test(cycle__as_many_iterations_as_in_double),
        cmocka_unit_test(cycle__takes_b_of_any_size),
        cmocka_unit_test(cycle__only_where_it_does_as_well),
        cmocka_unit_test(cycle__follows_new_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
