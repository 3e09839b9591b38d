/* matrix.c - the operator of every stored matrix: products stage by stage, values slot by slot.
 * Kernels: cl/product.clh, made of each format's cl/<stem>.cl. */
#include "matrix.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- products ---------------------------------------------------------------------------- */

enum { REST = KRY_DIRECTION_ARGS + 6 }; /* arguments besides the structure and the numbers */

kry_status kry_stage_launch(kry_matrix *A, const kry_stage *s, kry_kernel *kernel, int64_t groups,
                            const kry_arg *rest, size_t count)
{
    kry_arg args[KRY_STAGE_ARGS + 1 + REST];
    size_t n = 0;

    for (; n < (size_t)s->count; n++)
        args[n] = s->is_buffer[n] ? (kry_arg)ARG(s->value[n].buffer)
                                  : (kry_arg)ARG(s->value[n].number);
    if (!s->no_values) args[n++] = (kry_arg)ARG(A->val);
    memcpy(args + n, rest, count * sizeof *rest);
    return kry_launch(A->dev, kernel, groups, args, n + count);
}

kry_status kry_matrix_apply_stages(kry_matrix *A, double alpha, const kry_vec *x, double beta,
                                   kry_vec *y)
{
    kry_status st = KRY_OK;
    kry_scalar a = kry_scalar_of(A->dev, alpha), b = kry_scalar_of(A->dev, beta);
    const kry_arg rest[] = { ARG_ACC(A->dev, a), ARG(x->buffer), ARG(x->first),
                             ARG_ACC(A->dev, b), ARG(y->buffer), ARG(y->first) };

    for (int i = 0; i < A->stages; i++) {
        const kry_stage *s = &A->stage[i];
        TRY(kry_stage_launch(A, s, s->apply, s->groups, rest, COUNT(rest)));
    }
done:
    return st;
}

static kry_status matrix_apply(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    kry_matrix *A = self;
    return (A->format->apply ? A->format->apply : kry_matrix_apply_stages)(A, alpha, x, beta, y);
}

static kry_status matrix_residual(void *self, const kry_vec *b, const kry_vec *x, kry_vec *r)
{
    kry_matrix *A = self;
    kry_status st = KRY_OK;
    const kry_arg rest[] = { ARG(b->buffer), ARG(b->first),  ARG(x->buffer),
                             ARG(x->first),  ARG(r->buffer), ARG(r->first) };

    for (int i = 0; i < A->stages; i++) {
        const kry_stage *s = &A->stage[i];
        TRY(kry_stage_launch(A, s, s->residual, s->groups, rest, COUNT(rest)));
    }
done:
    return st;
}

static kry_status matrix_apply_dot(void *self, const kry_vec *x, kry_vec *y, kry_sum *sum)
{
    kry_matrix *A = self;
    kry_status st = KRY_OK;

    sum->count = 0;
    for (int i = 0; i < A->stages; i++) {
        const kry_stage *s = &A->stage[i];
        const kry_arg rest[] = { ARG(x->buffer), ARG(x->first),     ARG(y->buffer),
                                 ARG(y->first),  ARG(sum->buffer), ARG(sum->count) };
        TRY(kry_stage_launch(A, s, s->apply_dot, s->sum_groups, rest, COUNT(rest)));
        sum->count += (cl_int)s->sum_groups;
    }
done:
    return st;
}

static kry_status matrix_apply_direction(void *self, const kry_direction *d, kry_vec *p,
                                         kry_vec *q, kry_sum *sum)
{
    kry_matrix *A = self;
    kry_status st = KRY_OK;

    if (!A->stage[0].fuses) {
        TRY(kry_direction_run(d, p));
        TRY(matrix_apply_dot(A, p, q, sum));
        return st;
    }
    sum->count = 0;
    for (int i = 0; i < A->stages; i++) {
        const kry_stage *s = &A->stage[i];
        const kry_arg later[] = { ARG(d->state), ARG(p->buffer), ARG(q->buffer), ARG(sum->buffer),
                                  ARG(sum->count) };
        const kry_arg vectors[] = { ARG(d->z->buffer), ARG(d->old->buffer), ARG(p->buffer),
                                    ARG(q->buffer),    ARG(sum->buffer),    ARG(sum->count) };
        kry_arg first[REST];
        kry_direction_args(d, first);
        memcpy(first + KRY_DIRECTION_ARGS, vectors, sizeof vectors);
        TRY(kry_stage_launch(A, s, s->apply_direction, s->sum_groups, s->adds ? later : first,
                             s->adds ? COUNT(later) : COUNT(first)));
        sum->count += (cl_int)s->sum_groups;
    }
done:
    return st;
}

/* ---- the diagonal ------------------------------------------------------------------------ */

/* Remember where the diagonal is, while the pattern is at hand. */
static kry_status find_diagonal(kry_matrix *A, const kry_host_csr *host)
{
    kry_status st = KRY_OK;

    if (A->format->diagonal || A->rows != A->cols) return KRY_OK;
    TRY(kry_alloc((size_t)A->rows, sizeof *A->diagonal_slot, &A->diagonal_slot));
    for (int64_t i = 0; i < A->rows; i++) {
        A->diagonal_slot[i] = -1;
        for (int64_t k = host->row_ptr[i]; k < host->row_ptr[i + 1] && host->col[k] <= i; k++)
            if (host->col[k] == i) A->diagonal_slot[i] = (int32_t)kry_matrix_slot(A, k);
    }
done:
    return st;
}

static kry_status matrix_diagonal(void *self, kry_vec *d)
{
    kry_matrix *A = self;
    kry_status st = KRY_OK;
    kry_kernel *kernel;
    size_t bytes = (size_t)A->rows * sizeof *A->diagonal_slot;

    if (A->format->diagonal) return A->format->diagonal(A, d);
    if (A->diagonal_slot) { /* the buffer counts once it is written */
        if (!A->diagonal) TRY(kry_matrix_buffer(A, bytes, &A->diagonal));
        TRY_CL(clEnqueueWriteBuffer(A->dev->queue, A->diagonal, CL_TRUE, 0, bytes,
                                    A->diagonal_slot, 0, NULL, NULL));
        free(A->diagonal_slot), A->diagonal_slot = NULL;
    }
    const kry_arg args[] = { ARG(A->rows), ARG(A->diagonal), ARG(A->val), ARG(d->buffer),
                             ARG(d->first) };
    TRY(kry_kernel_get(A->dev, "matrix", A->type, A->stored == A->type ? "" : "-DVAL=float",
                       "matrix_diagonal", &kernel));
    TRY(kry_launch(A->dev, kernel, kry_groups_for(A->dev, A->type, A->rows), args, COUNT(args)));
done:
    return st;
}

/* ---- numbers ------------------------------------------------------------------------------ */

/* Below FLT_MIN devices may take a single for 0. */
static bool all_are_singles(const double *v, int64_t count)
{
    for (int64_t k = 0; k < count; k++)
        if ((double)(float)v[k] != v[k] || (v[k] != 0 && fabs(v[k]) < FLT_MIN)) return false;
    return true;
}

kry_type kry_stored_type(kry_type type, kry_values values, const void *val, int64_t count)
{
    bool narrow = type == KRY_F64 && (values == KRY_VALUES_SINGLE ||
                                      (values == KRY_VALUES_COMPACT && all_are_singles(val, count)));
    return narrow ? KRY_F32 : type;
}

/* The same, unless rounding to single was asked for and some number is too large. */
static kry_status choose_stored(const kry_matrix *A, const char *who, const void *sorted,
                                kry_type *stored)
{
    kry_status st = KRY_OK;
    const double *v = sorted;

    *stored = kry_stored_type(A->type, A->values, sorted, A->nnz);
    if (A->type == KRY_F64 && A->values == KRY_VALUES_SINGLE)
        for (int64_t k = 0; k < A->nnz; k++)
            CHECK(isfinite((float)v[k]), KRY_ERR_ARGUMENT,
                  "%s: %g, entry %lld of the sorted matrix, is too large for single precision", who,
                  v[k], (long long)k);
done:
    return st;
}

/* Entries to slots. In shared slots the second must be the same as the first, to the bit: NaN marks
 * slots that nothing came to. */
#define TO_SLOTS(FROM, TO)                                                        \
    do {                                                                          \
        const FROM *from = sorted;                                                \
        TO *to = *out;                                                            \
        for (int64_t s = 0; s < A->slots && A->shared; s++) to[s] = (TO)NAN;      \
        for (int64_t k = 0; k < A->nnz; k++) {                                    \
            TO *place = &to[kry_matrix_slot(A, k)], v = (TO)from[k];              \
            if (A->shared && !isnan(*place) && memcmp(place, &v, sizeof v)) differs = k; \
            *place = v;                                                           \
        }                                                                         \
        for (int64_t s = 0; s < A->slots && A->shared; s++)                       \
            if (isnan(to[s])) to[s] = 0;                                          \
    } while (0)

static kry_status to_slots(const kry_matrix *A, const char *who, kry_type stored,
                           const void *sorted, void **out)
{
    kry_status st = KRY_OK;
    int64_t differs = -1;

    TRY(kry_alloc((size_t)A->slots, kry_type_size(stored), out));
    if (A->type == KRY_F32)
        TO_SLOTS(float, float);
    else if (stored == KRY_F32)
        TO_SLOTS(double, float);
    else
        TO_SLOTS(double, double);
    CHECK(differs < 0, KRY_ERR_ARGUMENT,
          "%s: entry %lld of the sorted matrix differs from its mirror image, but '%s' keeps one "
          "for both",
          who, (long long)differs, kry_format_name(A->format->format));
done:
    return st;
}

static kry_status get_kernels(kry_matrix *A, kry_type stored);

/* Numbers in the order of the sorted matrix to the device. On failure the old ones stay. */
static kry_status store_values(kry_matrix *A, const char *who, const void *sorted)
{
    kry_status st = KRY_OK;
    kry_type stored;
    void *placed = NULL;
    cl_mem val = NULL;

    TRY(choose_stored(A, who, sorted, &stored));
    if (A->slot || stored != A->type) TRY(to_slots(A, who, stored, sorted, &placed));
    size_t bytes = (size_t)A->slots * kry_type_size(stored);
    if (!A->val || stored != A->stored) {
        TRY(kry_buffer_create(A->dev, bytes, &val));
        TRY(get_kernels(A, stored));
    }
    if (bytes)
        TRY_CL(clEnqueueWriteBuffer(A->dev->queue, val ? val : A->val, CL_TRUE, 0, bytes,
                                    placed ? placed : sorted, 0, NULL, NULL));
    if (val) {
        kry_buffer_release(A->dev, &A->val);
        A->val = val, val = NULL;
        A->stored = stored;
    }
done:
    /* The old numbers stay, and so do their kernels: those are at hand, so this cannot fail. */
    if (val && A->val) (void)get_kernels(A, A->stored);
    kry_buffer_release(A->dev, &val);
    free(placed);
    return st;
}

static kry_status matrix_update(void *self, const void *values)
{
    kry_matrix *A = self;
    kry_status st = KRY_OK;
    const char *who = "kry_op_update";

    if (!values) return KRY_OK; /* the buffer itself was changed, and nothing depends on it */
    CHECK(!A->wrapped, KRY_ERR_ARGUMENT,
          "%s: the values of a wrapped matrix are changed in its buffer; pass NULL", who);
    if (A->host.identity)
        TRY(kry_values_check(who, A->type, A->nnz, values));
    else
        TRY(kry_host_csr_set_values(&A->host, who, values));
    TRY(store_values(A, who, A->host.identity ? values : A->host.val));
done:
    return st;
}

/* ---- reading back -------------------------------------------------------------------------- */

static kry_status read_values(kry_matrix *A, void *val)
{
    kry_status st = KRY_OK;
    size_t size = kry_type_size(A->stored);
    char *placed = NULL;

    TRY(kry_alloc((size_t)A->slots, size, &placed));
    TRY_CL(clEnqueueReadBuffer(A->dev->queue, A->val, CL_TRUE, 0, (size_t)A->slots * size, placed,
                               0, NULL, NULL));
    for (int64_t k = 0; k < A->nnz; k++) {
        const void *from = placed + size * (size_t)kry_matrix_slot(A, k);
        if (A->type == KRY_F32)
            ((float *)val)[k] = *(const float *)from;
        else
            ((double *)val)[k] =
                A->stored == KRY_F32 ? (double)*(const float *)from : *(const double *)from;
    }
done:
    free(placed);
    return st;
}

kry_status kry_matrix_read(const kry_op *op, int64_t *row_ptr, int32_t *col, void *val)
{
    kry_status st = KRY_OK;
    kry_place *place = NULL;
    kry_matrix *A = op ? kry_matrix_of(op) : NULL;

    CHECK(op && row_ptr, KRY_ERR_ARGUMENT, "kry_matrix_read: NULL");
    CHECK(A, KRY_ERR_UNSUPPORTED, "kry_matrix_read: '%s' is not a stored matrix", op->table->kind);
    CHECK(A->nnz == 0 || (col && val), KRY_ERR_ARGUMENT, "kry_matrix_read: NULL");
    memset(row_ptr, 0, ((size_t)A->rows + 1) * sizeof *row_ptr);
    if (A->nnz == 0) return KRY_OK;
    TRY(kry_alloc((size_t)A->slots, sizeof *place, &place));
    TRY(A->format->places(A, place));
    for (int64_t k = 0; k < A->nnz; k++) {
        const kry_place *p = &place[kry_matrix_slot(A, k)];
        bool mirrored = A->slot && A->slot[k] < 0;
        row_ptr[(mirrored ? p->col : p->row) + 1]++;
        col[k] = mirrored ? p->row : p->col;
    }
    for (int64_t i = 0; i < A->rows; i++) row_ptr[i + 1] += row_ptr[i];
    TRY(read_values(A, val));
done:
    free(place);
    return st;
}

/* ---- the operator -------------------------------------------------------------------------- */

static void matrix_describe(void *self, kry_op_info *info)
{
    kry_matrix *A = self;
    double number = (double)kry_type_size(A->type), n = (double)A->rows;

    info->variant = A->variant;
    info->chosen = A->chosen;
    info->nnz = A->nnz;
    info->slots = A->slots;
    info->bytes_stored = (double)A->slots * (double)kry_type_size(A->stored) + A->structure_bytes;
    double plain =
        info->bytes_stored + (n + (double)A->cols + 2.0 * (double)A->rewritten) * number;
    info->bytes_per_apply = plain + A->extra_bytes;
    /* reads z, old; writes p, q: two vectors more than a product, three if p has its own pass */
    info->bytes_per_direction = plain + (A->stage[0].fuses ? 2.0 : 3.0) * number * n;
}

void kry_matrix_destroy(void *self)
{
    kry_matrix *A = self;
    if (!A) return;
    for (int i = 0; i < A->buffers; i++) kry_buffer_release(A->dev, &A->buffer[i]);
    kry_buffer_release(A->dev, &A->val);
    kry_host_csr_release(&A->host);
    free(A->diagonal_slot);
    free(A->extra);
    free(A->slot);
    free(A);
}

/* One table for each format, the same but for the name in messages. */
static const kry_op_table op_tables[KRY_FORMAT_COUNT] = {
#define X(NAME, text)                               \
    [KRY_FORMAT_##NAME] = {                         \
        .struct_size = sizeof(kry_op_table),        \
        .kind = text,                               \
        .apply = matrix_apply,                      \
        .apply_dot = matrix_apply_dot,              \
        .apply_direction = matrix_apply_direction,  \
        .residual = matrix_residual,                \
        .diagonal = matrix_diagonal,                \
        .update = matrix_update,                    \
        .describe = matrix_describe,                \
        .destroy = kry_matrix_destroy,              \
    },
    KRY_FORMAT_LIST(X)
#undef X
};

kry_matrix *kry_matrix_of(const kry_op *op)
{
    return op->table->destroy == kry_matrix_destroy ? op->self : NULL;
}

/* ---- building stages ------------------------------------------------------------------------ */

kry_stage *kry_matrix_stage(kry_matrix *A, const char *stem, const char *defines)
{
    kry_stage *s = &A->stage[A->stages];
    *s = (kry_stage){ .stem = stem, .adds = A->stages > 0 };
    snprintf(s->defines, sizeof s->defines, "%s", defines);
    A->stages++;
    return s;
}

void kry_stage_int(kry_stage *s, int64_t number) { s->value[s->count++].number = (cl_int)number; }

void kry_stage_buffer(kry_stage *s, cl_mem buffer)
{
    s->is_buffer[s->count] = true;
    s->value[s->count++].buffer = buffer;
}

kry_status kry_matrix_buffer(kry_matrix *A, size_t bytes, cl_mem *buffer)
{
    kry_status st = kry_buffer_create(A->dev, bytes, buffer);
    if (st == KRY_OK) A->buffer[A->buffers++] = *buffer;
    return st;
}

kry_status kry_stage_array(kry_matrix *A, kry_stage *s, const void *array, size_t count,
                           size_t size)
{
    kry_status st = KRY_OK;
    cl_mem buffer = NULL;

    TRY(kry_matrix_buffer(A, count * size, &buffer));
    if (count)
        TRY_CL(clEnqueueWriteBuffer(A->dev->queue, buffer, CL_TRUE, 0, count * size, array, 0,
                                    NULL, NULL));
    kry_stage_buffer(s, buffer);
    A->structure_bytes += (double)(count * size);
done:
    return st;
}

kry_status kry_stage_read(kry_matrix *A, const kry_stage *s, int at, size_t bytes, void *host)
{
    kry_status st = KRY_OK;
    if (bytes)
        TRY_CL(clEnqueueReadBuffer(A->dev->queue, s->value[at].buffer, CL_TRUE, 0, bytes, host, 0,
                                   NULL, NULL));
done:
    return st;
}

/* Partial sums of all stages share one buffer: later stages get what the first one leaves. */
static int64_t most_sums(const kry_matrix *A, const kry_stage *s)
{
    enum { LATER = KRY_SUM_CAPACITY / 8 };
    int64_t most = kry_groups_for_sums(A->dev, A->type, INT64_MAX / 2);
    return s->adds && most > LATER ? LATER : most;
}

void kry_stage_rows(const kry_matrix *A, kry_stage *s, int64_t n)
{
    int64_t size = kry_group_size(A->dev), all = (n + size - 1) / size, most = most_sums(A, s);
    int64_t limit = A->dev->info.opencl >= 120 ? 1 << 24 : 65535; /* of Fermi and before */

    s->groups = s->sum_groups = kry_groups_for(A->dev, A->type, n);
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
    /* Where every group has one piece, launches cost more than the neighbours' second vector. */
    s->fuses = !A->dev->info.cpu_kernels && n <= most;
}

kry_status kry_matrix_split_stage(kry_matrix *A, const cl_int *split, int64_t rows, cl_mem partial)
{
    kry_status st = KRY_OK;
    kry_stage *s;

    if (!rows) return KRY_OK;
    s = kry_matrix_stage(A, "split", "");
    s->no_values = true;
    kry_stage_int(s, rows);
    TRY(kry_stage_array(A, s, split, (size_t)rows * 3, sizeof *split));
    kry_stage_buffer(s, partial);
    kry_stage_pieces(A, s, rows);
done:
    return st;
}

int64_t kry_longest_row(const kry_host_csr *host)
{
    int64_t longest = 0;
    for (int64_t i = 0; i < host->rows; i++) {
        int64_t length = host->row_ptr[i + 1] - host->row_ptr[i];
        if (length > longest) longest = length;
    }
    return longest;
}

/* Small pieces: PoCL hands a core half of what is left at a time, and few pieces do not balance. */
int64_t kry_cpu_pieces(const kry_device *dev, int64_t work)
{
    enum { WORTH_A_GROUP = 2048 }; /* entries and rows */
    int64_t pieces = work / WORTH_A_GROUP + 1;
    return pieces < dev->shape.chunks ? pieces : dev->shape.chunks;
}

void kry_equal_shares(const int32_t *begin, int64_t count, int32_t *share, int64_t pieces)
{
    int64_t work = begin[count] + count, i = 0;
    for (int64_t b = 0; b < pieces; b++) {
        while (i < count && begin[i] + i < work / pieces * b) i++;
        share[b] = (int32_t)i;
    }
    share[0] = 0, share[pieces] = (int32_t)count;
}

kry_status kry_matrix_slots(kry_matrix *A, double slots, double index_bytes)
{
    enum { WORST = 4, ALLOWANCE = 1 << 20 }; /* times CSR, and bytes that are never too many */
    kry_status st = KRY_OK;
    double number = (double)kry_type_size(A->type), bytes = slots * number + index_bytes;
    double csr = (double)A->nnz * (number + 4) + 4.0 * (double)A->rows;

    CHECK(bytes <= WORST * csr + ALLOWANCE, KRY_ERR_UNSUPPORTED,
          "format %s does not suit this matrix: it would take %.3g MB for %.3g numbers, csr takes "
          "%.3g MB for %lld",
          kry_format_name(A->format->format), bytes * 1e-6, slots, csr * 1e-6, (long long)A->nnz);
    CHECK(slots <= INT32_MAX, KRY_ERR_UNSUPPORTED,
          "format %s takes up to 2^31-1 numbers, padding included, this matrix needs %.0f; csr "
          "takes more",
          kry_format_name(A->format->format), slots);
    A->slots = (int64_t)slots;
    TRY(kry_alloc((size_t)A->nnz, sizeof *A->slot, &A->slot));
done:
    return st;
}

/* ---- making one ------------------------------------------------------------------------------ */

static kry_status get_kernels(kry_matrix *A, kry_type stored)
{
    kry_status st = KRY_OK;
    kry_device *dev = A->dev;

    for (int i = 0; i < A->stages; i++) {
        kry_stage *s = &A->stage[i];
        char plain[160], exact[176], name[32];
        snprintf(plain, sizeof plain, "%s%s", s->defines, stored == A->type ? "" : " -DVAL=float");
        /* The true residual of a single-precision solve is summed in double. */
        snprintf(exact, sizeof exact, "%s%s", plain,
                 A->type == KRY_F32 && dev->info.fp64 ? " -DSUM=ACC" : "");
        snprintf(name, sizeof name, "%s_apply", s->stem);
        TRY(kry_kernel_get(dev, s->stem, A->type, plain, name, &s->apply));
        snprintf(name, sizeof name, "%s_apply_dot", s->stem);
        TRY(kry_kernel_get(dev, s->stem, A->type, plain, name, &s->apply_dot));
        snprintf(name, sizeof name, "%s_apply_direction", s->stem);
        if (!dev->info.cpu_kernels)
            TRY(kry_kernel_get(dev, s->stem, A->type, plain, name, &s->apply_direction));
        snprintf(name, sizeof name, "%s_residual", s->stem);
        TRY(kry_kernel_get(dev, s->stem, A->type, exact, name, &s->residual));
    }
    if (A->format->kernels) TRY(A->format->kernels(A, stored));
done:
    return st;
}

kry_status kry_matrix_new(kry_device *dev, kry_type type, int64_t rows, int64_t cols, int64_t nnz,
                          const kry_format_table *format, kry_matrix **A)
{
    kry_status st = kry_alloc(1, sizeof **A, A);
    if (st == KRY_OK)
        **A = (kry_matrix){ .format = format,
                            .dev = dev,
                            .type = type,
                            .stored = type,
                            .rows = rows,
                            .cols = cols,
                            .nnz = nnz,
                            .slots = nnz,
                            .chosen = "asked for" };
    return st;
}

kry_status kry_matrix_finish(kry_matrix **A, unsigned traits, kry_op **op)
{
    kry_status st = KRY_OK;
    kry_op_shape shape = { (*A)->rows, (*A)->cols, (*A)->type, traits };

    TRY(get_kernels(*A, (*A)->stored));
    TRY(kry_op_create((*A)->dev, &op_tables[(*A)->format->format], *A, &shape, op));
    *A = NULL; /* the operator's now */
done:
    return st;
}

static const kry_format_table *const formats[KRY_FORMAT_COUNT] = {
    [KRY_FORMAT_CSR] = &kry_csr_format,       [KRY_FORMAT_DIA] = &kry_dia_format,
    [KRY_FORMAT_SYMDIA] = &kry_symdia_format, [KRY_FORMAT_ELL] = &kry_ell_format,
    [KRY_FORMAT_SELL] = &kry_sell_format,     [KRY_FORMAT_JDS] = &kry_jds_format,
    [KRY_FORMAT_HYB] = &kry_hyb_format,       [KRY_FORMAT_COO] = &kry_coo_format,
};

kry_status kry_matrix_in_format(kry_device *dev, const kry_host_csr *host,
                                const kry_matrix_params *params, kry_op **op)
{
    kry_status st = KRY_OK;
    kry_matrix *A = NULL;

    *op = NULL;
    TRY(kry_matrix_new(dev, host->type, host->rows, host->cols, host->nnz,
                       formats[params->format], &A));
    A->values = params->values;
    TRY(A->format->build(A, host, params));
    TRY(find_diagonal(A, host));
    TRY(store_values(A, "kry_csr_create", host->val));
    TRY(kry_matrix_finish(&A, params->traits, op));
done:
    kry_matrix_destroy(A);
    return st;
}

/* Place and mirror are kept for new values, the rest of host has done its work. */
static void adopt(kry_matrix *A, kry_host_csr *host)
{
    A->host = *host;
    memset(host, 0, sizeof *host);
    free(A->host.row_ptr), A->host.row_ptr = NULL;
    free(A->host.col), A->host.col = NULL;
    if (A->host.identity) free(A->host.val), A->host.val = NULL;
}

kry_status kry_matrix_from_host(kry_device *dev, kry_host_csr *host,
                                const kry_matrix_params *params, kry_op **op)
{
    kry_status st = KRY_OK;

    if (params->format == KRY_FORMAT_AUTO)
        TRY(kry_choose(dev, host, params, op));
    else
        TRY(kry_matrix_in_format(dev, host, params, op));
    adopt((*op)->self, host);
done:
    return st;
}
