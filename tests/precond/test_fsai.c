/* test_fsai.c - factorised sparse approximate inverses against dense systems in plain C. */
#include "as_matrix.h"
#include "op_suite.h"

/* ---- in plain C, with dense n-by-n arrays -------------------------------------------------- */

static double *dense_of(const matrix *A)
{
    const int64_t n = A->rows;
    double *a = calloc((size_t)(n * n) + 1, sizeof *a);

    assert_non_null(a);
    for (int64_t i = 0; i < n; i++)
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++)
            a[i * n + A->col[e]] += A->val[e];
    return a;
}

/* The places of (strong part of A + A')^power and of A + A'. */
static bool *plain_places(const matrix *A, const double *a, const kry_fsai_params *p)
{
    const int64_t n = A->rows;
    bool *of_A = calloc((size_t)(n * n) + 1, 1), *strong = calloc((size_t)(n * n) + 1, 1),
         *P = calloc((size_t)(n * n) + 1, 1), *next = calloc((size_t)(n * n) + 1, 1);

    assert_true(of_A && strong && P && next);
    for (int64_t i = 0; i < n; i++)
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++)
            of_A[i * n + A->col[e]] = of_A[A->col[e] * n + i] = true;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            const double most = fmax(fabs(a[i * n + j]), fabs(a[j * n + i])),
                         bound = p->cut * sqrt(fabs(a[i * n + i] * a[j * n + j]));
            strong[i * n + j] = P[i * n + j] = i == j || (of_A[i * n + j] && most >= bound);
        }
    for (int k = 1; k < p->power; k++) {
        memset(next, 0, (size_t)(n * n));
        for (int64_t i = 0; i < n; i++)
            for (int64_t l = 0; l < n; l++)
                for (int64_t j = 0; P[i * n + l] && j < n; j++)
                    next[i * n + j] |= strong[l * n + j];
        memcpy(P, next, (size_t)(n * n));
    }
    for (int64_t q = 0; q < n * n; q++) P[q] = (p->power > 1 && P[q]) || of_A[q];
    free(of_A), free(strong), free(next);
    return P;
}

/* x of S x = e_k, or of S' x = e_k, S the k + 1 rows and columns J of a. */
static void plain_solve(const double *a, int64_t n, const int64_t *J, int64_t k, bool transposed,
                        long double *x)
{
    const int64_t m = k + 1;
    long double *S = calloc((size_t)(m * (m + 1)), sizeof *S);

    assert_non_null(S);
    for (int64_t r = 0; r < m; r++)
        for (int64_t c = 0; c < m; c++)
            S[r * (m + 1) + c] = transposed ? a[J[c] * n + J[r]] : a[J[r] * n + J[c]];
    S[k * (m + 1) + m] = 1;
    for (int64_t p = 0; p < m; p++) {
        int64_t best = p;
        for (int64_t r = p; r < m; r++)
            if (fabsl(S[r * (m + 1) + p]) > fabsl(S[best * (m + 1) + p])) best = r;
        for (int64_t c = 0; c <= m; c++) {
            const long double v = S[p * (m + 1) + c];
            S[p * (m + 1) + c] = S[best * (m + 1) + c], S[best * (m + 1) + c] = v;
        }
        for (int64_t r = 0; r < m; r++) {
            const long double l = r == p ? 0 : S[r * (m + 1) + p] / S[p * (m + 1) + p];
            for (int64_t c = p; c <= m; c++) S[r * (m + 1) + c] -= l * S[p * (m + 1) + c];
        }
    }
    for (int64_t r = 0; r < m; r++) x[r] = S[r * (m + 1) + m] / S[r * (m + 1) + r];
    free(S);
}

/* The places of row i so that the Kaporin number falls most with each of them. */
static int64_t plain_choice(const double *a, int64_t n, int64_t i, int most, int64_t *J)
{
    long double *x = calloc((size_t)n + 1, sizeof *x);
    int64_t k = 0;

    assert_non_null(x);
    for (J[0] = i; k < most; k++) {
        int64_t best = -1;
        double gain = 0;
        plain_solve(a, n, J, k, false, x);
        for (int64_t c = 0; c < i; c++) {
            double w = 0;
            bool is_there = false;
            for (int64_t p = 0; p <= k; p++)
                w += a[c * n + J[p]] * (double)x[p], is_there |= J[p] == c;
            if (!is_there && w * w / a[c * n + c] > gain) gain = w * w / a[c * n + c], best = c;
        }
        if (best < 0 || gain <= 1e-6 * (double)x[k]) break;
        J[k] = best, J[k + 1] = i;
    }
    free(x);
    return k;
}

/* M, whether A is symmetric or not. */
static matrix plain_fsai(const matrix *A, const kry_fsai_params *p, bool symmetric)
{
    const int64_t n = A->rows;
    double *a = dense_of(A), *M = calloc((size_t)(n * n) + 1, sizeof *M),
           *F = calloc((size_t)(n * n) + 1, sizeof *F), *H = calloc((size_t)(n * n) + 1, sizeof *H);
    bool *P = plain_places(A, a, p);
    int64_t *J = calloc((size_t)n + 1, sizeof *J);
    long double *x = calloc((size_t)n + 1, sizeof *x), *y = calloc((size_t)n + 1, sizeof *y);
    matrix R = { .rows = n,
                 .cols = n,
                 .row_ptr = calloc((size_t)n + 1, sizeof *R.row_ptr),
                 .col = calloc((size_t)(n * n) + 1, sizeof *R.col),
                 .val = calloc((size_t)(n * n) + 1, sizeof *R.val) };

    assert_true(M && F && H && J && x && y && R.row_ptr && R.col && R.val);
    for (int64_t i = 0; i < n; i++) {
        int64_t k = 0;
        if (p->entries)
            k = plain_choice(a, n, i, p->entries, J);
        else
            for (int64_t j = 0; j < i; j++)
                if (P[i * n + j]) J[k++] = j;
        J[k] = i;
        plain_solve(a, n, J, k, false, x);
        plain_solve(a, n, J, k, true, y);
        for (int64_t q = 0; q <= k; q++) {
            F[i * n + J[q]] = (double)(symmetric ? x[q] / sqrtl(x[k]) : y[q]);
            H[i * n + J[q]] = (double)(symmetric ? x[q] / sqrtl(x[k]) : x[q] / x[k]);
        }
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t r = 0; r < n; r++)
            for (int64_t c = 0; H[i * n + r] != 0 && c < n; c++)
                M[r * n + c] += H[i * n + r] * F[i * n + c];
    for (int64_t r = 0; r < n; r++) {
        for (int64_t c = 0; c < n; c++)
            if (M[r * n + c] != 0) R.col[R.nnz] = (int32_t)c, R.val[R.nnz++] = M[r * n + c];
        R.row_ptr[r + 1] = R.nnz;
    }
    free(a), free(M), free(F), free(H), free(P), free(J), free(x), free(y);
    return R;
}

/* ---- the same ------------------------------------------------------------------------------ */

static const struct {
    int power;
    double cut;
    int entries;
} of[] = { { 1, 0.05, 0 }, { 2, 0.1, 0 }, { 3, 0.2, 0 }, { 1, 0.05, 3 }, { 1, 0.05, 8 } };

static void check_operator(const kry_op *op, const matrix *A, bool symmetric)
{
    for (size_t k = 0; k < COUNT(of) && (symmetric || !of[k].entries); k++) {
        const kry_fsai_params *p =
            KRY_FSAI(.power = of[k].power, .cut = of[k].cut, .entries = of[k].entries);
        matrix M = plain_fsai(A, p, symmetric);
        kry_op *fsai = NULL;
        kry_op_info info;

        print_message("# %lld rows, power %d, entries %d\n", (long long)A->rows, p->power,
                      p->entries);
        OK(kry_fsai_create(op, p, &fsai));
        kry_op_describe(fsai, &info);
        assert_string_equal(info.kind, "fsai");
        assert_int_equal(strstr(info.variant, "L and U") == NULL, symmetric || !A->rows);
        assert_null(strstr(info.variant, "depend"));
        assert_true(A->rows < 2 || info.bytes_per_apply > 0);
        assert_int_equal(!!(kry_op_get_shape(fsai)->traits & KRY_POSITIVE), symmetric || !A->rows);
        op_suite(fsai, &M);
        if (A->rows && symmetric) check_dots(fsai, "fsai");
        kry_op_release(&fsai);
        matrix_release(&M);
    }
}

static void fsai__equals_dense_systems(void **state)
{
    static const int64_t sizes[] = { 0, 1, 7, 66, 150 };
    kry_type type = type_of(state);

    for (size_t i = 0; i < COUNT(sizes); i++) {
        matrix A = random_spd(type, sizes[i]);
        kry_op *csr = csr_of(&A, type, KRY_MATRIX(.traits = KRY_POSITIVE));
        check_operator(csr, &A, true);
        kry_op_release(&csr);
        matrix_release(&A);
    }
}

static void fsai__equals_dense_systems_on_a_grid(void **state)
{
    kry_type type = type_of(state);
    const grid *g = &grids[4];
    double *k = grid_coefficients(g, type);
    matrix A = grid_matrix(g, k);
    kry_op *op = grid_op(g, type, k);
    const kry_fsai_params *p = KRY_FSAI(.power = 2, .cut = 0.05);
    kry_op *fsai = NULL;

    matrix M = plain_fsai(&A, p, true);
    OK(kry_fsai_create(op, p, &fsai));
    op_suite(fsai, &M);
    kry_op_release(&fsai);
    kry_op_release(&op);
    matrix_release(&M), matrix_release(&A);
    free(k);
}

/* Without some entries above the diagonal, others halved, and some rows negative. */
static matrix unsymmetric(kry_type type, int64_t n)
{
    matrix A = random_spd(type, n);
    int64_t kept = 0, e = 0;

    for (int64_t i = 0; i < n; i++) {
        const int64_t end = A.row_ptr[i + 1];
        for (; e < end; e++) {
            const int64_t j = A.col[e];
            if (j > i && (7 * i + j) % 3 == 0) continue;
            A.col[kept] = A.col[e];
            A.val[kept++] = j > i ? A.val[e] / 2 : i % 5 == 3 ? -A.val[e] : A.val[e];
        }
        A.row_ptr[i + 1] = kept;
    }
    A.nnz = kept;
    return A;
}

static void fsai__equals_dense_systems_of_unsymmetric_matrices(void **state)
{
    static const int64_t sizes[] = { 7, 66, 150 };
    kry_type type = type_of(state);

    for (size_t i = 0; i < COUNT(sizes); i++) {
        matrix A = unsymmetric(type, sizes[i]);
        kry_op *csr = csr_of(&A, type, NULL), *M = NULL;
        check_operator(csr, &A, false);
        REFUSES(kry_fsai_create(csr, KRY_FSAI(.entries = 2), &M), KRY_ERR_ARGUMENT,
                "kry_fsai_create: ");
        assert_null(M);
        kry_op_release(&csr);
        matrix_release(&A);
    }
}

/* ---- use ----------------------------------------------------------------------------------- */

/* More places, fewer iterations. */
static void fsai__saves_iterations(void **state)
{
    static const char *const words[] = { "jacobi", "fsai", "fsai:2", "fsai:3" }, *const chosen[] = {
        "jacobi", "fsai:entries=2", "fsai:entries=8"
    };
    kry_type type = type_of(state);
    matrix A = grid_matrix(&grids[6], NULL);
    kry_op *csr = csr_of(&A, type, NULL);
    double *b = random_array(type, A.rows);

    for (int adaptive = 0; adaptive < 2; adaptive++) {
        int last = INT32_MAX;
        for (size_t i = 0; i < (adaptive ? COUNT(chosen) : COUNT(words)); i++) {
            char options[48];
            kry_result result;
            snprintf(options, sizeof options, "precond=%s rtol=1e-4",
                     adaptive ? chosen[i] : words[i]);
            int ours = device_pcg(csr, b, options, &result);
            print_message("# %s: %d iterations\n", options, ours);
            assert_true(ours < last);
            last = ours;
        }
    }
    free(b);
    kry_op_release(&csr);
    matrix_release(&A);
}

static void fsai_update__follows_new_values(void **state)
{
    kry_type type = type_of(state);

    for (size_t k = 0; k < COUNT(of); k++) {
        const kry_fsai_params *p =
            KRY_FSAI(.power = of[k].power, .cut = of[k].cut, .entries = of[k].entries);
        matrix A = random_spd(type, 120);
        kry_op *op = csr_of(&A, type, NULL), *fsai = NULL;

        OK(kry_fsai_create(op, p, &fsai));
        for (int64_t e = 0; e < A.nnz; e++) A.val[e] *= 0.25; /* the places stay the best */
        void *val = in_type(type, A.val, A.nnz);
        OK(kry_op_update(op, val));
        OK(kry_op_update(fsai, NULL));
        matrix M = plain_fsai(&A, p, true);
        op_suite(fsai, &M);
        REFUSES(kry_op_update(fsai, val), KRY_ERR_ARGUMENT, "'fsai'");
        free(val);
        kry_op_release(&fsai);
        kry_op_release(&op);
        matrix_release(&A), matrix_release(&M);
    }
}

/* ---- matrices that others break down on ---------------------------------------------------- */

/* M is symmetric positive definite whatever the symmetric A, whose diagonal is ones. */
static void check_positive(kry_type type, int64_t n, double off, bool depends)
{
    matrix A = { .rows = n, .cols = n, .nnz = n * n };
    kry_probe probe;
    kry_op_info info;
    kry_op *op, *M;

    A.row_ptr = calloc((size_t)n + 1, sizeof *A.row_ptr);
    A.col = calloc((size_t)A.nnz, sizeof *A.col);
    A.val = calloc((size_t)A.nnz, sizeof *A.val);
    assert_true(A.row_ptr && A.col && A.val);
    for (int64_t q = 0; q < A.nnz; q++) {
        A.row_ptr[q / n + 1] = q + 1, A.col[q] = (int32_t)(q % n);
        A.val[q] = q / n == q % n ? 1 : off;
    }
    for (size_t k = 0; k < (n > 200 ? 1 : COUNT(of)); k++) {
        const kry_fsai_params *p =
            KRY_FSAI(.power = of[k].power, .cut = of[k].cut, .entries = of[k].entries);
        op = csr_of(&A, type, NULL);
        OK(kry_fsai_create(op, p, &M));
        kry_op_describe(M, &info);
        if (!p->entries) assert_int_equal(strstr(info.variant, "depend") != NULL, depends);
        OK(kry_op_probe(M, 1, &probe));
        assert_true(probe.symmetric && probe.positive && probe.least > 0);
        kry_op_release(&M);
        kry_op_release(&op);
    }
    matrix_release(&A);
}

static void fsai__is_positive_for_every_symmetric_matrix(void **state)
{
    kry_type type = type_of(state);

    check_positive(type, 9, -0.125, true); /* constant vectors are mapped to zero */
    check_positive(type, 9, 1, true);      /* of rank one */
    check_positive(type, 9, -3, true);     /* indefinite */
    check_positive(type, 9, 0.9, false);
    check_positive(type, 260, 0.5, false); /* longer rows than there may be */
}

static void fsai_create__refusals(void **state)
{
    const kry_fsai_params bad[] = {
        { .struct_size = sizeof bad[0], .power = -1 },
        { .struct_size = sizeof bad[0], .power = 9 },
        { .struct_size = sizeof bad[0], .cut = 1 },
        { .struct_size = sizeof bad[0], .cut = (double)NAN },
        { .struct_size = sizeof bad[0], .entries = 65 },
        { .struct_size = 3 },
    };
    kry_type type = type_of(state);
    matrix A = random_spd(type, 20);
    kry_op *op = csr_of(&A, type, NULL), *M = op;

    for (size_t i = 0; i < COUNT(bad); i++) {
        REFUSES(kry_fsai_create(op, &bad[i], &M), KRY_ERR_ARGUMENT, "kry_fsai_create");
        assert_null(M);
    }
    REFUSES(kry_fsai_create(NULL, NULL, &M), KRY_ERR_ARGUMENT, "NULL");
    OK(kry_fsai_create(op, NULL, &M));
    A.val[A.row_ptr[20] - 1] *= -1; /* the last entry is on the diagonal */
    void *val = in_type(type, A.val, A.nnz);
    OK(kry_op_update(op, val));
    REFUSES(kry_op_update(M, NULL), KRY_ERR_ARGUMENT,
            "kry_fsai_create: the diagonal entry of row 19");
    free(val);
    A.val[A.row_ptr[20] - 1] = 0;
    val = in_type(type, A.val, A.nnz);
    OK(kry_op_update(op, val));
    REFUSES(kry_op_update(M, NULL), KRY_ERR_SINGULAR, "is 0; none may be zero");
    kry_op_release(&M);
    REFUSES(kry_fsai_create(op, NULL, &M), KRY_ERR_SINGULAR, "none may be zero");
    assert_int_equal(op_references(op), 1);
    free(val);
    kry_op_release(&op);
    matrix_release(&A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(fsai__equals_dense_systems),
        BOTH(fsai__equals_dense_systems_on_a_grid),
        BOTH(fsai__equals_dense_systems_of_unsymmetric_matrices),
        BOTH(fsai__saves_iterations),
        BOTH(fsai_update__follows_new_values),
        BOTH(fsai__is_positive_for_every_symmetric_matrix),
        BOTH(fsai_create__refusals),
    };
    return cmocka_run_group_tests_name("fsai", tests, NULL, close_device);
}
