/*
 * test_golden.c - the published numbers: every line in double, tolerance 1e-6, of the table
 * $KRY_GOLDEN_DIR/A1_table1.csv (Wang and Gobbert's Table 1, recomputed by an independent code) up
 * to N = 512: iterations exact, the error of the solution to the digits given, the residual of the
 * recurrence to a percent (its last digits depend on the order of sums). And the iterations with
 * incomplete Poisson inverses, to 2 percent, for the right-hand sides are random: Dirichlet
 * Laplacians of $KRY_GOLDEN_DIR/B2_counts_from_log.csv, and two layers whose coefficients are a
 * thousandfold apart. Without KRY_GOLDEN_DIR: skipped.
 */
#include "io/random.h"
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

/* ---- incomplete Poisson inverses --------------------------------------------------------- */

typedef struct system_of {
    kry_op *A;
    kry_vec *b, *x;
} system_of;

static void system_release(system_of *s)
{
    kry_op_release(&s->A);
    kry_vec_release(&s->b);
    kry_vec_release(&s->x);
}

/* b := A x for x random in [0, 1). */
static system_of system_create(kry_device *dev, int64_t n, const int64_t *row_ptr,
                               const int32_t *col, const double *val)
{
    system_of s;
    double *x = malloc((size_t)n * sizeof *x);

    assert_non_null(x);
    for (int64_t i = 0; i < n; i++) x[i] = kry_random_unit(12345, 0, (uint64_t)i);
    OK(kry_csr_create(dev, KRY_F64, n, n, row_ptr, col, val, NULL, &s.A));
    OK(kry_vec_create(dev, KRY_F64, n, 1, &s.b));
    OK(kry_vec_create(dev, KRY_F64, n, 1, &s.x));
    OK(kry_vec_write(s.x, x));
    OK(kry_op_apply(s.A, 1, s.x, 0, s.b));
    free(x);
    return s;
}

static void expect_iterations(const system_of *s, const char *precond, int wanted, double off)
{
    char options[64];
    kry_op *solver;
    kry_result res;

    snprintf(options, sizeof options, "precond=%s rtol=1e-5", precond);
    OK(kry_solver_create(s->A, options, NULL, NULL, &solver));
    OK(kry_vec_fill(s->x, 0));
    OK(kry_solve(solver, s->b, s->x, &res));
    print_message("# %s: %lld iterations, %d expected\n", precond, (long long)res.iterations,
                  wanted);
    assert_true(fabs((double)res.iterations - wanted) <= off * wanted);
    kry_op_release(&solver);
}

static void ip__dirichlet(void **state)
{
    (void)state;
    static const struct {
        int n, whole, dropped;
    } of[] = { { 128, 92, 91 }, { 256, 171, 169 }, { 512, 313, 310 } };
    kry_device *dev;

    if (!getenv("KRY_GOLDEN_DIR")) SKIP("KRY_GOLDEN_DIR is not set");
    OK(kry_device_open(NULL, &dev));
    for (size_t i = 0; i < COUNT(of) && kry_device_get_info(dev)->fp64; i++) {
        char spec[32];
        kry_problem *p;
        snprintf(spec, sizeof spec, "poisson2d:%d", of[i].n);
        OK(kry_problem_create(spec, 1, &p));
        system_of s = system_create(dev, p->n, p->row_ptr, p->col, p->val);
        expect_iterations(&s, "ip:unscaled", of[i].whole, 0.02);
        expect_iterations(&s, "ip", of[i].whole, 0.02);
        expect_iterations(&s, "ip:unscaled,drop", of[i].dropped, 0.02);
        system_release(&s);
        kry_problem_release(&p);
    }
    kry_device_release(&dev);
}

/* Faces along row j of n, and between rows j and j + 1: 1 below the middle row, eps above it; it is
 * cut in halves. */
static double along(int j, int n, double eps)
{
    return j < n / 2 ? 1 : j > n / 2 ? eps : (1 + eps) / 2;
}
static double between(int j, int n, double eps) { return j < n / 2 ? 1 : eps; }

/* No given values anywhere; K K' pays for the jump, K' D^-1 K does not. */
static void ip__two_layers(void **state)
{
    (void)state;
    enum { SIDE = 256 };
    const double eps = 1e-3;
    kry_device *dev;
    int64_t *row_ptr = calloc(SIDE * SIDE + 1, sizeof *row_ptr), k = 0;
    int32_t *col = calloc(5 * SIDE * SIDE, sizeof *col);
    double *val = calloc(5 * SIDE * SIDE, sizeof *val);

    if (!getenv("KRY_GOLDEN_DIR")) SKIP("KRY_GOLDEN_DIR is not set");
    assert_true(row_ptr && col && val);
    for (int i = 0; i < SIDE * SIDE; i++) {
        const int x = i % SIDE, y = i / SIDE, to[] = { i - SIDE, i - 1, i + 1, i + SIDE };
        const double face[] = { y > 0 ? between(y - 1, SIDE, eps) : 0,
                                x > 0 ? along(y, SIDE, eps) : 0,
                                x < SIDE - 1 ? along(y, SIDE, eps) : 0,
                                y < SIDE - 1 ? between(y, SIDE, eps) : 0 };
        for (int f = 0; f < 5; f++) {
            if (f == 2) col[k] = i, val[k++] = face[0] + face[1] + face[2] + face[3];
            if (f < 4 && face[f] > 0) col[k] = to[f], val[k++] = -face[f];
        }
        row_ptr[i + 1] = k;
    }
    OK(kry_device_open(NULL, &dev));
    if (kry_device_get_info(dev)->fp64) {
        system_of s = system_create(dev, SIDE * SIDE, row_ptr, col, val);
        expect_iterations(&s, "ip", 76, 0.15); /* which x is drawn matters */
        expect_iterations(&s, "ip:unscaled", 254, 0.15);
        system_release(&s);
    }
    kry_device_release(&dev);
    free(row_ptr), free(col), free(val);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(wang_table_1__iterations_and_errors),
                                        cmocka_unit_test(ip__dirichlet),
                                        cmocka_unit_test(ip__two_layers) };
    return cmocka_run_group_tests_name("golden", tests, NULL, NULL);
}
