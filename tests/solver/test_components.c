/*
 * test_components.c - parts of a matrix that no entry connects, found by ranks: against a search in the dense matrix, and
 * solves of singular ones against one device.
 */
#include "rank_suite.h"

enum { MOST_ROWS = 60, LONG = 1000 };

/* A matrix of which every rank knows everything, and where rows are cut. */
typedef struct graph {
    int64_t n, cut[MOST_RANKS + 1];
    double a[MOST_ROWS][MOST_ROWS];
} graph;

static graph G;

/* Random entries, a chain that goes from rank to rank with each step, or nothing but a diagonal. */
static void make_graph(void)
{
    const int64_t kind = random_below(4), n = 1 + random_below(random_below(4) ? MOST_ROWS : 4);
    int64_t order[MOST_ROWS];

    memset(&G, 0, sizeof G);
    G.n = n;
    for (int64_t i = 0; i < n; i++) {
        const int64_t j = random_below(i + 1);
        order[i] = i, G.a[i][i] = (double)random_below(2);
        if (kind != 1) order[i] = order[j], order[j] = i;
    }
    for (int64_t k = random_below(2 * n); k > 0 && kind == 0; k--) {
        const int64_t i = random_below(n), j = random_below(n);
        G.a[i][j] = random_number(KRY_F64);
        if (random_below(3)) G.a[j][i] = G.a[i][j]; /* else on one side only */
    }
    for (int64_t k = 1; k < n && kind <= 2 && kind > 0; k++)
        if (random_below(9)) G.a[order[k]][order[k - 1]] = G.a[order[k - 1]][order[k]] = -1;
}

/* Some ranks have no row. */
static void cut_rows(int size)
{
    G.cut[0] = 0, G.cut[size] = G.n;
    for (int r = 1; r < size; r++) {
        int64_t at = random_below(G.n + 1);
        int k = r;
        for (; k > 1 && G.cut[k - 1] > at; k--) G.cut[k] = G.cut[k - 1];
        G.cut[k] = at;
    }
}

/* Rows first ... first + rows - 1, with a zero here and there. */
static kry_share share_of(int64_t first, int64_t rows)
{
    kry_share S = { .n = G.n, .first = first, .rows = rows };

    S.row_ptr = calloc((size_t)rows + 1, sizeof *S.row_ptr);
    S.col = calloc((size_t)(rows * G.n) + 1, sizeof *S.col);
    S.val = calloc((size_t)(rows * G.n) + 1, sizeof *S.val);
    for (int64_t i = 0; i < rows; i++) {
        int64_t at = S.row_ptr[i];
        for (int64_t j = 0; j < G.n; j++)
            if (G.a[first + i][j] != 0 || (i + j) % 7 == 0)
                S.col[at] = j, S.val[at++] = G.a[first + i][j];
        S.row_ptr[i + 1] = at;
    }
    return S;
}

static void free_share(kry_share *S) { free(S->row_ptr), free(S->col), free(S->val); }

/* number[i] as documented, by looking at all pairs of rows until nothing changes; returns the count. */
static int64_t find_components(const bool *left_out, int64_t *number)
{
    int64_t least[MOST_ROWS], count = 0;
    bool changed = true, out[MOST_ROWS] = { false };

    for (int64_t i = 0; i < G.n; i++) least[i] = i;
    while (changed) {
        changed = false;
        for (int64_t i = 0; i < G.n; i++)
            for (int64_t j = 0; j < G.n; j++)
                if ((G.a[i][j] != 0 || G.a[j][i] != 0) && least[j] < least[i])
                    least[i] = least[j], changed = true;
    }
    for (int64_t i = 0; i < G.n; i++)
        if (left_out && left_out[i]) out[least[i]] = true;
    for (int64_t i = 0; i < G.n; i++)
        number[i] = out[least[i]] ? -1 : least[i] == i ? count++ : number[least[i]];
    return count;
}

static void check_share(kry_device *device, int64_t first, int64_t rows, const bool *left_out)
{
    int64_t want[MOST_ROWS], got[MOST_ROWS + 1], count;
    const int64_t expected = find_components(left_out, want);
    kry_share S = share_of(first, rows);

    for (int64_t i = 0; i <= rows; i++) got[i] = -77;
    GOOD(kry_share_components(device, &S, left_out ? left_out + first : NULL, got, &count));
    NEED(count == expected, "%d components, not %d", (int)count, (int)expected);
    for (int64_t i = 0; i < rows; i++)
        NEED(got[i] == want[first + i], "row %d of %d: %d, not %d", (int)(first + i), (int)G.n,
             (int)got[i], (int)want[first + i]);
    NEED(got[rows] == -77, "a number behind the last one");
    free_share(&S);
}

static void random_scene(wires *w, void *shared)
{
    static const double shares[MOST_RANKS] = { 1, 1, 1, 1, 1, 1, 1 };
    kry_device *team = ranks_team(w, (kry_team_params){ .shares = shares }), *alone;
    bool left_out[MOST_ROWS];

    (void)shared;
    GOOD(kry_device_open(NULL, &alone));
    for (int64_t trial = 0; trial < 320 / every(16); trial++) {
        make_graph();
        cut_rows(w->size);
        const int64_t of = 1 + random_below(2 * G.n), first = G.cut[w->rank];
        for (int64_t i = 0; i < G.n; i++) left_out[i] = random_below(of) == 0;
        const bool *which = random_below(2) ? left_out : NULL;
        check_share(team, first, G.cut[w->rank + 1] - first, which);
        check_share(alone, 0, G.n, which);
    }
    kry_device_release(&alone);
    kry_device_release(&team);
}

/* A chain of `n` rows in an order by chance. The rounds are few: there are fewer gathers than rows. */
static void long_scene(wires *w, void *shared)
{
    static int64_t order[LONG], place[LONG], row_ptr[LONG + 1], col[2 * LONG], number[LONG];
    static double val[2 * LONG];
    kry_device *team = ranks_team(w, (kry_team_params){ 0 });
    const int64_t first = LONG / w->size * w->rank,
                  rows = w->rank == w->size - 1 ? LONG - first : LONG / w->size;
    int64_t nnz = 0, count;

    (void)shared;
    for (int64_t i = 0; i < LONG; i++) {
        const int64_t j = random_below(i + 1);
        order[i] = order[j], order[j] = i;
    }
    for (int64_t k = 0; k < LONG; k++) place[order[k]] = k;
    for (int64_t i = 0; i < rows; i++) {
        const int64_t k = place[first + i];
        if (k > 0) col[nnz] = order[k - 1], val[nnz++] = 1;
        if (k + 1 < LONG) col[nnz] = order[k + 1], val[nnz++] = 1;
        row_ptr[i + 1] = nnz;
    }
    const int gathers = w->gathers;
    GOOD(kry_share_components(
        team,
        &(kry_share){
            .n = LONG, .first = first, .rows = rows, .row_ptr = row_ptr, .col = col, .val = val },
        NULL, number, &count));
    NEED(count == 1, "%d components of a chain", (int)count);
    for (int64_t i = 0; i < rows; i++) NEED(number[i] == 0, "row %d", (int)(first + i));
    NEED(w->gathers - gathers < LONG / 10, "%d gathers", w->gathers - gathers);
    if (w->rank == 0) printf("# %d ranks: %d gathers\n", w->size, w->gathers - gathers);
    kry_device_release(&team);
}

/* Each request for memory of one rank fails once. */
static void memory_scene(wires *w, void *shared)
{
    kry_device *team = ranks_team(w, (kry_team_params){ 0 });
    board *b = shared;
    int64_t number[MOST_ROWS], count;
    int failed = 0;

    do make_graph();
    while (G.n < 40);
    for (int r = 0; r <= w->size; r++) G.cut[r] = G.n * r / w->size;
    const int64_t first = G.cut[w->rank];
    kry_share S = share_of(first, G.cut[w->rank + 1] - first);
    for (int k = 1;; k++) {
        if (w->rank == w->size - 1) fail_request(k);
        const kry_status st = kry_share_components(team, &S, NULL, number, &count);
        b->status[w->rank] = !end_requests(); /* fewer requests were made */
        meet(team);
        const bool over = b->status[w->size - 1];
        meet(team);
        NEED(st == (over ? KRY_OK : KRY_ERR_MEMORY), "request %d: status %d", k, st);
        if (over) break;
        NEED(count == 0 && strstr(kry_last_error(), "rank 2 of 3: "), "%s", kry_last_error());
        failed++;
    }
    NEED(failed > 5, "%d requests failed", failed);
    free_share(&S);
    kry_device_release(&team);
}

/* ---- solves ------------------------------------------------------------------------------------ */

/* Chains: three whose rows take turns, so that each is on all ranks, a short one, which one rank has, and a regular one. */
static void make_chains(void)
{
    enum { TURNS = 42, SHORT = 46, N = 57 };

    memset(&G, 0, sizeof G);
    G.n = N;
    for (int64_t i = 0; i < N; i++) {
        const int64_t j = i < TURNS ? i + 3 : i + 1, end = i < TURNS   ? TURNS
                                                           : i < SHORT ? SHORT
                                                                       : N;
        const double c = 1 + (double)(i % 4);
        if (j >= end) continue;
        G.a[i][j] = G.a[j][i] = -c;
        G.a[i][i] += c, G.a[j][j] += c;
    }
    G.a[SHORT][SHORT]++;
}

/* Tell A of the constants on its components, but for regular ones. Rows here: first ... first + rows - 1. */
static void set_null_space(kry_device *device, int64_t first, int64_t rows, kry_op *A)
{
    int64_t number[MOST_ROWS], count;
    bool regular[MOST_ROWS] = { false };
    kry_share S = share_of(first, rows);
    kry_vec *V;

    for (int64_t i = 0; i < rows; i++) {
        double sum = 0;
        for (int64_t j = 0; j < G.n; j++) sum += G.a[first + i][j];
        regular[i] = sum != 0;
    }
    GOOD(kry_share_components(device, &S, regular, number, &count));
    NEED(count == 4, "%d singular components", (int)count);
    double *v = calloc((size_t)(rows * count) + 1, sizeof *v);
    for (int64_t i = 0; i < rows; i++)
        if (number[i] >= 0) v[number[i] * rows + i] = 1;
    GOOD(kry_vec_create(device, KRY_F64, G.n, count, &V));
    GOOD(kry_vec_write(V, v));
    GOOD(kry_op_set_null_space(A, V));
    kry_vec_release(&V);
    free(v);
    free_share(&S);
}

/* Ranks find the same vectors as one device: A's rows here, of all of them, are those of an A that is there as a whole. */
static void compare_found(const kry_op *A, int64_t first, int64_t rows, const kry_op *all)
{
    static double mine[MOST_ROWS * MOST_ROWS], whole[MOST_ROWS * MOST_ROWS];
    kry_vec *V, *W;

    GOOD(kry_op_find_null_space(A, &V));
    GOOD(kry_op_find_null_space(all, &W));
    NEED(V && W && kry_vec_cols(V) == 5 && kry_vec_cols(W) == 5, "%d vectors and %d",
         V ? (int)kry_vec_cols(V) : 0, W ? (int)kry_vec_cols(W) : 0);
    GOOD(kry_vec_read(V, mine));
    GOOD(kry_vec_read(W, whole));
    for (int64_t j = 0; j < 5; j++)
        for (int64_t i = 0; i < rows; i++)
            NEED(mine[j * rows + i] == whole[j * G.n + first + i], "vector %d, row %d: %g, not %g",
                 (int)j, (int)(first + i), mine[j * rows + i], whole[j * G.n + first + i]);
    kry_vec_release(&W);
    kry_vec_release(&V);
}

/* Two more rows without entries. The column of one is not empty, and so it is mapped to zero from one side only. */
static void find_scene(wires *w, void *shared)
{
    kry_device *team = ranks_team(w, (kry_team_params){ 0 }), *alone;
    const kry_matrix_params params = *KRY_MATRIX(.format = KRY_FORMAT_CSR);
    kry_op *A, *all;

    (void)shared;
    make_chains();
    G.a[G.n - 1][G.n + 1] = 1; /* of the regular chain */
    G.n += 2;
    cut_rows(w->size);
    const int64_t first = G.cut[w->rank], rows = G.cut[w->rank + 1] - first;
    kry_share S = share_of(first, rows), whole = share_of(0, G.n);
    GOOD(kry_device_open(NULL, &alone));
    GOOD(kry_share_matrix(team, KRY_F64, &S, &params, &A));
    GOOD(kry_share_matrix(alone, KRY_F64, &whole, &params, &all));
    compare_found(A, first, rows, all);
    kry_op_release(&all);
    kry_op_release(&A);
    free_share(&whole);
    free_share(&S);
    kry_device_release(&alone);
    kry_device_release(&team);
}

/* b is what A makes of something; x has no part along the null space. told: it is set, and not left to be found. */
static void solve_chains(wires *w, void *shared, bool told)
{
    static const char *const words[] = { "method=pcg precond=jacobi rtol=1e-10",
                                         "method=pcg precond=amg rtol=1e-10",
                                         "method=minres rtol=1e-10",
                                         "method=pcg precision=mixed precond=jacobi rtol=1e-10" };
    const kry_matrix_params params = *KRY_MATRIX(.traits = KRY_SYMMETRIC, .format = KRY_FORMAT_CSR);
    both b = { .w = w, .board = shared, .type = KRY_F64 };

    make_chains();
    cut_rows(w->size);
    b.n = G.n, b.rhs = calloc((size_t)G.n, sizeof *b.rhs);
    for (int64_t i = 0; i < G.n; i++)
        for (int64_t j = 0; j < G.n; j++) b.rhs[i] += G.a[i][j] * sin(1.7 * (double)j);
    const int64_t first = G.cut[w->rank], rows = G.cut[w->rank + 1] - first;
    kry_share S = share_of(first, rows), whole = share_of(0, G.n);
    b.ranks = ranks_team(w, (kry_team_params){ 0 });
    GOOD(kry_share_matrix(b.ranks, KRY_F64, &S, &params, &b.on_ranks));
    if (told) set_null_space(b.ranks, first, rows, b.on_ranks);
    if (w->rank == 0) {
        GOOD(kry_device_open(NULL, &b.team));
        GOOD(kry_share_matrix(b.team, KRY_F64, &whole, &params, &b.on_team));
        if (told) set_null_space(b.team, 0, G.n, b.on_team);
    }
    for (size_t i = 0; i < COUNT(words); i++)
        if (one_of(2, (int64_t)i + w->size + told)) compare_solve(&b, words[i], 1e-7);
    close_both(&b);
    free_share(&whole);
    free_share(&S);
    kry_device_release(&b.team);
    kry_device_release(&b.ranks);
}

static void solve_scene(wires *w, void *shared)
{
    solve_chains(w, shared, true);
    solve_chains(w, shared, false);
}

/* ---- tests ------------------------------------------------------------------------------------- */

static const int sizes[] = { 1, 2, 3, 4, 7 };

/* one: of so many sizes, as one_of says. */
static void some_sizes(const char *what, int64_t one, rank_scene *scene)
{
    for (size_t i = 0; i < COUNT(sizes); i++) {
        if (!one_of(one, (int64_t)i)) continue;
        (void)random_bits(); /* the ranks go on from one state */
        const int bad = run_ranks(sizes[i], 300, sizeof(board), scene);
        if (bad >= 0) fail_msg("%s: rank %d of %d failed", what, bad, sizes[i]);
    }
}

static void components__of_random_matrices(void **state)
{
    (void)state;
    some_sizes("random", 1, random_scene);
}

static void components__a_chain_across_ranks_takes_few_rounds(void **state)
{
    (void)state;
    some_sizes("long", 1, long_scene);
}

static void components__each_request_of_one_rank_fails(void **state)
{
    (void)state;
    const int bad = run_ranks(3, 300, sizeof(board), memory_scene);
    if (bad >= 0) fail_msg("memory: rank %d of 3 failed", bad);
}

static void find__the_null_space_of_one_device(void **state)
{
    (void)state;
    some_sizes("find", 1, find_scene);
}

static void solve__several_singular_components(void **state)
{
    (void)state;
    some_sizes("solve", 3, solve_scene);
}

/* An argument names some of the tests, as "solve*". */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(components__of_random_matrices),
        cmocka_unit_test(components__a_chain_across_ranks_takes_few_rounds),
        cmocka_unit_test(components__each_request_of_one_rank_fails),
        cmocka_unit_test(find__the_null_space_of_one_device),
        cmocka_unit_test(solve__several_singular_components),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
