/*
 * staged.h - large arrays from the host to a GPU, by way of memory that the GPU reads by itself.
 */
#ifndef KRY_STAGED_H
#define KRY_STAGED_H

#include "device/device.h"

/* Write the bytes into the buffer and wait until they are there. *written false: a driver is as fast, or another thread is at it,
 * and nothing has happened. */
kry_status kry_staged_write(kry_device *dev, const kry_transfer *t, bool *written);

#endif
