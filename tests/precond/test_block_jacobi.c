/* test_block_jacobi.c - the inverses of diagonal blocks against elimination in plain C. */
#include "as_matrix.h"
#include "op_suite.h"
#include <kry/problem.h>

/* The block of row i times its piece of b, by Gauss without pivots: for positive definite blocks,
 * and others whose diagonal dominates. user: the rows of a block. */
static void plain_block_jacobi(const matrix *A, const double *b, double *x, const void *user)
{
    const int rows = *(const int *)user;

    for (int64_t first = 0; first < A->rows; first += rows) {
        int size = first + rows <= A->rows ? rows : (int)(A->rows - first);
        double B[32][33] = { { 0 } };
        bool any = false;
        for (int i = 0; i < size; i++) {
            for (int64_t e = A->row_ptr[first + i]; e < A->row_ptr[first + i + 1]; e++)
                if (A->col[e] >= first && A->col[e] < first + size)
                    B[i][A->col[e] - first] += A->val[e];
            B[i][size] = b[first + i];
            any = any || b[first + i] != 0;
        }
        for (int k = 0; k < size && any; k++)
            for (int i = 0; i < size; i++) {
                double by = B[i][k] / B[k][k];
                for (int j = k; j <= size && i != k; j++) B[i][j] -= by * B[k][j];
            }
        for (int i = 0; i < size; i++) x[first + i] = any ? B[i][size] / B[i][i] : 0;
    }
}

/* M by rows, where as_matrix gives columns. Its entries have errors, too, those of an elimination:
 * zeros on the diagonal make room for them in row_bound. */
static matrix by_rows(const matrix *columns, int rows)
{
    matrix T = transpose_of(columns), M = { .rows = T.rows, .cols = T.cols };
    const int64_t more = 4 * rows;

    M.row_ptr = calloc((size_t)M.rows + 1, sizeof *M.row_ptr);
    M.col = calloc((size_t)(T.nnz + more * T.rows) + 1, sizeof *M.col);
    M.val = calloc((size_t)(T.nnz + more * T.rows) + 1, sizeof *M.val);
    assert_true(M.row_ptr && M.col && M.val);
    for (int64_t i = 0; i < T.rows; i++) {
        for (int64_t e = T.row_ptr[i]; e < T.row_ptr[i + 1]; e++)
            M.col[M.nnz] = T.col[e], M.val[M.nnz++] = T.val[e];
        for (int64_t e = 0; e < more; e++) M.col[M.nnz++] = (int32_t)i;
        M.row_ptr[i + 1] = M.nnz;
    }
    matrix_release(&T);
    return M;
}

static void check(const kry_op *op, const matrix *A, int rows, bool symmetric, const char *why)
{
    matrix columns = as_matrix(A, plain_block_jacobi, &rows), M = by_rows(&columns, rows);
    kry_op *blocks = NULL;
    kry_op_info info;

    print_message("# %s, blocks of %d\n", why, rows);
    OK(kry_block_jacobi_create(op, KRY_BLOCK_JACOBI(.rows = rows), &blocks));
    kry_op_describe(blocks, &info);
    assert_string_equal(info.kind, "block-jacobi");
    assert_true(info.bytes_per_apply ==
                (rows + 2) * (double)A->rows * (double)kry_type_size(kry_op_get_shape(op)->type));
    assert_int_equal(!!(kry_op_get_shape(blocks)->traits & KRY_SYMMETRIC), symmetric);
    op_suite(blocks, &M);
    if (A->rows && symmetric) check_dots(blocks, why);
    kry_op_release(&blocks);
    matrix_release(&M), matrix_release(&columns);
}

/* Sizes around blocks, vectors and work-groups; the last block whole, cut, and the only one. */
static void block_jacobi__inverts_the_blocks(void **state)
{
    static const struct {
        int64_t n;
        int rows;
    } of[] = { { 0, 2 },   { 1, 1 },   { 1, 5 },   { 2, 2 },    { 3, 2 },    { 31, 32 }, { 33, 32 },
               { 64, 32 }, { 127, 2 }, { 128, 3 }, { 129, 16 }, { 1025, 3 }, { 777, 7 } };
    kry_type type = type_of(state);
    for (size_t i = 0; i < COUNT(of); i++) {
        matrix A = random_spd(type, of[i].n);
        kry_op *csr = csr_of(&A, type, KRY_MATRIX(.traits = KRY_POSITIVE));
        char why[32];
        snprintf(why, sizeof why, "%lld rows", (long long)of[i].n);
        check(csr, &A, of[i].rows, true, why);
        kry_op_release(&csr);
        matrix_release(&A);
    }
}

static void block_jacobi__grids(void **state)
{
    static const int of[] = { 3, 8, 11, 12 }; /* 12: singular */
    kry_type type = type_of(state);
    for (size_t i = 0; i < COUNT(of); i++) {
        const grid *g = &grids[of[i]];
        if (too_large(grid_points(g))) continue;
        double *k = grid_coefficients(g, type);
        for (int64_t j = 0; k && j < grid_points(g); j++) /* far from singular */
            k[j] = 1 + 0.5 * (double)(j % 3);
        matrix A = grid_matrix(g, k);
        kry_op *op = grid_op(g, type, k);
        check(op, &A, 4, true, g->name);
        kry_op_release(&op);
        matrix_release(&A);
        free(k);
    }
}

/* Blocks that are not symmetric keep what they are; a pivot of zero is no obstacle. */
static void block_jacobi__not_symmetric(void **state)
{
    kry_type type = type_of(state);
    matrix A = random_spd(type, 150);
    for (int64_t i = 0; i < A.rows; i++)
        for (int64_t e = A.row_ptr[i]; e < A.row_ptr[i + 1]; e++)
            if (A.col[e] > i) A.val[e] *= 0.5;
    for (int64_t e = A.row_ptr[0]; e < A.row_ptr[1]; e++) /* one such entry is certain */
        if (A.col[e] == 1) A.val[e] = 0;
    kry_op *csr = csr_of(&A, type, NULL);
    check(csr, &A, 32, false, "not symmetric");
    kry_op_release(&csr);
    matrix_release(&A);

    const int64_t ptr[] = { 0, 1, 3 };
    const int32_t col[] = { 1, 0, 1 };
    const double val[] = { 2, 4, 1 }, want[] = { -0.125 * 3 + 0.25 * 5, 0.5 * 3 };
    matrix S = { .rows = 2, .cols = 2, .nnz = 3 };
    S.row_ptr = (int64_t *)ptr, S.col = (int32_t *)col, S.val = (double *)val;
    kry_op *op = csr_of(&S, type, NULL), *M = NULL;
    const double given[] = { 3, 5 };
    guarded X = guarded_create(type, 2, 1, 0, given), Y = guarded_create(type, 2, 1, 0, NULL);
    OK(kry_block_jacobi_create(op, NULL, &M));
    OK(kry_op_apply(M, 1, X.v, 0, Y.v));
    double *y = guarded_read(&Y);
    for (int i = 0; i < 2; i++) NEAR(y[i], want[i], 8 * eps_of(type), "row %d", i);
    free(y);
    guarded_release(&X), guarded_release(&Y);
    kry_op_release(&M);
    kry_op_release(&op);
}

static int rows_of(const kry_op *M)
{
    kry_op_info info;
    int rows = 0;
    kry_op_describe(M, &info);
    assert_int_equal(sscanf(info.variant, "blocks of %d", &rows), 1);
    return rows;
}

/* Unknowns of one node share their columns. */
static void block_jacobi__rows_from_the_pattern(void **state)
{
    static const struct {
        const char *spec;
        int rows;
    } of[] = { { "block_spd:60:3", 3 },
               { "block_spd:60:6", 6 },
               { "poisson2d:7", 2 },
               { "random_spd:50:4", 2 } };
    kry_type type = type_of(state);
    for (size_t i = 0; i < COUNT(of); i++) {
        kry_problem *p = NULL;
        kry_op *op = NULL, *M = NULL;
        OK(kry_problem_create(of[i].spec, 1, &p));
        void *val = in_type(type, p->val, p->nnz);
        OK(kry_csr_create(device(), type, p->n, p->n, p->row_ptr, p->col, val, NULL, &op));
        OK(kry_block_jacobi_create(op, NULL, &M));
        assert_int_equal(rows_of(M), of[i].rows);
        kry_op_release(&M);
        kry_op_release(&op);
        kry_problem_release(&p);
        free(val);
    }
}

static void block_jacobi__dense_takes_the_largest(void **state)
{
    kry_type type = type_of(state);
    matrix A = { .rows = 48, .cols = 48, .nnz = 48 * 48 };
    int64_t ptr[49];
    int32_t col[48 * 48];
    double *val = random_array(type, A.nnz);
    kry_op *M = NULL;

    for (int i = 0; i <= 48; i++) ptr[i] = 48 * i;
    for (int e = 0; e < 48 * 48; e++) col[e] = e % 48, val[e] += e % 49 == 0 ? 48 : 0;
    A.row_ptr = ptr, A.col = col, A.val = val;
    kry_op *op = csr_of(&A, type, NULL);
    OK(kry_block_jacobi_create(op, NULL, &M));
    assert_int_equal(rows_of(M), 24);
    kry_op_release(&M);
    kry_op_release(&op);
    free(val);
}

static void block_jacobi__saves_iterations(void **state)
{
    kry_type type = type_of(state);
    const int rows = 8;
    matrix A = grid_matrix(&grids[6], NULL);
    kry_op *csr = csr_of(&A, type, NULL);
    double *b = random_array(type, A.rows);
    kry_result result;

    int none = device_pcg(csr, b, "precond=none rtol=1e-4", &result);
    int ours = device_pcg(csr, b, "precond=block-jacobi:8 rtol=1e-4", &result);
    int plain = plain_pcg(&A, b, plain_block_jacobi, &rows, 1e-4);
    print_message("# %d iterations, %d in plain C, %d without\n", ours, plain, none);
    assert_in_range(ours, plain - 1, plain + 1);
    assert_true(ours < 0.85 * none);
    free(b);
    kry_op_release(&csr);
    matrix_release(&A);
}

static void block_jacobi_update__follows_or_keeps(void **state)
{
    const int rows = 5;
    kry_type type = type_of(state);
    matrix A = random_spd(type, 203);
    kry_op *op = csr_of(&A, type, NULL), *blocks = NULL;

    OK(kry_block_jacobi_create(op, KRY_BLOCK_JACOBI(.rows = rows), &blocks));
    for (int64_t e = 0; e < A.nnz; e++) A.val[e] *= 0.5;
    void *val = in_type(type, A.val, A.nnz);
    OK(kry_op_update(op, val));
    OK(kry_op_update(blocks, NULL));
    matrix columns = as_matrix(&A, plain_block_jacobi, &rows), M = by_rows(&columns, rows);
    op_suite(blocks, &M);
    REFUSES(kry_op_update(blocks, val), KRY_ERR_ARGUMENT, "'block-jacobi'");
    free(val);
    for (int64_t e = A.row_ptr[201]; e < A.row_ptr[202]; e++) A.val[e] = 0;
    val = in_type(type, A.val, A.nnz);
    OK(kry_op_update(op, val));
    REFUSES(kry_op_update(blocks, NULL), KRY_ERR_SINGULAR, "rows 200 to 202");
    op_suite(blocks, &M);
    free(val);
    kry_op_release(&blocks);
    kry_op_release(&op);
    matrix_release(&A), matrix_release(&M), matrix_release(&columns);
}

/* Singular by cancellation, whatever the scale of its rows and columns. */
static void block_jacobi_create__singular_block(void **state)
{
    static const int64_t ptr[] = { 0, 1, 2, 4, 6 };
    static const int32_t col[] = { 0, 1, 2, 3, 2, 3 };
    static const double values[][6] = { { 1, 1, 3, 6, 1, 2 },
                                        { 1, 1, 3e12, 6e12, 1e-10, 2e-10 },
                                        { 1, 1, 0, 0, 0, 1 } },
                        good[6] = { 1, 1, 1e-20, 0, 0, 1e12 };
    kry_type type = type_of(state);
    matrix A = { .rows = 4, .cols = 4, .nnz = 6 };
    kry_op *op, *M = NULL;

    A.row_ptr = (int64_t *)ptr, A.col = (int32_t *)col;
    for (size_t i = 0; i < COUNT(values); i++) {
        A.val = (double *)values[i];
        M = op = csr_of(&A, type, NULL);
        if (i != 1) { /* rounded to single it is no longer singular */
            REFUSES(kry_block_jacobi_create(op, KRY_BLOCK_JACOBI(.rows = 2), &M), KRY_ERR_SINGULAR,
                    "block of rows 2 to 3 of");
            assert_null(M);
            assert_int_equal(op_references(op), 1);
        }
        kry_op_release(&op);
    }
    A.val = (double *)good;
    op = csr_of(&A, type, NULL);
    OK(kry_block_jacobi_create(op, KRY_BLOCK_JACOBI(.rows = 2), &M));
    kry_op_release(&M);
    kry_op_release(&op);
}

static int64_t two(int64_t i, int64_t n, int64_t m) { return (void)i, (void)n, (void)m, 2; }

static void block_jacobi_create__refusals(void **state)
{
    const kry_block_jacobi_params bad[] = { { .struct_size = sizeof bad[0], .rows = -1 },
                                            { .struct_size = sizeof bad[0], .rows = 33 },
                                            { .struct_size = 3 } };
    kry_type type = type_of(state);
    matrix A = random_spd(type, 20), W = matrix_create(type, 3, 4, two);
    kry_op *op = csr_of(&A, type, NULL), *wide = csr_of(&W, type, NULL), *jacobi = NULL, *M = op;

    for (size_t i = 0; i < COUNT(bad); i++) {
        REFUSES(kry_block_jacobi_create(op, &bad[i], &M), KRY_ERR_ARGUMENT, "block_jacobi_create");
        assert_null(M);
    }
    REFUSES(kry_block_jacobi_create(NULL, NULL, &M), KRY_ERR_ARGUMENT, "NULL");
    REFUSES(kry_block_jacobi_create(wide, NULL, &M), KRY_ERR_SHAPE, "3-by-4");
    OK(kry_jacobi_create(op, &jacobi));
    REFUSES(kry_block_jacobi_create(jacobi, NULL, &M), KRY_ERR_UNSUPPORTED, "'jacobi'");
    kry_op_release(&jacobi);
    kry_op_release(&op);
    kry_op_release(&wide);
    matrix_release(&A), matrix_release(&W);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(block_jacobi__inverts_the_blocks),      BOTH(block_jacobi__grids),
        BOTH(block_jacobi__not_symmetric),           BOTH(block_jacobi__rows_from_the_pattern),
        BOTH(block_jacobi__dense_takes_the_largest), BOTH(block_jacobi__saves_iterations),
        BOTH(block_jacobi_update__follows_or_keeps), BOTH(block_jacobi_create__singular_block),
        BOTH(block_jacobi_create__refusals),
    };
    return cmocka_run_group_tests_name("block_jacobi", tests, NULL, close_device);
}
