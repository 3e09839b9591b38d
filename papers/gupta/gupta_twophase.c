/*
 * gupta_twophase.c - flow of two phases: which first and second levels cope with the jump.
 *
 * The paper's section on two phases has layers at 1000:1 (its equation 9) and few counts; here
 * iterations to 1e-2, 1e-5 and 1e-8 in double, b random. The golden program drew another b, so
 * counts agree to a few per cent; and it has centres of its own for the nine bubbles, whose phases
 * it numbers one by one, where `phase` has all bubbles in one vector.
 */
#include "gupta.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { METHODS = 9, LIMIT = 4000, NEVER = -1, UNKNOWN = -2 };

static const struct method {
    const char *name, *precond, *deflation, *curve;
    int precond_lines, deflation_lines; /* of the grid, for the numbers in words; 0: none */
} methods[METHODS] = {
    { "jacobi", "jacobi", "none", "jacobi", 0, 0 },
    { "block-ic:2n", "block-ic:", "none", "block-ic", 2, 0 },
    { "ip", "ip", "none", "ip", 0, 0 },
    { "ip:unscaled", "ip:unscaled", "none", "ip:unscaled", 0, 0 },
    { "stripes:8n ip", "ip", "stripes:", "stripes", 0, 8 },
    { "blocks:16+phase ip", "ip", "blocks:16+phase", "16+phase", 0, 0 },
    { "blocks:8+phase ip", "ip", "blocks:8+phase", "8+phase", 0, 0 },
    { "phase ip", "ip", "phase", "phase", 0, 0 },
    { "blocks:16 ip", "ip", "blocks:16", "blocks:16", 0, 0 },
};

/* clang-format off */
#define NONE { UNKNOWN, UNKNOWN, UNKNOWN }
/* clang-format on */

static const struct row {
    int n;
    const char *flow; /* behind twophase2d:N: */
    int64_t golden[METHODS][GUPTA_TOLERANCES];
} rows[] = {
    { 256,
      "1000:layers",
      { { 406, 905, 1215 },
        { 243, 492, 651 },
        { 192, 435, 638 },
        { 3994, NEVER, NEVER },
        { 35, 89, 142 },
        { 18, 52, 75 },
        { 11, 25, 40 },
        { 165, 417, 589 },
        { 28, 80, 125 } } },
    { 256,
      "1000000:layers",
      { { 413, 862, 1258 },
        { 316, 523, 675 },
        { 192, 437, 654 },
        { NEVER, NEVER, NEVER },
        { 35, 100, 160 },
        { 18, 53, 91 },
        { 11, 25, 40 },
        { 165, 436, 616 },
        { 28, 100, 130 } } },
    { 256,
      "1000:layers-faces",
      { { 410, 777, 1193 },
        { 233, 392, 616 },
        { 205, 416, 624 },
        { 3991, NEVER, NEVER },
        { 35, 89, 143 },
        { 21, 53, 75 },
        { 11, 26, 42 },
        { 167, 420, 591 },
        { 21, 53, 75 } } },
    { 256, "1000000:layers-faces", { NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE } },
    { 256,
      "1000:bubble",
      { { 326, 843, 1148 },
        { 228, 449, 643 },
        { 187, 457, 619 },
        { NEVER, NEVER, NEVER },
        { 51, 104, 153 },
        { 28, 56, 83 },
        { 12, 30, 42 },
        { 180, 396, 558 },
        { 32, 68, 99 } } },
    { 256,
      "1000000:bubble", /* in single, by fluxes */
      { NONE, NONE, { 367, 528, 655 }, NONE, NONE, { 42, 69, 92 }, { 12, 35, 48 }, NONE, NONE } },
    { 256,
      "0.001:bubble",
      { { 242, 828, 1082 },
        { 194, 503, 635 },
        { 145, 439, 650 },
        { 2203, NEVER, NEVER },
        { 45, 107, 161 },
        { 23, 50, 79 },
        { 11, 28, 43 },
        { 140, 436, 651 },
        { 36, 75, 115 } } },
    { 256,
      "1000:bubbles",
      { { 656, 1727, 2272 },
        { 336, 896, 1176 },
        { 343, 927, 1219 },
        { NEVER, NEVER, NEVER },
        { 63, 134, 205 },
        { 27, 55, 85 },
        { 14, 30, 44 },
        { 212, 413, 548 },
        { 44, 91, 137 } } },
    { 256,
      "1000000:bubbles",
      { { 1054, 2383, 3632 },
        { 573, 1420, 1891 },
        { 592, 1266, 1957 },
        { NEVER, NEVER, NEVER },
        { 100, 167, 237 },
        { 42, 70, 97 },
        { 14, 34, 52 },
        { 296, 468, 588 },
        { 71, 120, 165 } } },
    { 512,
      "1000:layers",
      { NONE,
        { 492, 919, 1274 },
        { 374, 777, 1233 },
        NONE,
        { 72, 166, 271 },
        { 18, 47, 77 },
        { 11, 25, 40 },
        NONE,
        NONE } },
    { 512,
      "1000000:layers",
      { NONE,
        NONE,
        { 374, 793, 1293 },
        NONE,
        { 102, 171, 299 },
        { 18, 47, 94 },
        { 11, 25, 40 },
        NONE,
        NONE } },
    { 512,
      "1000:bubble",
      { NONE,
        NONE,
        { 340, 915, 1221 },
        NONE,
        { 98, 199, 301 },
        { 26, 56, 84 },
        { 11, 29, 44 },
        NONE,
        NONE } },
};

static void method_words(const struct method *m, int64_t n, char *words, size_t size)
{
    char rows_of[24] = "", stripes[24] = "";
    if (m->precond_lines) snprintf(rows_of, sizeof rows_of, "%" PRId64, m->precond_lines * n);
    if (m->deflation_lines) snprintf(stripes, sizeof stripes, "%" PRId64, m->deflation_lines * n);
    snprintf(words, size, "method=pcg precond=%s%s deflation=%s%s rtol=1e-8 maxit=%d", m->precond,
             rows_of, m->deflation, stripes, LIMIT);
}

static void method_cells(const bench *b, const char *table, const char *name, const gupta_run *run,
                         const int64_t *golden)
{
    static const char *const columns[GUPTA_TOLERANCES] = { "1e-2", "1e-5", "1e-8" };
    static const char over[] = "not reached in 4000 iterations";
    for (int t = 0; t < GUPTA_TOLERANCES; t++) {
        double ours = gupta_count(run, t), expected = golden[t] < 0 ? NAN : (double)golden[t];
        reproduce_cell(b, "gupta",
                       &(cell){ table, name, columns[t], "1", NAN, ours, expected,
                                run->refused[0] ? run->refused
                                : isnan(ours)   ? over
                                                : NULL });
    }
}

static void print_method(const bench *b, const char *name, const gupta_run *run,
                         const int64_t *golden)
{
    char ours[60], expected[60];
    if (run->refused[0])
        snprintf(ours, sizeof ours, "-");
    else
        gupta_counts(run->at, LIMIT, ours, sizeof ours);
    if (golden[0] == UNKNOWN)
        snprintf(expected, sizeof expected, "-");
    else
        gupta_counts(golden, LIMIT, expected, sizeof expected);
    reproduce_say(b, "  %-20s%18s%18s\n", name, ours, expected);
}

static kry_status make_row(const bench *b, const struct row *r, int64_t n)
{
    kry_status st = KRY_OK;
    static const int64_t not_known[] = { UNKNOWN, UNKNOWN, UNKNOWN };
    gupta_system s = { NULL };
    lines *chart = NULL;
    gupta_run run;
    char spec[64], words[200];

    snprintf(spec, sizeof spec, "twophase2d:%" PRId64 ":%s", n, r->flow);
    TRY(gupta_system_create(b, spec, KRY_F64, &s));
    if (r == rows) TRY(gupta_chart(b, "Two layers, 1000:1: first and second levels", true, &chart));
    reproduce_say(b, "two phases: %s, iterations to 1e-2/1e-5/1e-8\n  %-20s%18s%18s\n", spec, "",
                  "ours", "golden");
    for (int i = 0; i < METHODS; i++) {
        const int64_t *golden = n == r->n ? r->golden[i] : not_known;
        method_words(&methods[i], n, words, sizeof words);
        TRY(gupta_solve(&s, words, chart, methods[i].curve, &run));
        print_method(b, methods[i].name, &run, golden);
        method_cells(b, spec, methods[i].name, &run, golden);
        if (run.refused[0]) gupta_refused(b, &run, methods[i].name);
    }
    reproduce_say(b, "\n");
    TRY(gupta_draw(b, "counts", &chart));
done:
    lines_release(&chart);
    gupta_system_release(&s);
    return st;
}

kry_status gupta_phases(const bench *b, int64_t n)
{
    kry_status st = KRY_OK;
    int64_t largest = b->info->gpu ? 512 : 256; /* a CPU takes a minute for the smaller ones */

    for (size_t i = 0; i < COUNT(rows); i++) {
        if (rows[i].n > largest || (rows[i].n > 256 && rows[i].n > n)) continue;
        TRY(make_row(b, &rows[i], rows[i].n < n ? rows[i].n : n));
    }
    reproduce_say(
        b, "The golden program drew another b, and its nine bubbles lie elsewhere, each a phase\n"
           "of its own: counts agree to a few per cent, those of bubbles less.\n\n");
done:
    return st;
}
