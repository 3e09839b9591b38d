/*
 * test_values.c - the numbers of a matrix in every format: new ones in every form in which they may
 * be given, and their storage in single precision.
 */
#include "format_suite.h"
#include "step_suite.h"

/* ---- new values --------------------------------------------------------------------------------
 */

/* A symmetric matrix as callers may give it. */
typedef enum way { SORTED, REVERSED, HALF, TWICE, WAYS } way;

typedef struct given {
    way way;
    int64_t nnz, *row_ptr;
    int32_t *row, *col;
} given;

/* HALF: of each pair one, now from this triangle and now from the other. */
static given given_as(const matrix *A, way w)
{
    given g = { .way = w, .row_ptr = calloc((size_t)A->rows + 1, sizeof *g.row_ptr) };
    g.row = calloc((size_t)A->nnz * 2, sizeof *g.row);
    g.col = calloc((size_t)A->nnz * 2, sizeof *g.col);
    assert_true(g.row_ptr && g.row && g.col);
    for (int64_t i = 0; i < A->rows; i++) {
        int64_t first = A->row_ptr[i], last = A->row_ptr[i + 1] - 1;
        for (int64_t k = first; k <= last; k++) {
            int32_t j = A->col[w == SORTED ? k : last - (k - first)];
            if (w == HALF && ((i + j) % 2 ? j > i : j < i)) continue;
            for (int copy = 0; copy < (w == TWICE ? 2 : 1); copy++)
                g.row[g.nnz] = (int32_t)i, g.col[g.nnz++] = j;
        }
        g.row_ptr[i + 1] = g.nnz;
    }
    return g;
}

static void given_release(given *g) { free(g->row_ptr), free(g->row), free(g->col); }

/* The numbers of a round, in the order given; with TWICE in two parts. */
static void *given_values(const given *g, kry_type type, int round)
{
    void *val = calloc((size_t)g->nnz + 1, kry_type_size(type));
    assert_non_null(val);
    for (int64_t k = 0; k < g->nnz; k++)
        put(type, val, k,
            pair_number(type, g->row[k], g->col[k],
                        g->way == TWICE ? 2 * round + (int)(k % 2) : 2 * round));
    return val;
}

/* The same as they must come out. */
static void set_round(matrix *A, kry_type type, way w, int round)
{
    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
            double part = pair_number(type, i, A->col[k], 2 * round),
                   other = w == TWICE ? pair_number(type, i, A->col[k], 2 * round + 1) : 0;
            A->val[k] = to_type(type, part + other);
        }
}

/* Entries and products as of a matrix that was made of A. */
static void assert_is(const kry_op *op, const matrix *A, kry_format format)
{
    kry_op *fresh = in_format(A, kry_op_get_shape(op)->type, format, 0);
    assert_non_null(fresh);
    assert_reads_back(op, A);
    assert_same_product(op, fresh);
    kry_op_release(&fresh);
}

static void check_update(const given *g, matrix *A, kry_type type, kry_format format)
{
    kry_op *op;
    void *first = given_values(g, type, 0), *second = given_values(g, type, 1);

    OK(kry_csr_create(device(), type, A->rows, A->cols, g->row_ptr, g->col, first,
                      KRY_MATRIX(.format = format,
                                 .storage = g->way == HALF ? KRY_SYMMETRIC_HALF : KRY_GENERAL,
                                 .duplicates = g->way == TWICE ? KRY_SUM : KRY_REFUSE),
                      &op));
    set_round(A, type, g->way, 0);
    assert_is(op, A, format);
    OK(kry_op_update(op, second));
    set_round(A, type, g->way, 1);
    assert_is(op, A, format);

    put(type, second, g->nnz - 1, (double)NAN);
    REFUSES(kry_op_update(op, second), KRY_ERR_ARGUMENT, "not finite");
    assert_is(op, A, format);
    if (format == KRY_FORMAT_SYMDIA && g->way != HALF) {
        put(type, second, g->nnz - 1, at(type, first, g->nnz - 1));
        put(type, second, 1, 17); /* not on the diagonal */
        REFUSES(kry_op_update(op, second), KRY_ERR_ARGUMENT, "differs from its mirror image");
        assert_is(op, A, format);
    }
    OK(kry_op_update(op, first)); /* a refusal has not spoilt anything */
    set_round(A, type, g->way, 0);
    assert_is(op, A, format);
    kry_op_release(&op);
    free(first), free(second);
}

static void formats_update__as_if_made_anew(void **state)
{
    static const pattern shapes[] = { { "at random", 200, 200, NULL, symmetric_random },
                                      { "an arrow", 150, 150, NULL, arrow } };
    kry_type type = type_of(state);

    for (size_t p = 0; p < COUNT(shapes); p++) {
        matrix A = pattern_matrix(&shapes[p], type);
        for (way w = SORTED; w < WAYS; w++) {
            given g = given_as(&A, w);
            EACH_FORMAT(format) check_update(&g, &A, type, format);
            given_release(&g);
        }
        matrix_release(&A);
    }
}

/* ---- numbers kept in single precision -----------------------------------------------------------
 */

static double bytes_stored(const kry_op *op)
{
    kry_op_info info;
    kry_op_describe(op, &info);
    return info.bytes_stored;
}

static kry_op *with_values(const matrix *A, kry_format format, kry_values values)
{
    kry_op *op;
    OK(create(A, KRY_F64, KRY_MATRIX(.format = format, .values = values), &op));
    return op;
}

/* Numbers that single precision holds, or does not hold, exactly. */
static void set_width(matrix *A, bool single)
{
    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
            A->val[k] = pair_number(single ? KRY_F32 : KRY_F64, i, A->col[k], 3);
}

/* Stored in single while that loses nothing, in double as soon as one number needs it. */
static void check_compact(matrix *A, kry_format format, double odd)
{
    int64_t center = A->row_ptr[A->rows / 2];
    set_width(A, true);
    while (A->col[center] != A->rows / 2) center++;
    kry_op *op = with_values(A, format, KRY_VALUES_COMPACT),
           *wide = with_values(A, format, KRY_VALUES_AS_GIVEN);
    kry_op_info info;

    kry_op_describe(op, &info);
    assert_true(bytes_stored(wide) - bytes_stored(op) == 4.0 * (double)info.slots);
    assert_same_product(op, wide);
    op_suite(op, A);
    assert_reads_back(op, A);

    double kept = A->val[center];
    A->val[center] = odd;
    OK(kry_op_update(op, A->val));
    OK(kry_op_update(wide, A->val));
    assert_true(bytes_stored(op) == bytes_stored(wide));
    assert_same_product(op, wide);
    op_suite(op, A);
    assert_reads_back(op, A);

    A->val[center] = kept;
    OK(kry_op_update(op, A->val));
    OK(kry_op_update(wide, A->val));
    assert_true(bytes_stored(wide) - bytes_stored(op) == 4.0 * (double)info.slots);
    assert_same_product(op, wide);
    assert_reads_back(op, A);
    kry_op_release(&op);
    kry_op_release(&wide);
}

static void formats_values__compact(void **state)
{
    (void)state;
    if (!kry_device_get_info(device())->fp64) SKIP("no double on this device");
    leave_unoptimised(device(), true); /* for the same bits: Intel's compiler reorders sums */
    matrix A = matrix_where(KRY_F64, 150, 150, arrow);
    EACH_FORMAT(format) check_compact(&A, format, 1.0 / 3);
    check_compact(&A, KRY_FORMAT_SELL, 1e300);
    check_compact(&A, KRY_FORMAT_SELL, 1e-60);
    check_compact(&A, KRY_FORMAT_SELL, ldexp(1, -140)); /* devices may take it for 0 */
    leave_unoptimised(device(), false);
    matrix_release(&A);
}

/* Rounded when they are stored; everything after that is in double. */
static void formats_values__single(void **state)
{
    (void)state;
    if (!kry_device_get_info(device())->fp64) SKIP("no double on this device");
    matrix A = matrix_where(KRY_F64, 150, 150, arrow),
           rounded = matrix_where(KRY_F64, 150, 150, arrow);
    set_width(&A, false);
    for (int64_t k = 0; k < A.nnz; k++) rounded.val[k] = (float)A.val[k];
    EACH_FORMAT(format)
    {
        kry_op *op = with_values(&A, format, KRY_VALUES_SINGLE),
               *same = with_values(&rounded, format, KRY_VALUES_COMPACT);
        assert_true(bytes_stored(op) == bytes_stored(same));
        assert_same_product(op, same);
        op_suite(op, &rounded);
        step_suite(op, &rounded, kry_format_name(format));
        assert_reads_back(op, &rounded);
        kry_op_release(&same);

        double kept = A.val[0];
        A.val[0] = 1e300;
        REFUSES(kry_op_update(op, A.val), KRY_ERR_ARGUMENT,
                "kry_op_update: 1e+300, entry 0 of the sorted matrix, is too large for single");
        assert_reads_back(op, &rounded);
        REFUSES(
            create(&A, KRY_F64, KRY_MATRIX(.format = format, .values = KRY_VALUES_SINGLE), &same),
            KRY_ERR_ARGUMENT, "kry_csr_create: 1e+300");
        assert_null(same);
        const double lost =
            pow(10, -38 - (double)random_below(270)); /* 1e-38 is not a normal single */
        A.val[0] = random_below(2) ? lost : -lost;
        REFUSES(kry_op_update(op, A.val), KRY_ERR_ARGUMENT,
                "entry 0 of the sorted matrix, is too small for single");
        assert_reads_back(op, &rounded);
        REFUSES(
            create(&A, KRY_F64, KRY_MATRIX(.format = format, .values = KRY_VALUES_SINGLE), &same),
            KRY_ERR_ARGUMENT, "entry 0 of the sorted matrix, is too small for single");
        assert_null(same);
        A.val[0] = 0; /* which is not lost */
        OK(kry_op_update(op, A.val));
        A.val[0] = kept;
        OK(kry_op_update(op, A.val));
        assert_reads_back(op, &rounded);
        kry_op_release(&op);
    }
    matrix_release(&A), matrix_release(&rounded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(formats_update__as_if_made_anew),
        cmocka_unit_test(formats_values__compact),
        cmocka_unit_test(formats_values__single),
    };
    return cmocka_run_group_tests(tests, NULL, close_device);
}
