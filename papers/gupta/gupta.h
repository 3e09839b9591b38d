/*
 * gupta.h - what the parts of kry reproduce gupta share.
 */
#ifndef KRY_GUPTA_H
#define KRY_GUPTA_H

#include "lines.h"
#include "reproduce.h"
#include <kry/problem.h>

/* The tolerances whose iterations are counted: 1e-2, 1e-5, 1e-8. */
enum { GUPTA_TOLERANCES = 3 };
extern const double gupta_tolerance[GUPTA_TOLERANCES];

/* A x = b on a grid. */
typedef struct gupta_system {
    kry_problem *problem;
    double *rhs;      /* n, on the host: b before it is rounded */
    double *solution; /* n: the solution, up to a constant if A is singular; NULL: not known */
    kry_op *A;
    kry_vec *b, *x;
} gupta_system;

/* `spec`: see kry_problem. b is the problem's own, with the seed of the bench. */
kry_status gupta_system_create(const bench *b, const char *spec, kry_type type, gupta_system *s);
/* b := A x for a random x, uniform in [low, high]. */
kry_status gupta_system_random(const bench *b, double low, double high, gupta_system *s);
/* Find the solution, in double to 1e-12, on a device that has it. */
kry_status gupta_system_solution(const bench *b, gupta_system *s);
void gupta_system_release(gupta_system *s);

/* Numbers of a vector of either type, in double on the host; n each. */
kry_status gupta_read(const kry_vec *vec, double *values);
kry_status gupta_write(kry_vec *vec, const double *values);
/* ||x - solution|| / ||solution||, both without their means if A is singular; NaN: not known. */
double gupta_error(const gupta_system *s, const double *x);

/* A solve from x = 0. Residuals are those of b = 1. */
typedef struct gupta_run {
    int64_t at[GUPTA_TOLERANCES]; /* iterations until the recurrence is there; -1: never */
    int64_t iterations;
    kry_reason reason;
    double seconds, residual, true_residual, error;
    char refused[400]; /* why there was none, or "" */
    char why[400];     /* what decided about the reason */
} gupta_run;

/* `runs` times from x = 0; what comes of the last one. */
kry_status gupta_solve_with(const kry_op *solver, const gupta_system *s, int runs, gupta_run *run);
/* With a solver of these words; one the library does not know, or a device or build does not
 * allow, is refused. The history becomes a curve of the chart, unless that is NULL. */
kry_status gupta_solver(const gupta_system *s, const char *words, kry_op **solver, gupta_run *run);
kry_status gupta_solve(const gupta_system *s, const char *words, lines *chart, const char *curve,
                       gupta_run *run);

/* Iterations to the tolerance number `t`, NaN if it was not reached. */
double gupta_count(const gupta_run *run, int t);
/* "11"; "-" for NaN. */
const char *gupta_whole(double count, char *text, size_t size);
/* "11/25/40"; what was not reached in 4000 iterations: "> 4000". */
const char *gupta_counts(const int64_t *at, int64_t limit, char *text, size_t size);

/* Why there was no solve or it did not converge, without --json. */
void gupta_refused(const bench *b, const gupta_run *run, const char *what);

/* A chart of residuals over iterations, where --svg was given; `log`: of iterations, too. Then
 * <prefix>-<figure>.svg: write and release the chart, if there is one. */
kry_status gupta_chart(const bench *b, const char *title, bool log, lines **chart);
kry_status gupta_draw(const bench *b, const char *figure, lines **chart);

/* Grids of at most n x n points. */
kry_status gupta_vectors(const bench *b, int64_t n); /* numbers and shapes of vectors */
kry_status gupta_phases(const bench *b, int64_t n);  /* problems of two phases */
kry_status gupta_false(const bench *b, int64_t n);   /* false convergence in single precision */
kry_status gupta_mixed(const bench *b, int64_t n);   /* refinement in double around it */

#endif
