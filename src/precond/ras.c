/*
 * ras.c - M := sum over d of S_d (L D U)_d^-1 G_d: restricted additive Schwarz with incomplete factors. G_d takes the
 * rows of sub-domain d with its overlap, S_d gives back those that are d's own.
 *
 * Storage     the factors of all sub-domains, which kry_block_ilu_create makes of the matrix that has them one after the
 *             other; that matrix, for new numbers; two maps and two vectors of its length
 * Per use     the factors; 8 words of its rows
 */
#include "operator/op_parts.h"
#include "precond/overlap.h"
#include "precond/rows.h"
#include <kry/precond.h>
#include <stdio.h>
#include <stdlib.h>

static const char who[] = "kry_ras_create";

typedef struct ras {
    kry_op *A; /* retained */
    bool symmetric;
    int overlap;
    kry_overlap o;
    kry_op *expanded, *factors;
    kry_op *gather, *scatter;
    kry_vec *w[2]; /* of as many columns as there ever were */
    char variant[192];
} ras;

/* The entries of A, in double, with a diagonal that can be factored. */
static kry_status read_rows(const ras *M, kry_sparse *R)
{
    kry_status st = KRY_OK;
    double *inverse = NULL;

    TRY(kry_rows_read(who, M->A, R));
    TRY(kry_alloc((size_t)R->rows, sizeof *inverse, &inverse));
    if (M->symmetric) TRY(kry_rows_symmetrise(who, M->A, R, inverse));
    for (int64_t i = 0; i < R->rows; i++) {
        const int64_t e = kry_sparse_find(R, i, i);
        CHECK(e >= 0 && ((double *)R->val)[e] != 0, KRY_ERR_SINGULAR,
              "%s: the diagonal entry of row %lld is 0" COUNTED, who,
              ROW(kry_layout_row(&M->A->dev->layout, i)), kry_first_row);
    }
done:
    free(inverse);
    return st;
}

/* CPUs: a few for each core, that stay in its cache. GPUs: short chains of rows. */
static int64_t usual_parts(const kry_op *A)
{
    enum { CPU_ROWS = 8192, CPU_EACH = 4, GPU_ROWS = 512, LEAST = 32 };
    const kry_device_info *info = &A->dev->info;
    const int64_t n = A->shape.rows, least = (int64_t)CPU_EACH * info->compute_units;
    int64_t parts = n / (info->cpu_kernels ? CPU_ROWS : GPU_ROWS);

    if (info->cpu_kernels && parts < least) parts = least;
    if (parts > n / LEAST) parts = n / LEAST;
    return parts > 0 ? parts : 1;
}

static kry_status make_maps(ras *M)
{
    kry_status st = KRY_OK;
    kry_sparse G = { 0 }, S = { 0 };
    const int64_t rows = M->o.parts * M->o.most;

    TRY(kry_overlap_maps(&M->o, &G, &S));
    TRY(kry_rows_matrix(M->A, &G, 0, &M->gather));
    TRY(kry_rows_matrix(M->A, &S, 0, &M->scatter));
    for (int k = 0; k < 2; k++) TRY(kry_vec_create(M->A->dev, M->A->shape.type, rows, 1, &M->w[k]));
done:
    kry_sparse_release(&G);
    kry_sparse_release(&S);
    return st;
}

static kry_status make_factors(ras *M, const kry_sparse *R, int fill)
{
    kry_status st = KRY_OK;
    const bool cpu = M->A->dev->info.cpu_kernels;
    const kry_block_ic_params *p =
        KRY_BLOCK_IC(.rows = M->o.most, .fill = fill,
                     .trisolve = cpu ? KRY_TRISOLVE_ROWS : KRY_TRISOLVE_LEVELS);
    kry_sparse B = { 0 };

    TRY(kry_overlap_expand(&M->o, R, &B));
    TRY(kry_rows_matrix(M->A, &B, 0, &M->expanded));
    TRY(M->symmetric ? kry_block_ic_create(M->expanded, p, &M->factors)
                     : kry_block_ilu_create(M->expanded, p, &M->factors));
done:
    kry_sparse_release(&B);
    return st;
}

static void print_variant(ras *M, int overlap)
{
    kry_op_info factors;

    kry_op_describe(M->factors, &factors);
    snprintf(M->variant, sizeof M->variant, "parts=%lld overlap=%d, %s %s", (long long)M->o.parts,
             overlap, factors.kind, factors.variant);
}

static kry_status ras_apply(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    ras *M = self;
    kry_status st = KRY_OK;
    kry_vec w[COUNT(M->w)];

    for (size_t k = 0; k < COUNT(M->w); k++) TRY(kry_vec_take(&M->w[k], x->k, &w[k]));
    TRY(kry_op_apply(M->gather, 1, x, 0, &w[0]));
    TRY(kry_op_apply(M->factors, 1, &w[0], 0, &w[1]));
    TRY(kry_op_apply(M->scatter, alpha, &w[1], beta, y));
done:
    return st;
}

/* The sub-domains stay. */
static kry_status ras_update(void *self, const void *values)
{
    ras *M = self;
    kry_status st = KRY_OK;
    kry_sparse R = { 0 }, B = { 0 };

    CHECK(!values, KRY_ERR_ARGUMENT, "kry_op_update: 'ras' takes no values");
    TRY(read_rows(M, &R));
    TRY(kry_overlap_expand(&M->o, &R, &B));
    TRY(kry_sparse_convert(&B, M->A->shape.type));
    TRY(kry_op_update(M->expanded, B.val));
    TRY(kry_op_update(M->factors, NULL));
done:
    kry_sparse_release(&B);
    kry_sparse_release(&R);
    return st;
}

static void ras_describe(void *self, kry_op_info *info)
{
    const ras *M = self;
    kry_op_info factors, gather, scatter;

    kry_op_describe(M->factors, &factors);
    kry_op_describe(M->gather, &gather);
    kry_op_describe(M->scatter, &scatter);
    info->variant = M->variant;
    info->nnz = factors.nnz;
    info->slots = factors.slots;
    info->bytes_stored = factors.bytes_stored + gather.bytes_stored + scatter.bytes_stored;
    info->bytes_per_apply =
        factors.bytes_per_apply + gather.bytes_per_apply + scatter.bytes_per_apply;
}

static void ras_destroy(void *self)
{
    ras *M = self;
    if (!M) return;
    for (int k = 0; k < 2; k++) kry_vec_release(&M->w[k]);
    kry_op_release(&M->scatter);
    kry_op_release(&M->gather);
    kry_op_release(&M->factors);
    kry_op_release(&M->expanded);
    kry_overlap_release(&M->o);
    kry_op_release(&M->A);
    free(M);
}

static const kry_op_table ras_table = {
    .struct_size = sizeof(kry_op_table),
    .kind = "ras",
    .apply = ras_apply,
    .apply_block = ras_apply,
    .update = ras_update,
    .describe = ras_describe,
    .destroy = ras_destroy,
};

/* Each sub-domain gives back its own rows alone, of what it made of its overlap, too. */
static bool is_unsymmetric(const void *self) { return ((const ras *)self)->overlap > 0; }

static const kry_op_fused ras_fused = { .is_unsymmetric = is_unsymmetric };

static kry_status check(const kry_op *A, const void *params)
{
    enum { MOST = 100 };
    kry_status st = KRY_OK;
    const kry_ras_params *p = params;

    CHECK(p->overlap >= 0 && p->overlap <= MOST, KRY_ERR_ARGUMENT,
          "%s: overlap = %d is not in 0 ... %d", who, p->overlap, (int)MOST);
    CHECK(p->parts >= 0 && p->parts <= A->shape.rows && p->parts <= INT32_MAX, KRY_ERR_ARGUMENT,
          "%s: parts = %lld is outside 1 ... %lld, the rows of '%s'", who, (long long)p->parts,
          (long long)A->shape.rows, A->table->kind);
done:
    return st;
}

static kry_status create(const kry_op *A, const void *params, kry_op **out)
{
    enum { DEFINITE = KRY_SYMMETRIC | KRY_POSITIVE };
    kry_status st = KRY_OK;
    const kry_ras_params *p = params;
    const int64_t parts = p->parts < A->shape.rows ? p->parts : A->shape.rows;
    kry_sparse R = { 0 };
    ras *M = NULL;

    TRY(kry_alloc(1, sizeof *M, &M));
    M->A = kry_op_retain(A);
    M->overlap = p->overlap;
    M->symmetric = (A->shape.traits & DEFINITE) == DEFINITE;
    TRY(read_rows(M, &R));
    TRY(kry_overlap_find(who, &R, parts ? parts : usual_parts(A), p->overlap, &M->o));
    TRY(make_maps(M));
    TRY(make_factors(M, &R, p->fill));
    print_variant(M, p->overlap);
    kry_op_shape shape = A->shape;
    shape.traits = M->symmetric && !p->overlap ? DEFINITE : 0;
    TRY(kry_op_create_fused(A->dev, &ras_table, &ras_fused, M, &shape, out));
    M = NULL;
done:
    kry_sparse_release(&R);
    ras_destroy(M);
    return st;
}

kry_status kry_ras_create(const kry_op *A, const kry_ras_params *params, kry_op **out)
{
    static const kry_constructor how = {
        who, "KRY_RAS", sizeof *params, .check = check, .create = create, .fields = "xiqi"
    };
    return kry_construct(&how, A, params ? params : KRY_RAS(), out);
}
