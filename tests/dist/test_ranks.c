/* test_ranks.c - teams of ranks, forked processes, against teams of as many devices in one process: the same
 * bits (rank_suite.h). */
#include "operator/halo.h"
#include "rank_local.h"
#include "rank_suite.h"
#include "rank_sums.h"

/* Each runs some of them, and each number is run by some. */
static const int sizes[] = { 1, 2, 3, 4, 7 };

static void some_sizes(const char *what, int64_t number, rank_scene *scene)
{
    for (size_t i = 0; i < COUNT(sizes); i++) {
        if (!one_of(3, (int64_t)i + number)) continue;
        const int bad = run_ranks(sizes[i], 300, sizeof(board), scene);
        if (bad >= 0) fail_msg("%s: rank %d of %d failed", what, bad, sizes[i]);
    }
}

static void vectors__behave_as_on_one_device(void **state)
{
    (void)state;
    some_sizes("vectors", 0, vectors_scene);
}

static void matrices__same_bits_as_a_team(void **state)
{
    (void)state;
    some_sizes("matrices", 1, matrices_scene);
}

static void grids__same_bits_as_a_team(void **state)
{
    (void)state;
    some_sizes("grids", 2, grids_scene);
}

static void reproducible__same_bits_as_one_device(void **state)
{
    (void)state;
    some_sizes("reproducible", 3, reproducible_scene);
}

static void partitions__ranks_with_no_row_and_with_one(void **state)
{
    (void)state;
    const int bad = run_ranks(4, 300, sizeof(board), partitions_scene);
    if (bad >= 0) fail_msg("partitions: rank %d of 4 failed", bad);
}

static void blocks__same_bits_as_a_team(void **state)
{
    (void)state;
    const int bad = run_ranks(4, 300, sizeof(board), blocks_scene);
    if (bad >= 0) fail_msg("blocks: rank %d of 4 failed", bad);
}

static void coefficients__of_a_rank_s_own_box_alone(void **state)
{
    (void)state;
    some_sizes("own coefficients", 4, local_scene);
}

static void problems__of_parts_are_those_of_the_whole(void **state)
{
    (void)state;
    some_sizes("problems", 5, problems_scene);
}

static void sums_scene(wires *w, void *shared)
{
    kry_device *team = ranks_team(w, (kry_team_params){ 0 });
    enum { COUNT_OF_SUM = 40000, PACKETS = 16 * 1024 };
    summing s = { team, KRY_ADD, COUNT_OF_SUM, .all = calloc(7 * COUNT_OF_SUM, sizeof(double)) };

    (void)shared;
    check_sums(team);
    if (w->rank == 0) {
        kry_device *threads = team_here(w->size, (kry_team_params){ 0 });
        check_sums(threads);
        kry_device_release(&threads);
    }
    /* A rank sends less than thrice its numbers, whatever the number of ranks. */
    const int64_t before = w->sent;
    GOOD(kryi_team_run(team->team, NULL, sum_here, &s));
    NEED(w->sent - before < 3 * COUNT_OF_SUM * (int64_t)sizeof(double) + PACKETS, "%lld bytes",
         (long long)(w->sent - before));
    free(s.all);
    kry_device_release(&team);
}

static void sums__in_one_order_on_ranks_and_threads(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(sizes); i++) {
        const int bad = run_ranks(sizes[i], 300, 0, sums_scene);
        if (bad >= 0) fail_msg("sums: rank %d of %d failed", bad, sizes[i]);
    }
}

/* The sums of pipe-cg are under way while the halo is exchanged; those of cg are not. */
static void overlap_scene(wires *w, void *shared)
{
    both b;
    kry_result res;

    open_both(w, shared, KRY_F64, (kry_team_params){ 0 }, &b);
    matrix_on_both(&b, "poisson2d:19", KRY_MATRIX(.traits = KRY_POSITIVE), NULL);
    solve_on_ranks(&b, "method=cg rtol=1e-6", &res);
    NEED(w->overlapped == 0, "%d messages of cg during a sum", w->overlapped);
    solve_on_ranks(&b, "method=pipe-cg rtol=1e-6", &res);
    NEED(w->overlapped >= res.iterations, "%d messages during the sums of %d iterations",
         w->overlapped, (int)res.iterations);
    close_both(&b);
    kry_device_release(&b.team);
    kry_device_release(&b.ranks);
}

static void pipe_cg__exchanges_halos_during_its_sums(void **state)
{
    (void)state;
    const int bad = run_ranks(2, 300, sizeof(board), overlap_scene);
    if (bad >= 0) fail_msg("overlap: rank %d of 2 failed", bad);
}

/* ---- more rows in all than 32 bits count, of which no array has one for each ------------------- */

typedef struct distant {
    kry_device *team;
    kryi_split *split;
} distant;

/* Two numbers of the next rank, whose rows begin beyond those of this one. */
static kry_status exchange_distant(void *user, int rank)
{
    const distant *d = user;
    const kryi_split *s = d->split;
    kry_status st = KRY_OK;
    kry_device *dev = d->team->team->part[rank];
    const int next = (rank + 1) % s->members;
    const int64_t place[] = { s->first[next] + 3, s->first[next] + 9 };
    double mine[10], got[2] = { 0, 0 };
    kryi_halo *halo = NULL;
    kry_vec *x = NULL;

    for (int i = 0; i < 10; i++) mine[i] = 100 * rank + i;
    TRY(kryi_halo_create_for(dev, KRY_F64, &(kryi_places){ s->members, s->first, 2, place },
                             &halo));
    TRY(kry_vec_create(dev, KRY_F64, 10, 1, &x));
    TRY(kry_vec_write(x, mine));
    TRY(kryi_halo_begin(halo, x));
    TRY(kryi_halo_end(halo));
    TRY(kryi_buffer_read(dev, kryi_halo_numbers(halo), 0, sizeof got, got));
    if (got[0] != 100 * next + 3 || got[1] != 100 * next + 9)
        st = kry_fail(KRY_ERR_CALLBACK, "rank %d got %g and %g", rank, got[0], got[1]);
done:
    kry_vec_release(&x);
    kryi_halo_release(&halo);
    return st;
}

static void distant_scene(wires *w, void *shared)
{
    const int64_t rows = INT64_C(1) << 30, n = w->size * rows;
    distant d = { ranks_team(w, (kry_team_params){ 0 }), NULL };
    struct kryi_team *team = d.team->team;

    (void)shared;
    GOOD(kryi_split_by_ranks(team, "distant", w->rank * rows, rows, &d.split));
    NEED(d.split->n == n && n > INT32_MAX && d.split->first[w->rank] == w->rank * rows,
         "%lld rows, from %lld on", (long long)d.split->n, (long long)d.split->first[w->rank]);
    NEED(kryi_split_rows(d.split, w->rank) == rows && kryi_split_place(d.split, n - 1) == n - 1,
         "%lld rows here", (long long)kryi_split_rows(d.split, w->rank));
    GOOD(kryi_team_run(team, d.split, exchange_distant, &d));
    kryi_split_release(&d.split);
    kry_device_release(&d.team);
}

static void halos__between_more_than_2_31_rows(void **state)
{
    (void)state;
    const int bad = run_ranks(3, 300, 0, distant_scene);
    if (bad >= 0) fail_msg("distant: rank %d of 3 failed", bad);
}

/* An argument names some of the tests, as "grids*". */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums__in_one_order_on_ranks_and_threads),
        cmocka_unit_test(pipe_cg__exchanges_halos_during_its_sums),
        cmocka_unit_test(halos__between_more_than_2_31_rows),
        cmocka_unit_test(vectors__behave_as_on_one_device),
        cmocka_unit_test(matrices__same_bits_as_a_team),
        cmocka_unit_test(partitions__ranks_with_no_row_and_with_one),
        cmocka_unit_test(grids__same_bits_as_a_team),
        cmocka_unit_test(blocks__same_bits_as_a_team),
        cmocka_unit_test(coefficients__of_a_rank_s_own_box_alone),
        cmocka_unit_test(problems__of_parts_are_those_of_the_whole),
        cmocka_unit_test(reproducible__same_bits_as_one_device),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
