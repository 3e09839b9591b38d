/* system.c - processors, and what stands between the parts of a path. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "base/system.h"
#include <sched.h>
#include <string.h>
#include <unistd.h>

#ifndef KRY_SLASHES /* Windows has two (windows/posix.h) */
#define KRY_SLASHES "/"
#endif

int kryi_processors(void)
{
    long count = 0;

#ifdef __linux__
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) count = CPU_COUNT(&set);
#endif
    if (!count) count = sysconf(_SC_NPROCESSORS_ONLN);
    return count < 1 ? 1 : (int)count;
}

const char *kryi_file_name(const char *path)
{
    for (size_t n; path[n = strcspn(path, KRY_SLASHES)];) path += n + 1;
    return path;
}
