/*
 * test_mtx.c - Matrix Market files: what is refused and on which line, what is taken, round trips
 * to the bit, and the numbers in them against strtod. KRY_TEST_SEED repeats a run.
 */
#include "unit.h"
#include <dirent.h>
#include <locale.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zlib.h>

#define BANNER "%%MatrixMarket matrix "
#define REAL   BANNER "coordinate real general\n"

/* ---- random numbers, files, gzip ---------------------------------------------------------- */

static uint64_t seed, state;
static char path[512], gz_path[520];

static uint64_t random_bits(void) /* splitmix64 */
{
    uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static int random_below(int n) { return (int)(random_bits() % (uint64_t)n); }

static double random_double(void) /* any finite one: subnormals, zeros and both signs */
{
    double v;
    do {
        uint64_t bits = random_bits();
        memcpy(&v, &bits, sizeof v);
    } while (!isfinite(v));
    return v;
}

static void write_bytes(const char *to, const void *bytes, size_t size)
{
    FILE *file = fopen(to, "wb");
    assert_non_null(file);
    assert_true(fwrite(bytes, 1, size, file) == size);
    assert_int_equal(fclose(file), 0);
}

static size_t deflate_text(const void *text, size_t size, unsigned char *to, size_t room)
{
    z_stream z = { .next_in = (Bytef *)(uintptr_t)text, .avail_in = (uInt)size };
    z.next_out = to, z.avail_out = (uInt)room;
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    deflateEnd(&z);
    return room - z.avail_out;
}

/* ---- what is refused ----------------------------------------------------------------------- */

/* The message names the file and the line, or any line if `line` is 0. */
static void expect_message(const char *name, int line, const char *why, const char *part)
{
    const char *message = kry_last_error(), *at = strstr(message, name);
    char *end = NULL;
    long found = at && at[strlen(name)] == ':' ? strtol(at + strlen(name) + 1, &end, 10) : -1;
    if (!end || *end != ':' || found < 1 || (line && found != line) || !strstr(message, part))
        fail_msg("%s: '%s' has no '%s' on line %d of '%s'", why, message, part, line, name);
}

static void expect_refused(const char *why, int line, const char *part, const void *bytes,
                           size_t size)
{
    kry_mtx *m = (kry_mtx *)(uintptr_t)1;
    kry_status st = kry_mtx_parse("bytes.mtx", bytes, size, &m);
    if (st != KRY_ERR_PARSE || m) fail_msg("%s: status %d from memory", why, st);
    expect_message("bytes.mtx", line, why, part);

    write_bytes(path, bytes, size);
    m = (kry_mtx *)(uintptr_t)1;
    st = kry_mtx_read(path, &m);
    if (st != KRY_ERR_PARSE || m) fail_msg("%s: status %d from a file", why, st);
    expect_message(path, line, why, part);
}

static const struct bad {
    const char *why;
    int line;
    const char *part, *text;
} bad[] = {
    { "no bytes", 1, "", "" },
    { "an empty line", 1, "", "\n" },
    { "another kind of file", 1, "", "1 1 1\n1 1 1\n" },
    { "a word that only begins right", 1, "", "%%MatrixMarkets matrix coordinate real general\n" },
    { "a vector", 1, "", "%%MatrixMarket vector coordinate real general\n" },
    { "a header cut after matrix", 1, "", "%%MatrixMarket matrix\n" },
    { "a header cut after the format", 1, "", BANNER "array\n" },
    { "a header cut after the field", 1, "", BANNER "array real\n" },
    { "an unknown format", 1, "", BANNER "elemental real general\n" },
    { "complex numbers", 4, "imaginary part is 2",
      BANNER "coordinate complex general\n2 2 2\n1 1 1 0\n2 2 1 2\n" },
    { "a complex number of one part", 3, "imaginary part is missing",
      BANNER "array complex general\n1 1\n1\n" },
    { "a complex number of three parts", 3, "", BANNER "array complex general\n1 1\n1 0 0\n" },
    { "an imaginary part that is a word", 3, "'i'", BANNER "array complex general\n1 1\n1 i\n" },
    { "a negative unsigned integer", 3, "'-1' is negative",
      BANNER "array unsigned-integer general\n1 1\n-1\n" },
    { "a comment that ends the entries", 5, "", REAL "2 2 2\n1 1 1\n% two\n" },
    { "hermitian", 1, "'hermitian'", BANNER "coordinate real hermitian\n" },
    { "a byte that is a hyphen but for one bit", 1, "",
      BANNER "coordinate real skew\rsymmetric\n1 1 0\n" },
    { "a fifth word", 1, "", BANNER "array real general more\n" },
    { "a dense pattern", 1, "", BANNER "array pattern general\n1 1\n" },
    { "a skew pattern", 1, "", BANNER "coordinate pattern skew-symmetric\n1 1 0\n" },
    { "a header alone", 2, "", REAL },
    { "a header without newline", 2, "", BANNER "coordinate real general" },
    { "comments alone", 4, "", REAL "% one\n% two\n" },
    { "a size missing", 3, "", REAL "%\n2 2\n" },
    { "columns missing", 2, "", BANNER "array real general\n2\n" },
    { "a size too many", 2, "", REAL "2 2 2 4\n" },
    { "a size with a point", 2, "", REAL "2.0 2 2\n" },
    { "words for sizes", 2, "", REAL "two 2 2\n" },
    { "negative rows", 2, "", REAL "-2 2 2\n" },
    { "negative columns", 2, "", REAL "2 -2 2\n" },
    { "negative entries", 2, "", REAL "2 2 -1\n" },
    { "2^31 rows", 2, "", REAL "2147483648 1 0\n" },
    { "2^31 columns", 2, "", REAL "1 2147483648 0\n" },
    { "2^63 rows", 2, "", REAL "9223372036854775808 1 0\n" },
    { "30 digits of entries", 2, "", REAL "1 1 100000000000000000000000000000\n" },
    { "a symmetric oblong", 2, "", BANNER "coordinate real symmetric\n2 3 0\n" },
    { "a dense symmetric oblong", 2, "", BANNER "array real symmetric\n3 2\n" },
    { "a dense matrix of nearly 2^62 numbers", 0, "",
      BANNER "array real general\n2147483647 2147483647\n1\n" },
    { "2^63-1 entries", 0, "", REAL "1 1 9223372036854775807\n1 1 1\n" },
    { "too few entries", 5, "", REAL "2 2 3\n1 1 1\n2 2 1\n" },
    { "too few, no newline", 5, "", REAL "2 2 3\n1 1 1\n2 2 1" },
    { "no entries but promised", 3, "", REAL "2 2 3\n" },
    { "too many entries", 4, "", REAL "2 2 1\n1 1 1\n2 2 1\n" },
    { "an entry in an empty matrix", 3, "", REAL "0 0 0\n1 1 1\n" },
    { "text after the entries", 5, "", REAL "2 2 1\n1 1 1\n\nend\n" },
    { "too many dense numbers", 4, "", BANNER "array real general\n1 1\n1\n2\n" },
    { "row 0", 3, "", REAL "2 3 1\n0 1 1\n" },
    { "column 0", 3, "", REAL "2 3 1\n1 0 1\n" },
    { "a negative row", 3, "", REAL "2 3 1\n-1 1 1\n" },
    { "a row too far", 4, "", REAL "2 3 2\n1 1 1\n3 1 1\n" },
    { "a column too far", 4, "", REAL "2 3 2\n1 1 1\n1 4 1\n" },
    { "a row that wraps to 1 in 32 bits", 3, "", REAL "2 2 1\n4294967297 1 1\n" },
    { "a row beyond 2^63", 3, "", REAL "2 2 1\n18446744073709551617 1 1\n" },
    { "a column beyond 2^63", 3, "", REAL "2 2 1\n1 9223372036854775808 1\n" },
    { "a row with a point", 3, "", REAL "2 2 1\n1.0 1 1\n" },
    { "a row that is a word", 3, "", REAL "2 2 1\none 1 1\n" },
    { "a row in base 16", 3, "", REAL "2 2 1\n0x1 1 1\n" },
    { "two signs", 3, "", REAL "2 2 1\n+-1 1 1\n" },
    { "a column missing", 3, "", REAL "2 2 1\n1\n" },
    { "a value missing", 3, "", REAL "2 2 1\n1 1 \n" },
    { "a value on the next line", 3, "", REAL "2 2 1\n1 1\n1\n" },
    { "NaN", 3, "'nan'", REAL "2 2 1\n1 1 nan\n" },
    { "infinity", 3, "", REAL "2 2 1\n1 1 -Inf\n" },
    { "overflow", 3, "'1e999'", REAL "2 2 1\n1 1 1e999\n" },
    { "just too large", 3, "", REAL "2 2 1\n1 1 1.7976931348623159e308\n" },
    { "an exponent of 30 digits", 3, "", REAL "1 1 1\n1 1 1e100000000000000000000000000000\n" },
    { "a word for a value", 3, "'abc'", REAL "2 2 1\n1 1 abc\n" },
    { "a value with a tail", 3, "", REAL "2 2 1\n1 1 1.5x\n" },
    { "a decimal comma", 3, "", REAL "2 2 1\n1 1 1,5\n" },
    { "a value in base 16", 3, "", REAL "2 2 1\n1 1 0x1p3\n" },
    { "no digits", 3, "", REAL "2 2 1\n1 1 .\n" },
    { "a sign alone", 3, "", REAL "2 2 1\n1 1 -\n" },
    { "an exponent without digits", 3, "", REAL "2 2 1\n1 1 1e\n" },
    { "an exponent with a sign alone", 3, "", REAL "2 2 1\n1 1 1e+\n" },
    { "a number after the value", 3, "", REAL "2 2 1\n1 1 1 2\n" },
    { "a comment after the value", 3, "", REAL "2 2 1\n1 1 1 % one\n" },
    { "a value in a pattern", 3, "", BANNER "coordinate pattern general\n2 2 1\n1 1 7\n" },
    { "a fraction in an integer file", 3, "", BANNER "array integer general\n1 1\n1.5\n" },
    { "an exponent in an integer file", 3, "", BANNER "array integer general\n1 1\n1e2\n" },
    { "skew with a diagonal", 4, "",
      BANNER "coordinate real skew-symmetric\n2 2 2\n2 1 1\n2 2 1e-300\n" },
    { "a billion entries in the header", 4, "", REAL "2147483647 2147483647 1000000000\n1 1 1\n" },
};

static void mtx_read__malformed_text_names_line(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < COUNT(bad); i++)
        expect_refused(bad[i].why, bad[i].line, bad[i].part, bad[i].text, strlen(bad[i].text));
}

static void mtx_read__byte_zero_in_a_number(void **unused)
{
    static const char text[] = REAL "1 1 1\n1 1 1\0"
                                    "5\n";
    (void)unused;
    expect_refused("a byte 0", 3, "", text, sizeof text - 1);
}

/* No machine has room for what the header claims: whoever asks for it gets KRY_ERR_MEMORY. */
static void mtx_parse__header_alone_asks_for_no_memory(void **unused)
{
    static const char text[] = REAL "2147483647 2147483647 500000000000000000\n1 1 1\n";
    (void)unused;
    expect_refused("half an exabyte", 4, "", text, sizeof text - 1);
}

static void mtx_read__line_of_two_megabytes(void **unused)
{
    enum { LENGTH = 2 << 20 };
    static const char header[] = REAL "%";
    char *text = malloc(LENGTH);
    (void)unused;
    assert_non_null(text);
    memset(text, 'x', LENGTH);
    memcpy(text, header, sizeof header - 1);
    expect_refused("a long line", 2, "", text, LENGTH);
    free(text);
}

static void mtx_read__ten_megabytes_of_blank_lines(void **unused)
{
    enum { LINES = 10000000 };
    static const char header[] = REAL;
    size_t size = sizeof header - 1 + LINES, room = size / 100;
    char *text = malloc(size);
    unsigned char *packed = malloc(room);
    (void)unused;
    assert_true(text && packed);
    memset(text, '\n', size);
    memcpy(text, header, sizeof header - 1);
    size_t length = deflate_text(text, size, packed, room);
    expect_refused("blank lines", LINES + 2, "", packed, length);
    free(text);
    free(packed);
}

static void mtx_read__broken_gzip_names_line(void **unused)
{
    static const char text[] = REAL "2 2 3\n1 1 1.25\n2 1 -7e-3\n2 2 3.14159\n";
    unsigned char packed[400], copy[400];
    size_t size = deflate_text(text, sizeof text - 1, packed, sizeof packed);
    (void)unused;
    for (size_t keep = 2; keep < size; keep++) { /* of less, not even the format can be told */
        kry_mtx *m;
        assert_int_equal(kry_mtx_parse("cut.gz", packed, keep, &m), KRY_ERR_PARSE);
        assert_null(m);
        expect_message("cut.gz", 1, "cut", "");
    }
    for (size_t keep = 18; keep < size; keep += 7)
        expect_refused("a gzip file cut short", 0, "", packed, keep);
    memcpy(copy, packed, size);
    copy[size - 6] ^= 1; /* in the checksum */
    expect_refused("a wrong checksum", 0, "", copy, size);
    memcpy(copy, packed, size);
    copy[size - 1] ^= 1;
    expect_refused("a wrong length", 0, "", copy, size);
    for (int i = 0; i < 500; i++) { /* whatever comes of a flipped bit, it is orderly */
        kry_mtx *m;
        memcpy(copy, packed, size);
        copy[2 + random_below((int)size - 2)] ^= (unsigned char)(1 << random_below(8));
        kry_status st = kry_mtx_parse("bit.gz", copy, size, &m);
        assert_true(st == KRY_OK ? m != NULL : st == KRY_ERR_PARSE && !m);
        kry_mtx_release(&m);
    }
}

static void mtx_read__no_such_file_or_a_folder(void **unused)
{
    kry_mtx *m = (kry_mtx *)(uintptr_t)1;
    (void)unused;
    assert_int_equal(kry_mtx_read("/nowhere/a.mtx", &m), KRY_ERR_FILE);
    assert_null(m);
    assert_non_null(strstr(kry_last_error(), "/nowhere/a.mtx"));
    m = (kry_mtx *)(uintptr_t)1;
    assert_int_equal(kry_mtx_read("/", &m), KRY_ERR_FILE);
    assert_null(m);
}

static void mtx_read__null_arguments(void **unused)
{
    kry_mtx *m = (kry_mtx *)(uintptr_t)1;
    (void)unused;
    assert_int_equal(kry_mtx_read(NULL, &m), KRY_ERR_ARGUMENT);
    assert_null(m);
    assert_int_equal(kry_mtx_parse(NULL, "", 0, &m), KRY_ERR_ARGUMENT);
    assert_int_equal(kry_mtx_parse("x", NULL, 1, &m), KRY_ERR_ARGUMENT);
    assert_int_equal(kry_mtx_parse("x", NULL, 0, &m), KRY_ERR_PARSE);
    kry_mtx_release(&m);
}

/* ---- what is taken ------------------------------------------------------------------------- */

static void expect_same(const kry_mtx *a, const kry_mtx *b)
{
    size_t n = (size_t)a->nnz;
    assert_true(a->array == b->array && a->field == b->field && a->symmetry == b->symmetry);
    assert_true(a->rows == b->rows && a->cols == b->cols && a->nnz == b->nnz);
    if (n == 0) return;
    assert_memory_equal(a->val, b->val, n * sizeof *a->val);
    if (a->array) {
        assert_true(!a->row && !a->col && !b->row && !b->col);
        return;
    }
    assert_memory_equal(a->row, b->row, n * sizeof *a->row);
    assert_memory_equal(a->col, b->col, n * sizeof *a->col);
}

static kry_mtx *parse_text(const void *text, size_t size)
{
    kry_mtx *m;
    OK(kry_mtx_parse("text", text, size, &m));
    return m;
}

/* `text` reads as `want` from memory and from a file, plain, gzip'd and in two gzip members. */
static void expect_reads_as(const kry_mtx *want, const char *text, size_t size)
{
    unsigned char packed[4096];
    size_t cut = (size_t)random_below((int)size + 1);
    size_t whole = deflate_text(text, size, packed, 2048);
    size_t first, both;
    kry_mtx *m[6];

    m[0] = parse_text(text, size);
    m[1] = parse_text(packed, whole);
    write_bytes(path, text, size);
    OK(kry_mtx_read(path, &m[2]));
    write_bytes(path, packed, whole);
    OK(kry_mtx_read(path, &m[3]));
    first = deflate_text(text, cut, packed, 2048);
    both = first + deflate_text(text + cut, size - cut, packed + first, sizeof packed - first);
    m[4] = parse_text(packed, both);
    write_bytes(path, packed, both);
    OK(kry_mtx_read(path, &m[5]));
    for (size_t i = 0; i < COUNT(m); i++) {
        expect_same(want, m[i]);
        kry_mtx_release(&m[i]);
    }
}

/* Each newline replaced; the last one left out if wanted. */
static size_t with_newlines(const char *text, const char *newline, bool last, char *to)
{
    size_t n = 0;
    for (const char *c = text; *c; c++) {
        if (*c != '\n')
            to[n++] = *c;
        else if (last || c[1])
            n += (size_t)sprintf(to + n, "%s", newline);
    }
    return n;
}

static void expect_any_layout(const kry_mtx *want, const char *text)
{
    static const char *const newlines[] = {
        "\n", "\r\n", "\n\n", "\r\n \t\r\n", "\n  ", " \t\n\t"
    };
    char other[2048];

    for (size_t i = 0; i < COUNT(newlines); i++)
        for (int last = 0; last < 2; last++)
            expect_reads_as(want, other, with_newlines(text, newlines[i], last, other));
    size_t size = strlen(text), line = strcspn(text, "\n");
    memcpy(other, text, size);
    for (size_t i = 0; i < line; i++)
        if (other[i] >= 'a' && other[i] <= 'z') other[i] = (char)(other[i] - 32);
    expect_reads_as(want, other, size);
    for (size_t i = 0; i < line; i++)
        if (other[i] >= 'A' && other[i] <= 'Z') other[i] = (char)(other[i] + 32);
    expect_reads_as(want, other, size);
    size = (size_t)sprintf(other, "%.*s\n%%\n%%%% 1 2 3\n\n  %% in between\n%s", (int)line, text,
                           text + line + 1);
    expect_reads_as(want, other, size);
}

/* Of three by three, what lies below the diagonal, or all or with it: by columns. */
static void every_kind(bool array, kry_mtx_field field, kry_mtx_symmetry symmetry)
{
    static const char *const fields[] = { "real", "integer", "pattern" };
    static const char *const symmetries[] = { "general", "symmetric", "skew-symmetric" };
    static const char *const text_of[] = { "1.0D+03", "-.5", "25.e-1", "+7", "1e-5",
                                           "-0",      "4E2", "0.1",    "9" };
    static const double value_of[] = { 1000, -.5, 2.5, 7, 1e-5, -0., 400, .1, 9 };
    int32_t row[9], col[9];
    double val[9];
    char text[1024], lines[512] = "";
    kry_mtx want = { array, field, symmetry, 3, 3, 0, array ? NULL : row, array ? NULL : col, val };

    for (int j = 0; j < 3; j++) {
        for (int i = symmetry == KRY_MTX_GENERAL ? 0
                     : symmetry == KRY_MTX_SKEW  ? j + 1
                                                 : j;
             i < 3; i++) {
            int64_t e = want.nnz++;
            char *at = lines + strlen(lines);
            row[e] = i, col[e] = j,
            val[e] = field == KRY_MTX_REAL ? value_of[e] : 5 * (double)e - 8;
            if (!array) at += sprintf(at, "%d %d ", i + 1, j + 1);
            if (field == KRY_MTX_REAL) at += sprintf(at, "%s", text_of[e]);
            if (field == KRY_MTX_INTEGER) at += sprintf(at, "%lld", (long long)val[e]);
            if (field == KRY_MTX_PATTERN) val[e] = 1;
            sprintf(at, "\n");
        }
    }
    int used = sprintf(text, "%s%s %s %s\n3 3", BANNER, array ? "array" : "coordinate",
                       fields[field], symmetries[symmetry]);
    if (!array) used += sprintf(text + used, " %lld", (long long)want.nnz);
    sprintf(text + used, "\n%s", lines);
    expect_any_layout(&want, text);
}

static void mtx_read__every_kind_in_every_layout(void **unused)
{
    (void)unused;
    for (int array = 0; array < 2; array++)
        for (int field = 0; field < 3; field++)
            for (int symmetry = 0; symmetry < 3; symmetry++)
                if (field != KRY_MTX_PATTERN || (!array && symmetry != KRY_MTX_SKEW))
                    every_kind(array, (kry_mtx_field)field, (kry_mtx_symmetry)symmetry);
}

/* What only other programs write, and the same as kry writes it. */
static void mtx_read__kinds_of_other_programs(void **unused)
{
    static const char *const pairs[][2] = {
        { BANNER "coordinate real skew-symmetric\n3 3 5\n1 1 0\n2 1 4\n2 2 -0.0\n3 2 5\n3 3 0e9\n",
          BANNER "coordinate real skew-symmetric\n3 3 2\n2 1 4\n3 2 5\n" },
        { BANNER "coordinate unsigned-integer general\n2 2 2\n1 1 0\n2 2 7\n",
          BANNER "coordinate integer general\n2 2 2\n1 1 0\n2 2 7\n" },
        { BANNER "coordinate complex general\n2 2 2\n1 1 1.5 0\n2 2 -3 -0.0\n",
          BANNER "coordinate real general\n2 2 2\n1 1 1.5\n2 2 -3\n" },
        { BANNER "coordinate complex hermitian\n2 2 2\n1 1 1.5 0\n2 1 -3 0e5\n",
          BANNER "coordinate real symmetric\n2 2 2\n1 1 1.5\n2 1 -3\n" },
        { BANNER "array complex symmetric\n2 2\n1 0\n2 0\n3 0\n",
          BANNER "array real symmetric\n2 2\n1\n2\n3\n" },
        { BANNER "coordinate real general\n2 2 2\n1 1 1\n% between\n  %% 2 2 9\n\n2 2 2\n% last",
          BANNER "coordinate real general\n2 2 2\n1 1 1\n2 2 2\n" },
        { BANNER "array real general\n2 1\n1\n%\n2\n", BANNER "array real general\n2 1\n1\n2\n" },
    };
    (void)unused;
    for (size_t i = 0; i < COUNT(pairs); i++) {
        kry_mtx *want = parse_text(pairs[i][1], strlen(pairs[i][1]));
        expect_reads_as(want, pairs[i][0], strlen(pairs[i][0]));
        kry_mtx_release(&want);
    }
}

/* Random entries, of which two are at one place: both lines are named, whatever comments stand between. */
static void mtx_check_duplicates__names_both_lines(void **unused)
{
    static const char *const symmetries[] = { "general", "symmetric", "skew-symmetric" };
    char text[20000], part[80];
    (void)unused;
    for (int trial = 0; trial < 60; trial++) {
        const int symmetry = random_below(3), count = 2 + random_below(60),
                  two = 1 + random_below(count - 1), one = random_below(two),
                  turned = symmetry && random_below(2);
        int used = sprintf(text, "%scoordinate integer %s\n1000 1000 %d\n", BANNER,
                           symmetries[symmetry], count);
        int line = 2, lines[2] = { 0, 0 }, row[2] = { 0, 0 };
        for (int e = 0; e < count; e++) {
            for (; random_below(3) == 0; line++)
                used += sprintf(text + used, random_below(2) ? "%% 1\n" : " \n");
            int i = 500 + (e == two ? one : e) * 2, j = 1 + (e == two ? one : e);
            if (e == two && turned) i ^= j, j ^= i, i ^= j;
            line++;
            if (e == one) lines[0] = line, row[0] = i;
            if (e == two) lines[1] = line, row[1] = i;
            used += sprintf(text + used, "%d %d 1\n", i, j);
        }
        write_bytes(path, text, (size_t)used);
        kry_mtx *m;
        OK(kry_mtx_read(path, &m));
        assert_int_equal(kry_mtx_check_duplicates(path, m), KRY_ERR_ARGUMENT);
        snprintf(part, sizeof part, ":%d: row %d, ", lines[1], row[1]);
        if (!strstr(kry_last_error(), part)) fail_msg("'%s' has no '%s'", kry_last_error(), part);
        snprintf(part, sizeof part, "line %d", lines[0]);
        if (!strstr(kry_last_error(), part)) fail_msg("'%s' has no '%s'", kry_last_error(), part);
        m->row[two] = 998; /* a place of its own */
        OK(kry_mtx_check_duplicates(path, m));
        kry_mtx_release(&m);
    }
}

static void mtx_read__empty_matrices(void **unused)
{
    static const char *const texts[] = { REAL "0 0 0\n",
                                         REAL "5 0 0",
                                         REAL "2147483647 3 0\n\n",
                                         BANNER "array real general\n0 7\n",
                                         BANNER "array real symmetric\n0 0\n",
                                         BANNER "array real skew-symmetric\n0 0\n",
                                         BANNER "array real skew-symmetric\n1 1\n" };
    (void)unused;
    for (size_t i = 0; i < COUNT(texts); i++) {
        kry_mtx *m = parse_text(texts[i], strlen(texts[i])), *again;
        assert_int_equal(m->nnz, 0);
        OK(kry_mtx_write(path, m, NULL));
        OK(kry_mtx_read(path, &again));
        expect_same(m, again);
        kry_mtx_release(&again);
        kry_mtx_release(&m);
    }
}

/* Lines that cross the end of a chunk, and more entries than the first request for memory holds. */
static void mtx_read__text_of_several_chunks(void **unused)
{
    enum { N = 150000 };
    char *text = malloc(N * 30 + 100);
    (void)unused;
    assert_non_null(text);
    int used = sprintf(text, "%s%d %d %d\n", REAL, N, N, N);
    for (int e = 0; e < N; e++) used += sprintf(text + used, "%d %d %d.5\n", e + 1, N - e, e);
    kry_mtx *m = parse_text(text, (size_t)used);
    assert_int_equal(m->nnz, N);
    for (int e = 0; e < N; e++)
        if (m->row[e] != e || m->col[e] != N - 1 - e || m->val[e] != e + .5)
            fail_msg("entry %d", e);
    kry_mtx_release(&m);
    free(text);
}

/* ---- round trips --------------------------------------------------------------------------- */

static double value_for(kry_mtx_field field)
{
    if (field == KRY_MTX_PATTERN) return 1;
    if (field == KRY_MTX_REAL) return random_double();
    double whole = (double)(random_bits() >> (11 + random_below(53)));
    return random_below(2) && whole > 0 ? -whole : whole;
}

static void round_trip(bool array, kry_mtx_field field, kry_mtx_symmetry symmetry)
{
    enum { N = 40, MOST = N * N };
    static int32_t row[MOST], col[MOST];
    static double val[MOST];
    kry_mtx m = { array, field, symmetry, N, N, 0, array ? NULL : row, array ? NULL : col, val };

    for (int j = 0; j < N; j++) {
        for (int i = 0; i < N; i++) {
            if (symmetry != KRY_MTX_GENERAL && i < j) continue;
            if (symmetry == KRY_MTX_SKEW && i == j) continue;
            row[m.nnz] = i, col[m.nnz] = j, val[m.nnz++] = value_for(field);
        }
    }
    for (int gz = 0; gz < 2; gz++) {
        kry_mtx *read;
        OK(kry_mtx_write(gz ? gz_path : path, &m,
                         gz ? NULL : "a comment\nof which a line is kept"));
        OK(kry_mtx_read(gz ? gz_path : path, &read));
        expect_same(&m, read);
        kry_mtx_release(&read);
    }
}

static void mtx_write__reads_back_to_the_bit(void **unused)
{
    (void)unused;
    for (int array = 0; array < 2; array++)
        for (int field = 0; field < 3; field++)
            for (int symmetry = 0; symmetry < 3; symmetry++)
                if (field != KRY_MTX_PATTERN || (!array && symmetry != KRY_MTX_SKEW))
                    round_trip(array, (kry_mtx_field)field, (kry_mtx_symmetry)symmetry);
}

static void mtx_write__extreme_numbers(void **unused)
{
    double val[] = { 0.,
                     -0.,
                     5e-324,
                     -2.2250738585072009e-308,
                     2.2250738585072014e-308,
                     1.7976931348623157e308,
                     1. / 3,
                     9007199254740993. };
    double whole[] = { 0, 1, -1, 2147483648., 9007199254740992., -9007199254740992. };
    kry_mtx m = { true, KRY_MTX_REAL, KRY_MTX_GENERAL, COUNT(val), 1, COUNT(val), NULL, NULL, val },
            n = { true, KRY_MTX_INTEGER, KRY_MTX_GENERAL, COUNT(whole), 1, COUNT(whole), NULL, NULL,
                  whole };
    kry_mtx *read;
    (void)unused;
    OK(kry_mtx_write(path, &m, NULL));
    OK(kry_mtx_read(path, &read));
    expect_same(&m, read);
    kry_mtx_release(&read);
    OK(kry_mtx_write(path, &n, NULL));
    OK(kry_mtx_read(path, &read));
    expect_same(&n, read);
    kry_mtx_release(&read);
}

static void mtx_write__gz_name_makes_gzip(void **unused)
{
    double val[] = { 1 };
    kry_mtx m = { true, KRY_MTX_REAL, KRY_MTX_GENERAL, 1, 1, 1, NULL, NULL, val };
    unsigned char magic[2] = { 0 };
    FILE *file;
    (void)unused;
    OK(kry_mtx_write(gz_path, &m, NULL));
    assert_non_null(file = fopen(gz_path, "rb"));
    assert_true(fread(magic, 1, 2, file) == 2 && magic[0] == 0x1f && magic[1] == 0x8b);
    fclose(file);
}

static void mtx_write__full_disk_and_missing_folder(void **unused)
{
    double val[] = { 1, 2 };
    kry_mtx m = { true, KRY_MTX_REAL, KRY_MTX_GENERAL, 2, 1, 2, NULL, NULL, val };
    (void)unused;
    assert_int_equal(kry_mtx_write("/nowhere/a.mtx", &m, NULL), KRY_ERR_FILE);
    assert_non_null(strstr(kry_last_error(), "/nowhere/a.mtx"));
    assert_int_equal(kry_mtx_write("/nowhere/a.mtx.gz", &m, NULL), KRY_ERR_FILE);
    if (access("/dev/full", W_OK)) return;
    assert_int_equal(kry_mtx_write("/dev/full", &m, NULL), KRY_ERR_FILE);
    assert_non_null(strstr(kry_last_error(), "/dev/full"));
    assert_int_equal(access("/dev/full", W_OK), 0); /* a device is not removed */
}

static void mtx_write__values_that_are_not_finite(void **unused)
{
    (void)unused;
    int32_t one = 0;
    double value = NAN;
    kry_mtx m = { .rows = 1, .cols = 1, .nnz = 1, .row = &one, .col = &one, .val = &value };
    char path[1200];
    snprintf(path, sizeof path, "%s/kry-never-written.mtx",
             getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    assert_int_equal(kry_mtx_write(path, &m, NULL), KRY_ERR_ARGUMENT);
    assert_non_null(strstr(kry_last_error(), "entry 0"));
    assert_null(fopen(path, "rb"));
}

static void expect_unwritten(const kry_mtx *m, const char *words)
{
    char to[1200];
    snprintf(to, sizeof to, "%s/kry-never-written.mtx",
             getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    assert_int_equal(kry_mtx_write(to, m, NULL), KRY_ERR_ARGUMENT);
    if (!strstr(kry_last_error(), words)) fail_msg("'%s' lacks '%s'", kry_last_error(), words);
    assert_null(fopen(to, "rb"));
}

/* What kry_mtx_read would refuse is not written. */
static void mtx_write__what_could_not_be_read(void **unused)
{
    (void)unused;
    int32_t row[] = { 0, 2 }, col[] = { 0, 1 };
    double val[] = { 1, 2.5 };
    const kry_mtx good = { .rows = 3, .cols = 3, .nnz = 2, .row = row, .col = col, .val = val };
    kry_mtx m = good;
    m.field = KRY_MTX_INTEGER;
    expect_unwritten(&m, "2.5 at entry 1 is not whole");
    m = good, m.field = KRY_MTX_PATTERN, m.symmetry = KRY_MTX_SKEW;
    expect_unwritten(&m, "pattern");
    m = good, m.field = KRY_MTX_PATTERN, m.array = true;
    expect_unwritten(&m, "pattern");
    m = good, m.symmetry = KRY_MTX_SKEW;
    expect_unwritten(&m, "entry 0 is on the diagonal");
    m = good, m.symmetry = KRY_MTX_SYMMETRIC, m.cols = 4;
    expect_unwritten(&m, "3 rows and 4 columns, and symmetric");
    m = good, m.rows = -1;
    expect_unwritten(&m, "-1 rows");
    m = good, m.rows = 2;
    expect_unwritten(&m, "entry 1, (2, 1), is outside 2-by-3");
    m = good, m.field = (kry_mtx_field)7;
    expect_unwritten(&m, "no field 7");
}

static void mtx_write__null_arguments(void **unused)
{
    kry_mtx m = { true, KRY_MTX_REAL, KRY_MTX_GENERAL, 2, 1, 2, NULL, NULL, NULL };
    (void)unused;
    assert_int_equal(kry_mtx_write(NULL, &m, NULL), KRY_ERR_ARGUMENT);
    assert_int_equal(kry_mtx_write(path, NULL, NULL), KRY_ERR_ARGUMENT);
    assert_int_equal(kry_mtx_write(path, &m, NULL), KRY_ERR_ARGUMENT);
}

static void mtx__locale_with_decimal_comma_changes_nothing(void **unused)
{
    (void)unused;
    if (!take_decimal_comma()) SKIP("no locale with a decimal comma can be had");
    round_trip(true, KRY_MTX_REAL, KRY_MTX_GENERAL);
    every_kind(false, KRY_MTX_REAL, KRY_MTX_GENERAL);
    expect_refused("a decimal comma", 3, "", REAL "1 1 1\n1 1 1,5\n",
                   strlen(REAL "1 1 1\n1 1 1,5\n"));
    setlocale(LC_NUMERIC, "C");
}

/* ---- what was there ------------------------------------------------------------------------- */

/* Whether a file that is not whole yet, or never became so, lies beside `path`. */
static bool hidden_file(void)
{
    char folder[520];
    bool found = false;
    const char *slash = strrchr(path, '/');
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir));)
        found |= !strncmp(e->d_name, ".kry-", 5) && strstr(e->d_name, slash ? slash + 1 : path);
    closedir(dir);
    return found;
}

static kry_status write_any(int kind, const kry_mtx *m)
{
    return kind == 0 ? kry_mtx_write(path, m, "new") : kry_petsc_write(path, m);
}

/* Files longer than this many bytes cannot be written. */
static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void write_and_die(void *user)
{
    const int kind = *(int *)user;
    static double val[20000];
    const kry_mtx m = { .array = true, .rows = 20000, .cols = 1, .nnz = 20000, .val = val };
    signal(SIGXFSZ, SIG_DFL);
    limit_files(5000);
    if (write_any(kind, &m) >= 0) _exit(1);
    _exit(2);
}

/* A full disk costs neither the old file, nor is anything left beside it; nor if the process is killed. */
static void write__old_file_stays_if_the_new_one_does_not_fit(void **unused)
{
    static const char old[] = "what was there";
    static double val[20000];
    const kry_mtx m = { .array = true, .rows = 20000, .cols = 1, .nnz = 20000, .val = val };
    char back[sizeof old] = "";
    (void)unused;
    signal(SIGXFSZ, SIG_IGN);
    for (int kind = 0; kind < 2; kind++) {
        for (int killed = 0; killed < 2; killed++) {
            write_bytes(path, old, sizeof old);
            if (killed) {
                assert_int_equal(exit_of_child(write_and_die, &kind), 255);
            } else {
                limit_files(5000);
                const kry_status st = write_any(kind, &m);
                limit_files(RLIM_INFINITY);
                assert_int_equal(st, KRY_ERR_FILE);
                assert_non_null(strstr(kry_last_error(), path));
            }
            FILE *file = fopen(path, "rb");
            assert_non_null(file);
            assert_int_equal(fread(back, 1, sizeof back, file), sizeof back);
            fclose(file);
            assert_memory_equal(back, old, sizeof old);
            assert_false(hidden_file());
        }
        OK(write_any(kind, &m));
        assert_false(hidden_file());
        kry_mtx *again;
        OK(kry_mtx_read(path, &again));
        assert_int_equal(again->nnz, m.nnz);
        kry_mtx_release(&again);
    }
    signal(SIGXFSZ, SIG_DFL);
}

/* ---- memory -------------------------------------------------------------------------------- */

static void mtx_parse__each_failed_allocation(void **unused)
{
    enum { N = 3000 };
    char *text = malloc(N * 20 + 100);
    int used, fail_at = 0;
    kry_mtx *m;
    (void)unused;
    assert_non_null(text);
    used = sprintf(text, "%s%d %d %d\n", REAL, N, N, N);
    for (int e = 1; e <= N; e++) used += sprintf(text + used, "%d %d %d\n", e, e, e);
    for (;; fail_at++) {
        m = (kry_mtx *)(uintptr_t)1;
        kry_status st = FAILING(fail_at, kry_mtx_parse("memory", text, (size_t)used, &m));
        if (st == KRY_OK) break;
        assert_int_equal(st, KRY_ERR_MEMORY);
        assert_null(m);
    }
    assert_true(fail_at >= 5); /* the matrix, a chunk of text, row, col, val */
    assert_int_equal(m->nnz, N);
    kry_mtx_release(&m);
    kry_mtx_release(&m); /* NULL now: nothing happens */
    free(text);
}

/* ---- numbers ------------------------------------------------------------------------------- */

static void random_token(char *to)
{
    int digits = 1 + random_below(25), point = random_below(digits + 2), at = 0;
    if (random_below(4) == 0) { /* what printf makes of any double */
        sprintf(to, "%.*g", 1 + random_below(25), random_double());
        return;
    }
    if (random_below(2)) to[at++] = random_below(4) ? '-' : '+';
    for (int i = 0; i < digits; i++) {
        if (i == point) to[at++] = '.';
        to[at++] = (char)('0' + (random_below(5) ? random_below(10) : 0));
    }
    to[at] = 0;
    int range = (int[]){ 5, 30, 320 }[random_below(3)]; /* -320: subnormals too */
    if (random_below(4))
        sprintf(to + at, "%c%d", "eE"[random_below(2)], random_below(2 * range) - range);
}

/* An array file of `count` tokens, one at tokens + i * SLOT each, reads as strtod reads them. */
enum { SLOT = 72 };

static void expect_as_strtod(const char *tokens, int count)
{
    char *text = malloc((size_t)count * SLOT + 100);
    assert_non_null(text);
    int used = sprintf(text, "%sarray real general\n%d 1\n", BANNER, count);
    for (int i = 0; i < count; i++) used += sprintf(text + used, "%s\n", tokens + i * SLOT);
    kry_mtx *m = parse_text(text, (size_t)used);
    for (int i = 0; i < count; i++) {
        double want = strtod(tokens + i * SLOT, NULL);
        if (memcmp(&m->val[i], &want, sizeof want))
            fail_msg("'%s' reads as %a, not %a", tokens + i * SLOT, m->val[i], want);
    }
    kry_mtx_release(&m);
    free(text);
}

static void number__equals_strtod(void **unused)
{
    enum { TOKENS = 200000 };
    char *tokens = malloc((size_t)TOKENS * SLOT);
    (void)unused;
    assert_non_null(tokens);
    for (int i = 0; i < TOKENS;) {
        random_token(tokens + i * SLOT);
        i += isfinite(strtod(tokens + i * SLOT, NULL)) != 0;
    }
    expect_as_strtod(tokens, TOKENS);
    free(tokens);
}

static void number__hard_cases_equal_strtod(void **unused)
{
    static const char hard[][SLOT] = { "9007199254740993",
                                       "9007199254740992.5",
                                       "9007199254740993.0000000000000000000001",
                                       "2.2250738585072011e-308",
                                       "2.2250738585072012e-308",
                                       "4.9406564584124654e-324",
                                       "2.4703282292062327e-324",
                                       "2.4703282292062328e-324",
                                       "1.7976931348623158e308",
                                       "18446744073709551615",
                                       "18446744073709551616",
                                       "9999999999999999999e27",
                                       "1e-27",
                                       "1e28",
                                       "1e-28",
                                       "0e400",
                                       "-0.0e-400",
                                       "1e-400",
                                       "1e-100000",
                                       ".5",
                                       "5.",
                                       "00001.500",
                                       "6.9294956446009195e15",
                                       "1090544144181609348671888949248",
                                       "3.5844466002796428e+298" };
    (void)unused;
    expect_as_strtod(hard[0], (int)COUNT(hard));
}

static void number__overflow_is_refused(void **unused)
{
    char text[200];
    (void)unused;
    for (int i = 0; i < 200; i++) {
        int used = sprintf(text, "%sarray real general\n1 1\n%d.%de%d\n", BANNER,
                           1 + random_below(9), random_below(1000000), 309 + random_below(100000));
        expect_refused(text, 3, "", text, (size_t)used);
    }
}

static void number__hundreds_of_digits(void **unused)
{
    char text[2000], digits[801];
    (void)unused;
    memset(digits, '7', 800), digits[800] = 0;
    for (int zeros = 1; zeros < 400; zeros += 57) {
        int header = sprintf(text, "%sarray real general\n1 1\n", BANNER);
        int used = header + sprintf(text + header, "0.%0*d%s", zeros, 0, digits);
        kry_mtx *m = parse_text(text, (size_t)used);
        assert_true(m->val[0] == strtod(text + header, NULL));
        kry_mtx_release(&m);
    }
}

/* ---- real files ---------------------------------------------------------------------------- */

static int read_folder(const char *folder, int depth)
{
    DIR *dir = opendir(folder);
    int files = 0;
    for (struct dirent *d; dir && (d = readdir(dir));) {
        char name[4096];
        size_t length = strlen(d->d_name);
        if (d->d_name[0] == '.') continue;
        if (snprintf(name, sizeof name, "%s/%s", folder, d->d_name) >= (int)sizeof name) continue;
        if (length > 7 && !strcmp(d->d_name + length - 7, ".mtx.gz")) {
            kry_mtx *m;
            OK(kry_mtx_read(name, &m));
            assert_true(m->rows > 0 && m->cols > 0 && m->nnz > 0);
            kry_mtx_release(&m);
            files++;
        } else if (depth < 4) {
            files += read_folder(name, depth + 1);
        }
    }
    if (dir) closedir(dir);
    return files;
}

static void mtx_read__real_files(void **unused)
{
    const char *root = getenv("KRY_MATRIX_DIR");
    (void)unused;
    if (!root) {
        SKIP("KRY_MATRIX_DIR is not set");
    }
    int files = read_folder(root, 0);
    print_message("# %d files read\n", files);
    assert_true(files > 0);
}

/* ---- complex numbers -------------------------------------------------------------------------- */

/* Entries at random places of one half (of all of a general matrix), and what they stand for, entry by entry: the real
 * matrix of 2n rows, held by rows. The number of file entries is returned. */
static int random_complex(int n, int kind, char *lines, double *whole)
{
    int used = 0, count = 0;

    for (int i = 0; i < n; i++)
        for (int j = 0; j <= (kind ? i : n - 1); j++) {
            const bool diagonal = i == j;
            if (random_below(2) || (kind == 2 && diagonal)) continue;
            const double re = random_below(9) - 4,
                         im = kind == 3 && diagonal ? 0 : random_below(9) - 4;
            used += sprintf(lines + used, "%d %d %g %g\n", i + 1, j + 1, re, im);
            count++;
            for (int half = 0; half < (kind && !diagonal ? 2 : 1); half++) {
                const double r = half && kind == 2 ? -re : re, s = half && kind >= 2 ? -im : im;
                double *at = whole + 4 * n * (half ? j : i) + 2 * (half ? i : j);
                at[0] = at[2 * n + 1] = r, at[1] = -s, at[2 * n] = s;
            }
        }
    return count;
}

static void mtx_read_pairs__random_matrices(void **unused)
{
    enum { MOST = 9, ROWS = 2 * MOST };
    static const char *const kinds[] = { "general", "symmetric", "skew-symmetric", "hermitian" };
    (void)unused;
    for (int trial = 0; trial < 80; trial++) {
        const int n = 1 + random_below(MOST), kind = trial % 4;
        double want[ROWS * ROWS] = { 0 }, got[ROWS * ROWS] = { 0 };
        char lines[4000] = "", text[5000];
        const int count = random_complex(n, kind, lines, want);
        const int size = sprintf(text, "%scoordinate complex %s\n%d %d %d\n%s", BANNER, kinds[kind],
                                 n, n, count, lines);
        kry_mtx *m;
        write_bytes(path, text, (size_t)size);
        OK(kry_mtx_read_pairs(path, &m));
        assert_int_equal(m->symmetry, kind == 3 ? KRY_MTX_SYMMETRIC : KRY_MTX_GENERAL);
        assert_true(m->rows == 2 * n && m->cols == 2 * n && !m->array);
        for (int64_t e = 0; e < m->nnz; e++) {
            got[2 * n * m->row[e] + m->col[e]] += m->val[e];
            if (kind == 3 && m->row[e] != m->col[e])
                got[2 * n * m->col[e] + m->row[e]] += m->val[e];
        }
        for (int e = 0; e < 4 * n * n; e++)
            if (got[e] != want[e])
                fail_msg("%s, row %d, column %d: %g is not %g", text, e / (2 * n), e % (2 * n),
                         got[e], want[e]);
        kry_mtx_release(&m);
    }
}

static void mtx_read_pairs__columns_and_real_files(void **unused)
{
    static const char *const pairs[][2] = {
        { BANNER "array complex general\n2 2\n1 2\n3 4\n5 0\n7 -8\n",
          BANNER "array real general\n4 2\n1\n2\n3\n4\n5\n0\n7\n-8\n" },
        { BANNER "array integer general\n2 1\n1\n3\n",
          BANNER "array real general\n4 1\n1\n0\n3\n0\n" },
        { BANNER "coordinate real symmetric\n2 2 2\n1 1 3\n2 1 4\n",
          BANNER "coordinate real symmetric\n4 4 4\n1 1 3\n2 2 3\n3 1 4\n4 2 4\n" },
        { BANNER "coordinate real skew-symmetric\n2 2 2\n1 1 0\n2 1 4\n",
          BANNER "coordinate real skew-symmetric\n4 4 2\n3 1 4\n4 2 4\n" },
        { BANNER "coordinate pattern general\n1 2 1\n1 2\n",
          BANNER "coordinate real general\n2 4 2\n1 3 1\n2 4 1\n" },
    };
    (void)unused;
    for (size_t i = 0; i < COUNT(pairs); i++) {
        kry_mtx *want = parse_text(pairs[i][1], strlen(pairs[i][1])), *m;
        write_bytes(path, pairs[i][0], strlen(pairs[i][0]));
        OK(kry_mtx_read_pairs(path, &m));
        expect_same(want, m);
        kry_mtx_release(&m);
        kry_mtx_release(&want);
    }
}

static void mtx_read_pairs__refusals(void **unused)
{
    static const char *const bad[][2] = {
        { BANNER "coordinate complex hermitian\n1 1 1\n1 1 2 3\n", ":3: entry (1, 1)" },
        { BANNER "coordinate complex skew-symmetric\n1 1 1\n1 1 0 3\n", "is 3" },
        { BANNER "coordinate complex general\n1 1 1\n1 1 2\n",
          ":3: the imaginary part is missing" },
        { BANNER "coordinate complex general\n1 1 2\n1 1 2 1\n", ":4: the file ends after 1 of 2" },
        { BANNER "coordinate complex general\n1 1 1\n1 1 2 1\n1 1 2 1\n", ":4: more than" },
        { BANNER "coordinate complex general\n1073741824 1 0\n", ":2: 1073741824 rows" },
        { BANNER "array complex symmetric\n1 1\n2 3\n", "half a matrix" },
    };
    kry_mtx *m;
    (void)unused;
    for (size_t i = 0; i < COUNT(bad); i++) {
        write_bytes(path, bad[i][0], strlen(bad[i][0]));
        m = (kry_mtx *)(uintptr_t)1;
        assert_int_equal(kry_mtx_read_pairs(path, &m), KRY_ERR_PARSE);
        if (m || !strstr(kry_last_error(), bad[i][1]))
            fail_msg("'%s' has no '%s'", kry_last_error(), bad[i][1]);
    }
    assert_int_equal(kry_mtx_read_pairs("/nowhere/a.mtx", &m), KRY_ERR_FILE);
    assert_int_equal(kry_mtx_read_pairs(NULL, &m), KRY_ERR_ARGUMENT);
    assert_int_equal(kry_mtx_read_pairs(path, NULL), KRY_ERR_ARGUMENT);
}

/* ---- all of them --------------------------------------------------------------------------- */

static int set_up(void **unused)
{
    const char *given = getenv("KRY_TEST_SEED"), *folder = getenv("TMPDIR");
    (void)unused;
    seed = given ? strtoull(given, NULL, 10) : (uint64_t)(1e6 * seconds_now());
    state = seed;
    print_message("# KRY_TEST_SEED=%llu\n", (unsigned long long)seed);
    snprintf(path, sizeof path, "%s/kry-mtx-XXXXXX", folder ? folder : "/tmp");
    int file = mkstemp(path);
    if (file >= 0) close(file);
    snprintf(gz_path, sizeof gz_path, "%s.gz", path);
    return file < 0;
}

static int tear_down(void **unused)
{
    (void)unused;
    remove(path);
    remove(gz_path);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mtx_read__malformed_text_names_line),
        cmocka_unit_test(mtx_read__byte_zero_in_a_number),
        cmocka_unit_test(mtx_parse__header_alone_asks_for_no_memory),
        cmocka_unit_test(mtx_read__line_of_two_megabytes),
        cmocka_unit_test(mtx_read__ten_megabytes_of_blank_lines),
        cmocka_unit_test(mtx_read__broken_gzip_names_line),
        cmocka_unit_test(mtx_read__no_such_file_or_a_folder),
        cmocka_unit_test(mtx_read__null_arguments),
        cmocka_unit_test(mtx_read__every_kind_in_every_layout),
        cmocka_unit_test(mtx_read__kinds_of_other_programs),
        cmocka_unit_test(mtx_read_pairs__random_matrices),
        cmocka_unit_test(mtx_read_pairs__columns_and_real_files),
        cmocka_unit_test(mtx_read_pairs__refusals),
        cmocka_unit_test(mtx_check_duplicates__names_both_lines),
        cmocka_unit_test(mtx_read__empty_matrices),
        cmocka_unit_test(mtx_read__text_of_several_chunks),
        cmocka_unit_test(mtx_write__reads_back_to_the_bit),
        cmocka_unit_test(mtx_write__extreme_numbers),
        cmocka_unit_test(mtx_write__gz_name_makes_gzip),
        cmocka_unit_test(mtx_write__full_disk_and_missing_folder),
        cmocka_unit_test(mtx_write__values_that_are_not_finite),
        cmocka_unit_test(mtx_write__what_could_not_be_read),
        cmocka_unit_test(mtx_write__null_arguments),
        cmocka_unit_test(mtx__locale_with_decimal_comma_changes_nothing),
        cmocka_unit_test(write__old_file_stays_if_the_new_one_does_not_fit),
        cmocka_unit_test(mtx_parse__each_failed_allocation),
        cmocka_unit_test(number__equals_strtod),
        cmocka_unit_test(number__hard_cases_equal_strtod),
        cmocka_unit_test(number__overflow_is_refused),
        cmocka_unit_test(number__hundreds_of_digits),
        cmocka_unit_test(mtx_read__real_files),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
