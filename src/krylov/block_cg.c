/*
 * block_cg.c - block conjugate gradients: k right-hand sides that search one space of all their directions.
 * Kernels: cl/krylov/block_cg.cl, cl/vector/gram.cl. The k-by-k matrices stay on the device.
 *
 *   Q C := R,  Y := M Q,  Q'Y = I,  P := Y                         a cycle begins
 *   T := A P,  alpha := (P'T)^-1,  X += P alpha C
 *   W := Q - T alpha,  Y := M W                                    the residuals are W C
 *   Q rho := W with Q'M Q = I,  Y := M Q,  C := rho C,  P := Y + P rho'
 *
 * Q is found by pivoted Cholesky of W'Y: a column that depends on others is dropped, which leaves a zero column
 * in Q and P. So nothing is divided by a block of residuals, which becomes singular as they shrink. The first Q
 * is found twice over, for the columns of R may be all but dependent.
 *
 * Storage     P, T, Q of n-by-k; with M also Y
 * Per step    one product with k columns + 13 words of each column, 16 with M
 * Waits       none: the scalars live on the device
 * Breakdown   P'T without a positive pivot, or with a negative one: A is not positive definite; W'Y: M is not
 * Source      D. P. O'Leary, The block conjugate gradient algorithm and related methods, Linear Algebra Appl. 29
 *             (1980), 293-322; with the orthogonal blocks of A. A. Dubrulle, Retooling the method of block
 *             conjugate gradients, ETNA 12 (2001), 216-233
 */
#include "krylov/workspace.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Small matrices that are kept, the fifth of which is C, and which columns (cl/krylov/block_cg.cl). */
enum { SMALL = 5, C_OF_R = 4, MOST = 16 };
enum { TESTS = 1, TURNS = 2 };

typedef struct block_cg {
    kryi_workspace W;
    kry_vec *P, *T, *Q, *Y;      /* n-by-k; Y: NULL without M, it is Q */
    cl_mem part, inner, squares; /* partial sums of a k-by-k product; W'Y or P'T; W'W, with M */
    cl_mem small;                /* small matrices, and whether there is anything to do */
    cl_int shares;               /* of the rows, each of which leaves partial sums */
    kryi_kernel *orthogonalise, *solve, *update, *update_unaligned, *turn;
} block_cg;

/* total := X'Y */
static kry_status multiply(block_cg *S, const kry_vec *X, const kry_vec *Y, cl_mem total)
{
    kry_status st = KRY_OK;
    const int k = S->W.columns;

    TRY(kryi_gram_part(X, Y, S->small, SMALL * k * k, S->shares, S->part));
    TRY(kryi_gram_total(X, S->shares, S->part, total));
done:
    return st;
}

/* Y := M W, W'Y and W'W, for the W that stands in Q. */
static kry_status precondition(block_cg *S)
{
    kry_status st = KRY_OK;
    const kry_op *M = S->W.K->M;

    TRY(kryi_null_space_project(&S->W.K->residual.null, S->Q));
    if (M) TRY(kryi_op_run_apply(M, 1, S->Q, 0, S->Y));
    TRY(multiply(S, S->Q, M ? S->Y : S->Q, S->inner));
    if (M) TRY(multiply(S, S->Q, S->Q, S->squares));
done:
    return st;
}

static kry_status orthogonalise(block_cg *S, cl_int what)
{
    const kryi_poll *poll = &S->W.poll;
    const cl_mem squares = S->W.K->M ? S->squares : S->inner;

    return kryi_launch(poll->dev, S->orthogonalise, 1,
                       ARGS(ARG(what), ARG(poll->iteration), ARG(poll->slot), ARG(S->inner),
                            ARG(squares), ARG(poll->state), ARG(poll->history), ARG(S->small)));
}

static kry_status check_residual(void *self) { return orthogonalise(self, TESTS); }

/* W becomes Q; unless this is `first`, and will be done once more, P the next direction. */
static kry_status turn_block(block_cg *S, cl_int first)
{
    const kry_vec *Q = S->Q;
    const cl_mem Y = S->Y ? S->Y->buffer : NULL;

    return kryi_launch(Q->dev, S->turn, kryi_groups_for(Q->dev, Q->type, Q->n),
                       ARGS(ARG(Q->n), ARG(Q->ld), ARG(first), ARG(S->small), ARG(Q->buffer),
                            ARG(Y), ARG(S->P->buffer)));
}

/* T := A P,  alpha,  X += P alpha C,  W := Q - T alpha */
static kry_status step(block_cg *S)
{
    kry_status st = KRY_OK;
    kry_device *dev = S->W.poll.dev;
    const kry_vec *X = kryi_cycle_x(S->W.poll.c), *Q = S->Q;
    const kry_arg solve[] = { ARG(S->inner), ARG(S->W.poll.state), ARG(S->small) };
    const kry_arg update[] = { ARG(Q->n),         ARG(Q->ld), ARG(S->small), ARG(S->P->buffer),
                               ARG(S->T->buffer), ARG_VEC(X), ARG(X->ld),    ARG(Q->buffer) };

    TRY(kryi_op_run_apply(S->W.K->A, 1, S->P, 0, S->T));
    TRY(multiply(S, S->P, S->T, S->inner));
    TRY(kryi_launch(dev, S->solve, 1, solve, COUNT(solve)));
    TRY(kryi_launch(dev, kryi_vec_aligned(X) ? S->update : S->update_unaligned,
                    kryi_groups_for(dev, Q->type, Q->n), update, COUNT(update)));
    TRY(precondition(S));
done:
    return st;
}

/* C = I for the columns that are not over, whose residuals are W. Waits. */
static kry_status write_identity(block_cg *S)
{
    kry_status st = KRY_OK;
    const kry_type acc = kryi_acc_type(S->W.poll.dev);
    const int k = S->W.columns, square = k * k, count = SMALL * square + 1;
    void *small = NULL;

    TRY(kryi_alloc((size_t)count, kry_type_size(acc), &small));
    for (int j = 0; j < k; j++) {
        kry_vec w = kryi_vec_column(S->Q, j);
        if (S->W.poll.c[j].over) TRY(kry_vec_fill(&w, 0));
        kryi_number_put(acc, small, C_OF_R * square + j * k + j, S->W.poll.c[j].over ? 0 : 1);
    }
    kryi_number_put(acc, small, SMALL * square, 1);
    TRY(kryi_buffer_write(S->W.poll.dev, S->small, 0, (size_t)count * kry_type_size(acc), small));
done:
    free(small);
    return st;
}

static kry_status begin(block_cg *S, kryi_cycle *c)
{
    kry_status st = KRY_OK;

    TRY(kryi_poll_begin(&S->W.poll, c, check_residual, S));
    TRY(kry_vec_copy(kryi_cycle_r(c), S->Q));
    TRY(kry_vec_fill(S->P, 0)); /* P rho' must not meet old NaNs */
    TRY(write_identity(S));
    TRY(precondition(S));
    TRY(orthogonalise(S, TURNS));
    TRY(turn_block(S, 1));
    TRY(precondition(S));
done:
    return st;
}

static kry_status block_cg_cycle(void *self, kryi_cycle *c)
{
    kry_status st = KRY_OK;
    block_cg *S = self;
    bool go;

    TRY(begin(S, c));
    for (;;) {
        TRY(kryi_poll_next(&S->W.poll, &go));
        if (!go) break;
        TRY(orthogonalise(S, TESTS | TURNS));
        TRY(turn_block(S, 0));
        TRY(step(S));
    }
done:
    return st;
}

/* ---- the method ------------------------------------------------------------------------------ */

static kry_status allocate(block_cg *S)
{
    kry_status st = KRY_OK;
    kryi_workspace *W = &S->W;
    const kryi_krylov *K = W->K;
    const kry_device *dev = K->A->dev;
    const int k = W->columns;
    const size_t square = (size_t)k * (size_t)k, acc = kryi_acc_size(dev);

    TRY(kryi_workspace_vectors(W, k, VECTORS_AT(&S->P, &S->T, &S->Q)));
    if (K->M) TRY(kryi_workspace_vectors(W, k, VECTORS_AT(&S->Y)));
    S->shares = kryi_gram_shares(dev, K->A->shape.type, W->n, k, k);
    TRY(kryi_workspace_buffer(W, (uint64_t)S->shares * square * sizeof(kryi_partial), &S->part));
    TRY(kryi_workspace_buffer(W, square * sizeof(kryi_partial), &S->inner));
    TRY(kryi_workspace_buffer(W, square * sizeof(kryi_partial), &S->squares));
    TRY(kryi_workspace_buffer(W, (SMALL * square + 1) * acc, &S->small));
done:
    return st;
}

static kry_status block_cg_create(void *self)
{
    kry_status st = KRY_OK;
    block_cg *S = self;
    const kry_op *A = S->W.K->A;
    kry_device *dev = A->dev;
    const kryi_named_kernel kernels[] = { { "block_cg_solve", &S->solve },
                                          { "block_cg_orthogonalise", &S->orthogonalise },
                                          { "block_cg_update", &S->update },
                                          { "block_cg_turn", &S->turn } };
    char defines[64];

    CHECK(
        kryi_layout_size(&dev->layout) == 1 && !dev->layout.reproducible, KRY_ERR_UNSUPPORTED,
        "kry_solver_create: method=block-cg runs on one device, without reproducible sums, for up "
        "to %d columns at once",
        (int)MOST);
    TRY(allocate(S));
    snprintf(defines, sizeof defines, "-DWIDTH=%d", S->W.columns);
    TRY(kryi_kernels_get(dev, "block_cg", A->shape.type, defines, kernels, COUNT(kernels)));
    strcat(defines, " -DKRY_UNALIGNED");
    TRY(kryi_kernel_get(dev, "block_cg", A->shape.type, defines, "block_cg_update",
                        &S->update_unaligned));
done:
    return st;
}

/* Bytes moved by an iteration of one column. */
static double block_cg_bytes(const void *self)
{
    const block_cg *S = self;
    return kryi_krylov_bytes(S->W.K, 1, S->W.K->M ? 16 : 13);
}

const kryi_method kryi_block_cg_method = {
    .kind = "block-cg",
    .who = "kry_solver_create",
    .takes = KRY_TAKES_DEFINITE,
    .precond = KRY_M_IS_INDEFINITE("W'M W"),
    .no_precond = { "W'W", "is not positive", KRY_INDEFINITE_MATRIX },
    .matrix = KRY_A_IS_INDEFINITE("P'A P"),
    .size = sizeof(block_cg),
    .create = block_cg_create,
    .cycle = block_cg_cycle,
    .bytes = block_cg_bytes,
    .most_columns = MOST,
};
