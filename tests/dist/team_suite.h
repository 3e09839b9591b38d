/*
 * team_suite.h - the same system on one device and on a team: products of operators, and solves, come out the
 * same but for rounding.
 */
#ifndef KRY_TEAM_SUITE_H
#define KRY_TEAM_SUITE_H

#include "teams.h"
#include <kry/problem.h>

/* ---- teams and what lies on them ---------------------------------------------------------------
 */

typedef struct team {
    int parts;
    bool by_graph;
    bool uneven;
} team;

static const team teams[] = { { 2, false, false },
                              { 3, false, true },
#ifdef KRY_HAVE_METIS
                              { 3, true, false }
#endif
};

/* Teams and number types in turns. */
#define EACH_TEAM(t, type)                    \
    for (size_t t = 0; t < COUNT(teams); t++) \
        if (in_sample((int64_t)t + ((type) == KRY_F32)))

MAYBE_UNUSED static kry_device *team_of(const team *t)
{
    static const double shares[] = { 5, 1, 2 };
    return open_team(t->parts, (kry_team_params){ .by_graph = t->by_graph,
                                                  .shares = t->uneven ? shares : NULL });
}

MAYBE_UNUSED static kry_op *stored_on(kry_device *dev, kry_type type, const kry_problem *p)
{
    return matrix_on(dev, type, p, KRY_MATRIX(.traits = p->singular ? KRY_SINGULAR : KRY_POSITIVE));
}

/* A of a problem on one device and on a team. */
typedef struct pair {
    kry_problem *problem; /* NULL: none */
    double *rhs;          /* owned */
    kry_device *dev;
    kry_op *one, *all;
    kry_type type;
    int64_t n;
} pair;

MAYBE_UNUSED static pair pair_of(const char *spec, const team *t, kry_type type)
{
    pair p = { .dev = team_of(t), .type = type };

    OK(kry_problem_create(spec, 7, &p.problem));
    p.n = p.problem->n;
    p.rhs = calloc((size_t)p.n, sizeof *p.rhs);
    assert_non_null(p.rhs);
    memcpy(p.rhs, p.problem->rhs, (size_t)p.n * sizeof *p.rhs);
    p.one = stored_on(device(), type, p.problem);
    p.all = stored_on(p.dev, type, p.problem);
    assert_int_equal(kry_team_size(kry_op_device(p.all)), t->parts);
    return p;
}

/* The same of a grid, without a matrix; b := A x. */
MAYBE_UNUSED static pair grid_pair_of(const kry_stencil_params *params, const team *t,
                                      kry_type type)
{
    pair p = { .dev = team_of(t), .type = type };

    kry_stencil_params whole = *params;
    memset(whole.blocks, 0, sizeof whole.blocks);
    OK(kry_stencil_create(device(), type, &whole, &p.one));
    OK(kry_stencil_create(p.dev, type, params, &p.all));
    assert_int_equal(kry_team_size(kry_op_device(p.all)), t->parts);
    p.n = kry_op_get_shape(p.one)->rows;
    double *numbers = random_array(type, p.n);
    kry_vec *x = vec_on(device(), type, numbers, p.n, 1), *b;
    OK(kry_vec_create(device(), type, p.n, 1, &b));
    OK(kry_op_apply(p.one, 1, x, 0, b));
    p.rhs = numbers_of(b);
    free(numbers);
    kry_vec_release(&x);
    kry_vec_release(&b);
    return p;
}

MAYBE_UNUSED static void pair_release(pair *p)
{
    free(p->rhs);
    kry_op_release(&p->one);
    kry_op_release(&p->all);
    kry_problem_release(&p->problem);
    close_team(&p->dev);
}

MAYBE_UNUSED static double tolerance(kry_type type) { return type == KRY_F32 ? 1e-3 : 1e-9; }

/* |got - want| <= bound max |want| for each number. */
MAYBE_UNUSED static void assert_close(const double *got, const double *want, int64_t n,
                                      double bound, const char *what)
{
    double most = 0;
    for (int64_t i = 0; i < n; i++) most = fmax(most, fabs(want[i]));
    for (int64_t i = 0; i < n; i++)
        NEAR(got[i], want[i], bound * most, "%s, number %d", what, (int)i);
}

/* y := op x for the same x, poisoned before; to be freed. */
MAYBE_UNUSED static double *product_of(const kry_op *op, const double *x)
{
    int64_t n = kry_op_get_shape(op)->rows;
    double *poison = calloc((size_t)n, sizeof *poison);
    for (int64_t i = 0; i < n; i++) poison[i] = (double)NAN;
    kry_vec *in = vec_on(kry_op_device(op), kry_op_get_shape(op)->type, x, n, 1),
            *out = vec_on(kry_op_device(op), kry_op_get_shape(op)->type, poison, n, 1);
    OK(kry_op_apply(op, 1, in, 0, out));
    double *y = numbers_of(out);
    kry_vec_release(&in);
    kry_vec_release(&out);
    free(poison);
    return y;
}

MAYBE_UNUSED static void same_products(const kry_op *one, const kry_op *all, double bound,
                                       const char *what)
{
    double *x = random_array(kry_op_get_shape(one)->type, kry_op_get_shape(one)->rows);
    double *want = product_of(one, x), *got = product_of(all, x);
    assert_close(got, want, kry_op_get_shape(one)->rows, bound, what);
    free(x), free(want), free(got);
}

/* ---- solving
 * -------------------------------------------------------------------------------------- */

typedef struct outcome {
    kry_status status;
    kry_result res;
    double *x; /* to be freed */
} outcome;

MAYBE_UNUSED static outcome try_to_solve(const kry_op *S, const double *rhs)
{
    outcome o;
    int64_t n = kry_op_get_shape(S)->rows;
    kry_vec *b = vec_on(kry_op_device(S), kry_op_get_shape(S)->type, rhs, n, 1), *x;
    OK(kry_vec_create(kry_op_device(S), kry_op_get_shape(S)->type, n, 1, &x));
    OK(kry_vec_fill(x, 0));
    o.status = kry_solve(S, b, x, &o.res);
    o.x = numbers_of(x);
    kry_vec_release(&b);
    kry_vec_release(&x);
    return o;
}

MAYBE_UNUSED static outcome solve_with(const kry_op *S, const double *rhs)
{
    outcome o = try_to_solve(S, rhs);
    OK(o.status);
    return o;
}

/* The same but for rounding, which is one iteration, and more where there are hundreds. */
MAYBE_UNUSED static void same_outcome(const outcome *one, const outcome *all, kry_type type,
                                      int64_t n, const char *what)
{
    int64_t apart = llabs(one->res.iterations - all->res.iterations);
    if (type == KRY_F64 && apart > 1 + one->res.iterations / 100)
        fail_msg("%s: %d iterations on a team, %d on one device", what, (int)all->res.iterations,
                 (int)one->res.iterations);
    assert_close(all->x, one->x, n, type == KRY_F32 ? 2e-2 : 1e-6, what);
}

MAYBE_UNUSED static void same_solves(const pair *p, const kry_op *one, const kry_op *all,
                                     const char *what)
{
    outcome want = solve_with(one, p->rhs), got = solve_with(all, p->rhs);
    same_outcome(&want, &got, p->type, p->n, what);
    free(want.x), free(got.x);
}

/* By option string. */
MAYBE_UNUSED static void same_by_words(const pair *p, const char *words)
{
    char all_words[300];
    kry_op *one, *all;
    snprintf(all_words, sizeof all_words, "method=pcg rtol=%g %s",
             p->type == KRY_F32 ? 1e-4 : 1e-10, words);
    kry_status st = kry_solver_create(p->one, all_words, NULL, NULL, &one);
    if (st == KRY_ERR_UNSUPPORTED && strstr(kry_last_error(), "METIS")) return;
    OK(st);
    OK(kry_solver_create(p->all, all_words, NULL, NULL, &all));
    same_solves(p, one, all, all_words);
    kry_op_release(&one);
    kry_op_release(&all);
}

#endif
