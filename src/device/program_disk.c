/*
 * program_disk.c - compiled programs on disk.
 *
 * NVIDIA's driver takes tenths of a second to build a program, and 2 ms from a binary. PoCL has a cache of its own, and is not
 * asked for binaries (program_build.c).
 *
 * There is one file per program: a header, the full key (device, driver, options, source), the
 * binary. It is used only if it is complete and has the same key and the right checksum.
 */
#include "device/launch.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct header {
    char magic[8];
    uint64_t key_size, binary_size, checksum; /* in this machine's byte order */
} header;
static const char magic[8] = "krybin1";

uint64_t kryi_hash(uint64_t h, const void *bytes, size_t size)
{
    const unsigned char *b = bytes;
    for (size_t i = 0; i < size; i++) h = (h ^ b[i]) * UINT64_C(0x100000001b3);
    return h;
}

static bool file_name(const char *key, char *path, size_t size)
{
    char dir[512];
    uint64_t h = kryi_hash(KRY_HASH_START, key, strlen(key));
    return kryi_cache_directory(dir, sizeof dir) &&
           snprintf(path, size, "%s/%016llx.bin", dir, (unsigned long long)h) < (int)size;
}

/* Whether the file has the size of a header, this key and a binary. */
static bool header_fits(FILE *f, const char *key, header *h)
{
    struct stat info;
    if (fstat(fileno(f), &info) || info.st_size < 0) return false;
    uint64_t size = (uint64_t)info.st_size;
    return fread(h, sizeof *h, 1, f) == 1 && !memcmp(h->magic, magic, sizeof magic) &&
           h->key_size == strlen(key) && h->binary_size > 0 && h->binary_size <= size &&
           size == sizeof *h + h->key_size + h->binary_size;
}

bool kryi_disk_load(const char *key, unsigned char **binary, size_t *size)
{
    char path[600], *stored = NULL;
    unsigned char *bytes = NULL;
    header h;
    bool good = false;
    FILE *f = file_name(key, path, sizeof path) ? kryi_cache_open(path) : NULL;

    if (!f || !header_fits(f, key, &h)) goto done;
    if (kryi_alloc(h.key_size, 1, &stored) < 0 || kryi_alloc(h.binary_size, 1, &bytes) < 0)
        goto done;
    good = fread(stored, 1, h.key_size, f) == h.key_size && !memcmp(stored, key, h.key_size) &&
           fread(bytes, 1, h.binary_size, f) == h.binary_size &&
           kryi_hash(KRY_HASH_START, bytes, h.binary_size) == h.checksum;
    if (good) futimens(fileno(f), NULL); /* it was used just now: see cache_folder.c */
done:
    if (f) fclose(f);
    free(stored);
    if (!good) free(bytes), bytes = NULL;
    *binary = bytes;
    *size = good ? (size_t)h.binary_size : 0;
    return good;
}

void kryi_disk_store(const char *key, const unsigned char *binary, size_t size)
{
    char path[600];
    header h = { .key_size = strlen(key),
                 .binary_size = size,
                 .checksum = kryi_hash(KRY_HASH_START, binary, size) };

    memcpy(h.magic, magic, sizeof magic);
    if (!file_name(key, path, sizeof path)) return;
    kryi_cache_write(path,
                     (kryi_piece[]){ { &h, sizeof h }, { key, h.key_size }, { binary, size } }, 3);
}

enum { LONGEST = 60 }; /* seconds: longer than a program is built, unless its process is stopped */

/* Processes that are started together, as ranks are, all want the same programs. */
int kryi_disk_lock(const char *key)
{
    char path[600];
    return file_name(key, path, sizeof path) ? kryi_cache_lock(path, LONGEST) : -1;
}

int kryi_disk_go_first(const char *key)
{
    char path[600];
    int lock = -1;

    if (!file_name(key, path, sizeof path)) return -1;
    if ((lock = kryi_cache_lock(path, 0)) >= 0) return lock;
    kryi_cache_unlock(path, kryi_cache_lock(path, LONGEST));
    return -1;
}

void kryi_disk_unlock(const char *key, int lock)
{
    char path[600];

    if (lock >= 0 && file_name(key, path, sizeof path)) kryi_cache_unlock(path, lock);
}
