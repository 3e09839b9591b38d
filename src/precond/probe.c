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

typedef struct probing {
    const kry_op *M;
    uint64_t seed;
    void *host;
    kry_vec *u, *v, *Mu, *Mv;
} probing;

static kry_status fill_random(const probing *p, uint64_t stream, kry_vec *x)
{
    for (int64_t i = 0; i < x->n; i++)
        kry_number_put(x->type, p->host, i, kry_random_unit(p->seed, stream, (uint64_t)i) - 0.5);
    return kry_vec_write(x, p->host);
}

/* A constant, long waves along the numbering, a wave of period four, a wave of period two. */
static kry_status fill_cosine(const probing *p, int which, kry_vec *x)
{
    const double pi = 3.14159265358979323846, n = (double)x->n;
    const double waves[COSINES] = { 0, 1, 2, 5, n / 2, n };

    for (int64_t i = 0; i < x->n; i++)
        kry_number_put(x->type, p->host, i,
                       which == COSINES - 1 ? 1 - 2.0 * (double)(i % 2)
                                            : cos(pi * waves[which] * ((double)i + 0.5) / n));
    return kry_vec_write(x, p->host);
}

/* Take v'Mv / v'v into the result. */
static kry_status look_at_sign(const kry_vec *v, const kry_vec *Mv, kry_probe *probe)
{
    kry_status st = KRY_OK;
    double vv, vMv;

    TRY(kry_vec_dot(v, v, &vv));
    TRY(kry_vec_dot(v, Mv, &vMv));
    double quotient = vMv / vv;
    if (!(quotient > 0)) probe->not_positive++;
    if (!(quotient >= probe->least)) probe->least = quotient; /* also if it is NaN */
    if (!(quotient <= probe->most)) probe->most = quotient;
    probe->vectors++;
done:
    return st;
}

static kry_status look_at_pair(const probing *p, kry_probe *probe)
{
    kry_status st = KRY_OK;
    double uMv, vMu, u, v, Mu, Mv;

    TRY(kry_op_apply(p->M, 1, p->u, 0, p->Mu));
    TRY(kry_op_apply(p->M, 1, p->v, 0, p->Mv));
    TRY(kry_vec_dot(p->u, p->Mv, &uMv));
    TRY(kry_vec_dot(p->v, p->Mu, &vMu));
    TRY(kry_vec_norm2(p->u, &u));
    TRY(kry_vec_norm2(p->v, &v));
    TRY(kry_vec_norm2(p->Mu, &Mu));
    TRY(kry_vec_norm2(p->Mv, &Mv));
    double size = fmax(u * Mv, v * Mu), difference = fabs(uMv - vMu);
    double asymmetry = difference == 0 ? 0 : difference / size;
    if (!(asymmetry <= probe->asymmetry)) probe->asymmetry = asymmetry;
    TRY(look_at_sign(p->u, p->Mu, probe));
    TRY(look_at_sign(p->v, p->Mv, probe));
done:
    return st;
}

static kry_status allocate(probing *p)
{
    kry_status st = KRY_OK;
    const kry_op_shape *shape = &p->M->shape;
    kry_vec **all[] = { &p->u, &p->v, &p->Mu, &p->Mv };

    TRY(kry_alloc((size_t)shape->rows, kry_type_size(shape->type), &p->host));
    for (size_t i = 0; i < COUNT(all); i++)
        TRY(kry_vec_create(p->M->dev, shape->type, shape->rows, 1, all[i]));
done:
    return st;
}

static void release(probing *p)
{
    free(p->host);
    kry_vec_release(&p->u);
    kry_vec_release(&p->v);
    kry_vec_release(&p->Mu);
    kry_vec_release(&p->Mv);
}

kry_status kry_op_probe(const kry_op *M, uint64_t seed, kry_probe *probe)
{
    kry_status st = KRY_OK;
    probing p = { .M = M, .seed = seed };

    CHECK(M && probe, KRY_ERR_ARGUMENT, "kry_op_probe: NULL");
    CHECK(M->shape.rows == M->shape.cols, KRY_ERR_SHAPE, "kry_op_probe: '%s' is %lld-by-%lld",
          M->table->kind, (long long)M->shape.rows, (long long)M->shape.cols);
    kry_probe found = { .least = INFINITY, .most = -INFINITY };
    found.rounding = 1000 * (M->shape.type == KRY_F32 ? FLT_EPSILON : DBL_EPSILON);
    TRY(allocate(&p));
    for (int i = 0; i < PAIRS && M->shape.rows > 0; i++) {
        TRY(fill_random(&p, (uint64_t)(2 * i), p.u));
        TRY(i < RANDOM ? fill_random(&p, (uint64_t)(2 * i + 1), p.v)
                       : fill_cosine(&p, i - RANDOM, p.v));
        TRY(look_at_pair(&p, &found));
    }
    found.symmetric = found.asymmetry <= found.rounding;
    found.positive = found.not_positive == 0;
    *probe = found;
done:
    release(&p);
    return st;
}
