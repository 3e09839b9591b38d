/* halo_rows.c - what a halo is made of places for, whom it reaches, and rows of sparse matrices that go the way of its
 * numbers. */
#include "operator/halo.h"
#include <stdlib.h>
#include <string.h>

kry_status kryi_halo_create_for(kry_device *dev, kry_type type, const kryi_places *p,
                                kryi_halo **halo)
{
    kry_status st = KRY_OK;
    kryi_link *want = NULL;
    int32_t *row = NULL;
    int links = 0, owner = 0;

    *halo = NULL;
    TRY(kryi_alloc((size_t)p->parts, sizeof *want, &want));
    TRY(kryi_alloc((size_t)p->count, sizeof *row, &row));
    for (int64_t i = 0; i < p->count; i++) {
        while (p->place[i] >= p->first[owner + 1]) owner++;
        if (links == 0 || want[links - 1].rank != owner) want[links++] = (kryi_link){ owner, i, 0 };
        want[links - 1].count++;
        row[i] = (int32_t)(p->place[i] - p->first[owner]);
    }
    TRY(kryi_halo_create(dev, type, want, links, row, halo));
done:
    free(row);
    free(want);
    return st;
}

kry_status kryi_halo_renumber(kryi_halo *halo, int32_t (*number)(const void *user, int32_t row),
                              const void *user)
{
    kry_status st = KRY_OK;
    const kryi_halo_links h = kryi_halo_links_of(halo);
    const size_t count = (size_t)kryi_halo_sent(halo);
    int32_t *row = NULL;

    if (!count) return KRY_OK;
    TRY(kryi_alloc(count, sizeof *row, &row));
    TRY(kryi_buffer_read(h.dev, h.row, 0, count * sizeof *row, row));
    for (size_t i = 0; i < count; i++) row[i] = number(user, row[i]);
    TRY(kryi_buffer_write(h.dev, h.row, 0, count * sizeof *row, row));
done:
    free(row);
    return st;
}

int kryi_halo_neighbours(const kryi_halo *halo)
{
    const kryi_halo_links l = kryi_halo_links_of(halo);
    int count = l.ins;

    for (int i = 0; i < l.outs; i++) {
        bool seen = false;
        for (int k = 0; k < l.ins; k++) seen |= l.in[k].rank == l.out[i].rank;
        count += !seen;
    }
    return count;
}

/* ---- rows of the neighbours -------------------------------------------------------------------- */

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

static int64_t count_of(const kryi_link *link, int links)
{
    return links ? link[links - 1].first + link[links - 1].count : 0;
}

/* Copy the rows that neighbours want. row: which those are, of all links. */
static kry_status pack(const kryi_halo_links *l, const int32_t *row, const kryi_placed_rows *mine,
                       parcels *p)
{
    kry_status st = KRY_OK;
    const int64_t rows = count_of(l->out, l->outs);
    int64_t total = 0, at = 0;

    TRY(kryi_alloc((size_t)rows, sizeof *p->length, &p->length));
    for (int64_t i = 0; i < rows; i++)
        total += p->length[i] = mine->row_ptr[row[i] + 1] - mine->row_ptr[row[i]];
    TRY(kryi_alloc((size_t)total, sizeof *p->entry, &p->entry));
    TRY(kryi_alloc((size_t)l->outs, sizeof *p->lengths, &p->lengths));
    TRY(kryi_alloc((size_t)l->outs, sizeof *p->entries, &p->entries));
    for (int k = 0; k < l->outs; k++) {
        const kryi_link *to = &l->out[k];
        const int64_t begin = at;
        for (int64_t i = to->first; i < to->first + to->count; i++)
            for (int64_t e = mine->row_ptr[row[i]]; e < mine->row_ptr[row[i] + 1]; e++)
                p->entry[at++] = (entry){ mine->place[e], mine->val[e] };
        p->lengths[k].bytes = p->length + to->first;
        p->lengths[k].size = (size_t)to->count * sizeof *p->length;
        p->entries[k].bytes = p->entry + begin;
        p->entries[k].size = (size_t)(at - begin) * sizeof *p->entry;
    }
done:
    return st;
}

/* Receive a message of part `from` into size bytes; of none if there are none. */
static kry_status receive(kryi_comm *comm, int from, void *bytes, size_t size)
{
    kry_status st = KRY_OK;
    kryi_message room = { .bytes = bytes, .size = size }, *heard;

    if (!size) return KRY_OK;
    TRY(comm->take(comm, from, &room, &heard));
    if (heard != &room) memcpy(bytes, heard->bytes, size);
    comm->release(comm, heard);
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

/* theirs := what the neighbours send. */
static kry_status unpack(kryi_comm *comm, const kryi_halo_links *l, kryi_placed_rows *theirs,
                         entry **room)
{
    kry_status st = KRY_OK;
    int64_t *begin = theirs->row_ptr;

    for (int k = 0; k < l->ins; k++)
        TRY(receive(comm, l->in[k].rank, begin + 1 + l->in[k].first,
                    (size_t)l->in[k].count * sizeof *begin));
    for (int64_t i = 0; i < theirs->rows; i++) begin[i + 1] += begin[i];
    const size_t total = (size_t)begin[theirs->rows];
    TRY(kryi_alloc(total, sizeof **room, room));
    for (int k = 0; k < l->ins; k++) {
        const int64_t at = begin[l->in[k].first], end = begin[l->in[k].first + l->in[k].count];
        TRY(receive(comm, l->in[k].rank, *room + at, (size_t)(end - at) * sizeof **room));
    }
    TRY(kryi_alloc(total, sizeof *theirs->place, &theirs->place));
    TRY(kryi_alloc(total, sizeof *theirs->val, &theirs->val));
    for (size_t e = 0; e < total; e++)
        theirs->place[e] = (*room)[e].place, theirs->val[e] = (*room)[e].val;
done:
    return st;
}

kry_status kryi_halo_fetch_rows(const kryi_halo *halo, const kryi_placed_rows *mine,
                                kryi_placed_rows *theirs)
{
    kry_status st = KRY_OK;
    const kryi_halo_links l = kryi_halo_links_of(halo);
    const size_t out = (size_t)count_of(l.out, l.outs);
    kryi_comm *comm = l.dev->layout.comm;
    parcels *p = NULL;
    int32_t *row = NULL;
    entry *room = NULL;

    *theirs = (kryi_placed_rows){ .rows = kryi_halo_count(halo) };
    TRY(kryi_alloc((size_t)theirs->rows + 1, sizeof *theirs->row_ptr, &theirs->row_ptr));
    TRY(kryi_alloc(out, sizeof *row, &row));
    TRY(kryi_buffer_read(l.dev, l.row, 0, out * sizeof *row, row));
    TRY(kryi_alloc(1, sizeof *p, &p));
    p->deferred.release = parcels_destroy;
    TRY(pack(&l, row, mine, p));
    TRY(post_all(comm, &l, p->lengths));
    TRY(post_all(comm, &l, p->entries));
    TRY(unpack(comm, &l, theirs, &room));
    TRY(settle_all(comm, &l, p->lengths));
    TRY(settle_all(comm, &l, p->entries));
done:
    free(room);
    free(row);
    if (p) comm->defer(comm, &p->deferred);
    if (st < 0) kryi_placed_rows_release(theirs);
    return st;
}

void kryi_placed_rows_release(kryi_placed_rows *r)
{
    free(r->val);
    free(r->place);
    free(r->row_ptr);
    *r = (kryi_placed_rows){ 0 };
}
