/* test_pipe_cg.c - pipelined conjugate gradients: against conjugate gradients in plain C, matrices and
 * preconditioners of the wrong kind. What all methods have to do is in test_methods.c. */
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

static void pipe_cg_create__preconditioners_it_cannot_use(void **state)
{
    check_preconditioners_refused(type_of(state), "pipe-cg", "r'Mr = -");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(pipe_cg_solve__follows_conjugate_gradients),
        BOTH(pipe_cg_solve__indefinite_matrix),
        BOTH(pipe_cg_solve__close_to_rounding),
        BOTH(pipe_cg_create__preconditioners_it_cannot_use),
    };
    return cmocka_run_group_tests_name("pipe_cg", tests, keep_profile, restore_profile);
}
