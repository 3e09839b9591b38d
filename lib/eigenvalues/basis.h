/*
 * basis.h - a basis on the device, orthonormal in the inner product x'B y, with the images of its vectors.
 */
#ifndef KRY_BASIS_H
#define KRY_BASIS_H

#include "exit.h"
#include <kry/dense.h>

/* Leave for any other status than KRY_OK: a breakdown ends the iteration, too. */
#define MUST(call)                   \
    do {                             \
        st = (call);                 \
        if (st != KRY_OK) goto done; \
    } while (0)

/* Small matrices on the host stand row by row. */
typedef struct kryi_basis {
    kry_device *device;  /* borrowed, as the operators are */
    const kry_op *A, *B; /* B NULL: the identity */
    kry_type type;
    int64_t n;
    int most;    /* columns of V */
    kry_vec *V;  /* n-by-most; owned, as the next two */
    kry_vec *AV; /* of as many columns, or fewer: their images */
    kry_vec *BV; /* n-by-most; V itself without B */
    kry_vec *Q,
        *BQ; /* n-by-q, B-orthonormal: the basis is orthogonal to them; NULL: there are none. BQ is Q without B */
    kry_vec *room;               /* for as many columns as are turned at once */
    kry_vec *small;              /* a small matrix on the device */
    void *numbers;               /* of `small`, in its type */
    double *gram, *vectors, *by; /* small matrices */
    double *values,
        *lengths;     /* eigenvalues of one; lengths of its vectors, and room for 3 most numbers */
    int64_t products; /* columns that A was multiplied with */
} kryi_basis;

/* Make room for `most` vectors, and as many images, or fewer. */
kry_status kryi_basis_create(const kry_op *A, const kry_op *B, int most, int images, int room,
                             kryi_basis *S);
void kryi_basis_release(kryi_basis *S);
/* S->Q := the columns of Y made B-orthonormal; those that depend on others are left out */
kry_status kryi_basis_constrain(kryi_basis *S, const kry_vec *Y);

/* G := X'Y of columns 0 ... rows - 1 of X and first ... first + cols - 1 of Y */
kry_status kryi_basis_gram(kryi_basis *S, const kry_vec *X, int rows, const kry_vec *Y, int first,
                           int cols, double *G);
/* The first `cols` columns of V, BV and, if there is room in it for `rows`, AV := the first `rows` times C, which is rows-by-cols */
kry_status kryi_basis_turn(kryi_basis *S, int rows, const double *C, int cols);
/* Columns of `to` := op times columns of `from`; op NULL: these themselves */
kry_status kryi_basis_apply(const kry_op *op, const kry_vec *from, int from_first, kry_vec *to,
                            int to_first, int count);
/* Make columns first ... first + *count - 1 of V orthonormal, and orthogonal to Q and the columns before, with their images in
 * BV. Those that depend on others are left out, and *count is what is left.
 * Returns  KRY_BREAKDOWN if B is seen not to be positive definite, or a number is not finite */
kry_status kryi_basis_orthonormalise(kryi_basis *S, int first, int *count);
/* Make column `first` > 0 of V orthonormal to those before and to Q, by two passes of classical Gram-Schmidt, or more where little
 * is left of it, and compute its column of BV.
 *   from    the first pass begins at this column: along those before it there is little, as along the old vectors of Lanczos
 *   along   [out]  V'B of the column as it was, for each column before
 *   length  [out]  of what was left of it; 0: nothing, and the column is none
 * Returns  KRY_BREAKDOWN if a number is not finite */
kry_status kryi_basis_append(kryi_basis *S, int first, int from, double *along, double *length);

#endif
