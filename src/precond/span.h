/* span.h - a few dense vectors side by side, V, as a space: products with V and V', new vectors of it in place. */
#ifndef KRY_SPAN_H
#define KRY_SPAN_H

#include "vector/vec.h"

/* Whether the functions below take V: up to KRY_SUM_WIDTH columns. */
static inline bool kryi_span_takes(const kry_vec *V) { return V->k <= KRY_SUM_WIDTH; }

/* The first `kept` columns of V := its first `count` times C, which is count-by-kept, row after row, of V's type. */
kry_status kryi_span_combine(kry_vec *V, int count, int kept, cl_mem C);

/* For several columns of v and c, one after the other, and any V: w := alpha V'v + beta w, without `sum` by GEMV; and
 * y := alpha V c + beta y, for more than a few vectors by GEMV. */
kry_status kryi_dense_restrict(double alpha, const kry_vec *V, const kry_vec *v, double beta,
                               kry_vec *w, kry_sum *sum);
kry_status kryi_dense_expand(double alpha, const kry_vec *V, const kry_vec *c, double beta,
                             kry_vec *y);

#endif
