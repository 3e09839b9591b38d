/* given.c - the entries that a caller gives, uploaded as they are, checked and counted on the device: which diagonals have
 * entries, and how long rows are. Kernels: cl/formats/given.cl, cl/formats/place.cl. */
#include "matrix/given.h"
#include "device/launch.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Places of the numbers that kernels leave behind. */
enum {
    BAD,
    LONGEST,
    NOT_SINGLE,
    UNFIT,
    UNEQUAL,
    ZERO_ROWS,
    ZERO_ROW,
    NEGATIVE,
    NOT_POSITIVE,
    FOUND,
    PARTS = 16 /* numbers before those of groups */
};
static const cl_int nothing[FOUND] = { [ZERO_ROW] = INT_MAX, [NOT_POSITIVE] = INT_MAX };

/* A group found this: as in given.cl. */
typedef struct part {
    double largest, difference, entry, mirror;
    cl_int at, row, col, unused;
} part;

/* All that is read back, at once: a wait takes as long as several kernels for a small matrix. */
typedef struct looking {
    int64_t groups; /* that compare mirror images; 0: the matrix is not square */
    cl_mem found;
    cl_int *what; /* FOUND; behind them the parts */
} looking;

/* Kernels of integers alone are compiled once, for whatever type. */
kry_status kryi_place_run(kry_device *dev, const char *name, int64_t items, const kry_arg *args,
                          size_t count)
{
    return kryi_run(dev, "place", KRY_F32, "", name, kryi_groups_to_cover(dev, items), args, count);
}

kry_status kryi_place_zeros(kry_device *dev, size_t ints, cl_mem *buffer)
{
    kry_status st = KRY_OK;
    const int64_t count = (int64_t)ints;

    TRY(kryi_buffer_create(dev, ints * sizeof(cl_int), buffer));
    const kry_arg args[] = { ARG(count), ARG(*buffer) };
    TRY(kryi_place_run(dev, "place_zero", count, args, COUNT(args)));
done:
    return st;
}

int64_t kryi_groups_to_cover(const kry_device *dev, int64_t items)
{
    const int size = kryi_group_size(dev);
    return kryi_groups_at_most(dev, items > 0 ? (items + size - 1) / size : 1);
}

cl_int kryi_given_lanes(const kryi_device_csr *C)
{
    enum { MOST = 32 };
    cl_int lanes = 1;
    while (lanes < MOST && 2 * lanes * C->rows <= C->nnz) lanes *= 2;
    return lanes;
}

/* For each of so many work-items something to do. Integer kernels are compiled with those of the numbers. */
static kry_status run(const kryi_device_csr *C, const char *name, int64_t items,
                      const kry_arg *args, size_t count)
{
    return kryi_run(C->dev, "given", C->type, "", name, kryi_groups_to_cover(C->dev, items), args,
                    count);
}

static size_t found_bytes(const looking *l)
{
    return PARTS * sizeof(cl_int) + (size_t)l->groups * sizeof(part);
}

static kry_status begin_looking(const kryi_device_csr *C, looking *l)
{
    kry_status st = KRY_OK;
    kry_device *dev = C->dev;

    *l = (looking){ 0 };
    if (C->rows == C->cols)
        l->groups = kryi_groups_for_sums(dev, C->type, C->rows * kryi_given_lanes(C));
    TRY(kryi_alloc(found_bytes(l), 1, &l->what));
    TRY(kryi_buffer_create(dev, found_bytes(l), &l->found));
    TRY(kryi_buffer_write_later(dev, l->found, 0, sizeof nothing, nothing));
done:
    return st;
}

static void looking_release(kry_device *dev, looking *l)
{
    kryi_buffer_release(dev, &l->found);
    free(l->what);
}

/* ---- from the host ---------------------------------------------------------------------------- */

/* The device holds the matrix, its format, and what makes one of the other. */
static bool has_room(const kry_device *dev, const kryi_entries *e)
{
    enum { COPIES = 4 };
    const double number = (double)kry_type_size(e->given.type), nnz = (double)e->nnz;
    const double bytes = nnz * (number + 4) + 12.0 * (double)e->given.rows;

    return COPIES * bytes <= (double)dev->info.global_bytes &&
           nnz * number <= (double)dev->info.max_alloc_bytes;
}

static bool suits(const kry_device *dev, const kryi_entries *e, const kry_matrix_params *p)
{
    const bool formats =
        p->format != KRY_FORMAT_JDS && p->format != KRY_FORMAT_HYB && p->format != KRY_FORMAT_COO;
    const bool plain = p->storage == KRY_GENERAL && p->form == KRY_ASSEMBLED && !p->on_host;
    const bool gpu = !dev->team && !dev->info.cpu_kernels;

    return gpu && dev->info.fp64 && plain && formats && e->given.row_ptr && e->nnz > 0 &&
           e->nnz <= INT32_MAX && has_room(dev, e);
}

static kry_status check_values(const kryi_device_csr *C, cl_mem found)
{
    const kry_arg args[] = { ARG(C->nnz), ARG(C->val), ARG(found) };
    return run(C, "given_values", C->nnz, args, COUNT(args));
}

/* Each array is looked at while the next one is on its way; C->row_ptr := the offsets, narrowed while columns are on theirs. */
static kry_status upload(const kryi_csr *given, kryi_device_csr *C, cl_mem *wide, cl_mem found)
{
    kry_status st = KRY_OK;
    kry_device *dev = C->dev;
    const uint64_t bytes = ((uint64_t)C->rows + 1) * sizeof(cl_int), nnz = (uint64_t)C->nnz;
    const cl_int rows = (cl_int)C->rows, cols = (cl_int)C->cols, last = (cl_int)C->nnz,
                 lanes = kryi_given_lanes(C);

    TRY(kryi_buffer_create(dev, bytes, &C->row_ptr));
    TRY(kryi_buffer_upload(dev, ((size_t)C->rows + 1) * sizeof *given->row_ptr, given->row_ptr,
                           wide));
    const kry_arg offsets[] = { ARG(rows), ARG(last), ARG(*wide), ARG(C->row_ptr), ARG(found) };
    TRY(run(C, "given_offsets", C->rows + 1, offsets, COUNT(offsets)));
    TRY(kryi_buffer_upload(dev, nnz * sizeof *given->col, given->col, &C->col));
    const kry_arg columns[] = { ARG(rows),       ARG(cols),   ARG(lanes),
                                ARG(C->row_ptr), ARG(C->col), ARG(found) };
    TRY(run(C, "given_columns", C->rows * lanes, columns, COUNT(columns)));
    TRY(kryi_buffer_upload(dev, nnz * kry_type_size(C->type), given->val, &C->val));
    TRY(check_values(C, found));
done:
    return st;
}

/* ---- against Krylov methods ------------------------------------------------------------------- */

/* The largest difference, of equals the first, if it is more than rounding. */
static void check_mirrors(const kryi_device_csr *C, const looking *l, kryi_finding *found)
{
    const part *p = (const part *)(l->what + PARTS), *worst = NULL;
    double largest = 0, apart = 0;

    for (int64_t g = 0; g < l->groups; g++) {
        const bool equal = worst && p[g].difference == apart;
        if (p[g].largest > largest) largest = p[g].largest;
        if (p[g].difference > apart || (equal && p[g].at < worst->at))
            apart = p[g].difference, worst = &p[g];
    }
    if (!worst || apart <= kryi_inspect_rounding(C->type) * largest) return;
    *found = (kryi_finding){ .what = KRY_FOUND_ASYMMETRIC,
                             .row = worst->row,
                             .col = worst->col,
                             .entry = worst->entry,
                             .mirror = worst->mirror };
}

/* *v := number k of C, 0 for k < 0. */
static kry_status read_number(const kryi_device_csr *C, cl_int k, double *v)
{
    kry_status st = KRY_OK;
    const size_t size = kry_type_size(C->type);
    double number = 0;

    if (k >= 0) TRY(kryi_buffer_read(C->dev, C->val, (size_t)k * size, size, &number));
    *v = kryi_number_at(C->type, &number, 0);
done:
    return st;
}

/* *v := entry (row, row), 0 if there is none. */
static kry_status read_diagonal(const kryi_device_csr *C, cl_int row, double *v)
{
    kry_status st = KRY_OK;
    const size_t size = sizeof(cl_int);
    cl_int range[2], own = -1, *col = NULL;

    TRY(kryi_buffer_read(C->dev, C->row_ptr, (size_t)row * size, sizeof range, range));
    const size_t count = (size_t)(range[1] - range[0]);
    TRY(kryi_alloc(count, size, &col));
    TRY(kryi_buffer_read(C->dev, C->col, (size_t)range[0] * size, count * size, col));
    for (size_t k = 0; k < count; k++)
        if (col[k] == row) own = range[0] + (cl_int)k;
    TRY(read_number(C, own, v));
done:
    free(col);
    return st;
}

static kry_status check_diagonal(const kryi_device_csr *C, const cl_int *what, kryi_finding *found)
{
    kry_status st = KRY_OK;
    const cl_int row = what[NOT_POSITIVE];

    found->zero_rows = what[ZERO_ROWS];
    if (what[ZERO_ROWS]) found->zero_row = what[ZERO_ROW];
    if (found->what || row == INT_MAX) return KRY_OK;
    found->what = KRY_FOUND_NOT_POSITIVE;
    found->row = found->col = row;
    found->negative = what[NEGATIVE] == C->rows;
    TRY(read_diagonal(C, row, &found->entry));
    found->mirror = found->entry;
done:
    return st;
}

/* ---- both ----------------------------------------------------------------------------------------- */

static kry_status look_at_rows(const kryi_device_csr *C, const looking *l)
{
    kry_status st = KRY_OK;
    const cl_int rows = (cl_int)C->rows, lanes = kryi_given_lanes(C);
    const kry_arg diagonal[] = { ARG(rows), ARG(C->row_ptr), ARG(C->col), ARG(C->val),
                                 ARG(l->found) };
    const kry_arg mirrors[] = { ARG(rows),   ARG(lanes),  ARG(C->row_ptr),
                                ARG(C->col), ARG(C->val), ARG(l->found) };

    if (!l->groups) return KRY_OK;
    TRY(run(C, "given_diagonal", C->rows, diagonal, COUNT(diagonal)));
    TRY(kryi_run(C->dev, "given", C->type, "", "given_mirrors", l->groups, mirrors,
                 COUNT(mirrors)));
done:
    return st;
}

/* The numbers are looked at; so are their mirror images and the diagonal. Waits. */
static kry_status end_looking(kryi_given *G, const looking *l)
{
    kry_status st = KRY_OK;
    const kryi_device_csr *C = &G->C;
    const cl_int *what = l->what;

    TRY(look_at_rows(C, l));
    TRY(kryi_buffer_read(C->dev, l->found, 0, found_bytes(l), l->what));
    G->longest = what[LONGEST];
    G->seen = (kryi_seen){ .faults = (what[BAD] ? KRY_SEEN_NOT_FINITE : 0) |
                                     (what[NOT_SINGLE] ? KRY_SEEN_NOT_SINGLE : 0) |
                                     (what[UNFIT] ? KRY_SEEN_UNFIT : 0),
                           .compared = true,
                           .symmetric = l->groups && !what[UNEQUAL] };
    G->finding = (kryi_finding){ 0 };
    if (!l->groups || what[BAD]) return KRY_OK;
    check_mirrors(C, l, &G->finding);
    TRY(check_diagonal(C, what, &G->finding));
done:
    return st;
}

kry_status kryi_given_upload(kry_device *dev, const kryi_entries *e,
                             const kry_matrix_params *params, kryi_given *G)
{
    kry_status st = KRY_OK;
    const kryi_csr *given = &e->given;
    looking l = { 0 };
    cl_mem wide = NULL;

    *G = (kryi_given){ .who = e->who, .host = given, .map.given = e->nnz };
    if (!suits(dev, e, params)) return KRY_OK;
    G->C = (kryi_device_csr){
        .dev = dev, .rows = given->rows, .cols = given->cols, .nnz = e->nnz, .type = given->type
    };
    TRY(begin_looking(&G->C, &l));
    TRY(upload(given, &G->C, &wide, l.found));
    TRY(end_looking(G, &l));
    if (G->seen.faults & KRY_SEEN_NOT_FINITE) kryi_device_csr_release(&G->C);
done:
    looking_release(dev, &l);
    kryi_buffer_release(dev, &wide);
    if (st < 0) kryi_given_release(G);
    return st;
}

/* ---- what the choice of a format asks ------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

kry_status kryi_given_diagonals(const kryi_device_csr *C, int64_t most, int32_t **offset,
                                int64_t *count)
{
    kry_status st = KRY_OK;
    const cl_int rows = (cl_int)C->rows, lanes = kryi_given_lanes(C), room = (cl_int)most;
    const cl_int all = (cl_int)(C->rows + C->cols);
    cl_mem seen = NULL, found = NULL;
    int32_t *list = NULL;

    *offset = NULL, *count = most + 1;
    if (C->rows + C->cols > INT32_MAX) return KRY_OK;
    TRY(kryi_place_zeros(C->dev, ((size_t)all + 31) / 32, &seen));
    TRY(kryi_place_zeros(C->dev, (size_t)most + 1, &found));
    TRY(kryi_alloc((size_t)most + 1, sizeof *list, &list));
    const kry_arg look[] = { ARG(rows), ARG(lanes), ARG(C->row_ptr), ARG(C->col), ARG(seen) };
    TRY(run(C, "given_diagonals", C->rows * lanes, look, COUNT(look)));
    const kry_arg gather[] = { ARG(rows), ARG(all), ARG(room), ARG(seen), ARG(found) };
    TRY(run(C, "given_list", all / 32 + 1, gather, COUNT(gather)));
    TRY(kryi_buffer_read(C->dev, found, 0, ((size_t)most + 1) * sizeof *list, list));
    *count = list[0];
    if (*count > most) goto done;
    memmove(list, list + 1, (size_t)*count * sizeof *list);
    qsort(list, (size_t)*count, sizeof *list, ascending);
    *offset = list, list = NULL;
done:
    free(list);
    kryi_buffer_release(C->dev, &found);
    kryi_buffer_release(C->dev, &seen);
    return st;
}

kry_status kryi_given_lengths(const kryi_device_csr *C, int64_t longest, cl_int *with)
{
    kry_status st = KRY_OK;
    const cl_int rows = (cl_int)C->rows, last = (cl_int)longest;
    cl_mem counts = NULL;

    TRY(kryi_place_zeros(C->dev, (size_t)longest + 1, &counts));
    const kry_arg args[] = { ARG(rows), ARG(C->row_ptr), ARG(last), ARG(counts) };
    TRY(kryi_run(C->dev, "given", C->type, "", "given_lengths",
                 kryi_groups_for_sums(C->dev, C->type, C->rows), args, COUNT(args)));
    TRY(kryi_buffer_read(C->dev, counts, 0, ((size_t)longest + 1) * sizeof *with, with));
done:
    kryi_buffer_release(C->dev, &counts);
    return st;
}

void kryi_given_release(kryi_given *G)
{
    kryi_device_csr_release(&G->C);
    kryi_entry_map_release(&G->map);
    kryi_slices_release(&G->slices);
    free(G->diagonal);
    G->diagonal = NULL;
}

kry_status kryi_given_look_again(kryi_given *G)
{
    kry_status st = KRY_OK;
    const kryi_device_csr *C = &G->C;
    looking l = { 0 };

    TRY(begin_looking(C, &l));
    TRY(check_values(C, l.found));
    TRY(end_looking(G, &l));
done:
    looking_release(C->dev, &l);
    return st;
}
