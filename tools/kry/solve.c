/*
 * solve.c - kry solve: a matrix or a grid, a right-hand side, a solver, and what came out.
 */
#include "commands.h"
#include "examine.h"
#include "interrupt.h"
#include "page/history.h"
#include "plot.h"
#include "progress.h"
#include "ranks.h"
#include "rhs.h"
#include "solve_page.h"
#include "solve_report.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct solve {
    options o; /* with the method that is used */
    source src;
    report report;
    char precond[32]; /* where nobody gave one: see report */
    char why[100];    /* auto took it */
    kry_device *device;
    kry_op *A, *solver;
    rhs rhs;
    int64_t rows; /* that this process solves for */
    double *x;    /* rows-by-columns; for a matrix that is not square, cols-by-columns */
    progress progress;
    compiling compiling;
    kry_report *page; /* of --html: what is kept of the run; NULL: nothing is */
} solve;

/* Seconds from a clock that stands still while kernels are compiled. */
static double work_clock(const solve *s)
{
    return now() - kry_device_compile_seconds(s->device, NULL);
}

static void solve_release(solve *s)
{
    compiling_end(&s->compiling);
    kry_report_release(&s->page);
    rhs_release(&s->rhs);
    free(s->x);
    kry_op_release(&s->solver);
    kry_op_release(&s->A);
    kry_device_release(&s->device);
    source_release(&s->src);
}

/* Make the right-hand side for the unknowns of this process. */
static kry_status make_rhs(solve *s)
{
    kry_status st = KRY_OK;
    report *r = &s->report;
    const kry_problem *p = s->src.problem;
    const kry_op_shape *shape = kry_op_get_shape(s->A);
    const bool own = !s->o.rhs && p;
    kry_vec *v = NULL, *rows;
    bool behind = false;

    r->rhs = own ? "problem" : s->o.rhs ? s->o.rhs : "random";
    /* For its rows alone, and what is in double may be on the host of a device without it. */
    TRY(kry_vec_create(s->device, r->device->fp64 ? shape->type : KRY_F32, shape->cols, 1, &v));
    s->rows = kry_vec_rows_here(v, NULL);
    rows = ranks_count() > 1 ? v : NULL;
    if (!s->o.rhs) TRY(rhs_behind(&s->src, rows, &s->rhs, &behind));
    if (behind)
        r->rhs = s->src.file;
    else
        TRY(rhs_make(&s->src, rows, r->type, own ? NULL : r->rhs, (uint64_t)r->seed, &s->rhs));
    r->seeded = !strcmp(r->rhs, "random") || !strcmp(r->rhs, "manufactured") ||
                (p && (p->discrete || p->singular));
    r->has_error = s->rhs.exact;
    CHECK(s->rhs.columns == 1 || !s->o.plot, KRY_ERR_ARGUMENT,
          "--plot draws the history of one right-hand side, and %s has %lld", r->rhs,
          (long long)s->rhs.columns);
    TRY(check_columns(s->o.out, s->rhs.columns));
done:
    kry_vec_release(&v);
    return st;
}

/* ---- solving ---------------------------------------------------------------------- */

static const char *word_or(const options *o, const char *name, const char *fallback)
{
    const char *given = options_solver(o, name);
    return given ? given : fallback;
}

/* Shows how far the solve has come, and ends it after Ctrl-C. */
static int watch(void *user, const kry_iteration *it)
{
    solve *s = user;

    (void)kry_report_monitor(s->page, it);
    if (progress_wanted() && ranks_report()) progress_monitor(&s->progress, it);
    return interrupt_came();
}

/* A monitor that is called at every k-th iterate keeps solvers from running ahead: with --check-every there
 * is one only if somebody looks on. */
static bool watched(const options *o)
{
    const bool shown = ranks_count() == 1 && progress_wanted(); /* alike on all ranks */
    return shown || !options_solver(o, "check-every");
}

/* The preconditioner that was given, or that the solver took, and why it did. */
static void report_precond(solve *s)
{
    const char *given = options_solver(&s->o, "precond");
    const kry_op *M = kry_solver_precond(s->solver);
    const bool left = !given || !strcmp(given, "auto");
    kry_op_info info = { 0 };

    s->report.precond = given ? given : "none";
    if (!M) return;
    kry_op_describe(M, &info);
    if (left) {
        snprintf(s->precond, sizeof s->precond, "%s", info.kind);
        s->report.precond = s->precond;
    }
    if (strcmp(s->report.method, "auto") && *info.chosen) {
        snprintf(s->why, sizeof s->why, "%s", info.chosen);
        s->report.precond_why = s->why;
    }
}

static kry_status create_solver(solve *s)
{
    kry_status st = KRY_OK;
    report *r = &s->report;
    char text[SOLVER_TEXT];

    r->method = options_solver(&s->o, "method");
    r->deflation = word_or(&s->o, "deflation", "none");
    r->null_space = word_or(&s->o, "null-space", "project");
    TRY(options_solver_text(&s->o, text));
    double start = work_clock(s);
    kry_report_enter(s->page, KRY_REPORT_SETUP);
    TRY(kry_solver_create(s->A, text, watched(&s->o) ? watch : NULL, s, &s->solver));
    r->setup_seconds = work_clock(s) - start;
    kry_op_describe(s->solver, &r->solver);
    report_precond(s);
done:
    return st;
}

static kry_status solve_columns(solve *s)
{
    kry_status st = KRY_OK;
    const kry_type type = kry_op_get_shape(s->solver)->type;
    const int64_t n = s->src.rows, k = s->rhs.columns,
                  here = ranks_count() > 1 ? s->rows : s->src.here;
    kry_vec *b = NULL, *x = NULL;
    float *single = NULL;
    const void *given;

    TRY(ranks_agree(convert_values(type, here * k, s->rhs.b, &given, &single)));
    TRY(kry_vec_create(s->device, type, n, k, &b));
    TRY(kry_vec_create(s->device, type, n, k, &x));
    TRY(write_columns(b, here, given));
    TRY(s->report.status = kry_solve(s->solver, b, x, &s->report.result));
    TRY(kry_vec_read(x, single ? (void *)single : s->x));
    for (int64_t i = 0; i < s->rows * k && single; i++) s->x[i] = (double)single[i];
done:
    free(single);
    kry_vec_release(&x);
    kry_vec_release(&b);
    return st;
}

/* On ranks the report is of all of them. */
static void take_shares(report *r, const kry_op *A, const kry_rank_facts *before)
{
    ranks_shares(A, before, &r->shares);
    if (r->shares.ranks < 2) return;
    r->matrix.nnz = r->shares.nnz;
    r->matrix.slots = r->shares.slots;
    r->matrix.bytes_stored = r->shares.bytes_stored;
}

/* Solve from x = 0. That the solver did not converge is for the report; failures are returned. */
static kry_status solve_system(solve *s)
{
    kry_status st = KRY_OK;
    kry_rank_facts before;

    TRY(ranks_agree(allocate((uint64_t)(s->rows * s->rhs.columns), sizeof(double), &s->x)));
    if (watched(&s->o)) interrupt_catch();
    kry_team_rank_facts(s->device, &before);
    kry_report_enter(s->page, KRY_REPORT_SOLVE);
    if (s->rhs.columns > 1)
        TRY(solve_columns(s));
    else
        TRY(s->report.status = kry_solve_host(s->solver, s->rhs.b, s->x, &s->report.result));
    take_shares(&s->report, s->A, &before);
    kry_result *end = &s->report.result;
    if (interrupt_came() && end->reason == KRY_MONITOR_STOP)
        snprintf(end->why, sizeof end->why, "Ctrl-C at iteration %lld", (long long)end->iterations);
done:
    compiling_end(&s->compiling);
    progress_erase(&s->progress);
    return st < 0 ? st : KRY_OK;
}

static kry_status write_on_ranks(const solve *s, const char *comment)
{
    kry_vec *x = NULL;
    kry_status st = kry_vec_create(s->device, kry_op_get_shape(s->solver)->type, s->src.cols,
                                   s->rhs.columns, &x);

    if (st >= 0) st = write_shared_vectors(s->o.out, x, s->x, comment);
    kry_vec_release(&x);
    return st;
}

static kry_status write_solution(solve *s)
{
    const report *r = &s->report;
    char comment[160];

    if (!s->o.out) return KRY_OK;
    snprintf(comment, sizeof comment, "solution of %.80s, relative residual %.3g", s->src.name,
             kryi_relative_residual(&r->result, r->result.true_residual));
    for (char *c = comment; *c; c++)
        if (*c == '\n' || *c == '\r') *c = ' ';
    if (ranks_count() > 1) return write_on_ranks(s, comment);
    return write_vectors(s->o.out, s->src.cols, s->rhs.columns, s->x, comment);
}

/* All ranks come to the page, which the first one writes. */
static kry_status write_files(solve *s)
{
    kry_status st = KRY_OK;
    const options *o = &s->o;

    if (o->plot && ranks_report()) st = plot_write(o->plot, &s->report);
    TRY(ranks_agree(st));
    if (o->html) TRY(solve_page_write(o, &s->report, s->page, s->A, s->solver));
done:
    return st;
}

/* Where neither a method nor a preconditioner is given: for files, and problems that are not positive definite, both
 * are auto's to choose; a second level goes with jacobi. */
static const char *default_precond(const solve *s)
{
    const kry_problem *p = s->src.problem;
    const bool plain = !strcmp(word_or(&s->o, "deflation", "none"), "none");

    if (p && p->traits & (KRY_POSITIVE | KRY_SINGULAR)) return "none";
    return plain ? "auto" : "jacobi";
}

static kry_status examine(solve *s)
{
    kry_status st = KRY_OK;
    options *o = &s->o;

    options_choose_method(o, default_precond(s));
    TRY(source_examine(&s->src, options_solver(o, "method"),
                       strcmp(word_or(o, "check", "cheap"), "none") != 0));
done:
    return st;
}

/* Whether the solver looks for the null space of a file's matrix (null-space in solver.h). */
static bool finds_null_space(const solve *s)
{
    const char *method = options_solver(&s->o, "method");
    const bool relaxes = !strcmp(method, "jacobi") || !strcmp(method, "sor");

    return !s->src.problem && !relaxes && strcmp(word_or(&s->o, "null-space", "project"), "none");
}

static kry_status read_system(solve *s, const form *f)
{
    kry_status st = KRY_OK;
    const options *o = &s->o;

    s->src.device = s->device;
    TRY(source_open(o->word_count ? o->words[0] : NULL, o->problems[0], (uint64_t)s->report.seed, f,
                    &s->src));
    TRY(examine(s));
done:
    return st;
}

static kry_status prepare(solve *s)
{
    kry_status st = KRY_OK;
    report *r = &s->report;
    const options *o = &s->o;
    bool mixed = options_mixed(o);
    form f;
    TRY(options_form(o, KRY_VALUES_COMPACT, &f));
    r->src = &s->src;
    r->verbose = o->verbose;
    r->type = options_type(o);
    r->seed = options_whole(o->seed, 1);
    TRY(ranks_device(o->device, o->html != NULL, &s->device));
    if (!o->json && ranks_report()) compiling_begin(&s->compiling, s->device);
    if (o->html) TRY(ranks_agree(kry_report_begin(s->device, &s->page)));
    /* On several devices algebraic multigrid needs the entries of the matrix. */
    if (f.modes && !f.stencil && kry_team_size(s->device) > 1) f.stored = true;
    r->device = kry_device_get_info(s->device);
    r->precision = mixed ? "mixed" : kry_type_name(r->type);
    CHECK(mixed || !o->outer, KRY_ERR_PARSE, "--outer goes with --precision mixed");
    CHECK(r->device->fp64 || r->type == KRY_F32 || mixed, KRY_ERR_UNSUPPORTED,
          "%s has no double precision; --precision single works there, and mixed", r->device->name);
    CHECK(r->device->fp64 || !o->outer || strcmp(o->outer, "device"), KRY_ERR_UNSUPPORTED,
          "%s has no double precision for --outer device", r->device->name);
    f.on_host = mixed && (o->outer ? !strcmp(o->outer, "host") : !r->device->fp64);
    TRY(ranks_agree(read_system(s, &f)));
    double start = work_clock(s);
    kry_report_enter(s->page, KRY_REPORT_MATRIX);
    TRY(source_operator(&s->src, s->device, r->type, &f, &s->A));
    if (finds_null_space(s)) TRY(source_find_null_space(&s->src, s->A));
    TRY(kry_device_finish(s->device));
    r->matrix_seconds = work_clock(s) - start;
    kry_op_describe(s->A, &r->matrix);
    if (source_matrix_free(&s->src)) r->matrix.chosen = f.stencil ? "asked for" : "default";
    TRY(ranks_agree(make_rhs(s)));
done:
    return st;
}

static void print_json(const report *r)
{
    json j = json_begin(stdout);
    report_json(&j, r);
    json_end(&j);
}

/* Refuse outputs that cannot be written, or that would overwrite each other or the matrix. */
static kry_status check_outputs(const options *o)
{
    kry_status st = KRY_OK;
    const char *const path[] = { o->word_count ? o->words[0] : NULL, o->out, o->plot, o->html };

    for (size_t i = 1; i < COUNT(path); i++)
        for (size_t j = 0; j < i; j++) TRY(kry_output_differs(path[i], path[j]));
    for (size_t i = 1; i < COUNT(path); i++) TRY(kry_output_check(path[i]));
done:
    return st;
}

kry_status solve_run(const options *o)
{
    kry_status st = KRY_OK;
    solve s = { .o = *o };
    CHECK(o->word_count + o->problem_count == 1, KRY_ERR_PARSE,
          "needs one matrix, FILE.mtx or --problem SPEC, but %d are given",
          o->word_count + o->problem_count);
    TRY(check_outputs(o));
    TRY(prepare(&s));
    TRY(create_solver(&s));
    TRY(solve_system(&s));
    s.report.compile_seconds = kry_device_compile_seconds(s.device, &s.report.compiled);
    if (s.page) TRY(ranks_agree(kry_report_end(s.page)));
    if (s.report.has_error) report_errors(&s.report, s.rows, s.x, s.rhs.exact);
    if (ranks_report()) {
        if (o->json)
            print_json(&s.report);
        else
            report_text(&s.report);
    }
    TRY(write_files(&s));
    TRY(write_solution(&s));
    st = s.report.status;
done:
    solve_release(&s);
    return st;
}
