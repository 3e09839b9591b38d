/* mtx_source.c - lines out of files and memory, decompressed where they are gzip'd. Never holds
 * more than a chunk of the text. */
#include "io/mtx_source.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static kry_status broken_gzip(const mtx_source *s, const char *why)
{
    return kry_fail(KRY_ERR_PARSE, "%s:%lld: broken gzip: %s", s->name, (long long)s->line + 1,
                    why);
}

/* Let inflater.next_in have bytes, unless the file has none left. */
static kry_status read_chunk(mtx_source *s)
{
    kry_status st = KRY_OK;
    z_stream *z = &s->inflater;

    if (z->avail_in) return KRY_OK;
    if (s->file) {
        z->next_in = s->chunk;
        z->avail_in = (uInt)fread(s->chunk, 1, MTX_CHUNK, s->file);
        CHECK(!ferror(s->file), KRY_ERR_FILE, "cannot read '%s': %s", s->name, strerror(errno));
    } else {
        z->next_in = (Bytef *)s->bytes;
        z->avail_in = (uInt)(s->left < MTX_CHUNK ? s->left : MTX_CHUNK);
        s->bytes += z->avail_in, s->left -= z->avail_in;
    }
done:
    return st;
}

kry_status kryi_mtx_source_open(mtx_source *s, const char *name, const void *bytes, size_t size)
{
    kry_status st = KRY_OK;
    z_stream *z = &s->inflater;

    *s = (mtx_source){ .name = name, .bytes = bytes, .left = size };
    if (!bytes) {
        s->file = fopen(name, "rb");
        CHECK(s->file, KRY_ERR_FILE, "cannot open '%s': %s", name, strerror(errno));
    }
    TRY(kryi_alloc(MTX_CHUNK, 1, &s->buffer));
    TRY(kryi_alloc(MTX_CHUNK, 1, &s->chunk));
    TRY(read_chunk(s));
    if (z->avail_in >= 2 && z->next_in[0] == 0x1f && z->next_in[1] == 0x8b) {
        const int code = inflateInit2(z, 15 + 16);
        CHECK(code != Z_VERSION_ERROR, KRY_ERR_UNSUPPORTED,
              "'%s' is gzip'd, and this kry has no zlib that fits", name);
        CHECK(code == Z_OK, KRY_ERR_MEMORY, "%s: no memory to decompress it", name);
        s->gzip = true;
    }
done:
    if (st < 0) kryi_mtx_source_close(s);
    return st;
}

void kryi_mtx_source_close(mtx_source *s)
{
    if (s->file) fclose(s->file);
    if (s->gzip) inflateEnd(&s->inflater);
    free(s->chunk);
    free(s->buffer);
    *s = (mtx_source){ .name = NULL };
}

/* Decompress from next_in to next_out. Members may follow each other; what else follows the last one
 * is not text. */
static kry_status inflate_chunk(mtx_source *s)
{
    kry_status st = KRY_OK;
    z_stream *z = &s->inflater;
    int code = inflate(z, Z_NO_FLUSH);

    if (code == Z_STREAM_END) {
        TRY(read_chunk(s));
        s->over = z->avail_in == 0 || z->next_in[0] != 0x1f;
        code = inflateReset(z);
    }
    if (code != Z_OK) TRY(broken_gzip(s, z->msg ? z->msg : "unexpected end"));
done:
    return st;
}

kry_status kryi_mtx_source_fill(mtx_source *s)
{
    kry_status st = KRY_OK;
    z_stream *z = &s->inflater;

    /* what is left of the text goes to the front */
    memmove(s->buffer, s->buffer + s->begin, s->end - s->begin);
    s->end -= s->begin, s->begin = 0;
    z->next_out = (Bytef *)s->buffer + s->end;
    z->avail_out = (uInt)(MTX_CHUNK - s->end);
    while (z->avail_out && !s->over) {
        TRY(read_chunk(s));
        if (z->avail_in == 0) {
            if (s->gzip) TRY(broken_gzip(s, "unexpected end"));
            s->over = true;
        } else if (s->gzip) {
            TRY(inflate_chunk(s));
        } else {
            uInt count = z->avail_in < z->avail_out ? z->avail_in : z->avail_out;

            memcpy(z->next_out, z->next_in, count);
            z->next_in += count, z->avail_in -= count;
            z->next_out += count, z->avail_out -= count;
        }
    }
    s->end = MTX_CHUNK - z->avail_out;
done:
    return st;
}

kry_status kryi_mtx_source_rest(mtx_source *s, char **bytes, size_t *size)
{
    kry_status st = KRY_OK;
    size_t room = 0;

    *bytes = NULL, *size = 0;
    do {
        TRY(kryi_mtx_source_fill(s));
        if (room < *size + s->end) {
            room = 2 * room + s->end;
            TRY(kryi_realloc(room, 1, bytes));
        }
        if (s->end > 0) memcpy(*bytes + *size, s->buffer, s->end);
        *size += s->end;
        s->begin = s->end = 0;
    } while (!s->over);
done:
    if (st < 0) {
        free(*bytes);
        *bytes = NULL, *size = 0;
    }
    return st;
}

/* Read on where no line ends in `buffer`. */
static kry_status refill(mtx_source *s)
{
    kry_status st = KRY_OK;

    CHECK(s->end - s->begin < MTX_CHUNK, KRY_ERR_PARSE, "%s:%lld: the line is longer than %d bytes",
          s->name, (long long)s->line + 1, MTX_CHUNK);
    TRY(kryi_mtx_source_fill(s));
done:
    return st;
}

kry_status kryi_mtx_source_line(mtx_source *s, const char **line, const char **end)
{
    kry_status st = KRY_OK;
    char *stop;

    *line = *end = NULL;
    while (!(stop = memchr(s->buffer + s->begin, '\n', s->end - s->begin)) && !s->over)
        TRY(refill(s));
    if (!stop && s->begin == s->end) goto done; /* the file is over */
    if (!stop) stop = s->buffer + s->end;
    *line = s->buffer + s->begin;
    *end = stop > *line && stop[-1] == '\r' ? stop - 1 : stop;
    s->begin = (size_t)(stop - s->buffer) + (stop < s->buffer + s->end);
    s->next += s->buffer + s->begin - *line;
    s->line++;
done:
    return st;
}

kry_status kryi_mtx_source_seek(mtx_source *s, int64_t byte)
{
    kry_status st = KRY_OK;

    CHECK(!fseeko(s->file, (off_t)byte, SEEK_SET), KRY_ERR_FILE, "cannot read '%s': %s", s->name,
          strerror(errno));
    s->begin = s->end = 0;
    s->inflater.avail_in = 0;
    s->over = false;
    s->next = byte;
done:
    return st;
}
