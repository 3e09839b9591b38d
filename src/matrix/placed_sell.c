/* placed_sell.c - slices and padded rows of a matrix that is on the device, made there, and its entries read back.
 * Kernels: cl/formats/place.cl. */
#include "device/launch.h"
#include "matrix/given.h"
#include <stdio.h>
#include <string.h>

typedef struct slices {
    cl_int height, sigma; /* C, and rows to a window of sorting */
    cl_int count, sorted;
    int64_t slots;
    cl_mem perm; /* row of each position; NULL: rows are in order */
    cl_mem ptr;  /* count+1: the first slot */
} slices;

static void slices_release(kry_device *dev, slices *s)
{
    kryi_buffer_release(dev, &s->ptr);
    kryi_buffer_release(dev, &s->perm);
}

/* ---- which rows share a slice ---------------------------------------------------------------- */

static kry_status sort_rows(const kryi_device_csr *C, slices *s)
{
    kry_status st = KRY_OK;
    const cl_int rows = (cl_int)C->rows;

    TRY(kryi_buffer_create(C->dev, (uint64_t)rows * sizeof(cl_int), &s->perm));
    const kry_arg args[] = { ARG(rows), ARG(s->sigma), ARG(C->row_ptr), ARG(s->perm) };
    TRY(kryi_place_run(C->dev, "place_sort", rows, args, COUNT(args)));
done:
    return st;
}

static kry_status slice_rows(const kryi_device_csr *C, int height, int sigma, slices *s)
{
    kry_status st = KRY_OK;
    const cl_int rows = (cl_int)C->rows;
    cl_mem slots = NULL;

    *s = (slices){ .height = height, .sigma = sigma, .sorted = sigma > 1 };
    s->count = (cl_int)((C->rows + height - 1) / height);
    if (s->sorted) TRY(sort_rows(C, s));
    TRY(kryi_buffer_create(C->dev, (size_t)s->count * sizeof(cl_int), &slots));
    const cl_mem perm = s->sorted ? s->perm : C->row_ptr;
    const kry_arg args[] = { ARG(rows),       ARG(s->count), ARG(s->height), ARG(s->sorted),
                             ARG(C->row_ptr), ARG(perm),     ARG(slots) };
    TRY(kryi_place_run(C->dev, "place_widths", s->count, args, COUNT(args)));
    TRY(kryi_device_csr_offsets(C->dev, s->count, slots, &s->ptr, &s->slots));
done:
    kryi_buffer_release(C->dev, &slots);
    if (st < 0) slices_release(C->dev, s);
    return st;
}

/* As choose_slices of sell.c. */
static kry_status choose_slices(const kryi_device_csr *C, int height, int sigma, slices *best)
{
    kry_status st = KRY_OK;
    slices s = { 0 };

    TRY(slice_rows(C, height, sigma ? sigma : 1, best));
    for (int w = 0; w < KRY_SELL_WINDOWS && !sigma; w++) {
        if (kryi_sell_is_full((double)best->slots, C->nnz)) break;
        TRY(slice_rows(C, height, kryi_sell_window[w] * height, &s));
        if (kryi_sell_is_worth((double)s.slots, (double)best->slots)) {
            const slices t = *best;
            *best = s, s = t;
        }
        slices_release(C->dev, &s);
    }
done:
    if (st < 0) slices_release(C->dev, best);
    return st;
}

/* Whether a group has whole slices, windows can be sorted by counting, and slots be counted in int. */
static bool suits(const kryi_given *G, int height, int sigma)
{
    enum { LARGEST = 16384 };
    return height <= kryi_group_size(G->C.dev) && sigma <= LARGEST &&
           G->longest * height <= INT32_MAX;
}

/* ---- columns ----------------------------------------------------------------------------------- */

typedef struct columns {
    cl_mem col, base;
    cl_int farthest; /* of a column from its base */
} columns;

static kry_status place_entries(const kryi_device_csr *C, const slices *s, cl_mem *place,
                                columns *c)
{
    kry_status st = KRY_OK;
    kry_device *dev = C->dev;
    const uint64_t size = sizeof(cl_int), slots = (uint64_t)s->slots;
    const cl_int rows = (cl_int)C->rows;
    const cl_mem perm = s->sorted ? s->perm : C->row_ptr;
    cl_mem found = NULL;

    TRY(kryi_buffer_create(dev, (uint64_t)C->nnz * size, place));
    TRY(kryi_buffer_create(dev, slots * size, &c->col));
    TRY(kryi_buffer_create(dev, slots / (size_t)s->height * size, &c->base));
    TRY(kryi_place_zeros(dev, 1, &found));
    const kry_arg args[] = { ARG(rows),       ARG(s->count), ARG(s->height), ARG(s->sorted),
                             ARG(C->row_ptr), ARG(C->col),   ARG(perm),      ARG(s->ptr),
                             ARG(*place),     ARG(c->col),   ARG(c->base),   ARG(found) };
    TRY(kryi_place_run(dev, "place_slices", (int64_t)s->count * s->height, args, COUNT(args)));
    TRY(kryi_buffer_read(dev, found, 0, size, &c->farthest));
done:
    kryi_buffer_release(dev, &found);
    return st;
}

/* The columns in so few bits. */
static kry_status narrow(kry_device *dev, const slices *s, columns *c, int bits)
{
    kry_status st = KRY_OK;
    const cl_int wanted = bits;
    cl_mem to = NULL;

    TRY(kryi_buffer_create(dev, (uint64_t)s->slots * (size_t)bits / 8, &to));
    const kry_arg args[] = { ARG(s->slots), ARG(s->height), ARG(wanted),
                             ARG(c->col),   ARG(c->base),   ARG(to) };
    TRY(kryi_place_run(dev, "place_narrow", s->slots, args, COUNT(args)));
    kryi_buffer_release(dev, &c->col);
    c->col = to, to = NULL;
done:
    kryi_buffer_release(dev, &to);
    return st;
}

static kry_status add_stage(kryi_matrix *A, const slices *s, const columns *c, int bits)
{
    kry_status st = KRY_OK;
    const double slots = (double)s->slots;
    kryi_stage *stage;

    TRY(kryi_sell_stage(A, s->height, s->sigma, bits, &stage));
    TRY(kryi_stage_buffer(A, stage, s->ptr));
    TRY(kryi_stage_buffer(A, stage, s->perm));
    TRY(kryi_stage_buffer(A, stage, c->col));
    TRY(kryi_stage_buffer(A, stage, bits < 32 ? c->base : NULL));
    A->structure_bytes += 4.0 * (s->count + 1) + (s->sorted ? 4.0 * (double)A->shape.rows : 0) +
                          slots * bits / 8 + (bits < 32 ? 4 * slots / s->height : 0);
done:
    return st;
}

kry_status kryi_sell_place(kryi_matrix *A, const kryi_given *G, cl_mem *place)
{
    kry_status st = KRY_OK;
    slices s = { 0 };
    columns c = { 0 };
    int height, bits = 32;

    TRY(kryi_sell_height(A->dev, A->shape.type, &A->params, &height));
    if (!suits(G, height, A->params.sigma)) return KRY_OK;
    TRY(choose_slices(&G->C, height, A->params.sigma, &s));
    TRY(kryi_matrix_slots(A, (double)s.slots, 2 * (double)s.slots));
    TRY(place_entries(&G->C, &s, place, &c));
    TRY(kryi_sell_choose_bits(A, c.farthest, &bits));
    if (bits < 32) TRY(narrow(A->dev, &s, &c, bits));
    TRY(add_stage(A, &s, &c, bits));
    A->placed = true;
done:
    kryi_buffer_release(A->dev, &c.base);
    kryi_buffer_release(A->dev, &c.col);
    slices_release(A->dev, &s);
    return st;
}

kry_status kryi_ell_place(kryi_matrix *A, const kryi_given *G, cl_mem *place)
{
    kry_status st = KRY_OK;
    const cl_int rows = (cl_int)A->shape.rows, width = (cl_int)G->longest;
    const cl_int stride = (cl_int)kryi_ell_stride(rows);
    const double slots = (double)width * (double)stride;
    cl_mem col = NULL;

    TRY(kryi_matrix_slots(A, slots, 4 * slots));
    TRY(kryi_buffer_create(A->dev, (uint64_t)A->nnz * sizeof(cl_int), place));
    TRY(kryi_buffer_create(A->dev, (uint64_t)A->slots * sizeof(cl_int), &col));
    const kry_arg args[] = { ARG(rows),     ARG(stride), ARG(width), ARG(G->C.row_ptr),
                             ARG(G->C.col), ARG(*place), ARG(col) };
    TRY(kryi_place_run(A->dev, "place_padded", stride, args, COUNT(args)));
    kryi_stage *s = kryi_ell_begin(A, width);
    TRY(kryi_stage_buffer(A, s, col));
    A->structure_bytes += 4 * slots;
    snprintf(A->variant, sizeof A->variant, "%d entries to a row", (int)width);
    A->placed = true;
done:
    kryi_buffer_release(A->dev, &col);
    return st;
}

/* ---- entries ----------------------------------------------------------------------------------- */

/* Where slots are, as the kernels of place.cl take it. height 0: in ELL. */
typedef struct layout {
    cl_int rows, height, stride, width, bits, sorted;
    cl_mem slice_ptr, perm, base, col;
} layout;

static layout padded_layout(const kryi_stage *s)
{
    enum { ROWS, STRIDE, WIDTH, FLUX, COL };
    const cl_mem col = s->value[COL].buffer;
    return (layout){ .rows = s->value[ROWS].number,
                     .stride = s->value[STRIDE].number,
                     .width = s->value[WIDTH].number,
                     .bits = 32,
                     .slice_ptr = col,
                     .perm = col,
                     .base = col,
                     .col = col };
}

static kry_status layout_of(const kryi_matrix *A, layout *l)
{
    kry_status st = KRY_OK;
    const kryi_stage *s = &A->stage[0];
    int height;

    if (A->params.format == KRY_FORMAT_ELL) {
        *l = padded_layout(s);
        return KRY_OK;
    }
    TRY(kryi_sell_height(A->dev, A->shape.type, &A->params, &height));
    *l = (layout){ .rows = s->value[KRY_SELL_ROWS].number,
                   .height = height,
                   .bits = s->column_bits,
                   .sorted = s->sorted };
    l->slice_ptr = l->perm = l->base = s->value[KRY_SELL_SLICE_PTR].buffer;
    l->col = s->value[KRY_SELL_COL].buffer;
    if (l->sorted) l->perm = s->value[KRY_SELL_PERM].buffer;
    if (l->bits < 32) l->base = s->value[KRY_SELL_BASE].buffer;
done:
    return st;
}

kry_status kryi_sell_entries(const kryi_matrix *A, kryi_device_csr *C, bool *all)
{
    enum { MORE = 3 };
    kry_status st = KRY_OK;
    const uint64_t size = sizeof(cl_int), nnz = (uint64_t)A->nnz;
    layout l;
    cl_mem length = NULL;

    *all = A->placed;
    if (!A->placed) return KRY_OK;
    TRY(layout_of(A, &l));
    TRY(kryi_buffer_create(A->dev, (size_t)l.rows * size, &length));
    kry_arg args[] = { ARG(l.rows),   ARG(l.height),    ARG(l.stride), ARG(l.width), ARG(l.bits),
                       ARG(l.sorted), ARG(l.slice_ptr), ARG(l.perm),   ARG(l.base),  ARG(l.col),
                       ARG(length),   ARG(C->col),      ARG(C->place) };
    TRY(kryi_place_run(A->dev, "place_lengths", l.rows, args, COUNT(args) - 2));
    TRY(kryi_device_csr_offsets(A->dev, l.rows, length, &C->row_ptr, NULL));
    TRY(kryi_buffer_create(A->dev, nnz * size, &C->col));
    TRY(kryi_buffer_create(A->dev, nnz * size, &C->place));
    args[COUNT(args) - MORE] = (kry_arg)ARG(C->row_ptr);
    TRY(kryi_place_run(A->dev, "place_entries", l.rows, args, COUNT(args)));
done:
    kryi_buffer_release(A->dev, &length);
    return st;
}

/* ---- what is expected of a matrix -------------------------------------------------------------- */

/* The rows of slice i; those past the last one are -1. */
static kry_status read_slice(const kryi_device_csr *C, const slices *s, int64_t i, int32_t *rows)
{
    const int64_t first = i * s->height, left = C->rows - first;
    const size_t count = (size_t)(left < s->height ? left : s->height);

    for (int l = 0; l < s->height; l++) rows[l] = l < left ? (int32_t)(first + l) : -1;
    return s->sorted ? kryi_buffer_read(C->dev, s->perm, (size_t)first * sizeof *rows,
                                        count * sizeof *rows, rows)
                     : KRY_OK;
}

kry_status kryi_sell_estimate_given(kryi_given *G, const kry_matrix_params *params,
                                    kryi_sell_size *size)
{
    enum { MOST_ROWS = 256 };
    kry_status st = KRY_OK;
    const kryi_device_csr *C = &G->C;
    slices s = { 0 };
    int32_t rows[MOST_ROWS];
    int64_t farthest = 0;
    int height;

    TRY(kryi_sell_height(C->dev, C->type, params, &height));
    if (!suits(G, height, params->sigma)) return kryi_sell_estimate(C->dev, G, params, size);
    TRY(choose_slices(C, height, params->sigma, &s));
    for (int64_t i = 0; i < s.count; i += s.count / KRY_SELL_SAMPLES + 1) {
        TRY(read_slice(C, &s, i, rows));
        const int64_t here = kryi_sell_farthest(G->host, rows, height);
        if (here > farthest) farthest = here;
    }
    const int bits = kryi_sell_bits(C->dev, C->type, (double)s.slots, farthest);
    *size = (kryi_sell_size){ (double)s.slots, bits / 8.0, s.sorted };
done:
    slices_release(C->dev, &s);
    return st;
}
