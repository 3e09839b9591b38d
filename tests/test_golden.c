/*
 * test_golden.c - the published numbers: every line in double, tolerance 1e-6, of the table
 * $KRY_GOLDEN_DIR/A1_table1.csv (Wang and Gobbert's Table 1, recomputed by an independent code) up
 * to N = 512: iterations exact, the error of the solution to the digits given, the residual of the
 * recurrence to a percent (its last digits depend on the order of sums). Without KRY_GOLDEN_DIR:
 * skipped.
 */
#include "unit.h"

enum { LARGEST = 512 };

typedef struct line {
    int n;
    long long iterations;
    double error_inf, residual;
} line;

static bool parse_line(const char *text, line *l)
{
    return sscanf(text, "double,0,0,1e-06,%d,%lld,%lf,%*f,%lf", &l->n, &l->iterations,
                  &l->error_inf, &l->residual) == 4;
}

static void solve_line(kry_device *dev, const line *l)
{
    char spec[32];
    kry_problem *p;
    kry_op *A, *S;
    kry_vec *b, *x;
    kry_result res;

    snprintf(spec, sizeof spec, "poisson2d:%d", l->n);
    OK(kry_problem_create(spec, 1, &p));
    double *host = malloc((size_t)p->n * sizeof *host), error = 0;
    assert_non_null(host);
    OK(kry_csr_create(dev, KRY_F64, p->n, p->n, p->row_ptr, p->col, p->val, NULL, &A));
    OK(kry_vec_create(dev, KRY_F64, p->n, 1, &b));
    OK(kry_vec_create(dev, KRY_F64, p->n, 1, &x));
    OK(kry_vec_write(b, p->rhs));
    OK(kry_solver_create(A, "method=cg rtol=1e-6", NULL, NULL, &S));
    OK(kry_solve(S, b, x, &res));
    OK(kry_vec_read(x, host));
    for (int64_t i = 0; i < p->n; i++) error = fmax(error, fabs(host[i] - p->solution[i]));
    print_message("# N = %d: %lld iterations, error %.6e, residual %.4e\n", l->n,
                  (long long)res.iterations, error, res.residual / res.norm_b);
    assert_int_equal(res.iterations, l->iterations);
    assert_true(fabs(error - l->error_inf) <= 1e-6 * l->error_inf);
    assert_true(fabs(res.residual / res.norm_b - l->residual) <= 0.01 * l->residual);
    free(host);
    kry_op_release(&S);
    kry_op_release(&A);
    kry_vec_release(&x);
    kry_vec_release(&b);
    kry_problem_release(&p);
}

static void wang_table_1__iterations_and_errors(void **state)
{
    (void)state;
    const char *folder = getenv("KRY_GOLDEN_DIR");
    char text[1200];
    int lines = 0;
    kry_device *dev;

    if (!folder) SKIP("KRY_GOLDEN_DIR is not set");
    snprintf(text, sizeof text, "%s/A1_table1.csv", folder);
    FILE *f = fopen(text, "r");
    assert_non_null(f);
    OK(kry_device_open(NULL, &dev));
    while (kry_device_get_info(dev)->fp64 && fgets(text, sizeof text, f)) {
        line l;
        if (!parse_line(text, &l) || l.n > LARGEST) continue;
        solve_line(dev, &l);
        lines++;
    }
    assert_true(lines == 5 || !kry_device_get_info(dev)->fp64); /* 32, 64, 128, 256, 512 */
    kry_device_release(&dev);
    fclose(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(wang_table_1__iterations_and_errors) };
    return cmocka_run_group_tests_name("golden", tests, NULL, NULL);
}
