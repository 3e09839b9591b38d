/* find_null_ranks.c - what a matrix maps to zero by its rows, of which each rank has some. */
#include "krylov/find_null.h"
#include "krylov/stop.h"
#include "matrix/matrix_parts.h"
#include "operator/op_parts.h"
#include "team/team.h"
#include <float.h>
#include <kry/io.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SHARED = 1 << 20 }; /* numbers that all ranks have of all parts and empty rows */

typedef struct search {
    const kry_op *A;
    kryi_csr rows;                     /* of this rank, with the columns of the whole */
    kry_share share;                   /* the same in double; borrowed but for its columns */
    kry_share *turned;                 /* the columns that have the numbers of these rows */
    int64_t *part;                     /* of each row here; -1: none */
    int64_t parts, empty, first_empty; /* of the whole; the first empty one that is here */
    double unreadable;                 /* > 0: on some rank */
    kryi_null_parts *N;
} search;

static kryi_layout *layout_of(const kry_op *A, int rank)
{
    return &A->dev->team->part[rank]->layout;
}

static kry_status read_task(void *user, int rank)
{
    search *F = user;
    const kryi_split *s = kryi_op_split(F->A);
    kry_status st = KRY_OK;

    F->share = (kry_share){ .n = s->n, .first = rank < s->members ? s->first[rank] : s->n };
    if (rank < s->members) st = kryi_matrix_read_part(F->A, rank, &F->rows);
    F->unreadable = st == KRY_ERR_UNSUPPORTED || kryi_split_permutes(s);
    if (st < 0 && !F->unreadable) return st;
    return kryi_layout_combine(layout_of(F->A, rank), KRY_MAX, &F->unreadable, 1);
}

/* F->share of F->rows. */
static kry_status take_rows(search *F)
{
    kry_status st = KRY_OK;
    const int64_t nnz = F->rows.row_ptr ? kryi_csr_nnz(&F->rows) : 0;

    if (!F->rows.row_ptr) TRY(kryi_csr_create(0, F->A->shape.cols, KRY_F64, 0, &F->rows));
    TRY(kryi_csr_convert(&F->rows, KRY_F64));
    TRY(kryi_alloc((size_t)nnz, sizeof *F->share.col, &F->share.col));
    for (int64_t e = 0; e < nnz; e++) F->share.col[e] = F->rows.col[e];
    F->share.rows = F->rows.rows;
    F->share.row_ptr = F->rows.row_ptr, F->share.val = F->rows.val;
done:
    return st;
}

static kryi_row_total total_of(const kry_share *A, int64_t i)
{
    return kryi_row_total_of(A->row_ptr, A->val, i);
}

static kry_status number_parts(search *F, double rounding)
{
    kry_status st = KRY_OK;
    bool *left_out = NULL;

    TRY(kryi_alloc((size_t)F->share.rows, sizeof *left_out, &left_out));
    TRY(kryi_alloc((size_t)F->share.rows, sizeof *F->part, &F->part));
    for (int64_t i = 0; i < F->share.rows; i++) {
        const kryi_row_total t = total_of(&F->share, i);
        left_out[i] = t.size == 0 || !kryi_row_total_is_zero(&t, rounding);
        F->empty += t.size == 0;
    }
    TRY(kry_share_components(F->A->dev, &F->share, left_out, F->part, &F->parts));
    TRY(kry_share_transpose(F->A->dev, &F->share, &F->turned));
done:
    free(left_out);
    return st;
}

static kry_status number_empty(void *user, int rank)
{
    search *F = user;
    return kryi_layout_rows(layout_of(F->A, rank), F->empty, &F->first_empty, &F->empty);
}

typedef struct numbers {
    const kry_op *A;
    kryi_combine how;
    double *number;
    size_t count;
} numbers;

static kry_status combine_task(void *user, int rank)
{
    const numbers *c = user;
    return kryi_layout_combine(layout_of(c->A, rank), c->how, c->number, c->count);
}

static kry_status combine(const kry_op *A, kryi_combine how, double *number, size_t count)
{
    numbers c = { A, how, number, count };
    return kryi_team_run(A->dev->team, NULL, combine_task, &c);
}

kry_status kryi_null_add_ranks(const kry_op *A, double *number, size_t count)
{
    return combine(A, KRY_ADD, number, count);
}

static kry_status write_parts(search *F, double rounding)
{
    kry_status st = KRY_OK;
    kryi_null_parts *N = F->N;
    const size_t all = (size_t)(F->parts + F->empty);
    int64_t empty = F->parts + F->first_empty;
    double *one_sided = NULL;

    TRY(kryi_alloc((size_t)F->share.rows, sizeof *N->of, &N->of));
    TRY(kryi_alloc(all, sizeof *N->one_sided, &N->one_sided));
    TRY(kryi_alloc(all, sizeof *one_sided, &one_sided));
    N->parts = F->parts, N->empty = F->empty;
    for (int64_t i = 0; i < F->share.rows; i++) {
        const kryi_row_total row = total_of(&F->share, i), column = total_of(F->turned, i);
        const int64_t p = row.size == 0 ? empty++ : F->part[i];
        N->of[i] = (int32_t)p;
        if (p >= 0 && column.size > 0 &&
            (p >= N->parts || !kryi_row_total_is_zero(&column, rounding)))
            one_sided[p] = 1;
    }
    TRY(combine(F->A, KRY_MAX, one_sided, all));
    for (size_t p = 0; p < all; p++) N->one_sided[p] = one_sided[p] > 0;
done:
    free(one_sided);
    return st;
}

kry_status kryi_find_null_on_ranks(const kry_op *A, int64_t *here, kryi_null_parts *N)
{
    kry_status st = KRY_OK;
    const double rounding = kryi_unit_roundoff(A->shape.type);
    search F = { .A = A, .N = N };

    *N = (kryi_null_parts){ 0 };
    TRY(kryi_team_run(A->dev->team, NULL, read_task, &F));
    if (F.unreadable > 0) {
        st = kry_fail(KRY_ERR_UNSUPPORTED, "'%s' has no entries to read", A->table->kind);
        goto done;
    }
    TRY(take_rows(&F));
    TRY(number_parts(&F, rounding));
    TRY(kryi_team_run(A->dev->team, NULL, number_empty, &F));
    /* Ranks without rows meet with the others in there. */
    const bool few = F.parts + F.empty <= MOST_SHARED;
    *here = few ? F.share.rows : 0;
    if (few) TRY(write_parts(&F, rounding));
done:
    kry_share_release(&F.turned);
    kryi_csr_release(&F.rows);
    free(F.share.col), free(F.part);
    if (st < 0) kryi_null_parts_release(N);
    return st;
}
