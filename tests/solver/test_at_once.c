/*
 * test_at_once.c - products with several vectors at once, of every format, and residuals and steps of relaxation
 * made of them, against plain ones in long double: as many vectors as there are kernels for, one more, one less.
 */
#include "format_suite.h"
#include "grids.h"

static const int64_t columns[] = { 1, 2, 3, 8, 16, 17 };

/* y := alpha A x + beta y for k columns that start `offset` and three times that behind where vectors may be loaded, between
 * guard zones; with beta == 0 over NaN. */
static void check_product_at(const kry_op *op, const matrix *A, int64_t k, double alpha,
                             double beta, int64_t offset)
{
    op_suite_blocks s = { .op = op, .A = A, .type = kry_op_get_shape(op)->type, .k = k };

    s.x = random_array(s.type, A->cols * k);
    s.y0 = random_array(s.type, A->rows * k);
    s.X = guarded_create(s.type, A->cols, k, offset, s.x);
    s.Y = guarded_create(s.type, A->rows, k, 3 * offset, s.y0);
    if (beta == 0) poison(&s.Y);
    OK(kry_op_apply(op, alpha, s.X.v, beta, s.Y.v));
    double *y = guarded_read(&s.Y), *x = guarded_read(&s.X);
    op_suite_compare(&s, A, alpha, beta, y);
    assert_same_bits(x, s.x, A->cols * k);
    guarded_release(&s.X), guarded_release(&s.Y);
    free(s.x), free(s.y0), free(x), free(y);
}

static void check_product(const kry_op *op, const matrix *A, int64_t k, double alpha, double beta)
{
    check_product_at(op, A, k, alpha, beta, 1);
}

/* y := x + c d .* (b - A x), and with d NULL r := b - A x in a vector of its own or over b. */
static void check_relaxation(const kry_op *op, const matrix *A, int64_t k, const double *d)
{
    const kry_type type = kry_op_get_shape(op)->type;
    const int64_t n = A->rows, numbers = n * k;
    const double c = d ? to_type(type, 0.7) : 1;
    double *x = random_array(type, numbers), *b = random_array(type, numbers);
    guarded X = guarded_create(type, n, k, 1, x), B = guarded_create(type, n, k, 3, b),
            Y = guarded_create(type, n, k, 2, NULL);
    kry_vec *D = NULL;

    if (d) {
        OK(kry_vec_create(device(), type, n, 1, &D));
        write_doubles(D, d);
        OK(relax_by(op, c, D, B.v, X.v, Y.v));
    } else {
        OK(kry_op_residual(op, B.v, X.v, Y.v));
    }
    double *y = guarded_read(&Y);
    for (int64_t j = 0; j < k; j++)
        for (int64_t i = 0; i < n; i++) {
            long double size, sum = row_times(A, i, x + j * n, NULL, &size);
            const long double by = d ? (long double)c * d[i] : 1, x_i = d ? x[j * n + i] : 0;
            NEAR(y[j * n + i], x_i + by * (b[j * n + i] - sum),
                 row_bound(A, i, type, fabsl(by) * (size + fabs(b[j * n + i])) + fabsl(x_i)),
                 "row %lld, column %lld of %lld", (long long)i, (long long)j, (long long)k);
        }
    if (!d) {
        OK(kry_op_residual(op, B.v, X.v, B.v));
        double *over = guarded_read(&B);
        assert_same_bits(over, y, numbers);
        free(over);
    }
    kry_vec_release(&D);
    guarded_release(&X), guarded_release(&B), guarded_release(&Y);
    free(x), free(b), free(y);
}

/* relaxes: with steps of relaxation, too, for as many vectors as either kernel takes. */
static void check_columns(const kry_op *op, const matrix *A, bool relaxes)
{
    kry_type type = kry_op_get_shape(op)->type;
    double *d = relaxes && A->rows == A->cols ? random_array(type, A->rows) : NULL;

    for (size_t c = 0; c < COUNT(columns); c++) {
        check_product(op, A, columns[c], 1, 0);
        check_product(op, A, columns[c], to_type(type, -0.375), to_type(type, 1.0 / 3));
        if (!d || (columns[c] != 3 && columns[c] != 8)) continue;
        check_relaxation(op, A, columns[c], d);
        check_relaxation(op, A, columns[c], NULL);
    }
    free(d);
}

/* Rows of all lengths, rows that are cut into pieces, and more columns than rows. */
static void at_once__formats(void **state)
{
    static const pattern some[] = { { "rows of all lengths", 301, 301, any, NULL },
                                    { "one row is dense", 1203, 1203, dense_row, NULL },
                                    { "wide", 67, 129, gaps, NULL },
                                    { "a band", 131, 131, NULL, symmetric_band } };
    kry_type type = type_of(state);

    for (size_t p = 0; p < COUNT(some); p++) {
        if (too_large(some[p].rows)) continue;
        matrix A = pattern_matrix(&some[p], type);
        EACH_FORMAT(format)
        {
            kry_op *op = in_format(&A, type, format, 0);
            if (!op) continue;
            check_columns(op, &A, one_of(4, (int64_t)p + format));
            kry_op_release(&op);
        }
        matrix_release(&A);
    }
}

/* A view of some rows and columns: its columns are farther apart than its rows are many. */
static void at_once__views(void **state)
{
    enum { ROWS = 100, COLUMNS = 5, AROUND = 9 };
    kry_type type = type_of(state);
    matrix A = matrix_create(type, ROWS, ROWS, any);
    kry_op *op = in_format(&A, type, KRY_FORMAT_CSR, 0);
    op_suite_blocks s = { .op = op, .A = &A, .type = type, .k = COLUMNS };
    kry_vec *in, *out, *x, *y;
    double *all = random_array(type, (ROWS + AROUND) * COLUMNS), *found;

    OK(kry_vec_create(device(), type, ROWS + AROUND, COLUMNS, &in));
    OK(kry_vec_create(device(), type, ROWS + AROUND, COLUMNS, &out));
    write_doubles(in, all);
    write_doubles(out, all);
    OK(kry_vec_block(in, AROUND, ROWS, 0, COLUMNS, &x));
    OK(kry_vec_block(out, 4, ROWS, 0, COLUMNS, &y));
    s.x = calloc(ROWS * COLUMNS, sizeof *s.x), found = calloc(ROWS * COLUMNS, sizeof *found);
    read_doubles(x, s.x);
    OK(kry_op_apply(op, 1, x, 0, y));
    read_doubles(y, found);
    op_suite_compare(&s, &A, 1, 0, found);
    double *around = calloc((ROWS + AROUND) * COLUMNS, sizeof *around);
    read_doubles(out, around);
    for (int64_t j = 0; j < COLUMNS; j++)
        for (int64_t i = 0; i < ROWS + AROUND; i++) {
            int64_t at = j * (ROWS + AROUND) + i;
            if (i < 4 || i >= ROWS + 4) assert_same_bits(around + at, all + at, 1);
        }
    free(around), free(found), free(s.x), free(all);
    kry_vec_release(&y), kry_vec_release(&x), kry_vec_release(&out), kry_vec_release(&in);
    kry_op_release(&op);
    matrix_release(&A);
}

/* Grids without a matrix: in the plane and in space, with one coefficient and with many, vectors that whole loads may and may
 * not be used on. */
static void at_once__grids(void **state)
{
    static const char *const some[] = { "Poisson 64 x 64", "a tube 37 x 34", "a box 10 x 7 x 6",
                                        "a ring 12 x 11 x 10" };
    kry_type type = type_of(state);

    for (size_t i = 0; i < COUNT(grids); i++) {
        const grid *g = &grids[i];
        kry_op *op = NULL;
        bool wanted = false;
        for (size_t w = 0; w < COUNT(some); w++) wanted = wanted || !strcmp(g->name, some[w]);
        if (!wanted) continue;
        double *k = grid_coefficients(g, type);
        matrix A = grid_matrix(g, k);
        const kry_stencil_params p = grid_params(g, k);
        print_message("# %s\n", g->name);
        OK(kry_stencil_create(device(), type, &p, &op));
        check_columns(op, &A, false);
        check_product_at(op, &A, 3, 1, 0, 0);
        check_product_at(op, &A, 16, to_type(type, -0.375), to_type(type, 1.0 / 3), 0);
        kry_op_release(&op);
        matrix_release(&A);
        free(k);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(at_once__grids),
        BOTH(at_once__formats),
        BOTH(at_once__views),
    };

    return cmocka_run_group_tests(tests, NULL, close_device);
}
