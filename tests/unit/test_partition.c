/*
 * test_partition.c - rows to parts against the best contiguous blocks there are, METIS's parts
 * against promises, volumes against sets of columns; the blocks of grids and their unknowns, the chunks of sums,
 * a part that fails, and threads of hosts in a team.
 */
#include "operator/direction.h"
#include "operator/op_parts.h"
#include "patterns.h"
#include "precond/deflation.h"
#include "sparse/partition.h"
#include "team/boxes.h"
#include "team/split.h"
#include "teams.h"
#include "vector/vec.h"
#include <kry/problem.h>

/* ---- matrices --------------------------------------------------------------------------- */

static kryi_csr pattern_of(const matrix *A)
{
    return (kryi_csr){ .rows = A->rows, .cols = A->cols, .row_ptr = A->row_ptr, .col = A->col };
}

static int64_t cost_of(const int64_t *row_ptr, int64_t begin, int64_t end)
{
    return KRY_ROW_COST * (end - begin) + (row_ptr ? row_ptr[end] - row_ptr[begin] : 0);
}

/* ---- contiguous blocks -------------------------------------------------------------------- */

/* The least maximum of cost / share over all ways to cut between multiples, every part with rows;
 * best[p][u]: of the first p parts on the first u units. */
static double best_limit(int64_t n, const int64_t *row_ptr, int parts, const double *shares,
                         int64_t multiple)
{
    enum { MOST = 200 };
    static double best[17][MOST + 1];
    int64_t units = (n + multiple - 1) / multiple;
    assert_true(units <= MOST && parts <= 16);
    for (int p = 0; p <= parts; p++) {
        for (int64_t u = 0; u <= units; u++) {
            int64_t end = u == units ? n : u * multiple;
            best[p][u] = p == 0 && u == 0 ? 0 : INFINITY;
            for (int64_t v = 0; p > 0 && v < u; v++) {
                double last =
                    (double)cost_of(row_ptr, v * multiple, end) / (shares ? shares[p - 1] : 1);
                best[p][u] = fmin(best[p][u], fmax(best[p - 1][v], last));
            }
        }
    }
    return best[parts][units];
}

/* Every block has rows and begins at a multiple; returns the largest cost / share. */
static double check_blocks(int64_t n, const int64_t *row_ptr, int parts, const double *shares,
                           int64_t multiple, const int64_t *first)
{
    double most = 0;
    assert_int_equal(first[0], 0);
    assert_int_equal(first[parts], n);
    for (int p = 0; p < parts; p++) {
        assert_true(first[p] < first[p + 1]);
        assert_int_equal(first[p] % multiple, 0);
        double cost = (double)cost_of(row_ptr, first[p], first[p + 1]);
        most = fmax(most, cost / (shares ? shares[p] : 1));
    }
    return most;
}

static int64_t *random_rows(int64_t n, int kind)
{
    int64_t *row_ptr = calloc((size_t)n + 1, sizeof *row_ptr);
    assert_non_null(row_ptr);
    row_ptr[0] = random_below(100); /* only differences count */
    for (int64_t i = 0; i < n; i++) {
        int64_t length = kind == 0   ? 5
                         : kind == 1 ? random_below(30)
                         : kind == 2 ? (random_below(10) ? 0 : random_below(1000))
                         : kind == 3 ? (i == n / 3 ? 5000 : 1)
                                     : 10000 / (i + 1);
        row_ptr[i + 1] = row_ptr[i] + length;
    }
    return row_ptr;
}

/* Equal shares: nothing is better. Uneven ones: nothing but for the one unit that a part is given
 * which is too slow for it. */
static void by_rows__as_good_as_any_cut(void **state)
{
    (void)state;
    for (int round = 0; round < 300; round++) {
        int parts = 1 + (int)random_below(9);
        int64_t multiple = round % 3 ? 1 : 1 + random_below(8);
        int64_t n = multiple * (parts + random_below(60)) - random_below(multiple), first[17];
        int64_t *row_ptr = round % 7 ? random_rows(n, round % 5) : NULL;
        double shares[16];
        for (int p = 0; p < parts; p++) shares[p] = 1 + 5 * fabs(random_number(KRY_F64));
        const double *given = round % 2 ? shares : NULL;
        OK(kryi_partition_by_rows(n, row_ptr, parts, given, multiple, first));
        double most = check_blocks(n, row_ptr, parts, given, multiple, first);
        double best = best_limit(n, row_ptr, parts, given, multiple), slack = 0;
        for (int p = 0; given && p < parts; p++)
            if (first[p + 1] - first[p] <= multiple)
                slack = fmax(slack, (double)cost_of(row_ptr, first[p], first[p + 1]) / given[p]);
        if (most > fmax(best, slack) * (1 + 1e-12))
            fail_msg("round %d, %d parts of %lld rows, multiples of %lld: %g instead of %g", round,
                     parts, (long long)n, (long long)multiple, most, best);
        free(row_ptr);
    }
}

static void by_rows__shares_of_equal_rows(void **state)
{
    (void)state;
    int64_t first[5];
    OK(kryi_partition_by_rows(4000, NULL, 2, (double[]){ 3, 1 }, 1, first));
    assert_int_equal(first[1], 3000);
    OK(kryi_partition_by_rows(10, NULL, 4, NULL, 1, first)); /* not 3, 3, 3, 1 */
    for (int p = 0; p < 4; p++) assert_in_range(first[p + 1] - first[p], 2, 3);
    OK(kryi_partition_by_rows(1000, NULL, 4, NULL, 64, first));
    for (int p = 1; p < 4; p++) assert_int_equal(first[p], 256 * p);
    OK(kryi_partition_by_rows(5, NULL, 1, NULL, 1, first));
    assert_int_equal(first[1], 5);
    OK(kryi_partition_by_rows(4, NULL, 4, (double[]){ 1e-9, 1, 1e-9, 1 }, 1, first));
    for (int p = 0; p <= 4; p++) assert_int_equal(first[p], p);
}

/* Nonzeros are balanced, not rows: the first half of the rows has ten times the entries. */
static void by_rows__entries_count(void **state)
{
    (void)state;
    enum { N = 20000 };
    int64_t first[3];
    int64_t *row_ptr = calloc(N + 1, sizeof *row_ptr);
    assert_non_null(row_ptr);
    for (int64_t i = 0; i < N; i++) row_ptr[i + 1] = row_ptr[i] + (i < N / 2 ? 50 : 5);
    OK(kryi_partition_by_rows(N, row_ptr, 2, NULL, 1, first));
    double half = (double)cost_of(row_ptr, 0, N) / 2;
    NEAR(cost_of(row_ptr, 0, first[1]), half, 56, "first half");
    assert_in_range(first[1], 5900, 6100); /* (6 + 50) i = (56 + 11) N / 4 */
    free(row_ptr);
}

static void by_rows__refusals(void **state)
{
    (void)state;
    int64_t first[9] = { 7 };
    REFUSES(kryi_partition_by_rows(3, NULL, 4, NULL, 1, first), KRY_ERR_ARGUMENT,
            "3 rows cannot be shared among 4 parts");
    REFUSES(kryi_partition_by_rows(0, NULL, 1, NULL, 1, first), KRY_ERR_ARGUMENT, "0 rows");
    REFUSES(kryi_partition_by_rows(5, NULL, 0, NULL, 1, first), KRY_ERR_ARGUMENT, "0 parts");
    REFUSES(kryi_partition_by_rows(15, NULL, 4, NULL, 8, first), KRY_ERR_ARGUMENT,
            "15 rows are 2 times 8, too few for 4 parts");
    REFUSES(kryi_partition_by_rows(5, NULL, 2, (double[]){ 1, 0 }, 1, first), KRY_ERR_ARGUMENT,
            "share 0 of part 1");
    REFUSES(kryi_partition_by_rows(5, NULL, 2, (double[]){ NAN, 1 }, 1, first), KRY_ERR_ARGUMENT,
            "of part 0");
    assert_int_equal(first[0], 7);
}

/* ---- METIS -------------------------------------------------------------------------------- */

static bool have_metis(void)
{
#ifdef KRY_HAVE_METIS
    return true;
#else
    return false;
#endif
}

static void check_parts_have_rows(int64_t n, int parts, const int32_t *part)
{
    int64_t *count = calloc((size_t)parts, sizeof *count);
    assert_non_null(count);
    for (int64_t i = 0; i < n; i++) {
        assert_in_range(part[i], 0, parts - 1);
        count[part[i]]++;
    }
    for (int p = 0; p < parts; p++) assert_true(count[p] > 0);
    free(count);
}

static void by_graph__every_pattern(void **state)
{
    (void)state;
    static const int counts[] = { 1, 2, 3, 4, 8, 31 };
    if (!have_metis()) SKIP("no METIS");
    for (size_t k = 0; k < COUNT(patterns); k++) {
        matrix A = pattern_matrix(&patterns[k], KRY_F64);
        kryi_csr csr = pattern_of(&A);
        for (size_t c = 0; c < COUNT(counts) && A.rows == A.cols && A.rows >= counts[c]; c++) {
            int32_t *part = calloc((size_t)A.rows, sizeof *part);
            assert_non_null(part);
            OK(kryi_partition_by_graph(&csr, counts[c], NULL, part));
            check_parts_have_rows(A.rows, counts[c], part);
            free(part);
        }
        matrix_release(&A);
    }
}

/* Costs within METIS's imbalance of the shares; words not far above those of squares; the same
 * again. */
static void by_graph__a_grid_in_shares(void **state)
{
    (void)state;
    enum { SIDE = 96, N = SIDE * SIDE };
    static int32_t part[N], again[N];
    static const double shares[] = { 3, 1, 2, 2 };
    if (!have_metis()) SKIP("no METIS");
    kry_problem *p = NULL;
    kry_part_volume volume[4];
    OK(kry_problem_create("poisson2d:96", 0, &p));
    kryi_csr csr = { .rows = p->n, .cols = p->n, .row_ptr = p->row_ptr, .col = p->col };
    for (int uneven = 0; uneven < 2; uneven++) {
        OK(kryi_partition_by_graph(&csr, 4, uneven ? shares : NULL, part));
        OK(kryi_partition_by_graph(&csr, 4, uneven ? shares : NULL, again));
        assert_memory_equal(part, again, sizeof part);
        OK(kryi_partition_volume(&csr, 4, part, volume));
        for (int q = 0; q < 4; q++) {
            double share = uneven ? shares[q] / 8 : 0.25;
            NEAR(volume[q].entries + KRY_ROW_COST * volume[q].rows,
                 share * (double)(p->nnz + KRY_ROW_COST * N), 0.04 * (double)p->nnz, "part %d", q);
            assert_in_range(volume[q].received, SIDE / 2, 3 * SIDE);
        }
    }
    kry_problem_release(&p);
}

static void by_graph__refusals(void **state)
{
    (void)state;
    int64_t row_ptr[] = { 0, 1, 2 };
    int32_t col[] = { 0, 1 }, part[2] = { 9, 9 };
    kryi_csr A = { .rows = 2, .cols = 2, .row_ptr = row_ptr, .col = col };
    REFUSES(kryi_partition_by_graph(&A, 3, NULL, part), KRY_ERR_ARGUMENT, "2 rows");
    REFUSES(kryi_partition_by_graph(&A, 0, NULL, part), KRY_ERR_ARGUMENT, "0 parts");
    REFUSES(kryi_partition_by_graph(&A, 1, (double[]){ -1 }, part), KRY_ERR_ARGUMENT, "share -1");
    if (!have_metis())
        REFUSES(kryi_partition_by_graph(&A, 2, NULL, part), KRY_ERR_UNSUPPORTED, "without METIS");
    assert_true(part[0] == 9 && part[1] == 9);
}

/* ---- volumes ------------------------------------------------------------------------------ */

/* needs[p][j]: part p has an entry in column j, which it does not own. */
static void check_volume(const kryi_csr *A, int parts, const int32_t *part,
                         const kry_part_volume *got)
{
    kry_part_volume *want = calloc((size_t)parts, sizeof *want);
    bool *needs = calloc((size_t)(parts * A->rows) + 1, 1),
         *talks = calloc((size_t)(parts * parts), 1);
    assert_true(want && needs && talks);
    for (int64_t i = 0; i < A->rows; i++) {
        bool coupled = false;
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++) {
            if (part[A->col[e]] == part[i]) continue;
            needs[part[i] * A->rows + A->col[e]] = coupled = true;
        }
        want[part[i]].rows++;
        want[part[i]].entries += A->row_ptr[i + 1] - A->row_ptr[i];
        want[part[i]].coupled += coupled;
    }
    for (int p = 0; p < parts; p++) {
        for (int64_t j = 0; j < A->rows; j++) {
            if (!needs[p * A->rows + j]) continue;
            want[p].received++, want[part[j]].sent++;
            talks[p * parts + part[j]] = talks[part[j] * parts + p] = true;
        }
    }
    for (int p = 0; p < parts; p++) {
        for (int q = 0; q < parts; q++) want[p].neighbours += talks[p * parts + q];
        assert_int_equal(got[p].rows, want[p].rows);
        assert_int_equal(got[p].entries, want[p].entries);
        assert_int_equal(got[p].coupled, want[p].coupled);
        assert_int_equal(got[p].received, want[p].received);
        assert_int_equal(got[p].sent, want[p].sent);
        assert_int_equal(got[p].neighbours, want[p].neighbours);
    }
    free(talks);
    free(needs);
    free(want);
}

static void volume__every_pattern(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT(patterns); k++) {
        matrix A = pattern_matrix(&patterns[k], KRY_F64);
        kryi_csr csr = pattern_of(&A);
        kry_part_volume volume[5];
        int32_t *part = calloc((size_t)A.rows + 1, sizeof *part);
        assert_non_null(part);
        for (int parts = 1; parts <= 5 && A.rows == A.cols; parts++) {
            for (int64_t i = 0; i < A.rows; i++) part[i] = (int32_t)random_below(parts);
            OK(kryi_partition_volume(&csr, parts, part, volume));
            check_volume(&csr, parts, part, volume);
            if (A.rows < parts) continue;
            int64_t first[6];
            OK(kryi_partition_by_rows(A.rows, A.row_ptr, parts, NULL, 1, first));
            for (int p = 0; p < parts; p++)
                for (int64_t i = first[p]; i < first[p + 1]; i++) part[i] = p;
            OK(kryi_partition_volume(&csr, parts, part, volume));
            kry_part_volume same[5];
            OK(kry_team_volume(A.rows, A.row_ptr, A.col, parts, false, same));
            for (int p = 0; p < parts; p++) {
                assert_int_equal(same[p].received, volume[p].received);
                assert_int_equal(same[p].sent, volume[p].sent);
            }
            check_volume(&csr, parts, part, volume);
        }
        free(part);
        matrix_release(&A);
    }
}

static void order__parts_together_rows_ascending(void **state)
{
    (void)state;
    enum { N = 500, PARTS = 6 };
    int32_t part[N], order[N];
    int64_t first[PARTS + 1];
    for (int i = 0; i < N; i++) part[i] = 2 * (int32_t)random_below(PARTS / 2); /* odd ones empty */
    kryi_partition_order(N, PARTS, part, first, order);
    assert_int_equal(first[0], 0);
    assert_int_equal(first[PARTS], N);
    for (int p = 0; p < PARTS; p++) {
        for (int64_t k = first[p]; k < first[p + 1]; k++) {
            assert_int_equal(part[order[k]], p);
            if (k > first[p]) assert_true(order[k] > order[k - 1]);
        }
    }
}

/* ---- memory ------------------------------------------------------------------------------- */

static kry_status everything(const kryi_csr *A, int64_t *first, int32_t *part,
                             kry_part_volume *volume)
{
    kry_status st = KRY_OK;
    TRY(kryi_partition_by_rows(A->rows, A->row_ptr, 3, NULL, 1, first));
    if (have_metis()) TRY(kryi_partition_by_graph(A, 3, (double[]){ 1, 2, 3 }, part));
    TRY(kryi_partition_volume(A, 3, part, volume));
done:
    return st;
}

static void team_volume__refusals(void **state)
{
    (void)state;
    const int64_t row_ptr[] = { 0, 1, 2 }, falling[] = { 0, 2, 1 };
    const int32_t col[] = { 0, 1 }, outside[] = { 0, 2 };
    kry_part_volume volume[2];
    REFUSES(kry_team_volume(2, NULL, col, 2, false, volume), KRY_ERR_ARGUMENT, "NULL");
    REFUSES(kry_team_volume(2, row_ptr, NULL, 2, false, volume), KRY_ERR_ARGUMENT, "NULL");
    REFUSES(kry_team_volume(-1, row_ptr, col, 2, false, volume), KRY_ERR_ARGUMENT, "-1 rows");
    REFUSES(kry_team_volume(2, falling, col, 2, false, volume), KRY_ERR_ARGUMENT, "decreases");
    REFUSES(kry_team_volume(2, row_ptr, outside, 2, false, volume), KRY_ERR_ARGUMENT, "column 2");
    REFUSES(kry_team_volume(2, row_ptr, col, 3, false, volume), KRY_ERR_ARGUMENT,
            "2 rows cannot be shared among 3");
    REFUSES(kry_team_volume(2, row_ptr, col, 0, true, volume), KRY_ERR_ARGUMENT, "0 parts");
}

static void partition__out_of_memory(void **state)
{
    (void)state;
    matrix A = matrix_where(KRY_F64, 100, 100, symmetric_band);
    kryi_csr csr = pattern_of(&A);
    int32_t part[100] = { 0 };
    int64_t first[4];
    kry_part_volume volume[3];
    int fail_at = 0;
    for (kry_status st = KRY_ERR_MEMORY; st != KRY_OK; fail_at++) {
        st = FAILING(fail_at, everything(&csr, first, part, volume));
        assert_true(st == KRY_OK || st == KRY_ERR_MEMORY);
    }
    assert_true(fail_at > 10);
    matrix_release(&A);
}

static kryi_grid_cut cut_of(int64_t x, int64_t y, int64_t z, int axes)
{
    return (kryi_grid_cut){ .size = { x, y, z }, .axes = axes };
}

static void expect(const kryi_grid_cut *g, int parts, int x, int y, int z)
{
    int got[3];

    kryi_boxes_choose(g, parts, got);
    if (got[0] != x || got[1] != y || got[2] != z)
        fail_msg("%d parts of %d x %d x %d: %d x %d x %d, not %d x %d x %d", parts, (int)g->size[0],
                 (int)g->size[1], (int)g->size[2], got[0], got[1], got[2], x, y, z);
}

static void choose__slabs_of_few_and_boxes_of_many(void **state)
{
    (void)state;
    kryi_grid_cut cube = cut_of(64, 64, 64, 3), plane = cut_of(128, 128, 1, 2),
                  rod = cut_of(8, 8, 1000, 3);
    expect(&cube, 1, 1, 1, 1);
    expect(&cube, 2, 1, 1, 2);
    expect(&cube, 4, 1, 1, 4);
    expect(&cube, 6, 1, 1, 6);
    expect(&cube, 7, 1, 1, 7);
    expect(&cube, 8, 2, 2, 2);
    expect(&cube, 16, 2, 2, 4);
    expect(&cube, 64, 4, 4, 4);
    expect(&cube, 67, 0, 0, 0); /* a prime, and more than layers */
    expect(&cube, 66, 2, 3, 11);
    expect(&plane, 4, 1, 4, 1);
    expect(&plane, 16, 1, 16, 1); /* half of it would be worth no more */
    expect(&plane, 25, 5, 5, 1);
    expect(&rod, 64, 1, 1, 64); /* its cross-section is small */
    kryi_grid_cut ring = cube;  /* what goes round has two neighbours from two parts on */
    for (int a = 0; a < 3; a++) ring.periodic[a] = true;
    expect(&ring, 8, 1, 1, 8);
    assert_int_equal(kryi_boxes_words(&ring, (int[]){ 2, 2, 2 }), 6 * 32 * 32);
    assert_int_equal(kryi_boxes_words(&cube, (int[]){ 2, 2, 2 }), 3 * 32 * 32);
    assert_int_equal(kryi_boxes_words(&cube, (int[]){ 1, 1, 64 }), 2 * 64 * 64);
}

/* No boxes send less than those that were chosen; and if they were, less than half of what slabs send. */
static void choose__no_boxes_send_less(void **state)
{
    (void)state;
    for (int turn = 0; turn < 60; turn++) {
        const int axes = 2 + turn % 2, parts = 1 + (int)random_below(40);
        kryi_grid_cut g = cut_of(1 + random_below(30), 1 + random_below(30),
                                 axes == 3 ? 1 + random_below(30) : 1, axes);
        int got[3], least[3] = { 0 };
        int64_t words = INT64_MAX;
        for (int a = 0; a < axes; a++) g.periodic[a] = random_below(3) == 0;
        for (int x = 1; x <= parts; x++)
            for (int y = 1; x * y <= parts; y++) {
                const int some[3] = { x, y, parts / (x * y) };
                if (x * y * some[2] != parts || x > g.size[0] || y > g.size[1] ||
                    some[2] > g.size[2])
                    continue;
                if (kryi_boxes_words(&g, some) < words)
                    words = kryi_boxes_words(&g, some), memcpy(least, some, sizeof some);
            }
        kryi_boxes_choose(&g, parts, got);
        const int slabs[3] = { 1, axes == 3 ? 1 : parts, axes == 3 ? parts : 1 };
        const bool fit = parts <= g.size[axes - 1];
        if (words == INT64_MAX) {
            assert_int_equal(got[0], 0);
        } else if (fit && 2 * words >= kryi_boxes_words(&g, slabs)) {
            assert_memory_equal(got, slabs, sizeof got);
        } else {
            assert_int_equal(kryi_boxes_words(&g, got), words);
        }
    }
}

/* Every unknown lies in one box, whose neighbours know it. */
static void boxes__have_each_unknown_once(void **state)
{
    (void)state;
    int64_t x[] = { 0, 2, 5 }, y[] = { 0, 1, 4, 6 }, z[] = { 0, 3, 4 }, i;
    const kryi_boxes B = { .size = { 5, 6, 4 }, .parts = { 2, 3, 2 }, .begin = { x, y, z } };
    bool seen[120] = { false };

    for (int r = 0; r < 12; r++) {
        const kryi_grid_box box = kryi_boxes_part(&B, r);
        for (int64_t j = 0; j < box.size[0] * box.size[1] * box.size[2]; j++) {
            const int64_t row = kryi_boxes_row(&B, r, j);
            assert_true(row >= 0 && row < 120 && !seen[row]);
            seen[row] = true;
            assert_int_equal(kryi_boxes_find(&B, row, &i), r);
            assert_int_equal(i, j);
        }
        for (int a = 0; a < 3; a++)
            for (int high = 0; high < 2; high++) {
                const int to = kryi_boxes_beside(&B, r, a, high, false),
                          round = kryi_boxes_beside(&B, r, a, high, true);
                const int64_t end = high ? B.parts[a] - 1 : 0;
                if (box.at[a] == end) assert_int_equal(to, -1);
                if (to >= 0) assert_int_equal(to, round);
                assert_int_equal(kryi_boxes_beside(&B, round, a, !high, true), r);
            }
    }
    for (int row = 0; row < 120; row++) assert_true(seen[row]);
}

static void chunks__cover_all_rows(void **state)
{
    (void)state;
    static const int64_t layers[] = { 1, 2, 13, 64, 1000, 4096, 262144 };
    for (int64_t n = 1; n < INT64_C(3000000000); n = n * 3 + 1)
        for (size_t i = 0; i < COUNT(layers); i++) {
            int64_t unit, chunk, all = (n + layers[i] - 1) / layers[i] * layers[i];
            kryi_split_chunks(all, layers[i], &unit, &chunk);
            assert_int_equal(unit % layers[i], 0);
            assert_true(chunk >= 1 && chunk <= unit);
            assert_true(kryi_split_count_chunks(all, unit, chunk) <= KRY_SUM_CAPACITY);
        }
}

/* Hosts of one team have as many threads together as one by itself, and get them back. */
static void hosts__share_out_threads(void **state)
{
    (void)state;
    kry_device *part[3], *team, *alone;

    NEEDS_HOST;
    OK(kry_device_open("host", &alone));
    const int all = alone->info.compute_units;
    for (int i = 0; i < 3; i++) OK(kry_device_open("host", &part[i]));
    OK(kry_team_create(part, 3, NULL, &team));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(part[i]->info.compute_units, all < 3 ? 1 : all / 3);
        assert_ptr_not_equal(part[i]->pool, alone->pool);
    }
    kry_device_release(&team);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(part[i]->info.compute_units, all);
        assert_ptr_equal(part[i]->pool, alone->pool);
        kry_device_release(&part[i]);
    }
    kry_device_release(&alone);
}

static kry_status fail_later(void *self, const kryi_cg *cg)
{
    (void)self, (void)cg;
    return kry_fail(KRY_ERR_DEVICE, "lost on purpose");
}

/* A part that fails in the middle of a solve: an error that names it, and all go on afterwards. */
static void a_lost_part__is_named(void **state)
{
    kry_type type = type_of(state);
    kry_problem *p;
    OK(kry_problem_create("poisson2d:25", 11, &p));
    kry_device *team = open_team(3, (kry_team_params){ 0 });
    kry_op *S, *A = matrix_on(team, type, p, KRY_MATRIX(.traits = KRY_POSITIVE));
    kry_vec *x, *b = vec_on(team, type, p->rhs, p->n, 1);
    kry_op *local = (kry_op *)kryi_op_on_part(A, 1);
    const kryi_op_fused *good = local->fused;
    kryi_op_fused bad = *good;

    bad.apply_direction = fail_later;
    OK(kry_vec_create(team, type, p->n, 1, &x));
    OK(kry_pcg_create(A, NULL, &S));
    local->fused = &bad;
    REFUSES(kry_solve(S, b, x, NULL), KRY_ERR_DEVICE, "device 1 of 3");
    REFUSES(kry_solve(S, b, x, NULL), KRY_ERR_DEVICE, "lost on purpose");
    local->fused = good;
    OK(kry_vec_fill(x, 0));
    OK(kry_solve(S, b, x, NULL));
    kry_op_release(&S);
    kry_op_release(&A);
    kry_vec_release(&x);
    kry_vec_release(&b);
    close_team(&team);
    kry_problem_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_rows__as_good_as_any_cut),
        cmocka_unit_test(by_rows__shares_of_equal_rows),
        cmocka_unit_test(by_rows__entries_count),
        cmocka_unit_test(by_rows__refusals),
        cmocka_unit_test(by_graph__every_pattern),
        cmocka_unit_test(by_graph__a_grid_in_shares),
        cmocka_unit_test(by_graph__refusals),
        cmocka_unit_test(volume__every_pattern),
        cmocka_unit_test(team_volume__refusals),
        cmocka_unit_test(order__parts_together_rows_ascending),
        cmocka_unit_test(partition__out_of_memory),
        cmocka_unit_test(choose__slabs_of_few_and_boxes_of_many),
        cmocka_unit_test(choose__no_boxes_send_less),
        cmocka_unit_test(boxes__have_each_unknown_once),
        cmocka_unit_test(chunks__cover_all_rows),
        cmocka_unit_test(hosts__share_out_threads),
        BOTH(a_lost_part__is_named),
    };
    return cmocka_run_group_tests_name("partition", tests, NULL, close_device);
}
