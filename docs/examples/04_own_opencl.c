/*
 * 04_own_opencl.c - the program already has a context, a queue and buffers on the device. kry
 * borrows them: nothing is copied, and its work lands in the program's own queue.
 *
 * The buffers hold a ring of n cells, 3 on the diagonal and -1 to both neighbours, and b = A u
 * for a known u. Then the program doubles the values where they are: the solution is u / 2.
 */
#include <kry/opencl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { n = 1000, nnz = 3 * n };

/* What the library sees of the program: solve for `answer` with the matrix in three buffers. */
static kry_status solve_twice(cl_context context, cl_device_id id, cl_command_queue queue,
                              const cl_mem matrix[3], cl_mem rhs, cl_mem answer)
{
    kry_device *device = NULL;
    kry_op *A = NULL, *cg = NULL;
    kry_vec *b = NULL, *x = NULL;
    float val[nnz];
    kry_status st;

    if ((st = kry_device_wrap(context, id, queue, &device)) < 0) goto done;
    if ((st = kry_csr_wrap(device, KRY_F32, n, n, nnz, false, matrix[0], matrix[1], matrix[2],
                           KRY_MATRIX(.traits = KRY_POSITIVE), &A)) < 0)
        goto done;
    if ((st = kry_vec_wrap(device, KRY_F32, n, 1, rhs, 0, &b)) < 0) goto done;
    if ((st = kry_vec_wrap(device, KRY_F32, n, 1, answer, 0, &x)) < 0) goto done;
    if ((st = kry_pcg_create(A, KRY_PCG(.stop = { .rtol = 1e-5 }), &cg)) < 0) goto done;
    if ((st = kry_solve(cg, b, x, NULL)) != KRY_OK) goto done;

    for (int e = 0; e < nnz; e++) val[e] = e % 3 == 1 ? 6 : -2;
    if (clEnqueueWriteBuffer(queue, matrix[2], CL_TRUE, 0, sizeof val, val, 0, NULL, NULL)) {
        st = kry_fail(KRY_ERR_DEVICE, "the new values did not arrive");
        goto done;
    }
    if ((st = kry_op_update(A, NULL)) < 0) goto done; /* the values changed where they are */
    if ((st = kry_op_update(cg, NULL)) < 0) goto done;
    st = kry_solve(cg, b, x, NULL);

done:
    kry_op_release(&cg);
    kry_vec_release(&x);
    kry_vec_release(&b);
    kry_op_release(&A);
    kry_device_release(&device); /* drops kry's references; the program keeps its own */
    return st;
}

static cl_mem upload(cl_context context, size_t bytes, void *data)
{
    return clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes, data, NULL);
}

int main(void)
{
    cl_platform_id platform;
    cl_device_id id;
    cl_int row_ptr[n + 1], col[nnz];
    float val[nnz], u[n], b[n], x[n] = { 0 };
    double worst = 0;

    for (int i = 0; i < n; i++) {
        row_ptr[i] = 3 * i, u[i] = i * i % 7;
        col[3 * i] = (i + n - 1) % n, val[3 * i] = -1;
        col[3 * i + 1] = i, val[3 * i + 1] = 3;
        col[3 * i + 2] = (i + 1) % n, val[3 * i + 2] = -1;
    }
    row_ptr[n] = nnz;
    for (int i = 0; i < n; i++) b[i] = 3 * u[i] - u[(i + n - 1) % n] - u[(i + 1) % n];

    if (clGetPlatformIDs(1, &platform, NULL) ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &id, NULL))
        return fprintf(stderr, "no OpenCL device\n"), 1;
    cl_context context = clCreateContext(NULL, 1, &id, NULL, NULL, NULL);
    cl_command_queue queue = clCreateCommandQueue(context, id, 0, NULL);
    cl_mem matrix[3] = { upload(context, sizeof row_ptr, row_ptr), upload(context, sizeof col, col),
                         upload(context, sizeof val, val) };
    cl_mem rhs = upload(context, sizeof b, b), answer = upload(context, sizeof x, x);

    kry_status st = solve_twice(context, id, queue, matrix, rhs, answer);
    if (st != KRY_OK) fprintf(stderr, "%s: %s\n", kry_status_text(st), kry_last_error());
    if (st == KRY_OK && clEnqueueReadBuffer(queue, answer, CL_TRUE, 0, sizeof x, x, 0, NULL, NULL))
        st = KRY_ERR_DEVICE;
    for (int i = 0; i < n && st == KRY_OK; i++) worst = fmax(worst, fabs(x[i] - u[i] / 2));
    printf("x = u / 2 with an error of %.1e at most\n", worst);

    clReleaseMemObject(answer);
    clReleaseMemObject(rhs);
    for (int i = 0; i < 3; i++) clReleaseMemObject(matrix[i]);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    /* ||e|| <= ||inverse(2 A)|| ||r|| <= 1/2 times 1e-5 ||b||, and no |b_i| is over 30 */
    return st == KRY_OK && worst < 0.5e-5 * 30 * sqrt(n) ? 0 : 1;
}
