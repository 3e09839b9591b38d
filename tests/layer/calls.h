/*
 * calls.h - the entry points that the layer stands in front of: all of OpenCL 1.0 to 1.2 that make
 * something, move something or ask something, and what is newer but used by libraries.
 *
 *   PLAIN(name, version, via, parameters, arguments)              returns cl_int
 *   EVENT(name, version, via, parameters, arguments)              the same; may hand out `event`
 *   MAKES(type, kind, name, version, via, parameters, arguments)  returns a handle; `err`
 *   MAPS(name, version, parameters, arguments)                    returns a pointer; both
 *   KEEPS(type, kind, noun)                                       retains and releases
 *
 * version: 11 is OpenCL 1.1. via: what is called in the end, next->name or a function of
 * questions.c or rules.c.
 */
#define WAITS_      cl_uint waits, const cl_event *wait, cl_event *event
#define WAITS       waits, wait, event
#define ASKS_(what) what, size_t size, void *value, size_t *got

#define LAYER_PLAIN(X)                                                                             \
    X(clGetPlatformInfo, 10, layer_platform_info,                                                  \
      (cl_platform_id p, ASKS_(cl_platform_info what)), (p, what, size, value, got))               \
    X(clGetDeviceIDs, 10, layer_device_ids,                                                        \
      (cl_platform_id p, cl_device_type type, cl_uint most, cl_device_id * id, cl_uint * count),   \
      (p, type, most, id, count))                                                                  \
    X(clGetDeviceInfo, 10, layer_device_info, (cl_device_id d, ASKS_(cl_device_info what)),        \
      (d, what, size, value, got))                                                                 \
    X(clGetContextInfo, 10, next->clGetContextInfo, (cl_context c, ASKS_(cl_context_info what)),   \
      (c, what, size, value, got))                                                                 \
    X(clGetCommandQueueInfo, 10, next->clGetCommandQueueInfo,                                      \
      (cl_command_queue q, ASKS_(cl_command_queue_info what)), (q, what, size, value, got))        \
    X(clGetSupportedImageFormats, 10, layer_image_formats,                                         \
      (cl_context c, cl_mem_flags flags, cl_mem_object_type type, cl_uint most,                    \
       cl_image_format * format, cl_uint * count),                                                 \
      (c, flags, type, most, format, count))                                                       \
    X(clGetMemObjectInfo, 10, next->clGetMemObjectInfo, (cl_mem m, ASKS_(cl_mem_info what)),       \
      (m, what, size, value, got))                                                                 \
    X(clGetImageInfo, 10, next->clGetImageInfo, (cl_mem m, ASKS_(cl_image_info what)),             \
      (m, what, size, value, got))                                                                 \
    X(clGetProgramInfo, 10, next->clGetProgramInfo, (cl_program p, ASKS_(cl_program_info what)),   \
      (p, what, size, value, got))                                                                 \
    X(clGetProgramBuildInfo, 10, next->clGetProgramBuildInfo,                                      \
      (cl_program p, cl_device_id d, ASKS_(cl_program_build_info what)),                           \
      (p, d, what, size, value, got))                                                              \
    X(clGetKernelInfo, 10, next->clGetKernelInfo, (cl_kernel k, ASKS_(cl_kernel_info what)),       \
      (k, what, size, value, got))                                                                 \
    X(clGetKernelWorkGroupInfo, 10, layer_kernel_info,                                             \
      (cl_kernel k, cl_device_id d, ASKS_(cl_kernel_work_group_info what)),                        \
      (k, d, what, size, value, got))                                                              \
    X(clGetEventInfo, 10, next->clGetEventInfo, (cl_event e, ASKS_(cl_event_info what)),           \
      (e, what, size, value, got))                                                                 \
    X(clGetEventProfilingInfo, 10, next->clGetEventProfilingInfo,                                  \
      (cl_event e, ASKS_(cl_profiling_info what)), (e, what, size, value, got))                    \
    X(clGetSamplerInfo, 10, next->clGetSamplerInfo, (cl_sampler s, ASKS_(cl_sampler_info what)),   \
      (s, what, size, value, got))                                                                 \
    X(clBuildProgram, 10, layer_build,                                                             \
      (cl_program p, cl_uint count, const cl_device_id *id, const char *options,                   \
       void(CL_CALLBACK * notify)(cl_program, void *), void *user),                                \
      (p, count, id, options, notify, user))                                                       \
    X(clSetKernelArg, 10, layer_argument,                                                          \
      (cl_kernel k, cl_uint i, size_t size, const void *value), (k, i, size, value))               \
    X(clWaitForEvents, 10, next->clWaitForEvents, (cl_uint count, const cl_event *event),          \
      (count, event))                                                                              \
    X(clFlush, 10, next->clFlush, (cl_command_queue q), (q))                                       \
    X(clEnqueueBarrier, 10, next->clEnqueueBarrier, (cl_command_queue q), (q))                     \
    X(clEnqueueWaitForEvents, 10, next->clEnqueueWaitForEvents,                                    \
      (cl_command_queue q, cl_uint count, const cl_event *event), (q, count, event))               \
    X(clSetEventCallback, 11, next->clSetEventCallback,                                            \
      (cl_event e, cl_int when, void(CL_CALLBACK * notify)(cl_event, cl_int, void *), void *user), \
      (e, when, notify, user))                                                                     \
    X(clSetUserEventStatus, 11, next->clSetUserEventStatus, (cl_event e, cl_int status),           \
      (e, status))                                                                                 \
    X(clUnloadPlatformCompiler, 12, next->clUnloadPlatformCompiler, (cl_platform_id p), (p))       \
    X(clGetKernelArgInfo, 12, next->clGetKernelArgInfo,                                            \
      (cl_kernel k, cl_uint i, ASKS_(cl_kernel_arg_info what)), (k, i, what, size, value, got))    \
    X(clCompileProgram, 12, next->clCompileProgram,                                                \
      (cl_program p, cl_uint count, const cl_device_id *id, const char *options, cl_uint headers,  \
       const cl_program *header, const char **name,                                                \
       void(CL_CALLBACK * notify)(cl_program, void *), void *user),                                \
      (p, count, id, options, headers, header, name, notify, user))

#define LAYER_EVENT(X)                                                                            \
    X(clEnqueueReadBuffer, 10, next->clEnqueueReadBuffer,                                         \
      (cl_command_queue q, cl_mem m, cl_bool blocking, size_t at, size_t size, void *to, WAITS_), \
      (q, m, blocking, at, size, to, WAITS))                                                      \
    X(clEnqueueWriteBuffer, 10, next->clEnqueueWriteBuffer,                                       \
      (cl_command_queue q, cl_mem m, cl_bool blocking, size_t at, size_t size, const void *from,  \
       WAITS_),                                                                                   \
      (q, m, blocking, at, size, from, WAITS))                                                    \
    X(clEnqueueReadBufferRect, 11, next->clEnqueueReadBufferRect,                                 \
      (cl_command_queue q, cl_mem m, cl_bool blocking, const size_t *at, const size_t *to_at,     \
       const size_t *region, size_t row, size_t slice, size_t to_row, size_t to_slice, void *to,  \
       WAITS_),                                                                                   \
      (q, m, blocking, at, to_at, region, row, slice, to_row, to_slice, to, WAITS))               \
    X(clEnqueueWriteBufferRect, 11, next->clEnqueueWriteBufferRect,                               \
      (cl_command_queue q, cl_mem m, cl_bool blocking, const size_t *at, const size_t *from_at,   \
       const size_t *region, size_t row, size_t slice, size_t from_row, size_t from_slice,        \
       const void *from, WAITS_),                                                                 \
      (q, m, blocking, at, from_at, region, row, slice, from_row, from_slice, from, WAITS))       \
    X(clEnqueueCopyBuffer, 10, next->clEnqueueCopyBuffer,                                         \
      (cl_command_queue q, cl_mem from, cl_mem to, size_t at, size_t to_at, size_t size, WAITS_), \
      (q, from, to, at, to_at, size, WAITS))                                                      \
    X(clEnqueueCopyBufferRect, 11, next->clEnqueueCopyBufferRect,                                 \
      (cl_command_queue q, cl_mem from, cl_mem to, const size_t *at, const size_t *to_at,         \
       const size_t *region, size_t row, size_t slice, size_t to_row, size_t to_slice, WAITS_),   \
      (q, from, to, at, to_at, region, row, slice, to_row, to_slice, WAITS))                      \
    X(clEnqueueReadImage, 10, next->clEnqueueReadImage,                                           \
      (cl_command_queue q, cl_mem m, cl_bool blocking, const size_t *at, const size_t *region,    \
       size_t row, size_t slice, void *to, WAITS_),                                               \
      (q, m, blocking, at, region, row, slice, to, WAITS))                                        \
    X(clEnqueueWriteImage, 10, next->clEnqueueWriteImage,                                         \
      (cl_command_queue q, cl_mem m, cl_bool blocking, const size_t *at, const size_t *region,    \
       size_t row, size_t slice, const void *from, WAITS_),                                       \
      (q, m, blocking, at, region, row, slice, from, WAITS))                                      \
    X(clEnqueueCopyImage, 10, next->clEnqueueCopyImage,                                           \
      (cl_command_queue q, cl_mem from, cl_mem to, const size_t *at, const size_t *to_at,         \
       const size_t *region, WAITS_),                                                             \
      (q, from, to, at, to_at, region, WAITS))                                                    \
    X(clEnqueueCopyImageToBuffer, 10, next->clEnqueueCopyImageToBuffer,                           \
      (cl_command_queue q, cl_mem from, cl_mem to, const size_t *at, const size_t *region,        \
       size_t to_at, WAITS_),                                                                     \
      (q, from, to, at, region, to_at, WAITS))                                                    \
    X(clEnqueueCopyBufferToImage, 10, next->clEnqueueCopyBufferToImage,                           \
      (cl_command_queue q, cl_mem from, cl_mem to, size_t at, const size_t *to_at,                \
       const size_t *region, WAITS_),                                                             \
      (q, from, to, at, to_at, region, WAITS))                                                    \
    X(clEnqueueUnmapMemObject, 10, next->clEnqueueUnmapMemObject,                                 \
      (cl_command_queue q, cl_mem m, void *mapped, WAITS_), (q, m, mapped, WAITS))                \
    X(clEnqueueNDRangeKernel, 10, layer_launch,                                                   \
      (cl_command_queue q, cl_kernel k, cl_uint dimensions, const size_t *first,                  \
       const size_t *global, const size_t *local, WAITS_),                                        \
      (q, k, dimensions, first, global, local, WAITS))                                            \
    X(clEnqueueTask, 10, next->clEnqueueTask, (cl_command_queue q, cl_kernel k, WAITS_),          \
      (q, k, WAITS))                                                                              \
    X(clEnqueueMarker, 10, next->clEnqueueMarker, (cl_command_queue q, cl_event * event),         \
      (q, event))                                                                                 \
    X(clEnqueueFillBuffer, 12, next->clEnqueueFillBuffer,                                         \
      (cl_command_queue q, cl_mem m, const void *pattern, size_t length, size_t at, size_t size,  \
       WAITS_),                                                                                   \
      (q, m, pattern, length, at, size, WAITS))                                                   \
    X(clEnqueueFillImage, 12, next->clEnqueueFillImage,                                           \
      (cl_command_queue q, cl_mem m, const void *colour, const size_t *at, const size_t *region,  \
       WAITS_),                                                                                   \
      (q, m, colour, at, region, WAITS))                                                          \
    X(clEnqueueMigrateMemObjects, 12, next->clEnqueueMigrateMemObjects,                           \
      (cl_command_queue q, cl_uint count, const cl_mem *m, cl_mem_migration_flags flags, WAITS_), \
      (q, count, m, flags, WAITS))                                                                \
    X(clEnqueueMarkerWithWaitList, 12, next->clEnqueueMarkerWithWaitList,                         \
      (cl_command_queue q, WAITS_), (q, WAITS))                                                   \
    X(clEnqueueBarrierWithWaitList, 12, next->clEnqueueBarrierWithWaitList,                       \
      (cl_command_queue q, WAITS_), (q, WAITS))

#define LAYER_MAKES(X)                                                                             \
    X(cl_context, CONTEXTS, clCreateContext, 10, next->clCreateContext,                            \
      (const cl_context_properties *properties, cl_uint count, const cl_device_id *id,             \
       void(CL_CALLBACK * notify)(const char *, const void *, size_t, void *), void *user,         \
       cl_int *err),                                                                               \
      (properties, count, id, notify, user, err))                                                  \
    X(cl_context, CONTEXTS, clCreateContextFromType, 10, layer_context_from_type,                  \
      (const cl_context_properties *properties, cl_device_type type,                               \
       void(CL_CALLBACK * notify)(const char *, const void *, size_t, void *), void *user,         \
       cl_int *err),                                                                               \
      (properties, type, notify, user, err))                                                       \
    X(cl_command_queue, QUEUES, clCreateCommandQueue, 10, next->clCreateCommandQueue,              \
      (cl_context c, cl_device_id d, cl_command_queue_properties properties, cl_int * err),        \
      (c, d, properties, err))                                                                     \
    X(cl_command_queue, QUEUES, clCreateCommandQueueWithProperties, 20,                            \
      next->clCreateCommandQueueWithProperties,                                                    \
      (cl_context c, cl_device_id d, const cl_queue_properties *properties, cl_int *err),          \
      (c, d, properties, err))                                                                     \
    X(cl_mem, MEMS, clCreateBuffer, 10, layer_buffer,                                              \
      (cl_context c, cl_mem_flags flags, size_t size, void *host, cl_int *err),                    \
      (c, flags, size, host, err))                                                                 \
    X(cl_mem, MEMS, clCreateSubBuffer, 11, next->clCreateSubBuffer,                                \
      (cl_mem m, cl_mem_flags flags, cl_buffer_create_type type, const void *region, cl_int *err), \
      (m, flags, type, region, err))                                                               \
    X(cl_mem, MEMS, clCreateImage2D, 10, layer_image_2d,                                           \
      (cl_context c, cl_mem_flags flags, const cl_image_format *format, size_t width,              \
       size_t height, size_t row, void *host, cl_int *err),                                        \
      (c, flags, format, width, height, row, host, err))                                           \
    X(cl_mem, MEMS, clCreateImage3D, 10, layer_image_3d,                                           \
      (cl_context c, cl_mem_flags flags, const cl_image_format *format, size_t width,              \
       size_t height, size_t depth, size_t row, size_t slice, void *host, cl_int *err),            \
      (c, flags, format, width, height, depth, row, slice, host, err))                             \
    X(cl_mem, MEMS, clCreateImage, 12, layer_image,                                                \
      (cl_context c, cl_mem_flags flags, const cl_image_format *format, const cl_image_desc *desc, \
       void *host, cl_int *err),                                                                   \
      (c, flags, format, desc, host, err))                                                         \
    X(cl_sampler, SAMPLERS, clCreateSampler, 10, layer_sampler,                                    \
      (cl_context c, cl_bool normalised, cl_addressing_mode addressing, cl_filter_mode filter,     \
       cl_int * err),                                                                              \
      (c, normalised, addressing, filter, err))                                                    \
    X(cl_program, PROGRAMS, clCreateProgramWithSource, 10, layer_source,                           \
      (cl_context c, cl_uint count, const char **text, const size_t *length, cl_int *err),         \
      (c, count, text, length, err))                                                               \
    X(cl_program, PROGRAMS, clCreateProgramWithBinary, 10, next->clCreateProgramWithBinary,        \
      (cl_context c, cl_uint count, const cl_device_id *id, const size_t *length,                  \
       const unsigned char **binary, cl_int *status, cl_int *err),                                 \
      (c, count, id, length, binary, status, err))                                                 \
    X(cl_program, PROGRAMS, clCreateProgramWithBuiltInKernels, 12,                                 \
      next->clCreateProgramWithBuiltInKernels,                                                     \
      (cl_context c, cl_uint count, const cl_device_id *id, const char *names, cl_int *err),       \
      (c, count, id, names, err))                                                                  \
    X(cl_program, PROGRAMS, clLinkProgram, 12, next->clLinkProgram,                                \
      (cl_context c, cl_uint count, const cl_device_id *id, const char *options, cl_uint inputs,   \
       const cl_program *input, void(CL_CALLBACK * notify)(cl_program, void *), void *user,        \
       cl_int *err),                                                                               \
      (c, count, id, options, inputs, input, notify, user, err))                                   \
    X(cl_kernel, KERNELS, clCreateKernel, 10, next->clCreateKernel,                                \
      (cl_program p, const char *name, cl_int *err), (p, name, err))                               \
    X(cl_event, EVENTS, clCreateUserEvent, 11, next->clCreateUserEvent,                            \
      (cl_context c, cl_int * err), (c, err))

#define LAYER_MAPS(X)                                                                              \
    X(clEnqueueMapBuffer, 10,                                                                      \
      (cl_command_queue q, cl_mem m, cl_bool blocking, cl_map_flags flags, size_t at, size_t size, \
       WAITS_, cl_int * err),                                                                      \
      (q, m, blocking, flags, at, size, WAITS, err))                                               \
    X(clEnqueueMapImage, 10,                                                                       \
      (cl_command_queue q, cl_mem m, cl_bool blocking, cl_map_flags flags, const size_t *at,       \
       const size_t *region, size_t *row, size_t *slice, WAITS_, cl_int *err),                     \
      (q, m, blocking, flags, at, region, row, slice, WAITS, err))

#define LAYER_KEEPS(X)                        \
    X(cl_context, CONTEXTS, Context)          \
    X(cl_command_queue, QUEUES, CommandQueue) \
    X(cl_mem, MEMS, MemObject)                \
    X(cl_sampler, SAMPLERS, Sampler)          \
    X(cl_program, PROGRAMS, Program)          \
    X(cl_kernel, KERNELS, Kernel)             \
    X(cl_event, EVENTS, Event)

/* Written out by hand in layer.c: they hand out several objects at once, are of 1.2, or wait. */
#define LAYER_OTHERS(X)             \
    X(clFinish, 10)                 \
    X(clCreateKernelsInProgram, 10) \
    X(clCreateSubDevices, 12)       \
    X(clRetainDevice, 12)           \
    X(clReleaseDevice, 12)
