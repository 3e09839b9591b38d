/* layer.h - what the files of the layer share. */
#ifndef KRY_LAYER_H
#define KRY_LAYER_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include "calls.h"
#include "control.h"
#include <CL/cl_layer.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

extern const cl_icd_dispatch *next; /* what the layer stands before */

/* One lock for all that the layer keeps; it may be taken again by its holder. */
void layer_lock(void);
void layer_unlock(void);

/* ---- objects.c: what was made and is not released ---- */

enum { LAYER_MOST_ARGS = 64 };
typedef struct layer_object {
    struct layer_object *next;
    void *handle;
    layer_kind kind;
    int refs;
    const char *maker; /* the call, and its number among all that count */
    long number;
    size_t bytes;                            /* of a buffer or image */
    unsigned char argument[LAYER_MOST_ARGS]; /* of a kernel: bytes on the device */
    bool launched;
} layer_object;

void layer_made(layer_kind kind, void *handle, const char *maker);
void layer_retained(layer_kind kind, void *handle);
void layer_released(layer_kind kind, void *handle);
layer_object *layer_find(layer_kind kind, const void *handle); /* with the lock held; NULL: none */
long layer_live(layer_kind kind);
size_t layer_bytes(void); /* of all buffers and images that are live */
void layer_settle(void);  /* wait until all queues are idle */
void layer_report(FILE *to);

/* ---- faults.c: calls that fail on request ---- */

/* Called first by every entry point. Returns  CL_SUCCESS, or what the call is to fail with. */
cl_int layer_enter(const char *name, int version);
void layer_fail(const char *name, long k, cl_int error, bool lost);
void layer_fail_as_told(const char *text); /* "clCreateBuffer 3 -4", "any 17 -5 lost" */
const char *layer_failed(void);
long layer_calls(void);
void layer_watch(void);
long layer_earlier(long k);

/* ---- profiles.c, questions.c, rules.c: the device that is made up ---- */

bool layer_device(const char *name);
const char *layer_device_name(int i);
int layer_version(void);                   /* 11: OpenCL 1.1. 99: the device is what it is */
void layer_broke(const char *format, ...); /* a rule, and say so */
long layer_broken(void);

cl_int layer_platform_info(cl_platform_id p, ASKS_(cl_platform_info what));
cl_int layer_device_ids(cl_platform_id p, cl_device_type type, cl_uint most, cl_device_id *id,
                        cl_uint *count);
cl_int layer_device_info(cl_device_id d, ASKS_(cl_device_info what));
cl_int layer_image_formats(cl_context c, cl_mem_flags flags, cl_mem_object_type type, cl_uint most,
                           cl_image_format *format, cl_uint *count);
cl_int layer_kernel_info(cl_kernel k, cl_device_id d, ASKS_(cl_kernel_work_group_info what));
cl_int layer_build(cl_program p, cl_uint count, const cl_device_id *id, const char *options,
                   void(CL_CALLBACK *notify)(cl_program, void *), void *user);
cl_int layer_argument(cl_kernel k, cl_uint i, size_t size, const void *value);
cl_int layer_launch(cl_command_queue q, cl_kernel k, cl_uint dimensions, const size_t *first,
                    const size_t *global, const size_t *local, WAITS_);
cl_context layer_context_from_type(const cl_context_properties *properties, cl_device_type type,
                                   void(CL_CALLBACK *notify)(const char *, const void *, size_t,
                                                             void *),
                                   void *user, cl_int *err);
cl_mem layer_buffer(cl_context c, cl_mem_flags flags, size_t size, void *host, cl_int *err);
cl_mem layer_image_2d(cl_context c, cl_mem_flags flags, const cl_image_format *format, size_t width,
                      size_t height, size_t row, void *host, cl_int *err);
cl_mem layer_image_3d(cl_context c, cl_mem_flags flags, const cl_image_format *format, size_t width,
                      size_t height, size_t depth, size_t row, size_t slice, void *host,
                      cl_int *err);
cl_mem layer_image(cl_context c, cl_mem_flags flags, const cl_image_format *format,
                   const cl_image_desc *desc, void *host, cl_int *err);
cl_sampler layer_sampler(cl_context c, cl_bool normalised, cl_addressing_mode addressing,
                         cl_filter_mode filter, cl_int *err);
cl_program layer_source(cl_context c, cl_uint count, const char **text, const size_t *length,
                        cl_int *err);

#endif
