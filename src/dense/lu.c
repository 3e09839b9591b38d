/* lu.c - the factors of a dense matrix as an operator that applies its inverse; its pivots, its
 * determinant, the factors themselves. Made in lu_factor.c, used in lu_solve.c. */
#include "dense/lu.h"
#include "sparse/csr.h"
#include <math.h>
#include <stdlib.h>

/* ---- the operator ---- */

kry_status kryi_lu_check_regular(const char *who, const kryi_lu *lu)
{
    kry_status st = KRY_OK;

    CHECK(lu->m == lu->n, KRY_ERR_SHAPE, "%s: a matrix of %lld-by-%lld has no inverse", who,
          (long long)lu->m, (long long)lu->n);
    CHECK(lu->smallest > lu->params.tolerance * lu->largest, KRY_ERR_SINGULAR,
          "%s: the matrix is singular: the pivot of column %lld is %g, the largest %g", who,
          (long long)lu->column, lu->smallest, lu->largest);
done:
    return st;
}

static kry_status lu_apply(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    kryi_lu *lu = self;
    kry_status st = kryi_lu_check_regular("kry_op_apply", lu);
    return st < 0 ? st : kryi_lu_run(lu, false, alpha, x, lu->work, beta, y);
}

static kry_status lu_apply_transpose(void *self, double alpha, const kry_vec *x, double beta,
                                     kry_vec *y)
{
    kryi_lu *lu = self;
    static const char who[] = "kry_op_apply_transpose";
    kry_status st = kryi_lu_check_regular(who, lu);
    if (st == KRY_OK) st = kryi_lu_check_solve(who, lu, true, 1);
    return st < 0 ? st : kryi_lu_run(lu, true, alpha, x, lu->work, beta, y);
}

static void lu_describe(void *self, kry_op_info *info)
{
    const kryi_lu *lu = self;
    const double word = (double)kry_type_size(lu->F->type), m = (double)lu->m, n = (double)lu->n;

    info->variant = lu->variant;
    info->nnz = info->slots = lu->m * lu->n;
    info->bytes_stored = m * n * word + 4 * m + (lu->work ? n * word : 0);
    info->bytes_per_apply = m * n * word + 2 * n * word;
}

static void lu_destroy(void *self)
{
    kryi_lu *lu = self;
    if (!lu) return;
    if (lu->order) kryi_buffer_release(lu->F->dev, &lu->order);
    kry_vec_release(&lu->work);
    kry_vec_release(&lu->F);
    free(lu->row_order);
    free(lu);
}

static const kry_op_table lu_table = {
    .struct_size = sizeof(kry_op_table),
    .kind = "lu",
    .apply = lu_apply,
    .apply_transpose = lu_apply_transpose,
    .describe = lu_describe,
    .destroy = lu_destroy,
};

const kryi_lu *kryi_lu_of(const kry_op *op)
{
    return op && op->table == &lu_table ? op->self : NULL;
}

/* ---- creation ---- */

static kry_status check_params(const kry_device *dev, const kry_lu_params *given,
                               kry_lu_params *filled)
{
    static const char who[] = "kry_lu_create";
    kry_status st = KRY_OK;
    const kry_lu_params *p = filled;

    TRY(kryi_params_take(who, "KRY_LU", given, filled, sizeof *filled));
    CHECK(p->tolerance >= 0 && p->tolerance < 1, KRY_ERR_ARGUMENT,
          "%s: a tolerance of %g is not in [0, 1)", who, p->tolerance);
    CHECK(p->block >= 0 && p->block <= KRY_LU_TRIANGLE && p->block % KRY_LU_PANEL == 0,
          KRY_ERR_ARGUMENT, "%s: blocks of %d columns are not a multiple of %d up to %d", who,
          p->block, (int)KRY_LU_PANEL, (int)KRY_LU_TRIANGLE);
    CHECK(!(p->traits & ~(unsigned)(KRY_SYMMETRIC | KRY_POSITIVE)), KRY_ERR_ARGUMENT,
          "%s: %u is not a set of traits of an inverse", who, p->traits);
    if (filled->block == 0) filled->block = dev->info.cpu_kernels ? 128 : 256;
done:
    return st;
}

/* The order of the rows after the exchanges, on the host and on the device, and its sign. */
static kry_status take_order(kryi_lu *lu, const cl_int *pivots)
{
    kry_status st = KRY_OK;

    TRY(kryi_alloc((size_t)lu->m, sizeof *lu->row_order, &lu->row_order));
    lu->mantissa = 0.5, lu->exponent = 1;
    for (cl_int i = 0; i < lu->m; i++) lu->row_order[i] = i;
    for (int64_t j = 0; j < lu->r; j++) {
        cl_int row = lu->row_order[j];
        lu->row_order[j] = lu->row_order[pivots[j]], lu->row_order[pivots[j]] = row;
        if (pivots[j] != j) lu->mantissa = -lu->mantissa;
    }
    TRY(kryi_buffer_upload(lu->F->dev, (size_t)lu->m * sizeof *lu->row_order, lu->row_order,
                           &lu->order));
done:
    return st;
}

/* The smallest and largest pivot, and their product. */
static kry_status look_at_pivots(kryi_lu *lu, const void *diagonal)
{
    kry_status st = KRY_OK;

    lu->smallest = INFINITY, lu->column = -1;
    for (int64_t j = 0; j < lu->r; j++) {
        double u = kryi_number_at(lu->F->type, diagonal, j);
        int exponent;
        CHECK(isfinite(u), KRY_ERR_ARGUMENT,
              "kry_lu_create: the pivot of column %lld is %g: numbers grow beyond %s precision",
              (long long)j, u, kry_type_name(lu->F->type));
        if (fabs(u) < lu->smallest) lu->smallest = fabs(u), lu->column = j;
        lu->largest = fmax(lu->largest, fabs(u));
        lu->mantissa = frexp(lu->mantissa * u, &exponent);
        lu->exponent += exponent;
    }
    if (lu->mantissa == 0) lu->exponent = 0;
done:
    return st;
}

static kry_status read_pivots(kryi_lu *lu)
{
    kry_status st = KRY_OK;
    kry_vec *d = NULL;
    void *host = NULL;

    TRY(kryi_alloc((size_t)lu->r, kry_type_size(lu->F->type), &host));
    TRY(kry_vec_create(lu->F->dev, lu->F->type, lu->r, 1, &d));
    const kryi_block F = kryi_block_of(lu->F);
    TRY(kryi_block_diagonal(&F, d));
    TRY(kry_vec_read(d, host));
    TRY(look_at_pivots(lu, host));
done:
    kry_vec_release(&d);
    free(host);
    return st;
}

/* Shape and norm of A, unless an entry is not finite, and room for its factors. */
static kry_status take(kryi_lu *lu, const kry_vec *A)
{
    kry_status st = KRY_OK;
    double *sums = NULL;

    CHECK(A->n <= INT32_MAX && A->k <= INT32_MAX, KRY_ERR_SHAPE,
          "kry_lu_create: A is %lld-by-%lld, more than 2^31 - 1 rows or columns", (long long)A->n,
          (long long)A->k);
    CHECK(A->n == A->k || !lu->params.traits, KRY_ERR_SHAPE,
          "kry_lu_create: a matrix of %lld-by-%lld has none of these traits", (long long)A->n,
          (long long)A->k);
    lu->m = A->n, lu->n = A->k, lu->r = A->n < A->k ? A->n : A->k;
    TRY(kryi_dense_column_sums("kry_lu_create", A, &sums));
    for (int64_t j = 0; j < lu->n; j++) lu->norm = fmax(lu->norm, sums[j]);
    TRY(kry_vec_create(A->dev, A->type, A->n, A->k, &lu->F));
    if (lu->m == lu->n) TRY(kry_vec_create(A->dev, A->type, A->n, 1, &lu->work));
done:
    free(sums);
    return st;
}

kry_status kryi_lu_make(const kry_vec *A, const kry_lu_params *params, const kryi_lu_how *how,
                        kry_op **op)
{
    kry_status st = KRY_OK;
    kryi_lu *lu = NULL;
    cl_int *pivots = NULL;

    *op = NULL;
    TRY(kryi_dense_check("kry_lu_create", "A", A));
    TRY(kryi_alloc(1, sizeof *lu, &lu));
    TRY(check_params(A->dev, params, &lu->params));
    lu->how = how ? *how : kryi_lu_usual(A->dev, &lu->params, A->k);
    TRY(take(lu, A));
    TRY(kryi_alloc((size_t)lu->r, sizeof *pivots, &pivots));
    if (lu->r > 0) TRY(kryi_lu_factorise(lu, A, pivots));
    TRY(take_order(lu, pivots));
    TRY(read_pivots(lu));
    if (lu->m == lu->n && lu->n > 0 && lu->smallest > lu->params.tolerance * lu->largest)
        TRY(kryi_lu_check("kry_lu_create", lu, A, NULL));
    snprintf(lu->variant, sizeof lu->variant, "partial pivots, blocks of %d", lu->params.block);
    TRY(kry_op_create(
        A->dev, &lu_table, lu,
        &(kry_op_shape){ .rows = A->k, .cols = A->n, .type = A->type, .traits = lu->params.traits },
        op));
    lu = NULL;
done:
    free(pivots);
    lu_destroy(lu);
    return st;
}

kry_status kry_lu_create(const kry_vec *A, const kry_lu_params *params, kry_op **op)
{
    kry_status st = GIVEN(op);
    return st < 0 ? st : kryi_lu_make(A, params, NULL, op);
}

/* ---- what the factors say of the matrix ---- */

kry_status kryi_lu_get(const char *who, const kry_op *op, bool square, const kryi_lu **lu)
{
    kry_status st = KRY_OK;

    *lu = kryi_lu_of(op);
    CHECK(*lu, KRY_ERR_ARGUMENT, "%s: '%s' was not made by kry_lu_create", who,
          op ? op->table->kind : "NULL");
    CHECK(!square || (*lu)->m == (*lu)->n, KRY_ERR_SHAPE, "%s: the matrix is %lld-by-%lld", who,
          (long long)(*lu)->m, (long long)(*lu)->n);
done:
    return st;
}

kry_status kry_lu_determinant(const kry_op *op, double *mantissa, int64_t *exponent)
{
    kry_status st = KRY_OK;
    const kryi_lu *lu;

    CHECK(mantissa && exponent, KRY_ERR_ARGUMENT, "kry_lu_determinant: NULL");
    *mantissa = 0, *exponent = 0;
    TRY(kryi_lu_get("kry_lu_determinant", op, true, &lu));
    *mantissa = lu->mantissa, *exponent = lu->exponent;
done:
    return st;
}

kry_status kry_lu_pivot(const kry_op *op, double *smallest, int64_t *column)
{
    kry_status st = KRY_OK;
    const kryi_lu *lu;

    CHECK(smallest && column, KRY_ERR_ARGUMENT, "kry_lu_pivot: NULL");
    *smallest = 0, *column = 0;
    TRY(kryi_lu_get("kry_lu_pivot", op, false, &lu));
    *smallest = lu->smallest, *column = lu->column;
done:
    return st;
}

kry_status kryi_lu_copy_factor(const kryi_lu *lu, bool lower, kry_vec *C)
{
    const cl_int low = lower;
    const kry_arg args[] = { ARG(C->n),      ARG(C->k),     ARG(low),
                             ARG_VEC(lu->F), ARG(lu->F->n), ARG_VEC(C) };

    if (C->n == 0) return KRY_OK;
    return kryi_lu_launch(C->dev, C->type, "lu_copy", kryi_groups_for(C->dev, C->type, C->n * C->k),
                          args, COUNT(args));
}

static kry_status check_factor(const kry_op *op, const char *name, const kry_vec *C, int64_t rows,
                               int64_t cols)
{
    static const char who[] = "kry_lu_factors";
    kry_status st = KRY_OK;

    TRY(kryi_dense_check(who, name, C));
    CHECK(C->n == rows && C->k == cols, KRY_ERR_SHAPE,
          "%s: %s is %lld-by-%lld instead of %lld-by-%lld", who, name, (long long)C->n,
          (long long)C->k, (long long)rows, (long long)cols);
    TRY(kryi_dense_check_two(who, name, C, "the factors", kryi_lu_of(op)->F, false));
done:
    return st;
}

kry_status kry_lu_factors(const kry_op *op, kry_vec *L, kry_vec *U, int64_t *row_order)
{
    kry_status st = KRY_OK;
    const kryi_lu *lu;

    TRY(kryi_lu_get("kry_lu_factors", op, false, &lu));
    if (L) TRY(check_factor(op, "L", L, lu->m, lu->r));
    if (U) TRY(check_factor(op, "U", U, lu->r, lu->n));
    CHECK(!L || !U || !kryi_vec_overlap(L, U), KRY_ERR_ARGUMENT, "kry_lu_factors: L and U overlap");
    if (L) TRY(kryi_lu_copy_factor(lu, true, L));
    if (U) TRY(kryi_lu_copy_factor(lu, false, U));
    for (int64_t i = 0; row_order && i < lu->m; i++) row_order[i] = lu->row_order[i];
done:
    return st;
}

/* ---- the condition number -------------------------------------------------------------------- */

typedef struct estimate {
    const kryi_lu *lu;
    kry_vec *v; /* n-by-1, owned */
    void *host; /* n numbers of its type, owned */
} estimate;

static kry_status solve(void *user, double *x, bool transposed)
{
    kry_status st = KRY_OK;
    estimate *e = user;
    const kry_type type = e->lu->F->type;

    for (int64_t i = 0; i < e->lu->n; i++) kryi_number_put(type, e->host, i, x[i]);
    TRY(kry_vec_write(e->v, e->host));
    TRY(kryi_lu_run(e->lu, transposed, 1, e->v, e->lu->work, 0, e->v));
    TRY(kry_vec_read(e->v, e->host));
    for (int64_t i = 0; i < e->lu->n; i++) x[i] = kryi_number_at(type, e->host, i);
done:
    return st;
}

kry_status kry_lu_condition(const kry_op *op, double *reciprocal)
{
    kry_status st = KRY_OK;
    double inverse = 0;
    estimate e = { .lu = NULL };

    CHECK(reciprocal, KRY_ERR_ARGUMENT, "kry_lu_condition: NULL");
    *reciprocal = 0;
    TRY(kryi_lu_get("kry_lu_condition", op, true, &e.lu));
    if (e.lu->smallest == 0) return KRY_OK;
    TRY(kryi_alloc((size_t)e.lu->n, kry_type_size(e.lu->F->type), &e.host));
    TRY(kry_vec_create(e.lu->F->dev, e.lu->F->type, e.lu->n, 1, &e.v));
    TRY(kryi_inverse_norm(e.lu->n, solve, &e, &inverse));
    if (isfinite(inverse) && inverse > 0) *reciprocal = 1 / e.lu->norm / inverse;
done:
    kry_vec_release(&e.v);
    free(e.host);
    return st;
}
