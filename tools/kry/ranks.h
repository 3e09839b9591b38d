/*
 * ranks.h - kry solve as one of several processes: `mpirun -n 4 kry solve ...`. ranks.c is for programs that are built
 * with MPI (-Dmpi=enabled), ranks_none.c for all others, which are one process.
 */
#ifndef KRY_RANKS_PROGRAM_H
#define KRY_RANKS_PROGRAM_H

#include "source.h"

/* How the work is shared out. */
typedef struct shares {
    int ranks;                   /* 1: there is nothing to report */
    int64_t rows[2], entries[2]; /* fewest and most of a rank; entries < 0: not stored */
    int64_t nnz, slots;          /* of all ranks together, */
    double bytes_stored;         /* as in kry_op_info */
    double sent;                 /* bytes per solve, the most of a rank */
    double waited[2];            /* seconds in the solve: on average, and the most of a rank */
} shares;

/* Before and after everything else. Only programs that mpirun started have anything to do. */
kry_status ranks_begin(void);
void ranks_end(void);
int ranks_count(void);
bool ranks_report(void); /* whether this process prints */

/* The first failure of any rank, on all of them, with its message. Collective. */
kry_status ranks_agree(kry_status mine);
/* kry_device_open; on ranks, a team of one device of each. A GPU is the one of the rank's number on its
 * machine, if there are so many. times: kry_device_open_timed. */
kry_status ranks_device(const char *spec, bool times, kry_device **device);
/* Replace each by its sum over all ranks; the least and the most of all. Collective. */
void ranks_sum(double *numbers, int length);
int64_t ranks_least(int64_t mine);
double ranks_most(double mine); /* NaN if one is */
/* before: of this rank's device when the solve began */
void ranks_shares(const kry_op *A, const kry_rank_facts *before, shares *of);

#endif
