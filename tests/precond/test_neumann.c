/* test_neumann.c - Neumann's series against the same sum in plain C. */
#include "as_matrix.h"
#include "op_suite.h"

typedef struct series {
    int degree;
    double omega;
} series;

/* The sum of its terms, not the iteration that the library makes of it. */
static void plain_neumann(const matrix *A, const double *b, double *x, const void *user)
{
    const series *s = user;
    int64_t n = A->rows;
    double *term = calloc((size_t)n + 1, sizeof *term), *next = calloc((size_t)n + 1, sizeof *next);

    assert_true(term && next);
    for (int64_t i = 0; i < n; i++) x[i] = 0, term[i] = b[i] / plain_diagonal(A, i);
    for (int j = 0; j <= s->degree; j++) {
        for (int64_t i = 0; i < n; i++) x[i] += s->omega * term[i];
        for (int64_t i = 0; i < n; i++)
            next[i] = term[i] - s->omega * plain_row(A, i, term) / plain_diagonal(A, i);
        memcpy(term, next, (size_t)n * sizeof *term);
    }
    free(term), free(next);
}

static void check_operator(const kry_op *op, const matrix *A, const series *s, const char *why)
{
    matrix M = as_matrix(A, plain_neumann, s);
    kry_op *neumann = NULL;
    kry_op_info info;

    print_message("# %s, degree %d, omega %g\n", why, s->degree, s->omega);
    OK(kry_neumann_create(op, KRY_NEUMANN(.degree = s->degree, .omega = s->omega), &neumann));
    kry_op_describe(neumann, &info);
    assert_string_equal(info.kind, "neumann");
    assert_true(A->rows == 0 || info.bytes_per_apply > 0);
    op_suite(neumann, &M);
    if (A->rows) check_dots(neumann, why);
    kry_op_release(&neumann);
    matrix_release(&M);
}

/* Grids whose diagonal is one number and others, singular ones, and what is stored. */
static void neumann__equals_the_series(void **state)
{
    static const struct {
        int grid;
        series on, stored;
    } of[] = { { 3, { 1, 0.75 }, { 2, 1 } },    { 4, { 2, 1 }, { 1, 0.75 } },
               { 3, { 5, 0.75 }, { 4, 1 } },    { 8, { 4, 0.75 }, { 3, 0.75 } },
               { 11, { 3, 0.75 }, { 1, 0.5 } }, { 12, { 2, 1 }, { 3, 0.75 } },
               { 14, { 4, 1 }, { 3, 0.75 } } };
    kry_type type = type_of(state);
    for (size_t i = 0; i < COUNT(of); i++) {
        const grid *g = &grids[of[i].grid];
        if (too_large(grid_points(g))) continue;
        double *k = grid_coefficients(g, type);
        matrix A = grid_matrix(g, k);
        kry_op *op = grid_op(g, type, k);
        kry_op *csr =
            csr_of(&A, type, KRY_MATRIX(.traits = grid_singular(g) ? KRY_SINGULAR : KRY_POSITIVE));
        check_operator(op, &A, &of[i].on, g->name);
        check_operator(csr, &A, &of[i].stored, "stored");
        kry_op_release(&op);
        kry_op_release(&csr);
        matrix_release(&A);
        free(k);
    }
}

static void neumann__stored_matrices(void **state)
{
    static const int64_t sizes[] = { 0, 1, 9, 300 };
    const series s = { 2, 0.5 };
    kry_type type = type_of(state);
    for (size_t i = 0; i < COUNT(sizes); i++) {
        matrix A = random_spd(type, sizes[i]);
        kry_op *csr = csr_of(&A, type, NULL);
        check_operator(csr, &A, &s, "stored");
        kry_op_release(&csr);
        matrix_release(&A);
    }
}

static void neumann__saves_iterations(void **state)
{
    kry_type type = type_of(state);
    matrix A = grid_matrix(&grids[6], NULL);
    kry_op *op = grid_op(&grids[6], type, NULL), *csr = csr_of(&A, type, NULL);
    double *b = random_array(type, A.rows);
    kry_result result;
    int none = device_pcg(op, b, "precond=none rtol=1e-4", &result);

    for (int degree = 1; degree <= 4; degree++) {
        const series s = { degree, degree % 2 ? 0.9 : 1 }; /* the defaults */
        char options[48];
        snprintf(options, sizeof options, "precond=neumann:%d rtol=1e-4", degree);
        int ours = device_pcg(op, b, options, &result),
            stored = device_pcg(csr, b, options, &result);
        int plain = plain_pcg(&A, b, plain_neumann, &s, 1e-4);
        print_message("# degree %d: %d iterations, %d stored, %d in plain C, %d without\n", degree,
                      ours, stored, plain, none);
        assert_in_range(ours, plain - 1, plain + 1);
        assert_in_range(stored, plain - 1, plain + 1);
        assert_true(3 * ours < 2 * none);
    }
    free(b);
    kry_op_release(&op);
    kry_op_release(&csr);
    matrix_release(&A);
}

/* D^-1 A of a grid of cells without given values goes up to 2, where odd degrees with omega = 1 are
 * zero, and beyond 2 of dense blocks, where they are negative and even ones are not. */
static void neumann__sign_by_the_degree(void **state)
{
    kry_type type = type_of(state);
    matrix A = { .rows = 4, .cols = 4, .nnz = 16 };
    int64_t ptr[] = { 0, 4, 8, 12, 16 };
    int32_t col[16];
    double val[16]; /* eigenvalues 3.7, 0.1, 0.1, 0.1 */

    for (int e = 0; e < 16; e++) col[e] = e % 4, val[e] = e / 4 == e % 4 ? 1 : 0.9;
    A.row_ptr = ptr, A.col = col, A.val = val;
    kry_op *op = csr_of(&A, type, KRY_MATRIX(.traits = KRY_POSITIVE)), *M = NULL;
    for (int degree = 1; degree <= 6; degree++) {
        kry_probe probe;
        OK(kry_neumann_create(op, KRY_NEUMANN(.degree = degree), &M));
        OK(kry_op_probe(M, 1, &probe));
        assert_true(probe.symmetric);
        assert_int_equal(probe.positive, degree % 2 == 0);
        assert_int_equal(!!(kry_op_get_shape(M)->traits & KRY_POSITIVE), degree % 2 == 0);
        kry_op_release(&M);
    }
    kry_op_release(&op);
}

static void neumann_update__reads_the_diagonal_again(void **state)
{
    const series s = { 2, 0.5 };
    kry_type type = type_of(state);
    matrix A = random_spd(type, 200);
    kry_op *op = csr_of(&A, type, NULL), *neumann = NULL;

    OK(kry_neumann_create(op, KRY_NEUMANN(.degree = 2, .omega = 0.5), &neumann));
    for (int64_t e = 0; e < A.nnz; e++) A.val[e] *= 4;
    void *val = in_type(type, A.val, A.nnz);
    OK(kry_op_update(op, val));
    OK(kry_op_update(neumann, NULL));
    matrix M = as_matrix(&A, plain_neumann, &s);
    op_suite(neumann, &M);
    REFUSES(kry_op_update(neumann, val), KRY_ERR_ARGUMENT, "'neumann'");
    free(val);
    kry_op_release(&neumann);
    kry_op_release(&op);
    matrix_release(&A), matrix_release(&M);
}

static int64_t two(int64_t i, int64_t n, int64_t m) { return (void)i, (void)n, (void)m, 2; }

static void neumann_create__refusals(void **state)
{
    const kry_neumann_params bad[] = {
        { .struct_size = sizeof bad[0], .degree = -1 },
        { .struct_size = sizeof bad[0], .degree = 1001 },
        { .struct_size = sizeof bad[0], .omega = -1 },
        { .struct_size = sizeof bad[0], .omega = (double)INFINITY },
        { .struct_size = 3 },
    };
    kry_type type = type_of(state);
    matrix A = random_spd(type, 20), W = matrix_create(type, 3, 4, two);
    kry_op *op = csr_of(&A, type, NULL), *wide = csr_of(&W, type, NULL), *M = op;

    for (size_t i = 0; i < COUNT(bad); i++) {
        REFUSES(kry_neumann_create(op, &bad[i], &M), KRY_ERR_ARGUMENT, "kry_neumann_create");
        assert_null(M);
    }
    REFUSES(kry_neumann_create(NULL, NULL, &M), KRY_ERR_ARGUMENT, "NULL");
    REFUSES(kry_neumann_create(wide, NULL, &M), KRY_ERR_SHAPE, "3-by-4");
    kry_op_release(&op);
    for (int64_t e = A.row_ptr[5]; e < A.row_ptr[6]; e++) A.val[e] = 0;
    op = csr_of(&A, type, NULL);
    REFUSES(kry_neumann_create(op, NULL, &M), KRY_ERR_SINGULAR, "row 5");
    kry_op_release(&op);
    kry_op_release(&wide);
    matrix_release(&A), matrix_release(&W);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(neumann__equals_the_series),
        BOTH(neumann__stored_matrices),
        BOTH(neumann__saves_iterations),
        BOTH(neumann__sign_by_the_degree),
        BOTH(neumann_update__reads_the_diagonal_again),
        BOTH(neumann_create__refusals),
    };
    return cmocka_run_group_tests_name("neumann", tests, NULL, close_device);
}
