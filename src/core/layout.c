/* layout.c - how rows lie over the parts of a computation: the plain layout of one device. */
#include "internal.h"

/* The kernel that uses a sum adds up its partial sums itself: nothing is left to do. */
static kry_status reduce_on_one_device(kry_layout *layout, kry_sum *const *sums, int count)
{
    (void)layout, (void)sums, (void)count;
    return KRY_OK;
}

void kry_layout_init_single(kry_layout *layout, kry_device *dev)
{
    layout->reduce = reduce_on_one_device;
    layout->dev = dev;
}
