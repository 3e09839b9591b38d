/*
 * auto_pace.c - whether iterations are going to come to an end in time: after 50 of them, and whenever there are half as
 * many more, the rate since the last time says how many are left.
 *
 * They are hopeless if these take more than twice the seconds of another solver; or if they are more than the budget
 * allows, twice in a row, and not before so many iterations as the patience with the choice: the residuals of many methods
 * stay where they are for a while.
 */
#include "krylov/auto_pace.h"
#include <math.h>

void kryi_pace_begin(kryi_pace *P, int64_t budget, double patience)
{
    *P =
        (kryi_pace){ .budget = budget,
                     .patience = isfinite(patience) ? fmin(patience, (double)budget / 2) : patience,
                     .seen_residual = INFINITY,
                     .least = INFINITY };
}

/* Iterations that are left, if the residual goes on falling as since the last prediction. */
static double expect_left(const kryi_pace *P, const kry_iteration *it)
{
    const double fallen = log(P->seen_residual / P->least);

    if (P->least <= it->target) return 0;
    if (!(it->target > 0) || !(fallen > 1e-3)) return INFINITY;
    return (double)(it->iteration - P->seen) * log(P->least / it->target) / fallen;
}

/* Whether `left` more iterations take too long: twice `other` seconds, or, for the second time, more than the budget. */
static bool takes_too_long(kryi_pace *P, const kry_iteration *it, double left, double other)
{
    /* Not from the first iteration on: kernels are compiled there. */
    const double each = (it->seconds - P->seen_seconds) / (double)(it->iteration - P->seen);

    if (left * each > 2 * other) return true;
    P->over = (double)it->iteration + left > (double)P->budget ? P->over + 1 : 0;
    return P->over > 1 && (double)it->iteration >= P->patience;
}

bool kryi_pace_hopeless(kryi_pace *P, const kry_iteration *it, double other)
{
    enum { FIRST = 25 }; /* here the first span begins */
    bool hopeless = false;

    if (it->residual < P->least) P->least = it->residual;
    if (it->iteration < (P->next ? P->next : FIRST)) return false;
    if (P->next) hopeless = takes_too_long(P, it, expect_left(P, it), other);
    P->next = P->next ? it->iteration + it->iteration / 2 : 2 * it->iteration;
    P->seen = it->iteration, P->seen_seconds = it->seconds, P->seen_residual = P->least;
    return hopeless;
}
