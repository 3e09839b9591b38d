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
enum { NORM_A2 = STATE_VALUE + 5, RHOBAR = NORM_A2 + 4, CBAR, LARGEST = CBAR + 2, SMALLEST };

typedef struct least_squares {
    kryi_workspace W;
    bool lsmr;
    kryi_scalar conlim; /* 0: none */
    kry_vec *q;         /* A z: rows; the others have a number a column */
    kry_vec *g, *v, *w; /* N'A'u; v; w or h */
    kry_vec *z, *hbar;  /* N v, NULL where that is v; of LSMR, else NULL */
    kry_sum *uu, *vv;   /* u'u, v'v */
    /* N is multiplied by this unit, which kryi_krylov_unit finds for A N; z is made for one other than 1. */
    double unit;
    double least_A; /* a lower bound of ||A N|| */
    int64_t seen;   /* A's updates when those two were found */
    /* ||A N|| as far as this solve knows: at least least_A, and the Frobenius norms of its bidiagonal matrices */
    double norm_A;
    kryi_kernel *begin, *left, *right, *update;
} least_squares;

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

/* The stopping test, and unless it `only_tests` the next u. */
static kry_status left(least_squares *S, bool only_tests)
{
    const kryi_poll *poll = &S->W.poll;
    const kryi_scalar target = kryi_scalar_of(poll->dev, poll->c->goal);
    const double gradient = kryi_stop_gradient(&S->W.K->stopping.criteria);
    const kryi_scalar rtol = kryi_scalar_of(poll->dev, gradient);

    return kryi_launch_rows(S->q, S->left,
                            ARGS(ARG(poll->iteration), ARG(poll->slot), ARG_ACC(poll->dev, target),
                                 ARG_ACC(poll->dev, rtol), ARG_ACC(poll->dev, S->conlim),
                                 ARG(poll->step), ARG(poll->state), ARG(poll->history),
                                 ARG(S->q->buffer), ARG(poll->c->r->buffer), ARG(S->uu->buffer)),
                            only_tests ? NULL : S->uu);
}

static kry_status check_residual(void *self) { return left(self, true); }

/* The next v, and z := N v unless that is v, of the u that is there. */
static kry_status right(least_squares *S)
{
    kry_status st = KRY_OK;
    const kry_op *N = S->W.K->M;

    TRY(kryi_layout_reduce(S->v->layout, &S->uu, 1));
    TRY(multiply_transposed(S, S->W.poll.c->r));
    TRY(kryi_launch_rows(S->v, S->right,
                         ARGS(ARG_SUM(S->uu), ARG(S->W.poll.state), ARG(S->g->buffer),
                              ARG(S->v->buffer), ARG(S->vv->buffer)),
                         S->vv));
    TRY(kryi_layout_reduce(S->v->layout, &S->vv, 1));
    if (N) TRY(N->table->apply(N->self, S->unit, S->v, 0, S->z));
    if (!N && S->z) TRY(kry_vec_axpby(S->unit, S->v, 0, S->z));
done:
    return st;
}

/* x, w and the scalars; LSQR has no hbar. */
static kry_status update(least_squares *S)
{
    const kry_vec *x = S->W.poll.c->x, *z = S->z ? S->z : S->v;
    const cl_mem hbar = S->lsmr ? S->hbar->buffer : NULL;
    return kryi_launch(x->dev, S->update, kryi_groups_for(x->dev, x->type, x->n),
                       ARGS(ARG(x->n), ARG_SUM(S->uu), ARG_SUM(S->vv), ARG(S->W.poll.state),
                            ARG(S->W.poll.step), ARG(z->buffer), ARG(S->w->buffer), ARG_VEC(x),
                            ARG(hbar)) -
                           !S->lsmr);
}

/* ||A N|| and the condition number, the largest that a cycle of this solve has seen. Waits. */
static kry_status read_estimates(least_squares *S)
{
    kry_status st = KRY_OK;
    kryi_stopping *s = &S->W.K->stopping;
    double v[STATE_SIZE];

    TRY(kryi_poll_read(&S->W.poll, S->W.poll.state, v));
    S->norm_A = fmax(S->norm_A, sqrt(v[NORM_A2]));
    s->found_norm_A = S->norm_A / S->unit;
    if (v[NORM_A2] == 0) return KRY_OK; /* no step */
    const double last = v[CBAR] * v[RHOBAR],
                 least = v[SMALLEST] < 0 ? last : fmin(v[SMALLEST], last);
    s->condition = fmax(s->condition, fmax(v[LARGEST], last) / least);
done:
    return st;
}

static kry_status cycle(void *self, kryi_cycle *c)
{
    kry_status st = KRY_OK;
    least_squares *S = self;
    kryi_poll *poll = &S->W.poll;
    const kry_op *A = S->W.K->A;
    bool go;

    TRY(kryi_poll_begin(poll, c, check_residual, S));
    TRY(kry_vec_fill(S->v, 0));
    if (S->hbar) TRY(kry_vec_fill(S->hbar, 0));
    TRY(kry_vec_dot_sum(c->r, c->r, S->uu));
    TRY(right(S));
    TRY(kry_vec_copy(S->z ? S->z : S->v, S->w));
    TRY(kryi_launch(poll->dev, S->begin, 1, ARGS(ARG_SUM(S->uu), ARG_SUM(S->vv), ARG(poll->step))));
    for (;;) {
        TRY(A->table->apply(A->self, 1, S->z ? S->z : S->v, 0, S->q));
        TRY(kryi_poll_next(poll, &go));
        if (!go) break;
        TRY(left(S, false));
        TRY(right(S));
        TRY(update(S));
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

/* Find out how large A N is, by ||g|| for a random u. A copy of A', if it needs one, is made here, not in a solve. Waits. */
static kry_status prepare(void *self)
{
    kry_status st = KRY_OK;
    least_squares *S = self;
    double norm;

    S->unit = 1, S->least_A = 0, S->seen = S->W.K->A->updates;
    if (S->q->n == 0 || S->v->n == 0) return KRY_OK;
    for (;;) { /* once more in a unit other than 1 */
        TRY(kryi_vec_fill_random(0, S->q));
        TRY(kry_vec_norm2(S->q, &norm));
        TRY(measure(S, S->q, norm, &S->least_A));
        if (S->unit != 1 || (S->unit = kryi_krylov_unit(S->v->type, S->least_A)) == 1) break;
        if (!S->z) TRY(kryi_workspace_vectors(&S->W, 1, VECTORS_AT(&S->z)));
    }
done:
    return st;
}

static kry_status measure_gradient(void *self, const kry_vec *r, double norm, double *gradient)
{
    kry_status st = KRY_OK;
    least_squares *S = self;
    double size = 0;

    if (S->seen != S->W.K->A->updates) TRY(prepare(S));
    if (S->W.K->stopping.restarts < 0) S->norm_A = S->least_A;
    if (S->v->n > 0 && norm > 0) TRY(measure(S, r, norm, &size));
    *gradient = size == 0 ? 0 : size / S->norm_A; /* a sum of squares may flush to zero, too */
done:
    return st;
}

extern const kryi_method kryi_lsmr_method;

static kry_status create(void *self)
{
    kry_status st = KRY_OK;
    least_squares *S = self;
    kryi_workspace *W = &S->W;
    kryi_krylov *K = W->K;
    const kry_op *const ops[] = { K->A, K->M };

    for (size_t i = 0; i < COUNT(ops); i++)
        CHECK(!ops[i] || kryi_op_transpose(ops[i]), KRY_ERR_UNSUPPORTED,
              "%s: least squares need products with the transpose, which '%s' does not offer",
              K->method->who, ops[i]->table->kind);
    S->lsmr = K->method == &kryi_lsmr_method, S->unit = 1;
    S->conlim = kryi_scalar_of(K->A->dev, ((const kry_pcg_params *)K->params)->conlim);
    K->stopping.regular = K->A->shape.rows == K->A->shape.cols && !kryi_op_is_singular(K->A) &&
                          K->A->null_found.parts == 0 && K->A->null_found.empty == 0;
    TRY(kryi_workspace_vectors(W, 1, VECTORS_AT(&S->q)));
    W->n = K->A->shape.cols;
    TRY(kryi_workspace_vectors(W, 1, VECTORS_AT(&S->g, &S->v, &S->w)));
    if (K->M) TRY(kryi_workspace_vectors(W, 1, VECTORS_AT(&S->z)));
    if (S->lsmr) TRY(kryi_workspace_vectors(W, 1, VECTORS_AT(&S->hbar)));
    TRY(kryi_workspace_sums(W, 1, SUMS_AT(&S->uu, &S->vv)));
    TRY(kryi_workspace_kernels(
        W, "least_squares", "-DKRY_UNALIGNED",
        KERNELS_AT({ S->lsmr ? "lsmr_begin" : "lsqr_begin", &S->begin },
                   { "bidiagonal_left", &S->left }, { "bidiagonal_right", &S->right },
                   { S->lsmr ? "lsmr_update" : "lsqr_update", &S->update })));
    TRY(prepare(S));
done:
    return st;
}

static double bytes(const void *self)
{
    const least_squares *S = self;
    const double column = (double)S->v->n * (double)kry_type_size(S->v->type);
    const double rest = kryi_krylov_bytes(S->W.K, 2, 3);

    return rest > 0 ? rest + (S->lsmr ? 10 : 8) * column : 0;
}

#define METHOD(name)                                                                     \
    {                                                                                    \
        .kind = name, .who = "kry_krylov_create", .ignores_null_space = true,            \
        .matrix = { "an estimate of the condition number",                               \
                    "is above conlim; x is what the larger singular values determine",   \
                    KRY_ILL_CONDITIONED },                                               \
        .takes = KRY_TAKES_RECTANGULAR, .size = sizeof(least_squares), .create = create, \
        .cycle = cycle, .gradient = measure_gradient, .bytes = bytes, .update = prepare  \
    }
const kryi_method kryi_lsqr_method = METHOD("lsqr");
const kryi_method kryi_lsmr_method = METHOD("lsmr");
