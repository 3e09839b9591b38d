/*
 * compiling.c - who compiles when: one thread of a process at a time, and one of the ranks that start together.
 */
#include "device/comm.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>

bool kryi_is_pocl(const kry_device *dev)
{
    return strstr(dev->info.platform, "Portable Computing") != NULL;
}

static pthread_mutex_t compiling = PTHREAD_MUTEX_INITIALIZER;

void kryi_compiling_begin(const kry_device *dev)
{
    if (dev->info.gpu) return;
    clFinish(dev->queue); /* enqueued work may have to compile, too */
    pthread_mutex_lock(&compiling);
}

void kryi_compiling_end(const kry_device *dev)
{
    if (!dev->info.gpu) pthread_mutex_unlock(&compiling);
}

void kryi_compiling_count(kry_device *dev, double start)
{
    atomic_fetch_add(&dev->compile_ns, (int64_t)(1e9 * (kryi_now() - start)));
}

/* What PoCL compiles at the first launch. */
static void launch_key(const kryi_kernel *kernel, int size, char *key, size_t room)
{
    snprintf(key, room, "%s %d %016llx", kernel->name, size, (unsigned long long)kernel->hash);
}

void kryi_first_launch_begin(const kry_device *dev, const kryi_kernel *kernel, int size, int *lock)
{
    char key[200];

    *lock = -1;
    kryi_compiling_begin(dev);
    if (!dev->layout.comm->apart || !kryi_is_pocl(dev)) return;
    launch_key(kernel, size, key, sizeof key);
    *lock = kryi_disk_go_first(key);
}

void kryi_first_launch_end(const kry_device *dev, const kryi_kernel *kernel, int size, int lock)
{
    char key[200];

    launch_key(kernel, size, key, sizeof key);
    kryi_disk_unlock(key, lock);
    kryi_compiling_end(dev);
}
