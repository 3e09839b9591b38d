/* amg_self.h - what is behind a preconditioner of algebraic multigrid, and the parts of its making: amg_levels.c makes the
 * levels, amg_single.c has those for vectors in single, amg_update.c gives all new numbers. */
#ifndef KRY_AMG_SELF_H
#define KRY_AMG_SELF_H

#include "amg/amg_device.h"
#include "multigrid/hierarchy.h"

static const char kry_amg_who[] = "kry_amg_create";

enum { KRY_AMG_LEVELS = 64 };

typedef struct kry_amg {
    kry_op *A;               /* retained */
    const kry_coarsener *by; /* static */
    double complexity;       /* entries of all levels over those of A, at most */
    int64_t nnz;             /* entries of A */
    double entries;          /* of all levels so far */
    int64_t coarsest;        /* unknowns at which to end */
    int levels;              /* at most */
    kry_device_levels
        *device; /* the finest levels, if a device makes them; NULL: the host makes all */
    int upper;   /* of these, levels that are coarsened */
    int made;    /* the same of the host's, which follow */
    kry_keep
        keep; /* how operators keep their numbers, but for A and the coarsest level's: in single where constants are
                      the near null space, which rows that add up to what they did leave as it is */
    kry_row_look look;          /* at A */
    kry_op *narrow;             /* A for vectors in single; NULL: the levels' are A's */
    void *kept[KRY_AMG_LEVELS]; /* by the coarsener, for each of the host's */
} kry_amg;

/* What smooths, if nobody says. Where all levels have few entries, by those of A, they have to be smoothed better, which
 * costs no more than the iterations that it saves. */
void kry_amg_prefer(kry_hierarchy *H, const kry_coarsener *by, bool few);

/* ---- amg_levels.c ------------------------------------------------------------------------------ */

/* Add the levels to H. Waits. */
kry_status kry_amg_make_levels(kry_amg *M, kry_hierarchy *H, const kry_amg_params *p);
/* rows := those of A, symmetric to the bit. Waits. */
kry_status kry_amg_read_rows(const kry_amg *M, kry_sparse *rows);

/* ---- amg_single.c ------------------------------------------------------------------------------ */

/* Of the levels' vectors: single if that is asked for or, where nobody says, does as well.
 * Returns  KRY_ERR_UNSUPPORTED if it is asked for, and cannot be */
kry_status kry_amg_choose_type(kry_amg *M, const kry_cycle_params *cycle);
/* There is a coarser level: if vectors are to be in single *A, which is A, becomes one for these. rows: of A; NULL: the device
 * has them. */
kry_status kry_amg_begin_narrow(kry_amg *M, const kry_sparse *rows, kry_op **A);
/* What rounding takes from the rows of A. */
kry_status kry_amg_find_rest(const kry_amg *M, const kry_sparse *rows, cl_mem *rest);
/* Whether what was in range of single still is. */
kry_status kry_amg_check_range(const kry_amg *M);

/* ---- amg_update.c ------------------------------------------------------------------------------ */

/* Entry of the family's table. */
kry_status kry_amg_update(kry_hierarchy *H, void *self);

#endif
