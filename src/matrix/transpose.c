/* transpose.c - transposes of matrices in compressed rows on a device, and how lengths of rows become offsets.
 * Kernels: cl/formats/transpose.cl. */
#include "device/launch.h"
#include "matrix/device_csr.h"

/* The kernels are compiled once, for whatever type. */
static kry_status run(kry_device *dev, const char *name, int64_t groups, const kry_arg *args,
                      size_t count)
{
    return kryi_run(dev, "transpose", KRY_F32, "", name, groups, args, count);
}

kry_status kryi_device_csr_offsets(kry_device *dev, int64_t n, cl_mem length, cl_mem *row_ptr,
                                   int64_t *total)
{
    enum { PER_ITEM = 8 };
    kry_status st = KRY_OK;
    int64_t groups = kryi_groups_for_sums(dev, KRY_F32, n / PER_ITEM);
    cl_mem part = NULL, sum = NULL, ptr = NULL;

    TRY(kryi_buffer_create(dev, (uint64_t)groups * sizeof *total, &part));
    TRY(kryi_buffer_create(dev, sizeof *total, &sum));
    TRY(kryi_buffer_create(dev, ((size_t)n + 1) * sizeof(cl_int), &ptr));
    const kry_arg sums[] = { ARG(n), ARG(length), ARG(part) };
    TRY(run(dev, "offsets_sums", groups, sums, COUNT(sums)));
    const kry_arg write[] = { ARG(n), ARG(length), ARG(part), ARG(ptr), ARG(sum) };
    TRY(run(dev, "offsets_write", groups, write, COUNT(write)));
    if (total) TRY(kryi_buffer_read(dev, sum, 0, sizeof *total, total));
    *row_ptr = ptr, ptr = NULL;
done:
    kryi_buffer_release(dev, &ptr);
    kryi_buffer_release(dev, &sum);
    kryi_buffer_release(dev, &part);
    return st;
}

kry_status kryi_device_csr_make_rows(const char *what, cl_mem length, kryi_device_csr *C)
{
    kry_status st = KRY_OK;

    TRY(kryi_device_csr_offsets(C->dev, C->rows, length, &C->row_ptr, &C->nnz));
    CHECK(C->nnz <= INT32_MAX, KRY_ERR_UNSUPPORTED, "%s has %lld entries; on a device up to 2^31-1",
          what, (long long)C->nnz);
    TRY(kryi_buffer_create(C->dev, (uint64_t)C->nnz * sizeof(cl_int), &C->col));
    TRY(kryi_buffer_create(C->dev, (uint64_t)C->nnz * kry_type_size(C->type), &C->val));
done:
    return st;
}

/* Four for each core, so that they end together; together no more than four times the matrix. */
int64_t kryi_device_csr_groups(const kry_device *dev, int64_t rows, int64_t cols, int64_t nnz)
{
    enum { SMALL = 1 << 20, PER_CORE = 4, WORTH_A_GROUP = 256 };
    int64_t room = 4 * nnz > SMALL ? 4 * nnz : SMALL;
    int64_t groups = (int64_t)PER_CORE * dev->info.compute_units;

    if (cols && groups > room / cols) groups = room / cols;
    if (groups > rows / WORTH_A_GROUP) groups = rows / WORTH_A_GROUP;
    return groups > 0 ? groups : 1;
}

int64_t kryi_device_csr_groups_with_room(const kryi_device_csr *A, int64_t numbers, size_t size,
                                         size_t *room)
{
    const bool cpu = A->dev->info.cpu_kernels;
    const size_t most = (size_t)1 << 28, items = cpu ? 1 : (size_t)kryi_group_size(A->dev),
                 each = items * (size_t)numbers * size;
    int64_t groups = cpu ? kryi_device_csr_groups(A->dev, A->rows, numbers, A->nnz)
                         : kryi_groups_for(A->dev, A->type, 2 * A->rows);

    if ((size_t)groups * each > most) groups = (int64_t)(most / each);
    if (groups < 1) groups = 1;
    *room = (size_t)groups * each;
    return groups;
}

/* ---- transposes ---------------------------------------------------------------------------- */

/* Count, and place, group by group. */
static kry_status transpose_on_cpu(const kryi_device_csr *A, kryi_device_csr *T, cl_mem from)
{
    kry_status st = KRY_OK;
    kry_device *dev = A->dev;
    const int64_t many = kryi_device_csr_groups(dev, A->rows, A->cols, A->nnz);
    const cl_int rows = (cl_int)A->rows, cols = (cl_int)A->cols, groups = (cl_int)many;
    cl_mem scratch = NULL, length = NULL;

    TRY(kryi_buffer_create(dev, (uint64_t)(many * A->cols) * sizeof(cl_int), &scratch));
    TRY(kryi_buffer_create(dev, (uint64_t)A->cols * sizeof(cl_int), &length));
    const kry_arg count[] = { ARG(rows), ARG(cols), ARG(A->row_ptr), ARG(A->col), ARG(scratch) };
    TRY(run(dev, "transpose_lengths", many, count, COUNT(count)));
    const kry_arg starts[] = { ARG(cols), ARG(groups), ARG(scratch), ARG(length) };
    TRY(run(dev, "transpose_starts", kryi_groups_for(dev, KRY_F32, cols), starts, COUNT(starts)));
    TRY(kryi_device_csr_offsets(dev, cols, length, &T->row_ptr, NULL));
    const kry_arg place[] = { ARG(rows),    ARG(cols),       ARG(A->row_ptr), ARG(A->col),
                              ARG(scratch), ARG(T->row_ptr), ARG(T->col),     ARG(from) };
    TRY(run(dev, "transpose_place", many, place, COUNT(place)));
done:
    kryi_buffer_release(dev, &length);
    kryi_buffer_release(dev, &scratch);
    return st;
}

static kry_status zero(kry_device *dev, cl_int count, cl_mem buffer)
{
    const kry_arg args[] = { ARG(count), ARG(buffer) };
    return run(dev, "transpose_zero", kryi_groups_for(dev, KRY_F32, count), args, COUNT(args));
}

/* Count and place in any order, and sort. */
static kry_status transpose_on_gpu(const kryi_device_csr *A, kryi_device_csr *T, cl_mem from)
{
    enum { LANES = 8 };
    kry_status st = KRY_OK;
    kry_device *dev = A->dev;
    const cl_int rows = (cl_int)A->rows, cols = (cl_int)A->cols, lanes = LANES;
    const int64_t by_rows = kryi_groups_for(dev, KRY_F32, rows * (int64_t)4);
    cl_mem count = NULL, unsorted = NULL;

    TRY(kryi_buffer_create(dev, (uint64_t)A->cols * sizeof(cl_int), &count));
    TRY(kryi_buffer_create(dev, (uint64_t)A->nnz * sizeof(cl_int), &unsorted));
    TRY(zero(dev, cols, count));
    const kry_arg counted[] = { ARG(rows), ARG(cols), ARG(A->row_ptr), ARG(A->col), ARG(count) };
    TRY(run(dev, "transpose_lengths", by_rows, counted, COUNT(counted)));
    TRY(kryi_device_csr_offsets(dev, cols, count, &T->row_ptr, NULL));
    TRY(zero(dev, cols, count));
    const kry_arg place[] = { ARG(rows),  ARG(cols),       ARG(A->row_ptr), ARG(A->col),
                              ARG(count), ARG(T->row_ptr), ARG(unsorted) };
    TRY(run(dev, "transpose_place", by_rows, place, COUNT(place)));
    const kry_arg sort[] = { ARG(rows),     ARG(cols),   ARG(A->row_ptr),
                             ARG(A->col),   ARG(lanes),  ARG(T->row_ptr),
                             ARG(unsorted), ARG(T->col), ARG(from) };
    int64_t groups = ((int64_t)cols * LANES + kryi_group_size(dev) - 1) / kryi_group_size(dev);
    TRY(run(dev, "transpose_sort", kryi_groups_at_most(dev, groups > 0 ? groups : 1), sort,
            COUNT(sort)));
done:
    kryi_buffer_release(dev, &unsorted);
    kryi_buffer_release(dev, &count);
    return st;
}

kry_status kryi_device_csr_transpose(const kryi_device_csr *A, kryi_device_csr *T, cl_mem *from)
{
    kry_status st = KRY_OK;
    kry_device *dev = A->dev;

    *from = NULL;
    *T = (kryi_device_csr){
        .dev = dev, .rows = A->cols, .cols = A->rows, .nnz = A->nnz, .type = A->type
    };
    T->tall = A->wide, T->wide = A->tall;
    TRY(kryi_buffer_create(dev, (uint64_t)T->nnz * sizeof(cl_int), &T->col));
    TRY(kryi_buffer_create(dev, (uint64_t)T->nnz * sizeof(cl_int), from));
    if (dev->info.cpu_kernels)
        TRY(transpose_on_cpu(A, T, *from));
    else
        TRY(transpose_on_gpu(A, T, *from));
    if (A->val) {
        TRY(kryi_buffer_create(dev, (uint64_t)T->nnz * kry_type_size(T->type), &T->val));
        TRY(kryi_device_csr_transpose_again(A, *from, T));
    }
done:
    if (st < 0) {
        kryi_buffer_release(dev, from);
        kryi_device_csr_release(T);
    }
    return st;
}

kry_status kryi_device_csr_gather(const kryi_device_csr *to, cl_mem place, kry_type stored,
                                  cl_mem numbers)
{
    const cl_int from_wide = stored == KRY_F64, to_wide = to->type == KRY_F64;
    const int64_t n = to->nnz, groups = kryi_groups_for(to->dev, to->type, n);
    const kry_arg by_place[] = { ARG(n),         ARG(place),   ARG(numbers),
                                 ARG(from_wide), ARG(to->val), ARG(to_wide) };
    const kry_arg all[] = { ARG(n), ARG(numbers), ARG(from_wide), ARG(to->val), ARG(to_wide) };

    return place ? run(to->dev, "numbers_gather", groups, by_place, COUNT(by_place))
                 : run(to->dev, "numbers_convert", groups, all, COUNT(all));
}

kry_status kryi_device_csr_transpose_again(const kryi_device_csr *A, cl_mem from,
                                           kryi_device_csr *T)
{
    return kryi_device_csr_gather(T, from, A->type, A->val);
}
