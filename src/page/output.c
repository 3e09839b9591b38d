/*
 * output.c - a temporary file beside the target, then its name.
 */
#ifndef _XOPEN_SOURCE
#define _XOPEN_SOURCE 700 /* realpath */
#endif
#include "page/output.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Devices and pipes are written as they are. */
static bool in_place(const output *o) { return !strcmp(o->target, o->temporary); }

/* *mode: that of the file there, or 0. */
static kry_status find_names(const char *path, output *o, mode_t *mode)
{
    kry_status st = KRY_OK;
    struct stat info;
    char real[PATH_MAX];
    bool there = stat(path, &info) == 0;

    CHECK(!there || !S_ISDIR(info.st_mode), KRY_ERR_FILE, "cannot write '%s': it is a folder",
          path);
    CHECK(!there || access(path, W_OK) == 0, KRY_ERR_FILE, "cannot write '%s': %s", path,
          strerror(errno));
    const char *target = there && realpath(path, real) ? real : path;
    CHECK(strlen(target) < sizeof o->target, KRY_ERR_FILE, "'%.80s...' is too long a name", target);
    strcpy(o->target, target);
    bool direct = there ? !S_ISREG(info.st_mode) : lstat(path, &info) == 0; /* a link to nowhere */
    const char *slash = strrchr(o->target, '/'), *name = slash ? slash + 1 : o->target;
    int length = direct ? snprintf(o->temporary, sizeof o->temporary, "%s", target)
                        : snprintf(o->temporary, sizeof o->temporary, "%.*s.kry-%ld-%s",
                                   (int)(name - o->target), o->target, (long)getpid(), name);
    CHECK(length < (int)sizeof o->temporary, KRY_ERR_FILE, "'%.80s...' is too long a name", path);
    *mode = there ? info.st_mode & 07777 : 0;
done:
    return st;
}

kry_status kry_output_find(const char *path, output *o)
{
    mode_t mode;
    return find_names(path, o, &mode);
}

kry_status kry_output_begin(const char *path, output *o)
{
    kry_status st = KRY_OK;
    mode_t mode;

    TRY(find_names(path, o, &mode));
    if (in_place(o)) return KRY_OK;
    int file = open(o->temporary, O_CREAT | O_EXCL | O_WRONLY, 0666);
    CHECK(file >= 0, KRY_ERR_FILE, "cannot write '%s': %s", path, strerror(errno));
    if (mode) (void)!fchmod(file, mode); /* the old file's, where that can be had */
    close(file);
done:
    return st;
}

kry_status kry_output_end(output *o, kry_status st)
{
    if (in_place(o)) return st;
    if (st >= 0 && rename(o->temporary, o->target))
        st = kry_fail(KRY_ERR_FILE, "cannot write '%s': %s", o->target, strerror(errno));
    if (st < 0) unlink(o->temporary);
    return st;
}

kry_status kry_output_check(const char *path)
{
    kry_status st = KRY_OK;
    output o;

    if (!path) return KRY_OK;
    TRY(kry_output_begin(path, &o));
    if (!in_place(&o)) unlink(o.temporary);
done:
    return st;
}

kry_status kry_output_differs(const char *path, const char *other)
{
    kry_status st = KRY_OK;
    output one, two;

    if (!path || !other) return KRY_OK;
    TRY(kry_output_find(path, &one));
    TRY(kry_output_find(other, &two));
    CHECK(strcmp(one.target, two.target) || in_place(&one), KRY_ERR_ARGUMENT,
          "'%s' and '%s' are the same file", path, other);
done:
    return st;
}
