/*
 * test_change_format.c - a matrix whose format the library chose, symdia, and numbers that are not symmetric: the operator
 * takes another format, its pointer stays, and all that was made of it follows. Against sums in long double.
 */
#include "teams.h"
#include <kry/solver.h>

/* A grid of w-by-h points, each coupled with those beside it; diagonally dominant. */
typedef struct grid {
    int64_t n, nnz, *row_ptr;
    int32_t *col;
    double *val;
} grid;

static grid grid_of(int64_t w, int64_t h)
{
    grid g = { .n = w * h, .row_ptr = calloc((size_t)(w * h) + 1, sizeof *g.row_ptr) };
    g.col = calloc((size_t)g.n * 5, sizeof *g.col);
    g.val = calloc((size_t)g.n * 5, sizeof *g.val);
    assert_true(g.row_ptr && g.col && g.val);
    for (int64_t i = 0; i < g.n; i++) {
        const int64_t x = i % w, beside[] = { i - w, i - 1, i, i + 1, i + w };
        const bool there[] = { i >= w, x > 0, true, x + 1 < w, i + w < g.n };
        for (int k = 0; k < 5; k++)
            if (there[k]) g.col[g.nnz++] = (int32_t)beside[k];
        g.row_ptr[i + 1] = g.nnz;
    }
    return g;
}

static void grid_release(grid *g) { free(g->row_ptr), free(g->col), free(g->val); }

static int64_t place_of(const grid *g, int64_t i, int64_t j)
{
    int64_t k = g->row_ptr[i];
    while (g->col[k] != j) k++;
    return k;
}

/* How the numbers of mirror images are: the same, to the bit; the same but for rounding; any. */
typedef enum likeness { EQUAL, ROUNDED, UNEQUAL } likeness;

/* New random numbers. */
static void renew(grid *g, kry_type type, likeness like)
{
    for (int64_t i = 0; i < g->n; i++)
        for (int64_t k = g->row_ptr[i]; k < g->row_ptr[i + 1]; k++) {
            const int64_t j = g->col[k];
            const double v = -1 + 0.5 * random_number(KRY_F32);
            double number = j == i ? 6.25 + random_number(KRY_F32) : v;

            if (j < i && like != UNEQUAL) number = g->val[place_of(g, j, i)];
            if (j < i && like == ROUNDED && random_below(3) == 0)
                number *= 1 + (double)eps_of(type);
            g->val[k] = to_type(type, number);
        }
}

static void give(kry_op *A, kry_type type, const grid *g)
{
    void *val = in_type(type, g->val, g->nnz);
    OK(kry_op_update(A, val));
    free(val);
}

static kry_op *matrix_of(kry_device *dev, kry_type type, const grid *g, kry_matrix_params params)
{
    kry_op *A;
    void *val = in_type(type, g->val, g->nnz);
    params.struct_size = sizeof params;
    OK(kry_csr_create(dev, type, g->n, g->n, g->row_ptr, g->col, val, &params, &A));
    free(val);
    return A;
}

/* y := A x, or A' x, and the sum of the absolute values. */
static void multiply(const grid *g, bool transposed, const double *x, long double *y,
                     long double *size)
{
    memset(y, 0, (size_t)g->n * sizeof *y), memset(size, 0, (size_t)g->n * sizeof *size);
    for (int64_t i = 0; i < g->n; i++)
        for (int64_t k = g->row_ptr[i]; k < g->row_ptr[i + 1]; k++) {
            const int64_t to = transposed ? g->col[k] : i, from = transposed ? i : g->col[k];
            y[to] += (long double)g->val[k] * x[from];
            size[to] += fabsl((long double)g->val[k] * x[from]);
        }
}

static void assert_near(kry_type type, const kry_vec *got, const long double *want,
                        const long double *size, const char *what)
{
    double *numbers = numbers_of(got);
    for (int64_t i = 0; i < kry_vec_rows(got); i++)
        NEAR(numbers[i], want[i], 16 * eps_of(type) * size[i], "%s, row %lld", what, (long long)i);
    free(numbers);
}

/* Entries, diagonal and all products of A are those of g. */
static void check(const kry_op *A, kry_type type, const grid *g)
{
    kry_device *dev = kry_op_device(A);
    double *x = random_array(type, g->n), *b = random_array(type, g->n);
    kry_vec *in = vec_on(dev, type, x, g->n, 1), *rhs = vec_on(dev, type, b, g->n, 1), *out;
    long double *y = calloc((size_t)g->n, sizeof *y), *size = calloc((size_t)g->n, sizeof *size);
    int64_t *row_ptr = calloc((size_t)g->n + 1, sizeof *row_ptr);
    int32_t *col = calloc((size_t)g->nnz, sizeof *col);
    void *val = calloc((size_t)g->nnz, sizeof(double));

    assert_true(y && size && row_ptr && col && val);
    OK(kry_vec_create(dev, type, g->n, 1, &out));
    OK(kry_op_apply(A, 1, in, 0, out));
    multiply(g, false, x, y, size);
    assert_near(type, out, y, size, "A x");
    OK(kry_op_residual(A, rhs, in, out));
    for (int64_t i = 0; i < g->n; i++) y[i] = b[i] - y[i], size[i] += fabsl(b[i]);
    assert_near(type, out, y, size, "b - A x");
    if (kry_team_size(dev) == 1) {
        OK(kry_op_apply_transpose(A, 1, in, 0, out));
        multiply(g, true, x, y, size);
        assert_near(type, out, y, size, "A' x");
    }
    OK(kry_op_diagonal(A, out));
    for (int64_t i = 0; i < g->n; i++) y[i] = size[i] = g->val[place_of(g, i, i)];
    assert_near(type, out, y, size, "the diagonal");
    OK(kry_matrix_read(A, row_ptr, col, val));
    assert_memory_equal(row_ptr, g->row_ptr, ((size_t)g->n + 1) * sizeof *row_ptr);
    assert_memory_equal(col, g->col, (size_t)g->nnz * sizeof *col);
    for (int64_t k = 0; k < g->nnz; k++) assert_true(at(type, val, k) == g->val[k]);
    free(val), free(col), free(row_ptr), free(size), free(y), free(b), free(x);
    kry_vec_release(&out), kry_vec_release(&rhs), kry_vec_release(&in);
}

static const char *format_of(const kry_op *A)
{
    kry_op_info info;
    kry_op_describe(A, &info);
    return info.kind;
}

/* There and back, and what was refused has changed nothing. */
static void go_through(kry_op *A, kry_type type, grid *g)
{
    static const likeness rounds[] = { EQUAL, UNEQUAL, ROUNDED, EQUAL, UNEQUAL };

    for (size_t i = 0; i < COUNT(rounds); i++) {
        renew(g, type, rounds[i]);
        give(A, type, g);
        check(A, type, g);
    }
    void *val = in_type(type, g->val, g->nnz);
    put(type, val, 7, (double)NAN);
    REFUSES(kry_op_update(A, val), KRY_ERR_ARGUMENT, "kry_op_update");
    check(A, type, g);
    free(val);
}

static void change_format__products(void **state)
{
    const kry_type type = type_of(state);

    for (int i = 0; i < 3; i++) {
        grid g = grid_of(13, 12 + random_below(5));
        renew(&g, type, EQUAL);
        kry_op *A = matrix_of(
            device(), type, &g,
            (kry_matrix_params){ .values = i == 1 ? KRY_VALUES_AS_GIVEN : KRY_VALUES_COMPACT });
        assert_string_equal(format_of(A), "symdia");
        if (i < 2) check(A, type, &g);
        go_through(A, type, &g);
        assert_string_not_equal(format_of(A), "symdia");
        kry_op_release(&A);
        grid_release(&g);
    }
}

/* So many entries that a GPU makes the format of them. */
static void change_format__made_by_the_device(void **state)
{
    const kry_type type = type_of(state);

    if (small_run()) SKIP("too large for Oclgrind");
    grid g = grid_of(128, 104);
    renew(&g, type, EQUAL);
    kry_op *A = matrix_of(device(), type, &g, (kry_matrix_params){ .traits = 0 });
    assert_string_equal(format_of(A), "symdia");
    go_through(A, type, &g);
    assert_string_not_equal(format_of(A), "symdia");
    kry_op_release(&A);
    grid_release(&g);
}

static void change_format__on_teams(void **state)
{
    const kry_type type = type_of(state);

    for (int i = 0; i < 2; i++) {
        grid g = grid_of(13, 14);
        kry_device *team = open_team(2 + i, (kry_team_params){ .reproducible = false });
        renew(&g, type, EQUAL);
        kry_op *A = matrix_of(team, type, &g, (kry_matrix_params){ .traits = 0 });
        go_through(A, type, &g);
        kry_op_release(&A);
        close_team(&team);
        grid_release(&g);
    }
}

/* Who asked for the format, or promised, is told. */
static void change_format__what_was_promised(void **state)
{
    const kry_type type = type_of(state);
    static const struct {
        kry_matrix_params params;
        const char *text;
    } cases[] = { { { .format = KRY_FORMAT_SYMDIA }, "take another format" },
                  { { .traits = KRY_SYMMETRIC }, "was promised to be symmetric" },
                  { { .traits = KRY_POSITIVE }, "was promised to be symmetric" } };

    for (size_t i = 0; i < COUNT(cases); i++) {
        grid g = grid_of(9, 11);
        renew(&g, type, EQUAL);
        kry_op *A = matrix_of(device(), type, &g, cases[i].params);
        assert_string_equal(format_of(A), "symdia");
        void *val = in_type(type, g.val, g.nnz);
        put(type, val, 1, -3);
        REFUSES(kry_op_update(A, val), KRY_ERR_ARGUMENT, "differs from its mirror image");
        assert_non_null(strstr(kry_last_error(), cases[i].text));
        check(A, type, &g);
        free(val);
        kry_op_release(&A);
        grid_release(&g);
    }
}

/* C = A B of matrices that change their formats, made again of their new numbers. */
static void change_format__of_factors(void **state)
{
    const kry_type type = type_of(state);
    static const likeness rounds[] = { EQUAL, UNEQUAL, ROUNDED, EQUAL };
    grid g[2] = { grid_of(11, 12), grid_of(11, 12) };
    kry_op *factor[2], *C = NULL;
    long double *y = calloc((size_t)g[0].n, sizeof *y), *size = calloc((size_t)g[0].n, sizeof *y);
    kry_vec *out;

    assert_true(y && size);
    OK(kry_vec_create(device(), type, g[0].n, 1, &out));
    for (size_t i = 0; i < COUNT(rounds); i++) {
        double *x = random_array(type, g[0].n), *between = calloc((size_t)g[0].n, sizeof *between);
        kry_vec *in = vec_of(type, x, g[0].n, 1);
        assert_non_null(between);
        for (int f = 0; f < 2; f++) {
            renew(&g[f], type, rounds[(i + (i ? (size_t)f : 0)) % COUNT(rounds)]);
            if (i) give(factor[f], type, &g[f]);
            if (!i)
                factor[f] = matrix_of(device(), type, &g[f], (kry_matrix_params){ .traits = 0 });
        }
        if (i) OK(kry_op_update(C, NULL));
        if (!i) OK(kry_csr_multiply(factor[0], factor[1], &C));
        OK(kry_op_apply(C, 1, in, 0, out));
        multiply(&g[1], false, x, y, size);
        for (int64_t k = 0; k < g[0].n; k++) between[k] = (double)y[k];
        multiply(&g[0], false, between, y, size);
        for (int64_t k = 0; k < g[0].n; k++) size[k] += 100; /* of products in another order */
        assert_near(type, out, y, size, "A B x");
        kry_vec_release(&in);
        free(between), free(x);
    }
    kry_op_release(&C);
    for (int f = 0; f < 2; f++) kry_op_release(&factor[f]), grid_release(&g[f]);
    kry_vec_release(&out);
    free(y), free(size);
}

/* ---- what was made of the matrix before -------------------------------------------------------- */

/* ||b - A x|| / ||b|| */
static double residual_of(const grid *g, const double *b, const kry_vec *x)
{
    long double *y = calloc((size_t)g->n, sizeof *y), *size = calloc((size_t)g->n, sizeof *size);
    double *numbers = numbers_of(x);
    long double rest = 0, all = 0;

    assert_true(y && size);
    multiply(g, false, numbers, y, size);
    for (int64_t i = 0; i < g->n; i++)
        rest += (b[i] - y[i]) * (b[i] - y[i]), all += (long double)b[i] * b[i];
    free(numbers), free(size), free(y);
    return (double)sqrtl(rest / all);
}

typedef struct maker {
    const char *words;
    bool symmetric; /* it, or its preconditioner, is for symmetric matrices alone */
    bool in_double; /* for systems in double */
    bool large;     /* so many unknowns that a GPU sets the preconditioner up */
} maker;

static const maker makers[] = {
    { .words = "method=pcg precond=jacobi", .symmetric = true },
    { .words = "method=pcg precond=amg", .symmetric = true, .large = true },
    { .words = "method=minres", .symmetric = true },
    { .words = "method=bicgstab precond=jacobi" },
    { .words = "method=bicgstab precond=ilu0" },
    { .words = "method=bicgstab precond=block-ilu" },
    { .words = "method=bicgstab precond=amg:values=single",
      .symmetric = true,
      .in_double = true,
      .large = true },
    { .words = "method=pcg precond=amg:values=single",
      .symmetric = true,
      .in_double = true,
      .large = true },
    { .words = "method=gmres precond=ras" },
    { .words = "method=gmres precond=chebyshev" },
    { .words = "method=idr precond=neumann" },
    { .words = "method=lsqr" },
    { .words = "method=bicgstab precision=mixed", .in_double = true },
    { .words = "method=gmres precision=mixed precond=amg", .symmetric = true, .in_double = true },
    { .words = "method=bicgstab reorder=on" },
    { .words = "method=direct" },
    { .words = "method=auto" },
};

/* How many iterations a solver takes that is made now. */
static int64_t iterations_of_new(const kry_op *A, const char *words, const kry_vec *b)
{
    kry_result res;
    kry_op *S;
    kry_vec *x;

    OK(kry_vec_create(device(), kry_vec_type(b), kry_vec_rows(b), 1, &x));
    OK(kry_solver_create(A, words, NULL, NULL, &S));
    OK(kry_solve(S, b, x, &res));
    kry_op_release(&S);
    kry_vec_release(&x);
    return res.iterations;
}

static void check_maker(const maker *m, kry_type type)
{
    static const likeness rounds[] = { EQUAL, ROUNDED, UNEQUAL, EQUAL, UNEQUAL, ROUNDED };
    const double rtol = type == KRY_F32 ? 1e-4 : 1e-8;
    grid g = m->large ? grid_of(72, 60) : grid_of(13, 12);
    double *b = random_array(type, g.n);
    kry_vec *rhs = vec_of(type, b, g.n, 1), *x;
    kry_op *S = NULL;
    char words[128];

    snprintf(words, sizeof words, "%s rtol=%g", m->words, rtol);
    renew(&g, type, EQUAL);
    kry_op *A = matrix_of(device(), type, &g, (kry_matrix_params){ .traits = 0 });
    OK(kry_vec_create(device(), type, g.n, 1, &x));
    const kry_status made = kry_solver_create(A, words, NULL, NULL, &S);
    if (made == KRY_ERR_UNSUPPORTED) print_message("# %s: %s\n", words, kry_last_error());
    for (size_t i = 0; S && i < COUNT(rounds); i++) {
        const bool refuses = m->symmetric && rounds[i] == UNEQUAL;
        kry_result res;

        if (i) renew(&g, type, rounds[i]), give(A, type, &g);
        const kry_status updated = i ? kry_op_update(S, NULL) : KRY_OK;
        if (i && refuses ? updated >= 0 || !strstr(kry_last_error(), "not symmetric") : updated < 0)
            fail_msg("%s, round %zu: %s", words, i, kry_last_error());
        OK(kry_vec_fill(x, 0));
        const kry_status st = kry_solve(S, rhs, x, &res);
        if (st != KRY_OK && !refuses)
            fail_msg("%s, round %zu: %s, %s", words, i, kry_status_text(st),
                     st < 0 ? kry_last_error() : res.why);
        /* A preconditioner that was refused new numbers has its old ones. */
        if (st == KRY_OK) NEAR(residual_of(&g, b, x), 0, 1.1 * rtol, "%s, round %zu", words, i);
        if (!refuses) assert_true(res.iterations <= iterations_of_new(A, words, rhs) + 3);
        check(A, type, &g);
    }
    kry_op_release(&S);
    kry_op_release(&A);
    kry_vec_release(&x);
    kry_vec_release(&rhs);
    free(b);
    grid_release(&g);
}

static void change_format__solvers(void **state)
{
    const kry_type type = type_of(state);

    for (size_t i = 0; i < COUNT(makers); i++)
        if ((!makers[i].in_double || type == KRY_F64) && !(makers[i].large && small_run()))
            check_maker(&makers[i], type);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FOUR(change_format__products),          FOUR(change_format__made_by_the_device),
        FOUR(change_format__what_was_promised), BOTH(change_format__on_teams),
        FOUR(change_format__of_factors),        FOUR(change_format__solvers),
    };
    return cmocka_run_group_tests_name("change_format", tests, keep_profile, restore_profile);
}
