/* test_program.c - kernels found, compiled, cached in memory and on disk, never trusted blindly. */
#include "base/hooks.h"
#include "device/launch.h"
#include "device/program.h"
#include "unit.h"
#include "vector/vec.h"
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char cache[256];

static int make_cache(void **state)
{
    (void)state;
    const char *base = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
    snprintf(cache, sizeof cache, "%s/kry-test-XXXXXX", base);
    if (!mkdtemp(cache)) return -1;
    umask(022); /* files that others could write are not read */
    kryi_test_keep_pocl = true;
    return setenv("KRY_CACHE_DIR", cache, 1);
}

static const char *program_name(const char *key)
{
    static char name[32];
    uint64_t h = kryi_hash(KRY_HASH_START, key, strlen(key));
    snprintf(name, sizeof name, "%016llx.bin", (unsigned long long)h);
    return name;
}

static void store(const char *key) { kryi_disk_store(key, (const unsigned char *)"123", 3); }

static bool in_cache(const char *key)
{
    unsigned char *binary = NULL;
    size_t size;
    bool found = kryi_disk_load(key, &binary, &size);
    free(binary);
    return found;
}

/* Does something to every file of the cache; returns how many there were. */
static int for_each_file(void (*what)(const char *path))
{
    struct dirent *entry;
    DIR *dir = opendir(cache);
    int count = 0;
    if (!dir) return 0;
    while ((entry = readdir(dir))) {
        char path[600];
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", cache, entry->d_name);
        if (what) what(path);
        count++;
    }
    closedir(dir);
    return count;
}

static void remove_file(const char *path) { unlink(path); }

static int remove_cache(void **state)
{
    (void)state;
    for_each_file(remove_file);
    rmdir(cache);
    return unsetenv("KRY_CACHE_DIR");
}

/* Let a device that has nothing in memory yet fill a vector, and read it back. Returns how many programs were compiled
 * from source. */
static int use_fresh_device(void)
{
    kry_device *dev;
    kry_vec *v;
    float host[100];
    OK(kry_device_open(NULL, &dev));
    OK(kry_vec_create(dev, KRY_F32, 100, 1, &v));
    OK(kry_vec_fill(v, 3.5));
    OK(kry_vec_read(v, host));
    for (int i = 0; i < 100; i++) assert_true(host[i] == 3.5f);
    const int compiled = atomic_load(&dev->compiled);
    kry_vec_release(&v);
    kry_device_release(&dev);
    return compiled;
}

static void kernel__same_one_from_memory(void **state)
{
    (void)state;
    kry_device *dev;
    kryi_kernel *one, *two, *other;
    OK(kry_device_open(NULL, &dev));
    OK(kryi_kernel_get(dev, "vec", KRY_F32, "", "vec_fill", &one));
    OK(kryi_kernel_get(dev, "vec", KRY_F32, "", "vec_fill", &two));
    assert_ptr_equal(one, two);
    OK(kryi_kernel_get(dev, "vec", KRY_F32, "-DKRY_UNALIGNED", "vec_fill", &other));
    assert_ptr_not_equal(one, other);
    kry_device_release(&dev);
}

/* Not when it is asked for; and on GPUs no more of its file than the part that it is in. */
static void kernel__compiled_at_the_first_launch(void **state)
{
    (void)state;
    kry_device *dev;
    kryi_kernel *fill, *copy, *triad, *none;
    for_each_file(remove_file);
    OK(kry_device_open(NULL, &dev));
    OK(kryi_kernel_get(dev, "vec", KRY_F32, "", "vec_fill", &fill));
    OK(kryi_kernel_get(dev, "vec", KRY_F32, "", "vec_copy", &copy));
    OK(kryi_kernel_get(dev, "vec", KRY_F32, "", "vec_triad", &triad));
    OK(kryi_kernel_get(dev, "vec", KRY_F32, "", "vec_none", &none));
    assert_int_equal(for_each_file(NULL), 0);
    OK(kryi_kernel_ready(dev, fill));
    OK(kryi_kernel_ready(dev, fill));
    OK(kryi_kernel_ready(dev, copy));
    assert_int_equal(for_each_file(NULL), 1);
    OK(kryi_kernel_ready(dev, triad));
    assert_int_equal(for_each_file(NULL), dev->info.cpu_kernels ? 1 : 2);
    assert_int_equal(fill->hash == copy->hash, 1);
    assert_int_equal(fill->hash == triad->hash, dev->info.cpu_kernels);
    assert_int_equal(kryi_kernel_ready(dev, none), KRY_ERR_BUILD);
    assert_non_null(strstr(kry_last_error(), "vec_none"));
    assert_int_equal(kryi_launch(dev, none, 1, NULL, 0), KRY_ERR_BUILD); /* and again */
    kry_device_release(&dev);
}

static void disk__written_then_read(void **state)
{
    (void)state;
    for_each_file(remove_file);
    use_fresh_device();
    int files = for_each_file(NULL);
    assert_true(files >= 1);
    use_fresh_device();
    assert_int_equal(for_each_file(NULL), files);
}

/* PoCL would compile all kernels of a program for it, and has a cache of its own. */
static void disk__nothing_of_pocl(void **state)
{
    (void)state;
    kry_device *dev;
    OK(kry_device_open(NULL, &dev));
    const bool pocl = kryi_is_pocl(dev);
    kry_device_release(&dev);
    for_each_file(remove_file);
    kryi_test_keep_pocl = false;
    use_fresh_device();
    kryi_test_keep_pocl = true;
    assert_int_equal(for_each_file(NULL) > 0, !pocl);
}

/* PoCL compiles with flags of the environment besides. */
static void disk__flags_of_the_environment(void **state)
{
    (void)state;
    const char *flags = getenv("POCL_EXTRA_BUILD_FLAGS");
    char before[1000], other[1020];
    snprintf(before, sizeof before, "%s", flags ? flags : "");
    snprintf(other, sizeof other, "%s -DOTHER", before);

    for_each_file(remove_file);
    use_fresh_device();
    int files = for_each_file(NULL);
    setenv("POCL_EXTRA_BUILD_FLAGS", other, 1);
    use_fresh_device();
    assert_int_equal(for_each_file(NULL), 2 * files);
    if (flags)
        setenv("POCL_EXTRA_BUILD_FLAGS", before, 1);
    else
        unsetenv("POCL_EXTRA_BUILD_FLAGS");
    use_fresh_device();
    assert_int_equal(for_each_file(NULL), 2 * files);
}

static void truncate_file(const char *path) { assert_int_equal(truncate(path, 100), 0); }
static void empty_file(const char *path) { assert_int_equal(truncate(path, 0), 0); }

static void change_byte(const char *path, long from_end)
{
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    fseek(f, -from_end, SEEK_END);
    int c = fgetc(f);
    fseek(f, -from_end, SEEK_END);
    fputc(c ^ 0x40, f);
    fclose(f);
}
static void corrupt_binary(const char *path) { change_byte(path, 9); }

/* A byte of the key: as if the file were another driver's with the same hash. */
static void corrupt_key(const char *path)
{
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    fseek(f, 40, SEEK_SET);
    fputc('#', f);
    fclose(f);
}

static void huge_sizes(const char *path)
{
    uint64_t huge = UINT64_MAX / 2;
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    fseek(f, 16, SEEK_SET);
    fwrite(&huge, sizeof huge, 1, f);
    fclose(f);
}

static void give_away(const char *path) { assert_int_equal(chown(path, 65534, 65534), 0); }

static void disk__damaged_files_are_replaced(void **state)
{
    (void)state;
    void (*const damage[])(const char *) = { truncate_file, empty_file, corrupt_binary, corrupt_key,
                                             huge_sizes };
    for (size_t i = 0; i < COUNT(damage); i++) {
        use_fresh_device();
        assert_true(for_each_file(damage[i]) >= 1);
        use_fresh_device();
    }
}

/* A binary that is none, as of a driver that has been exchanged, in a file that is in order. */
static void forge_binary(const char *path)
{
    struct { /* src/device/program_disk.c */
        char magic[8];
        uint64_t key_size, binary_size, checksum;
    } header;
    static unsigned char rubbish[1 << 20];
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    assert_int_equal(fread(&header, sizeof header, 1, f), 1);
    if (header.binary_size > sizeof rubbish) {
        fclose(f);
        unlink(path);
        return;
    }
    header.checksum = kryi_hash(KRY_HASH_START, rubbish, header.binary_size);
    assert_int_equal(fseek(f, 0, SEEK_SET), 0);
    assert_int_equal(fwrite(&header, sizeof header, 1, f), 1);
    assert_int_equal(fseek(f, (long)header.key_size, SEEK_CUR), 0);
    assert_int_equal(fwrite(rubbish, 1, header.binary_size, f), header.binary_size);
    assert_int_equal(fclose(f), 0);
}

static void disk__binaries_that_the_driver_refuses(void **state)
{
    (void)state;
    use_fresh_device();
    assert_true(for_each_file(forge_binary) >= 1);
    use_fresh_device();
}

static void put_pipe(const char *path) { assert_int_equal(unlink(path) || mkfifo(path, 0600), 0); }
static void put_folder(const char *path) { assert_int_equal(unlink(path) || mkdir(path, 0700), 0); }
static void put_endless(const char *path)
{
    assert_int_equal(unlink(path) || symlink("/dev/zero", path), 0);
}
static void put_nowhere(const char *path)
{
    assert_int_equal(unlink(path) || symlink("/nowhere/at/all", path), 0);
}
static void put_text(const char *path)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_true(fputs("not what was here before\n", f) >= 0 && !fclose(f));
}
static void remove_anything(const char *path) { assert_int_equal(remove(path), 0); }

/* Nothing that stands where a file should be is read, and nothing is waited for. */
static void disk__foreign_things_in_its_place(void **state)
{
    (void)state;
    void (*const put[])(const char *) = { put_pipe, put_folder, put_endless, put_nowhere,
                                          put_text };
    for (size_t i = 0; i < COUNT(put); i++) {
        use_fresh_device();
        int files = for_each_file(put[i]);
        assert_true(files >= 1);
        use_fresh_device();
        assert_int_equal(for_each_file(NULL), files); /* replaced or not, and nothing besides */
        for_each_file(remove_anything);
    }
}

static void disk__place_with_too_long_a_name(void **state)
{
    (void)state;
    char place[2000];
    memset(place, 'x', sizeof place);
    place[0] = '/', place[sizeof place - 1] = 0;
    setenv("KRY_CACHE_DIR", place, 1);
    use_fresh_device();
    place[500] = 0; /* the name of a file in it is too long, or one of its parts */
    use_fresh_device();
    setenv("KRY_CACHE_DIR", cache, 1);
}

static void disk__other_owner_key_is_not_loaded(void **state)
{
    (void)state;
    unsigned char *binary = NULL;
    size_t size = 1;
    const unsigned char bytes[] = { 1, 2, 3 };
    kryi_disk_store("one key", bytes, sizeof bytes);
    assert_true(kryi_disk_load("one key", &binary, &size));
    assert_int_equal(size, 3);
    assert_memory_equal(binary, bytes, 3);
    free(binary);
    assert_false(kryi_disk_load("another key", &binary, &size));
    assert_null(binary);
    assert_int_equal(size, 0);
}

static void disk__unwritable_place_only_costs_time(void **state)
{
    (void)state;
    const char *const places[] = { "/proc/nowhere", "/dev/null/kry", "/dev/full", "" };
    for (size_t i = 0; i < COUNT(places); i++) {
        setenv("KRY_CACHE_DIR", places[i], 1);
        use_fresh_device();
    }
    setenv("KRY_CACHE_DIR", cache, 1);
}

/* A file of another user may hold anything; it is passed over, and made anew if that is allowed. */
static void disk__file_of_another_user(void **state)
{
    (void)state;
    const unsigned char bytes[] = { 1, 2, 3 };
    unsigned char *binary = NULL;
    size_t size;
    if (getuid() != 0) SKIP("files can only be given away by root");
    for_each_file(remove_file);
    kryi_disk_store("a key", bytes, sizeof bytes);
    for_each_file(give_away);
    assert_false(kryi_disk_load("a key", &binary, &size));
    assert_null(binary);
    kryi_disk_store("a key", bytes, sizeof bytes);
    assert_true(kryi_disk_load("a key", &binary, &size));
    free(binary);
}

/* A folder or a file that others can write may hold anything, and a link may lead anywhere. */
static void disk__what_others_can_write(void **state)
{
    (void)state;
    static const mode_t open_to[] = { 0702, 0720 };
    char name[600], path[600];
    struct stat info;
    kry_device *dev = NULL;
    OK(kry_device_open(NULL, &dev));
    for_each_file(remove_file);
    store("a key");
    snprintf(name, sizeof name, "%s/%s", cache, program_name("a key"));
    assert_int_equal(stat(name, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    assert_int_equal(chmod(name, 0620), 0);
    assert_false(in_cache("a key"));
    assert_int_equal(chmod(name, 0644), 0);
    assert_true(in_cache("a key"));
    for (size_t i = 0; i < COUNT(open_to); i++) {
        assert_int_equal(chmod(cache, open_to[i]), 0);
        assert_false(in_cache("a key"));
        store("another key");
        assert_string_equal(kry_tuning_path(dev, path, sizeof path), "");
        assert_int_equal(chmod(cache, 0700), 0);
        assert_int_equal(for_each_file(NULL), 1);
    }
    snprintf(path, sizeof path, "%s/elsewhere", cache);
    assert_int_equal(rename(name, path) || symlink(path, name), 0);
    assert_false(in_cache("a key"));
    for_each_file(remove_file);
    kry_device_release(&dev);
}

/* The file's last use was `age` seconds ago. */
static void set_age(const char *name, time_t age)
{
    char path[600];
    const struct timespec then = { .tv_sec = time(NULL) - age };
    snprintf(path, sizeof path, "%s/%s", cache, name);
    assert_int_equal(utimensat(AT_FDCWD, path, (struct timespec[]){ then, then }, 0), 0);
}

static void put_sized(const char *name, off_t size, time_t age)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", cache, name);
    FILE *f = fopen(path, "wb");
    assert_true(f && !ftruncate(fileno(f), size) && !fclose(f)); /* a hole: no room on the disk */
    set_age(name, age);
}

static bool is_there(const char *name)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", cache, name);
    return access(path, F_OK) == 0;
}

/* What a killed process has left behind goes, and above 256 MB the programs that were not used for longest;
 * files with other names are not kry's. */
static void disk__is_swept(void **state)
{
    (void)state;
    enum { HOUR = 3600, LARGE = 100 << 20 };
    for_each_file(remove_file);
    store("unused"), store("used");
    set_age(program_name("unused"), 50 * HOUR);
    set_age(program_name("used"), 50 * HOUR);
    assert_true(in_cache("used")); /* from now on it counts as new */
    put_sized("0123456789abcdef.bin.12.a", 10, 2 * HOUR);
    put_sized("0123456789abcdef.bin.lock", 10, 2 * HOUR);
    put_sized("tuning-0123456789abcdef.txt.12.a", 10, 2 * HOUR);
    put_sized("0123456789abcdef.bin.13.a", 10, 60);
    put_sized("0123456789abcdef.bin.backup", LARGE, 90 * HOUR);
    put_sized("letter.bin", LARGE, 90 * HOUR);
    put_sized("tuning-0123456789abcdef.txt", 10, 90 * HOUR);
    put_sized("0000000000000001.bin", LARGE, 30 * HOUR);
    put_sized("0000000000000002.bin", LARGE, 20 * HOUR);
    put_sized("0000000000000003.bin", LARGE, 10 * HOUR);
    store("new");
    assert_true(in_cache("new") && in_cache("used"));
    assert_false(is_there("0123456789abcdef.bin.12.a") || is_there("0123456789abcdef.bin.lock"));
    assert_false(is_there("tuning-0123456789abcdef.txt.12.a"));
    assert_false(in_cache("unused") || is_there("0000000000000001.bin"));
    assert_true(is_there("0000000000000002.bin") && is_there("0000000000000003.bin"));
    assert_true(is_there("0123456789abcdef.bin.13.a") && is_there("tuning-0123456789abcdef.txt"));
    assert_true(is_there("0123456789abcdef.bin.backup") && is_there("letter.bin"));
    for_each_file(remove_file);
}

/* What is in a folder that may only be read is used, and nothing is added. Root may write
 * everywhere, so it is somebody else meanwhile. */
static void disk__read_only_folder(void **state)
{
    (void)state;
    const unsigned char bytes[] = { 1, 2, 3 };
    unsigned char *binary = NULL;
    size_t size;
    for_each_file(remove_file);
    kryi_disk_store("old", bytes, sizeof bytes);
    int files = for_each_file(NULL);
    assert_int_equal(chmod(cache, 0555), 0);
    bool root = geteuid() == 0;
    if (root) assert_int_equal(seteuid(65534), 0);
    kryi_disk_store("new", bytes, sizeof bytes);
    assert_false(kryi_disk_load("new", &binary, &size));
    if (!root) assert_true(kryi_disk_load("old", &binary, &size));
    free(binary);
    if (root) assert_int_equal(seteuid(0), 0);
    assert_int_equal(for_each_file(NULL), files);
    assert_int_equal(chmod(cache, 0755), 0);
}

/* No file grows beyond 200 bytes, as on a disk that is full: nothing is left behind. */
static void disk__full(void **state)
{
    (void)state;
    static unsigned char bytes[100000];
    unsigned char *binary = NULL;
    size_t size;
    struct rlimit old, little;
    void (*was)(int) = signal(SIGXFSZ, SIG_IGN);
    for_each_file(remove_file);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    little = old;
    little.rlim_cur = 200;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
    kryi_disk_store("large", bytes, sizeof bytes);
    bool found = kryi_disk_load("large", &binary, &size);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    signal(SIGXFSZ, was);
    assert_false(found);
    assert_int_equal(for_each_file(NULL), 0);
    use_fresh_device();
}

enum { OTHER_DEVICE = 77 };

/* This program does so when disk__two_programs_at_once starts it. Returns its exit status. */
static int run_as_child(const char *device_of_parent)
{
    kry_device *dev;

    const kry_status st = kry_device_open(NULL, &dev);
    const bool missing = st == KRY_ERR_DEVICE || st == KRY_ERR_ARGUMENT;
    if (st < 0) return missing ? OTHER_DEVICE : 1;
    const bool same = !strcmp(kry_device_get_info(dev)->name, device_of_parent);
    kry_device_release(&dev);
    if (!same) return OTHER_DEVICE;
    kryi_test_keep_pocl = true;
    use_fresh_device();
    return 0;
}

/* The program itself, twice at once on a cold cache, compiling with OpenCL for one device: a third process compiles nothing. */
static void disk__two_programs_at_once(void **state)
{
    if (getenv("KRY_VALGRIND")) SKIP("programs that it starts are not under Valgrind");
    (void)state;
    kry_device *dev;
    pid_t child[2];
    bool same = true;
    OK(kry_device_open(NULL, &dev));
    setenv("KRY_TEST_CHILD", kry_device_get_info(dev)->name, 1);
    kry_device_release(&dev);
    for_each_file(remove_file);
    for (int i = 0; i < 2; i++) {
        child[i] = fork();
        if (child[i] == 0) {
            execl("/proc/self/exe", "test_program", (char *)NULL);
            _exit(1);
        }
    }
    for (int i = 0; i < 2; i++) {
        int status;
        waitpid(child[i], &status, 0);
        assert_true(WIFEXITED(status));
        same = same && WEXITSTATUS(status) != OTHER_DEVICE;
        if (same) assert_int_equal(WEXITSTATUS(status), 0);
    }
    unsetenv("KRY_TEST_CHILD");
    if (!same) SKIP("the driver gives this device to one process at a time");
    int files = for_each_file(NULL);
    assert_true(files >= 1);
    assert_int_equal(use_fresh_device(), 0);
    assert_int_equal(for_each_file(NULL), files);
}

/* Eight processes on one cold cache, all building and storing at once. */
static void disk__many_processes_at_once(void **state)
{
    (void)state;
    for_each_file(remove_file);
    pid_t child[8];
    for (int i = 0; i < 8; i++) {
        child[i] = fork();
        if (child[i] == 0) {
            /* Not OpenCL: a driver does not survive a fork. The files are what is shared. */
            unsigned char bytes[5000], *back;
            size_t size;
            int good = 1;
            memset(bytes, 7, sizeof bytes);
            for (int k = 0; k < 200 && good; k++) {
                kryi_disk_store("shared", bytes, sizeof bytes);
                good = kryi_disk_load("shared", &back, &size) && size == sizeof bytes &&
                       !memcmp(back, bytes, size);
                free(back);
            }
            _exit(good ? 0 : 1);
        }
    }
    for (int i = 0; i < 8; i++) {
        int status;
        waitpid(child[i], &status, 0);
        assert_int_equal(status, 0);
    }
    assert_int_equal(for_each_file(NULL), 1); /* no temporary file is left */
}

/* ---- locks: a child holds one ---------------------------------------------------------------- */

/* A child that has the lock of a program's file and keeps it for so many milliseconds, after which `then` is called
 * (NULL: it keeps it until it is killed). */
static pid_t child_with_lock(const char *of, int milliseconds, void (*then)(void))
{
    int ready[2];
    char byte = 0;

    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int lock = kryi_cache_lock(of, 10);
        if (lock < 0 || write(ready[1], &byte, 1) != 1) _exit(1);
        nanosleep(&(struct timespec){ .tv_nsec = milliseconds * 1000000L }, NULL);
        if (!then) pause();
        then();
        kryi_cache_unlock(of, lock);
        _exit(0);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]), close(ready[1]);
    return child;
}

static void wait_for(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
}

static void nothing(void) {}

static void lock__is_waited_for_and_let_go(void **state)
{
    (void)state;
    char path[600];
    double start = seconds_now();

    for_each_file(remove_file);
    snprintf(path, sizeof path, "%s/%s", cache, program_name("lock"));
    pid_t child = child_with_lock(path, 300, nothing);
    int lock = kryi_cache_lock(path, 10);
    assert_true(lock >= 0 && seconds_now() - start >= 0.3);
    kryi_cache_unlock(path, lock);
    wait_for(child);
    assert_int_equal(for_each_file(NULL), 0);
    /* No longer than that. */
    child = child_with_lock(path, 0, NULL);
    start = seconds_now();
    assert_int_equal(kryi_cache_lock(path, 0.2), -1);
    assert_true(seconds_now() - start >= 0.2);
    /* Who is killed lets go. */
    kill(child, SIGKILL);
    wait_for(child);
    assert_true((lock = kryi_cache_lock(path, 10)) >= 0);
    kryi_cache_unlock(path, lock);
    assert_int_equal(for_each_file(NULL), 0);
    assert_int_equal(kryi_cache_lock("/proc/none/0123456789abcdef.bin", 10), -1);
}

/* The first one goes on with the lock; who comes meanwhile waits, and then has none. */
static void lock__first_of_several_goes_first(void **state)
{
    (void)state;
    int ready[2], status;
    char byte = 0;

    for_each_file(remove_file);
    int lock = kryi_disk_go_first("vec_dot 128"), again;
    assert_true(lock >= 0);
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const double start = seconds_now();
        if (write(ready[1], &byte, 1) != 1 || kryi_disk_go_first("vec_dot 128") != -1) _exit(1);
        const double waited = seconds_now() - start;
        _exit(waited >= 0.2 && waited < 30 ? 0 : 2);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_true((again = kryi_disk_go_first("vec_dot 64")) >= 0); /* another kernel */
    kryi_disk_unlock("vec_dot 64", again);
    nanosleep(&(struct timespec){ .tv_nsec = 300000000L }, NULL);
    kryi_disk_unlock("vec_dot 128", lock);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_true((lock = kryi_disk_go_first("vec_dot 128")) >= 0); /* nobody is there any more */
    kryi_disk_unlock("vec_dot 128", lock);
    assert_int_equal(for_each_file(NULL), 0);
    close(ready[0]), close(ready[1]);
}

static char program_path[600], hidden_path[620];
static void note_path(const char *path) { snprintf(program_path, sizeof program_path, "%s", path); }
static void bring_back(void) { (void)!rename(hidden_path, program_path); }

/* While another process builds the program, this one waits, and then loads what that one has stored. */
static void lock__program_of_another_process_is_loaded(void **state)
{
    (void)state;
    struct stat before, after;
    kry_device *dev;
    kryi_kernel *k;

    for_each_file(remove_file);
    OK(kry_device_open(NULL, &dev));
    OK(kryi_kernel_get(dev, "vec", KRY_F32, "", "vec_fill", &k));
    OK(kryi_kernel_ready(dev, k));
    kry_device_release(&dev);
    assert_int_equal(for_each_file(note_path), 1);
    snprintf(hidden_path, sizeof hidden_path, "%s/.hidden", cache);
    assert_int_equal(stat(program_path, &before), 0);
    assert_int_equal(rename(program_path, hidden_path), 0);
    pid_t child = child_with_lock(program_path, 300, bring_back);
    OK(kry_device_open(NULL, &dev));
    OK(kryi_kernel_get(dev, "vec", KRY_F32, "", "vec_fill", &k));
    OK(kryi_kernel_ready(dev, k));
    kry_device_release(&dev);
    wait_for(child);
    assert_int_equal(stat(program_path, &after), 0);
    assert_true(after.st_ino == before.st_ino); /* it was not built and stored once more */
    assert_int_equal(for_each_file(NULL), 1);
}

static void kernels__directory_without_them(void **state)
{
    (void)state;
    const char *old = getenv("KRY_CL_PATH");
    char *kept = old ? strdup(old) : NULL, path[600];
    kry_device *dev;
    kry_vec *v;
    setenv("KRY_CL_PATH", cache, 1);
    OK(kry_device_open(NULL, &dev));
    assert_int_equal(kry_vec_create(dev, KRY_F32, 10, 1, &v), KRY_ERR_BUILD);
    assert_null(v);
    assert_non_null(strstr(kry_last_error(), "kry.clh"));
    assert_int_equal(device_references(dev), 1);
    snprintf(path, sizeof path, "%s/common", cache);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/common/kry.clh", cache);
    FILE *f = fopen(path, "wb");
    assert_true(f && fputs("#pragma kry version 0.0.1\n", f) >= 0 && !fclose(f));
    assert_int_equal(kry_vec_create(dev, KRY_F32, 10, 1, &v), KRY_ERR_BUILD);
    assert_non_null(strstr(kry_last_error(), "not those of version"));
    assert_int_equal(remove(path), 0);
    snprintf(path, sizeof path, "%s/common", cache);
    assert_int_equal(rmdir(path), 0);
    for_each_file(remove_file);
    if (kept)
        setenv("KRY_CL_PATH", kept, 1);
    else
        unsetenv("KRY_CL_PATH");
    OK(kry_vec_create(dev, KRY_F32, 10, 1, &v)); /* the same device goes on */
    kry_vec_release(&v);
    kry_device_release(&dev);
    free(kept);
}

static void device_kernel__callers_source(void **state)
{
    (void)state;
    static const char source[] = "kernel void twice(long n, global REAL *x)\n"
                                 "{\n    FOR_EACH(i, n) x[i] = FACTOR * x[i];\n}\n";
    kry_device *dev;
    kry_vec *v;
    cl_kernel kernel = NULL;
    float host[100];
    long long n = 100;
    OK(kry_device_open(NULL, &dev));
    OK(kry_device_kernel(dev, KRY_F32, "twice", source, "-DFACTOR=2", "twice", &kernel));
    OK(kry_vec_create(dev, KRY_F32, n, 1, &v));
    OK(kry_vec_fill(v, 1.5));
    const kry_arg args[] = { KRY_ARG(n), KRY_ARG(v->buffer) };
    OK(kry_device_launch(dev, kernel, kry_device_groups(dev, KRY_F32, n), 0, args, 2));
    OK(kry_device_launch(dev, kernel, 0, 0, args, 2)); /* nothing */
    OK(kry_vec_read(v, host));
    for (int i = 0; i < 100; i++) assert_true(host[i] == 3.0f);
    const kry_arg wrong[] = { KRY_ARG(host[0]), KRY_ARG(v->buffer) };
    assert_int_equal(kry_device_launch(dev, kernel, 1, 0, wrong, 2), KRY_ERR_DEVICE);
    assert_non_null(strstr(kry_last_error(), "kernel twice, 1 groups"));
    int most = kry_device_get_info(dev)->max_group;
    assert_int_equal(kry_device_launch(dev, kernel, 1, 2 * most, args, 2), KRY_ERR_UNSUPPORTED);
    assert_int_equal(kry_device_launch(dev, kernel, -1, 0, args, 2), KRY_ERR_ARGUMENT);
    assert_int_equal(kry_device_launch(dev, NULL, 1, 0, args, 2), KRY_ERR_ARGUMENT);
    clReleaseKernel(kernel);
    assert_int_equal(
        kry_device_kernel(dev, KRY_F32, "broken", "kernel void f( { }", NULL, "f", &kernel),
        KRY_ERR_BUILD);
    assert_non_null(strstr(kry_last_error(), "broken"));
    assert_int_equal(
        kry_device_kernel(dev, KRY_F32, "twice", source, "-DFACTOR=2", "thrice", &kernel),
        KRY_ERR_BUILD);
    assert_non_null(strstr(kry_last_error(), "thrice"));
    kry_vec_release(&v);
    kry_device_release(&dev);
}

/* A file of the kernel directory, with the files that it names put in front of it. */
static void device_kernel__file(void **state)
{
    (void)state;
    kry_device *dev;
    cl_kernel kernel = NULL;
    OK(kry_device_open(NULL, &dev));
    OK(kry_device_kernel(dev, KRY_F32, "dense", NULL, NULL, "dense_fill", &kernel));
    clReleaseKernel(kernel);
    assert_int_equal(kry_device_kernel(dev, KRY_F32, "no_such_file", NULL, NULL, "f", &kernel),
                     KRY_ERR_BUILD);
    assert_non_null(strstr(kry_last_error(), "no_such_file.cl"));
    assert_null(kernel);
    kry_device_release(&dev);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernel__same_one_from_memory),
        cmocka_unit_test(kernel__compiled_at_the_first_launch),
        cmocka_unit_test(disk__written_then_read),
        cmocka_unit_test(disk__nothing_of_pocl),
        cmocka_unit_test(disk__flags_of_the_environment),
        cmocka_unit_test(disk__damaged_files_are_replaced),
        cmocka_unit_test(disk__binaries_that_the_driver_refuses),
        cmocka_unit_test(disk__foreign_things_in_its_place),
        cmocka_unit_test(disk__place_with_too_long_a_name),
        cmocka_unit_test(disk__other_owner_key_is_not_loaded),
        cmocka_unit_test(disk__unwritable_place_only_costs_time),
        cmocka_unit_test(disk__file_of_another_user),
        cmocka_unit_test(disk__what_others_can_write),
        cmocka_unit_test(disk__is_swept),
        cmocka_unit_test(disk__read_only_folder),
        cmocka_unit_test(disk__full),
        cmocka_unit_test(disk__two_programs_at_once),
        cmocka_unit_test(disk__many_processes_at_once),
        cmocka_unit_test(lock__is_waited_for_and_let_go),
        cmocka_unit_test(lock__first_of_several_goes_first),
        cmocka_unit_test(lock__program_of_another_process_is_loaded),
        cmocka_unit_test(kernels__directory_without_them),
        cmocka_unit_test(device_kernel__callers_source),
        cmocka_unit_test(device_kernel__file),
    };
    const char *device_of_parent = getenv("KRY_TEST_CHILD");
    if (device_of_parent) return run_as_child(device_of_parent);
    alarm(800); /* what hangs is killed */
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("program", tests, make_cache, remove_cache);
}
