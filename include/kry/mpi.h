/*
 * mpi.h - teams of MPI ranks, one device each. MPI is in this header alone, which the caller's mpicc compiles:
 * the library has none of it, so that it goes with any MPI.
 *
 *     MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
 *     kry_device_open(NULL, &device);
 *     kry_team_of_mpi(MPI_COMM_WORLD, device, NULL, &team);
 *     kry_csr_create_rows(team, ...);            each rank its own rows
 *     ...
 *     kry_device_release(&team);                 before MPI_Finalize
 */
#ifndef KRY_MPI_H
#define KRY_MPI_H

#include <kry/transport.h>
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The transport has a communicator of its own, so that its messages meet no others. */
typedef struct kry_mpi_ {
    MPI_Comm comm;
} kry_mpi_;

static inline int kry_mpi_gather_(void *user, const void *mine, size_t bytes, void *all,
                                  void **pending)
{
    MPI_Request *request = (MPI_Request *)malloc(sizeof *request);
    if (!request || bytes > INT_MAX) return free(request), 1;
    *pending = request;
    return MPI_Iallgather((void *)mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE,
                          ((kry_mpi_ *)user)->comm, request);
}

static inline int kry_mpi_send_(void *user, int to, int tag, const void *message, size_t bytes,
                                void **pending)
{
    MPI_Request *request = (MPI_Request *)malloc(sizeof *request);
    if (!request || bytes > INT_MAX) return free(request), 1;
    *pending = request;
    return MPI_Isend((void *)message, (int)bytes, MPI_BYTE, to, tag, ((kry_mpi_ *)user)->comm,
                     request);
}

static inline int kry_mpi_test_(void *user, void **pending, int *ended)
{
    int error = MPI_Test((MPI_Request *)*pending, ended, MPI_STATUS_IGNORE);
    (void)user;
    if (!error && *ended) free(*pending), *pending = NULL;
    return error;
}

static inline int kry_mpi_probe_(void *user, int from, int tag, size_t *bytes, int *there)
{
    MPI_Status status;
    int count = 0, error = MPI_Iprobe(from < 0 ? MPI_ANY_SOURCE : from, tag,
                                      ((kry_mpi_ *)user)->comm, there, &status);
    if (!error && *there) error = MPI_Get_count(&status, MPI_BYTE, &count);
    *bytes = (size_t)count;
    return error;
}

static inline int kry_mpi_receive_(void *user, int from, int tag, void *message, size_t bytes)
{
    return MPI_Recv(message, (int)bytes, MPI_BYTE, from, tag, ((kry_mpi_ *)user)->comm,
                    MPI_STATUS_IGNORE);
}

static inline void kry_mpi_release_(void *user)
{
    int over = 0;
    if (!MPI_Finalized(&over) && !over) MPI_Comm_free(&((kry_mpi_ *)user)->comm);
    free(user);
}

/* Open the device that `spec` names, else KRY_DEVICE. On several ranks, where these say no more than "gpu", a rank gets the
 * GPU of its number on its machine, if there is one. Collective; ranks may fail apart. */
static inline kry_status kry_mpi_open_(MPI_Comm comm, const char *spec, kry_device **device)
{
    int size = 1, here = 0;

    MPI_Comm_size(comm, &size);
    if (size > 1 && (spec ? !strcmp(spec, "gpu") : !getenv("KRY_DEVICE"))) {
        MPI_Comm machine;
        char name[32];
        MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
        MPI_Comm_rank(machine, &here);
        MPI_Comm_free(&machine);
        snprintf(name, sizeof name, "gpu:%d", here);
        if (kry_device_open(name, device) >= 0) return KRY_OK;
    }
    return kry_device_open(spec, device);
}

/* kry_team_of_mpi for an MPI that is initialised, with any level of threads. */
static inline kry_status kry_mpi_team_(MPI_Comm comm, kry_device *device,
                                       const kry_team_params *params, kry_device **team)
{
    kry_transport t = { sizeof t,
                        NULL,
                        0,
                        0,
                        kry_mpi_gather_,
                        kry_mpi_send_,
                        kry_mpi_test_,
                        kry_mpi_probe_,
                        kry_mpi_receive_,
                        kry_mpi_release_ };
    kry_mpi_ *mpi = (kry_mpi_ *)malloc(sizeof *mpi);

    if (team) *team = NULL;
    if (!mpi) return kry_fail(KRY_ERR_MEMORY, "kry_team_of_mpi: out of memory");
    if (MPI_Comm_dup(comm, &mpi->comm)) {
        free(mpi);
        return kry_fail(KRY_ERR_DEVICE, "kry_team_of_mpi: MPI_Comm_dup failed");
    }
    MPI_Comm_set_errhandler(mpi->comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(mpi->comm, &t.rank);
    MPI_Comm_size(mpi->comm, &t.size);
    t.user = mpi;
    return kry_team_of_transport(&t, device, params, team);
}

/*
 * kry_team_of_transport over a duplicate of `comm`. Collective.
 *
 * A message between two ranks is at most 2 GB (2^31 - 1 bytes). The calls of MPI come from the thread that calls
 * kry: MPI_THREAD_FUNNELED is enough, and less is refused, for OpenCL has threads of its own.
 *
 * Returns  also KRY_ERR_ARGUMENT if MPI is not initialised, or with too low a level of threads
 */
static inline kry_status kry_team_of_mpi(MPI_Comm comm, kry_device *device,
                                         const kry_team_params *params, kry_device **team)
{
    int there = 0, level = MPI_THREAD_SINGLE;

    if (team) *team = NULL;
    MPI_Initialized(&there);
    if (!there) return kry_fail(KRY_ERR_ARGUMENT, "kry_team_of_mpi: call MPI_Init_thread before");
    MPI_Query_thread(&level);
    if (level < MPI_THREAD_FUNNELED)
        return kry_fail(KRY_ERR_ARGUMENT, "kry_team_of_mpi: MPI is for programs of one thread: ask "
                                          "MPI_Init_thread for MPI_THREAD_FUNNELED");
    return kry_mpi_team_(comm, device, params, team);
}

#endif
