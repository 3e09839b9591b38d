/* spgemm.c - products of matrices in compressed rows on a device. Kernels: cl/formats/spgemm.cl, cl/formats/spgemm_rows.cl. */
#include "device/launch.h"
#include "matrix/device_csr.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define TOO_LARGE "a product of matrices on a device has up to 2^31-1 entries, this one has %lld"

/* The kernels of a product are given these. */
typedef struct product {
    const kryi_device_csr *A, *B;
    kry_device *dev;
    cl_int rows, cols;
    cl_int lanes; /* GPUs: work-items for a long row */
    int64_t groups;
    cl_mem scratch; /* CPUs */
} product;

/* How spgemm_rows.cl is launched: work-items to a row, and places of the tables that a group has for its rows. */
typedef struct rows_shape {
    cl_int lanes, slots;
} rows_shape;
enum { ROWS_GROUP = 32, MOST_SLOTS = 1024, ROWS_MORE = 13 };

/* A table of a group: an argument that is local memory. each: bytes of a slot. */
static kry_arg rows_table(rows_shape shape, size_t each)
{
    return (kry_arg){ (size_t)shape.slots * each, NULL };
}

static double mean_row(int64_t count, int64_t rows)
{
    return rows ? (double)count / (double)rows : 0;
}

/* Products that make a row of C. */
static double mean_products(const kryi_device_csr *A, const kryi_device_csr *B)
{
    return mean_row(A->nnz, A->rows) * mean_row(B->nnz, B->rows);
}

enum { OPERANDS = 7, MORE = 7 };

static cl_int lanes_for(const kry_device *dev, double products)
{
    cl_int lanes = products <= 48 ? 8 : products <= 256 ? 16 : 32;

    while (lanes > kryi_group_size(dev)) lanes /= 2;
    return lanes;
}

static kry_status product_begin(const kryi_device_csr *A, const kryi_device_csr *B, product *p)
{
    kry_device *dev = A->dev;
    const int size = kryi_group_size(dev);

    *p = (product){ .A = A, .B = B, .dev = dev, .rows = (cl_int)A->rows, .cols = (cl_int)B->cols };
    if (dev->info.cpu_kernels) {
        p->groups = kryi_device_csr_groups(dev, A->rows, B->cols, A->nnz + B->nnz);
        return kryi_buffer_create(dev, (uint64_t)(p->groups * B->cols) * sizeof(cl_int),
                                  &p->scratch);
    }
    p->lanes = lanes_for(dev, mean_products(A, B));
    p->groups = kryi_groups_at_most(dev, (A->rows * p->lanes + 8 * size - 1) / (8 * size));
    if (p->groups < 1) p->groups = 1;
    return KRY_OK;
}

/* few: as spgemm.cl has it. */
static kry_status run(const product *p, kry_type type, const char *name, cl_int few,
                      const kry_arg *more, size_t count)
{
    const bool cpu = p->dev->info.cpu_kernels;
    const kry_arg cols = ARG(p->cols), lanes = ARG(p->lanes), left = ARG(few);
    const kry_arg scratch = ARG(p->scratch);
    const kry_arg operands[OPERANDS] = { ARG(p->rows),        ARG(p->A->row_ptr),
                                         ARG(p->A->col),      ARG(p->B->row_ptr),
                                         ARG(p->B->col),      cpu ? cols : lanes,
                                         cpu ? scratch : left };
    kry_arg args[OPERANDS + MORE];

    memcpy(args, operands, sizeof operands);
    memcpy(args + OPERANDS, more, count * sizeof *more);
    return kryi_run(p->dev, "spgemm", type, "", name, p->groups, args, OPERANDS + count);
}

/* ---- rows that are not long, on GPUs ----------------------------------------------------------- */

static int group_size(const kry_device *dev)
{
    const int size = kryi_group_size(dev);
    return size < ROWS_GROUP ? size : ROWS_GROUP;
}

static int slots_of_row(const kry_device *dev, rows_shape shape)
{
    return shape.slots / group_size(dev) * shape.lanes;
}

/* So many work-items to a row of C as there are `steps` side by side, and room for twice `length` columns. */
static rows_shape rows_shape_for(const kry_device *dev, double steps, double length)
{
    rows_shape shape = { .lanes = 2, .slots = MOST_SLOTS / 4 };

    while (shape.lanes < group_size(dev) && shape.lanes < steps) shape.lanes *= 2;
    while (shape.slots < MOST_SLOTS && slots_of_row(dev, shape) < 2 * length) shape.slots *= 2;
    while (shape.lanes < group_size(dev) && slots_of_row(dev, shape) < 2 * length) shape.lanes *= 2;
    return shape;
}

/* For the longest rows that there are tables for. */
static rows_shape rows_shape_of_long(const kry_device *dev)
{
    return (rows_shape){ .lanes = group_size(dev), .slots = MOST_SLOTS };
}

/* Rows that a group has at once; columns of a row that its table is not too full with; groups for so many rows. */
static int rows_teams(const kry_device *dev, rows_shape shape)
{
    return group_size(dev) / shape.lanes;
}

static cl_int rows_few(const kry_device *dev, rows_shape shape)
{
    return slots_of_row(dev, shape) / 4 * 3;
}

static int64_t rows_groups(const kry_device *dev, rows_shape shape, int64_t rows)
{
    const int teams = rows_teams(dev, shape);
    const int64_t groups = kryi_groups_at_most(dev, (rows + teams - 1) / teams);
    return groups > 0 ? groups : 1;
}

/* A launch of spgemm_rows.cl over so many rows. */
static kry_status rows_launch(kry_device *dev, kry_type type, rows_shape shape, const char *name,
                              int64_t rows, const kry_arg *args, size_t count)
{
    kry_status st = KRY_OK;
    kryi_kernel *kernel;

    TRY(kryi_kernel_get(dev, "spgemm_rows", type, "", name, &kernel));
    TRY(kryi_launch_range(dev, kernel,
                          (kryi_range){ rows_groups(dev, shape, rows), .size = group_size(dev) },
                          args, count));
done:
    return st;
}

/* Launch a kernel whose arguments begin with OPERANDS, which has `rows` and the keys; more: the arguments behind these. */
static kry_status rows_run(const product *p, kry_type type, rows_shape shape, const char *name,
                           cl_int rows, const kry_arg *more, size_t count)
{
    enum { SHARED = 8 };
    const kry_arg operands[SHARED] = { ARG(rows),        ARG(p->A->row_ptr),
                                       ARG(p->A->col),   ARG(p->B->row_ptr),
                                       ARG(p->B->col),   ARG(shape.lanes),
                                       ARG(shape.slots), rows_table(shape, sizeof(cl_int)) };
    kry_arg args[SHARED + ROWS_MORE];

    memcpy(args, operands, sizeof operands);
    memcpy(args + SHARED, more, count * sizeof *more);
    return rows_launch(p->dev, type, shape, name, rows, args, SHARED + count);
}

/* ---- the steps of a product ---------------------------------------------------------------------- */

static double steps_of(const product *p) { return mean_row(p->A->nnz, p->A->rows) / 2; }

static kry_status find_lengths(const product *p, cl_mem length)
{
    kry_status st = KRY_OK;
    const kry_arg more[] = { ARG(length) };

    if (!p->dev->info.cpu_kernels) {
        const rows_shape shape = rows_shape_for(p->dev, steps_of(p), mean_products(p->A, p->B) / 2);
        TRY(rows_run(p, p->A->type, shape, "spgemm_row_lengths", p->rows, more, COUNT(more)));
    }
    TRY(run(p, KRY_F32, "spgemm_lengths", 0, more, COUNT(more)));
done:
    return st;
}

static kry_status find_columns(const product *p, const kryi_device_csr *C)
{
    kry_status st = KRY_OK;
    const rows_shape shape = rows_shape_for(p->dev, steps_of(p), mean_row(C->nnz, C->rows));
    const cl_int few = rows_few(p->dev, shape);
    const kry_arg lists = rows_table(shape, sizeof(cl_int));
    const kry_arg more[] = { lists, ARG(few), ARG(C->row_ptr), ARG(C->col) };

    if (!p->dev->info.cpu_kernels)
        TRY(rows_run(p, C->type, shape, "spgemm_row_columns", p->rows, more, COUNT(more)));
    TRY(run(p, KRY_F32, "spgemm_columns", few, more + 2, COUNT(more) - 2));
done:
    return st;
}

/* Launch spgemm_values on a CPU, or spgemm_entries, which finds the columns of C, too. */
static kry_status run_on_cpu(const product *p, const char *name, bool lower,
                             const kryi_device_csr *C)
{
    const cl_int half_of_it = lower;
    const kry_arg more[] = { ARG(half_of_it), ARG(p->A->val), ARG(p->B->val),
                             ARG(C->row_ptr), ARG(C->col),    ARG(C->val) };
    return run(p, C->type, name, 0, more, COUNT(more));
}

static kry_status make_numbers(const product *p, bool lower, const kryi_device_csr *C)
{
    kry_status st = KRY_OK;
    const rows_shape shape =
        rows_shape_for(p->dev, mean_row(p->B->nnz, p->B->rows), mean_row(C->nnz, C->rows));
    const cl_int few = rows_few(p->dev, shape), half_of_it = lower;
    const kry_arg sums = rows_table(shape, kry_type_size(C->type));
    const kry_arg rows[] = { sums,           ARG(few),        ARG(C->row_ptr),
                             ARG(C->col),    ARG(half_of_it), ARG(p->A->val),
                             ARG(p->B->val), ARG(C->val) };
    const kry_arg others[] = { ARG(p->A->val), ARG(p->B->val), ARG(C->row_ptr), ARG(C->col),
                               ARG(C->val) };

    if (p->dev->info.cpu_kernels) return run_on_cpu(p, "spgemm_values", lower, C);
    TRY(rows_run(p, C->type, shape, "spgemm_row_values", p->rows, rows, COUNT(rows)));
    TRY(run(p, C->type, "spgemm_values", few, others, COUNT(others)));
done:
    return st;
}

/* ---- products at once ------------------------------------------------------------------------ */

/*
 * Products of matrices in compressed rows on GPUs, whose numbers are made together with the pattern: each row
 * once, to any free place of a room that is as large as a sample of the rows says, and from there to its own place.
 * Kernels: cl/formats/spgemm_rows.cl.
 */

/* Where rows go before their places are known. */
typedef struct room {
    cl_int places;
    cl_mem col, val;      /* `places` entries */
    cl_mem start, length; /* of rows */
    cl_mem state;         /* two int, of spgemm_row_once */
    cl_int found[2];      /* what they were at last */
    rows_shape shape;
    bool longer; /* there are rows for which the tables were too small at first */
} room;

static void release_entries(kry_device *dev, room *r)
{
    kryi_buffer_release(dev, &r->val);
    kryi_buffer_release(dev, &r->col);
}

/* The state from its i-th int on. */
static kry_status reset(kry_device *dev, const room *r, int i)
{
    static const cl_int none[2] = { 0, 0 };
    return kryi_buffer_write_later(dev, r->state, (size_t)i * sizeof *none,
                                   sizeof none - (size_t)i * sizeof *none, none);
}

static kry_status look(kry_device *dev, room *r)
{
    return kryi_buffer_read(dev, r->state, 0, sizeof r->found, r->found);
}

/* *entries: about how many a row of C has. */
static kry_status sample(const product *p, room *r, double *entries)
{
    enum { MOST = 4096 };
    kry_status st = KRY_OK;
    const cl_int samples = p->rows < MOST ? p->rows : MOST;
    const rows_shape shape =
        rows_shape_for(p->dev, mean_row(p->A->nnz, p->A->rows) / 2, mean_products(p->A, p->B) / 2);
    const kry_arg more[] = { ARG(p->rows), ARG(r->state) };

    TRY(reset(p->dev, r, 0));
    TRY(rows_run(p, p->A->type, shape, "spgemm_row_sample", samples, more, COUNT(more)));
    TRY(look(p->dev, r));
    *entries = (double)r->found[0] / (double)samples;
done:
    return st;
}

/* How many places a group takes at a time: so many that few are left over, and that it asks seldom. 1: what it needs. */
static cl_int share_of(const product *p, rows_shape shape, double entries)
{
    enum { SOME = 16, PARTS = 8, MOST = 32 };
    const int teams = rows_teams(p->dev, shape);
    const int64_t rounds = p->rows / teams / rows_groups(p->dev, shape, p->rows);
    const int64_t at_once = rounds / PARTS < MOST ? rounds / PARTS : MOST;

    return rounds < SOME ? 1 : (cl_int)((double)(at_once * teams) * entries);
}

/* again: the rows that did not fit before. */
static kry_status make_rows(const product *p, kry_type type, const room *r, rows_shape shape,
                            cl_int share, bool lower, bool again)
{
    const cl_int only = again, half = lower;
    const kry_arg sums = rows_table(shape, kry_type_size(type));
    const kry_arg lists = rows_table(shape, sizeof(cl_ushort));
    const kry_arg more[] = { sums,           lists,          ARG(only),      ARG(half),
                             ARG(p->A->val), ARG(p->B->val), ARG(share),     ARG(r->places),
                             ARG(r->state),  ARG(r->start),  ARG(r->length), ARG(r->col),
                             ARG(r->val) };
    return rows_run(p, type, shape, "spgemm_row_once", p->rows, more, COUNT(more));
}

/* All rows into the room. *fits false: there are longer ones than the largest table has room for. */
static kry_status fill(const product *p, kry_type type, room *r, double entries, bool lower,
                       bool *fits)
{
    kry_status st = KRY_OK;
    const rows_shape large = rows_shape_of_long(p->dev);

    r->shape = rows_shape_for(p->dev, mean_row(p->B->nnz, p->B->rows), entries);
    TRY(reset(p->dev, r, 0));
    TRY(make_rows(p, type, r, r->shape, share_of(p, r->shape, entries), lower, false));
    TRY(look(p->dev, r));
    r->longer = r->found[1] > 0;
    if (r->longer) {
        TRY(reset(p->dev, r, 1));
        TRY(make_rows(p, type, r, large, 1, lower, true));
        TRY(look(p->dev, r));
    }
    *fits = r->found[1] == 0;
done:
    return st;
}

static kry_status make_room(kry_device *dev, kry_type type, double places, room *r)
{
    kry_status st = KRY_OK;

    release_entries(dev, r);
    r->places = (cl_int)places;
    TRY(kryi_buffer_create(dev, (uint64_t)r->places * sizeof(cl_int), &r->col));
    TRY(kryi_buffer_create(dev, (uint64_t)r->places * kry_type_size(type), &r->val));
done:
    return st;
}

static kry_status create(const product *p, room *r)
{
    kry_status st = KRY_OK;

    *r = (room){ 0 };
    TRY(kryi_buffer_create(p->dev, (uint64_t)p->rows * sizeof(cl_int), &r->start));
    TRY(kryi_buffer_create(p->dev, (uint64_t)p->rows * sizeof(cl_int), &r->length));
    TRY(kryi_buffer_create(p->dev, sizeof r->found, &r->state));
done:
    return st;
}

/* The rows with more entries than `above` that a group's lists have room for. */
static kry_status settle_rows(const product *p, const room *r, rows_shape shape, cl_int above,
                              const kryi_device_csr *C)
{
    const kry_arg args[] = {
        ARG(p->rows),    ARG(shape.lanes), ARG(shape.slots), rows_table(shape, sizeof(cl_int)),
        ARG(above),      ARG(r->start),    ARG(r->col),      ARG(r->val),
        ARG(C->row_ptr), ARG(C->col),      ARG(C->val)
    };
    return rows_launch(p->dev, C->type, shape, "spgemm_row_settle", p->rows, args, COUNT(args));
}

/* C := the rows of the room. */
static kry_status settle(const product *p, const room *r, kryi_device_csr *C)
{
    kry_status st = KRY_OK;
    const cl_int few = rows_few(p->dev, r->shape);

    TRY(kryi_device_csr_make_rows("a product of matrices", r->length, C));
    TRY(settle_rows(p, r, r->shape, 0, C));
    if (r->longer) TRY(settle_rows(p, r, rows_shape_of_long(p->dev), few, C));
done:
    return st;
}

/* How many places a room may have: an eighth of the device's memory. */
static double most_places(const kry_device *dev, kry_type type)
{
    const double size = (double)kry_type_size(type), bytes = (double)dev->info.global_bytes / 8;
    const double most =
        fmin(bytes / (size + sizeof(cl_int)), (double)dev->info.max_alloc_bytes / size);
    return fmin(most, INT32_MAX);
}

/* As many places as the sample asks for, and if they do not suffice as many as it took. *fits false: there are rows that are
 * too long. */
static kry_status fill_room(const product *p, kry_type type, room *r, bool lower, bool *fits)
{
    const double more = 1.25, most = most_places(p->dev, type);
    kry_status st = KRY_OK;
    double entries, places;

    *fits = false;
    TRY(sample(p, r, &entries));
    places = more * entries * (double)p->rows + MOST_SLOTS;
    for (int tries = 0; tries < 2 && places <= most; tries++) {
        TRY(make_room(p->dev, type, places, r));
        TRY(fill(p, type, r, entries, lower, fits));
        if (!*fits || (r->found[0] >= 0 && r->found[0] <= r->places)) return KRY_OK;
        places = r->found[0] < 0 ? INT32_MAX : more * (double)r->found[0];
        *fits = false;
    }
done:
    return st;
}

/* C := A B, numbers with the pattern; *made false: a row is too long, or memory does not suffice. */
static kry_status product_at_once(const product *p, bool lower, kryi_device_csr *C, bool *made)
{
    kry_status st = KRY_OK;
    room r = { 0 };

    *made = false;
    if (p->rows == 0) return KRY_OK;
    TRY(create(p, &r));
    TRY(fill_room(p, C->type, &r, lower, made));
    if (*made) TRY(settle(p, &r, C));
done:
    release_entries(p->dev, &r);
    kryi_buffer_release(p->dev, &r.state);
    kryi_buffer_release(p->dev, &r.length);
    kryi_buffer_release(p->dev, &r.start);
    return st;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static kry_status run_blocks(const kryi_device_csr *A, const char *name, const kry_arg *args,
                             size_t count)
{
    return kryi_run(A->dev, "spgemm_blocks", A->type, "", name,
                    kryi_groups_for(A->dev, A->type, 2 * A->rows), args, count);
}

kry_status kryi_device_csr_find_blocks(int tall, int wide, kryi_device_csr *A)
{
    kry_status st = KRY_OK;
    const cl_int nodes = (cl_int)(A->rows / tall), high = tall, across = wide;
    cl_int found = 0;
    cl_mem out = NULL;

    if (A->rows % tall || A->cols % wide) return KRY_OK;
    TRY(kryi_buffer_create(A->dev, sizeof found, &out));
    TRY(kryi_buffer_write_later(A->dev, out, 0, sizeof found, &found));
    const kry_arg args[] = { ARG(nodes),      ARG(high),   ARG(across),
                             ARG(A->row_ptr), ARG(A->col), ARG(out) };
    TRY(run_blocks(A, "blocks_check", args, COUNT(args)));
    TRY(kryi_buffer_read(A->dev, out, 0, sizeof found, &found));
    if (!found) A->tall = tall, A->wide = wide;
done:
    kryi_buffer_release(A->dev, &out);
    return st;
}

kry_status kryi_device_csr_blocks(const kryi_device_csr *A, kryi_device_csr *N)
{
    kry_status st = KRY_OK;
    const cl_int nodes = (cl_int)(A->rows / A->tall), tall = A->tall, wide = A->wide;

    *N = (kryi_device_csr){ .dev = A->dev, .rows = nodes, .cols = A->cols / wide, .type = A->type };
    N->nnz = A->nnz / (tall * wide);
    TRY(kryi_ints_create(A->dev, N->rows + 1, &N->row_ptr));
    TRY(kryi_ints_create(A->dev, N->nnz, &N->col));
    const kry_arg args[] = { ARG(nodes),  ARG(tall),       ARG(wide),  ARG(A->row_ptr),
                             ARG(A->col), ARG(N->row_ptr), ARG(N->col) };
    TRY(run_blocks(A, "blocks_nodes", args, COUNT(args)));
done:
    if (st < 0) kryi_device_csr_release(N);
    return st;
}

/* Whether the product is made of blocks. GPUs have no kernel for that. */
static bool in_blocks(const kryi_device_csr *A, const kryi_device_csr *B)
{
    return A->val && A->tall && B->tall == A->wide && A->dev->info.cpu_kernels;
}

static kry_status make_blocks(const kryi_device_csr *A, const kryi_device_csr *B, bool lower,
                              const kryi_device_csr *C)
{
    kry_status st = KRY_OK;
    const cl_int nodes = (cl_int)(A->rows / A->tall), cols = (cl_int)(B->cols / B->wide),
                 half_of_it = lower, tall = A->tall, inner = A->wide, wide = B->wide;
    const int64_t groups = kryi_device_csr_groups(A->dev, nodes, cols, A->nnz + B->nnz);
    cl_mem place = NULL;

    TRY(kryi_ints_create(A->dev, groups * cols, &place));
    const kry_arg args[] = { ARG(nodes),  ARG(tall),       ARG(inner),      ARG(wide),
                             ARG(cols),   ARG(place),      ARG(half_of_it), ARG(A->row_ptr),
                             ARG(A->col), ARG(A->val),     ARG(B->row_ptr), ARG(B->col),
                             ARG(B->val), ARG(C->row_ptr), ARG(C->col),     ARG(C->val) };
    TRY(kryi_run(A->dev, "spgemm_blocks", C->type, "", "spgemm_block_values", groups, args,
                 COUNT(args)));
done:
    kryi_buffer_release(A->dev, &place);
    return st;
}

/* C gets the pattern of N, of its blocks, and room for its numbers. */
static kry_status spread_blocks(const kryi_device_csr *N, kryi_device_csr *C)
{
    kry_status st = KRY_OK;
    const cl_int nodes = (cl_int)N->rows, tall = C->tall, wide = C->wide;

    C->nnz = N->nnz * tall * wide;
    CHECK(C->nnz <= INT32_MAX, KRY_ERR_UNSUPPORTED, TOO_LARGE, (long long)C->nnz);
    TRY(kryi_ints_create(C->dev, C->rows + 1, &C->row_ptr));
    TRY(kryi_ints_create(C->dev, C->nnz, &C->col));
    TRY(kryi_buffer_create(C->dev, (uint64_t)C->nnz * kry_type_size(C->type), &C->val));
    const kry_arg args[] = { ARG(nodes),  ARG(tall),       ARG(wide),  ARG(N->row_ptr),
                             ARG(N->col), ARG(C->row_ptr), ARG(C->col) };
    TRY(run_blocks(C, "blocks_spread", args, COUNT(args)));
done:
    return st;
}

static kry_status product_of_blocks(const kryi_device_csr *A, const kryi_device_csr *B, bool lower,
                                    kryi_device_csr *C)
{
    kry_status st = KRY_OK;
    kryi_device_csr left = { 0 }, right = { 0 }, nodes = { 0 };

    C->tall = A->tall, C->wide = B->wide;
    TRY(kryi_device_csr_blocks(A, &left));
    TRY(kryi_device_csr_blocks(B, &right));
    TRY(kryi_device_csr_product(&left, &right, false, &nodes));
    TRY(spread_blocks(&nodes, C));
    TRY(make_blocks(A, B, lower, C));
done:
    kryi_device_csr_release(&nodes);
    kryi_device_csr_release(&right);
    kryi_device_csr_release(&left);
    return st;
}

/* ---- products -------------------------------------------------------------------------------- */

/* Row pointers, and how many entries there are. Integer kernels are compiled once, for whatever type. */
static kry_status make_offsets(const product *p, cl_mem *row_ptr, int64_t *nnz)
{
    kry_status st = KRY_OK;
    cl_mem length = NULL;

    TRY(kryi_buffer_create(p->dev, (uint64_t)p->rows * sizeof(cl_int), &length));
    TRY(find_lengths(p, length));
    TRY(kryi_device_csr_offsets(p->dev, p->rows, length, row_ptr, nnz));
done:
    kryi_buffer_release(p->dev, &length);
    return st;
}

/* The offsets of C, and room for its columns. */
static kry_status make_offsets_and_room(const product *p, kryi_device_csr *C)
{
    kry_status st = KRY_OK;

    TRY(make_offsets(p, &C->row_ptr, &C->nnz));
    CHECK(C->nnz <= INT32_MAX, KRY_ERR_UNSUPPORTED, TOO_LARGE, (long long)C->nnz);
    TRY(kryi_buffer_create(p->dev, (uint64_t)C->nnz * sizeof(cl_int), &C->col));
done:
    return st;
}

kry_status kryi_device_csr_product(const kryi_device_csr *A, const kryi_device_csr *B, bool lower,
                                   kryi_device_csr *C)
{
    kry_status st = KRY_OK;
    product p = { .dev = A->dev };
    bool made = false;

    *C = (kryi_device_csr){ .dev = A->dev, .rows = A->rows, .cols = B->cols, .type = A->type };
    if (in_blocks(A, B)) {
        TRY(product_of_blocks(A, B, lower, C));
        goto done;
    }
    TRY(product_begin(A, B, &p));
    if (A->val && !p.dev->info.cpu_kernels) TRY(product_at_once(&p, lower, C, &made));
    if (made) goto done;
    TRY(make_offsets_and_room(&p, C));
    if (A->val) TRY(kryi_buffer_create(p.dev, (uint64_t)C->nnz * kry_type_size(C->type), &C->val));
    if (A->val && p.dev->info.cpu_kernels) {
        TRY(run_on_cpu(&p, "spgemm_entries", lower, C));
        goto done;
    }
    TRY(find_columns(&p, C));
    if (A->val) TRY(make_numbers(&p, lower, C));
done:
    kryi_buffer_release(p.dev, &p.scratch);
    if (st < 0) kryi_device_csr_release(C);
    return st;
}

kry_status kryi_device_csr_product_count(const kryi_device_csr *A, const kryi_device_csr *B,
                                         int64_t *nnz)
{
    kry_status st = KRY_OK;
    product p;
    cl_mem row_ptr = NULL;

    TRY(product_begin(A, B, &p));
    TRY(make_offsets(&p, &row_ptr, nnz));
done:
    kryi_buffer_release(p.dev, &row_ptr);
    kryi_buffer_release(p.dev, &p.scratch);
    return st;
}

kry_status kryi_device_csr_product_again(const kryi_device_csr *A, const kryi_device_csr *B,
                                         bool lower, kryi_device_csr *C)
{
    kry_status st = KRY_OK;
    product p;

    if (in_blocks(A, B)) return make_blocks(A, B, lower, C);
    TRY(product_begin(A, B, &p));
    TRY(make_numbers(&p, lower, C));
done:
    kryi_buffer_release(p.dev, &p.scratch);
    return st;
}
