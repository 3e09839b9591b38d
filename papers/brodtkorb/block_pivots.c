/* block_pivots.c - P A = L U with pivots of 2 x 2 numbers. Kernels: cl/papers/block_pivots.cl.
 *
 * Panels of PANEL columns are factored in one launch of one group; then rows are exchanged in all other
 * columns, and a product takes the panel from what is behind it. */
#include "block_pivots.h"
#include "paper.h"
#include <stdio.h>
#include <stdlib.h>

enum { PANEL = 32 };

typedef struct factoring {
    kry_device *device;
    kry_vec *F; /* the caller's */
    int64_t m, n;
    int group;
    cl_kernel panel, rows; /* owned */
    cl_mem order, swaps;   /* m cl_int each; owned */
} factoring;

static void factoring_end(factoring *f)
{
    if (f->swaps) clReleaseMemObject(f->swaps);
    if (f->order) clReleaseMemObject(f->order);
    if (f->rows) clReleaseKernel(f->rows);
    if (f->panel) clReleaseKernel(f->panel);
}

static kry_status factoring_begin(factoring *f)
{
    static const char name[] = "block_pivots";
    kry_status st = KRY_OK;
    const kry_device_info *info = kry_device_get_info(f->device);
    const kry_type type = kry_vec_type(f->F);
    cl_context context = kry_device_context(f->device);
    cl_int err[2], *order = NULL;
    char options[32];

    f->group = info->cpu_kernels ? 16 : 256;
    while (f->group > info->max_group) f->group /= 2;
    snprintf(options, sizeof options, "-DGROUP=%d", f->group);
    TRY(kry_device_kernel(f->device, type, name, NULL, options, "block_pivots_panel", &f->panel));
    TRY(kry_device_kernel(f->device, type, name, NULL, options, "block_pivots_rows", &f->rows));
    order = calloc((size_t)f->m, sizeof *order);
    CHECK(order, KRY_ERR_MEMORY, "no memory for an order of %lld rows", (long long)f->m);
    for (int64_t i = 0; i < f->m; i++) order[i] = (cl_int)i;
    f->order = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                              (size_t)f->m * sizeof *order, order, &err[0]);
    f->swaps =
        clCreateBuffer(context, CL_MEM_READ_WRITE, (size_t)f->m * sizeof *order, NULL, &err[1]);
    for (int i = 0; i < 2; i++) TRY(paper_check(err[i], "clCreateBuffer"));
done:
    free(order);
    return st;
}

/* The panel from column c0 on, w wide, in its own columns and in all others. */
static kry_status factor_panel(factoring *f, int64_t c0, int64_t w)
{
    kry_status st = KRY_OK;
    int64_t first, ld = f->m;
    cl_mem F = kry_vec_buffer(f->F, &first);
    const cl_int m = (cl_int)f->m, at = (cl_int)c0, width = (cl_int)w;
    const kry_arg panel[] = { KRY_ARG(m),     KRY_ARG(at), KRY_ARG(width),    KRY_ARG(F),
                              KRY_ARG(first), KRY_ARG(ld), KRY_ARG(f->order), KRY_ARG(f->swaps) };
    const kry_arg rows[] = { KRY_ARG(f->n),  KRY_ARG(at), KRY_ARG(width),   KRY_ARG(F),
                             KRY_ARG(first), KRY_ARG(ld), KRY_ARG(f->swaps) };
    /* of columns, each as much work as some thousand numbers */
    const int64_t groups = kry_device_groups(f->device, kry_vec_type(f->F), 1024 * (f->n - w));

    TRY(kry_device_launch(f->device, f->panel, 1, f->group, panel, COUNT(panel)));
    if (f->n > w) TRY(kry_device_launch(f->device, f->rows, groups, 0, rows, COUNT(rows)));
done:
    return st;
}

/* A22 -= L21 U12 for all behind the panel. */
static kry_status take_panel(factoring *f, int64_t c0, int64_t w)
{
    kry_status st = KRY_OK;
    const int64_t next = c0 + w, down = f->m - next, right = f->n - next;
    kry_vec *L21 = NULL, *U12 = NULL, *A22 = NULL;

    if (down == 0 || right == 0) return KRY_OK;
    TRY(kry_vec_block(f->F, next, down, c0, w, &L21));
    TRY(kry_vec_block(f->F, c0, w, next, right, &U12));
    TRY(kry_vec_block(f->F, next, down, next, right, &A22));
    TRY(kry_vec_gemm(false, false, -1, L21, U12, 1, A22));
done:
    kry_vec_release(&A22);
    kry_vec_release(&U12);
    kry_vec_release(&L21);
    return st;
}

kry_status block_pivots_factor(const kry_vec *A, kry_vec *F, int32_t *row_order)
{
    kry_status st = KRY_OK;
    factoring f = {
        .device = kry_vec_device(F), .F = F, .m = kry_vec_rows(F), .n = kry_vec_cols(F)
    };
    const int64_t r = f.m < f.n ? f.m : f.n;

    TRY(kry_vec_copy(A, F));
    if (r == 0) goto done;
    TRY(factoring_begin(&f));
    for (int64_t c0 = 0; c0 < r; c0 += PANEL) {
        const int64_t w = r - c0 < PANEL ? r - c0 : PANEL;
        TRY(factor_panel(&f, c0, w));
        TRY(take_panel(&f, c0, w));
    }
    if (row_order)
        TRY(paper_check(clEnqueueReadBuffer(kry_device_queue(f.device), f.order, CL_TRUE, 0,
                                            (size_t)f.m * sizeof *row_order, row_order, 0, NULL,
                                            NULL),
                        "clEnqueueReadBuffer"));
done:
    factoring_end(&f);
    return st;
}
