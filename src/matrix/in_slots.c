/* in_slots.c - the numbers of a stored matrix on the host: in single precision where that loses nothing, and each in its
 * slot. On several threads. */
#include "matrix/in_slots.h"
#include "matrix/matrix_parts.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Devices may flush singles below FLT_MIN to 0. */
static bool is_single(double v) { return (double)(float)v == v && (v == 0 || fabs(v) >= FLT_MIN); }

typedef struct singles {
    const double *v;
    bool others[KRY_MOST_PARTS];
} singles;

static void look_for_others(void *user, int part, int64_t begin, int64_t end)
{
    singles *s = user;
    int64_t k = begin;

    while (k < end && is_single(s->v[k])) k++;
    s->others[part] = k < end;
}

static bool all_are_singles(const double *v, int64_t count)
{
    const int parts = kry_parts(count);
    singles s = { .v = v };
    bool others = false;

    kry_parallel(parts, count, look_for_others, &s);
    for (int p = 0; p < parts; p++) others |= s.others[p];
    return !others;
}

kry_type kry_stored_type(kry_type type, kry_values values, const void *val, int64_t count)
{
    bool narrow =
        type == KRY_F64 && (values == KRY_VALUES_SINGLE ||
                            (values == KRY_VALUES_COMPACT && all_are_singles(val, count)));
    return narrow ? KRY_F32 : type;
}

kry_status kry_values_fit_single(const char *who, int64_t nnz, const double *v)
{
    kry_status st = KRY_OK;

    for (int64_t k = 0; k < nnz; k++)
        CHECK(isfinite((float)v[k]), KRY_ERR_ARGUMENT,
              "%s: %g, entry %lld of the sorted matrix, is too large for single precision", who,
              v[k], (long long)k);
done:
    return st;
}

kry_status kry_matrix_choose_stored(const kry_matrix *A, const char *who, const void *sorted,
                                    kry_type *stored)
{
    *stored = kry_stored_type(A->shape.type, A->params.values, sorted, A->nnz);
    if (A->shape.type != KRY_F64 || A->params.values != KRY_VALUES_SINGLE) return KRY_OK;
    return kry_values_fit_single(who, A->nnz, sorted);
}

kry_status kry_matrix_refuse_mirror(const kry_matrix *A, const char *who, int64_t k)
{
    return kry_fail(
        KRY_ERR_ARGUMENT,
        "%s: entry %lld of the sorted matrix differs from its mirror image, but '%s' keeps one "
        "for both",
        who, (long long)k, kry_format_name(A->params.format));
}

/* Mirror images share a slot, in which is the number of the one above the diagonal. differs: whether the other one's is
 * not the same, to the bit. */
typedef struct filling {
    const kry_matrix *A;
    kry_type stored;
    const void *sorted;
    void *out;
    bool differs[KRY_MOST_PARTS];
} filling;

static void put(void *user, int part, int64_t begin, int64_t end)
{
    const filling *f = user;
    const kry_matrix *A = f->A;

    (void)part;
    for (int64_t k = begin; k < end; k++) {
        const int64_t slot = A->slot ? A->slot[k] : k;
        if (slot < 0) continue;
        kry_number_put(f->stored, f->out, slot, kry_number_at(A->shape.type, f->sorted, k));
    }
}

static bool has_equal(const filling *f, int64_t k)
{
    const kry_matrix *A = f->A;
    const double there = kry_number_at(f->stored, f->out, kry_matrix_slot(A, k));
    double given = kry_number_at(A->shape.type, f->sorted, k);

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
    const kry_matrix *A = f->A;
    int64_t k = 0;

    for (int64_t e = 0; e < A->nnz; e++) /* now with the numbers of entries below the diagonal */
        if (A->slot[e] < 0)
            kry_number_put(f->stored, f->out, kry_matrix_slot(A, e),
                           kry_number_at(A->shape.type, f->sorted, e));
    while (k < A->nnz - 1 && has_equal(f, k)) k++;
    return kry_matrix_refuse_mirror(A, who, k);
}

kry_status kry_matrix_to_slots(const kry_matrix *A, const char *who, kry_type stored,
                               const void *sorted, void **out)
{
    kry_status st = KRY_OK;
    const int parts = kry_parts(A->nnz);
    filling f = { .A = A, .stored = stored, .sorted = sorted };
    bool differs = false;

    TRY(kry_alloc((size_t)A->slots, kry_type_size(stored), out));
    f.out = *out;
    kry_parallel(parts, A->nnz, put, &f);
    if (!A->format->shared) return KRY_OK;
    kry_parallel(parts, A->nnz, compare, &f);
    for (int p = 0; p < parts; p++) differs |= f.differs[p];
    if (differs) TRY(refuse(&f, who));
done:
    return st;
}
