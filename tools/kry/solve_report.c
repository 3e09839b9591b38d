/*
 * solve_report.c - print the result of kry solve.
 */
#include "solve_report.h"
#include "page/history.h"
#include "page/text.h"
#include "wrapped.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

void report_errors(report *r, int64_t rows, const double *x, const double *exact)
{
    double largest = 0, sums[2] = { 0, 0 };

    for (int64_t i = 0; i < rows; i++) {
        double e = fabs(x[i] - exact[i]);
        if (isnan(e) || e > largest) largest = e; /* NaN stays */
        sums[0] += e * e;
        sums[1] += exact[i] * exact[i];
    }
    ranks_sum(sums, 2);
    r->error_inf = ranks_most(largest);
    r->error_rel = sqrt(sums[0]) / sqrt(sums[1]);
}

static double padding(const report *r)
{
    return r->matrix.slots > 0 ? (double)r->matrix.slots / (double)r->matrix.nnz : NAN;
}

static double per_iteration(const report *r, double total)
{
    return r->result.iterations > 0 ? total / (double)r->result.iterations : NAN;
}

static double gbytes_per_s(const report *r)
{
    return r->result.bytes > 0 ? r->result.bytes / r->result.solve_seconds / 1e9 : NAN;
}

static void json_setting(json *j, const report *r)
{
    json_text(j, "source", r->src->name);
    json_whole(j, "n", r->src->rows);
    if (r->src->cols != r->src->rows) json_whole(j, "cols", r->src->cols);
    json_whole(j, "nnz", r->matrix.nnz);
    json_bool(j, "singular", r->src->nulls || source_traits(r->src) & KRY_SINGULAR);
    json_bool(j, "negated", r->src->negated);
    json_text(j, "method", r->method);
    json_text(j, "precond", r->precond);
    if (r->precond_why) json_text(j, "precond_why", r->precond_why);
    json_text(j, "deflation", r->deflation);
    json_text(j, "null_space", r->null_space);
    json_text(j, "precision", r->precision);
    json_text(j, "solver", r->solver.kind);
    json_text(j, "solver_variant", r->solver.variant);
    json_text(j, "format", r->matrix.kind);
    json_text(j, "variant", r->matrix.variant); /* the older name of the next key */
    json_text(j, "format_variant", r->matrix.variant);
    json_text(j, "format_chosen", r->matrix.chosen);
    json_real(j, "padding", padding(r));
    json_real(j, "matrix_bytes", r->matrix.bytes_stored);
    json_text(j, "device", r->device->name);
    json_text(j, "platform", r->device->platform);
    json_text(j, "driver", r->device->driver);
    json_text(j, "rhs", r->rhs);
    if (r->seeded) json_whole(j, "seed", r->seed);
}

enum { MOST_COLUMNS = 64 }; /* that are told one by one */

static bool column_converged(const kry_column *c)
{
    return c->reason == KRY_CONVERGED || c->reason == KRY_CONVERGED_GUESS ||
           c->reason == KRY_CONVERGED_ZERO;
}

/* What auto chose, and the choices that it left. */
static void json_auto(json *j, const report *r)
{
    if (!r->result.chosen[0]) return;
    json_text(j, "chosen", r->result.chosen);
    json_whole(j, "choices_left", r->result.promotions);
    json_text(j, "left_why", r->result.promoted_why);
}

/* Iterations of mixed precision, and promotions to a slower scheme. */
static void json_mixed(json *j, const report *r)
{
    const kry_result *result = &r->result;

    if (strcmp(r->precision, "mixed")) return;
    json_text(j, "scheme", kry_scheme_word(result->scheme));
    json_whole(j, "outer_iterations", result->outer_iterations);
    json_whole(j, "single_iterations", result->single_iterations);
    json_whole(j, "double_iterations", result->double_iterations);
    json_whole(j, "promotions", result->promotions);
    json_text(j, "promoted_why", result->promoted_why);
}

/* How much norms of rows and columns differ, where they were scaled. */
static void json_scaling(json *j, const report *r)
{
    if (!(r->result.row_span > 0)) return;
    json_real(j, "row_span", r->result.row_span);
    json_real(j, "column_span", r->result.column_span);
}

/* How many columns converged, and the iterations of each. */
static void json_columns(json *j, const report *r)
{
    const kry_result *result = &r->result;
    int64_t iterations[MOST_COLUMNS], converged = 0;
    int count = result->columns < MOST_COLUMNS ? (int)result->columns : MOST_COLUMNS;

    if (!result->columns) return;
    json_whole(j, "columns", result->columns);
    for (int64_t c = 0; c < result->columns; c++) converged += column_converged(&result->column[c]);
    json_whole(j, "columns_converged", converged);
    for (int c = 0; c < count; c++) iterations[c] = result->column[c].iterations;
    kryi_json_wholes(j, "column_iterations", iterations, count);
}

static void json_ranks(json *j, const report *r)
{
    const shares *s = &r->shares;

    if (s->ranks < 2) return;
    json_whole(j, "ranks", s->ranks);
    json_whole(j, "rank_rows_least", s->rows[0]);
    json_whole(j, "rank_rows_most", s->rows[1]);
    json_whole(j, "rank_entries_least", s->entries[0]);
    json_whole(j, "rank_entries_most", s->entries[1]);
    json_real(j, "rank_bytes_sent_most", s->sent);
    json_real(j, "rank_waited_s", s->waited[0]);
    json_real(j, "rank_waited_s_most", s->waited[1]);
}

void report_json(json *j, const report *r)
{
    const kry_result *result = &r->result;
    json_setting(j, r);
    json_bool(j, "converged", r->status == KRY_OK && result->reason != KRY_ITERATIONS_DONE);
    json_text(j, "reason", kry_reason_word(result->reason));
    json_text(j, "why", result->why);
    json_whole(j, "iterations", result->iterations);
    json_whole(j, "restarts", result->restarts);
    json_auto(j, r);
    json_mixed(j, r);
    json_scaling(j, r);
    json_columns(j, r);
    json_real(j, "norm_b", result->norm_b);
    json_real(j, "relative_residual", kryi_relative_residual(&r->result, result->residual));
    json_real(j, "true_relative_residual",
              kryi_relative_residual(&r->result, result->true_residual));
    json_real(j, "target_relative", kryi_relative_residual(&r->result, result->target));
    if (result->condition > 0) {
        json_real(j, "norm_a", result->norm_A);
        json_real(j, "condition", result->condition);
    }
    if (result->inconsistent > 0)
        json_real(j, "inconsistent_relative",
                  kryi_relative_residual(&r->result, result->inconsistent));
    if (r->has_error) {
        json_real(j, "error_inf", r->error_inf);
        json_real(j, "error_rel", r->error_rel);
    }
    json_real(j, "read_s", r->src->seconds);
    json_real(j, "matrix_s", r->matrix_seconds);
    json_real(j, "setup_s", r->setup_seconds);
    json_real(j, "compile_s", r->compile_seconds);
    json_whole(j, "compiled", r->compiled);
    json_real(j, "solve_s", result->solve_seconds);
    json_real(j, "seconds_per_iteration", per_iteration(r, result->solve_seconds));
    json_real(j, "bytes_per_iteration", result->bytes > 0 ? per_iteration(r, result->bytes) : NAN);
    json_real(j, "gbytes_per_s", gbytes_per_s(r));
    json_ranks(j, r);
    kryi_json_history(j, &r->result);
}

static void text_outcome(const report *r)
{
    const kry_result *result = &r->result;
    const char *end = r->status != KRY_OK                     ? "NOT CONVERGED"
                      : result->reason == KRY_ITERATIONS_DONE ? "done"
                                                              : "converged";
    printf("result     %s: %s\n", end, result->why);
    printf("           %" PRId64 " iteration%s", result->iterations,
           result->iterations == 1 ? "" : "s");
    if (strcmp(r->precision, "mixed") && result->restarts)
        printf(", %d restarts", result->restarts);
    printf("\nresidual   %.3e true, %.3e carried, target %.3e (relative to b)\n",
           kryi_relative_residual(&r->result, result->true_residual),
           kryi_relative_residual(&r->result, result->residual),
           kryi_relative_residual(&r->result, result->target));
    if (result->condition > 0)
        printf("estimates  condition number %.3g, ||A|| %.3g\n", result->condition, result->norm_A);
    if (r->has_error)
        printf("error      %.4e in the maximum norm, %.4e relative in the 2-norm\n", r->error_inf,
               r->error_rel);
}

static void text_columns(const report *r)
{
    const kry_result *result = &r->result;

    for (int64_t c = 0; c < result->columns && c < MOST_COLUMNS; c++) {
        const kry_column *one = &result->column[c];
        printf("%s%-3" PRId64 " %s, %" PRId64 " iteration%s, residual %.3e\n",
               c ? "           " : "columns    ", c + 1, kry_reason_word(one->reason),
               one->iterations, one->iterations == 1 ? "" : "s",
               one->norm_b > 0 ? one->true_residual / one->norm_b : one->true_residual);
    }
    if (result->columns > MOST_COLUMNS)
        printf("           and %" PRId64 " more\n", result->columns - MOST_COLUMNS);
}

static void text_mixed(const report *r)
{
    const kry_result *m = &r->result;

    if (strcmp(r->precision, "mixed")) return;
    printf("mixed      %s: %" PRId64 " iterations in single, %" PRId64 " in double, %" PRId64
           " products in double besides\n",
           kry_scheme_word(m->scheme), m->single_iterations, m->double_iterations,
           m->outer_iterations);
    if (m->promotions) printf("           promoted: %s\n", m->promoted_why);
}

static void text_storage(const report *r)
{
    const kry_op_info *m = &r->matrix;
    char slots[32], bytes[32];
    printf("format     %s (%s)%s%s\n", m->kind, m->chosen, m->variant[0] ? ": " : "", m->variant);
    if (m->slots == 0) return; /* a stencil */
    printf("           %s numbers stored, %.3f for each nonzero, %s in all\n",
           kryi_text_whole(m->slots, slots, sizeof slots), padding(r),
           kryi_text_bytes(m->bytes_stored, bytes, sizeof bytes));
}

static double share_waited(const report *r, double seconds)
{
    return r->result.solve_seconds > 0 ? 100 * seconds / r->result.solve_seconds : 0;
}

static void text_ranks(const report *r)
{
    const shares *s = &r->shares;
    char few[32], many[32], bytes[32];
    const double each = r->result.iterations > 0 ? s->sent / (double)r->result.iterations : s->sent;

    if (s->ranks < 2) return;
    printf("ranks      %d, with %s to %s rows", s->ranks,
           kryi_text_whole(s->rows[0], few, sizeof few),
           kryi_text_whole(s->rows[1], many, sizeof many));
    if (s->entries[0] >= 0)
        printf(" and %s to %s entries", kryi_text_whole(s->entries[0], few, sizeof few),
               kryi_text_whole(s->entries[1], many, sizeof many));
    printf(
        "\n           %s sent per iteration at most, %.0f %% of the time waited, %.0f %% at most\n",
        kryi_text_bytes(each, bytes, sizeof bytes), share_waited(r, s->waited[0]),
        share_waited(r, s->waited[1]));
}

static void text_null_space(const source *s)
{
    const int64_t parts = s->nulls - s->empty;

    if (s->nulls) printf("           singular: ");
    if (s->constant) printf("all rows add up to zero");
    if (parts && !s->constant)
        printf("the rows of %" PRId64 " part%s that no entry connects add up to zero", parts,
               parts > 1 ? "s" : "");
    if (s->empty)
        printf("%s%" PRId64 " empty row%s", parts ? ", " : "", s->empty, s->empty > 1 ? "s" : "");
    if (s->nulls) printf("\n");
}

void report_text(const report *r)
{
    char n[32], cols[32], nnz[32], t[5][32], rhs[512];
    const bool square = r->src->cols == r->src->rows;
    printf("matrix     %s: %s%s%s%s, %s nonzeros, %s\n", r->src->name, square ? "n = " : "",
           kryi_text_whole(r->src->rows, n, sizeof n), square ? "" : " by ",
           square ? "" : kryi_text_whole(r->src->cols, cols, sizeof cols),
           kryi_text_whole(r->matrix.nnz, nnz, sizeof nnz), r->precision);
    text_null_space(r->src);
    if (r->src->negated)
        printf("           its diagonal is negative: what is solved is -A x = -b\n");
    text_storage(r);
    printf("device     %s (%s, %s)\n", r->device->name, r->device->platform, r->device->driver);
    if (r->result.chosen[0])
        printf("method     auto: %s", r->result.chosen);
    else
        printf("method     %s, preconditioner %s", r->method, r->precond);
    if (r->precond_why) printf(" by auto: %s", r->precond_why);
    if (strcmp(r->deflation, "none")) printf(", deflation %s", r->deflation);
    printf("\n");
    if (r->result.chosen[0] && r->result.promotions)
        printf("           before that %s\n", r->result.promoted_why);
    if (r->result.row_span > 0)
        printf(
            "           rows and columns scaled by powers of two: norms of rows differ by a factor "
            "of %.1e,\n           of columns by %.1e\n",
            r->result.row_span, r->result.column_span);
    if (r->verbose) {
        char text[600];
        snprintf(text, sizeof text, "%s, %s", r->solver.kind, r->solver.variant);
        printf("solver     ");
        text_wrapped(text, 89, 11);
    }
    kryi_text_printable(r->rhs, rhs, sizeof rhs);
    printf("rhs        %s", strcmp(rhs, "problem") ? rhs : "the problem's own");
    if (r->seeded) printf(", seed %" PRId64, r->seed);
    if (r->src->nulls && !strcmp(r->rhs, "random"))
        printf(", its mean%s taken out", r->src->nulls > 1 ? "s" : "");
    printf("\n");
    text_outcome(r);
    text_columns(r);
    text_mixed(r);
    if (r->compile_seconds >= 0.01) {
        char compile[32];
        printf("compile    %s", kryi_text_seconds(r->compile_seconds, compile, sizeof compile));
        if (r->compiled)
            printf(", %" PRId64 " program%s, kept for later runs\n", r->compiled,
                   r->compiled > 1 ? "s" : "");
        else
            printf(" to load what was compiled before\n");
    }
    printf("time       read %s, matrix %s, set-up %s, solve %s",
           kryi_text_seconds(r->src->seconds, t[0], sizeof t[0]),
           kryi_text_seconds(r->matrix_seconds, t[1], sizeof t[1]),
           kryi_text_seconds(r->setup_seconds, t[2], sizeof t[2]),
           kryi_text_seconds(r->result.solve_seconds, t[3], sizeof t[3]));
    if (r->result.iterations > 0)
        printf(", %s per iteration",
               kryi_text_seconds(per_iteration(r, r->result.solve_seconds), t[4], sizeof t[4]));
    if (r->result.bytes > 0) printf(", %.1f GB/s", gbytes_per_s(r));
    printf("\n");
    text_ranks(r);
}
