/*
 * gupta_vectors.c - beside table 1: which vectors deflate best, stripes or square blocks.
 *
 * -Laplace on N x N points, b = A x for x in [0, 1], double, to 1e-5. The paper has stripes alone.
 */
#include "gupta.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { SIZES = 3, PRECONDS = 3 };
static const int64_t sizes[SIZES] = { 128, 256, 512 };
static const char *const preconds[PRECONDS] = { "block-ic", "ip", "ip:drop" };

/* So many stripes in a row of the grid, or blocks along each side; golden: iterations for each size
 * and preconditioner, 0: not known. */
static const struct line {
    int stripes, blocks;
    double golden[SIZES][PRECONDS];
} table[] = {
    { 1, 0, { { 54, 58, 59 }, { 63, 69, 71 }, { 61, 68, 71 } } },
    { 2, 0, { { 55, 59, 61 }, { 58, 64, 67 }, { 61, 67, 70 } } },
    { 4, 0, { { 42, 44, 44 }, { 53, 57, 58 }, { 60, 64, 67 } } },
    { 8, 0, { { 28, 29, 29 }, { 42, 43, 44 }, { 55, 59, 61 } } },
    { 0, 8, { { 29, 0, 30 }, { 43, 0, 46 }, { 61, 0, 68 } } },
    { 0, 16, { { 20, 0, 19 }, { 30, 0, 30 }, { 43, 0, 46 } } },
    { 0, 32, { { 14, 0, 12 }, { 20, 0, 19 }, { 30, 0, 30 } } },
    { 0, 64, { { 9, 0, 12 }, { 14, 0, 12 }, { 20, 0, 19 } } },
};

static double golden_count(const struct line *l, int64_t n, int precond)
{
    for (int i = 0; i < SIZES; i++)
        if (sizes[i] == n && l->golden[i][precond] > 0) return l->golden[i][precond];
    return NAN;
}

/* "stripes:4096"; false: not on so small a grid. */
static bool line_words(const struct line *l, int64_t n, char *words, size_t size)
{
    if (l->stripes) {
        snprintf(words, size, "stripes:%" PRId64, l->stripes * n);
        return true;
    }
    int64_t cells = (n + l->blocks - 1) / l->blocks;
    snprintf(words, size, "blocks:%" PRId64, cells);
    return cells > 1;
}

static kry_status measure(const gupta_system *s, const char *vectors, int precond, int64_t n,
                          gupta_run *run)
{
    char words[200], rows[32] = "";
    if (precond == 0) snprintf(rows, sizeof rows, ":%" PRId64, 2 * n);
    snprintf(words, sizeof words, "method=pcg precond=%s%s deflation=%s rtol=1e-5",
             preconds[precond], rows, vectors);
    return gupta_solve(s, words, NULL, NULL, run);
}

static void print_count(const bench *b, const char *name, const char *vectors, int precond,
                        const gupta_run *run, double golden)
{
    double ours = gupta_count(run, 1);
    char t[2][24];
    reproduce_say(b, "%10s%8s", gupta_whole(ours, t[0], sizeof t[0]),
                  gupta_whole(golden, t[1], sizeof t[1]));
    reproduce_cell(b, "gupta",
                   &(cell){ name, vectors, preconds[precond], "1", NAN, ours, golden,
                            run->refused[0] ? run->refused : NULL });
}

static kry_status make_line(const bench *b, const gupta_system *s, const struct line *l, int64_t n,
                            gupta_run *runs)
{
    kry_status st = KRY_OK;
    char name[60], vectors[40];

    snprintf(name, sizeof name, "vectors: %" PRId64 " x %" PRId64, n, n);
    if (!line_words(l, n, vectors, sizeof vectors)) goto done;
    reproduce_say(b, "%-14s", vectors);
    for (int p = 0; p < PRECONDS; p++) {
        TRY(measure(s, vectors, p, n, &runs[p]));
        print_count(b, name, vectors, p, &runs[p], golden_count(l, n, p));
    }
    reproduce_say(b, "\n");
done:
    return st;
}

static kry_status make_size(const bench *b, int64_t n)
{
    kry_status st = KRY_OK;
    gupta_system s = { NULL };
    gupta_run runs[PRECONDS] = { { .refused = "" } };
    char spec[32];

    snprintf(spec, sizeof spec, "poisson2d:%" PRId64, n);
    TRY(gupta_system_create(b, spec, KRY_F64, &s));
    TRY(gupta_system_random(b, 0, 1, &s));
    reproduce_say(
        b, "vectors: %" PRId64 " x %" PRId64 ", x in [0, 1], double, iterations to 1e-5\n%-14s", n,
        n, "");
    for (int p = 0; p < PRECONDS; p++) reproduce_say(b, "%10s%8s", preconds[p], "golden");
    reproduce_say(b, "\n");
    for (size_t i = 0; i < COUNT(table); i++) TRY(make_line(b, &s, &table[i], n, runs));
    for (int p = 0; p < PRECONDS; p++) gupta_refused(b, &runs[p], preconds[p]);
    reproduce_say(b, "\n");
done:
    gupta_system_release(&s);
    return st;
}

kry_status gupta_vectors(const bench *b, int64_t n)
{
    kry_status st = KRY_OK;

    if (n < sizes[0]) TRY(make_size(b, n));
    for (int i = 0; i < SIZES && sizes[i] <= n; i++) TRY(make_size(b, sizes[i]));
done:
    return st;
}
