/* vec_parts.c - vectors on a team of devices: a vector for each part. */
#include "vector/vec_parts.h"
#include <stdlib.h>

int kry_vec_parts(const kry_vec *v) { return v->split ? v->split->members : 1; }

kry_vec kry_vec_on_part(const kry_vec *v, int rank)
{
    kry_vec c = kry_vec_borrow(v->part[rank]);
    c.first += v->first * c.ld;
    c.k = v->k;
    c.piece_of = v->split;
    return c;
}

kry_status kry_vec_part(const kry_vec *v, int i, int64_t *first, kry_vec **part)
{
    kry_status st = KRY_OK;

    *part = NULL;
    CHECK(v && i >= 0 && i < kry_vec_parts(v), KRY_ERR_ARGUMENT, "kry_vec_part: part %d of %d", i,
          v ? kry_vec_parts(v) : 0);
    if (first) *first = v->split ? v->split->first[i] : 0;
    kry_vec c = v->split ? kry_vec_on_part(v, i) : kry_vec_borrow(v);
    TRY(kry_vec_wrap_block(c.dev, c.type, c.n, c.k, c.ld, c.buffer, c.first, part));
done:
    return st;
}

kry_status kry_vec_allocate_parts(kry_vec *v)
{
    kry_status st = KRY_OK;
    struct kry_team *team = v->dev->team;

    TRY(kry_split_blocks(team, "kry_vec_create", v->n, NULL, 1, &v->split));
    TRY(kry_alloc((size_t)v->split->members, sizeof *v->part, &v->part));
    for (int r = 0; r < v->split->members; r++)
        TRY(kry_vec_create(team->part[r], v->type, kry_split_rows(v->split, r), v->k, &v->part[r]));
done:
    return st;
}

kry_status kry_vec_share_parts(const kry_vec *block, kry_vec *v)
{
    kry_status st = KRY_OK;
    int members = block->split->members;

    v->split = kry_split_retain(block->split);
    TRY(kry_alloc((size_t)members, sizeof *v->part, &v->part));
    for (int r = 0; r < members; r++) v->part[r] = kry_vec_retain(block->part[r]);
done:
    return st;
}

void kry_vec_release_parts(kry_vec *v)
{
    for (int r = 0; v->part && r < v->split->members; r++) kry_vec_release(&v->part[r]);
    free(v->part);
    kry_split_release(&v->split);
}

/* ---- to and from the host ----------------------------------------------------------------- */

/* Move the numbers of each part in the order of its rows, by way of `block`, in one direction. */
static kry_status move_part(const kry_vec *v, int r, char *host, bool to_device, char *block)
{
    kry_status st = KRY_OK;
    size_t size = kry_type_size(v->type);
    kry_vec p = kry_vec_on_part(v, r);

    if (!to_device) TRY(kry_vec_read(&p, block));
    for (int64_t j = 0; j < v->k; j++) {
        char *all = host + (size_t)(j * v->n) * size, *mine = block + (size_t)(j * p.n) * size;
        if (to_device)
            kry_split_scatter(v->split, r, all, size, mine);
        else
            kry_split_gather(v->split, r, mine, size, all);
    }
    if (to_device) TRY(kry_vec_write(&p, block));
done:
    return st;
}

static kry_status move(const kry_vec *v, void *host, bool to_device)
{
    kry_status st = KRY_OK;
    char *block = NULL;

    TRY(kry_alloc((size_t)(v->n * v->k), kry_type_size(v->type), &block));
    for (int r = 0; r < v->split->members; r++) TRY(move_part(v, r, host, to_device, block));
done:
    free(block);
    return st;
}

kry_status kry_vec_write_parts(kry_vec *v, const void *host) { return move(v, (void *)host, true); }
kry_status kry_vec_read_parts(const kry_vec *v, void *host) { return move(v, host, false); }
