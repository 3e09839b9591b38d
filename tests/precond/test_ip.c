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
    kry_op *op = grid_op(g, type, k), *ip = NULL;
    kry_op_info info;

    print_message("# %s\n", g->name);
    OK(kry_incomplete_poisson_create(op, NULL, &ip));
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
    kry_op *op = grid_op(&g, type, k), *ip = NULL;
    OK(kry_incomplete_poisson_create(op, NULL, &ip));
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
        kry_op *op = grid_op(of[i], type, k);
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
    kry_op *op = grid_op(g, type, k), *ip = NULL;
    matrix A = grid_matrix(g, other), M = as_matrix(&A, plain_ip, NULL);

    OK(kry_incomplete_poisson_create(op, NULL, &ip));
    OK(kry_op_update(op, other));
    OK(kry_op_update(ip, NULL));
    op_suite(ip, &M);
    REFUSES(kry_op_update(ip, other), KRY_ERR_ARGUMENT, "ip");
    kry_op_release(&ip);
    kry_op_release(&op);
    matrix_release(&A), matrix_release(&M);
    free(k), free(other);
}

/* ---- stored matrices, and the other forms --------------------------------------------------- */

/* y := K K' x */
static void plain_unscaled(const matrix *A, const double *x, double *y, const void *user)
{
    int64_t n = A->rows;
    double *w = calloc((size_t)n + 1, sizeof *w);

    (void)user;
    assert_non_null(w);
    for (int64_t i = 0; i < n; i++) {
        w[i] += x[i];
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++)
            if (A->col[e] > i && x[A->col[e]] != 0)
                w[i] -= A->val[e] * x[A->col[e]] / plain_diagonal(A, i);
    }
    for (int64_t i = 0; i < n; i++) {
        y[i] = w[i];
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++)
            if (A->col[e] < i && w[A->col[e]] != 0)
                y[i] -= A->val[e] * w[A->col[e]] / plain_diagonal(A, A->col[e]);
    }
    free(w);
}

static bool has_entry(const matrix *A, int64_t i, int64_t j)
{
    for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++)
        if (A->col[e] == j) return true;
    return false;
}

/* What lies outside the pattern of A goes. */
static void drop_fill(matrix *M, const matrix *A)
{
    int64_t to = 0, e = 0;
    for (int64_t i = 0; i < M->rows; i++) {
        for (; e < M->row_ptr[i + 1]; e++)
            if (has_entry(A, i, M->col[e])) M->col[to] = M->col[e], M->val[to++] = M->val[e];
        M->row_ptr[i + 1] = to;
    }
    M->nnz = to;
}

/* Two rounded triangles instead of one matrix: what M is held against has the error of its sums. */
static void check_forms(const kry_op *op, const matrix *A, bool grid, const char *why)
{
    for (int form = grid ? 1 : 0; form < 4; form++) {
        bool unscaled = form & 1, drop = form & 2;
        matrix M = as_matrix(A, unscaled ? plain_unscaled : plain_ip, NULL);
        kry_op *ip = NULL;
        kry_op_info info;

        print_message("# %s, %s%s\n", why, unscaled ? "unscaled" : "scaled", drop ? ", drop" : "");
        if (drop) drop_fill(&M, A);
        OK(kry_incomplete_poisson_create(
            op, KRY_INCOMPLETE_POISSON(.unscaled = unscaled, .drop = drop), &ip));
        kry_op_describe(ip, &info);
        assert_string_equal(info.kind, "ip");
        assert_non_null(strstr(info.variant, unscaled ? "unscaled" : "scaled"));
        assert_non_null(strstr(info.variant, drop ? "dropped" : "triangles"));
        assert_true(A->rows < 2 || (info.bytes_per_apply > 0 && info.bytes_stored > 0));
        assert_int_equal(!(kry_op_get_shape(ip)->traits & KRY_POSITIVE), drop);
        assert_true(kry_op_get_shape(ip)->traits & KRY_SYMMETRIC);
        op_suite(ip, &M);
        if (!drop && A->rows) check_dots(ip, why);
        kry_op_release(&ip);
        matrix_release(&M);
    }
}

static void ip__stored_grids(void **state)
{
    static const int of[] = { 0, 3, 4, 8, 11, 12, 14 }; /* 12: singular */
    kry_type type = type_of(state);
    for (size_t i = 0; i < COUNT(of); i++) {
        const grid *g = &grids[of[i]];
        if (too_large(grid_points(g))) continue;
        double *k = grid_coefficients(g, type);
        matrix A = grid_matrix(g, k);
        kry_op *csr =
            csr_of(&A, type, KRY_MATRIX(.traits = grid_singular(g) ? KRY_SINGULAR : KRY_POSITIVE));
        kry_op *op = grid_op(g, type, k);
        check_forms(csr, &A, false, g->name);
        check_forms(op, &A, true, "the grid itself");
        kry_op_release(&op);
        kry_op_release(&csr);
        matrix_release(&A);
        free(k);
    }
}

/* Numbers of either sign, diagonals far apart, rows of any length; no entries beside the diagonal.
 */
static void ip__stored_matrices(void **state)
{
    static const int64_t sizes[] = { 0, 1, 2, 9, 130, 700 };
    kry_type type = type_of(state);
    for (size_t i = 0; i < COUNT(sizes); i++) {
        if (too_large(sizes[i])) continue;
        matrix A = random_spd(type, sizes[i]);
        kry_op *csr = csr_of(&A, type, NULL);
        char why[40];
        snprintf(why, sizeof why, "%lld rows", (long long)sizes[i]);
        check_forms(csr, &A, false, why);
        kry_op_release(&csr);
        matrix_release(&A);
    }
}

/* Entries in any order, some twice, in the caller's buffers. */
static void ip__wrapped_matrix_in_any_order(void **state)
{
    static const int64_t ptr64[] = { 0, 3, 6, 8 };
    static const int32_t col[] = { 1, 0, 0, 2, 0, 1, 2, 1 };
    static const double numbers[] = { -1, 1, 3, -2, -1, 5, 4, -2 };
    kry_type type = type_of(state);
    matrix A = { .rows = 3, .cols = 3, .nnz = 8 };
    kry_op *op = NULL, *ip = NULL;

    A.row_ptr = (int64_t *)ptr64, A.col = (int32_t *)col, A.val = (double *)numbers;
    void *val = in_type(type, numbers, 8);
    const int32_t ptr[] = { 0, 3, 6, 8 };
    const void *host[] = { ptr, col, val };
    const size_t bytes[] = { sizeof ptr, sizeof col, 8 * kry_type_size(type) };
    cl_mem buffer[3];
    for (int b = 0; b < 3; b++) OK(buffer_upload(device(), bytes[b], host[b], &buffer[b]));
    OK(kry_csr_wrap(device(), type, 3, 3, 8, false, buffer[0], buffer[1], buffer[2], NULL, &op));
    OK(kry_incomplete_poisson_create(op, NULL, &ip));
    matrix M = as_matrix(&A, plain_ip, NULL);
    op_suite(ip, &M);
    kry_op_release(&ip);
    kry_op_release(&op);
    for (int b = 0; b < 3; b++) buffer_release(device(), &buffer[b]);
    matrix_release(&M);
    free(val);
}

/* The same iterations with the matrix as without it. */
static void ip__stored_takes_as_many_iterations(void **state)
{
    kry_type type = type_of(state);
    const grid *g = &grids[11];
    double *k = grid_coefficients(g, type);
    matrix A = grid_matrix(g, k);
    kry_op *op = grid_op(g, type, k), *csr = csr_of(&A, type, NULL);
    double *b = random_array(type, A.rows);
    kry_result result;

    int free_of = device_pcg(op, b, "precond=ip rtol=1e-4", &result);
    int stored = device_pcg(csr, b, "precond=ip rtol=1e-4", &result);
    int dropped = device_pcg(csr, b, "precond=ip:drop rtol=1e-4", &result);
    print_message("# %d iterations, %d stored, %d dropped\n", free_of, stored, dropped);
    assert_in_range(stored, free_of - 1, free_of + 1);
    assert_in_range(dropped, free_of / 2, free_of * 5 / 4);
    free(b), free(k);
    kry_op_release(&op);
    kry_op_release(&csr);
    matrix_release(&A);
}

static void ip_update__stored_follows_new_values(void **state)
{
    kry_type type = type_of(state);
    matrix A = random_spd(type, 300);
    kry_op *op = csr_of(&A, type, NULL), *ip = NULL;
    matrix old = as_matrix(&A, plain_ip, NULL);

    OK(kry_incomplete_poisson_create(op, NULL, &ip));
    for (int64_t i = 0; i < A.rows; i++) /* still symmetric, other diagonals */
        for (int64_t e = A.row_ptr[i]; e < A.row_ptr[i + 1]; e++)
            A.val[e] *= exp2((double)(i % 3)) * exp2((double)(A.col[e] % 3));
    void *val = in_type(type, A.val, A.nnz);
    OK(kry_op_update(op, val));
    op_suite(ip, &old); /* until it is told */
    OK(kry_op_update(ip, NULL));
    matrix M = as_matrix(&A, plain_ip, NULL);
    op_suite(ip, &M);
    REFUSES(kry_op_update(ip, val), KRY_ERR_ARGUMENT, "'ip'");
    free(val);
    for (int64_t e = A.row_ptr[7]; e < A.row_ptr[8]; e++)
        if (A.col[e] == 7) A.val[e] = -A.val[e];
    val = in_type(type, A.val, A.nnz);
    OK(kry_op_update(op, val));
    REFUSES(kry_op_update(ip, NULL), KRY_ERR_ARGUMENT, "row 7");
    op_suite(ip, &M); /* a failure changes nothing */
    free(val);
    kry_op_release(&ip);
    kry_op_release(&op);
    matrix_release(&A), matrix_release(&M), matrix_release(&old);
}

/* Five rows: the diagonal and one more pair, as given. */
static kry_op *five_rows(kry_type type, double diagonal, double lower, double upper)
{
    const int64_t ptr[] = {
        0, 1, 2 + (upper != 99), 3 + (upper != 99), 5 + (upper != 99), 6 + (upper != 99)
    };
    const int32_t with[] = { 0, 1, 3, 2, 1, 3, 4 }, without[] = { 0, 1, 2, 1, 3, 4 };
    const double values[] = { 4, 4, upper, diagonal, lower, 4, 4 },
                 fewer[] = { 4, 4, diagonal, lower, 4, 4 };
    void *val = upper != 99 ? in_type(type, values, 7) : in_type(type, fewer, 6);
    kry_op *op = NULL;
    OK(kry_csr_create(device(), type, 5, 5, ptr, upper != 99 ? with : without, val, NULL, &op));
    free(val);
    return op;
}

static void ip_create__names_the_row(void **state)
{
    static const struct {
        double diagonal, lower, upper;
        const char *named; /* NULL: it is taken */
    } of[] = { { 4, -1, -1, NULL },
               { 4, -1, -1 - 1e-10, NULL },
               { 4, 0, 99, NULL },
               { 4, -1, 1, "row 3 has -1 in column 1, row 1 has 1 in column 3" },
               { 4, -1, 99, "row 3 has -1 in column 1, row 1 has 0 in column 3" },
               { 4, 0, -2, "row 3 has 0 in column 1, row 1 has -2 in column 3" },
               { 0, -1, -1, "the diagonal entry of row 2 of" },
               { -4, -1, -1, "is -4; all must be positive" } };
    kry_type type = type_of(state);
    for (size_t i = 0; i < COUNT(of); i++)
        for (int form = 0; form < 4; form++) {
            kry_op *op = five_rows(type, of[i].diagonal, of[i].lower, of[i].upper), *ip = op;
            const kry_incomplete_poisson_params *params =
                KRY_INCOMPLETE_POISSON(.unscaled = form & 1, .drop = form & 2);
            if (of[i].named) {
                REFUSES(kry_incomplete_poisson_create(op, params, &ip), KRY_ERR_ARGUMENT,
                        of[i].named);
                assert_null(ip);
            } else {
                OK(kry_incomplete_poisson_create(op, params, &ip));
                kry_op_release(&ip);
            }
            assert_int_equal(op_references(op), 1);
            kry_op_release(&op);
        }
}

static int64_t two(int64_t i, int64_t n, int64_t m) { return (void)i, (void)n, (void)m, 2; }

static void ip_create__refusals(void **state)
{
    static const grid loop = { .size = { 1, 1 },
                               .low = { KRY_PERIODIC, KRY_PERIODIC },
                               .high = { KRY_PERIODIC, KRY_PERIODIC } };
    kry_type type = type_of(state);
    matrix A = matrix_create(type, 3, 4, two), B = grid_matrix(&grids[3], NULL);
    kry_op *wide = csr_of(&A, type, NULL), *csr = csr_of(&B, type, NULL), *jacobi = NULL, *ip = csr;

    REFUSES(kry_incomplete_poisson_create(wide, NULL, &ip), KRY_ERR_SHAPE, "3-by-4");
    assert_null(ip);
    OK(kry_jacobi_create(csr, &jacobi));
    REFUSES(kry_incomplete_poisson_create(jacobi, NULL, &ip), KRY_ERR_UNSUPPORTED,
            "'jacobi' is neither a stored matrix nor a grid");
    REFUSES(kry_incomplete_poisson_create(NULL, NULL, &ip), KRY_ERR_ARGUMENT, "NULL");
    REFUSES(kry_incomplete_poisson_create(csr, &(kry_incomplete_poisson_params){ .struct_size = 3 },
                                          &ip),
            KRY_ERR_ARGUMENT, "KRY_INCOMPLETE_POISSON");
    kry_op_release(&jacobi);
    kry_op_release(&csr);
    kry_op_release(&wide);
    kry_op *point = grid_op(&loop, type, NULL);
    REFUSES(kry_incomplete_poisson_create(point, NULL, &ip), KRY_ERR_SINGULAR, "row 0 is 0");
    REFUSES(kry_incomplete_poisson_create(point, KRY_INCOMPLETE_POISSON(.drop = true), &ip),
            KRY_ERR_ARGUMENT, "row 0");
    kry_op_release(&point);
    matrix_release(&A), matrix_release(&B);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(ip__all_grids),
        BOTH(ip__sizes_around_vectors),
        BOTH(ip__halves_the_iterations),
        BOTH(ip_update__follows_new_coefficients),
        BOTH(ip__stored_grids),
        BOTH(ip__stored_matrices),
        BOTH(ip__wrapped_matrix_in_any_order),
        BOTH(ip__stored_takes_as_many_iterations),
        BOTH(ip_update__stored_follows_new_values),
        BOTH(ip_create__names_the_row),
        BOTH(ip_create__refusals),
    };
    return cmocka_run_group_tests_name("ip", tests, NULL, close_device);
}
