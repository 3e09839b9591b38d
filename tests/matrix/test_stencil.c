/*
 * test_stencil.c - grid operators against matrices written down face by face.
 */
#include "grids.h"
#include "op_suite.h"
#include "step_suite.h"
#include <kry/problem.h>

static kry_op *stencil_of(const grid *g, kry_type type, const double *k)
{
    kry_op *op = NULL;
    kry_stencil_params p = grid_params(g, k);
    OK(kry_stencil_create(device(), type, &p, &op));
    assert_non_null(op);
    return op;
}

static void check_description(const kry_op *op, const grid *g, const matrix *A)
{
    kry_op_info info;
    unsigned traits = kry_op_get_shape(op)->traits;
    int64_t entries = 0;

    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++)
            entries += A->val[e] != 0 || A->col[e] == i;
    kry_op_describe(op, &info);
    assert_string_equal(info.kind, "stencil");
    assert_string_equal(info.variant, "march");
    assert_int_equal(info.nnz, entries);
    assert_true(info.bytes_per_apply > 0);
    assert_true(traits & KRY_SYMMETRIC);
    assert_int_equal(!(traits & KRY_POSITIVE), grid_singular(g));
    assert_int_equal(!!(traits & KRY_SINGULAR), grid_singular(g));
    kry_stencil_info made;
    OK(kry_stencil_describe(op, &made));
    assert_int_equal(made.axes, g->size[2] ? 3 : 2);
    assert_true(made.varies == g->variable && made.by_face == (g->faces != NO_FACES));
    for (int a = 0; a < made.axes; a++) {
        assert_true(made.size[a] == g->size[a] && made.low[a] == g->low[a]);
        assert_true(made.high[a] == g->high[a]);
        assert_true(made.spacing[a] == (g->spacing[a] > 0 ? g->spacing[a] : 1));
        assert_true(made.diffusion[a] == (g->diffusion[a] > 0 ? g->diffusion[a] : 1));
    }
}

/* Every grid: the operator's contract and the fused passes. */
static void stencil__grids(void **state)
{
    kry_type type = type_of(state);
    for (size_t i = 0; i < COUNT(grids); i++) {
        const grid *g = &grids[i];
        double *k = grid_coefficients(g, type);
        matrix A = grid_matrix(g, k);
        kry_op *op = stencil_of(g, type, k);

        print_message("# %s\n", g->name);
        check_description(op, g, &A);
        op_suite(op, &A);
        step_suite(op, &A, g->name);
        step_suite_stops(op, &A);
        kry_op_release(&op);
        matrix_release(&A);
        free(k);
    }
}

/* ---- sides ------------------------------------------------------------------------------------
 */

/* b for values on all sides, face by face: what a ghost of the given value adds. */
static double *expected_sides(const grid *g, const double *k, double *const given[6])
{
    double *b = calloc((size_t)grid_points(g), sizeof *b);
    assert_non_null(b);
    for (int64_t i = 0; i < grid_points(g); i++) {
        int64_t size[3] = { g->size[0], g->size[1], g->size[2] ? g->size[2] : 1 };
        int64_t at[3] = { i % size[0], i / size[0] % size[1], i / (size[0] * size[1]) };
        for (int f = 0; f < (g->size[2] ? 6 : 4); f++) {
            int a = f / 2, u = a == 0 ? 1 : 0, v = a == 2 ? 1 : 2;
            kry_side side = f % 2 ? g->high[a] : g->low[a];
            double w, h = g->spacing[a] > 0 ? g->spacing[a] : 1;
            if (grid_face(g, k, at, a, f % 2, &w) >= 0 || side == KRY_PERIODIC) continue;
            double q = given[f][at[u] + size[u] * at[v]];
            if (side == KRY_NEUMANN) w *= h / (k ? k[i] : 1);
            b[i] += (side == KRY_DIRICHLET_FACE ? 2 : 1) * w * q;
        }
    }
    return b;
}

static void stencil__sides(void **state)
{
    kry_type type = type_of(state);
    for (size_t i = 0; i < COUNT(grids); i++) {
        const grid *g = &grids[i];
        int64_t n = grid_points(g);
        double *k = grid_coefficients(g, type), *given[6];
        kry_side_values low[3], high[3];
        kry_op *A = stencil_of(g, type, k);
        double *before = random_array(type, n);
        guarded B = guarded_create(type, n, 1, 3, before);

        for (int f = 0; f < 6; f++) {
            given[f] = random_array(type, n);
            *(f % 2 ? &high[f / 2] : &low[f / 2]) = (kry_side_values){ .array = given[f] };
        }
        for (int64_t j = 0; j < n; j++) given[3][j] = 0.75; /* one of them by its constant */
        high[1] = (kry_side_values){ .constant = 0.75 };
        OK(kry_stencil_boundary(A, low, high, B.v));
        double *b = guarded_read(&B), *want = expected_sides(g, k, given);
        for (int64_t j = 0; j < n; j++)
            NEAR(b[j], before[j] + want[j], 60 * eps_of(type) * (1 + fabs(want[j]) + 100),
                 "%s: b[%lld]", g->name, (long long)j);
        given[0][0] = (double)NAN;
        if (g->low[0] != KRY_PERIODIC)
            REFUSES(kry_stencil_boundary(A, low, high, B.v), KRY_ERR_ARGUMENT, "value 0");
        double *after = guarded_read(&B);
        assert_same_bits(after, b, n);
        free(after), free(b), free(want), free(before), free(k);
        for (int f = 0; f < 6; f++) free(given[f]);
        guarded_release(&B);
        kry_op_release(&A);
    }
}

/* ---- a stored matrix of it ---------------------------------------------------------------------
 */

/* The entries of a grid are those of the stored matrix of it, to the bit. */
static void check_read(const kry_op *grid, const kry_op *stored, int64_t n, int64_t nnz,
                       kry_type type)
{
    const size_t size = kry_type_size(type);
    int64_t *ptr[2];
    int32_t *col[2];
    char *val[2];
    for (int i = 0; i < 2; i++) {
        ptr[i] = calloc((size_t)n + 1, sizeof(int64_t)),
        col[i] = calloc((size_t)nnz, sizeof(int32_t));
        val[i] = calloc((size_t)nnz, size);
        assert_true(ptr[i] && col[i] && val[i]);
    }
    OK(kry_stencil_read(grid, ptr[0], col[0], val[0]));
    OK(kry_matrix_read(stored, ptr[1], col[1], val[1]));
    assert_int_equal(ptr[0][n], nnz);
    assert_memory_equal(ptr[0], ptr[1], ((size_t)n + 1) * sizeof(int64_t));
    assert_memory_equal(col[0], col[1], (size_t)nnz * sizeof(int32_t));
    assert_memory_equal(val[0], val[1], (size_t)nnz * size);
    assert_int_equal(kry_stencil_read(stored, ptr[0], col[0], val[0]), KRY_ERR_UNSUPPORTED);
    for (int i = 0; i < 2; i++) free(ptr[i]), free(col[i]), free(val[i]);
}

static void stencil__matrix(void **state)
{
    kry_type type = type_of(state);
    for (size_t i = 0; i < COUNT(grids); i++) {
        double *k = grid_coefficients(&grids[i], type);
        kry_op *A = stencil_of(&grids[i], type, k), *stored = NULL;
        matrix want = grid_matrix(&grids[i], k);
        kry_op_info ours, theirs;

        OK(kry_stencil_matrix(A, KRY_MATRIX(.format = KRY_FORMAT_CSR), &stored));
        assert_int_equal(kry_op_get_shape(stored)->traits, kry_op_get_shape(A)->traits);
        kry_op_describe(stored, &ours), kry_op_describe(A, &theirs);
        assert_int_equal(ours.nnz, theirs.nnz);
        check_read(A, stored, want.rows, ours.nnz, type);
        op_suite(stored, &want);
        kry_op_release(&stored);
        kry_op_release(&A);
        matrix_release(&want);
        free(k);
    }
}

/* Column j of a matrix, `unit` and `column` being vectors on the device. */
static void read_column(const kry_op *A, int64_t j, kry_vec *unit, kry_vec *column, double *out)
{
    int64_t n = kry_op_get_shape(A)->rows;
    double *e = calloc((size_t)n, sizeof *e);
    assert_non_null(e);
    e[j] = 1;
    OK(kry_vec_write(unit, e));
    OK(kry_op_apply(A, 1, unit, 0, column));
    OK(kry_vec_read(column, out));
    free(e);
}

/* Problems: the entries that come with them are those of their grids, to the bit. */
static void stencil__matrix_of_problems(void **state)
{
    static const char *const specs[] = {
        "twophase2d:7", "twophase2d:9:0.003:layers-faces", "twophase2d:8:3:stripes",
        "twophase3d:5", "twophase3d:6:1e6:bubble",         "twophase2d:13:7e5:bubbles"
    };
    (void)state;
    if (!kry_device_get_info(device())->fp64) SKIP("no double precision");
    for (size_t s = 0; s < COUNT(specs); s++) {
        kry_problem *p = NULL;
        kry_op *A = NULL, *stored = NULL;
        kry_vec *unit, *y;
        OK(kry_problem_create(specs[s], 1, &p));
        OK(kry_stencil_create(device(), KRY_F64, p->grid, &A));
        OK(kry_stencil_matrix(A, KRY_MATRIX(.format = KRY_FORMAT_CSR), &stored));
        assert_int_equal(kry_op_get_shape(A)->traits, KRY_SYMMETRIC | KRY_SINGULAR);
        OK(kry_vec_create(device(), KRY_F64, p->n, 1, &unit));
        OK(kry_vec_create(device(), KRY_F64, p->n, 1, &y));
        double *got = calloc((size_t)p->n, sizeof *got), *want = calloc((size_t)p->n, sizeof *want);
        assert_true(got && want);
        for (int64_t j = 0; j < p->n; j++) { /* row j of the symmetric matrix */
            read_column(stored, j, unit, y, got);
            memset(want, 0, (size_t)p->n * sizeof *want);
            for (int64_t e = p->row_ptr[j]; e < p->row_ptr[j + 1]; e++) want[p->col[e]] = p->val[e];
            for (int64_t i = 0; i < p->n; i++)
                if (got[i] != want[i])
                    fail_msg("%s: entry %lld, %lld is %.17g, not %.17g", specs[s], (long long)i,
                             (long long)j, got[i], want[i]);
        }
        free(got), free(want);
        kry_vec_release(&unit), kry_vec_release(&y);
        kry_op_release(&stored), kry_op_release(&A);
        kry_problem_release(&p);
    }
}

/* ---- on the host -------------------------------------------------------------------------------
 */

/* The same operator without a device, in both types. */
static void stencil__on_the_host(void **state)
{
    for (size_t i = 0; i < COUNT(grids); i++) {
        kry_type type = *(kry_type *)*state;
        double *k = grid_coefficients(&grids[i], type);
        matrix A = grid_matrix(&grids[i], k);
        kry_stencil_params p = grid_params(&grids[i], k);
        double *x = random_array(type, A.rows), *y = random_array(type, A.rows);

        OK(kry_stencil_apply_host(&p, type, x, y));
        for (int64_t row = 0; row < A.rows; row++) {
            double sum = 0, size = 0;
            for (int64_t e = A.row_ptr[row]; e < A.row_ptr[row + 1]; e++) {
                sum += A.val[e] * x[A.col[e]];
                size += fabs(A.val[e]);
            }
            NEAR(y[row], sum, 4 * eps_of(type) * size, "%s: y[%lld]", grids[i].name,
                 (long long)row);
        }
        free(x), free(y), free(k);
        matrix_release(&A);
    }
}

/* ---- new numbers -------------------------------------------------------------------------------
 */

/* New coefficients: what a fresh operator would be, to the bit; refused ones change nothing. */
static void stencil__update(void **state)
{
    kry_type type = type_of(state);
    for (size_t i = 0; i < COUNT(grids); i++) {
        const grid *g = &grids[i];
        int64_t n = grid_points(g);
        double *first = grid_coefficients(g, type), *second = grid_coefficients(g, type);
        double *b = random_array(type, n), *got = calloc((size_t)n, 8),
               *want = calloc((size_t)n, 8);
        if (g->faces) memcpy(first, second, (size_t)n * sizeof *first); /* coefficients stay */
        kry_op *A = stencil_of(g, type, first), *B = stencil_of(g, type, second);
        kry_vec *x = vec_of(type, b, n, 1), *y = vec_of(type, b, n, 1);

        if (!second) {
            REFUSES(kry_op_update(A, b), KRY_ERR_UNSUPPORTED, "without coefficients");
        } else {
            double *numbers = grid_numbers(g, second), *last = numbers + n - 1, kept;
            const char *what = g->faces ? "face " : "coefficient ";
            OK(kry_op_update(A, numbers));
            while (isnan(*last)) last--;
            kept = *last, *last = i % 2 ? 0 : (double)INFINITY;
            REFUSES(kry_op_update(A, numbers), KRY_ERR_ARGUMENT, what);
            *last = kept;
        }
        OK(kry_op_apply(A, 1, x, 0, y));
        read_doubles(y, got);
        OK(kry_op_apply(B, 1, x, 0, y));
        read_doubles(y, want);
        assert_same_bits(got, want, n);
        kry_vec_release(&x), kry_vec_release(&y);
        kry_op_release(&A), kry_op_release(&B);
        free(first), free(second), free(b), free(got), free(want);
    }
}

/* ---- bad input
 * ----------------------------------------------------------------------------------- */

static void stencil__refusals(void **state)
{
    static const double zero[4] = { 1, 0, 1, 1 }, one[4] = { 1, 1, 1, 1 };
    static const double tiny[4] = { 1, 1, 1e-60, 1 };
    kry_type type = KRY_F32;
    kry_op *A = (kry_op *)1;
    (void)state;
#define BAD(status, text, ...)                                                               \
    REFUSES(kry_stencil_create(device(), type, KRY_STENCIL(__VA_ARGS__), &A), status, text); \
    assert_null(A);
    BAD(KRY_ERR_ARGUMENT, "0 unknowns along x", .size = { 0, 2 })
    BAD(KRY_ERR_ARGUMENT, "-3 unknowns along y", .size = { 2, -3 })
    BAD(KRY_ERR_ARGUMENT, "-1 unknowns along z", .size = { 2, 2, -1 })
    BAD(KRY_ERR_ARGUMENT, "2^31", .size = { 65536, 65536 })
    BAD(KRY_ERR_ARGUMENT, "2^31", .size = { INT64_MAX, 2, INT64_MAX })
    BAD(KRY_ERR_ARGUMENT, "spacing along y", .size = { 2, 2 }, .spacing = { 1, -1 })
    BAD(KRY_ERR_ARGUMENT, "spacing along x", .size = { 2, 2 }, .spacing = { (double)NAN, 1 })
    BAD(KRY_ERR_ARGUMENT, "diffusion along x", .size = { 2, 2 }, .diffusion = { -2 })
    BAD(KRY_ERR_ARGUMENT, "periodic", .size = { 2, 2 }, .low = { KRY_PERIODIC })
    BAD(KRY_ERR_ARGUMENT, "sides of y", .size = { 2, 2 }, .low = { 0, (kry_side)9 })
    BAD(KRY_ERR_ARGUMENT, "coefficient 1 is 0", .size = { 2, 2 }, .coefficient = zero)
#define WALLS .low = { KRY_NEUMANN, KRY_NEUMANN }
    BAD(KRY_ERR_ARGUMENT, "faces along y are missing", .size = { 2, 2 }, WALLS, .face = { one })
    BAD(KRY_ERR_ARGUMENT, "faces along z are missing", .size = { 2, 1, 2 }, WALLS,
        .face = { one, one })
    BAD(KRY_ERR_ARGUMENT, "faces along z are given", .size = { 2, 2 }, WALLS,
        .face = { one, one, one })
    BAD(KRY_ERR_ARGUMENT, "faces along y are given", .size = { 2, 2 }, WALLS, .face = { NULL, one })
    BAD(KRY_ERR_ARGUMENT, "the low side of y has given values", .size = { 2, 2 },
        .low = { KRY_NEUMANN, KRY_DIRICHLET }, .face = { one, one })
    BAD(KRY_ERR_ARGUMENT, "face 1 along y is 0", .size = { 2, 2 }, WALLS, .face = { one, zero })
    BAD(KRY_ERR_ARGUMENT, "face 2 along x is 1e-60", .size = { 2, 2 }, WALLS, .face = { tiny, one })
    BAD(KRY_ERR_ARGUMENT, "coefficient 1 is 0", .size = { 2, 2 }, .coefficient = zero,
        .face = { one, one })
    REFUSES(kry_stencil_create(device(), type, NULL, &A), KRY_ERR_ARGUMENT, "NULL");
}

/* ---- solves -------------------------------------------------------------------------------- */

/* x after `limit` iterations, to be freed. */
static double *iterate_of(const kry_op *A, const double *b, const char *precond, int limit,
                          kry_result *result)
{
    kry_type type = kry_op_get_shape(A)->type;
    int64_t n = kry_op_get_shape(A)->rows;
    kry_op *solver = NULL;
    kry_vec *B = vec_of(type, b, n, 1), *X = vec_of(type, b, n, 1);
    double *x = calloc((size_t)n + 1, sizeof *x);
    char words[96];

    assert_non_null(x);
    snprintf(words, sizeof words, "method=pcg precond=%s rtol=1e-6 maxit=%d", precond, limit);
    OK(kry_vec_fill(X, 0));
    OK(kry_solver_create(A, words, NULL, NULL, &solver));
    if (kry_solve(solver, B, X, result) < 0) fail_msg("kry_solve: %s", kry_last_error());
    result->history = NULL;
    read_doubles(X, x);
    kry_vec_release(&B), kry_vec_release(&X);
    kry_op_release(&solver);
    return x;
}

/* Stopped anywhere, a solve without a matrix has come as far as one with it: no step of x is lost
 * that waits for the next one. */
static void check_iterates(const grid *g, kry_type type, const char *precond)
{
    double *k = grid_coefficients(g, type), *b = random_array(type, grid_points(g));
    kry_op *free_of_it = stencil_of(g, type, k), *stored = NULL;
    static const int limits[] = { 1, 2, 3, 8, 400 };

    matrix A = grid_matrix(g, k);
    stored = csr_of(&A, type, KRY_MATRIX(.traits = KRY_POSITIVE, .format = KRY_FORMAT_CSR));
    for (size_t l = 0; l < COUNT(limits); l++) {
        kry_result ours, theirs;
        double *x = iterate_of(free_of_it, b, precond, limits[l], &ours);
        double *y = iterate_of(stored, b, precond, limits[l], &theirs), size = 0;
        for (int64_t i = 0; i < A.rows; i++) size = fmax(size, fabs(y[i]));
        for (int64_t i = 0; i < A.rows && limits[l] < 10; i++) /* later, roundings part them */
            NEAR(x[i], y[i], 1e3 * eps_of(type) * size, "%s, %s: x[%lld] after %d iterations",
                 g->name, precond, (long long)i, limits[l]);
        if (limits[l] < 10) assert_int_equal(ours.reason, theirs.reason);
        /* the persistent kernel's recurrences differ */
        int64_t apart = 2 + theirs.iterations / (type == KRY_F32 ? 6 : 15);
        assert_in_range(ours.iterations, theirs.iterations > apart ? theirs.iterations - apart : 0,
                        theirs.iterations + apart);
        free(x), free(y);
    }
    kry_op_release(&stored);
    kry_op_release(&free_of_it);
    matrix_release(&A);
    free(b), free(k);
}

static void stencil__solves(void **state)
{
    kry_type type = type_of(state);
    for (size_t i = 0; i < COUNT(grids); i++) {
        if (grid_singular(&grids[i]) || grid_points(&grids[i]) < 30) continue;
        check_iterates(&grids[i], type, "none");
        check_iterates(&grids[i], type, "jacobi");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(stencil__grids),  BOTH(stencil__sides),
        BOTH(stencil__matrix), BOTH(stencil__on_the_host),
        BOTH(stencil__update), cmocka_unit_test(stencil__matrix_of_problems),
        BOTH(stencil__solves), cmocka_unit_test(stencil__refusals),
    };
    return cmocka_run_group_tests_name("stencil", tests, keep_profile, restore_profile);
}
