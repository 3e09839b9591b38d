/*
 * probe.c - test with a few products whether an operator is symmetric and positive definite.
 */
#include "operator/op.h"
#include <float.h>
#include <kry/precond.h>
#include <math.h>
#include <stdlib.h>

/* Pairs (u, v): u is random; v is random the first RANDOM times, then a cosine. */
enum { RANDOM = 6, COSINES = 6, PAIRS = RANDOM + COSINES };

/* which < 0: random numbers. Else a constant, long waves along the numbering, a wave of period four,
 * a wave of period two. */
static kry_status fill(kry_vec *x, uint64_t seed, uint64_t stream, int which, double *numbers)
{
    const double pi = 3.14159265358979323846, n = (double)x->n;
    const double waves[COSINES] = { 0, 1, 2, 5, n / 2, n };

    for (int64_t i = 0; i < x->n; i++)
        numbers[i] = which < 0              ? kry_random_unit(seed, stream, (uint64_t)i) - 0.5
                     : which == COSINES - 1 ? 1 - 2.0 * (double)(i % 2)
                                            : cos(pi * waves[which] * ((double)i + 0.5) / n);
    return kryi_vec_write_doubles(x, numbers);
}

/* Take v'Mv / v'v into the result. */
static void take_quotient(double vMv, double vv, kry_probe *probe)
{
    double quotient = vMv / vv;
    if (!(quotient > 0)) probe->not_positive++;
    if (!(quotient >= probe->least)) probe->least = quotient; /* also if it is NaN */
    if (!(quotient <= probe->most)) probe->most = quotient;
    probe->vectors++;
}

/* v: u, v, Mu, Mv */
static kry_status take_pair(const kry_op *M, kry_vec *const v[4], kry_probe *probe)
{
    static const int pair[][2] = { { 0, 3 }, { 1, 2 }, { 0, 2 }, { 0, 0 }, { 1, 3 }, { 1, 1 } };
    kry_status st = KRY_OK;
    double dot[COUNT(pair)], norm[4];

    TRY(kry_op_apply(M, 1, v[0], 0, v[2]));
    TRY(kry_op_apply(M, 1, v[1], 0, v[3]));
    for (size_t i = 0; i < COUNT(pair); i++)
        TRY(kry_vec_dot(v[pair[i][0]], v[pair[i][1]], &dot[i]));
    for (size_t i = 0; i < COUNT(norm); i++) TRY(kry_vec_norm2(v[i], &norm[i]));
    double size = fmax(norm[0] * norm[3], norm[1] * norm[2]), difference = fabs(dot[0] - dot[1]);
    double asymmetry = difference == 0 ? 0 : difference / size;
    if (!(asymmetry <= probe->asymmetry)) probe->asymmetry = asymmetry;
    take_quotient(dot[2], dot[3], probe);
    take_quotient(dot[4], dot[5], probe);
done:
    return st;
}

kry_status kry_op_probe(const kry_op *M, uint64_t seed, kry_probe *probe)
{
    kry_status st = KRY_OK;
    kry_vec *v[4] = { NULL };
    double *host = NULL;

    CHECK(M && probe, KRY_ERR_ARGUMENT, "kry_op_probe: NULL");
    TRY(kryi_op_check_square("kry_op_probe", M));
    const kry_op_shape *shape = &M->shape;
    kry_probe found = { .least = INFINITY, .most = -INFINITY };
    found.rounding = 1000 * (shape->type == KRY_F32 ? FLT_EPSILON : DBL_EPSILON);
    TRY(kryi_alloc((size_t)shape->rows, sizeof *host, &host));
    for (size_t i = 0; i < COUNT(v); i++)
        TRY(kry_vec_create(M->dev, shape->type, shape->rows, 1, &v[i]));
    for (int i = 0; i < PAIRS && shape->rows > 0; i++) {
        TRY(fill(v[0], seed, (uint64_t)(2 * i), -1, host));
        TRY(fill(v[1], seed, (uint64_t)(2 * i + 1), i < RANDOM ? -1 : i - RANDOM, host));
        TRY(take_pair(M, v, &found));
    }
    found.symmetric = found.asymmetry <= found.rounding;
    found.positive = found.not_positive == 0;
    *probe = found;
done:
    for (size_t i = 0; i < COUNT(v); i++) kry_vec_release(&v[i]);
    free(host);
    return st;
}
