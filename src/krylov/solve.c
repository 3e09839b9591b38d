/* solve.c - the doors of every solver: vectors on the device, arrays on the host. */
#include "krylov/auto.h"
#include "krylov/mixed.h"
#include "operator/op_parts.h"
#include <kry/solver.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    res.setup_seconds = solver->setup_seconds;
done:
    if (result) *result = res;
    return st > 0 ? kry_fail(st, "kry_solve: %s", res.why) : st;
}

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
              "kry_solve_host: %s[%lld] is %g, too large for single precision" COUNTED, what,
              ROW(i), host[i], kry_first_row);
    }
    TRY(kry_vec_write(v, numbers));
done:
    free(numbers);
    return st;
}

kry_status kry_solve_host(const kry_op *solver, const double *b, double *x, kry_result *result)
{
    kry_status st = KRY_OK, solved;
    kry_vec *vb = NULL, *vx = NULL;

    if (result) *result = (kry_result){ 0 };
    CHECK(solver && b && x, KRY_ERR_ARGUMENT, "kry_solve_host: NULL");
    CHECK(solver->table->solve, KRY_ERR_TYPE, "kry_solve_host: '%s' is not a solver",
          solver->table->kind);
    const kry_op_shape *A = &solver->shape;
    TRY(kry_vec_create(solver->dev, A->type, A->rows, 1, &vb));
    TRY(kry_vec_create(solver->dev, A->type, A->rows, 1, &vx));
    TRY(send("b", b, vb));
    TRY(send("x", x, vx));
    TRY(solved = kry_solve(solver, vb, vx, result));
    TRY(kry_vec_read_doubles(vx, x));
    st = solved;
done:
    kry_vec_release(&vx);
    kry_vec_release(&vb);
    return st;
}

static kry_status set_stop(const kry_call *c)
{
    kry_krylov *K = kry_krylov_of(c->A);

    if (K) return kry_krylov_set_stop(K, c->more);
    if (c->A->table == &kry_auto_table) return kry_auto_set_stop(c->A->self, c->more);
    if (c->A->table == &kry_mixed_table) return kry_mixed_set_stop(c->A->self, c->more);
    return kry_fail(KRY_ERR_TYPE, "kry_solver_set_stop: '%s' is not a solver", c->A->table->kind);
}

kry_status kry_solver_set_stop(kry_op *solver, const kry_stop *stop)
{
    kry_status st = KRY_OK;

    TRY(GIVEN(solver, stop));
    TRY(kry_op_call(&(kry_call){ .A = solver, .more = (void *)stop }, set_stop));
done:
    return st;
}
