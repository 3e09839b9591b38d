/*
 * device.h - a device with its queue, its profile and its compiled programs: one of OpenCL, or the host.
 */
#ifndef KRY_DEVICE_H
#define KRY_DEVICE_H

#include <kry/status.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kry_device kry_device;

/* The facts of a device, asked once, at the start. Strings live as long as the device. */
typedef struct kry_device_info {
    char name[128], vendor[128], version[128], driver[64]; /* CL_DEVICE_NAME, ... */
    char platform[128];
    const char *kind; /* "gpu", "cpu", "accelerator" or "host" */
    bool gpu;         /* CL_DEVICE_TYPE_GPU */
    bool fp64;        /* cl_khr_fp64: double vectors, and double sums of single ones */
    bool images, image3d_writes;
    bool cpu_kernels; /* one work-item per group and contiguous chunks instead of
                                 wide groups and strides; true on CPUs */
    int compute_units;
    int lanes;     /* work-items that run in lockstep: 32 on NVIDIA, 1 on CPUs */
    int max_group; /* work-items per group, at most */
    int64_t local_bytes, max_alloc_bytes, global_bytes;
    int opencl; /* 110, 120, 200, 300: the device's OpenCL version */
    /* A sentence: what this driver is known to do wrong that kry cannot prevent (docs/devices.md); NULL: nothing. */
    const char *driver_faults;
} kry_device_info;

/*
 * Open a device.
 *
 *   spec    "gpu", "cpu", "accelerator", "gpu:1" (the second GPU), or a part of a device's or
 *           platform's name in any case; "host": the processor with kernels that were compiled with the
 *           library, for which no OpenCL is needed (docs/devices.md); "opencl": the first GPU, else the
 *           first device of OpenCL; NULL: the environment variable KRY_DEVICE, and without that the
 *           first GPU, else the host, else the first device of OpenCL
 *
 * Several as one (team.h): "gpu:0+gpu:1", "gpu:all" (or "cpu:all", "accelerator:all"), "cpu/2" (a CPU cut in
 * two), "host/2", "host+gpu:0"; with options behind commas: "gpu:all,use-all,graph,reproducible", see kry_team_params.
 * "gpu,reproducible" is one device with that device option: the same bits whatever its launches were tuned to and on any number of devices
 * (docs/precision.md says of what, and its price).
 *
 * A device may be used by many threads at once, each with vectors and operators of its own
 * (docs/devices.md). A child of fork() cannot use the devices of its parent, but may open "host".
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
/*
 * kry_device_open, but with queues that keep the times of kernels and transfers, as kry_device_set_trace (opencl.h) wants them;
 * of a team those of all its devices. That costs some microseconds for each launch. The host device keeps no times, and is
 * opened as it is.
 */
KRY_API KRY_MUST_CHECK kry_status kry_device_open_timed(const char *spec, kry_device **device);

/* kry_device_list for entries of as many bytes; kry.h says who calls it. */
KRY_API KRY_MUST_CHECK kry_status kry_device_list_sized(kry_device_info **info, int *count,
                                                        size_t info_size);
/* The profiles of all OpenCL devices there are, in the order "gpu:0", "gpu:1", ...: GPUs, then the
 * others. A device that does not answer is left out.
 *   info   [out]  array of *count entries, to be freed with free(); NULL when there are none
 * Returns  KRY_ERR_DEVICE when there is no OpenCL platform, or no device that answers. */
KRY_MUST_CHECK static inline kry_status kry_device_list(kry_device_info **info, int *count)
{
    return kry_device_list_sized(info, count, sizeof **info);
}

KRY_API kry_device *kry_device_retain(kry_device *device);
KRY_API void kry_device_release(kry_device **device);
KRY_API const kry_device_info *kry_device_get_info(const kry_device *device); /* borrowed */

/*
 * Reserve a device for the threads that work for it: until kry_device_unreserve has been called as often as this, other threads'
 * calls that use the device are refused (KRY_ERR_ARGUMENT) where kry can tell. Any thread may call both, at any time.
 *
 * Returns  KRY_ERR_DEVICE for a device of OpenCL in a child of fork()
 */
KRY_API KRY_MUST_CHECK kry_status kry_device_reserve(kry_device *device);
KRY_API void kry_device_unreserve(kry_device *device);
/* Let the calling thread work for `device`, and no longer for another one: it may use the device while that is
 * reserved. NULL: for none. */
KRY_API void kry_device_work_for(const kry_device *device);

/* Wait until all enqueued work is done, and report what went wrong in it. */
KRY_API KRY_MUST_CHECK kry_status kry_device_finish(kry_device *device);
/*
 * How long this device has compiled kernels, or loaded compiled ones, since it was opened. Most of that is spent once on a
 * machine: what was compiled is kept on disk. kry_result has the share of a solver and its solves.
 *
 *   programs  [out]  how many programs the driver was given as source; PoCL, which keeps by itself what it has compiled, gets all
 *                    of them so. NULL: not asked for
 *
 * Returns  seconds; of a team those of the device that took longest. 0 for NULL.
 */
KRY_API double kry_device_compile_seconds(const kry_device *device, int64_t *programs);

/* ---- tuning: what `kry tune` finds, and keeps for later runs (docs/devices.md) -------- */

/* How kernels are launched. It decides the order of sums, and with it their last bits. */
typedef struct kry_launch_shape {
    int group;    /* work-items per group, a power of two; 1 with cpu_kernels */
    int per_unit; /* without cpu_kernels: groups to a compute unit in launches that leave sums */
    int chunks;   /* with cpu_kernels: groups in all */
} kry_launch_shape;

KRY_API kry_launch_shape kry_device_launch_shape(const kry_device *device);
/*
 * Launch kernels in this shape from now on. Call it before anything is made on the device, for
 * kernels are compiled for one size of groups.
 *
 *   shape   NULL: what suits most devices of this kind
 *
 * Returns  KRY_ERR_ARGUMENT for a shape that the device cannot launch; KRY_ERR_UNSUPPORTED for
 *          several devices (team.h).
 */
KRY_API KRY_MUST_CHECK kry_status kry_device_set_launch_shape(kry_device *device,
                                                              const kry_launch_shape *shape);

/* Write the launch shape, and the bytes per second of y := x (0: not measured), to the device's
 * tuning file. Like the cache of kernels it only saves time: if it cannot be written, nothing is. */
KRY_API void kry_tuning_keep(kry_device *device, double copy_bandwidth);
/* Write there how devices like this one are to run kernels when they are opened from now on: with `cpu_kernels`
 * of kry_device_info or without, unless KRY_PROFILE says it. For a device that was opened the way its
 * type says. */
KRY_API void kry_tuning_keep_kernels(kry_device *device, bool cpu_kernels);
/* The path of that file, written into `path`, which it returns; "" if nothing is kept: see KRY_CACHE_DIR in
 * docs/devices.md. */
KRY_API const char *kry_tuning_path(kry_device *device, char *path, size_t size);
/* Call `line` for each entry of the file; `line` must not ask for others. */
KRY_API void kry_tuning_each(kry_device *device,
                             void (*line)(const char *name, const char *value, void *user),
                             void *user);

#ifdef __cplusplus
}
#endif
#endif
