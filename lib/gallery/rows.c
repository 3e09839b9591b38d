/*
 * rows.c - rows of model problems: those of the whole matrix, of a rank, or of a vector. Every row, random or not, is
 * made from its number alone, so that it is the same on whatever rank.
 */
#include "exit.h"
#include "kinds.h"
#include "memory.h"
#include <assert.h>
#include <kry/transport.h>
#include <stdlib.h>

void kryi_problem_csr_release(kryi_problem_csr *A)
{
    free(A->row_ptr);
    free(A->col);
    free(A->val);
    *A = (kryi_problem_csr){ 0 };
}

kry_status kryi_problem_make_rows(kryi_problem_row *row, const void *self, bool values,
                                  kryi_problem_range of, kryi_problem_csr *A)
{
    kry_status st = KRY_OK;

    *A = (kryi_problem_csr){ .rows = of.rows };
    TRY(kryi_allocate((size_t)of.rows + 1, sizeof *A->row_ptr, &A->row_ptr));
    for (int64_t i = 0; i < of.rows; i++)
        A->row_ptr[i + 1] = A->row_ptr[i] + row(self, of.first + i, NULL, NULL);
    const int64_t nnz = A->row_ptr[of.rows];
    TRY(kryi_allocate((uint64_t)nnz, sizeof *A->col, &A->col));
    TRY(kryi_allocate((uint64_t)nnz, sizeof(double), &A->val));
    for (int64_t i = 0; i < of.rows; i++)
        row(self, of.first + i, A->col + A->row_ptr[i], values ? A->val + A->row_ptr[i] : NULL);
done:
    if (st < 0) kryi_problem_csr_release(A);
    return st;
}

/* ---- b = A x for a random x -------------------------------------------------------------------- */

double kryi_problem_solution(const kryi_problem_spec *s, int64_t i)
{
    enum { STREAM_SOLUTION = 3 }; /* the other streams: random.c, mesh.c */
    return kry_random_unit(s->seed, STREAM_SOLUTION, (uint64_t)i);
}

void kryi_problem_multiply(const kryi_problem_spec *s, const kryi_problem_csr *A,
                           kryi_problem_range of, double *rhs)
{
    for (int64_t i = 0; i < of.rows; i++) {
        rhs[i] = 0;
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++)
            rhs[i] += A->val[e] * kryi_problem_solution(s, A->col[e]);
    }
}

/* The rows between the first and the last one that a vector has here. */
static kryi_problem_range range_of(const kry_vec *of)
{
    int64_t low = INT64_MAX, high = -1;

    for (int64_t i = 0; i < kry_vec_rows_here(of, NULL); i++) {
        const int64_t row = kry_vec_row(of, i);
        low = row < low ? row : low;
        high = row > high ? row : high;
    }
    return high < 0 ? (kryi_problem_range){ 0, 0 } : (kryi_problem_range){ low, high - low + 1 };
}

static kry_status random_numbers(const kryi_problem_made *m, const kry_vec *of, double *rhs,
                                 double *solution)
{
    kry_status st = KRY_OK;
    const kryi_problem_range range = range_of(of);
    kryi_problem_csr A = { 0 };
    double *b = NULL;

    for (int64_t i = 0; solution && i < kry_vec_rows_here(of, NULL); i++)
        solution[i] = kryi_problem_solution(&m->spec, kry_vec_row(of, i));
    if (!rhs) return KRY_OK;
    TRY(m->kind->entries(&m->spec, range, &A));
    TRY(kryi_allocate((size_t)range.rows, sizeof *b, &b));
    kryi_problem_multiply(&m->spec, &A, range, b);
    for (int64_t i = 0; i < kry_vec_rows_here(of, NULL); i++)
        rhs[i] = b[kry_vec_row(of, i) - range.first];
done:
    free(b);
    kryi_problem_csr_release(&A);
    return st;
}

kry_status kry_problem_rows(const kry_problem *p, const kry_vec *of, double *rhs, double *solution)
{
    kry_status st = KRY_OK;
    const kryi_problem_made *m = (const kryi_problem_made *)p;

    NOT_NULL(p);
    NOT_NULL(of);
    CHECK(kry_vec_rows(of) == p->n, KRY_ERR_SHAPE,
          "kry_problem_rows: %s has %lld rows, the vector %lld", p->name, (long long)p->n,
          (long long)kry_vec_rows(of));
    CHECK(!solution || p->solved, KRY_ERR_UNSUPPORTED,
          "kry_problem_rows: the solution of %s is not known", p->name);
    if (!rhs && !solution) goto done;
    if (!p->rhs) {
        TRY(m->kind->numbers ? m->kind->numbers(&m->spec, p, of, rhs, solution)
                             : random_numbers(m, of, rhs, solution));
        goto done;
    }
    for (int64_t i = 0; i < kry_vec_rows_here(of, NULL); i++) {
        const int64_t row = kry_vec_row(of, i);
        if (rhs) rhs[i] = p->rhs[row];
        if (solution) solution[i] = p->solution[row];
    }
done:
    return st;
}

/* ---- the rows of a rank ------------------------------------------------------------------------ */

/* S gets the entries of A, in columns of 64 bits as kry_csr_create_rows takes them. A is handed over. */
static kry_status take_rows(kryi_problem_csr *A, kry_share *S)
{
    kry_status st = KRY_OK;
    const int64_t nnz = A->row_ptr[A->rows];

    TRY(kryi_allocate((uint64_t)nnz, sizeof *S->col, &S->col));
    for (int64_t e = 0; e < nnz; e++) S->col[e] = A->col[e];
    S->row_ptr = A->row_ptr, S->val = A->val;
    A->row_ptr = NULL, A->val = NULL;
done:
    return st;
}

static kry_status make_share(const kry_problem *p, kry_device *device, kry_share **share)
{
    kry_status st = KRY_OK;
    const kryi_problem_made *m = (const kryi_problem_made *)p;
    kryi_problem_csr A = { 0 };

    TRY(kry_share_create(device, p->n, share));
    kry_share *S = *share;
    S->symmetry = p->traits ? KRY_MTX_SYMMETRIC : KRY_MTX_GENERAL;
    TRY(m->kind->entries(&m->spec, (kryi_problem_range){ S->first, S->rows }, &A));
    TRY(take_rows(&A, S));
done:
    kryi_problem_csr_release(&A);
    return st;
}

kry_status kry_problem_share(const kry_problem *p, kry_device *device, kry_share **share)
{
    kry_status st = KRY_OK;
    int64_t before;

    if (share) *share = NULL;
    NOT_NULL(device);
    st = p && share ? make_share(p, device, share)
                    : kry_fail(KRY_ERR_ARGUMENT, "%s: %s is NULL", __func__, p ? "share" : "p");
    TRY(kry_team_agree(device, __func__, st));
    assert(share && *share); /* else st, and so kry_team_agree, is an error */
    TRY(kry_team_rows(device, (*share)->row_ptr[(*share)->rows], &before, &(*share)->given));
done:
    if (st < 0 && share) kry_share_release(share);
    return st;
}
