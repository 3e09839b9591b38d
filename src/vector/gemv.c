/* gemv.c - y := alpha op(X) c + beta y through CLBlast, whose GEMV allocates nothing. (Its GEMM does, and
 * ends the process when it cannot: dense/gemm.c hands it a buffer of kry's.) Without it, and on the host, by kry's own
 * kernels: cl/vector/gemv.cl. */
#include "vector/vec.h"
#include <kry/dense.h>

kry_status kryi_clblast_check(const char *who, int code)
{
    if (code == 0) return KRY_OK;
    return kry_fail(KRY_ERR_DEVICE, "%s: CLBlast returned %s (%d)", who,
                    code > -1000 ? kryi_cl_error_name(code) : "an error of its own", code);
}

#ifdef KRY_HAVE_CLBLAST
#include <clblast_c.h>

static kry_status call_clblast(CLBlastTranspose op, double alpha, const kry_vec *X,
                               const kry_vec *c, double beta, kry_vec *y)
{
    size_t rows = (size_t)X->n, ld = (size_t)X->ld, n = (size_t)X->k, x0 = (size_t)X->first,
           c0 = (size_t)c->first, y0 = (size_t)y->first;
    const kry_device *dev = y->dev;
    cl_command_queue queue = dev->queue;
    cl_event event = NULL, *traced = dev->trace ? &event : NULL;
    CLBlastStatusCode code =
        X->type == KRY_F32
            ? CLBlastSgemv(CLBlastLayoutColMajor, op, rows, n, (float)alpha, X->buffer, x0, ld,
                           c->buffer, c0, 1, (float)beta, y->buffer, y0, 1, &queue, traced)
            : CLBlastDgemv(CLBlastLayoutColMajor, op, rows, n, alpha, X->buffer, x0, ld, c->buffer,
                           c0, 1, beta, y->buffer, y0, 1, &queue, traced);
    if (event) dev->trace(dev->trace_user, "gemv (clblast)", event);
    return kryi_clblast_check("kry_vec_gemv", (int)code);
}
#endif

static kry_status call_own(bool transposed, double alpha, const kry_vec *X, const kry_vec *c,
                           double beta, const kry_vec *y)
{
    kry_device *dev = y->dev;
    const cl_int k = (cl_int)X->k;
    const kryi_scalar a = kryi_scalar_of(dev, alpha), b = kryi_scalar_of(dev, beta);
    const kry_arg args[] = { ARG(X->n),  ARG(k),     ARG(X->ld),      ARG_ACC(dev, a),
                             ARG_VEC(X), ARG_VEC(c), ARG_ACC(dev, b), ARG_VEC(y) };
    const int64_t groups =
        transposed ? kryi_groups_at_most(dev, X->k) : kryi_groups_for(dev, X->type, X->n);

    return kryi_run(dev, "gemv", X->type, "-DKRY_UNALIGNED",
                    transposed ? "gemv_rows" : "gemv_columns", groups, args, COUNT(args));
}

kry_status kry_vec_gemv(bool transposed, double alpha, const kry_vec *X, const kry_vec *c,
                        double beta, kry_vec *y)
{
    kry_status st = KRY_OK;

    CHECK(X && c && y, KRY_ERR_ARGUMENT, "kry_vec_gemv: NULL");
    int64_t in = transposed ? X->n : X->k, out = transposed ? X->k : X->n;
    CHECK(c->n == in && c->k == 1 && y->n == out && y->k == 1, KRY_ERR_SHAPE,
          "kry_vec_gemv: X is %lld-by-%lld%s, c is %lld-by-%lld, y is %lld-by-%lld",
          (long long)X->n, (long long)X->k, transposed ? ", transposed" : "", (long long)c->n,
          (long long)c->k, (long long)y->n, (long long)y->k);
    CHECK(X->type == y->type && c->type == y->type, KRY_ERR_TYPE,
          "kry_vec_gemv: X is %s, c is %s, y is %s", kry_type_name(X->type), kry_type_name(c->type),
          kry_type_name(y->type));
    CHECK(X->dev == y->dev && c->dev == y->dev, KRY_ERR_ARGUMENT,
          "kry_vec_gemv: the vectors live on different devices");
    CHECK(!kryi_vec_overlap(X, y) && !kryi_vec_overlap(c, y), KRY_ERR_ARGUMENT,
          "kry_vec_gemv: y overlaps X or c");
    if (out == 0) return KRY_OK;
    if (in == 0) return beta == 0 ? kry_vec_fill(y, 0.0) : kry_vec_axpby(0.0, y, beta, y);
#ifdef KRY_HAVE_CLBLAST
    if (!kryi_device_is_host(y->dev)) {
        if (beta == 0) TRY(kry_vec_fill(y, 0.0)); /* CLBlast computes 0 y, which keeps NaN */
        TRY(call_clblast(transposed ? CLBlastTransposeYes : CLBlastTransposeNo, alpha, X, c, beta,
                         y));
        return KRY_OK;
    }
#endif
    TRY(call_own(transposed, alpha, X, c, beta, y));
done:
    return st;
}
