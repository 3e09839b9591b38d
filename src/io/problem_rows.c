/*
 * problem_rows.c - rows of model problems: those of the whole matrix, of a rank, or of a vector. Every row, random or not, is
 * made from its number alone, so that it is the same on whatever rank.
 */
#include "io/problem.h"
#include "sparse/partition.h"
#include "team/team.h"
#include <kry/transport.h>
#include <stdlib.h>

kry_status kryi_problem_make_rows(kryi_problem_row *row, const void *self, bool values, int64_t n,
                                  kryi_problem_range of, kryi_csr *A)
{
    kry_status st = KRY_OK;

    *A = (kryi_csr){ .rows = of.rows, .cols = n, .type = KRY_F64 };
    TRY(kryi_alloc((size_t)of.rows + 1, sizeof *A->row_ptr, &A->row_ptr));
    for (int64_t i = 0; i < of.rows; i++)
        A->row_ptr[i + 1] = A->row_ptr[i] + row(self, of.first + i, NULL, NULL);
    const int64_t nnz = A->row_ptr[of.rows];
    TRY(kryi_alloc((size_t)nnz, sizeof *A->col, &A->col));
    TRY(kryi_alloc((size_t)nnz, sizeof(double), &A->val));
    for (int64_t i = 0; i < of.rows; i++)
        row(self, of.first + i, A->col + A->row_ptr[i],
            values ? (double *)A->val + A->row_ptr[i] : NULL);
done:
    if (st < 0) kryi_csr_release(A);
    return st;
}

/* ---- b = A x for a random x -------------------------------------------------------------------- */

double kryi_problem_solution(const kryi_problem_spec *s, int64_t i)
{
    enum { STREAM_SOLUTION = 3 }; /* the other streams: problem_random.c, problem_mesh.c */
    return kry_random_unit(s->seed, STREAM_SOLUTION, (uint64_t)i);
}

void kryi_problem_multiply(const kryi_problem_spec *s, const kryi_csr *A, kryi_problem_range of,
                           double *rhs)
{
    const double *val = A->val;

    for (int64_t i = 0; i < of.rows; i++) {
        rhs[i] = 0;
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++)
            rhs[i] += val[e] * kryi_problem_solution(s, A->col[e]);
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
    kryi_csr A = { 0 };
    double *b = NULL;

    for (int64_t i = 0; solution && i < kry_vec_rows_here(of, NULL); i++)
        solution[i] = kryi_problem_solution(&m->spec, kry_vec_row(of, i));
    if (!rhs) return KRY_OK;
    TRY(m->kind->entries(&m->spec, range, &A));
    TRY(kryi_alloc((size_t)range.rows, sizeof *b, &b));
    kryi_problem_multiply(&m->spec, &A, range, b);
    for (int64_t i = 0; i < kry_vec_rows_here(of, NULL); i++)
        rhs[i] = b[kry_vec_row(of, i) - range.first];
done:
    free(b);
    kryi_csr_release(&A);
    return st;
}

kry_status kry_problem_rows(const kry_problem *p, const kry_vec *of, double *rhs, double *solution)
{
    kry_status st = KRY_OK;
    const kryi_problem_made *m = (const kryi_problem_made *)p;

    TRY(GIVEN(p, of));
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

/* The rows that this rank has of vectors of n rows, or is to have: as many as its device is fast. */
static kry_status find_range(kry_device *device, int64_t n, kryi_problem_range *of)
{
    kry_status st = KRY_OK;
    const struct kryi_team *team = kry_team_is_ranks(device) ? device->team : NULL;
    const int rank = kry_team_rank(device);
    kryi_split *s = team ? kryi_split_find(team, n) : NULL;
    int64_t *first = NULL, unit = 1, chunk;

    *of = (kryi_problem_range){ 0, n };
    if (!team) return KRY_OK;
    TRY(kryi_alloc((size_t)team->size + 1, sizeof *first, &first));
    if (team->reproducible) kryi_split_chunks(n, 1, &unit, &chunk);
    const int64_t units = (n + unit - 1) / unit;
    const int parts = team->size > units ? (int)units : team->size;
    if (!s) TRY(kryi_partition_by_rows(n, NULL, parts, team->share, unit, first));
    for (int r = 0; s && r <= team->size; r++) first[r] = s->first[r < s->members ? r : s->members];
    for (int r = parts; !s && r <= team->size; r++) first[r] = n;
    *of = (kryi_problem_range){ first[rank], first[rank + 1] - first[rank] };
done:
    if (s) kryi_split_release(&s);
    free(first);
    return st;
}

/* The rows as kry_csr_create_rows takes them. A is handed over. */
static kry_status take_rows(kryi_csr *A, kry_share *S)
{
    kry_status st = KRY_OK;
    const int64_t nnz = kryi_csr_nnz(A);

    TRY(kryi_alloc((size_t)nnz, sizeof *S->col, &S->col));
    for (int64_t e = 0; e < nnz; e++) S->col[e] = A->col[e];
    S->row_ptr = A->row_ptr, S->val = A->val;
    A->row_ptr = NULL, A->val = NULL;
done:
    return st;
}

kry_status kry_problem_share(const kry_problem *p, kry_device *device, kry_share **share)
{
    static const char who[] = "kry_problem_share";
    kry_status st = KRY_OK;
    const kryi_problem_made *m = (const kryi_problem_made *)p;
    kryi_problem_range of;
    kryi_csr A = { 0 };
    kry_share *S = NULL;
    kryi_split *split;
    int64_t before;

    kryi_team_enter(device, who, NULL);
    TRY(GIVEN(p, device, share));
    TRY(kryi_alloc(1, sizeof *S, &S));
    *S = (kry_share){ .n = p->n, .device = kry_device_retain(device) };
    S->symmetry = p->traits ? KRY_MTX_SYMMETRIC : KRY_MTX_GENERAL;
    TRY(find_range(device, p->n, &of));
    S->first = of.first, S->rows = of.rows;
    if (kry_team_is_ranks(device)) {
        TRY(kryi_split_by_ranks(device->team, who, S->first, S->rows, &split));
        S->cut = split;
    }
    TRY(m->kind->entries(&m->spec, of, &A));
    TRY(take_rows(&A, S));
    TRY(kry_team_rows(device, S->row_ptr[S->rows], &before, &S->given));
done:
    kryi_csr_release(&A);
    st = kryi_team_leave(device, st);
    if (st < 0) kry_share_release(&S);
    if (share) *share = S;
    return st;
}
