/* stage.c - the stages of a matrix, their arguments, groups and kernels; room for the slots of its
 * numbers. */
#include "matrix/matrix.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

kryi_stage *kryi_matrix_stage(kryi_matrix *A, const char *stem, const char *defines, ...)
{
    kryi_stage *s = &A->stage[A->stages];
    va_list args;

    *s = (kryi_stage){ .stem = stem, .adds = A->stages > 0 };
    va_start(args, defines);
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): it is started above */
    vsnprintf(s->defines, sizeof s->defines, defines, args);
    va_end(args);
    A->stages++;
    return s;
}

void kryi_stage_int(kryi_stage *s, int64_t number) { s->value[s->count++].number = (cl_int)number; }

kry_status kryi_stage_buffer(kryi_matrix *A, kryi_stage *s, cl_mem buffer)
{
    const kry_status st = buffer ? kryi_buffer_retain(A->dev, buffer) : KRY_OK;

    if (st < 0) return st;
    s->is_buffer[s->count] = true;
    s->value[s->count++].buffer = buffer;
    return KRY_OK;
}

kry_status kryi_stage_array(kryi_matrix *A, kryi_stage *s, const void *array, size_t count,
                            size_t size)
{
    const kry_status st =
        kryi_buffer_upload(A->dev, count * size, array, &s->value[s->count].buffer);

    if (st < 0) return st;
    s->is_buffer[s->count++] = true;
    A->structure_bytes += (double)(count * size);
    return KRY_OK;
}

/* Partial sums of all stages share one buffer. Later stages get a small part of it. */
static int64_t most_sums(const kryi_matrix *A, const kryi_stage *s)
{
    enum { LATER = KRY_SUM_CAPACITY / 8 };
    int64_t most = kryi_groups_for_sums(A->dev, A->shape.type, INT64_MAX / 2);
    return s->adds && most > LATER ? LATER : most;
}

void kryi_stage_rows(const kryi_matrix *A, kryi_stage *s, int64_t n, int each)
{
    s->groups = s->sum_groups = kryi_groups_for(A->dev, A->shape.type, n);
    s->rows_each = each;
    if (A->dev->info.cpu_kernels) return;
    const int64_t size = kryi_group_size(A->dev) * (int64_t)each, all = (n + size - 1) / size;
    const int64_t most = most_sums(A, s);
    const int64_t limit =
        A->dev->info.opencl >= 120 ? 1 << 24 : 65535; /* Fermi's, and that of earlier GPUs */
    s->groups = all < 1 ? 1 : all < limit ? all : limit;
    s->sum_groups = s->groups < most ? s->groups : most;
    s->fuses = all <= most;
}

void kryi_stage_pieces(const kryi_matrix *A, kryi_stage *s, int64_t n)
{
    int64_t most = most_sums(A, s);

    s->groups = n < 1 ? 1 : n < most ? n : most;
    s->sum_groups = s->groups;
    /* If every group has one piece, two launches cost more than reading the neighbours of a second
     * vector. */
    s->fuses = !A->dev->info.cpu_kernels && n <= most;
}

kry_status kryi_matrix_split_stage(kryi_matrix *A, const cl_int *split, int64_t rows,
                                   cl_mem partial)
{
    kry_status st = KRY_OK;
    kryi_stage *s = kryi_matrix_stage(A, "split", "");

    s->no_values = s->by_vector = true;
    kryi_stage_int(s, rows);
    TRY(kryi_stage_array(A, s, split, (size_t)rows * 3, sizeof *split));
    TRY(kryi_stage_buffer(A, s, partial));
    kryi_stage_pieces(A, s, rows);
done:
    return st;
}

/* PoCL gives a core half of the remaining groups at a time, so that few large pieces would not
 * balance. */
int64_t kryi_cpu_pieces(const kry_device *dev, int64_t work)
{
    enum { WORTH_A_GROUP = 2048 }; /* entries and rows */
    int64_t pieces = work / WORTH_A_GROUP + 1;
    return pieces < dev->shape.chunks ? pieces : dev->shape.chunks;
}

kry_status kryi_matrix_slots(kryi_matrix *A, double slots, double index_bytes)
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

void kryi_stage_defines(const kryi_matrix *A, const kryi_stage *s, kry_type stored,
                        char text[KRY_STAGE_DEFINES])
{
    snprintf(text, KRY_STAGE_DEFINES, "%s%s", s->defines,
             stored == A->shape.type || s->no_values ? "" : " -DVAL=float");
}

size_t kryi_stage_args(const kryi_matrix *A, const kryi_stage *s, const kry_arg *rest, size_t count,
                       kry_arg args[KRY_STAGE_ARGS + 2 + KRY_STAGE_REST])
{
    size_t n = 0;

    for (; n < (size_t)s->count; n++)
        args[n] =
            s->is_buffer[n] ? (kry_arg)ARG(s->value[n].buffer) : (kry_arg)ARG(s->value[n].number);
    if (!s->no_values) args[n++] = (kry_arg)ARG(A->val);
    if (!s->adds) args[n++] = (kry_arg)ARG(A->surplus);
    memcpy(args + n, rest, count * sizeof *rest);
    return n + count;
}

kry_status kryi_matrix_kernels(kryi_matrix *A, kry_type stored)
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

    for (kryi_stage *s = A->stage; s < A->stage + A->stages; s++)
        for (int p = 0; p < (gpu || s->fuses ? KRY_PRODUCTS : KRY_APPLY_DIRECTION); p++) {
            char defines[KRY_STAGE_DEFINES + 48], name[32];
            kryi_stage_defines(A, s, stored, defines);
            if (s->pairs) strcat(defines, " -DPAIRS");
            if (s->diagonals)
                snprintf(defines + strlen(defines), 32, " -DDIAGONALS=%d%s", s->diagonals,
                         A->format->shared ? " -DSYMMETRIC" : "");
            if ((p == KRY_RESIDUAL || p == KRY_RELAX) && exact) strcat(defines, " -DSUM=ACC");
            snprintf(name, sizeof name, "%s_%s", s->stem, names[p]);
            TRY(kryi_kernel_get(A->dev, s->stem, A->shape.type, defines, name, &s->kernel[p]));
        }
done:
    return st;
}
