/* fuzz_mtx.c - bytes into the Matrix Market parser: whatever it takes must hold what io.h says. */
#include "fuzz.h"
#include <kry/io.h>
#include <math.h>

static int64_t array_size(const kry_mtx *m)
{
    if (m->symmetry == KRY_MTX_GENERAL) return m->rows * m->cols;
    return m->rows * (m->symmetry == KRY_MTX_SYMMETRIC ? m->rows + 1 : m->rows - 1) / 2;
}

static void check_shape(const kry_mtx *m)
{
    ENSURE(m->field >= KRY_MTX_REAL && m->field <= KRY_MTX_PATTERN);
    ENSURE(m->symmetry >= KRY_MTX_GENERAL && m->symmetry <= KRY_MTX_SKEW);
    ENSURE(m->rows >= 0 && m->rows <= INT32_MAX && m->cols >= 0 && m->cols <= INT32_MAX);
    ENSURE(m->symmetry == KRY_MTX_GENERAL || m->rows == m->cols);
    ENSURE(m->nnz >= 0 && (m->nnz == 0 || m->val));
    if (m->array)
        ENSURE(!m->row && !m->col && m->field != KRY_MTX_PATTERN && m->nnz == array_size(m));
    else
        ENSURE(m->nnz == 0 || (m->row && m->col));
}

static void check_entries(const kry_mtx *m)
{
    for (int64_t e = 0; e < m->nnz; e++) {
        ENSURE(isfinite(m->val[e]));
        ENSURE(m->field != KRY_MTX_PATTERN || m->val[e] == 1);
        ENSURE(m->field != KRY_MTX_INTEGER || m->val[e] == nearbyint(m->val[e]));
        if (m->array) continue;
        ENSURE(m->row[e] >= 0 && m->row[e] < m->rows && m->col[e] >= 0 && m->col[e] < m->cols);
        ENSURE(m->symmetry != KRY_MTX_SKEW || m->row[e] != m->col[e]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    kry_mtx *m = NULL;
    kry_status st = kry_mtx_parse("fuzz", bytes, size, &m);

    ENSURE((st == KRY_OK) == (m != NULL));
    if (!m) {
        ENSURE(st == KRY_ERR_PARSE && *kry_last_error());
        return 0;
    }
    check_shape(m);
    check_entries(m);
    kry_mtx_release(&m);
    return 0;
}
