/*
 * subspace.h - the deflation subspace Z, n-by-k: piecewise constant by labels, which is never
 * stored as a matrix, or a dense block of the caller's vectors.
 */
#ifndef KRY_SUBSPACE_H
#define KRY_SUBSPACE_H

#include "operator/op.h"

typedef struct kry_subspace {
    kry_device *dev; /* borrowed */
    kry_type type;
    int64_t n, k;
    kry_vec *vectors; /* n-by-k; NULL: by labels, as all below */
    int32_t *labels;  /* host; as in kry_subdomains */
    cl_mem label;     /* the same on the device, 16 bits each where k allows */
    /* The unknowns of each label in pieces of up to eight neighbours; the pieces of a label are cut
     * into segments, each of which is summed by one group of work-items. */
    cl_mem piece_start, piece_length, segment; /* segment: its first piece; segments + 1 */
    cl_mem label_segment, part; /* first segment of each label, k + 1, and room for their sums;
                                   NULL: each label is one segment */
    cl_int segments;
    int64_t filled; /* segments with pieces: on a part of a team labels may have none */
    double piece_count;
    cl_mem kept; /* Z'v of the last restriction, k numbers */
    struct {
        kry_kernel *restrict_, *finish, *prolong, *correct, *add;
    } kernel;
} kry_subspace;

/* Which vectors: those of the caller, or by labels 0 ... count - 1 of n unknowns. */
typedef struct kry_subdomains {
    const kry_vec *vectors; /* borrowed; NULL: by labels */
    int64_t count;
    int32_t *labels; /* n + beyond; behind the n those of unknowns on other parts (galerkin.h) */
    int64_t beyond;
} kry_subdomains;

/* Labels or vectors are copied. Waits.
 * Returns  KRY_ERR_ARGUMENT for a vector that is zero or not finite. */
kry_status kry_subspace_create(kry_device *dev, kry_type type, int64_t n, const kry_subdomains *s,
                               kry_subspace *Z);
void kry_subspace_release(kry_subspace *Z);

/* w := Z'v; of a part's rows, what they add to it. None of these waits. */
kry_status kry_subspace_restrict(kry_subspace *Z, const kry_vec *v, kry_vec *w);
/* y := alpha Z c + beta y; with beta == 0, y is not read */
kry_status kry_subspace_prolong(kry_subspace *Z, double alpha, const kry_vec *c, double beta,
                                kry_vec *y);
/* z += Z c and sum := (r.z, r.r) */
kry_status kry_subspace_correct(kry_subspace *Z, const kry_vec *c, const kry_vec *r, kry_vec *z,
                                kry_sum *sum);
/* z += Z c. In: sum is that of (r.z, r.r) for this z, and the last restriction was of r; out: that
 * of the new z. Not for vectors. */
kry_status kry_subspace_add(kry_subspace *Z, const kry_vec *c, kry_vec *z, kry_sum *sum);
/* Bytes that a restriction and a correction move, by the model. */
double kry_subspace_restrict_bytes(const kry_subspace *Z);
double kry_subspace_correct_bytes(const kry_subspace *Z);

#endif
