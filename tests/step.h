/*
 * step.h - what a direction of conjugate gradients (operator/direction.h) reads and writes.
 */
#ifndef KRY_TEST_STEP_H
#define KRY_TEST_STEP_H

#include "operator/direction.h"
#include "testing.h"
#include "vector/vec.h"

/* Everything that a direction reads and writes, and the numbers it was given. */
typedef struct step {
    const kry_op *op;
    const matrix *A;
    kry_type type;
    double *z, *old; /* n */
    cl_mem in, out, history;
    kry_sum *rho, *pq;
    kryi_cg cg;
} step;

enum { PARTS = 5, SLOT = 2, SLOTS = 4, ITERATION = 7 };

static void acc_write(cl_mem buffer, const double *numbers, int64_t n)
{
    void *host = in_type(acc_type(), numbers, n);
    OK(buffer_write(device(), buffer, 0, (size_t)n * kry_type_size(acc_type()), host));
    free(host);
}

static cl_mem acc_buffer(const double *numbers, int64_t n)
{
    cl_mem buffer;
    OK(kryi_buffer_create(device(), (size_t)n * kry_type_size(acc_type()), &buffer));
    acc_write(buffer, numbers, n);
    return buffer;
}

static void acc_read(cl_mem buffer, double *numbers, int64_t n)
{
    double raw[64];
    assert_in_range(n, 0, 64);
    OK(buffer_read(device(), buffer, 0, (size_t)n * kry_type_size(acc_type()), raw));
    for (int64_t i = 0; i < n; i++) numbers[i] = at(acc_type(), raw, i);
}

/* A step with r.z = rho and r.r = rr in PARTS partial sums, after one that had r.z = old_rho. */
static step step_create(const kry_op *op, const matrix *A, double rho, double rr, double old_rho,
                        double target2)
{
    step s = { .op = op, .A = A, .type = kry_op_get_shape(op)->type };
    double before[STATE_SIZE] = { 0 }, poisoned[STATE_SIZE], parts[4 * PARTS] = { 0 };
    const int each = acc_type() == KRY_F64 ? 1 : 2; /* a number, or a pair */

    s.z = random_array(s.type, A->rows), s.old = random_array(s.type, A->rows);
    before[STATE_RHO] = old_rho;
    before[STATE_ITERATION] = ITERATION - 1, before[STATE_VALUE] = 12;
    for (int i = 0; i < STATE_SIZE; i++) poisoned[i] = NAN;
    s.in = acc_buffer(before, STATE_SIZE);
    s.out = acc_buffer(poisoned, STATE_SIZE);
    s.history = acc_buffer(poisoned, SLOTS);
    OK(kry_sum_create(device(), 2, &s.rho));
    OK(kry_sum_create(device(), 1, &s.pq));
    for (int i = 0; i < PARTS; i++)
        parts[2 * i * each] = rho / PARTS, parts[(2 * i + 1) * each] = rr / PARTS;
    acc_write(s.rho->buffer, parts, 2 * each * PARTS);
    s.rho->count = PARTS;
    s.cg = (kryi_cg){ .rho = s.rho,
                      .pq = s.pq,
                      .fuses = true,
                      .step = s.in,
                      .state = s.out,
                      .history = s.history,
                      .iteration = ITERATION,
                      .slot = SLOT,
                      .target2 = kryi_scalar_of(device(), target2) };
    return s;
}

static void step_release(step *s)
{
    kry_sum_release(&s->rho);
    kry_sum_release(&s->pq);
    buffer_release(device(), &s->in);
    buffer_release(device(), &s->out);
    buffer_release(device(), &s->history);
    free(s->z), free(s->old);
}

/* A vector of `n` numbers; NULL: of NaN. */
MAYBE_UNUSED static kry_vec *whole_vector(kry_type type, int64_t n, const double *numbers)
{
    kry_vec *v;
    OK(kry_vec_create(device(), type, n, 1, &v));
    if (numbers) {
        void *host = in_type(type, numbers, n);
        OK(kry_vec_write(v, host));
        free(host);
    } else {
        OK(kry_vec_fill(v, (double)NAN));
    }
    return v;
}

#endif
