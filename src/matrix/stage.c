/* stage.c - the stages of a matrix, their arguments, groups and kernels; room for the slots of its
 * numbers. */
#include "matrix/matrix.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

kry_stage *kry_matrix_stage(kry_matrix *A, const char *stem, const char *defines, ...)
{
    kry_stage *s = &A->stage[A->stages];
    va_list args;

    *s = (kry_stage){ .stem = stem, .adds = A->stages > 0 };
    va_start(args, defines);
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): it is started above */
    vsnprintf(s->defines, sizeof s->defines, defines, args);
    va_end(args);
    A->stages++;
    return s;
}

void kry_stage_int(kry_stage *s, int64_t number) { s->value[s->count++].number = (cl_int)number; }

static void add_buffer(kry_stage *s, cl_mem buffer)
{
    s->is_buffer[s->count] = true;
    s->value[s->count++].buffer = buffer;
}

kry_status kry_stage_buffer(kry_matrix *A, kry_stage *s, cl_mem buffer)
{
    kry_status st = buffer ? kry_buffer_retain(A->dev, buffer) : KRY_OK;
    if (st == KRY_OK) add_buffer(s, buffer);
    return st;
}

kry_status kry_stage_array(kry_matrix *A, kry_stage *s, const void *array, size_t count,
                           size_t size)
{
    cl_mem buffer;
    kry_status st = kry_buffer_upload(A->dev, count * size, array, &buffer);

    if (st < 0) return st;
    add_buffer(s, buffer);
    A->structure_bytes += (double)(count * size);
    return st;
}

/* Partial sums of all stages share one buffer. Later stages get a small part of it. */
static int64_t most_sums(const kry_matrix *A, const kry_stage *s)
{
    enum { LATER = KRY_SUM_CAPACITY / 8 };
    int64_t most = kry_groups_for_sums(A->dev, A->shape.type, INT64_MAX / 2);
    return s->adds && most > LATER ? LATER : most;
}

void kry_stage_rows(const kry_matrix *A, kry_stage *s, int64_t n, int each)
{
    int64_t size = kry_group_size(A->dev) * (int64_t)each, all = (n + size - 1) / size;
    int64_t most = most_sums(A, s);
    int64_t limit =
        A->dev->info.opencl >= 120 ? 1 << 24 : 65535; /* Fermi's, and that of earlier GPUs */

    s->groups = s->sum_groups = kry_groups_for(A->dev, A->shape.type, n);
    s->rows_each = each;
    if (A->dev->info.cpu_kernels) return;
    s->groups = all < 1 ? 1 : all < limit ? all : limit;
    s->sum_groups = s->groups < most ? s->groups : most;
    s->fuses = all <= most;
}

void kry_stage_pieces(const kry_matrix *A, kry_stage *s, int64_t n)
{
    int64_t most = most_sums(A, s);

    s->groups = n < 1 ? 1 : n < most ? n : most;
    s->sum_groups = s->groups;
    /* If every group has one piece, two launches cost more than reading the neighbours of a second
     * vector. */
    s->fuses = !A->dev->info.cpu_kernels && n <= most;
}

kry_status kry_matrix_split_stage(kry_matrix *A, const cl_int *split, int64_t rows, cl_mem partial)
{
    kry_status st = KRY_OK;
    kry_stage *s;

    if (!rows) return KRY_OK;
    s = kry_matrix_stage(A, "split", "");
    s->no_values = s->by_vector = true;
    kry_stage_int(s, rows);
    TRY(kry_stage_array(A, s, split, (size_t)rows * 3, sizeof *split));
    TRY(kry_stage_buffer(A, s, partial));
    kry_stage_pieces(A, s, rows);
done:
    return st;
}

/* PoCL gives a core half of the remaining groups at a time, so that few large pieces would not
 * balance. */
int64_t kry_cpu_pieces(const kry_device *dev, int64_t work)
{
    enum { WORTH_A_GROUP = 2048 }; /* entries and rows */
    int64_t pieces = work / WORTH_A_GROUP + 1;
    return pieces < dev->shape.chunks ? pieces : dev->shape.chunks;
}

kry_status kry_matrix_check_slots(kry_matrix *A, double slots, double index_bytes)
{
    enum {
        WORST = 4,
        ALLOWANCE = 1 << 20
    }; /* times the bytes of CSR; and bytes that are always allowed */
    kry_status st = KRY_OK;
    double number = (double)kry_type_size(A->shape.type), bytes = slots * number + index_bytes;
    double csr = (double)A->nnz * (number + 4) + 4.0 * (double)A->shape.rows;

    CHECK(bytes <= WORST * csr + ALLOWANCE, KRY_ERR_UNSUPPORTED,
          "format %s does not suit this matrix: it would take %.3g MB for %.3g numbers, csr takes "
          "%.3g MB for %lld",
          kry_format_name(A->params.format), bytes * 1e-6, slots, csr * 1e-6, (long long)A->nnz);
    CHECK(slots <= INT32_MAX, KRY_ERR_UNSUPPORTED,
          "format %s takes up to 2^31-1 numbers, padding included, this matrix needs %.0f; csr "
          "takes more",
          kry_format_name(A->params.format), slots);
    A->slots = (int64_t)slots;
done:
    return st;
}

kry_status kry_matrix_slots(kry_matrix *A, double slots, double index_bytes)
{
    const kry_status st = kry_matrix_check_slots(A, slots, index_bytes);
    return st < 0 ? st : kry_alloc((size_t)A->nnz, sizeof *A->slot, &A->slot);
}

void kry_stage_defines(const kry_matrix *A, const kry_stage *s, kry_type stored,
                       char text[KRY_STAGE_DEFINES])
{
    snprintf(text, KRY_STAGE_DEFINES, "%s%s", s->defines,
             stored == A->shape.type || s->no_values ? "" : " -DVAL=float");
}

kry_status kry_stage_launch(const kry_matrix *A, const kry_stage *s, kry_kernel *kernel,
                            int64_t groups, const kry_arg *rest, size_t count)
{
    kry_arg args[KRY_STAGE_ARGS + 2 + KRY_STAGE_REST];
    size_t n = 0;

    for (; n < (size_t)s->count; n++)
        args[n] =
            s->is_buffer[n] ? (kry_arg)ARG(s->value[n].buffer) : (kry_arg)ARG(s->value[n].number);
    if (!s->no_values) args[n++] = (kry_arg)ARG(A->val);
    if (!s->adds) args[n++] = (kry_arg)ARG(A->surplus);
    memcpy(args + n, rest, count * sizeof *rest);
    return kry_launch(A->dev, kernel, groups, args, n + count);
}

kry_status kry_matrix_kernels(kry_matrix *A, kry_type stored)
{
    static const char *const names[] = { [KRY_APPLY] = "apply",
                                         [KRY_RESIDUAL] = "residual",
                                         [KRY_APPLY_DOT] = "apply_dot",
                                         [KRY_RELAX] = "relax",
                                         [KRY_APPLY_DIRECTION] = "apply_direction" };
    kry_status st = KRY_OK;
    /* residuals in single precision are summed in double */
    bool exact = A->shape.type == KRY_F32 && A->dev->info.fp64;
    const bool gpu = !A->dev->info.cpu_kernels;

    for (kry_stage *s = A->stage; s < A->stage + A->stages; s++)
        for (int p = 0; p < (gpu || s->fuses ? KRY_PRODUCTS : KRY_APPLY_DIRECTION); p++) {
            char defines[KRY_STAGE_DEFINES + 48], name[32];
            kry_stage_defines(A, s, stored, defines);
            if (s->pairs) strcat(defines, " -DPAIRS");
            if (s->diagonals)
                snprintf(defines + strlen(defines), 32, " -DDIAGONALS=%d%s", s->diagonals,
                         A->format->shared ? " -DSYMMETRIC" : "");
            if ((p == KRY_RESIDUAL || p == KRY_RELAX) && exact) strcat(defines, " -DSUM=ACC");
            snprintf(name, sizeof name, "%s_%s", s->stem, names[p]);
            TRY(kry_kernel_get(A->dev, s->stem, A->shape.type, defines, name, &s->kernel[p]));
        }
done:
    return st;
}
