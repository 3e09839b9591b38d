/*
 * jagged.c - two products with jagged diagonals. Kernels: cl/papers/jagged.cl.
 *
 * Source   A. Cevahir, A. Nukada, S. Matsuoka, Fast conjugate gradients with multiple GPUs, ICCS
 *          2009, section 3
 */
#include "jagged.h"
#include "texture.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAD = 16 }; /* entries: diagonals start at multiples, for coalesced loads */

typedef struct jagged {
    kry_device *device; /* borrowed */
    kry_type type;
    int64_t rows, cols, nnz;
    jagged_product product;
    int64_t diagonals;
    int64_t slots;
    int32_t *jd;   /* pairs: where a diagonal begins, how many rows it has; on the host */
    int32_t *perm; /* rows, by falling length; on the host until it is built */
    cl_mem jd_there, perm_there, col, val; /* owned */
    kry_vec *t;                            /* rows sums of the basic product; owned */
    cl_kernel apply, reorder;              /* owned; `reorder` of the basic product alone */
    texture x;
} jagged;

/* ---- the diagonals, on the host ---- */

static kry_status room(size_t count, size_t size, void **p)
{
    *p = calloc(count ? count : 1, size);
    return *p ? KRY_OK : kry_fail(KRY_ERR_MEMORY, "no memory for %zu x %zu bytes", count, size);
}

static int64_t length_of(const jagged_rows *A, int64_t i)
{
    return A->row_ptr[i + 1] - A->row_ptr[i];
}

/* Rows by falling length, those of one length in their order. */
static kry_status sort_rows(jagged *J, const jagged_rows *A)
{
    kry_status st = KRY_OK;
    int64_t *start = NULL;

    for (int64_t i = 0; i < A->rows; i++)
        if (length_of(A, i) > J->diagonals) J->diagonals = length_of(A, i);
    TRY(room((size_t)A->rows, sizeof *J->perm, (void **)&J->perm));
    TRY(room((size_t)J->diagonals + 2, sizeof *start, (void **)&start));
    for (int64_t i = 0; i < A->rows; i++) start[J->diagonals - length_of(A, i) + 1]++;
    for (int64_t l = 0; l <= J->diagonals; l++) start[l + 1] += start[l];
    for (int64_t i = 0; i < A->rows; i++)
        J->perm[start[J->diagonals - length_of(A, i)]++] = (int32_t)i;
done:
    free(start);
    return st;
}

static kry_status cut_diagonals(jagged *J, const jagged_rows *A)
{
    kry_status st = KRY_OK;
    int64_t rows = A->rows;

    TRY(room((size_t)J->diagonals * 2, sizeof *J->jd, (void **)&J->jd));
    for (int64_t d = 0; d < J->diagonals; d++) {
        while (rows > 0 && length_of(A, J->perm[rows - 1]) <= d) rows--;
        CHECK(J->slots + rows + PAD <= INT32_MAX, KRY_ERR_UNSUPPORTED,
              "jagged diagonals: more than 2^31 - 1 places");
        J->jd[2 * d] = (int32_t)J->slots;
        J->jd[2 * d + 1] = (int32_t)rows;
        J->slots += (rows + PAD - 1) / PAD * PAD;
    }
done:
    return st;
}

static kry_status upload(const jagged *J, const void *host, size_t bytes, cl_mem *there)
{
    static const int32_t nothing;
    cl_int err;
    *there = clCreateBuffer(kry_device_context(J->device), CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR,
                            bytes ? bytes : sizeof nothing, bytes ? (void *)host : (void *)&nothing,
                            &err);
    if (err) *there = NULL;
    return paper_check(err, "clCreateBuffer");
}

static kry_status upload_entries(jagged *J, const jagged_rows *A)
{
    kry_status st = KRY_OK;
    size_t word = kry_type_size(A->type), slots = (size_t)J->slots;
    int32_t *col = NULL;
    char *val = NULL;

    TRY(room(slots, sizeof *col, (void **)&col));
    TRY(room(slots, word, (void **)&val));
    for (int64_t p = 0; p < A->rows; p++) {
        int64_t begin = A->row_ptr[J->perm[p]], end = A->row_ptr[J->perm[p] + 1];
        for (int64_t k = begin; k < end; k++) {
            int64_t slot = J->jd[2 * (k - begin)] + p;
            col[slot] = A->col[k];
            memcpy(val + (size_t)slot * word, (const char *)A->val + (size_t)k * word, word);
        }
    }
    TRY(upload(J, col, slots * sizeof *col, &J->col));
    TRY(upload(J, val, slots * word, &J->val));
    TRY(upload(J, J->perm, (size_t)J->rows * sizeof *J->perm, &J->perm_there));
done:
    free(val);
    free(col);
    return st;
}

/* ---- products ---- */

/* A scalar of the type of the vectors. */
typedef union number {
    float single;
    double dbl;
} number;

static number number_of(kry_type type, double value)
{
    if (type == KRY_F32) return (number){ .single = (float)value };
    return (number){ .dbl = value };
}

static int64_t groups_of(const jagged *J, int64_t n)
{
    return kry_device_groups(J->device, J->type, n);
}

/* A work-item to a row. */
static kry_status texture_apply(jagged *J, const number scale[2], const kry_vec *x, kry_vec *y)
{
    kry_status st = KRY_OK;
    const size_t word = kry_type_size(J->type);
    int64_t x0, y0;
    cl_mem from = kry_vec_buffer(x, &x0), to = kry_vec_buffer(y, &y0);
    const cl_int rows = (cl_int)J->rows, diagonals = (cl_int)J->diagonals;
    cl_int x_at;

    TRY(texture_take(&J->x, from, x0, &x_at));
    from = J->x.image;
    const kry_arg args[] = { KRY_ARG(rows),          KRY_ARG(diagonals), KRY_ARG(J->jd_there),
                             KRY_ARG(J->perm_there), KRY_ARG(J->col),    KRY_ARG(J->val),
                             { word, &scale[0] },    KRY_ARG(from),      KRY_ARG(x_at),
                             { word, &scale[1] },    KRY_ARG(to),        KRY_ARG(y0) };
    TRY(kry_device_launch(J->device, J->apply, groups_of(J, J->rows), 0, args, COUNT(args)));
done:
    return st;
}

static kry_status basic_apply(jagged *J, const number scale[2], const kry_vec *x, kry_vec *y)
{
    kry_status st = KRY_OK;
    const size_t word = kry_type_size(J->type);
    const cl_int rows = (cl_int)J->rows;
    int64_t x0, y0;
    cl_mem from = kry_vec_buffer(x, &x0), to = kry_vec_buffer(y, &y0),
           t = kry_vec_buffer(J->t, NULL);
    const kry_arg reorder[] = { KRY_ARG(rows),       KRY_ARG(J->perm_there), KRY_ARG(t),
                                { word, &scale[0] }, { word, &scale[1] },    KRY_ARG(to),
                                KRY_ARG(y0) };

    TRY(kry_vec_fill(J->t, 0));
    for (int64_t d = 0; d < J->diagonals; d++) {
        const int32_t *jd = &J->jd[2 * d];
        const kry_arg add[] = { KRY_ARG(jd[0]), KRY_ARG(jd[1]), KRY_ARG(J->col), KRY_ARG(J->val),
                                KRY_ARG(from),  KRY_ARG(x0),    KRY_ARG(t) };
        TRY(kry_device_launch(J->device, J->apply, groups_of(J, jd[1]), 0, add, COUNT(add)));
    }
    TRY(kry_device_launch(J->device, J->reorder, groups_of(J, rows), 0, reorder, COUNT(reorder)));
done:
    return st;
}

static kry_status jagged_apply(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    jagged *J = self;
    const number scale[2] = { number_of(J->type, alpha), number_of(J->type, beta) };
    if (J->nnz == 0) return beta == 0 ? kry_vec_fill(y, 0) : kry_vec_axpby(0, y, beta, y);
    return (J->product == JAGGED_BASIC ? basic_apply : texture_apply)(J, scale, x, y);
}

/* ---- the operator ---- */

/* Besides the entries and both vectors: sums that go to memory and back, or the copy of x. */
static double extra_words(const jagged *J)
{
    if (J->product == JAGGED_BASIC) return 2.0 * (double)(J->nnz + J->rows);
    return J->x.wraps ? 0 : 2.0 * (double)J->cols;
}

static void jagged_describe(void *self, kry_op_info *info)
{
    const jagged *J = self;
    const double word = (double)kry_type_size(J->type);

    info->variant = J->product == JAGGED_BASIC ? "basic product"
                    : J->x.wraps               ? "x by image1d_buffer"
                                               : "x copied to a 2-D image";
    info->nnz = J->nnz;
    info->slots = J->slots;
    info->bytes_stored = (word + 4) * (double)J->slots + 4 * (double)J->rows;
    info->bytes_per_apply =
        info->bytes_stored + word * ((double)(J->rows + J->cols) + extra_words(J));
}

static void jagged_destroy(void *self)
{
    jagged *J = self;
    cl_mem buffers[] = { J->jd_there, J->perm_there, J->col, J->val };

    texture_release(&J->x);
    for (size_t i = 0; i < COUNT(buffers); i++)
        if (buffers[i]) clReleaseMemObject(buffers[i]);
    if (J->apply) clReleaseKernel(J->apply);
    if (J->reorder) clReleaseKernel(J->reorder);
    kry_vec_release(&J->t);
    free(J->perm);
    free(J->jd);
    free(J);
}

static const kry_op_table jagged_table = { .struct_size = sizeof(kry_op_table),
                                           .kind = "jds",
                                           .apply = jagged_apply,
                                           .describe = jagged_describe,
                                           .destroy = jagged_destroy };

static kry_status get_kernel(jagged *J, const char *options, const char *name, cl_kernel *kernel)
{
    return kry_device_kernel(J->device, J->type, "jagged", NULL, options, name, kernel);
}

static kry_status make_kernels(jagged *J)
{
    kry_status st = KRY_OK;
    char options[160];
    cl_ulong constant = 0;
    size_t jd_bytes = (size_t)J->diagonals * 2 * sizeof *J->jd;

    if (J->product == JAGGED_BASIC) {
        TRY(kry_vec_create(J->device, J->type, J->rows, 1, &J->t));
        TRY(get_kernel(J, NULL, "jagged_add", &J->apply));
        TRY(get_kernel(J, NULL, "jagged_reorder", &J->reorder));
        goto done;
    }
    TRY(paper_check(clGetDeviceInfo(kry_device_id(J->device), CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE,
                                    sizeof constant, &constant, NULL),
                    "clGetDeviceInfo"));
    TRY(texture_create(J->device, J->type, J->cols, &J->x));
    snprintf(options, sizeof options, "-DX_IMAGE=%d%s -DJD_SPACE=%s%s", J->x.wraps ? 1 : 2,
             J->x.how.bytes ? " -DTEXEL_BYTES" : "", jd_bytes <= constant ? "constant" : "global",
             J->x.wraps ? " -cl-std=CL1.2" : "");
    TRY(upload(J, J->jd, jd_bytes, &J->jd_there));
    TRY(get_kernel(J, options, "jagged_texture", &J->apply));
done:
    return st;
}

kry_status jagged_create(kry_device *device, const jagged_rows *A, jagged_product product,
                         kry_op **op)
{
    kry_status st = KRY_OK;
    jagged *J = NULL;

    *op = NULL;
    TRY(room(1, sizeof *J, (void **)&J));
    J->device = device, J->type = A->type, J->product = product;
    J->rows = A->rows, J->cols = A->cols, J->nnz = A->row_ptr[A->rows];
    TRY(sort_rows(J, A));
    TRY(cut_diagonals(J, A));
    TRY(upload_entries(J, A));
    TRY(make_kernels(J));
    TRY(kry_op_create(device, &jagged_table, J,
                      &(kry_op_shape){ .rows = A->rows, .cols = A->cols, .type = A->type }, op));
    J = NULL;
done:
    if (J) jagged_destroy(J);
    return st;
}
