/* gemm_clblast.c - products by CLBlast.
 *
 * CLBlast ends the process when it cannot make the buffer that it copies operands to, so it gets one of
 * ours. It multiplies a C that it copies by beta only if beta != 0, but its kernel for small sizes
 * multiplies always: with beta == 0, C is filled first. */
#include "dense/dense.h"

#ifdef KRY_HAVE_CLBLAST
#include <clblast_c.h>

#define OP(transposed) ((transposed) ? CLBlastTransposeYes : CLBlastTransposeNo)
#define LAYOUT(g)                                                                              \
    CLBlastLayoutColMajor, OP((g)->ta), OP((g)->tb), (size_t)(g)->C.rows, (size_t)(g)->C.cols, \
        (size_t)kry_gemm_depth(g)
#define OPERAND(X) (X).buffer, (size_t)(X).first, (size_t)(X).ld
#define OFFSETS(g)                                                                    \
    (size_t)(g)->A.first, (size_t)(g)->A.ld, (size_t)(g)->B.first, (size_t)(g)->B.ld, \
        (size_t)(g)->C.first, (size_t)(g)->C.ld

static kry_status make_room(const kry_gemm *g, cl_mem *buffer)
{
    kry_status st = KRY_OK;
    kry_device *dev = g->C.dev;
    size_t bytes = 0;
    CLBlastStatusCode code =
        g->C.type == KRY_F32
            ? CLBlastSGemmTempBufferSize(LAYOUT(g), OFFSETS(g), &dev->queue, &bytes)
            : CLBlastDGemmTempBufferSize(LAYOUT(g), OFFSETS(g), &dev->queue, &bytes);

    TRY(kry_clblast_check("kry_vec_gemm", (int)code));
    TRY(kry_room_reserve(dev, bytes, buffer));
done:
    return st;
}

kry_status kry_gemm_clblast(const kry_gemm *g)
{
    kry_status st = KRY_OK;
    kry_device *dev = g->C.dev;
    cl_event event = NULL, *traced = dev->trace ? &event : NULL;
    cl_mem room;

    TRY(make_room(g, &room));
    if (g->beta == 0) TRY(kry_block_fill(&g->C, 0));
    CLBlastStatusCode code =
        g->C.type == KRY_F32
            ? CLBlastSgemmWithTempBuffer(LAYOUT(g), (float)g->alpha, OPERAND(g->A), OPERAND(g->B),
                                         (float)g->beta, OPERAND(g->C), &dev->queue, traced, room)
            : CLBlastDgemmWithTempBuffer(LAYOUT(g), g->alpha, OPERAND(g->A), OPERAND(g->B), g->beta,
                                         OPERAND(g->C), &dev->queue, traced, room);
    if (event) dev->trace(dev->trace_user, "gemm (clblast)", event);
    TRY(kry_clblast_check("kry_vec_gemm", (int)code));
done:
    return st;
}

bool kry_gemm_has_clblast(void) { return true; }

#else

kry_status kry_gemm_clblast(const kry_gemm *g)
{
    (void)g;
    return kry_fail(KRY_ERR_UNSUPPORTED, "kry_vec_gemm: this kry was built without CLBlast");
}

bool kry_gemm_has_clblast(void) { return false; }

#endif
