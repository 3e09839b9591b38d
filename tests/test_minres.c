/* test_minres.c - MINRES: against conjugate residuals in plain C, which have the same iterates; where those break
 * down. */
#include "chains.h"

static void minres_solve__follows_conjugate_residuals(void **state)
{
    kry_type type = type_of(state);
    enum { STEPS = 30 };
    double want[STEPS + 1];

    for (int i = 0; i < 4; i++) {
        const bool jacobi = i % 2;
        chain c = i / 2 ? chain_of(MOST - 10, 0.55, 0.7) : chain_of(MOST - 10, 2.25, 3.5);
        outcome o = solve(type, &c,
                          jacobi ? "method=minres precond=jacobi maxit=30 rtol=1e-7"
                                 : "method=minres maxit=30 rtol=1e-7");
        conjugate_residuals(&c, jacobi, STEPS, want);
        assert_true(o.res.history_count > STEPS / 2);
        for (int64_t k = 0; k < o.res.history_count; k++)
            NEAR(o.history[k], want[k], (type == KRY_F32 ? 1e-3 : 1e-10) * want[0],
                 "case %d, iteration %lld", i, (long long)k);
        NEAR(o.res.residual, o.res.true_residual, (type == KRY_F32 ? 1e-4 : 1e-12) * want[0],
             "the residual");
    }
}

/* Conjugate residuals make no step here. */
static void minres_solve__where_conjugate_residuals_break_down(void **state)
{
    kry_type type = type_of(state);
    chain c = { .n = 2, .row_ptr = { 0, 1, 2 }, .col = { 1, 0 }, .val = { 1, 1 }, .b = { 1, 0 } };
    outcome o = solve(type, &c, "method=minres");

    assert_int_equal(o.status, KRY_OK);
    assert_int_equal(o.res.iterations, 2);
    NEAR(o.x[1], 1, 1e-6, "x");
}

/* A maps b to zero: no step changes the residual. */
static void minres_solve__without_a_solution(void **state)
{
    kry_type type = type_of(state);
    chain c = { .n = 3,
                .row_ptr = { 0, 1, 2, 3 },
                .col = { 0, 1, 2 },
                .val = { 2, -1, 0 },
                .b = { 0, 0, 0.5 } };
    outcome o = solve(type, &c, "method=minres");

    assert_int_equal(o.status, KRY_BREAKDOWN);
    assert_int_equal(o.res.reason, KRY_INDEFINITE_MATRIX);
    assert_non_null(strstr(o.res.why, "b is not in its range"));
    NEAR(o.res.true_residual, 0.5, 1e-5, "what is left");
}

/* Squares of A's numbers overflow or vanish. */
static void minres_solve__any_size(void **state)
{
    kry_type type = type_of(state);
    static const double scales[2][2] = { { 1e20, 1e-20 }, { 1e160, 1e-300 } };
    const double rtol = type == KRY_F32 ? 1e-5 : 1e-8;

    for (int i = 0; i < 4; i++) {
        chain c = i / 2 ? chain_of(40, 0.55, 0.7) : chain_of(40, 2.25, 3.5);
        const outcome plain = solve(type, &c, "method=minres");
        for (int64_t k = 0; k < c.row_ptr[c.n]; k++) c.val[k] *= scales[type == KRY_F64][i % 2];
        const outcome o = solve(type, &c, "method=minres");
        assert_int_equal(o.status, KRY_OK);
        assert_int_equal(o.res.reason, KRY_CONVERGED);
        NEAR(residual_of(&c, o.x), 0, 1.01 * rtol * o.res.norm_b, "case %d: the residual", i);
        assert_true(llabs((long long)(o.res.iterations - plain.res.iterations)) <= 2);
    }
}

static void minres_create__preconditioners_it_cannot_use(void **state)
{
    kry_type type = type_of(state);
    static const kry_op_table table = { sizeof table, "minus", .apply = negate };
    chain c = chain_of(30, 3, 3);
    kry_op *A = matrix_of(device(), type, &c, 0), *M, *S;
    kry_op_shape shape = { c.n, c.n, type, 0 };
    kry_vec *b = vec_of(type, c.b, c.n, 1), *x;
    kry_result res;

    OK(kry_vec_create(device(), type, c.n, 1, &x));
    OK(kry_op_create(device(), &table, NULL, &shape, &M));
    OK(kry_krylov_create(A, "minres", KRY_PCG(.precond = M), &S));
    assert_int_equal(kry_solve(S, b, x, &res), KRY_BREAKDOWN);
    assert_int_equal(res.reason, KRY_INDEFINITE_PRECOND);
    assert_non_null(strstr(res.why, "v'Mv = -"));
    kry_op_release(&S);
    kry_op_release(&M);
    shape.traits = KRY_VARYING;
    OK(kry_op_create(device(), &table, NULL, &shape, &M));
    REFUSES(kry_krylov_create(A, "minres", KRY_PCG(.precond = M), &S), KRY_ERR_TYPE, "varies");
    kry_op_release(&M);
    kry_op_release(&A);
    kry_vec_release(&b);
    kry_vec_release(&x);
    c = chain_with(30, -1, 3, -2);
    A = matrix_of(device(), type, &c, 0);
    REFUSES(kry_solver_create(A, "method=minres", NULL, NULL, &S), KRY_ERR_UNSUPPORTED,
            "method=gmres");
    kry_op_release(&A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(minres_solve__follows_conjugate_residuals),
        BOTH(minres_solve__where_conjugate_residuals_break_down),
        BOTH(minres_solve__without_a_solution),
        BOTH(minres_solve__any_size),
        BOTH(minres_create__preconditioners_it_cannot_use),
    };
    return cmocka_run_group_tests_name("minres", tests, keep_profile, restore_profile);
}
