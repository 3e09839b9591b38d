/* in_slots.c - the numbers of a stored matrix on the host: in single precision where that loses nothing, and each in its
 * slot. On several threads. */
#include "matrix/in_slots.h"
#include "sparse/entries.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what they are like -------------------------------------------------------------------------- */

const kryi_seen kryi_seen_nothing = { .finite = true, .singles = true };

typedef struct seeing {
    kry_type type;
    const void *val;
    kryi_seen part[KRY_MOST_PARTS];
} seeing;

/* Devices may flush singles below FLT_MIN to 0; others are doubles with no more digits. No branches: so compilers take
 * several numbers at a time. */
static void see_doubles(const double *v, int64_t count, kryi_seen *seen)
{
    const uint64_t more_digits = (UINT64_C(1) << (DBL_MANT_DIG - FLT_MANT_DIG)) - 1;
    uint64_t bits = 0, infinite = 0, tiny = 0;
    double largest = 0;

    for (int64_t k = 0; k < count; k++) {
        const double size = fabs(v[k]);
        uint64_t own;
        memcpy(&own, &v[k], sizeof own);
        bits |= own;
        infinite |= (uint64_t) !(size <= DBL_MAX);
        tiny |= (uint64_t)((size > 0) & (size < FLT_MIN));
        largest = size > largest ? size : largest;
    }
    seen->finite = !infinite;
    seen->singles = !infinite && !tiny && !(bits & more_digits) && largest <= FLT_MAX;
    seen->unfit = infinite || tiny || !isfinite((float)largest);
}

static void see_singles(const float *v, int64_t count, kryi_seen *seen)
{
    unsigned infinite = 0;

    for (int64_t k = 0; k < count; k++) infinite |= (unsigned)!(fabsf(v[k]) <= FLT_MAX);
    seen->finite = seen->singles = !infinite, seen->unfit = infinite;
}

void kryi_numbers_see_range(kry_type type, const void *val, int64_t begin, int64_t end,
                            kryi_seen *seen)
{
    kryi_seen here = { 0 };

    if (type == KRY_F64)
        see_doubles((const double *)val + begin, end - begin, &here);
    else
        see_singles((const float *)val + begin, end - begin, &here);
    kryi_seen_add(seen, &here);
}

static void see_part(void *user, int part, int64_t begin, int64_t end)
{
    seeing *s = user;

    s->part[part] = kryi_seen_nothing;
    kryi_numbers_see_range(s->type, s->val, begin, end, &s->part[part]);
}

void kryi_numbers_see(kry_type type, const void *val, int64_t count, kryi_seen *seen)
{
    const int parts = kryi_parts(count);
    seeing s = { .type = type, .val = val };

    *seen = kryi_seen_nothing;
    if (!count) return;
    kryi_parallel(parts, count, see_part, &s);
    for (int p = 0; p < parts; p++) kryi_seen_add(seen, &s.part[p]);
}

kry_status kryi_numbers_check(const char *who, kry_type type, const void *val, int64_t count,
                              kryi_seen *seen)
{
    kryi_numbers_see(type, val, count, seen);
    return seen->finite ? KRY_OK : kryi_values_check(who, type, count, val);
}

kry_type kryi_stored_type(kry_type type, kry_values values, const kryi_seen *seen)
{
    const bool narrow =
        values == KRY_VALUES_SINGLE || (values == KRY_VALUES_COMPACT && seen->singles);
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

void kryi_matrix_to_slots(const kryi_matrix *A, kry_type stored, const void *sorted, bool zero,
                          void *out)
{
    filling f = { .A = A, .stored = stored, .sorted = sorted, .out = out };
    const int parts = kryi_parts(A->nnz);

    if (!zero && (A->slots > A->nnz || A->format->shared))
        kryi_parallel(parts, A->slots, set_zeros, &f);
    kryi_parallel(parts, A->nnz, put, &f);
}

kry_status kryi_matrix_check_shared(const kryi_matrix *A, const char *who, kry_type stored,
                                    const void *sorted, void *in_slots)
{
    kry_status st = KRY_OK;
    const int parts = kryi_parts(A->nnz);
    filling f = { .A = A, .stored = stored, .sorted = sorted, .out = in_slots };
    bool differs = false;

    kryi_parallel(parts, A->nnz, compare, &f);
    for (int p = 0; p < parts; p++) differs |= f.differs[p];
    if (differs) TRY(refuse(&f, who));
done:
    return st;
}
