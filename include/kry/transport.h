/* transport.h - one device in each of several processes, as one: kry over MPI, or over anything else that
 * carries bytes between processes. <kry/mpi.h> fills in the table for MPI. */
#ifndef KRY_TRANSPORT_H
#define KRY_TRANSPORT_H

#include <kry/formats.h>
#include <kry/team.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * How processes reach each other. The functions are called by the thread that made the team, never two at a
 * time. Each returns 0, or anything else if it failed: then the team is of no more use. None of them waits,
 * except `receive` for the rest of a message that `probe` has seen.
 *
 * What has begun and not ended is `pending`, an address that is the transport's own; NULL: it has ended
 * already. Memory that was handed over stays as it is until then.
 */
typedef struct kry_transport {
    size_t struct_size; /* sizeof(kry_transport): what an earlier header does not have is NULL */
    void *user;         /* handed to every function */
    int rank, size;     /* this process, of so many: 0 ... size - 1 */
    /* Collective: every rank's `bytes`, in the order of ranks, to all[0 ... size * bytes - 1]. At most one
     * is pending. */
    int (*gather)(void *user, const void *mine, size_t bytes, void *all, void **pending);
    /* A message to one rank. Those of one tag (1 to 3) between two ranks arrive in the order in which they
     * were sent. bytes may be 0. */
    int (*send)(void *user, int to, int tag, const void *message, size_t bytes, void **pending);
    /* Whether it has ended; then *pending := NULL. */
    int (*test)(void *user, void **pending, int *ended);
    /* Whether a message with this tag of rank `from` (-1: of any) can be received, and how long it is. */
    int (*probe)(void *user, int from, int tag, size_t *bytes, int *there);
    int (*receive)(void *user, int from, int tag, void *message, size_t bytes);
    void (*release)(void *user); /* with the team; NULL: nothing to do */
} kry_transport;

/*
 * Make one device of the devices of all ranks. All ranks call this, and from then on every function that
 * takes the team, or what was made on it, in the same order and with the same arguments but for the numbers:
 * arrays on the host (kry_vec_write, kry_vec_read, kry_csr_create_rows) hold this rank's rows, one behind the
 * other. Releasing is the only exception. A call fails on all ranks if it fails on one, with the same
 * message, which names the rank; the next call works.
 *
 *   transport  copied; transport->release is called with the team, or if this function fails, unless that
 *              is for a struct_size that no header of this library or an earlier one made
 *   device     this rank's, by itself. Retained
 *   params     NULL: the defaults. shares: size of them, the same on all ranks. use_all: always so.
 *              by_graph is refused: rows are where their ranks bring them
 *
 * Returns  KRY_ERR_ARGUMENT, on all ranks, for a transport with a function missing, a device that is in a
 *          team; KRY_ERR_UNSUPPORTED as kry_team_create for reproducible sums and for host devices, and for
 *          more than 4096 ranks; KRY_ERR_DEVICE if the transport fails; KRY_ERR_MEMORY. Waits.
 */
KRY_API KRY_MUST_CHECK kry_status kry_team_of_transport(const kry_transport *transport,
                                                        kry_device *device,
                                                        const kry_team_params *params,
                                                        kry_device **team);

/*
 * Make a square matrix of which each rank brings its own rows; no rank holds the whole of it.
 *
 *   device       a team of ranks; on any other device this process brings all rows
 *   first_row    of this rank: the rows of rank 0 come first, then those of rank 1, without gaps
 *   rows         >= 0, of this rank; the matrix has as many rows and columns as all ranks have rows
 *   row_ptr      rows + 1: row first_row + i has the entries row_ptr[i] ... row_ptr[i + 1] - 1; row_ptr[0] = 0
 *   col          columns of the whole matrix, in any order
 *   val          numbers of `type`
 *   params       NULL: the defaults. storage: KRY_GENERAL
 *
 * Vectors of as many rows are cut in the same way, so make the matrix first. kry_op_update takes this rank's
 * values in the order of `val`.
 *
 * Returns  as kry_csr_create, on all ranks; KRY_ERR_ARGUMENT if the rows of a rank do not begin where those of
 *          the one before end, or, for reproducible sums, not at the multiple that the message names;
 *          KRY_ERR_SHAPE if as many rows are cut elsewhere already. Waits.
 */
KRY_API KRY_MUST_CHECK kry_status kry_csr_create_rows(kry_device *device, kry_type type,
                                                      int64_t first_row, int64_t rows,
                                                      const int64_t *row_ptr, const int64_t *col,
                                                      const void *val,
                                                      const kry_matrix_params *params, kry_op **op);

/*
 * Ask whether all ranks can go on, before a call that one which has failed would not make. Collective.
 *
 *   call  a name for this place, which is to be the same on all ranks
 *   mine  < 0: this rank has failed; kry_last_error (kry_fail) says why
 *
 * A rank that has failed meets the others wherever they are: in this function or in any other call.
 *
 * Returns  KRY_OK if no rank has failed, else on all the status of the first that has, with its message;
 *          KRY_ERR_ARGUMENT, on all, if they give different names. On any other device `mine`, or KRY_OK. Waits.
 */
KRY_API KRY_MUST_CHECK kry_status kry_team_agree(kry_device *device, const char *call,
                                                 kry_status mine);

/*
 * Find out where the rows of this rank begin if each has so many. Collective.
 *
 *   rows   >= 0, of this rank
 *   first  [out]  rows that the ranks before it have, 0 on any other device
 *   all    [out]  rows of all ranks
 *
 * Returns  KRY_ERR_ARGUMENT for rows < 0, or more than 2^63-1 rows in all; KRY_ERR_MEMORY. Waits.
 */
KRY_API KRY_MUST_CHECK kry_status kry_team_rows(kry_device *device, int64_t rows, int64_t *first,
                                                int64_t *all);

/*
 * Bring the bytes of all ranks together on each of them. Collective.
 *
 *   mine   bytes of this rank
 *   bytes  the same number on all ranks
 *   all    [out]  of the ranks in their order, bytes of each; on any other device `mine`
 *
 * Returns  KRY_ERR_ARGUMENT, on all ranks, if they give different numbers of bytes; KRY_ERR_DEVICE. Waits.
 */
KRY_API KRY_MUST_CHECK kry_status kry_team_gather(kry_device *device, const void *mine,
                                                  size_t bytes, void *all);

/* Whether the device is a team that kry_team_of_transport made. */
KRY_API bool kry_team_is_ranks(const kry_device *device);
/* The rank of this process, 0 for any device that is not made of ranks. */
KRY_API int kry_team_rank(const kry_device *device);

/* How long this rank has waited for others since the team was made, in seconds, and what it has sent to
 * neighbours, in bytes. 0 on any other device. */
typedef struct kry_rank_facts {
    double waited;
    int64_t sent;
} kry_rank_facts;
KRY_API void kry_team_rank_facts(const kry_device *device, kry_rank_facts *facts);

#ifdef __cplusplus
}
#endif
#endif
