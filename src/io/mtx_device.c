/*
 * mtx_device.c - Matrix Market data on its way to a device and back.
 */
#include "io/share.h"
#include "operator/op.h"
#include "team/team.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

kry_status kryi_mtx_convert(const char *func, kry_type type, const kry_mtx *mtx, const double *val,
                            int64_t count, const void **out, float **owned)
{
    kry_status st = KRY_OK;
    *out = val;
    if (type == KRY_F64) goto done;
    TRY(kryi_alloc((size_t)count, sizeof(float), owned));
    for (int64_t e = 0; e < count; e++) {
        (*owned)[e] = (float)val[e];
        if (isfinite((*owned)[e]) || !isfinite(val[e])) continue;
        CHECK(mtx && mtx->row && val == mtx->val, KRY_ERR_ARGUMENT,
              "%s: entry %lld, %g, is too large for single precision", func, (long long)e, val[e]);
        CHECK(false, KRY_ERR_ARGUMENT,
              "%s: row %lld, column %lld: %g is too large for single precision" COUNTED, func,
              ROW(mtx->row[e]), ROW(mtx->col[e]), val[e], kryi_first_row);
    }
    *out = *owned;
done:
    return st;
}

/* Make the rows and columns of an array file's numbers: column after column; of a symmetric file the lower
 * triangle, of a skew-symmetric one the entries below the diagonal. */
static kry_status array_places(const kry_mtx *mtx, int32_t **row, int32_t **col)
{
    kry_status st = KRY_OK;
    int64_t e = 0;
    TRY(kryi_alloc((uint64_t)mtx->nnz, sizeof(int32_t), row));
    TRY(kryi_alloc((uint64_t)mtx->nnz, sizeof(int32_t), col));
    for (int64_t j = 0; j < mtx->cols; j++) {
        int64_t first = mtx->symmetry == KRY_MTX_GENERAL ? 0 : j + (mtx->symmetry == KRY_MTX_SKEW);
        for (int64_t i = first; i < mtx->rows; i++, e++) {
            (*row)[e] = (int32_t)i;
            (*col)[e] = (int32_t)j;
        }
    }
done:
    return st;
}

kry_status kry_mtx_matrix(kry_device *device, kry_type type, const kry_mtx *mtx,
                          const kry_matrix_params *params, kry_op **op)
{
    static const kry_storage storage[] = { [KRY_MTX_GENERAL] = KRY_GENERAL,
                                           [KRY_MTX_SYMMETRIC] = KRY_SYMMETRIC_HALF,
                                           [KRY_MTX_SKEW] = KRY_SKEW_HALF };
    kry_status st = KRY_OK;
    int32_t *row = NULL, *col = NULL;
    float *owned = NULL;
    const void *val = NULL;
    CHECK(op, KRY_ERR_ARGUMENT, "kry_mtx_matrix: op is NULL");
    *op = NULL;
    CHECK(device && mtx, KRY_ERR_ARGUMENT, "kry_mtx_matrix: %s is NULL", device ? "mtx" : "device");
    CHECK(type == KRY_F32 || type == KRY_F64, KRY_ERR_ARGUMENT,
          "kry_mtx_matrix: %d is not a number type", (int)type);
    TRY(kryi_mtx_check("kry_mtx_matrix", mtx));
    kry_matrix_params p;
    TAKE_PARAMS(params, p, "kry_mtx_matrix", "KRY_MATRIX");
    p.storage = storage[mtx->symmetry];
    if (mtx->symmetry == KRY_MTX_SYMMETRIC) p.traits |= KRY_SYMMETRIC;
    TRY(kryi_mtx_convert("kry_mtx_matrix", type, mtx, mtx->val, mtx->nnz, &val, &owned));
    if (mtx->array) TRY(array_places(mtx, &row, &col));
    TRY(kry_coo_create(device, type, mtx->rows, mtx->cols, mtx->nnz, mtx->array ? row : mtx->row,
                       mtx->array ? col : mtx->col, val, &p, op));
done:
    free(row);
    free(col);
    free(owned);
    return st;
}

/* Make a dense block from a coordinate file; the other entries are zero. */
static kry_status scatter(const kry_mtx *mtx, double **block)
{
    kry_status st = KRY_OK;
    unsigned char *seen = NULL;
    size_t size = (size_t)(mtx->rows * mtx->cols);
    TRY(kryi_alloc(size, sizeof(double), block));
    TRY(kryi_alloc(size, 1, &seen));
    for (int64_t e = 0; e < mtx->nnz; e++) {
        size_t at = (size_t)(mtx->col[e] * mtx->rows + mtx->row[e]);
        CHECK(!seen[at], KRY_ERR_ARGUMENT,
              "kry_mtx_vec: two entries at row %lld, column %lld" COUNTED, ROW(mtx->row[e]),
              ROW(mtx->col[e]), kryi_first_row);
        seen[at] = 1;
        (*block)[at] = mtx->val[e];
    }
done:
    free(seen);
    return st;
}

kry_status kry_mtx_vec(kry_device *device, kry_type type, const kry_mtx *mtx, kry_vec **vec)
{
    kry_status st = KRY_OK;
    double *block = NULL;
    float *owned = NULL;
    const void *val = NULL;
    kry_vec *v = NULL;
    CHECK(vec, KRY_ERR_ARGUMENT, "kry_mtx_vec: vec is NULL");
    *vec = NULL;
    CHECK(device && mtx, KRY_ERR_ARGUMENT, "kry_mtx_vec: %s is NULL", device ? "mtx" : "device");
    CHECK(type == KRY_F32 || type == KRY_F64, KRY_ERR_ARGUMENT,
          "kry_mtx_vec: %d is not a number type", (int)type);
    TRY(kryi_mtx_check("kry_mtx_vec", mtx));
    CHECK(mtx->symmetry == KRY_MTX_GENERAL, KRY_ERR_ARGUMENT,
          "kry_mtx_vec: the file holds half of a symmetric matrix, not a vector");
    CHECK(mtx->cols == 0 || mtx->rows <= INT64_MAX / 8 / mtx->cols, KRY_ERR_MEMORY,
          "kry_mtx_vec: a dense block of %lld by %lld", (long long)mtx->rows, (long long)mtx->cols);
    TRY(kry_vec_create(device, type, mtx->rows, mtx->cols, &v));
    if (!mtx->array) TRY(scatter(mtx, &block));
    TRY(kryi_mtx_convert("kry_mtx_vec", type, mtx, mtx->array ? mtx->val : block,
                         mtx->rows * mtx->cols, &val, &owned));
    TRY(kry_vec_write(v, val));
    *vec = v;
    v = NULL;
done:
    free(block);
    free(owned);
    kry_vec_release(&v);
    return st;
}

kry_status kry_mtx_read_matrix(kry_device *device, kry_type type, const char *path, kry_op **op)
{
    kry_status st = KRY_OK;
    kry_mtx *mtx = NULL;
    kry_share *share = NULL;

    kryi_team_enter(device, "kry_mtx_read_matrix", NULL);
    if (op) *op = NULL;
    TRY(GIVEN(op, device, path));
    if (kry_team_is_ranks(device)) {
        TRY(kry_share_read(device, path, &share));
        TRY(kry_share_matrix(device, type, share, NULL, op));
    } else {
        TRY(kry_mtx_read(path, &mtx));
        const kry_status made = kry_mtx_matrix(device, type, mtx, NULL, op);
        if (made == KRY_ERR_ARGUMENT) TRY(kry_mtx_check_duplicates(path, mtx)); /* names lines */
        st = made;
    }
done:
    st = kryi_team_leave(device, st);
    if (st < 0) kry_op_release(op);
    kry_share_release(&share);
    kry_mtx_release(&mtx);
    return st;
}

/* ---- vectors of ranks ------------------------------------------------------------------------ */

/*
 * Vectors written by ranks into one file: each prints its own rows, and once all know how long the
 * pieces are it writes its piece at its place. A gzip'd file is one of many members, a piece each.
 */

typedef struct writer {
    kry_device *dev;
    const char *path, *comment;
    kryi_shared_file out;
    bool gzip;
    kry_type type;
    int64_t n, rows, cols; /* of the vector, and here */
    void *numbers;         /* rows * cols, owned */
    char *text;            /* owned */
    size_t length, room;
} writer;

/* ---- a piece of text --------------------------------------------------------------------------- */

static kry_status make_room(writer *W, size_t more)
{
    kry_status st = KRY_OK;

    if (W->length + more <= W->room) return KRY_OK;
    const size_t room = W->room + W->room / 2 + more + 4096;
    TRY(kryi_realloc(room, 1, &W->text));
    W->room = room;
done:
    return st;
}

static kry_status print_header(writer *W)
{
    kry_status st = KRY_OK;
    const size_t length = W->comment ? strcspn(W->comment, "\r\n") : 0;

    TRY(make_room(W, length + 200));
    W->length = (size_t)sprintf(W->text, "%%%%MatrixMarket matrix array real general\n%s%.*s%s",
                                W->comment ? "% " : "", (int)length, W->comment ? W->comment : "",
                                W->comment ? "\n" : "");
    W->length +=
        (size_t)sprintf(W->text + W->length, "%lld %lld\n", (long long)W->n, (long long)W->cols);
done:
    return st;
}

static kry_status print_column(writer *W, int64_t column)
{
    enum { LONGEST = 32 };
    kry_status st = KRY_OK;

    for (int64_t i = column * W->rows; i < (column + 1) * W->rows; i++) {
        TRY(make_room(W, LONGEST));
        W->length += (size_t)kryi_print_double(W->text + W->length, LONGEST, 0,
                                               kryi_number_at(W->type, W->numbers, i));
        W->text[W->length++] = '\n';
    }
done:
    return st;
}

/* text := the text as a member of a gzip'd file. */
static kry_status compress_text(writer *W)
{
    kry_status st = KRY_OK;
    z_stream z = { .next_in = (Bytef *)W->text };
    char *packed = NULL;
    bool begun = false;

    if (!W->length) return KRY_OK;
    CHECK(W->length <= UINT32_MAX / 2, KRY_ERR_UNSUPPORTED,
          "cannot write '%s': a rank gzips at most 2 GB, and has %zu bytes", W->path, W->length);
    const int code = deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
    CHECK(code != Z_VERSION_ERROR, KRY_ERR_UNSUPPORTED,
          "cannot write '%s': this kry has no zlib that fits", W->path);
    CHECK(code == Z_OK, KRY_ERR_MEMORY, "%s: no memory to compress it", W->path);
    begun = true;
    const size_t room = deflateBound(&z, W->length);
    TRY(kryi_alloc(room, 1, &packed));
    z.avail_in = (uInt)W->length, z.next_out = (Bytef *)packed, z.avail_out = (uInt)room;
    CHECK(deflate(&z, Z_FINISH) == Z_STREAM_END, KRY_ERR_FILE, "cannot compress '%s'", W->path);
    free(W->text);
    W->text = packed, W->length = room - z.avail_out, W->room = room;
    packed = NULL;
done:
    if (begun) deflateEnd(&z);
    free(packed);
    return st;
}

/* ---- the file ---------------------------------------------------------------------------------- */

static kry_status write_task(void *user, int rank)
{
    kry_status st = KRY_OK;
    writer *W = user;
    kryi_layout *layout = &W->dev->team->part[rank]->layout;
    const int size = kryi_layout_size(layout);
    int64_t at = 0, owner = 0, written = 1, *all = NULL;

    TRY(kryi_alloc((size_t)size, sizeof *all, &all));
    if (rank == 0) TRY(kryi_shared_begin(&W->out, size == 1, &owner));
    TRY(kryi_layout_gather(layout, &owner, sizeof owner, all));
    if (rank > 0) TRY(kryi_shared_join(&W->out, all[0]));
    for (int64_t j = 0; j < W->cols || j == 0; j++) {
        W->length = 0;
        if (rank == 0 && j == 0) TRY(print_header(W));
        if (j < W->cols) TRY(print_column(W, j));
        if (W->gzip) TRY(compress_text(W));
        const int64_t mine = (int64_t)W->length;
        TRY(kryi_layout_gather(layout, &mine, sizeof mine, all));
        int64_t here = at;
        for (int r = 0; r < size; r++) {
            if (r < rank) here += all[r];
            at += all[r];
        }
        TRY(kryi_shared_write(&W->out, here, W->text, W->length));
    }
    TRY(kryi_shared_close(&W->out));
    TRY(kryi_layout_gather(layout, &written, sizeof written, all)); /* by all of them */
    if (rank == 0) st = kryi_shared_end(&W->out, KRY_OK);
done:
    free(all);
    return st;
}

static kry_status check_numbers(const writer *W)
{
    kry_status st = KRY_OK;

    for (int64_t i = 0; i < W->rows * W->cols; i++)
        CHECK(isfinite(kryi_number_at(W->type, W->numbers, i)), KRY_ERR_ARGUMENT,
              "kry_mtx_write_vec: value %g in row %lld of this rank is not finite",
              kryi_number_at(W->type, W->numbers, i), (long long)(i % W->rows));
done:
    return st;
}

static kry_status share_write_vec(const char *path, const kry_vec *vec, const char *comment)
{
    kry_status st = KRY_OK;
    const size_t length = strlen(path);
    writer W = { .dev = kry_vec_device(vec),
                 .path = path,
                 .comment = comment,
                 .gzip = length > 3 && !strcmp(path + length - 3, ".gz"),
                 .type = kry_vec_type(vec),
                 .n = kry_vec_rows(vec),
                 .rows = kry_vec_rows_here(vec, NULL),
                 .cols = kry_vec_cols(vec),
                 .out = { .path = path, .out.file = -1 } };

    kryi_team_enter(W.dev, "kry_mtx_write_vec", NULL);
    TRY(kryi_alloc((uint64_t)(W.rows * W.cols), kry_type_size(W.type), &W.numbers));
    TRY(kry_vec_read(vec, W.numbers));
    TRY(check_numbers(&W));
    TRY(kryi_share_order(vec, kry_type_size(W.type), true, W.numbers));
    TRY(kryi_team_run(W.dev->team, NULL, write_task, &W));
done:
    st = kryi_team_leave(W.dev, st);
    st = kryi_shared_end(&W.out, st);
    free(W.text);
    free(W.numbers);
    return st;
}

kry_status kry_mtx_write_vec(const char *path, const kry_vec *vec)
{
    const kry_status st = GIVEN(path, vec);
    return st < 0 ? st : kry_mtx_write_vec_comment(path, vec, NULL);
}

kry_status kry_mtx_write_vec_comment(const char *path, const kry_vec *vec, const char *comment)
{
    kry_status st = KRY_OK;
    double *val = NULL;

    TRY(GIVEN(path, vec));
    if (kry_team_is_ranks(kry_vec_device(vec))) return share_write_vec(path, vec, comment);
    int64_t count = kry_vec_rows(vec) * kry_vec_cols(vec);
    TRY(kryi_alloc((size_t)count, sizeof(double), &val));
    TRY(kry_vec_read(vec, val));
    /* single numbers lie packed at the front: widen them from the back */
    for (int64_t i = count - 1; i >= 0 && kry_vec_type(vec) == KRY_F32; i--) {
        float number;
        memcpy(&number, (const char *)val + sizeof number * (size_t)i, sizeof number);
        val[i] = number;
    }
    kry_mtx mtx = { .array = true,
                    .rows = kry_vec_rows(vec),
                    .cols = kry_vec_cols(vec),
                    .nnz = count,
                    .val = val };
    TRY(kry_mtx_write(path, &mtx, comment));
done:
    free(val);
    return st;
}
