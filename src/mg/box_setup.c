/*
 * box_setup.c - the weights of the interpolation from a coarser grid, its Galerkin stencil, bounds of its
 * eigenvalues, and how strong couplings are along each axis, on the device. Kernels: cl/multigrid/box_setup.cl, cl/multigrid/box_bounds.cl.
 */
#include "multigrid/box.h"
#include <stdio.h>
#include <string.h>

enum { GRID_ARGS = 14, REST = 9 };
enum { TEAM = 32 }; /* work-items of a coarse point, as in cl/multigrid/box_setup.cl */

kryi_box_source kryi_box_source_of(const kry_op *A)
{
    kryi_box_source s = { .dev = A->dev, .type = A->shape.type, .stencil = kryi_stencil_of(A) };
    const kryi_stencil *S = s.stencil;

    s.box = kryi_box_of(A);
    if (s.box) {
        s.grid = s.box->grid;
    } else if (S) {
        s.grid = (kryi_box_grid){ .axes = S->axes, .n = S->n };
        for (int a = 0; a < 3; a++) s.grid.ends[a] = S->face[0] ? KRY_BOX_ENDS + 1 : 1;
        memcpy(s.grid.size, S->size, sizeof s.grid.size);
        for (int a = 0; a < S->axes; a++) s.grid.wraps |= (unsigned)kryi_stencil_wraps(S, a) << a;
    }
    return s;
}

kry_status kryi_box_grid_of(const kry_op *A, kryi_box_grid *grid)
{
    const kryi_box_source s = kryi_box_source_of(A);
    if (!s.box && !s.stencil)
        return kry_fail(KRY_ERR_UNSUPPORTED, "'%s' is no operator on a grid", A->table->kind);
    *grid = s.grid;
    return KRY_OK;
}

/* Sums are in double where the device has it: rows that sum to zero shall do so on coarse grids. */
static kry_status kernel_of(const kryi_box_source *s, const char *stem, unsigned coarsened,
                            const char *more, const char *name, kryi_kernel **kernel)
{
    const kryi_box_grid coarse = coarsened ? kryi_box_grid_coarser(&s->grid, coarsened) : s->grid;
    const bool flux = s->box && kryi_box_in_flux_form(s->type, &s->grid);
    char defines[160];

    snprintf(defines, sizeof defines,
             "-DAXES=%d -DLANES=1 -DSUM=ACC -DCX=%u -DCY=%u -DCZ=%u%s%s%s%s%s", s->grid.axes,
             coarsened & 1, coarsened >> 1 & 1, coarsened >> 2 & 1, s->box ? " -DBOX" : "",
             kryi_box_has_ends(&s->grid) ? " -DFINE_ENDS" : "",
             kryi_box_has_ends(&coarse) ? " -DCOARSE_ENDS" : "", flux ? " -DFLUX" : "", more);
    return kryi_kernel_get(s->dev, stem, s->type, defines, name, kernel);
}

/* Two bits for each side, as cl/multigrid/box_entry.clh has them. */
static cl_int sides_of(const kryi_stencil *S)
{
    static const cl_int code[] = {
        [KRY_DIRICHLET] = 0, [KRY_NEUMANN] = 1, [KRY_PERIODIC] = 2, [KRY_DIRICHLET_FACE] = 3
    };
    cl_int sides = 0;

    for (int a = 0; a < 3; a++) sides |= code[S->low[a]] << 4 * a | code[S->high[a]] << (4 * a + 2);
    return sides;
}

/* Launch a kernel whose arguments are the grid, its stencil and `rest`. */
static kry_status launch(const kryi_box_source *s, kryi_kernel *kernel, int64_t groups,
                         const kry_arg *rest, size_t count)
{
    const kryi_stencil *S = s->stencil;
    const kryi_box_args g = kryi_box_args_of(&s->grid);
    kry_arg args[GRID_ARGS + REST] = { KRY_BOX_ARGS(g) };
    size_t n = 5;
    kryi_scalar weight[3];
    cl_int sides = 0, variable = 0;

    if (s->box) {
        args[n++] = (kry_arg)ARG(s->box->numbers);
    } else {
        sides = sides_of(S), variable = S->face[0] != NULL;
        args[n++] = (kry_arg)ARG(sides);
        args[n++] = (kry_arg)ARG(variable);
        for (int a = 0; a < 3; a++) {
            weight[a] = kryi_scalar_of(s->dev, S->weight[a]);
            args[n++] = (kry_arg)ARG_ACC(s->dev, weight[a]);
        }
        /* What is not read has to be a buffer nevertheless: the last one of `rest`. */
        const kry_arg unread = rest[count - 1];
        args[n++] = variable ? (kry_arg)ARG(*kryi_stencil_cells(S)) : unread;
        for (int a = 0; a < 3; a++)
            args[n++] = variable ? (kry_arg)ARG(S->face[a < S->axes ? a : 0]) : unread;
    }
    memcpy(args + n, rest, count * sizeof *rest);
    return kryi_launch(s->dev, kernel, groups, args, n + count);
}

/* Whose numbers are made. */
static int64_t points_of(const kryi_box_grid *grid)
{
    const int64_t columns = grid->size[0];
    if (!kryi_box_has_ends(grid) || columns < KRY_BOX_COLUMNS) return grid->n;
    return grid->n / columns * KRY_BOX_COLUMNS;
}

/* A kernel of box_setup.cl, and groups for it. `items` of a GPU's work-items share a coarse point where these are few: then
 * all of them together take as long as one, 0.5 ms on an H200. With twelve thousand points set-up took 0.6 of the time, with
 * fifty thousand it gained nothing. */
static kry_status setup_kernel(const kryi_box_source *s, const kryi_box_transfer *P,
                               const char *name, int64_t items, kryi_kernel **kernel,
                               int64_t *groups)
{
    enum { FEW = 128 };
    const kry_device_info *info = &s->dev->info;
    const int64_t points = points_of(&P->coarse);
    const bool shared = !info->cpu_kernels && points <= FEW * (int64_t)info->compute_units;

    *groups = kryi_groups_for(s->dev, s->type, shared ? points * items : points);
    return kernel_of(s, "box_setup", P->coarsened, shared ? " -DSHARED" : "", name, kernel);
}

/* A, of which P says how much is known of its rows. */
static kryi_box_source source_for(const kryi_box_source *A, const kryi_box_transfer *P)
{
    kryi_box_source s = *A;
    s.grid = P->fine;
    return s;
}

kry_status kryi_box_weigh(const kryi_box_source *A, kry_op *op)
{
    kry_status st = KRY_OK;
    const kryi_box_transfer *P = kryi_box_transfer_of(op);
    const kryi_box_source s = source_for(A, P);
    /* What rounding may leave of a sum that is zero, relative to the diagonal entry. */
    kryi_scalar tiny = kryi_scalar_of(s.dev, s.type == KRY_F32 ? 1e-6 : 1e-10);
    kryi_kernel *kernel;
    int64_t groups;
    cl_int most = 0;

    for (int a = 0; a < 3; a++) most += P->coarsened >> a & 1;
    for (cl_int odds = 1; odds <= most; odds++) {
        const int64_t weights = odds < 3 ? 3 << odds : 8; /* of a coarse point */
        const kry_arg rest[] = { ARG(odds), ARG_ACC(s.dev, tiny), ARG(P->numbers) };
        TRY(setup_kernel(&s, P, "box_weights", weights, &kernel, &groups));
        TRY(launch(&s, kernel, groups, rest, COUNT(rest)));
    }
done:
    return st;
}

/* In flux form: what the rows of C add up to, and its diagonal from that. */
static kry_status add_up(const kryi_box_source *s, const kry_op *op, const kryi_box *C)
{
    kry_status st = KRY_OK;
    const kryi_box_transfer *P = kryi_box_transfer_of(op);
    kry_vec *ones = NULL, *v = NULL;
    kryi_kernel *kernel;

    TRY(kry_vec_create(s->dev, s->type, C->grid.n, 1, &ones));
    TRY(kry_vec_create(s->dev, s->type, s->grid.n, 1, &v));
    TRY(kry_vec_fill(ones, 1));
    TRY(kry_op_apply(op, 1, ones, 0, v));
    const kry_arg rest[] = { ARG(P->numbers), ARG(v->buffer), ARG(C->numbers) };
    TRY(kernel_of(s, "box_sums", P->coarsened, "", "box_sums", &kernel));
    TRY(launch(s, kernel, kryi_groups_for(s->dev, s->type, C->grid.n), rest, COUNT(rest)));
done:
    kry_vec_release(&v);
    kry_vec_release(&ones);
    return st;
}

kry_status kryi_box_galerkin(const kryi_box_source *A, const kry_op *op, kry_op *coarse)
{
    kry_status st = KRY_OK;
    const kryi_box_transfer *P = kryi_box_transfer_of(op);
    const kryi_box_source s = source_for(A, P);
    const kryi_box *C = kryi_box_of(coarse);
    const kry_arg rest[] = { ARG(P->numbers), ARG(C->numbers) };
    kryi_kernel *kernel;
    int64_t groups;

    TRY(setup_kernel(&s, P, "box_galerkin", TEAM, &kernel, &groups));
    TRY(launch(&s, kernel, groups, rest, COUNT(rest)));
    if (kryi_box_in_flux_form(C->type, &C->grid)) TRY(add_up(&s, op, C));
done:
    return st;
}

kry_status kryi_box_strength(const kryi_box_source *A, unsigned axes, const kryi_window *own,
                             double strength[3])
{
    kry_status st = KRY_OK;
    kry_sum *sum = NULL;
    kryi_kernel *kernel;
    const cl_int which = (cl_int)axes;
    const kryi_window all = { { 0 }, { A->grid.size[0], A->grid.size[1], A->grid.size[2] } };
    const kryi_window_args w = kryi_window_args_of(own ? own : &all);
    const int64_t groups = kryi_groups_for_sums(A->dev, A->type, w.own);

    TRY(kry_sum_create(A->dev, 3, &sum));
    TRY(kernel_of(A, "box_bounds", 0, "", "box_strength", &kernel));
    const kry_arg rest[] = { KRY_WINDOW_ARGS(w), ARG(which), ARG(sum->buffer) };
    sum->count = (cl_int)groups;
    TRY(launch(A, kernel, groups, rest, COUNT(rest)));
    TRY(kryi_sum_read_here(sum, strength));
done:
    kry_sum_release(&sum);
    return st;
}

/* bounds[level] := the bits of a bound for this box. */
static kry_status bound_box(const kry_op *A, cl_int level, cl_mem bounds)
{
    kry_status st = KRY_OK;
    const kryi_box_source s = kryi_box_source_of(A);
    const kry_arg rest[] = { ARG(level), ARG(bounds) };
    kryi_kernel *kernel;

    TRY(kernel_of(&s, "box_bounds", 0, "", "box_bound", &kernel));
    TRY(launch(&s, kernel, kryi_groups_for(s.dev, s.type, points_of(&s.grid)), rest, COUNT(rest)));
done:
    return st;
}

kry_status kryi_box_bounds(kry_op *const *A, int count, double *highest)
{
    kry_status st = KRY_OK;
    kry_device *dev = A[0]->dev;
    cl_mem bounds = NULL;
    cl_float *found = NULL;

    TRY(kryi_alloc((size_t)count, sizeof *found, &found)); /* zeros */
    TRY(kryi_buffer_upload(dev, (size_t)count * sizeof *found, found, &bounds));
    for (int i = 0; i < count; i++) TRY(bound_box(A[i], i, bounds));
    TRY(kryi_buffer_read(dev, bounds, 0, (size_t)count * sizeof *found, found));
    for (int i = 0; i < count; i++) highest[i] = found[i];
done:
    kryi_buffer_release(dev, &bounds);
    free(found);
    return st;
}
