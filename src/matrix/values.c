/* values.c - the numbers of a stored matrix: to their slots, in single precision where that loses
 * nothing, and back to the host. */
#include "matrix/matrix.h"
#include "matrix/matrix_parts.h"
#include "operator/op_parts.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers --------------------------------------------------------------------------------- */

/* Devices may flush singles below FLT_MIN to 0. */
static bool all_are_singles(const double *v, int64_t count)
{
    for (int64_t k = 0; k < count; k++)
        if ((double)(float)v[k] != v[k] || (v[k] != 0 && fabs(v[k]) < FLT_MIN)) return false;
    return true;
}

kry_type kry_stored_type(kry_type type, kry_values values, const void *val, int64_t count)
{
    bool narrow =
        type == KRY_F64 && (values == KRY_VALUES_SINGLE ||
                            (values == KRY_VALUES_COMPACT && all_are_singles(val, count)));
    return narrow ? KRY_F32 : type;
}

/* The same, unless rounding to single was asked for and some number is too large. */
static kry_status choose_stored(const kry_matrix *A, const char *who, const void *sorted,
                                kry_type *stored)
{
    kry_status st = KRY_OK;
    const double *v = sorted;

    *stored = kry_stored_type(A->type, A->values, sorted, A->nnz);
    if (A->type == KRY_F64 && A->values == KRY_VALUES_SINGLE)
        for (int64_t k = 0; k < A->nnz; k++)
            CHECK(isfinite((float)v[k]), KRY_ERR_ARGUMENT,
                  "%s: %g, entry %lld of the sorted matrix, is too large for single precision", who,
                  v[k], (long long)k);
done:
    return st;
}

/* Entries to slots. Two entries that share a slot must be equal to the bit; NaN marks slots that
 * have none yet. */
#define TO_SLOTS(FROM, TO)                                                               \
    do {                                                                                 \
        const FROM *from = sorted;                                                       \
        TO *to = *out;                                                                   \
        for (int64_t s = 0; s < A->slots && A->shared; s++) to[s] = (TO)NAN;             \
        for (int64_t k = 0; k < A->nnz; k++) {                                           \
            TO *place = &to[kry_matrix_slot(A, k)], v = (TO)from[k];                     \
            if (A->shared && !isnan(*place) && memcmp(place, &v, sizeof v)) differs = k; \
            *place = v;                                                                  \
        }                                                                                \
        for (int64_t s = 0; s < A->slots && A->shared; s++)                              \
            if (isnan(to[s])) to[s] = 0;                                                 \
    } while (0)

static kry_status to_slots(const kry_matrix *A, const char *who, kry_type stored,
                           const void *sorted, void **out)
{
    kry_status st = KRY_OK;
    int64_t differs = -1;

    TRY(kry_alloc((size_t)A->slots, kry_type_size(stored), out));
    if (A->type == KRY_F32)
        TO_SLOTS(float, float);
    else if (stored == KRY_F32)
        TO_SLOTS(double, float);
    else
        TO_SLOTS(double, double);
    CHECK(differs < 0, KRY_ERR_ARGUMENT,
          "%s: entry %lld of the sorted matrix differs from its mirror image, but '%s' keeps one "
          "for both",
          who, (long long)differs, kry_format_name(A->format->format));
done:
    return st;
}

/* Both buffers are new before either replaces an old one. On failure the old numbers stay. */
kry_status kry_matrix_store(kry_matrix *A, const char *who, const int64_t *row_ptr,
                            const void *sorted)
{
    kry_status st = KRY_OK;
    kry_type stored;
    void *placed = NULL;
    cl_mem val = NULL, surplus = NULL;
    bool other_kernels = false;

    TRY(choose_stored(A, who, sorted, &stored));
    if (A->flux) TRY(kry_flux_surplus(A, who, row_ptr, sorted, &surplus));
    if (A->slot || stored != A->type) TRY(to_slots(A, who, stored, sorted, &placed));
    size_t bytes = (size_t)A->slots * kry_type_size(stored);
    bool fresh = !A->val || stored != A->stored;
    if (fresh) TRY(kry_buffer_create(A->dev, bytes, &val));
    other_kernels = fresh || !surplus != !A->surplus;
    if (other_kernels) TRY(kry_matrix_kernels(A, stored, surplus != NULL));
    TRY(kry_buffer_write(A->dev, val ? val : A->val, 0, bytes, placed ? placed : sorted));
    if (val) {
        kry_buffer_release(A->dev, &A->val);
        A->val = val, val = NULL;
        A->stored = stored;
    }
    kry_buffer_release(A->dev, &A->surplus);
    A->surplus = surplus, surplus = NULL;
done:
    /* The old numbers stay, and so do their kernels; these have been compiled, so this cannot
     * fail. */
    if (st < 0 && other_kernels && A->val)
        (void)kry_matrix_kernels(A, A->stored, A->surplus != NULL);
    kry_buffer_release(A->dev, &surplus);
    kry_buffer_release(A->dev, &val);
    free(placed);
    return st;
}

/* ---- reading back ---------------------------------------------------------------------------- */

static kry_status read_values(kry_matrix *A, void *val)
{
    kry_status st = KRY_OK;
    size_t size = kry_type_size(A->stored);
    void *placed = NULL;

    TRY(kry_alloc((size_t)A->slots, size, &placed));
    TRY(kry_matrix_fetch(A, A->val, (size_t)A->slots * size, placed));
    for (int64_t k = 0; k < A->nnz; k++)
        kry_number_put(A->type, val, k, kry_number_at(A->stored, placed, kry_matrix_slot(A, k)));
done:
    free(placed);
    return st;
}

static kry_status read_entries(kry_matrix *A, int64_t *row_ptr, int32_t *col, void *val)
{
    kry_status st = KRY_OK;
    kry_place *place = NULL;

    memset(row_ptr, 0, ((size_t)A->rows + 1) * sizeof *row_ptr);
    if (A->nnz == 0) return KRY_OK;
    TRY(kry_alloc((size_t)A->slots, sizeof *place, &place));
    TRY(A->format->places(A, place));
    for (int64_t k = 0; k < A->nnz; k++) {
        const kry_place *p = &place[kry_matrix_slot(A, k)];
        bool mirrored = A->slot && A->slot[k] < 0;
        row_ptr[(mirrored ? p->col : p->row) + 1]++;
        col[k] = mirrored ? p->row : p->col;
    }
    for (int64_t i = 0; i < A->rows; i++) row_ptr[i + 1] += row_ptr[i];
    TRY(read_values(A, val));
done:
    free(place);
    return st;
}

kry_status kry_matrix_download(kry_matrix *A, kry_sparse *host)
{
    kry_status st = KRY_OK;

    TRY(kry_sparse_create(A->rows, A->cols, A->type, A->nnz, host));
    TRY(read_entries(A, host->row_ptr, host->col, host->val));
done:
    if (st < 0) kry_sparse_release(host);
    return st;
}

kry_status kry_matrix_read(const kry_op *op, int64_t *row_ptr, int32_t *col, void *val)
{
    kry_status st = KRY_OK;
    kry_matrix *A = op ? kry_matrix_of(op) : NULL;

    CHECK(op && row_ptr, KRY_ERR_ARGUMENT, "kry_matrix_read: NULL");
    if (kry_op_in_parts(op)) return kry_matrix_read_parts(op, row_ptr, col, val);
    CHECK(A, KRY_ERR_UNSUPPORTED, "kry_matrix_read: '%s' is not a stored matrix", op->table->kind);
    CHECK(A->nnz == 0 || (col && val), KRY_ERR_ARGUMENT, "kry_matrix_read: NULL");
    TRY(read_entries(A, row_ptr, col, val));
done:
    return st;
}
