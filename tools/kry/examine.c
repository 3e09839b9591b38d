/*
 * examine.c - what the entries of a file say of its matrix, before kry solve goes to work: whether it is
 * negative, or of a kind that the method is not for.
 */
#include "examine.h"
#include "ranks.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDING 1e-8 /* of the largest entry; files may have numbers of few digits */

/* Sums over the entries of a row. */
typedef struct row_total {
    double size, diagonal; /* of the absolute values of entries; a_ii */
} row_total;

static void add_entry(row_total *row, int64_t i, int64_t j, double value)
{
    row[i].size += fabs(value);
    if (i == j) row[i].diagonal += value;
}

/* row := the sums of the rows of this process, to be freed. */
static kry_status add_up(const source *s, row_total **row)
{
    kry_status st = KRY_OK;
    const kry_mtx *mtx = s->mtx;
    const kry_share *A = s->share;
    int64_t i = 0, j = 0;

    TRY(allocate((size_t)s->here, sizeof **row, row));
    for (; A && i < A->rows; i++)
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++)
            add_entry(*row, i, A->col[e] - A->first, A->val[e]);
    for (int64_t e = 0; mtx && e < mtx->nnz; e++) {
        mtx_entry_place(mtx, e, &i, &j);
        add_entry(*row, i, j, mtx->val[e]);
        if (mtx->symmetry != KRY_MTX_GENERAL && i != j)
            add_entry(*row, j, i, mtx->symmetry == KRY_MTX_SKEW ? -mtx->val[e] : mtx->val[e]);
    }
done:
    return st;
}

/* A row whose diagonal entry no positive definite matrix has; -1: there is none. */
static int64_t find_not_positive(const row_total *row, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (row[i].size > 0 && !(row[i].diagonal > 0)) return i;
    return -1;
}

static bool all_negative(const row_total *row, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (!(row[i].diagonal < 0)) return false;
    return true;
}

static kry_status look_for_symmetry(const source *s, asymmetry *a, bool *symmetric)
{
    kry_status st = KRY_OK;
    sparse A = { 0 };

    *symmetric = true;
    if (s->mtx->symmetry == KRY_MTX_SYMMETRIC) return KRY_OK;
    TRY(sparse_of_source(s, &A));
    TRY(kryi_host_matrix_asymmetry(&A, a));
    *symmetric = a->difference <= ROUNDING * a->largest;
done:
    kryi_host_matrix_release(&A);
    return st;
}

/* Look at a file that ranks share: *symmetric is that of the whole, *a of this rank's rows. */
static kry_status look_on_ranks(const source *s, asymmetry *a, bool *symmetric)
{
    kry_status st = KRY_OK;
    kry_share *T = NULL;

    *a = (asymmetry){ .row = -1 };
    *symmetric = true;
    if (s->share->symmetry == KRY_MTX_SYMMETRIC) return KRY_OK;
    TRY(kry_share_transpose(s->device, s->share, &T));
    share_asymmetry(s->share, T, a);
    *symmetric = ranks_least(a->difference <= ROUNDING * a->largest) == 1;
done:
    kry_share_release(&T);
    return st;
}

static kry_status check_symmetry(const source *s, const asymmetry *a, bool symmetric)
{
    kry_status st = KRY_OK;

    CHECK(symmetric, KRY_ERR_UNSUPPORTED,
          "%s is not symmetric, as this method needs it: rows and columns %lld and %lld (counted "
          "from "
          "1) differ by %g. --method bicgstab and --method gmres take it; --check none solves as "
          "if it were symmetric",
          s->name, (long long)a->row + 1, (long long)a->col + 1, a->difference);
done:
    return st;
}

/* Conjugate gradients for a negative definite A solve -A x = -b; others are refused, but if the method is free. */
static kry_status make_positive(source *s, const row_total *row, bool refuses)
{
    kry_status st = KRY_OK;
    const int64_t bad = find_not_positive(row, s->here),
                  worst = ranks_least(bad < 0 ? INT64_MAX : s->first + bad);

    if (worst == INT64_MAX) return KRY_OK;
    s->negated = ranks_least(all_negative(row, s->here)) == 1;
    if (!s->negated && (!refuses || worst != s->first + bad))
        return KRY_OK; /* it is another rank's */
    CHECK(
        s->negated, KRY_ERR_UNSUPPORTED,
        "%s is not positive definite, as conjugate gradients need it: row %lld (counted from 1) "
        "has %g on its diagonal. --method minres --precond none takes symmetric matrices that are "
        "indefinite; --check none tries all the same",
        s->name, (long long)worst + 1, row[bad].diagonal);
    double *val = s->share ? s->share->val : s->mtx->val;
    const int64_t nnz = s->share ? s->share->row_ptr[s->here] : s->mtx->nnz;
    for (int64_t e = 0; e < nnz; e++) val[e] = -val[e];
done:
    return st;
}

kry_status source_examine(source *s, const char *method, bool check)
{
    kry_status st = KRY_OK;
    row_total *row = NULL;
    const bool definite =
                   !strcmp(method, "cg") || !strcmp(method, "pcg") || !strcmp(method, "pipe-cg"),
               chooses = !strcmp(method, "auto") || !strcmp(method, "direct");
    asymmetry a = { .row = -1 };
    bool symmetric;

    CHECK(
        s->rows == s->cols || !strcmp(method, "lsqr") || !strcmp(method, "lsmr"), KRY_ERR_SHAPE,
        "%s is %lld by %lld, and --method %s needs it square; --method lsmr and --method lsqr find "
        "the x of the least residual for any shape",
        s->name, (long long)s->rows, (long long)s->cols, method);
    CHECK(s->rows > 0, KRY_ERR_SHAPE, "%s has no rows", s->name);
    TRY(source_check_claims(s));
    if (s->problem || !check ||
        !(chooses || definite || !strcmp(method, "cr") || !strcmp(method, "minres")))
        goto done;
    TRY((s->share ? look_on_ranks : look_for_symmetry)(s, &a, &symmetric));
    if (!symmetric && chooses) goto done;
    st = check_symmetry(s, &a, symmetric || a.difference <= ROUNDING * a.largest);
    TRY(ranks_agree(st));
    TRY(ranks_agree(add_up(s, &row)));
    if (definite || chooses) TRY(ranks_agree(make_positive(s, row, definite)));
done:
    free(row);
    return st;
}
