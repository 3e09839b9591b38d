/* test_ranks_faults.c - what goes wrong on one rank fails on all with one message, nobody hangs, and the next call
 * works. */
#include "rank_faults.h"
#include <kry/queue.h>

static void fails(kry_device *team, wires *w, board *b, kry_status st, kry_status want,
                  const char *text)
{
    NEED(st == want, "status %d instead of %d: %s", st, want, st < 0 ? kry_last_error() : "");
    NEED(strstr(kry_last_error(), text), "no '%s' in '%s'", text, kry_last_error());
    all_alike(team, w, b, st);
}

/* ---- bad input --------------------------------------------------------------------------------- */

static int only_count(void *user, const kry_iteration *it)
{
    (void)it;
    ++*(int *)user;
    return 0;
}

static int stop_at_3(void *user, const kry_iteration *it)
{
    (void)only_count(user, it);
    return it->iteration >= 3;
}

/* What a program asks of all ranks. One that fails meets the others wherever they are. */
static void agreements(kry_device *team, wires *w, board *b, const kry_vec *x)
{
    const int r = w->rank, size = w->size;
    const bool bad = r == size - 1;
    int64_t first, all;
    double norm;

    fails(team, w, b,
          kry_team_agree(team, "here", bad ? kry_fail(KRY_ERR_FILE, "no file") : KRY_OK),
          KRY_ERR_FILE, "no file");
    fails(team, w, b,
          bad ? kry_team_agree(team, "here", kry_fail(KRY_ERR_FILE, "no file"))
              : kry_vec_norm2(x, &norm),
          KRY_ERR_FILE, "no file");
    fails(team, w, b, kry_team_agree(team, bad ? "there" : "here", KRY_OK), KRY_ERR_ARGUMENT,
          "calls here, rank");
    fails(team, w, b, kry_team_rows(team, bad ? -1 : 5, &first, &all), KRY_ERR_ARGUMENT,
          "rows = -1");
    fails(team, w, b, kry_team_rows(team, INT64_MAX, &first, &all), KRY_ERR_ARGUMENT, "2^63-1");
    GOOD(kry_team_agree(team, "here", KRY_OK));
    GOOD(kry_team_rows(team, 10 + r, &first, &all));
    NEED(first == 10 * r + r * (r - 1) / 2, "first %lld", (long long)first);
    NEED(all == 10 * size + size * (size - 1) / 2, "all %lld", (long long)all);
    char mine[200] = { (char)r }, every[MOST_RANKS * sizeof mine];
    fails(team, w, b, kry_team_gather(team, mine, bad ? 8 : 9, every), KRY_ERR_ARGUMENT,
          "kry_team_gather, with other sizes");
    fails(team, w, b, kry_team_gather(team, bad ? NULL : mine, 9, every), KRY_ERR_ARGUMENT, "NULL");
    for (size_t bytes = 1; bytes <= sizeof mine; bytes += sizeof mine - 1) {
        GOOD(kry_team_gather(team, mine, bytes, every));
        for (int i = 0; i < size; i++) NEED(every[(size_t)i * bytes] == i, "rank %d", i);
    }
}

/* Parameters that one rank gives otherwise: all are told, of which function. */
static void other_parameters(kry_device *team, wires *w, board *b, const kry_op *A)
{
    const int bad = w->rank == w->size - 1;
    const int64_t n = kry_op_get_shape(A)->rows;
    int32_t labels[20 * MOST_RANKS] = { 0 };
    kry_op *C = NULL, *M = NULL;

#define DIFFER(who, params)                                                                    \
    do {                                                                                       \
        fails(team, w, b, who(A, params, &C), KRY_ERR_ARGUMENT, #who ", with other sizes or"); \
        NEED(!C, "%s", #who);                                                                  \
    } while (0)
    DIFFER(kry_chebyshev_create, KRY_CHEBYSHEV(.ratio = 30 + bad));
    DIFFER(kry_neumann_create, KRY_NEUMANN(.degree = 2 + bad));
    DIFFER(kry_fsai_create, KRY_FSAI(.power = 1 + bad));
    DIFFER(kry_ssor_ai_create, KRY_SSOR_AI(.omega = bad ? 1.1 : 1));
    DIFFER(kry_incomplete_poisson_create, KRY_INCOMPLETE_POISSON(.drop = bad));
    DIFFER(kry_block_jacobi_create, KRY_BLOCK_JACOBI(.rows = 2 + bad));
    DIFFER(kry_block_ic_create, KRY_BLOCK_IC(.trisolve = bad ? KRY_TRISOLVE_ROWS : 0));
    DIFFER(kry_block_ilu_create, KRY_BLOCK_IC(.rows = 4 + bad));
    DIFFER(kry_ras_create, KRY_RAS(.fill = bad));
    DIFFER(kry_amg_create, KRY_AMG(.gather = 20 + bad));
    DIFFER(kry_amg_create, KRY_AMG(.cycle.values = bad ? KRY_CYCLE_VALUES_DOUBLE : 0));
    DIFFER(kry_deflation_create, KRY_DEFLATION(.stripes = 3, .coarse = bad));
    DIFFER(kry_relaxation_create, KRY_RELAXATION(.omega = bad ? 0.5 : 0.6));
    DIFFER(kry_relaxation_create, KRY_RELAXATION(.stop.check_every = 20 + bad));
    DIFFER(kry_pcg_create, KRY_PCG(.guesses = bad));
    DIFFER(kry_mixed_create, KRY_MIXED(.delta = bad ? 0.2 : 0.1));
    DIFFER(kry_mixed_create, KRY_MIXED(.options = bad ? "precond=jacobi" : "method=cg"));
    labels[n - 1] = 1, labels[5] = bad;
    DIFFER(kry_deflation_create, KRY_DEFLATION(.labels = labels));
    GOOD(kry_jacobi_create(A, &M));
    DIFFER(kry_pcg_create, KRY_PCG(.precond = bad ? M : NULL));
#undef DIFFER
    kry_op_release(&M);
    /* Defaults by NULL or by name, and words in any order, are the same. */
    GOOD(kry_neumann_create(A, bad ? NULL : KRY_NEUMANN(), &M));
    kry_op_release(&M);
    GOOD(kry_amg_create(A, bad ? NULL : KRY_AMG(), &M));
    kry_op_release(&M);
    GOOD(kry_solver_create(A, bad ? "rtol=1e-4  method=pcg" : "method=pcg rtol=0.0001", NULL, NULL,
                           &M));
    kry_op_release(&M);
    GOOD(kry_solver_create(A, bad ? NULL : "", NULL, NULL, &M));
    kry_op_release(&M);
    fails(team, w, b,
          kry_solver_create(A, bad ? "method=gmres:20" : "method=gmres:30", NULL, NULL, &M),
          KRY_ERR_ARGUMENT, "kry_solver_create, with other sizes or options");
}

/* Grids of which one rank gives something else: sizes, sides, blocks, what coefficients there are, the numbers' type. */
static void other_grids(kry_device *team, wires *w, board *b)
{
    const int size = w->size, bad = w->rank == size - 1;
    double k[24 * MOST_RANKS];
    kry_stencil_box box;
    kry_op *A = NULL;

    for (size_t i = 0; i < COUNT(k); i++) k[i] = 1;
#define GRID_OF(...) KRY_STENCIL(.size = { 4, 6 * size }, __VA_ARGS__)
#define DIFFER(type, ...)                                                                       \
    do {                                                                                        \
        fails(team, w, b, kry_stencil_create(team, type, __VA_ARGS__, &A), KRY_ERR_ARGUMENT,    \
              "rank 0 of ");                                                                    \
        NEED(strstr(kry_last_error(), "kry_stencil_create, with other sizes or options") && !A, \
             "%s", kry_last_error());                                                           \
    } while (0)
    DIFFER(bad ? KRY_F32 : KRY_F64, GRID_OF(.low = { 0 }));
    DIFFER(KRY_F64, KRY_STENCIL(.size = { 4 + bad, 6 * size }));
    DIFFER(KRY_F64, KRY_STENCIL(.size = { 4, 6 * size, bad }));
    DIFFER(KRY_F64, GRID_OF(.spacing = { 1, bad ? 0.5 : 1 }));
    DIFFER(KRY_F64, GRID_OF(.diffusion = { bad ? 3 : 2 }));
    DIFFER(KRY_F64, GRID_OF(.low = { bad ? KRY_NEUMANN : KRY_DIRICHLET }));
    DIFFER(KRY_F64, GRID_OF(.high = { 0, bad ? KRY_NEUMANN : KRY_DIRICHLET }));
    DIFFER(KRY_F64, GRID_OF(.low = { bad ? KRY_PERIODIC : 0 }, .high = { bad ? KRY_PERIODIC : 0 }));
    DIFFER(KRY_F64, GRID_OF(.coefficient = bad ? k : NULL));
    DIFFER(KRY_F64, GRID_OF(.coefficient = k, .face = { bad ? k : NULL, bad ? k : NULL }));
    DIFFER(KRY_F64, GRID_OF(.coefficient = k, .local = bad));
    DIFFER(KRY_F64, KRY_STENCIL(.size = { 4 * size, 6 * size },
                                .blocks = { bad ? size : 1, bad ? 1 : size }));
#undef DIFFER
    fails(team, w, b, kry_stencil_part(team, GRID_OF(.spacing = { bad + 1 }), &box),
          KRY_ERR_ARGUMENT, "kry_stencil_part, with other sizes or options");
    GOOD(kry_stencil_part(team, GRID_OF(.coefficient = bad ? k : NULL), &box));
    GOOD(kry_stencil_create(team, KRY_F64, GRID_OF(.coefficient = k), &A));
    kry_op_release(&A);
#undef GRID_OF
}

static void bad_input_scene(wires *w, void *shared)
{
    board *b = shared;
    kry_device *team = ranks_team(w, (kry_team_params){ 0 });
    kry_op *A, *S, *C;
    kry_vec *x, *y;
    double host[40], norm;
    const int bad = w->size - 1; /* the rank that is given something else */
    char who[60];
    kry_result res;

    snprintf(who, sizeof who, "rank %d of %d: ", bad, w->size);
    fails(team, w, b, laplace(team, w, 20, w->rank == bad ? 3 : 0, -1, &A), KRY_ERR_ARGUMENT,
          "the rows of rank");
    fails(team, w, b, laplace(team, w, 20, 0, w->rank == bad ? 20 * w->size : -1, &A),
          KRY_ERR_ARGUMENT, who);
    GOOD(laplace(team, w, 20, 0, -1, &A));
    GOOD(kry_solver_create(A, "method=pcg precond=jacobi", NULL, NULL, &S));
    GOOD(kry_vec_create(team, KRY_F64, 20 * w->size, 1, &x));
    GOOD(kry_vec_create(team, KRY_F64, 20 * w->size, 1, &y));
    for (int i = 0; i < 20; i++) host[i] = i;
    if (w->rank == bad) host[7] = (double)NAN;
    GOOD(kry_vec_write(y, host));
    snprintf(who, sizeof who, "rank %d of %d: kry_solve: b[%d] is nan", bad, w->size, 20 * bad + 7);
    fails(team, w, b, kry_solve(S, y, x, &res), KRY_ERR_ARGUMENT, who);
    host[7] = 7;
    fails(team, w, b, kry_vec_write(y, w->rank == bad ? NULL : host), KRY_ERR_ARGUMENT, "NULL");
    GOOD(kry_vec_write(y, host));
    GOOD(kry_solve(S, y, x, &res));
    /* Words that nobody knows are the same on all: no rank is named. */
    fails(team, w, b, kry_solver_create(A, "method=nothing", NULL, NULL, &C), KRY_ERR_PARSE,
          "kry_solver_create");
    NEED(strncmp(b->message[0], "rank", 4), "%s", b->message[0]);
    /* Ranks that call different things, or with other sizes. */
    fails(team, w, b, w->rank == bad ? kry_vec_norm2(x, &norm) : kry_vec_fill(x, 1),
          KRY_ERR_ARGUMENT, "ranks differ: rank 0");
    fails(team, w, b, w->rank == bad ? kry_vec_norm2(x, &norm) : kry_op_apply(A, 1, x, 0, y),
          KRY_ERR_ARGUMENT, "calls kry_op_apply");
    kry_vec *other = NULL;
    fails(team, w, b, kry_vec_create(team, KRY_F64, w->rank == bad ? 77 : 78, 1, &other),
          KRY_ERR_ARGUMENT, "rows cut elsewhere");
    NEED(!other, "a vector was handed out");
    fails(team, w, b,
          kry_solver_create(A, w->rank == bad ? "method=pcg rtol=1e-4" : "method=pcg", NULL, NULL,
                            &C),
          KRY_ERR_ARGUMENT, "kry_solver_create, with other sizes or options");
    fails(team, w, b, kry_solver_set_stop(S, &(kry_stop){ .rtol = w->rank == bad ? 1e-4 : 1e-6 }),
          KRY_ERR_ARGUMENT, "kry_solver_set_stop, with other sizes or options");
    fails(team, w, b,
          kry_pcg_create(A, KRY_PCG(.stop = { .max_iter = w->rank == bad ? 7 : 8 }), &C),
          KRY_ERR_ARGUMENT, "with other sizes or options");
    NEED(!C, "a solver was handed out");
    agreements(team, w, b, x);
    other_parameters(team, w, b, A);
    other_grids(team, w, b);
    fails(team, w, b, kry_matrix_read(A, (int64_t[100]){ 0 }, NULL, NULL), KRY_ERR_ARGUMENT,
          "kry_matrix_read: NULL");
    /* What is not for ranks is refused on all. */
    fails(team, w, b,
          kry_csr_create(team, KRY_F64, 1, 1, (int64_t[]){ 0, 1 }, (int32_t[]){ 0 },
                         (double[]){ 1 }, NULL, &C),
          KRY_ERR_UNSUPPORTED, "kry_csr_create_rows");
    kry_queue *queue = NULL;
    fails(team, w, b, kry_queue_create(team, NULL, &queue), KRY_ERR_UNSUPPORTED, "on ranks");
    NEED(!queue, "a queue was handed out");
    kry_op_release(&S);
    /* The monitor of one rank stops all. */
    int calls = 0;
    GOOD(kry_solver_create(A, "method=pcg", w->rank == bad ? stop_at_3 : only_count, &calls, &S));
    GOOD(kry_vec_fill(x, 0));
    NEED(kry_solve(S, y, x, &res) == KRY_STOPPED, "%s", res.why);
    NEED(calls > 0, "a monitor was not called");
    kry_op_release(&S);
    kry_vec_release(&x);
    kry_vec_release(&y);
    kry_op_release(&A);
    kry_device_release(&team);
}

/* ---- every request for memory of one rank fails once ------------------------------------------- */

static void memory_scene(wires *w, void *shared)
{
    board *b = shared;
    static const struct {
        const char *words;
        shape of;
    } solves[] = {
        /* 40 squared numbers are more than are gathered */
        { "method=pcg precond=jacobi deflation=stripes:40", STORED },
        { "method=pcg precond=block-ic", STORED },
        { "method=pcg precond=amg:gather=20,coarsest=4", STORED },
        { "method=pipe-cg precond=jacobi", STORED },
        { "method=pcg precond=jacobi deflation=blocks:2+phase", BLOCKS },
        { "method=pcg precond=mg:gather=8,coarsest=4", SLABS } /* with levels in parts */
    };
    kry_device *team = ranks_team(w, (kry_team_params){ 0 });
    const int bad = w->size - 1;

    for (size_t i = 0; i < COUNT(solves); i++) {
        GOOD(solve_all(team, w, solves[i].of, solves[i].words));
        int failed = 0;
        /* The same k on all ranks; only the bad one counts. */
        for (int64_t k = random_below(every(23)) + 1;; k += every(23)) {
            if (w->rank == bad) fail_request(k);
            kry_status st = solve_all(team, w, solves[i].of, solves[i].words);
            if (w->rank == bad) b->over = !end_requests();
            all_alike(team, w, b, st);
            if (b->over) break;
            /* Or it has gone on without what only saves time. */
            NEED(st == KRY_OK || st == KRY_ERR_MEMORY, "request %d: status %d", (int)k, st);
            failed += st < 0;
        }
        if (w->rank == 0) printf("# %s: %d requests failed\n", solves[i].words, failed);
        NEED(failed > 3, "%d requests failed", failed);
    }
    kry_device_release(&team);
}

/* ---- a rank that does not come ------------------------------------------------------------------ */

static void late_scene(wires *w, void *shared)
{
    kry_device *team = ranks_team(w, (kry_team_params){ .timeout = 2 });
    kry_vec *x;
    double norm;

    (void)shared;
    GOOD(kry_vec_create(team, KRY_F64, 100, 1, &x));
    if (w->rank == 1) {
        sleep(5); /* it is in no call */
    } else {
        NEED(kry_vec_norm2(x, &norm) == KRY_ERR_DEVICE, "%s", kry_last_error());
        NEED(strstr(kry_last_error(), "kry_vec_norm2: waited ") &&
                 strstr(kry_last_error(), "s for rank 1 of 3"),
             "%s", kry_last_error());
        NEED(kry_vec_norm2(x, &norm) == KRY_ERR_DEVICE, "the team is of no more use");
    }
    kry_vec_release(&x);
    kry_device_release(&team);
}

static void broken_scene(wires *w, void *shared)
{
    kry_device *team = ranks_team(w, (kry_team_params){ 0 });
    kry_vec *x;
    double norm;

    (void)shared;
    GOOD(kry_vec_create(team, KRY_F64, 100, 1, &x));
    w->dead = true;
    NEED(kry_vec_norm2(x, &norm) == KRY_ERR_DEVICE, "%s", kry_last_error());
    NEED(strstr(kry_last_error(), "the transport failed in 'gather'"), "%s", kry_last_error());
    kry_vec_release(&x);
    kry_device_release(&team);
}

static void beginnings_scene(wires *w, void *shared)
{
    kry_device *dev, *team;
    kry_transport t = transport_of(w);

    (void)shared;
    GOOD(kry_device_open(NULL, &dev));
    NEED(kry_team_of_transport(&t, w->rank == 1 ? NULL : dev, NULL, &team) == KRY_ERR_ARGUMENT,
         "-");
    NEED(strstr(kry_last_error(), w->rank == 1 ? "device is NULL" : "rank 1 of 3"), "%s",
         kry_last_error());
    NEED(kry_team_of_transport(&t, dev, KRY_TEAM(.reproducible = w->rank == 1), &team) ==
             KRY_ERR_ARGUMENT,
         "-");
    NEED(strstr(kry_last_error(), "reproducible on some ranks only"), "%s", kry_last_error());
    NEED(kry_team_of_transport(&t, dev, KRY_TEAM(.by_graph = true), &team) == KRY_ERR_UNSUPPORTED,
         "-");
    t.probe = NULL;
    NEED(kry_team_of_transport(&t, dev, NULL, &team) == KRY_ERR_ARGUMENT, "-");
    NEED(w->released == 4 && !team, "released %d times", w->released);
    /* A table of an earlier header, which has no `release` yet, and one of a later header. */
    t = transport_of(w);
    t.struct_size = offsetof(kry_transport, release);
    GOOD(kry_team_of_transport(&t, dev, NULL, &team));
    kry_device_release(&team);
    NEED(w->released == 4, "released %d times", w->released);
    t.struct_size = sizeof t + 8;
    NEED(kry_team_of_transport(&t, dev, NULL, &team) == KRY_ERR_ARGUMENT &&
             strstr(kry_last_error(), "a later version"),
         "%s", kry_last_error());
    NEED(w->released == 4 && !team, "released %d times", w->released);
    NEED(device_references(dev) == 1, "the device is held");
    t.struct_size = offsetof(kry_transport, release);
    GOOD(kry_team_of_transport(&t, dev, NULL, &team)); /* it is in no team any more */
    kry_device_release(&team);
    kry_device_release(&dev);
}

static void run(const char *what, int size, rank_scene *scene)
{
    const int bad = run_ranks(size, 300, sizeof(board), scene);
    if (bad >= 0) fail_msg("%s: rank %d of %d failed", what, bad, size);
}

static void bad_input__is_the_same_error_on_all(void **state)
{
    (void)state;
    run("bad input", 2, bad_input_scene);
    run("bad input", 4, bad_input_scene);
}

static void memory__each_request_of_one_rank_fails(void **state)
{
    (void)state;
    run("memory", 3, memory_scene);
}

static void timeout__names_the_rank_that_is_waited_for(void **state)
{
    (void)state;
    run("timeout", 3, late_scene);
}

static void transport__that_fails(void **state)
{
    (void)state;
    run("transport", 3, broken_scene);
}

static void beginnings__are_refused_on_all(void **state)
{
    (void)state;
    run("beginnings", 3, beginnings_scene);
}

/* An argument names some of the tests, as "grids*". */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_input__is_the_same_error_on_all),
        cmocka_unit_test(memory__each_request_of_one_rank_fails),
        cmocka_unit_test(timeout__names_the_rank_that_is_waited_for),
        cmocka_unit_test(transport__that_fails),
        cmocka_unit_test(beginnings__are_refused_on_all),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
