/*
 * launch.h - launching kernels.
 */
#ifndef KRY_LAUNCH_H
#define KRY_LAUNCH_H

#include "device/program.h"

#define ARG(x) KRY_ARG(x)
/* Two arguments: the buffer of a vector or a block, and the element of it at which the numbers begin. */
#define ARG_VEC(v) ARG((v)->buffer), ARG((v)->first)
/* Two arguments: the partial sums of a launch, and how many there are. */
#define ARG_SUM(sum) ARG((sum)->buffer), ARG((sum)->count)
/* The last two parameters of the functions below: the arguments of the kernel in its order, and their number. */
#define ARGS(...) \
    (const kry_arg[]){ __VA_ARGS__ }, sizeof((const kry_arg[]){ __VA_ARGS__ }) / sizeof(kry_arg)

/* The work-groups of a launch. */
typedef struct kryi_range {
    int64_t groups;  /* for each column, which is get_group_id(1) in the kernel */
    int64_t columns; /* 0: one */
    int size;        /* work-items of a group; 0: as many as the profile says */
} kryi_range;
kry_status kryi_launch_range(kry_device *dev, kryi_kernel *kernel, kryi_range range,
                             const kry_arg *args, size_t count);
/* One column, groups of the profile's size. */
kry_status kryi_launch(kry_device *dev, kryi_kernel *kernel, int64_t groups, const kry_arg *args,
                       size_t count);
/* kryi_kernel_get and kryi_launch, for kernels that are not kept by the caller. */
kry_status kryi_run(kry_device *dev, const char *stem, kry_type type, const char *defines,
                    const char *name, int64_t groups, const kry_arg *args, size_t count);

/* The type ACC of kernels: double where the device has it. */
kry_type kryi_acc_type(const kry_device *dev);
size_t kryi_acc_size(const kry_device *dev);
/* A scalar argument of type ACC. */
typedef union kryi_scalar {
    double f64;
    float f32;
} kryi_scalar;
kryi_scalar kryi_scalar_of(const kry_device *dev, double value);
#define ARG_ACC(dev, s)          \
    {                            \
        kryi_acc_size(dev), &(s) \
    }

int kryi_group_size(const kry_device *dev);                  /* work-items per group */
int kryi_vector_width(const kry_device *dev, kry_type type); /* VW: numbers per load */
enum { KRY_SUM_CAPACITY = 8192 };                            /* partial sums of a launch */
/* GPUs: groups that fit on the device at once, `per_unit` to a compute unit; no more than leave room in
 * a sum for another launch's. */
int64_t kryi_groups_at_once(const kry_device *dev, int per_unit);
/* Groups for n numbers: of a launch that leaves partial sums or reads them, and of any other. */
int64_t kryi_groups_for_sums(const kry_device *dev, kry_type type, int64_t n);
int64_t kryi_groups_for(const kry_device *dev, kry_type type, int64_t n);
/* `groups`, or as many as a launch may have if these are fewer: for kernels that loop over the rest. */
int64_t kryi_groups_at_most(const kry_device *dev, int64_t groups);
/* Returns  KRY_ERR_UNSUPPORTED if a kernel does not take groups of that size: its registers may
 * not allow them. */
kry_status kryi_kernel_check_size(kry_device *dev, kryi_kernel *kernel, int size);
/* For a kernel whose launch in groups of `size` was refused. If it takes smaller ones, the device has them from the
 * next time on that it is opened, and this is KRY_ERR_UNSUPPORTED; else KRY_OK, and nothing is done. */
kry_status kryi_shape_shrink(kry_device *dev, const kryi_kernel *kernel, int size);
/* Whether a GPU has too few registers for a kernel: work-items keep numbers in memory instead, so many that
 * smaller tiles are faster. */
bool kryi_kernel_spills(kry_device *dev, kryi_kernel *kernel);
/* The option, after a space, with which NVIDIA's compiler leaves room for `items` work-items at once on a multiprocessor; ""
 * where the compiler is another one, or each of them had few registers. */
void kryi_room_option(const kry_device *dev, int items, char text[32]);
/* kryi_kernel_get, and once more with -DFEW_REGISTERS if that kernel spills. */
kry_status kryi_kernel_get_fitting(kry_device *dev, const char *stem, kry_type type,
                                   const char *defines, const char *name, kryi_kernel **kernel);

#endif
