/* dist.c - a part's rows of a sparse matrix: columns of other parts, rows that other parts send, products. */
#include "operator/dist.h"
#include <stdlib.h>
#include <string.h>

void kryi_dist_release(kryi_dist *M)
{
    kryi_halo_release(&M->halo);
    free(M->place);
    kryi_csr_release(&M->far);
    kryi_csr_release(&M->own);
    *M = (kryi_dist){ 0 };
}

kry_status kryi_dist_connect(kry_device *dev, kry_type type, const int64_t *first, kryi_dist *M)
{
    return kryi_halo_create_for(dev, type, &(kryi_places){ first, M->far.cols, M->place },
                                &M->halo);
}

/* ---- columns of other parts -------------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

int64_t kryi_places_sort(int64_t *place, int64_t count)
{
    int64_t kept = 0;

    if (count) qsort(place, (size_t)count, sizeof *place, ascending);
    for (int64_t i = 0; i < count; i++)
        if (i == 0 || place[i] != place[i - 1]) place[kept++] = place[i];
    return kept;
}

int64_t kryi_places_find(const int64_t *place, int64_t count, int64_t wanted)
{
    const int64_t *at = bsearch(&wanted, place, (size_t)count, sizeof *place, ascending);
    return at - place;
}

/* D := M, whose columns are `own` ones, from place `first` on, and behind them those of `place`, which D keeps if they have
 * entries. */
static kry_status split(const kryi_csr *M, int64_t first, int64_t own, const int64_t *place,
                        kryi_dist *D)
{
    kry_status st = KRY_OK;
    kryi_csr_cut cut = { .rows = M->rows, .cols = own };
    int32_t *number = NULL;
    int64_t count = 0;

    *D = (kryi_dist){ .first = first };
    TRY(kryi_alloc((size_t)M->cols, sizeof *number, &number));
    TRY(kryi_alloc((size_t)(M->cols - own), sizeof *D->place, &D->place));
    cut.place = number;
    for (int64_t j = 0; j < M->cols; j++) number[j] = j < own ? (int32_t)j : -1;
    TRY(kryi_csr_part(M, &cut, &D->own, NULL));
    for (int64_t j = 0; j < M->cols; j++) number[j] = -1;
    for (int64_t e = 0; e < kryi_csr_nnz(M); e++)
        if (M->col[e] >= own) number[M->col[e]] = 0;
    for (int64_t j = own; j < M->cols; j++) {
        if (number[j] < 0) continue;
        number[j] = (int32_t)count;
        D->place[count++] = place[j - own];
    }
    cut.cols = count;
    TRY(kryi_csr_part(M, &cut, &D->far, NULL));
done:
    free(number);
    if (st < 0) kryi_dist_release(D);
    return st;
}

/* ---- rows of other parts ------------------------------------------------------------------------ */

typedef struct entry {
    int64_t place;
    double val;
} entry;

/* The rows that go out. Neighbours may read them until the run ends, also if this part fails. */
typedef struct parcels {
    kryi_deferred deferred;          /* first */
    int64_t *length;                 /* of each row */
    entry *entry;                    /* of all rows, one after the other */
    kryi_message *lengths, *entries; /* for each link */
} parcels;

static void parcels_destroy(kryi_deferred *deferred)
{
    parcels *p = (parcels *)deferred;
    free(p->entries);
    free(p->lengths);
    free(p->entry);
    free(p->length);
    free(p);
}

/* Copy row i of B. Returns where the next one goes. */
static entry *pack_row(const kryi_dist *B, int64_t i, entry *to)
{
    const double *own = B->own.val, *far = B->far.val;

    for (int64_t e = B->own.row_ptr[i]; e < B->own.row_ptr[i + 1]; e++)
        *to++ = (entry){ B->first + B->own.col[e], own[e] };
    for (int64_t e = B->far.row_ptr[i]; e < B->far.row_ptr[i + 1]; e++)
        *to++ = (entry){ B->place[B->far.col[e]], far[e] };
    return to;
}

/* Copy the rows that neighbours want. row: which those are, `rows` of all links. */
static kry_status pack(const kryi_halo_links *l, const int32_t *row, int64_t rows,
                       const kryi_dist *B, parcels *p)
{
    kry_status st = KRY_OK;
    int64_t total = 0;

    TRY(kryi_alloc((size_t)rows, sizeof *p->length, &p->length));
    for (int64_t i = 0; i < rows; i++)
        total += p->length[i] = kryi_row_length(&B->own, row[i]) + kryi_row_length(&B->far, row[i]);
    TRY(kryi_alloc((size_t)total, sizeof *p->entry, &p->entry));
    TRY(kryi_alloc((size_t)l->outs, sizeof *p->lengths, &p->lengths));
    TRY(kryi_alloc((size_t)l->outs, sizeof *p->entries, &p->entries));
    entry *at = p->entry;
    for (int k = 0; k < l->outs; k++) {
        const kryi_link *to = &l->out[k];
        entry *const begin = at;
        for (int64_t i = to->first; i < to->first + to->count; i++) at = pack_row(B, row[i], at);
        p->lengths[k].bytes = p->length + to->first;
        p->lengths[k].size = (size_t)to->count * sizeof *p->length;
        p->entries[k].bytes = begin;
        p->entries[k].size = (size_t)(at - begin) * sizeof *at;
    }
done:
    return st;
}

static kry_status post_all(kryi_comm *comm, const kryi_halo_links *l, kryi_message *message)
{
    kry_status st = KRY_OK;

    for (int k = 0; k < l->outs; k++)
        if (message[k].size) TRY(comm->post(comm, l->out[k].rank, &message[k]));
done:
    return st;
}

static kry_status settle_all(kryi_comm *comm, const kryi_halo_links *l, kryi_message *message)
{
    kry_status st = KRY_OK;

    for (int k = 0; k < l->outs; k++)
        if (message[k].size) TRY(comm->settle(comm, &message[k]));
done:
    return st;
}

/* Receive the rows of all neighbours: row i has the entries begin[i] ... begin[i + 1] - 1. */
static kry_status take_all(kryi_comm *comm, const kryi_halo_links *l, int64_t rows, int64_t *begin,
                           entry **entries)
{
    kry_status st = KRY_OK;

    for (int k = 0; k < l->ins; k++)
        TRY(kryi_receive(comm, l->in[k].rank, begin + 1 + l->in[k].first,
                         (size_t)l->in[k].count * sizeof *begin));
    for (int64_t i = 0; i < rows; i++) begin[i + 1] += begin[i];
    TRY(kryi_alloc((size_t)begin[rows], sizeof **entries, entries));
    for (int k = 0; k < l->ins; k++) {
        const int64_t at = begin[l->in[k].first], end = begin[l->in[k].first + l->in[k].count];
        TRY(kryi_receive(comm, l->in[k].rank, *entries + at,
                         (size_t)(end - at) * sizeof **entries));
    }
done:
    return st;
}

/* D := rows of these entries, with own columns where B has them. */
static kry_status unpack(const kryi_dist *B, int64_t rows, const int64_t *begin,
                         const entry *entries, kryi_dist *D)
{
    kry_status st = KRY_OK;
    const int64_t total = begin[rows], own = B->own.cols;
    int64_t count = 0, *place = NULL;
    kryi_csr M = { 0 };

    TRY(kryi_alloc((size_t)total, sizeof *place, &place));
    for (int64_t e = 0; e < total; e++) {
        const int64_t j = entries[e].place - B->first;
        if (j < 0 || j >= own) place[count++] = entries[e].place;
    }
    count = kryi_places_sort(place, count);
    TRY(kryi_csr_create(rows, own + count, KRY_F64, total, &M));
    for (int64_t i = 0; i < rows; i++) M.row_ptr[i + 1] = begin[i + 1];
    for (int64_t e = 0; e < total; e++) {
        const int64_t j = entries[e].place - B->first;
        M.col[e] =
            (int32_t)(j >= 0 && j < own ? j
                                        : own + kryi_places_find(place, count, entries[e].place));
        ((double *)M.val)[e] = entries[e].val;
    }
    TRY(kryi_csr_sort(&M));
    TRY(split(&M, B->first, own, place, D));
done:
    kryi_csr_release(&M);
    free(place);
    return st;
}

kry_status kryi_dist_fetch(const kryi_dist *A, const kryi_dist *B, kryi_dist *theirs)
{
    kry_status st = KRY_OK;
    const kryi_halo_links l = kryi_halo_links_of(A->halo);
    const int64_t out = kryi_halo_sent(A->halo), in = kryi_halo_count(A->halo);
    kryi_comm *comm = l.dev->layout.comm;
    parcels *p = NULL;
    int32_t *row = NULL;
    int64_t *begin = NULL;
    entry *entries = NULL;

    *theirs = (kryi_dist){ 0 };
    TRY(kryi_alloc((size_t)in + 1, sizeof *begin, &begin));
    TRY(kryi_alloc((size_t)out, sizeof *row, &row));
    TRY(kryi_buffer_read(l.dev, l.row, 0, (size_t)out * sizeof *row, row));
    TRY(kryi_alloc(1, sizeof *p, &p));
    p->deferred.release = parcels_destroy;
    TRY(pack(&l, row, out, B, p));
    TRY(post_all(comm, &l, p->lengths));
    TRY(post_all(comm, &l, p->entries));
    TRY(take_all(comm, &l, in, begin, &entries));
    TRY(unpack(B, in, begin, entries, theirs));
    TRY(settle_all(comm, &l, p->lengths));
    TRY(settle_all(comm, &l, p->entries));
done:
    free(entries);
    free(begin);
    free(row);
    if (p) comm->defer(comm, &p->deferred);
    if (st < 0) kryi_dist_release(theirs);
    return st;
}

/* ---- products ------------------------------------------------------------------------------------ */

/* M := the rows of B, and below them `theirs`, with the own columns of B and behind them those of *place, to be freed. */
static kry_status stack(const kryi_dist *B, const kryi_dist *theirs, kryi_csr *M, int64_t **place)
{
    kry_status st = KRY_OK;
    const kryi_dist *const both[] = { B, theirs };
    const int64_t own = B->own.cols;
    int64_t count = 0, nnz = 0, to = 0, row = 0;

    TRY(kryi_alloc((size_t)(B->far.cols + theirs->far.cols), sizeof **place, place));
    for (int b = 0; b < 2; b++) {
        for (int64_t j = 0; j < both[b]->far.cols; j++) (*place)[count++] = both[b]->place[j];
        nnz += kryi_csr_nnz(&both[b]->own) + kryi_csr_nnz(&both[b]->far);
    }
    count = kryi_places_sort(*place, count);
    TRY(kryi_csr_create(B->own.rows + theirs->own.rows, own + count, KRY_F64, nnz, M));
    for (int b = 0; b < 2; b++) {
        const kryi_csr *mine = &both[b]->own, *far = &both[b]->far;
        for (int64_t i = 0; i < mine->rows; i++) {
            for (int64_t e = mine->row_ptr[i]; e < mine->row_ptr[i + 1]; e++, to++) {
                M->col[to] = mine->col[e];
                ((double *)M->val)[to] = ((const double *)mine->val)[e];
            }
            for (int64_t e = far->row_ptr[i]; e < far->row_ptr[i + 1]; e++, to++) {
                const int64_t at = kryi_places_find(*place, count, both[b]->place[far->col[e]]);
                M->col[to] = (int32_t)(own + at);
                ((double *)M->val)[to] = ((const double *)far->val)[e];
            }
            M->row_ptr[++row] = to;
        }
    }
done:
    return st;
}

kry_status kryi_dist_multiply(const kryi_dist *A, const kryi_dist *B, const kryi_dist *theirs,
                              kryi_dist *C)
{
    kry_status st = KRY_OK;
    kryi_csr left = { 0 }, right = { 0 }, product = { 0 };
    int64_t *place = NULL;

    TRY(kryi_csr_beside(&A->own, &A->far, &left));
    TRY(stack(B, theirs, &right, &place));
    TRY(kryi_csr_multiply(&left, &right, &product));
    TRY(split(&product, B->first, B->own.cols, place, C));
done:
    free(place);
    kryi_csr_release(&product);
    kryi_csr_release(&right);
    kryi_csr_release(&left);
    return st;
}
