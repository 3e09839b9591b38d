/*
 * narrowed.c - a stored matrix in double once more, for vectors in single: with the same structure, and with the same
 * numbers where they are kept as singles. Kernel: numbers_convert in cl/formats/transpose.cl.
 */
#include "matrix/device_csr.h"
#include "matrix/matrix.h"
#include <stdlib.h>
#include <string.h>

typedef struct narrowed {
    kryi_source source;
    kry_op *of;  /* retained */
    cl_mem rest; /* what rounding takes from each row, in single; NULL: nothing that counts */
} narrowed;

static void narrowed_destroy(kryi_source *source)
{
    narrowed *w = (narrowed *)source;
    kryi_buffer_release(w->of->dev, &w->rest);
    kry_op_release(&w->of);
    free(w);
}

/* *val := the numbers of A in single, in A's own buffer where that has singles. */
static kry_status take_numbers(const kryi_matrix *A, cl_mem *val)
{
    kry_status st = KRY_OK;
    kryi_device_csr to = { .dev = A->dev, .nnz = A->slots, .type = KRY_F32 };

    if (A->stored == KRY_F32) {
        TRY(kryi_buffer_retain(A->dev, A->val));
        *val = A->val;
        return st;
    }
    TRY(kryi_buffer_create(A->dev, (uint64_t)A->slots * sizeof(float), &to.val));
    TRY(kryi_device_csr_gather(&to, NULL, A->stored, A->val));
    *val = to.val, to.val = NULL;
done:
    kryi_buffer_release(A->dev, &to.val);
    return st;
}

static kry_status share_stages(const kryi_matrix *A, kryi_matrix *N)
{
    kry_status st = KRY_OK;

    for (int i = 0; i < A->stages; i++) {
        const kryi_stage *from = &A->stage[i];
        kryi_stage *to = &N->stage[N->stages++];
        *to = *from, to->count = 0;
        for (int k = 0; k < from->count; k++) {
            if (from->is_buffer[k] && from->value[k].buffer)
                TRY(kryi_buffer_retain(A->dev, from->value[k].buffer));
            to->count++;
        }
    }
done:
    return st;
}

/* Where the host finds the diagonal it needs the pattern, which a copy does not have. */
static kry_status share_diagonal(kryi_matrix *A, kryi_matrix *N)
{
    kry_status st = KRY_OK;
    kry_vec *room = NULL;

    if (A->format->diagonal) return KRY_OK;
    if (!A->diagonal) {
        TRY(kry_vec_create(A->dev, A->shape.type, A->shape.rows, 1, &room));
        TRY(kryi_matrix_diagonal(A, 0, room));
    }
    TRY(kryi_buffer_retain(A->dev, A->diagonal));
    N->diagonal = A->diagonal;
done:
    kry_vec_release(&room);
    return st;
}

/* *N := A's structure for vectors in single, without numbers. */
static kry_status make_shell(kryi_matrix *A, kryi_matrix **N)
{
    kry_status st = KRY_OK;
    const kryi_csr size = { .rows = A->shape.rows, .cols = A->shape.cols, .type = KRY_F32 };

    TRY(kryi_matrix_new(A->dev, &A->params, &size, A->nnz, N));
    kryi_matrix *made = *N;
    made->shape.traits = A->shape.traits;
    made->chosen = A->chosen;
    made->structure_bytes = A->structure_bytes, made->rewritten = A->rewritten;
    made->slots = A->slots;
    memcpy(made->variant, A->variant, sizeof made->variant);
    TRY(share_stages(A, made));
    TRY(share_diagonal(A, made));
done:
    return st;
}

/* N gets the structure that A has now, and no numbers. On failure it keeps both. */
static kry_status follow_format(kryi_matrix *A, kryi_matrix *N)
{
    kry_status st = KRY_OK;
    kryi_matrix *fresh = NULL;

    TRY(make_shell(A, &fresh));
    TRY(kryi_matrix_kernels(fresh, KRY_F32));
    kryi_matrix_exchange(N, fresh);
    N->formats = A->formats;
done:
    kryi_matrix_destroy(fresh);
    return st;
}

static kry_status renew(kryi_source *source, kryi_matrix *N)
{
    kry_status st = KRY_OK;
    const narrowed *w = (const narrowed *)source;
    kryi_matrix *A = kryi_matrix_of(w->of);
    cl_mem val = NULL, rest = NULL;

    TRY(take_numbers(A, &val));
    if (w->rest && A->stored != KRY_F32) {
        TRY(kryi_buffer_retain(N->dev, w->rest));
        rest = w->rest;
    }
    if (N->val && N->formats != A->formats) TRY(follow_format(A, N));
    kryi_buffer_release(N->dev, &N->val);
    kryi_buffer_release(N->dev, &N->surplus);
    N->val = val, N->surplus = rest, val = rest = NULL;
done:
    kryi_buffer_release(N->dev, &rest);
    kryi_buffer_release(N->dev, &val);
    return st;
}

bool kryi_matrix_narrows(const kry_op *op)
{
    const kryi_matrix *A = kryi_matrix_of(op);
    return A && A->shape.type == KRY_F64 && A->shape.rows > 0 && A->params.form != KRY_FLUX &&
           !A->surplus && !op->dev->team;
}

kry_status kryi_matrix_narrowed(const kry_op *op, cl_mem rest, kry_op **narrow)
{
    kry_status st = KRY_OK;
    kryi_matrix *A = kryi_matrix_of(op), *N = NULL;
    narrowed *w = NULL;

    *narrow = NULL;
    TRY(make_shell(A, &N));
    N->formats = A->formats;
    TRY(kryi_alloc(1, sizeof *w, &w));
    *w = (narrowed){ .source = { renew, narrowed_destroy }, .of = kry_op_retain(op) };
    N->source = &w->source;
    if (rest) TRY(kryi_buffer_retain(A->dev, rest));
    w->rest = rest;
    TRY(renew(N->source, N));
    TRY(kryi_matrix_finish(&N, narrow));
done:
    kryi_matrix_destroy(N);
    return st;
}

kry_status kryi_matrix_narrowed_again(kry_op *narrow, cl_mem rest)
{
    kry_status st = KRY_OK;
    narrowed *w = (narrowed *)kryi_matrix_of(narrow)->source;

    if (rest) TRY(kryi_buffer_retain(narrow->dev, rest));
    kryi_buffer_release(narrow->dev, &w->rest);
    w->rest = rest;
    TRY(kry_op_update(narrow, NULL));
done:
    return st;
}

double kryi_matrix_narrowed_bytes(const kry_op *op)
{
    const kryi_matrix *N = kryi_matrix_of(op);
    const bool is_one = N && N->source && N->source->renew == renew;

    if (!is_one) return 0;
    const narrowed *w = (const narrowed *)N->source;
    const bool shares = N->val == kryi_matrix_of(w->of)->val;
    return (shares ? 0 : 4.0 * (double)N->slots) + (w->rest ? 4.0 * (double)N->shape.rows : 0);
}
