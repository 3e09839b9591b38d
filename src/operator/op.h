/* op.h - operators behind their public handle: the table with its defaults filled in, for solvers. */
#ifndef KRY_OP_INTERNAL_H
#define KRY_OP_INTERNAL_H

#include "vector/vec.h"
#include <kry/solver.h>

typedef struct kryi_cg kryi_cg; /* direction.h */
typedef struct kryi_relax kryi_relax;
typedef struct kryi_resident_cg kryi_resident_cg; /* resident.h */

/* w := first r,  M r = w - second w, for matrices with a part of A's entries each */
typedef struct kryi_factors {
    const kry_op *A, *first, *second; /* borrowed; all assembled */
} kryi_factors;

/* z_0 := c[0] D^-1 r,  z_k := z_k-1 + c[2k-1] (z_k-1 - z_k-2) + c[2k] D^-1 (r - A z_k-1),  M r = z_degree */
enum { KRY_POLYNOMIAL_DEGREE = 32 }; /* at most */
typedef struct kryi_polynomial {
    const kry_op *A;  /* borrowed */
    const kry_vec *d; /* borrowed: D^-1 */
    int degree;       /* >= 1; z_-1 is 0 */
    double c[2 * KRY_POLYNOMIAL_DEGREE + 1];
} kryi_polynomial;

/* An entry of a matrix that speaks against Krylov methods, and sizes of rows. */
typedef struct kryi_finding {
    enum {
        KRY_FOUND_NOTHING,
        KRY_FOUND_ASYMMETRIC,
        KRY_FOUND_NOT_POSITIVE,
        KRY_FOUND_UNSEEN /* the numbers are in a caller's buffer: the host does not see them */
    } what;
    int64_t row, col;     /* of one such entry, from 0 */
    double entry, mirror; /* a_ij and a_ji */
    bool negative;        /* all diagonal entries are */
    int64_t zero_rows,
        zero_row; /* rows without an entry that is not zero: how many, and the first */
    /* The least and the largest, over the other rows, of a row's largest |a_ij|; 0: not known */
    double least_row, largest_row;
} kryi_finding;

/* A null space that was found, without a promise: the matrix maps it to zero from both sides, and x and b have no part there. */
typedef struct kryi_null_found {
    /* `updates` of the numbers that were looked at, or that map the vectors to zero as well, and one; 0: nobody has asked */
    int64_t seen;
    /* unconnected parts whose rows add up to zero, and rows without entries, from both sides or not */
    int64_t parts, empty;
    int64_t both;     /* of the parts: whose columns add up to zero, too */
    bool constants;   /* constant vectors, and no others */
    kry_vec *vectors; /* orthonormal; owned; NULL: constants, or nothing */
} kryi_null_found;

/* Operators of the library may do more in one pass than the public table says: steps of methods. NULL: not
 * offered. Vectors have one column of at least one number, and are views that start anywhere, but for
 * those "from element 0", which are whole buffers. */
typedef struct kryi_op_fused {
    /* The direction with its product. All vectors from element 0. Default: the direction, then apply_dot. Where there is
     * apply_step, q is NULL. */
    kry_status (*apply_direction)(void *self, const kryi_cg *cg);

    /* The step, where A p costs less to form again than to store. All but x and r from element 0. With
     * apply_direction only. */
    kry_status (*apply_step)(void *self, const kryi_cg *cg);

    /* Get ready for those two with vectors and sums of several columns, which begin at multiples of p->ld or
     * x->ld. NULL: they take one. */
    kry_status (*prepare_columns)(void *self);
    /* Whether so many columns gain from those two for all of them at once, where nothing preconditions. */
    bool (*columns_gain)(void *self, int columns);

    /* Make conjugate gradients in one kernel (resident.h), preconditioned by M; NULL: by none. Waits.
     * Returns  KRY_ERR_UNSUPPORTED if that cannot be done, or would be slower. */
    kry_status (*make_resident)(void *self, const kry_op *M, kryi_resident_cg **R);

    /* M as a polynomial in a matrix, if it is one of few terms; as products with two parts of one. False: it is not. */
    bool (*as_polynomial)(void *self, kryi_polynomial *p);
    bool (*as_factors)(void *self, kryi_factors *f);

    /* y := x + c0 (x - old) + c1 D^-1 (b - A x), D the diagonal; s carries c0, c1, b, x and old. x
     * NULL: zero, so that y := c1 D^-1 b; old NULL: zero; old may be y. sum NULL: none; of width 1: of
     * the squared b - A x; of width 2: the pair (b.y, b.b). s NULL: get ready for that, and no more.
     * Default: residual, then a pass over vectors, if there is a diagonal. */
    kry_status (*relax)(void *self, const kryi_relax *s, kry_vec *y, kry_sum *sum);

    /* r := b - A x and sum := r.r; r may be b. */
    kry_status (*residual_sum)(void *self, const kry_vec *b, const kry_vec *x, kry_vec *r,
                               kry_sum *sum);

    /* y := unit[1] (x + c D^-1 (unit[0] b - A x)) for A and x in single, x from element 0, b and y in double;
     * dots := (b.y, b.b). x NULL: get ready for that, and no more. */
    kry_status (*relax_widening)(void *self, double c, cl_mem unit, const kry_vec *b,
                                 const kry_vec *x, kry_vec *y, kry_sum *dots);

    /* z := op r and sum := the pair (r.z, r.r), as apply_dots, where sum has r.r as its second number already. */
    kry_status (*apply_dots_again)(void *self, const kry_vec *r, kry_vec *z, kry_sum *sum);

    /* r := b - A x of several columns; r may be b, and b x. Default: a copy of b, then apply_block. */
    kry_status (*residual_block)(void *self, const kry_vec *b, const kry_vec *x, kry_vec *r);

    /* y := x + c d .* (b - A x) for a diagonal matrix d, of one column or several; y overlaps none of the others. */
    kry_status (*relax_by)(void *self, double c, const kry_vec *d, const kry_vec *b,
                           const kry_vec *x, kry_vec *y);

    /* x += omega D^-1 (b - A x) in place for the rows of `colour`, 0 ... colours(self) - 1; rows of one
     * colour do not touch each other. b NULL: get ready for that, and no more. */
    int (*colours)(void *self);
    kry_status (*sweep_colour)(void *self, int colour, double omega, const kry_vec *b, kry_vec *x);

    /* c > 0 if the operator is y = c x now and after every update, else 0: a preconditioner that only
     * scales is left out. */
    double (*as_scalar)(void *self);

    /* Make the operator's numbers again, of those that the operators have now of which it is made. In place of the public
     * table's `update`, for whatever takes no values itself. */
    kry_status (*renew)(void *self);

    /* Find out whether the numbers that were just given to kry_op_update speak against conjugate gradients. */
    kry_status (*inspect)(void *self, const void *values, kryi_finding *found);

    /* The operator is a kryi_matrix. */
    bool is_stored_matrix;

    /* KRY_SINGULAR holds by construction and after every update: no product has to check it. */
    bool sums_to_zero;

    /* The operator is a preconditioner that is not symmetric where A is: no method that needs a symmetric one may
     * use it. NULL: it is symmetric, or that is not known. */
    bool (*is_unsymmetric)(const void *self);

    /* A solver may leave the work to another one: `inner` is that one, borrowed, and `set_stop` sets the criteria of both. */
    const kry_op *(*inner)(const void *self);
    kry_status (*set_stop)(void *self, const kry_stop *stop);
} kryi_op_fused;

struct kry_op {
    atomic_int refs;
    kry_device *dev;
    const kry_op_table *table;
    const kryi_op_fused *fused; /* never NULL */
    void *self;
    kry_op_shape shape;
    kry_vec *null_space;        /* orthonormal; NULL: constants if KRY_SINGULAR, else nothing */
    kryi_null_found null_found; /* where neither was said */
    kry_vec *near_null_space;   /* as given; NULL: nothing is known; owned */
    int64_t updates;            /* how often its numbers may have changed */
    const char *chosen;         /* why auto took it; static; NULL: it did not */
    kryi_spent setup;           /* by its constructor; of solvers with what they are made of */
    bool inspected;             /* new numbers are looked at: it is a matrix of a caller's */
    kryi_finding found;         /* in the numbers that it has now */
    kry_stop stop;              /* of a solver: as given, see kry_solver_get_stop */
    struct kry_column
        *column;            /* of a solver: what the last solve of several columns found; owned */
    atomic_uintptr_t owner; /* the thread that uses it; 0: none */
    int uses;               /* of that thread, within each other */
    bool solving;           /* kry_solve or kry_op_apply of this solver has not returned */
    kry_op_table *
        extended; /* NULL, or behind `table`: an earlier version's with the entries of this one; owned */
};
/* kry_op_create with fused passes, which are static and kept by pointer. */
kry_status kryi_op_create_fused(kry_device *dev, const kry_op_table *table,
                                const kryi_op_fused *fused, void *self, const kry_op_shape *shape,
                                kry_op **op);
/* Keep an operator for this thread until kryi_op_let_go: it has room for one piece of work at a time. A thread that keeps
 * it may use it again within that, but for a solver whose own solve is under way. NULL is nothing to keep. kryi_op_begin_solve
 * is for a solver that is about to solve, and lasts until kryi_op_end_solve; `nested`: it may be a part of another solve.
 * Returns  KRY_ERR_ARGUMENT "... is at work" in the name of the public function `who`. */
kry_status kryi_op_keep(const char *who, const kry_op *op);
void kryi_op_let_go(const kry_op *op);
kry_status kryi_op_begin_solve(const char *who, const kry_op *op, bool nested);
void kryi_op_end_solve(const kry_op *op);
/* Check x of `cols` and y of `rows` rows: the type and the device of op, no overlap. who: the function that
 * was called. */
kry_status kryi_op_check_operands(const char *who, const kry_op *op, const kry_vec *x, int64_t cols,
                                  const kry_vec *y, int64_t rows);
kry_status kryi_op_check_square(const char *who, const kry_op *op);
/* Refuse bits that are no traits, and a rectangular operator that is said to be symmetric. */
kry_status kryi_op_check_traits(const char *who, int64_t rows, int64_t cols, unsigned traits);
/* Something was found in the numbers that op has now; it counts where nothing is promised. */
static inline bool kryi_op_found_null(const kry_op *op)
{
    const kryi_null_found *F = &op->null_found;
    return F->seen == op->updates + 1 && (F->constants || F->vectors);
}
/* Constants, and nothing else, are mapped to zero: as promised, or as found. */
static inline bool kryi_op_loses_constants(const kry_op *op)
{
    return !op->null_space && (op->shape.traits & KRY_SINGULAR ||
                               (kryi_op_found_null(op) && op->null_found.constants));
}
/* The orthonormal vectors that op maps to zero where these are not constants; else NULL. Borrowed. */
static inline kry_vec *kryi_op_null_vectors(const kry_op *op)
{
    if (op->null_space || op->shape.traits & KRY_SINGULAR) return op->null_space;
    return kryi_op_found_null(op) ? op->null_found.vectors : NULL;
}
static inline bool kryi_op_is_singular(const kry_op *op)
{
    return kryi_op_loses_constants(op) || kryi_op_null_vectors(op);
}
/* y := alpha op x + beta y by run(self, x, y), which does y := op x; if alpha is not 1 or beta not 0, by
 * way of a vector that is made for it. */
typedef kry_status kryi_plain_apply(void *self, const kry_vec *x, kry_vec *y);
kry_status kryi_op_apply_by(kryi_plain_apply *run, void *self, double alpha, const kry_vec *x,
                            double beta, kry_vec *y);
/* The diagonal that op multiplies by; NULL: op is none, or NULL. */
static inline const kry_vec *kryi_op_as_diagonal(const kry_op *op)
{
    return op && op->table->as_diagonal ? op->table->as_diagonal(op->self) : NULL;
}
/* The function that applies the transpose of op, which is op->table->apply if it is symmetric; NULL: op offers no transpose. */
typedef kry_status kryi_apply(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y);
kryi_apply *kryi_op_transpose(const kry_op *op);
/* Solvers call these functions, with vectors and sums of one column or of several. y := alpha op x + beta y */
kry_status kryi_op_run_apply(const kry_op *op, double alpha, const kry_vec *x, double beta,
                             kry_vec *y);
/* r := b - op x; b may be r, or x */
kry_status kryi_op_run_residual(const kry_op *op, const kry_vec *b, const kry_vec *x, kry_vec *r);
/* y := op x and sum := x.y */
kry_status kryi_op_run_dot(const kry_op *op, const kry_vec *x, kry_vec *y, kry_sum *sum);
/* matrix.c: a stored matrix that is not in flux form: kryi_op_make_copy may scale it by a diagonal. */
bool kryi_op_is_assembled(const kry_op *op);
/* convert.c: kry_op_convert of factor S A S; *copy not NULL: it gets the numbers that A has now. */
kry_status kryi_op_make_copy(const char *who, const kry_op *A, kry_type type, double factor,
                             const double *scale, kry_op **copy);
/* For kry_op_convert: numbers of one type as numbers of another, in a new array: factor times v. Names the first that
 * does not fit. */
kry_status kryi_numbers_convert(const char *what, kry_type from, const void *v, int64_t count,
                                double factor, kry_type to, void *out);
/* z := op r and the pair (r.z, r.r) */
kry_status kryi_op_run_dots(const kry_op *op, const kry_vec *r, kry_vec *z, kry_sum *sum);
/* kryi_op_run_dots for a sum that has r.r as its second number already, which op may want to know. */
kry_status kryi_op_run_dots_again(const kry_op *op, const kry_vec *r, kry_vec *z, kry_sum *sum);

/* kryi_op_fused.relax is given this. */
struct kryi_relax {
    double c0, c1;
    const kry_vec *b, *x, *old; /* x, old: NULL for zero; old is not read if c0 == 0 */
    double x_scale, old_scale;  /* 0: none; else x stands for x_scale x, old for old_scale old. For
                                   operators that offer relax: saves writing down a multiple of b */
};

#endif
