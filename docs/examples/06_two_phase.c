/*
 * 06_two_phase.c - pressure in a flow of two phases: a bubble that lets a thousand times more
 * through than what is around it, walls on all sides.
 *
 *     -div(k grad u) = f in the unit square, k du/dn = 0 on its sides,  k = 1 inside, 0.001 outside
 *
 * A preconditioner alone takes hundreds of iterations. Deflation by blocks of 8 x 8 cells, split
 * where they hold both phases, solves exactly for what is smooth: in single precision, too, for A
 * is applied as fluxes over faces.
 */
#include <kry/kry.h>
#include <kry/problem.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { n = 128 * 128 };
static const char flow[] = "twophase2d:128:1000:bubble"; /* A is singular: u up to a constant */

typedef struct way {
    kry_type type;
    bool deflated;
    double rtol;
    int64_t iterations; /* out */
} way;

/* b and u on the host are in double; a device computes with numbers of either type. */
static kry_status write_numbers(kry_vec *to, const double *values, float *room)
{
    for (int i = 0; i < n; i++) room[i] = (float)values[i];
    return kry_vec_write(to, kry_vec_type(to) == KRY_F32 ? (const void *)room : values);
}

static kry_status read_numbers(const kry_vec *from, double *values, float *room)
{
    if (kry_vec_type(from) == KRY_F64) return kry_vec_read(from, values);
    kry_status st = kry_vec_read(from, room);
    for (int i = 0; i < n; i++) values[i] = room[i];
    return st;
}

/* u := the solution */
static kry_status solve(kry_device *device, const kry_problem *p, way *w, double *u, float *room)
{
    kry_op *A = NULL, *M = NULL, *Q = NULL, *solver = NULL;
    kry_vec *b = NULL, *x = NULL;
    kry_result result = { 0 };
    kry_status st;

    if ((st = kry_stencil_create(device, w->type, p->grid, &A)) < 0) goto done;
    if ((st = kry_incomplete_poisson_create(A, NULL, &M)) < 0) goto done;
    if (w->deflated &&
        (st = kry_deflation_create(A, KRY_DEFLATION(.block = 8, .phase = true), &Q)) < 0)
        goto done;
    if ((st = kry_pcg_create(A, KRY_PCG(.precond = M, .deflation = Q, .stop = { .rtol = w->rtol }),
                             &solver)) < 0)
        goto done;
    if ((st = kry_vec_create(device, w->type, n, 1, &b)) < 0) goto done;
    if ((st = kry_vec_create(device, w->type, n, 1, &x)) < 0) goto done; /* the guess: zero */
    if ((st = write_numbers(b, p->rhs, room)) < 0) goto done;
    if ((st = kry_solve(solver, b, x, &result)) < 0) goto done;
    w->iterations = result.iterations;
    printf("%s, %-11s %3lld iterations: %s, ||b - A u|| = %.1e ||b||\n", kry_type_name(w->type),
           w->deflated ? "deflated" : "ip alone", (long long)result.iterations,
           kry_reason_word(result.reason), result.true_residual / result.norm_b);
    if ((st = read_numbers(x, u, room)) < 0) goto done;
done:
    kry_vec_release(&x);
    kry_vec_release(&b);
    kry_op_release(&solver);
    kry_op_release(&Q);
    kry_op_release(&M);
    kry_op_release(&A);
    return st;
}

/* Relative to v, and but for a constant. */
static double distance(const double *u, const double *v)
{
    double mean = 0, difference2 = 0, norm2 = 0;
    for (int i = 0; i < n; i++) mean += (u[i] - v[i]) / n;
    for (int i = 0; i < n; i++) {
        difference2 += (u[i] - v[i] - mean) * (u[i] - v[i] - mean);
        norm2 += v[i] * v[i];
    }
    return sqrt(difference2 / norm2);
}

int main(void)
{
    /* In double u has mean zero. In single it is left as the solve ends, for a constant in the
     * phase that conducts would cost the digits that ||b - A u|| needs. */
    way alone = { .type = KRY_F64, .rtol = 1e-8 };
    way deflated = { .type = KRY_F64, .deflated = true, .rtol = 1e-8 };
    way single = { .type = KRY_F32, .deflated = true, .rtol = 1e-5 };
    double *u = calloc(n, sizeof *u), *v = calloc(n, sizeof *v), error = 0;
    float *room = calloc(n, sizeof *room);
    kry_device *device = NULL;
    kry_problem *p = NULL;
    kry_status st = KRY_ERR_MEMORY;

    if (!u || !v || !room) goto done;
    if ((st = kry_device_open(NULL, &device)) < 0) goto done;
    if ((st = kry_problem_create_grid(flow, 1, &p)) < 0) goto done;
    if ((st = solve(device, p, &single, u, room)) < 0) goto done;
    if (kry_device_get_info(device)->fp64) {
        if ((st = solve(device, p, &alone, v, room)) < 0) goto done;
        if ((st = solve(device, p, &deflated, v, room)) < 0) goto done;
        error = distance(u, v);
        printf("single and double differ by %.1e\n", error);
    }
done:
    if (st < 0) fprintf(stderr, "%s: %s\n", kry_status_text(st), kry_last_error());
    kry_problem_release(&p);
    kry_device_release(&device);
    free(room);
    free(v);
    free(u);
    return st >= 0 && error < 1e-5 && deflated.iterations <= alone.iterations / 4 ? 0 : 1;
}
