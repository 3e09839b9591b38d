/*
 * share_write.c - vectors written by ranks into one file: each prints its own rows, and once all know how long the
 * pieces are it writes its piece at its place. A gzip'd file is one of many members, a piece each.
 */
#include "io/share.h"
#include "operator/op.h"
#include "team/team.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct writing {
    kry_device *dev;
    const char *path, *comment;
    kry_shared_file out;
    bool gzip;
    kry_type type;
    int64_t n, rows, cols; /* of the vector, and here */
    void *numbers;         /* rows * cols, owned */
    char *text;            /* owned */
    size_t length, room;
} writing;

/* ---- a piece of text --------------------------------------------------------------------------- */

static kry_status make_room(writing *W, size_t more)
{
    kry_status st = KRY_OK;

    if (W->length + more <= W->room) return KRY_OK;
    const size_t room = W->room + W->room / 2 + more + 4096;
    TRY(kry_realloc(room, 1, &W->text));
    W->room = room;
done:
    return st;
}

static kry_status print_header(writing *W)
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

static kry_status print_column(writing *W, int64_t column)
{
    enum { LONGEST = 32 };
    kry_status st = KRY_OK;

    for (int64_t i = column * W->rows; i < (column + 1) * W->rows; i++) {
        TRY(make_room(W, LONGEST));
        W->length += (size_t)kry_print_double(W->text + W->length, LONGEST, 0,
                                              kry_number_at(W->type, W->numbers, i));
        W->text[W->length++] = '\n';
    }
done:
    return st;
}

/* text := the text as a member of a gzip'd file. */
static kry_status compress_text(writing *W)
{
    kry_status st = KRY_OK;
    z_stream z = { .next_in = (Bytef *)W->text };
    char *packed = NULL;
    bool begun = false;

    if (!W->length) return KRY_OK;
    CHECK(W->length <= UINT32_MAX / 2, KRY_ERR_UNSUPPORTED,
          "cannot write '%s': a rank gzips at most 2 GB, and has %zu bytes", W->path, W->length);
    CHECK(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK, KRY_ERR_MEMORY,
          "%s: no memory to compress it", W->path);
    begun = true;
    const size_t room = deflateBound(&z, W->length);
    TRY(kry_alloc(room, 1, &packed));
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
    writing *W = user;
    kry_layout *layout = &W->dev->team->part[rank]->layout;
    const int size = kry_layout_size(layout);
    int64_t at = 0, owner = 0, written = 1, *all = NULL;

    TRY(kry_alloc((size_t)size, sizeof *all, &all));
    if (rank == 0) TRY(kry_shared_begin(&W->out, size == 1, &owner));
    TRY(kry_layout_gather(layout, &owner, sizeof owner, all));
    if (rank > 0) TRY(kry_shared_join(&W->out, all[0]));
    for (int64_t j = 0; j < W->cols || j == 0; j++) {
        W->length = 0;
        if (rank == 0 && j == 0) TRY(print_header(W));
        if (j < W->cols) TRY(print_column(W, j));
        if (W->gzip) TRY(compress_text(W));
        const int64_t mine = (int64_t)W->length;
        TRY(kry_layout_gather(layout, &mine, sizeof mine, all));
        int64_t here = at;
        for (int r = 0; r < size; r++) {
            if (r < rank) here += all[r];
            at += all[r];
        }
        TRY(kry_shared_write(&W->out, here, W->text, W->length));
    }
    TRY(kry_shared_close(&W->out));
    TRY(kry_layout_gather(layout, &written, sizeof written, all)); /* by all of them */
    if (rank == 0) st = kry_shared_end(&W->out, KRY_OK);
done:
    free(all);
    return st;
}

static kry_status check_numbers(const writing *W)
{
    kry_status st = KRY_OK;

    for (int64_t i = 0; i < W->rows * W->cols; i++)
        CHECK(isfinite(kry_number_at(W->type, W->numbers, i)), KRY_ERR_ARGUMENT,
              "kry_mtx_write_vec: value %g in row %lld of this rank is not finite",
              kry_number_at(W->type, W->numbers, i), (long long)(i % W->rows));
done:
    return st;
}

kry_status kry_share_write_vec(const char *path, const kry_vec *vec, const char *comment)
{
    kry_status st = KRY_OK;
    const size_t length = strlen(path);
    writing W = { .dev = kry_vec_device(vec),
                  .path = path,
                  .comment = comment,
                  .gzip = length > 3 && !strcmp(path + length - 3, ".gz"),
                  .type = kry_vec_type(vec),
                  .n = kry_vec_rows(vec),
                  .rows = kry_vec_rows_here(vec, NULL),
                  .cols = kry_vec_cols(vec),
                  .out = { .path = path, .out.file = -1 } };

    kry_team_enter(W.dev, "kry_mtx_write_vec", NULL);
    TRY(kry_alloc((size_t)(W.rows * W.cols), kry_type_size(W.type), &W.numbers));
    TRY(kry_vec_read(vec, W.numbers));
    TRY(check_numbers(&W));
    TRY(kry_share_order(vec, kry_type_size(W.type), true, W.numbers));
    TRY(kry_team_run(W.dev->team, NULL, write_task, &W));
done:
    st = kry_team_leave(W.dev, st);
    st = kry_shared_end(&W.out, st);
    free(W.text);
    free(W.numbers);
    return st;
}
