/*
 * test_narrowed.c - cycles of algebraic multigrid whose levels are in single: iterations against those of a cycle in double.
 */
#include "patterns.h"
#include <kry/multigrid.h>
#include <kry/problem.h>

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
    const int64_t n = kry_op_get_shape(A)->rows;
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
        for (int64_t i = 0; i < kry_op_get_shape(A)->rows; i++) most = fmax(most, fabs(x[i]));
        for (int64_t i = 0; i < kry_op_get_shape(A)->rows; i++)
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

        cmocka_unit_test(cycle__as_many_iterations_as_in_double),
        cmocka_unit_test(cycle__takes_b_of_any_size),
        cmocka_unit_test(cycle__only_where_it_does_as_well),
        cmocka_unit_test(cycle__follows_new_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
