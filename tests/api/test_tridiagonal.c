/*
 * test_tridiagonal.c - batches of tridiagonal and pentadiagonal systems, in every layout, of every
 * size around a boundary, dominant and not, periodic, in place, singular: against a plain
 * elimination with partial pivoting in long double, and against LAPACK where there is one.
 */
#include "testing.h"
#include <kry/tridiagonal.h>

/* ---- batches on the host ---------------------------------------------------------------- */

enum { MAX_BAND = 2, MAX_DIAGONALS = 5 };

typedef enum kind { DOMINANT, WEAK, RANDOM, SPD, GRADED, KINDS } kind;
static const char *const kind_names[] = { "dominant", "weak", "random", "spd", "graded" };

typedef struct systems {
    kry_type type;
    int band;
    int64_t n, count;
    bool one, periodic;           /* one matrix for all */
    double *d[MAX_DIAGONALS], *b; /* system s, equation i: s * n + i */
} systems;

static double *entry(const systems *S, int which, int64_t s, int64_t i)
{
    return &S->d[which][(S->one ? 0 : s) * S->n + i];
}

static void fill_row(const systems *S, kind kind, int64_t s, int64_t i)
{
    double sum = 0, scale = 1;
    const double range = S->type == KRY_F32 ? 12 : 100;

    if (kind == GRADED) scale = pow(10, range * ((double)i / (double)S->n - 0.5));
    for (int w = 0; w < 2 * S->band + 1; w++) {
        int64_t j = i + w - S->band;
        double v = kind == WEAK ? -1 : random_number(S->type);
        if (w == S->band) continue;
        *entry(S, w, s, i) = to_type(S->type, scale * v);
        if (S->periodic || (j >= 0 && j < S->n)) sum += fabs(scale * v);
    }
    double own = random_number(S->type), sign = own < 0 ? -1 : 1;
    if (kind == WEAK) own = 2 * S->band;
    if (kind == DOMINANT || kind == GRADED) own = sign * (sum * 1.01 + scale * (0.05 + fabs(own)));
    *entry(S, S->band, s, i) = to_type(S->type, own);
    S->b[s * S->n + i] = to_type(S->type, scale * random_number(S->type));
}

/* L L' of a bidiagonal L: rows are not dominated, as a rule. */
static void fill_spd(const systems *S, int64_t s)
{
    double before = 0;
    for (int64_t i = 0; i < S->n; i++) {
        double pivot = 1 + 0.5 * random_number(S->type), next = 1.2 * pivot;
        if (i > 0) *entry(S, 0, s, i) = *entry(S, 2, s, i - 1);
        *entry(S, 1, s, i) = to_type(S->type, pivot * pivot + before * before);
        *entry(S, 2, s, i) = to_type(S->type, pivot * next * 0.7);
        before = next * 0.7;
        S->b[s * S->n + i] = random_number(S->type);
    }
}

static void fill_system(const systems *S, kind kind, int64_t s)
{
    if (kind == SPD && S->band == 1 && !S->periodic) {
        fill_spd(S, s);
        return;
    }
    for (int64_t i = 0; i < S->n; i++) fill_row(S, kind, s, i);
}

static systems systems_create(kry_type type, int band, int64_t n, int64_t count, bool one,
                              bool periodic, kind kind)
{
    systems S = {
        .type = type, .band = band, .n = n, .count = count, .one = one, .periodic = periodic
    };
    for (int w = 0; w < 2 * band + 1; w++) {
        S.d[w] = calloc((size_t)(n * (one ? 1 : count)) + 1, sizeof(double));
        assert_non_null(S.d[w]);
    }
    S.b = calloc((size_t)(n * count) + 1, sizeof(double));
    assert_non_null(S.b);
    for (int64_t s = 0; s < count; s++) fill_system(&S, kind, s);
    /* Numbers beyond the ends must not matter. */
    for (int64_t s = 0; s < count && !periodic; s++)
        for (int w = 0; w < 2 * band + 1; w++)
            for (int64_t i = 0; i < n; i++)
                if (i + w - band < 0 || i + w - band >= n) *entry(&S, w, s, i) = (double)NAN;
    return S;
}

static void systems_release(systems *S)
{
    for (int w = 0; w < MAX_DIAGONALS; w++) free(S->d[w]);
    free(S->b);
    memset(S, 0, sizeof *S);
}

static int64_t wrapped(const systems *S, int64_t j) { return ((j % S->n) + S->n) % S->n; }
static bool inside(const systems *S, int64_t j) { return S->periodic || (j >= 0 && j < S->n); }

/* ---- reference: dense, or without corners a band, in long double -------------------- */

static long double *dense_of(const systems *S, int64_t s)
{
    int64_t n = S->n;
    long double *A = calloc((size_t)(n * n) + 1, sizeof *A);
    assert_non_null(A);
    for (int64_t i = 0; i < n; i++)
        for (int w = 0; w < 2 * S->band + 1; w++)
            if (inside(S, i + w - S->band))
                A[i * n + wrapped(S, i + w - S->band)] += *entry(S, w, s, i);
    return A;
}

/* x of system s; only columns up to `reach` beyond the diagonal are looked at. */
static long double *reference(const systems *S, int64_t s)
{
    int64_t n = S->n, reach = S->periodic ? n : 2 * S->band;
    long double *A = dense_of(S, s), *x = calloc((size_t)n + 1, sizeof *x);
    assert_non_null(x);
    for (int64_t i = 0; i < n; i++) x[i] = S->b[s * n + i];
    for (int64_t j = 0; j < n; j++) {
        int64_t p = j, rows = j + reach + 1 < n ? j + reach + 1 : n;
        for (int64_t i = j + 1; i < rows; i++)
            if (fabsl(A[i * n + j]) > fabsl(A[p * n + j])) p = i;
        for (int64_t k = j; k < rows; k++) {
            long double t = A[j * n + k];
            A[j * n + k] = A[p * n + k], A[p * n + k] = t;
        }
        long double t = x[j];
        x[j] = x[p], x[p] = t;
        for (int64_t i = j + 1; i < rows; i++) {
            long double m = A[i * n + j] / A[j * n + j];
            if (m == 0) continue;
            for (int64_t k = j; k < rows; k++) A[i * n + k] -= m * A[j * n + k];
            x[i] -= m * x[j];
        }
    }
    for (int64_t i = n - 1; i >= 0; i--) {
        for (int64_t k = i + 1; k < n && k <= i + reach; k++) x[i] -= A[i * n + k] * x[k];
        x[i] /= A[i * n + i];
    }
    free(A);
    return x;
}

/* ---- on the device -------------------- */

typedef struct where {
    kry_systems_layout layout;
    int64_t gap; /* numbers between two columns of the vectors */
} where;

static int64_t rows_of(const where *W, const systems *S)
{
    return W->layout == KRY_SYSTEMS_INTERLEAVED ? S->count : S->n;
}

static int64_t place(const where *W, const systems *S, int64_t s, int64_t i)
{
    const int64_t ld = rows_of(W, S) + W->gap;
    return W->layout == KRY_SYSTEMS_INTERLEAVED ? i * ld + s : s * ld + i;
}

static int64_t numbers_in(const where *W, const systems *S)
{
    return S->n > 0 && S->count > 0 ? place(W, S, S->count - 1, S->n - 1) + 1 : 0;
}

/* Numbers of systems as a layout has them; what belongs to none is NaN. */
static double *laid_out(const where *W, const systems *S, const double *v)
{
    int64_t all = numbers_in(W, S);
    double *out = calloc((size_t)all + 1, sizeof *out);
    assert_non_null(out);
    for (int64_t i = 0; i < all; i++) out[i] = (double)NAN;
    for (int64_t s = 0; s < S->count; s++)
        for (int64_t i = 0; i < S->n; i++) out[place(W, S, s, i)] = v[s * S->n + i];
    return out;
}

static guarded vector_of(const where *W, const systems *S, const double *v, int64_t offset)
{
    double *all = laid_out(W, S, v);
    const int64_t rows = rows_of(W, S), columns = S->n + S->count - rows;
    guarded g = guarded_create(S->type, numbers_in(W, S), 1, offset, all);
    kry_vec_release(&g.v);
    OK(kry_vec_wrap_block(device(), S->type, rows, columns, rows + W->gap, g.buffer, g.first,
                          &g.v));
    free(all);
    return g;
}

static guarded diagonal_of(const where *W, const systems *S, const double *v, int64_t offset)
{
    if (!S->one) return vector_of(W, S, v, offset);
    bool across = W->layout == KRY_SYSTEMS_INTERLEAVED && offset % 2;
    return guarded_create(S->type, across ? 1 : S->n, across ? S->n : 1, offset, v);
}

typedef struct answer {
    kry_status status;
    kry_systems_report report;
    double *x; /* as in systems; what was not written: NaN, or b if in place */
} answer;

static answer solve(const systems *S, const where *W, kry_tridiagonal_params p, bool in_place)
{
    guarded d[MAX_DIAGONALS], b = vector_of(W, S, S->b, 1), x = b;
    answer a = { 0 };
    int count = 2 * S->band + 1;

    for (int w = 0; w < count; w++) d[w] = diagonal_of(W, S, S->d[w], w);
    if (!in_place) {
        double *poison_all = calloc((size_t)(S->n * S->count) + 1, sizeof(double));
        for (int64_t i = 0; i < S->n * S->count; i++) poison_all[i] = (double)NAN;
        x = vector_of(W, S, poison_all, 3);
        free(poison_all);
    }
    p.struct_size = sizeof p, p.layout = W->layout, p.periodic = S->periodic;
    if (!p.unchecked && !p.later) p.report = &a.report;
    a.status = S->band == 1
                   ? kry_tridiagonal_solve(&p, d[0].v, d[1].v, d[2].v, b.v, x.v)
                   : kry_pentadiagonal_solve(&p, d[0].v, d[1].v, d[2].v, d[3].v, d[4].v, b.v, x.v);
    if (p.later) {
        OK(a.status);
        a.status = kry_systems_check(kry_vec_device(x.v), &a.report);
    }
    double *all = guarded_read(&x);
    a.x = calloc((size_t)(S->n * S->count) + 1, sizeof *a.x);
    assert_non_null(a.x);
    for (int64_t s = 0; s < S->count; s++)
        for (int64_t i = 0; i < S->n; i++) a.x[s * S->n + i] = all[place(W, S, s, i)];
    for (int64_t s = 0; s < S->count; s++) /* what lies between columns is as it was */
        for (int64_t i = 0; i < S->n; i++) all[place(W, S, s, i)] = (double)NAN;
    for (int64_t i = 0; i < numbers_in(W, S); i++)
        if (!isnan(all[i])) fail_msg("number %lld is nobody's", (long long)i);
    free(all);
    for (int w = 0; w < count; w++) guarded_release(&d[w]);
    guarded_release(&b);
    if (!in_place) guarded_release(&x);
    return a;
}

/* ---- checks -------------------- */

/* |b - A x| of a system, relative to |A| |x| + |b|: in its rows, or its norms */
static long double backward_error(const systems *S, int64_t s, const double *x, bool by_row)
{
    long double worst = 0, most = 0, error = 0;
    for (int64_t i = 0; i < S->n; i++) {
        long double r = S->b[s * S->n + i], size = fabsl(r);
        for (int w = 0; w < 2 * S->band + 1; w++) {
            int64_t j = i + w - S->band;
            if (!inside(S, j)) continue;
            long double v = (long double)*entry(S, w, s, i) * x[s * S->n + wrapped(S, j)];
            r -= v, size += fabsl(v);
        }
        if (isnan(r) || isinf(size)) return INFINITY;
        if (fabsl(r) > error) error = fabsl(r);
        if (size > most) most = size;
        if (r != 0 && fabsl(r) / size > worst) worst = fabsl(r) / size;
    }
    return by_row ? worst : error > 0 ? error / most : 0;
}

static void check_systems(const systems *S, const answer *a, kind kind, const char *what)
{
    bool by_row = (kind == DOMINANT || kind == GRADED) && a->report.pivoted == 0;
    for (int64_t s = 0; s < S->count; s++) {
        long double error = backward_error(S, s, a->x, by_row), bound = 64 * eps_of(S->type);
        if (!(error <= bound))
            fail_msg("%s %s, n %lld, system %lld of %lld%s%s: backward error %.3Lg, at most %.3Lg",
                     what, kind_names[kind], (long long)S->n, (long long)s, (long long)S->count,
                     S->one ? ", one matrix" : "", S->periodic ? ", periodic" : "", error, bound);
    }
    for (int64_t s = 0; s < S->count && s < 2 && S->n <= 300 && kind == DOMINANT; s++) {
        long double *want = reference(S, s), most = 0;
        for (int64_t i = 0; i < S->n; i++) most = fmaxl(most, fabsl(want[i]));
        for (int64_t i = 0; i < S->n; i++)
            NEAR(a->x[s * S->n + i], want[i], 200 * eps_of(S->type) * most,
                 "%s: unknown %lld of %lld", what, (long long)i, (long long)S->n);
        free(want);
    }
}

static const where layouts[] = { { .layout = KRY_SYSTEMS_COLUMNS },
                                 { .layout = KRY_SYSTEMS_INTERLEAVED } };
static const char *const layout_names[] = { "columns", "interleaved" };

static void run(kry_type type, int band, int64_t n, int64_t count, bool one, bool periodic,
                kind kind, const where *W, kry_tridiagonal_params p, bool in_place)
{
    systems S = systems_create(type, band, n, count, one, periodic, kind);
    answer a = solve(&S, W, p, in_place);
    char what[80];
    snprintf(what, sizeof what, "%s%s", layout_names[W->layout], in_place ? " in place" : "");
    if (a.status != KRY_OK)
        fail_msg("%s %s, n %lld, %lld systems: %s: %s", what, kind_names[kind], (long long)n,
                 (long long)count, kry_status_text(a.status), kry_last_error());
    check_systems(&S, &a, kind, what);
    bool fast = kind == DOMINANT || kind == WEAK || kind == GRADED;
    if (band == 1 && fast && !p.unchecked && p.pivoting == KRY_SYSTEMS_PIVOT_AUTO && n > 2)
        assert_int_equal(a.report.pivoted, 0);
    free(a.x);
    systems_release(&S);
}

/* ---- tests -------------------- */

static const int64_t lengths[] = { 1,    2,    3,    4,    5,    7,    8,    9,    15,   16,  17,
                                   18,   31,   32,   33,   63,   64,   65,   127,  128,  129, 130,
                                   145,  255,  256,  257,  258,  259,  300,  511,  512,  513, 1000,
                                   1023, 1024, 1025, 2047, 2048, 2049, 2050, 4097, 10007 };
static const int64_t counts[] = { 1, 2, 3, 7, 8, 9, 31, 32, 33 };

static void solve__every_length_and_layout(void **state)
{
    kry_type type = type_of(state);
    for (size_t i = 0; i < COUNT(lengths); i++)
        for (int l = 0; l < 2; l++) {
            if (too_large(lengths[i])) continue;
            run(type, 1, lengths[i], counts[i % COUNT(counts)], i % 3 == 1, false, DOMINANT,
                &layouts[l], (kry_tridiagonal_params){ 0 }, i % 4 == 2);
            run(type, 1, lengths[i], counts[(i + 4) % COUNT(counts)], i % 3 == 2, true, DOMINANT,
                &layouts[l], (kry_tridiagonal_params){ 0 }, i % 4 == 3);
        }
}

static void solve__every_count(void **state)
{
    kry_type type = type_of(state);
    for (size_t i = 0; i < COUNT(counts); i++)
        for (int l = 0; l < 2; l++)
            for (int chunk = 0; chunk <= 16; chunk += 8) {
                kry_tridiagonal_params p = { .chunk = chunk };
                run(type, 1, 19, counts[i], false, false, WEAK, &layouts[l], p, false);
                run(type, 1, 700, counts[i], false, i % 2, DOMINANT, &layouts[l], p, chunk == 8);
            }
    run(type, 1, 3, 5000, false, false, DOMINANT, &layouts[0], (kry_tridiagonal_params){ 0 },
        false);
    run(type, 1, 3, 5000, false, false, DOMINANT, &layouts[1], (kry_tridiagonal_params){ 0 },
        false);
}

static void solve__every_kind(void **state)
{
    kry_type type = type_of(state);
    static const int64_t n[] = { 1, 2, 3, 5, 40, 257, 1030 };
    for (size_t i = 0; i < COUNT(n); i++)
        for (int k = 0; k < KINDS; k++)
            for (int l = 0; l < 2; l++) {
                kry_tridiagonal_params p = { 0 };
                if (too_large(n[i])) continue;
                run(type, 1, n[i], 9, false, false, (kind)k, &layouts[l], p, l == 0);
                if (k != WEAK) run(type, 1, n[i], 9, false, true, (kind)k, &layouts[l], p, l == 1);
                p.pivoting = KRY_SYSTEMS_PIVOT_ALWAYS;
                run(type, 1, n[i], 9, l == 1, false, (kind)k, &layouts[l], p, l == 0);
                if (k == RANDOM || k == SPD) continue;
                p.pivoting = KRY_SYSTEMS_PIVOT_NEVER;
                run(type, 1, n[i], 9, false, false, (kind)k, &layouts[l], p, false);
                p.unchecked = true;
                run(type, 1, n[i], 9, false, false, (kind)k, &layouts[l], p, false);
            }
}

static void solve__spd_needs_no_pivoting(void **state)
{
    kry_type type = type_of(state);
    for (int l = 0; l < 2; l++) {
        systems S = systems_create(type, 1, 333, 5, false, false, SPD);
        answer a = solve(&S, &layouts[l],
                         (kry_tridiagonal_params){ .pivoting = KRY_SYSTEMS_PIVOT_NEVER }, false);
        assert_int_equal(a.status, KRY_OK);
        assert_int_equal(a.report.pivoted, 0);
        check_systems(&S, &a, SPD, "never pivoted");
        free(a.x);
        systems_release(&S);
    }
}

static void solve__columns_with_gaps(void **state)
{
    kry_type type = type_of(state);
    static const struct {
        int64_t n, count, gap;
    } cases[] = { { 40, 5, 3 }, { 40, 5, 2 }, { 40, 90, 8 }, { 33, 3, 4 },
                  { 1, 9, 2 },  { 50, 1, 3 }, { 300, 2, 5 } };
    for (size_t i = 0; i < COUNT(cases); i++)
        for (int k = 0; k < 8; k++) {
            where W = { k < 4 ? KRY_SYSTEMS_COLUMNS : KRY_SYSTEMS_INTERLEAVED, cases[i].gap };
            run(type, 1, cases[i].n, cases[i].count, k % 4 == 1, k % 4 == 2,
                k % 4 == 3 ? RANDOM : DOMINANT, &W, (kry_tridiagonal_params){ 0 }, k % 2);
            run(type, 2, cases[i].n, cases[i].count, k % 4 == 1, k % 4 == 2, DOMINANT, &W,
                (kry_tridiagonal_params){ 0 }, k % 2);
        }
}

static void solve__pentadiagonal(void **state)
{
    kry_type type = type_of(state);
    static const int64_t n[] = { 1, 2, 3, 4, 5, 6, 7, 8, 33, 64, 300 };
    for (size_t i = 0; i < COUNT(n); i++)
        for (int l = 0; l < 2; l++)
            for (int periodic = 0; periodic < 2; periodic++) {
                kry_tridiagonal_params p = { 0 };
                run(type, 2, n[i], counts[i % COUNT(counts)], i % 3 == 2, periodic, DOMINANT,
                    &layouts[l], p, i % 2);
                run(type, 2, n[i], 3, false, periodic, RANDOM, &layouts[l], p, l);
            }
}

/* Systems that need pivoting among those that do not; the others do not change for it. */
static void solve__some_systems_again(void **state)
{
    kry_type type = type_of(state);
    for (int l = 0; l < 4; l++)
        for (int periodic = 0; periodic < 2; periodic++) {
            systems S = systems_create(type, 1, 150, 40, false, periodic, DOMINANT);
            kry_tridiagonal_params p = { .later = l > 1 };
            int64_t again[] = { 0, 7, 8, 21, 39 };
            for (size_t i = 0; i < COUNT(again); i++) {
                *entry(&S, 1, again[i], 70 + 19 * (int64_t)i) = 0;
                *entry(&S, 1, again[i], 0) = i % 2 ? 0 : *entry(&S, 1, again[i], 0);
            }
            answer a = solve(&S, &layouts[l % 2], p, periodic);
            assert_int_equal(a.status, KRY_OK);
            assert_int_equal(a.report.pivoted, COUNT(again));
            assert_int_equal(a.report.singular, 0);
            assert_int_equal(a.report.system, -1);
            check_systems(&S, &a, RANDOM, "mixed");
            free(a.x);
            systems_release(&S);
        }
}

/* System 5 has a column of zeros, 11 a number that is not finite, 17 equal rows. */
static void solve__names_what_is_singular(void **state)
{
    kry_type type = type_of(state);
    for (int i = 0; i < 24; i++) {
        systems S = systems_create(type, 1, i / 4 % 3 == 1 ? 600 : 60, 20, false, false, DOMINANT);
        kry_tridiagonal_params p = { .pivoting = (kry_systems_pivoting)(i % 3), .later = i >= 12 };
        bool in_place = i % 2, nan_too = i / 4 % 3 == 2;
        *entry(&S, 1, 5, 30) = 0, *entry(&S, 2, 5, 29) = 0, *entry(&S, 0, 5, 31) = 0;
        if (nan_too) *entry(&S, 2, 11, 12) = i % 2 ? (double)NAN : (double)INFINITY;
        answer a = solve(&S, &layouts[i / 2 % 2], p, in_place);
        assert_int_equal(a.status, KRY_ERR_SINGULAR);
        if (!strstr(kry_last_error(), "system 5 is singular: no pivot at equation 30"))
            fail_msg("%s", kry_last_error());
        assert_int_equal(a.report.singular, nan_too ? 2 : 1);
        assert_int_equal(a.report.system, 5);
        assert_int_equal(a.report.equation, 30);
        for (int64_t k = 0; k < S.n * S.count; k++) {
            bool kept = k / S.n == 5 || (nan_too && k / S.n == 11);
            double was = in_place ? S.b[k] : (double)NAN;
            if (kept) assert_same_bits(&a.x[k], &was, 1);
            if (!kept && isnan(a.x[k]))
                fail_msg("system %lld was not solved", (long long)(k / S.n));
        }
        free(a.x);
        systems_release(&S);
    }
}

static void solve__names_what_is_not_finite(void **state)
{
    kry_type type = type_of(state);
    static const char *const names[2][6] = { { "lower", "diagonal", "upper", "b" },
                                             { "far_lower", "lower", "diagonal", "upper",
                                               "far_upper", "b" } };
    for (int band = 1; band <= 2; band++)
        for (int w = 0; w <= 2 * band + 1; w++)
            for (int m = 0; m < 4; m++) {
                kry_tridiagonal_params p = { .pivoting = (kry_systems_pivoting)(m % 3) };
                systems S = systems_create(type, band, 41, 3, false, m == 3, DOMINANT);
                double bad = m % 2 ? (double)NAN : -(double)INFINITY;
                char text[60];
                if (w <= 2 * band)
                    *entry(&S, w, 2, 17) = bad;
                else
                    S.b[2 * 41 + 17] = bad;
                answer a = solve(&S, &layouts[m % 2], p, false);
                assert_int_equal(a.status, KRY_ERR_ARGUMENT);
                snprintf(text, sizeof text, "%s is not a finite number at equation 17 of system 2",
                         names[band - 1][w]);
                if (!strstr(kry_last_error(), text)) fail_msg("%s: %s", text, kry_last_error());
                assert_int_equal(a.report.system, 2);
                assert_int_equal(a.report.equation, 17);
                free(a.x);
                systems_release(&S);
            }
}

/* Dominated weakly, and singular all the same: [1 1; 1 1], and a cycle whose rows sum to zero. */
static void solve__weakly_dominant_and_singular(void **state)
{
    kry_type type = type_of(state);
    systems S = systems_create(type, 1, 2, 3, false, false, DOMINANT);
    for (int64_t i = 0; i < 2; i++)
        *entry(&S, 0, 1, i) = *entry(&S, 1, 1, i) = *entry(&S, 2, 1, i) = 1;
    answer a = solve(&S, &layouts[0], (kry_tridiagonal_params){ 0 }, false);
    assert_int_equal(a.status, KRY_ERR_SINGULAR);
    assert_int_equal(a.report.system, 1);
    free(a.x);
    systems_release(&S);
    static const int64_t n[] = { 1, 2 };
    for (size_t i = 0; i < COUNT(n); i++) {
        S = systems_create(type, 1, n[i], 3, false, true, WEAK);
        a = solve(&S, &layouts[1], (kry_tridiagonal_params){ 0 }, false);
        assert_int_equal(a.status, KRY_ERR_SINGULAR);
        assert_int_equal(a.report.singular, 3);
        free(a.x);
        systems_release(&S);
    }
}

/* A call of a sequence: so many systems, of which every third needs pivoting and, if it is singular, number 4 has
 * an empty column. */
typedef struct step {
    int64_t count;
    kry_systems_pivoting pivoting;
    bool later, singular;
} step;

/* How many systems the call pivots, whose x is checked. */
static int64_t take_step(kry_type type, const step *c)
{
    systems S = systems_create(type, 1, 90, c->count, false, false, DOMINANT);
    kry_tridiagonal_params p = { .later = c->later, .pivoting = c->pivoting };
    kry_systems_report report = { 0 };
    guarded d[4];
    int64_t pivots = 0;

    for (int64_t s = 0; s < c->count; s += 3) *entry(&S, 1, s, 40) = 0, pivots++;
    if (c->singular) *entry(&S, 1, 4, 30) = *entry(&S, 2, 4, 29) = *entry(&S, 0, 4, 31) = 0;
    for (int w = 0; w < 3; w++) d[w] = diagonal_of(&layouts[0], &S, S.d[w], w);
    d[3] = vector_of(&layouts[0], &S, S.b, 1);
    p.struct_size = sizeof p;
    if (!c->later) p.report = &report;
    OK(kry_tridiagonal_solve(&p, d[0].v, d[1].v, d[2].v, d[3].v, d[3].v));
    if (!c->later) assert_int_equal(report.pivoted, pivots);
    answer a = { .status = KRY_OK, .x = guarded_read(&d[3]) };
    if (!c->singular) check_systems(&S, &a, RANDOM, "a step");
    for (int w = 0; w < 4; w++) guarded_release(&d[w]);
    free(a.x);
    systems_release(&S);
    return c->pivoting == KRY_SYSTEMS_PIVOT_ALWAYS ? c->count : pivots;
}

/* Counters that take turns, calls that wait between those that do not, room that has to grow while reports wait:
 * sums of all of them, once. */
static void check__sums_over_calls(void **state)
{
    static const step steps[] = {
        { .count = 10, .later = true },
        { .count = 2, .later = true },
        { .count = 7 },
        { .count = 7, .later = true, .singular = true },
        { .count = 5, .later = true, .pivoting = KRY_SYSTEMS_PIVOT_ALWAYS },
        { .count = 9, .later = true },
        { .count = 700, .later = true },
        { .count = 30, .later = true }
    };
    kry_type type = type_of(state);
    kry_systems_report report;
    int64_t pivoted = 0;

    for (int round = 0; round < 2; round++) {
        OK(kry_systems_check(device(), &report));
        assert_int_equal(report.pivoted, 0);
        assert_int_equal(report.system, -1);
        pivoted = 0;
        for (size_t i = 0; i < COUNT(steps); i++) {
            const int64_t pivots = take_step(type, &steps[i]);
            if (steps[i].later) pivoted += pivots;
        }
        REFUSES(kry_systems_check(device(), &report), KRY_ERR_SINGULAR,
                "kry_systems_check: system 4 is singular: no pivot at equation 30; 0 other");
        assert_int_equal(report.pivoted, pivoted);
        assert_int_equal(report.singular, 1);
        assert_int_equal(report.system, 4);
        assert_int_equal(report.equation, 30);
    }
    OK(kry_systems_check(device(), NULL));
}

static void solve__one_huge_system(void **state)
{
    kry_type type = type_of(state);
    int64_t n = small_run() ? 1500 : 1000003;
    run(type, 1, n, 1, false, false, DOMINANT, &layouts[0], (kry_tridiagonal_params){ 0 }, false);
    run(type, 1, n, 1, false, true, DOMINANT, &layouts[0], (kry_tridiagonal_params){ 0 }, true);
    if (!small_run())
        run(type, 1, 100003, 3, false, false, DOMINANT, &layouts[1], (kry_tridiagonal_params){ 0 },
            true);
}

static void solve__nothing(void **state)
{
    kry_type type = type_of(state);
    kry_vec *v[4];
    for (int i = 0; i < 4; i++) OK(kry_vec_create(device(), type, 0, 3, &v[i]));
    kry_systems_report report = { 1, 1, 1, 1 };
    OK(kry_tridiagonal_solve(KRY_TRIDIAGONAL(.report = &report), v[0], v[1], v[2], v[3], v[0]));
    assert_int_equal(report.system, -1);
    OK(kry_tridiagonal_solve(KRY_TRIDIAGONAL(.layout = KRY_SYSTEMS_INTERLEAVED), v[0], v[1], v[2],
                             v[3], v[3]));
    for (int i = 0; i < 4; i++) kry_vec_release(&v[i]);
}

/* ---- LAPACK -------------------- */

#ifdef KRY_HAVE_LAPACK
extern void sgtsv_(const int *n, const int *nrhs, float *dl, float *d, float *du, float *b,
                   const int *ldb, int *info);
extern void dgtsv_(const int *n, const int *nrhs, double *dl, double *d, double *du, double *b,
                   const int *ldb, int *info);

static double *lapack_solve(const systems *S, int64_t s)
{
    int n = (int)S->n, one = 1, info = 0;
    double *x = calloc((size_t)n + 1, sizeof *x);
    void *v[4];
    for (int w = 0; w < 3; w++) v[w] = in_type(S->type, entry(S, w, s, 0) + (w == 0), n - (w != 1));
    v[3] = in_type(S->type, S->b + s * n, n);
    if (S->type == KRY_F32)
        sgtsv_(&n, &one, v[0], v[1], v[2], v[3], &n, &info);
    else
        dgtsv_(&n, &one, v[0], v[1], v[2], v[3], &n, &info);
    assert_int_equal(info, 0);
    for (int i = 0; i < n; i++) x[i] = at(S->type, v[3], i);
    for (int w = 0; w < 4; w++) free(v[w]);
    return x;
}
#endif

/* No farther from the truth than ten times LAPACK, whatever the kind. */
static void solve__as_well_as_lapack(void **state)
{
#ifdef KRY_HAVE_LAPACK
    kry_type type = type_of(state);
    for (int k = 0; k < KINDS; k++) {
        systems S = systems_create(type, 1, small_run() ? 40 : 259, 6, false, false, (kind)k);
        answer a = solve(&S, &layouts[k % 2], (kry_tridiagonal_params){ 0 }, false);
        assert_int_equal(a.status, KRY_OK);
        for (int64_t s = 0; s < S.count; s++) {
            long double *want = reference(&S, s), most = 0, ours = 0, theirs = 0;
            double *x = lapack_solve(&S, s);
            for (int64_t i = 0; i < S.n; i++) {
                most = fmaxl(most, fabsl(want[i]));
                ours = fmaxl(ours, fabsl(a.x[s * S.n + i] - want[i]));
                theirs = fmaxl(theirs, fabsl(x[i] - want[i]));
            }
            if (!(ours <= 20 * theirs + 64 * eps_of(type) * most)) /* GPUs divide less well */
                fail_msg("%s: error %.3Lg, LAPACK's %.3Lg, of %.3Lg", kind_names[k], ours, theirs,
                         most);
            free(want);
            free(x);
        }
        free(a.x);
        systems_release(&S);
    }
#else
    (void)state;
    SKIP("built without LAPACK");
#endif
}

/* ---- bad input -------------------- */

#define SOLVE(...) kry_tridiagonal_solve(KRY_TRIDIAGONAL(__VA_ARGS__), v[0], v[1], v[2], v[3], v[4])

static void solve__refuses(void **state)
{
    kry_type type = type_of(state);
    kry_vec *v[5], *other, *part;
    kry_tridiagonal_params wrong = { 0 };

    for (int i = 0; i < 5; i++) OK(kry_vec_create(device(), type, 6, 2, &v[i]));
    OK(kry_vec_create(device(), type, 5, 2, &other));
    REFUSES(kry_tridiagonal_solve(&wrong, v[0], v[1], v[2], v[3], v[4]), KRY_ERR_ARGUMENT,
            "not made by KRY_TRIDIAGONAL");
    REFUSES(SOLVE(.layout = (kry_systems_layout)9), KRY_ERR_ARGUMENT, "9 is not a layout");
    REFUSES(SOLVE(.pivoting = (kry_systems_pivoting)7), KRY_ERR_ARGUMENT, "7 is not a way");
    REFUSES(SOLVE(.chunk = 5), KRY_ERR_ARGUMENT, "chunk is 5");
    REFUSES(kry_tridiagonal_solve(NULL, v[0], NULL, v[2], v[3], v[4]), KRY_ERR_ARGUMENT,
            "diagonal is NULL");
    REFUSES(kry_tridiagonal_solve(NULL, v[0], v[1], v[2], v[3], NULL), KRY_ERR_ARGUMENT, "NULL");
    REFUSES(kry_tridiagonal_solve(NULL, other, v[1], v[2], v[3], v[4]), KRY_ERR_SHAPE,
            "lower is 5-by-2; b is 6-by-2, 2 systems of 6 equations");
    REFUSES(kry_tridiagonal_solve(NULL, v[0], v[1], v[2], other, v[4]), KRY_ERR_SHAPE,
            "b is 5-by-2, x is 6-by-2");
    REFUSES(kry_tridiagonal_solve(NULL, v[0], v[1], v[2], v[3], v[1]), KRY_ERR_ARGUMENT,
            "x overlaps diagonal");
    OK(kry_vec_view(v[3], 1, &part));
    REFUSES(kry_tridiagonal_solve(NULL, part, part, part, v[3], part), KRY_ERR_ARGUMENT,
            "x overlaps lower");
    kry_vec_release(&part);
    OK(kry_vec_block(v[3], 0, 5, 0, 2, &part));
    REFUSES(kry_tridiagonal_solve(NULL, part, part, part, part, other), KRY_ERR_UNSUPPORTED,
            "x start 5 numbers apart, those of b 6");
    REFUSES(kry_tridiagonal_solve(NULL, other, other, other, part, part), KRY_ERR_UNSUPPORTED,
            "lower start 5 numbers apart, those of b 6");
    kry_vec_release(&part);
    REFUSES(kry_pentadiagonal_solve(KRY_TRIDIAGONAL(.unchecked = true), v[0], v[0], v[1], v[2],
                                    v[2], v[3], v[4]),
            KRY_ERR_ARGUMENT, "always checked");
    REFUSES(kry_pentadiagonal_solve(KRY_TRIDIAGONAL(.later = true), v[0], v[0], v[1], v[2], v[2],
                                    v[3], v[4]),
            KRY_ERR_ARGUMENT, "of pentadiagonal systems nothing is left for later");
    REFUSES(SOLVE(.later = true, .unchecked = true), KRY_ERR_ARGUMENT,
            "leaves no report for later");
    REFUSES(SOLVE(.later = true, .report = &(kry_systems_report){ 0 }), KRY_ERR_ARGUMENT,
            "comes from kry_systems_check");
    REFUSES(kry_systems_check(NULL, NULL), KRY_ERR_ARGUMENT, "kry_systems_check: NULL");
    REFUSES(kry_pentadiagonal_solve(NULL, v[0], v[0], v[1], v[2], NULL, v[3], v[4]),
            KRY_ERR_ARGUMENT, "kry_pentadiagonal_solve: far_upper is NULL");
    if (kry_device_get_info(device())->fp64) {
        kry_vec_release(&other);
        OK(kry_vec_create(device(), type == KRY_F32 ? KRY_F64 : KRY_F32, 6, 2, &other));
        REFUSES(kry_tridiagonal_solve(NULL, v[0], v[1], other, v[3], v[4]), KRY_ERR_TYPE,
                "upper is");
    }
    kry_vec_release(&other);
    for (int i = 0; i < 5; i++) kry_vec_release(&v[i]);
}

static void solve__refuses_teams(void **state)
{
    (void)state;
    kry_device *team = open_pieces(2);
    kry_vec *v = NULL;

    if (!team) SKIP("no device that can be cut in two");
    OK(kry_vec_create(team, KRY_F32, 8, 2, &v));
    REFUSES(kry_tridiagonal_solve(NULL, v, v, v, v, v), KRY_ERR_UNSUPPORTED, "several devices");
    kry_vec_release(&v);
    kry_device_release(&team);
}

/* ---- other devices -------------------- */

static void other_profiles(void **state)
{
    static const char *const words[] = { "gpu-kernels", "gpu-kernels local=16384",
                                         "gpu-kernels group=32", "cpu-kernels no-fp64" };
    if (small_run()) SKIP("a small run");
    for (size_t i = 0; i < COUNT(words); i++) {
        use_profile(words[i]);
        kry_type type = type_of(state);
        for (int l = 0; l < 2; l++) {
            kry_tridiagonal_params p = { 0 };
            run(type, 1, 1, 3, false, false, DOMINANT, &layouts[l], p, false);
            run(type, 1, 17, 70, false, false, DOMINANT, &layouts[l], p, false);
            run(type, 1, 2048, 5, false, false, DOMINANT, &layouts[l], p, true);
            run(type, 1, 2049, 2, true, false, WEAK, &layouts[l], p, false);
            run(type, 1, 513, 33, false, true, DOMINANT, &layouts[l], p, true);
            run(type, 1, 9000, 1, false, true, DOMINANT, &layouts[l], p, true);
            run(type, 1, 77, 40, false, true, RANDOM, &layouts[l], p, false);
            run(type, 2, 77, 40, false, true, RANDOM, &layouts[l], p, false);
            p.later = true;
            run(type, 1, 77, 40, false, true, RANDOM, &layouts[l], p, false);
        }
    }
    use_profile(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(solve__every_length_and_layout),
        BOTH(solve__every_count),
        BOTH(solve__every_kind),
        BOTH(solve__spd_needs_no_pivoting),
        BOTH(solve__columns_with_gaps),
        BOTH(solve__pentadiagonal),
        BOTH(solve__some_systems_again),
        BOTH(solve__names_what_is_singular),
        BOTH(solve__names_what_is_not_finite),
        BOTH(solve__weakly_dominant_and_singular),
        BOTH(check__sums_over_calls),
        BOTH(solve__one_huge_system),
        BOTH(solve__nothing),
        BOTH(solve__as_well_as_lapack),
        BOTH(solve__refuses),
        cmocka_unit_test(solve__refuses_teams),
        BOTH(other_profiles),
    };
    return cmocka_run_group_tests(tests, keep_profile, restore_profile);
}
