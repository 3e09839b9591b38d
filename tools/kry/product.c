/*
 * product.c - y := A x in one form after the other, timed.
 */
#include "product.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_COPIES = 64 };
static const double least_cache = 64e6; /* bytes; some GPUs report their smallest cache only */

/* ---- the matrix on the host --------------------------------------------------------- */

kry_status product_input_create(const bench *b, const source *s, product_input *in)
{
    kry_status st = KRY_OK;
    *in = (product_input){ .name = s->name,
                           .grid = s->problem ? s->problem->grid : NULL,
                           .traits = source_traits(s) };
    TRY(sparse_of_source(s, &in->A));
    if (source_matrix_free(s)) goto done;
    TRY(convert_values(b->type, in->A.nnz, in->A.val, &in->val, &in->owned));
    in->bytes = (double)in->A.nnz * (double)(kry_type_size(b->type) + sizeof(int32_t)) +
                ((double)in->A.rows + 1) * sizeof(int64_t);
done:
    return st;
}

void product_input_release(product_input *in)
{
    kryi_host_matrix_release(&in->A);
    free(in->owned);
    *in = (product_input){ 0 };
}

/* ---- copies that take turns --------------------------------------------------------- */

typedef struct product {
    struct {
        kry_op *A;
        kry_vec *x, *y;
    } copy[MAX_COPIES];
    int copies;
} product;

static kry_status product_pass(void *user, int64_t turn)
{
    const product *p = user;
    int i = (int)(turn % p->copies);
    return kry_op_apply(p->copy[i].A, 1, p->copy[i].x, 0, p->copy[i].y);
}

static void product_release(product *p)
{
    for (int i = 0; i < MAX_COPIES; i++) {
        kry_vec_release(&p->copy[i].x);
        kry_vec_release(&p->copy[i].y);
        kry_op_release(&p->copy[i].A);
    }
}

/* As many as are together twice as large as the device's cache. */
static int copies_wanted(const bench *b, double bytes)
{
    cl_ulong reported = 0;
    double cache = least_cache;
    if (b->o->hot) return 1;
    if (clGetDeviceInfo(kry_device_id(b->device), CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, sizeof reported,
                        &reported, NULL) == CL_SUCCESS &&
        (double)reported > cache)
        cache = (double)reported;
    double copies = ceil(2 * cache / (bytes > 1 ? bytes : 1));
    return copies > MAX_COPIES ? MAX_COPIES : copies < 1 ? 1 : (int)copies;
}

static kry_status stored_matrix(const bench *b, const product_input *in,
                                const kry_matrix_params *params, kry_op **A)
{
    kry_matrix_params with_traits = *params;
    with_traits.traits |= in->traits;
    return kry_csr_create(b->device, b->type, in->A.rows, in->A.cols, in->A.row_ptr, in->A.col,
                          in->val, &with_traits, A);
}

/* Make the operator; *seconds: the least that it took so far. */
static kry_status create_operator(const bench *b, const product_input *in, const form *f,
                                  kry_op **A, double *seconds)
{
    kry_status st = KRY_OK;
    double start = now();
    if (in->make)
        TRY(in->make(b, in, A));
    else if (f->stencil)
        TRY(kry_stencil_create(b->device, b->type, in->grid, A));
    else
        TRY(stored_matrix(b, in, &f->matrix, A));
    TRY(kry_device_finish(b->device));
    double taken = now() - start;
    if (taken < *seconds) *seconds = taken;
done:
    return st;
}

static kry_status create_copies(const bench *b, const product_input *in, const form *f, product *p,
                                product_timing *t)
{
    kry_status st = KRY_OK;
    for (; p->copies < t->copies; p->copies++) {
        int i = p->copies;
        if (!p->copy[i].A) TRY(create_operator(b, in, f, &p->copy[i].A, &t->setup_seconds));
        TRY(bench_block(b, in->A.cols, b->columns, (uint64_t)i, &p->copy[i].x));
        TRY(bench_block(b, in->A.rows, b->columns, (uint64_t)i, &p->copy[i].y));
    }
done:
    return st;
}

/* ---- timing ------------------------------------------------------------------------- */

/* Does the format refuse the matrix, or has the device failed? */
static bool is_refusal(kry_status st)
{
    return st == KRY_ERR_UNSUPPORTED || st == KRY_ERR_ARGUMENT || st == KRY_ERR_SHAPE ||
           st == KRY_ERR_MEMORY;
}

static void describe(const bench *b, const kry_op *A, product_timing *t)
{
    const kry_op_shape *shape = kry_op_get_shape(A);

    kry_op_info info;
    kry_op_describe(A, &info);
    snprintf(t->format, sizeof t->format, "%s", info.kind);
    snprintf(t->variant, sizeof t->variant, "%s", info.variant);
    t->slots = info.slots;
    /* The matrix once, and a pair of vectors more for each column. */
    t->bytes = info.bytes_per_apply + (double)(b->columns - 1) *
                                          (double)(shape->rows + shape->cols) *
                                          (double)kry_type_size(b->type);
}

kry_status product_time(const bench *b, const product_input *in, const form *f, product_timing *t)
{
    kry_status st = KRY_OK;
    product p = { .copies = 0 };
    *t = (product_timing){ .setup_seconds = INFINITY };
    st = create_operator(b, in, f, &p.copy[0].A, &t->setup_seconds);
    if (is_refusal(st)) {
        snprintf(t->refused, sizeof t->refused, "%s", kry_last_error());
        st = KRY_OK;
        goto done;
    }
    TRY(st);
    describe(b, p.copy[0].A, t);
    t->copies = copies_wanted(b, t->bytes);
    if (t->copies == 1) { /* again: the first time kernels were compiled */
        kry_op_release(&p.copy[0].A);
        TRY(create_operator(b, in, f, &p.copy[0].A, &t->setup_seconds));
    }
    TRY(create_copies(b, in, f, &p, t));
    TRY(bench_time(b, product_pass, &p, &t->seconds));
done:
    product_release(&p);
    return st;
}
