/*
 * launch.h - how the toolbox's own kernels are started; for the queue's thread alone.
 */
#ifndef LAUNCH_H
#define LAUNCH_H

#include "kry_mex.h"
#include <kry/opencl.h>

enum kernel_name { ELEMENTS, PICK, PUT, REDUCE, FINISH, CONVERT, KERNEL_COUNT };

typedef struct arg {
    size_t size;
    const void *value;
} arg;
#define ARG(x)          \
    {                   \
        sizeof(x), &(x) \
    }

/* An ACC, as the device has it. */
typedef union acc {
    double f64;
    float f32;
} acc;

/* Wait until all but the last few tasks have been computed; at the start of a task. */
kry_status keep_pace(void);
/* The kernel for numbers of this type, compiled when it is first needed. Borrowed. */
kry_status kernel_get(enum kernel_name which, kry_type type, cl_kernel *kernel);
/* Start it with one work-item for each item, or fewer that stride. */
kry_status launch(cl_kernel kernel, int64_t items, const arg *args, size_t count);
arg acc_arg(double number, acc *room);
/* The buffer of a vector, and where in it the vector begins; refused where there is no
 * OpenCL buffer. */
kry_status buffer_of(const kry_vec *x, cl_mem *buffer, cl_long *first);

#endif
