/*
 * share_file.c - one file that several processes write, each at places of its own.
 */
#include "io/share.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static kry_status cannot_write(const kry_shared_file *f)
{
    return kry_fail(KRY_ERR_FILE, "cannot write '%s': %s", f->path, strerror(errno));
}

kry_status kry_shared_open(kry_shared_file *f, bool make)
{
    f->file =
        open(f->path, make ? O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC : O_WRONLY | O_CLOEXEC, 0666);
    if (f->file < 0) return cannot_write(f);
    f->made = make;
    return KRY_OK;
}

kry_status kry_shared_write(const kry_shared_file *f, int64_t at, const void *bytes, size_t size)
{
    for (size_t done = 0; done < size;) {
        const ssize_t n =
            pwrite(f->file, (const char *)bytes + done, size - done, (off_t)at + (off_t)done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return cannot_write(f);
        done += (size_t)n;
    }
    return KRY_OK;
}

kry_status kry_shared_close(kry_shared_file *f)
{
    const int file = f->file;
    f->file = -1;
    return close(file) ? cannot_write(f) : KRY_OK;
}

void kry_shared_end(kry_shared_file *f, kry_status st)
{
    if (f->file >= 0) close(f->file);
    f->file = -1;
    if (st < 0 && f->made) kry_mtx_remove(f->path);
}
