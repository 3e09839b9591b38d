/* dia.c - matrices stored by diagonals; of symmetric ones, the upper diagonals. Kernels:
 * cl/formats/dia.cl. */
#include "matrix/given.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* sign, offset: of a diagonal on which an entry has no mirror image. */
static kry_status refuse_alone(char sign, int64_t offset)
{
    return kry_fail(KRY_ERR_ARGUMENT,
                    "format symdia needs a symmetric matrix: an entry on diagonal %c%lld has no "
                    "mirror image",
                    sign, (long long)offset);
}

typedef struct filling {
    const kryi_csr *host;
    const int32_t *offset; /* of the diagonals, ascending, */
    int64_t count;         /* so many */
    bool shared;
    int64_t stride;
    int32_t *slot;
    int64_t alone
        [KRY_MOST_PARTS]; /* offset below the main diagonal of an entry that has no mirror image; 0: none */
} filling;

/* Columns ascend, so that neither list of a row is searched from its beginning. */
static void fill_rows(void *user, int part, int64_t begin, int64_t end)
{
    filling *f = user;
    const int32_t *offset = f->offset, *col = f->host->col;

    for (int64_t i = begin; i < end; i++) {
        const int64_t after = f->host->row_ptr[i + 1];
        int64_t k = f->host->row_ptr[i], at = f->count - 1;

        for (; f->shared && k < after && col[k] < i; k++) {
            while (at > 0 && offset[at] > i - col[k]) at--;
            if (offset[at] != i - col[k] && !f->alone[part]) f->alone[part] = i - col[k];
            f->slot[k] = (int32_t) ~(at * f->stride + col[k]);
        }
        for (at = 0; k < after; k++) {
            while (offset[at] < col[k] - i) at++;
            f->slot[k] = (int32_t)(at * f->stride + i);
        }
    }
}

/* Refuse an entry without its mirror image. */
static kry_status check_mirrors(const kryi_matrix *A, const int32_t *offset)
{
    kry_status st = KRY_OK;
    signed char *balance = NULL;

    TRY(kryi_alloc((uint64_t)A->slots, 1, &balance));
    for (int64_t k = 0; k < A->nnz; k++) balance[kryi_matrix_slot(A, k)] += A->slot[k] < 0 ? -1 : 1;
    for (int64_t s = kryi_ell_stride(A->shape.rows); s < A->slots; s++)
        if (balance[s])
            TRY(refuse_alone(balance[s] > 0 ? '+' : '-',
                             offset[s / kryi_ell_stride(A->shape.rows)]));
done:
    free(balance);
    return st;
}

kry_status kryi_dia_stage(kryi_matrix *A, const int32_t *offset, int64_t count)
{
    enum { MOST = 16 };
    kry_status st = KRY_OK;
    const bool symmetric = A->format->shared;
    const int64_t rows = A->shape.rows, points = symmetric ? 2 * count - 1 : count;
    int64_t low = 0, high = 0, reach;
    kryi_stage *s = kryi_matrix_stage(A, "dia", "");

    /* Kernels for one vector are compiled for just that number of diagonals if they are those of the usual stencils in the
     * plane and in space: that saved an H100 10 % of the time in double and a third in single. */
    if (count <= MOST && (points == 5 || points == 7 || points == 9 || points == 27))
        s->diagonals = (int)count;
    if (count) {
        low = symmetric ? offset[count - 1] : -(int64_t)offset[0];
        high = offset[count - 1] + rows - A->shape.cols;
    }
    /* Rows at least this far from the first and the last one have entries on all diagonals. */
    reach = low > high ? low : high;
    reach = reach < 0 ? 0 : reach < rows ? reach : rows;
    kryi_stage_int(s, A->shape.rows);
    kryi_stage_int(s, A->shape.cols);
    kryi_stage_int(s, reach);
    kryi_stage_int(s, count);
    kryi_stage_int(s, kryi_ell_stride(A->shape.rows));
    kryi_stage_int(s, A->params.form == KRY_FLUX);
    kryi_stage_int(s, symmetric);
    TRY(kryi_stage_array(A, s, offset, (size_t)count, sizeof *offset));
    kryi_stage_rows(A, s, A->shape.rows, 1);
    /* On CPUs, too: neighbours' directions are formed VW at a time, from what is in the cache. */
    s->fuses = s->fuses || A->dev->info.cpu_kernels;
    snprintf(A->variant, sizeof A->variant, "%lld%s diagonals", (long long)count,
             symmetric ? " upper" : "");
done:
    return st;
}

kry_status kryi_dia_build(kryi_matrix *A, const kryi_given *given)
{
    kry_status st = KRY_OK;
    const kryi_csr *host = given->host;
    const bool symmetric = A->format->shared;
    const int64_t stride = kryi_ell_stride(host->rows);
    const int parts = kryi_parts(A->nnz);
    int64_t count = given->diagonals, lower = 0;
    int32_t *found = NULL, *offset = NULL;

    CHECK(!symmetric || host->rows == host->cols, KRY_ERR_SHAPE,
          "format symdia needs a symmetric matrix, this is %lld-by-%lld", (long long)host->rows,
          (long long)host->cols);
    CHECK(host->rows + host->cols <= INT32_MAX, KRY_ERR_UNSUPPORTED,
          "format %s takes up to 2^31-1 rows and columns together",
          kry_format_name(A->params.format));
    if (!given->diagonal) TRY(kryi_diagonals_find(host, host->rows + host->cols, &found, &count));
    const int32_t *all = given->diagonal ? given->diagonal : found;
    /* A symmetric matrix has those of the upper triangle, with the main one even if it is empty. */
    while (symmetric && lower < count && all[lower] <= 0) lower++;
    count += symmetric - lower;
    TRY(kryi_alloc((size_t)count, sizeof *offset, &offset));
    for (int64_t d = symmetric; d < count; d++) offset[d] = all[lower + d - symmetric];
    TRY(kryi_matrix_slots(A, (double)count * (double)stride, 4.0 * (double)count));
    TRY(kryi_alloc((uint64_t)A->nnz, sizeof *A->slot, &A->slot));
    filling f = { host, offset, count, symmetric, stride, A->slot, { 0 } };
    kryi_parallel(parts, host->rows, fill_rows, &f);
    for (int p = 0; p < parts; p++)
        if (f.alone[p]) TRY(refuse_alone('-', f.alone[p]));
    if (symmetric && !given->seen.symmetric) TRY(check_mirrors(A, offset));
    TRY(kryi_dia_stage(A, offset, count));
done:
    free(offset);
    free(found);
    return st;
}

/* ---- entries on the device ------------------------------------------------------------------------ */

/* A kernel whose arguments behind the matrix are `more`. */
static kry_status run(const kryi_matrix *A, const char *name, const kry_arg *more, size_t count)
{
    kry_status st = KRY_OK;
    const kryi_stage *s = &A->stage[0];
    char defines[KRY_STAGE_DEFINES];
    kryi_kernel *kernel;

    kryi_stage_defines(A, s, A->stored, defines);
    TRY(kryi_kernel_get(A->dev, "dia", A->shape.type, defines, name, &kernel));
    kry_arg args[KRY_STAGE_ARGS + 2 + KRY_STAGE_REST];
    const int64_t groups = kryi_groups_for(A->dev, A->shape.type, A->shape.rows);
    TRY(kryi_launch(A->dev, kernel, groups, args, kryi_stage_args(A, s, more, count, args)));
done:
    return st;
}

kry_status kryi_dia_diagonal(kryi_matrix *A, kry_vec *d)
{
    const kry_arg more[] = { ARG_VEC(d) };
    return run(A, "dia_diagonal", more, COUNT(more));
}

kry_status kryi_dia_entries(const kryi_matrix *A, kryi_device_csr *C, bool *all)
{
    kry_status st = KRY_OK;
    const uint64_t bytes = (uint64_t)A->nnz * sizeof(cl_int);
    cl_mem length = NULL;
    int64_t count;

    *all = A->placed;
    if (A->placed) return kryi_dia_entries_there(A, C);
    TRY(kryi_buffer_create(A->dev, (size_t)A->shape.rows * sizeof(cl_int), &length));
    const kry_arg lengths[] = { ARG(length) };
    TRY(run(A, "dia_lengths", lengths, COUNT(lengths)));
    TRY(kryi_device_csr_offsets(A->dev, A->shape.rows, length, &C->row_ptr, &count));
    *all = count == A->nnz;
    if (!*all) goto done;
    TRY(kryi_buffer_create(A->dev, bytes, &C->col));
    TRY(kryi_buffer_create(A->dev, bytes, &C->place));
    const kry_arg entries[] = { ARG(C->row_ptr), ARG(C->col), ARG(C->place) };
    TRY(run(A, "dia_entries", entries, COUNT(entries)));
done:
    kryi_buffer_release(A->dev, &length);
    if (st == KRY_OK && !*all) kryi_buffer_release(A->dev, &C->row_ptr);
    return st;
}
