/*
 * box.h - grids whose operator is a stored symmetric stencil of 3^d points, and what leads from a grid to the
 * next coarser one: Dendy's black box multigrid. cl/multigrid/box.clh says how the numbers lie.
 */
#ifndef KRY_BOX_H
#define KRY_BOX_H

#include "grid/stencil.h"
#include "sparse/csr.h"

/* The points of a grid, and which of its axes are periodic. */
typedef struct kryi_box_grid {
    int axes;        /* 2 or 3 */
    int64_t size[3]; /* size[2] is 1 with two axes */
    int64_t n;       /* their product */
    unsigned wraps;  /* bit a: axis a is periodic */
    /* Points at each end of an axis that may have other couplings than those between, which are all alike;
     * above KRY_BOX_ENDS: nothing is known. */
    int ends[3];
} kryi_box_grid;

enum { KRY_BOX_ENDS = 3 };     /* less than EDGE in cl/multigrid/box.clh */
enum { KRY_BOX_COLUMNS = 12 }; /* ENDS in cl/multigrid/box_entry.clh, where it is explained */

/* Whether only the numbers in the first and last KRY_BOX_COLUMNS / 2 columns are made: nobody reads others, here and on
 * the next coarser grid. */
static inline bool kryi_box_has_ends(const kryi_box_grid *grid)
{
    return grid->ends[0] < KRY_BOX_ENDS;
}
/* Whether all points of a row have the same couplings, but for those at its ends; and whether all points of the
 * grid have, but for those at the ends of some axis. */
static inline bool kryi_box_rows_alike(const kryi_box_grid *grid)
{
    return grid->ends[0] <= KRY_BOX_ENDS;
}
static inline bool kryi_box_all_alike(const kryi_box_grid *grid)
{
    return kryi_box_rows_alike(grid) && grid->ends[1] <= KRY_BOX_ENDS &&
           (grid->axes == 2 || grid->ends[2] <= KRY_BOX_ENDS);
}
/* The column that stands for column x. */
static inline int64_t kryi_box_column(const kryi_box_grid *grid, int64_t x)
{
    enum { NEAR = KRY_BOX_COLUMNS / 2 };
    return kryi_box_has_ends(grid) && x >= NEAR && x <= grid->size[0] - NEAR ? NEAR - 2 : x;
}

/* The define of kernels for the numbers of such a grid, or "". */
static inline const char *kryi_box_uniform(const kryi_box_grid *grid)
{
    return kryi_box_rows_alike(grid) ? " -DUNIFORM" : "";
}

/* The define of kernels that go along z, column by column, or "". */
static inline const char *kryi_box_along(const kryi_box_grid *grid)
{
    return grid->axes == 3 && kryi_box_rows_alike(grid) && grid->ends[2] <= KRY_BOX_ENDS
               ? " -DALONG"
               : "";
}

/* Whether the numbers of such a grid are in flux form: in single, where they vary. */
static inline bool kryi_box_in_flux_form(kry_type type, const kryi_box_grid *grid)
{
    return type == KRY_F32 && !kryi_box_rows_alike(grid);
}
/* The define of kernels that multiply by them. */
static inline const char *kryi_box_form(kry_type type, const kryi_box_grid *grid)
{
    return kryi_box_in_flux_form(type, grid) ? " -DFLUX" : kryi_box_uniform(grid);
}

/* The grid with every second point, from the first on, along the axes of the mask `coarsened`. */
kryi_box_grid kryi_box_grid_coarser(const kryi_box_grid *fine, unsigned coarsened);

/* A box of points within a grid: along each axis `size` of them, from `first` on. */
typedef struct kryi_window {
    int64_t first[3], size[3];
} kryi_window;
static inline int64_t kryi_window_points(const kryi_window *w)
{
    return w->size[0] * w->size[1] * w->size[2];
}

/* The arguments of kernels that take a window. */
typedef struct kryi_window_args {
    cl_int own, size[2], low[3];
} kryi_window_args;
kryi_window_args kryi_window_args_of(const kryi_window *w);
#define KRY_WINDOW_ARGS(w)                                                              \
    ARG((w).own), ARG((w).size[0]), ARG((w).size[1]), ARG((w).low[0]), ARG((w).low[1]), \
        ARG((w).low[2])

/* How products and relaxation go: point by point (cl/multigrid/box.cl), by columns (box_columns.cl), or by tiles where
 * all points are alike (box_alike.cl). */
typedef enum kryi_box_way { KRY_BOX_BY_POINTS, KRY_BOX_BY_COLUMNS, KRY_BOX_BY_TILES } kryi_box_way;

/* A: the diagonal and the couplings to points with larger numbers, `half` numbers to a point, and in flux form
 * what rows add up to. */
typedef struct kryi_box {
    kry_device *dev; /* borrowed: the operator holds it */
    kry_type type;
    kryi_box_grid grid;
    int half;         /* 5 or 14 */
    int slots;        /* the same, or in flux form one more */
    unsigned traits;  /* of the operator */
    cl_mem numbers;   /* owned: slots n */
    kryi_box_way way; /* of apply and relax */
    kryi_kernel *apply, *relax, *diagonal;
    kryi_kernel *colour; /* NULL: not asked for yet */
} kryi_box;

/* The operator of a grid whose numbers are yet to be made. traits: of kry_op_shape. */
kry_status kryi_box_create(kry_device *dev, kry_type type, const kryi_box_grid *grid,
                           unsigned traits, kry_op **A);
/* The box of an operator; NULL: it is none. */
kryi_box *kryi_box_of(const kry_op *op);

/* rows := the matrix of a box, on the host in double. Waits. */
kry_status kryi_box_rows(const char *who, const kry_op *A, kryi_csr *rows);

/* P: values of the coarse points, and 3^(coarsened axes) - 1 weights for each of them. */
typedef struct kryi_box_transfer {
    kry_device *dev; /* borrowed */
    kry_type type;
    kryi_box_grid fine, coarse;
    unsigned coarsened; /* mask of axes */
    int weights;        /* of a coarse point */
    cl_mem numbers;     /* owned: weights coarse.n; 0 where there is no fine point */
    kryi_kernel *prolong, *restrict_;
} kryi_box_transfer;

/* P with weights that are zero yet. */
kry_status kryi_box_transfer_create(kry_device *dev, kry_type type, const kryi_box_grid *fine,
                                    unsigned coarsened, kry_op **P);
kryi_box_transfer *kryi_box_transfer_of(const kry_op *op);

/* ---- box_setup.c: kernels that read the stencil of a grid ---- */

/* A stencil of a grid operator with constant or other coefficients, or a box: one of the two is not NULL; borrowed. */
typedef struct kryi_box_source {
    kry_device *dev;
    kry_type type;
    const kryi_stencil *stencil;
    const kryi_box *box;
    kryi_box_grid grid;
} kryi_box_source;
kryi_box_source kryi_box_source_of(const kry_op *A);

kry_status kryi_box_grid_of(const kry_op *A, kryi_box_grid *grid);
/* The weights of P from A, then the numbers of `coarse`: P'A P. */
kry_status kryi_box_weigh(const kryi_box_source *A, kry_op *P);
kry_status kryi_box_galerkin(const kryi_box_source *A, const kry_op *P, kry_op *coarse);
/* highest[i] := a bound of the eigenvalues of D^-1 A[i], D its diagonal, of boxes that lie on one device; infinite
 * if D is not positive. Waits. */
kry_status kryi_box_bounds(kry_op *const *A, int count, double *highest);
/* For each axis of the mask the sum over the points, or those of a window, of its coupling in units of the strongest one
 * there. Waits. */
kry_status kryi_box_strength(const kryi_box_source *A, unsigned axes, const kryi_window *own,
                             double strength[3]);

/* The arguments work, nx, ny, nz, wraps of kernels. */
typedef struct kryi_box_args {
    cl_int work, size[3], wraps;
} kryi_box_args;
kryi_box_args kryi_box_args_of(const kryi_box_grid *grid);
#define KRY_BOX_ARGS(g) \
    ARG((g).work), ARG((g).size[0]), ARG((g).size[1]), ARG((g).size[2]), ARG((g).wraps)

#endif
