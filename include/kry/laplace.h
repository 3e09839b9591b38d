/*
 * laplace.h - Jacobi's iteration for the Laplace equation on a box of points, by the kernels of a
 * paper and by two that are faster.
 */
#ifndef KRY_LAPLACE_H
#define KRY_LAPLACE_H

#include <kry/vec.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Enumerator and name. k1 to k8 are the paper's; docs/laplace.md says what each does. */
#define KRY_LAPLACE_KERNEL_LIST(X)                                                            \
    X(KRY_LAPLACE_STREAM, "stream") /* a queue in registers along z: two words for a point */ \
    X(KRY_LAPLACE_BLOCK, "block")   /* several sweeps in one pass through memory */           \
    X(KRY_LAPLACE_K1, "k1")         /* every neighbour from global memory */                  \
    X(KRY_LAPLACE_K2, "k2")         /* boundary values from a texture */                      \
    X(KRY_LAPLACE_K3, "k3")         /* tiles in local memory */                               \
    X(KRY_LAPLACE_K4, "k4")         /* tiles, and boundary values from a texture */           \
    X(KRY_LAPLACE_K5, "k5")         /* from a texture to an image, by a sampler's border */   \
    X(KRY_LAPLACE_K6, "k6")         /* from image to image, by tested coordinates */          \
    X(KRY_LAPLACE_K7, "k7")         /* from image to image through tiles */                   \
    X(KRY_LAPLACE_K8, "k8")         /* a matrix stored by diagonals */                        \
    X(KRY_LAPLACE_K1A, "k1a")       /* k1 to k4 with all sweeps in one launch: groups wait */ \
    X(KRY_LAPLACE_K2A, "k2a")       /* for each other */                                      \
    X(KRY_LAPLACE_K3A, "k3a")                                                                 \
    X(KRY_LAPLACE_K4A, "k4a")

typedef enum kry_laplace_kernel {
#define KRY_LAPLACE_KERNEL_ENUM(name, word) name,
    KRY_LAPLACE_KERNEL_LIST(KRY_LAPLACE_KERNEL_ENUM)
#undef KRY_LAPLACE_KERNEL_ENUM
        KRY_LAPLACE_KERNEL_COUNT
} kry_laplace_kernel;

KRY_API const char *kry_laplace_kernel_name(kry_laplace_kernel kernel); /* never NULL */
/* Returns  KRY_ERR_PARSE naming the kernels. */
KRY_API KRY_MUST_CHECK kry_status kry_laplace_kernel_parse(const char *word,
                                                           kry_laplace_kernel *kernel);

/* The sides of the box, in the order of kry_laplace_params.face. */
enum { KRY_X_LOW, KRY_X_HIGH, KRY_Y_LOW, KRY_Y_HIGH, KRY_Z_LOW, KRY_Z_HIGH, KRY_SIDES };

/* Point (i, j, k) is number i + nx (j + ny k). */
typedef struct kry_laplace_params {
    size_t struct_size;
    int64_t size[3];               /* points along x, y, z, those on the sides not counted; >= 1 */
    const double *face[KRY_SIDES]; /* values on the points of each side, first of its two axes
                                      fastest: ny nz, nx nz or nx ny numbers. Host, copied.
                                      NULL: 0 */
    kry_laplace_kernel kernel;
} kry_laplace_params;
#define KRY_LAPLACE(...) \
    (&(kry_laplace_params){ .struct_size = sizeof(kry_laplace_params), __VA_ARGS__ })

typedef struct kry_laplace kry_laplace;

/*
 * An iteration that starts from 0.
 *
 * Returns  KRY_ERR_ARGUMENT for sizes below 1, 2^31 points or more, and values on a side that
 *          are no finite numbers of `type`; KRY_ERR_UNSUPPORTED if the device cannot run the
 *          kernel (the message names another one); KRY_ERR_MEMORY.
 * Source   Akhtar et al.; see docs/laplace.md
 */
KRY_API KRY_MUST_CHECK kry_status kry_laplace_create(kry_device *device, kry_type type,
                                                     const kry_laplace_params *params,
                                                     kry_laplace **laplace);

/*
 * `steps` sweeps w(i,j,k) := mean of the six neighbours of (i,j,k), all from the sweep before
 *
 *   change2  [out]  sum of (new - old)^2 over the last sweep, 0 if steps is 0; NULL allowed
 *
 * All kernels but k8 add the neighbours in one order and so give the same bits:
 * ((((x- + x+) + (y- + y+)) + z-) + z+) / 6, in single times the number next to 1/6.
 * Cost  waits if change2 is asked for, and in k1a to k4a
 */
KRY_API KRY_MUST_CHECK kry_status kry_laplace_run(kry_laplace *laplace, int64_t steps,
                                                  double *change2);

/* Copy all points to or from the host, in the type of the iteration. Waits. */
KRY_API KRY_MUST_CHECK kry_status kry_laplace_read(const kry_laplace *laplace, void *host);
KRY_API KRY_MUST_CHECK kry_status kry_laplace_write(kry_laplace *laplace, const void *host);

typedef struct kry_laplace_info {
    kry_laplace_kernel kernel;
    kry_type type;
    int64_t size[3];
    const char *variant;       /* what was chosen for this device; lives with the iteration */
    double bytes_per_sweep;    /* through memory, if each number is moved once */
    double launches_per_sweep; /* 0: one for all */
} kry_laplace_info;
KRY_API void kry_laplace_describe(const kry_laplace *laplace, kry_laplace_info *info);

KRY_API kry_laplace *kry_laplace_retain(kry_laplace *laplace);
KRY_API void kry_laplace_release(kry_laplace **laplace);

#ifdef __cplusplus
}
#endif
#endif
