/*
 * pcg_columns.c - the recurrences of pcg.c for several columns at once.
 *
 * Storage     3 n numbers for each column: p, q, and r, which belongs to the solver; z with a preconditioner
 * Per step    the matrix once for eight columns, and 13 words of a column; 15 with a diagonal preconditioner
 * Waits       none per step; a column that has stopped is left alone until all have
 */
#include "krylov/pcg.h"
#include <stdlib.h>
#include <string.h>

typedef struct several {
    kry_krylov *K; /* borrowed */
    cl_int columns;
    kry_vec *p, *q, *z; /* n-by-columns; z: NULL without a preconditioner: it is r */
    kry_sum *pq, *rho;  /* column after column */
    kry_look look;
    const kry_vec *d; /* the diagonal that is M; NULL: it is none */
    char step[64];    /* defines */
} several;

typedef struct run {
    several *S;
    kry_cycle *c; /* [columns] */
    kry_vec *x, *r, *z;
} run;

/* ---- launches ---------------------------------------------------------------------------- */

static kry_status launch(const several *S, const char *defines, const char *name, int64_t groups,
                         const kry_arg *args, size_t count)
{
    return kry_run(S->p->dev, "pcg", S->p->type, defines, name, groups, args, count);
}

static int64_t groups_of(const several *S)
{
    return kry_groups_for_sums(S->p->dev, S->p->type, S->p->n);
}

/* sum := x.y of each column, or (PAIRS) x.y and x.x */
static kry_status add_up(const several *S, const char *defines, const kry_vec *x, const kry_vec *y,
                         kry_sum *sum)
{
    const kry_arg args[] = { ARG(S->columns), ARG(x->n),      ARG(x->ld),
                             ARG(x->buffer),  ARG(y->buffer), ARG(sum->buffer) };

    sum->count = (cl_int)groups_of(S);
    return launch(S, defines, "pcg_sums", sum->count, args, COUNT(args));
}

/* z := M r and rho := (r.z, r.r) */
static kry_status precondition(run *R)
{
    kry_status st = KRY_OK;
    several *S = R->S;

    if (S->K->M) TRY(kry_op_apply(S->K->M, 1, R->r, 0, R->z));
    TRY(add_up(S, "-DCOLUMNS", R->r, R->z, S->rho));
done:
    return st;
}

enum { SCALARS = 8 };
static void direction_args(const several *S, const kry_turn *turn, kry_arg args[SCALARS])
{
    const kry_arg all[SCALARS] = {
        ARG(S->columns),    ARG(turn->iteration), ARG(turn->slot),    ARG(S->rho->buffer),
        ARG(S->rho->count), ARG(S->look.step),    ARG(S->look.state), ARG(S->look.history),
    };
    memcpy(args, all, sizeof all);
}

/* p := z + beta p,  q := A p,  p.q */
static kry_status direct(run *R, const kry_turn *turn)
{
    kry_status st = KRY_OK;
    several *S = R->S;
    kry_arg args[SCALARS + 4];
    const kry_arg rest[] = { ARG(S->p->n), ARG(S->p->ld), ARG(R->z->buffer), ARG(S->p->buffer) };

    direction_args(S, turn, args);
    memcpy(args + SCALARS, rest, sizeof rest);
    TRY(launch(S, "-DCOLUMNS", "pcg_directions", groups_of(S), args, COUNT(args)));
    TRY(kry_op_apply(S->K->A, 1, S->p, 0, S->q));
    TRY(add_up(S, "-DCOLUMNS -DPRODUCTS", S->p, S->q, S->pq));
done:
    return st;
}

/* alpha := rho / p.q,  x += alpha p,  r -= alpha q,  z := M r,  rho := (r.z, r.r) */
static kry_status step(run *R)
{
    kry_status st = KRY_OK;
    several *S = R->S;
    const int width = kry_vector_width(R->x->dev, R->x->type);
    const bool aligned = R->x->first % width == 0 && R->x->ld % width == 0;
    char defines[sizeof S->step + 24];
    const kry_arg args[] = { ARG(S->columns),     ARG(S->p->n),      ARG(S->p->ld),
                             ARG(S->look.state),  ARG(S->look.step), ARG(S->pq->buffer),
                             ARG(S->pq->count),   ARG(S->p->buffer), ARG(S->q->buffer),
                             ARG_VEC(R->x),       ARG(R->x->ld),     ARG(R->r->buffer),
                             ARG(S->rho->buffer), ARG(R->z->buffer), ARG(R->z->buffer) };
    kry_arg all[COUNT(args)];

    memcpy(all, args, sizeof args);
    if (S->d) all[COUNT(args) - 2] = (kry_arg)ARG(S->d->buffer);
    strcpy(defines, S->step);
    if (!aligned) strcat(defines, " -DKRY_UNALIGNED");
    S->rho->count = (cl_int)groups_of(S);
    TRY(launch(S, defines, "pcg_steps", S->rho->count, all, COUNT(all) - (S->d ? 0 : 2)));
    if (S->K->M && !S->d) TRY(precondition(R));
done:
    return st;
}

/* ---- a cycle ----------------------------------------------------------------------------- */

static kry_status check_residuals(void *self, const kry_turn *turn)
{
    const run *R = self;
    kry_arg args[SCALARS];

    direction_args(R->S, turn, args);
    return launch(R->S, "-DCOLUMNS", "pcg_checks", 1, args, SCALARS);
}

/* The targets of the columns; those that are over have stopped. Waits. */
static kry_status write_targets(run *R)
{
    kry_status st = KRY_OK;
    several *S = R->S;
    kry_device *dev = S->look.dev;
    const kry_type acc = dev->info.fp64 ? KRY_F64 : KRY_F32;
    const size_t bytes = STATE_SIZE * (size_t)S->columns * kry_acc_size(dev);
    void *scalars = NULL;

    TRY(kry_alloc(bytes, 1, &scalars));
    for (int j = 0; j < S->columns; j++) {
        const kry_cycle *c = &R->c[j];
        kry_number_put(acc, scalars, j * STATE_SIZE + STATE_STOP,
                       c->over ? KRY_END_CONVERGED : KRY_END_NONE);
        kry_number_put(acc, scalars, j * STATE_SIZE + STATE_TARGET, c->goal * c->goal);
    }
    TRY(kry_buffer_write(dev, S->look.step, 0, bytes, scalars));
done:
    free(scalars);
    return st;
}

kry_status kry_pcg_columns_cycle(void *self, kry_cycle *c, kry_vec *X, kry_vec *r)
{
    kry_status st = KRY_OK;
    several *S = self;
    run R = { S, c, X, r, S->z ? S->z : r };
    kry_turn turn;
    bool go;

    TRY(kry_vec_fill(S->p, 0.0)); /* beta = 0 must not meet old NaNs */
    TRY(precondition(&R));
    TRY(kry_look_begin(&S->look, c, check_residuals, &R));
    TRY(write_targets(&R));
    for (;;) {
        TRY(kry_look_next(&S->look, c, &turn, &go));
        if (!go) break;
        TRY(direct(&R, &turn));
        TRY(step(&R));
    }
done:
    return st;
}

/* ---- making one -------------------------------------------------------------------------- */

void kry_pcg_columns_destroy(void *self)
{
    several *S = self;

    kry_look_release(&S->look);
    kry_sum_release(&S->rho);
    kry_sum_release(&S->pq);
    kry_vec_release(&S->z);
    kry_vec_release(&S->q);
    kry_vec_release(&S->p);
    free(S);
}

/* Only where a product reads a matrix once for several columns: others have steps of their own that move
 * less. */
static bool gains(const kry_krylov *K)
{
    const kry_pcg *one = K->self;

    return !one->flexible && K->A->table->apply_block &&
           !(K->M && K->M->shape.traits & KRY_VARYING);
}

kry_status kry_pcg_columns_create(kry_krylov *K, int columns, void **self)
{
    kry_status st = KRY_OK;
    kry_device *dev = K->A->dev;
    const kry_type type = K->A->shape.type;
    const int64_t n = K->A->shape.rows;
    several *S = NULL;

    if (!gains(K)) return KRY_ERR_UNSUPPORTED;
    TRY(kry_alloc(1, sizeof *S, &S));
    S->K = K;
    S->columns = columns;
    S->d = kry_pcg_diagonal(K->M);
    strcpy(S->step, S->d ? "-DCOLUMNS -DDIAGONAL" : "-DCOLUMNS");
    TRY(kry_vec_create_columns(dev, type, n, columns, &S->p));
    TRY(kry_vec_create_columns(dev, type, n, columns, &S->q));
    if (K->M) TRY(kry_vec_create_columns(dev, type, n, columns, &S->z));
    TRY(kry_sum_create(dev, columns, &S->pq));
    TRY(kry_sum_create(dev, 2 * columns, &S->rho));
    TRY(kry_look_create_columns(dev, columns, K->judge.stop.check_every, false, &S->look));
    *self = S, S = NULL;
done:
    if (S) kry_pcg_columns_destroy(S);
    return st;
}
