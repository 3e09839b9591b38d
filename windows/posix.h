/*
 * posix.h - what kry uses of POSIX and Windows has not, on top of MinGW-w64, which brings POSIX threads, clocks and folders.
 *
 * A build for Windows includes this before each of its files, so that these know nothing of Windows; no other build reads it.
 * The headers beside it stand for those of POSIX that MinGW-w64 has not. What Windows has in no form says so when it is
 * called, as POSIX lets it, and its callers go on without: shared memory of processes, fork(), names for open files.
 */
#ifndef KRY_WINDOWS_POSIX_H
#define KRY_WINDOWS_POSIX_H

#ifndef _WIN32
#error "posix.h is for Windows"
#endif
#define tell kryi_windows_tell /* a name that is not theirs alone */
#ifndef _POSIX_THREAD_SAFE_FUNCTIONS
#define _POSIX_THREAD_SAFE_FUNCTIONS 200112L /* gmtime_r */
#endif
#include <direct.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <locale.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>
#undef tell

#ifndef KRY_API /* outside of kry.c, the library as one file */
#define KRY_API __declspec(dllexport)
#define KRY_MUST_CHECK
#define KRY_PRINTF(f, a)
#endif
#define KRY_SLASHES "/\\" /* what parts of a path stand between */

/* ---- files and folders: descriptors are not inherited, files are binary, and what is open can be renamed and removed ---- */

enum {
    O_CLOEXEC = _O_NOINHERIT,
    O_DIRECTORY = 1 << 24, /* of no other flag of _open */
    O_NOFOLLOW = 0,
    O_NONBLOCK = 0,
    AT_FDCWD = -1,
    AT_SYMLINK_FOLLOW = 0,
    AT_SYMLINK_NOFOLLOW = 0
};
int kryi_windows_open(const char *path, int flags, ...);
int kryi_windows_openat(int folder, const char *name, int flags, ...);
int kryi_windows_renameat(int folder, const char *from, int other, const char *to);
int kryi_windows_unlinkat(int folder, const char *name, int flags);
int kryi_windows_linkat(int folder, const char *from, int other, const char *to, int flags);
#define open             kryi_windows_open
#define openat           kryi_windows_openat
#define renameat         kryi_windows_renameat
#define unlinkat         kryi_windows_unlinkat
#define linkat           kryi_windows_linkat
#define rename(from, to) kryi_windows_renameat(AT_FDCWD, from, AT_FDCWD, to)

/* All belongs to the caller, and nobody else writes to it: who may do what the lists of Windows say, which folders below the
 * user's own inherit. */
int kryi_windows_stat(const char *path, struct stat *info);
int kryi_windows_fstat(int file, struct stat *info);
int kryi_windows_fstatat(int folder, const char *name, struct stat *info, int flags);
#undef fstat
#define fstat              kryi_windows_fstat
#define lstat              kryi_windows_stat
#define fstatat            kryi_windows_fstatat
#define geteuid()          0
#define fchmod(file, mode) 0
#define mkdir(path, mode)  _mkdir(path)
#define fsync              _commit

ssize_t kryi_windows_pwrite(int file, const void *bytes, size_t size, off_t at);
int kryi_windows_touch(int file);
char *kryi_windows_realpath(const char *path, char *real);
#define pwrite                kryi_windows_pwrite
#define futimens(file, times) kryi_windows_touch(file)
#define realpath              kryi_windows_realpath

/* A folder that is read, and the descriptor that it was opened by. */
typedef DIR kryi_windows_entries;
typedef struct kryi_windows_dir {
    kryi_windows_entries *entries;
    int folder;
} kryi_windows_dir;
kryi_windows_dir *kryi_windows_fdopendir(int folder);
kryi_windows_dir *kryi_windows_opendir(const char *path);
struct dirent *kryi_windows_readdir(kryi_windows_dir *dir);
void kryi_windows_rewinddir(kryi_windows_dir *dir);
int kryi_windows_dirfd(const kryi_windows_dir *dir);
int kryi_windows_closedir(kryi_windows_dir *dir);
#define DIR            kryi_windows_dir
#define fdopendir      kryi_windows_fdopendir
#define dirfd          kryi_windows_dirfd
#define opendir(path)  kryi_windows_opendir(path)
#define readdir(dir)   kryi_windows_readdir(dir)
#define rewinddir(dir) kryi_windows_rewinddir(dir)
#define closedir(dir)  kryi_windows_closedir(dir)

enum { LOCK_EX = 1, LOCK_NB = 2, LOCK_UN = 4 };
int kryi_windows_flock(int file, int how);
#define flock kryi_windows_flock

/* Streams in memory are temporary files; one that is written goes to *text when it is closed. */
FILE *kryi_windows_fmemopen(void *bytes, size_t size, const char *mode);
FILE *kryi_windows_open_memstream(char **text, size_t *size);
int kryi_windows_fclose(FILE *file);
#define fmemopen       kryi_windows_fmemopen
#define open_memstream kryi_windows_open_memstream
#define fclose(file)   kryi_windows_fclose(file)

/* ---- shared memory: none is to be had ---- */

enum { PROT_READ = 1, PROT_WRITE = 2, MAP_SHARED = 1 };
#define MAP_FAILED ((void *)-1)
int kryi_windows_none(void); /* -1 */
#define shm_open(path, flags, mode)            kryi_windows_none()
#define shm_unlink(path)                       kryi_windows_none()
#define mmap(at, size, may, flags, file, from) ((void)(file), MAP_FAILED)
#define munmap(memory, size)                   kryi_windows_none()

/* ---- the process and its machine ---- */

enum { _SC_NPROCESSORS_ONLN, _SC_PHYS_PAGES, _SC_PAGESIZE };
long kryi_windows_sysconf(int what);
int kryi_windows_hostname(char *name, size_t size);
int kryi_windows_setenv(const char *name, const char *value, int over);
#define sysconf        kryi_windows_sysconf
#define gethostname    kryi_windows_hostname
#define setenv         kryi_windows_setenv
#define unsetenv(name) kryi_windows_setenv(name, "", 1)

/* There is no fork() to watch. */
#undef pthread_atfork
#define pthread_atfork kryi_windows_atfork
static inline int kryi_windows_atfork(void (*before)(void), void (*after)(void),
                                      void (*child)(void))
{
    (void)before, (void)after, (void)child;
    return 0;
}

/* Windows forgets a handler when it calls it. */
struct sigaction {
    void (*sa_handler)(int);
    int sa_flags;
};
enum { SA_RESETHAND = 1 };
int kryi_windows_sigaction(int number, const struct sigaction *action, struct sigaction *before);
#define sigaction(number, action, before) kryi_windows_sigaction(number, action, before)

/* Threads do not get signals. */
typedef int sigset_t;
#define sigfillset(set) (*(set) = 0)
#undef pthread_sigmask
#define pthread_sigmask kryi_windows_sigmask
static inline int kryi_windows_sigmask(int how, const sigset_t *set, sigset_t *before)
{
    (void)how, (void)set;
    if (before) *before = 0;
    return 0;
}

bool kryi_windows_opencl(void); /* whether there is OpenCL.dll */
enum { RTLD_NOW, RTLD_LOCAL = 0 };
void *kryi_windows_dlopen(const char *path, int flags);
void *kryi_windows_dlsym(void *library, const char *name);
int kryi_windows_dlclose(void *library);
#define dlopen  kryi_windows_dlopen
#define dlsym   kryi_windows_dlsym
#define dlclose kryi_windows_dlclose

/* ---- locales: of the numbers of the calling thread alone ---- */

typedef const char *locale_t;
enum { LC_ALL_MASK, LC_NUMERIC_MASK };
#define newlocale(mask, name, base) ((locale_t)(name))
#define freelocale(locale)          ((void)(locale))
locale_t kryi_windows_uselocale(locale_t wanted);
#define uselocale kryi_windows_uselocale

#endif
