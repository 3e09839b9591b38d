/*
 * mixed_device.c - x and its residual in double on the device. Kernels: cl/mixed.cl.
 *
 * An x is given up for the next one only when that one's residual is known to be sane: two buffers
 * take turns, and what a solver in single diverged to is forgotten.
 *
 * Words of 8 bytes moved when a residual is replaced, the matrix aside: 2.5 (x), 3 (b - A x), 1
 * (its norm), 1.5 (rounding it); another 2 where the matrix in single is scaled by a diagonal.
 */
#include "krylov/mixed.h"
#include "operator/null_space.h"
#include "operator/pin.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>

typedef struct device_outer {
    kry_outer outer; /* first */
    kry_device *dev; /* borrowed */
    kry_null_space null;
    kry_unpinned unpinned; /* what the system pins an unknown of */
    kry_vec *x[2], *r;     /* n in double; x[at] is the one that is kept */
    int at;
    kry_vec *scale;   /* S; NULL: the identity */
    const kry_vec *b; /* borrowed for a solve */
    kry_sum *norm, *norms;
    kry_kernel *widen, *narrow, *measure;
    kry_op *precond;          /* a solve inside, as a preconditioner of `flexible` */
    kry_op *flexible, *plain; /* made when they are needed */
} device_outer;

static device_outer *device_of(kry_outer *O) { return (device_outer *)O; }

/* ---- between single and double ---------------------------------------------------------- */

/* y := beta x + a S d, and d := 0; x NULL with beta = 0 */
static kry_status widen(device_outer *D, double beta, const kry_vec *x, double a, kry_vec *d,
                        kry_vec *y)
{
    assert(y);
    const kry_vec *in = x ? x : y, *s = D->scale ? D->scale : in;
    const kry_arg args[] = { ARG(y->n),      ARG(beta),      ARG(in->buffer), ARG(a),
                             ARG(s->buffer), ARG(d->buffer), ARG(y->buffer) };
    return kry_launch(D->dev, D->widen, kry_groups_for(D->dev, KRY_F64, y->n), args, COUNT(args));
}

/* d := a S r */
static kry_status narrow(device_outer *D, double a, const kry_vec *r, kry_vec *d)
{
    const kry_vec *s = D->scale ? D->scale : r;
    const kry_arg args[] = { ARG(r->n), ARG(a), ARG(s->buffer), ARG(r->buffer), ARG(d->buffer) };
    return kry_launch(D->dev, D->narrow, kry_groups_for(D->dev, KRY_F64, r->n), args, COUNT(args));
}

/* ||r||, ||S r|| */
static kry_status norms_of(device_outer *D, const kry_vec *r, double norms[2])
{
    kry_status st = KRY_OK;
    const kry_chunks rows = kry_chunks_of(r);
    kry_arg args[KRY_CHUNKS_ARGS + 3];

    if (D->scale) {
        size_t count = kry_chunks_args(&rows, args);
        args[count++] = (kry_arg)ARG(D->scale->buffer);
        args[count++] = (kry_arg)ARG(r->buffer);
        args[count++] = (kry_arg)ARG(D->norms->buffer);
        TRY(kry_launch(D->dev, D->measure, rows.groups, args, count));
        D->norms->count = (cl_int)rows.groups;
        TRY(kry_sum_read(r->layout, D->norms, norms));
        norms[0] = sqrt(norms[0]), norms[1] = sqrt(norms[1]);
    } else {
        TRY(kry_vec_dot_sum(r, r, D->norm));
        TRY(kry_sum_read(r->layout, D->norm, norms));
        norms[0] = norms[1] = sqrt(norms[0]);
    }
done:
    return st;
}

/* ---- the truth -------------------------------------------------------------------------- */

/* r := b - A x of this x, less what no x can reach. Where A pins an unknown, the norm is that of
 * what it pins, if that is larger (pcg.c), and there is a solution. */
static kry_status residual_of(device_outer *D, const kry_vec *x, double norms[2])
{
    kry_status st = KRY_OK;
    double whole[2] = { 0 };

    if (D->unpinned.A && D->outer.inconsistent <= D->outer.target) {
        TRY(kry_unpinned_residual(&D->unpinned, D->b, x, D->r));
        TRY(norms_of(D, D->r, whole));
    }
    TRY(kry_op_residual(D->outer.system, D->b, x, D->r));
    TRY(kry_null_space_project(&D->null, D->r));
    TRY(norms_of(D, D->r, norms));
    if (whole[0] > norms[0]) norms[0] = whole[0];      /* NaN stays */
    if (isfinite(D->outer.least)) D->outer.products++; /* the guess's is everybody's */
done:
    return st;
}

static kry_status device_truth(kry_truth *T, kry_vec *d, kry_vec *r)
{
    device_outer *D = device_of((kry_outer *)T);
    kry_status st = KRY_OK;
    double norms[2];

    TRY(widen(D, 1, D->x[D->at], D->outer.e.factor * T->scale, d, D->x[!D->at]));
    TRY(residual_of(D, D->x[!D->at], norms));
    kry_truth_scale(T, norms[0], norms[1]);
    TRY(narrow(D, 1 / T->scale, D->r, r));
    if (kry_outer_accepts(&D->outer, norms[0]))
        D->at = !D->at;
    else
        T->norm = INFINITY;
done:
    return st;
}

/* ---- a solve inside as a preconditioner ------------------------------------------------- */

static kry_status precond_apply(void *self, double alpha, const kry_vec *r, double beta, kry_vec *z)
{
    device_outer *D = self;
    kry_status st = KRY_OK;
    kry_inside *I = D->outer.inside;
    kry_truth T = { .scale = 1 };
    double norms[2];

    TRY(norms_of(D, r, norms));
    kry_truth_scale(&T, norms[0], norms[1]);
    TRY(narrow(D, 1 / T.scale, r, I->rhs));
    if (norms[0] > 0 && isfinite(norms[0])) TRY(kry_inside_solve(I, &T));
    TRY(widen(D, beta, z, alpha * D->outer.e.factor * T.scale, I->x, z));
    D->outer.products++; /* the outer step's */
done:
    return st;
}

static const kry_op_table precond_table = {
    .struct_size = sizeof(kry_op_table),
    .kind = "solve in single",
    .apply = precond_apply,
};

/* ---- methods in double ------------------------------------------------------------------ */

static kry_status make_flexible(device_outer *D, const kry_stop *stop)
{
    kry_status st = KRY_OK;
    kry_op_shape shape = D->outer.system->shape;

    if (D->flexible) return KRY_OK;
    shape.traits = KRY_VARYING;
    if (!D->precond) TRY(kry_op_create(D->dev, &precond_table, D, &shape, &D->precond));
    TRY(kry_pcg_create(D->outer.system,
                       KRY_PCG(.precond = D->precond, .flexible = D->outer.beta, .stop = *stop,
                               .monitor = D->outer.monitor, .monitor_user = D->outer.monitor_user,
                               .resident = KRY_RESIDENT_OFF),
                       &D->flexible));
done:
    return st;
}

static kry_status make_plain(device_outer *D, const kry_op *A, const kry_stop *stop)
{
    kry_status st = KRY_OK;
    kry_options o = *D->outer.options;

    if (D->plain) return KRY_OK;
    o.stop = *stop;
    o.monitor = D->outer.monitor, o.monitor_user = D->outer.monitor_user;
    TRY(kry_options_solver(A, &o, &D->plain));
done:
    return st;
}

/* A solver in double goes on from x; what it comes to is taken if it is no worse. */
static kry_status go_on(device_outer *D, kry_op *solver, const kry_stop *stop, kry_result *res)
{
    kry_status st = KRY_OK;
    kry_vec *x = D->x[!D->at];
    kry_watch *w = kry_pcg_watch(solver);
    double norms[2];

    if (!w) w = kry_relaxation_watch(solver);
    w->stop.rtol = stop->rtol, w->stop.atol = stop->atol, w->stop.max_iter = stop->max_iter;
    TRY(kry_vec_copy(D->x[D->at], x));
    st = solver->table->solve(solver->self, D->b, x, res);
    if (st < 0) goto done;
    st = KRY_OK;
    if (kry_outer_takes(&D->outer, res)) D->at = !D->at;
    if (!isfinite(D->outer.least)) { /* the guess is kept, and nobody has measured it */
        TRY(residual_of(D, D->x[D->at], norms));
        D->outer.least = res->true_residual = norms[0];
    }
done:
    return st;
}

static kry_status device_flexible(kry_outer *O, const kry_stop *stop, kry_result *res)
{
    device_outer *D = device_of(O);
    kry_status st = KRY_OK;

    TRY(make_flexible(D, stop));
    TRY(go_on(D, D->flexible, stop, res));
done:
    return st;
}

static kry_status device_plain(kry_outer *O, const kry_stop *stop, kry_result *res)
{
    device_outer *D = device_of(O);
    kry_status st = KRY_OK;

    TRY(make_plain(D, O->A, stop));
    TRY(go_on(D, D->plain, stop, res));
done:
    return st;
}

/* ---- around a solve --------------------------------------------------------------------- */

static kry_status device_begin(kry_outer *O, const kry_ends *ends)
{
    device_outer *D = device_of(O);
    kry_status st = KRY_OK;

    D->b = ends->b;
    TRY(kry_rhs_norm(D->b, D->norm, &O->norm_b));
    kry_null_space *null = D->unpinned.A ? &D->unpinned.null : &D->null;
    TRY(kry_null_space_measure(null, D->b, &O->inconsistent));
    D->at = 0;
    TRY(kry_vec_copy(ends->x, D->x[0]));
    O->least = INFINITY;
done:
    return st;
}

static kry_status device_centre(kry_outer *O, kry_result *res)
{
    device_outer *D = device_of(O);
    kry_status st = KRY_OK;
    double norms[2];

    if (!D->null.A) return KRY_OK;
    TRY(kry_vec_copy(D->x[D->at], D->x[!D->at]));
    TRY(kry_null_space_project(&D->null, D->x[!D->at]));
    TRY(residual_of(D, D->x[!D->at], norms));
    bool lost = res->true_residual <= res->target || norms[0] > 2 * res->true_residual;
    if (norms[0] > res->target && lost) return KRY_OK;
    D->at = !D->at;
    kry_judge_again(norms[0], res);
done:
    return st;
}

static kry_status device_end(kry_outer *O, const kry_ends *ends)
{
    device_outer *D = device_of(O);
    return kry_vec_copy(D->x[D->at], ends->x);
}

static kry_status device_update(kry_outer *O)
{
    device_outer *D = device_of(O);
    return D->plain ? kry_op_update(D->plain, NULL) : KRY_OK;
}

static void device_destroy(kry_outer *O)
{
    device_outer *D = device_of(O);
    if (!O) return;
    kry_op_release(&D->plain);
    kry_op_release(&D->flexible);
    kry_op_release(&D->precond);
    kry_sum_release(&D->norms);
    kry_sum_release(&D->norm);
    kry_vec_release(&D->scale);
    kry_vec_release(&D->r);
    kry_vec_release(&D->x[1]);
    kry_vec_release(&D->x[0]);
    kry_unpinned_release(&D->unpinned);
    kry_null_space_release(&D->null);
    free(D);
}

static const kry_outer_table device_table = {
    .begin = device_begin,
    .flexible = device_flexible,
    .plain = device_plain,
    .centre = device_centre,
    .end = device_end,
    .update = device_update,
    .destroy = device_destroy,
};

static kry_status allocate(device_outer *D)
{
    kry_status st = KRY_OK;
    int64_t n = D->outer.system->shape.rows;
    const char *defines = D->outer.e.scale ? "-DSCALED" : "";

    TRY(kry_null_space_create(D->outer.system, &D->null));
    TRY(kry_unpinned_create(D->outer.system, &D->unpinned));
    TRY(kry_vec_create(D->dev, KRY_F64, n, 1, &D->x[0]));
    TRY(kry_vec_create(D->dev, KRY_F64, n, 1, &D->x[1]));
    TRY(kry_vec_create(D->dev, KRY_F64, n, 1, &D->r));
    TRY(kry_sum_create(D->dev, 1, &D->norm));
    TRY(kry_sum_create(D->dev, 2, &D->norms));
    if (D->outer.e.scale) {
        TRY(kry_vec_create(D->dev, KRY_F64, n, 1, &D->scale));
        TRY(kry_vec_write(D->scale, D->outer.e.scale));
    }
    TRY(kry_kernel_get(D->dev, "mixed", KRY_F64, defines, "mixed_widen", &D->widen));
    TRY(kry_kernel_get(D->dev, "mixed", KRY_F64, defines, "mixed_narrow", &D->narrow));
    TRY(kry_kernel_get(D->dev, "mixed", KRY_F64, defines, "mixed_norms", &D->measure));
done:
    return st;
}

kry_status kry_outer_device(const kry_outer *like, const kry_stop *stop, bool flexible,
                            kry_outer **O)
{
    kry_status st = KRY_OK;
    device_outer *D = NULL;

    *O = NULL;
    TRY(kry_alloc(1, sizeof *D, &D));
    D->outer = *like;
    D->outer.table = &device_table;
    D->outer.truth.residual = device_truth;
    D->dev = like->system->dev;
    TRY(allocate(D));
    if (flexible) TRY(make_flexible(D, stop));
    if (!like->inside) TRY(make_plain(D, like->A, stop));
    *O = &D->outer, D = NULL;
done:
    if (D) device_destroy(&D->outer);
    return st;
}
