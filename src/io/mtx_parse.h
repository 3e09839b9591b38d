/* mtx_parse.h - the header and the lines of a Matrix Market file. */
#ifndef KRY_MTX_PARSE_H
#define KRY_MTX_PARSE_H

#include "io/mtx_source.h"

typedef struct mtx_parser {
    mtx_source source;
    kry_mtx head;     /* what the header says, without arrays */
    int64_t expected; /* entries that it promises */
    int64_t most;     /* rows, and columns, that are taken: set by the caller */
} mtx_parser;

/* Counted from 0. */
typedef struct mtx_entry {
    int64_t row, col;
    double val;
} mtx_entry;

/* In messages: the line at hand, and the one behind it. */
#define MTX_HERE     "%s:%lld: "
#define MTX_AT(p)    (p)->source.name, (long long)(p)->source.line
#define MTX_AFTER(p) (p)->source.name, (long long)(p)->source.line + 1

/* Read the header and the sizes. All fail with KRY_ERR_PARSE naming the line, and as the source does. */
kry_status kry_mtx_parse_head(mtx_parser *p);
/* The next line of an entry, blank ones left out; *at = NULL after the last. */
kry_status kry_mtx_parse_next(mtx_parser *p, const char **at, const char **end);
const char *kry_mtx_skip_blanks(const char *at, const char *end);
/* The entry of a line; of an array file its number alone. */
kry_status kry_mtx_parse_entry(mtx_parser *p, const char *at, const char *end, mtx_entry *e);
kry_status kry_mtx_parse_too_few(const mtx_parser *p, int64_t count); /* the file is over */
kry_status kry_mtx_parse_too_many(const mtx_parser *p);               /* there is a line more */

#endif
