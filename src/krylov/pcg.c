/*
 * pcg.c - preconditioned conjugate gradients.
 *
 *   z := M r,  rho := r'z                                     a cycle begins
 *   p := z + beta p,  q := A p,  alpha := rho / p'q           one pass where A fuses it
 *   x := x + alpha p,  r := r - alpha q,  z := M r,           one pass if M is diagonal
 *   rho' := r'z,  beta := rho' / rho
 *
 * Of several columns each has its own: recurrences side by side, scalars and sums column after column. They
 * share the products, and a column that has stopped is left alone until all have.
 *
 * Where M varies beta is (r' - r)'z / rho instead, 0 if that is negative.
 *
 * Storage     p, old p, q: 3 n numbers beside r; z with a preconditioner; no q where A repeats
 * Per step    grids without a matrix 7 words (cl/grid/stencil.cl), 7.5 where M is no diagonal; else
 *             matrix + 10 words per unknown without, 12 with a diagonal preconditioner where A
 *             fuses the direction (reads z, old, writes p, q; reads x, p, r, q, writes x, r);
 *             11 and 13 otherwise; on CPUs 1.5 less, for x gets two directions at once
 * Waits       none per step: alpha, beta and the stopping test live on the device; once near the
 *             end with an M that varies or is multigrid, which shall not work for an x that is good enough
 * Breakdown   p'q <= 0: A is not positive definite; r'z <= 0: M is not; NaN or infinity in either
 * Source      M. R. Hestenes, E. Stiefel, J. Res. Nat. Bur. Standards 49 (1952)
 */
#include "krylov/persistent.h"
#include "krylov/workspace.h"
#include "multigrid/hierarchy.h"
#include "precond/deflation.h"
#include <limits.h>
#include <math.h>
#include <string.h>

typedef struct pcg {
    kryi_workspace W;
    kry_vec *z;       /* without a preconditioner r of the cycle under way, borrowed */
    kry_vec *q;       /* NULL if A repeats */
    kry_vec *p, *old; /* change places where A fuses the direction */
    kry_flexible flexible;
    bool fuses;
    bool repeats;             /* A forms A p again in its own step instead of storing q */
    bool x_every_second_step; /* x gets two directions at once */
    /* Applying M is expensive: convergence is checked before it is applied. */
    bool checks_first;
    kry_sum *pq, *rho;           /* p'q; the pair (r'z, r'r) */
    kry_sum *zq;                 /* z'q, of Polak and Ribiere */
    kry_sum *drift, *next_drift; /* sums of r, where constants are the null space */
    kryi_kernel *step;           /* of one column or of several, for an x that is aligned */
    kryi_kernel *add_lasts, *correct_beta; /* NULL: not wanted */
    kryi_persistent persistent;            /* where A offers iterations in one kernel */
    /* ---- of the cycle under way ---- */
    kry_vec *x, *r; /* of all columns; borrowed */
    kryi_direction d;
    int64_t seen_at;       /* the last iteration whose ||r|| the host has waited for */
    double seen;           /* this norm */
    kryi_recycle *recycle; /* what vectors are left to; NULL: none; borrowed */
} pcg;

/* The diagonal that z := M r multiplies by; NULL if M is none. */
static const kry_vec *diagonal_of(const kry_op *M)
{
    return M && M->table->as_diagonal ? M->table->as_diagonal(M->self) : NULL;
}

/* The null space was that of constants when S was made: a step takes it out of r by itself, one step late. */
static bool takes_drift(const pcg *S) { return S->drift; }

/* The kernel of a step. That for an x that is not aligned is compiled when one comes, for few do. */
static kry_status get_step_kernel(const pcg *S, bool aligned, kryi_kernel **kernel)
{
    const kry_op *A = S->W.K->product;

    return kryi_kernel_get(A->dev, "pcg", A->shape.type, aligned ? "" : "-DKRY_UNALIGNED",
                           "pcg_step", kernel);
}

/* ---- a step ------------------------------------------------------------------------------ */

/* z := M r and rho := (r'z, r'r), by launches of their own. */
static kry_status precondition(const pcg *S)
{
    const kry_op *M = S->W.K->M;

    if (M) return kryi_op_run_dots(M, S->r, S->z, S->rho);
    return kryi_vec_dot_pair(S->r, S->z, S->rho);
}

/* Whether the residual that the last step has left may be the last one, if residuals go on falling as they did: by the
 * mean rate up to the last one that the host knows, or by the rate there, if that is faster. */
static bool end_may_be_near(const pcg *S)
{
    const kryi_stopping *s = S->W.poll.c->stopping;
    const int64_t start = S->W.poll.start;
    const double margin = 2.5; /* iterations */
    int64_t at = s->history_count - 1;
    double norm = at > start ? s->history[at] / s->unit : 0;
    double before = at > start ? s->history[at - 1] / s->unit : 0;

    if (S->seen_at >= at) at = S->seen_at, norm = before = S->seen;
    if (at <= start) return true;
    const double mean = log(S->W.poll.c->norm / norm) / (double)(at - start);
    const double rate = fmax(mean, log(before / norm));
    const double left = log(norm / S->W.poll.c->goal) / rate - (double)(s->iteration - at);
    return !(rate > 0 && left >= margin);
}

/* z := M r and rho := (r'z, r'r) after a step, which has left r'r in rho. An expensive M is not applied to a residual that is small
 * enough already: where the end may be near the host waits for that sum. Then it leaves rho as it is, for the
 * device to find the same. */
static kry_status precondition_if_needed(pcg *S)
{
    kry_status st = KRY_OK;
    const double rounding = 1e-6; /* the device adds up in another order */
    double sums[2];

    if (S->checks_first && end_may_be_near(S)) {
        TRY(kryi_sum_read(S->z->layout, S->rho, sums));
        S->seen_at = S->W.poll.c->stopping->iteration, S->seen = sqrt(sums[1]);
        S->W.poll.due = S->seen <= (1 - rounding) * S->W.poll.c->goal;
    }
    if (!S->W.poll.due) TRY(kryi_op_run_dots_again(S->W.K->M, S->r, S->z, S->rho));
done:
    return st;
}

/* beta is 0 in the first iteration: 0 z then serves as well as an old direction, which need not be cleared. It is where the
 * next cycle may go on along it, though no iteration may have written it, and where columns lie apart. */
static bool begins_anew(const pcg *S)
{
    return S->W.columns == 1 && !S->W.poll.c->goes_on && !S->W.poll.c->keeps_direction &&
           !(S->W.K->stopping.drop > 0);
}

/* p := z + beta p,  q := A p,  p'q */
static kry_status direct(pcg *S)
{
    kry_status st = KRY_OK;
    const kry_op *A = S->W.K->product;
    const bool anew = S->d.iteration == S->W.poll.start && begins_anew(S);

    S->d.old = anew ? S->z : S->fuses ? S->old : S->p;
    if (!S->flexible) return kryi_op_run_direction(A, &S->d, S->p, S->q, S->pq);
    TRY(kryi_direction_run(&S->d, S->p));
    TRY(kryi_op_run_dot(A, S->p, S->q, S->pq));
done:
    return st;
}

/* x += alpha p,  r -= alpha q, by a pass over vectors */
static kry_status pass_over_vectors(pcg *S, const kryi_step *s)
{
    kry_status st = KRY_OK;
    const kry_vec *x = S->x, *r = S->r;
    const kryi_chunks rows = kryi_chunks_of_columns(x);
    const bool aligned = !rows.chunk && kryi_vec_aligned(x);
    kryi_kernel *kernel = S->step;
    const cl_mem d = s->d ? s->d->buffer : NULL, z = s->d ? S->z->buffer : NULL;
    const kry_arg more[] = { ARG(s->p->buffer),
                             ARG(s->old->buffer),
                             ARG(S->q->buffer),
                             ARG_VEC(x),
                             ARG(r->buffer),
                             ARG(S->rho->buffer),
                             ARG(d),
                             ARG(z),
                             ARG(s->p->ld),
                             ARG(x->ld) };
    kry_arg args[KRY_CHUNKS_ARGS + KRY_STEP_ARGS + KRY_DRIFT_ARGS + COUNT(more)];

    size_t count = kryi_chunks_args(&rows, args);
    count += kryi_step_args(s, true, args + count);
    memcpy(args + count, more, sizeof more), count += COUNT(more);
    S->rho->count = (cl_int)rows.groups;
    if (s->drift) s->next_drift->count = S->rho->count;
    if (!aligned && !x->dev->info.cpu_kernels) TRY(get_step_kernel(S, false, &kernel));
    TRY(kryi_launch_range(x->dev, kernel, (kryi_range){ rows.groups, .columns = S->W.columns },
                          args, count));
done:
    return st;
}

/* done: steps of the cycle before this one. Only where z is r or d .* r does a step have it at hand. */
static cl_int what_becomes_of_x(const pcg *S, int64_t done)
{
    const kry_op *M = S->W.K->M;

    if (!S->x_every_second_step) return KRY_X_ADDS;
    if (done % 2 == 0) return KRY_X_WAITS;
    return M && !diagonal_of(M) ? KRY_X_ADDS_OLD : KRY_X_ADDS_BOTH;
}

/* alpha := rho / p'q,  x += alpha p,  r -= alpha q,  z := M r,  rho := (r'z, r'r) */
static kry_status step(pcg *S, int64_t done)
{
    kry_status st = KRY_OK;
    kryi_krylov *K = S->W.K;
    const kry_vec *d = diagonal_of(K->M);
    kryi_step s = { .p = S->p,
                    .old = S->old ? S->old : S->p,
                    .pq = S->pq,
                    .state = S->W.poll.state,
                    .step = S->W.poll.step,
                    .update = what_becomes_of_x(S, done),
                    .d = d,
                    .z = S->z };

    if (takes_drift(S)) {
        kry_sum *t = S->drift;
        s.drift = t, s.next_drift = S->next_drift;
        /* Sums are divided by this number: where A, updated since, is regular, nothing is left of them. */
        s.unknowns = K->residual.null.A ? K->residual.null.unknowns : INT64_MAX;
        S->drift = S->next_drift, S->next_drift = t;
    }
    if (S->repeats)
        TRY(K->product->fused->apply_step(K->product->self, &s, S->x, S->r, S->rho));
    else
        TRY(pass_over_vectors(S, &s));
    if (takes_drift(S))
        TRY(kryi_layout_reduce(S->z->layout, &S->drift, 1));
    else
        TRY(kryi_null_space_project(&K->residual.null, S->r));
    if (K->M && !d) TRY(precondition_if_needed(S));
done:
    return st;
}

/* beta for an M that varies, between the step and the direction. */
static kry_status flex(pcg *S)
{
    kry_status st = KRY_OK;

    if (S->flexible != KRY_POLAK_RIBIERE) return KRY_OK;
    TRY(kry_vec_dot_sum(S->z, S->q, S->zq));
    TRY(kryi_layout_reduce(S->z->layout, &S->zq, 1));
    TRY(kryi_launch(S->z->dev, S->correct_beta, 1,
                    ARGS(ARG_SUM(S->rho), ARG_SUM(S->zq), ARG(S->W.poll.step))));
done:
    return st;
}

/* ---- a cycle ----------------------------------------------------------------------------- */

/* Go on along the last direction: its r'z is in the units of the last cycle. Waits. */
static kry_status keep_scalars(pcg *S, const kryi_cycle *c)
{
    kry_status st = KRY_OK;
    kry_device *dev = S->W.poll.dev;
    cl_mem step = S->W.poll.step;
    kryi_scalar last[STATE_SIZE];
    size_t bytes = STATE_SIZE * kryi_acc_size(dev);
    kry_type acc = kryi_acc_type(dev);

    TRY(kryi_buffer_read(dev, step, 0, bytes, last));
    kryi_number_put(acc, last, STATE_STOP, KRY_END_NONE);
    for (int i = STATE_RHO; i <= STATE_RHO_REST; i++)
        kryi_number_put(acc, last, i, c->unit_ratio * kryi_number_at(acc, last, i));
    TRY(kryi_buffer_write(dev, step, 0, bytes, last));
done:
    return st;
}

static kry_status check_residual(void *self)
{
    pcg *S = self;
    const kryi_poll *poll = &S->W.poll;

    S->d.iteration = poll->iteration, S->d.slot = poll->slot;
    return kryi_direction_check(&S->d);
}

static kry_status begin(pcg *S, const kryi_cycle *c)
{
    kry_status st = KRY_OK;

    S->x = kryi_cycle_x(c), S->r = kryi_cycle_r(c);
    if (!S->W.K->M) S->z = S->r;
    S->seen_at = -1;
    S->d = (kryi_direction){ .z = S->z,
                             .rho = S->rho,
                             .step_state = S->W.poll.step,
                             .state = S->W.poll.state,
                             .history = S->W.poll.history,
                             .target2 = kryi_scalar_of(S->W.poll.dev, c->goal * c->goal) };
    TRY(kryi_poll_begin(&S->W.poll, c, check_residual, S));
    if (S->drift) S->drift->count = 0;
    TRY(precondition(S));
    if (c->goes_on)
        TRY(keep_scalars(S, c));
    else if (!begins_anew(S)) /* beta = 0 must not meet old NaNs */
        TRY(kry_vec_fill(S->fuses ? S->old : S->p, 0.0));
done:
    return st;
}

/* Of several columns the device knows how many steps each has done. */
static kry_status catch_up_columns(pcg *S, const kry_vec *first)
{
    const kry_vec *x = S->x;
    const cl_int start = (cl_int)S->W.poll.start;

    return kryi_launch_range(
        x->dev, S->add_lasts,
        (kryi_range){ kryi_groups_for(x->dev, x->type, x->n), .columns = x->k },
        ARGS(ARG(x->n), ARG(start), ARG(S->W.poll.step), ARG(first->buffer), ARG(first->ld),
             ARG_VEC(x), ARG(x->ld)));
}

/* x += alpha p with the alpha of the last step. Waits, so that no kernel has to be compiled for this alone. */
static kry_status add_last(pcg *S, const kry_vec *p)
{
    kry_status st = KRY_OK;
    kry_device *dev = S->W.poll.dev;
    const size_t size = kryi_acc_size(dev);
    kryi_scalar alpha;

    TRY(kryi_buffer_read(dev, S->W.poll.step, STATE_ALPHA * size, size, &alpha));
    TRY(kry_vec_axpby(dev->info.fp64 ? alpha.f64 : alpha.f32, p, 1, S->x));
done:
    return st;
}

/* What x still waits for after `done` steps, the first of which used the direction `first`. Of several columns some may
 * have done fewer. */
static kry_status catch_up(pcg *S, const kry_vec *first, int64_t done)
{
    if (!S->x_every_second_step || done == 0) return KRY_OK;
    if (S->W.columns > 1) return catch_up_columns(S, first);
    return done % 2 ? add_last(S, first) : KRY_OK;
}

/* Iterations until the device, the limit or the monitor ends them: the whole recurrence. */
static kry_status pcg_cycle(void *self, kryi_cycle *c)
{
    kry_status st = KRY_OK;
    pcg *S = self;
    kryi_stopping *stopping = c->stopping; /* of the first column: of one, where it matters */
    kry_vec *first = S->p, *other = S->old;
    const kryi_deflation *D = kryi_deflation_of(S->W.K->deflation);
    int64_t begun = 0;
    bool done = false, go;

    S->recycle = D ? D->recycle : NULL;
    if (!c->keeps_direction)
        TRY(kryi_persistent_iterate(&S->persistent, c, S->W.poll.check_every, &done));
    if (done) return KRY_OK;
    TRY(begin(S, c));
    const int64_t start = S->W.poll.start;
    for (;; begun++) {
        TRY(kryi_layout_reduce(S->z->layout, &S->rho, 1));
        if (stopping->iteration > start) TRY(flex(S));
        TRY(kryi_poll_next(&S->W.poll, &go));
        if (!go) break;
        S->d.iteration = S->W.poll.iteration, S->d.slot = S->W.poll.slot;
        if (S->recycle) TRY(kryi_recycle_take(S->recycle, S->z, S->W.poll.step));
        TRY(direct(S));
        TRY(kryi_layout_reduce(S->z->layout, &S->pq, 1));
        TRY(step(S, S->W.poll.iteration - start));
        if (S->fuses) {
            kry_vec *t = S->p;
            S->p = S->old, S->old = t;
        }
    }
    if (S->fuses) { /* the host ran ahead; the last direction that was written is the old one */
        bool even = (stopping->iteration - start) % 2 == 0;
        S->p = even ? first : other, S->old = even ? other : first;
    }
    TRY(catch_up(S, first, S->W.columns > 1 ? begun : stopping->iteration - start));
    if (S->recycle) TRY(kryi_recycle_end(S->recycle, S->W.poll.step));
done:
    return st;
}

/* ---- the method -------------------------------------------------------------------------- */

/* Words that a step moves: r twice and q; for x those of p and twice x, in every second step only if x waits, and then those of
 * the old p, too, unless it is made of others that are at hand. */
static double words_of_step(const pcg *S)
{
    const bool makes_old = !S->W.K->M || diagonal_of(S->W.K->M);
    if (!S->x_every_second_step) return 6;
    return makes_old ? 4.5 : 5;
}

/* Words per unknown of a step beyond those of bytes_per_step, where x is updated in every second step. */
static double more_words_of_step(const pcg *S)
{
    return S->x_every_second_step ? words_of_step(S) - 4.5 : 1;
}

/* By the model: the direction with its product, then the step. */
static double pcg_bytes(const void *self)
{
    const pcg *S = self;
    const kry_op *product = S->W.K->product, *M = S->W.K->M;
    kry_op_info A, info;
    double word = (double)product->shape.rows * (double)kry_type_size(product->shape.type);

    kry_op_describe(product, &A);
    if (A.bytes_per_apply <= 0) return 0;
    double bytes = A.bytes_per_direction + words_of_step(S) * word;
    if (S->repeats)
        bytes = A.bytes_per_direction + A.bytes_per_step + more_words_of_step(S) * word;
    else if (A.bytes_per_direction <= 0 || product->dev->layout.reproducible)
        bytes = A.bytes_per_apply + (product->table->apply_dot ? 9 : 11) * word;
    if (!M) return bytes;
    if (diagonal_of(M)) return bytes + 2 * word;
    kry_op_describe(M, &info);
    if (info.bytes_per_apply <= 0) return 0;
    return bytes + info.bytes_per_apply + (M->table->apply_dots ? 0 : 2 * word);
}

static void pcg_destroy(void *self) { kryi_persistent_release(&((pcg *)self)->persistent); }

static kry_status allocate(pcg *S)
{
    kry_status st = KRY_OK;
    kryi_workspace *W = &S->W;
    const kryi_null_space *null = &W->K->residual.null;

    if (!S->repeats) TRY(kryi_workspace_vectors(W, W->columns, VECTORS_AT(&S->q)));
    TRY(kryi_workspace_vectors(W, W->columns, VECTORS_AT(&S->p)));
    if (S->fuses) TRY(kryi_workspace_vectors(W, W->columns, VECTORS_AT(&S->old)));
    if (W->K->M) TRY(kryi_workspace_vectors(W, W->columns, VECTORS_AT(&S->z)));
    TRY(kryi_workspace_sums(W, 1, SUMS_AT(&S->pq)));
    TRY(kryi_workspace_sums(W, 2, SUMS_AT(&S->rho)));
    if (S->flexible == KRY_POLAK_RIBIERE) TRY(kryi_workspace_sums(W, 1, SUMS_AT(&S->zq)));
    if (null->A && !null->vectors)
        TRY(kryi_workspace_sums(W, 1, SUMS_AT(&S->drift, &S->next_drift)));
done:
    return st;
}

/* Nothing of pcg.cl is launched but the stopping test, where a limit or a monitor ends a solve: it is compiled then. An
 * expensive M has it before each end, and a monitor of fixed iterates at each of them. */
static bool is_all_fused(const pcg *S)
{
    return S->repeats && !S->checks_first && !kryi_stopping_shows_x(&S->W.K->stopping);
}

static kry_status compile(pcg *S, kry_device *dev, kry_type type)
{
    kry_status st = KRY_OK;
    const bool one = S->W.columns == 1;
    kryi_kernel *found;

    if (one && is_all_fused(S)) goto done;
    TRY(get_step_kernel(S, true, &S->step));
    /* Found again by the solve, which must not fail for want of them. */
    TRY(kryi_kernel_get(dev, "pcg", type, "", "pcg_direction", &found));
    TRY(kryi_kernel_get(dev, "pcg", type, "", "pcg_check", &found));
    if (!one) TRY(kryi_kernel_get(dev, "pcg", type, "", "pcg_add_lasts", &S->add_lasts));
    if (S->flexible == KRY_POLAK_RIBIERE)
        TRY(kryi_kernel_get(dev, "pcg", type, "", "pcg_flexible", &S->correct_beta));
done:
    return st;
}

/* True if applying M is expensive: a solve of its own, or a cycle of multigrid, of which a whole solve takes ten. */
static bool is_expensive(const kry_op *M)
{
    return M && (M->shape.traits & KRY_VARYING || kryi_hierarchy_of(M));
}

/* The passes that A offers. */
static void choose_passes(pcg *S)
{
    const kry_op *A = S->W.K->product;

    S->fuses = A->fused->apply_direction;
    S->repeats = A->fused->apply_step;
    S->x_every_second_step =
        (S->repeats || (S->fuses && A->dev->info.cpu_kernels)) &&
        !kryi_stopping_shows_x(&S->W.K->stopping); /* a monitor that looks at x finds it complete */
}

static kry_status pcg_create(void *self)
{
    kry_status st = KRY_OK;
    pcg *S = self;
    const kryi_krylov *K = S->W.K;
    const kry_pcg_params *params = K->params; /* NULL of several columns */
    const kry_op *A = K->product;
    const bool one = S->W.columns == 1;

    if (one) {
        CHECK((unsigned)params->flexible <= KRY_POLAK_RIBIERE, KRY_ERR_ARGUMENT,
              "kry_pcg_create: flexible = %d is none", (int)params->flexible);
        S->flexible = params->flexible;
        S->checks_first = is_expensive(K->first);
        S->W.poll.one_by_one = S->checks_first;
    } else if (A->fused->prepare_columns) {
        TRY(A->fused->prepare_columns(A->self));
    }
    const bool fused =
        one ? !S->flexible && !A->dev->layout.reproducible /* whose sums have their own order */
            : A->fused->prepare_columns != NULL;
    if (fused) choose_passes(S);
    TRY(allocate(S));
    TRY(compile(S, A->dev, A->shape.type));
    if (one && fused && !K->deflation && !K->residual.null.A)
        kryi_persistent_prepare(&S->persistent, A, K->M, params);
done:
    return st;
}

/* Whether columns gain from steps that A does for all at once, which move the same words: by launches, while the vectors of all
 * columns stay in the cache; by coefficients that are read once; by an M. Where the cache holds those of one column, its steps
 * find them there, and columns are faster one after the other. Measured on an
 * H100. */
static bool steps_gain(const kryi_krylov *K, int columns)
{
    enum { VECTORS = 4, CACHE = 350 << 10 }; /* of a step; bytes for each compute unit */
    const kry_op *A = K->product;
    const double word = (double)A->shape.rows * (double)kry_type_size(A->shape.type),
                 cache = (double)CACHE * A->dev->info.compute_units;
    kry_op_info info;

    kry_op_describe(A, &info);
    if (K->M || info.bytes_per_apply > 2 * word) return true;
    return columns * VECTORS * word <= cache || VECTORS * word > 2 * cache;
}

/* Only where products take several columns; not where the first column leaves vectors for the next ones, or for a few
 * columns that a persistent kernel takes one after the other. */
static bool gains(const kryi_krylov *K, int columns)
{
    enum { FEW = 4 };
    const pcg *one = K->self;
    const kryi_deflation *D = kryi_deflation_of(K->deflation);

    if (D && D->recycle) return false;
    if (one->persistent.R && (columns < FEW || one->persistent.insisted)) return false;
    if (one->flexible || (K->M && K->M->shape.traits & KRY_VARYING)) return false;
    if (K->product->fused->prepare_columns) return steps_gain(K, columns);
    return K->A->table->apply_block != NULL;
}

const kryi_method kryi_pcg_method = {
    .kind = "pcg",
    .who = "kry_pcg_create",
    .deflates = true,
    .flexible = true,
    .by_request = true,
    .projects = true,
    .continues = true,
    .takes = KRY_TAKES_DEFINITE,
    .precond = { "r'Mr", "is not positive: the preconditioner is not positive definite",
                 KRY_INDEFINITE_PRECOND },
    .no_precond = { "r'z",
                    "is not positive, without a preconditioner: the matrix is not positive "
                    "definite, or deflation amplifies rounding",
                    KRY_INDEFINITE_MATRIX },
    .matrix = { "p'Ap",
                "is not positive: the matrix is not positive definite, or too ill-conditioned for "
                "this precision",
                KRY_INDEFINITE_MATRIX },
    .size = sizeof(pcg),
    .create = pcg_create,
    .cycle = pcg_cycle,
    .bytes = pcg_bytes,
    .destroy = pcg_destroy,
    .most_columns = INT_MAX,
    .gains = gains,
};

kry_status kry_pcg_create(const kry_op *A, const kry_pcg_params *params, kry_op **solver)
{
    kry_status st = GIVEN(solver);
    return st < 0 ? st : kryi_method_create(&kryi_pcg_method, A, params, 0, solver);
}
