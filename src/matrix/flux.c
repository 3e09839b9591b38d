/*
 * flux.c - what the rows of a matrix add up to. In flux form a product is
 *
 *     y_i = s_i x_i + sum over j of a_ij (x_j - x_i),   s_i = sum over j of a_ij
 *
 * The diagonal multiplies x_i - x_i = 0, so its rounding does not matter. Where nothing flows out at a
 * wall, s_i must be exactly 0.
 */
#include "matrix/matrix.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>

/* Neumaier's sum of a row in double, and beside it that of the absolute values. */
typedef struct total {
    double sum, lost, size;
    int64_t count;
} total;

static void add_up(kry_type type, const void *val, int64_t from, int64_t to, total *t)
{
    for (int64_t k = from; k < to; k++) {
        double v = kryi_number_at(type, val, k), next = t->sum + v;
        t->lost += fabs(t->sum) >= fabs(v) ? (t->sum - next) + v : (v - next) + t->sum;
        t->sum = next;
        t->size += fabs(v);
    }
    t->count += to - from;
}

/* The rest that rounding leaves of a row that adds up to 0 counts as 0. In double its entries were sums, as a rule,
 * rounded at each addition: off by half a unit in the last place of the absolute sum for each entry. In
 * single they were computed in double, as a rule, and rounded once: off by less than half such a unit in
 * all; where KRY_SINGULAR says that the sum is meant to be 0, they may have been sums in single as well. A
 * larger bound would drop small sums that are real: the promise alone makes no sum 0. */
static double surplus_of(kry_type type, bool promised, const total *t)
{
    const double sum = t->sum + t->lost, half = type == KRY_F32 ? FLT_EPSILON / 2 : DBL_EPSILON / 2;
    const bool once = type == KRY_F32 && !promised;
    const bool noise =
        once ? fabs(sum) < half * t->size : fabs(sum) <= (double)t->count * half * t->size;
    return noise ? 0 : sum;
}

static kry_status add_rows(const char *who, const kryi_matrix *A, const kryi_csr *own,
                           const kryi_csr *far, void *sums)
{
    kry_status st = KRY_OK;
    const bool promised = A->params.traits & KRY_SINGULAR;

    for (int64_t i = 0; i < own->rows; i++) {
        total t = { 0 };
        add_up(own->type, own->val, own->row_ptr[i], own->row_ptr[i + 1], &t);
        if (far) add_up(far->type, far->val, far->row_ptr[i], far->row_ptr[i + 1], &t);
        kryi_number_put(own->type, sums, i, surplus_of(own->type, promised, &t));
        double sum = kryi_number_at(own->type, sums, i);
        CHECK(isfinite(sum), KRY_ERR_ARGUMENT,
              "%s: row %lld adds up to %g, too much for flux form" COUNTED, who,
              ROW(kryi_layout_row(&A->dev->layout, i)), sum, kryi_first_row);
    }
done:
    return st;
}

kry_status kryi_flux_sums(const char *who, const kryi_matrix *A, const kryi_csr *own,
                          const kryi_csr *far, void **sums)
{
    kry_status st = KRY_OK;
    bool any = false;

    TRY(kryi_alloc((size_t)own->rows, kry_type_size(own->type), sums));
    TRY(add_rows(who, A, own, far, *sums));
    for (int64_t i = 0; i < own->rows && !any; i++) any = kryi_number_at(own->type, *sums, i) != 0;
done:
    if (!any) free(*sums), *sums = NULL;
    return st;
}

kry_status kryi_flux_sums_of_wrapped(const char *who, kryi_matrix *A)
{
    kry_status st = KRY_OK;
    kryi_csr host = { 0 };
    void *sums = NULL;

    TRY(kryi_matrix_download(A, &host));
    TRY(kryi_flux_sums(who, A, &host, NULL, &sums));
    if (sums || A->surplus) TRY(kryi_matrix_set_surplus(A, sums));
done:
    free(sums);
    kryi_csr_release(&host);
    return st;
}
