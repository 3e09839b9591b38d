/* test_rank_calls.c - an OpenCL call of one rank fails: a sample of all of them, one after the other. The solve ends
 * in the same way on all ranks, and the next one works. */
#include "layered.h"
#include "rank_faults.h"

/* About 14 calls of a solve fail, one after the other; with KRY_FULL ten times as many. */
static void sweep(kry_device *team, wires *w, board *b, shape of, const char *words)
{
    const int bad = w->size - 1;
    int failed = 0;

    GOOD(solve_all(team, w, of, words)); /* everything is compiled */
    layer()->arm(NULL, 0, CL_SUCCESS, false);
    GOOD(solve_all(team, w, of, words));
    if (w->rank == bad) b->calls = layer()->calls();
    all_alike(team, w, b, KRY_OK);
    const long calls = b->calls, stride = calls / (getenv("KRY_FULL") ? 140 : 14) + 1;
    for (long k = 1 + random_below(stride); k <= calls; k += stride) {
        if (w->rank == bad) layer()->arm(NULL, k, CL_OUT_OF_RESOURCES, false);
        kry_status st = solve_all(team, w, of, words);
        layer()->arm(NULL, 0, CL_SUCCESS, false);
        NEED(st < 0 || st == KRY_OK, "call %ld: status %d", k, st);
        failed += st < 0;
        all_alike(team, w, b, st);
    }
    if (w->rank == 0) printf("# %s: %ld calls, %d solves failed\n", words, calls, failed);
    NEED(failed > 5, "%d solves failed", failed);
    if (of != BLOCKS) return;
    /* With its device lost, whatever needs it fails on all ranks, and nobody hangs. */
    if (w->rank == bad) layer()->arm(NULL, calls / 2, CL_OUT_OF_RESOURCES, true);
    for (int i = 0; i < 2; i++) {
        kry_status st = solve_all(team, w, of, words);
        NEED(st < 0, "solved without a device");
        NEED(strstr(kry_last_error(), "rank 2 of 3: "), "%s", kry_last_error());
    }
    layer()->arm(NULL, 0, CL_SUCCESS, false);
}

static void calls_scene(wires *w, void *shared)
{
    kry_device *team = ranks_team(w, (kry_team_params){ 0 });

    sweep(team, w, shared, STORED, "method=pcg precond=jacobi deflation=stripes:40");
    sweep(team, w, shared, STORED, "method=pcg precond=amg:gather=20,coarsest=4");
    sweep(team, w, shared, STORED, "method=pipe-cg precond=jacobi");
    sweep(team, w, shared, SLABS, "method=pcg precond=mg:gather=8,coarsest=4");
    sweep(team, w, shared, BLOCKS, "method=pcg precond=jacobi"); /* the last one */
    kry_device_release(&team);
}

static void calls__of_one_rank_fail(void **state)
{
    (void)state;
    const int bad = run_ranks(3, getenv("KRY_FULL") ? 7000 : 600, sizeof(board), calls_scene);
    if (bad >= 0) fail_msg("rank %d of 3 failed", bad);
}

/* In a process of its own, for nothing of OpenCL outlives a fork. */
static void probe_scene(wires *w, void *shared)
{
    (void)w, (void)shared;
    if (!layer()) _exit(1);
}

int main(void)
{
    if (run_ranks(1, 60, sizeof(bool), probe_scene) >= 0) {
        printf("1..0 # SKIP no layer before this OpenCL\n");
        return 0;
    }
    const struct CMUnitTest tests[] = { cmocka_unit_test(calls__of_one_rank_fail) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
