/* test_direct.c - the direct solver: systems of every kind against their known residual, refinement, new numbers,
 * singular matrices, too little memory, builds without SuiteSparse. */
#include "chains.h"
#include "precond/factor.h"

#ifdef KRY_HAVE_CHOLMOD
enum { CHOLESKY = 1 };
#else
enum { CHOLESKY = 0 };
#endif
#ifdef KRY_HAVE_UMFPACK
enum { LU = 1 };
#else
enum { LU = 0 };
#endif

/* CHOLMOD alone, as in builds without gpl=true, has factors of definite matrices. */
#define NEEDS_CHOLESKY() \
    if (!CHOLESKY) SKIP("built without CHOLMOD")
#define NEEDS_LU() \
    if (!LU) SKIP("built without UMFPACK")
static const char needs_lu[] = "needs UMFPACK of SuiteSparse for it, which only builds with "
                               "-Dgpl=true have";

static void check_refused(kry_type type, const chain *c)
{
    kry_op *A = matrix_of(device(), type, c, 0), *S;
    REFUSES(kry_solver_create(A, "method=direct", NULL, NULL, &S), KRY_ERR_UNSUPPORTED, needs_lu);
    kry_op_release(&A);
}

/* What the solver says of its factors. */
static void check_engine(kry_type type, const chain *c, const char *engine)
{
    kry_op *A = matrix_of(device(), type, c, 0), *S;
    kry_op_info info;

    OK(kry_solver_create(A, "method=direct", NULL, NULL, &S));
    kry_op_describe(S, &info);
    if (!strstr(info.variant, engine)) print_message("# %s\n", info.variant);
    assert_non_null(strstr(info.variant, engine));
    kry_op_release(&S);
    kry_op_release(&A);
}

static void solve__of_every_kind(void **state)
{
    kry_type type = type_of(state);
    static const int64_t sizes[] = { 1, 2, 7, 63, 64, 257 };
    NEEDS_CHOLESKY();

    for (size_t i = 0; i < COUNT(sizes); i++) {
        const chain cases[] = { chain_of(sizes[i], 2.5, 2.5), chain_of(sizes[i], 0.55, 0.55),
                                chain_with(sizes[i], -1.5, 2.8, -0.5) };
        for (size_t k = 0; k < (LU ? COUNT(cases) : 1); k++) {
            outcome o = solve(type, &cases[k], "method=direct rtol=1e-6");
            assert_int_equal(o.status, KRY_OK);
            assert_int_equal(o.res.reason, KRY_CONVERGED);
            assert_true(o.res.iterations <= 2);
            NEAR(residual_of(&cases[k], o.x), o.res.true_residual,
                 (type == KRY_F32 ? 1e-6 : 1e-13) * o.res.norm_b, "case %zu", k);
        }
    }
    const chain definite = chain_of(64, 2.5, 2.5), indefinite = chain_of(64, 0.55, 0.55),
                general = chain_with(64, -1.5, 2.8, -0.5);
    check_engine(type, &definite, "Cholesky, CHOLMOD");
    if (LU) {
        check_engine(type, &indefinite, "LU, UMFPACK");
        check_engine(type, &general, "LU, UMFPACK");
    } else {
        check_refused(type, &indefinite);
        check_refused(type, &general);
    }
}

static void solve__zero_rhs_and_exact_guess(void **state)
{
    const chain c = chain_of(50, 2.5, 2.5);
    NEEDS_CHOLESKY();
    check_guess_and_zero(type_of(state), &c, "method=direct rtol=1e-5");
}

/* Steps around factors of the matrix in single come to the accuracy of double. */
static void solve__refines(void **state)
{
    (void)state;
    NEEDS_LU();
    if (acc_type() != KRY_F64) SKIP("no double");

    const chain c = chain_with(MOST, -1.0 / 3, 0.7, -0.3);
    outcome o = solve(KRY_F64, &c, "method=direct precision=mixed rtol=1e-12");
    assert_int_equal(o.status, KRY_OK);
    assert_true(o.res.iterations > 1 && o.res.iterations < 10);
    assert_true(residual_of(&c, o.x) <= 1.01e-12 * o.res.norm_b);
}

/* As far as rounding lets it, and no further. */
static void solve__ends_at_the_limit_of_the_precision(void **state)
{
    kry_type type = type_of(state);
    const chain c = chain_of(MOST, 2, 2);
    NEEDS_CHOLESKY();

    outcome o =
        solve(type, &c, type == KRY_F32 ? "method=direct rtol=6e-8" : "method=direct rtol=1.2e-16");
    assert_int_equal(o.status, KRY_STAGNATED);
    assert_true(o.res.iterations < 10);
    NEAR(residual_of(&c, o.x), 0, (type == KRY_F32 ? 1e-2 : 1e-10) * o.res.norm_b, "x");
}

static void update__other_numbers(void **state)
{
    kry_type type = type_of(state);
    NEEDS_CHOLESKY();
    chain c = chain_of(100, 2.5, 2.5);
    const chain changes[] = { chain_of(100, 3, 4), chain_of(100, 0.55, 0.55),
                              chain_with(100, -1.5, 2.8, -0.5), chain_of(100, 3, 4) };
    kry_vec *b = vec_of(type, c.b, c.n, 1), *x;
    void *first = in_type(type, c.val, c.row_ptr[c.n]);
    kry_op *A, *S;
    kry_result res;

    OK(kry_csr_create(device(), type, c.n, c.n, c.row_ptr, c.col, first,
                      KRY_MATRIX(.format = KRY_FORMAT_CSR), &A));
    free(first);
    OK(kry_vec_create(device(), type, c.n, 1, &x));
    OK(kry_solver_create(A, "method=direct rtol=1e-5 check=none", NULL, NULL, &S));
    for (size_t i = 0; i < COUNT(changes); i++) {
        void *numbers = in_type(type, changes[i].val, c.row_ptr[c.n]);
        OK(kry_op_update(A, numbers));
        free(numbers);
        if (!LU && (i == 1 || i == 2)) { /* not definite */
            REFUSES(kry_op_update(S, NULL), KRY_ERR_UNSUPPORTED, needs_lu);
            continue;
        }
        OK(kry_op_update(S, NULL));
        OK(kry_vec_fill(x, 0));
        OK(kry_solve(S, b, x, &res));
        assert_true(res.iterations <= 2);
        double *found = numbers_of(x);
        NEAR(residual_of(&changes[i], found), 0, 1.1e-5 * res.norm_b, "change %zu", i);
        free(found);
    }
    kry_op_release(&S);
    kry_op_release(&A);
    kry_vec_release(&b);
    kry_vec_release(&x);
}

/* Constants are mapped to zero: with a pin of its own, or one that the options ask for. */
static void solve__singular(void **state)
{
    kry_type type = type_of(state);
    chain c = chain_of(16, 2, 1);
    double mean = 0;
    NEEDS_CHOLESKY();

    for (int k = 0; k < 16; k++) mean += c.b[k] / 16;
    for (int k = 0; k < 16; k++) c.b[k] -= mean;
    outcome o = solve_on(device(), type, &c, KRY_SINGULAR, "method=direct rtol=1e-4");
    assert_int_equal(o.status, KRY_OK);
    NEAR(residual_of(&c, o.x), 0, 1.1e-4 * o.res.norm_b, "projected");
    mean = 0;
    for (int k = 0; k < 16; k++) mean += o.x[k] / 16;
    NEAR(mean, 0, 1e-4, "x is clear of constants");
    o = solve_on(device(), type, &c, KRY_SINGULAR, "method=direct rtol=1e-4 null-space=pin");
    assert_int_equal(o.status, KRY_OK);
    assert_true(o.res.iterations <= 2);
    NEAR(residual_of(&c, o.x), 0, 1.1e-4 * o.res.norm_b, "pinned");
}

static void create__names_what_is_singular(void **state)
{
    kry_type type = type_of(state);
    chain c = chain_with(8, -1.5, 2.8, -0.5);
    kry_op *A, *S;
    NEEDS_LU();

    for (int64_t e = c.row_ptr[4]; e < c.row_ptr[5]; e++) c.val[e] = 0;
    A = matrix_of(device(), type, &c, 0);
    REFUSES(kry_solver_create(A, "method=direct", NULL, NULL, &S), KRY_ERR_UNSUPPORTED,
            "nothing but zeros, the first of them row 4");
    REFUSES(kry_solver_create(A, "method=direct check=none", NULL, NULL, &S), KRY_ERR_SINGULAR,
            "of its 8 pivots 7 are not zero; row 4 depends on the others");
    kry_op_release(&A);
    c = chain_with(8, 0, 1, 0); /* the last two rows are the same */
    c.val[c.row_ptr[7] - 1] = c.val[c.row_ptr[8] - 2] = 1;
    A = matrix_of(device(), type, &c, 0);
    REFUSES(kry_solver_create(A, "method=direct", NULL, NULL, &S), KRY_ERR_SINGULAR,
            "kry_solver_create: the matrix is singular");
    kry_op_release(&A);
}

static void create__refuses(void **state)
{
    kry_type type = type_of(state);
    chain c = chain_of(30, 2.5, 2.5);
    kry_op *A, *S;
    kry_vec *ones;
    NEEDS_CHOLESKY();

    A = matrix_of(device(), type, &c, 0);
    REFUSES(kry_solver_create(A, "method=direct precond=jacobi", NULL, NULL, &S),
            KRY_ERR_UNSUPPORTED, "method=direct takes no preconditioner");
    if (device()->context)
        REFUSES(kry_solver_create(A, "method=direct deflation=stripes:2", NULL, NULL, &S),
                KRY_ERR_UNSUPPORTED, "takes no deflation");
    REFUSES(kry_solver_create(A, "method=direct:3", NULL, NULL, &S), KRY_ERR_PARSE,
            "has no number");
    kry_op_release(&A);
    c = chain_of(30, 2, 1);
    A = matrix_of(device(), type, &c, KRY_SYMMETRIC);
    OK(kry_vec_create(device(), type, c.n, 1, &ones));
    OK(kry_vec_fill(ones, 1));
    OK(kry_op_set_null_space(A, ones));
    REFUSES(kry_solver_create(A, "method=direct", NULL, NULL, &S), KRY_ERR_SINGULAR,
            "maps other vectors than constants to zero");
    kry_vec_release(&ones);
    kry_op_release(&A);
    if (!device()->context) return;
    kry_device *team = open_team(2, (kry_team_params){ 0 });
    c = chain_of(MOST, 2.5, 2.5);
    A = matrix_of(team, type, &c, 0);
    REFUSES(kry_solver_create(A, "method=direct", NULL, NULL, &S), KRY_ERR_UNSUPPORTED,
            "takes no team of devices");
    kry_op_release(&A);
    close_team(&team);
}

static kry_sparse sparse_of(chain *c)
{
    return (kry_sparse){ c->n, c->n, KRY_F64, c->row_ptr, c->col, c->val };
}

static void factor_numbers__refuses(void **state)
{
    (void)state;
    chain definite = chain_of(100, 2.5, 2.5), general = chain_with(100, -1.5, 2.8, -0.5);
    const kry_sparse matrices[] = { sparse_of(&definite), sparse_of(&general) };
    NEEDS_CHOLESKY();

    for (size_t i = 0; i < (LU ? COUNT(matrices) : 1); i++) {
        kry_factor F;
        OK(kry_factor_analyse("who", &matrices[i], &F));
        assert_true(F.cost.flops >= 200 && F.cost.bytes >= 1600);
        REFUSES(kry_factor_numbers("who", &matrices[i], 1000, &F), KRY_ERR_MEMORY,
                "and there are 1e+03");
        OK(kry_factor_numbers("who", &matrices[i], F.cost.bytes, &F));
        ((double *)matrices[i].val)[4] = NAN;
        REFUSES(kry_factor_numbers("who", &matrices[i], 0, &F), KRY_ERR_ARGUMENT, "is nan");
        kry_factor_release(&F);
    }
}

static void create__without_suitesparse(void **state)
{
    kry_type type = type_of(state);
    chain definite = chain_of(30, 2.5, 2.5), general = chain_with(30, -1.5, 2.8, -0.5);
    kry_op *A = matrix_of(device(), type, &general, 0),
           *P = matrix_of(device(), type, &definite, 0), *S = NULL;

    if (!LU)
        REFUSES(kry_solver_create(A, "method=direct", NULL, NULL, &S), KRY_ERR_UNSUPPORTED,
                CHOLESKY ? needs_lu : "SuiteSparse");
    if (!LU && !CHOLESKY)
        REFUSES(kry_solver_create(P, "method=direct", NULL, NULL, &S), KRY_ERR_UNSUPPORTED,
                "this build of kry has neither");
    if (LU || CHOLESKY) OK(kry_solver_create(P, "method=direct", NULL, NULL, &S));
    kry_op_release(&S);
    kry_op_release(&P);
    kry_op_release(&A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(solve__of_every_kind),
        BOTH(solve__zero_rhs_and_exact_guess),
        cmocka_unit_test(solve__refines),
        BOTH(solve__ends_at_the_limit_of_the_precision),
        BOTH(update__other_numbers),
        BOTH(solve__singular),
        BOTH(create__names_what_is_singular),
        BOTH(create__refuses),
        cmocka_unit_test(factor_numbers__refuses),
        BOTH(create__without_suitesparse),
    };
    return cmocka_run_group_tests_name("direct", tests, keep_profile, restore_profile);
}
