/* mtx_parse.c - the header and the lines of a Matrix Market file. */
#include "io/mtx_parse.h"
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

/* Read one of `count` words; its number goes to *which. */
static kry_status choose_word(mtx_parser *p, const char **at, const char *end, const char *what,
                              const char *const *words, int count, int *which)
{
    kry_status st = KRY_OK;
    for (*which = 0; *which < count; ++*which)
        if (take_word(at, end, words[*which])) return KRY_OK;
    const char *word = skip_blanks(*at, end);
    CHECK(word < end, KRY_ERR_PARSE, MTX_HERE "the header ends before the %s", MTX_AT(p), what);
    CHECK(false, KRY_ERR_PARSE, MTX_HERE "%s '%.*s' is not supported", MTX_AT(p), what,
          word_length(word, end), word);
done:
    return st;
}

static kry_status read_header(mtx_parser *p)
{
    static const char *const formats[] = { "coordinate", "array" };
    enum { DOUBLE = KRY_MTX_PATTERN + 1, COMPLEX, UNSIGNED, FIELDS };
    static const char *const fields[] = {
        [KRY_MTX_REAL] = "real", [KRY_MTX_INTEGER] = "integer", [KRY_MTX_PATTERN] = "pattern",
        [DOUBLE] = "double",     [COMPLEX] = "complex",         [UNSIGNED] = "unsigned-integer"
    };
    static const char *const symmetries[] = { "general", "symmetric", "skew-symmetric",
                                              "hermitian" };
    kry_status st = KRY_OK;
    const char *at, *end;
    int format, field, symmetry;

    TRY(kryi_mtx_source_line(&p->source, &at, &end));
    CHECK(at, KRY_ERR_PARSE, MTX_HERE "the file is empty", MTX_AFTER(p));
    CHECK(take_word(&at, end, "%%MatrixMarket") && take_word(&at, end, "matrix"), KRY_ERR_PARSE,
          MTX_HERE "not a Matrix Market file: it does not begin with '%%%%MatrixMarket matrix'",
          MTX_AT(p));
    TRY(choose_word(p, &at, end, "format", formats, 2, &format));
    TRY(choose_word(p, &at, end, "field", fields, FIELDS, &field));
    /* a Hermitian matrix of real numbers is symmetric, and only complex files say so */
    TRY(choose_word(p, &at, end, "symmetry", symmetries, field == COMPLEX ? 4 : 3, &symmetry));
    at = skip_blanks(at, end);
    CHECK(at == end, KRY_ERR_PARSE, MTX_HERE "'%.*s' follows the header", MTX_AT(p),
          word_length(at, end), at);
    p->head.array = format == 1;
    p->complex = field == COMPLEX, p->non_negative = field == UNSIGNED;
    p->hermitian = symmetry == 3;
    p->head.field = field == UNSIGNED ? KRY_MTX_INTEGER
                    : field >= DOUBLE ? KRY_MTX_REAL
                                      : (kry_mtx_field)field;
    p->head.symmetry = symmetry == 3 ? KRY_MTX_SYMMETRIC : (kry_mtx_symmetry)symmetry;
    CHECK(!p->head.array || p->head.field != KRY_MTX_PATTERN, KRY_ERR_PARSE,
          MTX_HERE "an array file cannot be a pattern", MTX_AT(p));
    CHECK(p->head.field != KRY_MTX_PATTERN || p->head.symmetry != KRY_MTX_SKEW, KRY_ERR_PARSE,
          MTX_HERE "a pattern cannot be skew-symmetric", MTX_AT(p));
done:
    return st;
}

bool kryi_mtx_is_void(const char **at, const char *end)
{
    *at = skip_blanks(*at, end);
    return *at == end || **at == '%';
}

kry_status kryi_mtx_parse_next(mtx_parser *p, const char **at, const char **end)
{
    kry_status st = KRY_OK;
    do TRY(kryi_mtx_source_line(&p->source, at, end));
    while (*at && kryi_mtx_is_void(at, *end));
done:
    return st;
}

static kry_status take_integer(mtx_parser *p, const char **at, const char *end, const char *what,
                               int64_t *value)
{
    kry_status st = KRY_OK;
    const char *from = skip_blanks(*at, end), *stop = kryi_read_int64(from, end, value);

    CHECK(from < end, KRY_ERR_PARSE, MTX_HERE "the %s is missing", MTX_AT(p), what);
    CHECK(stop && at_gap(stop, end), KRY_ERR_PARSE, MTX_HERE "the %s '%.*s' is not a whole number",
          MTX_AT(p), what, word_length(from, end), from);
    *at = stop;
done:
    return st;
}

static kry_status check_line_end(mtx_parser *p, const char *at, const char *end)
{
    kry_status st = KRY_OK;
    at = skip_blanks(at, end);
    CHECK(at == end, KRY_ERR_PARSE, MTX_HERE "'%.*s' follows the last number", MTX_AT(p),
          word_length(at, end), at);
done:
    return st;
}

static kry_status check_sizes(const mtx_parser *p)
{
    kry_status st = KRY_OK;
    const kry_mtx *m = &p->head;

    CHECK(m->rows >= 0 && m->rows <= p->most, KRY_ERR_PARSE,
          MTX_HERE "%lld rows are outside 0 ... %lld", MTX_AT(p), (long long)m->rows,
          (long long)p->most);
    CHECK(m->cols >= 0 && m->cols <= p->most, KRY_ERR_PARSE,
          MTX_HERE "%lld columns are outside 0 ... %lld", MTX_AT(p), (long long)m->cols,
          (long long)p->most);
    CHECK(p->expected >= 0, KRY_ERR_PARSE, MTX_HERE "%lld entries", MTX_AT(p),
          (long long)p->expected);
    CHECK(m->symmetry == KRY_MTX_GENERAL || m->rows == m->cols, KRY_ERR_PARSE,
          MTX_HERE "%lld-by-%lld cannot be symmetric", MTX_AT(p), (long long)m->rows,
          (long long)m->cols);
    CHECK(!m->array || m->cols == 0 || m->rows < INT64_MAX / m->cols, KRY_ERR_PARSE,
          MTX_HERE "%lld-by-%lld is too large for an array", MTX_AT(p), (long long)m->rows,
          (long long)m->cols);
done:
    return st;
}

static kry_status read_sizes(mtx_parser *p)
{
    kry_status st = KRY_OK;
    kry_mtx *m = &p->head;
    const char *at, *end;

    TRY(kryi_mtx_parse_next(p, &at, &end));
    CHECK(at, KRY_ERR_PARSE, MTX_HERE "the file ends before the line with the sizes", MTX_AFTER(p));
    TRY(take_integer(p, &at, end, "number of rows", &m->rows));
    TRY(take_integer(p, &at, end, "number of columns", &m->cols));
    if (!m->array) TRY(take_integer(p, &at, end, "number of entries", &p->expected));
    TRY(check_line_end(p, at, end));
    TRY(check_sizes(p));
    if (m->array)
        p->expected = m->symmetry == KRY_MTX_GENERAL     ? m->rows * m->cols
                      : m->symmetry == KRY_MTX_SYMMETRIC ? m->rows * (m->rows - 1) / 2 + m->rows
                                                         : m->rows * (m->rows - 1) / 2;
done:
    return st;
}

kry_status kryi_mtx_parse_head(mtx_parser *p)
{
    kry_status st = KRY_OK;

    p->head = (kry_mtx){ .array = false };
    TRY(read_header(p));
    TRY(read_sizes(p));
done:
    return st;
}

/* ---- entries ------------------------------------------------------------------------------ */

static kry_status take_index(mtx_parser *p, const char **at, const char *end, const char *what,
                             int64_t most, int64_t *index)
{
    kry_status st = KRY_OK;
    int64_t value;

    TRY(take_integer(p, at, end, what, &value));
    CHECK(value >= 1 && value <= most, KRY_ERR_PARSE, MTX_HERE "%s %lld is outside 1 ... %lld",
          MTX_AT(p), what, (long long)value, (long long)most);
    *index = value - 1;
done:
    return st;
}

static bool is_whole(const char *at, const char *stop)
{
    if (*at == '-' || *at == '+') at++;
    while (at < stop && *at >= '0' && *at <= '9') at++;
    return at == stop;
}

static kry_status take_number(mtx_parser *p, const char **at, const char *end, const char *what,
                              double *value)
{
    kry_status st = KRY_OK;
    const char *from = skip_blanks(*at, end), *stop;

    CHECK(from < end, KRY_ERR_PARSE, MTX_HERE "the %s is missing", MTX_AT(p), what);
    stop = kryi_read_double(from, end, value);
    CHECK(stop && at_gap(stop, end), KRY_ERR_PARSE, MTX_HERE "the %s '%.*s' is not a finite number",
          MTX_AT(p), what, word_length(from, end), from);
    CHECK(p->head.field != KRY_MTX_INTEGER || is_whole(from, stop), KRY_ERR_PARSE,
          MTX_HERE "the value '%.*s' is not a whole number, as the header says", MTX_AT(p),
          word_length(from, end), from);
    CHECK(!p->non_negative || *value >= 0, KRY_ERR_PARSE,
          MTX_HERE "the value '%.*s' is negative, and the header says unsigned-integer", MTX_AT(p),
          word_length(from, end), from);
    *at = stop;
done:
    return st;
}

/* The real part of an entry; the imaginary one goes to the parser. */
static kry_status take_value(mtx_parser *p, const char **at, const char *end, double *value)
{
    kry_status st = KRY_OK;

    TRY(take_number(p, at, end, "value", value));
    if (p->complex) TRY(take_number(p, at, end, "imaginary part", &p->imaginary));
    CHECK(p->pairs || p->imaginary == 0, KRY_ERR_PARSE,
          MTX_HERE
          "the imaginary part is %g; kry_mtx_read takes complex files whose imaginary parts are "
          "all 0, kry_mtx_read_pairs takes others",
          MTX_AT(p), p->imaginary);
done:
    return st;
}

kry_status kryi_mtx_parse_entry(mtx_parser *p, const char *at, const char *end, mtx_entry *e)
{
    kry_status st = KRY_OK;
    const kry_mtx *m = &p->head;

    *e = (mtx_entry){ .val = 1 };
    p->imaginary = 0;
    if (!m->array) {
        TRY(take_index(p, &at, end, "row", m->rows, &e->row));
        TRY(take_index(p, &at, end, "column", m->cols, &e->col));
    }
    if (m->field != KRY_MTX_PATTERN) TRY(take_value(p, &at, end, &e->val));
    TRY(check_line_end(p, at, end));
    const bool diagonal = !m->array && e->row == e->col;
    CHECK(!diagonal || m->symmetry != KRY_MTX_SKEW || (e->val == 0 && p->imaginary == 0),
          KRY_ERR_PARSE,
          MTX_HERE "entry (%lld, %lld) is on the diagonal of a skew-symmetric matrix and is %g",
          MTX_AT(p), (long long)e->row + 1, (long long)e->col + 1,
          e->val != 0 ? e->val : p->imaginary);
    CHECK(!diagonal || !p->hermitian || p->imaginary == 0, KRY_ERR_PARSE,
          MTX_HERE "entry (%lld, %lld) is on the diagonal of a Hermitian matrix and has the "
                   "imaginary part %g",
          MTX_AT(p), (long long)e->row + 1, (long long)e->col + 1, p->imaginary);
done:
    return st;
}

kry_status kryi_mtx_parse_too_few(const mtx_parser *p, int64_t count)
{
    return kry_fail(KRY_ERR_PARSE, MTX_HERE "the file ends after %lld of %lld entries",
                    MTX_AFTER(p), (long long)count, (long long)p->expected);
}

kry_status kryi_mtx_parse_too_many(const mtx_parser *p)
{
    return kry_fail(KRY_ERR_PARSE, MTX_HERE "more than the %lld entries of the header", MTX_AT(p),
                    (long long)p->expected);
}
