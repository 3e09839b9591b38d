/* test_bicgstab.c - BiCGStab(l): against the algorithm of the paper in plain C, its breakdowns. */
#include "chains.h"

enum { STEPS = 12, L = 4 };

typedef long double column[MOST];

/* The minimal residual by Gram and Schmidt's orthogonalisation, as algorithm 3.1 has it: r_0 and u_0. */
static long double minimise(int64_t n, int l, column *r, column *u)
{
    long double tau[L + 1][L + 1], sigma[L + 1], prime[L + 1], gamma[L + 1];
    static column q[L + 1];

    for (int j = 1; j <= l; j++) {
        memcpy(q[j], r[j], sizeof q[j]);
        for (int i = 1; i < j; i++) {
            tau[i][j] = product(n, q[j], q[i]) / sigma[i];
            add(n, -tau[i][j], q[i], q[j]);
        }
        sigma[j] = product(n, q[j], q[j]);
        prime[j] = product(n, r[0], q[j]) / sigma[j];
    }
    for (int j = l; j > 0; j--) {
        gamma[j] = prime[j];
        for (int i = j + 1; i <= l; i++) gamma[j] -= tau[j][i] * gamma[i];
    }
    for (int j = 1; j <= l; j++) add(n, -gamma[j], r[j], r[0]), add(n, -gamma[j], u[j], u[0]);
    return gamma[l];
}

/* Norms of r_0 at iterations 0 ... STEPS, from x = 0, M = 1 / diagonal or without. */
static void reference(const chain *c, int l, bool jacobi, double *norms)
{
    static column r[L + 1], u[L + 1], shadow, t;
    const long double scale = jacobi ? 1 / c->val[0] : 1;
    long double rho = 1, alpha = 0, omega = 1;
    int step = 0;

    memset(u, 0, sizeof u);
    for (int64_t i = 0; i < c->n; i++) r[0][i] = shadow[i] = c->b[i];
    norms[0] = (double)sqrtl(product(c->n, r[0], r[0]));
    while (step < STEPS) {
        rho *= -omega;
        for (int j = 0; j < l; j++) {
            const long double next = product(c->n, r[j], shadow), beta = alpha * next / rho;
            rho = next;
            for (int i = 0; i <= j; i++)
                for (int64_t k = 0; k < c->n; k++) u[i][k] = r[i][k] - beta * u[i][k];
            times(c, u[j], t);
            for (int64_t k = 0; k < c->n; k++) u[j + 1][k] = scale * t[k];
            alpha = rho / product(c->n, u[j + 1], shadow);
            for (int i = 0; i <= j; i++) add(c->n, -alpha, u[i + 1], r[i]);
            times(c, r[j], t);
            for (int64_t k = 0; k < c->n; k++) r[j + 1][k] = scale * t[k];
            norms[++step] = (double)sqrtl(product(c->n, r[0], r[0]));
        }
        omega = minimise(c->n, l, r, u);
        norms[step] = (double)sqrtl(product(c->n, r[0], r[0]));
    }
}

static void bicgstab_solve__follows_the_recurrence(void **state)
{
    kry_type type = type_of(state);
    chain c = chain_with(MOST - 10, -1.75, 2.5, -0.5);
    double want[STEPS + L];

    for (int l = 1; l <= L; l++)
        for (int jacobi = 0; jacobi < 2; jacobi++) {
            char words[96];
            snprintf(words, sizeof words, "method=bicgstab:%d maxit=12 rtol=1e-7 precond=%s", l,
                     jacobi ? "jacobi" : "none");
            outcome o = solve(type, &c, words);
            reference(&c, l, jacobi, want);
            assert_true(o.res.history_count > STEPS / 2);
            for (int64_t k = 0; k < o.res.history_count; k++)
                NEAR(o.history[k], want[k], (type == KRY_F32 ? 2e-3 : 1e-10) * want[0],
                     "l = %d, jacobi %d, iteration %lld", l, jacobi, (long long)k);
        }
}

/* r'A r = 0 for every r of a skew-symmetric A: l = 1 makes no way, and says so; l = 2 does. */
static void bicgstab_solve__skew_symmetric(void **state)
{
    kry_type type = type_of(state);
    chain c = chain_with(20, -1, 0, 1);
    outcome o = solve(type, &c, "method=bicgstab:1 rtol=1e-5");

    assert_int_equal(o.status, KRY_BREAKDOWN);
    assert_int_equal(o.res.reason, KRY_BROKE_DOWN);
    assert_non_null(strstr(o.res.why, "orthogonal to r"));
    assert_non_null(strstr(o.res.why, "1 breakdown, then a new beginning"));
    for (int k = 0; k < 20; k++) assert_true(isfinite(o.x[k]));
    o = solve(type, &c, "method=bicgstab:2 rtol=1e-3");
    assert_int_equal(o.status, KRY_OK);
    assert_non_null(strstr(o.res.why, "then a new beginning"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(bicgstab_solve__follows_the_recurrence),
        BOTH(bicgstab_solve__skew_symmetric),
    };
    return cmocka_run_group_tests_name("bicgstab", tests, keep_profile, restore_profile);
}
