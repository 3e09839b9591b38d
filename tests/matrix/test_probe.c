/* test_probe.c - what the probe says of operators whose symmetry and sign are known. */
#include "as_matrix.h"

static kry_probe probe_of(const kry_op *op)
{
    kry_probe probe;
    OK(kry_op_probe(op, 7, &probe));
    print_message("# asymmetry %.2e, v'Mv / v'v from %.3g to %.3g, %d of %d not positive\n",
                  probe.asymmetry, probe.least, probe.most, probe.not_positive, probe.vectors);
    return probe;
}

static void probe__every_preconditioner_passes(void **state)
{
    static const char *const names[] = { "jacobi",    "block-jacobi", "block-jacobi:5",   "ip",
                                         "ip:drop",   "ip:unscaled",  "ip:unscaled,drop", "neumann",
                                         "neumann:3", "ssor-ai:2",    "chebyshev:6" };
    kry_type type = type_of(state);
    const grid *g = &grids[11];
    double *k = grid_coefficients(g, type);
    kry_op *op = grid_op(g, type, k), *stored = NULL, *M = NULL;

    OK(kry_stencil_matrix(op, NULL, &stored));
    for (size_t i = 0; i < COUNT(names); i++)
        for (int s = 0; s < 2; s++) {
            print_message("# %s\n", names[i]);
            OK(kry_precond_create(s ? stored : op, names[i], &M));
            kry_probe probe = probe_of(M);
            assert_true(probe.symmetric && probe.positive);
            assert_true(probe.least > 0 && probe.most >= probe.least && probe.vectors >= 20);
            kry_op_release(&M);
        }
    OK(kry_precond_create(op, "none", &M));
    assert_null(M);
    kry_op_release(&stored);
    kry_op_release(&op);
    free(k);
}

/* One entry of a hundred thousand is off. */
static void probe__not_symmetric(void **state)
{
    kry_type type = type_of(state);
    matrix A = random_spd(type, small_run() ? 400 : 20000);
    kry_op *op = csr_of(&A, type, NULL);
    assert_true(probe_of(op).symmetric && probe_of(op).positive);
    kry_op_release(&op);
    int64_t e = A.row_ptr[3];
    while (A.col[e] == 3) e++;
    A.val[e] += 1000;
    op = csr_of(&A, type, NULL);
    kry_probe probe = probe_of(op);
    assert_false(probe.symmetric);
    assert_true(probe.asymmetry > probe.rounding);
    kry_op_release(&op);
    matrix_release(&A);
}

/* A diagonal with a negative entry, one of zeros, and one with NaN from an operator of the
 * caller's. */
static kry_status apply_number(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    return kry_vec_axpby(alpha * *(double *)self, x, beta, y);
}

static void probe__not_positive(void **state)
{
    static const kry_op_table table = { .struct_size = sizeof table,
                                        .kind = "number",
                                        .apply = apply_number };
    static const struct {
        double number;
        bool symmetric, positive;
    } of[] = { { 2, true, true }, { -1, true, false }, { 0, true, false }, { NAN, false, false } };
    kry_type type = type_of(state);
    for (size_t i = 0; i < COUNT(of); i++) {
        double number = of[i].number;
        kry_op *op = NULL;
        OK(kry_op_create(device(), &table, &number, &(kry_op_shape){ 300, 300, type, 0 }, &op));
        kry_probe probe = probe_of(op);
        assert_int_equal(probe.symmetric, of[i].symmetric);
        assert_int_equal(probe.positive, of[i].positive);
        assert_int_equal(probe.not_positive, of[i].positive ? 0 : probe.vectors);
        if (i < 2) NEAR(probe.least, number, 8 * eps_of(type), "least");
        if (i < 2) NEAR(probe.most, number, 8 * eps_of(type), "most");
        kry_op_release(&op);
    }
}

/* The smooth ones find what the random ones do not: A without given values, and constants. */
static void probe__singular(void **state)
{
    kry_type type = type_of(state);
    double *k = grid_coefficients(&grids[12], type);
    kry_op *op = grid_op(&grids[12], type, k);
    kry_probe probe = probe_of(op);
    assert_true(probe.symmetric);
    assert_true(fabs(probe.least) < 1e-3 * probe.most);
    kry_op_release(&op);
    free(k);
}

static int64_t two(int64_t i, int64_t n, int64_t m) { return (void)i, (void)n, (void)m, 2; }

static void probe__refusals(void **state)
{
    kry_type type = type_of(state);
    matrix A = matrix_create(type, 3, 4, two), E = matrix_create(type, 0, 0, two);
    kry_op *wide = csr_of(&A, type, NULL), *empty = csr_of(&E, type, NULL), *M = wide;
    kry_probe probe = { .vectors = 77 };

    REFUSES(kry_op_probe(wide, 1, &probe), KRY_ERR_SHAPE, "3-by-4");
    REFUSES(kry_op_probe(NULL, 1, &probe), KRY_ERR_ARGUMENT, "NULL");
    assert_int_equal(probe.vectors, 77);
    OK(kry_op_probe(empty, 1, &probe));
    assert_int_equal(probe.vectors, 0);
    REFUSES(kry_precond_create(wide, NULL, &M), KRY_ERR_ARGUMENT, "NULL");
    REFUSES(kry_precond_create(NULL, "jacobi", &M), KRY_ERR_ARGUMENT, "NULL");
    assert_null(M);
    kry_op_release(&empty);
    kry_op_release(&wide);
    matrix_release(&A), matrix_release(&E);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(probe__every_preconditioner_passes),
        BOTH(probe__not_symmetric),
        BOTH(probe__not_positive),
        BOTH(probe__singular),
        BOTH(probe__refusals),
    };
    return cmocka_run_group_tests_name("probe", tests, NULL, close_device);
}
