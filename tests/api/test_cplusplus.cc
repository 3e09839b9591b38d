/* test_cplusplus.cc - the headers and the macros of parameters in C++: kry solves from there. */
#include <cstdio>
#include <cstring>
#include <kry/kry.h>
#include <kry/opencl.h>

static int check(kry_status st, const char *what)
{
    if (st != KRY_OK) std::printf("not ok - %s: %s\n", what, kry_last_error());
    return st != KRY_OK;
}

int main()
{
    const int64_t row_ptr[] = { 0, 2, 5, 7 };
    const int32_t col[] = { 0, 1, 0, 1, 2, 1, 2 };
    const float val[] = { 2, -1, -1, 2, -1, -1, 2 }, ones[] = { 1, 1, 1 };
    float numbers[3] = { 0 };
    char version[40];
    kry_device *device = nullptr;
    kry_op *A = nullptr, *M = nullptr, *solver = nullptr, *grid = nullptr;
    kry_vec *b = nullptr, *x = nullptr;
    int failed = 0;

    kry_status opened = kry_device_open("host", &device);
    if (opened == KRY_ERR_UNSUPPORTED) opened = kry_device_open("opencl", &device); /* without its kernels */
    failed += check(opened, "device");
    failed += check(kry_csr_create(device, KRY_F32, 3, 3, row_ptr, col, val,
                                   KRY_MATRIX(.traits = KRY_POSITIVE, .format = KRY_FORMAT_CSR), &A),
                    "KRY_MATRIX");
    failed += check(kry_stencil_create(device, KRY_F32, KRY_STENCIL(.size = { 3, 3 }), &grid),
                    "KRY_STENCIL");
    failed += check(kry_chebyshev_create(A, KRY_CHEBYSHEV(.degree = 2), &M), "KRY_CHEBYSHEV");
    failed += check(kry_pcg_create(A, KRY_PCG(.precond = M, .stop = { .rtol = 1e-5 }), &solver), "KRY_PCG");
    failed += check(kry_vec_create(device, KRY_F32, 3, 1, &b), "b");
    failed += check(kry_vec_create(device, KRY_F32, 3, 1, &x), "x");
    failed += check(kry_vec_write(b, ones), "write");
    failed += check(kry_vec_fill(x, 0), "fill");
    failed += check(kry_solve(solver, b, x, nullptr), "solve");
    failed += check(kry_vec_read(x, numbers), "read");
    failed += !(numbers[1] > 1.999 && numbers[1] < 2.001);
    std::snprintf(version, sizeof version, "%d.%d.%d", KRY_VERSION_MAJOR, KRY_VERSION_MINOR,
                  KRY_VERSION_PATCH);
    failed += std::strcmp(version, KRY_VERSION) != 0 || std::strcmp(version, kry_version()) != 0;
    kry_vec_release(&x);
    kry_vec_release(&b);
    kry_op_release(&solver);
    kry_op_release(&M);
    kry_op_release(&grid);
    kry_op_release(&A);
    kry_device_release(&device);
    std::printf("1..1\n%s 1 - C++\n", failed ? "not ok" : "ok");
    return failed != 0;
}
