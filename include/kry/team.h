/* team.h - several devices of one process as one: rows are split among them, and everything that works on
 * one device works on the team. */
#ifndef KRY_TEAM_H
#define KRY_TEAM_H

#include <kry/op.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kry_team_params {
    size_t struct_size;
    const double *shares; /* relative speed of each part, > 0; NULL: their measured bandwidth */
    bool use_all;         /* use all devices for every problem; default: small problems use fewer */
    bool by_graph; /* let METIS split matrices, so that parts exchange few numbers; default: blocks
                          of consecutive rows */
    bool reproducible; /* the same bits on any number of parts, see below; not with by_graph */
    double
        timeout; /* teams of ranks (kry/transport.h): seconds that a rank waits for others before it
                          gives up, and the team with it; 0: for ever */
} kry_team_params;
#define KRY_TEAM(...) KRY_PARAMS(kry_team_params, __VA_ARGS__)

/*
 * Make one device of several.
 *
 *   parts   devices that were opened or wrapped, each with a queue of its own, of any contexts and
 *           platforms. Retained. Do not use them for anything else while the team exists
 *   count   1 to 64
 *   params  NULL: the defaults
 *
 * Vectors and operators that are made on the team lie on all its parts. The first of n rows decides how n
 * rows are split, so make the operator first: a matrix is split so that parts have equal work, a grid into
 * slabs or blocks (kry/stencil.h). If one part has no double precision the team has none. Parts that are the
 * device "host" share out its threads.
 *
 * Reproducible: teams of 1, 2, 3 ... parts of one kind give the same x, residuals and iterations, bit for
 * bit, without a preconditioner or with Jacobi, Chebyshev or Neumann (docs/precision.md).
 *
 * Each part has a host thread (the first part the caller's), which sleeps between calls. Only one thread at
 * a time may call functions that use the team; a second one is refused.
 *
 * Returns  KRY_ERR_ARGUMENT for a device that is given twice, is a team itself or is in one already,
 *          shares that are not positive, and by_graph together with reproducible; KRY_ERR_UNSUPPORTED for
 *          reproducible sums on devices whose groups have less than 128 work-items, and for a host beside a
 *          device without double precision; KRY_ERR_MEMORY. Waits.
 */
KRY_API KRY_MUST_CHECK kry_status kry_team_create(kry_device *const *parts, int count,
                                                  const kry_team_params *params, kry_device **team);

/* Parts of a team; 1 for a plain device. */
KRY_API int kry_team_size(const kry_device *device);
/* Part i, borrowed; the device itself if it is no team. NULL: there is none. */
KRY_API kry_device *kry_team_part(const kry_device *device, int i);

/* The words that one part exchanges with the others for y := A x. */
typedef struct kry_part_volume {
    int64_t rows;
    int64_t entries;        /* as kry_op_info.nnz */
    int64_t coupled;        /* rows that need at least one word of another part */
    int64_t received, sent; /* words: entries of x, each counted once for a receiver */
    int neighbours;         /* other parts that it receives from or sends to */
} kry_part_volume;

/*
 * Count what the parts of a team would send each other in a product with A, without making the team.
 *
 *   n, row_ptr, col  [in]  the pattern of an n-by-n matrix in compressed rows, as for kry_csr_create
 *   parts            1 ... n, of equal speed
 *   by_graph         split by METIS; else in blocks of rows, each with the same share of the work
 *   volume           [out]  parts
 *
 * Returns  KRY_ERR_ARGUMENT for an index or a number of parts out of range (message: which);
 *          KRY_ERR_UNSUPPORTED by_graph without METIS; KRY_ERR_MEMORY
 * Source   A. Cevahir, A. Nukada, S. Matsuoka, ICCS 2009, sections 3.3 and 4.2
 */
KRY_API KRY_MUST_CHECK kry_status kry_team_volume(int64_t n, const int64_t *row_ptr,
                                                  const int32_t *col, int parts, bool by_graph,
                                                  kry_part_volume *volume);

/* The number of parts that hold rows of op, the first ones of its team; 1 on a plain device, 0 for NULL. */
KRY_API int kry_op_parts(const kry_op *op);
/*
 * Find out what part i of an operator has, and exchanges with the others in a product.
 *
 *   op      a stored matrix or a grid (kry/stencil.h). Of any other operator all but .rows and .entries is -1;
 *           .coupled is -1 for matrices of teams with reproducible sums, too
 *   i       0 ... kry_op_parts(op) - 1; on ranks (kry/transport.h) kry_team_rank alone
 *   volume  [out]
 *
 * Returns  KRY_ERR_ARGUMENT for a part that there is none of, or that is in another process
 */
KRY_API KRY_MUST_CHECK kry_status kry_op_volume(const kry_op *op, int i, kry_part_volume *volume);

/* The number of parts that hold rows of v. kry_vec_part gives a view of what part i holds, on that part's
 * device: the rows from *first on, or if METIS split them those places of its order. Release the view; it
 * shares the numbers of v. */
KRY_API int kry_vec_parts(const kry_vec *v);
/* How many rows of v are in this process, and which is the first (NULL: not wanted): all of them, unless
 * the parts are ranks (kry/transport.h). */
KRY_API int64_t kry_vec_rows_here(const kry_vec *v, int64_t *first);
KRY_API KRY_MUST_CHECK kry_status kry_vec_part(const kry_vec *v, int i, int64_t *first,
                                               kry_vec **part);

/* Which row of v is the i-th of those that kry_vec_read and kry_vec_write move here, i < kry_vec_rows_here: i; on ranks
 * first + i, but of a grid in blocks (kry/stencil.h) the unknown that it is. -1: there is none. */
KRY_API int64_t kry_vec_row(const kry_vec *v, int64_t i);

#ifdef __cplusplus
}
#endif
#endif
