/* test_gmres.c - GMRES(m) and FGMRES(m): against modified Gram and Schmidt in plain C, how a cycle ends, a
 * preconditioner that varies. */
#include "chains.h"

enum { STEPS = 70 };

/* A column of the Hessenberg matrix h[0 ... j+1], its rotations, and |residual| of the step. */
typedef struct small {
    long double h[STEPS + 2], c[STEPS + 1], s[STEPS + 1], right[STEPS + 2], R[STEPS + 1][STEPS + 1];
} small;

static double rotate(small *q, int j)
{
    for (int i = 0; i < j; i++) {
        const long double a = q->h[i], b = q->h[i + 1];
        q->h[i] = q->c[i] * a + q->s[i] * b, q->h[i + 1] = q->c[i] * b - q->s[i] * a;
    }
    const long double d = hypotl(q->h[j], q->h[j + 1]);
    q->c[j] = q->h[j] / d, q->s[j] = q->h[j + 1] / d, q->h[j] = d;
    for (int i = 0; i <= j; i++) q->R[i][j] = q->h[i];
    q->right[j + 1] = -q->s[j] * q->right[j], q->right[j] *= q->c[j];
    return (double)fabsl(q->right[j + 1]);
}

/* One cycle of at most m steps from r = b - A x: x, and the residuals of its steps. M = scale. */
static int cycle(const chain *c, int m, long double scale, long double *x, double *norms)
{
    static long double V[STEPS + 1][MOST], y[STEPS + 1], r[MOST];
    static small q;
    int k = 0;

    times(c, x, r);
    for (int64_t i = 0; i < c->n; i++) r[i] = c->b[i] - r[i];
    q.right[0] = sqrtl(product(c->n, r, r));
    norms[0] = (double)q.right[0];
    for (int64_t i = 0; i < c->n; i++) V[0][i] = r[i] / q.right[0];
    for (; k < m; k++) {
        times(c, V[k], V[k + 1]);
        for (int64_t i = 0; i < c->n; i++) V[k + 1][i] *= scale;
        for (int h = 0; h <= k; h++) {
            q.h[h] = product(c->n, V[h], V[k + 1]);
            for (int64_t i = 0; i < c->n; i++) V[k + 1][i] -= q.h[h] * V[h][i];
        }
        q.h[k + 1] = sqrtl(product(c->n, V[k + 1], V[k + 1]));
        for (int64_t i = 0; i < c->n; i++) V[k + 1][i] /= q.h[k + 1];
        norms[k + 1] = rotate(&q, k);
    }
    for (int i = k - 1; i >= 0; i--) {
        y[i] = q.right[i];
        for (int h = i + 1; h < k; h++) y[i] -= q.R[i][h] * y[h];
        y[i] /= q.R[i][i];
        for (int64_t t = 0; t < c->n; t++) x[t] += scale * y[i] * V[i][t];
    }
    return k;
}

static void gmres_solve__follows_the_recurrence(void **state)
{
    kry_type type = type_of(state);
    static const int widths[] = { 1, 5, 64, 65, 128 };
    static const char *const words[] = { "gmres", "fgmres" };
    chain c = chain_with(MOST - 10, -1.5, 2, -0.4);

    for (size_t i = 0; i < 2 * COUNT(widths); i++) {
        const int m = widths[i / 2], jacobi = i / 2 % 2;
        long double x[MOST] = { 0 };
        double want[2 * STEPS + 1];
        char text[96];
        for (int k = 0; k < STEPS;)
            k += cycle(&c, m < STEPS - k ? m : STEPS - k, jacobi ? 1 / c.val[0] : 1, x, want + k);
        snprintf(text, sizeof text, "method=%s:%d maxit=%d rtol=1e-7 precond=%s", words[i % 2], m,
                 STEPS, jacobi ? "jacobi" : "none");
        outcome o = solve(type, &c, text);
        assert_true(o.res.history_count == STEPS + 1);
        for (int64_t k = 0; k < o.res.history_count; k++)
            NEAR(o.history[k], want[k], (type == KRY_F32 ? 1e-4 : 1e-12) * want[0],
                 "%s, iteration %lld", text, (long long)k);
        for (int64_t k = 0; k < c.n; k++)
            NEAR(o.x[k], (double)x[k], type == KRY_F32 ? 2e-3 : 1e-10, "%s, x[%lld]", text,
                 (long long)k);
        assert_int_equal(o.res.restarts, (STEPS - 1) / m);
    }
}

/* Eigenvalues from 1 to 1e12, where one pass of Gram and Schmidt is not enough: the vectors of a cycle are as
 * orthogonal as those of the reference, or the residuals would part. */
static void gmres_solve__graded_matrix(void **state)
{
    kry_type type = type_of(state);
    enum { M = 60 };
    chain c = chain_with(MOST - 10, -0.2, 1, -0.1);
    long double x[MOST] = { 0 };
    double want[M + 1];
    char text[64];

    for (int64_t i = 0; i < c.n; i++)
        for (int64_t k = c.row_ptr[i]; k < c.row_ptr[i + 1]; k++)
            c.val[k] *= pow(10, 12 * (double)i / (double)(c.n - 1));
    cycle(&c, M, 1, x, want);
    snprintf(text, sizeof text, "method=gmres:%d maxit=%d rtol=1e-7", M, M);
    outcome o = solve(type, &c, text);
    assert_true(o.res.history_count == M + 1);
    for (int64_t k = 0; k <= M; k++)
        NEAR(o.history[k], want[k], (type == KRY_F32 ? 1e-4 : 1e-11) * want[0], "iteration %lld",
             (long long)k);
    NEAR(o.res.true_residual, want[M], (type == KRY_F32 ? 1e-4 : 1e-11) * want[0], "in the end");
}

/* n steps are enough, but for rounding; and a space that A maps to itself ends them earlier. */
static void gmres_solve__ends_when_nothing_is_left(void **state)
{
    kry_type type = type_of(state);
    const char *words = "method=gmres rtol=1e-6";
    chain c = {
        .n = 3, .row_ptr = { 0, 1, 2, 3 }, .col = { 1, 2, 0 }, .val = { 1, 1, 1 }, .b = { 1, 0, 0 }
    };
    outcome o = solve(type, &c, words); /* a cyclic shift: no way before step n */

    assert_int_equal(o.status, KRY_OK);
    assert_int_equal(o.res.iterations, 3);
    assert_true(o.history[2] > 0.99);
    c = (chain){ .n = 4,
                 .row_ptr = { 0, 1, 2, 3, 4 },
                 .col = { 0, 1, 2, 3 },
                 .val = { 2, 2, -3, -3 },
                 .b = { 1, 2, 3, 4 } };
    o = solve(type, &c, words); /* two eigenvalues */
    assert_int_equal(o.status, KRY_OK);
    assert_int_equal(o.res.iterations, 2);
}

/* A maps b to zero: no step changes the residual. */
static void gmres_solve__singular_matrix_breaks_down(void **state)
{
    kry_type type = type_of(state);
    chain c = { .n = 2, .row_ptr = { 0, 1, 2 }, .col = { 1, 1 }, .val = { 1, 0 }, .b = { 1, 0 } };
    outcome o = solve(type, &c, "method=gmres check=none");

    assert_int_equal(o.status, KRY_BREAKDOWN);
    assert_int_equal(o.res.reason, KRY_BROKE_DOWN);
    assert_non_null(strstr(o.res.why, "r_jj = 0 at iteration 0"));
    assert_true(o.x[0] == 0 && o.x[1] == 0);
}

/* z := r / (the number of times it was asked) */
static kry_status vary(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    int *calls = self;
    return kry_vec_axpby(alpha / ++*calls, x, beta, y);
}

static void fgmres_solve__preconditioner_that_varies(void **state)
{
    kry_type type = type_of(state);
    static const kry_op_table table = { sizeof table, "vary", .apply = vary };
    chain c = chain_with(90, -1.5, 2.8, -0.5);
    int calls = 0;
    kry_op *A = matrix_of(device(), type, &c, 0), *M, *S;
    kry_op_shape shape = { c.n, c.n, type, KRY_VARYING };
    kry_vec *b = vec_of(type, c.b, c.n, 1), *x;
    kry_result res;
    const kry_pcg_params *params;

    OK(kry_vec_create(device(), type, c.n, 1, &x));
    OK(kry_op_create(device(), &table, &calls, &shape, &M));
    params = KRY_PCG(.precond = M, .stop = { .rtol = 1e-5 });
    REFUSES(kry_krylov_create(A, "gmres", params, &S), KRY_ERR_TYPE, "varies");
    REFUSES(kry_krylov_create(A, "gmres:200", params, &S), KRY_ERR_PARSE, "from 1 to 128");
    REFUSES(kry_krylov_create(A, "jacobi", params, &S), KRY_ERR_UNSUPPORTED, "is a relaxation");
    REFUSES(kry_krylov_create(A, "lanczos", params, &S), KRY_ERR_PARSE,
            "kry_krylov_create: method 'lanczos' is none of");
    OK(kry_krylov_create(A, "fgmres:20", params, &S));
    OK(kry_solve(S, b, x, &res));
    assert_int_equal(res.reason, KRY_CONVERGED);
    assert_in_range(res.iterations, 3, 40);
    assert_in_range(calls, res.iterations, res.iterations + 1);
    double *numbers = numbers_of(x);
    NEAR(residual_of(&c, numbers), res.true_residual, 1e-5 * res.norm_b, "x");
    free(numbers);
    kry_op_release(&S);
    kry_op_release(&M);
    kry_op_release(&A);
    kry_vec_release(&b);
    kry_vec_release(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(gmres_solve__follows_the_recurrence),
        BOTH(gmres_solve__graded_matrix),
        BOTH(gmres_solve__ends_when_nothing_is_left),
        BOTH(gmres_solve__singular_matrix_breaks_down),
        BOTH(fgmres_solve__preconditioner_that_varies),
    };
    return cmocka_run_group_tests_name("gmres", tests, keep_profile, restore_profile);
}
