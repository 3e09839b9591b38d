/* posix.c - what kry uses of POSIX, in words of Windows: see posix.h. */
#include "posix.h"
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

typedef kryi_windows_dir dir;

/* ---- failures ---- */

/* errno := why the last call of Windows failed; returns -1. */
static int fail(void)
{
    static const struct {
        DWORD error;
        int number;
    } known[] = { { ERROR_FILE_NOT_FOUND, ENOENT },
                  { ERROR_PATH_NOT_FOUND, ENOENT },
                  { ERROR_INVALID_NAME, ENOENT },
                  { ERROR_BAD_PATHNAME, ENOENT },
                  { ERROR_ACCESS_DENIED, EACCES },
                  { ERROR_SHARING_VIOLATION, EACCES },
                  { ERROR_FILE_EXISTS, EEXIST },
                  { ERROR_ALREADY_EXISTS, EEXIST },
                  { ERROR_LOCK_VIOLATION, EWOULDBLOCK },
                  { ERROR_IO_PENDING, EWOULDBLOCK },
                  { ERROR_DISK_FULL, ENOSPC },
                  { ERROR_DIRECTORY, ENOTDIR },
                  { ERROR_NOT_ENOUGH_MEMORY, ENOMEM },
                  { ERROR_INVALID_HANDLE, EBADF },
                  { ERROR_FILENAME_EXCED_RANGE, ENAMETOOLONG } };
    const DWORD error = GetLastError();

    errno = EIO;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].error == error) errno = known[i].number;
    return -1;
}

int kryi_windows_none(void)
{
    errno = ENOSYS;
    return -1;
}

/* ---- files and folders ---- */

static HANDLE handle_of(int file) { return (HANDLE)_get_osfhandle(file); }

static HANDLE open_handle(const char *path, int flags)
{
    static const DWORD access[] = { GENERIC_READ, GENERIC_WRITE, GENERIC_READ | GENERIC_WRITE };
    const DWORD how = !(flags & O_CREAT)  ? flags & O_TRUNC ? TRUNCATE_EXISTING : OPEN_EXISTING
                      : (flags & O_EXCL)  ? CREATE_NEW
                      : (flags & O_TRUNC) ? CREATE_ALWAYS
                                          : OPEN_ALWAYS;

    return CreateFileA(path, access[flags & (O_WRONLY | O_RDWR)],
                       FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, how,
                       flags & O_DIRECTORY ? FILE_FLAG_BACKUP_SEMANTICS : FILE_ATTRIBUTE_NORMAL,
                       NULL);
}

static bool is_folder(const char *path)
{
    const DWORD found = GetFileAttributesA(path);
    return found != INVALID_FILE_ATTRIBUTES && found & FILE_ATTRIBUTE_DIRECTORY;
}

int kryi_windows_open(const char *path, int flags, ...)
{
    const HANDLE handle = open_handle(path, flags);

    if (handle == INVALID_HANDLE_VALUE) return fail();
    if (flags & O_DIRECTORY && !is_folder(path)) {
        CloseHandle(handle);
        errno = ENOTDIR;
        return -1;
    }
    const int file =
        _open_osfhandle((intptr_t)handle, _O_BINARY | _O_NOINHERIT | (flags & O_APPEND));
    if (file < 0) CloseHandle(handle);
    return file;
}

/* path := that of a file in an open folder; false, with errno, if it is too long. */
static bool path_at(int folder, const char *name, char path[PATH_MAX])
{
    size_t length = 0;

    if (folder != AT_FDCWD) {
        length = GetFinalPathNameByHandleA(handle_of(folder), path, PATH_MAX, 0);
        if (!length) return fail(), false;
        if (length < PATH_MAX - 1) path[length++] = '\\';
    }
    if (length + strlen(name) >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return false;
    }
    strcpy(path + length, name);
    return true;
}

int kryi_windows_openat(int folder, const char *name, int flags, ...)
{
    char path[PATH_MAX];
    return path_at(folder, name, path) ? kryi_windows_open(path, flags) : -1;
}

int kryi_windows_renameat(int folder, const char *from, int other, const char *to)
{
    char path[PATH_MAX], new_path[PATH_MAX];

    if (!path_at(folder, from, path) || !path_at(other, to, new_path)) return -1;
    return MoveFileExA(path, new_path, MOVEFILE_REPLACE_EXISTING) ? 0 : fail();
}

int kryi_windows_unlinkat(int folder, const char *name, int flags)
{
    char path[PATH_MAX];

    (void)flags;
    return path_at(folder, name, path) && DeleteFileA(path) ? 0 : fail();
}

int kryi_windows_linkat(int folder, const char *from, int other, const char *to, int flags)
{
    (void)folder, (void)from, (void)other, (void)to, (void)flags;
    return kryi_windows_none();
}

/* Seconds since 1970 of a time in tenths of microseconds since 1601. */
static time_t seconds_of(FILETIME t)
{
    const int64_t ticks = (int64_t)t.dwHighDateTime << 32 | t.dwLowDateTime;
    return (time_t)(ticks / 10000000 - INT64_C(11644473600));
}

int kryi_windows_fstat(int file, struct stat *info)
{
    BY_HANDLE_FILE_INFORMATION found;

    memset(info, 0, sizeof *info);
    if (handle_of(file) == INVALID_HANDLE_VALUE) return -1;
    if (GetFileType(handle_of(file)) != FILE_TYPE_DISK) {
        info->st_mode = S_IFCHR | S_IRUSR | S_IWUSR;
        info->st_nlink = 1;
        return 0;
    }
    if (!GetFileInformationByHandle(handle_of(file), &found)) return fail();
    const bool folder = found.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY,
               fixed = found.dwFileAttributes & FILE_ATTRIBUTE_READONLY;
    info->st_mode = (folder ? S_IFDIR | S_IXUSR : S_IFREG) | S_IRUSR | (fixed ? 0 : S_IWUSR);
    info->st_nlink = (short)found.nNumberOfLinks;
    info->st_size = (int64_t)found.nFileSizeHigh << 32 | found.nFileSizeLow;
    info->st_mtime = seconds_of(found.ftLastWriteTime);
    info->st_atime = seconds_of(found.ftLastAccessTime);
    info->st_ctime = seconds_of(found.ftCreationTime);
    return 0;
}

int kryi_windows_stat(const char *path, struct stat *info)
{
    const int file = kryi_windows_open(path, O_RDONLY | (is_folder(path) ? O_DIRECTORY : 0));

    if (file < 0) return -1;
    const int result = kryi_windows_fstat(file, info);
    close(file);
    return result;
}

int kryi_windows_fstatat(int folder, const char *name, struct stat *info, int flags)
{
    char path[PATH_MAX];

    (void)flags;
    return path_at(folder, name, path) ? kryi_windows_stat(path, info) : -1;
}

ssize_t kryi_windows_pwrite(int file, const void *bytes, size_t size, off_t at)
{
    OVERLAPPED place = { .Offset = (DWORD)at, .OffsetHigh = (DWORD)((uint64_t)at >> 32) };
    DWORD written;

    if (size > INT32_MAX) size = INT32_MAX;
    return WriteFile(handle_of(file), bytes, (DWORD)size, &written, &place) ? (ssize_t)written
                                                                            : fail();
}

int kryi_windows_touch(int file)
{
    FILETIME now;
    const HANDLE handle = ReOpenFile(handle_of(file), FILE_WRITE_ATTRIBUTES,
                                     FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, 0);

    if (handle == INVALID_HANDLE_VALUE) return fail();
    GetSystemTimeAsFileTime(&now);
    const BOOL done = SetFileTime(handle, NULL, &now, &now);
    CloseHandle(handle);
    return done ? 0 : fail();
}

char *kryi_windows_realpath(const char *path, char *real)
{
    return _fullpath(real, path, PATH_MAX);
}

static dir *open_dir(const char *path, int folder)
{
    dir *d = calloc(1, sizeof *d);

    if (d) d->entries = (opendir)(path);
    if (d && d->entries) {
        d->folder = folder;
        return d;
    }
    free(d);
    return NULL;
}

dir *kryi_windows_opendir(const char *path) { return open_dir(path, -1); }

dir *kryi_windows_fdopendir(int folder)
{
    char path[PATH_MAX];
    return path_at(folder, "", path) ? open_dir(path, folder) : NULL;
}

struct dirent *kryi_windows_readdir(dir *d) { return (readdir)(d->entries); }
void kryi_windows_rewinddir(dir *d) { (rewinddir)(d->entries); }
int kryi_windows_dirfd(const dir *d) { return d->folder; }

int kryi_windows_closedir(dir *d)
{
    const int result = (closedir)(d->entries);

    if (d->folder >= 0) close(d->folder);
    free(d);
    return result;
}

int kryi_windows_flock(int file, int how)
{
    OVERLAPPED place = { .Offset = 0 };
    const DWORD flags = LOCKFILE_EXCLUSIVE_LOCK | (how & LOCK_NB ? LOCKFILE_FAIL_IMMEDIATELY : 0);
    const BOOL done = how & LOCK_UN ? UnlockFileEx(handle_of(file), 0, 1, 0, &place)
                                    : LockFileEx(handle_of(file), flags, 0, 1, 0, &place);
    return done ? 0 : fail();
}

/* ---- streams in memory ---- */

/* A file that is gone when it is closed. */
static FILE *open_temporary(void)
{
    char folder[PATH_MAX], path[PATH_MAX];

    if (!GetTempPathA(sizeof folder, folder) || !GetTempFileNameA(folder, "kry", 0, path))
        return fail(), NULL;
    return fopen(path, "w+bD"); /* D: it is removed */
}

FILE *kryi_windows_fmemopen(void *bytes, size_t size, const char *mode)
{
    FILE *file = open_temporary();

    (void)mode;
    if (!file) return NULL;
    if (fwrite(bytes, 1, size, file) == size && !fseek(file, 0, SEEK_SET)) return file;
    (fclose)(file);
    return NULL;
}

typedef struct memstream {
    struct memstream *next;
    FILE *file;
    char **text;
    size_t *size;
} memstream;
static memstream *memstreams;
static pthread_mutex_t memstreams_lock = PTHREAD_MUTEX_INITIALIZER;

FILE *kryi_windows_open_memstream(char **text, size_t *size)
{
    memstream *m = malloc(sizeof *m);
    FILE *file = m ? open_temporary() : NULL;

    *text = NULL;
    if (!file) {
        free(m);
        return NULL;
    }
    pthread_mutex_lock(&memstreams_lock);
    *m = (memstream){ memstreams, file, text, size };
    memstreams = m;
    pthread_mutex_unlock(&memstreams_lock);
    return file;
}

/* Take the stream of the file out of the list; NULL: the file is none in memory. */
static memstream *take_memstream(const FILE *file)
{
    pthread_mutex_lock(&memstreams_lock);
    memstream **at = &memstreams;
    while (*at && (*at)->file != file) at = &(*at)->next;
    memstream *m = *at;
    if (m) *at = m->next;
    pthread_mutex_unlock(&memstreams_lock);
    return m;
}

static bool read_whole(FILE *file, char **text, size_t *size)
{
    const int64_t end = ftello64(file);

    if (end < 0 || fseek(file, 0, SEEK_SET)) return false;
    *size = (size_t)end;
    *text = malloc(*size + 1);
    if (!*text) return false;
    (*text)[*size] = 0;
    return fread(*text, 1, *size, file) == *size;
}

int kryi_windows_fclose(FILE *file)
{
    memstream *m = take_memstream(file);
    const bool whole = !m || read_whole(file, m->text, m->size);

    free(m);
    return (fclose)(file) || !whole ? EOF : 0;
}

/* ---- the process and its machine ---- */

long kryi_windows_sysconf(int what)
{
    SYSTEM_INFO machine;
    MEMORYSTATUSEX memory = { .dwLength = sizeof memory };
    DWORD_PTR mine, all;

    GetSystemInfo(&machine);
    if (what == _SC_PAGESIZE) return (long)machine.dwPageSize;
    if (what == _SC_PHYS_PAGES)
        return GlobalMemoryStatusEx(&memory) ? (long)(memory.ullTotalPhys / machine.dwPageSize)
                                             : -1;
    if (!GetProcessAffinityMask(GetCurrentProcess(), &mine, &all) || !mine)
        return (long)machine.dwNumberOfProcessors;
    return __builtin_popcountll(mine);
}

int kryi_windows_hostname(char *name, size_t size)
{
    DWORD room = (DWORD)size;
    return GetComputerNameA(name, &room) ? 0 : fail();
}

int kryi_windows_setenv(const char *name, const char *value, int over)
{
    return !over && getenv(name) ? 0 : _putenv_s(name, value) ? -1 : 0;
}

int kryi_windows_sigaction(int number, const struct sigaction *action, struct sigaction *before)
{
    void (*was)(int) = signal(number, action ? action->sa_handler : SIG_DFL);

    if (was == SIG_ERR) return -1;
    if (!action) signal(number, was);
    if (before) before->sa_handler = was;
    return 0;
}

void *kryi_windows_dlopen(const char *path, int flags)
{
    (void)flags;
    return (void *)LoadLibraryA(path);
}

void *kryi_windows_dlsym(void *library, const char *name)
{
    const FARPROC function = GetProcAddress(library, name);
    void *symbol;

    memcpy(&symbol, &function, sizeof symbol);
    return symbol;
}

bool kryi_windows_opencl(void) { return LoadLibraryA("OpenCL.dll") != NULL; }

int kryi_windows_dlclose(void *library) { return FreeLibrary(library) ? 0 : -1; }

/* ---- locales ---- */

/* _configthreadlocale of the C library that this process has; that of MinGW-w64 does nothing. */
static int configure_locale(int how)
{
#ifdef _UCRT
    static const char name[] = "ucrtbase.dll";
#else
    static const char name[] = "msvcrt.dll";
#endif
    int (*configure)(int);
    const HMODULE library = GetModuleHandleA(name);
    void *symbol = library ? kryi_windows_dlsym(library, "_configthreadlocale") : NULL;

    memcpy(&configure, &symbol, sizeof configure);
    return symbol ? configure(how) : -1;
}

/* What the thread has by now stays where it is what is wanted, which is most often. */
locale_t kryi_windows_uselocale(locale_t wanted)
{
    static _Thread_local char before[128];
    static _Thread_local int configured;
    const char *now = setlocale(LC_NUMERIC, NULL);

    if (!wanted || !now || !strcmp(now, wanted)) return wanted;
    if (wanted == before) { /* back to what it was */
        setlocale(LC_NUMERIC, before);
        configure_locale(configured);
        return wanted;
    }
    snprintf(before, sizeof before, "%s", now);
    configured = configure_locale(_ENABLE_PER_THREAD_LOCALE);
    setlocale(LC_NUMERIC, wanted);
    return before;
}
