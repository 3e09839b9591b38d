/* mtx_source.h - the lines of a file or of bytes in memory, plain or gzip'd. */
#ifndef KRY_MTX_SOURCE_H
#define KRY_MTX_SOURCE_H

#include "operator/op.h"
#include <zlib.h>

enum { MTX_CHUNK = 1 << 20 }; /* bytes looked at together; also the longest line */

typedef struct mtx_source {
    const char *name;
    FILE *file;                 /* NULL: bytes in memory */
    const unsigned char *bytes; /* the rest of those, not yet in `packed` */
    size_t left;
    unsigned char
        *chunk; /* owned, MTX_CHUNK: what was read of the file; inflater.next_in goes on in
                             it, or in the bytes in memory */
    z_stream inflater;
    bool gzip, over;   /* over: all is in `buffer` or handed out */
    char *buffer;      /* owned, MTX_CHUNK: text */
    size_t begin, end; /* the part of it that is not yet handed out */
    int64_t line;      /* number of the line handed out last */
    int64_t next;      /* the byte of the text at which the next one begins */
} mtx_source;

/* Open a file, or `size` bytes in memory. On failure there is nothing to close. */
kry_status kryi_mtx_source_open(mtx_source *s, const char *name, const void *bytes, size_t size);
void kryi_mtx_source_close(mtx_source *s);
/* The next line without its end; *line = NULL after the last. Returns  KRY_ERR_FILE for a file
 * that cannot be read, KRY_ERR_PARSE for broken gzip and for a line without end. */
kry_status kryi_mtx_source_line(mtx_source *s, const char **line, const char **end);

/* Have the next bytes of the text in `buffer`, as many as there are up to MTX_CHUNK. */
kry_status kryi_mtx_source_fill(mtx_source *s);
/* All bytes that have not been handed out.
 *   bytes  [out]  to be freed; size of them */
kry_status kryi_mtx_source_rest(mtx_source *s, char **bytes, size_t *size);

/* Go on at this byte of a plain file. The count of lines goes on, too. */
kry_status kryi_mtx_source_seek(mtx_source *s, int64_t byte);

#endif
