/* order.c - whether a device's compiler keeps the order of sums, as OpenCL C demands. Intel's for CPUs, from
 * 2025.1 on, splits long ones among the lanes of a vector, in its own way for each loop. */
#include "device/launch.h"
#include <kry/vec.h>
#include <string.h>

enum { ROWS = 32, LENGTH = 64, NUMBERS = ROWS + LENGTH };

typedef struct sums {
    float f32[ROWS];
    double f64[ROWS];
} sums;

/* y: ROWS sums of squares of consecutive numbers, as the device computes them. */
static kry_status sum_on_device(kry_device *dev, const char *name, size_t size, const void *numbers,
                                void *y)
{
    kry_status st = KRY_OK;
    kryi_kernel *kernel = NULL;
    cl_mem a = NULL, result = NULL;
    const cl_int rows = ROWS, n = LENGTH;

    TRY(kryi_kernel_get(dev, "order", KRY_F32, "", name, &kernel));
    TRY(kryi_buffer_upload(dev, NUMBERS * size, numbers, &a));
    TRY(kryi_buffer_create(dev, ROWS * size, &result));
    const kry_arg args[] = { ARG(rows), ARG(n), ARG(a), ARG(a), ARG(result) };
    TRY(kryi_launch(dev, kernel, 1, args, COUNT(args)));
    TRY(kryi_buffer_read(dev, result, 0, ROWS * size, y));
done:
    kryi_buffer_release(dev, &result);
    kryi_buffer_release(dev, &a);
    return st;
}

/* Every step is stored, so that no compiler of the host's keeps a product unrounded. */
static void sum_on_host(const float *f32, const double *f64, sums *y)
{
    for (int i = 0; i < ROWS; i++) {
        volatile float s = 0, p;
        volatile double t = 0, q;
        for (int j = i; j < i + LENGTH; j++) {
            p = f32[j] * f32[j], s = s + p;
            q = f64[j] * f64[j], t = t + q;
        }
        y->f32[i] = s, y->f64[i] = t;
    }
}

static kry_status compare(kry_device *dev, bool *kept)
{
    kry_status st = KRY_OK;
    float f32[NUMBERS];
    double f64[NUMBERS];
    sums want, got;

    for (int i = 0; i < NUMBERS; i++) {
        f64[i] = kry_random_unit(1, 0, (uint64_t)i) - 0.5;
        f32[i] = (float)f64[i];
    }
    sum_on_host(f32, f64, &want);
    got = want;
    TRY(sum_on_device(dev, "order_float", sizeof *f32, f32, got.f32));
    if (dev->info.fp64) TRY(sum_on_device(dev, "order_double", sizeof *f64, f64, got.f64));
    *kept =
        !memcmp(got.f32, want.f32, sizeof want.f32) && !memcmp(got.f64, want.f64, sizeof want.f64);
done:
    return st;
}

kry_status kryi_order_check(kry_device *dev)
{
    kry_status st = KRY_OK;
    bool kept = false;

    TRY(compare(dev, &kept));
    if (kept) goto done;
    dev->layout.unoptimised = true;
    TRY(compare(dev, &kept));
    CHECK(
        kept, KRY_ERR_UNSUPPORTED,
        "kry_team_create: sums cannot be reproducible on '%s', whose compiler changes their order "
        "even without optimisation",
        dev->info.name);
done:
    return st;
}
