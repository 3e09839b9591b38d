/* tuning.c - results of measurements on a device, kept in a text file for each device and
 * driver. */
#include "device/launch.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST = 256 * 1024 }; /* bytes; a larger file loses its older half */

/* Held while a text is read or replaced, because threads may share a device. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

const char *kry_tuning_path(kry_device *dev, char *path, size_t size)
{
    if (path && size) path[0] = 0;
    if (!dev || !path || !size) return path;
    const kry_device_info *d = &dev->info;
    const char *part[] = { d->platform, d->name, d->version, d->driver };
    char dir[512];
    uint64_t h = KRY_HASH_START;

    for (size_t i = 0; i < COUNT(part); i++) h = kryi_hash(h, part[i], strlen(part[i]) + 1);
    h = kryi_hash(h, &d->cpu_kernels, sizeof d->cpu_kernels); /* KRY_PROFILE may say otherwise */
    h = kryi_hash(h, &d->max_group, sizeof d->max_group);
    if (!kryi_cache_directory(dir, sizeof dir) ||
        snprintf(path, size, "%s/tuning-%016llx.txt", dir, (unsigned long long)h) >= (int)size)
        path[0] = 0;
    return path;
}

/* ---- the text: lines "name value"; # begins a comment ---------------------------------------- */

static char *read_file(const char *path)
{
    char *text = NULL;
    FILE *f = kryi_cache_open(path);

    if (f && kryi_alloc(LARGEST + 1, 1, &text) == KRY_OK) {
        size_t size = fread(text, 1, LARGEST, f);
        text[size] = 0;
        char *end = strrchr(text, '\n'); /* ignore an incomplete last line */
        if (end)
            end[1] = 0;
        else
            text[0] = 0;
    }
    if (f) fclose(f);
    return text;
}

/* The text in memory, read on the first call; NULL only if there is no memory for it. */
static const char *text_of(kry_device *dev)
{
    char path[600];

    if (!dev->tuning && *kry_tuning_path(dev, path, sizeof path)) dev->tuning = read_file(path);
    if (!dev->tuning) kryi_alloc(1, 1, &dev->tuning);
    return dev->tuning;
}

static const char *find_line(const char *text, const char *name)
{
    size_t length = strlen(name);
    for (const char *line = text; line && *line; line = strchr(line, '\n') + 1)
        if (!strncmp(line, name, length) && line[length] == ' ') return line;
    return NULL;
}

bool kryi_tuning_has(kry_device *dev, const char *start)
{
    const size_t length = strlen(start);

    pthread_mutex_lock(&lock);
    const char *line = text_of(dev);
    while (line && *line && strncmp(line, start, length) != 0) line = strchr(line, '\n') + 1;
    const bool has = line && *line;
    pthread_mutex_unlock(&lock);
    return has;
}

bool kryi_tuning_get(kry_device *dev, const char *name, char *value, size_t size)
{
    pthread_mutex_lock(&lock);
    const char *text = text_of(dev), *line = text ? find_line(text, name) : NULL;
    if (line) line += strlen(name) + 1;
    bool found = line && snprintf(value, size, "%.*s", (int)strcspn(line, "\n"), line) < (int)size;
    pthread_mutex_unlock(&lock);
    return found;
}

void kry_tuning_each(kry_device *dev, void (*each)(const char *name, const char *value, void *user),
                     void *user)
{
    char name[128], value[256];

    if (!dev || !each) return;
    pthread_mutex_lock(&lock);
    for (const char *line = text_of(dev); line && *line; line = strchr(line, '\n') + 1)
        if (*line != '#' && sscanf(line, "%127s %255[^\n]", name, value) == 2)
            each(name, value, user);
    pthread_mutex_unlock(&lock);
}

/* ---- writing: read the file again, for another process may have changed it --------------------- */

/* Remove the lines of that name (a file written by hand may have several) and append a new one. */
static char *with_line(kry_device *dev, const char *old, const char *name, const char *value)
{
    const kry_device_info *d = &dev->info;
    size_t room = strlen(old) + strlen(name) + strlen(value) + 512, used = 0;
    char *text = NULL;

    if (kryi_alloc(room, 1, &text) < 0) return NULL;
    if (!*old)
        used = (size_t)snprintf(text, room, "# kry on %s, %s, driver %s\n", d->name, d->platform,
                                d->driver);
    for (const char *line; (line = find_line(old, name)); old = strchr(line, '\n') + 1) {
        memcpy(text + used, old, (size_t)(line - old));
        used += (size_t)(line - old);
    }
    snprintf(text + used, room - used, "%s%s %s\n", old, name, value);
    return text;
}

/* If the text is too large, remove its older half in place, but for what `kry tune` found. */
static void drop_older_half(char *text)
{
    size_t size = strlen(text), kept = 0;
    char *middle = text + size / 2;

    if (size < LARGEST - 1024) return;
    for (char *line = text, *next; *line; line = next) {
        next = strchr(line, '\n') + 1;
        if (line < middle && !strncmp(line, "format/", 7)) continue;
        memmove(text + kept, line, (size_t)(next - line));
        kept += (size_t)(next - line);
    }
    text[kept] = 0;
}

static void set_line(kry_device *dev, const char *name, const char *value)
{
    char path[600], *fresh = NULL, *text;
    bool kept = *kry_tuning_path(dev, path, sizeof path) != 0;

    if (kept) fresh = read_file(path);
    if (!fresh) text_of(dev);
    char *old = fresh ? fresh : dev->tuning;
    if (old) drop_older_half(old);
    text = old ? with_line(dev, old, name, value) : NULL;
    free(fresh);
    if (!text) return;
    if (kept) kryi_cache_write(path, &(kryi_piece){ text, strlen(text) }, 1);
    free(dev->tuning);
    dev->tuning = text;
}

void kryi_tuning_set(kry_device *dev, const char *name, const char *value)
{
    pthread_mutex_lock(&lock);
    set_line(dev, name, value);
    pthread_mutex_unlock(&lock);
}

void kryi_tuning_release(kry_device *dev)
{
    free(dev->tuning);
    dev->tuning = NULL;
}
