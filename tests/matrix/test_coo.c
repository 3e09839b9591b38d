/*
 * test_coo.c - coordinates in any order become the same matrix; what they must not be.
 */
#include "op_suite.h"

/* The entries of A, shuffled. */
typedef struct triples {
    int64_t nnz;
    int32_t *row, *col;
    double *val;
} triples;

static triples triples_of(const matrix *A)
{
    triples t = { .nnz = A->nnz };
    t.row = calloc((size_t)A->nnz + 1, sizeof *t.row);
    t.col = calloc((size_t)A->nnz + 1, sizeof *t.col);
    t.val = calloc((size_t)A->nnz + 1, sizeof *t.val);
    assert_true(t.row && t.col && t.val);
    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
            t.row[k] = (int32_t)i, t.col[k] = A->col[k], t.val[k] = A->val[k];
    for (int64_t k = t.nnz - 1; k > 0; k--) {
        int64_t o = random_below(k + 1);
        int32_t r = t.row[k], c = t.col[k];
        double v = t.val[k];
        t.row[k] = t.row[o], t.col[k] = t.col[o], t.val[k] = t.val[o];
        t.row[o] = r, t.col[o] = c, t.val[o] = v;
    }
    return t;
}

static void triples_release(triples *t) { free(t->row), free(t->col), free(t->val); }

static kry_op *coo_of(const triples *t, kry_type type, int64_t rows, int64_t cols,
                      const kry_matrix_params *params)
{
    kry_op *op = NULL;
    void *val = in_type(type, t->val, t->nnz);
    OK(kry_coo_create(device(), type, rows, cols, t->nnz, t->row, t->col, val, params, &op));
    free(val);
    return op;
}

static int64_t none(int64_t i, int64_t n, int64_t m) { return (void)i, (void)n, (void)m, 0; }
static int64_t gaps(int64_t i, int64_t n, int64_t m) { return (void)n, (void)m, i % 3 ? i % 7 : 0; }
static int64_t all(int64_t i, int64_t n, int64_t m) { return (void)i, (void)n, m; }

static void coo__shuffled_entries(void **state)
{
    static const struct {
        int64_t rows, cols, (*length)(int64_t, int64_t, int64_t);
    } shapes[] = { { 0, 0, none }, { 3, 0, none },  { 4, 5, none },
                   { 1, 1, all },  { 23, 17, all }, { 259, 300, gaps } };
    kry_type type = type_of(state);
    for (size_t i = 0; i < COUNT(shapes); i++) {
        matrix A = matrix_create(type, shapes[i].rows, shapes[i].cols, shapes[i].length);
        triples t = triples_of(&A);
        kry_op *op = coo_of(&t, type, A.rows, A.cols, NULL);
        op_suite(op, &A);
        kry_op_release(&op);
        triples_release(&t);
        matrix_release(&A);
    }
}

static void coo__empty_takes_null_arrays(void **state)
{
    kry_type type = type_of(state);
    matrix A = matrix_create(type, 130, 7, none);
    kry_op *op;
    OK(kry_coo_create(device(), type, 130, 7, 0, NULL, NULL, NULL, NULL, &op));
    op_suite(op, &A);
    kry_op_release(&op);
    matrix_release(&A);
}

/* New values come in the order of the triples. */
static void coo_update__in_the_order_given(void **state)
{
    kry_type type = type_of(state);
    matrix A = matrix_create(type, 60, 50, gaps);
    for (int64_t k = 0; k < A.nnz; k++) A.val[k] = (double)k + 1;
    triples t = triples_of(&A);
    kry_op *op = coo_of(&t, type, A.rows, A.cols, NULL);
    for (int64_t k = 0; k < A.nnz; k++) A.val[k] = -2 * A.val[k] + 1;
    for (int64_t k = 0; k < A.nnz; k++) t.val[k] = -2 * t.val[k] + 1;
    void *val = in_type(type, t.val, t.nnz);
    OK(kry_op_update(op, val));
    op_suite(op, &A);
    put(type, val, 3, (double)NAN);
    REFUSES(kry_op_update(op, val), KRY_ERR_ARGUMENT, "entry 3");
    op_suite(op, &A);
    free(val);
    kry_op_release(&op);
    triples_release(&t);
    matrix_release(&A);
}

/* Two triples in each place, the second with three times the value: the sum is exact. */
static void coo__duplicates_are_summed(void **state)
{
    kry_type type = type_of(state);
    matrix A = matrix_create(type, 40, 30, gaps);
    for (int64_t k = 0; k < A.nnz; k++) A.val[k] = (double)(k % 100 + 1);
    triples t = triples_of(&A), twice = { .nnz = 2 * t.nnz };
    twice.row = calloc((size_t)twice.nnz, sizeof *t.row);
    twice.col = calloc((size_t)twice.nnz, sizeof *t.col);
    twice.val = calloc((size_t)twice.nnz, sizeof *t.val);
    assert_true(twice.row && twice.col && twice.val);
    for (int64_t k = 0; k < twice.nnz; k++) {
        int64_t from = k < t.nnz ? k : twice.nnz - 1 - k;
        twice.row[k] = t.row[from], twice.col[k] = t.col[from];
        twice.val[k] = (k < t.nnz ? 1 : 3) * t.val[from];
    }
    for (int64_t k = 0; k < A.nnz; k++) A.val[k] *= 4;
    kry_op *op = coo_of(&twice, type, A.rows, A.cols, KRY_MATRIX(.duplicates = KRY_SUM));
    kry_op_info info;
    kry_op_describe(op, &info);
    assert_int_equal(info.nnz, A.nnz);
    op_suite(op, &A);
    kry_op_release(&op);
    triples_release(&t), triples_release(&twice);
    matrix_release(&A);
}

/* One of each pair of mirror images given, upper and lower mixed. */
static void coo__symmetric_and_skew_halves(void **state)
{
    kry_type type = type_of(state);
    enum { N = 20 };
    for (int skew = 0; skew < 2; skew++) {
        matrix A = matrix_create(type, N, N, all);
        triples t = { .nnz = 0 };
        t.row = calloc(N * N, sizeof *t.row);
        t.col = calloc(N * N, sizeof *t.col);
        t.val = calloc(N * N, sizeof *t.val);
        assert_true(t.row && t.col && t.val);
        for (int i = 0; i < N; i++)
            for (int j = 0; j <= i; j++) {
                double v = i == j && skew ? 0 : A.val[i * N + j];
                bool flip = (i + j) % 2 == 1;
                A.val[i * N + j] = v;
                A.val[j * N + i] = skew ? -v : v;
                if (i == j && skew) continue;
                t.row[t.nnz] = flip ? j : i, t.col[t.nnz] = flip ? i : j;
                t.val[t.nnz++] = flip && skew ? -v : v;
            }
        kry_op *op = coo_of(&t, type, N, N,
                            KRY_MATRIX(.storage = skew ? KRY_SKEW_HALF : KRY_SYMMETRIC_HALF,
                                       .traits = skew ? 0 : KRY_SYMMETRIC));
        op_suite(op, &A);
        kry_op_release(&op);
        triples_release(&t);
        matrix_release(&A);
    }
}

/* ---- refusals ------------------------------------------------------------------------------- */

static void coo_create__refusals(void **state)
{
    (void)state;
    static const int32_t row[] = { 0, 2, 1, 2 }, col[] = { 1, 0, 1, 0 };
    static const int32_t high_row[] = { 0, 3, 1, 2 }, low_row[] = { 0, 1, -1, 2 },
                         high_col[] = { 1, 0, 1, 3 }, low_col[] = { -1, 0, 1, 2 };
    static const float val[] = { 1, 2, 3, 4 }, bad[] = { 1, 2, 3, -INFINITY };
    kry_op *op = (kry_op *)&op;

#define CREATE(rows, cols, nnz, row, col, val, params) \
    kry_coo_create(device(), KRY_F32, rows, cols, nnz, row, col, val, params, &op)
    REFUSES(CREATE(3, 3, 4, high_row, col, val, NULL), KRY_ERR_ARGUMENT, "row 3 at entry 1");
    assert_null(op);
    REFUSES(CREATE(3, 3, 4, low_row, col, val, NULL), KRY_ERR_ARGUMENT, "row -1 at entry 2");
    REFUSES(CREATE(3, 3, 4, row, high_col, val, NULL), KRY_ERR_ARGUMENT,
            "column 3 at entry 3 (row 2)");
    REFUSES(CREATE(3, 3, 4, row, low_col, val, NULL), KRY_ERR_ARGUMENT, "column -1 at entry 0");
    REFUSES(CREATE(0, 0, 4, row, col, val, NULL), KRY_ERR_ARGUMENT, "row 0 at entry 0");
    REFUSES(CREATE(3, 3, 4, row, col, val, NULL), KRY_ERR_ARGUMENT, "row 2, column 0");
    REFUSES(CREATE(3, 3, 4, row, col, bad, KRY_MATRIX(.duplicates = KRY_SUM)), KRY_ERR_ARGUMENT,
            "entry 3");
    REFUSES(CREATE(3, 3, 3, row, col, val, KRY_MATRIX(.storage = KRY_SKEW_HALF)), KRY_ERR_ARGUMENT,
            "entry 2 is on the diagonal");
    REFUSES(CREATE(3, 4, 3, row, col, val, KRY_MATRIX(.storage = KRY_SYMMETRIC_HALF)),
            KRY_ERR_SHAPE, "3-by-4");
    REFUSES(CREATE(3, 3, -1, row, col, val, NULL), KRY_ERR_ARGUMENT, "nnz = -1");
    REFUSES(CREATE(3, 3, 4, NULL, col, val, NULL), KRY_ERR_ARGUMENT, "NULL");
    REFUSES(CREATE(3, 3, 4, row, NULL, val, NULL), KRY_ERR_ARGUMENT, "NULL");
    REFUSES(CREATE(3, 3, 4, row, col, NULL, NULL), KRY_ERR_ARGUMENT, "NULL");
    REFUSES(CREATE(-3, 3, 4, row, col, val, NULL), KRY_ERR_ARGUMENT, "-3-by-3");
    REFUSES(CREATE(3, 3, 4, row, col, val, &(kry_matrix_params){ .struct_size = 1 }),
            KRY_ERR_ARGUMENT, "KRY_MATRIX");
    assert_null(op);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(coo__shuffled_entries),          BOTH(coo__empty_takes_null_arrays),
        BOTH(coo_update__in_the_order_given), BOTH(coo__duplicates_are_summed),
        BOTH(coo__symmetric_and_skew_halves), cmocka_unit_test(coo_create__refusals),
    };
    return cmocka_run_group_tests(tests, NULL, close_device);
}
