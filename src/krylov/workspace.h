/*
 * workspace.h - what the state of each method begins with: the solver that it iterates for, how the host follows it,
 * and its vectors, sums and buffers of scalars, which are released together.
 *
 *     typedef struct cr {
 *         kryi_workspace W;
 *         kry_vec *w, *p, *q;
 *         ...
 */
#ifndef KRY_WORKSPACE_H
#define KRY_WORKSPACE_H

#include "krylov/poll.h"

typedef struct kryi_workspace {
    kryi_krylov *K;    /* borrowed */
    int columns;       /* recurrences at once: columns of x, r and sums */
    kryi_poll poll;    /* unused by a method with `tests_on_host` */
    int64_t n;         /* rows of the next vectors: those of A, unless the method says otherwise */
    kry_vec **vec[16]; /* where the pointers stand that were filled in */
    kry_sum **sum[8];
    cl_mem *buffer[4];
    int vecs, sums, buffers;
} kryi_workspace;

/* Lists of pointers to be filled in, and their number, for the functions below. */
// clang-format off
#define LIST_OF(type, ...) (type[]){ __VA_ARGS__ }, sizeof((type[]){ __VA_ARGS__ }) / sizeof(type)
#define VECTORS_AT(...) LIST_OF(kry_vec **const, __VA_ARGS__)
#define SUMS_AT(...)    LIST_OF(kry_sum **const, __VA_ARGS__)
#define KERNELS_AT(...) LIST_OF(const kryi_named_kernel, __VA_ARGS__)
// clang-format on

/* *self: a state of K's method whose cycles have this many columns. Whether it succeeds or not, kryi_workspace_destroy
 * releases what is there. */
kry_status kryi_workspace_create(kryi_krylov *K, int columns, void **self);
void kryi_workspace_destroy(void *self);

/* `count` vectors, each n-by-columns, whose numbers are undefined. */
kry_status kryi_workspace_vectors(kryi_workspace *W, int64_t columns, kry_vec **const *vec,
                                  size_t count);
/* `count` sums of `width` numbers for each column. */
kry_status kryi_workspace_sums(kryi_workspace *W, int width, kry_sum **const *sum, size_t count);
/* `count` kernels of cl/krylov/<stem>.cl for numbers of A's type. */
kry_status kryi_workspace_kernels(const kryi_workspace *W, const char *stem, const char *defines,
                                  const kryi_named_kernel *kernels, size_t count);
kry_status kryi_workspace_buffer(kryi_workspace *W, uint64_t bytes, cl_mem *buffer);
static inline void kryi_workspace_swap(kry_vec **a, kry_vec **b)
{
    kry_vec *t = *a;
    *a = *b, *b = t;
}
/* Release vectors, sums and buffers, so that others may be made. */
void kryi_workspace_clear(kryi_workspace *W);

#endif
