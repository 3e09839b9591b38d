/* matrix.c - the operator of every stored matrix: products stage by stage, new values, description.
 * Kernels: cl/formats/<stem>.cl. */
#include "matrix/device_csr.h"
#include "matrix/given.h"
#include "matrix/matrix_parts.h"
#include "operator/direction.h"
#include "operator/op.h"
#include "operator/op_parts.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- products with A' ------------------------------------------------------------------------ */

/*
 * Products with the transpose of a stored matrix, by a copy of A' in compressed rows. It is made
 * when it is first asked for: sums over the rows of A' have one order, those over the columns of A none without
 * atomics.
 */

struct kryi_transposed {
    kry_op *op;           /* A'; retained */
    kryi_device_csr copy; /* the same on the device; nothing where the host makes it */
    cl_mem from;          /* the place in A of each entry of A' */
    bool stale;           /* A has new numbers */
};

static void release(kryi_transposed *T)
{
    if (!T) return;
    kry_op_release(&T->op);
    if (T->copy.dev) kryi_buffer_release(T->copy.dev, &T->from);
    kryi_device_csr_release(&T->copy);
    free(T);
}

static kry_status make_on_host(const kryi_matrix *A, kryi_transposed *T)
{
    kry_status st = KRY_OK;
    kryi_csr host = { 0 }, turned = { 0 };

    TRY(kryi_matrix_download(A, &host));
    TRY(kryi_csr_transpose(&host, &turned));
    if (T->op)
        TRY(kry_op_update(T->op, turned.val));
    else
        TRY(kryi_matrix_create(
            A->dev, &turned, KRY_MATRIX(.format = KRY_FORMAT_CSR, .duplicates = KRY_SUM), &T->op));
done:
    kryi_csr_release(&turned);
    kryi_csr_release(&host);
    return st;
}

static kry_status make_on_device(const kryi_matrix *A, kryi_transposed *T)
{
    kry_status st = KRY_OK;
    kryi_device_csr given = { 0 };

    TRY(kryi_device_csr_of(A, &given));
    if (T->op) {
        TRY(kryi_device_csr_transpose_again(&given, T->from, &T->copy));
    } else {
        TRY(kryi_device_csr_transpose(&given, &T->copy, &T->from));
        TRY(kryi_device_csr_operator(&T->copy, 0, NULL, &T->op));
    }
done:
    kryi_device_csr_release(&given);
    return st;
}

static kry_status make(const kryi_matrix *A, kryi_transposed *T)
{
    /* The kernels take int for offsets and rows without repetitions. */
    const bool fits = A->nnz > 0 && A->nnz <= INT32_MAX &&
                      kryi_device_csr_check("kry_op_apply_transpose", A) >= 0;
    return fits ? make_on_device(A, T) : make_on_host(A, T);
}

/* Entry of the operators' table, for matrices that are not known to be symmetric. */
static kry_status apply_copy(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    kry_status st = KRY_OK;
    kryi_matrix *A = self;
    kryi_transposed *T = A->transposed, *fresh = NULL;

    if (!T) {
        TRY(kryi_alloc(1, sizeof *fresh, &fresh));
        TRY(make(A, fresh));
        A->transposed = T = fresh, fresh = NULL;
    }
    if (T->stale) TRY(make(A, T));
    T->stale = false;
    TRY(T->op->table->apply(T->op->self, alpha, x, beta, y));
done:
    release(fresh);
    return st;
}

/* Bytes of the copy of A'; 0: there is none. */
static double transpose_bytes(const kryi_matrix *A)
{
    const kryi_transposed *T = A->transposed;
    kry_op_info info;

    if (!T) return 0;
    kry_op_describe(T->op, &info);
    return info.bytes_stored + (T->from ? 4.0 * (double)A->nnz : 0);
}

/* ---- products ---------------------------------------------------------------------------- */

/* Enqueue a product of the stages from `first` on, before `end`. sum: gets the partial sums of all of them, one after the
 * other; NULL: kernels leave none. */
static kry_status launch(const kryi_matrix *A, int first, int end, kryi_product product,
                         const kry_arg *rest, size_t count, kry_sum *sum)
{
    kry_status st = KRY_OK;

    kry_arg args[KRY_STAGE_ARGS + 2 + KRY_STAGE_REST];

    for (const kryi_stage *s = A->stage + first; s < A->stage + end; s++) {
        const int64_t groups = sum ? s->sum_groups : s->groups;
        const size_t n = kryi_stage_args(A, s, rest, count, args);
        TRY(kryi_launch(A->dev, s->kernel[product], groups, args, n));
        if (sum) sum->count += (cl_int)groups;
    }
done:
    return st;
}

/* matrix.c: y := alpha A x + beta y for one vector. */
static kry_status matrix_apply(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    kryi_matrix *A = self;
    kryi_scalar a = kryi_scalar_of(A->dev, alpha), b = kryi_scalar_of(A->dev, beta);
    const kry_arg rest[] = { ARG_ACC(A->dev, a), ARG_VEC(x), ARG_ACC(A->dev, b), ARG_VEC(y) };
    return launch(A, 0, A->stages, KRY_APPLY, rest, COUNT(rest), NULL);
}

static kry_status matrix_apply_transpose(void *self, double alpha, const kry_vec *x, double beta,
                                         kry_vec *y)
{
    const bool symmetric = ((kryi_matrix *)self)->shape.traits & KRY_SYMMETRIC;

    return symmetric ? matrix_apply(self, alpha, x, beta, y) : apply_copy(self, alpha, x, beta, y);
}

static kry_status matrix_residual(void *self, const kry_vec *b, const kry_vec *x, kry_vec *r)
{
    const kryi_matrix *A = self;
    const kry_arg rest[] = { ARG_VEC(b), ARG_VEC(x), ARG_VEC(r) };
    return launch(A, 0, A->stages, KRY_RESIDUAL, rest, COUNT(rest), NULL);
}

static kry_status matrix_relax_by(void *self, double c, const kry_vec *d, const kry_vec *b,
                                  const kry_vec *x, kry_vec *y)
{
    kryi_matrix *A = self;
    kryi_scalar by = kryi_scalar_of(A->dev, c);
    if (y->k > 1) return kryi_matrix_relax_block(self, c, d, b, x, y);
    const kry_arg rest[] = { ARG_ACC(A->dev, by), ARG_VEC(d), ARG_VEC(b), ARG_VEC(x), ARG_VEC(y) };
    return launch(A, 0, A->stages, KRY_RELAX, rest, COUNT(rest), NULL);
}

static kry_status matrix_apply_dot(void *self, const kry_vec *x, kry_vec *y, kry_sum *sum)
{
    const kryi_matrix *A = self;
    const kry_arg rest[] = { ARG_VEC(x), ARG_VEC(y), ARG(sum->buffer), ARG(sum->count) };
    sum->count = 0;
    return launch(A, 0, A->stages, KRY_APPLY_DOT, rest, COUNT(rest), sum);
}

static kry_status matrix_apply_direction(void *self, const kryi_cg *cg)
{
    kry_status st = KRY_OK;
    kryi_matrix *A = self;
    const kry_vec *p = cg->p, *q = cg->q;
    kry_sum *sum = cg->pq;
    const kry_arg vectors[] = { ARG(cg->z->buffer), ARG(cg->old->buffer), ARG(p->buffer),
                                ARG(q->buffer),     ARG(sum->buffer),     ARG(sum->count) };
    const kry_arg later[] = { ARG(cg->state), ARG(p->buffer), ARG(q->buffer), ARG(sum->buffer),
                              ARG(sum->count) };
    kry_arg first[KRY_STAGE_REST];

    if (!A->stage[0].fuses) {
        TRY(kryi_direction_run(cg));
        return matrix_apply_dot(A, p, cg->q, sum);
    }
    sum->count = 0;
    kryi_direction_args(cg, first);
    memcpy(first + KRY_DIRECTION_ARGS, vectors, sizeof vectors);
    TRY(launch(A, 0, 1, KRY_APPLY_DIRECTION, first, COUNT(first), sum));
    TRY(launch(A, 1, A->stages, KRY_APPLY_DIRECTION, later, COUNT(later), sum));
done:
    return st;
}

/* ---- the diagonal ------------------------------------------------------------------------ */

static kry_status find_diagonal(kryi_matrix *A, int64_t first)
{
    kry_status st = KRY_OK;
    size_t rows = (size_t)A->shape.rows;
    int32_t *slot = NULL;

    if (A->placed) return kryi_placed_diagonal(A, first);
    TRY(kryi_alloc(rows, sizeof *slot, &slot));
    for (int64_t i = 0; i < A->shape.rows; i++) {
        int64_t k = kryi_csr_find(&A->sorted, i, first + i);
        slot[i] = k < 0 ? -1 : (int32_t)kryi_matrix_slot(A, k);
    }
    TRY(kryi_buffer_upload(A->dev, rows * sizeof *slot, slot, &A->diagonal));
done:
    free(slot);
    return st;
}

kry_status kryi_matrix_diagonal(kryi_matrix *A, int64_t first, kry_vec *d)
{
    kry_status st = KRY_OK;
    int64_t rows = A->shape.rows;
    kry_type type = A->shape.type;

    if (!A->diagonal) TRY(find_diagonal(A, first));
    const kry_arg args[] = { ARG(rows), ARG(A->diagonal), ARG(A->val), ARG_VEC(d) };
    TRY(kryi_run(A->dev, "matrix", type, A->stored == type ? "" : "-DVAL=float", "matrix_diagonal",
                 kryi_groups_for(A->dev, type, rows), args, COUNT(args)));
done:
    return st;
}

static kry_status matrix_diagonal(void *self, kry_vec *d)
{
    kry_status st = KRY_OK;
    kryi_matrix *A = self;

    TRY(A->format->diagonal ? A->format->diagonal(A, d) : kryi_matrix_diagonal(A, 0, d));
    if (A->surplus && A->params.form != KRY_FLUX) { /* products add it to the diagonal, too */
        kry_vec rest = *d;
        rest.buffer = A->surplus, rest.first = 0;
        TRY(kry_vec_axpby(1, &rest, 1, d));
    }
done:
    return st;
}

/* ---- new values --------------------------------------------------------------------------- */

static kry_status matrix_update(void *self, const void *values)
{
    kryi_matrix *A = self;
    kry_status st = KRY_OK;
    const char *who = "kry_op_update";
    const void *sorted = A->sorted.val;
    kryi_seen seen;

    /* A has new numbers, and the copy of A' takes them before its next product. */
    if (A->transposed) A->transposed->stale = true;
    if (!values) {
        if (A->source && A->source->renew) return A->source->renew(A->source, A);
        /* The caller changes the buffer of a wrapped matrix; kry has only sums of rows to find again. */
        const bool sums = kryi_matrix_is_wrapped(A) && A->params.form == KRY_FLUX;
        return sums ? kryi_flux_sums_of_wrapped(who, A) : KRY_OK;
    }
    CHECK(!kryi_matrix_is_wrapped(A), KRY_ERR_ARGUMENT,
          "%s: the values of a wrapped matrix are changed in its buffer; pass NULL", who);
    if (A->placed) return kryi_placed_update(A, values);
    if (A->map.place)
        TRY(kryi_entries_renew(who, &A->map, values, A->nnz, &A->sorted));
    else
        sorted = values;
    TRY(kryi_numbers_check(who, A->shape.type, sorted, A->nnz, &seen));
    st = kryi_matrix_store(A, who, A->sorted.row_ptr, sorted, &seen);
    if (st < 0) st = kryi_matrix_change_format(A, who, sorted, st);
done:
    return st;
}

static kry_status matrix_inspect(void *self, const void *values, kryi_finding *found)
{
    const kryi_matrix *A = self;
    kryi_csr now = A->sorted;

    if (A->placed) return KRY_OK; /* the device has looked at them: *found is the operator's */
    if (!A->map.place) now.val = (void *)values;
    return kryi_matrix_inspect(&now, found);
}

/* ---- the operator -------------------------------------------------------------------------- */

static void matrix_describe(void *self, kry_op_info *info)
{
    kryi_matrix *A = self;
    double number = (double)kry_type_size(A->shape.type);
    double n = (double)A->shape.rows, cols = (double)A->shape.cols;

    info->variant = A->variant;
    info->chosen = A->chosen;
    info->nnz = A->nnz;
    info->slots = A->slots;
    info->bytes_stored = (double)A->slots * (double)kry_type_size(A->stored) + A->structure_bytes;
    if (A->surplus) info->bytes_stored += n * number;
    double plain = info->bytes_stored + (n + cols + 2.0 * (double)A->rewritten) * number;
    if (A->params.form == KRY_FLUX && A->format->shared)
        plain -= n * (double)kry_type_size(A->stored); /* main diagonal */
    info->bytes_per_apply = plain;
    info->bytes_transposed = transpose_bytes(A);
    /* reads z, old; writes p, q: two vectors more than a product, three if p has its own pass */
    info->bytes_per_direction = plain + (A->stage[0].fuses ? 2.0 : 3.0) * number * n;
}

void kryi_matrix_destroy(void *self)
{
    kryi_matrix *A = self;
    if (!A) return;
    for (kryi_stage *s = A->stage; s < A->stage + A->stages; s++)
        for (int i = 0; i < s->count; i++)
            if (s->is_buffer[i]) kryi_buffer_release(A->dev, &s->value[i].buffer);
    release(A->transposed);
    kryi_buffer_release(A->dev, &A->beside);
    kryi_buffer_release(A->dev, &A->diagonal);
    kryi_buffer_release(A->dev, &A->there);
    kryi_buffer_release(A->dev, &A->val);
    kryi_buffer_release(A->dev, &A->surplus);
    kryi_csr_release(&A->sorted);
    kryi_entry_map_release(&A->map);
    if (A->source && A->source->destroy) A->source->destroy(A->source);
    free(A->slot);
    free(A);
}

/* One table for each format, the same but for the name in messages. */
static const kry_op_table op_tables[KRY_FORMAT_COUNT] = {
#define X(NAME, text)                              \
    [KRY_FORMAT_##NAME] = {                        \
        .struct_size = sizeof(kry_op_table),       \
        .kind = text,                              \
        .apply = matrix_apply,                     \
        .apply_block = kryi_matrix_apply_block,    \
        .apply_dot = matrix_apply_dot,             \
        .residual = matrix_residual,               \
        .apply_transpose = matrix_apply_transpose, \
        .diagonal = matrix_diagonal,               \
        .update = matrix_update,                   \
        .describe = matrix_describe,               \
        .destroy = kryi_matrix_destroy,            \
        .convert = kryi_matrix_convert,            \
    },
    KRY_FORMAT_LIST(X)
#undef X
};

static const kryi_op_fused fused = { .apply_direction = matrix_apply_direction,
                                     .relax_by = matrix_relax_by,
                                     .residual_block = kryi_matrix_residual_block,
                                     .make_resident = kryi_matrix_make_resident,
                                     .inspect = matrix_inspect,
                                     .is_stored_matrix = true };

void kryi_matrix_exchange(kryi_matrix *A, kryi_matrix *B)
{
    const kryi_matrix a = *A, b = *B;

    *A = b, *B = a;
    A->op = a.op, A->map = a.map, A->source = a.source, A->sorted = a.sorted;
    B->op = b.op, B->map = b.map, B->source = b.source, B->sorted = b.sorted;
    A->formats = a.formats + 1;
    A->op->table = &op_tables[A->params.format];
}

bool kryi_op_is_assembled(const kry_op *op)
{
    const kryi_matrix *A = kryi_matrix_of(op);
    return A && A->params.form != KRY_FLUX;
}

/* ---- making one ------------------------------------------------------------------------------ */

kry_status kryi_matrix_check_params(const char *who, kry_device *dev, kry_type type, int64_t rows,
                                    int64_t cols, const kry_matrix_params *params)
{
    kry_status st = KRY_OK;

    CHECK(dev, KRY_ERR_ARGUMENT, "%s: NULL device", who);
    CHECK(params->format >= 0 && params->format < KRY_FORMAT_COUNT, KRY_ERR_ARGUMENT,
          "%s: %d is not a format", who, (int)params->format);
    CHECK(params->values >= 0 && params->values <= KRY_VALUES_SINGLE, KRY_ERR_ARGUMENT,
          "%s: %d is not a way to keep values", who, (int)params->values);
    if (params->on_host)
        CHECK(type == KRY_F64, KRY_ERR_TYPE, "%s: what stays on the host is in double", who);
    else
        TRY(kryi_type_check(who, dev, type));
    CHECK(!params->on_host || rows == cols, KRY_ERR_SHAPE, "%s: %lld-by-%lld stays on no host", who,
          (long long)rows, (long long)cols);
    CHECK(rows >= 0 && cols >= 0 && rows <= INT32_MAX && cols <= INT32_MAX, KRY_ERR_ARGUMENT,
          "%s: %lld-by-%lld is outside 0 ... 2^31-1", who, (long long)rows, (long long)cols);
    CHECK(params->block >= 0 && params->block <= KRY_BLOCK_MOST, KRY_ERR_ARGUMENT,
          "%s: block = %d is not in 0 ... %d", who, params->block, (int)KRY_BLOCK_MOST);
    CHECK(params->form == KRY_ASSEMBLED || params->form == KRY_FLUX, KRY_ERR_ARGUMENT,
          "%s: %d is not a form", who, (int)params->form);
    CHECK(params->form == KRY_ASSEMBLED || rows == cols, KRY_ERR_SHAPE,
          "%s: %lld-by-%lld has no flux form, which is of square matrices", who, (long long)rows,
          (long long)cols);
    CHECK(params->storage >= KRY_GENERAL && params->storage <= KRY_SKEW_HALF, KRY_ERR_ARGUMENT,
          "%s: %d is not a storage", who, (int)params->storage);
    CHECK(params->duplicates >= KRY_REFUSE && params->duplicates <= KRY_SUM, KRY_ERR_ARGUMENT,
          "%s: %d is not a way to treat duplicates", who, (int)params->duplicates);
    CHECK(params->storage == KRY_GENERAL || rows == cols, KRY_ERR_SHAPE,
          "%s: %lld-by-%lld cannot be symmetric", who, (long long)rows, (long long)cols);
    TRY(kryi_op_check_traits(who, rows, cols, params->traits));
done:
    return st;
}

static const kryi_format_table formats[KRY_FORMAT_COUNT] = {
    [KRY_FORMAT_CSR] = { .build = kryi_csr_build,
                         .place = kryi_csr_place,
                         .diagonal = kryi_csr_diagonal },
    [KRY_FORMAT_DIA] = { .build = kryi_dia_build,
                         .place = kryi_dia_place,
                         .diagonal = kryi_dia_diagonal,
                         .entries = kryi_dia_entries },
    [KRY_FORMAT_SYMDIA] = { .build = kryi_dia_build,
                            .place = kryi_dia_place,
                            .shared = true,
                            .diagonal = kryi_dia_diagonal,
                            .entries = kryi_dia_entries },
    [KRY_FORMAT_ELL] = { .build = kryi_ell_build,
                         .place = kryi_ell_place,
                         .entries = kryi_sell_entries },
    [KRY_FORMAT_SELL] = { .build = kryi_sell_build,
                          .place = kryi_sell_place,
                          .entries = kryi_sell_entries },
    [KRY_FORMAT_JDS] = { .build = kryi_jds_build },
    [KRY_FORMAT_HYB] = { .build = kryi_hyb_build },
    [KRY_FORMAT_COO] = { .build = kryi_coo_build },
};

kry_status kryi_matrix_new(kry_device *dev, const kry_matrix_params *params, const kryi_csr *size,
                           int64_t nnz, kryi_matrix **A)
{
    kry_status st = kryi_alloc(1, sizeof **A, A);
    if (st < 0) return st;
    **A = (kryi_matrix){ .format = &formats[params->format],
                         .dev = dev,
                         .shape = { size->rows, size->cols, size->type, params->traits },
                         .nnz = nnz,
                         .params = *params,
                         .chosen = "asked for",
                         .stored = size->type,
                         .slots = nnz,
                         .sorted = { .rows = size->rows, .cols = size->cols, .type = size->type } };
    if (nnz == 0) (*A)->params.form = KRY_ASSEMBLED; /* nothing flows: the same product */
    return st;
}

kry_status kryi_matrix_finish(kryi_matrix **matrix, kry_op **op)
{
    kry_status st = KRY_OK;
    kryi_matrix *A = *matrix;
    size_t at = strlen(A->variant);

    if (A->params.form == KRY_FLUX)
        snprintf(A->variant + at, sizeof A->variant - at, "%sflux form", at ? ", " : "");
    TRY(kryi_matrix_kernels(A, A->stored));
    TRY(kryi_op_create_fused(A->dev, &op_tables[A->params.format], &fused, A, &A->shape, op));
    A->op = *op;
    *matrix = NULL; /* the operator's now */
done:
    return st;
}
