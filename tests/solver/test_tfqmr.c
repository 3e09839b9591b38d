/* test_tfqmr.c - TFQMR: against the algorithm of the paper in plain C, its residuals, its breakdowns. */
#include "chains.h"

enum { STEPS = 12 };

typedef long double column[MOST];

static void image(const chain *c, long double scale, const long double *x, long double *y)
{
    times(c, x, y);
    for (int64_t i = 0; i < c->n; i++) y[i] *= scale;
}

/* Algorithm 5.1: norms of b - A x at iterations 0 ... STEPS of two halves, from x = 0, for A / diagonal or A. */
static void reference(const chain *c, bool jacobi, double *norms)
{
    static column x, y[2], u[2], v, w, d, shadow, r, t;
    const long double scale = jacobi ? 1 / c->val[0] : 1;
    const int64_t n = c->n;
    long double tau, theta = 0, eta = 0, rho, alpha, beta;

    memset(x, 0, sizeof x), memset(d, 0, sizeof d);
    for (int64_t i = 0; i < n; i++) w[i] = y[0][i] = shadow[i] = c->b[i];
    image(c, scale, y[0], v);
    memcpy(u[0], v, sizeof v);
    tau = sqrtl(product(n, w, w)), rho = tau * tau;
    norms[0] = (double)tau;
    for (int step = 1; step <= STEPS; step++) {
        alpha = rho / product(n, shadow, v);
        memcpy(y[1], y[0], sizeof y[1]);
        add(n, -alpha, v, y[1]);
        for (int half = 0; half < 2; half++) {
            image(c, scale, y[half], u[half]);
            add(n, -alpha, u[half], w);
            const long double back = theta * theta * eta / alpha;
            for (int64_t i = 0; i < n; i++) d[i] = y[half][i] + back * d[i];
            theta = sqrtl(product(n, w, w)) / tau;
            const long double cosine = 1 / sqrtl(1 + theta * theta);
            tau *= theta * cosine, eta = cosine * cosine * alpha;
            add(n, eta, d, x);
        }
        image(c, scale, x, t);
        for (int64_t i = 0; i < n; i++) r[i] = c->b[i] - t[i];
        norms[step] = (double)sqrtl(product(n, r, r));
        const long double next = product(n, shadow, w);
        beta = next / rho, rho = next;
        for (int64_t i = 0; i < n; i++) y[0][i] = w[i] + beta * y[1][i];
        image(c, scale, y[0], u[0]);
        for (int64_t i = 0; i < n; i++) v[i] = u[0][i] + beta * (u[1][i] + beta * v[i]);
    }
}

static void tfqmr_solve__follows_the_recurrence(void **state)
{
    kry_type type = type_of(state);
    chain c = chain_with(MOST - 10, -1.75, 2.5, -0.5);
    double want[STEPS + 1];

    for (int jacobi = 0; jacobi < 2; jacobi++) {
        outcome o = solve(type, &c,
                          jacobi ? "method=tfqmr maxit=12 rtol=1e-7 precond=jacobi"
                                 : "method=tfqmr maxit=12 rtol=1e-7 precond=none");
        reference(&c, jacobi, want);
        assert_true(o.res.history_count > STEPS / 2);
        for (int64_t k = 0; k < o.res.history_count; k++)
            NEAR(o.history[k], want[k], (type == KRY_F32 ? 2e-3 : 1e-10) * want[0],
                 "jacobi %d, iteration %lld", jacobi, (long long)k);
        NEAR(residual_of(&c, o.x), o.res.residual, (type == KRY_F32 ? 1e-3 : 1e-10) * want[0],
             "b - A x, jacobi %d", jacobi);
    }
}

/* r'A r = 0 for every r of a skew-symmetric A, so that v's = 0 at once; a random shadow gets further. */
static void tfqmr_solve__skew_symmetric(void **state)
{
    kry_type type = type_of(state);
    chain c = chain_with(20, -1, 0, 1);
    outcome o = solve(type, &c, "method=tfqmr rtol=1e-3");

    assert_non_null(strstr(o.res.why, "then a new beginning"));
    for (int k = 0; k < 20; k++) assert_true(isfinite(o.x[k]));
    if (o.status == KRY_OK) assert_true(residual_of(&c, o.x) <= 1.1e-3 * o.res.norm_b);
}

/* rho' = 0 where w is: the solution is found by an iteration that breaks down. */
static void tfqmr_solve__exact_in_one_iteration(void **state)
{
    kry_type type = type_of(state);
    chain c = chain_with(20, 0, 4, 0);
    outcome o = solve(type, &c, "method=tfqmr rtol=1e-5");

    assert_int_equal(o.status, KRY_OK);
    assert_int_equal(o.res.iterations, 1);
    for (int k = 0; k < 20; k++) NEAR(o.x[k], c.b[k] / 4, 1e-5, "unknown %d", k);
}

/* Residuals of the recurrence hardly grow, where those of BiCGStab(1) do. */
static void tfqmr_solve__is_smooth(void **state)
{
    kry_type type = type_of(state);
    chain c = chain_with(MOST, -1.6, 2.3, -0.55);
    outcome o = solve(type, &c, "method=tfqmr rtol=1e-4");

    assert_int_equal(o.status, KRY_OK);
    for (int64_t k = 1; k < o.res.history_count && k < MOST; k++)
        if (!(o.history[k] <= 2 * o.history[k - 1]))
            fail_msg("the residual grows from %g to %g", o.history[k - 1], o.history[k]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(tfqmr_solve__follows_the_recurrence),
        BOTH(tfqmr_solve__skew_symmetric),
        BOTH(tfqmr_solve__exact_in_one_iteration),
        BOTH(tfqmr_solve__is_smooth),
    };
    return cmocka_run_group_tests_name("tfqmr", tests, keep_profile, restore_profile);
}
