/*
 * least_squares.c - LSQR and LSMR, for A of any shape and rank: min ||b - A x||, by the bidiagonalisation of
 * Golub and Kahan. N is a preconditioner from the right. Kernels: cl/krylov/least_squares.cl.
 *
 *   u := r,  beta := ||u||,  v := N'A'u / beta,  alpha := ||v||        a cycle begins
 *   u' := A N v / alpha - (alpha / beta) u,  beta' := ||u'||           u, v: beta and alpha times those of
 *   v' := N'A'u' / beta' - (beta' / alpha) v,  alpha' := ||v'||        the papers
 *   LSQR  x += (phi / rho) w,  w := N v' / alpha' - (theta / rho) w
 *   LSMR  hbar := h - ... hbar,  x += ... hbar,  h := N v' / alpha' - (theta / rho) h
 *
 * Storage     A z: a number a row of A; A'u, v, w, for LSMR hbar, with N N v: a number a column each
 * Per step    a product with A and one with A'; words a row 3, a column 8, LSMR 10
 * Waits       none: the scalars live on the device
 * Breakdown   none: where the bidiagonalisation ends x is the solution
 * Ends        also by conlim: the second bidiagonal matrix of LSMR estimates the condition number for both
 * Source      C. C. Paige, M. A. Saunders, LSQR: an algorithm for sparse linear equations and sparse least
 *             squares, ACM Trans. Math. Softw. 8 (1982), 43-71, doi:10.1145/355984.355989; D. C.-L. Fong,
 *             M. A. Saunders, LSMR: an iterative algorithm for sparse least-squares problems, SIAM J. Sci.
 *             Comput. 33 (2011), 2950-2971, doi:10.1137/10079687X
 */
#include "krylov/workspace.h"
#include <math.h>

/* Places among the scalars of least_squares.cl. */
enum {
    NORM_A2 = STATE_VALUE + 5,
    RHOBAR = STATE_VALUE + 9,
    CBAR = STATE_VALUE + 10,
    LARGEST = STATE_VALUE + 12,
    SMALLEST = STATE_VALUE + 13
};

typedef struct least_squares {
    kryi_workspace W;
    bool lsmr;
    double conlim;      /* 0: none */
    kry_vec *q;         /* A z: rows; the others have a number a column */
    kry_vec *g, *v, *w; /* N'A'u; v; w or h */
    kry_vec *z, *hbar;  /* N v, NULL where that is v; of LSMR, else NULL */
    kry_sum *uu, *vv;   /* u'u, v'v */
    /* A power of two that N is multiplied by, so that the squares of A N v neither overflow nor vanish; 1 but for
     * an A N of extreme numbers, and z is made for it. */
    double unit;
    double least_A; /* a lower bound of ||A N|| */
    int64_t seen;   /* A's updates when those two were found */
    /* ||A N|| as far as this solve knows: at least least_A, and the Frobenius norms of its bidiagonal matrices */
    double norm_A;
    double reported_norm,
        condition; /* kry_result.norm_A and condition: 0 before the first cycle of a solve */
    kryi_kernel *begin, *left, *right, *update;
} least_squares;

/* q := A z */
static kry_status multiply(least_squares *S)
{
    const kry_op *A = S->W.K->A;
    return A->table->apply(A->self, 1, S->z ? S->z : S->v, 0, S->q);
}

/* g := N'A'u, by way of z, which is made of the next v */
static kry_status multiply_transposed(least_squares *S, const kry_vec *u)
{
    kry_status st = KRY_OK;
    const kry_op *A = S->W.K->A, *N = S->W.K->M;

    TRY(kryi_op_transpose(A)(A->self, N ? 1 : S->unit, u, 0, N ? S->z : S->g));
    if (N) TRY(kryi_op_transpose(N)(N->self, S->unit, S->z, 0, S->g));
done:
    return st;
}

/* z := N v, unless that is v */
static kry_status precondition(least_squares *S)
{
    const kry_op *N = S->W.K->M;

    if (N) return N->table->apply(N->self, S->unit, S->v, 0, S->z);
    return S->z ? kry_vec_axpby(S->unit, S->v, 0, S->z) : KRY_OK;
}

/* The stopping test, and unless it `only_tests` the next u. */
static kry_status left(least_squares *S, bool only_tests)
{
    const kryi_poll *poll = &S->W.poll;
    const kryi_scalar target = kryi_scalar_of(poll->dev, S->W.poll.c->goal);
    const kryi_scalar rtol =
        kryi_scalar_of(poll->dev, kryi_stop_gradient(&S->W.K->stopping.criteria));
    const kryi_scalar conlim = kryi_scalar_of(poll->dev, S->conlim);
    const kry_arg rest[] = { ARG(poll->iteration),       ARG(poll->slot),
                             ARG_ACC(poll->dev, target), ARG_ACC(poll->dev, rtol),
                             ARG_ACC(poll->dev, conlim), ARG(poll->step),
                             ARG(poll->state),           ARG(poll->history),
                             ARG(S->q->buffer),          ARG(S->W.poll.c->r->buffer),
                             ARG(S->uu->buffer) };

    return kryi_launch_rows(S->q, S->left, rest, COUNT(rest), only_tests ? NULL : S->uu);
}

static kry_status check_residual(void *self) { return left(self, true); }

/* The next v, and z, of the u that is there. */
static kry_status right(least_squares *S)
{
    kry_status st = KRY_OK;

    TRY(kryi_layout_reduce(S->v->layout, &S->uu, 1));
    TRY(multiply_transposed(S, S->W.poll.c->r));
    const kry_arg rest[] = { ARG(S->uu->buffer), ARG(S->uu->count), ARG(S->W.poll.state),
                             ARG(S->g->buffer),  ARG(S->v->buffer), ARG(S->vv->buffer) };
    TRY(kryi_launch_rows(S->v, S->right, rest, COUNT(rest), S->vv));
    TRY(kryi_layout_reduce(S->v->layout, &S->vv, 1));
    TRY(precondition(S));
done:
    return st;
}

/* x, w and the scalars. */
static kry_status update(least_squares *S)
{
    const kryi_poll *poll = &S->W.poll;
    const kry_vec *x = S->W.poll.c->x, *z = S->z ? S->z : S->v;
    const cl_mem hbar = S->lsmr ? S->hbar->buffer : NULL;
    const kry_arg args[] = { ARG(x->n),          ARG(S->uu->buffer), ARG(S->uu->count),
                             ARG(S->vv->buffer), ARG(S->vv->count),  ARG(poll->state),
                             ARG(poll->step),    ARG(z->buffer),     ARG(S->w->buffer),
                             ARG_VEC(x),         ARG(hbar) };
    return kryi_launch(poll->dev, S->update, kryi_groups_for(poll->dev, x->type, x->n), args,
                       COUNT(args) - !S->lsmr);
}

static kry_status begin(least_squares *S, kryi_cycle *c)
{
    kry_status st = KRY_OK;
    const kryi_poll *poll = &S->W.poll;

    TRY(kryi_poll_begin(&S->W.poll, c, check_residual, S));
    TRY(kry_vec_fill(S->v, 0));
    if (S->hbar) TRY(kry_vec_fill(S->hbar, 0));
    TRY(kry_vec_dot_sum(c->r, c->r, S->uu));
    TRY(right(S));
    TRY(kry_vec_copy(S->z ? S->z : S->v, S->w));
    const kry_arg args[] = { ARG(S->uu->buffer), ARG(S->uu->count), ARG(S->vv->buffer),
                             ARG(S->vv->count), ARG(poll->step) };
    TRY(kryi_launch(poll->dev, S->begin, 1, args, COUNT(args)));
    TRY(multiply(S));
done:
    return st;
}

/* ||A N|| and the condition number, the largest that a cycle of this solve has seen. Waits. */
static kry_status read_estimates(least_squares *S)
{
    kry_status st = KRY_OK;
    kry_device *dev = S->W.poll.dev;
    const kry_type acc = kryi_acc_type(dev);
    double room[STATE_SIZE], v[STATE_SIZE];

    TRY(kryi_buffer_read(dev, S->W.poll.state, 0, STATE_SIZE * kryi_acc_size(dev), room));
    for (int i = 0; i < STATE_SIZE; i++) v[i] = kryi_number_at(acc, room, i);
    S->norm_A = fmax(S->norm_A, sqrt(v[NORM_A2]));
    S->reported_norm = S->norm_A / S->unit;
    if (v[NORM_A2] == 0) return KRY_OK; /* no step */
    const double last = v[CBAR] * v[RHOBAR],
                 least = v[SMALLEST] < 0 ? last : fmin(v[SMALLEST], last);
    S->condition = fmax(S->condition, fmax(v[LARGEST], last) / least);
done:
    return st;
}

static void report(const void *self, kry_result *res)
{
    const least_squares *S = self;
    res->norm_A = S->reported_norm, res->condition = S->condition;
}

static kry_status cycle(void *self, kryi_cycle *c)
{
    kry_status st = KRY_OK;
    least_squares *S = self;
    bool go;

    TRY(begin(S, c));
    for (;;) {
        TRY(kryi_poll_next(&S->W.poll, &go));
        if (!go) break;
        TRY(left(S, false));
        TRY(right(S));
        TRY(update(S));
        TRY(multiply(S));
    }
    TRY(read_estimates(S));
done:
    return st;
}

/* ||g|| of g = N'A'u where u = r / norm, for A'r of a small r may flush to zero. Waits. */
static kry_status measure(least_squares *S, const kry_vec *r, double norm, double *size)
{
    kry_status st = KRY_OK;

    TRY(kry_vec_axpby(1 / norm, r, 0, S->q));
    TRY(multiply_transposed(S, S->q));
    TRY(kry_vec_norm2(S->g, size));
done:
    return st;
}

/* ||g|| for a random u. A copy of A', if it needs one, is made here, not in a solve. Waits. */
static kry_status measure_random(least_squares *S, double *size)
{
    kry_status st = KRY_OK;
    double norm;

    TRY(kryi_vec_fill_random(0, S->q));
    TRY(kry_vec_norm2(S->q, &norm));
    TRY(measure(S, S->q, norm, size));
done:
    return st;
}

/* Find out how large A N is. Waits. */
static kry_status prepare(void *self)
{
    kry_status st = KRY_OK;
    least_squares *S = self;

    S->unit = 1, S->least_A = 0, S->seen = S->W.K->A->updates;
    if (S->q->n == 0 || S->v->n == 0) return KRY_OK;
    TRY(measure_random(S, &S->least_A));
    S->unit = kryi_krylov_unit(S->v->type, S->least_A);
    if (S->unit == 1) return KRY_OK;
    if (!S->z) TRY(kryi_workspace_vectors(&S->W, 1, VECTORS_AT(&S->z), 1));
    TRY(measure_random(S, &S->least_A));
done:
    return st;
}

static kry_status measure_gradient(void *self, const kry_vec *r, double norm, double *gradient)
{
    kry_status st = KRY_OK;
    least_squares *S = self;
    double size = 0;

    if (S->seen != S->W.K->A->updates) TRY(prepare(S));
    if (S->W.K->stopping.restarts < 0) S->norm_A = S->least_A, S->reported_norm = S->condition = 0;
    if (S->v->n > 0 && norm > 0) TRY(measure(S, r, norm, &size));
    *gradient = size == 0 ? 0 : size / S->norm_A; /* a sum of squares may flush to zero, too */
done:
    return st;
}

static kry_status allocate(least_squares *S)
{
    kry_status st = KRY_OK;
    kryi_workspace *W = &S->W;

    TRY(kryi_workspace_vectors(W, 1, VECTORS_AT(&S->q), 1));
    W->n = S->W.K->A->shape.cols;
    TRY(kryi_workspace_vectors(W, 1, VECTORS_AT(&S->g, &S->v, &S->w), 3));
    if (S->W.K->M) TRY(kryi_workspace_vectors(W, 1, VECTORS_AT(&S->z), 1));
    if (S->lsmr) TRY(kryi_workspace_vectors(W, 1, VECTORS_AT(&S->hbar), 1));
    TRY(kryi_workspace_sums(W, 1, SUMS_AT(&S->uu, &S->vv), 2));
done:
    return st;
}

static kry_status check_transpose(const char *who, const kry_op *op)
{
    if (!op || kryi_op_transpose(op)) return KRY_OK;
    return kry_fail(KRY_ERR_UNSUPPORTED,
                    "%s: least squares need products with the transpose, which '%s' does not offer",
                    who, op->table->kind);
}

extern const kryi_method kryi_lsmr_method;

static kry_status create(void *self)
{
    kry_status st = KRY_OK;
    least_squares *S = self;
    kryi_krylov *K = S->W.K;
    const char *const who = K->method->who;
    const bool lsmr = K->method == &kryi_lsmr_method;

    TRY(check_transpose(who, K->A));
    TRY(check_transpose(who, K->M));
    S->lsmr = lsmr, S->unit = 1;
    S->conlim = ((const kry_pcg_params *)K->params)->conlim;
    K->stopping.regular = K->A->shape.rows == K->A->shape.cols && !kryi_op_is_singular(K->A) &&
                          K->A->null_found.parts == 0 && K->A->null_found.empty == 0;
    const kryi_named_kernel kernels[] = { { lsmr ? "lsmr_begin" : "lsqr_begin", &S->begin },
                                          { "bidiagonal_left", &S->left },
                                          { "bidiagonal_right", &S->right },
                                          { lsmr ? "lsmr_update" : "lsqr_update", &S->update } };
    TRY(allocate(S));
    TRY(kryi_kernels_get(K->A->dev, "least_squares", K->A->shape.type, "-DKRY_UNALIGNED", kernels,
                         COUNT(kernels)));
    TRY(prepare(S));
done:
    return st;
}

static double bytes(const void *self)
{
    const least_squares *S = self;
    const kry_op_shape *A = &S->W.K->A->shape;
    const double rows = (double)A->rows, cols = (double)A->cols;
    const double products = kryi_krylov_bytes(S->W.K, 2, 0);

    if (products <= 0) return 0;
    return products + (3 * rows + (S->lsmr ? 10 : 8) * cols) * (double)kry_type_size(A->type);
}

#define METHOD(name)                                                                     \
    {                                                                                    \
        .kind = name, .who = "kry_krylov_create",                                        \
        .matrix = { "an estimate of the condition number",                               \
                    "is above conlim; x is what the larger singular values determine",   \
                    KRY_ILL_CONDITIONED },                                               \
        .takes = KRY_TAKES_RECTANGULAR, .size = sizeof(least_squares), .create = create, \
        .cycle = cycle, .gradient = measure_gradient, .report = report, .bytes = bytes,  \
        .update = prepare                                                                \
    }
const kryi_method kryi_lsqr_method = METHOD("lsqr");
const kryi_method kryi_lsmr_method = METHOD("lsmr");
