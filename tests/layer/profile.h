/* profile.h - a device that is made up: what it claims, in the units of OpenCL. */
#ifndef KRY_LAYER_PROFILE_H
#define KRY_LAYER_PROFILE_H

#include "layer.h"
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef struct profile {
    const char *word; /* in KRY_LAYER_DEVICE */
    const char *name, *vendor, *driver, *platform, *version, *language, *extensions;
    cl_device_type type; /* 0: CL_DEVICE_TYPE_GPU */
    int opencl;          /* 11: 1.1 */
    cl_bool fp64, images, image3d_writes, unified;
    cl_uint units, lanes, major, minor, registers; /* lanes 0: no such query */
    size_t group, items[3];
    size_t kernel_group; /* the most that CL_KERNEL_WORK_GROUP_SIZE says; 0: as many as `group` */
    const char *limited; /* the one kernel that it says so of; NULL: all */
    size_t groups;       /* the most in one dimension; cannot be asked for */
    cl_ulong local, constant, global, largest;
    size_t arguments, pointer; /* bytes of all arguments of a kernel; of one that is a buffer */
    bool arguments_in_local;   /* they take up local memory */
    size_t image2d[2], image3d[3];
    /* The compiler knows image functions only with -D__opencl_c_images=1, as PoCL 7's; it changes the order
     * of sums unless it is not to optimise, as Intel's. */
    bool hides_images, reorders_sums;
    /* Registers are few, as before compute capability 3.5, and what they spill is told as Intel's driver does. */
    bool spills;
    /* It takes launches, and only their events say that they failed, as with PoCL 7. */
    bool runs_nothing;
} profile;

/* Work-items to a group of a kernel, at most. */
size_t layer_largest_group(cl_kernel k);

extern const profile *device; /* the one that is chosen; NULL: the device is what it is */

#endif
