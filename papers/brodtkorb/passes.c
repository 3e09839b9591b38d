/* passes.c - products of dense matrices in one pass and in several. Kernel: cl/dense/gemm.cl. */
#include "passes.h"
#include "paper.h"
#include <stdio.h>

enum { CPU_SIDE = 32 }; /* SIDE of cl/dense/gemm.cl on CPUs */

/* How gemm_tile is compiled and launched. */
typedef struct shape {
    int side, fours;  /* TS and FOURS of cl/dense/gemm.cl */
    int64_t tiles;    /* a group for each of them */
    cl_kernel kernel; /* owned */
} shape;

/* 16 x 16 work-items with 8 x 8 numbers of C each, where groups and local memory allow that. */
static kry_status shape_create(const kry_vec *C, shape *s)
{
    kry_status st = KRY_OK;
    kry_device *device = kry_vec_device(C);
    const kry_device_info *info = kry_device_get_info(device);
    const int64_t m = kry_vec_rows(C), n = kry_vec_cols(C);
    char options[48];

    s->side = info->cpu_kernels ? 1 : 16;
    while (s->side * s->side > info->max_group) s->side /= 2;
    CHECK(info->cpu_kernels || s->side >= 4, KRY_ERR_UNSUPPORTED,
          "passes_product: groups of %d work-items, 16 are needed", (int)info->max_group);
    const int64_t slices = 2 * 8 * (s->side * 8 + 4) * (int64_t)kry_type_size(kry_vec_type(C));
    s->fours = info->gpu && s->side >= 8 && slices + 256 <= info->local_bytes ? 2 : 1;
    const int64_t square = info->cpu_kernels ? CPU_SIDE : s->side * 4 * s->fours;
    s->tiles = ((m + square - 1) / square) * ((n + square - 1) / square);
    snprintf(options, sizeof options, "-DTS=%d -DFOURS=%d", s->side, s->fours);
    TRY(kry_device_kernel(device, kry_vec_type(C), "gemm", NULL, options, "gemm_tile", &s->kernel));
done:
    return st;
}

/* C := A B + beta C of `deep` of the inner dimension, from `at` on. */
static kry_status pass(const shape *s, int64_t at, int64_t deep, const kry_vec *A, const kry_vec *B,
                       kry_vec *C)
{
    kry_device *device = kry_vec_device(C);
    const bool fp64 = kry_device_get_info(device)->fp64;
    const int64_t m = kry_vec_rows(C), n = kry_vec_cols(C), one = 1, lda = kry_vec_ld(A),
                  ldb = kry_vec_ld(B), ldc = kry_vec_ld(C);
    const double wide[] = { 1, at > 0 }; /* alpha, beta, of the type ACC */
    const float narrow[] = { 1, at > 0 };
    const size_t acc = fp64 ? sizeof *wide : sizeof *narrow;
    int64_t a0, b0, c0;
    cl_mem a = kry_vec_buffer(A, &a0), b = kry_vec_buffer(B, &b0), c = kry_vec_buffer(C, &c0);

    a0 += at * lda, b0 += at;
    const kry_arg args[] = {
        KRY_ARG(m),
        KRY_ARG(n),
        KRY_ARG(deep),
        { acc, fp64 ? (const void *)&wide[0] : &narrow[0] },
        KRY_ARG(a),
        KRY_ARG(a0),
        KRY_ARG(one),
        KRY_ARG(lda),
        KRY_ARG(b),
        KRY_ARG(b0),
        KRY_ARG(one),
        KRY_ARG(ldb),
        { acc, fp64 ? (const void *)&wide[1] : &narrow[1] },
        KRY_ARG(c),
        KRY_ARG(c0),
        KRY_ARG(ldc),
    };
    return kry_device_launch(device, s->kernel, s->tiles, s->side * s->side, args, COUNT(args));
}

kry_status passes_product(int64_t slice, const kry_vec *A, const kry_vec *B, kry_vec *C)
{
    kry_status st = KRY_OK;
    const int64_t k = kry_vec_cols(A);
    shape s = { .kernel = NULL };

    TRY(shape_create(C, &s));
    if (slice == 0) slice = k;
    for (int64_t at = 0; at < k; at += slice)
        TRY(pass(&s, at, k - at < slice ? k - at : slice, A, B, C));
done:
    if (s.kernel) clReleaseKernel(s.kernel);
    return st;
}
