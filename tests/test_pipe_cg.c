/* test_pipe_cg.c - pipelined conjugate gradients: against conjugate gradients in plain C, every way to stop,
 * matrices and preconditioners of the wrong kind, singular systems, teams, mixed precision. */
#include "chains.h"

/* ||r|| at iterations 0 ... steps of conjugate gradients from x = 0, with M = 1 / diagonal or without. */
static void conjugate_gradients(const chain *c, bool jacobi, int steps, double *norm)
{
    static long double r[MOST], z[MOST], p[MOST], q[MOST];
    const long double scale = jacobi ? 1 / (long double)c->val[0] : 1;
    long double rho = 0;

    for (int64_t i = 0; i < c->n; i++) r[i] = c->b[i], p[i] = 0;
    for (int k = 0; k <= steps; k++) {
        norm[k] = (double)sqrtl(product(c->n, r, r));
        for (int64_t i = 0; i < c->n; i++) z[i] = scale * r[i];
        const long double next = product(c->n, r, z), beta = k ? next / rho : 0;
        rho = next;
        for (int64_t i = 0; i < c->n; i++) p[i] = z[i] + beta * p[i];
        times(c, p, q);
        const long double alpha = rho / product(c->n, p, q);
        for (int64_t i = 0; i < c->n; i++) r[i] -= alpha * q[i];
    }
}

/* Past the steps after which vectors are computed anew. */
static void pipe_cg_solve__follows_conjugate_gradients(void **state)
{
    kry_type type = type_of(state);
    enum { STEPS = 45 };
    chain c = chain_with(MOST - 10, -1, 2.02, -1);
    double want[STEPS + 1];

    for (int jacobi = 0; jacobi < 2; jacobi++) {
        outcome o = solve(type, &c,
                          jacobi ? "method=pipe-cg precond=jacobi maxit=45 rtol=1e-7"
                                 : "method=pipe-cg maxit=45 rtol=1e-7");
        conjugate_gradients(&c, jacobi, STEPS, want);
        assert_int_equal(o.res.history_count, STEPS + 1);
        for (int64_t k = 0; k < o.res.history_count; k++)
            NEAR(o.history[k], want[k], (type == KRY_F32 ? 2e-3 : 1e-9) * want[0],
                 "jacobi %d, iteration %lld", jacobi, (long long)k);
    }
}

static void pipe_cg_solve__known_solution(void **state)
{
    kry_type type = type_of(state);
    chain c = chain_of(257, 2.5, 2.5);
    static const char *const words[] = { "method=pipe-cg rtol=1e-6",
                                         "method=pipe-cg precond=jacobi rtol=1e-6",
                                         "method=pipe-cg precond=chebyshev:3 rtol=1e-6" };

    for (size_t i = 0; i < COUNT(words); i++) {
        outcome o = solve(type, &c, words[i]);
        assert_int_equal(o.status, KRY_OK);
        assert_int_equal(o.res.reason, KRY_CONVERGED);
        double rounding = (type == KRY_F32 ? 1e-6 : 1e-13) * o.res.norm_b;
        NEAR(residual_of(&c, o.x), o.res.true_residual, rounding, "%s", words[i]);
    }
}

static void pipe_cg_solve__zero_rhs_and_exact_guess(void **state)
{
    const chain c = chain_of(50, 4, 4);
    check_guess_and_zero(type_of(state), &c, "method=pipe-cg rtol=1e-5");
}

static void pipe_cg_solve__iteration_limit(void **state)
{
    check_limits(type_of(state), "method=pipe-cg");
}

static int stop_at_9(void *user, const kry_iteration *it)
{
    eye *e = user;
    e->calls++;
    return it->iteration >= 9;
}

static void pipe_cg_solve__monitor_stops_at_its_iterate(void **state)
{
    const chain c = chain_of(200, 2, 2);
    check_monitor_stop(type_of(state), &c, "method=pipe-cg check-every=3", stop_at_9);
}

static void pipe_cg_solve__indefinite_matrix(void **state)
{
    chain c = chain_of(60, 0.55, 0.55); /* eigenvalues from -1.45 to 2.55 */
    outcome o = solve(type_of(state), &c, "method=pipe-cg check=none rtol=1e-6");

    assert_int_equal(o.status, KRY_BREAKDOWN);
    assert_int_equal(o.res.reason, KRY_INDEFINITE_MATRIX);
    assert_non_null(strstr(o.res.why, "u'Au = -"));
}

/* Rounding errors grow where nothing computes products anew: the true residual is at the target. */
static void pipe_cg_solve__close_to_rounding(void **state)
{
    kry_type type = type_of(state);
    chain c = chain_of(MOST, 2.0005, 2.0005);
    outcome o = solve(type, &c,
                      type == KRY_F32 ? "method=pipe-cg rtol=3e-6"
                                      : "method=pipe-cg rtol=1e-13 maxit=5000");

    assert_int_equal(o.status, KRY_OK);
    assert_true(residual_of(&c, o.x) <= 1.01 * o.res.target);
}

static void pipe_cg_solve__singular(void **state)
{
    check_singular(type_of(state), "method=pipe-cg");
}

static void pipe_cg_create__preconditioners_it_cannot_use(void **state)
{
    kry_type type = type_of(state);
    NOT_ON_HOST("deflation");
    static const kry_op_table table = { sizeof table, "minus", .apply = negate };
    static const int32_t labels[30] = { [10] = 1, 1, 1, 1, 1, 1, 1 };
    chain c = chain_of(30, 3, 3);
    kry_op *A = matrix_of(device(), type, &c, 0), *M, *D, *S;
    kry_op_shape shape = { c.n, c.n, type, 0 };
    kry_vec *b = vec_of(type, c.b, c.n, 1), *x;
    kry_result res;

    OK(kry_vec_create(device(), type, c.n, 1, &x));
    OK(kry_op_create(device(), &table, NULL, &shape, &M));
    OK(kry_krylov_create(A, "pipe-cg", KRY_PCG(.precond = M), &S));
    assert_int_equal(kry_solve(S, b, x, &res), KRY_BREAKDOWN);
    assert_int_equal(res.reason, KRY_INDEFINITE_PRECOND);
    assert_non_null(strstr(res.why, "r'Mr = -"));
    kry_op_release(&S);
    kry_op_release(&M);
    shape.traits = KRY_VARYING;
    OK(kry_op_create(device(), &table, NULL, &shape, &M));
    REFUSES(kry_krylov_create(A, "pipe-cg", KRY_PCG(.precond = M), &S), KRY_ERR_TYPE, "varies");
    kry_op_release(&M);
    OK(kry_deflation_create(A, KRY_DEFLATION(.labels = labels), &D));
    REFUSES(kry_krylov_create(A, "pipe-cg", KRY_PCG(.deflation = D), &S), KRY_ERR_UNSUPPORTED,
            "'pipe-cg' takes no deflation");
    kry_op_release(&D);
    kry_op_release(&A);
    kry_vec_release(&b);
    kry_vec_release(&x);
}

static void pipe_cg_solve__on_a_team(void **state)
{
    NOT_ON_HOST("teams");
    check_on_teams(type_of(state), "method=pipe-cg");
}

static void pipe_cg_solve__as_the_solver_in_single(void **state)
{
    (void)state;
    if (acc_type() != KRY_F64) SKIP("no double");
    check_in_mixed("method=pipe-cg");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(pipe_cg_solve__follows_conjugate_gradients),
        BOTH(pipe_cg_solve__known_solution),
        BOTH(pipe_cg_solve__zero_rhs_and_exact_guess),
        BOTH(pipe_cg_solve__iteration_limit),
        BOTH(pipe_cg_solve__monitor_stops_at_its_iterate),
        BOTH(pipe_cg_solve__indefinite_matrix),
        BOTH(pipe_cg_solve__close_to_rounding),
        BOTH(pipe_cg_solve__singular),
        BOTH(pipe_cg_create__preconditioners_it_cannot_use),
        BOTH(pipe_cg_solve__on_a_team),
        cmocka_unit_test(pipe_cg_solve__as_the_solver_in_single),
    };
    return cmocka_run_group_tests_name("pipe_cg", tests, keep_profile, restore_profile);
}
