/*
 * tuning.h - results of measurements on a device, by name.
 */
#ifndef KRY_TUNING_H
#define KRY_TUNING_H

#include "device/device.h"

/* They are kept in one small text file for each device and driver in the cache directory. Like the
 * cache, it only saves time: errors of reading and writing are ignored, and who asks for a value
 * checks it. */

bool kry_tuning_get(kry_device *dev, const char *name, char *value, size_t size);
/* value: one line; name: no blanks. */
void kry_tuning_set(kry_device *dev, const char *name, const char *value);
void kry_tuning_release(kry_device *dev);

#endif
