/*
 * reproduce_akhtar.c - table 1 and figure 12: temperatures after two numbers of sweeps.
 *
 * The paper's numbers come back to the last digit with 100 points on a side, indices 0 to 99; data
 * sin(pi y z) sampled at index / 99 though the sides lie one spacing outside, at index 100; start
 * 0; double precision; "0.2" is index 18, "0.8" index 78; its GPU column is sweep 32002, its CPU
 * column sweep 32022. See papers/akhtar/README.md.
 */
#include "akhtar.h"
#include "field.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { POINTS = 100, LOW = 18, HIGH = 78 };
static const char paper[] = "akhtar";

static const struct column {
    const char *name;
    int64_t sweeps;
    double theirs[4];
} columns[] = {
    { "GPU",
      32002,
      { 0.017118069178895, 0.076174559181386, 0.309755952732202, 0.816442793804475 } },
    { "CPU",
      32022,
      { 0.017118069375724, 0.076174559404692, 0.309755952985546, 0.816442794091899 } },
};

static const struct row {
    const char *name;
    int at[3];
    double converged, equation; /* the limit of the sweeps; what solves the equation */
} rows[] = {
    { "(.2, .2, .2)", { LOW, LOW, LOW }, 0.017118089618011, 0.0207753723787 },
    { "(.2, .2, .8)", { LOW, LOW, HIGH }, 0.076174582369914, 0.0909338815109 },
    { "(.2, .8, .8)", { LOW, HIGH, HIGH }, 0.309755979039985, 0.3503073388939 },
    { "(.8, .8, .8)", { HIGH, HIGH, HIGH }, 0.816442823651105, 0.8314667976076 },
};

/* ---- the problem -------------------------------------------------------------------------- */

kry_status akhtar_cube(const bench *b, kry_type type, int64_t n, jacobi_kernel kernel, jacobi **J)
{
    kry_status st = KRY_OK;
    const double pi = acos(-1), last = n > 1 ? (double)(n - 1) : 1;
    double *side = NULL;

    TRY(allocate((size_t)(n * n), sizeof *side, &side));
    for (int64_t q = 0; q < n; q++)
        for (int64_t p = 0; p < n; p++)
            side[q * n + p] = sin(pi * ((double)p / last) * ((double)q / last));
    const jacobi_box box = { .size = { n, n, n },
                             .side = { [X_HIGH] = side, [Y_HIGH] = side, [Z_HIGH] = side } };
    TRY(jacobi_create(b->device, type, kernel, &box, J));
done:
    free(side);
    return st;
}

bool akhtar_figure(const bench *b, const char *figure, char *path, size_t size)
{
    if (!b->o->svg) return false;
    snprintf(path, size, "%s-%s.svg", b->o->svg, figure);
    return true;
}

static kry_status draw(const bench *b, int64_t n, int64_t sweeps, const double *value)
{
    char path[1024], subtitle[120];
    if (!akhtar_figure(b, "fig12", path, sizeof path)) return KRY_OK;
    snprintf(subtitle, sizeof subtitle, "%lld points on a side, after %lld sweeps in double",
             (long long)n, (long long)sweeps);
    return field_write(&(field){ .title = "Akhtar et al., figure 12: the temperature",
                                 .subtitle = subtitle,
                                 .size = { n, n, n },
                                 .value = value },
                       path);
}

/* ---- table 1 ------------------------------------------------------------------------------ */

static void print_column(const bench *b, const struct column *c, const double *w, double change2)
{
    if (!b->o->json)
        printf("%s column, sweep %lld, sum of squared updates %.3e\n%-14s%20s%20s%12s%22s%12s\n",
               c->name, (long long)c->sweeps, change2, "point", "theirs", "ours", "difference",
               "still to go", "equation");
    for (size_t r = 0; r < COUNT(rows); r++) {
        const int *at = rows[r].at;
        double ours = w[at[0] + POINTS * (at[1] + POINTS * at[2])];
        cell one = { .table = "table 1",
                     .row = rows[r].name,
                     .column = c->name,
                     .unit = "",
                     .theirs = c->theirs[r],
                     .ours = ours,
                     .golden = c->theirs[r] };
        if (b->o->json)
            reproduce_cell(b, paper, &one);
        else
            printf("%-14s%20.15f%20.15f%12.1e%22.1e%12.7f\n", rows[r].name, c->theirs[r], ours,
                   ours - c->theirs[r], rows[r].converged - ours, rows[r].equation);
    }
    if (!b->o->json) printf("\n");
}

static void refuse(const bench *b, const char *why)
{
    if (!b->o->json) {
        printf("table 1: %s\n\n", why);
        return;
    }
    for (size_t c = 0; c < COUNT(columns); c++)
        for (size_t r = 0; r < COUNT(rows); r++)
            reproduce_cell(b, paper,
                           &(cell){ .table = "table 1",
                                    .row = rows[r].name,
                                    .column = columns[c].name,
                                    .unit = "",
                                    .theirs = columns[c].theirs[r],
                                    .ours = NAN,
                                    .golden = columns[c].theirs[r],
                                    .refused = why });
}

static kry_status iterate(const bench *b, double *w)
{
    kry_status st = KRY_OK;
    jacobi *J = NULL;
    int64_t sweeps = 0;
    double change2;

    if (!b->o->json) {
        printf("Temperatures in double precision: %d points on a side, %lld sweeps%s\n\n", POINTS,
               (long long)columns[1].sweeps, b->info->gpu ? "" : " (a minute or two on a CPU)");
        fflush(stdout);
    }
    TRY(akhtar_cube(b, KRY_F64, POINTS, JACOBI_BLOCK, &J));
    for (size_t c = 0; c < COUNT(columns); c++) {
        TRY(jacobi_run(J, columns[c].sweeps - sweeps, &change2));
        TRY(jacobi_read(J, w));
        sweeps = columns[c].sweeps;
        print_column(b, &columns[c], w, change2);
    }
    TRY(draw(b, POINTS, sweeps, w));
done:
    jacobi_release(&J);
    return st;
}

/* A small cube is only drawn, near its limit. */
static kry_status small_field(const bench *b, int64_t n, double *w)
{
    kry_status st = KRY_OK;
    jacobi *J = NULL;

    TRY(akhtar_cube(b, KRY_F64, n, JACOBI_STREAM, &J));
    TRY(jacobi_run(J, 2 * n * n, NULL));
    TRY(jacobi_read(J, w));
    TRY(draw(b, n, 2 * n * n, w));
done:
    jacobi_release(&J);
    return st;
}

kry_status akhtar_table(const bench *b)
{
    kry_status st = KRY_OK;
    int64_t n = options_whole(b->o->n, POINTS);
    double *w = NULL;
    bool small = n < POINTS;

    if (!b->info->fp64) {
        refuse(b, "this device has no double precision, in which the paper's numbers are");
        goto done;
    }
    if (small) n = n > 0 ? n : 1;
    if (!small) n = POINTS;
    TRY(allocate((size_t)(n * n * n), sizeof *w, &w));
    if (small) {
        refuse(b, "it has 100 points on a side, more than --n");
        if (b->o->svg) TRY(small_field(b, n, w));
    } else {
        TRY(iterate(b, w));
    }
done:
    free(w);
    return st;
}

kry_status reproduce_akhtar(bench *b)
{
    kry_status st = KRY_OK;
    int64_t n = options_whole(b->o->n, POINTS);

    CHECK(n >= 1 && n <= 1290, KRY_ERR_ARGUMENT,
          "--n %lld: 1 to 1290 points on a side, fewer than 2^31 in all", (long long)n);
    if (!b->o->json)
        printf("Akhtar et al.: Jacobi's iteration for the Laplace equation on the unit cube\n"
               "ours on %s\n\n",
               b->info->name);
    TRY(akhtar_table(b));
    TRY(akhtar_speeds(b));
done:
    return st;
}
