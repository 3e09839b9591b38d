/* given.c - the entries that a caller gives, uploaded as they are, checked and counted on the device. Kernels: cl/given.cl. */
#include "matrix/given.h"
#include "device/launch.h"
#include <limits.h>
#include <stdlib.h>

/* What kernels leave behind. */
enum {
    BAD,
    LONGEST,
    NOT_SINGLE,
    TOO_LARGE,
    UNEQUAL,
    ZERO_ROWS,
    ZERO_ROW,
    NEGATIVE,
    NOT_POSITIVE,
    FOUND
};
static const cl_int nothing[FOUND] = { [ZERO_ROW] = INT_MAX, [NOT_POSITIVE] = INT_MAX };

/* For each of so many work-items something to do. */
static kry_status run(const kry_csr *C, const char *name, int64_t items, const kry_arg *args,
                      size_t count)
{
    return kry_run(C->dev, "given", C->type, "", name, kry_groups_to_cover(C->dev, items), args,
                   count);
}

static kry_status begin_looking(kry_device *dev, cl_mem *found)
{
    kry_status st = kry_buffer_create(dev, sizeof nothing, found);
    if (st == KRY_OK) st = kry_buffer_write_later(dev, *found, 0, sizeof nothing, nothing);
    return st;
}

/* ---- from the host ---------------------------------------------------------------------------- */

/* The device holds the matrix, its format, and what makes one of the other. */
static bool has_room(const kry_device *dev, const kry_entries *e)
{
    enum { COPIES = 4 };
    const double number = (double)kry_type_size(e->given.type), nnz = (double)e->nnz;
    const double bytes = nnz * (number + 4) + 12.0 * (double)e->given.rows;

    return COPIES * bytes <= (double)dev->info.global_bytes &&
           nnz * number <= (double)dev->info.max_alloc_bytes;
}

static bool suits(const kry_device *dev, const kry_entries *e, const kry_matrix_params *p)
{
    const bool formats = p->format != KRY_FORMAT_HYB && p->format != KRY_FORMAT_COO;
    const bool plain = p->storage == KRY_GENERAL && p->form == KRY_ASSEMBLED && !p->on_host;
    const bool gpu = !dev->team && !kry_device_is_host(dev) && !dev->info.cpu_kernels;

    return gpu && dev->info.fp64 && plain && formats && e->given.row_ptr && e->nnz > 0 &&
           e->nnz <= INT32_MAX && has_room(dev, e);
}

/* C->row_ptr := the offsets, once they are uploaded. They are narrowed while columns are on their way. */
static kry_status narrow_offsets(const kry_csr *C, cl_mem wide, cl_mem found)
{
    const cl_int rows = (cl_int)C->rows, nnz = (cl_int)C->nnz;
    const kry_arg args[] = { ARG(rows), ARG(nnz), ARG(wide), ARG(C->row_ptr), ARG(found) };
    return run(C, "given_offsets", C->rows + 1, args, COUNT(args));
}

static kry_status check_columns(const kry_csr *C, cl_mem found)
{
    const cl_int rows = (cl_int)C->rows, cols = (cl_int)C->cols, lanes = kry_given_lanes(C);
    const kry_arg args[] = { ARG(rows),       ARG(cols),   ARG(lanes),
                             ARG(C->row_ptr), ARG(C->col), ARG(found) };
    return run(C, "given_columns", C->rows * lanes, args, COUNT(args));
}

static kry_status check_values(const kry_csr *C, cl_mem found)
{
    const kry_arg args[] = { ARG(C->nnz), ARG(C->val), ARG(found) };
    return run(C, "given_values", C->nnz, args, COUNT(args));
}

/* Each array is looked at while the next one is on its way. */
static kry_status upload(const kry_sparse *given, kry_csr *C, cl_mem *wide, cl_mem found)
{
    kry_status st = KRY_OK;
    kry_device *dev = C->dev;
    const size_t rows = (size_t)C->rows + 1, nnz = (size_t)C->nnz;

    TRY(kry_buffer_create(dev, rows * sizeof(cl_int), &C->row_ptr));
    TRY(kry_buffer_upload(dev, rows * sizeof *given->row_ptr, given->row_ptr, wide));
    TRY(narrow_offsets(C, *wide, found));
    TRY(kry_buffer_upload(dev, nnz * sizeof *given->col, given->col, &C->col));
    TRY(check_columns(C, found));
    TRY(kry_buffer_upload(dev, nnz * kry_type_size(C->type), given->val, &C->val));
    TRY(check_values(C, found));
done:
    return st;
}

kry_status kry_given_upload(kry_device *dev, const kry_entries *e, const kry_matrix_params *params,
                            kry_given *G)
{
    kry_status st = KRY_OK;
    const kry_sparse *given = &e->given;
    cl_int what[FOUND];
    cl_mem wide = NULL, found = NULL;

    *G = (kry_given){ .host = given };
    if (!suits(dev, e, params)) return KRY_OK;
    G->C = (kry_csr){
        .dev = dev, .rows = given->rows, .cols = given->cols, .nnz = e->nnz, .type = given->type
    };
    TRY(begin_looking(dev, &found));
    TRY(upload(given, &G->C, &wide, found));
    TRY(kry_buffer_read(dev, found, 0, sizeof what, what));
    if (what[BAD]) {
        kry_csr_release(&G->C);
        goto done;
    }
    G->longest = what[LONGEST];
    G->singles = !what[NOT_SINGLE], G->too_large = what[TOO_LARGE];
    TRY(kry_given_inspect(&G->C, &G->finding, &G->symmetric));
done:
    kry_buffer_release(dev, &found);
    kry_buffer_release(dev, &wide);
    if (st < 0) kry_given_release(G);
    return st;
}

kry_type kry_given_stored(const kry_given *G, kry_values values)
{
    const bool narrow = values == KRY_VALUES_SINGLE || (values == KRY_VALUES_COMPACT && G->singles);
    return G->C.type == KRY_F64 && narrow ? KRY_F32 : G->C.type;
}

void kry_given_release(kry_given *G)
{
    if (G->C.dev) kry_csr_release(&G->C);
}

kry_status kry_given_look_at_values(kry_given *G, bool *finite)
{
    kry_status st = KRY_OK;
    const kry_csr *C = &G->C;
    cl_int what[FOUND];
    cl_mem found = NULL;

    TRY(begin_looking(C->dev, &found));
    TRY(check_values(C, found));
    TRY(kry_buffer_read(C->dev, found, 0, sizeof what, what));
    *finite = !what[BAD];
    G->singles = !what[NOT_SINGLE], G->too_large = what[TOO_LARGE];
done:
    kry_buffer_release(C->dev, &found);
    return st;
}

/* ---- against Krylov methods ------------------------------------------------------------------- */

/* What the groups found, and room on the host for it. */
typedef struct mirrors {
    int64_t groups;
    cl_mem largest, difference, at;
    double *size, *apart;
    struct place {
        cl_int entry, row, mirror;
    } * place;
} mirrors;

static void mirrors_release(kry_device *dev, mirrors *m)
{
    kry_buffer_release(dev, &m->largest);
    kry_buffer_release(dev, &m->difference);
    kry_buffer_release(dev, &m->at);
    free(m->size);
    free(m->apart);
    free(m->place);
}

static kry_status find_mirrors(const kry_csr *C, mirrors *m, cl_mem found)
{
    kry_status st = KRY_OK;
    const cl_int rows = (cl_int)C->rows, lanes = kry_given_lanes(C);
    const size_t groups = (size_t)kry_groups_for_sums(C->dev, C->type, C->rows * lanes);

    m->groups = (int64_t)groups;
    TRY(kry_alloc(groups, sizeof *m->size, &m->size));
    TRY(kry_alloc(groups, sizeof *m->apart, &m->apart));
    TRY(kry_alloc(groups, sizeof *m->place, &m->place));
    TRY(kry_buffer_create(C->dev, groups * sizeof *m->size, &m->largest));
    TRY(kry_buffer_create(C->dev, groups * sizeof *m->apart, &m->difference));
    TRY(kry_buffer_create(C->dev, groups * sizeof *m->place, &m->at));
    const kry_arg args[] = { ARG(rows),          ARG(lanes),  ARG(C->row_ptr),
                             ARG(C->col),        ARG(C->val), ARG(m->largest),
                             ARG(m->difference), ARG(m->at),  ARG(found) };
    TRY(kry_run(C->dev, "given", C->type, "", "given_mirrors", m->groups, args, COUNT(args)));
    TRY(kry_buffer_read(C->dev, m->largest, 0, groups * sizeof *m->size, m->size));
    TRY(kry_buffer_read(C->dev, m->difference, 0, groups * sizeof *m->apart, m->apart));
    TRY(kry_buffer_read(C->dev, m->at, 0, groups * sizeof *m->place, m->place));
done:
    return st;
}

/* *v := number k of C, 0 for k < 0. */
static kry_status read_number(const kry_csr *C, cl_int k, double *v)
{
    kry_status st = KRY_OK;
    const size_t size = kry_type_size(C->type);
    double number = 0;

    if (k >= 0) TRY(kry_buffer_read(C->dev, C->val, (size_t)k * size, size, &number));
    *v = kry_number_at(C->type, &number, 0);
done:
    return st;
}

static kry_status name_asymmetry(const kry_csr *C, const struct place *p, kry_finding *found)
{
    kry_status st = KRY_OK;
    cl_int col;

    TRY(kry_buffer_read(C->dev, C->col, (size_t)p->entry * sizeof col, sizeof col, &col));
    *found = (kry_finding){ .what = KRY_FOUND_ASYMMETRIC, .row = p->row, .col = col };
    TRY(read_number(C, p->entry, &found->entry));
    TRY(read_number(C, p->mirror, &found->mirror));
done:
    return st;
}

/* The largest difference, of equals the first, if it is more than rounding. */
static kry_status judge_mirrors(const kry_csr *C, const mirrors *m, kry_finding *found)
{
    double largest = 0, apart = 0;
    const struct place *place = NULL;

    for (int64_t g = 0; g < m->groups; g++) {
        if (m->size[g] > largest) largest = m->size[g];
        const bool first = m->apart[g] > apart ||
                           (place && m->apart[g] == apart && m->place[g].entry < place->entry);
        if (first) apart = m->apart[g], place = &m->place[g];
    }
    if (!place || apart <= kry_inspect_rounding(C->type) * largest) return KRY_OK;
    return name_asymmetry(C, place, found);
}

/* *v := entry (row, row), 0 if there is none. */
static kry_status read_diagonal(const kry_csr *C, cl_int row, double *v)
{
    kry_status st = KRY_OK;
    const size_t size = sizeof(cl_int);
    cl_int range[2], own = -1, *col = NULL;

    TRY(kry_buffer_read(C->dev, C->row_ptr, (size_t)row * size, sizeof range, range));
    const size_t count = (size_t)(range[1] - range[0]);
    TRY(kry_alloc(count, size, &col));
    TRY(kry_buffer_read(C->dev, C->col, (size_t)range[0] * size, count * size, col));
    for (size_t k = 0; k < count; k++)
        if (col[k] == row) own = range[0] + (cl_int)k;
    TRY(read_number(C, own, v));
done:
    free(col);
    return st;
}

static kry_status judge_diagonal(const kry_csr *C, const cl_int *what, kry_finding *found)
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

kry_status kry_given_inspect(const kry_csr *C, kry_finding *found, bool *symmetric)
{
    kry_status st = KRY_OK;
    const cl_int rows = (cl_int)C->rows;
    mirrors m = { 0 };
    cl_int what[FOUND];
    cl_mem noted = NULL;

    *found = (kry_finding){ 0 }, *symmetric = false;
    if (C->rows != C->cols) return KRY_OK;
    TRY(begin_looking(C->dev, &noted));
    const kry_arg args[] = { ARG(rows), ARG(C->row_ptr), ARG(C->col), ARG(C->val), ARG(noted) };
    TRY(run(C, "given_diagonal", C->rows, args, COUNT(args)));
    TRY(find_mirrors(C, &m, noted));
    TRY(kry_buffer_read(C->dev, noted, 0, sizeof what, what));
    *symmetric = !what[UNEQUAL];
    TRY(judge_mirrors(C, &m, found));
    TRY(judge_diagonal(C, what, found));
done:
    kry_buffer_release(C->dev, &noted);
    mirrors_release(C->dev, &m);
    return st;
}
