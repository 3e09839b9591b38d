/*
 * share_petsc.c - a rank's entries of a PETSc binary file, of a sparse matrix or of a vector.
 *
 * All is big-endian; integers have 32 bits, or 64 as PETSc was configured, and numbers are double:
 *
 *   1211216, rows, columns, entries; the length of each row; the column of each entry; the number of each
 *   1211214, rows; the numbers
 *
 * Lengths of rows have to be added up to know whose an entry is: each rank adds up a part of them. Places in a gzip'd file
 * cannot be gone to: every rank decompresses it as a whole.
 *
 * Source  PETSc manual pages MatLoad and VecLoad
 */
#include "io/share.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MATRIX = 1211216, VECTOR = 1211214, FIRST_CLASS = 1211200, CLASSES = 100, AT_ONCE = 8192 };

typedef struct petsc {
    FILE *file;
    char *unpacked; /* owned: the bytes of a gzip'd file, which `file` reads */
    const char *path;
    int64_t at;               /* the byte at which the object begins */
    int width;                /* bytes of an integer */
    int64_t rows, cols, nnz;  /* of a vector nnz is rows */
    int64_t lengths, columns; /* the bytes at which these begin, */
    int64_t numbers, end;     /* where the object ends, */
    int64_t bytes;            /* and the file */
    bool vector;
    unsigned char raw[AT_ONCE * 8];
    int64_t whole[AT_ONCE];
} petsc;

static uint64_t take(const unsigned char *at, int width)
{
    uint64_t bits = 0;
    for (int i = 0; i < width; i++) bits = bits << 8 | at[i];
    return bits;
}

static int64_t integer(const unsigned char *at, int width)
{
    const uint64_t bits = take(at, width);
    return width == 4 ? (int64_t)(int32_t)(uint32_t)bits : (int64_t)bits;
}

static bool begins(const unsigned char *at, size_t size, int *width, bool *vector)
{
    for (*width = 4; *width <= 8; *width += 4) {
        if (size < (size_t)*width) continue;
        const int64_t id = integer(at, *width);
        *vector = id == VECTOR;
        if (id == MATRIX || id == VECTOR) return true;
    }
    return false;
}

kry_status kryi_petsc_begins(mtx_source *s, bool *petsc)
{
    kry_status st = KRY_OK;
    int width;
    bool vector;

    *petsc = begins(s->inflater.next_in, s->inflater.avail_in, &width, &vector);
    if (!s->gzip) return KRY_OK;
    TRY(kryi_mtx_source_fill(s));
    *petsc = begins((const unsigned char *)s->buffer, s->end, &width, &vector);
done:
    return st;
}

/* ---- reading ----------------------------------------------------------------------------------- */

static kry_status read_raw(petsc *p, int64_t byte, int64_t count, int width)
{
    kry_status st = KRY_OK;
    const size_t size = (size_t)(count * width);

    errno = 0;
    CHECK(!fseeko(p->file, (off_t)byte, SEEK_SET) && fread(p->raw, 1, size, p->file) == size,
          KRY_ERR_FILE, "cannot read '%s': %s", p->path,
          errno ? strerror(errno) : "it has become shorter");
done:
    return st;
}

/* p->whole := these integers. count <= AT_ONCE */
static kry_status read_integers(petsc *p, int64_t byte, int64_t count)
{
    kry_status st = KRY_OK;

    TRY(read_raw(p, byte, count, p->width));
    for (int64_t i = 0; i < count; i++) p->whole[i] = integer(p->raw + i * p->width, p->width);
done:
    return st;
}

/* The lengths of rows from `row` on, at most `count` of them: *got are in p->whole. */
static kry_status read_lengths(petsc *p, int64_t row, int64_t count, int64_t *got)
{
    kry_status st = KRY_OK;
    const int64_t byte = p->lengths + row * p->width;

    *got = count < AT_ONCE ? count : AT_ONCE;
    TRY(read_integers(p, byte, *got));
    for (int64_t i = 0; i < *got; i++)
        CHECK(p->whole[i] >= 0 && p->whole[i] <= p->nnz, KRY_ERR_PARSE,
              "%s: byte %lld: row %lld has %lld of %lld entries", p->path,
              (long long)(byte + i * p->width), (long long)(row + i), (long long)p->whole[i],
              (long long)p->nnz);
done:
    return st;
}

/* What may stand behind an object: another one. With complex numbers, or in single precision, it does not. */
static kry_status check_end(petsc *p)
{
    kry_status st = KRY_OK;
    const int64_t end = p->numbers + 8 * p->nnz, left = p->bytes - end;
    int64_t id = 0;

    p->end = end;
    CHECK(left >= 0, KRY_ERR_PARSE, "%s: byte %lld: the file ends here, and needs %lld bytes",
          p->path, (long long)p->bytes, (long long)end);
    if (left >= p->width) {
        TRY(read_integers(p, end, 1));
        id = p->whole[0];
    }
    CHECK(
        left == 0 || (id >= FIRST_CLASS && id < FIRST_CLASS + CLASSES), KRY_ERR_PARSE,
        "%s: byte %lld: real numbers in double precision end here, and %lld bytes follow that are "
        "no other object of PETSc",
        p->path, (long long)end, (long long)left);
done:
    return st;
}

static kry_status check_sizes(petsc *p)
{
    kry_status st = KRY_OK;
    const int64_t most = INT64_MAX / 64;

    CHECK(p->rows >= 0 && p->cols >= 0 && p->rows <= most && p->cols <= most, KRY_ERR_PARSE,
          "%s: byte %d: %lld by %lld", p->path, p->width, (long long)p->rows, (long long)p->cols);
    CHECK(p->nnz != -1, KRY_ERR_PARSE, "%s: byte %d: a dense matrix; a sparse one is read", p->path,
          3 * p->width);
    CHECK(p->nnz >= 0 && p->nnz <= most, KRY_ERR_PARSE, "%s: byte %d: %lld entries", p->path,
          3 * p->width, (long long)p->nnz);
done:
    return st;
}

/* Read the header of the object at p->at. */
static kry_status read_header(petsc *p)
{
    kry_status st = KRY_OK;

    CHECK(!fseeko(p->file, (off_t)p->at, SEEK_SET), KRY_ERR_FILE, "cannot read '%s': %s", p->path,
          strerror(errno));
    const size_t there = fread(p->raw, 1, 8, p->file);
    CHECK(begins(p->raw, there, &p->width, &p->vector), KRY_ERR_PARSE,
          "%s: byte %lld: not a matrix or vector of PETSc", p->path, (long long)p->at);
    const int count = p->vector ? 2 : 4;
    CHECK(p->bytes >= p->at + count * p->width, KRY_ERR_PARSE,
          "%s: byte %lld: the file ends within the header", p->path, (long long)p->bytes);
    TRY(read_integers(p, p->at, count));
    p->rows = p->whole[1];
    p->cols = p->vector ? 1 : p->whole[2];
    p->nnz = p->vector ? p->rows : p->whole[3];
    TRY(check_sizes(p));
    p->lengths = p->at + count * p->width;
    p->columns = p->lengths + (p->vector ? 0 : p->rows * p->width);
    p->numbers = p->columns + (p->vector ? 0 : p->nnz * p->width);
    TRY(check_end(p));
done:
    return st;
}

/* Open the file, and read the header of its first object. *p: petsc_close, also on failure. */
static kry_status petsc_open(mtx_source *source, petsc **p)
{
    kry_status st = KRY_OK;
    size_t size = 0;

    TRY(kryi_alloc(1, sizeof **p, p));
    (*p)->path = source->name;
    if (source->gzip) {
        TRY(kryi_mtx_source_rest(source, &(*p)->unpacked, &size));
        (*p)->file = fmemopen((*p)->unpacked, size, "rb");
    } else {
        (*p)->file = fopen(source->name, "rb");
    }
    CHECK((*p)->file, KRY_ERR_FILE, "cannot open '%s': %s", source->name, strerror(errno));
    CHECK(!fseeko((*p)->file, 0, SEEK_END) && ((*p)->bytes = (int64_t)ftello((*p)->file)) >= 0,
          KRY_ERR_FILE, "cannot read '%s': %s", source->name, strerror(errno));
    TRY(read_header(*p));
done:
    return st;
}

static void petsc_close(petsc *p)
{
    if (!p) return;
    if (p->file) fclose(p->file);
    free(p->unpacked);
    free(p);
}

/* ---- whose the entries are --------------------------------------------------------------------- */

/* Where the entries of every rank's part of the rows begin. begin: size + 1 */
static kry_status add_up(petsc *p, kryi_layout *layout, int64_t *begin)
{
    kry_status st = KRY_OK;
    const int rank = kryi_layout_rank(layout), size = kryi_layout_size(layout);
    const int64_t end = kryi_stretch_begin(p->rows, rank + 1, size);
    int64_t sum = 0, got;

    for (int64_t row = kryi_stretch_begin(p->rows, rank, size); row < end; row += got) {
        TRY(read_lengths(p, row, end - row, &got));
        for (int64_t i = 0; i < got; i++) sum += p->whole[i];
        CHECK(sum <= p->nnz, KRY_ERR_PARSE,
              "%s: byte %lld: rows up to %lld have more entries than the %lld of the header",
              p->path, (long long)(p->lengths + (row + got) * p->width), (long long)(row + got),
              (long long)p->nnz);
    }
    TRY(kryi_layout_gather(layout, &sum, sizeof sum, begin + 1));
    for (int r = 0; r < size; r++) begin[r + 1] += begin[r];
    CHECK(begin[size] == p->nnz, KRY_ERR_PARSE,
          "%s: byte %lld: all rows together have %lld entries, and the header says %lld", p->path,
          (long long)p->columns, (long long)begin[size], (long long)p->nnz);
done:
    return st;
}

/* Write down the rows of the stretch's entries, of which there are `count`. */
static kry_status find_rows(petsc *p, kryi_layout *layout, kryi_stretch *s)
{
    kry_status st = KRY_OK;
    const int size = kryi_layout_size(layout);
    int64_t *begin = NULL, got;
    int part = 0;

    TRY(kryi_alloc((size_t)size + 1, sizeof *begin, &begin));
    TRY(add_up(p, layout, begin));
    while (part < size - 1 && begin[part + 1] <= s->before) part++;
    const int64_t end = s->before + s->count;
    int64_t e = begin[part], row = kryi_stretch_begin(p->rows, part, size);
    for (; e < end; row += got) {
        TRY(read_lengths(p, row, p->rows - row, &got));
        for (int64_t i = 0; i < got; i++)
            for (int64_t stop = e + p->whole[i]; e < stop; e++)
                if (e >= s->before && e < end) s->entry[e - s->before].row = row + i;
    }
done:
    free(begin);
    return st;
}

static kry_status read_columns(petsc *p, kryi_stretch *s)
{
    kry_status st = KRY_OK;

    for (int64_t k = 0, got; k < s->count; k += got) {
        const int64_t byte = p->columns + (s->before + k) * p->width;
        got = s->count - k < AT_ONCE ? s->count - k : AT_ONCE;
        TRY(read_integers(p, byte, got));
        for (int64_t i = 0; i < got; i++) {
            CHECK(p->whole[i] >= 0 && p->whole[i] < p->cols, KRY_ERR_PARSE,
                  "%s: byte %lld: column %lld of row %lld is outside 0 ... %lld", p->path,
                  (long long)(byte + i * p->width), (long long)p->whole[i],
                  (long long)s->entry[k + i].row, (long long)p->cols - 1);
            s->entry[k + i].col = p->whole[i];
        }
    }
done:
    return st;
}

static kry_status read_numbers(petsc *p, kryi_stretch *s)
{
    kry_status st = KRY_OK;

    for (int64_t k = 0, got; k < s->count; k += got) {
        const int64_t byte = p->numbers + (s->before + k) * 8;
        got = s->count - k < AT_ONCE ? s->count - k : AT_ONCE;
        TRY(read_raw(p, byte, got, 8));
        for (int64_t i = 0; i < got; i++) {
            const uint64_t bits = take(p->raw + 8 * i, 8);
            double *val = &s->entry[k + i].val;
            memcpy(val, &bits, sizeof bits);
            CHECK(isfinite(*val), KRY_ERR_PARSE, "%s: byte %lld: the number of row %lld is %g",
                  p->path, (long long)(byte + 8 * i), (long long)s->entry[k + i].row, *val);
        }
    }
done:
    return st;
}

/* The stretch of the object whose header has been read. */
static kry_status read_stretch(petsc *p, kryi_layout *layout, kryi_stretch *s)
{
    kry_status st = KRY_OK;
    const int rank = kryi_layout_rank(layout), size = kryi_layout_size(layout);

    s->head = (kry_mtx){ .array = p->vector, .rows = p->rows, .cols = p->cols, .nnz = p->nnz };
    s->before = kryi_stretch_begin(p->nnz, rank, size);
    s->count = kryi_stretch_begin(p->nnz, rank + 1, size) - s->before;
    TRY(kryi_alloc((size_t)s->count, sizeof *s->entry, &s->entry));
    if (!p->vector) TRY(find_rows(p, layout, s));
    for (int64_t k = 0; p->vector && k < s->count; k++) s->entry[k].row = s->before + k;
    if (!p->vector) TRY(read_columns(p, s));
    TRY(read_numbers(p, s));
done:
    return st;
}

kry_status kryi_stretch_of_petsc(mtx_source *source, kryi_layout *layout, kryi_stretch *s)
{
    kry_status st = KRY_OK;
    petsc *p = NULL;

    TRY(petsc_open(source, &p));
    TRY(read_stretch(p, layout, s));
done:
    petsc_close(p);
    return st;
}

/* The vector behind the matrix of a file; *found: whether there is one. */
kry_status kryi_stretch_of_rhs(mtx_source *source, kryi_layout *layout, kryi_stretch *s,
                               bool *found)
{
    kry_status st = KRY_OK;
    petsc *p = NULL;

    *found = false;
    TRY(petsc_open(source, &p));
    while (!p->vector && p->end < p->bytes && !*found) {
        /* objects of other kinds have layouts of their own, and end the search */
        TRY(read_integers(p, p->end, 1));
        if (p->whole[0] != VECTOR && p->whole[0] != MATRIX) break;
        p->at = p->end;
        TRY(read_header(p));
        *found = p->vector;
    }
    if (*found) TRY(read_stretch(p, layout, s));
done:
    petsc_close(p);
    return st;
}
