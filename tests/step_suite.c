/* step_suite.c - the suite of step_suite.h, which sees what operators offer to solvers (operator/direction.h). */
#include "step_suite.h"
#include "matrix/matrix.h"
#include "step.h"

/* ---- a product and its sum ------------------------------------------------------------------ */

/* How far a sum of n products of type ACC may be off. */
static long double dot_bound(const double *x, const double *y, int64_t n)
{
    long double size = 0;
    for (int64_t i = 0; i < n; i++) size += fabsl((long double)x[i] * y[i]);
    return (long double)(n + 2) * eps_of(acc_type()) * size;
}
static long double dot_of(const double *x, const double *y, int64_t n)
{
    long double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (long double)x[i] * y[i];
    return sum;
}

/* A matrix of several stages rounds its product once more with each, its sum x.y not: how much
 * the two may come apart. */
static long double stages_bound(const kry_op *op, const matrix *A, const double *x)
{
    kryi_matrix *stored = kryi_matrix_of(op);
    int later = stored ? stored->stages - 1 : 0;
    long double size = 0, m;
    for (int64_t i = 0; i < A->rows; i++) {
        row_times(A, i, x, NULL, &m);
        size += fabsl((long double)x[i]) * m;
    }
    return 2 * later * (eps_of(kry_op_get_shape(op)->type) + A->rows * eps_of(acc_type())) * size;
}

/* y = A x and x.y, twice the same bits. */
static void step_suite_dot(const kry_op *op, const matrix *A, const char *why)
{
    kry_type type = kry_op_get_shape(op)->type;
    kry_sum *sum = NULL;
    double *x = random_array(type, A->rows), dot[2];
    guarded X = guarded_create(type, A->rows, 1, 1, x),
            Y = guarded_create(type, A->rows, 1, 3, NULL);

    OK(kry_sum_create(device(), 1, &sum));
    for (int run = 0; run < 2; run++) {
        poison(&Y);
        OK(op->table->apply_dot(op->self, X.v, Y.v, sum));
        assert_in_range(sum->count, 1, KRY_SUM_CAPACITY);
        OK(read_sum(device(), sum, &dot[run]));
        double *y = guarded_read(&Y);
        for (int64_t i = 0; i < A->rows; i++) {
            long double m, want = row_times(A, i, x, NULL, &m);
            NEAR(y[i], want, row_bound(A, i, type, m), "%s: row %lld", why, (long long)i);
        }
        NEAR(dot[run], dot_of(x, y, A->rows), dot_bound(x, y, A->rows) + stages_bound(op, A, x),
             "%s: x.y", why);
        free(y);
    }
    assert_same_bits(&dot[0], &dot[1], 1);
    free(x);
    guarded_release(&X), guarded_release(&Y);
    kry_sum_release(&sum);
}

/* The kernels want vectors that start at element 0: views into guarded buffers do not, so the
 * vectors here are whole buffers, and out-of-range writes are left to the other tests. */
static void step_run(step *s, double *p, double *q, double *pq)
{
    int64_t n = s->A->rows;
    double *old_after = calloc((size_t)n + 1, sizeof *old_after);
    kry_vec *z = whole_vector(s->type, n, s->z), *old = whole_vector(s->type, n, s->old),
            *P = whole_vector(s->type, n, NULL), *Q = whole_vector(s->type, n, NULL);

    assert_non_null(old_after);
    s->cg.z = z, s->cg.old = old, s->cg.p = P;
    bool repeats = s->op->fused->apply_step != NULL; /* stores no q */
    s->cg.q = repeats ? NULL : Q;
    OK(s->op->fused->apply_direction(s->op->self, &s->cg));
    if (repeats) OK(kry_op_apply(s->op, 1, P, 0, Q));
    read_doubles(P, p);
    read_doubles(Q, q);
    read_doubles(old, old_after);
    assert_same_bits(old_after, s->old, n);
    OK(read_sum(device(), s->pq, pq));
    free(old_after);
    kry_vec_release(&z), kry_vec_release(&old), kry_vec_release(&P), kry_vec_release(&Q);
}

/* p = z + beta old, q = A p, p.q, and what the step tells the next one. */
static void step_suite_direction(const kry_op *op, const matrix *A, double rho, double old_rho,
                                 const char *why)
{
    const double rr = 1.75;
    kry_type type = kry_op_get_shape(op)->type;
    long double beta = old_rho > 0 ? (long double)rho / old_rho : 0;
    step s = step_create(op, A, rho, rr, old_rho, 1e-3);
    int64_t n = A->rows;
    double *p = calloc((size_t)n + 1, 8), *q = calloc((size_t)n + 1, 8),
           *p2 = calloc((size_t)n + 1, 8), *q2 = calloc((size_t)n + 1, 8),
           *size = calloc((size_t)n + 1, 8), pq[2], state[STATE_SIZE], history[SLOTS];
    /* beta: PARTS roundings of its sum, a division, its own type */
    long double eps = eps_of(type) > eps_of(acc_type()) ? eps_of(type) : eps_of(acc_type());
    long double p_eps = (PARTS + 5) * eps;

    assert_true(p && q && p2 && q2 && size);
    step_run(&s, p, q, &pq[0]);
    for (int64_t i = 0; i < n; i++) {
        long double want = s.z[i] + beta * s.old[i];
        size[i] = (double)(fabsl((long double)s.z[i]) + fabsl(beta * s.old[i]));
        NEAR(p[i], want, p_eps * size[i], "%s: p[%lld]", why, (long long)i);
    }
    for (int64_t i = 0; i < n; i++) {
        long double m, want = row_times(A, i, p, size, &m);
        NEAR(q[i], want, row_bound(A, i, type, m) + 2 * p_eps * m, "%s: q[%lld]", why,
             (long long)i);
    }
    NEAR(pq[0], dot_of(p, q, n), dot_bound(p, q, n) + stages_bound(op, A, p), "%s: p.q", why);
    acc_read(s.out, state, STATE_SIZE);
    acc_read(s.history, history, SLOTS);
    assert_true(state[STATE_STOP] == 0);
    NEAR(state[STATE_RHO], rho, PARTS * eps_of(acc_type()) * rho, "rho");
    NEAR(history[SLOT], rr, PARTS * eps_of(acc_type()) * rr, "history");
    assert_true(state[STATE_ITERATION] == ITERATION);
    for (int i = 0; i < SLOTS; i++) assert_true(i == SLOT || isnan(history[i]));
    step_run(&s, p2, q2, &pq[1]);
    assert_same_bits(p, p2, n);
    assert_same_bits(q, q2, n);
    assert_same_bits(&pq[0], &pq[1], 1);
    free(p), free(q), free(p2), free(q2), free(size);
    step_release(&s);
}

void step_suite(const kry_op *op, const matrix *A, const char *why)
{
    test_dev = kry_op_device(op);
    if (op->table->apply_dot) step_suite_dot(op, A, why);
    step_suite_direction(op, A, 0.8125, 1.3, why);
    step_suite_direction(op, A, 0.8125, 0, why); /* the first step has no beta */
}

void step_suite_stops(const kry_op *op, const matrix *A)
{
    static const struct {
        double rho, rr, target2, stop;
    } cases[] = { { 0.5, 0.25, 0.26, 1 },         /* converged */
                  { -0.5, 0.25, 0.01, 2 },        /* M is indefinite */
                  { 0.0, 0.25, 0.01, 2 },         /* or singular */
                  { (double)NAN, 0.25, 0.01, 4 }, /* not finite */
                  { 0.5, (double)INFINITY, 0.01, 4 } };
    static const double stopped[STATE_SIZE] = {
        [STATE_STOP] = 3, [STATE_ITERATION] = ITERATION - 1, [STATE_VALUE] = 12, [STATE_RHO] = 1
    };
    int64_t n = A->rows;
    double *p = calloc((size_t)n + 1, 8), *q = calloc((size_t)n + 1, 8), pq, after[STATE_SIZE],
           history[SLOTS];

    assert_true(p && q);
    test_dev = kry_op_device(op);
    for (size_t c = 0; c < COUNT(cases); c++) {
        step s = step_create(op, A, cases[c].rho, cases[c].rr, 1.0, cases[c].target2);
        step_run(&s, p, q, &pq);
        for (int64_t i = 0; i < n; i++) assert_true(isnan(p[i]));
        acc_read(s.out, after, STATE_SIZE);
        assert_true(after[STATE_STOP] == cases[c].stop);
        acc_read(s.history, history, SLOTS); /* the last residual is told, too */
        NEAR(history[SLOT] == cases[c].rr ? 0 : history[SLOT] - cases[c].rr, 0,
             PARTS * eps_of(acc_type()), "history");
        assert_true(after[STATE_ITERATION] == ITERATION);

        /* A stop that was decided before keeps its reason, its iteration and its value. */
        acc_write(s.in, stopped, STATE_SIZE);
        step_run(&s, p, q, &pq);
        for (int64_t i = 0; i < n; i++) assert_true(isnan(p[i]));
        acc_read(s.out, after, STATE_SIZE);
        assert_true(after[STATE_STOP] == 3);
        assert_true(after[STATE_ITERATION] == ITERATION - 1);
        assert_true(after[STATE_VALUE] == 12);
        step_release(&s);
    }
    free(p), free(q);
}
