/* gram.c - X'Y of blocks of few columns, whose rows groups share. Kernels: cl/vector/gram.cl. */
#include "vector/vec.h"

/* Entries along a side of a group's tile (cl/vector/gram.cl), and groups of a compute unit whose registers hold one. */
enum { TILE = 4, PER_UNIT = 6 };

static int64_t tiles_of(int64_t width, int64_t across)
{
    return ((width + TILE - 1) / TILE) * ((across + TILE - 1) / TILE);
}

cl_int kryi_gram_shares(const kry_device *dev, kry_type type, int64_t n, int64_t width,
                        int64_t across)
{
    const int64_t wanted = kryi_groups_for_sums(dev, type, n);
    const int64_t most = kryi_groups_at_once(dev, PER_UNIT) / tiles_of(width, across);

    return (cl_int)(dev->info.cpu_kernels || wanted < most ? wanted : most > 0 ? most : 1);
}

kry_status kryi_gram_part(const kry_vec *X, const kry_vec *Y, cl_mem gate, cl_int at, cl_int shares,
                          cl_mem part)
{
    const cl_int width = (cl_int)X->k, across = (cl_int)Y->k;
    const kry_arg args[] = { ARG(X->n),  ARG(width), ARG(across), ARG(gate),  ARG(at),
                             ARG_VEC(X), ARG(X->ld), ARG_VEC(Y),  ARG(Y->ld), ARG(part) };

    return kryi_run(X->dev, "gram", X->type, "", "gram_part", shares * tiles_of(X->k, Y->k), args,
                    COUNT(args));
}

kry_status kryi_gram_total(const kry_vec *X, cl_int shares, cl_mem part, cl_mem total)
{
    return kryi_run(X->dev, "gram", X->type, "", "gram_total", X->k * X->k,
                    ARGS(ARG(shares), ARG(part), ARG(total)));
}

kry_status kryi_gram_store(const kry_vec *C, double alpha, double beta, cl_int shares, cl_mem part)
{
    const kryi_scalar a = kryi_scalar_of(C->dev, alpha), b = kryi_scalar_of(C->dev, beta);

    return kryi_run(C->dev, "gram", C->type, "", "gram_store", C->n * C->k,
                    ARGS(ARG(shares), ARG(C->k), ARG(part), ARG_ACC(C->dev, a), ARG_ACC(C->dev, b),
                         ARG_VEC(C), ARG(C->ld)));
}
