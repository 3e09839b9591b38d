/*
 * examine.c - what the entries of a file say of its matrix, before kry solve goes to work: whether it is
 * singular, negative, or of a kind that the method is not for.
 */
#include "examine.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOSTLY_EMPTY = 8 }; /* rows to an entry: work goes by the rows, and would be for nothing */

/* What the entries of a row come to. */
typedef struct row_total {
    double sum, size, diagonal; /* of entries, of their absolute values; a_ii */
    int64_t count;
} row_total;

static void add_entry(row_total *row, int64_t i, int64_t j, double value)
{
    row[i].sum += value;
    row[i].size += fabs(value);
    row[i].count++;
    if (i == j) row[i].diagonal += value;
}

static kry_status add_up(const kry_mtx *mtx, row_total **row)
{
    kry_status st = KRY_OK;
    int64_t i = 0, j = 0;

    TRY(allocate((size_t)mtx->rows, sizeof **row, row));
    for (int64_t e = 0; e < mtx->nnz; e++) {
        mtx_entry_place(mtx, e, &i, &j);
        add_entry(*row, i, j, mtx->val[e]);
        if (mtx->symmetry != KRY_MTX_GENERAL && i != j)
            add_entry(*row, j, i, mtx->symmetry == KRY_MTX_SKEW ? -mtx->val[e] : mtx->val[e]);
    }
done:
    return st;
}

/* The rows that add up to zero, as far as rounding lets them. */
static kry_status find_kinds(const row_total *row, int64_t n, row_kind **kind)
{
    kry_status st = KRY_OK;

    TRY(allocate((size_t)n, sizeof **kind, kind));
    for (int64_t i = 0; i < n; i++) {
        const bool zero = fabs(row[i].sum) <= DBL_EPSILON * (double)row[i].count * row[i].size;
        (*kind)[i] = row[i].size == 0 ? ROW_EMPTY : zero ? ROW_SUMS_TO_ZERO : ROW_OTHER;
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
    static const double rounding = 1e-8; /* relative; files may have numbers of few digits */
    kry_status st = KRY_OK;
    sparse A = { 0 };

    *symmetric = true;
    if (s->mtx->symmetry == KRY_MTX_SYMMETRIC) return KRY_OK;
    TRY(sparse_of_source(s, &A));
    TRY(sparse_asymmetry(&A, a));
    *symmetric = a->difference <= rounding * a->largest;
done:
    sparse_release(&A);
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
    int64_t bad = find_not_positive(row, s->rows);

    if (bad < 0) return KRY_OK;
    s->negated = all_negative(row, s->rows);
    if (!s->negated && !refuses) return KRY_OK;
    CHECK(
        s->negated, KRY_ERR_UNSUPPORTED,
        "%s is not positive definite, as conjugate gradients need it: row %lld (counted from 1) "
        "has %g on its diagonal. --method minres --precond none takes symmetric matrices that are "
        "indefinite; --check none tries all the same",
        s->name, (long long)bad + 1, row[bad].diagonal);
    for (int64_t e = 0; e < s->mtx->nnz; e++) s->mtx->val[e] = -s->mtx->val[e];
done:
    return st;
}

kry_status source_examine(source *s, const char *method, bool check)
{
    kry_status st = KRY_OK;
    row_total *row = NULL;
    row_kind *kind = NULL;
    const bool definite =
                   !strcmp(method, "cg") || !strcmp(method, "pcg") || !strcmp(method, "pipe-cg"),
               chooses = !strcmp(method, "auto");
    asymmetry a;
    bool symmetric;

    CHECK(
        s->rows == s->cols || !strcmp(method, "lsqr") || !strcmp(method, "lsmr"), KRY_ERR_SHAPE,
        "%s is %lld by %lld, and --method %s needs it square; --method lsmr and --method lsqr find "
        "the x of the least residual for any shape",
        s->name, (long long)s->rows, (long long)s->cols, method);
    CHECK(s->rows > 0, KRY_ERR_SHAPE, "%s has no rows", s->name);
    CHECK(!s->mtx || s->rows <= MOSTLY_EMPTY * s->given + 4096, KRY_ERR_UNSUPPORTED,
          "%s claims %lld rows and has %lld entries: almost all of its rows are empty, and so no "
          "right-hand side but 0 there has a solution",
          s->name, (long long)s->rows, (long long)s->given);
    if (s->problem || !check ||
        !(chooses || definite || !strcmp(method, "cr") || !strcmp(method, "minres")))
        goto done;
    TRY(look_for_symmetry(s, &a, &symmetric));
    if (!symmetric && chooses) goto done;
    TRY(check_symmetry(s, &a, symmetric));
    TRY(add_up(s->mtx, &row));
    TRY(find_kinds(row, s->rows, &kind));
    TRY(source_null_parts(s, kind));
    if (definite || chooses) TRY(make_positive(s, row, definite));
done:
    free(kind);
    free(row);
    return st;
}
