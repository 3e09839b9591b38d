/*
 * cache_folder.c - the folder of compiled programs and tuning files.
 *
 * What stands in it is handed to the driver as code, so kry uses the folder, and a file in it, only if it
 * belongs to the user and nobody else may write to it. Files are written under another name and renamed,
 * so no process ever reads half of one. A file that takes long to make has a lock.
 */
#include "base/system.h"
#include "device/launch.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static bool is_private(const struct stat *info, mode_t kind)
{
    return (info->st_mode & S_IFMT) == kind && info->st_uid == geteuid() &&
           !(info->st_mode & (S_IWGRP | S_IWOTH));
}

/* Open a folder; -1 if that fails or if it is not private, nor the link that leads to it the user's. */
static int open_folder(const char *dir)
{
    struct stat info, link;
    int folder = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (folder < 0) return -1;
    if (!fstat(folder, &info) && is_private(&info, S_IFDIR) && !lstat(dir, &link) &&
        link.st_uid == geteuid())
        return folder;
    close(folder);
    errno = EPERM;
    return -1;
}

/* Open the folder of a file; *name: what the file is called there. */
static int open_folder_of(const char *path, const char **name)
{
    char dir[600];
    const int length = (int)(kryi_file_name(path) - path) - 1;

    if (length < 0 || length >= (int)sizeof dir) return -1;
    snprintf(dir, sizeof dir, "%.*s", length, path);
    *name = path + length + 1;
    return open_folder(dir);
}

bool kryi_cache_directory(char *dir, size_t size)
{
    const char *own = getenv("KRY_CACHE_DIR"), *xdg = getenv("XDG_CACHE_HOME"),
               *home = getenv("HOME"), *local = getenv("LOCALAPPDATA"); /* of Windows */
    int n = -1;
    if (own)
        n = snprintf(dir, size, "%s", own);
    else if (xdg && *xdg == '/') /* relative ones are to be left alone, says XDG's specification */
        n = snprintf(dir, size, "%s/kry", xdg);
    else if (home && *home == '/')
        n = snprintf(dir, size, "%s/.cache/kry", home);
    else if (local)
        n = snprintf(dir, size, "%s/kry", local);
    if (n <= 0 || (size_t)n >= size) return false;
    int folder = open_folder(dir);
    if (folder < 0) return errno == ENOENT; /* it will be made */
    close(folder);
    return true;
}

static void make_directories(const char *path)
{
    char part[600];
    if (strlen(path) >= sizeof part) return;
    strcpy(part, path);
    for (char *at = part + 1; (at = strchr(at, '/')); at++) {
        *at = 0;
        mkdir(part, 0700); /* any error shows when the folder is opened */
        *at = '/';
    }
}

/* ---- what is removed ---------------------------------------------------------------------- */

/* Seconds after which a file that is being written, or a lock, counts as left behind by a process that was killed;
 * bytes of all files, above which the programs go that have not been used for longest; how many of them
 * go at a time. */
enum { ABANDONED = 3600, MOST_BYTES = 256 << 20, AT_A_TIME = 8 };

/* What stands behind "0123456789abcdef.bin" or "tuning-0123456789abcdef.txt" in a file's name: "", or
 * ".PID.NUMBER" while it is being written, ".lock"; NULL: the file is not kry's. */
static const char *behind_name(const char *name, bool *tuning)
{
    int end = 0;

    *tuning = !strncmp(name, "tuning-", 7);
    if (*tuning) name += 7;
    if (strspn(name, "0123456789abcdef") != 16 || strncmp(name + 16, *tuning ? ".txt" : ".bin", 4))
        return NULL;
    name += 20;
    if (!strcmp(name, ".lock")) return name;
    if (*name) (void)sscanf(name, ".%*d.%*x%n", &end);
    return name[end] ? NULL : name;
}

/* Remove the files that were left behind. Returns the bytes of the others; `oldest` of them is the program
 * that has not been used for longest, "" if there is none. */
static int64_t look_through(DIR *folder, char oldest[32])
{
    const time_t now = time(NULL);
    time_t since = 0;
    int64_t bytes = 0;
    bool tuning;

    *oldest = 0;
    rewinddir(folder);
    for (const struct dirent *e; (e = readdir(folder));) {
        const char *rest = behind_name(e->d_name, &tuning);
        struct stat info;
        if (!rest || fstatat(dirfd(folder), e->d_name, &info, AT_SYMLINK_NOFOLLOW)) continue;
        if (*rest && now - info.st_mtime > ABANDONED) {
            unlinkat(dirfd(folder), e->d_name, 0);
            continue;
        }
        bytes += info.st_size;
        if (*rest || tuning || (*oldest && info.st_mtime >= since)) continue;
        since = info.st_mtime;
        snprintf(oldest, 32, "%.31s", e->d_name);
    }
    return bytes;
}

static void sweep(int fd)
{
    DIR *folder = fdopendir(fd);
    char oldest[32];

    if (!folder) {
        close(fd);
        return;
    }
    for (int i = 0; i < AT_A_TIME && look_through(folder, oldest) > MOST_BYTES && *oldest; i++)
        if (unlinkat(fd, oldest, 0)) break;
    closedir(folder);
}

/* ---- reading and writing ------------------------------------------------------------------ */

void kryi_cache_write(const char *path, const kryi_piece *pieces, int count)
{
    char temporary[100];
    const char *name;

    make_directories(path);
    int folder = open_folder_of(path, &name);
    if (folder < 0) return;
    snprintf(temporary, sizeof temporary, "%.60s.%ld.%x", name, (long)getpid(), kryi_ticket());
    int file =
        openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    FILE *f = file >= 0 ? fdopen(file, "wb") : NULL;
    bool whole = f != NULL;
    for (int i = 0; i < count && whole; i++)
        whole = fwrite(pieces[i].bytes, 1, pieces[i].size, f) == pieces[i].size;
    if (f)
        whole = fclose(f) == 0 && whole;
    else if (file >= 0)
        close(file);
    if (file >= 0 && (!whole || renameat(folder, temporary, folder, name)))
        unlinkat(folder, temporary, 0);
    sweep(folder);
}

FILE *kryi_cache_open(const char *path)
{
    struct stat info;
    const char *name;
    FILE *f = NULL;
    int folder = open_folder_of(path, &name), file = -1;

    if (folder < 0) return NULL;
    file = openat(folder, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    close(folder);
    if (file >= 0 && !fstat(file, &info) && is_private(&info, S_IFREG)) f = fdopen(file, "rb");
    if (file >= 0 && !f) close(file);
    return f;
}

/* ---- locks -------------------------------------------------------------------------------- */

/* Open the lock's file, which may be there already. */
static int open_lock(const char *path)
{
    struct stat info;
    char file[40];
    const char *name;
    int folder, lock;

    make_directories(path);
    if ((folder = open_folder_of(path, &name)) < 0) return -1;
    snprintf(file, sizeof file, "%.30s.lock", name);
    lock = openat(folder, file, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    close(folder);
    if (lock >= 0 && (fstat(lock, &info) || !is_private(&info, S_IFREG))) {
        close(lock);
        lock = -1;
    }
    return lock;
}

int kryi_cache_lock(const char *path, double seconds)
{
    const double start = kryi_now();
    struct timespec pause = { .tv_nsec = 50000 }; /* up to 3 ms */
    int lock = open_lock(path);

    while (lock >= 0 && flock(lock, LOCK_EX | LOCK_NB)) {
        if (errno != EINTR && (errno != EWOULDBLOCK || kryi_now() - start > seconds)) {
            close(lock);
            return -1;
        }
        nanosleep(&pause, NULL);
        if (pause.tv_nsec < 2000000) pause.tv_nsec *= 2;
    }
    return lock;
}

/* Who waits for this file gets its lock; who comes later makes a new one. By then the first one's work is done,
 * or failed, and each does it by itself. */
void kryi_cache_unlock(const char *path, int lock)
{
    char file[640];

    if (lock < 0) return;
    snprintf(file, sizeof file, "%s.lock", path);
    unlink(file);
    flock(lock, LOCK_UN); /* a process forked meanwhile has the descriptor, too */
    close(lock);
}
