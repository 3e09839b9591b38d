/* spgemm.c - products of matrices in compressed rows on a device. Kernels: cl/spgemm.cl. */
#include "matrix/spgemm.h"
#include "device/launch.h"
#include <string.h>

enum { OPERANDS = 8, MORE = 6 };

/* What the kernels of a product share. */
typedef struct product {
    const kry_csr *A, *B;
    kry_device *dev;
    cl_int rows, cols, lanes;
    int64_t groups;
    cl_mem scratch;
} product;

/* GPUs: so many work-items to a row of C that its products are a few for each. */
static cl_int lanes_for(const kry_device *dev, const kry_csr *A, const kry_csr *B)
{
    const double length = A->rows ? (double)A->nnz / (double)A->rows : 0;
    const double products = B->rows ? length * (double)B->nnz / (double)B->rows : 0;
    cl_int lanes = products <= 48 ? 8 : products <= 256 ? 16 : 32;

    while (lanes > kry_group_size(dev)) lanes /= 2;
    return lanes;
}

static kry_status product_begin(const kry_csr *A, const kry_csr *B, product *p)
{
    kry_device *dev = A->dev;
    int64_t room = A->nnz; /* for long rows of a GPU */

    *p = (product){ .A = A, .B = B, .dev = dev, .rows = (cl_int)A->rows, .cols = (cl_int)B->cols };
    if (dev->info.cpu_kernels) {
        p->groups = kry_csr_groups(dev, A->rows, B->cols, A->nnz + B->nnz);
        p->lanes = 1;
        room = p->groups * B->cols;
    } else {
        const int size = kry_group_size(dev);
        p->lanes = lanes_for(dev, A, B);
        p->groups = kry_groups_at_most(dev, (A->rows * p->lanes + size - 1) / size);
        if (p->groups < 1) p->groups = 1;
    }
    return kry_buffer_create(dev, (size_t)room * sizeof(cl_int), &p->scratch);
}

static kry_status run(const product *p, kry_type type, const char *name, const kry_arg *more,
                      size_t count)
{
    const kry_arg operands[OPERANDS] = { ARG(p->rows),   ARG(p->cols),       ARG(p->A->row_ptr),
                                         ARG(p->A->col), ARG(p->B->row_ptr), ARG(p->B->col),
                                         ARG(p->lanes),  ARG(p->scratch) };
    kry_arg args[OPERANDS + MORE];

    memcpy(args, operands, sizeof operands);
    memcpy(args + OPERANDS, more, count * sizeof *more);
    return kry_run(p->dev, "spgemm", type, "", name, p->groups, args, OPERANDS + count);
}

/* Row pointers and columns. Integer kernels are compiled once, for whatever type. */
static kry_status make_pattern(const product *p, kry_csr *C)
{
    kry_status st = KRY_OK;
    cl_mem length = NULL;

    TRY(kry_buffer_create(p->dev, (size_t)C->rows * sizeof(cl_int), &length));
    TRY(run(p, KRY_F32, "spgemm_lengths", (const kry_arg[]){ ARG(length) }, 1));
    TRY(kry_csr_offsets(p->dev, C->rows, length, &C->row_ptr, &C->nnz));
    CHECK(C->nnz <= INT32_MAX, KRY_ERR_UNSUPPORTED,
          "a product of matrices on a device has up to 2^31-1 entries, this one has %lld",
          (long long)C->nnz);
    TRY(kry_buffer_create(p->dev, (size_t)C->nnz * sizeof(cl_int), &C->col));
    const kry_arg columns[] = { ARG(C->row_ptr), ARG(C->col) };
    TRY(run(p, KRY_F32, "spgemm_columns", columns, COUNT(columns)));
done:
    kry_buffer_release(p->dev, &length);
    return st;
}

static kry_status make_numbers(const product *p, kry_csr *C)
{
    const kry_arg values[] = { ARG(p->A->val), ARG(p->B->val), ARG(C->row_ptr), ARG(C->col),
                               ARG(C->val) };
    return run(p, C->type, "spgemm_values", values, COUNT(values));
}

kry_status kry_csr_product(const kry_csr *A, const kry_csr *B, kry_csr *C)
{
    kry_status st = KRY_OK;
    product p;

    *C = (kry_csr){ .dev = A->dev, .rows = A->rows, .cols = B->cols, .type = A->type };
    TRY(product_begin(A, B, &p));
    TRY(make_pattern(&p, C));
    if (A->val) {
        TRY(kry_buffer_create(p.dev, (size_t)C->nnz * kry_type_size(C->type), &C->val));
        TRY(make_numbers(&p, C));
    }
done:
    kry_buffer_release(p.dev, &p.scratch);
    if (st < 0) kry_csr_release(C);
    return st;
}

kry_status kry_csr_product_again(const kry_csr *A, const kry_csr *B, kry_csr *C)
{
    kry_status st = KRY_OK;
    product p;

    TRY(product_begin(A, B, &p));
    TRY(make_numbers(&p, C));
done:
    kry_buffer_release(p.dev, &p.scratch);
    return st;
}
