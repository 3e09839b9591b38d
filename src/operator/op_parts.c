/*
 * op_parts.c - operators on a team of devices: an operator on each part, which sees its own rows,
 * behind one table.
 */
#include "operator/op_parts.h"
#include "team/boxes.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct parts_op {
    kry_device *dev;   /* borrowed: the operator holds it */
    kryi_split *split; /* retained */
    kry_op **local;    /* split->members */
    kryi_parts_extra extra;
    char variant[480];
} parts_op;

static parts_op *parts_of(const kry_op *op)
{
    return op->table == &kryi_parts_table ? op->self : NULL;
}

const kry_op *kryi_op_on_part(const kry_op *op, int rank)
{
    return op ? parts_of(op)->local[rank] : NULL;
}

kryi_split *kryi_op_split(const kry_op *op) { return parts_of(op)->split; }

int kry_op_parts(const kry_op *op)
{
    if (!op) return 0;
    return parts_of(op) ? parts_of(op)->split->members : 1;
}

kryi_here kryi_op_here(const kry_op *op)
{
    const kryi_split *s = parts_of(op) ? parts_of(op)->split : NULL;
    return s ? (kryi_here){ s->begin, s->end } : (kryi_here){ 0, 1 };
}

const kry_op *kryi_op_first(const kry_op *op) { return kryi_op_piece(op, kryi_op_here(op).begin); }
bool kryi_op_on_ranks(const kry_op *op) { return kry_team_is_ranks(op->dev); }

const kry_op *kryi_op_piece(const kry_op *op, int r)
{
    return parts_of(op) ? parts_of(op)->local[r] : op;
}

/* ---- the same call on every part ----------------------------------------------------------- */

typedef struct run {
    const parts_op *P;
    const kryi_call *all;
    kryi_call_here *call;
} run;

static kry_status call_on_part(void *user, int rank)
{
    const run *r = user;
    kryi_call here = *r->all;
    kry_vec b, x, y;

    here.A = r->P->local[rank];
    if (here.b) b = kryi_vec_on_part(here.b, rank), here.b = &b;
    if (here.x) x = kryi_vec_on_part(here.x, rank), here.x = &x;
    if (here.y) y = kryi_vec_on_part(here.y, rank), here.y = &y;
    return r->call(&here);
}

/* who: the public function */
static kry_status call_on_parts(const parts_op *P, const char *who, const kryi_call *all,
                                kryi_call_here *call)
{
    kryi_team_enter(P->dev, who, P->split);
    return kryi_team_leave(
        P->dev, kryi_team_run(P->dev->team, P->split, call_on_part, &(run){ P, all, call }));
}

kry_status kryi_op_call(const kryi_call *all, kryi_call_here *call)
{
    return parts_of(all->A) ? call_on_parts(parts_of(all->A), "a call on all ranks", all, call)
                            : call(all);
}

/* ---- the table ----------------------------------------------------------------------------- */

static kry_status apply_here(const kryi_call *c)
{
    return kry_op_apply(c->A, c->alpha, c->x, c->beta, c->y);
}

static kry_status parts_apply(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    return call_on_parts(self, "kry_op_apply",
                         &(kryi_call){ .alpha = alpha, .beta = beta, .x = x, .y = y }, apply_here);
}

static kry_status apply_transpose_here(const kryi_call *c)
{
    return kry_op_apply_transpose(c->A, c->alpha, c->x, c->beta, c->y);
}

static kry_status parts_apply_transpose(void *self, double alpha, const kry_vec *x, double beta,
                                        kry_vec *y)
{
    return call_on_parts(self, "kry_op_apply_transpose",
                         &(kryi_call){ .alpha = alpha, .beta = beta, .x = x, .y = y },
                         apply_transpose_here);
}

static kry_status residual_here(const kryi_call *c)
{
    return kry_op_residual(c->A, c->b, c->x, c->y);
}

static kry_status parts_residual(void *self, const kry_vec *b, const kry_vec *x, kry_vec *r)
{
    return call_on_parts(self, "kry_op_residual", &(kryi_call){ .b = b, .x = x, .y = r },
                         residual_here);
}

static kry_status diagonal_here(const kryi_call *c) { return kry_op_diagonal(c->A, c->y); }

static kry_status parts_diagonal(void *self, kry_vec *d)
{
    return call_on_parts(self, "kry_op_diagonal", &(kryi_call){ .y = d }, diagonal_here);
}

/* All parts report the same, except bytes, which are added. */
static kry_status solve_here(const kryi_call *c)
{
    const kry_op *solver = c->A;
    kry_result own = { 0 };

    if (!solver->table->solve)
        return kry_fail(KRY_ERR_TYPE, "kry_solve: '%s' is not a solver", solver->table->kind);
    kry_status st = solver->table->solve(solver->self, c->b, c->y, &own);
    if (st < 0) return st;
    kry_status met = kryi_layout_combine(c->b->layout, KRY_ADD, &own.bytes, 1);
    if (kryi_layout_reports(c->b->layout)) *(kry_result *)c->more = own;
    return met < 0 ? met : st;
}

static kry_status parts_solve(void *self, const kry_vec *b, kry_vec *x, kry_result *result)
{
    return call_on_parts(self, "kry_solve", &(kryi_call){ .b = b, .y = x, .more = result },
                         solve_here);
}

typedef struct update_args {
    const parts_op *P;
    const void *values;
} update_args;

static kry_status update_part(void *user, int rank)
{
    const update_args *u = user;
    const kryi_parts_extra *extra = &u->P->extra;
    kry_op *local = u->P->local[rank];

    local->updates++;
    return extra->update ? extra->update(extra->self, rank, local)
                         : kry_op_update(local, u->values);
}

static kry_status parts_update(void *self, const void *values)
{
    parts_op *P = self;
    const kryi_parts_extra *extra = &P->extra;
    kry_status st = KRY_OK;

    CHECK(!values || extra->prepare || extra->whole_values || extra->of, KRY_ERR_UNSUPPORTED,
          "kry_op_update: '%s' takes no values", P->local[P->split->begin]->table->kind);
    if (extra->prepare) TRY(extra->prepare(extra->self, values));
    if (extra->of) TRY(kry_op_update((kry_op *)extra->of, values));
    TRY(kryi_team_run(P->dev->team, P->split, update_part,
                      &(update_args){ P, extra->of ? NULL : values }));
done:
    return st;
}

/* Solvers ask the part that they work with. */
static kry_status parts_inspect(void *self, const void *values, kryi_finding *found)
{
    parts_op *P = self;
    kry_status st = KRY_OK;

    (void)values; /* these are given in the caller's order */
    TRY(P->extra.inspect(P->extra.self, found));
    for (int r = P->split->begin; r < P->split->end; r++) P->local[r]->found = *found;
done:
    return st;
}

static void parts_describe(void *self, kry_op_info *info)
{
    parts_op *P = self;
    kry_op_info one;

    const kryi_split *s = P->split;

    kry_op_describe(P->local[s->begin], info);
    for (int r = s->begin + 1; r < s->end; r++) {
        kry_op_describe(P->local[r], &one);
        info->nnz = info->nnz < 0 || one.nnz < 0 ? -1 : info->nnz + one.nnz;
        info->slots += one.slots;
        info->bytes_stored += one.bytes_stored;
        info->bytes_per_apply += one.bytes_per_apply;
        info->bytes_per_direction += one.bytes_per_direction;
        info->bytes_per_step += one.bytes_per_step;
    }
    const int *cut = s->boxes ? s->boxes->parts : NULL;
    char blocks[48] = "";
    if (cut) snprintf(blocks, sizeof blocks, "%d x %d x %d blocks, ", cut[0], cut[1], cut[2]);
    if (P->dev->team->ranks)
        snprintf(P->variant, sizeof P->variant, "%.350s%s%srank %d of %d", info->variant,
                 *info->variant ? ", " : "", blocks, s->begin, P->dev->team->size);
    else
        snprintf(P->variant, sizeof P->variant, "%.350s%s%son %d of %d devices%s", info->variant,
                 *info->variant ? ", " : "", blocks, s->members, P->dev->team->size,
                 s->members < P->dev->team->size ? ": too small to gain from more" : "");
    info->variant = P->variant;
}

static void parts_destroy(void *self)
{
    parts_op *P = self;
    if (!P) return;
    for (int r = P->split->begin; P->local && r < P->split->end; r++) kry_op_release(&P->local[r]);
    if (P->extra.destroy) P->extra.destroy(P->extra.self);
    kry_op_release((kry_op **)&P->extra.of);
    free(P->local);
    kryi_split_release(&P->split);
    free(P);
}

/* One table serves all kinds. What the parts do not offer, their own kry_op_... functions
 * refuse. */
const kry_op_table kryi_parts_table = {
    .struct_size = sizeof(kry_op_table),
    .kind = "parts",
    .apply = parts_apply,
    .apply_block = parts_apply,
    .residual = parts_residual,
    .apply_transpose = parts_apply_transpose,
    .diagonal = parts_diagonal,
    .update = parts_update,
    .solve = parts_solve,
    .describe = parts_describe,
    .destroy = parts_destroy,
};

static const kryi_op_fused parts_fused = { .inspect = parts_inspect };

bool kryi_op_in_parts(const kry_op *op) { return op && parts_of(op); }

/* ---- making one ------------------------------------------------------------------------------- */

typedef struct make_args {
    parts_op *P;
    kryi_make_part *make;
    const void *user;
} make_args;

static kry_status make_on_part(void *user, int rank)
{
    const make_args *m = user;
    return m->make(m->user, rank, &m->P->local[rank]);
}

kry_status kryi_parts_create(kry_device *team, kryi_split *split, const kryi_parts_extra *extra,
                             kryi_make_part *make, const void *user, kry_op **op)
{
    kry_status st = KRY_OK;
    parts_op *P = NULL;
    make_args m = { .make = make, .user = user };

    *op = NULL;
    TRY(kryi_alloc(1, sizeof *P, &P));
    m.P = P;
    P->dev = team;
    P->split = kryi_split_retain(split);
    TRY(kryi_alloc((size_t)split->members, sizeof *P->local, &P->local));
    TRY(kryi_team_run(P->dev->team, split, make_on_part, &m));
    kry_op_shape shape = P->local[split->begin]->shape;
    shape.rows = shape.cols = split->n;
    TRY(kryi_op_create_fused(team, &kryi_parts_table, &parts_fused, P, &shape, op));
    if (extra) P->extra = *extra;
    if (P->extra.of) (void)kry_op_retain(P->extra.of);
    P = NULL;
done:
    parts_destroy(P);
    return st;
}

/* ---- the same constructor on every part ---------------------------------------------------- */

typedef struct create_args {
    const kryi_constructor *how;
    const kry_op *A;
    const void *params;
} create_args;

static const kry_op **operand_of(const void *params, size_t offset)
{
    return (const kry_op **)((char *)params + offset);
}

/* With the part's operators in a copy of the parameters, if these hold any. */
static kry_status create_on_part(const void *user, int rank, kry_op **local)
{
    const create_args *c = user;
    const kry_op *A = kryi_op_on_part(c->A, rank);
    kry_status st = KRY_OK;
    void *mine = NULL;

    if (!c->how->operand[0]) return c->how->create(A, c->params, local);
    TRY(kryi_alloc(1, c->how->params_size, &mine));
    memcpy(mine, c->params, c->how->params_size);
    for (size_t i = 0; i < COUNT(c->how->operand) && c->how->operand[i]; i++) {
        const kry_op **operand = operand_of(mine, c->how->operand[i]);
        *operand = kryi_op_on_part(*operand, rank);
    }
    TRY(c->how->create(A, mine, local));
done:
    free(mine);
    return st;
}

static kry_status create(const kryi_constructor *how, const kry_op *A, const void *params,
                         kry_op **out)
{
    kry_status st = KRY_OK;
    const create_args c = { how, A, params };

    *out = NULL;
    if (!kryi_op_in_parts(A)) return how->create(A, params, out);
    for (size_t i = 0; i < COUNT(how->operand) && how->operand[i]; i++) {
        const kry_op *B = *operand_of(params, how->operand[i]);
        CHECK(!B || (kryi_op_in_parts(B) && B->dev == A->dev), KRY_ERR_ARGUMENT,
              "%s: '%s' does not lie on the same devices as '%s'", how->name, B->table->kind,
              A->table->kind);
    }
    TRY(kryi_parts_create(A->dev, kryi_op_split(A), NULL, create_on_part, &c, out));
done:
    return st;
}

kry_status kryi_op_make(const kry_op *A, kryi_create_here *here, const void *params, kry_op **out)
{
    return create(&(kryi_constructor){ .create = here }, A, params, out);
}

kry_status kryi_construct(const kryi_constructor *how, const kry_op *A, const void *params,
                          kry_op **out)
{
    kry_status st = KRY_OK;
    const kryi_stopwatch watch = kryi_stopwatch_begin(kry_op_device(A));
    void *mine = NULL;

    kryi_team_enter(kry_op_device(A), how->name, NULL);
    if (out) *out = NULL;
    TRY(kryi_check_given(how->name, "M, A", (const void *const[]){ out, A }));
    assert(out);
    if (how->fields) {
        TRY(kryi_alloc(1, how->params_size, &mine));
        TRY(kryi_params_take(how->name, how->macro, params, mine, how->params_size));
        kryi_team_same_fields(A->dev, how->fields, mine);
        TRY(kryi_fields_check(how->name, how->fields, mine));
        kryi_fields_default(how->fields, mine);
        params = mine;
    }
    if (!how->any_shape) TRY(kryi_op_check_square(how->name, A));
    if (how->check) TRY(how->check(A, params));
    st = create(how, A, params, out);
done:
    st = kryi_team_leave(kry_op_device(A), st);
    if (out && st < 0) kry_op_release(out);
    if (out && *out) (*out)->setup = kryi_stopwatch_end(&watch);
    free(mine);
    return st;
}
