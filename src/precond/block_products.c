/* block_products.c - products in place of solves with incomplete factors: sweeps of Jacobi's iteration, or
 * incomplete inverses of the factors. Both have all rows at once, whatever the levels; where A is symmetric,
 * what they make of L' is the transpose of what they make of L, so that M stays symmetric positive definite.
 *
 * Storage     the factors, and D^-1 for sweeps
 * Per use     s sweeps: s products with L and with U and 2 s + 3 words; inverses: a product with each
 * Source      H. Anzt, E. Chow, J. Dongarra, Iterative sparse triangular solves for preconditioning, Euro-Par 2015,
 *             doi:10.1007/978-3-662-48096-0_50; the inverses: csr.h
 */
#include "precond/block_ic.h"
#include "precond/rows.h"
#include <stdlib.h>

/* ---- set-up ---------------------------------------------------------------------------------- */

/* T, in A's type, on the device. */
static kry_status upload(const kryi_block_factor *f, const kryi_csr *T, kry_op **matrix)
{
    kry_status st = KRY_OK;
    kryi_csr copy = { 0 };

    TRY(kryi_csr_copy(T, &copy));
    TRY(kryi_rows_matrix(f->A, &copy, 0, matrix));
done:
    kryi_csr_release(&copy);
    return st;
}

/* I + M, and its columns times D^-1 where that is wanted. */
static kry_status upload_inverse(const kryi_block_factor *f, const kryi_csr *M, bool by_inverse,
                                 kry_op **matrix)
{
    kry_status st = KRY_OK;
    kryi_csr whole = { 0 };
    const double *from = M->val;
    int64_t at = 0;

    TRY(kryi_csr_create(M->rows, M->cols, KRY_F64, kryi_csr_nnz(M) + M->rows, &whole));
    double *to = whole.val;
    for (int64_t i = 0; i < M->rows; i++) {
        int64_t e = M->row_ptr[i];
        const int64_t end = M->row_ptr[i + 1];
        for (; e < end && M->col[e] < i; e++) whole.col[at] = M->col[e], to[at++] = from[e];
        whole.col[at] = (int32_t)i, to[at++] = 1;
        for (; e < end; e++) whole.col[at] = M->col[e], to[at++] = from[e];
        whole.row_ptr[i + 1] = at;
    }
    for (int64_t e = 0; by_inverse && e < at; e++) to[e] /= f->d[whole.col[e]];
    TRY(kryi_rows_matrix(f->A, &whole, 0, matrix));
done:
    kryi_csr_release(&whole);
    return st;
}

/* Where A is symmetric, the inverse of L' is that of L, mirrored. */
static kry_status make_inverses(kryi_block_factor *f, kryi_block_products *p)
{
    kry_status st = KRY_OK;
    kryi_csr lower = { 0 }, upper = { 0 };

    TRY(kryi_triangle_invert(&f->lower, false, &lower));
    TRY(f->symmetric ? kryi_csr_transpose(&lower, &upper)
                     : kryi_triangle_invert(&f->upper, true, &upper));
    TRY(upload_inverse(f, &lower, false, &p->lower));
    TRY(upload_inverse(f, &upper, true, &p->upper));
done:
    kryi_csr_release(&lower);
    kryi_csr_release(&upper);
    return st;
}

static kry_status make_sweeps(kryi_block_factor *f, kryi_block_products *p)
{
    kry_status st = KRY_OK;
    const kry_op_shape *shape = &f->A->shape;
    double *inverse = NULL;

    TRY(kryi_block_factor_mirror(f));
    TRY(upload(f, &f->lower, &p->lower));
    TRY(upload(f, &f->upper, &p->upper));
    TRY(kryi_alloc((size_t)shape->rows, sizeof *inverse, &inverse));
    for (int64_t i = 0; i < shape->rows; i++) inverse[i] = 1 / f->d[i];
    TRY(kry_vec_create(f->A->dev, shape->type, shape->rows, 1, &p->inverse));
    TRY(kryi_vec_write_doubles(p->inverse, inverse));
done:
    free(inverse);
    return st;
}

kry_status kryi_block_products_create(kryi_block_factor *f, bool sweeps, kryi_block_products *p)
{
    kry_status st = KRY_OK;
    const kry_op_shape *shape = &f->A->shape;

    *p = (kryi_block_products){ 0 };
    TRY(sweeps ? make_sweeps(f, p) : make_inverses(f, p));
    if (!sweeps) TRY(kry_vec_create(f->A->dev, shape->type, shape->rows, 1, &p->w[0]));
done:
    if (st < 0) kryi_block_products_release(p);
    return st;
}

void kryi_block_products_release(kryi_block_products *p)
{
    kry_op_release(&p->lower);
    kry_op_release(&p->upper);
    kry_vec_release(&p->inverse);
    for (size_t k = 0; k < COUNT(p->w); k++) kry_vec_release(&p->w[k]);
}

/* ---- how many sweeps ------------------------------------------------------------------------- */

/* to := r - T x; x := to - x; and their norms. */
static kry_status step(const kry_op *T, const kry_vec *r, kry_vec *x, kry_vec *to, double *change,
                       double *size)
{
    kry_status st = KRY_OK;

    TRY(kry_op_residual(T, r, x, to));
    TRY(kry_vec_axpby(1, to, -1, x));
    TRY(kry_vec_norm2(x, change));
    TRY(kry_vec_norm2(to, size));
done:
    return st;
}

/* The fewest sweeps with T that leave less than half of the solution to those behind them, starting from r, if changes go
 * on to fall as they do, but LEAST unless fewer are exact: on matrices of structures and networks fewer take ten times
 * the iterations, and with more than these an iteration costs more than the solve saves. KRY_MOST_SWEEPS + 1: more. */
static kry_status count_sweeps(const kry_op *T, const kry_vec *r, kry_vec *w[2], int *sweeps)
{
    enum { LEAST = 4 };
    const double little = 0.5;
    kry_status st = KRY_OK;
    double last, change, size;

    TRY(kry_vec_copy(r, w[0]));
    TRY(step(T, r, w[0], w[1], &last, &size));
    for (*sweeps = 1; *sweeps <= KRY_MOST_SWEEPS; ++*sweeps) {
        TRY(step(T, r, w[*sweeps % 2], w[1 - *sweeps % 2], &change, &size));
        const bool falls = change < last && change <= little * size * (1 - change / last);
        if (change == 0 || (falls && *sweeps >= LEAST)) break;
        last = change;
    }
done:
    return st;
}

/* For random numbers whose mean is not 0: smooth parts are what sweeps solve last. */
kry_status kryi_block_products_count(kryi_block_products *p)
{
    kry_status st = KRY_OK;
    kry_device *dev = kry_vec_device(p->inverse);
    const kry_type type = kry_vec_type(p->inverse);
    const int64_t n = kry_vec_rows(p->inverse);
    kry_vec *r = NULL;
    int lower, upper;

    for (size_t k = 0; k < COUNT(p->w); k++)
        if (!p->w[k]) TRY(kry_vec_create(dev, type, n, 1, &p->w[k]));
    TRY(kry_vec_create(dev, type, n, 1, &r));
    TRY(kryi_vec_fill_random(0, r));
    TRY(kry_vec_fill(p->w[0], 0.5));
    TRY(kry_vec_axpby(1, p->w[0], 1, r));
    TRY(count_sweeps(p->lower, r, p->w, &lower));
    TRY(count_sweeps(p->upper, r, p->w, &upper));
    p->sweeps = lower > upper ? lower : upper;
    if (p->sweeps > KRY_MOST_SWEEPS) p->sweeps = 0;
done:
    kry_vec_release(&r);
    return st;
}

/* ---- use ------------------------------------------------------------------------------------- */

/* to := x of (I + T) x = r, nearly; it and `other` are written in turn. */
static kry_status run_sweeps(const kry_op *T, int sweeps, const kry_vec *r, kry_vec *other,
                             kry_vec *to)
{
    kry_status st = KRY_OK;
    const kry_vec *x = r;

    for (int k = sweeps - 1; k >= 0; k--) {
        kry_vec *y = k % 2 ? other : to;
        TRY(kryi_op_run_residual(T, r, x, y)); /* kry_op_residual would refuse x = r */
        x = y;
    }
done:
    return st;
}

kry_status kryi_block_products_run(kryi_block_products *p, const kry_vec *r, kry_vec *z)
{
    kry_status st = KRY_OK;
    kry_vec w[COUNT(p->w)] = { 0 };

    for (size_t k = 0; k < COUNT(p->w) && p->w[k]; k++) TRY(kryi_vec_take(&p->w[k], r->k, &w[k]));
    if (!p->sweeps) {
        TRY(kry_op_apply(p->lower, 1, r, 0, &w[0]));
        return kry_op_apply(p->upper, 1, &w[0], 0, z);
    }
    TRY(run_sweeps(p->lower, p->sweeps, r, &w[1], &w[0]));
    TRY(kryi_vec_mul_columns(1, p->inverse, &w[0], &w[0]));
    TRY(run_sweeps(p->upper, p->sweeps, &w[0], &w[1], z));
done:
    return st;
}

void kryi_block_products_describe(const kryi_block_products *p, kry_op_info *info)
{
    kry_op_info lower, upper;
    const int times = p->sweeps ? p->sweeps : 1;
    const double n = p->w[0] ? (double)kry_vec_rows(p->w[0]) : 0,
                 word = p->w[0] ? n * (double)kry_type_size(kry_vec_type(p->w[0])) : 0;

    kry_op_describe(p->lower, &lower);
    kry_op_describe(p->upper, &upper);
    info->nnz = lower.nnz + upper.nnz + (p->sweeps ? (int64_t)n : 0);
    info->slots = lower.slots + upper.slots + (p->sweeps ? (int64_t)n : 0);
    info->bytes_stored = lower.bytes_stored + upper.bytes_stored + (p->sweeps ? 3 : 1) * word;
    /* a product reads x and writes y; a sweep reads the right-hand side besides, but for the first */
    info->bytes_per_apply = times * (lower.bytes_per_apply + upper.bytes_per_apply) +
                            (p->sweeps ? 2 * (times - 1) + 3 : 0) * word;
}
