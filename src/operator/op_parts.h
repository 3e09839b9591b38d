/*
 * op_parts.h - operators that lie on several devices: an operator on each part.
 */
#ifndef KRY_OP_PARTS_H
#define KRY_OP_PARTS_H

#include "operator/op.h"
#include "vector/vec_parts.h"

/* Make one part's operator, within a run of all parts. */
typedef kry_status kry_make_part(const void *user, int rank, kry_op **local);

/* How an operator on a team takes new values; for kinds that take any. */
typedef struct kry_parts_extra {
    void *self; /* owned */
    /* kry_op_update(op, values): look at them, on the caller's thread. A failure changes nothing. */
    kry_status (*prepare)(void *self, const void *values);
    /* Hand a part its share, within a run. */
    kry_status (*update)(void *self, int rank, kry_op *local);
    void (*destroy)(void *self);
} kry_parts_extra;

/* The operator made of what `make` makes on each part that has rows of `split`. extra: NULL, or taken
 * over if the call succeeds. */
kry_status kry_parts_create(kry_device *team, kry_split *split, const kry_parts_extra *extra,
                            kry_make_part *make, const void *user, kry_op **op);
/* The same on the rows of A, which lies on a team: what constructors do whose A has parts. */
kry_status kry_parts_like(const kry_op *A, kry_make_part *make, const void *user, kry_op **op);
extern const kry_op_table kry_parts_table;
/* A preconditioner of one part, and those of all parts: constructors hand on to this what they were
 * given for an A on a team. */
typedef kry_status kry_precond_of_part(const kry_op *A, const void *params, kry_op **M);
kry_status kry_parts_precond(const kry_op *A, kry_precond_of_part *make, const void *params,
                             kry_op **M);
/* Whether op was made by these; and whether B (NULL: yes) was, for the devices of A. */
bool kry_op_in_parts(const kry_op *op);
kry_status kry_parts_check(const char *who, const kry_op *A, const kry_op *B);
/* op's part; NULL for NULL, so that optional arguments need no test. */
const kry_op *kry_op_on_part(const kry_op *op, int rank);
kry_split *kry_op_split(const kry_op *op); /* borrowed */
/* On how many parts op lies, 1 for any other operator; and what is on part r, that operator itself. */
int kry_op_parts(const kry_op *op);
const kry_op *kry_op_piece(const kry_op *op, int r);

#endif
