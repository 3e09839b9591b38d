/* test_recycle.c - vectors that a solve leaves for deflation in the next ones: the eigenvalues that they belong to,
 * how many iterations they save, what becomes of them with a new matrix; and small symmetric eigenproblems. */
#include "again.h"
#include "eigen.h"

/* ---- small symmetric matrices ---------------------------------------------------------------------------- */

/* ---- systems with some small eigenvalues ------------------------------------------------------------------- */

enum { SMALL = 4, N = 150 };

/* Eigenvalues of about 1e-3, 2e-3 ..., one for each of SMALL rows, the others between 2 and 4. */
static chain weak_places(void)
{
    chain c = chain_with(N, -0.5, 3, -0.5);

    for (int s = 0; s < SMALL; s++)
        c.val[c.row_ptr[20 + 30 * s] + 1] = 1 / (3 + sqrt(8)) + 1e-3 * (s + 1);
    return c;
}

/* All eigenvalues of M A, which ascend, with M = 1 / diagonal or without. */
static void spectrum_of(const chain *c, bool jacobi, double *values)
{
    const int n = (int)c->n;
    double *A = calloc((size_t)(n * n), sizeof *A), *Q = calloc((size_t)(n * n), sizeof *Q),
           d[MOST];

    for (int i = 0; i < n; i++) d[i] = jacobi ? 1 / sqrt(c->val[c->row_ptr[i] + (i > 0)]) : 1;
    for (int i = 0; i < n; i++)
        for (int64_t k = c->row_ptr[i]; k < c->row_ptr[i + 1]; k++)
            A[i * n + c->col[k]] = d[i] * c->val[k] * d[c->col[k]];
    diagonalise(n, A, Q);
    for (int i = 0; i < n; i++) {
        int k = i;
        for (; k > 0 && values[k - 1] > A[i * n + i]; k--) values[k] = values[k - 1];
        values[k] = A[i * n + i];
    }
    free(A), free(Q);
}

/* With a right-hand side of its own, which is not without the eigenvectors that a solve is to find. */
static int64_t solve_another(again *a)
{
    double *b = random_array(a->type, a->c.n);
    for (int s = 0; s < SMALL; s++) b[20 + 30 * s] += 2;
    const int64_t iterations = again_solve(a, b);
    free(b);
    return iterations;
}

/* In single the residual of an x that is some 100 times as large as b rounds to more than 1e-5 of b. */
static const char *rtol_of(kry_type type) { return type == KRY_F32 ? "rtol=3e-4" : "rtol=1e-9"; }

static again weak(kry_type type, const char *words)
{
    char all[160];
    snprintf(all, sizeof all, "%s %s", words, rtol_of(type));
    return again_begin(device(), type, weak_places(), all);
}

/* After so many iterations ||r|| is below rtol ||b||, whatever b is: A's norm multiplies the error by at most
 * 2 sqrt(kappa) ((sqrt(kappa) - 1) / (sqrt(kappa) + 1))^k */
static int64_t bound(double kappa, double more, double rtol)
{
    const double root = sqrt(kappa), rate = (root - 1) / (root + 1);
    return 1 + (int64_t)ceil(log(rtol / (2 * more)) / log(rate));
}

/* The values are Ritz values, from above, and the smallest are found nearly to the last digit; a solve with their
 * vectors converges as if the matrix had only the other eigenvalues. */
static void check_values(again *a, bool jacobi, double rtol)
{
    double values[MOST];
    const int64_t first = solve_another(a);
    const double *found;
    const int count = vectors_recycled(a->S, &found);

    spectrum_of(&a->c, jacobi, values);
    assert_true(count >= SMALL);
    for (int i = 0; i < count; i++)
        if (!(found[i] >=
              values[i] * (1 - 200 * (double)eps_of(a->type) * values[N - 1] / values[i])))
            fail_msg("value %d is %g, below %g", i, found[i], values[i]);
    const double close = a->type == KRY_F32 ? 5e-2 : 1e-3;
    for (int i = 0; i < SMALL; i++)
        NEAR(found[i], values[i], close * values[i], "eigenvalue %d", i);
    const int64_t second = solve_another(a), most = bound(values[N - 1] / values[SMALL],
                                                          sqrt(values[N - 1] / values[0]), rtol);
    if (second > most || 4 * second > 3 * first)
        fail_msg("%lld iterations after %lld; theory: %lld", (long long)second, (long long)first,
                 (long long)most);
    for (int k = 0; k < 3; k++) assert_true(solve_another(a) <= most);
}

static void recycle_solve__finds_the_smallest_eigenvalues(void **state)
{
    static const char *const words[] = { "method=cg deflation=recycle:4",
                                         "precond=jacobi deflation=recycle:4",
                                         "precond=jacobi deflation=recycle:6,variant=bnn",
                                         "method=cg deflation=recycle:16,coarse=cholesky" };
    kry_type type = type_of(state);

    for (size_t w = 0; w < COUNT(words); w++) {
        again a = weak(type, words[w]);
        check_values(&a, strstr(words[w], "jacobi"), type == KRY_F32 ? 3e-4 : 1e-9);
        again_end(&a);
    }
}

/* The first solve is that of conjugate gradients, and takes the same steps. */
static void recycle_solve__changes_nothing_at_first(void **state)
{
    kry_type type = type_of(state);
    chain c = weak_places();
    outcome with = solve(type, &c, "precond=jacobi deflation=recycle:3 maxit=20"),
            without = solve(type, &c, "precond=jacobi maxit=20");

    for (int k = 0; k <= 20; k++)
        NEAR(with.history[k], without.history[k], 1e-3 * without.history[0], "residual %d", k);
}

/* Windows of many sizes begin anew once, often, or never. */
static void recycle_solve__any_number_of_vectors(void **state)
{
    kry_type type = type_of(state);
    const chain c = chain_of(N, 2.01, 2.01);

    for (int k = 1; k <= 16; k += 1 + (int)random_below(3)) {
        char words[80];
        snprintf(words, sizeof words, "method=cg %s deflation=recycle:%d", rtol_of(type), k);
        again a = again_begin(device(), type, c, words);
        const int64_t first = solve_another(&a);
        assert_in_range(vectors_recycled(a.S, NULL), 1, k);
        for (int i = 0; i < 2; i++) assert_true(solve_another(&a) <= first + 2);
        again_end(&a);
    }
}

static void change(again *a, double places)
{
    double *values;

    for (int s = 0; s < SMALL; s++) a->c.val[a->c.row_ptr[20 + 30 * s] + 1] += places * (s + 1);
    values = in_type(a->type, a->c.val, a->c.row_ptr[a->c.n]);
    OK(kry_op_update(a->A, values));
    OK(kry_op_update(a->S, NULL));
    free(values);
}

/* The old vectors help with a matrix that has changed a little, and better ones take their place. */
static void recycle_update__keeps_vectors_and_finds_new_ones(void **state)
{
    kry_type type = type_of(state);
    again a = weak(type, "precond=jacobi deflation=recycle:4");
    const double *found;
    double values[MOST];
    const int64_t first = solve_another(&a), second = solve_another(&a);

    change(&a, 2e-3);
    const int64_t changed = solve_another(&a);
    assert_true(changed <= (first + second) / 2 + 1);
    spectrum_of(&a.c, true, values);
    vectors_recycled(a.S, &found);
    for (int i = 0; i < SMALL; i++)
        assert_true(found[i] > 0.99 * values[i] && found[i] < 2 * values[i]);
    assert_true(solve_another(&a) <= changed + 2);
    change(&a, 3); /* and with one that has nothing of them left, they are forgotten */
    solve_another(&a);
    assert_true(found[0] > 0.1);
    again_end(&a);
}

static void recycle_solve__zero_exact_limit(void **state)
{
    kry_type type = type_of(state);
    chain c = weak_places();

    check_guess_and_zero(type, &c, "method=cg rtol=1e-5 deflation=recycle:3");
    check_limit(type, &c, "method=cg rtol=1e-6 maxit=7 deflation=recycle:3", 7);
    again a = weak(type, "method=cg deflation=recycle:3");
    kry_vec *zero;
    OK(kry_vec_create(device(), type, N, 1, &zero));
    OK(kry_solve(a.S, zero, a.x, &a.res)); /* leaves nothing */
    assert_int_equal(vectors_recycled(a.S, NULL), 0);
    solve_another(&a);
    assert_int_equal(vectors_recycled(a.S, NULL), 3);
    kry_vec_release(&zero);
    again_end(&a);
}

/* Two solvers with one deflation: what one leaves the other one uses. */
static void recycle_create__shared(void **state)
{
    kry_type type = type_of(state);
    chain c = weak_places();
    kry_op *A = matrix_of(device(), type, &c, 0), *D, *S[2];
    kry_vec *b = vec_of(type, c.b, N, 1), *x;
    kry_op_info info;
    kry_result res[2];

    OK(kry_deflation_create(A, KRY_DEFLATION(.recycle = 5), &D));
    kry_op_describe(D, &info);
    assert_non_null(strstr(info.variant, "up to 5 vectors that solves leave, none yet"));
    assert_true(info.bytes_stored >= 20.0 * N * (double)kry_type_size(type));
    OK(kry_vec_create(device(), type, N, 1, &x));
    OK(kry_op_apply(D, 1, b, 0, x)); /* Q = 0 */
    double norm;
    OK(kry_vec_norm2(x, &norm));
    assert_true(norm == 0);
    for (int i = 0; i < 2; i++) {
        OK(kry_pcg_create(A, KRY_PCG(.deflation = D, .stop.rtol = 1e-5), &S[i]));
        OK(kry_vec_fill(x, 0));
        OK(kry_solve(S[i], b, x, &res[i]));
    }
    assert_true(res[1].iterations < res[0].iterations);
    kry_op_describe(D, &info);
    assert_non_null(strstr(info.variant, "5 vectors of a solve"));
    kry_op_release(&S[1]);
    kry_op_release(&S[0]);
    kry_op_release(&D);
    kry_op_release(&A);
    kry_vec_release(&x);
    kry_vec_release(&b);
}

/* The first of several columns leaves vectors for those behind it. */
static void recycle_solve__from_column_to_column(void **state)
{
    enum { K = 3 };
    kry_type type = type_of(state);
    again a = weak(type, "precond=jacobi deflation=recycle:4");
    double *b = random_array(type, K * N);
    kry_vec *B = vec_of(type, b, N, K), *X;
    kry_result res;

    OK(kry_vec_create(device(), type, N, K, &X));
    OK(kry_vec_fill(X, 0));
    assert_int_equal(kry_solve(a.S, B, X, &res), KRY_OK);
    assert_int_equal(vectors_recycled(a.S, NULL), 4);
    for (int j = 1; j < K; j++) assert_true(res.column[j].iterations < res.column[0].iterations);
    kry_vec_release(&X);
    kry_vec_release(&B);
    free(b);
    again_end(&a);
}

static void recycle_solve__on_a_team(void **state)
{
    kry_type type = type_of(state);
    int64_t alone[3] = { 0 };

    for (int parts = 1; parts <= 3; parts++) {
        kry_device *team = open_team(parts, (kry_team_params){ .reproducible = true });
        chain c = weak_places();
        char words[80];
        snprintf(words, sizeof words, "precond=jacobi deflation=recycle:4 %s", rtol_of(type));
        again a = again_begin(team, type, c, words);
        for (int k = 0; k < 3; k++) {
            const int64_t iterations = solve_another(&a);
            if (parts == 1) alone[k] = iterations;
            if (llabs(iterations - alone[k]) > 4) /* b differs from one team to the next */
                fail_msg("%lld iterations on %d parts, %lld on one", (long long)iterations, parts,
                         (long long)alone[k]);
        }
        assert_true(alone[1] < alone[0] && alone[2] < alone[0]);
        again_end(&a);
        close_team(&team);
    }
}

/* Constants are the null space, which no Ritz vector is to be. */
static void recycle_solve__singular(void **state)
{
    kry_type type = type_of(state);
    int64_t iterations[3];
    chain c = chain_of(N, 2, 1);
    kry_op *A = matrix_of(device(), type, &c, KRY_SINGULAR), *S;
    kry_vec *x;
    kry_result res;
    OK(kry_vec_create(device(), type, N, 1, &x));
    OK(kry_solver_create(A, "method=cg deflation=recycle:4 rtol=1e-4", NULL, NULL, &S));
    for (int k = 0; k < 3; k++) {
        double *b = random_array(type, N), mean = 0;
        for (int i = 0; i < N; i++) mean += b[i] / N;
        for (int i = 0; i < N; i++) b[i] = to_type(type, b[i] - mean);
        kry_vec *vb = vec_of(type, b, N, 1);
        OK(kry_vec_fill(x, 0));
        OK(kry_solve(S, vb, x, &res));
        assert_int_equal(kry_reason_status(res.reason), KRY_OK);
        iterations[k] = res.iterations;
        kry_vec_release(&vb);
        free(b);
    }
    assert_true(iterations[1] <= iterations[0] && iterations[2] <= iterations[0]);
    kry_op_release(&S);
    kry_op_release(&A);
    kry_vec_release(&x);
}

static void recycle_create__refusals(void **state)
{
    kry_type type = type_of(state);
    chain c = chain_of(20, 3, 3);
    kry_op *A = matrix_of(device(), type, &c, 0), *S;

    REFUSES(kry_solver_create(A, "deflation=recycle", NULL, NULL, &S), KRY_ERR_PARSE, "recycle");
    REFUSES(kry_solver_create(A, "deflation=recycle:0", NULL, NULL, &S), KRY_ERR_PARSE,
            "recycle:0");
    REFUSES(kry_solver_create(A, "deflation=recycle:17", NULL, NULL, &S), KRY_ERR_ARGUMENT,
            "recycle = 17 is not in [1, 16]");
    REFUSES(kry_solver_create(A, "deflation=recycle:2,variant=def1", NULL, NULL, &S),
            KRY_ERR_UNSUPPORTED, "the variant is a-def2 or bnn, not def1");
    REFUSES(kry_solver_create(A, "method=gmres deflation=recycle:2", NULL, NULL, &S),
            KRY_ERR_UNSUPPORTED, "takes no deflation");
    if (type == KRY_F64)
        REFUSES(kry_solver_create(A, "precision=mixed deflation=recycle:2", NULL, NULL, &S),
                KRY_ERR_UNSUPPORTED, "deflation=recycle:2 is not for precision=mixed");
    REFUSES(kry_deflation_create(A, KRY_DEFLATION(.recycle = -1), &S), KRY_ERR_ARGUMENT,
            "recycle = -1");
    REFUSES(kry_deflation_create(A, KRY_DEFLATION(.recycle = 2, .stripes = 3), &S),
            KRY_ERR_ARGUMENT, "give one of");
    kry_op_release(&A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(recycle_solve__finds_the_smallest_eigenvalues),
        BOTH(recycle_solve__changes_nothing_at_first),
        BOTH(recycle_solve__any_number_of_vectors),
        BOTH(recycle_update__keeps_vectors_and_finds_new_ones),
        BOTH(recycle_solve__zero_exact_limit),
        BOTH(recycle_create__shared),
        BOTH(recycle_solve__from_column_to_column),
        BOTH(recycle_solve__on_a_team),
        BOTH(recycle_solve__singular),
        BOTH(recycle_create__refusals),
    };
    return cmocka_run_group_tests_name("recycle", tests, keep_profile, restore_profile);
}
