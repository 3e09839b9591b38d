/*
 * device.h - an OpenCL device with its queue, its profile and its compiled programs.
 */
#ifndef KRY_DEVICE_H
#define KRY_DEVICE_H

#include <kry/status.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kry_device kry_device;

/* What kry asked the device once, at the start. Strings live as long as the device. */
typedef struct kry_device_info {
    char name[128], vendor[128], version[128], driver[64]; /* CL_DEVICE_NAME, ... */
    char platform[128];
    bool gpu;  /* CL_DEVICE_TYPE_GPU */
    bool fp64; /* cl_khr_fp64: double vectors, and double sums of single ones */
    bool images, image3d_writes;
    bool cpu_kernels; /* one work-item per group and contiguous chunks instead of
                                 wide groups and strides; true on CPUs */
    int compute_units;
    int lanes;     /* work-items that run in lockstep: 32 on NVIDIA, 1 on CPUs */
    int max_group; /* work-items per group, at most */
    int64_t local_bytes, max_alloc_bytes, global_bytes;
    int opencl; /* 110, 120, 200, 300: the device's OpenCL version */
} kry_device_info;

/*
 * Open a device.
 *
 *   spec    "gpu", "cpu", "gpu:1" (the second GPU), or a part of a device's or platform's
 *           name in any case; NULL: the environment variable KRY_DEVICE, and without that the
 *           first GPU, else the first device of any kind
 *
 * Several as one (team.h): "gpu:0+gpu:1", "gpu:all", "cpu/2" (a CPU cut in two); with options behind
 * commas: "gpu:all,use-all,graph,reproducible", see kry_team_params. "gpu,reproducible" is one device with
 * that device option: the same bits whatever its launches were tuned to and on any number of devices
 * (docs/reproducibility.md says of what, and its price).
 *
 * A device may be used by many threads at once, each with vectors and operators of its own
 * (docs/threads.md).
 *
 * KRY_PROFILE, a list of words, makes the device look like a smaller one, for tests and
 * questions: "no-fp64", "no-images", "gpu-kernels", "cpu-kernels", "local=16384", "group=512",
 * "opencl=1.1".
 *
 * Returns  KRY_ERR_ARGUMENT if nothing matches (the message lists what there is) or
 *          KRY_PROFILE is misspelt; KRY_ERR_UNSUPPORTED for "reproducible" where groups have less
 *          than 128 work-items; KRY_ERR_DEVICE if there is no OpenCL platform or OpenCL
 *          refuses; KRY_ERR_MEMORY.
 */
KRY_API KRY_MUST_CHECK kry_status kry_device_open(const char *spec, kry_device **device);

/* The profiles of all devices there are, in the order "gpu:0", "gpu:1", ... count.
 *   info   [out]  array of *count entries, to be freed with free(); NULL when there are none
 * Returns  KRY_ERR_DEVICE when there is no OpenCL platform. */
KRY_API KRY_MUST_CHECK kry_status kry_device_list(kry_device_info **info, int *count);

KRY_API kry_device *kry_device_retain(kry_device *device);
KRY_API void kry_device_release(kry_device **device);
KRY_API const kry_device_info *kry_device_get_info(const kry_device *device); /* borrowed */

/* Wait until all enqueued work is done, and report what went wrong in it. Waits. */
KRY_API KRY_MUST_CHECK kry_status kry_device_finish(kry_device *device);

#ifdef __cplusplus
}
#endif
#endif
