/*
 * pcg.c - preconditioned conjugate gradients.
 *
 *   r := b - A x,  z := M r,  rho := r'z                      a cycle begins
 *   p := z + beta p,  q := A p,  alpha := rho / p'q           one pass where A fuses it
 *   x := x + alpha p,  r := r - alpha q,  z := M r,           one pass if M is diagonal
 *   rho' := r'z,  beta := rho' / rho
 *
 * With deflation M is both levels, or A is P A (precond/two_level.c), and a cycle begins with
 * x := x + Q (b - A x). A's null space is kept out of r, and in the end out of x. Where A pins an
 * unknown, the residual of what it pins has to be small as well.
 *
 * Storage     r, p, old p, q: 4 n numbers; z with a preconditioner; no q where A repeats
 * Per step    grids without a matrix 7 words (cl/stencil.cl); else
 *             matrix + 10 words per unknown without, 12 with a diagonal preconditioner where A
 *             fuses the direction (reads z, old, writes p, q; reads x, p, r, q, writes x, r);
 *             11 and 13 otherwise
 * Waits       none per step: alpha, beta and the stopping test live on the device (docs/pcg.md)
 * Breakdown   p'q <= 0: A is not positive definite; r'z <= 0: M is not; NaN or infinity in either
 * Source      M. R. Hestenes, E. Stiefel, J. Res. Nat. Bur. Standards 49 (1952)
 */
#include "krylov/persistent.h"
#include "operator/direction.h"
#include "operator/null_space.h"
#include "operator/op.h"
#include "operator/op_parts.h"
#include "operator/pin.h"
#include "precond/deflation.h"
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct pcg {
    kry_op *A, *M;      /* retained; M may be NULL, and is both levels with deflation */
    kry_op *product;    /* what directions are multiplied by: A, or P A */
    kry_op *deflation;  /* retained; NULL: none */
    kry_device *dev;    /* borrowed from A */
    kry_layout *layout; /* borrowed */
    kry_vec *r, *z, *q; /* z is r itself without a preconditioner; q is NULL if A repeats */
    kry_vec *p, *old;   /* change places where A fuses the direction */
    kry_flexible flexible;
    bool fuses;
    bool repeats;                      /* A forms A p again in its own step instead of storing q */
    bool lazy;                         /* which updates x every second time */
    kry_sum *pq, *rho;                 /* p'q; the pair (r'z, r'r) */
    kry_sum *zq;                       /* z'q, of Polak and Ribiere */
    kry_sum *drift, *next_drift;       /* sums of r, where constants are the null space */
    kry_kernel *step, *step_unaligned; /* for an x that starts anywhere */
    kry_kernel *add_last, *correct_beta;
    kry_null_space null;   /* of A: kept out of r, and in the end out of x */
    kry_unpinned unpinned; /* what A pins an unknown of */
    kry_vec *clear;        /* b without what lies along its null space */
    bool unpins;           /* of a b that has a solution the residual is looked at */
    kry_watch watch;
    kry_chip chip; /* iterations that stay on it, where A offers them */
    double setup_seconds;
} pcg;

/* z := M r and rho := (r'z, r'r), by launches of their own */
static kry_status precondition(pcg *S)
{
    return S->M ? kry_op_run_dots(S->M, S->r, S->z, S->rho) : kry_vec_dot_pair(S->r, S->z, S->rho);
}

/* The same where an M that varies, a solve of its own, is not to work for nothing: not for a
 * residual that is small enough. Waits. */
static kry_status precondition_if_needed(pcg *S)
{
    kry_status st = KRY_OK;
    double square;

    if (!S->watch.attentive) return precondition(S);
    TRY(kry_vec_dot_sum(S->r, S->r, S->pq));
    TRY(kry_sum_read(S->layout, S->pq, &square));
    double goal2 = kry_watch_goal2(&S->watch);
    TRY(square <= goal2 ? kry_vec_dot_pair(S->r, S->z, S->rho) : precondition(S));
done:
    return st;
}

/* r := b - A x, less what no x can reach, by who knows it */
static kry_status compute_residual(pcg *S, const kry_vec *b, kry_vec *x)
{
    kry_status st = KRY_OK;
    kry_truth *T = S->watch.truth;

    TRY(T ? T->residual(T, x, S->r) : kry_op_residual(S->A, b, x, S->r));
    TRY(kry_null_space_project(&S->null, S->r));
done:
    return st;
}

/* Of r = b - A x for the guess, before x is touched. Waits. */
static kry_status check_guess(pcg *S)
{
    kry_status st = KRY_OK;
    double square;

    if (S->watch.truth) return kry_guess_check(S->watch.truth->norm);
    TRY(kry_vec_dot_sum(S->r, S->r, S->pq));
    TRY(kry_sum_read(S->layout, S->pq, &square));
    TRY(kry_guess_check(sqrt(square)));
done:
    return st;
}

/* x := x + Q (b - A x): where the recurrence has to start from and, for DEF1, where it has to end
 */
static kry_status deflate(pcg *S, const kry_vec *b, kry_vec *x)
{
    kry_status st = KRY_OK;
    kry_deflation *D = kry_deflation_of(S->deflation);

    if (!D || (S->watch.truth && S->watch.restarts >= 0 && D->variant != KRY_DEF1)) return KRY_OK;
    TRY(compute_residual(S, b, x));
    if (S->watch.restarts < 0) TRY(check_guess(S));
    TRY(kry_deflation_start(D, x, S->r));
done:
    return st;
}

/* Where A pins an unknown: all that is left of r in the other rows adds up in that one, once the
 * pin is gone. The residual is then that of what is pinned, and the recurrence goes by their ratio;
 * to half the target, for the ratio changes. */
static kry_status unpin(pcg *S, const kry_vec *b, const kry_vec *x, double *residual)
{
    kry_status st = KRY_OK;
    double whole;

    if (!S->unpins) return KRY_OK;
    TRY(kry_unpinned_residual(&S->unpinned, b, x, S->p)); /* p is between two uses */
    TRY(kry_vec_dot_sum(S->p, S->p, S->pq));
    TRY(kry_sum_read(S->layout, S->pq, &whole));
    whole = sqrt(whole);
    if (whole <= *residual) return S->watch.unit = 1, KRY_OK;
    S->watch.unit = *residual > 0 ? whole / *residual : 1;
    if (S->watch.restarts >= 0) S->watch.goal = 0.5 * S->watch.target;
    *residual = whole;
done:
    return st;
}

/* r := b - A x, and the recurrence from there. Hands back the true residual. With deflation x moves
 * along Z. Waits. */
static kry_status begin(pcg *S, const kry_vec *b, kry_vec *x, double *residual)
{
    kry_status st = KRY_OK;
    const kry_truth *T = S->watch.truth;
    double rho[2];

    TRY(deflate(S, b, x));
    TRY(compute_residual(S, b, x));
    if (S->drift) S->drift->count = 0;
    kry_watch_aim(&S->watch);
    if (T && !(T->norm > S->watch.target)) return *residual = T->norm, KRY_OK;
    TRY(precondition_if_needed(S));
    if (T) return *residual = T->norm, KRY_OK;
    TRY(kry_sum_read(S->layout, S->rho, rho));
    *residual = sqrt(rho[1]);
    TRY(unpin(S, b, x, residual));
done:
    return st;
}

static const kry_vec *diagonal_of(const kry_op *M)
{
    return M && M->table->as_diagonal ? M->table->as_diagonal(M->self) : NULL;
}

/* z = c r takes the same steps as z = r. */
static bool only_scales(const kry_op *M)
{
    return M->table->as_scalar && M->table->as_scalar(M->self) > 0;
}

/* The null space is that of constants: the step takes it out of r by itself, a step late. */
static bool takes_drift(const pcg *S) { return S->null.A && !S->null.vectors; }

/* x += alpha p,  r -= alpha q, by a pass over vectors */
static kry_status run_step(pcg *S, const kry_step *s, kry_vec *x)
{
    kry_status st = KRY_OK;
    const kry_chunks rows = kry_chunks_of(x);
    bool aligned = !rows.chunk && !*kry_vec_alignment((const kry_vec *[]){ x }, 1);
    kry_arg args[KRY_CHUNKS_ARGS + KRY_STEP_ARGS + KRY_DRIFT_ARGS + 8];
    const kry_arg rest[] = { ARG(s->p->buffer),
                             ARG(S->q->buffer),
                             ARG(x->buffer),
                             ARG(x->first),
                             ARG(S->r->buffer),
                             ARG(S->rho->buffer),
                             s->d ? (kry_arg)ARG(s->d->buffer) : (kry_arg){ 0 },
                             ARG(S->z->buffer) };

    size_t count = kry_chunks_args(&rows, args);
    count += kry_step_args(s, takes_drift(S), args + count);
    memcpy(args + count, rest, sizeof rest);
    count += COUNT(rest) - (s->d ? 0 : 2);
    S->rho->count = (cl_int)rows.groups;
    if (s->drift) s->next_drift->count = S->rho->count;
    bool wide = aligned || !S->step_unaligned; /* on CPUs they are the same */
    TRY(kry_launch(S->dev, wide ? S->step : S->step_unaligned, S->rho->count, args, count));
done:
    return st;
}

/* alpha := rho / p'q,  x += alpha p,  r -= alpha q,  z := M r,  rho := (r'z, r'r) */
static kry_status step(pcg *S, kry_vec *x, int64_t done)
{
    kry_status st = KRY_OK;
    const kry_vec *d = diagonal_of(S->M);
    kry_step s = { .p = S->p,
                   .old = S->old,
                   .pq = S->pq,
                   .state = S->watch.state,
                   .step = S->watch.step,
                   .update = !S->lazy   ? KRY_X_ADDS
                             : done % 2 ? KRY_X_ADDS_BOTH
                                        : KRY_X_WAITS,
                   .d = d,
                   .z = S->z };

    if (takes_drift(S)) {
        kry_sum *t = S->drift;
        s.drift = t, s.next_drift = S->next_drift, s.unknowns = S->null.unknowns;
        S->drift = S->next_drift, S->next_drift = t;
    }
    if (S->repeats)
        TRY(S->product->table->apply_step(S->product->self, &s, x, S->r, S->rho));
    else
        TRY(run_step(S, &s, x));
    if (takes_drift(S))
        TRY(kry_layout_reduce(S->layout, &S->drift, 1));
    else
        TRY(kry_null_space_project(&S->null, S->r));
    if (S->M && !d) TRY(precondition_if_needed(S));
done:
    return st;
}

/* What x still waits for after `done` steps, the first of which used the direction `first`. */
static kry_status catch_up(pcg *S, kry_vec *x, kry_vec *first, int64_t done)
{
    kry_status st = KRY_OK;
    const kry_arg args[] = { ARG(x->n), ARG(S->watch.step), ARG(first->buffer), ARG(x->buffer),
                             ARG(x->first) };

    if (!S->lazy || done % 2 == 0) return KRY_OK;
    TRY(kry_launch(S->dev, S->add_last, kry_groups_for(S->dev, x->type, x->n), args, COUNT(args)));
done:
    return st;
}

/* beta for an M that varies, between the step and the direction. */
static kry_status flex(pcg *S)
{
    kry_status st = KRY_OK;

    if (S->flexible != KRY_POLAK_RIBIERE) return KRY_OK;
    TRY(kry_vec_dot_sum(S->z, S->q, S->zq));
    TRY(kry_layout_reduce(S->layout, &S->zq, 1));
    const kry_arg args[] = { ARG(S->rho->buffer), ARG(S->rho->count), ARG(S->zq->buffer),
                             ARG(S->zq->count), ARG(S->watch.step) };
    TRY(kry_launch(S->dev, S->correct_beta, 1, args, COUNT(args)));
done:
    return st;
}

/* p := z + beta p,  q := A p,  p'q */
static kry_status direct(pcg *S, kry_direction *d)
{
    kry_status st = KRY_OK;

    d->old = S->fuses ? S->old : S->p;
    if (!S->flexible) return kry_op_run_direction(S->product, d, S->p, S->q, S->pq);
    TRY(kry_direction_run(d, S->p));
    TRY(kry_op_run_dot(S->product, S->p, S->q, S->pq));
done:
    return st;
}

/* Iterations until the device, the limit or the monitor ends them: the whole recurrence. */
static kry_status iterate(pcg *S, kry_vec *x)
{
    kry_status st = KRY_OK;
    kry_direction d = { .z = S->z,
                        .rho = S->rho,
                        .step_state = S->watch.step,
                        .state = S->watch.state,
                        .history = S->watch.history,
                        .target2 = kry_scalar_of(S->dev, kry_watch_goal2(&S->watch)) };
    int64_t start = S->watch.iteration;
    kry_vec *first = S->p, *other = S->old;
    bool go;

    if (!kry_watch_keeps(&S->watch)) /* beta = 0 must not meet old NaNs */
        TRY(kry_vec_fill(S->fuses ? S->old : S->p, 0.0));
    TRY(kry_watch_cycle(&S->watch));
    for (;;) {
        TRY(kry_layout_reduce(S->layout, &S->rho, 1));
        if (S->watch.iteration > start) TRY(flex(S));
        TRY(kry_watch_next(&S->watch, &d, &go));
        if (!go) break;
        TRY(direct(S, &d));
        TRY(kry_layout_reduce(S->layout, &S->pq, 1));
        TRY(step(S, x, d.iteration - start));
        if (S->fuses) {
            kry_vec *t = S->p;
            S->p = S->old, S->old = t;
        }
    }
    if (S->fuses) { /* the host ran ahead; the last direction that was written is the old one */
        bool even = (S->watch.iteration - start) % 2 == 0;
        S->p = even ? first : other, S->old = even ? other : first;
    }
    TRY(catch_up(S, x, first, S->watch.iteration - start));
done:
    return st;
}

/* A cycle of the recurrence: on the chip where that can be done, and if it ends there too early,
 * on from the x it has come to. */
static kry_status cycle(pcg *S, const kry_vec *b, kry_vec *x)
{
    kry_status st = KRY_OK;
    int64_t before = S->watch.iteration;
    bool complete;
    double residual;

    if (S->watch.truth && S->watch.truth->keep) return iterate(S, x);
    TRY(kry_chip_iterate(&S->chip, &S->watch, S->r, x, &complete));
    if (complete) return KRY_OK;
    if (S->watch.iteration > before) TRY(begin(S, b, x, &residual));
    TRY(iterate(S, x));
done:
    return st;
}

/* By the model: the direction with its product, then x, p, r, q read and x, r written. */
static double bytes_per_step(const pcg *S)
{
    kry_op_info A, M;
    double word = (double)S->A->shape.rows * (double)kry_type_size(S->A->shape.type);

    kry_op_describe(S->product, &A);
    if (A.bytes_per_apply <= 0) return 0;
    double bytes = A.bytes_per_direction + 6 * word;
    if (S->repeats)
        bytes = A.bytes_per_direction + A.bytes_per_step + (S->lazy ? 0 : word);
    else if (A.bytes_per_direction <= 0 || S->layout->reproducible)
        bytes = A.bytes_per_apply + (S->product->table->apply_dot ? 9 : 11) * word;
    if (!S->M) return bytes;
    if (diagonal_of(S->M)) return bytes + 2 * word;
    kry_op_describe(S->M, &M);
    if (M.bytes_per_apply <= 0) return 0;
    return bytes + M.bytes_per_apply + (S->M->table->apply_dots ? 0 : 2 * word);
}

/* Take A's null space out of x in the end, unless that costs it the target, or digits: of two
 * phases in single precision the stiff one has no place for a large constant. Waits. */
static kry_status centre(pcg *S, const kry_vec *b, kry_vec *x, kry_result *res)
{
    kry_status st = KRY_OK;
    double residual;

    if (!S->null.A || S->watch.truth) return KRY_OK;
    TRY(kry_vec_copy(x, S->p));
    TRY(kry_null_space_project(&S->null, x));
    TRY(compute_residual(S, b, x));
    TRY(kry_vec_dot_sum(S->r, S->r, S->pq));
    TRY(kry_sum_read(S->layout, S->pq, &residual));
    residual = sqrt(residual);
    bool lost = res->true_residual <= res->target || residual > 2 * res->true_residual;
    if (residual > res->target && lost)
        TRY(kry_vec_copy(S->p, x));
    else
        kry_judge_again(residual, res);
done:
    return st;
}

static kry_status pcg_solve(void *self, const kry_vec *b, kry_vec *x, kry_result *res)
{
    pcg *S = self;
    kry_status st = KRY_OK;
    const kry_truth *T = S->watch.truth;
    double norm_b = T ? T->norm_b : 0, inconsistent = 0, residual = 0;

    if (!T) TRY(kry_rhs_norm(b, S->pq, &norm_b));
    kry_null_space *null = S->unpinned.A ? &S->unpinned.null : &S->null;
    if (!T) TRY(kry_null_space_measure(null, b, &inconsistent));
    kry_watch_begin(&S->watch, norm_b);
    const double target = S->watch.target;
    S->unpins = S->unpinned.A && !T && inconsistent <= target;
    kry_watch_leave(&S->watch, T ? T->inconsistent : inconsistent);
    if (S->unpins) {
        TRY(kry_vec_copy(b, S->clear));
        TRY(kry_null_space_project(null, S->clear));
        b = S->clear;
    }
    S->chip.iterations = 0;
    if (norm_b == 0) {
        TRY(kry_vec_fill(x, 0.0));
        kry_watch_end(&S->watch, KRY_CONVERGED_ZERO, 0.0, "b is zero, and so is x", res);
    } else {
        TRY(begin(S, b, x, &residual));
        if (!S->deflation) TRY(kry_guess_check(residual)); /* else it is done */
        while (kry_watch_judge(&S->watch, residual, res)) {
            TRY(cycle(S, b, x));
            TRY(begin(S, b, x, &residual));
        }
        TRY(centre(S, b, x, res));
        if (!T) kry_judge_consistency(inconsistent, target, res);
    }
    res->setup_seconds = S->setup_seconds;
    res->resident_iterations = S->chip.iterations;
    res->bytes = bytes_per_step(S) * (double)(res->iterations - res->resident_iterations);
    res->solve_seconds = kry_now() - S->watch.start;
    st = kry_reason_status(res->reason);
done:
    return st;
}

static kry_status pcg_apply(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    return kry_apply_by_solve(pcg_solve, self, &(kry_scaling){ alpha, beta }, x, y);
}

static kry_status pcg_update(void *self, const void *values)
{
    pcg *S = self;
    kry_status st = KRY_OK;

    CHECK(!values, KRY_ERR_ARGUMENT, "kry_op_update: 'pcg' takes no values");
    if (kry_pin_of(S->A) != S->A) TRY(kry_op_update(S->A, NULL)); /* its entry is a_rr */
    if (S->M) TRY(kry_op_update(S->M, NULL));
    if (S->deflation && S->product != S->A) TRY(kry_op_update(S->deflation, NULL));
done:
    return st;
}

static void pcg_destroy(void *self)
{
    pcg *S = self;
    if (!S) return;
    kry_chip_release(&S->chip);
    kry_watch_release(&S->watch);
    kry_unpinned_release(&S->unpinned);
    kry_null_space_release(&S->null);
    kry_sum_release(&S->next_drift);
    kry_sum_release(&S->drift);
    kry_sum_release(&S->zq);
    kry_sum_release(&S->rho);
    kry_sum_release(&S->pq);
    kry_vec_release(&S->clear);
    kry_vec_release(&S->old);
    kry_vec_release(&S->p);
    kry_vec_release(&S->q);
    kry_vec_release(&S->z);
    kry_vec_release(&S->r);
    kry_op_release(&S->deflation);
    kry_op_release(&S->product);
    kry_op_release(&S->M);
    kry_op_release(&S->A);
    free(S);
}

static const kry_op_table pcg_table = {
    .struct_size = sizeof(kry_op_table),
    .kind = "pcg",
    .apply = pcg_apply,
    .update = pcg_update,
    .solve = pcg_solve,
    .destroy = pcg_destroy,
};

kry_watch *kry_pcg_watch(const kry_op *op)
{
    return op->table == &pcg_table ? &((pcg *)op->self)->watch : NULL;
}

static kry_status check_deflation(const kry_op *A, const kry_op *D)
{
    kry_status st = KRY_OK;

    if (!D) return KRY_OK;
    CHECK(kry_deflation_of(D), KRY_ERR_TYPE,
          "kry_pcg_create: '%s' is no deflation (kry_deflation_create makes them)", D->table->kind);
    CHECK(kry_deflation_of(D)->A == A, KRY_ERR_ARGUMENT,
          "kry_pcg_create: the deflation was made for another matrix");
done:
    return st;
}

static kry_status check_operators(const kry_op *A, const void *given)
{
    kry_status st = KRY_OK;
    const kry_pcg_params *params = given;
    const kry_op *M = params->precond;

    CHECK((unsigned)params->flexible <= KRY_FLETCHER_REEVES, KRY_ERR_ARGUMENT,
          "kry_pcg_create: flexible = %d is none", (int)params->flexible);
    if (!M) return KRY_OK;
    CHECK(M->shape.rows == A->shape.rows && M->shape.cols == A->shape.cols, KRY_ERR_SHAPE,
          "kry_pcg_create: A has %lld rows, the preconditioner '%s' is %lld-by-%lld",
          (long long)A->shape.rows, M->table->kind, (long long)M->shape.rows,
          (long long)M->shape.cols);
    CHECK(M->shape.type == A->shape.type, KRY_ERR_TYPE,
          "kry_pcg_create: A is %s, the preconditioner '%s' is %s", kry_type_name(A->shape.type),
          M->table->kind, kry_type_name(M->shape.type));
    CHECK(M->dev == A->dev, KRY_ERR_ARGUMENT,
          "kry_pcg_create: the preconditioner '%s' lives on another device", M->table->kind);
    CHECK(params->flexible || !(M->shape.traits & KRY_VARYING), KRY_ERR_TYPE,
          "kry_pcg_create: '%s' varies between applications: only a flexible method may use it "
          "(KRY_POLAK_RIBIERE)",
          M->table->kind);
done:
    return st;
}

static kry_status allocate(pcg *S)
{
    kry_status st = KRY_OK;
    kry_type type = S->A->shape.type;
    int64_t n = S->A->shape.rows;
    kry_kernel *compiled;
    char step[32], unaligned[64];

    TRY(kry_vec_create(S->dev, type, n, 1, &S->r));
    if (!S->repeats) TRY(kry_vec_create(S->dev, type, n, 1, &S->q));
    TRY(kry_vec_create(S->dev, type, n, 1, &S->p));
    if (S->fuses) TRY(kry_vec_create(S->dev, type, n, 1, &S->old));
    if (S->unpinned.A) TRY(kry_vec_create(S->dev, type, n, 1, &S->clear));
    if (S->M)
        TRY(kry_vec_create(S->dev, type, n, 1, &S->z));
    else
        S->z = kry_vec_retain(S->r);
    TRY(kry_sum_create(S->dev, 1, &S->pq));
    TRY(kry_sum_create(S->dev, 2, &S->rho));
    if (S->flexible == KRY_POLAK_RIBIERE) TRY(kry_sum_create(S->dev, 1, &S->zq));
    if (takes_drift(S)) {
        TRY(kry_sum_create(S->dev, 1, &S->drift));
        TRY(kry_sum_create(S->dev, 1, &S->next_drift));
    }
    snprintf(step, sizeof step, "%s%s", diagonal_of(S->M) ? "-DDIAGONAL " : "",
             takes_drift(S) ? "-DDRIFT" : "");
    snprintf(unaligned, sizeof unaligned, "-DKRY_UNALIGNED %s", step);
    TRY(kry_kernel_get(S->dev, "pcg", type, step, "pcg_step", &S->step));
    /* Found again by the solve, which must not fail for want of them. */
    TRY(kry_kernel_get(S->dev, "pcg", type, "", "pcg_direction", &compiled));
    TRY(kry_kernel_get(S->dev, "pcg", type, "", "pcg_check", &compiled));
    TRY(kry_kernel_get(S->dev, "pcg", type, "", "pcg_add_last", &S->add_last));
    TRY(kry_kernel_get(S->dev, "pcg", type, "", "pcg_flexible", &S->correct_beta));
    if (S->dev->info.cpu_kernels) return KRY_OK;
    TRY(kry_kernel_get(S->dev, "pcg", type, unaligned, "pcg_step", &S->step_unaligned));
done:
    return st;
}

/* The two levels: M and A, with deflation in one of them. */
static kry_status take_operators(pcg *S, const kry_op *A, const kry_pcg_params *params)
{
    kry_status st = KRY_OK;
    const kry_op *M = params->precond;
    kry_deflation *D = kry_deflation_of(params->deflation);

    S->A = kry_op_retain(A);
    if (M && only_scales(M)) M = NULL;
    if (D) S->deflation = kry_op_retain(params->deflation);
    if (D && D->variant == KRY_DEF1)
        TRY(kry_two_level_product(params->deflation, &S->product));
    else
        S->product = kry_op_retain(A);
    if (D && D->variant != KRY_DEF1)
        TRY(kry_two_level_precond(params->deflation, M, &S->M));
    else if (M)
        S->M = kry_op_retain(M);
done:
    return st;
}

static kry_status create(const kry_op *A, const void *given, kry_op **solver)
{
    kry_status st = KRY_OK;
    const kry_pcg_params *params = given;
    pcg *S = NULL;
    double start = kry_now();

    TRY(check_deflation(A, params->deflation));
    kry_stop stop = params->stop;
    int64_t unknowns;
    TRY(kry_layout_rows(&A->dev->layout, A->shape.rows, NULL, &unknowns));
    TRY(kry_stop_check("kry_pcg_create", A->shape.type, unknowns, &stop));
    TRY(kry_alloc(1, sizeof *S, &S));
    TRY(take_operators(S, A, params));
    S->dev = A->dev;
    S->layout = &A->dev->layout;
    S->flexible = params->flexible;
    bool fused = !S->flexible && !S->layout->reproducible; /* those leave sums of their own order */
    S->fuses = fused && S->product->table->apply_direction != NULL;
    S->repeats = fused && S->product->table->apply_step != NULL;
    /* A monitor that looks at x finds it complete; with another M, old p cannot be told from p. */
    S->lazy = S->repeats && (!S->M || diagonal_of(S->M)) && !(params->monitor && stop.check_every);
    TRY(kry_null_space_create(A, &S->null));
    TRY(kry_unpinned_create(A, &S->unpinned));
    TRY(allocate(S));
    TRY(kry_watch_create(S->dev, &stop, params->monitor, params->monitor_user, &S->watch));
    S->watch.attentive = params->precond && (params->precond->shape.traits & KRY_VARYING);
    kry_pcg_params left = *params;
    left.precond = S->M;
    if (!S->null.A && !S->deflation && fused)
        kry_chip_prepare(&S->chip, A, &left); /* which does not project */
    TRY(kry_device_finish(S->dev));
    S->setup_seconds = kry_now() - start;
    kry_op_shape shape = A->shape;
    shape.traits = KRY_VARYING;
    TRY(kry_op_create(A->dev, &pcg_table, S, &shape, solver));
    S = NULL;
done:
    pcg_destroy(S);
    return st;
}

kry_status kry_pcg_create(const kry_op *A, const kry_pcg_params *params, kry_op **solver)
{
    static const kry_constructor how = {
        "kry_pcg_create",
        "KRY_PCG",
        sizeof *params,
        { offsetof(kry_pcg_params, precond), offsetof(kry_pcg_params, deflation) },
        check_operators,
        create
    };
    return kry_construct(&how, A, params ? params : KRY_PCG(), solver);
}
