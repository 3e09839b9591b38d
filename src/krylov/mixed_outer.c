/*
 * mixed_outer.c - x and its residual in double, on the device of A.
 *
 * There are two buffers for x: the next x replaces the one before only once its residual is known to be
 * finite, so that a solver in single that diverges leaves x as it was.
 *
 * Words of 8 bytes moved when a residual is replaced, the matrix aside: 2.5 (x), 3 (b - A x), 1
 * (its norm), 1.5 (rounding it); another 3 where the matrix in single is scaled by a diagonal.
 *
 * Where A is kept on the host, beside a device that need not have double, residuals and corrections
 * travel between the two, 4 bytes a number each.
 */
#include "host/host.h"
#include "krylov/mixed.h"
#include "krylov/workspace.h"
#include "precond/deflation.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct kryi_outer {
    kryi_mixed *M;   /* borrowed */
    kry_device *dev; /* borrowed: of A */
    kry_vec *x[2];   /* n in double; x[at] is the one that is kept */
    int at;
    kry_vec *scale;   /* S; NULL: the identity */
    kry_vec *single;  /* n in single, on their way to another device or back; NULL: there is none */
    const kry_vec *b; /* borrowed for a solve */
    kry_sum *sum;
    kryi_kernel *widen, *narrow, *measure;
    kry_op *refine;           /* restarts from residuals in double, around corrections in single */
    kry_op *precond;          /* a correction in single, as a preconditioner of `flexible` */
    kry_op *flexible, *plain; /* made when they are needed */
    kryi_krylov *last;        /* borrowed: of them the one that ran last, */
    bool other;               /* and whether another x than the one that it came to is kept */
};

/* ---- between double and single: residuals are scaled and rounded, corrections scaled back and added ---- */

/* y := beta x + a S d for the correction d in single, and d := 0; x is not read with beta = 0, and may be y. */
static kry_status widen(kryi_outer *O, double beta, const kry_vec *x, double a, kry_vec *y)
{
    kry_status st = KRY_OK;
    kryi_inner *I = &O->M->inner;
    const kry_vec *d = O->single ? O->single : I->x;
    const cl_mem s = O->scale ? O->scale->buffer : NULL;

    if (O->single) {
        TRY(kry_vec_read(I->x, kryi_host_memory(O->single->buffer)));
        TRY(kry_vec_fill(I->x, 0));
    }
    a *= O->M->e.factor * I->scale;
    const kry_arg args[] = { ARG(y->n), ARG(beta),      ARG(x->buffer), ARG(a),
                             ARG(s),    ARG(d->buffer), ARG(y->buffer) };
    TRY(kryi_launch(O->dev, O->widen, kryi_groups_for(O->dev, KRY_F64, y->n), args, COUNT(args)));
done:
    return st;
}

/* ||S r||, of ||r|| = norm. Waits where S is not the identity. */
static kry_status scaled_norm_of(kryi_outer *O, const kry_vec *r, double norm, double *scaled)
{
    kry_status st = KRY_OK;

    *scaled = norm;
    if (!O->scale) return KRY_OK;
    const kry_arg rest[] = { ARG(O->scale->buffer), ARG(r->buffer), ARG(O->sum->buffer) };
    TRY(kryi_launch_rows(r, O->measure, rest, COUNT(rest), O->sum));
    TRY(kryi_sum_read(r->layout, O->sum, scaled));
    *scaled = sqrt(*scaled);
done:
    return st;
}

/* The residual in single := S r by a power of two; *scaled := ||S r||, for ||r|| = norm. Waits where S is
 * not the identity. */
static kry_status narrow(kryi_outer *O, const kry_vec *r, double norm, double *scaled)
{
    kry_status st = KRY_OK;
    kryi_inner *I = &O->M->inner;
    const kry_vec *to = O->single ? O->single : I->r;
    const cl_mem s = O->scale ? O->scale->buffer : NULL;

    TRY(scaled_norm_of(O, r, norm, scaled));
    /* The power of two that makes a residual of this norm one of norm 1 to 2: nothing under- or overflows. */
    I->scale = *scaled > 0 && isfinite(*scaled) ? ldexp(1, ilogb(*scaled)) : 1;
    const double a = 1 / I->scale;
    const kry_arg args[] = { ARG(r->n), ARG(a), ARG(s), ARG(r->buffer), ARG(to->buffer) };
    TRY(kryi_launch(O->dev, O->narrow, kryi_groups_for(O->dev, KRY_F64, r->n), args, COUNT(args)));
    if (O->single) TRY(kry_vec_write(I->r, kryi_host_memory(O->single->buffer)));
done:
    return st;
}

/* ---- corrections in single --------------------------------------------------------------- */

static kry_status correct(kryi_inner *I, kryi_cycle *c, bool deflates)
{
    kry_status st = KRY_OK;
    const int64_t before = c->progress->iteration;
    double bytes;

    TRY(kryi_krylov_correct(I->K, c, deflates, &bytes));
    I->iterations += c->progress->iteration - before, I->bytes += bytes;
done:
    return st;
}

/* I->x from I->r, for the scheme that the cycle c belongs to. scaled_norm: ||S r|| in double. */
static kry_status correct_cycle(kryi_inner *I, const kryi_cycle *c, double scaled_norm,
                                bool reliable)
{
    bool sane = scaled_norm > 0 && isfinite(scaled_norm);
    double unit = sane ? c->norm * (I->scale / scaled_norm) : 1; /* of r, in the numbers of c */
    kryi_cycle inner = { .r = I->r,
                         .x = I->x,
                         .goal = c->goal / unit,
                         .norm = c->norm / unit,
                         .keeps_direction = reliable,
                         .goes_on = reliable && c->goes_on,
                         .unit_ratio = I->last_scale / I->scale,
                         .progress = c->progress };

    c->progress->unit *= unit;
    I->last_scale = I->scale;
    return correct(I, &inner, false);
}

/* I->x from I->r, up to `most` iterations or until rtol: an application of a preconditioner. */
static kry_status precondition(kryi_inner *I, double scaled_norm)
{
    kryi_progress *p = &I->K->stopping.progress;
    const int64_t limit = I->K->stopping.criteria.max_iter;
    const double norm = scaled_norm / I->scale;
    kryi_cycle inner = {
        .r = I->r, .x = I->x, .goal = I->rtol * norm, .norm = norm, .progress = p
    };

    kryi_progress_begin(p, I->most && I->most < limit ? I->most : limit, true);
    return correct(I, &inner, true);
}

/* ---- refinement: a method whose cycles are corrections in single ------------------------- */

/* x := x + the correction, in the other buffer. */
static kry_status add_correction(kryi_outer *O, kryi_cycle *c)
{
    kry_vec *next = c->x == O->x[0] ? O->x[1] : O->x[0], *x = c->x;
    c->x = next;
    return widen(O, 1, x, 1, next);
}

/* The state of refinement as a method. */
typedef struct refinement {
    kryi_workspace W;
    kryi_outer *O; /* borrowed */
} refinement;

static kry_status refine_start(void *self, kryi_cycle *c, bool first, bool *moved)
{
    kryi_outer *O = ((refinement *)self)->O;
    kryi_inner *I = &O->M->inner;
    kry_status st = KRY_OK;
    double scaled;

    *moved = false;
    if (!I->K->deflation) return KRY_OK;
    TRY(narrow(O, c->r, c->norm, &scaled));
    TRY(kryi_null_space_project(&I->K->residual.null, I->r));
    TRY(kryi_krylov_start(I->K, first, I->r, I->x, moved));
    if (*moved) TRY(add_correction(O, c));
done:
    return st;
}

/* How many iterations a correction may take before AUTO gives the scheme up; 0: any number. Where single
 * resolves the matrix, the later ones take about as long as the longer of the first two or less, which find
 * out about the spectrum; longer only if those were quick, as with a smooth b. */
static int64_t patience(const kryi_mixed *M)
{
    const int64_t n = M->unknowns, digit = M->now.digit, longer = digit + digit / 3;
    const int64_t least = digit < n / 10 ? n / 2 : 100;

    if (M->options.mixed.scheme != KRY_SCHEME_AUTO) return 0;
    if (M->now.corrections < 2) return 100 + (n < 667 ? 2 * n : n / 2 + 1000);
    return longer > least ? longer : least;
}

static kry_status refine_cycle(void *self, kryi_cycle *c)
{
    kryi_outer *O = ((refinement *)self)->O;
    kryi_mixed_run *now = &O->M->now;
    kry_status st = KRY_OK;
    kryi_progress *p = c->progress;
    const int64_t limit = p->max_iter, before = p->iteration, most = patience(O->M);
    double scaled;

    TRY(narrow(O, c->r, c->norm, &scaled));
    if (most && most < limit - before) p->max_iter = before + most;
    TRY(correct_cycle(&O->M->inner, c, scaled, O->M->fitting == KRY_SCHEME_RELIABLE));
    now->slow =
        !p->end && !p->monitor_stopped && p->iteration >= p->max_iter && p->iteration < limit;
    p->max_iter = limit;
    if (now->slow) p->end = KRY_END_SLOW, p->end_value = (double)most;
    if (now->corrections++ < 2 && p->iteration - before > now->digit)
        now->digit = p->iteration - before;
    TRY(add_correction(O, c));
done:
    return st;
}

/* Whether an x with this residual may take the place of the one before, whose residual *least is. */
static bool accept(double residual, double *least)
{
    const double most = 1e4; /* a correction may make the residual larger, but x must survive it */
    const bool sane = isfinite(residual) && residual <= most * *least;

    if (sane) *least = residual;
    return sane;
}

static void refine_accept(void *self, kryi_cycle *c, double *norm)
{
    kryi_outer *O = ((refinement *)self)->O;
    double *least = &kryi_krylov_of(O->refine)->stopping.accepted;
    const bool worse = O->M->now.slow && *norm > *least; /* nothing comes that could mend this */

    if (!worse && accept(*norm, least)) return;
    c->x = c->x == O->x[0] ? O->x[1] : O->x[0];
    *norm = worse ? *least : INFINITY;
}

static kry_status refine_create(void *self)
{
    refinement *S = self;
    kryi_krylov *K = S->W.K;
    kryi_outer *O = (kryi_outer *)K->params; /* its own, and not const */

    S->O = O;
    K->stopping.drop = O->M->drop;
    if (O->M->converted)
        memcpy(K->stopping.breakdown, O->M->inner.K->stopping.breakdown,
               sizeof K->stopping.breakdown);
    return KRY_OK;
}

static const kryi_method refine_method = {
    .kind = "refinement",
    .who = "kry_mixed_create",
    .tests_on_host = true,
    .size = sizeof(refinement),
    .create = refine_create,
    .cycle = refine_cycle,
    .start = refine_start,
    .accept = refine_accept,
};

/* ---- a correction as a preconditioner ---------------------------------------------------- */

static kry_status precond_apply(void *self, double alpha, const kry_vec *r, double beta, kry_vec *z)
{
    kryi_outer *O = self;
    kry_status st = KRY_OK;
    double norm, scaled;

    TRY(kry_vec_dot_sum(r, r, O->sum));
    TRY(kryi_sum_read(r->layout, O->sum, &norm));
    norm = sqrt(norm);
    TRY(narrow(O, r, norm, &scaled));
    if (norm > 0 && isfinite(norm)) TRY(precondition(&O->M->inner, scaled));
    TRY(widen(O, beta, z, alpha, z));
    O->M->now.products++; /* the outer step's */
done:
    return st;
}

static const kry_op_table precond_table = {
    .struct_size = sizeof(kry_op_table),
    .kind = "solve in single",
    .apply = precond_apply,
};

/* ---- methods in double ------------------------------------------------------------------ */

static kry_status make_flexible(kryi_outer *O)
{
    kry_status st = KRY_OK;
    const kryi_mixed *M = O->M;
    kry_op_shape shape = M->A->shape;

    if (O->flexible) return KRY_OK;
    shape.traits = KRY_VARYING;
    if (!O->precond) TRY(kry_op_create(O->dev, &precond_table, O, &shape, &O->precond));
    TRY(kry_pcg_create(M->A,
                       KRY_PCG(.precond = O->precond, .flexible = KRY_POLAK_RIBIERE,
                               .stop = M->options.pcg.stop, .monitor = kryi_mixed_outer_monitor,
                               .monitor_user = O->M, .resident = KRY_RESIDENT_OFF,
                               .check = KRY_CHECK_NONE),
                       &O->flexible));
    /* Its preconditioner is the solve in single; what that says of A or of M is what it would say. */
    const kryi_breakdown *inner = M->inner.K->stopping.breakdown[0];
    if (inner->quantity) kryi_krylov_of(O->flexible)->stopping.breakdown[0] = inner;
done:
    return st;
}

/* By the words of the solver in single; beside another device, where the host has few of them, with
 * Jacobi's preconditioner. */
static kry_status make_plain(kryi_outer *O)
{
    kry_status st = KRY_OK;
    kryi_options o = O->M->options;

    if (O->plain) return KRY_OK;
    if (O->dev->beside)
        o = (kryi_options){ .precond = "jacobi",
                            .null_space = o.null_space,
                            .pcg.stop = o.pcg.stop };
    o.pcg.monitor = kryi_mixed_outer_monitor, o.pcg.monitor_user = O->M;
    TRY(kryi_options_solver(O->M->A, &o, &O->plain));
done:
    return st;
}

/* The first solver to run began with the guess. */
static void note_guess(kryi_outer *O, const kry_op *solver)
{
    double *guess = &O->M->now.guess;
    if (!isfinite(*guess)) *guess = kryi_krylov_of(solver)->guess_residual;
}

/* Continue from x with a solver in double. Where it fails its x is kept only if its true residual is not much
 * larger. */
static kry_status go_on(kryi_outer *O, const kry_op *solver, const kryi_terms *terms,
                        kry_result *res)
{
    kry_status st = KRY_OK;
    double *least = &O->M->now.least;
    kry_vec *x = O->x[!O->at];

    TRY(kry_vec_copy(O->x[O->at], x));
    O->last = kryi_krylov_of(solver);
    TRY(kryi_krylov_solve(O->last, terms, O->b, x, res));
    note_guess(O, solver);
    const bool solved = kry_reason_status(res->reason) == KRY_OK;
    O->other = !accept(res->true_residual, least) && !solved;
    if (solved) *least = res->true_residual;
    if (!O->other) O->at = !O->at;
    if (!isfinite(*least)) *least = O->M->now.guess;
    st = KRY_OK;
done:
    return st;
}

static kry_status refine(kryi_outer *O, const kryi_terms *terms, kry_result *res)
{
    kry_status st = KRY_OK;
    kryi_krylov *K = kryi_krylov_of(O->refine);

    O->M->inner.scale = 1;
    TRY(kry_vec_fill(O->M->inner.x, 0));
    O->last = K, O->other = false;
    TRY(kryi_krylov_solve(K, terms, O->b, O->x[O->at], res));
    note_guess(O, O->refine);
    O->M->now.least = res->true_residual;
    if (K->residual.count > 1) /* the guess's is everybody's */
        O->M->now.products += K->residual.count - 1;
    st = KRY_OK;
done:
    return st;
}

kry_status kryi_outer_run(kryi_outer *O, kry_scheme scheme, const kryi_terms *terms,
                          kry_result *res)
{
    kry_status st = KRY_OK;

    if (scheme == KRY_SCHEME_FLEXIBLE) {
        TRY(make_flexible(O));
        TRY(kry_vec_fill(O->M->inner.x, 0));
        TRY(go_on(O, O->flexible, terms, res));
    } else if (scheme == KRY_SCHEME_DOUBLE) {
        TRY(make_plain(O));
        TRY(go_on(O, O->plain, terms, res));
    } else {
        TRY(refine(O, terms, res));
    }
done:
    return st;
}

/* ---- around a solve --------------------------------------------------------------------- */

kry_status kryi_outer_begin(kryi_outer *O, const kry_vec *b, const kry_vec *x)
{
    O->b = b;
    O->at = 0;
    return kry_vec_copy(x, O->x[0]);
}

kry_status kryi_outer_end(kryi_outer *O, bool guess, kry_vec *x, kry_result *res)
{
    kry_status st = KRY_OK;

    if (!guess) TRY(kry_vec_copy(O->x[O->at], x));
    if (guess || O->other) TRY(kryi_krylov_verdict(O->last, O->b, x, res));
done:
    return st;
}

kry_status kryi_outer_update(kryi_outer *O)
{
    return O->plain ? kry_op_update(O->plain, NULL) : KRY_OK;
}

kry_status kryi_outer_set_stop(kryi_outer *O, const kry_stop *stop)
{
    kry_status st = KRY_OK;
    const kry_op *solvers[] = { O->refine, O->flexible, O->plain };

    for (size_t i = 0; i < COUNT(solvers); i++)
        if (solvers[i]) TRY(kryi_krylov_set_stop(kryi_krylov_of(solvers[i]), stop));
    O->M->options.pcg.stop = kryi_krylov_of(O->refine)->stopping.criteria;
done:
    return st;
}

void kryi_outer_destroy(kryi_outer *O)
{
    if (!O) return;
    kry_op_release(&O->plain);
    kry_op_release(&O->flexible);
    kry_op_release(&O->precond);
    kry_op_release(&O->refine);
    kry_sum_release(&O->sum);
    kry_vec_release(&O->single);
    kry_vec_release(&O->scale);
    kry_vec_release(&O->x[1]);
    kry_vec_release(&O->x[0]);
    free(O);
}

static kry_status allocate(kryi_outer *O)
{
    kry_status st = KRY_OK;
    const kryi_mixed *M = O->M;
    int64_t n = M->A->shape.rows;

    TRY(kry_vec_create(O->dev, KRY_F64, n, 1, &O->x[0]));
    TRY(kry_vec_create(O->dev, KRY_F64, n, 1, &O->x[1]));
    TRY(kry_sum_create(O->dev, 1, &O->sum));
    if (O->dev->beside) TRY(kry_vec_create(O->dev, KRY_F32, n, 1, &O->single));
    if (M->e.scale) {
        TRY(kry_vec_create(O->dev, KRY_F64, n, 1, &O->scale));
        TRY(kry_vec_write(O->scale, M->e.scale));
    }
    TRY(kryi_kernel_get(O->dev, "mixed", KRY_F64, "", "mixed_widen", &O->widen));
    TRY(kryi_kernel_get(O->dev, "mixed", KRY_F64, "", "mixed_narrow", &O->narrow));
    TRY(kryi_kernel_get(O->dev, "mixed", KRY_F64, "", "mixed_norm", &O->measure));
    TRY(kryi_krylov_make(
        M->A,
        (kryi_setup){ .method = &refine_method,
                      .check = KRY_CHECK_NONE, /* mixed.c checks A */
                      .stop = M->options.pcg.stop,
                      .monitor = M->options.pcg.monitor ? kryi_mixed_inner_monitor : NULL,
                      .monitor_user = O->M,
                      .params = O },
        &O->refine));
done:
    return st;
}

kry_status kryi_outer_create(kryi_mixed *M, kryi_outer **made)
{
    kry_status st = KRY_OK;
    kryi_outer *O = NULL;

    *made = NULL;
    TRY(kryi_alloc(1, sizeof *O, &O));
    O->M = M;
    O->dev = M->A->dev;
    TRY(allocate(O));
    if (M->converted && M->fitting == KRY_SCHEME_FLEXIBLE) TRY(make_flexible(O));
    if (!M->converted) TRY(make_plain(O));
    *made = O, O = NULL;
done:
    kryi_outer_destroy(O);
    return st;
}
