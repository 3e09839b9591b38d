/*
 * op.h - operators behind their public handle: the table with its defaults filled in, for solvers.
 */
#ifndef KRY_OP_INTERNAL_H
#define KRY_OP_INTERNAL_H

#include "vector/vec.h"

/* ---- op.c: the table with its defaults filled in, for solvers; nothing is checked ---- */

struct kry_op {
    atomic_int refs;
    kry_device *dev;
    const kry_op_table *table;
    void *self;
    kry_op_shape shape;
    kry_vec *null_space; /* orthonormal; NULL: constants if KRY_SINGULAR, else nothing */
};
/* `who` names the function that was called. */
/* x of `cols` and y of `rows` rows: the type and the device of op, no overlap. */
kry_status kry_op_check_operands(const char *who, const kry_op *op, const kry_vec *x, int64_t cols,
                                 const kry_vec *y, int64_t rows);
kry_status kry_op_check_square(const char *who, const kry_op *op);
/* Constants, and nothing else, are mapped to zero. */
static inline bool kry_op_loses_constants(const kry_op *op)
{
    return (op->shape.traits & KRY_SINGULAR) && !op->null_space;
}
/* y := op x and sum := x.y */
kry_status kry_op_run_dot(const kry_op *op, const kry_vec *x, kry_vec *y, kry_sum *sum);
kry_status kry_op_run_direction(const kry_op *op, const kry_direction *d, kry_vec *p, kry_vec *q,
                                kry_sum *sum);
/* matrix.c: a stored matrix that is not in flux form: its twin may be scaled by a diagonal. */
bool kry_op_is_assembled(const kry_op *op);
/* twin.c: the same as kry_op_twin of factor S A S; *twin not NULL: its numbers again. */
kry_status kry_op_make_twin(const char *who, const kry_op *A, kry_type type, double factor,
                            const double *scale, kry_op **twin);
/* Numbers of one type as numbers of another, in a new array: factor times v. Names the first that
 * does not fit. */
kry_status kry_numbers_convert(const char *who, const char *what, kry_type from, const void *v,
                               int64_t count, double factor, kry_type to, void *out);
/* z := op r and the pair (r.z, r.r) */
kry_status kry_op_run_dots(const kry_op *op, const kry_vec *r, kry_vec *z, kry_sum *sum);

/* What kry_op_table.relax is given. */
struct kry_relax {
    double c0, c1;
    const kry_vec *b, *x, *old; /* x, old: NULL for zero; old is not read if c0 == 0 */
    double x_scale, old_scale;  /* 0: none; else x stands for x_scale x, old for old_scale old. For
                                   operators that offer relax: saves writing down a multiple of b */
};

#endif
