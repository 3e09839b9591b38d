/*
 * test_amg_limits.c - algebraic multigrid: the entries that its levels take, stored zeros and rows that stand
 * alone, matrices that are not definite, and new numbers.
 */
#include "testing.h"
#include <kry/multigrid.h>
#include <kry/problem.h>

static const kry_coarsening ways[] = { KRY_COARSEN_AGGREGATION, KRY_COARSEN_CLASSICAL };

static kry_op *op_of(const kry_problem *p, const double *val)
{
    kry_op *A = NULL;
    void *numbers = in_type(acc_type(), val, p->row_ptr[p->n]);

    OK(kry_csr_create(device(), acc_type(), p->n, p->n, p->row_ptr, p->col, numbers,
                      KRY_MATRIX(.traits = KRY_POSITIVE), &A));
    free(numbers);
    return A;
}

static double complexity_of(const kry_op *M, int64_t nnz)
{
    double entries = 0;
    for (int i = 0; i < kry_multigrid_levels(M); i++) {
        kry_level_info level;
        kry_op_info matrix;
        OK(kry_multigrid_level(M, i, &level));
        kry_op_describe(level.matrix, &matrix);
        entries += (double)(i ? matrix.nnz : nnz);
    }
    return entries / (double)nnz;
}

/* Entries of all levels over those of the finest. */
static void amg__complexity(void **state)
{
    static const struct {
        const char *spec;
        double most[COUNT(ways)];
    } all[] = { { "poisson2d:61", { 1.7, 2.8 } },
                { "anisotropic2d:64:0.01", { 1.7, 2.8 } },
                { "twophase2d:64:1000:bubbles", { 1.7, 2.8 } },
                { "poisson3d:24", { 1.7, 2.8 } } };
    (void)state;
    for (size_t i = 0; i < COUNT(all); i++) {
        kry_problem *p = NULL;
        OK(kry_problem_create(all[i].spec, 1, &p));
        kry_op *A = op_of(p, p->val);
        for (size_t w = 0; w < COUNT(ways); w++) {
            kry_op *M = NULL;
            OK(kry_amg_create(A, KRY_AMG(.coarsening = ways[w], .cycle.coarsest = 60), &M));
            const double complexity = complexity_of(M, p->row_ptr[p->n]);
            print_message("# %s, way %d: %d levels, complexity %.3f\n", all[i].spec, (int)w,
                          kry_multigrid_levels(M), complexity);
            assert_true(kry_multigrid_levels(M) > 1 && complexity < all[i].most[w]);
            kry_op_release(&M);
        }
        kry_op_release(&A);
        kry_problem_release(&p);
    }
}

/* Smoothed better where coarse levels have few entries, unless a degree is asked for. */
static void amg__degree_by_complexity(void **state)
{
    static const struct {
        const char *spec;
        int asked;
        const char *smoother;
    } all[] = { { "plate2d:30", 0, "chebyshev4:3" },
                { "plate2d:30", 2, "chebyshev4:2" },
                { "poisson2d:30", 0, "chebyshev4:2" } };
    (void)state;
    for (size_t i = 0; i < COUNT(all); i++) {
        kry_problem *p = NULL;
        kry_op *M = NULL;
        kry_level_info level;
        OK(kry_problem_create(all[i].spec, 1, &p));
        kry_op *A = op_of(p, p->val);
        OK(kry_amg_create(A,
                          KRY_AMG(.coarsening = KRY_COARSEN_AGGREGATION,
                                  .cycle = { .coarsest = 60, .degree = all[i].asked }),
                          &M));
        OK(kry_multigrid_level(M, 0, &level));
        assert_string_equal(level.smoother, all[i].smoother);
        assert_int_equal(complexity_of(M, p->row_ptr[p->n]) <= 1.3, i < 2);
        kry_op_release(&M), kry_op_release(&A);
        kry_problem_release(&p);
    }
}

/* z := M r, to be freed */
static double *apply(const kry_op *M, const double *r, int64_t n)
{
    kry_vec *R = vec_of(acc_type(), r, n, 1), *Z = vec_of(acc_type(), r, n, 1);

    OK(kry_vec_fill(Z, NAN));
    OK(kry_op_apply(M, 1, R, 0, Z));
    double *z = numbers_of(Z);
    kry_vec_release(&R), kry_vec_release(&Z);
    return z;
}

/* Every fifth unknown stands alone, in rows that store zeros for its couplings: it is solved for by itself. */
static void amg__zeros_and_rows_alone(void **state)
{
    kry_problem *p = NULL;
    (void)state;
    OK(kry_problem_create("poisson2d:25", 1, &p));
    double *val = calloc((size_t)p->row_ptr[p->n], sizeof *val),
           *r = random_array(acc_type(), p->n);
    assert_non_null(val);
    for (int64_t i = 0; i < p->n; i++)
        for (int64_t e = p->row_ptr[i]; e < p->row_ptr[i + 1]; e++)
            val[e] = p->col[e] == i || (i % 5 && p->col[e] % 5) ? p->val[e] : 0;
    kry_op *A = op_of(p, val);
    for (size_t w = 0; w < COUNT(ways); w++) {
        kry_op *M = NULL;
        OK(kry_amg_create(A, KRY_AMG(.coarsening = ways[w], .cycle.coarsest = 20), &M));
        double *z = apply(M, r, p->n), *again = apply(M, r, p->n);
        for (int64_t i = 0; i < p->n; i++) {
            assert_true(isfinite(z[i]) && z[i] == again[i]);
            if (i % 5 == 0) assert_true(z[i] * r[i] > 0);
        }
        free(z), free(again);
        kry_op_release(&M);
    }
    kry_op_release(&A);
    free(val), free(r);
    kry_problem_release(&p);
}

/* A diagonal that is positive, but not large enough: it is named in the set-up. */
static void amg__not_definite_below(void **state)
{
    kry_problem *p = NULL;
    (void)state;
    OK(kry_problem_create("poisson2d:25", 1, &p));
    double *val = calloc((size_t)p->row_ptr[p->n], sizeof *val);
    assert_non_null(val);
    for (int64_t i = 0; i < p->n; i++)
        for (int64_t e = p->row_ptr[i]; e < p->row_ptr[i + 1]; e++)
            val[e] = p->col[e] == i ? p->val[e] / 2 : p->val[e];
    kry_op *A = op_of(p, val);
    for (size_t w = 0; w < COUNT(ways); w++) {
        kry_op *M = A; /* poison */
        REFUSES(kry_amg_create(A, KRY_AMG(.coarsening = ways[w], .cycle.coarsest = 20), &M),
                KRY_ERR_ARGUMENT, "not positive definite");
        assert_null(M);
    }
    kry_op_release(&A);
    free(val);
    kry_problem_release(&p);
}

/* Updated to 2 A it has the bits of one that is made of 2 A. */
static void amg__update_is_a_set_up(void **state)
{
    kry_problem *p = NULL;
    (void)state;
    OK(kry_problem_create("twophase2d:30:10:bubbles", 1, &p));
    double *val = calloc((size_t)p->row_ptr[p->n], sizeof *val),
           *r = random_array(acc_type(), p->n);
    assert_non_null(val);
    for (int64_t e = 0; e < p->row_ptr[p->n]; e++) val[e] = 2 * p->val[e];
    void *numbers = in_type(acc_type(), val, p->row_ptr[p->n]);
    for (size_t w = 0; w < COUNT(ways); w++) {
        const kry_amg_params *how = KRY_AMG(.coarsening = ways[w], .cycle.coarsest = 40);
        kry_op *A = op_of(p, p->val), *B = op_of(p, val), *M = NULL, *fresh = NULL;
        OK(kry_amg_create(A, how, &M));
        OK(kry_op_update(A, numbers));
        OK(kry_op_update(M, NULL));
        OK(kry_amg_create(B, how, &fresh));
        double *z = apply(M, r, p->n), *want = apply(fresh, r, p->n);
        for (int64_t i = 0; i < p->n; i++) assert_true(z[i] == want[i]);
        free(z), free(want);
        kry_op_release(&M), kry_op_release(&fresh), kry_op_release(&A), kry_op_release(&B);
    }
    free(numbers), free(val), free(r);
    kry_problem_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(amg__complexity),           cmocka_unit_test(amg__degree_by_complexity),
        cmocka_unit_test(amg__zeros_and_rows_alone), cmocka_unit_test(amg__not_definite_below),
        cmocka_unit_test(amg__update_is_a_set_up),
    };
    return cmocka_run_group_tests_name("amg_limits", tests, NULL, close_device);
}
