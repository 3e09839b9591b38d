/*
 * test_mirrors.c - entries beside their mirror images against a search of all pairs, both where neighbouring rows have
 * neighbouring columns and where they do not; what is seen of numbers; diagonals. On the host alone.
 */
#include "base/hooks.h"
#include "matrix/given.h"
#include "testing.h"
#include <float.h>

enum { ROUNDS = 300, MOST = 90 };

/* Dense, row by row; `there`: where entries are. */
typedef struct dense {
    int64_t n;
    bool there[MOST][MOST];
    double a[MOST][MOST];
} dense;

/* Near: on a few diagonals; else anywhere. Some rows and columns are empty. */
static void fill_symmetric(dense *D, bool near)
{
    const int64_t band = 1 + random_below(4), empty = random_below(3) ? -1 : random_below(D->n);

    for (int64_t i = 0; i < D->n; i++)
        for (int64_t j = 0; j <= i; j++) {
            const bool on = near ? i - j <= 1 || i - j == 5 * band : random_below(6) == 0;
            D->there[i][j] = D->there[j][i] = on && i != empty && j != empty;
            D->a[i][j] = D->a[j][i] = (double)random_below(9) - 4;
        }
}

/* What makes it unsymmetric, or nearly. */
static void change(dense *D, int64_t kind)
{
    int64_t i = kind % 2 ? D->n - 1 : random_below(D->n), j = random_below(D->n);

    for (int64_t tries = 0; tries < D->n && (i == j || !D->there[i][j]); tries++)
        j = (j + 1) % D->n;
    if (i == j || !D->there[i][j]) return;
    switch (kind / 2) {
    case 1: D->a[i][j] += 3; break;
    case 2: D->there[i][j] = false; break; /* its mirror image is alone */
    case 3: D->a[i][j] = 0, D->a[j][i] = -0.0; break;
    case 4: D->there[j][i] = false, D->a[i][j] = 0; break; /* a zero that is alone */
    default: break;
    }
}

static kryi_csr compress(const dense *D, kry_type type)
{
    kryi_csr A;
    int64_t nnz = 0;

    for (int64_t i = 0; i < D->n; i++)
        for (int64_t j = 0; j < D->n; j++) nnz += D->there[i][j];
    OK(kryi_csr_create(D->n, D->n, type, nnz, &A));
    nnz = 0;
    for (int64_t i = 0; i < D->n; i++) {
        for (int64_t j = 0; j < D->n; j++) {
            if (!D->there[i][j]) continue;
            A.col[nnz] = (int32_t)j;
            kryi_number_put(type, A.val, nnz++, D->a[i][j]);
        }
        A.row_ptr[i + 1] = nnz;
    }
    return A;
}

static double entry(const dense *D, int64_t i, int64_t j)
{
    return D->there[i][j] ? D->a[i][j] : 0;
}

/* The pair that is furthest apart, by its upper entry or the one that there is, and of equals the first. */
static kryi_finding search(const dense *D, bool *symmetric)
{
    kryi_finding worst = { 0 };
    double apart = 0;

    *symmetric = true;
    for (int64_t i = 0; i < D->n; i++)
        for (int64_t j = 0; j < D->n; j++) {
            const double v = entry(D, i, j), w = entry(D, j, i);
            const bool upper = j > i, names = D->there[i][j] && (upper || !D->there[j][i]);
            if (D->there[i][j] != D->there[j][i] || signbit(v) != signbit(w) || v != w)
                *symmetric = false;
            if (!names || fabs(v - w) <= apart) continue;
            apart = fabs(v - w);
            worst = (kryi_finding){
                .what = KRY_FOUND_ASYMMETRIC, .row = i, .col = j, .entry = v, .mirror = w
            };
        }
    return worst;
}

static void check(const dense *D, kry_type type)
{
    kryi_csr A = compress(D, type);
    kryi_finding found, same;
    bool symmetric, is;
    const kryi_finding worst = search(D, &is);

    OK(kryi_mirrors_compare(&A, 0.5, &found, &symmetric));
    assert_int_equal(symmetric, is);
    assert_int_equal(found.what, worst.what);
    if (worst.what) {
        assert_int_equal(found.row, worst.row);
        assert_int_equal(found.col, worst.col);
        assert_true(found.entry == worst.entry && found.mirror == worst.mirror);
    }
    cut_loops(1 + (int)random_below(5)); /* and in batches of few rows */
    OK(kryi_mirrors_compare(&A, 0.5, &same, &symmetric));
    cut_loops(0);
    assert_int_equal(symmetric, is);
    assert_int_equal(same.what, worst.what);
    if (same.what) {
        assert_true(same.entry == entry(D, same.row, same.col));
        assert_true(same.mirror == entry(D, same.col, same.row));
        assert_true(fabs(same.entry - same.mirror) > 0.5);
    }
    kryi_csr_release(&A);
}

static void mirrors__as_a_search_of_all_pairs(void **state)
{
    dense *D = calloc(1, sizeof *D);

    for (int round = 0; round < ROUNDS; round++) {
        D->n = round < 10 ? round : 2 + random_below(MOST - 1);
        if (D->n > 0) fill_symmetric(D, round % 2);
        if (D->n > 1) change(D, random_below(10));
        check(D, type_of(state));
    }
    free(D);
}

/* Rows in order suit; the same rows anywhere do not. */
static void near__grids_but_not_when_shuffled(void **state)
{
    enum { N = 4096, STRIDE = 2049 };
    int64_t row_ptr[N + 1] = { 0 };
    int32_t *col = calloc(4 * N, sizeof *col);
    kryi_csr A = { N, N, KRY_F64, row_ptr, col, NULL };

    (void)state;
    for (int64_t i = 0; i < N; i++) {
        row_ptr[i + 1] = row_ptr[i];
        for (int64_t j = i - STRIDE; j <= i + STRIDE; j += STRIDE)
            if (j >= 0 && j < N) col[row_ptr[i + 1]++] = (int32_t)j;
    }
    assert_true(kryi_near_suits(&A));
    for (int64_t k = 0; k < row_ptr[N]; k++) col[k] = (int32_t)(k * 1237 % N);
    assert_false(kryi_near_suits(&A));
    free(col);
}

/* ---- numbers ----------------------------------------------------------------------------------- */

static kryi_seen see(kry_type type, double v, bool among_others)
{
    enum { COUNT_OF = 37 };
    double numbers[COUNT_OF];
    char typed[COUNT_OF * sizeof(double)];
    const int64_t at = random_below(COUNT_OF);
    kryi_seen seen;

    for (int k = 0; k < COUNT_OF; k++) numbers[k] = among_others ? k - 7.5 : v;
    numbers[at] = v;
    for (int k = 0; k < COUNT_OF; k++) kryi_number_put(type, typed, k, numbers[k]);
    cut_loops(1 + (int)random_below(4));
    kryi_numbers_see(type, typed, COUNT_OF, &seen);
    cut_loops(0);
    return seen;
}

static void numbers__finite_and_singles(void **state)
{
    static const struct {
        double v;
        bool finite, singles, unfit;
    } cases[] = {
        { 0, true, true, false },
        { -0.0, true, true, false },
        { 0.1, true, false, false },
        { 1 + DBL_EPSILON, true, false, false },
        { FLT_MIN, true, true, false },
        { -FLT_MIN / 2, true, false, true },
        { DBL_MIN / 4, true, false, true },
        { FLT_MAX, true, true, false },
        { -2.0 * FLT_MAX, true, false, true },
        { DBL_MAX, true, false, true },
        { INFINITY, false, false, true },
        { -INFINITY, false, false, true },
        { NAN, false, false, true },
    };

    (void)state;
    for (size_t c = 0; c < COUNT(cases); c++)
        for (int among = 0; among < 2; among++) {
            const kryi_seen seen = see(KRY_F64, cases[c].v, among);
            assert_int_equal(!(seen.faults & KRY_SEEN_NOT_FINITE), cases[c].finite);
            assert_int_equal(!(seen.faults & KRY_SEEN_NOT_SINGLE), cases[c].singles);
            assert_int_equal((seen.faults & KRY_SEEN_UNFIT) != 0, cases[c].unfit);
            const kryi_seen single = see(KRY_F32, cases[c].v, among);
            assert_int_equal(!(single.faults & KRY_SEEN_NOT_FINITE), isfinite((float)cases[c].v));
        }
}

/* ---- diagonals --------------------------------------------------------------------------------- */

static void diagonals__as_they_are(void **state)
{
    dense *D = calloc(1, sizeof *D);

    (void)state;
    for (int round = 0; round < ROUNDS / 3; round++) {
        D->n = 1 + random_below(MOST);
        fill_symmetric(D, round % 2);
        if (D->n > 1) change(D, 4);
        kryi_csr A = compress(D, KRY_F64);
        int32_t *offset, *none;
        int64_t count, more, at = 0;
        cut_loops((int)random_below(5));
        OK(kryi_diagonals_find(&A, 2 * D->n, &offset, &count));
        for (int64_t d = 1 - D->n; d < D->n; d++) {
            bool there = false;
            for (int64_t i = 0; i < D->n; i++)
                there |= i + d >= 0 && i + d < D->n && D->there[i][i + d];
            if (there) assert_true(at < count && offset[at++] == d);
        }
        assert_int_equal(at, count);
        if (count) {
            OK(kryi_diagonals_find(&A, count - 1, &none, &more));
            assert_true(!none && more >= count);
        }
        cut_loops(0);
        free(offset);
        kryi_csr_release(&A);
    }
    free(D);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(mirrors__as_a_search_of_all_pairs),
        cmocka_unit_test(near__grids_but_not_when_shuffled),
        cmocka_unit_test(numbers__finite_and_singles),
        cmocka_unit_test(diagonals__as_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
