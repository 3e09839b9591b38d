/*
 * test_cycle.c - cycles of multigrid, and full multigrid, against the same in dense matrices on the host: every
 * smoother and shape, over levels that the test makes itself of a chain of springs.
 */
#include "multigrid/cycle.h"
#include "precond/dense_cycle.h"
#include <kry/formats.h>

enum { MOST = 31, LEVELS = 4 }; /* unknowns: 31, 15, 7, 3 */

/* ---- the levels, dense ----------------------------------------------------------------------- */

/* Levels of springs with linear interpolation between them. */
typedef struct chain {
    kry_type type;
    dense_levels dense;
} chain;

/* Springs of random stiffness between unknowns, and to walls at the ends. */
static void make_springs(dense_level *L)
{
    const int n = L->n;
    double left = 1 + random_number(KRY_F32) / 2;

    for (int i = 0; i < n; i++) {
        const double right = 1 + random_number(KRY_F32) / 2;
        L->A[i * n + i] = left + right;
        if (i + 1 < n) L->A[i * n + i + 1] = L->A[(i + 1) * n + i] = -right;
        left = right;
    }
}

/* Gershgorin says of springs, and on coarser levels, too: no eigenvalue of D^-1 A is above 2. */
static chain *make_chain(kry_type type, int levels)
{
    chain *c = calloc(1, sizeof *c);

    assert_non_null(c);
    c->type = type, c->dense.count = levels;
    for (int l = 0, n = MOST; l < levels; l++, n = (n - 1) / 2) {
        dense_level *L = &c->dense.level[l], *finer = L - 1;
        *L = (dense_level){ .n = n, .A = dense_zeros(n, n), .highest = 2 };
        if (l + 1 < levels) L->m = (n - 1) / 2, L->P = dense_zeros(n, L->m);
        for (int j = 0; j < L->m; j++) {
            L->P[2 * j * L->m + j] = L->P[(2 * j + 2) * L->m + j] = 0.5;
            L->P[(2 * j + 1) * L->m + j] = 1;
        }
        if (l == 0) {
            make_springs(L);
        } else {
            double *AP = dense_zeros(finer->n, n);
            dense_times(finer->n, finer->n, n, finer->A, false, finer->P, AP);
            dense_times(n, finer->n, n, finer->P, true, AP, L->A);
            free(AP);
        }
        dense_invert_diagonal(L);
    }
    return c;
}

static void chain_destroy(void *self)
{
    chain *c = self;
    if (c) dense_release(&c->dense);
    free(c);
}

/* ---- the levels, stored ---------------------------------------------------------------------- */

/* X, rows-by-cols, or stored as its transpose. */
static kry_op *stored(const chain *c, int rows, int cols, bool transposed, const double *X,
                      unsigned traits)
{
    int64_t row_ptr[MOST + 1] = { 0 }, count = 0;
    int32_t col[MOST * MOST];
    double val[MOST * MOST];
    kry_op *op = NULL;

    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < cols; j++) {
            const double entry = transposed ? X[j * rows + i] : X[i * cols + j];
            if (entry != 0) col[count] = j, val[count++] = entry;
        }
        row_ptr[i + 1] = count;
    }
    void *numbers = in_type(c->type, val, count);
    OK(kry_csr_create(device(), c->type, rows, cols, row_ptr, col, numbers,
                      KRY_MATRIX(.traits = traits, .format = KRY_FORMAT_CSR), &op));
    free(numbers);
    return op;
}

static kry_status chain_create(kryi_hierarchy *H, const kry_op *A, const void *params, void **self)
{
    kry_status st = KRY_OK;
    chain *c = *(chain *const *)params;
    kryi_level level[LEVELS] = { { .A = kry_op_retain(A) } };

    *self = c;
    for (int l = 0; l < c->dense.count; l++) {
        const dense_level *L = &c->dense.level[l];
        if (l) level[l].A = stored(c, L->n, L->n, false, L->A, KRY_POSITIVE);
        if (L->m) level[l].P = stored(c, L->n, L->m, false, L->P, 0);
        if (L->m) level[l].R = stored(c, L->m, L->n, true, L->P, 0);
        level[l].highest = L->highest;
        TRY(kryi_hierarchy_add(H, &level[l]));
    }
done:
    for (int l = 0; l < c->dense.count; l++) {
        kry_op_release(&level[l].R);
        kry_op_release(&level[l].P);
        kry_op_release(&level[l].A);
    }
    return st;
}

static kry_status chain_update(kryi_hierarchy *H, void *self)
{
    (void)H, (void)self;
    return KRY_OK;
}

static const kryi_family family = { .kind = "chain",
                                    .who = "test_cycle",
                                    .create = chain_create,
                                    .update = chain_update,
                                    .destroy = chain_destroy };

static kry_op *finest(const chain *c)
{
    return stored(c, MOST, MOST, false, c->dense.level[0].A, KRY_POSITIVE);
}

/* M, which owns c from now on. */
static kry_op *make_cycle(chain *c, const kry_op *A, const kry_cycle_params *how)
{
    kry_op *M = NULL;
    OK(kryi_hierarchy_create(&family, A, how, &c, &M));
    return M;
}

/* ---- tests ------------------------------------------------------------------------------------- */

static const kry_cycle_params cycles[] = {
    { .smoother = KRY_SMOOTHER_JACOBI, .sweeps = 1, .omega = 0.7 },
    { .smoother = KRY_SMOOTHER_JACOBI, .sweeps = 3, .shape = KRY_CYCLE_W },
    { .smoother = KRY_SMOOTHER_CHEBYSHEV, .sweeps = 1, .degree = 1 },
    { .smoother = KRY_SMOOTHER_CHEBYSHEV, .sweeps = 2, .degree = 3 },
    { .smoother = KRY_SMOOTHER_CHEBYSHEV, .sweeps = 1, .degree = 2, .shape = KRY_CYCLE_W },
    { .smoother = KRY_SMOOTHER_CHEBYSHEV4, .sweeps = 1, .degree = 1 },
    { .smoother = KRY_SMOOTHER_CHEBYSHEV, .sweeps = 1, .degree = 2, .shape = KRY_CYCLE_F },
    { .smoother = KRY_SMOOTHER_CHEBYSHEV4, .sweeps = 1, .degree = 2 },
    { .smoother = KRY_SMOOTHER_CHEBYSHEV4, .sweeps = 1, .degree = 3 },
    { .smoother = KRY_SMOOTHER_CHEBYSHEV4, .sweeps = 2, .degree = 4, .shape = KRY_CYCLE_W },
};

static void cycle__as_in_dense_matrices(void **state)
{
    const kry_type type = type_of(state);

    for (size_t i = 0; i < COUNT(cycles); i++)
        for (int levels = 1; levels <= LEVELS; levels++) {
            chain *c = make_chain(type, levels);
            kry_op *A = finest(c), *M = make_cycle(c, A, &cycles[i]);
            double *b = random_array(type, MOST), x[MOST] = { 0 };
            kry_vec *B = vec_of(type, b, MOST, 1), *X = vec_of(type, b, MOST, 1);
            for (int full = 0; full < 2; full++) {
                OK(kry_vec_fill(X, NAN));
                OK(full ? kryi_cycle_run(kryi_hierarchy_of(M), true, B, X, (kryi_cycle_sums){ 0 })
                        : kry_op_apply(M, 1, B, 0, X));
                memset(x, 0, sizeof x);
                (full ? dense_full : dense_cycle)(&c->dense, 0, &cycles[i], b, x);
                double *got = numbers_of(X);
                for (int k = 0; k < MOST; k++)
                    NEAR(got[k], x[k], 4000 * eps_of(type), "cycle %d, %d levels, row %d%s", (int)i,
                         levels, k, full ? ", full" : "");
                free(got);
            }
            free(b);
            kry_vec_release(&X), kry_vec_release(&B);
            kry_op_release(&M), kry_op_release(&A);
        }
}

static void cycle__symmetric_and_positive(void **state)
{
    const kry_type type = type_of(state);

    for (size_t i = 0; i < COUNT(cycles); i++) {
        if (cycles[i].shape == KRY_CYCLE_F) continue; /* is not symmetric */
        chain *c = make_chain(type, LEVELS);
        kry_op *A = finest(c);
        kry_op *M = make_cycle(c, A, &cycles[i]);
        kry_probe probe;
        assert_true(kry_op_get_shape(M)->traits & KRY_SYMMETRIC);
        OK(kry_op_probe(M, random_bits(), &probe));
        assert_true(probe.symmetric && probe.positive);
        kry_op_release(&M), kry_op_release(&A);
    }
}

/* A K-cycle leaves no more of the error than a V-cycle, and is for flexible methods. */
static void k_cycle__two_steps(void **state)
{
    const kry_type type = type_of(state);
    const kry_cycle_params k = { .smoother = KRY_SMOOTHER_JACOBI, .shape = KRY_CYCLE_K };
    chain *c = make_chain(type, LEVELS);
    kry_op *A = finest(c), *M = make_cycle(c, A, &k), *S = NULL;
    double *b = random_array(type, MOST), x[MOST] = { 0 };
    kry_result result;

    assert_int_equal(kry_op_get_shape(M)->traits & (KRY_VARYING | KRY_SYMMETRIC), KRY_VARYING);
    assert_int_equal(kry_pcg_create(A, KRY_PCG(.precond = M), &S), KRY_ERR_TYPE);
    OK(kry_pcg_create(A, KRY_PCG(.precond = M, .flexible = KRY_POLAK_RIBIERE), &S));
    OK(kry_solve_host(S, b, x, &result));
    assert_true(result.iterations <= 12);
    free(b);
    kry_op_release(&S), kry_op_release(&M), kry_op_release(&A);
}

static void cycle_create__refusals(void **state)
{
    static const struct {
        kry_cycle_params how;
        const char *text;
    } bad[] = { { { .degree = 9 }, "degree = 9" },
                { { .sweeps = -1 }, "sweeps = -1" },
                { { .omega = -0.5 }, "omega = -0.5" },
                { { .shape = (kry_cycle_shape)7 }, "cycle = 7 is none of v, w, k, f" },
                { { .smoother = (kry_smoother)17 }, "smoother = 17" },
                { { .scaling = (kry_smoother_scaling)5 }, "scaling = 5" },
                { { .smoother = KRY_SMOOTHER_RED_BLACK, .scaling = KRY_SCALING_L1 },
                  "have no scaling" },
                { { .smoother = KRY_SMOOTHER_RED_BLACK, .omega = 2 }, "omega = 2" },
                { { .coarsest = -3 }, "coarsest = -3" },
                { { .levels = -2 }, "levels = -2" } };
    (void)state;
    chain *c = make_chain(KRY_F32, LEVELS);
    kry_op *A = finest(c), *M = A;

    for (size_t i = 0; i < COUNT(bad); i++) {
        REFUSES(kryi_hierarchy_create(&family, A, &bad[i].how, &c, &M), KRY_ERR_ARGUMENT,
                bad[i].text);
        assert_null(M);
    }
    chain_destroy(c);
    kry_op_release(&A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(cycle__as_in_dense_matrices),
        BOTH(cycle__symmetric_and_positive),
        BOTH(k_cycle__two_steps),
        cmocka_unit_test(cycle_create__refusals),
    };
    return cmocka_run_group_tests_name("cycle", tests, NULL, close_device);
}
