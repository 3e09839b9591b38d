/*
 * jagged.h - the products with jagged diagonals that Cevahir et al. compare with the one they propose, which is that of
 * the library's format jds (cl/formats/jds.cl).
 */
#ifndef KRY_JAGGED_H
#define KRY_JAGGED_H

#include <kry/kry.h>

typedef enum jagged_product {
    JAGGED_BASIC,  /* a launch for each diagonal; sums go to memory and back with each of them */
    JAGGED_TEXTURE /* a work-item adds up a whole row, and reads x as an image */
} jagged_product;

/* Compressed sparse rows, finite and with columns in range; borrowed, on the host. */
typedef struct jagged_rows {
    kry_type type;
    int64_t rows, cols;
    const int64_t *row_ptr; /* rows + 1 */
    const int32_t *col;
    const void *val; /* of `type` */
} jagged_rows;

/*
 * An operator of the kind "jds", y = A x. It has no transpose, no diagonal and no updates.
 *
 * An image of x's own buffer is kept, and with it the buffer, until the next product or the end.
 *
 * Returns  KRY_ERR_UNSUPPORTED for more than 2^31 - 1 places, and for JAGGED_TEXTURE on a device without
 *          images, or whose images are too small for x; KRY_ERR_MEMORY, KRY_ERR_DEVICE, KRY_ERR_BUILD
 */
KRY_MUST_CHECK kry_status jagged_create(kry_device *device, const jagged_rows *A,
                                        jagged_product product, kry_op **op);

#endif
