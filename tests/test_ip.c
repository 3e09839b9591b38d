/* test_ip.c - the incomplete Poisson inverse against K' D^-1 K written down. */
#include "as_matrix.h"
#include "op_suite.h"

/* y := K' D^-1 K x, K = I - L D^-1 */
static void plain_ip(const matrix *A, const double *x, double *y, const void *user)
{
    int64_t n = A->rows;
    double *w = calloc((size_t)n + 1, sizeof *w);

    (void)user;
    assert_non_null(w);
    for (int64_t i = 0; i < n; i++) {
        double sum = x[i];
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++)
            if (A->col[e] < i && x[A->col[e]] != 0)
                sum -= A->val[e] * x[A->col[e]] / plain_diagonal(A, A->col[e]);
        w[i] = sum != 0 ? sum / plain_diagonal(A, i) : 0;
    }
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++)
            if (A->col[e] > i) sum -= A->val[e] * w[A->col[e]];
        y[i] = w[i] + (sum != 0 ? sum / plain_diagonal(A, i) : 0);
    }
    free(w);
}

static void check_grid(const grid *g, kry_type type)
{
    double *k = grid_coefficients(g, type);
    matrix A = grid_matrix(g, k), M = as_matrix(&A, plain_ip, NULL);
    kry_op *op = grid_op(g, type, k, KRY_PATH_MARCH), *ip = NULL;
    kry_op_info info;

    print_message("# %s\n", g->name);
    OK(kry_incomplete_poisson_create(op, &ip));
    kry_op_release(&op); /* it keeps what it was built from */
    kry_op_describe(ip, &info);
    assert_string_equal(info.kind, "ip");
    assert_true(info.bytes_per_apply > 0);
    assert_true(kry_op_get_shape(ip)->traits & KRY_POSITIVE);
    op_suite(ip, &M);
    check_dots(ip, g->name);
    kry_op_release(&ip);
    matrix_release(&M), matrix_release(&A);
    free(k);
}

/* Every mix of sides, with axes of one and two points that close on themselves. */
static void ip__all_grids(void **state)
{
    for (size_t i = 0; i < COUNT(grids); i++)
        if (grid_points(&grids[i]) < 1500 && !too_large(grid_points(&grids[i])))
            check_grid(&grids[i], type_of(state));
}

/* The product alone, on vectors that start where they may be loaded whole and where not. */
static void check_size(const grid *like, kry_type type, int64_t nx, int64_t ny, int64_t nz)
{
    static const int64_t offset[][2] = { { 0, 0 }, { 1, 0 }, { 0, 3 }, { 2, 2 } };
    grid g = *like;

    g.size[0] = nx, g.size[1] = ny, g.size[2] = nz;
    double *k = grid_coefficients(&g, type);
    matrix A = grid_matrix(&g, k), M = as_matrix(&A, plain_ip, NULL);
    kry_op *op = grid_op(&g, type, k, KRY_PATH_MARCH), *ip = NULL;
    OK(kry_incomplete_poisson_create(op, &ip));
    print_message("# like %s: %d x %d x %d\n", g.name, (int)nx, (int)ny, (int)nz);
    for (size_t l = 0; l < COUNT(offset); l++) {
        op_suite_blocks s = { .op = ip, .A = &M, .type = type, .k = 1 };
        s.x = random_array(type, A.rows), s.y0 = random_array(type, A.rows);
        s.X = guarded_create(type, A.rows, 1, offset[l][0], s.x);
        s.Y = guarded_create(type, A.rows, 1, offset[l][1], NULL);
        op_suite_product(&s, kry_op_apply, &M);
        guarded_release(&s.X), guarded_release(&s.Y);
        free(s.x), free(s.y0);
    }
    check_dots(ip, g.name);
    kry_op_release(&ip), kry_op_release(&op);
    matrix_release(&M), matrix_release(&A);
    free(k);
}

/* Rows of one and of several vectors, with and without numbers left over; columns of one piece and
 * of several, and of one, two and many points, on sides of all kinds. */
static void ip__sizes_around_vectors(void **state)
{
    static const int64_t across[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17 };
    static const int plane[] = { 3, 8, 11 }, space[] = { 15, 17, 19 };
    kry_type type = type_of(state);

    for (size_t n = 0; n < (small_run() ? 4 : COUNT(across)); n++)
        for (size_t i = 0; i < COUNT(plane); i++) {
            check_size(&grids[plane[i]], type, across[n], 2, 0);
            check_size(&grids[plane[i]], type, across[n], 9, 0);
            check_size(&grids[space[i]], type, across[n], 2, 2);
            check_size(&grids[space[i]], type, across[n], 3, 6);
        }
}

/* Counts equal those of plain C, and are about half of those without. */
static void ip__halves_the_iterations(void **state)
{
    static const grid *const of[] = { &grids[6], &grids[11], &grids[17] };
    kry_type type = type_of(state);
    for (size_t i = 0; i < COUNT(of); i++) {
        double *k = grid_coefficients(of[i], type);
        matrix A = grid_matrix(of[i], k);
        kry_op *op = grid_op(of[i], type, k, KRY_PATH_MARCH);
        double *x = random_array(type, A.rows), *b = calloc((size_t)A.rows + 1, sizeof *b);
        kry_result with, without;

        assert_non_null(b);
        for (int64_t j = 0; j < A.rows; j++) x[j] = x[j] / 2 + 0.5;
        for (int64_t j = 0; j < A.rows; j++) b[j] = to_type(type, plain_row(&A, j, x));
        int ours = device_pcg(op, b, "precond=ip rtol=1e-4", &with),
            plain = plain_pcg(&A, b, plain_ip, NULL, 1e-4);
        int none = device_pcg(op, b, "precond=none rtol=1e-4", &without);
        print_message("# %s: %d iterations, %d in plain C, %d without\n", of[i]->name, ours, plain,
                      none);
        assert_in_range(ours, plain - 1 - plain / 50, plain + 1 + plain / 50);
        assert_true(ours < 0.65 * none);
        assert_true(with.bytes > with.iterations * 9.0 * (double)A.rows * kry_type_size(type));
        free(x), free(b), free(k);
        kry_op_release(&op);
        matrix_release(&A);
    }
}

static void ip_update__follows_new_coefficients(void **state)
{
    const grid *g = &grids[11];
    kry_type type = type_of(state);
    double *k = grid_coefficients(g, type), *other = grid_coefficients(g, type);
    kry_op *op = grid_op(g, type, k, KRY_PATH_MARCH), *ip = NULL;
    matrix A = grid_matrix(g, other), M = as_matrix(&A, plain_ip, NULL);

    OK(kry_incomplete_poisson_create(op, &ip));
    OK(kry_op_update(op, other));
    OK(kry_op_update(ip, NULL));
    op_suite(ip, &M);
    REFUSES(kry_op_update(ip, other), KRY_ERR_ARGUMENT, "ip");
    kry_op_release(&ip);
    kry_op_release(&op);
    matrix_release(&A), matrix_release(&M);
    free(k), free(other);
}

static void ip_create__refusals(void **state)
{
    static const grid loop = { .size = { 1, 1 },
                               .low = { KRY_PERIODIC, KRY_PERIODIC },
                               .high = { KRY_PERIODIC, KRY_PERIODIC } };
    kry_type type = type_of(state);
    matrix A = grid_matrix(&grids[3], NULL);
    kry_op *csr = csr_of(&A, type, KRY_MATRIX(.format = KRY_FORMAT_CSR)), *ip = csr;

    REFUSES(kry_incomplete_poisson_create(csr, &ip), KRY_ERR_UNSUPPORTED, "'csr'");
    assert_null(ip);
    REFUSES(kry_incomplete_poisson_create(NULL, &ip), KRY_ERR_ARGUMENT, "NULL");
    kry_op_release(&csr);
    kry_op *point = grid_op(&loop, type, NULL, KRY_PATH_MARCH);
    REFUSES(kry_incomplete_poisson_create(point, &ip), KRY_ERR_SINGULAR, "row 0 is 0");
    kry_op_release(&point);
    matrix_release(&A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(ip__all_grids),
        BOTH(ip__sizes_around_vectors),
        BOTH(ip__halves_the_iterations),
        BOTH(ip_update__follows_new_coefficients),
        BOTH(ip_create__refusals),
    };
    return cmocka_run_group_tests_name("ip", tests, NULL, close_device);
}
