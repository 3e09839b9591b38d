/* device.c - finding, opening, wrapping and releasing a device. */
#include "device/launch.h"
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_DEVICES = 64 };

typedef struct found {
    cl_device_id id[MAX_DEVICES];
    kry_device_info info[MAX_DEVICES];
    int count;
} found;

/* Append the device, or else every device but a GPU, if it answers. */
static kry_status add_found(found *f, cl_device_id id, bool gpus)
{
    kry_device_info *info = &f->info[f->count];
    kry_status st = kryi_profile_query(id, info);
    if (st == KRY_OK && (gpus || !info->gpu)) f->id[f->count++] = id;
    return st;
}

static bool contains(const char *text, const char *part)
{
    const size_t n = strlen(part);
    for (; *text; text++)
        if (!strncasecmp(text, part, n)) return true;
    return n == 0;
}

const char *kryi_device_kind(const char *spec, int *number)
{
    static const char *const kinds[] = { "gpu", "cpu", "accelerator" };
    char extra;
    *number = 0;
    for (size_t k = 0; k < COUNT(kinds); k++) {
        const size_t length = strlen(kinds[k]);
        if (strncasecmp(spec, kinds[k], length)) continue;
        if (!spec[length]) return kinds[k];
        if (!strcasecmp(spec + length, ":all")) {
            *number = KRY_ALL_OF_KIND;
            return kinds[k];
        }
        if (sscanf(spec + length, ":%d%c", number, &extra) == 1 && *number >= 0) return kinds[k];
    }
    return NULL;
}

static int select_device(const found *f, const char *spec)
{
    int number;
    if (!strcasecmp(spec, "opencl")) return 0;
    const char *kind = kryi_device_kind(spec, &number);
    if (kind && number != KRY_ALL_OF_KIND) {
        for (int i = 0; i < f->count; i++)
            if (!strcmp(f->info[i].kind, kind) && number-- == 0) return i;
        return -1;
    }
    for (int i = 0; i < f->count; i++)
        if (contains(f->info[i].name, spec) || contains(f->info[i].platform, spec)) return i;
    return -1;
}

/* All devices of all platforms that answer, GPUs first, each kind in the loader's order; or `at` not NULL, no more of
 * them than it takes to find the one of that name, number *at. */
static kry_status find_devices(found *f, const char *spec, int *at)
{
    kry_status st = KRY_OK, asked, silent = KRY_OK;
    cl_platform_id platform[16];
    cl_uint platforms = 0, count;
    cl_device_id id[MAX_DEVICES];
    static const cl_device_type kinds[] = { CL_DEVICE_TYPE_GPU, CL_DEVICE_TYPE_ALL };
    cl_int reason = CL_DEVICE_NOT_FOUND;

    f->count = 0;
    TRY(kryi_opencl_begin());
    cl_int err = clGetPlatformIDs(COUNT(platform), platform, &platforms);
    CHECK(err == CL_SUCCESS && platforms > 0, KRY_ERR_DEVICE,
          "no OpenCL platform: install a driver's ICD, or pocl-opencl-icd for the CPU, or open "
          "'host', which needs none");
    if (platforms > COUNT(platform)) platforms = COUNT(platform);
    for (size_t k = 0; k < COUNT(kinds); k++)
        for (cl_uint p = 0; p < platforms; p++) {
            err = clGetDeviceIDs(platform[p], kinds[k], MAX_DEVICES, id, &count);
            if (err && err != CL_DEVICE_NOT_FOUND) reason = err;
            if (err) continue;
            for (cl_uint i = 0; i < count && i < MAX_DEVICES && f->count < MAX_DEVICES; i++) {
                if ((asked = add_found(f, id[i], k == 0)) < 0) silent = asked;
                /* KRY_PROFILE and memory are the same for all. */
                if (asked == KRY_ERR_ARGUMENT || asked == KRY_ERR_MEMORY) TRY(asked);
            }
            if (at && f->count && (*at = select_device(f, spec)) >= 0) goto done;
        }
    if (f->count == 0) TRY(silent);
    CHECK(f->count > 0, KRY_ERR_DEVICE, "no OpenCL device on any of the %u platforms: %s",
          platforms, kryi_cl_error_name(reason));
done:
    return st;
}

/* How many of its kind come before it. */
static int number_of(const found *f, int at)
{
    int number = 0;
    for (int i = 0; i < at; i++) number += !strcmp(f->info[i].kind, f->info[at].kind);
    return number;
}

static void list_names(const found *f, char *text, size_t size)
{
    size_t at = 0;
    text[0] = 0;
    for (int i = 0; i < f->count && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%s:%d '%s' (%s)", i ? ", " : "",
                               f->info[i].kind, number_of(f, i), f->info[i].name,
                               f->info[i].platform);
}

kry_status kryi_device_find(const char *spec, cl_device_id *id)
{
    kry_status st = KRY_OK;
    found *f = NULL;
    char names[1024];
    int at = -1;

    TRY(kryi_alloc(1, sizeof *f, &f));
    TRY(find_devices(f, spec, &at));
    list_names(f, names, sizeof names);
    CHECK(at >= 0, KRY_ERR_ARGUMENT, "kry_device_open: no device matches '%s'; there is %s, host",
          spec, names);
    *id = f->id[at];
done:
    free(f);
    return st;
}

kry_status kryi_device_find_gpu(cl_device_id *id)
{
    kry_status st = KRY_OK;
    found *f = NULL;
    int at = -1;

    *id = NULL;
    TRY(kryi_alloc(1, sizeof *f, &f));
    st = find_devices(f, "gpu", &at);
    if (st == KRY_ERR_DEVICE) st = KRY_OK;
    TRY(st);
    if (at >= 0) *id = f->id[at];
done:
    free(f);
    return st;
}

kry_status kryi_device_open_id(cl_device_id id, bool times, kry_device **device)
{
    kry_status st = KRY_OK;
    cl_command_queue queue = NULL;
    cl_int err;

    *device = NULL;
    cl_context context = clCreateContext(NULL, 1, &id, NULL, NULL, &err);
    TRY(kryi_cl_check(err, "kry_device_open", "clCreateContext"));
    queue = clCreateCommandQueue(context, id, times ? CL_QUEUE_PROFILING_ENABLE : 0, &err);
    TRY(kryi_cl_check(err, "kry_device_open", "clCreateCommandQueue"));
    TRY(kry_device_wrap(context, id, queue, device));
done:
    if (queue) clReleaseCommandQueue(queue);
    if (context) clReleaseContext(context);
    return st;
}

kry_status kry_device_list_sized(kry_device_info **info, int *count, size_t info_size)
{
    kry_status st = KRY_OK;
    found *f = NULL;
    char *list;

    if (info) *info = NULL;
    if (count) *count = 0;
    st = kryi_check_given("kry_device_list", "info, count", (const void *const[]){ info, count });
    if (!info || !count) goto done;
    TRY(kryi_alloc(1, sizeof *f, &f));
    TRY(find_devices(f, NULL, NULL));
    TRY(kryi_alloc((size_t)f->count, info_size, &list));
    for (int i = 0; i < f->count; i++)
        kryi_hand_out(&f->info[i], sizeof f->info[i], list + (size_t)i * info_size, info_size);
    *info = (kry_device_info *)(void *)list;
    *count = f->count;
done:
    free(f);
    return st;
}

/* Whether the queue is in order and belongs to this context and device. */
static kry_status check_queue(cl_context context, cl_device_id id, cl_command_queue queue)
{
    kry_status st = KRY_OK;
    cl_context c = NULL;
    cl_device_id d = NULL;
    cl_command_queue_properties properties = 0;

    TRY_CL(clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof c, &c, NULL));
    TRY_CL(clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof d, &d, NULL));
    TRY_CL(clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL));
    CHECK(c == context && d == id, KRY_ERR_ARGUMENT,
          "kry_device_wrap: the queue belongs to another %s", c != context ? "context" : "device");
    CHECK(!(properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE), KRY_ERR_ARGUMENT,
          "kry_device_wrap: the queue is out of order; kry needs one in order");
done:
    return st;
}

/* ---- what other modules keep with a device ---- */

typedef struct kryi_kept {
    const kryi_keeper *keeper;
    struct kryi_kept *next;
    max_align_t data[];
} kryi_kept;

void *kryi_device_kept(const kry_device *dev, const kryi_keeper *keeper)
{
    kryi_kept *k = atomic_load(&dev->kept);
    while (k && k->keeper != keeper) k = k->next;
    return k ? k->data : NULL;
}

kry_status kryi_device_keep(kry_device *dev, const kryi_keeper *keeper, void *address_of_kept)
{
    kry_status st = KRY_OK;
    kryi_kept *k = NULL;

    pthread_mutex_lock(&dev->making);
    void *kept = kryi_device_kept(dev, keeper);
    if (!kept) {
        TRY(kryi_alloc(1, sizeof *k + keeper->size, &k));
        k->keeper = keeper;
        k->next = atomic_load(&dev->kept);
        atomic_store(&dev->kept, k);
        kept = k->data;
    }
    memcpy(address_of_kept, &kept, sizeof kept);
done:
    pthread_mutex_unlock(&dev->making);
    return st;
}

void kryi_device_forget(kry_device *dev)
{
    for (kryi_kept *k = atomic_exchange(&dev->kept, NULL), *next; k; k = next) {
        next = k->next;
        if (k->keeper->release) k->keeper->release(dev, k->data);
        free(k);
    }
}

kry_status kryi_device_new(const kryi_driver *driver, kry_device **device)
{
    kry_status st = kryi_alloc(1, sizeof **device, device);
    if (st < 0) return st;
    (*device)->refs = 1;
    (*device)->driver = driver;
    pthread_mutex_init(&(*device)->making, NULL);
    kryi_layout_init(&(*device)->layout, *device);
    return KRY_OK;
}

kry_status kry_device_wrap(cl_context context, cl_device_id id, cl_command_queue queue,
                           kry_device **device)
{
    kry_status st = KRY_OK;
    kry_device *dev = NULL;

    if (device) *device = NULL;
    TRY(GIVEN(device));
    CHECK(context && id && queue, KRY_ERR_ARGUMENT, "kry_device_wrap: a handle is NULL");
    TRY(kryi_opencl_begin());
    TRY(check_queue(context, id, queue));
    TRY(kryi_device_new(&kryi_opencl_driver, &dev));
    dev->id = id;
    TRY(kryi_profile_query(id, &dev->info));
    kryi_kernels_load(dev);
    kryi_shape_load(dev);
    TRY_CL(clRetainContext(context));
    dev->context = context;
    TRY_CL(clRetainCommandQueue(queue));
    dev->queue = queue;
    TRY(kryi_shape_fit(dev));
    *device = dev;
    dev = NULL;
done:
    kry_device_release(&dev);
    return st;
}

static _Thread_local const kry_device *works_for;

kry_status kry_device_reserve(kry_device *device)
{
    kry_status st = KRY_OK;

    TRY(GIVEN(device));
    TRY(kryi_device_check_process(device));
    device->reserved++;
done:
    return st;
}

void kry_device_unreserve(kry_device *dev)
{
    if (dev) dev->reserved--;
}

void kry_device_work_for(const kry_device *dev) { works_for = dev; }
bool kryi_device_works_for(const kry_device *dev) { return works_for == dev; }

kry_status kryi_device_refuse(const kry_device *dev)
{
    return kry_fail(
        KRY_ERR_ARGUMENT,
        "'%s' is reserved for another thread: wait for the work of its queue before a call "
        "that uses it directly (docs/in-programs.md)",
        dev->info.name);
}

kry_device *kry_device_retain(kry_device *dev)
{
    if (dev) dev->refs++;
    return dev;
}

void kry_device_release(kry_device **device)
{
    kry_device *dev = device ? *device : NULL;
    if (device) *device = NULL;
    if (!dev || --dev->refs) return;
    kryi_device_forget(dev);
    dev->driver->release(dev);
    pthread_mutex_destroy(&dev->making);
    free(dev);
}

kry_status kry_device_finish(kry_device *dev)
{
    return dev ? dev->driver->finish(dev)
               : kry_fail(KRY_ERR_ARGUMENT, "kry_device_finish: device is NULL");
}

const kry_device_info *kry_device_get_info(const kry_device *dev)
{
    return dev ? &dev->info : NULL;
}
cl_context kry_device_context(const kry_device *dev) { return dev ? dev->context : NULL; }
cl_device_id kry_device_id(const kry_device *dev) { return dev ? dev->id : NULL; }
cl_command_queue kry_device_queue(const kry_device *dev) { return dev ? dev->queue : NULL; }
