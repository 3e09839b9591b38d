/* mtx_source.c - lines out of files and memory, through zlib where they are gzip'd. Never holds
 * more than a chunk of the text. */
#include "io/mtx_source.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static bool is_gzip(const unsigned char *b, size_t size)
{
    return size >= 2 && b[0] == 0x1f && b[1] == 0x8b;
}

kry_status kry_mtx_source_open_file(mtx_source *s, const char *path)
{
    kry_status st = KRY_OK;

    memset(s, 0, sizeof *s);
    s->name = path;
    TRY(kry_alloc(MTX_CHUNK + 1, 1, &s->buffer));
    errno = 0;
    s->file = gzopen(path, "rb"); /* reads plain files too */
    CHECK(s->file, KRY_ERR_FILE, "cannot open '%s': %s", path,
          errno ? strerror(errno) : "out of memory");
    gzbuffer(s->file, 1 << 18);
done:
    if (st < 0) kry_mtx_source_close(s);
    return st;
}

kry_status kry_mtx_source_open_bytes(mtx_source *s, const char *name, const void *bytes,
                                     size_t size)
{
    kry_status st = KRY_OK;

    memset(s, 0, sizeof *s);
    s->name = name;
    s->bytes = bytes;
    s->left = size;
    TRY(kry_alloc(MTX_CHUNK + 1, 1, &s->buffer));
    if (is_gzip(s->bytes, size)) {
        CHECK(inflateInit2(&s->inflater, 15 + 16) == Z_OK, KRY_ERR_MEMORY,
              "%s: no memory to decompress it", name);
        s->inflating = true;
    }
done:
    if (st < 0) kry_mtx_source_close(s);
    return st;
}

void kry_mtx_source_close(mtx_source *s)
{
    if (s->file) gzclose(s->file);
    if (s->inflating) inflateEnd(&s->inflater);
    free(s->buffer);
    memset(s, 0, sizeof *s);
}

static kry_status broken_gzip(const mtx_source *s, const char *why)
{
    return kry_fail(KRY_ERR_PARSE, "%s:%lld: broken gzip: %s", s->name, (long long)s->line + 1,
                    why);
}

static kry_status read_file(mtx_source *s, char *to, size_t room, size_t *got)
{
    int code, n = gzread(s->file, to, (unsigned)room);
    const char *why;

    *got = n > 0 ? (size_t)n : 0;
    if (n > 0) return KRY_OK;
    why = gzerror(s->file, &code);
    if (code == Z_ERRNO)
        return kry_fail(KRY_ERR_FILE, "cannot read '%s': %s", s->name, strerror(errno));
    if (n < 0 || code != Z_OK) return broken_gzip(s, why);
    return KRY_OK;
}

static kry_status read_gzip_bytes(mtx_source *s, char *to, size_t room, size_t *got)
{
    kry_status st = KRY_OK;
    z_stream *z = &s->inflater;

    z->next_out = (Bytef *)to;
    z->avail_out = (uInt)room;
    while (z->avail_out && s->left) {
        z->next_in = (Bytef *)s->bytes;
        z->avail_in = s->left < UINT_MAX ? (uInt)s->left : UINT_MAX;
        uInt before = z->avail_in;
        int code = inflate(z, Z_NO_FLUSH);
        s->bytes += before - z->avail_in, s->left -= before - z->avail_in;
        if (code == Z_STREAM_END) {
            if (!is_gzip(s->bytes, s->left)) { /* what follows the last member is not text */
                s->left = 0;
                goto done;
            }
            if (inflateReset(z) != Z_OK) TRY(broken_gzip(s, "cannot go on with the next member"));
        } else if (code != Z_OK) {
            TRY(broken_gzip(s, z->msg ? z->msg : "unexpected end"));
        } else if (s->left == 0 && z->avail_out) {
            TRY(broken_gzip(s, "unexpected end"));
        }
    }
done:
    *got = room - z->avail_out;
    return st;
}

static kry_status read_some(mtx_source *s, char *to, size_t room, size_t *got)
{
    if (s->file) return read_file(s, to, room, got);
    if (s->inflating) return read_gzip_bytes(s, to, room, got);
    *got = s->left < room ? s->left : room;
    if (*got) memcpy(to, s->bytes, *got);
    s->bytes += *got, s->left -= *got;
    return KRY_OK;
}

/* Move what is left to the front and fill up behind it. */
static kry_status refill(mtx_source *s)
{
    kry_status st = KRY_OK;
    size_t got = 0;

    memmove(s->buffer, s->buffer + s->begin, s->end - s->begin);
    s->end -= s->begin, s->begin = 0;
    CHECK(s->end < MTX_CHUNK, KRY_ERR_PARSE, "%s:%lld: the line is longer than %d bytes", s->name,
          (long long)s->line + 1, MTX_CHUNK);
    TRY(read_some(s, s->buffer + s->end, MTX_CHUNK - s->end, &got));
    s->end += got;
    if (got == 0) s->finished = true;
done:
    return st;
}

kry_status kry_mtx_source_line(mtx_source *s, const char **line, const char **end)
{
    kry_status st = KRY_OK;
    char *stop;

    *line = *end = NULL;
    while (!(stop = memchr(s->buffer + s->begin, '\n', s->end - s->begin)) && !s->finished)
        TRY(refill(s));
    if (!stop && s->begin == s->end) goto done; /* the file is over */
    if (!stop) stop = s->buffer + s->end;
    *line = s->buffer + s->begin;
    *end = stop > *line && stop[-1] == '\r' ? stop - 1 : stop;
    s->begin = (size_t)(stop - s->buffer) + (stop < s->buffer + s->end);
    s->line++;
done:
    return st;
}
