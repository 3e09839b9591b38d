/*
 * relax_suite.h - sweeps of a relaxation against plain C, for every operator that has a diagonal.
 *
 *     relax_suite(op, &A, "what it is");
 */
#ifndef KRY_RELAX_SUITE_H
#define KRY_RELAX_SUITE_H

#include "as_matrix.h"
#include "precond/sweeps.h"

typedef struct sweep_case {
    const char *why;
    double c0, c1;
    bool x, old, in_place; /* in_place: y is old */
    int sums, offset;
} sweep_case;

static const sweep_case relax_suite_cases[] = {
    { "from nothing", 0, 0.75, false, false, false, 0, 0 },
    { "from nothing, with a pair", 0, 0.75, false, false, false, 2, 3 },
    { "from nothing, with the residual", 0, 0.75, false, false, false, 1, 0 },
    { "Jacobi", 0, 1, true, false, false, 1, 0 },
    { "Jacobi without a sum", 0, 0.5, true, false, false, 0, 1 },
    { "a second step", 0.375, 1.25, true, false, false, 0, 0 },
    { "three terms", 0.375, 1.25, true, true, false, 1, 1 },
    { "three terms in place, with a pair", 0.375, 1.25, true, true, true, 2, 0 },
};

typedef struct sweep_data {
    double *b, *x, *old, *y; /* n each; y: what the device made */
    double sums[2];
} sweep_data;

static void relax_suite_run(kryi_relaxer *w, const sweep_case *c, sweep_data *s)
{
    kry_type type = kry_op_get_shape(w->A)->type;
    int64_t n = kry_op_get_shape(w->A)->rows;
    guarded B = guarded_create(type, n, 1, c->offset, s->b),
            X = guarded_create(type, n, 1, 0, s->x),
            O = guarded_create(type, n, 1, c->offset, s->old),
            Y = guarded_create(type, n, 1, 0, NULL);
    guarded *out = c->in_place ? &O : &Y;
    kry_sum *sum = NULL;
    const kryi_relax how = {
        .c0 = c->c0, .c1 = c->c1, .b = B.v, .x = c->x ? X.v : NULL, .old = c->old ? O.v : NULL
    };

    if (c->sums) OK(kry_sum_create(device(), c->sums, &sum));
    OK(kryi_relaxer_run(w, &how, out->v, sum));
    s->y = guarded_read(out);
    if (sum) OK(read_sum(device(), sum, s->sums));
    double *b = guarded_read(&B), *x = guarded_read(&X);
    assert_same_bits(b, s->b, n);
    assert_same_bits(x, s->x, n);
    free(b), free(x);
    kry_sum_release(&sum);
    guarded_release(&B), guarded_release(&X), guarded_release(&O), guarded_release(&Y);
}

static void relax_suite_sums(const sweep_case *c, const sweep_data *s, const matrix *A,
                             kry_type type)
{
    long double want[2] = { 0, 0 }, slack[2] = { 0, 0 };
    long double eps = eps_of(acc_type()) * (long double)(A->rows + 4);

    for (int64_t i = 0; i < A->rows; i++) {
        long double m = 0, r = s->b[i];
        if (c->x) r -= row_times(A, i, s->x, NULL, &m);
        long double error = row_bound(A, i, type, m + fabsl((long double)s->b[i]));
        if (c->sums == 2) {
            want[0] += (long double)s->b[i] * s->y[i];
            slack[0] += (eps + eps_of(type)) * fabsl((long double)s->b[i] * s->y[i]);
            want[1] += (long double)s->b[i] * s->b[i];
        } else {
            want[0] += r * r;
            slack[0] += 2 * fabsl(r) * error + error * error + eps * r * r;
        }
    }
    slack[1] = eps * want[1];
    for (int k = 0; k < c->sums; k++)
        NEAR(s->sums[k], want[k], slack[k], "%s: sum %d of %d", c->why, k, c->sums);
}

static void relax_suite_case(kryi_relaxer *w, const matrix *A, const sweep_case *c)
{
    kry_type type = kry_op_get_shape(w->A)->type;
    sweep_data s = { random_array(type, A->rows),
                     random_array(type, A->rows),
                     random_array(type, A->rows),
                     NULL,
                     { 0 } };

    relax_suite_run(w, c, &s);
    for (int64_t i = 0; i < A->rows; i++) {
        long double m = 0, r = s.b[i], d = plain_diagonal(A, i), want = 0, size;
        if (c->x) {
            r -= row_times(A, i, s.x, NULL, &m);
            want = s.x[i] + c->c0 * ((long double)s.x[i] - (c->old ? s.old[i] : 0));
        }
        want += c->c1 * r / d;
        size = fabsl((long double)s.b[i]) + m +
               d * (2 * fabsl((long double)s.x[i]) + fabsl((long double)s.old[i]));
        NEAR(s.y[i], want, 2 * row_bound(A, i, type, size) / d, "%s: y[%lld]", c->why,
             (long long)i);
    }
    if (c->sums) relax_suite_sums(c, &s, A, type);
    free(s.b), free(s.x), free(s.old), free(s.y);
}

static void relax_suite(const kry_op *op, const matrix *A, const char *why)
{
    kryi_relaxer w;
    print_message("# %s\n", why);
    OK(kryi_relaxer_create("test", op, &w));
    for (size_t c = 0; c < COUNT(relax_suite_cases); c++)
        relax_suite_case(&w, A, &relax_suite_cases[c]);
    kryi_relaxer_release(&w);
}

#endif
