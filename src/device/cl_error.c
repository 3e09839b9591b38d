/* cl_error.c - OpenCL's errors, and whether it is there: it is lost after fork(). */
#include "device/device.h"

static const struct {
    cl_int err;
    const char *name;
} cl_errors[] = {
#define E(name)     \
    {               \
        name, #name \
    }
    E(CL_DEVICE_NOT_FOUND),
    E(CL_DEVICE_NOT_AVAILABLE),
    E(CL_COMPILER_NOT_AVAILABLE),
    E(CL_MEM_OBJECT_ALLOCATION_FAILURE),
    E(CL_OUT_OF_RESOURCES),
    E(CL_OUT_OF_HOST_MEMORY),
    E(CL_PROFILING_INFO_NOT_AVAILABLE),
    E(CL_MEM_COPY_OVERLAP),
    E(CL_BUILD_PROGRAM_FAILURE),
    E(CL_MAP_FAILURE),
    E(CL_MISALIGNED_SUB_BUFFER_OFFSET),
    E(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST),
    E(CL_INVALID_VALUE),
    E(CL_INVALID_DEVICE_TYPE),
    E(CL_INVALID_PLATFORM),
    E(CL_INVALID_DEVICE),
    E(CL_INVALID_CONTEXT),
    E(CL_INVALID_QUEUE_PROPERTIES),
    E(CL_INVALID_COMMAND_QUEUE),
    E(CL_INVALID_HOST_PTR),
    E(CL_INVALID_MEM_OBJECT),
    E(CL_INVALID_BINARY),
    E(CL_INVALID_BUILD_OPTIONS),
    E(CL_INVALID_PROGRAM),
    E(CL_INVALID_PROGRAM_EXECUTABLE),
    E(CL_INVALID_KERNEL_NAME),
    E(CL_INVALID_KERNEL_DEFINITION),
    E(CL_INVALID_KERNEL),
    E(CL_INVALID_ARG_INDEX),
    E(CL_INVALID_ARG_VALUE),
    E(CL_INVALID_ARG_SIZE),
    E(CL_INVALID_KERNEL_ARGS),
    E(CL_INVALID_WORK_DIMENSION),
    E(CL_INVALID_WORK_GROUP_SIZE),
    E(CL_INVALID_WORK_ITEM_SIZE),
    E(CL_INVALID_GLOBAL_OFFSET),
    E(CL_INVALID_EVENT_WAIT_LIST),
    E(CL_INVALID_EVENT),
    E(CL_INVALID_OPERATION),
    E(CL_INVALID_BUFFER_SIZE),
    E(CL_INVALID_GLOBAL_WORK_SIZE),
    { -1001, "CL_PLATFORM_NOT_FOUND_KHR" },
#undef E
};

const char *kryi_cl_error_name(cl_int err)
{
    for (size_t i = 0; i < COUNT(cl_errors); i++)
        if (cl_errors[i].err == err) return cl_errors[i].name;
    return "unknown OpenCL error";
}

/* ---- whether it is there ---- */

bool kryi_opencl_lost;
static void in_child(void) { kryi_opencl_lost = true; }

#ifndef KRYI_OPENCL_LOAD /* tools/amalgamation/opencl.h */
#define KRYI_OPENCL_LOAD() true
#endif
static bool is_loaded;

static void begin(void)
{
    pthread_atfork(NULL, NULL, in_child);
    is_loaded = KRYI_OPENCL_LOAD();
}

kry_status kryi_opencl_begin(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    kry_status st = KRY_OK;

    pthread_once(&once, begin);
    CHECK(is_loaded, KRY_ERR_DEVICE,
          "there is no OpenCL on this machine (libOpenCL.so.1), and kry.c has no kernels for the "
          "host: install the driver of a GPU, or pocl-opencl-icd for the CPU");
    CHECK(!kryi_opencl_lost, KRY_ERR_DEVICE,
          "OpenCL was in use when this process was forked, and does not work in the child: open "
          "devices after fork()");
done:
    return st;
}

kry_status kryi_cl_check(cl_int err, const char *func, const char *call)
{
    if (err == CL_SUCCESS) return KRY_OK;
    if (kryi_opencl_lost) return kryi_opencl_begin();
    /* NVIDIA allocates memory at its first use, and then reports a full device as -4 or -5. */
    bool memory = err == CL_MEM_OBJECT_ALLOCATION_FAILURE || err == CL_OUT_OF_HOST_MEMORY;
    int name_length = 0;
    while (call[name_length] && call[name_length] != '(') name_length++;
    return kry_fail(memory ? KRY_ERR_MEMORY : KRY_ERR_DEVICE, "%s: %.*s failed with %s (%d)", func,
                    name_length, call, kryi_cl_error_name(err), err);
}
