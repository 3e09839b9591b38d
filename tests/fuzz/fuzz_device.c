/* fuzz_device.c - KRY_PROFILE in the first line, the name of a device or a team in the second. */
#include "fuzz.h"
#include <kry/device.h>
#include <kry/status.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char *text = text_of_bytes(bytes, size), *spec = strchr(text, '\n');
    kry_device *dev = NULL;
    if (spec) *spec++ = 0;
    ENSURE(!setenv("KRY_PROFILE", text, 1));
    kry_status st = kry_device_open(spec, &dev);
    ENSURE((st == KRY_OK) == (dev != NULL));
    if (!dev) {
        ENSURE(*kry_last_error());
    } else {
        const kry_device_info *info = kry_device_get_info(dev);
        ENSURE(info->max_group >= 1 && info->local_bytes >= 0 && info->opencl >= 0);
    }
    kry_device_release(&dev);
    free(text);
    return 0;
}
