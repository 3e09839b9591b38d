/*
 * share_file.c - one file that several processes write, each at places of its own.
 */
#include "io/share.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static kry_status cannot_write(const kryi_shared_file *f)
{
    return kry_fail(KRY_ERR_FILE, "cannot write '%s': %s", f->path, strerror(errno));
}

kry_status kryi_shared_begin(kryi_shared_file *f, bool alone, int64_t *owner)
{
    *owner = (int64_t)getpid();
    f->made = true;
    return kryi_output_begin(f->path, !alone, &f->out);
}

kry_status kryi_shared_join(kryi_shared_file *f, int64_t owner)
{
    kry_status st = KRY_OK;

    TRY(kryi_output_find(f->path, owner, &f->out));
    f->out.file = open(f->out.in_place ? f->out.target : f->out.temporary, O_WRONLY | O_CLOEXEC);
    CHECK(f->out.file >= 0, KRY_ERR_FILE, "cannot write '%s': %s", f->path, strerror(errno));
done:
    return st;
}

kry_status kryi_shared_write(const kryi_shared_file *f, int64_t at, const void *bytes, size_t size)
{
    for (size_t done = 0; done < size;) {
        const ssize_t n =
            pwrite(f->out.file, (const char *)bytes + done, size - done, (off_t)at + (off_t)done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return cannot_write(f);
        done += (size_t)n;
    }
    return KRY_OK;
}

kry_status kryi_shared_close(kryi_shared_file *f)
{
    const int file = f->out.file;

    if (f->made) return KRY_OK;
    f->out.file = -1;
    if (!f->out.in_place && fsync(file)) {
        const kry_status st = cannot_write(f);
        close(file);
        return st;
    }
    return close(file) ? cannot_write(f) : KRY_OK;
}

kry_status kryi_shared_end(kryi_shared_file *f, kry_status st)
{
    if (f->made) return kryi_output_end(&f->out, st);
    if (f->out.file >= 0) close(f->out.file);
    f->out.file = -1;
    return st;
}
