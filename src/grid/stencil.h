/*
 * stencil.h - what the files of grid operators share.
 */
#ifndef KRY_STENCIL_INTERNAL_H
#define KRY_STENCIL_INTERNAL_H

#include "operator/direction.h"
#include "operator/halo.h"
#include "operator/op.h"
#include "sparse/csr.h"
#include "team/split.h"
#include <kry/stencil.h>

/* A kernel, and how it is launched to go over the grid: see GRID in cl/grid/sweep.clh. */
typedef struct kryi_sweep {
    kryi_kernel *kernel;
    cl_int work, length, width;
    int64_t groups;                /* 0: nothing to do */
    int size;                      /* work-items of a group; 0: as the profile says */
    int lanes;                     /* LANES */
    bool heavy;                    /* a kernel with many registers */
    int columns;                   /* of a launch, if the kernel takes several; 0: one */
    bool inner;                    /* without the last layer */
    cl_int begin, stride, sums_at; /* pieces of a slab, and where sums go */
} kryi_sweep;

/* The sweeps of a stencil. Vectors that start where a work-item of a GPU may load several numbers
 * are aligned; the sweeps ..._ANYWHERE take all others. Those up to DIAGONAL exist from the
 * start, the others have no kernel until one is asked for. */
enum {
    KRY_SWEEP_APPLY,
    KRY_SWEEP_DIRECTION,
    KRY_SWEEP_STEP,
    KRY_SWEEP_RESIDUAL,
    KRY_SWEEP_DIAGONAL,
    KRY_SWEEP_APPLY_ANYWHERE,
    KRY_SWEEP_RESIDUAL_ANYWHERE,
    KRY_SWEEP_DIAGONAL_ANYWHERE,
    KRY_SWEEP_APPLY_ABREAST, /* these four: of several columns */
    KRY_SWEEP_APPLY_ABREAST_ANYWHERE,
    KRY_SWEEP_DIRECTION_ABREAST,
    KRY_SWEEP_STEP_ABREAST,
    KRY_SWEEP_RELAX,
    KRY_SWEEP_RELAX_ANYWHERE,
    KRY_SWEEP_SCALE,
    KRY_SWEEP_SCALE_ANYWHERE,
    KRY_SWEEP_NARROW,
    KRY_SWEEP_NARROW_ANYWHERE,
    KRY_SWEEP_COLOUR,
    KRY_SWEEP_INCOMPLETE,
    KRY_SWEEP_INCOMPLETE_ANYWHERE,
    KRY_SWEEPS
};

/* The layers of a grid, along its last axis, that one part of a team has. A halo brings the numbers of the
 * layers next to them. */
typedef struct kryi_slab {
    int64_t first, count;   /* the layers of this part */
    int64_t all;            /* layers of the whole grid */
    int64_t layer;          /* unknowns of a layer */
    bool low, high;         /* the layer below, above is on another part */
    cl_int at_low, at_high; /* where its numbers begin in `numbers` */
    kryi_halo *halo;        /* owned. NULL: this part has all layers; or a test fills `numbers` */
    cl_mem numbers;         /* borrowed from the halo */
    cl_mem face_below;      /* owned: faces between the first layer and the one below; or NULL */
} kryi_slab;

/* Which box of a whole grid a stencil is for. It is Neumann where the whole goes on: blocks.c adds what flows there. */
typedef struct kryi_stencil_box {
    int64_t all[3];      /* unknowns of the whole along each axis */
    int64_t first[3];    /* where those that are here begin */
    bool inner[2][3];    /* the low, the high side of an axis is between two parts */
    kry_side side[2][3]; /* of the whole */
} kryi_stencil_box;

/* What is made of a grid on one part of a team: a slab, or a box. */
typedef struct kryi_grid_part {
    kryi_slab slab;
    kryi_stencil_box block;
} kryi_grid_part;

/*
 * Row i of A is  sum over axes  f_low (x_i - x_low) + f_high (x_i - x_high).
 *
 * Constant coefficient: f = weight[axis]. Else face[axis][i] is f between cell i and its upper
 * neighbour (the wrapped one on a periodic axis). At other high sides it is f of the side, weight * k_i or
 * the face that was given; not used if Neumann. At low sides with given values f = weight * coefficient[i].
 * A neighbour outside the grid is the ghost  g x_i  with g = kryi_ghost(side), wrapped if periodic.
 */
typedef struct kryi_stencil {
    kry_device *dev; /* borrowed: the operator holds it */
    kry_type type;
    int axes;           /* 2 or 3 */
    int64_t size[3], n; /* size[2] is 1 with two axes; n is their product: what is here */
    double weight[3];   /* diffusion / h^2 */
    double spacing[3], diffusion[3];
    kry_side low[3], high[3]; /* of the whole grid */
    kryi_slab slab;
    kryi_stencil_box block; /* all[0] = 0: the grid is in one piece, or in slabs */
    /* n numbers of `type`, and those of the layer above if it is on another part. NULL: constant, or
     * only faces were given */
    cl_mem coefficient;
    cl_mem face[3];   /* as many for each axis, of which the layer above is room; NULL: constant */
    bool faces_given; /* by the caller; else made from coefficients */
    bool variable;    /* there are coefficients or faces */
    bool local;       /* they are given for the layers here and those next to them alone */
    bool singular;    /* the whole grid maps constants to zero */
    int lanes;        /* points that a work-item takes at once from aligned vectors */
    kryi_sweep sweep[KRY_SWEEPS];
} kryi_stencil;

static inline bool kryi_gives_values(kry_side side)
{
    return side == KRY_DIRICHLET || side == KRY_DIRICHLET_FACE;
}

/* x outside a side that is not periodic, in units of the x beside it. */
static inline int kryi_ghost(kry_side side)
{
    return side == KRY_NEUMANN ? 1 : side == KRY_DIRICHLET_FACE ? -1 : 0;
}

/* Some layers are on other parts. */
static inline bool kryi_stencil_is_slab(const kryi_stencil *A)
{
    return A->slab.low || A->slab.high;
}

/* Unknowns along an axis of the whole grid. */
static inline int64_t kryi_stencil_size_of_all(const kryi_stencil *A, int axis)
{
    return axis == A->axes - 1 ? A->slab.all : A->size[axis];
}

/* Unknowns along an axis of the whole grid, which may be in boxes. */
static inline int64_t kryi_stencil_whole(const kryi_stencil *A, int axis)
{
    return A->block.all[0] ? A->block.all[axis] : kryi_stencil_size_of_all(A, axis);
}

static inline kry_side kryi_stencil_side(const kryi_stencil *A, int axis, bool high)
{
    if (A->block.all[0]) return A->block.side[high][axis];
    return high ? A->high[axis] : A->low[axis];
}

/* The first unknown's neighbour along the axis is the last one, here. */
static inline bool kryi_stencil_wraps(const kryi_stencil *A, int axis)
{
    return A->low[axis] == KRY_PERIODIC && !(axis == A->axes - 1 && kryi_stencil_is_slab(A));
}

/* Where the neighbour of cell i along an axis stands: its number here, or n more than its place in
 * slab.numbers; -1: outside the grid. */
static inline int64_t kryi_stencil_neighbour(const kryi_stencil *A, int64_t i, int axis, bool high)
{
    const kryi_slab *s = &A->slab;
    int64_t stride = axis == 0 ? 1 : axis == 1 ? A->size[0] : A->size[0] * A->size[1];
    int64_t size = A->size[axis], at = i / stride % size, step = high ? stride : -stride;

    if (high ? at < size - 1 : at > 0) return i + step;
    if (kryi_stencil_wraps(A, axis)) return i - step * (size - 1);
    if (axis < A->axes - 1 || !(high ? s->high : s->low)) return -1;
    return A->n + (high ? s->at_high + i - (A->n - s->layer) : s->at_low + i);
}

/* The argument `kappa` of kernels with faces, which they read at low sides with given values only. */
static inline const cl_mem *kryi_stencil_cells(const kryi_stencil *A)
{
    return A->coefficient ? &A->coefficient : &A->face[0];
}

/* stencil_persistent.c: the entry of kryi_op_fused. */
kry_status kryi_stencil_make_resident(void *self, const kry_op *M, kryi_resident_cg **R);

/* The stencil of an operator, on a part of a team that of its slab; NULL: it is no stencil, or that of a box. */
kryi_stencil *kryi_stencil_of(const kry_op *op);
/* The stencil of an operator, on a part of a team that of its slab or box; NULL: it is no stencil. */
kryi_stencil *kryi_stencil_here(const kry_op *op);
/* export.c: the entries of a grid operator, or of all parts of one on a team. Waits. */
kry_status kryi_stencil_rows(const kry_op *op, kryi_csr *rows);
/* rows := those rows of the grid's matrix that `like` has entries in, the others empty; *sums: n numbers, the sum of each row. Waits. */
kry_status kryi_stencil_rows_like(const kryi_stencil *A, const kryi_csr *like, kryi_csr *rows,
                                  void **sums);

/* ---- stencil_check.c ---- */

extern const kryi_field kryi_stencil_fields[]; /* of kry_stencil_params */
/* Check sizes, sides and blocks; `who`: the public function. */
kry_status kryi_stencil_check_grid(const char *who, const kry_device *dev,
                                   const kry_stencil_params *params);
/* Check the parameters of kry_stencil_create as well, and which coefficients and faces are given. */
kry_status kryi_stencil_check_params(const kry_device *dev, kry_type type,
                                     const kry_stencil_params *params);

/* ---- slab.c, blocks.c ---- */

/* slab.c: of what cells rank r of a grid that is cut so (NULL: not at all) gives coefficients and faces: all, or with `local`
 * its part. */
kry_stencil_box kryi_stencil_given(const kry_stencil_params *params, const kryi_split *split,
                                   int r);
/* kry_stencil_create on a team, in slabs or boxes; the parameters have been checked. */
kry_status kryi_stencil_create_parts(kry_device *team, kry_type type,
                                     const kry_stencil_params *params, kry_op **A);
/* blocks.c: the same on a team whose split has boxes. */
kry_status kryi_stencil_create_blocks(kry_device *team, kry_type type,
                                      const kry_stencil_params *params, kryi_split *split,
                                      kry_op **A);

/* ---- faces.c ---- */

/* Check which coefficients and faces are given, not their numbers. */
kry_status kryi_stencil_check_faces(const kry_stencil_params *params);
/* Make the buffers of coefficients and faces, where `params` has any, and fill them. Waits. */
kry_status kryi_stencil_create_faces(kryi_stencil *A, const kry_stencil_params *params);
/* Take the numbers that kry_op_update got, of the whole grid or, if `local`, of the layers that are given here. On failure
 * nothing has changed. Waits. Collective. */
kry_status kryi_stencil_update_faces(kryi_stencil *A, const double *numbers);
void kryi_stencil_release_numbers(kryi_stencil *A);

/* The numbers of the faces along an axis of the cells here, those to other parts with them. op: of one part. Waits. */
kry_status kryi_stencil_read_faces(const kry_op *op, int axis, double *numbers);
/* Read `count` numbers of a buffer of coefficients or faces. Waits. */
kry_status kryi_stencil_read(const kryi_stencil *A, cl_mem buffer, int64_t count, double *numbers);
/* Copy the coefficients and faces of another stencil of the same grid, times factor, but not face_below.
 * Waits. */
kry_status kryi_stencil_copy_faces(kryi_stencil *A, const kryi_stencil *from, double factor);
/* Get face_below from the part below. Collective. */
kry_status kryi_stencil_share_faces(kryi_stencil *A);

/* kry_stencil_create on one device.
 *
 *   params  of the whole grid
 *   piece   what is made, NULL: all; the halo of a slab is the operator's from here on, even if this fails. Of a box `params` are
 *           its own. Collective where there is one
 *   like    NULL, or of the same grid or piece: take that one's coefficients and faces, times factor, or
 *           where it has none its weights */
kry_status kryi_stencil_make(kry_device *dev, kry_type type, const kry_stencil_params *params,
                             const kryi_grid_part *piece, const kryi_stencil *like, double factor,
                             kry_op **out);

/* ---- sweep.c ---- */

/* A kernel of <stem>.cl for this grid, with `more` defines. */
kry_status kryi_stencil_kernel(const kryi_stencil *A, const char *stem, const char *more,
                               const char *name, kryi_kernel **kernel);
/* Return two bits for each side of A, which say what is beyond it: see `sides` in cl/grid/sweep.clh. */
cl_int kryi_stencil_sides(const kryi_stencil *A);
/* A kernel of stencil.cl that makes something once: it is in the program that has the residual. */
kry_status kryi_stencil_maker(const kryi_stencil *A, const char *name, kryi_kernel **kernel);
/* Make those of the sweeps first ... last, none behind SCALE_ANYWHERE, that do not exist yet. */
kry_status kryi_stencil_make_sweeps(kryi_stencil *A, int first, int last);
/* Choose s->length, of columns of `last` points, and s->work, their number then: if `count` columns, or tiles of
 * them, are not nearly a multiple of the number that fits on the device at once, cut them. */
void kryi_cut_columns(kryi_sweep *s, int64_t last, int64_t count, int64_t fit);
/* What a sweep with LANES = lanes goes over, and by how many groups; `heavy`: the kernel has many
 * registers. */
kryi_sweep kryi_stencil_plan(const kryi_stencil *A, kryi_kernel *kernel, int lanes, bool heavy);
/* A sweep of one of the kernels ..._ABREAST, which exists, over so many columns. */
kryi_sweep kryi_stencil_plan_columns(const kryi_stencil *A, int sweep, int64_t columns);
/* Enqueue a kernel whose arguments are the grid and `rest`, at most 20. */
kry_status kryi_stencil_launch(const kryi_stencil *A, const kryi_sweep *s, const kry_arg *rest,
                               size_t count);
/* Launch a sweep over x, or (x NULL) over the direction of `cg`. On a slab the neighbours' layers travel while the
 * layers that do not need them are swept. sum: what the sweep leaves behind; or NULL. */
kry_status kryi_stencil_exchange(kryi_stencil *A, const kryi_sweep *s, const kry_vec *x,
                                 const kryi_cg *cg, const kry_arg *rest, size_t count,
                                 kry_sum *sum);

/* ---- stencil_relax.c ---- */

/* Entries of the operator's table. */
kry_status kryi_stencil_relax(void *self, const kryi_relax *s, kry_vec *y, kry_sum *sum);
kry_status kryi_stencil_relax_widening(void *self, double c, cl_mem unit, const kry_vec *b,
                                       const kry_vec *x, kry_vec *y, kry_sum *dots);
int kryi_stencil_colours(void *self);
kry_status kryi_stencil_sweep_colour(void *self, int colour, double omega, const kry_vec *b,
                                     kry_vec *x);

/* The number that all entries of the diagonal are, 0 if they differ. */
double kryi_stencil_diagonal_entry(const kryi_stencil *A);

/* y := alpha M x + beta y with M = K' D^-1 K, K = I - L D^-1, L the strict lower triangle. */
typedef struct kryi_incomplete {
    double alpha, beta;
    const kry_vec *inverse; /* D^-1; not read where the diagonal is one number */
} kryi_incomplete;
/* sum: NULL, or for alpha = 1, beta = 0 the pair (x.y, x.x). x NULL: only compile. */
kry_status kryi_stencil_incomplete(kryi_stencil *A, const kryi_incomplete *how, const kry_vec *x,
                                   kry_vec *y, kry_sum *sum);

#endif
