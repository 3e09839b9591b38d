/* test_direct.c - the direct solver: systems of every kind against their known residual, refinement, new numbers,
 * singular matrices, condition, too little memory, builds without SuiteSparse. */
#include "chains.h"
#include "precond/factor.h"

#ifdef KRY_HAVE_CHOLMOD
enum { LDL = 1 };
#else
enum { LDL = 0 };
#endif
#ifdef KRY_HAVE_UMFPACK
enum { LU = 1 };
static const char lu_name[] = "LU, UMFPACK";
#elif defined KRY_HAVE_KLU
enum { LU = 1 };
static const char lu_name[] = "LU, KLU";
#else
enum { LU = 0 };
static const char lu_name[] = "none";
#endif

#define NEEDS_LDL() \
    if (!LDL && !LU) SKIP("built without CHOLMOD and KLU")
#define NEEDS_LU() \
    if (!LU) SKIP("built without KLU and UMFPACK")
static const char needs_lu[] =
    "needs KLU of SuiteSparse for it, which this build of kry does not have";

/* SuiteSparse's requests for memory are counted with the library's: KLU and CHOLMOD find these functions first. */
void *SuiteSparse_malloc(size_t count, size_t size);
void *SuiteSparse_calloc(size_t count, size_t size);
void *SuiteSparse_realloc(size_t count, size_t before, size_t size, void *p, int *ok);

static int of_suitesparse; /* requests */

void *SuiteSparse_malloc(size_t count, size_t size)
{
    of_suitesparse++;
    return request_fails() ? NULL : malloc((count ? count : 1) * (size ? size : 1));
}

void *SuiteSparse_calloc(size_t count, size_t size)
{
    of_suitesparse++;
    return request_fails() ? NULL : calloc(count ? count : 1, size ? size : 1);
}

/* Whoever asks for less may be refused, and keeps what there is. */
void *SuiteSparse_realloc(size_t count, size_t before, size_t size, void *p, int *ok)
{
    of_suitesparse++;
    void *q = request_fails() ? NULL : realloc(p, (count ? count : 1) * (size ? size : 1));
    *ok = q || count <= before;
    return q ? q : p;
}

static void check_refused(kry_type type, const chain *c)
{
    kry_op *A = matrix_of(device(), type, c, 0), *S;
    REFUSES(kry_solver_create(A, "method=direct", NULL, NULL, &S), KRY_ERR_UNSUPPORTED, needs_lu);
    kry_op_release(&A);
}

/* What the solver says of its factors. */
static void check_engine(kry_type type, const chain *c, const char *engine)
{
    kry_op *A = matrix_of(device(), type, c, 0), *S;
    kry_op_info info;

    OK(kry_solver_create(A, "method=direct", NULL, NULL, &S));
    kry_op_describe(S, &info);
    if (!strstr(info.variant, engine)) print_message("# %s\n", info.variant);
    assert_non_null(strstr(info.variant, engine));
    kry_op_release(&S);
    kry_op_release(&A);
}

static void solve__of_every_kind(void **state)
{
    kry_type type = type_of(state);
    static const int64_t sizes[] = { 1, 2, 7, 63, 64, 257 };
    NEEDS_LDL();

    for (size_t i = 0; i < COUNT(sizes); i++) {
        const chain cases[] = { chain_of(sizes[i], 2.5, 2.5), chain_of(sizes[i], 0.55, 0.55),
                                chain_with(sizes[i], -1.5, 2.8, -0.5) };
        for (size_t k = 0; k < (LU ? COUNT(cases) : COUNT(cases) - 1); k++) {
            outcome o = solve(type, &cases[k], "method=direct rtol=1e-6");
            assert_int_equal(o.status, KRY_OK);
            assert_int_equal(o.res.reason, KRY_CONVERGED);
            assert_true(o.res.iterations <= 2);
            NEAR(residual_of(&cases[k], o.x), o.res.true_residual,
                 (type == KRY_F32 ? 1e-6 : 1e-13) * o.res.norm_b, "case %zu", k);
        }
    }
    const chain definite = chain_of(64, 2.5, 2.5), indefinite = chain_of(64, 0.55, 0.55),
                general = chain_with(64, -1.5, 2.8, -0.5);
#ifdef KRY_GPL
    check_engine(type, &definite, LDL ? "Cholesky, CHOLMOD" : lu_name);
#else
    check_engine(type, &definite, LDL ? "L D L', CHOLMOD" : lu_name);
#endif
    if (LDL || LU) check_engine(type, &indefinite, LDL ? "L D L', CHOLMOD" : lu_name);
    if (LU)
        check_engine(type, &general, lu_name);
    else
        check_refused(type, &general);
}

static void solve__zero_rhs_and_exact_guess(void **state)
{
    const chain c = chain_of(50, 2.5, 2.5);
    NEEDS_LDL();
    check_guess_and_zero(type_of(state), &c, "method=direct rtol=1e-5");
}

/* Steps around factors of the matrix in single come to the accuracy of double. */
static void solve__refines(void **state)
{
    (void)state;
    NEEDS_LU();
    if (acc_type() != KRY_F64) SKIP("no double");

    const chain c = chain_with(MOST, -1.0 / 3, 0.7, -0.3);
    outcome o = solve(KRY_F64, &c, "method=direct precision=mixed rtol=1e-12");
    assert_int_equal(o.status, KRY_OK);
    assert_true(o.res.iterations > 1 && o.res.iterations < 10);
    assert_true(residual_of(&c, o.x) <= 1.01e-12 * o.res.norm_b);
}

/* As far as rounding lets it, and no further. */
static void solve__ends_at_the_limit_of_the_precision(void **state)
{
    kry_type type = type_of(state);
    const chain c = chain_of(MOST, 2, 2);
    NEEDS_LDL();

    outcome o =
        solve(type, &c, type == KRY_F32 ? "method=direct rtol=6e-8" : "method=direct rtol=1.2e-16");
    assert_int_equal(o.status, KRY_STAGNATED);
    assert_true(o.res.iterations < 10);
    NEAR(residual_of(&c, o.x), 0, (type == KRY_F32 ? 1e-2 : 1e-10) * o.res.norm_b, "x");
}

static void update__other_numbers(void **state)
{
    kry_type type = type_of(state);
    NEEDS_LDL();
    chain c = chain_of(100, 2.5, 2.5);
    const chain changes[] = { chain_of(100, 3, 4), chain_of(100, 0.55, 0.55),
                              chain_with(100, -1.5, 2.8, -0.5), chain_of(100, 3, 4) };
    kry_vec *b = vec_of(type, c.b, c.n, 1), *x;
    void *first = in_type(type, c.val, c.row_ptr[c.n]);
    kry_op *A, *S;
    kry_result res;

    OK(kry_csr_create(device(), type, c.n, c.n, c.row_ptr, c.col, first,
                      KRY_MATRIX(.format = KRY_FORMAT_CSR), &A));
    free(first);
    OK(kry_vec_create(device(), type, c.n, 1, &x));
    OK(kry_solver_create(A, "method=direct rtol=1e-5 check=none", NULL, NULL, &S));
    for (size_t i = 0; i < COUNT(changes); i++) {
        void *numbers = in_type(type, changes[i].val, c.row_ptr[c.n]);
        OK(kry_op_update(A, numbers));
        free(numbers);
        if (!LU && i == 2) { /* not symmetric */
            REFUSES(kry_op_update(S, NULL), KRY_ERR_UNSUPPORTED, needs_lu);
            continue;
        }
        OK(kry_op_update(S, NULL));
        OK(kry_vec_fill(x, 0));
        OK(kry_solve(S, b, x, &res));
        assert_true(res.iterations <= 2);
        double *found = numbers_of(x);
        NEAR(residual_of(&changes[i], found), 0, 1.1e-5 * res.norm_b, "change %zu", i);
        free(found);
    }
    kry_op_release(&S);
    kry_op_release(&A);
    kry_vec_release(&b);
    kry_vec_release(&x);
}

/* Constants are mapped to zero: the solver pins an unknown by itself. */
static void solve__singular(void **state)
{
    kry_type type = type_of(state);
    chain c = chain_of(16, 2, 1);
    double mean = 0;
    NEEDS_LDL();

    for (int k = 0; k < 16; k++) mean += c.b[k] / 16;
    for (int k = 0; k < 16; k++) c.b[k] -= mean;
    outcome o = solve_on(device(), type, &c, KRY_SINGULAR, "method=direct rtol=1e-4");
    assert_int_equal(o.status, KRY_OK);
    NEAR(residual_of(&c, o.x), 0, 1.1e-4 * o.res.norm_b, "projected");
    mean = 0;
    for (int k = 0; k < 16; k++) mean += o.x[k] / 16;
    NEAR(mean, 0, 1e-4, "x is clear of constants");
}

static void create__names_what_is_singular(void **state)
{
    kry_type type = type_of(state);
    chain c = chain_with(8, -1.5, 2.8, -0.5);
    kry_op *A, *S;
    NEEDS_LU();

    for (int64_t e = c.row_ptr[4]; e < c.row_ptr[5]; e++) c.val[e] = 0;
    A = matrix_of(device(), type, &c, 0);
    REFUSES(kry_solver_create(A, "method=direct null-space=none", NULL, NULL, &S),
            KRY_ERR_UNSUPPORTED, "nothing but zeros, the first of them row 4");
    REFUSES(kry_solver_create(A, "method=direct null-space=none check=none", NULL, NULL, &S),
            KRY_ERR_SINGULAR, "the matrix is singular: row 4 depends on the others");
    kry_op_release(&A);
    c = chain_with(8, 0, 1, 0); /* the last two rows are the same */
    c.val[c.row_ptr[7] - 1] = c.val[c.row_ptr[8] - 2] = 1;
    A = matrix_of(device(), type, &c, 0);
    REFUSES(kry_solver_create(A, "method=direct", NULL, NULL, &S), KRY_ERR_SINGULAR,
            "kry_solver_create: the matrix is singular");
    kry_op_release(&A);
}

static void create__refuses(void **state)
{
    kry_type type = type_of(state);
    chain c = chain_of(30, 2.5, 2.5);
    kry_op *A, *S;
    kry_vec *ones;
    NEEDS_LDL();

    A = matrix_of(device(), type, &c, 0);
    REFUSES(kry_solver_create(A, "method=direct precond=jacobi", NULL, NULL, &S),
            KRY_ERR_UNSUPPORTED, "method=direct takes no preconditioner");
    if (!is_host(device()))
        REFUSES(kry_solver_create(A, "method=direct deflation=stripes:2", NULL, NULL, &S),
                KRY_ERR_UNSUPPORTED, "takes no deflation");
    REFUSES(kry_solver_create(A, "method=direct:3", NULL, NULL, &S), KRY_ERR_PARSE,
            "has no number");
    kry_op_release(&A);
    c = chain_of(30, 2, 1);
    A = matrix_of(device(), type, &c, KRY_SYMMETRIC);
    OK(kry_vec_create(device(), type, c.n, 1, &ones));
    OK(kry_vec_fill(ones, 1));
    OK(kry_op_set_null_space(A, ones));
    REFUSES(kry_solver_create(A, "method=direct", NULL, NULL, &S), KRY_ERR_SINGULAR,
            "maps other vectors than constants to zero");
    kry_vec_release(&ones);
    kry_op_release(&A);
    if (is_host(device())) return;
    kry_device *team = open_team(2, (kry_team_params){ 0 });
    c = chain_of(MOST, 2.5, 2.5);
    A = matrix_of(team, type, &c, 0);
    REFUSES(kry_solver_create(A, "method=direct", NULL, NULL, &S), KRY_ERR_UNSUPPORTED,
            "takes no team of devices");
    kry_op_release(&A);
    close_team(&team);
}

static kryi_csr sparse_of(chain *c)
{
    return (kryi_csr){ c->n, c->n, KRY_F64, c->row_ptr, c->col, c->val };
}

static void factor_numbers__refuses(void **state)
{
    (void)state;
    chain definite = chain_of(100, 2.5, 2.5), general = chain_with(100, -1.5, 2.8, -0.5);
    const kryi_csr matrices[] = { sparse_of(&definite), sparse_of(&general) };
    NEEDS_LDL();

    for (size_t i = 0; i < (LU ? COUNT(matrices) : 1); i++) {
        kryi_factor F;
        OK(kryi_factor_analyse("who", &matrices[i], &F));
        assert_true(F.cost.seconds > 0 && F.cost.bytes >= 1600);
        REFUSES(kryi_factor_numbers("who", &matrices[i], 1000, &F), KRY_ERR_MEMORY,
                "and there are 1e+03");
        OK(kryi_factor_numbers("who", &matrices[i], F.cost.bytes, &F));
        ((double *)matrices[i].val)[4] = NAN;
        REFUSES(kryi_factor_numbers("who", &matrices[i], 0, &F), KRY_ERR_ARGUMENT, "is nan");
        kryi_factor_release(&F);
    }
}

/* Symmetric and full, with next to nothing on the diagonal: without pivoting nothing but roundoff is left. */
static kryi_csr full_of_small_pivots(int64_t n)
{
    kryi_csr A;

    OK(kryi_csr_create(n, n, KRY_F64, n * n, &A));
    double *val = A.val;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            A.col[i * n + j] = (int32_t)j;
            val[i * n + j] = i == j ? 1e-18 : j < i ? val[j * n + i] : random_number(KRY_F64);
        }
        A.row_ptr[i + 1] = (i + 1) * n;
    }
    return A;
}

static void factor_numbers__goes_on_with_pivots(void **state)
{
    (void)state;
    kryi_factor F;
    NEEDS_LU();

    kryi_csr A = full_of_small_pivots(12);
    OK(kryi_factor_analyse("who", &A, &F));
    OK(kryi_factor_numbers("who", &A, 0, &F));
    assert_string_equal(F.engine->name, lu_name);
    kryi_factor_release(&F);
    kryi_csr_release(&A);
}

/* A matrix of n rows with some entries in each, of which some are found in the transversal alone. */
static kryi_csr random_sparse(int64_t n, double *dense)
{
    kryi_csr A;
    int64_t nnz = 0;

    for (int64_t k = 0; k < n * n; k++) dense[k] = 0;
    for (int64_t i = 0; i < n; i++) {
        dense[i * n + (i + 1) % n] =
            2 + random_number(KRY_F64); /* the diagonal is zero but by chance */
        for (int k = 0; k < 3; k++)
            dense[i * n + (int64_t)random_below((int)n)] += random_number(KRY_F64);
    }
    OK(kryi_csr_create(n, n, KRY_F64, n * n, &A));
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++)
            if (dense[i * n + j] != 0)
                A.col[nnz] = (int32_t)j, ((double *)A.val)[nnz++] = dense[i * n + j];
        A.row_ptr[i + 1] = nnz;
    }
    return A;
}

/* The inverse of an n-by-n matrix by Gauss and Jordan with pivots, in long double; A is lost. */
static void invert(int64_t n, long double *A, long double *B)
{
    for (int64_t i = 0; i < n * n; i++) B[i] = i % (n + 1) == 0;
    for (int64_t k = 0; k < n; k++) {
        int64_t p = k;
        for (int64_t i = k; i < n; i++)
            if (fabsl(A[i * n + k]) > fabsl(A[p * n + k])) p = i;
        for (int64_t j = 0; j < n; j++) {
            const long double a = A[k * n + j], b = B[k * n + j];
            A[k * n + j] = A[p * n + j], A[p * n + j] = a;
            B[k * n + j] = B[p * n + j], B[p * n + j] = b;
        }
        const long double pivot = A[k * n + k];
        for (int64_t j = 0; j < n; j++) A[k * n + j] /= pivot, B[k * n + j] /= pivot;
        for (int64_t i = 0; i < n; i++) {
            const long double by = A[i * n + k];
            if (i == k) continue;
            for (int64_t j = 0; j < n; j++)
                A[i * n + j] -= by * A[k * n + j], B[i * n + j] -= by * B[k * n + j];
        }
    }
}

/* Random matrices with few entries on the diagonal: solutions with A and A', and the condition, against elimination. */
static void factor_solve__against_elimination(void **state)
{
    (void)state;
    enum { N = 40 };
    double dense[N * N], x[2][N], b[N], condition;
    long double A[N * N], B[N * N];
    NEEDS_LU();

    for (int64_t n = 2; n <= N; n += n < 6 ? 1 : 17) {
        kryi_csr S = random_sparse(n, dense);
        kryi_factor F;
        long double norm = 0, inverse = 0;
        for (int64_t i = 0; i < n; i++) x[0][i] = x[1][i] = b[i] = random_number(KRY_F64);
        for (int64_t k = 0; k < n * n; k++) A[k] = dense[k];
        invert(n, A, B);
        for (int64_t j = 0; j < n; j++) {
            long double column = 0, of_inverse = 0;
            for (int64_t i = 0; i < n; i++)
                column += fabsl((long double)dense[i * n + j]), of_inverse += fabsl(B[i * n + j]);
            norm = fmaxl(norm, column), inverse = fmaxl(inverse, of_inverse);
        }
        OK(kryi_factor_analyse("who", &S, &F));
        OK(kryi_factor_numbers("who", &S, 0, &F));
        OK(kryi_factor_condition(&F, &condition));
        assert_true(condition <= (double)(norm * inverse) * 1.0001);
        assert_true(condition >= (double)(norm * inverse) / 10);
        for (int transposed = 0; transposed < 2; transposed++) {
            OK(F.engine->solve(F.self, F.numbers, x[transposed], transposed));
            for (int64_t i = 0; i < n; i++) {
                long double want = 0;
                for (int64_t j = 0; j < n; j++)
                    want += (transposed ? B[j * n + i] : B[i * n + j]) * b[j];
                NEAR(x[transposed][i], (double)want, 1e-13 * (double)(norm * inverse * inverse),
                     "n = %lld, %d", (long long)n, transposed);
            }
        }
        kryi_factor_release(&F);
        kryi_csr_release(&S);
    }
}

/* A saddle point in a random order: n rows with a diagonal, coupled along a chain, and m constraints of three entries each,
 * the last one equal to the first if it is to be singular. dense: (n + m)^2 numbers */
static kryi_csr saddle_point(int64_t n, int64_t m, bool singular, double *dense)
{
    const int64_t N = n + m;
    int64_t place[64], nnz = 0;
    kryi_csr A;

    for (int64_t i = 0; i < N; i++) {
        const int64_t j = (int64_t)random_below((int)i + 1);
        place[i] = place[j], place[j] = i;
    }
    memset(dense, 0, (size_t)(N * N) * sizeof *dense);
    for (int64_t i = 0; i < n; i++) {
        const int64_t p = place[i], q = place[i + 1 < n ? i + 1 : 0];
        dense[p * N + p] = 3 + random_number(KRY_F64);
        if (i + 1 < n) dense[p * N + q] = dense[q * N + p] = random_number(KRY_F64);
    }
    for (int64_t k = 0; k < m; k++)
        for (int64_t j = 0; j < 3; j++) {
            const int64_t p = place[n + k], q = place[(2 * (singular ? k % (m - 1) : k) + j) % n];
            dense[p * N + q] = dense[q * N + p] =
                singular ? (double)(j + 1) : (double)(j == 0) + 0.25 * random_number(KRY_F64);
        }
    OK(kryi_csr_create(N, N, KRY_F64, N * N, &A));
    for (int64_t i = 0; i < N; i++) {
        for (int64_t j = 0; j < N; j++)
            if (dense[i * N + j] != 0)
                A.col[nnz] = (int32_t)j, ((double *)A.val)[nnz++] = dense[i * N + j];
        A.row_ptr[i + 1] = nnz;
    }
    return A;
}

/* Zeros on the diagonal, wherever they stand: refined solutions against elimination, by L D L' where there is CHOLMOD. */
static void factor_solve__of_saddle_points(void **state)
{
    (void)state;
    enum { MOST_ROWS = 50, STEPS = 4 };
    static const int64_t sizes[][2] = { { 3, 1 }, { 8, 3 }, { 33, 15 } };
    double dense[MOST_ROWS * MOST_ROWS], b[MOST_ROWS], x[MOST_ROWS], r[MOST_ROWS];
    long double A[MOST_ROWS * MOST_ROWS], B[MOST_ROWS * MOST_ROWS];
    NEEDS_LDL();

    for (size_t k = 0; k < 5 * COUNT(sizes); k++) {
        const int64_t n = sizes[k / 5][0], m = sizes[k / 5][1], N = n + m;
        kryi_csr S = saddle_point(n, m, false, dense);
        kryi_factor F;
        for (int64_t i = 0; i < N * N; i++) A[i] = dense[i];
        invert(N, A, B);
        for (int64_t i = 0; i < N; i++) b[i] = random_number(KRY_F64), x[i] = 0;
        OK(kryi_factor_analyse("who", &S, &F));
        OK(kryi_factor_numbers("who", &S, 0, &F));
        if (LDL) assert_string_equal(F.engine->name, "L D L', CHOLMOD");
        for (int step = 0; step < STEPS; step++) {
            for (int64_t i = 0; i < N; i++) {
                r[i] = b[i];
                for (int64_t j = 0; j < N; j++) r[i] -= dense[i * N + j] * x[j];
            }
            OK(kryi_factor_solve(&F, r));
            for (int64_t i = 0; i < N; i++) x[i] += r[i];
        }
        for (int64_t i = 0; i < N; i++) {
            long double want = 0, size = 0;
            for (int64_t j = 0; j < N; j++)
                want += B[i * N + j] * b[j], size += fabsl(B[i * N + j]);
            NEAR(x[i], (double)want, 1e-12 * (double)size, "row %lld of %lld", (long long)i,
                 (long long)N);
        }
        kryi_factor_release(&F);
        kryi_csr_release(&S);
    }
}

/* Two equal constraints: a small number in place of a zero makes no regular matrix of it. */
static void factor_numbers__refuses_singular_saddle_points(void **state)
{
    (void)state;
    double dense[28 * 28];
    kryi_factor F;
    NEEDS_LDL();

    kryi_csr S = saddle_point(20, 8, true, dense);
    OK(kryi_factor_analyse("who", &S, &F));
    const kry_status st = kryi_factor_numbers("who", &S, 0, &F);
    assert_int_equal(st, LU ? KRY_ERR_SINGULAR : KRY_ERR_UNSUPPORTED);
    kryi_factor_release(&F);
    kryi_csr_release(&S);
}

/* Pivots fill far more than the ordering counts: whoever sets a limit hears of it. */
static void factor_numbers__keeps_to_the_bytes(void **state)
{
    (void)state;
#ifdef KRY_HAVE_KLU
    enum { SIDE = 30, N = SIDE * SIDE };
    static const int steps[] = { -SIDE, -1, 0, 1, SIDE };
    kryi_csr A;
    void *self, *numbers;
    kryi_factor_cost cost;
    int64_t nnz = 0;

    /* A grid with next to nothing on the diagonal. */
    OK(kryi_csr_create(N, N, KRY_F64, 5 * N, &A));
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < 5; k++)
            if (i + steps[k] >= 0 && i + steps[k] < N) {
                A.col[nnz] = i + steps[k];
                ((double *)A.val)[nnz++] = steps[k] ? 2 + random_number(KRY_F64) : 1e-9;
            }
        A.row_ptr[i + 1] = nnz;
    }
    OK(kryi_factor_klu.analyse(&A, &cost, &self));
    const kry_status st = kryi_factor_klu.factor(self, &A, 1.01 * cost.bytes, &numbers);
    REFUSES(st, KRY_ERR_MEMORY, "fill far more than");
    assert_null(numbers);
    OK(kryi_factor_klu.factor(self, &A, 1e12, &numbers)); /* and with room it is made */
    assert_true(kryi_factor_klu.bytes(self, numbers) > 1.01 * cost.bytes);
    kryi_factor_klu.release(self, numbers);
    kryi_factor_klu.destroy(self);
    kryi_csr_release(&A);
#else
    SKIP("built without KLU");
#endif
}

/* The k-th request for memory fails, the library's or SuiteSparse's. */
static void fault__every_request(void **state)
{
    (void)state;
    chain chains[] = { chain_of(50, 2.5, 2.5), chain_of(50, 0.55, 0.55),
                       chain_with(50, -1.5, 2.8, -0.5) };
    kryi_csr full = full_of_small_pivots(50);
    const kryi_csr cases[] = { sparse_of(&chains[0]), sparse_of(&chains[1]), sparse_of(&chains[2]),
                               full };
    NEEDS_LU();

    for (size_t i = 0; i < COUNT(cases); i++) {
        const kryi_csr A = cases[i];
        int requests = 0;
        of_suitesparse = 0;
        EACH_REQUEST(k)
        {
            kryi_factor F = { 0 };
            double x[50] = { 1 }, condition;
            kry_status st = FAILING(k, kryi_factor_analyse("who", &A, &F));
            const bool analysis = request_failed;
            if (st == KRY_OK && !analysis) {
                int left = k - requests;
                st = FAILING(left < 0 ? 0 : left, kryi_factor_numbers("who", &A, 0, &F));
            } else
                requests = k + 1;
            if (st < 0) {
                assert_int_equal(st, KRY_ERR_MEMORY);
                assert_true(request_failed);
            } else {
                OK(kryi_factor_solve(&F, x));
                OK(kryi_factor_condition(&F, &condition));
                assert_true(condition >= 1);
            }
            kryi_factor_release(&F);
        }
        assert_true(of_suitesparse > 20);
    }
    kryi_csr_release(&full);
}

/* The factors are those of before, to the bit. x: A^-1 b by them */
static void check_same(const kryi_factor *F, const kryi_factor *before, const double *b,
                       const double *x)
{
    double again[MOST];

    assert_ptr_equal(F->engine, before->engine);
    assert_true(F->norm == before->norm && F->bytes == before->bytes);
    memcpy(again, b, (size_t)F->rows * sizeof *b);
    OK(kryi_factor_solve(F, again));
    assert_memory_equal(again, x, (size_t)F->rows * sizeof *x);
}

/* Row and column `at` have nothing but zeros; skew: and another entry has no mirror image. */
static chain singular_like(const chain *c, int64_t at, bool skew)
{
    chain s = *c;

    for (int64_t i = 0; i < s.n; i++)
        for (int64_t e = s.row_ptr[i]; e < s.row_ptr[i + 1]; e++)
            if (i == at || s.col[e] == at) s.val[e] = 0;
    if (skew) s.val[at ? 1 : s.row_ptr[s.n] - 2] += 0.125;
    return s;
}

/* Numbers without factors, of whichever engine, and any request for memory that fails on the way to new factors. */
static void factor_numbers__keeps_what_there_is(void **state)
{
    (void)state;
    chain cases[] = { chain_of(50, 2.5, 2.5), chain_of(50, 0.55, 0.55), chain_of(50, 1e-18, 1e-18),
                      chain_with(50, -1.5, 2.8, -0.5) };
    NEEDS_LDL();

    for (size_t i = 0; i < (LU ? COUNT(cases) : 2); i++) {
        kryi_csr A = sparse_of(&cases[i]);
        kryi_factor F;
        double b[MOST], x[MOST];
        const int64_t at = random_below(50);
        chain refused[] = { singular_like(&cases[i], at, false), singular_like(&cases[i], at, true),
                            cases[i], cases[i] };
        refused[2].val[random_below((int)A.row_ptr[50])] = NAN;
        OK(kryi_factor_analyse("who", &A, &F));
        OK(kryi_factor_numbers("who", &A, 0, &F));
        for (int64_t r = 0; r < 50; r++) x[r] = b[r] = random_number(KRY_F64);
        OK(kryi_factor_solve(&F, x));
        const kryi_factor before = F;
        for (size_t k = 0; k < COUNT(refused); k++) {
            kryi_csr bad = sparse_of(&refused[k]);
            assert_true(kryi_factor_numbers("who", &bad, k == 3 ? 100 : 0, &F) < 0);
            check_same(&F, &before, b, x);
        }
        for (size_t k = 0; k < (LU ? COUNT(cases) : 2); k++) {
            kryi_csr other = sparse_of(&cases[k]);
            EACH_REQUEST(request)
            {
                if (FAILING(request, kryi_factor_numbers("who", &other, 0, &F)) < 0)
                    check_same(&F, &before, b, x);
                else if (F.engine == before.engine) { /* and back */
                    OK(kryi_factor_numbers("who", &A, 0, &F));
                    check_same(&F, &before, b, x);
                } else { /* it does not go back to another engine */
                    kryi_factor_release(&F);
                    OK(kryi_factor_analyse("who", &A, &F));
                    OK(kryi_factor_numbers("who", &A, 0, &F));
                }
            }
        }
        kryi_factor_release(&F);
    }
}

/* A solver of which an update is refused solves as before. */
static void update__refused_keeps_factors(void **state)
{
    kry_type type = type_of(state);
    NEEDS_LDL();
    const chain cases[] = { chain_of(100, 2.5, 2.5), chain_of(100, 0.55, 0.55),
                            chain_with(100, -1.5, 2.8, -0.5) };

    for (size_t i = 0; i < (LU ? COUNT(cases) : 2); i++) {
        const chain *c = &cases[i], zeros = singular_like(c, 50, false);
        const int64_t nnz = c->row_ptr[c->n];
        kry_vec *b = vec_of(type, c->b, c->n, 1), *x;
        void *good = in_type(type, c->val, nnz), *bad = in_type(type, zeros.val, nnz);
        kry_op *A, *S;
        kry_result res;

        OK(kry_csr_create(device(), type, c->n, c->n, c->row_ptr, c->col, good, NULL, &A));
        OK(kry_vec_create(device(), type, c->n, 1, &x));
        OK(kry_solver_create(A, "method=direct rtol=1e-5 check=none null-space=none", NULL, NULL,
                             &S));
        OK(kry_vec_fill(x, 0));
        OK(kry_solve(S, b, x, &res));
        double *first = numbers_of(x);
        OK(kry_op_update(A, bad));
        REFUSES(kry_op_update(S, NULL), LU ? KRY_ERR_SINGULAR : KRY_ERR_UNSUPPORTED, "kry_");
        OK(kry_op_update(A, good));
        OK(kry_vec_fill(x, 0));
        OK(kry_solve(S, b, x, &res));
        double *again = numbers_of(x);
        assert_memory_equal(again, first, (size_t)c->n * sizeof *first);
        free(again), free(first), free(bad), free(good);
        kry_op_release(&S);
        kry_op_release(&A);
        kry_vec_release(&x);
        kry_vec_release(&b);
    }
}

/* The condition of diag(1, 10^-k) and its like is known. */
static void describe__tells_the_condition(void **state)
{
    kry_type type = type_of(state);
    chain c = chain_with(20, 0, 1, 0);
    kry_op *A, *S;
    kry_op_info info;
    NEEDS_LDL();

    c.val[0] = 1e-5;
    A = matrix_of(device(), type, &c, 0);
    OK(kry_solver_create(A, "method=direct", NULL, NULL, &S));
    kry_op_describe(S, &info);
    if (!strstr(info.variant, "condition about 1e+05")) fail_msg("'%s'", info.variant);
    kry_op_release(&S);
    kry_op_release(&A);
}

static void create__without_suitesparse(void **state)
{
    kry_type type = type_of(state);
    chain definite = chain_of(30, 2.5, 2.5), general = chain_with(30, -1.5, 2.8, -0.5);
    kry_op *A = matrix_of(device(), type, &general, 0),
           *P = matrix_of(device(), type, &definite, 0), *S = NULL;

    if (!LU)
        REFUSES(kry_solver_create(A, "method=direct", NULL, NULL, &S), KRY_ERR_UNSUPPORTED,
                LDL ? needs_lu : "SuiteSparse");
    if (!LU && !LDL)
        REFUSES(kry_solver_create(P, "method=direct", NULL, NULL, &S), KRY_ERR_UNSUPPORTED,
                "this build of kry has neither");
    if (LU || LDL) OK(kry_solver_create(P, "method=direct", NULL, NULL, &S));
    kry_op_release(&S);
    kry_op_release(&P);
    kry_op_release(&A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(solve__of_every_kind),
        BOTH(solve__zero_rhs_and_exact_guess),
        cmocka_unit_test(solve__refines),
        BOTH(solve__ends_at_the_limit_of_the_precision),
        BOTH(update__other_numbers),
        BOTH(update__refused_keeps_factors),
        cmocka_unit_test(factor_numbers__keeps_what_there_is),
        BOTH(solve__singular),
        BOTH(create__names_what_is_singular),
        BOTH(create__refuses),
        cmocka_unit_test(factor_numbers__refuses),
        cmocka_unit_test(factor_numbers__goes_on_with_pivots),
        cmocka_unit_test(factor_solve__against_elimination),
        cmocka_unit_test(factor_solve__of_saddle_points),
        cmocka_unit_test(factor_numbers__refuses_singular_saddle_points),
        cmocka_unit_test(factor_numbers__keeps_to_the_bytes),
        cmocka_unit_test(fault__every_request),
        BOTH(describe__tells_the_condition),
        BOTH(create__without_suitesparse),
    };
    return cmocka_run_group_tests_name("direct", tests, keep_profile, restore_profile);
}
