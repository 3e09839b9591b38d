/* matrix_parts.c - stored matrices on a team: each part's rows, in a format of its own. */
#include "matrix/matrix_parts.h"
#include "matrix/coupled.h"
#include "matrix/extended.h"
#include "operator/op_parts.h"
#include "sparse/partition.h"
#include <stdlib.h>
#include <string.h>

/* Where a part's numbers stand in the whole matrix. */
typedef struct piece {
    int64_t own_nnz;
    int64_t *own; /* own_nnz */
    int64_t far_nnz;
    int64_t *far; /* far_nnz */
    int64_t coupled_nnz;
    int64_t *coupled_own; /* coupled_nnz: of own entries once more, in coupled rows */
    int64_t *row_ptr;     /* rows + 1, of own entries; in flux form, for what rows add up to */
} piece;

typedef struct whole {
    kry_host_csr host; /* of the matrix; columns and row pointers only until it is made */
    kry_matrix_params params;
    kry_split *split;      /* retained */
    struct kry_team *team; /* borrowed */
    int32_t *place;        /* of each row, NULL: its number */
    piece *piece;          /* split->members */
} whole;

static void whole_release(void *self)
{
    whole *W = self;
    if (!W) return;
    for (int r = 0; W->piece && r < W->split->members; r++) {
        free(W->piece[r].own);
        free(W->piece[r].far);
        free(W->piece[r].coupled_own);
        free(W->piece[r].row_ptr);
    }
    free(W->piece);
    free(W->place);
    kry_host_csr_release(&W->host);
    kry_split_release(&W->split);
    free(W);
}

static int64_t place_of(const whole *W, int32_t row) { return W->place ? W->place[row] : row; }
static int64_t row_at(const whole *W, int64_t place)
{
    return W->split->row ? W->split->row[place] : place;
}

/* ---- one part's rows ------------------------------------------------------------------------- */

typedef struct cut {
    const whole *W;
    piece *piece;
    int rank;
    int64_t first, rows;
    int64_t *row_ptr; /* rows + 1, of own entries */
    int32_t *col;
    void *val;
    kry_far_entries far;
    int64_t *wanted; /* places in other parts, ascending, each once */
    int64_t wants;
} cut;

static void cut_release(cut *c)
{
    free(c->row_ptr);
    free(c->col);
    free(c->val);
    kry_far_entries_release(&c->far);
    free(c->wanted);
}

static bool is_own(const cut *c, int64_t place)
{
    return place >= c->first && place < c->first + c->rows;
}

static int compare_places(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* How many entries of each kind. */
static void count_entries(cut *c)
{
    const kry_host_csr *H = &c->W->host;

    for (int64_t i = 0; i < c->rows; i++) {
        int64_t row = row_at(c->W, c->first + i), own = 0;
        for (int64_t k = H->row_ptr[row]; k < H->row_ptr[row + 1]; k++)
            own += is_own(c, place_of(c->W, H->col[k]));
        int64_t all = H->row_ptr[row + 1] - H->row_ptr[row];
        c->piece->own_nnz += own;
        c->piece->far_nnz += all - own;
        if (own == all) continue;
        c->far.rows++;
        c->piece->coupled_nnz += own;
    }
    c->far.nnz = c->piece->far_nnz;
}

/* The residual of single numbers is summed in double, and so cannot be made of two rounded pieces. */
static bool needs_own_rows(const whole *W)
{
    return W->host.type == KRY_F32 && W->team->part[0]->info.fp64;
}

static kry_status allocate(cut *c)
{
    kry_status st = KRY_OK;
    piece *p = c->piece;
    size_t size = kry_type_size(c->W->host.type), rows = (size_t)c->far.rows;
    size_t own = (size_t)p->own_nnz, far = (size_t)p->far_nnz, again = (size_t)p->coupled_nnz;

    TRY(kry_alloc((size_t)c->rows + 1, sizeof *c->row_ptr, &c->row_ptr));
    TRY(kry_alloc(own, sizeof *c->col, &c->col));
    TRY(kry_alloc(own, size, &c->val));
    TRY(kry_alloc(own, sizeof *p->own, &p->own));
    TRY(kry_alloc(rows, sizeof *c->far.row, &c->far.row));
    TRY(kry_alloc(rows + 1, sizeof *c->far.begin, &c->far.begin));
    TRY(kry_alloc(far, sizeof *c->far.col, &c->far.col));
    TRY(kry_alloc(far, size, &c->far.val));
    TRY(kry_alloc(far, sizeof *p->far, &p->far));
    TRY(kry_alloc(far, sizeof *c->wanted, &c->wanted));
    if (!needs_own_rows(c->W)) return KRY_OK;
    TRY(kry_alloc(rows + 1, sizeof *c->far.own_begin, &c->far.own_begin));
    TRY(kry_alloc(again, sizeof *c->far.own_col, &c->far.own_col));
    TRY(kry_alloc(again, size, &c->far.own_val));
    TRY(kry_alloc(again, sizeof *p->coupled_own, &p->coupled_own));
done:
    return st;
}

/* Numbers of the whole matrix to where they stand here. */
static void take_numbers(const whole *W, const int64_t *from, int64_t count, void *to)
{
    size_t size = kry_type_size(W->host.type);
    const char *val = W->host.val;
    for (int64_t k = 0; k < count; k++)
        memcpy((char *)to + (size_t)k * size, val + (size_t)from[k] * size, size);
}

/* The places that are wanted, each once. */
static void collect_wanted(cut *c)
{
    const kry_host_csr *H = &c->W->host;
    int64_t count = 0, kept = 0;

    for (int64_t i = 0; i < c->rows; i++) {
        int64_t row = row_at(c->W, c->first + i);
        for (int64_t k = H->row_ptr[row]; k < H->row_ptr[row + 1]; k++) {
            int64_t place = place_of(c->W, H->col[k]);
            if (!is_own(c, place)) c->wanted[count++] = place;
        }
    }
    qsort(c->wanted, (size_t)count, sizeof *c->wanted, compare_places);
    for (int64_t i = 0; i < count; i++)
        if (i == 0 || c->wanted[i] != c->wanted[i - 1]) c->wanted[kept++] = c->wanted[i];
    c->wants = kept;
}

static int32_t halo_place(const cut *c, int64_t place)
{
    const int64_t *at = bsearch(&place, c->wanted, (size_t)c->wants, sizeof place, compare_places);
    return (int32_t)(at - c->wanted);
}

static void sort_entries(cut *c)
{
    const kry_host_csr *H = &c->W->host;
    piece *p = c->piece;
    int64_t own = 0, far = 0, again = 0, coupled = 0;

    for (int64_t i = 0; i < c->rows; i++) {
        int64_t row = row_at(c->W, c->first + i), far_before = far, own_before = own;
        for (int64_t k = H->row_ptr[row]; k < H->row_ptr[row + 1]; k++) {
            int64_t place = place_of(c->W, H->col[k]);
            if (is_own(c, place))
                c->col[own] = (int32_t)(place - c->first), p->own[own++] = k;
            else
                c->far.col[far] = halo_place(c, place), p->far[far++] = k;
        }
        c->row_ptr[i + 1] = own;
        if (far == far_before) continue;
        c->far.row[coupled] = (int32_t)i;
        c->far.begin[coupled + 1] = (int32_t)far;
        for (int64_t k = own_before; c->far.own_begin && k < own; k++)
            c->far.own_col[again] = c->col[k], p->coupled_own[again++] = p->own[k];
        if (c->far.own_begin) c->far.own_begin[coupled + 1] = (int32_t)again;
        coupled++;
    }
    take_numbers(c->W, p->own, own, c->val);
    take_numbers(c->W, p->far, far, c->far.val);
    if (c->far.own_begin) take_numbers(c->W, p->coupled_own, again, c->far.own_val);
}

/* The halo that brings the wanted places, and their rows at their owners. Collective. */
static kry_status make_halo(const cut *c, kry_device *dev, kry_halo **halo)
{
    kry_status st = KRY_OK;
    const kry_split *s = c->W->split;
    kry_link *want = NULL;
    int32_t *row = NULL;
    int links = 0, owner = 0;

    TRY(kry_alloc((size_t)s->members, sizeof *want, &want));
    TRY(kry_alloc((size_t)c->wants, sizeof *row, &row));
    for (int64_t i = 0; i < c->wants; i++) {
        while (c->wanted[i] >= s->first[owner + 1]) owner++;
        if (links == 0 || want[links - 1].rank != owner) want[links++] = (kry_link){ owner, i, 0 };
        want[links - 1].count++;
        row[i] = (int32_t)(c->wanted[i] - s->first[owner]);
    }
    TRY(kry_halo_create(dev, c->W->host.type, want, links, row, halo));
done:
    free(row);
    free(want);
    return st;
}

/* The part's own columns as a matrix: no longer singular where couplings are missing. In flux form its
 * rows add up to 0 all the same, for what they add up to is asked of the whole ones. */
static kry_status make_own(const cut *c, kry_device *dev, kry_op **own)
{
    kry_status st = KRY_OK;
    kry_matrix_params params = c->W->params;
    unsigned traits = params.traits;

    params.storage = KRY_GENERAL;
    params.duplicates = KRY_REFUSE;
    if ((traits & KRY_SINGULAR) && c->W->split->members > 1)
        traits = (traits & ~(unsigned)KRY_SINGULAR) | KRY_POSITIVE;
    if (params.form != KRY_FLUX) params.traits = traits;
    TRY(kry_csr_create(dev, c->W->host.type, c->rows, c->rows, c->row_ptr, c->col, c->val, &params,
                       own));
    (*own)->shape.traits = traits;
done:
    return st;
}

/* ---- all of its rows' entries in one matrix, for reproducible sums --------------------------------- */

static kry_wide_columns place_columns(const cut *c)
{
    enum { ALIGNED = 8 };
    kry_wide_columns w = { .place = c->wanted };

    while (w.below < c->wants && c->wanted[w.below] < c->first) w.below++;
    w.own_at = (w.below + ALIGNED - 1) / ALIGNED * ALIGNED;
    return w;
}

static int32_t wide_column(const cut *c, const kry_wide_columns *w, int64_t place)
{
    if (is_own(c, place)) return (int32_t)(w->own_at + place - c->first);
    int64_t from_own = halo_place(c, place) - w->below;
    return (int32_t)(w->own_at + from_own + (from_own < 0 ? 0 : c->rows));
}

/* Rows of a block lie together: what is here of them is a part of the host's arrays. */
static void cut_wide_rows(cut *c, const kry_wide_columns *w, int64_t *entry)
{
    const kry_host_csr *H = &c->W->host;
    int64_t begin = H->row_ptr[c->first];

    for (int64_t i = 0; i < c->rows; i++) {
        entry[i] = -1;
        for (int64_t k = H->row_ptr[c->first + i]; k < H->row_ptr[c->first + i + 1]; k++) {
            c->col[k - begin] = wide_column(c, w, H->col[k]);
            c->piece->own[k - begin] = k;
            if (H->col[k] == c->first + i) entry[i] = k - begin;
        }
        c->row_ptr[i + 1] = H->row_ptr[c->first + i + 1] - begin;
    }
    take_numbers(c->W, c->piece->own, c->piece->own_nnz, c->val);
}

static kry_status make_wide(const cut *c, const kry_wide_columns *w, kry_device *dev, kry_op **wide)
{
    int64_t above = c->wants - w->below;
    kry_matrix_params params = c->W->params;

    params.storage = KRY_GENERAL;
    params.duplicates = KRY_REFUSE;
    params.traits = 0;
    if (params.format == KRY_FORMAT_AUTO) params.format = KRY_FORMAT_SELL;
    return kry_csr_create(dev, c->W->host.type, c->rows, w->own_at + c->rows + above, c->row_ptr,
                          c->col, c->val, &params, wide);
}

static kry_status make_reproducible_part(cut *c, kry_device *dev, kry_op **local)
{
    kry_status st = KRY_OK;
    piece *p = c->piece;
    int64_t *entry = NULL;
    kry_op *wide = NULL;
    kry_halo *halo = NULL;

    p->own_nnz += p->far_nnz; /* no piece is summed apart */
    TRY(kry_alloc((size_t)p->far_nnz, sizeof *c->wanted, &c->wanted));
    collect_wanted(c);
    p->far_nnz = p->coupled_nnz = 0;
    const kry_wide_columns w = place_columns(c);
    TRY(kry_alloc((size_t)c->rows + 1, sizeof *c->row_ptr, &c->row_ptr));
    TRY(kry_alloc((size_t)p->own_nnz, sizeof *c->col, &c->col));
    TRY(kry_alloc((size_t)p->own_nnz, kry_type_size(c->W->host.type), &c->val));
    TRY(kry_alloc((size_t)p->own_nnz, sizeof *p->own, &p->own));
    TRY(kry_alloc((size_t)c->rows, sizeof *entry, &entry));
    cut_wide_rows(c, &w, entry);
    TRY(make_wide(c, &w, dev, &wide));
    if (c->W->split->members > 1) TRY(make_halo(c, dev, &halo));
    TRY(kry_extended_create(wide, &halo, &w, entry, c->val, c->W->params.traits, local));
done:
    kry_halo_release(&halo);
    kry_op_release(&wide);
    free(entry);
    return st;
}

/* ---- one part ------------------------------------------------------------------------------------- */

static kry_status make_part(const void *user, int rank, kry_op **local)
{
    const whole *W = user;
    kry_status st = KRY_OK;
    kry_device *dev = W->team->part[rank];
    cut c = { .W = W,
              .piece = &W->piece[rank],
              .rank = rank,
              .first = W->split->first[rank],
              .rows = kry_split_rows(W->split, rank) };
    kry_op *own = NULL;
    kry_halo *halo = NULL;

    count_entries(&c);
    if (W->team->reproducible) {
        TRY(make_reproducible_part(&c, dev, local));
        goto done;
    }
    TRY(allocate(&c));
    collect_wanted(&c);
    sort_entries(&c);
    TRY(make_own(&c, dev, &own));
    if (W->split->members == 1) { /* all of it */
        *local = own;
        own = NULL;
        goto done;
    }
    TRY(make_halo(&c, dev, &halo));
    c.far.place = c.wanted;
    TRY(kry_coupled_create(own, &halo, &c.far, W->params.traits, local));
    TRY(kry_coupled_balance(*local, c.row_ptr, c.val, c.far.val));
    if (W->params.form == KRY_FLUX) c.piece->row_ptr = c.row_ptr, c.row_ptr = NULL;
done:
    if (st < 0) kry_op_release(local);
    kry_halo_release(&halo);
    kry_op_release(&own);
    cut_release(&c);
    return st;
}

/* ---- new values ------------------------------------------------------------------------------ */

static kry_status prepare(void *self, const void *values)
{
    whole *W = self;
    if (!values) return KRY_OK; /* parts take the numbers that they have */
    return kry_host_csr_set_values(&W->host, "kry_op_update", values);
}

static kry_status update_part(void *self, int rank, kry_op *local)
{
    const whole *W = self;
    const piece *p = &W->piece[rank];
    kry_status st = KRY_OK;
    size_t size = kry_type_size(W->host.type);
    void *val = NULL, *far = NULL, *again = NULL;

    TRY(kry_alloc((size_t)p->own_nnz, size, &val));
    TRY(kry_alloc((size_t)p->far_nnz, size, &far));
    TRY(kry_alloc((size_t)p->coupled_nnz, size, &again));
    take_numbers(W, p->own, p->own_nnz, val);
    take_numbers(W, p->far, p->far_nnz, far);
    if (p->coupled_own) take_numbers(W, p->coupled_own, p->coupled_nnz, again);
    TRY(kry_op_update((kry_op *)kry_op_own(local), val));
    TRY(kry_coupled_store(local, far, again));
    if (p->row_ptr) TRY(kry_coupled_balance(local, p->row_ptr, val, far));
done:
    free(again);
    free(far);
    free(val);
    return st;
}

/* ---- the whole ---------------------------------------------------------------------------------- */

static kry_status find_places(whole *W)
{
    kry_status st = KRY_OK;

    if (!W->split->row) return KRY_OK;
    TRY(kry_alloc((size_t)W->split->n, sizeof *W->place, &W->place));
    for (int64_t i = 0; i < W->split->n; i++) W->place[W->split->row[i]] = (int32_t)i;
done:
    return st;
}

/* Each row by itself, from its first entry to its last one. */
static bool sums_alike(kry_format format)
{
    return format == KRY_FORMAT_AUTO || format == KRY_FORMAT_SELL || format == KRY_FORMAT_ELL;
}

kry_status kry_matrix_in_parts(kry_device *team, kry_host_csr *host,
                               const kry_matrix_params *params, kry_op **op)
{
    static const char who[] = "kry_csr_create";
    kry_status st = KRY_OK;
    whole *W = NULL;

    *op = NULL;
    CHECK(host->rows == host->cols, KRY_ERR_UNSUPPORTED,
          "%s: %lld-by-%lld on several devices; only square matrices can be split", who,
          (long long)host->rows, (long long)host->cols);
    TRY(kry_alloc(1, sizeof *W, &W));
    W->team = team->team;
    W->params = *params;
    TRY(kry_split_matrix(W->team, who, host, &W->split));
    CHECK(!W->team->reproducible || sums_alike(params->format), KRY_ERR_UNSUPPORTED,
          "%s: in format %s the sum of a row depends on where it lies, which is not reproducible; "
          "use "
          "sell or ell",
          who, kry_format_name(params->format));
    CHECK(params->form == KRY_ASSEMBLED || !W->team->reproducible, KRY_ERR_UNSUPPORTED,
          "%s: no flux form with reproducible sums, whose rows are one matrix that is not square",
          who);
    TRY(kry_alloc((size_t)W->split->members, sizeof *W->piece, &W->piece));
    TRY(find_places(W));
    W->host = *host;
    memset(host, 0, sizeof *host);
    const kry_parts_extra extra = {
        .self = W, .prepare = prepare, .update = update_part, .destroy = whole_release
    };
    TRY(kry_parts_create(team, W->split, &extra, make_part, W, op));
    free(W->host.row_ptr), W->host.row_ptr = NULL; /* the pattern has done its work */
    free(W->host.col), W->host.col = NULL;
    W = NULL;
done:
    whole_release(W);
    return st;
}
