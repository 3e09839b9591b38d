/* host.h - the host as a device, without OpenCL: its kernels are compiled with the library (compiled.c), unless the build option
 * host_kernels says "none". */
#ifndef KRY_HOST_H
#define KRY_HOST_H

#include "device/launch.h"

/* Open it. It needs no OpenCL, and without kernels it keeps and copies numbers all the same. */
kry_status kryi_host_open(kry_device **device);
/* Open one for what stays on the host in double while solves in single run on `beside`. */
kry_status kryi_host_beside(kry_device *beside, kry_device **device);
/* Returns  KRY_ERR_UNSUPPORTED if the library has no kernels for the host, or for newer processors only. */
kry_status kryi_host_check_kernels(void);
/* Let the launches of a host device run on `threads` threads of its own, because other host devices launch at the same time; and on
 * the threads again that all host devices have in common. */
kry_status kryi_host_take_threads(kry_device *dev, int threads);
void kryi_host_share_threads(kry_device *dev);

/* A buffer of this device is the memory itself. */
static inline void *kryi_host_memory(cl_mem buffer) { return buffer; }

/* ---- compiled.c ---- */

/* info gets `version` and `compute_units`. */
void kryi_host_kernels_describe(kry_device_info *info);
/* *kernel := the kernel of a program, to be freed.
 * Returns  KRY_ERR_UNSUPPORTED if there is none. */
kry_status kryi_host_kernel(const kryi_wanted *w, const char *name, cl_kernel *kernel);
kry_status kryi_host_launch(kry_device *dev, kryi_kernel *kernel, const kryi_range *range,
                            const kry_arg *args, size_t count);

#endif
