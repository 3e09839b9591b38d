/*
 * test_lu.c - factors of dense matrices, what is solved with them, and what they tell, against
 * plain loops in long double and, where it is installed, LAPACK.
 */
#include "dense.h"
#include "dense/lu.h"
#include "device/barrier.h"

/* ---- matrices, column major ---- */

/* Rows and columns from 1 down to 1e-12 (single: 1e-4). */
static double graded(kry_type type, int64_t i, int64_t j)
{
    double rate = type == KRY_F32 ? -4 : -12;
    return to_type(type, random_number(type) * pow(10, rate * (double)((i + 2 * j) % 50) / 98));
}
/* Exchanges in every column, none of them trivial. */
static double rotated(kry_type type, int64_t i, int64_t j)
{
    return to_type(type, ((i * 7 + 3) % 101 == j % 101 ? 3 : 0) + 0.25 * random_number(type));
}
static double spd(kry_type type, int64_t i, int64_t j)
{
    return to_type(type, i == j ? 4 : 1.0 / (1.0 + (double)((i - j) * (i - j))));
}

/* Near the ends of single: 1 / pivot would not be a number that is as precise. */
static double tiny(kry_type type, int64_t i, int64_t j)
{
    (void)i, (void)j;
    return to_type(type, ldexp(random_number(type), type == KRY_F32 ? -126 : -200));
}
static double huge(kry_type type, int64_t i, int64_t j)
{
    (void)i, (void)j;
    return ldexp(random_number(type), type == KRY_F32 ? 127 : 200);
}

/* ---- factors ---- */

typedef struct factors {
    int64_t m, n, r;
    double *l, *u;
    int64_t *order;
} factors;

static factors factors_of(const kry_op *lu, kry_type type, int64_t m, int64_t n)
{
    factors f = { .m = m, .n = n, .r = m < n ? m : n };
    guarded L = guarded_create(type, m, f.r, 1, NULL), U = guarded_create(type, f.r, n, 2, NULL);
    f.order = calloc((size_t)m + 1, sizeof *f.order);
    OK(kry_lu_factors(lu, L.v, U.v, f.order));
    f.l = guarded_read(&L), f.u = guarded_read(&U);
    guarded_release(&L), guarded_release(&U);
    return f;
}

static void factors_release(factors *f) { free(f->l), free(f->u), free(f->order); }

/* max |P A - L U| / (n max |A|) in units of the rounding; the factors have the form they should. */
static long double backward_error(const factors *f, kry_type type, const double *a)
{
    long double worst = 0;
    bool *seen = calloc((size_t)f->m + 1, sizeof *seen);
    long double *row = calloc((size_t)f->n + 1, sizeof *row);

    for (int64_t i = 0; i < f->m; i++) {
        assert_in_range(f->order[i], 0, f->m - 1);
        assert_false(seen[f->order[i]]);
        seen[f->order[i]] = true;
        for (int64_t j = 0; j < f->n; j++) row[j] = a[j * f->m + f->order[i]];
        for (int64_t k = 0; k < f->r; k++) {
            long double l = f->l[k * f->m + i];
            if (k > i) assert_true(l == 0);
            if (k == i) assert_true(l == 1);
            if (l != 0)
                for (int64_t j = 0; j < f->n; j++) row[j] -= l * f->u[j * f->r + k];
        }
        for (int64_t j = 0; j < f->n; j++) {
            if (i < f->r && j < i) assert_true(f->u[j * f->r + i] == 0);
            worst = fmaxl(worst, fabsl(row[j]));
        }
    }
    free(seen), free(row);
    long double size = largest(a, f->m * f->n);
    return size > 0 ? worst / ((long double)f->n * size * eps_of(type)) : worst;
}

/* How factors are made; not `chosen`: as suits the device. */
static kryi_lu_how how;
static bool chosen = false;

static kry_status lu_create(const kry_vec *A, const kry_lu_params *params, kry_op **lu)
{
    return chosen ? kryi_lu_make(A, params, &how, lu) : kry_lu_create(A, params, lu);
}

static kry_op *lu_of(kry_type type, const double *a, int64_t m, int64_t n,
                     const kry_lu_params *params)
{
    guarded A = guarded_create(type, m, n, 3, a);
    kry_op *lu = NULL;
    OK(lu_create(A.v, params, &lu));
    double *after = guarded_read(&A);
    assert_same_bits(after, a, m * n);
    free(after);
    guarded_release(&A);
    assert_non_null(lu);
    return lu;
}

static void check_factors(entry_of *entry, kry_type type, int64_t m, int64_t n, int block)
{
    double *a = make(entry, type, m, n);
    kry_op *lu = lu_of(type, a, m, n, KRY_LU(.block = block));
    factors f = factors_of(lu, type, m, n);
    long double error = backward_error(&f, type, a);
    if (!(error <= 10))
        fail_msg("%lld-by-%lld: backward error of %Lg n eps", (long long)m, (long long)n, error);
    assert_true(largest(f.l, m * f.r) == (m ? 1 : 0)); /* multipliers of partial pivoting */
    factors_release(&f);
    kry_op_release(&lu);
    free(a);
}

static const int64_t sizes[][2] = { { 1, 1 },     { 2, 2 },    { 31, 31 },  { 32, 32 },
                                    { 33, 33 },   { 64, 64 },  { 65, 65 },  { 127, 127 },
                                    { 130, 130 }, { 1, 40 },   { 40, 1 },   { 70, 31 },
                                    { 31, 70 },   { 200, 65 }, { 65, 200 }, { 600, 40 } };

static void lu__factors_of_any_shape(void **state)
{
    kry_type type = type_of(state);
    for (size_t s = 0; s < COUNT(sizes); s++) {
        check_factors(uniform, type, sizes[s][0], sizes[s][1], 32);
        check_factors(rotated, type, sizes[s][0], sizes[s][1], 64);
    }
    check_factors(uniform, type, 300, 300, 0);
    check_factors(uniform, type, 300, 290, 256);
}

static void lu__graded_and_hilbert(void **state)
{
    static const int64_t n[] = { 5, 33, 100, 161 };
    kry_type type = type_of(state);
    for (size_t s = 0; s < COUNT(n); s++) {
        check_factors(graded, type, n[s], n[s], 0);
        check_factors(hilbert, type, n[s], n[s], 32);
    }
}

/* The same bits again. */
static void lu__repeats(void **state)
{
    enum { N = 150 };
    kry_type type = type_of(state);
    double *a = make(uniform, type, N, N);
    kry_op *lu = lu_of(type, a, N, N, NULL), *again = lu_of(type, a, N, N, NULL);
    factors f = factors_of(lu, type, N, N), g = factors_of(again, type, N, N);
    assert_same_bits(f.l, g.l, N * N);
    assert_same_bits(f.u, g.u, N * N);
    factors_release(&f), factors_release(&g);
    kry_op_release(&lu), kry_op_release(&again);
    free(a);
}

/* ---- solves ---- */

/* max |B - A X| / (n max |A| max |X|) in units of the rounding. */
static long double residual(kry_type type, bool transposed, const double *a, const double *b,
                            const double *x, int64_t n, int64_t k)
{
    long double worst = 0;
    for (int64_t j = 0; j < k; j++)
        for (int64_t i = 0; i < n; i++) {
            long double sum = b[j * n + i];
            for (int64_t d = 0; d < n; d++)
                sum -= (long double)(transposed ? a[i * n + d] : a[d * n + i]) * x[j * n + d];
            worst = fmaxl(worst, fabsl(sum));
        }
    return worst / ((long double)n * largest(a, n * n) * largest(x, n * k) * eps_of(type));
}

static void check_residual(kry_type type, bool transposed, const double *a, const double *b,
                           const double *x, int64_t n, int64_t k)
{
    long double error = residual(type, transposed, a, b, x, n, k);
    if (!(error <= 10))
        fail_msg("n = %lld, %lld right-hand sides%s: residual of %Lg n eps", (long long)n,
                 (long long)k, transposed ? ", transposed" : "", error);
}

/* A X = B into another block and in place; apply, column by column, with alpha and beta. */
static void check_solves(entry_of *entry, kry_type type, int64_t n, int64_t k)
{
    double *a = make(entry, type, n, n), *b = random_array(type, n * k);
    kry_op *lu = lu_of(type, a, n, n, KRY_LU(.block = 32));
    guarded B = guarded_create(type, n, k, 1, b), X = guarded_create(type, n, k, 2, NULL);

    for (int t = 0; t < 2; t++) {
        poison(&X);
        OK(kry_lu_solve(lu, t, B.v, X.v));
        double *x = guarded_read(&X), *same = guarded_read(&B);
        check_residual(type, t, a, b, x, n, k);
        assert_same_bits(same, b, n * k);
        free(same);
        guarded_write(&X, b);
        OK(kry_lu_solve(lu, t, X.v, X.v));
        same = guarded_read(&X);
        assert_same_bits(same, x, n * k);
        free(same);
        poison(&X);
        OK((t ? kry_op_apply_transpose : kry_op_apply)(lu, 1, B.v, 0, X.v));
        same = guarded_read(&X);
        check_residual(type, t, a, b, same, n, k);
        guarded_write(&X, b);
        OK((t ? kry_op_apply_transpose : kry_op_apply)(lu, -0.5, B.v, 2, X.v));
        free(x);
        x = guarded_read(&X);
        for (int64_t i = 0; i < n * k; i++)
            NEAR(x[i], 2 * (long double)b[i] - 0.5L * same[i],
                 4 * eps_of(type) * (2 * fabs(b[i]) + fabs(same[i])), "%lld", (long long)i);
        free(same), free(x);
    }
    guarded_release(&B), guarded_release(&X);
    kry_op_release(&lu);
    free(a), free(b);
}

static void lu_solve__any_size(void **state)
{
    static const int64_t shape[][2] = { { 1, 1 },  { 1, 5 },   { 15, 1 },  { 17, 3 },
                                        { 33, 1 }, { 33, 37 }, { 129, 9 }, { 270, 1 } };
    kry_type type = type_of(state);
    for (size_t s = 0; s < COUNT(shape); s++) {
        check_solves(uniform, type, shape[s][0], shape[s][1]);
        if (shape[s][0] <= 33) check_solves(rotated, type, shape[s][0], shape[s][1]);
    }
    check_solves(hilbert, type, 40, 2);
}

/* ---- what the factors tell ---- */

static void lu_determinant__of_known_matrices(void **state)
{
    enum { N = 80 };
    kry_type type = type_of(state);
    double mantissa, *a = calloc(N * N, sizeof *a);
    int64_t exponent;

    /* a triangle whose rows are exchanged: an odd permutation, entries whose product would overflow
     */
    for (int i = 0; i < N; i++)
        for (int j = i; j < N; j++)
            a[j * N + (i ^ (i < 2))] = i == j ? ldexp(1.5, 30) : random_number(type);
    kry_op *lu = lu_of(type, a, N, N, NULL);
    OK(kry_lu_determinant(lu, &mantissa, &exponent));
    long double want = -powl(1.5L, N);
    int shift;
    want = frexpl(want, &shift);
    assert_int_equal(exponent, shift + 30 * N);
    NEAR(mantissa, want, N * eps_of(type), "mantissa");
    kry_op_release(&lu);

    a[0] = -0.3125; /* 1-by-1 */
    lu = lu_of(type, a, 1, 1, NULL);
    OK(kry_lu_determinant(lu, &mantissa, &exponent));
    assert_true(mantissa == -0.625 && exponent == -1);
    kry_op_release(&lu);
    free(a);
}

/* Singular matrices have factors, and say which pivot it is; what needs the inverse refuses. */
static void check_singular(kry_type type, const double *a, int64_t n, int64_t column)
{
    double smallest, mantissa, reciprocal;
    int64_t where, exponent;
    char text[40];
    kry_op *lu = lu_of(type, a, n, n, KRY_LU(.block = 32));
    factors f = factors_of(lu, type, n, n);
    guarded B = guarded_create(type, n, 2, 0, NULL), x = guarded_create(type, n, 1, 0, NULL),
            y = guarded_create(type, n, 1, 0, NULL);

    assert_true(backward_error(&f, type, a) <= 10);
    OK(kry_lu_pivot(lu, &smallest, &where));
    assert_true(smallest == 0 && where == column);
    OK(kry_lu_determinant(lu, &mantissa, &exponent));
    assert_true(mantissa == 0 && exponent == 0);
    OK(kry_lu_condition(lu, &reciprocal));
    assert_true(reciprocal == 0);
    snprintf(text, sizeof text, "column %lld is 0", (long long)column);
    REFUSES(kry_lu_solve(lu, false, B.v, B.v), KRY_ERR_SINGULAR, text);
    REFUSES(kry_op_apply(lu, 1, x.v, 0, y.v), KRY_ERR_SINGULAR, text);
    REFUSES(kry_op_apply_transpose(lu, 1, x.v, 0, y.v), KRY_ERR_SINGULAR, text);
    guarded_release(&B), guarded_release(&x), guarded_release(&y);
    factors_release(&f);
    kry_op_release(&lu);
}

static void lu__singular(void **state)
{
    enum { N = 70 };
    kry_type type = type_of(state);
    static const int column[] = { 0, 31, 32, 69 };
    for (size_t c = 0; c < COUNT(column); c++) { /* a column of zeros */
        double *a = make(uniform, type, N, N);
        for (int i = 0; i < N; i++) a[column[c] * N + i] = 0;
        check_singular(type, a, N, column[c]);
        free(a);
    }
    double *a = calloc(N * N, sizeof *a); /* of rank 1, exactly: powers of two */
    for (int j = 0; j < N; j++)
        for (int i = 0; i < N; i++) a[j * N + i] = ldexp(i % 2 ? -1 : 1, i % 5 + j % 3);
    check_singular(type, a, N, 1);
    for (int i = 0; i < N * N; i++) a[i] = 0;
    check_singular(type, a, N, 0);
    free(a);
}

/* Nearly singular: solved as it is, or refused by a tolerance. */
static void lu__nearly_singular(void **state)
{
    enum { N = 40 };
    kry_type type = type_of(state);
    double *a = make(uniform, type, N, N), smallest, reciprocal;
    int64_t column;
    for (int i = 0; i < N; i++)
        a[7 * N + i] = to_type(type, a[3 * N + i] + (double)eps_of(type) * a[i]);
    kry_op *lu = lu_of(type, a, N, N, KRY_LU(.tolerance = 1e-4));
    OK(kry_lu_pivot(lu, &smallest, &column));
    assert_true(column == 7 && smallest < 100 * eps_of(type));
    OK(kry_lu_condition(lu, &reciprocal));
    assert_true(reciprocal < 100 * eps_of(type));
    guarded B = guarded_create(type, N, 1, 0, NULL);
    REFUSES(kry_lu_solve(lu, false, B.v, B.v), KRY_ERR_SINGULAR, "column 7 is");
    kry_op_release(&lu);
    lu = lu_of(type, a, N, N, NULL);
    if (smallest > 0) OK(kry_lu_solve(lu, false, B.v, B.v));
    kry_op_release(&lu);
    guarded_release(&B);
    free(a);
}

/* ||A^-1||_1 by solving for the identity. */
static long double inverse_norm(const kry_op *lu, kry_type type, int64_t n)
{
    double *e = calloc((size_t)(n * n), sizeof *e);
    for (int64_t i = 0; i < n; i++) e[i * n + i] = 1;
    guarded X = guarded_create(type, n, n, 0, e);
    OK(kry_lu_solve(lu, false, X.v, X.v));
    double *x = guarded_read(&X);
    long double norm = 0;
    for (int64_t j = 0; j < n; j++) {
        long double sum = 0;
        for (int64_t i = 0; i < n; i++) sum += fabs(x[j * n + i]);
        norm = fmaxl(norm, sum);
    }
    free(x), free(e);
    guarded_release(&X);
    return norm;
}

static void lu_condition__within_a_factor_of_three(void **state)
{
    static entry_of *const kinds[] = { uniform, rotated, graded, spd };
    static const int64_t n[] = { 1, 2, 35, 90 };
    kry_type type = type_of(state);
    for (size_t e = 0; e < COUNT(kinds); e++)
        for (size_t s = 0; s < COUNT(n); s++) {
            double *a = make(kinds[e], type, n[s], n[s]), got;
            kry_op *lu = lu_of(type, a, n[s], n[s], NULL);
            long double norm = 0, inverse = inverse_norm(lu, type, n[s]);
            for (int64_t j = 0; j < n[s]; j++) {
                long double sum = 0;
                for (int64_t i = 0; i < n[s]; i++) sum += fabs(a[j * n[s] + i]);
                norm = fmaxl(norm, sum);
            }
            OK(kry_lu_condition(lu, &got));
            long double want = 1 / (norm * inverse);
            if (!(got >= 0.9L * want && got <= 3 * want))
                fail_msg("kind %zu, n = %lld: %g instead of %Lg", e, (long long)n[s], got, want);
            kry_op_release(&lu);
            free(a);
        }
}

/* ---- panels and blocks in one launch ---- */

/* Entries that are finite, but not what becomes of them. */
static void check_overflow(kry_type type)
{
    const double huge = type == KRY_F32 ? 3e38 : 1.7e308;
    double a[] = { huge, -huge, huge, huge };
    guarded A = guarded_create(type, 2, 2, 0, a);
    kry_op *lu;
    REFUSES(lu_create(A.v, KRY_LU(.block = 64), &lu), KRY_ERR_ARGUMENT, "column 1 is inf");
    assert_null(lu);
    guarded_release(&A);
}

static void count_at_once(void *user, const char *kernel, cl_event event)
{
    if (!strcmp(kernel, "lu_panel") || !strcmp(kernel, "lu_block")) ++*(int *)user;
    clReleaseEvent(event);
}

/* The same exchanges as with a launch for each column, and nearly the same numbers. How many panels
 * or blocks were factored in one launch; none on the host device, which tells of no launches. */
static int check_at_once(kryi_lu_how way, entry_of *entry, kry_type type, int64_t m, int64_t n)
{
    double *a = make(entry, type, m, n);
    chosen = true, how = (kryi_lu_how){ .two_queues = way.two_queues };
    kry_op *plain = lu_of(type, a, m, n, KRY_LU(.block = 64));
    how = way;
    int launches = 0;
    kry_device_set_trace(device(), count_at_once, &launches);
    kry_op *lu = lu_of(type, a, m, n, KRY_LU(.block = 64));
    kry_device_set_trace(device(), NULL, NULL);
    chosen = false;
    factors f = factors_of(lu, type, m, n), g = factors_of(plain, type, m, n);
    long double error = backward_error(&f, type, a);
    if (!(error <= 10)) fail_msg("%lld-by-%lld: %Lg n eps", (long long)m, (long long)n, error);
    assert_true(largest(f.l, m * f.r) == 1);
    if (entry == uniform)
        for (int64_t i = 0; i < m; i++) assert_int_equal(f.order[i], g.order[i]);
    factors_release(&f), factors_release(&g);
    kry_op_release(&lu), kry_op_release(&plain);
    free(a);
    return launches;
}

/* As many groups as there may be on a CPU. With groups of 16, lines are read after the best of them
 * was found, with 64 before. */
static void lu__panels_in_one_launch(void **state)
{
    static const int64_t shape[][2] = { { 1, 1 },    { 5, 5 },    { 16, 16 },  { 17, 40 },
                                        { 32, 31 },  { 33, 33 },  { 64, 64 },  { 65, 65 },
                                        { 127, 70 }, { 40, 128 }, { 128, 128 } };
    kry_type type = type_of(state);
    int panels = 0;
    for (size_t s = 0; s < COUNT(shape); s++) {
        kryi_lu_how way = { .panel_group = shape[s][0] <= 32 ? 16 : 64 };
        panels += check_at_once(way, uniform, type, shape[s][0], shape[s][1]);
        panels += check_at_once(way, rotated, type, shape[s][0], shape[s][1]);
        panels += check_at_once(way, hilbert, type, shape[s][0], shape[s][1]);
    }
    print_message("# %d panels in one launch each\n", panels);
    /* PoCL 7.1 was seen to run none. */
    if (kryi_is_pocl(device()) && !strncmp(kry_device_get_info(device())->driver, "3.", 2))
        assert_true(panels > 0);
    chosen = true, how = (kryi_lu_how){ .panel_group = 64 };
    lu__singular(state);
    check_overflow(type);
    chosen = false;
}

/* Slabs with fewer rows than the group has work-items and with several to each; and a first block that is taller than
 * any slab, so that its columns are eliminated in a launch each. */
static void lu__blocks_in_one_launch(void **state)
{
    static const int64_t shape[][2] = { { 1, 1 },    { 5, 5 },    { 17, 40 },
                                        { 33, 31 },  { 64, 64 },  { 65, 65 },
                                        { 127, 70 }, { 40, 128 }, { 128, 130 } };
    kry_type type = type_of(state);
    int blocks = 0;
    for (size_t s = 0; s < COUNT(shape); s++) {
        kryi_lu_how way = { .block_group = 64 };
        blocks += check_at_once(way, uniform, type, shape[s][0], shape[s][1]);
        blocks += check_at_once(way, rotated, type, shape[s][0], shape[s][1]);
        blocks += check_at_once(way, hilbert, type, shape[s][0], shape[s][1]);
    }
    if (type == KRY_F32)
        blocks += check_at_once((kryi_lu_how){ .block_group = 32 }, uniform, type, 1030, 70);
    print_message("# %d blocks in one launch each\n", blocks);
    chosen = true, how = (kryi_lu_how){ .block_group = 64 };
    lu__singular(state);
    check_overflow(type);
    check_factors(tiny, type, 40, 40, 64);
    check_factors(huge, type, 40, 2, 64);
    chosen = false;
}

/* Whichever launch is aborted: the other way, to the same factors. */
static void lu__aborted_launches(void **state)
{
    static const kryi_lu_how ways[] = { { .panel_group = 64 }, { .block_group = 64 } };
    kry_type type = type_of(state);
    for (int at = 0; at < 4; at++)
        for (size_t w = 0; w < COUNT(ways); w++) {
            abort_launch(at);
            check_at_once(ways[w], uniform, type, 64, 128);
            check_at_once(ways[w], uniform, type, 127, 127);
            abort_launch(-1);
        }
}

/* Blocks in a queue of their own: every kernel has run once when it begins. */
static void lu__in_two_queues(void **state)
{
    kry_type type = type_of(state);
    for (int aside = 0; aside < 2; aside++) {
        chosen = true, how = (kryi_lu_how){ .two_queues = aside };
        check_factors(uniform, type, 230, 230, 32);
        check_factors(rotated, type, 97, 300, 32);
        check_factors(uniform, type, 300, 131, 64);
        check_at_once((kryi_lu_how){ .two_queues = aside, .panel_group = 64 }, uniform, type, 127,
                      400);
        check_at_once((kryi_lu_how){ .two_queues = aside, .block_group = 64 }, rotated, type, 127,
                      400);
        chosen = false;
    }
}

/* ---- LAPACK ---- */

#ifdef KRY_HAVE_LAPACK
void dgetrf_(const int *m, const int *n, double *a, const int *lda, int *ipiv, int *info);
void sgetrf_(const int *m, const int *n, float *a, const int *lda, int *ipiv, int *info);
void dgecon_(const char *norm, const int *n, const double *a, const int *lda, const double *anorm,
             double *rcond, double *work, int *iwork, int *info);

static factors lapack_factors(kry_type type, const double *a, int n)
{
    factors f = { .m = n, .n = n, .r = n };
    void *lu = in_type(type, a, (int64_t)n * n);
    int *pivot = calloc((size_t)n, sizeof *pivot), info;
    if (type == KRY_F32)
        sgetrf_(&n, &n, lu, &n, pivot, &info);
    else
        dgetrf_(&n, &n, lu, &n, pivot, &info);
    assert_true(info >= 0);
    f.l = calloc((size_t)(n * n), sizeof *f.l), f.u = calloc((size_t)(n * n), sizeof *f.u);
    f.order = calloc((size_t)n, sizeof *f.order);
    for (int i = 0; i < n; i++) f.order[i] = i;
    for (int j = 0; j < n; j++) {
        int64_t row = f.order[j];
        f.order[j] = f.order[pivot[j] - 1], f.order[pivot[j] - 1] = row;
        for (int i = 0; i < n; i++) {
            double v = at(type, lu, (int64_t)j * n + i);
            f.l[j * n + i] = i > j ? v : i == j;
            f.u[j * n + i] = i <= j ? v : 0;
        }
    }
    free(pivot), free(lu);
    return f;
}

/* Errors no more than a few times those of LAPACK. */
static void lu__as_good_as_lapack(void **state)
{
    static entry_of *const kinds[] = { uniform, graded, hilbert, rotated };
    static const int n[] = { 20, 97, 256 };
    kry_type type = type_of(state);
    for (size_t e = 0; e < COUNT(kinds); e++)
        for (size_t s = 0; s < COUNT(n); s++) {
            double *a = make(kinds[e], type, n[s], n[s]);
            kry_op *lu = lu_of(type, a, n[s], n[s], NULL);
            factors f = factors_of(lu, type, n[s], n[s]), g = lapack_factors(type, a, n[s]);
            long double error = backward_error(&f, type, a), theirs = backward_error(&g, type, a);
            if (!(error <= 4 * theirs + 0.1L))
                fail_msg("kind %zu, n = %d: %Lg n eps, LAPACK %Lg", e, n[s], error, theirs);
            factors_release(&f), factors_release(&g);
            kry_op_release(&lu);
            free(a);
        }
}

static void lu_condition__as_lapack(void **state)
{
    enum { N = 60 };
    (void)state;
    if (!kry_device_get_info(device())->fp64) SKIP("no double");
    double *a = make(uniform, KRY_F64, N, N), norm = 0, want, got, work[4 * N];
    int n = N, info, iwork[N], *pivot = calloc(N, sizeof *pivot);
    for (int j = 0; j < N; j++) {
        double sum = 0;
        for (int i = 0; i < N; i++) sum += fabs(a[j * N + i]);
        norm = fmax(norm, sum);
    }
    kry_op *lu = lu_of(KRY_F64, a, N, N, NULL);
    dgetrf_(&n, &n, a, &n, pivot, &info);
    dgecon_("1", &n, a, &n, &norm, &want, work, iwork, &info);
    OK(kry_lu_condition(lu, &got));
    NEAR(got, want, 1e-8 * want, "reciprocal condition");
    kry_op_release(&lu);
    free(pivot), free(a);
}
#endif

/* ---- as a preconditioner ---- */

static void lu__as_a_preconditioner(void **state)
{
    enum { N = 90 };
    kry_type type = type_of(state);
    double *a = make(spd, type, N, N);
    guarded A = guarded_create(type, N, N, 0, a);
    kry_op *op, *M, *solver;
    kry_vec *b, *x;
    kry_result result;
    OK(kry_dense_create(A.v, KRY_POSITIVE, &op));
    OK(lu_create(A.v, KRY_LU(.traits = KRY_POSITIVE), &M));
    assert_true(kry_op_get_shape(M)->traits & KRY_SYMMETRIC);
    OK(kry_pcg_create(op, KRY_PCG(.precond = M), &solver));
    OK(kry_vec_create(device(), type, N, 1, &b));
    OK(kry_vec_create(device(), type, N, 1, &x));
    OK(kry_vec_fill(b, 1));
    OK(kry_solve(solver, b, x, &result));
    assert_in_range(result.iterations, 1, 4);
    kry_vec_release(&b), kry_vec_release(&x);
    kry_op_release(&solver), kry_op_release(&M), kry_op_release(&op);
    guarded_release(&A);
    free(a);
}

/* ---- refusals ---- */

static void lu_create__not_finite(void **state)
{
    static const double bad[] = { (double)NAN, (double)INFINITY, -(double)INFINITY };
    kry_type type = type_of(state);
    for (size_t b = 0; b < COUNT(bad); b++) {
        double *a = make(uniform, type, 50, 40);
        a[17 * 50 + 33] = bad[b];
        guarded A = guarded_create(type, 50, 40, 1, a);
        kry_op *lu = (kry_op *)A.v;
        REFUSES(lu_create(A.v, NULL, &lu), KRY_ERR_ARGUMENT, "entry (33, 17) is");
        assert_null(lu);
        guarded_release(&A);
        free(a);
    }
}

static void lu_create__overflow(void **state) { check_overflow(type_of(state)); }

/* Updates that are large enough for CLBlast, where there is one. */
static void lu__updates_by_clblast(void **state)
{
    (void)state;
    use_profile("gpu-kernels");
    check_factors(rotated, KRY_F32, 430, 440, 256);
    use_profile("");
}

static void lu__no_rows(void **state)
{
    kry_type type = type_of(state);
    kry_vec *A, *U;
    kry_op *lu;
    double smallest;
    int64_t column, order, rank = 7;
    OK(kry_vec_create(device(), type, 0, 3, &A));
    OK(kry_vec_create(device(), type, 0, 3, &U));
    OK(lu_create(A, NULL, &lu));
    OK(kry_lu_pivot(lu, &smallest, &column));
    assert_true(isinf(smallest) && column == -1);
    OK(kry_lu_factors(lu, NULL, U, &order));
    OK(kry_vec_rref(A, 0, NULL, &rank));
    assert_int_equal(rank, 0);
    kry_op_release(&lu);
    kry_vec_release(&A), kry_vec_release(&U);
}

static void lu__refusals(void **state)
{
    kry_type type = type_of(state);
    double *a = make(spd, type, 6, 6);
    guarded A = guarded_create(type, 6, 6, 0, a), W = guarded_create(type, 6, 4, 0, a);
    kry_op *lu, *wide, *other;
    kry_vec *b, *view;
    double d;
    int64_t e;

    REFUSES(lu_create(NULL, NULL, &lu), KRY_ERR_ARGUMENT, "NULL");
    assert_null(lu);
    REFUSES(lu_create(A.v, &(kry_lu_params){ .block = 32 }, &lu), KRY_ERR_ARGUMENT, "KRY_LU");
    REFUSES(lu_create(A.v, KRY_LU(.block = 33), &lu), KRY_ERR_ARGUMENT, "33 columns");
    REFUSES(lu_create(A.v, KRY_LU(.block = 512), &lu), KRY_ERR_ARGUMENT, "512 columns");
    REFUSES(lu_create(A.v, KRY_LU(.tolerance = -1), &lu), KRY_ERR_ARGUMENT, "tolerance of -1");
    REFUSES(lu_create(A.v, KRY_LU(.tolerance = NAN), &lu), KRY_ERR_ARGUMENT, "tolerance");
    REFUSES(lu_create(A.v, KRY_LU(.traits = KRY_VARYING), &lu), KRY_ERR_ARGUMENT, "traits");
    REFUSES(lu_create(W.v, KRY_LU(.traits = KRY_POSITIVE), &lu), KRY_ERR_SHAPE, "6-by-4");
    assert_null(lu);
    OK(lu_create(A.v, NULL, &lu));
    OK(lu_create(W.v, NULL, &wide));
    OK(kry_dense_create(A.v, 0, &other));
    OK(kry_vec_create(device(), type, 6, 2, &b));
    REFUSES(kry_lu_solve(NULL, false, b, b), KRY_ERR_ARGUMENT, "NULL");
    REFUSES(kry_lu_solve(other, false, b, b), KRY_ERR_ARGUMENT, "'dense'");
    REFUSES(kry_lu_solve(lu, false, NULL, b), KRY_ERR_ARGUMENT, "B is NULL");
    REFUSES(kry_lu_solve(lu, false, b, NULL), KRY_ERR_ARGUMENT, "X is NULL");
    REFUSES(kry_lu_solve(lu, false, b, A.v), KRY_ERR_SHAPE, "X 6-by-6");
    REFUSES(kry_lu_solve(wide, false, b, b), KRY_ERR_SHAPE, "6-by-4");
    OK(kry_vec_wrap(device(), type, 6, 1, b->buffer, 1, &view));
    kry_vec column = kryi_vec_column(b, 0);
    REFUSES(kry_lu_solve(lu, false, &column, view), KRY_ERR_ARGUMENT, "overlap");
    kry_vec_release(&view);
    REFUSES(kry_lu_determinant(wide, &d, &e), KRY_ERR_SHAPE, "6-by-4");
    REFUSES(kry_lu_determinant(lu, NULL, &e), KRY_ERR_ARGUMENT, "NULL");
    REFUSES(kry_lu_condition(wide, &d), KRY_ERR_SHAPE, "6-by-4");
    REFUSES(kry_lu_condition(other, &d), KRY_ERR_ARGUMENT, "'dense'");
    REFUSES(kry_lu_pivot(other, &d, &e), KRY_ERR_ARGUMENT, "'dense'");
    REFUSES(kry_lu_factors(lu, b, NULL, NULL), KRY_ERR_SHAPE, "L is 6-by-2 instead of 6-by-6");
    REFUSES(kry_lu_factors(lu, NULL, b, NULL), KRY_ERR_SHAPE, "U is 6-by-2");
    REFUSES(kry_lu_factors(lu, A.v, A.v, NULL), KRY_ERR_ARGUMENT, "overlap");
    REFUSES(kry_lu_factors(other, NULL, NULL, NULL), KRY_ERR_ARGUMENT, "'dense'");
    OK(kry_lu_factors(lu, NULL, NULL, NULL));
    OK(kry_lu_pivot(wide, &d, &e));
    REFUSES(kry_op_update(lu, a), KRY_ERR_UNSUPPORTED, "lu");
    kry_vec_release(&b);
    OK(kry_vec_create(device(), type, 4, 1, &b));
    OK(kry_vec_create(device(), type, 6, 1, &view));
    REFUSES(kry_op_apply(wide, 1, view, 0, b), KRY_ERR_SHAPE, "no inverse");
    kry_vec_release(&b), kry_vec_release(&view);
    kry_op_release(&lu), kry_op_release(&wide), kry_op_release(&other);
    guarded_release(&A), guarded_release(&W);
    free(a);
}

static void lu__not_on_a_team(void **state)
{
    (void)state;
    kry_device *team = open_pieces(2);
    kry_vec *A;
    kry_op *lu;
    if (!team) SKIP("no device that can be cut in two");
    OK(kry_vec_create(team, KRY_F32, 6, 6, &A));
    REFUSES(lu_create(A, NULL, &lu), KRY_ERR_UNSUPPORTED, "several devices");
    assert_null(lu);
    kry_vec_release(&A);
    kry_device_release(&team);
}

/* ---- GPU-shaped kernels, small groups, no double ---- */

static void lu__other_profiles(void **state)
{
    static const char *const words[] = { "gpu-kernels", "gpu-kernels group=8", "no-fp64" };
    (void)state;
    for (size_t w = 0; w < COUNT(words); w++) {
        use_profile(words[w]);
        for (int d = 0; d < (w == 0 && kry_device_get_info(device())->fp64 ? 2 : 1); d++) {
            kry_type type = d ? KRY_F64 : KRY_F32;
            void *of = d ? &type_double : &type_single;
            check_factors(uniform, type, 150, 150, 64);
            check_factors(rotated, type, 65, 200, 32);
            check_factors(hilbert, type, 200, 65, 0);
            check_solves(uniform, type, 131, 11);
            check_solves(rotated, type, 270, 1);
            if (w == 0) lu__singular(&of);
        }
    }
    use_profile("");
}

/* ---- compilers that are wrong ---- */

typedef struct spoilt {
    char folder[32], *kept; /* of kernels: the changed ones, and what KRY_CL_PATH named */
    kry_device *dev;
} spoilt;

/* A device whose kernels are changed by a command of sed. */
static void spoilt_begin(spoilt *s, const char *file, const char *change)
{
    char command[1200];

    strcpy(s->folder, "/tmp/kry-lu-XXXXXX");
    s->kept = strdup(getenv("KRY_CL_PATH"));
    assert_non_null(mkdtemp(s->folder));
    snprintf(command, sizeof command,
             "cp -r '%s'/. %s && sed -i 's/%s/' %s/%s && ! cmp -s '%s'/%s %s/%s", s->kept,
             s->folder, change, s->folder, file, s->kept, file, s->folder, file);
    assert_int_equal(system(command), 0);
    setenv("KRY_CL_PATH", s->folder, 1);
    OK(kry_device_open(NULL, &s->dev));
}

static void spoilt_end(spoilt *s)
{
    char command[100];

    kry_device_release(&s->dev);
    snprintf(command, sizeof command, "rm -r %s", s->folder);
    assert_int_equal(system(command), 0);
    setenv("KRY_CL_PATH", s->kept, 1);
    free(s->kept);
}

static bool can_spoil(void)
{
    return getenv("KRY_CL_PATH") && kry_device_get_info(device())->cpu_kernels &&
           !is_host(device());
}

/* Eliminates too much, in panels: neither factors nor an inverse are handed out. */
static void lu__of_a_compiler_that_is_wrong(void **state)
{
    (void)state;
    enum { N = 40 };
    kry_vec *A = NULL, *inverse = NULL;
    kry_op *lu = NULL;
    spoilt s;

    if (!can_spoil()) SKIP("a copy of the kernels of CPUs that KRY_CL_PATH names is spoilt");
    double *a = make(uniform, KRY_F64, N, N);
    spoilt_begin(&s, "dense/panel.cl", "other.i. -= column/other[i] -= 2 * column");
    OK(kry_vec_create(s.dev, KRY_F64, N, N, &A));
    OK(kry_vec_create(s.dev, KRY_F64, N, N, &inverse));
    write_doubles(A, a);
    REFUSES(kry_lu_create(A, NULL, &lu), KRY_ERR_DEVICE, "kry_lu_create: '");
    assert_null(lu);
    REFUSES(kry_vec_inverse(A, NULL, inverse), KRY_ERR_DEVICE, "computed a wrong result");
    kry_vec_release(&A), kry_vec_release(&inverse);
    spoilt_end(&s);
    free(a);
}

/* Eliminates too much: no echelon form is handed out, and A stays. */
static void rref__of_a_compiler_that_is_wrong(void **state)
{
    enum { M = 40, N = 50 };
    const kry_type type = type_of(state);
    kry_vec *A = NULL;
    double after[M * N];
    int64_t rank;
    spoilt s;

    if (!can_spoil()) SKIP("a copy of the kernels of CPUs that KRY_CL_PATH names is spoilt");
    double *a = make(uniform, type, M, N);
    spoilt_begin(&s, "dense/panel.cl", "other.i. += column/other[i] += 2 * column");
    OK(kry_vec_create(s.dev, type, M, N, &A));
    write_doubles(A, a);
    REFUSES(kry_vec_rref(A, 0, NULL, &rank), KRY_ERR_DEVICE, "whose form is known");
    read_doubles(A, after);
    for (int i = 0; i < M * N; i++) assert_true(after[i] == a[i]);
    kry_vec_release(&A);
    spoilt_end(&s);
    free(a);
}

/* Solves wrongly with the transpose and for several columns only: these are refused, and X stays. */
static void lu_solve__of_a_compiler_that_is_wrong(void **state)
{
    enum { N = 40, K = 3 };
    const kry_type type = type_of(state);
    kry_vec *A, *X, *x, *y;
    kry_op *lu;
    double *a = make(uniform, type, N, N), *b = make(uniform, type, N, K), after[N * K];
    spoilt s;

    if (!can_spoil()) {
        free(a), free(b);
        SKIP("a copy of the kernels of CPUs that KRY_CL_PATH names is spoilt");
    }
    spoilt_begin(
        &s, "dense/lu.cl",
        "x.r. -= column.r \\* t_row. \\* x.j./x[r] -= (n > 1 || abs((int)t_row) > 1 ? 2 : 1) * "
        "column[r * t_row] * x[j]");
    OK(kry_vec_create(s.dev, type, N, N, &A));
    OK(kry_vec_create(s.dev, type, N, K, &X));
    OK(kry_vec_create(s.dev, type, N, 1, &x));
    OK(kry_vec_create(s.dev, type, N, 1, &y));
    write_doubles(A, a);
    write_doubles(X, b);
    OK(kry_vec_fill(x, 1));
    OK(kry_lu_create(A, NULL, &lu));
    OK(kry_lu_solve(lu, false, x, x));
    for (int i = 0; i < 2; i++) { /* and the next time, too */
        REFUSES(kry_lu_solve(lu, false, X, X), KRY_ERR_DEVICE, "kry_lu_solve: '");
        REFUSES(kry_lu_solve(lu, true, X, X), KRY_ERR_DEVICE, "computed a wrong result");
        REFUSES(kry_lu_solve(lu, true, x, x), KRY_ERR_DEVICE, "computed a wrong result");
        REFUSES(kry_op_apply_transpose(lu, 1, x, 0, y), KRY_ERR_DEVICE,
                "kry_op_apply_transpose: '");
    }
    read_doubles(X, after);
    for (int i = 0; i < N * K; i++) assert_true(after[i] == b[i]);
    kry_op_release(&lu);
    kry_vec_release(&A), kry_vec_release(&X);
    kry_vec_release(&x), kry_vec_release(&y);
    spoilt_end(&s);
    free(a), free(b);
}

/* Rows of Q are orthonormal and A Q' = Q' diag(values), which ascend. */
static void check_eigen(int n, const double *A, double size)
{
    double *copy = calloc((size_t)(n * n), sizeof *copy), *Q = calloc((size_t)(n * n), sizeof *Q),
           *values = calloc((size_t)n, sizeof *values), *room = calloc(3 * (size_t)n, sizeof *room);
    const double tolerance = 50 * n * DBL_EPSILON;

    memcpy(copy, A, (size_t)(n * n) * sizeof *copy);
    OK(kry_small_eigen(n, copy, Q, values, room));
    for (int k = 0; k < n; k++) {
        if (k) assert_true(values[k] >= values[k - 1]);
        for (int i = 0; i < n; i++) {
            double sum = 0, angle = 0;
            for (int j = 0; j < n; j++)
                sum += A[i * n + j] * Q[k * n + j], angle += Q[k * n + j] * Q[i * n + j];
            NEAR(sum, values[k] * Q[k * n + i], tolerance * size, "row %d of vector %d", i, k);
            NEAR(angle, i == k, tolerance, "vectors %d and %d", i, k);
        }
    }
    free(copy), free(Q), free(values), free(room);
}

static void eigen_symmetric__is_what_it_says(void **state)
{
    enum { LARGEST = 67 };
    static double A[LARGEST * LARGEST];
    (void)state;

    for (int n = 1; n <= LARGEST; n += 1 + n / 3)
        for (int kind = 0; kind < 4; kind++) { /* full, tridiagonal, of rank 1, diagonal */
            for (int i = 0; i < n; i++)
                for (int j = 0; j <= i; j++) {
                    double v = kind == 2 ? 1 : random_number(KRY_F64);
                    if (kind == 1 && i - j > 1) v = 0;
                    if (kind == 3 && i != j) v = 0;
                    A[i * n + j] = A[j * n + i] = v;
                }
            check_eigen(n, A, n);
        }
    double bad[4] = { 1, NAN, NAN, 2 }, Q[4], values[2], room[6];
    REFUSES(kry_small_eigen(2, bad, Q, values, room), KRY_ERR_ARGUMENT, "not finite");
    REFUSES(kry_small_eigen(0, bad, Q, values, room), KRY_ERR_ARGUMENT, "n is 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(lu__factors_of_any_shape),
        BOTH(lu__graded_and_hilbert),
        BOTH(lu__repeats),
        BOTH(lu_solve__any_size),
        BOTH(lu_determinant__of_known_matrices),
        BOTH(lu__singular),
        BOTH(lu__nearly_singular),
        BOTH(lu_condition__within_a_factor_of_three),
        BOTH(lu__panels_in_one_launch),
        BOTH(lu__blocks_in_one_launch),
        BOTH(lu__aborted_launches),
        BOTH(lu__in_two_queues),
#ifdef KRY_HAVE_LAPACK
        BOTH(lu__as_good_as_lapack),
        cmocka_unit_test(lu_condition__as_lapack),
#endif
        BOTH(lu__as_a_preconditioner),
        BOTH(lu_create__not_finite),
        BOTH(lu_create__overflow),
        cmocka_unit_test(lu__updates_by_clblast),
        BOTH(lu__no_rows),
        BOTH(lu__refusals),
        cmocka_unit_test(lu__not_on_a_team),
        cmocka_unit_test(lu__other_profiles),
        cmocka_unit_test(lu__of_a_compiler_that_is_wrong),
        BOTH(rref__of_a_compiler_that_is_wrong),
        BOTH(lu_solve__of_a_compiler_that_is_wrong),
        cmocka_unit_test(eigen_symmetric__is_what_it_says),
    };
    return cmocka_run_group_tests(tests, keep_profile, restore_profile);
}
