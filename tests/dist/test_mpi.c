/* test_mpi.c SCENE - the suite of rank_suite.h over MPI: mpirun -n 4 test_mpi vectors */
#include "rank_suite.h"
#include "rank_sums.h"
#include <kry/mpi.h>

static kry_status open_by_mpi(wires *w, kry_device *dev, const kry_team_params *params,
                              kry_device **team)
{
    (void)w;
    return kry_team_of_mpi(MPI_COMM_WORLD, dev, params, team);
}

static void sums_scene(wires *w, void *shared)
{
    kry_device *team = ranks_team(w, (kry_team_params){ 0 });

    (void)shared;
    check_sums(team);
    kry_device_release(&team);
}

static void refusals_scene(wires *w, void *shared)
{
    kry_device *dev, *team;
    kry_vec *x, *y;
    const int bad = w->size - 1;

    (void)shared;
    GOOD(kry_device_open(NULL, &dev));
    NEED(kry_team_of_mpi(MPI_COMM_WORLD, w->rank == bad ? NULL : dev, NULL, &team) ==
             KRY_ERR_ARGUMENT,
         "%s", kry_last_error());
    kry_device_release(&dev);
    team = ranks_team(w, (kry_team_params){ 0 });
    GOOD(kry_vec_create(team, KRY_F32, 100, 1, &x));
    NEED(kry_vec_create(team, KRY_F32, w->rank == bad ? 99 : 98, 1, &y) == KRY_ERR_ARGUMENT, "%s",
         kry_last_error());
    GOOD(kry_vec_fill(x, 1));
    kry_vec_release(&x);
    kry_device_release(&team);
}

/* A rank that is killed ends the job, though others wait for it: run by mpi_killed.sh, for it does not come back. */
static void killed_scene(wires *w, void *shared)
{
    kry_device *team = ranks_team(w, (kry_team_params){ 0 });
    const bool last = w->rank == w->size - 1;
    kry_vec *x;
    double norm;

    (void)shared;
    GOOD(kry_vec_create(team, KRY_F64, 100, 1, &x));
    GOOD(kry_vec_norm2(x, &norm));
    printf("rank %d of %d, process %d, %s\n", w->rank, w->size, (int)getpid(),
           last ? "is killed" : "waits");
    fflush(stdout);
    if (last) {
        sleep(1); /* so that the others are in their call, and mpirun has the line */
        raise(SIGKILL);
    }
    const kry_status st = kry_vec_norm2(x, &norm);
    NEED(false, "came back from a call with a rank that was killed, status %d", st);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        rank_scene *run;
    } scenes[] = { { "sums", sums_scene },
                   { "vectors", vectors_scene },
                   { "matrices", matrices_scene },
                   { "grids", grids_scene },
                   { "reproducible", reproducible_scene },
                   { "refusals", refusals_scene } };
    wires w = { 0 };
    MPI_Comm node;
    MPI_Win window;
    MPI_Aint bytes;
    void *shared;
    int level, unit, ran = 0;

    setenv("POCL_MAX_PTHREAD_COUNT", "1", 1);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &w.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &w.size);
    rank_number = w.rank;
    open_ranks = open_by_mpi;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Win_allocate_shared(w.rank ? 0 : sizeof(board), 1, MPI_INFO_NULL, node, &shared, &window);
    MPI_Win_shared_query(window, 0, &bytes, &unit, &shared);
    for (size_t i = 0; i < COUNT(scenes); i++)
        if (argc < 2 || !strcmp(argv[1], scenes[i].name)) scenes[i].run(&w, shared), ran++;
    if (argc > 1 && !strcmp(argv[1], "killed")) killed_scene(&w, shared);
    NEED(ran > 0, "no scene of that name");
    if (w.rank == 0) printf("%d ranks: %d scenes\n", w.size, ran);
    MPI_Win_free(&window);
    MPI_Comm_free(&node);
    MPI_Finalize();
    return 0;
}
