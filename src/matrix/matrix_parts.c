/* matrix_parts.c - stored matrices on a team: each part's rows, in a format of its own. */
#include "matrix/matrix_parts.h"
#include "matrix/matrix.h"
#include "operator/op_parts.h"
#include <stdlib.h>
#include <string.h>

/* Which numbers of the whole matrix are a part's own and far ones. Ranks do not keep this: see kryi_rank_numbers. */
typedef struct matrix_piece {
    int64_t own_nnz, far_nnz;
    int64_t *own, *far;
} matrix_piece;

typedef struct matrix_whole {
    kryi_csr
        host; /* all rows and columns; or those of one rank, with kryi_rank_rows' columns, until its part is made */
    kryi_rank_rows rank;
    kryi_entry_map map;
    int64_t nnz;
    kry_matrix_params params;
    kryi_split *split;      /* retained */
    struct kryi_team *team; /* borrowed */
    int32_t *place;         /* of each row, NULL: its number */
    matrix_piece *piece;    /* split->members */
} matrix_whole;

static bool is_of_rank(const matrix_whole *W) { return W->rank.split != NULL; }

/* ---- the cut of a matrix --------------------------------------------------------------------- */

/* One part's rows: which columns are its own, which it wants of other parts, and its operator. */

typedef struct cut {
    matrix_whole *W;
    matrix_piece *piece;
    int64_t rows;
    int32_t *number; /* columns of the whole: their numbers in the matrix at hand, -1: none */
    kryi_dist part;  /* far has its columns before it has entries */
} cut;

/* The column of the host's matrix that an own place has; or that of wanted place i. */
static int64_t own_column(const cut *c, int64_t place)
{
    if (is_of_rank(c->W)) return c->W->rank.below + place - c->part.first;
    return kryi_split_row(c->W->split, place);
}
static int64_t far_column(const cut *c, int64_t i)
{
    if (is_of_rank(c->W)) return i < c->W->rank.below ? i : c->rows + i;
    return kryi_split_row(c->W->split, c->part.place[i]);
}

/* List the wanted places; number[column] is then the column's place in this list. */
static kry_status find_wanted(cut *c)
{
    kry_status st = KRY_OK;
    matrix_whole *W = c->W;
    const kryi_csr *H = &W->host;
    int64_t end = c->part.first + c->rows;

    TRY(kryi_alloc((size_t)H->cols, sizeof *c->number, &c->number));
    for (int64_t j = 0; j < H->cols; j++) c->number[j] = -1;
    if (is_of_rank(W)) { /* which has found them */
        c->part.far.cols = W->rank.wants;
        c->part.place = W->rank.wanted, W->rank.wanted = NULL;
        for (int64_t i = 0; i < W->rank.wants; i++) c->number[far_column(c, i)] = (int32_t)i;
        return KRY_OK;
    }
    for (int64_t p = c->part.first; p < end; p++) {
        int64_t row = kryi_split_row(W->split, p);
        for (int64_t k = H->row_ptr[row]; k < H->row_ptr[row + 1]; k++) {
            int32_t *number = &c->number[H->col[k]];
            int64_t place = W->place ? W->place[H->col[k]] : H->col[k];
            if (*number >= 0 || (place >= c->part.first && place < end)) continue;
            *number = 0;
            c->part.far.cols++;
        }
    }
    TRY(kryi_alloc((size_t)c->part.far.cols, sizeof *c->part.place, &c->part.place));
    c->part.far.cols = 0;
    for (int64_t p = 0; p < H->cols; p++) {
        int32_t *number = &c->number[kryi_split_row(W->split, p)];
        if (*number < 0) continue;
        *number = (int32_t)c->part.far.cols;
        c->part.place[c->part.far.cols++] = p;
    }
done:
    return st;
}

/* Number the own columns from `first` on. */
static void number_own(const cut *c, int64_t first)
{
    for (int64_t p = c->part.first; p < c->part.first + c->rows; p++)
        c->number[own_column(c, p)] = (int32_t)(first + p - c->part.first);
}

static kry_status take_columns(const cut *c, int64_t cols, kryi_csr *part, int64_t **from)
{
    const bool rank = is_of_rank(c->W);
    const kryi_csr_cut cut = { .rows = c->rows,
                               .first = rank ? 0 : c->part.first,
                               .row = c->W->split->row,
                               .cols = cols,
                               .place = c->number };
    return kryi_csr_part(&c->W->host, &cut, part, rank ? NULL : from);
}

/* The last ones that are taken: a rank's host, which is as large, becomes the part. */
static kry_status take_own(cut *c, int64_t cols)
{
    kry_status st = KRY_OK;

    if (is_of_rank(c->W)) {
        c->part.own = c->W->host;
        c->W->host = (kryi_csr){ .type = c->part.own.type };
        kryi_csr_renumber(&c->part.own, cols, c->number);
    } else {
        TRY(take_columns(c, cols, &c->part.own, &c->piece->own));
    }
    free(c->number), c->number = NULL;
done:
    return st;
}

/* The matrix of c->part.own, whose arrays it takes, unless its numbers are needed after that or its columns do not ascend. */
static kry_status create(cut *c, kry_device *dev, kry_matrix_params params, bool needed,
                         kry_op **op)
{
    params.storage = KRY_GENERAL;
    params.duplicates = KRY_REFUSE;
    if (needed || kryi_split_permutes(c->W->split))
        return kryi_matrix_create(dev, &c->part.own, &params, op);
    return kryi_matrix_take(dev, &c->part.own, &params, op);
}

/* Make a matrix of the own entries. Without the far ones it is no longer singular; but in flux form its
 * rows are still those of the whole, which add up to 0. */
static kry_status make_own(cut *c, kry_device *dev, bool needed, kry_op **own)
{
    kry_status st = KRY_OK;
    kry_matrix_params params = c->W->params;
    unsigned traits = params.traits;

    if ((traits & KRY_SINGULAR) && c->W->split->members > 1)
        traits = (traits & ~(unsigned)KRY_SINGULAR) | KRY_POSITIVE;
    if (params.form != KRY_FLUX) params.traits = traits;
    TRY(create(c, dev, params, needed, own));
    (*own)->shape.traits = traits;
done:
    return st;
}

static kry_status make_coupled(cut *c, kry_device *dev, kry_op **local)
{
    kry_status st = KRY_OK;
    matrix_piece *p = c->piece;
    kry_op *own = NULL;
    kryi_coupled A = { .traits = c->W->params.traits };
    const bool exact = c->W->host.type == KRY_F32 && dev->info.fp64;

    TRY(take_columns(c, c->part.far.cols, &c->part.far, &p->far));
    for (int64_t i = 0; i < c->part.far.cols; i++) c->number[far_column(c, i)] = -1;
    number_own(c, 0);
    TRY(take_own(c, c->rows));
    p->own_nnz = kryi_csr_nnz(&c->part.own), p->far_nnz = kryi_csr_nnz(&c->part.far);
    TRY(make_own(c, dev, exact || c->W->params.form == KRY_FLUX, &own));
    if (c->W->split->members == 1) { /* all of it */
        *local = own, own = NULL;
        goto done;
    }
    TRY(kryi_dist_connect(dev, c->W->host.type, c->W->split->first, &c->part));
    A.own = own, A.part = c->part, A.part.own = (kryi_csr){ 0 };
    c->part = (kryi_dist){ .own = c->part.own };
    TRY(kryi_coupled_create(&A, exact ? &kryi_matrix_of(own)->sorted : NULL, local));
    TRY(kryi_coupled_store(*local, c->part.own.val, kryi_coupled_of(*local)->part.far.val));
done:
    kry_op_release(&own);
    return st;
}

/* ---- all of its rows' entries in one matrix, for reproducible sums --------------------------- */

/* Number all columns in the order of the whole: those below, the own ones, those above. */
static void number_columns(const cut *c, kryi_extended *A)
{
    enum { ALIGNED = 8 };

    while (A->below < c->part.far.cols && c->part.place[A->below] < c->part.first) A->below++;
    A->own_at = (A->below + ALIGNED - 1) / ALIGNED * ALIGNED;
    number_own(c, A->own_at);
    for (int64_t i = 0; i < c->part.far.cols; i++) {
        int64_t from_own = i - A->below + (i < A->below ? 0 : c->rows);
        c->number[far_column(c, i)] = (int32_t)(A->own_at + from_own);
    }
}

static kry_status make_extended(cut *c, kry_device *dev, kry_op **local)
{
    kry_status st = KRY_OK;
    kry_matrix_params params = c->W->params;
    kryi_extended A = { .traits = params.traits };

    number_columns(c, &A);
    TRY(take_own(c, A.own_at + c->rows + c->part.far.cols - A.below));
    c->piece->own_nnz = kryi_csr_nnz(&c->part.own);
    params.traits = 0;
    if (params.format == KRY_FORMAT_AUTO) params.format = KRY_FORMAT_SELL;
    TRY(create(c, dev, params, false, &A.wide));
    if (c->W->split->members > 1)
        TRY(kryi_dist_connect(dev, c->W->host.type, c->W->split->first, &c->part));
    A.halo = c->part.halo, A.place = c->part.place;
    c->part.halo = NULL, c->part.place = NULL;
    TRY(kryi_extended_create(&A, local));
done:
    kry_op_release(&A.wide);
    return st;
}

/* user: a matrix_whole. The part of a rank takes its host's arrays. */
static kry_status cut_matrix(const void *user, int rank, kry_op **local)
{
    matrix_whole *W = (matrix_whole *)user; /* only a rank, which has no other part, changes it */
    kry_status st = KRY_OK;
    kry_device *dev = W->team->part[rank];
    cut c = { .W = W,
              .piece = &W->piece[rank],
              .part.first = W->split->first[rank],
              .rows = kryi_split_rows(W->split, rank) };

    TRY(find_wanted(&c));
    TRY((W->team->reproducible ? make_extended : make_coupled)(&c, dev, local));
done:
    if (st < 0) kry_op_release(local);
    free(c.number);
    kryi_dist_release(&c.part);
    return st;
}

/* ---- the operator ---------------------------------------------------------------------------- */

static void whole_release(void *self)
{
    matrix_whole *W = self;
    if (!W) return;
    for (int r = 0; W->piece && r < W->split->members; r++) {
        free(W->piece[r].own);
        free(W->piece[r].far);
    }
    free(W->piece);
    free(W->place);
    free(W->rank.wanted);
    kryi_csr_release(&W->host);
    kryi_entry_map_release(&W->map);
    kryi_split_release(&W->split);
    free(W);
}

/* A rank needs them no more: its part has them. */
static void forget_host(matrix_whole *W)
{
    const kry_type type = W->host.type;

    if (is_of_rank(W)) kryi_csr_release(&W->host);
    W->host.type = type;
}

/* ---- new values ------------------------------------------------------------------------------ */

/* KRY_VALUES_SINGLE: round all entries, for a part's own matrix rounds its own ones only. */
static kry_status round_values(const char *who, matrix_whole *W)
{
    kry_status st = KRY_OK;
    double *val = W->host.val;

    if (W->host.type != KRY_F64 || W->params.values != KRY_VALUES_SINGLE) return KRY_OK;
    TRY(kryi_values_fit_single(who, W->nnz, val));
    for (int64_t k = 0; k < W->nnz; k++) val[k] = (float)val[k];
done:
    return st;
}

static kry_status prepare(void *self, const void *values)
{
    matrix_whole *W = self;
    kry_status st = KRY_OK;

    if (!values) { /* parts take the numbers that they have */
        forget_host(W);
        return KRY_OK;
    }
    if (!W->host.val) TRY(kryi_alloc((uint64_t)W->nnz, kry_type_size(W->host.type), &W->host.val));
    TRY(kryi_entries_renew("kry_op_update", &W->map, values, W->nnz, &W->host));
    TRY(round_values("kry_op_update", W));
done:
    return st;
}

/* Its numbers are in the order of its rows; that of all its entries, if no columns are far. */
static kry_status update_rank(matrix_whole *W, kry_op *local)
{
    kry_status st = KRY_OK;
    const kryi_coupled *A = kryi_coupled_of(local);
    kry_op *own = (kry_op *)kryi_op_own(local);
    void *own_val = NULL, *far_val = NULL;
    const void *given = W->host.val;

    if (A && given) {
        TRY(kryi_rank_numbers(&W->rank, &kryi_matrix_of(own)->sorted, &A->part.far, given, &own_val,
                              &far_val));
        given = own_val;
    }
    TRY(kry_op_update(own, given));
    if (given) TRY(kryi_coupled_store(local, given, far_val));
done:
    free(far_val);
    free(own_val);
    forget_host(W);
    return st;
}

static kry_status update_part(void *self, int rank, kry_op *local)
{
    matrix_whole *W = self;
    const matrix_piece *p = &W->piece[rank];
    kry_status st = KRY_OK;
    const kryi_csr *host = &W->host;
    void *own = NULL, *far = NULL;

    if (is_of_rank(W)) return update_rank(W, local);
    TRY(kryi_numbers_at(host->type, host->val, p->own, p->own_nnz, &own));
    TRY(kryi_numbers_at(host->type, host->val, p->far, p->far_nnz, &far));
    TRY(kry_op_update((kry_op *)kryi_op_own(local), own));
    TRY(kryi_coupled_store(local, own, far));
done:
    free(far);
    free(own);
    return st;
}

static kry_status inspect(void *self, kryi_finding *found)
{
    return kryi_matrix_inspect(&((const matrix_whole *)self)->host, found);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static kry_status find_places(matrix_whole *W)
{
    kry_status st = KRY_OK;

    if (!W->split->row) return KRY_OK;
    TRY(kryi_alloc((size_t)W->split->n, sizeof *W->place, &W->place));
    for (int64_t i = 0; i < W->split->n; i++) W->place[W->split->row[i]] = (int32_t)i;
done:
    return st;
}

static kry_status check(const struct kryi_team *team, const kryi_csr *host,
                        const kry_matrix_params *params, const kryi_rank_rows *rank)
{
    static const char who[] = "kry_csr_create";
    kry_status st = KRY_OK;
    kry_format f = params->format;

    CHECK(rank || !team->ranks, KRY_ERR_UNSUPPORTED,
          "%s: on ranks each brings its own rows: kry_csr_create_rows", who);
    CHECK(rank || host->rows == host->cols, KRY_ERR_UNSUPPORTED,
          "%s: %lld-by-%lld on several devices; only square matrices can be split", who,
          (long long)host->rows, (long long)host->cols);
    if (!team->reproducible) return KRY_OK;
    /* These sum each row by itself, from its first entry to its last one. */
    CHECK(f == KRY_FORMAT_AUTO || f == KRY_FORMAT_SELL || f == KRY_FORMAT_ELL, KRY_ERR_UNSUPPORTED,
          "%s: in format %s the sum of a row depends on where it lies, which is not reproducible; "
          "use sell or ell",
          who, kry_format_name(f));
    CHECK(params->form == KRY_ASSEMBLED, KRY_ERR_UNSUPPORTED,
          "%s: no flux form with reproducible sums, whose rows are one matrix that is not square",
          who);
done:
    return st;
}

kry_status kryi_matrix_in_parts(kry_device *team, kryi_csr *host, kryi_entry_map *map,
                                const kry_matrix_params *params, kryi_rank_rows *rank, kry_op **op)
{
    kry_status st = KRY_OK;
    matrix_whole *W = NULL;

    *op = NULL;
    TRY(check(team->team, host, params, rank));
    TRY(kryi_alloc(1, sizeof *W, &W));
    W->team = team->team;
    W->params = *params;
    W->nnz = kryi_csr_nnz(host);
    if (rank)
        W->split = kryi_split_retain(rank->split);
    else
        TRY(kryi_split_get(W->team, "kry_csr_create", host->rows, host, 1, &W->split));
    TRY(kryi_alloc((size_t)W->split->members, sizeof *W->piece, &W->piece));
    TRY(find_places(W));
    W->host = *host, *host = (kryi_csr){ 0 };
    W->map = *map, *map = (kryi_entry_map){ 0 };
    if (rank) W->rank = *rank, rank->wanted = NULL;
    TRY(round_values("kry_csr_create", W));
    const kryi_parts_extra extra = { .self = W,
                                     .prepare = prepare,
                                     .update = update_part,
                                     .inspect = inspect,
                                     .destroy = whole_release };
    TRY(kryi_parts_create(team, W->split, &extra, cut_matrix, W, op));
    forget_host(W);
    W = NULL;
done:
    whole_release(W);
    return st;
}

int kryi_matrix_block(const kry_op *op)
{
    const kry_op *one = kryi_op_first(op);
    const kryi_extended *wide = kryi_extended_of(one);
    const kryi_matrix *A = kryi_matrix_of(wide ? wide->wide : kryi_op_own(one));

    return A ? A->params.block : 0;
}

int kryi_matrix_node(const kry_op *A, const kryi_csr *rows)
{
    int block = kryi_matrix_block(A);

    return block ? block : kryi_csr_block(rows, rows->rows);
}
