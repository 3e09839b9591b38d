/*
 * test_partition.c - rows to parts against the best contiguous blocks there are, METIS's parts
 * against promises, volumes against sets of columns.
 */
#include "patterns.h"
#include "sparse/partition.h"

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
    };
    return cmocka_run_group_tests_name("partition", tests, NULL, NULL);
}
