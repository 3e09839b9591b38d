/* fuzz_cache.c - what is read back from the cache folder: a tuning file ("t..."), a compiled
 * program as it lies there ("r..."), or one whose header and key are right ("k..."), the rest being
 * the bytes behind. No device is needed. */
#include "fuzz.h"
#include "operator/op.h"

static const char key[] = "a key, of device, driver, options and text";

static void see(const char *name, const char *value, void *user)
{
    ENSURE(strlen(name) < 128 && strlen(value) < 256);
    ++*(int *)user;
}

static void read_tuning(const uint8_t *bytes, size_t size)
{
    kry_device dev = { .info = { .name = "none", .cpu_kernels = size % 2, .max_group = 256 } };
    char path[600], value[64];
    int lines = 0;
    kry_tuning_path(&dev, path, sizeof path);
    write_bytes(path, bytes, size);
    kryi_shape_load(&dev);
    ENSURE(dev.shape.group >= 1 && dev.shape.group <= 256 && dev.shape.chunks >= 1);
    kry_tuning_each(&dev, see, &lines);
    kryi_tuning_set(&dev, "format/0123", "csr 1e-3 s");
    ENSURE(kryi_tuning_get(&dev, "format/0123", value, sizeof value) &&
           !strcmp(value, "csr 1e-3 s"));
    kryi_tuning_release(&dev);
    ENSURE(kryi_tuning_get(&dev, "format/0123", value, sizeof value) &&
           !strcmp(value, "csr 1e-3 s"));
    kryi_tuning_release(&dev);
    unlink(path);
}

static void program_path(char *path, size_t size)
{
    snprintf(path, size, "%s/%016llx.bin", fuzz_folder(),
             (unsigned long long)kryi_hash(KRY_HASH_START, key, strlen(key)));
}

/* Nothing but what was stored whole comes back. */
static void read_program(const uint8_t *bytes, size_t size, bool with_key)
{
    char path[600];
    uint64_t header[4] = { 0, sizeof key - 1, size, kryi_hash(KRY_HASH_START, bytes, size) };
    unsigned char *binary = NULL;
    size_t got = 0;
    program_path(path, sizeof path);
    FILE *f = fopen(path, "wb");
    ENSURE(f);
    memcpy(header, "krybin1", 8);
    if (with_key) {
        ENSURE(fwrite(header, sizeof header, 1, f) == 1 && fwrite(key, sizeof key - 1, 1, f) == 1);
    }
    ENSURE(fwrite(bytes, 1, size, f) == size && !fclose(f));
    bool good = kryi_disk_load(key, &binary, &got);
    ENSURE(good == (binary != NULL) && good == (got > 0));
    if (with_key)
        ENSURE(good == (size > 0) && got == size && (!good || !memcmp(binary, bytes, size)));
    free(binary);
    unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size < 1) return 0;
    ENSURE(!setenv("KRY_CACHE_DIR", fuzz_folder(), 1));
    if (bytes[0] == 't')
        read_tuning(bytes + 1, size - 1);
    else
        read_program(bytes + 1, size - 1, bytes[0] == 'k');
    return 0;
}
