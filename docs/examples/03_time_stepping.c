/*
 * 03_time_stepping.c - the heat equation with implicit Euler steps and a conductivity that
 * changes with time: the pattern of the matrix stays, its values are new in every step, and
 * everything is built once.
 *
 *     u_t = k(t) (u_xx + u_yy) on the unit square, u = 0 around,  k(t) = 1 + t
 *     (1 + dt k A) u_new = u_old,  A the five-point Laplacian
 *
 * v = sin(pi x) sin(pi y) is an eigenvector of A, A v = lambda v, so each step divides the part
 * of u along v by 1 + dt k lambda, whatever else u holds. That is what the program checks.
 */
#include <kry/kry.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 64, n = N * N, STEPS = 20 };

/* The matrix a + b A on an N-by-N grid, in the same order whatever a and b are. */
static void fill(double a, double b, int64_t *row_ptr, int32_t *col, double *val)
{
    static const int dx[] = { 0, -1, 0, 1, 0 }, dy[] = { -1, 0, 0, 0, 1 };
    const double scale = b * (N + 1) * (N + 1);
    int64_t nnz = 0;
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < 5; k++) {
            int x = i % N + dx[k], y = i / N + dy[k];
            if (x < 0 || x >= N || y < 0 || y >= N) continue;
            col[nnz] = y * N + x;
            val[nnz++] = k == 2 ? a + 4 * scale : -scale;
        }
        row_ptr[i + 1] = nnz;
    }
}

static double dot(const double *x, const double *y)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

int main(void)
{
    const double pi = 3.14159265358979323846, dt = 1e-3, h = 1.0 / (N + 1), rtol = 1e-10;
    const double lambda = 8 * pow(sin(pi * h / 2) / h, 2);
    int64_t *row_ptr = calloc(n + 1, sizeof *row_ptr);
    int32_t *col = calloc(5 * n, sizeof *col);
    double *val = calloc(5 * n, sizeof *val);
    double *u = calloc(n, sizeof *u), *v = calloc(n, sizeof *v);
    double expected = 0, worst = 0, allowed = 0;
    kry_device *device = NULL;
    kry_op *A = NULL, *solver = NULL;
    kry_vec *old = NULL, *new = NULL;
    kry_status st = KRY_ERR_MEMORY;

    if (!row_ptr || !col || !val || !u || !v) goto done;
    for (int i = 0; i < n; i++) {
        double x = (i % N + 1) * h, y = (i / N + 1) * h;
        v[i] = sin(pi * x) * sin(pi * y);
        u[i] = x < 0.5 && y < 0.25; /* hot in a corner */
    }
    expected = dot(u, v);
    /* A residual of rtol ||u|| changes u.v by no more than rtol ||u|| ||v||. */
    allowed = STEPS * rtol * sqrt(dot(u, u)) * sqrt(dot(v, v)) / expected;

    fill(1, dt, row_ptr, col, val);
    if ((st = kry_device_open(NULL, &device)) < 0) goto done;
    if ((st = kry_csr_create(device, KRY_F64, n, n, row_ptr, col, val,
                             KRY_MATRIX(.traits = KRY_POSITIVE), &A)) < 0)
        goto done;
    if ((st = kry_solver_create(A, "method=pcg precond=amg rtol=1e-10", NULL, NULL, &solver)) < 0)
        goto done;
    if ((st = kry_vec_create(device, KRY_F64, n, 1, &old)) < 0) goto done;
    if ((st = kry_vec_create(device, KRY_F64, n, 1, &new)) < 0) goto done;
    if ((st = kry_vec_write(new, u)) < 0) goto done;

    for (int step = 1; step <= STEPS; step++) {
        kry_result result = { 0 };
        double k = 1 + step * dt;

        fill(1, dt * k, row_ptr, col, val);
        if ((st = kry_op_update(A, val)) < 0) goto done;       /* same pattern, new values */
        if ((st = kry_op_update(solver, NULL)) < 0) goto done; /* and what was made of them */
        if ((st = kry_vec_copy(new, old)) < 0) goto done;      /* `new` stays as the guess */
        if ((st = kry_solve(solver, old, new, &result)) != KRY_OK) goto done;
        if ((st = kry_vec_read(new, u)) < 0) goto done;

        expected /= 1 + dt * k * lambda;
        worst = fmax(worst, fabs(dot(u, v) / expected - 1));
        printf("step %2d: %2lld iterations, u.v = %.6f, expected %.6f\n", step,
               (long long)result.iterations, dot(u, v), expected);
    }
    printf("largest relative error %.1e, allowed %.1e\n", worst, allowed);

done:
    if (st != KRY_OK) fprintf(stderr, "%s: %s\n", kry_status_text(st), kry_last_error());
    kry_op_release(&solver);
    kry_vec_release(&new);
    kry_vec_release(&old);
    kry_op_release(&A);
    kry_device_release(&device);
    free(v);
    free(u);
    free(val);
    free(col);
    free(row_ptr);
    return st == KRY_OK && worst <= allowed ? 0 : 1;
}
