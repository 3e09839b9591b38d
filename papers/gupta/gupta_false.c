/*
 * gupta_false.c - false convergence: what single precision says of two phases, and what is so.
 *
 * The paper's solves in single stop by the residual of the recurrence. Run on, that falls for ever,
 * while the residual of x stops falling (and with an assembled matrix, as golden, rises again).
 * Beside it what does converge: A-DEF2 with A applied as fluxes; and what breaks down: the paper's
 * own variant, DEF1.
 */
#include "gupta.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAPER_N = 512, LARGEST = 256, LOOKS = 120, LINES = 12, MOST = 3000, GOLDEN = 7 };

/* ---- looking at x ---------------------------------------------------------------------------- */

typedef struct truth {
    int64_t iteration;
    double recurrence, residual, error; /* of b, of b, relative */
} truth;

static const struct first_level {
    const char *precond;
    truth golden[GOLDEN];
    truth lowest; /* the least residual of x */
} levels[] = {
    { "ip",
      { { 500, 1.027e-2, 1.027e-2, 0 },
        { 1000, 2.321e-6, 4.256e-4, 0 },
        { 1250, 3.222e-7, 4.345e-4, 0 },
        { 1500, 5.872e-6, 4.550e-4, 0 },
        { 2000, 4.582e-7, 5.828e-4, 0 },
        { 2500, 4.089e-9, 5.886e-4, 0 },
        { 3000, 2.636e-8, 5.959e-4, 2.9e-5 } },
      { 612, 0, 3.3e-4, 0 } },
    { "block-ic",
      { { 500, 1.106e-2, 1.106e-2, 0 },
        { 1000, 3.812e-6, 4.328e-4, 0 },
        { 1250, 5.134e-7, 4.430e-4, 0 },
        { 1500, 4.824e-5, 4.813e-4, 0 },
        { 2000, 8.599e-7, 5.815e-4, 0 },
        { 2500, 6.137e-9, 5.915e-4, 0 },
        { 3000, 3.694e-7, 5.943e-4, 2.6e-5 } },
      { 669, 0, 3.5e-4, 0 } },
};

/* What the monitor sees of a solve. */
typedef struct watch {
    const bench *b;
    const gupta_system *s;
    double *x, *y; /* n each */
    double norm_b;
    truth seen[LOOKS + 2];
    int count;
} watch;

static double norm2(int64_t n, const double *x)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i] * x[i];
    return sqrt(sum);
}

/* In double, on the host: x is the vector's, to the bit. */
static int look(void *user, const kry_iteration *it)
{
    watch *w = user;
    const gupta_system *s = w->s;
    int64_t n = s->problem->n;

    if (w->count == COUNT(w->seen)) return 0;
    if (gupta_read(s->x, w->x) < 0) return 1;
    if (kry_stencil_apply_host(s->problem->grid, KRY_F64, w->x, w->y) < 0) return 1;
    for (int64_t i = 0; i < n; i++) w->y[i] = s->rhs[i] - w->y[i];
    w->seen[w->count++] = (truth){ it->iteration, it->residual / w->norm_b,
                                   norm2(n, w->y) / w->norm_b, gupta_error(s, w->x) };
    return 0;
}

/* ---- one first level ------------------------------------------------------------------------- */

static const truth *golden_at(const struct first_level *l, int64_t n, int64_t iteration)
{
    for (int i = 0; i < GOLDEN; i++)
        if (n == PAPER_N && l->golden[i].iteration == iteration) return &l->golden[i];
    return NULL;
}

static void print_look(const bench *b, const char *table, const truth *t, const truth *golden)
{
    char row[24], g[2][24] = { "-", "-" };
    snprintf(row, sizeof row, "%" PRId64, t->iteration);
    if (golden) {
        snprintf(g[0], sizeof g[0], "%.1e", golden->recurrence);
        snprintf(g[1], sizeof g[1], "%.1e", golden->residual);
    }
    reproduce_say(b, "%10s%12.1e%10s%12.1e%10s%12.1e\n", row, t->recurrence, g[0], t->residual,
                  g[1], t->error);
    reproduce_cell(b, "gupta",
                   &(cell){ table, row, "recurrence", "1", NAN, t->recurrence,
                            golden ? golden->recurrence : NAN, NULL });
    reproduce_cell(b, "gupta",
                   &(cell){ table, row, "residual", "1", NAN, t->residual,
                            golden ? golden->residual : NAN, NULL });
    reproduce_cell(b, "gupta",
                   &(cell){ table, row, "error", "1", NAN, t->error,
                            golden && golden->error > 0 ? golden->error : NAN, NULL });
}

static void print_looks(const bench *b, const char *table, const struct first_level *l, int64_t n,
                        const watch *w)
{
    const truth *lowest = &w->seen[0];
    reproduce_say(b, "%s\n%10s%12s%10s%12s%10s%12s\n", table, "iteration", "recurrence", "golden",
                  "residual", "golden", "error of x");
    for (int i = 0; i < w->count; i++) {
        if (w->seen[i].residual < lowest->residual) lowest = &w->seen[i];
        if (i && (i % (LOOKS / LINES) == 0 || i + 1 == w->count))
            print_look(b, table, &w->seen[i], golden_at(l, n, w->seen[i].iteration));
    }
    double golden = n == PAPER_N ? l->lowest.residual : NAN;
    reproduce_say(b, "least residual of x: %.1e at %" PRId64, lowest->residual, lowest->iteration);
    if (n == PAPER_N)
        reproduce_say(b, "; golden %.1e at %" PRId64, l->lowest.residual, l->lowest.iteration);
    reproduce_say(b, "\n");
    reproduce_cell(b, "gupta",
                   &(cell){ table, "least", "residual", "1", NAN, lowest->residual, golden, NULL });
}

static kry_status draw_looks(const watch *w, const char *precond, lines *chart)
{
    kry_status st = KRY_OK;
    char curve[3][60];

    if (!chart) goto done;
    snprintf(curve[0], sizeof curve[0], "%s: r", precond); /* legends are short */
    snprintf(curve[1], sizeof curve[1], "%s: b - A x", precond);
    snprintf(curve[2], sizeof curve[2], "%s: error", precond);
    for (int i = 0; i < w->count; i++) {
        double at = (double)w->seen[i].iteration;
        TRY(lines_add(chart, curve[0], at, w->seen[i].recurrence));
        TRY(lines_add(chart, curve[1], at, w->seen[i].residual));
        TRY(lines_add(chart, curve[2], at, w->seen[i].error));
    }
done:
    return st;
}

static void level_words(const struct first_level *l, int64_t n, char *words, size_t size)
{
    char rows[24] = "";
    if (l->precond[0] == 'b') snprintf(rows, sizeof rows, ":%" PRId64, 2 * n);
    snprintf(words, size, "method=pcg precond=%s%s", l->precond, rows);
}

/* On and on, to nowhere, so that the recurrence is never begun again from the residual of x; the
 * limit grows with the grid. */
static kry_status run_on(watch *w, const char *words, int64_t n)
{
    kry_status st = KRY_OK;
    int64_t every = MOST * n / PAPER_N / LOOKS;
    kry_op *solver = NULL;
    char all[200];

    if (every < 1) every = 1;
    if (every > MOST / LOOKS) every = MOST / LOOKS;
    snprintf(all, sizeof all, "%s rtol=0 atol=1e-300 maxit=%" PRId64 " check-every=%" PRId64, words,
             every * LOOKS, every);
    TRY(kry_solver_create(w->s->A, all, look, w, &solver));
    TRY(kry_vec_fill(w->s->x, 0));
    TRY(kry_solve(solver, w->s->b, w->s->x, NULL));
done:
    kry_op_release(&solver);
    return st < 0 ? st : KRY_OK;
}

/* What kry_solve says when it is asked for what its recurrence reaches. */
static kry_status print_verdict(const bench *b, const char *table, const gupta_system *s,
                                const char *words)
{
    kry_status st = KRY_OK;
    gupta_run run;
    char all[200];

    snprintf(all, sizeof all, "%s rtol=1e-5", words);
    TRY(gupta_solve(s, all, NULL, NULL, &run));
    reproduce_say(
        b, "kry_solve to 1e-5: %s after %" PRId64 ", recurrence %.1e, residual of x %.1e\n\n",
        kry_reason_word(run.reason), run.iterations, run.residual, run.true_residual);
    reproduce_cell(
        b, "gupta",
        &(cell){ table, "kry_solve to 1e-5", "residual", "1", NAN, run.true_residual, NAN, NULL });
    reproduce_cell(b, "gupta",
                   &(cell){ table, "kry_solve to 1e-5", "iterations", "1", NAN,
                            (double)run.iterations, NAN, run.why[0] ? run.why : NULL });
done:
    return st;
}

static kry_status make_level(watch *w, const struct first_level *l, int64_t n, lines *chart)
{
    kry_status st = KRY_OK;
    char words[80], table[120];

    snprintf(table, sizeof table,
             "false convergence: twophase2d:%" PRId64 ":1000:layers, single, %s", n, l->precond);
    level_words(l, n, words, sizeof words);
    w->count = 0;
    TRY(run_on(w, words, n));
    print_looks(w->b, table, l, n, w);
    TRY(draw_looks(w, l->precond, chart));
    TRY(print_verdict(w->b, table, w->s, words));
done:
    return st;
}

static kry_status make_levels(const bench *b, int64_t n)
{
    kry_status st = KRY_OK;
    gupta_system s = { NULL };
    watch *w = NULL;
    lines *chart = NULL;
    char spec[64];

    if (n > PAPER_N) n = PAPER_N;
    snprintf(spec, sizeof spec, "twophase2d:%" PRId64 ":1000:layers", n);
    TRY(gupta_system_create(b, spec, KRY_F32, &s));
    TRY(gupta_system_solution(b, &s));
    TRY(allocate(1, sizeof *w, &w));
    *w = (watch){ .b = b, .s = &s, .norm_b = norm2(s.problem->n, s.rhs) };
    TRY(allocate((size_t)s.problem->n, sizeof *w->x, &w->x));
    TRY(allocate((size_t)s.problem->n, sizeof *w->y, &w->y));
    TRY(gupta_chart(b, "Two layers, 1000:1, in single precision: false convergence", false,
                    &chart));
    for (size_t i = 0; i < COUNT(levels); i++) TRY(make_level(w, &levels[i], n, chart));
    reproduce_say(
        b, "Golden: with an assembled matrix. The residual that kry_solve tells is that of x with\n"
           "mean zero, rounded.\n\n");
    TRY(gupta_draw(b, "false", &chart));
done:
    lines_release(&chart);
    if (w) free(w->x), free(w->y);
    free(w);
    gupta_system_release(&s);
    return st;
}

/* ---- with deflation -------------------------------------------------------------------------- */

static const char stable[] = "blocks:8+phase", paper[] = "stripes:%d,variant=def1";

/* Golden: of DEF1 with an assembled matrix. */
static const struct deflated {
    const char *flow, *deflation;
    int64_t limit;
    int64_t golden[GUPTA_TOLERANCES];
    double error;
} deflated[] = {
    { "1000:layers", stable, 100, { 11, 25, 40 }, 1.8e-7 },
    { "1000000:layers", stable, 100, { 11, 25, 40 }, 1.6e-7 },
    { "1000000:bubble", stable, 100, { 12, 35, 48 }, 1.6e-7 },
    { "1000000:bubbles", stable, 100, { 14, 35, 51 }, 1.5e-7 },
    { "1000:layers", paper, 400, { 70, -1, -1 }, 9.5 },
    { "1000000:layers", paper, 400, { -1, -1, -1 }, 58 },
    { "1000:bubble", paper, 400, { -1, -1, -1 }, 0.79 },
};

static void print_deflated(const bench *b, const char *spec, const char *deflation,
                           const struct deflated *d, const gupta_run *run, const gupta_run *verdict,
                           bool known)
{
    static const char table[] = "deflation, single";
    static const char *const columns[GUPTA_TOLERANCES] = { "1e-2", "1e-5", "1e-8" };
    char row[130], counts[2][60];
    snprintf(row, sizeof row, "%s %s", spec, deflation);
    reproduce_say(b, "%-20s%-25s%9s%9s%8.0e", spec + strlen("twophase2d:"), deflation,
                  gupta_counts(run->at, 0, counts[0], sizeof counts[0]),
                  known ? gupta_counts(d->golden, 0, counts[1], sizeof counts[1]) : "-",
                  run->error);
    if (known)
        reproduce_say(b, "%8.0e", d->error);
    else
        reproduce_say(b, "%8s", "-");
    reproduce_say(b, " %s\n", kry_reason_word(verdict->reason));
    for (int t = 0; t < GUPTA_TOLERANCES; t++)
        reproduce_cell(b, "gupta",
                       &(cell){ table, row, columns[t], "1", NAN, gupta_count(run, t),
                                known && d->golden[t] >= 0 ? (double)d->golden[t] : NAN,
                                run->at[t] < 0 ? kry_reason_word(run->reason) : NULL });
    reproduce_cell(
        b, "gupta",
        &(cell){ table, row, "error", "1", NAN, run->error, known ? d->error : NAN, NULL });
    reproduce_cell(b, "gupta",
                   &(cell){ table, row, "kry_solve to 1e-5", "1", NAN, (double)verdict->iterations,
                            NAN, verdict->why[0] ? verdict->why : NULL });
}

static kry_status make_deflated(const bench *b, const struct deflated *d, int64_t n)
{
    kry_status st = KRY_OK;
    gupta_system s = { NULL };
    gupta_run run, verdict;
    char spec[64], deflation[60], words[240];

    snprintf(spec, sizeof spec, "twophase2d:%" PRId64 ":%s", n, d->flow);
    if (d->deflation == paper)
        snprintf(deflation, sizeof deflation, paper, (int)(8 * n));
    else
        snprintf(deflation, sizeof deflation, "%s", d->deflation);
    TRY(gupta_system_create(b, spec, KRY_F32, &s));
    TRY(gupta_system_solution(b, &s));
    snprintf(words, sizeof words,
             "method=pcg precond=ip deflation=%s rtol=0 atol=1e-300 maxit=%" PRId64, deflation,
             d->limit);
    TRY(gupta_solve(&s, words, NULL, NULL, &run)); /* to nowhere: all that the recurrence does */
    snprintf(words, sizeof words, "method=pcg precond=ip deflation=%s rtol=1e-5", deflation);
    TRY(gupta_solve(&s, words, NULL, NULL, &verdict));
    print_deflated(b, spec, deflation, d, &run, &verdict, n == LARGEST);
done:
    gupta_system_release(&s);
    return st;
}

kry_status gupta_false(const bench *b, int64_t n)
{
    kry_status st = KRY_OK;

    TRY(make_levels(b, n));
    if (n > LARGEST) n = LARGEST;
    reproduce_say(b,
                  "deflation in single, with ip: iterations to 1e-2/1e-5/1e-8 of the recurrence\n"
                  "%-20s%-25s%9s%9s%8s%8s %s\n",
                  "", "", "ours", "golden", "error", "golden", "kry_solve to 1e-5");
    for (size_t i = 0; i < COUNT(deflated); i++) TRY(make_deflated(b, &deflated[i], n));
    reproduce_say(
        b, "Golden of DEF1: with an assembled matrix. The residual of x cannot fall as far as the\n"
           "recurrence's in single precision, and kry_solve says so; its error is as small.\n\n");
done:
    return st;
}
