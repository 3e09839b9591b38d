/*
 * eigen.c - kry_eigen: what its methods share, which are random vectors, residuals and norms, and what it refuses.
 */
#include "memory.h"
#include "method.h"
#include <float.h>
#include <kry/team.h>
#include <kry/transport.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

kry_status kryi_eigen_random(kryi_eigen *E, int first, int count, uint64_t stream)
{
    kry_status st = KRY_OK;
    const kryi_basis *S = &E->S;
    kry_vec *v = NULL;
    void *numbers = NULL;

    TRY(kryi_allocate((uint64_t)(S->n * count), kry_type_size(S->type), &numbers));
    for (int j = 0; j < count; j++)
        for (int64_t i = 0; i < S->n; i++) {
            const double x =
                kry_random_unit(E->params->seed, stream + (uint64_t)j, (uint64_t)i) - 0.5;
            if (S->type == KRY_F32)
                ((float *)numbers)[j * S->n + i] = (float)x;
            else
                ((double *)numbers)[j * S->n + i] = x;
        }
    TRY(kry_vec_block(S->V, 0, S->n, first, count, &v));
    TRY(kry_vec_write(v, numbers));
done:
    kry_vec_release(&v);
    free(numbers);
    return st;
}

kry_status kryi_eigen_multiply(kryi_eigen *E, int first, int count)
{
    E->S.products += count;
    return kryi_basis_apply(E->S.A, E->S.V, first, E->S.AV, first, count);
}

kry_status kryi_eigen_complete(kryi_eigen *E, int first, int *count, int wanted)
{
    enum { TIMES = 6 };
    kry_status st = KRY_OK;

    for (int time = 0; time < TIMES && *count < wanted; time++) {
        int more = wanted - *count;
        const uint64_t stream = 4 * KRYI_EIGEN_BLOCK * (uint64_t)(time + TIMES * E->draws);
        TRY(kryi_eigen_random(E, first + *count, more, stream + (uint64_t)first));
        MUST(kryi_basis_orthonormalise(&E->S, first + *count, &more));
        *count += more;
    }
done:
    return st;
}

/* ---- residuals ------------------------------------------------------------------------------ */

/* Column j of room := A x_j - lambda_j B x_j */
static kry_status write_residual(kryi_eigen *E, int j)
{
    kry_status st = KRY_OK;
    const kryi_basis *S = &E->S;
    kry_vec *Ax = NULL, *Bx = NULL, *r = NULL;

    TRY(kry_vec_view(S->AV, j, &Ax));
    TRY(kry_vec_view(S->BV, j, &Bx));
    TRY(kry_vec_view(S->room, j, &r));
    TRY(kry_vec_triad(-E->value[j], Bx, Ax, r));
done:
    kry_vec_release(&Ax), kry_vec_release(&Bx), kry_vec_release(&r);
    return st;
}

static double unit_of(const kryi_eigen *E, int j)
{
    return E->result->norm_A + fabs(E->value[j]) * E->result->norm_B;
}

kry_status kryi_eigen_residuals(kryi_eigen *E)
{
    kry_status st = KRY_OK;
    kryi_basis *S = &E->S;
    const int m = E->block;

    for (int j = 0; j < m; j++) TRY(write_residual(E, j));
    TRY(kryi_basis_gram(S, S->room, m, S->room, 0, m, S->gram));
    for (int j = 0; j < m; j++) E->residual[j] = sqrt(fmax(0, S->gram[j * m + j]));
    if (S->B) TRY(kryi_basis_gram(S, S->V, m, S->V, 0, m, S->gram));
    for (int j = 0; j < m; j++) {
        const double unit = unit_of(E, j) * (S->B ? sqrt(S->gram[j * m + j]) : 1);
        if (unit > 0) E->residual[j] /= unit; /* A = 0: they are 0 */
        CHECK(isfinite(E->residual[j]), KRY_BREAKDOWN, "kry_eigen: a number is not finite");
        E->active[j] = E->residual[j] > E->rtol;
    }
    E->result->converged = 0;
    for (int j = 0; j < E->wanted; j++) E->result->converged += !E->active[j];
done:
    return st;
}

int kryi_eigen_worst(const kryi_eigen *E)
{
    int worst = 0;

    for (int j = 1; j < E->wanted; j++)
        if (E->residual[j] > E->residual[worst]) worst = j;
    return worst;
}

kry_status kryi_eigen_watch(const kryi_eigen *E)
{
    const int worst = kryi_eigen_worst(E);
    const kry_eigen_step step = { .iteration = E->result->iterations,
                                  .converged = E->result->converged,
                                  .residual = E->residual[worst],
                                  .value = E->value[worst] };

    if (!E->params->monitor || !E->params->monitor(E->params->monitor_user, &step)) return KRY_OK;
    return kry_fail(KRY_STOPPED, "kry_eigen: the monitor stopped it");
}

/* A lower bound of the norm of op, by powers of it. It uses the first two columns of V. */
static kry_status estimate_norm(kryi_eigen *E, const kry_op *op, double *norm)
{
    enum { STEPS = 8 };
    kry_status st = KRY_OK;
    kry_vec *x[2] = { NULL, NULL };
    double size;

    *norm = 0;
    TRY(kryi_eigen_random(E, 0, 1, 3 * KRYI_EIGEN_BLOCK));
    TRY(kry_vec_view(E->S.V, 0, &x[0]));
    TRY(kry_vec_view(E->S.V, 1, &x[1]));
    TRY(kry_vec_norm2(x[0], &size));
    for (int i = 0; i < STEPS && size > 0; i++) {
        TRY(kry_vec_axpby(1 / size, x[i % 2], 0, x[i % 2]));
        TRY(kry_op_apply(op, 1, x[i % 2], 0, x[1 - i % 2]));
        TRY(kry_vec_norm2(x[1 - i % 2], &size));
        CHECK(isfinite(size), KRY_BREAKDOWN, "kry_eigen: a number is not finite");
        *norm = fmax(*norm, size);
    }
    st = KRY_OK;
done:
    kry_vec_release(&x[0]), kry_vec_release(&x[1]);
    return st;
}

/* ---- the call ------------------------------------------------------------------------------- */

static kry_status check_operator(const kry_op *A, const char *name, const kry_op *op)
{
    kry_status st = KRY_OK;

    if (!op) goto done;
    const kry_op_shape *a = kry_op_get_shape(A), *b = kry_op_get_shape(op);
    CHECK(a->rows == b->rows && b->rows == b->cols, KRY_ERR_SHAPE,
          "kry_eigen: A is %lld-by-%lld, %s is %lld-by-%lld", (long long)a->rows,
          (long long)a->cols, name, (long long)b->rows, (long long)b->cols);
    CHECK(a->type == b->type, KRY_ERR_TYPE, "kry_eigen: A is %s, %s is %s", kry_type_name(a->type),
          name, kry_type_name(b->type));
    CHECK(kry_op_device(A) == kry_op_device(op), KRY_ERR_ARGUMENT,
          "kry_eigen: A and %s live on different devices", name);
done:
    return st;
}

static kry_status check_vectors(const kry_op *A, const char *name, const kry_vec *V)
{
    kry_status st = KRY_OK;

    if (!V) goto done;
    const kry_op_shape *shape = kry_op_get_shape(A);
    CHECK(kry_vec_rows(V) == shape->rows, KRY_ERR_SHAPE, "kry_eigen: A has %lld rows, %s has %lld",
          (long long)shape->rows, name, (long long)kry_vec_rows(V));
    CHECK(kry_vec_cols(V) >= 1 && kry_vec_cols(V) <= KRY_EIGEN_MOST, KRY_ERR_ARGUMENT,
          "kry_eigen: %s has %lld columns, not 1 to %d", name, (long long)kry_vec_cols(V),
          (int)KRY_EIGEN_MOST);
    CHECK(kry_vec_type(V) == shape->type, KRY_ERR_TYPE, "kry_eigen: A is %s, %s is %s",
          kry_type_name(shape->type), name, kry_type_name(kry_vec_type(V)));
    CHECK(kry_vec_device(V) == kry_op_device(A), KRY_ERR_ARGUMENT,
          "kry_eigen: A and %s live on different devices", name);
done:
    return st;
}

static bool by_lanczos(const kry_eigen_params *p)
{
    return p->method ? !strcmp(p->method, "lanczos") : p->nearest;
}

/* Refuse a method that does not exist, and parameters that the method does not take. */
static kry_status check_method(const kry_eigen_params *p, int64_t wanted)
{
    kry_status st = KRY_OK;

    CHECK(!p->method || !strcmp(p->method, "lanczos") || !strcmp(p->method, "lobpcg"),
          KRY_ERR_ARGUMENT, "kry_eigen: method is \"%.40s\"; there are lobpcg and lanczos",
          p->method);
    if (by_lanczos(p)) {
        CHECK(!p->precond && !p->block, KRY_ERR_UNSUPPORTED,
              "kry_eigen: method lanczos takes no %s; method lobpcg does",
              p->precond ? "preconditioner" : "block");
        CHECK(!(p->nearest && p->largest), KRY_ERR_ARGUMENT,
              "kry_eigen: `largest` and `nearest` exclude each other");
        CHECK(p->nearest || !p->inverse, KRY_ERR_ARGUMENT,
              "kry_eigen: an inverse of A - sigma B is given without `nearest`");
        CHECK(isfinite(p->sigma), KRY_ERR_ARGUMENT, "kry_eigen: sigma is not finite");
        CHECK(p->basis == 0 || (p->basis >= wanted + 2 && p->basis <= KRYI_EIGEN_BASIS),
              KRY_ERR_ARGUMENT,
              "kry_eigen: basis is %d, not from %lld, two more than X has columns, to %d", p->basis,
              (long long)wanted + 2, (int)KRYI_EIGEN_BASIS);
    } else {
        CHECK(!p->nearest && !p->inverse && !p->basis, KRY_ERR_UNSUPPORTED,
              "kry_eigen: method lobpcg takes no %s; method lanczos does",
              p->nearest   ? "nearest"
              : p->inverse ? "inverse"
                           : "basis");
    }
done:
    return st;
}

static kry_status check(const kry_op *A, const kry_eigen_params *p, const kry_vec *X)
{
    kry_status st = KRY_OK;

    CHECK(A && X, KRY_ERR_ARGUMENT, "kry_eigen: %s is NULL", A ? "X" : "A");
    const kry_op_shape *shape = kry_op_get_shape(A);
    const double unit = shape->type == KRY_F32 ? FLT_EPSILON / 2 : DBL_EPSILON / 2;
    CHECK(kry_team_size(kry_op_device(A)) == 1 && !kry_team_is_ranks(kry_op_device(A)),
          KRY_ERR_UNSUPPORTED, "kry_eigen: A lies on several devices; it works on one");
    TRY(check_operator(A, "A", A));
    TRY(check_operator(A, "B", p->B));
    TRY(check_operator(A, "precond", p->precond));
    TRY(check_operator(A, "inverse", p->inverse));
    TRY(check_vectors(A, "X", X));
    TRY(check_vectors(A, "constraints", p->constraints));
    CHECK(p->rtol == 0 || (p->rtol >= unit && p->rtol < 1), KRY_ERR_ARGUMENT,
          "kry_eigen: rtol is %g, not from %g to 1", p->rtol, unit);
    CHECK(p->max_iter >= 0, KRY_ERR_ARGUMENT, "kry_eigen: max_iter is %lld, negative",
          (long long)p->max_iter);
    CHECK(p->block == 0 || (p->block >= kry_vec_cols(X) && p->block <= KRYI_EIGEN_BLOCK),
          KRY_ERR_ARGUMENT, "kry_eigen: block is %d, not from the %lld columns of X to %d",
          p->block, (long long)kry_vec_cols(X), (int)KRYI_EIGEN_BLOCK);
    TRY(check_method(p, kry_vec_cols(X)));
done:
    return st;
}

kry_status kryi_eigen_prepare(kryi_eigen *E, int columns, int images, int room)
{
    kry_status st = KRY_OK;
    const kry_eigen_params *p = E->params;
    const int q = p->constraints ? (int)kry_vec_cols(p->constraints) : 0;

    TRY(kryi_basis_create(E->A, p->B, columns > q ? columns : q, images, room > q ? room : q,
                          &E->S));
    TRY(kryi_allocate((size_t)E->block, sizeof *E->active, &E->active));
    TRY(kryi_allocate((size_t)E->block, sizeof *E->value, &E->value));
    TRY(kryi_allocate((size_t)E->block, sizeof *E->residual, &E->residual));
    E->result->norm_B = 1;
    MUST(estimate_norm(E, E->A, &E->result->norm_A));
    if (p->B) MUST(estimate_norm(E, p->B, &E->result->norm_B));
    if (p->constraints) MUST(kryi_basis_constrain(&E->S, p->constraints));
    E->all = E->S.n - (E->S.Q ? kry_vec_cols(E->S.Q) : 0);
    if (p->guess) TRY(kryi_basis_apply(NULL, E->X, 0, E->S.V, 0, E->wanted));
done:
    return st;
}

static void hand_out(const kryi_eigen *E, kry_status st)
{
    kry_eigen_result *r = E->result;

    r->products = E->S.products;
    for (int j = 0; j < E->wanted && E->value; j++)
        r->value[j] = E->value[j], r->residual[j] = E->residual[j];
    if (st != KRY_OK)
        snprintf(r->why, sizeof r->why, "%s", kry_last_error());
    else
        snprintf(r->why, sizeof r->why, "%d of %d converged in %lld iterations", E->wanted,
                 E->wanted, (long long)r->iterations);
}

static void release(kryi_eigen *E)
{
    kryi_basis_release(&E->S);
    free(E->active), free(E->value), free(E->residual);
}

kry_status kry_eigen_sized(const kry_op *A, const kry_eigen_params *params, kry_vec *X,
                           kry_eigen_result *result, size_t result_size)
{
    kry_status st = KRY_OK;
    kry_eigen_params p = { 0 };
    kry_eigen_result r = { 0 };
    kryi_eigen E = { .A = A, .X = X, .params = &p, .result = &r };
    const double start = seconds_now();

    kryi_fill_in(&r, sizeof r, result, result_size);
    if (params) TRY(kryi_take_params("kry_eigen", "KRY_EIGEN", params, &p, sizeof p));
    TRY(check(A, &p, X));
    if (p.max_iter == 0) p.max_iter = 1000;
    if (p.seed == 0) p.seed = 1;
    E.wanted = (int)kry_vec_cols(X);
    E.most = kry_vec_rows(X) - (p.constraints ? kry_vec_cols(p.constraints) : 0);
    E.rtol = p.rtol > 0 ? p.rtol : kry_vec_type(X) == KRY_F32 ? 1e-5 : 1e-9;
    CHECK(E.wanted <= E.most, KRY_ERR_ARGUMENT,
          "kry_eigen: X has %d columns, but A has %lld rows, and there are %lld constraints",
          E.wanted, (long long)kry_vec_rows(X), (long long)(kry_vec_rows(X) - E.most));
    TRY(by_lanczos(&p) ? kryi_lanczos(&E) : kryi_lobpcg(&E));
    hand_out(&E, st);
    const kry_status copied = kryi_basis_apply(NULL, E.S.V, 0, X, 0, E.wanted);
    if (copied < 0) st = copied;
    r.seconds = seconds_now() - start;
    if (st >= 0) kryi_fill_in(&r, sizeof r, result, result_size);
done:
    release(&E);
    return st;
}
