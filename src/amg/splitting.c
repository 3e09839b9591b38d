/* splitting.c - strong couplings and independent sets of classical coarsening. Kernels:
 * cl/amg/splitting.cl. */
#include "amg/classical.h"
#include "device/launch.h"
#include <stdlib.h>

void kryi_splitting_forget_lists(kryi_splitting *s)
{
    for (; s->count > 0; s->count--) kryi_buffer_release(s->dev, &s->lists[s->count - 1].todo);
}

void kryi_splitting_release(kryi_splitting *s)
{
    kryi_splitting_forget_lists(s);
    kryi_buffer_release(s->dev, &s->near_ptr);
    kryi_buffer_release(s->dev, &s->number);
    kryi_buffer_release(s->dev, &s->strong);
    *s = (kryi_splitting){ 0 };
}

static kry_status run(const kryi_device_csr *A, const char *name, const kry_arg *args, size_t count)
{
    const int64_t groups = kryi_groups_for(A->dev, KRY_F32, 4 * A->rows); /* a row a work-item */
    return kryi_run(A->dev, "splitting", A->type, "", name, groups, args, count);
}

/* What is needed until the points are numbered. */
typedef struct points {
    cl_mem least, state, beaten, left;
} points;

static kry_status points_create(const kryi_device_csr *A, points *p)
{
    kry_status st = KRY_OK;
    kry_device *dev = A->dev;

    TRY(kryi_buffer_create(dev, (uint64_t)A->rows * kryi_acc_size(dev), &p->least));
    TRY(kryi_ints_create(dev, A->rows, &p->state));
    TRY(kryi_ints_create(dev, A->rows, &p->beaten));
    TRY(kryi_ints_create(dev, 1, &p->left));
done:
    return st;
}

static kry_status find_strong(const kryi_device_csr *A, double theta, const kryi_splitting *s,
                              const points *p)
{
    kry_status st = KRY_OK;
    const cl_int n = (cl_int)A->rows;
    const kryi_scalar at_least = kryi_scalar_of(A->dev, theta);

    const kry_arg least[] = { ARG(n),          ARG_ACC(A->dev, at_least),
                              ARG(A->row_ptr), ARG(A->col),
                              ARG(A->val),     ARG(p->least) };
    TRY(run(A, "splitting_least", least, COUNT(least)));
    const kry_arg strong[] = { ARG(n),        ARG(A->row_ptr), ARG(A->col),   ARG(A->val),
                               ARG(p->least), ARG(s->strong),  ARG(p->state), ARG(p->beaten) };
    TRY(run(A, "splitting_strong", strong, COUNT(strong)));
done:
    return st;
}

/* Rounds until no point is open; the device is asked after some of them, in which most are decided. */
static kry_status find_points(const kryi_device_csr *A, const kryi_splitting *s, const points *p)
{
    enum { AT_ONCE = 4 };
    kry_status st = KRY_OK;
    const cl_int n = (cl_int)A->rows;
    cl_int left = 1;

    for (cl_int round = 1; left; round++) {
        const kry_arg beat[] = { ARG(n),         ARG(round),    ARG(A->row_ptr), ARG(A->col),
                                 ARG(s->strong), ARG(p->state), ARG(p->beaten),  ARG(p->left) };
        TRY(run(A, "splitting_beat", beat, COUNT(beat)));
        TRY(run(A, "splitting_decide", beat, COUNT(beat)));
        if (round % AT_ONCE == 0) TRY(kryi_buffer_read(A->dev, p->left, 0, sizeof left, &left));
    }
done:
    return st;
}

/* Numbers of C points, and how many couplings to them the other rows have. Takes the place of p->least and
 * p->beaten. */
static kry_status number_points(const kryi_device_csr *A, const points *p, kryi_splitting *s)
{
    kry_status st = KRY_OK;
    const cl_int n = (cl_int)A->rows, most = KRY_INTERPOLATE_LONG;
    const cl_mem is_c = p->least, near = p->beaten;

    const kry_arg count[] = { ARG(n),         ARG(most),     ARG(A->row_ptr), ARG(A->col),
                              ARG(s->strong), ARG(p->state), ARG(is_c),       ARG(near) };
    TRY(run(A, "splitting_count", count, COUNT(count)));
    TRY(kryi_device_csr_offsets(A->dev, A->rows, is_c, &s->number, &s->coarse));
    TRY(kryi_device_csr_offsets(A->dev, A->rows, near, &s->near_ptr, &s->near));
    const kry_arg number[] = { ARG(n), ARG(p->state), ARG(s->number) };
    TRY(run(A, "splitting_number", number, COUNT(number)));
done:
    return st;
}

kry_status kryi_splitting_create(const kryi_device_csr *A, double theta, kryi_splitting *s)
{
    kry_status st = KRY_OK;
    points p = { 0 };

    *s = (kryi_splitting){ .dev = A->dev };
    TRY(kryi_ints_create(A->dev, A->nnz / 32 + A->rows, &s->strong));
    TRY(points_create(A, &p));
    TRY(find_strong(A, theta, s, &p));
    TRY(find_points(A, s, &p));
    TRY(number_points(A, &p, s));
done:
    kryi_buffer_release(A->dev, &p.left);
    kryi_buffer_release(A->dev, &p.beaten);
    kryi_buffer_release(A->dev, &p.state);
    kryi_buffer_release(A->dev, &p.least);
    if (st < 0) kryi_splitting_release(s);
    return st;
}

kry_status kryi_splitting_signs(const kryi_device_csr *A, double *positive, double *negative)
{
    kry_status st = KRY_OK;
    kry_device *dev = A->dev;
    const cl_int n = (cl_int)A->rows;
    const int64_t groups = kryi_groups_for_sums(dev, KRY_F32, 4 * A->rows);
    const kry_type type = kryi_acc_type(dev);
    const size_t bytes = 2 * (size_t)groups * kry_type_size(type);
    cl_mem part = NULL;
    void *sums = NULL;

    *positive = *negative = 0;
    TRY(kryi_buffer_create(dev, bytes, &part));
    TRY(kryi_alloc(bytes, 1, &sums));
    const kry_arg args[] = { ARG(n), ARG(A->row_ptr), ARG(A->col), ARG(A->val), ARG(part) };
    TRY(kryi_run(dev, "splitting", A->type, "", "splitting_signs", groups, args, COUNT(args)));
    TRY(kryi_buffer_read(dev, part, 0, bytes, sums));
    for (int64_t g = 0; g < groups; g++) {
        *positive += kryi_number_at(type, sums, 2 * g);
        *negative += kryi_number_at(type, sums, 2 * g + 1);
    }
done:
    free(sums);
    kryi_buffer_release(dev, &part);
    return st;
}
