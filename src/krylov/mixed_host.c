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

enum { STOP_PRECOND = 2, STOP_MATRIX = 3 }; /* as in cl/direction.clh */

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
    kry_watch watch;
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
    double norm = sqrt(dot(H->r, H->r, H->n));
    bool unpins = H->pin != 0 && H->outer.inconsistent <= H->outer.target;
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

/* d := S r / T->scale, which is found */
static kry_status narrow(host_outer *H, kry_truth *T, const double *r, kry_vec *d)
{
    kry_status st = KRY_OK;
    double norm = 0, scaled = 0;

    for (int64_t i = 0; i < H->n; i++) {
        double s = scale_at(H, i) * r[i];
        norm += r[i] * r[i], scaled += s * s;
    }
    kry_truth_scale(T, sqrt(norm), sqrt(scaled));
    for (int64_t i = 0; i < H->n; i++) H->single[i] = (float)(scale_at(H, i) * r[i] / T->scale);
    TRY(kry_vec_write(d, H->single));
done:
    return st;
}

/* y := x + a S d, and d := 0; x NULL: zero */
static kry_status widen(host_outer *H, const double *x, double a, kry_vec *d, double *y)
{
    kry_status st = KRY_OK;

    TRY(kry_vec_read(d, H->single));
    TRY(kry_vec_fill(d, 0));
    for (int64_t i = 0; i < H->n; i++)
        y[i] = (x ? x[i] : 0) + a * (scale_at(H, i) * (double)H->single[i]);
done:
    return st;
}

static kry_status host_truth(kry_truth *T, kry_vec *d, kry_vec *r)
{
    host_outer *H = host_of((kry_outer *)T);
    kry_status st = KRY_OK;

    TRY(widen(H, H->x[H->at], H->outer.e.factor * T->scale, d, H->x[!H->at]));
    double norm = residual_of(H, H->x[!H->at]);
    TRY(narrow(H, T, H->r, r));
    T->norm *= H->share, T->unit *= H->share;
    if (kry_outer_accepts(&H->outer, norm))
        H->at = !H->at;
    else
        T->norm = INFINITY;
done:
    return st;
}

/* ---- conjugate gradients ---------------------------------------------------------------- */

/* z := M r: a solve inside, or the diagonal */
static kry_status precondition(host_outer *H, bool inside)
{
    kry_status st = KRY_OK;
    kry_truth T = { .scale = 1 };

    if (!inside) {
        for (int64_t i = 0; i < H->n; i++) H->z[i] = H->r[i] / H->diagonal[i];
        return KRY_OK;
    }
    TRY(narrow(H, &T, H->r, H->outer.inside->rhs));
    TRY(kry_inside_solve(H->outer.inside, &T));
    TRY(widen(H, NULL, H->outer.e.factor * T.scale, H->outer.inside->x, H->z));
done:
    return st;
}

/* An iteration; what breaks down is left to the watch. */
static kry_status step(host_outer *H, double *x, bool inside, double *rho, double *alpha, bool *go)
{
    kry_status st = KRY_OK;
    int64_t n = H->n;
    kry_watch *w = &H->watch;

    TRY(precondition(H, inside));
    double now = dot(H->r, H->z, n), r2 = dot(H->r, H->r, n);
    double change = H->outer.beta == KRY_FLETCHER_REEVES ? now : -*alpha * dot(H->z, H->q, n);
    double noise = 1e-20 * *rho; /* as in cl/pcg.cl */
    double beta = *rho > 0 && change > 0 && now > noise ? change / *rho : 0;
    *go = now > 0;
    if (!*go) return kry_watch_take(w, &r2, 0, STOP_PRECOND, now);
    for (int64_t i = 0; i < n; i++) H->p[i] = H->z[i] + beta * H->p[i];
    product(H, H->p, H->q);
    double pq = dot(H->p, H->q, n);
    *go = pq > 0;
    if (!*go) return kry_watch_take(w, &r2, 0, STOP_MATRIX, pq);
    *alpha = now / pq, *rho = now;
    for (int64_t i = 0; i < n; i++) x[i] += *alpha * H->p[i], H->r[i] -= *alpha * H->q[i];
    project(H, H->r);
    if (inside) H->outer.products++;
    w->iteration++;
    TRY(kry_watch_measured(w, sqrt(dot(H->r, H->r, n)), go));
done:
    return st;
}

static kry_status cycle(host_outer *H, double *x, bool inside, double residual)
{
    kry_status st = KRY_OK;
    double rho = 0, alpha = 0;
    bool go = true;

    memset(H->p, 0, (size_t)H->n * sizeof *H->p);
    memset(H->q, 0, (size_t)H->n * sizeof *H->q);
    TRY(kry_watch_cycle(&H->watch));
    if (H->watch.iteration == 0) TRY(kry_watch_measured(&H->watch, residual, &go));
    while (go) TRY(step(H, x, inside, &rho, &alpha, &go));
done:
    return st;
}

static kry_status make_ready(host_outer *H, const kry_stop *stop)
{
    kry_status st = KRY_OK;
    double **arrays[] = { &H->z, &H->p, &H->q, &H->diagonal };

    for (size_t i = 0; i < COUNT(arrays); i++)
        if (!*arrays[i]) TRY(kry_alloc((size_t)H->n, sizeof(double), arrays[i]));
    if (!H->watch.dev)
        TRY(kry_watch_create(H->A->dev, stop, H->outer.monitor, H->outer.monitor_user, &H->watch));
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

static kry_status run(kry_outer *O, bool inside, const kry_stop *stop, kry_result *res)
{
    host_outer *H = host_of(O);
    kry_status st = KRY_OK;

    TRY(make_ready(H, stop));
    H->watch.stop.rtol = stop->rtol, H->watch.stop.atol = stop->atol;
    H->watch.stop.max_iter = stop->max_iter;
    double *x = H->x[!H->at];
    memcpy(x, H->x[H->at], (size_t)H->n * sizeof *x);
    kry_watch_begin(&H->watch, O->norm_b);
    kry_watch_leave(&H->watch, O->inconsistent);
    double residual = residual_of(H, x), guess = residual;
    TRY(kry_guess_check(residual));
    while (kry_watch_judge(&H->watch, residual, res)) {
        TRY(cycle(H, x, inside, residual));
        residual = residual_of(H, x);
        H->watch.unit = H->share;
        if (H->share > 1) H->watch.goal = 0.5 * H->watch.target; /* as in pcg.c */
    }
    if (kry_outer_takes(O, res)) H->at = !H->at;
    if (!isfinite(O->least)) O->least = res->true_residual = guess; /* which is kept */
done:
    return st;
}

static kry_status host_flexible(kry_outer *O, const kry_stop *stop, kry_result *res)
{
    return run(O, true, stop, res);
}

static kry_status host_plain(kry_outer *O, const kry_stop *stop, kry_result *res)
{
    return run(O, false, stop, res);
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
    O->norm_b = sqrt(dot(H->b, H->b, H->n));
    for (int64_t i = 0; i < H->n && !isfinite(O->norm_b); i++)
        CHECK(isfinite(H->b[i]), KRY_ERR_ARGUMENT, "kry_solve: b[%lld] is %g", (long long)i,
              H->b[i]);
    CHECK(isfinite(O->norm_b), KRY_ERR_ARGUMENT,
          "kry_solve: ||b||^2 cannot be summed in double: scale the system");
    O->inconsistent = H->projects || H->pin != 0 ? fabs(mean(H->b, H->n)) * sqrt((double)H->n) : 0;
    O->least = INFINITY;
done:
    return st;
}

static kry_status host_centre(kry_outer *O, kry_result *res)
{
    host_outer *H = host_of(O);
    double *x = H->x[!H->at];

    if (!H->projects) return KRY_OK;
    memcpy(x, H->x[H->at], (size_t)H->n * sizeof *x);
    project(H, x);
    double norm = residual_of(H, x);
    bool lost = res->true_residual <= res->target || norm > 2 * res->true_residual;
    if (norm > res->target && lost) return KRY_OK;
    H->at = !H->at;
    kry_judge_again(norm, res);
    return KRY_OK;
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
    kry_watch_release(&H->watch);
    double *arrays[] = { H->x[0], H->x[1], H->r, H->own_b, H->z, H->p, H->q, H->diagonal };
    for (size_t i = 0; i < COUNT(arrays); i++) free(arrays[i]);
    free(H->single);
    free(H);
}

static const kry_outer_table host_table = {
    .begin = host_begin,
    .flexible = host_flexible,
    .plain = host_plain,
    .centre = host_centre,
    .end = host_end,
    .update = host_update,
    .destroy = host_destroy,
};

kry_status kry_outer_host(const kry_outer *like, const kry_stop *stop, bool flexible, kry_outer **O)
{
    kry_status st = KRY_OK;
    host_outer *H = NULL;
    size_t n = (size_t)like->A->shape.rows;

    *O = NULL;
    TRY(kry_alloc(1, sizeof *H, &H));
    H->outer = *like;
    H->outer.table = &host_table;
    H->outer.truth.residual = host_truth;
    H->A = kry_host_op_of(like->A);
    H->n = H->A->n;
    H->projects = (like->A->shape.traits & KRY_SINGULAR) && !like->pinned;
    TRY(kry_alloc(n, sizeof(double), &H->x[0]));
    TRY(kry_alloc(n, sizeof(double), &H->x[1]));
    TRY(kry_alloc(n, sizeof(double), &H->r));
    TRY(kry_alloc(n, sizeof(float), &H->single));
    TRY(host_update(&H->outer));
    if (flexible || !like->inside) TRY(make_ready(H, stop));
    *O = &H->outer, H = NULL;
done:
    if (H) host_destroy(&H->outer);
    return st;
}
