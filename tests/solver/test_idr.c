/* test_idr.c - IDR(s): against algorithm 913 in plain C, its breakdowns. */
#include "chains.h"

enum { STEPS = 12, S = 4, STREAM = 100 };

typedef long double column[MOST];

/* The vectors P of the library. */
static void make_P(kry_type type, int64_t n, int s, column *P)
{
    for (int i = 0; i < s; i++) {
        for (int64_t k = 0; k < n; k++)
            P[i][k] = to_type(type, kry_random_unit(1, (uint64_t)(STREAM + i), (uint64_t)k) - 0.5);
    }
}

/* Norms of r at iterations 0 ... STEPS, from x = 0, M = scale: figure 2 of the paper, with the angle of 0.7. */
static void reference(const chain *c, int s, long double scale, column *P, double *norms)
{
    static column r, v, t, G[S], U[S];
    long double M[S][S] = { { 0 } }, f[S], omega = 1;
    const int64_t n = c->n;
    int done = 0;

    memset(G, 0, sizeof G), memset(U, 0, sizeof U);
    for (int i = 0; i < s; i++) M[i][i] = 1;
    for (int64_t i = 0; i < n; i++) r[i] = c->b[i];
    norms[0] = (double)sqrtl(product(n, r, r));
    while (done < STEPS) {
        for (int i = 0; i < s; i++) f[i] = product(n, P[i], r);
        for (int k = 0; k < s; k++) {
            long double by[S];
            memcpy(v, r, sizeof v);
            for (int i = k; i < s; i++) {
                by[i] = f[i];
                for (int h = k; h < i; h++) by[i] -= M[i][h] * by[h];
                by[i] /= M[i][i];
                add(n, -by[i], G[i], v);
            }
            for (int64_t i = 0; i < n; i++) v[i] *= omega * scale;
            for (int i = k; i < s; i++) add(n, by[i], U[i], v);
            memcpy(U[k], v, sizeof v);
            times(c, U[k], G[k]);
            for (int i = 0; i < k; i++) {
                const long double alpha = product(n, P[i], G[k]) / M[i][i];
                add(n, -alpha, G[i], G[k]), add(n, -alpha, U[i], U[k]);
            }
            for (int i = k; i < s; i++) M[i][k] = product(n, P[i], G[k]);
            const long double beta = f[k] / M[k][k];
            add(n, -beta, G[k], r);
            for (int i = k + 1; i < s; i++) f[i] -= beta * M[i][k];
            norms[++done] = (double)sqrtl(product(n, r, r));
        }
        for (int64_t i = 0; i < n; i++) v[i] = scale * r[i];
        times(c, v, t);
        const long double tr = product(n, t, r), tt = product(n, t, t);
        const long double angle = fabsl(tr) / sqrtl(tt * product(n, r, r));
        omega = tr / tt * (angle < 0.7L ? 0.7L / angle : 1);
        add(n, -omega, t, r);
        norms[++done] = (double)sqrtl(product(n, r, r));
    }
}

static void idr_solve__follows_the_recurrence(void **state)
{
    kry_type type = type_of(state);
    chain c = chain_with(MOST - 10, -1.5, 2.8, -0.5);
    double want[STEPS + S + 1];
    static column P[S];

    for (int s = 1; s <= S; s++)
        for (int jacobi = 0; jacobi < 2; jacobi++) {
            char words[96];
            snprintf(words, sizeof words, "method=idr:%d maxit=12 rtol=1e-7 precond=%s", s,
                     jacobi ? "jacobi" : "none");
            outcome o = solve(type, &c, words);
            make_P(type, c.n, s, P);
            reference(&c, s, jacobi ? 1 / c.val[0] : 1, P, want);
            assert_true(o.res.history_count > STEPS / 2);
            for (int64_t k = 0; k < o.res.history_count; k++)
                NEAR(o.history[k], want[k], (type == KRY_F32 ? 5e-3 : 1e-10) * want[0],
                     "s = %d, jacobi %d, iteration %lld", s, jacobi, (long long)k);
        }
}

/* More vectors P than unknowns: the steps that there are solve it. */
static void idr_solve__few_unknowns(void **state)
{
    kry_type type = type_of(state);
    for (int n = 1; n <= 5; n++) {
        chain c = chain_with(n, -1, 3, -0.5);
        outcome o = solve(type, &c, "method=idr:16 rtol=1e-5");
        assert_int_equal(o.status, KRY_OK);
        assert_true(o.res.iterations <= n + 1);
    }
}

/* r'A r = 0 for every r of a skew-symmetric A. */
static void idr_solve__skew_symmetric(void **state)
{
    kry_type type = type_of(state);
    chain c = { .n = 2, .row_ptr = { 0, 1, 2 }, .col = { 1, 0 }, .val = { 1, -1 }, .b = { 1, 0 } };
    outcome o = solve(type, &c, "method=idr:1 rtol=1e-5");

    assert_int_equal(o.status, KRY_BREAKDOWN);
    assert_int_equal(o.res.reason, KRY_BROKE_DOWN);
    assert_non_null(strstr(o.res.why, "1 breakdown, then a new beginning"));
    assert_true(isfinite(o.x[0]) && isfinite(o.x[1]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(idr_solve__follows_the_recurrence),
        BOTH(idr_solve__few_unknowns),
        BOTH(idr_solve__skew_symmetric),
    };
    return cmocka_run_group_tests_name("idr", tests, keep_profile, restore_profile);
}
