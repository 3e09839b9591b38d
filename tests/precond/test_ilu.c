/* test_ilu.c - incomplete factors of the whole matrix with levels of fill, and each way to solve with them, against
 * dense ones. */
#include "incomplete.h"
#include "op_suite.h"

/* ---- M is what the textbook has -------------------------------------------------------------- */

static const kry_trisolve ways[] = { KRY_TRISOLVE_ROWS, KRY_TRISOLVE_LEVELS, KRY_TRISOLVE_SWEEPS,
                                     KRY_TRISOLVE_ISAI };

static kry_op *create(const kry_op *A, bool symmetric, const kry_block_ic_params *p)
{
    kry_op *M = NULL;
    OK(symmetric ? kry_block_ic_create(A, p, &M) : kry_block_ilu_create(A, p, &M));
    return M;
}

/* M as a device makes it: its own sweeps end where they change 1e-8. */
static void check_near(const kry_op *M, const dense *f)
{
    const kry_type type = kry_op_get_shape(M)->type;
    double *r = random_array(type, f->n), *want = calloc((size_t)f->n + 1, sizeof *want), most = 0;
    guarded R = guarded_create(type, f->n, 1, 1, r), Z = guarded_create(type, f->n, 1, 3, NULL);

    assert_non_null(want);
    apply_factors(f, r, want);
    for (int64_t i = 0; i < f->n; i++) most = fmax(most, fabs(want[i]));
    OK(kry_op_apply(M, 1, R.v, 0, Z.v));
    double *z = guarded_read(&Z);
    for (int64_t i = 0; i < f->n; i++)
        NEAR(z[i], want[i], (1e-6 + 50 * eps_of(type)) * most, "row %d", (int)i);
    free(z), free(r), free(want);
    guarded_release(&R), guarded_release(&Z);
}

static void check_ways(kry_type type, int64_t n, bool symmetric, int fill, double weight)
{
    double *a = dense_random(type, n, symmetric, n < 20 ? 40 : 8, weight);
    matrix A = matrix_from(a, n);
    dense f = factors_of(a, n, fill, symmetric);
    kry_op *op = csr_of(&A, type, NULL);

    for (size_t k = 0; k < COUNT(ways); k++) {
        kry_op *M =
            create(op, symmetric, KRY_BLOCK_IC(.rows = n, .fill = fill, .trisolve = ways[k]));
        kry_op_info info;
        kry_op_describe(M, &info);
        const char *sweeps = strstr(info.variant, "sweeps=");
        f.sweeps = sweeps ? atoi(sweeps + strlen("sweeps=")) : 0;
        f.inverse = ways[k] == KRY_TRISOLVE_ISAI;
        print_message("# %d rows, %s\n", (int)n, info.variant);
        assert_int_equal(strstr(info.variant, " shift") != NULL, false);
        assert_int_equal(sweeps != NULL, ways[k] == KRY_TRISOLVE_SWEEPS);
        assert_int_equal(strstr(info.variant, "levels=") != NULL, ways[k] == KRY_TRISOLVE_LEVELS);
        assert_int_equal(strstr(info.variant, "isai") != NULL, ways[k] == KRY_TRISOLVE_ISAI);
        assert_true(info.nnz >= n && info.bytes_stored > 0 && info.bytes_per_apply > 0);
        matrix want = matrix_of(&f);
        if (sweeps && !kry_device_get_info(device())->cpu_kernels)
            check_near(M, &f);
        else
            op_suite(M, &want);
        kry_op_release(&M);
        matrix_release(&want);
    }
    kry_op_release(&op);
    matrix_release(&A);
    release(&f);
    free(a);
}

static void ilu__equals_the_textbook(void **state)
{
    static const int64_t sizes[] = { 1, 2, 7, 33, 64 };
    const kry_type type = type_of(state);
    for (size_t i = 0; i < COUNT(sizes); i++)
        for (int fill = 0; fill < 3; fill++)
            check_ways(type, sizes[i], (i + (size_t)fill) % 2, fill, fill == 1 ? 0.5 : 0.6);
}

/* Sets of rows as GPUs take them; a group has more or fewer work-items than a level has rows. */
static void ilu__on_a_gpus_kernels(void **state)
{
    const kry_type type = type_of(state);
    use_profile("gpu-kernels");
    check_ways(type, 61, false, 1, 0.6);
    check_ways(type, 90, true, 0, 0.6);
    check_ways(type, 77, false, 0, 0.6);
    use_profile(NULL);
}

/* Every row is a chain of its own: as many levels as rows, and all fill of any level is none. */
static void ilu__long_chains(void **state)
{
    const kry_type type = type_of(state);
    const int64_t n = 40;
    double a[1600] = { 0 };

    for (int64_t i = 0; i < n; i++) {
        a[i * n + i] = 4;
        if (i) a[i * n + i - 1] = -1.5, a[(i - 1) * n + i] = -0.5;
    }
    matrix A = matrix_from(a, n);
    kry_op *op = csr_of(&A, type, NULL), *M = NULL;
    kry_op_info info;
    OK(kry_block_ilu_create(op, KRY_BLOCK_IC(.rows = n, .fill = 9, .trisolve = KRY_TRISOLVE_LEVELS),
                            &M));
    kry_op_describe(M, &info);
    assert_non_null(strstr(info.variant, "levels=40 launches=2"));
    assert_int_equal(info.nnz, 3 * n - 2);
    dense f = factors_of(a, n, 0, false);
    matrix want = matrix_of(&f);
    op_suite(M, &want);
    matrix_release(&want), matrix_release(&A);
    release(&f);
    kry_op_release(&M), kry_op_release(&op);
}

/* Where the diagonal dominates little, sweeps are several. */
static void ilu__several_sweeps(void **state)
{
    static const double weight[] = { 2.5, 2.05, 2.02 };
    const kry_type type = type_of(state);
    int last = 1;

    for (size_t k = 0; k < COUNT(weight); k++) {
        double a[2500] = { 0 };
        for (int i = 0; i < 50; i++) {
            a[51 * i] = to_type(type, weight[k]);
            if (i) a[50 * i + i - 1] = -1, a[50 * (i - 1) + i] = -1;
        }
        matrix A = matrix_from(a, 50);
        kry_op *op = csr_of(&A, type, NULL);
        kry_op *M = create(op, true, KRY_BLOCK_IC(.rows = 50, .trisolve = KRY_TRISOLVE_SWEEPS));
        dense f = factors_of(a, 50, 0, true);
        kry_op_info info;
        kry_op_describe(M, &info);
        print_message("# %s\n", info.variant);
        assert_int_equal(sscanf(info.variant, "block=50 sweeps=%d", &f.sweeps), 1);
        assert_true(f.sweeps >= last);
        last = f.sweeps;
        matrix want = matrix_of(&f);
        if (kry_device_get_info(device())->cpu_kernels)
            op_suite(M, &want);
        else
            check_near(M, &f);
        kry_op_release(&M), kry_op_release(&op);
        matrix_release(&want), matrix_release(&A);
        release(&f);
    }
    assert_true(last > 4);
}

/* ---- levels with many rows ------------------------------------------------------------------- */

/* Rows from `half` on have entries in the columns before it, these in those: two levels each way. */
static matrix two_levels(kry_type type, int64_t half)
{
    const int64_t n = 2 * half + 3;
    matrix A = { .rows = n, .cols = n };

    A.row_ptr = calloc((size_t)n + 1, sizeof *A.row_ptr);
    A.col = calloc(3 * (size_t)n, sizeof *A.col), A.val = calloc(3 * (size_t)n, sizeof *A.val);
    assert_true(A.row_ptr && A.col && A.val);
    for (int64_t i = 0; i < n; i++) {
        const int64_t first = i < half ? half + i : (i - half) % half,
                      last = i < half ? 2 * half + i % 3 : -1;
        if (i >= half) A.col[A.nnz] = (int32_t)first, A.val[A.nnz++] = random_number(type);
        A.col[A.nnz] = (int32_t)i, A.val[A.nnz++] = to_type(type, 3 + 0.5 * random_number(type));
        if (i < half) A.col[A.nnz] = (int32_t)first, A.val[A.nnz++] = random_number(type);
        if (i < half && last > first)
            A.col[A.nnz] = (int32_t)last, A.val[A.nnz++] = random_number(type);
        A.row_ptr[i + 1] = A.nnz;
    }
    return A;
}

/* z := (L D U)^-1 r of such a matrix, whose lower triangle has an entry in each row from `half` on. */
static void solve_two_levels(const matrix *A, int64_t half, const double *r, double *z)
{
    const int64_t n = A->rows;
    double *d = calloc((size_t)n + 1, sizeof *d);

    assert_non_null(d);
    for (int64_t i = 0; i < n; i++) {
        d[i] = plain_diagonal(A, i), z[i] = r[i];
        const int64_t e = A->row_ptr[i], k = A->col[e];
        if (i < half) continue;
        const double l = A->val[e] / d[k];
        z[i] -= l * z[k];
        for (int64_t q = A->row_ptr[k]; q < A->row_ptr[k + 1]; q++)
            if (A->col[q] == i) d[i] -= l * A->val[q];
    }
    for (int64_t i = n - 1; i >= 0; i--) {
        double sum = z[i];
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++)
            if (A->col[e] > i) sum -= A->val[e] * z[A->col[e]];
        z[i] = sum / d[i];
    }
    free(d);
}

static void check_two_levels(kry_type type, const char *profile, kry_trisolve how,
                             const char *named)
{
    const int64_t half = 9001;
    use_profile(profile);
    matrix A = two_levels(type, half);
    double *r = random_array(type, A.rows), *want = calloc((size_t)A.rows, sizeof *want);
    kry_op *op = csr_of(&A, type, NULL), *M = NULL;
    guarded R = guarded_create(type, A.rows, 1, 1, r), Z = guarded_create(type, A.rows, 1, 2, NULL);
    kry_op_info info;

    assert_non_null(want);
    OK(kry_block_ilu_create(op, KRY_BLOCK_IC(.rows = A.rows, .trisolve = how), &M));
    kry_op_describe(M, &info);
    print_message("# %s\n", info.variant);
    assert_non_null(strstr(info.variant, named));
    OK(kry_op_apply(M, 1, R.v, 0, Z.v));
    solve_two_levels(&A, half, r, want);
    double *z = guarded_read(&Z);
    for (int64_t i = 0; i < A.rows; i++)
        NEAR(z[i], want[i], 50 * eps_of(type), "row %lld", (long long)i);
    free(z), free(r), free(want);
    guarded_release(&R), guarded_release(&Z);
    kry_op_release(&M), kry_op_release(&op);
    matrix_release(&A);
    use_profile(NULL);
}

static void ilu__wide_levels(void **state)
{
    NOT_ON_HOST("kernels of GPUs");
    const kry_type type = type_of(state);
    check_two_levels(type, NULL, KRY_TRISOLVE_LEVELS, "levels=2 launches=4");
    check_two_levels(type, "gpu-kernels", KRY_TRISOLVE_LEVELS, "levels=2 launches=4");
    check_two_levels(type, "gpu-kernels", KRY_TRISOLVE_AUTO, "sweeps=1");
}

/* ---- what GPUs choose ------------------------------------------------------------------------ */

/* -x'' as a chain with `weight` on the diagonal. */
static kry_op *chain(kry_type type, int64_t n, double weight)
{
    matrix A = { .rows = n, .cols = n };

    A.row_ptr = calloc((size_t)n + 1, sizeof *A.row_ptr);
    A.col = calloc(3 * (size_t)n, sizeof *A.col), A.val = calloc(3 * (size_t)n, sizeof *A.val);
    assert_true(A.row_ptr && A.col && A.val);
    for (int64_t i = 0; i < n; i++) {
        if (i) A.col[A.nnz] = (int32_t)i - 1, A.val[A.nnz++] = -1;
        A.col[A.nnz] = (int32_t)i, A.val[A.nnz++] = weight;
        if (i + 1 < n) A.col[A.nnz] = (int32_t)i + 1, A.val[A.nnz++] = -1;
        A.row_ptr[i + 1] = A.nnz;
    }
    kry_op *op = csr_of(&A, type, NULL);
    matrix_release(&A);
    return op;
}

/* 300 levels: few sweeps do where the diagonal dominates, and none where it hardly does. */
static void auto__by_levels_and_sweeps(void **state)
{
    NOT_ON_HOST("kernels of GPUs");
    static const struct {
        double weight;
        const char *named;
    } tries[] = { { 8, "sweeps=4" }, { 3, "sweeps=" }, { 2.0001, "levels=300" } };
    const kry_type type = type_of(state);

    use_profile("gpu-kernels");
    for (size_t i = 0; i < COUNT(tries); i++) {
        kry_op *op = chain(type, 300, tries[i].weight), *M = NULL;
        kry_op_info info;
        OK(kry_block_ic_create(op, KRY_BLOCK_IC(.rows = 300), &M));
        kry_op_describe(M, &info);
        print_message("# %s\n", info.variant);
        assert_non_null(strstr(info.variant, tries[i].named));
        kry_op_release(&M), kry_op_release(&op);
    }
    use_profile(NULL);
}

/* ---- new values, refusals -------------------------------------------------------------------- */

static void check_update(kry_type type, int fill)
{
    const int64_t n = 45;
    double *a = dense_random(type, n, false, 10, 0.6), *b = calloc((size_t)(n * n), sizeof *b);

    assert_non_null(b);
    for (int64_t i = 0; i < n * n; i++)
        b[i] =
            a[i] == 0
                ? 0
                : to_type(type, (i / n == i % n ? 2 : 1) * a[i] * (1 + 0.25 * random_number(type)));
    matrix A = matrix_from(a, n), B = matrix_from(b, n);
    void *val = in_type(type, B.val, B.nnz);
    dense f = factors_of(b, n, fill, false);
    for (size_t k = 0; k < COUNT(ways); k++) {
        kry_op *op = csr_of(&A, type, NULL);
        kry_op *M = create(op, false, KRY_BLOCK_IC(.rows = n, .fill = fill, .trisolve = ways[k]));
        kry_op_info info;
        OK(kry_op_update(op, val));
        OK(kry_op_update(M, NULL));
        kry_op_describe(M, &info);
        const char *sweeps = strstr(info.variant, "sweeps=");
        f.sweeps = sweeps ? atoi(sweeps + strlen("sweeps=")) : 0;
        f.inverse = ways[k] == KRY_TRISOLVE_ISAI;
        check_near(M, &f);
        kry_op_release(&M), kry_op_release(&op);
    }
    free(val), free(a), free(b);
    release(&f);
    matrix_release(&A), matrix_release(&B);
}

static void update__keeps_the_places(void **state)
{
    check_update(type_of(state), 2);
    use_profile("gpu-kernels");
    check_update(type_of(state), 0);
    check_update(type_of(state), 1);
    use_profile(NULL);
}

/* A pivot that elimination makes zero; a diagonal that is not stored; a matrix without an inverse. */
static void check_pivots(kry_type type, bool on_gpu)
{
    static const struct {
        double a[9];
        const char *word;
        kry_status status;
        const char *named;
    } tries[] = {
        { { 1, 1, 0, 1, 1, 1, 0, 1, 4 }, "ilu", KRY_OK, "shift=0.001" },
        { { 4, 1, 0, 1, 3, 1, 0, 1, 4 }, "icc", KRY_OK, "block=3" },
        { { 1, 2, 0, 2, 1, 2, 0, 2, 4 }, "icc", KRY_OK, "shift=" },
        { { 1, 1, 0, 1, 0, 1, 0, 1, 4 }, "ilu", KRY_ERR_SINGULAR, "entry of row 1 is 0" },
        { { 1, 1, 0, 1, 2, 0, 0, 0, 0 }, "ilu", KRY_ERR_SINGULAR, "entry of row 2 is 0" },
        { { 0, 1, 0, 1, 0, 0, 0, 0, 2 }, "ilu", KRY_ERR_SINGULAR, "entry of row 0 is 0" },
        { { 2, 1, 0, 0.5, 2, 0, 0, 0, 3 }, "icc", KRY_ERR_ARGUMENT, "row 1 has 0.5 in column 0" },
        { { 2, 1, 0, 0, 2, 0, 0, 0, 3 }, "icc", KRY_ERR_ARGUMENT, "not symmetric" },
        { { 2, 1, 0, 1, 2, 0, 0, 0, -3 }, "icc", KRY_ERR_ARGUMENT, "is -3" },
    };
    char word[32];

    for (size_t i = 0; i < COUNT(tries); i++) {
        matrix A = matrix_from(tries[i].a, 3);
        kry_op *op = csr_of(&A, type, NULL), *M = NULL;
        snprintf(word, sizeof word, "%s:%s", tries[i].word, on_gpu ? "sweeps" : "1,isai");
        if (tries[i].status == KRY_OK) {
            kry_op_info info;
            OK(kry_precond_create(op, word, &M));
            kry_op_describe(M, &info);
            assert_non_null(strstr(info.variant, tries[i].named));
        } else {
            REFUSES(kry_precond_create(op, word, &M), tries[i].status, tries[i].named);
        }
        kry_op_release(&M), kry_op_release(&op);
        matrix_release(&A);
    }
}

static void create__pivots(void **state)
{
    check_pivots(type_of(state), false);
    use_profile("gpu-kernels");
    check_pivots(type_of(state), true);
    use_profile(NULL);
}

static void create__refusals(void **state)
{
    kry_op *op = chain(type_of(state), 5, 3), *M = NULL;

    REFUSES(kry_block_ilu_create(op, KRY_BLOCK_IC(.fill = -1), &M), KRY_ERR_ARGUMENT, "fill = -1");
    REFUSES(kry_block_ic_create(op, KRY_BLOCK_IC(.fill = 101), &M), KRY_ERR_ARGUMENT, "[0, 100]");
    REFUSES(kry_block_ic_create(op, KRY_BLOCK_IC(.trisolve = (kry_trisolve)5), &M),
            KRY_ERR_ARGUMENT, "trisolve = 5");
    REFUSES(kry_block_ic_create(
                op, KRY_BLOCK_IC(.trisolve = KRY_TRISOLVE_ISAI, .storage = KRY_STORE_HALF), &M),
            KRY_ERR_UNSUPPORTED, "not 'half'");
    REFUSES(kry_precond_create(op, "icc:1,sweeps@single", &M), KRY_ERR_UNSUPPORTED, "not 'single'");
    REFUSES(kry_precond_create(op, "ilu:", &M), KRY_ERR_PARSE, "'ilu:'");
    REFUSES(kry_precond_create(op, "ilu:-1", &M), KRY_ERR_ARGUMENT, "fill = -1");
    REFUSES(kry_precond_create(op, "ilu:1x", &M), KRY_ERR_PARSE, "'ilu:1x'");
    REFUSES(kry_precond_create(op, "ilu:1,", &M), KRY_ERR_PARSE, "'ilu:1,'");
    REFUSES(kry_precond_create(op, "icc:,isai", &M), KRY_ERR_PARSE, "'icc:,isai'");
    REFUSES(kry_precond_create(op, "icc:level", &M), KRY_ERR_PARSE, "rows|levels|sweeps|isai");
    kry_op_release(&op);
}

/* Memory that is not there, at each request: nothing leaks, nothing comes out. */
static void check_no_memory(kry_type type)
{
    double *a = dense_random(type, 20, false, 20, 0.6);
    matrix A = matrix_from(a, 20);
    kry_op *op = csr_of(&A, type, NULL);
    for (size_t i = 0; i < COUNT(ways); i++) {
        /* Programs are there from now on: to keep one on the disk may fail. */
        kry_op *first = create(op, false, KRY_BLOCK_IC(.rows = 20, .fill = 1, .trisolve = ways[i]));
        kry_op_release(&first);
        EACH_REQUEST(k)
        {
            kry_op *M = op;
            const int refs = device_references(device());
            const kry_status st =
                FAILING(k, kry_block_ilu_create(
                               op, KRY_BLOCK_IC(.rows = 20, .fill = 1, .trisolve = ways[i]), &M));
            assert_int_equal(st, request_failed ? KRY_ERR_MEMORY : KRY_OK);
            assert_true(request_failed == !M);
            kry_op_release(&M);
            assert_int_equal(device_references(device()), refs);
        }
    }
    kry_op_release(&op);
    matrix_release(&A);
    free(a);
}

static void create__no_memory(void **state)
{
    check_no_memory(type_of(state));
    use_profile("gpu-kernels");
    check_no_memory(type_of(state));
    use_profile(NULL);
}

/* Row and column `dense` are full, the rest is the diagonal. */
static matrix full_row(kry_type type, int64_t n, int64_t dense)
{
    matrix A = { .rows = n, .cols = n };

    A.row_ptr = calloc((size_t)n + 1, sizeof *A.row_ptr);
    A.col = calloc(4 * (size_t)n, sizeof *A.col), A.val = calloc(4 * (size_t)n, sizeof *A.val);
    assert_true(A.row_ptr && A.col && A.val);
    for (int64_t i = 0; i < n; i++) {
        const int64_t few[] = { i < dense ? i : dense, i < dense ? dense : i };
        for (int64_t k = 0; k < (i == dense ? n : 2); k++) {
            const int64_t j = i == dense ? k : few[k];
            const double diagonal = i == dense ? 2.0 * (double)n : 4;
            A.col[A.nnz] = (int32_t)j;
            A.val[A.nnz++] = to_type(type, i == j ? diagonal : 0.5 + random_number(type) / 4);
        }
        A.row_ptr[i + 1] = A.nnz;
    }
    return A;
}

static double seconds_of(kry_type type, int64_t n, int64_t dense, bool symmetric)
{
    matrix A = full_row(type, n, dense);
    if (symmetric)
        for (int64_t e = 0; e < A.nnz; e++) A.val[e] = A.val[e] > 2 ? A.val[e] : 0.5;
    kry_op *op = csr_of(&A, type, NULL);
    const double start = seconds_now();
    kry_op *M = create(op, symmetric, KRY_BLOCK_IC(.rows = n, .trisolve = KRY_TRISOLVE_LEVELS));
    const double seconds = seconds_now() - start;
    kry_op_release(&M), kry_op_release(&op);
    matrix_release(&A);
    return seconds;
}

/* A full row is the textbook's, wherever it stands; and each of n others does not walk all of it. */
static void ilu__of_a_full_row(void **state)
{
    const kry_type type = type_of(state);

    for (int k = 0; k < 6; k++) {
        enum { N = 60 };
        const int64_t at = k % 3 * (N - 1) / 2;
        const bool symmetric = k > 2;
        double a[N * N] = { 0 };
        matrix A = full_row(type, N, at);
        for (int64_t i = 0; i < N; i++)
            for (int64_t e = A.row_ptr[i]; e < A.row_ptr[i + 1]; e++) {
                if (symmetric && A.val[e] < 2) A.val[e] = 0.5;
                a[i * N + A.col[e]] = A.val[e];
            }
        assert_int_equal(A.nnz, 3 * N - 2);
        kry_op *op = csr_of(&A, type, NULL);
        kry_op *M = create(op, symmetric, KRY_BLOCK_IC(.rows = N, .trisolve = KRY_TRISOLVE_LEVELS));
        dense f = factors_of(a, N, 0, symmetric);
        matrix want = matrix_of(&f);
        op_suite(M, &want);
        kry_op_release(&M), kry_op_release(&op);
        matrix_release(&want), matrix_release(&A);
        release(&f);
    }
    if (!kry_device_get_info(device())->cpu_kernels) return;
    enum { LARGE = 60000 };
    seconds_of(type, 100, 0, false); /* compiles */
    const double last = seconds_of(type, LARGE, LARGE - 1, false),
                 first = seconds_of(type, LARGE, 0, false);
    print_message("# %.3g s with the last row full, %.3g s with the first\n", last, first);
    assert_true(first < 10 * last + 0.5);
}

static void create__bounds_the_fill(void **state)
{
    const kry_type type = type_of(state);
    matrix A = full_row(type, 6000, 0);
    kry_op *op, *M;

    for (int64_t e = 0; e < A.nnz; e++) A.val[e] = A.val[e] > 2 ? A.val[e] : 0.5;
    op = csr_of(&A, type, NULL);
    REFUSES(kry_block_ilu_create(op, KRY_BLOCK_IC(.rows = 6000, .fill = 1), &M), KRY_ERR_MEMORY,
            "kry_block_ilu_create: 1 level of fill brings more than");
    REFUSES(kry_precond_create(op, "icc:1", &M), KRY_ERR_MEMORY,
            "kry_block_ic_create: 1 level of fill brings more than");
    kry_op_release(&op);
    matrix_release(&A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(ilu__equals_the_textbook), BOTH(ilu__on_a_gpus_kernels),
        BOTH(ilu__long_chains),         BOTH(ilu__several_sweeps),
        BOTH(ilu__wide_levels),         BOTH(auto__by_levels_and_sweeps),
        BOTH(update__keeps_the_places), BOTH(create__pivots),
        BOTH(create__refusals),         BOTH(create__no_memory),
        BOTH(ilu__of_a_full_row),       FOUR(create__bounds_the_fill),

    };
    return cmocka_run_group_tests_name("ilu", tests, NULL, close_device);
}
