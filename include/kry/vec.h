/* vec.h - dense n-by-k blocks of numbers on a device, and the plain arithmetic on them. */
#ifndef KRY_VEC_H
#define KRY_VEC_H

#include <kry/device.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum kry_type { KRY_F32 = 1, KRY_F64 = 2 } kry_type;
typedef struct kry_vec kry_vec;

KRY_API size_t kry_type_size(kry_type type);      /* bytes of one number */
KRY_API const char *kry_type_name(kry_type type); /* "single", "double" */

/*
 * An n-by-k block, column major, set to zero.
 *
 * Returns  KRY_ERR_ARGUMENT for negative or overflowing sizes, KRY_ERR_UNSUPPORTED for double
 *          on a device without it, KRY_ERR_MEMORY (the message has the bytes asked for).
 */
KRY_API KRY_MUST_CHECK kry_status kry_vec_create(kry_device *device, kry_type type, int64_t n,
                                                 int64_t k, kry_vec **vec);

/* Column j of a block as a vector of its own; the numbers are shared. */
KRY_API KRY_MUST_CHECK kry_status kry_vec_view(const kry_vec *block, int64_t j, kry_vec **vec);

/*
 * A view of `rows` rows from row i on and `cols` columns from column j on; the numbers are shared
 *
 *   vec  [out]  rows-by-cols; its columns are as far apart as those of `of` (kry_vec_ld)
 *
 * Every function of vec.h takes such views. Functions that need columns without a gap refuse them
 * with a message.
 * Returns  KRY_ERR_ARGUMENT for rows or columns outside of the block; KRY_ERR_UNSUPPORTED on several
 *          devices for a view that does not have all rows.
 */
KRY_API KRY_MUST_CHECK kry_status kry_vec_block(const kry_vec *of, int64_t i, int64_t rows,
                                                int64_t j, int64_t cols, kry_vec **vec);

KRY_API kry_vec *kry_vec_retain(kry_vec *vec);
KRY_API void kry_vec_release(kry_vec **vec);
KRY_API int64_t kry_vec_rows(const kry_vec *vec);
KRY_API int64_t kry_vec_cols(const kry_vec *vec);
KRY_API int64_t kry_vec_ld(const kry_vec *vec); /* from the start of a column to the next */
KRY_API kry_type kry_vec_type(const kry_vec *vec);
KRY_API kry_device *kry_vec_device(const kry_vec *vec); /* borrowed */

/* Copy all n*k numbers from or to the host, column after column without gaps, in the type of the
 * vector. Waits. */
KRY_API KRY_MUST_CHECK kry_status kry_vec_write(kry_vec *vec, const void *host);
KRY_API KRY_MUST_CHECK kry_status kry_vec_read(const kry_vec *vec, void *host);

KRY_API KRY_MUST_CHECK kry_status kry_vec_fill(kry_vec *vec, double value);
/* y := x */
KRY_API KRY_MUST_CHECK kry_status kry_vec_copy(const kry_vec *x, kry_vec *y);
/* y := a x + b y; with b == 0, y is not read; x may be y */
KRY_API KRY_MUST_CHECK kry_status kry_vec_axpby(double a, const kry_vec *x, double b, kry_vec *y);
/* z := y + a x; z may be x or y */
KRY_API KRY_MUST_CHECK kry_status kry_vec_triad(double a, const kry_vec *x, const kry_vec *y,
                                                kry_vec *z);
/* y := a d .* x + b y, elementwise; with b == 0, y is not read; x may be y */
KRY_API KRY_MUST_CHECK kry_status kry_vec_mul(double a, const kry_vec *d, const kry_vec *x,
                                              double b, kry_vec *y);

/*
 * sum of x_i y_i over all n*k numbers, and the 2-norm. Waits.
 *
 * Sums run in double where the device has it. Their order depends only on n and the device, so
 * equal input gives equal bits.
 */
KRY_API KRY_MUST_CHECK kry_status kry_vec_dot(const kry_vec *x, const kry_vec *y, double *dot);
KRY_API KRY_MUST_CHECK kry_status kry_vec_norm2(const kry_vec *x, double *norm);

/*
 * A number in [0, 1), uniform, that depends on (seed, stream, place) alone: the same on every machine and in
 * any order. To make a random vector that others can repeat, fill it from a stream of its own.
 * Source   G. L. Steele, D. Lea, C. H. Flood, Fast splittable pseudorandom number generators,
 *          OOPSLA 2014: the finaliser of SplitMix64.
 */
KRY_API double kry_random_unit(uint64_t seed, uint64_t stream, uint64_t place);

/*
 * y := alpha op(X) c + beta y, X a dense n-by-k block, op(X) = X or, transposed, X'
 *
 *   c   k-by-1 (transposed: n-by-1)
 *   y   n-by-1 (transposed: k-by-1), no overlap with X or c
 *
 * This is CLBlast's GEMV. Its first call on a device compiles kernels for some seconds.
 * Returns  KRY_ERR_UNSUPPORTED if kry was built without CLBlast.
 */
KRY_API KRY_MUST_CHECK kry_status kry_vec_gemv(bool transposed, double alpha, const kry_vec *X,
                                               const kry_vec *c, double beta, kry_vec *y);

#ifdef __cplusplus
}
#endif
#endif
