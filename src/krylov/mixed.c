/*
 * mixed.c - the accuracy of double with iterations in single.
 *
 *   reliable    conjugate gradients in single; when the residual has dropped to delta of what it
 * was, x is added up in double, r := b - A x in double, and the iteration goes on along the
 * direction that it had classical   the same from a new start each time flexible    conjugate
 * gradients in double (Polak, Ribiere), preconditioned by a few iterations in single double none of
 * it
 *
 * The iterations are those of pcg.c or relaxation.c, whose true residual is told by a kry_truth:
 * here by what is outside (mixed_device.c, mixed_host.c). What stalls is promoted, one scheme at a
 * time.
 *
 * Source  G. L. G. Sleijpen, H. A. van der Vorst, Reliable updated residuals in hybrid Bi-CG
 * methods, Computing 56 (1996); M. A. Clark et al., Solving lattice QCD systems of equations using
 *         mixed precision solvers on GPUs, Comput. Phys. Commun. 181 (2010); A. Cevahir, A. Nukada,
 *         S. Matsuoka, ICCS 2009
 */
#include "krylov/mixed.h"
#include "operator/host_op.h"
#include "operator/op.h"
#include "operator/op_parts.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INNER = 25, STALL_STEPS = 100 };

typedef struct mixed {
    kry_op *A, *system; /* in double, retained: A, and what is solved with */
    kry_op *twin;       /* A in single; NULL: single cannot hold it */
    kry_inside inside;
    kry_equilibrium e;
    kry_outer *outer;
    kry_options options;       /* of the solver inside */
    kry_scheme asked, first;   /* first: what a solve begins with, */
    kry_scheme fitting;        /* where single can hold the matrix */
    kry_subdomains subdomains; /* on a part of a team; owned */
    kry_stop stop;
    kry_monitor monitor;
    void *monitor_user;
    double drop[2];    /* of reliable and of classical */
    char refused[160]; /* why there is no twin */
    double setup_seconds;

    kry_scheme now;  /* under way */
    int64_t doubled; /* iterations in double so far */
    double start, bytes;
    double best; /* flexible: the least residual so far, and the step that gave it */
    int64_t best_step;
    bool stalled, spent;
} mixed;

const char *kry_scheme_word(kry_scheme scheme)
{
    static const char *const words[] = {
#define SCHEME_WORD(name, word) [name] = word,
        KRY_SCHEME_LIST(SCHEME_WORD)
#undef SCHEME_WORD
    };
    return (unsigned)scheme < COUNT(words) ? words[scheme] : "unknown";
}

/* ---- truths ----------------------------------------------------------------------------- */

void kry_truth_scale(kry_truth *T, double norm, double scaled_norm)
{
    bool sane = scaled_norm > 0 && isfinite(scaled_norm);

    T->norm = norm;
    T->scale = sane ? ldexp(1, ilogb(scaled_norm)) : 1;
    T->unit = sane ? norm * (T->scale / scaled_norm) : 1;
}

bool kry_outer_accepts(kry_outer *O, double norm)
{
    const double most = 1e4; /* a correction may make the residual larger, but x must survive it */
    bool sane = isfinite(norm) && norm <= most * O->least;

    if (sane) O->least = norm;
    return sane;
}

bool kry_outer_takes(kry_outer *O, kry_result *res)
{
    bool taken = kry_outer_accepts(O, res->true_residual);

    if (!taken) res->true_residual = O->least;
    return taken;
}

/* Of a solve inside: the residual is what it was given, and one cycle is enough. */
typedef struct given_truth {
    kry_truth truth; /* first */
    kry_inside *inside;
} given_truth;

static kry_status truth_of_given(kry_truth *T, kry_vec *x, kry_vec *r)
{
    kry_inside *I = ((given_truth *)T)->inside;
    kry_status st = KRY_OK;
    bool over = I->watch->restarts >= 0;

    if (I->deflated)
        TRY(kry_op_residual(I->system, I->rhs, x, r));
    else if (r != I->rhs && !over)
        TRY(kry_vec_copy(I->rhs, r));
    T->norm = over ? 0 : 1;
done:
    return st;
}

kry_status kry_inside_solve(kry_inside *I, const kry_truth *outside)
{
    kry_status st = KRY_OK;
    kry_watch *w = I->watch;
    kry_result res = { .iterations = 0 };
    given_truth T = { .truth = { .residual = truth_of_given,
                                 .rhs = I->rhs,
                                 .norm_b = 1,
                                 .drop = I->rtol,
                                 .unit = outside->unit / outside->norm,
                                 .scale = 1 },
                      .inside = I };
    kry_stop stop = w->stop;
    kry_monitor monitor = w->monitor;
    kry_observer *observer = w->dev->observer;

    w->truth = &T.truth;
    w->monitor = NULL, w->dev->observer = NULL;
    w->stop.rtol = w->stop.atol = 0;
    if (I->most) w->stop.max_iter = I->most;
    st = I->solver->table->solve(I->solver->self, I->rhs, I->x, &res);
    if (st > 0) st = KRY_OK; /* it has done its part */
    I->iterations += res.iterations, I->bytes += res.bytes;
    w->stop = stop, w->monitor = monitor, w->truth = NULL, w->dev->observer = observer;
    return st;
}

/* ---- what is told on the way ------------------------------------------------------------ */

static int tell(mixed *M, const kry_iteration *at, int64_t iteration)
{
    kry_iteration it = *at;

    it.iteration = iteration;
    it.seconds = kry_now() - M->start;
    return M->monitor ? M->monitor(M->monitor_user, &it) : 0;
}

/* Called by the solver in single, and by those in double; a flexible method that gets nowhere for
 * many steps is stopped. */
static int inside_monitor(void *user, const kry_iteration *it)
{
    return tell(user, it, it->iteration);
}

static int outside_monitor(void *user, const kry_iteration *it)
{
    mixed *M = user;

    if (M->now == KRY_SCHEME_FLEXIBLE) {
        if (it->residual < 0.5 * M->best) M->best = it->residual, M->best_step = it->iteration;
        bool there = it->residual <= it->target;
        M->stalled = !there && it->iteration - M->best_step > STALL_STEPS;
        M->spent = !there && M->inside.iterations >= M->stop.max_iter;
        return tell(M, it, M->inside.iterations) || M->stalled || M->spent;
    }
    return tell(M, it, M->inside.iterations + it->iteration);
}

/* ---- the schemes ------------------------------------------------------------------------ */

/* Reliable updates and classical refinement: the solver in single, told the truth from outside. */
static kry_status refine(mixed *M, int64_t most, kry_result *res)
{
    kry_status st = KRY_OK;
    kry_watch *w = M->inside.watch;
    kry_truth *T = &M->outer->truth;

    T->norm_b = M->outer->norm_b;
    T->inconsistent = M->outer->inconsistent;
    T->rhs = M->inside.rhs;
    T->keep = M->now == KRY_SCHEME_RELIABLE;
    T->drop = M->drop[!T->keep];
    T->scale = 1;
    TRY(kry_vec_fill(M->inside.x, 0));
    w->truth = T;
    w->stop.rtol = M->stop.rtol, w->stop.atol = M->stop.atol, w->stop.max_iter = most;
    w->monitor = M->monitor ? inside_monitor : NULL, w->monitor_user = M;
    st = M->inside.solver->table->solve(M->inside.solver->self, M->inside.rhs, M->inside.x, res);
    w->truth = NULL;
    M->inside.iterations += res->iterations, M->inside.bytes += res->bytes;
    res->true_residual = M->outer->least;
done:
    return st < 0 ? st : KRY_OK;
}

/* The first part's monitor has seen how it ended. */
static kry_status agree_on_end(mixed *M)
{
    kry_status st = KRY_OK;
    double end = M->stalled ? 1 : M->spent ? 2 : 0;

    TRY(kry_layout_agree(&M->A->dev->layout, &end));
    M->stalled = end == 1, M->spent = end == 2;
done:
    return st;
}

static kry_status flexible(mixed *M, int64_t most, kry_result *res)
{
    kry_status st = KRY_OK;
    kry_stop stop = M->stop;
    int64_t each = M->inside.most ? M->inside.most : 1;

    stop.max_iter = (most + each - 1) / each;
    M->best = INFINITY, M->best_step = 0, M->stalled = M->spent = false;
    TRY(kry_vec_fill(M->inside.x, 0));
    TRY(M->outer->table->flexible(M->outer, &stop, res));
    TRY(agree_on_end(M));
    if (M->stalled && res->reason == KRY_MONITOR_STOP) {
        res->reason = KRY_TRUE_RESIDUAL_STAGNATED;
        snprintf(res->why, sizeof res->why,
                 "%d steps around solves in single did not halve the residual of %.3e", STALL_STEPS,
                 M->best);
    } else if (M->spent && res->reason == KRY_MONITOR_STOP) {
        res->reason = KRY_ITERATION_LIMIT;
        snprintf(res->why, sizeof res->why,
                 "%lld iterations in single were not enough: residual %.3e, wanted %.3e",
                 (long long)M->inside.iterations, res->true_residual, res->target);
    }
done:
    return st;
}

static kry_status plain(mixed *M, int64_t most, kry_result *res)
{
    kry_status st = KRY_OK;
    kry_stop stop = M->stop;

    stop.max_iter = most;
    TRY(M->outer->table->plain(M->outer, &stop, res));
    M->doubled += res->iterations, M->bytes += res->bytes;
done:
    return st;
}

static int64_t iterations_of(const mixed *M) { return M->inside.iterations + M->doubled; }

static kry_status run_scheme(mixed *M, kry_result *res)
{
    kry_status st = KRY_OK;
    int64_t left = M->stop.max_iter - iterations_of(M);

    left = left > 1 ? left : 1;
    if (M->now == KRY_SCHEME_FLEXIBLE)
        TRY(flexible(M, left, res));
    else if (M->now == KRY_SCHEME_DOUBLE)
        TRY(plain(M, left, res));
    else
        TRY(refine(M, left, res));
    /* On the device the methods in double have done so themselves. */
    bool refined = M->now == KRY_SCHEME_RELIABLE || M->now == KRY_SCHEME_CLASSICAL;
    if (refined || kry_host_op_of(M->A)) {
        TRY(M->outer->table->centre(M->outer, res));
        kry_judge_consistency(M->outer->inconsistent, M->outer->target, res);
    }
done:
    return st;
}

/* What comes after a scheme that failed for what single precision is; false: nothing does. */
static bool promote(mixed *M, kry_result *res, kry_result *story)
{
    static const kry_scheme next[] = { [KRY_SCHEME_RELIABLE] = KRY_SCHEME_FLEXIBLE,
                                       [KRY_SCHEME_FLEXIBLE] = KRY_SCHEME_DOUBLE,
                                       [KRY_SCHEME_CLASSICAL] = KRY_SCHEME_DOUBLE };
    kry_status st = kry_reason_status(res->reason);

    if (M->asked != KRY_SCHEME_AUTO || M->now == KRY_SCHEME_DOUBLE) return false;
    if (st != KRY_STAGNATED && st != KRY_BREAKDOWN) return false;
    story->promotions++;
    snprintf(story->promoted_why, sizeof story->promoted_why, "%s: %.180s", kry_scheme_word(M->now),
             res->why);
    M->now = next[M->now];
    return true;
}

/* By the model: iterations, and the residuals between them: the product and 8 words. */
static double bytes_moved(const mixed *M)
{
    kry_op_info A;
    double words = 8.0 * (double)M->A->shape.rows * (double)sizeof(double);

    kry_op_describe(M->system, &A);
    if (M->inside.iterations && M->inside.bytes <= 0) return 0;
    return M->inside.bytes + M->bytes + (double)M->outer->products * (A.bytes_per_apply + words);
}

static void report(mixed *M, const kry_result *story, kry_result *res)
{
    res->scheme = M->now;
    res->single_iterations = M->inside.iterations;
    res->double_iterations = M->doubled;
    res->iterations = iterations_of(M);
    res->outer_iterations = M->outer->products;
    res->promotions = story->promotions;
    memcpy(res->promoted_why, story->promoted_why, sizeof res->promoted_why);
    res->bytes = bytes_moved(M);
    res->setup_seconds = M->setup_seconds;
    res->solve_seconds = kry_now() - M->start;
}

static void zero(const mixed *M, kry_result *res)
{
    res->reason = KRY_CONVERGED_ZERO;
    res->target = M->stop.atol;
    snprintf(res->why, sizeof res->why, "b is zero, and so is x");
}

static kry_status solve_ends(mixed *M, const kry_ends *ends, kry_result *res)
{
    kry_status st = KRY_OK;
    kry_result story = { .promotions = 0 };

    M->start = kry_now();
    M->now = M->first;
    M->inside.iterations = M->doubled = M->outer->products = 0;
    M->inside.bytes = M->bytes = 0;
    if (M->refused[0]) {
        story.promotions = 1;
        snprintf(story.promoted_why, sizeof story.promoted_why, "%s", M->refused);
    }
    TRY(M->outer->table->begin(M->outer, ends));
    M->outer->target = fmax(M->stop.rtol * M->outer->norm_b, M->stop.atol);
    if (M->outer->norm_b == 0) {
        zero(M, res);
        if (ends->host_x) memset(ends->host_x, 0, (size_t)M->A->shape.rows * sizeof(double));
        TRY(ends->x ? kry_vec_fill(ends->x, 0.0) : KRY_OK);
    } else {
        do TRY(run_scheme(M, res));
        while (promote(M, res, &story));
        TRY(M->outer->table->end(M->outer, ends));
    }
    report(M, &story, res);
    st = kry_reason_status(res->reason);
done:
    return st;
}

/* ---- the operator ----------------------------------------------------------------------- */

static kry_status mixed_solve(void *self, const kry_vec *b, kry_vec *x, kry_result *res)
{
    return solve_ends(self, &(kry_ends){ .b = b, .x = x }, res);
}

static kry_status mixed_solve_host(void *self, const double *b, double *x, kry_result *res)
{
    return solve_ends(self, &(kry_ends){ .host_b = b, .host_x = x }, res);
}

static kry_status mixed_apply(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    return kry_apply_by_solve(mixed_solve, self, &(kry_scaling){ alpha, beta }, x, y);
}

/* The twin with A's new numbers, and what was made of it. */
static kry_status update_inside(mixed *M)
{
    kry_status st = KRY_OK;

    TRY(kry_op_make_twin("kry_op_update", M->A, KRY_F32, M->e.factor, M->e.scale, &M->twin));
    TRY(kry_op_update(M->inside.solver, NULL));
    if (M->inside.system != M->twin) TRY(kry_op_update(M->inside.system, NULL)); /* pinned */
    M->first = M->fitting, M->refused[0] = 0;
done:
    if (st != KRY_ERR_UNSUPPORTED || M->asked != KRY_SCHEME_AUTO) return st;
    snprintf(M->refused, sizeof M->refused, "%s", kry_last_error());
    M->first = KRY_SCHEME_DOUBLE;
    return KRY_OK;
}

static kry_status mixed_update(void *self, const void *values)
{
    mixed *M = self;
    kry_status st = KRY_OK;

    CHECK(!values, KRY_ERR_ARGUMENT, "kry_op_update: 'mixed' takes no values");
    if (M->system != M->A) TRY(kry_op_update(M->system, NULL));
    if (M->twin) TRY(update_inside(M));
    TRY(M->outer->table->update(M->outer));
done:
    return st;
}

static void mixed_describe(void *self, kry_op_info *info)
{
    const mixed *M = self;
    info->variant = kry_scheme_word(M->first);
}

static void mixed_destroy(void *self)
{
    mixed *M = self;
    if (!M) return;
    if (M->outer) M->outer->table->destroy(M->outer);
    kry_vec_release(&M->inside.x);
    kry_vec_release(&M->inside.rhs);
    kry_op_release(&M->inside.solver);
    kry_op_release(&M->inside.system);
    kry_op_release(&M->twin);
    kry_op_release(&M->system);
    kry_op_release(&M->A);
    kry_subdomains_release(&M->subdomains);
    kry_equilibrium_release(&M->e);
    free(M);
}

#define TABLE                                                                   \
    .struct_size = sizeof(kry_op_table), .kind = "mixed", .apply = mixed_apply, \
    .update = mixed_update, .solve = mixed_solve, .describe = mixed_describe,   \
    .destroy = mixed_destroy

static const kry_op_table device_table = { TABLE };
static const kry_op_table host_table = { TABLE, .solve_host = mixed_solve_host };

/* ---- making one ------------------------------------------------------------------------- */

static kry_status check(const kry_op *A, const kry_mixed_params *p)
{
    kry_status st = KRY_OK;

    TRY(kry_op_check_square("kry_mixed_create", A));
    CHECK(A->shape.type == KRY_F64, KRY_ERR_TYPE,
          "kry_mixed_create: '%s' is single, and so are its numbers; mixed precision wants them in "
          "double (for a device without double: on_host of KRY_MATRIX, KRY_STENCIL)",
          A->table->kind);
    CHECK((unsigned)p->scheme <= KRY_SCHEME_DOUBLE, KRY_ERR_ARGUMENT,
          "kry_mixed_create: scheme = %d is none", (int)p->scheme);
    CHECK((unsigned)p->equilibrate <= KRY_EQUILIBRATE_ON, KRY_ERR_ARGUMENT,
          "kry_mixed_create: equilibrate = %d is none", (int)p->equilibrate);
    CHECK((unsigned)p->beta <= KRY_FLETCHER_REEVES, KRY_ERR_ARGUMENT,
          "kry_mixed_create: beta = %d is none", (int)p->beta);
    CHECK(p->inner >= 0, KRY_ERR_ARGUMENT, "kry_mixed_create: inner = %lld", (long long)p->inner);
    CHECK(p->inner_rtol >= 0 && p->inner_rtol < 1, KRY_ERR_ARGUMENT,
          "kry_mixed_create: inner_rtol = %g is not in (0, 1)", p->inner_rtol);
    CHECK(p->delta >= 0 && p->delta < 1, KRY_ERR_ARGUMENT,
          "kry_mixed_create: delta = %g is not in (0, 1)", p->delta);
done:
    return st;
}

static bool scales_diagonally(const mixed *M)
{
    const kry_options *o = &M->options;
    bool singular = M->A->null_space || (M->A->shape.traits & KRY_SINGULAR);

    const kry_host_op *H = kry_host_op_of(M->A);
    bool assembled = H ? H->table->scales(H) : kry_op_is_assembled(M->A);

    return !kry_options_deflate(o) && !singular && assembled;
}

/* The matrix in single and a solver for it. */
static kry_status make_inside(mixed *M)
{
    kry_status st = KRY_OK;
    kry_inside *I = &M->inside;
    kry_options o = M->options;
    int64_t n = M->A->shape.rows;

    TRY(kry_equilibrium_find(M->A, M->options.equilibrate, scales_diagonally(M), &M->e));
    TRY(kry_op_make_twin("kry_mixed_create", M->A, KRY_F32, M->e.factor, M->e.scale, &M->twin));
    o.stop = (kry_stop){ .max_iter = M->stop.max_iter, .check_every = M->stop.check_every };
    o.monitor = NULL;
    TRY(kry_options_solver(M->twin, &o, &I->solver));
    TRY(kry_options_system(M->twin, &o, &I->system));
    I->watch = kry_pcg_watch(I->solver);
    if (!I->watch) I->watch = kry_relaxation_watch(I->solver);
    I->deflated = kry_options_deflate(&o);
    TRY(kry_vec_create(M->A->dev, KRY_F32, n, 1, &I->rhs));
    TRY(kry_vec_create(M->A->dev, KRY_F32, n, 1, &I->x));
done:
    return st;
}

/* Where single cannot hold the matrix, double does: said in every result. */
static kry_status make_inside_or_double(mixed *M)
{
    kry_status st = make_inside(M);

    if (st != KRY_ERR_UNSUPPORTED || M->twin || M->asked != KRY_SCHEME_AUTO) return st;
    snprintf(M->refused, sizeof M->refused, "%s", kry_last_error());
    M->first = KRY_SCHEME_DOUBLE;
    return KRY_OK;
}

static kry_status make_outside(mixed *M, const kry_mixed_params *p)
{
    kry_outer like = { .A = M->A,
                       .system = M->system,
                       .options = &M->options,
                       .inside = M->twin ? &M->inside : NULL,
                       .e = M->e,
                       .beta = p->beta ? p->beta : KRY_POLAK_RIBIERE,
                       .monitor = outside_monitor,
                       .monitor_user = M };
    bool flexible = M->first == KRY_SCHEME_FLEXIBLE;

    like.pinned = M->options.null_space == KRY_NULL_SPACE_PIN;
    return kry_host_op_of(M->A) ? kry_outer_host(&like, &M->stop, flexible, &M->outer)
                                : kry_outer_device(&like, &M->stop, flexible, &M->outer);
}

static void set_scheme(mixed *M, const kry_mixed_params *p)
{
    const double delta = 0.1, inner_rtol = 1e-2;
    bool relax = kry_options_relax(&M->options);

    M->asked = p->scheme;
    M->first = p->scheme == KRY_SCHEME_AUTO ? KRY_SCHEME_RELIABLE : p->scheme;
    if (relax && M->first == KRY_SCHEME_RELIABLE) M->first = KRY_SCHEME_CLASSICAL;
    M->fitting = M->first;
    M->drop[0] = p->delta > 0 ? p->delta : delta;
    M->drop[1] = p->inner_rtol > 0 ? p->inner_rtol : inner_rtol;
    M->inside.rtol = p->inner_rtol;
    M->inside.most = p->inner ? p->inner : p->inner_rtol > 0 ? 0 : INNER;
    M->options.equilibrate = p->equilibrate;
}

/* subdomains: on a part of a team, where words ask for deflation; taken over even if it fails. */
static kry_status create(const kry_op *A, const kry_mixed_params *params, const kry_options *inner,
                         kry_subdomains *subdomains, kry_op **solver)
{
    kry_status st = KRY_OK;
    int64_t unknowns;
    mixed *M = NULL;
    double start = kry_now();

    *solver = NULL;
    TRY(kry_alloc(1, sizeof *M, &M));
    M->A = kry_op_retain(A);
    M->stop = params->stop;
    M->monitor = params->monitor, M->monitor_user = params->monitor_user;
    M->options = *inner;
    if (subdomains) {
        M->subdomains = *subdomains, *subdomains = (kry_subdomains){ 0 };
        M->options.subdomains = &M->subdomains;
    }
    TRY(kry_layout_rows(&A->dev->layout, A->shape.rows, NULL, &unknowns));
    TRY(kry_stop_check("kry_mixed_create", KRY_F64, unknowns, &M->stop));
    set_scheme(M, params);
    if (kry_host_op_of(A)) /* which pins by itself */
        M->system = kry_op_retain(A);
    else
        TRY(kry_options_system(A, &M->options, &M->system));
    if (M->first != KRY_SCHEME_DOUBLE) TRY(make_inside_or_double(M));
    TRY(make_outside(M, params));
    TRY(kry_device_finish(A->dev));
    M->setup_seconds = kry_now() - start;
    kry_op_shape shape = A->shape;
    shape.traits = KRY_VARYING;
    const kry_op_table *table = kry_host_op_of(A) ? &host_table : &device_table;
    TRY(kry_op_create(A->dev, table, M, &shape, solver));
    M = NULL;
done:
    mixed_destroy(M);
    if (subdomains) kry_subdomains_release(subdomains);
    return st;
}

/* ---- on a team: which sub-domains, all parts find together ------------------------------ */

typedef struct part_args {
    const kry_op *A;
    const kry_mixed_params *params;
    const kry_options *inner;
    const kry_subdomains *subdomains; /* NULL: no deflation */
} part_args;

static kry_status create_part(const kry_op *A, const void *user, kry_op **solver)
{
    kry_status st = KRY_OK;
    const part_args *given = user;
    int rank = kry_layout_rank(&A->dev->layout);
    kry_subdomains mine;
    kry_vec vectors; /* words have none */

    if (given->subdomains)
        TRY(kry_subdomains_of_part(given->subdomains, given->A, rank, &vectors, &mine));
    TRY(create(A, given->params, given->inner, given->subdomains ? &mine : NULL, solver));
done:
    return st;
}

static kry_status create_in_parts(const kry_op *A, const kry_mixed_params *params,
                                  const kry_options *inner, kry_op **solver)
{
    kry_status st = KRY_OK;
    kry_subdomains all = { 0 };
    kry_deflation_params deflation;
    char room[sizeof inner->deflation];

    CHECK(!params->precond && !params->deflation, KRY_ERR_UNSUPPORTED,
          "kry_mixed_create: on several devices preconditioners and deflation are made by words of "
          "the options, not by functions");
    bool deflates = kry_options_deflate(inner) && !kry_options_relax(inner);
    if (deflates) {
        TRY(kry_options_deflation(inner, room, sizeof room, &deflation));
        TRY(kry_subdomains_find(A, &deflation, &all));
    }
    const part_args given = { A, params, inner, deflates ? &all : NULL };
    TRY(kry_op_make(A, create_part, &given, solver));
done:
    kry_subdomains_release(&all);
    return st;
}

static kry_status create_checked(const kry_op *A, const kry_mixed_params *params,
                                 kry_options *inner, kry_op **solver)
{
    kry_status st = KRY_OK;

    inner->make_precond = params->precond, inner->make_deflation = params->deflation;
    inner->make_user = params->make_user;
    inner->omega = params->omega;
    TRY(check(A, params));
    TRY(kry_op_in_parts(A) ? create_in_parts(A, params, inner, solver)
                           : create(A, params, inner, NULL, solver));
done:
    return st;
}

kry_status kry_mixed_create(const kry_op *A, const kry_mixed_params *params, kry_op **solver)
{
    static const kry_mixed_params defaults = { .struct_size = sizeof defaults };
    kry_status st = KRY_OK;
    kry_options inner = { .method = KRY_METHOD_CG };

    *solver = NULL;
    if (!params) params = &defaults;
    CHECK(A, KRY_ERR_ARGUMENT, "kry_mixed_create: NULL");
    CHECK(params->struct_size == sizeof *params, KRY_ERR_ARGUMENT,
          "kry_mixed_create: params not made by KRY_MIXED");
    TRY(kry_options_parse_inner(params->options ? params->options : "", &inner));
    TRY(create_checked(A, params, &inner, solver));
done:
    return st;
}

/* ---- by option string ------------------------------------------------------------------- */

kry_status kry_options_mixed(const kry_op *A, const kry_options *o, kry_op **solver)
{
    kry_options inner = *o; /* what its method does not take, it refuses by itself */
    const kry_mixed_params params = { .struct_size = sizeof params,
                                      .scheme = o->scheme,
                                      .inner = o->inner,
                                      .inner_rtol = o->inner_rtol,
                                      .delta = o->delta,
                                      .equilibrate = o->equilibrate,
                                      .stop = o->stop,
                                      .monitor = o->monitor,
                                      .monitor_user = o->monitor_user,
                                      .omega = o->omega };
    return create_checked(A, &params, &inner, solver);
}
