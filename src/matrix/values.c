/* values.c - the numbers of a stored matrix: each to its slot, on several threads, and to the device; back to the host, and
 * converted for a copy of the matrix. */
#include "matrix/given.h"
#include "matrix/matrix_parts.h"
#include "operator/op_parts.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

kry_type kryi_stored_type(kry_type type, kry_values values, const kryi_seen *seen)
{
    const bool narrow = values == KRY_VALUES_SINGLE ||
                        (values == KRY_VALUES_COMPACT && !(seen->faults & KRY_SEEN_NOT_SINGLE));
    return type == KRY_F64 && narrow ? KRY_F32 : type;
}

kry_status kryi_values_fit_single(const char *who, int64_t nnz, const double *v)
{
    kry_status st = KRY_OK;

    for (int64_t k = 0; k < nnz; k++) {
        const bool tiny = v[k] != 0 && fabs(v[k]) < FLT_MIN;
        CHECK(isfinite((float)v[k]) && !tiny, KRY_ERR_ARGUMENT,
              "%s: %g, entry %lld of the sorted matrix, is too %s for single precision", who, v[k],
              (long long)k, tiny ? "small" : "large");
    }
done:
    return st;
}

/* ---- where they go ------------------------------------------------------------------------------- */

kry_status kryi_matrix_refuse_mirror(const kryi_matrix *A, const char *who, int64_t k)
{
    const unsigned promises = KRY_SYMMETRIC | KRY_POSITIVE | KRY_SINGULAR;

    return kry_fail(KRY_ERR_ARGUMENT,
                    "%s: entry %lld of the sorted matrix differs from its mirror image, but '%s' "
                    "keeps one for both: %s",
                    who, (long long)k, kry_format_name(A->params.format),
                    A->shape.traits & promises ? "the matrix was promised to be symmetric"
                                               : "take another format");
}

/* Mirror images share a slot, in which is the number of the one above the diagonal. differs: whether the other one's is
 * not the same, to the bit. */
typedef struct filling {
    const kryi_matrix *A;
    kry_type stored;
    const void *sorted;
    void *out;
    bool differs[KRY_MOST_PARTS];
} filling;

static void put(void *user, int part, int64_t begin, int64_t end)
{
    const filling *f = user;
    const kryi_matrix *A = f->A;

    (void)part;
    for (int64_t k = begin; k < end; k++) {
        const int64_t slot = A->slot ? A->slot[k] : k;
        if (slot < 0) continue;
        kryi_number_put(f->stored, f->out, slot, kryi_number_at(A->shape.type, f->sorted, k));
    }
}

static bool has_equal(const filling *f, int64_t k)
{
    const kryi_matrix *A = f->A;
    const double there = kryi_number_at(f->stored, f->out, kryi_matrix_slot(A, k));
    double given = kryi_number_at(A->shape.type, f->sorted, k);

    if (f->stored == KRY_F32) given = (float)given;
    return memcmp(&there, &given, sizeof given) == 0;
}

static void compare(void *user, int part, int64_t begin, int64_t end)
{
    filling *f = user;
    bool differs = false;

    for (int64_t k = begin; k < end && !differs; k++)
        differs = f->A->slot[k] < 0 && !has_equal(f, k);
    f->differs[part] = differs;
}

/* Where the first entry is that differs from its mirror image. */
static kry_status refuse(const filling *f, const char *who)
{
    const kryi_matrix *A = f->A;
    int64_t k = 0;

    for (int64_t e = 0; e < A->nnz; e++) /* now with the numbers of entries below the diagonal */
        if (A->slot[e] < 0)
            kryi_number_put(f->stored, f->out, kryi_matrix_slot(A, e),
                            kryi_number_at(A->shape.type, f->sorted, e));
    while (k < A->nnz - 1 && has_equal(f, k)) k++;
    return kryi_matrix_refuse_mirror(A, who, k);
}

static void set_zeros(void *user, int part, int64_t begin, int64_t end)
{
    const filling *f = user;
    const size_t size = kry_type_size(f->stored);

    (void)part;
    memset((char *)f->out + (size_t)begin * size, 0, (size_t)(end - begin) * size);
}

/* f->out, A->slots numbers := those of the entries in their slots, zeros elsewhere; zero: all are before. Mirror images that
 * share a slot are compared unless the matrix is known to be symmetric. */
static kry_status put_in_slots(filling *f, const char *who, bool zero, bool symmetric)
{
    kry_status st = KRY_OK;
    const kryi_matrix *A = f->A;
    const int parts = kryi_parts(A->nnz);
    bool differs = false;

    if (!zero && (A->slots > A->nnz || A->format->shared))
        kryi_parallel(parts, A->slots, set_zeros, f);
    kryi_parallel(parts, A->nnz, put, f);
    if (!A->format->shared || symmetric) return KRY_OK;
    kryi_parallel(parts, A->nnz, compare, f);
    for (int p = 0; p < parts; p++) differs |= f->differs[p];
    if (differs) TRY(refuse(f, who));
done:
    return st;
}

/* ---- to the device --------------------------------------------------------------------------------- */

/* Take numbers of type `stored` in the order of slots, on the host or on the device (both NULL: they stay as they are), and
 * sums of rows (NULL: all are 0). All buffers and kernels are new before one replaces an old one. */
static kry_status replace(kryi_matrix *A, kry_type stored, const void *host, cl_mem there,
                          const void *sums)
{
    kry_status st = KRY_OK;
    uint64_t bytes = (uint64_t)A->slots * kry_type_size(stored);
    bool fresh = !A->val || stored != A->stored;
    cl_mem val = NULL, surplus = NULL;

    if (sums)
        TRY(kryi_buffer_upload(A->dev, (size_t)A->shape.rows * kry_type_size(A->shape.type), sums,
                               &surplus));
    if (fresh && there) {
        TRY(kryi_buffer_retain(A->dev, there));
        val = there;
    } else if (fresh) {
        TRY(kryi_buffer_create(A->dev, bytes, &val));
    }
    if (fresh) TRY(kryi_matrix_kernels(A, stored));
    if (host) TRY(kryi_buffer_write(A->dev, fresh ? val : A->val, 0, bytes, host));
    if (there && !fresh) TRY(kryi_buffer_copy(A->dev, there, 0, A->val, 0, bytes));
    if (fresh) {
        kryi_buffer_release(A->dev, &A->val);
        A->val = val, val = NULL;
        A->stored = stored;
    }
    kryi_buffer_release(A->dev, &A->surplus);
    A->surplus = surplus, surplus = NULL;
done:
    /* The old numbers stay, and so do their kernels; these have been compiled, so this cannot
     * fail. */
    if (st < 0 && fresh && A->val) (void)kryi_matrix_kernels(A, A->stored);
    kryi_buffer_release(A->dev, &surplus);
    kryi_buffer_release(A->dev, &val);
    return st;
}

kry_status kryi_matrix_replace(kryi_matrix *A, kry_type stored, cl_mem there)
{
    return replace(A, stored, NULL, there, NULL);
}

kry_status kryi_matrix_set_surplus(kryi_matrix *A, const void *sums)
{
    return replace(A, A->stored, NULL, NULL, sums);
}

kry_status kryi_matrix_store(kryi_matrix *A, const char *who, const int64_t *row_ptr,
                             const void *sorted, const kryi_seen *seen)
{
    kry_status st = KRY_OK;
    const kry_type type = A->shape.type, stored = kryi_stored_type(type, A->params.values, seen);
    const uint64_t slots = (uint64_t)A->slots, size = kry_type_size(stored);
    const bool fresh = !A->val || stored != A->stored;
    const kryi_csr rows = {
        .rows = A->shape.rows, .type = type, .row_ptr = (int64_t *)row_ptr, .val = (void *)sorted
    };
    void *sums = NULL, *to = NULL;
    char *mapped = NULL;
    cl_mem there = NULL;

    if (stored != type && seen->faults & KRY_SEEN_UNFIT)
        TRY(kryi_values_fit_single(who, A->nnz, sorted));
    if (A->params.form == KRY_FLUX) TRY(kryi_flux_sums(who, A, &rows, NULL, &sums));
    if (A->slot || stored != type) {
        if (fresh) TRY(kryi_buffer_create_mapped(A->dev, slots * size, &there, &mapped));
        if (!mapped) TRY(kryi_alloc(slots, size, &to));
        filling f = { .A = A, .stored = stored, .sorted = sorted, .out = mapped ? mapped : to };
        TRY(put_in_slots(&f, who, !mapped, seen->symmetric));
        if (mapped) TRY(kryi_buffer_unmap(A->dev, there, &mapped));
        sorted = to;
    }
    TRY(replace(A, stored, sorted, there, sums));
done:
    if (mapped) A->dev->driver->unmap(A->dev, there, mapped);
    kryi_buffer_release(A->dev, &there);
    free(to);
    free(sums);
    return st;
}

/* ---- back to the host ------------------------------------------------------------------------------ */

static kry_status read_values(const kryi_matrix *A, void *val)
{
    kry_status st = KRY_OK;
    size_t size = kry_type_size(A->stored);
    void *placed = NULL;

    TRY(kryi_alloc((uint64_t)A->slots, size, &placed));
    TRY(kryi_buffer_read(A->dev, A->val, 0, (size_t)A->slots * size, placed));
    for (int64_t k = 0; k < A->nnz; k++)
        kryi_number_put(A->shape.type, val, k,
                        kryi_number_at(A->stored, placed, kryi_matrix_slot(A, k)));
done:
    free(placed);
    return st;
}

/* Read back what only the device knows. */
static kry_status read_placed(const kryi_matrix *A, int64_t *row_ptr, int32_t *col, void *val)
{
    kry_status st = KRY_OK;
    const uint64_t nnz = (uint64_t)A->nnz;
    kryi_device_csr C = { 0 };

    TRY(kryi_device_csr_of(A, &C));
    TRY(kryi_device_csr_read_offsets(&C, row_ptr));
    TRY(kryi_buffer_read(A->dev, C.col, 0, nnz * sizeof *col, col));
    TRY(kryi_buffer_read(A->dev, C.val, 0, nnz * kry_type_size(C.type), val));
done:
    kryi_device_csr_release(&C);
    return st;
}

kry_status kryi_matrix_read_entries(const kryi_matrix *A, int64_t *row_ptr, int32_t *col, void *val)
{
    kry_status st = KRY_OK;
    if (A->placed) return read_placed(A, row_ptr, col, val);
    const kryi_csr *S = &A->sorted;
    kryi_device_csr C = { .dev = A->dev, .rows = A->shape.rows };

    if (!S->row_ptr || (A->nnz > 0 && !S->col)) kryi_csr_buffers(A, &C.row_ptr, &C.col);
    if (S->row_ptr)
        memcpy(row_ptr, S->row_ptr, ((size_t)S->rows + 1) * sizeof *row_ptr);
    else
        TRY(kryi_device_csr_read_offsets(&C, row_ptr));
    if (A->nnz == 0) return KRY_OK;
    if (S->col) {
        memcpy(col, S->col, (size_t)A->nnz * sizeof *col);
    } else {
        TRY(kryi_buffer_read(A->dev, C.col, 0, (size_t)A->nnz * sizeof *col, col));
    }
    TRY(read_values(A, val));
done:
    return st;
}

kry_status kryi_matrix_download(const kryi_matrix *A, kryi_csr *host)
{
    kry_status st = KRY_OK;

    TRY(kryi_csr_create(A->shape.rows, A->shape.cols, A->shape.type, A->nnz, host));
    TRY(kryi_matrix_read_entries(A, host->row_ptr, host->col, host->val));
done:
    if (st < 0) kryi_csr_release(host);
    return st;
}

kry_status kryi_matrix_convert_surplus(const kryi_matrix *A, double factor, kryi_matrix *copy)
{
    kry_status st = KRY_OK;
    size_t rows = (size_t)A->shape.rows;
    void *given = NULL, *sums = NULL;

    if (A->surplus) {
        TRY(kryi_alloc(rows, kry_type_size(A->shape.type), &given));
        TRY(kryi_alloc(rows, kry_type_size(copy->shape.type), &sums));
        TRY(kryi_buffer_read(A->dev, A->surplus, 0, rows * kry_type_size(A->shape.type), given));
        TRY(kryi_numbers_convert("row sum", A->shape.type, given, A->shape.rows, factor,
                                 copy->shape.type, sums));
    }
    if (A->surplus || copy->surplus) TRY(kryi_matrix_set_surplus(copy, sums));
done:
    free(sums);
    free(given);
    return st;
}
