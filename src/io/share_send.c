/*
 * share_send.c - entries on their way from the ranks that have read them to those that have their rows.
 *
 * No rank ever has more than its stretch, in the order in which it is sent, and its own rows. A message is a piece of
 * at most PIECE entries.
 */
#include "device/comm.h"
#include "io/share.h"
#include "sparse/partition.h"
#include <stdlib.h>
#include <string.h>

enum { PIECE = 1 << 20 };

static bool has_mirror(const kryi_stretch *s, const mtx_entry *e)
{
    return s->head.symmetry != KRY_MTX_GENERAL && e->row != e->col;
}

static mtx_entry mirror(const kryi_stretch *s, const mtx_entry *e)
{
    return (mtx_entry){ e->col, e->row, s->head.symmetry == KRY_MTX_SKEW ? -e->val : e->val };
}

/* ---- where rows are cut ------------------------------------------------------------------------ */

/* Rows are counted in blocks; an entry counts as 1, a row as ROW, for vectors and pointers are moved, too. */
enum { ROW = 6, BLOCKS = 4096, BLOCKS_PER_RANK = 16, TOGETHER = 512 };

/* entries[b]: of all ranks, in the rows of block b. */
static kry_status count_entries(const kryi_stretch *s, kryi_layout *layout, int64_t block,
                                double *entries, int64_t blocks)
{
    kry_status st = KRY_OK;

    for (int64_t k = 0; k < s->count; k++) {
        const mtx_entry *e = &s->entry[k];
        entries[e->row / block]++;
        if (has_mirror(s, e)) entries[e->col / block]++;
    }
    for (int64_t b = 0; b < blocks; b += TOGETHER)
        TRY(kryi_layout_combine(layout, KRY_ADD, entries + b,
                                (size_t)(blocks - b < TOGETHER ? blocks - b : TOGETHER)));
done:
    return st;
}

kry_status kryi_stretch_cut(const kryi_stretch *s, kryi_layout *layout, int64_t multiple,
                            const double *speed, int64_t *first)
{
    kry_status st = KRY_OK;
    const int64_t n = s->head.rows;
    const int size = kryi_layout_size(layout);
    const int64_t most = (int64_t)BLOCKS_PER_RANK * size > BLOCKS ? BLOCKS_PER_RANK * size : BLOCKS;
    const int64_t block = (n / most / multiple + 1) * multiple, blocks = (n + block - 1) / block;
    double *entries = NULL, speeds = 0, before = 0, done_speed = 0;
    int64_t b = 0;

    TRY(kryi_alloc((size_t)blocks, sizeof *entries, &entries));
    TRY(count_entries(s, layout, block, entries, blocks));
    double all = ROW * (double)n;
    for (int64_t i = 0; i < blocks; i++) all += entries[i];
    for (int r = 0; r < size; r++) speeds += speed ? speed[r] : 1;
    for (int r = 0; r < size; r++) {
        const double want = all * (done_speed / speeds);
        /* the boundary that is nearest */
        for (; b < blocks; b++) {
            const double weight = entries[b] + ROW * (double)block;
            if (before + weight / 2 > want) break;
            before += weight;
        }
        first[r] = r == 0 ? 0 : b * block < n ? b * block : n;
        done_speed += speed ? speed[r] : 1;
    }
    first[size] = n;
done:
    free(entries);
    return st;
}

/* ---- messages ---------------------------------------------------------------------------------- */

/* What is sent is let go only when all ranks are done with the run. */
typedef struct parcel {
    kryi_deferred deferred; /* first */
    mtx_entry *entry;       /* sorted by rank */
    int64_t *begin;         /* size + 1: those of rank r are begin[r] ... begin[r + 1] - 1 */
    int64_t *count;         /* size: of each rank */
    kryi_message piece;
} parcel;

static void parcel_destroy(kryi_deferred *deferred)
{
    parcel *p = (parcel *)deferred;
    free(p->count);
    free(p->begin);
    free(p->entry);
    free(p);
}

static void parcel_release(parcel *p, kryi_layout *layout)
{
    if (!p) return;
    p->deferred.release = parcel_destroy;
    layout->comm->defer(layout->comm, &p->deferred);
}

/* Sort the entries and their mirror images by owner, in the order of the file. */
static kry_status pack(kryi_stretch *s, const int64_t *first, int size, parcel *p)
{
    kry_status st = KRY_OK;

    for (int64_t k = 0; k < s->count; k++) {
        p->begin[kryi_interval_of(first, size, s->entry[k].row) + 1]++;
        if (has_mirror(s, &s->entry[k]))
            p->begin[kryi_interval_of(first, size, s->entry[k].col) + 1]++;
    }
    for (int r = 0; r < size; r++) p->begin[r + 1] += p->begin[r];
    TRY(kryi_alloc((size_t)p->begin[size], sizeof *p->entry, &p->entry));
    for (int r = 0; r < size; r++) p->count[r] = p->begin[r]; /* the next place */
    for (int64_t k = 0; k < s->count; k++) {
        const mtx_entry e = s->entry[k];
        p->entry[p->count[kryi_interval_of(first, size, e.row)]++] = e;
        if (has_mirror(s, &e))
            p->entry[p->count[kryi_interval_of(first, size, e.col)]++] = mirror(s, &e);
    }
    for (int r = 0; r < size; r++) p->count[r] = p->begin[r + 1] - p->begin[r];
    free(s->entry);
    s->entry = NULL, s->count = s->capacity = 0;
done:
    return st;
}

static kry_status parcel_make(kryi_stretch *s, kryi_layout *layout, const int64_t *first,
                              parcel **made)
{
    kry_status st = KRY_OK;
    const size_t size = (size_t)kryi_layout_size(layout);
    parcel *p = NULL;

    TRY(kryi_alloc(1, sizeof *p, &p));
    TRY(kryi_alloc(size + 1, sizeof *p->begin, &p->begin));
    TRY(kryi_alloc(size, sizeof *p->count, &p->count));
    TRY(pack(s, first, (int)size, p));
    *made = p;
    p = NULL;
done:
    parcel_release(p, layout);
    return st;
}

/* Send all to one rank, and receive all from another one. */
static kry_status swap(parcel *p, kryi_comm *comm, int to, int from, mtx_entry *room, int64_t comes)
{
    kry_status st = KRY_OK;
    mtx_entry *goes = p->entry + p->begin[to];

    for (int64_t sent = 0, got = 0; sent < p->count[to] || got < comes;) {
        const int64_t out = p->count[to] - sent < PIECE ? p->count[to] - sent : PIECE,
                      in = comes - got < PIECE ? comes - got : PIECE;
        p->piece = (kryi_message){ .bytes = goes + sent, .size = (size_t)out * sizeof *goes };
        if (out) TRY(comm->post(comm, to, &p->piece));
        if (in) TRY(kryi_receive(comm, from, room + got, (size_t)in * sizeof *room));
        if (out) TRY(comm->settle(comm, &p->piece));
        sent += out, got += in;
    }
done:
    return st;
}

/* In the order of the ranks, which is that of the file. */
static kry_status exchange(parcel *p, kryi_comm *comm, mtx_entry **own, int64_t *count)
{
    kry_status st = KRY_OK;
    int64_t *comes = NULL, *begin = NULL, *all = NULL; /* all: what each rank has for each */
    const int size = comm->size, rank = comm->rank;

    TRY(kryi_alloc((size_t)size, sizeof *comes, &comes));
    TRY(kryi_alloc((size_t)size + 1, sizeof *begin, &begin));
    TRY(kryi_alloc((uint64_t)size * (size_t)size, sizeof *all, &all));
    TRY(comm->gather(comm, p->count, (size_t)size * sizeof *p->count, all));
    for (int r = 0; r < size; r++) comes[r] = all[r * size + rank];
    for (int r = 0; r < size; r++) begin[r + 1] = begin[r] + comes[r];
    TRY(kryi_alloc((size_t)begin[size], sizeof **own, own));
    memcpy(*own + begin[rank], p->entry + p->begin[rank], (size_t)comes[rank] * sizeof **own);
    for (int i = 1; i < size; i++) {
        const int from = (rank + size - i) % size;
        TRY(swap(p, comm, (rank + i) % size, from, *own + begin[from], comes[from]));
    }
    *count = begin[size];
done:
    free(all);
    free(begin);
    free(comes);
    return st;
}

kry_status kryi_stretch_send(kryi_stretch *s, kryi_layout *layout, const int64_t *first,
                             mtx_entry **own, int64_t *count)
{
    kry_status st = KRY_OK;
    parcel *p = NULL;

    *own = NULL;
    TRY(parcel_make(s, layout, first, &p));
    if (kryi_layout_size(layout) > 1) {
        TRY(exchange(p, layout->comm, own, count));
    } else {
        *own = p->entry, *count = p->begin[1];
        p->entry = NULL;
    }
done:
    if (st < 0) free(*own), *own = NULL;
    parcel_release(p, layout);
    return st;
}
