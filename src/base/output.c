/*
 * output.c - a temporary file in the folder of the target, then its name.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* O_TMPFILE, realpath */
#endif
#include "base/output.h"
#include "base/base.h"
#include "base/system.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static kry_status cannot_write(const char *path)
{
    return kry_fail(KRY_ERR_FILE, "cannot write '%s': %s", path, strerror(errno));
}

/* Look at the file that `path` names, if it is there: *info describes it, `real` is its path without links. */
static kry_status find_target(const char *path, bool *there, struct stat *info, char *real)
{
    *there = stat(path, info) == 0;
    if (*there && S_ISDIR(info->st_mode))
        return kry_fail(KRY_ERR_FILE, "cannot write '%s': it is a folder", path);
    if (*there && access(path, W_OK) != 0) return cannot_write(path);
    const char *target = *there && realpath(path, real) ? real : path;
    if (strlen(target) >= PATH_MAX)
        return kry_fail(KRY_ERR_FILE, "'%.80s...' is too long a name", target);
    if (target != real) strcpy(real, target);
    return KRY_OK;
}

/* *mode: that of the file there, or 0. */
static kry_status find_names(const char *path, int64_t owner, output *o, mode_t *mode)
{
    struct stat info, link;
    bool there;
    const kry_status st = find_target(path, &there, &info, o->target);

    o->file = -1;
    if (st < 0) return st;
    o->in_place = there ? !S_ISREG(info.st_mode) : lstat(path, &link) == 0; /* a link to nowhere */
    const char *name = kryi_file_name(o->target);
    const int length = snprintf(o->temporary, sizeof o->temporary, "%.*s.kry-%lld-%s",
                                (int)(name - o->target), o->target, (long long)owner, name);
    if (length >= (int)sizeof o->temporary)
        return kry_fail(KRY_ERR_FILE, "'%.80s...' is too long a name", path);
    *mode = there ? info.st_mode & 07777 : 0;
    return KRY_OK;
}

kry_status kryi_output_find(const char *path, int64_t owner, output *o)
{
    mode_t mode;
    return find_names(path, owner, o, &mode);
}

/* A file without a name in the folder of the target; -1: there is none to be had. */
static int open_nameless(const output *o)
{
#ifdef O_TMPFILE
    char folder[PATH_MAX];
    const int length = (int)(kryi_file_name(o->target) - o->target);

    if (access("/proc/self/fd", X_OK)) return -1; /* by which it will get its name */
    snprintf(folder, sizeof folder, "%.*s", length ? length : 1, length ? o->target : ".");
    return open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
#else
    (void)o;
    return -1;
#endif
}

kry_status kryi_output_begin(const char *path, bool named, output *o)
{
    mode_t mode = 0;
    const kry_status st = find_names(path, (int64_t)getpid(), o, &mode);

    if (st < 0) return st;
    if (o->in_place)
        o->file = open(o->target, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0666);
    else if (!named)
        o->file = open_nameless(o);
    if (o->file < 0 && !o->in_place)
        o->file = open(o->temporary, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
    if (o->file < 0) return cannot_write(path);
    if (mode && !o->in_place) (void)!fchmod(o->file, mode); /* where that can be had */
    return KRY_OK;
}

/* Whether the file has a name, the temporary one, by now. */
static bool has_name(int file)
{
    struct stat info;
    return fstat(file, &info) == 0 && info.st_nlink > 0;
}

static bool give_name(int file, const char *name)
{
    char entry[64];

    snprintf(entry, sizeof entry, "/proc/self/fd/%d", file);
    return linkat(AT_FDCWD, entry, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0;
}

/* A file without a name takes that of the target, or where a file has it, the temporary one first. */
static bool take_name(const output *o, bool named)
{
    if (!named && give_name(o->file, o->target)) return true;
    if (!named && (errno != EEXIST || !give_name(o->file, o->temporary))) return false;
    if (rename(o->temporary, o->target) == 0) return true;
    const int why = errno;
    unlink(o->temporary);
    errno = why;
    return false;
}

kry_status kryi_output_end(output *o, kry_status st)
{
    if (o->file < 0) return st;
    if (o->in_place) {
        if (close(o->file) && st >= 0) st = cannot_write(o->target);
        o->file = -1;
        return st;
    }
    const bool named = has_name(o->file);
    if (st >= 0 && (fsync(o->file) || !take_name(o, named))) st = cannot_write(o->target);
    if (st < 0 && named) unlink(o->temporary);
    close(o->file);
    o->file = -1;
    return st;
}

kry_status kry_output_open(const char *path, FILE **file)
{
    kry_status st = KRY_OK;
    output o;

    if (file) *file = NULL;
    CHECK(path && file, KRY_ERR_ARGUMENT, "kry_output_open: NULL");
    TRY(kryi_output_begin(path, false, &o));
    *file = fdopen(o.file, "w");
    if (!*file) st = kryi_output_end(&o, kry_fail(KRY_ERR_MEMORY, "no memory to write '%s'", path));
done:
    return st;
}

kry_status kry_output_close(const char *path, FILE **file, kry_status st)
{
    output o;

    CHECK(path && file && *file, KRY_ERR_ARGUMENT, "kry_output_close: NULL");
    const bool failed = fflush(*file) != 0 || ferror(*file) != 0;
    if (failed && st >= 0) st = kry_fail(KRY_ERR_FILE, "cannot write '%s' to its end", path);
    const kry_status found = kryi_output_find(path, (int64_t)getpid(), &o);
    if (found >= 0) o.file = dup(fileno(*file));
    fclose(*file);
    *file = NULL;
    if (found < 0) return found;
    return kryi_output_end(&o, st);
done:
    return st;
}

kry_status kry_output_check(const char *path)
{
    output o;

    if (!path) return KRY_OK;
    const kry_status st = kryi_output_find(path, 0, &o);
    if (st < 0 || o.in_place) return st;
    const kry_status begun = kryi_output_begin(path, false, &o);
    if (begun >= 0) (void)kryi_output_end(&o, KRY_ERR_FILE);
    return begun;
}

kry_status kry_output_differs(const char *path, const char *other)
{
    output one, two;
    kry_status st = KRY_OK;

    if (!path || !other) return KRY_OK;
    st = kryi_output_find(path, 0, &one);
    if (st >= 0) st = kryi_output_find(other, 0, &two);
    if (st >= 0 && !one.in_place && !strcmp(one.target, two.target))
        st = kry_fail(KRY_ERR_ARGUMENT, "'%s' and '%s' are the same file", path, other);
    return st;
}
