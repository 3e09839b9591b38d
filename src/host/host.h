/* host.h - the host as a device, without OpenCL: its kernels are compiled with the library (compiled.c), or C functions stand for some of them
 * (functions.c), as the build option host_kernels says. */
#ifndef KRY_HOST_H
#define KRY_HOST_H

#include "device/launch.h"

/* Open it. It needs no OpenCL.
 * Returns  KRY_ERR_DEVICE if the library was compiled for a newer processor. */
kry_status kry_host_open(kry_device **device);
/* Open one for what stays on the host in double while solves in single run on `beside`. */
kry_status kry_host_beside(kry_device *beside, kry_device **device);

/* A buffer of this device is the memory itself. */
static inline void *kry_host_memory(cl_mem buffer) { return buffer; }

/* ---- compiled.c or functions.c ---- */

/* Whether the device has kernels for part of what others do. */
extern const bool kry_host_has_few_kernels;
/* Begin to use the kernels, for one more device; info gets `version` and `compute_units`. */
kry_status kry_host_kernels_open(kry_device_info *info);
void kry_host_kernels_close(void);
/* *kernel := the kernel of a program, to be freed.
 * Returns  KRY_ERR_UNSUPPORTED if there is none. */
kry_status kry_host_kernel(const kry_wanted *w, const char *name, cl_kernel *kernel);
kry_status kry_host_launch(kry_kernel *kernel, const kry_range *range, const kry_arg *args,
                           size_t count);

#endif
