/*
 * test_eigenvalues.c - eigenvalues by LOBPCG and Lanczos against known spectra and against Jacobi's method on the host: grids, graphs, solids,
 * generalised problems, multiple eigenvalues, blocks of 1 to 33 vectors, small n, and what is refused.
 */
#include "testing.h"

#include "eigen.h"
#include <kry/eigenvalues.h>
#include <kry/problem.h>

/* ---- what is checked ------------------------------------------------------------------------ */

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double dot(int64_t n, const double *x, const double *y)
{
    long double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (long double)x[i] * y[i];
    return (double)sum;
}

static double tolerance_of(kry_type type) { return type == KRY_F32 ? 1e-5 : 1e-9; }

/* Eigenvalues are off by no more than the residual, and B-orthonormal vectors by rounding. B NULL: the identity */
static void check_pairs(const matrix *A, const matrix *B, const kry_vec *X,
                        const kry_eigen_result *r, const double *want)
{
    const kry_type type = kry_vec_type(X);
    const int64_t n = kry_vec_rows(X), k = kry_vec_cols(X);
    const double unit = r->norm_A * 4, loose = 4 * tolerance_of(type);
    double *x = numbers_of(X), *Bx = calloc((size_t)(n * k), sizeof *Bx),
           *residual = calloc((size_t)n, sizeof *residual);
    long double magnitude;

    assert_true(Bx && residual);
    for (int64_t j = 0; j < k; j++) {
        for (int64_t i = 0; i < n; i++) {
            Bx[j * n + i] = B ? (double)row_times(B, i, x + j * n, NULL, &magnitude) : x[j * n + i];
            residual[i] = (double)(row_times(A, i, x + j * n, NULL, &magnitude) -
                                   (long double)r->value[j] * Bx[j * n + i]);
        }
        const double norm = sqrt(dot(n, x + j * n, x + j * n)),
                     scale = (r->norm_A + fabs(r->value[j]) * r->norm_B) * norm;
        NEAR(sqrt(dot(n, residual, residual)), 0, loose * scale, "residual %d", (int)j);
        if (want) NEAR(r->value[j], want[j], loose * (B ? 10 : 1) * unit, "eigenvalue %d", (int)j);
        assert_true(r->residual[j] <= tolerance_of(type));
    }
    for (int64_t i = 0; i < k; i++)
        for (int64_t j = 0; j < k; j++)
            NEAR(dot(n, x + i * n, Bx + j * n), i == j, 200 * (double)eps_of(type), "x_%d'B x_%d",
                 (int)i, (int)j);
    free(x), free(Bx), free(residual);
}

/* All eigenvalues of an A of few rows, ascending, to be freed. */
static double *spectrum_of(const matrix *A)
{
    const int n = (int)A->rows;
    double *a = calloc((size_t)(n * n), sizeof *a), *q = calloc((size_t)(n * n), sizeof *q),
           *values = calloc((size_t)n, sizeof *values);

    assert_true(a && q && values);
    for (int i = 0; i < n; i++)
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++)
            a[i * n + A->col[e]] += A->val[e];
    diagonalise(n, a, q);
    for (int i = 0; i < n; i++) values[i] = a[i * n + i];
    qsort(values, (size_t)n, sizeof *values, ascending);
    free(a), free(q);
    return values;
}

static kry_status solve(const kry_op *A, const kry_eigen_params *params, int k, kry_vec **X,
                        kry_eigen_result *r)
{
    const kry_op_shape *shape = kry_op_get_shape(A);
    OK(kry_vec_create(device(), shape->type, shape->rows, k, X));
    return kry_eigen(A, params, *X, r);
}

/* ---- grids, whose spectrum is known ---------------------------------------------------------- */

/* Eigenvalues of the five- or seven-point Laplacian with `side` points, ascending, to be freed. */
static double *spectrum_of_grid(int side, int axes)
{
    const int n = axes == 2 ? side * side : side * side * side;
    double *values = calloc((size_t)n, sizeof *values);

    assert_non_null(values);
    for (int i = 0; i < n; i++)
        for (int a = 0, rest = i; a < axes; a++, rest /= side)
            values[i] += 2 - 2 * cos(acos(-1.0) * (rest % side + 1) / (side + 1));
    qsort(values, (size_t)n, sizeof *values, ascending);
    return values;
}

static void check_grid(kry_type type, const char *spec, int side, int axes, int k, bool stored,
                       const char *precond)
{
    kry_problem *p;
    kry_op *A, *M;
    kry_vec *X;
    kry_eigen_result r;
    double *want = spectrum_of_grid(side, axes);

    OK(kry_problem_create(spec, 1, &p));
    const matrix entries = { .rows = p->n,
                             .cols = p->n,
                             .nnz = p->nnz,
                             .row_ptr = p->row_ptr,
                             .col = p->col,
                             .val = p->val };
    if (stored)
        A = csr_of(&entries, type, KRY_MATRIX(.traits = KRY_POSITIVE));
    else
        OK(kry_stencil_create(device(), type, p->grid, &A));
    OK(kry_precond_create(A, precond, &M));
    OK(solve(A, KRY_EIGEN(.precond = M), k, &X, &r));
    assert_int_equal(r.converged, k);
    check_pairs(&entries, NULL, X, &r, want);
    kry_vec_release(&X);
    kry_op_release(&M), kry_op_release(&A);
    kry_problem_release(&p);
    free(want);
}

static void kry_eigen__grids(void **state)
{
    const kry_type type = type_of(state);
    static const int blocks[] = { 1, 2, 7, 33 };

    for (size_t i = 0; i < COUNT(blocks); i++) {
        check_grid(type, "poisson2d:15", 15, 2, blocks[i], true, "jacobi");
        check_grid(type, "poisson3d:7", 7, 3, blocks[i], false, i % 2 ? "none" : "mg");
    }
    check_grid(type, "poisson2d:31", 31, 2, 4, true, "amg");
}

static void kry_eigen__largest(void **state)
{
    const kry_type type = type_of(state);
    kry_problem *p;
    kry_op *A;
    kry_vec *X;
    kry_eigen_result r;
    double *all = spectrum_of_grid(12, 2), want[5];

    for (int i = 0; i < 5; i++) want[i] = all[143 - i];
    OK(kry_problem_create("poisson2d:12", 1, &p));
    const matrix entries = { .rows = p->n,
                             .cols = p->n,
                             .nnz = p->nnz,
                             .row_ptr = p->row_ptr,
                             .col = p->col,
                             .val = p->val };
    A = csr_of(&entries, type, NULL);
    OK(solve(A, KRY_EIGEN(.largest = true), 5, &X, &r));
    check_pairs(&entries, NULL, X, &r, want);
    kry_vec_release(&X), kry_op_release(&A), kry_problem_release(&p);
    free(all);
}

/* ---- graphs: a ring, where all eigenvalues but two are double, and a path --------------------- */

static matrix graph(int n, bool ring)
{
    double *a = calloc((size_t)(n * n), sizeof *a);

    assert_non_null(a);
    for (int i = 0; i < n; i++) {
        const int j = (i + 1) % n;
        if (j == 0 && !ring) continue;
        a[i * n + i] += 1, a[j * n + j] += 1, a[i * n + j] -= 1, a[j * n + i] -= 1;
    }
    matrix A = matrix_from(a, n);
    free(a);
    return A;
}

static void kry_eigen__multiple_eigenvalues(void **state)
{
    enum { N = 60, K = 7 };
    const kry_type type = type_of(state);
    matrix ring = graph(N, true);
    kry_op *A = csr_of(&ring, type, NULL);
    kry_vec *X, *ones;
    kry_eigen_result r;
    double want[K];

    for (int j = 0; j < K; j++) want[j] = 2 - 2 * cos(2 * acos(-1.0) * ((j + 1) / 2) / N);
    OK(solve(A, NULL, K, &X, &r));
    check_pairs(&ring, NULL, X, &r, want);
    kry_vec_release(&X);

    /* without the constant vector those of 0 are gone; given twice it counts once */
    OK(kry_vec_create(device(), type, N, 2, &ones));
    OK(kry_vec_fill(ones, 3));
    OK(solve(A, KRY_EIGEN(.constraints = ones, .block = 12), K - 1, &X, &r));
    check_pairs(&ring, NULL, X, &r, want + 1);
    kry_vec_release(&X), kry_vec_release(&ones);
    kry_op_release(&A);
    matrix_release(&ring);
}

/* The Fiedler vector of a path is a cosine: one half is positive, and the other negative. */
static void kry_eigen__fiedler_vector(void **state)
{
    enum { N = 90 };
    const kry_type type = type_of(state);
    matrix path = graph(N, false);
    kry_op *A = csr_of(&path, type, KRY_MATRIX(.traits = KRY_SYMMETRIC | KRY_SINGULAR)), *M;
    kry_vec *X, *ones;
    kry_eigen_result r;
    const double want = 2 - 2 * cos(acos(-1.0) / N);

    OK(kry_precond_create(A, "amg", &M));
    OK(kry_vec_create(device(), type, N, 1, &ones));
    OK(kry_vec_fill(ones, 1));
    OK(solve(A, KRY_EIGEN(.precond = M, .constraints = ones), 1, &X, &r));
    check_pairs(&path, NULL, X, &r, &want);
    double *x = numbers_of(X);
    for (int i = 0; i < N; i++) assert_true((x[i] > 0) == (x[0] > 0) || i >= N / 2);
    for (int i = N / 2; i < N; i++) assert_true((x[i] > 0) != (x[0] > 0));
    free(x);
    kry_vec_release(&X), kry_vec_release(&ones);
    kry_op_release(&M), kry_op_release(&A);
    matrix_release(&path);
}

/* ---- a solid that nothing holds: springs between the nodes of a lattice ------------------------ */

enum { SIDE = 3, NODES = SIDE * SIDE * SIDE, SOLID = 3 * NODES };

static matrix free_solid(void)
{
    static double a[SOLID * SOLID];

    memset(a, 0, sizeof a);
    for (int i = 0; i < NODES; i++)
        for (int j = 0; j < i; j++) {
            const double d[3] = { i % SIDE - j % SIDE, i / SIDE % SIDE - j / SIDE % SIDE,
                                  i / SIDE / SIDE - j / SIDE / SIDE };
            const double square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
            for (int s = 0; s < 9 && square <= 3; s++) {
                const int u = s / 3, v = s % 3;
                const double stiffness = d[u] * d[v] / square;
                a[(3 * i + u) * SOLID + 3 * i + v] += stiffness;
                a[(3 * j + u) * SOLID + 3 * j + v] += stiffness;
                a[(3 * i + u) * SOLID + 3 * j + v] -= stiffness;
                a[(3 * j + u) * SOLID + 3 * i + v] -= stiffness;
            }
        }
    return matrix_from(a, SOLID);
}

static void kry_eigen__six_rigid_modes(void **state)
{
    const kry_type type = type_of(state);
    matrix solid = free_solid();
    kry_op *A = csr_of(&solid, type, NULL);
    kry_vec *X;
    kry_eigen_result r;
    double *want = spectrum_of(&solid);

    OK(solve(A, NULL, 9, &X, &r));
    check_pairs(&solid, NULL, X, &r, want);
    for (int j = 0; j < 9; j++) assert_true(j < 6 ? fabs(r.value[j]) < 1e-4 : r.value[j] > 0.1);
    kry_vec_release(&X);
    kry_op_release(&A);
    matrix_release(&solid);
    free(want);
}

/* ---- generalised problems ------------------------------------------------------------------- */

/* A random symmetric matrix whose diagonal dominates, by `heavy`. */
static matrix random_symmetric(kry_type type, int n, double heavy)
{
    double *a = calloc((size_t)(n * n), sizeof *a);

    assert_non_null(a);
    for (int i = 0; i < n; i++) {
        a[i * n + i] = to_type(type, heavy + 4 * fabs(random_number(type)));
        for (int d = 1; d <= 5; d += 2)
            if (i >= d) a[i * n + i - d] = a[(i - d) * n + i] = random_number(type) / 4;
    }
    matrix A = matrix_from(a, n);
    free(a);
    return A;
}

/* L^-1 A L^-T, B = L L': its eigenvalues are those of the pair. */
static double *spectrum_of_pair(const matrix *A, const matrix *B)
{
    const int n = (int)A->rows;
    double *a = calloc((size_t)(n * n), sizeof *a), *l = calloc((size_t)(n * n), sizeof *l);

    assert_true(a && l);
    for (int i = 0; i < n; i++) {
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++)
            a[i * n + A->col[e]] = A->val[e];
        for (int64_t e = B->row_ptr[i]; e < B->row_ptr[i + 1]; e++)
            l[i * n + B->col[e]] = B->val[e];
    }
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++) {
            for (int s = 0; s < j; s++) l[i * n + j] -= l[i * n + s] * l[j * n + s];
            l[i * n + j] = i == j ? sqrt(l[i * n + i]) : l[i * n + j] / l[j * n + j];
        }
    for (int side = 0; side < 2; side++) /* rows, then columns */
        for (int c = 0; c < n; c++)
            for (int i = 0; i < n; i++) {
                double *x = side ? a + c * n : a + c;
                const int step = side ? 1 : n;
                for (int s = 0; s < i; s++) x[i * step] -= l[i * n + s] * x[s * step];
                x[i * step] /= l[i * n + i];
            }
    for (int i = 0; i < n; i++) /* exactly symmetric */
        for (int j = 0; j < i; j++) a[i * n + j] = a[j * n + i] = (a[i * n + j] + a[j * n + i]) / 2;
    matrix C = matrix_from(a, n);
    double *values = spectrum_of(&C);
    matrix_release(&C);
    free(a), free(l);
    return values;
}

static void kry_eigen__generalised(void **state)
{
    enum { N = 50 };
    const kry_type type = type_of(state);
    static const int blocks[] = { 1, 2, 7, 33 };
    matrix A = random_symmetric(type, N, 1), B = random_symmetric(type, N, 2);
    kry_op *a = csr_of(&A, type, NULL), *b = csr_of(&B, type, NULL), *M;
    double *want = spectrum_of_pair(&A, &B);

    OK(kry_jacobi_create(a, &M));
    for (size_t i = 0; i < COUNT(blocks); i++) {
        kry_vec *X;
        kry_eigen_result r;
        OK(solve(a, KRY_EIGEN(.B = b, .precond = M), blocks[i], &X, &r));
        check_pairs(&A, &B, X, &r, want);
        /* known vectors as constraints: the next ones come */
        if (blocks[i] == 2) {
            kry_vec *Y;
            OK(solve(a, KRY_EIGEN(.B = b, .precond = M, .constraints = X), 3, &Y, &r));
            for (int j = 0; j < 3; j++)
                NEAR(r.value[j], want[j + 2], 1e3 * tolerance_of(type), "eigenvalue %d", j + 2);
            kry_vec_release(&Y);
        }
        kry_vec_release(&X);
    }
    kry_op_release(&M), kry_op_release(&a), kry_op_release(&b);
    matrix_release(&A), matrix_release(&B);
    free(want);
}

/* ---- small n, guesses ----------------------------------------------------------------------- */

static void kry_eigen__few_rows(void **state)
{
    const kry_type type = type_of(state);

    for (int n = 1; n <= 12; n++)
        for (int k = 1; k <= n; k += 2) {
            matrix A = random_symmetric(type, n, 0);
            kry_op *a = csr_of(&A, type, NULL);
            kry_vec *X;
            kry_eigen_result r;
            double *want = spectrum_of(&A);
            OK(solve(a, NULL, k, &X, &r));
            check_pairs(&A, NULL, X, &r, want);
            kry_vec_release(&X);
            kry_op_release(&a);
            matrix_release(&A);
            free(want);
        }
}

static void kry_eigen__zero_matrix(void **state)
{
    const kry_type type = type_of(state);
    matrix ring = graph(20, true);
    kry_vec *X;
    kry_eigen_result r;

    for (int64_t e = 0; e < ring.nnz; e++) ring.val[e] = 0;
    kry_op *A = csr_of(&ring, type, NULL);
    for (int lanczos = 0; lanczos < 2; lanczos++) {
        OK(solve(A, KRY_EIGEN(.method = lanczos ? "lanczos" : NULL), 3, &X, &r));
        for (int j = 0; j < 3; j++) assert_true(r.value[j] == 0 && r.residual[j] == 0);
        kry_vec_release(&X);
    }
    kry_op_release(&A);
    matrix_release(&ring);
}

/* Vectors that are found are a guess that takes no iteration; dependent and zero ones are replaced. */
static void kry_eigen__guess(void **state)
{
    enum { N = 60, K = 4 };
    const kry_type type = type_of(state);
    matrix path = graph(N, false);
    kry_op *A = csr_of(&path, type, NULL);
    kry_vec *X, *column;
    kry_eigen_result first, again;

    OK(solve(A, NULL, K, &X, &first));
    OK(kry_eigen(A, KRY_EIGEN(.guess = true, .rtol = 10 * tolerance_of(type), .block = K), X,
                 &again));
    assert_true(first.iterations > 3 && again.iterations == 0);
    OK(kry_vec_view(X, 1, &column));
    OK(kry_vec_fill(column, 0));
    OK(kry_eigen(A, KRY_EIGEN(.guess = true), X, &again));
    check_pairs(&path, NULL, X, &again, NULL);
    for (int j = 0; j < K; j++)
        NEAR(again.value[j], first.value[j], 20 * tolerance_of(type), "eigenvalue %d", j);
    kry_vec_release(&column), kry_vec_release(&X);
    kry_op_release(&A);
    matrix_release(&path);
}

/* ---- ends without success -------------------------------------------------------------------- */

static int stop_at_two(void *user, const kry_eigen_step *step)
{
    *(int64_t *)user = step->iteration;
    return step->iteration == 2;
}

static void kry_eigen__ends(void **state)
{
    enum { N = 400 };
    const kry_type type = type_of(state);
    matrix path = graph(N, false);
    kry_op *A = csr_of(&path, type, NULL);
    kry_vec *X;
    kry_eigen_result r;
    int64_t seen = -1;

    REFUSES(solve(A, KRY_EIGEN(.max_iter = 3), 2, &X, &r), KRY_NOT_CONVERGED,
            "0 of 2 converged in 3 iterations");
    assert_true(r.iterations == 3 && r.converged == 0 && strstr(r.why, "residual"));
    assert_true(r.residual[0] > tolerance_of(type));
    kry_vec_release(&X);
    REFUSES(solve(A, KRY_EIGEN(.monitor = stop_at_two, .monitor_user = &seen), 2, &X, &r),
            KRY_STOPPED, "monitor");
    assert_true(seen == 2 && r.iterations == 2);
    kry_vec_release(&X);
    kry_op_release(&A);
    matrix_release(&path);
}

/* A tolerance below rounding is not claimed to be met. */
static void kry_eigen__stagnates(void **state)
{
    const kry_type type = type_of(state);
    const double unit = type == KRY_F32 ? 0x1p-24 : 0x1p-53;
    matrix A = random_symmetric(type, 60, 0);
    kry_op *a = csr_of(&A, type, NULL);
    kry_vec *X;
    kry_eigen_result r;

    kry_status st = solve(a, KRY_EIGEN(.rtol = unit), 4, &X, &r);
    assert_true(st == KRY_STAGNATED || st == KRY_OK);
    for (int j = 0; j < 4; j++) assert_true(st != KRY_OK || r.residual[j] <= unit);
    kry_vec_release(&X);
    kry_op_release(&a);
    matrix_release(&A);
}

static void kry_eigen__breaks_down(void **state)
{
    const kry_type type = type_of(state);
    matrix path = graph(40, false), B = graph(40, true);
    kry_vec *X;
    kry_eigen_result r;

    for (int64_t e = 0; e < B.nnz; e++) B.val[e] = -B.val[e];
    kry_op *a = csr_of(&path, type, NULL), *b = csr_of(&B, type, NULL);
    REFUSES(solve(a, KRY_EIGEN(.B = b), 2, &X, &r), KRY_BREAKDOWN, "B is not positive definite");
    kry_vec_release(&X);
    kry_op_release(&a), kry_op_release(&b);
    matrix_release(&B), matrix_release(&path);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void kry_eigen__refuses(void **state)
{
    const kry_type type = type_of(state);
    matrix path = graph(40, false), other = graph(30, false);
    kry_op *A = csr_of(&path, type, NULL), *B = csr_of(&other, type, NULL);
    kry_vec *X, *many, *short_one;

    OK(kry_vec_create(device(), type, 40, 2, &X));
    OK(kry_vec_create(device(), type, 40, 65, &many));
    OK(kry_vec_create(device(), type, 30, 1, &short_one));
    REFUSES(kry_eigen(NULL, NULL, X, NULL), KRY_ERR_ARGUMENT, "kry_eigen: A is NULL");
    REFUSES(kry_eigen(A, NULL, NULL, NULL), KRY_ERR_ARGUMENT, "kry_eigen: X is NULL");
    REFUSES(kry_eigen(A, KRY_EIGEN(.B = B), X, NULL), KRY_ERR_SHAPE, "B is 30-by-30");
    REFUSES(kry_eigen(A, KRY_EIGEN(.precond = B), X, NULL), KRY_ERR_SHAPE, "precond is 30-by-30");
    REFUSES(kry_eigen(A, NULL, many, NULL), KRY_ERR_ARGUMENT, "X has 65 columns, not 1 to 64");
    REFUSES(kry_eigen(A, NULL, short_one, NULL), KRY_ERR_SHAPE, "A has 40 rows, X has 30");
    REFUSES(kry_eigen(A, KRY_EIGEN(.constraints = short_one), X, NULL), KRY_ERR_SHAPE,
            "constraints has 30");
    REFUSES(kry_eigen(A, KRY_EIGEN(.rtol = 1e-30), X, NULL), KRY_ERR_ARGUMENT, "rtol is 1e-30");
    REFUSES(kry_eigen(A, KRY_EIGEN(.rtol = NAN), X, NULL), KRY_ERR_ARGUMENT, "rtol");
    REFUSES(kry_eigen(A, KRY_EIGEN(.max_iter = -1), X, NULL), KRY_ERR_ARGUMENT, "max_iter is -1");
    REFUSES(kry_eigen(A, KRY_EIGEN(.block = 1), X, NULL), KRY_ERR_ARGUMENT, "block is 1");
    REFUSES(kry_eigen(A, KRY_EIGEN(.block = 81), X, NULL), KRY_ERR_ARGUMENT, "to 80");
    kry_op_release(&A);
    path.val[1] = -3; /* row 0, column 1 */
    A = csr_of(&path, type, NULL);
    REFUSES(kry_eigen(A, NULL, X, NULL), KRY_ERR_UNSUPPORTED, "A is not symmetric");
    kry_vec_release(&short_one), kry_vec_release(&many), kry_vec_release(&X);
    kry_op_release(&B), kry_op_release(&A);
    matrix_release(&other), matrix_release(&path);
}

static void kry_eigen__several_devices(void **state)
{
    (void)state;
    kry_device *team = open_pieces(2);
    kry_problem *p;
    kry_op *A;
    kry_vec *X;

    if (!team) SKIP("the device cannot be cut");
    OK(kry_problem_create("poisson2d:8", 1, &p));
    OK(kry_stencil_create(team, KRY_F32, p->grid, &A));
    OK(kry_vec_create(team, KRY_F32, p->n, 2, &X));
    REFUSES(kry_eigen(A, NULL, X, NULL), KRY_ERR_UNSUPPORTED, "several devices");
    kry_vec_release(&X), kry_op_release(&A), kry_problem_release(&p);
    kry_device_release(&team);
}

/* A program that was compiled with another version's header gets as many bytes as its struct has. */
static void kry_eigen__result_of_any_size(void **state)
{
    (void)state;
    const size_t sizes[] = { 0, offsetof(kry_eigen_result, norm_A), sizeof(kry_eigen_result),
                             sizeof(kry_eigen_result) + 40 };
    matrix path = graph(30, false);
    kry_op *A = csr_of(&path, KRY_F64, NULL);
    kry_vec *X;

    OK(kry_vec_create(device(), KRY_F64, 30, 2, &X));
    for (size_t i = 0; i < COUNT(sizes); i++) {
        struct {
            kry_eigen_result r;
            unsigned char behind[64];
        } room;
        const unsigned char *byte = (const unsigned char *)&room;
        memset(&room, 0x5a, sizeof room);
        OK(kry_eigen_sized(A, KRY_EIGEN(.largest = true), X, &room.r, sizes[i]));
        for (size_t at = sizes[i]; at < sizeof room; at++) assert_int_equal(byte[at], 0x5a);
        for (size_t at = sizeof room.r; at < sizes[i]; at++) assert_int_equal(byte[at], 0);
        if (sizes[i] > offsetof(kry_eigen_result, converged)) assert_int_equal(room.r.converged, 2);
    }
    kry_vec_release(&X), kry_op_release(&A);
    matrix_release(&path);
}

/* Each request for memory fails in turn; nothing leaks, which Valgrind and AddressSanitizer see. */
static void kry_eigen__no_memory(void **state)
{
    (void)state;
    const kry_type type = KRY_F32;
    matrix path = graph(30, false);
    kry_op *A = csr_of(&path, type, NULL);
    kry_vec *X, *ones;

    OK(kry_vec_create(device(), type, 30, 1, &X));
    OK(kry_vec_create(device(), type, 30, 1, &ones));
    OK(kry_vec_fill(ones, 1));
    EACH_REQUEST(k)
    {
        kry_status st =
            FAILING(k, kry_eigen(A, KRY_EIGEN(.constraints = ones, .rtol = 0.02), X, NULL));
        assert_true(st == KRY_ERR_MEMORY || !request_failed);
    }
    kry_vec_release(&ones), kry_vec_release(&X);
    kry_op_release(&A);
    matrix_release(&path);
}

/* ---- Lanczos --------------------------------------------------------------------------------- */

/* Both ends of the spectrum `all` of n numbers, and those nearest to numbers outside of it and inside. */
static void check_lanczos(const matrix *A, const matrix *B, kry_type type, const double *all, int n,
                          int k)
{
    kry_op *a = csr_of(A, type, NULL), *b = B ? csr_of(B, type, NULL) : NULL;
    const double middle = (all[n / 2] + 2 * all[n / 2 - 1]) / 3,
                 sigmas[] = { all[0] - 0.3, middle };
    double *want = calloc((size_t)n, sizeof *want);
    kry_vec *X;
    kry_eigen_result r;

    assert_non_null(want);
    OK(solve(a, KRY_EIGEN(.method = "lanczos", .B = b), k, &X, &r));
    assert_int_equal(r.converged, k);
    check_pairs(A, B, X, &r, all);
    kry_vec_release(&X);
    for (int j = 0; j < n; j++) want[j] = all[n - 1 - j];
    OK(solve(a, KRY_EIGEN(.method = "lanczos", .B = b, .largest = true), k, &X, &r));
    check_pairs(A, B, X, &r, want);
    kry_vec_release(&X);
    for (size_t s = 0; s < COUNT(sigmas); s++) {
        OK(solve(a, KRY_EIGEN(.B = b, .nearest = true, .sigma = sigmas[s]), k, &X, &r));
        for (int j = 0, low = s ? n / 2 - 1 : -1, high = low + 1; j < k; j++) {
            const bool below =
                low >= 0 && (high == n || sigmas[s] - all[low] < all[high] - sigmas[s]);
            want[j] = below ? all[low--] : all[high++];
        }
        check_pairs(A, B, X, &r, NULL);
        for (int j = 0; j < k; j++)
            NEAR(fabs(r.value[j] - sigmas[s]), fabs(want[j] - sigmas[s]),
                 100 * tolerance_of(type) * r.norm_A, "distance %d from %g", j, sigmas[s]);
        kry_vec_release(&X);
    }
    kry_op_release(&a), kry_op_release(&b);
    free(want);
}

static void kry_eigen__lanczos_of_random_matrices(void **state)
{
    enum { N = 90 };
    const kry_type type = type_of(state);
    static const int blocks[] = { 1, 2, 7, 33 };
    matrix A = random_symmetric(type, N, 1), B = random_symmetric(type, N, 2);
    double *one = spectrum_of(&A), *pair = spectrum_of_pair(&A, &B);

    for (size_t i = 0; i < COUNT(blocks); i++) {
        check_lanczos(&A, NULL, type, one, N, blocks[i]);
        check_lanczos(&A, &B, type, pair, N, blocks[i]);
    }
    matrix_release(&A), matrix_release(&B);
    free(one), free(pair);
}

/* A grid without a matrix: kry factors its entries. */
static void kry_eigen__lanczos_of_a_grid(void **state)
{
    enum { SIDE_OF_GRID = 15, K = 6 };
    const kry_type type = type_of(state);
    double *want = spectrum_of_grid(SIDE_OF_GRID, 2);
    kry_problem *p;
    kry_op *A;
    kry_vec *X;
    kry_eigen_result r;

    OK(kry_problem_create("poisson2d:15", 1, &p));
    OK(kry_stencil_create(device(), type, p->grid, &A));
    for (int nearest = 0; nearest < 2; nearest++) {
        OK(solve(A, KRY_EIGEN(.method = "lanczos", .nearest = nearest), K, &X, &r));
        for (int j = 0; j < K; j++)
            NEAR(r.value[j], want[j], 40 * tolerance_of(type), "eigenvalue %d", j);
        kry_vec_release(&X);
    }
    kry_op_release(&A), kry_problem_release(&p);
    free(want);

    /* The sixth eigenvalue of a cube is the seventh, too. */
    want = spectrum_of_grid(12, 3);
    OK(kry_problem_create("poisson3d:12", 1, &p));
    OK(kry_stencil_create(device(), type, p->grid, &A));
    OK(solve(A, KRY_EIGEN(.method = "lanczos", .max_iter = 100), K, &X, &r));
    for (int j = 0; j < K; j++)
        NEAR(r.value[j], want[j], 40 * tolerance_of(type), "eigenvalue %d of a cube", j);
    kry_vec_release(&X);
    kry_op_release(&A), kry_problem_release(&p);
    free(want);
}

/* In exact arithmetic a Krylov space of a diagonal matrix holds one vector of each eigenvalue. */
static void kry_eigen__lanczos_finds_all_of_a_multiple_eigenvalue(void **state)
{
    enum { N = 120, TIMES = 5, MOST_K = 8 };
    const kry_type type = type_of(state);
    double a[N * N] = { 0 }, want[MOST_K];

    for (int i = 0; i < N; i++) a[i * N + i] = i < TIMES ? 1 : 2 + i / 64.0;
    matrix A = matrix_from(a, N);
    kry_op *op = csr_of(&A, type, NULL);
    for (int j = 0; j < MOST_K; j++) want[j] = a[j * N + j];
    for (int k = TIMES - 1; k <= MOST_K; k++)
        for (uint64_t seed = 1; seed <= 4; seed++)
            for (int nearest = 0; nearest < 2; nearest++) {
                kry_vec *X;
                kry_eigen_result r;
                OK(solve(op, KRY_EIGEN(.method = "lanczos", .nearest = nearest, .seed = seed), k,
                         &X, &r));
                check_pairs(&A, NULL, X, &r, want);
                kry_vec_release(&X);
            }
    kry_op_release(&op);
    matrix_release(&A);
}

static void kry_eigen__lanczos_of_a_ring_and_a_solid(void **state)
{
    enum { N = 60, K = 7 };
    const kry_type type = type_of(state);
    matrix ring = graph(N, true), solid = free_solid();
    kry_op *A = csr_of(&ring, type, NULL), *C = csr_of(&solid, type, NULL);
    double want[K], *modes = spectrum_of(&solid);
    kry_vec *X, *ones;
    kry_eigen_result r;

    for (int j = 0; j < K; j++) want[j] = 2 - 2 * cos(2 * acos(-1.0) * ((j + 1) / 2) / N);
    OK(kry_vec_create(device(), type, N, 2, &ones));
    OK(kry_vec_fill(ones, 3));
    OK(solve(A, KRY_EIGEN(.method = "lanczos", .constraints = ones), K - 1, &X, &r));
    check_pairs(&ring, NULL, X, &r, want + 1);
    kry_vec_release(&X);
    OK(solve(A, KRY_EIGEN(.constraints = ones, .nearest = true, .sigma = -0.25), K - 1, &X, &r));
    check_pairs(&ring, NULL, X, &r, want + 1);
    kry_vec_release(&X), kry_vec_release(&ones);
    for (int nearest = 0; nearest < 2; nearest++) {
        OK(solve(C,
                 KRY_EIGEN(.method = "lanczos", .nearest = nearest, .sigma = nearest ? -0.25 : 0),
                 9, &X, &r));
        check_pairs(&solid, NULL, X, &r, modes);
        for (int j = 0; j < 9; j++) assert_true(j < 6 ? fabs(r.value[j]) < 1e-4 : r.value[j] > 0.1);
        kry_vec_release(&X);
    }
    kry_op_release(&A), kry_op_release(&C);
    matrix_release(&ring), matrix_release(&solid);
    free(modes);
}

static void kry_eigen__lanczos_of_few_rows(void **state)
{
    const kry_type type = type_of(state);
    kry_vec *X;
    kry_eigen_result r;

    for (int n = 1; n <= 12; n++)
        for (int k = 1; k <= n; k += 2) {
            matrix A = random_symmetric(type, n, 0);
            kry_op *a = csr_of(&A, type, NULL);
            double *want = spectrum_of(&A);
            OK(solve(a, KRY_EIGEN(.method = "lanczos"), k, &X, &r));
            check_pairs(&A, NULL, X, &r, want);
            kry_vec_release(&X);
            OK(solve(a, KRY_EIGEN(.nearest = true, .sigma = want[0] - 1), k, &X, &r));
            check_pairs(&A, NULL, X, &r, want);
            kry_vec_release(&X);
            kry_op_release(&a);
            matrix_release(&A);
            free(want);
        }
}

/* An inverse of the caller's; vectors that are found are a good guess. */
static void kry_eigen__lanczos_with_an_inverse(void **state)
{
    enum { N = 90, K = 3 };
    const kry_type type = type_of(state);
    matrix A = random_symmetric(type, N, 3);
    kry_op *a = csr_of(&A, type, KRY_MATRIX(.traits = KRY_POSITIVE)), *inverse;
    double *want = spectrum_of(&A);
    kry_vec *X;
    kry_eigen_result r, again;

    OK(kry_solver_create(a, type == KRY_F32 ? "method=cg rtol=1e-6" : "method=cg rtol=1e-13", NULL,
                         NULL, &inverse));
    OK(solve(a, KRY_EIGEN(.nearest = true, .inverse = inverse, .basis = K + 2), K, &X, &r));
    check_pairs(&A, NULL, X, &r, want);
    OK(kry_eigen(a, KRY_EIGEN(.nearest = true, .inverse = inverse, .basis = K + 2, .guess = true),
                 X, &again));
    check_pairs(&A, NULL, X, &again, want);
    assert_true(again.iterations < r.iterations);
    kry_vec_release(&X);
    kry_op_release(&inverse), kry_op_release(&a);
    matrix_release(&A);
    free(want);
}

static void kry_eigen__lanczos_ends(void **state)
{
    enum { N = 400 };
    const kry_type type = type_of(state);
    const double unit = type == KRY_F32 ? 0x1p-24 : 0x1p-53;
    matrix path = graph(N, false), B = graph(N, true);
    kry_op *A = csr_of(&path, type, NULL);
    kry_vec *X;
    kry_eigen_result r;
    int64_t seen = -1;

    for (int64_t e = 0; e < B.nnz; e++) B.val[e] = -B.val[e];
    kry_op *b = csr_of(&B, type, NULL);
    REFUSES(solve(A, KRY_EIGEN(.method = "lanczos", .max_iter = 3), 2, &X, &r), KRY_NOT_CONVERGED,
            "0 of 2 converged in 3 iterations");
    assert_true(r.iterations == 3 && r.converged == 0 && strstr(r.why, "residual"));
    assert_true(r.residual[0] > tolerance_of(type));
    kry_vec_release(&X);
    REFUSES(solve(A, KRY_EIGEN(.method = "lanczos", .monitor = stop_at_two, .monitor_user = &seen),
                  2, &X, &r),
            KRY_STOPPED, "monitor");
    assert_true(seen == 2 && r.iterations == 2);
    kry_vec_release(&X);
    kry_status st = solve(A, KRY_EIGEN(.nearest = true, .sigma = -1, .rtol = unit), 4, &X, &r);
    assert_true(st == KRY_STAGNATED || st == KRY_OK);
    for (int j = 0; j < 4; j++) assert_true(st != KRY_OK || r.residual[j] <= unit);
    kry_vec_release(&X);
    REFUSES(solve(A, KRY_EIGEN(.nearest = true, .sigma = 1, .B = b), 2, &X, &r), KRY_BREAKDOWN,
            "B is not positive definite");
    kry_vec_release(&X);
    kry_op_release(&A), kry_op_release(&b);
    matrix_release(&path), matrix_release(&B);
}

static void kry_eigen__lanczos_refuses(void **state)
{
    const kry_type type = type_of(state);
    matrix path = graph(40, false);
    kry_op *A = csr_of(&path, type, NULL), *M;
    kry_vec *X;

    OK(kry_vec_create(device(), type, 40, 2, &X));
    OK(kry_jacobi_create(A, &M));
#define LANCZOS_REFUSES(status, part, ...) \
    REFUSES(kry_eigen(A, KRY_EIGEN(__VA_ARGS__), X, NULL), status, part)
    LANCZOS_REFUSES(KRY_ERR_ARGUMENT, "method is \"lanzcos\"", .method = "lanzcos");
    LANCZOS_REFUSES(KRY_ERR_UNSUPPORTED, "lanczos takes no preconditioner", .method = "lanczos",
                    .precond = M);
    LANCZOS_REFUSES(KRY_ERR_UNSUPPORTED, "lanczos takes no block", .method = "lanczos", .block = 4);
    LANCZOS_REFUSES(KRY_ERR_UNSUPPORTED, "lobpcg takes no nearest", .method = "lobpcg",
                    .nearest = true);
    LANCZOS_REFUSES(KRY_ERR_UNSUPPORTED, "lobpcg takes no basis", .basis = 30);
    LANCZOS_REFUSES(KRY_ERR_ARGUMENT, "exclude each other", .nearest = true, .largest = true);
    LANCZOS_REFUSES(KRY_ERR_ARGUMENT, "without `nearest`", .method = "lanczos", .inverse = M);
    LANCZOS_REFUSES(KRY_ERR_ARGUMENT, "sigma is not finite", .nearest = true, .sigma = NAN);
    LANCZOS_REFUSES(KRY_ERR_ARGUMENT, "basis is 3, not from 4", .nearest = true, .basis = 3);
    LANCZOS_REFUSES(KRY_ERR_ARGUMENT, "to 200", .nearest = true, .basis = 201);
#undef LANCZOS_REFUSES
    REFUSES(kry_eigen(M, KRY_EIGEN(.nearest = true), X, NULL), KRY_ERR_UNSUPPORTED,
            "no entries that could be factored");
    kry_op_release(&M), kry_op_release(&A);
    path.val[1] = -3; /* row 0, column 1 */
    A = csr_of(&path, type, NULL);
    REFUSES(kry_eigen(A, KRY_EIGEN(.method = "lanczos"), X, NULL), KRY_ERR_UNSUPPORTED,
            "A is not symmetric");
    kry_vec_release(&X), kry_op_release(&A);
    matrix_release(&path);
}

static void kry_eigen__lanczos_without_memory(void **state)
{
    (void)state;
    const kry_type type = KRY_F64;
    matrix path = graph(8, false), ring = random_symmetric(type, 8, 3);
    kry_op *A = csr_of(&path, type, NULL), *B = csr_of(&ring, type, NULL);
    kry_vec *X;

    OK(kry_vec_create(device(), type, 8, 1, &X));
    for (int nearest = 0; nearest < 2; nearest++) {
        EACH_REQUEST(k)
        {
            kry_status st =
                FAILING(k, kry_eigen(A,
                                     KRY_EIGEN(.method = "lanczos", .B = B, .nearest = nearest,
                                               .sigma = -1, .rtol = 0.02, .basis = 6),
                                     X, NULL));
            assert_true(st == KRY_ERR_MEMORY || !request_failed);
        }
    }
    kry_vec_release(&X);
    kry_op_release(&A), kry_op_release(&B);
    matrix_release(&path), matrix_release(&ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(kry_eigen__grids),
        BOTH(kry_eigen__largest),
        BOTH(kry_eigen__multiple_eigenvalues),
        BOTH(kry_eigen__fiedler_vector),
        BOTH(kry_eigen__six_rigid_modes),
        BOTH(kry_eigen__generalised),
        BOTH(kry_eigen__few_rows),
        BOTH(kry_eigen__zero_matrix),
        BOTH(kry_eigen__guess),
        BOTH(kry_eigen__ends),
        BOTH(kry_eigen__stagnates),
        BOTH(kry_eigen__breaks_down),
        BOTH(kry_eigen__refuses),
        cmocka_unit_test(kry_eigen__several_devices),
        cmocka_unit_test(kry_eigen__result_of_any_size),
        cmocka_unit_test(kry_eigen__no_memory),
        BOTH(kry_eigen__lanczos_of_random_matrices),
        BOTH(kry_eigen__lanczos_of_a_grid),
        BOTH(kry_eigen__lanczos_finds_all_of_a_multiple_eigenvalue),
        BOTH(kry_eigen__lanczos_of_a_ring_and_a_solid),
        BOTH(kry_eigen__lanczos_of_few_rows),
        BOTH(kry_eigen__lanczos_with_an_inverse),
        BOTH(kry_eigen__lanczos_ends),
        BOTH(kry_eigen__lanczos_refuses),
        cmocka_unit_test(kry_eigen__lanczos_without_memory),
    };

    return cmocka_run_group_tests(tests, NULL, close_device);
}
