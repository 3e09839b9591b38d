/*
 * box.c - the operator of a stored symmetric stencil of 3^d points on a grid. Kernels: cl/multigrid/box.cl.
 */
#include "multigrid/box.h"
#include "sparse/entries.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

kryi_box_grid kryi_box_grid_coarser(const kryi_box_grid *fine, unsigned coarsened)
{
    kryi_box_grid g = *fine;

    g.n = 1;
    for (int a = 0; a < 3; a++) {
        if (coarsened >> a & 1) g.size[a] = (g.size[a] + 1) / 2;
        g.n *= g.size[a];
        /* The coarse points that have to do with what is different: by their weights, or their
         * neighbours'. */
        if (g.ends[a] <= KRY_BOX_ENDS)
            g.ends[a] = coarsened >> a & 1 ? (g.ends[a] + 1) / 2 + 1 : g.ends[a] + 1;
    }
    return g;
}

kryi_box_args kryi_box_args_of(const kryi_box_grid *g)
{
    return (kryi_box_args){ (cl_int)g->n,
                            { (cl_int)g->size[0], (cl_int)g->size[1], (cl_int)g->size[2] },
                            (cl_int)g->wraps };
}

kryi_window_args kryi_window_args_of(const kryi_window *w)
{
    const cl_int own = (cl_int)kryi_window_points(w);
    kryi_window_args a = { own, { (cl_int)w->size[0], (cl_int)w->size[1] }, { 0 } };
    for (int i = 0; i < 3; i++) a.low[i] = (cl_int)w->first[i];
    return a;
}

enum { PER_UNIT = 3 }; /* groups by columns: up to 168 registers of NVIDIA's multiprocessors */

/* Tiles of columns, as cl/multigrid/box_columns.cl has them. */
static int64_t tiles_of(const kry_device *dev, const kryi_box_grid *g)
{
    const int64_t *n = g->size, group = kryi_group_size(dev);
    int64_t width = n[0] <= 8 ? 8 : n[0] <= 16 ? 16 : 32;

    if (width > group) width = group;
    const int64_t tall = group / width;
    return kryi_pieces_of(n[0], width) * kryi_pieces_of(n[1], tall);
}

/* By tiles: points at each end of an axis whose rows, or those of a neighbour, differ. */
static int64_t edge_of(const kryi_box_grid *g)
{
    int most = 0;
    for (int a = 0; a < 3; a++)
        if (g->ends[a] > most) most = g->ends[a];
    return most + 1;
}

/* Tiles as cl/multigrid/box_alike.cl has them, and groups' worth of points around them. */
static int64_t tasks_of(const kry_device *dev, const kryi_box_grid *g)
{
    enum { ROWS = 2, LAYERS = 4, WIDEST = 32 };
    const int64_t group = kryi_group_size(dev), wide = group < WIDEST ? group : WIDEST;
    const int64_t tall = group / wide * ROWS, edge = edge_of(g), *n = g->size;
    const int64_t inner = (n[0] - 2 * edge) * (n[1] - 2 * edge) * (n[2] - 2 * edge);
    const int64_t tiles = kryi_pieces_of(n[0], wide) * kryi_pieces_of(n[1] - 2 * edge, tall) *
                          kryi_pieces_of(n[2] - 2 * edge, LAYERS);
    return tiles + kryi_pieces_of(g->n - inner, group);
}

/* By tiles where they keep all groups busy: on an H200 they took half of the time on 128^3 points. By columns they took 0.6
 * of the time on 256^3, but no less on grids so small that each group has few layers, and waits in each of them. */
static kryi_box_way way_of(const kry_device *dev, kry_type type, const kryi_box_grid *g)
{
    enum { LEAST = 24, LAYERS = 64 }; /* LEAST: more than twice EDGE in cl/multigrid/box.clh */
    const int64_t *n = g->size;

    if (g->axes == 2 || dev->info.cpu_kernels) return KRY_BOX_BY_POINTS;
    if (kryi_box_all_alike(g) && n[0] >= LEAST && n[1] >= LEAST && n[2] >= LEAST &&
        tasks_of(dev, g) >= kryi_groups_at_once(dev, dev->shape.per_unit))
        return KRY_BOX_BY_TILES;
    return !kryi_box_in_flux_form(type, g) &&
                   tiles_of(dev, g) * n[2] >= LAYERS * kryi_groups_at_once(dev, PER_UNIT)
               ? KRY_BOX_BY_COLUMNS
               : KRY_BOX_BY_POINTS;
}

/* Launch a kernel whose arguments are the grid, its numbers, what a sweep has beside the number of groups, and `rest`. */
static kry_status launch(const kryi_box *A, kryi_kernel *kernel, int64_t groups, const cl_int *more,
                         const kry_arg *rest, size_t count)
{
    enum { GRID_ARGS = 6, MORE = 1, REST = 24 };
    const kryi_box_args g = kryi_box_args_of(&A->grid);
    kry_arg args[GRID_ARGS + MORE + REST] = { KRY_BOX_ARGS(g), ARG(A->numbers) };
    size_t n = GRID_ARGS;

    if (*more > 0) args[n++] = (kry_arg)ARG(*more);
    memcpy(args + n, rest, count * sizeof *rest);
    return kryi_launch(A->dev, kernel, groups, args, n + count);
}

/* Groups of a launch, and what kernels are told of how they go: by columns of how many points, or by tiles how many
 * points are beside them; else 0. */
typedef struct box_sweep {
    int64_t groups;
    cl_int more;
} box_sweep;

static box_sweep sweep_of(const kryi_box *A)
{
    const kry_device *dev = A->dev;
    kryi_sweep columns = { 0 };
    int64_t at_once = kryi_groups_at_once(dev, dev->shape.per_unit);

    if (A->way == KRY_BOX_BY_POINTS)
        return (box_sweep){ kryi_groups_for_sums(dev, A->type, A->grid.n), 0 };
    if (A->way == KRY_BOX_BY_COLUMNS) {
        at_once = kryi_groups_at_once(dev, PER_UNIT);
        kryi_cut_columns(&columns, A->grid.size[2], tiles_of(dev, &A->grid), at_once);
        if (columns.work < at_once) at_once = columns.work;
        return (box_sweep){ at_once, columns.length };
    }
    return (box_sweep){ at_once, (cl_int)edge_of(&A->grid) };
}

/* y := alpha A x + beta b; b may be y. */
static kry_status product(const kryi_box *A, double alpha, const kry_vec *x, double beta,
                          const kry_vec *b, kry_vec *y)
{
    kryi_scalar by = kryi_scalar_of(A->dev, alpha), by_b = kryi_scalar_of(A->dev, beta);
    const box_sweep s = sweep_of(A);
    const kry_arg rest[] = { ARG_ACC(A->dev, by), ARG_VEC(x), ARG_ACC(A->dev, by_b), ARG_VEC(b),
                             ARG_VEC(y) };
    return launch(A, A->apply, s.groups, &s.more, rest, COUNT(rest));
}

static kry_status box_apply(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    return product(self, alpha, x, beta, y, y);
}

static kry_status box_residual(void *self, const kry_vec *b, const kry_vec *x, kry_vec *r)
{
    return product(self, -1, x, 1, b, r);
}

static kry_status box_diagonal(void *self, kry_vec *d)
{
    const kryi_box *A = self;
    const cl_int no_more = 0;
    const kry_arg rest[] = { ARG_VEC(d) };
    return launch(A, A->diagonal, kryi_groups_for(A->dev, A->type, A->grid.n), &no_more, rest,
                  COUNT(rest));
}

static kry_status box_relax(void *self, const kryi_relax *s, kry_vec *y, kry_sum *sum)
{
    const kryi_box *A = self;
    kry_device *dev = A->dev;

    if (!s) return KRY_OK;
    const box_sweep sweep = sweep_of(A);
    const cl_int has_x = s->x != NULL, has_old = s->old && s->c0 != 0, sums = sum ? sum->width : 0;
    const kry_vec *b = s->b, *x = s->x ? s->x : b, *old = has_old ? s->old : b;
    const cl_mem part = sum ? sum->buffer : y->buffer;
    kryi_scalar c0 = kryi_scalar_of(dev, s->c0), c1 = kryi_scalar_of(dev, s->c1);
    kryi_scalar by_x = kryi_scalar_of(dev, s->x_scale != 0 ? s->x_scale : 1);
    kryi_scalar by_old = kryi_scalar_of(dev, s->old_scale != 0 ? s->old_scale : 1);
    const kry_arg rest[] = {
        ARG_ACC(dev, c1), ARG_VEC(b),       ARG_VEC(y),           ARG(sums),
        ARG(part),        ARG_ACC(dev, c0), ARG(has_x),           ARG_ACC(dev, by_x),
        ARG_VEC(x),       ARG(has_old),     ARG_ACC(dev, by_old), ARG_VEC(old)
    };
    if (sum) sum->count = (cl_int)sweep.groups;
    return launch(A, A->relax, sweep.groups, &sweep.more, rest, COUNT(rest));
}

/* Every second point along an axis; the last one of a periodic axis of odd size is beside the first, and
 * has a colour of its own. */
static int colours_along(const kryi_box_grid *g, int axis)
{
    const int64_t n = g->size[axis];
    return n == 1 ? 1 : g->wraps >> axis & 1 && n % 2 ? 3 : 2;
}

static int box_colours(void *self)
{
    const kryi_box_grid *g = &((const kryi_box *)self)->grid;
    return colours_along(g, 0) * colours_along(g, 1) * colours_along(g, 2);
}

/* The points of a colour: along each axis every second one from `first` on, `count` of them. */
typedef struct lattice {
    cl_int first[3], count[3], points;
} lattice;

static lattice lattice_of(const kryi_box_grid *g, int colour)
{
    lattice l = { .points = 1 };

    for (int a = 0; a < 3; a++) {
        const int colours = colours_along(g, a), of_axis = colour % colours;
        const int64_t paired = colours == 3 ? g->size[a] - 1 : g->size[a];
        colour /= colours;
        l.first[a] = of_axis == 2 ? (cl_int)paired : of_axis;
        l.count[a] = of_axis == 2 ? 1 : (cl_int)((paired + 1 - of_axis) / 2);
        l.points *= l.count[a];
    }
    return l;
}

static kry_status box_sweep_colour(void *self, int colour, double omega, const kry_vec *b,
                                   kry_vec *x)
{
    kryi_box *A = self;
    kry_status st = KRY_OK;
    char defines[64];

    snprintf(defines, sizeof defines, "-DAXES=%d -DLANES=1%s", A->grid.axes,
             kryi_box_form(A->type, &A->grid));
    if (!A->colour) TRY(kryi_kernel_get(A->dev, "box", A->type, defines, "box_colour", &A->colour));
    if (!b) return KRY_OK;
    const kryi_box_args g = kryi_box_args_of(&A->grid);
    const lattice l = lattice_of(&A->grid, colour);
    kryi_scalar by = kryi_scalar_of(A->dev, omega);
    const kry_arg args[] = { KRY_BOX_ARGS(g),     ARG(A->numbers), ARG(l.points),   ARG(l.first[0]),
                             ARG(l.first[1]),     ARG(l.first[2]), ARG(l.count[0]), ARG(l.count[1]),
                             ARG_ACC(A->dev, by), ARG_VEC(b),      ARG_VEC(x) };
    TRY(kryi_launch(A->dev, A->colour, kryi_groups_for(A->dev, A->type, l.points), args,
                    COUNT(args)));
done:
    return st;
}

/* Pairs of a point along an axis and itself or a neighbour: places of the matrix, none counted twice. */
static int64_t pairs_along(const kryi_box_grid *g, int axis)
{
    const int64_t n = g->size[axis];
    const bool wraps = g->wraps >> axis & 1;
    return n == 1 ? 1 : n == 2 ? 4 : 3 * n - (wraps ? 0 : 2);
}

static void box_describe(void *self, kry_op_info *info)
{
    const kryi_box *A = self;
    const double word = (double)A->grid.n * (double)kry_type_size(A->type);

    info->variant = A->grid.axes == 3 ? "27 points" : "9 points";
    info->nnz = 1;
    for (int a = 0; a < 3; a++) info->nnz *= pairs_along(&A->grid, a);
    info->slots = A->slots * A->grid.n;
    info->bytes_stored = A->slots * word;
    info->bytes_per_apply = (2 + (kryi_box_rows_alike(&A->grid) ? 0 : A->half)) * word;
}

static void box_destroy(void *self)
{
    kryi_box *A = self;
    if (!A) return;
    kryi_buffer_release(A->dev, &A->numbers);
    free(A);
}

static const kry_op_table box_table = {
    .struct_size = sizeof(kry_op_table),
    .kind = "box",
    .apply = box_apply,
    .apply_transpose = box_apply,
    .residual = box_residual,
    .diagonal = box_diagonal,
    .describe = box_describe,
    .destroy = box_destroy,
};
static const kryi_op_fused box_fused = { .relax = box_relax,
                                         .colours = box_colours,
                                         .sweep_colour = box_sweep_colour };

kryi_box *kryi_box_of(const kry_op *op) { return op && op->table == &box_table ? op->self : NULL; }

static kry_status get_kernels(kryi_box *A)
{
    static const struct {
        const char *stem, *apply, *relax;
    } ways[] = { [KRY_BOX_BY_POINTS] = { "box", "box_apply", "box_relax" },
                 [KRY_BOX_BY_COLUMNS] = { "box_columns", "box_columns_apply", "box_columns_relax" },
                 [KRY_BOX_BY_TILES] = { "box_alike", "box_alike_apply", "box_alike_relax" } };
    kry_status st = KRY_OK;
    kry_device *dev = A->dev;
    char defines[96];

    snprintf(defines, sizeof defines, "-DAXES=%d -DLANES=1%s", A->grid.axes,
             kryi_box_form(A->type, &A->grid));
    TRY(kryi_kernel_get(dev, "box", A->type, defines, "box_diagonal", &A->diagonal));
    TRY(kryi_kernel_get(dev, ways[A->way].stem, A->type, defines, ways[A->way].apply, &A->apply));
    TRY(kryi_kernel_get(dev, ways[A->way].stem, A->type, defines, ways[A->way].relax, &A->relax));
done:
    return st;
}

kry_status kryi_box_create(kry_device *dev, kry_type type, const kryi_box_grid *grid,
                           unsigned traits, kry_op **out)
{
    kry_status st = KRY_OK;
    const kry_op_shape shape = { grid->n, grid->n, type, traits };
    kryi_box *A = NULL;

    *out = NULL;
    TRY(kryi_alloc(1, sizeof *A, &A));
    *A = (kryi_box){
        .dev = dev, .type = type, .grid = *grid, .half = grid->axes == 3 ? 14 : 5, .traits = traits
    };
    A->slots = A->half + kryi_box_in_flux_form(type, grid);
    A->way = way_of(dev, type, grid);
    TRY(get_kernels(A));
    TRY(kryi_buffer_create(dev, (uint64_t)(A->slots * grid->n) * kry_type_size(type), &A->numbers));
    TRY(kryi_op_create_fused(dev, &box_table, &box_fused, A, &shape, out));
    A = NULL;
done:
    box_destroy(A);
    return st;
}

/* ---- the rows of a box, on the host ---------------------------------------------------------- */

/* As in cl/multigrid/box.clh. */
static int64_t beside(int64_t at, int step, int64_t size, bool wrapped)
{
    const int64_t to = at + step;
    if (to >= 0 && to < size) return to;
    return !wrapped || size == 1 ? -1 : to < 0 ? to + size : to - size;
}

/* The point at `offset` from point i, which is at `place`; -1: there is none. */
static int64_t neighbour(const kryi_box_grid *g, const int64_t place[3], const int offset[3])
{
    int64_t number = 0, stride = 1;

    for (int a = 0; a < 3; a++) {
        const int64_t to =
            offset[a] ? beside(place[a], offset[a], g->size[a], g->wraps >> a & 1) : place[a];
        if (to < 0) return -1;
        number += to * stride, stride *= g->size[a];
    }
    return number;
}

/* The couplings that are stored at point i, in both directions. */
static kry_status append_point(const kryi_box *B, const double *numbers, int64_t i,
                               kryi_entry_list *list)
{
    kry_status st = KRY_OK;
    const kryi_box_grid *g = &B->grid;
    const int64_t row = i / g->size[0],
                  place[3] = { i % g->size[0], row % g->size[1], row / g->size[1] };

    for (int slot = 0; slot < B->half; slot++) {
        const int offset[3] = { (slot + 1) % 3 - 1, (slot + 4) / 3 % 3 - 1, (slot + 4) / 9 };
        const int64_t j = neighbour(g, place, offset);
        const double number = numbers[slot * g->n + i - place[0] + kryi_box_column(g, place[0])];
        if (j < 0 || number == 0) continue;
        TRY(kryi_entry_append(list, (int32_t)i, (int32_t)j, number));
        if (slot) TRY(kryi_entry_append(list, (int32_t)j, (int32_t)i, number));
    }
done:
    return st;
}

/* Flux form: the diagonal from what the rows add up to. */
static void add_up(const double *row_sum, kryi_csr *rows)
{
    double *val = rows->val;

    for (int64_t i = 0; i < rows->rows; i++) {
        double own = row_sum[i];
        for (int64_t e = rows->row_ptr[i]; e < rows->row_ptr[i + 1]; e++)
            if (rows->col[e] != i) own -= val[e];
        const int64_t e = kryi_csr_find(rows, i, i);
        if (e >= 0) val[e] = own;
    }
}

kry_status kryi_box_rows(const char *who, const kry_op *A, kryi_csr *rows)
{
    kry_status st = KRY_OK;
    const kryi_box *B = kryi_box_of(A);
    const int64_t n = B->grid.n, count = n * B->slots;
    kryi_entry_list list = { 0 };
    double *numbers = NULL;
    void *stored = NULL;

    TRY(kryi_alloc((size_t)count, kry_type_size(B->type), &stored));
    TRY(kryi_alloc((size_t)count, sizeof *numbers, &numbers));
    TRY(kryi_buffer_read(B->dev, B->numbers, 0, (size_t)count * kry_type_size(B->type), stored));
    for (int64_t k = 0; k < count; k++) numbers[k] = kryi_number_at(B->type, stored, k);
    for (int64_t i = 0; i < n; i++) TRY(append_point(B, numbers, i, &list));
    TRY(kryi_entry_list_compress(who, &list, n, n, rows));
    if (B->slots > B->half) add_up(numbers + B->half * n, rows);
done:
    free(numbers);
    free(stored);
    free(list.entry);
    return st;
}
