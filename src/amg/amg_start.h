/* amg_start.h - what algebraic multigrid is set up with: its coarsener and its near null space, by what is
 * asked for and what the matrix looks like. */
#ifndef KRY_AMG_START_H
#define KRY_AMG_START_H

#include "amg/amg.h"
#include "multigrid/hierarchy.h"
#include <kry/multigrid.h>

static const char kryi_amg_who[] = "kry_amg_create";

enum { KRY_AMG_LEVELS = 64 };

/* What the coarsener is chosen by. */
typedef struct kryi_amg_sight {
    int64_t nnz;
    int block;
    kryi_coupling_sums couplings;
    bool unsymmetric;     /* restriction is approximately ideal */
    const kry_vec *given; /* near null space; NULL: constants */
} kryi_amg_sight;

kry_status kryi_amg_check(const char *who, const kry_op *A, const kry_amg_params *p);
/* *unsymmetric: whether A is to be coarsened with a restriction of its own: that is asked for, or A is not symmetric. Waits.
 * Returns  KRY_ERR_ARGUMENT for such an A with a zero on its diagonal; KRY_ERR_UNSUPPORTED for parameters that do not go with it */
kry_status kryi_amg_kind(const char *who, const kry_op *A, const kry_amg_params *p,
                         bool *unsymmetric);
/* Whether n rows are nodes of so many unknowns; KRY_ERR_ARGUMENT if not. */
kry_status kryi_amg_check_nodes(const char *who, int64_t n, int block);
/* rows: the entries of A, or of its first rows, which may make nodes larger; nnz and couplings are the caller's to say where it has only their pattern. */
kryi_amg_sight kryi_amg_look(const kry_op *A, const kryi_csr *rows, const kry_amg_params *p);
/* c := the start of a set-up, without vectors, for an A of n rows; by: the coarsener.
 * Returns  KRY_ERR_ARGUMENT, KRY_ERR_UNSUPPORTED for nodes that do not suit the rows or the coarsener */
kry_status kryi_amg_start(const char *who, int64_t n, const kryi_amg_sight *s,
                          const kry_amg_params *p, kryi_coarsen *c, const kryi_coarsener **by);
/* *B := the near null space of the finest level, n-by-m, row by row: what is given, or a constant for each unknown of a node.
 * To be freed. Waits. */
kry_status kryi_amg_take_vectors(const kryi_amg_sight *s, int64_t n, const kryi_coarsen *c,
                                 double **B);
/* *dev := the device on which to make what the host has for a matrix on `beside`: the device host, or where the library has no
 * kernels for it `beside` itself. To be released.
 * Returns  KRY_ERR_UNSUPPORTED if that has no double precision */
kry_status kryi_amg_host(const char *who, kry_device *beside, kry_device **dev);
/* What smooths, if nobody says. Where all levels have few entries, by those of A, they have to be smoothed better, which
 * costs no more than the iterations that it saves. */
void kryi_amg_prefer(kryi_hierarchy *H, const kryi_coarsener *by, bool few);

#endif
