/* functions.h - C functions in place of kernels, and what they take their arguments with. */
#ifndef KRY_HOST_FUNCTIONS_H
#define KRY_HOST_FUNCTIONS_H

#include "host/host.h"

/* A launch hands this to a C function: the arguments of the kernel of that name, in their order. The
 * functions below take one after another. All sums are left by one group, in part[0]. */
typedef struct kry_host_args {
    const kry_arg *next;
    const char *defines;
    int64_t columns; /* that it is launched for */
} kry_host_args;
typedef struct kry_host_function {
    const char *stem, *name;
    void (*run)(kry_host_args *a);
} kry_host_function;

/* Templates, once for each number type; `name` NULL ends a table. */
extern const kry_host_function kry_host_single[], kry_host_double[];

static inline int64_t take_int(kry_host_args *a)
{
    const kry_arg *arg = a->next++;
    return arg->size == sizeof(cl_int) ? *(const cl_int *)arg->value : *(const int64_t *)arg->value;
}

static inline double take_number(kry_host_args *a) { return *(const double *)a->next++->value; }

static inline void *take_buffer(kry_host_args *a) { return *(void *const *)a->next++->value; }

/* The number of a define "-Dname=5", 1 of "-Dname" or "-Dname=word", 0 if it is not there. */
int kry_host_define(const kry_host_args *a, const char *name);

/* ---- scalars.c: what kernels do before their loops ---- */

/* A sum that an earlier launch left behind, the arguments part, count; and a pair of them. */
double kry_host_take_sum(kry_host_args *a);
void kry_host_take_pair(kry_host_args *a, double sum[2]);
/* begin_direction of cl/common/direction.clh: beta, and the reason to stop or GO_ON. */
int kry_host_begin_direction(kry_host_args *a, double *beta);

typedef struct kry_host_step {
    double alpha, by_p, by_z, by_old; /* x += by_p p + by_z z + by_old old p */
    int stop;
    bool adds; /* x gets its share in this step */
    double drift,
        *drift_out; /* the mean of r that goes out of it; where to leave its sum, or NULL */
} kry_host_step;
/* begin_step of cl/common/direction.clh, and the arguments of DRIFT where the kernel has them. */
kry_host_step kry_host_begin_step(kry_host_args *a);

#endif
