/* gemm.c - C := alpha op(A) op(B) + beta C. Kernels: cl/gemm.cl, and CLBlast's.
 *
 * CLBlast ends the process when a buffer that it wants to copy operands to cannot be made, so it gets
 * one of ours. It multiplies a C that it copies by beta only if beta != 0, but its kernel for small
 * sizes multiplies always: with beta == 0, C is filled first. */
#include "dense/dense.h"

enum {
    NARROW = 4, /* columns of C up to which work-items share sums */
    MOST_GROUPS = 65535,
    SHALLOW = 64,       /* k: below it, copying operands costs CLBlast more than the product */
    CLBLAST_FROM = 192, /* cubed: products below that are launches and little else */
    CPU_SIDE = 32       /* SIDE of cl/gemm.cl on CPUs */
};

/* ---- CLBlast ---------------------------------------------------------------------------------- */

#ifdef KRY_HAVE_CLBLAST
#include <clblast_c.h>

bool kry_gemm_has_clblast(void) { return true; }

typedef struct clblast_call {
    CLBlastTranspose op_a, op_b;
    size_t m, n, k;
    const kry_block *A, *B, *C;
    cl_command_queue queue;
} clblast_call;

#define LAYOUT(c) CLBlastLayoutColMajor, (c)->op_a, (c)->op_b, (c)->m, (c)->n, (c)->k
#define OFFSETS(c)                                                                        \
    (size_t)(c)->A->first, (size_t)(c)->A->ld, (size_t)(c)->B->first, (size_t)(c)->B->ld, \
        (size_t)(c)->C->first, (size_t)(c)->C->ld

/* What CLBlast copies operands to; it stays with the device. */
typedef struct gemm_room {
    cl_mem buffer;
    size_t bytes;
} gemm_room;

static void release_room(kry_device *dev, void *kept)
{
    kry_buffer_release(dev, &((gemm_room *)kept)->buffer);
}

static const kry_keeper room_keeper = { sizeof(gemm_room), release_room };

static kry_status make_room(clblast_call *c, cl_mem *buffer)
{
    kry_status st = KRY_OK;
    kry_device *dev = c->C->dev;
    gemm_room *room;
    size_t bytes = 0;
    CLBlastStatusCode code =
        c->C->type == KRY_F32
            ? CLBlastSGemmTempBufferSize(LAYOUT(c), OFFSETS(c), &c->queue, &bytes)
            : CLBlastDGemmTempBufferSize(LAYOUT(c), OFFSETS(c), &c->queue, &bytes);

    TRY(kry_clblast_check("kry_vec_gemm", (int)code));
    TRY(kry_device_keep(dev, &room_keeper, &room));
    if (!room->buffer || bytes > room->bytes) {
        kry_buffer_release(dev, &room->buffer); /* there may not be room for both */
        TRY(kry_buffer_create(dev, bytes, &room->buffer));
        room->bytes = bytes;
    }
    *buffer = room->buffer;
done:
    return st;
}

static kry_status by_clblast(bool ta, bool tb, int64_t k, double alpha, const kry_block *A,
                             const kry_block *B, double beta, const kry_block *C)
{
    kry_status st = KRY_OK;
    kry_device *dev = C->dev;
    cl_event event = NULL, *told = dev->trace ? &event : NULL;
    clblast_call c = { ta ? CLBlastTransposeYes : CLBlastTransposeNo,
                       tb ? CLBlastTransposeYes : CLBlastTransposeNo,
                       (size_t)C->rows,
                       (size_t)C->cols,
                       (size_t)k,
                       A,
                       B,
                       C,
                       dev->queue };
    cl_mem room;

    TRY(make_room(&c, &room));
    if (beta == 0) TRY(kry_block_fill(C, 0));
    CLBlastStatusCode code =
        C->type == KRY_F32
            ? CLBlastSgemmWithTempBuffer(LAYOUT(&c), (float)alpha, A->buffer, (size_t)A->first,
                                         (size_t)A->ld, B->buffer, (size_t)B->first, (size_t)B->ld,
                                         (float)beta, C->buffer, (size_t)C->first, (size_t)C->ld,
                                         &c.queue, told, room)
            : CLBlastDgemmWithTempBuffer(LAYOUT(&c), alpha, A->buffer, (size_t)A->first,
                                         (size_t)A->ld, B->buffer, (size_t)B->first, (size_t)B->ld,
                                         beta, C->buffer, (size_t)C->first, (size_t)C->ld, &c.queue,
                                         told, room);
    if (event) dev->trace(dev->trace_user, "gemm (clblast)", event);
    TRY(kry_clblast_check("kry_vec_gemm", (int)code));
done:
    return st;
}

#else

bool kry_gemm_has_clblast(void) { return false; }

static kry_status by_clblast(bool ta, bool tb, int64_t k, double alpha, const kry_block *A,
                             const kry_block *B, double beta, const kry_block *C)
{
    (void)ta, (void)tb, (void)k, (void)alpha, (void)A, (void)B, (void)beta, (void)C;
    return kry_fail(KRY_ERR_UNSUPPORTED, "kry_vec_gemm: this kry was built without CLBlast");
}

#endif

/* ---- kernels of kry's own ---------------------------------------------------------------------- */

/* TS of cl/gemm.cl: work-items along a side of a group, 16 where the device takes 256. */
static int items_per_side(const kry_device *dev)
{
    int side = 16;
    while (side > 1 && side * side > dev->info.max_group) side /= 2;
    return dev->info.cpu_kernels ? 1 : side;
}

/* A GPU has the registers for 8-by-8 numbers of C per work-item; PoCL compiles fewer sooner. Slices of
 * A and B must fit into local memory, beside the arguments, which Tesla keeps there. */
static int fours(const kry_device *dev, kry_type type)
{
    enum { STEP = 8, ARGUMENTS = 256 };
    int64_t slices = 2 * STEP * items_per_side(dev) * 8 * (int64_t)kry_type_size(type);
    return dev->info.gpu && slices + ARGUMENTS <= dev->info.local_bytes ? 2 : 1;
}

typedef struct own_call {
    kry_kernel *kernel;
    const kry_block *A, *B, *C;
    int64_t k, by[4]; /* strides: rows and columns of A, of B */
    double alpha, beta;
} own_call;

enum { OWN_ARGS = 16 };

static kry_status launch_own(const own_call *c, int64_t column, int64_t columns, int64_t groups,
                             int size, const cl_int *rows)
{
    kry_device *dev = c->C->dev;
    const int64_t b0 = c->B->first + column * c->by[3], c0 = c->C->first + column * c->C->ld;
    kry_scalar alpha = kry_scalar_of(dev, c->alpha), beta = kry_scalar_of(dev, c->beta);
    const kry_arg args[OWN_ARGS + 1] = {
        ARG(c->C->rows),    ARG(columns),      ARG(c->k),     ARG_ACC(dev, alpha),
        ARG(c->A->buffer),  ARG(c->A->first),  ARG(c->by[0]), ARG(c->by[1]),
        ARG(c->B->buffer),  ARG(b0),           ARG(c->by[2]), ARG(c->by[3]),
        ARG_ACC(dev, beta), ARG(c->C->buffer), ARG(c0),       ARG(c->C->ld),
    };
    kry_arg with_rows[OWN_ARGS + 2];

    if (!rows) return kry_launch_size(dev, c->kernel, groups, size, args, OWN_ARGS);
    for (int i = 0; i < OWN_ARGS; i++) with_rows[i] = args[i];
    with_rows[OWN_ARGS] = (kry_arg)ARG(*rows);
    return kry_launch_size(dev, c->kernel, groups, size, with_rows, OWN_ARGS + 1);
}

static int64_t in_pieces(int64_t n, int64_t piece) { return n / piece + (n % piece != 0); }

static kry_status narrow(own_call *c, const char *defines)
{
    kry_status st = KRY_OK;
    kry_device *dev = c->C->dev;
    const int lanes = kry_group_size(dev) < 32 ? kry_group_size(dev) : 32;
    const cl_int rows = c->by[0] == 1 ? lanes : kry_group_size(dev) / lanes;
    int64_t tiles = in_pieces(c->C->rows, rows) * c->C->cols;

    TRY(kry_kernel_get(dev, "gemm", c->C->type, defines, "gemm_narrow", &c->kernel));
    if (dev->info.cpu_kernels) tiles = in_pieces(tiles, c->by[0] == 1 ? 64 : 16);
    if (dev->info.cpu_kernels && tiles > dev->shape.chunks) tiles = dev->shape.chunks;
    if (tiles > MOST_GROUPS) tiles = MOST_GROUPS;
    TRY(launch_own(c, 0, c->C->cols, tiles, kry_group_size(dev), &rows));
done:
    return st;
}

/* Strips of columns, so that no launch has more groups than any device takes. */
static kry_status tiled(own_call *c, const char *defines)
{
    kry_status st = KRY_OK;
    kry_device *dev = c->C->dev;
    const int side = items_per_side(dev);
    const int64_t square = dev->info.cpu_kernels ? CPU_SIDE : side * 4 * fours(dev, c->C->type),
                  down = in_pieces(c->C->rows, square);
    const int64_t strip = (down < MOST_GROUPS ? MOST_GROUPS / down : 1) * square;

    TRY(kry_kernel_get(dev, "gemm", c->C->type, defines, "gemm_tile", &c->kernel));
    for (int64_t j = 0; j < c->C->cols; j += strip) {
        int64_t columns = c->C->cols - j < strip ? c->C->cols - j : strip;
        int64_t groups = down * in_pieces(columns, square);
        if (dev->info.cpu_kernels && groups > dev->shape.chunks) groups = dev->shape.chunks;
        TRY(launch_own(c, j, columns, groups, side * side, NULL));
    }
done:
    return st;
}

static kry_status by_own(bool ta, bool tb, int64_t k, double alpha, const kry_block *A,
                         const kry_block *B, double beta, const kry_block *C)
{
    char defines[48];
    own_call c = { .A = A, .B = B, .C = C, .k = k, .alpha = alpha, .beta = beta };

    c.by[0] = ta ? A->ld : 1, c.by[1] = ta ? 1 : A->ld;
    c.by[2] = tb ? B->ld : 1, c.by[3] = tb ? 1 : B->ld;
    snprintf(defines, sizeof defines, "-DTS=%d -DFOURS=%d", items_per_side(C->dev),
             fours(C->dev, C->type));
    return C->cols <= NARROW ? narrow(&c, defines) : tiled(&c, defines);
}

static kry_status by_slices(bool ta, bool tb, int64_t k, double alpha, const kry_block *A,
                            const kry_block *B, double beta, const kry_block *C)
{
    kry_status st = KRY_OK;

    for (int64_t at = 0; at < k || at == 0; at += KRY_GEMM_SLICE) {
        int64_t deep = k - at < KRY_GEMM_SLICE ? k - at : KRY_GEMM_SLICE;
        kry_block A_at = kry_block_part(A, ta ? at : 0, ta ? 0 : at, A->rows, A->cols);
        kry_block B_at = kry_block_part(B, tb ? 0 : at, tb ? at : 0, B->rows, B->cols);
        TRY(by_own(ta, tb, deep, alpha, &A_at, &B_at, at ? 1 : beta, C));
    }
done:
    return st;
}

/* ---- which, and the front door ------------------------------------------------------------------ */

kry_gemm_way kry_gemm_auto_way = KRY_GEMM_AUTO;

/* On CPUs kry's kernel takes a fifth of the time of CLBlast (PoCL, n = 512), and compiles sooner. */
static kry_gemm_way choose(const kry_block *C, int64_t k)
{
    const double size = (double)C->rows * (double)C->cols * (double)k;
    const double from = (double)CLBLAST_FROM * CLBLAST_FROM * CLBLAST_FROM;

    if (kry_gemm_auto_way != KRY_GEMM_AUTO && k > 0) return kry_gemm_auto_way;
    if (!kry_gemm_has_clblast() || C->dev->info.cpu_kernels || C->cols <= NARROW || k < SHALLOW ||
        size < from)
        return KRY_GEMM_SINGLE_PASS;
    return KRY_GEMM_CLBLAST;
}

kry_status kry_gemm_blocks(kry_gemm_way way, bool ta, bool tb, double alpha, const kry_block *A,
                           const kry_block *B, double beta, const kry_block *C)
{
    const int64_t k = ta ? A->rows : A->cols;

    if (C->rows == 0 || C->cols == 0) return KRY_OK;
    if (way == KRY_GEMM_AUTO || k == 0) way = choose(C, k); /* CLBlast refuses k == 0 */
    if (way == KRY_GEMM_CLBLAST) return by_clblast(ta, tb, k, alpha, A, B, beta, C);
    return (way == KRY_GEMM_MULTI_PASS ? by_slices : by_own)(ta, tb, k, alpha, A, B, beta, C);
}

kry_status kry_gemm_by(kry_gemm_way way, bool ta, bool tb, double alpha, const kry_vec *A,
                       const kry_vec *B, double beta, kry_vec *C)
{
    static const char who[] = "kry_vec_gemm";
    kry_status st = KRY_OK;

    TRY(kry_dense_check_block(who, "A", A));
    TRY(kry_dense_check_block(who, "B", B));
    TRY(kry_dense_check_block(who, "C", C));
    CHECK((ta ? A->k : A->n) == C->n && (ta ? A->n : A->k) == (tb ? B->k : B->n) &&
              (tb ? B->n : B->k) == C->k,
          KRY_ERR_SHAPE, "%s: A is %lld-by-%lld%s, B is %lld-by-%lld%s, C is %lld-by-%lld", who,
          (long long)A->n, (long long)A->k, ta ? ", transposed" : "", (long long)B->n,
          (long long)B->k, tb ? ", transposed" : "", (long long)C->n, (long long)C->k);
    CHECK(A->type == C->type && B->type == C->type, KRY_ERR_TYPE, "%s: A is %s, B is %s, C is %s",
          who, kry_type_name(A->type), kry_type_name(B->type), kry_type_name(C->type));
    CHECK(A->dev == C->dev && B->dev == C->dev, KRY_ERR_ARGUMENT,
          "%s: the matrices live on different devices", who);
    CHECK(!kry_vec_overlap(A, C) && !kry_vec_overlap(B, C), KRY_ERR_ARGUMENT,
          "%s: C overlaps A or B", who);
    const kry_block a = kry_block_of(A), b = kry_block_of(B), c = kry_block_of(C);
    TRY(kry_gemm_blocks(way, ta, tb, alpha, &a, &b, beta, &c));
done:
    return st;
}

kry_status kry_vec_gemm(bool ta, bool tb, double alpha, const kry_vec *A, const kry_vec *B,
                        double beta, kry_vec *C)
{
    return kry_gemm_by(KRY_GEMM_AUTO, ta, tb, alpha, A, B, beta, C);
}
