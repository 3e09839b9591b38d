/*
 * jacobi.h - Jacobi's iteration for the Laplace equation on a box of points, by the twelve kernels
 * of Akhtar et al. and by two that are faster.
 */
#ifndef KRY_JACOBI_H
#define KRY_JACOBI_H

#include <kry/opencl.h>

/* Enumerator and name; papers/akhtar/README.md says what each does. */
#define JACOBI_KERNEL_LIST(X)                                                            \
    X(JACOBI_STREAM, "stream") /* a queue in registers along z: two words for a point */ \
    X(JACOBI_BLOCK, "block")   /* several sweeps in one pass through memory */           \
    X(JACOBI_K1, "k1")         /* every neighbour from global memory */                  \
    X(JACOBI_K2, "k2")         /* boundary values from a texture */                      \
    X(JACOBI_K3, "k3")         /* tiles in local memory */                               \
    X(JACOBI_K4, "k4")         /* tiles, and boundary values from a texture */           \
    X(JACOBI_K5, "k5")         /* from a texture to an image, by a sampler's border */   \
    X(JACOBI_K6, "k6")         /* from image to image, by tested coordinates */          \
    X(JACOBI_K7, "k7")         /* from image to image through tiles */                   \
    X(JACOBI_K8, "k8")         /* a matrix stored by diagonals */                        \
    X(JACOBI_K1A, "k1a")       /* k1 to k4 with all sweeps in one launch: groups wait */ \
    X(JACOBI_K2A, "k2a")       /* for each other */                                      \
    X(JACOBI_K3A, "k3a")                                                                 \
    X(JACOBI_K4A, "k4a")

typedef enum jacobi_kernel {
#define JACOBI_KERNEL_ENUM(name, word) name,
    JACOBI_KERNEL_LIST(JACOBI_KERNEL_ENUM)
#undef JACOBI_KERNEL_ENUM
        JACOBI_KERNEL_COUNT
} jacobi_kernel;
const char *jacobi_kernel_name(jacobi_kernel kernel);

/* The sides of a box, in the order of jacobi_box.side. */
enum { X_LOW, X_HIGH, Y_LOW, Y_HIGH, Z_LOW, Z_HIGH, SIDES };

/* Point (i, j, k) is number i + nx (j + ny k). */
typedef struct jacobi_box {
    int64_t size[3];           /* points along x, y, z, those on the sides not counted; >= 1 */
    const double *side[SIDES]; /* values on the points of each side, first of its two axes fastest:
                                  ny nz, nx nz or nx ny numbers. Host, borrowed. NULL: 0 */
} jacobi_box;

typedef struct jacobi jacobi;

/*
 * An iteration that starts from 0; fewer than 2^31 points.
 * Returns  KRY_ERR_UNSUPPORTED if the device cannot run the kernel (the message names another one).
 */
kry_status jacobi_create(kry_device *device, kry_type type, jacobi_kernel kernel,
                         const jacobi_box *box, jacobi **J);
void jacobi_release(jacobi **J);

/*
 * `steps` sweeps w(i,j,k) := mean of the six neighbours of (i,j,k), all from the sweep before
 *
 *   change2  [out]  sum of (new - old)^2 over the last sweep, 0 if steps is 0. Waits. NULL allowed
 *
 * All kernels but k8 add the neighbours in one order and so give the same bits:
 * ((((x- + x+) + (y- + y+)) + z-) + z+) / 6, in single times the number next to 1/6.
 */
kry_status jacobi_run(jacobi *J, int64_t steps, double *change2);

/* Copy all points to or from the host, in the type of the iteration. Wait. */
kry_status jacobi_read(const jacobi *J, void *host);
kry_status jacobi_write(jacobi *J, const void *host);

/* ---- what the files of the iterations share ------------------------------------------------- */

/* One kind of iteration. Its entries may also be called after a build that failed halfway. */
typedef struct jacobi_kind {
    kry_status (*build)(jacobi *J, const jacobi_box *box);
    kry_status (*sweep)(jacobi *J, int64_t steps); /* steps > 0; leaves `now` */
    /* The points of the last sweep (which = now) or of the one before (!now), to a vector of n. */
    kry_status (*get)(const jacobi *J, int which, kry_vec *points);
    kry_status (*put)(jacobi *J, const kry_vec *points); /* as those of the last sweep */
    void (*destroy)(jacobi *J);                          /* what `extra` owns; NULL: nothing */
} jacobi_kind;
extern const jacobi_kind jacobi_buffers, jacobi_images, jacobi_march, jacobi_matrix;

struct jacobi {
    kry_device *device; /* retained */
    kry_type type;
    jacobi_kernel kernel;
    const jacobi_kind *kind;
    cl_int size[3];
    int64_t n;
    char variant[96];          /* what was chosen for this device */
    double launches_per_sweep; /* 0: one for all */
    int now;                   /* w[now], image[now] is the last sweep */
    /* owned; NULL where a kind has none */
    kry_vec *w[2];
    cl_mem image[2];    /* instead of w */
    kry_vec *sides;     /* the rows of jacobi_sides */
    cl_mem sides_image; /* instead of `sides` */
    cl_kernel step;     /* one sweep, or several */
    void *extra;        /* of the kind; freed */
};

/* Neighbours by way of tiles in local memory; sides from a texture. */
bool jacobi_by_tiles(jacobi_kernel kernel);
bool jacobi_by_texture(jacobi_kernel kernel);
/* " -DTILE_X=..." for kernels by tiles, else "". */
const char *jacobi_tile_defines(jacobi_kernel kernel);
/* Groups of a launch that goes over all points, or over all tiles. */
int64_t jacobi_groups(const jacobi *J);

/* k1a to k4a: let so many groups wait for each other, more than run at once perhaps. */
void jacobi_wait_for(jacobi *J, int groups);

/* A kernel of cl/papers/<stem>.cl. */
kry_status jacobi_get_kernel(const jacobi *J, const char *stem, const char *defines,
                             const char *name, cl_kernel *kernel);

/* jacobi_sides.c: the values on the sides in rows of max(nx, ny) numbers: side after side, each as
 * jacobi_box.side says. As J->sides; or as J->sides_image, of whose texels *bytes is TEXEL_BYTES. */
kry_status jacobi_make_sides(jacobi *J, const jacobi_box *box);
kry_status jacobi_make_sides_image(jacobi *J, const jacobi_box *box, bool *bytes);

#endif
