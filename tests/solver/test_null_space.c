/*
 * test_null_space.c - singular systems: Neumann walls (constants), and vectors that the caller
 * attaches. Right-hand sides with and without a solution.
 */
#include "testing.h"

enum { NX = 37, NY = 23, N = NX * NY };

/* Cells of a plane between walls, coefficients over three decades. */
static kry_op *walled(kry_type type)
{
    static double k[N];
    kry_op *A;

    for (int i = 0; i < N; i++) k[i] = pow(10, 1.5 * random_number(KRY_F64));
    OK(kry_stencil_create(device(), type,
                          KRY_STENCIL(.size = { NX, NY }, .low = { KRY_NEUMANN, KRY_NEUMANN },
                                      .high = { KRY_NEUMANN, KRY_NEUMANN }, .coefficient = k),
                          &A));
    return A;
}

static double mean(const double *v, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += v[i];
    return sum / (double)n;
}

static void shift(double *v, int64_t n, double by)
{
    for (int64_t i = 0; i < n; i++) v[i] += by;
}

/* A x = b for a b of mean zero: x has mean zero and is the solution, guess and all. */
static void neumann_walls(void **state)
{
    kry_type type = type_of(state);
    double rtol = type == KRY_F32 ? 1e-5 : 1e-10;
    const char *precond[] = { "none", "jacobi", "chebyshev:3", "ip" };

    for (size_t p = 0; p < COUNT(precond); p++) {
        kry_op *A = walled(type), *S;
        double *want = random_array(type, N), *guess = random_array(type, N);
        char options[100];
        kry_result res;
        shift(want, N, -mean(want, N));
        shift(guess, N, 3);
        kry_vec *x = vec_of(type, want, N, 1), *b;
        OK(kry_vec_create(device(), type, N, 1, &b));
        OK(kry_op_apply(A, 1, x, 0, b));
        kry_vec_release(&x);
        x = vec_of(type, guess, N, 1);
        snprintf(options, sizeof options, "method=pcg precond=%s rtol=%g", precond[p], rtol);
        OK(kry_solver_create(A, options, NULL, NULL, &S));
        OK(kry_solve(S, b, x, &res));
        assert_true(res.inconsistent <= 1e-6 * res.norm_b);
        double *got = numbers_of(x);
        assert_true(fabs(mean(got, N)) < 8 * (double)eps_of(type));
        for (int i = 0; i < N; i++)
            if (type == KRY_F64) NEAR(got[i], want[i], 1e-4, "x[%d] with %s", i, precond[p]);
        free(got);
        free(want);
        free(guess);
        kry_op_release(&S);
        kry_op_release(&A);
        kry_vec_release(&x);
        kry_vec_release(&b);
    }
}

/* b has a mean: the rest is solved, and what is left is told. */
static void no_solution(void **state)
{
    kry_type type = type_of(state);
    kry_op *A = walled(type), *S;
    double *numbers = random_array(type, N);
    kry_result res;

    shift(numbers, N, 0.25 - mean(numbers, N));
    kry_vec *b = vec_of(type, numbers, N, 1), *x;
    OK(kry_vec_create(device(), type, N, 1, &x));
    OK(kry_solver_create(A, "method=pcg rtol=1e-4", NULL, NULL, &S));
    assert_int_equal(kry_solve(S, b, x, &res), KRY_NOT_CONVERGED);
    assert_int_equal(res.reason, KRY_INCONSISTENT);
    NEAR(res.inconsistent, 0.25 * sqrt(N), 1e-4, "inconsistent");
    assert_true(res.true_residual <= res.target);
    assert_non_null(strstr(res.why, "singular"));
    free(numbers);
    kry_op_release(&S);
    kry_op_release(&A);
    kry_vec_release(&x);
    kry_vec_release(&b);
}

enum { FIRST = 40, ALL = 97 };

/* Two rings that do not touch, each with a constant of its own; or one, if all are in the first. */
static matrix rings(int in_first)
{
    matrix A = { .rows = ALL, .cols = ALL, .nnz = 3 * ALL };

    A.row_ptr = calloc(ALL + 1, sizeof *A.row_ptr);
    A.col = calloc(3 * ALL, sizeof *A.col);
    A.val = calloc(3 * ALL, sizeof *A.val);
    for (int i = 0; i < ALL; i++) {
        int first = i < in_first ? 0 : in_first, size = i < in_first ? in_first : ALL - in_first,
            at = i - first;
        A.row_ptr[i + 1] = 3 * (i + 1);
        for (int j = 0; j < 3; j++) {
            A.col[3 * i + j] = first + (at + j - 1 + size) % size;
            A.val[3 * i + j] = j == 1 ? 2 : -1;
        }
    }
    return A;
}

static void attached_vectors(void **state)
{
    kry_type type = type_of(state);
    matrix host = rings(FIRST);
    int64_t n = host.rows;
    double *basis = calloc(2 * (size_t)n, sizeof *basis), *want = random_array(type, n);
    kry_op *A = csr_of(&host, type, KRY_MATRIX(.traits = KRY_SYMMETRIC)), *S;
    kry_result res;

    for (int i = 0; i < n; i++) basis[i] = 1, basis[n + i] = i < 40 ? 3 : 0;
    kry_vec *vectors = vec_of(type, basis, n, 2);
    OK(kry_op_set_null_space(A, vectors));
    shift(want, 40, -mean(want, 40));
    shift(want + 40, n - 40, -mean(want + 40, n - 40));
    kry_vec *x = vec_of(type, want, n, 1), *b;
    OK(kry_vec_create(device(), type, n, 1, &b));
    OK(kry_op_apply(A, 1, x, 0, b));
    OK(kry_vec_fill(x, 5));
    OK(kry_pcg_create(A, KRY_PCG(.stop = { .rtol = type == KRY_F32 ? 1e-5 : 1e-12 }), &S));
    OK(kry_solve(S, b, x, &res));
    double *got = numbers_of(x);
    for (int i = 0; i < n; i++) NEAR(got[i], want[i], type == KRY_F32 ? 1e-2 : 1e-8, "x[%d]", i);
    free(got);
    OK(kry_vec_fill(b, 1));
    OK(kry_vec_fill(x, 0));
    assert_int_equal(kry_solve(S, b, x, &res), KRY_NOT_CONVERGED);
    assert_int_equal(res.reason, KRY_INCONSISTENT);
    free(basis);
    free(want);
    kry_vec_release(&vectors);
    kry_vec_release(&x);
    kry_vec_release(&b);
    kry_op_release(&S);
    kry_op_release(&A);
    matrix_release(&host);
}

static void bad_vectors(void **state)
{
    kry_type type = type_of(state);
    matrix host = rings(FIRST);
    int64_t n = host.rows;
    double *basis = calloc(2 * (size_t)n, sizeof *basis);
    kry_op *A = csr_of(&host, type, KRY_MATRIX(.traits = KRY_SYMMETRIC));
    kry_vec *v;

    for (int i = 0; i < n; i++) basis[i] = 1, basis[n + i] = 2;
    v = vec_of(type, basis, n, 2);
    REFUSES(kry_op_set_null_space(A, v), KRY_ERR_ARGUMENT, "vector 1 depends");
    kry_vec_release(&v);
    for (int i = 0; i < n; i++) basis[n + i] = 0;
    v = vec_of(type, basis, n, 2);
    REFUSES(kry_op_set_null_space(A, v), KRY_ERR_ARGUMENT, "vector 1 has norm 0");
    kry_vec_release(&v);
    for (int i = 0; i < n; i++) basis[n + i] = i % 2;
    v = vec_of(type, basis, n, 2);
    REFUSES(kry_op_set_null_space(A, v), KRY_ERR_ARGUMENT, "map vector 1 to zero");
    kry_vec_release(&v);
    v = vec_of(type, basis, n - 1, 1);
    REFUSES(kry_op_set_null_space(A, v), KRY_ERR_SHAPE, "97-by-97");
    REFUSES(kry_op_set_null_space(NULL, v), KRY_ERR_ARGUMENT, "NULL");
    kry_vec_release(&v);
    free(basis);
    kry_op_release(&A);
    matrix_release(&host);
}

/* One ring, with an entry of the diagonal that is larger by `leak`. */
static kry_op *leaking(kry_type type, matrix *A, double leak, unsigned traits)
{
    A->val[3 * 20 + 1] = 2 + leak;
    return csr_of(A, type, KRY_MATRIX(.traits = traits));
}

/* What is promised to be singular and is not, from the beginning or since an update. */
static void false_promises(void **state)
{
    kry_type type = type_of(state);
    matrix host = rings(ALL);
    int64_t n = host.rows;
    kry_op *A = leaking(type, &host, 1, KRY_SINGULAR), *S;
    kry_result res;
    kry_vec *b, *x;

    REFUSES(kry_solver_create(A, "method=pcg", NULL, NULL, &S), KRY_ERR_ARGUMENT,
            "does not map constants to zero");
    kry_op_release(&A);
    A = leaking(type, &host, 0, KRY_SINGULAR);
    OK(kry_solver_create(A, "method=pcg", NULL, NULL, &S));
    OK(kry_vec_create(device(), type, n, 1, &b));
    OK(kry_vec_create(device(), type, n, 1, &x));
    OK(kry_solve(S, b, x, &res));
    host.val[3 * 20 + 1] = 3;
    void *values = in_type(type, host.val, host.nnz);
    OK(kry_op_update(A, values));
    REFUSES(kry_solve(S, b, x, &res), KRY_ERR_ARGUMENT, "does not map constants to zero");
    REFUSES(kry_op_update(S, NULL), KRY_ERR_ARGUMENT, "does not map constants to zero");
    kry_op_release(&S);
    kry_op_release(&A);

    A = leaking(type, &host, 0, KRY_SYMMETRIC);
    OK(kry_vec_fill(x, 1));
    OK(kry_op_set_null_space(A, x));
    OK(kry_solver_create(A, "method=pcg", NULL, NULL, &S));
    OK(kry_op_set_null_space(A, NULL)); /* of solvers made afterwards */
    OK(kry_solve(S, b, x, &res));
    OK(kry_op_update(A, values));
    REFUSES(kry_solve(S, b, x, &res), KRY_ERR_ARGUMENT, "does not map vector 0 to zero");
    free(values);
    kry_op_release(&S);
    kry_op_release(&A);
    kry_vec_release(&x);
    kry_vec_release(&b);
    matrix_release(&host);
}

/* One row does not add up to zero by less than rounding to single explains: the residual tells. */
static void a_promise_nearly_true(void **state)
{
    kry_type type = type_of(state);
    matrix host = rings(ALL);
    int64_t n = host.rows;
    double leak = type == KRY_F32 ? 4e-3 : 1e-6, *numbers = random_array(type, n);
    kry_op *A = leaking(type, &host, leak, KRY_SINGULAR), *S;
    kry_result res;

    shift(numbers, n, -mean(numbers, n));
    kry_vec *b = vec_of(type, numbers, n, 1), *x;
    OK(kry_vec_create(device(), type, n, 1, &x));
    OK(kry_solver_create(A, type == KRY_F32 ? "method=pcg rtol=1e-4" : "method=pcg rtol=1e-10",
                         NULL, NULL, &S));
    assert_int_equal(kry_solve(S, b, x, &res), KRY_STAGNATED);
    assert_non_null(strstr(res.why, "A does not map it to zero"));
    double *got = numbers_of(x), square = 0;
    for (int64_t i = 0; i < n; i++) {
        double r = numbers[i];
        for (int64_t e = 3 * i; e < 3 * i + 3; e++)
            r -= to_type(type, host.val[e]) * got[host.col[e]];
        square += r * r;
    }
    assert_true(sqrt(square) > 2 * res.target);
    NEAR(res.true_residual, sqrt(square), 0.1 * sqrt(square), "the true residual");
    free(got);
    free(numbers);
    kry_op_release(&S);
    kry_op_release(&A);
    kry_vec_release(&x);
    kry_vec_release(&b);
    matrix_release(&host);
}

int main(void)
{
    const struct CMUnitTest tests[] = { BOTH(neumann_walls),    BOTH(no_solution),
                                        BOTH(attached_vectors), BOTH(bad_vectors),
                                        BOTH(false_promises),   BOTH(a_promise_nearly_true) };
    return cmocka_run_group_tests(tests, NULL, close_device);
}
