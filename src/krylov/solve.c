/* solve.c - the doors of every solver: vectors on the device, arrays on the host. */
#include "krylov/method.h"
#include "operator/op_parts.h"
#include <kry/solver.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- several columns --------------------------------------------------------------------------- */

static kry_column column_of(const kry_result *r)
{
    return (kry_column){ r->reason, r->iterations, r->norm_b,
                         r->target, r->residual,   r->true_residual };
}

static bool is_worse(const kry_result *r, const kry_result *than)
{
    const bool failed = kry_reason_status(than->reason) != KRY_OK;

    return !failed && (kry_reason_status(r->reason) != KRY_OK || r->iterations > than->iterations);
}

/* Take the result of column j into that of all. */
static void take_column(kry_op *solver, int64_t j, const kry_result *one, kry_result *all)
{
    double seconds = all->solve_seconds + one->solve_seconds, bytes = all->bytes + one->bytes;

    solver->column[j] = column_of(one);
    if (j == 0 || is_worse(one, all)) {
        *all = *one;
        all->history = NULL, all->history_count = 0;
        all->checks = NULL, all->check_count = 0;
        snprintf(all->why, sizeof all->why, "column %lld: %.370s", ROW(j), one->why);
    }
    all->solve_seconds = seconds, all->bytes = bytes;
}

/* One after the other, until the monitor stops one. */
static kry_status solve_in_turn(const kry_op *solver, const kry_vec *b, kry_vec *x, kry_result *res)
{
    kry_status st = KRY_OK, solved = KRY_OK;

    for (int64_t j = 0; j < b->k && solved != KRY_STOPPED; j++) {
        const kry_vec bj = kryi_vec_column(b, j);
        kry_vec xj = kryi_vec_column(x, j);
        TRY(solved = solver->table->solve(solver->self, &bj, &xj, &res[j]));
    }
done:
    return st < 0 ? st : KRY_OK;
}

/* Columns first ... first + count - 1 at once, or one after the other. */
static kry_status solve_strip(kry_op *solver, int64_t first, int64_t count, const kry_vec *b,
                              kry_vec *x, kry_result *res)
{
    kry_status st = KRY_OK;
    kryi_krylov *K = kryi_krylov_of(solver);
    const kry_vec bs = kryi_vec_columns(b, first, count);
    kry_vec xs = kryi_vec_columns(x, first, count);
    bool done = false;

    if (K) TRY(kryi_krylov_solve_columns(K, &bs, &xs, res + first, &done));
    if (!done) TRY(solve_in_turn(solver, &bs, &xs, res + first));
done:
    return st;
}

/* A column that is refused leaves all columns of x as they were. */
static kry_status solve_columns(kry_op *solver, const kry_vec *b, kry_vec *x, kry_result *all)
{
    enum { AT_ONCE = 16 };
    kry_status st = KRY_OK;
    const int64_t strips = (b->k + AT_ONCE - 1) / AT_ONCE;
    kry_result *res = NULL;
    kry_vec *guess = NULL;
    bool stopped = false;

    TRY(kryi_alloc((size_t)b->k, sizeof *res, &res));
    TRY(kryi_vec_create_room(x->dev, x->type, x->n, x->k, &guess));
    TRY(kry_vec_copy(x, guess));
    TRY(kryi_realloc((size_t)b->k, sizeof *solver->column, &solver->column));
    for (int64_t i = 0; i < strips && !stopped; i++) {
        const int64_t first = i * b->k / strips, count = (i + 1) * b->k / strips - first;
        st = solve_strip(solver, first, count, b, x, res);
        if (st < 0) {
            const kry_status restored = kry_vec_copy(guess, x);
            st = restored < 0 ? restored : st;
            goto done;
        }
        for (int64_t j = first; j < first + count; j++)
            stopped = stopped || res[j].reason == KRY_MONITOR_STOP;
    }
    for (int64_t j = 0; j < b->k; j++) take_column(solver, j, &res[j], all);
    all->columns = b->k, all->column = solver->column;
    st = kry_reason_status(all->reason);
done:
    kry_vec_release(&guess);
    free(res);
    return st;
}

kry_status kry_solve_sized(const kry_op *solver, const kry_vec *b, kry_vec *x, kry_result *result,
                           size_t result_size)
{
    kry_status st = KRY_OK;
    kry_result res;
    bool begun = false;

    memset(&res, 0, sizeof res);
    const kryi_stopwatch watch = kryi_stopwatch_begin(kry_op_device(solver));
    kryi_team_enter(kry_op_device(solver), "kry_solve", NULL);
    CHECK(solver && b && x, KRY_ERR_ARGUMENT, "kry_solve: NULL");
    CHECK(solver->table->solve, KRY_ERR_TYPE, "kry_solve: '%s' is not a solver",
          solver->table->kind);
    CHECK(b->n == solver->shape.rows && x->n == solver->shape.cols && b->k == x->k, KRY_ERR_SHAPE,
          "kry_solve: A is %lld-by-%lld, but b is %lld-by-%lld and x %lld-by-%lld",
          (long long)solver->shape.rows, (long long)solver->shape.cols, (long long)b->n,
          (long long)b->k, (long long)x->n, (long long)x->k);
    CHECK(!kryi_vec_overlap(b, x), KRY_ERR_ARGUMENT, "kry_solve: b and x overlap");
    TRY(kryi_op_check_operands("kry_solve", solver, b, solver->shape.rows, x, solver->shape.cols));
    CHECK(b->k > 0, KRY_ERR_SHAPE, "kry_solve: b has no column");
    TRY(kryi_op_begin_solve("kry_solve", solver, false));
    begun = true;
    st = b->k > 1 ? solve_columns((kry_op *)solver, b, x, &res)
                  : solver->table->solve(solver->self, b, x, &res);
    const kryi_spent spent = kryi_stopwatch_end(&watch);
    res.setup_seconds = solver->setup.seconds;
    res.compile_seconds = solver->setup.compile_seconds + spent.compile_seconds;
    res.compiled = solver->setup.programs + spent.programs;
    ((kry_op *)solver)->setup.compile_seconds = 0; /* told once */
    ((kry_op *)solver)->setup.programs = 0;
done:
    if (begun) kryi_op_end_solve(solver);
    st = kryi_team_leave(kry_op_device(solver), st);
    kryi_hand_out(&res, sizeof res, result, result_size);
    return st > 0 ? kry_fail(st, "kry_solve: %s", res.why) : st;
}

/* v := the doubles, in v's type */
static kry_status send(const char *what, const double *host, kry_vec *v)
{
    kry_status st = KRY_OK;
    void *numbers = NULL;

    if (v->type == KRY_F64) return kry_vec_write(v, host);
    int64_t first, n = kry_vec_rows_here(v, &first);
    TRY(kryi_alloc((size_t)n, sizeof(float), &numbers));
    for (int64_t i = 0; i < n; i++) {
        kryi_number_put(v->type, numbers, i, host[i]);
        CHECK(isfinite(kryi_number_at(v->type, numbers, i)) || !isfinite(host[i]), KRY_ERR_ARGUMENT,
              "kry_solve_host: %s[%lld] is %g, too large for single precision" COUNTED, what,
              ROW(first + i), host[i], kryi_first_row);
    }
    TRY(kry_vec_write(v, numbers));
done:
    free(numbers);
    return st;
}

kry_status kry_solve_host_sized(const kry_op *solver, const double *b, double *x,
                                kry_result *result, size_t result_size)
{
    kry_status st = KRY_OK, solved;
    kry_vec *vb = NULL, *vx = NULL;
    const kry_result none = { 0 };

    kryi_team_enter(kry_op_device(solver), "kry_solve_host", NULL);
    kryi_hand_out(&none, sizeof none, result, result_size);
    CHECK(solver && b && x, KRY_ERR_ARGUMENT, "kry_solve_host: NULL");
    CHECK(solver->table->solve, KRY_ERR_TYPE, "kry_solve_host: '%s' is not a solver",
          solver->table->kind);
    const kry_op_shape *A = &solver->shape;
    TRY(kry_vec_create(solver->dev, A->type, A->rows, 1, &vb));
    TRY(kry_vec_create(solver->dev, A->type, A->cols, 1, &vx));
    TRY(send("b", b, vb));
    TRY(send("x", x, vx));
    TRY(solved = kry_solve_sized(solver, vb, vx, result, result_size));
    TRY(kryi_vec_read_doubles(vx, x));
    st = solved;
done:
    kry_vec_release(&vx);
    kry_vec_release(&vb);
    return kryi_team_leave(kry_op_device(solver), st);
}

static kry_status set_stop(const kryi_call *c)
{
    kryi_krylov *K = kryi_krylov_of(c->A);

    if (K) return kryi_krylov_set_stop(K, c->more);
    if (c->A->fused->set_stop) return c->A->fused->set_stop(c->A->self, c->more);
    return kry_fail(KRY_ERR_TYPE, "kry_solver_set_stop: '%s' is not a solver", c->A->table->kind);
}

kry_status kry_solver_set_stop(kry_op *solver, const kry_stop *stop)
{
    kry_status st = KRY_OK;

    kryi_team_enter(kry_op_device(solver), "kry_solver_set_stop", NULL);
    TRY(GIVEN(solver, stop));
    kryi_team_same_fields(solver->dev, kryi_stop_fields, stop);
    TRY(kryi_op_keep("kry_solver_set_stop", solver));
    st = kryi_op_call(&(kryi_call){ .A = solver, .more = (void *)stop }, set_stop);
    kryi_op_let_go(solver);
    TRY(st);
    const int64_t every = solver->stop.check_every; /* stays */
    solver->stop = *stop;
    solver->stop.check_every = every;
done:
    return kryi_team_leave(kry_op_device(solver), st);
}

kry_status kry_solver_get_stop(const kry_op *solver, kry_stop *stop)
{
    kry_status st = KRY_OK;
    kry_stop given;

    if (stop) *stop = (kry_stop){ 0 };
    TRY(GIVEN(solver, stop));
    const kry_op *here = kryi_op_first(solver);
    CHECK(kryi_krylov_of(here) || here->fused->set_stop, KRY_ERR_TYPE,
          "kry_solver_get_stop: '%s' is not a solver", here->table->kind);
    given = solver->stop;
    TRY(kryi_stop_check("kry_solver_get_stop", solver->shape.type, solver->shape.cols, &given));
    *stop = given;
    stop->max_iter = solver->stop.max_iter;
done:
    return st;
}

/* The innermost solver of one that reorders, chooses, or works in mixed precision, on a team that of the first device here; NULL: there
 * is none. */
static const kryi_krylov *innermost(const kry_op *solver)
{
    if (!solver) return NULL;
    const kry_op *here = kryi_op_first(solver);
    const kry_op *inner = here->fused->inner ? here->fused->inner(here->self) : NULL;

    return inner ? innermost(inner) : kryi_krylov_of(here);
}

const kry_op *kry_solver_precond(const kry_op *solver)
{
    const kryi_krylov *K = innermost(solver);
    return K ? K->first : NULL;
}

const kry_op *kry_solver_deflation(const kry_op *solver)
{
    const kryi_krylov *K = innermost(solver);
    return K ? K->deflation : NULL;
}
