/*
 * reproduce_wang.c - table 1 and figures 8, 9 and 11: CG for the Poisson equation in the plane.
 *
 * The right-hand side of poisson2d, a zero guess, double precision, ||r|| <= 1e-6 ||b|| for the
 * residual of the recurrence. Iterations and errors are those of any machine; the times are not.
 *
 * Source   Wang, Gobbert et al.; their times on a Tesla C2070.
 */
#include "lines.h"
#include "page/text.h"
#include "paths.h"
#include "reproduce.h"
#include "surface.h"
#include "wrapped.h"
#include <inttypes.h>
#include <kry/problem.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Theirs; golden: the error as an independent program has it; 0: not known. */
static const struct line {
    int64_t n, iterations;
    double error, golden, seconds;
} table_1[] = {
    { 32, 48, 3.0128e-3, 3.012777e-3, 0 },     { 64, 96, 7.7811e-4, 7.781062e-4, 0 },
    { 128, 192, 1.9765e-4, 1.976483e-4, 0 },   { 256, 387, 4.9797e-5, 4.979744e-5, 0 },
    { 512, 783, 1.2494e-5, 1.249428e-5, 0 },   { 1024, 1581, 3.1266e-6, 3.126607e-6, 0 },
    { 2048, 3192, 7.8019e-7, 7.801940e-7, 0 }, { 4096, 6452, 1.9366e-7, 1.936630e-7, 0 },
    { 8192, 13033, 4.7402e-8, 0, 1770 },
};

typedef struct measured {
    double iterations, error, seconds, per_iteration, of_copy;
} measured;

/* A grid of the table with what is solved on it. */
typedef struct sheet {
    kry_problem *problem;
    kry_op *A, *solver;
    kry_vec *b, *x;
    double *values; /* n: x on the host */
} sheet;

static double known(double value) { return value > 0 ? value : NAN; }

/* ---- printing ------------------------------------------------------------------------- */

static void print_cell(const bench *b, const char *table, int64_t n, const cell *c)
{
    char row[32];
    cell full = *c;
    snprintf(row, sizeof row, "%" PRId64, n);
    full.table = table;
    full.row = row;
    reproduce_cell(b, "wang", &full);
}

static void print_heading(const bench *b)
{
    if (b->o->json) return;
    printf("Wang, Gobbert et al.: CG for the Poisson equation on N x N points, in double, to 1e-6\n"
           "theirs on a Tesla C2070, ours on %s\n\ntable 1\n"
           "%6s %10s %7s  %10s %10s  %9s %9s  %9s %8s\n",
           b->info->name, "N", "iterations", "theirs", "error", "theirs", "time", "theirs",
           "iteration", "of copy");
}

static void line_json(const bench *b, const struct line *l, const measured *m)
{
    double iterations = (double)l->iterations;
    const cell cells[] = {
        { NULL, NULL, "iterations", "1", iterations, m->iterations,
          l->golden > 0 ? iterations : NAN, NULL },
        { NULL, NULL, "error_inf", "1", l->error, m->error, known(l->golden), NULL },
        { NULL, NULL, "solve_s", "s", known(l->seconds), m->seconds, NAN, NULL },
        { NULL, NULL, "seconds_per_iteration", "s", NAN, m->per_iteration, NAN, NULL },
        { NULL, NULL, "fraction_of_copy", "1", NAN, m->of_copy, NAN, NULL },
    };
    for (size_t i = 0; i < COUNT(cells); i++) print_cell(b, "table 1", l->n, &cells[i]);
}

static void print_line(const bench *b, const struct line *l, const measured *m)
{
    char t[3][32], share[16] = "-"; /* a solve that stays on the device moves no words */
    if (b->o->json) {
        line_json(b, l, m);
        return;
    }
    if (!isnan(m->of_copy)) snprintf(share, sizeof share, "%.1f %%", 100 * m->of_copy);
    printf("%6" PRId64 " %10.0f %7" PRId64 "  %10.4e %10.4e  %9s %9s  %9s %8s\n", l->n,
           m->iterations, l->iterations, m->error, l->error,
           kryi_text_seconds(m->seconds, t[0], sizeof t[0]),
           l->seconds > 0 ? kryi_text_seconds(l->seconds, t[1], sizeof t[1]) : "-",
           kryi_text_seconds(m->per_iteration, t[2], sizeof t[2]), share);
    fflush(stdout);
}

/* ---- table 1 -------------------------------------------------------------------------- */

static void sheet_release(sheet *s)
{
    kry_op_release(&s->solver);
    kry_op_release(&s->A);
    kry_vec_release(&s->x);
    kry_vec_release(&s->b);
    kry_problem_release(&s->problem);
    free(s->values);
}

static kry_status sheet_create(const bench *b, int64_t n, sheet *s)
{
    kry_status st = KRY_OK;
    const char *resident = options_solver(b->o, "resident");
    char spec[32], words[64];
    snprintf(spec, sizeof spec, "poisson2d:%" PRId64, n);
    snprintf(words, sizeof words, "method=cg rtol=1e-6 resident=%s", resident ? resident : "auto");
    TRY(kry_problem_create_grid(spec, 0, &s->problem));
    int64_t unknowns = s->problem->n;
    TRY(allocate((size_t)unknowns, sizeof(double), &s->values));
    TRY(kry_stencil_create(b->device, b->type, s->problem->grid, &s->A));
    TRY(kry_solver_create(s->A, words, NULL, NULL, &s->solver));
    TRY(kry_vec_create(b->device, b->type, unknowns, 1, &s->b));
    TRY(kry_vec_create(b->device, b->type, unknowns, 1, &s->x));
    TRY(kry_vec_write(s->b, s->problem->rhs));
done:
    return st;
}

/* Twice where the first time counts, which compiles. A solve that ends elsewhere is reported as it
 * is, beside theirs. */
static kry_status solve_sheet(sheet *s, kry_result *result)
{
    kry_status st = KRY_OK;
    static const double short_time = 5; /* seconds */
    for (int i = 0; i < 2; i++) {
        TRY(kry_vec_fill(s->x, 0));
        TRY(kry_solve(s->solver, s->b, s->x, result));
        if (result->solve_seconds > short_time) break;
    }
    TRY(kry_vec_read(s->x, s->values));
done:
    return st < 0 ? st : KRY_OK;
}

static kry_status measure_line(const bench *b, sheet *s, measured *m)
{
    kry_status st = KRY_OK;
    kry_result result;
    TRY(solve_sheet(s, &result));
    *m = (measured){ .iterations = (double)result.iterations, .seconds = result.solve_seconds };
    for (int64_t i = 0; i < s->problem->n; i++) {
        double e = fabs(s->values[i] - s->problem->solution[i]);
        if (isnan(e) || e > m->error) m->error = e; /* NaN stays */
    }
    m->per_iteration = m->seconds / m->iterations;
    m->of_copy = result.bytes > 0 ? result.bytes / m->seconds / b->copy : NAN;
done:
    return st;
}

/* ---- figures 8 and 9 ------------------------------------------------------------------ */

/* `values` over the points, or their distance from the exact solution; 0 on the sides. */
static kry_status draw_surface(const bench *b, const sheet *s, bool error)
{
    kry_status st = KRY_OK;
    const kry_problem *p = s->problem;
    int64_t n = p->grid->size[0], points = n + 2;
    double *z = NULL;
    char path[600], subtitle[200];
    snprintf(path, sizeof path, "%.500s-%s.svg", b->o->svg, error ? "error" : "solution");
    snprintf(subtitle, sizeof subtitle, "CG to 1e-6 on %" PRId64 " x %" PRId64 " points, %s", n, n,
             b->info->name);
    TRY(allocate((size_t)(points * points), sizeof(double), &z));
    for (int64_t i = 0; i < p->n; i++)
        z[i % n + 1 + points * (i / n + 1)] =
            error ? fabs(s->values[i] - p->solution[i]) : s->values[i];
    TRY(surface_write(
        path, &(surface){ .title = error ? "Error of the numerical solution" : "Numerical solution",
                          .subtitle = subtitle,
                          .label = error ? "|u - u_h|" : "u_h",
                          .points = (int)points,
                          .z = z }));
done:
    free(z);
    return st;
}

static kry_status make_table(const bench *b, int64_t max_n)
{
    kry_status st = KRY_OK;
    sheet s = { 0 };
    measured m;
    for (size_t i = 0; i < COUNT(table_1) && table_1[i].n <= max_n; i++) {
        TRY(sheet_create(b, table_1[i].n, &s));
        TRY(measure_line(b, &s, &m));
        print_line(b, &table_1[i], &m);
        if (i == 0 && b->o->svg) { /* their figures are of a small grid, too */
            TRY(draw_surface(b, &s, false));
            TRY(draw_surface(b, &s, true));
        }
        sheet_release(&s);
        s = (sheet){ 0 };
    }
done:
    sheet_release(&s);
    return st;
}

/* ---- figure 11 ------------------------------------------------------------------------ */

/* The library's own grid operator, whose steps form A p again instead of storing it, and the
 * paper's paths, whose steps are products and passes over vectors. */
enum { PATHS = 1 + WANG_PATH_COUNT };
static const char *path_name(int path) { return path ? wang_path_name(path - 1) : "march"; }

static kry_status path_operator(const bench *b, int64_t n, int path, kry_op **A)
{
    return path ? wang_create(b->device, path - 1, n, A)
                : kry_stencil_create(b->device, b->type, KRY_STENCIL(.size = { n, n }), A);
}

typedef struct path_time {
    double seconds;    /* of one iteration; NaN: refused */
    char refused[400]; /* why */
} path_time;

static kry_status time_path(const bench *b, int64_t n, int path, path_time *t)
{
    kry_status st = KRY_OK;
    kry_op *A = NULL;
    bench_result r = { .problem = "poisson2d" };
    options off = *b->o; /* the persistent solve has no counterpart in the paper */
    bench streaming = *b;
    options_solver_set(&off, "resident", "off");
    streaming.o = &off;
    *t = (path_time){ .seconds = NAN };
    st = path_operator(b, n, path, &A);
    if (st == KRY_ERR_UNSUPPORTED) {
        snprintf(t->refused, sizeof t->refused, "%s", kry_last_error());
        st = KRY_OK;
        goto done;
    }
    TRY(st);
    TRY(bench_cg_time(&streaming, A, &r));
    t->seconds = r.seconds;
done:
    kry_op_release(&A);
    return st;
}

static kry_status time_paths(const bench *b, int64_t n, lines *chart, path_time *times)
{
    kry_status st = KRY_OK;
    char text[32];
    if (!b->o->json) printf("%6" PRId64, n);
    for (int p = 0; p < PATHS; p++) {
        const char *name = path_name(p);
        TRY(time_path(b, n, p, &times[p]));
        double seconds = times[p].seconds;
        if (b->o->json)
            print_cell(b, "figure 11", n,
                       &(cell){ .column = name,
                                .unit = "s",
                                .theirs = NAN,
                                .ours = seconds,
                                .golden = NAN,
                                .refused = times[p].refused[0] ? times[p].refused : NULL });
        else
            printf(" %12s", isnan(seconds) ? "-" : kryi_text_seconds(seconds, text, sizeof text));
        if (chart) TRY(lines_add(chart, name, (double)n, seconds));
    }
    if (!b->o->json) printf("\n");
    fflush(stdout);
done:
    return st;
}

static kry_status draw_paths(const bench *b, const lines *chart)
{
    char path[600];
    snprintf(path, sizeof path, "%.500s-paths.svg", b->o->svg);
    return lines_write(chart, path);
}

static kry_status make_figure_11(const bench *b, int64_t max_n)
{
    kry_status st = KRY_OK;
    lines *chart = NULL;
    path_time times[PATHS] = { { 0 } };
    if (b->o->svg)
        TRY(lines_create("CG: one iteration by each memory path", b->info->name,
                         &(lines_axis){ "N, on a grid of N x N points", true },
                         &(lines_axis){ "seconds for an iteration", true }, &chart));
    if (!b->o->json) {
        printf("\nfigure 11: an iteration by each memory path\n%6s", "N");
        for (int p = 0; p < PATHS; p++) printf(" %12s", path_name(p));
        printf("\n");
    }
    for (size_t i = 0; i < COUNT(table_1) && table_1[i].n <= max_n; i++)
        TRY(time_paths(b, table_1[i].n, chart, times));
    for (int p = 0; p < PATHS && !b->o->json; p++)
        if (times[p].refused[0]) text_wrapped(times[p].refused, 100, 0);
    if (chart) TRY(draw_paths(b, chart));
done:
    lines_release(&chart);
    return st;
}

/* ---- the paper ------------------------------------------------------------------------ */

/* The largest grid that is a matter of a minute, and that the device can hold. */
static int64_t largest(const bench *b)
{
    enum { VECTORS = 6 };
    static const double slow = 20e9; /* bytes per second of a copy */
    int64_t n = b->info->gpu ? 8192 : b->copy < slow ? 512 : 1024;
    int64_t number = (int64_t)kry_type_size(b->type);
    while (n > table_1[0].n && (n * n * number > b->info->max_alloc_bytes ||
                                VECTORS * n * n * number > b->info->global_bytes))
        n /= 2;
    return options_whole(b->o->max_n, n);
}

kry_status reproduce_wang(bench *b)
{
    kry_status st = KRY_OK;
    b->type = KRY_F64;
    CHECK(b->info->fp64, KRY_ERR_UNSUPPORTED, "%s has no double precision, as wang needs it",
          b->info->name);
    TRY(bench_copy(b));
    int64_t max_n = largest(b);
    CHECK(max_n >= table_1[0].n, KRY_ERR_ARGUMENT, "--max-n must be at least %" PRId64 ", not %s",
          table_1[0].n, b->o->max_n);
    print_heading(b);
    TRY(make_table(b, max_n));
    TRY(make_figure_11(b, max_n));
done:
    return st;
}
