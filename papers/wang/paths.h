/*
 * paths.h - the product with the five-point Laplacian by the memory paths of Wang et al.
 */
#ifndef KRY_WANG_PATHS_H
#define KRY_WANG_PATHS_H

#include <kry/opencl.h>

/* How the kernels reach x. The library's own grid operator, which marches along columns with a
 * queue in registers, is not among them. */
typedef enum wang_path {
    WANG_GLOBAL,    /* "global": every neighbour from global memory */
    WANG_LOCAL,     /* "local": tiles with their borders in local memory */
    WANG_TEXTURE1D, /* "texture1d": an image of one row, or, where there is none, of many */
    WANG_TEXTURE2D, /* "texture2d": an image whose border colour is the boundary value 0 */
    WANG_PATH_COUNT
} wang_path;
const char *wang_path_name(wang_path path);

/*
 * A x = 4 x_ij - x_i-1,j - x_i+1,j - x_i,j-1 - x_i,j+1 on n x n points, n^2 < 2^31, zeros around
 * them; in double. Only the product is offered, as in the paper: the rest of a step of conjugate
 * gradients is passes over vectors.
 *
 * Returns  KRY_ERR_UNSUPPORTED if the device has no images, or too small ones, for a path that
 *          needs them (the message names others).
 */
kry_status wang_create(kry_device *device, wang_path path, int64_t n, kry_op **A);

#endif
