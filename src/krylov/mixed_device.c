/*
 * mixed_device.c - x and its residual in double on the device. Kernels: cl/mixed.cl.
 *
 * An x is given up for the next one only when that one's residual is known to be sane: two buffers
 * take turns, and what a solver in single diverged to is forgotten.
 *
 * Words of 8 bytes moved when a residual is replaced, the matrix aside: 2.5 (x), 3 (b - A x), 1
 * (its norm), 1.5 (rounding it); another 3 where the matrix in single is scaled by a diagonal.
 */
#include "krylov/mixed.h"
#include "precond/deflation.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct device_outer {
    kry_outer outer; /* first */
    kry_device *dev; /* borrowed */
    kry_vec *x[2];   /* n in double; x[at] is the one that is kept */
    int at;
    kry_vec *scale;   /* S; NULL: the identity */
    const kry_vec *b; /* borrowed for a solve */
    kry_sum *sum;
    kry_kernel *widen, *narrow, *measure;
    kry_op *refine;           /* the rounds around corrections in single */
    kry_op *precond;          /* a correction in single, as a preconditioner of `flexible` */
    kry_op *flexible, *plain; /* made when they are needed */
} device_outer;

static device_outer *device_of(kry_outer *O) { return (device_outer *)O; }

/* ---- between single and double ---------------------------------------------------------- */

/* y := beta x + a S d, and d := 0; x is not read with beta = 0, and may be y */
static kry_status widen(device_outer *D, double beta, const kry_vec *x, double a, kry_vec *y)
{
    const kry_vec *s = D->scale ? D->scale : x, *d = D->outer.inner->x;
    a *= D->outer.e.factor * D->outer.inner->scale;
    const kry_arg args[] = { ARG(y->n),      ARG(beta),      ARG(x->buffer), ARG(a),
                             ARG(s->buffer), ARG(d->buffer), ARG(y->buffer) };
    return kry_launch(D->dev, D->widen, kry_groups_for(D->dev, KRY_F64, y->n), args, COUNT(args));
}

/* ||S r||, of ||r|| = norm. Waits where S is not the identity. */
static kry_status scaled_norm_of(device_outer *D, const kry_vec *r, double norm, double *scaled)
{
    kry_status st = KRY_OK;
    const kry_chunks rows = kry_chunks_of(r);
    kry_arg args[KRY_CHUNKS_ARGS + 3];

    *scaled = norm;
    if (!D->scale) return KRY_OK;
    size_t count = kry_chunks_args(&rows, args);
    args[count++] = (kry_arg)ARG(D->scale->buffer);
    args[count++] = (kry_arg)ARG(r->buffer);
    args[count++] = (kry_arg)ARG(D->sum->buffer);
    TRY(kry_launch(D->dev, D->measure, rows.groups, args, count));
    D->sum->count = (cl_int)rows.groups;
    TRY(kry_sum_read(r->layout, D->sum, scaled));
    *scaled = sqrt(*scaled);
done:
    return st;
}

/* inner r := S r by a power of two; *scaled := ||S r||, for ||r|| = norm */
static kry_status narrow(device_outer *D, const kry_vec *r, double norm, double *scaled)
{
    kry_status st = KRY_OK;
    const kry_vec *s = D->scale ? D->scale : r, *to = D->outer.inner->r;

    TRY(scaled_norm_of(D, r, norm, scaled));
    kry_inner_scale(D->outer.inner, *scaled);
    const double a = 1 / D->outer.inner->scale;
    const kry_arg args[] = { ARG(r->n), ARG(a), ARG(s->buffer), ARG(r->buffer), ARG(to->buffer) };
    TRY(kry_launch(D->dev, D->narrow, kry_groups_for(D->dev, KRY_F64, r->n), args, COUNT(args)));
done:
    return st;
}

/* ---- refinement: a method whose cycles are corrections in single ------------------------- */

/* x := x + the correction, in the other buffer. */
static kry_status add_correction(device_outer *D, kry_cycle *c)
{
    kry_vec *next = c->x == D->x[0] ? D->x[1] : D->x[0], *x = c->x;
    c->x = next;
    return widen(D, 1, x, 1, next);
}

static kry_status refine_start(void *self, kry_cycle *c, bool first, bool *moved)
{
    device_outer *D = self;
    kry_inner *I = D->outer.inner;
    kry_status st = KRY_OK;
    double scaled;

    *moved = false;
    if (!I || !I->K->deflation) return KRY_OK;
    TRY(narrow(D, c->r, c->norm, &scaled));
    TRY(kry_null_space_project(&I->K->system.null, I->r));
    TRY(kry_krylov_start(I->K, first, I->r, I->x, moved));
    if (*moved) TRY(add_correction(D, c));
done:
    return st;
}

static kry_status refine_cycle(void *self, kry_cycle *c)
{
    device_outer *D = self;
    kry_status st = KRY_OK;
    double scaled;

    TRY(narrow(D, c->r, c->norm, &scaled));
    TRY(kry_inner_refine(D->outer.inner, c, scaled, D->outer.reliable));
    TRY(add_correction(D, c));
done:
    return st;
}

static void refine_accept(void *self, kry_cycle *c, double *norm)
{
    device_outer *D = self;

    if (kry_residual_accept(*norm, &kry_krylov_of(D->refine)->judge.least)) return;
    c->x = c->x == D->x[0] ? D->x[1] : D->x[0];
    *norm = INFINITY;
}

static kry_status refine_create(kry_krylov *K, const kry_setup *setup, void **self)
{
    device_outer *D = (device_outer *)setup->params; /* its own, and not const */

    K->judge.drop = D->outer.drop;
    if (D->outer.inner)
        memcpy(K->judge.words, D->outer.inner->K->judge.words, sizeof K->judge.words);
    *self = D;
    return KRY_OK;
}

static void refine_destroy(void *self) { (void)self; }

static const kry_method refine_method = {
    .kind = "refinement",
    .who = "kry_mixed_create",
    .projects = true,
    .create = refine_create,
    .cycle = refine_cycle,
    .start = refine_start,
    .accept = refine_accept,
    .destroy = refine_destroy,
};

/* ---- a correction as a preconditioner ---------------------------------------------------- */

static kry_status precond_apply(void *self, double alpha, const kry_vec *r, double beta, kry_vec *z)
{
    device_outer *D = self;
    kry_status st = KRY_OK;
    double norm, scaled;

    TRY(kry_vec_dot_sum(r, r, D->sum));
    TRY(kry_sum_read(r->layout, D->sum, &norm));
    norm = sqrt(norm);
    TRY(narrow(D, r, norm, &scaled));
    if (norm > 0 && isfinite(norm)) TRY(kry_inner_precondition(D->outer.inner, scaled));
    TRY(widen(D, beta, z, alpha, z));
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

static kry_status make_flexible(device_outer *D)
{
    kry_status st = KRY_OK;
    const kry_outer *O = &D->outer;
    kry_op_shape shape = O->system->shape;

    if (D->flexible) return KRY_OK;
    shape.traits = KRY_VARYING;
    if (!D->precond) TRY(kry_op_create(D->dev, &precond_table, D, &shape, &D->precond));
    TRY(kry_pcg_create(O->system,
                       KRY_PCG(.precond = D->precond, .flexible = KRY_POLAK_RIBIERE,
                               .stop = O->stop, .monitor = O->monitor,
                               .monitor_user = O->monitor_user, .resident = KRY_RESIDENT_OFF),
                       &D->flexible));
done:
    return st;
}

static kry_status make_plain(device_outer *D)
{
    kry_status st = KRY_OK;
    kry_options o = *D->outer.options;

    if (D->plain) return KRY_OK;
    o.stop = D->outer.stop;
    o.monitor = D->outer.monitor, o.monitor_user = D->outer.monitor_user;
    TRY(kry_options_solver(D->outer.A, &o, &D->plain));
done:
    return st;
}

/* The guess is kept, and nobody has measured it. */
static kry_status measure_guess(device_outer *D, kry_result *res)
{
    kry_status st = KRY_OK;
    kry_krylov *K = kry_krylov_of(D->refine);
    double unit;

    TRY(kry_system_residual(&K->system, D->b, D->x[D->at], K->r, &D->outer.least, &unit));
    res->true_residual = D->outer.least;
done:
    return st;
}

/* A solver in double goes on from x; what it comes to is taken if it is no worse. */
static kry_status go_on(device_outer *D, const kry_op *solver, const kry_terms *terms,
                        kry_result *res)
{
    kry_status st = KRY_OK;
    kry_vec *x = D->x[!D->at];

    TRY(kry_vec_copy(D->x[D->at], x));
    TRY(kry_krylov_solve(kry_krylov_of(solver), D->b, x, terms, res));
    if (kry_outer_takes(&D->outer, res)) D->at = !D->at;
    if (!isfinite(D->outer.least)) TRY(measure_guess(D, res));
    st = KRY_OK;
done:
    return st;
}

static kry_status refine(device_outer *D, const kry_terms *terms, kry_result *res)
{
    kry_status st = KRY_OK;
    kry_krylov *K = kry_krylov_of(D->refine);

    D->outer.inner->scale = 1;
    TRY(kry_vec_fill(D->outer.inner->x, 0));
    TRY(kry_krylov_solve(K, D->b, D->x[D->at], terms, res));
    D->outer.least = res->true_residual;
    if (K->system.residuals > 1) /* the guess's is everybody's */
        D->outer.products += K->system.residuals - 1;
    st = KRY_OK;
done:
    return st;
}

static kry_status device_run(kry_outer *O, kry_scheme scheme, const kry_terms *terms,
                             kry_result *res)
{
    device_outer *D = device_of(O);
    kry_status st = KRY_OK;

    if (scheme == KRY_SCHEME_FLEXIBLE) {
        TRY(make_flexible(D));
        TRY(kry_vec_fill(O->inner->x, 0));
        TRY(go_on(D, D->flexible, terms, res));
    } else if (scheme == KRY_SCHEME_DOUBLE) {
        TRY(make_plain(D));
        TRY(go_on(D, D->plain, terms, res));
    } else {
        TRY(refine(D, terms, res));
    }
done:
    return st;
}

/* ---- around a solve --------------------------------------------------------------------- */

static kry_status device_begin(kry_outer *O, const kry_ends *ends)
{
    device_outer *D = device_of(O);

    D->b = ends->b;
    D->at = 0;
    return kry_vec_copy(ends->x, D->x[0]);
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
    kry_op_release(&D->refine);
    kry_sum_release(&D->sum);
    kry_vec_release(&D->scale);
    kry_vec_release(&D->x[1]);
    kry_vec_release(&D->x[0]);
    free(D);
}

static const kry_outer_table device_table = {
    .begin = device_begin,
    .run = device_run,
    .end = device_end,
    .update = device_update,
    .destroy = device_destroy,
};

static kry_status allocate(device_outer *D)
{
    kry_status st = KRY_OK;
    int64_t n = D->outer.system->shape.rows;
    const char *defines = D->outer.e.scale ? "-DSCALED" : "";

    TRY(kry_vec_create(D->dev, KRY_F64, n, 1, &D->x[0]));
    TRY(kry_vec_create(D->dev, KRY_F64, n, 1, &D->x[1]));
    TRY(kry_sum_create(D->dev, 1, &D->sum));
    if (D->outer.e.scale) {
        TRY(kry_vec_create(D->dev, KRY_F64, n, 1, &D->scale));
        TRY(kry_vec_write(D->scale, D->outer.e.scale));
    }
    TRY(kry_kernel_get(D->dev, "mixed", KRY_F64, defines, "mixed_widen", &D->widen));
    TRY(kry_kernel_get(D->dev, "mixed", KRY_F64, defines, "mixed_narrow", &D->narrow));
    TRY(kry_kernel_get(D->dev, "mixed", KRY_F64, defines, "mixed_norm", &D->measure));
    TRY(kry_krylov_create(D->outer.system,
                          (kry_setup){ .method = &refine_method,
                                       .stop = D->outer.stop,
                                       .monitor = D->outer.inner_monitor,
                                       .monitor_user = D->outer.monitor_user,
                                       .params = D },
                          &D->refine));
done:
    return st;
}

kry_status kry_outer_device(const kry_outer *like, kry_outer **O)
{
    kry_status st = KRY_OK;
    device_outer *D = NULL;

    *O = NULL;
    TRY(kry_alloc(1, sizeof *D, &D));
    D->outer = *like;
    D->outer.table = &device_table;
    D->dev = like->system->dev;
    TRY(allocate(D));
    if (like->flexible) TRY(make_flexible(D));
    if (!like->inner) TRY(make_plain(D));
    *O = &D->outer, D = NULL;
done:
    if (D) device_destroy(&D->outer);
    return st;
}
