/*
 * 02_solve_arrays.c - a matrix that the program has in its own arrays: a rod of n cells,
 *
 *     -u'' = 1,  u(0) = u(1) = 0,  so that  u(t) = t (1 - t) / 2,
 *
 * in finite differences, which are exact for a parabola: the answer is known to rounding.
 */
#include <kry/kry.h>
#include <math.h>
#include <stdio.h>

enum { n = 99 };

int main(void)
{
    int64_t row_ptr[n + 1]; /* row i has the entries row_ptr[i] ... row_ptr[i+1] - 1 */
    int32_t col[3 * n];
    double val[3 * n], u[n], h = 1.0 / (n + 1), worst = 0;
    kry_device *device = NULL;
    kry_op *A = NULL, *solver = NULL;
    kry_vec *b = NULL, *x = NULL;
    kry_status st;

    int64_t nnz = 0;
    for (int i = 0; i < n; i++) { /* (-u[i-1] + 2 u[i] - u[i+1]) / h^2 = 1 */
        row_ptr[i] = nnz;
        if (i > 0) col[nnz] = i - 1, val[nnz++] = -1 / (h * h);
        col[nnz] = i, val[nnz++] = 2 / (h * h);
        if (i < n - 1) col[nnz] = i + 1, val[nnz++] = -1 / (h * h);
    }
    row_ptr[n] = nnz;

    if ((st = kry_device_open(NULL, &device)) < 0) goto done;
    if ((st = kry_csr_create(device, KRY_F64, n, n, row_ptr, col, val,
                             KRY_MATRIX(.traits = KRY_POSITIVE), &A)) < 0)
        goto done;
    if ((st = kry_vec_create(device, KRY_F64, n, 1, &b)) < 0) goto done;
    if ((st = kry_vec_create(device, KRY_F64, n, 1, &x)) < 0) goto done;
    if ((st = kry_vec_fill(b, 1.0)) < 0) goto done;

    if ((st = kry_solver_create(A, "method=pcg precond=amg rtol=1e-10", NULL, NULL, &solver)) < 0)
        goto done;
    if ((st = kry_solve(solver, b, x, NULL)) != KRY_OK) goto done;
    if ((st = kry_vec_read(x, u)) < 0) goto done;

    for (int i = 0; i < n; i++) {
        double t = (i + 1) * h;
        worst = fmax(worst, fabs(u[i] - t * (1 - t) / 2));
    }
    printf("u(1/2) = %.12f, largest error %.1e\n", u[n / 2], worst);

done:
    if (st != KRY_OK) fprintf(stderr, "%s: %s\n", kry_status_text(st), kry_last_error());
    kry_op_release(&solver);
    kry_vec_release(&x);
    kry_vec_release(&b);
    kry_op_release(&A);
    kry_device_release(&device);
    /* ||e|| <= ||inverse(A)|| ||r|| <= 1/pi^2 times 1e-10 ||b||, and ||b|| = sqrt(n) */
    return st == KRY_OK && worst < 1e-10 ? 0 : 1;
}
