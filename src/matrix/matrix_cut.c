/* matrix_cut.c - one part's rows of a matrix on a team: which columns are its own, which it wants of other parts, and
 * its operator. */
#include "matrix/matrix_cut.h"
#include "matrix/matrix.h"
#include <stdlib.h>
#include <string.h>

static int64_t place_of(const kry_matrix_whole *W, int32_t row)
{
    return W->place ? W->place[row] : row;
}

typedef struct cut {
    kry_matrix_whole *W;
    kry_matrix_piece *piece;
    int64_t first, rows; /* places */
    int32_t *number;     /* columns of the whole: their numbers in the matrix at hand, -1: none */
    int64_t *wanted;     /* places in other parts that the rows have entries for, ascending */
    int64_t wants;
    kry_sparse own, far;
} cut;

static void cut_release(cut *c)
{
    free(c->number);
    free(c->wanted);
    kry_sparse_release(&c->own);
    kry_sparse_release(&c->far);
}

/* The column of the host's matrix that an own place has; or that of wanted place i. */
static int64_t own_column(const cut *c, int64_t place)
{
    if (kry_whole_of_rank(c->W)) return c->W->rank.below + place - c->first;
    return kry_split_row(c->W->split, place);
}
static int64_t far_column(const cut *c, int64_t i)
{
    if (kry_whole_of_rank(c->W)) return i < c->W->rank.below ? i : c->rows + i;
    return kry_split_row(c->W->split, c->wanted[i]);
}

/* A rank has found them. */
static kry_status take_wanted(cut *c)
{
    kry_status st = kry_alloc((size_t)c->W->rank.wants, sizeof *c->wanted, &c->wanted);

    if (st < 0) return st;
    c->wants = c->W->rank.wants;
    if (c->wants) memcpy(c->wanted, c->W->rank.wanted, (size_t)c->wants * sizeof *c->wanted);
    for (int64_t i = 0; i < c->wants; i++) c->number[far_column(c, i)] = (int32_t)i;
    return KRY_OK;
}

/* List the wanted places; number[column] is then the column's place in this list. */
static kry_status find_wanted(cut *c)
{
    kry_status st = KRY_OK;
    const kry_matrix_whole *W = c->W;
    const kry_sparse *H = &W->host;
    int64_t end = c->first + c->rows;

    TRY(kry_alloc((size_t)H->cols, sizeof *c->number, &c->number));
    for (int64_t j = 0; j < H->cols; j++) c->number[j] = -1;
    if (kry_whole_of_rank(W)) return take_wanted(c);
    for (int64_t p = c->first; p < end; p++) {
        int64_t row = kry_split_row(W->split, p);
        for (int64_t k = H->row_ptr[row]; k < H->row_ptr[row + 1]; k++) {
            int32_t *number = &c->number[H->col[k]];
            int64_t place = place_of(W, H->col[k]);
            if (*number >= 0 || (place >= c->first && place < end)) continue;
            *number = 0;
            c->wants++;
        }
    }
    TRY(kry_alloc((size_t)c->wants, sizeof *c->wanted, &c->wanted));
    c->wants = 0;
    for (int64_t p = 0; p < H->cols; p++) {
        int32_t *number = &c->number[kry_split_row(W->split, p)];
        if (*number < 0) continue;
        *number = (int32_t)c->wants;
        c->wanted[c->wants++] = p;
    }
done:
    return st;
}

/* Number the own columns from `first` on. */
static void number_own(const cut *c, int64_t first)
{
    for (int64_t p = c->first; p < c->first + c->rows; p++)
        c->number[own_column(c, p)] = (int32_t)(first + p - c->first);
}

static kry_status take_columns(const cut *c, int64_t cols, kry_sparse *part, int64_t **from)
{
    const bool rank = kry_whole_of_rank(c->W);
    const kry_sparse_cut cut = { .rows = c->rows,
                                 .first = rank ? 0 : c->first,
                                 .row = c->W->split->row,
                                 .cols = cols,
                                 .place = c->number };
    return kry_sparse_part(&c->W->host, &cut, part, rank ? NULL : from);
}

/* The last ones that are taken: a rank's host, which is as large, becomes the part. */
static kry_status take_own(cut *c, int64_t cols)
{
    kry_status st = KRY_OK;

    if (kry_whole_of_rank(c->W)) {
        c->own = c->W->host;
        c->W->host = (kry_sparse){ .type = c->own.type };
        kry_sparse_renumber(&c->own, cols, c->number);
    } else {
        TRY(take_columns(c, cols, &c->own, &c->piece->own));
    }
    free(c->number), c->number = NULL;
done:
    return st;
}

/* Make the halo that brings the wanted numbers. Collective. */
static kry_status make_halo(const cut *c, kry_device *dev, kry_halo **halo)
{
    const kry_split *s = c->W->split;
    const kry_places want = { s->members, s->first, c->wants, c->wanted };
    return kry_halo_create_for(dev, c->W->host.type, &want, halo);
}

/* The matrix of c->own, whose arrays it takes, unless its numbers are needed after that or its columns do not ascend. */
static kry_status create(cut *c, kry_device *dev, kry_matrix_params params, bool needed,
                         kry_op **op)
{
    params.storage = KRY_GENERAL;
    params.duplicates = KRY_REFUSE;
    if (needed || kry_split_permutes(c->W->split))
        return kry_matrix_of_sparse(dev, &c->own, &params, op);
    return kry_matrix_take(dev, &c->own, &params, op);
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
    kry_matrix_piece *p = c->piece;
    kry_op *own = NULL;
    kry_coupled A = { .traits = c->W->params.traits };
    const bool exact = c->W->host.type == KRY_F32 && dev->info.fp64;

    TRY(take_columns(c, c->wants, &c->far, &p->far));
    for (int64_t i = 0; i < c->wants; i++) c->number[far_column(c, i)] = -1;
    number_own(c, 0);
    TRY(take_own(c, c->rows));
    p->own_nnz = kry_sparse_nnz(&c->own), p->far_nnz = kry_sparse_nnz(&c->far);
    TRY(make_own(c, dev, exact || c->W->params.form == KRY_FLUX, &own));
    if (c->W->split->members == 1) { /* all of it */
        *local = own, own = NULL;
        goto done;
    }
    TRY(make_halo(c, dev, &A.halo));
    A.own = own, A.far = c->far, c->far = (kry_sparse){ 0 };
    A.place = c->wanted, c->wanted = NULL;
    TRY(kry_coupled_create(&A, exact ? &kry_matrix_of(own)->sorted : NULL, local));
    TRY(kry_coupled_store(*local, c->own.val, kry_coupled_of(*local)->far.val));
done:
    kry_op_release(&own);
    return st;
}

/* ---- all of its rows' entries in one matrix, for reproducible sums --------------------------- */

/* Number all columns in the order of the whole: those below, the own ones, those above. */
static void number_columns(const cut *c, kry_extended *A)
{
    enum { ALIGNED = 8 };

    while (A->below < c->wants && c->wanted[A->below] < c->first) A->below++;
    A->own_at = (A->below + ALIGNED - 1) / ALIGNED * ALIGNED;
    number_own(c, A->own_at);
    for (int64_t i = 0; i < c->wants; i++) {
        int64_t from_own = i - A->below + (i < A->below ? 0 : c->rows);
        c->number[far_column(c, i)] = (int32_t)(A->own_at + from_own);
    }
}

static kry_status make_extended(cut *c, kry_device *dev, kry_op **local)
{
    kry_status st = KRY_OK;
    kry_matrix_params params = c->W->params;
    kry_extended A = { .traits = params.traits };

    number_columns(c, &A);
    TRY(take_own(c, A.own_at + c->rows + c->wants - A.below));
    c->piece->own_nnz = kry_sparse_nnz(&c->own);
    params.traits = 0;
    if (params.format == KRY_FORMAT_AUTO) params.format = KRY_FORMAT_SELL;
    TRY(create(c, dev, params, false, &A.wide));
    if (c->W->split->members > 1) TRY(make_halo(c, dev, &A.halo));
    A.place = c->wanted, c->wanted = NULL;
    TRY(kry_extended_create(&A, local));
done:
    kry_op_release(&A.wide);
    return st;
}

kry_status kry_matrix_cut(const void *user, int rank, kry_op **local)
{
    kry_matrix_whole *W =
        (kry_matrix_whole *)user; /* only a rank, which has no other part, changes it */
    kry_status st = KRY_OK;
    kry_device *dev = W->team->part[rank];
    cut c = { .W = W,
              .piece = &W->piece[rank],
              .first = W->split->first[rank],
              .rows = kry_split_rows(W->split, rank) };

    TRY(find_wanted(&c));
    TRY((W->team->reproducible ? make_extended : make_coupled)(&c, dev, local));
done:
    if (st < 0) kry_op_release(local);
    cut_release(&c);
    return st;
}
