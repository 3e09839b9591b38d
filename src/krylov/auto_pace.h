/* auto_pace.h - whether iterations are going to come to an end in time. */
#ifndef KRY_AUTO_PACE_H
#define KRY_AUTO_PACE_H

#include "base/base.h"
#include <kry/solver.h>

/* How fast the residual falls. */
typedef struct kryi_pace {
    int64_t budget; /* iterations that may be made */
    /* Iterations before the limit is held against them; infinite: the limit never is. */
    double patience;
    int64_t seen, next;   /* iterations of the last prediction and of the next one */
    double seen_seconds;  /* when the last one was made */
    double seen_residual; /* the least residuals by then, */
    double least;         /* and by now */
    int over;             /* predictions in a row that the budget is not enough */
} kryi_pace;

void kryi_pace_begin(kryi_pace *P, int64_t budget, double patience);
/*
 * Whether to give up after this iteration.
 *
 *   other  seconds that another solver takes; infinite: not known
 */
bool kryi_pace_hopeless(kryi_pace *P, const kry_iteration *it, double other);

#endif
