/*
 * coupled.c - products of a part's rows of a matrix: while the halo travels, the format of the part's
 * own entries forms their product, fused with the rest of its pass; then the far entries add theirs.
 * Kernels: cl/operator/halo.cl.
 */
#include "matrix/matrix.h"
#include "matrix/matrix_parts.h"
#include "operator/direction.h"
#include "operator/op.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FAR_ARGS = 6, MOST_MORE = 13 }; /* arguments of every kernel, and behind them */

static kry_status run(const kryi_coupled *A, kryi_kernel *kernel, int64_t groups,
                      const kry_arg *rest, size_t count)
{
    const kryi_packed_rows *far = &A->packed;
    cl_mem numbers = kryi_halo_numbers(A->part.halo);
    kry_arg args[FAR_ARGS + MOST_MORE] = { ARG(A->rows),  ARG(A->row),   ARG(far->begin),
                                           ARG(far->col), ARG(far->val), ARG(numbers) };

    if (A->rows == 0) return KRY_OK;
    memcpy(args + FAR_ARGS, rest, count * sizeof *rest);
    return kryi_launch(A->dev, kernel, groups, args, FAR_ARGS + count);
}

static int64_t groups_for_rows(const kryi_coupled *A)
{
    return kryi_groups_for(A->dev, A->part.far.type, A->rows);
}

/* y += alpha far x */
static kry_status add_far(kryi_coupled *A, double alpha, const kry_vec *x, kry_vec *y)
{
    kryi_scalar a = kryi_scalar_of(A->dev, alpha);
    const kry_arg rest[] = { ARG(A->flux), ARG_ACC(A->dev, a), ARG_VEC(x), ARG_VEC(y) };
    return run(A, A->add, groups_for_rows(A), rest, COUNT(rest));
}

/* y += far x; what that adds to x.y goes to sum. state: of a solve that may have stopped, or NULL. */
static kry_status add_far_dot(kryi_coupled *A, cl_mem state, const kry_vec *x, kry_vec *y,
                              kry_sum *sum)
{
    kry_status st = KRY_OK;
    int64_t groups = kryi_groups_for_sums(A->dev, A->part.far.type, A->rows);
    cl_int first = sum->count, stops = state != NULL;

    if (A->rows == 0) return KRY_OK;
    if (groups > KRY_SUM_CAPACITY - first) groups = KRY_SUM_CAPACITY - first;
    if (!state) state = sum->buffer; /* not read */
    const kry_arg rest[] = { ARG(A->flux), ARG_VEC(x), ARG_VEC(y), ARG(sum->buffer),
                             ARG(first),   ARG(stops), ARG(state) };
    TRY(run(A, A->add_dot, groups, rest, COUNT(rest)));
    sum->count = first + (cl_int)groups;
done:
    return st;
}

/* An own piece of a kind writes no q: x.(far x) alone. */
static kry_status far_dot(kryi_coupled *A, cl_mem state, const kry_vec *x, kry_sum *sum)
{
    kry_status st = KRY_OK;
    int64_t groups = kryi_groups_for_sums(A->dev, A->part.far.type, A->rows);
    cl_int first = sum->count;

    if (A->rows == 0) return KRY_OK;
    if (groups > KRY_SUM_CAPACITY - first) groups = KRY_SUM_CAPACITY - first;
    const kry_arg rest[] = { ARG_VEC(x), ARG(sum->buffer), ARG(first), ARG(state) };
    TRY(run(A, A->dot, groups, rest, COUNT(rest)));
    sum->count = first + (cl_int)groups;
done:
    return st;
}

/* ---- the table ------------------------------------------------------------------------------- */

static kry_status coupled_apply(void *self, double alpha, const kry_vec *x, double beta, kry_vec *y)
{
    kryi_coupled *A = self;
    kry_status st = KRY_OK;

    TRY(kryi_halo_begin(A->part.halo, x));
    TRY(A->own->table->apply(A->own->self, alpha, x, beta, y));
    TRY(kryi_halo_end(A->part.halo));
    TRY(add_far(A, alpha, x, y));
done:
    return st;
}

static kry_status coupled_apply_dot(void *self, const kry_vec *x, kry_vec *y, kry_sum *sum)
{
    kryi_coupled *A = self;
    kry_status st = KRY_OK;

    TRY(kryi_halo_begin(A->part.halo, x));
    TRY(kryi_op_run_dot(A->own, x, y, sum));
    TRY(kryi_halo_end(A->part.halo));
    TRY(add_far_dot(A, NULL, x, y, sum));
done:
    return st;
}

static kry_status coupled_direction(void *self, const kryi_cg *cg)
{
    kryi_coupled *A = self;
    kry_status st = KRY_OK;

    TRY(kryi_halo_begin_direction(A->part.halo, cg));
    TRY(kryi_cg_direct(A->own, cg));
    TRY(kryi_halo_end(A->part.halo));
    TRY(A->kind ? far_dot(A, cg->state, cg->p, cg->pq)
                : add_far_dot(A, cg->state, cg->p, cg->q, cg->pq));
done:
    return st;
}

/* The halo still has the neighbours' p from the direction. First r -= alpha far p, so that the sums that own's pass leaves are
 * those of the new r. */
static kry_status coupled_step(void *self, const kryi_cg *cg)
{
    kryi_coupled *A = self;
    kry_status st = KRY_OK;
    kry_arg rest[KRY_STEP_ARGS + KRY_DRIFT_ARGS + 8];
    const cl_int scaled = cg->d != NULL;
    const cl_mem d = cg->d ? cg->d->buffer : cg->p->buffer; /* not read, if not scaled */
    const kry_arg more[] = { ARG_VEC(cg->p), ARG_VEC(cg->r), ARG_VEC(cg->x), ARG(scaled), ARG(d) };
    const size_t n = kryi_step_args(cg, false, rest);

    memcpy(rest + n, more, sizeof more);
    TRY(run(A, A->step, groups_for_rows(A), rest, n + COUNT(more)));
    TRY(A->own->fused->apply_step(A->own->self, cg));
done:
    return st;
}

static kry_status coupled_residual(void *self, const kry_vec *b, const kry_vec *x, kry_vec *r)
{
    kryi_coupled *A = self;
    kry_status st = KRY_OK;

    TRY(kryi_halo_begin(A->part.halo, x));
    if (A->exact.b && A->rows) {
        const kry_arg args[] = { ARG(A->rows), ARG(A->row), ARG_VEC(b), ARG(A->exact.b->buffer) };
        TRY(kryi_launch(A->dev, A->exact.pack, groups_for_rows(A), args, COUNT(args)));
    }
    TRY(kry_op_residual(A->own, b, x, r));
    TRY(kryi_halo_end(A->part.halo));
    if (A->exact.b) {
        const kry_arg rest[] = { ARG(A->flux),
                                 ARG(A->exact.own.begin),
                                 ARG(A->exact.own.col),
                                 ARG(A->exact.own.val),
                                 ARG(A->exact.surplus),
                                 ARG(A->exact.b->buffer),
                                 ARG_VEC(x),
                                 ARG_VEC(r) };
        TRY(run(A, A->exact.residual, groups_for_rows(A), rest, COUNT(rest)));
    } else {
        TRY(add_far(A, -1.0, x, r));
    }
done:
    return st;
}

static kry_status coupled_diagonal(void *self, kry_vec *d)
{
    kryi_coupled *A = self;
    kry_status st = KRY_OK;
    const kry_arg rest[] = { ARG_VEC(d) };

    TRY(kry_op_diagonal(A->own, d));
    if (A->kind) TRY(run(A, A->diagonal, groups_for_rows(A), rest, COUNT(rest)));
done:
    return st;
}

static kry_status coupled_update(void *self, const void *values)
{
    (void)self;
    if (!values) return KRY_OK;
    return kry_fail(KRY_ERR_UNSUPPORTED, "kry_op_update: a part takes its values from the whole");
}

static void coupled_describe(void *self, kry_op_info *info)
{
    kryi_coupled *A = self;
    double word = (double)kry_type_size(A->part.far.type);
    double far = (double)A->packed.nnz * (word + 4);
    double vectors = 3 * word * (double)A->rows + word * (double)(kryi_halo_sent(A->part.halo) * 2);

    kry_op_describe(A->own, info);
    info->nnz += A->packed.nnz;
    if (!A->kind) info->slots += A->packed.nnz;
    info->bytes_stored += far + 8 * (double)A->rows;
    info->bytes_per_apply += far + vectors;
    if (info->bytes_per_direction > 0) info->bytes_per_direction += far + vectors;
    if (info->bytes_per_step > 0) info->bytes_per_step += far + vectors;
    snprintf(A->variant, sizeof A->variant, "%.60s%s%lld of %lld rows coupled", info->variant,
             *info->variant ? ", " : "", (long long)A->rows, (long long)A->own->shape.rows);
    info->variant = A->variant;
}

static void release(kryi_coupled *A)
{
    kryi_dist_release(&A->part);
    kry_vec_release(&A->exact.b);
    kryi_packed_rows *own = &A->exact.own, *far = &A->packed;
    cl_mem *const all[] = { &A->exact.surplus, &own->val, &own->col,   &own->begin,
                            &far->val,         &far->col, &far->begin, &A->row };
    for (size_t i = 0; i < COUNT(all); i++) kryi_buffer_release(A->dev, all[i]);
    kry_op_release(&A->own);
    free(A->exact.from);
    free(A->number);
}

static void coupled_destroy(void *self)
{
    release(self);
    free(self);
}

static const kry_op_table coupled_table = {
    .struct_size = sizeof(kry_op_table),
    .kind = "distributed matrix",
    .apply = coupled_apply,
    .apply_dot = coupled_apply_dot,
    .residual = coupled_residual,
    .diagonal = coupled_diagonal,
    .update = coupled_update,
    .convert = kryi_coupled_convert,
    .describe = coupled_describe,
    .destroy = coupled_destroy,
};

static const kryi_op_fused coupled_fused = { .apply_direction = coupled_direction };
/* Own and far pieces map constants to zero each. */
static const kryi_op_fused kind_fused = { .apply_direction = coupled_direction,
                                          .apply_step = coupled_step,
                                          .sums_to_zero = true };

kryi_coupled *kryi_coupled_of(const kry_op *op)
{
    return op && op->table == &coupled_table ? op->self : NULL;
}

const kry_op *kryi_op_own(const kry_op *A)
{
    const kryi_coupled *C = kryi_coupled_of(A);
    return C ? C->own : A;
}

int64_t kryi_coupled_places(const kry_op *A, const int64_t **place)
{
    const kryi_coupled *C = kryi_coupled_of(A);
    *place = C ? C->part.place : NULL;
    return C ? kryi_halo_count(C->part.halo) : 0;
}

/* ---- making one ------------------------------------------------------------------------------ */

static kry_status get_kernels(kryi_coupled *A)
{
    kry_status st = KRY_OK;
    kry_type type = A->part.far.type;

    A->flux = A->kind || kryi_matrix_of(A->own)->params.form == KRY_FLUX;
    TRY(kryi_kernel_get(A->dev, "halo", type, "", "halo_add", &A->add));
    TRY(kryi_kernel_get(A->dev, "halo", type, "", "halo_add_dot", &A->add_dot));
    if (A->kind) {
        TRY(kryi_kernel_get(A->dev, "halo", type, "", "halo_dot", &A->dot));
        TRY(kryi_kernel_get(A->dev, "halo", type, "", "halo_step", &A->step));
        TRY(kryi_kernel_get(A->dev, "halo", type, "", "halo_diagonal", &A->diagonal));
    }
    if (!A->exact.b) return KRY_OK;
    TRY(kryi_kernel_get(A->dev, "halo", type, "", "halo_residual", &A->exact.residual));
    TRY(kryi_kernel_get(A->dev, "halo", type, "", "halo_pack", &A->exact.pack));
done:
    return st;
}

kry_status kryi_coupled_create(const kryi_coupled *given, const kryi_csr *exact, kry_op **op)
{
    kry_status st = KRY_OK;
    kry_op_shape shape = given->own->shape;
    kryi_coupled made = *given, *A = NULL;

    *op = NULL;
    made.own = kry_op_retain(given->own);
    made.dev = given->own->dev, shape.traits = given->traits;
    TRY(kryi_coupled_pack(&made, exact));
    TRY(get_kernels(&made));
    TRY(kryi_alloc(1, sizeof *A, &A));
    *A = made, made.own = NULL;
    TRY(kryi_op_create_fused(A->dev, &coupled_table, A->kind ? &kind_fused : &coupled_fused, A,
                             &shape, op));
    A = NULL;
done:
    if (made.own) release(&made);
    if (A) coupled_destroy(A);
    return st;
}
