/*
 * test_classical.c - classical coarsening in double: the splitting against its definition, weights that are known by
 * hand or from dense formulas, Galerkin products, and iterations of two-level cycles.
 */
#include "amg/classical.h"
#include "couplings.h"

/* ---- what is made of one --------------------------------------------------------------------- */

typedef enum point { POINT_F, POINT_C, POINT_ALONE } point;

typedef struct made {
    kryi_csr A, S, P; /* S: the pattern of strong couplings */
    point *point;
    int64_t count;
    kryi_device_csr A_there, P_there;
    kryi_splitting splitting;
} made;

static void *download(cl_mem buffer, int64_t count, size_t size)
{
    void *to = calloc((size_t)count + 1, size);
    assert_non_null(to);
    OK(buffer_read(device(), buffer, 0, (size_t)count * size, to));
    return to;
}

/* Row i has bits of its own, from word row_ptr[i] / 32 + i on. */
static kryi_csr strong_of(const kryi_csr *A, const kryi_splitting *s)
{
    const int64_t n = A->rows, nnz = kryi_csr_nnz(A);
    uint32_t *strong = download(s->strong, nnz / 32 + n, sizeof *strong);
    kryi_csr S;
    int64_t end = 0;

    OK(kryi_csr_create(n, n, KRY_F64, nnz, &S));
    for (int64_t i = 0; i < n; i++) {
        const int64_t begin = A->row_ptr[i];
        for (int64_t e = begin; e < A->row_ptr[i + 1]; e++)
            if (strong[begin / 32 + i + (e - begin) / 32] >> ((e - begin) & 31) & 1)
                S.col[end++] = A->col[e];
        S.row_ptr[i + 1] = end;
    }
    free(strong);
    return S;
}

static point *points_of(int64_t n, const kryi_splitting *s)
{
    int32_t *number = download(s->number, n, sizeof *number);
    point *points = calloc((size_t)n + 1, sizeof *points);

    assert_non_null(points);
    for (int64_t i = 0; i < n; i++)
        points[i] = number[i] >= 0 ? POINT_C : number[i] == -1 ? POINT_F : POINT_ALONE;
    free(number);
    return points;
}

static void split(kryi_csr A, double theta, made *m)
{
    *m = (made){ .A = A };
    OK(kryi_device_csr_upload(device(), &A, &m->A_there));
    OK(kryi_splitting_create(&m->A_there, theta, &m->splitting));
    m->S = strong_of(&A, &m->splitting);
    m->point = points_of(A.rows, &m->splitting);
    m->count = m->splitting.coarse;
}

static void interpolate(made *m)
{
    OK(kryi_splitting_interpolate(&m->A_there, &m->splitting, &m->P_there));
    OK(kryi_device_csr_download(&m->P_there, &m->P));
}

static made make(kryi_csr A, double theta)
{
    made m;
    split(A, theta, &m);
    interpolate(&m);
    return m;
}

static void unmake(made *m)
{
    kryi_splitting_release(&m->splitting);
    kryi_device_csr_release(&m->P_there);
    kryi_device_csr_release(&m->A_there);
    kryi_csr_release(&m->P);
    kryi_csr_release(&m->S);
    kryi_csr_release(&m->A);
    free(m->point);
}

/* Other points, F and C, than those that were found. */
static void choose_points(made *m, const point *points)
{
    const int64_t n = m->A.rows;
    int32_t number[16], near[17] = { 0 }, count = 0;

    assert_in_range(n, 1, 16);
    for (int64_t i = 0; i < n; i++) {
        number[i] = points[i] == POINT_C ? count++ : -1;
        near[i + 1] = near[i];
        for (int64_t e = m->S.row_ptr[i]; e < m->S.row_ptr[i + 1]; e++)
            near[i + 1] += points[i] == POINT_F && points[m->S.col[e]] == POINT_C;
    }
    m->splitting.coarse = count, m->splitting.near = near[n];
    OK(buffer_write(device(), m->splitting.number, 0, (size_t)n * sizeof *number, number));
    OK(buffer_write(device(), m->splitting.near_ptr, 0, ((size_t)n + 1) * sizeof *near, near));
}

#define NEEDS_DOUBLE \
    if (acc_type() == KRY_F32) SKIP("no double")

static double entry(const kryi_csr *A, int64_t i, int64_t j)
{
    const int64_t e = kryi_csr_find(A, i, j);
    return e < 0 ? 0 : ((const double *)A->val)[e];
}
static bool depends(const made *m, int64_t i, int64_t j) { return kryi_csr_find(&m->S, i, j) >= 0; }

/* ---- strength -------------------------------------------------------------------------------- */

static void expect_strength(const made *m, double theta)
{
    const int64_t n = m->A.rows;
    double *most = calloc((size_t)n + 1, sizeof *most);

    assert_non_null(most);
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (int64_t j = 0; j < n; j++) {
            if (j == i) continue;
            sum += fabs(entry(&m->A, i, j));
            if (-entry(&m->A, i, j) > most[i]) most[i] = -entry(&m->A, i, j);
        }
        if (sum < 0.1 * entry(&m->A, i, i)) most[i] = 0;
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            const double a = entry(&m->A, i, j);
            const bool strong =
                i != j && most[i] > 0 && most[j] > 0 && a < 0 && -a >= theta * most[i];
            assert_int_equal(depends(m, i, j), strong);
        }
    free(most);
}

static void strength__small_positive_and_dominant(void **state)
{
    (void)state;
    NEEDS_DOUBLE;
    /* in the first row: strong, at the threshold, below it, positive; the last row is dominant */
    int64_t row_ptr[] = { 0, 6, 9, 11, 13, 15, 17 };
    int32_t col[] = { 0, 1, 2, 3, 4, 5, 0, 1, 2, 0, 2, 0, 3, 0, 4, 0, 5 };
    double val[] = { 9, -4, -1, -0.99, 3, -4, -4, 5, -1, -1, 2, -0.99, 2, 3, 4, -4, 41 };
    const kryi_csr A = { 6, 6, KRY_F64, row_ptr, col, val };
    made m;
    static const int32_t strong[] = { 1, 2, 0, 2, 0, 0 };
    static const int64_t length[] = { 2, 2, 1, 1, 0, 0 };

    split(A, 0.25, &m);
    assert_int_equal(kryi_csr_nnz(&m.S), COUNT(strong));
    for (int64_t i = 0; i < 6; i++) assert_int_equal(kryi_row_length(&m.S, i), length[i]);
    for (size_t e = 0; e < COUNT(strong); e++) assert_int_equal(m.S.col[e], strong[e]);
    m.A = (kryi_csr){ 0 };
    unmake(&m);
}

/* ---- splitting ------------------------------------------------------------------------------- */

/* Whether a C point is at most two dependences away. */
static bool near_c(const made *m, int64_t i)
{
    const kryi_csr *S = &m->S;
    for (int64_t e = S->row_ptr[i]; e < S->row_ptr[i + 1]; e++) {
        const int64_t k = S->col[e];
        if (m->point[k] == POINT_C) return true;
        for (int64_t f = S->row_ptr[k]; f < S->row_ptr[k + 1]; f++)
            if (m->point[S->col[f]] == POINT_C) return true;
    }
    return false;
}

static void expect_splitting(const made *m)
{
    int64_t count = 0;

    for (int64_t i = 0; i < m->A.rows; i++) {
        const bool alone = kryi_row_length(&m->S, i) == 0;
        assert_int_equal(m->point[i] == POINT_ALONE, alone);
        count += m->point[i] == POINT_C;
        if (m->point[i] == POINT_F) assert_true(near_c(m, i));
        for (int64_t e = m->S.row_ptr[i]; e < m->S.row_ptr[i + 1]; e++) {
            const int64_t j = m->S.col[e];
            const bool both = m->point[i] == POINT_C && m->point[j] == POINT_C;
            assert_false(both && depends(m, j, i));
        }
    }
    assert_int_equal(count, m->count);
    assert_int_equal(count, m->P.cols);
}

/* ---- interpolation --------------------------------------------------------------------------- */

/* Dense weights by the formula of interpolation.cl. */
static void weights(const made *m, int64_t i, double *w)
{
    const int64_t n = m->A.rows;
    double d = 0;

    for (int64_t j = 0; j < n; j++) w[j] = 0;
    for (int64_t k = 0; k < n; k++) {
        const double a = entry(&m->A, i, k);
        double s = fmin(entry(&m->A, k, i), 0);
        if (!depends(m, i, k)) {
            if (m->point[k] != POINT_ALONE) d += a;
            continue;
        }
        if (m->point[k] == POINT_C) {
            w[k] += a;
            continue;
        }
        for (int64_t l = 0; l < n; l++)
            if (m->point[l] == POINT_C && depends(m, k, l)) s += fmin(entry(&m->A, k, l), 0);
        for (int64_t l = 0; l < n; l++)
            if (m->point[l] == POINT_C && depends(m, k, l))
                w[l] += a * fmin(entry(&m->A, k, l), 0) / s;
        d += a * fmin(entry(&m->A, k, i), 0) / s;
    }
    if (d <= 1e-10 * entry(&m->A, i, i)) d = entry(&m->A, i, i);
    for (int64_t j = 0; j < n; j++) w[j] /= -d;
}

/* The row of P is a truncation of the weights: in proportion to them, none left out that is clearly larger
 * than the smallest that is kept, and with the same sum where no weight is negative. */
static void expect_truncated(const made *m, int64_t i, const int32_t *fine, const double *w)
{
    const double *p = m->P.val, tiny = 1e-12;
    const int64_t first = m->P.row_ptr[i], count = kryi_row_length(&m->P, i);
    double sum = 0, kept = 0, all_sum = 0, least = INFINITY, largest = 0;
    bool negative = false;

    for (int64_t k = 0; k < m->A.rows; k++) {
        all_sum += w[k], negative |= w[k] < 0, largest = fmax(largest, fabs(w[k]));
    }
    for (int64_t k = first; k < first + count; k++) {
        const double whole = w[fine[m->P.col[k]]];
        sum += p[k], kept += whole, least = fmin(least, fabs(whole));
        NEAR(p[k] * w[fine[m->P.col[first]]], whole * p[first], 1e-9 * fabs(p[first]), "scale");
    }
    assert_in_range(count, largest > 0, KRY_INTERPOLATE_MOST);
    for (int64_t k = 0; k < m->A.rows && count > 0; k++) {
        bool is_kept = false;
        for (int64_t e = first; e < first + count; e++) is_kept |= fine[m->P.col[e]] == k;
        if (is_kept) continue;
        assert_true(fabs(w[k]) <= (count == KRY_INTERPOLATE_MOST ? least : 0.15 * largest) + tiny);
    }
    if (!negative && count > 0) NEAR(sum, all_sum, 1e-12 * fabs(all_sum) + tiny, "sum of row");
}

static void expect_interpolation(const made *m)
{
    const int64_t n = m->A.rows;
    double *w = calloc((size_t)n + 1, sizeof *w);
    int32_t *fine = calloc((size_t)n + 1, sizeof *fine), count = 0;

    assert_true(w && fine);
    for (int64_t i = 0; i < n; i++)
        if (m->point[i] == POINT_C) fine[count++] = (int32_t)i;
    for (int64_t i = 0; i < n; i++) {
        const int64_t first = m->P.row_ptr[i], length = kryi_row_length(&m->P, i);
        for (int64_t e = first + 1; e < first + length; e++)
            assert_true(m->P.col[e - 1] < m->P.col[e]);
        if (m->point[i] == POINT_ALONE) assert_int_equal(length, 0);
        if (m->point[i] == POINT_C) {
            assert_int_equal(length, 1);
            assert_int_equal(fine[m->P.col[first]], i);
            assert_true(((const double *)m->P.val)[first] == 1);
        }
        if (m->point[i] != POINT_F) continue;
        weights(m, i, w);
        expect_truncated(m, i, fine, w);
    }
    free(fine);
    free(w);
}

/* Rows of M-matrices that sum up to zero, next to none that is alone, interpolate constants. */
static void interpolate__constants(void **state)
{
    (void)state;
    NEEDS_DOUBLE;
    static coupling_fn *const singular[] = { chain, five_points, two_chains, random_negative };
    for (int round = 0; round < 40; round++) {
        places = random_bits();
        coupling_fn *f = singular[round % (int)COUNT(singular)];
        made m = make(symmetric(2 + random_below(60), f, 0), round % 3 ? 0.25 : 0.5);
        const double *p = m.P.val;
        for (int64_t i = 0; i < m.A.rows; i++) {
            double sum = 0;
            if (m.point[i] == POINT_ALONE) continue;
            for (int64_t e = m.P.row_ptr[i]; e < m.P.row_ptr[i + 1]; e++) sum += p[e];
            NEAR(sum, 1, 1e-13, "row %lld of %lld", (long long)i, (long long)m.A.rows);
        }
        unmake(&m);
    }
}

static void all_steps__random_sizes(void **state)
{
    (void)state;
    NEEDS_DOUBLE;
    for (int round = 0; round < 10; round++)
        for (size_t k = 0; k < COUNT(all); k++) {
            const double theta = round % 3 == 2 ? -1 : 0.25 * (1 + round % 3);
            places = random_bits();
            made m = make(symmetric(1 + random_below(50), all[k], round % 2 ? 0.3 : 0), theta);
            expect_strength(&m, fmax(theta, 0));
            expect_splitting(&m);
            expect_interpolation(&m);
            unmake(&m);
        }
}

static void interpolate__a_chain_by_hand(void **state)
{
    (void)state;
    NEEDS_DOUBLE;
    /* splitting F C F F C of [-1 2 -1]: row 0 has half of C; row 2 depends on C 1 and F 3, which depends on
     * C 4: s = -2, d = 2 - 1/2, w = (1, 1/2) / 1.5 */
    int64_t row_ptr[] = { 0, 2, 5, 8, 11, 13 };
    int32_t col[] = { 0, 1, 0, 1, 2, 1, 2, 3, 2, 3, 4, 3, 4 };
    double val[] = { 2, -1, -1, 2, -1, -1, 2, -1, -1, 2, -1, -1, 2 };
    const kryi_csr A = { 5, 5, KRY_F64, row_ptr, col, val };
    static const point points[] = { POINT_F, POINT_C, POINT_F, POINT_F, POINT_C };
    static const int64_t starts[] = { 0, 1, 2, 4, 6, 7 };
    static const int32_t cols[] = { 0, 0, 0, 1, 0, 1, 1 };
    static const double want[] = { 0.5, 1, 2 / 3.0, 1 / 3.0, 1 / 3.0, 2 / 3.0, 1 };
    made m;

    split(A, 0.25, &m);
    choose_points(&m, points);
    interpolate(&m);
    for (int i = 0; i < 6; i++) assert_int_equal(m.P.row_ptr[i], starts[i]);
    for (int e = 0; e < 7; e++) {
        assert_int_equal(m.P.col[e], cols[e]);
        NEAR(((double *)m.P.val)[e], want[e], 1e-15, "entry %d", e);
    }
    m.A = (kryi_csr){ 0 };
    unmake(&m);
}

/* The middle of a plane of 3 x 3 whose corners are C points: by symmetry a quarter of each. */
static void interpolate__a_plane_by_hand(void **state)
{
    (void)state;
    NEEDS_DOUBLE;
    static const point points[] = { POINT_C, POINT_F, POINT_C, POINT_F, POINT_F,
                                    POINT_F, POINT_C, POINT_F, POINT_C };
    made m;

    split(symmetric(9, five_points, 0), 0.25, &m);
    choose_points(&m, points);
    interpolate(&m);
    assert_int_equal(kryi_row_length(&m.P, 4), 4);
    for (int j = 0; j < 4; j++) NEAR(entry(&m.P, 4, j), 0.25, 1e-15, "corner %d", j);
    unmake(&m);
}

/* New numbers at the places of an old P: what the same places get from scratch, if they are the same. */
static void interpolate__again_with_new_numbers(void **state)
{
    (void)state;
    NEEDS_DOUBLE;
    for (int round = 0; round < 20; round++) {
        places = random_bits();
        made m = make(symmetric(1 + random_below(60), all[(size_t)round % COUNT(all)], 0.1), 0.25);
        const int64_t nnz = kryi_csr_nnz(&m.A);
        double *val = m.A.val;
        for (int times = 1; times <= 4; times += 3) {
            kryi_csr Q;
            for (int64_t e = 0; e < nnz; e++) val[e] *= times;
            OK(buffer_write(device(), m.A_there.val, 0, (size_t)nnz * sizeof *val, val));
            OK(kryi_splitting_interpolate_again(&m.A_there, &m.splitting, &m.P_there));
            OK(kryi_device_csr_download(&m.P_there, &Q));
            for (int64_t e = 0; e < kryi_csr_nnz(&Q);
                 e++) /* kept ones may be added in another order */
                NEAR(((double *)Q.val)[e], ((double *)m.P.val)[e], 1e-14, "entry %lld",
                     (long long)e);
            kryi_csr_release(&Q);
        }
        unmake(&m);
    }
}

/* ---- together -------------------------------------------------------------------------------- */

static kryi_csr galerkin(const kryi_csr *A, const kryi_csr *P)
{
    kryi_csr R, AP, C;
    OK(kryi_csr_transpose(P, &R));
    OK(kryi_csr_multiply(A, P, &AP));
    OK(kryi_csr_multiply(&R, &AP, &C));
    kryi_csr_release(&AP);
    kryi_csr_release(&R);
    return C;
}

/* Cholesky's factorisation of a dense copy ends: positive definite. */
static bool is_definite(const kryi_csr *A)
{
    const int64_t n = A->rows;
    double *l = calloc((size_t)(n * n) + 1, sizeof *l);
    bool definite = true;

    assert_non_null(l);
    for (int64_t i = 0; i < n && definite; i++)
        for (int64_t j = 0; j <= i; j++) {
            double sum = entry(A, i, j);
            for (int64_t k = 0; k < j; k++) sum -= l[i * n + k] * l[j * n + k];
            if (i == j) definite = definite && sum > 0;
            l[i * n + j] = i == j ? sqrt(fmax(sum, 0)) : sum / l[j * n + j];
        }
    free(l);
    return definite;
}

static void galerkin__stays_definite(void **state)
{
    (void)state;
    NEEDS_DOUBLE;
    for (int round = 0; round < 30; round++) {
        places = random_bits();
        coupling_fn *f = round % 2 ? random_negative : five_points;
        made m = make(symmetric(1 + random_below(60), f, 0.05), 0.25);
        kryi_csr C = galerkin(&m.A, &m.P);
        assert_true(is_definite(&C));
        kryi_csr_release(&C);
        unmake(&m);
    }
}

static void all_steps__same_bits_again(void **state)
{
    (void)state;
    NEEDS_DOUBLE;
    places = random_bits();
    made a = make(symmetric(200, random_negative, 0.1), 0.25);
    made b = make(symmetric(200, random_negative, 0.1), 0.25);
    const int64_t nnz = kryi_csr_nnz(&a.P);
    assert_int_equal(nnz, kryi_csr_nnz(&b.P));
    assert_memory_equal(a.point, b.point, 200 * sizeof *a.point);
    assert_memory_equal(a.P.row_ptr, b.P.row_ptr, 201 * sizeof *a.P.row_ptr);
    assert_memory_equal(a.P.col, b.P.col, (size_t)nnz * sizeof *a.P.col);
    assert_memory_equal(a.P.val, b.P.val, (size_t)nnz * sizeof(double));
    unmake(&b);
    unmake(&a);
}

/* Two rows that are coupled to all others and to each other: one is an F point with n dependents. Were
 * it shared out among them, that would be n^2 steps, which the limit of this test's time does not allow. */
static void interpolate__two_dense_rows(void **state)
{
    (void)state;
    NEEDS_DOUBLE;
    const int64_t n = small_run() ? 1000 : 100000;
    kryi_csr A;
    OK(kryi_csr_create(n, n, KRY_F64, 2 * n + 3 * (n - 2), &A));
    double *val = A.val;
    int64_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        if (i < 2) {
            for (int64_t j = 0; j < n; j++)
                A.col[at] = (int32_t)j, val[at++] = i == j ? (double)n - 1 : -1;
        } else {
            A.col[at] = 0, val[at++] = -1;
            A.col[at] = 1, val[at++] = -1;
            A.col[at] = (int32_t)i, val[at++] = 2;
        }
        A.row_ptr[i + 1] = at;
    }
    made m = make(A, 0.25);
    assert_int_equal(m.count, 1);
    for (int64_t i = 0; i < n; i++) {
        assert_int_equal(kryi_row_length(&m.P, i), 1);
        NEAR(((double *)m.P.val)[i], 1, 1e-12, "row %lld", (long long)i);
    }
    unmake(&m);
}

/* Grids are coarsened by a factor between 2 and 4, and P'AP has no more than three times the entries of a row. */
static void all_steps__of_a_grid(void **state)
{
    (void)state;
    NEEDS_DOUBLE;
    made m = make(symmetric(32 * 32, five_points, 0), 0.25);
    kryi_csr C = galerkin(&m.A, &m.P);
    assert_in_range(m.count, 1024 / 4, 1024 / 2);
    assert_in_range(kryi_csr_nnz(&C), 5 * m.count, 12 * m.count);
    for (int64_t i = 0; i < C.rows; i++) { /* constants stay in the null space */
        double sum = 0;
        for (int64_t e = C.row_ptr[i]; e < C.row_ptr[i + 1]; e++) sum += ((double *)C.val)[e];
        NEAR(sum, 0, 1e-13, "row %lld", (long long)i);
    }
    kryi_csr_release(&C);
    unmake(&m);
}

#define TWO(test) \
    cmocka_unit_test_setup(test, on_cpu_kernels), cmocka_unit_test_setup(test, on_gpu_kernels)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TWO(strength__small_positive_and_dominant),
        TWO(all_steps__random_sizes),
        TWO(interpolate__constants),
        TWO(interpolate__a_chain_by_hand),
        TWO(interpolate__a_plane_by_hand),
        TWO(interpolate__again_with_new_numbers),
        TWO(galerkin__stays_definite),
        TWO(all_steps__same_bits_again),
        TWO(interpolate__two_dense_rows),
        TWO(all_steps__of_a_grid),
    };
    return cmocka_run_group_tests(tests, keep_profile, restore_profile);
}
