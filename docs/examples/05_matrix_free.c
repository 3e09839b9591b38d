/*
 * 05_matrix_free.c - an operator of one's own, without a matrix: A = the Laplacian of a rod,
 * 2 on the diagonal and -1 beside it, as a kernel of three lines.
 *
 * The same table is what kry's own CSR, Jacobi and CG are made of. Of its entries only `apply`
 * is required; kry makes the rest of it.
 */
#include <kry/opencl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { n = 500 };

/* kry puts its own kry.clh in front: REAL is float or double, ACC what it sums in. */
static const char laplace_cl[] =
    "kernel void laplace(long n, ACC alpha, global const REAL *x, long x0,\n"
    "                    ACC beta, global REAL *y, long y0)\n"
    "{\n"
    "    long i = get_global_id(0);\n"
    "    x += x0, y += y0;\n"
    "    ACC left = i > 0 ? x[i - 1] : 0, right = i + 1 < n ? x[i + 1] : 0;\n"
    "    ACC ax = alpha * (2 * (ACC)x[i] - left - right);\n"
    "    y[i] = beta == 0 ? ax : ax + beta * y[i];   // beta == 0: y is not read\n"
    "}\n";

typedef struct laplace {
    cl_kernel kernel;
} laplace;

/* y := alpha A x + beta y */
static kry_status laplace_apply(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    laplace *L = self;
    int64_t x0, y0; /* vectors may start anywhere in their buffers */
    cl_mem from = kry_vec_buffer(x, &x0), to = kry_vec_buffer(y, &y0);
    cl_long size = n, first_x = x0, first_y = y0;
    const kry_arg args[] = { KRY_ARG(size), KRY_ARG(alpha), KRY_ARG(from),   KRY_ARG(first_x),
                             KRY_ARG(beta), KRY_ARG(to),    KRY_ARG(first_y) };

    return kry_device_launch(kry_vec_device(y), L->kernel, n, 1, args, 7); /* n groups of one */
}

static kry_status laplace_diagonal(void *self, kry_vec *d)
{
    (void)self;
    return kry_vec_fill(d, 2.0); /* Jacobi asks for it */
}

static void laplace_destroy(void *self)
{
    laplace *L = self;
    if (L->kernel) clReleaseKernel(L->kernel);
    free(L);
}

static const kry_op_table laplace_table = {
    .struct_size = sizeof(kry_op_table),
    .kind = "laplace",
    .apply = laplace_apply,
    .apply_transpose = laplace_apply, /* symmetric */
    .diagonal = laplace_diagonal,
    .destroy = laplace_destroy,
};

static kry_status laplace_create(kry_device *device, kry_op **op)
{
    const kry_op_shape shape = { .rows = n, .cols = n, .type = KRY_F64, .traits = KRY_POSITIVE };
    laplace *L = calloc(1, sizeof *L);
    kry_status st;

    *op = NULL;
    if (!L) return kry_fail(KRY_ERR_MEMORY, "laplace: out of memory");
    st = kry_device_kernel(device, KRY_F64, "laplace", laplace_cl, NULL, "laplace", &L->kernel);
    if (st == KRY_OK) st = kry_op_create(device, &laplace_table, L, &shape, op);
    if (st != KRY_OK) laplace_destroy(L); /* on failure kry_op_create has not taken L */
    return st;
}

int main(void)
{
    kry_device *device = NULL;
    kry_op *A = NULL, *cg = NULL;
    kry_vec *b = NULL, *x = NULL;
    kry_result result = { 0 };
    double u[n], worst = 0;
    kry_status st;

    if ((st = kry_device_open("opencl", &device)) < 0) goto done;
    if ((st = laplace_create(device, &A)) < 0) goto done;
    if ((st = kry_vec_create(device, KRY_F64, n, 1, &b)) < 0) goto done;
    if ((st = kry_vec_create(device, KRY_F64, n, 1, &x)) < 0) goto done;
    if ((st = kry_vec_fill(b, 1.0)) < 0) goto done;
    if ((st = kry_pcg_create(A, KRY_PCG(.stop = { .rtol = 1e-9 }), &cg)) < 0) goto done;
    if ((st = kry_solve(cg, b, x, &result)) != KRY_OK) goto done;
    if ((st = kry_vec_read(x, u)) < 0) goto done;

    /* A u = 1 has the solution u_i = i (n + 1 - i) / 2, i = 1 ... n */
    for (int i = 0; i < n; i++) worst = fmax(worst, fabs(u[i] / ((i + 1) * (n - i) / 2.0) - 1));
    printf("%lld iterations, largest relative error %.1e\n", (long long)result.iterations, worst);

done:
    if (st != KRY_OK) fprintf(stderr, "%s: %s\n", kry_status_text(st), kry_last_error());
    kry_op_release(&cg);
    kry_vec_release(&x);
    kry_vec_release(&b);
    kry_op_release(&A);
    kry_device_release(&device);
    /* ||e|| <= ||inverse(A)|| ||r|| <= (n / pi)^2 1e-9 sqrt(n), and u is n / 2 at least */
    return st == KRY_OK && worst < 2.5e-6 ? 0 : 1;
}
