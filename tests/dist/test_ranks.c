/* test_ranks.c - teams of ranks, forked processes, against teams of as many devices in one process: the same
 * bits (rank_suite.h). */
#include "rank_local.h"
#include "rank_suite.h"

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

/* An argument names some of the tests, as "grids*". */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {

        cmocka_unit_test(pipe_cg__exchanges_halos_during_its_sums),

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
