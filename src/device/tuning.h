/*
 * tuning.h - what was measured on a device, by name.
 */
#ifndef KRY_TUNING_H
#define KRY_TUNING_H

#include "device/device.h"

/* ---- tuning.c: what was measured on a device, by name; one small text file for each device and
 *      driver in the cache directory. Like the cache it only ever saves time: what cannot be read
 *      or written is passed over in silence, and values are checked by those who use them. ---- */

bool kry_tuning_get(kry_device *dev, const char *name, char *value, size_t size);
void kry_tuning_set(kry_device *dev, const char *name, const char *value); /* one line; no blanks
                                                                              in the name */
void kry_tuning_release(kry_device *dev);

#endif
