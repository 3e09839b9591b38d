/*
 * test_cycle.c - cycles of multigrid against the same in dense matrices on the host: every smoother and
 * shape, over levels that the test makes itself of a chain of springs.
 */
#include "multigrid/hierarchy.h"
#include "testing.h"
#include <kry/formats.h>

enum { MOST = 31, LEVELS = 3 }; /* unknowns: 31, 15, 7 */

/* ---- the levels, dense ----------------------------------------------------------------------- */

typedef double square[MOST][MOST];

/* A[i]: n[i]-by-n[i];  P[i]: n[i]-by-n[i + 1], linear interpolation */
typedef struct chain {
    kry_type type;
    int levels, n[LEVELS];
    square A[LEVELS], P[LEVELS];
} chain;

static void multiply(int rows, int inner, int cols, square X, bool transposed, square Y, square Z)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++) {
            double sum = 0;
            for (int k = 0; k < inner; k++) sum += (transposed ? X[k][i] : X[i][k]) * Y[k][j];
            Z[i][j] = sum;
        }
}

/* Springs of random stiffness between unknowns, and to walls at the ends. */
static void make_springs(chain *c)
{
    const int n = c->n[0];
    double left = 1 + random_number(KRY_F32) / 2;

    for (int i = 0; i < n; i++) {
        const double right = 1 + random_number(KRY_F32) / 2;
        c->A[0][i][i] = left + right;
        if (i + 1 < n) c->A[0][i][i + 1] = c->A[0][i + 1][i] = -right;
        left = right;
    }
}

static chain *make_chain(kry_type type, int levels)
{
    chain *c = calloc(1, sizeof *c);
    square AP;

    assert_non_null(c);
    c->type = type, c->levels = levels, c->n[0] = MOST;
    make_springs(c);
    for (int l = 0; l + 1 < levels; l++) {
        const int n = c->n[l], m = c->n[l + 1] = (n - 1) / 2;
        for (int j = 0; j < m; j++)
            c->P[l][2 * j][j] = c->P[l][2 * j + 2][j] = 0.5, c->P[l][2 * j + 1][j] = 1;
        multiply(n, n, m, c->A[l], false, c->P[l], AP);
        multiply(m, n, m, c->P[l], true, AP, c->A[l + 1]);
    }
    return c;
}

/* ---- the levels, stored ---------------------------------------------------------------------- */

static kry_op *stored(const chain *c, int rows, int cols, bool transposed, square X,
                      unsigned traits)
{
    int64_t row_ptr[MOST + 1] = { 0 }, count = 0;
    int32_t col[MOST * MOST];
    double val[MOST * MOST];
    kry_op *op = NULL;

    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < cols; j++) {
            const double entry = transposed ? X[j][i] : X[i][j];
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

static kry_status chain_create(kry_hierarchy *H, const kry_op *A, const void *params, void **self)
{
    kry_status st = KRY_OK;
    chain *c = *(chain *const *)params;
    kry_level level[LEVELS] = { { .A = kry_op_retain(A) } };

    *self = c;
    for (int l = 0; l < c->levels; l++) {
        const int n = c->n[l], m = l + 1 < c->levels ? c->n[l + 1] : 0;
        if (l) level[l].A = stored(c, n, n, false, c->A[l], KRY_POSITIVE);
        if (m) level[l].P = stored(c, n, m, false, c->P[l], 0);
        if (m) level[l].R = stored(c, m, n, true, c->P[l], 0);
        TRY(kry_hierarchy_add(H, &level[l]));
    }
done:
    for (int l = 0; l < c->levels; l++) {
        kry_op_release(&level[l].R);
        kry_op_release(&level[l].P);
        kry_op_release(&level[l].A);
    }
    return st;
}

static kry_status chain_update(kry_hierarchy *H, void *self)
{
    (void)H, (void)self;
    return KRY_OK;
}

static void chain_destroy(void *self) { free(self); }

static const kry_family family = { .kind = "chain",
                                   .who = "test_cycle",
                                   .create = chain_create,
                                   .update = chain_update,
                                   .destroy = chain_destroy };

/* M, which owns c from now on. */
static kry_op *make_cycle(chain *c, const kry_op *A, const kry_cycle_params *how)
{
    kry_op *M = NULL;
    OK(kry_hierarchy_create(&family, A, how, &c, &M));
    return M;
}

/* ---- the same on the host -------------------------------------------------------------------- */

/* A smoother by its recurrence, not by the roots of its polynomial: x := x + p(D^-1 A) D^-1 (b - A x). */
static void correct_by(const chain *c, int l, const double *step, int steps, double *r, double *x)
{
    const int n = c->n[l];
    for (int s = 0; s < steps; s++) {
        double d[MOST];
        for (int i = 0; i < n; i++) d[i] = step[s] * r[i] / c->A[l][i][i];
        for (int i = 0; i < n; i++) {
            x[i] += d[i];
            for (int j = 0; j < n; j++) r[i] -= c->A[l][i][j] * d[j];
        }
    }
}

/* Chebyshev, first kind, on highest / 4 ... highest: Saad, algorithm 12.1. */
static void correct_chebyshev(const chain *c, int l, int degree, double highest, double *r,
                              double *x)
{
    const int n = c->n[l];
    const double theta = highest * 0.625, delta = highest * 0.375, sigma = theta / delta;
    double rho = 1 / sigma, d[MOST];

    for (int i = 0; i < n; i++) d[i] = r[i] / c->A[l][i][i] / theta;
    for (int k = 0; k < degree; k++) {
        for (int i = 0; i < n; i++) {
            x[i] += d[i];
            for (int j = 0; j < n; j++) r[i] -= c->A[l][i][j] * d[j];
        }
        const double next = 1 / (2 * sigma - rho);
        for (int i = 0; i < n; i++)
            d[i] = next * rho * d[i] + 2 * next / delta * r[i] / c->A[l][i][i];
        rho = next;
    }
}

/* Of the fourth kind: J. Lottes 2022, algorithm 1 and table 1. */
static void correct_chebyshev4(const chain *c, int l, int degree, double highest, double *r,
                               double *x)
{
    static const double beta[4][4] = {
        { 1.12500000000000 },
        { 1.02387287570313, 1.26408905371085 },
        { 1.00842544782028, 1.08867839208730, 1.33753125909618 },
        { 1.00391310427285, 1.04035811188593, 1.14863498546254, 1.38268869241000 },
    };
    const int n = c->n[l];
    double z[MOST], residual[MOST];

    memcpy(residual, r, sizeof residual);
    for (int i = 0; i < n; i++) z[i] = 4 / (3 * highest) * r[i] / c->A[l][i][i];
    for (int k = 1; k <= degree; k++) {
        double Az[MOST];
        for (int i = 0; i < n; i++) {
            Az[i] = 0;
            for (int j = 0; j < n; j++) Az[i] += c->A[l][i][j] * z[j];
        }
        for (int i = 0; i < n; i++) {
            const double by = beta[degree - 1][k - 1];
            x[i] += by * z[i], r[i] -= by * Az[i], residual[i] -= Az[i];
        }
        for (int i = 0; i < n; i++)
            z[i] = (2 * k - 1.0) / (2 * k + 3) * z[i] +
                   (8 * k + 4.0) / (2 * k + 3) / highest * residual[i] / c->A[l][i][i];
    }
}

static void smooth(const chain *c, int l, const kry_cycle_params *how, double highest,
                   const double *b, double *x)
{
    const int n = c->n[l];
    double r[MOST] = { 0 };

    for (int s = 0; s < how->sweeps; s++) {
        for (int i = 0; i < n; i++) {
            r[i] = b[i];
            for (int j = 0; j < n; j++) r[i] -= c->A[l][i][j] * x[j];
        }
        if (how->smoother == KRY_SMOOTHER_CHEBYSHEV) {
            correct_chebyshev(c, l, how->degree, highest, r, x);
        } else if (how->smoother == KRY_SMOOTHER_CHEBYSHEV4) {
            correct_chebyshev4(c, l, how->degree, highest, r, x);
        } else {
            const double omega = how->omega > 0 ? how->omega : 1.6 / highest;
            correct_by(c, l, &omega, 1, r, x);
        }
    }
}

/* x := A^-1 b by Gauss's elimination; A is positive definite. */
static void eliminate(int n, square A, const double *b, double *x)
{
    square U;

    memcpy(U, A, sizeof U);
    memcpy(x, b, (size_t)n * sizeof *x);
    for (int k = 0; k < n; k++)
        for (int i = k + 1; i < n; i++) {
            const double by = U[i][k] / U[k][k];
            for (int j = k; j < n; j++) U[i][j] -= by * U[k][j];
            x[i] -= by * x[k];
        }
    for (int i = n - 1; i >= 0; i--) {
        for (int j = i + 1; j < n; j++) x[i] -= U[i][j] * x[j];
        x[i] /= U[i][i];
    }
}

/* highest: of each level. x: the iterate before and after. */
static void reference(chain *c, int l, const kry_cycle_params *how, const double *highest,
                      const double *b, double *x)
{
    if (l == c->levels - 1) {
        eliminate(c->n[l], c->A[l], b, x);
        return;
    }
    const int n = c->n[l], m = c->n[l + 1];
    double coarse[MOST] = { 0 }, e[MOST] = { 0 };

    smooth(c, l, how, highest[l], b, x);
    for (int i = 0; i < n; i++) {
        double r = b[i];
        for (int j = 0; j < n; j++) r -= c->A[l][i][j] * x[j];
        for (int k = 0; k < m; k++) coarse[k] += c->P[l][i][k] * r;
    }
    for (int visit = 0; visit < (how->shape == KRY_CYCLE_W ? 2 : 1); visit++)
        reference(c, l + 1, how, highest, coarse, e);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < m; k++) x[i] += c->P[l][i][k] * e[k];
    smooth(c, l, how, highest[l], b, x);
}

/* ---- tests ------------------------------------------------------------------------------------- */

static const kry_cycle_params cycles[] = {
    { .smoother = KRY_SMOOTHER_JACOBI, .sweeps = 1, .omega = 0.7 },
    { .smoother = KRY_SMOOTHER_JACOBI, .sweeps = 3, .shape = KRY_CYCLE_W },
    { .smoother = KRY_SMOOTHER_CHEBYSHEV, .sweeps = 1, .degree = 1 },
    { .smoother = KRY_SMOOTHER_CHEBYSHEV, .sweeps = 2, .degree = 3 },
    { .smoother = KRY_SMOOTHER_CHEBYSHEV, .sweeps = 1, .degree = 2, .shape = KRY_CYCLE_W },
    { .smoother = KRY_SMOOTHER_CHEBYSHEV4, .sweeps = 1, .degree = 1 },
    { .smoother = KRY_SMOOTHER_CHEBYSHEV4, .sweeps = 1, .degree = 2 },
    { .smoother = KRY_SMOOTHER_CHEBYSHEV4, .sweeps = 1, .degree = 3 },
    { .smoother = KRY_SMOOTHER_CHEBYSHEV4, .sweeps = 2, .degree = 4, .shape = KRY_CYCLE_W },
};

/* With omega given, or the bound on the spectrum set by the test, both sides know the same numbers: 2, as
 * Gershgorin says of springs; for coarser levels the same. */
static kry_status chain_with_bound(kry_hierarchy *H, const kry_op *A, const void *params,
                                   void **self)
{
    kry_status st = KRY_OK;
    TRY(chain_create(H, A, params, self));
    for (int l = 0; l < kry_hierarchy_levels(H); l++) kry_hierarchy_level(H, l)->highest = 2;
done:
    return st;
}

static void cycle__as_in_dense_matrices(void **state)
{
    static const double highest[LEVELS] = { 2, 2, 2 };
    const kry_type type = type_of(state);
    kry_family bounded = family;

    bounded.create = chain_with_bound;
    for (size_t i = 0; i < COUNT(cycles); i++)
        for (int levels = 1; levels <= LEVELS; levels++) {
            chain *c = make_chain(type, levels);
            kry_op *A = stored(c, MOST, MOST, false, c->A[0], KRY_POSITIVE), *M = NULL;
            double *b = random_array(type, MOST), x[MOST] = { 0 };
            kry_vec *B = vec_of(type, b, MOST, 1), *X = vec_of(type, b, MOST, 1);
            OK(kry_hierarchy_create(&bounded, A, &cycles[i], &c, &M));
            OK(kry_vec_fill(X, NAN));
            OK(kry_op_apply(M, 1, B, 0, X));
            reference(c, 0, &cycles[i], highest, b, x);
            double *got = numbers_of(X);
            for (int k = 0; k < MOST; k++)
                NEAR(got[k], x[k], 4000 * eps_of(type), "cycle %d, %d levels, row %d", (int)i,
                     levels, k);
            free(got), free(b);
            kry_vec_release(&X), kry_vec_release(&B);
            kry_op_release(&M), kry_op_release(&A);
        }
}

static void cycle__symmetric_and_positive(void **state)
{
    const kry_type type = type_of(state);

    for (size_t i = 0; i < COUNT(cycles); i++) {
        chain *c = make_chain(type, LEVELS);
        kry_op *A = stored(c, MOST, MOST, false, c->A[0], KRY_POSITIVE);
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
    kry_op *A = stored(c, MOST, MOST, false, c->A[0], KRY_POSITIVE), *M = make_cycle(c, A, &k),
           *S = NULL;
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
                { { .shape = (kry_cycle_shape)7 }, "shape = 7" },
                { { .smoother = (kry_smoother)17 }, "smoother = 17" },
                { { .coarsest = -3 }, "coarsest = -3" },
                { { .levels = -2 }, "levels = -2" } };
    (void)state;
    chain *c = make_chain(KRY_F32, LEVELS);
    kry_op *A = stored(c, MOST, MOST, false, c->A[0], KRY_POSITIVE), *M = A;

    for (size_t i = 0; i < COUNT(bad); i++) {
        REFUSES(kry_hierarchy_create(&family, A, &bad[i].how, &c, &M), KRY_ERR_ARGUMENT,
                bad[i].text);
        assert_null(M);
    }
    free(c);
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
