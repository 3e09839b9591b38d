/* stencil.h - grid operators that store no matrix: -div(k grad u) by five or, in space, seven points. */
#ifndef KRY_STENCIL_H
#define KRY_STENCIL_H

#include <kry/formats.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The boundary condition on a side of the grid. h: the spacing across that side. */
typedef enum kry_side {
    KRY_DIRICHLET,      /* a given value at distance h from the last unknowns: points on a grid */
    KRY_DIRICHLET_FACE, /* a given value at distance h/2, on the face of the last cells */
    KRY_NEUMANN,        /* a given flux through the face of the last cells */
    KRY_PERIODIC        /* the grid goes on at the other side; both sides of an axis or none */
} kry_side;

/* Unknown (i, j, k) is number i + nx (j + ny k). */
typedef struct kry_stencil_params {
    size_t struct_size;
    int64_t size[3];          /* unknowns along x, y, z; size[2] = 0: two axes */
    double spacing[3];        /* h > 0; default 1 */
    double diffusion[3];      /* factor of the second derivative along each axis, > 0; default 1 */
    kry_side low[3], high[3]; /* sides at the first and at the last unknowns of each axis */
    /* n numbers > 0 on the host, copied: k of each cell. The k of a face is the harmonic mean of its two
     * cells. NULL: k = 1 */
    const double *coefficient;
    /* NULL, or for each axis n numbers > 0 on the host, copied: k of the face between cell i and its upper
     * neighbour (periodic: the wrapped one; at the last cells that of the high side, not read if Neumann).
     * They replace the harmonic means; low sides with given values still need `coefficient` */
    const double *face[3];
    /* The operator, in double, stays on a host device beside the one given, which may be without double:
     * for kry_mixed_create */
    bool on_host;
    /* On a team: into how many blocks each axis is cut, as many in all as there are devices, or ranks; with two axes
     * blocks[2] may be 0. All 0: slabs or blocks, by the words that they send (docs/devices.md) */
    int blocks[3];
    /* On ranks: `coefficient` and each of `face` have the cells of the box alone that kry_stencil_part says, and so have the
     * numbers that kry_op_update takes. On other devices the box is the whole grid */
    bool local;
} kry_stencil_params;
#define KRY_STENCIL(...) KRY_PARAMS(kry_stencil_params, __VA_ARGS__)

/*
 * A x = sum over faces f (x_i - x_j), f = diffusion k_f / h^2, with zero values or fluxes on the sides.
 *
 * Symmetric; positive definite if a side has given values, else KRY_SINGULAR: constants give zero.
 * kry_op_update takes n new coefficients in double, or for an operator made with faces n for each axis, x
 * first, in one array (the coefficients stay); until it returns, old and new ones are held.
 *
 * On a team (kry_team_create) each device has consecutive layers of the last axis, rows of a plane grid, planes of one in
 * space; or a block of it, as .blocks says. Make the operator before its vectors. The numbers of a block are those of its
 * unknowns, x fastest; vectors of ranks hold them in this order, and kry_vec_row says which they are.
 *
 * Returns  KRY_ERR_ARGUMENT for sizes, spacings, coefficients or faces that are not positive, 2^31 or more
 *          unknowns, a periodic side without its partner, faces of some axes only, or without the
 *          coefficients that a low side needs, blocks that are not as many as devices or more than unknowns along an
 *          axis; KRY_ERR_SHAPE on a team whose vectors of n rows are split elsewhere; KRY_ERR_UNSUPPORTED for blocks with
 *          reproducible sums.
 */
KRY_API KRY_MUST_CHECK kry_status kry_stencil_create(kry_device *device, kry_type type,
                                                     const kry_stencil_params *params, kry_op **A);

/* A box of a grid: along each axis `size` unknowns from `first` on. Its unknown (i, j, k), counted from its own first one, is
 * number i + size[0] (j + size[1] k). */
typedef struct kry_stencil_box {
    int64_t first[3], size[3]; /* with two axes size[2] is 1 */
} kry_stencil_box;

/*
 * Find out which cells a rank gives with .local, before it has their coefficients or faces: those of its unknowns, and a layer
 * of cells beyond each side where the grid goes on at another rank. Collective.
 *
 *   params  of the whole grid, with its .blocks; coefficients and faces are not looked at
 *   box     [out]  where the grid is periodic it may begin at -1, or end one cell behind the last one: these are the last
 *           cell and the first one. Numbers at the edges of the box, where two such layers meet, are not read
 *
 * On any device that is not made of ranks the box is the whole grid. The rows are cut as kry_stencil_create cuts them with
 * the same parameters, if no vectors of as many rows are made in between.
 *
 * Returns  as kry_stencil_create for sizes, sides and blocks.
 */
KRY_API KRY_MUST_CHECK kry_status kry_stencil_part(kry_device *device,
                                                   const kry_stencil_params *params,
                                                   kry_stencil_box *box);

/*
 * y := A x on the host, for the A that kry_stencil_create makes of the same parameters
 *
 *   type    of A, to which its numbers are rounded; the sums are in double
 *   x       [in]   n numbers
 *   y       [out]  n numbers, no overlap
 *
 * Needs no device. Returns  KRY_ERR_ARGUMENT for NULL.
 */
KRY_API KRY_MUST_CHECK kry_status kry_stencil_apply_host(const kry_stencil_params *params,
                                                         kry_type type, const double *x, double *y);

/* Numbers on a side of the grid: an array over its unknowns, first axis fastest, on the host, or one
 * number for all. Dirichlet: values of u. Neumann: outward fluxes k du/dn. */
typedef struct kry_side_values {
    const double *array; /* NULL: `constant` everywhere */
    double constant;
} kry_side_values;

/*
 * b += what the values on the sides contribute to the right-hand side
 *
 *   low, high  three each; those of periodic sides are not looked at
 *   b          n-by-1
 */
KRY_API KRY_MUST_CHECK kry_status kry_stencil_boundary(const kry_op *A,
                                                       const kry_side_values low[3],
                                                       const kry_side_values high[3], kry_vec *b);

/* The grid that an operator lies on, whole wherever its parts are. */
typedef struct kry_stencil_info {
    int axes;        /* 2 or 3 */
    int64_t size[3]; /* unknowns along each axis; with two axes size[2] is 1 */
    double spacing[3], diffusion[3];
    kry_side low[3], high[3];
    bool varies;  /* k is given for each cell or for each face; else it is 1 */
    bool by_face; /* for each face; else that of a face is the harmonic mean of its two cells */
} kry_stencil_info;

/* *info := what kry_stencil_create made A of, without its numbers.
 * Returns  KRY_ERR_UNSUPPORTED for any other operator */
KRY_API KRY_MUST_CHECK kry_status kry_stencil_describe(const kry_op *A, kry_stencil_info *info);

/* *matrix := the grid operator A as a stored matrix, on a team split in the same places. Waits. */
KRY_API KRY_MUST_CHECK kry_status kry_stencil_matrix(const kry_op *A,
                                                     const kry_matrix_params *params,
                                                     kry_op **matrix);

/*
 * The entries of the grid operator A, rows in order and columns ascending, without a stored matrix in between. Waits.
 *
 *   row_ptr  [out]  rows+1
 *   col      [out]  row_ptr[rows], at most as many as kry_op_describe says in nnz
 *   val      [out]  the same count, of A's type
 *
 * Returns  KRY_ERR_UNSUPPORTED for any other operator, and on ranks (kry/transport.h)
 */
KRY_API KRY_MUST_CHECK kry_status kry_stencil_read(const kry_op *A, int64_t *row_ptr, int32_t *col,
                                                   void *val);

#ifdef __cplusplus
}
#endif
#endif
