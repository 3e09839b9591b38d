/* test_ranks.c - teams of ranks, forked processes, against teams of as many devices in one process: the same
 * bits (rank_suite.h). */
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

/* An argument names some of the tests, as "grids*". */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors__behave_as_on_one_device),
        cmocka_unit_test(matrices__same_bits_as_a_team),
        cmocka_unit_test(partitions__ranks_with_no_row_and_with_one),
        cmocka_unit_test(grids__same_bits_as_a_team),
        cmocka_unit_test(reproducible__same_bits_as_one_device),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
