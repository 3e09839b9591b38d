/* solve.c - what all solvers do around their iterations: look at b and at the guess, and be
 * operators. */
#include "krylov/stop.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Names an entry that is not finite. */
static kry_status check_finite(const kry_vec *b)
{
    kry_status st = KRY_OK;
    void *host = NULL;
    TRY(kry_alloc((size_t)b->n, kry_type_size(b->type), &host));
    TRY(kry_vec_read(b, host));
    for (int64_t i = 0; i < b->n; i++) {
        double v = kry_number_at(b->type, host, i);
        CHECK(isfinite(v), KRY_ERR_ARGUMENT, "kry_solve: b[%lld] is %g",
              (long long)kry_layout_row(b->layout, i), v);
    }
done:
    free(host);
    return kry_layout_join(b->layout, st);
}

kry_status kry_rhs_norm(const kry_vec *b, kry_sum *sum, double *norm)
{
    kry_status st = KRY_OK;
    bool fp64 = b->dev->info.fp64;
    /* In single the squares of a residual 1e-6 as large, spread over 1e7 rows, must not flush to zero. */
    double least = fp64 ? 1e-140 : 1e-10, most = fp64 ? 1e140 : 1e15;

    TRY(kry_vec_dot_sum(b, b, sum));
    TRY(kry_sum_read(b->layout, sum, norm));
    *norm = sqrt(*norm);
    if (!(*norm > least && *norm < most)) TRY(kry_vec_norm2(b, norm)); /* zero, tiny or huge? */
    if (!isfinite(*norm)) TRY(check_finite(b));
    CHECK(*norm == 0 || (*norm > least && *norm < most), KRY_ERR_ARGUMENT,
          "kry_solve: ||b|| = %g is outside %g ... %g, where its square can be summed: scale the "
          "system",
          *norm, least, most);
done:
    return st;
}

void kry_judge_consistency(double inconsistent, double target, kry_result *res)
{
    res->inconsistent = inconsistent;
    res->target = target;
    if (kry_reason_status(res->reason) != KRY_OK || inconsistent <= target) return;
    res->reason = KRY_INCONSISTENT;
    snprintf(res->why, sizeof res->why,
             "no x solves A x = b: A is singular, and %.3e of ||b|| = %.3e lies where it maps "
             "nothing; without that the true residual is %.3e",
             inconsistent, res->norm_b, res->true_residual);
}

kry_status kry_guess_check(double residual)
{
    if (isfinite(residual)) return KRY_OK;
    return kry_fail(KRY_ERR_ARGUMENT,
                    "kry_solve: the guess has a residual of %g: x holds NaN or infinities, or A x "
                    "overflows",
                    residual);
}

kry_status kry_apply_by_solve(kry_solve_fn *solve, void *self, const kry_scaling *by,
                              const kry_vec *x, kry_vec *y)
{
    kry_status st = KRY_OK;
    kry_vec *t = NULL;
    kry_result res = { 0 };
    kry_observer *observer = y->dev->observer;

    y->dev->observer = NULL; /* it looks at the solve that this is a part of */
    TRY(kry_vec_create(y->dev, y->type, y->n, 1, &t));
    TRY(solve(self, x, t, &res));
    TRY(kry_vec_axpby(by->alpha, t, by->beta, y));
    st = KRY_OK; /* an inner solve that ran its iterations has done its part */
done:
    y->dev->observer = observer;
    kry_vec_release(&t);
    return st;
}

/* ---- kry_solve --------------------------------------------------------------------------- */

kry_status kry_solve(const kry_op *solver, const kry_vec *b, kry_vec *x, kry_result *result)
{
    kry_status st = KRY_OK;
    kry_result res;

    memset(&res, 0, sizeof res);
    CHECK(solver && b && x, KRY_ERR_ARGUMENT, "kry_solve: NULL");
    CHECK(solver->table->solve, KRY_ERR_TYPE, "kry_solve: '%s' is not a solver",
          solver->table->kind);
    CHECK(b->k == 1 && x->k == 1, KRY_ERR_SHAPE, "kry_solve: b has %lld columns, x %lld; one each",
          (long long)b->k, (long long)x->k);
    TRY(kry_op_check_operands("kry_solve", solver, b, solver->shape.rows, x, solver->shape.cols));
    st = solver->table->solve(solver->self, b, x, &res);
done:
    if (result) *result = res;
    return st;
}

/* ---- kry_solve_host --------------------------------------------------------------------- */

/* v := the doubles, in v's type */
static kry_status send(const char *what, const double *host, kry_vec *v)
{
    kry_status st = KRY_OK;
    void *numbers = NULL;

    if (v->type == KRY_F64) return kry_vec_write(v, host);
    TRY(kry_alloc((size_t)v->n, sizeof(float), &numbers));
    for (int64_t i = 0; i < v->n; i++) {
        kry_number_put(v->type, numbers, i, host[i]);
        CHECK(isfinite(kry_number_at(v->type, numbers, i)) || !isfinite(host[i]), KRY_ERR_ARGUMENT,
              "kry_solve_host: %s[%lld] is %g, too large for single precision", what, (long long)i,
              host[i]);
    }
    TRY(kry_vec_write(v, numbers));
done:
    free(numbers);
    return st;
}

/* All of them or none: those of a team come part by part, of which one may fail. */
static kry_status fetch(const kry_vec *v, double *host)
{
    kry_status st = KRY_OK;
    void *numbers = NULL;

    if (v->type == KRY_F64 && !v->part) return kry_vec_read(v, host);
    TRY(kry_alloc((size_t)v->n, kry_type_size(v->type), &numbers));
    TRY(kry_vec_read(v, numbers));
    for (int64_t i = 0; i < v->n; i++) host[i] = kry_number_at(v->type, numbers, i);
done:
    free(numbers);
    return st;
}

static kry_status solve_by_vectors(const kry_op *solver, const double *b, double *x,
                                   kry_result *res)
{
    kry_status st = KRY_OK, solved;
    int64_t n = solver->shape.rows;
    kry_vec *vb = NULL, *vx = NULL;

    TRY(kry_vec_create(solver->dev, solver->shape.type, n, 1, &vb));
    TRY(kry_vec_create(solver->dev, solver->shape.type, n, 1, &vx));
    TRY(send("b", b, vb));
    TRY(send("x", x, vx));
    TRY(solved = kry_solve(solver, vb, vx, res));
    TRY(fetch(vx, x));
    st = solved;
done:
    kry_vec_release(&vx);
    kry_vec_release(&vb);
    return st;
}

kry_status kry_solve_host(const kry_op *solver, const double *b, double *x, kry_result *result)
{
    kry_status st = KRY_OK;
    kry_result res = { .iterations = 0 };

    CHECK(solver && b && x, KRY_ERR_ARGUMENT, "kry_solve_host: NULL");
    CHECK(solver->table->solve, KRY_ERR_TYPE, "kry_solve_host: '%s' is not a solver",
          solver->table->kind);
    st = solver->table->solve_host ? solver->table->solve_host(solver->self, b, x, &res)
                                   : solve_by_vectors(solver, b, x, &res);
done:
    if (result) *result = res;
    return st;
}
