/* again.h - a solver that is used again and again, for tests of what earlier solves leave. */
#ifndef KRY_TEST_AGAIN_H
#define KRY_TEST_AGAIN_H

#include "chains.h"

typedef struct again {
    chain c;
    kry_type type;
    kry_op *A, *S;
    kry_vec *x;
    kry_result res;
} again;

static again again_begin(kry_device *dev, kry_type type, chain c, const char *words)
{
    again a = { .c = c, .type = type, .A = matrix_of(dev, type, &c, 0) };
    OK(kry_solver_create(a.A, words, NULL, NULL, &a.S));
    OK(kry_vec_create(dev, type, c.n, 1, &a.x));
    return a;
}

static void again_end(again *a)
{
    kry_vec_release(&a->x);
    kry_op_release(&a->S);
    kry_op_release(&a->A);
}

/* A x = b from x = 0; returns the iterations. */
static int64_t again_solve(again *a, const double *b)
{
    kry_vec *vb = vec_on(kry_op_device(a->A), a->type, b, a->c.n, 1);

    memcpy(a->c.b, b, (size_t)a->c.n * sizeof *b);
    OK(kry_vec_fill(a->x, 0));
    OK(kry_solve(a->S, vb, a->x, &a->res));
    assert_int_equal(kry_reason_status(a->res.reason), KRY_OK);
    double *x = numbers_of(a->x), square = 0;
    for (int64_t i = 0; i < a->c.n; i++) square += x[i] * x[i];
    /* The device has A in its own numbers, whose rows add up to less than 5, and multiplies in them. */
    const double rounding = 20 * eps_of(a->type) * sqrt(square);
    assert_true(residual_of(&a->c, x) <= 1.01 * a->res.target + rounding);
    free(x);
    kry_vec_release(&vb);
    return a->res.iterations;
}

#endif
