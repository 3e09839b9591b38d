/* labels_read.c - labels from a file, of whole numbers or in the Matrix Market format. */
#include "io/mtx_source.h"
#include "precond/labels.h"
#include <kry/io.h>
#include <stdlib.h>
#include <string.h>

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == ','; }

/* The labels of a line. */
static kry_status read_line(const mtx_source *s, const char *at, const char *end, int64_t n,
                            int32_t *labels, int64_t *got)
{
    kry_status st = KRY_OK;
    int64_t value;

    for (;;) {
        while (at < end && is_blank(*at)) at++;
        if (at == end || *at == '#' || *at == '%') break;
        const char *stop = kry_read_int64(at, end, &value), *word = at;
        while (word < end && word - at < 40 && !is_blank(*word)) word++;
        CHECK(stop && (stop == end || is_blank(*stop)), KRY_ERR_PARSE,
              "%s:%lld: '%.*s' is not a whole number", s->name, (long long)s->line,
              (int)(word - at), at);
        CHECK(value >= 0 && value < n, KRY_ERR_PARSE, "%s:%lld: label %lld is not in [0, %lld)",
              s->name, (long long)s->line, (long long)value, (long long)n);
        CHECK(*got < n, KRY_ERR_PARSE, "%s:%lld: more than %lld labels", s->name,
              (long long)s->line, (long long)n);
        labels[(*got)++] = (int32_t)value;
        at = stop;
    }
done:
    return st;
}

static bool is_mtx(const char *at, const char *end)
{
    static const char word[] = "%%MatrixMarket";
    return end - at >= (ptrdiff_t)sizeof word - 1 && !memcmp(at, word, sizeof word - 1);
}

static kry_status read_plain(const char *path, int64_t n, int32_t *labels, bool *mtx)
{
    kry_status st = KRY_OK;
    mtx_source s = { .name = path };
    const char *at, *end;
    int64_t got = 0;

    TRY(kry_mtx_source_open(&s, path, NULL, 0));
    for (;;) {
        TRY(kry_mtx_source_line(&s, &at, &end));
        if (!at) break;
        *mtx = s.line == 1 && is_mtx(at, end);
        if (*mtx) goto done;
        TRY(read_line(&s, at, end, n, labels, &got));
    }
    CHECK(got == n, KRY_ERR_PARSE, "%s:%lld: the file ends after %lld of %lld labels", path,
          (long long)s.line, (long long)got, (long long)n);
done:
    kry_mtx_source_close(&s);
    return st;
}

/* Entries that are not given are 0. */
static kry_status read_mtx(const char *path, int64_t n, int32_t *labels)
{
    kry_status st = KRY_OK;
    kry_mtx *m = NULL;

    TRY(kry_mtx_read(path, &m));
    CHECK(m->rows == n && m->cols == 1, KRY_ERR_PARSE,
          "%s: it is %lld-by-%lld instead of %lld-by-1", path, (long long)m->rows,
          (long long)m->cols, (long long)n);
    for (int64_t i = 0; i < n; i++) labels[i] = -1;
    for (int64_t e = 0; e < m->nnz; e++) {
        int64_t i = m->array ? e : m->row[e];
        double v = m->val[e];
        CHECK(v >= 0 && v < (double)n && v == (double)(int32_t)v, KRY_ERR_PARSE,
              "%s: label %g of row %lld is no whole number in [0, %lld)", path, v, (long long)i + 1,
              (long long)n);
        CHECK(labels[i] < 0, KRY_ERR_PARSE, "%s: row %lld is there twice", path, (long long)i + 1);
        labels[i] = (int32_t)v;
    }
    for (int64_t i = 0; i < n; i++)
        if (labels[i] < 0) labels[i] = 0;
done:
    kry_mtx_release(&m);
    return st;
}

kry_status kry_labels_read(const char *path, int64_t n, int32_t *labels, int64_t *count)
{
    kry_status st = KRY_OK;
    int32_t *read = NULL;
    int64_t found;
    bool mtx = false;

    CHECK(path && labels && count, KRY_ERR_ARGUMENT, "kry_labels_read: NULL");
    CHECK(n >= 1 && n <= INT32_MAX, KRY_ERR_ARGUMENT, "kry_labels_read: %lld unknowns",
          (long long)n);
    TRY(kry_alloc((size_t)n, sizeof *read, &read));
    TRY(read_plain(path, n, read, &mtx));
    if (mtx) TRY(read_mtx(path, n, read));
    st = kry_labels_check_as(path, n, read, &found);
    if (st == KRY_ERR_ARGUMENT) st = kry_fail(KRY_ERR_PARSE, "%s", kry_last_error());
    TRY(st);
    memcpy(labels, read, (size_t)n * sizeof *read);
    *count = found;
done:
    free(read);
    return st;
}
