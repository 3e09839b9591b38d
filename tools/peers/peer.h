/*
 * peer.h - a model problem of kry's gallery, and the time that a solver takes for it: what hypre.c, amgcl.cc and kry.c share.
 */
#ifndef PEER_H
#define PEER_H

#include <kry/kry.h>
#include <kry/problem.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct peer_system {
    kry_problem *p;
    double *b;     /* p->n numbers from -1 to 1, which their places give; host */
    double *modes; /* p->n rows of mode_count rigid body modes, column after column; NULL: none */
    int mode_count;
} peer_system;

/* The steps of a measurement, as a solver does them. Steps that are timed wait for the device. */
typedef struct peer {
    void (*store)(const peer_system *s); /* put the matrix and b on the device */
    void (*setup)(const peer_system *s); /* timed */
    void (*renumber)(
        const peer_system *s); /* other numbers, which s->p->val has, at the same places */
    void (*update)(const peer_system *s); /* timed: what the solver asks for before a solve */
    void (*start)(void);                  /* x := 0 */
    int (*solve)(void);                   /* timed; returns the iterations */
    void (*read)(double *x);
    void (*release)(void);
} peer;

static void peer_fail(const char *what)
{
    fprintf(stderr, "%s\n", what);
    exit(1);
}

static void peer_check(kry_status status)
{
    if (status < 0) peer_fail(kry_last_error());
}

static double peer_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static double *peer_numbers(int64_t count)
{
    double *v = (double *)malloc((size_t)count * sizeof *v);

    if (!v) peer_fail("out of memory");
    return v;
}

/* ||b - A x|| / ||b|| */
static double peer_residual(const peer_system *s, const double *x)
{
    double r2 = 0, b2 = 0;

    for (int64_t i = 0; i < s->p->n; i++) {
        double r = s->b[i];
        for (int64_t k = s->p->row_ptr[i]; k < s->p->row_ptr[i + 1]; k++)
            r -= s->p->val[k] * x[s->p->col[k]];
        r2 += r * r;
        b2 += s->b[i] * s->b[i];
    }
    return sqrt(r2 / b2);
}

static peer_system peer_create(const char *spec)
{
    peer_system s = { NULL, NULL, NULL, 0 };

    peer_check(kry_problem_create(spec, 1, &s.p));
    s.b = peer_numbers(s.p->n);
    for (int64_t i = 0; i < s.p->n; i++) s.b[i] = ((unsigned)i * 2654435761u >> 8) / 8388608.0 - 1;
    if (s.p->coordinates) {
        s.mode_count = s.p->axes == 3 ? 6 : 3;
        s.modes = peer_numbers(s.p->n * s.mode_count);
        peer_check(kry_rigid_body_modes(s.p->axes, s.p->n / s.p->axes, s.p->coordinates, s.modes));
    }
    return s;
}

/* Returns the time. */
static double peer_solve(const peer *q, const peer_system *s, int *iterations, double *residual)
{
    double *x = peer_numbers(s->p->n);
    double begin, end;

    q->start();
    begin = peer_ms();
    *iterations = q->solve();
    end = peer_ms();
    q->read(x);
    *residual = peer_residual(s, x);
    free(x);
    return end - begin;
}

/* Print spec, name, rows, entries, milliseconds of set-up, of a solve and of an update, iterations, and the larger of the true
 * residuals before and after the update, with tabs between them. What is timed is done once before. */
static void peer_measure(const char *spec, const char *name, const peer *q)
{
    peer_system s = peer_create(spec);
    double setup = 0, solve = 0, update = 0, residual = 0, updated = 0;
    int iterations = 0, again = 0;

    for (int k = 0; k < 2; k++) {
        q->store(&s);
        setup = peer_ms();
        q->setup(&s);
        setup = peer_ms() - setup;
        solve = peer_solve(q, &s, &iterations, &residual);
        for (int64_t i = 0; i < s.p->nnz; i++) s.p->val[i] *= 2;
        q->renumber(&s);
        update = peer_ms();
        q->update(&s);
        update = peer_ms() - update;
        peer_solve(q, &s, &again, &updated);
        for (int64_t i = 0; i < s.p->nnz; i++) s.p->val[i] /= 2;
        q->release();
    }
    printf("%s\t%s\t%lld\t%lld\t%.3f\t%.3f\t%.3f\t%d\t%.1e\n", spec, name, (long long)s.p->n,
           (long long)s.p->nnz, setup, solve, update, iterations, fmax(residual, updated));
    free(s.modes);
    free(s.b);
    kry_problem_release(&s.p);
}

#endif
