/*
 * laplace.h - what the kinds of Jacobi iterations share.
 */
#ifndef KRY_STENCIL_LAPLACE_H
#define KRY_STENCIL_LAPLACE_H

#include "operator/direction.h"
#include "operator/op.h"
#include "vector/image.h"
#include <kry/laplace.h>

/* One kind of iteration. All may be called after a build that failed halfway. */
typedef struct kry_laplace_table {
    kry_status (*build)(kry_laplace *L, const kry_laplace_params *params);
    kry_status (*sweep)(kry_laplace *L, int64_t steps);    /* steps > 0; leaves w[now] */
    kry_status (*change)(kry_laplace *L, double *change2); /* of the last sweep; waits */
    /* A copy of `size` points to the host, or, write, from it. Waits. */
    kry_status (*transfer)(const kry_laplace *L, void *host, bool write);
    void (*destroy)(kry_laplace *L); /* NULL: nothing but what every iteration has */
} kry_laplace_table;
extern const kry_laplace_table kry_laplace_buffers, kry_laplace_images, kry_laplace_matrix,
    kry_laplace_march, kry_laplace_resident;

struct kry_laplace {
    atomic_int refs;
    kry_device *dev; /* retained */
    kry_type type;
    kry_laplace_kernel kernel;
    const kry_laplace_table *table;
    cl_int size[3];
    int64_t n;
    char variant[96];
    double bytes_per_sweep, launches_per_sweep;
    /* owned; NULL where a kind has none */
    kry_vec *w[2];   /* the iterate and the one before */
    cl_mem image[2]; /* instead of w */
    cl_mem faces;    /* a buffer or an image, see kry_laplace_faces */
    kry_sum *sum;
    void *extra; /* of the kind */
    int now;     /* w[now] is the last sweep */
    /* borrowed from the device */
    kry_kernel *kernel_sweep, *kernel_change;
};

/* The values on all sides, in rows of max(nx, ny) numbers: side after side, each as its row of
 * kry_laplace_params says; not given: 0. To be freed. */
kry_status kry_laplace_faces(const kry_laplace *L, const kry_laplace_params *params, void **faces);
int64_t kry_laplace_face_width(const kry_laplace *L);
int64_t kry_laplace_face_rows(const kry_laplace *L);
/* L->faces as a buffer, or as an image of these rows, whose texels are said by *texel. */
kry_status kry_laplace_faces_buffer(kry_laplace *L, const kry_laplace_params *params);
kry_status kry_laplace_faces_image(kry_laplace *L, const kry_laplace_params *params,
                                   kry_texel *texel);

/* A tile in local memory of the kernels that have one, in laplace.cl too. */
enum { KRY_LAPLACE_TILE_X = 32, KRY_LAPLACE_TILE_Y = 4, KRY_LAPLACE_TILE_Z = 4 };
int64_t kry_laplace_tiles(const kry_laplace *L);

/* Sum of squares of w[0] - w[1], of all the numbers that both vectors have. */
kry_status kry_laplace_change_of_vectors(kry_laplace *L, double *change2);
/* w[now] of n numbers without gaps. */
kry_status kry_laplace_transfer_vector(const kry_laplace *L, void *host, bool write);

#endif
