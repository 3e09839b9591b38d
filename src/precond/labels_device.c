/* labels_device.c - labels on a device: Z as a matrix, and the pieces that products with Z' sum. Kernels: cl/precond/labels.cl. */
#include "precond/labels_device.h"
#include "device/launch.h"
#include "grid/stencil.h"
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static kry_status run(kry_device *dev, kry_type type, const char *name, int64_t items,
                      const kry_arg *args, size_t count)
{
    return kryi_run(dev, "labels", type, "", name, kryi_groups_for(dev, type, items), args, count);
}

bool kryi_labels_are_narrow(int64_t domains) { return domains <= UINT16_MAX + 1; }

kry_status kryi_labels_store(kry_device *dev, int64_t n, int64_t domains, cl_mem label, cl_mem *to)
{
    kry_status st = KRY_OK;
    cl_mem narrow = NULL;

    if (!kryi_labels_are_narrow(domains)) {
        TRY(kryi_buffer_retain(dev, label));
        *to = label;
        return KRY_OK;
    }
    TRY(kryi_buffer_create(dev, (uint64_t)n * sizeof(cl_ushort), &narrow));
    const kry_arg args[] = { ARG(n), ARG(label), ARG(narrow) };
    TRY(run(dev, KRY_F32, "labels_narrow", n, args, COUNT(args)));
    *to = narrow, narrow = NULL;
done:
    kryi_buffer_release(dev, &narrow);
    return st;
}

/* ptr := 0 ... n */
static kry_status one_in_each_row(kry_device *dev, int64_t n, cl_mem *ptr)
{
    kry_status st = KRY_OK;

    TRY(kryi_buffer_create(dev, ((size_t)n + 1) * sizeof(cl_int), ptr));
    const kry_arg args[] = { ARG(n), ARG(*ptr) };
    TRY(run(dev, KRY_F32, "labels_rows", n, args, COUNT(args)));
done:
    return st;
}

kry_status kryi_labels_ones(kry_device *dev, kry_type type, bool narrow, int64_t n, int64_t k,
                            cl_mem label, kryi_device_csr *ones)
{
    kry_status st = KRY_OK;
    const cl_mem small = narrow ? label : NULL, full = narrow ? NULL : label;

    *ones = (kryi_device_csr){ .dev = dev, .rows = n, .cols = k, .nnz = n, .type = type };
    TRY(one_in_each_row(dev, n, &ones->row_ptr));
    TRY(kryi_buffer_create(dev, (uint64_t)n * sizeof(cl_int), &ones->col));
    TRY(kryi_buffer_create(dev, (uint64_t)n * kry_type_size(type), &ones->val));
    const kry_arg args[] = { ARG(n), ARG(small), ARG(full), ARG(ones->col), ARG(ones->val) };
    TRY(run(dev, type, "labels_entries", n, args, COUNT(args)));
done:
    if (st < 0) kryi_device_csr_release(ones);
    return st;
}

/* ---- pieces ---------------------------------------------------------------------------------- */

/* In the order of unknowns. */
typedef struct unsorted {
    kryi_device_csr of; /* a row for each piece, with an entry in the column of its label */
    cl_mem start, length;
} unsorted;

static void unsorted_release(unsorted *u)
{
    kry_device *dev = u->of.dev;

    kryi_buffer_release(dev, &u->length);
    kryi_buffer_release(dev, &u->start);
    kryi_device_csr_release(&u->of);
}

static kry_status find(int64_t n, cl_mem label, unsorted *u)
{
    enum { PIECE = 8 }; /* as in cl/precond/labels.cl */
    kry_status st = KRY_OK;
    kry_device *dev = u->of.dev;
    const int64_t blocks = (n + PIECE - 1) / PIECE;
    cl_mem count = NULL, first = NULL;

    TRY(kryi_buffer_create(dev, (size_t)blocks * sizeof(cl_int), &count));
    const kry_arg counts[] = { ARG(n), ARG(label), ARG(count) };
    TRY(run(dev, KRY_F32, "pieces_count", 2 * blocks, counts, COUNT(counts)));
    TRY(kryi_device_csr_offsets(dev, blocks, count, &first, &u->of.nnz));
    u->of.rows = u->of.nnz;
    const uint64_t pieces = (uint64_t)u->of.nnz;
    TRY(kryi_buffer_create(dev, pieces * sizeof(cl_int), &u->of.col));
    TRY(kryi_buffer_create(dev, pieces * sizeof(cl_int), &u->start));
    TRY(kryi_buffer_create(dev, pieces, &u->length));
    const kry_arg args[] = { ARG(n),         ARG(label),    ARG(first),
                             ARG(u->of.col), ARG(u->start), ARG(u->length) };
    TRY(run(dev, KRY_F32, "pieces_find", 2 * blocks, args, COUNT(args)));
    TRY(one_in_each_row(dev, u->of.nnz, &u->of.row_ptr));
done:
    kryi_buffer_release(dev, &first);
    kryi_buffer_release(dev, &count);
    return st;
}

static kry_status sort(const unsorted *u, kryi_pieces *p)
{
    kry_status st = KRY_OK;
    kry_device *dev = u->of.dev;
    kryi_device_csr by_label = { 0 };
    cl_mem from = NULL;

    TRY(kryi_device_csr_transpose(&u->of, &by_label, &from));
    TRY(kryi_alloc((size_t)by_label.rows + 1, sizeof *p->of_label, &p->of_label));
    TRY(kryi_device_csr_read_offsets(&by_label, p->of_label));
    TRY(kryi_buffer_create(dev, (size_t)p->count * sizeof(cl_int), &p->start));
    TRY(kryi_buffer_create(dev, (size_t)p->count, &p->length));
    const kry_arg args[] = { ARG(p->count),  ARG(by_label.col), ARG(u->start),
                             ARG(u->length), ARG(p->start),     ARG(p->length) };
    TRY(run(dev, KRY_F32, "pieces_sort", p->count, args, COUNT(args)));
done:
    kryi_buffer_release(dev, &from);
    kryi_device_csr_release(&by_label);
    return st;
}

kry_status kryi_labels_pieces(kry_device *dev, int64_t n, int64_t domains, cl_mem label,
                              kryi_pieces *p)
{
    kry_status st = KRY_OK;
    unsorted u = { .of = { .dev = dev, .cols = domains, .type = KRY_F32 } };

    *p = (kryi_pieces){ 0 };
    TRY(find(n, label, &u));
    p->count = u.of.nnz;
    TRY(sort(&u, p));
done:
    unsorted_release(&u);
    return st;
}

/* ---- blocks and phases of a grid ------------------------------------------------------------- */

/*
 * Blocks and phases of a grid on a GPU: the labels that kry_labels_levels and kry_labels_blocks give.
 * Kernels: cl/precond/labels.cl.
 *
 * Numbers with one exponent are less than twice apart, so a level consists of all numbers with some exponents in a row. The device
 * says which exponents occur, and where these are two apart how far the numbers are.
 */

enum { EXPONENTS = 2200 };    /* as in cl/precond/labels.cl */
enum { MOST_KEYS = 1 << 20 }; /* blocks times levels: what the host sorts */

typedef struct cells {
    const kryi_stencil *grid;
    kry_device *dev;
    cl_int block[3], across[2], levels;
    int64_t keys;
    cl_int level_of[EXPONENTS];
    cl_mem level;
} cells;

static kry_status run_cells(const cells *c, const char *name, const kry_arg *args, size_t count)
{
    return kryi_run(c->dev, "labels", c->grid->type, "", name,
                    kryi_groups_for(c->dev, c->grid->type, c->grid->n), args, count);
}

/* ---- levels ---------------------------------------------------------------------------------- */

static kry_status find_exponents(const cells *c, cl_int *used)
{
    kry_status st = KRY_OK;
    cl_mem found = NULL;

    memset(used, 0, EXPONENTS * sizeof *used);
    TRY(kryi_buffer_upload(c->dev, EXPONENTS * sizeof *used, used, &found));
    const kry_arg args[] = { ARG(c->grid->n), ARG(c->grid->coefficient), ARG(found) };
    TRY(run_cells(c, "levels_exponents", args, COUNT(args)));
    TRY(kryi_buffer_read(c->dev, found, 0, EXPONENTS * sizeof *used, used));
done:
    kryi_buffer_release(c->dev, &found);
    return st;
}

/* Whether the numbers with exponents up to this one end more than `jump` below the others. */
static kry_status find_border(const cells *c, cl_int exponent, double jump, bool *border)
{
    kry_status st = KRY_OK;
    const kry_type type = c->grid->type;
    const int64_t groups = kryi_groups_for_sums(c->dev, type, c->grid->n);
    const size_t bytes = 2 * (size_t)groups * kry_type_size(type);
    void *numbers = NULL;
    cl_mem part = NULL;
    double low = 0, high = INFINITY;

    TRY(kryi_alloc(bytes, 1, &numbers));
    TRY(kryi_buffer_create(c->dev, bytes, &part));
    const kry_arg args[] = { ARG(c->grid->n), ARG(c->grid->coefficient), ARG(exponent), ARG(part) };
    TRY(kryi_run(c->dev, "labels", type, "", "levels_border", groups, args, COUNT(args)));
    TRY(kryi_buffer_read(c->dev, part, 0, bytes, numbers));
    for (int64_t g = 0; g < groups; g++) {
        low = fmax(low, kryi_number_at(type, numbers, 2 * g));
        high = fmin(high, kryi_number_at(type, numbers, 2 * g + 1));
    }
    *border = high / low > jump;
done:
    kryi_buffer_release(c->dev, &part);
    free(numbers);
    return st;
}

static kry_status find_levels(cells *c)
{
    static const double jump =
        4; /* the default of kry_labels_levels; what follows is made for it */
    kry_status st = KRY_OK;
    cl_int used[EXPONENTS], last = -1;

    TRY(find_exponents(c, used));
    for (cl_int e = 0; e < EXPONENTS; e++) {
        if (!used[e]) continue;
        bool border = last < 0 || e - last > 2;
        if (last >= 0 && e - last == 2) TRY(find_border(c, last, jump, &border));
        if (border) c->levels++;
        c->level_of[e] = c->levels - 1;
        last = e;
    }
done:
    return st;
}

/* ---- numbers --------------------------------------------------------------------------------- */

typedef struct key {
    cl_int first, number; /* first: cell, INT_MAX: none */
} key;

static int by_first(const void *a, const void *b)
{
    const cl_int x = ((const key *)a)->first, y = ((const key *)b)->first;
    return (x > y) - (x < y);
}

static kry_status run_keys(const cells *c, const char *name, cl_mem in, const cl_mem *out)
{
    const kryi_stencil *g = c->grid;
    const cl_int size[3] = { (cl_int)g->size[0], (cl_int)g->size[1], (cl_int)g->size[2] };
    const cl_mem kappa = g->coefficient ? g->coefficient : c->level; /* or not touched */
    kry_arg args[] = { ARG(size[0]),        ARG(size[1]),     ARG(size[2]),      ARG(c->block[0]),
                       ARG(c->block[1]),    ARG(c->block[2]), ARG(c->across[0]), ARG(c->across[1]),
                       ARG(c->levels),      ARG(c->level),    ARG(kappa),        ARG(in),
                       { sizeof *out, out } };

    return run_cells(c, name, args, COUNT(args) - !out);
}

/* number := of each key, as they first appear; *count: of those that do. */
static kry_status number_keys(const cells *c, cl_int *number, int64_t *count)
{
    kry_status st = KRY_OK;
    const size_t bytes = (size_t)c->keys * sizeof *number;
    key *keys = NULL;
    cl_mem first = NULL;

    TRY(kryi_alloc((size_t)c->keys, sizeof *keys, &keys));
    for (int64_t j = 0; j < c->keys; j++) number[j] = INT_MAX;
    TRY(kryi_buffer_upload(c->dev, bytes, number, &first));
    TRY(run_keys(c, "blocks_first", first, NULL));
    TRY(kryi_buffer_read(c->dev, first, 0, bytes, number));
    for (int64_t j = 0; j < c->keys; j++) keys[j] = (key){ number[j], (cl_int)j };
    qsort(keys, (size_t)c->keys, sizeof *keys, by_first);
    *count = 0;
    for (int64_t j = 0; j < c->keys; j++)
        if (keys[j].first < INT_MAX) number[keys[j].number] = (cl_int)(*count)++;
done:
    kryi_buffer_release(c->dev, &first);
    free(keys);
    return st;
}

/* Phases without blocks are numbered as their levels ascend. */
static kry_status number_levels(const cells *c, cl_int *number, int64_t *count)
{
    for (int64_t j = 0; j < c->keys; j++) number[j] = (cl_int)j;
    *count = c->keys;
    return KRY_OK;
}

static void describe_blocks(cells *c, int64_t block)
{
    int64_t blocks = 1;

    for (int a = 0; a < 3; a++) {
        const int64_t size = c->grid->size[a], side = block && block < size ? block : size;
        c->block[a] = (cl_int)side;
        blocks *= (size + side - 1) / side;
        if (a < 2) c->across[a] = (cl_int)((size + side - 1) / side);
    }
    c->keys = blocks;
}

kry_status kryi_labels_of_grid(const kryi_stencil *grid, int64_t block, bool phase, cl_mem *label,
                               int64_t *count)
{
    kry_status st = KRY_OK;
    cells c = { .grid = grid, .dev = grid->dev };
    cl_int *number = NULL;
    cl_mem numbers = NULL, found = NULL;

    *label = NULL;
    describe_blocks(&c, block);
    if (phase && grid->coefficient) TRY(find_levels(&c));
    if (c.levels == 0) c.levels = 1;
    c.keys *= c.levels;
    if (c.keys > MOST_KEYS) goto done;
    TRY(kryi_alloc((size_t)c.keys, sizeof *number, &number));
    TRY(kryi_buffer_upload(c.dev, sizeof c.level_of, c.level_of, &c.level));
    TRY(block ? number_keys(&c, number, count) : number_levels(&c, number, count));
    TRY(kryi_buffer_upload(c.dev, (size_t)c.keys * sizeof *number, number, &numbers));
    TRY(kryi_buffer_create(c.dev, (size_t)grid->n * sizeof(cl_int), &found));
    TRY(run_keys(&c, "blocks_label", numbers, &found));
    *label = found, found = NULL;
done:
    kryi_buffer_release(c.dev, &found);
    kryi_buffer_release(c.dev, &numbers);
    kryi_buffer_release(c.dev, &c.level);
    free(number);
    return st;
}
