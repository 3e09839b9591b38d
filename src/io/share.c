/* share.c - the rows of a file's matrix or vector that a rank has. */
#include "io/share.h"
#include "sparse/partition.h"
#include "team/team.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What the ranks are about. */
typedef struct reader {
    kry_device *dev;
    const char *path;
    kryi_stretch stretch;
    int64_t *first; /* of the rows of each rank, and where they end */
    bool cut;       /* `first` is known */
    mtx_entry *own;
    int64_t count;
} reader;

static void reading_release(reader *R)
{
    kryi_stretch_release(&R->stretch);
    free(R->first);
    free(R->own);
}

static int size_of(const reader *R) { return kry_team_is_ranks(R->dev) ? R->dev->team->size : 1; }
static kryi_layout *layout_of(reader *R, int rank)
{
    return kry_team_is_ranks(R->dev) ? &R->dev->team->part[rank]->layout : &R->dev->layout;
}

static kry_status run(reader *R, kryi_task_of_part *task)
{
    return kry_team_is_ranks(R->dev) ? kryi_team_run(R->dev->team, NULL, task, R) : task(R, 0);
}

static kry_status read_task(void *user, int rank)
{
    reader *R = user;
    return kryi_stretch_read(R->path, layout_of(R, rank), &R->stretch);
}

static kry_status send_task(void *user, int rank)
{
    kry_status st = KRY_OK;
    reader *R = user;
    kryi_layout *layout = layout_of(R, rank);
    const struct kryi_team *team = kry_team_is_ranks(R->dev) ? R->dev->team : NULL;
    int64_t unit = 1, chunk;

    if (team && team->reproducible) kryi_split_chunks(R->stretch.head.rows, 1, &unit, &chunk);
    if (!R->cut)
        TRY(kryi_stretch_cut(&R->stretch, layout, unit, team ? team->share : NULL, R->first));
    TRY(kryi_stretch_send(&R->stretch, layout, R->first, &R->own, &R->count));
done:
    return st;
}

/* Rows are where those of vectors are that there are already. */
static kry_status find_cut(reader *R)
{
    kry_status st = KRY_OK;
    const int size = size_of(R);
    kryi_split *s =
        kry_team_is_ranks(R->dev) ? kryi_split_find(R->dev->team, R->stretch.head.rows) : NULL;

    TRY(kryi_alloc((size_t)size + 1, sizeof *R->first, &R->first));
    for (int r = 0; s && r <= size; r++) R->first[r] = s->first[r < s->members ? r : s->members];
    R->cut = s != NULL;
done:
    if (s) kryi_split_release(&s);
    return st;
}

/* ---- matrices ---------------------------------------------------------------------------------- */

/* By column; `row` has the order in which they were given. */
static int by_column(const void *a, const void *b)
{
    const mtx_entry *x = a, *y = b;
    if (x->col != y->col) return x->col < y->col ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* room: as long as the row */
static void sort_row(int64_t *col, double *val, int64_t length, mtx_entry *room)
{
    int64_t k = 1;

    while (k < length && col[k - 1] <= col[k]) k++;
    if (k >= length) return;
    for (k = 0; k < length; k++) room[k] = (mtx_entry){ k, col[k], val[k] };
    qsort(room, (size_t)length, sizeof *room, by_column);
    for (k = 0; k < length; k++) col[k] = room[k].col, val[k] = room[k].val;
}

static kry_status sort_rows(kry_share *S)
{
    kry_status st = KRY_OK;
    int64_t longest = 0;
    mtx_entry *room = NULL;

    for (int64_t i = 0; i < S->rows; i++)
        longest = S->row_ptr[i + 1] - S->row_ptr[i] > longest ? S->row_ptr[i + 1] - S->row_ptr[i]
                                                              : longest;
    TRY(kryi_alloc((size_t)longest, sizeof *room, &room));
    for (int64_t i = 0; i < S->rows; i++) {
        const int64_t begin = S->row_ptr[i];
        sort_row(S->col + begin, S->val + begin, S->row_ptr[i + 1] - begin, room);
    }
done:
    free(room);
    return st;
}

/* Put the entries into rows: row_ptr[i + 1] is where the next one of row i goes. */
static kry_status fill_rows(const reader *R, kry_share *S)
{
    kry_status st = KRY_OK;
    int64_t sum = 0;

    TRY(kryi_alloc((size_t)S->rows + 1, sizeof *S->row_ptr, &S->row_ptr));
    TRY(kryi_alloc((size_t)R->count, sizeof *S->col, &S->col));
    TRY(kryi_alloc((size_t)R->count, sizeof *S->val, &S->val));
    for (int64_t k = 0; k < R->count; k++) S->row_ptr[R->own[k].row - S->first + 1]++;
    for (int64_t i = 1; i <= S->rows; i++) {
        const int64_t length = S->row_ptr[i];
        S->row_ptr[i] = sum, sum += length;
    }
    for (int64_t k = 0; k < R->count; k++) {
        const int64_t at = S->row_ptr[R->own[k].row - S->first + 1]++;
        S->col[at] = R->own[k].col, S->val[at] = R->own[k].val;
    }
done:
    return st;
}

/* Make a share without entries. who: the public function */
static kry_status begin_share(const reader *R, const char *who, kry_share **share)
{
    kry_status st = KRY_OK;
    const int rank = kry_team_rank(R->dev);
    const kry_mtx *head = &R->stretch.head;
    kry_share *S = NULL;

    TRY(kryi_alloc(1, sizeof *S, &S));
    *share = S;
    *S = (kry_share){ .n = head->rows,
                      .first = R->first[rank],
                      .rows = R->first[rank + 1] - R->first[rank],
                      .symmetry = head->symmetry,
                      .given = head->nnz,
                      .device = kry_device_retain(R->dev) };
    if (kry_team_is_ranks(R->dev)) {
        kryi_split *split;
        TRY(kryi_split_by_ranks(R->dev->team, who, S->first, S->rows, &split));
        S->cut = split;
    }
done:
    return st;
}

static kry_status make_share(reader *R, kry_share **share)
{
    kry_status st = KRY_OK;
    kry_share *S = NULL;

    TRY(begin_share(R, "kry_share_read", &S));
    TRY(fill_rows(R, S));
    free(R->own);
    R->own = NULL;
    TRY(sort_rows(S));
    *share = S;
    S = NULL;
done:
    kry_share_release(&S);
    return st;
}

/* Leave a collective function with the share that it has made, unless a rank has failed. */
static kry_status hand_out(reader *R, kry_status st, kry_share *made, kry_share **share)
{
    st = kryi_team_leave(R->dev, st);
    if (st < 0) kry_share_release(&made);
    if (share) *share = made;
    reading_release(R);
    return st;
}

kry_status kry_share_read(kry_device *device, const char *path, kry_share **share)
{
    kry_status st = KRY_OK;
    reader R = { .dev = device, .path = path };
    kry_share *made = NULL;

    kryi_team_enter(device, "kry_share_read", NULL);
    TRY(GIVEN(share, device, path));
    TRY(run(&R, read_task));
    const kry_mtx *head = &R.stretch.head;
    CHECK(head->rows == head->cols, KRY_ERR_UNSUPPORTED,
          "kry_share_read: '%s' is %lld-by-%lld, and ranks share square matrices", path,
          (long long)head->rows, (long long)head->cols);
    TRY(find_cut(&R));
    TRY(run(&R, send_task));
    TRY(make_share(&R, &made));
done:
    return hand_out(&R, st, made, share);
}

/* first[r], size + 1 of them: where the rows of rank r begin of n that no vectors have yet. */
static kry_status cut_by_speed(const struct kryi_team *team, int64_t n, int64_t *first)
{
    kry_status st = KRY_OK;
    int64_t unit = 1, chunk;

    if (team->reproducible) kryi_split_chunks(n, 1, &unit, &chunk);
    const int64_t units = (n + unit - 1) / unit;
    const int parts = team->size > units ? (int)units : team->size;
    TRY(kryi_partition_by_rows(n, NULL, parts, team->share, unit, first));
    for (int r = parts; r <= team->size; r++) first[r] = n;
done:
    return st;
}

kry_status kry_share_create(kry_device *device, int64_t n, kry_share **share)
{
    kry_status st = KRY_OK;
    reader R = { .dev = device, .stretch.head = { .rows = n, .cols = n } };
    kry_share *made = NULL;

    kryi_team_enter(device, "kry_share_create", NULL);
    TRY(GIVEN(device, share));
    CHECK(n > 0, KRY_ERR_ARGUMENT, "kry_share_create: n = %lld", (long long)n);
    TRY(find_cut(&R));
    R.first[size_of(&R)] = n;
    if (!R.cut && kry_team_is_ranks(R.dev)) TRY(cut_by_speed(device->team, n, R.first));
    TRY(begin_share(&R, "kry_share_create", &made));
done:
    return hand_out(&R, st, made, share);
}

/* What a transpose is made of. */
typedef struct transposer {
    reader R; /* first */
    const kry_share *share;
} transposer;

static kry_status turn_task(void *user, int rank)
{
    kry_status st = KRY_OK;
    transposer *t = user;
    const kry_share *S = t->share;
    kryi_layout *layout = layout_of(&t->R, rank);
    kryi_stretch *s = &t->R.stretch;

    s->head = (kry_mtx){ .rows = S->n, .cols = S->n };
    TRY(kryi_alloc((size_t)size_of(&t->R) + 1, sizeof *t->R.first, &t->R.first));
    TRY(kryi_alloc((size_t)S->row_ptr[S->rows], sizeof *s->entry, &s->entry));
    for (int64_t i = 0; i < S->rows; i++)
        for (; s->count < S->row_ptr[i + 1]; s->count++)
            s->entry[s->count] = (mtx_entry){ S->col[s->count], S->first + i, S->val[s->count] };
    TRY(kryi_layout_gather(layout, &S->first, sizeof S->first, t->R.first));
    t->R.first[size_of(&t->R)] = S->n;
    TRY(kryi_stretch_send(s, layout, t->R.first, &t->R.own, &t->R.count));
done:
    return st;
}

kry_status kry_share_transpose(kry_device *device, const kry_share *share, kry_share **transpose)
{
    kry_status st = KRY_OK;
    transposer t = { .R = { .dev = device }, .share = share };
    kry_share *made = NULL;

    kryi_team_enter(device, "kry_share_transpose", NULL);
    TRY(GIVEN(transpose, device, share));
    TRY(run(&t.R, turn_task));
    TRY(make_share(&t.R, &made));
    made->symmetry = share->symmetry, made->given = share->given;
done:
    return hand_out(&t.R, st, made, transpose);
}

void kry_share_release(kry_share **share)
{
    kry_share *S = share ? *share : NULL;

    if (share) *share = NULL;
    if (!S) return;
    kryi_split *split = S->cut;
    if (split) kryi_split_release(&split);
    kry_device_release(&S->device);
    free(S->row_ptr);
    free(S->col);
    free(S->val);
    free(S);
}

/* Columns ascend, so that entries at one place are neighbours. */
static kry_status check_duplicates(const kry_share *S, const char *who)
{
    kry_status st = KRY_OK;

    for (int64_t i = 0; i < S->rows; i++)
        for (int64_t k = S->row_ptr[i] + 1; k < S->row_ptr[i + 1]; k++)
            CHECK(S->col[k - 1] != S->col[k], KRY_ERR_ARGUMENT,
                  "%s: two entries at row %lld, column %lld%s; they are added up only if "
                  "`duplicates` says so" COUNTED,
                  who, ROW(S->first + i), ROW(S->col[k]),
                  S->symmetry == KRY_MTX_GENERAL ? ""
                                                 : " (symmetric storage gives one triangle only)",
                  kryi_first_row);
done:
    return st;
}

kry_status kry_share_matrix(kry_device *device, kry_type type, const kry_share *share,
                            const kry_matrix_params *params, kry_op **op)
{
    static const char who[] = "kry_share_matrix";
    kry_status st = KRY_OK;
    kry_matrix_params p;
    const void *val;
    float *owned = NULL;

    kryi_team_enter(device, who, NULL);
    if (op) *op = NULL;
    TRY(GIVEN(op, device, share));
    CHECK(type == KRY_F32 || type == KRY_F64, KRY_ERR_ARGUMENT, "%s: %d is not a number type", who,
          (int)type);
    TAKE_PARAMS(params, p, who, "KRY_MATRIX");
    p.storage = KRY_GENERAL;
    if (share->symmetry == KRY_MTX_SYMMETRIC) p.traits |= KRY_SYMMETRIC;
    if (p.duplicates != KRY_SUM) TRY(check_duplicates(share, who));
    TRY(kryi_mtx_convert(who, type, NULL, share->val, share->row_ptr[share->rows], &val, &owned));
    TRY(kry_csr_create_rows(device, type, share->first, share->rows, share->row_ptr, share->col,
                            val, &p, op));
done:
    st = kryi_team_leave(device, st);
    if (st < 0) kry_op_release(op);
    free(owned);
    return st;
}

/* ---- vectors ----------------------------------------------------------------------------------- */

/* block := the columns of this rank's rows; places without an entry are 0. */
static kry_status fill_columns(const reader *R, int64_t first, int64_t rows, double **block)
{
    kry_status st = KRY_OK;
    const size_t count = (size_t)(rows * R->stretch.head.cols);
    unsigned char *seen = NULL;

    TRY(kryi_alloc(count, sizeof **block, block));
    TRY(kryi_alloc(count, 1, &seen));
    for (int64_t k = 0; k < R->count; k++) {
        const mtx_entry *e = &R->own[k];
        const int64_t at = e->col * rows + e->row - first;
        CHECK(!seen[at], KRY_ERR_ARGUMENT,
              "kry_mtx_read_vec: two entries at row %lld, column %lld" COUNTED, ROW(e->row),
              ROW(e->col), kryi_first_row);
        seen[at] = 1;
        (*block)[at] = e->val;
    }
done:
    free(seen);
    return st;
}

kry_status kry_mtx_read_vec(kry_device *dev, kry_type type, const char *path, kry_vec **vec)
{
    static const char who[] = "kry_mtx_read_vec";
    kry_status st = KRY_OK;
    reader R = { .dev = dev, .path = path };
    kry_vec *v = NULL;
    double *block = NULL;
    float *owned = NULL;
    const void *val;
    int64_t first;

    kryi_team_enter(dev, who, NULL);
    if (vec) *vec = NULL;
    TRY(GIVEN(vec, dev, path));
    CHECK(type == KRY_F32 || type == KRY_F64, KRY_ERR_ARGUMENT, "%s: %d is not a number type", who,
          (int)type);
    TRY(run(&R, read_task));
    const kry_mtx *head = &R.stretch.head;
    CHECK(head->symmetry == KRY_MTX_GENERAL, KRY_ERR_ARGUMENT,
          "%s: the file holds half of a symmetric matrix, not a vector", who);
    CHECK(head->cols == 0 || head->rows <= INT64_MAX / 8 / head->cols, KRY_ERR_MEMORY,
          "%s: a dense block of %lld by %lld", who, (long long)head->rows, (long long)head->cols);
    TRY(kry_vec_create(dev, type, head->rows, head->cols, &v));
    TRY(find_cut(&R));
    TRY(run(&R, send_task));
    const int64_t rows = kry_vec_rows_here(v, &first);
    TRY(fill_columns(&R, first, rows, &block));
    if (kry_team_is_ranks(dev)) TRY(kryi_share_order(v, sizeof *block, false, block));
    TRY(kryi_mtx_convert(who, type, NULL, block, rows * head->cols, &val, &owned));
    TRY(kry_vec_write(v, val));
done:
    st = kryi_team_leave(dev, st);
    if (st < 0) kry_vec_release(&v);
    if (vec) *vec = v;
    free(owned);
    free(block);
    reading_release(&R);
    return st;
}
