/* convert.c - the same operator in another number type. */
#include "operator/op.h"
#include "operator/op_parts.h"
#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

kry_status kryi_numbers_convert(const char *what, kry_type from, const void *v, int64_t count,
                                double factor, kry_type to, void *out)
{
    kry_status st = KRY_OK;

    for (int64_t i = 0; i < count; i++) {
        double number = factor * kryi_number_at(from, v, i);
        kryi_number_put(to, out, i, number);
        CHECK(isfinite(kryi_number_at(to, out, i)), KRY_ERR_UNSUPPORTED,
              "kry_op_convert: %s %lld is %g: too large for %s precision", what, (long long)i,
              kryi_number_at(from, v, i), kry_type_name(to));
        CHECK(to == KRY_F64 || number == 0 || fabs(number) >= FLT_MIN, KRY_ERR_UNSUPPORTED,
              "kry_op_convert: %s %lld is %g: too small for %s precision", what, (long long)i,
              kryi_number_at(from, v, i), kry_type_name(to));
    }
done:
    return st;
}

/* *to := S^-1 N for the converted copy of A, whose (near) null space N is. scale: S, NULL for one. */
static kry_status take_vectors(const kry_vec *N, const double *scale, const kry_op *copy,
                               kry_vec **to)
{
    kry_status st = KRY_OK;
    double *numbers = NULL;
    kry_vec *vectors = NULL;

    if (!N || *to) return KRY_OK;
    TRY(kryi_alloc((uint64_t)(N->n * N->k), sizeof *numbers, &numbers));
    TRY(kryi_vec_read_doubles(N, numbers));
    for (int64_t i = 0; i < N->n * N->k && scale; i++) numbers[i] /= scale[i % N->n];
    TRY(kry_vec_create(copy->dev, copy->shape.type, N->n, N->k, &vectors));
    TRY(kryi_vec_write_doubles(vectors, numbers));
    *to = vectors, vectors = NULL;
done:
    kry_vec_release(&vectors);
    free(numbers);
    return st;
}

/* Take over for the copy what was found in A's numbers. */
static kry_status take_found(const kry_op *A, kry_op *copy)
{
    const kryi_null_found *from = &A->null_found;
    kryi_null_found *to = &copy->null_found;
    kry_vec *vectors = to->vectors;

    *to = *from, to->vectors = vectors;
    to->seen = from->seen == A->updates + 1 ? copy->updates + 1 : 0;
    if (to->seen && from->vectors) return take_vectors(from->vectors, NULL, copy, &to->vectors);
    kry_vec_release(&to->vectors);
    return KRY_OK;
}

kry_status kryi_op_make_copy(const char *who, const kry_op *A, kry_type type, double factor,
                             const double *scale, kry_op **copy)
{
    kry_status st = KRY_OK;
    bool made = false;

    CHECK(A->table->convert, KRY_ERR_UNSUPPORTED,
          "%s: '%s' has no copy in another precision; stored matrices and grid operators have", who,
          A->table->kind);
    TRY(kryi_type_check(who, kryi_device_for_copies(A->dev), type));
    CHECK(!scale || !kryi_op_is_singular(A), KRY_ERR_UNSUPPORTED,
          "%s: '%s' is singular, and scaled by a diagonal it would have another null space", who,
          A->table->kind);
    made = !*copy;
    TRY(A->table->convert(A->self, type, factor, scale, copy));
    TRY(take_vectors(A->null_space, NULL, *copy, &(*copy)->null_space));
    TRY(take_vectors(A->near_null_space, scale, *copy, &(*copy)->near_null_space));
    TRY(take_found(A, *copy));
done:
    if (st < 0 && made) kry_op_release(copy);
    return st;
}

static kry_status create_copy(const kry_op *A, const void *type, kry_op **copy)
{
    *copy = NULL;
    return kryi_op_make_copy("kry_op_convert", A, *(const kry_type *)type, 1, NULL, copy);
}

kry_status kry_op_convert(const kry_op *A, kry_type type, kry_op **copy)
{
    kry_status st = KRY_OK;

    if (copy) *copy = NULL;
    TRY(GIVEN(copy));
    CHECK(A, KRY_ERR_ARGUMENT, "kry_op_convert: NULL");
    TRY(kryi_op_make(A, create_copy, &type, copy));
    assert(copy && *copy);
    (*copy)->found = A->found;
    (*copy)->inspected = A->inspected && !kryi_op_in_parts(A);
done:
    return st;
}
