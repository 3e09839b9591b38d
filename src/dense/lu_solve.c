/* lu_solve.c - solves with the factors of a dense matrix: by triangles along the diagonal, and products with
 * the blocks beside these. Kernels: cl/dense/lu.cl, and products. */
#include "dense/lu.h"
#include <kry/vec.h>
#include <math.h>
#include <stdlib.h>

enum { ROWS_ON_CPU = 64 };

/* COLUMNS of cl/dense/lu.cl: of X in the local memory of a group, 8 KB with KRY_LU_TRIANGLE rows. */
int kryi_lu_columns(kry_type type) { return type == KRY_F32 ? 8 : 4; }

void kryi_lu_defines(kry_type type, const char *more, char *text, size_t size)
{
    snprintf(text, size, "-DPANEL=%d -DTRIANGLE=%d -DCOLUMNS=%d%s", KRY_LU_PANEL, KRY_LU_TRIANGLE,
             kryi_lu_columns(type), more);
}

kry_status kryi_lu_launch(kry_device *dev, kry_type type, const char *name, int64_t groups,
                          const kry_arg *args, size_t count)
{
    char defines[80];
    kryi_lu_defines(type, "", defines, sizeof defines);
    return kryi_run(dev, "lu", type, defines, name, groups, args, count);
}

kry_status kryi_lu_triangle(bool lower, bool transposed, const kryi_block *F, const kryi_block *X)
{
    kry_device *dev = X->dev;
    const cl_int b = (cl_int)F->rows, backward = lower == transposed, unit = lower;
    const int64_t t_row = transposed ? F->ld : 1, t_col = transposed ? 1 : F->ld;
    const bool cpu = dev->info.cpu_kernels;
    cl_int columns = cpu ? kryi_vector_width(dev, X->type) : kryi_lu_columns(X->type);

    while (!cpu && columns > 1 && (columns / 2 >= X->cols || columns > kryi_group_size(dev)))
        columns /= 2;
    const int64_t groups = kryi_groups_at_most(dev, (X->cols + columns - 1) / columns);
    const kry_arg args[] = { ARG(b),     ARG(X->cols), ARG(backward), ARG(unit),  ARG_VEC(F),
                             ARG(t_row), ARG(t_col),   ARG_VEC(X),    ARG(X->ld), ARG(columns) };
    return kryi_lu_launch(dev, X->type, "lu_triangle", groups, args, COUNT(args));
}

/* X := T^-1 X with T the whole lower or upper triangle of F, or its transpose. unit: X is the unit matrix and
 * T the lower triangle, so that row i of X is zero behind column i. */
static kry_status sweep(bool lower, bool transposed, bool unit, const kryi_block *F,
                        const kryi_block *X)
{
    kry_status st = KRY_OK;
    const bool backward = lower == transposed;
    const int64_t n = F->rows, most = F->dev->info.cpu_kernels ? ROWS_ON_CPU : KRY_LU_TRIANGLE,
                  last = (n - 1) / most * most;

    for (int64_t at = 0; at < n; at += most) {
        const int64_t i = backward ? last - at : at, b = n - i < most ? n - i : most;
        /* rows that are still to come */
        const int64_t r0 = backward ? 0 : i + b, rows = backward ? i : n - i - b,
                      cols = unit ? i + b : X->cols;
        const kryi_block T = kryi_block_part(F, i, i, b, b),
                         X_i = kryi_block_part(X, i, 0, b, cols);
        TRY(kryi_lu_triangle(lower, transposed, &T, &X_i));
        TRY(kryi_gemm_run(&(kryi_gemm){ .ta = transposed,
                                        .alpha = -1,
                                        .A = transposed ? kryi_block_part(F, i, r0, b, rows)
                                                        : kryi_block_part(F, r0, i, rows, b),
                                        .B = X_i,
                                        .beta = 1,
                                        .C = kryi_block_part(X, r0, 0, rows, cols) }));
    }
done:
    return st;
}

static kry_status permute(const kryi_lu *lu, bool gather, bool scatter, double alpha,
                          const kry_vec *x, double beta, kry_vec *y)
{
    kry_device *dev = y->dev;
    const cl_int g = gather, s = scatter;
    kryi_scalar a = kryi_scalar_of(dev, alpha), b = kryi_scalar_of(dev, beta);
    const kry_arg args[] = { ARG(y->n),  ARG(y->k),       ARG(g),
                             ARG(s),     ARG(lu->order),  ARG_ACC(dev, a),
                             ARG_VEC(x), ARG_ACC(dev, b), ARG_VEC(y) };

    return kryi_lu_launch(dev, y->type, "lu_permute", kryi_groups_for(dev, y->type, y->n * y->k),
                          args, COUNT(args));
}

kry_status kryi_lu_run(const kryi_lu *lu, bool transposed, double alpha, const kry_vec *B,
                       kry_vec *T, double beta, kry_vec *Y)
{
    kry_status st = KRY_OK;
    const kryi_block F = kryi_block_of(lu->F), X = kryi_block_of(T);

    TRY(permute(lu, !transposed, false, 1, B, 0, T));
    TRY(sweep(!transposed, transposed, false, &F, &X)); /* L, or U' */
    TRY(sweep(transposed, transposed, false, &F, &X));  /* U, or L' */
    TRY(permute(lu, false, transposed, alpha, T, beta, Y));
done:
    return st;
}

kry_status kry_lu_solve(const kry_op *op, bool transposed, const kry_vec *B, kry_vec *X)
{
    static const char who[] = "kry_lu_solve";
    kry_status st = KRY_OK;
    const kryi_lu *lu;
    kry_vec *room = NULL;

    TRY(kryi_lu_get(who, op, true, &lu));
    TRY(kryi_dense_check(who, "B", B));
    TRY(kryi_dense_check(who, "X", X));
    CHECK(B->n == lu->n && X->n == lu->n && B->k == X->k, KRY_ERR_SHAPE,
          "%s: A is %lld-by-%lld, but B is %lld-by-%lld and X %lld-by-%lld", who, (long long)lu->n,
          (long long)lu->n, (long long)B->n, (long long)B->k, (long long)X->n, (long long)X->k);
    TRY(kryi_dense_check_two(who, "B", B, "X", X, true));
    TRY(kryi_dense_check_two(who, "X", X, "the factors", lu->F, false));
    TRY(kryi_lu_check_regular(who, lu));
    TRY(kryi_lu_check_solve(who, op->self, transposed, X->k));
    if (X->k > 1) TRY(kry_vec_create(op->dev, X->type, X->n, X->k, &room));
    TRY(kryi_lu_run(lu, transposed, 1, B, room ? room : lu->work, 0, X));
done:
    kry_vec_release(&room);
    return st;
}

static kry_status check_inverse(const char *who, const kry_vec *A, const kry_vec *inverse)
{
    kry_status st = KRY_OK;

    TRY(kryi_dense_check(who, "A", A));
    TRY(kryi_dense_check(who, "inverse", inverse));
    CHECK(A->n == A->k && inverse->n == A->n && inverse->k == A->n, KRY_ERR_SHAPE,
          "%s: A is %lld-by-%lld, inverse %lld-by-%lld", who, (long long)A->n, (long long)A->k,
          (long long)inverse->n, (long long)inverse->k);
    TRY(kryi_dense_check_two(who, "A", A, "inverse", inverse, true));
done:
    return st;
}

/* ---- verdicts on what the device computed ---- */

/* Whether norms are too small to say anything of. */
static bool too_small(const kryi_lu *lu)
{
    return lu->norm / (double)lu->n < (lu->F->type == KRY_F32 ? 1e-30 : 1e-290);
}

static kry_status check_left(const char *who, const kryi_lu *lu, double left, double by)
{
    kry_status st = KRY_OK;
    const kry_device_info *info = &lu->F->dev->info;
    /* of ||A x - b|| / (||A|| ||x|| + ||b||), which no matrix is so hard as to reach */
    const double half = kryi_dense_half_of_digits(lu->F->type);

    CHECK(!isfinite(left) || !isfinite(by) || left <= half * by, KRY_ERR_DEVICE,
          "%s: '%s', driver %s, computed a wrong result: with it ||A x - b|| is %.2g of ||A|| "
          "||x|| + ||b||, and "
          "%.0g is the most (pivots up to %.3g, ||A|| = %.3g)",
          who, info->name, info->driver, left / by, half, lu->largest, lu->norm);
done:
    return st;
}

/* The sum of all magnitudes, or their maximum. host: room for all numbers of x. */
static kry_status norm_of(const kry_vec *x, bool maximum, void *host, double *norm)
{
    kry_status st = KRY_OK;

    *norm = 0;
    TRY(kry_vec_read(x, host));
    for (int64_t i = 0; i < x->n * x->k; i++) {
        const double a = fabs(kryi_number_at(x->type, host, i));
        *norm = maximum ? fmax(*norm, a) : *norm + a;
    }
done:
    return st;
}

/* B := random numbers as large as A's entries, so that solutions are about 1: there are matrices near the limits of
 * their type. */
static kry_status fill_random(const kryi_lu *lu, void *host, kry_vec *B)
{
    const double size = lu->norm / (double)lu->n;
    for (int64_t i = 0; i < B->n * B->k; i++)
        kryi_number_put(B->type, host, i, size * (kry_random_unit(1, 0, (uint64_t)i) - 0.5));
    return kry_vec_write(B, host);
}

static kry_status multiply(bool transposed, double alpha, const kry_vec *A, const kry_vec *B,
                           double beta, kry_vec *C)
{
    return kryi_gemm_run(&(kryi_gemm){ .ta = transposed,
                                       .alpha = alpha,
                                       .A = kryi_block_of(A),
                                       .B = kryi_block_of(B),
                                       .beta = beta,
                                       .C = kryi_block_of(C) });
}

/* x := what is to be A^-1 b, then b := b - A x */
static kry_status residual(const kryi_lu *lu, const kry_vec *A, const kry_vec *inverse, kry_vec *b,
                           kry_vec *x)
{
    kry_status st = KRY_OK;

    if (inverse) {
        TRY(permute(lu, true, false, 1, b, 0, lu->work));
        TRY(multiply(false, 1, inverse, lu->work, 0, x));
    } else {
        TRY(kryi_lu_run(lu, false, 1, b, lu->work, 0, x));
    }
    TRY(multiply(false, -1, A, x, 1, b));
done:
    return st;
}

/* Where numbers leave their type nothing is said. */
kry_status kryi_lu_check(const char *who, const kryi_lu *lu, const kry_vec *A,
                         const kry_vec *inverse)
{
    kry_status st = KRY_OK;
    const kry_type type = A->type;
    const int64_t n = lu->n;
    kry_vec *b = NULL, *x = NULL;
    double *sums = NULL, by = 0, of_b, of_x, left;
    void *host = NULL;

    if (too_small(lu)) return KRY_OK;
    TRY(kryi_alloc((size_t)n, kry_type_size(type), &host));
    TRY(kry_vec_create(A->dev, type, n, 1, &b));
    TRY(kry_vec_create(A->dev, type, n, 1, &x));
    TRY(fill_random(lu, host, b));
    TRY(norm_of(b, false, host, &of_b));
    TRY(residual(lu, A, inverse, b, x));
    TRY(norm_of(x, false, host, &of_x));
    TRY(norm_of(b, false, host, &left));
    by = lu->norm * of_x + of_b;
    if (inverse) {
        TRY(kryi_dense_column_sums(who, inverse, &sums));
        double largest = 0;
        for (int64_t j = 0; j < n; j++) largest = fmax(largest, sums[j]);
        by += lu->norm * largest * of_b;
    }
    TRY(check_left(who, lu, left, by));
done:
    free(sums);
    free(host);
    kry_vec_release(&x);
    kry_vec_release(&b);
    return st;
}

/* A residual of L U X = P B, left in T, or of U' L' P X = B, left in B; Y is room, as T is. */
static kry_status residual_of_factors(const kryi_lu *lu, bool transposed, const kry_vec *L,
                                      const kry_vec *U, kry_vec *const *BXTY)
{
    kry_status st = KRY_OK;
    kry_vec *B = BXTY[0], *X = BXTY[1], *T = BXTY[2], *Y = BXTY[3];

    TRY(permute(lu, true, false, 1, transposed ? X : B, 0, T));
    TRY(transposed ? multiply(true, 1, L, T, 0, Y) : multiply(false, 1, U, X, 0, Y));
    TRY(transposed ? multiply(true, -1, U, Y, 1, B) : multiply(false, -1, L, Y, 1, T));
done:
    return st;
}

/* A is not there any more, but the factors are, which were checked with it. The norm that belongs to ||A||_1 is the sum of
 * magnitudes, and for A' the maximum. */
static kry_status check_solve(const char *who, const kryi_lu *lu, bool transposed, int64_t k)
{
    kry_status st = KRY_OK;
    const kry_type type = lu->F->type;
    kry_device *dev = lu->F->dev;
    const int64_t n = lu->n;
    kry_vec *L = NULL, *U = NULL, *v[4] = { NULL };
    double of_b, of_x, left;
    void *host = NULL;

    TRY(kryi_alloc((uint64_t)(n * k), kry_type_size(type), &host));
    for (size_t i = 0; i < COUNT(v); i++) TRY(kry_vec_create(dev, type, n, k, &v[i]));
    TRY(kry_vec_create(dev, type, n, n, &L));
    TRY(kry_vec_create(dev, type, n, n, &U));
    TRY(kryi_lu_copy_factor(lu, true, L));
    TRY(kryi_lu_copy_factor(lu, false, U));
    TRY(fill_random(lu, host, v[0]));
    TRY(norm_of(v[0], transposed, host, &of_b));
    TRY(kryi_lu_run(lu, transposed, 1, v[0], v[2], 0, v[1]));
    TRY(norm_of(v[1], transposed, host, &of_x));
    TRY(residual_of_factors(lu, transposed, L, U, v));
    TRY(norm_of(v[transposed ? 0 : 2], transposed, host, &left));
    TRY(check_left(who, lu, left, lu->norm * of_x + of_b));
done:
    free(host);
    for (size_t i = 0; i < COUNT(v); i++) kry_vec_release(&v[i]);
    kry_vec_release(&U);
    kry_vec_release(&L);
    return st;
}

kry_status kryi_lu_check_solve(const char *who, kryi_lu *lu, bool transposed, int64_t k)
{
    enum { ENOUGH = 17 }; /* columns: more than a group of any device takes */
    kry_status st = KRY_OK;
    const bool many = k > 1;

    if (k == 0 || lu->n == 0 || (!transposed && !many) || too_small(lu) ||
        atomic_load(&lu->checked[transposed][many]))
        return KRY_OK;
    st = check_solve(who, lu, transposed, k < ENOUGH ? k : ENOUGH);
    if (st == KRY_ERR_MEMORY) return KRY_OK; /* there is room for a solve, but none for a verdict */
    if (st == KRY_OK) atomic_store(&lu->checked[transposed][many], true);
    return st;
}

/* ---- inverses ---- */

/* X := U^-1 L^-1, which is checked, inverse := X P */
static kry_status invert(const char *who, const kryi_lu *lu, const kry_vec *A, kry_vec *X,
                         kry_vec *inverse)
{
    kry_status st = KRY_OK;
    kry_device *dev = X->dev;
    const int64_t groups = kryi_groups_for(dev, X->type, X->n * X->n);
    const kryi_block F = kryi_block_of(lu->F), all = kryi_block_of(X);
    const kry_arg unit_args[] = { ARG(X->n), ARG_VEC(X) },
                  args[] = { ARG(X->n), ARG(lu->order), ARG_VEC(X), ARG_VEC(inverse) };

    TRY(kryi_lu_launch(dev, X->type, "lu_unit", groups, unit_args, COUNT(unit_args)));
    TRY(sweep(true, false, true, &F, &all));
    TRY(sweep(false, false, false, &F, &all));
    TRY(kryi_lu_check(who, lu, A, X));
    TRY(kryi_lu_launch(dev, X->type, "lu_columns", groups, args, COUNT(args)));
done:
    return st;
}

kry_status kry_vec_inverse(const kry_vec *A, const kry_lu_params *params, kry_vec *inverse)
{
    static const char who[] = "kry_vec_inverse";
    kry_status st = KRY_OK;
    kry_op *op = NULL;
    kry_vec *X = NULL;

    TRY(check_inverse(who, A, inverse));
    TRY(kry_lu_create(A, params, &op));
    TRY(kryi_lu_check_regular(who, kryi_lu_of(op)));
    TRY(kry_vec_create(A->dev, A->type, A->n, A->n, &X));
    TRY(invert(who, kryi_lu_of(op), A, X, inverse));
done:
    kry_vec_release(&X);
    kry_op_release(&op);
    return st;
}
