/* test_minres.c - MINRES: against conjugate residuals in plain C, which have the same iterates; where those break
 * down; and where no x solves A x = b, against eigenvectors. */
#include "chains.h"
#include "eigen.h"

static void minres_solve__follows_conjugate_residuals(void **state)
{
    kry_type type = type_of(state);
    enum { STEPS = 30 };
    double want[STEPS + 1];

    for (int i = 0; i < 4; i++) {
        const bool jacobi = i % 2;
        chain c = i / 2 ? chain_of(MOST - 10, 0.55, 0.7) : chain_of(MOST - 10, 2.25, 3.5);
        outcome o = solve(type, &c,
                          jacobi ? "method=minres precond=jacobi maxit=30 rtol=1e-7"
                                 : "method=minres maxit=30 rtol=1e-7");
        conjugate_residuals(&c, jacobi, STEPS, want);
        assert_true(o.res.history_count > STEPS / 2);
        for (int64_t k = 0; k < o.res.history_count; k++)
            NEAR(o.history[k], want[k], (type == KRY_F32 ? 1e-3 : 1e-10) * want[0],
                 "case %d, iteration %lld", i, (long long)k);
        NEAR(o.res.residual, o.res.true_residual, (type == KRY_F32 ? 1e-4 : 1e-12) * want[0],
             "the residual");
    }
}

/* Conjugate residuals make no step here. */
static void minres_solve__where_conjugate_residuals_break_down(void **state)
{
    kry_type type = type_of(state);
    chain c = { .n = 2, .row_ptr = { 0, 1, 2 }, .col = { 1, 0 }, .val = { 1, 1 }, .b = { 1, 0 } };
    outcome o = solve(type, &c, "method=minres");

    assert_int_equal(o.status, KRY_OK);
    assert_int_equal(o.res.iterations, 2);
    NEAR(o.x[1], 1, 1e-6, "x");
}

/* A maps b to zero: no step changes the residual. */
static void minres_solve__without_a_solution(void **state)
{
    kry_type type = type_of(state);
    chain c = { .n = 3,
                .row_ptr = { 0, 1, 2, 3 },
                .col = { 0, 1, 2 },
                .val = { 2, -1, 0 },
                .b = { 0, 0, 0.5 } };
    outcome o = solve(type, &c, "method=minres");

    assert_int_equal(o.status, KRY_NOT_CONVERGED);
    assert_int_equal(o.res.reason, KRY_INCONSISTENT);
    assert_non_null(strstr(o.res.why, "no x solves A x = b"));
    NEAR(o.res.inconsistent, 0.5, 1e-5, "what is left");
    for (int i = 0; i < 3; i++) NEAR(o.x[i], 0, 1e-6, "x[%d]", i);
}

/* Squares of A's numbers overflow or vanish. */
static void minres_solve__any_size(void **state)
{
    kry_type type = type_of(state);
    static const double scales[2][2] = { { 1e20, 1e-20 }, { 1e160, 1e-300 } };
    const double rtol = type == KRY_F32 ? 1e-5 : 1e-8;

    for (int i = 0; i < 4; i++) {
        chain c = i / 2 ? chain_of(40, 0.55, 0.7) : chain_of(40, 2.25, 3.5);
        const outcome plain = solve(type, &c, "method=minres");
        for (int64_t k = 0; k < c.row_ptr[c.n]; k++) c.val[k] *= scales[type == KRY_F64][i % 2];
        const outcome o = solve(type, &c, "method=minres");
        assert_int_equal(o.status, KRY_OK);
        assert_int_equal(o.res.reason, KRY_CONVERGED);
        NEAR(residual_of(&c, o.x), 0, 1.01 * rtol * o.res.norm_b, "case %d: the residual", i);
        assert_true(llabs((long long)(o.res.iterations - plain.res.iterations)) <= 2);
    }
}

/* ---- b out of the range of A ------------------------------------------------------------------- */

/* A symmetric matrix with all its entries, rounded to a type, and b. */
typedef struct full {
    int n;
    double *a, *b;
} full;

static full full_of(int n)
{
    full F = { n, calloc((size_t)n * (size_t)n, sizeof(double)),
               calloc((size_t)n, sizeof(double)) };
    assert_true(F.a && F.b);
    for (int i = 0; i < n; i++) F.b[i] = random_number(KRY_F32);
    return F;
}

static void full_release(full *F) { free(F->a), free(F->b); }

/* sum of lambda_k q_k q_k', with random orthonormal q */
static full full_with(kry_type type, int n, const double *lambda)
{
    full F = full_of(n);
    double *q = calloc((size_t)n * (size_t)n, sizeof *q);

    assert_non_null(q);
    for (int i = 0; i < n; i++) q[i * n + i] = 1;
    for (int reflection = 0; reflection < 3; reflection++) {
        double v[MOST], square = 0;
        for (int k = 0; k < n; k++) v[k] = random_number(KRY_F64), square += v[k] * v[k];
        for (int j = 0; j < n; j++) {
            double dot = 0;
            for (int k = 0; k < n; k++) dot += v[k] * q[j * n + k];
            for (int k = 0; k < n; k++) q[j * n + k] -= 2 * dot / square * v[k];
        }
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            double sum = 0;
            for (int k = 0; k < n; k++) sum += lambda[k] * q[k * n + i] * q[k * n + j];
            F.a[i * n + j] = F.a[j * n + i] = to_type(type, sum);
        }
    free(q);
    return F;
}

/* Random lambda in size between 1 / condition and 1, of both signs, of which the first `zeros` are zero. */
static full full_singular(kry_type type, int n, int zeros, double condition)
{
    double lambda[MOST];
    for (int i = 0; i < n; i++)
        lambda[i] = i < zeros ? 0
                              : (random_below(2) ? 1 : -1) *
                                    pow(condition, -(random_number(KRY_F64) + 1) / 2);
    return full_with(type, n, lambda);
}

/* The Laplacian of a grid with natural boundary conditions. */
static full full_grid(int width, int height)
{
    full F = full_of(width * height);

    for (int i = 0; i < F.n; i++)
        for (int j = 0; j < F.n; j++) {
            const int across = abs(i % width - j % width), down = abs(i / width - j / width);
            if (across + down != 1) continue;
            F.a[i * F.n + j] = -1, F.a[i * F.n + i] += 1;
        }
    return F;
}

static kry_op *op_of(kry_device *dev, kry_type type, int n, const double *a)
{
    matrix A = matrix_from(a, n);
    void *val = in_type(type, A.val, A.nnz);
    kry_op *op;

    OK(kry_csr_create(dev, type, n, n, A.row_ptr, A.col, val, NULL, &op));
    free(val);
    matrix_release(&A);
    return op;
}

/* A preconditioner that is positive definite: I + 0.3 G G' with random G, or diagonal. */
static kry_op *positive_of(kry_device *dev, kry_type type, int n, bool diagonal)
{
    double *g = random_array(KRY_F64, (int64_t)n * n),
           *m = calloc((size_t)n * (size_t)n, sizeof *m);

    assert_non_null(m);
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            for (int k = 0; k < n && !diagonal; k++)
                m[i * n + j] += 0.3 / n * g[i * n + k] * g[j * n + k];
            if (i == j) m[i * n + j] += 1 + (diagonal ? fabs(g[i]) : 0);
            m[j * n + i] = m[i * n + j];
        }
    kry_op *M = op_of(dev, type, n, m);
    free(g), free(m);
    return M;
}

/* How far F's least-squares problem is solved by x, and the length of its shortest solution. */
typedef struct least_squares {
    double mapped; /* ||A r|| / ||A||, r = b - A x */
    double out;    /* of b, out of the range of A */
    int zeros;     /* eigenvalues of A */
    double shortest, length;
} least_squares;

static least_squares judge_full(kry_type type, const full *F, const double *x)
{
    const int n = F->n;
    double *a = calloc((size_t)n * (size_t)n, sizeof *a),
           *q = calloc((size_t)n * (size_t)n, sizeof *q);
    double r[MOST], norm = 0;
    least_squares L = { 0 };

    assert_true(a && q);
    memcpy(a, F->a, (size_t)n * (size_t)n * sizeof *a);
    diagonalise(n, a, q);
    for (int i = 0; i < n; i++) norm = fmax(norm, fabs(a[i * n + i]));
    for (int i = 0; i < n; i++) {
        r[i] = F->b[i];
        for (int j = 0; j < n; j++) r[i] -= F->a[i * n + j] * x[j];
        L.length = hypot(L.length, x[i]);
    }
    for (int k = 0; k < n; k++) {
        double rk = 0, bk = 0;
        const double lambda = a[k * n + k];
        const bool zero = fabs(lambda) <= 16 * (double)eps_of(type) * norm;
        for (int i = 0; i < n; i++) rk += q[i * n + k] * r[i], bk += q[i * n + k] * F->b[i];
        L.mapped = hypot(L.mapped, lambda * rk / norm);
        L.zeros += zero;
        if (zero)
            L.out = hypot(L.out, bk);
        else
            L.shortest = hypot(L.shortest, bk / lambda);
    }
    free(a), free(q);
    return L;
}

static kry_status solve_full(kry_device *dev, kry_type type, const full *F, int precond,
                             double rtol, double *x, kry_result *res)
{
    kry_op *A = op_of(dev, type, F->n, F->a), *S,
           *M = precond ? positive_of(dev, type, F->n, precond == 1) : NULL;
    kry_vec *b = vec_on(dev, type, F->b, F->n, 1), *v = vec_on(dev, type, x, F->n, 1);

    OK(kry_krylov_create(A, "minres", KRY_PCG(.precond = M, .stop = { .rtol = rtol }), &S));
    const kry_status st = kry_solve(S, b, v, res);
    double *numbers = numbers_of(v);
    memcpy(x, numbers, (size_t)F->n * sizeof *x);
    free(numbers);
    res->history = NULL, res->checks = NULL;
    kry_op_release(&S);
    kry_op_release(&A);
    kry_op_release(&M);
    kry_vec_release(&b);
    kry_vec_release(&v);
    return st;
}

static void check_out_of_range(kry_device *dev, kry_type type, const full *F, int precond)
{
    const double rtol = type == KRY_F32 ? 1e-4 : 1e-8, rounding = 64 * (double)eps_of(type);
    double x[MOST] = { 0 }, guess = 0;
    kry_result res;

    for (int i = 0; i < F->n; i++) x[i] = random_number(KRY_F32), guess = hypot(guess, x[i]);
    assert_int_equal(solve_full(dev, type, F, precond, rtol, x, &res), KRY_NOT_CONVERGED);
    if (res.reason != KRY_INCONSISTENT)
        fail_msg("%d unknowns, preconditioner %d: %s", F->n, precond, res.why);
    const least_squares L = judge_full(type, F, x);
    NEAR(res.inconsistent, L.out, 10 * rtol * res.norm_b, "%d: out of the range", F->n);
    NEAR(L.mapped, 0, (1.1 * rtol + rounding) * res.norm_b, "%d: A r", F->n);
    /* Of what A maps to zero, x may keep what b has nothing of. */
    const double kept = L.zeros > 1 ? guess + L.shortest : 0.05 * L.shortest + rounding;
    NEAR(L.length, L.shortest, kept, "%d: x", F->n);
}

static void minres_solve__least_squares(void **state)
{
    kry_type type = type_of(state);
    static const struct {
        int n, zeros;
        double condition;
    } random[] = { { 3, 1, 2 }, { 7, 2, 5 }, { 25, 1, 30 }, { 37, 1, 100 }, { 61, 3, 10 } };

    for (int precond = 0; precond < 3; precond++) {
        full grids[] = { full_grid(61, 1), full_grid(9, 8), full_grid(2, 1) };
        for (size_t i = 0; i < COUNT(grids); i++) {
            check_out_of_range(device(), type, &grids[i], precond);
            full_release(&grids[i]);
        }
        for (size_t i = 0; i < COUNT(random); i++) {
            full F = full_singular(type, random[i].n, random[i].zeros, random[i].condition);
            check_out_of_range(device(), type, &F, precond);
            full_release(&F);
        }
    }
}

static void minres_solve__least_squares_on_a_team(void **state)
{
    kry_type type = type_of(state);
    kry_device *team = open_team(3, (kry_team_params){ 0 });

    for (int precond = 0; precond < 2; precond++) {
        full F = precond ? full_grid(9, 8) : full_singular(type, 41, 1, 20);
        check_out_of_range(team, type, &F, precond);
        full_release(&F);
    }
    close_team(&team);
}

/* One column is in the range and one is not; later A is regular. */
static void minres_solve__least_squares_among_columns(void **state)
{
    kry_type type = type_of(state);
    full F = full_grid(9, 5);
    const int n = F.n;
    double b[2 * MOST] = { 0 };
    kry_result res;

    b[4] = 1, b[7] = -1;
    memcpy(b + n, F.b, (size_t)n * sizeof *b);
    kry_op *A = op_of(device(), type, n, F.a), *S;
    kry_vec *B = vec_of(type, b, n, 2), *X;
    OK(kry_vec_create(device(), type, n, 2, &X));
    OK(kry_solver_create(A, type == KRY_F32 ? "method=minres rtol=1e-4" : "method=minres", NULL,
                         NULL, &S));
    assert_int_equal(kry_solve(S, B, X, &res), KRY_NOT_CONVERGED);
    assert_int_equal(res.columns, 2);
    assert_int_equal(res.column[0].reason, KRY_CONVERGED);
    assert_int_equal(res.column[1].reason, KRY_INCONSISTENT);
    double *x = numbers_of(X);
    const least_squares L = judge_full(type, &F, x + n);
    NEAR(L.mapped, 0, (type == KRY_F32 ? 2e-4 : 2e-8) * res.column[1].norm_b, "A r");
    free(x);
    for (int i = 0; i < n; i++) F.a[i * n + i] += 0.5;
    matrix values = matrix_from(F.a, n);
    void *val = in_type(type, values.val, values.nnz);
    OK(kry_op_update(A, val));
    OK(kry_op_update(S, NULL));
    OK(kry_solve(S, B, X, &res));
    free(val);
    matrix_release(&values);
    kry_op_release(&S);
    kry_op_release(&A);
    kry_vec_release(&B);
    kry_vec_release(&X);
    full_release(&F);
}

/* Regular matrices, however ill-conditioned, are none. */
static void minres_solve__regular_is_not_least_squares(void **state)
{
    enum { CASES = 120 };
    kry_type type = type_of(state);
    const double most = type == KRY_F32 ? 5 : 12; /* in single, more is rounding */
    int solved = 0;

    for (int i = 0; i < CASES; i++) {
        const int n = 12 + (int)random_below(40);
        const double power = 3 + (most - 3) * (random_number(KRY_F64) + 1) / 2;
        double lambda[MOST], x[MOST] = { 0 };
        for (int k = 0; k < n; k++) { /* spread, in two clusters, or one alone that is small */
            const double share = (random_number(KRY_F64) + 1) / 2;
            lambda[k] = i % 3 == 0   ? pow(10, -power * share)
                        : i % 3 == 1 ? (k % 3 ? 1 : pow(10, -power)) * (1 + 0.1 * share)
                                     : 0.5 + share;
            if (i % 2 && random_below(2)) lambda[k] = -lambda[k];
        }
        lambda[0] = 1, lambda[1] = (i % 2 ? -1 : 1) * pow(10, -power);
        full F = full_with(type, n, lambda);
        kry_result res;
        const kry_status st = solve_full(device(), type, &F, i % 5 == 0 ? 2 : 0, 0, x, &res);
        if (res.reason == KRY_INCONSISTENT || res.reason == KRY_CONVERGED_LEAST_SQUARES)
            fail_msg("case %d, %d unknowns, condition 1e%.1f: %s", i, n, power, res.why);
        solved += st == KRY_OK;
        full_release(&F);
    }
    print_message("# %d of %d solved\n", solved, CASES);
}

static void minres_create__preconditioners_it_cannot_use(void **state)
{
    kry_type type = type_of(state);
    static const kry_op_table table = { sizeof table, "minus", .apply = negate };
    chain c = chain_of(30, 3, 3);
    kry_op *A = matrix_of(device(), type, &c, 0), *M, *S;
    kry_op_shape shape = { c.n, c.n, type, 0 };
    kry_vec *b = vec_of(type, c.b, c.n, 1), *x;
    kry_result res;

    OK(kry_vec_create(device(), type, c.n, 1, &x));
    OK(kry_op_create(device(), &table, NULL, &shape, &M));
    OK(kry_krylov_create(A, "minres", KRY_PCG(.precond = M), &S));
    assert_int_equal(kry_solve(S, b, x, &res), KRY_BREAKDOWN);
    assert_int_equal(res.reason, KRY_INDEFINITE_PRECOND);
    assert_non_null(strstr(res.why, "v'Mv = -"));
    kry_op_release(&S);
    kry_op_release(&M);
    shape.traits = KRY_VARYING;
    OK(kry_op_create(device(), &table, NULL, &shape, &M));
    REFUSES(kry_krylov_create(A, "minres", KRY_PCG(.precond = M), &S), KRY_ERR_TYPE, "varies");
    kry_op_release(&M);
    kry_op_release(&A);
    kry_vec_release(&b);
    kry_vec_release(&x);
    c = chain_with(30, -1, 3, -2);
    A = matrix_of(device(), type, &c, 0);
    REFUSES(kry_solver_create(A, "method=minres", NULL, NULL, &S), KRY_ERR_UNSUPPORTED,
            "method=gmres");
    kry_op_release(&A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(minres_solve__follows_conjugate_residuals),
        BOTH(minres_solve__where_conjugate_residuals_break_down),
        BOTH(minres_solve__without_a_solution),
        BOTH(minres_solve__any_size),
        BOTH(minres_solve__least_squares),
        BOTH(minres_solve__least_squares_on_a_team),
        BOTH(minres_solve__least_squares_among_columns),
        BOTH(minres_solve__regular_is_not_least_squares),
        BOTH(minres_create__preconditioners_it_cannot_use),
    };
    return cmocka_run_group_tests_name("minres", tests, keep_profile, restore_profile);
}
