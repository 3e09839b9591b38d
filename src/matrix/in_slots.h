/* in_slots.h - the numbers of a stored matrix on the host, as they go to the device. */
#ifndef KRY_IN_SLOTS_H
#define KRY_IN_SLOTS_H

#include "matrix/matrix.h"

/* Facts that were seen of the numbers of a matrix. */
typedef struct kryi_seen {
    bool finite;
    bool singles;   /* all are singles that no device flushes to 0; */
    bool unfit;     /* one would be infinite in single, or is not 0 and may be flushed to 0; */
    bool compared;  /* with their mirror images: */
    bool symmetric; /* the matrix is, to the bit, pattern and numbers */
} kryi_seen;
extern const kryi_seen kryi_seen_nothing; /* of no numbers */
/* Add the facts of more numbers, but for mirror images. */
static inline void kryi_seen_add(kryi_seen *all, const kryi_seen *more)
{
    all->finite &= more->finite;
    all->singles &= more->singles;
    all->unfit |= more->unfit;
}

/* The type in which numbers are stored: their own, or single. */
kry_type kryi_stored_type(kry_type type, kry_values values, const kryi_seen *seen);
/* Returns  KRY_ERR_ARGUMENT naming the first number that is too large for single, or not 0 and too small. */
kry_status kryi_values_fit_single(const char *who, int64_t nnz, const double *v);
/* Add to *seen what numbers begin ... end - 1 are like, on the caller's thread. */
void kryi_numbers_see_range(kry_type type, const void *val, int64_t begin, int64_t end,
                            kryi_seen *seen);
/* seen: of so many numbers, but for mirror images. */
void kryi_numbers_see(kry_type type, const void *val, int64_t count, kryi_seen *seen);
/* kryi_numbers_see, and a check. Returns  KRY_ERR_ARGUMENT naming the first number that is not finite */
kry_status kryi_numbers_check(const char *who, kry_type type, const void *val, int64_t count,
                              kryi_seen *seen);
/* out, A->slots numbers := those of the entries in their slots, zeros elsewhere. zero: all are before. */
void kryi_matrix_to_slots(const kryi_matrix *A, kry_type stored, const void *sorted, bool zero,
                          void *out);
/* Check in_slots, which kryi_matrix_to_slots made of `sorted`. Returns  KRY_ERR_ARGUMENT for mirror images that share a slot
 * and differ */
kry_status kryi_matrix_check_shared(const kryi_matrix *A, const char *who, kry_type stored,
                                    const void *sorted, void *in_slots);

#endif
