/*
 * coupled.c - a part's rows of a matrix in two pieces: while the halo travels, the product of the
 * part's own columns is formed in the fused passes of its format; what the halo adds comes last.
 * Kernels: cl/halo.cl.
 */
#include "matrix/coupled.h"
#include "matrix/matrix.h"
#include "operator/direction.h"
#include "operator/op.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FAR_ARGS = 6, MOST_MORE = 9 }; /* arguments of every kernel, and behind them */

typedef struct coupled {
    kry_device *dev; /* borrowed */
    kry_op *own;     /* retained */
    kry_halo *halo;  /* owned */
    kry_type type;
    unsigned traits;
    int64_t rows, nnz, own_nnz;
    cl_mem row, begin, col, val;
    int64_t *place;                     /* host: of the halo's numbers in the whole */
    cl_mem own_begin, own_col, own_val; /* NULL: residuals need no more than `add` */
    bool flux;                          /* entries multiply differences */
    cl_mem surplus;                     /* rows, for residuals of these: what they add up to */
    kry_vec *packed;                    /* b in these rows, while r is written over it */
    kry_kernel *add, *add_dot, *residual, *pack;
    char variant[128];
} coupled;

static void far_args(const coupled *A, const cl_mem *numbers, kry_arg args[FAR_ARGS])
{
    const kry_arg all[FAR_ARGS] = { ARG(A->rows), ARG(A->row), ARG(A->begin),
                                    ARG(A->col),  ARG(A->val), { sizeof *numbers, numbers } };
    memcpy(args, all, sizeof all);
}

static kry_status run(const coupled *A, kry_kernel *kernel, int64_t groups, const kry_arg *rest,
                      size_t count)
{
    kry_arg args[FAR_ARGS + MOST_MORE];
    cl_mem numbers = kry_halo_numbers(A->halo);

    if (A->rows == 0) return KRY_OK;
    far_args(A, &numbers, args);
    memcpy(args + FAR_ARGS, rest, count * sizeof *rest);
    return kry_launch(A->dev, kernel, groups, args, FAR_ARGS + count);
}

/* y += alpha far x */
static kry_status add_far(coupled *A, double alpha, const kry_vec *x, kry_vec *y)
{
    kry_scalar a = kry_scalar_of(A->dev, alpha);
    const kry_arg rest[] = { ARG_ACC(A->dev, a), ARG(x->buffer), ARG(x->first), ARG(y->buffer),
                             ARG(y->first) };
    return run(A, A->add, kry_groups_for(A->dev, A->type, A->rows), rest, COUNT(rest));
}

/* y += far x, and sum gets what that adds to x.y. state NULL: not within a solve. */
static kry_status add_far_dot(coupled *A, cl_mem state, const kry_vec *x, kry_vec *y, kry_sum *sum)
{
    kry_status st = KRY_OK;
    int64_t groups = kry_groups_for_sums(A->dev, A->type, A->rows);
    cl_int first = sum->count, stops = state != NULL;

    if (A->rows == 0) return KRY_OK;
    if (groups > KRY_SUM_CAPACITY - first) groups = KRY_SUM_CAPACITY - first;
    if (!state) state = sum->buffer; /* not read */
    const kry_arg rest[] = { ARG(x->buffer),   ARG(x->first), ARG(y->buffer), ARG(y->first),
                             ARG(sum->buffer), ARG(first),    ARG(stops),     ARG(state) };
    TRY(run(A, A->add_dot, groups, rest, COUNT(rest)));
    sum->count = first + (cl_int)groups;
done:
    return st;
}

/* ---- the table --------------------------------------------------------------------------- */

static kry_status coupled_apply(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    coupled *A = self;
    kry_status st = KRY_OK;

    TRY(kry_halo_begin(A->halo, x));
    TRY(A->own->table->apply(A->own->self, alpha, x, beta, y));
    TRY(kry_halo_end(A->halo));
    TRY(add_far(A, alpha, x, y));
done:
    return st;
}

static kry_status coupled_apply_dot(void *self, const kry_vec *x, kry_vec *y, kry_sum *sum)
{
    coupled *A = self;
    kry_status st = KRY_OK;

    TRY(kry_halo_begin(A->halo, x));
    TRY(kry_op_run_dot(A->own, x, y, sum));
    TRY(kry_halo_end(A->halo));
    TRY(add_far_dot(A, NULL, x, y, sum));
done:
    return st;
}

static kry_status coupled_direction(void *self, const kry_direction *d, kry_vec *p, kry_vec *q,
                                    kry_sum *sum)
{
    coupled *A = self;
    kry_status st = KRY_OK;

    TRY(kry_halo_begin_direction(A->halo, d));
    TRY(kry_op_run_direction(A->own, d, p, q, sum));
    TRY(kry_halo_end(A->halo));
    TRY(add_far_dot(A, d->state, p, q, sum));
done:
    return st;
}

static kry_status coupled_residual(void *self, const kry_vec *b, const kry_vec *x, kry_vec *r)
{
    coupled *A = self;
    kry_status st = KRY_OK;

    TRY(kry_halo_begin(A->halo, x));
    if (A->own_begin && A->rows) {
        const kry_arg args[] = { ARG(A->rows), ARG(A->row), ARG(b->buffer), ARG(b->first),
                                 ARG(A->packed->buffer) };
        TRY(kry_launch(A->dev, A->pack, kry_groups_for(A->dev, A->type, A->rows), args,
                       COUNT(args)));
    }
    TRY(kry_op_residual(A->own, b, x, r));
    TRY(kry_halo_end(A->halo));
    if (A->own_begin) {
        const kry_arg rest[] = { ARG(A->own_begin), ARG(A->own_col),        ARG(A->own_val),
                                 ARG(A->surplus),   ARG(A->packed->buffer), ARG(x->buffer),
                                 ARG(x->first),     ARG(r->buffer),         ARG(r->first) };
        TRY(run(A, A->residual, kry_groups_for(A->dev, A->type, A->rows), rest, COUNT(rest)));
    } else {
        TRY(add_far(A, -1.0, x, r));
    }
done:
    return st;
}

static kry_status coupled_diagonal(void *self, kry_vec *d)
{
    return kry_op_diagonal(((coupled *)self)->own, d);
}

static kry_status coupled_update(void *self, const void *values)
{
    (void)self;
    if (!values) return KRY_OK;
    return kry_fail(KRY_ERR_UNSUPPORTED, "kry_op_update: a part takes its values from the whole");
}

static kry_status upload(coupled *A, const void *from, size_t count, size_t size, cl_mem *buffer)
{
    kry_status st = KRY_OK;

    if (!*buffer) TRY(kry_buffer_create(A->dev, count * size, buffer));
    if (count)
        TRY_CL(clEnqueueWriteBuffer(A->dev->queue, *buffer, CL_TRUE, 0, count * size, from, 0, NULL,
                                    NULL));
done:
    return st;
}

/* address_of_to: of a pointer, to be freed. */
static kry_status download(const coupled *A, cl_mem buffer, int64_t count, size_t size,
                           void *address_of_to)
{
    kry_status st = KRY_OK;

    TRY(kry_alloc((size_t)count, size, address_of_to));
    if (count)
        TRY_CL(clEnqueueReadBuffer(A->dev->queue, buffer, CL_TRUE, 0, (size_t)count * size,
                                   *(void **)address_of_to, 0, NULL, NULL));
done:
    return st;
}

/* The numbers of the far entries in another type, on the host. */
static kry_status convert_far(coupled *A, kry_type type, double factor, void **val)
{
    kry_status st = KRY_OK;
    void *given = NULL;

    *val = NULL;
    TRY(download(A, A->val, A->nnz, kry_type_size(A->type), &given));
    TRY(kry_alloc((size_t)A->nnz, kry_type_size(type), val));
    TRY(kry_numbers_convert("kry_op_twin", "entry", A->type, given, A->nnz, factor, type, *val));
done:
    if (st < 0) free(*val), *val = NULL;
    free(given);
    return st;
}

static kry_status read_far(const coupled *A, kry_far_entries *far)
{
    kry_status st = KRY_OK;

    *far = (kry_far_entries){ .rows = A->rows, .nnz = A->nnz, .place = A->place };
    TRY(download(A, A->row, A->rows, sizeof *far->row, &far->row));
    TRY(download(A, A->begin, A->rows + 1, sizeof *far->begin, &far->begin));
    TRY(download(A, A->col, A->nnz, sizeof *far->col, &far->col));
    TRY(download(A, A->val, A->nnz, kry_type_size(A->type), &far->val));
done:
    if (st < 0) kry_far_entries_release(far);
    return st;
}

/* ---- flux form: what rows add up to ---------------------------------------------------------- */

/* Those of the coupled rows, for their residuals; sums: all rows'. */
static kry_status store_surplus(coupled *A, const kry_far_entries *far, const void *sums)
{
    kry_status st = KRY_OK;
    size_t size = kry_type_size(A->type);
    char *packed = NULL;

    if (!A->own_begin) return KRY_OK;
    TRY(kry_alloc((size_t)A->rows, size, &packed));
    for (int64_t i = 0; i < A->rows; i++)
        memcpy(packed + (size_t)i * size, (const char *)sums + (size_t)far->row[i] * size, size);
    TRY(upload(A, packed, (size_t)A->rows, size, &A->surplus));
done:
    free(packed);
    return st;
}

static kry_status balance(coupled *A, const int64_t *row_ptr, const void *val, const void *far_val)
{
    kry_status st = KRY_OK;
    kry_far_entries far = { 0 };
    void *sums = NULL;
    bool any = false;

    TRY(read_far(A, &far));
    const kry_flux_rows R = { .type = A->type,
                              .rows = A->own->shape.rows,
                              .row_ptr = row_ptr,
                              .val = val,
                              .far_rows = far.rows,
                              .far_row = far.row,
                              .far_begin = far.begin,
                              .far_val = far_val,
                              .layout = &A->dev->layout };
    TRY(kry_alloc((size_t)R.rows, kry_type_size(A->type), &sums)); /* zeros */
    kry_matrix *own = kry_matrix_of(A->own);
    if (!own->balanced) TRY(kry_flux_sums(&R, "kry_csr_create", sums, &any));
    TRY(store_surplus(A, &far, sums));
    if (any || own->surplus) TRY(kry_matrix_set_surplus(own, any ? sums : NULL));
done:
    free(sums);
    kry_far_entries_release(&far);
    return st;
}

static const kry_op_table coupled_table;

kry_status kry_coupled_balance(kry_op *op, const int64_t *row_ptr, const void *val,
                               const void *far_val)
{
    coupled *A = op->self;
    if (op->table != &coupled_table || !A->flux) return KRY_OK;
    return balance(A, row_ptr, val, far_val);
}

/* Of numbers that are on the device already but for the far ones. */
static kry_status balance_twin(coupled *A, const void *far_val)
{
    kry_status st = KRY_OK;
    kry_matrix *own = kry_matrix_of(A->own);
    int64_t *row_ptr = NULL;
    int32_t *col = NULL;
    void *val = NULL;

    if (!A->flux || own->balanced) return KRY_OK;
    TRY(kry_alloc((size_t)own->rows + 1, sizeof *row_ptr, &row_ptr));
    TRY(kry_alloc((size_t)own->nnz, sizeof *col, &col));
    TRY(kry_alloc((size_t)own->nnz, kry_type_size(own->type), &val));
    TRY(kry_matrix_entries(own, row_ptr, col, val));
    TRY(balance(A, row_ptr, val, far_val));
done:
    free(val);
    free(col);
    free(row_ptr);
    return st;
}

/* Around `own`, with these far numbers. Collective. */
static kry_status make_twin(coupled *A, const kry_op *own, void *val, kry_op **twin)
{
    kry_status st = KRY_OK;
    kry_far_entries far = { 0 };
    kry_halo *halo = NULL;

    TRY(read_far(A, &far));
    free(far.val);
    far.val = val;
    TRY(kry_halo_like(A->halo, own->shape.type, &halo));
    TRY(kry_coupled_create(own, &halo, &far, A->traits, twin));
done:
    far.val = NULL; /* the caller's */
    kry_halo_release(&halo);
    kry_far_entries_release(&far);
    return st;
}

/* All parts have one, or none has: what single cannot hold may be with one alone. */
static kry_status agree_on_twin(coupled *A, kry_status mine)
{
    kry_status st = KRY_OK;
    double refused = mine == KRY_ERR_UNSUPPORTED;

    if (mine < 0 && mine != KRY_ERR_UNSUPPORTED) return mine;
    TRY(kry_layout_combine(&A->dev->layout, KRY_MAX, &refused, 1));
    if (mine < 0) return mine;
    CHECK(refused == 0, KRY_ERR_UNSUPPORTED,
          "kry_op_twin: another device has numbers that do not fit the precision");
done:
    return st;
}

static kry_status coupled_twin(void *self, kry_type type, double factor, const double *scale,
                               kry_op **twin)
{
    coupled *A = self, *T = *twin ? (*twin)->self : NULL;
    kry_status st = KRY_OK;
    kry_op *own = T ? kry_op_retain(T->own) : NULL;
    void *val = NULL;

    CHECK(!scale, KRY_ERR_UNSUPPORTED, "kry_op_twin: no scaling by a diagonal on several devices");
    st = convert_far(A, type, factor, &val);
    if (st == KRY_OK) st = kry_op_make_twin("kry_op_twin", A->own, type, factor, NULL, &own);
    TRY(agree_on_twin(A, st));
    assert(own);
    own->shape.traits = A->own->shape.traits;
    if (T)
        TRY(kry_coupled_store(*twin, val, NULL));
    else
        TRY(make_twin(A, own, val, twin));
    TRY(balance_twin((*twin)->self, val));
done:
    free(val);
    kry_op_release(&own);
    return st;
}

static void coupled_describe(void *self, kry_op_info *info)
{
    coupled *A = self;
    double word = (double)kry_type_size(A->type), far = (double)A->nnz * (word + 4);
    double vectors = 3 * word * (double)A->rows + word * (double)(kry_halo_sent(A->halo) * 2);

    kry_op_describe(A->own, info);
    info->nnz += A->nnz;
    info->slots += (double)A->nnz;
    info->bytes_stored += far + 8 * (double)A->rows;
    info->bytes_per_apply += far + vectors;
    if (info->bytes_per_direction > 0) info->bytes_per_direction += far + vectors;
    snprintf(A->variant, sizeof A->variant, "%.60s%s%lld of %lld rows coupled", info->variant,
             *info->variant ? ", " : "", (long long)A->rows, (long long)A->own->shape.rows);
    info->variant = A->variant;
}

static void coupled_destroy(void *self)
{
    coupled *A = self;
    if (!A) return;
    kry_halo_release(&A->halo);
    kry_vec_release(&A->packed);
    kry_buffer_release(A->dev, &A->surplus);
    kry_buffer_release(A->dev, &A->own_val);
    kry_buffer_release(A->dev, &A->own_col);
    kry_buffer_release(A->dev, &A->own_begin);
    kry_buffer_release(A->dev, &A->val);
    kry_buffer_release(A->dev, &A->col);
    kry_buffer_release(A->dev, &A->begin);
    kry_buffer_release(A->dev, &A->row);
    kry_op_release(&A->own);
    free(A->place);
    free(A);
}

static const kry_op_table coupled_table = {
    .struct_size = sizeof(kry_op_table),
    .kind = "coupled",
    .apply = coupled_apply,
    .apply_dot = coupled_apply_dot,
    .residual = coupled_residual,
    .diagonal = coupled_diagonal,
    .update = coupled_update,
    .twin = coupled_twin,
    .describe = coupled_describe,
    .destroy = coupled_destroy,
};

static const kry_op_fused coupled_fused = { .apply_direction = coupled_direction };

const kry_op *kry_op_own(const kry_op *A)
{
    return A && A->table == &coupled_table ? ((coupled *)A->self)->own : A;
}

/* ---- reading --------------------------------------------------------------------------------- */

int64_t kry_coupled_places(const kry_op *A, const int64_t **place)
{
    const coupled *C = A->table == &coupled_table ? A->self : NULL;
    *place = C ? C->place : NULL;
    return C ? kry_halo_count(C->halo) : 0;
}

kry_status kry_coupled_read(const kry_op *op, kry_far_entries *far)
{
    *far = (kry_far_entries){ 0 };
    return op->table == &coupled_table ? read_far(op->self, far) : KRY_OK;
}

void kry_far_entries_release(kry_far_entries *far)
{
    free(far->row);
    free(far->begin);
    free(far->col);
    free(far->val);
    free(far->own_begin);
    free(far->own_col);
    free(far->own_val);
    *far = (kry_far_entries){ 0 };
}

/* ---- making one ------------------------------------------------------------------------------ */

kry_status kry_coupled_store(kry_op *op, const void *val, const void *own_val)
{
    kry_status st = KRY_OK;
    coupled *A = op->self;

    if (op->table != &coupled_table) return KRY_OK;
    TRY(upload(A, val, (size_t)A->nnz, kry_type_size(A->type), &A->val));
    if (A->own_begin)
        TRY(upload(A, own_val, (size_t)A->own_nnz, kry_type_size(A->type), &A->own_val));
done:
    return st;
}

static kry_status get_kernels(coupled *A)
{
    kry_status st = KRY_OK;
    const char *form = A->flux ? "-DFLUX" : "";

    TRY(kry_kernel_get(A->dev, "halo", A->type, form, "halo_add", &A->add));
    TRY(kry_kernel_get(A->dev, "halo", A->type, form, "halo_add_dot", &A->add_dot));
    if (!A->own_begin) return KRY_OK;
    TRY(kry_kernel_get(A->dev, "halo", A->type, A->flux ? "-DFLUX -DSUM=ACC" : "-DSUM=ACC",
                       "halo_residual", &A->residual));
    TRY(kry_kernel_get(A->dev, "halo", A->type, "", "halo_pack", &A->pack));
done:
    return st;
}

static kry_status take_entries(coupled *A, const kry_far_entries *far)
{
    kry_status st = KRY_OK;
    size_t rows = (size_t)far->rows, nnz = (size_t)far->nnz, size = kry_type_size(A->type);

    A->rows = far->rows, A->nnz = far->nnz;
    TRY(upload(A, far->row, rows, sizeof *far->row, &A->row));
    TRY(upload(A, far->begin, rows + 1, sizeof *far->begin, &A->begin));
    TRY(upload(A, far->col, nnz, sizeof *far->col, &A->col));
    TRY(upload(A, far->val, nnz, size, &A->val));
    if (!far->own_begin) return KRY_OK;
    A->own_nnz = far->own_begin[far->rows];
    TRY(upload(A, far->own_begin, rows + 1, sizeof *far->own_begin, &A->own_begin));
    TRY(upload(A, far->own_col, (size_t)A->own_nnz, sizeof *far->own_col, &A->own_col));
    TRY(upload(A, far->own_val, (size_t)A->own_nnz, size, &A->own_val));
    TRY(kry_vec_create(A->dev, A->type, far->rows, 1, &A->packed));
    TRY(kry_buffer_create(A->dev, rows * size, &A->surplus)); /* written in flux form */
done:
    return st;
}

kry_status kry_coupled_create(const kry_op *own, kry_halo **halo, const kry_far_entries *far,
                              unsigned traits, kry_op **op)
{
    kry_status st = KRY_OK;
    coupled *A = NULL;
    kry_op_shape shape = own->shape;

    *op = NULL;
    TRY(kry_alloc(1, sizeof *A, &A));
    const kry_matrix *stored = kry_matrix_of(own);
    A->dev = own->dev, A->type = own->shape.type, A->flux = stored && stored->flux;
    TRY(take_entries(A, far));
    size_t places = (size_t)kry_halo_count(*halo);
    TRY(kry_alloc(places, sizeof *A->place, &A->place));
    if (places) memcpy(A->place, far->place, places * sizeof *A->place);
    TRY(get_kernels(A));
    shape.traits = A->traits = traits;
    A->own = kry_op_retain(own);
    TRY(kry_op_create_fused(A->dev, &coupled_table, &coupled_fused, A, &shape, op));
    A->halo = *halo;
    *halo = NULL;
    A = NULL;
done:
    coupled_destroy(A);
    return st;
}
