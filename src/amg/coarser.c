/* coarser.c - the Galerkin operator of a level on the host, made fit for what comes below it. */
#include "amg/amg.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>

void kryi_coarser_release(kryi_coarser *c)
{
    kryi_csr_release(&c->A);
    kryi_csr_release(&c->R);
    kryi_csr_release(&c->P);
}

kryi_couplings kryi_amg_couplings(const kryi_csr *A)
{
    const double *a = A->val;
    kryi_couplings c = { 0 };

    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++) {
            if (A->col[e] == i) continue;
            if (a[e] > 0)
                c.positive += a[e];
            else
                c.negative -= a[e];
        }
    return c;
}

kryi_row_look kryi_look_at_rows(const kryi_csr *A)
{
    const double *val = A->val;
    float bound = 0, least = INFINITY, most = 0;

    for (int64_t i = 0; i < A->rows; i++) {
        const double entry = kryi_csr_entry(A, i, i);
        double size = 0;
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++) size += fabs(val[e]);
        if (!(entry > 0)) continue;
        bound = fmaxf(bound, (float)(size / entry));
        least = fminf(least, (float)entry), most = fmaxf(most, (float)entry);
    }
    return (kryi_row_look){ bound, least, most };
}

bool kryi_fits_single(const kryi_row_look *look)
{
    return look->least >= 0x1p-60 && look->most <= 0x1p60;
}

bool kryi_suits_single(const kryi_row_look *look)
{
    enum { SPREAD = 10000 };
    return kryi_fits_single(look) && look->most <= 1.01 * SPREAD * look->least;
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

kry_status kryi_coarser_regularise(const kryi_regularisation *r, kryi_csr *A)
{
    kry_status st = KRY_OK;
    const double *p = r->R->val, *d = r->d;

    for (int64_t i = 0; i < A->rows; i++) {
        const double entry = kryi_csr_entry(A, i, i);
        double size = 0;
        for (int64_t e = r->R->row_ptr[i]; e < r->R->row_ptr[i + 1]; e++)
            size += p[e] * p[e] * d[r->R->col[e]];
        CHECK(isfinite(entry) && entry >= -100 * r->rounding * size, KRY_ERR_ARGUMENT,
              "%s: the matrix is not positive definite: unknown %lld of level %d has the diagonal "
              "entry %g",
              r->who, (long long)i, r->level, entry);
        if (entry <= r->rounding * size && kryi_row_length(A, i) > 0) decouple(A, i);
    }
done:
    return st;
}

kry_status kryi_coarser_multiply(const char *who, int level, kry_type type, const kryi_csr *A,
                                 kryi_coarser *c)
{
    kry_status st = KRY_OK;
    double *d = NULL;

    TRY(kryi_alloc((size_t)A->rows, sizeof *d, &d));
    for (int64_t i = 0; i < A->rows; i++) d[i] = kryi_csr_entry(A, i, i);
    TRY(kryi_csr_transpose(&c->P, &c->R));
    if (c->A.row_ptr)
        TRY(kryi_csr_triple_within(&c->R, A, &c->P, &c->A));
    else
        TRY(kryi_csr_triple(&c->R, A, &c->P, &c->A));
    assert(c->A.row_ptr);
    TRY(kryi_coarser_regularise(
        &(kryi_regularisation){ who, level, kryi_coarser_rounding(type), d, &c->R }, &c->A));
done:
    free(d);
    return st;
}
