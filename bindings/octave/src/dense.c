/*
 * dense.c - factors, inverses and echelon forms of dense matrices, and tridiagonal systems.
 */
#include "kry_mex.h"
#include <math.h>
#include <stdlib.h>

/* A handle of a value of one kind; its task is borrowed. */
static kry_status take_kind(const mxArray *a, kind wanted, const char *what, value **v)
{
    kry_status st = KRY_OK;

    TRY(value_find(a, v));
    CHECK((*v)->shape.kind == wanted, KRY_ERR_TYPE, "kry_mex: %s", what);
done:
    return st;
}

/* ---- P A = L U ---- */

static kry_status run_lu(void *params, kry_task *self)
{
    kry_status st = KRY_OK;
    kry_vec *A;
    kry_op *lu = NULL;

    (void)params;
    TRY(kry_task_input_vec(self, 0, &A));
    TRY(kry_lu_create(A, NULL, &lu));
    kry_task_set_op(self, lu);
done:
    kry_op_release(&lu);
    return st;
}

/* kry_mex ('lu', h): factors, for the commands below */
kry_status command_lu(call *c)
{
    kry_status st = KRY_OK;
    operand a = { 0 };
    kry_task *task = NULL;

    TRY(take_count(c, 1, 1));
    TRY(operand_look(c->in[0], &a));
    CHECK(a.shape.kind == DENSE, KRY_ERR_UNSUPPORTED,
          "lu: of dense matrices only: use full (...), or the host");
    TRY(operand_load(&a, a.shape.type));
    TRY(submit("lu", run_lu, "", 0, &a.task, 1, &task));
    a.shape.kind = FACTORS;
    TRY(value_keep(&a.shape, &task, &c->out[0]));
done:
    kry_task_release(&task);
    operand_drop(&a);
    return st;
}

typedef struct factor_params {
    kry_type type;
    int64_t m, n;
    char part; /* L, U, P: the permutation matrix, Q: P' L, p: its rows as a row of numbers */
} factor_params;

/* P from the order of rows, or the rows themselves */
static kry_status permutation(const factor_params *p, const int64_t *order, kry_vec **P)
{
    kry_status st = KRY_OK;
    int64_t m = p->m, count = p->part == 'p' ? m : m * m;
    double *wide = calloc(count ? (size_t)count : 1, sizeof *wide);
    float *narrow = calloc(count ? (size_t)count : 1, sizeof *narrow);

    CHECK(wide && narrow, KRY_ERR_MEMORY, "lu: no memory on the host for %lld numbers",
          (long long)count);
    for (int64_t i = 0; i < m; i++)
        if (p->part == 'p')
            wide[i] = (double)order[i] + 1;
        else
            wide[order[i] * m + i] = 1;
    for (int64_t k = 0; k < count; k++) narrow[k] = (float)wide[k];
    TRY(vec_of(the_device(), p->type, p->part == 'p' ? 1 : m, m, P));
    if (count) TRY(kry_vec_write(*P, p->type == KRY_F32 ? (const void *)narrow : wide));
done:
    free(wide);
    free(narrow);
    if (st < 0) kry_vec_release(P);
    return st;
}

/* P' L: row order[i] is row i of L */
static kry_status permuted(const kry_vec *L, const int64_t *order, int64_t m, int64_t r, kry_vec *Q)
{
    kry_status st = KRY_OK;
    picks i = { .count = m, .list = malloc(((size_t)m + 1) * sizeof(int64_t)) };
    picks j = { .count = r, .start = 0, .step = 1 };

    CHECK(i.list, KRY_ERR_MEMORY, "lu: no memory on the host");
    for (int64_t k = 0; k < m; k++) i.list[order[k]] = k;
    TRY(pick_elements(L, m, &i, &j, Q));
done:
    free(i.list);
    return st;
}

static kry_status run_factor(void *params, kry_task *self)
{
    const factor_params *p = params;
    kry_status st = KRY_OK;
    kry_op *lu;
    kry_vec *X = NULL, *Q = NULL;
    int64_t r = p->m < p->n ? p->m : p->n;
    int64_t *order = malloc(((size_t)p->m + 1) * sizeof *order);
    bool lower = p->part == 'L' || p->part == 'Q';

    CHECK(order, KRY_ERR_MEMORY, "lu: no memory on the host");
    TRY(kry_task_input_op(self, 0, &lu));
    if (lower)
        TRY(vec_of(the_device(), p->type, p->m, r, &X));
    else if (p->part == 'U')
        TRY(vec_of(the_device(), p->type, r, p->n, &X));
    if (r > 0 || !X)
        TRY(kry_lu_factors(lu, lower ? X : NULL, p->part == 'U' ? X : NULL,
                           lower && p->part != 'Q' ? NULL : order));
    if (!X) TRY(permutation(p, order, &X));
    if (p->part == 'Q') {
        TRY(vec_of(the_device(), p->type, p->m, r, &Q));
        TRY(permuted(X, order, p->m, r, Q));
    }
    kry_task_set_vec(self, Q ? Q : X);
done:
    kry_vec_release(&Q);
    kry_vec_release(&X);
    free(order);
    return st;
}

/* kry_mex ('factors', lu, "L"): L, U, P, Q = P' L, or p, the order of rows */
kry_status command_factors(call *c)
{
    kry_status st = KRY_OK;
    value *lu;
    char word[4];
    kry_task *task = NULL;

    TRY(take_count(c, 2, 2));
    TRY(take_kind(c->in[0], FACTORS, "factors are wanted", &lu));
    TRY(take_text(c->in[1], "kry_mex: the factor", word, sizeof word));
    factor_params p = { lu->shape.type, lu->shape.rows, lu->shape.cols, *word };
    shape s = lu->shape;
    int64_t r = p.m < p.n ? p.m : p.n;
    s.kind = DENSE;
    s.rows = p.part == 'U' ? r : p.part == 'p' ? 1 : p.m;
    s.cols = p.part == 'U' ? p.n : p.part == 'P' || p.part == 'p' ? p.m : r;
    TRY(submit("factor of lu", run_factor, &p, sizeof p, &lu->task, 1, &task));
    TRY(value_keep(&s, &task, &c->out[0]));
done:
    kry_task_release(&task);
    return st;
}

/* ---- A X = B by factors ---- */

typedef struct lu_solve_params {
    kry_type type;
    int64_t n, k;
    bool transposed;
} lu_solve_params;

static kry_status run_lu_solve(void *params, kry_task *self)
{
    const lu_solve_params *p = params;
    kry_status st = KRY_OK;
    kry_op *lu;
    kry_vec *B, *X = NULL;

    TRY(vec_of(the_device(), p->type, p->n, p->k, &X));
    if (p->n > 0 && p->k > 0) {
        TRY(kry_task_input_op(self, 0, &lu));
        TRY(kry_task_input_vec(self, 1, &B));
        TRY(kry_lu_solve(lu, p->transposed, B, X));
    }
    kry_task_set_vec(self, X);
done:
    kry_vec_release(&X);
    return st;
}

/* kry_mex ('lu_solve', lu, B, transposed) */
kry_status command_lu_solve(call *c)
{
    kry_status st = KRY_OK;
    value *lu;
    operand b = { 0 };
    kry_task *task = NULL;

    TRY(take_count(c, 3, 3));
    TRY(take_kind(c->in[0], FACTORS, "factors are wanted", &lu));
    TRY(operand_look(c->in[1], &b));
    CHECK(b.shape.kind == DENSE && lu->shape.rows == b.shape.rows, KRY_ERR_SHAPE,
          "gpuMatrix: operator \\: sizes do not agree: %lldx%lld and %lldx%lld",
          (long long)lu->shape.rows, (long long)lu->shape.cols, (long long)b.shape.rows,
          (long long)b.shape.cols);
    TRY(operand_load(&b, lu->shape.type));
    lu_solve_params p = { lu->shape.type, b.shape.rows, b.shape.cols,
                          mxIsLogicalScalarTrue(c->in[2]) };
    kry_task *const inputs[] = { lu->task, b.task };
    TRY(submit("solve by lu", run_lu_solve, &p, sizeof p, inputs, 2, &task));
    shape s = { .kind = DENSE, .type = p.type, .rows = p.n, .cols = p.k };
    TRY(value_keep(&s, &task, &c->out[0]));
done:
    kry_task_release(&task);
    operand_drop(&b);
    return st;
}

static kry_status run_inverse(void *params, kry_task *self)
{
    const shape *p = params;
    kry_status st = KRY_OK;
    kry_vec *A, *X = NULL;

    TRY(vec_of(the_device(), p->type, p->rows, p->cols, &X));
    TRY(kry_task_input_vec(self, 0, &A));
    if (p->rows > 0) TRY(kry_vec_inverse(A, NULL, X));
    kry_task_set_vec(self, X);
done:
    kry_vec_release(&X);
    return st;
}

/* kry_mex ('inv', h) */
kry_status command_inv(call *c)
{
    kry_status st = KRY_OK;
    operand a = { 0 };
    kry_task *task = NULL;

    TRY(take_count(c, 1, 1));
    TRY(operand_look(c->in[0], &a));
    CHECK(a.task && a.shape.kind == DENSE && a.shape.rows == a.shape.cols, KRY_ERR_SHAPE,
          "inv: argument must be a square matrix");
    TRY(submit("inverse", run_inverse, &a.shape, sizeof a.shape, &a.task, 1, &task));
    TRY(value_keep(&a.shape, &task, &c->out[0]));
done:
    kry_task_release(&task);
    operand_drop(&a);
    return st;
}

/* ---- numbers of factors ---- */

typedef struct lu_number {
    bool condition;
    double *number; /* of the thread that waits */
} lu_number;

static kry_status run_lu_number(void *params, kry_task *self)
{
    const lu_number *p = params;
    kry_status st = KRY_OK;
    kry_op *lu;
    double mantissa = 1;
    int64_t exponent = 0;

    TRY(kry_task_input_op(self, 0, &lu));
    if (p->condition) {
        TRY(kry_lu_condition(lu, p->number));
    } else {
        TRY(kry_lu_determinant(lu, &mantissa, &exponent));
        int e = exponent > 100000 ? 100000 : exponent < -100000 ? -100000 : (int)exponent;
        *p->number = ldexp(mantissa, e);
    }
done:
    return st;
}

static kry_status number_of_factors(call *c, bool condition)
{
    kry_status st = KRY_OK;
    value *lu;
    kry_task *task = NULL;
    double number = 0;
    lu_number p = { condition, &number };

    TRY(take_count(c, 1, 1));
    TRY(take_kind(c->in[0], FACTORS, "factors are wanted", &lu));
    CHECK(lu->shape.rows == lu->shape.cols, KRY_ERR_SHAPE, "gpuMatrix: %lldx%lld is not square",
          (long long)lu->shape.rows, (long long)lu->shape.cols);
    TRY(submit(condition ? "condition" : "determinant", run_lu_number, &p, sizeof p, &lu->task, 1,
               &task));
    TRY(wait_for(task));
    c->out[0] = mxCreateDoubleScalar(number);
done:
    kry_task_release(&task);
    return st;
}

/* kry_mex ('det', lu), kry_mex ('rcond', lu). Wait. */
kry_status command_det(call *c) { return number_of_factors(c, false); }
kry_status command_rcond(call *c) { return number_of_factors(c, true); }

/* ---- echelon form ---- */

typedef struct rref_params {
    shape shape;
    double tolerance;
    int64_t *pivots, *rank; /* of the thread that waits; NULL: it does not */
} rref_params;

static kry_status run_rref(void *params, kry_task *self)
{
    const rref_params *p = params;
    kry_status st = KRY_OK;
    kry_vec *A, *R = NULL;

    TRY(vec_of(the_device(), p->shape.type, p->shape.rows, p->shape.cols, &R));
    TRY(kry_task_input_vec(self, 0, &A));
    if (p->shape.rows > 0 && p->shape.cols > 0) {
        TRY(kry_vec_copy(A, R));
        TRY(kry_vec_rref(R, p->tolerance, p->pivots, p->rank));
    }
    kry_task_set_vec(self, R);
done:
    kry_vec_release(&R);
    return st;
}

/* [r, k] = kry_mex ('rref', h, tolerance); waits if k is asked for */
kry_status command_rref(call *c)
{
    kry_status st = KRY_OK;
    operand a = { 0 };
    kry_task *task = NULL;
    int64_t *pivots = NULL, rank = 0;
    rref_params p;

    TRY(take_count(c, 2, 2));
    TRY(operand_look(c->in[0], &a));
    CHECK(a.task && a.shape.kind == DENSE, KRY_ERR_UNSUPPORTED, "rref: of dense matrices only");
    p = (rref_params){ .shape = a.shape };
    TRY(take_number(c->in[1], "rref: the tolerance", &p.tolerance));
    if (c->out_count > 1) {
        pivots = malloc(((size_t)a.shape.rows + 1) * sizeof *pivots);
        CHECK(pivots, KRY_ERR_MEMORY, "rref: no memory on the host");
        p.pivots = pivots, p.rank = &rank;
    }
    TRY(submit("rref", run_rref, &p, sizeof p, &a.task, 1, &task));
    if (pivots) {
        TRY(wait_for(task));
        c->out[1] = mxCreateDoubleMatrix(1, (mwSize)rank, mxREAL);
        for (int64_t i = 0; i < rank; i++) mxGetPr(c->out[1])[i] = (double)pivots[i] + 1;
    }
    TRY(value_keep(&a.shape, &task, &c->out[0]));
done:
    kry_task_release(&task);
    free(pivots);
    operand_drop(&a);
    return st;
}

/* ---- tridiagonal ---- */

typedef struct band {
    kry_vec *lower, *diagonal, *upper;
} band;

static void band_release(band *d)
{
    kry_vec_release(&d->lower);
    kry_vec_release(&d->diagonal);
    kry_vec_release(&d->upper);
}

static void band_put(void *numbers, kry_type type, int64_t i, const void *from, int64_t k)
{
    if (type == KRY_F32)
        ((float *)numbers)[i] = ((const float *)from)[k];
    else
        ((double *)numbers)[i] = ((const double *)from)[k];
}

/* The three diagonals of a stored matrix */
static kry_status band_of(const kry_op *A, int64_t nnz, band *d)
{
    kry_status st = KRY_OK;
    const kry_op_shape *s = kry_op_get_shape(A);
    int64_t n = s->rows;
    size_t size = kry_type_size(s->type);
    int64_t *ptr = malloc(((size_t)n + 1) * sizeof *ptr);
    int32_t *col = malloc(((size_t)nnz + 1) * sizeof *col);
    char *val = malloc(((size_t)nnz + 1) * size), *three = calloc(3 * (size_t)n + 1, size);
    kry_vec **const vecs[] = { &d->lower, &d->diagonal, &d->upper };

    CHECK(ptr && col && val && three, KRY_ERR_MEMORY, "gpuMatrix: no memory on the host");
    TRY(kry_matrix_read(A, ptr, col, val));
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = ptr[i]; k < ptr[i + 1]; k++)
            band_put(three, s->type, (col[k] - i + 1) * n + i, val, k);
    for (int i = 0; i < 3; i++) {
        TRY(kry_vec_create(kry_op_device(A), s->type, n, 1, vecs[i]));
        TRY(kry_vec_write(*vecs[i], three + (size_t)i * (size_t)n * size));
    }
done:
    free(ptr);
    free(col);
    free(val);
    free(three);
    return st;
}

static kry_status run_tridiagonal(void *params, kry_task *self)
{
    const shape *p = params; /* of A, but with the columns of b */
    kry_status st = KRY_OK;
    band d = { 0 };
    kry_op *A;
    kry_vec *b, *x = NULL;

    TRY(kry_task_input_op(self, 0, &A));
    TRY(kry_task_input_vec(self, 1, &b));
    TRY(vec_of(the_device(), p->type, p->rows, p->cols, &x));
    if (p->rows > 0 && p->cols > 0) {
        TRY(band_of(A, p->nnz, &d));
        TRY(kry_tridiagonal_solve(NULL, d.lower, d.diagonal, d.upper, b, x));
    }
    kry_task_set_vec(self, x);
done:
    band_release(&d);
    kry_vec_release(&x);
    return st;
}

/* kry_mex ('tridiagonal', A, b). Waits, for whether A is singular. */
kry_status command_tridiagonal(call *c)
{
    kry_status st = KRY_OK;
    operand a = { 0 }, b = { 0 };
    kry_task *task = NULL;

    TRY(take_count(c, 2, 2));
    TRY(operand_look(c->in[0], &a));
    TRY(operand_look(c->in[1], &b));
    if (a.host) TRY(operand_load(&a, a.shape.type));
    CHECK(a.shape.tridiagonal && b.shape.kind == DENSE, KRY_ERR_TYPE, "kry_mex: not tridiagonal");
    CHECK(a.shape.rows == b.shape.rows, KRY_ERR_SHAPE,
          "gpuMatrix: operator \\: sizes do not agree: %lldx%lld and %lldx%lld",
          (long long)a.shape.rows, (long long)a.shape.cols, (long long)b.shape.rows,
          (long long)b.shape.cols);
    TRY(operand_load(&b, a.shape.type));
    shape s = a.shape;
    s.cols = b.shape.cols;
    kry_task *const inputs[] = { a.task, b.task };
    TRY(submit("tridiagonal solve", run_tridiagonal, &s, sizeof s, inputs, 2, &task));
    TRY(wait_for(task));
    s = (shape){ .kind = DENSE, .type = s.type, .rows = s.rows, .cols = s.cols };
    TRY(value_keep(&s, &task, &c->out[0]));
done:
    kry_task_release(&task);
    operand_drop(&a);
    operand_drop(&b);
    return st;
}
