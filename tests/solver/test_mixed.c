/* test_mixed.c - double accuracy from iterations in single: golden counts, promotion, honest ends.
 */
#include "testing.h"
#include <kry/problem.h>

typedef struct outcome {
    kry_status status;
    kry_result res;
    double true_relative; /* ||b - A x|| / ||b||, by the host */
} outcome;

/* ||b - A x|| / ||b|| of a problem in long double */
static double host_residual(const kry_problem *p, const double *x)
{
    long double sum = 0, norm = 0;
    for (int64_t i = 0; i < p->n; i++) {
        long double r = p->rhs[i];
        for (int64_t k = p->row_ptr[i]; k < p->row_ptr[i + 1]; k++)
            r -= (long double)p->val[k] * x[p->col[k]];
        sum += r * r, norm += (long double)p->rhs[i] * p->rhs[i];
    }
    return (double)sqrtl(sum / norm);
}

static outcome solve_with(const kry_op *S, const kry_problem *p)
{
    outcome o;
    kry_vec *b, *x;
    double *host = calloc((size_t)p->n, sizeof *host);

    OK(kry_vec_create(device(), KRY_F64, p->n, 1, &b));
    OK(kry_vec_create(device(), KRY_F64, p->n, 1, &x));
    OK(kry_vec_write(b, p->rhs));
    o.status = kry_solve(S, b, x, &o.res);
    if (o.status < 0) print_error("%s\n", kry_last_error());
    OK(kry_vec_read(x, host));
    o.true_relative = host_residual(p, host);
    free(host);
    kry_vec_release(&x);
    kry_vec_release(&b);
    return o;
}

static outcome solve(const kry_op *A, const kry_problem *p, const char *options)
{
    kry_op *S;
    OK(kry_solver_create(A, options, NULL, NULL, &S));
    outcome o = solve_with(S, p);
    print_message("# %s %s: %s, %lld its (%lld + %lld), %lld outer, %d promoted '%s', true %.3e\n",
                  p->name, options, o.res.why, (long long)o.res.iterations,
                  (long long)o.res.single_iterations, (long long)o.res.double_iterations,
                  (long long)o.res.outer_iterations, o.res.promotions, o.res.promoted_why,
                  o.true_relative);
    kry_op_release(&S);
    return o;
}

/* b = A x for a random x: that of the equation has so many symmetries that rounding costs it
 * iterations, in double already. */
static kry_problem *problem(const char *spec)
{
    kry_problem *p;
    OK(kry_problem_create(spec, 1, &p));
    double *x = random_array(KRY_F64, p->n);
    for (int64_t i = 0; i < p->n; i++) {
        p->rhs[i] = 0;
        for (int64_t k = p->row_ptr[i]; k < p->row_ptr[i + 1]; k++)
            p->rhs[i] += p->val[k] * x[p->col[k]];
    }
    free(x);
    return p;
}

static bool too_much(void) { return small_run() || acc_type() != KRY_F64; }

/* ---- golden counts ---------------------------------------------------------------------- */

static const struct golden {
    const char *spec;
    int64_t in_double, reliable;
} golden[] = {
    { "poisson2d:256", 735, 737 },
    { "poisson3d:40", 161, 161 },
    { "anisotropic2d:128:1e-3", 696, 702 },
};

static void reliable__golden_counts(void **state)
{
    (void)state;
    if (too_much()) SKIP("too large, or no double");
    for (size_t i = 0; i < COUNT(golden); i++)
        for (int stencil = 0; stencil < 2; stencil++) {
            kry_problem *p = problem(golden[i].spec);
            kry_op *A;
            if (stencil)
                OK(kry_stencil_create(device(), KRY_F64, p->grid, &A));
            else
                OK(kry_csr_create(device(), KRY_F64, p->n, p->n, p->row_ptr, p->col, p->val, NULL,
                                  &A));
            outcome d = solve(A, p, "rtol=1e-10");
            outcome o = solve(A, p, "rtol=1e-10 precision=mixed");
            double work = (0.5 * (double)o.res.single_iterations + (double)o.res.outer_iterations) /
                          (double)d.res.iterations;
            assert_int_equal(o.status, KRY_OK);
            assert_true(o.true_relative <= 1e-10);
            assert_int_equal(o.res.promotions, 0);
            assert_int_equal(o.res.scheme, KRY_SCHEME_RELIABLE);
            assert_int_equal(o.res.double_iterations, 0);
            NEAR(o.res.iterations, d.res.iterations, 0.05 * (double)d.res.iterations, "%s",
                 golden[i].spec);
            NEAR(d.res.iterations, golden[i].in_double, 0.15 * (double)golden[i].in_double, "%s",
                 golden[i].spec);
            if (work > 0.57) fail_msg("%s: work %g", golden[i].spec, work);
            kry_op_release(&A);
            kry_problem_release(&p);
        }
}

/* ---- the other schemes ------------------------------------------------------------------ */

static kry_op *stored(const kry_problem *p)
{
    kry_op *A;
    OK(kry_csr_create(device(), KRY_F64, p->n, p->n, p->row_ptr, p->col, p->val,
                      KRY_MATRIX(.traits = p->singular ? KRY_SINGULAR : KRY_POSITIVE), &A));
    return A;
}

static void schemes__counts(void **state)
{
    (void)state;
    if (too_much()) SKIP("too large, or no double");
    kry_problem *p = problem("poisson3d:40");
    kry_op *A = stored(p);
    /* golden: 5 corrections, 211 iterations; 11 steps, 275; 10 steps, 249 */
    outcome o = solve(A, p, "rtol=1e-10 precision=mixed scheme=classical");
    assert_int_equal(o.status, KRY_OK);
    assert_int_equal(o.res.scheme, KRY_SCHEME_CLASSICAL);
    assert_int_equal(o.res.outer_iterations, 5);
    NEAR(o.res.iterations, 211, 45, "classical");
    o = solve(A, p, "rtol=1e-10 precision=mixed scheme=flexible");
    assert_int_equal(o.status, KRY_OK);
    assert_in_range(o.res.outer_iterations, 7, 11);
    assert_int_equal(o.res.iterations, 25 * o.res.outer_iterations);
    o = solve(A, p, "rtol=1e-10 precision=mixed scheme=flexible inner-rtol=0.1");
    assert_int_equal(o.status, KRY_OK);
    assert_in_range(o.res.outer_iterations, 9, 11);
    NEAR(o.res.iterations, 249, 50, "to a tolerance");
    assert_true(o.true_relative <= 1e-10);
    kry_op_release(&A);
    kry_problem_release(&p);
}

/* What a solve in single says of an indefinite A is not said of a preconditioner that nobody gave; and
 * whatever the schemes came to, x is no worse than the guess. */
static void schemes__indefinite_matrix(void **state)
{
    (void)state;
    static const char *const schemes[] = { "auto", "flexible", "classical" };
    if (acc_type() != KRY_F64) SKIP("no double");
    kry_problem *p = problem("poisson2d:8");
    for (int64_t k = p->row_ptr[30]; k < p->row_ptr[31]; k++)
        if (p->col[k] == 30) p->val[k] *= -1;
    kry_op *A = stored(p), *S;
    assert_int_equal(kry_solver_create(A, "method=cg precision=mixed", NULL, NULL, &S),
                     KRY_ERR_UNSUPPORTED);
    assert_non_null(strstr(kry_last_error(), "kry_mixed_create: the matrix is not positive"));
    for (size_t i = 0; i < COUNT(schemes); i++) {
        char words[80];
        snprintf(words, sizeof words, "method=cg check=none precision=mixed scheme=%s", schemes[i]);
        outcome o = solve(A, p, words);
        assert_int_equal(o.res.reason, KRY_INDEFINITE_MATRIX);
        assert_true(o.true_relative <= 1 + 1e-12);
    }
    kry_op_release(&A);
    kry_problem_release(&p);
}

/* One unknown: the solve inside leaves nothing but rounding errors, which no direction before is
 * orthogonal to. From far away, on the device and on the host. */
static void flexible__after_a_step_to_rounding(void **state)
{
    (void)state;
    static const int64_t row_ptr[] = { 0, 1 };
    static const int32_t col[] = { 0 };
    const char *words = "precision=mixed scheme=flexible rtol=1e-12 maxit=1000";
    for (int decade = 0; decade <= 32; decade += 8)
        for (int on_host = !kry_device_get_info(device())->fp64; on_host < 1 + has_host();
             on_host++) {
            const double a = 1.7 * pow(10, decade), b = -0.55;
            double x = 0.77;
            kry_op *A, *S;
            kry_result res;
            OK(kry_csr_create(
                device(), KRY_F64, 1, 1, row_ptr, col, &a,
                KRY_MATRIX(.traits = KRY_SYMMETRIC | KRY_POSITIVE, .on_host = on_host), &A));
            OK(kry_solver_create(A, words, NULL, NULL, &S));
            assert_int_equal(kry_solve_host(S, &b, &x, &res), KRY_OK);
            NEAR(a * x, b, 1e-12, "a = %g, %s", a, on_host ? "host" : "device");
            kry_op_release(&S);
            kry_op_release(&A);
        }
}

/* With a tolerance for the solves in single, where Fletcher and Reeves's beta stagnates. */
static void flexible__converges_with_a_tolerance_inside(void **state)
{
    (void)state;
    if (too_much()) SKIP("too large, or no double");
    kry_problem *p = problem("poisson2d:256");
    kry_op *A = stored(p), *S;
    OK(kry_mixed_create(A,
                        KRY_MIXED(.scheme = KRY_SCHEME_FLEXIBLE, .inner_rtol = 0.1,
                                  .stop = { .rtol = 1e-10, .max_iter = 2500 }),
                        &S));
    outcome o = solve_with(S, p);
    assert_int_equal(o.status, KRY_OK);
    assert_true(o.res.outer_iterations < 15);
    kry_op_release(&S);
    kry_op_release(&A);
    kry_problem_release(&p);
}

/* ---- systems made for it ---------------------------------------------------------------- */

/* A chain of random conductances, plus `ground` everywhere, scaled by d on both sides; b = A x. */
typedef struct chain {
    kry_problem p; /* its arrays are those below */
    int64_t row_ptr[601];
    int32_t col[1800];
    double val[1800], rhs[600], x[600];
} chain;

static void make_chain(chain *c, int64_t n, double ground, const double *d)
{
    double k[601];
    int64_t e = 0;

    memset(c, 0, sizeof *c);
    for (int64_t i = 0; i <= n; i++) k[i] = i && i < n ? 1.5 + random_number(KRY_F64) : 0;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = i - 1; j <= i + 1; j++) {
            if (j < 0 || j >= n) continue;
            double v = j == i ? k[i] + k[i + 1] + ground : -k[j < i ? i : j];
            c->col[e] = (int32_t)j;
            c->val[e++] = d ? d[i] * v * d[j] : v;
        }
        c->row_ptr[i + 1] = e;
        c->x[i] = random_number(KRY_F64) / (d ? d[i] : 1);
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t q = c->row_ptr[i]; q < c->row_ptr[i + 1]; q++)
            c->rhs[i] += c->val[q] * c->x[c->col[q]];
    strcpy(c->p.name, "chain");
    c->p.n = n, c->p.nnz = e;
    c->p.row_ptr = c->row_ptr, c->p.col = c->col, c->p.val = c->val, c->p.rhs = c->rhs;
}

static void promoted__very_ill_conditioned(void **state)
{
    (void)state;
    if (too_much()) SKIP("too long, or no double");
    chain c;
    make_chain(&c, 600, 1e-9, NULL); /* rounded to single it may be indefinite; kappa 6e9 */
    for (int i = 0; i < 600; i++) c.rhs[i] = random_number(KRY_F64);
    kry_op *A = stored(&c.p);
    solve(A, &c.p, "rtol=1e-6 maxit=200000");
    outcome o = solve(A, &c.p, "rtol=1e-6 precision=mixed maxit=200000");
    assert_int_equal(o.status, KRY_OK);
    assert_true(o.true_relative <= 1e-6);
    assert_true(o.res.promotions > 0);
    assert_true(o.res.promoted_why[0]);
    o = solve(A, &c.p, "rtol=1e-6 precision=mixed scheme=reliable maxit=200000");
    assert_true(o.status > 0); /* asked for, it is not promoted, and says so */
    assert_int_equal(o.res.promotions, 0);
    assert_true(o.true_relative > 1e-6 && o.true_relative < 1e4);
    assert_true(fabs(o.res.true_residual / o.res.norm_b / o.true_relative - 1) < 1e-3);
    kry_op_release(&A);
}

/* Solves in single that get slower and slower give way to double; a limit that the caller sets is one of
 * all schemes together. */
static void promoted__slow(void **state)
{
    (void)state;
    if (too_much()) SKIP("too long, or no double");
    kry_problem *p;
    OK(kry_problem_create("elasticity2d:100x2", 1, &p));
    kry_op *A = stored(p);
    outcome d = solve(A, p, "method=pcg"), o = solve(A, p, "method=pcg precision=mixed");
    assert_int_equal(o.status, KRY_OK);
    assert_int_equal(o.res.scheme, KRY_SCHEME_DOUBLE);
    assert_int_equal(o.res.promotions, 1);
    assert_non_null(strstr(o.res.promoted_why, "iterations in single were not enough"));
    assert_true(o.res.single_iterations < 2 * d.res.iterations);
    assert_true(o.res.double_iterations <= d.res.iterations);
    o = solve(A, p, "method=pcg precision=mixed maxit=800");
    assert_int_equal(o.res.reason, KRY_ITERATION_LIMIT);
    assert_int_equal(o.res.iterations, 800);
    o = solve(A, p, "method=pcg precision=mixed scheme=reliable maxit=2000");
    assert_int_equal(o.res.reason, KRY_ITERATION_LIMIT);
    kry_op_release(&A);
    kry_problem_release(&p);
}

/* A correction that does not end is cut off, the first or, for some b, the second; what it has made worse
 * is dropped. */
static void promoted__first_correction_without_end(void **state)
{
    (void)state;
    if (too_much()) SKIP("too long, or no double");
    kry_problem *p;
    OK(kry_problem_create("elasticity2d:100x1", 1, &p));
    for (int64_t i = 0; i < p->n; i++) p->rhs[i] = random_number(KRY_F64);
    kry_op *A = stored(p);
    outcome o = solve(A, p, "method=pcg precision=mixed");
    assert_int_equal(o.status, KRY_OK);
    assert_int_equal(o.res.scheme, KRY_SCHEME_DOUBLE);
    assert_true(o.res.single_iterations <= 2 * (100 + 2 * p->n));
    kry_op_release(&A);
    kry_problem_release(&p);
}

static void equilibrate__entries_of_1e30_and_1e_30(void **state)
{
    (void)state;
    if (too_much()) SKIP("too long, or no double");
    chain c;
    double d[600];
    for (int i = 0; i < 600; i++) d[i] = pow(10, 15 * random_number(KRY_F64));
    make_chain(&c, 600, 0.1, d);
    kry_op *A = stored(&c.p);
    outcome o = solve(A, &c.p, "rtol=1e-10 precision=mixed");
    assert_int_equal(o.status, KRY_OK);
    assert_int_equal(o.res.scheme, KRY_SCHEME_RELIABLE);
    assert_true(o.true_relative <= 1e-10);
    o = solve(A, &c.p, "rtol=1e-10 precision=mixed scheme=flexible method=pcg");
    assert_int_equal(o.status, KRY_OK);
    kry_op_release(&A);
}

static void overflow__is_named_or_promoted(void **state)
{
    (void)state;
    if (acc_type() != KRY_F64) SKIP("no double");
    chain c;
    double d[600];
    kry_op *A, *S = NULL;
    for (int i = 0; i < 600; i++) d[i] = i == 7 ? 1e25 : 1;
    make_chain(&c, 300, 0.1, d);
    A = stored(&c.p);
    REFUSES(kry_solver_create(A, "precision=mixed scheme=reliable equilibrate=off", NULL, NULL, &S),
            KRY_ERR_UNSUPPORTED, "entry (7, 7)");
    assert_null(S);
    outcome o = solve(A, &c.p, "rtol=1e-10 precision=mixed equilibrate=off method=pcg");
    assert_int_equal(o.status, KRY_OK);
    assert_int_equal(o.res.scheme, KRY_SCHEME_DOUBLE);
    assert_int_equal(o.res.promotions, 1);
    assert_non_null(strstr(o.res.promoted_why, "entry (7, 7)"));
    o = solve(A, &c.p, "rtol=1e-10 precision=mixed method=pcg"); /* scaled */
    assert_int_equal(o.status, KRY_OK);
    assert_int_equal(o.res.scheme, KRY_SCHEME_RELIABLE);
    kry_op_release(&A);
}

/* New values may fit where old ones did not, and the other way round. */
static void update__to_what_single_cannot_hold_and_back(void **state)
{
    (void)state;
    if (acc_type() != KRY_F64) SKIP("no double");
    chain c;
    make_chain(&c, 60, 0.1, NULL);
    kry_op *A = stored(&c.p), *S;
    OK(kry_solver_create(A, "precision=mixed method=pcg equilibrate=off", NULL, NULL, &S));
    static const kry_scheme want[] = { KRY_SCHEME_RELIABLE, KRY_SCHEME_DOUBLE,
                                       KRY_SCHEME_RELIABLE };
    for (int i = 0; i < 3; i++) {
        outcome o = solve_with(S, &c.p);
        assert_int_equal(o.status, KRY_OK);
        assert_int_equal(o.res.scheme, want[i]);
        assert_true(o.true_relative <= 1e-8);
        for (int64_t k = 0; k < c.p.nnz; k++) c.val[k] *= i == 0 ? 1e60 : 1e-60;
        OK(kry_op_update(A, c.val));
        OK(kry_op_update(S, NULL));
    }
    kry_op_release(&S);
    kry_op_release(&A);
}

/* Makers in place of words; a matrix in symmetric storage that stays on the host. */
static kry_status make_jacobi(void *user, const kry_op *A, kry_op **made)
{
    ++*(int *)user;
    return kry_jacobi_create(A, made);
}

static void create__makers_are_called_with_the_copy(void **state)
{
    (void)state;
    NEEDS_HOST;
    int64_t row_ptr[41] = { 0 };
    int32_t col[80];
    double val[80], b[40], x[40] = { 0 };
    int64_t k = 0;
    int called = 0;
    kry_op *A, *S;
    kry_result res;
    for (int i = 0; i < 40; i++) { /* the lower half */
        if (i) col[k] = i - 1, val[k++] = -1.3;
        col[k] = i, val[k++] = 2.9 + i % 3;
        row_ptr[i + 1] = k, b[i] = 1 + i;
    }
    OK(kry_csr_create(
        device(), KRY_F64, 40, 40, row_ptr, col, val,
        KRY_MATRIX(.traits = KRY_POSITIVE, .storage = KRY_SYMMETRIC_HALF, .on_host = true), &A));
    OK(kry_mixed_create(
        A, KRY_MIXED(.precond = make_jacobi, .make_user = &called, .stop = { .rtol = 1e-13 }), &S));
    assert_int_equal(called, 1);
    OK(kry_solve_host(S, b, x, &res));
    for (int i = 0; i < 40; i++) {
        double r = b[i] - (2.9 + i % 3) * x[i];
        if (i > 0) r += 1.3 * x[i - 1];
        if (i < 39) r += 1.3 * x[i + 1];
        assert_true(fabs(r) <= 1e-10);
    }
    kry_op_release(&S);
    kry_op_release(&A);
}

/* One factor for all: too large or too small for single as it stands. */
static void equilibrate__one_factor(void **state)
{
    (void)state;
    if (too_much()) SKIP("too long, or no double");
    for (int i = 0; i < 2; i++) {
        double h = i ? 1e-25 : 1e25; /* 1 / h^2 */
        kry_problem *p = problem("poisson2d:24");
        kry_op *A;
        kry_stencil_params grid = *p->grid;
        for (int a = 0; a < 2; a++) grid.spacing[a] = h, grid.diffusion[a] = 1;
        for (int64_t k = 0; k < p->nnz; k++) p->val[k] /= h * h;
        OK(kry_stencil_create(device(), KRY_F64, &grid, &A));
        outcome o = solve(A, p, "rtol=1e-12 precision=mixed");
        assert_int_equal(o.status, KRY_OK);
        assert_int_equal(o.res.scheme, KRY_SCHEME_RELIABLE);
        kry_op_release(&A);
        kry_problem_release(&p);
    }
}

static void singular__two_phases_with_deflation(void **state)
{
    (void)state;
    if (too_much()) SKIP("too long, or no double");
    static const char *const how[] = {
        "precision=mixed method=pcg precond=ip deflation=blocks:8+phase",
        "precision=mixed method=pcg precond=ip deflation=blocks:8+phase,variant=def1",
        "precision=mixed method=pcg precond=ip deflation=blocks:8+phase,variant=bnn",
        "precision=mixed method=pcg precond=ip",
        "precision=mixed method=pcg scheme=flexible deflation=blocks:4",
        "precision=mixed method=pcg scheme=classical precond=ip deflation=phase",
    };
    kry_problem *p;
    kry_op *A;
    OK(kry_problem_create("twophase2d:48:1000:layers-faces", 1, &p));
    OK(kry_stencil_create(device(), KRY_F64, p->grid, &A));
    for (size_t i = 0; i < COUNT(how); i++) {
        char words[200];
        snprintf(words, sizeof words, "rtol=1e-9 %s", how[i]);
        outcome o = solve(A, p, words);
        assert_int_equal(o.status, KRY_OK);
        assert_true(o.true_relative <= 1.01e-9);
    }
    kry_op_release(&A);
    kry_problem_release(&p);
}

/* ---- how it ends ------------------------------------------------------------------------ */

static int stop_at_9(void *user, const kry_iteration *it)
{
    *(int64_t *)user = it->iteration;
    return it->iteration >= 9;
}

static void ends__as_other_solvers(void **state)
{
    (void)state;
    if (acc_type() != KRY_F64) SKIP("no double");
    kry_problem *p = problem("poisson2d:20");
    kry_op *A = stored(p), *S;
    int64_t seen = -1;
    outcome o = solve(A, p, "rtol=1e-10 precision=mixed maxit=5");
    assert_int_equal(o.status, KRY_NOT_CONVERGED);
    assert_int_equal(o.res.reason, KRY_ITERATION_LIMIT);
    assert_int_equal(o.res.iterations, 5);
    OK(kry_solver_create(A, "rtol=1e-3 precision=mixed maxit=5", NULL, NULL, &S));
    REFUSES(kry_solver_set_stop(S, &(kry_stop){ .test = KRY_STOP_NEVER }), KRY_ERR_UNSUPPORTED,
            "one precision");
    OK(kry_solver_set_stop(S, &(kry_stop){ .rtol = 1e-14, .test = KRY_STOP_BACKWARD }));
    kry_op_info info;
    kry_op_describe(S, &info);
    assert_non_null(strstr(info.variant, "reliable, pcg preconditioner none"));
    assert_non_null(strstr(info.variant, "rtol=1e-14 atol=0 maxit=4000 stop=backward"));
    o = solve_with(S, p);
    assert_int_equal(o.status, KRY_OK);
    assert_true(o.res.target > 2e-14 * o.res.norm_b && o.res.iterations > 5);
    kry_op_release(&S);
    OK(kry_solver_create(A, "precision=mixed check-every=3", stop_at_9, &seen, &S));
    o = solve_with(S, p);
    assert_int_equal(o.status, KRY_STOPPED);
    assert_int_equal(seen, 9);
    kry_op_release(&S);

    double *host = calloc((size_t)p->n, sizeof *host);
    kry_result res;
    OK(kry_solver_create(A, "rtol=1e-12 precision=mixed", NULL, NULL, &S));
    OK(kry_solve_host(S, p->rhs, host, &res));
    assert_true(host_residual(p, host) <= 1e-12);
    OK(kry_solve_host(S, p->rhs, host, &res)); /* from there */
    assert_int_equal(res.reason, KRY_CONVERGED_GUESS);
    assert_int_equal(res.iterations, 0);
    memset(p->rhs, 0, (size_t)p->n * sizeof *host);
    OK(kry_solve_host(S, p->rhs, host, &res));
    assert_int_equal(res.reason, KRY_CONVERGED_ZERO);
    for (int64_t i = 0; i < p->n; i++) assert_true(host[i] == 0);
    p->rhs[3] = NAN;
    REFUSES(kry_solve_host(S, p->rhs, host, &res), KRY_ERR_ARGUMENT, "b[3]");
    p->rhs[3] = 1, host[5] = INFINITY;
    REFUSES(kry_solve_host(S, p->rhs, host, &res), KRY_ERR_ARGUMENT, "guess");
    assert_true(isinf(host[5]));
    free(host);
    kry_op_release(&S);
    kry_op_release(&A);
    kry_problem_release(&p);
}

static void update__follows_new_values(void **state)
{
    (void)state;
    if (acc_type() != KRY_F64) SKIP("no double");
    static const char *const how[] = { "rtol=1e-11 precision=mixed method=pcg",
                                       "rtol=1e-11 precision=mixed scheme=flexible",
                                       "rtol=1e-11 precision=mixed equilibrate=on",
                                       "rtol=1e-11 precision=mixed method=pcg precond=ip" };
    for (size_t i = 0; i < 2 * COUNT(how); i++) {
        if (i % 2 && !has_host()) continue;
        kry_problem *p = problem("poisson2d:20");
        kry_op *A, *S, *fresh;
        kry_result res[2];
        double *x[2];
        OK(kry_csr_create(device(), KRY_F64, p->n, p->n, p->row_ptr, p->col, p->val,
                          KRY_MATRIX(.traits = KRY_POSITIVE, .on_host = i % 2), &A));
        OK(kry_solver_create(A, how[i / 2], NULL, NULL, &S));
        for (int64_t r = 0; r < p->n; r++)
            for (int64_t k = p->row_ptr[r]; k < p->row_ptr[r + 1]; k++)
                p->val[k] *= p->col[k] == r ? 1.1 + 0.001 * (double)(r % 7) : 1.03;
        OK(kry_op_update(A, p->val));
        OK(kry_op_update(S, NULL));
        OK(kry_solver_create(A, how[i / 2], NULL, NULL, &fresh));
        for (int f = 0; f < 2; f++) {
            x[f] = calloc((size_t)p->n, sizeof *x[f]);
            OK(kry_solve_host(f ? fresh : S, p->rhs, x[f], &res[f]));
        }
        assert_true(host_residual(p, x[0]) <= 1e-11);
        assert_int_equal(res[0].iterations, res[1].iterations);
        assert_memory_equal(x[0], x[1], (size_t)p->n * sizeof *x[0]);
        free(x[0]), free(x[1]);
        kry_op_release(&fresh);
        kry_op_release(&S);
        kry_op_release(&A);
        kry_problem_release(&p);
    }
}

static void create__refusals(void **state)
{
    (void)state;
    if (acc_type() != KRY_F64 && !has_host()) SKIP("no double");
    kry_problem *p = problem("poisson2d:4");
    kry_op *A, *S = NULL, *single;
    OK(kry_stencil_create(device(), KRY_F32, p->grid, &single));
    REFUSES(kry_solver_create(single, "precision=mixed", NULL, NULL, &S), KRY_ERR_TYPE, "on_host");
    kry_stencil_params grid = *p->grid;
    grid.on_host = has_host();
    OK(kry_stencil_create(device(), KRY_F64, &grid, &A));
    static const struct {
        const char *words, *named;
        kry_status status;
    } bad[] = {
        { "precision=half", "half", KRY_ERR_PARSE },
        { "scheme=auto", "scheme goes with", KRY_ERR_PARSE },
        { "inner=5", "inner goes with", KRY_ERR_PARSE },
        { "precision=mixed scheme=double", "reliable, flexible", KRY_ERR_PARSE },
        { "precision=mixed equilibrate=yes", "auto, off, on", KRY_ERR_PARSE },
        { "precision=mixed inner=-1", "inner '-1' is no whole number above 0", KRY_ERR_PARSE },
        { "precision=mixed inner-rtol=1", "inner-rtol = 1", KRY_ERR_ARGUMENT },
        { "precision=mixed delta=2", "delta = 2", KRY_ERR_ARGUMENT },
        { "precision=mixed rtol=1e-20", "rtol", KRY_ERR_ARGUMENT },
        { "precision=mixed precond=lux", "lux", KRY_ERR_PARSE },
        { "precision=mixed method=qmr", "qmr", KRY_ERR_PARSE },
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        REFUSES(kry_solver_create(A, bad[i].words, NULL, NULL, &S), bad[i].status, bad[i].named);
        assert_null(S);
    }
    REFUSES(kry_mixed_create(A, KRY_MIXED(.scheme = 9), &S), KRY_ERR_ARGUMENT, "scheme = 9");
    REFUSES(kry_mixed_create(A, KRY_MIXED(.options = "method=pcg rtol=1e-3"), &S), KRY_ERR_PARSE,
            "rtol is a field");
    REFUSES(kry_mixed_create(NULL, NULL, &S), KRY_ERR_ARGUMENT, "NULL");
    REFUSES(kry_mixed_create(A, &(kry_mixed_params){ 0 }, &S), KRY_ERR_ARGUMENT, "KRY_MIXED");
    OK(kry_jacobi_create(single, &S));
    kry_op *copy;
    REFUSES(kry_op_convert(S, KRY_F64, &copy), KRY_ERR_UNSUPPORTED, "'jacobi' has no copy");
    kry_op_release(&S);
    kry_op_release(&A);
    kry_op_release(&single);
    kry_problem_release(&p);
}

/* ---- on the host ------------------------------------------------------------------------ */

static void host__without_double(void **state)
{
    (void)state;
    NEEDS_HOST;
    if (small_run()) SKIP("too long");
    static const char *const how[] = { "",
                                       "scheme=flexible",
                                       "scheme=classical",
                                       "method=pcg precond=ip",
                                       "scheme=flexible inner-rtol=0.1",
                                       "method=jacobi maxit=100000",
                                       "deflation=stripes:8" };
    kry_problem *p = problem("poisson2d:24");
    double *x = calloc((size_t)p->n, sizeof *x);
    for (int fp64 = 0; fp64 < 2; fp64++) {
        if (!fp64) use_profile("no-fp64");
        for (size_t i = 0; i < 2 * COUNT(how); i++) {
            kry_op *A, *S;
            kry_result res;
            char words[100];
            kry_stencil_params grid = *p->grid;
            grid.on_host = true;
            if (i % 2)
                OK(kry_stencil_create(device(), KRY_F64, &grid, &A));
            else
                OK(kry_csr_create(device(), KRY_F64, p->n, p->n, p->row_ptr, p->col, p->val,
                                  KRY_MATRIX(.traits = KRY_POSITIVE, .on_host = true), &A));
            snprintf(words, sizeof words, "rtol=1e-12 precision=mixed %s", how[i / 2]);
            OK(kry_solver_create(A, words, NULL, NULL, &S));
            memset(x, 0, (size_t)p->n * sizeof *x);
            OK(kry_solve_host(S, p->rhs, x, &res));
            assert_true(host_residual(p, x) <= 1e-12);
            assert_int_equal(res.promotions, 0);
            assert_int_equal(res.double_iterations, 0);
            kry_op_release(&S);
            kry_op_release(&A);
        }
        if (!fp64) use_profile(NULL);
    }
    free(x);
    kry_problem_release(&p);
}

static void host__promoted_to_double_and_singular(void **state)
{
    (void)state;
    NEEDS_HOST;
    if (small_run()) SKIP("too long");
    chain c;
    double x[600] = { 0 };
    kry_op *A, *S;
    kry_result res;
    use_profile("no-fp64");
    make_chain(&c, 300, 1e-9, NULL);
    for (int i = 0; i < 300; i++) c.rhs[i] = random_number(KRY_F64);
    OK(kry_csr_create(device(), KRY_F64, 300, 300, c.row_ptr, c.col, c.val,
                      KRY_MATRIX(.traits = KRY_POSITIVE, .on_host = true), &A));
    OK(kry_solver_create(A, "rtol=1e-6 precision=mixed maxit=200000", NULL, NULL, &S));
    OK(kry_solve_host(S, c.rhs, x, &res));
    print_message("# promoted %d times, to %s: %s\n", res.promotions, kry_scheme_word(res.scheme),
                  res.promoted_why);
    assert_true(host_residual(&c.p, x) <= 1e-6);
    kry_op_release(&S);
    kry_op_release(&A);

    kry_problem *p;
    OK(kry_problem_create("twophase2d:24:1000:layers-faces", 1, &p));
    kry_stencil_params grid = *p->grid;
    double *y = calloc((size_t)p->n, sizeof *y);
    grid.on_host = true;
    OK(kry_stencil_create(device(), KRY_F64, &grid, &A));
    static const char *const how[] = { "", "scheme=flexible",
                                       "precond=ip deflation=blocks:4+phase" };
    for (size_t i = 0; i < COUNT(how); i++) {
        char words[100];
        snprintf(words, sizeof words, "method=pcg rtol=1e-9 precision=mixed %s", how[i]);
        memset(y, 0, (size_t)p->n * sizeof *y);
        OK(kry_solver_create(A, words, NULL, NULL, &S));
        OK(kry_solve_host(S, p->rhs, y, &res));
        double *no_solution = calloc((size_t)p->n, sizeof *no_solution);
        for (int64_t j = 0; j < p->n; j++) no_solution[j] = p->rhs[j] + 0.01;
        double *any = calloc((size_t)p->n, sizeof *any);
        assert_int_equal(kry_solve_host(S, no_solution, any, &res), KRY_NOT_CONVERGED);
        assert_int_equal(res.reason, KRY_INCONSISTENT);
        NEAR(res.inconsistent, 0.01 * sqrt((double)p->n), 1e-6, "%s", words);
        free(any), free(no_solution);
        print_message("# %s: %s, true %.2e\n", words, res.why, host_residual(p, y));
        assert_true(host_residual(p, y) <= 1.01e-9);
        kry_op_release(&S);
    }
    free(y);
    kry_op_release(&A);
    kry_problem_release(&p);
    use_profile(NULL);
}

static void solve_host__rounds_for_single(void **state)
{
    (void)state;
    kry_problem *p = problem("poisson2d:12");
    double *x = calloc((size_t)p->n, sizeof *x);
    kry_op *A, *S;
    OK(kry_stencil_create(device(), KRY_F32, p->grid, &A));
    OK(kry_solver_create(A, "rtol=1e-5", NULL, NULL, &S));
    OK(kry_solve_host(S, p->rhs, x, NULL));
    assert_true(host_residual(p, x) <= 2e-5);
    p->rhs[4] = 1e60;
    REFUSES(kry_solve_host(S, p->rhs, x, NULL), KRY_ERR_ARGUMENT, "b[4]");
    REFUSES(kry_solve_host(A, p->rhs, x, NULL), KRY_ERR_TYPE, "not a solver");
    kry_op_release(&S);
    kry_op_release(&A);
    free(x);
    kry_problem_release(&p);
}

/* ---- copies in another precision ------------------------------------------------------------------------------ */

/* The same products, to the bit but for what rows add up to in flux form. */
static void assert_same_operator(const kry_op *A, const kry_op *B, const char *what)
{
    int64_t n = kry_op_get_shape(A)->cols, m = kry_op_get_shape(A)->rows;
    double *numbers = random_array(KRY_F32, n);
    kry_vec *x = vec_of(KRY_F32, numbers, n, 1), *y[2];
    float *host[2];
    assert_int_equal(kry_op_get_shape(A)->traits, kry_op_get_shape(B)->traits);
    assert_string_equal(op_table(A)->kind, op_table(B)->kind);
    for (int i = 0; i < 2; i++) {
        host[i] = calloc((size_t)m + 1, sizeof *host[i]);
        OK(kry_vec_create(device(), KRY_F32, m, 1, &y[i]));
        OK(kry_op_apply(i ? B : A, 1, x, 0, y[i]));
        OK(kry_vec_read(y[i], host[i]));
        kry_vec_release(&y[i]);
    }
    double apart = strstr(what, "flux") ? 1e-6 : 0; /* where the row sums are those in double */
    for (int64_t i = 0; i < m; i++)
        if (!(fabs((double)host[0][i] - host[1][i]) <= apart * (1 + fabs(host[1][i]))))
            fail_msg("%s: row %lld: %g and %g", what, (long long)i, host[0][i], host[1][i]);
    free(host[0]), free(host[1]), free(numbers);
    kry_vec_release(&x);
}

static void convert__every_format(void **state)
{
    (void)state;
    if (acc_type() != KRY_F64) SKIP("no double");
    static const char *const words[] = { "csr",
                                         "dia",
                                         "symdia",
                                         "ell",
                                         "sell",
                                         "sell:sigma=64",
                                         "jds",
                                         "hyb",
                                         "coo",
                                         "csr:form=flux",
                                         "sell:form=flux",
                                         "csr:values=given",
                                         "csr:values=single" };
    kry_problem *p = problem("poisson2d:19");
    for (int64_t r = 0; r < p->n; r++) /* symmetric, and no singles */
        for (int64_t k = p->row_ptr[r]; k < p->row_ptr[r + 1]; k++)
            p->val[k] *= 1 + 0.1 * sin((double)(r + 1) * (double)(p->col[k] + 1));
    float *single = in_type(KRY_F32, p->val, p->nnz);
    for (size_t i = 0; i < COUNT(words); i++) {
        kry_matrix_params params = *KRY_MATRIX(.traits = KRY_POSITIVE);
        kry_op *A, *made, *copy, *back;
        OK(kry_format_parse(words[i], &params));
        OK(kry_csr_create(device(), KRY_F64, p->n, p->n, p->row_ptr, p->col, p->val, &params, &A));
        OK(kry_csr_create(device(), KRY_F32, p->n, p->n, p->row_ptr, p->col, single, &params,
                          &made));
        OK(kry_op_convert(A, KRY_F32, &copy));
        assert_same_operator(copy, made, words[i]);
        OK(kry_op_convert(made, KRY_F64, &back));
        assert_int_equal(kry_op_get_shape(back)->type, KRY_F64);
        kry_op_release(&back);
        kry_op_release(&copy);
        kry_op_release(&made);
        kry_op_release(&A);
    }
    free(single);
    kry_problem_release(&p);
}

static void convert__grids(void **state)
{
    (void)state;
    if (acc_type() != KRY_F64) SKIP("no double");
    enum { NX = 9, NY = 7, NZ = 5, N = NX * NY * NZ };
    double k[N], face[3][N];
    for (int i = 0; i < N; i++) {
        k[i] = 1.1 + random_number(KRY_F64);
        for (int a = 0; a < 3; a++) face[a][i] = 1.1 + random_number(KRY_F64);
    }
    static const kry_side sides[] = { KRY_DIRICHLET, KRY_DIRICHLET_FACE, KRY_NEUMANN,
                                      KRY_PERIODIC };
    for (int i = 0; i < 3 * 4 * 2; i++) {
        kry_side s = sides[i % 4];
        bool flat = i / 4 % 2;
        int what = i / 8;
        char name[64];
        kry_stencil_params p =
            *KRY_STENCIL(.size = { NX, flat ? NY * NZ : NY, flat ? 0 : NZ },
                         .spacing = { 0.3, 0.7, 0.1 }, .diffusion = { 1, 0.01, 3 },
                         .low = { s, s, s }, .high = { s, s, s });
        if (what > 0) p.coefficient = k;
        for (int a = 0; a < (flat ? 2 : 3) && what > 1; a++) p.face[a] = face[a];
        kry_op *A, *made, *copy;
        OK(kry_stencil_create(device(), KRY_F64, &p, &A));
        OK(kry_stencil_create(device(), KRY_F32, &p, &made));
        OK(kry_op_convert(A, KRY_F32, &copy));
        snprintf(name, sizeof name, "grid %d", i);
        assert_same_operator(copy, made, name);
        kry_op_release(&copy);
        kry_op_release(&A);
        if (has_host()) {
            p.on_host = true; /* to the bit, too */
            OK(kry_stencil_create(device(), KRY_F64, &p, &A));
            OK(kry_op_convert(A, KRY_F32, &copy));
            assert_same_operator(copy, made, name);
            kry_op_release(&copy);
        }
        kry_op_release(&made);
        kry_op_release(&A);
    }
}

/* Kernels that are shaped for GPUs. */
static void gpu_kernels__reliable_and_flexible(void **state)
{
    (void)state;
    if (too_much()) SKIP("too long, or no double");
    use_profile("gpu-kernels");
    kry_problem *p = problem("poisson2d:33");
    for (int grid = 0; grid < 2; grid++) {
        kry_op *A = grid ? NULL : stored(p);
        if (grid) OK(kry_stencil_create(device(), KRY_F64, p->grid, &A));
        outcome d = solve(A, p, "rtol=1e-10 resident=off");
        outcome o = solve(A, p, "rtol=1e-10 precision=mixed");
        assert_int_equal(o.status, KRY_OK);
        NEAR(o.res.iterations, d.res.iterations, 0.05 * (double)d.res.iterations, "gpu kernels");
        assert_int_equal(solve(A, p, "rtol=1e-10 precision=mixed scheme=flexible").status, KRY_OK);
        assert_int_equal(solve(A, p, "rtol=1e-10 precision=mixed scheme=classical").status, KRY_OK);
        o = solve(A, p, "rtol=1e-10 precision=mixed method=pcg equilibrate=on");
        assert_int_equal(o.status, KRY_OK);
        kry_op_release(&A);
    }
    kry_problem_release(&p);
    use_profile(NULL);
}

/* The largest number there is: the first correction takes all iterations that the solve may. */
static void inner__ends_with_the_solve(void **state)
{
    (void)state;
    kry_problem *p = problem("poisson2d:12");
    kry_op *A = stored(p);
    outcome o = solve(A, p, "precision=mixed scheme=flexible inner=9223372036854775807");

    assert_int_equal(o.status, KRY_NOT_CONVERGED);
    assert_int_equal(o.res.reason, KRY_ITERATION_LIMIT);
    assert_true(o.true_relative < 1e-4);
    kry_op_release(&A);
    kry_problem_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reliable__golden_counts),
        cmocka_unit_test(schemes__counts),
        cmocka_unit_test(flexible__after_a_step_to_rounding),
        cmocka_unit_test(flexible__converges_with_a_tolerance_inside),
        cmocka_unit_test(promoted__very_ill_conditioned),
        cmocka_unit_test(equilibrate__entries_of_1e30_and_1e_30),
        cmocka_unit_test(overflow__is_named_or_promoted),
        cmocka_unit_test(equilibrate__one_factor),
        cmocka_unit_test(update__to_what_single_cannot_hold_and_back),
        cmocka_unit_test(create__makers_are_called_with_the_copy),
        cmocka_unit_test(singular__two_phases_with_deflation),
        cmocka_unit_test(ends__as_other_solvers),
        cmocka_unit_test(update__follows_new_values),
        cmocka_unit_test(create__refusals),
        cmocka_unit_test(solve_host__rounds_for_single),
        cmocka_unit_test(convert__every_format),
        cmocka_unit_test(convert__grids),
        cmocka_unit_test(host__without_double),
        cmocka_unit_test(host__promoted_to_double_and_singular),
        cmocka_unit_test(gpu_kernels__reliable_and_flexible),
        cmocka_unit_test(inner__ends_with_the_solve),
        cmocka_unit_test(schemes__indefinite_matrix),
        cmocka_unit_test(promoted__slow),
        cmocka_unit_test(promoted__first_correction_without_end),
    };
    return cmocka_run_group_tests(tests, keep_profile, restore_profile);
}
