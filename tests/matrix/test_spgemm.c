/*
 * test_spgemm.c - products of stored matrices, A B and P' A P: the pattern and every bit against plain loops, with the kernels of CPUs and of GPUs.
 */
#include "patterns.h"
#include "teams.h"

/* ---- plain loops ----------------------------------------------------------------------------- */

/* sum + a b, product and sum rounded to the type each */
static double rounded_plus(kry_type type, double sum, double a, double b)
{
    volatile float f;
    volatile double d;

    if (type == KRY_F32) {
        f = (float)a * (float)b;
        f = (float)sum + f;
        return f;
    }
    d = a * b;
    d = sum + d;
    return d;
}

/* C := A B by rows of all columns */
static matrix product_of(const matrix *A, const matrix *B, kry_type type)
{
    matrix C = { .rows = A->rows, .cols = B->cols };
    size_t width = (size_t)B->cols + 1, room = 16;
    double *sum = calloc(width, sizeof *sum);
    bool *there = calloc(width, sizeof *there);

    C.row_ptr = calloc((size_t)C.rows + 1, sizeof *C.row_ptr);
    C.col = calloc(room, sizeof *C.col), C.val = calloc(room, sizeof *C.val);
    assert_true(sum && there && C.row_ptr && C.col && C.val);
    for (int64_t i = 0; i < A->rows; i++) {
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++)
            for (int64_t f = B->row_ptr[A->col[e]]; f < B->row_ptr[A->col[e] + 1]; f++) {
                double *s = &sum[B->col[f]];
                *s = rounded_plus(type, *s, A->val[e], B->val[f]), there[B->col[f]] = true;
            }
        for (int64_t j = 0; j < B->cols; j++) {
            if (!there[j]) continue;
            if ((size_t)C.nnz == room) {
                room *= 2;
                C.col = realloc(C.col, room * sizeof *C.col);
                C.val = realloc(C.val, room * sizeof *C.val);
                assert_true(C.col && C.val);
            }
            C.col[C.nnz] = (int32_t)j, C.val[C.nnz++] = sum[j];
            sum[j] = 0, there[j] = false;
        }
        C.row_ptr[i + 1] = C.nnz;
    }
    free(sum);
    free(there);
    return C;
}

/* P'(A P) */
static matrix galerkin_of(const matrix *A, const matrix *P, kry_type type)
{
    matrix AP = product_of(A, P, type), T = transpose_of(P), C = product_of(&T, &AP, type);

    matrix_release(&AP);
    matrix_release(&T);
    return C;
}

/* The same places and bits. */
static void expect_matrix(const kry_op *op, const matrix *want, kry_type type)
{
    kry_op_info info;
    kry_op_describe(op, &info);
    assert_int_equal(info.nnz, want->nnz);
    size_t count = (size_t)want->nnz + 1;
    int64_t *row_ptr = malloc(((size_t)want->rows + 1) * sizeof *row_ptr);
    int32_t *col = malloc(count * sizeof *col);
    void *val = malloc(count * sizeof(double));
    assert_true(row_ptr && col && val);

    memset(row_ptr, 0xff, ((size_t)want->rows + 1) * sizeof *row_ptr);
    memset(col, 0xff, count * sizeof *col);
    memset(val, 0xff, count * sizeof(double));
    OK(kry_matrix_read(op, row_ptr, col, val));
    for (int64_t i = 0; i <= want->rows; i++) assert_int_equal(row_ptr[i], want->row_ptr[i]);
    for (int64_t k = 0; k < want->nnz; k++) {
        if (col[k] != want->col[k])
            fail_msg("entry %lld is in column %d, not %d", (long long)k, col[k], want->col[k]);
        double got = at(type, val, k);
        double exact = to_type(type, want->val[k]);
        if (memcmp(&got, &exact, sizeof got) != 0)
            fail_msg("entry %lld is %.17g, not %.17g", (long long)k, got, exact);
    }
    free(val);
    free(col);
    free(row_ptr);
}

static void new_numbers(matrix *A, kry_op *op, kry_type type)
{
    for (int64_t k = 0; k < A->nnz; k++) A->val[k] = random_number(type);
    void *val = in_type(type, A->val, A->nnz);
    OK(kry_op_update(op, val));
    free(val);
}

/* ---- products ---------------------------------------------------------------------------------- */

typedef kry_status make_fn(const kry_op *A, const kry_op *B, kry_op **C);
typedef matrix plain_fn(const matrix *A, const matrix *B, kry_type type);

/* Twice, and after an update of the operands. */
static void try_product(make_fn *make, plain_fn *plain, matrix *A, matrix *B, kry_type type,
                        const kry_matrix_params *params)
{
    kry_op *a = csr_of(A, type, params), *b = csr_of(B, type, params), *C = NULL, *again = NULL;
    matrix want = plain(A, B, type);

    OK(make(a, b, &C));
    expect_matrix(C, &want, type);
    OK(make(a, b, &again));
    expect_matrix(again, &want, type);
    kry_op_release(&again);
    new_numbers(A, a, type);
    new_numbers(B, b, type);
    kry_op_release(&a); /* C keeps it */
    matrix_release(&want);
    want = plain(A, B, type);
    OK(kry_op_update(C, NULL));
    expect_matrix(C, &want, type);
    kry_op_release(&b);
    kry_op_release(&C);
    matrix_release(&want);
}

typedef struct shape {
    int64_t rows, inner, cols;
    length_fn *left, *right;
} shape;

/* GPU kernels: teams of 2 to 32 in groups of 32 have room for 6 to 24 columns a work-item; of longer rows, teams of 8 to 32
 * in larger groups hold 96 to 384 columns and 64 to 256 numbers; a window has 2048 columns, a piece 1024
 * numbers. A few long rows make a sample of all rows tell too little. */
LENGTHS(up_to_forty, random_below(41))
LENGTHS(some_long, i % 37 == 5 ? m / 2 : i % 4)
LENGTHS(around_a_team, 60 + i % 9)
LENGTHS(a_few_long, i % 61 == 7 ? 300 : 1)
static const shape shapes[] = {
    { 0, 0, 0, none, none },
    { 1, 1, 1, one, one },
    { 5, 0, 7, none, none },
    { 0, 5, 5, none, three },
    { 5, 5, 0, three, none },
    { 1, 300, 5000, all, three },
    { 130, 129, 127, any, any },
    { 257, 300, 90, gaps, dense_row },
    { 100, 257, 4100, dense_row, up_to_forty },
    { 60, 75, 6000, three, some_long },
    { 100, 40, 3000, one, around_a_team },
    { 24, 700, 700, up_to_forty, up_to_forty },
    { 260, 3, 1100, any, all },
    { 60, 50, 6000, power_law, power_law },
    { 9000, 310, 310, a_few_long, one },
};

static void multiply__every_shape(void **state)
{
    kry_type type = type_of(state);
    static const kry_format formats[] = { KRY_FORMAT_CSR, KRY_FORMAT_AUTO, KRY_FORMAT_COO };

    for (size_t i = 0; i < COUNT(shapes); i++) {
        const shape *s = &shapes[i];
        if (too_large(s->cols)) continue;
        matrix A = matrix_create(type, s->rows, s->inner, s->left);
        matrix B = matrix_create(type, s->inner, s->cols, s->right);
        try_product(kry_csr_multiply, product_of, &A, &B, type,
                    KRY_MATRIX(.format = formats[i % 3]));
        matrix_release(&A);
        matrix_release(&B);
    }
}

static void galerkin__every_shape(void **state)
{
    kry_type type = type_of(state);
    static const shape squares[] = {
        { 1, 1, 1, one, one },           { 200, 200, 31, any, three },
        { 300, 300, 2, dense_row, one }, { 400, 400, 77, gaps, gaps },
        { 300, 300, 3, any, all },       { 40, 40, 5000, three, some_long }
    };

    for (size_t i = 0; i < COUNT(squares); i++) {
        const shape *s = &squares[i];
        matrix A = matrix_create(type, s->rows, s->inner, s->left);
        matrix P = matrix_create(type, s->inner, s->cols, s->right);
        try_product(kry_csr_galerkin, galerkin_of, &A, &P, type, NULL);
        matrix_release(&A);
        matrix_release(&P);
    }
}

/* (1 1) (1; -1) = 0, an entry; new numbers of the user's own hold until the next update without. */
static void multiply__cancellation_is_kept(void **state)
{
    kry_type type = type_of(state);
    int64_t a_ptr[] = { 0, 2 }, b_ptr[] = { 0, 1, 2 };
    int32_t a_col[] = { 0, 1 }, b_col[] = { 0, 0 };
    double a_val[] = { 1, 1 }, b_val[] = { 1, -1 }, seven[] = { 7 };
    matrix A = { 1, 2, 2, a_ptr, a_col, a_val }, B = { 2, 1, 2, b_ptr, b_col, b_val };
    matrix want = { 1, 1, 1, a_ptr, a_col, (double[]){ 0 } };
    kry_op *a = csr_of(&A, type, NULL), *b = csr_of(&B, type, NULL), *C = NULL;
    void *val = in_type(type, seven, 1);

    want.row_ptr = (int64_t[]){ 0, 1 };
    OK(kry_csr_multiply(a, b, &C));
    expect_matrix(C, &want, type);
    OK(kry_op_update(C, val));
    want.val = seven;
    expect_matrix(C, &want, type);
    OK(kry_op_update(C, NULL));
    want.val = (double[]){ 0 };
    expect_matrix(C, &want, type);
    free(val);
    kry_op_release(&C);
    kry_op_release(&b);
    kry_op_release(&a);
}

static void multiply__refusals(void **state)
{
    (void)state;
    matrix A = matrix_create(KRY_F32, 6, 5, three), S = matrix_create(KRY_F32, 6, 6, three);
    kry_op *a = csr_of(&A, KRY_F32, NULL), *s = csr_of(&S, KRY_F32, NULL), *C = a;

    REFUSES(kry_csr_multiply(NULL, a, &C), KRY_ERR_ARGUMENT, "kry_csr_multiply");
    REFUSES(kry_csr_multiply(a, s, &C), KRY_ERR_SHAPE, "6-by-5 and 6-by-6 have no product");
    assert_null(C);
    REFUSES(kry_csr_galerkin(a, a, &C), KRY_ERR_SHAPE, "have no product");
    if (acc_type() == KRY_F64) {
        kry_op *d = csr_of(&A, KRY_F64, NULL);
        REFUSES(kry_csr_multiply(s, d, &C), KRY_ERR_TYPE, "one matrix is in single");
        kry_op_release(&d);
    }
    kry_op_release(&s);
    kry_op_release(&a);
    matrix_release(&S);
    matrix_release(&A);
}

static void multiply__not_on_a_team(void **state)
{
    (void)state;
    matrix A = matrix_create(KRY_F32, 64, 64, three);
    kry_device *team = open_team(2, (kry_team_params){ 0 });
    kry_op *whole = csr_of(&A, KRY_F32, NULL), *parts = NULL, *C = NULL;
    void *val = in_type(KRY_F32, A.val, A.nnz);

    OK(kry_csr_create(team, KRY_F32, 64, 64, A.row_ptr, A.col, val, NULL, &parts));
    REFUSES(kry_csr_multiply(parts, parts, &C), KRY_ERR_UNSUPPORTED, "in parts on a team");
    REFUSES(kry_csr_galerkin(whole, parts, &C), KRY_ERR_UNSUPPORTED, "in parts on a team");
    free(val);
    kry_op_release(&parts);
    kry_op_release(&whole);
    close_team(&team);
    close_kept_teams();
    matrix_release(&A);
}

/* Each request for memory fails once: nothing is handed out, and nothing leaks. */
static void galerkin__memory_fails(void **state)
{
    (void)state;
    matrix A = matrix_create(KRY_F32, 40, 40, three);
    kry_op *a = csr_of(&A, KRY_F32, NULL), *C = NULL;

    EACH_REQUEST(k) /* some only save time */
    {
        kry_status st = FAILING(k, kry_csr_galerkin(a, a, &C));
        assert_true(st == KRY_OK || (st == KRY_ERR_MEMORY && request_failed));
        assert_int_equal(C != NULL, st == KRY_OK);
        kry_op_release(&C);
    }
    OK(kry_csr_galerkin(a, a, &C));
    EACH_REQUEST(k)
    {
        kry_status st = FAILING(k, kry_op_update(C, NULL));
        assert_true(st == KRY_OK || (st == KRY_ERR_MEMORY && request_failed));
    }
    matrix AA = galerkin_of(&A, &A, KRY_F32);
    expect_matrix(C, &AA, KRY_F32);
    matrix_release(&AA);
    kry_op_release(&C);
    kry_op_release(&a);
    matrix_release(&A);
}

/* How many programs a device has compiled once it has made A B with rows of so many entries in B. */
static int64_t programs_after(kry_device *dev, length_fn *length)
{
    matrix A = matrix_create(KRY_F32, 90, 40, one), B = matrix_create(KRY_F32, 40, 3000, length);
    void *a_val = in_type(KRY_F32, A.val, A.nnz), *b_val = in_type(KRY_F32, B.val, B.nnz);
    kry_op *a = NULL, *b = NULL, *C = NULL;
    const kry_matrix_params *csr = KRY_MATRIX(.format = KRY_FORMAT_CSR);
    int64_t programs;

    OK(kry_csr_create(dev, KRY_F32, A.rows, A.cols, A.row_ptr, A.col, a_val, csr, &a));
    OK(kry_csr_create(dev, KRY_F32, B.rows, B.cols, B.row_ptr, B.col, b_val, csr, &b));
    OK(kry_csr_multiply(a, b, &C));
    kry_device_compile_seconds(dev, &programs);
    kry_op_release(&C);
    kry_op_release(&b);
    kry_op_release(&a);
    free(b_val);
    free(a_val);
    matrix_release(&B);
    matrix_release(&A);
    return programs;
}

/* The size of tables in local memory is an argument: longer rows need no other program. */
static void multiply__one_program_for_all_tables(void **state)
{
    (void)state;
    NOT_ON_HOST("programs that are compiled");
    kry_device *dev = NULL;

    OK(kry_device_open(NULL, &dev));
    const int64_t programs = programs_after(dev, three);
    assert_true(programs > 0);
    assert_int_equal(programs_after(dev, around_a_team), programs);
    kry_device_release(&dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FOUR(multiply__every_shape),
        FOUR(galerkin__every_shape),
        FOUR(multiply__cancellation_is_kept),

        cmocka_unit_test_setup(multiply__one_program_for_all_tables, on_gpu_kernels),

        cmocka_unit_test_setup(galerkin__memory_fails, on_cpu_kernels),
        cmocka_unit_test_setup(multiply__refusals, on_cpu_kernels),
        cmocka_unit_test_setup(multiply__not_on_a_team, on_cpu_kernels),
    };
    return cmocka_run_group_tests(tests, keep_profile, restore_profile);
}
