/*
 * pcg.c - preconditioned conjugate gradients.
 *
 *   z := M r,  rho := r'z                                     a cycle begins
 *   p := z + beta p,  q := A p,  alpha := rho / p'q           one pass where A fuses it
 *   x := x + alpha p,  r := r - alpha q,  z := M r,           one pass if M is diagonal
 *   rho' := r'z,  beta := rho' / rho
 *
 * Where M varies beta is (r' - r)'z / rho instead, 0 if that is negative.
 *
 * Storage     p, old p, q: 3 n numbers beside r; z with a preconditioner; no q where A repeats
 * Per step    grids without a matrix 7 words (cl/stencil.cl); else
 *             matrix + 10 words per unknown without, 12 with a diagonal preconditioner where A
 *             fuses the direction (reads z, old, writes p, q; reads x, p, r, q, writes x, r);
 *             11 and 13 otherwise
 * Waits       none per step: alpha, beta and the stopping test live on the device (docs/pcg.md)
 * Breakdown   p'q <= 0: A is not positive definite; r'z <= 0: M is not; NaN or infinity in either
 * Source      M. R. Hestenes, E. Stiefel, J. Res. Nat. Bur. Standards 49 (1952)
 */
#include "krylov/look.h"
#include "krylov/persistent.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct pcg {
    kry_krylov *K; /* borrowed: A, M, what directions are multiplied by, null space */
    kry_vec *z;    /* NULL without a preconditioner: it is r */
    kry_vec *q;    /* NULL if A repeats */
    kry_vec *p, *old; /* change places where A fuses the direction */
    kry_flexible flexible;
    bool fuses;
    bool repeats;             /* A forms A p again in its own step instead of storing q */
    bool x_every_second_step; /* where it repeats: x gets two directions at once */
    kry_sum *pq, *rho;        /* p'q; the pair (r'z, r'r) */
    kry_sum *zq;              /* z'q, of Polak and Ribiere */
    kry_sum *drift, *next_drift; /* sums of r, where constants are the null space */
    struct {
        kry_kernel *step, *step_unaligned; /* for an x that starts anywhere */
        kry_kernel *add_last, *correct_beta;
    } kernel;
    cl_mem state, step; /* the scalars of a direction, of a step: see kry_direction */
    kry_look look;
    kry_persistent persistent; /* where A offers iterations in one kernel */
} pcg;

/* A cycle that is under way. */
typedef struct run {
    pcg *S;
    kry_cycle *c;
    kry_vec *z; /* S->z, or r */
    kry_direction d;
} run;

static const kry_vec *diagonal_of(const kry_op *M)
{
    return M && M->table->as_diagonal ? M->table->as_diagonal(M->self) : NULL;
}

/* The null space is that of constants: a step takes it out of r by itself, one step late. */
static bool takes_drift(const pcg *S)
{
    return S->K->system.null.A && !S->K->system.null.vectors;
}

/* ---- a step ------------------------------------------------------------------------------ */

/* z := M r and rho := (r'z, r'r), by launches of their own. An M that varies, a solve of its own, is
 * not to work for a residual that is small enough already: then it waits. */
static kry_status precondition(run *R)
{
    kry_status st = KRY_OK;
    pcg *S = R->S;
    const kry_op *M = S->K->M;
    double square = INFINITY;

    if (S->look.at_each) {
        TRY(kry_vec_dot_sum(R->c->r, R->c->r, S->pq));
        TRY(kry_sum_read(R->z->layout, S->pq, &square));
    }
    if (M && square > R->c->goal * R->c->goal)
        TRY(kry_op_run_dots(M, R->c->r, R->z, S->rho));
    else
        TRY(kry_vec_dot_pair(R->c->r, R->z, S->rho));
done:
    return st;
}

/* p := z + beta p,  q := A p,  p'q */
static kry_status direct(run *R)
{
    kry_status st = KRY_OK;
    pcg *S = R->S;
    const kry_op *A = S->K->product;

    R->d.old = S->fuses ? S->old : S->p;
    if (!S->flexible) return kry_op_run_direction(A, &R->d, S->p, S->q, S->pq);
    TRY(kry_direction_run(&R->d, S->p));
    TRY(kry_op_run_dot(A, S->p, S->q, S->pq));
done:
    return st;
}

/* x += alpha p,  r -= alpha q, by a pass over vectors */
static kry_status pass_over_vectors(run *R, const kry_step *s)
{
    kry_status st = KRY_OK;
    pcg *S = R->S;
    kry_vec *x = R->c->x, *r = R->c->r;
    const kry_chunks rows = kry_chunks_of(x);
    bool aligned = !rows.chunk && !*kry_vec_alignment((const kry_vec *[]){ x }, 1);
    kry_arg args[KRY_CHUNKS_ARGS + KRY_STEP_ARGS + KRY_DRIFT_ARGS + 8];
    const kry_arg rest[] = { ARG(s->p->buffer),
                             ARG(S->q->buffer),
                             ARG(x->buffer),
                             ARG(x->first),
                             ARG(r->buffer),
                             ARG(S->rho->buffer),
                             s->d ? (kry_arg)ARG(s->d->buffer) : (kry_arg){ 0 },
                             ARG(R->z->buffer) };

    size_t count = kry_chunks_args(&rows, args);
    count += kry_step_args(s, takes_drift(S), args + count);
    memcpy(args + count, rest, sizeof rest);
    count += COUNT(rest) - (s->d ? 0 : 2);
    S->rho->count = (cl_int)rows.groups;
    if (s->drift) s->next_drift->count = S->rho->count;
    bool wide = aligned || !S->kernel.step_unaligned; /* on CPUs they are the same */
    TRY(kry_launch(x->dev, wide ? S->kernel.step : S->kernel.step_unaligned, S->rho->count, args,
                   count));
done:
    return st;
}

/* alpha := rho / p'q,  x += alpha p,  r -= alpha q,  z := M r,  rho := (r'z, r'r) */
static kry_status step(run *R, int64_t done)
{
    kry_status st = KRY_OK;
    pcg *S = R->S;
    kry_krylov *K = S->K;
    const kry_vec *d = diagonal_of(K->M);
    kry_step s = { .p = S->p,
                   .old = S->old,
                   .pq = S->pq,
                   .state = S->state,
                   .step = S->step,
                   .update = !S->x_every_second_step ? KRY_X_ADDS
                             : done % 2              ? KRY_X_ADDS_BOTH
                                                     : KRY_X_WAITS,
                   .d = d,
                   .z = R->z };

    if (takes_drift(S)) {
        kry_sum *t = S->drift;
        s.drift = t, s.next_drift = S->next_drift, s.unknowns = K->system.null.unknowns;
        S->drift = S->next_drift, S->next_drift = t;
    }
    if (S->repeats)
        TRY(K->product->table->apply_step(K->product->self, &s, R->c->x, R->c->r, S->rho));
    else
        TRY(pass_over_vectors(R, &s));
    if (takes_drift(S))
        TRY(kry_layout_reduce(R->z->layout, &S->drift, 1));
    else
        TRY(kry_null_space_project(&K->system.null, R->c->r));
    if (K->M && !d) TRY(precondition(R));
done:
    return st;
}

/* beta for an M that varies, between the step and the direction. */
static kry_status flex(run *R)
{
    kry_status st = KRY_OK;
    pcg *S = R->S;

    if (S->flexible != KRY_POLAK_RIBIERE) return KRY_OK;
    TRY(kry_vec_dot_sum(R->z, S->q, S->zq));
    TRY(kry_layout_reduce(R->z->layout, &S->zq, 1));
    const kry_arg args[] = { ARG(S->rho->buffer), ARG(S->rho->count), ARG(S->zq->buffer),
                             ARG(S->zq->count), ARG(S->step) };
    TRY(kry_launch(R->z->dev, S->kernel.correct_beta, 1, args, COUNT(args)));
done:
    return st;
}

/* ---- a cycle ----------------------------------------------------------------------------- */

/* The scalars that a cycle begins with: zeros, so that beta is 0; or those of the last cycle, whose
 * r'z is in its units. Waits in the second case. */
static kry_status set_scalars(pcg *S, const kry_cycle *c)
{
    static const double zero[STATE_SIZE];
    kry_status st = KRY_OK;
    kry_device *dev = S->look.dev;
    kry_scalar last[STATE_SIZE];
    size_t bytes = STATE_SIZE * kry_acc_size(dev);
    kry_type acc = dev->info.fp64 ? KRY_F64 : KRY_F32;

    TRY_CL(clEnqueueWriteBuffer(dev->queue, S->state, CL_FALSE, 0, bytes, zero, 0, NULL, NULL));
    if (!c->goes_on) {
        TRY_CL(clEnqueueWriteBuffer(dev->queue, S->step, CL_FALSE, 0, bytes, zero, 0, NULL, NULL));
        return KRY_OK;
    }
    TRY_CL(clEnqueueReadBuffer(dev->queue, S->step, CL_TRUE, 0, bytes, last, 0, NULL, NULL));
    kry_number_put(acc, last, STATE_STOP, KRY_END_NONE);
    for (int i = STATE_RHO; i <= STATE_RHO_REST; i++)
        kry_number_put(acc, last, i, c->unit_ratio * kry_number_at(acc, last, i));
    TRY_CL(clEnqueueWriteBuffer(dev->queue, S->step, CL_TRUE, 0, bytes, last, 0, NULL, NULL));
done:
    return st;
}

static kry_status begin(run *R)
{
    kry_status st = KRY_OK;
    pcg *S = R->S;

    if (S->drift) S->drift->count = 0;
    TRY(precondition(R));
    if (!R->c->goes_on) /* beta = 0 must not meet old NaNs */
        TRY(kry_vec_fill(S->fuses ? S->old : S->p, 0.0));
    TRY(set_scalars(S, R->c));
    kry_look_begin(&S->look, R->c);
done:
    return st;
}

/* What x still waits for after `done` steps, the first of which used the direction `first`. */
static kry_status catch_up(run *R, const kry_vec *first, int64_t done)
{
    kry_status st = KRY_OK;
    pcg *S = R->S;
    kry_vec *x = R->c->x;
    const kry_arg args[] = { ARG(x->n), ARG(S->step), ARG(first->buffer), ARG(x->buffer),
                             ARG(x->first) };

    if (!S->x_every_second_step || done % 2 == 0) return KRY_OK;
    TRY(kry_launch(x->dev, S->kernel.add_last, kry_groups_for(x->dev, x->type, x->n), args,
                   COUNT(args)));
done:
    return st;
}

static kry_status check_residual(void *self, const kry_turn *turn)
{
    run *R = self;
    R->d.iteration = turn->iteration, R->d.slot = turn->slot;
    return kry_direction_check(&R->d);
}

/* Iterations until the device, the limit or the monitor ends them: the whole recurrence. */
static kry_status iterate(run *R)
{
    kry_status st = KRY_OK;
    pcg *S = R->S;
    kry_story *story = R->c->story;
    const kry_watched watched = { S->state, check_residual, R };
    int64_t start = story->iteration;
    kry_vec *first = S->p, *other = S->old;
    kry_turn turn;
    bool go;

    TRY(begin(R));
    for (;;) {
        TRY(kry_layout_reduce(R->z->layout, &S->rho, 1));
        if (story->iteration > start) TRY(flex(R));
        TRY(kry_look_next(&S->look, R->c, &watched, &turn, &go));
        if (!go) break;
        R->d.iteration = turn.iteration, R->d.slot = turn.slot;
        TRY(direct(R));
        TRY(kry_layout_reduce(R->z->layout, &S->pq, 1));
        TRY(step(R, turn.iteration - start));
        if (S->fuses) {
            kry_vec *t = S->p;
            S->p = S->old, S->old = t;
        }
    }
    if (S->fuses) { /* the host ran ahead; the last direction that was written is the old one */
        bool even = (story->iteration - start) % 2 == 0;
        S->p = even ? first : other, S->old = even ? other : first;
    }
    TRY(catch_up(R, first, story->iteration - start));
done:
    return st;
}

static kry_status pcg_cycle(void *self, kry_cycle *c)
{
    kry_status st = KRY_OK;
    pcg *S = self;
    kry_vec *z = S->z ? S->z : c->r;
    run R = { .S = S,
              .c = c,
              .z = z,
              .d = { .z = z,
                     .rho = S->rho,
                     .step_state = S->step,
                     .state = S->state,
                     .history = S->look.history,
                     .target2 = kry_scalar_of(z->dev, c->goal * c->goal) } };
    bool done = false;

    if (!c->keeps_direction)
        TRY(kry_persistent_iterate(&S->persistent, c, S->look.check_every, &done));
    if (!done) TRY(iterate(&R));
done:
    return st;
}

/* By the model: the direction with its product, then x, p, r, q read and x, r written. */
static double pcg_bytes(const void *self)
{
    const pcg *S = self;
    const kry_op *product = S->K->product, *M = S->K->M;
    kry_op_info A, info;
    double word = (double)product->shape.rows * (double)kry_type_size(product->shape.type);

    kry_op_describe(product, &A);
    if (A.bytes_per_apply <= 0) return 0;
    double bytes = A.bytes_per_direction + 6 * word;
    if (S->repeats)
        bytes = A.bytes_per_direction + A.bytes_per_step + (S->x_every_second_step ? 0 : word);
    else if (A.bytes_per_direction <= 0 || product->dev->layout.reproducible)
        bytes = A.bytes_per_apply + (product->table->apply_dot ? 9 : 11) * word;
    if (!M) return bytes;
    if (diagonal_of(M)) return bytes + 2 * word;
    kry_op_describe(M, &info);
    if (info.bytes_per_apply <= 0) return 0;
    return bytes + info.bytes_per_apply + (M->table->apply_dots ? 0 : 2 * word);
}

/* ---- making one -------------------------------------------------------------------------- */

static void pcg_destroy(void *self)
{
    pcg *S = self;
    kry_device *dev = S->K->A->dev;

    kry_persistent_release(&S->persistent);
    kry_look_release(&S->look);
    kry_buffer_release(dev, &S->step);
    kry_buffer_release(dev, &S->state);
    kry_sum_release(&S->next_drift);
    kry_sum_release(&S->drift);
    kry_sum_release(&S->zq);
    kry_sum_release(&S->rho);
    kry_sum_release(&S->pq);
    kry_vec_release(&S->old);
    kry_vec_release(&S->p);
    kry_vec_release(&S->q);
    kry_vec_release(&S->z);
    free(S);
}

static kry_status allocate(pcg *S, kry_device *dev, kry_type type, int64_t n)
{
    kry_status st = KRY_OK;
    size_t bytes = STATE_SIZE * kry_acc_size(dev);

    if (!S->repeats) TRY(kry_vec_create(dev, type, n, 1, &S->q));
    TRY(kry_vec_create(dev, type, n, 1, &S->p));
    if (S->fuses) TRY(kry_vec_create(dev, type, n, 1, &S->old));
    if (S->K->M) TRY(kry_vec_create(dev, type, n, 1, &S->z));
    TRY(kry_sum_create(dev, 1, &S->pq));
    TRY(kry_sum_create(dev, 2, &S->rho));
    if (S->flexible == KRY_POLAK_RIBIERE) TRY(kry_sum_create(dev, 1, &S->zq));
    if (takes_drift(S)) {
        TRY(kry_sum_create(dev, 1, &S->drift));
        TRY(kry_sum_create(dev, 1, &S->next_drift));
    }
    TRY(kry_buffer_create(dev, bytes, &S->state));
    TRY(kry_buffer_create(dev, bytes, &S->step));
done:
    return st;
}

static kry_status compile(pcg *S, kry_device *dev, kry_type type)
{
    kry_status st = KRY_OK;
    kry_kernel *found;
    char step[32], unaligned[64];

    snprintf(step, sizeof step, "%s%s", diagonal_of(S->K->M) ? "-DDIAGONAL " : "",
             takes_drift(S) ? "-DDRIFT" : "");
    snprintf(unaligned, sizeof unaligned, "-DKRY_UNALIGNED %s", step);
    TRY(kry_kernel_get(dev, "pcg", type, step, "pcg_step", &S->kernel.step));
    /* Found again by the solve, which must not fail for want of them. */
    TRY(kry_kernel_get(dev, "pcg", type, "", "pcg_direction", &found));
    TRY(kry_kernel_get(dev, "pcg", type, "", "pcg_check", &found));
    TRY(kry_kernel_get(dev, "pcg", type, "", "pcg_add_last", &S->kernel.add_last));
    TRY(kry_kernel_get(dev, "pcg", type, "", "pcg_flexible", &S->kernel.correct_beta));
    if (dev->info.cpu_kernels) return KRY_OK;
    TRY(kry_kernel_get(dev, "pcg", type, unaligned, "pcg_step", &S->kernel.step_unaligned));
done:
    return st;
}

static kry_status check(const kry_op *M, const kry_pcg_params *params)
{
    kry_status st = KRY_OK;

    CHECK((unsigned)params->flexible <= KRY_FLETCHER_REEVES, KRY_ERR_ARGUMENT,
          "kry_pcg_create: flexible = %d is none", (int)params->flexible);
    CHECK(params->flexible || !M || !(M->shape.traits & KRY_VARYING), KRY_ERR_TYPE,
          "kry_pcg_create: '%s' varies between applications: only a flexible method may use it "
          "(KRY_POLAK_RIBIERE)",
          M->table->kind);
done:
    return st;
}

static kry_status pcg_create(kry_krylov *K, const kry_setup *setup, void **self)
{
    kry_status st = KRY_OK;
    const kry_pcg_params *params = setup->params;
    const kry_op *A = K->product, *M = setup->precond;
    pcg *S = NULL;

    TRY(check(M, params));
    TRY(kry_alloc(1, sizeof *S, &S));
    S->K = K;
    S->flexible = params->flexible;
    bool fused = !S->flexible && !A->dev->layout.reproducible; /* those leave sums of their own order */
    S->fuses = fused && A->table->apply_direction;
    S->repeats = fused && A->table->apply_step;
    /* A monitor that looks at x finds it complete; with another M, old p cannot be told from p. */
    S->x_every_second_step = S->repeats && (!K->M || diagonal_of(K->M)) && !K->story.exact;
    TRY(allocate(S, A->dev, A->shape.type, A->shape.rows));
    TRY(compile(S, A->dev, A->shape.type));
    TRY(kry_look_create(A->dev, K->judge.stop.check_every, M && M->shape.traits & KRY_VARYING,
                        &S->look));
    if (fused && !K->M && !K->deflation && !K->system.null.A)
        kry_persistent_prepare(&S->persistent, A, params);
    *self = S, S = NULL;
done:
    if (S) pcg_destroy(S);
    return st;
}

const kry_method kry_pcg_method = {
    .kind = "pcg",
    .deflates = true,
    .projects = true,
    .precond = { "r'Mr",
                 "is not positive: the preconditioner is not positive definite" },
    .matrix = { "p'Ap", "is not positive: the matrix is not positive definite, or too "
                        "ill-conditioned for this precision" },
    .create = pcg_create,
    .cycle = pcg_cycle,
    .bytes = pcg_bytes,
    .destroy = pcg_destroy,
};

kry_status kry_pcg_create(const kry_op *A, const kry_pcg_params *params, kry_op **solver)
{
    return kry_method_create(&kry_pcg_method, "kry_pcg_create", A, params, solver);
}
