/*
 * vec.h - vectors and sums behind their public handles.
 */
#ifndef KRY_VEC_INTERNAL_H
#define KRY_VEC_INTERNAL_H

#include "device/launch.h"
#include "team/split.h"

struct kry_vec {
    atomic_int refs;
    kry_layout *layout; /* borrowed from dev */
    kry_device *dev;    /* retained */
    kry_type type;
    int64_t n, k, first;
    cl_mem buffer; /* retained; NULL: on a team */
    /* On a team: the numbers of each part, of whose columns these are k from `first` on. */
    struct kry_split *split;          /* retained */
    kry_vec **part;                   /* owned */
    const struct kry_split *piece_of; /* borrowed: rows of these; NULL: of layout->split, perhaps */
};

/* The same numbers, borrowed, on the caller's stack: a vector in all but its references, which others
 * may be counting. */
static inline kry_vec kry_vec_borrow(const kry_vec *v)
{
    return (kry_vec){ .layout = v->layout,
                      .dev = v->dev,
                      .type = v->type,
                      .n = v->n,
                      .k = v->k,
                      .first = v->first,
                      .buffer = v->buffer,
                      .split = v->split,
                      .part = v->part,
                      .piece_of = v->piece_of };
}

/* What a group leaves of a sum: a TOTAL of cl/kry.clh, double where the device has it, else a pair of
 * floats, the sum and what rounding took from it. */
typedef union kry_partial {
    double f64;
    float f32[2];
} kry_partial;

enum { KRY_SUM_WIDTH = 64 }; /* numbers that may be summed together, at most */

struct kry_sum {
    kry_device *dev; /* borrowed */
    cl_mem buffer;   /* KRY_SUM_CAPACITY times width of kry_partial */
    int width;       /* numbers per partial sum, of which there is one per group: 1 for x'y, 2 for a
                           pair, k for V'w */
    cl_int count;    /* partial sums written */
    kry_partial *part;  /* owned: what is read back, as many as the buffer has */
    kry_partial *total; /* owned: `width` sums over all parts, on their way to the device */
    bool writes;        /* that may still be under way */
};
/* Fails with KRY_ERR_ARGUMENT beyond KRY_SUM_WIDTH. */
kry_status kry_sum_create(kry_device *dev, int width, kry_sum **sum);
void kry_sum_release(kry_sum **sum);
kry_status kry_sum_read_here(const kry_sum *sum, double *value); /* of this device alone; waits */
kry_status kry_sum_add_here(const kry_sum *sum,
                            double *value); /* value += that, group after group */
kry_status kry_sum_read(kry_layout *layout, kry_sum *sum, double *value); /* of all parts; waits */

/* value := the sum of all parts' partial sums, chunk after chunk as on one part. width numbers each, `count`
 * of them here; where that is more than a part has chunks, their sum counts as one. */
kry_status kry_layout_add_chunks(kry_layout *layout, const double *partial, int count, int width,
                                 double *value);
/* Make each of the partial sums stand for the sum over all parts. Alone there is nothing to add: the
 * kernel that uses a sum finishes it. Waits where there are several, or sums are reproducible. No more
 * than KRY_SUM_WIDTH numbers in all. */
kry_status kry_layout_reduce(kry_layout *layout, kry_sum *const *sums, int count);

/* What a launch that sums over the rows of v goes over: groups, and the arguments `long n ROWS_PARAMS` of
 * kry.clh. Chunks where sums are to be reproducible; its loads are to be KRY_UNALIGNED there. */
typedef struct kry_chunks {
    int64_t n, unit, chunk; /* chunk 0: groups share the rows as suits the device */
    int64_t groups;
} kry_chunks;
enum { KRY_CHUNKS_ARGS = 3 };
kry_chunks kry_chunks_of(const kry_vec *v);
size_t kry_chunks_args(const kry_chunks *rows, kry_arg args[KRY_CHUNKS_ARGS]); /* how many */

kry_vec kry_vec_column(const kry_vec *v, int64_t j); /* borrowed, on the caller's stack */
/* The define that kernels with vector loads need for vectors that start where these do. */
const char *kry_vec_alignment(const kry_vec *const *v, int count);
kry_status kry_vec_dot_sum(const kry_vec *x, const kry_vec *y, kry_sum *sum);
/* sum := V'w, as wide as V has columns: one launch. */
kry_status kry_vec_dots(const kry_vec *V, const kry_vec *w, kry_sum *sum);
/* z := y + a x, for the bandwidth benchmark */
kry_status kry_vec_triad(double a, const kry_vec *x, const kry_vec *y, kry_vec *z);
/* sum := (x.y, x.x), a pair */
kry_status kry_vec_dot_pair(const kry_vec *x, const kry_vec *y, kry_sum *sum);
/* A number type, and one that the device has. */
kry_status kry_type_check(const char *who, const kry_device *dev, kry_type type);
/* Not NULL, the same size, type and device. */
kry_status kry_vec_check_alike(const char *who, const kry_vec *x, const kry_vec *y);
bool kry_vec_overlap(const kry_vec *x, const kry_vec *y);
/* What CLBlast returned: 0, an error of OpenCL's, or beyond -1000 one of its own. */
kry_status kry_clblast_check(const char *who, int code);
/* gemv.c: y := X c with the first k of X's rows, X n-by-k, c and y k-by-1; nothing is checked. */
kry_status kry_gemv_square(const kry_vec *X, const kry_vec *c, kry_vec *y);

#endif
