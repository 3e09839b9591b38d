/* sell.c - SELL-C-sigma: slices of C rows, each as wide as its longest row. Kernels: cl/sell.cl. */
#include "matrix/sell_slices.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- columns --------------------------------------------------------------------------------- */

static void put(kry_matrix *A, const kry_sparse *host, int64_t k, int64_t slot, int32_t *col)
{
    A->slot[k] = (int32_t)slot;
    col[slot] = host->col[k];
}

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

/* Choose the slots of all entries, and set the column of each slot, -1 for padding. If a slice
 * has no more distances than places in a row, each distance gets a place of its own: then
 * columns side by side are close to each other and need few bits. Rows of other slices are
 * packed to the left. */
static kry_status fill_slots(kry_matrix *A, const kry_sparse *host, const kry_slices *s,
                             int32_t *col)
{
    kry_status st = KRY_OK;
    int64_t *distance = NULL;

    TRY(kry_alloc((size_t)kry_longest_row(host) + 1, sizeof *distance, &distance));
    for (int64_t i = 0; i < A->slots; i++) col[i] = -1;
    for (int64_t i = 0; i < s->slices; i++) {
        const int32_t *rows = s->perm + i * s->height;
        int64_t width = (s->slice_ptr[i + 1] - s->slice_ptr[i]) / s->height;
        int64_t count = distances_of(host, rows, s->height, width, distance);
        for (int l = 0; l < s->height; l++) {
            int64_t place = 0, begin = s->slice_ptr[i] + l;
            if (rows[l] < 0) continue;
            for (int64_t k = host->row_ptr[rows[l]]; k < host->row_ptr[rows[l] + 1]; k++) {
                while (count >= 0 && distance[place] != (int64_t)host->col[k] - rows[l]) place++;
                put(A, host, k, begin + place++ * s->height, col);
            }
        }
    }
done:
    free(distance);
    return st;
}

/* base: the least of each C columns side by side. Returns the largest distance of a column from its
 * base. */
static int64_t find_bases(const int32_t *col, int64_t slots, int height, int32_t *base)
{
    int64_t farthest = 0;
    for (int64_t i = 0; i < slots; i += height) {
        int32_t least = INT32_MAX, most = -1;
        for (int l = 0; l < height; l++) {
            if (col[i + l] < 0) continue;
            if (col[i + l] < least) least = col[i + l];
            if (col[i + l] > most) most = col[i + l];
        }
        base[i / height] = most < 0 ? 0 : least;
        if (most >= 0 && most - least > farthest) farthest = most - least;
    }
    return farthest;
}

static void narrow_columns(const int32_t *col, const int32_t *base, int64_t slots, int height,
                           int bits, void *narrow)
{
    for (int64_t i = 0; i < slots; i++) {
        int32_t delta = col[i] < 0 ? -1 : col[i] - base[i / height];
        if (bits == 8)
            ((uint8_t *)narrow)[i] = (uint8_t)delta;
        else
            ((uint16_t *)narrow)[i] = (uint16_t)delta;
    }
}

/* Copy the columns to the device: in 32 bits, or in fewer with a base. */
static kry_status columns_array(kry_matrix *A, kry_stage *s, const int32_t *col,
                                const int32_t *base, int height, int bits)
{
    kry_status st = KRY_OK;
    void *narrow = NULL;

    if (bits == 32) return kry_stage_array(A, s, col, (size_t)A->slots, sizeof *col);
    TRY(kry_alloc((size_t)A->slots, (size_t)bits / 8, &narrow));
    narrow_columns(col, base, A->slots, height, bits, narrow);
    TRY(kry_stage_array(A, s, narrow, (size_t)A->slots, (size_t)bits / 8));
    TRY(kry_stage_array(A, s, base, (size_t)(A->slots / height), sizeof *base));
done:
    free(narrow);
    return st;
}

static kry_status choose_bits(int64_t farthest, int asked, int *bits)
{
    kry_status st = KRY_OK;
    int needed = kry_sell_bits(farthest);

    CHECK(asked == 0 || asked == 8 || asked == 16 || asked == 32, KRY_ERR_ARGUMENT,
          "format sell: columns of %d bits; there are 8, 16 and 32", asked);
    CHECK(asked == 0 || asked >= needed, KRY_ERR_UNSUPPORTED,
          "format sell: columns side by side are up to %lld apart, too far for %d bits",
          (long long)farthest, asked);
    *bits = asked ? asked : needed;
done:
    return st;
}

/* ---- the stage ------------------------------------------------------------------------------- */

/* full: the slot from which on a slice has padding. */
static void find_full(const int32_t *slice_ptr, int64_t slices, int height, const int32_t *col,
                      int32_t *full)
{
    for (int64_t i = 0; i < slices; i++) {
        int64_t k = slice_ptr[i];
        while (k < slice_ptr[i + 1] && col[k] >= 0) k++;
        full[i] = (int32_t)(k - (k - slice_ptr[i]) % height);
    }
}

kry_status kry_sell_cpu_arrays(kry_matrix *A, kry_stage *s, const int32_t *slice_ptr,
                               int64_t slices, int height, const int32_t *col)
{
    kry_status st = KRY_OK;
    int64_t pieces = kry_cpu_pieces(A->dev, slice_ptr[slices] + A->shape.rows);
    int32_t *share = NULL, *full = NULL;

    TRY(kry_alloc((size_t)pieces + 1, sizeof *share, &share));
    TRY(kry_alloc((size_t)slices, sizeof *full, &full));
    kry_equal_shares(slice_ptr, slices, share, pieces);
    find_full(slice_ptr, slices, height, col, full);
    kry_stage_int(s, pieces);
    kry_stage_int(s, A->shape.rows);
    TRY(kry_stage_array(A, s, share, (size_t)pieces + 1, sizeof *share));
    TRY(kry_stage_array(A, s, full, (size_t)slices, sizeof *full));
    kry_stage_pieces(A, s, pieces);
done:
    free(full);
    free(share);
    return st;
}

static kry_status make_stage(kry_matrix *A, const kry_slices *c, const int32_t *col,
                             const int32_t *base, int bits)
{
    kry_status st = KRY_OK;
    bool cpu = A->dev->info.cpu_kernels;
    const char *column = bits == 8    ? "uchar -DNONE=255 -DBASE"
                         : bits == 16 ? "ushort -DNONE=65535 -DBASE"
                                      : "int -DNONE=-1";
    kry_stage *s = kry_matrix_stage(A, "sell", " -DC=%d -DCOLUMN=%s%s", c->height, column,
                                    c->sigma > 1 ? " -DPERM" : "");

    if (cpu) {
        TRY(kry_sell_cpu_arrays(A, s, c->slice_ptr, c->slices, c->height, col));
    } else {
        kry_stage_int(s, A->shape.rows);
        kry_stage_rows(A, s, A->shape.rows);
    }
    TRY(kry_stage_array(A, s, c->slice_ptr, (size_t)c->slices + 1, sizeof *c->slice_ptr));
    if (c->sigma > 1) TRY(kry_stage_array(A, s, c->perm, (size_t)A->shape.rows, sizeof *c->perm));
    TRY(columns_array(A, s, col, base, c->height, bits));
    snprintf(A->variant, sizeof A->variant, "slices of %d, sorted in windows of %d, %d-bit columns",
             c->height, c->sigma, bits);
done:
    return st;
}

static kry_status sell_build(kry_matrix *A, const kry_sparse *host)
{
    kry_status st = KRY_OK;
    kry_slices c = { 0 };
    double slots;
    int height, bits = 32;
    int32_t *col = NULL, *base = NULL;

    TRY(kry_slices_check(A->dev, A->shape.type, &A->params, &height));
    TRY(kry_slices_choose(host, height, A->params.sigma, &c, &slots));
    TRY(kry_matrix_slots(A, slots, 2 * slots));
    TRY(kry_alloc((size_t)A->slots, sizeof *col, &col));
    TRY(kry_alloc((size_t)(A->slots / height), sizeof *base, &base));
    TRY(fill_slots(A, host, &c, col));
    TRY(choose_bits(find_bases(col, A->slots, height, base), A->params.index_bits, &bits));
    TRY(make_stage(A, &c, col, base, bits));
done:
    free(base);
    free(col);
    kry_slices_release(&c);
    return st;
}

const kry_format_table kry_sell_format = {
    .format = KRY_FORMAT_SELL,
    .build = sell_build,
};
