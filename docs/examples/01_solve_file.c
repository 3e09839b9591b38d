/*
 * 01_solve_file.c - solve A x = b, A symmetric positive definite, from a Matrix Market file.
 *
 *     01_solve_file poisson.mtx
 *
 * b is all ones. A line per look at the residual, then what came out.
 */
#include <kry/kry.h>
#include <stdio.h>

static int print_residual(void *user, const kry_iteration *it)
{
    (void)user;
    printf("%6lld  %.3e\n", (long long)it->iteration, it->residual);
    return 0; /* go on */
}

int main(int argc, char **argv)
{
    kry_device *device = NULL;
    kry_op *A = NULL, *M = NULL, *cg = NULL;
    kry_vec *b = NULL, *x = NULL;
    kry_result result = { 0 };
    kry_status st;

    if (argc != 2) return fprintf(stderr, "usage: %s FILE.mtx\n", argv[0]), 2;

    if ((st = kry_device_open(NULL, &device)) < 0) goto done; /* the best there is */
    if ((st = kry_mtx_read_matrix(device, KRY_F64, argv[1], &A)) < 0) goto done;

    int64_t n = kry_op_get_shape(A)->rows;
    if ((st = kry_vec_create(device, KRY_F64, n, 1, &b)) < 0) goto done;
    if ((st = kry_vec_create(device, KRY_F64, n, 1, &x)) < 0) goto done; /* x = 0: the guess */
    if ((st = kry_vec_fill(b, 1.0)) < 0) goto done;

    if ((st = kry_amg_create(A, NULL, &M)) < 0) goto done; /* multigrid; kry_jacobi_create, ... */
    if ((st = kry_pcg_create(A,
                             KRY_PCG(.precond = M, .stop = { .rtol = 1e-10, .check_every = 1 },
                                     .monitor = print_residual),
                             &cg)) < 0)
        goto done;

    st = kry_solve(cg, b, x, &result); /* KRY_OK only if ||b - A x|| <= 1e-10 ||b|| is true */
    if (st >= 0)
        printf("%s after %lld iterations: ||b - A x|| = %.3e, wanted %.3e\n", kry_status_text(st),
               (long long)result.iterations, result.true_residual, result.target);

done:
    if (st < 0) fprintf(stderr, "%s: %s\n", kry_status_text(st), kry_last_error());
    kry_op_release(&cg);
    kry_op_release(&M);
    kry_vec_release(&x);
    kry_vec_release(&b);
    kry_op_release(&A);
    kry_device_release(&device);
    return st == KRY_OK ? 0 : 1;
}
