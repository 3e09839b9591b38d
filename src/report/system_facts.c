/*
 * system_facts.c - the entries of a matrix, read back from its device; on ranks each looks at its own rows.
 */
#include "report/system_facts.h"
#include "matrix/matrix.h"
#include "matrix/matrix_parts.h"
#include "operator/op_parts.h"
#include "operator/pin.h"
#include "team/ranks.h"
#include <stdlib.h>

/* Entries in double of numbers in single. */
static kry_status widen(int64_t nnz, const float *single, double **val)
{
    kry_status st = KRY_OK;

    TRY(kry_alloc((size_t)nnz, sizeof **val, val));
    for (int64_t e = 0; e < nnz; e++) (*val)[e] = (double)single[e];
done:
    return st;
}

static kry_status read_whole(const kry_op *A, kry_host_matrix *all)
{
    kry_status st = KRY_OK;
    const kry_op_shape *shape = kry_op_get_shape(A);
    kry_op_info info;
    float *single = NULL;

    kry_op_describe(A, &info);
    *all = (kry_host_matrix){ .rows = shape->rows, .cols = shape->cols, .nnz = info.nnz };
    TRY(kry_alloc((size_t)shape->rows + 1, sizeof *all->row_ptr, &all->row_ptr));
    TRY(kry_alloc((size_t)info.nnz, sizeof *all->col, &all->col));
    if (shape->type == KRY_F32) {
        TRY(kry_alloc((size_t)info.nnz, sizeof *single, &single));
        TRY(kry_matrix_read(A, all->row_ptr, all->col, single));
        TRY(widen(info.nnz, single, &all->val));
    } else {
        TRY(kry_alloc((size_t)info.nnz, sizeof *all->val, &all->val));
        TRY(kry_matrix_read(A, all->row_ptr, all->col, all->val));
    }
done:
    free(single);
    return st;
}

/* The rows of this rank. */
static kry_status read_own(const kry_op *A, kry_host_matrix *own)
{
    kry_status st = KRY_OK;
    const int rank = kry_op_here(A).begin;
    kry_sparse R = { 0 };

    TRY(kry_matrix_read_part(A, rank, &R));
    *own = (kry_host_matrix){ .rows = R.rows,
                              .cols = R.cols,
                              .first = kry_op_split(A)->first[rank],
                              .nnz = kry_sparse_nnz(&R),
                              .row_ptr = R.row_ptr,
                              .col = R.col };
    R.row_ptr = NULL, R.col = NULL;
    if (R.type == KRY_F32) TRY(widen(own->nnz, R.val, &own->val));
    if (R.type == KRY_F64) own->val = R.val, R.val = NULL;
done:
    kry_sparse_release(&R);
    return st;
}

/* On this device, or the first of several, as auto takes it for a matrix in double. */
static void predict(const kry_op *A, const kry_host_matrix *all, system_facts *s)
{
    kry_device *device = kry_team_part(kry_op_device(A), 0);

    s->predicted = kry_op_get_shape(A)->type == KRY_F64 && kry_device_get_info(device)->fp64 &&
                   kry_csr_predict(device, KRY_F64, all->rows, all->cols, all->row_ptr, all->col,
                                   all->val, NULL, s->seconds) >= 0;
}

static kry_status look_at_whole(const kry_op *A, system_facts *s)
{
    kry_status st = KRY_OK;
    kry_host_matrix all = { 0 };

    TRY(read_whole(A, &all));
    TRY(kry_facts_of(&all, all.rows, all.cols, &s->m));
    TRY(kry_spy_create(all.rows, all.cols, &s->spy));
    kry_spy_add(s->spy, &all);
    for (int64_t i = 0; i < all.rows && s->m.row_max - s->m.row_min < FACTS_FEW; i++)
        s->of_length[all.row_ptr[i + 1] - all.row_ptr[i] - s->m.row_min]++;
    predict(A, &all, s);
    s->whole = true;
done:
    kry_host_matrix_release(&all);
    return st;
}

/* What all ranks see of their rows. */
static kry_status add_up(const kry_op *A, system_facts *s)
{
    kry_status st = KRY_OK;
    kry_ranks *R = kry_op_device(A)->team->ranks;
    const int count = kry_op_parts(A);
    facts *all = NULL;
    spy *every = NULL;

    TRY(kry_alloc((size_t)count, sizeof *all, &all));
    TRY(kry_ranks_gather(R, &s->m, sizeof s->m, all));
    s->m = all[0];
    for (int i = 1; i < count; i++) kry_facts_add(&s->m, &all[i]);
    if (count > KRY_TEAM_MOST) kry_spy_release(&s->spy);
    if (count > KRY_TEAM_MOST) goto done;
    TRY(kry_alloc((size_t)count, sizeof *every, &every));
    TRY(kry_ranks_gather(R, s->spy, sizeof *every, every));
    *s->spy = every[0];
    for (int i = 1; i < count; i++) kry_spy_join(s->spy, &every[i]);
done:
    free(every);
    free(all);
    return st;
}

static kry_status look_at_share(const kry_op *A, system_facts *s)
{
    kry_status st = KRY_OK;
    kry_host_matrix own = { 0 };

    TRY(read_own(A, &own));
    kry_facts_of_rows(&own, &s->m);
    TRY(kry_spy_create(kry_op_get_shape(A)->rows, own.cols, &s->spy));
    kry_spy_add(s->spy, &own);
    TRY(add_up(A, s));
done:
    kry_host_matrix_release(&own);
    return st;
}

/* Whether a part of A, or A itself, is a stored matrix. */
static bool is_matrix(const kry_op *op)
{
    const kry_op *A = kry_pin_of(op);
    return kry_matrix_of(A) || kry_coupled_of(A) || kry_extended_of(A);
}

kry_status kry_system_facts_find(const kry_op *A, system_facts *s)
{
    kry_status st = KRY_OK;
    const kry_op *first = kry_op_first(A);

    *s = (system_facts){ .grid = kry_stencil_of(kry_op_own(kry_pin_of(first))) };
    s->matrix = !s->grid && first == kry_pin_of(first) && is_matrix(first);
    if (!s->matrix) return KRY_OK;
    if (kry_op_on_ranks(A))
        TRY(look_at_share(A, s));
    else
        TRY(look_at_whole(A, s));
done:
    return st;
}

void kry_system_facts_release(system_facts *s)
{
    kry_spy_release(&s->spy);
    *s = (system_facts){ 0 };
}
