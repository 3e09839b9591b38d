/* pool.h - buffers that go from hand to hand while something is set up; see pool.c. */
#ifndef KRY_POOL_H
#define KRY_POOL_H

#include "device/device.h"

/* Keep large buffers for each other until the pool is closed, as often as it was opened. */
kry_status kryi_pool_open(kry_device *dev);
void kryi_pool_close(kry_device *dev);

/* For buffer.c. Whether something is being set up, which in the end waits for the device. */
bool kryi_pool_is_open(kry_device *dev);
/* A buffer of so many bytes, or a few more, or NULL. */
cl_mem kryi_pool_take(kry_device *dev, size_t bytes);
/* A new buffer that may come back later. */
void kryi_pool_enter(kry_device *dev, cl_mem buffer, size_t bytes);
/* Whether the pool keeps a buffer that is released: it is the last owner's. */
bool kryi_pool_give(kry_device *dev, cl_mem buffer);
/* Let go what nobody has; whether there was anything. */
bool kryi_pool_drain(kry_device *dev);

#endif
