/* test_cr.c - conjugate residuals: against the recurrence in plain C, every way to stop, indefinite and
 * singular systems, teams. */
#include "chains.h"

extern const kry_method kry_cr_method;

/* ---- the recurrence ------------------------------------------------------------------------ */

static void cr_solve__follows_the_recurrence(void **state)
{
    kry_type type = type_of(state);
    enum { STEPS = 12 };
    chain c = chain_of(MOST - 10, 2.25, 3.5);
    double want[STEPS + 1];

    for (int jacobi = 0; jacobi < 2; jacobi++) {
        outcome o = solve(type, &c,
                          jacobi ? "method=cr precond=jacobi maxit=12 rtol=1e-7"
                                 : "method=cr maxit=12 rtol=1e-7");
        conjugate_residuals(&c, jacobi, STEPS, want);
        assert_true(o.res.history_count > STEPS / 2);
        for (int64_t k = 0; k < o.res.history_count; k++)
            NEAR(o.history[k], want[k], (type == KRY_F32 ? 1e-4 : 1e-11) * want[0],
                 "jacobi %d, iteration %lld", jacobi, (long long)k);
    }
}

static void cr_solve__known_solution(void **state)
{
    kry_type type = type_of(state);
    chain c = chain_of(257, 2.5, 2.5);
    static const char *const words[] = { "method=cr rtol=1e-6",
                                         "method=cr precond=jacobi rtol=1e-6",
                                         "method=cr precond=chebyshev:3 rtol=1e-6" };

    for (size_t i = 0; i < COUNT(words); i++) {
        outcome o = solve(type, &c, words[i]);
        assert_int_equal(o.status, KRY_OK);
        assert_int_equal(o.res.reason, KRY_CONVERGED);
        double rounding = (type == KRY_F32 ? 1e-6 : 1e-13) * o.res.norm_b;
        NEAR(residual_of(&c, o.x), o.res.true_residual, rounding, "%s", words[i]);
        for (int64_t k = 1; k < o.res.history_count && i == 0; k++) /* what CR minimises */
            assert_true(o.history[k] <= o.history[k - 1] * (1 + 1e-5));
    }
}

/* ---- ways to stop -------------------------------------------------------------------------- */

static void cr_solve__zero_rhs_and_exact_guess(void **state)
{
    const chain c = chain_of(50, 4, 4);
    check_guess_and_zero(type_of(state), &c, "method=cr rtol=1e-5");
}

static void cr_solve__iteration_limit(void **state) { check_limits(type_of(state), "method=cr"); }

static int stop_at_9(void *user, const kry_iteration *it)
{
    eye *e = user;
    e->calls++;
    return it->iteration >= 9;
}

static void cr_solve__monitor_stops_at_its_iterate(void **state)
{
    const chain c = chain_of(200, 2, 2);
    check_monitor_stop(type_of(state), &c, "method=cr check-every=3", stop_at_9);
}

/* ---- what conjugate gradients cannot do ----------------------------------------------------- */

static void cr_solve__indefinite_matrix(void **state)
{
    kry_type type = type_of(state);
    chain c = chain_of(60, 0.55, 0.55); /* eigenvalues from -1.45 to 2.55 */
    const char *rtol = type == KRY_F64 ? "rtol=1e-8" : "rtol=1e-4";
    char words[64];

    snprintf(words, sizeof words, "method=cg %s", rtol);
    assert_int_equal(solve(type, &c, words).res.reason, KRY_INDEFINITE_MATRIX);
    snprintf(words, sizeof words, "method=cr maxit=2000 %s", rtol);
    outcome o = solve(type, &c, words);
    assert_int_equal(o.status, KRY_OK);
    assert_true(residual_of(&c, o.x) <= o.res.target * 1.001 + 1e-6 * o.res.norm_b);
}

static void cr_solve__negative_definite(void **state)
{
    chain c = chain_of(100, -2.5, -2.5);
    outcome o = solve(type_of(state), &c, "method=cr rtol=1e-5");
    assert_int_equal(o.status, KRY_OK);
}

/* r'A r = 0 with r != 0: no step leads anywhere, and that is said. */
static void cr_solve__breakdown_is_named(void **state)
{
    kry_type type = type_of(state);
    chain c = { .n = 2, .row_ptr = { 0, 1, 2 }, .col = { 1, 0 }, .val = { 1, 1 }, .b = { 1, 0 } };
    outcome o = solve(type, &c, "method=cr");
    assert_int_equal(o.status, KRY_BREAKDOWN);
    assert_int_equal(o.res.reason, KRY_INDEFINITE_MATRIX);
    assert_non_null(strstr(o.res.why, "r'M A M r = 0 at iteration 0"));
    assert_true(o.x[0] == 0 && o.x[1] == 0);
}

static void cr_solve__singular(void **state) { check_singular(type_of(state), "method=cr"); }

/* ---- preconditioners ------------------------------------------------------------------------ */

static void cr_create__preconditioners_it_cannot_use(void **state)
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
    OK(kry_method_create(&kry_cr_method, A, KRY_PCG(.precond = M), 0, &S));
    assert_int_equal(kry_solve(S, b, x, &res), KRY_BREAKDOWN);
    assert_int_equal(res.reason, KRY_INDEFINITE_PRECOND);
    assert_non_null(strstr(res.why, "q'Mq = -"));
    kry_op_release(&S);
    kry_op_release(&M);
    shape.traits = KRY_VARYING;
    OK(kry_op_create(device(), &table, NULL, &shape, &M));
    REFUSES(kry_method_create(&kry_cr_method, A, KRY_PCG(.precond = M), 0, &S), KRY_ERR_TYPE,
            "varies");
    kry_op_release(&M);
    OK(kry_deflation_create(A, KRY_DEFLATION(.labels = labels), &D));
    REFUSES(kry_method_create(&kry_cr_method, A, KRY_PCG(.deflation = D), 0, &S),
            KRY_ERR_UNSUPPORTED, "'cr' takes no deflation");
    kry_op_release(&D);
    kry_op_release(&A);
    kry_vec_release(&b);
    kry_vec_release(&x);
}

/* ---- teams and mixed precision --------------------------------------------------------------- */

static void cr_solve__on_a_team(void **state)
{
    NOT_ON_HOST("teams");
    check_on_teams(type_of(state), "method=cr");
}

static void cr_solve__as_the_solver_in_single(void **state)
{
    (void)state;
    if (acc_type() != KRY_F64) SKIP("no double");
    check_in_mixed("method=cr");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(cr_solve__follows_the_recurrence),
        BOTH(cr_solve__known_solution),
        BOTH(cr_solve__zero_rhs_and_exact_guess),
        BOTH(cr_solve__iteration_limit),
        BOTH(cr_solve__monitor_stops_at_its_iterate),
        BOTH(cr_solve__indefinite_matrix),
        BOTH(cr_solve__negative_definite),
        BOTH(cr_solve__breakdown_is_named),
        BOTH(cr_solve__singular),
        BOTH(cr_create__preconditioners_it_cannot_use),
        BOTH(cr_solve__on_a_team),
        cmocka_unit_test(cr_solve__as_the_solver_in_single),
    };
    return cmocka_run_group_tests_name("cr", tests, keep_profile, restore_profile);
}
