/*
 * amg_device.h - the set-up of algebraic multigrid on a device: large levels on a GPU, others on the device host. All give the
 * same bits.
 *
 * Matrices are as kryi_coarsener has them. Functions make a new matrix or buffer, which the caller
 * releases, and nothing if they fail.
 */
#ifndef KRY_AMG_DEVICE_H
#define KRY_AMG_DEVICE_H

#include "amg/amg.h"
#include "multigrid/hierarchy.h"

/* ---- device_levels.c: the levels -------------------------------------------------------------- */

typedef struct kryi_device_levels kryi_device_levels;

/* Whether the device is to make the levels of A: it is a GPU with double precision, and A a stored matrix of
 * many rows, as they were given. */
bool kryi_device_levels_suit(const kry_op *A);
/* The finest level; *L NULL: a row is so long that the host is faster. unsymmetric: A need not be symmetric. Waits.
 * Returns  KRY_ERR_ARGUMENT as kryi_rows_symmetrise */
kry_status kryi_device_levels_create(const char *who, const kry_op *A, bool unsymmetric,
                                     kryi_device_levels **L);
void kryi_device_levels_release(kryi_device_levels *L); /* takes NULL */
/* The finest level has these rows, the next ones are made on the device host (kryi_amg_host). below: it is not A itself, but a
 * coarser level. */
kry_status kryi_device_levels_create_on_host(const char *who, const kry_op *A, bool below,
                                             const kryi_csr *rows, kryi_device_levels **L);
/* The device that makes the levels; borrowed. */
kry_device *kryi_device_levels_device(const kryi_device_levels *L);
/* kryi_look_at_rows of the finest level, if the device has read it. */
const kryi_row_look *kryi_device_levels_look(const kryi_device_levels *L);
/* *rest: what rounding to single takes from each row of the finest level, a single each, on the matrix's device. */
kry_status kryi_device_levels_rest(const kryi_device_levels *L, cl_mem *rest);
/* What the coarsest level has so far. */
int64_t kryi_device_levels_rows(const kryi_device_levels *L);
int64_t kryi_device_levels_nnz(const kryi_device_levels *L);
kry_status kryi_device_levels_couplings(const kryi_device_levels *L,
                                        kryi_coupling_sums *c); /* waits */
/* kryi_device_csr_rows_for_nodes of that level. Waits. */
kry_status kryi_device_levels_rows_for_nodes(const kryi_device_levels *L, kryi_csr *rows);
kry_status kryi_device_levels_download(const kryi_device_levels *L, kryi_csr *rows);
/* Coarsen that level; *coarser: whether there is one below it now. Waits.
 * Returns  as kryi_device_coarser_multiply */
kry_status kryi_device_levels_coarsen(kryi_device_levels *L, const kryi_coarsener *by,
                                      kryi_coarsen *c, bool *coarser);
/* How operators that are made from now on keep their numbers; as the matrix, unless this is called. */
void kryi_device_levels_keep(kryi_device_levels *L, kryi_keep keep);
/* level := A, P and R of the level above the coarsest one so far; A NULL for the matrix itself. */
kry_status kryi_device_levels_operators(kryi_device_levels *L, kryi_level *level);
/* *A := the operator of the coarsest level, with all its digits. */
kry_status kryi_device_levels_coarsest(kryi_device_levels *L, kry_op **A);
/* What the levels need to be made again, and no more. */
void kryi_device_levels_drop_numbers(kryi_device_levels *L);
/* After new numbers of the matrix: those of the levels, which the operators do not have yet. rows: those of the finest level;
 * NULL: the device reads the matrix. Waits. */
kry_status kryi_device_levels_renew(kryi_device_levels *L, const kryi_csr *rows);
/* The operators of H take them, from level `first` on, but for the matrix itself and, on a GPU, for A of the coarsest level
 * here. */
kry_status kryi_device_levels_store(kryi_device_levels *L, kryi_hierarchy *H, int first);

/* ---- coarser.c: matrices --------------------------------------------------------------- */

/* Launch a kernel that has a work-item for each row. */
kry_status kryi_device_rows(kry_device *dev, const char *stem, const char *name, int64_t rows,
                            const kry_arg *args, size_t count);
kry_status kryi_device_diagonal(const kryi_device_csr *A,
                                cl_mem *d); /* 0 where there is no entry */
typedef struct kryi_device_facts {
    bool
        sound; /* A is symmetric to the bit, its diagonal positive and finite, and so are the inverses */
    int64_t longest; /* entries of a row */
    kryi_row_look look;
} kryi_device_facts;
kry_status kryi_device_check(const kryi_device_csr *A, kryi_device_facts *found); /* waits */

/* C := X without the entries below `drop` of the largest one of their row. Square: the diagonal stays and takes what goes, and
 * where nothing would be left of it, the sum of the row's absolute values. what: it is, in messages. Waits. */
kry_status kryi_device_csr_drop(const char *what, const kryi_device_csr *X, double drop,
                                bool is_square, kryi_device_csr *C);
/* The numbers of C, whose places such a call has left, by an X that has new numbers. */
kry_status kryi_device_csr_keep(const kryi_device_csr *X, bool is_square, const kryi_device_csr *C);

/* The coarser matrix A, and the products that make it. On CPUs AP is there only while A is made. */
typedef struct kryi_device_coarser {
    kryi_device_csr P, R, AP, A;
    cl_mem from; /* of the transpose; NULL: R is no transpose */
} kryi_device_coarser;
void kryi_device_coarser_release(kryi_device_coarser *c);
/* With a c->R: c->A := R A P without small entries (kryi_device_csr_drop). Else
 * c->R := P', c->A := R A P, symmetric to the bit, for its upper triangle is taken from the lower one. Coarse unknowns
 * that stand for nothing get an equation of their own. type: in which the entries of the finest matrix were rounded.
 * _again: c has the patterns, and P its numbers. Both wait.
 * Returns  KRY_ERR_ARGUMENT for an A that is seen not to be positive definite */
kry_status kryi_device_coarser_multiply(const char *who, int level, kry_type type,
                                        const kryi_device_csr *A, kryi_device_coarser *c);
kry_status kryi_device_coarser_again(const char *who, int level, kry_type type,
                                     const kryi_device_csr *A, kryi_device_coarser *c);
/* Coarse unknowns whose basis function is zero or is mapped to zero get an equation of their own in A = R F P. rounding: of
 * p'Dp, by which p'Fp is measured. fine: D, the diagonal of F. Waits.
 * Returns  KRY_ERR_ARGUMENT for an A that is seen not to be positive definite */
kry_status kryi_device_regularise(const char *who, int level, double rounding, cl_mem fine,
                                  const kryi_device_csr *R, kryi_device_csr *A);

#endif
