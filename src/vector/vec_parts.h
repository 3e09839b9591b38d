/*
 * vec_parts.h - vectors on a team of devices: a vector for each part.
 */
#ifndef KRY_VEC_PARTS_H
#define KRY_VEC_PARTS_H

#include "team/team.h"
#include "vector/vec.h"

kry_status kry_vec_allocate_parts(kry_vec *v); /* if it fails, release v */
void kry_vec_release_parts(kry_vec *v);
kry_status kry_vec_share_parts(const kry_vec *block, kry_vec *v); /* v: a view of block */
kry_status kry_vec_write_parts(kry_vec *v, const void *host);
kry_status kry_vec_read_parts(const kry_vec *v, void *host);

/* What part `rank` has of v: borrowed, for the caller's stack. */
kry_vec kry_vec_on_part(const kry_vec *v, int rank);

#endif
