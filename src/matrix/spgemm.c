/* spgemm.c - products of matrices in compressed rows on a device. Kernels: cl/spgemm.cl, cl/spgemm_rows.cl. */
#include "matrix/spgemm.h"
#include "device/launch.h"
#include <string.h>

enum { OPERANDS = 7, MORE = 7 };

/* What the kernels of a product share. */
typedef struct product {
    const kry_csr *A, *B;
    kry_device *dev;
    cl_int rows, cols;
    cl_int lanes; /* GPUs: work-items for a long row */
    int64_t groups;
    cl_mem scratch; /* CPUs */
} product;

static double mean(int64_t count, int64_t rows) { return rows ? (double)count / (double)rows : 0; }

/* Of a row of C. */
static double products_of(const kry_csr *A, const kry_csr *B)
{
    return mean(A->nnz, A->rows) * mean(B->nnz, B->rows);
}

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
    p->lanes = lanes_for(dev, products_of(A, B));
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

enum { GROUP = 32, SLOTS = 512 }; /* of spgemm_rows.cl */

static int group_size(const kry_device *dev)
{
    const int size = kry_group_size(dev);
    return size < GROUP ? size : GROUP;
}

static int slots_for(const kry_device *dev, int lanes) { return SLOTS / group_size(dev) * lanes; }

/* So many work-items to a row of C as there are `steps` side by side, and that there is room for `length` columns. */
static cl_int lanes_for_rows(const product *p, double steps, double length)
{
    cl_int lanes = 2;

    while (lanes < group_size(p->dev) && (lanes < steps || slots_for(p->dev, lanes) < 2 * length))
        lanes *= 2;
    return lanes;
}

/* A launch of spgemm_rows.cl. */
static kry_status run_rows(const product *p, kry_type type, const char *name, cl_int lanes,
                           const kry_arg *more, size_t count)
{
    enum { SHARED = 6 };
    kry_status st = KRY_OK;
    const int size = group_size(p->dev), teams = size / lanes;
    const kry_arg operands[SHARED] = { ARG(p->rows),       ARG(p->A->row_ptr), ARG(p->A->col),
                                       ARG(p->B->row_ptr), ARG(p->B->col),     ARG(lanes) };
    const int64_t groups = kry_groups_at_most(p->dev, (p->A->rows + teams - 1) / teams);
    kry_arg args[SHARED + MORE];
    kry_kernel *kernel;

    memcpy(args, operands, sizeof operands);
    memcpy(args + SHARED, more, count * sizeof *more);
    TRY(kry_kernel_get(p->dev, "spgemm_rows", type, "", name, &kernel));
    TRY(kry_launch_size(p->dev, kernel, groups > 0 ? groups : 1, size, args, SHARED + count));
done:
    return st;
}

/* ---- the steps of a product ---------------------------------------------------------------------- */

static kry_status find_lengths(const product *p, cl_mem length)
{
    kry_status st = KRY_OK;
    const kry_arg more[] = { ARG(length) };

    if (!p->dev->info.cpu_kernels) {
        const cl_int lanes =
            lanes_for_rows(p, mean(p->A->nnz, p->A->rows) / 2, products_of(p->A, p->B) / 2);
        TRY(run_rows(p, KRY_F32, "spgemm_row_lengths", lanes, more, COUNT(more)));
    }
    TRY(run(p, KRY_F32, "spgemm_lengths", 0, more, COUNT(more)));
done:
    return st;
}

static kry_status find_columns(const product *p, const kry_csr *C)
{
    kry_status st = KRY_OK;
    const double steps = mean(p->A->nnz, p->A->rows) / 2;
    const cl_int lanes = lanes_for_rows(p, steps, mean(C->nnz, C->rows));
    const cl_int few = slots_for(p->dev, lanes) / 4 * 3;
    const kry_arg more[] = { ARG(few), ARG(C->row_ptr), ARG(C->col) };

    if (!p->dev->info.cpu_kernels)
        TRY(run_rows(p, KRY_F32, "spgemm_row_columns", lanes, more, COUNT(more)));
    TRY(run(p, KRY_F32, "spgemm_columns", few, more + 1, COUNT(more) - 1));
done:
    return st;
}

static kry_status make_numbers(const product *p, bool lower, const kry_csr *C)
{
    kry_status st = KRY_OK;
    const double steps = mean(p->B->nnz, p->B->rows);
    const cl_int lanes = lanes_for_rows(p, steps, mean(C->nnz, C->rows));
    const cl_int few = slots_for(p->dev, lanes) / 4 * 3;
    const cl_int half_of_it = lower;
    const kry_arg rows[] = { ARG(few),       ARG(C->row_ptr), ARG(C->col), ARG(half_of_it),
                             ARG(p->A->val), ARG(p->B->val),  ARG(C->val) };
    const kry_arg others[] = { ARG(p->A->val), ARG(p->B->val), ARG(C->row_ptr), ARG(C->col),
                               ARG(C->val) };

    if (!p->dev->info.cpu_kernels)
        TRY(run_rows(p, C->type, "spgemm_row_values", lanes, rows, COUNT(rows)));
    TRY(run(p, C->type, "spgemm_values", few, others, COUNT(others)));
done:
    return st;
}

/* ---- products -------------------------------------------------------------------------------- */

/* Row pointers and columns. Integer kernels are compiled once, for whatever type. */
static kry_status make_pattern(const product *p, kry_csr *C)
{
    kry_status st = KRY_OK;
    cl_mem length = NULL;

    TRY(kry_buffer_create(p->dev, (size_t)C->rows * sizeof(cl_int), &length));
    TRY(find_lengths(p, length));
    TRY(kry_csr_offsets(p->dev, C->rows, length, &C->row_ptr, &C->nnz));
    CHECK(C->nnz <= INT32_MAX, KRY_ERR_UNSUPPORTED,
          "a product of matrices on a device has up to 2^31-1 entries, this one has %lld",
          (long long)C->nnz);
    TRY(kry_buffer_create(p->dev, (size_t)C->nnz * sizeof(cl_int), &C->col));
    TRY(find_columns(p, C));
done:
    kry_buffer_release(p->dev, &length);
    return st;
}

kry_status kry_csr_product(const kry_csr *A, const kry_csr *B, bool lower, kry_csr *C)
{
    kry_status st = KRY_OK;
    product p;

    *C = (kry_csr){ .dev = A->dev, .rows = A->rows, .cols = B->cols, .type = A->type };
    TRY(product_begin(A, B, &p));
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
