/* part_grids.h - geometric multigrid on one device, and on a team whose parts have their points of the fine grids. */
#ifndef KRY_PART_GRIDS_H
#define KRY_PART_GRIDS_H

#include "mg/box_axes.h"
#include "multigrid/team_levels.h"

enum { KRY_BOX_COARSEST = 64 }; /* unknowns of the coarsest level, unless told otherwise */

/* How levels are made: the parameters, and the couplings of the finest of them, a grid operator or a stored stencil. */
typedef struct kryi_box_levels {
    kry_mg_params params;
    kryi_axis_couplings couplings;
} kryi_box_levels;

/* M := a cycle for a grid in one piece. params: a kryi_box_levels. Waits. */
kry_status kryi_box_levels_create(const kry_op *A, const void *params, kry_op **M);

/* M := a cycle for a share A of a grid operator: levels in parts while they have more than `gather` unknowns and can be cut
 * where A is, and below these what kryi_team_levels_make adds. Collective. Waits. */
kry_status kryi_part_grids_create(const kry_op *A, const kryi_box_levels *how, kry_op **M);

#endif
