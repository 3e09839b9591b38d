/*
 * team_levels.c - a cycle of multigrid on a team of devices. The finest level lies on all of them; the others are
 * those of a hierarchy that each device has of the whole operator.
 *
 * Exchanged  per cycle the halo of A for each product, and once the residual on the second level: a sum of its
 *            numbers, in double, over all parts, through the host
 * Storage    beside the hierarchy of the whole operator two vectors of all its rows, and the vectors of the
 *            coarser levels once more
 */
#include "multigrid/team_levels.h"
#include "grid/stencil.h"
#include "matrix/matrix.h"
#include "matrix/matrix_parts.h"
#include "multigrid/cycle.h"
#include "operator/op_parts.h"
#include "team/team.h"
#include <stdio.h>
#include <stdlib.h>

/* ---- between the rows of this part and the second level -------------------------------------- */

typedef struct transfer {
    const kryi_level
        *level; /* the finest of the whole operator; without P the two levels are the same */
    const kryi_shell *shell; /* NULL, or vectors of this part are of its window; borrowed */
    int64_t first, n;        /* rows of this part, among all */
    cl_mem row;              /* n: which they are, where they do not follow each other; else NULL */
    cl_mem around;           /* with a shell: which rows the numbers of the window are of */
    kry_vec *mine;           /* with one of these: n numbers, or those of the window */
    kry_vec *prolonged;      /* all rows */
    kry_vec *padded;         /* the same: zeros but for those of this part */
    double *sum;             /* the second level's */
    char variant[80];
} transfer;

static void transfer_destroy(void *self)
{
    transfer *t = self;
    if (!t) return;
    free(t->sum);
    if (t->row) kryi_buffer_release(t->padded->dev, &t->row);
    if (t->around) kryi_buffer_release(t->padded->dev, &t->around);
    kry_vec_release(&t->mine);
    kry_vec_release(&t->padded);
    kry_vec_release(&t->prolonged);
    free(t);
}

/* The rows of this part in a vector of all. */
static kry_vec own_rows(const transfer *t, const kry_vec *all)
{
    kry_vec own = kryi_vec_borrow(all);
    own.first += t->first;
    own.n = t->n;
    return own;
}

/* own := the rows of this part, or its window's, in a vector of all or gathered from it. */
static kry_status take_own(const transfer *t, const kry_vec *all, kry_vec *own)
{
    kry_device *dev = all->dev;
    const cl_mem row = t->around ? t->around : t->row;

    *own = row ? kryi_vec_borrow(t->mine) : own_rows(t, all);
    if (!row) return KRY_OK;
    const kry_arg args[] = { ARG(own->n), ARG(row), ARG_VEC(all), ARG(own->buffer) };
    return kryi_run(dev, "halo", all->type, "", "halo_pack",
                    kryi_groups_for(dev, all->type, own->n), args, COUNT(args));
}

/* The rows of this part := x, in a vector of all. */
static kry_status put_own(const transfer *t, const kry_vec *x, const kry_vec *all)
{
    kry_status st = KRY_OK;
    kry_device *dev = all->dev;
    kry_vec own = own_rows(t, all), mine = kryi_vec_borrow(x);

    if (t->shell) TRY(kryi_shell_take(t->shell, 0, x, &mine));
    if (!t->row) return kry_vec_copy(&mine, &own);
    const kry_arg args[] = { ARG(t->n), ARG(t->row), ARG_VEC(&mine), ARG(all->buffer) };
    TRY(kryi_run(dev, "halo", all->type, "", "halo_unpack", kryi_groups_for(dev, all->type, t->n),
                 args, COUNT(args)));
done:
    return st;
}

/* y := alpha P x + beta y, in these rows */
static kry_status transfer_apply(void *self, double alpha, const kry_vec *x, double beta,
                                 kry_vec *y)
{
    kry_status st = KRY_OK;
    const transfer *t = self;
    const kry_op *P = t->level->P;
    kry_vec own;

    if (P)
        TRY(P->table->apply(P->self, 1, x, 0, t->prolonged));
    else
        TRY(kry_vec_copy(x, t->prolonged));
    TRY(take_own(t, t->prolonged, &own));
    TRY(kry_vec_axpby(alpha, &own, beta, y));
done:
    return st;
}

/* y := the sum of P'x over all parts, with x in the rows of each. Collective, waits. */
static kry_status restrict_here(void *self, const kry_vec *x, kry_vec *y)
{
    kry_status st = KRY_OK;
    const transfer *t = self;
    const kry_op *P = t->level->P, *R = t->level->R;

    TRY(put_own(t, x, t->padded));
    if (R)
        TRY(R->table->apply(R->self, 1, t->padded, 0, y));
    else if (P)
        TRY(P->table->apply_transpose(P->self, 1, t->padded, 0, y));
    else
        TRY(kry_vec_copy(t->padded, y));
    TRY(kryi_vec_read_doubles(y, t->sum));
    TRY(kryi_layout_combine(&y->dev->layout, KRY_ADD, t->sum, (size_t)y->n));
    TRY(kryi_vec_write_doubles(y, t->sum));
done:
    return st;
}

static kry_status transfer_apply_transpose(void *self, double alpha, const kry_vec *x, double beta,
                                           kry_vec *y)
{
    return kryi_op_apply_by(restrict_here, self, alpha, x, beta, y);
}

static void transfer_describe(void *self, kry_op_info *info)
{
    const transfer *t = self;
    const double size = (double)kry_type_size(t->padded->type);

    kry_op_describe(t->level->P, info);
    info->variant = t->variant;
    info->bytes_stored += 2 * (double)t->padded->n * size;
}

static const kry_op_table transfer_table = {
    .struct_size = sizeof(kry_op_table),
    .kind = "team-transfer",
    .apply = transfer_apply,
    .apply_transpose = transfer_apply_transpose,
    .describe = transfer_describe,
    .destroy = transfer_destroy,
};

/* Rows that do not follow each other in the whole. */
static kry_status list_rows(const kry_op *A, const kryi_whole *how, transfer *t)
{
    kry_status st = KRY_OK;
    int32_t *row = NULL;

    TRY(kryi_alloc((size_t)t->n, sizeof *row, &row));
    for (int64_t i = 0; i < t->n; i++) row[i] = (int32_t)how->row(A, t->shell, i);
    TRY(kryi_buffer_upload(A->dev, (size_t)t->n * sizeof *row, row, &t->row));
done:
    free(row);
    return st;
}

/* Rows of a window. */
static kry_status list_window(transfer *t, int64_t points)
{
    kry_status st = KRY_OK;
    kry_device *dev = t->padded->dev;
    int32_t *row = NULL;

    TRY(kryi_alloc((size_t)points, sizeof *row, &row));
    for (int64_t i = 0; i < points; i++)
        row[i] = (int32_t)kryi_cut_row(t->shell->cut, &t->shell->window, i);
    TRY(kryi_buffer_upload(dev, (size_t)points * sizeof *row, row, &t->around));
done:
    free(row);
    return st;
}

static bool follow_each_other(const kry_op *A, const kryi_whole *how, const transfer *t)
{
    return !how->row || how->row(A, t->shell, t->n - 1) - how->row(A, t->shell, 0) == t->n - 1;
}

/* Between the rows of A and the level below `level`, which has `coarse` unknowns. */
static kry_status transfer_create(const kry_op *A, const kryi_level *level, int64_t coarse,
                                  const kryi_whole_params *p, kry_op **out)
{
    const kryi_whole *how = p->how;
    kry_status st = KRY_OK;
    kry_device *dev = A->dev;
    const kry_op_shape shape = { A->shape.rows, coarse, A->shape.type, 0 };
    transfer *t = NULL;
    int64_t all;

    *out = NULL;
    TRY(kryi_alloc(1, sizeof *t, &t));
    t->level = level;
    t->shell = p->shell;
    t->n = t->shell ? kryi_window_points(&t->shell->own) : A->shape.rows;
    TRY(kryi_layout_rows(&dev->layout, t->n, &t->first, &all));
    snprintf(t->variant, sizeof t->variant, "%lld numbers of each part through the host",
             (long long)coarse);
    TRY(kryi_alloc((size_t)coarse, sizeof *t->sum, &t->sum));
    TRY(kry_vec_create(dev, shape.type, all, 1, &t->prolonged));
    TRY(kry_vec_create(dev, shape.type, all, 1, &t->padded));
    TRY(kry_vec_fill(t->padded, 0));
    if (!follow_each_other(A, how, t)) TRY(list_rows(A, how, t));
    if (t->shell) TRY(list_window(t, shape.rows));
    if (t->row || t->around) TRY(kry_vec_create(dev, shape.type, shape.rows, 1, &t->mine));
    TRY(kry_op_create(dev, &transfer_table, t, &shape, out));
    t = NULL;
done:
    transfer_destroy(t);
    return st;
}

/* ---- the levels ------------------------------------------------------------------------------ */

typedef struct team_levels {
    kryi_whole_params how; /* params: for the set-up alone */
    const kry_op *A;       /* the rows of this part; retained */
    kry_op *whole;         /* all rows */
    kry_op *M;             /* multigrid for them */
    int from;              /* the level of A */
} team_levels;

void kryi_team_levels_destroy(void *self)
{
    team_levels *t = self;
    if (!t) return;
    kry_op_release(&t->M);
    kry_op_release(&t->whole);
    kry_op_release((kry_op **)&t->A);
    free(t);
}

/* Multigrid for the whole, or new numbers for it, on this device as if there were no other: the same on all
 * parts, and on a device by itself. */
static kry_status make_alone(team_levels *t, const void *params)
{
    kryi_layout *layout = &t->A->dev->layout;
    kryi_comm *comm = layout->comm;

    layout->comm = &kryi_comm_alone;
    const kry_status st =
        t->M ? kry_op_update(t->M, NULL) : t->how.how->create(t->whole, params, &t->M);
    layout->comm = comm;
    return st;
}

static kry_status add_levels(kryi_hierarchy *H, const team_levels *t)
{
    kry_status st = KRY_OK;
    const kryi_hierarchy *W = kryi_hierarchy_of(t->M);
    const kryi_level *top = &W->rung[0].level;
    const int64_t second = W->rung[W->count > 1].level.A->shape.rows;
    kryi_level finest = { .A = (kry_op *)t->A,
                          .highest = W->rung[0].smooth.highest,
                          .unsymmetric = top->unsymmetric,
                          .shell = t->how.shell };

    TRY(transfer_create(t->A, top, second, &t->how, &finest.P));
    TRY(kryi_hierarchy_add(H, &finest));
    if (W->count == 1) TRY(kryi_hierarchy_add(H, top)); /* it is solved exactly */
    for (int i = 1; i < W->count; i++) {
        kryi_level level = W->rung[i].level;
        level.highest = W->rung[i].smooth.highest;
        TRY(kryi_hierarchy_add(H, &level));
    }
done:
    kry_op_release(&finest.P);
    return st;
}

kry_status kryi_team_levels_make(kryi_hierarchy *H, const kry_op *A, const void *params,
                                 void **self)
{
    kry_status st = KRY_OK;
    const kryi_whole_params *g = params;
    team_levels *t = NULL;

    *self = NULL;
    TRY(kryi_alloc(1, sizeof *t, &t));
    t->how = *g, t->from = kryi_hierarchy_levels(H);
    t->A = kry_op_retain(A);
    TRY(g->how->collect(A, g->shell, &t->whole));
    TRY(make_alone(t, g->params));
    TRY(add_levels(H, t));
    const kry_cycle_params *theirs = kryi_hierarchy_cycle(kryi_hierarchy_of(t->M));
    kryi_hierarchy_prefer(H, theirs->smoother, theirs->degree, theirs->sweeps);
    *self = t, t = NULL;
done:
    kryi_team_levels_destroy(t);
    return st;
}

kry_status kryi_team_levels_update(kryi_hierarchy *H, void *self)
{
    kry_status st = KRY_OK;
    team_levels *t = self;
    const kryi_hierarchy *W = kryi_hierarchy_of(t->M);

    TRY(t->how.how->collect(t->A, t->how.shell, &t->whole));
    TRY(make_alone(t, NULL));
    for (int i = 0; i < W->count; i++)
        kryi_hierarchy_level(H, t->from + i)->highest = W->rung[i].smooth.highest;
done:
    return st;
}

void kryi_team_levels_tail(const void *self, kryi_tail *tail)
{
    const team_levels *t = self;

    *tail = kryi_hierarchy_of(t->M)->tail;
    if (tail->from) tail->from += t->from;
}

bool kryi_has_reproducible_sums(const kry_op *A)
{
    return A->dev->team ? A->dev->team->reproducible : A->dev->layout.reproducible;
}

kry_status kryi_check_sums(const char *who, const kry_op *A)
{
    if (!kryi_has_reproducible_sums(A)) return KRY_OK;
    return kry_fail(
        KRY_ERR_UNSUPPORTED,
        "%s: no multigrid on a team with reproducible sums, where the residual on the second level "
        "depends on how rows are split",
        who);
}

bool kryi_is_share(const kry_op *A)
{
    const kryi_stencil *S = kryi_stencil_of(A);
    return kryi_layout_size(&A->dev->layout) > 1 &&
           (S ? kryi_stencil_is_slab(S) : !kryi_matrix_of(A));
}
