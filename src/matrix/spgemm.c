/* spgemm.c - products of matrices in compressed rows on a device. Kernels: cl/formats/spgemm.cl, cl/formats/spgemm_rows.cl. */
#include "matrix/spgemm.h"
#include "matrix/spgemm_parts.h"
#include <stdio.h>
#include <string.h>

enum { OPERANDS = 7, MORE = 7 };

typedef kry_csr_factors product;

static cl_int lanes_for(const kry_device *dev, double products)
{
    cl_int lanes = products <= 48 ? 8 : products <= 256 ? 16 : 32;

    while (lanes > kry_group_size(dev)) lanes /= 2;
    return lanes;
}

static kry_status product_begin(const kry_csr *A, const kry_csr *B, product *p)
{
    kry_device *dev = A->dev;
    const int size = kry_group_size(dev);

    *p = (product){ .A = A, .B = B, .dev = dev, .rows = (cl_int)A->rows, .cols = (cl_int)B->cols };
    if (dev->info.cpu_kernels) {
        p->groups = kry_csr_groups(dev, A->rows, B->cols, A->nnz + B->nnz);
        return kry_buffer_create(dev, (size_t)(p->groups * B->cols) * sizeof(cl_int), &p->scratch);
    }
    p->lanes = lanes_for(dev, kry_mean_products(A, B));
    p->groups = kry_groups_at_most(dev, (A->rows * p->lanes + 8 * size - 1) / (8 * size));
    if (p->groups < 1) p->groups = 1;
    return KRY_OK;
}

/* few: as spgemm.cl has it. */
static kry_status run(const product *p, kry_type type, const char *name, cl_int few,
                      const kry_arg *more, size_t count)
{
    const bool cpu = p->dev->info.cpu_kernels;
    const kry_arg cols = ARG(p->cols), lanes = ARG(p->lanes), left = ARG(few);
    const kry_arg scratch = ARG(p->scratch);
    const kry_arg operands[OPERANDS] = { ARG(p->rows),        ARG(p->A->row_ptr),
                                         ARG(p->A->col),      ARG(p->B->row_ptr),
                                         ARG(p->B->col),      cpu ? cols : lanes,
                                         cpu ? scratch : left };
    kry_arg args[OPERANDS + MORE];

    memcpy(args, operands, sizeof operands);
    memcpy(args + OPERANDS, more, count * sizeof *more);
    return kry_run(p->dev, "spgemm", type, "", name, p->groups, args, OPERANDS + count);
}

/* ---- rows that are not long, on GPUs ----------------------------------------------------------- */

static int group_size(const kry_device *dev)
{
    const int size = kry_group_size(dev);
    return size < KRY_ROWS_GROUP ? size : KRY_ROWS_GROUP;
}

static int slots_of_row(const kry_device *dev, kry_rows_shape shape)
{
    return shape.slots / group_size(dev) * shape.lanes;
}

kry_rows_shape kry_rows_shape_for(const kry_device *dev, double steps, double length)
{
    kry_rows_shape shape = { .lanes = 2, .slots = KRY_ROWS_MOST_SLOTS / 4 };

    while (shape.lanes < group_size(dev) && shape.lanes < steps) shape.lanes *= 2;
    while (shape.slots < KRY_ROWS_MOST_SLOTS && slots_of_row(dev, shape) < 2 * length)
        shape.slots *= 2;
    while (shape.lanes < group_size(dev) && slots_of_row(dev, shape) < 2 * length) shape.lanes *= 2;
    return shape;
}

kry_rows_shape kry_rows_shape_of_long(const kry_device *dev)
{
    return (kry_rows_shape){ .lanes = group_size(dev), .slots = KRY_ROWS_MOST_SLOTS };
}

int kry_rows_teams(const kry_device *dev, kry_rows_shape shape)
{
    return group_size(dev) / shape.lanes;
}

cl_int kry_rows_few(const kry_device *dev, kry_rows_shape shape)
{
    return slots_of_row(dev, shape) / 4 * 3;
}

int64_t kry_rows_groups(const kry_device *dev, kry_rows_shape shape, int64_t rows)
{
    const int teams = kry_rows_teams(dev, shape);
    const int64_t groups = kry_groups_at_most(dev, (rows + teams - 1) / teams);
    return groups > 0 ? groups : 1;
}

kry_status kry_rows_launch(kry_device *dev, kry_type type, kry_rows_shape shape, const char *name,
                           int64_t rows, const kry_arg *args, size_t count)
{
    kry_status st = KRY_OK;
    kry_kernel *kernel;

    TRY(kry_kernel_get(dev, "spgemm_rows", type, "", name, &kernel));
    TRY(kry_launch_size(dev, kernel, kry_rows_groups(dev, shape, rows), group_size(dev), args,
                        count));
done:
    return st;
}

kry_status kry_rows_run(const product *p, kry_type type, kry_rows_shape shape, const char *name,
                        cl_int rows, const kry_arg *more, size_t count)
{
    enum { SHARED = 8 };
    const kry_arg operands[SHARED] = { ARG(rows),        ARG(p->A->row_ptr),
                                       ARG(p->A->col),   ARG(p->B->row_ptr),
                                       ARG(p->B->col),   ARG(shape.lanes),
                                       ARG(shape.slots), kry_rows_table(shape, sizeof(cl_int)) };
    kry_arg args[SHARED + KRY_ROWS_MORE];

    memcpy(args, operands, sizeof operands);
    memcpy(args + SHARED, more, count * sizeof *more);
    return kry_rows_launch(p->dev, type, shape, name, rows, args, SHARED + count);
}

/* ---- the steps of a product ---------------------------------------------------------------------- */

static double steps_of(const product *p) { return kry_mean_row(p->A->nnz, p->A->rows) / 2; }

static kry_status find_lengths(const product *p, cl_mem length)
{
    kry_status st = KRY_OK;
    const kry_arg more[] = { ARG(length) };

    if (!p->dev->info.cpu_kernels) {
        const kry_rows_shape shape =
            kry_rows_shape_for(p->dev, steps_of(p), kry_mean_products(p->A, p->B) / 2);
        TRY(kry_rows_run(p, p->A->type, shape, "spgemm_row_lengths", p->rows, more, COUNT(more)));
    }
    TRY(run(p, KRY_F32, "spgemm_lengths", 0, more, COUNT(more)));
done:
    return st;
}

static kry_status find_columns(const product *p, const kry_csr *C)
{
    kry_status st = KRY_OK;
    const kry_rows_shape shape =
        kry_rows_shape_for(p->dev, steps_of(p), kry_mean_row(C->nnz, C->rows));
    const cl_int few = kry_rows_few(p->dev, shape);
    const kry_arg lists = kry_rows_table(shape, sizeof(cl_int));
    const kry_arg more[] = { lists, ARG(few), ARG(C->row_ptr), ARG(C->col) };

    if (!p->dev->info.cpu_kernels)
        TRY(kry_rows_run(p, C->type, shape, "spgemm_row_columns", p->rows, more, COUNT(more)));
    TRY(run(p, KRY_F32, "spgemm_columns", few, more + 2, COUNT(more) - 2));
done:
    return st;
}

static kry_status make_numbers(const product *p, bool lower, const kry_csr *C)
{
    kry_status st = KRY_OK;
    const kry_rows_shape shape = kry_rows_shape_for(p->dev, kry_mean_row(p->B->nnz, p->B->rows),
                                                    kry_mean_row(C->nnz, C->rows));
    const cl_int few = kry_rows_few(p->dev, shape), half_of_it = lower;
    const kry_arg sums = kry_rows_table(shape, kry_type_size(C->type));
    const kry_arg rows[] = { sums,           ARG(few),        ARG(C->row_ptr),
                             ARG(C->col),    ARG(half_of_it), ARG(p->A->val),
                             ARG(p->B->val), ARG(C->val) };
    const kry_arg others[] = { ARG(p->A->val), ARG(p->B->val), ARG(C->row_ptr), ARG(C->col),
                               ARG(C->val) };

    if (!p->dev->info.cpu_kernels)
        TRY(kry_rows_run(p, C->type, shape, "spgemm_row_values", p->rows, rows, COUNT(rows)));
    TRY(run(p, C->type, "spgemm_values", few, others, COUNT(others)));
done:
    return st;
}

/* ---- products -------------------------------------------------------------------------------- */

/* Row pointers, and how many entries there are. Integer kernels are compiled once, for whatever type. */
static kry_status make_offsets(const product *p, cl_mem *row_ptr, int64_t *nnz)
{
    kry_status st = KRY_OK;
    cl_mem length = NULL;

    TRY(kry_buffer_create(p->dev, (size_t)p->rows * sizeof(cl_int), &length));
    TRY(find_lengths(p, length));
    TRY(kry_csr_offsets(p->dev, p->rows, length, row_ptr, nnz));
done:
    kry_buffer_release(p->dev, &length);
    return st;
}

static kry_status make_pattern(const product *p, kry_csr *C)
{
    kry_status st = KRY_OK;

    TRY(make_offsets(p, &C->row_ptr, &C->nnz));
    CHECK(C->nnz <= INT32_MAX, KRY_ERR_UNSUPPORTED,
          "a product of matrices on a device has up to 2^31-1 entries, this one has %lld",
          (long long)C->nnz);
    TRY(kry_buffer_create(p->dev, (size_t)C->nnz * sizeof(cl_int), &C->col));
    TRY(find_columns(p, C));
done:
    return st;
}

kry_status kry_csr_product(const kry_csr *A, const kry_csr *B, bool lower, kry_csr *C)
{
    kry_status st = KRY_OK;
    product p;
    bool made = false;

    *C = (kry_csr){ .dev = A->dev, .rows = A->rows, .cols = B->cols, .type = A->type };
    TRY(product_begin(A, B, &p));
    if (A->val && !p.dev->info.cpu_kernels) TRY(kry_csr_product_at_once(&p, lower, C, &made));
    if (made) goto done;
    TRY(make_pattern(&p, C));
    if (A->val) {
        TRY(kry_buffer_create(p.dev, (size_t)C->nnz * kry_type_size(C->type), &C->val));
        TRY(make_numbers(&p, lower, C));
    }
done:
    kry_buffer_release(p.dev, &p.scratch);
    if (st < 0) kry_csr_release(C);
    return st;
}

kry_status kry_csr_product_count(const kry_csr *A, const kry_csr *B, int64_t *nnz)
{
    kry_status st = KRY_OK;
    product p;
    cl_mem row_ptr = NULL;

    TRY(product_begin(A, B, &p));
    TRY(make_offsets(&p, &row_ptr, nnz));
done:
    kry_buffer_release(p.dev, &row_ptr);
    kry_buffer_release(p.dev, &p.scratch);
    return st;
}

kry_status kry_csr_product_again(const kry_csr *A, const kry_csr *B, bool lower, kry_csr *C)
{
    kry_status st = KRY_OK;
    product p;

    TRY(product_begin(A, B, &p));
    TRY(make_numbers(&p, lower, C));
done:
    kry_buffer_release(p.dev, &p.scratch);
    return st;
}
