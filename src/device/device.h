/*
 * device.h - a device behind its public handle: its queue, its memory, its kernels' shape.
 */
#ifndef KRY_DEVICE_INTERNAL_H
#define KRY_DEVICE_INTERNAL_H

#include "device/layout.h"
#include <kry/opencl.h>

#define TRY_CL(call) TRY(kryi_cl_check((call), __func__, #call))

kry_status kryi_cl_check(cl_int err, const char *func, const char *call);
const char *kryi_cl_error_name(cl_int err);

/* ---- buffer.c ---- */

/* Buffers of one device, whatever its driver. Sizes and places are in bytes; of 0 bytes nothing is
 * moved; more than size_t holds is too large for any device. What is read or written `later` is so in the order of the device's queue, and its host
 * memory has to stay until then; the other functions wait. */
kry_status kryi_buffer_create(kry_device *dev, uint64_t bytes, cl_mem *buffer); /* touched */
void kryi_buffer_release(kry_device *dev, cl_mem *buffer);
/* A new buffer where the host fills it: *host, until it is unmapped. *buffer NULL: its memory is not the host's, or so few bytes
 * are as fast to write. */
kry_status kryi_buffer_create_mapped(kry_device *dev, size_t bytes, cl_mem *buffer, char **host);
kry_status kryi_buffer_unmap(kry_device *dev, cl_mem buffer, char **host); /* waits */
/* Create a buffer with these bytes in it; with room for one where there are none. */
kry_status kryi_buffer_upload(kry_device *dev, size_t bytes, const void *from, cl_mem *buffer);
kry_status kryi_buffer_write(kry_device *dev, cl_mem buffer, size_t at, size_t bytes,
                             const void *from);
kry_status kryi_buffer_write_later(kry_device *dev, cl_mem buffer, size_t at, size_t bytes,
                                   const void *from);
/* Bytes of the host on their way into a buffer. */
typedef struct kryi_transfer {
    cl_mem buffer;
    size_t at, bytes;
    const void *from;
} kryi_transfer;
kry_status kryi_buffer_read(kry_device *dev, cl_mem buffer, size_t at, size_t bytes, void *to);
/* Read from the beginning. ended: an event for kryi_event_wait, and the work so far is sent to the device. NULL: none. */
kry_status kryi_buffer_read_later(kry_device *dev, cl_mem buffer, size_t bytes, void *to,
                                  cl_event *ended);
kry_status kryi_buffer_copy(kry_device *dev, cl_mem from, size_t from_at, cl_mem to, size_t to_at,
                            size_t bytes); /* later */
kry_status kryi_buffer_retain(kry_device *dev, cl_mem buffer);
/* *bytes := the size of a buffer of the caller's; one of another context is refused in the name of `who`. */
kry_status kryi_buffer_size(const char *who, kry_device *dev, cl_mem buffer, size_t *bytes);
/* Wait for an event and release it; the caller's becomes NULL. */
kry_status kryi_event_wait(kry_device *dev, cl_event *event);
void kryi_event_release(kry_device *dev, cl_event *event);
/* Wait for all work on the way to releasing something: errors have been reported elsewhere. */
void kryi_device_drain(kry_device *dev);

/* pinned.c: host memory that a device reads and writes without waiting for it: of the driver's own, mapped. */
typedef struct kryi_pinned {
    cl_mem buffer;
    char *host;
    size_t bytes;
    bool over; /* memory of somebody else */
} kryi_pinned;
kry_status kryi_pinned_create(kry_device *dev, size_t bytes, kryi_pinned *pinned);
/* Pin memory that is there, from the beginning of a page on. It belongs to the caller, and stays until this is released. */
kry_status kryi_pinned_over(kry_device *dev, void *memory, size_t bytes, kryi_pinned *pinned);
void kryi_pinned_release(kry_device *dev, kryi_pinned *pinned); /* waits */

/* ---- tuning.c: results of measurements on a device, by name ---- */

/* They are kept in one small text file for each device and driver in the cache directory. Like the
 * cache, it only saves time: errors of reading and writing are ignored, and who asks for a value
 * checks it. */

/* Whether there is a value whose name starts so. */
bool kryi_tuning_has(kry_device *dev, const char *start);
bool kryi_tuning_get(kry_device *dev, const char *name, char *value, size_t size);
/* value: one line; name: no blanks. */
void kryi_tuning_set(kry_device *dev, const char *name, const char *value);
void kryi_tuning_release(kry_device *dev);

/* ---- device.c, profile.c ---- */

struct kryi_program; /* program.c */

/* launch.c: the shape that suits most devices; that of the tuning file, if it fits the device. */
kry_launch_shape kryi_shape_default(const kry_device *dev);
void kryi_shape_load(kry_device *dev);
/* Let a device run kernels as CPUs or as GPUs do, if its tuning file says so. Before kryi_shape_load. */
void kryi_kernels_load(kry_device *dev);
/* Take smaller groups where a GPU's kernels take none as large as the device does, which only a kernel tells. Other
 * kernels may take still smaller ones: kryi_shape_shrink. */
kry_status kryi_shape_fit(kry_device *dev);

struct kryi_kernel; /* program.h */
struct kryi_range;  /* launch.h */
struct kryi_wanted;

/* How a device works: through OpenCL (opencl.c), by kernels compiled with the library (src/host/), or as
 * several devices (src/team/), which has neither buffers nor kernels and leaves those entries NULL.
 * Errors are those of OpenCL. */
typedef struct kryi_driver {
    kry_status (*finish)(kry_device *dev);
    void (*release)(kry_device *dev); /* all that it has made */
    /* host: NULL, or where it is mapped, for memory that is pinned: of the driver, or *host where that is not NULL */
    cl_int (*create)(kry_device *dev, size_t bytes, cl_mem *buffer, char **host);
    cl_int (*unmap)(kry_device *dev, cl_mem buffer, char *host);
    cl_int (*retain)(cl_mem buffer);
    cl_int (*drop)(cl_mem buffer);
    cl_int (*size)(cl_mem buffer, size_t *bytes);
    cl_int (*owners)(cl_mem buffer, cl_uint *count); /* NULL: buffers go into no pool */
    cl_int (*read)(kry_device *dev, bool wait, cl_mem buffer, size_t at, size_t bytes, void *to,
                   cl_event *ended);
    /* ended: NULL, or an event of what is written later, which is sent to the device at once */
    cl_int (*write)(kry_device *dev, bool wait, const kryi_transfer *t, cl_event *ended);
    cl_int (*copy)(kry_device *dev, cl_mem from, size_t from_at, cl_mem to, size_t to_at,
                   size_t bytes);
    cl_int (*wait)(kry_device *dev, cl_event event); /* and release it; NULL: for all work */
    void (*drop_event)(cl_event event);
    /* Queues beside the device's own, which only OpenCL has; NULL elsewhere. */
    void (*drain_queue)(cl_command_queue queue);
    void (*drop_queue)(cl_command_queue queue);

    /* program := that part of the source, compiled; hash: of its text and the options */
    kry_status (*build)(kry_device *dev, const struct kryi_wanted *w, const char *source, int part,
                        cl_program *program, uint64_t *hash);
    kry_status (*kernel)(cl_program program, const struct kryi_wanted *w, const char *name,
                         cl_kernel *kernel);
    void (*drop_program)(cl_program program);
    void (*drop_kernel)(cl_kernel kernel);
    kry_status (*launch)(kry_device *dev, struct kryi_kernel *kernel,
                         const struct kryi_range *range, const kry_arg *args, size_t count);
} kryi_driver;
extern const kryi_driver kryi_opencl_driver;

struct kry_device {
    atomic_int refs;
    cl_context context;
    cl_device_id id;
    cl_command_queue queue;
    kry_device_info info;
    kryi_layout layout;
    /* Cache in memory, a list that only grows: it is read without a lock. */
    struct kryi_program *_Atomic programs;
    pthread_mutex_t making; /* held by the thread that adds to it */
    kry_launch_shape shape;
    char *tuning;           /* what the tuning file says; NULL: not read yet */
    atomic_uint generation; /* counts released buffers: see kryi_launch */
    /* Nanoseconds of compiling and programs compiled so far: see kry_device_compile_seconds. */
    _Atomic int64_t compile_ns;
    atomic_int compiled;
    kry_trace *trace;
    void *trace_user;
    const kryi_driver *driver;
    struct kryi_team
        *team;    /* of src/team/; NULL: a plain device. A team has neither context nor queue */
    bool in_team; /* it is a part of one */
    struct kryi_kept *_Atomic kept; /* what other modules keep here: kryi_device_keep */
    atomic_int reserved;            /* > 0: for the threads that work for it */
    kry_monitor monitor;            /* of all solves on it; NULL: none */
    void *monitor_user;             /* borrowed */
    struct kryi_host_pool *pool;    /* of a host device: the threads of its launches */
    kry_device *beside; /* retained: the device for whose solves a host device keeps the doubles;
                           NULL: none */
};

/* The device of src/host/, whose kernels were compiled with the library. */
static inline bool kryi_device_is_host(const kry_device *dev)
{
    return !dev->context && !dev->team;
}

/* Where copies of an operator in single precision go: beside a host device, to that device. */
static inline kry_device *kryi_device_for_copies(kry_device *dev)
{
    return dev->beside ? dev->beside : dev;
}

/* cl_error.c: whether this process was forked from one that had used OpenCL. Its driver has threads that are not
 * here, so any wait would last for ever; nothing of OpenCL is called any more. */
extern bool kryi_opencl_lost;
/* Begin to use OpenCL. Returns  KRY_ERR_DEVICE in such a process. */
kry_status kryi_opencl_begin(void);
static inline kry_status kryi_device_check_process(const kry_device *dev)
{
    return kryi_opencl_lost && !kryi_device_is_host(dev) ? kryi_opencl_begin() : KRY_OK;
}

/* The error of a call that uses a reserved device on a thread that does not work for it: what it would break
 * breaks at some other time and place. */
kry_status kryi_device_refuse(const kry_device *dev);
/* Whether the calling thread works for this device. */
bool kryi_device_works_for(const kry_device *dev);
static inline kry_status kryi_device_check_thread(const kry_device *dev)
{
    if (kryi_opencl_lost) return kryi_device_check_process(dev);
    return atomic_load(&dev->reserved) && !kryi_device_works_for(dev) ? kryi_device_refuse(dev)
                                                                      : KRY_OK;
}

/* What a module keeps with a device from call to call. The address of the keeper is the key. */
typedef struct kryi_keeper {
    size_t size;
    void (*release)(kry_device *dev,
                    void *kept); /* what it holds, when the device goes; NULL: nothing */
} kryi_keeper;
/* What is kept, zeroed when it is asked for first; and NULL if nobody has asked yet. */
kry_status kryi_device_keep(kry_device *dev, const kryi_keeper *keeper, void *address_of_kept);
void *kryi_device_kept(const kry_device *dev, const kryi_keeper *keeper);
/* Release all that modules keep; between two calls, and they will make it again. */
void kryi_device_forget(kry_device *dev);
/* A device without anything of its own yet, held once. */
kry_status kryi_device_new(const kryi_driver *driver, kry_device **device);

kry_status kryi_profile_query(cl_device_id id, kry_device_info *info);
/* The sentence of kry_device_info for a platform and a driver with these names. */
const char *kryi_driver_faults(const char *platform, const char *driver);
/* order.c: see that sums on a reproducible device are added as they are written. If the compiler changes
 * their order, kernels are built without optimisation from now on (layout.unoptimised).
 * Returns  KRY_ERR_UNSUPPORTED if that does not help. */
kry_status kryi_order_check(kry_device *dev);
/* The kind of devices that a name begins with, "gpu", "cpu:1", "accelerator:all"; *number: which of its kind,
 * KRY_ALL_OF_KIND for all of them. NULL: the name is something else. */
enum { KRY_ALL_OF_KIND = -1 };
const char *kryi_device_kind(const char *spec, int *number);
/* Find one device of OpenCL by its name, as kry_device_open says; and open what was found. */
kry_status kryi_device_find(const char *spec, cl_device_id *id);
/* *id := the first GPU; NULL: there is none, or no OpenCL. */
kry_status kryi_device_find_gpu(cl_device_id *id);
kry_status kryi_device_open_id(cl_device_id id, bool times, kry_device **device);

#endif
