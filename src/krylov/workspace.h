/* workspace.h - what the state of a method is made of: vectors, sums and buffers of scalars, released together. */
#ifndef KRY_WORKSPACE_H
#define KRY_WORKSPACE_H

#include "vector/vec.h"

typedef struct kryi_workspace {
    kry_device *dev; /* borrowed */
    kry_type type;
    int64_t n;         /* rows of the next vectors */
    int columns;       /* of sums */
    cl_mem stopped;    /* of several columns: kryi_poll.state; else NULL */
    kry_vec **vec[16]; /* where the pointers stand that were filled in */
    kry_sum **sum[4];  /* and those of sums */
    cl_mem *buffer[4]; /* and those of buffers */
    int vecs, sums, buffers;
} kryi_workspace;

/* Lists of pointers to be filled in, for the functions below. */
// clang-format off
#define VECTORS_AT(...) (kry_vec **const[]){ __VA_ARGS__ }
#define SUMS_AT(...)    (kry_sum **const[]){ __VA_ARGS__ }
// clang-format on

/* `count` vectors of zeros, each n-by-columns. */
kry_status kryi_workspace_vectors(kryi_workspace *W, int64_t columns, kry_vec **const *vec,
                                  size_t count);
/* `count` sums of `width` numbers for each column. */
kry_status kryi_workspace_sums(kryi_workspace *W, int width, kry_sum **const *sum, size_t count);
kry_status kryi_workspace_buffer(kryi_workspace *W, size_t bytes, cl_mem *buffer);
void kryi_workspace_release(kryi_workspace *W);

#endif
