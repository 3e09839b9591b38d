/* sell.c - SELL-C-sigma: slices of C rows, each as wide as its longest row; sorted by length in
 * windows of sigma rows. Kernels: cl/formats/sell.cl. */
#include "matrix/given.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void kryi_slices_release(kryi_slices *s)
{
    free(s->perm);
    free(s->slice_ptr);
    *s = (kryi_slices){ 0 };
}

const int kryi_sell_window[KRY_SELL_WINDOWS] = { 16, 256 };

/* ---- which rows share a slice ---------------------------------------------------------------- */

/* Sort the rows of each window by falling length, equal ones in order, by counting. */
static kry_status sort_rows(const kryi_csr *host, kryi_slices *s)
{
    kry_status st = KRY_OK;
    int64_t *start =
        NULL; /* start[longest - l]: where the next row of length l goes in its window */

    TRY(kryi_alloc((size_t)kryi_longest_row(host) + 2, sizeof *start, &start));
    for (int64_t begin = 0; begin < host->rows; begin += s->sigma) {
        int64_t end = begin + s->sigma < host->rows ? begin + s->sigma : host->rows, longest = 0;
        for (int64_t i = begin; i < end; i++)
            if (kryi_row_length(host, i) > longest) longest = kryi_row_length(host, i);
        memset(start, 0, ((size_t)longest + 2) * sizeof *start);
        for (int64_t i = begin; i < end; i++) start[longest - kryi_row_length(host, i) + 1]++;
        for (int64_t l = 0; l <= longest; l++) start[l + 1] += start[l];
        for (int64_t i = begin; i < end; i++)
            s->perm[begin + start[longest - kryi_row_length(host, i)]++] = (int32_t)i;
    }
done:
    free(start);
    return st;
}

static kry_status slice_rows(const kryi_csr *host, int height, int sigma, kryi_slices *s)
{
    kry_status st = KRY_OK;
    int64_t count = (host->rows + height - 1) / height;

    *s = (kryi_slices){ .count = count, .height = height, .sigma = sigma };
    TRY(kryi_alloc((uint64_t)(count * height), sizeof *s->perm, &s->perm));
    TRY(kryi_alloc((size_t)count + 1, sizeof *s->slice_ptr, &s->slice_ptr));
    for (int64_t i = 0; i < count * height; i++) s->perm[i] = i < host->rows ? (int32_t)i : -1;
    if (sigma > 1) TRY(sort_rows(host, s));
    for (int64_t i = 0; i <= count; i++) {
        int64_t width = 0;
        s->slice_ptr[i] = s->slots > INT32_MAX ? INT32_MAX : (int32_t)s->slots;
        for (int l = 0; l < height && i < count; l++) {
            const int32_t row = s->perm[i * height + l];
            if (row >= 0 && kryi_row_length(host, row) > width) width = kryi_row_length(host, row);
        }
        s->slots += (double)(width * height);
    }
done:
    if (st < 0) kryi_slices_release(s);
    return st;
}

/* Unsorted where that costs little: sorted rows read x and write y less regularly. */
bool kryi_sell_is_full(double slots, int64_t nnz) { return slots <= 1.05 * (double)nnz; }
bool kryi_sell_is_worth(double slots, double unsorted) { return slots < 0.95 * unsorted; }

static kry_status choose_slices(const kryi_csr *host, int height, int sigma, kryi_slices *best)
{
    kry_status st = KRY_OK;
    kryi_slices s = { 0 };

    TRY(slice_rows(host, height, sigma ? sigma : 1, best));
    for (int w = 0; w < KRY_SELL_WINDOWS && !sigma; w++) {
        if (kryi_sell_is_full(best->slots, kryi_csr_nnz(host))) break;
        TRY(slice_rows(host, height, kryi_sell_window[w] * height, &s));
        if (kryi_sell_is_worth(s.slots, best->slots)) {
            kryi_slices t = *best;
            *best = s, s = t;
        }
        kryi_slices_release(&s);
    }
done:
    if (st < 0) kryi_slices_release(best);
    return st;
}

kry_status kryi_sell_height(const kry_device *dev, kry_type type, const kry_matrix_params *p,
                            int *height)
{
    kry_status st = KRY_OK;
    int native = dev->info.cpu_kernels ? kryi_vector_width(dev, type) : 32;

    *height = p->slice ? p->slice : native;
    CHECK(*height >= 4 && *height <= 256 && (*height & (*height - 1)) == 0, KRY_ERR_ARGUMENT,
          "format sell: slices of %d rows; a power of two from 4 to 256 is needed", *height);
    CHECK(!dev->info.cpu_kernels || *height == native, KRY_ERR_UNSUPPORTED,
          "format sell: slices of %d rows; on CPUs a slice is a vector of %d", *height, native);
    CHECK(p->sigma >= 0 && (p->sigma <= 1 || p->sigma % *height == 0), KRY_ERR_ARGUMENT,
          "format sell: sigma = %d must be 1 or a multiple of the slice, %d", p->sigma, *height);
done:
    return st;
}

/* ---- slots ------------------------------------------------------------------------------------- */

typedef struct filling {
    kryi_matrix *A;
    const kryi_csr *host;
    const kryi_slices *s;
    int32_t *col;      /* of each slot, -1 for padding */
    int32_t *base;     /* the least of each C columns side by side */
    int32_t *full;     /* of each slice: the slot from which on it has padding */
    int64_t *distance; /* room for each part */
    int64_t room;
    int64_t farthest[KRY_MOST_PARTS]; /* column from its base */
    int bits;                         /* of a column on the device */
    void *narrow; /* columns in fewer than 32 bits: distances from their bases */
} filling;

/* List the distances column - row in a slice, ascending. Returns their number, or -1 if it is above
 * `most`. */
static int64_t distances_of(const kryi_csr *host, const int32_t *rows, int height, int64_t most,
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
static bool is_regular(const kryi_csr *host, const int32_t *rows, int height, int64_t width)
{
    if (rows[0] < 0) return false;
    const int32_t *first = host->col + host->row_ptr[rows[0]];

    for (int l = 0; l < height; l++)
        if (rows[l] < 0 || kryi_row_length(host, rows[l]) != width) return false;
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

static void fill_slice(const filling *f, int64_t *distance, int64_t i)
{
    const kryi_csr *host = f->host;
    const int height = f->s->height;
    const int32_t *rows = f->s->perm + i * height, *slice_ptr = f->s->slice_ptr;
    const int64_t width = (slice_ptr[i + 1] - slice_ptr[i]) / height;

    if (is_regular(host, rows, height, width)) {
        for (int l = 0; l < height; l++)
            for (int64_t k = 0; k < width; k++)
                put(f, host->row_ptr[rows[l]] + k, slice_ptr[i] + k * height + l);
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

/* Find what products read beside the columns while these are in a cache. */
static void fill_slices(void *user, int part, int64_t begin, int64_t end)
{
    filling *f = user;
    const int height = f->s->height;
    const int32_t *slice_ptr = f->s->slice_ptr;

    for (int64_t i = begin; i < end; i++) {
        fill_slice(f, f->distance + part * f->room, i);
        f->full[i] = slice_ptr[i + 1];
        for (int32_t k = slice_ptr[i + 1] - height; k >= slice_ptr[i]; k -= height) {
            int32_t least = INT32_MAX, most = -1;
            for (int l = 0; l < height; l++) {
                const int32_t col = f->col[k + l];
                if (col < 0) f->full[i] = k;
                if (col >= 0 && col < least) least = col;
                if (col > most) most = col;
            }
            f->base[k / height] = most < 0 ? 0 : least;
            if (most - least > f->farthest[part]) f->farthest[part] = most - least;
        }
    }
}

static void narrow_columns(void *user, int part, int64_t begin, int64_t end)
{
    const filling *f = user;
    const int height = f->s->height;

    (void)part;
    for (int64_t i = begin; i < end; i++)
        for (int64_t k = i * height; k < (i + 1) * height; k++) {
            const int32_t delta = f->col[k] < 0 ? -1 : f->col[k] - f->base[i];
            if (f->bits == 8)
                ((uint8_t *)f->narrow)[k] = (uint8_t)delta;
            else
                ((uint16_t *)f->narrow)[k] = (uint16_t)delta;
        }
}

/* The fewest bits, but 32 on CPUs whose caches hold the matrix: to add a base to each column then takes longer than
 * its bytes. */
int kryi_sell_bits(const kry_device *dev, kry_type type, double slots, int64_t farthest)
{
    static const double cached = 2e6; /* bytes to a core */
    const double bytes = slots * (double)(kry_type_size(type) + 4);
    const bool fits = dev->info.cpu_kernels && bytes < cached * dev->info.compute_units;

    return fits || farthest >= UINT16_MAX ? 32 : farthest >= UINT8_MAX ? 16 : 8;
}

/* Copy the columns to the device: in 32 bits, or as distances from their bases in 8 or 16, all of which are set for
 * padding. */
static kry_status columns_array(kryi_matrix *A, kryi_stage *s, filling *f)
{
    kry_status st = KRY_OK;
    const int64_t bases = A->slots / f->s->height;
    const uint64_t slots = (uint64_t)A->slots, bytes = (uint64_t)f->bits / 8;

    if (f->bits == 32) {
        TRY(kryi_stage_array(A, s, f->col, slots, sizeof *f->col));
        TRY(kryi_stage_buffer(A, s, NULL));
        return KRY_OK;
    }
    TRY(kryi_alloc(slots, bytes, &f->narrow));
    kryi_parallel(kryi_parts(A->slots), bases, narrow_columns, f);
    TRY(kryi_stage_array(A, s, f->narrow, slots, bytes));
    TRY(kryi_stage_array(A, s, f->base, (size_t)bases, sizeof *f->base));
done:
    free(f->narrow);
    return st;
}

kry_status kryi_sell_choose_bits(const kryi_matrix *A, int64_t farthest, int *bits)
{
    kry_status st = KRY_OK;
    const int asked = A->params.index_bits;

    CHECK(asked == 0 || asked == 8 || asked == 16 || asked == 32, KRY_ERR_ARGUMENT,
          "format sell: columns of %d bits; there are 8, 16 and 32", asked);
    CHECK(asked == 0 || asked == 32 || farthest < (1 << asked) - 1, KRY_ERR_UNSUPPORTED,
          "format sell: columns side by side are up to %lld apart, too far for %d bits",
          (long long)farthest, asked);
    *bits = asked ? asked : kryi_sell_bits(A->dev, A->shape.type, (double)A->slots, farthest);
done:
    return st;
}

/* ---- the stage ------------------------------------------------------------------------------- */

void kryi_equal_shares(const int32_t *slice_ptr, int64_t slices, int32_t *share, int64_t pieces)
{
    int64_t work = slice_ptr[slices] + slices, i = 0;
    for (int64_t b = 0; b < pieces; b++) {
        while (i < slices && slice_ptr[i] + i < work / pieces * b) i++;
        share[b] = (int32_t)i;
    }
    share[0] = 0, share[pieces] = (int32_t)slices;
}

/* The arguments that only CPUs take, and the groups. */
static kry_status cpu_arrays(kryi_matrix *A, kryi_stage *s, const filling *f)
{
    kry_status st = KRY_OK;
    const int32_t *slice_ptr = f->s->slice_ptr;
    const int64_t slices = f->s->count;
    int32_t *share = NULL;

    kryi_stage_pieces(A, s, kryi_cpu_pieces(A->dev, slice_ptr[slices] + A->shape.rows));
    TRY(kryi_alloc((size_t)s->groups + 1, sizeof *share, &share));
    kryi_equal_shares(slice_ptr, slices, share, s->groups);
    for (int64_t b = 0; b <= s->groups; b++) { /* rows in place of slices */
        const int64_t first = (int64_t)share[b] * f->s->height;
        share[b] = (int32_t)(first < A->shape.rows ? first : A->shape.rows);
    }
    TRY(kryi_stage_array(A, s, share, (size_t)s->groups + 1, sizeof *share));
    TRY(kryi_stage_array(A, s, f->full, (size_t)slices, sizeof *f->full));
done:
    free(share);
    return st;
}

kry_status kryi_sell_begin(kryi_matrix *A, kryi_stage *s, int height)
{
    kry_status st = KRY_OK;
    int shift = 0;

    while (1 << shift < height) shift++;
    kryi_stage_int(s, A->shape.rows);
    kryi_stage_int(s, shift);
    kryi_stage_int(s, A->params.form == KRY_FLUX);
    if (A->dev->info.cpu_kernels) return KRY_OK;
    TRY(kryi_stage_buffer(A, s, NULL));
    TRY(kryi_stage_buffer(A, s, NULL));
done:
    return st;
}

kry_status kryi_sell_stage(kryi_matrix *A, int height, int sigma, int bits, kryi_stage **stage)
{
    kry_status st = KRY_OK;
    const kry_device *dev = A->dev;
    const int64_t at_once = kryi_group_size(dev) * kryi_groups_at_once(dev, dev->shape.per_unit);
    /* A work-item of a GPU takes two rows of numbers in single where there are rows for twice as many as work at once. */
    const bool pairs =
        !dev->info.cpu_kernels && A->shape.type == KRY_F32 && A->shape.rows > 2 * at_once;
    const char *column = bits == 8 ? "uchar" : bits == 16 ? "ushort" : "int";
    kryi_stage *s = kryi_matrix_stage(A, "sell", " -DCOLUMN=%s", column);

    *stage = s;
    s->column_bits = bits;
    s->pairs = pairs;
    s->sorted = sigma > 1;
    snprintf(A->variant, sizeof A->variant, "slices of %d, sorted in windows of %d, %d-bit columns",
             height, sigma, bits);
    TRY(kryi_sell_begin(A, s, height));
    if (!A->dev->info.cpu_kernels) kryi_stage_rows(A, s, A->shape.rows, pairs ? 2 : 1);
done:
    return st;
}

/* Each entry gets a slot. If a slice has no more distances than places in a row, each distance gets a place of its own: then
 * columns side by side are close to each other and need few bits. Rows of other slices are packed to the left. */
kry_status kryi_sell_build(kryi_matrix *A, const kryi_given *given)
{
    kry_status st = KRY_OK;
    const kryi_csr *host = given->host;
    const int parts = kryi_parts(A->nnz);
    kryi_slices own = { 0 };
    const kryi_slices *c = given->slices.slice_ptr ? &given->slices : &own;
    filling f = { .A = A, .host = host, .s = c, .room = kryi_longest_row(host) + 1 };
    int64_t farthest = 0;
    int height;
    kryi_stage *s;

    TRY(kryi_sell_height(A->dev, A->shape.type, &A->params, &height));
    if (c == &own) TRY(choose_slices(host, height, A->params.sigma, &own));
    TRY(kryi_matrix_slots(A, c->slots, 2 * c->slots));
    TRY(kryi_alloc((uint64_t)A->nnz, sizeof *A->slot, &A->slot));
    TRY(kryi_alloc((uint64_t)A->slots, sizeof *f.col, &f.col));
    TRY(kryi_alloc((uint64_t)(A->slots / height), sizeof *f.base, &f.base));
    TRY(kryi_alloc((size_t)c->count, sizeof *f.full, &f.full));
    TRY(kryi_alloc((uint64_t)(parts * f.room), sizeof *f.distance, &f.distance));
    kryi_parallel(parts, c->count, fill_slices, &f);
    for (int p = 0; p < parts; p++)
        if (f.farthest[p] > farthest) farthest = f.farthest[p];
    TRY(kryi_sell_choose_bits(A, farthest, &f.bits));
    TRY(kryi_sell_stage(A, height, c->sigma, f.bits, &s));
    if (A->dev->info.cpu_kernels) TRY(cpu_arrays(A, s, &f));
    TRY(kryi_stage_array(A, s, c->slice_ptr, (size_t)c->count + 1, sizeof *c->slice_ptr));
    if (c->sigma > 1)
        TRY(kryi_stage_array(A, s, c->perm, (size_t)A->shape.rows, sizeof *c->perm));
    else
        TRY(kryi_stage_buffer(A, s, NULL));
    TRY(columns_array(A, s, &f));
done:
    free(f.distance);
    free(f.full);
    free(f.base);
    free(f.col);
    kryi_slices_release(&own);
    return st;
}

/* ---- what is expected of a matrix ------------------------------------------------------------ */

/* How far apart the columns side by side are at most if the rows of a slice are packed to the
 * left. */
int64_t kryi_sell_farthest(const kryi_csr *host, const int32_t *rows, int height)
{
    int64_t farthest = 0, width = 0;
    for (int l = 0; l < height; l++)
        if (rows[l] >= 0 && kryi_row_length(host, rows[l]) > width)
            width = kryi_row_length(host, rows[l]);
    for (int64_t k = 0; k < width; k++) {
        int64_t least = INT32_MAX, most = -1;
        for (int l = 0; l < height; l++) {
            if (rows[l] < 0 || kryi_row_length(host, rows[l]) <= k) continue;
            int64_t col = host->col[host->row_ptr[rows[l]] + k];
            least = col < least ? col : least, most = col > most ? col : most;
        }
        if (most - least > farthest) farthest = most - least;
    }
    return farthest;
}

kry_status kryi_sell_estimate(const kry_device *dev, kryi_given *given,
                              const kry_matrix_params *params, kryi_sell_size *size)
{
    kry_status st = KRY_OK;
    const kryi_csr *host = given->host;
    kryi_slices *c = &given->slices;
    int height;

    TRY(kryi_sell_height(dev, host->type, params, &height));
    if (!c->slice_ptr) TRY(choose_slices(host, height, params->sigma, c));
    int64_t farthest = 0, step = c->count / KRY_SELL_SAMPLES + 1;
    for (int64_t i = 0; i < c->count; i += step) {
        int64_t here = kryi_sell_farthest(host, c->perm + i * height, height);
        if (here > farthest) farthest = here;
    }
    const int bits = kryi_sell_bits(dev, host->type, c->slots, farthest);
    *size = (kryi_sell_size){ c->slots, bits / 8.0, c->sigma > 1 };
done:
    return st;
}
