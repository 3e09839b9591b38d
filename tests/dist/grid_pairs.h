/*
 * grid_pairs.h - a grid operator on one device, and the same on a team, in slabs or in blocks: products, new numbers and
 * solves come out alike.
 */
#ifndef KRY_GRID_PAIRS_H
#define KRY_GRID_PAIRS_H

#include "grids.h"
#include "teams.h"

/* GPUs' compilers fuse other products with their sums in kernels of other shapes. */
MAYBE_UNUSED static bool to_the_bit(void) { return !kry_device_get_info(device())->gpu; }

MAYBE_UNUSED static kry_vec *vector_on(kry_device *dev, kry_type type, int64_t n,
                                       const double *numbers)
{
    return vec_on(dev, type, numbers, n, 1);
}

MAYBE_UNUSED static double *read_and_release(kry_vec **v)
{
    double *numbers = numbers_of(*v);
    kry_vec_release(v);
    return numbers;
}

/* An operator on one device, and the same on a team. */
typedef struct pair {
    const grid *g;
    kry_type type;
    int64_t n;
    double *k;
    kry_device *dev[2];
    kry_op *op[2];
    bool blocks; /* not slabs */
} pair;

/* blocks: three, as many in all as the team has parts */
MAYBE_UNUSED static pair pair_create(const grid *g, kry_type type, kry_device *team,
                                     const int *blocks)
{
    pair q = { .g = g, .type = type, .n = grid_points(g), .k = grid_coefficients(g, type) };
    kry_stencil_params p = grid_params(g, q.k);

    q.dev[0] = device(), q.dev[1] = team;
    q.blocks = blocks[0] > 1 || (g->size[2] && blocks[1] > 1);
    OK(kry_stencil_create(q.dev[0], type, &p, &q.op[0]));
    memcpy(p.blocks, blocks, sizeof p.blocks);
    OK(kry_stencil_create(q.dev[1], type, &p, &q.op[1]));
    assert_int_equal(kry_op_get_shape(q.op[1])->rows, q.n);
    assert_int_equal(kry_op_get_shape(q.op[1])->traits, kry_op_get_shape(q.op[0])->traits);
    return q;
}

/* In slabs on all parts. */
MAYBE_UNUSED static pair slabs_create(const grid *g, kry_type type, kry_device *team)
{
    const int parts = kry_team_size(team),
              blocks[3] = { 1, g->size[2] ? 1 : parts, g->size[2] ? parts : 1 };
    return pair_create(g, type, team, blocks);
}

MAYBE_UNUSED static void pair_release(pair *q)
{
    kry_op_release(&q->op[0]), kry_op_release(&q->op[1]);
    free(q->k);
}

typedef double *result_of(const pair *q, int i, const double *x, const double *b);

MAYBE_UNUSED static double *product_of(const pair *q, int i, const double *x, const double *b)
{
    kry_vec *X = vector_on(q->dev[i], q->type, q->n, x),
            *Y = vector_on(q->dev[i], q->type, q->n, b);
    OK(kry_op_apply(q->op[i], 2, X, -3, Y));
    kry_vec_release(&X);
    return read_and_release(&Y);
}

MAYBE_UNUSED static double *residual_of(const pair *q, int i, const double *x, const double *b)
{
    kry_vec *X = vector_on(q->dev[i], q->type, q->n, x),
            *B = vector_on(q->dev[i], q->type, q->n, b);
    OK(kry_op_residual(q->op[i], B, X, B));
    kry_vec_release(&X);
    return read_and_release(&B);
}

MAYBE_UNUSED static double *diagonal_of(const pair *q, int i, const double *x, const double *b)
{
    kry_vec *d = vector_on(q->dev[i], q->type, q->n, x);
    (void)b;
    OK(kry_op_diagonal(q->op[i], d));
    return read_and_release(&d);
}

MAYBE_UNUSED static double *sides_of(const pair *q, int i, const double *x, const double *b)
{
    kry_vec *B = vector_on(q->dev[i], q->type, q->n, b);
    kry_side_values low[3], high[3];
    for (int a = 0; a < 3; a++) low[a].array = x, high[a].array = b;
    OK(kry_stencil_boundary(q->op[i], low, high, B));
    return read_and_release(&B);
}

MAYBE_UNUSED static double *stored_product_of(const pair *q, int i, const double *x,
                                              const double *b)
{
    kry_op *stored;
    kry_vec *X = vector_on(q->dev[i], q->type, q->n, x),
            *Y = vector_on(q->dev[i], q->type, q->n, b);
    OK(kry_stencil_matrix(q->op[i], KRY_MATRIX(.format = KRY_FORMAT_CSR), &stored));
    OK(kry_op_apply(stored, 1, X, 0, Y));
    kry_op_release(&stored);
    kry_vec_release(&X);
    return read_and_release(&Y);
}

/* The same on both; slack: in units of rounding, 0: to the bit. */
MAYBE_UNUSED static void compare(const pair *q, result_of *result, int slack, const char *what)
{
    double *x = random_array(q->type, q->n), *b = random_array(q->type, q->n), size = 0;
    double *want = result(q, 0, x, b), *got = result(q, 1, x, b);

    for (int64_t i = 0; i < q->n; i++) size = fmax(size, fabs(want[i]));
    for (int64_t i = 0; i < q->n; i++)
        NEAR(got[i], want[i], slack * eps_of(q->type) * size, "%s, %s[%lld]", q->g->name, what,
             (long long)i);
    free(x), free(b), free(want), free(got);
}

MAYBE_UNUSED static void compare_all(const pair *q)
{
    const int units = to_the_bit() && !q->blocks ? 0 : 40;
    compare(q, product_of, units, "product");
    compare(q, residual_of, units, "residual");
    compare(q, diagonal_of, units, "diagonal");
    compare(q, sides_of, units, "sides");
    compare(q, stored_product_of, 40, "stored product");
}

MAYBE_UNUSED static void compare_updates(const pair *q)
{
    double *k = grid_coefficients(q->g, q->type);
    if (!k) {
        double *x = random_array(q->type, q->n);
        REFUSES(kry_op_update(q->op[1], x), KRY_ERR_UNSUPPORTED, "without coefficients");
        free(x);
        return;
    }
    if (q->g->faces) memcpy(k, q->k, (size_t)q->n * sizeof *k); /* cells stay */
    double *numbers = grid_numbers(q->g, k), kept = numbers[1];
    for (int i = 0; i < 2; i++) OK(kry_op_update(q->op[i], numbers));
    compare_all(q);
    numbers[1] = 0; /* refused by one part, nothing changes on any */
    for (int64_t i = 2; i < q->n; i++) numbers[i] *= 2;
    REFUSES(kry_op_update(q->op[1], numbers), KRY_ERR_ARGUMENT,
            q->g->faces ? "face 1 " : "coefficient 1 ");
    numbers[1] = kept;
    compare_all(q);
    free(k);
}

/* ---- solvers on a team
 * ------------------------------------------------------------------------------------- */

MAYBE_UNUSED static double *solve_on(const pair *q, int i, const char *words, const double *b,
                                     kry_result *res)
{
    kry_op *solver;
    kry_vec *B = vector_on(q->dev[i], q->type, q->n, b),
            *X = vector_on(q->dev[i], q->type, q->n, b);

    OK(kry_vec_fill(X, 0));
    OK(kry_solver_create(q->op[i], words, NULL, NULL, &solver));
    if (kry_solve(solver, B, X, res) < 0) fail_msg("%s: %s", words, kry_last_error());
    res->history = NULL;
    kry_vec_release(&B);
    kry_op_release(&solver);
    return read_and_release(&X);
}

/* As many iterations on both, but for `apart` in a hundred and one more, and x alike. */
MAYBE_UNUSED static void compare_solves(const pair *q, const char *words, int apart)
{
    kry_result one, team;
    double *b = random_array(q->type, q->n), sum = 0, size = 0;

    for (int64_t i = 0; i < q->n; i++) sum += b[i];
    for (int64_t i = 0; i < q->n && grid_singular(q->g); i++) b[i] -= sum / (double)q->n;
    double *x = solve_on(q, 0, words, b, &one), *y = solve_on(q, 1, words, b, &team);
    if (q->type == KRY_F64) /* in single one of them may stagnate just above the target */
        assert_int_equal(team.reason, one.reason);
    int64_t slack = 1 + one.iterations * apart / 100;
    if (q->type == KRY_F64 && llabs((long long)(team.iterations - one.iterations)) > slack)
        fail_msg("%s, %s: %lld iterations instead of %lld", q->g->name, words,
                 (long long)team.iterations, (long long)one.iterations);
    for (int64_t i = 0; i < q->n; i++) size = fmax(size, fabs(x[i]));
    bool both = one.reason == KRY_CONVERGED && team.reason == KRY_CONVERGED;
    for (int64_t i = 0; i < q->n && both; i++)
        NEAR(y[i], x[i], (q->type == KRY_F32 ? 2e-2 : 1e-5) * size, "%s, %s: x[%lld]", q->g->name,
             words, (long long)i);
    free(b), free(x), free(y);
}

#endif
