/*
 * slices.c - operators of matrices that a device has made and that nobody reads: in sorted slices (sell.cl) where there
 * are rows enough to keep the device busy, else in compressed rows. Kernels: cl/formats/slices.cl.
 */
#include "device/launch.h"
#include "matrix/device_csr.h"
#include <stdio.h>
#include <string.h>

enum { HEIGHT = 32, WINDOW = 256 }; /* of slices.cl */
enum { MANY = 1024 };               /* rows for each compute unit */

/* Defines of sell.cl: columns as they are, and as distances in 16 bits. */
static const char *const columns[] = { "-DCOLUMN=int", "-DCOLUMN=ushort -DALONG" };

static const cl_int none = 0; /* found so far */

typedef struct slices {
    cl_mem perm, ptr, head, col;
    int64_t slots;
    bool narrow; /* which columns */
} slices;

/* A work-item for each row. All kernels are compiled once, for the type of C's numbers. */
static kry_status run(const kryi_device_csr *C, const char *name, const kry_arg *args, size_t count)
{
    const int size = kryi_group_size(C->dev);
    const int64_t groups = kryi_groups_at_most(C->dev, (C->rows + size - 1) / size);
    return kryi_run(C->dev, "slices", C->type, "", name, groups, args, count);
}

/* ---- which rows share a slice, and where their columns go --------------------------------------- */

/* Slots of each row, and the jumps among them. */
static kry_status find_lengths(const kryi_device_csr *C, bool jumping, cl_mem length, cl_int *jumps)
{
    kry_status st = KRY_OK;
    kry_device *dev = C->dev;
    const cl_int rows = (cl_int)C->rows, with_jumps = jumping;
    cl_mem found = NULL;

    *jumps = 0;
    TRY(kryi_buffer_create(dev, sizeof none, &found));
    TRY(kryi_buffer_write_later(dev, found, 0, sizeof none, &none));
    const kry_arg args[] = { ARG(rows),       ARG(C->row_ptr), ARG(C->col),
                             ARG(with_jumps), ARG(length),     ARG(found) };
    TRY(run(C, "slices_lengths", args, COUNT(args)));
    TRY(kryi_buffer_read(dev, found, 0, sizeof *jumps, jumps));
done:
    kryi_buffer_release(dev, &found);
    return st;
}

static kry_status sort(const kryi_device_csr *C, slices *s)
{
    kry_status st = KRY_OK;
    kry_device *dev = C->dev;
    const cl_int rows = (cl_int)C->rows;
    const int64_t count = (C->rows + HEIGHT - 1) / HEIGHT;
    cl_int jumps;
    cl_mem slots = NULL, length = NULL;

    TRY(kryi_buffer_create(dev, (uint64_t)rows * sizeof(cl_int), &length));
    TRY(kryi_buffer_create(dev, (uint64_t)rows * sizeof(cl_int), &s->perm));
    TRY(kryi_buffer_create(dev, (size_t)count * sizeof(cl_int), &slots));
    TRY(find_lengths(C, true, length, &jumps));
    s->narrow = jumps >= 0 && jumps <= C->nnz / 8;
    if (!s->narrow) TRY(find_lengths(C, false, length, &jumps));
    const kry_arg args[] = { ARG(rows), ARG(length), ARG(s->perm), ARG(slots) };
    TRY(kryi_run(dev, "slices", C->type, "", "slices_sort",
                 kryi_groups_at_most(dev, (C->rows + WINDOW - 1) / WINDOW), args, COUNT(args)));
    TRY(kryi_device_csr_offsets(dev, count, slots, &s->ptr, &s->slots));
done:
    kryi_buffer_release(dev, &slots);
    kryi_buffer_release(dev, &length);
    return st;
}

/* diagonal: of square matrices the slot of each row's entry there. */
static kry_status store_columns(const kryi_device_csr *C, slices *s, cl_mem *diagonal)
{
    kry_status st = KRY_OK;
    kry_device *dev = C->dev;
    const cl_int rows = (cl_int)C->rows, square = C->rows == C->cols, narrow = s->narrow;

    TRY(kryi_buffer_create(dev, (uint64_t)s->slots * (s->narrow ? 2 : 4), &s->col));
    TRY(kryi_buffer_create(dev, (uint64_t)rows * sizeof(cl_int), &s->head));
    if (square) TRY(kryi_buffer_create(dev, (uint64_t)rows * sizeof(cl_int), diagonal));
    const cl_mem own = square ? *diagonal : s->col;
    const kry_arg args[] = { ARG(rows),   ARG(C->row_ptr), ARG(C->col), ARG(s->perm), ARG(s->ptr),
                             ARG(narrow), ARG(s->head),    ARG(s->col), ARG(square),  ARG(own) };
    TRY(run(C, "slices_columns", args, COUNT(args)));
done:
    return st;
}

/* ---- numbers --------------------------------------------------------------------------------- */

typedef struct numbers {
    kry_type stored;
    cl_mem val, rest;
    cl_int lost; /* whether some are too large or too small for `stored` */
} numbers;

static void numbers_release(kry_device *dev, numbers *v)
{
    kryi_buffer_release(dev, &v->val);
    kryi_buffer_release(dev, &v->rest);
}

/* Rounded rows of a symmetric matrix keep what they add up to: what is lost is given to the diagonal. */
static kry_status convert(const kryi_matrix *A, const kryi_device_csr *C, kry_type stored,
                          numbers *v)
{
    kry_status st = KRY_OK;
    kry_device *dev = C->dev;
    const bool sliced = A->params.format == KRY_FORMAT_SELL;
    const cl_int rows = (cl_int)C->rows;
    const cl_int rests = stored != C->type && (A->shape.traits & KRY_SYMMETRIC),
                 rounds = stored != C->type, singles = A->shape.type != C->type;
    cl_mem found = NULL;

    *v = (numbers){ .stored = stored };
    TRY(kryi_buffer_create(dev, sizeof none, &found));
    TRY(kryi_buffer_write_later(dev, found, 0, sizeof none, &none));
    TRY(kryi_buffer_create(dev, (uint64_t)A->slots * kry_type_size(stored), &v->val));
    if (rests)
        TRY(kryi_buffer_create(dev, (uint64_t)rows * kry_type_size(A->shape.type), &v->rest));
    const cl_mem rest = rests ? v->rest : v->val;
    const kryi_stage *s = &A->stage[0];
    const cl_int narrow = sliced && s->value[KRY_SELL_BASE].buffer;
    const kry_arg slots[] = { ARG(s->value[KRY_SELL_PERM].buffer),
                              ARG(s->value[KRY_SELL_SLICE_PTR].buffer), ARG(narrow),
                              ARG(s->value[KRY_SELL_COL].buffer) };
    const kry_arg begin[] = { ARG(rows), ARG(C->row_ptr), ARG(C->val) };
    const kry_arg end[] = { ARG(rounds),  ARG(v->val), ARG(rests),
                            ARG(singles), ARG(rest),   ARG(found) };
    kry_arg args[COUNT(begin) + COUNT(slots) + COUNT(end)];
    size_t count = COUNT(begin);
    memcpy(args, begin, sizeof begin);
    if (sliced) memcpy(args + count, slots, sizeof slots), count += COUNT(slots);
    memcpy(args + count, end, sizeof end), count += COUNT(end);
    TRY(run(C, sliced ? "slices_numbers" : "slices_round", args, count));
    if (stored != C->type && stored != A->shape.type)
        TRY(kryi_buffer_read(dev, found, 0, sizeof v->lost, &v->lost));
done:
    kryi_buffer_release(dev, &found);
    if (st < 0) numbers_release(dev, v);
    return st;
}

static kry_status make_numbers(const kryi_matrix *A, const kryi_device_csr *C, numbers *v)
{
    kry_status st = KRY_OK;
    const bool narrow = A->shape.type != C->type;
    const bool rounds = C->type == KRY_F64 && (narrow || A->params.values == KRY_VALUES_SINGLE);

    *v = (numbers){ .lost = true };
    if (rounds) TRY(convert(A, C, KRY_F32, v));
    if (narrow || !v->lost) return KRY_OK;
    numbers_release(C->dev, v);
    if (A->params.format == KRY_FORMAT_SELL) return convert(A, C, C->type, v);
    TRY(kryi_buffer_retain(C->dev, C->val));
    v->stored = C->type, v->val = C->val;
done:
    return st;
}

/* A takes the numbers over; its kernels become those that suit them, where it has some. */
static kry_status take_numbers(kryi_matrix *A, numbers *v)
{
    kry_status st = KRY_OK;

    if (A->val && v->stored != A->stored) TRY(kryi_matrix_kernels(A, v->stored));
    kryi_buffer_release(A->dev, &A->val);
    kryi_buffer_release(A->dev, &A->surplus);
    A->stored = v->stored, A->val = v->val, A->surplus = v->rest;
    *v = (numbers){ 0 };
done:
    numbers_release(A->dev, v);
    return st;
}

kry_status kryi_sliced_set_numbers(kry_op *op, const kryi_device_csr *C)
{
    kry_status st = KRY_OK;
    numbers v;

    TRY(make_numbers(kryi_matrix_of(op), C, &v));
    TRY(take_numbers(kryi_matrix_of(op), &v));
done:
    return st;
}

/* ---- operators ------------------------------------------------------------------------------- */

static kry_status add_stage(kryi_matrix *A, const slices *s)
{
    kry_status st = KRY_OK;
    kryi_stage *stage = kryi_matrix_stage(A, "sell", " %s", columns[s->narrow]);

    stage->sorted = true;
    TRY(kryi_sell_begin(A, stage, HEIGHT));
    kryi_stage_rows(A, stage, A->shape.rows, 1);
    TRY(kryi_stage_buffer(A, stage, s->ptr));
    TRY(kryi_stage_buffer(A, stage, s->perm));
    TRY(kryi_stage_buffer(A, stage, s->col));
    TRY(kryi_stage_buffer(A, stage, s->narrow ? s->head : NULL));
    A->structure_bytes = (double)s->slots * (s->narrow ? 2 : 4) + 8.0 * (double)A->shape.rows;
    snprintf(A->variant, sizeof A->variant, "slices of %d, sorted in windows of %d, %s columns",
             (int)HEIGHT, (int)WINDOW, s->narrow ? "16-bit" : "32-bit");
done:
    return st;
}

static kry_status build(const kryi_device_csr *C, kry_type type, const kry_matrix_params *params,
                        slices *s, kry_op **op)
{
    kry_status st = KRY_OK;
    const kryi_csr size = { .rows = C->rows, .cols = C->cols, .type = type };
    kryi_matrix *A = NULL;
    numbers v;

    TRY(kryi_matrix_new(C->dev, params, &size, C->nnz, &A));
    TRY(store_columns(C, s, &A->diagonal));
    A->slots = s->slots;
    TRY(add_stage(A, s));
    TRY(make_numbers(A, C, &v));
    TRY(take_numbers(A, &v));
    TRY(kryi_matrix_finish(&A, op));
done:
    kryi_matrix_destroy(A);
    return st;
}

/* Padding is a third at most; *op NULL: these rows do not suit slices. */
static kry_status create_sliced(const kryi_device_csr *C, kry_type type,
                                const kry_matrix_params *params, kry_op **op)
{
    kry_status st = KRY_OK;
    const kry_device *dev = C->dev;
    slices s = { 0 };

    *op = NULL;
    if (C->rows < (int64_t)MANY * dev->info.compute_units) return KRY_OK;
    TRY(sort(C, &s));
    if (s.slots <= INT32_MAX && s.slots <= C->nnz + C->nnz / 3) TRY(build(C, type, params, &s, op));
done:
    kryi_buffer_release(C->dev, &s.col);
    kryi_buffer_release(C->dev, &s.head);
    kryi_buffer_release(C->dev, &s.ptr);
    kryi_buffer_release(C->dev, &s.perm);
    return st;
}

kry_status kryi_sliced_operator(const kryi_device_csr *C, kryi_keep keep, unsigned traits,
                                kry_op **op)
{
    kry_status st = KRY_OK;
    const kry_values values = keep.rounded ? KRY_VALUES_SINGLE : KRY_VALUES_AS_GIVEN;
    kryi_device_csr typed = *C;

    *op = NULL;
    typed.type = keep.type;
    if (!keep.read)
        TRY(create_sliced(C, keep.type,
                          KRY_MATRIX(.traits = traits, .format = KRY_FORMAT_SELL, .values = values),
                          op));
    if (*op) return KRY_OK;
    TRY(kryi_device_csr_operator(&typed, traits, NULL,
                                 op)); /* in compressed rows, whose pattern is C's */
    kryi_matrix_of(*op)->params.values = values;
    TRY(kryi_sliced_set_numbers(*op, C));
done:
    if (st < 0) kry_op_release(op);
    return st;
}
