/*
 * amg_device.h - the set-up of algebraic multigrid on a device, for levels that are too large for one
 * thread of the host. It gives the same bits as the set-up on the host.
 *
 * Matrices are as kry_device_coarsener has them. Functions make a new matrix or buffer, which the caller
 * releases, and nothing if they fail.
 */
#ifndef KRY_AMG_DEVICE_H
#define KRY_AMG_DEVICE_H

#include "amg/amg.h"
#include "multigrid/hierarchy.h"

extern const kry_device_coarsener kry_device_aggregation; /* device_smoothed.c */
extern const kry_device_coarsener kry_device_classical;   /* device_classical.c */

/* ---- device_levels.c: the levels -------------------------------------------------------------- */

typedef struct kry_device_levels kry_device_levels;

/* Whether the device is to make the levels of A: it is a GPU with double precision, and A a stored matrix of
 * many rows, as they were given. */
bool kry_device_levels_suit(const kry_op *A);
/* The finest level; *L NULL: a row is so long that the host is faster. Waits.
 * Returns  KRY_ERR_ARGUMENT as kry_rows_symmetrise */
kry_status kry_device_levels_create(const char *who, const kry_op *A, kry_device_levels **L);
void kry_device_levels_release(kry_device_levels *L); /* takes NULL */
/* kry_look_at_rows of the finest level. */
const kry_row_look *kry_device_levels_look(const kry_device_levels *L);
/* *rest: kry_rounded_rest of the finest level. */
kry_status kry_device_levels_rest(const kry_device_levels *L, cl_mem *rest);
/* Of the coarsest level so far. */
int64_t kry_device_levels_rows(const kry_device_levels *L);
int64_t kry_device_levels_nnz(const kry_device_levels *L);
kry_status kry_device_levels_couplings(const kry_device_levels *L, kry_couplings *c); /* waits */
kry_status kry_device_levels_download(const kry_device_levels *L, kry_sparse *rows);
/* Coarsen that level; *coarser: whether there is one below it now. Waits.
 * Returns  as kry_coarser_multiply */
kry_status kry_device_levels_coarsen(kry_device_levels *L, const kry_device_coarsener *by,
                                     kry_coarsen *c, bool *coarser);
/* How operators that are made from now on keep their numbers; as the matrix, unless this is called. */
void kry_device_levels_keep(kry_device_levels *L, kry_keep keep);
/* level := A, P and R of the level above the coarsest one so far; A NULL for the finest one. */
kry_status kry_device_levels_operators(kry_device_levels *L, kry_level *level);
/* What the levels need to be made again, and no more. */
void kry_device_levels_drop_numbers(kry_device_levels *L);
/* After new numbers of the matrix: those of the levels, which the operators do not have yet. Waits. */
kry_status kry_device_levels_renew(kry_device_levels *L);
/* The operators of H take them, but for A of the coarsest level here. */
kry_status kry_device_levels_store(kry_device_levels *L, kry_hierarchy *H);

/* ---- device_coarser.c: matrices --------------------------------------------------------------- */

/* Launch a kernel that has a work-item for each row. */
kry_status kry_device_rows(kry_device *dev, const char *stem, const char *name, int64_t rows,
                           const kry_arg *args, size_t count);
kry_status kry_device_diagonal(const kry_csr *A, cl_mem *d); /* 0 where there is no entry */
typedef struct kry_device_finding {
    bool
        sound; /* A is symmetric to the bit, its diagonal positive and finite, and so are the inverses */
    int64_t longest; /* entries of a row */
    kry_row_look look;
} kry_device_finding;
kry_status kry_device_check(const kry_csr *A, kry_device_finding *found); /* waits */

/* What a matrix is coarsened to, as kry_coarser. */
typedef struct kry_device_coarser {
    kry_csr P, R, AP, A;
    cl_mem from; /* of the transpose */
} kry_device_coarser;
void kry_device_coarser_release(kry_device_coarser *c);
/* As kry_coarser_multiply; and once more, where c has the patterns, and P its numbers. Both wait. */
kry_status kry_device_coarser_multiply(const char *who, int level, kry_type type, const kry_csr *A,
                                       kry_device_coarser *c);
kry_status kry_device_coarser_again(const char *who, int level, kry_type type, const kry_csr *A,
                                    kry_device_coarser *c);

/* ---- device_aggregate.c ------------------------------------------------------------------------ */

/* Nodes in aggregates. */
typedef struct kry_device_aggregates {
    kry_csr G;      /* the graph of nodes */
    cl_mem of_node; /* an int for each; -1: in none */
    int64_t count;
} kry_device_aggregates;

/* G := the strong couplings as kry_strength, and the diagonal, with the numbers of A and their places there.
 * Where all are strong G shares A's buffers, and has no places. d: the diagonal of A. squared: A has the
 * squared norms of blocks. Waits. */
kry_status kry_device_graph(const kry_csr *A, bool squared, cl_mem d, double theta, kry_csr *G);
/* As kry_aggregate, of g->G. Waits. */
kry_status kry_device_aggregate(bool squared, bool large, kry_device_aggregates *g);

#endif
