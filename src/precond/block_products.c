/* block_products.c - products in place of solves with incomplete factors: sweeps of Jacobi's iteration, or
 * incomplete inverses of the factors. Both have all rows at once, whatever the levels; where A is symmetric,
 * what they make of L' is the transpose of what they make of L, so that M stays symmetric positive definite.
 *
 * Storage     the factors, and D^-1 for sweeps
 * Per use     s sweeps: s products with L and with U and 2 s + 3 words; inverses: a product with each
 * Source      H. Anzt, E. Chow, J. Dongarra, Iterative sparse triangular solves for preconditioning, Euro-Par 2015,
 *             doi:10.1007/978-3-662-48096-0_50; the inverses: sparse.h
 */
#include "precond/block_ic.h"
#include "precond/rows.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- how many sweeps ------------------------------------------------------------------------- */

/* y := r - T x */
static void sweep(const kry_sparse *T, const double *r, const double *x, double *y)
{
    const double *val = T->val;

    for (int64_t i = 0; i < T->rows; i++) {
        double sum = r[i];
        for (int64_t e = T->row_ptr[i]; e < T->row_ptr[i + 1]; e++) sum -= val[e] * x[T->col[e]];
        y[i] = sum;
    }
}

static double distance(int64_t n, const double *x, const double *y)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (x[i] - y[i]) * (x[i] - y[i]);
    return sqrt(sum);
}

/* The fewest sweeps after which x, of right-hand side r, is near enough to the solution; KRY_MOST_SWEEPS + 1: more.
 * room: 4 n; r's numbers begin there. */
static int count_sweeps(const kry_sparse *T, bool upper, double *room)
{
    const double enough = 0.1;
    const int64_t n = T->rows;
    double *r = room, *exact = room + n, *x = room + 2 * n, *y = room + 3 * n;
    int k = 1;

    memcpy(exact, r, (size_t)n * sizeof *r);
    kry_triangle_solve(T, upper, exact);
    double size = 0;
    for (int64_t i = 0; i < n; i++) size += exact[i] * exact[i];
    memcpy(x, r, (size_t)n * sizeof *r);
    for (; k <= KRY_MOST_SWEEPS; k++) {
        double *last = x;
        sweep(T, r, x, y);
        x = y, y = last;
        if (distance(n, x, exact) <= enough * sqrt(size)) break;
    }
    return k;
}

/* For a random right-hand side whose mean is not 0: smooth parts are what sweeps solve last. */
kry_status kry_block_sweeps_needed(kry_block_factor *f, int *sweeps)
{
    kry_status st = KRY_OK;
    const int64_t n = f->lower.rows;
    double *room = NULL;

    TRY(kry_block_factor_mirror(f));
    TRY(kry_alloc(4 * (size_t)n, sizeof *room, &room));
    for (int64_t i = 0; i < n; i++) room[i] = kry_random_unit(1, 0, (uint64_t)i);
    const int lower = count_sweeps(&f->lower, false, room);
    const int upper = count_sweeps(&f->upper, true, room);
    *sweeps = lower > upper ? lower : upper;
    if (*sweeps > KRY_MOST_SWEEPS) *sweeps = 0;
done:
    free(room);
    return st;
}

/* ---- set-up ---------------------------------------------------------------------------------- */

/* T, in A's type, on the device. */
static kry_status upload(const kry_block_factor *f, const kry_sparse *T, kry_op **matrix)
{
    kry_status st = KRY_OK;
    kry_sparse copy = { 0 };

    TRY(kry_sparse_copy(T, &copy));
    TRY(kry_rows_matrix(f->A, &copy, 0, matrix));
done:
    kry_sparse_release(&copy);
    return st;
}

/* I + M, and its columns times D^-1 where that is wanted. */
static kry_status upload_inverse(const kry_block_factor *f, const kry_sparse *M, bool by_inverse,
                                 kry_op **matrix)
{
    kry_status st = KRY_OK;
    kry_sparse whole = { 0 };
    const double *from = M->val;
    int64_t at = 0;

    TRY(kry_sparse_create(M->rows, M->cols, KRY_F64, kry_sparse_nnz(M) + M->rows, &whole));
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
    TRY(kry_rows_matrix(f->A, &whole, 0, matrix));
done:
    kry_sparse_release(&whole);
    return st;
}

/* Where A is symmetric, the inverse of L' is that of L, mirrored. */
static kry_status make_inverses(kry_block_factor *f, kry_block_products *p)
{
    kry_status st = KRY_OK;
    kry_sparse lower = { 0 }, upper = { 0 };

    TRY(kry_triangle_invert(&f->lower, false, &lower));
    TRY(f->symmetric ? kry_sparse_transpose(&lower, &upper)
                     : kry_triangle_invert(&f->upper, true, &upper));
    TRY(upload_inverse(f, &lower, false, &p->lower));
    TRY(upload_inverse(f, &upper, true, &p->upper));
done:
    kry_sparse_release(&lower);
    kry_sparse_release(&upper);
    return st;
}

static kry_status make_sweeps(kry_block_factor *f, kry_block_products *p)
{
    kry_status st = KRY_OK;
    const kry_op_shape *shape = &f->A->shape;
    double *inverse = NULL;

    TRY(kry_block_factor_mirror(f));
    TRY(upload(f, &f->lower, &p->lower));
    TRY(upload(f, &f->upper, &p->upper));
    TRY(kry_alloc((size_t)shape->rows, sizeof *inverse, &inverse));
    for (int64_t i = 0; i < shape->rows; i++) inverse[i] = 1 / f->d[i];
    TRY(kry_vec_create(f->A->dev, shape->type, shape->rows, 1, &p->inverse));
    TRY(kry_vec_write_doubles(p->inverse, inverse));
done:
    free(inverse);
    return st;
}

kry_status kry_block_products_create(kry_block_factor *f, int sweeps, kry_block_products *p)
{
    kry_status st = KRY_OK;
    const kry_op_shape *shape = &f->A->shape;

    *p = (kry_block_products){ .sweeps = sweeps };
    TRY(sweeps ? make_sweeps(f, p) : make_inverses(f, p));
    for (int k = 0; k < (sweeps ? 2 : 1); k++)
        TRY(kry_vec_create(f->A->dev, shape->type, shape->rows, 1, &p->w[k]));
done:
    if (st < 0) kry_block_products_release(p);
    return st;
}

void kry_block_products_release(kry_block_products *p)
{
    kry_op_release(&p->lower);
    kry_op_release(&p->upper);
    kry_vec_release(&p->inverse);
    for (size_t k = 0; k < COUNT(p->w); k++) kry_vec_release(&p->w[k]);
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
        TRY(T->table->residual(T->self, r, x, y)); /* kry_op_residual would refuse x = r */
        x = y;
    }
done:
    return st;
}

kry_status kry_block_products_run(kry_block_products *p, const kry_vec *r, kry_vec *z)
{
    kry_status st = KRY_OK;

    if (!p->sweeps) {
        TRY(kry_op_apply(p->lower, 1, r, 0, p->w[0]));
        return kry_op_apply(p->upper, 1, p->w[0], 0, z);
    }
    TRY(run_sweeps(p->lower, p->sweeps, r, p->w[1], p->w[0]));
    TRY(kry_vec_mul(1, p->inverse, p->w[0], 0, p->w[0]));
    TRY(run_sweeps(p->upper, p->sweeps, p->w[0], p->w[1], z));
done:
    return st;
}

void kry_block_products_describe(const kry_block_products *p, kry_op_info *info)
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
