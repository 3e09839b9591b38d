/* interpolation.c - extended+i interpolation on a device. Kernels: cl/interpolation.cl. */
#include "device/launch.h"
#include "multigrid/classical.h"
#include <string.h>

enum { MOST = KRY_INTERPOLATE_MOST, OPERANDS = 15, MORE = 4 };

/* What the launches for one P share. */
typedef struct work {
    const kry_csr *A;
    const kry_splitting *s;
    kry_device *dev;
    cl_int n;
    cl_mem near_col, near_val; /* couplings to C points */
    cl_mem unfit;              /* int: rows for which tables were too small */
} work;

static void work_release(work *w)
{
    kry_buffer_release(w->dev, &w->unfit);
    kry_buffer_release(w->dev, &w->near_val);
    kry_buffer_release(w->dev, &w->near_col);
}

static kry_status create_ints(kry_device *dev, int64_t count, cl_mem *buffer)
{
    return kry_buffer_create(dev, (size_t)count * sizeof(cl_int), buffer);
}

/* A row a work-item. */
static kry_status run_rows(const work *w, const char *name, const kry_arg *args, size_t count)
{
    const int64_t groups = kry_groups_for(w->dev, KRY_F32, 4 * (int64_t)w->n);
    return kry_run(w->dev, "interpolation", w->A->type, "", name, groups, args, count);
}

static kry_status work_create(const kry_csr *A, const kry_splitting *s, work *w)
{
    kry_status st = KRY_OK;
    kry_device *dev = A->dev;

    *w = (work){ .A = A, .s = s, .dev = dev, .n = (cl_int)A->rows };
    TRY(create_ints(dev, s->near, &w->near_col));
    TRY(kry_buffer_create(dev, (size_t)s->near * kry_type_size(A->type), &w->near_val));
    TRY(create_ints(dev, 1, &w->unfit));
    const kry_arg args[] = { ARG(w->n),        ARG(A->row_ptr), ARG(A->col),      ARG(A->val),
                             ARG(s->strong),   ARG(s->number),  ARG(s->near_ptr), ARG(w->near_col),
                             ARG(w->near_val), ARG(w->unfit) };
    TRY(run_rows(w, "interpolation_near", args, COUNT(args)));
done:
    return st;
}

/* Slots are a power of two, four times as many in each launch. The first one is to suit nearly all rows, by how long
 * they are: C_i has up to 12 points of poisson3d, and 20 to 60 on the levels below it. */
static cl_int shift_of(const kry_csr *A, int launch)
{
    const double length = (double)A->nnz / (double)A->rows;
    const int bits = length <= 8 ? 5 : length <= 40 ? 6 : 7;
    return 32 - bits - 2 * launch;
}

/* How many tables of so many bytes there are at once. */
static int64_t tables_of(const work *w, int64_t rows, int64_t bytes)
{
    enum { PER_UNIT = 4, ROWS_OF_CPU = 64, SMALL = 1 << 26 };
    const kry_csr *A = w->A;
    const bool cpu = w->dev->info.cpu_kernels;
    const int64_t of_A = A->nnz * (int64_t)(kry_type_size(A->type) + sizeof(cl_int));
    const int64_t room = (of_A > SMALL ? of_A : SMALL) / bytes;
    const int64_t useful = cpu ? rows / ROWS_OF_CPU : rows;
    int64_t tables = kry_groups_at_once(w->dev, PER_UNIT) * kry_group_size(w->dev);

    if (tables > useful) tables = useful;
    if (tables > room) tables = room;
    return tables > 0 ? tables : 1;
}

/* Run a kernel over the rows of launch number `launch`, with tables of its own. */
static kry_status run_tables(const work *w, int launch, const char *name, const kry_arg *more,
                             size_t count)
{
    kry_status st = KRY_OK;
    const kry_csr *A = w->A;
    const kry_splitting *s = w->s;
    const cl_int is_list = launch > 0, rows = is_list ? s->lists[launch - 1].rows : w->n;
    const cl_mem todo = is_list ? s->lists[launch - 1].todo : s->number; /* not used */
    const cl_int shift = shift_of(A, launch);
    const int64_t slots = (int64_t)1 << (32 - shift), size = kry_group_size(w->dev);
    const size_t acc = kry_acc_size(w->dev);
    const int64_t many = tables_of(w, rows, slots * (int64_t)(sizeof(cl_int) + acc));
    const cl_int tables = (cl_int)many;
    cl_mem key = NULL, weight = NULL;

    TRY(create_ints(w->dev, many * slots, &key));
    TRY(kry_buffer_create(w->dev, (size_t)(many * slots) * acc, &weight));
    kry_arg args[OPERANDS + MORE] = { ARG(rows),        ARG(tables),      ARG(is_list),
                                      ARG(todo),        ARG(A->row_ptr),  ARG(A->col),
                                      ARG(A->val),      ARG(s->strong),   ARG(s->number),
                                      ARG(s->near_ptr), ARG(w->near_col), ARG(w->near_val),
                                      ARG(shift),       ARG(key),         ARG(weight) };
    memcpy(args + OPERANDS, more, count * sizeof *more);
    TRY(kry_run(w->dev, "interpolation", A->type, "", name, (many + size - 1) / size, args,
                OPERANDS + count));
done:
    kry_buffer_release(w->dev, &weight);
    kry_buffer_release(w->dev, &key);
    return st;
}

/* The rows of P with room for MOST entries each. */
typedef struct rows {
    cl_mem length, col, val;
} rows;

/* List the rows that did not fit. */
static kry_status list_rows(const work *w, const rows *r, cl_int many, kry_splitting *s)
{
    kry_status st = KRY_OK;
    kry_row_list *list = &s->lists[s->launches - 1];

    list->rows = many;
    TRY(create_ints(w->dev, many, &list->todo));
    const kry_arg args[] = { ARG(w->n), ARG(r->length), ARG(list->todo), ARG(w->unfit) };
    TRY(run_rows(w, "interpolation_list", args, COUNT(args)));
done:
    return st;
}

static void forget_lists(kry_splitting *s)
{
    for (size_t l = 0; l < COUNT(s->lists); l++) kry_buffer_release(s->dev, &s->lists[l].todo);
    s->launches = 0;
}

static kry_status rows_choose(const work *w, kry_splitting *s, rows *r)
{
    kry_status st = KRY_OK;
    cl_int unfit = 0;

    TRY(create_ints(w->dev, w->n, &r->length));
    TRY(create_ints(w->dev, MOST * (int64_t)w->n, &r->col));
    TRY(kry_buffer_create(w->dev, MOST * (size_t)w->n * kry_type_size(w->A->type), &r->val));
    forget_lists(s);
    while (s->launches == 0 || unfit > 0) {
        const kry_arg more[] = { ARG(r->length), ARG(r->col), ARG(r->val), ARG(w->unfit) };
        TRY(run_tables(w, s->launches++, "interpolation_choose", more, COUNT(more)));
        TRY(kry_buffer_read(w->dev, w->unfit, 0, sizeof unfit, &unfit));
        if (unfit > 0) TRY(list_rows(w, r, unfit, s));
    }
done:
    return st;
}

static kry_status rows_gather(const work *w, const rows *r, kry_csr *P)
{
    kry_status st = KRY_OK;

    TRY(kry_csr_offsets(w->dev, P->rows, r->length, &P->row_ptr, &P->nnz));
    TRY(create_ints(w->dev, P->nnz, &P->col));
    TRY(kry_buffer_create(w->dev, (size_t)P->nnz * kry_type_size(P->type), &P->val));
    const kry_arg args[] = { ARG(w->n),   ARG(P->row_ptr), ARG(r->col),
                             ARG(r->val), ARG(P->col),     ARG(P->val) };
    TRY(run_rows(w, "interpolation_gather", args, COUNT(args)));
done:
    return st;
}

kry_status kry_splitting_interpolate(const kry_csr *A, kry_splitting *s, kry_csr *P)
{
    kry_status st = KRY_OK;
    work w = { 0 };
    rows r = { 0 };

    *P = (kry_csr){ .dev = A->dev, .rows = A->rows, .cols = s->coarse, .type = A->type };
    TRY(work_create(A, s, &w));
    TRY(rows_choose(&w, s, &r));
    TRY(rows_gather(&w, &r, P));
done:
    kry_buffer_release(A->dev, &r.val);
    kry_buffer_release(A->dev, &r.col);
    kry_buffer_release(A->dev, &r.length);
    work_release(&w);
    if (st < 0) kry_csr_release(P);
    return st;
}

kry_status kry_splitting_interpolate_again(const kry_csr *A, const kry_splitting *s, kry_csr *P)
{
    kry_status st = KRY_OK;
    work w = { 0 };

    TRY(work_create(A, s, &w));
    for (int launch = 0; launch < s->launches; launch++) {
        const kry_arg more[] = { ARG(P->row_ptr), ARG(P->col), ARG(P->val) };
        TRY(run_tables(&w, launch, "interpolation_renew", more, COUNT(more)));
    }
done:
    work_release(&w);
    return st;
}
