/*
 * op_suite.h - the contract that every operator keeps, whatever it is made of.
 *
 *     op_suite(op, &A);
 *
 * holds `op` against the same matrix on the host. Vectors start at several offsets, have one or
 * three columns, and stand between guard zones; outputs are NaN before every run.
 */
#ifndef KRY_OP_SUITE_H
#define KRY_OP_SUITE_H

#include "testing.h"

typedef kry_status op_suite_apply(const kry_op *op, double alpha, const kry_vec *x, double beta,
                                  kry_vec *y);

typedef struct op_suite_blocks {
    const kry_op *op;
    const matrix *A;
    kry_type type;
    int64_t k;
    double *x, *y0; /* cols-by-k, rows-by-k */
    guarded X, Y;
} op_suite_blocks;

/* y == alpha A x + beta y0, column by column; y0 is not used if beta == 0. */
static void op_suite_compare(const op_suite_blocks *s, const matrix *A, double alpha, double beta,
                             const double *y)
{
    for (int64_t j = 0; j < s->k; j++)
        for (int64_t i = 0; i < A->rows; i++) {
            long double magnitude, sum = row_times(A, i, s->x + j * A->cols, NULL, &magnitude);
            long double old = beta == 0 ? 0 : (long double)beta * s->y0[j * A->rows + i];
            NEAR(y[j * A->rows + i], alpha * sum + old,
                 row_bound(A, i, s->type, fabsl(alpha * magnitude) + fabsl(old)),
                 "row %lld, column %lld of %g A x + %g y, A %lld-by-%lld", (long long)i,
                 (long long)j, alpha, beta, (long long)A->rows, (long long)A->cols);
        }
}

/* beta == 0 over NaN, the same bits again, and alpha, beta of all kinds. */
static void op_suite_product(op_suite_blocks *s, op_suite_apply *apply, const matrix *A)
{
    static const double scale[][2] = { { -0.375, 2.5 }, { 1, 1 }, { 0, -1.5 }, { 1.0 / 3, 0.1 } };
    int64_t numbers = A->rows * s->k;

    poison(&s->Y);
    OK(apply(s->op, 1.0, s->X.v, 0.0, s->Y.v));
    double *y = guarded_read(&s->Y);
    op_suite_compare(s, A, 1.0, 0.0, y);
    poison(&s->Y);
    OK(apply(s->op, 1.0, s->X.v, 0.0, s->Y.v));
    double *again = guarded_read(&s->Y);
    assert_same_bits(y, again, numbers);
    free(again);
    free(y);
    for (size_t c = 0; c < (small_run() ? 1 : COUNT(scale)); c++) {
        double alpha = to_type(s->type, scale[c][0]), beta = to_type(s->type, scale[c][1]);
        guarded_write(&s->Y, s->y0);
        OK(apply(s->op, alpha, s->X.v, beta, s->Y.v));
        y = guarded_read(&s->Y);
        op_suite_compare(s, A, alpha, beta, y);
        free(y);
    }
    double *x = guarded_read(&s->X);
    assert_same_bits(x, s->x, A->cols * s->k);
    free(x);
}

/* A (x0 + c x1) == A x0 + c A x1, from the device's own products of the three columns. */
static void op_suite_linearity(op_suite_blocks *s)
{
    const matrix *A = s->A;
    const double c = 0.75;

    for (int64_t j = 0; j < A->cols; j++)
        s->x[2 * A->cols + j] = to_type(s->type, s->x[j] + c * s->x[A->cols + j]);
    guarded_write(&s->X, s->x);
    poison(&s->Y);
    OK(kry_op_apply(s->op, 1.0, s->X.v, 0.0, s->Y.v));
    double *y = guarded_read(&s->Y);
    for (int64_t i = 0; i < A->rows; i++) {
        long double m0, m1;
        row_times(A, i, s->x, NULL, &m0);
        row_times(A, i, s->x + A->cols, NULL, &m1);
        NEAR(y[2 * A->rows + i], y[i] + (long double)c * y[A->rows + i],
             2 * row_bound(A, i, s->type, m0 + c * m1), "linearity in row %lld", (long long)i);
    }
    free(y);
}

/* r == b - A x, in a vector of its own and over b; `offset` is that of r, for bits repeat where vectors lie alike. */
static void op_suite_residual(op_suite_blocks *s, int64_t offset)
{
    const matrix *A = s->A;
    guarded B = guarded_create(s->type, A->rows, s->k, offset, s->y0);

    poison(&s->Y);
    OK(kry_op_residual(s->op, B.v, s->X.v, s->Y.v));
    double *r = guarded_read(&s->Y), *b = guarded_read(&B);
    op_suite_compare(s, A, -1.0, 1.0, r);
    assert_same_bits(b, s->y0, A->rows * s->k);
    OK(kry_op_residual(s->op, B.v, s->X.v, B.v));
    double *over = guarded_read(&B);
    assert_same_bits(over, r, A->rows * s->k);
    free(over);
    free(b);
    free(r);
    guarded_release(&B);
}

/* <A x, w> == <x, A' w>, and the transpose as good as the product; or a clear refusal. */
static void op_suite_transpose(op_suite_blocks *s, int64_t offset)
{
    const matrix *A = s->A;
    bool offered =
        op_table(s->op)->apply_transpose || (kry_op_get_shape(s->op)->traits & KRY_SYMMETRIC);
    op_suite_blocks t = { .op = s->op, .A = A, .type = s->type, .k = s->k };

    t.x = random_array(s->type, A->rows * s->k);
    t.y0 = random_array(s->type, A->cols * s->k);
    t.X = guarded_create(s->type, A->rows, s->k, offset, t.x);
    t.Y = guarded_create(s->type, A->cols, s->k, offset, NULL);
    if (offered) {
        matrix T = transpose_of(A);
        op_suite_product(&t, kry_op_apply_transpose, &T);
        poison(&s->Y);
        poison(&t.Y);
        OK(kry_op_apply(s->op, 1.0, s->X.v, 0.0, s->Y.v));
        OK(kry_op_apply_transpose(s->op, 1.0, t.X.v, 0.0, t.Y.v));
        double *Ax = guarded_read(&s->Y), *Tw = guarded_read(&t.Y);
        for (int64_t j = 0; j < s->k; j++) {
            const double *x = s->x + j * A->cols, *w = t.x + j * A->rows;
            long double left = 0, right = 0, bound = 0, m;
            for (int64_t i = 0; i < A->rows; i++) {
                left += (long double)Ax[j * A->rows + i] * w[i];
                row_times(A, i, x, NULL, &m);
                bound += row_bound(A, i, s->type, m) * fabsl(w[i]);
            }
            for (int64_t i = 0; i < A->cols; i++) {
                right += (long double)Tw[j * A->cols + i] * x[i];
                row_times(&T, i, w, NULL, &m);
                bound += row_bound(&T, i, s->type, m) * fabsl(x[i]);
            }
            NEAR(left, right, bound, "<A x, w> and <x, A' w>");
        }
        free(Ax);
        free(Tw);
        matrix_release(&T);
    } else {
        REFUSES(kry_op_apply_transpose(s->op, 1.0, t.X.v, 0.0, t.Y.v), KRY_ERR_UNSUPPORTED,
                "transpose");
    }
    guarded_release(&t.X);
    guarded_release(&t.Y);
    free(t.x);
    free(t.y0);
}

static void op_suite_diagonal(op_suite_blocks *s, int64_t offset)
{
    const matrix *A = s->A;
    guarded D = guarded_create(s->type, A->rows, 1, offset, NULL);

    if (!op_table(s->op)->diagonal) {
        REFUSES(kry_op_diagonal(s->op, D.v), KRY_ERR_UNSUPPORTED, "diagonal");
    } else if (A->rows != A->cols) {
        REFUSES(kry_op_diagonal(s->op, D.v), KRY_ERR_SHAPE, "diagonal");
    } else {
        OK(kry_op_diagonal(s->op, D.v));
        double *d = guarded_read(&D);
        for (int64_t i = 0; i < A->rows; i++) {
            long double want = 0, size = 0;
            for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
                if (A->col[k] == i) want += A->val[k], size += fabsl((long double)A->val[k]);
            NEAR(d[i], want, row_bound(A, i, s->type, size), "diagonal entry %lld", (long long)i);
        }
        free(d);
    }
    guarded_release(&D);
}

/* What does not fit is refused, and touches nothing. */
static void op_suite_refusals(op_suite_blocks *s)
{
    const kry_op_shape *shape = kry_op_get_shape(s->op);
    kry_type other = s->type == KRY_F32 ? KRY_F64 : KRY_F32;
    int64_t rows = shape->rows, cols = shape->cols;
    kry_vec *longer, *wider, *typed, *over = NULL;

    poison(&s->Y);
    OK(kry_vec_create(device(), s->type, cols + 1, s->k, &longer));
    OK(kry_vec_create(device(), s->type, cols, s->k + 1, &wider));
    REFUSES(kry_op_apply(s->op, 1, longer, 0, s->Y.v), KRY_ERR_SHAPE, "kry_op_apply");
    REFUSES(kry_op_apply(s->op, 1, wider, 0, s->Y.v), KRY_ERR_SHAPE, "kry_op_apply");
    REFUSES(kry_op_residual(s->op, s->Y.v, longer, s->Y.v), KRY_ERR_SHAPE, "kry_op_residual");
    REFUSES(kry_op_apply(s->op, 1, NULL, 0, s->Y.v), KRY_ERR_ARGUMENT, "NULL");
    REFUSES(kry_op_apply(s->op, 1, s->X.v, 0, NULL), KRY_ERR_ARGUMENT, "NULL");
    REFUSES(kry_op_apply(NULL, 1, s->X.v, 0, s->Y.v), KRY_ERR_ARGUMENT, "NULL");
    REFUSES(kry_op_residual(s->op, NULL, s->X.v, s->Y.v), KRY_ERR_ARGUMENT, "NULL");
    REFUSES(kry_op_residual(s->op, s->Y.v, NULL, s->Y.v), KRY_ERR_ARGUMENT, "NULL");
    REFUSES(kry_op_residual(s->op, s->Y.v, s->X.v, NULL), KRY_ERR_ARGUMENT, "NULL");
    REFUSES(kry_op_diagonal(s->op, NULL), KRY_ERR_ARGUMENT, "NULL");
    kry_vec_release(&wider);
    kry_vec_release(&longer);
    if (other == KRY_F32 || kry_device_get_info(device())->fp64) {
        OK(kry_vec_create(device(), other, cols, s->k, &typed));
        REFUSES(kry_op_apply(s->op, 1, typed, 0, s->Y.v), KRY_ERR_TYPE, "single");
        kry_vec_release(&typed);
    }
    if (rows > 0 && cols > 0) {
        /* x and y share one number: the last of y is the first of x. */
        int64_t numbers = (rows + cols) * s->k;
        guarded both = guarded_create(s->type, numbers, 1, 0, NULL);
        kry_vec *x;
        OK(kry_vec_wrap(device(), s->type, rows, s->k, both.buffer, GUARD, &over));
        OK(kry_vec_wrap(device(), s->type, cols, s->k, both.buffer, GUARD + rows * s->k - 1, &x));
        REFUSES(kry_op_apply(s->op, 1, x, 0, over), KRY_ERR_ARGUMENT, "overlap");
        REFUSES(kry_op_residual(s->op, s->Y.v, x, over), KRY_ERR_ARGUMENT, "overlap");
        REFUSES(kry_op_residual(s->op, over, x, s->Y.v), KRY_ERR_ARGUMENT, "overlap");
        kry_vec_release(&x);
        kry_vec_release(&over);
        if (rows * s->k > 1) { /* r may be b, but not a part of it */
            guarded two = guarded_create(s->type, rows * s->k + 1, 1, 0, NULL);
            kry_vec *b, *r;
            OK(kry_vec_wrap(device(), s->type, rows, s->k, two.buffer, GUARD, &b));
            OK(kry_vec_wrap(device(), s->type, rows, s->k, two.buffer, GUARD + 1, &r));
            REFUSES(kry_op_residual(s->op, b, s->X.v, r), KRY_ERR_ARGUMENT, "overlap");
            kry_vec_release(&b);
            kry_vec_release(&r);
            guarded_release(&two);
        }
        guarded_release(&both);
    }
    double *y = guarded_read(&s->Y);
    for (int64_t i = 0; i < rows * s->k; i++) assert_true(isnan(y[i]));
    free(y);
}

MAYBE_UNUSED static void op_suite(const kry_op *op, const matrix *A)
{
    /* Offsets of x and y: both aligned, one, none; k > 1 shifts the columns once more. */
    static const struct {
        int64_t k, x, y;
    } layout[] = { { 1, 0, 0 }, { 1, 1, 0 }, { 1, 0, 3 }, { 3, 1, 5 } };
    const kry_op_shape *shape = kry_op_get_shape(op);

    assert_int_equal(shape->rows, A->rows);
    assert_int_equal(shape->cols, A->cols);
    for (size_t l = 0; l < COUNT(layout); l++) {
        if (small_run() && (l == 1 || l == 2)) continue;
        op_suite_blocks s = { .op = op, .A = A, .type = shape->type, .k = layout[l].k };
        s.x = random_array(s.type, A->cols * s.k);
        s.y0 = random_array(s.type, A->rows * s.k);
        s.X = guarded_create(s.type, A->cols, s.k, layout[l].x, s.x);
        s.Y = guarded_create(s.type, A->rows, s.k, layout[l].y, NULL);
        op_suite_product(&s, kry_op_apply, A);
        op_suite_residual(&s, layout[l].y);
        op_suite_diagonal(&s, layout[l].y);
        op_suite_transpose(&s, layout[l].x);
        op_suite_refusals(&s);
        if (s.k == 3) op_suite_linearity(&s);
        guarded_release(&s.X);
        guarded_release(&s.Y);
        free(s.x);
        free(s.y0);
    }
}

#endif
