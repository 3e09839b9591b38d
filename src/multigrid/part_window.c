/* part_window.c - grids in boxes, one for each part of a team, and windows around these. Kernel: cl/multigrid/window.cl. */
#include "multigrid/part_window.h"
#include <stdlib.h>
#include <string.h>

/* ---- grids in boxes --------------------------------------------------------------------------------- */

void kryi_cut_release(kryi_cut *cut)
{
    for (int a = 0; a < 3; a++) free(cut->boxes.begin[a]);
    free(cut->first);
    *cut = (kryi_cut){ 0 };
}

/* What follows from where intervals begin. */
static kry_status number_places(kryi_cut *cut)
{
    kry_status st = KRY_OK;
    const int parts = cut->boxes.parts[0] * cut->boxes.parts[1] * cut->boxes.parts[2];

    memcpy(cut->boxes.size, cut->grid.size, sizeof cut->grid.size);
    TRY(kryi_alloc((size_t)parts + 1, sizeof *cut->first, &cut->first));
    for (int r = 0; r < parts; r++) {
        const kryi_grid_box box = kryi_boxes_part(&cut->boxes, r);
        cut->first[r + 1] = cut->first[r] + box.size[0] * box.size[1] * box.size[2];
    }
done:
    return st;
}

static kry_status room_for(kryi_boxes *B)
{
    kry_status st = KRY_OK;
    for (int a = 0; a < 3; a++)
        TRY(kryi_alloc((size_t)B->parts[a] + 1, sizeof *B->begin[a], &B->begin[a]));
done:
    return st;
}

kry_status kryi_cut_of(const kry_op *op, kryi_cut *cut)
{
    kry_status st = KRY_OK;
    const kryi_layout *layout = &op->dev->layout;
    const kryi_split *split = layout->split;
    const kryi_stencil *A = kryi_stencil_here(op);
    const int last = A->axes - 1, parts = kryi_layout_size(layout);
    kryi_boxes *B = &cut->boxes;

    *cut =
        (kryi_cut){ .grid = { .axes = A->axes, .n = split->n }, .rank = kryi_layout_rank(layout) };
    for (int a = 0; a < 3; a++) {
        cut->grid.size[a] = a < A->axes ? kryi_stencil_whole(A, a) : 1;
        cut->grid.ends[a] = A->face[0] ? KRY_BOX_ENDS + 1 : 1;
        if (kryi_stencil_side(A, a, false) == KRY_PERIODIC && a < A->axes)
            cut->grid.wraps |= 1u << a;
        B->parts[a] = split->boxes ? split->boxes->parts[a] : a == last ? parts : 1;
    }
    TRY(room_for(B));
    for (int a = 0; a < 3; a++)
        for (int i = 0; i <= B->parts[a]; i++)
            B->begin[a][i] = split->boxes      ? split->boxes->begin[a][i]
                             : B->parts[a] > 1 ? split->first[i] * cut->grid.size[a] / split->n
                                               : i * cut->grid.size[a];
    TRY(number_places(cut));
done:
    if (st < 0) kryi_cut_release(cut);
    return st;
}

kry_status kryi_cut_coarsen(const kryi_cut *fine, unsigned coarsened, kryi_cut *coarse)
{
    kry_status st = KRY_OK;
    const kryi_boxes *from = &fine->boxes;
    kryi_boxes *B = &coarse->boxes;

    *coarse = (kryi_cut){ .grid = kryi_box_grid_coarser(&fine->grid, coarsened),
                          .rank = fine->rank,
                          .layers = fine->layers };
    memcpy(B->parts, from->parts, sizeof B->parts);
    TRY(room_for(B));
    for (int a = 0; a < 3; a++)
        for (int i = 0; i <= B->parts[a]; i++)
            B->begin[a][i] = coarsened >> a & 1 ? (from->begin[a][i] + 1) / 2 : from->begin[a][i];
    TRY(number_places(coarse));
done:
    if (st < 0) kryi_cut_release(coarse);
    return st;
}

/* Layers of a wide window beyond those of the cut; and one more below for an even beginning. */
enum { BEYOND = 2, EVEN = 1 };

/* Along a periodic axis a window has no point twice. */
static bool fits(int64_t own, int64_t size, int layers)
{
    return own + 2 * (layers + BEYOND) + EVEN <= size;
}

bool kryi_cut_can_coarsen(const kryi_cut *cut, unsigned coarsened, int layers)
{
    enum { LEAST = 2 };
    for (int a = 0; a < cut->grid.axes; a++) {
        const bool halved = coarsened >> a & 1, periodic = cut->grid.wraps >> a & 1;
        const int64_t size = cut->grid.size[a], *begin = cut->boxes.begin[a];
        if (cut->boxes.parts[a] == 1) continue;
        if (periodic && halved && size % 2) return false;
        for (int i = 0; i < cut->boxes.parts[a]; i++) {
            const int64_t fine = begin[i + 1] - begin[i];
            const int64_t own = halved ? (begin[i + 1] + 1) / 2 - (begin[i] + 1) / 2 : fine;
            if (own < LEAST) return false;
            if (periodic &&
                !(fits(fine, size, layers) && fits(own, halved ? size / 2 : size, layers)))
                return false;
        }
    }
    return true;
}

/* ---- windows -------------------------------------------------------------------------------------- */

kryi_window kryi_cut_own(const kryi_cut *cut)
{
    const kryi_grid_box box = kryi_boxes_part(&cut->boxes, cut->rank);
    kryi_window w;

    memcpy(w.first, box.first, sizeof w.first);
    memcpy(w.size, box.size, sizeof w.size);
    return w;
}

static bool is_cut(const kryi_cut *cut, int axis) { return cut->boxes.parts[axis] > 1; }

/* The own points and so many layers around, or to the ends of the grid; even: from an even point on. */
static kryi_window grown(const kryi_cut *cut, int layers, bool even)
{
    kryi_window w = kryi_cut_own(cut);

    for (int a = 0; a < 3; a++) {
        int64_t begin = w.first[a] - layers, end = w.first[a] + w.size[a] + layers;
        if (!is_cut(cut, a)) continue;
        if (even && begin % 2 != 0) begin--;
        if (!(cut->grid.wraps >> a & 1)) {
            if (begin < 0) begin = 0;
            if (end > cut->grid.size[a]) end = cut->grid.size[a];
        }
        w.first[a] = begin, w.size[a] = end - begin;
    }
    return w;
}

kryi_window kryi_cut_near(const kryi_cut *cut) { return grown(cut, cut->layers, false); }

/* Coarse points I ... K - 1 are this part's. The stencil of I is made from the rows of its fine points, 2 I - 1 and on, and
 * the interpolation in these from that in layer 2 I - 2, whose rows reach to 2 I - 3; from above 2 K + 1. Windows begin with
 * a fine point that is a coarse one. */
kryi_window kryi_cut_wide(const kryi_cut *cut) { return grown(cut, cut->layers + BEYOND, true); }

kryi_box_grid kryi_cut_grid(const kryi_cut *cut, const kryi_window *w)
{
    kryi_box_grid g = cut->grid;

    g.n = kryi_window_points(w);
    memcpy(g.size, w->size, sizeof g.size);
    for (int a = 0; a < 3; a++) {
        if (is_cut(cut, a)) g.wraps &= ~(1u << a);
    }
    /* Of rows that are alike only the columns at the ends are made, and a window that is cut there has others. */
    if (is_cut(cut, 0)) g.ends[0] = KRY_BOX_ENDS + 1;
    return g;
}

kryi_window kryi_window_coarser(const kryi_window *w, unsigned coarsened)
{
    kryi_window c = *w;

    for (int a = 0; a < 3; a++)
        if (coarsened >> a & 1) c.first[a] /= 2, c.size[a] = (c.size[a] + 1) / 2;
    return c;
}

kryi_window kryi_window_within(const kryi_window *outer, const kryi_window *inner)
{
    kryi_window w = *inner;
    for (int a = 0; a < 3; a++) w.first[a] -= outer->first[a];
    return w;
}

int64_t kryi_cut_row(const kryi_cut *cut, const kryi_window *w, int64_t i)
{
    const int64_t *size = cut->grid.size, line = i / w->size[0];
    const int64_t at[3] = { w->first[0] + i % w->size[0], w->first[1] + line % w->size[1],
                            w->first[2] + line / w->size[1] };
    int64_t row = 0;

    for (int a = 2; a >= 0; a--) row = row * size[a] + (at[a] + size[a]) % size[a];
    return row;
}

bool kryi_window_is_in_one(const kryi_window *outer, const kryi_window *inner)
{
    int last = 2;

    while (last > 0 && outer->size[last] == 1) last--;
    for (int a = 0; a < last; a++)
        if (inner->size[a] != outer->size[a]) return false;
    return true;
}

kry_vec kryi_window_view(const kryi_window *outer, const kryi_window *inner, const kry_vec *all)
{
    kry_vec v = kryi_vec_borrow(all);
    v.first += kryi_window_number(outer, inner->first);
    v.n = v.ld = kryi_window_points(inner);
    return v;
}

int64_t kryi_window_number(const kryi_window *w, const int64_t place[3])
{
    return place[0] - w->first[0] +
           w->size[0] * (place[1] - w->first[1] + w->size[1] * (place[2] - w->first[2]));
}

kry_status kryi_window_copy(const kry_vec *x, const kryi_window *from, kry_vec *y,
                            const kryi_window *to, const kryi_window *which)
{
    kry_device *dev = x->dev;
    const kryi_window_args w = kryi_window_args_of(which);
    const cl_int begin[] = { (cl_int)kryi_window_number(from, which->first),
                             (cl_int)kryi_window_number(to, which->first) };
    const cl_int nx[] = { (cl_int)from->size[0], (cl_int)to->size[0] };
    const cl_int plane[] = { (cl_int)(from->size[0] * from->size[1]),
                             (cl_int)(to->size[0] * to->size[1]) };
    const kry_arg args[] = { ARG(w.own),    ARG(w.size[0]), ARG(w.size[1]), ARG(begin[0]),
                             ARG(nx[0]),    ARG(plane[0]),  ARG(begin[1]),  ARG(nx[1]),
                             ARG(plane[1]), ARG_VEC(x),     ARG_VEC(y) };
    return kryi_run(dev, "window", x->type, "", "window_copy", kryi_groups_for(dev, x->type, w.own),
                    args, COUNT(args));
}
