/* mtx_source.h - the lines of a file or of bytes in memory, plain or gzip'd. */
#ifndef KRY_MTX_SOURCE_H
#define KRY_MTX_SOURCE_H

#include "operator/op.h"
#include <zlib.h>

enum { MTX_CHUNK = 1 << 20 }; /* bytes looked at together; also the longest line */

typedef struct mtx_source {
    const char *name;
    gzFile file;                /* NULL: bytes in memory */
    const unsigned char *bytes; /* what is left of them */
    size_t left;
    z_stream inflater;
    bool inflating;
    char *buffer;      /* owned, MTX_CHUNK + 1 */
    size_t begin, end; /* the part of it that is not yet handed out */
    bool finished;     /* nothing more to come behind `end` */
    int64_t line;      /* number of the line handed out last */
} mtx_source;

kry_status kry_mtx_source_open_file(mtx_source *s, const char *path);
kry_status kry_mtx_source_open_bytes(mtx_source *s, const char *name, const void *bytes,
                                     size_t size);
void kry_mtx_source_close(mtx_source *s);
/* The next line without its end; *line = NULL after the last. Returns  KRY_ERR_FILE for a file
 * that cannot be read, KRY_ERR_PARSE for broken gzip and for a line without end. */
kry_status kry_mtx_source_line(mtx_source *s, const char **line, const char **end);

#endif
