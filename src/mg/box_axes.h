/* box_axes.h - which axes of a grid are coarsened. */
#ifndef KRY_BOX_AXES_H
#define KRY_BOX_AXES_H

#include "multigrid/box.h"

/* How the couplings of the next level compare, as far as that is known without looking. */
typedef struct kryi_axis_couplings {
    double semi;        /* as kry_mg_params has it, with its default */
    bool known;         /* `strength` is right: the coefficients are constant */
    double strength[3]; /* in any unit */
} kryi_axis_couplings;
kryi_axis_couplings kryi_axis_couplings_of(const kryi_stencil *A, double semi);

/*
 * *axes := a mask of those that are coarsened; 0: none is long enough.
 *
 *   grid  the whole
 *   A     its stencil, or on a part of a team that of some of its points, of which those of the window are this part's
 *   own   NULL: all
 * Collective. May wait.
 */
kry_status kryi_choose_axes(kryi_axis_couplings *c, const kryi_box_grid *grid,
                            const kryi_box_source *A, const kryi_window *own, unsigned *axes);

#endif
