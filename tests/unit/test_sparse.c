/*
 * test_sparse.c - sparse matrices on the host against dense ones: random matrices, whose seed is
 * printed, among them empty ones, empty rows, and one row or column.
 */
#include "base/hooks.h"
#include "mixed_grid.h"
#include "sparse/entries.h"

enum { ROUNDS = 200, MOST = 14 };

/* ---- dense matrices -------------------------------------------------------------------------- */

/* Row by row; `there`: where entries are. */
typedef struct dense {
    int64_t rows, cols;
    bool there[MOST][MOST];
    double a[MOST][MOST];
} dense;

/* Integers, so that sums are exact. */
static double random_integer(void) { return (double)(random_below(19) - 9); }

static dense random_dense(int64_t rows, int64_t cols)
{
    dense D = { .rows = rows, .cols = cols };
    int64_t rare = 1 + random_below(6);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++)
            if (random_below(rare) == 0) D.there[i][j] = true, D.a[i][j] = random_integer();
    return D;
}

static int64_t random_size(void) { return random_below(MOST + 1); }

static kryi_csr compress(const dense *D, kry_type type)
{
    kryi_csr A;
    int64_t nnz = 0;
    for (int64_t i = 0; i < D->rows; i++)
        for (int64_t j = 0; j < D->cols; j++) nnz += D->there[i][j];
    OK(kryi_csr_create(D->rows, D->cols, type, nnz, &A));
    nnz = 0;
    for (int64_t i = 0; i < D->rows; i++) {
        for (int64_t j = 0; j < D->cols; j++) {
            if (!D->there[i][j]) continue;
            A.col[nnz] = (int32_t)j;
            put(type, A.val, nnz++, D->a[i][j]);
        }
        A.row_ptr[i + 1] = nnz;
    }
    return A;
}

static void pattern(kryi_csr *A) { free(A->val), A->val = NULL; }

/* A has the entries of D and no others, columns ascending. */
static void expect(const kryi_csr *A, const dense *D)
{
    int64_t nnz = 0;
    assert_int_equal(A->rows, D->rows);
    assert_int_equal(A->cols, D->cols);
    assert_int_equal(A->row_ptr[0], 0);
    for (int64_t i = 0; i < D->rows; i++)
        for (int64_t j = 0; j < D->cols; j++) {
            if (!D->there[i][j]) continue;
            assert_true(nnz < A->row_ptr[i + 1] && nnz >= A->row_ptr[i]);
            assert_int_equal(A->col[nnz], j);
            if (A->val) assert_true(at(A->type, A->val, nnz) == D->a[i][j]);
            nnz++;
        }
    assert_int_equal(nnz, kryi_csr_nnz(A));
}

/* ---- the same entries at other places -------------------------------------------------------- */

static void transpose__and_back(void **state)
{
    kry_type type = type_of(state);
    for (int round = 0; round < ROUNDS; round++) {
        dense D = random_dense(random_size(), random_size()),
              T = { .rows = D.cols, .cols = D.rows };
        kryi_csr A = compress(&D, type), t, back;
        if (round % 5 == 0) pattern(&A);
        for (int64_t i = 0; i < D.rows; i++)
            for (int64_t j = 0; j < D.cols; j++)
                T.there[j][i] = D.there[i][j], T.a[j][i] = D.a[i][j];
        OK(kryi_csr_transpose(&A, &t));
        expect(&t, &T);
        OK(kryi_csr_transpose(&t, &back));
        expect(&back, &D);
        kryi_csr_release(&A), kryi_csr_release(&t), kryi_csr_release(&back);
    }
}

/* Entries of a row in any order, some columns twice: they stay as they stood. */
static void sort__keeps_the_order_of_equal_columns(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        int64_t rows = random_size(), cols = 1 + random_below(MOST), nnz = 0;
        kryi_csr A;
        OK(kryi_csr_create(rows, cols, KRY_F64, rows * MOST, &A));
        double *val = A.val;
        for (int64_t i = 0; i < rows; i++) {
            for (int64_t e = random_below(MOST); e > 0; e--) {
                A.col[nnz] = (int32_t)random_below(cols);
                val[nnz] = (double)nnz, nnz++;
            }
            A.row_ptr[i + 1] = nnz;
        }
        OK(kryi_csr_sort(&A));
        val = A.val;
        for (int64_t i = 0; i < rows; i++)
            for (int64_t e = A.row_ptr[i]; e < A.row_ptr[i + 1]; e++) {
                assert_true(val[e] >= (double)A.row_ptr[i] && val[e] < (double)A.row_ptr[i + 1]);
                if (e == A.row_ptr[i]) continue;
                assert_true(A.col[e - 1] <= A.col[e]);
                if (A.col[e - 1] == A.col[e]) assert_true(val[e - 1] < val[e]);
            }
        kryi_csr_release(&A);
    }
}

static bool in_band(const void *user, int64_t i, int64_t j)
{
    return j - i <= *(const int64_t *)user && i <= j;
}

static void select__a_band(void **state)
{
    kry_type type = type_of(state);
    for (int round = 0; round < ROUNDS; round++) {
        dense D = random_dense(random_size(), random_size());
        kryi_csr A = compress(&D, type), B;
        int64_t width = random_below(5);
        for (int64_t i = 0; i < D.rows; i++)
            for (int64_t j = 0; j < D.cols; j++) D.there[i][j] &= in_band(&width, i, j);
        OK(kryi_csr_select(&A, in_band, &width, &B));
        expect(&B, &D);
        kryi_csr_release(&A), kryi_csr_release(&B);
    }
}

/* Some rows in a new order, some columns with new numbers: all of them make a permutation. */
static void part__rows_and_columns(void **state)
{
    kry_type type = type_of(state);
    for (int round = 0; round < ROUNDS; round++) {
        dense D = random_dense(random_size(), random_size()), P = { .rows = 0 };
        kryi_csr A = compress(&D, type), B;
        int32_t row[MOST], place[MOST];
        int64_t cols = 0, *from;
        for (int32_t i = 0; i < D.rows; i++) {
            int64_t j = random_below(i + 1);
            row[i] = row[j], row[j] = i;
        }
        for (int64_t j = 0; j < D.cols; j++) place[j] = random_below(3) ? (int32_t)cols++ : -1;
        int64_t first = D.rows ? random_below(D.rows) : 0, rows = random_below(D.rows - first + 1);
        P.rows = rows, P.cols = cols;
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < D.cols; j++) {
                int64_t r = round % 2 ? first + i : row[first + i];
                if (place[j] < 0) continue;
                P.there[i][place[j]] = D.there[r][j], P.a[i][place[j]] = D.a[r][j];
            }
        const kryi_csr_cut cut = { .rows = rows,
                                   .first = first,
                                   .row = round % 2 ? NULL : row,
                                   .cols = cols,
                                   .place = place };
        OK(kryi_csr_part(&A, &cut, &B, &from));
        expect(&B, &P);
        for (int64_t e = 0; e < kryi_csr_nnz(&B); e++) {
            assert_int_equal(place[A.col[from[e]]], B.col[e]);
            assert_true(at(type, A.val, from[e]) == at(type, B.val, e));
        }
        free(from);
        kryi_csr_release(&B);
        /* All rows, in place. */
        const kryi_csr_cut all = { .rows = D.rows, .cols = cols, .place = place };
        OK(kryi_csr_part(&A, &all, &B, NULL));
        kryi_csr_renumber(&A, cols, place);
        assert_true(A.cols == cols && kryi_csr_nnz(&A) == kryi_csr_nnz(&B));
        assert_memory_equal(A.row_ptr, B.row_ptr, (size_t)(D.rows + 1) * sizeof *A.row_ptr);
        for (int64_t e = 0; e < kryi_csr_nnz(&B); e++)
            assert_true(A.col[e] == B.col[e] && at(type, A.val, e) == at(type, B.val, e));
        kryi_csr_release(&A), kryi_csr_release(&B);
    }
}

static void convert__to_single_and_back(void **state)
{
    (void)state;
    dense D = random_dense(MOST, MOST);
    kryi_csr A = compress(&D, KRY_F64);
    OK(kryi_csr_convert(&A, KRY_F32));
    assert_int_equal(A.type, KRY_F32);
    expect(&A, &D);
    OK(kryi_csr_convert(&A, KRY_F64));
    assert_int_equal(A.type, KRY_F64);
    expect(&A, &D);
    kryi_csr_release(&A);
}

/* ---- mirror images --------------------------------------------------------------------------- */

static void find__every_place(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        dense D = random_dense(random_size(), random_size());
        kryi_csr A = compress(&D, KRY_F64);
        for (int64_t i = 0; i < D.rows; i++)
            for (int64_t j = 0; j < D.cols; j++) {
                int64_t e = kryi_csr_find(&A, i, j);
                assert_int_equal(e >= 0, D.there[i][j]);
                if (e < 0) continue;
                assert_true(e >= A.row_ptr[i] && e < A.row_ptr[i + 1] && A.col[e] == j);
            }
        kryi_csr_release(&A);
    }
}

typedef struct pairs {
    const kryi_csr *A;
    bool seen[MOST][MOST];
    int64_t left; /* how many more are looked at */
} pairs;

static bool note_pair(void *user, int64_t i, int64_t j, int64_t lower, int64_t upper)
{
    pairs *p = user;
    assert_true(i > j && !p->seen[i][j]);
    assert_int_equal(lower, kryi_csr_find(p->A, i, j));
    assert_int_equal(upper, kryi_csr_find(p->A, j, i));
    assert_true(lower >= 0 || upper >= 0);
    p->seen[i][j] = true;
    return --p->left != 0;
}

static void pairs__each_once(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        int64_t n = random_size(), count = 0;
        dense D = random_dense(n, n);
        kryi_csr A = compress(&D, KRY_F64);
        pairs p = { .A = &A, .left = -1 };
        kryi_csr_pairs(&A, note_pair, &p);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < i; j++) {
                assert_int_equal(p.seen[i][j], D.there[i][j] || D.there[j][i]);
                count += p.seen[i][j];
            }
        if (count < 2) goto next;
        p = (pairs){ .A = &A, .left = 1 + random_below(count - 1) };
        kryi_csr_pairs(&A, note_pair, &p);
        assert_int_equal(p.left, 0);
    next:
        kryi_csr_release(&A);
    }
}

static dense random_symmetric(int64_t n)
{
    dense D = random_dense(n, n);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < i; j++) D.there[j][i] = D.there[i][j], D.a[j][i] = D.a[i][j];
        D.there[i][i] = true, D.a[i][i] = 1 + (double)random_below(9);
    }
    return D;
}

static bool symmetric(const dense *D)
{
    kryi_csr A = compress(D, KRY_F64);
    cut_loops((int)random_below(5));
    bool is = kryi_csr_is_symmetric(&A);
    cut_loops(0);
    kryi_csr_release(&A);
    return is;
}

static void is_symmetric__but_for_one_entry(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        int64_t n = 2 + random_below(MOST - 1), i = random_below(n), j = (i + 1) % n;
        dense D = random_symmetric(n), other = D;
        assert_true(symmetric(&D));
        other.a[i][j] += 1;
        assert_int_equal(symmetric(&other), !D.there[i][j]);
        other = D, other.there[i][j] = !other.there[i][j];
        assert_false(symmetric(&other));
        D.cols--;
        assert_false(symmetric(&D));
    }
}

/* Rounding within the tolerance goes, zeros without a mirror image with it. */
static void symmetrise__rounding(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        int64_t n = random_size();
        dense D = random_symmetric(n), near = D;
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = i + 1; j < n; j++) {
                near.a[i][j] += 1e-9 * random_number(KRY_F64);
                if (D.there[i][j] || random_below(4)) continue;
                if (random_below(2))
                    near.there[i][j] = true, near.a[i][j] = 1e-9;
                else
                    near.there[j][i] = true, near.a[j][i] = 0;
            }
        kryi_csr A = compress(&near, KRY_F64);
        kryi_csr_mismatch m;
        OK(kryi_csr_symmetrise(&A, 1e-8, &m));
        assert_int_equal(m.i, -1);
        expect(&A, &D);
        kryi_csr_release(&A);
        if (n < 2) continue;
        int64_t j = random_below(n - 1), i = j + 1 + random_below(n - 1 - j);
        D.there[i][j] = true, D.a[i][j] += 1;
        A = compress(&D, KRY_F64);
        OK(kryi_csr_symmetrise(&A, 1e-8, &m));
        assert_int_equal(m.i, i);
        assert_int_equal(m.j, j);
        assert_true(m.lower == D.a[i][j] && m.upper == (D.there[j][i] ? D.a[j][i] : 0));
        kryi_csr_release(&A);
    }
}

static void graph__of_any_matrix(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        int64_t n = random_size();
        dense D = random_dense(n, n), want = { .rows = n, .cols = n };
        kryi_csr A = compress(&D, KRY_F64), G;
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++)
                want.there[i][j] = i != j && (D.there[i][j] || D.there[j][i]);
        OK(kryi_csr_graph(&A, &G));
        assert_null(G.val);
        expect(&G, &want);
        kryi_csr_release(&A), kryi_csr_release(&G);
    }
}

/* ---- products -------------------------------------------------------------------------------- */

static dense product(const dense *A, const dense *B)
{
    dense C = { .rows = A->rows, .cols = B->cols };
    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t k = 0; k < A->cols; k++)
            for (int64_t j = 0; j < B->cols; j++) {
                if (!A->there[i][k] || !B->there[k][j]) continue;
                C.there[i][j] = true;
                C.a[i][j] += A->a[i][k] * B->a[k][j];
            }
    return C;
}

static void multiply__numbers_and_patterns(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        int64_t inner = random_size();
        dense D = random_dense(random_size(), inner), E = random_dense(inner, random_size());
        kryi_csr A = compress(&D, KRY_F64), B = compress(&E, KRY_F64), C;
        const dense want = product(&D, &E);
        if (round % 3 == 0) pattern(&A), pattern(&B);
        cut_loops((int)random_below(5));
        OK(kryi_csr_multiply(&A, &B, &C));
        cut_loops(0);
        assert_int_equal(C.val != NULL, A.val != NULL);
        expect(&C, &want);
        kryi_csr_release(&A), kryi_csr_release(&B), kryi_csr_release(&C);
    }
}

/* Each step is run once, whatever the cut. */
static void mark_steps(void *user, int part, int64_t begin, int64_t end)
{
    int *const *marks = user;
    for (int64_t i = begin; i < end; i++) ++marks[0][i], marks[1][i] = part;
}

static void parallel__runs_each_step_once(void **state)
{
    (void)state;
    for (int parts = 1; parts <= 16; parts++)
        for (int64_t count = 0; count < 40; count++) {
            int steps[40] = { 0 }, part[40], last = 0;
            int *marks[] = { steps, part };
            kryi_parallel(parts, count, mark_steps, marks);
            for (int64_t i = 0; i < count; i++) {
                assert_int_equal(steps[i], 1);
                assert_in_range(part[i], last, parts - 1);
                last = part[i];
            }
        }
    assert_int_equal(kryi_parts(0), 1);
    assert_in_range(kryi_parts(INT64_MAX), 1, 16);
}

/* K D K' at some places, in numbers that round: the same for mirror images, to the bit. */
static void multiply_within__is_symmetric(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        int64_t n = random_size();
        dense S = random_symmetric(n), D = random_dense(n, n);
        double d[MOST];
        kryi_csr C = compress(&S, KRY_F64), K, K_t;
        for (int64_t i = 0; i < n; i++) {
            d[i] = random_number(KRY_F64);
            for (int64_t j = 0; j < n; j++) D.a[i][j] = random_number(KRY_F64);
        }
        K = compress(&D, KRY_F64);
        OK(kryi_csr_transpose(&K, &K_t));
        cut_loops((int)random_below(5));
        OK(kryi_csr_multiply_within(&K, round % 4 ? d : NULL, &K_t, &C));
        cut_loops(0);
        const double *val = C.val;
        for (int64_t i = 0, e = 0; i < n; i++)
            for (; e < C.row_ptr[i + 1]; e++) {
                long double sum = 0, size = 0;
                for (int64_t k = 0; k < n; k++) {
                    if (!D.there[i][k] || !D.there[C.col[e]][k]) continue;
                    long double term = (long double)D.a[i][k] * D.a[C.col[e]][k];
                    if (round % 4) term *= d[k];
                    sum += term, size += fabsl(term);
                }
                NEAR(val[e], sum, 4 * n * DBL_EPSILON * size, "round %d", round);
            }
        assert_true(kryi_csr_is_symmetric(&C));
        kryi_csr_release(&C), kryi_csr_release(&K), kryi_csr_release(&K_t);
    }
}

/* ---- from entries ---------------------------------------------------------------------------- */

/* Coordinates in any order, some places twice, one triangle or all, and new values later. */
static void entries__into_a_matrix(void **state)
{
    kry_type type = type_of(state);
    for (int round = 0; round < ROUNDS; round++) {
        const kry_storage storage =
            (kry_storage[]){ KRY_GENERAL, KRY_SYMMETRIC_HALF, KRY_SKEW_HALF }[round % 3];
        int64_t rows = 2 + random_below(MOST - 1), nnz = random_below(60);
        int64_t cols = storage ? rows : 2 + random_below(MOST - 1);
        int32_t row[60], col[60];
        double value[60];
        dense D = { .rows = rows, .cols = cols };
        kryi_csr A;
        kryi_entry_map map;
        for (int64_t e = 0; e < nnz; e++) {
            row[e] = (int32_t)random_below(rows), col[e] = (int32_t)random_below(cols);
            if (storage == KRY_SKEW_HALF && row[e] == col[e])
                row[e] = (int32_t)((col[e] + 1) % rows);
        }
        for (int again = 0; again < 2; again++) {
            memset(D.a, 0, sizeof D.a);
            for (int64_t e = 0; e < nnz; e++) {
                double v = value[e] = random_integer();
                D.there[row[e]][col[e]] = true, D.a[row[e]][col[e]] += v;
                if (!storage || row[e] == col[e]) continue;
                D.there[col[e]][row[e]] = true;
                D.a[col[e]][row[e]] += storage == KRY_SKEW_HALF ? -v : v;
            }
            void *numbers = in_type(type, value, nnz);
            const kryi_entries given = {
                "test", { rows, cols, type, NULL, col, numbers }, row, nnz
            };
            if (again)
                OK(kryi_entries_renew("test", &map, numbers, kryi_csr_nnz(&A), &A));
            else
                OK(kryi_entries_compress(&given,
                                         KRY_MATRIX(.storage = storage, .duplicates = KRY_SUM),
                                         false, &A, &map));
            expect(&A, &D);
            free(numbers);
        }
        kryi_entry_map_release(&map);
        kryi_csr_release(&A);
    }
}

/* What is sorted already is only copied, and stays without a map. */
static void entries__that_are_a_matrix(void **state)
{
    kry_type type = type_of(state);
    for (int round = 0; round < ROUNDS; round++) {
        dense D = random_dense(random_size(), random_size());
        kryi_csr A = compress(&D, type), B;
        kryi_entry_map map;
        if (round % 4 == 0) pattern(&A);
        const kryi_entries given = { "test", A, NULL, kryi_csr_nnz(&A) };
        OK(kryi_entries_compress(&given, KRY_MATRIX(.traits = 0), false, &B, &map));
        assert_null(map.place);
        assert_int_equal(B.val != NULL, A.val != NULL);
        expect(&B, &D);
        kryi_entry_map_release(&map);
        kryi_csr_release(&A), kryi_csr_release(&B);
    }
}

/* ---- requests that fail ---------------------------------------------------------------------- */

/* Everything that allocates, on one matrix. */
static kry_status everything(const kryi_csr *A, kryi_csr *all)
{
    kry_status st = KRY_OK;
    int64_t *from = NULL;
    kryi_csr_mismatch m;
    const kryi_csr_cut cut = { .rows = A->rows, .cols = A->cols };
    const kryi_entries given = { "test", *A, NULL, kryi_csr_nnz(A) };

    TRY(kryi_csr_transpose(A, &all[0]));
    TRY(kryi_csr_sort(&all[0]));
    TRY(kryi_csr_part(A, &cut, &all[1], &from));
    TRY(kryi_csr_symmetrise(&all[1], 1, &m));
    TRY(kryi_csr_graph(A, &all[2]));
    TRY(kryi_csr_multiply(A, A, &all[3]));
    TRY(kryi_csr_multiply_within(A, NULL, A, &all[3]));
    TRY(kryi_entries_compress(&given, KRY_MATRIX(.duplicates = KRY_SUM), false, &all[4], NULL));
    TRY(kryi_csr_convert(&all[4], KRY_F32));
    TRY(kryi_csr_copy(&all[4], &all[5]));
done:
    free(from);
    return st;
}

static void operations__every_request_fails(void **state)
{
    (void)state;
    dense D = random_symmetric(MOST);
    kryi_csr A = compress(&D, KRY_F64);
    int requests = 0;
    EACH_REQUEST(k)
    {
        kryi_csr all[6] = { 0 };
        kry_status st = FAILING(k, everything(&A, all));
        assert_int_equal(st, request_failed ? KRY_ERR_MEMORY : KRY_OK);
        for (size_t i = 0; i < COUNT(all); i++) kryi_csr_release(&all[i]);
        requests++;
    }
    assert_in_range(requests, 20, 200);
    expect(&A, &D);
    kryi_csr_release(&A);
}

static kryi_csr pattern_of(const matrix *A)
{
    return (kryi_csr){ A->rows, A->cols, KRY_F64, A->row_ptr, A->col, NULL };
}

static int64_t star_length(int64_t row, int64_t rows, int64_t cols)
{
    (void)cols;
    return row == rows / 2 ? rows / 2 : row % 7 == 3 ? 0 : row % 4; /* isolated nodes, and a star */
}

static void rcm__any_graph(void **state)
{
    (void)state;
    static const int64_t sizes[] = { 1, 2, 3, 64, 501 };

    for (size_t i = 0; i < COUNT(sizes); i++) {
        matrix A = matrix_create(KRY_F64, sizes[i], sizes[i], star_length);
        int32_t *place = calloc((size_t)A.rows, sizeof *place), *order, *again;
        assert_non_null(place);
        order = order_of(&A, place), again = order_of(&A, place);
        assert_memory_equal(order, again, (size_t)A.rows * sizeof *order);
        free(again), free(order), free(place);
        matrix_release(&A);
    }
    kryi_csr empty = { .row_ptr = (int64_t[]){ 0 } };
    OK(kryi_csr_rcm(&empty, NULL));
    assert_true(kryi_csr_mean_bandwidth(&empty, NULL) == 0);
}

/* A grid of N x N whose points are numbered at random: rows are no further apart than about N again. */
static void rcm__finds_the_lines_of_a_grid(void **state)
{
    (void)state;
    static const int sides[] = { 2, 9, 33 };

    for (size_t i = 0; i < COUNT(sides); i++) {
        const int64_t n = (int64_t)sides[i] * sides[i];
        int32_t *mixed = shuffled(n), *place = calloc((size_t)n, sizeof *place);
        matrix A = grid_of(KRY_F64, sides[i], mixed, &laplace);
        const kryi_csr pattern = pattern_of(&A);
        free(order_of(&A, place));
        int64_t widest = 0;
        for (int64_t r = 0; r < n; r++)
            for (int64_t k = A.row_ptr[r]; k < A.row_ptr[r + 1]; k++) {
                const int64_t distance = labs((long)place[r] - place[A.col[k]]);
                if (distance > widest) widest = distance;
            }
        assert_in_range(widest, 1, 2 * sides[i]);
        assert_true(kryi_csr_mean_bandwidth(&pattern, place) <= sides[i]);
        free(place), free(mixed);
        matrix_release(&A);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(transpose__and_back),
        cmocka_unit_test(sort__keeps_the_order_of_equal_columns),
        BOTH(select__a_band),
        BOTH(part__rows_and_columns),
        cmocka_unit_test(convert__to_single_and_back),
        cmocka_unit_test(find__every_place),
        cmocka_unit_test(pairs__each_once),
        cmocka_unit_test(is_symmetric__but_for_one_entry),
        cmocka_unit_test(symmetrise__rounding),
        cmocka_unit_test(graph__of_any_matrix),
        cmocka_unit_test(multiply__numbers_and_patterns),
        cmocka_unit_test(parallel__runs_each_step_once),
        cmocka_unit_test(multiply_within__is_symmetric),
        BOTH(entries__into_a_matrix),
        BOTH(entries__that_are_a_matrix),
        cmocka_unit_test(operations__every_request_fails),
        cmocka_unit_test(rcm__any_graph),
        cmocka_unit_test(rcm__finds_the_lines_of_a_grid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
