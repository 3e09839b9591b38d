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
        double v = kry_number_at(type, val, k), next = t->sum + v;
        t->lost += fabs(t->sum) >= fabs(v) ? (t->sum - next) + v : (v - next) + t->sum;
        t->sum = next;
        t->size += fabs(v);
    }
    t->count += to - from;
}

/* What rounding leaves of a row that adds up to 0 counts as 0. In double its entries were sums, as a rule,
 * rounded at each addition: off by half a unit in the last place of the absolute sum for each entry. In
 * single they were computed in double, as a rule, and rounded once: off by less than half such a unit in
 * all. A larger bound would drop small sums that are real. */
static double surplus_of(kry_type type, const total *t)
{
    double sum = t->sum + t->lost;
    bool noise = type == KRY_F32 ? fabs(sum) < (double)FLT_EPSILON / 2 * t->size
                                 : fabs(sum) <= (double)t->count * DBL_EPSILON / 2 * t->size;
    return noise ? 0 : sum;
}

static kry_status add_rows(const char *who, const kry_layout *layout, const kry_sparse *own,
                           const kry_sparse *far, void *sums)
{
    kry_status st = KRY_OK;

    for (int64_t i = 0; i < own->rows; i++) {
        total t = { 0 };
        add_up(own->type, own->val, own->row_ptr[i], own->row_ptr[i + 1], &t);
        if (far) add_up(far->type, far->val, far->row_ptr[i], far->row_ptr[i + 1], &t);
        kry_number_put(own->type, sums, i, surplus_of(own->type, &t));
        double sum = kry_number_at(own->type, sums, i);
        CHECK(isfinite(sum), KRY_ERR_ARGUMENT,
              "%s: row %lld adds up to %g, too much for flux form" COUNTED, who,
              ROW(kry_layout_row(layout, i)), sum, kry_first_row);
    }
done:
    return st;
}

kry_status kry_flux_sums(const char *who, const kry_layout *layout, const kry_sparse *own,
                         const kry_sparse *far, void **sums)
{
    kry_status st = KRY_OK;
    bool any = false;

    TRY(kry_alloc((size_t)own->rows, kry_type_size(own->type), sums));
    TRY(add_rows(who, layout, own, far, *sums));
    for (int64_t i = 0; i < own->rows && !any; i++) any = kry_number_at(own->type, *sums, i) != 0;
done:
    if (!any) free(*sums), *sums = NULL;
    return st;
}
