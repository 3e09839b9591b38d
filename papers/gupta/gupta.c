/*
 * gupta.c - systems, solves, counts and pictures for kry reproduce gupta.
 */
#include "gupta.h"
#include "page/text.h"
#include "wrapped.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const double gupta_tolerance[GUPTA_TOLERANCES] = { 1e-2, 1e-5, 1e-8 };

/* ---- numbers of either type ------------------------------------------------------------------ */

kry_status gupta_read(const kry_vec *vec, double *values)
{
    kry_status st = KRY_OK;
    int64_t n = kry_vec_rows(vec);
    float *single = NULL;

    if (kry_vec_type(vec) == KRY_F64) return kry_vec_read(vec, values);
    TRY(allocate((size_t)n, sizeof *single, &single));
    TRY(kry_vec_read(vec, single));
    for (int64_t i = 0; i < n; i++) values[i] = single[i];
done:
    free(single);
    return st;
}

kry_status gupta_write(kry_vec *vec, const double *values)
{
    kry_status st = KRY_OK;
    const void *out = NULL;
    float *owned = NULL;

    TRY(convert_values(kry_vec_type(vec), kry_vec_rows(vec), values, &out, &owned));
    TRY(kry_vec_write(vec, out));
done:
    free(owned);
    return st;
}

static double mean(int64_t n, const double *x)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i];
    return sum / (double)n;
}

double gupta_error(const gupta_system *s, const double *x)
{
    int64_t n = s->problem->n;
    double error2 = 0, norm2 = 0, mean_x = 0, mean_u = 0;

    if (!s->solution) return NAN;
    if (s->problem->singular) mean_x = mean(n, x), mean_u = mean(n, s->solution);
    for (int64_t i = 0; i < n; i++) {
        double u = s->solution[i] - mean_u, e = x[i] - mean_x - u;
        error2 += e * e;
        norm2 += u * u;
    }
    return sqrt(error2 / norm2);
}

/* ---- systems ------------------------------------------------------------------------------- */

kry_status gupta_system_create(const bench *b, const char *spec, kry_type type, gupta_system *s)
{
    kry_status st = KRY_OK;

    *s = (gupta_system){ NULL };
    TRY(kry_problem_create_grid(spec, (uint64_t)b->seed, &s->problem));
    int64_t n = s->problem->n;
    TRY(kry_stencil_create(b->device, type, s->problem->grid, &s->A));
    TRY(kry_vec_create(b->device, type, n, 1, &s->b));
    TRY(kry_vec_create(b->device, type, n, 1, &s->x));
    TRY(allocate((size_t)n, sizeof *s->rhs, &s->rhs));
    memcpy(s->rhs, s->problem->rhs, (size_t)n * sizeof *s->rhs);
    TRY(gupta_write(s->b, s->rhs));
done:
    return st;
}

kry_status gupta_system_random(const bench *b, double low, double high, gupta_system *s)
{
    kry_status st = KRY_OK;
    int64_t n = s->problem->n;

    if (!s->solution) TRY(allocate((size_t)n, sizeof *s->solution, &s->solution));
    for (int64_t i = 0; i < n; i++)
        s->solution[i] = low + (high - low) * kry_random_unit((uint64_t)b->seed, 0, (uint64_t)i);
    TRY(kry_stencil_apply_host(s->problem->grid, KRY_F64, s->solution, s->rhs));
    TRY(gupta_write(s->b, s->rhs));
done:
    return st;
}

kry_status gupta_system_solution(const bench *b, gupta_system *s)
{
    kry_status st = KRY_OK;
    static const char words[] = "method=pcg precond=ip deflation=blocks:8+phase rtol=1e-12";
    gupta_system in_double = { NULL };
    gupta_run run;

    TRY(gupta_system_create(b, s->problem->name, KRY_F64, &in_double));
    TRY(gupta_write(in_double.b, s->rhs));
    TRY(gupta_solve(&in_double, words, NULL, NULL, &run));
    if (!s->solution) TRY(allocate((size_t)s->problem->n, sizeof *s->solution, &s->solution));
    TRY(gupta_read(in_double.x, s->solution));
done:
    gupta_system_release(&in_double);
    return st;
}

void gupta_system_release(gupta_system *s)
{
    kry_op_release(&s->A);
    kry_vec_release(&s->x);
    kry_vec_release(&s->b);
    kry_problem_release(&s->problem);
    free(s->solution);
    free(s->rhs);
    *s = (gupta_system){ NULL };
}

/* ---- solves -------------------------------------------------------------------------------- */

/* Of a problem that is too large for a method, or a method that is not there. */
static bool refusal(kry_status st)
{
    return st == KRY_ERR_PARSE || st == KRY_ERR_UNSUPPORTED || st == KRY_ERR_MEMORY;
}

static void count_iterations(const kry_result *result, gupta_run *run)
{
    for (int t = 0; t < GUPTA_TOLERANCES; t++) {
        run->at[t] = -1;
        for (int64_t i = 0; i < result->history_count && run->at[t] < 0; i++)
            if (result->history[i] <= gupta_tolerance[t] * result->norm_b)
                run->at[t] = i * result->history_every;
    }
}

static void take_result(const kry_result *result, gupta_run *run)
{
    double norm_b = result->norm_b > 0 ? result->norm_b : 1;

    run->iterations = result->iterations;
    run->reason = result->reason;
    if (result->reason > KRY_CONVERGED_ZERO) snprintf(run->why, sizeof run->why, "%s", result->why);
    run->seconds = result->solve_seconds;
    run->residual = result->residual / norm_b;
    run->true_residual = result->true_residual / norm_b;
    count_iterations(result, run);
}

/* A long history leaves points out. */
static kry_status add_curve(const kry_result *result, lines *chart, const char *curve)
{
    kry_status st = KRY_OK;
    enum { POINTS = 100 };
    int64_t step = result->history_count / POINTS + 1;

    for (int64_t i = 0; i < result->history_count; i += step)
        TRY(lines_add(chart, curve, (double)(i * result->history_every),
                      result->history[i] / result->norm_b));
done:
    return st;
}

static kry_status solve(const kry_op *solver, const gupta_system *s, int runs, lines *chart,
                        const char *curve, gupta_run *run)
{
    kry_status st = KRY_OK;
    kry_result result = { 0 };
    double *x = NULL;

    for (int i = 0; i < runs; i++) {
        TRY(kry_vec_fill(s->x, 0));
        TRY(kry_solve(solver, s->b, s->x, &result));
        if (st > 0) break;
    }
    take_result(&result, run);
    if (chart) TRY(add_curve(&result, chart, curve));
    TRY(allocate((size_t)s->problem->n, sizeof *x, &x));
    TRY(gupta_read(s->x, x));
    run->error = gupta_error(s, x);
done:
    free(x);
    return st < 0 ? st : KRY_OK;
}

kry_status gupta_solve_with(const kry_op *solver, const gupta_system *s, int runs, gupta_run *run)
{
    return solve(solver, s, runs, NULL, NULL, run);
}

kry_status gupta_solver(const gupta_system *s, const char *words, kry_op **solver, gupta_run *run)
{
    *run = (gupta_run){
        .at = { -1, -1, -1 }, .seconds = NAN, .residual = NAN, .true_residual = NAN, .error = NAN
    };
    kry_status st = kry_solver_create(s->A, words, NULL, NULL, solver);
    if (!refusal(st)) return st;
    snprintf(run->refused, sizeof run->refused, "%s", kry_last_error());
    return KRY_OK;
}

kry_status gupta_solve(const gupta_system *s, const char *words, lines *chart, const char *curve,
                       gupta_run *run)
{
    kry_status st = KRY_OK;
    kry_op *solver = NULL;

    TRY(gupta_solver(s, words, &solver, run));
    if (solver) TRY(solve(solver, s, 1, chart, curve, run));
done:
    kry_op_release(&solver);
    return st;
}

/* ---- printing ------------------------------------------------------------------------------ */

double gupta_count(const gupta_run *run, int t)
{
    return run->at[t] < 0 ? NAN : (double)run->at[t];
}

const char *gupta_whole(double count, char *text, size_t size)
{
    snprintf(text, size, isnan(count) ? "-" : "%.0f", count);
    return text;
}

const char *gupta_counts(const int64_t *at, int64_t limit, char *text, size_t size)
{
    size_t used = 0;
    for (int t = 0; t < GUPTA_TOLERANCES && used < size; t++) {
        const char *slash = t ? "/" : "";
        if (at[t] >= 0)
            used += (size_t)snprintf(text + used, size - used, "%s%" PRId64, slash, at[t]);
        else if (limit > 0)
            used += (size_t)snprintf(text + used, size - used, "%s>%" PRId64, slash, limit);
        else
            used += (size_t)snprintf(text + used, size - used, "%s-", slash);
    }
    return text;
}

void gupta_refused(const bench *b, const gupta_run *run, const char *what)
{
    if (b->o->json || (!run->refused[0] && !run->why[0])) return;
    char text[700];
    if (run->refused[0])
        snprintf(text, sizeof text, "%s: %s", what, run->refused);
    else
        snprintf(text, sizeof text, "%s: %s, %s", what, kry_reason_word(run->reason), run->why);
    text_wrapped(text, 100, 2);
}

/* ---- pictures ------------------------------------------------------------------------------- */

kry_status gupta_chart(const bench *b, const char *title, bool log, lines **chart)
{
    if (!b->o->svg) return KRY_OK;
    return lines_create(title, b->info->name, &(lines_axis){ "iteration", log },
                        &(lines_axis){ "relative residual", true }, chart);
}

kry_status gupta_draw(const bench *b, const char *figure, lines **chart)
{
    kry_status st = KRY_OK;
    char path[1024];

    if (!*chart) return KRY_OK;
    snprintf(path, sizeof path, "%.900s-%s.svg", b->o->svg, figure);
    TRY(lines_write(*chart, path));
done:
    lines_release(chart);
    return st;
}
