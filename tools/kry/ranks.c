/* ranks.c - kry solve over MPI: devices, rows and results of all ranks (ranks.h). */
#include "ranks.h"
#include <kry/mpi.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int count = 1, rank;
static bool started;

int ranks_count(void) { return count; }
bool ranks_report(void) { return rank == 0; }

/* What Open MPI, MPICH and Slurm set for the processes that they start. */
static bool by_mpirun(void)
{
    static const char *const set[] = { "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK" };
    for (size_t i = 0; i < COUNT(set); i++)
        if (getenv(set[i])) return true;
    return false;
}

kry_status ranks_begin(void)
{
    int level;

    if (!by_mpirun()) return KRY_OK;
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level))
        return kry_fail(KRY_ERR_DEVICE, "MPI_Init_thread failed");
    started = true;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &count);
    return KRY_OK;
}

void ranks_end(void)
{
    if (started) MPI_Finalize();
}

kry_status ranks_agree(kry_status mine)
{
    struct {
        int status, rank;
    } own = { mine < 0 ? (int)mine : 0, rank }, worst;
    char why[400];

    if (count == 1) return mine;
    MPI_Allreduce(&own, &worst, 1, MPI_2INT, MPI_MINLOC, MPI_COMM_WORLD);
    if (worst.status == 0) return mine;
    snprintf(why, sizeof why, "%s", mine < 0 ? kry_last_error() : "");
    MPI_Bcast(why, sizeof why, MPI_CHAR, worst.rank, MPI_COMM_WORLD);
    return kry_fail((kry_status)worst.status, "%s", why);
}

/* ---- devices ----------------------------------------------------------------------------------- */

static kry_status open_one(const char *spec, bool times, kry_device **device)
{
    return times ? kry_device_open_timed(spec, device) : kry_device_open(spec, device);
}

static kry_status open_own(const char *spec, bool times, kry_device **device)
{
    MPI_Comm machine;
    int here;
    char own[32];

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
    MPI_Comm_rank(machine, &here);
    MPI_Comm_free(&machine);
    snprintf(own, sizeof own, "gpu:%d", here);
    if ((!spec || !strcmp(spec, "gpu")) && open_one(own, times, device) >= 0) return KRY_OK;
    return open_one(spec, times, device);
}

enum { SPEC_ROOM = 256 };

/* What is behind a device's name is not for each rank's own device, but for all of them together. */
static kry_status take_words(const char *spec, char own[SPEC_ROOM], kry_team_params *together)
{
    kry_status st = KRY_OK;

    CHECK(snprintf(own, SPEC_ROOM, "%s", spec) < SPEC_ROOM, KRY_ERR_PARSE, "--device %s: too long",
          spec);
    for (char *comma; (comma = strrchr(own, ',')); *comma = '\0') {
        const char *word = comma + 1;
        bool *option = !strcmp(word, "use-all")        ? &together->use_all
                       : !strcmp(word, "graph")        ? &together->by_graph
                       : !strcmp(word, "reproducible") ? &together->reproducible
                                                       : NULL;
        CHECK(option, KRY_ERR_PARSE, "--device %s: '%s' is none of use-all, graph, reproducible",
              spec, word);
        *option = true;
    }
done:
    return st;
}

kry_status ranks_device(const char *spec, bool times, kry_device **device)
{
    kry_status st = KRY_OK;
    kry_device *own = NULL;
    kry_team_params together = { .struct_size = sizeof together };
    char name[SPEC_ROOM];

    if (count == 1) return open_one(spec, times, device);
    if (spec) TRY(take_words(spec, name, &together));
    TRY(ranks_agree(open_own(spec ? name : NULL, times, &own)));
    TRY(kry_team_of_mpi(MPI_COMM_WORLD, own, &together, device));
done:
    kry_device_release(&own);
    return st;
}

/* ---- numbers of all -------------------------------------------------------------------------------- */

void ranks_sum(double *numbers, int length)
{
    if (count > 1)
        MPI_Allreduce(MPI_IN_PLACE, numbers, length, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

int64_t ranks_least(int64_t mine)
{
    if (count > 1) MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD);
    return mine;
}

double ranks_most(double mine)
{
    double own[2] = { mine, isnan(mine) }, most[2] = { mine, 0 };

    if (count > 1) MPI_Allreduce(own, most, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return most[1] > 0 ? NAN : most[0];
}

/* ---- what it came to --------------------------------------------------------------------------- */

void ranks_shares(const kry_op *A, const kry_rank_facts *before, shares *of)
{
    kry_op_info info;
    kry_rank_facts now;
    kry_vec *v = NULL;
    enum { NUMBERS = 6 };
    double mine[NUMBERS], least[NUMBERS], most[NUMBERS], sum[NUMBERS];

    *of = (shares){ .ranks = count };
    if (count == 1) return;
    kry_op_describe(A, &info);
    kry_team_rank_facts(kry_op_device(A), &now);
    const kry_op_shape *shape = kry_op_get_shape(A);
    if (kry_vec_create(kry_op_device(A), shape->type, shape->rows, 1, &v) < 0) return;
    mine[0] = (double)kry_vec_rows_here(v, NULL);
    mine[1] = (double)info.nnz;
    mine[2] = (double)(now.sent - before->sent);
    mine[3] = now.waited - before->waited;
    mine[4] = (double)info.slots;
    mine[5] = info.bytes_stored;
    kry_vec_release(&v);
    MPI_Allreduce(mine, least, NUMBERS, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(mine, most, NUMBERS, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(mine, sum, NUMBERS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    of->rows[0] = (int64_t)least[0], of->rows[1] = (int64_t)most[0];
    of->entries[0] = (int64_t)least[1], of->entries[1] = (int64_t)most[1];
    of->nnz = info.nnz < 0 ? -1 : (int64_t)sum[1];
    of->slots = (int64_t)sum[4], of->bytes_stored = sum[5];
    of->sent = most[2];
    of->waited[0] = sum[3] / count, of->waited[1] = most[3];
}
