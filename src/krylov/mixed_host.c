/*
 * mixed_host.c - x and its residual in double on the host: for devices without double, and for the
 * scheme of the paper, whose outer iteration runs there.
 *
 * A flexible method around solves on the device is conjugate gradients over arrays on the host; so
 * is what comes last, in double, with Jacobi's preconditioner.
 */
#include "krylov/mixed.h"
#include "operator/host_op.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct host_outer {
    kry_outer outer; /* first */
    kry_host_op *A;  /* borrowed */
    int64_t n;
    bool projects;    /* A maps constants to zero */
    double pin;       /* what is added to the first diagonal entry */
    double share;     /* of pinned ones: residual without the pin over that with it, at least 1 */
    double *x[2], *r; /* x[at] is the one that is kept */
    int at;
    float *single;   /* on its way to the device or back */
    const double *b; /* borrowed for a solve, or own_b */
    double *own_b;
    double *z, *p, *q, *diagonal; /* of conjugate gradients here; made when they are needed */
    kry_scheme scheme;            /* under way */
    kry_cycle c;
    kry_judge judge;
    kry_story story;
} host_outer;

static host_outer *host_of(kry_outer *O) { return (host_outer *)O; }

/* ---- arithmetic ------------------------------------------------------------------------- */

static double dot(const double *x, const double *y, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

static double mean(const double *x, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i];
    return sum / (double)n;
}

static void project(const host_outer *H, double *v)
{
    if (!H->projects) return;
    double m = mean(v, H->n);
    for (int64_t i = 0; i < H->n; i++) v[i] -= m;
}

static void product(const host_outer *H, const double *x, double *y)
{
    H->A->table->product(H->A, x, y);
    y[0] += H->pin * x[0];
}

/* Of r = b - P x, P pinned: the norm of b - A x without its mean, which differs in one number. */
static double unpinned_norm(const host_outer *H, const double *x)
{
    double most = H->r[0] + H->pin * x[0], m = mean(H->r, H->n) + H->pin * x[0] / (double)H->n;
    double sum = (most - m) * (most - m);

    for (int64_t i = 1; i < H->n; i++) sum += (H->r[i] - m) * (H->r[i] - m);
    return sqrt(sum);
}

/* r := b - A x, less what no x can reach. Its norm; of a pinned A that of what it pins, if that is
 * larger (pcg.c), and there is a solution. */
static double residual_of(host_outer *H, const double *x)
{
    product(H, x, H->r);
    for (int64_t i = 0; i < H->n; i++) H->r[i] = H->b[i] - H->r[i];
    project(H, H->r);
    if (isfinite(H->outer.least)) H->outer.products++;
    double whole_target = kry_judge_whole_target(&H->judge);
    double norm = sqrt(dot(H->r, H->r, H->n));
    bool unpins = H->pin != 0 && H->judge.inconsistent <= whole_target;
    double whole = unpins ? unpinned_norm(H, x) : norm;
    if (!(whole > norm)) whole = norm; /* NaN stays */
    H->share = norm > 0 && isfinite(whole) ? whole / norm : 1;
    return whole;
}

/* ---- between single and double ---------------------------------------------------------- */

static double scale_at(const host_outer *H, int64_t i)
{
    return H->outer.e.scale ? H->outer.e.scale[i] : 1;
}

/* inner r := S r by a power of two; *scaled := ||S r|| */
static kry_status narrow(host_outer *H, const double *r, double *scaled)
{
    kry_status st = KRY_OK;
    kry_inner *I = H->outer.inner;

    *scaled = 0;
    for (int64_t i = 0; i < H->n; i++) {
        double s = scale_at(H, i) * r[i];
        *scaled += s * s;
    }
    *scaled = sqrt(*scaled);
    kry_inner_scale(I, *scaled);
    for (int64_t i = 0; i < H->n; i++) H->single[i] = (float)(scale_at(H, i) * r[i] / I->scale);
    TRY(kry_vec_write(I->r, H->single));
done:
    return st;
}

/* y := x + S times the correction, which is cleared; x NULL: zero */
static kry_status widen(host_outer *H, const double *x, double *y)
{
    kry_status st = KRY_OK;
    const double a = H->outer.e.factor * H->outer.inner->scale;

    TRY(kry_vec_read(H->outer.inner->x, H->single));
    TRY(kry_vec_fill(H->outer.inner->x, 0));
    for (int64_t i = 0; i < H->n; i++)
        y[i] = (x ? x[i] : 0) + a * (scale_at(H, i) * (double)H->single[i]);
done:
    return st;
}

/* x := x + the correction, in the other buffer. */
static kry_status add_correction(host_outer *H)
{
    kry_status st = widen(H, H->x[H->at], H->x[!H->at]);
    H->at = !H->at;
    return st;
}

/* ---- conjugate gradients ---------------------------------------------------------------- */

/* z := M r: a correction in single, or the diagonal */
static kry_status precondition(host_outer *H)
{
    kry_status st = KRY_OK;
    double scaled;

    if (H->scheme != KRY_SCHEME_FLEXIBLE) {
        for (int64_t i = 0; i < H->n; i++) H->z[i] = H->r[i] / H->diagonal[i];
        return KRY_OK;
    }
    TRY(narrow(H, H->r, &scaled));
    TRY(kry_inner_precondition(H->outer.inner, scaled));
    TRY(widen(H, NULL, H->z));
    H->outer.products++; /* this step's */
done:
    return st;
}

/* Write down the residual of this iteration, which may end the cycle. */
static kry_status look(host_outer *H, double residual)
{
    kry_status st = KRY_OK;
    kry_story *s = &H->story;

    TRY(kry_story_add(s, s->iteration, residual));
    TRY(kry_story_show(s, s->iteration));
    s->end_value = s->residual;
    if (residual <= H->c.goal)
        s->end = KRY_END_CONVERGED;
    else if (!isfinite(residual))
        s->end = KRY_END_NOT_FINITE;
done:
    return st;
}

/* An iteration, which may break down. */
static kry_status step(host_outer *H, double *x, double *rho, double *alpha)
{
    kry_status st = KRY_OK;
    int64_t n = H->n;
    kry_story *s = &H->story;

    TRY(precondition(H));
    double now = dot(H->r, H->z, n);
    double change = -*alpha * dot(H->z, H->q, n); /* Polak and Ribiere */
    double noise = 1e-20 * *rho;                  /* as in cl/pcg.cl */
    double beta = *rho > 0 && change > 0 && now > noise ? change / *rho : 0;
    if (!(now > 0)) return s->end = KRY_END_PRECOND, s->end_value = now, KRY_OK;
    for (int64_t i = 0; i < n; i++) H->p[i] = H->z[i] + beta * H->p[i];
    product(H, H->p, H->q);
    double pq = dot(H->p, H->q, n);
    if (!(pq > 0)) return s->end = KRY_END_MATRIX, s->end_value = pq, KRY_OK;
    *alpha = now / pq, *rho = now;
    for (int64_t i = 0; i < n; i++) x[i] += *alpha * H->p[i], H->r[i] -= *alpha * H->q[i];
    project(H, H->r);
    s->iteration++;
    TRY(look(H, sqrt(dot(H->r, H->r, n))));
done:
    return st;
}

static kry_status iterate(host_outer *H)
{
    kry_status st = KRY_OK;
    double rho = 0, alpha = 0;

    memset(H->p, 0, (size_t)H->n * sizeof *H->p);
    memset(H->q, 0, (size_t)H->n * sizeof *H->q);
    if (H->story.iteration == 0) TRY(look(H, H->c.norm));
    while (kry_story_goes_on(&H->story)) TRY(step(H, H->x[H->at], &rho, &alpha));
done:
    return st;
}

/* ---- rounds ------------------------------------------------------------------------------ */

static bool refines(const host_outer *H) { return H->judge.drop > 0; }

static void compute_residual(host_outer *H, double *norm)
{
    *norm = residual_of(H, H->x[H->at]);
    H->c.norm = *norm / H->share;
    H->story.unit = H->share;
    bool half = H->share > 1 && H->judge.restarts >= 0 && !refines(H); /* as in method.c */
    H->c.goal = (half ? 0.5 * H->judge.target : kry_judge_goal(&H->judge, *norm)) / H->share;
    if (!refines(H)) return;
    if (kry_residual_accept(*norm, &H->judge.least))
        H->outer.least = *norm;
    else
        H->at = !H->at, *norm = INFINITY;
}

static kry_status find_residual(void *self, double *norm)
{
    host_outer *H = self;
    kry_inner *I = H->outer.inner;
    kry_status st = KRY_OK;
    bool first = H->judge.restarts < 0, moved = false;
    double scaled;

    compute_residual(H, norm);
    if (first) TRY(kry_guess_check(*norm));
    if (!refines(H) || !I->K->deflation) return KRY_OK;
    TRY(narrow(H, H->r, &scaled));
    TRY(kry_null_space_project(&I->K->system.null, I->r));
    TRY(kry_krylov_start(I->K, first, I->r, I->x, &moved));
    if (!moved) return KRY_OK;
    TRY(add_correction(H));
    compute_residual(H, norm);
done:
    return st;
}

static kry_status run_cycle(void *self)
{
    host_outer *H = self;
    kry_status st = KRY_OK;
    double scaled;

    H->c.goes_on = kry_judge_keeps(&H->judge, &H->story);
    H->judge.restarts++;
    H->story.end = KRY_END_NONE;
    if (!refines(H)) return iterate(H);
    TRY(narrow(H, H->r, &scaled));
    TRY(kry_inner_refine(H->outer.inner, &H->c, scaled, H->outer.reliable));
    TRY(add_correction(H));
done:
    return st;
}

static kry_status make_ready(host_outer *H)
{
    kry_status st = KRY_OK;
    double **arrays[] = { &H->z, &H->p, &H->q, &H->diagonal };

    for (size_t i = 0; i < COUNT(arrays); i++)
        if (!*arrays[i]) TRY(kry_alloc((size_t)H->n, sizeof(double), arrays[i]));
    H->A->table->diagonal(H->A, H->diagonal);
    H->diagonal[0] += H->pin;
    for (int64_t i = 0; i < H->n; i++)
        CHECK(H->diagonal[i] > 0, KRY_ERR_SINGULAR,
              "kry_solve: the diagonal entry of row %lld is %g; in double on the host only a "
              "positive one does",
              (long long)i, H->diagonal[i]);
done:
    return st;
}

/* A's null space goes out of x, unless that costs digits. */
static void centre(host_outer *H, kry_result *res)
{
    double *x = H->x[!H->at];

    if (!H->projects) return;
    memcpy(x, H->x[H->at], (size_t)H->n * sizeof *x);
    project(H, x);
    double norm = residual_of(H, x);
    bool lost = res->true_residual <= res->target || norm > 2 * res->true_residual;
    if (norm > res->target && lost) return;
    H->at = !H->at;
    kry_judge_again(norm, res);
}

static kry_status host_run(kry_outer *O, kry_scheme scheme, const kry_terms *terms, kry_result *res)
{
    static const kry_rounds rounds = { find_residual, run_cycle };
    host_outer *H = host_of(O);
    kry_status st = KRY_OK;
    bool refining = O->inner && scheme != KRY_SCHEME_FLEXIBLE && scheme != KRY_SCHEME_DOUBLE;
    int before = H->at;

    H->scheme = scheme;
    H->judge.stop = O->stop;
    H->judge.drop = refining ? O->drop : 0;
    const kry_method *words = refining ? O->inner->K->method : &kry_pcg_method;
    H->judge.words[0] = &words->precond, H->judge.words[1] = &words->matrix;
    if (!refining) TRY(make_ready(H));
    if (O->inner) TRY(kry_vec_fill(O->inner->x, 0));
    H->story.monitor = refining ? O->inner_monitor : O->monitor;
    H->story.exact = H->story.monitor && O->stop.check_every;
    H->story.inner = terms->inner;
    H->c = (kry_cycle){ .story = &H->story };
    kry_story_begin(&H->story, terms->max_iter);
    kry_judge_begin(&H->judge, H->judge.norm_b, H->judge.inconsistent);
    H->story.target = H->judge.target;
    if (H->judge.norm_b == 0) {
        memset(H->x[H->at], 0, (size_t)H->n * sizeof(double));
        kry_judge_end(&H->judge, &H->story, KRY_CONVERGED_ZERO, "b is zero, and so is x", 0, res);
        return KRY_OK;
    }
    if (!refining) {
        memcpy(H->x[!H->at], H->x[H->at], (size_t)H->n * sizeof(double));
        H->at = !H->at;
    }
    TRY(kry_judge_run(&H->judge, &H->story, &rounds, H, res));
    if (refining) {
        res->true_residual = O->least;
    } else if (!kry_outer_takes(O, res)) {
        H->at = before;
        if (!isfinite(O->least)) O->least = res->true_residual = residual_of(H, H->x[H->at]);
    }
    centre(H, res);
    kry_judge_consistency(&H->judge, res);
done:
    return st;
}

/* ---- around a solve --------------------------------------------------------------------- */

static kry_status take(host_outer *H, const kry_ends *ends)
{
    kry_status st = KRY_OK;
    size_t bytes = (size_t)H->n * sizeof(double);

    H->at = 0;
    if (ends->host_b) {
        H->b = ends->host_b;
        memcpy(H->x[0], ends->host_x, bytes);
        return KRY_OK;
    }
    TRY(kry_vec_read(ends->x, H->x[0]));
    if (!H->own_b) TRY(kry_alloc((size_t)H->n, sizeof(double), &H->own_b));
    TRY(kry_vec_read(ends->b, H->own_b));
    H->b = H->own_b;
done:
    return st;
}

static kry_status host_begin(kry_outer *O, const kry_ends *ends)
{
    host_outer *H = host_of(O);
    kry_status st = KRY_OK;

    TRY(take(H, ends));
    double norm_b = sqrt(dot(H->b, H->b, H->n));
    for (int64_t i = 0; i < H->n && !isfinite(norm_b); i++)
        CHECK(isfinite(H->b[i]), KRY_ERR_ARGUMENT, "kry_solve: b[%lld] is %g", (long long)i,
              H->b[i]);
    CHECK(isfinite(norm_b), KRY_ERR_ARGUMENT,
          "kry_solve: ||b||^2 cannot be summed in double: scale the system");
    H->judge.norm_b = norm_b;
    H->judge.inconsistent =
        H->projects || H->pin != 0 ? fabs(mean(H->b, H->n)) * sqrt((double)H->n) : 0;
done:
    return st;
}

static kry_status host_end(kry_outer *O, const kry_ends *ends)
{
    host_outer *H = host_of(O);
    if (ends->x) return kry_vec_write(ends->x, H->x[H->at]);
    memcpy(ends->host_x, H->x[H->at], (size_t)H->n * sizeof(double));
    return KRY_OK;
}

/* What pins is the entry that is there already, twice. */
static kry_status host_update(kry_outer *O)
{
    host_outer *H = host_of(O);
    kry_status st = KRY_OK;

    if (!O->pinned) return KRY_OK;
    H->A->table->diagonal(H->A, H->r);
    CHECK(H->n > 0 && H->r[0] > 0, KRY_ERR_SINGULAR,
          "kry_mixed_create: the first diagonal entry is %g; only a positive one pins",
          H->n > 0 ? H->r[0] : 0.0);
    H->pin = H->r[0];
done:
    return st;
}

static void host_destroy(kry_outer *O)
{
    host_outer *H = host_of(O);
    kry_story_release(&H->story);
    double *arrays[] = { H->x[0], H->x[1], H->r, H->own_b, H->z, H->p, H->q, H->diagonal };
    for (size_t i = 0; i < COUNT(arrays); i++) free(arrays[i]);
    free(H->single);
    free(H);
}

static const kry_outer_table host_table = {
    .begin = host_begin,
    .run = host_run,
    .end = host_end,
    .update = host_update,
    .destroy = host_destroy,
};

kry_status kry_outer_host(const kry_outer *like, kry_outer **O)
{
    kry_status st = KRY_OK;
    host_outer *H = NULL;
    size_t n = (size_t)like->A->shape.rows;

    *O = NULL;
    TRY(kry_alloc(1, sizeof *H, &H));
    H->outer = *like;
    H->outer.table = &host_table;
    H->A = kry_host_op_of(like->A);
    H->n = H->A->n;
    H->projects = (like->A->shape.traits & KRY_SINGULAR) && !like->pinned;
    TRY(kry_alloc(n, sizeof(double), &H->x[0]));
    TRY(kry_alloc(n, sizeof(double), &H->x[1]));
    TRY(kry_alloc(n, sizeof(double), &H->r));
    TRY(kry_alloc(n, sizeof(float), &H->single));
    TRY(kry_story_create(H->A->dev, &like->stop, like->monitor, like->monitor_user, &H->story));
    TRY(host_update(&H->outer));
    if (like->flexible || !like->inner) TRY(make_ready(H));
    *O = &H->outer, H = NULL;
done:
    if (H) host_destroy(&H->outer);
    return st;
}
