/* fuzz_written.c - what kry_mtx_write leaves is what kry_mtx_read gets, to the bit. The first byte
 * says what is written: bits 0 and 1 the field, 2 and 3 the symmetry, 4 array, 5 gzip, 6 comment;
 * the second and third are rows and columns; numbers, each with a place, are the rest. */
#include "fuzz.h"
#include <kry/io.h>
#include <math.h>

enum { MOST = 512 }; /* entries */

static int64_t array_size(const kry_mtx *m)
{
    if (m->symmetry == KRY_MTX_GENERAL) return m->rows * m->cols;
    return m->rows * (m->symmetry == KRY_MTX_SYMMETRIC ? m->rows + 1 : m->rows - 1) / 2;
}

/* Numbers that the field can hold; others are refused, and that is for check_refusal. */
static double number(const kry_mtx *m, const uint8_t *eight)
{
    double value;
    memcpy(&value, eight, sizeof value);
    if (m->field == KRY_MTX_PATTERN) return 1;
    if (!isfinite(value)) value = eight[0];
    return m->field == KRY_MTX_INTEGER ? nearbyint(value) : value;
}

/* A place in the lower triangle, or below it, where the symmetry wants that. */
static bool place(const kry_mtx *m, const uint8_t *two, int32_t *row, int32_t *col)
{
    *row = (int32_t)(two[0] % m->rows), *col = (int32_t)(two[1] % m->cols);
    if (m->symmetry == KRY_MTX_GENERAL) return true;
    return m->symmetry == KRY_MTX_SKEW ? *row > *col : *row >= *col;
}

static bool fill(kry_mtx *m, const uint8_t *bytes, size_t size)
{
    if (m->array && array_size(m) > MOST) return false;
    for (size_t at = 0; at + 10 <= size && m->nnz < MOST; at += 10) {
        if (!m->array && !place(m, bytes + at, m->row + m->nnz, m->col + m->nnz)) continue;
        m->val[m->nnz++] = number(m, bytes + at + 2);
    }
    if (!m->array) return true;
    while (m->nnz < array_size(m)) m->val[m->nnz++] = 2;
    m->nnz = array_size(m);
    return true;
}

static void compare(const kry_mtx *a, const kry_mtx *b)
{
    size_t nnz = (size_t)a->nnz;
    ENSURE(a->field == b->field && a->symmetry == b->symmetry && a->array == b->array);
    ENSURE(a->rows == b->rows && a->cols == b->cols && a->nnz == b->nnz);
    if (!nnz) return;
    ENSURE(a->array || (!memcmp(a->row, b->row, nnz * sizeof *a->row) &&
                        !memcmp(a->col, b->col, nnz * sizeof *a->col)));
    ENSURE(!memcmp(a->val, b->val, nnz * sizeof *a->val));
}

/* Not finite: refused, and no file. */
static void check_refusal(const char *path, kry_mtx *m)
{
    if (!m->nnz || m->field == KRY_MTX_PATTERN) return;
    m->val[m->nnz - 1] = m->nnz % 2 ? NAN : INFINITY;
    ENSURE(kry_mtx_write(path, m, NULL) == KRY_ERR_ARGUMENT && *kry_last_error());
    ENSURE(access(path, F_OK));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static int32_t row[MOST], col[MOST];
    static double val[MOST];
    char path[96], comment[41] = "";
    if (size < 3) return 0;
    int how = bytes[0];
    kry_mtx m = { .array = how & 16,
                  .field = (kry_mtx_field)((how & 3) % 3),
                  .symmetry = (kry_mtx_symmetry)((how >> 2 & 3) % 3),
                  .rows = bytes[1] % 32 + 1,
                  .cols = bytes[2] % 32 + 1,
                  .row = row,
                  .col = col,
                  .val = val };
    kry_mtx *back = NULL;
    if (m.symmetry != KRY_MTX_GENERAL) m.cols = m.rows;
    bool possible = m.field != KRY_MTX_PATTERN || (!m.array && m.symmetry != KRY_MTX_SKEW);
    if (!fill(&m, bytes + 3, size - 3)) return 0;
    for (size_t i = 0; i < sizeof comment - 1 && i + 3 < size; i++) comment[i] = (char)bytes[i + 3];
    snprintf(path, sizeof path, "%s/written.mtx%s", fuzz_folder(), how & 32 ? ".gz" : "");
    kry_status st = kry_mtx_write(path, &m, how & 64 ? comment : NULL);
    ENSURE(st == (possible ? KRY_OK : KRY_ERR_ARGUMENT));
    if (!possible) return 0;
    ENSURE(kry_mtx_read(path, &back) == KRY_OK);
    compare(&m, back);
    kry_mtx_release(&back);
    unlink(path);
    check_refusal(path, &m);
    return 0;
}
