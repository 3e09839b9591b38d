/* find_null.c - what a matrix is seen to map to zero, for solvers that were not told. */
#include "krylov/system.h"
#include "matrix/matrix.h"
#include "precond/rows.h"
#include <math.h>
#include <stdlib.h>

enum { MOST = 64 }; /* vectors: each is kept in full */

static bool may_be_singular(const kry_op *A)
{
    const unsigned told = KRY_SINGULAR | KRY_POSITIVE;

    return !A->dev->team && kry_matrix_of(A) && A->shape.rows == A->shape.cols &&
           A->shape.rows > 1 && !A->null_space && !(A->shape.traits & told);
}

/* The parts and rows that are mapped to zero from both sides: place[i] of number i among them, -1: it is not. */
static int64_t select_both(const kry_null_parts *N, int64_t *place)
{
    int64_t count = 0;

    for (int64_t p = 0; p < N->parts + N->empty; p++) place[p] = N->one_sided[p] ? -1 : count++;
    return count;
}

/* V: a column for each, of norm 1. */
static kry_status write_vectors(const kry_null_parts *N, const int64_t *place, kry_vec *V)
{
    kry_status st = KRY_OK;
    const int64_t n = V->n;
    int64_t *size = NULL;
    double *host = NULL;

    TRY(kry_alloc((size_t)V->k, sizeof *size, &size));
    TRY(kry_alloc((size_t)n, sizeof *host, &host));
    for (int64_t i = 0; i < n; i++)
        if (N->of[i] >= 0 && place[N->of[i]] >= 0) size[place[N->of[i]]]++;
    for (int64_t j = 0; j < V->k; j++) {
        kry_vec column = kry_vec_column(V, j);
        for (int64_t i = 0; i < n; i++)
            host[i] = N->of[i] >= 0 && place[N->of[i]] == j ? 1 / sqrt((double)size[j]) : 0;
        TRY(kry_vec_write_doubles(&column, host));
    }
done:
    free(host), free(size);
    return st;
}

static kry_status take(const kry_op *A, const kry_null_parts *N, kry_null_found *F)
{
    kry_status st = KRY_OK;
    const int64_t n = A->shape.rows;
    int64_t *place = NULL;

    F->parts = N->parts, F->empty = N->empty;
    TRY(kry_alloc((size_t)(N->parts + N->empty), sizeof *place, &place));
    const int64_t count = select_both(N, place);
    if (count == 0 || count > MOST || count >= n) goto done;
    F->constants = N->parts == 1 && count == 1;
    for (int64_t i = 0; i < n && F->constants; i++) F->constants = N->of[i] == 0;
    if (F->constants) goto done;
    TRY(kry_vec_create(A->dev, A->shape.type, n, count, &F->vectors));
    TRY(write_vectors(N, place, F->vectors));
done:
    free(place);
    return st;
}

kry_status kry_system_find_null(const char *who, const kry_op *A)
{
    kry_status st = KRY_OK;
    kry_op *mine = (kry_op *)A; /* what was found is no part of the operator's value */
    kry_null_found F = { .seen = A->updates + 1 };
    kry_null_parts N = { 0 };
    kry_sparse rows = { 0 };

    if (!may_be_singular(A) || A->null_found.seen == F.seen) return KRY_OK;
    st = kry_rows_read(who, A, &rows);
    if (st == KRY_ERR_UNSUPPORTED) return KRY_OK; /* nobody can look at them */
    TRY(st);
    TRY(kry_sparse_null_parts(&rows, kry_unit_roundoff(A->shape.type), &N));
    TRY(take(A, &N, &F));
    kry_vec_release(&mine->null_found.vectors);
    mine->null_found = F, F.vectors = NULL;
done:
    kry_vec_release(&F.vectors);
    kry_null_parts_release(&N);
    kry_sparse_release(&rows);
    return st;
}
