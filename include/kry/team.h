/*
 * team.h - several devices of one process as one: rows are split among them, and everything that
 * works on one device works on the team.
 */
#ifndef KRY_TEAM_H
#define KRY_TEAM_H

#include <kry/op.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kry_team_params {
    size_t struct_size;
    const double *shares; /* relative speed of each part, > 0; NULL: their measured bandwidth */
    bool use_all;         /* else problems too small to gain from more devices use fewer */
    bool by_graph;        /* split matrices by METIS, for short messages; else in blocks of rows */
    bool reproducible; /* conjugate gradients give the same bits whatever the number of parts, at a
                             price: see below. Not with by_graph */
} kry_team_params;
#define KRY_TEAM(...) (&(kry_team_params){ .struct_size = sizeof(kry_team_params), __VA_ARGS__ })

/*
 * A device made of parts.
 *
 *   parts   devices opened or wrapped, each with a queue of its own; they may belong to different
 *           contexts and platforms. Kept; not to be used for anything else as long as the team is
 *   count   1 or more
 *   params  NULL: the defaults
 *
 * Vectors and operators made on the team lie on all its parts. Rows are split when the first vector or
 * operator of that many rows is made, so make the operator first: then the split suits it. A matrix is
 * split so that nonzeros are balanced, a grid along its last axis. Where one part has no double
 * precision, the team has none.
 *
 * Reproducible: teams of 1, 2, 3 ... parts of the same kind give the same x, residuals and iterations,
 * bit for bit, without a preconditioner and with those that are elementwise or made of products (Jacobi,
 * Chebyshev, Neumann). Sums are of chunks of rows that depend on the problem alone, added up in one
 * order; every row of a matrix is summed from its first entry to its last. Matrices are stored as sell
 * or ell, and the fused passes of products are not taken; launches are not tuned ones:
 * docs/reproducibility.md has the price.
 *
 * One thread at a time: a second one that wants the parts to run is refused.
 *
 * One host thread works for each part, the caller's for the first; they sleep between calls.
 *
 * Returns  KRY_ERR_ARGUMENT for a device that is given twice, is a team itself or is in one already,
 *          shares that are not positive, and by_graph together with reproducible; KRY_ERR_UNSUPPORTED for
 *          reproducible sums on devices whose groups have less than 128 work-items; KRY_ERR_MEMORY. Waits.
 */
KRY_API KRY_MUST_CHECK kry_status kry_team_create(kry_device *const *parts, int count,
                                                  const kry_team_params *params, kry_device **team);

/* Parts of a team; 1 for a plain device. */
KRY_API int kry_team_size(const kry_device *device);
/* Part i, borrowed; the device itself if it is no team. NULL: there is none. */
KRY_API kry_device *kry_team_part(const kry_device *device, int i);

/* How many parts hold rows of v, and what part i holds: rows *first ... of v in blocks of rows (by
 * METIS: places), as a vector on that part's device. Borrowed numbers, to be released. */
KRY_API int kry_vec_parts(const kry_vec *v);
KRY_API KRY_MUST_CHECK kry_status kry_vec_part(const kry_vec *v, int i, int64_t *first,
                                               kry_vec **part);

#ifdef __cplusplus
}
#endif
#endif
