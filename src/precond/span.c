/* span.c - products with a few dense vectors. Kernels: cl/precond/span.cl. */
#include "precond/span.h"
#include <assert.h>
#include <stdio.h>

static const char unaligned[] = "-DKRY_UNALIGNED";

/* w := alpha V'v + beta w; on a part of a team what its rows give.
 *   w    V->k; with beta == 0 it is not read
 *   sum  room, of a width that is V->k or more; it becomes V->k */
static kry_status restrict_to(double alpha, const kry_vec *V, const kry_vec *v, double beta,
                              kry_vec *w, kry_sum *sum)
{
    kry_status st = KRY_OK;
    kry_device *dev = v->dev;
    const cl_int k = (cl_int)V->k;
    const kryi_scalar a = kryi_scalar_of(dev, alpha), b = kryi_scalar_of(dev, beta);

    assert(kryi_span_takes(V) && w->n == V->k);
    sum->width = k;
    TRY(kryi_vec_dots(V, v, sum));
    const kry_arg args[] = { ARG(k),          ARG(sum->count), ARG(sum->buffer),
                             ARG_ACC(dev, a), ARG_ACC(dev, b), ARG_VEC(w) };
    TRY(kryi_run(dev, "span", v->type, unaligned, "span_collect", k, args, COUNT(args)));
done:
    return st;
}

/* y := alpha V c + beta y; with beta == 0, y is not read */
static kry_status expand(double alpha, const kry_vec *V, const kry_vec *c, double beta, kry_vec *y)
{
    kry_device *dev = y->dev;
    const cl_int k = (cl_int)V->k;
    const kryi_scalar a = kryi_scalar_of(dev, alpha), b = kryi_scalar_of(dev, beta);
    const kry_arg args[] = { ARG(y->n),       ARG(k),     ARG(V->ld), ARG_ACC(dev, a),
                             ARG_ACC(dev, b), ARG_VEC(V), ARG_VEC(c), ARG_VEC(y) };

    assert(kryi_span_takes(V) && c->n == V->k && y->n == V->n);
    return kryi_run(dev, "span", y->type, unaligned, "span_expand",
                    kryi_groups_for(dev, y->type, y->n), args, COUNT(args));
}

kry_status kryi_dense_restrict(double alpha, const kry_vec *V, const kry_vec *v, double beta,
                               kry_vec *w, kry_sum *sum)
{
    kry_status st = KRY_OK;

    for (int64_t j = 0; j < v->k; j++) {
        const kry_vec v_j = kryi_vec_column(v, j);
        kry_vec w_j = kryi_vec_column(w, j);
        TRY(sum ? restrict_to(alpha, V, &v_j, beta, &w_j, sum)
                : kry_vec_gemv(true, alpha, V, &v_j, beta, &w_j));
    }
done:
    return st;
}

kry_status kryi_dense_expand(double alpha, const kry_vec *V, const kry_vec *c, double beta,
                             kry_vec *y)
{
    kry_status st = KRY_OK;

    for (int64_t j = 0; j < y->k; j++) {
        const kry_vec c_j = kryi_vec_column(c, j);
        kry_vec y_j = kryi_vec_column(y, j);
        TRY(kryi_span_takes(V) ? expand(alpha, V, &c_j, beta, &y_j)
                               : kry_vec_gemv(false, alpha, V, &c_j, beta, &y_j));
    }
done:
    return st;
}

kry_status kryi_span_combine(kry_vec *V, int count, int kept, cl_mem C)
{
    const cl_int columns = count;
    const kry_arg args[] = { ARG(V->n), ARG(columns), ARG(V->ld), ARG(C), ARG(V->buffer) };
    char defines[48];

    assert(V->first == 0 && kept <= V->k && count <= V->k);
    snprintf(defines, sizeof defines, "%s -DKEPT=%d", unaligned, kept);
    return kryi_run(V->dev, "span", V->type, defines, "span_combine",
                    kryi_groups_for(V->dev, V->type, V->n), args, COUNT(args));
}
