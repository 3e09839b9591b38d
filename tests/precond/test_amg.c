/*
 * test_amg.c - algebraic multigrid: the steps of its set-up on the host against plain checks, and what
 * the preconditioner does for conjugate gradients.
 */
#include "weak_grid.h"

/* Of a cycle that is updated to factor A. */
static int64_t iterations(const matrix *A, kry_type type, const kry_amg_params *how, double factor)
{
    kry_op *op, *M, *solver;
    kry_vec *b, *x;
    kry_result result;
    double *numbers = random_array(type, A->rows), *val = calloc((size_t)A->nnz, 8);
    for (int64_t e = 0; e < A->nnz; e++) val[e] = factor * A->val[e];
    void *typed = in_type(type, A->val, A->nnz), *scaled = in_type(type, val, A->nnz);
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
        matrix A = weak_grid(63, 50, cases[k].weak);
        const kry_amg_params *how =
            KRY_AMG(.coarsening = cases[k].coarsening, .cycle = { .scaling = cases[k].scaling });
        const int64_t count = iterations(&A, type_of(state), how, 3);
        print_message("# weak %g: %lld iterations\n", cases[k].weak, (long long)count);
        assert_true(count <= 12);
        matrix_release(&A);
    }
}

static void amg__matrix_that_is_not_definite(void **state)
{
    matrix A = weak_grid(20, 20, 1);
    kry_op *op, *M;
    (void)state;
    for (int64_t e = A.row_ptr[77]; e < A.row_ptr[78]; e++)
        if (A.col[e] == 77) A.val[e] = -1;
    void *typed = in_type(acc_type(), A.val, A.nnz);
    OK(kry_csr_create(device(), acc_type(), A.rows, A.cols, A.row_ptr, A.col, typed, NULL, &op));
    REFUSES(kry_amg_create(op, NULL, &M), KRY_ERR_ARGUMENT, "diagonal entry");
    assert_null(M);
    kry_op_release(&op);
    free(typed);
    matrix_release(&A);
}

/* Whatever request for memory fails: a status, nothing handed out, and nothing left behind. */
static void amg_create__without_memory(void **state)
{
    static const kry_smoother_scaling scalings[] = { KRY_SCALING_L1, KRY_SCALING_BLOCK };
    matrix A = weak_grid(20, 15, 1);
    kry_op *op = NULL;
    (void)state;
    void *typed = in_type(KRY_F32, A.val, A.nnz);
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
    matrix_release(&A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(amg__iterations),
        cmocka_unit_test(amg__matrix_that_is_not_definite),
        cmocka_unit_test(amg_create__without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, close_device);
}
