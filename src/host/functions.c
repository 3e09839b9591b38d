/* functions.c - C functions in place of some kernels of cl/, on the device host: for builds without -Dhost_kernels (compiled.c). */
#include "host/functions.h"
#include <stdlib.h>
#include <string.h>

const bool kry_host_has_few_kernels = true;

typedef struct function {
    const kry_host_function *kernel;
    char defines[];
} function;

kry_status kry_host_kernel(const kry_wanted *w, const char *name, cl_kernel *kernel)
{
    kry_status st = KRY_OK;
    const kry_host_function *k = w->type == KRY_F32 ? kry_host_single : kry_host_double;
    function *f = NULL;

    while (k->name && (strcmp(k->stem, w->stem) || strcmp(k->name, name))) k++;
    CHECK(k->name, KRY_ERR_UNSUPPORTED, "%s has no kernels on the host device ('%s' is missing)",
          w->stem, name);
    TRY(kry_alloc(1, sizeof *f + strlen(w->defines) + 1, &f));
    f->kernel = k;
    strcpy(f->defines, w->defines);
    *kernel = (cl_kernel)(void *)f;
done:
    return st;
}

kry_status kry_host_launch(kry_kernel *kernel, const kry_range *range, const kry_arg *args,
                           size_t count)
{
    const function *f = (const void *)kernel->handle;

    (void)count;
    f->kernel->run(&(kry_host_args){ args, f->defines, range->columns });
    return KRY_OK;
}

kry_status kry_host_kernels_open(kry_device_info *info)
{
    strcpy(info->version, "C11");
    info->compute_units = 1;
    return KRY_OK;
}

void kry_host_kernels_close(void) {}
