/*
 * reproduce_gupta.c - table 1: what deflation and its stages are worth on -Laplace, 512 x 512.
 *
 * Five points, u = 0 around, b = A x, single precision, ||r|| <= 1e-5 ||b|| for the residual of the
 * recurrence. The paper does not say which x: their counts without deflation come back with random
 * numbers in [1.5, 2.5], those with deflation with none that an independent program tried
 * (docs/deflation.md). So both counts stand beside ours.
 *
 * Source   R. Gupta, C. Vuik, C. W. J. Lemmens, Deflated preconditioned conjugate gradient on the
 *          GPU; theirs on a Tesla C1060.
 */
#include "gupta.h"
#include "page/text.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAPER_N = 512, GOLDEN = 3, RHS = 2, TYPES = 2, SMALLEST = 16 };

static const struct rhs {
    const char *name;
    double low, high;
} rhs[RHS] = { { "x in [0, 1]", 0, 1 }, { "x in [1.5, 2.5]", 1.5, 2.5 } };

static const int64_t golden_n[GOLDEN] = { 128, 256, 512 };

/* Precond: %lld is two lines of the grid. Theirs: from, to, or the same; 0: not given. */
static const struct stage {
    const char *name, *precond, *deflation; /* NULL: none */
    int theirs[2];
    double their_seconds;
    double golden[RHS][GOLDEN];
} stages[] = {
    { "CGVV", "none", NULL, { 649, 652 }, 0, { { 172, 321, 581 }, { 179, 343, 649 } } },
    { "CGBIC", "block-ic:%lld", NULL, { 327, 327 }, 0, { { 87, 160, 289 }, { 90, 172, 322 } } },
    { "DPCG",
      "block-ic:%lld",
      ",variant=def1,az=product",
      { 41, 42 },
      0,
      { { 28, 42, 55 }, { 0, 0, 57 } } },
    { "DPCG1",
      "block-ic:%lld",
      ",variant=def1,az=stored",
      { 41, 42 },
      0,
      { { 28, 42, 55 }, { 0, 0, 57 } } },
    { "DPCG2",
      "block-ic:%lld",
      ",variant=def1,az=stored",
      { 41, 42 },
      0,
      { { 28, 42, 55 }, { 0, 0, 57 } } },
    { "DIPCG1", "ip", ",variant=def1,az=stored", { 49, 49 }, 0, { { 29, 43, 59 }, { 0, 0, 61 } } },
    { "DIPCG2",
      "ip",
      ",variant=def1,az=stored",
      { 49, 49 },
      97.5e-3,
      { { 29, 43, 59 }, { 0, 0, 61 } } },
    { "A-DEF2", "ip", ",variant=a-def2", { 0, 0 }, 0, { { 29, 43, 59 }, { 0, 0, 61 } } },
};
enum { STAGES = COUNT(stages) };

typedef struct measured {
    gupta_run run[TYPES][STAGES][RHS]; /* single, double */
    gupta_run timed[STAGES];           /* in the precision asked for, of the second x */
} measured;

static const char no_double[] = "the device has no double precision";
static const kry_type types[TYPES] = { KRY_F32, KRY_F64 };

static double known(double value) { return value > 0 ? value : NAN; }

static double golden_count(int stage, int r, int64_t n)
{
    for (int i = 0; i < GOLDEN; i++)
        if (golden_n[i] == n) return known(stages[stage].golden[r][i]);
    return NAN;
}

/* ---- measuring ------------------------------------------------------------------------------ */

/* Where time is not asked for, the coarse solve is what suits the device: counts are the same. */
static void stage_words(const struct stage *g, int64_t n, bool timed, char *words, size_t size)
{
    char precond[32];
    snprintf(precond, sizeof precond, g->precond, 2 * (long long)n);
    if (g->deflation)
        snprintf(words, size, "method=pcg precond=%s rtol=1e-5 deflation=stripes:%" PRId64 "%s%s",
                 precond, 8 * n, timed ? ",coarse=dense" : "",
                 timed                          ? g->deflation
                 : strstr(g->deflation, "def1") ? ",variant=def1"
                                                : "");
    else
        snprintf(words, size, "method=pcg precond=%s rtol=1e-5", precond);
}

static kry_status run_stage(const bench *b, gupta_system *s, int stage, bool timed, int64_t n,
                            gupta_run *run)
{
    kry_status st = KRY_OK;
    kry_op *solver = NULL;
    char words[256];

    stage_words(&stages[stage], n, timed, words, sizeof words);
    TRY(gupta_solver(s, words, &solver, &run[0]));
    for (int r = 0; r < RHS; r++) {
        run[r] = run[0];
        if (!solver) continue;
        TRY(gupta_system_random(b, rhs[r].low, rhs[r].high, s));
        TRY(gupta_solve_with(solver, s, timed && r + 1 == RHS ? 2 : 1, &run[r]));
    }
done:
    kry_op_release(&solver);
    return st;
}

static kry_status measure(const bench *b, int64_t n, measured *m)
{
    kry_status st = KRY_OK;
    gupta_system s = { NULL };
    kry_type timed = b->o->precision ? options_type(b->o) : KRY_F32;
    char spec[32];

    snprintf(spec, sizeof spec, "poisson2d:%" PRId64, n);
    for (int t = 0; t < TYPES; t++) {
        if (types[t] == KRY_F64 && !b->info->fp64) continue;
        TRY(gupta_system_create(b, spec, types[t], &s));
        for (int g = 0; g < STAGES; g++) {
            TRY(run_stage(b, &s, g, types[t] == timed, n, m->run[t][g]));
            if (types[t] == timed) m->timed[g] = m->run[t][g][RHS - 1];
        }
        gupta_system_release(&s);
    }
done:
    gupta_system_release(&s);
    return st;
}

/* ---- printing ------------------------------------------------------------------------------- */

static double count_of(const gupta_run *run)
{
    return run->refused[0] || run->reason != KRY_CONVERGED ? NAN : (double)run->iterations;
}

/* Why there is no count, or NULL. */
static const char *why_not(const gupta_run *run)
{
    return run->refused[0] ? run->refused : run->why[0] ? run->why : NULL;
}

static void print_counts(const bench *b, const measured *m, int64_t n, int r)
{
    char table[80], t[4][24];
    snprintf(table, sizeof table, "table 1: %" PRId64 " x %" PRId64 ", %s", n, n, rhs[r].name);
    reproduce_say(b, "%s: iterations\n%-8s%10s%10s%10s%10s%14s\n", table, "", "theirs", "single",
                  "double", "golden", "error, single");
    for (int g = 0; g < STAGES; g++) {
        const struct stage *s = &stages[g];
        const gupta_run *single = &m->run[0][g][r], *dbl = &m->run[1][g][r];
        double theirs = n == PAPER_N ? known(s->theirs[0]) : NAN, golden = golden_count(g, r, n);
        const char *refused = why_not(single);
        double in_double = b->info->fp64 ? count_of(dbl) : NAN;
        if (n == PAPER_N && s->theirs[1] > s->theirs[0])
            snprintf(t[0], sizeof t[0], "%d-%d", s->theirs[0], s->theirs[1]);
        else
            gupta_whole(theirs, t[0], sizeof t[0]);
        reproduce_say(b, "%-8s%10s%10s%10s%10s%14.1e\n", s->name, t[0],
                      gupta_whole(count_of(single), t[1], sizeof t[1]),
                      gupta_whole(in_double, t[2], sizeof t[2]),
                      gupta_whole(golden, t[3], sizeof t[3]), single->error);
        reproduce_cell(b, "gupta",
                       &(cell){ table, s->name, "iterations_single", "1", theirs, count_of(single),
                                golden, refused });
        reproduce_cell(b, "gupta",
                       &(cell){ table, s->name, "iterations_double", "1", NAN, in_double, golden,
                                b->info->fp64 ? why_not(dbl) : no_double });
        reproduce_cell(
            b, "gupta",
            &(cell){ table, s->name, "error_single", "1", NAN, single->error, NAN, refused });
    }
    for (int g = 0; g < STAGES; g++) gupta_refused(b, &m->run[0][g][r], stages[g].name);
    reproduce_say(b, "\n");
}

static void time_cells(const bench *b, const char *table, int64_t n, int g, const gupta_run *run,
                       double seconds, double faster)
{
    const char *name = stages[g].name, *refused = why_not(run);
    double theirs = n == PAPER_N ? known(stages[g].their_seconds) : NAN;
    double each = run->seconds / (double)run->iterations;
    reproduce_cell(b, "gupta",
                   &(cell){ table, name, "solve_s", "s", theirs, seconds, NAN, refused });
    reproduce_cell(b, "gupta",
                   &(cell){ table, name, "seconds_per_iteration", "s", NAN, each, NAN, refused });
    reproduce_cell(b, "gupta",
                   &(cell){ table, name, "times_the_one_above", "1", NAN, faster, NAN, refused });
}

static void print_time(const bench *b, double seconds, int width)
{
    char text[32];
    reproduce_say(b, "%*s", width,
                  isnan(seconds) ? "-" : kryi_text_seconds(seconds, text, sizeof text));
}

/* How many times faster than the one above: a solve; where both differ by the stage alone, and take
 * the same iterations, one of those. What did not converge has no solve to compare with. */
static double times_faster(const measured *m, int g)
{
    const gupta_run *run = &m->timed[g];
    int above = g - 1;
    /* cppcheck-suppress arrayIndexOutOfBoundsCond ; g is one of the stages */
    if (g > 0 && stages[g].deflation && stages[above].deflation &&
        !strcmp(stages[g].precond, stages[above].precond))
        return m->timed[above].seconds / (double)m->timed[above].iterations /
               (run->seconds / (double)run->iterations);
    while (above >= 0 && why_not(&m->timed[above])) above--;
    return above < 0 || why_not(run) ? NAN : m->timed[above].seconds / run->seconds;
}

static void print_times(const bench *b, const measured *m, int64_t n)
{
    char table[80], text[24];
    const char *precision = kry_type_name(b->o->precision ? options_type(b->o) : KRY_F32);
    snprintf(table, sizeof table, "table 1: %" PRId64 " x %" PRId64 ", seconds, %s", n, n,
             precision);
    reproduce_say(b, "%s, a second solve, %s\n%-8s%12s%12s%14s%20s\n", table, rhs[RHS - 1].name, "",
                  "theirs", "ours", "an iteration", "times the one above");
    for (int g = 0; g < STAGES; g++) {
        const gupta_run *run = &m->timed[g];
        double seconds = why_not(run) ? NAN : run->seconds, faster = times_faster(m, g);
        reproduce_say(b, "%-8s", stages[g].name);
        print_time(b, n == PAPER_N ? known(stages[g].their_seconds) : NAN, 12);
        print_time(b, seconds, 12);
        print_time(b, run->seconds / (double)run->iterations, 14);
        snprintf(text, sizeof text, isnan(faster) ? "-" : "%.2f", faster);
        reproduce_say(b, "%20s\n", text);
        time_cells(b, table, n, g, run, seconds, faster);
    }
    reproduce_say(b, "\n");
}

/* ---- the paper ------------------------------------------------------------------------------ */

static kry_status table_1(const bench *b, int64_t n)
{
    kry_status st = KRY_OK;
    measured *m = NULL;

    if (n > PAPER_N) n = PAPER_N;
    TRY(allocate(1, sizeof *m, &m));
    TRY(measure(b, n, m));
    for (int r = 0; r < RHS; r++) print_counts(b, m, n, r);
    print_times(b, m, n);
done:
    free(m);
    return st;
}

static kry_status refuse(const bench *b)
{
    static const char *const tables[] = { "vectors", "two phases", "false convergence",
                                          "mixed precision" };
    for (size_t i = 0; i < COUNT(tables); i++)
        reproduce_cell(b, "gupta", &(cell){ tables[i], "", "", "1", NAN, NAN, NAN, no_double });
    reproduce_say(b, "What follows is in double precision, which this device does not have.\n");
    return KRY_OK;
}

kry_status reproduce_gupta(bench *b)
{
    kry_status st = KRY_OK;
    int64_t n = options_whole(b->o->max_n, PAPER_N);

    CHECK(n >= SMALLEST && n <= 4096, KRY_ERR_ARGUMENT, "--max-n %" PRId64 ": %d to 4096", n,
          SMALLEST);
    CHECK(b->info->fp64 || !b->o->precision || options_type(b->o) == KRY_F32, KRY_ERR_UNSUPPORTED,
          "--precision double: %s has none", b->info->name);
    reproduce_say(
        b,
        "Gupta, Vuik, Lemmens: deflated preconditioned conjugate gradients\n"
        "theirs on a Tesla C1060, ours on %s\ngolden: an independent program's, in double\n\n",
        b->info->name);
    TRY(table_1(b, n));
    if (!b->info->fp64) {
        TRY(refuse(b));
        goto done;
    }
    TRY(gupta_vectors(b, n));
    TRY(gupta_phases(b, n));
    TRY(gupta_false(b, n));
    TRY(gupta_mixed(b, n));
done:
    return st;
}
