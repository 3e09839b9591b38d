/*
 * time_parts.c - how long parts of a team wait for each other: sums and halos by themselves, for the model in
 * docs/devices.md. No test: `ninja -C build tests/time_parts`, then
 *
 *     tests/time_parts gpu:0+gpu:1                    a team in one process
 *     mpirun -n 2 tests/time_parts gpu:0 gpu:1        ranks, each with the device of its number, or with the only one
 */
#include "device/comm.h"
#include "operator/halo.h"
#include "team/team.h"
#include "vector/vec.h"
#include <kry/mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { SUMS = 2000, MANY = 100, NUMBERS = 1 << 20 };
static const size_t many[] = { 64, 4096, 65536 };
static const int64_t counts[] = { 1, 1 << 10, 1 << 14, 1 << 16, 1 << 18, 1 << 20 };

typedef struct times {
    kry_device *team;
    double sum;                                   /* two numbers of each part */
    double gather[COUNT(many)], add[COUNT(many)]; /* many, brought to each; added up */
    double halo[COUNT(counts)];                   /* to and from each neighbour */
} times;

static kry_status time_sums(kryi_layout *layout, size_t count, int turns, double *seconds)
{
    kry_status st = KRY_OK;
    double *numbers = NULL, start = 0;

    TRY(kryi_alloc(count, sizeof *numbers, &numbers));
    for (int i = 0; i <= turns; i++) { /* the first one warms up */
        if (i == 1) start = kryi_now();
        TRY(kryi_layout_combine(layout, KRY_ADD, numbers, count));
    }
    *seconds = (kryi_now() - start) / turns;
done:
    free(numbers);
    return st;
}

static kry_status time_gathers(kryi_layout *layout, size_t count, double *seconds)
{
    kry_status st = KRY_OK;
    double *numbers = NULL, *all = NULL, start = 0;

    TRY(kryi_alloc(count, sizeof *numbers, &numbers));
    TRY(kryi_alloc(count * (size_t)kryi_layout_size(layout), sizeof *all, &all));
    for (int i = 0; i <= MANY; i++) {
        if (i == 1) start = kryi_now();
        TRY(kryi_layout_gather(layout, numbers, count * sizeof *numbers, all));
    }
    *seconds = (kryi_now() - start) / MANY;
done:
    free(all);
    free(numbers);
    return st;
}

/* The first `count` numbers of the part before, and of the part behind. */
static kry_status time_halo(kry_device *part, const kry_vec *x, int64_t count, double *seconds)
{
    kry_status st = KRY_OK;
    const int rank = kryi_layout_rank(&part->layout), size = kryi_layout_size(&part->layout);
    kryi_halo *halo = NULL;
    int32_t *row = NULL;
    kryi_link want[2];
    int links = 0;
    double start = 0;

    TRY(kryi_alloc(2 * (size_t)count, sizeof *row, &row));
    for (int64_t i = 0; i < 2 * count; i++) row[i] = (int32_t)(i % count);
    for (int other = rank - 1; other <= rank + 1; other += 2)
        if (other >= 0 && other < size)
            want[links] = (kryi_link){ other, links * count, count }, links++;
    TRY(kryi_halo_create(part, KRY_F64, want, links, row, &halo));
    for (int i = 0; i <= MANY; i++) {
        if (i == 1) start = kryi_now();
        TRY(kryi_halo_begin(halo, x));
        TRY(kryi_halo_end(halo));
        TRY(kry_device_finish(part));
    }
    *seconds = (kryi_now() - start) / MANY;
done:
    kryi_halo_release(&halo);
    free(row);
    return st;
}

static kry_status measure(void *user, int rank)
{
    kry_status st = KRY_OK;
    times own, *t = user;
    kry_device *part = t->team->team->part[rank];
    kry_vec *x = NULL;

    TRY(kry_vec_create(part, KRY_F64, NUMBERS, 1, &x));
    TRY(time_sums(&part->layout, 2, SUMS, &own.sum));
    for (size_t i = 0; i < COUNT(many); i++) {
        TRY(time_gathers(&part->layout, many[i], &own.gather[i]));
        TRY(time_sums(&part->layout, many[i], MANY, &own.add[i]));
    }
    for (size_t i = 0; i < COUNT(counts); i++) TRY(time_halo(part, x, counts[i], &own.halo[i]));
    own.team = t->team;
    if (rank == 0) *t = own;
done:
    kry_vec_release(&x);
    return st;
}

static void report(const times *t)
{
    printf("%s\n%-24s %10.2f us\n", t->team->info.name, "a sum of 2 numbers", 1e6 * t->sum);
    for (size_t i = 0; i < COUNT(many); i++)
        printf("%7zu numbers gathered %10.2f us, added up %10.2f us\n", many[i], 1e6 * t->gather[i],
               1e6 * t->add[i]);
    for (size_t i = 0; i < COUNT(counts); i++)
        printf("a halo of %8.0f KB     %10.2f us\n", (double)counts[i] * 8 / 1024,
               1e6 * t->halo[i]);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    kry_status st = KRY_OK;
    const bool ranks = getenv("OMPI_COMM_WORLD_SIZE") || getenv("PMI_SIZE");
    kry_device *own = NULL, *team = NULL;
    int level, rank = 0;

    if (ranks) {
        MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    }
    TRY(kry_device_open(argc > 1 ? argv[rank + 1 < argc ? rank + 1 : 1] : NULL, &own));
    if (ranks)
        TRY(kry_team_of_mpi(MPI_COMM_WORLD, own, NULL, &team));
    else
        team = kry_device_retain(own);
    CHECK(team->team, KRY_ERR_ARGUMENT, "%s is no team of devices", team->info.name);
    times t = { .team = team };
    TRY(kryi_team_run(team->team, NULL, measure, &t));
    if (rank == 0) report(&t);
done:
    if (st < 0 && rank == 0) fprintf(stderr, "time_parts: %s\n", kry_last_error());
    kry_device_release(&team);
    kry_device_release(&own);
    if (ranks) MPI_Finalize();
    return st < 0;
}
