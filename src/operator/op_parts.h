/*
 * op_parts.h - operators on a team of devices: an operator on each part, which sees its own rows only.
 *
 * A module writes what it does once, for one device, and the functions below run it there or on every
 * part of a team at once. Parts meet in sums (device/layout.h) and exchanges (operator/halo.h), which do
 * nothing on one device.
 */
#ifndef KRY_OP_PARTS_H
#define KRY_OP_PARTS_H

#include "base/params.h"
#include "operator/op.h"

/* ---- the same code here or on every part ----------------------------------------------------- */

/* The operands of a call: all rows of them, or those of one part. */
typedef struct kryi_call {
    const kry_op *A;
    double alpha, beta;
    const kry_vec *b, *x; /* NULL: the call has none */
    kry_vec *y;
    void *more; /* whatever else the call needs, shared by all parts */
} kryi_call;
typedef kry_status kryi_call_here(const kryi_call *here);

/* call(all), or on a team call() on every part at once with its A, b, x and y. */
kry_status kryi_op_call(const kryi_call *all, kryi_call_here *call);

/* Make an operator from A on one device. params: shared by all parts. */
typedef kry_status kryi_create_here(const kry_op *A, const void *params, kry_op **out);
/* create(A, params, out), or the operator on A's team of what create makes on every part. */
kry_status kryi_op_make(const kry_op *A, kryi_create_here *create, const void *params,
                        kry_op **out);

/* How a public function makes an operator from A and its parameters. */
typedef struct kryi_constructor {
    const char *name, *macro; /* of the function, and of the macro that makes its parameters */
    size_t params_size;
    /* NULL: there are no parameters, or their defaults are filled in, and they have been compared between ranks. Else
     * fields out of range are refused; `check` and `create` find the defaults filled in. */
    const kryi_field *fields;
    size_t operand[2]; /* where the parameters hold operators (const kry_op *); 0: nothing */
    /* Check A and params as the caller gives them, of all rows; NULL: nothing to check. */
    kry_status (*check)(const kry_op *A, const void *params);
    kryi_create_here *create;
    bool any_shape; /* else A is square */
} kryi_constructor;

/* Check A and params (NULL: the defaults), then create here or on every part, with the part's A and
 * its operators among the parameters. */
kry_status kryi_construct(const kryi_constructor *how, const kry_op *A, const void *params,
                          kry_op **out);

/* ---- operators that are made part by part ---------------------------------------------------- */

/* Make one part's operator, within a run of all parts. */
typedef kry_status kryi_make_part(const void *user, int rank, kry_op **local);

/* How an operator on a team takes new values; for kinds that take any. */
typedef struct kryi_parts_extra {
    void *self; /* owned */
    /* Check the values of kry_op_update, on the caller's thread. A failure changes nothing. */
    kry_status (*prepare)(void *self, const void *values);
    /* Hand a part its share, within a run. */
    kry_status (*update)(void *self, int rank, kry_op *local);
    /* kryi_op_fused.inspect of the values that were prepared; NULL: not offered. */
    kry_status (*inspect)(void *self, kryi_finding *found);
    void (*destroy)(void *self);
    /* Instead of these: */
    bool whole_values; /* every part is given all values and takes its own */
    const kry_op *of;  /* values go to this operator, of which the parts are made; retained */
} kryi_parts_extra;

/* The operator of what `make` makes on each part that has rows of `split`. extra: NULL, or taken over if
 * the call succeeds. */
kry_status kryi_parts_create(kry_device *team, kryi_split *split, const kryi_parts_extra *extra,
                             kryi_make_part *make, const void *user, kry_op **op);
extern const kry_op_table kryi_parts_table;

bool kryi_op_in_parts(const kry_op *op);     /* whether op lies on a team */
kryi_split *kryi_op_split(const kry_op *op); /* borrowed; op lies on a team */
/* op's part; NULL for NULL, so that optional operators need no test. */
const kry_op *kryi_op_on_part(const kry_op *op, int rank);
/* Return the operator on part r of kry_op_parts(op), which on one device is op itself. */
const kry_op *kryi_op_piece(const kry_op *op, int r);
/* The parts begin ... end - 1 of an operator are in this process. */
typedef struct kryi_here {
    int begin, end;
} kryi_here;
kryi_here kryi_op_here(const kry_op *op);
const kry_op *kryi_op_first(const kry_op *op); /* the first of these */
/* Whether op lies on ranks, of whose rows this process has some only. */
bool kryi_op_on_ranks(const kry_op *op);

#endif
