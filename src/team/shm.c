/* shm.c - memory that processes of one machine have in common: POSIX shared memory (team/shm.h). */
#include "team/shm.h"
#include "base/hooks.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH = 32, LARGE = 32 << 10 };

size_t kry_shm_large(void) { return kry_test_large ? (size_t)kry_test_large : LARGE; }

static void path_of(uint64_t token, char path[PATH])
{
    snprintf(path, PATH, "/kry-%016llx", (unsigned long long)token);
}

/* A number that no other process has, here or on another machine. */
static uint64_t new_token(const kry_shm *s)
{
    char host[64] = "";
    const double time = kry_now();
    const pid_t process = getpid();
    uint64_t token = KRY_HASH_START;

    (void)gethostname(host, sizeof host - 1);
    token = kry_hash(token, host, sizeof host);
    token = kry_hash(token, &time, sizeof time);
    token = kry_hash(token, &process, sizeof process);
    return kry_hash(token, &s, sizeof s);
}

/* Memory that is not there is noticed here, and not when it is written to. */
static bool reserve(int file, size_t bytes)
{
#ifdef __linux__
    return posix_fallocate(file, 0, (off_t)bytes) == 0;
#else /* not every system has it */
    return ftruncate(file, (off_t)bytes) == 0;
#endif
}

static void map(int file, kry_shm *s)
{
    void *memory = mmap(NULL, (size_t)s->name.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    s->memory = memory == MAP_FAILED ? NULL : memory;
}

void kry_shm_create(size_t bytes, kry_shm *s)
{
    char path[PATH];

    *s = (kry_shm){ .name = { new_token(s), bytes } };
    path_of(s->name.token, path);
    const int file =
        kry_test_fails() ? -1 : shm_open(path, O_RDWR | O_CREAT | O_EXCL, S_IRUSR | S_IWUSR);
    s->named = file >= 0;
    if (file >= 0 && reserve(file, bytes)) map(file, s);
    if (file >= 0) close(file);
    if (s->memory)
        memcpy(s->memory, &s->name.token, sizeof s->name.token);
    else
        kry_shm_release(s);
}

static bool is_ours(int file, size_t bytes)
{
    struct stat info;
    return fstat(file, &info) == 0 && info.st_uid == geteuid() && (size_t)info.st_size == bytes;
}

void kry_shm_open(const kry_shm_name *name, kry_shm *s)
{
    char path[PATH];

    *s = (kry_shm){ .name = *name };
    path_of(name->token, path);
    const int file = name->bytes ? shm_open(path, O_RDWR, 0) : -1;
    if (file >= 0 && is_ours(file, (size_t)name->bytes)) map(file, s);
    if (file >= 0) close(file);
    if (s->memory && memcmp(s->memory, &name->token, sizeof name->token) != 0) kry_shm_release(s);
}

void kry_shm_unname(kry_shm *s)
{
    char path[PATH];

    path_of(s->name.token, path);
    if (s->named) shm_unlink(path);
    s->named = false;
}

void kry_shm_release(kry_shm *s)
{
    kry_shm_unname(s);
    if (s->memory) munmap(s->memory, (size_t)s->name.bytes);
    *s = (kry_shm){ NULL };
}
