/*
 * gmres.c - GMRES(m) for any square A, with a preconditioner M from the right, and FGMRES(m), where M may be
 * another one in each step. Kernels: cl/krylov/gmres.cl.
 *
 *   u_0 := r / |r|                                             a cycle begins
 *   z := M u_j,  w := A z                                      step j; FGMRES keeps z as z_j
 *   s := V'u_j,  r := V'w                                      V = v_0 ... v_(j-1); the only sums of the step
 *   v_j := (u_j - V s) / alpha                                 the second pass of classical Gram and Schmidt
 *   u_(j+1) := (w - V r) / alpha - v_j h_j                     the first pass for the next vector, nearly normalised
 *   the rotations of column j of the Hessenberg matrix         the residual is known
 *   y := what makes |r - A M U y| least,  x := x + M U y       a cycle ends, after m steps at the latest;
 *                                                              FGMRES: x := x + Z y
 *
 * U y is V T y with a triangular T of the numbers s. The vector that A M multiplies has had one pass, not two, and
 * its norm is known to a few digits: all that is wrong with it lies in the space of V, and is known one step later.
 *
 * Storage     m + 1 vectors of n numbers beside r, with M 2 more; FGMRES 2 m + 1
 * Per step    one product + 2 j + 6 words per unknown (cl/krylov/gmres.cl)
 * Waits       none in a step; at the end of a cycle for the residual
 * Breakdown   A M u_j lies in the space that is there and R is singular: A is, or M
 * Source      Y. Saad, M. H. Schultz, GMRES: a generalized minimal residual algorithm for solving nonsymmetric
 *             linear systems, SIAM J. Sci. Stat. Comput. 7 (1986), 856-869; Y. Saad, A flexible
 *             inner-outer preconditioned GMRES algorithm, SIAM J. Sci. Comput. 14 (1993), 461-469;
 *             two passes, the second delayed: D. Bielich, J. Langou, S. Thomas, K. Swirydowicz, I. Yamazaki,
 *             E. G. Boman, Low-synch Gram-Schmidt with delayed reorthogonalization for Krylov solvers,
 *             Parallel Comput. 112 (2022), 102940
 */
#include "krylov/workspace.h"

enum {
    MOST = 128,
    USUAL = 30,
    LEAST = 4,
    STRIP = KRY_SUM_WIDTH / 2 /* columns that are summed at once */
};

typedef struct gmres {
    kryi_workspace W;
    cl_int m, j; /* steps of a cycle; the one under way */
    bool flexible;
    kry_vec *V, *Z; /* n by m + 1; n by m, FGMRES only */
    kry_vec *z, *t; /* M u_j; V y. NULL without M, and for FGMRES */
    kry_sum *dots;  /* of a strip of columns with u_j and w */
    kryi_kernel *begin, *test, *finish, *update, *rotate, *solve;
    cl_mem scalars; /* 2 m (m + 4) + 9: cl/krylov/gmres.cl says what they are */
} gmres;

/* ---- a step ------------------------------------------------------------------------------------ */

/* column j + 1 of V := A M u_j */
static kry_status multiply(gmres *S)
{
    kry_status st = KRY_OK;
    const kry_op *A = S->W.K->A, *M = S->W.K->M;
    kry_vec u = kryi_vec_column(S->V, S->j), w = kryi_vec_column(S->V, S->j + 1), z_j;
    kry_vec *z = M ? S->z : &u;

    if (S->Z) z_j = kryi_vec_column(S->Z, S->j), z = &z_j;
    if (M)
        TRY(M->table->apply(M->self, 1, &u, 0, z));
    else if (S->Z)
        TRY(kry_vec_copy(&u, z));
    TRY(A->table->apply(A->self, 1, z, 0, &w));
done:
    return st;
}

/* The products of all columns up to w with u_j and w. */
static kry_status project(gmres *S)
{
    kry_status st = KRY_OK;
    kry_sum *sum = S->dots;
    kry_vec both = kryi_vec_column(S->V, S->j);
    const cl_int columns = S->j + 2;

    both.k = 2;
    for (cl_int c = 0; c < columns; c += STRIP) {
        kry_vec strip = kryi_vec_column(S->V, c);
        strip.k = columns - c < STRIP ? columns - c : STRIP;
        const cl_int first = 2 * c, width = 2 * (cl_int)strip.k;
        sum->width = width;
        TRY(kryi_vec_dots(&strip, &both, sum));
        TRY(kryi_layout_reduce(both.layout, &sum, 1));
        TRY(kryi_launch(S->W.poll.dev, S->finish, width,
                        ARGS(ARG(S->m), ARG(first), ARG(width), ARG(sum->count), ARG(sum->buffer),
                             ARG(S->scalars))));
    }
done:
    return st;
}

/* Test the residual of j steps, and find the rotation of the next one. */
static kry_status rotate(gmres *S)
{
    const kryi_poll *poll = &S->W.poll;
    return kryi_launch(poll->dev, S->rotate, 1,
                       ARGS(ARG(S->m), ARG(S->j), ARG(poll->iteration), ARG(poll->slot),
                            ARG_ACC(poll->dev, poll->target2), ARG(poll->state), ARG(poll->history),
                            ARG(S->scalars)));
}

/* v_j and u_(j+1) in the places of u_j and w */
static kry_status update(gmres *S)
{
    const kryi_poll *poll = &S->W.poll;
    const kry_vec *V = S->V;
    const kry_vec u = kryi_vec_column(V, S->j), w = kryi_vec_column(V, S->j + 1);
    return kryi_launch(poll->dev, S->update, kryi_groups_for_sums(poll->dev, u.type, u.n),
                       ARGS(ARG(u.n), ARG(S->m), ARG(S->j), ARG(V->ld), ARG(poll->state),
                            ARG(S->scalars), ARG(V->buffer), ARG_VEC(&u), ARG_VEC(&w)));
}

/* ---- a cycle ----------------------------------------------------------------------------------- */

/* t := [t +] the change of V y */
static kry_status combine(gmres *S, const kry_vec *V, cl_int adds, kry_vec *t)
{
    const kry_vec *const vectors[] = { t };
    kry_device *dev = S->W.poll.dev;
    return kryi_run(dev, "gmres", t->type, kryi_vec_alignment(vectors, 1), "gmres_combine",
                    kryi_groups_for_sums(dev, t->type, t->n),
                    ARGS(ARG(t->n), ARG(S->m), ARG(adds), ARG(V->ld), ARG(S->scalars),
                         ARG(V->buffer), ARG_VEC(t)));
}

/* x := x + M V y of the steps that are complete, less what x has of it already */
static kry_status add_to_x(gmres *S)
{
    kry_status st = KRY_OK;
    const kry_op *M = S->W.K->M;
    kry_vec *x = S->W.poll.c->x;
    const cl_int flexible = S->flexible;

    TRY(kryi_launch(x->dev, S->solve, 1, ARGS(ARG(S->m), ARG(flexible), ARG(S->scalars))));
    if (S->Z || !M) return combine(S, S->Z ? S->Z : S->V, 1, x);
    TRY(combine(S, S->V, 0, S->t));
    TRY(M->table->apply(M->self, 1, S->t, 0, S->z));
    TRY(kry_vec_axpby(1, S->z, 1, x));
done:
    return st;
}

static kry_status check_residual(void *self)
{
    kry_status st = KRY_OK;
    gmres *S = self;
    const kryi_poll *poll = &S->W.poll;

    TRY(kryi_launch(poll->dev, S->test, 1,
                    ARGS(ARG(poll->iteration), ARG(poll->slot), ARG_ACC(poll->dev, poll->target2),
                         ARG(S->scalars), ARG(poll->state), ARG(poll->history))));
    if (S->W.poll.c->progress->shows_x) TRY(add_to_x(S)); /* for the monitor */
done:
    return st;
}

/* The cycle may be over because of its m steps alone, or because of a breakdown behind steps that were of
 * use: then the next one begins from the true residual. */
static kry_status gmres_cycle(void *self, kryi_cycle *c)
{
    kry_status st = KRY_OK;
    gmres *S = self;
    kryi_poll *poll = &S->W.poll;
    const kryi_scalar norm = kryi_scalar_of(poll->dev, c->norm);
    kry_vec v = kryi_vec_column(S->V, 0);
    bool go = true;

    TRY(kry_vec_axpby(1 / c->norm, c->r, 0, &v));
    TRY(kryi_launch(poll->dev, S->begin, 1,
                    ARGS(ARG(S->m), ARG_ACC(poll->dev, norm), ARG(S->scalars))));
    TRY(kryi_poll_begin(poll, c, check_residual, S));
    for (S->j = 0; S->j < S->m; S->j++) {
        TRY(kryi_poll_next(poll, &go));
        if (!go) break;
        TRY(multiply(S));
        TRY(project(S));
        TRY(rotate(S));
        TRY(update(S));
    }
    if (go) TRY(kryi_poll_close(poll));
    TRY(add_to_x(S));
    kryi_progress_retry(c->progress, c->progress->iteration == poll->start, false);
done:
    return st;
}

/* ---- the method -------------------------------------------------------------------------------- */

/* V and what else goes with m steps a cycle. */
static kry_status allocate_vectors(gmres *S, int m)
{
    kry_status st = KRY_OK;

    TRY(kryi_workspace_vectors(&S->W, m + 1, VECTORS_AT(&S->V)));
    if (S->flexible) TRY(kryi_workspace_vectors(&S->W, m, VECTORS_AT(&S->Z)));
    if (S->flexible || !S->W.K->M) return KRY_OK;
    TRY(kryi_workspace_vectors(&S->W, 1, VECTORS_AT(&S->z, &S->t)));
done:
    return st;
}

static kry_status gmres_create(void *self)
{
    kry_status st = KRY_OK;
    gmres *S = self;
    kryi_krylov *K = S->W.K;
    kry_device *dev = K->A->dev;
    int m = K->width ? (int)K->width : USUAL;

    S->flexible = K->method->flexible;
    if (K->first && K->first->shape.traits & KRY_VARYING) S->W.poll.each_iteration = true;
    /* A cycle has the steps that were asked for; else as many as there is memory for, up to the usual number. */
    while ((st = kryi_layout_join(&dev->layout, allocate_vectors(S, m))) == KRY_ERR_MEMORY &&
           !K->width && m / 2 >= LEAST)
        kryi_workspace_clear(&S->W), m /= 2;
    TRY(st);
    K->width = S->m = m;
    const size_t scalars = 2 * (size_t)m * (size_t)(m + 4) + 9;
    const int width = 2 * (m + 1 < STRIP ? m + 1 : STRIP);
    TRY(kryi_workspace_sums(&S->W, width, SUMS_AT(&S->dots)));
    TRY(kryi_workspace_buffer(&S->W, scalars * kryi_acc_size(dev), &S->scalars));
    TRY(kryi_workspace_kernels(
        &S->W, "gmres", "",
        KERNELS_AT({ "gmres_begin", &S->begin }, { "gmres_check", &S->test },
                   { "gmres_finish", &S->finish }, { "gmres_update", &S->update },
                   { "gmres_rotate", &S->rotate }, { "gmres_solve", &S->solve })));
done:
    return st;
}

/* Bytes moved by a step in the middle of a cycle. */
static double gmres_bytes(const void *self)
{
    const gmres *S = self;
    return kryi_krylov_bytes(S->W.K, 1, S->m + 5);
}

#define METHOD(name, how)                                                                         \
    {                                                                                             \
        .kind = name, .who = "kry_krylov_create", .flexible = how, .takes = KRY_TAKES_ANY,        \
        .width = { "m", 0, MOST },                                                                \
        .matrix = { "r_jj",                                                                       \
                    "allows no other step: A and M map the space of the residuals to a "          \
                    "smaller one",                                                                \
                    KRY_BROKE_DOWN },                                                             \
        .size = sizeof(gmres), .create = gmres_create, .cycle = gmres_cycle, .bytes = gmres_bytes \
    }
const kryi_method kryi_gmres_method = METHOD("gmres", KRY_NOT_FLEXIBLE);
const kryi_method kryi_fgmres_method = METHOD("fgmres", KRY_FLEXIBLE);
