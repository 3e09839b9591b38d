/*
 * test_systems.c - many small systems by each method against elimination on the host: odd numbers of rows and of systems, gaps
 * between columns, several right-hand sides, guesses, matrices that are singular or indefinite or hold what is no number, and what
 * is refused.
 */
#include "testing.h"

/* ---- systems of a pattern ------------------------------------------------------------------- */

typedef struct batch {
    kry_type type;
    int64_t n, entries, matrices, columns; /* columns: right-hand sides of a matrix */
    int64_t *row_ptr;                      /* NULL: dense */
    int32_t *col;
    double *values, *b; /* entries-by-matrices, n-by-(columns matrices) */
} batch;

typedef enum kind { DENSE, BANDED, SCATTERED } kind;

/* Columns of row i: those beside the diagonal, and for SCATTERED the mirror image of the row, so that patterns are symmetric. They
 * stand in an order that is not ascending. */
static void fill_pattern(batch *B, kind kind)
{
    B->row_ptr = calloc((size_t)B->n + 1, sizeof *B->row_ptr);
    B->col = calloc((size_t)B->n * 4, sizeof *B->col);
    assert_true(B->row_ptr && B->col);
    for (int64_t i = 0; i < B->n; i++) {
        const int64_t mirror = B->n - 1 - i, wanted[] = { i + 1, i, i - 1, mirror };
        int64_t at = B->row_ptr[i];
        for (int k = 0; k < (kind == SCATTERED ? 4 : 3); k++) {
            if (wanted[k] < 0 || wanted[k] >= B->n) continue;
            if (k == 3 && llabs((long long)(mirror - i)) <= 1) continue;
            B->col[at++] = (int32_t)wanted[k];
        }
        B->row_ptr[i + 1] = at;
    }
    B->entries = B->row_ptr[B->n];
}

static int64_t row_begin(const batch *B, int64_t i)
{
    return B->row_ptr ? B->row_ptr[i] : i * B->n;
}
static int64_t column_of(const batch *B, int64_t e) { return B->row_ptr ? B->col[e] : e % B->n; }

/* A diagonal that dominates; symmetric: a_ij depends on {i, j} alone. */
static void fill_matrix(batch *B, int64_t s, bool symmetric)
{
    double *a = B->values + s * B->entries;

    for (int64_t i = 0; i < B->n; i++) {
        double sum = 0;
        int64_t diagonal = -1;
        for (int64_t e = row_begin(B, i); e < row_begin(B, i + 1); e++) {
            const int64_t j = column_of(B, e), low = i < j ? i : j, high = i < j ? j : i;
            if (i == j) diagonal = e;
            a[e] = to_type(
                B->type, symmetric
                             ? kry_random_unit(7, (uint64_t)(s * B->n + low), (uint64_t)high) - 0.5
                             : random_number(B->type));
            sum += fabs(a[e]);
        }
        a[diagonal] = to_type(B->type, sum + 0.5);
    }
}

static batch batch_create(kry_type type, kind kind, int64_t n, int64_t matrices, int64_t columns,
                          bool symmetric)
{
    batch B = { .type = type, .n = n, .matrices = matrices, .columns = columns };

    B.entries = n * n;
    if (kind != DENSE) fill_pattern(&B, kind);
    B.values = calloc((size_t)(B.entries * matrices), sizeof *B.values);
    assert_non_null(B.values);
    for (int64_t s = 0; s < matrices; s++) fill_matrix(&B, s, symmetric);
    B.b = random_array(type, n * matrices * columns);
    return B;
}

static void batch_release(batch *B) { free(B->row_ptr), free(B->col), free(B->values), free(B->b); }

static double *entry(const batch *B, int64_t s, int64_t i, int64_t j)
{
    for (int64_t e = row_begin(B, i); e < row_begin(B, i + 1); e++)
        if (column_of(B, e) == j) return B->values + s * B->entries + e;
    fail();
    return NULL;
}

/* ---- references ----------------------------------------------------------------------------- */

/* ||b - A x|| / ||b|| of system s */
static double residual_of(const batch *B, int64_t s, const double *x)
{
    const double *a = B->values + s / B->columns * B->entries, *b = B->b + s * B->n;
    long double square = 0, norm = 0;

    for (int64_t i = 0; i < B->n; i++) {
        long double r = b[i];
        for (int64_t e = row_begin(B, i); e < row_begin(B, i + 1); e++)
            r -= (long double)a[e] * x[column_of(B, e)];
        square += r * r, norm += (long double)b[i] * b[i];
    }
    return norm > 0 ? (double)sqrtl(square / norm) : (double)sqrtl(square);
}

/* x of system s by elimination without pivoting, of a matrix whose diagonal dominates; to be freed */
static long double *reference(const batch *B, int64_t s)
{
    const int64_t n = B->n;
    const double *a = B->values + s / B->columns * B->entries;
    long double *F = calloc((size_t)(n * n), sizeof *F), *x = calloc((size_t)n, sizeof *x);

    assert_true(F && x);
    for (int64_t i = 0; i < n; i++) {
        x[i] = B->b[s * n + i];
        for (int64_t e = row_begin(B, i); e < row_begin(B, i + 1); e++)
            F[i * n + column_of(B, e)] += a[e];
    }
    for (int64_t k = 0; k < n; k++)
        for (int64_t i = k + 1; i < n; i++) {
            const long double l = F[i * n + k] / F[k * n + k];
            if (l == 0) continue;
            for (int64_t j = k; j < n; j++) F[i * n + j] -= l * F[k * n + j];
            x[i] -= l * x[k];
        }
    for (int64_t i = n - 1; i >= 0; i--) {
        for (int64_t j = i + 1; j < n; j++) x[i] -= F[i * n + j] * x[j];
        x[i] /= F[i * n + i];
    }
    free(F);
    return x;
}

/* ---- a solve -------------------------------------------------------------------------------- */

/* A block whose columns lie `gap` numbers apart, and the view of it. */
typedef struct block {
    kry_vec *whole, *v;
} block;

static block block_of(kry_type type, const double *numbers, int64_t rows, int64_t cols, int64_t gap)
{
    block B;
    kry_vec *packed = vec_of(type, numbers, rows, cols);

    OK(kry_vec_create(device(), type, rows + gap, cols, &B.whole));
    OK(kry_vec_fill(B.whole, guard_value));
    OK(kry_vec_block(B.whole, gap / 2, rows, 0, cols, &B.v));
    OK(kry_vec_copy(packed, B.v));
    kry_vec_release(&packed);
    return B;
}

static void block_release(block *B) { kry_vec_release(&B->v), kry_vec_release(&B->whole); }

/* Nothing was written between the columns. */
static void check_gaps(const block *B, int64_t gap)
{
    double *all = numbers_of(B->whole);
    const int64_t ld = kry_vec_rows(B->whole), n = kry_vec_rows(B->v);

    for (int64_t s = 0; s < kry_vec_cols(B->whole); s++)
        for (int64_t i = 0; i < ld; i++)
            if (i < gap / 2 || i >= gap / 2 + n) assert_true(all[s * ld + i] == guard_value);
    free(all);
}

/* The summary of all systems agrees with the verdicts of each. */
static void check_summary(const kry_systems_end *each, const kry_systems_result *result)
{
    int64_t solved = 0, first = -1, most = 0;
    double worst = 0;

    for (int64_t s = 0; s < result->systems; s++) {
        if (each[s].verdict == KRY_SYSTEMS_SOLVED)
            solved++;
        else if (first < 0)
            first = s;
        if (each[s].iterations > most) most = each[s].iterations;
        if (!(each[s].residual <= worst) && !isnan(worst)) worst = each[s].residual;
    }
    assert_int_equal(result->solved, solved);
    assert_int_equal(result->first, first);
    assert_int_equal(result->most_iterations, most);
    assert_true(result->worst_residual == worst || (isnan(worst) && isnan(result->worst_residual)));
    if (first >= 0)
        assert_non_null(strstr(result->why, kry_systems_verdict_text(each[first].verdict)));
}

/* x of all systems, to be freed; each: how they ended, as many. guess: x before, NULL: what does not matter */
static double *solve(const batch *B, const kry_systems_params *params, int64_t gap,
                     const double *guess, kry_systems_end *each, kry_systems_result *result)
{
    const int64_t systems = B->matrices * B->columns;
    kry_systems *S;
    double *nothing = calloc((size_t)(B->n * systems), sizeof *nothing);
    block values = block_of(B->type, B->values, B->entries, B->matrices, gap),
          b = block_of(B->type, B->b, B->n, systems, 2 * gap),
          x = block_of(B->type, guess ? guess : nothing, B->n, systems, gap);
    if (!guess) OK(kry_vec_fill(x.v, (double)NAN));

    OK(kry_systems_create(device(), B->type, B->n, B->row_ptr, B->col, params, &S));
    assert_int_equal(kry_systems_entries(S), B->entries);
    const kry_status st = kry_systems_solve(S, values.v, b.v, x.v, each, result);
    if (st != KRY_OK && st != KRY_NOT_CONVERGED) fail_msg("%s", kry_last_error());
    assert_int_equal(st == KRY_OK, result->solved == systems);
    assert_int_equal(result->first < 0, result->solved == systems);
    if (st != KRY_OK) assert_non_null(strstr(kry_last_error(), result->why));
    check_gaps(&x, gap);
    assert_int_equal(result->systems, systems);
    check_summary(each, result);
    double *found = numbers_of(x.v);
    block_release(&values), block_release(&b), block_release(&x);
    kry_systems_release(&S);
    free(nothing);
    return found;
}

static double rtol_of(kry_type type) { return type == KRY_F32 ? 1e-4 : 1e-8; }

/* Verdicts and residuals that are told are true. */
static void check_ends(const batch *B, const double *x, const kry_systems_end *each)
{
    const double rounding = 20 * (double)eps_of(B->type) * (double)B->n;

    for (int64_t s = 0; s < B->matrices * B->columns; s++) {
        const double residual = residual_of(B, s, x + s * B->n);
        if (each[s].verdict == KRY_SYSTEMS_SOLVED && !(residual <= rtol_of(B->type) + rounding))
            fail_msg("system %lld of %lld rows has a residual of %g", (long long)s, (long long)B->n,
                     residual);
        if (isfinite(residual) && residual < 1)
            NEAR(each[s].residual, residual, 0.01 * residual + rounding, "residual of system %d",
                 (int)s);
    }
}

static const int64_t rows[] = { 1, 2, 7, 8, 9, 31, 32, 33, 63, 64, 65, 127, 128, 129, 1000 };

static void solves(kry_type type, kind kind, const kry_systems_params *params, int64_t most)
{
    for (size_t r = 0; r < COUNT(rows); r++)
        for (int c = 0; c < 3; c++) {
            const int64_t n = rows[r], count = (const int64_t[]){ 1, 2, n > 33 ? 5 : 1000 }[c];
            if (n > most || too_large(n * count) || !one_of(2, (int64_t)r + c)) continue;
            batch B = batch_create(type, kind, n, count, 1, params->method == KRY_SYSTEMS_CG);
            kry_systems_end *each = calloc((size_t)count, sizeof *each);
            kry_systems_result result;
            assert_non_null(each);
            double *x = solve(&B, params, c == 1 ? 6 : 0, NULL, each, &result);
            if (result.solved != count) fail_msg("%d rows: %s", (int)n, result.why);
            check_ends(&B, x, each);
            for (int64_t s = 0; s < count && n <= 129; s += count > 2 ? 333 : 1) {
                long double *want = reference(&B, s), norm = 0;
                for (int64_t i = 0; i < n; i++) norm = fmaxl(norm, fabsl(want[i]));
                for (int64_t i = 0; i < n; i++)
                    NEAR(x[s * n + i], want[i],
                         4 * sqrt((double)n) * (double)n * rtol_of(type) * norm, "x[%d] of %d rows",
                         (int)i, (int)n);
                free(want);
            }
            free(x), free(each);
            batch_release(&B);
        }
}

static void cg__random(void **state)
{
    solves(type_of(state), SCATTERED, KRY_SYSTEMS(.method = KRY_SYSTEMS_CG), 1000);
    solves(type_of(state), DENSE, KRY_SYSTEMS(.method = KRY_SYSTEMS_CG, .no_jacobi = true), 65);
}

static void bicgstab__random(void **state)
{
    solves(type_of(state), SCATTERED, KRY_SYSTEMS(.method = KRY_SYSTEMS_BICGSTAB), 1000);
    solves(type_of(state), DENSE, KRY_SYSTEMS(.method = KRY_SYSTEMS_BICGSTAB, .no_jacobi = true),
           65);
}

static void lu__random(void **state)
{
    solves(type_of(state), DENSE, KRY_SYSTEMS(.method = KRY_SYSTEMS_LU), 129);
    solves(type_of(state), SCATTERED, KRY_SYSTEMS(.method = KRY_SYSTEMS_LU), 129);
}

static void tridiagonal__random(void **state)
{
    solves(type_of(state), BANDED, KRY_SYSTEMS(.method = KRY_SYSTEMS_TRIDIAGONAL), 1000);
}

/* ---- what is not so simple ------------------------------------------------------------------ */

/* Rows that have to be exchanged: a cyclic permutation. */
static void check_pivots(kry_type type, int n)
{
    enum { SYSTEMS = 3 };
    batch B = batch_create(type, DENSE, n, SYSTEMS, 1, false);
    kry_systems_end each[SYSTEMS];
    kry_systems_result result;

    for (int s = 0; s < SYSTEMS; s++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                *entry(&B, s, i, j) =
                    to_type(type, j == (i + 1 + s) % n ? 2 : 1e-3 * ((i * j) % 5));
    double *x = solve(&B, NULL, 0, NULL, each, &result);
    assert_int_equal(result.method, KRY_SYSTEMS_LU);
    assert_int_equal(result.solved, SYSTEMS);
    check_ends(&B, x, each);
    free(x);
    batch_release(&B);
}

static void lu__pivots(void **state) { check_pivots(type_of(state), 9); }

/* Members that cannot be solved are told, with the first of them, and the others are solved. */
static void check_members(kry_type type, kind kind, int64_t n, const kry_systems_params *params,
                          kry_systems_verdict singular)
{
    enum { SYSTEMS = 40 };
    batch B = batch_create(type, kind, n, SYSTEMS, 1, true);
    kry_systems_end each[SYSTEMS];
    kry_systems_result result;
    const int zero_row = 7, zero = 12, no_number = 21, no_rhs = 30, huge = 33;

    for (int64_t e = row_begin(&B, 4); e < row_begin(&B, 5); e++)
        B.values[zero_row * B.entries + e] = 0;
    for (int64_t e = 0; e < B.entries; e++) B.values[zero * B.entries + e] = 0;
    *entry(&B, no_number, 3, 3) = (double)NAN;
    B.b[no_number * n + 1] = 1;
    for (int i = 0; i < n; i++) B.b[no_rhs * n + i] = 0;
    B.b[huge * n + 2] = (double)INFINITY;
    double *x = solve(&B, params, 0, NULL, each, &result);
    assert_int_equal(result.first, zero_row);
    assert_int_equal(result.solved, SYSTEMS - 4);
    assert_int_equal(each[zero].verdict, singular);
    assert_int_equal(each[no_number].verdict, KRY_SYSTEMS_NOT_FINITE);
    assert_int_equal(each[huge].verdict, KRY_SYSTEMS_NOT_FINITE);
    assert_non_null(strstr(result.why, "system 7: "));
    assert_true(isnan(result.worst_residual));
    for (int i = 0; i < n; i++) assert_true(x[no_rhs * n + i] == 0);
    for (int s = 0; s < SYSTEMS; s++)
        if (each[s].verdict == KRY_SYSTEMS_SOLVED)
            assert_true(residual_of(&B, s, x + s * n) <= 2 * rtol_of(type));
    free(x);
    batch_release(&B);
}

static void each_method__members_without_a_solution(void **state)
{
    const kry_type type = type_of(state);

    check_members(type, SCATTERED, 9, KRY_SYSTEMS(.method = KRY_SYSTEMS_CG), KRY_SYSTEMS_BREAKDOWN);
    check_members(type, SCATTERED, 9, KRY_SYSTEMS(.method = KRY_SYSTEMS_BICGSTAB),
                  KRY_SYSTEMS_BREAKDOWN);
    check_members(type, DENSE, 9, NULL, KRY_SYSTEMS_SINGULAR);
    check_members(type, BANDED, 9, NULL, KRY_SYSTEMS_SINGULAR);
}

/* Singular but for rounding: elimination finds pivots, and a solution of no use. */
static void lu__nearly_singular(void **state)
{
    enum { N = 3 };
    batch B = batch_create(type_of(state), DENSE, N, 1, 1, false);
    kry_systems_end end;
    kry_systems_result result;

    for (int e = 0; e < N * N; e++) B.values[e] = to_type(B.type, 0.1 * (e + 1));
    B.b[0] = 1, B.b[1] = -1, B.b[2] = 3;
    free(solve(&B, NULL, 0, NULL, &end, &result));
    assert_int_equal(end.verdict, KRY_SYSTEMS_SINGULAR);
    batch_release(&B);
}

static void cg__indefinite(void **state)
{
    enum { N = 33, SYSTEMS = 5 };
    batch B = batch_create(type_of(state), SCATTERED, N, SYSTEMS, 1, true);
    kry_systems_end each[SYSTEMS];
    kry_systems_result result;

    for (int64_t e = 0; e < B.entries; e++) B.values[3 * B.entries + e] *= -1;
    free(solve(&B, KRY_SYSTEMS(.method = KRY_SYSTEMS_CG), 0, NULL, each, &result));
    assert_int_equal(result.first, 3);
    assert_int_equal(each[3].verdict, KRY_SYSTEMS_BREAKDOWN);
    free(solve(&B, KRY_SYSTEMS(.method = KRY_SYSTEMS_BICGSTAB), 0, NULL, each, &result));
    assert_int_equal(result.solved, SYSTEMS);
    batch_release(&B);
}

static void iterations__limit_and_guess(void **state)
{
    enum { N = 129, SYSTEMS = 3 };
    static const kry_systems_method methods[] = { KRY_SYSTEMS_CG, KRY_SYSTEMS_BICGSTAB };
    batch B = batch_create(type_of(state), SCATTERED, N, SYSTEMS, 1, true);
    kry_systems_end each[SYSTEMS];
    kry_systems_result result;

    for (size_t m = 0; m < COUNT(methods); m++) {
        double *x =
            solve(&B, KRY_SYSTEMS(.method = methods[m], .max_iter = 2), 0, NULL, each, &result);
        for (int s = 0; s < SYSTEMS; s++) {
            assert_int_equal(each[s].verdict, KRY_SYSTEMS_LIMIT);
            assert_int_equal(each[s].iterations, 2);
        }
        check_ends(&B, x, each);
        free(x);
        x = solve(&B, KRY_SYSTEMS(.method = methods[m]), 0, NULL, each, &result);
        assert_int_equal(result.solved, SYSTEMS);
        const int64_t cold = result.most_iterations;
        double *again =
            solve(&B, KRY_SYSTEMS(.method = methods[m], .guess = true), 0, x, each, &result);
        assert_int_equal(result.solved, SYSTEMS);
        assert_true(cold > 2 && result.most_iterations <= 1);
        free(x), free(again);
        x = solve(&B, KRY_SYSTEMS(.method = methods[m], .rtol = 1e-30), 0, NULL, each, &result);
        assert_int_equal(result.solved, 0);
        assert_true(each[0].verdict == KRY_SYSTEMS_STAGNATED ||
                    each[0].verdict == KRY_SYSTEMS_BREAKDOWN ||
                    each[0].verdict == KRY_SYSTEMS_NOT_FINITE);
        free(x);
    }
    batch_release(&B);
}

static void each_method__columns(void **state)
{
    enum { N = 20, MATRICES = 7, COLUMNS = 3 };
    static const kry_systems_method methods[] = { KRY_SYSTEMS_CG, KRY_SYSTEMS_BICGSTAB,
                                                  KRY_SYSTEMS_LU, KRY_SYSTEMS_TRIDIAGONAL };
    for (size_t m = 0; m < COUNT(methods); m++) {
        batch B = batch_create(type_of(state), BANDED, N, MATRICES, COLUMNS, true);
        kry_systems_end each[MATRICES * COLUMNS];
        kry_systems_result result;
        double *x = solve(&B, KRY_SYSTEMS(.method = methods[m]), 4, NULL, each, &result);
        assert_int_equal(result.solved, MATRICES * COLUMNS);
        check_ends(&B, x, each);
        free(x);
        batch_release(&B);
    }
}

/* Without room in local memory, with room for vectors alone or a panel of the factors, and with room for all. */
static void each_method__local_memory(void **state)
{
    static const char *const profiles[] = { "gpu-kernels local=1024", "gpu-kernels local=8192",
                                            "gpu-kernels local=16384" };
    const kry_type type = type_of(state);

    NOT_ON_HOST("local memory");
    for (size_t p = 0; p < COUNT(profiles); p++) {
        use_profile(profiles[p]);
        for (kry_systems_method m = KRY_SYSTEMS_CG; m <= KRY_SYSTEMS_LU; m++) {
            batch B = batch_create(type, SCATTERED, 60, 9, 1, true);
            kry_systems_end each[9];
            kry_systems_result result;
            double *x = solve(&B, KRY_SYSTEMS(.method = m), 0, NULL, each, &result);
            if (result.solved != 9) fail_msg("%s: %s", profiles[p], result.why);
            check_ends(&B, x, each);
            free(x);
            batch_release(&B);
        }
        if (p == 0) continue;
        check_members(type, DENSE, 33, KRY_SYSTEMS(.method = KRY_SYSTEMS_LU), KRY_SYSTEMS_SINGULAR);
        check_pivots(type, 70);
        solves(type, DENSE, KRY_SYSTEMS(.method = KRY_SYSTEMS_LU), 129);
    }
}

/* ---- what is refused ------------------------------------------------------------------------ */

static void create__refuses(void **state)
{
    (void)state;
    const int64_t row_ptr[] = { 0, 2, 4 }, falls[] = { 0, 2, 1 }, late[] = { 1, 2, 3 };
    const int32_t col[] = { 0, 1, 0, 1 }, outside[] = { 0, 1, 0, 2 };
    const int64_t wide_ptr[] = { 0, 1, 2, 4 };
    const int32_t wide_col[] = { 0, 1, 0, 2 };
    kry_device *dev = device();
    kry_systems *S;

    REFUSES(kry_systems_create(dev, KRY_F32, 0, NULL, NULL, NULL, &S), KRY_ERR_SHAPE, "0 rows");
    REFUSES(kry_systems_create(dev, KRY_F32, 40000, NULL, NULL, NULL, &S), KRY_ERR_SHAPE, "40000");
    REFUSES(kry_systems_create(dev, (kry_type)7, 2, NULL, NULL, NULL, &S), KRY_ERR_ARGUMENT, "7");
    REFUSES(kry_systems_create(dev, KRY_F32, 2, falls, col, NULL, &S), KRY_ERR_ARGUMENT,
            "row_ptr[2] is 1");
    REFUSES(kry_systems_create(dev, KRY_F32, 2, late, col, NULL, &S), KRY_ERR_ARGUMENT,
            "row_ptr[0] is 1");
    REFUSES(kry_systems_create(dev, KRY_F32, 2, row_ptr, outside, NULL, &S), KRY_ERR_ARGUMENT,
            "column 2 at entry 3 (row 1)");
    REFUSES(kry_systems_create(dev, KRY_F32, 2, row_ptr, NULL, NULL, &S), KRY_ERR_ARGUMENT, "col");
    REFUSES(kry_systems_create(dev, KRY_F32, 3, wide_ptr, wide_col,
                               KRY_SYSTEMS(.method = KRY_SYSTEMS_TRIDIAGONAL), &S),
            KRY_ERR_ARGUMENT, "tridiagonal");
    REFUSES(kry_systems_create(dev, KRY_F32, 2, NULL, NULL, KRY_SYSTEMS(.rtol = 1), &S),
            KRY_ERR_ARGUMENT, "rtol");
    REFUSES(kry_systems_create(dev, KRY_F32, 2, NULL, NULL, KRY_SYSTEMS(.max_iter = -1), &S),
            KRY_ERR_ARGUMENT, "max_iter");
    REFUSES(kry_systems_create(dev, KRY_F32, 2, NULL, NULL,
                               KRY_SYSTEMS(.method = (kry_systems_method)9), &S),
            KRY_ERR_ARGUMENT, "9");
    assert_null(S);
}

static void solve__refuses(void **state)
{
    (void)state;
    kry_systems *S;
    kry_vec *values, *b, *x, *other, *single;

    OK(kry_systems_create(device(), KRY_F32, 3, NULL, NULL, NULL, &S));
    OK(kry_vec_create(device(), KRY_F32, 9, 2, &values));
    OK(kry_vec_create(device(), KRY_F32, 3, 4, &b));
    OK(kry_vec_create(device(), KRY_F32, 3, 4, &x));
    OK(kry_vec_create(device(), KRY_F32, 3, 3, &other));
    REFUSES(kry_systems_solve(S, b, b, x, NULL, NULL), KRY_ERR_SHAPE, "values has 3 rows");
    REFUSES(kry_systems_solve(S, values, values, x, NULL, NULL), KRY_ERR_SHAPE, "b has 9 rows");
    REFUSES(kry_systems_solve(S, values, other, other, NULL, NULL), KRY_ERR_SHAPE, "2 matrices");
    REFUSES(kry_systems_solve(S, values, b, other, NULL, NULL), KRY_ERR_SHAPE, "x 3");
    REFUSES(kry_systems_solve(S, values, b, b, NULL, NULL), KRY_ERR_ARGUMENT, "overlaps");
    if (kry_device_get_info(device())->fp64) {
        OK(kry_vec_create(device(), KRY_F64, 3, 4, &single));
        REFUSES(kry_systems_solve(S, values, single, x, NULL, NULL), KRY_ERR_TYPE, "b is double");
        kry_vec_release(&single);
    }
    kry_vec_release(&values), kry_vec_release(&b), kry_vec_release(&x), kry_vec_release(&other);
    kry_systems_release(&S);
}

/* Each request for memory fails in turn; nothing leaks, and the next solve with the same object works. */
static void each_method__no_memory(void **state)
{
    (void)state;
    for (kry_systems_method m = KRY_SYSTEMS_CG; m <= KRY_SYSTEMS_TRIDIAGONAL; m++) {
        batch B = batch_create(KRY_F32, BANDED, 9, 4, 1, true);
        kry_vec *values = vec_of(KRY_F32, B.values, B.entries, 4), *b = vec_of(KRY_F32, B.b, 9, 4),
                *x = vec_of(KRY_F32, B.b, 9, 4);
        kry_systems *S;
        EACH_REQUEST(k)
        {
            const kry_status st =
                FAILING(k, kry_systems_create(device(), KRY_F32, 9, B.row_ptr, B.col,
                                              KRY_SYSTEMS(.method = m), &S));
            assert_true(st == KRY_ERR_MEMORY ? !S : !request_failed);
            kry_systems_release(&S);
        }
        EACH_REQUEST(k)
        {
            OK(kry_systems_create(device(), KRY_F32, 9, B.row_ptr, B.col, KRY_SYSTEMS(.method = m),
                                  &S));
            const kry_status st = FAILING(k, kry_systems_solve(S, values, b, x, NULL, NULL));
            assert_true(st == KRY_ERR_MEMORY || !request_failed);
            OK(kry_systems_solve(S, values, b, x, NULL, NULL));
            kry_systems_release(&S);
        }
        kry_vec_release(&values), kry_vec_release(&b), kry_vec_release(&x);
        batch_release(&B);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FOUR(cg__random),
        FOUR(bicgstab__random),
        FOUR(lu__random),
        FOUR(tridiagonal__random),
        FOUR(lu__pivots),
        FOUR(each_method__members_without_a_solution),
        FOUR(lu__nearly_singular),
        FOUR(cg__indefinite),
        FOUR(iterations__limit_and_guess),
        FOUR(each_method__columns),
        cmocka_unit_test_setup(create__refuses, on_cpu_kernels),
        cmocka_unit_test_setup(solve__refuses, on_cpu_kernels),
        cmocka_unit_test_setup(each_method__no_memory, on_cpu_kernels),
        { "each_method__local_memory/single", each_method__local_memory, NULL, NULL, &type_single },
        { "each_method__local_memory/double", each_method__local_memory, NULL, NULL, &type_double },
    };

    return cmocka_run_group_tests(tests, keep_profile, restore_profile);
}
