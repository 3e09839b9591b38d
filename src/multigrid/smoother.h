/* smoother.h - what takes the rough parts out of the error on a level. */
#ifndef KRY_SMOOTHER_H
#define KRY_SMOOTHER_H

#include "multigrid/hierarchy.h"
#include "precond/sweeps.h"

enum { KRY_SMOOTHER_DEGREE = 8, KRY_SMOOTHER_SWEEPS = 8 }; /* at most */
enum { KRY_SMOOTHER_APART = 4 }; /* steps that vectors with a shell take without a refresh */
enum { KRY_SMOOTHER_STEPS = KRY_SMOOTHER_DEGREE * KRY_SMOOTHER_SWEEPS };

typedef struct kryi_smoothing {
    const kry_op *A;                /* borrowed */
    const struct kryi_shell *shell; /* of the level; borrowed */
    kryi_relaxer relaxer;           /* of steps of all unknowns at once */
    kry_smoother_scaling scaling;
    kryi_sweeps down, up; /* before and after the coarser levels: the same steps in either order */
    double step[2 * KRY_SMOOTHER_STEPS]; /* of `down`, then of `up` */
    double entry;   /* that all entries of the diagonal are, and D is the diagonal; 0: else */
    double highest; /* eigenvalue of D^-1 A; 0: the smoother asks for none */
} kryi_smoothing;

/* Refuse what does not go together, and fill in the defaults. cycle: its fields are in their ranges */
kry_status kryi_smoother_check(const char *who, kry_cycle_params *cycle);
/* Steps of all unknowns at once before the coarser levels, and as many afterwards; 0: they have colours, or
 * another D than the diagonal. cycle: checked. */
int kryi_smoother_steps(const kry_cycle_params *cycle);
/* In words: "chebyshev4:2". cycle: checked. */
void kryi_smoother_name(const kry_cycle_params *cycle, char *name, size_t size);
/* The smoother of a level. cycle: checked. Waits.
 * Returns  KRY_ERR_UNSUPPORTED if the operator does not offer what it takes; as kryi_spectrum_bound */
kry_status kryi_smoothing_create(const char *who, const kryi_level *level,
                                 const kry_cycle_params *cycle, kryi_smoothing *s);
/* After a change of the operator; if that fails, the old steps stay. Waits. */
kry_status kryi_smoothing_update(const char *who, const kryi_level *level,
                                 const kry_cycle_params *cycle, kryi_smoothing *s);
void kryi_smoothing_release(kryi_smoothing *s);

/* Whether steps are of all unknowns at once, with D^-1: what kryi_passes can do. */
static inline bool kryi_smoothing_by_diagonal(const kryi_smoothing *s)
{
    return !s->down.coloured && s->scaling == KRY_SCALING_DIAGONAL;
}
/* Take the steps from the iterate in place[0], which may hold anything if `zero`: it counts as zero then.
 * place[1] is room; the two change places, and place[0] has the result. */
kry_status kryi_smoothing_run(kryi_smoothing *s, const kryi_sweeps *sweeps, bool zero,
                              const kry_vec *b, kry_vec *place[2]);

#endif
