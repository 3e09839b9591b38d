/* test_methods.c - what every Krylov method beside conjugate gradients has to do: solve, stop in
 * every way, show x to a monitor, run on a team and as the solver in single, refuse what it cannot use. What
 * the recurrences are is in the test of each. */
#include "chains.h"

enum { DEFINITE, SYMMETRIC, ANY };

typedef struct method {
    const char *word;
    int takes; /* which matrices, of these */
} method;

static const method methods[] = {
    { "pipe-cg", DEFINITE }, { "cr", DEFINITE },    { "minres", SYMMETRIC }, { "bicgstab:1", ANY },
    { "bicgstab", ANY },     { "bicgstab:4", ANY }, { "idr", ANY },          { "idr:1", ANY },
    { "gmres", ANY },        { "gmres:4", ANY },    { "fgmres:70", ANY },    { "tfqmr", ANY },
};

/* "method=WORD more" */
static const char *words_of(const method *m, const char *more)
{
    static char words[160];
    snprintf(words, sizeof words, "method=%s %s", m->word, more);
    return words;
}

/* Well-conditioned: convection, or one that is indefinite. */
static chain suitable(const method *m, int64_t n)
{
    if (m->takes == DEFINITE) return chain_of(n, 2.5, 2.5);
    return m->takes == ANY ? chain_with(n, -1.5, 2.8, -0.5) : chain_of(n, 0.55, 0.55);
}

static void solve__known_solution(void **state)
{
    kry_type type = type_of(state);
    static const int64_t sizes[] = { 1, 2, 7, 63, 64, 257 };

    for (size_t i = 0; i < COUNT(methods); i++)
        for (size_t s = 0; s < COUNT(sizes); s++) {
            chain c = suitable(&methods[i], sizes[s]);
            const char *words =
                words_of(&methods[i], s % 2 ? "rtol=1e-6 precond=jacobi" : "rtol=1e-6");
            outcome o = solve(type, &c, words);
            if (o.status != KRY_OK)
                print_message("# %s, n = %lld: %s\n", words, (long long)sizes[s], o.res.why);
            assert_int_equal(o.status, KRY_OK);
            assert_int_equal(o.res.reason, KRY_CONVERGED);
            double rounding = (type == KRY_F32 ? 1e-6 : 1e-13) * o.res.norm_b;
            NEAR(residual_of(&c, o.x), o.res.true_residual, rounding, "%s", words);
            assert_true(o.res.iterations <= 4 * sizes[s] + 100);
        }
}

static void solve__zero_rhs_and_exact_guess(void **state)
{
    for (size_t i = 0; i < COUNT(methods); i++) {
        const chain c = suitable(&methods[i], 50);
        check_guess_and_zero(type_of(state), &c, words_of(&methods[i], "rtol=1e-5"));
    }
}

static void solve__iteration_limit(void **state)
{
    static const int most[] = { 1, 7, 64, 65, 66 };

    for (size_t i = 0; i < COUNT(methods); i++)
        for (size_t k = 0; k < COUNT(most); k++) {
            chain c = chain_of(200, 2, 2);
            char more[64];
            snprintf(more, sizeof more, "maxit=%d check-every=%d", most[k], k % 2 ? 64 : 0);
            outcome o = check_limit(type_of(state), &c, words_of(&methods[i], more), most[k]);
            NEAR(o.res.residual, o.res.true_residual, 1e-3 * o.res.norm_b, "%s", more);
        }
}

/* More digits than single has: cycles that gain nothing are not repeated up to the limit. */
static void solve__stagnates(void **state)
{
    (void)state;
    const chain c = chain_of(MOST - 10, 2, 2);
    const outcome o = solve(KRY_F32, &c, "method=cg atol=3e-8 maxit=50000");

    assert_int_equal(o.status, KRY_STAGNATED);
    assert_true(o.res.iterations < 10000 && o.res.restarts < 30);
}

static int look_at_x(void *user, const kry_iteration *it)
{
    eye *e = user;
    double *x = numbers_of(e->x);
    NEAR(residual_of(e->c, x), it->residual, 1e-4, "x of iteration %lld", (long long)it->iteration);
    free(x);
    e->calls++;
    return it->iteration >= 9;
}

static void solve__monitor_sees_each_iterate(void **state)
{
    for (size_t i = 0; i < 2 * COUNT(methods); i++) {
        const method *m = &methods[i / 2];
        const chain c = suitable(m, 200);
        const char *words = words_of(m, i % 2 ? "check-every=3 precond=jacobi rtol=1e-7"
                                              : "check-every=3 rtol=1e-7");
        check_monitor_stop(type_of(state), &c, words, look_at_x);
    }
}

/* Stops at its call number `last`, with the device ahead of it. */
typedef struct stopper {
    int calls, last;
    int64_t seen;
} stopper;

static int stop_later(void *user, const kry_iteration *it)
{
    stopper *s = user;
    s->seen = it->iteration;
    return ++s->calls >= s->last;
}

/* However far the device has run ahead of the monitor: iterations, residual, history and x belong together. */
static void solve__monitor_behind_stops(void **state)
{
    static const method more[] = { { "cg", DEFINITE },
                                   { "pcg precond=jacobi", DEFINITE },
                                   { "richardson precond=jacobi", DEFINITE } };
    kry_type type = type_of(state);
    int behind = 0;

    for (size_t i = 0; i < COUNT(methods) + COUNT(more); i++)
        for (int last = 1; last <= 3; last++) {
            const method *m = i < COUNT(methods) ? &methods[i] : &more[i - COUNT(methods)];
            const chain c = chain_of(MOST - 10, 2, 2);
            stopper s = { .last = last };
            kry_op *A = matrix_of(device(), type, &c, 0), *S;
            double x[MOST] = { 0 };
            kry_result res;

            OK(kry_solver_create(A, words_of(m, "rtol=1e-7 maxit=100000"), stop_later, &s, &S));
            const kry_status st = kry_solve_host(S, c.b, x, &res);
            if (s.calls < last) { /* it was over before */
                assert_true(st != KRY_STOPPED);
            } else if (st != KRY_OK) {
                if (st != KRY_STOPPED) fail_msg("%s: %s", words_of(m, ""), res.why);
                assert_int_equal(s.calls, last);
                behind += res.iterations > s.seen;
            }
            if (st == KRY_OK) assert_true(res.residual <= 1.001 * res.target);
            assert_int_equal(res.history_count, res.iterations + 1);
            assert_true(res.residual == res.history[res.history_count - 1]);
            const double real = residual_of(&c, x);
            NEAR(real, res.true_residual, 1e-4 * res.norm_b, "%s, call %d", m->word, last);
            NEAR(res.residual, real, 1e-3 * res.norm_b, "%s, call %d: residual", m->word, last);
            kry_op_release(&S);
            kry_op_release(&A);
        }
    print_message("# %d times the device was ahead\n", behind);
}

/* A chain that maps constants to zero: b that has some of them, and b that has none. */
static void check_singular(kry_type type, const method *m)
{
    chain c = chain_of(16, 2, 1);
    static const char *const more[] = { "", "precond=jacobi" };
    /* Elsewhere Jacobi changes which b is in the range only by rounding, and so the reason. */
    const size_t kinds = m->takes == DEFINITE ? COUNT(more) : 1;
    double mean = 0;

    for (int i = 0; i < 16; i++) mean += c.b[i] / 16;
    for (size_t i = 0; i < 2 * kinds; i++) {
        const bool consistent = i >= kinds;
        char words[96];
        if (i == kinds)
            for (int k = 0; k < 16; k++) c.b[k] -= mean;
        snprintf(words, sizeof words, "method=%s rtol=1e-4 %s", m->word, more[i % kinds]);
        outcome o = solve_on(device(), type, &c, KRY_SINGULAR, words);
        assert_int_equal(o.status, consistent ? KRY_OK : KRY_NOT_CONVERGED);
        if (!consistent) {
            assert_int_equal(o.res.reason, KRY_INCONSISTENT);
            continue;
        }
        NEAR(residual_of(&c, o.x), 0, 1.1e-4 * o.res.norm_b, "%s", words);
        double sum = 0;
        for (int k = 0; k < 16; k++) sum += o.x[k];
        NEAR(sum, 0, 1e-2, "x is clear of constants");
    }
}

static void solve__singular(void **state)
{
    for (size_t i = 0; i < COUNT(methods); i++) check_singular(type_of(state), &methods[i]);
}

static kry_status copy(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    (void)self;
    return kry_vec_axpby(alpha, x, beta, y);
}

static void create__refuses(void **state)
{
    kry_type type = type_of(state);
    static const kry_op_table table = { sizeof table, "copy", .apply = copy };
    const int64_t row_ptr[] = { 0, 2, 2, 3 }, wide_ptr[] = { 0, 1, 2 };
    const int32_t col[] = { 0, 1, 2 };
    const double val[] = { 1, 2, 3 };
    void *numbers = in_type(type, val, 3);
    kry_op *A, *wide, *zeros, *M, *S;
    chain c = suitable(&methods[0], 30), definite = chain_of(30, 3, 3);
    kry_op_shape shape = { c.n, c.n, type, KRY_VARYING };

    A = matrix_of(device(), type, &definite, 0);
    OK(kry_csr_create(device(), type, 2, 3, wide_ptr, col, numbers, NULL, &wide));
    OK(kry_csr_create(device(), type, 3, 3, row_ptr, col, numbers, NULL, &zeros));
    OK(kry_op_create(device(), &table, NULL, &shape, &M));
    for (size_t i = 0; i < COUNT(methods); i++) {
        const method *m = &methods[i];
        REFUSES(kry_solver_create(wide, words_of(m, ""), NULL, NULL, &S), KRY_ERR_SHAPE, "2-by-3");
        if (m->takes == ANY)
            REFUSES(kry_solver_create(zeros, words_of(m, "null-space=none"), NULL, NULL, &S),
                    KRY_ERR_UNSUPPORTED, "nothing but zeros, the first of them row 1");
        if (!is_host(device()))
            REFUSES(kry_solver_create(A, words_of(m, "deflation=stripes:2"), NULL, NULL, &S),
                    KRY_ERR_UNSUPPORTED, "takes no deflation");
    }
    REFUSES(kry_solver_create(A, "method=bicgstab:5", NULL, NULL, &S), KRY_ERR_PARSE,
            "bicgstab:5: its l is from 1 to 4");
    if (type == KRY_F64)
        REFUSES(
            kry_solver_create(A, "method=gmres precision=mixed scheme=flexible", NULL, NULL, &S),
            KRY_ERR_UNSUPPORTED, "around 'gmres' take reliable or classical");
    REFUSES(kry_solver_create(A, "method=gmres:129", NULL, NULL, &S), KRY_ERR_PARSE,
            "gmres:129: its m is from 1 to 128");
    REFUSES(kry_solver_create(A, "method=gmres precond=block-jacobi:3 method=cg:2", NULL, NULL, &S),
            KRY_ERR_PARSE, "has no number");
    REFUSES(kry_solver_create(A, "method=cr:5", NULL, NULL, &S), KRY_ERR_PARSE, "has no number");
    REFUSES(kry_solver_create(A, "method=jacobi:5", NULL, NULL, &S), KRY_ERR_PARSE,
            "has no number");
    REFUSES(kry_solver_create(A, "method=bicgstab:x", NULL, NULL, &S), KRY_ERR_PARSE,
            "'x' is no number");
    REFUSES(kry_solver_create(A, "method=bicgstab:0", NULL, NULL, &S), KRY_ERR_PARSE,
            "'0' is no number");
    kry_op_release(&M);
    kry_op_release(&zeros);
    kry_op_release(&wide);
    kry_op_release(&A);
    free(numbers);
}

static void solve__on_a_team(void **state)
{
    kry_type type = type_of(state);

    for (size_t i = 0; i < COUNT(methods); i++) {
        chain c = suitable(&methods[i], MOST);
        outcome one = solve(type, &c, words_of(&methods[i], "precond=jacobi rtol=1e-5")),
                first = { .status = 0 };
        for (int reproducible = 0; reproducible < 2; reproducible++)
            for (int parts = 1; parts <= 3; parts += 1 + reproducible) {
                kry_device *team =
                    open_team(parts, (kry_team_params){ .reproducible = reproducible });
                outcome o =
                    solve_on(team, type, &c, 0, words_of(&methods[i], "precond=jacobi rtol=1e-5"));
                assert_int_equal(o.status, KRY_OK);
                NEAR(o.res.iterations, one.res.iterations, 3 + 0.1 * (double)one.res.iterations,
                     "iterations");
                assert_true(residual_of(&c, o.x) <= 1.01 * o.res.target);
                if (reproducible && parts == 1) first = o;
                if (reproducible) assert_memory_equal(o.x, first.x, sizeof o.x);
                close_team(&team);
            }
    }
}

static void solve__as_the_solver_in_single(void **state)
{
    (void)state;
    static const char *const schemes[] = { "auto", "classical" };

    if (acc_type() != KRY_F64) SKIP("no double");
    for (size_t i = 0; i < COUNT(methods); i++)
        for (size_t k = 0; k < COUNT(schemes); k++) {
            chain c = suitable(&methods[i], MOST);
            char more[96];
            snprintf(more, sizeof more, "precision=mixed rtol=1e-10 scheme=%s", schemes[k]);
            outcome o = solve(KRY_F64, &c, words_of(&methods[i], more));
            assert_int_equal(o.status, KRY_OK);
            assert_true(residual_of(&c, o.x) <= 1.001e-10 * o.res.norm_b);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(solve__stagnates),
        BOTH(solve__known_solution),
        BOTH(solve__zero_rhs_and_exact_guess),
        BOTH(solve__iteration_limit),
        BOTH(solve__monitor_sees_each_iterate),
        BOTH(solve__monitor_behind_stops),
        BOTH(solve__singular),
        BOTH(create__refuses),
        BOTH(solve__on_a_team),
        cmocka_unit_test(solve__as_the_solver_in_single),
    };
    return cmocka_run_group_tests_name("methods", tests, keep_profile, restore_profile);
}
