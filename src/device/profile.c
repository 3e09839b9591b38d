/* profile.c - what a device can do. KRY_PROFILE in the environment can make it less. */
#include "device/launch.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CL_DEVICE_WARP_SIZE_NV_ = 0x4003 }; /* cl_nv_device_attribute_query */

static void query_text(cl_device_id id, cl_device_info what, char *text, size_t size)
{
    text[0] = 0;
    if (clGetDeviceInfo(id, what, size - 1, text, NULL) != CL_SUCCESS) text[0] = 0;
    text[size - 1] = 0;
}

/* Query a number of 4 or of 8 bytes. */
static kry_status query_number(cl_device_id id, cl_device_info what, int64_t *value)
{
    kry_status st = KRY_OK;
    unsigned char bytes[8] = { 0 }; /* the size that comes back says which */
    size_t size = 0;
    cl_uint u32;
    cl_ulong u64;

    *value = 0;
    TRY(kryi_cl_check(clGetDeviceInfo(id, what, sizeof bytes, bytes, &size), "kry_device_open",
                      "clGetDeviceInfo"));
    if (size == sizeof u32) memcpy(&u32, bytes, sizeof u32), *value = (int64_t)u32;
    if (size == sizeof u64) memcpy(&u64, bytes, sizeof u64), *value = (int64_t)u64;
done:
    return st;
}

/* Whether `word` is in a list of words separated by blanks. */
static bool has_word(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = list; (at = strstr(at, word)); at += n)
        if ((at == list || at[-1] == ' ') && (at[n] == 0 || at[n] == ' ')) return true;
    return false;
}

/* Obey one word of KRY_PROFILE. Words can only take abilities away. */
static bool shrink(kry_device_info *info, const char *word)
{
    long long value;
    int major, minor;
    if (!strcmp(word, "no-fp64"))
        info->fp64 = false;
    else if (!strcmp(word, "no-images"))
        info->images = info->image3d_writes = false;
    else if (!strcmp(word, "gpu-kernels"))
        info->cpu_kernels = false;
    else if (!strcmp(word, "cpu-kernels"))
        info->cpu_kernels = true;
    else if (sscanf(word, "local=%lld", &value) == 1 && value > 0)
        info->local_bytes = value < info->local_bytes ? value : info->local_bytes;
    else if (sscanf(word, "group=%lld", &value) == 1 && value > 0)
        info->max_group = value < info->max_group ? (int)value : info->max_group;
    else if (sscanf(word, "opencl=%d.%d", &major, &minor) == 2 && major > 0 && major < 100 &&
             minor >= 0 && minor < 10)
        info->opencl =
            100 * major + 10 * minor < info->opencl ? 100 * major + 10 * minor : info->opencl;
    else
        return false;
    return true;
}

static kry_status apply_overrides(kry_device_info *info)
{
    kry_status st = KRY_OK;
    const char *env = getenv("KRY_PROFILE");
    char words[256];

    if (!env) return KRY_OK;
    CHECK(strlen(env) < sizeof words, KRY_ERR_ARGUMENT, "KRY_PROFILE is longer than %zu bytes",
          sizeof words);
    strcpy(words, env);
    char *rest = words;
    for (char *word; (word = strtok_r(rest, " ,", &rest));)
        CHECK(shrink(info, word), KRY_ERR_ARGUMENT,
              "KRY_PROFILE: '%s' is none of no-fp64, no-images, gpu-kernels, cpu-kernels, "
              "local=BYTES, group=ITEMS, opencl=VERSION",
              word);
done:
    return st;
}

static kry_status query_numbers(cl_device_id id, kry_device_info *info)
{
    enum { MOST = 65536 }; /* Intel's emulator of FPGAs claims 67108864 */
    kry_status st = KRY_OK;
    int64_t type, images, units;
    size_t group = 0;

    TRY(query_number(id, CL_DEVICE_TYPE, &type));
    TRY(query_number(id, CL_DEVICE_IMAGE_SUPPORT, &images));
    TRY(query_number(id, CL_DEVICE_MAX_COMPUTE_UNITS, &units));
    TRY(query_number(id, CL_DEVICE_LOCAL_MEM_SIZE, &info->local_bytes));
    TRY(query_number(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, &info->max_alloc_bytes));
    TRY(query_number(id, CL_DEVICE_GLOBAL_MEM_SIZE, &info->global_bytes));
    TRY_CL(clGetDeviceInfo(id, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof group, &group, NULL));
    if (info->max_alloc_bytes > PTRDIFF_MAX) info->max_alloc_bytes = PTRDIFF_MAX; /* 32 bits */
    info->gpu = (type & CL_DEVICE_TYPE_GPU) != 0;
    info->kind = info->gpu ? "gpu" : type & CL_DEVICE_TYPE_CPU ? "cpu" : "accelerator";
    info->cpu_kernels = (type & CL_DEVICE_TYPE_CPU) != 0;
    info->images = images != 0;
    info->compute_units = (int)units;
    info->max_group = group == 0 ? 1 : group < MOST ? (int)group : MOST;
done:
    return st;
}

/* Drivers that were seen to go wrong where kry has no way around it. */
const char *kryi_driver_faults(const char *platform, const char *driver)
{
    static const struct {
        const char *platform, *driver; /* what CL_DRIVER_VERSION begins with */
        const char *what;
    } known[] = { { "Portable Computing Language", "7.",
                    "products of dense matrices by CLBlast fail, and so do incomplete factors with "
                    "KRY_PROFILE=gpu-kernels" },
                  { "rusticl", "26.",
                    "the process dies now and then while kernels are compiled: on a CPU take "
                    "PoCL" } };

    for (size_t i = 0; i < COUNT(known); i++)
        if (!strcmp(platform, known[i].platform) &&
            !strncmp(driver, known[i].driver, strlen(known[i].driver)))
            return known[i].what;
    return NULL;
}

kry_status kryi_profile_query(cl_device_id id, kry_device_info *info)
{
    kry_status st = KRY_OK;
    char *extensions = NULL;
    size_t size = 0;
    cl_platform_id platform = NULL;
    int major = 1, minor = 0;
    int64_t lanes;

    memset(info, 0, sizeof *info);
    TRY_CL(clGetDeviceInfo(id, CL_DEVICE_EXTENSIONS, 0, NULL, &size));
    TRY(kryi_alloc(size + 1, 1, &extensions));
    TRY_CL(clGetDeviceInfo(id, CL_DEVICE_EXTENSIONS, size, extensions, NULL));
    TRY_CL(clGetDeviceInfo(id, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL));
    clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof info->platform - 1, info->platform, NULL);
    query_text(id, CL_DEVICE_NAME, info->name, sizeof info->name);
    query_text(id, CL_DEVICE_VENDOR, info->vendor, sizeof info->vendor);
    query_text(id, CL_DEVICE_VERSION, info->version, sizeof info->version);
    query_text(id, CL_DRIVER_VERSION, info->driver, sizeof info->driver);
    if (sscanf(info->version, "OpenCL %d.%d", &major, &minor) == 2)
        info->opencl = 100 * major + 10 * minor;

    info->driver_faults = kryi_driver_faults(info->platform, info->driver);
    TRY(query_numbers(id, info));
    info->fp64 = has_word(extensions, "cl_khr_fp64");
    info->image3d_writes = info->images && has_word(extensions, "cl_khr_3d_image_writes");
    info->lanes = 1;
    if (info->gpu) info->lanes = 32;
    if (has_word(extensions, "cl_nv_device_attribute_query")) {
        TRY(query_number(id, CL_DEVICE_WARP_SIZE_NV_, &lanes));
        info->lanes = (int)lanes;
    }
    TRY(apply_overrides(info));
done:
    free(extensions);
    return st;
}
