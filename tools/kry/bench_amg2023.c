/*
 * bench_amg2023.c - kry bench amg2023: the two problems of AMG2023 by algebraic multigrid, and its figures of merit.
 *
 *   1  27 points on N^3, GMRES(100) to 1e-12: entries / (set-up + solve)
 *   2  7 points on N^3, conjugate gradients to 1e-8: entries / (set-up + 3 solve)
 *
 * b is 1 and x begins with 0. `entries` are those of the matrices and prolongations of all levels, so levels with fewer entries
 * are not rewarded: compare seconds, too. The first set-up and solve warm up; times are medians of those after them.
 */
#include "bench.h"
#include "json.h"
#include <kry/multigrid.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { REPEATS = 5 };

static const struct problem {
    const char *name, *spec, *method, *figure;
    double solves; /* how often the solve counts */
} problems[] = {
    { "Problem 1", "poisson3d27:%s", "method=gmres:100 precond=amg rtol=1e-12",
      "Figure of Merit (FOM): nnz_AP / (Setup Phase Time + Solve Phase Time)", 1 },
    { "Problem 2", "poisson3d:%s", "method=pcg precond=amg rtol=1e-8",
      "Figure of Merit (FOM): nnz_AP / (Setup Phase Time + 3 * Solve Phase Time)", 3 },
};

typedef struct outcome {
    double setup, solve; /* seconds */
    double entries;      /* of matrices and prolongations */
    kry_result result;   /* of the last solve */
} outcome;

/* Entries of all levels; NaN where an operator does not count them. */
static kry_status count_entries(const kry_op *M, double *entries)
{
    kry_status st = KRY_OK;
    kry_level_info level;
    kry_op_info info;

    *entries = 0;
    for (int i = 0; i < kry_multigrid_levels(M); i++) {
        TRY(kry_multigrid_level(M, i, &level));
        const kry_op *const of_level[] = { level.matrix, level.prolongation };
        for (size_t k = 0; k < COUNT(of_level); k++) {
            if (!of_level[k]) continue;
            kry_op_describe(of_level[k], &info);
            *entries += info.nnz >= 0 ? (double)info.nnz : (double)NAN;
        }
    }
done:
    return st;
}

static kry_status solve_once(const bench *b, const kry_op *A, const char *method,
                             const kry_vec *rhs, kry_vec *x, outcome *o)
{
    kry_status st = KRY_OK;
    kry_op *solver = NULL;

    TRY(kry_vec_fill(x, 0));
    TRY(kry_device_finish(b->device));
    const double start = now();
    TRY(kry_solver_create(A, method, NULL, NULL, &solver));
    TRY(kry_device_finish(b->device));
    const double made = now();
    TRY(kry_solve(solver, rhs, x, &o->result));
    o->setup = made - start, o->solve = now() - made;
    TRY(count_entries(kry_solver_precond(solver), &o->entries));
done:
    kry_op_release(&solver);
    return st;
}

static void print(const bench *b, const struct problem *p, const char *points, const outcome *o)
{
    const struct {
        const char *name;
        double value;
    } lines[] = { { "Setup Phase Time", o->setup },
                  { "Solve Phase Time", o->solve },
                  { "Iterations", (double)o->result.iterations },
                  { "Final Relative Residual Norm", o->result.true_residual / o->result.norm_b },
                  { "nnz_AP", o->entries },
                  { "FOM_Setup: nnz_AP / Setup Phase Time", o->entries / o->setup },
                  { "FOM_Solve: nnz_AP * iterations / Solve Phase Time",
                    o->entries * (double)o->result.iterations / o->solve },
                  { p->figure, o->entries / (o->setup + p->solves * o->solve) } };
    json j;

    if (b->o->json) {
        j = json_begin(stdout);
        json_text(&j, "name", "amg2023");
        json_text(&j, "problem", p->name);
        json_text(&j, "device", b->info->name);
        json_text(&j, "points", points);
        for (size_t i = 0; i < COUNT(lines); i++) json_real(&j, lines[i].name, lines[i].value);
        json_end(&j);
        return;
    }
    printf("%s, %s^3 points, %s\n", p->name, points, p->method);
    for (size_t i = 0; i < COUNT(lines); i++) printf("  %s: %.6g\n", lines[i].name, lines[i].value);
    fflush(stdout);
}

static kry_status run(const bench *b, const struct problem *p, const char *points)
{
    kry_status st = KRY_OK;
    source s = { .device = b->device };
    kry_op *A = NULL;
    kry_vec *rhs = NULL, *x = NULL;
    double setup[REPEATS + 1], solve[REPEATS + 1];
    outcome o;
    form f = b->form;
    char spec[64];

    f.stored = true;
    CHECK(snprintf(spec, sizeof spec, p->spec, points) < (int)sizeof spec, KRY_ERR_PARSE,
          "'%.40s...' is no number of points", points);
    TRY(source_open(NULL, spec, (uint64_t)b->seed, NULL, &s));
    TRY(source_operator(&s, b->device, b->type, &f, &A));
    TRY(kry_vec_create(b->device, b->type, s.rows, 1, &rhs));
    TRY(kry_vec_create(b->device, b->type, s.rows, 1, &x));
    TRY(kry_vec_fill(rhs, 1));
    for (int i = 0; i <= REPEATS; i++) {
        TRY(solve_once(b, A, p->method, rhs, x, &o));
        setup[i] = o.setup, solve[i] = o.solve;
    }
    o.setup = bench_median(setup + 1, REPEATS), o.solve = bench_median(solve + 1, REPEATS);
    print(b, p, points, &o);
done:
    kry_vec_release(&rhs), kry_vec_release(&x);
    kry_op_release(&A);
    source_release(&s);
    return st;
}

kry_status bench_amg2023(bench *b)
{
    kry_status st = KRY_OK;
    const char *usual = b->info->gpu ? "128" : "32";

    CHECK(b->type == KRY_F64, KRY_ERR_UNSUPPORTED, "amg2023 is in double precision");
    for (int i = 0; i < (b->o->word_count > 1 ? b->o->word_count - 1 : 1); i++)
        for (size_t p = 0; p < COUNT(problems); p++)
            TRY(run(b, &problems[p], b->o->word_count > 1 ? b->o->words[i + 1] : usual));
done:
    return st;
}
