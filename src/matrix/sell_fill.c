/* sell_fill.c - the slots and columns of sell: slice by slice, on several threads. */
#include "matrix/sell_fill.h"
#include <stdlib.h>
#include <string.h>

/* ---- slots ------------------------------------------------------------------------------------- */

typedef struct filling {
    kry_matrix *A;
    const kry_sparse *host;
    const kry_slices *s;
    int32_t *col;
    int64_t *distance; /* room for each part */
    int64_t room;
} filling;

/* List the distances column - row in a slice, ascending. Returns their number, or -1 if it is above
 * `most`. */
static int64_t distances_of(const kry_sparse *host, const int32_t *rows, int height, int64_t most,
                            int64_t *distance)
{
    int64_t count = 0;
    for (int l = 0; l < height; l++) {
        if (rows[l] < 0) continue;
        int64_t at = 0;
        for (int64_t k = host->row_ptr[rows[l]]; k < host->row_ptr[rows[l] + 1]; k++) {
            int64_t d = (int64_t)host->col[k] - rows[l];
            while (at < count && distance[at] < d) at++;
            if (at < count && distance[at] == d) continue;
            if (count == most) return -1;
            memmove(distance + at + 1, distance + at, (size_t)(count - at) * sizeof *distance);
            distance[at] = d;
            count++;
        }
    }
    return count;
}

/* Whether each row of a slice is as long as the slice is wide, and has the distances of the first one. */
static bool is_regular(const kry_sparse *host, const int32_t *rows, int height, int64_t width)
{
    if (rows[0] < 0) return false;
    const int32_t *first = host->col + host->row_ptr[rows[0]];

    for (int l = 0; l < height; l++)
        if (rows[l] < 0 || kry_row_length(host, rows[l]) != width) return false;
    for (int l = 1; l < height; l++) {
        const int32_t *col = host->col + host->row_ptr[rows[l]], shift = rows[l] - rows[0];
        int32_t differs = 0;
        for (int64_t k = 0; k < width; k++) differs |= col[k] ^ (first[k] + shift);
        if (differs) return false;
    }
    return true;
}

static void put(const filling *f, int64_t k, int64_t slot)
{
    f->A->slot[k] = (int32_t)slot;
    f->col[slot] = f->host->col[k];
}

static void fill_regular(const filling *f, const int32_t *rows, int64_t first, int64_t width)
{
    const int height = f->s->height;

    for (int l = 0; l < height; l++) {
        const int64_t begin = f->host->row_ptr[rows[l]];
        for (int64_t k = 0; k < width; k++) put(f, begin + k, first + k * height + l);
    }
}

static void fill_slice(const filling *f, int64_t *distance, int64_t i)
{
    const kry_sparse *host = f->host;
    const int height = f->s->height;
    const int32_t *rows = f->s->perm + i * height, *slice_ptr = f->s->slice_ptr;
    const int64_t width = (slice_ptr[i + 1] - slice_ptr[i]) / height;

    if (is_regular(host, rows, height, width)) {
        fill_regular(f, rows, slice_ptr[i], width);
        return;
    }
    for (int64_t k = slice_ptr[i]; k < slice_ptr[i + 1]; k++) f->col[k] = -1;
    const int64_t count = distances_of(host, rows, height, width, distance);
    for (int l = 0; l < height; l++) {
        int64_t place = 0;
        if (rows[l] < 0) continue;
        for (int64_t k = host->row_ptr[rows[l]]; k < host->row_ptr[rows[l] + 1]; k++) {
            while (count >= 0 && distance[place] != (int64_t)host->col[k] - rows[l]) place++;
            put(f, k, slice_ptr[i] + l + place++ * height);
        }
    }
}

static void fill_slices(void *user, int part, int64_t begin, int64_t end)
{
    const filling *f = user;

    for (int64_t i = begin; i < end; i++) fill_slice(f, f->distance + part * f->room, i);
}

kry_status kry_sell_fill(kry_matrix *A, const kry_sparse *host, const kry_slices *s, int32_t *col)
{
    kry_status st = KRY_OK;
    const int parts = kry_parts(A->nnz);
    filling f = { .A = A, .host = host, .s = s, .col = col, .room = kry_longest_row(host) + 1 };

    TRY(kry_alloc((size_t)(parts * f.room), sizeof *f.distance, &f.distance));
    kry_parallel(parts, s->count, fill_slices, &f);
done:
    free(f.distance);
    return st;
}

/* ---- columns ----------------------------------------------------------------------------------- */

typedef struct columns {
    const int32_t *col;
    int height, bits;
    int32_t *base;
    const int32_t *slice_ptr;
    int32_t *full;
    void *narrow;
    int64_t farthest[KRY_MOST_PARTS];
} columns;

static void find_bases(void *user, int part, int64_t begin, int64_t end)
{
    columns *c = user;
    int64_t farthest = 0;

    for (int64_t i = begin; i < end; i++) {
        const int32_t *col = c->col + i * c->height;
        int32_t least = INT32_MAX, most = -1;
        for (int l = 0; l < c->height; l++) {
            if (col[l] < 0) continue;
            if (col[l] < least) least = col[l];
            if (col[l] > most) most = col[l];
        }
        c->base[i] = most < 0 ? 0 : least;
        if (most >= 0 && most - least > farthest) farthest = most - least;
    }
    c->farthest[part] = farthest;
}

int64_t kry_sell_bases(const int32_t *col, int64_t slots, int height, int32_t *base)
{
    const int parts = kry_parts(slots);
    columns c = { .col = col, .height = height, .base = base };
    int64_t farthest = 0;

    kry_parallel(parts, slots / height, find_bases, &c);
    for (int p = 0; p < parts; p++)
        if (c.farthest[p] > farthest) farthest = c.farthest[p];
    return farthest;
}

static void narrow_columns(void *user, int part, int64_t begin, int64_t end)
{
    const columns *c = user;

    (void)part;
    for (int64_t i = begin; i < end; i++)
        for (int64_t k = i * c->height; k < (i + 1) * c->height; k++) {
            const int32_t delta = c->col[k] < 0 ? -1 : c->col[k] - c->base[i];
            if (c->bits == 8)
                ((uint8_t *)c->narrow)[k] = (uint8_t)delta;
            else
                ((uint16_t *)c->narrow)[k] = (uint16_t)delta;
        }
}

void kry_sell_narrow(const int32_t *col, int64_t slots, int height, const int32_t *base, int bits,
                     void *narrow)
{
    columns c = {
        .col = col, .height = height, .bits = bits, .base = (int32_t *)base, .narrow = narrow
    };
    kry_parallel(kry_parts(slots), slots / height, narrow_columns, &c);
}

static void find_full(void *user, int part, int64_t begin, int64_t end)
{
    const columns *c = user;

    (void)part;
    for (int64_t i = begin; i < end; i++) {
        int64_t k = c->slice_ptr[i];
        while (k < c->slice_ptr[i + 1] && c->col[k] >= 0) k++;
        c->full[i] = (int32_t)(k - (k - c->slice_ptr[i]) % c->height);
    }
}

void kry_sell_find_full(const int32_t *slice_ptr, int64_t slices, int height, const int32_t *col,
                        int32_t *full)
{
    columns c = { .col = col, .height = height, .slice_ptr = slice_ptr, .full = full };
    kry_parallel(kry_parts(slice_ptr[slices]), slices, find_full, &c);
}
