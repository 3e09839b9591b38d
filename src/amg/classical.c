/* classical.c - classical coarsening: interpolation, and the coarsener. Kernels: cl/amg/interpolation.cl. */
#include "amg/classical.h"
#include "amg/amg_device.h"
#include "device/launch.h"
#include <stdlib.h>
#include <string.h>

/* ---- extended+i interpolation --------------------------------------------------------------- */

enum { MOST = KRY_INTERPOLATE_MOST, MATRIX = 9, MORE = 4, TABLES = 6 };

static const char stem[] = "interpolation", local_tables[] = "-DLOCAL_TABLES";

/* The buffers that all launches for one P share. */
typedef struct work {
    const kryi_device_csr *A;
    const kryi_splitting *s;
    kry_device *dev;
    cl_int n;
    cl_mem near_col, near_val, near_sum; /* couplings to C points */
    cl_mem unfit;                        /* int: rows for which tables were too small */
} work;

static void work_release(work *w)
{
    kryi_buffer_release(w->dev, &w->unfit);
    kryi_buffer_release(w->dev, &w->near_sum);
    kryi_buffer_release(w->dev, &w->near_val);
    kryi_buffer_release(w->dev, &w->near_col);
}

/* A row a work-item. */
static kry_status run_rows(const work *w, const char *name, const kry_arg *args, size_t count)
{
    const int64_t groups = kryi_groups_for(w->dev, KRY_F32, 4 * (int64_t)w->n);
    return kryi_run(w->dev, stem, w->A->type, local_tables, name, groups, args, count);
}

static kry_status work_create(const kryi_device_csr *A, const kryi_splitting *s, work *w)
{
    kry_status st = KRY_OK;
    kry_device *dev = A->dev;

    *w = (work){ .A = A, .s = s, .dev = dev, .n = (cl_int)A->rows };
    TRY(kryi_ints_create(dev, s->near, &w->near_col));
    TRY(kryi_buffer_create(dev, (uint64_t)s->near * kry_type_size(A->type), &w->near_val));
    TRY(kryi_buffer_create(dev, (uint64_t)A->rows * kryi_acc_size(dev), &w->near_sum));
    TRY(kryi_ints_create(dev, 1, &w->unfit));
    const kry_arg args[] = { ARG(w->n),        ARG(A->row_ptr),  ARG(A->col),      ARG(A->val),
                             ARG(s->strong),   ARG(s->number),   ARG(s->near_ptr), ARG(w->near_col),
                             ARG(w->near_val), ARG(w->near_sum), ARG(w->unfit) };
    TRY(run_rows(w, "interpolation_near", args, COUNT(args)));
done:
    return st;
}

/* ---- launches with tables ------------------------------------------------------------------- */

/* The arguments that such kernels have in common, and `more`. Returns how many. */
static size_t arguments(const work *w, const kry_arg more[MORE], kry_arg *args)
{
    const kryi_device_csr *A = w->A;
    const kryi_splitting *s = w->s;
    const kry_arg matrix[MATRIX] = { ARG(A->row_ptr),  ARG(A->col),      ARG(A->val),
                                     ARG(s->strong),   ARG(s->number),   ARG(s->near_ptr),
                                     ARG(w->near_col), ARG(w->near_val), ARG(w->near_sum) };
    size_t count = MATRIX;

    memcpy(args, matrix, sizeof matrix);
    for (int i = 0; i < MORE && more[i].value; i++) args[count++] = more[i];
    return count;
}

/* All rows, with tables in local memory; groups of a size for which 16 KB are enough. */
static kry_status run_all(const work *w, const char *name, const kry_arg more[MORE])
{
    enum { GROUP = 32 };
    kry_status st = KRY_OK;
    const bool cpu = w->dev->info.cpu_kernels;
    const int whole = kryi_group_size(w->dev), size = whole < GROUP ? whole : GROUP;
    const int64_t groups = cpu ? kryi_groups_for(w->dev, KRY_F32, 4 * (int64_t)w->n)
                               : kryi_groups_at_most(w->dev, (w->n + size - 1) / size);
    kryi_kernel *kernel;
    kry_arg args[MATRIX + MORE + TABLES];
    size_t count = arguments(w, more, args);

    args[count++] = (kry_arg)ARG(w->n);
    TRY(kryi_kernel_get(w->dev, stem, w->A->type, local_tables, name, &kernel));
    TRY(kryi_launch_range(w->dev, kernel, (kryi_range){ groups > 0 ? groups : 1, .size = size },
                          args, count));
done:
    return st;
}

/* How many tables of so many bytes there are at once; together they take no more than A, or 64 MB. */
static int64_t tables_of(const work *w, int64_t rows, int64_t bytes)
{
    enum { PER_UNIT = 8, SMALL = 1 << 26 };
    const int64_t of_A = w->A->nnz * (int64_t)(kry_type_size(w->A->type) + sizeof(cl_int));
    const int64_t room = (of_A > SMALL ? of_A : SMALL) / bytes;
    int64_t tables = kryi_groups_at_once(w->dev, PER_UNIT) * kryi_group_size(w->dev);

    if (tables > rows) tables = rows;
    if (tables > room) tables = room;
    return tables > 0 ? tables : 1;
}

/* The rows of a list, with tables of 128 slots in global memory, and four times as many for each list before it. */
static kry_status run_list(const work *w, int which, const char *name, const kry_arg more[MORE])
{
    kry_status st = KRY_OK;
    const kryi_row_list *list = &w->s->lists[which];
    const int bits = 7 + 2 * which, size = kryi_group_size(w->dev);
    const size_t acc = kryi_acc_size(w->dev);
    const int64_t many = tables_of(w, list->rows, (int64_t)(sizeof(cl_int) + acc) << bits);
    const cl_int tables = (cl_int)many, shift = 32 - bits;
    cl_mem key = NULL, weight = NULL;
    kry_arg args[MATRIX + MORE + TABLES];
    size_t count = arguments(w, more, args);

    TRY(kryi_ints_create(w->dev, many << bits, &key));
    TRY(kryi_buffer_create(w->dev, acc * (size_t)(many << bits), &weight));
    const kry_arg last[TABLES] = { ARG(list->rows), ARG(list->todo), ARG(tables),
                                   ARG(shift),      ARG(key),        ARG(weight) };
    memcpy(args + count, last, sizeof last);
    TRY(kryi_run(w->dev, stem, w->A->type, "", name, (many + size - 1) / size, args,
                 count + TABLES));
done:
    kryi_buffer_release(w->dev, &weight);
    kryi_buffer_release(w->dev, &key);
    return st;
}

/* ---- a new P -------------------------------------------------------------------------------- */

/* Its rows, with room for MOST entries each. */
typedef struct rows {
    cl_mem length, col, val;
} rows;

static kry_status rows_create(const work *w, rows *r)
{
    kry_status st = KRY_OK;
    const int64_t places = MOST * (int64_t)w->n;

    TRY(kryi_ints_create(w->dev, w->n, &r->length));
    TRY(kryi_ints_create(w->dev, places, &r->col));
    TRY(kryi_buffer_create(w->dev, (uint64_t)places * kry_type_size(w->A->type), &r->val));
done:
    return st;
}

/* List the rows that did not fit. */
static kry_status list_rows(const work *w, const rows *r, cl_int many, kryi_splitting *s)
{
    kry_status st = KRY_OK;
    kryi_row_list *list = &s->lists[s->count];

    TRY(kryi_ints_create(w->dev, many, &list->todo));
    list->rows = many;
    s->count++;
    const kry_arg args[] = { ARG(w->n), ARG(r->length), ARG(list->todo), ARG(w->unfit) };
    TRY(run_rows(w, "interpolation_list", args, COUNT(args)));
done:
    return st;
}

static kry_status rows_choose(const work *w, kryi_splitting *s, const rows *r)
{
    static const char name[] = "interpolation_choose";
    kry_status st = KRY_OK;
    const kry_arg more[MORE] = { ARG(r->length), ARG(r->col), ARG(r->val), ARG(w->unfit) };
    cl_int unfit;

    kryi_splitting_forget_lists(s);
    TRY(run_all(w, name, more));
    TRY(kryi_buffer_read(w->dev, w->unfit, 0, sizeof unfit, &unfit));
    while (unfit > 0) {
        TRY(list_rows(w, r, unfit, s));
        TRY(run_list(w, s->count - 1, name, more));
        TRY(kryi_buffer_read(w->dev, w->unfit, 0, sizeof unfit, &unfit));
    }
done:
    return st;
}

static kry_status rows_gather(const work *w, const rows *r, kryi_device_csr *P)
{
    kry_status st = KRY_OK;

    TRY(kryi_device_csr_make_rows("a prolongation", r->length, P));
    const kry_arg args[] = { ARG(w->n),   ARG(P->row_ptr), ARG(r->col),
                             ARG(r->val), ARG(P->col),     ARG(P->val) };
    TRY(run_rows(w, "interpolation_gather", args, COUNT(args)));
done:
    return st;
}

kry_status kryi_splitting_interpolate(const kryi_device_csr *A, kryi_splitting *s,
                                      kryi_device_csr *P)
{
    kry_status st = KRY_OK;
    work w = { 0 };
    rows r = { 0 };

    *P = (kryi_device_csr){ .dev = A->dev, .rows = A->rows, .cols = s->coarse, .type = A->type };
    TRY(work_create(A, s, &w));
    TRY(rows_create(&w, &r));
    TRY(rows_choose(&w, s, &r));
    TRY(rows_gather(&w, &r, P));
done:
    kryi_buffer_release(A->dev, &r.val);
    kryi_buffer_release(A->dev, &r.col);
    kryi_buffer_release(A->dev, &r.length);
    work_release(&w);
    if (st < 0) kryi_device_csr_release(P);
    return st;
}

/* ---- new numbers ---------------------------------------------------------------------------- */

kry_status kryi_splitting_interpolate_again(const kryi_device_csr *A, const kryi_splitting *s,
                                            kryi_device_csr *P)
{
    static const char name[] = "interpolation_renew";
    kry_status st = KRY_OK;
    const kry_arg more[MORE] = { ARG(P->row_ptr), ARG(P->col), ARG(P->val) };
    work w = { 0 };

    TRY(work_create(A, s, &w));
    TRY(run_all(&w, name, more));
    for (int which = 0; which < s->count; which++) TRY(run_list(&w, which, name, more));
done:
    work_release(&w);
    return st;
}

/* ---- the coarsener of a matrix on a device -------------------------------------------------- */

static void classical_destroy(void *kept)
{
    kryi_splitting *s = kept;
    if (!s) return;
    kryi_splitting_release(s);
    free(s);
}

static kry_status classical_create(kryi_coarsen *c, const kryi_device_csr *A, kryi_device_csr *P,
                                   kryi_device_csr *R, void **kept)
{
    kry_status st = KRY_OK;
    kryi_splitting *s = NULL;

    *P = *R = (kryi_device_csr){ 0 };
    *kept = NULL;
    TRY(kryi_alloc(1, sizeof *s, &s));
    TRY(kryi_splitting_create(A, c->strength, s));
    if (s->coarse == 0) goto done;
    TRY(kryi_splitting_interpolate(A, s, P));
    c->block = 1;
    *kept = s, s = NULL;
done:
    classical_destroy(s);
    return st;
}

static kry_status classical_update(const kryi_device_csr *A, void *kept, kryi_device_csr *P,
                                   kryi_device_csr *R)
{
    (void)R;
    return kryi_splitting_interpolate_again(A, kept, P);
}

const kryi_coarsener kryi_classical_coarsening = { "classical coarsening", classical_create,
                                                   classical_update, classical_destroy };
