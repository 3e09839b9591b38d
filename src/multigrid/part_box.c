/*
 * part_box.c - the operators of a level of geometric multigrid of which each part of a team has a box: the stored stencil,
 * and the interpolation from the next coarser grid.
 *
 * Exchanged  per product the points beside the part's own
 * Moves      beside what the grid's kernels do a copy of x, and of what comes from a coarser grid or goes there
 */
#include "multigrid/part_boxes.h"
#include <stdlib.h>

/* A vector of `n` numbers in a room. */
static kry_vec use(const kry_vec *room, int64_t n)
{
    kry_vec v = kry_vec_borrow(room);
    v.n = v.ld = n;
    return v;
}

/* ---- the stencil ---------------------------------------------------------------------------------- */

typedef struct part_box {
    kry_op *box; /* of the window, whose rows are the part's own */
    kry_shell shell;
    const kry_cut *cut;
    const kry_part_rooms *rooms;
} part_box;

/* all := the window's numbers of x */
static kry_status surround(const part_box *A, const kry_vec *x, kry_vec *all)
{
    *all = use(A->rooms->fine, kry_window_points(&A->shell.window));
    return kry_shell_fill(&A->shell, x, all);
}

static kry_status part_box_apply(void *self, double alpha, const kry_vec *x, double beta,
                                 kry_vec *y)
{
    kry_status st = KRY_OK;
    const part_box *A = self;
    kry_vec all;

    TRY(surround(A, x, &all));
    TRY(A->box->table->apply(A->box->self, alpha, &all, beta, y));
done:
    return st;
}

static kry_status part_box_residual(void *self, const kry_vec *b, const kry_vec *x, kry_vec *r)
{
    kry_status st = KRY_OK;
    const part_box *A = self;
    kry_vec all;

    TRY(surround(A, x, &all));
    TRY(A->box->table->residual(A->box->self, b, &all, r));
done:
    return st;
}

static kry_status part_box_diagonal(void *self, kry_vec *d)
{
    const part_box *A = self;
    return A->box->table->diagonal(A->box->self, d);
}

static kry_status part_box_relax(void *self, const kry_relax *s, kry_vec *y, kry_sum *sum)
{
    kry_status st = KRY_OK;
    const part_box *A = self;
    kry_relax with;
    kry_vec all;

    if (!s) return KRY_OK;
    with = *s;
    if (s->x) {
        TRY(surround(A, s->x, &all));
        with.x = &all;
    }
    TRY(A->box->fused->relax(A->box->self, &with, y, sum));
done:
    return st;
}

static void part_box_describe(void *self, kry_op_info *info)
{
    const part_box *A = self;
    kry_op_describe(A->box, info);
}

static void part_box_destroy(void *self)
{
    part_box *A = self;
    if (!A) return;
    kry_shell_release(&A->shell);
    kry_op_release(&A->box);
    free(A);
}

static const kry_op_table box_table = {
    .struct_size = sizeof(kry_op_table),
    .kind = "part-box",
    .apply = part_box_apply,
    .apply_transpose = part_box_apply,
    .residual = part_box_residual,
    .diagonal = part_box_diagonal,
    .describe = part_box_describe,
    .destroy = part_box_destroy,
};
static const kry_op_fused box_fused = { .relax = part_box_relax };

static const part_box *part_box_of(const kry_op *A)
{
    return A->table == &box_table ? A->self : NULL;
}

kry_op *kry_box_of_part(const kry_op *A) { return part_box_of(A)->box; }
const kry_cut *kry_part_box_cut(const kry_op *A) { return part_box_of(A)->cut; }
const kry_shell *kry_part_box_shell(const kry_op *A) { return &part_box_of(A)->shell; }

kry_status kry_part_box_create(kry_device *dev, kry_type type, const kry_cut *cut, unsigned traits,
                               const kry_part_rooms *rooms, kry_op **out)
{
    kry_status st = KRY_OK;
    const kry_window near = kry_cut_near(cut), own = kry_cut_own(cut),
                     inner = kry_window_within(&near, &own);
    const kry_box_grid grid = kry_cut_grid(cut, &near);
    const kry_op_shape shape = { kry_window_points(&own), kry_window_points(&own), type, traits };
    part_box *A = NULL;

    *out = NULL;
    TRY(kry_alloc(1, sizeof *A, &A));
    A->cut = cut, A->rooms = rooms;
    TRY(kry_box_create_rows(dev, type, &grid, &inner, &A->box));
    TRY(kry_shell_create(dev, type, cut, &near, &A->shell));
    TRY(kry_op_create_fused(dev, &box_table, &box_fused, A, &shape, out));
    A = NULL;
done:
    part_box_destroy(A);
    return st;
}

/* ---- the interpolation ---------------------------------------------------------------------------- */

typedef struct part_transfer {
    kry_op *P; /* between two windows */
    kry_shell fine, coarse;
    const kry_part_rooms *rooms;
} part_transfer;

/* Vectors of both windows. */
static void use_rooms(const part_transfer *t, kry_vec *fine, kry_vec *coarse)
{
    *fine = use(t->rooms->fine, kry_window_points(&t->fine.window));
    *coarse = use(t->rooms->coarse, kry_window_points(&t->coarse.window));
}

static kry_status part_transfer_apply(void *self, double alpha, const kry_vec *x, double beta,
                                      kry_vec *y)
{
    kry_status st = KRY_OK;
    const part_transfer *t = self;
    kry_vec fine, coarse;

    use_rooms(t, &fine, &coarse);
    TRY(kry_shell_fill(&t->coarse, x, &coarse));
    TRY(t->P->table->apply(t->P->self, 1, &coarse, 0, &fine));
    TRY(kry_window_copy(alpha, &fine, &t->fine.window, beta, y, &t->fine.own, &t->fine.own));
done:
    return st;
}

static kry_status part_transfer_apply_transpose(void *self, double alpha, const kry_vec *x,
                                                double beta, kry_vec *y)
{
    kry_status st = KRY_OK;
    const part_transfer *t = self;
    kry_vec fine, coarse;

    use_rooms(t, &fine, &coarse);
    TRY(kry_shell_fill(&t->fine, x, &fine));
    TRY(t->P->table->apply_transpose(t->P->self, 1, &fine, 0, &coarse));
    TRY(kry_window_copy(alpha, &coarse, &t->coarse.window, beta, y, &t->coarse.own,
                        &t->coarse.own));
done:
    return st;
}

static void part_transfer_describe(void *self, kry_op_info *info)
{
    const part_transfer *t = self;
    const kry_vec *fine = t->rooms->fine, *coarse = t->rooms->coarse;

    kry_op_describe(t->P, info);
    if (fine && fine->n == kry_window_points(&t->fine.window)) /* those of the finest two grids */
        info->bytes_stored += (double)(fine->n + coarse->n) * (double)kry_type_size(fine->type);
}

static void part_transfer_destroy(void *self)
{
    part_transfer *t = self;
    if (!t) return;
    kry_shell_release(&t->coarse);
    kry_shell_release(&t->fine);
    kry_op_release(&t->P);
    free(t);
}

static const kry_op_table transfer_table = {
    .struct_size = sizeof(kry_op_table),
    .kind = "part-box-transfer",
    .apply = part_transfer_apply,
    .apply_transpose = part_transfer_apply_transpose,
    .describe = part_transfer_describe,
    .destroy = part_transfer_destroy,
};

kry_op *kry_transfer_of_part(const kry_op *P) { return ((const part_transfer *)P->self)->P; }

kry_status kry_part_transfer_create(kry_device *dev, kry_type type, const kry_cut *fine,
                                    unsigned coarsened, const kry_cut *coarse,
                                    const kry_part_rooms *rooms, kry_op **out)
{
    kry_status st = KRY_OK;
    const kry_window between = kry_cut_between(fine, coarsened, coarse),
                     near = kry_cut_near(coarse);
    const kry_box_grid grid = kry_cut_grid(fine, &between);
    part_transfer *t = NULL;

    *out = NULL;
    TRY(kry_alloc(1, sizeof *t, &t));
    t->rooms = rooms;
    TRY(kry_box_transfer_create(dev, type, &grid, coarsened, &t->P));
    TRY(kry_shell_create(dev, type, fine, &between, &t->fine));
    TRY(kry_shell_create(dev, type, coarse, &near, &t->coarse));
    const kry_op_shape shape = { kry_window_points(&t->fine.own), kry_window_points(&t->coarse.own),
                                 type, 0 };
    TRY(kry_op_create(dev, &transfer_table, t, &shape, out));
    t = NULL;
done:
    part_transfer_destroy(t);
    return st;
}
