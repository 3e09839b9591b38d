/*
 * test_golden.c - the published numbers: every line in double, tolerance 1e-6, of the table
 * $KRY_GOLDEN_DIR/A1_table1.csv (Wang and Gobbert's Table 1, recomputed by an independent code) up
 * to N = 512: iterations exact, the error of the solution to the digits given, the residual of the
 * recurrence to a percent (its last digits depend on the order of sums). And the iterations with
 * incomplete Poisson inverses, to 2 percent, for the right-hand sides are random: Dirichlet
 * Laplacians of $KRY_GOLDEN_DIR/B2_counts_from_log.csv, and two layers whose coefficients are a
 * thousandfold apart. And those with deflation as well: the small grids of that table, and two
 * layers of $KRY_GOLDEN_DIR/B3_twophase_256.csv. Without KRY_GOLDEN_DIR: skipped.
 */
#include "unit.h"
#include <kry/problem.h>

enum { LARGEST = 512, LARGEST_DEFLATED = 256 };

/* NULL: there are no tables. */
static FILE *open_table(const char *name)
{
    const char *folder = getenv("KRY_GOLDEN_DIR");
    char path[1200];
    if (!folder) return NULL;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    return f;
}

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
    char text[1200];
    int lines = 0;
    kry_device *dev;

    FILE *f = open_table("A1_table1.csv");
    if (!f) SKIP("KRY_GOLDEN_DIR is not set");
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

/* ---- deflation ----------------------------------------------------------------------------- */

/* A x = b on an n-by-n grid, in double. */
typedef struct grid {
    kry_problem *problem;
    kry_op *A;
    kry_vec *b, *x;
} grid;

static void grid_create(kry_device *dev, const char *spec, grid *g)
{
    OK(kry_problem_create_grid(spec, 1, &g->problem));
    OK(kry_stencil_create(dev, KRY_F64, g->problem->grid, &g->A));
    OK(kry_vec_create(dev, KRY_F64, g->problem->n, 1, &g->b));
    OK(kry_vec_create(dev, KRY_F64, g->problem->n, 1, &g->x));
    OK(kry_vec_write(g->b, g->problem->rhs));
}

static void grid_release(grid *g)
{
    kry_op_release(&g->A);
    kry_vec_release(&g->x);
    kry_vec_release(&g->b);
    kry_problem_release(&g->problem);
}

/* b := A x for x in [low, low + 1] */
static void random_rhs(grid *g, double low)
{
    int64_t n = g->problem->n;
    double *host = malloc((size_t)n * sizeof *host);
    assert_non_null(host);
    for (int64_t i = 0; i < n; i++) host[i] = low + kry_random_unit(1, 0, (uint64_t)i);
    OK(kry_vec_write(g->x, host));
    OK(kry_op_apply(g->A, 1, g->x, 0, g->b));
    free(host);
}

/* Iterations to each tolerance; -1: not reached. */
static void count_iterations(const grid *g, const char *words, const double *tolerance, int count,
                             long long *at)
{
    kry_op *S;
    kry_result res;
    OK(kry_vec_fill(g->x, 0));
    OK(kry_solver_create(g->A, words, NULL, NULL, &S));
    OK(kry_solve(S, g->b, g->x, &res));
    for (int t = 0; t < count; t++) {
        at[t] = -1;
        for (int64_t i = 0; i < res.history_count && at[t] < 0; i++)
            if (res.history[i] <= tolerance[t] * res.norm_b) at[t] = i;
    }
    kry_op_release(&S);
}

static bool near_count(long long ours, long long golden, double percent, long long least)
{
    double allowed = fmax(percent / 100 * (double)golden, (double)least);
    return fabs((double)(ours - golden)) <= allowed;
}

/* "IPfull" of the table as options know it; n: the length of the grid's lines. */
static bool precond_word(const char *name, int n, char *word, size_t size)
{
    int lines;
    if (!strcmp(name, "none") || !strcmp(name, "CG"))
        snprintf(word, size, "none");
    else if (!strcmp(name, "BIC"))
        snprintf(word, size, "block-ic:%d", 2 * n);
    else if (sscanf(name, "BIC bs:%dn", &lines) == 1)
        snprintf(word, size, "block-ic:%d", lines * n);
    else if (!strcmp(name, "IPfull"))
        snprintf(word, size, "ip");
    else if (!strcmp(name, "IPdrop"))
        snprintf(word, size, "ip:drop");
    else
        return false;
    return true;
}

/* "DEF1[128 stripes 1/row]+BIC", "DEF1[8x8 blocks]+IPdrop", or a first level alone. */
static bool table_words(const char *method, int n, char *words, size_t size)
{
    char precond[40], deflation[40] = "none";
    const char *plus = strchr(method, '+');
    int count;
    if (strstr(method, "stripes") && sscanf(method, "DEF1[%d", &count) == 1)
        snprintf(deflation, sizeof deflation, "stripes:%d,variant=def1", count);
    else if (sscanf(method, "DEF1[%dx", &count) == 1)
        snprintf(deflation, sizeof deflation, "blocks:%d,variant=def1", n / count);
    else if (plus)
        return false;
    if (!precond_word(plus ? plus + 1 : method, n, precond, sizeof precond)) return false;
    snprintf(words, size, "method=pcg precond=%s deflation=%s rtol=1e-5", precond, deflation);
    return true;
}

/* 128,"x=U[0,1]",IPfull/d,92 */
static bool parse_count(const char *text, int *n, double *low, char *method, long long *iterations)
{
    char type;
    if (sscanf(text, "%d,\"x=U[%lf,%*f]\",%63[^/]", n, low, method) != 3) return false;
    const char *behind = strrchr(text, '/');
    return behind && sscanf(behind, "/%c,%lld", &type, iterations) == 2 && type == 'd';
}

/* A line has "/" of its own in "1/row": what stands before the last one is the method. */
static void whole_method(const char *text, char *method, size_t size)
{
    const char *begin = strstr(text, "\",") + 2, *end = strrchr(text, '/');
    snprintf(method, size, "%.*s", (int)(end - begin), begin);
}

static void gupta__laplace_with_two_levels(void **state)
{
    (void)state;
    static const double tolerance[] = { 1e-5 };
    kry_device *dev;
    grid g = { NULL };
    char text[400], method[64], words[200], spec[32];
    int n, have = 0, lines = 0;
    long long golden, ours;
    double low;

    FILE *f = open_table("B2_counts_from_log.csv");
    if (!f) SKIP("KRY_GOLDEN_DIR is not set");
    OK(kry_device_open(NULL, &dev));
    while (kry_device_get_info(dev)->fp64 && fgets(text, sizeof text, f)) {
        if (!parse_count(text, &n, &low, method, &golden) || n > LARGEST_DEFLATED) continue;
        whole_method(text, method, sizeof method);
        if (!table_words(method, n, words, sizeof words)) continue;
        if (n != have) {
            grid_release(&g);
            snprintf(spec, sizeof spec, "poisson2d:%d", n);
            grid_create(dev, spec, &g);
            have = n;
        }
        random_rhs(&g, low);
        count_iterations(&g, words, tolerance, 1, &ours);
        print_message("# N = %d, x from %g: %s %lld, golden %lld\n", n, low, words, ours, golden);
        assert_true(near_count(ours, golden, 5, 3)); /* as much as other seeds of x make */
        lines++;
    }
    assert_true(lines > 60 || !kry_device_get_info(dev)->fp64);
    grid_release(&g);
    kry_device_release(&dev);
    fclose(f);
}

/* Methods of the table that take the same vectors as ours; what an unlucky b may cost. */
static const struct two_level {
    const char *name, *deflation;
    double percent;
} two_levels[] = {
    { "A2[8n stripes]+IPscaled", "stripes:2048", 15 },
    { "A2[blk16+ph]+IPscaled", "blocks:16+phase", 12 },
    { "A2[blk32+ph]+IPscaled", "blocks:8+phase", 10 },
};

static void gupta__layers_with_two_levels(void **state)
{
    (void)state;
    static const double tolerance[] = { 1e-2, 1e-5, 1e-8 };
    static const char line[] = "256,layersG_1e3:frand,%63[^,],ips,0,adef2,%*[^,],%*d,double,"
                               "%lld,%lld,%lld";
    kry_device *dev;
    grid g = { NULL };
    char text[600], name[64], words[200];
    long long golden[3], ours[3];
    int lines = 0;

    FILE *f = open_table("B3_twophase_256.csv");
    if (!f) SKIP("KRY_GOLDEN_DIR is not set");
    OK(kry_device_open(NULL, &dev));
    bool fp64 = kry_device_get_info(dev)->fp64;
    if (fp64) grid_create(dev, "twophase2d:256:1000:layers", &g);
    while (fp64 && fgets(text, sizeof text, f)) {
        if (sscanf(text, line, name, &golden[0], &golden[1], &golden[2]) != 4) continue;
        for (size_t i = 0; i < COUNT(two_levels); i++) {
            if (strcmp(name, two_levels[i].name) != 0) continue;
            snprintf(words, sizeof words, "method=pcg precond=ip deflation=%s rtol=1e-8",
                     two_levels[i].deflation);
            count_iterations(&g, words, tolerance, 3, ours);
            print_message("# %s: %lld/%lld/%lld, golden %lld/%lld/%lld\n", words, ours[0], ours[1],
                          ours[2], golden[0], golden[1], golden[2]);
            for (int t = 0; t < 3; t++)
                assert_true(near_count(ours[t], golden[t], two_levels[i].percent, 2));
            lines++;
        }
    }
    assert_true(lines == (int)COUNT(two_levels) || !fp64);
    grid_release(&g);
    kry_device_release(&dev);
    fclose(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(wang_table_1__iterations_and_errors),
                                        cmocka_unit_test(ip__dirichlet),
                                        cmocka_unit_test(ip__two_layers),
                                        cmocka_unit_test(gupta__laplace_with_two_levels),
                                        cmocka_unit_test(gupta__layers_with_two_levels) };
    return cmocka_run_group_tests_name("golden", tests, NULL, NULL);
}
