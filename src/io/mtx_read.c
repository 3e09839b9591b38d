/* mtx_read.c - reading Matrix Market files. */
#include "io/mtx_source.h"
#include <stdlib.h>
#include <string.h>

/* ---- words ------------------------------------------------------------------------------- */

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\v' || *at == '\f'))
        at++;
    return at;
}

static bool at_gap(const char *at, const char *end)
{
    return at == end || skip_blanks(at, end) > at;
}

/* The bytes up to the next gap, for a message. */
static int word_length(const char *at, const char *end)
{
    const char *stop = at;
    while (stop < end && stop - at < 40 && !at_gap(stop, end)) stop++;
    return (int)(stop - at);
}

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c; }

/* Take `word` in any case, as a whole; false if something else stands there. */
static bool take_word(const char **at, const char *end, const char *word)
{
    size_t n = strlen(word);
    const char *from = skip_blanks(*at, end);
    if ((size_t)(end - from) < n) return false;
    for (size_t i = 0; i < n; i++)
        if (lower(from[i]) != lower(word[i])) return false;
    if (!at_gap(from + n, end)) return false;
    *at = from + n;
    return true;
}

/* ---- the parser --------------------------------------------------------------------------- */

typedef struct parser {
    mtx_source source;
    kry_mtx *m;
    int64_t capacity; /* of row, col, val */
    int64_t expected; /* entries the header promises */
} parser;

#define HERE     "%s:%lld: "
#define AT(p)    (p)->source.name, (long long)(p)->source.line
#define AFTER(p) (p)->source.name, (long long)(p)->source.line + 1

/* Read one of `count` words; its number goes to *which. */
static kry_status choose_word(parser *p, const char **at, const char *end, const char *what,
                              const char *const *words, int count, int *which)
{
    kry_status st = KRY_OK;
    for (*which = 0; *which < count; ++*which)
        if (take_word(at, end, words[*which])) return KRY_OK;
    const char *word = skip_blanks(*at, end);
    CHECK(word < end, KRY_ERR_PARSE, HERE "the header ends before the %s", AT(p), what);
    CHECK(false, KRY_ERR_PARSE, HERE "%s '%.*s' is not supported", AT(p), what,
          word_length(word, end), word);
done:
    return st;
}

static kry_status read_header(parser *p)
{
    static const char *const formats[] = { "coordinate", "array" };
    static const char *const fields[] = { "real", "integer", "pattern", "double" };
    static const char *const symmetries[] = { "general", "symmetric", "skew-symmetric" };
    kry_status st = KRY_OK;
    const char *at, *end;
    int format, field, symmetry;

    TRY(kry_mtx_source_line(&p->source, &at, &end));
    CHECK(at, KRY_ERR_PARSE, HERE "the file is empty", AFTER(p));
    CHECK(take_word(&at, end, "%%MatrixMarket") && take_word(&at, end, "matrix"), KRY_ERR_PARSE,
          HERE "not a Matrix Market file: it does not begin with '%%%%MatrixMarket matrix'", AT(p));
    TRY(choose_word(p, &at, end, "format", formats, 2, &format));
    TRY(choose_word(p, &at, end, "field", fields, 4, &field));
    TRY(choose_word(p, &at, end, "symmetry", symmetries, 3, &symmetry));
    at = skip_blanks(at, end);
    CHECK(at == end, KRY_ERR_PARSE, HERE "'%.*s' follows the header", AT(p), word_length(at, end),
          at);
    p->m->array = format == 1;
    p->m->field = field == 3 ? KRY_MTX_REAL : (kry_mtx_field)field;
    p->m->symmetry = (kry_mtx_symmetry)symmetry;
    CHECK(!p->m->array || p->m->field != KRY_MTX_PATTERN, KRY_ERR_PARSE,
          HERE "an array file cannot be a pattern", AT(p));
    CHECK(p->m->field != KRY_MTX_PATTERN || p->m->symmetry != KRY_MTX_SKEW, KRY_ERR_PARSE,
          HERE "a pattern cannot be skew-symmetric", AT(p));
done:
    return st;
}

/* The next line that holds something; *at = NULL after the last. */
static kry_status next_line(parser *p, bool comments, const char **at, const char **end)
{
    kry_status st = KRY_OK;
    do {
        TRY(kry_mtx_source_line(&p->source, at, end));
        if (!*at) break;
        *at = skip_blanks(*at, *end);
    } while (*at == *end || (comments && **at == '%'));
done:
    return st;
}

static kry_status take_integer(parser *p, const char **at, const char *end, const char *what,
                               int64_t *value)
{
    kry_status st = KRY_OK;
    const char *from = skip_blanks(*at, end), *stop = kry_read_int64(from, end, value);

    CHECK(from < end, KRY_ERR_PARSE, HERE "the %s is missing", AT(p), what);
    CHECK(stop && at_gap(stop, end), KRY_ERR_PARSE, HERE "the %s '%.*s' is not a whole number",
          AT(p), what, word_length(from, end), from);
    *at = stop;
done:
    return st;
}

static kry_status check_line_end(parser *p, const char *at, const char *end)
{
    kry_status st = KRY_OK;
    at = skip_blanks(at, end);
    CHECK(at == end, KRY_ERR_PARSE, HERE "'%.*s' follows the last number", AT(p),
          word_length(at, end), at);
done:
    return st;
}

static kry_status read_sizes(parser *p)
{
    kry_status st = KRY_OK;
    kry_mtx *m = p->m;
    const char *at, *end;

    TRY(next_line(p, true, &at, &end));
    CHECK(at, KRY_ERR_PARSE, HERE "the file ends before the line with the sizes", AFTER(p));
    TRY(take_integer(p, &at, end, "number of rows", &m->rows));
    TRY(take_integer(p, &at, end, "number of columns", &m->cols));
    if (!m->array) TRY(take_integer(p, &at, end, "number of entries", &p->expected));
    TRY(check_line_end(p, at, end));
    CHECK(m->rows >= 0 && m->rows <= INT32_MAX, KRY_ERR_PARSE,
          HERE "%lld rows are outside 0 ... 2^31-1", AT(p), (long long)m->rows);
    CHECK(m->cols >= 0 && m->cols <= INT32_MAX, KRY_ERR_PARSE,
          HERE "%lld columns are outside 0 ... 2^31-1", AT(p), (long long)m->cols);
    CHECK(p->expected >= 0, KRY_ERR_PARSE, HERE "%lld entries", AT(p), (long long)p->expected);
    CHECK(m->symmetry == KRY_MTX_GENERAL || m->rows == m->cols, KRY_ERR_PARSE,
          HERE "%lld-by-%lld cannot be symmetric", AT(p), (long long)m->rows, (long long)m->cols);
    if (m->array) /* no overflow: both are below 2^31 */
        p->expected = m->symmetry == KRY_MTX_GENERAL     ? m->rows * m->cols
                      : m->symmetry == KRY_MTX_SYMMETRIC ? m->rows * (m->rows + 1) / 2
                                                         : m->rows * (m->rows - 1) / 2;
done:
    return st;
}

/* Make room for one entry more. The arrays double, up to the number of entries in the header, so that a
 * wrong header alone cannot ask for much memory. */
static kry_status make_room(parser *p)
{
    kry_status st = KRY_OK;
    kry_mtx *m = p->m;
    int64_t capacity = p->capacity ? 2 * p->capacity : 1024;

    if (m->nnz < p->capacity) return KRY_OK;
    if (capacity > p->expected) capacity = p->expected;
    if (!m->array) {
        TRY(kry_realloc((size_t)capacity, sizeof *m->row, &m->row));
        TRY(kry_realloc((size_t)capacity, sizeof *m->col, &m->col));
    }
    TRY(kry_realloc((size_t)capacity, sizeof *m->val, &m->val));
    p->capacity = capacity;
done:
    return st;
}

static kry_status take_index(parser *p, const char **at, const char *end, const char *what,
                             int64_t most, int32_t *index)
{
    kry_status st = KRY_OK;
    int64_t value;

    TRY(take_integer(p, at, end, what, &value));
    CHECK(value >= 1 && value <= most, KRY_ERR_PARSE, HERE "%s %lld is outside 1 ... %lld", AT(p),
          what, (long long)value, (long long)most);
    *index = (int32_t)(value - 1);
done:
    return st;
}

static bool is_whole(const char *at, const char *stop)
{
    if (*at == '-' || *at == '+') at++;
    while (at < stop && *at >= '0' && *at <= '9') at++;
    return at == stop;
}

static kry_status take_value(parser *p, const char **at, const char *end, double *value)
{
    kry_status st = KRY_OK;
    const char *from = skip_blanks(*at, end), *stop;

    CHECK(from < end, KRY_ERR_PARSE, HERE "the value is missing", AT(p));
    stop = kry_read_double(from, end, value);
    CHECK(stop && at_gap(stop, end), KRY_ERR_PARSE, HERE "the value '%.*s' is not a finite number",
          AT(p), word_length(from, end), from);
    CHECK(p->m->field != KRY_MTX_INTEGER || is_whole(from, stop), KRY_ERR_PARSE,
          HERE "the value '%.*s' is not a whole number, as the header says", AT(p),
          word_length(from, end), from);
    *at = stop;
done:
    return st;
}

static kry_status read_entry(parser *p, const char *at, const char *end)
{
    kry_status st = KRY_OK;
    kry_mtx *m = p->m;
    int64_t e = m->nnz;

    TRY(make_room(p));
    m->val[e] = 1;
    if (!m->array) {
        TRY(take_index(p, &at, end, "row", m->rows, &m->row[e]));
        TRY(take_index(p, &at, end, "column", m->cols, &m->col[e]));
        CHECK(m->symmetry != KRY_MTX_SKEW || m->row[e] != m->col[e], KRY_ERR_PARSE,
              HERE "entry (%d, %d) is on the diagonal of a skew-symmetric matrix", AT(p),
              m->row[e] + 1, m->col[e] + 1);
    }
    if (m->field != KRY_MTX_PATTERN) TRY(take_value(p, &at, end, &m->val[e]));
    TRY(check_line_end(p, at, end));
    m->nnz++;
done:
    return st;
}

static kry_status read_entries(parser *p)
{
    kry_status st = KRY_OK;
    const char *at, *end;

    while (p->m->nnz < p->expected) {
        TRY(next_line(p, false, &at, &end));
        CHECK(at, KRY_ERR_PARSE, HERE "the file ends after %lld of %lld entries", AFTER(p),
              (long long)p->m->nnz, (long long)p->expected);
        TRY(read_entry(p, at, end));
    }
    TRY(next_line(p, false, &at, &end));
    CHECK(!at, KRY_ERR_PARSE, HERE "more than the %lld entries of the header", AT(p),
          (long long)p->expected);
done:
    return st;
}

static kry_status read_from(const char *name, const void *bytes, size_t size, kry_mtx **mtx)
{
    kry_status st = KRY_OK;
    parser p = { .m = NULL };

    TRY(kry_mtx_source_open(&p.source, name, bytes, size));
    TRY(kry_alloc(1, sizeof *p.m, &p.m));
    TRY(read_header(&p));
    TRY(read_sizes(&p));
    TRY(read_entries(&p));
    *mtx = p.m;
    p.m = NULL;
done:
    kry_mtx_release(&p.m);
    kry_mtx_source_close(&p.source);
    return st;
}

kry_status kry_mtx_read(const char *path, kry_mtx **mtx)
{
    kry_status st = GIVEN(mtx, path);

    if (mtx) *mtx = NULL;
    return st < 0 || !mtx ? st : read_from(path, NULL, 0, mtx);
}

kry_status kry_mtx_parse(const char *name, const void *bytes, size_t size, kry_mtx **mtx)
{
    if (!bytes && size == 0) bytes = "";
    kry_status st = GIVEN(mtx, name, bytes);

    if (mtx) *mtx = NULL;
    return st < 0 || !mtx ? st : read_from(name, bytes, size, mtx);
}

void kry_mtx_release(kry_mtx **mtx)
{
    kry_mtx *m = mtx ? *mtx : NULL;
    if (mtx) *mtx = NULL;
    if (!m) return;
    free(m->row);
    free(m->col);
    free(m->val);
    free(m);
}
