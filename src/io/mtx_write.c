/* mtx_write.c - writing Matrix Market files. */
#include "base/output.h"
#include "io/share.h"
#include "operator/op.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

static void put_header(gzFile file, const kry_mtx *m, const char *comment)
{
    static const char *const field[] = { "real", "integer", "pattern" };
    static const char *const symmetry[] = { "general", "symmetric", "skew-symmetric" };

    gzprintf(file, "%%%%MatrixMarket matrix %s %s %s\n", m->array ? "array" : "coordinate",
             field[m->field], symmetry[m->symmetry]);
    if (comment) {
        gzputs(file, "% ");
        gzwrite(file, comment, (unsigned)strcspn(comment, "\r\n"));
        gzputs(file, "\n");
    }
    gzprintf(file, "%lld %lld", (long long)m->rows, (long long)m->cols);
    if (!m->array) gzprintf(file, " %lld", (long long)m->nnz);
    gzputs(file, "\n");
}

/* Returns whether it was written. */
static bool put_entry(gzFile file, const kry_mtx *m, int64_t e)
{
    char line[400]; /* a whole number has up to 309 digits */
    int at = 0;

    if (!m->array) at = snprintf(line, sizeof line, "%d %d", m->row[e] + 1, m->col[e] + 1);
    if (m->field != KRY_MTX_PATTERN) {
        if (at) line[at++] = ' ';
        if (m->field == KRY_MTX_INTEGER)
            at += kryi_print(line + at, sizeof line - (size_t)at, "%.0f", m->val[e]);
        else
            at += kryi_print_double(line + at, sizeof line - (size_t)at, 0, m->val[e]);
    }
    line[at++] = '\n';
    return gzwrite(file, line, (unsigned)at) == at;
}

/* Refuse a header that kry_mtx_read would refuse. */
static kry_status check_kind(const char *who, const kry_mtx *m)
{
    kry_status st = KRY_OK;
    int64_t whole, held;

    CHECK((unsigned)m->field <= KRY_MTX_PATTERN && (unsigned)m->symmetry <= KRY_MTX_SKEW,
          KRY_ERR_ARGUMENT, "%s: there is no field %d with symmetry %d", who, (int)m->field,
          (int)m->symmetry);
    CHECK(m->field != KRY_MTX_PATTERN || (!m->array && m->symmetry != KRY_MTX_SKEW),
          KRY_ERR_ARGUMENT, "%s: a pattern can be neither an array nor skew-symmetric", who);
    CHECK(m->rows >= 0 && m->cols >= 0 && m->rows <= INT32_MAX && m->cols <= INT32_MAX &&
              (m->symmetry == KRY_MTX_GENERAL || m->rows == m->cols),
          KRY_ERR_ARGUMENT, "%s: %lld rows and %lld columns%s", who, (long long)m->rows,
          (long long)m->cols, m->symmetry == KRY_MTX_GENERAL ? "" : ", and symmetric");
    CHECK(m->nnz >= 0, KRY_ERR_ARGUMENT, "%s: nnz = %lld", who, (long long)m->nnz);
    whole = m->rows * m->cols, held = whole;
    if (m->symmetry != KRY_MTX_GENERAL)
        held = (whole + (m->symmetry == KRY_MTX_SKEW ? -m->rows : m->rows)) / 2;
    CHECK(!m->array || m->nnz == held, KRY_ERR_ARGUMENT,
          "%s: an array of %lld by %lld holds %lld numbers, not %lld", who, (long long)m->rows,
          (long long)m->cols, (long long)held, (long long)m->nnz);
    CHECK(m->nnz == 0 || (m->val && (m->array || (m->row && m->col))), KRY_ERR_ARGUMENT,
          "%s: row, col or val of mtx is NULL", who);
done:
    return st;
}

/* Refuse entries that kry_mtx_read would refuse. */
static kry_status check_entries(const char *who, const kry_mtx *m)
{
    kry_status st = KRY_OK;
    for (int64_t e = 0; e < m->nnz; e++) {
        double v = m->val[e];
        CHECK(m->field == KRY_MTX_PATTERN || isfinite(v), KRY_ERR_ARGUMENT,
              "%s: value %g at entry %lld is not finite", who, v, (long long)e);
        CHECK(m->field != KRY_MTX_INTEGER || v == nearbyint(v), KRY_ERR_ARGUMENT,
              "%s: value %g at entry %lld is not whole, but the field is integer", who, v,
              (long long)e);
        if (m->array) continue;
        CHECK(m->row[e] >= 0 && m->row[e] < m->rows && m->col[e] >= 0 && m->col[e] < m->cols,
              KRY_ERR_ARGUMENT, "%s: entry %lld, (%d, %d), is outside %lld-by-%lld", who,
              (long long)e, m->row[e], m->col[e], (long long)m->rows, (long long)m->cols);
        CHECK(m->symmetry != KRY_MTX_SKEW || m->row[e] != m->col[e], KRY_ERR_ARGUMENT,
              "%s: entry %lld is on the diagonal of a skew-symmetric matrix", who, (long long)e);
    }
done:
    return st;
}

kry_status kryi_mtx_check(const char *who, const kry_mtx *m)
{
    kry_status st = KRY_OK;

    TRY(check_kind(who, m));
    TRY(check_entries(who, m));
done:
    return st;
}

kry_status kry_mtx_write(const char *path, const kry_mtx *m, const char *comment)
{
    kry_status st = KRY_OK;
    bool whole = true;
    output out = { .file = -1 };

    TRY(kryi_check_given("kry_mtx_write", "path, mtx", (const void *const[]){ path, m }));
    TRY(kryi_mtx_check("kry_mtx_write", m));
    size_t length = strlen(path);
    bool gzip = length > 3 && !strcmp(path + length - 3, ".gz");
    TRY(kryi_output_begin(path, false, &out));
    errno = 0;
    const int copy = dup(out.file);                                      /* which gzclose closes */
    gzFile file = copy < 0 ? NULL : gzdopen(copy, gzip ? "wb6" : "wbT"); /* T: plain text */
    if (!file && copy >= 0) close(copy);
    CHECK(file, KRY_ERR_FILE, "cannot write '%s': %s", path, strerror(errno));
    put_header(file, m, comment);
    for (int64_t e = 0; e < m->nnz && whole; e++) whole = put_entry(file, m, e);
    /* gzclose reports earlier failures, too; a full disk may show only there */
    whole = gzclose(file) == Z_OK && whole;
    CHECK(whole, KRY_ERR_FILE, "cannot write '%s': %s", path,
          errno ? strerror(errno) : "the file is not whole");
done:
    return kryi_output_end(&out, st);
}
