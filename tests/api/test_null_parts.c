/* test_null_parts.c - singular matrices that nobody has said to be singular: rows that add up to zero, also of
 * unsymmetric matrices, empty rows, several unconnected parts; solved where b allows it, and told where it does not. */
#include "teams.h"

enum { W = 7, H = 8, PART = W * H, MOST_EMPTY = 5 };

typedef struct trial {
    const char *name;
    double along, across; /* the wind; 0: symmetric */
    int parts, empty;     /* unconnected copies of the grid; empty rows behind */
    int regular;          /* of the parts: the first ones have a wall */
} trial;

static const trial trials[] = {
    { "Neumann", 0, 0, 1, 0, 0 },
    { "convection", 3, 2, 1, 0, 0 },
    { "two parts", 0, 0, 2, 0, 0 },
    { "two parts, convection", 1, 4, 2, 0, 0 },
    { "empty rows", 0, 0, 1, 3, 1 },
    { "empty rows, convection", 2, 1, 1, 3, 1 },
    { "Neumann, empty rows", 0, 0, 1, MOST_EMPTY, 0 },
    { "all of them", 0, 0, 3, 2, 1 },
    { "all of them, convection", 5, 0.5, 3, 2, 1 },
};

/* A rotation of the numbers of unknowns, so that parts and empty rows lie between each other. */
static int64_t number_of(int64_t i, int64_t n) { return (i * 37 + 11) % n; }

/* Five points without an outside, and a wind by upwind differences. Dense, n-by-n. */
static int64_t rows_of(const trial *t) { return t->parts * PART + t->empty; }

static void couple(double *a, int64_t n, int64_t i, int64_t j, double v)
{
    const int64_t row = number_of(i, n), col = number_of(j, n);
    a[row * n + col] += v, a[row * n + row] -= v;
}

static double *dense_of(const trial *t)
{
    const int64_t n = rows_of(t);
    double *a = calloc((size_t)(n * n), sizeof *a);

    assert_non_null(a);
    for (int p = 0; p < t->parts; p++)
        for (int64_t k = 0; k < PART; k++) {
            const int64_t i = p * PART + k;
            if (k % W > 0) couple(a, n, i, i - 1, -1 - t->along);
            if (k % W < W - 1) couple(a, n, i, i + 1, -1);
            if (k >= W) couple(a, n, i, i - W, -1 - t->across);
            if (k < PART - W) couple(a, n, i, i + W, -1);
            if (p < t->regular && k == 0) a[number_of(i, n) * (n + 1)] += 1;
        }
    return a;
}

static kry_op *matrix_of(kry_device *dev, kry_type type, const double *a, int64_t n)
{
    kry_op *A;
    matrix S = { .rows = n, .cols = n };

    S.row_ptr = calloc((size_t)n + 1, sizeof *S.row_ptr);
    S.col = calloc((size_t)(n * n), sizeof *S.col);
    S.val = calloc((size_t)(n * n), sizeof *S.val);
    assert_true(S.row_ptr && S.col && S.val);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++)
            if (a[i * n + j] != 0)
                S.col[S.nnz] = (int32_t)j, S.val[S.nnz++] = to_type(type, a[i * n + j]);
        S.row_ptr[i + 1] = S.nnz;
    }
    void *val = in_type(type, S.val, S.nnz);
    OK(kry_csr_create(dev, type, n, n, S.row_ptr, S.col, val, NULL, &A));
    free(val);
    matrix_release(&S);
    return A;
}

/* b := A x for random x, in long double, rounded. */
static double *reach(kry_type type, const double *a, int64_t n)
{
    double *b = calloc((size_t)n, sizeof *b), *x = calloc((size_t)n, sizeof *x);

    assert_true(b && x);
    for (int64_t i = 0; i < n; i++) x[i] = random_number(type);
    for (int64_t i = 0; i < n; i++) {
        long double sum = 0;
        for (int64_t j = 0; j < n; j++) sum += (long double)a[i * n + j] * x[j];
        b[i] = to_type(type, (double)sum);
    }
    free(x);
    return b;
}

static double relative_residual(const double *a, int64_t n, const double *b, const double *x)
{
    long double rr = 0, bb = 0;

    for (int64_t i = 0; i < n; i++) {
        long double r = b[i];
        for (int64_t j = 0; j < n; j++) r -= (long double)a[i * n + j] * x[j];
        rr += r * r, bb += (long double)b[i] * b[i];
    }
    return (double)sqrtl(rr / bb);
}

static const char *const words[] = {
    "method=auto",    "method=direct",   "method=gmres:60", "method=bicgstab:2",
    "method=idr:4",   "method=minres",   "method=pcg",      "method=cr",
    "method=pipe-cg", "method=block-cg", "method=lsqr",     "method=lsmr",
};
static const char mixed[] = "method=pcg precision=mixed"; /* of double */

static bool wants_symmetric(const char *word)
{
    return strstr(word, "cg") || strstr(word, "minres") || strstr(word, "cr");
}

static kry_status solve(kry_type type, const kry_op *A, const char *word, const double *b,
                        double *x, kry_result *res)
{
    const int64_t n = kry_op_get_shape(A)->rows;
    char text[80];
    kry_op *S;

    snprintf(text, sizeof text, "%s rtol=%g maxit=2000", word, type == KRY_F32 ? 1e-4 : 1e-9);
    kry_status st = kry_solver_create(A, text, NULL, NULL, &S);
    if (st < 0) return st;
    kry_vec *v = vec_on(kry_op_device(A), type, b, n, 1), *y;
    OK(kry_vec_create(kry_op_device(A), type, n, 1, &y));
    st = kry_solve(S, v, y, res);
    res->history = NULL, res->checks = NULL;
    double *found = numbers_of(y);
    memcpy(x, found, (size_t)n * sizeof *x);
    free(found);
    kry_vec_release(&v), kry_vec_release(&y);
    kry_op_release(&S);
    return st;
}

/* Whether this build has factors for it, and the device the method. */
static bool is_offered(const char *word, const kry_op *A)
{
    const bool asks = strstr(word, "direct") || strstr(word, "block-cg") || strstr(word, "ls");
    kry_op *S = NULL;
    kry_status st = asks ? kry_solver_create(A, word, NULL, NULL, &S) : KRY_OK;

    kry_op_release(&S);
    return st != KRY_ERR_UNSUPPORTED;
}

/* x is orthogonal to constants on singular parts, and zero in empty rows. */
static void check_clear(const trial *T, const char *word, kry_type type, const double *x)
{
    const int64_t n = rows_of(T);
    const double digits = type == KRY_F32 ? 1e-4 : 1e-9;
    double size = 0;

    for (int64_t i = 0; i < n; i++) size += fabs(x[i]);
    for (int p = T->regular; p < T->parts; p++) {
        double sum = 0;
        for (int64_t k = 0; k < PART; k++) sum += x[number_of(p * PART + k, n)];
        if (!(fabs(sum) <= digits * size)) fail_msg("%s, %s: a sum of %g", T->name, word, sum);
    }
    for (int64_t i = n - T->empty; i < n; i++)
        if (!(fabs(x[number_of(i, n)]) <= digits * size))
            fail_msg("%s, %s: %g in an empty row", T->name, word, x[number_of(i, n)]);
}

/* b that has a solution, and the same with something that no x reaches. */
static void check_trial(const trial *T, kry_device *dev, kry_type type, const char *word)
{
    const double rtol = type == KRY_F32 ? 1e-4 : 1e-9;
    const bool symmetric = T->along == 0;
    const int64_t n = rows_of(T);
    kry_result res;

    if (!symmetric && wants_symmetric(word)) return;
    double *a = dense_of(T), *b = reach(type, a, n), *x = calloc((size_t)n, sizeof *x);
    kry_op *A = matrix_of(dev, type, a, n);
    assert_non_null(x);
    if (is_offered(word, A)) {
        kry_status st = solve(type, A, word, b, x, &res);
        if (st != KRY_OK)
            fail_msg("%s, %s: %d %s", T->name, word, st, st < 0 ? kry_last_error() : res.why);
        const double r = relative_residual(a, n, b, x);
        if (!(r <= 1.1 * rtol)) fail_msg("%s, %s: residual %g", T->name, word, r);
        const bool minimises = strstr(word, "ls"); /* the residual */
        if (symmetric && !minimises) check_clear(T, word, type, x);
        /* one row of a part more, or of an empty row */
        b[number_of(n - 1, n)] += 1;
        st = solve(type, A, word, b, x, &res);
        /* Of an unsymmetric one the row may have next to no part in what b must not have. */
        const bool solved = st == KRY_OK && relative_residual(a, n, b, x) <= 1.1 * rtol;
        const bool least = minimises && res.reason == KRY_CONVERGED_LEAST_SQUARES;
        if (st <= 0 && !solved && !least)
            fail_msg("%s, %s: %d without a solution", T->name, word, st);
        if ((symmetric || T->empty) && !least && res.reason != KRY_INCONSISTENT)
            fail_msg("%s, %s: %s", T->name, word, res.why);
    }
    kry_op_release(&A);
    free(x), free(b), free(a);
}

static void solve__what_nobody_said(void **state)
{
    const kry_type type = type_of(state);

    for (size_t t = 0; t < COUNT(trials); t++) {
        for (size_t w = 0; w < COUNT(words); w++) check_trial(&trials[t], device(), type, words[w]);
        if (type == KRY_F64) check_trial(&trials[t], device(), type, mixed);
    }
}

/* Rows of all parts of the matrix are on both parts of the team. */
static void solve__on_a_team(void **state)
{
    const kry_type type = type_of(state);
    kry_device *team = open_team(2, (kry_team_params){ 0 });

    for (size_t t = 0; t < COUNT(trials); t++) {
        for (size_t w = 0; w < COUNT(words); w++)
            if (w < 4 || one_of(3, (int64_t)(w + t))) check_trial(&trials[t], team, type, words[w]);
        if (type == KRY_F64) check_trial(&trials[t], team, type, mixed);
    }
    close_team(&team);
}

static void solve__nobody_looks(void **state)
{
    const kry_type type = type_of(state);
    double *a = dense_of(&trials[6]);
    const int64_t n = rows_of(&trials[6]);
    kry_op *A = matrix_of(device(), type, a, n), *S;

    REFUSES(kry_solver_create(A, "method=gmres null-space=none", NULL, NULL, &S),
            KRY_ERR_UNSUPPORTED, "nothing but zeros");
    OK(kry_solver_create(A, "method=gmres", NULL, NULL, &S));
    kry_op_release(&S);
    kry_op_release(&A);
    free(a);
}

/* A column of equal numbers, of norm 1, for each part that is singular from both sides, and for each empty row. */
static void find__vectors(void **state)
{
    const kry_type type = type_of(state);
    kry_device *dev[] = { device(), open_team(2, (kry_team_params){ 0 }) };

    for (size_t t = 0; t < COUNT(trials); t++) {
        const trial *T = &trials[t];
        const int64_t n = rows_of(T);
        const int parts = T->along == 0 ? T->parts - T->regular : 0; /* from both sides */
        double *a = dense_of(T);
        for (size_t d = 0; d < COUNT(dev); d++) {
            kry_op *A = matrix_of(dev[d], type, a, n);
            kry_vec *V;
            OK(kry_op_find_null_space(A, &V));
            assert_int_equal(V ? kry_vec_cols(V) : 0, parts + T->empty);
            double *v = V ? numbers_of(V) : NULL;
            for (int64_t j = 0; V && j < kry_vec_cols(V); j++) {
                int64_t count = 0;
                double value = 0, square = 0;
                for (int64_t i = 0; i < n; i++) {
                    const double u = v[j * n + i];
                    if (u == 0) continue;
                    if (count++) assert_true(u == value);
                    value = u, square += u * u;
                }
                assert_true(fabs(square - 1) < 1e-5);
                assert_int_equal(count, j < parts ? PART : 1);
            }
            free(v);
            kry_vec_release(&V);
            kry_op_release(&A);
        }
        free(a);
    }
    close_team(&dev[1]);
}

/* More parts than vectors are kept: 65 pairs. */
static void find__too_many(void **state)
{
    enum { N = 130 };
    const kry_type type = type_of(state);
    double *a = calloc(N * N, sizeof *a), *b, *x = calloc(N, sizeof *x);
    kry_result res;
    kry_vec *V;

    for (int64_t i = 0; i < N; i++) a[i * N + i] = 1, a[i * N + (i ^ 1)] = -1;
    b = reach(type, a, N);
    kry_op *A = matrix_of(device(), type, a, N);
    REFUSES(kry_op_find_null_space(A, &V), KRY_ERR_UNSUPPORTED, "has 65 parts");
    assert_null(V);
    assert_int_equal(solve(type, A, "method=minres", b, x, &res), KRY_OK);
    a[1] = a[N] = 0, a[0] = a[N + 1] = 0; /* 64 pairs and two empty rows, which are left out */
    kry_op_release(&A);
    A = matrix_of(device(), type, a, N);
    OK(kry_op_find_null_space(A, &V));
    assert_int_equal(kry_vec_cols(V), 64);
    kry_vec_release(&V);
    kry_op_release(&A);
    free(x), free(b), free(a);
}

/* A regular matrix: a row's sizes add up to infinity, which nothing exceeds. */
static void find__none_where_sums_overflow(void **state)
{
    const kry_type type = type_of(state);
    const double most = type == KRY_F32 ? FLT_MAX : DBL_MAX,
                 a[] = { most, most / 16, most / 16, most };
    kry_op *A = matrix_of(device(), type, a, 2);
    kry_vec *V = NULL;

    OK(kry_op_find_null_space(A, &V));
    assert_null(V);
    kry_op_release(&A);
}

/* Singular, regular, singular again with an empty row: the same solver. */
static void update__comes_and_goes(void **state)
{
    const kry_type type = type_of(state);
    const double rtol = type == KRY_F32 ? 1e-4 : 1e-9;
    kry_result res;

    for (size_t w = 0; w < COUNT(words); w++) {
        const int64_t n = PART;
        double *a = dense_of(&trials[0]);
        kry_op *A = matrix_of(device(), type, a, n), *S;
        if (!is_offered(words[w], A)) {
            kry_op_release(&A), free(a);
            continue;
        }
        char text[80];
        snprintf(text, sizeof text, "%s rtol=%g", words[w], rtol);
        OK(kry_solver_create(A, text, NULL, NULL, &S));
        /* An empty row has no place in the preconditioner of one that was regular before. */
        for (int k = 0; k < (wants_symmetric(words[w]) ? 2 : 3); k++) {
            double values[5 * PART];
            int64_t nnz = 0;
            if (k == 1) a[0] += 1;
            if (k == 2)
                for (int64_t i = 0; i < n; i++) a[i * n] = a[i] = 0;
            double *pattern = dense_of(&trials[0]), *b = reach(type, a, n);
            for (int64_t e = 0; e < n * n; e++)
                if (pattern[e] != 0) values[nnz++] = a[e];
            void *numbers = in_type(type, values, nnz);
            OK(kry_op_update(A, numbers));
            OK(kry_op_update(S, NULL));
            kry_vec *v = vec_of(type, b, n, 1), *y;
            OK(kry_vec_create(device(), type, n, 1, &y));
            kry_status st = kry_solve(S, v, y, &res);
            if (st != KRY_OK) fail_msg("%s, change %d: %d %s", words[w], k, st, res.why);
            double *x = numbers_of(y);
            const double r = relative_residual(a, n, b, x);
            if (!(r <= 1.1 * rtol)) fail_msg("%s, change %d: residual %g", words[w], k, r);
            free(x), free(numbers), free(b), free(pattern);
            kry_vec_release(&v), kry_vec_release(&y);
        }
        kry_op_release(&S);
        kry_op_release(&A);
        free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(solve__what_nobody_said),
        BOTH(solve__on_a_team),
        BOTH(solve__nobody_looks),
        BOTH(find__vectors),
        BOTH(find__too_many),
        BOTH(update__comes_and_goes),
        BOTH(find__none_where_sums_overflow),
    };
    return cmocka_run_group_tests_name("null_parts", tests, keep_profile, restore_profile);
}
