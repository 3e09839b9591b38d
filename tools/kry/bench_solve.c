/*
 * bench_solve.c - kry bench solve: the time to a solution, from a matrix and b on the device to x, with the
 * set-up of the preconditioner, with its update, and without.
 *
 * The first set-up and solve warm up: they compile kernels. Each time is the median of those after it.
 */
#include "bench.h"
#include "json.h"
#include "page/text.h"
#include <stdio.h>

enum { REPEATS = 5 };

typedef struct solution {
    double setup, update, solve; /* seconds */
    kry_result result;           /* of the last solve */
} solution;

/* Preconditioned, unless something else was asked for. */
static options options_of(const bench *b)
{
    options o = *b->o;

    if (!options_solver(&o, "method")) options_solver_set(&o, "method", "pcg");
    return o;
}

static kry_status time_setup(const bench *b, const kry_op *A, kry_op **solver, double *seconds)
{
    kry_status st = KRY_OK;
    char text[SOLVER_TEXT];
    const options o = options_of(b);

    TRY(options_solver_text(&o, text));
    kry_op_release(solver);
    const double start = now();
    TRY(kry_solver_create(A, text, NULL, NULL, solver));
    TRY(kry_device_finish(b->device));
    *seconds = now() - start;
done:
    return st;
}

static kry_status time_solve(const bench *b, kry_op *solver, const kry_vec *rhs, kry_vec *x,
                             kry_result *result, double *seconds)
{
    kry_status st = KRY_OK;

    TRY(kry_vec_fill(x, 0));
    TRY(kry_device_finish(b->device));
    const double start = now();
    TRY(kry_solve(solver, rhs, x, result));
    *seconds = now() - start;
done:
    return st;
}

static kry_status time_update(const bench *b, kry_op *solver, double *seconds)
{
    kry_status st = KRY_OK;
    const double start = now();

    TRY(kry_op_update(solver, NULL));
    TRY(kry_device_finish(b->device));
    *seconds = now() - start;
done:
    return st;
}

/* Random right-hand sides; of a singular A without their means, which no x can reach. x: room. */
static kry_status make_rhs(const bench *b, const kry_op *A, kry_vec *x, kry_vec **rhs)
{
    kry_status st = KRY_OK;
    const kry_op_shape *shape = kry_op_get_shape(A);
    kry_vec *ones = NULL, *column = NULL;
    double sum;

    TRY(bench_block(b, shape->rows, b->columns, 0, rhs));
    if (!(shape->traits & KRY_SINGULAR)) goto done;
    TRY(kry_vec_fill(x, 1));
    TRY(kry_vec_view(x, 0, &ones));
    for (int64_t j = 0; j < b->columns; j++) {
        TRY(kry_vec_view(*rhs, j, &column));
        TRY(kry_vec_dot(ones, column, &sum));
        TRY(kry_vec_axpby(-sum / (double)shape->rows, ones, 1, column));
        kry_vec_release(&column);
    }
done:
    kry_vec_release(&column);
    kry_vec_release(&ones);
    return st;
}

static kry_status time_all(const bench *b, const kry_op *A, solution *s)
{
    kry_status st = KRY_OK;
    double setup[REPEATS + 1], update[REPEATS + 1], solve[REPEATS + 1];
    kry_op *solver = NULL;
    kry_vec *rhs = NULL, *x = NULL;

    TRY(kry_vec_create(b->device, b->type, kry_op_get_shape(A)->rows, b->columns, &x));
    TRY(make_rhs(b, A, x, &rhs));
    for (int i = 0; i <= REPEATS; i++) {
        TRY(time_setup(b, A, &solver, &setup[i]));
        TRY(time_update(b, solver, &update[i]));
        TRY(time_solve(b, solver, rhs, x, &s->result, &solve[i]));
    }
    s->setup = bench_median(setup + 1, REPEATS);
    s->update = bench_median(update + 1, REPEATS);
    s->solve = bench_median(solve + 1, REPEATS);
done:
    kry_op_release(&solver);
    kry_vec_release(&x);
    kry_vec_release(&rhs);
    return st < 0 ? st : KRY_OK;
}

static void print_json(const bench *b, const source *s, const solution *t, const char *precond)
{
    json j = json_begin(stdout);
    json_text(&j, "name", "solve");
    json_text(&j, "problem", s->name);
    json_text(&j, "device", b->info->name);
    json_text(&j, "platform", b->info->platform);
    json_text(&j, "driver", b->info->driver);
    json_text(&j, "precision", kry_type_name(b->type));
    json_whole(&j, "n", s->rows);
    if (b->columns > 1) json_whole(&j, "columns", b->columns);
    json_text(&j, "precond", precond);
    json_real(&j, "setup_s", t->setup);
    json_real(&j, "update_s", t->update);
    json_real(&j, "solve_s", t->solve);
    json_whole(&j, "iterations", t->result.iterations);
    json_text(&j, "reason", kry_reason_word(t->result.reason));
    json_real(&j, "true_relative_residual", t->result.true_residual / t->result.norm_b);
    json_end(&j);
}

static void print_line(const bench *b, const source *s, const solution *t, const char *precond)
{
    char n[32], setup[32], update[32], solve[32], columns[32] = "";

    if (b->columns > 1) snprintf(columns, sizeof columns, ", %lld columns", (long long)b->columns);
    printf(
        "%-26s n %13s%s  %s  set-up %10s  update %10s  solve %10s  %lld iterations, %s, residual "
        "%.1e\n",
        s->name, kryi_text_whole(s->rows, n, sizeof n), columns, precond,
        kryi_text_seconds(t->setup, setup, sizeof setup),
        kryi_text_seconds(t->update, update, sizeof update),
        kryi_text_seconds(t->solve, solve, sizeof solve), (long long)t->result.iterations,
        kry_reason_word(t->result.reason), t->result.true_residual / t->result.norm_b);
    fflush(stdout);
}

static kry_status solve_run(const bench *b, const source *s)
{
    kry_status st = KRY_OK;
    kry_op *A = NULL;
    solution t = { 0 };
    const options o = options_of(b);

    TRY(source_operator(s, b->device, b->type, &b->form, &A));
    TRY(time_all(b, A, &t));
    const char *precond = options_precond(&o, A);
    if (b->o->json)
        print_json(b, s, &t, precond);
    else
        print_line(b, s, &t, precond);
done:
    kry_op_release(&A);
    return st;
}

kry_status bench_solve(bench *b)
{
    size_t count;
    const char *const *specs = bench_grids(b, &count);
    b->matrix_free = true;
    return bench_sources(b, specs, count, solve_run);
}
