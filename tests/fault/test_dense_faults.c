/*
 * test_dense_faults.c - the k-th OpenCL call fails, or the device is lost with it (sweep.h): dense
 * products, factors, echelon forms and inverses, tridiagonal, pentadiagonal and small systems.
 */
#include "sweep.h"
#include <kry/systems.h>
#include <kry/tridiagonal.h>

enum { M = 40, RHS = 3 };
static float matrix_A[M * M], ones[M * M];

static int setup(void **state)
{
    (void)state;
    for (int i = 0; i < M * M; i++) {
        matrix_A[i] = (float)sin(i) + (i % (M + 1) == 0 ? 8.0f : 0);
        ones[i] = 1;
    }
    return 0;
}

static kry_status block_of(kry_device *dev, int64_t n, int64_t k, const float *numbers, kry_vec **v)
{
    kry_status st = kry_vec_create(dev, KRY_F32, n, k, v);
    if (st >= 0) st = kry_vec_write(*v, numbers);
    if (st < 0) kry_vec_release(v);
    return st;
}

/* A call has failed, and v is what it was. */
static void check_untouched(const kry_vec *v, const float *numbers, const char *what)
{
    float now[M * M];
    char told[400], text[80];
    int64_t n = kry_vec_rows(v) * kry_vec_cols(v);

    if (lost) return;
    snprintf(told, sizeof told, "%s", kry_last_error());
    disarm();
    if (kry_vec_read(v, now) < 0)
        complain("nothing works after a call that failed");
    else if (memcmp(now, numbers, (size_t)n * sizeof *now)) {
        snprintf(text, sizeof text, "%s failed, and its output has changed", what);
        complain(text);
    }
    (void)kry_fail(KRY_ERR_DEVICE, "%s", told);
}

/* A step that leaves `output` as it was if it fails. */
#define KEEPS(call, output, numbers)                               \
    do {                                                           \
        st = (call);                                               \
        if (st < 0) check_untouched((output), (numbers), #output); \
        if (st < 0) goto done;                                     \
    } while (0)

/* ---- products ---------------------------------------------------------------------------- */

static bool are_close(const float *a, const float *b, int count)
{
    for (int i = 0; i < count; i++)
        if (!(fabsf(a[i] - b[i]) <= 1e-4f * (1 + fabsf(b[i])))) return false;
    return true;
}

/* A 1 as a product of matrices, of its transpose, and by an operator. A product of several launches
 * may have begun to write when one of them fails. */
static kry_status run_products(kry_device *dev, const scene *s, bool *good)
{
    const bool clblast = s->kind != 0;
    kry_status st = KRY_OK;
    kry_vec *A = NULL, *B = NULL, *C = NULL, *At = NULL, *x = NULL, *y = NULL;
    kry_op *op = NULL;
    float product[M * RHS] = { 0 }, other[M * RHS] = { 0 }, applied[M] = { 0 };

    STEP(block_of(dev, M, M, matrix_A, &A), A);
    STEP(block_of(dev, M, RHS, ones, &B), B);
    STEP(block_of(dev, M, RHS, ones, &C), C);
    STEP(block_of(dev, M, M, ones, &At), At);
    STEP(block_of(dev, M, 1, ones, &x), x);
    STEP(block_of(dev, M, 1, ones, &y), y);
    if (!clblast)
        KEEPS(gemm_by(clblast, false, false, 1, A, B, 0, C), C, ones);
    else
        TRY(gemm_by(clblast, false, false, 1, A, B, 0, C));
    TRY(kry_vec_read(C, product));
    KEEPS(kry_vec_transpose(A, At), At, ones);
    TRY(gemm_by(clblast, true, false, 1, At, B, 0, C));
    TRY(kry_vec_read(C, other));
    STEP(kry_dense_create(A, 0, &op), op);
    KEEPS(kry_op_apply(op, 1, x, 0, y), y, ones);
    TRY(kry_op_update(op, matrix_A));
    TRY(kry_op_apply(op, 1, x, 0, y));
    TRY(kry_vec_read(y, applied));
    *good = are_close(product, other, M * RHS) && are_close(applied, product, M);
done:
    kry_op_release(&op);
    kry_vec_release(&y), kry_vec_release(&x), kry_vec_release(&At);
    kry_vec_release(&C), kry_vec_release(&B), kry_vec_release(&A);
    return st;
}

/* ---- factors, and Gauss-Jordan elimination ------------------------------------------------ */

static kry_status run_factors(kry_device *dev, const scene *s, bool *good)
{
    kry_status st = KRY_OK;
    kry_vec *A = NULL, *B = NULL, *X = NULL, *L = NULL, *U = NULL;
    kry_op *lu = NULL;
    float back[M * RHS] = { 0 };
    double reciprocal = 0, mantissa = 0;
    int64_t exponent, rows[M];

    (void)s;
    STEP(block_of(dev, M, M, matrix_A, &A), A);
    STEP(block_of(dev, M, RHS, ones, &B), B);
    STEP(block_of(dev, M, RHS, ones, &X), X);
    STEP(kry_vec_create(dev, KRY_F32, M, M, &L), L);
    STEP(kry_vec_create(dev, KRY_F32, M, M, &U), U);
    STEP(kry_lu_create(A, NULL, &lu), lu);
    KEEPS(kry_lu_solve(lu, false, B, X), X, ones);
    TRY(kry_vec_gemm(false, false, 1, A, X, 0, B));
    TRY(kry_vec_read(B, back));
    TRY(kry_lu_condition(lu, &reciprocal));
    TRY(kry_lu_determinant(lu, &mantissa, &exponent));
    TRY(kry_lu_factors(lu, L, U, rows));
    TRY(kry_op_apply_transpose(lu, 1, B, 0, X));
    *good = are_close(back, ones, M * RHS) && reciprocal > 0 && mantissa != 0;
done:
    kry_op_release(&lu);
    kry_vec_release(&U), kry_vec_release(&L);
    kry_vec_release(&X), kry_vec_release(&B), kry_vec_release(&A);
    return st;
}

static kry_status run_gauss_jordan(kry_device *dev, const scene *s, bool *good)
{
    kry_status st = KRY_OK;
    kry_vec *A = NULL, *inverse = NULL, *product = NULL;
    float numbers[M * M], unit[M * M], echelon[M * M];
    int64_t rank = -1;

    (void)s;
    for (int i = 0; i < M * M; i++) unit[i] = i % (M + 1) == 0, numbers[i] = echelon[i] = 0;
    STEP(block_of(dev, M, M, matrix_A, &A), A);
    STEP(block_of(dev, M, M, ones, &inverse), inverse);
    STEP(block_of(dev, M, M, ones, &product), product);
    KEEPS(kry_vec_inverse(A, NULL, inverse), inverse, ones);
    TRY(kry_vec_gemm(false, false, 1, A, inverse, 0, product));
    TRY(kry_vec_read(product, numbers));
    KEEPS(kry_vec_rref(A, 0, NULL, &rank), A, matrix_A);
    TRY(kry_vec_read(A, echelon));
    *good = rank == M && are_close(numbers, unit, M * M) && are_close(echelon, unit, M * M);
done:
    kry_vec_release(&product), kry_vec_release(&inverse), kry_vec_release(&A);
    return st;
}

/* ---- many systems of three and of five diagonals ------------------------------------------ */

enum { SAFE, PIVOTED, LATER, PERIODIC, FIVE, SYSTEMS_KINDS }; /* dominant or not ... */
enum { EQUATIONS = 500 };

static kry_status solve_systems(const scene *s, kry_vec *side, kry_vec *diagonal, kry_vec *b,
                                kry_vec *x)
{
    const kry_tridiagonal_params *p =
        KRY_TRIDIAGONAL(.periodic = s->kind == PERIODIC, .later = s->kind == LATER);
    if (s->kind == FIVE) return kry_pentadiagonal_solve(p, side, side, diagonal, side, side, b, x);
    return kry_tridiagonal_solve(p, side, diagonal, side, b, x);
}

/* Systems whose solution is 1, but for their first and last equations if not periodic. What stays
 * with the device for the next call is let go, to be asked for each time. */
static kry_status run_systems(kry_device *dev, const scene *s, bool *good)
{
    enum { COUNT_ = 3, ALL = COUNT_ * EQUATIONS };
    const double middle = s->kind == PIVOTED || s->kind == LATER ? 1.5 : 6;
    kry_status st = KRY_OK;
    kry_vec *side = NULL, *diagonal = NULL, *b = NULL, *x = NULL;
    float got[ALL] = { 0 }, worst = 0;

    STEP(kry_vec_create(dev, KRY_F32, EQUATIONS, COUNT_, &side), side);
    STEP(kry_vec_create(dev, KRY_F32, EQUATIONS, COUNT_, &diagonal), diagonal);
    STEP(kry_vec_create(dev, KRY_F32, EQUATIONS, COUNT_, &b), b);
    STEP(kry_vec_create(dev, KRY_F32, EQUATIONS, COUNT_, &x), x);
    TRY(kry_vec_fill(side, 1));
    TRY(kry_vec_fill(diagonal, middle));
    TRY(kry_vec_fill(b, 1));
    TRY(solve_systems(s, side, diagonal, b, x));
    TRY(solve_systems(s, side, diagonal, b, b)); /* in place */
    TRY(kry_systems_check(dev, NULL));
    TRY(kry_vec_read(x, got));
    for (int i = 1; i + 1 < EQUATIONS && s->kind != FIVE; i++) {
        float r = got[i - 1] + (float)middle * got[i] + got[i + 1] - 1;
        worst = fmaxf(worst, fabsf(r));
    }
    *good = worst < 1e-3f && got[EQUATIONS / 2] != 0;
done:
    forget_kept(dev);
    kry_vec_release(&x), kry_vec_release(&b);
    kry_vec_release(&diagonal), kry_vec_release(&side);
    return st;
}

/* ---- small systems of one pattern --------------------------------------------------------------- */

/* Matrices of ones with 4 more on the diagonal; the second solve finds the room that the first one left. */
static kry_status run_small_systems(kry_device *dev, const scene *s, bool *good)
{
    enum { ROWS = 5, COUNT_ = 3 };
    kry_status st = KRY_OK;
    kry_systems *S = NULL;
    kry_vec *values = NULL, *b = NULL, *x = NULL;
    kry_systems_result result = { .solved = 0 };
    float numbers[ROWS * ROWS * COUNT_], got[ROWS * COUNT_] = { 0 }, want[ROWS * COUNT_];

    for (int e = 0; e < ROWS * ROWS * COUNT_; e++)
        numbers[e] = e % (ROWS * ROWS) % (ROWS + 1) == 0 ? 5 : 1;
    for (int i = 0; i < ROWS * COUNT_; i++) want[i] = 1;
    STEP(kry_systems_create(dev, KRY_F32, ROWS, NULL, NULL,
                            KRY_SYSTEMS(.method = (kry_systems_method)s->kind), &S),
         S);
    STEP(kry_vec_create(dev, KRY_F32, ROWS * ROWS, COUNT_, &values), values);
    STEP(kry_vec_create(dev, KRY_F32, ROWS, COUNT_, &b), b);
    STEP(kry_vec_create(dev, KRY_F32, ROWS, COUNT_, &x), x);
    TRY(kry_vec_write(values, numbers));
    TRY(kry_vec_fill(b, ROWS + 4));
    for (int time = 0; time < 2; time++) TRY(kry_systems_solve(S, values, b, x, NULL, &result));
    TRY(kry_vec_read(x, got));
    *good = result.solved == COUNT_ && are_close(got, want, ROWS * COUNT_);
done:
    kry_vec_release(&x), kry_vec_release(&b), kry_vec_release(&values);
    kry_systems_release(&S);
    return st;
}

/* ---- the sweeps --------------------------------------------------------------------------- */

static const scene scenes[] = {
    { .name = "gemm by kry's own kernel", .run = run_products },
    { .name = "gemm by CLBlast", .run = run_products, .kind = true },
    { .name = "lu", .run = run_factors },
    { .name = "gauss-jordan", .run = run_gauss_jordan },
    { .name = "tridiagonal", .run = run_systems, .kind = SAFE },
    { .name = "tridiagonal, pivoted", .run = run_systems, .kind = PIVOTED },
    { .name = "tridiagonal, reported later", .run = run_systems, .kind = LATER },
    { .name = "tridiagonal, periodic", .run = run_systems, .kind = PERIODIC },
    { .name = "pentadiagonal", .run = run_systems, .kind = FIVE },
    { .name = "small systems by CG", .run = run_small_systems, .kind = KRY_SYSTEMS_CG },
    { .name = "small systems by LU", .run = run_small_systems, .kind = KRY_SYSTEMS_LU },
};

static bool possible(const scene *s) { return s->run != run_products || !s->kind || has_clblast(); }

static void call__fails_in_dense_operations(void **state)
{
    (void)state;
    complaints = 0;
    for (size_t i = 0; i < COUNT(scenes); i++)
        if (possible(&scenes[i])) sweep(device(), &scenes[i]);
    assert_int_equal(complaints, 0);
}

static void device__lost_in_dense_operations(void **state)
{
    (void)state;
    complaints = 0;
    for (size_t i = 0; i < COUNT(scenes); i++)
        if (possible(&scenes[i])) lose(device(), &scenes[i]);
    assert_int_equal(complaints, 0);
}

/* A pattern chooses among the tests. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(call__fails_in_dense_operations),
        cmocka_unit_test(device__lost_in_dense_operations),
    };
    NEED_LAYER;
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    limit_time();
    return cmocka_run_group_tests(tests, setup, close_device);
}
