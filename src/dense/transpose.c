/* transpose.c - At := A'. Kernel: cl/dense.cl. */
#include "dense/dense.h"

/* Squares of this side pass through local memory. */
static int side_of(const kry_device *dev)
{
    int side = 16;
    while (side > 1 && side * side > dev->info.max_group) side /= 2;
    return side;
}

static kry_status run(const kry_vec *A, kry_vec *At)
{
    kry_status st = KRY_OK;
    kry_device *dev = A->dev;
    kry_kernel *kernel;
    const int side = side_of(dev);
    const bool cpu = dev->info.cpu_kernels;
    int64_t groups = ((A->n + side - 1) / side) * ((A->k + side - 1) / side);
    char defines[24];
    const kry_arg args[] = { ARG(A->n), ARG(A->k),       ARG(A->buffer), ARG(A->first),
                             ARG(A->n), ARG(At->buffer), ARG(At->first), ARG(At->n) };

    if (groups > 65535) groups = 65535;
    if (cpu && groups > dev->shape.chunks) groups = dev->shape.chunks;
    snprintf(defines, sizeof defines, "-DTILE=%d", side);
    TRY(kry_kernel_get(dev, "dense", A->type, defines, "dense_transpose", &kernel));
    TRY(kry_launch_size(dev, kernel, groups, cpu ? 1 : side * side, args, COUNT(args)));
done:
    return st;
}

kry_status kry_vec_transpose(const kry_vec *A, kry_vec *At)
{
    static const char who[] = "kry_vec_transpose";
    kry_status st = KRY_OK;

    TRY(kry_dense_check(who, "A", A));
    TRY(kry_dense_check(who, "At", At));
    CHECK(A->n == At->k && A->k == At->n, KRY_ERR_SHAPE,
          "%s: A is %lld-by-%lld, but At %lld-by-%lld", who, (long long)A->n, (long long)A->k,
          (long long)At->n, (long long)At->k);
    TRY(kry_dense_check_two(who, "A", A, "At", At, false));
    if (A->n > 0) TRY(run(A, At));
done:
    return st;
}
