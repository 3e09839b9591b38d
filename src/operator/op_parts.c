/*
 * op_parts.c - operators that lie on several devices: an operator on each part, which sees its own
 * rows, behind one table.
 */
#include "operator/op_parts.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct parts_op {
    struct kry_team *team; /* borrowed: the operator holds its device */
    kry_split *split;      /* retained */
    kry_op **local;        /* split->members */
    kry_parts_extra extra;
    char variant[160];
} parts_op;

static parts_op *parts_of(const kry_op *op)
{
    return op->table == &kry_parts_table ? op->self : NULL;
}

const kry_op *kry_op_on_part(const kry_op *op, int rank)
{
    return op ? parts_of(op)->local[rank] : NULL;
}

kry_split *kry_op_split(const kry_op *op) { return parts_of(op)->split; }

int kry_op_parts(const kry_op *op) { return parts_of(op) ? parts_of(op)->split->members : 1; }

const kry_op *kry_op_piece(const kry_op *op, int r)
{
    return parts_of(op) ? parts_of(op)->local[r] : op;
}

/* ---- what every part does ------------------------------------------------------------------ */

typedef struct call {
    parts_op *P;
    bool transposed;
    double alpha, beta;
    const kry_vec *b, *x;
    kry_vec *y;
    kry_result *result;
} call;

static kry_status apply_part(void *user, int rank)
{
    const call *c = user;
    kry_op *A = c->P->local[rank];
    kry_vec x = kry_vec_on_part(c->x, rank), y = kry_vec_on_part(c->y, rank);
    if (c->transposed) return kry_op_apply_transpose(A, c->alpha, &x, c->beta, &y);
    return kry_op_apply(A, c->alpha, &x, c->beta, &y);
}

static kry_status parts_apply(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    call c = { .P = self, .alpha = alpha, .beta = beta, .x = x, .y = y };
    return kry_split_run(c.P->split, apply_part, &c);
}

static kry_status parts_apply_transpose(void *self, double alpha, const kry_vec *x, double beta,
                                        kry_vec *y)
{
    call c = { .P = self, .transposed = true, .alpha = alpha, .beta = beta, .x = x, .y = y };
    return kry_split_run(c.P->split, apply_part, &c);
}

static kry_status residual_part(void *user, int rank)
{
    const call *c = user;
    kry_vec b = kry_vec_on_part(c->b, rank), x = kry_vec_on_part(c->x, rank);
    kry_vec r = kry_vec_on_part(c->y, rank);
    return kry_op_residual(c->P->local[rank], &b, &x, &r);
}

static kry_status parts_residual(void *self, const kry_vec *b, const kry_vec *x, kry_vec *r)
{
    call c = { .P = self, .b = b, .x = x, .y = r };
    return kry_split_run(c.P->split, residual_part, &c);
}

static kry_status diagonal_part(void *user, int rank)
{
    const call *c = user;
    kry_vec d = kry_vec_on_part(c->y, rank);
    return kry_op_diagonal(c->P->local[rank], &d);
}

static kry_status parts_diagonal(void *self, kry_vec *d)
{
    call c = { .P = self, .y = d };
    return kry_split_run(c.P->split, diagonal_part, &c);
}

/* What all parts report is the same but for bytes, which add up. */
static kry_status solve_part(void *user, int rank)
{
    const call *c = user;
    kry_status st;
    kry_vec b = kry_vec_on_part(c->b, rank), x = kry_vec_on_part(c->y, rank);
    kry_result own = { 0 };
    double bytes;

    const kry_op *solver = c->P->local[rank];
    if (!solver->table->solve)
        return kry_fail(KRY_ERR_TYPE, "kry_solve: '%s' is not a solver", solver->table->kind);
    st = solver->table->solve(solver->self, &b, &x, &own);
    if (st < 0) return st;
    bytes = own.bytes;
    kry_status met = kry_layout_combine(b.layout, KRY_ADD, &bytes, 1);
    own.bytes = bytes;
    if (rank == 0) *c->result = own;
    return met < 0 ? met : st;
}

static kry_status parts_solve(void *self, const kry_vec *b, kry_vec *x, kry_result *result)
{
    call c = { .P = self, .b = b, .y = x, .result = result };
    return kry_split_run(c.P->split, solve_part, &c);
}

static kry_status update_part(void *user, int rank)
{
    parts_op *P = user;
    if (P->extra.update) return P->extra.update(P->extra.self, rank, P->local[rank]);
    return kry_op_update(P->local[rank], NULL);
}

static kry_status parts_update(void *self, const void *values)
{
    parts_op *P = self;
    kry_status st = KRY_OK;

    CHECK(!values || P->extra.prepare, KRY_ERR_UNSUPPORTED, "kry_op_update: '%s' takes no values",
          P->local[0]->table->kind);
    if (P->extra.prepare) TRY(P->extra.prepare(P->extra.self, values));
    TRY(kry_split_run(P->split, update_part, P));
done:
    return st;
}

static void parts_describe(void *self, kry_op_info *info)
{
    parts_op *P = self;
    kry_op_info one;

    for (int r = 0; r < P->split->members; r++) {
        kry_op_describe(P->local[r], &one);
        if (r == 0) {
            *info = one;
            continue;
        }
        info->nnz = info->nnz < 0 || one.nnz < 0 ? -1 : info->nnz + one.nnz;
        info->slots += one.slots;
        info->bytes_stored += one.bytes_stored;
        info->bytes_per_apply += one.bytes_per_apply;
        info->bytes_per_direction += one.bytes_per_direction;
        info->bytes_per_step += one.bytes_per_step;
    }
    snprintf(P->variant, sizeof P->variant, "%.90s%son %d of %d devices%s", info->variant,
             *info->variant ? ", " : "", P->split->members, P->team->size,
             P->split->members < P->team->size ? ": too small to gain from more" : "");
    info->variant = P->variant;
}

static void parts_destroy(void *self)
{
    parts_op *P = self;
    if (!P) return;
    for (int r = 0; P->local && r < P->split->members; r++) kry_op_release(&P->local[r]);
    if (P->extra.destroy) P->extra.destroy(P->extra.self);
    free(P->local);
    kry_split_release(&P->split);
    free(P);
}

/* One table whatever the parts offer: their own doors tell what they do not. */
const kry_op_table kry_parts_table = {
    .struct_size = sizeof(kry_op_table),
    .kind = "parts",
    .apply = parts_apply,
    .residual = parts_residual,
    .apply_transpose = parts_apply_transpose,
    .diagonal = parts_diagonal,
    .update = parts_update,
    .solve = parts_solve,
    .describe = parts_describe,
    .destroy = parts_destroy,
};

bool kry_op_in_parts(const kry_op *op) { return op && op->table == &kry_parts_table; }

/* ---- making one ---------------------------------------------------------------------------- */

typedef struct making {
    parts_op *P;
    kry_make_part *make;
    const void *user;
} making;

static kry_status make_on_part(void *user, int rank)
{
    const making *m = user;
    return m->make(m->user, rank, &m->P->local[rank]);
}

kry_status kry_parts_create(kry_device *team, kry_split *split, const kry_parts_extra *extra,
                            kry_make_part *make, const void *user, kry_op **op)
{
    kry_status st = KRY_OK;
    parts_op *P = NULL;
    making m = { .make = make, .user = user };

    *op = NULL;
    TRY(kry_alloc(1, sizeof *P, &P));
    m.P = P;
    P->team = team->team;
    P->split = kry_split_retain(split);
    TRY(kry_alloc((size_t)split->members, sizeof *P->local, &P->local));
    TRY(kry_split_run(split, make_on_part, &m));
    kry_op_shape shape = P->local[0]->shape;
    shape.rows = shape.cols = split->n;
    TRY(kry_op_create(team, &kry_parts_table, P, &shape, op));
    if (extra) P->extra = *extra;
    P = NULL;
done:
    parts_destroy(P);
    return st;
}

kry_status kry_parts_like(const kry_op *A, kry_make_part *make, const void *user, kry_op **op)
{
    *op = NULL;
    if (!kry_op_in_parts(A))
        return kry_fail(KRY_ERR_UNSUPPORTED, "'%s' was not made on several devices by kry",
                        A->table->kind);
    return kry_parts_create(A->dev, parts_of(A)->split, NULL, make, user, op);
}

kry_status kry_parts_check(const char *who, const kry_op *A, const kry_op *B)
{
    if (!B || (kry_op_in_parts(B) && B->dev == A->dev)) return KRY_OK;
    return kry_fail(KRY_ERR_ARGUMENT, "%s: '%s' does not lie on the same devices as '%s'", who,
                    B->table->kind, A->table->kind);
}

typedef struct precond_args {
    const kry_op *A;
    kry_precond_of_part *make;
    const void *params;
} precond_args;

static kry_status make_precond(const void *user, int rank, kry_op **local)
{
    const precond_args *a = user;
    return a->make(kry_op_on_part(a->A, rank), a->params, local);
}

kry_status kry_parts_precond(const kry_op *A, kry_precond_of_part *make, const void *params,
                             kry_op **M)
{
    const precond_args a = { A, make, params };
    return kry_parts_like(A, make_precond, &a, M);
}
