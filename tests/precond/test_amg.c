/*
 * test_amg.c - algebraic multigrid: the steps of its set-up on the host against plain checks, and what
 * the preconditioner does for conjugate gradients.
 */
#include "amg/amg.h"
#include "testing.h"

/* Laplace's operator on nx-by-ny points; y couples by `weak`. */
static kryi_csr grid(int64_t nx, int64_t ny, double weak)
{
    kryi_csr A;
    int64_t end = 0;

    OK(kryi_csr_create(nx * ny, nx * ny, KRY_F64, 5 * nx * ny, &A));
    double *val = A.val;
    for (int64_t i = 0; i < nx * ny; i++) {
        const int64_t x = i % nx, y = i / nx;
        const struct {
            bool there;
            int64_t col;
            double val;
        } entry[] = { { y > 0, i - nx, -weak },
                      { x > 0, i - 1, -1 },
                      { true, i, 2 + 2 * weak },
                      { x < nx - 1, i + 1, -1 },
                      { y < ny - 1, i + nx, -weak } };
        for (size_t k = 0; k < COUNT(entry); k++)
            if (entry[k].there) A.col[end] = (int32_t)entry[k].col, val[end++] = entry[k].val;
        A.row_ptr[i + 1] = end;
    }
    return A;
}

static double entry_of(const kryi_csr *A, int64_t i, int64_t j)
{
    const int64_t e = kryi_csr_find(A, i, j);
    return e < 0 ? 0 : ((const double *)A->val)[e];
}

static void strength__drops_what_is_below_the_threshold(void **state)
{
    kryi_csr A = grid(7, 5, 0.01), S;
    (void)state;
    OK(kryi_strength(&A, 1, 0.08, &S));
    assert_int_equal(kryi_csr_nnz(&S), 2 * 6 * 5); /* along x alone */
    kryi_csr_release(&S);
    OK(kryi_strength(&A, 1, 0, &S));
    assert_int_equal(kryi_csr_nnz(&S), kryi_csr_nnz(&A) - 35);
    kryi_csr_release(&S);
    kryi_csr_release(&A);
}

/* Every coupled node is in one aggregate, none is empty, and the same comes out again. */
static void aggregate__is_a_partition(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        kryi_csr A = grid(1 + random_below(40), 1 + random_below(40), 1), S;
        const size_t n = (size_t)A.rows;
        int32_t *one = calloc(n, sizeof *one), *two = calloc(n, sizeof *two);
        int64_t count, again, *size = calloc(n, sizeof *size);
        OK(kryi_strength(&A, 1, 0.08, &S));
        OK(kryi_aggregate(&S, round % 2, one, &count));
        OK(kryi_aggregate(&S, round % 2, two, &again));
        assert_int_equal(count, again);
        assert_memory_equal(one, two, n * sizeof *one);
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(one[i] < 0, kryi_row_length(&S, (int64_t)i) == 0);
            assert_true(one[i] < count);
            if (one[i] >= 0) size[one[i]]++;
        }
        for (int64_t a = 0; a < count; a++) assert_true(size[a] >= 2);
        free(size), free(two), free(one);
        kryi_csr_release(&S);
        kryi_csr_release(&A);
    }
}

/* T'T = I and T C = B, also where an aggregate has fewer rows than B has columns. */
static void tentative__is_orthonormal_and_has_the_vectors(void **state)
{
    enum { NODES = 11, BLOCK = 2, M = 3, N = NODES * BLOCK };
    int32_t of_node[NODES] = {
        0, 0, 0, 1, 2, 2, 1, 3, 2, 0, -1
    }; /* 3: two rows for three columns */
    const kryi_aggregates g = { NODES, 4, of_node };
    double *B = random_array(KRY_F64, (int64_t)N * M), *C;
    kryi_csr T;
    (void)state;
    OK(kryi_tentative(&g, BLOCK, M, B, &T, &C));
    for (int64_t i = 0; i < N; i++)
        for (int64_t j = 0; j < M; j++) {
            double sum = 0;
            for (int64_t k = 0; k < T.cols; k++) sum += entry_of(&T, i, k) * C[k * M + j];
            NEAR(sum, of_node[i / BLOCK] < 0 ? 0 : B[i * M + j], 1e-13, "row %d", (int)i);
        }
    for (int64_t k = 0; k < T.cols; k++)
        for (int64_t l = 0; l < T.cols; l++) {
            double sum = 0;
            for (int64_t i = 0; i < N; i++) sum += entry_of(&T, i, k) * entry_of(&T, i, l);
            NEAR(sum, k == l && k != 3 * M + 2, 1e-13, "columns %d, %d", (int)k, (int)l);
        }
    free(C), free(B);
    kryi_csr_release(&T);
}

/* Where rows add up to zero, P maps ones to ones; and P'AP is that of plain sums, symmetric to the bit. */
static void prolongation__keeps_constants(void **state)
{
    kryi_csr A = grid(13, 9, 1), P, R, E;
    kryi_coarsen c = { .who = "test", .strength = 0.08, .block = 1, .vectors = 1 };
    void *kept;
    (void)state;
    c.near_null_space = calloc((size_t)A.rows, sizeof(double));
    for (int64_t i = 0; i < A.rows; i++) c.near_null_space[i] = 1;
    OK(kryi_smoothed_aggregation.create(&c, &A, &P, &kept));
    assert_true(P.cols > 0 && 3 * P.cols < A.rows);
    for (int64_t i = 0; i < A.rows; i++) {
        double sum = 0;
        if (kryi_row_length(&A, i) < 5) continue; /* beside a side */
        for (int64_t j = 0; j < P.cols; j++) sum += entry_of(&P, i, j);
        NEAR(sum, 1, 1e-13, "row %d", (int)i);
    }
    OK(kryi_csr_transpose(&P, &R));
    OK(kryi_csr_triple(&R, &A, &P, &E));
    assert_true(kryi_csr_is_symmetric(&E));
    for (int64_t k = 0; k < E.rows; k++)
        for (int64_t l = 0; l < E.rows; l++) {
            double sum = 0;
            for (int64_t i = 0; i < A.rows; i++)
                for (int64_t e = A.row_ptr[i]; e < A.row_ptr[i + 1]; e++)
                    sum += entry_of(&P, i, k) * ((double *)A.val)[e] * entry_of(&P, A.col[e], l);
            NEAR(entry_of(&E, k, l), sum, 1e-12, "entry %d, %d", (int)k, (int)l);
        }
    kryi_smoothed_aggregation.destroy(kept);
    free(c.near_null_space);
    kryi_csr_release(&E), kryi_csr_release(&R);
    kryi_csr_release(&P), kryi_csr_release(&A);
}

/* Of a cycle that is updated to factor A. */
static int64_t iterations(const kryi_csr *A, kry_type type, const kry_amg_params *how,
                          double factor)
{
    kry_op *op, *M, *solver;
    kry_vec *b, *x;
    kry_result result;
    double *numbers = random_array(type, A->rows), *val = calloc((size_t)kryi_csr_nnz(A), 8);
    for (int64_t e = 0; e < kryi_csr_nnz(A); e++) val[e] = factor * ((double *)A->val)[e];
    void *typed = in_type(type, A->val, kryi_csr_nnz(A)),
         *scaled = in_type(type, val, kryi_csr_nnz(A));
    OK(kry_csr_create(device(), type, A->rows, A->cols, A->row_ptr, A->col, typed,
                      KRY_MATRIX(.traits = KRY_POSITIVE), &op));
    OK(kry_amg_create(op, how, &M));
    OK(kry_op_update(op, scaled));
    OK(kry_op_update(M, NULL));
    b = vec_of(type, numbers, A->rows, 1);
    OK(kry_vec_create(device(), type, A->rows, 1, &x));
    OK(kry_pcg_create(op, KRY_PCG(.precond = M, .stop = { .rtol = type == KRY_F32 ? 1e-4 : 1e-8 }),
                      &solver));
    OK(kry_solve(solver, b, x, &result));
    kry_op_release(&solver), kry_op_release(&M), kry_op_release(&op);
    kry_vec_release(&x), kry_vec_release(&b);
    free(scaled), free(typed), free(val), free(numbers);
    return result.iterations;
}

/* At most 12 of them for 1e-8, whatever the anisotropy; and after an update to 3 A as many. */
static void amg__iterations(void **state)
{
    static const struct {
        double weak;
        kry_coarsening coarsening;
        kry_smoother_scaling scaling;
    } cases[] = { { 1, KRY_COARSEN_AGGREGATION, KRY_SCALING_DIAGONAL },
                  { 0.01, KRY_COARSEN_AGGREGATION, KRY_SCALING_BLOCK },
                  { 1, KRY_COARSEN_CLASSICAL, KRY_SCALING_L1 },
                  { 0.01, KRY_COARSEN_CLASSICAL, KRY_SCALING_DIAGONAL } };
    for (size_t k = 0; k < COUNT(cases); k++) {
        kryi_csr A = grid(63, 50, cases[k].weak);
        const kry_amg_params *how =
            KRY_AMG(.coarsening = cases[k].coarsening, .cycle = { .scaling = cases[k].scaling });
        const int64_t count = iterations(&A, type_of(state), how, 3);
        print_message("# weak %g: %lld iterations\n", cases[k].weak, (long long)count);
        assert_true(count <= 12);
        kryi_csr_release(&A);
    }
}

static void amg__matrix_that_is_not_definite(void **state)
{
    kryi_csr A = grid(20, 20, 1);
    kry_op *op, *M;
    (void)state;
    ((double *)A.val)[kryi_csr_find(&A, 77, 77)] = -1;
    void *typed = in_type(acc_type(), A.val, kryi_csr_nnz(&A));
    OK(kry_csr_create(device(), acc_type(), A.rows, A.cols, A.row_ptr, A.col, typed, NULL, &op));
    REFUSES(kry_amg_create(op, NULL, &M), KRY_ERR_ARGUMENT, "diagonal entry");
    assert_null(M);
    kry_op_release(&op);
    free(typed);
    kryi_csr_release(&A);
}

/* Whatever request for memory fails: a status, nothing handed out, and nothing left behind. */
static void amg_create__without_memory(void **state)
{
    static const kry_smoother_scaling scalings[] = { KRY_SCALING_L1, KRY_SCALING_BLOCK };
    kryi_csr A = grid(20, 15, 1);
    kry_op *op = NULL;
    (void)state;
    void *typed = in_type(KRY_F32, A.val, kryi_csr_nnz(&A));
    OK(kry_csr_create(device(), KRY_F32, A.rows, A.cols, A.row_ptr, A.col, typed, NULL, &op));
    for (size_t s = 0; s < COUNT(scalings); s++) {
        const kry_amg_params *how =
            KRY_AMG(.cycle = { .scaling = scalings[s], .shape = KRY_CYCLE_F, .coarsest = 20 });
        request_failed = true;
        for (int64_t k = random_below(every(12)); request_failed; k += every(12)) {
            kry_op *M = op; /* poison */
            const kry_status st = FAILING((int)k, kry_amg_create(op, how, &M));
            assert_int_equal(st, request_failed ? KRY_ERR_MEMORY : KRY_OK);
            assert_true(!M == (st < 0));
            kry_op_release(&M);
        }
    }
    kry_op_release(&op);
    free(typed);
    kryi_csr_release(&A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strength__drops_what_is_below_the_threshold),
        cmocka_unit_test(aggregate__is_a_partition),
        cmocka_unit_test(tentative__is_orthonormal_and_has_the_vectors),
        cmocka_unit_test(prolongation__keeps_constants),
        BOTH(amg__iterations),
        cmocka_unit_test(amg__matrix_that_is_not_definite),
        cmocka_unit_test(amg_create__without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, close_device);
}
