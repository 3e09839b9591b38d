/*
 * petsc_write.c - matrices and vectors as PETSc's binary files: share_petsc.c has the layout. Integers have 32 bits, as PETSc
 * is configured by default.
 *
 * On ranks each writes its lengths, columns and numbers at their places; the first one writes the header.
 */
#include "io/share.h"
#include "matrix/matrix.h"
#include "matrix/matrix_parts.h"
#include "operator/op_parts.h"
#include "sparse/entries.h"
#include "team/ranks.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MATRIX = 1211216, VECTOR = 1211214, AT_ONCE = 8192 };

/* What this process has of an object. */
typedef struct object {
    const char *who;
    kry_device *dev; /* NULL: the host */
    bool vector;
    int64_t rows, cols; /* of the whole, */
    int64_t nnz;        /* of a vector as many as rows */
    int64_t first;      /* row here, */
    int64_t before;     /* and the entries in front of it */
    kryi_csr own;       /* owned; of a vector rows, type and val alone */
    kryi_shared_file out;
    unsigned char raw[8 * AT_ONCE];
} object;

/* ---- big-endian ------------------------------------------------------------------------------- */

static void put(unsigned char *at, uint64_t bits, int width)
{
    for (int i = width - 1; i >= 0; i--, bits >>= 8) at[i] = (unsigned char)bits;
}

typedef uint64_t get_number(const object *o, int64_t i);

static uint64_t get_length(const object *o, int64_t i)
{
    return (uint64_t)kryi_row_length(&o->own, i);
}

static uint64_t get_column(const object *o, int64_t i) { return (uint64_t)o->own.col[i]; }

static uint64_t get_value(const object *o, int64_t i)
{
    const double value = kryi_number_at(o->own.type, o->own.val, i);
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Numbers 0 ... count - 1 of `width` bytes to this byte of the file. */
static kry_status write_numbers(object *o, int64_t at, int64_t count, int width, get_number *get)
{
    kry_status st = KRY_OK;

    for (int64_t i = 0; i < count; i += AT_ONCE) {
        const int64_t some = count - i < AT_ONCE ? count - i : AT_ONCE;
        for (int64_t k = 0; k < some; k++) put(o->raw + k * width, get(o, i + k), width);
        TRY(kryi_shared_write(&o->out, at + i * width, o->raw, (size_t)(some * width)));
    }
done:
    return st;
}

/* ---- the file --------------------------------------------------------------------------------- */

static kry_status check_numbers(const object *o, int64_t count)
{
    kry_status st = KRY_OK;

    for (int64_t i = 0; i < count; i++)
        CHECK(isfinite(kryi_number_at(o->own.type, o->own.val, i)), KRY_ERR_ARGUMENT,
              "%s: number %lld, %g, is not finite", o->who, (long long)i,
              kryi_number_at(o->own.type, o->own.val, i));
done:
    return st;
}

static bool on_ranks(const object *o) { return o->dev && kry_team_is_ranks(o->dev); }

/* How many entries all ranks have, and those below. */
static kry_status add_up(object *o, int64_t here)
{
    kry_status st = KRY_OK;
    int64_t *all = NULL;

    o->nnz = here;
    if (!on_ranks(o)) return KRY_OK;
    const int size = kry_team_size(o->dev), rank = kry_team_rank(o->dev);
    TRY(kryi_alloc((size_t)size, sizeof *all, &all));
    TRY(kryi_ranks_gather(o->dev->team->ranks, &here, sizeof here, all));
    o->nnz = 0;
    for (int r = 0; r < size; r++) {
        if (r == rank) o->before = o->nnz;
        o->nnz += all[r];
    }
done:
    free(all);
    return st;
}

static kry_status check_sizes(const object *o)
{
    kry_status st = KRY_OK;
    const int64_t most = INT32_MAX;

    CHECK(
        o->rows <= most && o->cols <= most && o->nnz <= most, KRY_ERR_UNSUPPORTED,
        "%s: %lld rows, %lld columns, %lld entries: integers of the file have 32 bits, and are at "
        "most %lld",
        o->who, (long long)o->rows, (long long)o->cols, (long long)o->nnz, (long long)most);
done:
    return st;
}

static kry_status write_header(object *o)
{
    const int64_t word[] = { o->vector ? VECTOR : MATRIX, o->rows, o->cols, o->nnz };
    const size_t count = o->vector ? 2 : 4;

    for (size_t i = 0; i < count; i++) put(o->raw + 4 * i, (uint64_t)word[i], 4);
    return kryi_shared_write(&o->out, 0, o->raw, 4 * count);
}

/* Where the lengths of rows, the columns and the numbers begin. */
static kry_status write_own(object *o, int64_t rows, int64_t entries)
{
    kry_status st = KRY_OK;
    const int64_t lengths = o->vector ? 8 : 16, columns = lengths + (o->vector ? 0 : 4 * o->rows),
                  numbers = columns + (o->vector ? 0 : 4 * o->nnz);

    if (!o->vector) {
        TRY(write_numbers(o, lengths + 4 * o->first, rows, 4, get_length));
        TRY(write_numbers(o, columns + 4 * o->before, entries, 4, get_column));
    }
    TRY(write_numbers(o, numbers + 8 * o->before, entries, 8, get_value));
done:
    return st;
}

/* *number := that of rank 0, once all ranks are here. */
static kry_status tell(object *o, int64_t *number)
{
    kry_status st = KRY_OK;
    int64_t *all = NULL;

    TRY(kryi_alloc((size_t)kry_team_size(o->dev), sizeof *all, &all));
    TRY(kryi_ranks_gather(o->dev->team->ranks, number, sizeof *number, all));
    *number = all[0];
done:
    free(all);
    return st;
}

/* Collective on ranks. */
static kry_status write_object(object *o, const char *path)
{
    kry_status st = KRY_OK;
    const int64_t entries = o->vector ? o->own.rows : kryi_csr_nnz(&o->own);
    const bool first = !o->dev || kry_team_rank(o->dev) == 0;
    int64_t owner = 0;

    o->out.path = path;
    TRY(check_numbers(o, entries));
    TRY(add_up(o, entries));
    TRY(check_sizes(o));
    if (first) TRY(kryi_shared_begin(&o->out, !on_ranks(o), &owner));
    if (on_ranks(o)) TRY(tell(o, &owner)); /* the file is there */
    if (!first) TRY(kryi_shared_join(&o->out, owner));
    if (first) TRY(write_header(o));
    TRY(write_own(o, o->own.rows, entries));
    TRY(kryi_shared_close(&o->out));
    if (on_ranks(o)) TRY(tell(o, &owner)); /* all have written */
    if (first) st = kryi_shared_end(&o->out, KRY_OK);
done:
    return st;
}

static kry_status object_create(const char *who, kry_device *dev, object **o)
{
    kry_status st = KRY_OK;

    TRY(kryi_alloc(1, sizeof **o, o));
    (*o)->who = who, (*o)->dev = dev, (*o)->out.out.file = -1;
done:
    return st;
}

/* st: how writing went. Returns it, or why the file did not get its name. */
static kry_status object_release(object *o, kry_status st)
{
    if (!o) return st;
    if (o->out.path) st = kryi_shared_end(&o->out, st);
    kryi_csr_release(&o->own);
    free(o);
    return st;
}

/* ---- vectors and matrices ----------------------------------------------------------------------- */

typedef kry_status read_object(const void *what, object *o);

/* Write what `read` has of a vector or a matrix. */
static kry_status write_of(const char *who, kry_device *dev, read_object *read, const void *what,
                           const char *path)
{
    kry_status st;
    object *o = NULL;

    kryi_team_enter(dev, who, NULL);
    st = object_create(who, dev, &o);
    if (st >= 0) st = read(what, o);
    if (st >= 0) st = write_object(o, path);
    st = kryi_team_leave(dev, st);
    return object_release(o, st);
}

static kry_status read_vec(const void *vec, object *o)
{
    kry_status st = KRY_OK;
    const kry_vec *v = vec;

    CHECK(kry_vec_cols(v) == 1, KRY_ERR_UNSUPPORTED,
          "kry_petsc_write_vec: %lld columns, and a vector of PETSc has one",
          (long long)kry_vec_cols(v));
    o->vector = true, o->rows = kry_vec_rows(v), o->cols = 1;
    o->own.rows = kry_vec_rows_here(v, &o->first), o->own.type = kry_vec_type(v);
    TRY(kryi_alloc((size_t)o->own.rows, kry_type_size(o->own.type), &o->own.val));
    TRY(kry_vec_read(v, o->own.val));
    if (on_ranks(o)) TRY(kryi_share_order(v, kry_type_size(o->own.type), true, o->own.val));
done:
    return st;
}

kry_status kry_petsc_write_vec(const char *path, const kry_vec *vec)
{
    kry_status st = GIVEN(path, vec);
    return st < 0 ? st : write_of("kry_petsc_write_vec", kry_vec_device(vec), read_vec, vec, path);
}

static kry_status read_rows(const void *op, object *o)
{
    kry_status st = KRY_OK;
    const kry_op *A = op;
    const kry_op_shape *shape = kry_op_get_shape(A);
    kry_op_info info;

    o->rows = shape->rows, o->cols = shape->cols;
    if (kryi_op_on_ranks(A)) {
        const int rank = kryi_op_here(A).begin;
        TRY(kryi_matrix_read_part(A, rank, &o->own));
        o->first = kryi_op_split(A)->first[rank];
        goto done;
    }
    kry_op_describe(A, &info);
    TRY(kryi_csr_create(shape->rows, shape->cols, shape->type, info.nnz > 0 ? info.nnz : 0,
                        &o->own));
    TRY(kry_matrix_read(A, o->own.row_ptr, o->own.col, o->own.val));
done:
    return st;
}

kry_status kry_petsc_write_matrix(const char *path, const kry_op *A)
{
    kry_status st = GIVEN(path, A);
    return st < 0 ? st : write_of("kry_petsc_write_matrix", kry_op_device(A), read_rows, A, path);
}

/* ---- what a file had -------------------------------------------------------------------------- */

static kry_status take_mtx(const kry_mtx *m, object *o)
{
    static const kry_storage storage[] = { [KRY_MTX_GENERAL] = KRY_GENERAL,
                                           [KRY_MTX_SYMMETRIC] = KRY_SYMMETRIC_HALF,
                                           [KRY_MTX_SKEW] = KRY_SKEW_HALF };
    kry_status st = KRY_OK;
    const kryi_entries e = {
        o->who, { m->rows, m->cols, KRY_F64, NULL, m->col, m->val }, m->row, m->nnz
    };

    TRY(kryi_mtx_check(o->who, m));
    CHECK(!m->array || (m->cols == 1 && m->symmetry == KRY_MTX_GENERAL && m->nnz == m->rows),
          KRY_ERR_UNSUPPORTED, "%s: an array of %lld by %lld; a vector has one column", o->who,
          (long long)m->rows, (long long)m->cols);
    o->vector = m->array, o->rows = m->rows, o->cols = m->cols;
    if (m->array) {
        o->own.rows = m->rows, o->own.type = KRY_F64;
        TRY(kryi_alloc((uint64_t)m->nnz, sizeof(double), &o->own.val));
        if (m->nnz) memcpy(o->own.val, m->val, (size_t)m->nnz * sizeof(double));
        goto done;
    }
    TRY(kryi_values_check(o->who, KRY_F64, m->nnz, m->val));
    TRY(kryi_entries_compress(&e, KRY_MATRIX(.storage = storage[m->symmetry]), false, &o->own,
                              NULL));
done:
    return st;
}

kry_status kry_petsc_write(const char *path, const kry_mtx *mtx)
{
    kry_status st = KRY_OK;
    object *o = NULL;

    TRY(GIVEN(path, mtx));
    TRY(object_create("kry_petsc_write", NULL, &o));
    TRY(take_mtx(mtx, o));
    TRY(write_object(o, path));
done:
    return object_release(o, st);
}
