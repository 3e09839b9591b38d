/* part_coarser.c - P'A P on a team: a part's rows of it, those of its own coarse unknowns. */
#include "amg/part_levels.h"
#include "operator/halo.h"
#include <math.h>
#include <stdlib.h>

void kryi_part_coarser_release(kryi_part_coarser *c)
{
    kryi_part_rows_release(&c->A);
    kryi_part_rows_release(&c->R);
    kryi_part_rows_release(&c->P);
    free(c->near_null_space);
    c->near_null_space = NULL;
}

/* placed := P with places for its columns. */
static kry_status place_rows(const kryi_part_rows *P, kryi_csr *joined, kryi_placed_rows *placed)
{
    kry_status st = KRY_OK;
    const kryi_part_columns c = { P->first, P->own.cols, P->places, P->place };

    TRY(kryi_csr_beside(&P->own, &P->far, joined));
    TRY(kryi_part_columns_place(joined, &c, placed));
done:
    return st;
}

/* R->far := the transpose of the other parts' rows, as far as they have entries in this part's columns. */
static kry_status transpose_theirs(const kryi_placed_rows *theirs, const kryi_part_rows *P,
                                   kryi_csr *far)
{
    kry_status st = KRY_OK;
    const kryi_placed_rows nothing = { .row_ptr = (int64_t[]){ 0 } };
    const kryi_part_columns own = { .first = P->first, .own = P->own.cols };
    kryi_part_columns all = { 0 };
    kryi_csr rows = { 0 };
    kryi_part_rows split = { 0 };

    TRY(kryi_part_columns_find((const kryi_placed_rows *const[]){ theirs, &nothing }, own.first,
                               own.own, &all));
    TRY(kryi_part_columns_stack(theirs, &nothing, &all, &rows));
    TRY(kryi_part_columns_split(&rows, &all, &split));
    TRY(kryi_csr_transpose(&split.own, far));
done:
    kryi_part_rows_release(&split);
    kryi_csr_release(&rows);
    free(all.place);
    return st;
}

/* C := M N of all parts in this part's rows. N: the rows that are here, and those that the halo brings, with the
 * columns of P; c: those of C. */
static kry_status multiply(const kryi_part_rows *M, const kryi_placed_rows *const N[2],
                           const kryi_part_rows *P, kryi_part_columns *c, kryi_csr *C)
{
    kry_status st = KRY_OK;
    kryi_csr left = { 0 }, right = { 0 };

    TRY(kryi_part_columns_find(N, P->first, P->own.cols, c));
    TRY(kryi_csr_beside(&M->own, &M->far, &left));
    TRY(kryi_part_columns_stack(N[0], N[1], c, &right));
    TRY(kryi_csr_multiply(&left, &right, C));
done:
    kryi_csr_release(&right);
    kryi_csr_release(&left);
    return st;
}

/* Unknown i is left alone. */
static void decouple(kryi_csr *A, int64_t i)
{
    double *val = A->val;

    for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++) {
        const int64_t mirror = kryi_csr_find(A, A->col[e], i);
        val[e] = val[mirror] = A->col[e] == i;
    }
}

/* A coarse unknown whose basis function p is zero, or is mapped to zero, gets an equation of its own in A. rounding: of p'Dp, D the
 * diagonal d of the finer matrix, which p'Ap is measured by. level: for messages.
 * Returns  KRY_ERR_ARGUMENT for an A that is seen not to be positive definite */
static kry_status regularise(const char *who, int level, double rounding, const double *d,
                             const kryi_csr *R, kryi_csr *A)
{
    kry_status st = KRY_OK;
    const double *p = R->val;

    for (int64_t i = 0; i < A->rows; i++) {
        const double entry = kryi_csr_entry(A, i, i);
        double size = 0;
        for (int64_t e = R->row_ptr[i]; e < R->row_ptr[i + 1]; e++)
            size += p[e] * p[e] * d[R->col[e]];
        CHECK(isfinite(entry) && entry >= -100 * rounding * size, KRY_ERR_ARGUMENT,
              "%s: the matrix is not positive definite: unknown %lld of level %d has the diagonal "
              "entry %g",
              who, (long long)i, level, entry);
        if (entry <= rounding * size && kryi_row_length(A, i) > 0) decouple(A, i);
    }
done:
    return st;
}

/* Make the own entries of the coarser matrix fit for what comes below, and symmetric to the bit. */
static kry_status mend(const char *who, int level, kry_type type, const kryi_part_level *from,
                       kryi_part_coarser *c)
{
    kry_status st = KRY_OK;
    kryi_csr R = { 0 };
    kryi_csr_mismatch m;
    double *mine = NULL, *theirs = NULL;
    const int64_t n = from->A->own.rows, far = from->A->far.cols;

    TRY(kryi_csr_beside(&c->R.own, &c->R.far, &R));
    TRY(kryi_part_diagonals(from, &mine, &theirs));
    TRY(kryi_realloc((size_t)(n + far), sizeof *mine, &mine));
    for (int64_t i = 0; i < far; i++) mine[n + i] = theirs[i];
    TRY(regularise(who, level, kryi_coarser_rounding(type), mine, &R, &c->A.own));
    TRY(kryi_csr_symmetrise(&c->A.own, type == KRY_F32 ? 1e-5 : 1e-8, &m));
    CHECK(
        m.i < 0, KRY_ERR_ARGUMENT,
        "%s: the matrix is not symmetric: level %d has %g at row %lld, column %lld of a part, and "
        "%g at their mirror image",
        who, level, m.lower, (long long)m.i, (long long)m.j, m.upper);
done:
    free(theirs);
    free(mine);
    kryi_csr_release(&R);
    return st;
}

kry_status kryi_part_multiply(const char *who, int level, kry_type type,
                              const kryi_part_level *from, kryi_part_coarser *c)
{
    kry_status st = KRY_OK;
    kryi_csr P = { 0 }, AP = { 0 }, RAP = { 0 };
    kryi_placed_rows mine = { 0 }, theirs = { 0 }, ap = { 0 }, their_ap = { 0 };
    kryi_part_columns of_ap = { 0 }, of_rap = { 0 };

    TRY(place_rows(&c->P, &P, &mine));
    TRY(kryi_halo_fetch_rows(from->halo, &mine, &theirs));
    TRY(kryi_csr_transpose(&c->P.own, &c->R.own));
    TRY(transpose_theirs(&theirs, &c->P, &c->R.far));
    TRY(multiply(from->A, (const kryi_placed_rows *const[]){ &mine, &theirs }, &c->P, &of_ap, &AP));
    TRY(kryi_part_columns_place(&AP, &of_ap, &ap));
    TRY(kryi_halo_fetch_rows(from->halo, &ap, &their_ap));
    TRY(multiply(&c->R, (const kryi_placed_rows *const[]){ &ap, &their_ap }, &c->P, &of_rap, &RAP));
    TRY(kryi_part_columns_split(&RAP, &of_rap, &c->A));
    c->A.first = c->P.first;
    TRY(mend(who, level, type, from, c));
done:
    free(of_rap.place);
    free(of_ap.place);
    kryi_placed_rows_release(&their_ap);
    free(ap.place);
    kryi_placed_rows_release(&theirs);
    free(mine.place);
    kryi_csr_release(&RAP);
    kryi_csr_release(&AP);
    kryi_csr_release(&P);
    return st;
}
