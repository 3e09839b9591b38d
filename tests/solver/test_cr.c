/* test_cr.c - conjugate residuals: against the recurrence in plain C, indefinite systems, breakdowns. What all methods
 * have to do is in test_methods.c. */
#include "chains.h"

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

static void cr_create__preconditioners_it_cannot_use(void **state)
{
    check_preconditioners_refused(type_of(state), "cr", "q'Mq = -");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(cr_solve__follows_the_recurrence),
        BOTH(cr_solve__indefinite_matrix),
        BOTH(cr_solve__negative_definite),
        BOTH(cr_solve__breakdown_is_named),
        BOTH(cr_create__preconditioners_it_cannot_use),
    };
    return cmocka_run_group_tests_name("cr", tests, keep_profile, restore_profile);
}
