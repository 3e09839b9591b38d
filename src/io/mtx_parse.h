/* mtx_parse.h - the header and the lines of a Matrix Market file. */
#ifndef KRY_MTX_PARSE_H
#define KRY_MTX_PARSE_H

#include "io/mtx_source.h"

typedef struct mtx_parser {
    mtx_source source;
    kry_mtx head;     /* what the header says, without arrays */
    int64_t expected; /* entries that it promises */
    int64_t most;     /* rows, and columns, that are taken: set by the caller */
    bool pairs;       /* imaginary parts other than 0 are taken: set by the caller */
    bool complex;     /* each value has an imaginary part */
    bool hermitian;
    double imaginary;  /* part of the entry parsed last */
    bool non_negative; /* the header says unsigned-integer */
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
kry_status kryi_mtx_parse_head(mtx_parser *p);
/* The next line of an entry, blank ones and comments left out; *at = NULL after the last. */
kry_status kryi_mtx_parse_next(mtx_parser *p, const char **at, const char **end);
/* Whether a line has no entry: it is blank or a comment. *at: moved behind leading blanks. */
bool kryi_mtx_is_void(const char **at, const char *end);
/* The entry of a line; of an array file its number alone. An entry on the diagonal of a skew-symmetric matrix is 0. */
kry_status kryi_mtx_parse_entry(mtx_parser *p, const char *at, const char *end, mtx_entry *e);
/* Whether it stands on the diagonal of a skew-symmetric matrix, where all is 0: such an entry is left out. */
static inline bool kryi_mtx_is_skew_zero(const kry_mtx *head, const mtx_entry *e)
{
    return !head->array && head->symmetry == KRY_MTX_SKEW && e->row == e->col;
}
kry_status kryi_mtx_parse_too_few(const mtx_parser *p, int64_t count); /* the file is over */
kry_status kryi_mtx_parse_too_many(const mtx_parser *p);               /* there is a line more */

#endif
