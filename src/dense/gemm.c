/* gemm.c - C := alpha op(A) op(B) + beta C: by CLBlast or by kry's own kernels, and how these are launched.
 * Kernels: cl/dense/gemm.cl, cl/vector/gram.cl. */
#include "dense/dense.h"

/* ---- by CLBlast ------------------------------------------------------------------------------ */

/* CLBlast ends the process when it cannot make the buffer that it copies operands to, so it gets one of
 * ours. It multiplies a C that it copies by beta only if beta != 0, but its kernel for small sizes
 * multiplies always: with beta == 0, C is filled first. */

#ifdef KRY_HAVE_CLBLAST
#include <clblast_c.h>

#define OP(transposed) ((transposed) ? CLBlastTransposeYes : CLBlastTransposeNo)
#define LAYOUT(g)                                                                              \
    CLBlastLayoutColMajor, OP((g)->ta), OP((g)->tb), (size_t)(g)->C.rows, (size_t)(g)->C.cols, \
        (size_t)kryi_gemm_depth(g)
#define OPERAND(X) (X).buffer, (size_t)(X).first, (size_t)(X).ld
#define OFFSETS(g)                                                                    \
    (size_t)(g)->A.first, (size_t)(g)->A.ld, (size_t)(g)->B.first, (size_t)(g)->B.ld, \
        (size_t)(g)->C.first, (size_t)(g)->C.ld

static kry_status make_room(const kryi_gemm *g, cl_mem *buffer)
{
    kry_status st = KRY_OK;
    kry_device *dev = g->C.dev;
    size_t bytes = 0;
    CLBlastStatusCode code =
        g->C.type == KRY_F32
            ? CLBlastSGemmTempBufferSize(LAYOUT(g), OFFSETS(g), &dev->queue, &bytes)
            : CLBlastDGemmTempBufferSize(LAYOUT(g), OFFSETS(g), &dev->queue, &bytes);

    TRY(kryi_clblast_check("kry_vec_gemm", (int)code));
    TRY(kryi_room_reserve(dev, bytes, buffer));
done:
    return st;
}

kry_status kryi_gemm_clblast(const kryi_gemm *g)
{
    kry_status st = KRY_OK;
    kry_device *dev = g->C.dev;
    cl_event event = NULL, *traced = dev->trace ? &event : NULL;
    cl_mem room;

    TRY(make_room(g, &room));
    if (g->beta == 0) TRY(kryi_block_fill(&g->C, 0));
    CLBlastStatusCode code =
        g->C.type == KRY_F32
            ? CLBlastSgemmWithTempBuffer(LAYOUT(g), (float)g->alpha, OPERAND(g->A), OPERAND(g->B),
                                         (float)g->beta, OPERAND(g->C), &dev->queue, traced, room)
            : CLBlastDgemmWithTempBuffer(LAYOUT(g), g->alpha, OPERAND(g->A), OPERAND(g->B), g->beta,
                                         OPERAND(g->C), &dev->queue, traced, room);
    if (event) dev->trace(dev->trace_user, "gemm (clblast)", event);
    TRY(kryi_clblast_check("kry_vec_gemm", (int)code));
done:
    return st;
}

bool kryi_gemm_has_clblast(void) { return true; }

#else

kry_status kryi_gemm_clblast(const kryi_gemm *g)
{
    (void)g;
    return kry_fail(KRY_ERR_UNSUPPORTED, "kry_vec_gemm: this kry was built without CLBlast");
}

bool kryi_gemm_has_clblast(void) { return false; }

#endif

/* ---- by kernels of kry ----------------------------------------------------------------------- */

enum {
    NARROW = 4,         /* columns of C up to which work-items share sums */
    SHALLOW = 64,       /* k: below it, copying operands costs CLBlast more than the product */
    CLBLAST_FROM = 192, /* cubed: products below that are launches and little else */
    MOST_GRAM = 256,    /* rows and columns of C = A'B up to which the rows of A and B are shared */
    DEEP = 32,          /* out, if there are so many times as many of them */
    CPU_SIDE = 32,      /* SIDE of cl/dense/gemm.cl on CPUs */
    LEAST_SIDE = 4      /* work-items along a side of gemm_tile's groups, for each of FOURS */
};

/* TS of cl/dense/gemm.cl: work-items along a side of a group, 16 where the device takes 256. */
static int items_per_side(const kry_device *dev)
{
    int side = 16;
    while (side > 1 && side * side > dev->info.max_group) side /= 2;
    return dev->info.cpu_kernels ? 1 : side;
}

static kry_status get_kernel(kry_device *dev, kry_type type, const char *name, int fours,
                             kryi_kernel **kernel)
{
    char defines[48];

    snprintf(defines, sizeof defines, "-DTS=%d -DFOURS=%d", items_per_side(dev), fours);
    return kryi_kernel_get(dev, "gemm", type, defines, name, kernel);
}

/* A GPU has the registers for 8-by-8 numbers of C per work-item, but for NVIDIA's before compute capability
 * 3.5, which have 63 of them; PoCL compiles fewer sooner. Slices of A and B must fit into local memory, beside
 * the arguments, which Tesla keeps there. */
static kry_status choose_fours(kry_device *dev, kry_type type, int *fours)
{
    enum { STEP = 8, ARGUMENTS = 256 };
    kry_status st = KRY_OK;
    kryi_kernel *kernel;
    const int side = items_per_side(dev);
    const int64_t slices = 2 * STEP * (side * 8 + 4) * (int64_t)kry_type_size(type);

    *fours = 1;
    if (!dev->info.gpu || side < 2 * LEAST_SIDE || slices + ARGUMENTS > dev->info.local_bytes)
        goto done;
    TRY(get_kernel(dev, type, "gemm_tile", 2, &kernel));
    if (!kryi_kernel_spills(dev, kernel)) *fours = 2;
done:
    return st;
}

/* Groups of `size` work-items for so many tiles of C; gemm_narrow: of `rows` rows, else 0. Transposes are
 * changes of strides. */
static kry_status launch(const kryi_gemm *g, const char *name, int fours, int64_t tiles, int size,
                         cl_int rows)
{
    kry_status st = KRY_OK;
    kry_device *dev = g->C.dev;
    kryi_kernel *kernel;
    const int64_t k = kryi_gemm_depth(g), one = 1, *a_row = g->ta ? &g->A.ld : &one,
                  *a_col = g->ta ? &one : &g->A.ld, *b_row = g->tb ? &g->B.ld : &one,
                  *b_col = g->tb ? &one : &g->B.ld;
    kryi_scalar alpha = kryi_scalar_of(dev, g->alpha), beta = kryi_scalar_of(dev, g->beta);
    const kry_arg args[] = {
        ARG(g->C.rows),     ARG(g->C.cols), ARG(k),         ARG_ACC(dev, alpha), ARG_VEC(&g->A),
        ARG(*a_row),        ARG(*a_col),    ARG_VEC(&g->B), ARG(*b_row),         ARG(*b_col),
        ARG_ACC(dev, beta), ARG_VEC(&g->C), ARG(g->C.ld),   ARG(rows),
    };

    TRY(get_kernel(dev, g->C.type, name, fours, &kernel));
    TRY(kryi_launch_range(dev, kernel,
                          (kryi_range){ kryi_groups_at_most(dev, tiles), .size = size }, args,
                          COUNT(args) - (rows == 0)));
done:
    return st;
}

static kry_status narrow(const kryi_gemm *g)
{
    kry_device *dev = g->C.dev;
    const bool down_columns = !g->ta || g->A.ld == 1;
    const int group = kryi_group_size(dev), lanes = group < 32 ? group : 32,
              rows = down_columns ? lanes : group / lanes;
    int64_t tiles = kryi_pieces_of(g->C.rows, rows) * g->C.cols;

    int fours;
    kry_status st = choose_fours(dev, g->C.type, &fours); /* the program of gemm_tile */

    if (dev->info.cpu_kernels) tiles = kryi_pieces_of(tiles, down_columns ? 64 : 16);
    return st < 0 ? st : launch(g, "gemm_narrow", fours, tiles, group, rows);
}

static int64_t tiles_of(const kryi_gemm *g, int square)
{
    return kryi_pieces_of(g->C.rows, square) * kryi_pieces_of(g->C.cols, square);
}

/* Large squares of C, unless there are too few of them for half of the compute units. */
static kry_status tiled(const kryi_gemm *g)
{
    kry_device *dev = g->C.dev;
    int fours;
    kry_status st = choose_fours(dev, g->C.type, &fours);
    const int side = items_per_side(dev);
    if (2 * tiles_of(g, side * 4 * fours) <= dev->info.compute_units) fours = 1;
    const int square = dev->info.cpu_kernels ? CPU_SIDE : side * 4 * fours;
    return st < 0 ? st : launch(g, "gemm_tile", fours, tiles_of(g, square), side * side, 0);
}

kry_status kryi_gemm_own(const kryi_gemm *g)
{
    const kry_device *dev = g->C.dev;
    const bool tile = dev->info.cpu_kernels || items_per_side(dev) >= LEAST_SIDE;
    return (g->C.cols <= NARROW || !tile ? narrow : tiled)(g);
}

/* On CPUs kry's kernel takes a fifth of the time of CLBlast (PoCL, n = 512), and compiles sooner. On GPUs CLBlast
 * copies a C that is part of a larger matrix, there and back. */
kry_status kryi_gemm_run(const kryi_gemm *g)
{
    const double from = (double)CLBLAST_FROM * CLBLAST_FROM * CLBLAST_FROM;
    const int64_t k = kryi_gemm_depth(g);
    const bool part = g->C.rows != g->C.ld;

    if (g->C.rows == 0 || g->C.cols == 0) return KRY_OK;
    if (!kryi_gemm_has_clblast() || g->C.dev->info.cpu_kernels || g->C.cols <= NARROW || part ||
        k < SHALLOW || (double)g->C.rows * (double)g->C.cols * (double)k < from)
        return kryi_gemm_own(g);
    return kryi_gemm_clblast(g);
}

/* C := alpha A'B + beta C, where C is so small that kernels which share out C alone would leave the device idle. */
static kry_status gram(double alpha, const kry_vec *A, const kry_vec *B, double beta, kry_vec *C)
{
    kry_status st = KRY_OK;
    const cl_int shares = kryi_gram_shares(C->dev, C->type, A->n, C->n, C->k);
    cl_mem part;

    TRY(kryi_room_reserve(C->dev, (size_t)(C->n * C->k * shares) * sizeof(kryi_partial), &part));
    TRY(kryi_gram_part(A, B, NULL, 0, shares, part));
    TRY(kryi_gram_store(C, alpha, beta, shares, part));
done:
    return st;
}

kry_status kry_vec_gemm(bool ta, bool tb, double alpha, const kry_vec *A, const kry_vec *B,
                        double beta, kry_vec *C)
{
    static const char who[] = "kry_vec_gemm";
    kry_status st = KRY_OK;

    TRY(kryi_dense_check_block(who, "A", A));
    TRY(kryi_dense_check_block(who, "B", B));
    TRY(kryi_dense_check_block(who, "C", C));
    CHECK((ta ? A->k : A->n) == C->n && (ta ? A->n : A->k) == (tb ? B->k : B->n) &&
              (tb ? B->n : B->k) == C->k,
          KRY_ERR_SHAPE, "%s: A is %lld-by-%lld%s, B is %lld-by-%lld%s, C is %lld-by-%lld", who,
          (long long)A->n, (long long)A->k, ta ? ", transposed" : "", (long long)B->n,
          (long long)B->k, tb ? ", transposed" : "", (long long)C->n, (long long)C->k);
    TRY(kryi_dense_check_two(who, "A", A, "C", C, false));
    TRY(kryi_dense_check_two(who, "B", B, "C", C, false));
    if (ta && !tb && C->n * C->k > 0 && C->n <= MOST_GRAM && C->k <= MOST_GRAM &&
        A->n >= DEEP * (C->n + C->k))
        return gram(alpha, A, B, beta, C);
    TRY(kryi_gemm_run(&(kryi_gemm){ .ta = ta,
                                    .tb = tb,
                                    .alpha = alpha,
                                    .A = kryi_block_of(A),
                                    .B = kryi_block_of(B),
                                    .beta = beta,
                                    .C = kryi_block_of(C) }));
done:
    return st;
}
