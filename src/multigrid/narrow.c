/* narrow.c - between vectors in double and a cycle whose levels are in single. Kernels: cl/narrow.cl. */
#include "multigrid/narrow.h"
#include "device/launch.h"

enum { LARGEST, ENTER, LEAVE, KERNELS };

kry_status kry_narrow_create(kry_device *dev, int64_t n, kry_narrow *w)
{
    static const char *const names[KERNELS] = { "narrow_largest", "narrow_enter", "narrow_leave" };
    kry_status st = KRY_OK;
    const int64_t groups = kry_groups_for_sums(dev, KRY_F64, n);

    *w = (kry_narrow){ 0 };
    TRY(kry_vec_create(dev, KRY_F32, n, 1, &w->b));
    TRY(kry_vec_create(dev, KRY_F32, n, 1, &w->x));
    TRY(kry_buffer_create(dev, (size_t)(groups + 1) * sizeof(double), &w->part));
    for (int k = 0; k < KERNELS; k++) {
        TRY(kry_kernel_get(dev, "narrow", KRY_F64, "", names[k], &w->kernel[0][k]));
        w->kernel[1][k] = w->kernel[0][k];
        if (!dev->info.cpu_kernels)
            TRY(kry_kernel_get(dev, "narrow", KRY_F64, "-DKRY_UNALIGNED", names[k],
                               &w->kernel[1][k]));
    }
done:
    return st;
}

void kry_narrow_release(kry_narrow *w)
{
    if (w->b) kry_buffer_release(w->b->dev, &w->part);
    kry_vec_release(&w->x);
    kry_vec_release(&w->b);
}

/* Vectors of doubles that the kernel reads or writes: b, and x unless NULL. */
static kry_status run(const kry_narrow *w, int kernel, const kry_vec *b, const kry_vec *x,
                      const kry_arg *args, size_t count)
{
    const bool aligned = !*kry_vec_alignment((const kry_vec *[]){ b, x ? x : b }, 2);
    const int64_t groups = kry_groups_for_sums(b->dev, KRY_F64, b->n);

    return b->n ? kry_launch(b->dev, w->kernel[!aligned][kernel], groups, args, count) : KRY_OK;
}

kry_status kry_narrow_enter(const kry_narrow *w, const kry_vec *b)
{
    kry_status st = KRY_OK;
    const kry_arg largest[] = { ARG(b->n), ARG_VEC(b), ARG(w->part) };
    const kry_arg enter[] = { ARG(b->n), ARG_VEC(b), ARG(w->part), ARG(w->b->buffer) };

    TRY(run(w, LARGEST, b, NULL, largest, COUNT(largest)));
    TRY(run(w, ENTER, b, NULL, enter, COUNT(enter)));
done:
    return st;
}

kry_status kry_narrow_leave(const kry_narrow *w, const kry_vec *b, kry_vec *x, kry_sum *sum)
{
    const cl_int sums = sum != NULL;
    const cl_mem to = sum ? sum->buffer : w->part; /* not read without sums */
    const kry_arg args[] = { ARG(x->n),  ARG(w->x->buffer), ARG(w->part), ARG_VEC(b),
                             ARG_VEC(x), ARG(sums),         ARG(to) };

    if (sum) sum->count = x->n ? (cl_int)kry_groups_for_sums(x->dev, KRY_F64, x->n) : 0;
    return run(w, LEAVE, b, x, args, COUNT(args));
}

/* Once for the largest number and one and a half to make b, then one and a half and b for x and the sums. */
double kry_narrow_bytes(const kry_narrow *w)
{
    enum { WORDS = 5 };
    return w->b ? WORDS * (double)w->b->n * sizeof(double) : 0;
}
